/* dag_cases.c - see dag_cases.h. */
#include "core/support/dag_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "core/support/random_tape.h"

/* ---- Building --------------------------------------------------------------------------------*/

static void begin_task(remat_problem *p, remat_task task)
{
    task.reads = (uint32_t)p->reads.count;
    task.writes = (uint32_t)p->writes.count;
    task.reuses = (uint32_t)p->reuses.count;
    assert_true(remat_vector_push(&p->allocator, &p->tasks, task));
}

static void add_read(remat_problem *p, uint32_t value)
{
    for (size_t i = p->tasks.data[p->tasks.count - 1].reads; i < p->reads.count; i++)
        if (p->reads.data[i] == value)
            return;
    assert_true(remat_vector_push(&p->allocator, &p->reads, value));
}

static void add_write(remat_problem *p, uint32_t value, bool accumulate)
{
    for (size_t i = p->tasks.data[p->tasks.count - 1].writes; i < p->writes.count; i++)
        if (p->writes.data[i].value == value)
            return;
    remat_write write = {value, accumulate};
    assert_true(remat_vector_push(&p->allocator, &p->writes, write));
}

static uint32_t add_value(remat_problem *p, size_t bytes, remat_value_class class)
{
    remat_problem_value value = {.bytes = bytes, .raw_bytes = bytes, .class = (uint8_t) class};
    assert_true(remat_vector_push(&p->allocator, &p->values, value));
    return (uint32_t)p->values.count - 1;
}

static void end_tasks(remat_problem *p, uint32_t n_forward)
{
    p->n_tasks = (uint32_t)p->tasks.count;
    p->n_forward = n_forward;
    for (uint32_t t = n_forward; t < p->n_tasks; t++)
        p->tasks.data[t].kind = REMAT_TASK_BACKWARD;
    p->n_statements = p->n_tasks;
    begin_task(p, (remat_task){0});
    remat_segment_range everything = {0, 0, p->n_tasks};
    assert_true(remat_vector_push(&p->allocator, &p->segments, everything));
    assert_true(remat_problem_invariant(p));
}

/* ---- Golden cases ----------------------------------------------------------------------------*/

static unsigned next_number(FILE *file)
{
    unsigned number;
    assert_int_equal(fscanf(file, "%u", &number), 1);
    return number;
}

/* One node: a task that makes one value of the same number. True if it may run again. */
static bool read_node(FILE *file, dag_case *c, uint32_t node)
{
    remat_problem *p = &c->problem;
    bool once = next_number(file);
    unsigned cost = next_number(file), bytes = next_number(file);
    remat_task task = {.cost = cost, .statement = node, .replayable = !once};
    task.workspace_bytes = next_number(file);
    begin_task(p, task);
    c->least_cost += cost;
    uint32_t value = add_value(p, bytes, once ? REMAT_CLASS_GRADIENT : REMAT_CLASS_ACTIVATION);
    p->values.data[value].pinned = next_number(file);
    for (unsigned n = next_number(file); n > 0; n--)
        add_read(p, next_number(file));
    add_write(p, value, false);
    return !once;
}

bool dag_case_read(FILE *file, dag_case *c)
{
    int ch;
    while ((ch = fgetc(file)) == '#')
        while (ch != '\n' && ch != EOF)
            ch = fgetc(file);
    if (ch == EOF)
        return false;
    *c = (dag_case){.problem = {.allocator = remat_allocator_default()}};
    unsigned n_nodes, n_forward = 0;
    assert_int_equal(ungetc(ch, file), ch);
    assert_int_equal(fscanf(file, "graph %63s %u", c->name, &n_nodes), 2);
    c->n_budgets = next_number(file);
    assert_true(c->n_budgets <= DAG_CASE_BUDGETS);
    for (unsigned i = 0; i < n_nodes; i++)
        if (read_node(file, c, i))
            n_forward = i + 1;
    end_tasks(&c->problem, n_forward);
    for (size_t i = 0; i < c->n_budgets; i++) {
        dag_budget *budget = &c->budgets[i];
        budget->bytes = next_number(file);
        assert_int_equal(fscanf(file, "%lf %lf ", &budget->staged, &budget->any), 2);
    }
    return true;
}

