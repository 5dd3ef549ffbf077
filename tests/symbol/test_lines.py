#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Lines of source code and calls that were put in line, by debug information: what addr2line of binutils says of the same
# addresses. LULL_TEST_LINES=20000 takes so many addresses of Lull itself, and says how long that takes.
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "lib")]
import perf_writer  # noqa: E402
from asked import ask, bare, id_of, peer, symbolizer  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732

# Calls in line within calls in line, in several places, also of another file.
HEADER = """INLINE __attribute__((always_inline)) int leaf(volatile int *at, int n)
{
    *at += n;
    return *at * 3;
}
"""
PROGRAM = """#include "leaf.h"
static volatile int sum;
static inline __attribute__((always_inline)) int middle(int n)
{
    int a = leaf(&sum, n);

    return a + leaf(&sum, a);
}
__attribute__((noinline)) int work(int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += middle(i);
        if (i % 3)
            total -= leaf(&sum, total);
    }
    return total;
}
int main(int argc, char **argv)
{
    return work(argc) + middle(argc);
}
"""
CXX = """#include "leaf.h"
namespace a { template <typename T> struct box { T held; inline __attribute__((always_inline)) T take(int n) { return held + leaf((int *)&held, n); } }; }
__attribute__((noinline)) int use(a::box<int> &b, int n) { return b.take(n) + b.take(n + 1); }
int main(int argc, char **argv) { a::box<int> b{argc}; return use(b, argc); }
"""


def build(name, text, *options, compiler="cc"):
    folder = os.path.join(scratch.name, name)
    os.makedirs(os.path.join(folder, "src"))
    for file, content in (("leaf.h", HEADER), ("main.c" if compiler != "c++" else "main.cc", text)):
        with open(os.path.join(folder, "src", file), "w", encoding="ascii") as out:
            out.write(content)
    subprocess.run([compiler, "-O2", "-g", *(() if compiler == "c++" else ("-DINLINE=static inline",)), "-Wl,--build-id", *options, "-o", "../program", file], check=True, cwd=os.path.join(folder, "src"))
    return os.path.join(folder, "program")


def code_of(path):
    """Where the section .text is."""
    listed = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    words = re.search(r" \.text\s+PROGBITS\s+(\S+)\s+(\S+)\s+(\S+)", listed).groups()
    return int(words[0], 16), int(words[2], 16)


def within(path, addresses):
    """Those within functions, and not in what fills the space between these; in order."""
    listed = [line.split() for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines()]
    inside, end = set(), 0
    ranges = sorted((int(words[0], 16), int(words[1], 16)) for words in listed if len(words) == 4 and words[2] in "tTwW")
    for at in sorted(addresses):
        while ranges and ranges[0][0] <= at:
            end = max(end, sum(ranges.pop(0)))
        inside |= {at} if at < end else set()
    return sorted(inside)


def compare(what, path, addresses, by=peer):
    addresses = within(path, addresses)
    theirs = by(path, addresses)
    ours, seconds, where = ask(scratch.name, path, addresses)
    # Without debug information it knows files by symbols alone, and without their directories.
    known = [at for at in theirs if (theirs[at][0][1] or "").startswith("/")]
    lines = [at for at in known if ours[at] and ours[at][0][1:] == theirs[at][0][1:]]
    names = [at for at in known if ours[at] and [bare(one[0]) for one in ours[at]] == [bare(one[0]) for one in theirs[at]]]
    all_lines = [at for at in known if [one[1:] for one in ours[at]] == [one[1:] for one in theirs[at]]]
    other = [at for at in known if at not in set(lines) or at not in set(names)]
    inlined = sum(len(theirs[at]) - 1 for at in known)
    print(f"# {what}: {len(known)} of {len(addresses)} addresses have lines, {inlined} calls in line; equal lines {len(lines)}, names {len(names)}, "
             f"lines of all calls {len(all_lines)}; {seconds:.2f} s")
    tap.ok(len(known) > 50 and len(lines) >= 0.995 * len(known) and len(names) >= 0.999 * len(known)
           and len(all_lines) >= 0.995 * len(known), f"{what}: as {'addr2line' if by == peer else 'llvm-symbolizer'}",
           *[(hex(at), ours[at], theirs[at]) for at in other[:int(os.environ.get("LULL_TEST_SHOW", "3"))]])
    return inlined, where


