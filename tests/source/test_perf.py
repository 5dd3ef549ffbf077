#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# perf.data: recordings made here and recorded ones are read as perf reads them (`perf script` tells each event's fields through a
# script of ours), and written ones, which have what perf of one machine does not produce, as they were written.
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import lib.perf_writer as perf
from lib.perf_writer import Writer
from tap import Tap

lull = os.environ["LULL"]
samples = os.path.join(os.environ["LULL_SAMPLES"], "perf")
here = os.path.dirname(os.path.abspath(__file__))
tap = Tap()


def run(*arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, env=environment, stdin=subprocess.DEVNULL)


def events(path, *options):
    result = run("print", "--json", *options, path)
    return [json.loads(line) for line in result.stdout.splitlines()], result


# --- as perf reads them ---------------------------------------------------------------------------------------


def same_value(ours, theirs):
    if isinstance(theirs, dict):
        data = bytes.fromhex(theirs["bytes"])
        if not isinstance(ours, list) or not ours:
            return ours in ([], "") and not data.strip(b"\0")
        width = len(data) // len(ours)
        return [v % (1 << 8 * width) for v in ours] == [int.from_bytes(data[i:i + width], "little")
                                                        for i in range(0, len(data), width)]
    if isinstance(theirs, int) and isinstance(ours, int):
        return ours % 2**64 == theirs % 2**64
    return ours == theirs


def difference(event, line, offset, chains):
    """What of an event is not as perf tells it, or ''."""
    context, fields = event["context"], event["fields"]
    pairs = [("time", event["time_ns"] - offset, line["time"]), ("cpu", event["cpu"], line["cpu"]),
             ("name", event["name"], line["name"].split(":")[-1]), ("tid", context["tid"], line["tid"])]
    for what, ours, theirs in pairs:
        if ours != theirs:
            return f"{what}: {ours} instead of {theirs} in {line}"
    for key, value in line["fields"].items():
        if key not in fields or not same_value(fields[key], value):
            return f"field {key}: {fields.get(key)} instead of {value} in {line}"
    if set(fields) - set(line["fields"]):
        return f"more fields: {sorted(fields)} in {line}"
    # perf leaves marks of contexts out ("from here on user space"), and what stands behind an address of 0
    ours = [ip for ip in context.get("callchain", []) if ip < 2**64 - 4096]
    if chains and line["chain"] and ours[:len(line["chain"])] != line["chain"]:
        return f"chain: {ours} in {line}"
    return ""


def compare(name, path, lines, chains):
    ours, result = events(path)
    ours = [event for event in ours if not event["name"].startswith("perf:")]
    if not tap.ok(result.returncode == 0 and len(ours) == len(lines) > 0, f"{name}: as many events as perf script tells",
                  len(ours), len(lines), result.stderr):
        return
    info = json.loads(run("info", "--json", path).stdout)
    offset = info["traces"][0]["clock"]["offset_ns"]
    ours.sort(key=lambda e: (e["time_ns"], e["cpu"], e["name"]))
    lines.sort(key=lambda e: (e["time"], e["cpu"], e["name"].split(":")[-1]))
    wrong = [why for event, line in zip(ours, lines) for why in [difference(event, line, offset, chains)] if why]
    tap.ok(not wrong, f"{name}: the same times, CPUs, tasks, names and fields", *wrong[:3])
    if chains:
        tap.ok(sum(len(line["chain"]) > 2 for line in lines) > 10, f"{name}: call chains were there to compare")


def perf_lines(path):
    result = subprocess.run(["perf", "script", "-i", path, "-s", os.path.join(here, "perf_dump.py")], capture_output=True, text=True,
                            timeout=120, stdin=subprocess.DEVNULL)
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


RECORDINGS = {"file": [], "packed": ["-z"], "chains": ["-g"], "clock": ["-k", "CLOCK_MONOTONIC"], "pipe": ["-o", "-"]}
PROGRAM = ["sh", "-c", "ls / >/dev/null; sleep 0.02; (sleep 0.01; echo x) | cat >/dev/null"]


