/* problem.c - life and invariant of a planning problem. */
#include "plan/problem.h"

void remat_problem_release(remat_problem *problem)
{
    const remat_allocator allocator = problem->allocator;
    if (!allocator.reallocate)
        return;
    remat_vector_release(&allocator, &problem->tasks);
    remat_vector_release(&allocator, &problem->reads);
    remat_vector_release(&allocator, &problem->writes);
    remat_vector_release(&allocator, &problem->reuses);
    remat_vector_release(&allocator, &problem->values);
    remat_vector_release(&allocator, &problem->segments);
}

uint32_t remat_segment_advance(remat_segment_cursor *cursor, const remat_segment_range *segments,
                               size_t n_segments, uint32_t statement)
{
    while (cursor->current != 0 && statement >= segments[cursor->current].end)
        cursor->current = segments[cursor->current].parent;
    if (cursor->next == 0)
        cursor->next = 1; /* segment 0 is always open */
    for (; cursor->next < n_segments && segments[cursor->next].first <= statement; cursor->next++)
        if (statement < segments[cursor->next].end)
            cursor->current = (uint32_t)cursor->next;
    return cursor->current;
}

static bool lists_are_in_bounds(const remat_problem *p)
{
    if (p->n_forward > p->n_tasks || p->tasks.count != (size_t)p->n_tasks + 1)
        return false;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const remat_task *task = &p->tasks.data[t];
        if (task[1].reads < task->reads || task[1].writes < task->writes ||
            task[1].reuses < task->reuses || task->statement > p->n_statements)
            return false;
        if ((task->kind == REMAT_TASK_FORWARD) != (t < p->n_forward) ||
            (task->replayable && t >= p->n_forward))
            return false;
    }
    const remat_task *end = &p->tasks.data[p->n_tasks];
    return end->reads == p->reads.count && end->writes == p->writes.count &&
           end->reuses == p->reuses.count;
}

static bool ids_are_valid(const remat_problem *p)
{
    for (size_t i = 0; i < p->reads.count; i++)
        if (p->reads.data[i] >= p->values.count)
            return false;
    for (size_t i = 0; i < p->writes.count; i++)
        if (p->writes.data[i].value >= p->values.count)
            return false;
    for (size_t i = 0; i < p->reuses.count; i++)
        if (p->reuses.data[i].from >= p->values.count || p->reuses.data[i].to >= p->values.count)
            return false;
    return true;
}

static bool segments_nest(const remat_problem *p)
{
    for (size_t i = 1; i < p->segments.count; i++) {
        const remat_segment_range *s = &p->segments.data[i];
        if (s->parent >= i || s->first > s->end || s->first < s[-1].first)
            return false;
        const remat_segment_range *parent = &p->segments.data[s->parent];
        if (s->first < parent->first || s->end > parent->end)
            return false;
    }
    return p->segments.count > 0;
}

bool remat_problem_invariant(const remat_problem *problem)
{
    return lists_are_in_bounds(problem) && ids_are_valid(problem) && segments_nest(problem);
}
