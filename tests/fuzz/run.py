#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs fuzz targets and prints TAP. Four ways:

    run.py --replay PROGRAM --target NAME            gives all known inputs to replay_NAME, in any build
    run.py --bounded PROGRAM --target NAME           the same to fuzz_NAME, then the runs of the table `targets`
                                                     with a fixed seed: the same inputs each time
    run.py --search BUILD [--target NAME] [--seconds N] [--corpus DIR]
                                                     looks for new findings; what crashes a target is left in
                                                     DIR/NAME-findings, what reaches new code in DIR/NAME
    run.py --keep CORPUS BUILD --target NAME [--bytes N]
                                                     adds to seeds/NAME the shortest inputs that reach all the code
                                                     that a corpus does, as far as N bytes go

BUILD is configured with CC=clang and -Dfuzz=true. README.md says where inputs come from."""
import argparse
import io
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "source"))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import perf_writer  # noqa: E402
import relay  # noqa: E402
import tracedat  # noqa: E402

MOST_FINDINGS = 20    # so many of a target are enough for one search
MEANINGS = 300        # seeds of the target meaning: verbs and forms, in turn
# Entropic scheduling takes longer than the targets do: they are large and have many features.
OPTIONS = ["-timeout=100", "-rss_limit_mb=2048", "-print_final_stats=1", "-entropic=0"]


class Target:
    def __init__(self, name, runs, longest, *sources):
        self.name, self.runs, self.longest = name, int(runs), int(longest)


def read_table():
    with open(os.path.join(HERE, "targets"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and line[0] != "#"]
    return {words[0]: Target(*words) for words in lines}


# ---- inputs ----

def read(path):
    with open(path, "rb") as file:
        return file.read()


def traces():
    """(letter, files by name) of each trace."""
    folder = os.path.join(HERE, "traces")
    for trace in sorted(os.listdir(folder)):
        files = {}
        for where, _, names in os.walk(os.path.join(folder, trace)):
            for name in names:
                path = os.path.join(where, name)
                files[os.path.relpath(path, os.path.join(folder, trace))] = read(path)
        yield trace[0], files


def language():
    """The expressions of the filter's own tests."""
    with open(os.path.join(HERE, "..", "filter", "language.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[-1].encode() for line in file if "\t" in line and line[0] != "#"]


def periods():
    """The texts of the periods' own tests, behind the definitions that they refer to."""
    with open(os.path.join(HERE, "..", "period", "language.txt"), encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file if "\t" in line and line[0] != "#"]
    texts = [text.split("\t")[2 if text[0] == "!" else 0] for text in texts]
    before = "p : $evt.$name == \"sched_switch\"\nc(p) : $evt.tid == $parent.$begin.$evt.next_tid : $evt.y == 1\n"
    return [(before + "d(c) : $evt.z == 1\n" + text).encode() for text in texts]


def made_file(**arguments):
    """A writer of a small trace.dat with one class of events."""
    writer = tracedat.Writer(page=512, **arguments)
    writer.formats = [("made", tracedat.format_text("number", 100, [("int", "number", 4, 1),
                                                                    ("__data_loc char[]", "text", 4, 0)]))]
    writer.cmdlines = "4242 worker\n"
    return writer


def tracedats():
    """Files of both versions, orders of bytes, plain and packed, with all that a page can hold."""
    files = []
    for arguments in ({"version": 6}, {"version": 7}, {"version": 7, "packing": "zlib"},
                      {"version": 6, "big_endian": True}, {"version": 7, "long_bytes": 4}):
        writer = made_file(**arguments)
        record = writer.pack("HBBiiI", 100, 0, 0, 4242, 7, 16 | 5 << 16) + b"text\0"
        page = writer.make_page(1000, [writer.event(5, record), writer.extend(1 << 30), writer.stamp(1 << 40),
                                       writer.discarded(3, 12), writer.event(9, record, long=True), writer.padding()])
        after = writer.make_page(1 << 41, [writer.event(0, record)], tracedat.MISSED | tracedat.STORED, 3)
        writer.buffers = [("", "mono", {0: [page, after], 1: [page]}), ("other", "local", {0: [after]})]
        writer.options = [(5, b"Linux box 6.1 x\0"), (14, writer.pack("IIQ", 1 << 20, 20, 0)), (7, b"-5\0"),
                          writer.stats(0, 9, 2), (2, b"\nBuffer: other\n\n\0"), writer.stats(0, 3), (11, writer.pack("Q", 77)),
                          writer.guest("vm", 99, [12, 13]),
                          writer.time_shift(99, len(files) % 2, [[(1, 2, 3, 1)], [(9, -5, 1, 0), (500, 7, 1, 0), (900, 8, 2, 1)]])]
        files.append(writer.write())
    return files


def formats():
    """The texts of formats, behind a byte that says order and size of longs."""
    text = made_file().formats[0][1].encode()
    fields = [("char", "comm[16]", 16, 0), ("__rel_loc u32[]", "list", 4, 0), ("void *", "where", 8, 0),
              ("unsigned long", "args[6]", 48, 0)]
    other = tracedat.format_text("other", 5, fields).encode()
    return [bytes([kind]) + which for kind in range(4) for which in (text, other)]


def program(order, wide, packed=b""):
    """A small program: code, symbols of it, and their names. With `packed` bytes in .gnu_debugdata the symbols are dynamic ones."""
    names, code = b"\0main\0_start\0inner\0.gnu_debugdata\0", bytes(64)
    sizes = (64, 56, 64, 24) if wide else (52, 32, 40, 16)
    at = sizes[0] + sizes[1]
    functions = [(0, 0, 0, 0, 0, 0), (1, 0x12, 0, 1, at, 48), (6, 0x20, 0, 1, at + 48, 0), (13, 0x02, 0, 1, at + 8, 8)]
    form = "IBBHQQ" if wide else "IIIBBH"
    table = b"".join(struct.pack(order + form, *(f if wide else (f[0], f[4], f[5], f[1], f[2], f[3]))) for f in functions)
    word = "Q" if wide else "I"
    behind = at + 64 + len(table) + len(names) + len(packed)
    sections = [(0,) * 10, (0, 1, 6, at, at, len(code), 0, 0, 16, 0), (0, 11 if packed else 2, 0, 0, at + 64, len(table), 3, 4, 8, sizes[3]),
                (0, 3, 0, 0, at + 64 + len(table), len(names), 0, 0, 1, 0)]
    sections += [(19, 1, 0, 0, behind - len(packed), len(packed), 0, 0, 1, 0)] if packed else []
    head = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    head += struct.pack(f"{order}HHI3{word}IHHHHHH", 3, 62 if wide else 3, 1, at, sizes[0], behind, 0, sizes[0], sizes[1], 1, sizes[2],
                        len(sections), 3)
    segment = (1, 5, 0, 0, 0, behind, behind, 4096) if wide else (1, 0, 0, 0, behind, behind, 5, 4096)
    return (head + struct.pack(order + ("IIQQQQQQ" if wide else "8I"), *segment) + code + table + names + packed +
            b"".join(struct.pack(f"{order}II4{word}II2{word}", *section) for section in sections))


def programs():
    """Of both classes and orders of bytes, as they are and packed with xz in a stripped one."""
    made = [program(order, wide) for order in "<>" for wide in (True, False)]
    return made + [program("<", True, lzma.compress(made[0], check=lzma.CHECK_CRC32)), program("<", True, lzma.compress(made[3], check=lzma.CHECK_NONE))]


def symbols():
    return [b"ffffffff81000000 T _text\nffffffff81000040 t sleep\nffffffffc0001000 W sync\t[ext4]\n", b"0000000000000000 T _text\n",
            b"41 t a\n4141414141414141 t b\nAAAAAAAA",
            b"ffffffffc0001000 t sync\t[ext4]\next4 8192 1 - Live 0xffffffffc0000000\n"]


def jitdumps():
    """Code at one address at two times, with lines, moved, and its end; of both orders of bytes."""
    made = []
    for order in "<>":
        def pack(form, *values, order=order):
            return struct.pack(order + form, *values)
        records = [(2, 1, pack("QQQII", 16, 2, 16, 7, 0) + b"a.x\0" + pack("QII", 18, 8, 0) + b"\xff\0"),
                   (0, 2, pack("IIQQQQ", 40, 40, 16, 16, 8, 1) + b"first\0" + b"\x90" * 8), (0, 5, pack("IIQQQQ", 40, 40, 20, 20, 4, 2) + b"second\0" + b"\x90" * 4),
                   (1, 9, pack("IIQQQQQ", 40, 40, 64, 20, 64, 4, 2)), (3, 12, b"")]
        made.append(pack("IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 40, 0, 0) + b"".join(pack("IIQ", kind, 16 + len(body), time) + body for kind, time, body in records))
    return made


def saved():
    return [b"object 0a1b 1 /a\nload 0 100 400000\nload 100 100 400200\n400010 20 main\n400018 8 inner\n400210 0 none\n400220 4 a b\n"
            b"object - 2 /b\nload 0 1 0\n", b"object - 1 /a\nload 0 ffffffffffffffff 0\n10 ffffffffffffffff f\n"]


def perfs():
    """Files and pipes of both orders of bytes, with all records that are events, and with some that are compressed."""
    perf = perf_writer
    made = []
    for big in (False, True):
        w = perf.Writer(big)
        w.features = {1: w.tracing(), 3: w.text("host"), 29: w.pack("IIQQ", 1, 1, 10**18, 5)}
        few = perf.TID | perf.TIME | perf.CPU | perf.ID
        w.attr([5], few | perf.RAW | perf.CALLCHAIN)
        w.attr([6], few, kind=0, config=0)
        for time in (10, 5, 30):
            raw = w.raw(time, "text", "name", 1, [1, 2])
            w.record(9, w.pack("IIQQIIQQI", 10, 11, time, 5, 1, 0, 1, 4096, len(raw)) + raw)
            w.record(9, w.pack("IIQQII", 10, 11, time + 1, 6, 0, 0))
            w.round()
        for kind, body in ((2, w.pack("QQ", 5, 3)), (3, w.pack("II", 10, 11) + b"name\0\0\0\0"), (7, w.pack("IIIIQ", 12, 10, 12, 11, 40)),
                           (4, w.pack("IIIIQ", 12, 10, 12, 11, 50)), (13, w.pack("Q", 2)), (15, w.pack("II", 1, 2)),
                           (1, w.pack("IIQQQ", 10, 11, 1, 2, 3) + b"map\0\0\0\0\0")):
            w.record(kind, body + w.trailer(10, 11, 40, 1, 5, few))
            w.record(kind, body + w.trailer(10, 11, 0, 1, 5, few))
        made += [w.file(), w.pipe()]
        counted = perf.Writer(big)
        for ident, period in ((5, 1), (6, 0), (7, 0)):
            counted.attr([ident], few | perf.READ | perf.RAW, kind=1, config=ident - 5, read_format=1 | 2 | 4 | 8 | 16, period=period)
        counted.record(69, counted.pack("QQQQQ", 1, 5, 0, 1, 2**64 - 1))
        for time in (10, 20):
            read = counted.pack("QQQ", 3, 2 * time, time) + b"".join(counted.pack("QQQ", time * i, i, 0) for i in (5, 6, 7))
            counted.record(9, counted.pack("IIQQII", 10, 11, time, 5, 1, 0) + read + counted.pack("I4x", 4))
        made += [counted.file(), counted.pipe()]
        w.features = {2: w.pack("IHH", 67, 1 << 15, 40) + bytes(4) + bytes(range(20)) + b"\x14\0\0\0" + b"/a\0\0"}
        w.record(10, w.pack("IIQQQ", 10, 11, 1, 2, 3) + b"\x08\0\0\0" + bytes(20) + w.pack("II", 5, 2) + b"/b\0\0\0\0\0\0" +
                 w.trailer(10, 11, 40, 1, 5, few), misc=1 << 14)
        made += [w.file(), w.pipe()]
        dumped = perf.Writer(big)
        dumped.attr([5], few | perf.REGS_USER | perf.STACK_USER, kind=1, config=0, regs_user=0b101)
        for abi, stack in ((2, b"stack..."), (0, b""), (1, bytes(24))):
            regs = dumped.pack("Q", abi) + (dumped.pack("QQ", 0x10, 0x20) if abi else b"")
            dumped.record(9, dumped.pack("IIQQII", 10, 11, 10, 5, 1, 0) + regs + dumped.pack("Q", len(stack)) + stack +
                          (dumped.pack("Q", 16) if stack else b""))
        made += [dumped.file(), dumped.pipe()]
    return made


def unwinds():
    """Sections of each kind with a function or two, registers and a stack on which they called each other."""
    def entry(body, is_cie):
        body += bytes(-len(body) % 4)
        return (lambda at, kind: struct.pack("<I", len(body) + 4) + kind(at, is_cie) + body), len(body) + 8

    made = []
    common = bytes([1]) + b"zR\0" + bytes([1, 0x78, 16, 1, 0]) + bytes([0x0c, 7, 8, 0x90, 1])
    plain = bytes([3]) + b"\0" + bytes([1, 0x78, 16]) + bytes([0x0c, 7, 8, 0x90, 1])
    program = bytes([0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x43, 0x0d, 6, 0x0b, 0x02, 9, 0x0f, 3, 0x77, 8, 0x06, 0x10, 3, 1, 0x32, 0x2e, 1])
    for is_debug in (False, True):
        for start, length in ((0x10, 0x40), (0, 0x7000)):
            def kind(at, is_cie, is_debug=is_debug):
                return b"\xff\xff\xff\xff" if is_debug and is_cie else struct.pack("<I", 0 if is_debug or is_cie else at + 4)
            first, size = entry(plain if is_debug else common, True)
            second, _ = entry(struct.pack("<QQ", start, length) + (b"" if is_debug else b"\0") + program, False)
            section = first(0, kind) + second(size, kind) + bytes(4)
            registers = struct.pack("<QQ", 2, 0xff0fff) + struct.pack("<20Q", *[0] * 6, 0x2018, 0x2000, 0x12, *range(11)) + bytes(104)
            stack = struct.pack("<16Q", 0x20, 0x14, 0x2030, 0x2030, 0x30, 0x15, 0x16, 0x2060, 0x18, *[0x11] * 7)
            made += [bytes([flags | 4 * is_debug, len(section) & 255, len(section) >> 8]) + section + registers + stack for flags in (0, 1, 2, 8)]
    return made


def vocabulary():
    """Numbers of the events, and how many times each is to come: what tasks do most is what analyses are about."""
    with open(os.path.join(HERE, "..", "..", "src", "kernel", "events.def"), encoding="utf-8") as file:
        names = re.findall(r"^EVENT_BEGIN\((\w+),", file.read(), re.MULTILINE)
    often = {"sched_switch": 60, "sched_waking": 15, "sched_wakeup": 15, "packet_sent": 8, "packet_received": 8, "netif_sent": 3}
    return [number for number, name in enumerate(names) for _ in range(often.get(name, 1))]


def meaning_event(chance, what, wild):
    """Bytes of an event: at sane times and with values that fit together, or neither; most of the time in between."""
    late = chance.choice([1, 1, 1, 2, 2, 3, 4, 5, 6, 7]) if chance.random() < wild else chance.randrange(1, 3)
    event = [what, *([chance.randrange(256)] if 160 <= what < 255 else []), chance.randrange(8) | late << 3]
    event += [chance.randrange(256) for _ in range(8 if late == 6 else 1)]
    given = chance.randrange(1, 6) if chance.random() < 2 * wild else 0
    event.append(given << 4 | chance.randrange(4))
    for _ in range(given):
        event += [chance.randrange(255), chance.randrange(128, 255) if chance.random() < 0.7 else chance.randrange(16)]
    return bytes(event)


def meanings():
    """Verbs with forms in turn, about traces in which everything happens; the same each time. fuzz_meaning.c and meaning.c
    say what the bytes are: verb, form, task; hosts, fields that are left out, clocks; events."""
    chance = random.Random(10)
    numbers, inputs = vocabulary(), []
    for number in range(MEANINGS):
        wild = (0, 0.02, 0.1, 0.5)[number % 4]
        clocks = chance.randrange(1 << 12) if number % 5 == 4 else 0
        head = [number & 255, number // 7 & 255, number // 3 & 3, number % 3 | 4, chance.choice([0, 0, 1, 5, 32, 64, 255]),
                clocks & 255, clocks >> 8]
        events = [meaning_event(chance, chance.choice((*range(160, 254), 255)) if chance.random() < 0.3 else chance.choice(numbers), wild)
                  for _ in range(chance.randrange(40, 300))]
        inputs.append(bytes(head) + b"".join(events))
    return inputs


def metadata(is_json):
    return [files["metadata"] for _, files in traces() if files["metadata"].startswith(b"\x1e") == is_json]


def files_of(wanted, behind=b""):
    """Each file that `wanted` says yes to, behind the letter of its trace and what else is `behind` that."""
    return [letter.encode() + behind + data for letter, files in traces() for name, data in sorted(files.items()) if wanted(name)]


def conversations():
    """What a relay says to a viewer, with metadata of CTF 1.8 and of CTF 2."""
    said = []
    for minor, text in ((13, relay.head() + relay.declare(0, "tick")), (15, b"".join(relay.head2()) + relay.declare2(0, "tick"))):
        steps = [relay.packet([(1000 + i, 0, i) for i in range(9)], 1000, 2000), ("inactive", 5000), ("retry",),
                 relay.packet([(6000, 0, 9)], 6000, 7000, discarded=2)]
        session = relay.Session(1, "test", [relay.Trace(1, [text])], [relay.Stream(11, 1, steps)])
        said.append(relay.conversation(session, minor))
    return said


def archives():
    """Of snapshots, and of what none has."""
    def archive(*entries):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, kind, data in entries:
                info = tarfile.TarInfo(name)
                info.type, info.size, info.linkname = kind, len(data), "../outside" if kind == tarfile.SYMTYPE else ""
                tar.addfile(info, io.BytesIO(data))
        return out.getvalue()[:4096]
    file, folder, link = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
    made = [archive(("recording.json", file, b"{}"), ("state", folder, b"")), archive(("a", folder, b""), ("a/b", file, b"x" * 600)),
            archive(("../a", file, b"")), archive(("l", link, b""), ("l/a", file, b"")), archive(("e", file, b""))]
    return [bytes([which]) + data for data in made for which in (0, 1)]


def datagrams():
    """Of daemons, by the table of docs/DAEMON.md: as they are, signed, and set right."""
    address = bytes(10) + b"\xff\xff" + bytes([10, 9, 0, 3])
    connection = address + address + struct.pack(">HH", 6379, 40001)
    header = struct.pack(">qQ", 1795269013 * 10**9, 7) + b"20261122-140211-7f3a9c01"
    asks = [b"LULT" + bytes([1, 1, 8, n]) + header + b"slow".ljust(64, b"\0") + struct.pack(">qq", 9 * 10**8, 10**7) + n * connection
            for n in (0, 1, 24)]
    answers = [b"LULT" + bytes([1, 2, verdict, 0]) + header + made for verdict, made in ((0, header[16:]), (3, bytes(24)))]
    return [bytes([which]) + text + bytes(32) for text in asks + answers for which in (0, 1, 3)]


# What the inputs of a target are made of, besides the files in seeds/NAME and regressions/NAME.
MADE = {
    "bundle": archives,
    "elf": programs,
    "jitdump": jitdumps,
    "filter": language,
    "format": formats,
    "live": conversations,
    "index": lambda: files_of(lambda name: name.startswith("index")),
    "meaning": meanings,
    "kallsyms": symbols,
    "metadata": lambda: metadata(False),
    "metadata2": lambda: metadata(True),
    "perf": perfs,
    "perf_map": lambda: [b"10 20 py::f:/a/b.py\n0x0000000000000018 0x08 void A::b(int)\n18 4 again\nffffffffffffffff 10 far\n", b"1 ffffffffffffffff all\n"],
    "peer": datagrams,
    "period": periods,
    "saved": saved,
    "stream": lambda: files_of(lambda name: "/" not in name and name != "metadata", b"\0"),
    "tracedat": tracedats,
    "unwind": unwinds,
}


def collect(name, folder):
    """Writes all known inputs of a target; their names, those of regressions first."""
    made = [(f"made-{number:03}", data) for number, data in enumerate(MADE.get(name, list)())]
    kept = []
    for kind in "regressions", "seeds":
        where = os.path.join(HERE, kind, name)
        for file in sorted(os.listdir(where)) if os.path.isdir(where) else ():
            kept.append((f"{kind[:-1]}-{file}", read(os.path.join(where, file))))
    for file, data in kept + made:
        with open(os.path.join(folder, file), "wb") as out:
            out.write(data)
    return [file for file, _ in kept + made]


# ---- running ----

class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, name, why=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        if not good:
            print("".join(f"# {line}\n" for line in why.splitlines()[-60:]), end="")
        sys.stdout.flush()

    def done(self):
        print(f"1..{self.count}")
        return 1 if self.failed or self.count == 0 else 0


def run(command, scratch):
    environment = dict(os.environ, TMPDIR=scratch, G_SLICE="always-malloc")
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False)


def run_fixed(command):
    """Runs it so that its addresses are the same each time, since libFuzzer makes inputs of what was compared, pointers
    too; where the machine does not allow that, without such inputs. A long environment would move the stack."""
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
    still = ["setarch", "-R"]
    if shutil.which("setarch") is None or subprocess.run([*still, "true"], check=False, capture_output=True).returncode:
        still = ["env"]
        command = [*command, "-use_cmp=0"]
    return subprocess.run([*still, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False)


def report(tap, name, inputs, done, text):
    """One line for each regression and one for all seeds, which are known not to fail."""
    for file in inputs:
        if file.startswith("regression-"):
            tap.ok(file in done, f"{name}: {file}", text)
    seeds = [file for file in inputs if not file.startswith("regression-")]
    tap.ok(all(file in done for file in seeds), f"{name}: {len(seeds)} seeds", text)


def replay(tap, options, target, scratch):
    folder = os.path.join(scratch, "inputs")
    os.mkdir(folder)
    inputs = collect(target.name, folder)
    result = run([options.replay, folder], scratch)
    done = set(re.findall(r"^ok \d+ - (.*)$", result.stdout, re.MULTILINE))
    report(tap, target.name, inputs, done, result.stdout)
    if len(done) == len(inputs):
        tap.ok(result.returncode == 0, f"{target.name}: ends well", result.stdout)


def final_stat(text, key):
    found = re.search(rf"stat::{key}:\s*(\d+)", text)
    return int(found.group(1)) if found else 0


def executed(text):
    """Inputs that the fuzzer tried; a process that crashed says it in its last line of progress."""
    progress = [int(number) for number in re.findall(r"^#(\d+)\t", text, re.MULTILINE)]
    return final_stat(text, "number_of_executed_units") or max(progress, default=0)


def dictionary(name):
    path = os.path.join(HERE, "dictionaries", name)
    return [f"-dict={path}"] if os.path.exists(path) else []


def bounded(tap, options, target, scratch):
    """Replays each input, then mutates them. The list gives libFuzzer an order that no file system decides."""
    folder, listed = os.path.join(scratch, "inputs"), os.path.join(scratch, "list")
    os.mkdir(folder)
    inputs = collect(target.name, folder)
    paths = [os.path.join(folder, file) for file in inputs]
    result = run([options.bounded, *OPTIONS, *paths], scratch)
    good = result.returncode == 0
    tap.ok(good, f"fuzz {target.name}: {len(inputs)} known inputs", result.stdout)
    if not good:
        return
    with open(listed, "w", encoding="utf-8") as out:
        out.write(",".join(paths))
    began = time.monotonic()
    result = run_fixed([options.bounded, *OPTIONS, *dictionary(target.name), "-seed=1", f"-runs={options.runs or target.runs}",
                        f"-max_len={target.longest}", f"-artifact_prefix={options.findings}/{target.name}-",
                        f"-seed_inputs=@{listed}"])
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", result.stdout)
    tap.ok(result.returncode == 0, f"fuzz {target.name}: {executed(result.stdout)} of {options.runs or target.runs} mutations in "
           f"{time.monotonic() - began:.0f} s, {' '.join(covered[-1]) if covered else 'no'} edges, features and inputs",
           result.stdout)


def search_once(options, target, scratch, seconds):
    """One process of the fuzzer, which ends with its first finding: exit code and output."""
    corpus = os.path.join(options.corpus, target.name)
    program = os.path.join(options.search, "tests", "fuzz", "fuzz_" + target.name)
    result = subprocess.run([program, *OPTIONS, *dictionary(target.name), f"-max_total_time={seconds}", f"-max_len={target.longest}",
                             f"-artifact_prefix={corpus}-findings/", corpus],
                            env=dict(os.environ, TMPDIR=scratch, G_SLICE="always-malloc"), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    with open(corpus + ".log", "a", encoding="utf-8") as log:
        log.write(result.stdout)
    return result.returncode, result.stdout


def what_was_found(code, text):
    """A line for a finding: where its input is, and what the sanitizer or the target said."""
    kept = re.findall(r"Test unit written to (.*)$", text, re.MULTILINE)
    said = re.findall(r"^(?:SUMMARY: |.*runtime error: |fuzz_\w+: )(.*)$", text, re.MULTILINE)
    return f"{kept[-1] if kept else 'no input kept'}: exit code {code}, {said[0] if said else 'see the log'}"


def search(tap, options, target, scratch):
    """Goes on behind each finding for as long as it may, and says how long that really was."""
    corpus = os.path.join(options.corpus, target.name)
    for folder in corpus, corpus + "-findings":
        os.makedirs(folder, exist_ok=True)
    collect(target.name, corpus)
    ran, inputs, last, findings = 0.0, 0, 0.0, []
    while (left := round(options.seconds - ran)) > 0 and len(findings) < MOST_FINDINGS:
        began = time.monotonic()
        code, text = search_once(options, target, scratch, left)
        ran += time.monotonic() - began
        inputs += executed(text)
        if code == 0:
            break
        findings.append(what_was_found(code, text))
        last = ran
    quiet = f", the last after {last:.0f} s" if findings else ""
    tap.ok(not findings and ran >= options.seconds * 0.99,
           f"fuzz {target.name}: {inputs} inputs in {ran:.0f} of {options.seconds} s, {len(findings)} findings{quiet}",
           "\n".join(findings) or "the fuzzer ended too early, see its log")


def keep(tap, options, target, scratch):
    """Minimises a corpus and keeps what fits."""
    program = os.path.join(options.search, "tests", "fuzz", "fuzz_" + target.name)
    known, least = os.path.join(scratch, "known"), os.path.join(scratch, "least")
    seeds = os.path.join(HERE, "seeds", target.name)
    for folder in known, least, seeds:
        os.makedirs(folder, exist_ok=True)
    for file in collect(target.name, known):
        shutil.copy(os.path.join(known, file), least)
    before = set(os.listdir(least))
    result = run([program, "-merge=1", f"-max_len={target.longest}", least, options.keep], scratch)
    size = count = 0
    found = [os.path.join(least, file) for file in os.listdir(least) if file not in before]
    for path in sorted(found, key=lambda path: (os.path.getsize(path), path)):
        if size + os.path.getsize(path) > options.bytes:
            break
        size += os.path.getsize(path)
        count += 1
        shutil.copy(path, os.path.join(seeds, os.path.basename(path)[:12]))
    tap.ok(result.returncode == 0, f"{target.name}: {count} of {len(found)} inputs kept, {size} bytes", result.stdout)


def main():
    table = read_table()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", metavar="PROGRAM")
    parser.add_argument("--bounded", metavar="PROGRAM")
    parser.add_argument("--search", metavar="BUILD")
    parser.add_argument("--keep", metavar="CORPUS", help="needs --search BUILD too")
    parser.add_argument("--target", choices=sorted(table))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, help="instead of what the table says")
    parser.add_argument("--corpus", default="fuzz-corpus")
    parser.add_argument("--findings", default=".", help="where --bounded leaves what crashes")
    parser.add_argument("--bytes", type=int, default=30000)
    options = parser.parse_args()
    options.corpus = os.path.abspath(options.corpus)
    function = replay if options.replay else bounded if options.bounded else keep if options.keep else search
    if function is search and not options.search:
        parser.error("one of --replay, --bounded, --search is needed")
    tap = Tap()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None     # targets write many small files
    for name in [options.target] if options.target else sorted(table):
        with tempfile.TemporaryDirectory(dir=memory, prefix="lull-fuzz-") as scratch:
            function(tap, options, table[name], scratch)
    return tap.done()


sys.exit(main())
