/* options.c - see options.h. */
#include "options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/fail.h"
#include "common/numbers.h"

#define SMALL_SET 10000 /* images */

static const char help[] =
    "Usage: mlp [OPTION]...\n"
    "Trains a multilayer perceptron on Fashion-MNIST (or any folder of IDX files), recomputing\n"
    "activations in the backward pass instead of keeping them.\n"
    "\n"
    "  --data DIR            folder with train-images-idx3-ubyte.gz and its three companions\n"
    "  --depth N             hidden layers (3)\n"
    "  --width N             units of a hidden layer (256)\n"
    "  --batch N             images per step (128; 32 for sets of under 10000 images)\n"
    "  --epochs N            passes over the training set (10; 30 for small sets)\n"
    "  --steps N             stop after N steps\n"
    "  --learning-rate X     of the first step; falls to 0 in a straight line (0.05 for sgd,\n"
    "                        0.02 for momentum, 0.001 for adam and adamw)\n"
    "  --optimizer NAME      sgd, momentum, adam or adamw (adam)\n"
    "  --dropout X           rate after each hidden layer, 0 <= X < 1 (0)\n"
    "  --budget SIZE         the most memory for activations: 64MiB, 1.5GB, or 50% of what\n"
    "                        keeping all of them takes (none)\n"
    "  --strategy NAME       which activations to recompute: auto, keep-all, segments, sqrt,\n"
    "                        blocks or greedy (auto: the cheapest that fits the budget; without\n"
    "                        a budget the segments that --segment marks)\n"
    "  --segment N           hidden layers per segment (about the square root of the depth)\n"
    "  --seed N              of weights, order and dropout (1)\n"
    "  --threads N           of the matrix products (1)\n"
    "  --compare             train under keep-all and under --strategy, side by side; the exit\n"
    "                        status is 1 if the losses differ in a bit\n"
    "  --print-plan          print the plan before training\n"
    "  --plan-svg FILE       draw the plan: memory over a step; with --sweep the curve\n"
    "  --sweep               print what each amount of memory costs in time, and do not train\n"
    "  --help                this text\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 wrong usage.\n";

enum {
    DATA = 256,
    DEPTH,
    WIDTH,
    BATCH,
    EPOCHS,
    STEPS,
    RATE,
    OPTIMIZER,
    DROPOUT,
    BUDGET,
    STRATEGY,
    SEGMENT,
    SEED,
    THREADS,
    COMPARE,
    PRINT_PLAN,
    PLAN_SVG,
    SWEEP,
    HELP
};

