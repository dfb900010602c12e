/* chain_cases.h - chains for tests of the chain solver: golden ones and random ones. */
#ifndef TESTS_CORE_CHAIN_CASES_H
#define TESTS_CORE_CHAIN_CASES_H

#include <stdio.h>

#include "plan/chain.h"

enum {
    CHAIN_CASE_STAGES = 64,
    CHAIN_CASE_OPTIONS = 4, /* per stage */
    CHAIN_CASE_CURVE = 256,
    CHAIN_CASE_BUDGETS = 16
};

/* A chain and its memory. */
typedef struct chain_case {
    remat_chain chain;
    remat_chain_stage stages[CHAIN_CASE_STAGES];
    remat_chain_option options[CHAIN_CASE_STAGES][CHAIN_CASE_OPTIONS];
    size_t activation_bytes[CHAIN_CASE_STAGES + 1], gradient_bytes[CHAIN_CASE_STAGES + 1];
} chain_case;

typedef struct chain_golden_budget {
    size_t bytes;
    double persistent, holes; /* INFINITY: infeasible */
    double any;               /* NAN: not computed */
} chain_golden_budget;

typedef struct chain_golden {
    char name[64];
    chain_case c;
    size_t min_persistent, min_no_replay, min_holes;
    size_t n_curve, n_budgets;
    remat_chain_breakpoint curve[CHAIN_CASE_CURVE];
    chain_golden_budget budgets[CHAIN_CASE_BUDGETS];
} chain_golden;

/* Points the chain to its memory; stage i gets options[i] with n_options options. */
void chain_case_link(chain_case *c, uint32_t n_stages, uint32_t n_options);

/* Small integers, ties and zeros included; some chains repeat stages, or nearly. */
void chain_case_random(chain_case *c, uint64_t *random, uint32_t n_stages, uint32_t n_options);

/* The next chain of chain_golden.txt; false at its end. Fails the test if the file is damaged. */
bool chain_golden_read(FILE *file, chain_golden *golden);

#endif
