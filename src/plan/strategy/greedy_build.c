/* greedy_build.c - constructs a sequence of runs front to back. When memory is short the resident
 * value is dropped that is cheapest to make again for its bytes and the time until its next use;
 * what a task reads and was dropped is made again right before it. Near-linear: candidates wait in
 * a heap whose keys are brought up to date when they come to the top. */
#include "plan/strategy/greedy_search.h"

#include <math.h>
#include <string.h>

enum {
    CLOSURE_LIMIT = 32, /* dropped ancestors counted in the cost of making a value again */
    GROWTH_LIMIT = 16,  /* runs per task after which a construction is given up */
    RUN_WORK = 10       /* steps of work that a run counts for */
};

typedef struct candidate {
    double key;
    uint32_t value;
} candidate;

typedef struct build {
    remat_greedy *g;
    const remat_problem *problem;
    const remat_greedy_weights *weights;
    remat_runs *sequence;
    const remat_greedy_index *index;
    uint32_t *use_next; /* per value: the first use that is still to come */
    uint32_t *locks;    /* per value: waiting tasks that read it */
    unsigned char *resident, *queued;
    unsigned char *held; /* per value: is never dropped before the end */
    size_t live_bytes, most_runs;
    uint32_t now; /* the task in order that is being served */
    REMAT_VECTOR(candidate) heap;
    REMAT_VECTOR(candidate) aside; /* locked candidates while others are dropped */
    remat_runs stack;              /* tasks that wait for inputs */
    remat_runs trail;              /* of a closure */
    bool out_of_memory;
} build;

/* ---- Candidates ------------------------------------------------------------------------------*/

static uint32_t next_use(const build *b, uint32_t value)
{
    uint32_t i = b->use_next[value];
    return i < b->index->use_at[value + 1] ? b->index->uses[i] : REMAT_NONE;
}

/* The next task that reads the value, or that reads a dropped value made from it. */
static uint32_t wanted_at(const build *b, uint32_t value)
{
    uint32_t at = next_use(b, value);
    for (uint32_t i = b->index->use_at[value]; at == REMAT_NONE && i < b->index->use_at[value + 1];
         i++) {
        uint32_t task = b->index->uses[i];
        for (uint32_t w = 0; w < remat_task_n_writes(b->problem, task); w++) {
            uint32_t made = remat_task_writes(b->problem, task)[w].value;
            if (b->g->maker[made] == task && !b->resident[made] && next_use(b, made) < at)
                at = next_use(b, made);
        }
    }
    return at;
}

/* Cost of making the value again from what is resident. */
static double closure_cost(build *b, uint32_t value)
{
    const remat_problem *p = b->problem;
    uint32_t mark = ++b->g->now;
    double cost = 0;
    b->trail.count = 0;
    if (!remat_vector_push(&p->allocator, &b->trail, b->g->maker[value]))
        b->out_of_memory = true;
    for (size_t i = 0; i < b->trail.count; i++) {
        uint32_t task = b->trail.data[i];
        cost += p->tasks.data[task].cost;
        for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++) {
            uint32_t read = remat_task_reads(p, task)[k], maker = b->g->maker[read];
            if (b->resident[read] || maker == REMAT_NONE || b->g->task_stamp[maker] == mark ||
                b->trail.count >= CLOSURE_LIMIT)
                continue;
            b->g->task_stamp[maker] = mark;
            if (!remat_vector_push(&p->allocator, &b->trail, maker))
                b->out_of_memory = true;
        }
    }
    return cost;
}

static double noise(build *b, uint32_t value)
{
    if (b->weights->noise == 0)
        return 0;
    uint64_t bits = remat_hash_word(b->weights->seed, value);
    return b->weights->noise * ((double)(bits >> 11) * 0x1p-53 - 0.5);
}

/* Logarithm of how much it hurts to drop the value. */
static double key_of(build *b, uint32_t value)
{
    uint32_t at = wanted_at(b, value);
    if (at == REMAT_NONE)
        return -INFINITY;
    const remat_greedy_weights *w = b->weights;
    double bytes = (double)b->problem->values.data[value].bytes + 1;
    double distance = at > b->now ? (double)(at - b->now) : 1;
    return w->cost * log(closure_cost(b, value) + 1e-30) - w->bytes * log(bytes) -
           w->distance * log(distance + 1) + noise(b, value);
}

