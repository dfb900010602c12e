/* naive_check.c - see naive_check.h. */
#include "core/support/naive_check.h"

#include <stdlib.h>

#include "core/support/fake_ops.h"

enum { NO_BLOCK = -1 };

typedef struct block {
    size_t bytes;
    bool live;
} block;

typedef struct checker {
    const remat_problem *p;
    const remat_actions *actions;
    long *block_of; /* per value; NO_BLOCK: not resident */
    block *blocks;  /* one for each time that memory was taken */
    size_t n_blocks;
    bool *ran;  /* per task */
    bool *held; /* per value: a repeated backward pass reads it */
    naive_verdict verdict;
} checker;

/* Whether value is named by one of the DROPs between this RUN and the next. */
static bool is_dropped_directly(const checker *c, size_t at, uint32_t value)
{
    for (size_t i = at + 1; i < c->actions->count; i++) {
        if (!remat_action_is_drop(c->actions->data[i]))
            return false;
        if (remat_action_id(c->actions->data[i]) == value)
            return true;
    }
    return false;
}

static bool may_run_now(const checker *c, uint32_t task)
{
    if (task >= c->p->n_tasks)
        return false;
    bool forward = task < c->p->n_forward;
    if (c->ran[task])
        return forward && c->p->tasks.data[task].replayable;
    if (forward && c->verdict.backward_runs > 0)
        return false;
    uint32_t first = forward ? 0 : c->p->n_forward;
    for (uint32_t t = first; t < task; t++)
        if (!c->ran[t])
            return false;
    return true;
}

static bool inputs_are_there(const checker *c, uint32_t task)
{
    for (uint32_t i = 0; i < remat_task_n_reads(c->p, task); i++)
        if (c->block_of[remat_task_reads(c->p, task)[i]] == NO_BLOCK)
            return false;
    for (uint32_t i = 0; i < remat_task_n_writes(c->p, task); i++) {
        remat_write write = remat_task_writes(c->p, task)[i];
        if (write.accumulate && c->block_of[write.value] == NO_BLOCK)
            return false;
    }
    return true;
}

/* The block of the first `from` that may be handed over, if it is handed over to this value. */
static long handed_block(const checker *c, size_t at, uint32_t task, uint32_t value)
{
    for (uint32_t i = 0; i < remat_task_n_reuses(c->p, task); i++) {
        remat_reuse reuse = remat_task_reuses(c->p, task)[i];
        if (is_dropped_directly(c, at, reuse.from))
            return reuse.to == value ? c->block_of[reuse.from] : NO_BLOCK;
    }
    return NO_BLOCK;
}

static void write_results(checker *c, size_t at, uint32_t task)
{
    for (uint32_t i = 0; i < remat_task_n_writes(c->p, task); i++) {
        uint32_t value = remat_task_writes(c->p, task)[i].value;
        if (c->block_of[value] != NO_BLOCK)
            continue;
        c->block_of[value] = handed_block(c, at, task, value);
        if (c->block_of[value] != NO_BLOCK)
            continue;
        c->blocks[c->n_blocks] = (block){c->p->values.data[value].bytes, true};
        c->block_of[value] = (long)c->n_blocks++;
    }
}

static void add_up(checker *c, size_t at, uint32_t task)
{
    size_t bytes = c->p->tasks.data[task].workspace_bytes;
    for (size_t i = 0; i < c->n_blocks; i++)
        bytes += c->blocks[i].live ? c->blocks[i].bytes : 0;
    if (bytes > c->verdict.peak_bytes) {
        c->verdict.peak_bytes = bytes;
        c->verdict.peak_at = at;
    }
    double cost = c->p->tasks.data[task].cost;
    bool forward = task < c->p->n_forward, replay = forward && c->ran[task];
    c->verdict.replays += replay;
    c->verdict.forward_runs += forward && !replay;
    c->verdict.backward_runs += !forward;
    *(replay ? &c->verdict.replay_cost : &c->verdict.cost) += cost;
}

/* The backward pass begins with the first task after the last forward task's first run. */
static void hold_for_repetition(checker *c)
{
    bool begins = c->verdict.forward_runs == c->p->n_forward && !c->held[c->p->values.count];
    for (size_t v = 0; c->p->retain && begins && v < c->p->values.count; v++)
        c->held[v] = c->block_of[v] != NO_BLOCK;
    c->held[c->p->values.count] |= begins;
}

static bool run(checker *c, size_t at, uint32_t task)
{
    hold_for_repetition(c);
    if (!may_run_now(c, task) || !inputs_are_there(c, task))
        return false;
    write_results(c, at, task);
    add_up(c, at, task);
    c->ran[task] = true;
    return true;
}

/* A block is free when no value is in it any more. */
static bool drop(checker *c, uint32_t value)
{
    if (value >= c->p->values.count || c->block_of[value] == NO_BLOCK ||
        c->p->values.data[value].pinned || c->held[value])
        return false;
    long left = c->block_of[value];
    c->block_of[value] = NO_BLOCK;
    c->blocks[left].live = false;
    for (size_t v = 0; v < c->p->values.count; v++)
        c->blocks[left].live |= c->block_of[v] == left;
    return true;
}

static bool all_ran(const checker *c)
{
    for (uint32_t t = 0; t < c->p->n_tasks; t++)
        if (!c->ran[t])
            return false;
    return true;
}

naive_verdict naive_check(const remat_problem *problem, const remat_actions *actions)
{
    checker c = {.p = problem, .actions = actions, .verdict = {.valid = true}};
    c.block_of = calloc(problem->values.count + 1, sizeof *c.block_of);
    c.blocks = calloc(actions->count * REMAT_OP_MAX_OPERANDS + 1, sizeof *c.blocks);
    c.ran = calloc((size_t)problem->n_tasks + 1, sizeof *c.ran);
    c.held = calloc(problem->values.count + 1, sizeof *c.held); /* last: has it begun? */
    fake_require(c.block_of && c.blocks && c.ran && c.held);
    for (size_t v = 0; v < problem->values.count; v++)
        c.block_of[v] = NO_BLOCK;
    for (size_t i = 0; i < actions->count && c.verdict.valid; i++) {
        uint32_t id = remat_action_id(actions->data[i]);
        c.verdict.valid = remat_action_is_drop(actions->data[i]) ? drop(&c, id) : run(&c, i, id);
        c.verdict.fault_at = i;
    }
    if (c.verdict.valid && !all_ran(&c)) {
        c.verdict.valid = false;
        c.verdict.fault_at = actions->count;
    }
    free(c.block_of);
    free(c.blocks);
    free(c.ran);
    free(c.held);
    return c.verdict;
}
