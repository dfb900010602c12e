/* builder.c - problems built by hand, through plan.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/problem.h"

#define MAX_ITEMS (UINT32_MAX / 2 - 1) /* an action is an id and a bit */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static remat_status
refuse(remat_problem *problem, remat_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->message, sizeof problem->message, format, arguments);
    va_end(arguments);
    return status;
}

static remat_status no_memory(remat_problem *problem)
{
    return refuse(problem, REMAT_OUT_OF_MEMORY, "out of memory");
}

remat_status remat_problem_create(const remat_allocator *allocator, remat_problem **problem)
{
    if (!problem || !remat_allocator_is_valid(allocator))
        return REMAT_INVALID_ARGUMENT;
    const remat_allocator a = remat_allocator_or_default(allocator);
    remat_problem *made = remat_memory_allocate(&a, 1, sizeof *made);
    if (!made)
        return REMAT_OUT_OF_MEMORY;
    made->allocator = a;
    const remat_task sentinel = {0};
    const remat_segment_range everything = {0};
    if (!remat_vector_push(&a, &made->tasks, sentinel) ||
        !remat_vector_push(&a, &made->segments, everything)) {
        remat_problem_destroy(made);
        return REMAT_OUT_OF_MEMORY;
    }
    *problem = made;
    return REMAT_OK;
}

void remat_problem_destroy(remat_problem *problem)
{
    if (!problem)
        return;
    const remat_allocator allocator = problem->allocator;
    remat_problem_release(problem);
    remat_memory_release(&allocator, problem, 1, sizeof *problem);
}

const char *remat_problem_message(const remat_problem *problem)
{
    return problem ? problem->message : "the problem is NULL";
}

remat_status remat_problem_add_value(remat_problem *problem, size_t bytes, bool keep,
                                     uint32_t *value)
{
    if (!problem || !value)
        return REMAT_INVALID_ARGUMENT;
    size_t index = problem->values.count, total;
    if (!remat_size_add(problem->total_bytes, bytes, &total) || index >= MAX_ITEMS)
        return refuse(problem, REMAT_OVERFLOW,
                      "value %zu: with its %zu bytes the sum of all values cannot be addressed",
                      index, bytes);
    remat_problem_value v = {.bytes = bytes,
                             .raw_bytes = bytes,
                             .origin = (uint32_t)index,
                             .class = REMAT_CLASS_GRADIENT, /* until a forward task makes it */
                             .pinned = keep};
    if (!remat_vector_reserve(&problem->allocator, &problem->marks, 1) ||
        !remat_vector_push(&problem->allocator, &problem->values, v))
        return no_memory(problem);
    problem->marks.data[problem->marks.count++] = 0;
    problem->total_bytes = total;
    *value = (uint32_t)index;
    return REMAT_OK;
}

/* ---- Tasks -----------------------------------------------------------------------------------*/

/* Marks of a value. */
enum { MADE = 1, NAMED = 2 /* in the list that is being checked */ };

/* The value exists, is named once, and is made before or is not, as it has to be. */
static remat_status check_item(remat_problem *problem, const char *what, const uint32_t *list,
                               size_t i, bool must_be_made)
{
    const char *wrong = NULL;
    if (list[i] >= problem->values.count)
        wrong = "which was not added";
    else if (problem->marks.data[list[i]] & NAMED)
        wrong = "which the list names before";
    else if (must_be_made && !(problem->marks.data[list[i]] & MADE))
        wrong = "which no earlier task makes";
    else if (!must_be_made && (problem->marks.data[list[i]] & MADE))
        wrong = "which an earlier task makes";
    return wrong ? refuse(problem, REMAT_INVALID_ARGUMENT, "task %u: %s[%zu] is value %u, %s",
                          problem->n_tasks, what, i, list[i], wrong)
                 : REMAT_OK;
}

static remat_status check_list(remat_problem *problem, const char *what, const uint32_t *list,
                               size_t n, bool must_be_made)
{
    if (n > 0 && !list)
        return refuse(problem, REMAT_INVALID_ARGUMENT, "task %u: the list of %s is NULL",
                      problem->n_tasks, what);
    remat_status status = REMAT_OK;
    size_t i = 0;
    for (; i < n && status == REMAT_OK; i++) {
        status = check_item(problem, what, list, i, must_be_made);
        if (status == REMAT_OK)
            problem->marks.data[list[i]] |= NAMED;
    }
    for (size_t k = status == REMAT_OK ? i : i - 1; k-- > 0;)
        problem->marks.data[list[k]] &= MADE;
    return status;
}

