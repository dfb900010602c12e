/* options.c - see options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/fail.h"
#include "common/numbers.h"

static const char help[] =
    "Usage: plan [OPTION]... FILE\n"
    "       plan [OPTION]... --network NAME\n"
    "Plans which activations of a training step to keep, drop and compute again within a budget\n"
    "of memory. FILE describes in JSON (see README.md beside the source) a chain of stages, any\n"
    "network as tasks that read and write values, or a number of equal steps; - is stdin.\n"
    "\n"
    "  --network NAME        a built-in network instead: mlp, transformer, unet or resnet\n"
    "  --layers N            its blocks; of unet its levels (64, 24, 4, 32)\n"
    "  --width N             its features (512; 64 for unet)\n"
    "  --batch N             samples (256; 8 for transformer, 4 for unet)\n"
    "  --sequence N          positions per sample (1; 512 for transformer); of unet at its\n"
    "                        coarsest level (64)\n"
    "\n"
    "  --budget SIZE         the most memory: 64MiB, 1.5GB, or 50% of what keep-all takes\n"
    "  --strategy NAME       auto, keep-all, segments, sqrt, blocks, greedy, or all to compare\n"
    "                        them (auto); chains and equal steps have one of their own\n"
    "  --effort NAME         fast, default or thorough (default)\n"
    "  --time-limit X        end searches after X seconds\n"
    "  --sweep               show what each amount of memory costs in time\n"
    "  --points N            of that curve, at most (32)\n"
    "\n"
    "  --schedule FILE       write what to do, action by action; - is stdout, without the table\n"
    "  --actions N           no more than N of them, for equal steps\n"
    "  --svg FILE            draw the memory over a step (of a network), or with --sweep the "
    "curve\n"
    "  --csv FILE            the same as numbers\n"
    "  --dot FILE            draw the network as a graph for Graphviz\n"
    "  --print-plan          print the plan of a network segment by segment\n"
    "  --help                this text\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 wrong usage.\n";

enum {
    NETWORK = 256,
    LAYERS,
    WIDTH,
    BATCH,
    SEQUENCE,
    BUDGET,
    STRATEGY,
    EFFORT,
    TIME_LIMIT,
    SWEEP,
    POINTS,
    SCHEDULE,
    ACTIONS,
    SVG,
    CSV,
    DOT,
    PRINT_PLAN,
    HELP
};

static const struct option long_options[] = {
    {"network", required_argument, NULL, NETWORK},
    {"layers", required_argument, NULL, LAYERS},
    {"width", required_argument, NULL, WIDTH},
    {"batch", required_argument, NULL, BATCH},
    {"sequence", required_argument, NULL, SEQUENCE},
    {"budget", required_argument, NULL, BUDGET},
    {"strategy", required_argument, NULL, STRATEGY},
    {"effort", required_argument, NULL, EFFORT},
    {"time-limit", required_argument, NULL, TIME_LIMIT},
    {"sweep", no_argument, NULL, SWEEP},
    {"points", required_argument, NULL, POINTS},
    {"schedule", required_argument, NULL, SCHEDULE},
    {"actions", required_argument, NULL, ACTIONS},
    {"svg", required_argument, NULL, SVG},
    {"csv", required_argument, NULL, CSV},
    {"dot", required_argument, NULL, DOT},
    {"print-plan", no_argument, NULL, PRINT_PLAN},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static bool parse_network(const char *text, network_kind *kind)
{
    for (int k = NETWORK_NONE + 1; k < NETWORK_KINDS; k++) {
        if (strcmp(text, network_name((network_kind)k)) == 0) {
            *kind = (network_kind)k;
            return true;
        }
    }
    return fail("--network is mlp, transformer, unet or resnet, not '%s'", text);
}

static bool parse_effort(const char *text, remat_effort *effort)
{
    static const char *const names[] = {[REMAT_EFFORT_DEFAULT] = "default",
                                        [REMAT_EFFORT_FAST] = "fast",
                                        [REMAT_EFFORT_THOROUGH] = "thorough"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(text, names[k]) == 0) {
            *effort = (remat_effort)k;
            return true;
        }
    }
    return fail("--effort is fast, default or thorough, not '%s'", text);
}

static bool parse_time_limit(const char *text, double *seconds)
{
    return parse_real("time-limit", text, seconds) &&
           ((*seconds > 0 && *seconds <= 1e6) ||
            fail("--time-limit must be above 0 and at most 1e6 seconds"));
}

static bool parse_any_strategy(const char *text, options *o)
{
    o->every_strategy = strcmp(text, "all") == 0;
    return o->every_strategy || parse_strategy(text, &o->strategy);
}

static bool parse_number(int option, const char *text, options *o)
{
    switch (option) {
    case LAYERS:
        return parse_size("layers", text, 100000, &o->shape.layers);
    case WIDTH:
        return parse_size("width", text, 1000000, &o->shape.width);
    case BATCH:
        return parse_size("batch", text, 1000000, &o->shape.batch);
    case SEQUENCE:
        return parse_size("sequence", text, 1000000, &o->shape.sequence);
    case POINTS:
        return parse_size("points", text, 10000, &o->points);
    case ACTIONS:
        return parse_whole("actions", text, 1, UINT64_MAX, &o->actions);
    case TIME_LIMIT:
        return parse_time_limit(text, &o->time_limit);
    default:
        return false; /* getopt_long has said what is wrong */
    }
}

