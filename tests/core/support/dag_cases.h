/* dag_cases.h - planning problems without a tape: golden DAGs with known optima, and random ones.
 */
#ifndef TESTS_CORE_DAG_CASES_H
#define TESTS_CORE_DAG_CASES_H

#include <stdio.h>

#include "plan/problem.h"

enum { DAG_CASE_BUDGETS = 16 };

typedef struct dag_budget {
    size_t bytes;
    double staged, any; /* optima; -1: infeasible, -2: unknown */
} dag_budget;

typedef struct dag_case {
    char name[64];
    remat_problem problem;
    double least_cost; /* each task once */
    size_t n_budgets;
    dag_budget budgets[DAG_CASE_BUDGETS];
} dag_case;

/* The next DAG of the file; false at its end. Fails the test if the file is damaged. Release the
 * problem. */
bool dag_case_read(FILE *file, dag_case *c);

typedef struct dag_shape {
    uint32_t n_statements;
    bool odd;    /* several results, reuses, pinned values, tasks that must not be replayed */
    bool retain; /* as in a problem */
    bool marks;  /* some values have to be made again */
} dag_shape;

/* A network at random and its backward pass, with accumulated gradients. Fails the test if memory
 * is short. */
void dag_random(const dag_shape *shape, uint64_t seed, remat_problem *problem);

#endif
