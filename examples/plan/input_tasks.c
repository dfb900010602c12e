/* input_tasks.c - any network: tasks that read and write values. */
#include <stdlib.h>

#include "input.h"

enum { READS, WRITES, ADDS, LISTS };

typedef struct task_reader {
    input *in;
    json_fault *fault;
    json_t *numbers; /* of values, by name */
    uint32_t *lists[LISTS];
    size_t capacity[LISTS];
} task_reader;

/* ---- Values ----------------------------------------------------------------------------------*/

/* "name": bytes, or "name": {"bytes": ..., "keep": ...} */
static bool read_value(const char *name, const json_t *item, json_fault *f, size_t *bytes,
                       bool *keep)
{
    static const char *const keys[] = {"description", "bytes", "keep"};
    place p = {.object = item, .fault = f};
    snprintf(p.name, sizeof p.name, "values.%.50s", name);
    *keep = false;
    if (!json_is_object(item))
        return json_read_bytes(item, p.name, f, bytes);
    return place_allows(&p, keys, sizeof keys / sizeof *keys) &&
           place_bytes(&p, "bytes", NULL, bytes) && place_flag(&p, "keep", keep);
}

static bool add_value(task_reader *r, const char *name, const json_t *item)
{
    input *in = r->in;
    size_t bytes;
    bool keep;
    uint32_t number;
    if (!read_value(name, item, r->fault, &bytes, &keep))
        return false;
    if (remat_problem_add_value(in->problem, bytes, keep, &number) != REMAT_OK)
        return refuse(r->fault, "values.%.50s: %s", name, remat_problem_message(in->problem));
    in->value_names[in->n_values++] = name;
    return json_object_set_new(r->numbers, name, json_integer(number)) == 0 ||
           refuse(r->fault, "not enough memory");
}

static bool read_values(const place *top, task_reader *r)
{
    json_t *values = json_object_get(top->object, "values"), *item;
    const char *name;
    if (!json_is_object(values))
        return refuse(r->fault, "\"values\" is missing, or not an object { }");
    r->in->value_names = calloc(json_object_size(values) + 1, sizeof *r->in->value_names);
    if (r->in->value_names == NULL)
        return refuse(r->fault, "not enough memory");
    json_object_foreach(values, name, item)
    {
        if (!add_value(r, name, item))
            return false;
    }
    return true;
}

/* ---- Tasks -----------------------------------------------------------------------------------*/

static bool reserve(task_reader *r, int which, size_t n)
{
    if (n <= r->capacity[which])
        return true;
    uint32_t *grown = realloc(r->lists[which], n * sizeof *grown);
    if (grown == NULL)
        return refuse(r->fault, "not enough memory");
    r->lists[which] = grown;
    r->capacity[which] = n;
    return true;
}

/* A list of names becomes a list of numbers. */
static bool read_names(task_reader *r, const place *p, int which, const char *key,
                       const uint32_t **list, size_t *n)
{
    json_t *names;
    if (!place_list(p, key, false, &names) || !reserve(r, which, json_array_size(names)))
        return false;
    *n = json_array_size(names);
    *list = r->lists[which];
    for (size_t i = 0; i < *n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL)
            return refuse(r->fault, "%s.%s[%zu] is not the name of a value", p->name, key, i);
        const json_t *number = json_object_get(r->numbers, name);
        if (number == NULL)
            return refuse(r->fault, "%s.%s[%zu]: there is no value \"%.60s\"", p->name, key, i,
                          name);
        r->lists[which][i] = (uint32_t)json_integer_value(number);
    }
    return true;
}

static bool add_task(task_reader *r, const place *p)
{
    static const char *const keys[] = {
        "name",  "description", "backward", "cost", "workspace_bytes",
        "reads", "writes",      "adds",     "once"};
    static const size_t none = 0;
    remat_task_spec spec = REMAT_TASK_SPEC_INIT;
    remat_problem *problem = r->in->problem;
    bool backward;
    const char *name;
    uint32_t number;
    if (!place_allows(p, keys, sizeof keys / sizeof *keys) || !place_text(p, "name", &name) ||
        !place_flag(p, "backward", &backward) || !place_flag(p, "once", &spec.once) ||
        !place_real(p, "cost", NULL, &spec.cost) ||
        !place_bytes(p, "workspace_bytes", &none, &spec.workspace_bytes) ||
        !read_names(r, p, READS, "reads", &spec.reads, &spec.n_reads) ||
        !read_names(r, p, WRITES, "writes", &spec.writes, &spec.n_writes) ||
        !read_names(r, p, ADDS, "adds", &spec.adds, &spec.n_adds))
        return false;
    if ((backward ? remat_problem_add_backward : remat_problem_add_forward)(problem, &spec,
                                                                            &number) != REMAT_OK)
        return refuse(r->fault, "%s (%.60s): %s", p->name, name ? name : "no name",
                      remat_problem_message(problem));
    r->in->task_names[r->in->n_tasks++] = name;
    return true;
}

static bool read_tasks(const place *top, task_reader *r)
{
    json_t *tasks;
    if (!place_list(top, "tasks", true, &tasks))
        return false;
    const size_t n = json_array_size(tasks);
    if (n == 0)
        return refuse(r->fault, "\"tasks\" is empty");
    r->in->task_names = calloc(n, sizeof *r->in->task_names);
    if (r->in->task_names == NULL)
        return refuse(r->fault, "not enough memory");
    for (size_t i = 0; i < n; i++) {
        place p;
        if (!place_enter(tasks, "tasks", i, r->fault, &p) || !add_task(r, &p))
            return false;
    }
    return true;
}

bool input_read_tasks(const place *top, input *in)
{
    static const char *const keys[] = {"description", "values", "tasks"};
    task_reader r = {.in = in, .fault = top->fault};
    in->kind = INPUT_PROBLEM;
    if (!place_allows(top, keys, sizeof keys / sizeof *keys))
        return false;
    r.numbers = json_object();
    bool ok = r.numbers && remat_problem_create(NULL, &in->problem) == REMAT_OK
                  ? read_values(top, &r) && read_tasks(top, &r)
                  : refuse(top->fault, "not enough memory");
    json_decref(r.numbers);
    for (int k = 0; k < LISTS; k++)
        free(r.lists[k]);
    return ok;
}
