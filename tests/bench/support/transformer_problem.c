/* transformer_problem.c - a planning problem shaped like a GPT: no tape, no kernels. */
#include "bench/support/transformer_problem.h"

enum { MAX_INPUTS = 2 };

/* One forward task: result and what is read; what its backward reads. */
typedef struct layer {
    uint32_t in[MAX_INPUTS], n_in; /* layers; REMAT_NONE: the caller's memory */
    double floats, flops;          /* of the result, of the forward */
    bool needs_in, needs_out;
} layer;

typedef struct builder {
    remat_problem *problem;
    REMAT_VECTOR(layer) layers;
    bool failed;
} builder;

static uint32_t add_layer(builder *b, layer l)
{
    b->failed |= !remat_vector_push(&b->problem->allocator, &b->layers, l);
    return (uint32_t)b->layers.count - 1;
}

static uint32_t add_block(builder *b, uint32_t x, double t, double d)
{
    double td = t * d, heads = d / 64, scores = heads * t * t;
    uint32_t ln1 = add_layer(b, (layer){{x}, 1, td, 8 * td, true, false});
    uint32_t qkv = add_layer(b, (layer){{ln1}, 1, 3 * td, 6 * td * d, true, false});
    uint32_t qk = add_layer(b, (layer){{qkv}, 1, scores, 2 * t * td, true, false});
    uint32_t p = add_layer(b, (layer){{qk}, 1, scores, 5 * scores, false, true});
    uint32_t av = add_layer(b, (layer){{p, qkv}, 2, td, 2 * t * td, true, false});
    uint32_t proj = add_layer(b, (layer){{av}, 1, td, 2 * td * d, true, false});
    uint32_t sum = add_layer(b, (layer){{x, proj}, 2, td, td, false, false});
    uint32_t ln2 = add_layer(b, (layer){{sum}, 1, td, 8 * td, true, false});
    uint32_t fc1 = add_layer(b, (layer){{ln2}, 1, 4 * td, 8 * td * d, true, false});
    uint32_t gelu = add_layer(b, (layer){{fc1}, 1, 4 * td, 32 * td, true, false});
    uint32_t fc2 = add_layer(b, (layer){{gelu}, 1, td, 8 * td * d, true, false});
    return add_layer(b, (layer){{sum, fc2}, 2, td, td, false, false});
}

static void add_layers(builder *b, uint32_t blocks, double t, double d)
{
    double vocabulary = 4 * d;
    uint32_t x = add_layer(b, (layer){{REMAT_NONE}, 0, t * d, t * d, false, false});
    for (uint32_t i = 0; i < blocks; i++)
        x = add_block(b, x, t, d);
    uint32_t logits =
        add_layer(b, (layer){{x}, 1, t * vocabulary, 2 * t * vocabulary * d, true, false});
    add_layer(b, (layer){{logits}, 1, 16, 10 * t * vocabulary, true, false});
}

static void begin_task(builder *b, bool backward, double flops, double floats)
{
    remat_problem *p = b->problem;
    remat_task task = {.cost = flops / 1e11 + floats * 8 / 2e10,
                       .reads = (uint32_t)p->reads.count,
                       .writes = (uint32_t)p->writes.count,
                       .reuses = (uint32_t)p->reuses.count,
                       .kind = backward ? REMAT_TASK_BACKWARD : REMAT_TASK_FORWARD,
                       .replayable = !backward};
    b->failed |= !remat_vector_push(&p->allocator, &p->tasks, task);
}

static void add_read(builder *b, uint32_t value)
{
    b->failed |= !remat_vector_push(&b->problem->allocator, &b->problem->reads, value);
}

static void add_write(builder *b, uint32_t value, bool accumulate)
{
    remat_write write = {value, accumulate};
    b->failed |= !remat_vector_push(&b->problem->allocator, &b->problem->writes, write);
}

static void add_values(builder *b, remat_value_class class)
{
    for (size_t i = 0; i < b->layers.count; i++) {
        size_t bytes = (size_t)(b->layers.data[i].floats * 4);
        remat_problem_value value = {.bytes = bytes, .raw_bytes = bytes, .class = (uint8_t) class};
        b->failed |= !remat_vector_push(&b->problem->allocator, &b->problem->values, value);
    }
}

/* Gradients of the results, in the order of layers, follow the results. */
static void add_backward(builder *b, uint32_t i, unsigned char *made)
{
    const layer *l = &b->layers.data[i];
    uint32_t n = (uint32_t)b->layers.count;
    begin_task(b, true, 2 * l->flops, 2 * l->floats);
    for (uint32_t k = 0; k < l->n_in && l->needs_in; k++)
        add_read(b, l->in[k]);
    if (l->needs_out)
        add_read(b, i);
    if (i + 1 < n)
        add_read(b, n + i);
    for (uint32_t k = 0; k < l->n_in; k++) {
        add_write(b, n + l->in[k], made[l->in[k]]);
        made[l->in[k]] = 1;
    }
}

static void add_tasks(builder *b)
{
    remat_problem *p = b->problem;
    uint32_t n = (uint32_t)b->layers.count;
    unsigned char *made = remat_memory_allocate(&p->allocator, n, 1);
    b->failed |= !made;
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        const layer *l = &b->layers.data[i];
        begin_task(b, false, l->flops, l->floats);
        for (uint32_t k = 0; k < l->n_in; k++)
            add_read(b, l->in[k]);
        add_write(b, i, false);
    }
    p->n_forward = n;
    for (uint32_t i = n; i-- > 0 && !b->failed;)
        add_backward(b, i, made);
    p->n_tasks = (uint32_t)p->tasks.count;
    begin_task(b, true, 0, 0); /* the sentinel */
    remat_memory_release(&p->allocator, made, n, 1);
}

bool bench_transformer_problem(uint32_t blocks, uint32_t length, uint32_t width,
                               remat_problem *problem)
{
    *problem = (remat_problem){.allocator = remat_allocator_default()};
    builder b = {.problem = problem};
    add_layers(&b, blocks, length, width);
    if (!b.failed) {
        add_values(&b, REMAT_CLASS_ACTIVATION);
        add_values(&b, REMAT_CLASS_GRADIENT);
        add_tasks(&b);
    }
    remat_segment_range all = {0};
    b.failed |= !remat_vector_push(&problem->allocator, &problem->segments, all);
    remat_vector_release(&problem->allocator, &b.layers);
    return !b.failed;
}
