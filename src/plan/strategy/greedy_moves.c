/* greedy_moves.c - random changes to a sequence of runs: make a value again before one of its
 * readers, leave a replay out, shift a replay. */
#include "plan/strategy/greedy_search.h"

#include <string.h>

/* Tasks that one move may insert. */
enum { CLOSURE_LIMIT = 64 };

static void erase(remat_runs *s, size_t at)
{
    s->count--;
    memmove(s->data + at, s->data + at + 1, (s->count - at) * sizeof *s->data);
}

/* Position of the last run at or before `from` that makes or reads the value, or 0. */
static size_t last_touch(const remat_greedy *g, const remat_runs *s, size_t from, uint32_t value)
{
    for (size_t i = from + 1; i-- > 0;) {
        uint32_t task = remat_greedy_task(s->data[i]);
        const uint32_t *reads = remat_task_reads(g->problem, task);
        for (uint32_t k = 0; k < remat_task_n_reads(g->problem, task); k++)
            if (reads[k] == value)
                return i;
        const remat_write *writes = remat_task_writes(g->problem, task);
        for (uint32_t k = 0; k < remat_task_n_writes(g->problem, task); k++)
            if (writes[k].value == value)
                return i;
    }
    return 0;
}

/* Stamps the values that are resident just before position `at`: read there or later before they
 * are made again. What is made first gets the stamp before. */
static void stamp_resident(remat_greedy *g, const remat_runs *s, size_t at)
{
    const remat_problem *p = g->problem;
    uint32_t mark = g->now += 2;
    for (size_t i = at; i < s->count; i++) {
        uint32_t task = remat_greedy_task(s->data[i]);
        for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++) {
            uint32_t *stamp = &g->stamp[remat_task_reads(p, task)[k]];
            if (*stamp < mark - 1)
                *stamp = mark;
        }
        for (uint32_t k = 0; k < remat_task_n_writes(p, task); k++) {
            uint32_t *stamp = &g->stamp[remat_task_writes(p, task)[k].value];
            if (*stamp < mark - 1)
                *stamp = mark - 1;
        }
    }
    g->work += s->count - at;
}

static bool is_resident(const remat_greedy *g, uint32_t value)
{
    return g->stamp[value] == g->now || g->stays[value];
}

static bool add_to_closure(remat_greedy *g, uint32_t task)
{
    g->task_stamp[task] = g->now;
    return remat_vector_push(&g->problem->allocator, &g->closure, task);
}

/* Collects into g->closure the task and, for inputs that are not resident, the tasks that make
 * them; with chance `extend` an input is kept from its last use instead. */
static bool collect_closure(remat_greedy *g, uint32_t task, double extend)
{
    const remat_problem *p = g->problem;
    g->closure.count = 0;
    if (!add_to_closure(g, task))
        return false;
    for (size_t i = 0; i < g->closure.count && g->closure.count < CLOSURE_LIMIT; i++) {
        uint32_t t = g->closure.data[i];
        for (uint32_t k = 0; k < remat_task_n_reads(p, t); k++) {
            uint32_t value = remat_task_reads(p, t)[k], maker = g->maker[value];
            if (maker == REMAT_NONE || g->task_stamp[maker] == g->now || is_resident(g, value) ||
                remat_greedy_uniform(g) < extend)
                continue;
            if (!add_to_closure(g, maker))
                return false;
        }
    }
    return true;
}

static void sort_closure(remat_runs *closure)
{
    for (size_t i = 1; i < closure->count; i++) {
        uint32_t task = closure->data[i];
        size_t k = i;
        for (; k > 0 && closure->data[k - 1] > task; k--)
            closure->data[k] = closure->data[k - 1];
        closure->data[k] = task;
    }
}

/* Inserts the tasks of the closure as replays before position `at`. */
static bool insert_closure(remat_greedy *g, remat_runs *s, size_t at)
{
    size_t n = g->closure.count;
    sort_closure(&g->closure);
    if (!remat_vector_reserve(&g->problem->allocator, s, n))
        return false;
    memmove(s->data + at + n, s->data + at, (s->count - at) * sizeof *s->data);
    for (size_t i = 0; i < n; i++)
        s->data[at + i] = g->closure.data[i] | REMAT_GREEDY_REPLAY;
    s->count += n;
    return true;
}

/* Makes the value again at position `at`, some time before its next reader. */
static bool replay_before(remat_greedy *g, remat_runs *s, size_t at, uint32_t value)
{
    static const double EXTEND[4] = {0.0, 0.1, 0.5, 1.0};
    stamp_resident(g, s, at);
    return collect_closure(g, g->maker[value], EXTEND[remat_greedy_below(g, 4)]) &&
           insert_closure(g, s, at);
}

/* A random value that is resident across position `at` but not touched there, and the position of
 * its next reader; REMAT_NONE if there is none. */
