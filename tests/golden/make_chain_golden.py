#!/usr/bin/env python3
"""Writes tests/data/chain_golden.txt and tests/data/revolve_golden.txt from reference optima.

usage: make_chain_golden.py hetero_chain.json revolve_optimal.csv tests/data

The optima were computed by reference programs written from the mathematics only: an exact
step-function recurrence that agrees with a dense table and with exhaustive search, and for the
homogeneous chain a closed form that agrees with dynamic programming and exhaustive search.
"""
import csv
import json
import os
import sys

CHAIN_HEADER = """\
# Optimal costs of heterogeneous chains, computed by reference programs written from the mathematics
# only (step functions = dense table = exhaustive search). Made by make_chain_golden.py.
# Per chain: its name and n; the arrays; smallest budgets (persistent, without replay, with holes);
# all breakpoints "budget cost" of the persistent optimum; cases "budget persistent holes any":
# optimum of persistent orders, a cost that orders with holes reach, optimum of all orders.
# inf: infeasible, -: not computed.
"""
REVOLVE_HEADER = """\
# Homogeneous chain of n steps with s slots (that of the first state included): r, plain forward
# steps, all forward steps; and all forward steps of mixed schedules (-: not computed). From
# reference programs written from the mathematics only. Made by make_chain_golden.py.
"""


def number(value):
    return "inf" if value is None else str(value)


def write_chains(source, out):
    out.write(CHAIN_HEADER)
    for chain in json.load(source)["chains"]:
        out.write(f"chain {chain['id']} {chain['n']}\n")
        for name in ("uf", "ub", "wabar", "of", "ob", "wa", "wd"):
            out.write(f"{name} {' '.join(map(str, chain[name]))}\n")
        least = ("min_budget_persistent", "min_budget_no_recompute", "min_budget_holes")
        out.write(f"least {' '.join(number(chain[key]) for key in least)}\n")
        points = " ".join(f"{budget} {cost}" for budget, cost in chain["curve"])
        out.write(f"curve {len(chain['curve'])} {points}\n")
        out.write(f"cases {len(chain['cases'])}\n")
        for case in chain["cases"]:
            anywhere = number(case["opt_unrestricted"]) if "opt_unrestricted" in case else "-"
            out.write(f"{case['budget']} {number(case['opt_persistent'])} "
                      f"{number(case['achievable_holes'])} {anywhere}\n")


def write_revolve(source, out):
    out.write(REVOLVE_HEADER)
    for row in csv.reader(list(source)[1:]):
        out.write(" ".join(cell or "-" for cell in row) + "\n")


def main():
    chains, revolve, folder = sys.argv[1:]
    with open(chains) as source, open(os.path.join(folder, "chain_golden.txt"), "w") as out:
        write_chains(source, out)
    with open(revolve) as source, open(os.path.join(folder, "revolve_golden.txt"), "w") as out:
        write_revolve(source, out)


main()
