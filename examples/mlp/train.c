/* train.c - the training loop: record once, then step. */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fail.h"
#include "common/file.h"
#include "progress.h"

/* record: inputs are the trainer's own buffers, which each step fills anew. */
static remat_var record(trainer *t, const options *o, remat_strategy strategy)
{
    const bool marks = strategy == REMAT_STRATEGY_AUTO || strategy == REMAT_STRATEGY_SEGMENTS;
    const int64_t batch = (int64_t)t->batch, features = (int64_t)t->data->features;
    remat_var x =
        remat_input(t->tape, "images", REMAT_F32, REMAT_SHAPE(batch, features), t->images);
    remat_var y = remat_input(t->tape, "labels", REMAT_I32, REMAT_SHAPE(batch), t->labels);
    remat_var logits = model_record(&t->model, t->tape, x, marks ? o->segment : 0, true);
    return remat_cross_entropy(t->tape, logits, y, NULL);
}

/* A budget may be a share of what keeping all takes. */
static bool find_budget(trainer *t, const options *o, remat_exec_options *exec_options)
{
    remat_plan *plan = NULL;
    remat_plan_summary summary;
    if (remat_plan_create(t->tape, t->loss_value, exec_options, &plan) != REMAT_OK)
        return fail("%s", remat_tape_message(t->tape));
    remat_plan_summarize(plan, &summary);
    remat_plan_destroy(plan);
    exec_options->budget_bytes = budget_bytes(&o->budget, summary.keep_all_bytes);
    return true;
}

/* plan: which activations to keep; and take the one arena that all steps run in. */
static bool plan(trainer *t, const options *o, remat_strategy strategy)
{
    const bool is_measure = o->compare && strategy == REMAT_STRATEGY_KEEP_ALL;
    remat_exec_options exec_options = REMAT_EXEC_OPTIONS_INIT;
    exec_options.strategy = strategy;
    exec_options.seed = o->seed;
    exec_options.overwrite_gradients = true; /* so that nobody has to zero them */
    if (budget_is_given(&o->budget) && !is_measure && !find_budget(t, o, &exec_options))
        return false;
    if (remat_exec_create(t->tape, t->loss_value, &exec_options, &t->exec) != REMAT_OK)
        return fail("%s", remat_tape_message(t->tape));
    remat_tape_params(t->tape, NULL, 0, &t->n_params);
    t->params = calloc(t->n_params, sizeof *t->params);
    if (t->params == NULL)
        return fail("not enough memory");
    remat_tape_params(t->tape, t->params, t->n_params, &t->n_params);
    model_bind_states(&t->model, t->params, t->n_params);
    return true;
}

bool trainer_record(const options *o, const dataset *data, remat_strategy strategy, trainer *t)
{
    *t = (trainer){.data = data, .batch = o->batch, .optimizer = optimizer_make(o->optimizer)};
    t->images = calloc(o->batch * data->features, sizeof *t->images);
    t->labels = calloc(o->batch, sizeof *t->labels);
    bool ok = t->images && t->labels && remat_tape_create(NULL, &t->tape) == REMAT_OK;
    if (!ok)
        fail("not enough memory for batches of %zu: lower --batch", o->batch);
    ok = ok && model_create(data->features, o->depth, o->width, data->classes, o->dropout, o->seed,
                            &t->model);
    if (ok)
        t->loss_value = record(t, o, strategy);
    else
        trainer_destroy(t);
    return ok;
}

bool trainer_create(const options *o, const dataset *data, remat_strategy strategy, trainer *t)
{
    if (!trainer_record(o, data, strategy, t))
        return false;
    if (plan(t, o, strategy))
        return true;
    trainer_destroy(t);
    return false;
}

void trainer_destroy(trainer *t)
{
    remat_exec_destroy(t->exec);
    remat_tape_destroy(t->tape);
    model_destroy(&t->model);
    free(t->params);
    free(t->images);
    free(t->labels);
    *t = (trainer){0};
}

/* run: forward, replay, backward, update. */
remat_status trainer_step(trainer *t, const uint32_t *which, double learning_rate)
{
    dataset_gather(t->data, &t->data->train, which, t->batch, t->images, t->labels);
    remat_status status = remat_exec_step(t->exec);
    if (status != REMAT_OK)
        return status;
    t->loss = remat_exec_loss(t->exec);
    return optimizer_step(&t->optimizer, learning_rate, t->params, t->n_params);
}

bool train(trainer *t, const options *o)
{
    sampler batches;
    progress bar;
    if (!sampler_create(t->data->train.count, t->batch, o->seed, &batches))
        return false;
    progress_begin(&bar, o->steps, batches.count / batches.batch, t->batch);
    remat_status status = REMAT_OK;
    for (size_t step = 0; step < o->steps && status == REMAT_OK; step++) {
        status = trainer_step(t, sampler_next(&batches), learning_rate_at(o, step));
        if (!isfinite(t->loss))
            break;
        progress_update(&bar, step + 1, t->loss);
    }
    progress_end(&bar);
    sampler_destroy(&batches);
    return (status == REMAT_OK && isfinite(t->loss)) || trainer_fail(t, status);
}

double learning_rate_at(const options *o, size_t step)
{
    return o->learning_rate * (double)(o->steps - step) / (double)o->steps;
}

bool trainer_fail(const trainer *t, remat_status status)
{
    if (status == REMAT_OK)
        return fail("the loss is no longer finite: lower --learning-rate");
    const char *message = remat_exec_message(t->exec);
    return fail("%s", *message ? message : remat_status_text(status));
}

static remat_status write_timeline(FILE *out, const void *plan)
{
    return remat_plan_write_timeline_svg(plan, out);
}

bool trainer_print(const trainer *t, const options *o)
{
    const remat_plan *plan = remat_exec_plan(t->exec);
    printf("network: %zu hidden layers of %zu, %zu parameters; %s, batch %zu, %zu steps\n",
           o->depth, o->width, t->model.n_parameters, optimizer_name(o->optimizer), o->batch,
           o->steps);
    if (o->print_plan && remat_plan_print(plan, stdout) != REMAT_OK)
        return fail("the plan could not be printed");
    return o->plan_svg == NULL || file_write(o->plan_svg, write_timeline, plan);
}
