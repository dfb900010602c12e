/* fuzz_plan_text.c - reads arbitrary bytes as the text of a plan, as they are and with hashes that
 * fit: refused with a message, or a plan whose step has the right bits. */
#include <string.h>

#include "core/support/plan_text.h"
#include "fuzz/fuzz.h"

size_t fuzz_accepted;
static plan_subject subjects[PLAN_SUBJECT_KINDS];

static void load(plan_subject *s, plan_text text)
{
    remat_plan *plan = NULL;
    remat_status status = plan_subject_load(s, text, &plan);
    if (status != REMAT_OK) {
        fake_require(!plan && remat_tape_message(s->net.tape)[0]);
        return;
    }
    fuzz_accepted++;
    fake_require(plan_subject_agrees(s, plan));
    plan_text saved = plan_text_of(plan);
    remat_plan_destroy(plan);
    plan = NULL;
    fake_require(plan_subject_load(s, saved, &plan) == REMAT_OK);
    plan_text_release(&saved);
    remat_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!subjects[0].net.tape)
        for (int kind = 0; kind < PLAN_SUBJECT_KINDS; kind++)
            plan_subject_create(&subjects[kind], (plan_subject_kind)kind);
    plan_text text = plan_text_copy((const char *)data, size);
    load(&subjects[0], text);
    for (int kind = 0; kind < PLAN_SUBJECT_KINDS; kind++) {
        plan_text sealed = plan_text_seal(text, subjects[kind].text);
        load(&subjects[kind], sealed);
        plan_text_release(&sealed);
    }
    plan_text_release(&text);
    return 0;
}
