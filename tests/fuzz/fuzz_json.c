/* fuzz_json.c - arbitrary bytes as a file for examples/plan: refused with a reason, or read into
 * something that the library accepts or refuses in turn. */
#include <string.h>

#include "core/support/fake_ops.h"
#include "fuzz/fuzz.h"
#include "plan/input.h"

enum { MOST_STAGES = 24 }; /* solving more takes too long to try often */

size_t fuzz_accepted;
const char program_name[] = "fuzz_json";

static void solve(const remat_chain *chain)
{
    remat_chain_solution *solution = NULL;
    remat_chain_fault fault;
    remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    settings.max_points = 8;
    for (uint32_t i = 0; i < chain->n_stages; i++)
        fake_require(chain->stages[i].n_options > 0 && chain->stages[i].options);
    if (chain->n_stages > MOST_STAGES)
        return;
    remat_status status = remat_chain_solve(NULL, chain, &settings, &solution, &fault);
    fake_require((status == REMAT_OK) == (fault.text == NULL));
    remat_chain_solution_destroy(solution);
}

static void check(const input *in)
{
    fuzz_accepted++;
    switch (in->kind) {
    case INPUT_CHAIN:
        fake_require(in->chain && in->stage_names);
        solve(in->chain);
        break;
    case INPUT_PROBLEM:
        fake_require(in->problem && in->n_tasks > 0);
        for (size_t i = 0; i < in->n_values; i++)
            fake_require(in->value_names[i]);
        break;
    case INPUT_STEPS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in;
    json_fault fault;
    if (input_parse((const char *)data, size, &in, &fault)) {
        check(&in);
        input_release(&in);
    } else {
        fake_require(fault.text[0] != '\0' && memchr(fault.text, '\0', sizeof fault.text));
    }
    return 0;
}
