/* input_chain.c - chains: as the plain arrays of the literature, or stage by stage. */
#include <stdlib.h>

#include "input.h"

static bool check_length(json_fault *f, size_t n, const char *what)
{
    return (n >= 1 && n <= REMAT_CHAIN_MAX_STAGES) ||
           refuse(f, "%s: a chain has 1 to %d stages, not %zu", what, REMAT_CHAIN_MAX_STAGES, n);
}

/* ---- Arrays ----------------------------------------------------------------------------------*/

/* The list at a key, which has to have n items; NULL without an error if it may be left out. */
static bool get_list(const place *top, const char *key, bool needed, size_t n, json_t **list)
{
    if (!place_list(top, key, needed, list))
        return false;
    return *list == NULL || json_array_size(*list) == n ||
           refuse(top->fault, "\"%s\" has %zu items, not %zu", key, json_array_size(*list), n);
}

static bool read_reals(const place *top, const char *key, size_t n, double *values)
{
    json_t *list;
    char name[64];
    bool ok = get_list(top, key, true, n, &list);
    for (size_t i = 0; ok && i < n; i++) {
        snprintf(name, sizeof name, "%s[%zu]", key, i);
        ok = json_read_real(json_array_get(list, i), name, top->fault, &values[i]);
    }
    return ok;
}

/* *given: `values`, or NULL if the key is left out. */
static bool read_sizes(const place *top, const char *key, bool needed, size_t n, size_t *values,
                       const size_t **given)
{
    json_t *list;
    char name[64];
    bool ok = get_list(top, key, needed, n, &list);
    *given = list ? values : NULL;
    for (size_t i = 0; ok && list && i < n; i++) {
        snprintf(name, sizeof name, "%s[%zu]", key, i);
        ok = json_read_bytes(json_array_get(list, i), name, top->fault, &values[i]);
    }
    return ok;
}

static bool make_from_arrays(const place *top, size_t n, double *reals, size_t *sizes, input *in)
{
    const size_t row = n + 1;
    remat_chain_arrays a = {.n_stages = (uint32_t)n, .uf = reals, .ub = reals + row};
    bool ok = read_reals(top, "uf", n, reals) && read_reals(top, "ub", n, reals + row) &&
              read_sizes(top, "wa", true, n + 1, sizes, &a.wa) &&
              read_sizes(top, "wabar", true, n, sizes + row, &a.wabar) &&
              read_sizes(top, "wd", false, n + 1, sizes + 2 * row, &a.wd) &&
              read_sizes(top, "of", false, n, sizes + 3 * row, &a.of) &&
              read_sizes(top, "ob", false, n, sizes + 4 * row, &a.ob);
    if (!ok)
        return false;
    remat_status status = remat_chain_create(NULL, &a, &in->from_arrays);
    in->chain = in->from_arrays;
    return status == REMAT_OK || refuse(top->fault, "%s", remat_status_text(status));
}

bool input_read_arrays(const place *top, input *in)
{
    static const char *const keys[] = {"description", "uf", "ub", "wa", "wabar", "wd", "of", "ob"};
    json_t *uf;
    in->kind = INPUT_CHAIN;
    if (!place_allows(top, keys, sizeof keys / sizeof *keys) || !place_list(top, "uf", true, &uf) ||
        !check_length(top->fault, json_array_size(uf), "uf"))
        return false;
    const size_t n = json_array_size(uf);
    double *reals = calloc(2 * (n + 1), sizeof *reals);
    size_t *sizes = calloc(5 * (n + 1), sizeof *sizes);
    in->stage_names = calloc(n, sizeof *in->stage_names);
    bool ok = reals && sizes && in->stage_names ? make_from_arrays(top, n, reals, sizes, in)
                                                : refuse(top->fault, "not enough memory");
    free(reals);
    free(sizes);
    return ok;
}

/* ---- Stages ----------------------------------------------------------------------------------*/

static const size_t no_bytes = 0;

static bool read_option(const place *p, const remat_chain_stage *stage, remat_chain_option *option)
{
    return place_real(p, "forward", &stage->forward_cost, &option->forward_cost) &&
           place_real(p, "backward", NULL, &option->backward_cost) &&
           place_bytes(p, "saved_bytes", NULL, &option->saved_bytes) &&
           place_bytes(p, "forward_extra_bytes", &stage->forward_extra_bytes,
                       &option->forward_extra_bytes) &&
           place_bytes(p, "backward_extra_bytes", &no_bytes, &option->backward_extra_bytes);
}

/* The options of a stage: those of its list, or the one that stands in the stage itself. */
static bool read_options(const place *p, json_t *list, remat_chain_stage *stage,
                         remat_chain_option *options)
{
    static const char *const keys[] = {
        "description",         "forward", "backward", "saved_bytes", "forward_extra_bytes",
        "backward_extra_bytes"};
    char name[96];
    snprintf(name, sizeof name, "%s.options", p->name);
    bool ok = list != NULL || read_option(p, stage, options);
    for (size_t k = 0; ok && k < json_array_size(list); k++) {
        place option;
        ok = place_enter(list, name, k, p->fault, &option) &&
             place_allows(&option, keys, sizeof keys / sizeof *keys) &&
             read_option(&option, stage, &options[k]);
    }
    stage->options = options;
    return ok;
}

