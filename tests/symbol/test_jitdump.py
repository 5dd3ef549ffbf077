#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Code that programs make while they run: dumps as Linux' jitdump-specification.txt describes them, and samples of perf. Which function
# a sample is in is known from a model that says of each byte of memory what was written there last.
# LULL_TEST_JIT=1 also records a program that makes code with perf, and compares with perf inject and perf script.
import collections
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "lib")]
import perf_writer  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
BASE, PID = 0x7f0000000000, 40
KIND = perf_writer.IP | perf_writer.TID | perf_writer.TIME | perf_writer.CPU | perf_writer.PERIOD | perf_writer.IDENTIFIER


class Dump:
    def __init__(self, pid=PID, order="<"):
        self.order, self.bytes = order, b""
        self.bytes = self.pack("IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, 5, 0)

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def record(self, kind, time, body):
        self.bytes += self.pack("IIQ", kind, 16 + len(body), time) + body

    def load(self, time, address, size, name, index):
        self.record(0, time, self.pack("IIQQQQ", PID, PID, address, address, size, index) + name.encode() + b"\0" + b"\x90" * size)

    def move(self, time, old, new, size, index):
        self.record(1, time, self.pack("IIQQQQQ", PID, PID, new, old, new, size, index))

    def lines(self, time, address, entries):
        """entries: (address, line, file); a file that is that of the entry before is written in short."""
        body, before = b"", None
        for at, line, file in entries:
            body += self.pack("QII", at, line, 0) + (b"\xff\0" if file == before else file.encode() + b"\0")
            before = file
        self.record(2, time, self.pack("QQ", address, len(entries)) + body)


def scene(seed, order="<"):
    """A dump, and samples: (time, address, name, (file, line)) with the last two as the model has them; None: nothing is there."""
    chance, dump, memory, samples, live, time = random.Random(seed), Dump(order=order), {}, [], [], 1000
    for index in range(120):
        time += chance.randint(1, 50)
        address, size = BASE + 16 * chance.randrange(64), chance.randint(1, 60)
        if live and chance.random() < 0.15:
            old, size, cells = chance.choice(live)
            cells = [memory.get(old + i) for i in range(size)]
            if all(cells) and len({one[0] for one in cells}) == 1:  # what a move is of is whole
                dump.move(time, old, address, size, index)
                for i in range(size):
                    memory.pop(old + i, None)
                memory.update((address + i, cells[i]) for i in range(size))
        else:
            name, entries = f"Made{index % 30}.f{index}", []
            if chance.random() < 0.7:
                entries = [(address + at, chance.randint(1, 999), f"/src/{chance.choice('ab')}.x") for at in sorted(chance.sample(range(size), min(size, 3)))]
                dump.lines(time, address, entries)
            dump.load(time, address, size, name, index)
            for i in range(size):
                line = [(file, number) for at, number, file in entries if at <= address + i]
                memory[address + i] = ((index, name), line[-1] if line else (None, None))
            live.append((address, size, None))
        for _ in range(3):
            time += chance.randint(1, 5)
            at = BASE + chance.randrange(1200)
            samples.append((time, at, *(memory[at][0][1:] + memory[at][1:] if at in memory else (None, None))))
    dump.record(3, time + 1, b"")
    return dump, samples


def perf_data(name, path, samples, inode=0, epoch=0):
    writer = perf_writer.Writer()
    if epoch:
        writer.features = {29: writer.pack("IIQQ", 1, 1, epoch, 0)}
    writer.attr([1], KIND, kind=1, config=0)

    def mapped(at, length, file):
        text = file.encode() + b"\0"
        body = struct.pack("<IIQQQIIQQII", PID, PID, at, length, 0, 8, 1, inode, 0, 5, 2) + text + bytes(-len(text) % 8)
        writer.record(10, body + writer.trailer(PID, PID, 10, 0, 1, KIND))
    mapped(0x1000, 0x1000, path)
    inode = 0
    mapped(BASE, 1 << 20, "//anon")
    for time, at, *_ in samples:
        writer.record(9, struct.pack("<QQIIQIIQ", 1, at, PID, PID, time, 0, 0, 1))
    where = os.path.join(scratch.name, name)
    with open(where, "wb") as out:
        out.write(writer.file())
    return where


def ask(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False)


def flame(*arguments):
    """How often each name was found; None: without a name."""
    done, found = ask("flame", *arguments), collections.Counter()
    for line in done.stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        name = stack.split(";")[-1]
        found[None if "+0x" in name or name.startswith("0x") else name] += int(weight)
    return found, done.stderr


def written(name, data):
    path = os.path.join(scratch.name, name, f"jit-{PID}.dump")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data)
    return path


