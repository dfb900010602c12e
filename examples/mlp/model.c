/* model.c - see model.h. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

#define PARTS           4 /* parameters, gradients, two states */
#define ALIGNMENT       64
#define FLOATS_PER_LINE (ALIGNMENT / sizeof(float))
#define LAYER_SEEDS     1000003 /* more than there are layers: no two nets share weights */

static size_t whole_lines(size_t floats)
{
    return (floats + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
}

static void choose_sizes(model *m, size_t features, size_t width, size_t classes)
{
    for (size_t i = 0; i < m->n_layers; i++) {
        layer *l = &m->layers[i];
        l->inputs = i == 0 ? features : width;
        l->outputs = i + 1 == m->n_layers ? classes : width;
        m->n_floats += whole_lines(l->inputs * l->outputs) + whole_lines(l->outputs);
        m->n_parameters += (l->inputs + 1) * l->outputs;
    }
}

static remat_status initialise(model *m, uint64_t seed)
{
    float *next = m->memory;
    for (size_t i = 0; i < m->n_layers; i++) {
        layer *l = &m->layers[i];
        l->weight = next;
        next += whole_lines(l->inputs * l->outputs);
        l->bias = next;
        next += whole_lines(l->outputs);
        remat_status status = remat_init_kaiming_normal(
            l->weight, REMAT_F32, l->inputs * l->outputs, l->inputs, seed * LAYER_SEEDS + i);
        if (status != REMAT_OK)
            return status;
    }
    return REMAT_OK;
}

bool model_create(size_t features, size_t depth, size_t width, size_t classes, double dropout,
                  uint64_t seed, model *m)
{
    *m = (model){.n_layers = depth + 1, .dropout = dropout};
    m->layers = calloc(m->n_layers, sizeof *m->layers);
    if (m->layers != NULL) {
        choose_sizes(m, features, width, classes);
        m->memory = aligned_alloc(ALIGNMENT, PARTS * m->n_floats * sizeof(float));
    }
    if (m->memory == NULL) {
        model_destroy(m);
        return fail("not enough memory for %zu layers of %zu: lower --depth or --width", depth + 1,
                    width);
    }
    memset(m->memory, 0, PARTS * m->n_floats * sizeof(float));
    remat_status status = initialise(m, seed);
    if (status == REMAT_OK)
        return true;
    model_destroy(m);
    return fail("initial weights: %s", remat_status_text(status));
}

void model_destroy(model *m)
{
    free(m->layers);
    free(m->memory);
    m->layers = NULL;
    m->memory = NULL;
}

/* What a segment records: the layers first to end - 1. */
typedef struct block {
    const model *model;
    size_t first, end;
    bool training;
} block;

static remat_var record_linear(const block *b, remat_tape *tape, size_t i, remat_var x)
{
    const layer *l = &b->model->layers[i];
    const size_t to_gradient = b->model->n_floats;
    char name[2][32];
    snprintf(name[0], sizeof name[0], "weight%zu", i);
    snprintf(name[1], sizeof name[1], "bias%zu", i);
    remat_shape weight_shape = REMAT_SHAPE((int64_t)l->outputs, (int64_t)l->inputs);
    remat_shape bias_shape = REMAT_SHAPE((int64_t)l->outputs);
    remat_var weight = remat_parameter(tape, name[0], REMAT_F32, weight_shape, l->weight,
                                       b->training ? l->weight + to_gradient : NULL);
    remat_var bias = remat_parameter(tape, name[1], REMAT_F32, bias_shape, l->bias,
                                     b->training ? l->bias + to_gradient : NULL);
    return remat_linear(tape, x, weight, bias);
}

/* A remat_block. Errors stick to the tape, so nothing is checked here. */
static remat_status record_hidden_layers(remat_tape *tape, void *context, const remat_var *in,
                                         size_t n_in, remat_var *out, size_t n_out)
{
    const block *b = context;
    (void)n_in;
    (void)n_out;
    remat_var h = in[0];
    for (size_t i = b->first; i < b->end; i++) {
        h = remat_relu(tape, record_linear(b, tape, i, h));
        if (b->training && b->model->dropout > 0)
            h = remat_dropout(tape, h, b->model->dropout);
    }
    out[0] = h;
    return remat_tape_status(tape);
}

remat_var model_record(const model *m, remat_tape *tape, remat_var images, size_t segment,
                       bool training)
{
    const size_t depth = m->n_layers - 1;
    const size_t stride = segment > 0 ? segment : depth;
    block b = {.model = m, .training = training};
    remat_var h = images;
    for (b.first = 0; b.first < depth; b.first = b.end) {
        b.end = depth - b.first < stride ? depth : b.first + stride;
        if (segment > 0)
            checkpoint_segment(tape, record_hidden_layers, &b, &h, 1, &h, 1);
        else
            record_hidden_layers(tape, &b, &h, 1, &h, 1);
    }
    return record_linear(&b, tape, depth, h);
}

void model_bind_states(const model *m, remat_param *params, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        params[i].state[0] = (float *)params[i].data + 2 * m->n_floats;
        params[i].state[1] = (float *)params[i].data + 3 * m->n_floats;
    }
}
