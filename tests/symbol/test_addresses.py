#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Random addresses of the code of libraries and programs as distributions make them, stripped and not: the functions, lines and calls in
# line that llvm-symbolizer finds there. LULL_TEST_ADDRESSES=20000 takes so many, of more files.
import collections
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path.insert(0, os.path.join(source, "tests", "lib"))
from asked import ask, id_of, symbolizer  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
LIBRARIES = ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libpython3.11.so.1.0", "libgnutls.so.30"]
PROGRAMS = ["/usr/bin/node", *glob.glob(os.path.join(os.environ["RUSTUP_HOME"], "toolchains/*/bin/cargo"))[:1]]
FUNCTIONS = {"FUNC", "IFUNC", "NOTYPE"}
WRONG = ("no name", "other name", "named by Lull alone", "other line", "other inlines")


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def code_of(path):
    """Where the section .text is: (address, size)."""
    at, size = re.search(r" \.text +PROGBITS +(\S+) \S+ (\S+)", run("readelf", "-SW", path)).groups()
    return int(at, 16), int(size, 16)


def debug_of(path):
    build_id = id_of(path) or "none"
    apart = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    return apart if os.path.exists(apart) else path


def symbols_of(*paths):
    """address → names of functions that start there; and what else has a place among code."""
    names, data = collections.defaultdict(set), []
    for path in paths:
        for words in map(str.split, run("readelf", "-sW", path).splitlines()):
            if len(words) >= 8 and words[0].endswith(":") and words[6].isdigit():
                at, size, name = int(words[1], 16), int(words[2], 0), words[7].split("@")[0]
                if words[3] in FUNCTIONS:
                    names[at].add(name)
                elif words[3] == "OBJECT":
                    data.append(name)
    return names, set(data)


def once(block):
    """Where DWARF 5 has a relative directory of the unit, llvm-symbolizer and addr2line put it before paths that have it already."""
    return [(function, re.sub(r"^((?:[^/]+/)+)\1", r"\1", file or "") or None, line) for function, file, line in block]


def classify(mine, block, names, data):
    """What is different, and from what."""
    outer = block[-1][0].split("@")[0] if block else ""
    aliases = [group for group in names.values() if outer in group]
    if not outer or (outer in data and not aliases):
        yield "named by Lull alone" if mine and mine[-1][0] else "unnamed"
        return
    yield "named"
    if not mine or mine[-1][0] is None:
        yield "no name"
    elif mine[-1][0] != outer:
        yield "alias" if any(mine[-1][0] in group for group in aliases) else "other name"
    if block[0][2]:
        yield "lined"
        if not mine or mine[0][1:] != once(block)[0][1:]:
            yield "other line"
        if mine[:-1] != once(block)[:-1]:
            yield "other inlines"


def compare(path, count):
    start, size = code_of(path)
    chance = random.Random(os.path.basename(path))
    addresses = sorted({start + chance.randrange(size) for _ in range(count)})
    debug = debug_of(path)
    theirs = symbolizer(debug, addresses)
    ours, _, _ = ask(scratch.name, path, addresses, folder=None if id_of(path) else "/", options=("--lines", "--raw-names"))
    names, data = symbols_of(*{path, debug})
    found = collections.defaultdict(list)
    for at in addresses:
        for name in classify(ours[at], theirs[at], names, data):
            found[name].append(at)
    print("#", path, ", ".join(f"{name} {len(of)}" for name, of in sorted(found.items())))
    wrong = {name: [(hex(at), ours[at], theirs[at]) for at in found[name][:int(os.environ.get("LULL_TEST_SHOW", "3"))]] for name in WRONG if found[name]}
    tap.ok(len(found["named"]) > count / 10 and len(found["no name"] + found["other name"]) <= 0.001 * len(found["named"]), f"{path}: names", wrong)
    tap.ok(len(found["named by Lull alone"]) <= max(2, 0.002 * count), f"{path}: nothing else is named", wrong)
    if found["lined"]:
        tap.ok(len(found["other line"]) <= 0.005 * len(found["lined"]), f"{path}: lines", wrong)
        tap.ok(len(found["other inlines"]) <= 0.005 * len(found["lined"]), f"{path}: calls in line", wrong)


def main():
    if not shutil.which("llvm-symbolizer"):
        tap.skip("addresses", "there is no llvm-symbolizer")
        return
    count = int(os.environ.get("LULL_TEST_ADDRESSES", "0"))
    files = [*LIBRARIES, lull, *PROGRAMS] if count else [LIBRARIES[0], LIBRARIES[1], lull]
    files = [os.path.realpath(os.path.join("/usr/lib/x86_64-linux-gnu", name)) for name in files]
    files = [path for path in files if os.path.exists(path)]
    for path in files:
        compare(path, (count or 900) // len(files))


tap.run("addresses", main)
sys.exit(tap.done())
