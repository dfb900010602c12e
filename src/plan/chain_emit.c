/* chain_emit.c - from the tables to an order of operations. At each goal the cheapest way is found
 * again, so the tables need not record it. */
#include "plan/chain_solution.h"

/* What is still to be done: one operation, or a goal within `bytes`. */
typedef struct pending {
    bool is_goal;
    remat_chain_op op;
    remat_chain_goal goal;
    size_t bytes;
} pending;

typedef struct emission {
    const remat_chain_solution *chain;
    const remat_allocator *allocator;
    remat_chain_ops *ops;
    REMAT_VECTOR(pending) stack; /* the last one is next */
} emission;

static uint64_t last_ticks(const remat_chain_function *f)
{
    return f->points[f->count - 1].ticks;
}

/* REMAT_CHAIN_NEVER also if the cost is not below `least`: most ways are not, for any bytes. */
static uint64_t cost_of_way(const remat_chain_way *way, size_t bytes, uint64_t least)
{
    if (bytes < way->floor || bytes < way->shift ||
        way->ticks + last_ticks(way->upper) + last_ticks(way->lower) >= least)
        return REMAT_CHAIN_NEVER;
    uint64_t upper = remat_chain_function_at(way->upper, bytes - way->shift);
    uint64_t lower = remat_chain_function_at(way->lower, bytes);
    if (upper == REMAT_CHAIN_NEVER || lower == REMAT_CHAIN_NEVER)
        return REMAT_CHAIN_NEVER;
    return way->ticks + upper + lower;
}

/* Any way that costs no more than the table says will do; the first ones are the likeliest. */
static uint64_t find_best(const remat_chain_solution *c, remat_chain_goal goal, size_t bytes,
                          remat_chain_way *best)
{
    const uint64_t known = remat_chain_function_at(remat_chain_find(c, goal), bytes);
    remat_chain_walk walk;
    remat_chain_way way;
    uint64_t least = REMAT_CHAIN_NEVER;
    remat_chain_walk_begin(&walk, c, goal);
    while (least > known && remat_chain_walk_next(&walk, &way)) {
        uint64_t cost = cost_of_way(&way, bytes, least);
        if (cost < least) {
            least = cost;
            *best = way;
        }
    }
    return least;
}

static remat_chain_op make_op(remat_chain_op_kind kind, uint32_t index, uint32_t option)
{
    return (remat_chain_op){(uint8_t)kind, (uint16_t)option, index};
}

static bool emit(emission *e, remat_chain_op_kind kind, uint32_t index, uint32_t option)
{
    return remat_vector_push(e->allocator, e->ops, make_op(kind, index, option));
}

static bool push_goal(emission *e, remat_chain_goal goal, size_t bytes)
{
    pending p = {.is_goal = true, .goal = goal, .bytes = bytes};
    return remat_vector_push(e->allocator, &e->stack, p);
}

static bool push_backward(emission *e, uint32_t stage, uint32_t option)
{
    pending p = {.op = make_op(REMAT_CHAIN_BACKWARD, stage, option)};
    return remat_vector_push(e->allocator, &e->stack, p);
}

/* Plain forwards of s..end-1, the input of s being kept. */
static bool emit_sweep(emission *e, uint32_t s, uint32_t end)
{
    bool done = emit(e, REMAT_CHAIN_STORE, s, 0);
    for (uint32_t i = s + 1; done && i < end; i++)
        done = emit(e, REMAT_CHAIN_MOVE, i, 0);
    return done;
}

static bool follow(emission *e, remat_chain_goal goal, size_t bytes, const remat_chain_way *way)
{
    uint32_t at = way->at;
    uint32_t option = remat_chain_choices(e->chain, at)[way->choice].option;
    size_t rest = bytes - way->shift;
    switch (way->rule) {
    case REMAT_CHAIN_RULE_LAST:
        return emit(e, REMAT_CHAIN_SAVE, at, option) && push_backward(e, at, option);
    case REMAT_CHAIN_RULE_CLOSE:
        return push_backward(e, at, option);
    case REMAT_CHAIN_RULE_KEEP:
        return emit(e, REMAT_CHAIN_SAVE, at, option) && push_backward(e, at, option) &&
               push_goal(e, (remat_chain_goal){at + 1, goal.t, goal.held}, rest);
    case REMAT_CHAIN_RULE_SPLIT:
        return emit_sweep(e, goal.s, at) &&
               push_goal(e, (remat_chain_goal){goal.s, at - 1, REMAT_CHAIN_FREE}, bytes) &&
               push_goal(e, (remat_chain_goal){at, goal.t, goal.held}, rest);
    case REMAT_CHAIN_RULE_HOLE:
        return emit_sweep(e, goal.s, at) && emit(e, REMAT_CHAIN_SAVE, at, option) &&
               emit(e, REMAT_CHAIN_DROP, at, 0) &&
               push_goal(e, (remat_chain_goal){goal.s, at, way->choice}, bytes) &&
               push_goal(e, (remat_chain_goal){at + 1, goal.t, goal.held}, rest);
    }
    return false;
}

static remat_status emit_all(emission *e, size_t bytes)
{
    const remat_chain_solution *c = e->chain;
    if (!push_goal(e, (remat_chain_goal){0, c->n - 1, REMAT_CHAIN_FREE}, bytes))
        return REMAT_OUT_OF_MEMORY;
    while (e->stack.count) {
        pending next = e->stack.data[--e->stack.count];
        if (!next.is_goal) {
            if (!remat_vector_push(e->allocator, e->ops, next.op))
                return REMAT_OUT_OF_MEMORY;
            continue;
        }
        remat_chain_way way = {0};
        if (find_best(c, next.goal, next.bytes, &way) == REMAT_CHAIN_NEVER)
            return REMAT_INFEASIBLE_BUDGET;
        if (!follow(e, next.goal, next.bytes, &way))
            return REMAT_OUT_OF_MEMORY;
    }
    return REMAT_OK;
}

remat_status remat_chain_emit(const remat_chain_solution *solution, size_t budget,
                              const remat_allocator *allocator, remat_chain_ops *ops)
{
    if (!ops)
        return REMAT_INVALID_ARGUMENT;
    ops->count = 0;
    if (!solution || !remat_allocator_is_valid(allocator))
        return REMAT_INVALID_ARGUMENT;
    if (budget < remat_chain_min_budget(solution))
        return REMAT_INFEASIBLE_BUDGET;
    const remat_allocator a = remat_allocator_or_default(allocator);
    emission e = {.chain = solution, .allocator = &a, .ops = ops};
    remat_status status = emit_all(&e, budget - solution->activation[0]);
    remat_vector_release(&a, &e.stack);
    if (status != REMAT_OK)
        ops->count = 0;
    return status;
}

void remat_chain_ops_release(const remat_allocator *allocator, remat_chain_ops *ops)
{
    if (!ops || !remat_allocator_is_valid(allocator))
        return;
    const remat_allocator a = remat_allocator_or_default(allocator);
    remat_vector_release(&a, ops);
}
