/* chain_of_blocks.c - see chain_of_blocks.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/support/chain_of_blocks.h"
#include "core/support/random_tape.h"

enum { MOST_BLOCKS = 64, MOST_INSIDE = 5 };

/* Forward tasks of one block: each reads one or two values of it, the last one the one before it,
 * so that everything made inside ends there. */
typedef struct block {
    uint32_t n, values[MOST_INSIDE + 1]; /* [0]: the input, REMAT_NONE in the first block */
    uint32_t reads[MOST_INSIDE][2], n_reads[MOST_INSIDE];
    unsigned needs[MOST_INSIDE]; /* of backward, in bits: 1, 2: operands, 4: the result */
    double cost[MOST_INSIDE];
    size_t workspace[MOST_INSIDE];
} block;

typedef struct maker {
    remat_problem *p;
    uint64_t state;
    block blocks[MOST_BLOCKS];
    uint32_t gradient[MOST_BLOCKS * MOST_INSIDE]; /* per activation; REMAT_NONE: none yet */
} maker;

static uint32_t new_value(maker *m, size_t bytes, bool keep)
{
    uint32_t value;
    assert_int_equal(remat_problem_add_value(m->p, bytes, keep, &value), REMAT_OK);
    return value;
}

/* Draws the form of a block in numbers of its own values: 0 is the input. */
static void draw(maker *m, block *b)
{
    b->n = 1 + (uint32_t)test_random_below(&m->state, MOST_INSIDE);
    for (uint32_t k = 0; k < b->n; k++) {
        b->n_reads[k] = 1;
        b->reads[k][0] = k;
        uint32_t other = (uint32_t)test_random_below(&m->state, k + 1);
        if (other != k && test_random_chance(&m->state, 50))
            b->reads[k][b->n_reads[k]++] = other;
        b->needs[k] = (unsigned)test_random_below(&m->state, 8);
        b->cost[k] = (double)(1 + test_random_below(&m->state, 20));
        b->workspace[k] = test_random_chance(&m->state, 20) ? test_random_below(&m->state, 8) : 0;
    }
}

static void add_forward(maker *m, block *b, uint32_t k, size_t bytes, bool keep, bool once)
{
    uint32_t reads[2], n = 0;
    for (uint32_t i = 0; i < b->n_reads[k]; i++)
        if (b->values[b->reads[k][i]] != REMAT_NONE)
            reads[n++] = b->values[b->reads[k][i]];
    b->values[k + 1] = new_value(m, bytes, keep);
    remat_task_spec spec = {.cost = b->cost[k],
                            .workspace_bytes = b->workspace[k],
                            .reads = reads,
                            .n_reads = n,
                            .writes = &b->values[k + 1],
                            .n_writes = 1,
                            .once = once};
    uint32_t task;
    assert_int_equal(remat_problem_add_forward(m->p, &spec, &task), REMAT_OK);
}

/* Bytes are part of a block's form: drawn again from the same state. */
static void add_block_forward(maker *m, block *b, uint32_t input, uint64_t form)
{
    b->values[0] = input;
    for (uint32_t k = 0; k < b->n; k++)
        add_forward(m, b, k, 1 + test_random_below(&form, k + 1 == b->n ? 10 : 30),
                    test_random_chance(&m->state, 2), test_random_chance(&m->state, 2));
}

static void add_backward(maker *m, const block *b, uint32_t k)
{
    uint32_t reads[4], n_reads = 0, writes[2], n_writes = 0, adds[2], n_adds = 0;
    for (uint32_t i = 0; i < b->n_reads[k]; i++) {
        uint32_t v = b->values[b->reads[k][i]];
        if (v == REMAT_NONE)
            continue;
        if (b->needs[k] >> i & 1)
            reads[n_reads++] = v;
        if (m->gradient[v] != REMAT_NONE) {
            adds[n_adds++] = m->gradient[v];
            continue;
        }
        m->gradient[v] = new_value(m, m->p->values.data[v].bytes, false);
        writes[n_writes++] = m->gradient[v];
    }
    uint32_t made = b->values[k + 1];
    if (b->needs[k] & 4)
        reads[n_reads++] = made;
    if (m->gradient[made] != REMAT_NONE)
        reads[n_reads++] = m->gradient[made];
    remat_task_spec spec = {.cost = 2 * b->cost[k],
                            .reads = reads,
                            .n_reads = n_reads,
                            .writes = writes,
                            .n_writes = n_writes,
                            .adds = adds,
                            .n_adds = n_adds};
    uint32_t task;
    assert_int_equal(remat_problem_add_backward(m->p, &spec, &task), REMAT_OK);
}

void chain_of_blocks_make(uint64_t seed, uint32_t n_blocks, remat_problem *problem)
{
    remat_problem *made = NULL;
    assert_true(n_blocks <= MOST_BLOCKS);
    assert_int_equal(remat_problem_create(NULL, &made), REMAT_OK);
    maker *m = test_calloc(1, sizeof *m);
    m->p = made;
    m->state = seed;
    for (size_t v = 0; v < MOST_BLOCKS * MOST_INSIDE; v++)
        m->gradient[v] = REMAT_NONE;
    uint32_t input = REMAT_NONE;
    uint64_t form = seed;
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (i == 0 || test_random_chance(&m->state, 40)) {
            form = m->state;
            draw(m, &m->blocks[i]);
        } else {
            m->blocks[i] = m->blocks[i - 1];
        }
        add_block_forward(m, &m->blocks[i], input, form);
        input = m->blocks[i].values[m->blocks[i].n];
    }
    for (uint32_t i = n_blocks; i-- > 0;)
        for (uint32_t k = m->blocks[i].n; k-- > 0;)
            add_backward(m, &m->blocks[i], k);
    test_free(m);
    *problem = *made; /* the caller's copy owns all but the struct itself */
    remat_memory_release(&problem->allocator, made, 1, sizeof *made);
}
