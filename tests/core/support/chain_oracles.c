/* chain_oracles.c - dense tables, and a search over all states. Stages are numbered from 1 here and
 * arrays are named as in the literature: a_l, abar_l, delta_l, uf, ub, of, ob. */
#include "core/support/chain_oracles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Dense tables ----------------------------------------------------------------------------*/

enum { N = CHAIN_ORACLE_STAGES + 2, M = CHAIN_ORACLE_BYTES, K = CHAIN_CASE_OPTIONS };

typedef struct dense {
    const remat_chain *chain;
    bool holes;
    double t[K + 1][N][N][M]; /* [0]: C; [1 + k]: E for option k of the last stage */
} dense;

static const remat_chain_option *option_of(const remat_chain *c, uint32_t l, uint32_t k)
{
    return &c->stages[l - 1].options[k];
}

static double at(const dense *d, uint32_t table, uint32_t s, uint32_t t, size_t m, size_t taken)
{
    return taken > m ? INFINITY : d->t[table][s][t][m - taken];
}

static size_t held_bytes(const dense *d, uint32_t table, uint32_t t)
{
    size_t held = d->chain->gradient_bytes[t];
    return table ? held + option_of(d->chain, t, table - 1)->saved_bytes : held;
}

static double keep_or_end(const dense *d, uint32_t table, uint32_t s, uint32_t t, size_t m)
{
    const remat_chain *c = d->chain;
    double best = INFINITY;
    for (uint32_t k = 0; k < c->stages[s - 1].n_options; k++) {
        const remat_chain_option *o = option_of(c, s, k);
        size_t down = c->gradient_bytes[s] + o->saved_bytes + c->gradient_bytes[s - 1] +
                      o->backward_extra_bytes;
        size_t up = held_bytes(d, table, t) + o->saved_bytes + o->forward_extra_bytes;
        bool is_held = s == t && table;
        if (m < down || (is_held ? k != table - 1 : m < up))
            continue;
        double cost = o->backward_cost + (is_held ? 0 : o->forward_cost);
        if (s < t)
            cost += at(d, table, s + 1, t, m, o->saved_bytes);
        best = fmin(best, cost);
    }
    return best;
}

/* Plain forwards of s..p-1, then either p..t is solved, or p is saved and its input dropped. */
static double move_on(const dense *d, uint32_t table, uint32_t s, uint32_t t, size_t m)
{
    const remat_chain *c = d->chain;
    const size_t *wa = c->activation_bytes;
    size_t held = held_bytes(d, table, t);
    double best = INFINITY, sweep = 0;
    for (uint32_t p = s + 1; p <= t; p++) {
        const remat_chain_stage *before = &c->stages[p - 2];
        sweep += before->forward_cost;
        size_t input = p - 1 == s ? 0 : wa[p - 2];
        if (m < held + input + wa[p - 1] + before->forward_extra_bytes)
            break;
        best = fmin(best, sweep + at(d, table, p, t, m, wa[p - 1]) + at(d, 0, s, p - 1, m, 0));
        for (uint32_t k = 0; d->holes && p < t && k < c->stages[p - 1].n_options; k++) {
            const remat_chain_option *o = option_of(c, p, k);
            if (m >= held + wa[p - 1] + o->saved_bytes + o->forward_extra_bytes)
                best =
                    fmin(best, sweep + o->forward_cost + at(d, table, p + 1, t, m, o->saved_bytes) +
                                   at(d, 1 + k, s, p, m, 0));
        }
    }
    return best;
}

void chain_oracle_table(const remat_chain *chain, bool holes, double cost[CHAIN_ORACLE_BYTES])
{
    dense *d = malloc(sizeof *d);
    assert_non_null(d);
    d->chain = chain;
    d->holes = holes;
    uint32_t n = chain->n_stages;
    for (uint32_t length = 1; length <= n; length++)
        for (uint32_t s = 1; s + length - 1 <= n; s++) {
            uint32_t t = s + length - 1;
            for (uint32_t table = 0; table <= chain->stages[t - 1].n_options; table++)
                for (size_t m = 0; m < M; m++)
                    d->t[table][s][t][m] =
                        fmin(keep_or_end(d, table, s, t, m), move_on(d, table, s, t, m));
        }
    for (size_t m = 0; m < M; m++)
        cost[m] = at(d, 0, 1, n, m, chain->activation_bytes[0]);
    free(d);
}

/* ---- Search over all states ------------------------------------------------------------------*/