static void push(build *b, candidate c)
{
    if (!remat_vector_push(&b->problem->allocator, &b->heap, c)) {
        b->out_of_memory = true;
        return;
    }
    size_t i = b->heap.count - 1;
    for (; i > 0 && b->heap.data[(i - 1) / 2].key > c.key; i = (i - 1) / 2)
        b->heap.data[i] = b->heap.data[(i - 1) / 2];
    b->heap.data[i] = c;
}

static candidate pop(build *b)
{
    candidate *heap = b->heap.data, top = heap[0];
    size_t n = --b->heap.count, i = 0;
    candidate last = heap[n];
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && heap[child + 1].key < heap[child].key)
            child++;
        if (heap[child].key >= last.key)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

static void enqueue(build *b, uint32_t value)
{
    if (b->queued[value])
        return;
    b->queued[value] = 1;
    push(b, (candidate){key_of(b, value), value});
}

/* ---- Memory ----------------------------------------------------------------------------------*/

static void drop(build *b, uint32_t value)
{
    b->resident[value] = 0;
    b->live_bytes -= b->problem->values.data[value].bytes;
}

/* Drops resident values until `bytes` more fit, or nothing is left to drop. */
static void make_room(build *b, size_t bytes)
{
    size_t room = b->g->budget > bytes ? b->g->budget - bytes : 0;
    b->aside.count = 0;
    while (b->live_bytes > room && b->heap.count > 0) {
        candidate c = pop(b);
        if (!b->resident[c.value] || b->held[c.value]) {
            b->queued[c.value] = 0;
            continue;
        }
        if (b->locks[c.value] > 0) {
            if (!remat_vector_push(&b->problem->allocator, &b->aside, c))
                b->out_of_memory = true;
            continue;
        }
        double key = key_of(b, c.value);
        if (b->heap.count > 0 && key > b->heap.data[0].key && key > c.key) {
            push(b, (candidate){key, c.value});
            continue;
        }
        b->queued[c.value] = 0;
        drop(b, c.value);
    }
    for (size_t i = 0; i < b->aside.count; i++)
        push(b, b->aside.data[i]);
}

/* ---- Runs ------------------------------------------------------------------------------------*/

/* A value that no waiting task reads: gone if nobody wants it, else open to being dropped. What
 * cannot be made again is up to drop_due(). */
static void settle(build *b, uint32_t value)
{
    if (!b->resident[value] || b->locks[value] > 0 || b->held[value] ||
        b->g->maker[value] == REMAT_NONE)
        return;
    if (wanted_at(b, value) == REMAT_NONE)
        drop(b, value);
    else
        enqueue(b, value);
}

static void drop_due(build *b, uint32_t task)
{
    for (uint32_t i = b->index->due_at[task]; i < b->index->due_at[task + 1]; i++)
        if (b->resident[b->index->due[i]] && !b->held[b->index->due[i]])
            drop(b, b->index->due[i]);
}

/* True if the value is dropped right after the task, which reads it. */
static bool is_last_use(const build *b, uint32_t value, uint32_t task, bool replay)
{
    if (b->held[value] || b->locks[value] > 1)
        return false;
    if (b->g->maker[value] == REMAT_NONE)
        return !replay && b->index->reach[value] == task;
    return b->index->use_at[value + 1] - b->use_next[value] == !replay;
}

static void lock_inputs(build *b, uint32_t task)
{
    for (uint32_t k = 0; k < remat_task_n_reads(b->problem, task); k++)
        b->locks[remat_task_reads(b->problem, task)[k]]++;
}

/* Bytes of what the task makes that take new memory while it runs. */
static size_t new_bytes(const build *b, uint32_t task, bool replay, size_t *made)
{
    const remat_problem *p = b->problem;
    *made = 0;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        if (!b->resident[remat_task_writes(p, task)[i].value])
            *made += p->values.data[remat_task_writes(p, task)[i].value].bytes;
    for (uint32_t i = 0; i < remat_task_n_reuses(p, task); i++) {
        remat_reuse reuse = remat_task_reuses(p, task)[i];
        if (!b->resident[reuse.to] && is_last_use(b, reuse.from, task, replay))
            return *made - p->values.data[reuse.to].bytes;
    }
    return *made;
}

