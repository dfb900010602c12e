# shellcheck shell=sh
# debian-packages.sh - sourced by the run.sh scripts: names what is missing and installs it.
#   want gcc --or cc    a package, which the command cc can stand for
#   want zlib1g-dev     a package
#   install_wanted      what was wanted and is not there, after saying so

wanted=''

want() {
    if [ "${2-}" = --or ] && command -v "$3" >/dev/null; then
        return
    fi
    if ! dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; then
        wanted="$wanted $1"
    fi
}

install_wanted() {
    packages=$wanted
    wanted=''
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "Not a Debian system. Needed are what Debian calls:$packages"
        return 0
    fi
    echo "Missing; will be installed with apt-get:$packages"
    as_root=''
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    # shellcheck disable=SC2086 # lists of words
    $as_root apt-get update -q &&
        $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qy --no-install-recommends $packages
}

want_build_tools() {
    want gcc --or cc
    want libc6-dev
    want cmake --or cmake
    want make --or make
    want pkg-config --or pkg-config
    want libopenblas-dev
    want zlib1g-dev
    want libjansson-dev
}
