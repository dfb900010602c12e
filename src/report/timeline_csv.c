/* timeline_csv.c - what memory holds at each task of a step, one line per task run. */
#include "report/labels.h"
#include "report/text.h"

/* Buffers are in order of their first action. */
static void raise_high_water(const remat_buffers *buffers, size_t at, size_t *next, size_t *high)
{
    for (; *next < buffers->count && buffers->data[*next].first <= at; ++*next) {
        size_t end = buffers->data[*next].offset + buffers->data[*next].bytes;
        *high = end > *high ? end : *high;
    }
}

static void write_line(const remat_plan *plan, const remat_walk *walk, size_t run,
                       size_t high_water, FILE *out)
{
    char seconds[32];
    const remat_task *task = &walk->problem->tasks.data[walk->task];
    const remat_breakdown *b = &walk->bytes;
    fprintf(out, "%zu,%s,", run, remat_phase_name(walk->phase));
    remat_write_csv(out, remat_task_name(plan, walk->task));
    fprintf(out, ",%u,%s,%zu,%zu,%zu,%zu,%zu,%zu,%zu\n", (unsigned)task->statement,
            remat_number_text(task->cost, seconds), b->first_run, b->replayed, b->gradients,
            b->workspace, b->alignment, remat_breakdown_total(b), high_water);
}

remat_status remat_plan_write_timeline_csv(const remat_plan *plan, FILE *out)
{
    if (!plan || !out)
        return REMAT_INVALID_ARGUMENT;
    size_t next_buffer = 0, high_water = 0;
    remat_walk walk;
    bool opened = remat_walk_open(&walk, &plan->derivation.problem, &plan->schedule);
    if (opened)
        fputs("run,phase,op,statement,seconds,first_run_bytes,replayed_bytes,gradient_bytes,"
              "workspace_bytes,alignment_bytes,live_bytes,high_water_bytes\n",
              out);
    for (size_t run = 0; opened && remat_walk_next(&walk); run++) {
        raise_high_water(&plan->buffers, walk.at, &next_buffer, &high_water);
        write_line(plan, &walk, run, high_water, out);
    }
    remat_walk_close(&walk);
    return opened ? remat_report_status(out) : REMAT_OUT_OF_MEMORY;
}