enum { SEARCH_STAGES = 4, STATES = (SEARCH_STAGES + 1) << 3 * SEARCH_STAGES };

/* What is held: a[l] alone for l >= 1, abar[l] by option saved[l] - 1, and delta[left]. */
typedef struct memory_state {
    unsigned alone[SEARCH_STAGES + 1], saved[SEARCH_STAGES + 1], left;
} memory_state;

typedef struct search {
    const remat_chain *chain;
    size_t budget;
    double *cost; /* per state; INFINITY: not reached yet */
    bool changed;
} search;

static size_t encode(const memory_state *state)
{
    size_t code = state->left;
    for (unsigned l = 1; l <= SEARCH_STAGES; l++)
        code = code << 3 | state->alone[l] << 2 | state->saved[l];
    return code;
}

static memory_state decode(size_t code)
{
    memory_state state = {.alone = {1}};
    for (unsigned l = SEARCH_STAGES; l >= 1; l--, code >>= 3) {
        state.alone[l] = code >> 2 & 1;
        state.saved[l] = code & 3;
    }
    state.left = (unsigned)code;
    return state;
}

static size_t bytes_of(const remat_chain *c, const memory_state *state)
{
    size_t bytes = c->activation_bytes[0] + c->gradient_bytes[state->left];
    for (unsigned l = 1; l <= c->n_stages; l++) {
        bytes += state->alone[l] ? c->activation_bytes[l] : 0;
        bytes += state->saved[l] ? option_of(c, l, state->saved[l] - 1)->saved_bytes : 0;
    }
    return bytes;
}

static void reach(search *s, const memory_state *state, double cost)
{
    size_t code = encode(state);
    if (cost < s->cost[code]) {
        s->cost[code] = cost;
        s->changed = true;
    }
}

static void try_forward(search *s, const memory_state *from, unsigned l, double cost)
{
    const remat_chain *c = s->chain;
    const remat_chain_stage *stage = &c->stages[l - 1];
    size_t bytes = bytes_of(c, from);
    memory_state to = *from;
    if (!from->alone[l] &&
        bytes + c->activation_bytes[l] + stage->forward_extra_bytes <= s->budget) {
        to.alone[l] = 1;
        reach(s, &to, cost + stage->forward_cost);
        to.alone[l] = 0;
    }
    for (unsigned k = 0; !from->saved[l] && k < stage->n_options; k++) {
        const remat_chain_option *o = &stage->options[k];
        to.saved[l] = 1 + k;
        if (bytes + o->saved_bytes + o->forward_extra_bytes <= s->budget)
            reach(s, &to, cost + o->forward_cost);
    }
}

static void try_all(search *s, const memory_state *from, double cost)
{
    const remat_chain *c = s->chain;
    for (unsigned l = 1; l <= c->n_stages; l++) {
        memory_state to = *from;
        if (from->alone[l - 1] || from->saved[l - 1])
            try_forward(s, from, l, cost);
        to.alone[l] = 0;
        reach(s, &to, cost);
        to.alone[l] = from->alone[l];
        to.saved[l] = 0;
        reach(s, &to, cost);
    }
    unsigned l = from->left;
    if (!from->saved[l] || !(from->alone[l - 1] || from->saved[l - 1]))
        return;
    const remat_chain_option *o = option_of(c, l, from->saved[l] - 1);
    if (bytes_of(c, from) + c->gradient_bytes[l - 1] + o->backward_extra_bytes > s->budget)
        return;
    memory_state to = *from;
    to.left = l - 1;
    to.saved[l] = 0;
    reach(s, &to, cost + o->backward_cost);
}

double chain_oracle_search(const remat_chain *chain, size_t budget)
{
    search s = {chain, budget, malloc(STATES * sizeof(double)), true};
    assert_non_null(s.cost);
    for (size_t i = 0; i < STATES; i++)
        s.cost[i] = INFINITY;
    memory_state start = {.alone = {1}, .left = chain->n_stages};
    if (bytes_of(chain, &start) <= budget)
        s.cost[encode(&start)] = 0;
    while (s.changed) {
        s.changed = false;
        for (size_t i = STATES; i-- > 0;)
            if (s.cost[i] < INFINITY) {
                memory_state state = decode(i);
                if (state.left)
                    try_all(&s, &state, s.cost[i]);
            }
    }
    double best = INFINITY;
    for (size_t i = 0; i < (size_t)1 << 3 * SEARCH_STAGES; i++) /* those with left == 0 */
        best = fmin(best, s.cost[i]);
    free(s.cost);
    return best;
}