static const struct option long_options[] = {
    {"data", required_argument, NULL, DATA},
    {"depth", required_argument, NULL, DEPTH},
    {"width", required_argument, NULL, WIDTH},
    {"batch", required_argument, NULL, BATCH},
    {"epochs", required_argument, NULL, EPOCHS},
    {"steps", required_argument, NULL, STEPS},
    {"learning-rate", required_argument, NULL, RATE},
    {"optimizer", required_argument, NULL, OPTIMIZER},
    {"dropout", required_argument, NULL, DROPOUT},
    {"budget", required_argument, NULL, BUDGET},
    {"strategy", required_argument, NULL, STRATEGY},
    {"segment", required_argument, NULL, SEGMENT},
    {"seed", required_argument, NULL, SEED},
    {"threads", required_argument, NULL, THREADS},
    {"compare", no_argument, NULL, COMPARE},
    {"print-plan", no_argument, NULL, PRINT_PLAN},
    {"plan-svg", required_argument, NULL, PLAN_SVG},
    {"sweep", no_argument, NULL, SWEEP},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static bool parse_rate(const char *text, double *rate)
{
    return parse_real("learning-rate", text, rate) &&
           ((*rate > 0 && *rate <= 1e6) || fail("--learning-rate must be above 0 and at most 1e6"));
}

static bool parse_dropout(const char *text, double *dropout)
{
    return parse_real("dropout", text, dropout) &&
           ((*dropout >= 0 && *dropout < 1) || fail("--dropout must be at least 0 and below 1"));
}

static bool parse_optimizer(const char *text, optimizer_kind *kind)
{
    for (int k = 0; k < OPTIMIZER_KINDS; k++) {
        if (strcmp(text, optimizer_name((optimizer_kind)k)) == 0) {
            *kind = (optimizer_kind)k;
            return true;
        }
    }
    return fail("--optimizer is sgd, momentum, adam or adamw, not '%s'", text);
}

static bool parse_threads(const char *text, int *threads)
{
    size_t parsed;
    if (!parse_size("threads", text, 1024, &parsed))
        return false;
    *threads = (int)parsed;
    return true;
}

static bool parse_one(int option, const char *text, options *o)
{
    switch (option) {
    case DATA:
        o->data = text;
        return true;
    case DEPTH:
        return parse_size("depth", text, 1000000, &o->depth);
    case WIDTH:
        return parse_size("width", text, 65536, &o->width);
    case BATCH:
        return parse_size("batch", text, 1000000, &o->batch);
    case EPOCHS:
        return parse_size("epochs", text, 1000000, &o->epochs);
    case STEPS:
        return parse_size("steps", text, 1000000000, &o->steps);
    case RATE:
        return parse_rate(text, &o->learning_rate);
    case OPTIMIZER:
        return parse_optimizer(text, &o->optimizer);
    case DROPOUT:
        return parse_dropout(text, &o->dropout);
    case BUDGET:
        return budget_parse("budget", text, &o->budget);
    case STRATEGY:
        return parse_strategy(text, &o->strategy);
    case SEGMENT:
        return parse_size("segment", text, 1000000, &o->segment);
    case SEED:
        return parse_whole("seed", text, 0, UINT64_MAX, &o->seed);
    case THREADS:
        return parse_threads(text, &o->threads);
    case COMPARE:
        o->compare = true;
        return true;
    case PRINT_PLAN:
        o->print_plan = true;
        return true;
    case PLAN_SVG:
        o->plan_svg = text;
        return true;
    case SWEEP:
        o->sweep = true;
        return true;
    default:
        return false; /* getopt_long has said what is wrong */
    }
}

static bool fit_together(const options *o)
{
    bool marks = o->strategy == REMAT_STRATEGY_AUTO || o->strategy == REMAT_STRATEGY_SEGMENTS;
    if (o->segment > 0 && !marks)
        return fail("--segment goes with --strategy segments or auto only");
    if (o->compare && o->strategy == REMAT_STRATEGY_KEEP_ALL)
        return fail("--compare compares with keep-all: choose another --strategy");
    if (o->sweep && budget_is_given(&o->budget))
        return fail("--sweep shows every budget: leave --budget out");
    if (o->sweep && (o->compare || o->print_plan))
        return fail("--sweep neither trains nor plans: leave --compare and --print-plan out");
    return true;
}

options_result options_parse(int argc, char **argv, options *o)
{
    *o = (options){.depth = 3,
                   .width = 256,
                   .optimizer = ADAM,
                   .strategy = REMAT_STRATEGY_AUTO,
                   .seed = 1,
                   .threads = 1};
    bool ok = true;
    int option;
    while (ok && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return OPTIONS_HELP_SHOWN;
        }
        ok = parse_one(option, optarg, o);
    }
    if (ok && optind < argc)
        ok = fail("unexpected argument '%s'", argv[optind]);
    if (ok && fit_together(o))
        return OPTIONS_RUN;
    fail("try --help");
    return OPTIONS_WRONG;
}

bool options_complete(options *o, size_t training_images)
{
    const bool is_small = training_images < SMALL_SET;
    if (o->batch == 0)
        o->batch = is_small ? 32 : 128;
    if (o->epochs == 0)
        o->epochs = is_small ? 30 : 10;
    if (o->learning_rate == 0)
        o->learning_rate = optimizer_default_rate(o->optimizer);
    if (o->segment == 0)
        o->segment = (size_t)lround(sqrt((double)o->depth));
    size_t steps_per_epoch = training_images / o->batch;
    if (steps_per_epoch == 0)
        return fail("a batch of %zu needs more than the %zu training images: lower --batch",
                    o->batch, training_images);
    size_t all = o->epochs * steps_per_epoch;
    o->steps = o->steps > 0 && o->steps < all ? o->steps : all;
    return true;
}
