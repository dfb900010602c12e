/* greedy.c - the search for an order of runs: construct under many weightings, improve the best. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <string.h>
#include <time.h>

#include "plan/strategy/greedy_search.h"

/* More effort means more stages, so that it never does worse. A stage constructs until there are
 * least_builds and then up to most_builds while build_work lasts, and improves the best. Annealing
 * n tasks takes at most anneal_factor n^2 steps of work: more would not help. */
static const struct stage {
    uint64_t build_work, anneal_work, anneal_factor;
    uint32_t least_builds, most_builds; /* those of earlier stages included */
} STAGES[] = {
    {1000000, 2000000, 300, 3, 16},
    {4000000, 30000000, 1000, 7, 64},
    {40000000, 400000000, 10000, 7, 400},
};

/* Tried in this order, then again with random factors. */
static const remat_greedy_weights WEIGHTS[] = {
    {.cost = 1, .bytes = 1, .distance = 1},
    {.cost = 1, .bytes = 1, .distance = 0},
    {.cost = 0.5, .bytes = 1, .distance = 0.5},
    {.cost = 1, .bytes = 1, .distance = 2},
    {.cost = 1, .bytes = 1, .distance = 0.5, .last_first = true},
    {.cost = 1, .bytes = 0.5, .distance = 1},
    {.cost = 0.5, .bytes = 1, .distance = 1, .last_first = true},
};
enum { N_WEIGHTS = sizeof WEIGHTS / sizeof *WEIGHTS };

/* ---- State -----------------------------------------------------------------------------------*/

static void find_makers(remat_greedy *g)
{
    const remat_problem *p = g->problem;
    memset(g->maker, 0xFF, p->values.count * sizeof *g->maker);
    for (uint32_t t = 0; t < p->n_forward; t++) {
        bool replayable = p->tasks.data[t].replayable;
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            replayable = replayable && !remat_task_writes(p, t)[i].accumulate;
        for (uint32_t i = 0; replayable && i < remat_task_n_writes(p, t); i++)
            g->maker[remat_task_writes(p, t)[i].value] = t;
    }
}

/* False: out of memory. */
static bool find_values(remat_greedy *g)
{
    const remat_problem *p = g->problem;
    double bytes = 0;
    for (uint32_t v = 0; v < p->values.count; v++) {
        const remat_problem_value *value = &p->values.data[v];
        bytes += (double)value->bytes;
        g->bytes[v] = value->bytes;
        g->stays[v] = g->needed[v] = value->pinned;
        if (value->pinned)
            g->pinned_bytes += value->bytes;
        else if (value->policy == REMAT_POLICY_RECOMPUTE && g->maker[v] != REMAT_NONE &&
                 !remat_vector_push(&p->allocator, &g->recompute, v))
            return false;
    }
    g->mean_bytes = bytes > 0 ? bytes / (double)p->values.count : 1;
    return true;
}

static void find_facts(remat_greedy *g)
{
    const remat_problem *p = g->problem;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        const remat_task *task = &p->tasks.data[t];
        remat_greedy_facts *facts = &g->facts[t];
        *facts = (remat_greedy_facts){.cost = task->cost,
                                      .workspace_bytes = task->workspace_bytes,
                                      .first_read = task->reads,
                                      .end_read = task[1].reads};
        if (remat_task_n_writes(p, t) != 1)
            continue;
        remat_write write = remat_task_writes(p, t)[0];
        facts->made = write.value;
        facts->plain = !p->retain && !write.accumulate && remat_task_n_reuses(p, t) == 0 &&
                       !p->values.data[write.value].pinned;
    }
}

static void find_mean_cost(remat_greedy *g)
{
    double cost = 0;
    uint32_t n = 0;
    for (uint32_t t = 0; t < g->problem->n_forward; t++)
        if (g->problem->tasks.data[t].replayable) {
            cost += g->problem->tasks.data[t].cost;
            n++;
        }
    g->mean_cost = cost > 0 ? cost / n : 1;
}

