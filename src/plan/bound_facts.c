/* bound_facts.c - what is resident at every first run of a task, whatever the schedule does. */
#include "plan/bound_cut.h"

#include <string.h>

static void extend_held(remat_bound_value *v, uint32_t task)
{
    if (v->kind == REMAT_BOUND_GRADIENT && v->held_to < task)
        v->held_to = task;
}

static void see_write(remat_bound_facts *f, remat_write write, uint32_t task)
{
    const remat_problem *p = f->problem;
    remat_bound_value *v = &f->values[write.value];
    bool pinned = p->values.data[write.value].pinned;
    if (v->maker == REMAT_NONE) {
        *v = (remat_bound_value){.maker = task, .held_from = task, .held_to = task};
        if (task >= p->n_forward)
            v->kind = REMAT_BOUND_GRADIENT;
        else if (p->tasks.data[task].replayable && !pinned)
            v->kind = REMAT_BOUND_FREE;
        else
            v->kind = REMAT_BOUND_ONCE;
    } else if (v->kind != REMAT_BOUND_GRADIENT || !write.accumulate) {
        v->kind = REMAT_BOUND_LEFT_OUT;
    }
    extend_held(v, pinned ? p->n_tasks - 1 : task);
}

static void see_reads(remat_bound_facts *f, uint32_t task, uint32_t *sure)
{
    const remat_problem *p = f->problem;
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++) {
        remat_bound_value *v = &f->values[remat_task_reads(p, task)[i]];
        bool made = v->kind == REMAT_BOUND_FREE || v->kind == REMAT_BOUND_ONCE;
        if (task < p->n_forward) {
            v->last_forward = task;
            continue;
        }
        v->last_backward = task;
        extend_held(v, task);
        if (made && v->maker >= *sure)
            *sure = v->maker + 1;
    }
}

/* Kinds, makers and readers of values; sure() of tasks. */
static void scan(remat_bound_facts *f)
{
    const remat_problem *p = f->problem;
    uint32_t sure = 0;
    for (size_t v = 0; v < p->values.count; v++)
        f->values[v] = (remat_bound_value){.maker = REMAT_NONE};
    for (uint32_t t = 0; t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            see_write(f, remat_task_writes(p, t)[i], t);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        see_reads(f, t, &sure);
        f->moments[t].sure = t < p->n_forward ? t + 1 : sure;
        if (t < p->n_forward)
            f->total_cost += p->tasks.data[t].cost;
    }
}

/* First backward task at which forward task `maker` has surely run; n_tasks if none. */
static uint32_t first_after(const remat_bound_facts *f, uint32_t maker)
{
    uint32_t low = f->problem->n_forward, high = f->problem->n_tasks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->moments[middle].sure > maker)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The last forward task after which a later task reads the value. */
static uint32_t last_wanted_forward(const remat_bound_facts *f, const remat_bound_value *v)
{
    uint32_t last = v->last_forward ? v->last_forward - 1 : 0;
    uint32_t sure = v->last_backward ? f->moments[v->last_backward].sure : 0;
    return sure > last + 1 ? sure - 1 : last;
}

static void find_held(remat_bound_facts *f)
{
    const remat_problem *p = f->problem;
    for (size_t i = 0; i < p->values.count; i++) {
        remat_bound_value *v = &f->values[i];
        if (v->kind != REMAT_BOUND_ONCE)
            continue;
        bool pinned = p->values.data[i].pinned;
        v->held_forward = pinned ? p->n_forward - 1 : last_wanted_forward(f, v);
        if (v->held_forward < v->last_forward)
            v->held_forward = v->last_forward;
        v->held_from = first_after(f, v->maker);
        v->held_to = pinned ? p->n_tasks - 1 : v->last_backward; /* 0: from > to */
    }
}

/* Adds bytes to tasks first..last of a field that is summed up afterwards. */
static void add_span(size_t *steps, uint32_t first, uint32_t last, size_t bytes)
{
    if (first > last)
        return;
    steps[first] += bytes;
    steps[last + 1] -= bytes; /* wraps; the sums do not */
}

static void add_spans(const remat_bound_facts *f, size_t *held, size_t *wanted)
{
    const remat_problem *p = f->problem;
    for (size_t i = 0; i < p->values.count; i++) {
        const remat_bound_value *v = &f->values[i];
        size_t bytes = p->values.data[i].bytes;
        if (v->kind == REMAT_BOUND_FREE) {
            add_span(wanted, v->maker, last_wanted_forward(f, v), bytes);
            if (v->last_backward)
                add_span(wanted, p->n_forward, v->last_backward - 1, bytes);
        }
        if (v->kind == REMAT_BOUND_ONCE)
            add_span(held, v->maker, v->held_forward, bytes);
        if (v->kind >= REMAT_BOUND_ONCE)
            add_span(held, v->held_from, v->held_to, bytes);
    }
}

