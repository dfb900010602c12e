/* networks.c - see networks.h. */
#include "networks.h"

#define CLASSES   1000
#define HEAD      64 /* features of an attention head */
#define EPSILON   1e-5
#define MOST_UNET 12 /* levels; its finest one has 4^levels times the positions of the coarsest */

typedef remat_var recorder(remat_tape *tape, const network_shape *shape, remat_var x);

/* Nothing is ever run, so no gradient is ever written; but that there is a place for it tells the
 * planner that the parameter is trained and its gradient takes none of the arena. */
static float nowhere;

static remat_var parameter(remat_tape *tape, remat_shape shape)
{
    return remat_parameter(tape, NULL, REMAT_F32, shape, NULL, &nowhere);
}

static int64_t features_of(remat_tape *tape, remat_var x)
{
    remat_shape shape = remat_var_shape(tape, x);
    return shape.ndim > 0 ? shape.dims[shape.ndim - 1] : 1;
}

static remat_var linear(remat_tape *tape, remat_var x, int64_t outputs)
{
    const int64_t inputs = features_of(tape, x);
    return remat_linear(tape, x, parameter(tape, REMAT_SHAPE(outputs, inputs)),
                        parameter(tape, REMAT_SHAPE(outputs)));
}

static remat_var norm(remat_tape *tape, remat_var x)
{
    const int64_t features = features_of(tape, x);
    return remat_layer_norm(tape, x, parameter(tape, REMAT_SHAPE(features)),
                            parameter(tape, REMAT_SHAPE(features)), EPSILON);
}

/* ---- Networks: from x [batch, sequence, width] -----------------------------------------------*/

static remat_var record_mlp(remat_tape *tape, const network_shape *shape, remat_var x)
{
    for (size_t i = 0; i < shape->layers; i++) {
        remat_segment_begin(tape, "layer");
        x = remat_relu(tape, linear(tape, x, (int64_t)shape->width));
        remat_segment_end(tape);
    }
    return x;
}

static remat_var record_resnet(remat_tape *tape, const network_shape *shape, remat_var x)
{
    const int64_t width = (int64_t)shape->width;
    for (size_t i = 0; i < shape->layers; i++) {
        remat_segment_begin(tape, "block");
        remat_var h = remat_relu(tape, linear(tape, norm(tape, x), width));
        x = remat_add(tape, x, linear(tape, h, width));
        remat_segment_end(tape);
    }
    return x;
}

/* A projection of x, split into heads: [batch, heads, sequence, head] */
static remat_var to_heads(remat_tape *tape, const network_shape *shape, remat_var x, int64_t heads)
{
    static const int by_head[] = {0, 2, 1, 3};
    const int64_t batch = (int64_t)shape->batch, sequence = (int64_t)shape->sequence;
    remat_var projected = linear(tape, x, (int64_t)shape->width);
    remat_shape split = REMAT_SHAPE(batch, sequence, heads, (int64_t)shape->width / heads);
    return remat_permute(tape, remat_reshape(tape, projected, split), by_head, 4);
}

static remat_var attention(remat_tape *tape, const network_shape *shape, remat_var x)
{
    static const int by_position[] = {0, 2, 1, 3};
    const int64_t width = (int64_t)shape->width;
    const int64_t heads = width % HEAD == 0 ? width / HEAD : 1;
    remat_var query = to_heads(tape, shape, x, heads), key = to_heads(tape, shape, x, heads);
    remat_var value = to_heads(tape, shape, x, heads);
    remat_var scores = remat_scale(tape, remat_matmul(tape, query, key, false, true), 0.125);
    remat_var mixed = remat_matmul(tape, remat_softmax(tape, scores, -1), value, false, false);
    remat_shape joined = REMAT_SHAPE((int64_t)shape->batch, (int64_t)shape->sequence, width);
    mixed = remat_reshape(tape, remat_permute(tape, mixed, by_position, 4), joined);
    return linear(tape, mixed, width);
}

