#!/bin/sh
# symbols.sh LIBREMAT CORE: looks into the archives and fails with the names of
#   - external symbols that are neither remat_* nor checkpoint_segment
#   - mutable globals, thread-local ones included
#   - calls by which a library would end the process, print or seed
#   - symbols that the core takes from the wing or from BLAS.
# NM and OBJDUMP name the tools. For builds without instrumentation: that adds symbols of its own.
set -eu
library=$1 core=$2
failed=0

complain() { # complain "what is wrong" "names, one per line, or nothing"
    if [ -n "$2" ]; then
        printf '%s:\n%s\n' "$1" "$2"
        failed=1
    fi
}

# "U name" for what is needed, "<letter> name" for what is defined.
symbols() { "${NM:-nm}" -g -P "$1" | awk 'NF >= 2 { print $2, $1 }' | sort -u; }
defined() { symbols "$1" | sed -n 's/^[^Uwv] //p'; }
undefined() { symbols "$1" | sed -n 's/^U //p'; }

names=$(defined "$library")
[ -n "$names" ] || complain 'no symbols found in' "$library"
complain 'external symbols without the prefix remat_' \
    "$(echo "$names" | grep -Ev '^(remat_[a-z0-9_]+|checkpoint_segment)$' || true)"

complain 'mutable globals (section, name)' \
    "$("${OBJDUMP:-objdump}" -t "$library" | awk '
        / O ([.](data|bss)|[*]COM[*])/ && !/ O [.]data[.]rel[.]ro/ ||
        /[ \t][.]t(data|bss)/ && $NF !~ /^[.]/ { print $(NF - 2), $NF }')"

complain 'calls that are no business of a library' \
    "$(undefined "$library" | grep -Ex \
        '(__)?(v?printf|puts|putchar|perror)(_chk)?|stdout|stderr|abort|_?exit|_Exit|s?rand|srandom' ||
        true)"

complain 'the core needs from outside' \
    "$(undefined "$core" | grep -E '^(remat_|cblas_|openblas_|checkpoint_)' |
        grep -Fvx "$(defined "$core")" || true)"

exit $failed
