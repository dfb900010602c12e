#!/bin/sh
# plan.sh <plan> <examples/data>: runs the example as its users would, right and wrong.
set -u
plan=$1
samples=$2/../plan
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
    "$plan" "$@" >"$work/out" 2>"$work/err"
    found=$?
    [ "$found" -eq "$status" ] || complain "exit status $found, not $status: plan $*"
    if [ "$status" -eq 0 ]; then
        grep -q -e "$pattern" "$work/out" || complain "no '$pattern' on stdout: plan $*"
        [ ! -s "$work/err" ] || complain "something on stderr: plan $*"
    else
        grep -q -e "$pattern" "$work/err" || complain "no '$pattern' on stderr: plan $*"
    fi
}

# ---- Command line
expect 0 '--time-limit' --help
expect 2 'try --help' --no-such-option
expect 2 'Name a FILE or a --network'
expect 2 'leave one out' --network mlp "$samples/dag.json"
expect 2 'unexpected argument' "$samples/dag.json" stray
expect 2 'network is mlp' --network gan
for option in layers width batch sequence points; do
    expect 2 "$option wants a whole number" --$option 0
    expect 2 "$option wants a whole number" --$option 3x
done
expect 2 'actions wants a whole number' --actions 0
expect 2 'layers of unet: at most 12' --network unet --layers 13
expect 2 'strategy is auto' --strategy best
expect 2 'effort is fast' --effort much
expect 2 'time-limit must be' --time-limit 0
expect 2 'time-limit wants a number' --time-limit soon
expect 2 'budget wants a size' --budget 12XB
expect 2 'go with --network' --width 8 "$samples/dag.json"
expect 2 'go with --network' --dot - "$samples/dag.json"
expect 2 'go with --network' --print-plan "$samples/dag.json"
expect 2 'add --sweep' --svg - "$samples/dag.json"
expect 2 'leave --budget out' --sweep --budget 50% "$samples/dag.json"
expect 2 'makes no plan' --sweep --schedule - "$samples/dag.json"
expect 1 'cannot read' "$work/nowhere.json"
expect 1 'cannot write' --schedule "$work/nowhere/s" "$samples/dag.json"
expect 1 'cannot write' --sweep --csv "$work/nowhere/s" "$samples/chain.json"

# ---- What is no input: refuse PATTERN JSON
refuse() {
    printf '%s' "$2" >"$work/wrong.json"
    expect 1 "wrong.json: .*$1" "$work/wrong.json"
}
refuse 'line 1' ''
refuse 'line 1' '{"uf": [1,]}'
refuse 'line 1, .*duplicate' '{"slots": 1, "slots": 2}'
refuse 'line 1' '{"equal_steps": 3, "slots": 1e999}'
refuse 'line 1' '{"equal_steps": 99999999999999999999, "slots": 1}'
refuse 'not an object' '[1]'
refuse 'neither "tasks"' '{}'
refuse 'description is not a text' '{"description": 1}'

refuse 'unknown key "fb"' '{"uf": [1], "ub": [1], "wa": [1, 1], "wabar": [1], "fb": 1}'
refuse 'no "ub"' '{"uf": [1], "wa": [1, 1], "wabar": [1]}'
refuse '"wa" has 1 items, not 2' '{"uf": [1], "ub": [1], "wa": [1], "wabar": [1]}'
refuse 'uf\[1\] is not a number' '{"uf": [1, "a"], "ub": [1, 1], "wa": [1, 1, 1], "wabar": [1, 1]}'
refuse 'wa\[1\] is not a whole number' '{"uf": [1], "ub": [1], "wa": [1, -1], "wabar": [1]}'
refuse 'wa\[0\] is not a size' '{"uf": [1], "ub": [1], "wa": ["1 XB", 1], "wabar": [1]}'
refuse '1 to 4096 stages' '{"uf": [], "ub": [], "wa": [1], "wabar": []}'
refuse 'stage 0.*negative' '{"uf": [-1], "ub": [1], "wa": [1, 1], "wabar": [1]}'
refuse 'stage 1.*fewer bytes' '{"uf": [1, 1], "ub": [1, 1], "wa": [1, 1, 2], "wabar": [1, 1]}'
big=9000000000000000000
refuse 'stage .*bytes' \
    '{"uf": [1], "ub": [1], "wa": ['$big', '$big'], "wabar": ['$big'], "wd": [1, '$big']}'

