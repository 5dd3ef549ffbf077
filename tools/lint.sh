#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks what can be checked without running: format of the C sources, cppcheck, shellcheck, the
# syntax of the Python files, the licence of each file. With --fix rewrites the sources as .clang-format says, adds
# the missing licences and stops.
#
#   tools/lint.sh [--fix] [format|c|shell|python|licence|layers]...     (default: all)
# shellcheck disable=SC2317 # the lint_ functions are called by name
set -u
cd "$(dirname "$0")/.." || exit 1

c_files=$(find src include python tests bench examples -name '*.[ch]' | sort)

if [ "${1:-}" = --fix ]; then
    tools/spdx.py --fix
    # shellcheck disable=SC2086 # words are wanted, no file here has a space in its name
    exec clang-format-19 -i $c_files
fi

lint_format() {
    # shellcheck disable=SC2086
    clang-format-19 --dry-run -Werror $c_files &&
        ! grep -nE '== NULL|if \([^()]*!= NULL|!= NULL (&&|\|\||\?)' $c_files
}

# Warnings about real faults only; style is .clang-format's and the reviewers' business. What is left out is what others
# know better: leaks (the address sanitizer, which knows who owns what), printf formats and syntax (the compiler).
lint_c() {
    cppcheck --quiet --std=c11 --language=c --enable=warning,portability --inline-suppr -j 2 \
        --library=gtk --error-exitcode=1 -Iinclude -Isrc -D_GNU_SOURCE \
        --suppress=missingInclude --suppress=unknownMacro --suppress=normalCheckLevelMaxBranches \
        --suppress=memleak --suppress=invalidPrintfArgType_uint --suppress=invalidPrintfArgType_sint --suppress=syntaxError \
        src examples
}

lint_shell() {
    shellcheck tools/*.sh .ci/run
}

lint_python() {
    find tools bench tests python -name '*.py' | sort | xargs tools/pylint.py &&
        ! grep -rnE '^[a-zA-Z].*mkdtemp\(' tests # nobody removes it: tap.scratch() does
}

lint_licence() {
    tools/spdx.py
}

# Rooms include and call only what CONTRIBUTING's table of rooms allows. Symbols are those of the objects in $BUILD.
lint_layers() {
    build=${BUILD:-build}
    [ -d "$build/src" ] || build=
    python3 tools/layers.py ${build:+"$build"}
}

[ $# -gt 0 ] || set -- format c shell python licence layers
status=0
for what in "$@"; do
    if "lint_$what"; then
        echo "lint: $what: ok"
    else
        echo "lint: $what: FAILED"
        status=1
    fi
done
exit $status
