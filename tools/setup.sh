#!/bin/sh
# SPDX-License-Identifier: MIT
# Finds what Lull needs and this machine lacks, and installs it with apt-get, saying what.
#
#   tools/setup.sh [--check] [build|ci]
#
#   build    (default) what building, testing and `make demo` need
#   ci       that, and what .ci/run needs besides: formatter, linters, the peers we compare with
#   --check  only says what is missing and how to get it (exit 1), installs nothing
#
# When nothing is missing it says nothing and touches neither network nor package database.
set -eu

check_only=0
want=build
for argument in "$@"; do
    case $argument in
    --check) check_only=1 ;;
    build | ci) want=$argument ;;
    *)
        echo "usage: tools/setup.sh [--check] [build|ci]" >&2
        exit 2
        ;;
    esac
done

missing_packages=
missing_names=

lacks() { # name of the thing, Debian's package of it
    missing_names="$missing_names $1"
    missing_packages="$missing_packages $2"
}

needs_program() { # program, package
    command -v "$1" >/dev/null 2>&1 || lacks "$1" "$2"
}

needs_library() { # pkg-config module, package
    if ! command -v pkg-config >/dev/null 2>&1 || ! pkg-config --exists "$1" 2>/dev/null; then
        lacks "$1" "$2"
    fi
}

needs_header() { # header, package
    echo "#include <$1>" | ${CC:-cc} -E - >/dev/null 2>&1 || lacks "$1" "$2"
}

find_missing() {
    missing_packages=
    missing_names=
    needs_program make make
    needs_program gcc gcc
    # gcc only recommends the C library's headers; the machine may have the one without the other.
    needs_header stdio.h libc6-dev
    needs_program python3 python3
    needs_program meson meson
    needs_program ninja ninja-build
    needs_program pkg-config pkg-config
    needs_library 'glib-2.0 >= 2.70' libglib2.0-dev
    needs_library json-c libjson-c-dev
    needs_library smartcols libsmartcols-dev
    needs_library libarchive libarchive-dev
    needs_library libtraceevent libtraceevent-dev
    needs_library libelf libelf-dev
    needs_library libdw libdw-dev
    needs_library libdebuginfod libdebuginfod-dev
    needs_library liblzma liblzma-dev
    needs_header libiberty/demangle.h libiberty-dev
    needs_library libmicrohttpd libmicrohttpd-dev
    needs_library gnutls libgnutls28-dev
    needs_program tsc node-typescript
    needs_program esbuild esbuild
    needs_library libtracefs libtracefs-dev
    needs_library lttng-ctl liblttng-ctl-dev
    needs_library 'libbpf >= 1.1' libbpf-dev
    needs_program clang clang
    needs_program llvm-strip llvm
    needs_library zlib zlib1g-dev
    needs_library libzstd libzstd-dev
    if [ "$want" = ci ]; then
        needs_program clang-format-19 clang-format-19
        needs_program cppcheck cppcheck
        needs_program shellcheck shellcheck
        needs_program babeltrace2 babeltrace2
        needs_program trace-cmd trace-cmd
        needs_program lttng-sessiond lttng-tools
        needs_library lttng-ust liblttng-ust-dev
        needs_program rsvg-convert librsvg2-bin
        needs_program groff groff
        needs_program abidiff abigail-tools
        needs_program git git
        needs_program valgrind valgrind
        needs_program zsh zsh
        needs_program fish fish
        needs_program dpkg-buildpackage dpkg-dev
        needs_program dh debhelper
        needs_program node nodejs
        command -v chromium >/dev/null 2>&1 ||
            needs_program chromium-headless-shell chromium-headless-shell
        needs_program dh_python3 dh-python
        needs_program lintian lintian
        needs_program cython3 cython3
        needs_program nft nftables
        needs_program apxs apache2-dev
        # The fuzz targets need libFuzzer and sanitizers, which the compiler only recommends.
        if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
            clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null; then
            lacks 'libFuzzer of clang' libclang-rt-dev
        fi
        # Of Debian's own Python, for the module: another python3 may come first in PATH.
        ls /usr/include/python3.*/Python.h >/dev/null 2>&1 ||
            lacks 'Python headers' python3-dev
        /usr/bin/python3 -c 'import numpy' >/dev/null 2>&1 || lacks NumPy python3-numpy
        /usr/bin/python3 -c 'import jsonschema' >/dev/null 2>&1 || lacks jsonschema python3-jsonschema
    fi
}

find_missing
[ -n "$missing_packages" ] || exit 0

echo "Lull: missing on this machine:$missing_names"

if ! command -v apt-get >/dev/null 2>&1; then
    echo "Lull: this is not a Debian system, so nothing was installed. Install these with the" >&2
    echo "      system's own package manager; on Debian the packages are called:" >&2
    echo "     $missing_packages" >&2
    exit 1
fi

as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
command="apt-get install -y --no-install-recommends$missing_packages"

if [ "$check_only" = 1 ]; then
    echo "Lull: to install it: tools/setup.sh $want     (that is: ${as_root:+sudo }$command)" >&2
    exit 1
fi
if [ -n "$as_root" ] && ! $as_root true 2>/dev/null; then
    echo "Lull: cannot become root without a password. Run this, then try again:" >&2
    echo "      sudo apt-get update && sudo $command" >&2
    exit 1
fi

echo "Lull: installing:$missing_packages"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists may be old or, in a fresh container, absent: then fetch them and try again.
# shellcheck disable=SC2086 # words are wanted
if ! $as_root env DEBIAN_FRONTEND=noninteractive $command </dev/null >"$log" 2>&1 &&
    ! { $as_root apt-get update </dev/null >>"$log" 2>&1 &&
        $as_root env DEBIAN_FRONTEND=noninteractive $command </dev/null >>"$log" 2>&1; }; then
    tail -n 20 "$log" >&2
    echo "Lull: apt-get could not install:$missing_packages (see above)" >&2
    exit 1
fi

find_missing
if [ -n "$missing_packages" ]; then
    echo "Lull: still missing after the installation:$missing_names" >&2
    exit 1
fi
echo "Lull: installed."
