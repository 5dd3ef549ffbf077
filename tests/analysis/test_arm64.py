#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What was recorded on an arm64 machine (Linux 6.1, emulated, lull record over ftrace): arm32.c, a program of 32-bit ARM. The kernel
tells numbers of calls of both kinds alike. The program's source says how often it makes which, and its output (arm32.out) who it was."""
import json
import os
import re
import subprocess

from tap import Tap

LULL = os.environ["LULL"]
FOLDER = os.path.join(os.environ["LULL_SAMPLES"], "arm64")


def calls_of(tid):
    done = subprocess.run([LULL, "syscallstats", "--json", "--no-progress", "--tid", str(tid), f"{FOLDER}/calls"],
                          capture_output=True, text=True, check=True)
    window, = json.loads(done.stdout)["windows"]
    return {row["syscall"]: row["count"] for row in window["tables"]["per-tid"]}


def main():
    tap = Tap()
    with open(f"{FOLDER}/arm32.out", encoding="ascii") as file:
        parent, child = map(int, re.search(r"pid (\d+) child (\d+)", file.read()).groups())
    found = calls_of(parent)
    expected = {"getppid": 5, "pread64": 3, "openat": 1, "close": 1, "clone": 1, "wait4": 1, "write": 1, "set_tls": 1}
    wrong = {name: found.get(name) for name, count in expected.items() if found.get(name) != count}
    tap.ok(not wrong, "calls of a program of 32 bits", wrong, found)
    tap.ok(sum(found.get(name, 0) for name in ("clock_nanosleep", "clock_nanosleep_time64", "nanosleep")) == 1, "it sleeps once", found)
    tap.ok(calls_of(child).get("getppid") == 7, "and of its child", calls_of(child))
    recorder = calls_of(101)
    tap.ok("getdents64" in recorder and not {"getdents", "fcntl64", "set_tls"} & set(recorder),
           "a program of 64 bits beside it has the names of arm64", recorder)
    tap.done()


main()
