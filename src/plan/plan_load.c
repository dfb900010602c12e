/* plan_load.c - reads a plan from text; the format is described in remat.h. The text decides
 * only about the schedule. All else is derived from the tape again, and the schedule is simulated
 * and packed like one that has just been found: a damaged text can never become a plan. */
#include <string.h>

#include "plan/choose.h"
#include "plan/plan.h"
#include "plan/plan_text.h"

typedef struct reader {
    remat_text_reader text;
    remat_plan *plan; /* without a schedule yet */
    size_t n_actions;
    size_t first_action_line;
    REMAT_VECTOR(size_t) line_ends; /* per line of actions: actions so far */
    remat_candidate made;
} reader;

static bool out_of_memory(reader *r)
{
    return remat_text_fail(&r->text, REMAT_OUT_OF_MEMORY, "out of memory");
}

static bool read_number(reader *r, const char *key, uint64_t most, uint64_t *number)
{
    return remat_text_key(&r->text, key) && remat_text_number(&r->text, most, number) &&
           remat_text_line_end(&r->text);
}

static bool read_hash(reader *r, const char *key, uint64_t *hash)
{
    return remat_text_key(&r->text, key) && remat_text_hash(&r->text, hash) &&
           remat_text_line_end(&r->text);
}

/* ---- Head ------------------------------------------------------------------------------------*/

static bool read_version(reader *r)
{
    uint64_t version;
    if (!read_number(r, "remat-plan", UINT32_MAX, &version))
        return false;
    if (version > REMAT_PLAN_TEXT_VERSION)
        return remat_text_fail(
            &r->text, REMAT_INVALID_ARGUMENT,
            "format %u is newer than this library, which reads format %u: save the plan "
            "with this version, or load it with a newer one",
            (unsigned)version, REMAT_PLAN_TEXT_VERSION);
    return version == REMAT_PLAN_TEXT_VERSION ||
           remat_text_refuse(&r->text, "there is no such format");
}

static bool read_loss(reader *r)
{
    uint64_t loss = REMAT_NONE;
    if (!remat_text_key(&r->text, "loss"))
        return false;
    if (!remat_text_take(&r->text, "none") && !remat_text_number(&r->text, REMAT_NONE - 1, &loss))
        return false;
    if (!remat_text_line_end(&r->text))
        return false;
    return loss == r->plan->derivation.loss ||
           remat_text_fail(&r->text, REMAT_STALE, "the plan was made for another loss");
}

static bool read_option(reader *r, const char *key, bool given)
{
    uint64_t saved;
    if (!read_number(r, key, 1, &saved))
        return false;
    return saved == given ||
           remat_text_fail(&r->text, REMAT_STALE, "the plan was made with options.%s = %s", key,
                           saved ? "true" : "false");
}

static bool read_hash_of(reader *r, const char *key, uint64_t expected, const char *reason)
{
    uint64_t hash;
    return read_hash(r, key, &hash) &&
           (hash == expected || remat_text_fail(&r->text, REMAT_STALE, "%s", reason));
}

static bool read_strategy(reader *r)
{
    if (!remat_text_key(&r->text, "strategy"))
        return false;
    for (int s = 0; s < REMAT_STRATEGY_COUNT; s++)
        if (remat_strategy_find((remat_strategy)s) &&
            strcmp(r->text.at, remat_strategy_name((remat_strategy)s)) == 0) {
            r->made.strategy = (remat_strategy)s;
            return true;
        }
    return remat_text_refuse(&r->text, "there is no such strategy");
}

static bool read_count_of(reader *r, const char *key, uint64_t expected)
{
    uint64_t number;
    if (!read_number(r, key, UINT64_MAX, &number))
        return false;
    return number == expected || remat_text_fail(&r->text, REMAT_INVALID_ARGUMENT,
                                                 "the tape has %llu", (unsigned long long)expected);
}

static bool read_head(reader *r)
{
    const remat_plan *plan = r->plan;
    const remat_problem *problem = &plan->derivation.problem;
    uint64_t budget = 0;
    bool done = read_version(r) &&
                read_hash_of(r, "fingerprint", plan->summary.fingerprint,
                             "the plan was made for another tape, or the tape has changed since") &&
                read_loss(r) && read_option(r, "forward_only", plan->forward_only) &&
                read_option(r, "retain", plan->retain) &&
                read_option(r, "overwrite_gradients", plan->overwrite_gradients) &&
                read_hash_of(r, "problem", remat_problem_fingerprint(problem),
                             "options.policy answers otherwise than for this plan, or an operation "
                             "needs other values") &&
                read_strategy(r) && read_number(r, "budget", SIZE_MAX, &budget) &&
                read_count_of(r, "forward_tasks", problem->n_forward) &&
                read_count_of(r, "backward_tasks", problem->n_tasks - problem->n_forward) &&
                read_count_of(r, "values", problem->values.count);
    r->plan->budget_bytes = (size_t)budget;
    return done;
}

/* ---- Body ------------------------------------------------------------------------------------*/

static bool read_segment(reader *r)
{
    const remat_problem *problem = &r->plan->derivation.problem;
    uint64_t parent, first, end;
    if (!remat_text_key(&r->text, "segment") || !remat_text_number(&r->text, UINT32_MAX, &parent))
        return false;
    if (!remat_text_take(&r->text, " ") ||
        !remat_text_number(&r->text, problem->n_statements, &first) ||
        !remat_text_take(&r->text, " ") ||
        !remat_text_number(&r->text, problem->n_statements, &end))
        return r->text.status != REMAT_OK
                   ? false
                   : remat_text_refuse(&r->text, "a segment has three numbers");
    remat_segment_range range = {(uint32_t)parent, (uint32_t)first, (uint32_t)end};
    return remat_text_line_end(&r->text) &&
           (remat_vector_push(&r->plan->allocator, &r->made.ranges, range) || out_of_memory(r));
}

