#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/layers.py on a small tree with planted breaches: an include and a symbol that point upwards, a private header."""
import os
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

TABLE = """
| Room | Holds | May include |
|---|---|---|
| `src/low/` | what others use | – |
| `src/mid/` | uses low | low |
| `src/high/`, `src/high/part/` | use mid | mid |
| `src/side/` | looks inside low | low, low/private.h |
"""
FILES = {
    "low/low.h": "int low(void);\n",
    "low/private.h": "int low_inner(void);\n",
    "low/low.c": '#include "low/low.h"\n#include "low/private.h"\nint low_inner(void) { return 1; }\nint low(void) { return low_inner(); }\n',
    "mid/mid.h": "int mid(void);\n",
    "mid/mid.c": '#include "low/low.h"\n#include "mid/mid.h"\nint mid(void) { return low(); }\n',
    "high/high.h": "int high(void);\n",
    "high/high.c": '#include "low/low.h"\n#include "mid/mid.h"\n#include "high/high.h"\nint high(void) { return mid() + low(); }\n',
    "side/side.c": '#include "low/private.h"\nint side(void);\nint side(void) { return low_inner(); }\n',
}
# What is planted: files that are added or replaced, and what layers.py must say of them, or None.
CASES = {
    "a tree in order": ({}, None),
    "an upward include": ({"low/low.c": '#include "mid/mid.h"\nint low(void) { return 0; }\n'}, "src/low/low.c:1: low may not include mid/mid.h"),
    "an include of a neighbour": ({"side/other.c": '#include "mid/mid.h"\n'}, "src/side/other.c:1: side may not include mid/mid.h"),
    "an include into a folder that is not allowed": ({"mid/mid.c": '#  include "high/part/part.h"\n', "high/part/part.h": ""},
                                                     "src/mid/mid.c:1: mid may not include high/part/part.h"),
    "an upward symbol": ({"low/up.c": "int high(void);\nint up(void);\nint up(void) { return high(); }\n"},
                         "src/low/up.c: low may not use high of src/high/high.c"),
    "a private header": ({"mid/mid.c": '#include "low/private.h"\n#include "mid/mid.h"\nint mid(void) { return low_inner(); }\n'},
                         "src/mid/mid.c:1: low/private.h is private to low"),
    "a folder without a row": ({"loft/loft.c": "int loft;\n"}, "src/loft/loft.c lies in no room of CONTRIBUTING.md's table"),
}


def build(tree, files):
    """Compiles as Meson does: the object's name is the path with _ for /."""
    objects = os.path.join(tree, "build", "src", "lib.p")
    os.makedirs(objects)
    for path, text in files.items():
        full = os.path.join(tree, "src", path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    for path in files:
        if path.endswith(".c"):
            subprocess.run([*os.environ.get("CC", "cc").split(), "-w", "-I", os.path.join(tree, "src"), "-c", os.path.join(tree, "src", path), "-o",
                            os.path.join(objects, path.replace("/", "_") + ".o")], check=True)


def check(planted):
    with tempfile.TemporaryDirectory() as tree:
        os.mkdir(os.path.join(tree, "tools"))
        shutil.copy(os.path.join(os.environ["LULL_SOURCE"], "tools", "layers.py"), os.path.join(tree, "tools"))
        with open(os.path.join(tree, "CONTRIBUTING.md"), "w", encoding="utf-8") as file:
            file.write(TABLE)
        build(tree, FILES | planted)
        done = subprocess.run([sys.executable, os.path.join(tree, "tools", "layers.py"), os.path.join(tree, "build")],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    tap = Tap()
    for name, (planted, wanted) in CASES.items():
        status, output = check(planted)
        if wanted is None:
            tap.ok(status == 0 and output == "", name, output)
        else:
            tap.ok(status == 1 and wanted in output.splitlines()[0], name, output)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
