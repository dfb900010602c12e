/* random_tape.c - see random_tape.h. */
#include "core/support/random_tape.h"

#include <stdlib.h>
#include <string.h>

uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t test_random_below(uint64_t *state, size_t n)
{
    return (size_t)(test_random(state) % n);
}

bool test_random_chance(uint64_t *state, unsigned percent)
{
    return test_random_below(state, 100) < percent;
}

static size_t below(random_tape *r, size_t n)
{
    return test_random_below(&r->state, n);
}

static bool chance(random_tape *r, unsigned percent)
{
    return test_random_chance(&r->state, percent);
}

/* In [-1, 1), with few bits. */
static double number(random_tape *r)
{
    return ((double)below(r, 4096) - 2048) / 2048;
}

/* ---- Shapes ----------------------------------------------------------------------------------*/

/* WIDE [m, k], TALL [k, m] and FLAT [m k] are views of each other. */
enum { WIDE, TALL, FLAT, SQUARE, ROWS, N_KINDS };

static remat_shape shape_of(const random_tape *r, int kind)
{
    switch (kind) {
    case WIDE:
        return REMAT_SHAPE(r->m, r->k);
    case TALL:
        return REMAT_SHAPE(r->k, r->m);
    case FLAT:
        return REMAT_SHAPE(r->m * r->k);
    case SQUARE:
        return REMAT_SHAPE(r->m, r->m);
    default:
        return REMAT_SHAPE(r->m);
    }
}

/* ---- Buffers ---------------------------------------------------------------------------------*/

/* The next buffer; made once, found again when recording again. */
static void *take_block(random_tape *r, size_t bytes)
{
    if (r->next_block == r->n_blocks) {
        fake_require(r->n_blocks < RANDOM_TAPE_BLOCKS);
        r->blocks[r->n_blocks++] = (random_block){calloc(1, bytes), bytes};
    }
    random_block *block = &r->blocks[r->next_block++];
    fake_require(block->data && block->bytes == bytes);
    return block->data;
}

static void *take_numbers(random_tape *r, remat_shape shape)
{
    int64_t n = remat_shape_count(&shape);
    remat_tensor t = {take_block(r, (size_t)n * remat_dtype_bytes(r->dtype)), shape.dims,
                      shape.ndim, r->dtype};
    for (int64_t i = 0; i < n; i++)
        fake_put(&t, i, number(r));
    return t.data;
}

/* ---- Values ----------------------------------------------------------------------------------*/

static remat_var remember(random_tape *r, remat_var v, int kind)
{
    fake_require(r->n_values < RANDOM_TAPE_VALUES);
    r->values[r->n_values++] = (random_value){v, kind};
    return v;
}

static void request_gradient(random_tape *r, remat_var v, int kind)
{
    remat_shape shape = shape_of(r, kind);
    size_t bytes = (size_t)remat_shape_count(&shape) * remat_dtype_bytes(r->dtype);
    if (r->n_gradients == RANDOM_TAPE_GRADIENTS)
        return;
    void *buffer = chance(r, 50) ? take_block(r, bytes) : NULL;
    remat_request_gradient(r->tape, v, buffer);
    r->gradients[r->n_gradients++] = (random_gradient){v, buffer, bytes};
}

/* Three parameters of four have a gradient, one input of five, constants never. */
static remat_var new_leaf(random_tape *r, int kind)
{
    remat_shape shape = shape_of(r, kind);
    void *data = take_numbers(r, shape);
    size_t what = below(r, 8);
    remat_var v;
    if (what == 0) {
        v = remat_constant(r->tape, NULL, r->dtype, shape, data);
    } else if (what <= 2) {
        v = remat_input(r->tape, "input", r->dtype, shape, data);
        if (chance(r, 20))
            request_gradient(r, v, kind);
    } else {
        v = remat_parameter(r->tape, "parameter", r->dtype, shape, data, NULL);
        if (chance(r, 75))
            request_gradient(r, v, kind);
    }
    return remember(r, v, kind);
}

/* A value of this kind, more likely a recent one, sometimes a new leaf. */
static remat_var pick(random_tape *r, int kind)
{
    size_t found[RANDOM_TAPE_VALUES], n = 0;
    for (size_t i = 0; i < r->n_values; i++)
        if (r->values[i].kind == kind)
            found[n++] = i;
    if (n == 0 || chance(r, r->chain ? 4 : 12))
        return new_leaf(r, kind);
    size_t near = r->chain ? 1 : 3;
    size_t first = chance(r, r->chain ? 95 : 70) && n > near ? n - near : 0;
    return r->values[found[first + below(r, n - first)]].v;
}

static int pick_kind(random_tape *r)
{
    return r->n_values && chance(r, r->chain ? 95 : 70) ? r->values[r->n_values - 1].kind
                                                        : (int)below(r, SQUARE);
}

