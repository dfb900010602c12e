/* Binomial and mixed checkpointing: closed forms against golden optima, orders against a machine
 * that follows them action by action. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/support/counting_allocator.h"
#include <remat/plan.h>

__extension__ typedef unsigned __int128 wide; /* n = 10^12 with one slot takes 5 10^23 steps */

enum { GOLDEN_ROWS = 124, SLOTS = 1024 };

static wide extra_forward(uint64_t n, uint64_t s)
{
    uint64_t low, high;
    assert_int_equal(remat_revolve_extra_forward(n, s, &low, &high), REMAT_OK);
    return (wide)high << 64 | low;
}

/* ---- A machine that follows actions ----------------------------------------------------------*/

typedef struct machine {
    uint64_t n, adjoint; /* steps whose adjoint is still to come: 0 .. adjoint-1 */
    uint64_t state;      /* the working state; NO_STATE: spent */
    uint64_t plain, taped;
    struct {
        char kind; /* 's': state, 't': tape, 0: empty */
        uint64_t step;
    } slots[SLOTS];
    uint64_t n_slots;
} machine;

#define NO_STATE UINT64_MAX

static void occupy(machine *m, uint32_t slot, char kind, uint64_t step)
{
    assert_true(slot < m->n_slots);
    assert_int_equal(m->slots[slot].kind, 0);
    m->slots[slot].kind = kind;
    m->slots[slot].step = step;
}

static void expect_slot(const machine *m, uint32_t slot, char kind, uint64_t step)
{
    assert_true(slot < m->n_slots);
    assert_int_equal(m->slots[slot].kind, kind);
    assert_true(m->slots[slot].step == step);
}

static void follow(machine *m, const remat_revolve_action *a)
{
    switch (a->kind) {
    case REMAT_REVOLVE_ADVANCE:
        assert_true(m->state == a->step && a->step < a->end && a->end < m->n);
        m->state = a->end;
        m->plain += a->end - a->step;
        return;
    case REMAT_REVOLVE_STORE:
        assert_true(m->state == a->step);
        occupy(m, a->slot, 's', a->step);
        return;
    case REMAT_REVOLVE_RESTORE:
        expect_slot(m, a->slot, 's', a->step);
        m->state = a->step;
        return;
    case REMAT_REVOLVE_FREE:
        expect_slot(m, a->slot, 's', a->step);
        m->slots[a->slot].kind = 0;
        return;
    case REMAT_REVOLVE_ADJOINT:
        assert_true(m->state == a->step && a->step + 1 == m->adjoint);
        m->adjoint--;
        m->taped++;
        m->state = NO_STATE;
        return;
    case REMAT_REVOLVE_TAPE:
        assert_true(m->state == a->step && a->end == a->step + 1);
        occupy(m, a->slot, 't', a->step);
        m->state = a->end;
        m->taped++;
        return;
    case REMAT_REVOLVE_ADJOINT_TAPED:
        assert_true(a->step + 1 == m->adjoint);
        expect_slot(m, a->slot, 't', a->step);
        m->slots[a->slot].kind = 0;
        m->adjoint--;
        return;
    }
    fail();
}

static machine machine_make(uint64_t n, uint64_t s)
{
    return (machine){.n = n, .adjoint = n, .n_slots = s < SLOTS ? s : SLOTS};
}

static void expect_finished(const machine *m)
{
    assert_true(m->adjoint == 0 && m->taped == m->n);
    for (size_t i = 0; i < SLOTS; i++)
        assert_int_equal(m->slots[i].kind, 0);
}

/* By an order of revolve for s slots; returns the number of actions. */
static uint64_t run_revolve(uint64_t n, uint64_t s)
{
    remat_allocator allocator = remat_allocator_default();
    remat_revolve *revolve;
    remat_revolve_action action;
    machine m = machine_make(n, s);
    uint64_t n_actions = 0;
    assert_int_equal(remat_revolve_create(&allocator, n, s, &revolve), REMAT_OK);
    for (; remat_revolve_next(revolve, &action); n_actions++)
        follow(&m, &action);
    assert_false(remat_revolve_next(revolve, &action));
    remat_revolve_destroy(revolve);
    expect_finished(&m);
    assert_true(m.plain == extra_forward(n, s));
    return n_actions;
}

