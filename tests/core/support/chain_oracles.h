/* chain_oracles.h - slow optima of chains for tests, written apart from the solver. */
#ifndef TESTS_CORE_CHAIN_ORACLES_H
#define TESTS_CORE_CHAIN_ORACLES_H

#include "core/support/chain_cases.h"

enum { CHAIN_ORACLE_STAGES = 8, CHAIN_ORACLE_BYTES = 256 };

/* Least cost of persistent orders (or with holes) for every budget below CHAIN_ORACLE_BYTES, by the
 * recurrences over a dense table of bytes. At most CHAIN_ORACLE_STAGES stages. */
void chain_oracle_table(const remat_chain *chain, bool holes, double cost[CHAIN_ORACLE_BYTES]);

/* Least cost of any order at all within the budget, by search over all states of memory. At most 4
 * stages with 3 options each. INFINITY: nothing fits. */
double chain_oracle_search(const remat_chain *chain, size_t budget);

#endif
