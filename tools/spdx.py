#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Checks that each source file names its licence, in its first line or the one after #!. With --fix, adds the line.
import os
import re
import sys

LICENCE = "SPDX-License-Identifier: MIT"
# Names of files, and how a comment is written in them.
KINDS = [
    (r"\.([ch]|def|map|css|js|ts)$", f"/* {LICENCE} */"),
    (r"\.(pyi?|sh)$|^(meson\.build|meson_options\.txt|Makefile|run|init|rules)$", f"# {LICENCE}"),
]
NOT_SOURCES = {".git", "__pycache__", "node_modules"}


def sources():
    """(path, its line) for each source file below the current directory."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if name not in NOT_SOURCES and not name.startswith("build"))
        for name in sorted(names):
            line = next((comment for pattern, comment in KINDS if re.search(pattern, name)), None)
            if line:
                yield os.path.join(folder, name), line


def main():
    lacking = 0
    for path, line in sources():
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        at = 1 if lines[0].startswith("#!") else 0
        if LICENCE in lines[at]:
            continue
        if "--fix" in sys.argv:
            lines.insert(at, line)
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
        else:
            print(f"{path}: its first line is not {line!r}; `make format` adds it", file=sys.stderr)
            lacking += 1
    return lacking > 0


os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.exit(main())
