/* blocks_options.c - what a block may save for its backward, and what each choice costs: subsets of
 * the values its backward reads, thinned to those that no other beats in both bytes and replay
 * cost, then measured by the simulator on the block alone. Equal blocks are measured once. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/strategy/blocks.h"
#include "plan/strategy/remake.h"

#define ALL_SUBSETS  12 /* wanted values up to which every subset is considered */
#define EXACT_RATES  64 /* wanted values up to which every drop's cost is computed exactly */
#define MOST_OPTIONS 16

/* A subset of the wanted values, before it is measured. */
typedef struct subset {
    size_t bytes; /* saved */
    double cost;  /* of making the others again */
    size_t words;
} subset;

typedef REMAT_VECTOR(double) rates; /* cost per byte */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The block alone as a problem: a task that brings its input, its forward tasks, a task that brings
 * the gradients from outside, its backward tasks, and one that takes the gradients that go on. */
typedef struct bench {
    remat_blocks *blocks;
    const remat_block_range *range;
    uint32_t input;                /* global id; REMAT_NONE: none */
    remat_problem problem;         /* values in the block's own numbering */
    uint32_t *local;               /* per global value; REMAT_NONE: not in the block */
    REMAT_VECTOR(uint32_t) global; /* per local value */
    REMAT_VECTOR(uint32_t) wanted; /* local ids, in order of their making */
    REMAT_VECTOR(uint32_t) maker;  /* per wanted value: its task */
    REMAT_VECTOR(subset) subsets;
    remat_runs runs;
    remat_actions schedule;
} bench;

/* ---- The block as a problem ------------------------------------------------------------------*/

static uint32_t local_id(bench *b, uint32_t global)
{
    if (b->local[global] == REMAT_NONE) {
        const remat_allocator *allocator = &b->problem.allocator;
        b->local[global] = (uint32_t)b->global.count;
        if (!remat_vector_push(allocator, &b->global, global) ||
            !remat_vector_push(allocator, &b->problem.values,
                               b->blocks->problem->values.data[global]))
            return REMAT_NONE;
    }
    return b->local[global];
}

static bool is_outside(const bench *b, uint32_t v)
{
    const remat_problem *p = b->blocks->problem;
    if (p->values.data[v].class == REMAT_CLASS_GRADIENT)
        return p->values.data[v].pinned;
    return v != b->input && b->blocks->block_of[v] == REMAT_NONE;
}

static bool begin_task(bench *b, const remat_task *like, uint8_t kind)
{
    remat_task task = like ? *like : (remat_task){0};
    task.kind = kind;
    task.reads = (uint32_t)b->problem.reads.count;
    task.writes = (uint32_t)b->problem.writes.count;
    task.reuses = (uint32_t)b->problem.reuses.count;
    return remat_vector_push(&b->problem.allocator, &b->problem.tasks, task);
}

static bool add_read(bench *b, uint32_t v)
{
    uint32_t id = local_id(b, v);
    return id != REMAT_NONE && remat_vector_push(&b->problem.allocator, &b->problem.reads, id);
}

static bool add_write(bench *b, uint32_t v, bool accumulate)
{
    remat_write write = {local_id(b, v), accumulate};
    return write.value != REMAT_NONE &&
           remat_vector_push(&b->problem.allocator, &b->problem.writes, write);
}

static bool copy_task(bench *b, uint32_t t)
{
    const remat_problem *p = b->blocks->problem;
    if (!begin_task(b, &p->tasks.data[t], p->tasks.data[t].kind))
        return false;
    for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
        if (!is_outside(b, remat_task_reads(p, t)[i]) && !add_read(b, remat_task_reads(p, t)[i]))
            return false;
    for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
        remat_write w = remat_task_writes(p, t)[i];
        if (!is_outside(b, w.value) && !add_write(b, w.value, w.accumulate))
            return false;
    }
    for (uint32_t i = 0; i < remat_task_n_reuses(p, t); i++) {
        remat_reuse r = remat_task_reuses(p, t)[i];
        if (is_outside(b, r.from) || is_outside(b, r.to))
            continue;
        r = (remat_reuse){local_id(b, r.from), local_id(b, r.to)};
        if (r.from == REMAT_NONE || r.to == REMAT_NONE ||
            !remat_vector_push(&b->problem.allocator, &b->problem.reuses, r))
            return false;
    }
    return true;
}

