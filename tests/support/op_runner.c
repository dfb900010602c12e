/* op_runner.c - the product of checks, rows and dtypes. */
#include "support/op_runner.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { name_bytes = 96 };

typedef struct test_list {
    struct CMUnitTest *tests;
    op_point *points;
    char (*names)[name_bytes];
    size_t count;
} test_list;

static void append(test_list *list, const op_check *check, const op_case *row, remat_dtype dtype)
{
    const size_t i = list->count++;
    list->points[i] = (op_point){row, dtype};
    snprintf(list->names[i], name_bytes, "%s: %s %s", check->name, row->name,
             remat_dtype_name(dtype));
    list->tests[i] = (struct CMUnitTest){
        .name = list->names[i], .test_func = check->run, .initial_state = &list->points[i]};
}

static void append_rows(test_list *list, const op_check *check, bool (*select)(const op_case *row))
{
    for (size_t r = 0; r < op_case_count(); r++) {
        const op_case *row = op_case_at(r);
        if (select != NULL && !select(row))
            continue;
        append(list, check, row, REMAT_F64);
        if (!check->f64_only)
            append(list, check, row, REMAT_F32);
    }
}

int op_run_checks(const char *group, const op_check *checks, size_t n_checks,
                  bool (*select)(const op_case *row))
{
    const size_t most = 2 * n_checks * op_case_count();
    test_list list = {
        .tests = malloc(most * sizeof *list.tests),
        .points = malloc(most * sizeof *list.points),
        .names = malloc(most * sizeof *list.names),
    };
    int failures = 1;
    if (list.tests != NULL && list.points != NULL && list.names != NULL) {
        for (size_t c = 0; c < n_checks; c++)
            append_rows(&list, &checks[c], select);
        failures = _cmocka_run_group_tests(group, list.tests, list.count, NULL, NULL);
    }
    free(list.tests);
    free(list.points);
    free(list.names);
    return failures;
}
