#!/bin/sh
# run.sh [options of mlp]: builds remat and trains examples/mlp on Fashion-MNIST. Installs what is
# missing on Debian, after saying so.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/debian-packages.sh
. "$root/cmake/debian-packages.sh"

want_build_tools
install_wanted
want dataset-fashion-mnist
install_wanted || echo 'Fashion-MNIST could not be installed; mlp falls back to its bundled data.'

(cd "$root" && cmake --preset release && cmake --build --preset release --target mlp)
exec "$root/build/release/examples/mlp/mlp" "$@"
