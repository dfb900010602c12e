/* blocks_subsets.c - which subsets of the values that a block's backward reads are worth saving. */
#include <stdlib.h>
#include <string.h>

#include "plan/strategy/blocks_bench.h"
#include "plan/strategy/remake.h"

#define ALL_SUBSETS  12 /* wanted values up to which every subset is considered */
#define EXACT_RATES  64 /* wanted values up to which every drop's cost is computed exactly */
#define MOST_OPTIONS 16

typedef REMAT_VECTOR(double) rates; /* cost per byte */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool has_bit(const uint64_t *words, size_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

/* The order of runs of the block alone with this subset saved. */
static bool order_block(remat_bench *b, const uint64_t *words)
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

bool remat_bench_measure(remat_bench *b, const uint64_t *words, remat_simulation *result)
{
    b->schedule.count = 0;
    return order_block(b, words) && remat_schedule_complete(&b->problem, &b->runs, &b->schedule) &&
           remat_schedule_simulate(&b->problem, &b->schedule, result);
}

/* Cost of making again all wanted values that are not saved: the closure over forward tasks. */
static double replay_cost(const remat_bench *b, const uint64_t *words, unsigned char *absent)
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

static size_t saved_bytes(const remat_bench *b, const uint64_t *words)
{
    size_t bytes = 0;
    for (size_t w = 0; w < b->wanted.count; w++)
        if (has_bit(words, w))
            bytes += b->problem.values.data[b->wanted.data[w]].bytes;
    return bytes;
}

static bool add_subset(remat_bench *b, const uint64_t *words, unsigned char *absent)
{
    const remat_allocator *allocator = &b->problem.allocator;
    size_t n_words = (b->wanted.count + 63) / 64;
    remat_subset s = {saved_bytes(b, words), replay_cost(b, words, absent), b->blocks->words.count};
    if (!remat_vector_reserve(allocator, &b->blocks->words, n_words))
        return false;
    if (n_words > 0)
        memcpy(b->blocks->words.data + s.words, words, n_words * sizeof *words);
    b->blocks->words.count += n_words;
    return remat_vector_push(allocator, &b->subsets, s);
}

static bool add_every_subset(remat_bench *b, unsigned char *absent)
{
    for (uint64_t word = 0; word < (uint64_t)1 << b->wanted.count; word++)
        if (!add_subset(b, &word, absent))
            return false;
    return true;
}

/* What dropping one more wanted value costs per byte: exactly if there are few, else by the task
 * that makes it. */
static double drop_rate(const remat_bench *b, uint64_t *words, size_t w, double base,
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
static void drop_cheapest(remat_bench *b, uint64_t *words, unsigned char *absent)
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
static bool add_nested_subsets(remat_bench *b, unsigned char *absent)
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
static void save_at_rate(const remat_bench *b, double rate, uint64_t *words)
{
    const remat_blocks *fine = b->blocks->fine;
    uint32_t type_now = REMAT_NONE, option = 0;
    for (size_t w = 0; w < b->wanted.count; w++) {
        uint32_t v = b->global.data[b->wanted.data[w]];
        uint32_t bit = fine->wanted_bit[v], block = fine->block_of[v];
        bool saved = remat_bench_is_fine_boundary(b, v);
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
static bool add_rate_subsets(remat_bench *b, unsigned char *absent)
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

bool remat_bench_add_subsets(remat_bench *b, unsigned char *absent)
{
    if (b->wanted.count <= ALL_SUBSETS)
        return add_every_subset(b, absent);
    return b->blocks->fine ? add_rate_subsets(b, absent) : add_nested_subsets(b, absent);
}

static int compare_subsets(const void *a, const void *b)
{
    const remat_subset *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->words < y->words ? -1 : 1;
}

/* Leaves what no other subset beats in bytes and cost; if that is many, those furthest from the
 * straight line between their neighbours' neighbours go last. */
void remat_bench_thin_out(remat_bench *b)
{
    remat_subset *s = b->subsets.data;
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