static uint64_t run_mixed(uint64_t n, uint64_t s)
{
    remat_allocator allocator = remat_allocator_default();
    remat_mixed *mixed;
    remat_revolve_action action;
    machine m = machine_make(n, s);
    assert_int_equal(remat_mixed_create(&allocator, n, s, &mixed), REMAT_OK);
    uint64_t total = remat_mixed_total_forward(mixed);
    while (remat_mixed_next(mixed, &action))
        follow(&m, &action);
    remat_mixed_destroy(mixed);
    expect_finished(&m);
    assert_true(m.plain + m.taped == total);
    return total;
}

/* ---- Tests -----------------------------------------------------------------------------------*/

static wide parse(const char *word)
{
    wide value = 0;
    for (; *word; word++) {
        assert_in_range(*word, '0', '9');
        value = 10 * value + (wide)(unsigned)(*word - '0');
    }
    return value;
}

static void check_row(const char words[6][64])
{
    uint64_t n = (uint64_t)parse(words[0]), s = (uint64_t)parse(words[1]);
    wide extra = parse(words[3]);
    assert_true(remat_revolve_repetitions(n, s) == parse(words[2]));
    assert_true(extra_forward(n, s) == extra);
    assert_true(extra + n == parse(words[4]));
    if (words[5][0] != '-')
        assert_true(run_mixed(n, s) == parse(words[5]));
    if (extra + n <= 100000)
        (void)run_revolve(n, s);
}

static void test_golden(void **state)
{
    (void)state;
    FILE *file = fopen(REMAT_TEST_DATA "/revolve_golden.txt", "r");
    assert_non_null(file);
    char line[512], w[6][64];
    int n_rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        assert_int_equal(
            sscanf(line, "%63s %63s %63s %63s %63s %63s", w[0], w[1], w[2], w[3], w[4], w[5]), 6);
        check_row((const char(*)[64])w);
        n_rows++;
    }
    (void)fclose(file);
    assert_int_equal(n_rows, GOLDEN_ROWS);
}

/* Every small number of steps and slots works or says why not. */
static void test_grid(void **state)
{
    (void)state;
    remat_allocator allocator = remat_allocator_default();
    for (uint64_t n = 0; n <= 64; n++)
        for (uint64_t s = 0; s <= 64; s++) {
            if (n <= 1 || s > 0) {
                (void)run_revolve(n, s);
                assert_true(run_mixed(n, s) <= n + extra_forward(n, s));
                continue;
            }
            uint64_t extra;
            remat_revolve *revolve;
            remat_mixed *mixed;
            assert_int_equal(remat_revolve_extra_forward(n, s, &extra, NULL),
                             REMAT_INFEASIBLE_BUDGET);
            assert_int_equal(remat_revolve_create(&allocator, n, s, &revolve),
                             REMAT_INFEASIBLE_BUDGET);
            assert_null(revolve);
            assert_int_equal(remat_mixed_create(&allocator, n, s, &mixed), REMAT_INFEASIBLE_BUDGET);
            assert_null(mixed);
        }
}

