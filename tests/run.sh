#!/bin/sh
# run.sh [options of ctest]: builds remat and runs its tests. Installs what is missing on Debian,
# after saying so. REMAT_PRESET chooses another preset of CMakePresets.json: asan-ubsan, clang, ...
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
preset=${REMAT_PRESET:-release}
# shellcheck source=cmake/debian-packages.sh
. "$root/cmake/debian-packages.sh"

want_build_tools
want g++ --or c++
want libcmocka-dev
install_wanted

cd "$root"
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" "$@"
