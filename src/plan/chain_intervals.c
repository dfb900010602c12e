/* chain_intervals.c - which intervals of stages are equal, and so are solved once.
 *
 * An interval of two or more stages is known by the numbers of the two that are one stage shorter,
 * one without its last stage and one without its first. */
#include "plan/chain_solution.h"

#include <string.h>

#include "base/hash.h"

typedef struct known_pair {
    uint32_t without_last, without_first, number_plus_1; /* 0: slot is empty */
} known_pair;

/* Equal in everything that C and E of an interval read at this stage. */
static bool stages_are_equal(const remat_chain_solution *c, uint32_t a, uint32_t b)
{
    const remat_chain_work *x = &c->work[a], *y = &c->work[b];
    if (x->plain != y->plain || x->plain_extra != y->plain_extra || x->n_choices != y->n_choices ||
        x->n_holes != y->n_holes || c->activation[a + 1] != c->activation[b + 1] ||
        c->gradient[a] != c->gradient[b] || c->gradient[a + 1] != c->gradient[b + 1])
        return false;
    const remat_chain_choice *p = remat_chain_choices(c, a), *q = remat_chain_choices(c, b);
    for (uint32_t k = 0; k < x->n_choices; k++)
        if (p[k].forward != q[k].forward || p[k].backward != q[k].backward ||
            p[k].saved != q[k].saved || p[k].forward_extra != q[k].forward_extra ||
            p[k].backward_extra != q[k].backward_extra || p[k].option != q[k].option)
            return false;
    return true;
}

/* A new number for interval (s, t), with room for its functions. */
static bool add_interval(remat_chain_solution *c, uint32_t t, uint32_t *number)
{
    /* What the last stage saved is never held alone. Any interval equal to this one ends further
     * right, so this one needs its E if any does. */
    uint32_t n_functions = 1 + (t + 1 < c->n ? c->work[t].n_holes : 0);
    uint32_t first = (uint32_t)c->functions.count;
    *number = (uint32_t)c->first.count;
    if (!remat_vector_push(&c->allocator, &c->first, first) ||
        !remat_vector_reserve(&c->allocator, &c->functions, n_functions))
        return false;
    memset(c->functions.data + first, 0, n_functions * sizeof *c->functions.data);
    c->functions.count += n_functions;
    return true;
}

static bool number_stages(remat_chain_solution *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t *number = &c->interval[remat_chain_interval_index(i, i)], j = 0;
        while (j < i && !stages_are_equal(c, j, i))
            j++;
        if (j < i)
            *number = c->interval[remat_chain_interval_index(j, j)];
        else if (!add_interval(c, i, number))
            return false;
    }
    return true;
}

/* Finds the pair, or the empty slot for it. */
static known_pair *find_pair(known_pair *pairs, size_t mask, uint32_t without_last,
                             uint32_t without_first)
{
    uint64_t hash = remat_hash_word(without_last, without_first);
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask)
        if (pairs[i].number_plus_1 == 0 ||
            (pairs[i].without_last == without_last && pairs[i].without_first == without_first))
            return &pairs[i];
}

static bool number_of_length(remat_chain_solution *c, uint32_t length, known_pair *pairs,
                             size_t mask)
{
    memset(pairs, 0, (mask + 1) * sizeof *pairs);
    for (uint32_t s = 0; s + length <= c->n; s++) {
        uint32_t t = s + length - 1;
        uint32_t left = c->interval[remat_chain_interval_index(s, t - 1)];
        uint32_t right = c->interval[remat_chain_interval_index(s + 1, t)];
        known_pair *pair = find_pair(pairs, mask, left, right);
        uint32_t *number = &c->interval[remat_chain_interval_index(s, t)];
        if (pair->number_plus_1)
            *number = pair->number_plus_1 - 1;
        else if (add_interval(c, t, number))
            *pair = (known_pair){left, right, *number + 1};
        else
            return false;
    }
    return true;
}

bool remat_chain_number_intervals(remat_chain_solution *c)
{
    size_t n_slots = 4;
    while (n_slots < 2 * (size_t)c->n)
        n_slots *= 2;
    known_pair *pairs = remat_memory_allocate(&c->allocator, n_slots, sizeof *pairs);
    bool done = pairs && number_stages(c);
    for (uint32_t length = 2; done && length <= c->n; length++)
        done = number_of_length(c, length, pairs, n_slots - 1);
    remat_memory_release(&c->allocator, pairs, n_slots, sizeof *pairs);
    return done;
}
