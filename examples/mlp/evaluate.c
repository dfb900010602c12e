/* evaluate.c - see evaluate.h. The same network is recorded again, without dropout and gradients,
 * and run forward only: each value is freed at its last use. */
#include "evaluate.h"

#include <stdlib.h>

#include "common/fail.h"

typedef struct evaluation {
    size_t batch;
    float *images;   /* [batch, features] */
    int32_t *labels; /* [batch] */
    uint32_t *which; /* [batch] */
    remat_tape *tape;
    remat_exec *exec;
    remat_var logits; /* [batch, classes] */
} evaluation;

static void evaluation_destroy(evaluation *e)
{
    remat_exec_destroy(e->exec);
    remat_tape_destroy(e->tape);
    free(e->images);
    free(e->labels);
    free(e->which);
}

static bool evaluation_create(const model *m, const dataset *data, size_t batch, evaluation *e)
{
    *e = (evaluation){.batch = batch};
    e->images = calloc(batch * data->features, sizeof *e->images);
    e->labels = calloc(batch, sizeof *e->labels);
    e->which = calloc(batch, sizeof *e->which);
    if (!e->images || !e->labels || !e->which || remat_tape_create(NULL, &e->tape) != REMAT_OK)
        return fail("not enough memory to evaluate batches of %zu: lower --batch", batch);
    remat_shape shape = REMAT_SHAPE((int64_t)batch, (int64_t)data->features);
    remat_var x = remat_input(e->tape, "images", REMAT_F32, shape, e->images);
    e->logits = model_record(m, e->tape, x, 0, false);
    remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    options.forward_only = true;
    if (remat_exec_create(e->tape, e->logits, &options, &e->exec) != REMAT_OK)
        return fail("%s", remat_tape_message(e->tape));
    return true;
}

static size_t largest(const float *row, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = row[i] > row[best] ? i : best;
    return best;
}

/* Counts the right answers among the test images from `first` on. Where fewer than a batch are
 * left, the rest of the batch repeats the last image and is not counted. */
static bool count_right(evaluation *e, const dataset *data, size_t first, size_t *right)
{
    const size_t left = data->test.count - first, used = left < e->batch ? left : e->batch;
    for (size_t i = 0; i < e->batch; i++)
        e->which[i] = (uint32_t)(first + (i < used ? i : used - 1));
    dataset_gather(data, &data->test, e->which, e->batch, e->images, e->labels);
    const void *logits;
    if (remat_exec_forward(e->exec) != REMAT_OK ||
        remat_exec_value(e->exec, e->logits, &logits) != REMAT_OK)
        return fail("%s", remat_exec_message(e->exec));
    for (size_t i = 0; i < used; i++) {
        const float *row = (const float *)logits + i * data->classes;
        *right += largest(row, data->classes) == (size_t)e->labels[i];
    }
    return true;
}

bool evaluate(const model *m, const dataset *data, size_t batch, double *accuracy)
{
    evaluation e;
    size_t right = 0;
    bool ok = evaluation_create(m, data, batch, &e);
    for (size_t first = 0; ok && first < data->test.count; first += batch)
        ok = count_right(&e, data, first, &right);
    evaluation_destroy(&e);
    *accuracy = (double)right / (double)data->test.count;
    return ok;
}
