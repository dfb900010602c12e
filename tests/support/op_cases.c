/* op_cases.c - the families of the conformance table, numbered through. */
#include "support/op_cases.h"

#include <string.h>

static const op_case_table *const tables[] = {
    &op_product_cases, &op_elementwise_cases, &op_row_cases, &op_shape_cases, &op_loss_cases,
};
enum { n_tables = sizeof(tables) / sizeof(tables[0]) };

size_t op_case_count(void)
{
    size_t count = 0;
    for (size_t t = 0; t < n_tables; t++)
        count += tables[t]->count;
    return count;
}

const op_case *op_case_at(size_t index)
{
    for (size_t t = 0; t < n_tables; t++) {
        if (index < tables[t]->count)
            return &tables[t]->rows[index];
        index -= tables[t]->count;
    }
    return NULL;
}

const op_case *op_case_find(const char *name)
{
    for (size_t i = 0; i < op_case_count(); i++) {
        if (strcmp(op_case_at(i)->name, name) == 0)
            return op_case_at(i);
    }
    return NULL;
}
