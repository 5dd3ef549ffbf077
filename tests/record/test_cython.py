#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Python, Cython, C and the kernel in one call stack: one module, compiled in three ways, and what its source says is called.
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import recorders
from tap import Tap

LULL = os.environ["LULL"]
PATIENCE = 120
tap = Tap()

SHOP = """# cython: language_level=3
import os
cdef int price(int x):
    return x + 1
cdef class Till:
    cdef int sum
    cpdef int add(self, int x):
        self.sum += price(x)
        return self.sum
def receipt(int fd, x):
    os.write(fd, b"%d\\n" % x)
    return x
def sell(int fd, int n):
    cdef Till till = Till()
    cdef int i
    for i in range(n):
        till.add(i)
    return receipt(fd, till.sum)
"""
MAIN = """
import sys, plain, profiled, counted
def main(fd):
    for module in (plain, profiled, counted):
        module.sell(fd, 3)
with open(sys.argv[1], "wb") as file:
    main(file.fileno())
"""
# What the C compiler adds for each way; macros and inline functions of Python are not of the module.
WAYS = {"plain": ([], []), "profiled": (["-X", "profile=True"], []),
        "counted": ([], ["-finstrument-functions", "-finstrument-functions-exclude-file-list=/usr/include"])}
# Debian's own, for which the headers are: another python3 may come first.
PYTHON = "/usr/bin/python3"


def why_not(scratch):
    for program in ("cython3", "gcc", PYTHON):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not glob.glob("/usr/include/python3.*/Python.h"):
        return "the headers of Python are not installed"
    return recorders.why_not("perf", scratch)


def build(folder):
    includes = subprocess.run([PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], capture_output=True, text=True,
                              check=True).stdout.strip()
    for name, (cython, compiler) in WAYS.items():
        source = os.path.join(folder, name + ".pyx")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SHOP)
        subprocess.run(["cython3", *cython, source], check=True, capture_output=True, timeout=PATIENCE)
        subprocess.run(["gcc", "-shared", "-fPIC", "-g", "-w", *compiler, "-I", includes, source[:-3] + "c", "-o", source[:-3] + "so"],
                       check=True, timeout=PATIENCE)
    with open(os.path.join(folder, "main.py"), "w", encoding="utf-8") as file:
        file.write(MAIN)


def stacks_of(recording):
    done = subprocess.run([LULL, "flame", recording], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return [line.rsplit(" ", 1)[0].split(";")[1:] for line in done.stdout.splitlines()]


def own(stack):
    """Without the functions that Cython made for itself, and the initialization of modules."""
    return [frame for frame in stack if not re.match("__[Pp]yx_|PyInit_", frame)]


def calls_of(recording, module):
    done = subprocess.run([LULL, "calls", "--json", "--limit", "0", recording], capture_output=True, text=True, timeout=PATIENCE, check=True)
    rows = json.loads(done.stdout)["windows"][0]["tables"]["functions"]
    return {row["function"]: row["calls"] for row in rows if row["function"].startswith(module + ".")}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        why = why_not(scratch)
        if why:
            tap.skip("one stack of Python, Cython, C and the kernel", why)
            return
        build(scratch)
        command = [PYTHON, os.path.join(scratch, "main.py"), os.path.join(scratch, "out")]
        recording = recorders.record("perf", command, scratch, "--only", "--python", "--functions")[0]
        stacks = stacks_of(recording)
        writes = {tuple(own(stack)) for stack in stacks if stack[-1] == "[write]" and "main.py:main" in stack}
        outer = ("main.py:<module>", "main.py:main")
        expected = {
            # A module that reports nothing: its system calls are its caller's.
            (*outer, "[write]"),
            (*outer, "profiled.pyx:sell", "profiled.pyx:receipt", "[write]"),
            (*outer, "counted.sell [wrapper]", "counted.sell", "counted.receipt [wrapper]", "counted.receipt", "[write]"),
        }
        tap.ok(writes == expected, "each write is made by the function that makes it", *writes)
        unnamed = {frame for stack in stacks for frame in stack if re.search(r"\+0x|^0x|\?", frame)}
        tap.ok(stacks and not unnamed, "no frame without a name", *unnamed)
        counts = calls_of(recording, "counted")
        # add is of C and, by its wrapper, of Python, which nobody calls.
        expected = {"counted.price": 3, "counted.Till.add": 3, "counted.sell": 1, "counted.sell [wrapper]": 1, "counted.receipt": 1,
                    "counted.receipt [wrapper]": 1}
        tap.ok(counts == expected, "as many calls of each function as its source makes", counts)


tap.run("cython", main)
sys.exit(tap.done())