/* Gradients that the block's backward reads or adds to, but that an earlier backward wrote. */
static bool add_incoming(bench *b)
{
    const remat_problem *p = b->blocks->problem;
    if (!begin_task(b, NULL, REMAT_TASK_SEED) ||
        (b->range->boundary != REMAT_NONE && !add_read(b, b->range->boundary)))
        return false;
    for (uint32_t t = b->range->first_backward; t < b->range->end_backward; t++) {
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            uint32_t v = remat_task_reads(p, t)[i];
            if (p->values.data[v].class == REMAT_CLASS_GRADIENT && !is_outside(b, v) &&
                b->local[v] == REMAT_NONE && !add_write(b, v, false))
                return false;
        }
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            remat_write w = remat_task_writes(p, t)[i];
            if (is_outside(b, w.value) || b->local[w.value] != REMAT_NONE)
                continue;
            if (w.accumulate ? !add_write(b, w.value, false) : local_id(b, w.value) == REMAT_NONE)
                return false;
        }
    }
    return true;
}

/* Gradients that the block's backward leaves for blocks before it. */
static bool add_outgoing(bench *b, const uint32_t *last_use)
{
    if (!begin_task(b, NULL, REMAT_TASK_BACKWARD))
        return false;
    for (size_t i = 0; i < b->global.count; i++) {
        uint32_t v = b->global.data[i];
        if (b->problem.values.data[i].class == REMAT_CLASS_GRADIENT &&
            last_use[v] >= b->range->end_backward && !add_read(b, v))
            return false;
    }
    return true;
}

static void clear_bench(bench *b)
{
    for (size_t i = 0; i < b->global.count; i++)
        b->local[b->global.data[i]] = REMAT_NONE;
    b->global.count = b->wanted.count = b->maker.count = b->subsets.count = 0;
    b->problem.tasks.count = b->problem.reads.count = b->problem.writes.count = 0;
    b->problem.reuses.count = b->problem.values.count = 0;
}

static bool build_bench(bench *b, uint32_t index, const uint32_t *last_use)
{
    clear_bench(b);
    b->range = &b->blocks->blocks.data[index];
    b->input = index > 0 ? b->range[-1].boundary : REMAT_NONE;
    if (!begin_task(b, NULL, REMAT_TASK_FORWARD) ||
        (b->input != REMAT_NONE && !add_write(b, b->input, false)))
        return false;
    if (b->input != REMAT_NONE)
        b->problem.values.data[0].pinned = true; /* the chain solver accounts for the input */
    for (uint32_t t = b->range->first_forward; t < b->range->end_forward; t++)
        if (!copy_task(b, t))
            return false;
    b->problem.n_forward = (uint32_t)b->problem.tasks.count;
    if (!add_incoming(b))
        return false;
    for (uint32_t t = b->range->first_backward; t < b->range->end_backward; t++)
        if (!copy_task(b, t))
            return false;
    if (!add_outgoing(b, last_use))
        return false;
    b->problem.n_tasks = (uint32_t)b->problem.tasks.count;
    return begin_task(b, NULL, REMAT_TASK_BACKWARD); /* the sentinel */
}

/* True if one of the blocks that were merged into this one hands the value on. */
static bool is_fine_boundary(const bench *b, uint32_t v)
{
    const remat_blocks *fine = b->blocks->fine;
    return fine && fine->block_of[v] != REMAT_NONE &&
           fine->blocks.data[fine->block_of[v]].boundary == v;
}

/* Values made inside, but the boundary, that the block's backward reads. */
static bool find_wanted(bench *b)
{
    const remat_problem *p = &b->problem;
    unsigned char *read = remat_memory_allocate(&p->allocator, p->values.count, 1);
    bool done = read != NULL;
    for (uint32_t t = p->n_forward + 1; done && t < p->n_tasks; t++)
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            read[remat_task_reads(p, t)[i]] = 1;
    for (uint32_t t = 1; done && t < p->n_forward; t++)
        for (uint32_t i = 0; done && i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            if ((read[v] || is_fine_boundary(b, b->global.data[v])) &&
                b->global.data[v] != b->range->boundary &&
                p->values.data[v].policy != REMAT_POLICY_RECOMPUTE)
                done = remat_vector_push(&p->allocator, &b->wanted, v) &&
                       remat_vector_push(&p->allocator, &b->maker, t);
        }
    remat_memory_release(&p->allocator, read, p->values.count, 1);
    return done;
}

/* ---- Subsets ---------------------------------------------------------------------------------*/

