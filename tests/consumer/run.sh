#!/bin/sh
# run.sh BUILD_DIR WORK_DIR CONFIG: installs BUILD_DIR, moves the installed tree elsewhere, then
# builds and runs this folder's program against it, once with CMake and once with pkg-config.
# CC, CXX, CFLAGS and CXXFLAGS are those of the library. Fails if any of it does.
set -eu
build=$1 work=$2 config=$3
source=$(cd "$(dirname "$0")" && pwd)
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
: "${CXX:?a C++ compiler is needed}"

rm -rf "$work"
mkdir -p "$work"
DESTDIR='' cmake --install "$build" --config "$config" --prefix "$work/at-first"
mv "$work/at-first" "$work/moved"

echo '== CMake'
cmake -S "$source" -B "$work/cmake" -DCMAKE_BUILD_TYPE="$config" \
    -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_C_FLAGS="$CFLAGS $warnings" -DCMAKE_CXX_FLAGS="$CXXFLAGS $warnings"
cmake --build "$work/cmake" --config "$config"
"$work/cmake/consumer"

echo '== pkg-config'
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name remat.pc)")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags remat)
libs=$(pkg-config --libs remat)
cd "$work"
# shellcheck disable=SC2086 # flags are lists of words
{
    $CC -std=c11 $CFLAGS $warnings $flags -c "$source/main.c" -o main.o
    $CXX -std=c++17 $CXXFLAGS $warnings $flags -c "$source/headers.cpp" -o headers.o
    $CXX $CXXFLAGS main.o headers.o $libs -o consumer
}
./consumer
