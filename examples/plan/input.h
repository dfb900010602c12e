/* input.h - what is to be planned, from JSON. The formats: README.md. */
#ifndef PLAN_INPUT_H
#define PLAN_INPUT_H

#include <remat/plan.h>

#include "json.h"

typedef enum input_kind { INPUT_CHAIN, INPUT_PROBLEM, INPUT_STEPS } input_kind;

typedef struct input {
    input_kind kind;
    json_t *root;            /* owns all names */
    const char *description; /* or NULL */

    const remat_chain *chain;
    remat_chain *from_arrays; /* owns the chain, or NULL: these do */
    remat_chain own;
    remat_chain_stage *stages;                 /* [n] */
    remat_chain_option *options;               /* of all stages */
    size_t *activation_bytes, *gradient_bytes; /* [n + 1] */
    const char **stage_names;                  /* [n], each may be NULL */

    remat_problem *problem;
    size_t n_tasks, n_values;
    const char **task_names, **value_names; /* a task's may be NULL */

    uint64_t steps, slots;
    bool mixed;
} input;

/* False: *f says why, and there is nothing to release. */
bool input_parse(const char *text, size_t bytes, input *in, json_fault *f);
void input_release(input *in);

/* Parts of the above: they fill `in` from the top-level object. */
bool input_read_arrays(const place *top, input *in);
bool input_read_stages(const place *top, input *in);
bool input_read_tasks(const place *top, input *in);

#endif
