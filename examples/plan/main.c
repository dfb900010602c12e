/* main.c - a planner for the command line: what to keep, drop and compute again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "subject.h"

const char program_name[] = "plan";

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct text {
    char *data;
    size_t bytes, capacity;
} text;

static bool read_all(FILE *file, text *t)
{
    do {
        if (t->bytes == t->capacity) {
            size_t capacity = t->capacity ? 2 * t->capacity : 65536;
            char *grown = realloc(t->data, capacity);
            if (grown == NULL)
                return false;
            t->data = grown;
            t->capacity = capacity;
        }
        t->bytes += fread(t->data + t->bytes, 1, t->capacity - t->bytes, file);
    } while (!feof(file) && !ferror(file));
    return !ferror(file);
}

static bool load(const char *path, text *t)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    errno = 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    bool ok = file != NULL && read_all(file, t);
    if (!ok)
        fail("cannot read %s: %s", path, strerror(errno));
    if (file != NULL && !is_stdin)
        fclose(file);
    return ok;
}

static bool plan_input(const options *o)
{
    static bool (*const planners[])(const options *, const input *) = {
        [INPUT_CHAIN] = plan_chain, [INPUT_PROBLEM] = plan_problem, [INPUT_STEPS] = plan_steps};
    text t = {0};
    input in;
    json_fault f;
    bool ok = load(o->input, &t) &&
              (input_parse(t.data, t.bytes, &in, &f) || fail("%s: %s", o->input, f.text));
    free(t.data);
    if (!ok)
        return false;
    ok = o->actions == 0 || in.kind == INPUT_STEPS || fail("--actions goes with equal steps only");
    ok = ok && planners[in.kind](o, &in);
    input_release(&in);
    return ok;
}

int main(int argc, char **argv)
{
    options o;
    options_result parsed = options_parse(argc, argv, &o);
    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_HELP_SHOWN ? EXIT_OK : EXIT_USAGE;
    bool ok = o.input ? plan_input(&o) : plan_network(&o);
    if (fflush(stdout) != 0 || ferror(stdout))
        ok = fail("stdout could not be written: %s", strerror(errno));
    return ok ? EXIT_OK : EXIT_FAILED;
}