/* Constant work per action: at most five for each step. */
static void test_long(void **state)
{
    (void)state;
    static const uint64_t cases[][2] = {
        {1000000, 50}, {1000000, 7}, {100000, 2}, {3000, 1}, {1000000, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(run_revolve(cases[i][0], cases[i][1]) <= 5 * cases[i][0]);
}

/* The steps by how often they are advanced: all of them, and the closed form's sum. */
static void test_steps_advanced(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 300; n++)
        for (uint64_t s = 1; s <= 12; s++) {
            uint64_t steps = 0, runs = 0, r = remat_revolve_repetitions(n, s);
            for (uint64_t i = 0; i <= r + 1; i++) {
                uint64_t count = remat_revolve_steps_advanced(n, s, i);
                steps += count;
                runs += i * count;
            }
            assert_int_equal(steps, n);
            assert_true(runs == extra_forward(n, s));
        }
}

static void test_extremes(void **state)
{
    (void)state;
    uint64_t extra, high, most = UINT64_MAX;
    assert_true(remat_revolve_beta(64, 64) == most);
    assert_true(remat_revolve_beta(most, most) == most);
    assert_true(remat_revolve_beta(0, most) == 1 && remat_revolve_beta(most, 0) == 1);
    assert_true(remat_revolve_beta(1, most - 1) == most);
    assert_true(remat_revolve_beta(33, 33) == 7219428434016265740u); /* binomial(66, 33) */
    assert_true(remat_revolve_repetitions(5, 0) == most);
    assert_int_equal(remat_revolve_extra_forward(REMAT_REVOLVE_MAX_STEPS, 1, &extra, NULL),
                     REMAT_OVERFLOW);
    assert_true(extra_forward(REMAT_REVOLVE_MAX_STEPS, 1) == ((wide)1 << 79) - ((wide)1 << 39));
    assert_true(extra_forward(most, 1) == (wide)most * (most - 1) / 2);
    assert_int_equal(remat_revolve_extra_forward(REMAT_REVOLVE_MAX_STEPS, 2, &extra, NULL),
                     REMAT_OK);
    assert_int_equal(remat_revolve_extra_forward(most, 3, &extra, &high), REMAT_OVERFLOW);
    assert_true(extra_forward(most, most) == most - 1);
    remat_allocator allocator = remat_allocator_default();
    remat_revolve *revolve;
    remat_mixed *mixed;
    assert_int_equal(remat_revolve_create(&allocator, REMAT_REVOLVE_MAX_STEPS + 1, 9, &revolve),
                     REMAT_INVALID_ARGUMENT);
    assert_int_equal(remat_mixed_create(&allocator, REMAT_MIXED_MAX_STEPS + 1, 9, &mixed),
                     REMAT_INVALID_ARGUMENT);
    remat_revolve_destroy(NULL);
    remat_mixed_destroy(NULL);
}

/* The longest chains start at once, with any number of slots. */
static void test_first_actions(void **state)
{
    (void)state;
    remat_allocator allocator = remat_allocator_default();
    static const uint64_t slots[] = {1, 2, 3, 10, 50, 1000, UINT64_MAX};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        remat_revolve *revolve;
        remat_revolve_action action;
        machine m = machine_make(REMAT_REVOLVE_MAX_STEPS, slots[i]);
        assert_int_equal(
            remat_revolve_create(&allocator, REMAT_REVOLVE_MAX_STEPS, slots[i], &revolve),
            REMAT_OK);
        for (int k = 0; k < 2000; k++) {
            assert_true(remat_revolve_next(revolve, &action));
            follow(&m, &action);
        }
        remat_revolve_destroy(revolve);
    }
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at <= 3; fail_at++) {
        counting_allocator counting = {.fail_at = fail_at};
        remat_allocator allocator = counting_allocator_make(&counting);
        remat_revolve *revolve;
        remat_mixed *mixed;
        remat_status status = remat_revolve_create(&allocator, 100, 5, &revolve);
        assert_int_equal(status, fail_at <= 2 ? REMAT_OUT_OF_MEMORY : REMAT_OK);
        remat_revolve_destroy(revolve);
        counting.calls = 0;
        assert_int_equal(remat_mixed_create(&allocator, 100, 5, &mixed), REMAT_OUT_OF_MEMORY);
        assert_null(mixed);
        assert_int_equal(counting.live_blocks, 0);
        assert_int_equal(counting.wrong_sizes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_grid),
        cmocka_unit_test(test_long),           cmocka_unit_test(test_steps_advanced),
        cmocka_unit_test(test_extremes),       cmocka_unit_test(test_first_actions),
        cmocka_unit_test(test_memory_runs_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