bool remat_greedy_create(const remat_problem *problem, size_t budget_bytes, remat_greedy *g)
{
    const remat_allocator *a = &problem->allocator;
    size_t n_values = problem->values.count;
    *g = (remat_greedy){.problem = problem, .budget = budget_bytes};
    g->maker = remat_memory_allocate(a, n_values, sizeof *g->maker);
    g->facts = remat_memory_allocate(a, problem->n_tasks, sizeof *g->facts);
    g->bytes = remat_memory_allocate(a, n_values, sizeof *g->bytes);
    g->needed = remat_memory_allocate(a, n_values, 1);
    g->stays = remat_memory_allocate(a, n_values, 1);
    g->stamp = remat_memory_allocate(a, n_values, sizeof *g->stamp);
    g->task_stamp = remat_memory_allocate(a, problem->n_tasks, sizeof *g->task_stamp);
    if (!g->maker || !g->facts || !g->bytes || !g->needed || !g->stays || !g->stamp ||
        !g->task_stamp)
        return false;
    find_makers(g);
    find_facts(g);
    find_mean_cost(g);
    return find_values(g) && remat_greedy_index_create(problem, g->maker, &g->index);
}

void remat_greedy_release(remat_greedy *g)
{
    const remat_allocator *a = &g->problem->allocator;
    size_t n_values = g->problem->values.count;
    remat_memory_release(a, g->maker, n_values, sizeof *g->maker);
    remat_memory_release(a, g->facts, g->problem->n_tasks, sizeof *g->facts);
    remat_memory_release(a, g->bytes, n_values, sizeof *g->bytes);
    remat_memory_release(a, g->needed, n_values, 1);
    remat_memory_release(a, g->stays, n_values, 1);
    remat_memory_release(a, g->stamp, n_values, sizeof *g->stamp);
    remat_memory_release(a, g->task_stamp, g->problem->n_tasks, sizeof *g->task_stamp);
    remat_greedy_index_release(g->problem, &g->index);
    remat_vector_release(a, &g->recompute);
    remat_vector_release(a, &g->closure);
}

double remat_greedy_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool remat_greedy_out_of_time(const remat_greedy *g)
{
    return g->deadline > 0 && remat_greedy_seconds() > g->deadline;
}

bool remat_greedy_copy(const remat_greedy *g, const remat_runs *from, remat_runs *to)
{
    to->count = 0;
    if (!remat_vector_reserve(&g->problem->allocator, to, from->count))
        return false;
    if (from->count > 0)
        memcpy(to->data, from->data, from->count * sizeof *from->data);
    to->count = from->count;
    return true;
}

void remat_greedy_swap(remat_runs *a, remat_runs *b)
{
    remat_runs c = *a;
    *a = *b;
    *b = c;
}

/* ---- Search ----------------------------------------------------------------------------------*/

typedef struct search {
    remat_greedy g;
    remat_runs best, trial;
    remat_greedy_score score; /* of `best` */
    uint32_t n_builds;
} search;

/* Takes the trial if it is better than the best, or the first. */
static void offer(search *s)
{
    remat_greedy_score score = remat_greedy_evaluate(&s->g, &s->trial, true);
    if (s->best.count > 0 && !remat_greedy_better(&s->g, &score, &s->score))
        return;
    remat_greedy_swap(&s->best, &s->trial);
    s->score = score;
}