def all_of(path):
    start, size = code_of(path)
    return range(start, start + size)


def check_forms():
    """The forms in which compilers leave it."""
    forms = {"DWARF 4": (PROGRAM, "cc", "-gdwarf-4"), "sections of their own": (PROGRAM, "cc", "-ffunction-sections", "-Wl,--gc-sections"), "packed": (PROGRAM, "cc", "-gz"),
             "at fixed addresses": (PROGRAM, "cc", "-no-pie"), "C++": (CXX, "c++", "-DINLINE=inline"), "clang": (PROGRAM, "clang")}
    for name, (text, compiler, *options) in forms.items():
        if not shutil.which(compiler):
            tap.skip(name, f"there is no {compiler}")
            continue
        path = build(name.replace(" ", "-"), text, *options, compiler=compiler)
        inlined, _ = compare(name, path, all_of(path))
        tap.ok(inlined > 20, f"{name}: calls in line", inlined)


def check_other_forms():
    """Those that addr2line does not read, or tells wrong lines of."""
    if not shutil.which("llvm-symbolizer"):
        tap.skip("other forms", "there is no llvm-symbolizer")
        return
    for name, options in {"DWARF of 64 bits": ["-gdwarf64"], "linked as one": ["-flto"]}.items():
        path = build(name.replace(" ", "-"), PROGRAM, *options)
        inlined, _ = compare(name, path, all_of(path), symbolizer)
        tap.ok(inlined > 20, f"{name}: calls in line", inlined)


def check_split():
    """Functions in a file of their own, of which this one has the lines: those of the same code when it is not split. test_forms.py has the calls in line."""
    for version in ("4", "5"):
        whole = build(f"whole-{version}", PROGRAM, f"-gdwarf-{version}")
        path = build(f"split-{version}", PROGRAM, f"-gdwarf-{version}", "-gsplit-dwarf")
        addresses = within(whole, all_of(whole))
        theirs = {at: (os.path.basename(block[0][1]), block[0][2]) for at, block in peer(whole, addresses).items() if block[0][1]}
        found = ask(scratch.name, path, addresses)[0]
        ours = {at: (os.path.basename(found[at][0][1] or ""), found[at][0][2]) for at in theirs}
        tap.ok(addresses == within(path, all_of(path)) and len(theirs) > 100 and ours == theirs, f"split DWARF {version}: lines",
               *[(hex(at), ours[at], theirs[at]) for at in theirs if ours[at] != theirs[at]][:3])


def check_relative():
    """The compiler calls the directory of the sources "." (-ffile-prefix-map), so their paths are relative to that; addr2line puts it before them twice."""
    path = build("relative", PROGRAM, f"-ffile-prefix-map={os.path.join(scratch.name, 'relative')}=.")
    theirs = peer(path, within(path, all_of(path)))
    ours = ask(scratch.name, path, sorted(theirs))[0]
    files = {one[1] for block in ours.values() for one in block}
    tap.ok({"src/main.c", "src/leaf.h"} <= files <= {"src/main.c", "src/leaf.h", None}, "relative paths", files)
    tap.ok(all(block[0][2] in (0, ours[at][0][2]) for at, block in theirs.items()), "relative paths: lines as addr2line")


