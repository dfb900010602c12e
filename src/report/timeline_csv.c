/* timeline_csv.c - what memory holds at each task of a step, one line per task run. */
#include "report/labels.h"
#include "report/text.h"

/* Buffers in use, as a heap: the one that ends highest in the arena comes first. Others may be out
 * of use already. */
typedef struct arena_top {
    const remat_buffers *buffers; /* in order of `first` */
    size_t next;                  /* the next one to come into use */
    uint32_t *heap;
    size_t count;
} arena_top;

static size_t end_of(const arena_top *top, size_t place)
{
    const remat_buffer *b = &top->buffers->data[top->heap[place]];
    return b->offset + b->bytes;
}

static void swap(arena_top *top, size_t a, size_t b)
{
    uint32_t index = top->heap[a];
    top->heap[a] = top->heap[b];
    top->heap[b] = index;
}

static void push(arena_top *top, size_t index)
{
    size_t at = top->count++;
    top->heap[at] = (uint32_t)index;
    for (; at > 0 && end_of(top, (at - 1) / 2) < end_of(top, at); at = (at - 1) / 2)
        swap(top, at, (at - 1) / 2);
}

static void pop(arena_top *top)
{
    size_t at = 0, child;
    top->heap[0] = top->heap[--top->count];
    for (; (child = 2 * at + 1) < top->count; at = child) {
        if (child + 1 < top->count && end_of(top, child + 1) > end_of(top, child))
            child++;
        if (end_of(top, child) <= end_of(top, at))
            return;
        swap(top, at, child);
    }
}

/* End of the highest buffer in use at an action; these ascend from call to call. */
static size_t arena_top_at(arena_top *top, size_t at)
{
    const remat_buffers *buffers = top->buffers;
    for (; top->next < buffers->count && buffers->data[top->next].first <= at; top->next++)
        push(top, top->next);
    while (top->count > 0 && buffers->data[top->heap[0]].last < at)
        pop(top);
    return top->count > 0 ? end_of(top, 0) : 0;
}

static void write_line(const remat_plan *plan, const remat_walk *walk, size_t run,
                       size_t arena_top_bytes, FILE *out)
{
    char seconds[32];
    const remat_task *task = &walk->problem->tasks.data[walk->task];
    const remat_breakdown *b = &walk->bytes;
    fprintf(out, "%zu,%s,", run, remat_phase_name(walk->phase));
    remat_write_csv(out, remat_task_name(plan, walk->task));
    fprintf(out, ",%u,%s,%zu,%zu,%zu,%zu,%zu,%zu,%zu\n", (unsigned)task->statement,
            remat_number_text(task->cost, seconds), b->first_run, b->replayed, b->gradients,
            b->workspace, b->alignment, remat_breakdown_total(b), arena_top_bytes);
}

static void write_table(const remat_plan *plan, remat_walk *walk, arena_top *top, FILE *out)
{
    fputs("run,phase,op,statement,seconds,first_run_bytes,replayed_bytes,gradient_bytes,"
          "workspace_bytes,alignment_bytes,live_bytes,arena_top_bytes\n",
          out);
    for (size_t run = 0; remat_walk_next(walk); run++)
        write_line(plan, walk, run, arena_top_at(top, walk->at), out);
}

remat_status remat_plan_write_timeline_csv(const remat_plan *plan, FILE *out)
{
    if (!plan || !out)
        return REMAT_INVALID_ARGUMENT;
    size_t n = plan->buffers.count;
    arena_top top = {.buffers = &plan->buffers};
    remat_walk walk;
    top.heap = remat_memory_allocate(&plan->allocator, n, sizeof *top.heap);
    bool ready = remat_walk_open(&walk, &plan->derivation.problem, &plan->schedule) && top.heap;
    if (ready)
        write_table(plan, &walk, &top, out);
    remat_walk_close(&walk);
    remat_memory_release(&plan->allocator, top.heap, n, sizeof *top.heap);
    return ready ? remat_report_status(out) : REMAT_OUT_OF_MEMORY;
}
