#!/bin/sh
# mlp.sh <mlp> <examples/data>: runs the example as its users would, right and wrong.
set -u
mlp=$1
digits=$2/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out" "$work/err"
    failures=$((failures + 1))
}

# expect STATUS PATTERN OPTIONS...: the exit status, and a line of the output that matches.
expect() {
    status=$1
    pattern=$2
    shift 2
    "$mlp" "$@" >"$work/out" 2>"$work/err"
    found=$?
    [ "$found" -eq "$status" ] || complain "exit status $found, not $status: mlp $*"
    if [ "$status" -eq 0 ]; then
        grep -q -e "$pattern" "$work/out" || complain "no '$pattern' on stdout: mlp $*"
        [ ! -s "$work/err" ] || complain "something on stderr: mlp $*"
    else
        grep -q -e "$pattern" "$work/err" || complain "no '$pattern' on stderr: mlp $*"
    fi
}

# ---- Command line
expect 0 '--learning-rate' --help
expect 2 'try --help' --no-such-option
expect 2 'unexpected argument' --steps 1 stray
for option in depth width batch epochs steps segment threads; do
    expect 2 "$option wants a whole number" --$option 0
    expect 2 "$option wants a whole number" --$option -1
    expect 2 "$option wants a whole number" --$option 3x
    expect 2 "$option wants a whole number" --$option 99999999999999999999
done
expect 2 'seed wants a whole number' --seed 18446744073709551616
expect 2 'dropout must be' --dropout 1
expect 2 'dropout must be' --dropout nan
expect 2 'dropout wants a number' --dropout ''
expect 2 'learning-rate must be' --learning-rate 0
expect 2 'learning-rate wants a number' --learning-rate fast
expect 2 'optimizer is' --optimizer lbfgs
expect 2 'strategy is' --strategy best
expect 2 'segment goes with' --strategy sqrt --segment 2
expect 2 'compare compares with keep-all' --strategy keep-all --compare
for size in '' 0 0% -1 1e6 64XB 64Mi 1.MB .5MB 50%% nan% 2000% 99999999999999999999 99999999TiB; do
    expect 2 'budget wants a size' --budget "$size"
done
expect 2 'leave --budget out' --sweep --budget 1MB
expect 2 'leave --compare and --print-plan out' --sweep --print-plan
expect 2 'leave --compare and --print-plan out' --sweep --compare

# ---- Data
expect 1 'cannot open' --data "$work/nowhere"
expect 1 'lower --batch' --data "$digits" --batch 1499

files='train-images-idx3-ubyte train-labels-idx1-ubyte
    t10k-images-idx3-ubyte t10k-labels-idx1-ubyte'
# fresh: a folder with good files, not gzipped.
fresh() {
    rm -rf "$work/data"
    mkdir "$work/data"
    for file in $files; do
        gzip -dc "$digits/$file.gz" >"$work/data/$file"
    done
}
# patch FILE OFFSET BYTES: overwrites bytes, written as for printf.
patch() {
    # shellcheck disable=SC2059
    printf "$3" | dd of="$work/data/$1" bs=1 seek="$2" conv=notrunc 2>"$work/dd"
}
# truncate FILE BYTES: keeps the first bytes only.
truncate() {
    dd if="$work/data/$1" of="$work/part" bs=1 count="$2" 2>"$work/dd"
    mv "$work/part" "$work/data/$1"
}
broken() { expect 1 "$1" --data "$work/data" --steps 1; }

fresh
expect 0 'test accuracy' --data "$work/data" --steps 1
for file in $files; do
    fresh
    patch "$file" 2 '\015'
    broken "$file is not an IDX file"
    for bytes in 0 3 6 40; do
        fresh
        truncate "$file" $bytes
        broken "$file is truncated"
    done
    fresh
    printf x >>"$work/data/$file"
    broken "$file has more data"
    fresh
    patch "$file" 4 '\377\377\377\377'
    broken "$file .*\(impossible size\|truncated\|not enough memory\)"
    fresh
    patch "$file" 4 '\000\000\000\000'
    broken "$file .*extent of 0"
    fresh
    gzip "$work/data/$file"
    truncate "$file.gz" 100
    broken "$file.gz is truncated"
    fresh
    gzip "$work/data/$file"
    patch "$file.gz" 60 'damaged here'
    broken "$file.gz is \(damaged\|truncated\)"
    fresh
    rm "$work/data/$file"
    broken "cannot open .*$file"