/* The value stays after t because it is held. */
static bool is_held_beyond(const remat_bound_facts *f, uint32_t value, uint32_t t)
{
    const remat_bound_value *v = &f->values[value];
    if (!remat_bound_is_held(f, v, t))
        return false;
    if (f->problem->values.data[value].pinned)
        return true;
    return t < f->problem->n_forward ? t < v->held_forward : t < v->held_to;
}

/* The hand-over of memory at t. */
static void deduct_saving(remat_bound_facts *f, uint32_t t)
{
    const remat_problem *p = f->problem;
    remat_bound_moment *m = &f->moments[t];
    size_t saved = 0;
    bool several = false;
    m->from = REMAT_NONE;
    for (uint32_t i = 0; i < remat_task_n_reuses(p, t); i++) {
        remat_reuse reuse = remat_task_reuses(p, t)[i];
        size_t bytes = p->values.data[reuse.to].bytes;
        if (is_held_beyond(f, reuse.from, t))
            continue;
        several |= m->from != REMAT_NONE && m->from != reuse.from;
        m->from = reuse.from;
        saved = bytes > saved ? bytes : saved;
    }
    if (several || m->from == REMAT_NONE || f->values[m->from].kind != REMAT_BOUND_FREE)
        m->from = REMAT_NONE;
    m->base -= saved < m->base ? saved : m->base;
    if (m->from != REMAT_NONE && remat_bound_is_wanted(f, &f->values[m->from], t))
        m->wanted += saved;
}

/* Counts a value that t reads or writes, once. */
static void use(remat_bound_facts *f, uint32_t t, uint32_t value, uint32_t *stamp)
{
    const remat_bound_value *v = &f->values[value];
    size_t bytes = f->problem->values.data[value].bytes;
    if (stamp[value] == t + 1)
        return;
    stamp[value] = t + 1;
    if (!remat_bound_is_held(f, v, t))
        f->moments[t].base += bytes;
    if (v->kind == REMAT_BOUND_FREE && remat_bound_is_wanted(f, v, t))
        f->moments[t].wanted -= bytes;
}

static void sum_up(remat_bound_facts *f, const size_t *held, const size_t *wanted, uint32_t *stamp)
{
    const remat_problem *p = f->problem;
    size_t held_now = 0, wanted_now = 0;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        remat_bound_moment *m = &f->moments[t];
        m->base = held_now += held[t];
        m->wanted = wanted_now += wanted[t];
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            use(f, t, remat_task_reads(p, t)[i], stamp);
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            use(f, t, remat_task_writes(p, t)[i].value, stamp);
        deduct_saving(f, t);
        if (!remat_size_add(m->base, p->tasks.data[t].workspace_bytes, &m->base))
            m->base = SIZE_MAX;
    }
}

bool remat_bound_facts_find(const remat_problem *problem, remat_bound_facts *facts)
{
    const remat_allocator *a = &problem->allocator;
    size_t n_values = problem->values.count, n_tasks = problem->n_tasks;
    *facts = (remat_bound_facts){.problem = problem};
    facts->values = remat_memory_allocate(a, n_values, sizeof *facts->values);
    facts->moments = remat_memory_allocate(a, n_tasks, sizeof *facts->moments);
    size_t *held = remat_memory_allocate(a, n_tasks + 1, sizeof *held);
    size_t *wanted = remat_memory_allocate(a, n_tasks + 1, sizeof *wanted);
    uint32_t *stamp = remat_memory_allocate(a, n_values, sizeof *stamp);
    bool done = facts->values && facts->moments && held && wanted && stamp;
    if (done) {
        scan(facts);
        find_held(facts);
        add_spans(facts, held, wanted);
        sum_up(facts, held, wanted, stamp);
    }
    remat_memory_release(a, held, n_tasks + 1, sizeof *held);
    remat_memory_release(a, wanted, n_tasks + 1, sizeof *wanted);
    remat_memory_release(a, stamp, n_values, sizeof *stamp);
    return done;
}

void remat_bound_facts_release(remat_bound_facts *facts)
{
    const remat_problem *p = facts->problem;
    remat_memory_release(&p->allocator, facts->values, p->values.count, sizeof *facts->values);
    remat_memory_release(&p->allocator, facts->moments, p->n_tasks, sizeof *facts->moments);
}