static uint32_t value_across(remat_greedy *g, const remat_runs *s, size_t at, size_t *reader)
{
    const remat_problem *p = g->problem;
    uint32_t mark = ++g->now, chosen = REMAT_NONE, n = 0;
    for (size_t i = at; i < s->count; i++) {
        uint32_t task = remat_greedy_task(s->data[i]);
        for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++) {
            uint32_t value = remat_task_reads(p, task)[k];
            bool seen = g->stamp[value] == mark;
            g->stamp[value] = mark;
            if (seen || i == at || g->maker[value] == REMAT_NONE || g->stays[value])
                continue;
            if (remat_greedy_below(g, ++n) == 0) {
                chosen = value;
                *reader = i;
            }
        }
        for (uint32_t k = 0; k < remat_task_n_writes(p, task); k++)
            g->stamp[remat_task_writes(p, task)[k].value] = mark;
    }
    g->work += s->count - at;
    return chosen;
}

static bool split_at(remat_greedy *g, remat_runs *s, size_t at)
{
    size_t reader = 0;
    uint32_t value = value_across(g, s, at, &reader);
    if (value == REMAT_NONE)
        return true;
    if (remat_greedy_below(g, 4) == 0) /* earlier than just before the reader */
        reader -= remat_greedy_below(g, (uint32_t)(reader - at));
    return replay_before(g, s, reader, value);
}

/* A random replay's position, or s->count if there is none. */
static size_t pick_replay(remat_greedy *g, const remat_runs *s)
{
    if (s->count <= g->problem->n_tasks)
        return s->count;
    size_t start = remat_greedy_below(g, (uint32_t)s->count), i = start;
    do {
        if (remat_greedy_is_replay(s->data[i]))
            return i;
        i = i + 1 < s->count ? i + 1 : 0;
    } while (i != start);
    return s->count;
}

static void remove_replay(remat_greedy *g, remat_runs *s)
{
    size_t at = pick_replay(g, s);
    if (at < s->count)
        erase(s, at);
}

static size_t first_run(const remat_runs *s, uint32_t task)
{
    size_t i = 0;
    while (s->data[i] != task)
        i++;
    return i;
}

/* Position of the first reader after `at` of what the task at `at` makes; s->count: none. */
static size_t next_reader(const remat_greedy *g, const remat_runs *s, size_t at)
{
    const remat_problem *p = g->problem;
    uint32_t made = remat_greedy_task(s->data[at]);
    for (size_t i = at + 1; i < s->count; i++) {
        uint32_t task = remat_greedy_task(s->data[i]);
        for (uint32_t k = 0; k < remat_task_n_reads(p, task); k++)
            for (uint32_t w = 0; w < remat_task_n_writes(p, made); w++)
                if (remat_task_reads(p, task)[k] == remat_task_writes(p, made)[w].value)
                    return i;
    }
    return s->count;
}

static void place(remat_runs *s, size_t from, size_t to)
{
    uint32_t item = s->data[from];
    if (from < to)
        memmove(s->data + from, s->data + from + 1, (to - from) * sizeof *s->data);
    else
        memmove(s->data + to + 1, s->data + to, (from - to) * sizeof *s->data);
    s->data[to] = item;
}

static void shift_replay(remat_greedy *g, remat_runs *s)
{
    size_t at = pick_replay(g, s);
    if (at == s->count)
        return;
    size_t to;
    uint32_t kind = remat_greedy_below(g, 4);
    if (kind < 2) { /* anywhere up to its first reader */
        size_t low = first_run(s, remat_greedy_task(s->data[at])) + 1;
        size_t high = next_reader(g, s, at);
        to = low + remat_greedy_below(g, (uint32_t)(high - low));
    } else if (kind == 2) { /* just before its reader */
        to = next_reader(g, s, at) - 1;
    } else { /* a few places */
        size_t low = first_run(s, remat_greedy_task(s->data[at])) + 1;
        size_t by = 1 + remat_greedy_below(g, 4);
        if (remat_greedy_below(g, 2))
            to = at + by < s->count ? at + by : s->count - 1;
        else
            to = at >= low + by ? at - by : low;
    }
    place(s, at, to);
}

static bool split_somewhere(remat_greedy *g, remat_runs *s)
{
    const remat_problem *p = g->problem;
    size_t at = remat_greedy_below(g, (uint32_t)s->count);
    uint32_t task = remat_greedy_task(s->data[at]);
    uint32_t n = remat_task_n_reads(p, task);
    if (n == 0)
        return true;
    uint32_t value = remat_task_reads(p, task)[remat_greedy_below(g, n)];
    if (g->maker[value] == REMAT_NONE || g->stays[value] || at == 0 ||
        last_touch(g, s, at - 1, value) + 1 >= at)
        return true;
    return replay_before(g, s, at, value);
}

bool remat_greedy_move(remat_greedy *g, remat_runs *s, const remat_greedy_score *score)
{
    bool over = score->peak_bytes > g->budget;
    do { /* mostly one change; sometimes several, after which the peak may be elsewhere */
        uint32_t kind = remat_greedy_below(g, 8);
        bool done = true;
        if (kind < 2)
            remove_replay(g, s);
        else if (kind < 4)
            shift_replay(g, s);
        else if (kind < 6 && over && score->peak_at < s->count)
            done = split_at(g, s, score->peak_at);
        else if (kind < 6)
            done = split_at(g, s, remat_greedy_below(g, (uint32_t)s->count));
        else
            done = split_somewhere(g, s);
        if (!done)
            return false;
    } while (remat_greedy_below(g, 3) == 0);
    return true;
}
