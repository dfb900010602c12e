/* networks.c - see networks.h. */
#include "support/networks.h"

#include <math.h>
#include <stdlib.h>

#define LABELS 10

static float no_memory[1]; /* stands for a gradient where nothing runs */

void network_create(bool trains, network *net)
{
    *net = (network){.trains = trains};
    if (remat_tape_create(NULL, &net->tape) != REMAT_OK)
        exit(EXIT_FAILURE);
}

void network_destroy(network *net)
{
    remat_tape_destroy(net->tape);
    for (size_t i = 0; i < net->n_buffers; i++) {
        free(net->buffers[i].data);
        free(net->buffers[i].gradient);
    }
    free(net->buffers);
}

/* ---- Leaves ----------------------------------------------------------------------------------*/

/* Numbers in [-scale, scale), different for every buffer. */
static void fill(float *data, size_t count, size_t buffer, double scale)
{
    uint64_t state = 0x9E3779B97F4A7C15u * (buffer + 1);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(((double)(state >> 40) * 0x1p-23 - 1.0) * scale);
    }
}

static network_buffer add_buffer(network *net, remat_shape shape, bool gradient, double scale)
{
    network_buffer buffer = {.count = (size_t)remat_shape_count(&shape)};
    if (!net->trains)
        return buffer;
    network_buffer *more = realloc(net->buffers, (net->n_buffers + 1) * sizeof *net->buffers);
    buffer.data = calloc(buffer.count, sizeof *buffer.data);
    buffer.gradient = gradient ? calloc(buffer.count, sizeof *buffer.gradient) : NULL;
    if (!more || !buffer.data || (gradient && !buffer.gradient))
        exit(EXIT_FAILURE);
    fill(buffer.data, buffer.count, net->n_buffers, scale);
    net->buffers = more;
    net->buffers[net->n_buffers++] = buffer;
    return buffer;
}

static remat_var parameter(network *net, remat_shape shape, double scale)
{
    network_buffer b = add_buffer(net, shape, true, scale);
    return remat_parameter(net->tape, NULL, REMAT_F32, shape, b.data,
                           net->trains ? b.gradient : no_memory);
}

static remat_var input(network *net, remat_shape shape)
{
    return remat_input(net->tape, "x", REMAT_F32, shape, add_buffer(net, shape, false, 1.0).data);
}

/* x W^T + b, from `in` to `out` channels. */
static remat_var linear(network *net, remat_var x, int64_t in, int64_t out)
{
    remat_var w = parameter(net, REMAT_SHAPE(out, in), sqrt(3.0 / (double)in));
    return remat_linear(net->tape, x, w, parameter(net, REMAT_SHAPE(out), 0.1));
}

static remat_var normalize(network *net, remat_var x, int64_t width)
{
    remat_var scale = parameter(net, REMAT_SHAPE(width), 1.0);
    return remat_layer_norm(net->tape, x, scale, parameter(net, REMAT_SHAPE(width), 0.1), 1e-5);
}

static remat_var dropout(network *net, remat_var x, double rate)
{
    return rate > 0 ? remat_dropout(net->tape, x, rate) : x;
}

/* Mean of squares of a last layer's results. */
static remat_var loss_of(network *net, remat_var x, int64_t width)
{
    remat_var last = linear(net, x, width, LABELS);
    return remat_mean(net->tape, remat_square(net->tape, last), NULL, 0, false);
}

/* ---- Networks --------------------------------------------------------------------------------*/

remat_var network_mlp(network *net, int layers, int64_t batch, int64_t width, double rate)
{
    remat_var h = input(net, REMAT_SHAPE(batch, width));
    for (int i = 0; i < layers; i++)
        h = dropout(net, remat_relu(net->tape, linear(net, h, width, width)), rate);
    return loss_of(net, h, width);
}

typedef struct sizes {
    int64_t batch, length, width, heads;
} sizes;

/* [batch, length, width] -> [batch, heads, length, width / heads] */
static remat_var split_heads(network *net, remat_var x, const sizes *s)
{
    const int axes[] = {0, 2, 1, 3};
    remat_shape shape = REMAT_SHAPE(s->batch, s->length, s->heads, s->width / s->heads);
    return remat_permute(net->tape, remat_reshape(net->tape, x, shape), axes, 4);
}

static remat_var attention(network *net, remat_var x, const sizes *s, double rate)
{
    const int axes[] = {0, 2, 1, 3};
    remat_tape *t = net->tape;
    remat_var q = split_heads(net, linear(net, x, s->width, s->width), s);
    remat_var k = split_heads(net, linear(net, x, s->width, s->width), s);
    remat_var v = split_heads(net, linear(net, x, s->width, s->width), s);
    remat_var scores = remat_scale(t, remat_matmul(t, q, k, false, true), 0.125);
    remat_var weights = dropout(net, remat_softmax(t, scores, -1), rate);
    remat_var mixed = remat_permute(t, remat_matmul(t, weights, v, false, false), axes, 4);
    mixed = remat_reshape(t, mixed, REMAT_SHAPE(s->batch, s->length, s->width));
    return linear(net, mixed, s->width, s->width);
}

