#include <math.h>
#include <remat/remat.h>

enum { BATCH = 256, WIDTH = 64, LAYERS = 32 };
static float x[BATCH * WIDTH], y[BATCH * WIDTH]; /* [batch, features] */
static float w[LAYERS][WIDTH * WIDTH], dw[LAYERS][WIDTH * WIDTH];

static remat_status four_layers(remat_tape *tape, void *first, const remat_var *in, size_t n_in,
                                remat_var *out, size_t n_out)
{
    (void)n_in, (void)n_out;
    remat_var h = in[0], no_bias = {0};
    for (int i = *(int *)first; i < *(int *)first + 4; i++) {
        remat_var W = remat_parameter(tape, "W", REMAT_F32, REMAT_SHAPE(WIDTH, WIDTH), w[i], dw[i]);
        h = remat_add(tape, h, remat_tanh(tape, remat_linear(tape, h, W, no_bias)));
    }
    out[0] = h;
    return remat_tape_status(tape);
}

int main(void) /* fits y = sin(3 x) with 32 layers that are dropped and replayed */
{
    remat_tape *tape = NULL;
    remat_exec *exec = NULL;
    remat_tape_create(NULL, &tape);
    remat_init_uniform(x, REMAT_F32, BATCH * WIDTH, -1.0, 1.0, 1);
    for (int i = 0; i < BATCH * WIDTH; i++)
        y[i] = sinf(3.0f * x[i]);
    for (int i = 0; i < LAYERS; i++)
        remat_init_normal(w[i], REMAT_F32, WIDTH * WIDTH, 0.0, 0.03, 2 + (uint64_t)i);

    remat_var h = remat_input(tape, "x", REMAT_F32, REMAT_SHAPE(BATCH, WIDTH), x);
    remat_var target = remat_input(tape, "y", REMAT_F32, REMAT_SHAPE(BATCH, WIDTH), y);
    for (int i = 0; i < LAYERS; i += 4)
        checkpoint_segment(tape, four_layers, &i, &h, 1, &h, 1);
    remat_var loss = remat_mse(tape, h, target, REMAT_MEAN);
    if (remat_exec_create(tape, loss, NULL, &exec) != REMAT_OK) /* plans, then one allocation */
        return fprintf(stderr, "%s\n", remat_tape_message(tape)), 1;
    remat_plan_print(remat_exec_plan(exec), stdout);

    remat_param params[LAYERS];
    size_t n = 0;
    remat_tape_params(tape, params, LAYERS, &n);
    const remat_sgd sgd = {.learning_rate = 2.0, .zero_gradients = true};
    for (int step = 0; step <= 500; step++) {
        if (remat_exec_step(exec) != REMAT_OK) /* forward, replays, backward: no heap is touched */
            return fprintf(stderr, "%s\n", remat_exec_message(exec)), 1;
        remat_sgd_step(&sgd, params, n);
        if (step % 100 == 0)
            printf("step %3d  loss %.6f\n", step, remat_exec_loss(exec));
    }
    remat_exec_destroy(exec);
    remat_tape_destroy(tape);
}