static bool has_bit(const uint64_t *words, size_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

/* The order of runs of the block alone with this subset saved. */
static bool order_block(bench *b, const uint64_t *words)
{
    const remat_problem *p = &b->problem;
    remat_remake remake;
    b->runs.count = 0;
    bool done = remat_remake_create(p, &b->runs, &remake);
    for (uint32_t t = 0; done && t < p->n_forward; t++)
        done = remat_remake_run(&remake, t);
    for (uint32_t t = 1; done && t < p->n_forward; t++)
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++) {
            uint32_t v = remat_task_writes(p, t)[i].value;
            remake.present[v] = b->global.data[v] == b->range->boundary;
        }
    for (size_t w = 0; done && w < b->wanted.count; w++)
        if (has_bit(words, w))
            remake.present[b->wanted.data[w]] = 1;
    for (uint32_t t = p->n_forward; done && t < p->n_tasks; t++)
        done = remat_remake_inputs(&remake, t) && remat_remake_run(&remake, t);
    remat_remake_release(&remake);
    return done;
}

static bool measure(bench *b, const uint64_t *words, remat_simulation *result)
{
    b->schedule.count = 0;
    return order_block(b, words) && remat_schedule_complete(&b->problem, &b->runs, &b->schedule) &&
           remat_schedule_simulate(&b->problem, &b->schedule, result);
}

/* Cost of making again all wanted values that are not saved: the closure over forward tasks. */
static double replay_cost(const bench *b, const uint64_t *words, unsigned char *absent)
{
    const remat_problem *p = &b->problem;
    double cost = 0.0;
    memset(absent, 0, p->values.count);
    for (size_t w = 0; w < b->wanted.count; w++)
        absent[b->wanted.data[w]] = !has_bit(words, w);
    for (uint32_t t = p->n_forward + 1; t < p->n_tasks; t++) /* marked to be remade always */
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            uint32_t v = remat_task_reads(p, t)[i];
            if (p->values.data[v].policy == REMAT_POLICY_RECOMPUTE)
                absent[v] = 1;
        }
    if (b->range->boundary != REMAT_NONE)
        absent[b->local[b->range->boundary]] = 2; /* at hand, as what is saved */
    for (size_t w = 0; w < b->wanted.count; w++)
        if (has_bit(words, w))
            absent[b->wanted.data[w]] = 2;
    for (uint32_t t = p->n_forward; t-- > 1;) {
        bool needed = false;
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            needed |= absent[remat_task_writes(p, t)[i].value] == 1;
        if (!needed)
            continue;
        cost += p->tasks.data[t].cost;
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            uint32_t v = remat_task_reads(p, t)[i];
            if (absent[v] == 0 && b->global.data[v] != b->input)
                absent[v] = 1;
        }
    }
    return cost;
}

static size_t saved_bytes(const bench *b, const uint64_t *words)
{
    size_t bytes = 0;
    for (size_t w = 0; w < b->wanted.count; w++)
        if (has_bit(words, w))
            bytes += b->problem.values.data[b->wanted.data[w]].bytes;
    return bytes;
}

static bool add_subset(bench *b, const uint64_t *words, unsigned char *absent)
{
    const remat_allocator *allocator = &b->problem.allocator;
    size_t n_words = (b->wanted.count + 63) / 64;
    subset s = {saved_bytes(b, words), replay_cost(b, words, absent), b->blocks->words.count};
    if (!remat_vector_reserve(allocator, &b->blocks->words, n_words))
        return false;
    if (n_words > 0)
        memcpy(b->blocks->words.data + s.words, words, n_words * sizeof *words);
    b->blocks->words.count += n_words;
    return remat_vector_push(allocator, &b->subsets, s);
}

static bool add_every_subset(bench *b, unsigned char *absent)
{
    for (uint64_t word = 0; word < (uint64_t)1 << b->wanted.count; word++)
        if (!add_subset(b, &word, absent))
            return false;
    return true;
}

/* What dropping one more wanted value costs per byte: exactly if there are few, else by the task
 * that makes it. */
static double drop_rate(const bench *b, uint64_t *words, size_t w, double base,
                        unsigned char *absent)
{
    uint32_t v = b->wanted.data[w];
    double bytes = (double)b->problem.values.data[v].bytes;
    if (b->wanted.count > EXACT_RATES)
        return b->problem.tasks.data[b->maker.data[w]].cost / bytes;
    words[w / 64] ^= (uint64_t)1 << w % 64;
    double extra = replay_cost(b, words, absent) - base;
    words[w / 64] ^= (uint64_t)1 << w % 64;
    return extra / bytes;
}

