#!/bin/sh
# quickstart.sh <quickstart> <examples/data>: the README's program is the one that is built, and it
# learns.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^```c quickstart$/,/^```$/p' "$here/README.md" | sed '1d;$d' >"$work/readme.c"
diff "$work/readme.c" "$here/examples/quickstart/quickstart.c" || {
    echo 'FAILED: the program in README.md is not examples/quickstart/quickstart.c'
    exit 1
}

"$1" >"$work/out"
cat "$work/out"
grep -q '^plan segments: arena 1.05 MB (1048704 bytes), 24.6 % of keep-all' "$work/out" || {
    echo 'FAILED: the plan that README.md shows is another one'
    exit 1
}
first=$(sed -n 's/^step *0  loss //p' "$work/out")
last=$(sed -n 's/^step 500  loss //p' "$work/out")
awk "BEGIN { exit !($last < $first / 10) }" || {
    echo "FAILED: the loss went from $first to $last only"
    exit 1
}
