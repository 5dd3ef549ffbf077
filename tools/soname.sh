#!/bin/sh
# SPDX-License-Identifier: MIT
# soname.sh LIBRARY DIRECTORY: the name under which programs find a library when they run, for the build.
set -e
file=$2/lib$1.so
soname=$(readelf -d "$file" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p')
test -n "$soname" || { echo "$file: no SONAME" >&2; exit 1; }
printf %s "$soname"