/* Takes the wanted value out of the set whose loss costs least per byte. */
static void drop_cheapest(bench *b, uint64_t *words, unsigned char *absent)
{
    size_t n = b->wanted.count, best = n;
    double best_rate = 0.0;
    double base = n > EXACT_RATES ? 0.0 : replay_cost(b, words, absent);
    for (size_t w = 0; w < n; w++) {
        if (!has_bit(words, w))
            continue;
        double rate = drop_rate(b, words, w, base, absent);
        if (best == n || rate < best_rate) {
            best = w;
            best_rate = rate;
        }
    }
    words[best / 64] ^= (uint64_t)1 << best % 64;
}

/* Many wanted values: a nested family from all saved to none. */
static bool add_nested_subsets(bench *b, unsigned char *absent)
{
    const remat_allocator *allocator = &b->problem.allocator;
    size_t n = b->wanted.count, n_words = (n + 63) / 64;
    size_t levels = n > EXACT_RATES ? MOST_OPTIONS : n, left = n;
    uint64_t *words = remat_memory_allocate(allocator, n_words, sizeof *words);
    bool done = words != NULL;
    if (done)
        memset(words, 0xFF, n_words * sizeof *words);
    for (size_t level = 0; done && level < levels; level++) {
        done = add_subset(b, words, absent);
        size_t keep = n - n * (level + 1) / levels;
        for (; done && left > keep; left--)
            drop_cheapest(b, words, absent);
    }
    done = done && add_subset(b, words, absent);
    remat_memory_release(allocator, words, n_words, sizeof *words);
    return done;
}

/* What a byte saved is worth at the steps between the options of the merged blocks, ascending. */
static bool list_rates(const remat_blocks *fine, const remat_allocator *allocator, rates *list)
{
    for (size_t t = 0; t < fine->types.count; t++) {
        const remat_block_type *type = &fine->types.data[t];
        const remat_chain_option *o = fine->chain_options.data + type->first_option;
        for (uint32_t k = 0; k + 1 < type->n_options; k++) {
            double rate = (o[k].backward_cost - o[k + 1].backward_cost) /
                          (double)(o[k + 1].saved_bytes - o[k].saved_bytes);
            if (!remat_vector_push(allocator, list, rate))
                return false;
        }
    }
    if (list->count > 0)
        qsort(list->data, list->count, sizeof *list->data, compare_doubles);
    return true;
}

static uint32_t best_option(const remat_blocks *fine, const remat_block_type *type, double rate)
{
    const remat_chain_option *o = fine->chain_options.data + type->first_option;
    uint32_t best = 0;
    for (uint32_t k = 1; k < type->n_options; k++)
        if (o[k].backward_cost + rate * (double)o[k].saved_bytes <
            o[best].backward_cost + rate * (double)o[best].saved_bytes)
            best = k;
    return best;
}

/* Saves of every merged block what is best at this rate, and all that they hand on. */
static void save_at_rate(const bench *b, double rate, uint64_t *words)
{
    const remat_blocks *fine = b->blocks->fine;
    uint32_t type_now = REMAT_NONE, option = 0;
    for (size_t w = 0; w < b->wanted.count; w++) {
        uint32_t v = b->global.data[b->wanted.data[w]];
        uint32_t bit = fine->wanted_bit[v], block = fine->block_of[v];
        bool saved = is_fine_boundary(b, v);
        if (!saved && block != REMAT_NONE && bit != REMAT_NONE) {
            const remat_block_type *type = &fine->types.data[fine->blocks.data[block].type];
            if (type_now != fine->blocks.data[block].type)
                option = best_option(fine, type, rate);
            type_now = fine->blocks.data[block].type;
            saved = has_bit(
                fine->words.data + fine->options.data[type->first_option + option].saved, bit);
        }
        words[w / 64] &= ~((uint64_t)1 << w % 64);
        words[w / 64] |= (uint64_t)saved << w % 64;
    }
}

