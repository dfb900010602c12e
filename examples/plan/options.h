/* options.h - the command line. */
#ifndef PLAN_OPTIONS_H
#define PLAN_OPTIONS_H

#include "common/bytes.h"
#include "networks.h"

typedef struct options {
    const char *input; /* a JSON file, "-" for stdin; NULL: a built-in network */
    network_kind network;
    network_shape shape;
    size_budget budget;
    remat_strategy strategy;
    bool every_strategy;
    remat_effort effort;
    double time_limit; /* seconds; 0: none */
    bool sweep, print_plan;
    size_t points;                          /* of the curve, at most */
    const char *schedule, *svg, *csv, *dot; /* files; NULL: none */
    uint64_t actions;                       /* of the schedule of equal steps, at most */
} options;

typedef enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG } options_result;

/* OPTIONS_WRONG: the reason is on stderr. */
options_result options_parse(int argc, char **argv, options *o);

#endif