static void run(build *b, uint32_t task, bool replay)
{
    const remat_problem *p = b->problem;
    size_t made, bytes = new_bytes(b, task, replay, &made);
    make_room(b, bytes + p->tasks.data[task].workspace_bytes);
    b->live_bytes += made;
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        b->resident[remat_task_writes(p, task)[i].value] = 1;
    if (!remat_vector_push(&p->allocator, b->sequence, replay ? task | REMAT_GREEDY_REPLAY : task))
        b->out_of_memory = true;
    for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++) {
        uint32_t value = remat_task_reads(p, task)[k];
        b->locks[value]--;
        while (!replay && next_use(b, value) <= task)
            b->use_next[value]++;
    }
    for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++)
        settle(b, remat_task_reads(p, task)[k]);
    for (uint32_t i = 0; i < remat_task_n_writes(p, task); i++)
        settle(b, remat_task_writes(p, task)[i].value);
}

static uint32_t missing_input(const build *b, uint32_t task)
{
    const remat_problem *p = b->problem;
    uint32_t n = remat_task_n_reads(p, task);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t value = remat_task_reads(p, task)[b->weights->last_first ? n - 1 - k : k];
        if (!b->resident[value])
            return value;
    }
    return REMAT_NONE;
}

/* Runs the next task in order, after replays of what it lacks. */
static void serve(build *b, uint32_t task)
{
    uint32_t top = task;
    b->stack.count = 0;
    lock_inputs(b, task);
    while (!b->out_of_memory && b->sequence->count < b->most_runs) {
        uint32_t missing = missing_input(b, top);
        if (missing != REMAT_NONE) {
            if (!remat_vector_push(&b->problem->allocator, &b->stack, top))
                b->out_of_memory = true;
            top = b->g->maker[missing];
            lock_inputs(b, top);
            continue;
        }
        run(b, top, b->stack.count > 0);
        if (b->stack.count == 0)
            return;
        top = b->stack.data[--b->stack.count];
    }
}

/* Between forward and backward pass: RECOMPUTE values go; with retain all others stay. */
static void pass_seam(build *b)
{
    for (size_t i = 0; i < b->g->recompute.count; i++)
        if (b->resident[b->g->recompute.data[i]])
            drop(b, b->g->recompute.data[i]);
    for (size_t v = 0; b->problem->retain && v < b->problem->values.count; v++)
        b->held[v] |= b->resident[v];
}

/* ---- Frame -----------------------------------------------------------------------------------*/

static bool allocate(build *b)
{
    const remat_allocator *a = &b->problem->allocator;
    size_t n = b->problem->values.count;
    b->use_next = remat_memory_allocate(a, n, sizeof *b->use_next);
    b->locks = remat_memory_allocate(a, n, sizeof *b->locks);
    b->resident = remat_memory_allocate(a, n, 1);
    b->queued = remat_memory_allocate(a, n, 1);
    b->held = remat_memory_allocate(a, n, 1);
    return b->use_next && b->locks && b->resident && b->queued && b->held;
}

static void release(build *b)
{
    const remat_allocator *a = &b->problem->allocator;
    size_t n = b->problem->values.count;
    remat_memory_release(a, b->use_next, n, sizeof *b->use_next);
    remat_memory_release(a, b->locks, n, sizeof *b->locks);
    remat_memory_release(a, b->resident, n, 1);
    remat_memory_release(a, b->queued, n, 1);
    remat_memory_release(a, b->held, n, 1);
    remat_vector_release(a, &b->heap);
    remat_vector_release(a, &b->aside);
    remat_vector_release(a, &b->stack);
    remat_vector_release(a, &b->trail);
}

bool remat_greedy_build(remat_greedy *g, const remat_greedy_weights *weights, remat_runs *sequence,
                        bool *built)
{
    const remat_problem *p = g->problem;
    build b = {.g = g, .problem = p, .weights = weights, .sequence = sequence, .index = &g->index};
    b.most_runs = GROWTH_LIMIT * ((size_t)p->n_tasks + GROWTH_LIMIT);
    b.out_of_memory = !allocate(&b);
    sequence->count = 0;
    if (!b.out_of_memory) {
        memcpy(b.held, g->stays, p->values.count);
        memcpy(b.use_next, b.index->use_at, p->values.count * sizeof *b.use_next);
    }
    for (b.now = 0; b.now < p->n_tasks && !b.out_of_memory; b.now++) {
        if (b.now == p->n_forward)
            pass_seam(&b);
        serve(&b, b.now);
        drop_due(&b, b.now);
    }
    *built = sequence->count < b.most_runs;
    g->work += RUN_WORK * sequence->count;
    release(&b);
    return !b.out_of_memory;
}
