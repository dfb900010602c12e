/* main.c - a user's program: trains a tiny net for some steps and checks that it learns. */
#include <remat/remat.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 4, IN = 3, HIDDEN = 8, CLASSES = 2, STEPS = 50 };

const char *version_seen_by_cpp(void);

struct dense {
    float *weight, *weight_gradient; /* [out, in] */
    int64_t out, in;
};

static remat_status dense_block(remat_tape *tape, void *context, const remat_var *in, size_t n_in,
                                remat_var *out, size_t n_out)
{
    const struct dense *layer = context;
    if (n_in != 1 || n_out != 1)
        return REMAT_INVALID_ARGUMENT;
    remat_var weight =
        remat_parameter(tape, "weight", REMAT_F32, REMAT_SHAPE(layer->out, layer->in),
                        layer->weight, layer->weight_gradient);
    out[0] = remat_tanh(tape, remat_linear(tape, in[0], weight, (remat_var){0}));
    return remat_tape_status(tape);
}

static float first[HIDDEN * IN], first_gradient[HIDDEN * IN];
static float second[CLASSES * HIDDEN], second_gradient[CLASSES * HIDDEN];

static remat_var record(remat_tape *tape)
{
    static const float images[BATCH * IN] = {1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1};
    static const int32_t labels[BATCH] = {0, 0, 1, 1};
    struct dense layers[] = {{first, first_gradient, HIDDEN, IN},
                             {second, second_gradient, CLASSES, HIDDEN}};
    remat_var h = remat_input(tape, "images", REMAT_F32, REMAT_SHAPE(BATCH, IN), images);
    remat_var y = remat_input(tape, "labels", REMAT_I32, REMAT_SHAPE(BATCH), labels);
    for (size_t i = 0; i < 2; i++)
        checkpoint_segment(tape, dense_block, &layers[i], &h, 1, &h, 1);
    return remat_cross_entropy(tape, h, y, NULL);
}

static remat_status train(remat_exec *exec, double *loss)
{
    const remat_sgd sgd = {.learning_rate = 0.5, .zero_gradients = true};
    const remat_param params[] = {
        {.dtype = REMAT_F32, .count = HIDDEN * IN, .data = first, .gradient = first_gradient},
        {.dtype = REMAT_F32,
         .count = CLASSES * HIDDEN,
         .data = second,
         .gradient = second_gradient}};
    remat_status status = REMAT_OK;
    for (int step = 0; step < STEPS && status == REMAT_OK; step++) {
        status = remat_exec_step(exec);
        if (status == REMAT_OK)
            status = remat_sgd_step(&sgd, params, 2);
        if (step == 0)
            loss[0] = remat_exec_loss(exec);
    }
    loss[1] = remat_exec_loss(exec);
    return status;
}

int main(void)
{
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    double loss[2] = {0.0, 0.0}; /* of the first and the last step */
    remat_init_xavier_uniform(first, REMAT_F32, HIDDEN * IN, IN, HIDDEN, 1);
    remat_init_xavier_uniform(second, REMAT_F32, CLASSES * HIDDEN, HIDDEN, CLASSES, 2);

    remat_status status = remat_tape_create(NULL, &tape);
    if (status == REMAT_OK)
        status = remat_exec_create(tape, record(tape), NULL, &exec);
    if (status == REMAT_OK)
        status = train(exec, loss);
    if (status != REMAT_OK)
        fprintf(stderr, "%s: %s\n", remat_status_text(status),
                exec   ? remat_exec_message(exec)
                : tape ? remat_tape_message(tape)
                       : "");
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);

    printf("remat %s: loss %.4f -> %.4f\n", remat_version(), loss[0], loss[1]);
    return status == REMAT_OK && loss[1] < 0.5 * loss[0] &&
                   strcmp(version_seen_by_cpp(), remat_version()) == 0
               ? 0
               : 1;
}
