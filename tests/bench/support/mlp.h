/* mlp.h - the multilayer perceptrons that the benchmarks train: inputs -> hidden x (linear, relu)
 * -> linear -> loss, with numbers that any program can make again.
 *
 * Element i (from 0) of tensor t (from 0) comes from a counter, as splitmix64 mixes it:
 *     z = 0x5EED + t 2^32 + (i + 1) 0x9E3779B97F4A7C15             (mod 2^64)
 *     z = (z ^ z >> 30) 0xBF58476D1CE4E5B9;  z = (z ^ z >> 27) 0x94D049BB133111EB;  z ^= z >> 31
 *     u = (z >> 40) 2^-24                                          (exact in f32, 0 <= u < 1)
 * Tensors are numbered as they are made: weight 0, bias 0, weight 1, ..., x, y. Weights are
 * (2 u - 1) sqrt(6 / fan_in) in f32 (He et al. 2015), biases 0, x and real targets 2 u - 1, labels
 * floor(u classes) in f32. */
#ifndef REMAT_BENCH_MLP_H
#define REMAT_BENCH_MLP_H

#include "base/memory.h"

typedef struct bench_mlp_case {
    const char *name;
    int64_t inputs, width, hidden, outputs, batch;
    bool labels; /* cross-entropy over classes; else mean squared error */
    bool adamw;  /* with weight decay 0.01; else plain SGD */
    double learning_rate;
    long steps, warmup; /* how many are timed, and not timed, unless asked otherwise */
} bench_mlp_case;

extern const bench_mlp_case bench_mlp_cases[];
extern const size_t bench_mlp_case_count;
const bench_mlp_case *bench_mlp_find(const char *name); /* NULL if there is none */

typedef struct bench_mlp_options {
    remat_strategy strategy;
    int64_t segment; /* layers per marked segment; 0: no marks */
} bench_mlp_options;

typedef struct bench_mlp {
    const bench_mlp_case *shape;
    remat_arena memory; /* parameters, gradients, optimizer state, x, y */
    remat_param *params;
    size_t n_params;
    remat_sgd sgd;
    remat_adam adam;
    remat_tape *tape;
    remat_exec *exec;
} bench_mlp;

/* Ends the program on failure. m must stay where it is until bench_mlp_destroy(). */
void bench_mlp_create(const bench_mlp_case *shape, const bench_mlp_options *options, bench_mlp *m);
void bench_mlp_destroy(bench_mlp *m);

/* One training step: forward, backward into overwritten gradients, update. Returns the loss. */
double bench_mlp_step(bench_mlp *m);

#endif