/* ---- Random problems -------------------------------------------------------------------------*/

typedef struct network {
    const dag_shape *shape;
    remat_problem *p;
    uint64_t state;
    uint32_t n_activations;
} network;

static void make_result(network *n)
{
    remat_problem *p = n->p;
    uint32_t value = add_value(p, 1 + test_random_below(&n->state, 20), REMAT_CLASS_ACTIVATION);
    p->values.data[value].pinned = n->shape->odd && test_random_chance(&n->state, 4);
    if (n->shape->marks && test_random_chance(&n->state, 20))
        p->values.data[value].policy = REMAT_POLICY_RECOMPUTE;
    add_write(p, value, false);
}

/* A result as large as one of what the task reads may take its memory. */
static void allow_reuse(network *n)
{
    remat_problem *p = n->p;
    const remat_task *task = &p->tasks.data[p->tasks.count - 1];
    uint32_t from = p->reads.data[task->reads], to = p->writes.data[task->writes].value;
    p->values.data[to].bytes = p->values.data[to].raw_bytes = p->values.data[from].bytes;
    remat_reuse reuse = {from, to};
    assert_true(remat_vector_push(&p->allocator, &p->reuses, reuse));
}

static void add_forward(network *n, uint32_t statement)
{
    remat_problem *p = n->p;
    bool odd = n->shape->odd;
    remat_task task = {.cost = 1 + (double)test_random_below(&n->state, 30),
                       .statement = statement,
                       .replayable = !odd || test_random_chance(&n->state, 85)};
    if (test_random_chance(&n->state, 30))
        task.workspace_bytes = 1 + test_random_below(&n->state, 5);
    uint32_t made = (uint32_t)p->values.count;
    begin_task(p, task);
    for (size_t k = made ? 1 + test_random_below(&n->state, 2) : 0; k > 0; k--) {
        uint32_t reach = test_random_chance(&n->state, 80) ? 4 : 40;
        reach = reach < made ? reach : made;
        add_read(p, made - 1 - (uint32_t)test_random_below(&n->state, reach));
    }
    make_result(n);
    if (odd && made && test_random_chance(&n->state, 25))
        allow_reuse(n);
    if (odd && test_random_chance(&n->state, 25))
        make_result(n);
}

/* Reads some of what its forward task reads and writes, and gradients of its results; adds to
 * gradients of its operands. Gradient of activation v is value n_activations + v. */
static void add_backward(network *n, uint32_t forward, bool *made)
{
    remat_problem *p = n->p;
    remat_task task = {.cost = 1 + (double)test_random_below(&n->state, 40), .statement = forward};
    begin_task(p, task);
    for (uint32_t i = 0; i < remat_task_n_writes(p, forward); i++) {
        uint32_t value = remat_task_writes(p, forward)[i].value;
        if (test_random_chance(&n->state, 30))
            add_read(p, value);
        if (made[value])
            add_read(p, n->n_activations + value);
    }
    for (uint32_t i = 0; i < remat_task_n_reads(p, forward); i++) {
        uint32_t value = remat_task_reads(p, forward)[i];
        if (test_random_chance(&n->state, 70))
            add_read(p, value);
        add_write(p, n->n_activations + value, made[value]);
        made[value] = true;
    }
}

void dag_random(const dag_shape *shape, uint64_t seed, remat_problem *problem)
{
    *problem = (remat_problem){.allocator = remat_allocator_default(), .retain = shape->retain};
    network n = {.shape = shape, .p = problem, .state = seed};
    for (uint32_t t = 0; t < shape->n_statements; t++)
        add_forward(&n, t);
    n.n_activations = (uint32_t)problem->values.count;
    for (uint32_t v = 0; v < n.n_activations; v++)
        add_value(problem, problem->values.data[v].bytes, REMAT_CLASS_GRADIENT);
    bool *made = test_calloc(n.n_activations + 1, sizeof *made);
    for (uint32_t t = shape->n_statements; t-- > 0;)
        add_backward(&n, t, made);
    test_free(made);
    end_tasks(problem, shape->n_statements);
}
