#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Times that cannot be: whatever kind of trace brings them, what lies outside of the valid times (2^62 ns around 1970) is
# left out and reported with file and byte, what lies behind it in the file is read, and every verb comes to an end. What
# is expected is counted by hand from what is written here.
import json
import os
import struct
import subprocess
import sys
import tempfile

from lib import perf_writer, tracedat
from tap import Tap

LULL = os.environ["LULL"]
DAY = 1795224179 * 10**9
LAST = (1 << 62) - 1
WHY = "a time lies outside of the years 1824 to 2115"
VERBS = (["info"], ["info", "--events"], ["print"], ["print", "--time=elapsed"], ["stats"], ["stats", "--json"], ["cputop"],
         ["cputop", "--refresh=1ms"], ["critpath", "--tid=1"], ["critpath", "--tid=1", "--unbounded"], ["sync"], ["requests"],
         ["schedlog"], ["freq"])
tap = Tap()


def lull(*arguments):
    """Limits: an endless loop is no answer, and neither are megabytes from a few bytes."""
    done = subprocess.run(["timeout", "-s", "KILL", "60", LULL, *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def times_of(*paths):
    code, out, problems = lull("print", "--json", "--no-progress", *paths)
    return code, [json.loads(line)["time_ns"] for line in out.splitlines()], problems


def count_of(*paths):
    out = lull("info", "--events", "--json", "--no-progress", *paths)[1]
    return sum(event["count"] for event in json.loads(out)["events"]) if out else None


def check(name, path, expected, file, byte=None):
    """Read one by one, in parts and counted, it is the same; `byte` is in the message."""
    code, times, problems = times_of(path)
    tap.ok(times == expected, f"{name}: the events whose times can be", times, expected, problems)
    tap.ok(code == 1 and WHY in problems and file in problems, f"{name}: the others are reported, with the file", code, problems)
    tap.ok(byte is None or f"byte {byte}" in problems, f"{name}: and the byte", byte, problems)
    tap.ok(count_of(path) == len(expected), f"{name}: counting finds as many", count_of(path), len(expected))
    if expected and expected[0] > 0:
        later = ["--begin", f"{expected[0] + 1:020}"]
        tap.ok(times_of(*later, path)[1] == expected[1:], f"{name}: so does reading a part", times_of(*later, path))
    for verb in VERBS:
        code, out, problems = lull(*verb, "--no-progress", path)
        tap.ok(code in (0, 1) and len(out) < 1 << 20, f"{name}: {' '.join(verb)} ends", code, len(out), problems[-500:])


# ---- CTF ----

METADATA = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 32; align = 8; } magic; }; };
env { hostname = "h"; domain = "kernel"; };
clock { name = monotonic; freq = FREQUENCY; offset_s = OFFSET; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := long_time;
typealias integer { size = 32; align = 8; map = clock.monotonic.value; } := time;
stream { event.header := struct {
    enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id;
    variant <id> { struct { time timestamp; } compact;
      struct { integer { size = 32; align = 8; } id; long_time timestamp; } extended; } v; } align(8);
  packet.context := struct { long_time timestamp_begin; long_time timestamp_end; integer { size = 64; align = 8; } content_size;
    integer { size = 64; align = 8; } packet_size; integer { size = 32; align = 8; } cpu_id; }; };
event { name = "sched_switch"; id = 0; fields := struct { integer { size = 32; align = 8; signed = true; } _prev_tid;
    integer { size = 32; align = 8; signed = true; } _next_tid; integer { size = 64; align = 8; } _prev_state; }; };
"""
HEADER = 4 + 4 * 8 + 4


def long(time, tids=(0, 1)):
    return struct.pack("<HIQiiQ", 0xffff, 0, time % (1 << 64), *tids, 1)


def short(time, tids=(1, 0)):
    return struct.pack("<HIiiQ", 0, time & 0xffffffff, *tids, 1)


def packet(start, end, *events):
    body = b"".join(events)
    bits = 8 * (HEADER + len(body))
    return struct.pack("<IQQQQI", 0xc1fc1fc1, start % (1 << 64), end % (1 << 64), bits, bits, 0) + body


def ctf(folder, *packets, offset=0, frequency=10**9):
    os.mkdir(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as out:
        out.write(METADATA.replace("OFFSET", str(offset)).replace("FREQUENCY", str(frequency)))
    with open(os.path.join(folder, "c0_0"), "wb") as out:
        out.write(b"".join(packets))
    return folder


def test_ctf(folder):
    for name, wild in ("2^63-2", (1 << 63) - 2), ("2^63-1", (1 << 63) - 1), ("2^64-1", (1 << 64) - 1), ("2^62", 1 << 62):
        first = packet(100, 300, long(100), long(200), long(wild), long(250))
        path = ctf(os.path.join(folder, "ctf-" + name), first, packet(400, 500, long(400), long(500)))
        check(f"CTF, an event at {name} ns", path, [100, 200, 400, 500], "c0_0", HEADER + 2 * len(long(0)))
    # Short stamps that pass the last valid time: 2^62 - 1 is valid, the next nanosecond is not.
    path = ctf(os.path.join(folder, "ctf-edge"), packet(LAST - 5, LAST, short(LAST - 5), short(LAST), short(LAST + 1)))
    check("CTF, over the edge", path, [LAST - 5, LAST], "c0_0", HEADER + 2 * len(short(0)))
    path = ctf(os.path.join(folder, "ctf-header"), packet(100, (1 << 64) - 1, long(100), long(200)),
               packet(400, 500, long(400), long(500)))
    check("CTF, a packet that ends at 2^64-1", path, [100, 200, 400, 500], "c0_0", 0)
    # Before 1970: times are negative, which is no damage.
    start = 99 * 10**9
    path = ctf(os.path.join(folder, "ctf-1969"), packet(start, (1 << 64) - 1, long(start), long(start + 500)), offset=-100)
    check("CTF, before 1970", path, [-10**9, 500 - 10**9], "c0_0", 0)
    path = ctf(os.path.join(folder, "ctf-clock"), packet(100, 200, long(100), long(200)), offset=9223372036)
    check("CTF, a clock of which no time can be", path, [], "metadata")
    path = ctf(os.path.join(folder, "ctf-slow"), packet(1, 2, long(1), long(1 << 63)), packet(3, 4, long(3)), frequency=1)
    check("CTF, a clock of 1 Hz", path, [10**9, 3 * 10**9], "c0_0", HEADER + len(long(0)))


# ---- trace.dat ----

def test_tracedat(folder):
    def record(writer):
        return writer.pack("HBBiiiq", 100, 0, 0, 7, 0, 1, 1)

    def write(name, *pages, **options):
        writer = tracedat.Writer(page=512, **options)
        writer.formats = [("sched", tracedat.format_text("sched_switch", 100, [
            ("int", "prev_pid", 4, 1), ("int", "next_pid", 4, 1), ("long", "prev_state", 8, 1)]))]
        made = [writer.make_page(time, [writer.stamp(at) + writer.event(0, record(writer)) if at is not None
                                        else writer.extend(1 << 58) * 40 + writer.event(0, record(writer))
                                        for at in events]) for time, events in pages]
        writer.buffers = [("", "local", {0: made})]
        path = os.path.join(folder, name)
        with open(path, "wb") as out:
            out.write(writer.write())
        return path

    for options in {"version": 6}, {"version": 7}, {"version": 7, "packing": "zlib"}, {"version": 6, "big_endian": True}:
        name = "trace.dat, " + " ".join(map(str, options.values()))
        # Forty times 2^58 ns make more than 2^63; and a page that begins at 2^63 - 2, eight bytes of a file.
        path = write("long.dat", (1000, [2000, 3000, None, 4000]), (5000, [6000]), **options)
        check(name + ", an event far away", path, [2000, 3000, 6000], "long.dat")
        path = write("page.dat", (1000, [2000]), ((1 << 63) - 2, [3000]), (5000, [6000]), **options)
        check(name + ", a page far away", path, [2000, 6000], "page.dat")


# ---- perf.data ----

def test_perf(folder):
    w = perf_writer.Writer(False)
    few = perf_writer.TID | perf_writer.TIME | perf_writer.CPU | perf_writer.ID
    w.features = {1: w.tracing(), 29: w.pack("IIQQ", 1, 1, LAST - 5000, 0)}
    w.attr([6], few, kind=0, config=0)
    for time in 1000, 2000, 10000:
        w.record(9, w.pack("IIQQII", 10, 11, time, 6, 0, 0))
    w.round()
    for kind, made in ("file", w.file()), ("pipe", w.pipe()):
        path = os.path.join(folder, "perf-" + kind)
        with open(path, "wb") as out:
            out.write(made)
        check(f"perf.data, {kind}: a wall clock that is far away", path, [1000, 2000, 10000], "perf-" + kind)


# ---- questions ----

def test_questions(folder):
    path = ctf(os.path.join(folder, "sane"), packet(100, 10**18, long(100), long(200), long(10**18)))
    for times in (["--end", "9223372036854775807"], ["--begin", "0", "--end", "2262-04-11T23:47:16"],
                  ["--timerange", "1677-09-22T00:00:00,+2562047h"]):
        code, out, problems = lull("print", "--no-progress", *times, path)
        tap.ok(code == 0 and len(out.splitlines()) == 3, f"{' '.join(times)}: all events", code, out, problems)
        for verb in VERBS:
            code, out, problems = lull(*verb, "--no-progress", *([] if verb[0] == "sync" else times), path)
            tap.ok(code in (0, 1) and len(out) < 1 << 20, f"{' '.join(verb + times)} ends", code, len(out), problems[-500:])
    code, out, problems = lull("cputop", "--no-progress", "--refresh", "1ms", path)
    tap.ok(code == 1 and "--refresh" in problems and not out, "more slices than a small trace has events", code, problems)


with tempfile.TemporaryDirectory() as scratch:
    for test in test_ctf, test_tracedat, test_perf, test_questions:
        tap.run(test.__name__, test, scratch)
sys.exit(tap.done())
