/* exec.h (internal) - a plan bound to a tape: a program of instructions over a table of pointers.
 */
#ifndef REMAT_EXEC_EXEC_H
#define REMAT_EXEC_EXEC_H

#include "plan/plan.h"

/* A tensor argument: where its data is, and its dtype and shape. */
typedef struct remat_slot {
    uint32_t pointer; /* into program.pointers; 0 is NULL */
    uint32_t type;    /* into program.types */
} remat_slot;

typedef enum remat_phase {
    REMAT_PHASE_FORWARD,
    REMAT_PHASE_REPLAY,
    REMAT_PHASE_BACKWARD
} remat_phase;

/* One RUN of the schedule. Lists end where those of the next instruction begin.
 * Slots, FORWARD: operands, results. BACKWARD: operands, results, gradients of results, gradients
 * of operands. SEED, ZERO: the gradient. EMIT: the gradient, the caller's buffer. */
typedef struct remat_instruction {
    size_t high_water; /* end of the highest buffer that the task is given */
    uint32_t statement, subject;
    uint32_t slots;
    uint32_t begins, ends; /* buffers whose lifetime begins before or ends after the task */
    uint32_t ready;        /* gradient requests that are complete after the task */
    uint32_t workspace;    /* pointer, 0: none */
    uint32_t accumulate;   /* bit per operand; SEED, ZERO, EMIT: bit 0 */
    uint8_t kind, phase;
} remat_instruction;

/* What to run. Pointers are laid out as: NULL, data of leaves, buffers of gradient requests,
 * buffers of the plan. */
typedef struct remat_program {
    REMAT_VECTOR(remat_instruction) instructions; /* and a sentinel */
    size_t n_forward;                             /* instructions of the forward pass */
    REMAT_VECTOR(remat_slot) slots;
    REMAT_VECTOR(uint32_t) begins;
    REMAT_VECTOR(uint32_t) ends;
    REMAT_VECTOR(uint32_t) ready;
    REMAT_VECTOR(uint32_t) ready_at_end; /* requests that no task contributes to */
    REMAT_VECTOR(uint32_t) used_leaves;
    REMAT_VECTOR(uint32_t) used_gradients;
    REMAT_VECTOR(const remat_op *) kernel_ops; /* operations with a kernel_id, one per function */
    REMAT_VECTOR(uint64_t) kernel_ids;         /* at the last forward pass */
    void **pointers;
    size_t n_pointers, first_gradient, first_buffer;
    remat_tensor *types; /* data NULL; index 3 * shape + dtype */
    remat_shape *shapes; /* what types refer to */
    size_t n_shapes;
    uint32_t
        *final_pointer; /* per value of the problem: where it is at the end of a step; 0: gone */
    size_t n_final;
    uint64_t *checksums; /* per tape value, for verify_replay; else NULL */
    size_t n_checksums;
} remat_program;

typedef enum remat_exec_state {
    REMAT_STATE_EMPTY,    /* no forward pass yet, or a pass failed */
    REMAT_STATE_FORWARD,  /* a forward pass is complete */
    REMAT_STATE_BACKWARD, /* and its backward pass too */
} remat_exec_state;

#define REMAT_PLAN_CACHE 8

struct remat_exec {
    remat_allocator allocator;
    bool allocator_is_default;
    remat_tape *tape;
    uint32_t tag; /* of the tape when the program was built */
    const remat_plan *plan;
    const remat_plan *cache[REMAT_PLAN_CACHE]; /* most recent first; plan is among them */
    remat_exec_options options;
    remat_program program;
    remat_arena arena; /* data NULL if the caller's is used */
    unsigned char *base;
    size_t base_bytes;
    remat_arena *separate; /* options.separate_buffers: per buffer of the plan */
    size_t n_separate, separate_bytes;
    remat_exec_state state;
    bool has_gradients;
    uint64_t step;      /* number of the next forward pass */
    uint64_t pass_step; /* and of the last one, which its backward pass shares */
    remat_exec_statistics statistics;
    char message[1024];
    char op_message[512];
};

/* Builds the program of a plan. False: out of memory; the program is released. */
bool remat_program_build(const remat_allocator *allocator, const remat_tape *tape,
                         const remat_plan *plan, bool checksums, remat_program *program);
void remat_program_release(const remat_allocator *allocator, remat_program *program);

/* REMAT_STALE if the tape was cleared since the program was built. */
remat_status remat_exec_check_tape(remat_exec *exec);

/* Prepares a forward pass: nothing is valid, the caller's pointers are as they are bound now. */
remat_status remat_exec_begin(remat_exec *exec);

/* Runs instructions [first, end). */
remat_status remat_exec_run(remat_exec *exec, size_t first, size_t end);
remat_status remat_exec_run_one(remat_exec *exec, const remat_instruction *instruction);

/* Calls gradient_ready for the requests that no task contributes to. */
remat_status remat_exec_notify_untouched(remat_exec *exec);

/* Sets the message, returns status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
remat_status
remat_exec_fail(remat_exec *exec, remat_status status, const char *format, ...);

/* Frees the buffers of separate_buffers mode that begin with instruction `first` or later. */
void remat_exec_free_separate(remat_exec *exec, size_t first);

/* Element loops on gradients that no operation owns. n elements of a float dtype. */
void remat_gradient_fill(void *gradient, const void *seed, double constant, bool accumulate,
                         remat_dtype dtype, size_t n);

#endif
