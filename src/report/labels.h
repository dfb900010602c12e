/* labels.h - what reports call the parts of a plan, and where its values go. */
#ifndef REMAT_REPORT_LABELS_H
#define REMAT_REPORT_LABELS_H

#include "plan/plan.h"
#include "plan/walk.h"

const char *remat_phase_name(remat_phase phase); /* "forward", "replay", "backward" */

/* The operation of a task's statement, or what a task without one does. */
const char *remat_task_name(const remat_plan *plan, uint32_t task);

/* Segments as the plan sees them: the strategy's own, or those of the tape. */
typedef struct remat_report_segments {
    const remat_segment_range *data;
    size_t count;
    bool own; /* the strategy's; these have no names */
} remat_report_segments;

remat_report_segments remat_plan_segments(const remat_plan *plan);

/* Name of a segment, "" if it has none. */
const char *remat_report_segment_name(const remat_plan *plan, const remat_report_segments *segments,
                                      size_t segment);

/* What becomes of a value of the problem in a step: bits. */
enum {
    REMAT_FATE_MADE = 1,
    REMAT_FATE_KEPT = 2,  /* in memory from its first run to the backward pass */
    REMAT_FATE_AGAIN = 4, /* made again */
    REMAT_FATE_WANTED = 8 /* read by the backward pass itself */
};

typedef struct remat_fates {
    unsigned char *of_value;
    uint32_t *replays; /* per task */
} remat_fates;

/* False: out of memory. To be released in any case. */
bool remat_fates_find(const remat_plan *plan, remat_fates *fates);
void remat_fates_release(const remat_plan *plan, remat_fates *fates);

#endif
