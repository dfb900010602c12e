/* small_net.h - hand-made networks for tests that know every number: vectors of four doubles,
 * parameters with gradients, statements that count their calls. */
#ifndef TESTS_CORE_SMALL_NET_H
#define TESTS_CORE_SMALL_NET_H

#include "core/support/fake_ops.h"

enum { NET_WIDTH = 4, NET_LEAVES = 64, NET_PROBES = 128 };

typedef struct small_net {
    remat_tape *tape;
    double data[NET_LEAVES][NET_WIDTH], gradients[NET_LEAVES][NET_WIDTH];
    fake_probe_state probes[NET_PROBES];
    size_t n_leaves, n_probes;
} small_net;

void net_create(small_net *net);
void net_destroy(small_net *net);

/* Leaves number n_leaves: a parameter with a gradient; an input without. */
remat_var net_parameter(small_net *net);
remat_var net_input(small_net *net);

/* A softsign that counts in probes[n_probes]; an EFFECT likewise. */
remat_var net_probe(small_net *net, remat_var x);
remat_var net_effect(small_net *net, remat_var x);

/* x + a new parameter, then two probes: the first probe's number is that of the layer's pair. The
 * backward pass reads the sum and the first probe's result. */
remat_var net_layer(small_net *net, remat_var x);
remat_var net_loss(small_net *net, remat_var x);

/* Creates an exec with a strategy, zeroes gradients and counters, and runs one step. */
remat_exec *net_step(small_net *net, remat_var loss, remat_strategy strategy);

/* True if a step under the strategy gives the gradients and the loss of keep-all, bit for bit, with
 * probes left as the strategy's step counted them; *replays may be NULL. */
bool net_agrees(small_net *net, remat_var loss, remat_strategy strategy, uint64_t *replays);

#endif
