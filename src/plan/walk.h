/* walk.h - goes through a schedule RUN by RUN and says what memory holds while each executes. */
#ifndef REMAT_PLAN_WALK_H
#define REMAT_PLAN_WALK_H

#include "plan/schedule.h"

typedef enum remat_phase {
    REMAT_PHASE_FORWARD,
    REMAT_PHASE_REPLAY,
    REMAT_PHASE_BACKWARD,
    REMAT_PHASE_COUNT
} remat_phase;

/* How memory holds a value. */
enum {
    REMAT_HELD_FIRST = 1,    /* since its first run; gradients are always so */
    REMAT_HELD_REPLAYED = 2, /* since a replay */
    REMAT_HELD_IN_RESULT = 4 /* and its memory is another value's already */
};

typedef struct remat_walk {
    const remat_problem *problem;
    const remat_actions *schedule;
    size_t next; /* action */
    /* The present RUN. */
    size_t at; /* its action */
    uint32_t task;
    remat_phase phase;
    remat_breakdown bytes; /* in use while it executes */
    unsigned char *held;   /* per value, after its writes: REMAT_HELD_*; 0: not in memory */
    unsigned char *ran;    /* per task */
} remat_walk;

/* The schedule is valid. False: out of memory; closing is allowed all the same. */
bool remat_walk_open(remat_walk *walk, const remat_problem *problem, const remat_actions *schedule);

/* Goes to the next RUN. False: there is none; held then shows what stays to the end. */
bool remat_walk_next(remat_walk *walk);

void remat_walk_close(remat_walk *walk);

/* Sum of all kinds. */
size_t remat_breakdown_total(const remat_breakdown *bytes);

#endif