static bool parse_one(int option, const char *text, options *o)
{
    switch (option) {
    case NETWORK:
        return parse_network(text, &o->network);
    case BUDGET:
        return budget_parse("budget", text, &o->budget);
    case STRATEGY:
        return parse_any_strategy(text, o);
    case EFFORT:
        return parse_effort(text, &o->effort);
    case SWEEP:
        return o->sweep = true;
    case SCHEDULE:
        o->schedule = text;
        return true;
    case SVG:
        o->svg = text;
        return true;
    case CSV:
        o->csv = text;
        return true;
    case DOT:
        o->dot = text;
        return true;
    case PRINT_PLAN:
        return o->print_plan = true;
    default:
        return parse_number(option, text, o);
    }
}

static bool fit_together(options *o)
{
    const network_shape *s = &o->shape;
    if (!o->input && o->network == NETWORK_NONE)
        return fail("what is to be planned? Name a FILE or a --network");
    if (o->input && o->network != NETWORK_NONE)
        return fail("there is a FILE and a --network: leave one out");
    if (o->input && (s->layers || s->width || s->batch || s->sequence))
        return fail("--layers, --width, --batch and --sequence go with --network");
    if (o->input && (o->dot || o->print_plan))
        return fail("--dot and --print-plan go with --network");
    if (o->input && (o->svg || o->csv) && !o->sweep)
        return fail("--svg and --csv of a FILE show the curve: add --sweep");
    if (o->sweep && budget_is_given(&o->budget))
        return fail("--sweep shows every budget: leave --budget out");
    if (o->sweep && (o->schedule || o->dot || o->print_plan || o->every_strategy))
        return fail("--sweep makes no plan: leave --schedule, --dot, --print-plan and "
                    "--strategy all out");
    if (o->network == NETWORK_NONE)
        return true;
    if (s->layers > network_most_layers(o->network))
        return fail("--layers of %s: at most %zu", network_name(o->network),
                    network_most_layers(o->network));
    network_complete(o->network, &o->shape);
    return true;
}

options_result options_parse(int argc, char **argv, options *o)
{
    *o = (options){.points = 32};
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
        o->input = argv[optind++];
    if (ok && optind < argc)
        ok = fail("unexpected argument '%s'", argv[optind]);
    if (ok && fit_together(o))
        return OPTIONS_RUN;
    fail("try --help");
    return OPTIONS_WRONG;
}
