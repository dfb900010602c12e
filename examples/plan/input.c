/* input.c - see input.h: which format it is, and the one of equal steps. */
#include "input.h"

#include <stdlib.h>

static bool read_steps(const place *top, input *in)
{
    static const char *const keys[] = {"description", "equal_steps", "slots", "mixed"};
    in->kind = INPUT_STEPS;
    return place_allows(top, keys, sizeof keys / sizeof *keys) &&
           place_whole(top, "equal_steps", NULL, &in->steps) &&
           place_whole(top, "slots", NULL, &in->slots) && place_flag(top, "mixed", &in->mixed);
}

static bool read_any(const place *top, input *in)
{
    if (!place_text(top, "description", &in->description))
        return false;
    if (json_object_get(top->object, "tasks"))
        return input_read_tasks(top, in);
    if (json_object_get(top->object, "stages"))
        return input_read_stages(top, in);
    if (json_object_get(top->object, "uf"))
        return input_read_arrays(top, in);
    if (json_object_get(top->object, "equal_steps"))
        return read_steps(top, in);
    return refuse(top->fault, "it has neither \"tasks\" nor \"stages\" nor \"uf\" nor "
                              "\"equal_steps\"");
}

bool input_parse(const char *text, size_t bytes, input *in, json_fault *f)
{
    json_error_t error;
    *in = (input){0};
    *f = (json_fault){""};
    in->root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (in->root == NULL)
        return refuse(f, "line %d, column %d: %s", error.line, error.column, error.text);
    const place top = {.object = in->root, .name = "the file", .fault = f};
    bool ok =
        json_is_object(in->root) ? read_any(&top, in) : refuse(f, "the file is not an object { }");
    if (!ok)
        input_release(in);
    return ok;
}

void input_release(input *in)
{
    remat_chain_destroy(in->from_arrays);
    remat_problem_destroy(in->problem);
    free(in->stages);
    free(in->options);
    free(in->activation_bytes);
    free(in->gradient_bytes);
    free(in->stage_names);
    free(in->task_names);
    free(in->value_names);
    json_decref(in->root);
    *in = (input){0};
}