def check_versions():
    for seed, order, epoch in ((1, "<", 0), (2, ">", 0), (3, "<", 1_700_000_000_000_000_000)):
        dump, samples = scene(seed, order)
        path = written(f"versions-{seed}", dump.bytes)
        trace = perf_data(f"versions-{seed}.data", path, samples, os.stat(path).st_ino, epoch)
        found, said = flame(trace)
        expected = collections.Counter(name for _, _, name, _ in samples)
        names = {}
        for _, at, name, _ in samples:
            names.setdefault(at, set()).add(name)
        tap.ok(found == expected and len(expected) > 60 and any(len(one - {None}) > 1 for one in names.values()),
               f"what was at each address at each time: scene {seed}", found - expected, expected - found, said)
        places = json.loads(ask("symbols", "--lines", "--json", trace).stdout)["places"]
        lines = {(one["function"], one["source"], one["line"]) for one in places if one["function"]}
        tap.ok(lines == {(name, *line) for _, _, name, line in samples if name}, f"their lines: scene {seed}",
               *list(lines ^ {(name, *line) for _, _, name, line in samples if name})[:4])


def check_whose():
    """Of another user, another process, another file of this name, cut, or a copy."""
    dump, samples = scene(4)
    expected = collections.Counter(name for _, _, name, _ in samples)
    nothing = collections.Counter({None: len(samples)})
    path = written("whose", dump.bytes)
    trace = perf_data("whose.data", path, samples, os.stat(path).st_ino)
    tap.ok(flame(trace)[0] == expected, "its own")
    tap.ok(flame(perf_data("other.data", path, samples, os.stat(path).st_ino + 1))[0] == nothing, "another file of this name is refused")
    folder = os.path.join(scratch.name, "copies")
    os.makedirs(folder)
    shutil.move(path, folder)
    tap.ok(flame(trace)[0] == nothing and flame("--symbols", folder, trace)[0] == expected, "a copy, by --symbols")
    why = [one["why"] for one in json.loads(ask("symbols", "--json", trace).stdout)["files"]]
    tap.ok(len(why) == 1 and "the recording has no list of it" in why[0], "why there are no names is said", why)
    for name, data in (("pid", Dump(pid=41).bytes + dump.bytes[40:]), ("empty", b""), ("magic", b"x" + dump.bytes[1:]), ("size", dump.bytes[:8] + b"\xff" * 4 + dump.bytes[12:])):
        tap.ok(flame(perf_data(f"{name}.data", written(name, data), samples))[0] == nothing, f"refused: {name}")
    path = written("cut", dump.bytes[:len(dump.bytes) // 2])
    found = flame(perf_data("cut.data", path, samples))[0]
    tap.ok(None in found and 10 < len(found) < len(expected), "of one that is cut, the records that are whole", found)
    if os.geteuid() == 0:
        path = written("foreign", dump.bytes)
        os.chown(path, 65534, 65534)
        tap.ok(flame(perf_data("foreign.data", path, samples))[0] == nothing, "one of another user is refused")
    else:
        tap.skip("one of another user is refused", "only root can make one")
    pipe = os.path.join(scratch.name, "pipe", f"jit-{PID}.dump")
    os.makedirs(os.path.dirname(pipe))
    os.mkfifo(pipe)
    tap.ok(flame(perf_data("pipe.data", pipe, samples))[0] == nothing, "a pipe is not waited for")


# Makes code that counts for some 200 ms, then other code at the same address, and says so in a dump.
MAKER = """
import ctypes, mmap, os, struct, sys, time
path = os.path.join(sys.argv[1], f"jit-{os.getpid()}.dump")
out = open(path, "w+b", buffering=0)
now = time.monotonic_ns
out.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, os.getpid(), now(), 0))
map_file = ctypes.CDLL(None).mmap  # Python's own wants a page of a file
map_file.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
map_file(None, 4096, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, out.fileno(), 0)
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
code = bytes.fromhex("4889f8" "48ffc8" "75fb" "c3")  # mov %rdi, %rax; 1: dec %rax; jne 1b; ret
for index, name in enumerate(("first", "second", "third")):
    memory[:len(code)] = code
    body = struct.pack("<IIQQQQ", os.getpid(), os.getpid(), address, address, len(code), index) + name.encode() + b"\\0" + code
    out.write(struct.pack("<IIQ", 0, 16 + len(body), now()) + body)
    ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(address)(int(sys.argv[2]) * (index + 1))
"""


def check_maps():
    """Lists of made code (perf-PID.map) where people have put them: below a directory as there, or beside; of the user or root, else
    refused; no file, no list."""
    samples = [(100 + i, BASE + at) for i, at in enumerate((0x10, 0x11, 0x210, 0x300))]
    data = perf_data("maps.data", "/bin/x", samples)
    listed = f"{BASE:x} 20 old\n0x{BASE + 0x200:016x} 0x00000020 void A.b(int)\n{BASE:x} 20 py::f:/x.py\n"
    folder = os.path.join(scratch.name, "maps")
    there, beside = os.path.join(folder, "tmp", f"perf-{PID}.map"), os.path.join(folder, f"perf-{PID}.map")
    os.makedirs(os.path.dirname(there))
    named, nothing = {"py::f:/x.py": 2, "void A.b(int)": 1, None: 1}, {None: 4}

    def why():
        return [one["why"] for one in json.loads(ask("symbols", "--json", "--symbols", folder, data).stdout)["files"] if one["pid"] == PID]
    tap.ok(flame("--symbols", folder, data)[0] == nothing and "has no list of it" in why()[0], "no list of made code", why())
    for path in there, beside:
        with open(path, "w", encoding="ascii") as out:
            out.write(listed)
        found, said = flame("--symbols", folder, data)
        tap.ok(found == named and flame(data)[0] == nothing and why() == [None], f"a list of made code: {os.path.relpath(path, folder)}", found, said)
        if path == there:
            found, _ = flame("--path-map", "/tmp=" + os.path.dirname(there), data)
            tap.ok(found == named, "a list of made code: --path-map", found)
        os.remove(path)
    if os.geteuid() == 0:
        with open(there, "w", encoding="ascii") as out:
            out.write(listed)
        os.chown(there, 65534, 65534)
        tap.ok(flame("--symbols", folder, data)[0] == nothing and "belongs to another user" in why()[0], "a list of another user is refused", why())
        os.remove(there)
    os.mkfifo(there)
    tap.ok(flame("--symbols", folder, data)[0] == nothing, "a pipe is no list")
    os.remove(there)
    os.symlink("/dev/zero", there)
    tap.ok(flame("--symbols", folder, data)[0] == nothing, "a device is no list")


def check_perf():
    """What perf itself says of a program that makes code."""
    folder = os.path.join(scratch.name, "perf")
    os.makedirs(folder)
    data, joined = os.path.join(folder, "perf.data"), os.path.join(folder, "joined.data")
    subprocess.run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "999", "-o", data, sys.executable, "-c", MAKER, folder, "200000000"],
                   check=True, capture_output=True)
    subprocess.run(["perf", "inject", "-j", "-i", data, "-o", joined], check=True, capture_output=True, cwd=folder)
    script = subprocess.run(["perf", "script", "-i", joined, "-F", "ip,sym"], check=True, capture_output=True, text=True).stdout.split()
    theirs = collections.Counter(name for name in script if name in ("first", "second", "third"))
    ours = collections.Counter()
    for line in ask("flame", data).stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        if stack.split(";")[-1] in ("first", "second", "third"):
            ours[stack.split(";")[-1]] += round(int(weight) * 999 / 1e9)
    print("# perf inject:", dict(theirs), "Lull:", dict(ours))
    tap.ok(len(theirs) == 3 and all(abs(theirs[name] - ours[name]) <= 1 for name in theirs), "as perf inject and perf script", theirs, ours)


if ask("flame", perf_data("empty.data", "/nowhere", [])).returncode:
    tap.skip("jitdump", "this Lull reads no perf.data")
else:
    tap.run("versions", check_versions)
    tap.run("whose", check_whose)
    tap.run("maps", check_maps)
    if os.environ.get("LULL_TEST_JIT") and shutil.which("perf"):
        tap.run("perf", check_perf)
    else:
        tap.skip("as perf inject and perf script", "LULL_TEST_JIT is not set, or there is no perf")
sys.exit(tap.done())
