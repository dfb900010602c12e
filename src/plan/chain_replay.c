/* chain_replay.c - executes an order of chain operations by the rules alone; the judge of the
 * solver. */
#include <string.h>

#include "plan/chain.h"

typedef struct replay {
    const remat_chain *chain;
    remat_chain_replayed *result;
    bool *alone;            /* [n + 1] activation i is held by itself */
    bool *gradient;         /* [n + 1] of activation i */
    uint32_t *saved;        /* [n] 0: nothing; else 1 + option */
    size_t bytes;           /* held */
    uint32_t backward_left; /* stages without their backward; the next one is the last of them */
} replay;

static bool fail(replay *r, const char *fault)
{
    r->result->fault = fault;
    return false;
}

static bool is_available(const replay *r, uint32_t activation)
{
    return r->alone[activation] || (activation > 0 && r->saved[activation - 1]);
}

/* An operation that makes `made` bytes and needs `extra` while it runs. */
static void execute(replay *r, size_t made, size_t extra, double cost)
{
    r->bytes += made;
    if (r->bytes + extra > r->result->peak_bytes)
        r->result->peak_bytes = r->bytes + extra;
    r->result->cost += cost;
}

static bool drop_activation(replay *r, uint32_t i)
{
    if (i == 0 || !r->alone[i])
        return fail(r, "drops an activation that is not held by itself, or the first");
    r->alone[i] = false;
    r->bytes -= r->chain->activation_bytes[i];
    return true;
}

static bool plain_forward(replay *r, uint32_t i, bool moves)
{
    const remat_chain_stage *stage = &r->chain->stages[i];
    if (!is_available(r, i))
        return fail(r, "a forward without its input");
    if (r->alone[i + 1])
        return fail(r, "makes an activation that is there");
    r->alone[i + 1] = true;
    execute(r, r->chain->activation_bytes[i + 1], stage->forward_extra_bytes, stage->forward_cost);
    r->result->forward_runs++;
    return !moves || drop_activation(r, i);
}

static bool saving_forward(replay *r, uint32_t i, uint32_t option)
{
    const remat_chain_stage *stage = &r->chain->stages[i];
    if (option >= stage->n_options)
        return fail(r, "an unknown option");
    if (!is_available(r, i))
        return fail(r, "a forward without its input");
    if (r->saved[i])
        return fail(r, "saves what is saved already");
    const remat_chain_option *o = &stage->options[option];
    r->saved[i] = 1 + option;
    execute(r, o->saved_bytes, o->forward_extra_bytes, o->forward_cost);
    r->result->forward_runs++;
    return true;
}

static bool backward(replay *r, uint32_t i, uint32_t option)
{
    const remat_chain *chain = r->chain;
    if (i + 1 != r->backward_left)
        return fail(r, "a backward out of order");
    if (!r->gradient[i + 1] || r->saved[i] != 1 + option || !is_available(r, i))
        return fail(r, "a backward without its gradient, its saved values or its input");
    const remat_chain_option *o = &chain->stages[i].options[option];
    r->gradient[i] = true;
    execute(r, chain->gradient_bytes[i], o->backward_extra_bytes, o->backward_cost);
    r->gradient[i + 1] = false;
    r->saved[i] = 0;
    r->bytes -= chain->gradient_bytes[i + 1] + o->saved_bytes;
    r->backward_left = i;
    return i == 0 || !r->alone[i] || drop_activation(r, i);
}

static bool perform(replay *r, remat_chain_op op)
{
    uint32_t n = r->chain->n_stages;
    if (op.index > n || (op.index == n && op.kind != REMAT_CHAIN_DROP))
        return fail(r, "an unknown stage");
    switch (op.kind) {
    case REMAT_CHAIN_MOVE:
        return plain_forward(r, op.index, true);
    case REMAT_CHAIN_STORE:
        return plain_forward(r, op.index, false);
    case REMAT_CHAIN_SAVE:
        return saving_forward(r, op.index, op.option);
    case REMAT_CHAIN_BACKWARD:
        return backward(r, op.index, op.option);
    case REMAT_CHAIN_DROP:
        return drop_activation(r, op.index);
    default:
        return fail(r, "an unknown operation");
    }
}

static void replay_all(replay *r, const remat_chain_op *ops, size_t n_ops)
{
    uint32_t n = r->chain->n_stages;
    r->alone[0] = true;
    r->gradient[n] = true;
    r->backward_left = n;
    execute(r, r->chain->activation_bytes[0] + r->chain->gradient_bytes[n], 0, 0);
    for (r->result->at = 0; r->result->at < n_ops; r->result->at++)
        if (!perform(r, ops[r->result->at]))
            return;
    if (r->backward_left)
        (void)fail(r, "ends before the backward of every stage has run");
}

bool remat_chain_replay(const remat_allocator *allocator, const remat_chain *chain,
                        const remat_chain_op *ops, size_t n_ops, remat_chain_replayed *result)
{
    size_t n = chain->n_stages;
    replay r = {.chain = chain, .result = result};
    *result = (remat_chain_replayed){0};
    r.alone = remat_memory_allocate(allocator, n + 1, sizeof *r.alone);
    r.gradient = remat_memory_allocate(allocator, n + 1, sizeof *r.gradient);
    r.saved = remat_memory_allocate(allocator, n, sizeof *r.saved);
    bool done = r.alone && r.gradient && r.saved;
    if (done)
        replay_all(&r, ops, n_ops);
    remat_memory_release(allocator, r.alone, n + 1, sizeof *r.alone);
    remat_memory_release(allocator, r.gradient, n + 1, sizeof *r.gradient);
    remat_memory_release(allocator, r.saved, n, sizeof *r.saved);
    return done;
}
