#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Dumps of stacks in perf.data: written here for a program whose frames are laid out by hand, and recorded by perf of a program whose
# calls are known; what `perf script` makes of the same file is compared frame by frame, as far as it works them out.
import collections
import json
import os
import platform
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
dump = sys.argv[1]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732

# `outer` keeps rbx and has 24 bytes besides; `inner` has a frame pointer and 64 bytes; what `leaf` was called with lies on top.
ASSEMBLY = """
    .globl _start, outer, inner, leaf, in_start, in_outer, in_inner
    .type _start,@function; .type outer,@function; .type inner,@function; .type leaf,@function
_start: .cfi_startproc; .cfi_undefined rip
    call outer
in_start: hlt
    .cfi_endproc; .size _start,.-_start
outer: .cfi_startproc
    push %rbx; .cfi_adjust_cfa_offset 8; .cfi_offset rbx,-16
    sub $24,%rsp; .cfi_adjust_cfa_offset 24
    call inner
in_outer: add $24,%rsp; .cfi_adjust_cfa_offset -24
    pop %rbx; .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc; .size outer,.-outer
inner: .cfi_startproc
    push %rbp; .cfi_adjust_cfa_offset 8; .cfi_offset rbp,-16
    mov %rsp,%rbp; .cfi_def_cfa_register rbp
    sub $64,%rsp
    call leaf
in_inner: leave; .cfi_def_cfa rsp,8
    ret
    .cfi_endproc; .size inner,.-inner
leaf: .cfi_startproc
    nop; ret
    .cfi_endproc; .size leaf,.-leaf
"""
STACK = 0x7ffc00001000
TYPE = perf.IDENTIFIER | perf.IP | perf.TID | perf.TIME | perf.CPU | perf.PERIOD | perf.CALLCHAIN | perf.REGS_USER | perf.STACK_USER
MASK = 0xff0fff  # perf's own: ax bx cx dx si di bp sp ip flags cs ss, r8 … r15
KERNEL = [2**64 - 128, 0xffffffff81000010]