/* Memory grows with the lines that are there, never with the number that announces them. */
static bool read_segments(reader *r)
{
    const remat_ranges *ranges = &r->made.ranges;
    uint64_t count;
    if (!read_number(r, "segments", UINT32_MAX, &count))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!read_segment(r))
            return false;
    if (count == 0)
        return true;
    if (ranges->data[0].parent != 0 || ranges->data[0].first != 0 ||
        ranges->data[0].end != r->plan->derivation.problem.n_statements)
        return remat_text_refuse(&r->text, "the first segment is not the whole tape");
    return remat_ranges_nest(ranges) || remat_text_refuse(&r->text, "the segments do not nest");
}

/* One element of a list: adds actions for ids first .. last. */
static bool read_element(reader *r, uint64_t n_ids, bool drop)
{
    uint64_t first, last;
    if (!remat_text_number(&r->text, n_ids - 1, &first))
        return false;
    last = first;
    if (remat_text_take(&r->text, "-")) {
        if (!remat_text_number(&r->text, n_ids - 1, &last))
            return false;
        if (last <= first)
            return remat_text_refuse(&r->text, "a range ends before it begins");
    }
    if (last - first >= r->n_actions - r->made.schedule.count)
        return remat_text_refuse(&r->text, "there are more actions than announced");
    if (!remat_vector_reserve(&r->plan->allocator, &r->made.schedule, last - first + 1))
        return out_of_memory(r);
    for (uint64_t id = first; id <= last; id++)
        r->made.schedule.data[r->made.schedule.count++] = (remat_action)(id << 1 | drop);
    return true;
}

static bool read_action_line(reader *r)
{
    const remat_problem *problem = &r->plan->derivation.problem;
    if (!remat_text_line(&r->text))
        return false;
    bool drop = remat_text_take(&r->text, "drop"), run = !drop && remat_text_take(&r->text, "run");
    uint64_t n_ids = drop ? problem->values.count : problem->n_tasks;
    if ((!drop && !run) || *r->text.at != ' ')
        return remat_text_refuse(&r->text, "expected \"run\" or \"drop\"");
    if (n_ids == 0)
        return remat_text_refuse(&r->text, "the tape has none of these");
    while (remat_text_take(&r->text, " "))
        if (!read_element(r, n_ids, drop))
            return false;
    return remat_text_line_end(&r->text) &&
           (remat_vector_push(&r->plan->allocator, &r->line_ends, r->made.schedule.count) ||
            out_of_memory(r));
}

static bool read_actions(reader *r)
{
    uint64_t count;
    if (!read_number(r, "actions", UINT32_MAX - 1, &count))
        return false;
    r->n_actions = (size_t)count;
    r->first_action_line = r->text.number + 1;
    while (r->made.schedule.count < r->n_actions)
        if (!read_action_line(r))
            return false;
    return true;
}

static bool read_end(reader *r)
{
    uint64_t checksum;
    if (!read_hash(r, "end", &checksum))
        return false;
    if (checksum != r->text.checksum_before)
        return remat_text_refuse(&r->text, "the checksum is wrong: the text was damaged or edited");
    return remat_text_end(&r->text);
}

/* ---- From a schedule to a plan ---------------------------------------------------------------*/

static void complain_about_action(reader *r, const remat_choice *choice)
{
    size_t at = choice->best.simulation.at, line = 0;
    while (line + 1 < r->line_ends.count && r->line_ends.data[line] <= at)
        line++;
    r->text.number = r->first_action_line + line;
    remat_text_refuse(&r->text, choice->fault);
}

static remat_status complete(reader *r, const remat_exec_options *options)
{
    remat_choice choice = {.problem = &r->plan->derivation.problem,
                           .strategy = r->made.strategy,
                           .effort = options->effort,
                           .budget_bytes = r->plan->budget_bytes};
    remat_status status = remat_choose_given(&choice, &r->made);
    size_t arena = choice.best.arena_bytes;
    if (status == REMAT_INVALID_ARGUMENT) {
        complain_about_action(r, &choice);
        remat_candidate_release(&r->plan->allocator, &choice.best);
        return status;
    }
    status = remat_plan_finish(r->plan, r->text.tape, &choice, status);
    if (status == REMAT_OK && options->budget_bytes > 0 && arena > options->budget_bytes)
        return remat_tape_complain(r->text.tape, REMAT_INFEASIBLE_BUDGET,
                                   "the plan needs an arena of %.1f MB (%zu bytes); the budget is "
                                   "%.1f MB (%zu bytes)",
                                   (double)arena / 1e6, arena, (double)options->budget_bytes / 1e6,
                                   options->budget_bytes);
    return status;
}

remat_status remat_plan_load(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                             FILE *in, remat_plan **plan)
{
    reader r = {0};
    if (!tape || !in || !plan)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = remat_plan_begin(tape, loss, &options, &r.plan);
    if (status != REMAT_OK)
        return status;
    remat_text_open(&r.text, tape, in);
    bool read = read_head(&r) && read_segments(&r) && read_actions(&r) && read_end(&r);
    status = read ? complete(&r, options) : r.text.status;
    remat_vector_release(&r.plan->allocator, &r.line_ends);
    remat_candidate_release(&r.plan->allocator, &r.made);
    if (status == REMAT_OK)
        *plan = r.plan;
    else
        remat_plan_destroy(r.plan);
    return status;
}
