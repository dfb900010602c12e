#!/usr/bin/env python3
"""bench_mlp against torch_mlp.py: both run in turn, A B A B, over some rounds, so that a slow phase
of the machine meets both. Prints a table of wall times per step and of the ratio of processor times
(steadier on a busy machine); fails if the losses do not agree.

    compare_torch.py BENCH_MLP [--cases deep,wide,tiny,narrow] [--threads N] [--rounds N]
                     [--python PYTHON] [--json FILE]

Both run in an environment that is good to PyTorch: the C library keeps freed memory and asks for
huge pages, and idle threads of the two pools (OpenMP's, OpenBLAS's) stop spinning early.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HUGE = 1 << 40
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"
    f":glibc.malloc.mmap_threshold={HUGE}:glibc.malloc.trim_threshold={HUGE}"
    f":glibc.malloc.top_pad={64 << 20}",
    "GOMP_SPINCOUNT": "20000",
    "OPENBLAS_THREAD_TIMEOUT": "14",
}
# case: timed steps, warm-up steps, the mark that the ratio should not exceed on one thread
CASES = {
    "deep": (6, 2, 0.97),
    "wide": (5, 2, 0.97),
    "tiny": (2000, 300, 0.60),
    "narrow": (25, 5, 0.10),
    "mnistfc": (50, 10, None),
}
AGREEMENT = 1e-4  # relative, of the losses


def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL)
        if found.returncode == 0:
            return python
    return None


def run(command, threads):
    counts = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command, env={**os.environ, **ENVIRONMENT, **counts}, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def agree(ours, theirs):
    pairs = [(ours[key], theirs[key]) for key in ("loss_first", "loss_last")]
    return all(abs(a - b) <= AGREEMENT * abs(b) for a, b in pairs)


def compare(case, args):
    """Runs the rounds of a case; returns a row of the table."""
    steps, warmup, mark = CASES[case]
    common = ["--case", case, "--threads", str(args.threads)]
    common += ["--steps", str(steps), "--warmup", str(warmup)]
    torch_script = str(pathlib.Path(__file__).with_name("torch_mlp.py"))
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(run([args.bench_mlp, *common], args.threads))
        theirs.append(run([args.python, torch_script, *common], args.threads))
    medians = [statistics.median(r["median_ms"] for r in runs) for runs in (ours, theirs)]
    ratios = [a["median_ms"] / b["median_ms"] for a, b in zip(ours, theirs)]
    cpu_ratios = [a["cpu_ms"] / b["cpu_ms"] for a, b in zip(ours, theirs)]
    return {
        "bench": "compare_torch",
        "case": case,
        "threads": args.threads,
        "rounds": args.rounds,
        "remat_ms": medians[0],
        "torch_ms": medians[1],
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "cpu_ratio": statistics.median(cpu_ratios),
        "mark": mark if args.threads == 1 else None,
        "losses_agree": all(agree(a, b) for a, b in zip(ours, theirs)),
        "loss_last": [ours[-1]["loss_last"], theirs[-1]["loss_last"]],
        "remat_resident_mb": ours[-1]["peak_resident_bytes"] / 2**20,
        "torch_resident_mb": theirs[-1]["peak_resident_bytes"] / 2**20,
    }


def show(row):
    mark = f"{row['mark']:5.2f}" if row["mark"] is not None else "    -"
    cpu = f"{row['cpu_ratio']:6.3f}"
    print(
        f"{row['case']:8} {row['threads']:7} {row['remat_ms']:11.4f} {row['torch_ms']:11.4f}"
        f" {row['ratio']:6.3f} ({row['ratio_min']:.3f}-{row['ratio_max']:.3f}) {mark} {cpu}"
        f"  {'yes' if row['losses_agree'] else 'NO: %.9g, %.9g' % tuple(row['loss_last'])}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench_mlp")
    parser.add_argument("--cases", default="deep,wide,tiny,narrow")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=python_with_torch(), help="the one that has torch")
    parser.add_argument("--json", metavar="FILE", help="append one JSON object per case")
    args = parser.parse_args()
    if args.python is None:
        sys.exit("no python with torch was found (Debian: python3-torch), so nothing to compare")
    print("case     threads    remat ms    torch ms  ratio (per round)    mark    cpu  losses agree")
    rows = []
    for case in args.cases.split(","):
        rows.append(compare(case, args))
        show(rows[-1])
        if args.json:
            with open(args.json, "a", encoding="utf-8") as out:
                print(json.dumps(rows[-1]), file=out)
    sys.exit(not all(row["losses_agree"] for row in rows))


main()