def apart(folder, *paths, shared=False):
    """The debug symbols of programs below a directory, by build-id; the programs themselves are stripped."""
    kept = []
    for path in paths:
        build_id = id_of(path)
        kept.append(os.path.join(folder, ".build-id", build_id[:2], build_id[2:] + ".debug"))
        os.makedirs(os.path.dirname(kept[-1]), exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", path, kept[-1]], check=True)
        subprocess.run(["strip", "-s", path], check=True)
    if shared:
        subprocess.run(["dwz", "-m", os.path.join(folder, "shared.debug"), "-r", *kept], check=True)
    return kept


def lines_of(found):
    return {at: block for at, block in found.items() if block[0][1]}


def check_apart():
    """In a file apart, found by build-id or by name, and shared by several of them; and in one that is another build."""
    paths = [build(f"apart-{i}", PROGRAM + f"int more_{i}(int n) {{ return middle(n) + {i}; }}\n") for i in range(3)]
    addresses = [within(path, all_of(path)) for path in paths]
    whole = [lines_of(ask(scratch.name, path, at)[0]) for path, at in zip(paths, addresses)]
    tap.ok(all(len(found) > 100 for found in whole), "in the files themselves")
    for shared in (False, True) if shutil.which("dwz") else (False,):
        folder = os.path.join(scratch.name, f"debug-{shared}")
        copies = [shutil.copy(path, f"{path}-{shared}") for path in paths]
        kept = apart(folder, *copies, shared=shared)
        # What is shared has names of strings that another section holds.
        listed = subprocess.run(["readelf", "-SW", kept[0]], capture_output=True, text=True, check=True).stdout
        tap.ok((".gnu_debugaltlink" in listed) == shared, "whether it is shared")
        found = [lines_of(ask(scratch.name, path, at, "/elsewhere/" + os.path.basename(path), folder)[0]) for path, at in zip(copies, addresses)]
        tap.ok(found == whole, f"by build-id, shared: {shared}", *[(hex(at), found[0].get(at), block) for at, block in list(whole[0].items())[:3]])
        if shared:
            os.remove(os.path.join(folder, "shared.debug"))
            tap.ok(not lines_of(ask(scratch.name, copies[0], addresses[0], "/elsewhere/x", folder)[0]), "without what is shared there are none")
        # Another build under its name.
        shutil.copy(kept[1], kept[0])
        tap.ok(not lines_of(ask(scratch.name, copies[0], addresses[0], "/elsewhere/x", folder)[0]), "another build is refused")
    linked = shutil.copy(paths[2], paths[2] + "-linked")
    subprocess.run(["objcopy", "--only-keep-debug", linked, linked + ".debug"], check=True)
    subprocess.run(["strip", "-s", linked], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={linked}.debug", linked], check=True, cwd=os.path.dirname(linked))
    tap.ok(lines_of(ask(scratch.name, linked, addresses[2])[0]) == whole[2], "by name beside it")


def segment_of(path):
    """The segment that holds code: where in the file, at which address, how long."""
    listed = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    return [int(word, 16) for word in re.search(r"LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+R E", listed).groups()]


def sampled(path, chains):
    """A perf.data of samples in a process of the program; where its code starts."""
    kind = perf_writer.IP | perf_writer.TID | perf_writer.TIME | perf_writer.CALLCHAIN | perf_writer.CPU | perf_writer.PERIOD | perf_writer.IDENTIFIER
    offset, address, length = segment_of(path)
    writer, start = perf_writer.Writer(), 0x5500_0000_0000 + address
    writer.attr([1], kind, kind=1, config=0)
    name = b"/elsewhere/program\0"
    writer.record(1, struct.pack("<IIQQQ", 40, 40, start, length, offset) + name.ljust((len(name) + 7) & ~7, b"\0") +
                  writer.trailer(40, 40, 10, 0, 1, kind))
    for time_ns, chain in enumerate(chains, 100):
        addresses = [-512 & (1 << 64) - 1, *(0x5500_0000_0000 + at for at in chain)]
        body = struct.pack("<QQIIQIIQQ", 1, addresses[1], 40, 40, time_ns, 0, 0, 1, len(addresses))
        writer.record(9, body + b"".join(struct.pack("<Q", at) for at in addresses))
    where = os.path.join(scratch.name, "samples.data")
    with open(where, "wb") as out:
        out.write(writer.file())
    return where


def check_flame():
    """Stacks of samples: outer calls are where addresses return to, so before them; calls in line are frames."""
    path = build("flame", PROGRAM)
    chance, folder = random.Random(2), os.path.dirname(path)
    known = [at for at, block in lines_of(ask(scratch.name, path, within(path, all_of(path)))[0]).items() if block[-1][0] in ("work", "main")]
    chains = [[chance.choice(known), *(chance.choice(known) + 1 for _ in range(chance.randint(0, 3)))] for _ in range(200)]
    theirs = peer(path, {at - (i > 0) for chain in chains for i, at in enumerate(chain)})
    expected = collections.Counter()
    for chain in chains:
        frames = []
        for i, at in enumerate(chain):
            block = theirs[at - (i > 0)]
            frames = [*reversed([*(name + " [inlined]" for name, _, _ in block[:-1]), block[-1][0]]), *frames]
        expected[";".join(frames)] += 1
    trace = sampled(path, chains)
    done = subprocess.run([lull, "flame", "--inlines", "--symbols", folder, trace], capture_output=True, text=True, check=False, timeout=100)
    if done.returncode and "perf.data" in done.stderr:
        tap.skip("lull flame --inlines", "this Lull reads no perf.data")
        return
    found = collections.Counter()
    for line in done.stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        found[stack.split(";", 1)[1]] += int(weight)
    tap.ok(sum(expected.values()) == 200 and found == expected and any("leaf [inlined]" in stack for stack in expected), "lull flame --inlines",
           *list((found - expected).items())[:3], *list((expected - found).items())[:3], done.stderr)
    done = subprocess.run([lull, "flame", "--symbols", folder, trace], capture_output=True, text=True, check=False, timeout=100)
    tap.ok("[inlined]" not in done.stdout and "work" in done.stdout, "lull flame without it", done.stdout[:300])
    # Where functions start is what the text of the program has.
    starts = {"leaf [inlined]": ("leaf.h", 1), "middle [inlined]": ("main.c", 3), "work": ("main.c", 9), "main": ("main.c", 19)}
    done = subprocess.run([lull, "flame", "--inlines", "--speedscope", "-", "--symbols", folder, trace], capture_output=True, text=True, check=False, timeout=100)
    frames = {one["name"]: (os.path.basename(one.get("file", "")), one.get("line")) for one in json.loads(done.stdout)["shared"]["frames"]}
    tap.ok({name: frames[name] for name in starts} == starts, "speedscope: files and lines of functions", frames)


def check_calls():
    """Rows of functions and of stacks: where each is in the text of the program."""
    path = build("calls", PROGRAM)
    listed = [line.split() for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()]
    starts = {words[2]: int(words[0], 16) for words in listed if len(words) == 3 and words[2] in ("main", "work")}
    where = ask(scratch.name, path, sorted(starts.values()))[2]
    for options, table in (((), "functions"), (("--at", "0.000002000"), "stacks")):
        done = subprocess.run([lull, "calls", "--json", *options, where], capture_output=True, text=True, check=False, timeout=100)
        rows = json.loads(done.stdout)["windows"][0]["tables"][table] if done.stdout else []
        found = {row["function"]: (row["file"], row["line"]) for row in rows}
        whole = {"main": (os.path.join(scratch.name, "calls", "src", "main.c"), 19), "work": (os.path.join(scratch.name, "calls", "src", "main.c"), 9)}
        tap.ok(found and found.items() <= whole.items() and (options or len(found) == 2), f"lull calls: {table}", found, done.stderr)
    wide = subprocess.run([lull, "calls", where], capture_output=True, text=True, check=False, timeout=100, env={**os.environ, "COLUMNS": "200"}).stdout
    tap.ok("main.c:9" in wide and "main.c:19" in wide, "lull calls: as text", wide)


def check_lull():
    """A large program: this one."""
    start, size = code_of(lull)
    chance = random.Random(1)
    n = int(os.environ.get("LULL_TEST_LINES", "2000"))
    compare("Lull", lull, [start + at for at in sorted(chance.sample(range(size), n))])


for check in (check_forms, check_other_forms, check_split, check_relative, check_apart, check_flame, check_calls, check_lull):
    tap.run(check.__name__, check)
sys.exit(tap.done())
