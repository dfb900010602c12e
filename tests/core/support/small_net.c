/* small_net.c - see small_net.h. */
#include "core/support/small_net.h"

#include <string.h>

void net_create(small_net *net)
{
    memset(net, 0, sizeof *net);
    fake_require(remat_tape_create(NULL, &net->tape) == REMAT_OK);
}

void net_destroy(small_net *net)
{
    remat_tape_destroy(net->tape);
    net->tape = NULL;
}

static size_t new_leaf(small_net *net)
{
    fake_require(net->n_leaves < NET_LEAVES);
    for (size_t i = 0; i < NET_WIDTH; i++)
        net->data[net->n_leaves][i] = ((double)((net->n_leaves * 7 + i * 5) % 11) - 4) / 8;
    return net->n_leaves++;
}

remat_var net_parameter(small_net *net)
{
    size_t i = new_leaf(net);
    return remat_parameter(net->tape, NULL, REMAT_F64, REMAT_SHAPE(NET_WIDTH), net->data[i],
                           net->gradients[i]);
}

remat_var net_input(small_net *net)
{
    size_t i = new_leaf(net);
    return remat_input(net->tape, "x", REMAT_F64, REMAT_SHAPE(NET_WIDTH), net->data[i]);
}

static fake_probe_state *new_probe(small_net *net)
{
    fake_require(net->n_probes < NET_PROBES);
    return &net->probes[net->n_probes++];
}

remat_var net_probe(small_net *net, remat_var x)
{
    return fake_count(net->tape, &fake_probe, x, new_probe(net));
}

remat_var net_effect(small_net *net, remat_var x)
{
    return fake_count(net->tape, &fake_effect, x, new_probe(net));
}

remat_var net_layer(small_net *net, remat_var x)
{
    x = fake_apply2(net->tape, &fake_add, x, net_parameter(net));
    return net_probe(net, net_probe(net, x));
}

remat_var net_loss(small_net *net, remat_var x)
{
    return fake_apply1(net->tape, &fake_sum, x);
}

static void reset_counters(small_net *net)
{
    for (size_t i = 0; i < net->n_probes; i++)
        net->probes[i].forwards = net->probes[i].replays = net->probes[i].backwards = 0;
}

remat_exec *net_step(small_net *net, remat_var loss, remat_strategy strategy)
{
    remat_exec *exec = NULL;
    remat_exec_options o = REMAT_EXEC_OPTIONS_INIT;
    o.strategy = strategy;
    o.poison = true;
    o.verify_replay = true;
    fake_require(remat_exec_create(net->tape, loss, &o, &exec) == REMAT_OK);
    memset(net->gradients, 0, sizeof net->gradients);
    reset_counters(net);
    fake_require(remat_exec_step(exec) == REMAT_OK);
    return exec;
}

bool net_agrees(small_net *net, remat_var loss, remat_strategy strategy, uint64_t *replays)
{
    static double expected[NET_LEAVES][NET_WIDTH];
    remat_exec_statistics statistics;
    remat_exec *exec = net_step(net, loss, REMAT_STRATEGY_KEEP_ALL);
    double expected_loss = remat_exec_loss(exec);
    memcpy(expected, net->gradients, sizeof expected);
    remat_exec_destroy(exec);
    exec = net_step(net, loss, strategy);
    remat_exec_get_statistics(exec, &statistics);
    bool agrees = remat_exec_loss(exec) == expected_loss &&
                  memcmp(net->gradients, expected, sizeof expected) == 0;
    remat_exec_destroy(exec);
    if (replays)
        *replays = statistics.replays;
    return agrees;
}
