/* op_golden.c - the golden file, word by word. */
#include "support/op_golden.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { word_bytes = 64 };

/* The next word that is not in a comment; false at the end. */
static bool next_word(FILE *file, char *word)
{
    while (fscanf(file, "%63s", word) == 1) {
        if (word[0] != '#')
            return true;
        for (int c = fgetc(file); c != '\n' && c != EOF;)
            c = fgetc(file);
    }
    return false;
}

static remat_shape read_shape(const char *word)
{
    remat_shape shape = {0};
    if (strcmp(word, "scalar") == 0)
        return shape;
    for (const char *at = word; *at != '\0';) {
        char *end;
        assert_true(shape.ndim < REMAT_MAX_DIMS);
        shape.dims[shape.ndim++] = strtoll(at, &end, 10);
        assert_true(end != at && (*end == 'x' || *end == '\0'));
        at = *end == 'x' ? end + 1 : end;
    }
    return shape;
}

static void read_tensor(FILE *file, golden_tensor *tensor)
{
    char word[word_bytes];
    assert_false(tensor->present);
    tensor->present = true;
    assert_true(next_word(file, word));
    tensor->is_float = strcmp(word, "float") == 0;
    assert_true(tensor->is_float || strcmp(word, "i32") == 0);
    assert_true(next_word(file, word));
    tensor->shape = read_shape(word);
    const size_t count = (size_t)remat_shape_count(&tensor->shape);
    assert_non_null(tensor->elements = malloc(count * sizeof(double)));
    for (size_t i = 0; i < count; i++) {
        char *end;
        assert_true(next_word(file, word));
        tensor->elements[i] = strtod(word, &end);
        assert_true(end != word && *end == '\0');
    }
}

static golden_tensor *find_role(golden_case *golden, const char *word)
{
    const size_t length = strlen(word);
    const size_t index = (size_t)(word[length - 1] - '0');
    assert_true(length > 1 && index < OP_MAX_LEAVES && index < OP_MAX_OUT);
    if (strncmp(word, "leaf", length - 1) == 0)
        return &golden->leaf[index];
    if (strncmp(word, "result", length - 1) == 0)
        return &golden->result[index];
    if (strncmp(word, "upstream", length - 1) == 0)
        return &golden->upstream[index];
    assert_int_equal(strncmp(word, "gradient", length - 1), 0);
    return &golden->gradient[index];
}

bool golden_read(FILE *file, golden_case *golden)
{
    char word[word_bytes];
    *golden = (golden_case){0};
    if (!next_word(file, word))
        return false;
    assert_string_equal(word, "case");
    assert_true(next_word(file, golden->name));
    for (;;) {
        const long before = ftell(file);
        if (!next_word(file, word))
            return true;
        if (strcmp(word, "case") == 0)
            return fseek(file, before, SEEK_SET) == 0;
        read_tensor(file, find_role(golden, word));
    }
}

void golden_free(golden_case *golden)
{
    for (size_t i = 0; i < OP_MAX_LEAVES; i++) {
        free(golden->leaf[i].elements);
        free(golden->gradient[i].elements);
    }
    for (size_t k = 0; k < OP_MAX_OUT; k++) {
        free(golden->result[k].elements);
        free(golden->upstream[k].elements);
    }
    *golden = (golden_case){0};
}
