/* brute_force.c - the shortest path through all states of memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/support/brute_force.h"
#include "core/support/random_tape.h"

enum { PASS = 8, STATES = PASS * PASS << TINY_VALUES, MAX_COST = 512, UNSEEN = MAX_COST };

typedef REMAT_VECTOR(uint32_t) state_list;

/* A state: forward and backward tasks that have run, and the values that are resident. */
typedef struct forcing {
    const remat_problem *problem;
    remat_allocator allocator;
    size_t budget;
    uint16_t *cost;      /* per state: the least found so far */
    state_list *by_cost; /* [MAX_COST] states to visit; some are outdated */
} forcing;

static void reach(forcing *f, uint32_t forward, uint32_t backward, uint32_t resident, double cost)
{
    uint32_t state = (forward * PASS + backward) << TINY_VALUES | resident;
    if (cost >= f->cost[state] || cost >= MAX_COST)
        return;
    f->cost[state] = (uint16_t)cost;
    assert_true(remat_vector_push(&f->allocator, &f->by_cost[(size_t)cost], state));
}

static size_t bytes_of(const remat_problem *p, uint32_t resident)
{
    size_t bytes = 0;
    for (uint32_t v = 0; v < p->values.count; v++)
        if (resident >> v & 1)
            bytes += p->values.data[v].bytes;
    return bytes;
}

static bool can_run(const remat_problem *p, uint32_t task, uint32_t resident)
{
    for (uint32_t i = 0; i < remat_task_n_reads(p, task); i++)
        if (!(resident >> remat_task_reads(p, task)[i] & 1))
            return false;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++) {
        remat_write write = remat_task_writes(p, task)[i];
        if (write.accumulate && !(resident >> write.value & 1))
            return false;
    }
    return true;
}

/* With every way to hand memory over. */
static void run(forcing *f, uint32_t task, uint32_t forward, uint32_t backward, uint32_t resident,
                double cost)
{
    const remat_problem *p = f->problem;
    if (!can_run(p, task, resident))
        return;
    uint32_t after = resident;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        after |= 1U << remat_task_writes(p, task)[i].value;
    size_t bytes = bytes_of(p, after) + p->tasks.data[task].workspace_bytes;
    if (bytes <= f->budget)
        reach(f, forward, backward, after, cost);
    for (uint32_t i = 0; i < remat_task_n_reuses(p, task); i++) {
        remat_reuse reuse = remat_task_reuses(p, task)[i];
        if ((resident >> reuse.to & 1) || p->values.data[reuse.from].pinned)
            continue;
        if (bytes - p->values.data[reuse.to].bytes <= f->budget)
            reach(f, forward, backward, after & ~(1U << reuse.from), cost);
    }
}

static void visit(forcing *f, uint32_t state, double cost)
{
    const remat_problem *p = f->problem;
    uint32_t resident = state & ((1U << TINY_VALUES) - 1);
    uint32_t backward = (state >> TINY_VALUES) % PASS, forward = (state >> TINY_VALUES) / PASS;
    for (uint32_t v = 0; v < p->values.count; v++)
        if ((resident >> v & 1) && !p->values.data[v].pinned)
            reach(f, forward, backward, resident & ~(1U << v), cost);
    if (forward < p->n_forward)
        run(f, forward, forward + 1, backward, resident, cost);
    if (p->n_forward + backward < p->n_tasks)
        run(f, p->n_forward + backward, forward, backward + 1, resident, cost);
    for (uint32_t t = 0; t < forward; t++)
        if (p->tasks.data[t].replayable)
            run(f, t, forward, backward, resident, cost + p->tasks.data[t].cost);
}

static double search(forcing *f)
{
    const remat_problem *p = f->problem;
    reach(f, 0, 0, 0, 0);
    for (size_t cost = 0; cost < MAX_COST; cost++)
        for (size_t i = 0; i < f->by_cost[cost].count; i++) {
            uint32_t state = f->by_cost[cost].data[i];
            if (f->cost[state] != cost)
                continue;
            if (state >> TINY_VALUES == p->n_forward * PASS + p->n_tasks - p->n_forward)
                return (double)cost;
            visit(f, state, (double)cost);
        }
    return INFINITY;
}

double brute_force_replay_cost(const remat_problem *problem, size_t budget_bytes)
{
    forcing f = {
        .problem = problem, .allocator = remat_allocator_default(), .budget = budget_bytes};
    assert_true(problem->values.count <= TINY_VALUES && problem->n_forward < PASS &&
                problem->n_tasks - problem->n_forward < PASS);
    f.cost = remat_memory_allocate(&f.allocator, STATES, sizeof *f.cost);
    f.by_cost = remat_memory_allocate(&f.allocator, MAX_COST, sizeof *f.by_cost);
    assert_true(f.cost && f.by_cost);
    for (size_t i = 0; i < STATES; i++)
        f.cost[i] = UNSEEN;
    double cost = search(&f);
    for (size_t i = 0; i < MAX_COST; i++)
        remat_vector_release(&f.allocator, &f.by_cost[i]);
    remat_memory_release(&f.allocator, f.by_cost, MAX_COST, sizeof *f.by_cost);
    remat_memory_release(&f.allocator, f.cost, STATES, sizeof *f.cost);
    return cost;
}

