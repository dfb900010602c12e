/* mlp.c - see mlp.h. */
#include "bench/support/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/measure.h"

#define CLASSES 10

const bench_mlp_case bench_mlp_cases[] = {
    {.name = "deep",
     .inputs = 512,
     .width = 512,
     .hidden = 64,
     .outputs = CLASSES,
     .batch = 256,
     .labels = true,
     .learning_rate = 1e-4,
     .steps = 10,
     .warmup = 3},
    {.name = "wide",
     .inputs = 4096,
     .width = 4096,
     .hidden = 3,
     .outputs = 4096,
     .batch = 128,
     .learning_rate = 1e-2,
     .steps = 6,
     .warmup = 2},
    {.name = "tiny",
     .inputs = 784,
     .width = 128,
     .hidden = 1,
     .outputs = CLASSES,
     .batch = 32,
     .labels = true,
     .learning_rate = 1e-2,
     .steps = 2000,
     .warmup = 300},
    {.name = "narrow",
     .inputs = 32,
     .width = 32,
     .hidden = 1000,
     .outputs = CLASSES,
     .batch = 8,
     .labels = true,
     .learning_rate = 1e-4,
     .steps = 200,
     .warmup = 20},
    {.name = "mnistfc",
     .inputs = 784,
     .width = 500,
     .hidden = 1,
     .outputs = CLASSES,
     .batch = 500,
     .labels = true,
     .adamw = true,
     .learning_rate = 1e-3,
     .steps = 60,
     .warmup = 10},
};
const size_t bench_mlp_case_count = sizeof bench_mlp_cases / sizeof bench_mlp_cases[0];

const bench_mlp_case *bench_mlp_find(const char *name)
{
    for (size_t i = 0; i < bench_mlp_case_count; i++)
        if (strcmp(bench_mlp_cases[i].name, name) == 0)
            return &bench_mlp_cases[i];
    return NULL;
}

/* ---- Numbers ---------------------------------------------------------------------------------*/

static float uniform(uint64_t tensor, uint64_t element)
{
    uint64_t z = 0x5EED + (tensor << 32) + (element + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (float)(z >> 40) * 0x1p-24F;
}

static void fill_uniform(float *x, size_t count, uint64_t tensor, float scale)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (2 * uniform(tensor, i) - 1) * scale;
}

static void fill_labels(int32_t *y, size_t count, uint64_t tensor, int32_t classes)
{
    for (size_t i = 0; i < count; i++) {
        int32_t label = (int32_t)(uniform(tensor, i) * (float)classes);
        y[i] = label < classes ? label : classes - 1;
    }
}

/* ---- Memory ----------------------------------------------------------------------------------*/

static int64_t fan_in(const bench_mlp_case *shape, int64_t layer)
{
    return layer == 0 ? shape->inputs : shape->width;
}

static int64_t fan_out(const bench_mlp_case *shape, int64_t layer)
{
    return layer == shape->hidden ? shape->outputs : shape->width;
}

static size_t param_count(const bench_mlp_case *shape, size_t p)
{
    int64_t layer = (int64_t)(p / 2), out = fan_out(shape, layer);
    return (size_t)(p % 2 == 0 ? fan_in(shape, layer) * out : out);
}

static size_t aligned_bytes(size_t elements)
{
    size_t bytes = 0;
    bench_require(remat_size_align(elements * sizeof(float), &bytes) ? REMAT_OK : REMAT_OVERFLOW,
                  NULL);
    return bytes;
}

static void *take(unsigned char **next, size_t elements)
{
    void *taken = *next;
    *next += aligned_bytes(elements);
    return taken;
}

/* One zeroed block with huge pages, as the exec's arena. */
static unsigned char *take_memory(bench_mlp *m, size_t n_x, size_t n_y)
{
    const size_t copies = m->shape->adamw ? 4 : 2; /* parameter, gradient, two states */
    size_t bytes = aligned_bytes(n_x) + aligned_bytes(n_y);
    for (size_t p = 0; p < m->n_params; p++)
        bytes += copies * aligned_bytes(param_count(m->shape, p));
    const remat_allocator allocator = remat_allocator_default();
    if (!remat_arena_allocate(&allocator, true, bytes, &m->memory))
        bench_require(REMAT_OUT_OF_MEMORY, "the network's memory");
    memset(m->memory.data, 0, bytes);
    return m->memory.data;
}

