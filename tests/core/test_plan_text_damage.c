/* test_plan_text_damage.c - texts of plans that were damaged in every small way: refused; and if
 * the checksum is made to fit, refused or a plan whose step has the right bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/plan_text.h"

typedef struct damage {
    plan_subject subject;
    size_t tried, accepted;
} damage;

/* With a wrong checksum nothing is ever accepted. */
static void expect_refused(damage *d, plan_text text)
{
    remat_plan *plan = NULL;
    remat_status status = plan_subject_load(&d->subject, text, &plan);
    assert_true(status == REMAT_INVALID_ARGUMENT || status == REMAT_STALE);
    assert_null(plan);
    assert_non_null(strstr(remat_tape_message(d->subject.net.tape), "line "));
}

static void expect_harmless(damage *d, plan_text text)
{
    remat_plan *plan = NULL;
    plan_text sealed = plan_text_seal(text, d->subject.text);
    remat_status status = plan_subject_load(&d->subject, sealed, &plan);
    d->tried++;
    if (status == REMAT_OK) {
        d->accepted++;
        assert_true(plan_subject_agrees(&d->subject, plan));
    } else {
        assert_true(status == REMAT_INVALID_ARGUMENT || status == REMAT_STALE ||
                    status == REMAT_INFEASIBLE_BUDGET);
        assert_null(plan);
    }
    remat_plan_destroy(plan);
    plan_text_release(&sealed);
}

static void check(damage *d, plan_text text)
{
    expect_refused(d, text);
    expect_harmless(d, text);
}

/* The text with bytes [at, at + length) replaced. */
static void check_replacement(damage *d, size_t at, size_t length, const char *by, size_t by_length)
{
    const plan_text *whole = &d->subject.text;
    plan_text text = plan_text_copy(whole->data, whole->length);
    text.data = realloc(text.data, whole->length + by_length + 1);
    assert_non_null(text.data);
    memcpy(text.data + at, by, by_length);
    memcpy(text.data + at + by_length, whole->data + at + length, whole->length - at - length);
    text.length = whole->length - length + by_length;
    check(d, text);
    plan_text_release(&text);
}

/* ---- Damage ----------------------------------------------------------------------------------*/

static size_t line_end(plan_text text, size_t at)
{
    return (size_t)((char *)memchr(text.data + at, '\n', text.length - at) - text.data) + 1;
}

static void damage_lines(damage *d)
{
    const plan_text text = d->subject.text;
    char two[512];
    for (size_t at = 0, end; at < text.length; at = end) {
        end = line_end(text, at);
        check_replacement(d, at, end - at, "", 0);             /* gone */
        check_replacement(d, at, 0, text.data + at, end - at); /* twice */
        if (end == text.length)
            break;
        size_t next = line_end(text, end); /* exchanged with the next one */
        memcpy(two, text.data + end, next - end);
        memcpy(two + (next - end), text.data + at, end - at);
        if (memcmp(two, text.data + at, next - at) != 0)
            check_replacement(d, at, next - at, two, next - at);
    }
}

static void truncate_everywhere(damage *d)
{
    for (size_t length = 0; length < d->subject.text.length; length++) {
        plan_text text = plan_text_copy(d->subject.text.data, length);
        expect_refused(d, text);
        plan_text_release(&text);
    }
}

static void flip_bits(damage *d)
{
    for (size_t at = 0; at < d->subject.text.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            char byte = (char)(d->subject.text.data[at] ^ 1 << bit);
            check_replacement(d, at, 1, &byte, 1);
        }
}

/* Numbers that are near, far, or of another length. */
static void change_numbers(damage *d)
{
    static const char *const others[] = {
        "0", "1", "2", "7", "19", "4294967295", "18446744073709551615"};
    const plan_text text = d->subject.text;
    for (size_t at = 1; at < text.length; at++) {
        if (!strchr(" -", text.data[at - 1]))
            continue;
        size_t length = 0;
        while (strchr("0123456789", text.data[at + length]))
            length++;
        for (size_t k = 0; length > 0 && k < sizeof others / sizeof others[0]; k++)
            if (strlen(others[k]) != length || memcmp(others[k], text.data + at, length) != 0)
                check_replacement(d, at, length, others[k], strlen(others[k]));
    }
}

static void append_things(damage *d)
{
    size_t end = d->subject.text.length;
    check_replacement(d, end, 0, "\n", 1);
    check_replacement(d, end, 0, " ", 1);
    check_replacement(d, end, 0, "", 1); /* a NUL */
    check_replacement(d, end, 0, "end 0000000000000000\n", 21);
    check_replacement(d, 0, 0, "\xEF\xBB\xBF", 3); /* a byte-order mark */
}

static void check_kind(plan_subject_kind kind)
{
    static damage d;
    d = (damage){.tried = 0};
    plan_subject_create(&d.subject, kind);
    assert_true(plan_subject_agrees(&d.subject, d.subject.plan));
    truncate_everywhere(&d);
    damage_lines(&d);
    flip_bits(&d);
    change_numbers(&d);
    append_things(&d);
    assert_true(d.tried > 1000 && d.accepted > 10); /* other budgets, at least */
    plan_subject_destroy(&d.subject);
}

static void training(void **state)
{
    (void)state;
    check_kind(PLAN_SUBJECT_TRAIN);
}

static void repeated_backward_passes(void **state)
{
    (void)state;
    check_kind(PLAN_SUBJECT_RETAIN);
}

static void inference(void **state)
{
    (void)state;
    check_kind(PLAN_SUBJECT_FORWARD_ONLY);
}

static void segments_of_the_plan(void **state)
{
    (void)state;
    check_kind(PLAN_SUBJECT_SQRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training),
        cmocka_unit_test(repeated_backward_passes),
        cmocka_unit_test(inference),
        cmocka_unit_test(segments_of_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