/* Offers an order of runs: the caller's, or without one that of no replays. */
static bool offer_order(search *s, const remat_runs *order)
{
    const remat_problem *p = s->g.problem;
    uint32_t mark = ++s->g.now;
    size_t n = order ? order->count : p->n_tasks;
    s->trial.count = 0;
    if (!remat_vector_reserve(&p->allocator, &s->trial, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t task = order ? order->data[i] : (uint32_t)i;
        bool replay = s->g.task_stamp[task] == mark;
        s->g.task_stamp[task] = mark;
        s->trial.data[s->trial.count++] = replay ? task | REMAT_GREEDY_REPLAY : task;
    }
    offer(s);
    return true;
}

static bool build_one(search *s)
{
    uint32_t i = s->n_builds++;
    remat_greedy_weights weights = WEIGHTS[i % N_WEIGHTS];
    weights.noise = i < N_WEIGHTS ? 0 : 1;
    weights.seed = i;
    bool built;
    if (!remat_greedy_build(&s->g, &weights, &s->trial, &built))
        return false;
    if (built)
        offer(s);
    return true;
}

static bool build(search *s, const struct stage *stage)
{
    uint64_t start = s->g.work;
    while (s->n_builds < stage->most_builds) {
        if (s->n_builds >= stage->least_builds && s->g.work - start > stage->build_work)
            break;
        if (s->n_builds > 0 && remat_greedy_out_of_time(&s->g))
            break;
        if (!build_one(s))
            return false;
    }
    return true;
}

static bool anneal(search *s, const struct stage *stage)
{
    uint64_t n = s->g.problem->n_tasks;
    uint64_t enough = n < UINT16_MAX ? stage->anneal_factor * n * (n + 16) : stage->anneal_work;
    uint64_t work = enough < stage->anneal_work ? enough : stage->anneal_work;
    return remat_greedy_anneal(&s->g, work, &s->best, &s->score);
}

/* A task needs its operands, results and workspace at once, whatever the order. */
static bool is_hopeless(remat_greedy *g)
{
    const remat_problem *p = g->problem;
    for (uint32_t t = 0; t < p->n_tasks; t++) {
        uint32_t mark = ++g->now;
        size_t bytes = p->tasks.data[t].workspace_bytes, shared = 0;
        for (uint32_t i = 0; i < remat_task_n_reads(p, t); i++) {
            g->stamp[remat_task_reads(p, t)[i]] = mark;
            bytes += p->values.data[remat_task_reads(p, t)[i]].bytes;
        }
        for (uint32_t i = 0; i < remat_task_n_writes(p, t); i++)
            if (g->stamp[remat_task_writes(p, t)[i].value] != mark)
                bytes += p->values.data[remat_task_writes(p, t)[i].value].bytes;
        for (uint32_t i = 0; i < remat_task_n_reuses(p, t); i++) {
            size_t to = p->values.data[remat_task_reuses(p, t)[i].to].bytes;
            shared = to > shared ? to : shared;
        }
        if (bytes - shared > g->budget)
            return true;
    }
    return false;
}

static size_t stages_of(remat_effort effort)
{
    return effort == REMAT_EFFORT_FAST ? 1 : effort == REMAT_EFFORT_DEFAULT ? 2 : 3;
}

static bool find(search *s, remat_effort effort, const remat_runs *start)
{
    if (!offer_order(s, NULL))
        return false;
    if (remat_greedy_feasible(&s->g, &s->score) || is_hopeless(&s->g))
        return true;
    if (start && !offer_order(s, start))
        return false;
    for (size_t i = 0; i < stages_of(effort); i++)
        if (!build(s, &STAGES[i]) || !anneal(s, &STAGES[i]))
            return false;
    return true;
}

/* The judge's word on the best sequence, whose runs are appended if it fits. */
static bool judge(search *s, remat_runs *runs, bool *feasible)
{
    const remat_problem *p = s->g.problem;
    size_t first = runs->count;
    remat_runs order = {0};
    remat_actions schedule = {0};
    remat_simulation simulation = {0};
    bool done = remat_greedy_copy(&s->g, &s->best, &order);
    for (size_t i = 0; done && i < order.count; i++)
        order.data[i] = remat_greedy_task(order.data[i]);
    done = done && remat_schedule_complete(p, &order, &schedule) &&
           remat_schedule_simulate(p, &schedule, &simulation);
    bool fits = remat_greedy_feasible(&s->g, &s->score) && !simulation.fault &&
                simulation.peak_bytes <= s->g.budget;
    done = done && (!fits || remat_vector_reserve(&p->allocator, runs, order.count));
    *feasible = done && fits;
    if (*feasible) {
        memcpy(runs->data + first, order.data, order.count * sizeof *order.data);
        runs->count += order.count;
    }
    remat_vector_release(&p->allocator, &order);
    remat_vector_release(&p->allocator, &schedule);
    return done;
}

bool remat_order_greedy_from(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                             double time_limit_seconds, const remat_runs *start, remat_runs *runs,
                             bool *feasible)
{
    search s = {0};
    *feasible = false;
    bool done = remat_greedy_create(problem, budget_bytes, &s.g);
    if (done && time_limit_seconds > 0)
        s.g.deadline = remat_greedy_seconds() + time_limit_seconds;
    done = done && find(&s, effort, start) && judge(&s, runs, feasible);
    remat_greedy_release(&s.g);
    remat_vector_release(&problem->allocator, &s.best);
    remat_vector_release(&problem->allocator, &s.trial);
    return done;
}

bool remat_order_greedy(const remat_problem *problem, size_t budget_bytes, remat_effort effort,
                        double time_limit_seconds, remat_runs *runs, bool *feasible)
{
    return remat_order_greedy_from(problem, budget_bytes, effort, time_limit_seconds, NULL, runs,
                                   feasible);
}
