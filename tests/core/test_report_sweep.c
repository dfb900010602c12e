/* test_report_sweep.c - the memory/time curve as a table and as a picture. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <remat/remat.h>

#include "core/support/markup.h"

static const remat_plan_point curve[] = {{1000, 3.0, 1.0, 7, REMAT_STRATEGY_BLOCKS},
                                         {1500, 0.5, 0.25, 2, REMAT_STRATEGY_SQRT},
                                         {3000, 0.0, 0.0, 0, REMAT_STRATEGY_KEEP_ALL}};

static void sweeps_show_their_points(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_int_equal(remat_sweep_write_csv(curve, 3, 4.0, file), REMAT_OK);
    char *csv = file_text(file);
    assert_string_equal(csv, "arena_bytes,extra_seconds,extra_percent,bound_seconds,bound_percent,"
                             "replays,strategy\n1000,3,75,1,25,7,blocks\n"
                             "1500,0.5,12.5,0.25,6.25,2,sqrt\n3000,0,0,0,0,0,keep-all\n");
    file = tmpfile();
    assert_int_equal(remat_sweep_write_svg(curve, 3, 4.0, file), REMAT_OK);
    char *svg = file_text(file);
    assert_true(markup_is_xml(svg));
    assert_int_equal(markup_count(svg, "<title>"), 3);
    /* x: 760 .. 9350 for 0 .. 3100 bytes; y: 3800 .. 700 for 0 .. 81 %. */
    assert_int_equal(markup_count(svg, "d=\"M3531 930H4916V3322H9073V3800H9350\""), 1);
    /* The bound at 1500 bytes holds below them, that at 1000 bytes not above them. */
    assert_int_equal(markup_count(svg, "d=\"M3531 3561H4916V3800H9073V3800H9350\""), 1);
    free(csv);
    free(svg);
}

static remat_status draw_sweep(const remat_plan_point *points, size_t n, double step_cost)
{
    FILE *file = tmpfile();
    remat_status status = remat_sweep_write_svg(points, n, step_cost, file);
    assert_int_equal(remat_sweep_write_csv(points, n, step_cost, file), status);
    fclose(file);
    return status;
}

static void sweeps_refuse_what_is_no_curve(void **state)
{
    (void)state;
    remat_plan_point points[3];
    assert_int_equal(draw_sweep(NULL, 1, 1.0), REMAT_INVALID_ARGUMENT);
    assert_int_equal(draw_sweep(curve, 0, 1.0), REMAT_INVALID_ARGUMENT);
    assert_int_equal(draw_sweep(curve, 3, NAN), REMAT_INVALID_ARGUMENT);
    assert_int_equal(draw_sweep(curve, 3, -1.0), REMAT_INVALID_ARGUMENT);
    memcpy(points, curve, sizeof points);
    points[1].arena_bytes = 1000;
    assert_int_equal(draw_sweep(points, 3, 1.0), REMAT_INVALID_ARGUMENT);
    memcpy(points, curve, sizeof points);
    points[1].bound = INFINITY;
    assert_int_equal(draw_sweep(points, 3, 1.0), REMAT_INVALID_ARGUMENT);
    assert_int_equal(draw_sweep(curve, 1, 1.0), REMAT_OK);
    assert_int_equal(draw_sweep(curve, 3, 0.0), REMAT_OK);    /* costs unknown: all is 0 % */
    assert_int_equal(draw_sweep(curve, 3, 1e-300), REMAT_OK); /* far too steep to show */
}

static void write_errors_are_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(i ? remat_sweep_write_svg(curve, 3, 1.0, full)
                           : remat_sweep_write_csv(curve, 3, 1.0, full),
                         REMAT_INVALID_ARGUMENT);
        fclose(full);
    }
    assert_int_equal(remat_sweep_write_svg(curve, 3, 1.0, NULL), REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_sweep_write_csv(curve, 3, 1.0, NULL), REMAT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_show_their_points),
        cmocka_unit_test(sweeps_refuse_what_is_no_curve),
        cmocka_unit_test(write_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