/* Merged blocks: the combinations of their options that are best for some worth of a byte. */
static bool add_rate_subsets(bench *b, unsigned char *absent)
{
    const remat_allocator *allocator = &b->problem.allocator;
    size_t n_words = (b->wanted.count + 63) / 64;
    rates list = {0};
    uint64_t *words = remat_memory_allocate(allocator, n_words, sizeof *words);
    bool done =
        words && add_subset(b, words, absent) && list_rates(b->blocks->fine, allocator, &list);
    size_t levels = list.count < MOST_OPTIONS ? list.count : MOST_OPTIONS;
    for (size_t k = 0; done && k <= levels; k++) {
        /* A little below each step, and above the highest. */
        double rate = k == levels ? (levels ? 2.0 * list.data[list.count - 1] : 0.0)
                                  : 0.999 * list.data[k * list.count / levels];
        save_at_rate(b, rate, words);
        done = add_subset(b, words, absent);
    }
    remat_vector_release(allocator, &list);
    remat_memory_release(allocator, words, n_words, sizeof *words);
    return done;
}

static bool add_subsets(bench *b, unsigned char *absent)
{
    if (b->wanted.count <= ALL_SUBSETS)
        return add_every_subset(b, absent);
    return b->blocks->fine ? add_rate_subsets(b, absent) : add_nested_subsets(b, absent);
}

static int compare_subsets(const void *a, const void *b)
{
    const subset *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->words < y->words ? -1 : 1;
}

/* Leaves what no other subset beats in bytes and cost; if that is many, those furthest from the
 * straight line between their neighbours' neighbours go last. */
static void thin_out(bench *b)
{
    subset *s = b->subsets.data;
    size_t n = 0;
    qsort(s, b->subsets.count, sizeof *s, compare_subsets);
    for (size_t i = 0; i < b->subsets.count; i++)
        if (n == 0 || s[i].cost < s[n - 1].cost)
            s[n++] = s[i];
    while (n > MOST_OPTIONS) {
        size_t weakest = 1;
        double least = 0.0;
        for (size_t i = 1; i + 1 < n; i++) {
            double share =
                (double)(s[i].bytes - s[i - 1].bytes) / (double)(s[i + 1].bytes - s[i - 1].bytes);
            double line = s[i - 1].cost + share * (s[i + 1].cost - s[i - 1].cost);
            double gain = line - s[i].cost;
            if (i == 1 || gain < least) {
                weakest = i;
                least = gain;
            }
        }
        memmove(&s[weakest], &s[weakest + 1], (n - weakest - 1) * sizeof *s);
        n--;
    }
    b->subsets.count = n;
}

/* ---- Options ---------------------------------------------------------------------------------*/

static size_t excess(size_t peak, size_t counted)
{
    return peak > counted ? peak - counted : 0;
}

static bool add_option(bench *b, uint32_t index, const subset *s, remat_block_type *type)
{
    remat_blocks *blocks = b->blocks;
    const remat_allocator *allocator = &b->problem.allocator;
    const size_t *activation = &blocks->activation_bytes.data[index];
    const size_t *gradient = &blocks->gradient_bytes.data[index];
    remat_simulation result;
    if (!measure(b, remat_vector_at(&blocks->words, s->words), &result))
        return false;
    double forward = 0.0;
    for (uint32_t t = 1; t < b->problem.n_forward; t++)
        forward += b->problem.tasks.data[t].cost;
    remat_chain_option option = {
        .forward_cost = forward,
        .backward_cost = result.cost - forward + result.replay_cost,
        .saved_bytes = s->bytes + activation[1],
        .forward_extra_bytes =
            excess(result.forward_peak_bytes, activation[0] + s->bytes + activation[1]),
        .backward_extra_bytes =
            excess(result.backward_peak_bytes,
                   activation[0] + s->bytes + activation[1] + gradient[1] + gradient[0]),
    };
    if (type->n_options == 0) { /* saves least: the plain forward */
        type->stage.forward_cost = forward;
        type->stage.forward_extra_bytes =
            excess(result.forward_peak_bytes, activation[0] + activation[1]);
    }
    type->n_options++;
    remat_block_option words = {s->words};
    return remat_vector_push(allocator, &blocks->chain_options, option) &&
           remat_vector_push(allocator, &blocks->options, words);
}

static bool make_type(bench *b, uint32_t index)
{
    remat_blocks *blocks = b->blocks;
    const remat_allocator *allocator = &b->problem.allocator;
    remat_block_type type = {.example = index,
                             .n_wanted = (uint32_t)b->wanted.count,
                             .first_option = (uint32_t)blocks->options.count};
    unsigned char *absent = remat_memory_allocate(allocator, b->problem.values.count, 1);
    bool done = absent && add_subsets(b, absent);
    remat_memory_release(allocator, absent, b->problem.values.count, 1);
    if (!done)
        return false;
    thin_out(b);
    for (size_t i = 0; done && i < b->subsets.count; i++)
        done = add_option(b, index, &b->subsets.data[i], &type);
    return done && remat_vector_push(allocator, &blocks->types, type);
}

