/* sweep.c - see sweep.h. */
#include "sweep.h"

#include "common/curve.h"
#include "common/fail.h"
#include "train.h"

#define MOST_POINTS 32

static bool find_curve(const trainer *t, const options *o, remat_plan_point *points,
                       memory_curve *c)
{
    remat_exec_options exec_options = REMAT_EXEC_OPTIONS_INIT;
    remat_plan_cost cost;
    remat_plan *plan = NULL;
    exec_options.strategy = o->strategy;
    exec_options.overwrite_gradients = true; /* as in training */
    if (remat_plan_sweep(t->tape, t->loss_value, &exec_options, points, MOST_POINTS, &c->n) !=
            REMAT_OK ||
        remat_plan_create(t->tape, t->loss_value, &exec_options, &plan) != REMAT_OK)
        return fail("%s", remat_tape_message(t->tape));
    remat_plan_get_cost(plan, &cost);
    remat_plan_destroy(plan);
    c->points = points;
    c->step_cost = cost.step;
    return true;
}

bool sweep(const options *o, const dataset *data)
{
    trainer t;
    remat_plan_point points[MOST_POINTS];
    memory_curve c = {0};
    if (!trainer_record(o, data, o->strategy, &t))
        return false;
    bool ok = find_curve(&t, o, points, &c);
    trainer_destroy(&t);
    if (!ok)
        return false;
    curve_print(&c);
    return o->plan_svg == NULL || file_write(o->plan_svg, curve_svg, &c);
}