/* ---- Statements ------------------------------------------------------------------------------*/

static void after_result(random_tape *r, remat_var v, int kind, bool may_recompute)
{
    remember(r, v, kind);
    if (chance(r, r->chain ? 1 : 6) && r->n_kept < RANDOM_TAPE_KEPT) {
        remat_keep(r->tape, v);
        r->kept[r->n_kept++] = v;
    } else if (chance(r, r->chain ? 2 : 10) && may_recompute) {
        remat_recompute(r->tape, v);
    }
    if (chance(r, r->chain ? 2 : 10))
        request_gradient(r, v, kind);
}

static void record(random_tape *r, const remat_op *op, const void *attributes, size_t n_in,
                   const remat_var *in, int kind)
{
    remat_var v = fake_record(r->tape, op, attributes, n_in, in);
    after_result(r, v, kind, !(op->flags & REMAT_OP_EFFECT));
}

static void record_affine(random_tape *r, int kind)
{
    fake_affine_attributes a = {1 + 0.5 * number(r), 0.25 * number(r)};
    remat_var x = pick(r, kind);
    record(r, &fake_affine, &a, 1, &x, kind);
}

static void record_unary(random_tape *r, const remat_op *op, int kind)
{
    remat_var x = pick(r, kind);
    record(r, op, NULL, 1, &x, kind);
    r->has_noise |= op == &fake_noise;
}

static void record_add(random_tape *r, int kind)
{
    remat_var in[6];
    size_t n = 1 + below(r, 6);
    for (size_t i = 0; i < n; i++)
        in[i] = i > 0 && chance(r, 20) ? in[i - 1] : pick(r, kind);
    record(r, &fake_add, NULL, n, in, kind);
}

/* One factor is squashed, so that products do not grow. */
static void record_product(random_tape *r, const remat_op *op, int left, int right, int kind)
{
    remat_var in[2] = {fake_apply1(r->tape, &fake_softsign, pick(r, left)), pick(r, right)};
    remember(r, in[0], left);
    if (left == right && chance(r, 15))
        in[1] = in[0];
    record(r, op, NULL, 2, in, kind);
}

static void record_cross(random_tape *r, int kind)
{
    remat_var in[2] = {pick(r, kind), pick(r, kind)};
    if (chance(r, 40))
        in[1] = in[0];
    record(r, &fake_cross, NULL, 2, in, kind);
}

static void record_pair(random_tape *r, int kind)
{
    remat_var in[2] = {pick(r, kind), pick(r, kind)}, out[2];
    remat_apply(r->tape, &fake_pair, NULL, in, 2, out, 2);
    after_result(r, out[0], kind, true);
    after_result(r, out[1], kind, true);
}

static void record_statistic(random_tape *r)
{
    int kind = chance(r, 50) ? WIDE : SQUARE; /* these have m rows */
    remat_var x = pick(r, kind), out[2];
    remat_apply(r->tape, &fake_statistic, NULL, &x, 1, out, 2);
    after_result(r, out[0], kind, true);
    after_result(r, out[1], ROWS, true);
}

static void record_matmul(random_tape *r)
{
    static const int kinds[][3] = {
        {WIDE, TALL, SQUARE}, {SQUARE, WIDE, WIDE}, {TALL, SQUARE, TALL}, {SQUARE, SQUARE, SQUARE}};
    const int *k = kinds[below(r, 4)];
    record_product(r, &fake_matmul, k[0], k[1], k[2]);
}

static void record_gather(random_tape *r)
{
    remat_var in[2] = {pick(r, WIDE), r->index};
    record(r, &fake_gather, NULL, 2, in, WIDE);
}

static void record_view(random_tape *r)
{
    int from = (int)below(r, 3), to = (int)below(r, 3);
    remat_var x = pick(r, from);
    fake_view_attributes a = {shape_of(r, to)};
    record(r, &fake_view, &a, 1, &x, to);
    if (chance(r, 30)) { /* a view of a view */
        x = r->values[r->n_values - 1].v;
        a.shape = shape_of(r, FLAT);
        record(r, &fake_view, &a, 1, &x, FLAT);
    }
}

static void record_effect(random_tape *r, const remat_op *op, int kind)
{
    if (r->n_effects == RANDOM_TAPE_EFFECTS)
        return;
    fake_probe_attributes a = {&r->effects[r->n_effects++]};
    remat_var x = pick(r, kind);
    if (op->n_results > 0)
        record(r, op, &a, 1, &x, kind);
    else
        fake_record(r->tape, op, &a, 1, &x);
}

