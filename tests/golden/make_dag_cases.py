#!/usr/bin/env python3
"""Writes a data file of training DAGs with proven optima from its JSON original.

    python3 tests/golden/make_dag_cases.py ORIGINAL.json tests/data/NAME.txt

The original's optima come from programs written from the mathematics only: an exhaustive search over
sets of resident values, checked by two integer programming solvers. The tests read only the text.
"""

import json
import sys

HEADER = """\
# Training DAGs with optima for budgets, made by tests/golden/make_dag_cases.py from optima
# that programs written from the mathematics only computed (exhaustive search and, independently,
# integer programming). Format:
#   graph NAME NODES CASES
#   per node: bwd cost size workspace pinned n_deps dep...   (bwd 1: runs once; dep: earlier node)
#   per case: budget staged any
# staged: least cost of all runs, with first runs in the order of nodes and each node at most once
# between two first runs; any: least cost in any order. Nodes with bwd 1 run once. -1: infeasible,
# -2: unknown.
"""


def number(case, key):
    if key not in case:
        return -2
    return -1 if case[key] is None else case[key]


def main():
    graphs = json.load(open(sys.argv[1], encoding="utf-8"))["graphs"]
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(HEADER)
        for graph in graphs:
            out.write(f"graph {graph['id']} {len(graph['node'])} {len(graph['cases'])}\n")
            for i, node in enumerate(graph["node"]):
                row = [node["bwd"], node["cost"], node["size"], node["ws"],
                       int(i in graph["final_resident"]), len(node["deps"]), *node["deps"]]
                out.write(" ".join(map(str, row)) + "\n")
            for case in graph["cases"]:
                row = [case["budget"], number(case, "opt_staged_fwd_only"),
                       number(case, "opt_any_fwd_only")]
                out.write(" ".join(map(str, row)) + "\n")


main()