/* ---- Random tiny problems --------------------------------------------------------------------*/

static uint32_t new_value(remat_problem *p, uint64_t *state, remat_value_class class)
{
    remat_problem_value value = {.bytes = 1 + test_random_below(state, 4),
                                 .class = (uint8_t) class};
    value.raw_bytes = value.bytes;
    value.pinned = test_random_chance(state, 8);
    assert_true(remat_vector_push(&p->allocator, &p->values, value));
    return (uint32_t)p->values.count - 1;
}

static void add_task(remat_problem *p, uint64_t *state, bool backward)
{
    remat_task task = {.cost = (double)test_random_below(state, 9),
                       .workspace_bytes = test_random_chance(state, 30),
                       .reads = (uint32_t)p->reads.count,
                       .writes = (uint32_t)p->writes.count,
                       .reuses = (uint32_t)p->reuses.count,
                       .kind = backward ? REMAT_TASK_BACKWARD : REMAT_TASK_FORWARD,
                       .replayable = !backward && test_random_chance(state, 90)};
    assert_true(remat_vector_push(&p->allocator, &p->tasks, task));
}

static void add_write(remat_problem *p, uint32_t value, bool accumulate)
{
    remat_write write = {value, accumulate};
    assert_true(remat_vector_push(&p->allocator, &p->writes, write));
}

/* Up to `most` distinct values below `n`, recent ones with preference. */
static void add_reads(remat_problem *p, uint64_t *state, uint32_t first, uint32_t n, size_t most)
{
    uint32_t start = p->tasks.data[p->tasks.count - 1].reads;
    for (size_t k = 0; k < most && n > first; k++) {
        uint32_t span = test_random_chance(state, 50) && n - first > 2 ? 2 : n - first;
        uint32_t value = n - 1 - (uint32_t)test_random_below(state, span);
        bool known = false;
        for (size_t i = start; i < p->reads.count; i++)
            known |= p->reads.data[i] == value;
        if (!known)
            assert_true(remat_vector_push(&p->allocator, &p->reads, value));
    }
}

static void add_reuses(remat_problem *p, uint64_t *state, uint32_t to)
{
    for (size_t i = p->tasks.data[p->tasks.count - 1].reads; i < p->reads.count; i++) {
        remat_reuse reuse = {p->reads.data[i], to};
        if (p->values.data[reuse.from].bytes == p->values.data[to].bytes &&
            test_random_chance(state, 60))
            assert_true(remat_vector_push(&p->allocator, &p->reuses, reuse));
    }
}

static void add_forward(remat_problem *p, uint64_t *state)
{
    uint32_t n = (uint32_t)p->values.count;
    add_task(p, state, false);
    add_reads(p, state, 0, n, test_random_below(state, 3));
    add_write(p, new_value(p, state, REMAT_CLASS_ACTIVATION), false);
    add_reuses(p, state, n);
    if (test_random_chance(state, 15) && p->values.count < 7)
        add_write(p, new_value(p, state, REMAT_CLASS_ACTIVATION), false);
}

static void add_backward(remat_problem *p, uint64_t *state, uint32_t n_activations)
{
    uint32_t n = (uint32_t)p->values.count;
    add_task(p, state, true);
    add_reads(p, state, 0, n_activations, 1 + test_random_below(state, 2));
    add_reads(p, state, n_activations, n, 1);
    if (n > n_activations && (test_random_chance(state, 30) || n >= TINY_VALUES)) {
        add_write(p, n_activations + (uint32_t)test_random_below(state, n - n_activations), true);
        return;
    }
    add_write(p, new_value(p, state, REMAT_CLASS_GRADIENT), false);
    add_reuses(p, state, n);
}

void tiny_problem_make(uint64_t seed, remat_problem *p)
{
    uint64_t state = seed;
    *p = (remat_problem){.allocator = remat_allocator_default()};
    p->n_forward = 3 + (uint32_t)test_random_below(&state, 4);
    uint32_t n_backward = 2 + (uint32_t)test_random_below(&state, 4);
    for (uint32_t t = 0; t < p->n_forward; t++)
        add_forward(p, &state);
    uint32_t n_activations = (uint32_t)p->values.count;
    for (uint32_t t = 0; t < n_backward; t++)
        add_backward(p, &state, n_activations);
    p->n_tasks = (uint32_t)p->tasks.count;
    add_task(p, &state, true); /* the sentinel */
    remat_segment_range all = {0};
    assert_true(remat_vector_push(&p->allocator, &p->segments, all));
    assert_true(remat_problem_invariant(p));
}