/* How many stages and options an entry of the list stands for. */
static bool count_entry(const place *p, uint64_t *repeat, size_t *n_options, json_t **list)
{
    static const char *const keys[] = {
        "name",           "description",         "repeat",   "forward",     "bytes",
        "gradient_bytes", "forward_extra_bytes", "backward", "saved_bytes", "backward_extra_bytes",
        "options"};
    static const char *const apart[] = {"backward", "saved_bytes", "backward_extra_bytes"};
    static const uint64_t once = 1;
    if (!place_allows(p, keys, sizeof keys / sizeof *keys) ||
        !place_whole(p, "repeat", &once, repeat) || !place_list(p, "options", false, list))
        return false;
    for (size_t k = 0; *list && k < sizeof apart / sizeof *apart; k++)
        if (json_object_get(p->object, apart[k]))
            return refuse(p->fault, "%s has \"options\", so \"%s\" belongs into them", p->name,
                          apart[k]);
    *n_options = *list ? json_array_size(*list) : 1;
    if (*n_options < 1 || *n_options > REMAT_CHAIN_MAX_OPTIONS)
        return refuse(p->fault, "%s.options has %zu items, not 1 to %d", p->name, *n_options,
                      REMAT_CHAIN_MAX_OPTIONS);
    return *repeat <= REMAT_CHAIN_MAX_STAGES ||
           refuse(p->fault, "%s.repeat is more than %d", p->name, REMAT_CHAIN_MAX_STAGES);
}

static bool allocate(input *in, size_t n_stages, size_t n_options, json_fault *f)
{
    in->stages = calloc(n_stages, sizeof *in->stages);
    in->options = calloc(n_options, sizeof *in->options);
    in->activation_bytes = calloc(n_stages + 1, sizeof *in->activation_bytes);
    in->gradient_bytes = calloc(n_stages + 1, sizeof *in->gradient_bytes);
    in->stage_names = calloc(n_stages, sizeof *in->stage_names);
    return (in->stages && in->options && in->activation_bytes && in->gradient_bytes &&
            in->stage_names) ||
           refuse(f, "not enough memory");
}

/* Counts first, so that everything can be allocated at once. */
static bool prepare(const place *top, json_t *list, input *in)
{
    size_t n_stages = 0, n_options = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        place p;
        json_t *options;
        uint64_t repeat;
        size_t n;
        if (!place_enter(list, "stages", i, top->fault, &p) ||
            !count_entry(&p, &repeat, &n, &options))
            return false;
        n_stages += (size_t)repeat;
        n_options += n;
        if (n_stages > REMAT_CHAIN_MAX_STAGES)
            break;
    }
    in->own.n_stages = (uint32_t)n_stages;
    return check_length(top->fault, n_stages, "stages") &&
           allocate(in, n_stages, n_options, top->fault);
}

static bool read_entry(const place *p, input *in, size_t *n_stages, size_t *n_options)
{
    json_t *list;
    uint64_t repeat;
    size_t n, bytes, gradient_bytes;
    remat_chain_stage stage = {0};
    const char *name;
    bool ok = count_entry(p, &repeat, &n, &list) && place_text(p, "name", &name) &&
              place_real(p, "forward", NULL, &stage.forward_cost) &&
              place_bytes(p, "bytes", NULL, &bytes) &&
              place_bytes(p, "gradient_bytes", &bytes, &gradient_bytes) &&
              place_bytes(p, "forward_extra_bytes", &no_bytes, &stage.forward_extra_bytes) &&
              read_options(p, list, &stage, in->options + *n_options);
    if (!ok)
        return false;
    stage.n_options = (uint32_t)n;
    *n_options += n;
    for (; repeat > 0; repeat--) {
        in->stage_names[*n_stages] = name;
        in->stages[(*n_stages)++] = stage;
        in->activation_bytes[*n_stages] = bytes;
        in->gradient_bytes[*n_stages] = gradient_bytes;
    }
    return true;
}

bool input_read_stages(const place *top, input *in)
{
    static const char *const keys[] = {"description", "input_bytes", "input_gradient_bytes",
                                       "stages"};
    json_t *list;
    size_t n_stages = 0, n_options = 0;
    in->kind = INPUT_CHAIN;
    if (!place_allows(top, keys, sizeof keys / sizeof *keys) ||
        !place_list(top, "stages", true, &list) || !prepare(top, list, in) ||
        !place_bytes(top, "input_bytes", NULL, in->activation_bytes) ||
        !place_bytes(top, "input_gradient_bytes", in->activation_bytes, in->gradient_bytes))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        place p;
        if (!place_enter(list, "stages", i, top->fault, &p) ||
            !read_entry(&p, in, &n_stages, &n_options))
            return false;
    }
    in->own.stages = in->stages;
    in->own.activation_bytes = in->activation_bytes;
    in->own.gradient_bytes = in->gradient_bytes;
    in->chain = &in->own;
    return true;
}
