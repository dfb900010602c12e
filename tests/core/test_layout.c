/* test_layout.c - lowering and layout: literal numbers, then random lifetimes against brute force.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/random_tape.h"
#include "plan/lower.h"

static const remat_allocator *allocator(void)
{
    static remat_allocator a;
    a = remat_allocator_default();
    return &a;
}

enum { UNIT = 64, MOST = 400 };

typedef struct layout {
    remat_buffer data[MOST];
    remat_buffers buffers;
    size_t live, arena; /* largest sum in use at once; result */
} layout;

/* Lives in order of `first`: {units, first, last}. */
static void add(layout *l, size_t units, uint32_t first, uint32_t last)
{
    size_t i = l->buffers.count++;
    l->buffers.data = l->data;
    assert_true(i < MOST && (i == 0 || l->data[i - 1].first <= first));
    l->data[i] = (remat_buffer){units * UNIT, units * UNIT, 0, first, last};
}

static void find_live(layout *l)
{
    l->live = 0;
    for (size_t i = 0; i < l->buffers.count; i++) {
        size_t sum = 0; /* when i begins: the sum is largest at some begin */
        for (size_t j = 0; j <= i || (j < l->buffers.count && l->data[j].first == l->data[i].first);
             j++)
            sum += l->data[j].last >= l->data[i].first ? l->data[j].bytes : 0;
        l->live = sum > l->live ? sum : l->live;
    }
}