static remat_status check_spec(remat_problem *problem, const remat_task_spec *spec, bool forward)
{
    uint32_t task = problem->n_tasks;
    size_t total;
    if (!(spec->cost >= 0.0) || !isfinite(spec->cost))
        return refuse(problem, REMAT_INVALID_ARGUMENT,
                      "task %u: its cost is negative or not finite", task);
    if (!isfinite(problem->total_cost + spec->cost) || task >= MAX_ITEMS ||
        !remat_size_add(problem->total_bytes, spec->workspace_bytes, &total) ||
        spec->n_reads > MAX_ITEMS || spec->n_writes > MAX_ITEMS || spec->n_adds > MAX_ITEMS)
        return refuse(problem, REMAT_OVERFLOW,
                      "task %u: the sum of costs, bytes or tasks is too large", task);
    if (forward && problem->n_tasks > problem->n_forward)
        return refuse(problem, REMAT_OUT_OF_ORDER,
                      "task %u: forward tasks must be added before all backward tasks", task);
    if (forward && spec->n_adds > 0)
        return refuse(problem, REMAT_INVALID_ARGUMENT, "task %u: only backward tasks add to values",
                      task);
    remat_status status = check_list(problem, "reads", spec->reads, spec->n_reads, true);
    if (status == REMAT_OK)
        status = check_list(problem, "writes", spec->writes, spec->n_writes, false);
    if (status == REMAT_OK)
        status = check_list(problem, "adds", spec->adds, spec->n_adds, true);
    for (size_t i = 0; status == REMAT_OK && i < spec->n_adds; i++)
        if (problem->values.data[spec->adds[i]].class != REMAT_CLASS_GRADIENT)
            status = refuse(problem, REMAT_INVALID_ARGUMENT,
                            "task %u: adds[%zu] is value %u, which a forward task makes", task, i,
                            spec->adds[i]);
    return status;
}

static bool reserve(remat_problem *problem, const remat_task_spec *spec)
{
    const remat_allocator *allocator = &problem->allocator;
    return problem->reads.count <= MAX_ITEMS && problem->writes.count <= MAX_ITEMS &&
           remat_vector_reserve(allocator, &problem->tasks, 1) &&
           remat_vector_reserve(allocator, &problem->reads, spec->n_reads) &&
           remat_vector_reserve(allocator, &problem->writes, spec->n_writes + spec->n_adds);
}

/* The latest forward task whose result a backward task reads. */
static uint32_t statement_of(const remat_problem *problem, const remat_task_spec *spec)
{
    uint32_t latest = 0;
    for (size_t i = 0; i < spec->n_reads; i++) {
        const remat_problem_value *v = &problem->values.data[spec->reads[i]];
        if (v->class == REMAT_CLASS_ACTIVATION && v->origin > latest)
            latest = v->origin;
    }
    return latest;
}

void remat_problem_complete(remat_problem *problem)
{
    for (uint32_t t = problem->n_tasks; t-- > problem->n_forward + 1;) {
        remat_task *task = &problem->tasks.data[t];
        if (task[-1].statement < task->statement)
            task[-1].statement = task->statement;
    }
}

static remat_status add_task(remat_problem *problem, const remat_task_spec *spec, bool forward,
                             uint32_t *number)
{
    if (!problem || !spec || !number)
        return REMAT_INVALID_ARGUMENT;
    remat_status status = check_spec(problem, spec, forward);
    if (status != REMAT_OK)
        return status;
    if (!reserve(problem, spec))
        return no_memory(problem);
    remat_task *task = &problem->tasks.data[problem->n_tasks]; /* was the sentinel */
    task->cost = spec->cost;
    task->workspace_bytes = task->raw_workspace_bytes = spec->workspace_bytes;
    task->kind = forward ? REMAT_TASK_FORWARD : REMAT_TASK_BACKWARD;
    task->replayable = forward && !spec->once;
    task->statement = forward ? problem->n_tasks : statement_of(problem, spec);
    for (size_t i = 0; i < spec->n_reads; i++)
        problem->reads.data[problem->reads.count++] = spec->reads[i];
    for (size_t i = 0; i < spec->n_writes + spec->n_adds; i++) {
        bool adds = i >= spec->n_writes;
        uint32_t value = adds ? spec->adds[i - spec->n_writes] : spec->writes[i];
        problem->writes.data[problem->writes.count++] = (remat_write){value, adds};
        problem->marks.data[value] = MADE;
        if (forward) {
            problem->values.data[value].class = REMAT_CLASS_ACTIVATION;
            problem->values.data[value].origin = problem->n_tasks;
        }
    }
    problem->total_cost += spec->cost;
    *number = problem->n_tasks++;
    problem->n_forward += forward;
    problem->n_statements = problem->n_forward;
    problem->segments.data[0].end = problem->n_statements;
    problem->tasks.data[problem->tasks.count++] = (remat_task){
        .reads = (uint32_t)problem->reads.count, .writes = (uint32_t)problem->writes.count};
    return REMAT_OK;
}

remat_status remat_problem_add_forward(remat_problem *problem, const remat_task_spec *spec,
                                       uint32_t *task)
{
    return add_task(problem, spec, true, task);
}

remat_status remat_problem_add_backward(remat_problem *problem, const remat_task_spec *spec,
                                        uint32_t *task)
{
    return add_task(problem, spec, false, task);
}