stage='"forward": 1, "bytes": 1'
refuse '1 to 4096 stages' '{"stages": [], "input_bytes": 1}'
refuse '1 to 4096 stages' '{"stages": [{"repeat": 0, '"$stage"'}], "input_bytes": 1}'
refuse 'repeat is more than' '{"stages": [{"repeat": 4097, '"$stage"'}], "input_bytes": 1}'
refuse 'stages\[0\] is not an object' '{"stages": [1], "input_bytes": 1}'
refuse 'stages\[0\] has no "backward"' '{"stages": [{'"$stage"'}], "input_bytes": 1}'
refuse 'stages\[0\].options has 0' '{"stages": [{"options": [], '"$stage"'}], "input_bytes": 1}'
refuse 'options\[0\] has no "saved_bytes"' \
    '{"stages": [{"options": [{"backward": 1}], '"$stage"'}], "input_bytes": 1}'
refuse '"saved_bytes" belongs into them' \
    '{"stages": [{"options": [{"backward": 1}], "saved_bytes": 2, '"$stage"'}], "input_bytes": 1}'
refuse 'has no "input_bytes"' '{"stages": [{"backward": 1, "saved_bytes": 1, '"$stage"'}]}'

values='"values": {"a": 1, "b": "2 B"}'
refuse '"values" is missing' '{"tasks": []}'
refuse '"tasks" is empty' '{"tasks": [], '"$values"'}'
refuse 'tasks\[0\] has no "cost"' '{"tasks": [{"name": "f"}], '"$values"'}'
refuse 'tasks\[0\].*negative' '{"tasks": [{"cost": -1}], '"$values"'}'
refuse 'there is no value "c"' '{"tasks": [{"cost": 1, "reads": ["c"]}], '"$values"'}'
refuse 'reads\[0\] is not the name' '{"tasks": [{"cost": 1, "reads": [0]}], '"$values"'}'
refuse 'tasks\[0\] (f).*no earlier task makes' \
    '{"tasks": [{"name": "f", "cost": 1, "reads": ["a"]}], '"$values"'}'
refuse 'names before' '{"tasks": [{"cost": 1, "writes": ["a", "a"]}], '"$values"'}'
refuse 'only backward tasks add' '{"tasks": [{"cost": 1, "adds": ["a"]}], '"$values"'}'
refuse 'forward tasks must be' '{"tasks": [{"cost": 1, "backward": true}, {"cost": 1}], '"$values"'}'
refuse 'values.a: .*cannot be addressed' \
    '{"values": {"b": 9000000000000000000, "c": 9000000000000000000, "a": 9000000000000000000},
      "tasks": []}'
refuse 'neither true nor false' '{"tasks": [{"cost": 1, "once": 1}], '"$values"'}'

refuse 'not from 1 to' '{"equal_steps": 0, "slots": 1}'
refuse 'not from 1 to' '{"equal_steps": 1099511627777, "slots": 1}'
refuse 'need at least one' '{"equal_steps": 2, "slots": 0}'
refuse 'take too long' '{"equal_steps": 32768, "slots": 1000, "mixed": true}'
refuse 'take too long' '{"equal_steps": 32769, "slots": 1, "mixed": true}'
expect 1 'leave --budget' --budget 5MB "$samples/steps.json"
expect 1 'actions goes with equal steps' --actions 5 "$samples/dag.json"
expect 1 'auto or all' --strategy sqrt "$samples/chain.json"