def test_recorded_here():
    """Only the program that is started is recorded, never the whole machine."""
    if shutil.which("perf") is None:
        tap.skip("recordings made here", "perf is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        for name, options in RECORDINGS.items():
            path = os.path.join(directory, name + ".data")
            where = [] if name == "pipe" else ["-o", path]
            with open(path if name == "pipe" else os.devnull, "wb") as out:
                result = subprocess.run(["perf", "record", "-q", "-e", "sched:*", "-e", "raw_syscalls:*", *options, *where, "--", *PROGRAM],
                                        stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
            if result.returncode != 0 or not os.path.exists(path) or os.path.getsize(path) == 0:
                tap.skip(f"recorded here, {name}", "perf cannot record: " + " ".join(result.stderr.decode().split())[:120])
                continue
            lines = perf_lines(path)
            if not lines:
                tap.skip(f"recorded here, {name}", "this perf cannot run scripts in Python")
                continue
            compare(f"recorded here, {name}", path, lines, name == "chains")


def test_samples():
    for name in RECORDINGS:
        with open(os.path.join(samples, name + ".lines"), encoding="utf-8") as file:
            compare(f"sample {name}", os.path.join(samples, name + ".data"), [json.loads(line) for line in file], name == "chains")


# --- as they were written -------------------------------------------------------------------------------------

ALL = (perf.IP | perf.TID | perf.TIME | perf.ADDR | perf.READ | perf.CALLCHAIN | perf.ID | perf.CPU | perf.PERIOD | perf.STREAM_ID |
       perf.RAW | perf.BRANCH | perf.REGS_USER | perf.STACK_USER | perf.WEIGHT | perf.DATA_SRC | perf.IDENTIFIER | perf.TRANSACTION |
       perf.REGS_INTR | perf.PHYS_ADDR | perf.AUX | perf.CGROUP | perf.DATA_PAGE | perf.CODE_PAGE)
FEW = perf.TID | perf.TIME | perf.CPU | perf.RAW | perf.ID


def full_sample(w, time):
    q = w.pack
    body = q("Q", 5) + q("Q", 0x1000) + q("II", 10, 11) + q("Q", time) + q("Q", 0xADD) + q("Q", 5) + q("Q", 99) + q("II", 3, 0) + q("Q", 7)
    body += q("QQQ", 2, 1, 1) + q("QQQ", 41, 5, 0) + q("QQQ", 42, 6, 0)  # READ: group, times, two values with id and lost
    body += q("QQQ", 2, 0xFFFF800000000001, 0x400000)
    raw = w.raw(-3, "hello", "abc", 2**63 + 1, [1, 2, 255])
    body += q("I", len(raw)) + raw
    body += q("QQ", 1, 7) + bytes(24)  # BRANCH_STACK with hw_idx
    body += q("QQQ", 2, 1, 2)  # REGS_USER: two registers
    body += q("Q", 8) + b"stackstk" + q("Q", 8)
    body += q("QQQ", 21, 22, 23)  # WEIGHT, DATA_SRC, TRANSACTION
    body += q("Q", 0)  # REGS_INTR: no ABI, no registers
    return body + q("QQQQ", 24, 25, 4096, 8192) + q("Q", 16) + bytes(16)


def machine_features(w):
    w.features = {1: w.tracing(), 3: w.text("farm"), 4: w.text("6.1.0-test"), 6: w.text("x86_64")}


def test_everything():
    for big in (False, True):
        for form in ("file", "pipe"):
            w = Writer(big)
            machine_features(w)
            w.attr([5, 6], ALL, read_format=1 | 2 | 4 | 8 | 16, branch=1 << 17, regs_user=0b101, regs_intr=0b1)
            w.record(9, full_sample(w, 1000))
            name = f"every part of a sample, {'big' if big else 'little'} endian, {form}"
            with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
                path = os.path.join(directory, "perf.data")
                with open(path, "wb") as file:
                    file.write(getattr(w, form)())
                ours, result = events(path)
                info = json.loads(run("info", "--json", path).stdout)
            if not tap.ok(len(ours) == 1, f"{name}: one event", result.stdout, result.stderr):
                continue
            event = ours[0]
            tap.ok((event["time_ns"], event["cpu"], event["name"]) == (1000, 3, "demo"), f"{name}: time, CPU and name", event)
            context = {"pid": 10, "tid": 11, "common_flags": 1, "common_preempt_count": 2, "common_pid": 4711, "addr": 0xADD,
                       "weight": 21, "data_src": 22, "transaction": 23, "phys_addr": 24, "cgroup": 25, "data_page_size": 4096,
                       "code_page_size": 8192, "callchain": [0xFFFF800000000001, 0x400000]}
            tap.ok(event["context"] == context, f"{name}: context", event["context"])
            fields = {"value": -3, "text": "hello", "name": "abc", "wide": 2**63 + 1, "words": [1, 2, 255]}
            tap.ok(event["fields"] == fields, f"{name}: fields", event["fields"])
            tap.ok(info["hosts"][0]["name"] == "farm", f"{name}: host", info["hosts"])


def small_sample(w, time, cpu, value=1, ident=5, tid=11):
    raw = w.raw(value, "", "", 0, [])
    w.record(9, w.pack("II", 10, tid) + w.pack("Q", time) + w.pack("Q", ident) + w.pack("II", cpu, 0) + w.pack("I", len(raw)) + raw)


def written(w, *options):
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        path = os.path.join(directory, "perf.data")
        with open(path, "wb") as file:
            file.write(w.file())
        ours, result = events(path, *options)
        return ours, result, json.loads(run("info", "--json", path).stdout)


def small_writer():
    w = Writer()
    machine_features(w)
    w.attr([5], FEW)
    return w


def test_rounds():
    """Two buffers of one CPU, and another CPU, round by round: what a round holds is not older than the round before the last."""
    w = small_writer()
    for times in ([10, 30], [20, 25], None, [40, 60], [28, 50], None, [70], [55], None):
        if times is None:
            w.round()
            continue
        for time in times:
            small_sample(w, time, 0, time)
    ours, result, _ = written(w)
    tap.ok([e["fields"]["value"] for e in ours] == [10, 20, 25, 28, 30, 40, 50, 55, 60, 70], "rounds are put in order", ours)
    tap.ok(result.stderr == "", "rounds: nothing to complain of", result.stderr)


def test_two_attrs():
    w = Writer()
    machine_features(w)
    w.attr([5, 6], FEW)
    w.attr([8], perf.TID | perf.TIME | perf.CPU | perf.ID | perf.PERIOD, kind=0, config=0)
    w.features[12] = w.pack("II", 1, 128) + w.attrs[1][0] + w.pack("I", 1) + w.text("cycles") + w.pack("Q", 8)
    small_sample(w, 10, 0, 1, 5)
    w.record(9, w.pack("IIQQIIQ", 10, 11, 20, 8, 1, 0, 12345))
    small_sample(w, 30, 1, 2, 6)
    small_sample(w, 40, 1, 3, 7)  # nobody's
    ours, result, _ = written(w)
    told = [(e["name"], e["cpu"], e["context"].get("period"), e["fields"].get("value")) for e in ours]
    tap.ok(told == [("demo", 0, None, 1), ("cycles", 1, 12345, None), ("demo", 1, None, 2)], "ids tell events apart", told)
    tap.ok("1 samples are of events that the header does not know" in result.stderr, "unknown ids are told", result.stderr)


def test_names():
    """Events that no description names are called what perf calls them (`perf list`, `perf evlist`), which leaves guests out."""
    without_guests = 1 << 20
    named = [(0, 0, 0, "cycles"), (0, 1, 0, "instructions"), (0, 2, 0, "cache-references"), (0, 3, 0, "cache-misses"),
             (0, 4, 0, "branches"), (0, 5, 0, "branch-misses"), (0, 6, 0, "bus-cycles"), (0, 7, 0, "stalled-cycles-frontend"),
             (0, 8, 0, "stalled-cycles-backend"), (0, 9, 0, "ref-cycles"), (1, 0, 0, "cpu-clock"), (1, 1, 0, "task-clock"),
             (1, 2, 0, "page-faults"), (1, 3, 0, "context-switches"), (1, 4, 0, "cpu-migrations"), (1, 5, 0, "minor-faults"),
             (1, 6, 0, "major-faults"), (1, 7, 0, "alignment-faults"), (1, 8, 0, "emulation-faults"), (1, 9, 0, "dummy"),
             (1, 10, 0, "bpf-output"), (3, 0x10000, 0, "L1-dcache-load-misses"), (3, 0, 0, "L1-dcache-loads"),
             (3, 0x10103, 0, "dTLB-store-misses"), (3, 2, 0, "LLC-loads"), (4, 0x1A8, 0, "raw 0x1a8"),
             (0, 0, 1 << 5 | 1 << 6 | 1 << 20, "cycles:u"),
             (0, 0, 1 << 4 | 1 << 20, "cycles:kh"), (0, 0, 1 << 4, "cycles:khH"), (0, 1, 2 << 15 | 1 << 20, "instructions:pp"),
             (0, 0, 1 << 20, "cycles:HG"), (0, 1, 1 << 19 | 1 << 20, "instructions:G")]
    for big in (False, True):
        for form in ("file", "pipe"):
            w = Writer(big)
            for i, (kind, config, flags, _) in enumerate(named):
                w.attr([100 + i], perf.TID | perf.TIME | perf.CPU | perf.ID, kind=kind, config=config,
                       flags=flags ^ without_guests)
                w.record(9, w.pack("IIQQII", 10, 11, 1000 + i, 100 + i, 0, 0))
            with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
                path = os.path.join(directory, "perf.data")
                with open(path, "wb") as file:
                    file.write(getattr(w, form)())
                told = [event["name"] for event in events(path)[0]]
                where = f"{'big' if big else 'little'} endian, {form}"
                tap.ok(told == [row[3] for row in named], f"names from type and config: {where}", told)
                if shutil.which("perf") and not big:
                    theirs = subprocess.run(["perf", "evlist", "-i", path], capture_output=True, text=True, check=False).stdout.split("\n")
                    theirs = [line for line in theirs if line and not line.startswith("#")]
                    # Before Linux 6.2, perf does not know bpf-output by name.
                    wrong = [pair for pair in zip(told, theirs) if pair[0] != pair[1] and pair[0] != "bpf-output"]
                    tap.ok(len(told) == len(theirs) and not wrong, f"names as perf has them: {where}", wrong, len(theirs))


def test_losses():
    w = small_writer()
    small_sample(w, 100, 0)
    w.record(2, w.pack("QQ", 5, 41) + w.trailer(10, 11, 200, 0, 5, FEW))
    w.record(13, w.pack("Q", 1) + w.trailer(10, 11, 250, 0, 5, FEW))
    small_sample(w, 300, 0)
    ours, _, info = written(w)
    told = [(lost["begin_ns"], lost["end_ns"], lost["events"]) for lost in info["lost"]["intervals"]]
    tap.ok(len(ours) == 2 and told == [(100, 200, 41), (200, 250, 1)], "LOST and LOST_SAMPLES are losses where they were", told)
    w.record(13, w.pack("Q", 50) + w.trailer(10, 11, 0, 0, 5, FEW))  # perf's own sum at the end: the 42 again, and 8
    _, _, info = written(w)
    told = [(lost["begin_ns"], lost["end_ns"], lost["events"]) for lost in info["lost"]["intervals"]]
    tap.ok(info["lost"]["events"] == 50 and (100, 300, 8) in told, "what perf counts in the end is not counted twice", told)


def test_tasks():
    w = small_writer()
    t = lambda time: w.trailer(10, 10, time, 1, 5, FEW)  # noqa: E731
    w.record(3, w.pack("II", 10, 10) + b"parent\0\0" + t(0))
    small_sample(w, 100, 0, 1, 5, 10)
    w.record(7, w.pack("IIIIQ", 12, 10, 12, 10, 150) + t(150))
    small_sample(w, 160, 0, 2, 5, 12)
    w.record(3, w.pack("II", 12, 12) + b"child\0\0\0" + t(170), misc=1 << 13)
    small_sample(w, 180, 0, 3, 5, 12)
    w.record(15, w.pack("II", 12, 12) + t(185), misc=1 << 13)
    w.record(4, w.pack("IIIIQ", 12, 10, 12, 10, 190) + t(190))
    ours, result, _ = written(w)
    told = [(e["time_ns"], e["name"]) for e in ours]
    tap.ok(told == [(100, "perf:task"), (100, "demo"), (150, "perf:fork"), (160, "demo"), (170, "perf:comm"), (180, "demo"),
                    (185, "perf:switch"), (190, "perf:exit")], "tasks: perf's own records are events", told, result.stderr)
    fields = {e["name"]: e["fields"] for e in ours}
    tap.ok(fields["perf:task"] == {"pid": 10, "tid": 10, "name": "parent"} and
           fields["perf:fork"] == {"parent_tid": 10, "parent_pid": 10, "child_tid": 12, "child_pid": 12} and
           fields["perf:comm"] == {"pid": 12, "tid": 12, "exec": 1, "newcomm": "child"} and
           fields["perf:switch"] == {"prev_tid": 10, "next_tid": 12, "prev_state": 1} and
           fields["perf:exit"] == {"pid": 12, "tid": 12}, "tasks: fields", fields)


# --- what the model makes of them -----------------------------------------------------------------------------

SWITCH = """name: sched_switch
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;

print fmt: "%d", REC->prev_pid
"""
CHAINS = perf.TID | perf.TIME | perf.CPU | perf.ID | perf.CALLCHAIN | perf.RAW
KERNEL = 0xFFFFFFFF81000000


def switch(w, time, before, after, state, chain):
    """`before`, a pair of tid and name, leaves CPU 0 to `after`; both are processes."""
    raw = w.pack("HBBi16si4xq16si4x", 300, 0, 0, before[0], before[1], before[0], state, after[1], after[0])
    body = w.pack("IIQQII", before[0], before[0], time, 5, 0, 0) + w.pack("Q", len(chain)) + w.pack(f"{len(chain)}Q", *chain)
    w.record(9, body + w.pack("I", len(raw)) + raw)


def mapped(w, pid, address, length, offset, path, time=0, inode=0):
    name = path.encode() + bytes(8 - len(path) % 8)
    body = w.pack("IIQQQIIQQII", pid % 2**32, pid % 2**32, address, length, offset, 0, 0, inode, 0, 5, 2) + name
    w.record(10, body + w.trailer(pid % 2**32, pid % 2**32, time, 0, 5, CHAINS))


def test_stacks():
    """A task waits twice, by different calls, the second time in a library that its process maps meanwhile."""
    task, idle = (42, b"waiter"), (0, b"swapper/0")
    for big in (False, True):
        w = Writer(big)
        w.features = {1: w.tracing((("sched", SWITCH),))}
        w.attr([5], CHAINS, config=300)
        w.record(1, w.pack("IIQQQ", 2**32 - 1, 0, KERNEL, 0x1000000, KERNEL) + b"[kernel.kallsyms]_text\0\0" + w.trailer(0, 0, 0, 0, 5, CHAINS))
        mapped(w, 42, 0x400000, 0x1000, 0x2000, "/usr/bin/waiter")
        marks = [2**64 - 128, KERNEL + 0x123], [2**64 - 512]
        switch(w, 1_000_000, idle, task, 0, [])
        switch(w, 2_000_000, task, idle, 1, marks[0] + marks[1] + [0x400010, 0x700000])
        switch(w, 5_000_000, idle, task, 0, marks[0])
        mapped(w, 42, 0x700000, 0x1000, 0, "/usr/lib/libx.so", 5_500_000)
        switch(w, 6_000_000, task, idle, 1, marks[0] + marks[1] + [0x700020])
        switch(w, 9_000_000, idle, task, 0, marks[0])
        switch(w, 9_500_000, task, idle, 1, [])
        switch(w, 9_600_000, idle, task, 0, [])
        switch(w, 9_700_000, task, idle, 0, marks[0])
        name = f"stacks, {'big' if big else 'little'} endian"
        with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
            path = os.path.join(directory, "perf.data")
            with open(path, "wb") as file:
                file.write(w.file())
            told = json.loads(run("critpath", "--json", "--tid", "42", path).stdout)
            text = run("critpath", "--stacks", "--tid", "42", path).stdout
            plain = run("critpath", "--tid", "42", path).stdout
        kernel = {"object": "[kernel.kallsyms]", "offset": "0x123"}
        waits = [(s["begin_ns"], s.get("stack")) for s in told["segments"] if s["state"] == "blocked"]
        tap.ok(waits == [(2_000_000, [kernel, {"object": "/usr/bin/waiter", "offset": "0x2010"}, {"object": None, "address": "0x700000"}]),
                         (6_000_000, [kernel, {"object": "/usr/lib/libx.so", "offset": "0x20"}]),
                         (9_500_000, None)], f"{name}: in JSON, of what is blocked", waits)
        tap.ok(all("stack" not in s for s in told["segments"] if s["state"] != "blocked"), f"{name}: of nothing else", told)
        lines = [line.split()[-1] for line in text.splitlines() if line]
        tap.ok([line for line in lines if "+0x" in line or line.startswith("0x")] ==
               ["[kernel.kallsyms]+0x123", "waiter+0x2010", "0x700000", "[kernel.kallsyms]+0x123", "libx.so+0x20"],
               f"{name}: in text with --stacks", text)
        tap.ok("+0x" not in plain, f"{name}: not without --stacks", plain)


def functions_of(program):
    """Two functions of a program that lie alone, by nm: name, place in the file, size."""
    with open(program, "rb") as file:
        head = file.read(64)
        table, entry, count = struct.unpack_from("=Q", head, 32) + struct.unpack_from("=HH", head, 54)
        file.seek(table)
        segments = [struct.unpack_from("=IIQQQQ", file.read(entry)) for _ in range(count)]
    lines = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    found = {}
    for words in (line.split() for line in lines):
        address = int(words[0], 16)
        if len(words) == 4 and words[3] in ("main", "lull_map_find"):
            place = next(address - s[3] + s[2] for s in segments if s[0] == 1 and s[3] <= address < s[3] + s[5])
            found[words[3]] = (place, int(words[1], 16))
    return found["main"], found["lull_map_find"]


def test_function_names():
    """Frames in a file of this machine have the names that nm says, if it is the file that was mapped, in this boot."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        main, find = functions_of(lull)
    except (OSError, KeyError, StopIteration, struct.error, subprocess.SubprocessError) as error:
        tap.skip("names of functions", f"{type(error).__name__}: {error}")
        return
    if "symbols" not in run("--version").stdout.partition("Not built in")[0]:
        tap.skip("names of functions", "Lull is built without them")
        return
    task, idle, base = (42, b"waiter"), (0, b"swapper/0"), 0x7F0000000000
    inode, other = os.stat(lull).st_ino, boot_id.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    for name, inode, boot_id, age, is_named in (("the same", inode, boot_id, 0, True), ("another inode", inode + 1, boot_id, 0, False),
                                                ("no inode", 0, boot_id, 0, False), ("another boot", inode, other, 0, False),
                                                ("mapped before it was changed", inode, boot_id, 10**9, False)):
        w = Writer(False)
        offset = time.time_ns() if age == 0 else os.stat(lull).st_ctime_ns - age
        w.features = {1: w.tracing((("sched", SWITCH),)), 29: w.pack("IIQQ", 1, 1, offset, 0)}
        w.attr([5], CHAINS, config=300)
        mapped(w, 42, base, 0x7FFFFFFF, 0, lull, 500_000, inode)
        switch(w, 1_000_000, idle, task, 0, [])
        # Where it is, and to where a call returns that is the last of its function.
        switch(w, 2_000_000, task, idle, 1, [2**64 - 512, base + find[0] + 2, base + main[0] + main[1]])
        switch(w, 5_000_000, idle, task, 0, [])
        switch(w, 6_000_000, task, idle, 0, [])
        with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
            with open(os.path.join(directory, "perf.data"), "wb") as file:
                file.write(w.file())
            with open(os.path.join(directory, "recording.json"), "w", encoding="utf-8") as file:
                json.dump({"lull_recording": 1, "lull": "0.1.0", "purpose": "critpath", "tracer": "perf", "reason": "", "filtered": False,
                           "snapshot": False, "hostname": "here", "kernel": "6", "machine": "x86_64", "boot_id": boot_id,
                           "clock": {"name": "CLOCK_MONOTONIC", "offset_ns": offset}, "begin_ns": offset, "end_ns": offset + 10**9,
                           "ended_by": "command", "recorded": {"bytes": 1, "lost_events": 0}}, file)
            result = run("critpath", "--json", "--tid", "42", directory)
            waits = json.loads(run("waits", "--json", "--limit=0", "--stacks", directory).stdout)["windows"][0]["tables"]["waits"]
        said = [[(f.get("symbol"), f.get("symbol_offset")) for f in s["stack"]] for s in json.loads(result.stdout)["segments"] if "stack" in s]
        wanted = [("lull_map_find", "0x2"), ("main", hex(main[1]))] if is_named else [(None, None)] * 2
        tap.ok(said == [wanted], f"names of functions, {name}", said, wanted, result.stderr)
        chains = [row["stack"] for row in waits if row["stack"]]
        tap.ok(chains == [f"lull_map_find+0x2 < main+{main[1]:#x}"] if is_named else not any("main" in chain for chain in chains),
               f"names of functions in lull waits, {name}", chains)


def names_elsewhere(map_it, chain, list_name, texts, told=None):
    """How the frames of a wait are named in recordings of another machine, each with a list of names if it is not None; `told` gets what
    lull flame says of that."""
    task, idle = (42, b"waiter"), (0, b"swapper/0")
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        for number, text in enumerate(texts):
            w = Writer(False)
            w.features = {1: w.tracing((("sched", SWITCH),)), 29: w.pack("IIQQ", 1, 1, 10**18, 0)}
            w.attr([5], CHAINS, config=300)
            map_it(w)
            switch(w, 1_000_000, idle, task, 0, [])
            switch(w, 2_000_000, task, idle, 1, chain)
            switch(w, 5_000_000, idle, task, 0, [])
            switch(w, 6_000_000, task, idle, 0, [])
            place = os.path.join(directory, str(number))
            os.mkdir(place)
            with open(os.path.join(place, "perf.data"), "wb") as file:
                file.write(w.file())
            if text is not None:
                with open(os.path.join(place, list_name), "w", encoding="latin-1") as file:
                    file.write(text)
            with open(os.path.join(place, "recording.json"), "w", encoding="utf-8") as file:
                json.dump({"lull_recording": 1, "hostname": "elsewhere", "boot_id": "01234567-89ab-cdef-0123-456789abcdef"}, file)
        result = run("critpath", "--json", "--tid", "42", directory)
        if told is not None:
            told.append(run("flame", "--off-cpu", directory).stderr)
    return [[(f.get("symbol"), f.get("symbol_offset")) for f in s["stack"]] for s in json.loads(result.stdout)["segments"] if "stack" in s]


def build_ids_of(w, path, *ids):
    """As perf writes them: head, process, build-id with its size, path."""
    return b"".join(w.pack("IHH", 67, 1 << 15 | 2, 36 + len(path)) + w.pack("I", 2**32 - 1) + one.ljust(20, b"\0") + bytes([len(one), 0, 0, 0]) + path
                    for one in ids)


def test_kernel_names():
    """A recording of another machine names the kernel's functions by its own list of them; addresses and offsets by hand."""
    module = KERNEL + 0x10000000
    listed = (f"{KERNEL:016x} T _text\n{KERNEL + 0x100:016x} t do_wait\n{KERNEL + 0x200:016x} T schedule\n{KERNEL + 0x300:016x} D data\n"
              f"{module:016x} t disk_read\t[disk]\n")
    chain = [2**64 - 128, KERNEL + 0x123, KERNEL + 0x200, module + 8, KERNEL + 0x50000000]
    named = [("do_wait", "0x23"), ("do_wait", "0x100"), ("disk_read[disk]", "0x8"), (None, None)]

    def map_it(w):
        w.record(1, w.pack("IIQQQ", 2**32 - 1, 0, start, 0x1000000, start) + b"[kernel.kallsyms]_text\0\0" + w.trailer(0, 0, 0, 0, 5, CHAINS))
        if build_id:
            w.features[2] = build_ids_of(w, b"[kernel.kallsyms]".ljust(24, b"\0"), build_id)

    with open("/sys/kernel/notes", "rb") as file:
        here = re.search(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0(.*)", file.read(), re.DOTALL)
    here = here[2][:here[1][0]]
    with open("/proc/kallsyms", encoding="utf-8") as file:
        place = next((int(line.split()[0], 16) for line in file if line.endswith(" T _text\n")), 0)
    moved = "has started anew" if place else "hides its addresses from you"
    none = [(None, None)] * 4
    for name, texts, wanted, build_id, start, why, helps in (
            ("of the recording", [listed], named, None, KERNEL, "", ""), ("no list", [None], none, None, KERNEL, "nor which kernel it was", "record with"),
            ("an empty list", [""], none, None, KERNEL, "hid its addresses when", "record again"),
            ("hidden", ["0000000000000000 T _text\n"], none, None, KERNEL, "hid its addresses when", "record again as root"),
            ("a damaged list", ["\0\xff x\n" + listed + "ffff"], named, None, KERNEL, "", ""),
            ("two recordings of one machine", [listed, listed], none, None, KERNEL, "several recordings", "open one"),
            ("another build", [None], none, bytes(20), KERNEL, "is another one than was recorded", "--symbols"),
            ("this build, elsewhere in memory", [None], none, here, KERNEL - 0x1000, moved, "")):
        told = []
        said = names_elsewhere(map_it, chain, "kallsyms", texts, told)
        tap.ok(said and all(one == wanted for one in said), f"names of the kernel's functions, {name}", said, wanted)
        tap.ok(told[0].count("functions of the kernel have no names") == (wanted != named) and why in told[0] and helps in told[0],
               f"one notice of why they have none, {name}", told)


def test_saved_names():
    """A recording of another machine names functions by its own list of them, of the file that was mapped; offsets by hand."""
    base = 0x7F0000000000
    listed = ("object - 5 /opt/other\nload 0 9000 0\n0 9000 wrong\n"
              "object 0123ab 7 /opt/waiter\nload 0 1000 0\nload 1000 5000 2000\n2000 40 pause_here\n2040 10 main\n")
    chain = [2**64 - 512, base + 0x1005, base + 0x1040, base + 0x1048, base + 0x5000]
    named = [("pause_here", "0x5"), ("pause_here", "0x40"), ("main", "0x8"), (None, None)]
    for name, texts, inode, wanted in (("of the recording", [listed], 7, named), ("no list", [None], 7, [(None, None)] * 4),
                                       ("another file of that name", [listed], 8, [(None, None)] * 4),
                                       ("a file of which nothing is known", [listed], 0, [(None, None)] * 4),
                                       ("a damaged list", ["\0\xff\nobject\n" + listed + "load"], 7, named),
                                       ("two recordings of one machine", [listed, listed], 7, [(None, None)] * 4)):
        said = names_elsewhere(lambda w, inode=inode: mapped(w, 42, base, 0x9000, 0, "/opt/waiter", 500_000, inode), chain, "symbols", texts)
        tap.ok(said and all(one == wanted for one in said), f"names of a program's functions, {name}", said, wanted)


def test_made_functions():
    """Functions that programs made while they ran, each in memory of its own at the same address, by the list in the recording."""
    idle, memory = (0, b"swapper/0"), 0x7F0000000000
    listed = ("object - 42 perf-42.map\nload 0 ffffffffffffffff 0\n7f0000000100 20 py::f:/a.py\n"
              "object - 43 perf-43.map\nload 0 ffffffffffffffff 0\n7f0000000100 20 other\n")
    w = Writer(False)
    w.features = {1: w.tracing((("sched", SWITCH),)), 29: w.pack("IIQQ", 1, 1, 10**18, 0)}
    w.attr([5], CHAINS, config=300)
    for time, tid in ((1_000_000, 42), (10_000_000, 43), (20_000_000, 44)):
        task = (tid, b"maker")
        mapped(w, tid, memory, 0x1000, 0x5000, "//anon", time - 1000)
        switch(w, time, idle, task, 0, [])
        switch(w, time + 1_000_000, task, idle, 1, [2**64 - 512, memory + 0x104, memory + 0x120, memory + 0x200])
        switch(w, time + 4_000_000, idle, task, 0, [])
        switch(w, time + 5_000_000, task, idle, 0, [])
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        for name, content, mode in (("perf.data", w.file(), "wb"), ("symbols", listed, "w"),
                                    ("recording.json", json.dumps({"lull_recording": 1, "hostname": "elsewhere"}), "w")):
            with open(os.path.join(directory, name), mode) as file:  # pylint: disable=unspecified-encoding
                file.write(content)
        for tid, name in ((42, "py::f:/a.py"), (43, "other"), (44, None)):
            result = run("critpath", "--json", "--tid", str(tid), directory)
            said = [[(f.get("symbol"), f.get("symbol_offset")) for f in s["stack"]] for s in json.loads(result.stdout)["segments"] if "stack" in s]
            wanted = [(name, "0x4"), (name, "0x20"), (None, None)] if name else [(None, None)] * 3
            tap.ok(said == [wanted], f"functions that process {tid} made", said, wanted, result.stderr)


def test_build_ids():
    """Names of a file of this machine in a trace that says which build was mapped, wherever it was recorded; nm and readelf say what is right."""
    try:
        main, _ = functions_of(lull)
        notes = subprocess.run(["readelf", "-n", lull], capture_output=True, text=True, timeout=120, check=True).stdout
        build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])
    except (OSError, KeyError, TypeError, StopIteration, struct.error, subprocess.SubprocessError) as error:
        tap.skip("names by build-id", f"{type(error).__name__}: {error}")
        return
    if "symbols" not in run("--version").stdout.partition("Not built in")[0]:
        tap.skip("names by build-id", "Lull is built without them")
        return
    task, idle, base = (42, b"waiter"), (0, b"swapper/0"), 0x7F0000000000
    other, path = bytes(len(build_id)), lull.encode() + bytes(8 - len(lull) % 8)

    def map_build(w, one):
        body = w.pack("IIQQQ", 42, 42, base, 0x7FFFFFFF, 0) + bytes([len(one), 0, 0, 0]) + one.ljust(20, b"\0") + w.pack("II", 5, 2) + path
        w.record(10, body + w.trailer(42, 42, 500_000, 0, 5, CHAINS), misc=1 << 14 | 2)

    for name, ids, mapped_id, is_named in (("in the header", [build_id], None, True), ("in the mapping", [], build_id, True),
                                           ("none", [], None, False), ("another in the header", [other], None, False),
                                           ("another in the mapping", [], other, False), ("two in the header", [build_id, other], None, False),
                                           ("the start of it", [build_id[:-1]], None, False)):
        w = Writer(False)
        w.features = {1: w.tracing((("sched", SWITCH),))}
        if ids:
            w.features[2] = build_ids_of(w, path, *ids)
        w.attr([5], CHAINS, config=300)
        if mapped_id:
            map_build(w, mapped_id)
        else:
            mapped(w, 42, base, 0x7FFFFFFF, 0, lull, 500_000, 1)
        switch(w, 1_000_000, idle, task, 0, [])
        switch(w, 2_000_000, task, idle, 1, [2**64 - 512, base + main[0] + 2])
        switch(w, 5_000_000, idle, task, 0, [])
        switch(w, 6_000_000, task, idle, 0, [])
        with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
            trace = os.path.join(directory, "perf.data")
            with open(trace, "wb") as file:
                file.write(w.file())
            result = run("critpath", "--json", "--tid", "42", trace)
        said = [[(f.get("symbol"), f.get("symbol_offset")) for f in s["stack"]] for s in json.loads(result.stdout)["segments"] if "stack" in s]
        tap.ok(said == [[("main", "0x2") if is_named else (None, None)]], f"names by build-id: {name}", said, result.stderr)


def test_switches():
    """Without sched_switch the model follows perf's own records of switches (--switch-events)."""
    w = Writer()
    w.features = {}
    few = perf.TID | perf.TIME | perf.CPU | perf.ID
    w.attr([5], few, kind=1, config=9)
    w.record(3, w.pack("II", 42, 42) + b"worker\0\0" + w.trailer(42, 42, 0, 0, 5, few))
    for time, leaves, comes, misc in ((1_000_000, 0, 42, 0), (4_000_000, 42, 0, 0), (5_000_000, 0, 42, 0), (6_000_000, 42, 0, 1 << 14),
                                      (7_000_000, 0, 42, 0), (8_000_000, 42, 0, 0)):
        w.record(15, w.pack("II", comes, comes) + w.trailer(leaves, leaves, time, 0, 5, few), misc=misc | 1 << 13)
        w.record(15, w.pack("II", leaves, leaves) + w.trailer(comes, comes, time + 1, 0, 5, few))
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        path = os.path.join(directory, "perf.data")
        with open(path, "wb") as file:
            file.write(w.file())
        told = json.loads(run("critpath", "--json", "--tid", "42", path).stdout)
    segments = [(s["comm"], s["state"], s["begin_ns"], s["end_ns"]) for s in told["segments"]]
    tap.ok(segments == [("worker", "running", 1_000_000, 4_000_000), ("worker", "blocked", 4_000_000, 5_000_000),
                        ("worker", "running", 5_000_000, 6_000_000), ("worker", "preempted", 6_000_000, 7_000_000),
                        ("worker", "running", 7_000_000, 8_000_000)],
           "switch records say who runs", segments)


def test_export():
    """As CTF it says the same, but for the lengths of arrays, which are fields there."""
    def kept(line):
        line["context"] = {key: value for key, value in line["context"].items() if not key.endswith("_length")}
        line["fields"] = {key: value for key, value in line["fields"].items() if not key.endswith("_length")}
        return json.dumps(line, sort_keys=True)
    for name in ("chains", "packed"):
        with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
            out = os.path.join(directory, "ctf")
            result = run("export", "--ctf2", out, os.path.join(samples, name + ".data"))
            ours, _ = events(os.path.join(samples, name + ".data"))
            theirs, _ = events(out)
        tap.ok(len(ours) > 100 and sorted(map(kept, ours)) == sorted(map(kept, theirs)), f"{name}: exported as CTF 2", result.stderr)


def test_clock():
    w = small_writer()
    w.features[29] = w.pack("IIQQ", 1, 1, 1_700_000_000_000_000_500, 400)
    small_sample(w, 1000, 0)
    ours, _, info = written(w)
    tap.ok(ours[0]["time_ns"] == 1_700_000_000_000_001_100, "clock data make times those of the day", ours)


def test_damage():
    """Whatever is in the file: an answer or an error, never an end by a signal."""
    w = small_writer()
    w.record(3, w.pack("II", 10, 10) + b"parent\0\0" + w.trailer(10, 10, 50, 1, 5, FEW))
    for i in range(20):
        small_sample(w, 100 + i, i % 2, i)
    whole = w.file()
    random.seed(1)
    bad = []
    with tempfile.TemporaryDirectory(prefix="lull-perf-") as directory:
        path = os.path.join(directory, "perf.data")
        for i in range(60):
            data = bytearray(whole)
            if i % 3 == 0:
                data = data[:random.randrange(16, len(data))]
            for _ in range(i % 3 * 4):
                at = random.randrange(8, len(data))
                data[at] = random.choice((0, 1, 127, 255, data[at] ^ 1 << random.randrange(8)))
            with open(path, "wb") as file:
                file.write(data)
            result = run("print", path)
            if result.returncode not in (0, 1) or (result.returncode == 1 and not result.stderr):
                bad.append((i, result.returncode, result.stderr[-300:]))
        with open(path, "wb") as file:  # its last record is cut
            file.write(whole[:struct.unpack_from("<Q", whole, 40)[0] + struct.unpack_from("<Q", whole, 48)[0] - 10])
        ours, result = events(path)
        silent = []
        for length in (12, 40, 103, 120, 600, len(whole) - 500, len(whole) - 100, len(whole) - 2):
            with open(path, "wb") as file:
                file.write(whole[:length])
            said = run("print", path).stderr
            if f"byte {length}: the file ends here" not in said or "copy the file again" not in said and "copy it again" not in said or said.count("byte ") != 2:
                silent.append((length, said))
            if length == len(whole) - 500:
                lack = run("cputop", path).stdout
    tap.ok(not bad, "damaged files end in an answer or an error", *bad)
    tap.ok(not silent, "a file that was cut: where, what it lacks, and what to do, once", *silent)
    tap.ok("sched_switch was not recorded, or is in what is damaged" in lack, "what such a file lacks may have been recorded", lack)
    tap.ok(len(ours) == 20 and "the file ends here, but its records go to byte" in result.stderr, "a cut file is read as far as it goes, and said to be cut",
           len(ours), result.returncode, result.stderr)


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            tap.run(name, test)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
