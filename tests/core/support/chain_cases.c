/* chain_cases.c - golden and random chains. */
#include "core/support/chain_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "core/support/random_tape.h"

void chain_case_link(chain_case *c, uint32_t n_stages, uint32_t n_options)
{
    c->chain = (remat_chain){n_stages, c->stages, c->activation_bytes, c->gradient_bytes};
    for (uint32_t i = 0; i < n_stages; i++) {
        c->stages[i].options = c->options[i];
        c->stages[i].n_options = n_options;
    }
}

static void random_stage(chain_case *c, uint64_t *random, uint32_t i)
{
    c->activation_bytes[i + 1] = test_random_below(random, 6);
    c->gradient_bytes[i + 1] = test_random_below(random, 4);
    c->stages[i].forward_cost = (double)test_random_below(random, 9);
    c->stages[i].forward_extra_bytes = test_random_below(random, 3);
    for (uint32_t k = 0; k < c->stages[i].n_options; k++) {
        remat_chain_option *o = &c->options[i][k]; /* one draw after the other, in every compiler */
        o->forward_cost = c->stages[i].forward_cost + (double)test_random_below(random, 3);
        o->backward_cost = (double)test_random_below(random, 9);
        o->saved_bytes = c->activation_bytes[i + 1] + test_random_below(random, 9);
        o->forward_extra_bytes = test_random_below(random, 3);
        o->backward_extra_bytes = test_random_below(random, 3);
    }
}

/* The stage before once more; sometimes with one difference. */
static void repeat_stage(chain_case *c, uint64_t *random, uint32_t i)
{
    c->activation_bytes[i + 1] = c->activation_bytes[i];
    c->gradient_bytes[i + 1] = c->gradient_bytes[i];
    c->stages[i].forward_cost = c->stages[i - 1].forward_cost;
    c->stages[i].forward_extra_bytes = c->stages[i - 1].forward_extra_bytes;
    memcpy(c->options[i], c->options[i - 1], sizeof c->options[i]);
    switch (test_random_below(random, 16)) {
    case 0:
        c->stages[i].forward_cost += 2;
        return;
    case 1:
        c->stages[i].forward_extra_bytes += 3;
        return;
    case 2:
        c->gradient_bytes[i + 1] += 2;
        return;
    case 3:
        c->options[i][0].saved_bytes++;
        return;
    case 4:
        c->options[i][0].backward_cost++;
        return;
    case 5:
        c->options[i][0].forward_extra_bytes += 3;
        return;
    case 6:
        c->options[i][0].backward_extra_bytes += 3;
        return;
    case 7:
        c->activation_bytes[i + 1] /= 2;
        return;
    default:
        return;
    }
}

void chain_case_random(chain_case *c, uint64_t *random, uint32_t n_stages, uint32_t n_options)
{
    chain_case_link(c, n_stages, n_options);
    c->activation_bytes[0] = test_random_below(random, 4);
    c->gradient_bytes[0] = test_random_below(random, 4);
    unsigned percent = test_random_chance(random, 50) ? 85 : 0;
    for (uint32_t i = 0; i < n_stages; i++)
        if (i > 0 && test_random_chance(random, percent))
            repeat_stage(c, random, i);
        else
            random_stage(c, random, i);
}

static void read_word(FILE *file, char word[64])
{
    while (fscanf(file, "%63s", word) == 1) {
        if (word[0] != '#')
            return;
        for (int ch = fgetc(file); ch != '\n' && ch != EOF;)
            ch = fgetc(file);
    }
    word[0] = '\0';
}

static void expect_word(FILE *file, const char *expected)
{
    char word[64];
    read_word(file, word);
    assert_string_equal(word, expected);
}

static size_t read_size(FILE *file)
{
    char word[64], *end;
    read_word(file, word);
    size_t value = strtoull(word, &end, 10);
    assert_true(end != word && *end == '\0');
    return value;
}

static double read_cost(FILE *file)
{
    char word[64], *end;
    read_word(file, word);
    if (strcmp(word, "-") == 0)
        return NAN;
    double value = strtod(word, &end); /* knows "inf" */
    assert_true(end != word && *end == '\0');
    return value;
}

static void read_arrays(FILE *file, chain_case *c, uint32_t n)
{
    expect_word(file, "uf");
    for (uint32_t i = 0; i < n; i++)
        c->options[i][0].forward_cost = c->stages[i].forward_cost = read_cost(file);
    expect_word(file, "ub");
    for (uint32_t i = 0; i < n; i++)
        c->options[i][0].backward_cost = read_cost(file);
    expect_word(file, "wabar");
    for (uint32_t i = 0; i < n; i++)
        c->options[i][0].saved_bytes = read_size(file);
    expect_word(file, "of");
    for (uint32_t i = 0; i < n; i++)
        c->options[i][0].forward_extra_bytes = c->stages[i].forward_extra_bytes = read_size(file);
    expect_word(file, "ob");
    for (uint32_t i = 0; i < n; i++)
        c->options[i][0].backward_extra_bytes = read_size(file);
    expect_word(file, "wa");
    for (uint32_t i = 0; i <= n; i++)
        c->activation_bytes[i] = read_size(file);
    expect_word(file, "wd");
    for (uint32_t i = 0; i <= n; i++)
        c->gradient_bytes[i] = read_size(file);
}

bool chain_golden_read(FILE *file, chain_golden *golden)
{
    read_word(file, golden->name);
    if (golden->name[0] == '\0')
        return false;
    assert_string_equal(golden->name, "chain");
    read_word(file, golden->name);
    uint32_t n = (uint32_t)read_size(file);
    assert_in_range(n, 1, CHAIN_CASE_STAGES);
    chain_case_link(&golden->c, n, 1);
    read_arrays(file, &golden->c, n);
    expect_word(file, "least");
    golden->min_persistent = read_size(file);
    golden->min_no_replay = read_size(file);
    golden->min_holes = read_size(file);
    expect_word(file, "curve");
    golden->n_curve = read_size(file);
    assert_in_range(golden->n_curve, 1, CHAIN_CASE_CURVE);
    for (size_t i = 0; i < golden->n_curve; i++) {
        golden->curve[i].budget_bytes = read_size(file);
        golden->curve[i].cost = read_cost(file);
    }
    expect_word(file, "cases");
    golden->n_budgets = read_size(file);
    assert_in_range(golden->n_budgets, 1, CHAIN_CASE_BUDGETS);
    for (size_t i = 0; i < golden->n_budgets; i++) {
        chain_golden_budget *budget = &golden->budgets[i];
        budget->bytes = read_size(file);
        budget->persistent = read_cost(file);
        budget->holes = read_cost(file);
        budget->any = read_cost(file);
    }
    return true;
}
