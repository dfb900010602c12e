/* test_simulate.c - the judge of schedules against a naive one, on the problems of random tapes:
 * valid schedules, and the same with something broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/naive_check.h"
#include "core/support/subject.h"

/* Both judges agree. */
static bool expect_agreement(subject *s, const remat_problem *p, const remat_actions *actions)
{
    remat_simulation r;
    expect(s, remat_schedule_simulate(p, actions, &r));
    naive_verdict v = naive_check(p, actions);
    expect(s, v.valid == (r.fault == NULL));
    if (!v.valid) {
        expect(s, r.at == v.fault_at);
        return false;
    }
    expect(s, r.peak_bytes == v.peak_bytes && r.peak_at == v.peak_at);
    expect(s, r.forward_runs == v.forward_runs && r.replays == v.replays);
    expect(s, r.backward_runs == v.backward_runs);
    expect(s, r.cost == v.cost && r.replay_cost == v.replay_cost);
    return true;
}

/* Breaks a copy of a schedule in one place, at random. */
static void corrupt(subject *s, const remat_problem *p, remat_actions *a)
{
    size_t n = a->count, i = test_random_below(&s->state, n);
    size_t j = test_random_below(&s->state, n);
    remat_action kept = a->data[i];
    switch (test_random_below(&s->state, 6)) {
    case 0: /* something is left out */
        memmove(a->data + i, a->data + i + 1, (n - i - 1) * sizeof *a->data);
        a->count--;
        break;
    case 1: /* two actions change places */
        a->data[i] = a->data[j];
        a->data[j] = kept;
        break;
    case 2: /* neighbours change places: a DROP too early or too late */
        j = i + 1 < n ? i + 1 : i;
        a->data[i] = a->data[j];
        a->data[j] = kept;
        break;
    case 3: /* twice */
        a->data[j] = kept;
        break;
    case 4: /* any DROP */
        a->data[i] = (remat_action)(test_random_below(&s->state, p->values.count + 1) << 1 | 1);
        break;
    default: /* any RUN */
        a->data[i] = (remat_action)(test_random_below(&s->state, p->n_tasks + 1) << 1);
        break;
    }
}

static void check_corrupted(subject *s, const remat_problem *p, const remat_actions *whole,
                            size_t *n_valid, size_t *n_faulty)
{
    remat_actions broken = *whole;
    broken.data = malloc(whole->count * sizeof *broken.data);
    assert_non_null(broken.data);
    for (int k = 0; k < 40; k++) {
        broken.count = whole->count;
        memcpy(broken.data, whole->data, whole->count * sizeof *broken.data);
        corrupt(s, p, &broken);
        *(expect_agreement(s, p, &broken) ? n_valid : n_faulty) += 1;
    }
    free(broken.data);
}

static void both_judges_agree(void **state)
{
    static subject s; /* large */
    (void)state;
    size_t n = test_number_from_environment("REMAT_TEST_TAPES", 300), n_valid = 0, n_faulty = 0;
    for (size_t seed = 1; seed <= n; seed++) {
        static const remat_strategy strategies[] = {REMAT_STRATEGY_SEGMENTS, REMAT_STRATEGY_SQRT};
        subject_prepare(&s, seed);
        for (size_t i = 0; i < 2; i++) {
            remat_exec_options o = subject_options(strategies[i]);
            o.retain = seed % 2;
            remat_plan *plan = subject_plan(&s, &o);
            const remat_problem *p = &plan->derivation.problem;
            strcpy(s.what, "judging a plan");
            expect(&s, expect_agreement(&s, p, &plan->schedule));
            strcpy(s.what, "judging a broken schedule");
            if (plan->schedule.count > 0)
                check_corrupted(&s, p, &plan->schedule, &n_valid, &n_faulty);
            remat_plan_destroy(plan);
        }
        subject_release(&s);
    }
    print_message("%zu broken schedules are still valid, %zu are not\n", n_valid, n_faulty);
    assert_true(n_faulty > 10 * n && n_valid > n / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_judges_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
