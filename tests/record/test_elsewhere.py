#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A recording with dumps of stacks, read where the programs are not: its stacks are those that are found at home by the files themselves,
# with names, and those that the program is known to have made. What the kernel maps into programs has names, too.
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path.insert(0, os.path.join(source, "tests", "lib"))
import perf_writer as perf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
DEEPEST = 12
LIBRARY = """#include <time.h>
__attribute__((noinline)) int sleeper(int n) { struct timespec t = {0, 50000 + n}; nanosleep(&t, 0); return n + 1; }
__attribute__((noinline)) int middle(int n) { volatile char room[64]; room[0] = (char)n; return sleeper(n) + room[0]; }
"""
PROGRAM = """#include <stdlib.h>
int middle(int n);
static int compare(const void *a, const void *b) { middle(1); return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int deeper(int n) { volatile char room[32]; room[0] = (char)n; return n > 0 ? deeper(n - 1) + room[0] : middle(n); }
int main(void)
{
    int all[] = {3, 1, 2, 5, 4}, sum = 0;
    for (int i = 0; i < 120; i++)
        sum += deeper(i % 12);
    qsort(all, 5, sizeof *all, compare);
    return sum == all[0];
}
"""


def built():
    """Without frame pointers."""
    options = ["cc", "-O1", "-fomit-frame-pointer", "-fno-partial-inlining", "-x", "c", "-"]
    subprocess.run([*options, "-shared", "-fPIC", "-o", os.path.join(scratch.name, "libslow.so")], input=LIBRARY, text=True, check=True)
    path = os.path.join(scratch.name, "program")
    subprocess.run([*options, "-o", path, "-L", scratch.name, "-Wl,-rpath," + scratch.name, "-Wl,--no-as-needed", "-lslow"], input=PROGRAM, text=True,
                   check=True)
    return path


def stacks(recording, *options):
    done = subprocess.run([lull, "flame", "--off-cpu", *options, recording], capture_output=True, text=True, timeout=120, check=False)
    found = collections.Counter()
    for line in done.stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        if stack.startswith("program/"):
            found[stack.split(";", 1)[1]] += int(weight)
    return found, done


def copy_of(recording, name, elsewhere=False, symbols=True):
    """The recording as another machine has it: one with another boot."""
    path = os.path.join(scratch.name, name)
    shutil.copytree(recording, path)
    if not symbols:
        os.remove(os.path.join(path, "symbols"))
    with open(os.path.join(path, "recording.json"), encoding="utf-8") as file:
        text = file.read()
    if elsewhere:
        text = re.sub(r'("boot_id": ?")........', r"\1deadbeef", text)
    with open(os.path.join(path, "recording.json"), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def compare(what, found, home):
    named = {stack: weight for stack, weight in home.items() if "0x" not in stack}
    same = sum(min(weight, found[stack]) for stack, weight in named.items())
    tap.ok(len(named) >= DEEPEST and same >= 0.99 * sum(home.values()), what, len(named), same / max(1, sum(home.values())),
           list((home - found).items())[:3], list((found - home).items())[:3])


def check_elsewhere(recording):
    home, _ = stacks(copy_of(recording, "home", symbols=False))
    users = collections.Counter()
    for stack in home:
        users[re.sub(r";(__nanosleep|nanosleep|clock_nanosleep|__GI_.*|entry_SYSCALL).*", "", re.sub(r".*;main", "main", stack))] += 1
    wanted = {"main" + ";deeper" * (depth + 1) + ";middle;sleeper" for depth in range(DEEPEST)}
    tap.ok(wanted <= set(users), "at home the stacks are those that the program made", wanted - set(users), users)
    away = copy_of(recording, "away", elsewhere=True)
    bare = copy_of(recording, "bare", elsewhere=True, symbols=False)
    compare("with what the recording holds", stacks(away)[0], home)
    found, done = stacks(bare)
    tap.ok(not any("deeper" in stack for stack in found) and "lack" in done.stderr, "without it there are none", found, done.stderr)
    # Another program in its place, and then none.
    for name in ("program", "libslow.so"):
        shutil.copy("/bin/true", os.path.join(scratch.name, name))
    compare("with other programs in their places", stacks(away)[0], home)
    for name in ("program", "libslow.so"):
        os.remove(os.path.join(scratch.name, name))
    compare("with no programs in their places", stacks(away)[0], home)
    compare("with none at home", stacks(recording)[0], home)


def kernels_code():
    """The image that the kernel maps into this process, by proc(5), and where its functions are, by nm."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        start, end = [int(word, 16) for word in re.search(r"^(\S+)-(\S+) .*\[vdso\]$", maps.read(), re.M).groups()]
    path = os.path.join(scratch.name, "vdso.so")
    with open("/proc/self/mem", "rb") as memory, open(path, "wb") as out:
        memory.seek(start)
        out.write(memory.read(end - start))
    listed = [line.split() for line in subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout.splitlines()]
    return {words[2].split("@")[0]: int(words[0], 16) for words in listed if words[1] == "T"}


def sampled(functions):
    """Samples in each of these, of a program of 64 bits and of one of 32."""
    kind = perf.IP | perf.TID | perf.TIME | perf.CALLCHAIN | perf.CPU | perf.PERIOD | perf.IDENTIFIER
    writer = perf.Writer()
    writer.attr([1], kind, kind=1, config=0)
    for pid, start in ((40, 0x7ffc12340000), (41, 0xf7fc1000)):
        writer.record(1, struct.pack("<IIQQQ", pid, pid, start, 0x2000, 0) + b"[vdso]\0\0" + writer.trailer(pid, pid, 10, 0, 1, kind))
        for offset in functions.values():
            chain = [-512 & (1 << 64) - 1, start + offset]
            writer.record(9, struct.pack("<QQIIQIIQQQQ", 1, chain[1], pid, pid, 100, 0, 0, 1, len(chain), *chain))
    return writer.file()


def check_kernels_code(recording):
    functions = kernels_code()
    path = copy_of(recording, "vdso", elsewhere=True)
    with open(os.path.join(path, "perf.data"), "wb") as out:
        out.write(sampled(functions))
    done = subprocess.run([lull, "symbols", "--json", "--places", path], capture_output=True, text=True, timeout=60, check=False)
    places = json.loads(done.stdout)["places"] if done.stdout else []
    of = {width: {one["function"] for one in places if one["file"] == name} for width, name in ((64, "[vdso]"), (32, "[vdso32]"))}
    tap.ok(len(functions) > 2 and of[64] == set(functions), "functions of the kernel that programs call without it", of, functions, done.stderr)
    tap.ok(of[32] == {None}, "programs of 32 bits have others", of)


def main():
    if os.geteuid() != 0 or not shutil.which("cc"):
        tap.skip("recordings elsewhere", "that needs root and a compiler")
        return
    recording = os.path.join(scratch.name, "recording")
    done = subprocess.run([lull, "record", "--tracer", "perf", "--only", "--call-graph=dwarf", "-o", recording, "--", built()], capture_output=True, text=True,
                          timeout=120, check=False)
    if not os.path.isdir(recording):
        tap.skip("recordings elsewhere", done.stderr.strip().splitlines()[-1])
        return
    check_elsewhere(recording)
    check_kernels_code(recording)


tap.run("elsewhere", main)
sys.exit(tap.done())
