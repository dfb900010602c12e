/* progress.h - how far training is: a bar on a terminal, plain lines elsewhere. */
#ifndef MLP_PROGRESS_H
#define MLP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Seconds of a clock that only runs forward. */
double seconds_now(void);

typedef struct progress {
    size_t total_steps, steps_per_epoch, batch;
    bool is_terminal;
    double begun, drawn; /* seconds */
    double loss;         /* running mean */
    size_t lines;        /* plain lines so far */
} progress;

void progress_begin(progress *p, size_t total_steps, size_t steps_per_epoch, size_t batch);
/* After a step; steps counts from 1. */
void progress_update(progress *p, size_t steps, double loss);
/* Ends the line of a bar. Call it before anything else is printed. */
void progress_end(const progress *p);

#endif
