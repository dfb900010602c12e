/* hand_problem.h - problems built through plan.h, with fewer words. All but hand_task() fail the
 * test if something is refused. */
#ifndef TESTS_CORE_HAND_PROBLEM_H
#define TESTS_CORE_HAND_PROBLEM_H

#include <remat/plan.h>

#define HAND_NONE UINT32_MAX

/* Lists of at most two values; HAND_NONE: none. */
typedef struct hand_task_spec {
    double cost;
    uint32_t reads[2], writes[2], adds[2];
    bool backward, once;
    size_t workspace;
} hand_task_spec;

extern const hand_task_spec hand_empty; /* a forward task of cost 1 */

remat_problem *hand_problem(void);
uint32_t hand_value(remat_problem *problem, size_t bytes, bool keep);
remat_status hand_task(remat_problem *problem, hand_task_spec t, uint32_t *number);

/* A task of cost 1 (backward: 2); values may be HAND_NONE. */
void hand_forward(remat_problem *problem, uint32_t from, uint32_t to);
void hand_backward(remat_problem *problem, uint32_t gradient, uint32_t from, uint32_t to);

/* Stage i makes value 2i (100 bytes) from value 2i - 2, its backward the gradient 2i + 1 (50 bytes)
 * from value 2i and the gradient 2i + 3. */
remat_problem *hand_chain(uint32_t n);

#endif
