#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""src/kernel/syscalls.def is what tools/syscalls.py writes, by the headers of this machine; a wrong number is found."""
import os
import re
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "src", "kernel", "syscalls.def")


def check(path):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "syscalls.py"), "--check", path],
                          capture_output=True, text=True, check=False)


def main():
    tap = Tap()
    result = check(TABLE)
    if result.returncode == 77:
        tap.skip("the table is that of the headers", result.stderr.strip())
        tap.done()
    tap.ok(result.returncode == 0, "the table is that of the headers", result.stdout, result.stderr)
    with open(TABLE, encoding="utf-8") as file:
        table = file.read()
    planted = {
        "a wrong number": table.replace("NUMBER(accept, 43,", "NUMBER(accept, 44,"),
        "a missing call": re.sub(r"NUMBER\(write, .*\n", "", table),
        "a row out of its form": table.replace("NUMBER(read, ", "NUMBER( read, "),
    }
    for name, text in planted.items():
        with tempfile.NamedTemporaryFile("w", suffix=".def", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            result = check(file.name)
            tap.ok(text != table and result.returncode == 1 and result.stdout, f"{name} is found", result.stderr)
    tap.done()


main()