def built():
    path = os.path.join(scratch.name, "files", "program")
    os.makedirs(os.path.dirname(path))
    subprocess.run(["cc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-x", "assembler", "-o", path, "-"], input=ASSEMBLY,
                   text=True, check=True)
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines()}
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    load = re.search(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", headers)
    return symbols, [int(n, 16) for n in load.groups()]


def stack_of(at):
    """The stack when `leaf` starts, and rbp then."""
    pointer = STACK + 8 + 64
    words = [at["in_inner"], *[0x1111] * 8, 0xbbbb, at["in_outer"], *[0x2222] * 3, 0xcccc, at["in_start"], 1, STACK + 500, 0]
    return struct.pack(f"<{len(words)}Q", *words), pointer


class File(perf.Writer):
    def __init__(self, load):
        super().__init__()
        self.features = {3: self.text("farm"), 6: self.text("x86_64")}
        self.attr([5], TYPE, kind=1, config=0, regs_user=MASK, period=1)
        offset, address, size = load
        name = b"/bin/program\0\0\0\0"
        for prot, start, pages, path in [(5, address, size, name), (3, STACK, 0x10000, b"[stack]\0")]:
            body = self.pack("IIQQQ", 42, 42, start & ~0xfff, (pages | 0xfff) + 1, offset & ~0xfff if prot == 5 else 0)
            body += self.pack("IIQQ", 8, 1, 77, 0) + self.pack("II", prot, 2) + path
            self.record(10, body + self.trailer(42, 42, 500, 0, 5, TYPE))
        comm = self.pack("II", 42, 42) + b"prog\0\0\0\0"
        self.record(3, comm + self.trailer(42, 42, 400, 0, 5, TYPE))
        self.time = 1000

    def sample(self, ip, pointer, stack, chain=(), filled=None, abi=2, period=1):
        self.time += 1000
        regs = [0, 0xb, 0, 0, 0, 0, pointer, STACK, ip, 0, 0, 0, *range(8)]
        body = self.pack("QQIIQII", 5, ip, 42, 42, self.time, 0, 0) + self.pack("Q", period) + self.pack("Q", len(chain))
        body += b"".join(self.pack("Q", address) for address in chain)
        body += self.pack("Q", abi) + (self.pack(f"{len(regs)}Q", *regs) if abi else b"")
        body += self.pack("Q", len(stack)) + stack + (self.pack("Q", len(stack) if filled is None else filled) if stack else b"")
        self.record(9, body)


def folded(writer, *options):
    path = os.path.join(scratch.name, "perf.data")
    with open(path, "wb") as file:
        file.write(writer.file())
    result = subprocess.run([lull, "flame", *options, "--symbols", os.path.join(scratch.name, "files"), path], capture_output=True, text=True,
                            timeout=60, check=False, stdin=subprocess.DEVNULL)
    stacks = {line.rsplit(" ", 1)[0].split(";", 1)[1]: int(line.rsplit(" ", 1)[1]) for line in result.stdout.splitlines() if ";" in line}
    return stacks, result


def test_written():
    at, load = built()
    stack, pointer = stack_of(at)
    w = File(load)
    w.sample(at["leaf"], pointer, stack, period=3)
    w.sample(at["leaf"] + 1, pointer, stack, chain=KERNEL, period=5)
    w.sample(at["in_inner"], pointer, struct.pack("<8Q", *[0] * 8) + stack[72:], period=7)  # rsp is that of inner, eight bytes on
    stacks, result = folded(w)
    whole = "_start;outer;inner"
    wanted = {f"{whole};leaf": 3, f"{whole};leaf;0xffffffff81000010": 5}
    tap.ok({k: v for k, v in stacks.items() if k in wanted} == wanted, "each frame of each kind", stacks, result.stderr)
    tap.ok(result.returncode == 0 and "lack" not in result.stderr, "nothing is lacking", result.stderr)

    for kept, frames, says in [(len(stack), f"{whole};leaf", ""), (8, "inner;leaf", "1 of 1 stacks lack their outer calls"),
                               (0, "leaf", ""), (88, "outer;inner;leaf", "lack their outer calls"), (2**40, f"{whole};leaf", "")]:
        w = File(load)
        w.sample(at["leaf"], pointer, stack, filled=kept)
        stacks, result = folded(w)
        tap.ok(list(stacks) == [frames] and says in result.stderr and bool(says) == ("lack" in result.stderr),
               f"{kept} bytes of the stack: {frames}", stacks, result.stderr)

    for name, words, frames in [("return into data", [STACK + 8], "leaf"), ("return to 0", [0], "leaf"),
                                ("a frame that leads back", [at["in_inner"], *[0] * 8, STACK - 800, at["in_outer"]], "outer;inner;leaf")]:
        w = File(load)
        w.sample(at["leaf"], pointer, struct.pack(f"<{len(words)}Q", *words))
        stacks, result = folded(w)
        tap.ok(list(stacks) == [frames], f"{name}: {frames}", stacks, result.stderr)

    w = File(load)
    w.sample(at["leaf"], pointer, stack, abi=0)
    w.sample(at["leaf"], pointer, b"")
    w.sample(0x1234, pointer, stack)
    stacks, result = folded(w)
    tap.ok(result.returncode == 0, "no registers, no stack, no code: an answer", result.stderr)

    os.rename(os.path.join(scratch.name, "files", "program"), os.path.join(scratch.name, "files", "other"))
    w = File(load)
    w.sample(at["leaf"], pointer, stack)
    stacks, result = folded(w)
    tap.ok("1 of 1 stacks lack calls: nothing says how functions call in /bin/program" in result.stderr, "the file is not there", stacks,
           result.stderr)


# --- as perf recorded them ------------------------------------------------------------------------------------

PROGRAM = """
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
volatile unsigned sink;
#define APART __attribute__((noinline, noclone))
APART unsigned leaf(unsigned n) { unsigned s = n; for (int i = 0; i < 20000; i++) s = s * 1103515245u + 12345u; sink = s; return s; }
APART unsigned three(unsigned n) { char b[100]; memset(b, (int)n, sizeof b); return leaf(n) + (unsigned)b[n % 100] + 1; }
APART unsigned two(unsigned n) { char *b = alloca(16 + n % 64); b[0] = (char)n; sink = (unsigned)b[0]; return three(n) * 3 + 2; }
APART unsigned one(unsigned n, unsigned depth) { return depth ? one(n, depth - 1) + 1 : two(n) + 5; }
int compare(const void *a, const void *b) { return leaf(*(const unsigned *)a) < *(const unsigned *)b ? -1 : 1; }
int main(void) { unsigned v[32]; for (int k = 0; k < 60; k++) { for (int i = 0; i < 32; i++) v[i] = (unsigned)(i * k);
  for (unsigned j = 0; j < 20; j++) sink += one((unsigned)k + j, (unsigned)k % 5); qsort(v, 32, sizeof v[0], compare); } return sink == 7; }
"""


def script_of(path):
    """{(time, tid): [(offset in the file, name)]} as perf script has it, innermost first."""
    result = subprocess.run(["perf", "script", "--no-inline", "--ns", "-F", "tid,time,ip,sym,dso", "-i", path], capture_output=True, text=True,
                            timeout=120, check=False, stdin=subprocess.DEVNULL)
    chains = {}
    for block in result.stdout.split("\n\n"):
        head = re.match(r"\s*(\d+)\s+(\d+)\.(\d+):", block)
        if head:
            frames = re.findall(r"^\s+([0-9a-f]+) (.*) \(.*\)$", block, re.M)
            chains[int(head[2]) * 10**9 + int(head[3]), int(head[1])] = [(int(ip, 16), name) for ip, name in frames]
    return chains


def dumped(path):
    """The same as Lull has it, for file and offset; callers at the call, as perf shows them."""
    lines = iter(subprocess.run([dump, path], capture_output=True, text=True, timeout=120, check=True).stdout.splitlines())
    for line in lines:
        time, tid, n = map(int, line.split())
        frames = [next(lines).split("\t") for _ in range(n)]
        yield time, tid, [(int(offset, 16), name, file) for file, offset, name, _ in frames]


def test_recorded():
    program, path = os.path.join(scratch.name, "deep"), os.path.join(scratch.name, "deep.data")
    subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-x", "c", "-o", program, "-"], input=PROGRAM, text=True,
                   check=True)
    # perf 6.1 takes the unwind tables of a library to lie where the first process had it: without randomness that is right.
    result = subprocess.run(["setarch", "-R", "perf", "record", "-q", "--buildid-all", "-F", "4000", "-e", "cpu-clock:u", "--call-graph",
                             "dwarf,4096", "-o", path, "--", program], capture_output=True, text=True, timeout=120, check=False,
                            stdin=subprocess.DEVNULL)
    if result.returncode or not os.path.exists(path):
        tap.skip("recorded stacks", "perf cannot record: " + " ".join(result.stderr.split())[:100])
        return
    theirs = script_of(path)
    ours = list(dumped(path))
    known, right = 0, 0
    for _, _, frames in ours:
        names = [name for _, name, file in frames if file == program and name != "_start"][::-1]
        if names[:1] == ["main"] and "leaf" in names:
            known += 1
            ones = names.count("one")
            right += names in (["main", *["one"] * ones, "two", "three", "leaf"], ["main", "compare", "leaf"])
    tap.ok(known > 100 and right >= known - known // 200, f"the calls that the program makes, in {known} samples", right, known)
    offset = min(time for time, _, _ in ours) - min(time for time, _ in theirs)
    same, why = 0, collections.Counter()
    for time, tid, frames in ours:
        chain = [ip for ip, _ in theirs.get((time - offset, tid), []) if ip != 2**64 - 1]  # with which it ends what it cannot follow
        mine = [place - (i > 0) for i, (place, _, _) in enumerate(frames)]
        same += chain == mine
        why["longer" if mine[:len(chain)] == chain else "other"] += chain != mine
    tap.ok(len(ours) == len(theirs) and same >= 0.99 * len(ours), f"as perf script has them: {same} of {len(ours)}", dict(why))
    result = subprocess.run([lull, "flame", "--json", path], capture_output=True, text=True, timeout=60, check=False)
    names = {frame["name"] for frame in json.loads(result.stdout)["frames"]}
    tap.ok({"main", "one", "two", "three", "leaf", "compare"} <= names, "the flame graph has their names", sorted(names)[:40])


WAITS = """
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
APART int rest(int n) { struct timespec t = {0, n}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0); return n + 1; }
APART int step(int n) { char b[200]; for (int i = 0; i < 200; i++) b[i] = (char)(n * i); return rest(20000000 + b[n & 127] % 2) + b[3]; }
APART int work(int n) { return step(n) * 2 + step(n + 1); }
int main(void) { return (work(1) ^ work(2)) == 7; }
"""


def test_waits():
    """lull record --call-graph=dwarf: a program without frame pointers sleeps four times, by calls that are known."""
    program, path = os.path.join(scratch.name, "waits"), os.path.join(scratch.name, "waits.recording")
    subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-x", "c", "-o", program, "-"], input=WAITS, text=True,
                   check=True)
    made = subprocess.run([lull, "record", "--tracer", "perf", "--for", "sched", "--only", "--call-graph=dwarf,4096", "-o", path, "--", program],
                          capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    if not os.path.isdir(path):
        tap.skip("lull record --call-graph=dwarf", " ".join(made.stderr.split())[:120])
        return
    result = subprocess.run([lull, "flame", "--off-cpu", "--comm", "waits", path], capture_output=True, text=True, timeout=60, check=False,
                            stdin=subprocess.DEVNULL)
    rests = [line.rsplit(" ", 1) for line in result.stdout.splitlines() if ";rest;" in line]
    whole = [int(ns) for stack, ns in rests if re.search(r"_start;.*main;work;step;rest;.*nanosleep", stack)]
    tap.ok(whole and len(whole) == len(rests) and 80e6 <= sum(whole) < 2e9 and "lack" not in result.stderr,
           "lull record --call-graph=dwarf: the calls that a program sleeps in", result.stdout, result.stderr, made.stderr)
    for form in ["dwarf,70000", "dwarf,", "dwarfs", "lbr", ""]:
        refused = subprocess.run([lull, "record", f"--call-graph={form}", "--", "true"], capture_output=True, text=True, timeout=60, check=False)
        tap.ok(refused.returncode == 2 and "--call-graph takes =fp, =dwarf" in refused.stderr, f"--call-graph={form} is refused", refused.stderr)


if platform.machine() != "x86_64" or not all(map(shutil.which, ["cc", "nm", "readelf"])):
    tap.skip("dumps of stacks", "needs a compiler for x86-64")
else:
    test_written()
    test_waits()
    if shutil.which("perf") and shutil.which("setarch"):
        test_recorded()
    else:
        tap.skip("recorded stacks", "perf is not installed")
sys.exit(tap.done())
