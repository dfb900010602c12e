/* subject.h - what remat's strategies plan: the tape of a built-in network, or a problem of tasks
 * from a file. Both are planned, compared and swept in the same way. */
#ifndef PLAN_SUBJECT_H
#define PLAN_SUBJECT_H

#include <stdio.h>

#include "input.h"
#include "options.h"
#include "table.h"

typedef struct subject {
    void *state;
    /* *plan: to be discarded. */
    remat_status (*make)(void *state, remat_strategy strategy, size_t budget_bytes, void **plan,
                         outcome *found);
    void (*discard)(void *plan);
    remat_status (*smallest)(void *state, remat_strategy strategy, size_t *budget_bytes);
    remat_status (*sweep)(void *state, remat_plan_point *points, size_t capacity, size_t *count);
    const char *(*message)(const void *state); /* of the last failure */
} subject;

/* Prints keep-all and what the options ask for; *plan is the cheapest that fits, to be discarded.
 * False if none does; it is said on stderr then. */
bool subject_plan(const subject *s, const options *o, void **plan);

/* Prints the memory/time curve and writes it to the files that the options name. */
bool subject_sweep(const subject *s, const options *o);

/* The four kinds of things to plan. On failure they say why on stderr. */
bool plan_network(const options *o);
bool plan_problem(const options *o, const input *in);
bool plan_chain(const options *o, const input *in);
bool plan_steps(const options *o, const input *in);

/* Ends a line of a schedule with a name that may be NULL; its control characters become blanks. */
void write_name(FILE *out, const char *name);

/* The table is left out where the schedule goes to stdout. */
bool is_quiet(const options *o);

#endif
