#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages of this tree and lets lintian judge them: tools/package.sh DIR. The packages are left in
# DIR, the tree stays as it is.
set -eu
cd "$(dirname "$0")/.."
target=${1:?usage: tools/package.sh DIR}
rm -rf "$target"
mkdir -p "$target/lull"
target=$(cd "$target" && pwd)
# The tree as it is, without what was built in it.
tar -c --exclude-vcs --exclude='./build*' --exclude='__pycache__' . | tar -x -C "$target/lull"
cd "$target/lull"
dpkg-buildpackage --no-sign --build=full
cd ..
rm -rf lull
lintian --fail-on error,warning --tag-display-limit 0 ./*.changes
