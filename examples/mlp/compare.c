/* compare.c - see compare.h. Two trainers take turns, each on the same batches, so that what else
 * the machine does meanwhile slows both. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "evaluate.h"
#include "progress.h"
#include "train.h"

enum { KEEP_ALL, CHECKPOINTED, SIDES };

typedef struct comparison {
    trainer side[SIDES];
    double *seconds[SIDES]; /* of each step */
    sampler batches;
    size_t differing_steps;
    double accuracy[SIDES];
} comparison;

static bool comparison_create(const options *o, const dataset *data, comparison *c)
{
    memset(c, 0, sizeof *c);
    for (int k = 0; k < SIDES; k++) {
        c->seconds[k] = calloc(o->steps, sizeof *c->seconds[k]);
        if (c->seconds[k] == NULL)
            return fail("not enough memory for the times of %zu steps", o->steps);
    }
    return sampler_create(data->train.count, o->batch, o->seed, &c->batches) &&
           trainer_create(o, data, REMAT_STRATEGY_KEEP_ALL, &c->side[KEEP_ALL]) &&
           trainer_create(o, data, o->strategy, &c->side[CHECKPOINTED]);
}

static void comparison_destroy(comparison *c)
{
    for (int k = 0; k < SIDES; k++) {
        trainer_destroy(&c->side[k]);
        free(c->seconds[k]);
    }
    sampler_destroy(&c->batches);
}

static remat_status timed_step(comparison *c, int side, const uint32_t *which, size_t step,
                               double rate)
{
    double begun = seconds_now();
    remat_status status = trainer_step(&c->side[side], which, rate);
    c->seconds[side][step] = seconds_now() - begun;
    return status;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool run(comparison *c, const options *o)
{
    progress bar;
    progress_begin(&bar, o->steps, c->batches.count / o->batch, o->batch);
    for (size_t step = 0; step < o->steps; step++) {
        const uint32_t *which = sampler_next(&c->batches);
        for (int k = 0; k < SIDES; k++) {
            remat_status status = timed_step(c, k, which, step, learning_rate_at(o, step));
            if (status != REMAT_OK || !isfinite(c->side[k].loss)) {
                progress_end(&bar);
                return trainer_fail(&c->side[k], status);
            }
        }
        c->differing_steps += !same_bits(c->side[KEEP_ALL].loss, c->side[CHECKPOINTED].loss);
        progress_update(&bar, step + 1, c->side[CHECKPOINTED].loss);
    }
    progress_end(&bar);
    for (int k = 0; k < SIDES; k++) {
        if (!evaluate(&c->side[k].model, c->side[k].data, o->batch, &c->accuracy[k]))
            return false;
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void print_comparison(comparison *c, size_t steps)
{
    remat_exec_statistics s[SIDES];
    remat_plan_summary plan[SIDES];
    double milliseconds[SIDES];
    for (int k = 0; k < SIDES; k++) {
        remat_exec_get_statistics(c->side[k].exec, &s[k]);
        remat_plan_summarize(remat_exec_plan(c->side[k].exec), &plan[k]);
        milliseconds[k] = 1e3 * median(c->seconds[k], steps);
    }
    const trainer *keep = &c->side[KEEP_ALL], *checkpointed = &c->side[CHECKPOINTED];
    printf("\n%-22s %16s %16s\n", "", remat_strategy_name(plan[0].strategy),
           remat_strategy_name(plan[1].strategy));
    printf("%-22s %16zu %16zu   %.3fx\n", "arena bytes, planned", s[0].planned_peak_bytes,
           s[1].planned_peak_bytes,
           (double)s[1].planned_peak_bytes / (double)s[0].planned_peak_bytes);
    printf("%-22s %16zu %16zu\n", "arena bytes, measured", s[0].measured_peak_bytes,
           s[1].measured_peak_bytes);
    printf("%-22s %13.3f ms %13.3f ms   %.3fx\n", "step time, median", milliseconds[0],
           milliseconds[1], milliseconds[1] / milliseconds[0]);
    printf("%-22s %16llu %16llu\n", "replays per step", (unsigned long long)s[0].replays,
           (unsigned long long)s[1].replays);
    printf("%-22s %16.9g %16.9g\n", "loss of the last step", keep->loss, checkpointed->loss);
    printf("%-22s %14.2f %% %14.2f %%\n", "test accuracy", 100 * c->accuracy[0],
           100 * c->accuracy[1]);
    printf("losses identical: %s (%zu steps, compared bit for bit)\n",
           c->differing_steps == 0 ? "yes" : "no", steps);
}

bool compare(const options *o, const dataset *data)
{
    comparison c;
    bool ok =
        comparison_create(o, data, &c) && trainer_print(&c.side[CHECKPOINTED], o) && run(&c, o);
    if (ok) {
        print_comparison(&c, o->steps);
        if (c.differing_steps > 0)
            ok = fail("the losses of %zu steps differ: please report this as a bug of remat",
                      c.differing_steps);
    }
    comparison_destroy(&c);
    return ok;
}
