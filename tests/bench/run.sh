#!/bin/sh
# run.sh: builds remat, runs every benchmark and, where a python3 has torch, the comparison with
# PyTorch. JSON lines go to build/release/bench.jsonl. For figures worth quoting nothing else may run.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
cmake --preset release
cmake --build --preset release --target bench
cat build/release/bench.jsonl
cmake --build --preset release --target bench-torch