# ---- Chains
expect 0 'with holes .* 13.90 ' --budget 50% "$samples/chain.json"
expect 0 'persistent .* 14.85 ' --budget 50% --strategy all "$samples/chain.json"
expect 0 'smallest budget: 15282176 bytes' "$samples/chain.json"
expect 1 'smallest budget is 15282176 bytes' --budget 15282175 "$samples/chain.json"
expect 0 ' 15282176 .* 85.62 ' --budget 15282176 "$samples/chain.json"
expect 0 ' 1012 .* 100.0  *0.00 ' --sweep "$samples/rotor.json"
expect 0 '^store 1 0$' --budget 672 --schedule - "$samples/rotor.json"
grep -c '^backward' "$work/out" | grep -qx 4 || complain 'not four backward runs'
expect 0 'stages' --effort fast --budget 60% "$samples/chain.json"

# ---- Tasks
expect 0 'smallest budget: [0-9]* bytes' "$samples/dag.json"
smallest=$(sed -n 's/smallest budget: \([0-9]*\) bytes.*/\1/p' "$work/out")
expect 0 ' [1-9][0-9]* *[0-9.]*$' --budget "$smallest" "$samples/dag.json"
expect 1 "smallest budget found is $smallest bytes" --budget $((smallest - 1)) "$samples/dag.json"
expect 0 '^greedy' --strategy all --budget 80% "$samples/dag.json"
expect 1 'no strategy fits' --strategy all --budget 1 "$samples/dag.json"
expect 0 '^replay [0-9]* ' --budget "$smallest" --schedule - "$samples/dag.json"
awk '$1 == "run" { n++ } END { exit n != 22 }' "$work/out" || complain 'not 22 first runs'
expect 0 'keep-all$' --sweep --points 4 --svg "$work/curve.svg" --csv "$work/curve.csv" \
    "$samples/dag.json"
grep -q '</svg>' "$work/curve.svg" || complain 'no curve in --svg'
head -1 "$work/curve.csv" | grep -q '^arena_bytes,' || complain 'no curve in --csv'
"$plan" - <"$samples/dag.json" | grep -q '^keep-all' || complain 'stdin is not read'

# ---- Equal steps
expect 0 ' 5851005 ' "$samples/steps.json"
expect 0 ' 942809245 ' --sweep "$samples/steps.json"
expect 0 '^store 0 0$' --schedule - --actions 100 "$samples/steps.json"
wc -l <"$work/out" | grep -qx ' *100' || complain 'not 100 actions'
echo '{"equal_steps": 20, "slots": 3, "mixed": true}' >"$work/mixed.json"
expect 0 '^tape [0-9]* [0-2]$' --schedule - "$work/mixed.json"
awk '/^adjoint/ { n++; if ($2 != 20 - n) exit 1 } END { exit n != 20 }' "$work/out" ||
    complain 'adjoints are not in order'
echo '{"equal_steps": 1099511627776, "slots": 100}' >"$work/huge.json"
expect 0 '^adjoint 1099511627775$' --schedule - --actions 1000 "$work/huge.json"

# ---- Networks
for network in mlp transformer unet resnet; do
    expect 0 '^keep-all' --network $network --layers 3 --width 64 --batch 2 --sequence 16
    smallest=$(sed -n 's/smallest budget: \([0-9]*\) bytes.*/\1/p' "$work/out")
    expect 0 'statements$' --network $network --layers 3 --width 64 --batch 2 --sequence 16 \
        --budget "$smallest" --svg "$work/svg" --csv "$work/csv" --dot "$work/dot" \
        --schedule "$work/schedule" --print-plan
    grep -q '</svg>' "$work/svg" || complain "no picture of $network"
    [ "$(wc -l <"$work/csv")" -gt 10 ] || complain "no numbers of $network"
    grep -q '^digraph' "$work/dot" || complain "no graph of $network"
    grep -q '^run ' "$work/schedule" || complain "no schedule of $network"
    expect 1 'smallest arena found' --network $network --layers 3 --width 64 --batch 2 \
        --sequence 16 --budget 1
    expect 0 'keep-all$' --network $network --layers 2 --width 32 --sweep --points 5
done
expect 1 'lower --layers' --network transformer --width 1000000 --batch 1000000 --sequence 1000000

[ "$failures" -eq 0 ] || exit 1
echo 'plan: all as expected'
