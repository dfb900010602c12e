/* main.c - trains a multilayer perceptron with remat: options, data, training, report. */
#include <stdio.h>

#include "common/fail.h"
#include "compare.h"
#include "evaluate.h"
#include "sweep.h"
#include "train.h"

const char program_name[] = "mlp";

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static bool print_report(const trainer *t, const options *o)
{
    double accuracy;
    if (!evaluate(&t->model, t->data, o->batch, &accuracy))
        return false;
    remat_exec_statistics s;
    remat_plan_summary plan;
    remat_exec_get_statistics(t->exec, &s);
    remat_plan_summarize(remat_exec_plan(t->exec), &plan);
    printf("test accuracy: %.2f %%\n", 100 * accuracy);
    printf("strategy: %s, %llu replays per step\n", remat_strategy_name(plan.strategy),
           (unsigned long long)s.replays);
    printf("peak of the arena: %zu bytes planned, %zu measured; keep-all needs %zu\n",
           s.planned_peak_bytes, s.measured_peak_bytes, plan.keep_all_bytes);
    return true;
}

static bool run(const options *o, const dataset *data)
{
    trainer t;
    if (o->sweep)
        return sweep(o, data);
    if (o->compare)
        return compare(o, data);
    if (!trainer_create(o, data, o->strategy, &t))
        return false;
    bool ok = trainer_print(&t, o) && train(&t, o) && print_report(&t, o);
    trainer_destroy(&t);
    return ok;
}

int main(int argc, char **argv)
{
    options o;
    options_result parsed = options_parse(argc, argv, &o);
    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_HELP_SHOWN ? EXIT_OK : EXIT_USAGE;
    dataset data;
    if (!dataset_load(o.data, &data))
        return EXIT_FAILED;
    bool ok = options_complete(&o, data.train.count) &&
              (remat_set_threads(o.threads) == REMAT_OK || fail("--threads was refused")) &&
              run(&o, &data);
    dataset_destroy(&data);
    return ok ? EXIT_OK : EXIT_FAILED;
}