done
fresh
cp "$work/data/t10k-labels-idx1-ubyte" "$work/data/train-labels-idx1-ubyte"
broken '1498 images but .* 299 labels'
fresh
cp "$work/data/train-labels-idx1-ubyte" "$work/data/train-images-idx3-ubyte"
broken '1 extents where 3 are expected'
fresh
patch t10k-labels-idx1-ubyte 20 '\012'
broken 'test set has label 10, the training set only 0 to 9'
fresh
patch t10k-images-idx3-ubyte 8 '\000\000\000\004\000\000\000\020'
broken 'training images are 8 x 8 but test images 4 x 16'

# ---- Training
same='losses identical: yes'
expect 0 "$same" --data "$digits" --compare --depth 9 --width 24 --dropout 0.2 --steps 60
expect 0 "$same" --data "$digits" --compare --depth 9 --width 24 --segment 4 --optimizer momentum \
    --steps 60
expect 0 "$same" --data "$digits" --compare --depth 12 --width 16 --strategy sqrt --steps 60 \
    --optimizer adamw --dropout 0.1 --print-plan
expect 0 'strategy: keep-all, 0 replays' --data "$digits" --strategy keep-all --steps 20 \
    --optimizer sgd
expect 1 'no longer finite' --data "$digits" --optimizer sgd --learning-rate 1e6
expect 0 'test accuracy: \(9[6-9]\|100\)' --data "$digits"

# ---- Budgets
for budget in 40% 30kB '30.5 KiB' 32000; do
    expect 0 "$same" --data "$digits" --compare --depth 20 --width 32 --budget "$budget" --steps 40
    grep -q 'arena bytes, planned  *[0-9]*  *[0-9]*  *0\.[0-9]*x' "$work/out" ||
        complain "no memory saved under --budget $budget"
done
expect 0 'strategy: greedy, [1-9]' --data "$digits" --depth 20 --width 32 --budget 45% \
    --strategy greedy --steps 5
expect 0 'strategy: keep-all, 0 replays' --data "$digits" --budget 100% --steps 5
expect 1 'smallest arena found needs' --data "$digits" --budget 100 --steps 5
expect 0 ' 100.0  *0.00 .* keep-all$' --data "$digits" --depth 20 --sweep
expect 0 ' [1-9][0-9]*  *blocks$' --data "$digits" --depth 20 --sweep --plan-svg "$work/curve.svg"
grep -q '</svg>' "$work/curve.svg" || complain 'no curve in --plan-svg'
expect 0 'test accuracy' --data "$digits" --budget 80% --steps 5 --plan-svg "$work/plan.svg"
grep -q '</svg>' "$work/plan.svg" || complain 'no plan in --plan-svg'
expect 1 'cannot write' --data "$digits" --steps 5 --plan-svg "$work/nowhere/plan.svg"
expect 1 'cannot write' --data "$digits" --sweep --plan-svg "$work/nowhere/plan.svg"

# The same seed gives the same training, another one does not.
result() { "$mlp" --data "$digits" --steps 30 "$@" | sed -n 's/ *[0-9.]* images.*//; /loss/p'; }
first=$(result --seed 5)
[ -n "$first" ] || complain 'no losses are printed'
[ "$first" = "$(result --seed 5)" ] || complain 'a seed does not repeat'
[ "$first" != "$(result --seed 6)" ] || complain 'seeds do not differ'

[ "$failures" -eq 0 ] || exit 1
echo 'mlp: all as expected'
