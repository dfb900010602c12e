/* plan_text.c - see plan_text.h. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include "core/support/plan_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------*/

plan_text plan_text_copy(const char *data, size_t length)
{
    plan_text text = {malloc(length + 1), length};
    fake_require(text.data);
    if (length > 0)
        memcpy(text.data, data, length);
    return text;
}

void plan_text_release(plan_text *text)
{
    free(text->data);
    *text = (plan_text){0};
}

plan_text plan_text_of(const remat_plan *plan)
{
    plan_text text = {0};
    FILE *out = open_memstream(&text.data, &text.length);
    fake_require(out && remat_plan_save(plan, out) == REMAT_OK);
    fclose(out);
    return text;
}

remat_status plan_text_load(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                            plan_text text, remat_plan **plan)
{
    FILE *in = text.length > 0 ? fmemopen(text.data, text.length, "r") : fopen("/dev/null", "r");
    fake_require(in);
    remat_status status = remat_plan_load(tape, loss, options, in, plan);
    fclose(in);
    return status;
}

/* FNV-1a, as the format says. */
static uint64_t checksum(const char *data, size_t length)
{
    uint64_t sum = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)data[i]) * 0x100000001B3u;
    return sum;
}

static bool begins_with(const char *line, size_t length, const char *key)
{
    return length >= strlen(key) && memcmp(line, key, strlen(key)) == 0;
}

/* The line of `text` that begins with the key, with its end; length 0: there is none. */
static plan_text find_line(plan_text text, const char *key)
{
    for (size_t at = 0; at < text.length;) {
        const char *end = memchr(text.data + at, '\n', text.length - at);
        size_t length = end ? (size_t)(end - text.data) + 1 - at : text.length - at;
        if (begins_with(text.data + at, length, key))
            return (plan_text){text.data + at, length};
        at += length;
    }
    return (plan_text){0};
}

plan_text plan_text_seal(plan_text text, plan_text like)
{
    static const char *const keys[] = {"fingerprint ", "problem "};
    plan_text sealed = {0};
    FILE *out = open_memstream(&sealed.data, &sealed.length);
    fake_require(out);
    for (size_t at = 0; at < text.length;) {
        const char *line = text.data + at, *end = memchr(line, '\n', text.length - at);
        size_t length = end ? (size_t)(end - line) + 1 : text.length - at;
        plan_text put = {text.data + at, length};
        for (size_t k = 0; k < 2; k++)
            if (begins_with(line, length, keys[k]))
                put = find_line(like, keys[k]);
        fflush(out);
        if (begins_with(line, length, "end "))
            fprintf(out, "end %016" PRIx64 "\n", checksum(sealed.data, sealed.length));
        else
            fwrite(put.data, 1, put.length, out);
        at += length;
    }
    fclose(out);
    return sealed;
}

/* ---- The network -----------------------------------------------------------------------------*/

static remat_var record(plan_subject *s)
{
    small_net *net = &s->net;
    remat_var x = net_input(net), first = {0};
    for (int i = 0; i < 4; i++) {
        remat_segment_begin(net->tape, "layer");
        x = net_layer(net, x);
        x = fake_scale(net->tape, x, 1.25, 0.125);
        if (i == 1)
            x = fake_apply1(net->tape, &fake_noise, x);
        if (i == 0)
            first = x;
        remat_segment_end(net->tape);
    }
    x = fake_apply2(net->tape, &fake_multiply, x, first);
    x = net_effect(net, x);
    remat_var loss = net_loss(net, x);
    fake_count(net->tape, &fake_sink, x, &net->probes[net->n_probes++]); /* after the loss */
    fake_require(remat_tape_status(net->tape) == REMAT_OK);
    return loss;
}

/* Loss and gradients of one step; with retain, of its second backward pass. */
static void run(plan_subject *s, const remat_plan *plan, double *loss)
{
    remat_exec *exec = NULL;
    remat_exec_options o = s->options;
    remat_plan_summary summary;
    remat_exec_statistics statistics;
    o.poison = true;
    o.verify_replay = true;
    memset(s->net.gradients, 0, sizeof s->net.gradients);
    for (size_t i = 0; i < s->net.n_probes; i++)
        s->net.probes[i] = (fake_probe_state){0};
    fake_require(remat_exec_create_with_plan(s->net.tape, plan, &o, &exec) == REMAT_OK);
    fake_require(remat_exec_forward(exec) == REMAT_OK);
    *loss = remat_exec_loss(exec);
    if (!o.forward_only)
        fake_require(remat_exec_backward(exec) == REMAT_OK);
    if (o.retain) {
        memset(s->net.gradients, 0, sizeof s->net.gradients);
        fake_require(remat_exec_backward(exec) == REMAT_OK);
    }
    remat_plan_summarize(plan, &summary);
    remat_exec_get_statistics(exec, &statistics);
    fake_require(statistics.measured_peak_bytes <= summary.arena_bytes);
    remat_exec_destroy(exec);
}

bool plan_subject_agrees(plan_subject *s, const remat_plan *plan)
{
    double loss;
    run(s, plan, &loss);
    for (size_t i = s->net.n_probes - 2; i < s->net.n_probes; i++)
        if (s->net.probes[i].forwards != 1 || s->net.probes[i].replays != 0)
            return false;
    return loss == s->expected_loss &&
           memcmp(s->net.gradients, s->expected, sizeof s->expected) == 0;
}

void plan_subject_create(plan_subject *s, plan_subject_kind kind)
{
    remat_plan *plan = NULL;
    remat_plan_summary summary;
    memset(s, 0, sizeof *s);
    net_create(&s->net);
    s->loss = record(s);
    s->options.forward_only = kind == PLAN_SUBJECT_FORWARD_ONLY;
    s->options.retain = kind == PLAN_SUBJECT_RETAIN;
    s->options.strategy = REMAT_STRATEGY_KEEP_ALL;
    fake_require(remat_plan_create(s->net.tape, s->loss, &s->options, &plan) == REMAT_OK);
    run(s, plan, &s->expected_loss);
    memcpy(s->expected, s->net.gradients, sizeof s->expected);
    remat_plan_summarize(plan, &summary);
    remat_plan_destroy(plan);
    s->options.strategy = kind == PLAN_SUBJECT_SQRT ? REMAT_STRATEGY_SQRT : REMAT_STRATEGY_AUTO;
    s->options.budget_bytes = summary.arena_bytes;
    if (kind == PLAN_SUBJECT_TRAIN || kind == PLAN_SUBJECT_RETAIN) {
        remat_exec_options o = s->options;
        fake_require(remat_plan_min_budget(s->net.tape, s->loss, &o, &s->options.budget_bytes) ==
                     REMAT_OK);
    }
    if (remat_plan_create(s->net.tape, s->loss, &s->options, &s->plan) != REMAT_OK)
        fake_broken(remat_tape_message(s->net.tape), __FILE__, __LINE__);
    s->text = plan_text_of(s->plan);
}

void plan_subject_destroy(plan_subject *s)
{
    remat_plan_destroy(s->plan);
    plan_text_release(&s->text);
    net_destroy(&s->net);
}

remat_status plan_subject_load(const plan_subject *s, plan_text text, remat_plan **plan)
{
    return plan_text_load(s->net.tape, s->loss, &s->options, text, plan);
}
