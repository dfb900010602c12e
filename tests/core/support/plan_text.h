/* plan_text.h - plans as text in memory, and a small network whose plans are read back. */
#ifndef TESTS_CORE_PLAN_TEXT_H
#define TESTS_CORE_PLAN_TEXT_H

#include "core/support/small_net.h"

typedef struct plan_text {
    char *data; /* malloc; not terminated */
    size_t length;
} plan_text;

plan_text plan_text_of(const remat_plan *plan);
plan_text plan_text_copy(const char *data, size_t length);
void plan_text_release(plan_text *text);

remat_status plan_text_load(remat_tape *tape, remat_var loss, const remat_exec_options *options,
                            plan_text text, remat_plan **plan);

/* A copy that passes for an intact one: its checksum is right, and the hashes in its lines
 * `fingerprint` and `problem` are those of `like`. */
plan_text plan_text_seal(plan_text text, plan_text like);

/* ---- A network with replays, in-place results, noise, effects ---------------------------------*/

typedef enum plan_subject_kind {
    PLAN_SUBJECT_TRAIN,
    PLAN_SUBJECT_RETAIN,
    PLAN_SUBJECT_FORWARD_ONLY,
    PLAN_SUBJECT_SQRT, /* training; the plan has segments of its own */
    PLAN_SUBJECT_KINDS
} plan_subject_kind;

typedef struct plan_subject {
    small_net net;
    remat_var loss;
    remat_exec_options options; /* training: the smallest budget, but for SQRT */
    remat_plan *plan;
    plan_text text; /* of the plan */
    double expected_loss, expected[NET_LEAVES][NET_WIDTH];
} plan_subject;

void plan_subject_create(plan_subject *s, plan_subject_kind kind);
void plan_subject_destroy(plan_subject *s);

remat_status plan_subject_load(const plan_subject *s, plan_text text, remat_plan **plan);

/* A step under the plan leaves the bits of one that drops nothing, EFFECTs happen once, and it
 * stays within the arena. */
bool plan_subject_agrees(plan_subject *s, const remat_plan *plan);

#endif
