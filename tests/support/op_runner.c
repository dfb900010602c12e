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

/* What op_run_checks() was asked for. */
typedef struct request {
    const char *group;
    const op_check *checks;
    size_t n_checks;
    bool (*select)(const op_case *row);
} request;

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

static int run_level(test_list *list, const request *r, remat_simd_level level, bool best)
{
    char name[name_bytes];
    list->count = 0;
    for (size_t c = 0; c < r->n_checks; c++) {
        if (best || !r->checks[c].best_level)
            append_rows(list, &r->checks[c], r->select);
    }
    if (list->count == 0)
        return 0;
    snprintf(name, sizeof name, "%s (%s)", r->group, op_level_name(level));
    op_use_level(level);
    const int failures = _cmocka_run_group_tests(name, list->tests, list->count, NULL, NULL);
    op_use_best_level();
    return failures;
}

static int run_levels(test_list *list, const request *r)
{
    int failures = 0;
    bool best = true;
    for (int level = REMAT_SIMD_LEVEL_COUNT - 1; level >= 0; level--) {
        if (!op_has_level((remat_simd_level)level))
            continue;
        failures += run_level(list, r, (remat_simd_level)level, best);
        best = false;
    }
    return failures;
}

int op_run_checks(const char *group, const op_check *checks, size_t n_checks,
                  bool (*select)(const op_case *row))
{
    const request asked = {group, checks, n_checks, select};
    const size_t most = 2 * n_checks * op_case_count();
    test_list list = {
        .tests = malloc(most * sizeof *list.tests),
        .points = malloc(most * sizeof *list.points),
        .names = malloc(most * sizeof *list.names),
    };
    const bool allocated = list.tests != NULL && list.points != NULL && list.names != NULL;
    const int failures = allocated ? run_levels(&list, &asked) : 1;
    free(list.tests);
    free(list.points);
    free(list.names);
    return failures;
}
