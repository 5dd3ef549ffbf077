#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes what a program depends on that was linked with liblull.so: its functions, and the types in the public headers. With
# it the test abi holds the library against that of the last release.
#
#   tools/abi.sh BUILD [FILE]     FILE: tests/abi/liblull.abi unless given
#
# Renew the file with a release, or when the library's major version changes (src/meson.build). Needs abidw of abigail-tools,
# and a build with debugging information.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
file=${2:-$source/tests/abi/liblull.abi}
exec abidw --suppressions "$source/tests/abi/private.supp" --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
    --no-show-locs --no-elf-needed --no-architecture --no-write-default-sizes --no-parameter-names --out-file "$file" \
    "$build/src/liblull.so"