static void fill_params(bench_mlp *m, unsigned char **next)
{
    for (size_t p = 0; p < m->n_params; p++) {
        remat_param *param = &m->params[p];
        param->dtype = REMAT_F32;
        param->count = param_count(m->shape, p);
        param->data = take(next, param->count);
        param->gradient = take(next, param->count);
        for (size_t k = 0; k < 2 && m->shape->adamw; k++)
            param->state[k] = take(next, param->count);
        double fan = (double)fan_in(m->shape, (int64_t)(p / 2));
        if (p % 2 == 0)
            fill_uniform(param->data, param->count, p, (float)sqrt(6.0 / fan));
    }
}

/* ---- Record ----------------------------------------------------------------------------------*/

static remat_var record_linear(bench_mlp *m, remat_var h, int64_t layer)
{
    const int64_t in = fan_in(m->shape, layer), out = fan_out(m->shape, layer);
    const size_t p = 2 * (size_t)layer;
    remat_param *weight = &m->params[p], *bias = &m->params[p + 1];
    remat_var w = remat_parameter(m->tape, NULL, REMAT_F32, REMAT_SHAPE(out, in), weight->data,
                                  weight->gradient);
    remat_var b =
        remat_parameter(m->tape, NULL, REMAT_F32, REMAT_SHAPE(out), bias->data, bias->gradient);
    return remat_linear(m->tape, h, w, b);
}

static remat_var record(bench_mlp *m, void *x, void *y, int64_t segment)
{
    const bench_mlp_case *s = m->shape;
    remat_var h = remat_input(m->tape, "x", REMAT_F32, REMAT_SHAPE(s->batch, s->inputs), x);
    for (int64_t layer = 0; layer < s->hidden; layer++) {
        if (segment > 0 && layer % segment == 0)
            remat_segment_begin(m->tape, NULL);
        h = remat_relu(m->tape, record_linear(m, h, layer));
        if (segment > 0 && (layer % segment == segment - 1 || layer == s->hidden - 1))
            remat_segment_end(m->tape);
    }
    h = record_linear(m, h, s->hidden);
    if (s->labels)
        return remat_cross_entropy(
            m->tape, h, remat_input(m->tape, "y", REMAT_I32, REMAT_SHAPE(s->batch), y), NULL);
    remat_var target = remat_input(m->tape, "y", REMAT_F32, REMAT_SHAPE(s->batch, s->outputs), y);
    return remat_mse(m->tape, h, target, REMAT_MEAN);
}

/* ---- Training --------------------------------------------------------------------------------*/

void bench_mlp_create(const bench_mlp_case *shape, const bench_mlp_options *options, bench_mlp *m)
{
    *m = (bench_mlp){.shape = shape,
                     .n_params = 2 * ((size_t)shape->hidden + 1),
                     .sgd = REMAT_SGD_INIT,
                     .adam = REMAT_ADAM_INIT};
    m->params = bench_allocate(m->n_params, sizeof *m->params);
    m->sgd.learning_rate = m->adam.learning_rate = shape->learning_rate;
    m->adam.weight_decay = 0.01;
    const size_t n_x = (size_t)(shape->batch * shape->inputs);
    const size_t n_y = (size_t)(shape->labels ? shape->batch : shape->batch * shape->outputs);
    unsigned char *next = take_memory(m, n_x, n_y);
    fill_params(m, &next);
    void *x = take(&next, n_x), *y = take(&next, n_y);
    fill_uniform(x, n_x, m->n_params, 1);
    if (shape->labels)
        fill_labels(y, n_y, m->n_params + 1, (int32_t)shape->outputs);
    else
        fill_uniform(y, n_y, m->n_params + 1, 1);

    bench_require(remat_tape_create(NULL, &m->tape), NULL);
    remat_var loss = record(m, x, y, options->segment);
    remat_exec_options exec_options = REMAT_EXEC_OPTIONS_INIT;
    exec_options.strategy = options->strategy;
    exec_options.overwrite_gradients = true;
    bench_require(remat_exec_create(m->tape, loss, &exec_options, &m->exec),
                  remat_tape_message(m->tape));
}

void bench_mlp_destroy(bench_mlp *m)
{
    const remat_allocator allocator = remat_allocator_default();
    remat_exec_destroy(m->exec);
    remat_tape_destroy(m->tape);
    remat_arena_release(&allocator, &m->memory);
    free(m->params);
}

double bench_mlp_step(bench_mlp *m)
{
    bench_require(remat_exec_step(m->exec), remat_exec_message(m->exec));
    bench_require(m->shape->adamw ? remat_adamw_step(&m->adam, m->params, m->n_params)
                                  : remat_sgd_step(&m->sgd, m->params, m->n_params),
                  NULL);
    return remat_exec_loss(m->exec);
}