static void record_statement(random_tape *r)
{
    static const remat_op *const unary[] = {&fake_leaky, &fake_softsign, &fake_noise,
                                            &fake_reverse};
    int kind = pick_kind(r);
    size_t choice = below(r, 100);
    if (choice < 14)
        record_affine(r, kind);
    else if (choice < 34)
        record_unary(r, unary[below(r, 4)], kind);
    else if (choice < 38)
        record_unary(r, r->chain || chance(r, 50) ? &fake_kernel : &fake_detach, kind);
    else if (choice < 50)
        record_add(r, kind);
    else if (choice < 60)
        record_product(r, &fake_multiply, kind, kind, kind);
    else if (choice < 64)
        record_cross(r, kind);
    else if (choice < 68)
        record_pair(r, kind);
    else if (choice < 76)
        record_matmul(r);
    else if (choice < 84)
        record_statistic(r);
    else if (choice < 88)
        record_gather(r);
    else if (choice < 96)
        record_view(r);
    else
        record_effect(r, choice < 98 ? &fake_effect : &fake_sink, kind);
}

/* ---- Segments and losses ---------------------------------------------------------------------*/

static void change_segments(random_tape *r)
{
    if (chance(r, 3)) { /* an empty one */
        remat_segment_begin(r->tape, "empty");
        remat_segment_end(r->tape);
    }
    if (r->depth > 0 && chance(r, r->chain ? 20 : 15)) {
        remat_segment_end(r->tape);
        r->depth--;
    }
    if (r->depth < 6 && chance(r, 14)) {
        remat_segment_begin(r->tape, NULL);
        r->depth++;
    }
}

/* The last value of a kind, or any. */
static random_value pick_end(random_tape *r, int kind)
{
    random_value value = r->values[below(r, r->n_values)];
    for (size_t i = r->n_values; i-- > 0 && value.kind != kind;)
        if (r->values[i].kind == kind)
            value = r->values[i];
    remat_var v = fake_scale(r->tape, value.v, 0.75, 0.125);
    return (random_value){remember(r, v, value.kind), value.kind};
}

static remat_var record_loss(random_tape *r)
{
    remat_var parts[N_KINDS];
    size_t n = 0;
    for (int kind = 0; kind < N_KINDS; kind++)
        if (n == 0 || chance(r, 70))
            parts[n++] = fake_apply1(r->tape, &fake_sum, pick_end(r, kind).v);
    return fake_record(r->tape, &fake_add, NULL, n, parts);
}

static void record_ends(random_tape *r)
{
    size_t how = below(r, 100);
    r->loss = how < 70 ? record_loss(r) : (remat_var){0};
    if (how < 55)
        return;
    for (size_t i = 0; i < 2; i++) {
        random_value end = pick_end(r, (int)below(r, N_KINDS + 1));
        remat_seed_gradient(r->tape, end.v, take_numbers(r, shape_of(r, end.kind)));
        if (how > 90)
            r->loss = end.v; /* a loss with a seed of its own */
    }
    remat_var scalar = fake_apply1(r->tape, &fake_sum, pick_end(r, N_KINDS).v);
    remat_seed_gradient(r->tape, scalar, NULL);
}

/* ---- Life ------------------------------------------------------------------------------------*/

void random_tape_init(random_tape *r, remat_tape *tape, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->tape = tape;
    r->seed = seed;
}

remat_status random_tape_record(random_tape *r)
{
    r->state = r->seed * 0x2545F4914F6CDD1Du + 1;
    r->n_gradients = r->n_kept = r->n_effects = r->n_values = r->next_block = 0;
    r->depth = 0;
    r->has_noise = false;
    memset(r->effects, 0, sizeof r->effects);
    r->dtype = chance(r, 50) ? REMAT_F32 : REMAT_F64;
    r->chain = chance(r, 50);
    r->m = 1 + (int64_t)below(r, 9);
    r->k = 1 + (int64_t)below(r, 9);
    int32_t *rows = take_block(r, (size_t)r->m * sizeof *rows);
    for (int64_t i = 0; i < r->m; i++)
        rows[i] = (int32_t)below(r, (size_t)r->m);
    r->index = remat_input(r->tape, "index", REMAT_I32, REMAT_SHAPE(r->m), rows);
    new_leaf(r, WIDE);
    size_t n = r->chain ? 40 + below(r, 60) : 1 + below(r, chance(r, 30) ? 80 : 30);
    for (size_t i = 0; i < n && remat_tape_status(r->tape) == REMAT_OK; i++) {
        change_segments(r);
        record_statement(r);
    }
    bool inside = chance(r, 30); /* the loss in the last segments */
    for (; r->depth > 0 && !inside; r->depth--)
        remat_segment_end(r->tape);
    if (remat_tape_status(r->tape) == REMAT_OK)
        record_ends(r);
    for (; r->depth > 0; r->depth--)
        remat_segment_end(r->tape);
    return remat_tape_status(r->tape);
}

void random_tape_release(random_tape *r)
{
    for (size_t i = 0; i < r->n_blocks; i++)
        free(r->blocks[i].data);
    memset(r, 0, sizeof *r);
}
