/* table.h - one line per plan: memory, time, certificate. */
#ifndef PLAN_TABLE_H
#define PLAN_TABLE_H

#include <remat/remat.h>

typedef struct outcome {
    const char *name; /* of the strategy */
    size_t peak_bytes;
    size_t replays;
    remat_plan_cost cost;
    bool no_bound;  /* cost.bound and cost.gap say nothing */
    double seconds; /* that planning took */
} outcome;

void table_head(void);
/* whole: the bytes that are 100 %. */
void table_row(const outcome *o, size_t whole);
void table_failure(const char *name, const char *why);

/* "smallest budget: ...", as a share of the whole. */
void table_smallest(size_t bytes, size_t whole);

/* Seconds since some moment. */
double seconds_now(void);

#endif
