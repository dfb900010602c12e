/* op_runner.h - runs checks on every row of the conformance table, for each dtype and each
 * instruction set of this processor, as cmocka tests with names. */
#ifndef OP_RUNNER_H
#define OP_RUNNER_H

#include "support/op_cases.h"
#include "support/op_levels.h"

/* What *state of a check points to. */
typedef struct op_point {
    const op_case *row;
    remat_dtype dtype;
} op_point;

typedef struct op_check {
    const char *name;
    void (*run)(void **state);
    bool f64_only;
    bool best_level; /* only with the instruction set that the library would choose */
} op_check;

/* Each check on each row that is selected (NULL: all). Returns the number of failures. */
int op_run_checks(const char *group, const op_check *checks, size_t n_checks,
                  bool (*select)(const op_case *row));

#endif
