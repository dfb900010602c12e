/* chain_walk.c - all ways to reach a goal: the recurrences of the chain solver. Both the tables and
 * the emission of an order are made from this one list. */
#include "plan/chain_solution.h"

static const remat_chain_point zero_points[] = {{0, 0}, {REMAT_CHAIN_SENTINEL, 0}};
static const remat_chain_function zero = {zero_points, 1};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void remat_chain_walk_begin(remat_chain_walk *walk, const remat_chain_solution *chain,
                            remat_chain_goal goal)
{
    *walk = (remat_chain_walk){.chain = chain, .goal = goal, .at = goal.s};
    walk->held = chain->gradient[goal.t + 1];
    if (goal.held != REMAT_CHAIN_FREE)
        walk->held += remat_chain_choices(chain, goal.t)[goal.held].saved;
}

/* Bytes while the backward of `stage` runs. */
static size_t backward_bytes(const remat_chain_solution *c, uint32_t stage,
                             const remat_chain_choice *choice)
{
    return c->gradient[stage + 1] + choice->saved + c->gradient[stage] + choice->backward_extra;
}

static bool next_of_one_stage(remat_chain_walk *w, remat_chain_way *way)
{
    const remat_chain_solution *c = w->chain;
    uint32_t s = w->goal.s, held = w->goal.held;
    const remat_chain_choice *choices = remat_chain_choices(c, s);
    uint32_t end = held == REMAT_CHAIN_FREE ? c->work[s].n_choices : 1;
    if (w->next == end)
        return false;
    *way = (remat_chain_way){.at = s, .upper = &zero, .lower = &zero};
    if (held != REMAT_CHAIN_FREE) {
        way->rule = REMAT_CHAIN_RULE_CLOSE;
        way->choice = held;
        way->ticks = choices[held].backward;
        way->floor = backward_bytes(c, s, &choices[held]);
    } else {
        const remat_chain_choice *choice = &choices[w->next];
        way->rule = REMAT_CHAIN_RULE_LAST;
        way->choice = w->next;
        way->ticks = choice->forward + choice->backward;
        way->floor =
            larger(w->held + choice->saved + choice->forward_extra, backward_bytes(c, s, choice));
    }
    w->next++;
    return true;
}

static void keep(const remat_chain_walk *w, uint32_t k, remat_chain_way *way)
{
    const remat_chain_solution *c = w->chain;
    uint32_t s = w->goal.s;
    const remat_chain_choice *choice = &remat_chain_choices(c, s)[k];
    *way = (remat_chain_way){
        .rule = REMAT_CHAIN_RULE_KEEP,
        .at = s,
        .choice = k,
        .ticks = choice->forward + choice->backward,
        .floor =
            larger(w->held + choice->saved + choice->forward_extra, backward_bytes(c, s, choice)),
        .shift = choice->saved,
        .upper = remat_chain_find(c, (remat_chain_goal){s + 1, w->goal.t, w->goal.held}),
        .lower = &zero};
}

static void split(const remat_chain_walk *w, remat_chain_way *way)
{
    const remat_chain_solution *c = w->chain;
    remat_chain_goal goal = w->goal;
    *way = (remat_chain_way){
        .rule = REMAT_CHAIN_RULE_SPLIT,
        .at = w->at,
        .ticks = w->sweep,
        .floor = w->sweep_floor,
        .shift = c->activation[w->at],
        .upper = remat_chain_find(c, (remat_chain_goal){w->at, goal.t, goal.held}),
        .lower = remat_chain_find(c, (remat_chain_goal){goal.s, w->at - 1, REMAT_CHAIN_FREE})};
}

static void hole(const remat_chain_walk *w, uint32_t k, remat_chain_way *way)
{
    const remat_chain_solution *c = w->chain;
    remat_chain_goal goal = w->goal;
    const remat_chain_choice *choice = &remat_chain_choices(c, w->at)[k];
    size_t save_bytes = w->held + c->activation[w->at] + choice->saved + choice->forward_extra;
    *way = (remat_chain_way){
        .rule = REMAT_CHAIN_RULE_HOLE,
        .at = w->at,
        .choice = k,
        .ticks = w->sweep + choice->forward,
        .floor = larger(w->sweep_floor, save_bytes),
        .shift = choice->saved,
        .upper = remat_chain_find(c, (remat_chain_goal){w->at + 1, goal.t, goal.held}),
        .lower = remat_chain_find(c, (remat_chain_goal){goal.s, w->at, k})};
}

/* Moves on to the next position: one more stage is swept by plain forwards. */
static bool advance(remat_chain_walk *w)
{
    const remat_chain_solution *c = w->chain;
    uint32_t stage = w->at;
    if (stage == w->goal.t)
        return false;
    /* The input of s is outside; that of any later stage is inside until its forward is done. */
    size_t input = stage == w->goal.s ? 0 : c->activation[stage];
    size_t bytes = w->held + input + c->activation[stage + 1] + c->work[stage].plain_extra;
    w->sweep += c->work[stage].plain;
    w->sweep_floor = larger(w->sweep_floor, bytes);
    w->at++;
    w->next = 0;
    return true;
}

bool remat_chain_walk_next(remat_chain_walk *w, remat_chain_way *way)
{
    const remat_chain_solution *c = w->chain;
    if (w->goal.s == w->goal.t)
        return next_of_one_stage(w, way);
    if (w->at == w->goal.s) {
        if (w->next < c->work[w->at].n_choices) {
            keep(w, w->next++, way);
            return true;
        }
        advance(w);
    }
    uint32_t n_holes = w->at < w->goal.t ? c->work[w->at].n_holes : 0;
    if (w->next > n_holes && !advance(w))
        return false;
    if (w->next == 0)
        split(w, way);
    else
        hole(w, w->next - 1, way);
    w->next++;
    return true;
}
