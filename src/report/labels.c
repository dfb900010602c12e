/* labels.c - what reports call the parts of a plan, and where its values go. */
#include "report/labels.h"

const char *remat_phase_name(remat_phase phase)
{
    static const char *const names[REMAT_PHASE_COUNT] = {"forward", "replay", "backward"};
    return names[phase];
}

const char *remat_task_name(const remat_plan *plan, uint32_t task)
{
    const remat_task *t = &plan->derivation.problem.tasks.data[task];
    switch (t->kind) {
    case REMAT_TASK_SEED:
        return "(seed gradient)";
    case REMAT_TASK_ZERO:
        return "(zero gradient)";
    case REMAT_TASK_EMIT:
        return "(deliver gradient)";
    default:
        return plan->op_names[t->statement];
    }
}

remat_report_segments remat_plan_segments(const remat_plan *plan)
{
    const remat_ranges *marked = &plan->derivation.problem.segments;
    bool own = plan->ranges.count > 0;
    const remat_ranges *used = own ? &plan->ranges : marked;
    return (remat_report_segments){used->data, used->count, own};
}

const char *remat_report_segment_name(const remat_plan *plan, const remat_report_segments *segments,
                                      size_t segment)
{
    uint32_t name = segments->own ? REMAT_NONE : plan->segment_names.data[segment];
    return name == REMAT_NONE ? "" : plan->text.data + name;
}

/* ---- Fates -----------------------------------------------------------------------------------*/

static void note_kept(const remat_walk *walk, remat_fates *fates)
{
    for (size_t v = 0; v < walk->problem->values.count; v++)
        if (walk->problem->values.data[v].class == REMAT_CLASS_ACTIVATION &&
            (walk->held[v] & REMAT_HELD_FIRST))
            fates->of_value[v] |= REMAT_FATE_KEPT;
}

static void note_run(const remat_walk *walk, remat_fates *fates)
{
    const remat_problem *p = walk->problem;
    bool again = walk->phase == REMAT_PHASE_REPLAY;
    fates->replays[walk->task] += again;
    for (uint32_t i = 0; i < remat_task_n_writes(p, walk->task); i++)
        fates->of_value[remat_task_writes(p, walk->task)[i].value] |=
            again ? REMAT_FATE_AGAIN : REMAT_FATE_MADE;
    if (walk->phase != REMAT_PHASE_BACKWARD)
        return;
    for (uint32_t i = 0; i < remat_task_n_reads(p, walk->task); i++)
        fates->of_value[remat_task_reads(p, walk->task)[i]] |= REMAT_FATE_WANTED;
}

static void follow(remat_walk *walk, remat_fates *fates)
{
    uint32_t first_runs = 0;
    bool in_forward = true;
    while (remat_walk_next(walk)) {
        if (in_forward && first_runs == walk->problem->n_forward) {
            note_kept(walk, fates);
            in_forward = false;
        }
        first_runs += walk->phase == REMAT_PHASE_FORWARD;
        note_run(walk, fates);
    }
    if (in_forward)
        note_kept(walk, fates);
}

bool remat_fates_find(const remat_plan *plan, remat_fates *fates)
{
    const remat_problem *p = &plan->derivation.problem;
    *fates = (remat_fates){0};
    fates->of_value = remat_memory_allocate(&p->allocator, p->values.count, 1);
    fates->replays = remat_memory_allocate(&p->allocator, p->n_tasks, sizeof *fates->replays);
    if (!fates->of_value || !fates->replays)
        return false;
    remat_walk walk;
    bool done = remat_walk_open(&walk, p, &plan->schedule);
    if (done)
        follow(&walk, fates);
    remat_walk_close(&walk);
    return done;
}

void remat_fates_release(const remat_plan *plan, remat_fates *fates)
{
    const remat_problem *p = &plan->derivation.problem;
    remat_memory_release(&p->allocator, fates->of_value, p->values.count, 1);
    remat_memory_release(&p->allocator, fates->replays, p->n_tasks, sizeof *fates->replays);
}