/* Everything about the block that its options depend on, in its own numbering. */
static uint64_t signature(const bench *b, const size_t *activation, const size_t *gradient)
{
    const remat_problem *p = &b->problem;
    uint64_t hash = remat_hash_word(p->n_forward, p->n_tasks);
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const remat_task *task = &p->tasks.data[t];
        hash = remat_hash_bytes(hash, &task->cost, sizeof task->cost);
        hash = remat_hash_word(hash, task->workspace_bytes);
        hash = remat_hash_word(hash, (uint64_t)task[1].reads << 32 | task[1].writes);
        hash = remat_hash_word(hash, (uint64_t)task[1].reuses << 1 | task->replayable);
    }
    for (size_t i = 0; i < p->reads.count; i++)
        hash = remat_hash_word(hash, p->reads.data[i]);
    for (size_t i = 0; i < p->writes.count; i++)
        hash = remat_hash_word(hash, (uint64_t)p->writes.data[i].value << 1 |
                                         p->writes.data[i].accumulate);
    for (size_t i = 0; i < p->reuses.count; i++)
        hash = remat_hash_word(hash, (uint64_t)p->reuses.data[i].from << 32 | p->reuses.data[i].to);
    for (size_t i = 0; i < p->values.count; i++)
        hash = remat_hash_word(hash, p->values.data[i].bytes << 2 | p->values.data[i].policy);
    hash = remat_hash_word(hash, activation[0] + 3 * activation[1]);
    hash = remat_hash_word(hash, gradient[0] + 3 * gradient[1]);
    return remat_hash_word(hash, b->range->boundary != REMAT_NONE ? b->local[b->range->boundary]
                                                                  : REMAT_NONE);
}

static bool sort_block(bench *b, uint32_t index, uint64_t *signatures, const uint32_t *last_use)
{
    remat_blocks *blocks = b->blocks;
    if (!build_bench(b, index, last_use) || !find_wanted(b))
        return false;
    for (size_t w = 0; w < b->wanted.count; w++)
        blocks->wanted_bit[b->global.data[b->wanted.data[w]]] = (uint32_t)w;
    uint64_t mine =
        signature(b, &blocks->activation_bytes.data[index], &blocks->gradient_bytes.data[index]);
    for (size_t type = 0; type < blocks->types.count; type++)
        if (signatures[type] == mine) {
            blocks->blocks.data[index].type = (uint32_t)type;
            return true;
        }
    signatures[blocks->types.count] = mine;
    blocks->blocks.data[index].type = (uint32_t)blocks->types.count;
    return make_type(b, index);
}

static void find_last_uses(const remat_problem *p, uint32_t *last_use)
{
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++)
            last_use[remat_task_reads(p, t)[i]] = t;
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            last_use[remat_task_writes(p, t)[i].value] = t;
    }
}

bool remat_blocks_enumerate(remat_blocks *blocks)
{
    const remat_problem *p = blocks->problem;
    const remat_allocator *allocator = &p->allocator;
    size_t n = p->values.count, n_blocks = blocks->blocks.count;
    bench b = {.blocks = blocks, .problem = {.allocator = *allocator}};
    uint32_t *last_use = remat_memory_allocate(allocator, n, sizeof *last_use);
    uint64_t *signatures = remat_memory_allocate(allocator, n_blocks, sizeof *signatures);
    b.local = remat_memory_allocate(allocator, n, sizeof *b.local);
    bool done = last_use && signatures && b.local;
    if (done) {
        memset(b.local, 0xFF, n * sizeof *b.local);
        find_last_uses(p, last_use);
    }
    for (uint32_t i = 0; done && i < n_blocks; i++)
        done = sort_block(&b, i, signatures, last_use);
    remat_memory_release(allocator, last_use, n, sizeof *last_use);
    remat_memory_release(allocator, signatures, n_blocks, sizeof *signatures);
    remat_memory_release(allocator, b.local, n, sizeof *b.local);
    remat_vector_release(allocator, &b.global);
    remat_vector_release(allocator, &b.wanted);
    remat_vector_release(allocator, &b.maker);
    remat_vector_release(allocator, &b.subsets);
    remat_vector_release(allocator, &b.runs);
    remat_vector_release(allocator, &b.schedule);
    remat_problem_release(&b.problem);
    return done;
}