static remat_var record_transformer(remat_tape *tape, const network_shape *shape, remat_var x)
{
    const int64_t width = (int64_t)shape->width;
    for (size_t i = 0; i < shape->layers; i++) {
        remat_segment_begin(tape, "block");
        x = remat_add(tape, x, attention(tape, shape, norm(tape, x)));
        remat_var h = remat_gelu(tape, linear(tape, norm(tape, x), 4 * width));
        x = remat_add(tape, x, linear(tape, h, width));
        remat_segment_end(tape);
    }
    return norm(tape, x);
}

static remat_var two_layers(remat_tape *tape, remat_var x, int64_t width)
{
    remat_segment_begin(tape, "level");
    for (int i = 0; i < 2; i++)
        x = remat_relu(tape, linear(tape, x, width));
    remat_segment_end(tape);
    return x;
}

/* Four neighbours become one position, and back again. */
static remat_var record_unet(remat_tape *tape, const network_shape *shape, remat_var x)
{
    const int64_t batch = (int64_t)shape->batch;
    remat_var skips[MOST_UNET];
    int64_t width = (int64_t)shape->width;
    for (size_t i = 0; i < shape->layers; i++) {
        skips[i] = two_layers(tape, x, width);
        x = remat_reshape(tape, skips[i], REMAT_SHAPE(batch, -1, 4 * width));
        width *= 2;
    }
    x = two_layers(tape, x, width);
    for (size_t i = shape->layers; i-- > 0;) {
        width /= 2;
        x = remat_reshape(tape, linear(tape, x, 4 * width), REMAT_SHAPE(batch, -1, width));
        x = two_layers(tape, remat_add(tape, x, skips[i]), width);
    }
    return x;
}

/* ---- Table -----------------------------------------------------------------------------------*/

static const struct row {
    const char *name;
    recorder *record;
    network_shape usual;
    size_t most_layers;
} rows[NETWORK_KINDS] = {
    [NETWORK_NONE] = {"none", record_mlp, {1, 1, 1, 1}, 1},
    [NETWORK_MLP] = {"mlp", record_mlp, {64, 512, 256, 1}, 100000},
    [NETWORK_TRANSFORMER] = {"transformer", record_transformer, {24, 512, 8, 512}, 100000},
    [NETWORK_UNET] = {"unet", record_unet, {4, 64, 4, 64}, MOST_UNET},
    [NETWORK_RESNET] = {"resnet", record_resnet, {32, 512, 256, 1}, 100000},
};

const char *network_name(network_kind kind)
{
    return rows[kind].name;
}

size_t network_most_layers(network_kind kind)
{
    return rows[kind].most_layers;
}

void network_complete(network_kind kind, network_shape *shape)
{
    const network_shape *usual = &rows[kind].usual;
    shape->layers = shape->layers ? shape->layers : usual->layers;
    shape->width = shape->width ? shape->width : usual->width;
    shape->batch = shape->batch ? shape->batch : usual->batch;
    shape->sequence = shape->sequence ? shape->sequence : usual->sequence;
}

remat_var network_record(network_kind kind, const network_shape *shape, remat_tape *tape)
{
    const int64_t batch = (int64_t)shape->batch, width = (int64_t)shape->width;
    int64_t positions = (int64_t)shape->sequence;
    for (size_t i = 0; kind == NETWORK_UNET && i < shape->layers; i++)
        positions *= 4;
    remat_var x = remat_input(tape, "x", REMAT_F32, REMAT_SHAPE(batch, positions, width), NULL);
    remat_var labels = remat_input(tape, "labels", REMAT_I32, REMAT_SHAPE(batch, positions), NULL);
    remat_var y = rows[kind].record(tape, shape, linear(tape, x, width));
    return remat_cross_entropy(tape, linear(tape, y, CLASSES), labels, NULL);
}