remat_var network_transformer(network *net, int layers, int64_t batch, int64_t length,
                              int64_t width, double rate)
{
    const sizes s = {batch, length, width, width >= 64 ? width / 64 : 2};
    remat_tape *t = net->tape;
    remat_var h = linear(net, input(net, REMAT_SHAPE(batch, length, width)), width, width);
    for (int i = 0; i < layers; i++) {
        remat_var mixed = attention(net, normalize(net, h, width), &s, rate);
        h = remat_add(t, h, dropout(net, mixed, rate));
        remat_var wide = linear(net, normalize(net, h, width), width, 4 * width);
        remat_var narrow = linear(net, remat_gelu(t, wide), 4 * width, width);
        h = remat_add(t, h, dropout(net, narrow, rate));
    }
    return loss_of(net, normalize(net, h, width), width);
}

/* Two layers with their normalization, as two convolutions would be. */
static remat_var two_layers(network *net, remat_var x, int64_t width)
{
    for (int i = 0; i < 2; i++)
        x = remat_relu(net->tape, normalize(net, linear(net, x, width, width), width));
    return x;
}

remat_var network_unet(network *net, int levels, int64_t batch, int64_t points, int64_t width)
{
    remat_tape *t = net->tape;
    const int pairs[] = {2};
    remat_var skips[16], h = input(net, REMAT_SHAPE(batch, points, width));
    levels = levels < 16 ? levels : 16;
    for (int i = 0; i < levels; i++, points /= 2) {
        skips[i] = h = two_layers(net, h, width);
        h = remat_reshape(t, h, REMAT_SHAPE(batch, points / 2, 2, width));
        h = remat_mean(t, h, pairs, 1, false);
    }
    h = two_layers(net, h, width);
    for (int i = levels; i-- > 0;) {
        points *= 2;
        h = remat_reshape(t, h, REMAT_SHAPE(batch, points / 2, 1, width));
        remat_var skip = remat_reshape(t, skips[i], REMAT_SHAPE(batch, points / 2, 2, width));
        h = remat_reshape(t, remat_add(t, skip, h), REMAT_SHAPE(batch, points, width));
        h = two_layers(net, h, width);
    }
    return loss_of(net, h, width);
}

remat_var network_resnet(network *net, int blocks, int64_t batch, int64_t points, int64_t width)
{
    remat_tape *t = net->tape;
    const int pairs[] = {2};
    remat_var h = linear(net, input(net, REMAT_SHAPE(batch, points, width)), width, width);
    for (int i = 0; i < blocks; i++) {
        if (i > 0 && i % 3 == 0 && points % 2 == 0) { /* a new stage */
            points /= 2;
            h = remat_reshape(t, h, REMAT_SHAPE(batch, points, 2, width));
            h = remat_mean(t, h, pairs, 1, false);
        }
        remat_var inner = normalize(net, linear(net, h, width, width), width);
        inner = linear(net, remat_relu(t, inner), width, width);
        h = remat_relu(t, remat_add(t, h, normalize(net, inner, width)));
    }
    return loss_of(net, h, width);
}

remat_var network_densenet(network *net, int blocks, int layers, int64_t batch, int64_t width)
{
    remat_tape *t = net->tape;
    remat_var h = input(net, REMAT_SHAPE(batch, width)), made[16];
    layers = layers < 15 ? layers : 15;
    for (int b = 0; b < blocks; b++) {
        made[0] = remat_relu(t, linear(net, h, width, width));
        for (int i = 1; i <= layers; i++) {
            remat_var sum = linear(net, made[0], width, width);
            for (int k = 1; k < i; k++)
                sum = remat_add(t, sum, linear(net, made[k], width, width));
            made[i] = remat_relu(t, sum);
        }
        h = made[layers];
    }
    return loss_of(net, h, width);
}

typedef struct cell {
    remat_var from_input[4], from_state[4], bias[4];
} cell;

static remat_var gate(network *net, const cell *c, int g, remat_var x, remat_var h)
{
    remat_tape *t = net->tape;
    remat_var sum = remat_add(t, remat_linear(t, x, c->from_input[g], c->bias[g]),
                              remat_linear(t, h, c->from_state[g], (remat_var){0}));
    return g == 3 ? remat_tanh(t, sum) : remat_sigmoid(t, sum);
}

remat_var network_lstm(network *net, int steps, int64_t batch, int64_t width)
{
    remat_tape *t = net->tape;
    cell c;
    double scale = sqrt(1.0 / (double)width);
    for (int g = 0; g < 4; g++) {
        c.from_input[g] = parameter(net, REMAT_SHAPE(width, width), scale);
        c.from_state[g] = parameter(net, REMAT_SHAPE(width, width), scale);
        c.bias[g] = parameter(net, REMAT_SHAPE(width), 0.1);
    }
    remat_var h = input(net, REMAT_SHAPE(batch, width)), s = input(net, REMAT_SHAPE(batch, width));
    for (int i = 0; i < steps; i++) {
        remat_var x = input(net, REMAT_SHAPE(batch, width));
        remat_var kept = remat_multiply(t, gate(net, &c, 0, x, h), s);
        remat_var added = remat_multiply(t, gate(net, &c, 1, x, h), gate(net, &c, 3, x, h));
        s = remat_add(t, kept, added);
        h = remat_multiply(t, gate(net, &c, 2, x, h), remat_tanh(t, s));
    }
    return loss_of(net, h, width);
}