static bool overlap(const remat_buffer *a, const remat_buffer *b)
{
    bool in_time = a->first <= b->last && b->first <= a->last;
    return in_time && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool is_sound(const layout *l)
{
    for (size_t i = 0; i < l->buffers.count; i++) {
        if (l->data[i].offset + l->data[i].bytes > l->arena || l->data[i].offset % UNIT != 0)
            return false;
        for (size_t j = 0; j < i; j++)
            if (overlap(&l->data[i], &l->data[j]))
                return false;
    }
    return true;
}

static bool passes_check(const layout *l)
{
    bool checked = false;
    bool valid = remat_layout_check(allocator(), &l->buffers, l->arena, &checked);
    assert_true(checked);
    return valid;
}

static void lay_out(layout *l)
{
    find_live(l);
    assert_true(remat_layout(allocator(), &l->buffers, l->live, &l->arena));
    assert_true(l->arena >= l->live && is_sound(l) && passes_check(l));
}

/* ---- Literal numbers -------------------------------------------------------------------------*/

static void nothing_needs_no_arena(void **state)
{
    (void)state;
    layout l = {0};
    l.arena = 7;
    assert_true(remat_layout(allocator(), &l.buffers, 0, &l.arena));
    assert_int_equal(l.arena, 0);
}

static void one_after_the_other_share_memory(void **state)
{
    (void)state;
    layout l = {0};
    add(&l, 2, 0, 0);
    add(&l, 2, 1, 1);
    add(&l, 2, 2, 5);
    lay_out(&l);
    assert_int_equal(l.arena, 2 * UNIT);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(l.data[i].offset, 0);
}

/* Both ends are included: a buffer that ends at 1 and one that begins at 1 are both in use. */
static void ends_are_included(void **state)
{
    (void)state;
    layout l = {0};
    add(&l, 1, 0, 1);
    add(&l, 1, 1, 2);
    lay_out(&l);
    assert_int_equal(l.arena, 2 * UNIT);
}

static void a_chain_of_two_at_a_time(void **state)
{
    (void)state;
    layout l = {0};
    for (uint32_t i = 0; i < 20; i++)
        add(&l, 1 + i % 3, i, i + 1);
    lay_out(&l);
    assert_int_equal(l.live, 5 * UNIT);
    assert_true(l.arena <= 6 * UNIT);
}

/* Inference on layers of one width: two places, used in turn. */
static void a_chain_of_equal_sizes(void **state)
{
    (void)state;
    layout l = {0};
    for (uint32_t i = 0; i < 20; i++)
        add(&l, 3, i, i + 1);
    lay_out(&l);
    assert_int_equal(l.arena, 6 * UNIT);
}

/* Kept ones below, short ones above: no hole is left where a kept one ends. */
static void long_and_short_lives(void **state)
{
    (void)state;
    layout l = {0};
    for (uint32_t i = 0; i < 10; i++) {
        add(&l, 1, 2 * i, 100);
        add(&l, 4, 2 * i, 2 * i);
        add(&l, 3, 2 * i + 1, 2 * i + 1);
    }
    lay_out(&l);
    assert_int_equal(l.live, 14 * UNIT);
    assert_int_equal(l.arena, 14 * UNIT);
}

/* 3 units are free but not in one piece if the first two are laid down side by side. */
static void a_case_in_which_order_of_time_fragments(void **state)
{
    (void)state;
    layout l = {0};
    add(&l, 1, 0, 2);
    add(&l, 1, 0, 9);
    add(&l, 1, 0, 2);
    add(&l, 2, 3, 9);
    lay_out(&l);
    assert_int_equal(l.arena, 3 * UNIT);
}

/* ---- Random lifetimes ------------------------------------------------------------------------*/

static void fill_at_random(layout *l, uint64_t *state)
{
    size_t n = 1 + test_random_below(state, test_random_chance(state, 20) ? MOST : 40);
    size_t sizes = 1 + test_random_below(state, 30);
    uint32_t time = 0, longest = 1 + (uint32_t)test_random_below(state, 60);
    *l = (layout){0};
    for (size_t i = 0; i < n; i++) {
        time += (uint32_t)test_random_below(state, 3);
        add(l, 1 + test_random_below(state, sizes), time,
            time + (uint32_t)test_random_below(state, longest));
    }
}

static void random_lifetimes_never_overlap(void **state)
{
    static layout l; /* large */
    (void)state;
    uint64_t random = 5;
    double worst = 1, sum = 0;
    enum { ROUNDS = 400 };
    for (int round = 0; round < ROUNDS; round++) {
        fill_at_random(&l, &random);
        lay_out(&l);
        double ratio = (double)l.arena / (double)l.live;
        worst = ratio > worst ? ratio : worst;
        sum += ratio;
    }
    print_message("arena / live bytes: mean %.4f, worst %.4f\n", sum / ROUNDS, worst);
    assert_true(sum / ROUNDS < 1.05 && worst < 1.35);
}

/* The check and brute force agree about layouts that are broken in one place. */
static void the_check_finds_broken_layouts(void **state)
{
    static layout l; /* large */
    (void)state;
    uint64_t random = 6;
    size_t n_bad = 0;
    for (int round = 0; round < 2000; round++) {
        fill_at_random(&l, &random);
        if (round % 20 == 0 || l.buffers.count > 60)
            l.buffers.count = l.buffers.count > 60 ? 60 : l.buffers.count;
        lay_out(&l);
        remat_buffer *b = &l.data[test_random_below(&random, l.buffers.count)];
        switch (test_random_below(&random, 4)) {
        case 0:
            b->offset = test_random_below(&random, l.arena / UNIT) * UNIT;
            break;
        case 1:
            b->bytes += UNIT;
            break;
        case 2:
            b->last += (uint32_t)test_random_below(&random, 20);
            break;
        default:
            l.arena -= UNIT;
            break;
        }
        assert_int_equal(passes_check(&l), is_sound(&l));
        n_bad += !is_sound(&l);
    }
    assert_true(n_bad > 500 && n_bad < 1990);
}

static void the_check_refuses_disorder(void **state)
{
    (void)state;
    layout l = {0};
    add(&l, 1, 0, 0);
    add(&l, 1, 4, 5);
    lay_out(&l);
    l.data[1].last = 3; /* ends before it begins */
    assert_false(passes_check(&l));
    l.data[1].last = 5;
    assert_true(passes_check(&l));
    l.data[0].first = l.data[0].last = 9; /* not in order of time */
    assert_false(passes_check(&l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_needs_no_arena),
        cmocka_unit_test(one_after_the_other_share_memory),
        cmocka_unit_test(ends_are_included),
        cmocka_unit_test(a_chain_of_two_at_a_time),
        cmocka_unit_test(a_chain_of_equal_sizes),
        cmocka_unit_test(long_and_short_lives),
        cmocka_unit_test(a_case_in_which_order_of_time_fragments),
        cmocka_unit_test(random_lifetimes_never_overlap),
        cmocka_unit_test(the_check_finds_broken_layouts),
        cmocka_unit_test(the_check_refuses_disorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
