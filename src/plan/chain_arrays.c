/* chain_arrays.c - a chain from the plain arrays of the literature. */
#include <string.h>

#include "base/memory.h"
#include "plan/chain.h"

/* The caller sees `chain`, which comes first. */
typedef struct owned_chain {
    remat_chain chain;
    remat_allocator allocator;
    remat_chain_stage *stages;   /* [n] */
    remat_chain_option *options; /* [n] */
    size_t *activations;         /* [n + 1] */
    size_t *gradients;           /* [n + 1] */
} owned_chain;

static bool allocate(owned_chain *c, size_t n)
{
    const remat_allocator *a = &c->allocator;
    return (c->stages = remat_memory_allocate(a, n, sizeof *c->stages)) &&
           (c->options = remat_memory_allocate(a, n, sizeof *c->options)) &&
           (c->activations = remat_memory_allocate(a, n + 1, sizeof *c->activations)) &&
           (c->gradients = remat_memory_allocate(a, n + 1, sizeof *c->gradients));
}

static void fill(owned_chain *c, const remat_chain_arrays *arrays)
{
    const uint32_t n = arrays->n_stages;
    memcpy(c->activations, arrays->wa, (n + 1u) * sizeof *c->activations);
    memcpy(c->gradients, arrays->wd ? arrays->wd : arrays->wa, (n + 1u) * sizeof *c->gradients);
    for (uint32_t i = 0; i < n; i++) {
        const size_t forward_extra = arrays->of ? arrays->of[i] : 0;
        c->options[i] =
            (remat_chain_option){.forward_cost = arrays->uf[i],
                                 .backward_cost = arrays->ub[i],
                                 .saved_bytes = arrays->wabar[i],
                                 .forward_extra_bytes = forward_extra,
                                 .backward_extra_bytes = arrays->ob ? arrays->ob[i] : 0};
        c->stages[i] = (remat_chain_stage){.forward_cost = arrays->uf[i],
                                           .forward_extra_bytes = forward_extra,
                                           .options = &c->options[i],
                                           .n_options = 1};
    }
    c->chain = (remat_chain){n, c->stages, c->activations, c->gradients};
}

remat_status remat_chain_create(const remat_allocator *allocator, const remat_chain_arrays *arrays,
                                remat_chain **chain)
{
    if (!chain || !arrays || !remat_allocator_is_valid(allocator) || arrays->n_stages < 1 ||
        arrays->n_stages > REMAT_CHAIN_MAX_STAGES || !arrays->uf || !arrays->ub || !arrays->wa ||
        !arrays->wabar)
        return REMAT_INVALID_ARGUMENT;
    const remat_allocator a = remat_allocator_or_default(allocator);
    owned_chain *c = remat_memory_allocate(&a, 1, sizeof *c);
    if (!c)
        return REMAT_OUT_OF_MEMORY;
    c->allocator = a;
    c->chain.n_stages = arrays->n_stages;
    if (!allocate(c, arrays->n_stages)) {
        remat_chain_destroy(&c->chain);
        return REMAT_OUT_OF_MEMORY;
    }
    fill(c, arrays);
    *chain = &c->chain;
    return REMAT_OK;
}

void remat_chain_destroy(remat_chain *chain)
{
    if (!chain)
        return;
    owned_chain *c = (owned_chain *)chain;
    const remat_allocator a = c->allocator;
    const size_t n = chain->n_stages;
    remat_memory_release(&a, c->stages, n, sizeof *c->stages);
    remat_memory_release(&a, c->options, n, sizeof *c->options);
    remat_memory_release(&a, c->activations, n + 1, sizeof *c->activations);
    remat_memory_release(&a, c->gradients, n + 1, sizeof *c->gradients);
    remat_memory_release(&a, c, 1, sizeof *c);
}
