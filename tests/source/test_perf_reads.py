#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Counters that perf reads with samples: as `perf report -D` shows them in a recording made here, and as they were written.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import lib.perf_writer as perf
from lib.perf_writer import Writer
from tap import Tap

lull = os.environ["LULL"]
tap = Tap()

FEW = perf.IDENTIFIER | perf.TID | perf.TIME | perf.CPU
READ = FEW | perf.READ | perf.RAW
ENABLED, RUNNING, WITH_ID, GROUP, LOST = 1, 2, 4, 8, 16
SOFTWARE, TRACEPOINT = 1, 2
ID_INDEX = 69
NOT_READ = 2**64 - 1
WITHOUT_GUESTS = 1 << 20  # then perf has no modifiers for it


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def events(path):
    result = run("print", "--json", path)
    return [json.loads(line) for line in result.stdout.splitlines()], result


def written(w):
    with tempfile.TemporaryDirectory(prefix="lull-reads-") as directory:
        path = os.path.join(directory, "perf.data")
        with open(path, "wb") as file:
            file.write(w.file())
        return events(path)


# --- as perf shows them -----------------------------------------------------------------------------------------


def dumped(path):
    """(CPU, time) → values of the group after its leader's, in the order of the ids, which is that of the events."""
    told, values = {}, None
    text = subprocess.run(["perf", "report", "-D", "-i", path], capture_output=True, text=True, errors="replace", timeout=120,
                          stdin=subprocess.DEVNULL).stdout
    for line in text.splitlines():
        if sample := re.match(r"(\d+) (\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE", line):
            values = told[int(sample[1]), int(sample[2])] = []
        elif value := re.match(r"\.+ id ([0-9a-f]+), value ([0-9a-f]+)", line):
            values.append((int(value[1], 16), int(value[2], 16)))
    return {key: [value for _, value in sorted(values)[1:]] for key, values in told.items()}


def test_recorded_here():
    """Only the program that is started is recorded: its counters are its own."""
    if shutil.which("perf") is None:
        tap.skip("counters recorded here", "perf is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="lull-reads-") as directory:
        path = os.path.join(directory, "perf.data")
        result = subprocess.run(["perf", "record", "-q", "--no-inherit", "-e", "{sched:sched_switch,task-clock,page-faults,context-switches}:S",
                                 "-o", path, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.002; done"],
                                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        if result.returncode != 0 or not os.path.exists(path) or os.path.getsize(path) == 0:
            tap.skip("counters recorded here", "perf cannot record: " + " ".join(result.stderr.split())[:120])
            return
        theirs = dumped(path)
        offset = json.loads(run("info", "--json", path).stdout)["traces"][0]["clock"]["offset_ns"]
        ours, result = events(path)
    fields = ["perf_thread_on_cpu_" + name for name in ("task_clock", "page_faults", "context_switches")]
    ours = {(e["cpu"], e["time_ns"] - offset): [e["context"].get(f) for f in fields] for e in ours if e["name"] == "sched_switch"}
    tap.ok(len(theirs) >= 8 and ours == theirs, "counters of a group are what perf report -D shows", ours, theirs, result.stderr)


# --- as they were written ---------------------------------------------------------------------------------------


def read_of(w, read_format, values, enabled=1000, running=900):
    """values: (id, value, lost) of each."""
    times = (w.pack("Q", enabled) if read_format & ENABLED else b"") + (w.pack("Q", running) if read_format & RUNNING else b"")
    behind = [(w.pack("Q", i) if read_format & WITH_ID else b"") + (w.pack("Q", lost) if read_format & LOST else b"")
              for i, _, lost in values]
    if read_format & GROUP:
        return w.pack("Q", len(values)) + times + b"".join(w.pack("Q", v) + b for (_, v, _), b in zip(values, behind))
    return w.pack("Q", values[0][1]) + times + behind[0]


def sample(w, time, cpu, read, ident=5, raw=True):
    data = w.raw(7, "", "", 0, [])
    body = w.pack("QIIQII", ident, 10, 11, time, cpu, 0) + read + ((w.pack("I", len(data)) + data) if raw else b"")
    w.record(9, body)


def group(w, read_format, names, sample_type=READ, leaders=(5,)):
    """A group whose leader is the tracepoint `demo`, with software counters behind it; ids count from the leader's."""
    described = []
    for leader in leaders:
        w.attr([leader], sample_type, read_format=read_format)
        described.append((w.attrs[-1][0], "demos:demo", leader))
        for n, name in enumerate(names):
            w.attr([leader + 1 + n], sample_type, kind=SOFTWARE, config=n, read_format=read_format, period=0)
            described.append((w.attrs[-1][0], name, leader + 1 + n))
    w.features = {1: w.tracing(), 3: w.text("farm")}
    w.features[12] = w.pack("II", len(described), 128) + b"".join(data + w.pack("I", 1) + w.text(name) + w.pack("Q", ident)
                                                                for data, name, ident in described)


def counters(event):
    return {name: value for name, value in event["context"].items() if name.startswith(("perf_", "time_", "lost_"))}


def test_forms():
    """Every form of a read, in both byte orders, has the numbers that were written, and what follows it stays in place."""
    for big in (False, True):
        for read_format in range(32):
            w = Writer(big)
            group(w, read_format, ["cycles", "page-faults:u"])
            sample(w, 10, 0, read_of(w, read_format, [(5, 1, 3), (6, 2**63 + 1, 8), (7, 42, 9)]))
            ours, result = written(w)
            expected = {}
            if read_format & GROUP and read_format & WITH_ID:
                expected = {"perf_cpu_cycles": 2**63 + 1, "perf_cpu_page_faults_u": 42}
            elif read_format & GROUP:  # whose numbers they are is not said
                expected = {"perf_cpu_cycles": NOT_READ, "perf_cpu_page_faults_u": NOT_READ}
            if expected:
                expected |= {"time_enabled": 1000} if read_format & ENABLED else {}
                expected |= {"time_running": 900} if read_format & RUNNING else {}
                expected |= {"lost_samples": 3} if read_format & LOST else {}
            told = [(counters(e), e["fields"]["value"]) for e in ours]
            tap.ok(told == [(expected, 7)], f"a read of form {read_format}, {'big' if big else 'little'} endian", told, expected,
                   result.stderr)


def test_single():
    """Without a group each event reads itself."""
    for read_format in (0, WITH_ID, ENABLED | RUNNING | WITH_ID | LOST):
        w = Writer()
        w.attr([5], FEW | perf.READ, kind=SOFTWARE, config=1, read_format=read_format, period=1000, flags=WITHOUT_GUESTS)
        w.attr([6], FEW | perf.READ, kind=SOFTWARE, config=2, read_format=read_format, period=1000, flags=WITHOUT_GUESTS)
        sample(w, 10, 0, read_of(w, read_format, [(5, 111, 4)]), 5, raw=False)
        sample(w, 20, 0, read_of(w, read_format, [(6, 222, 5)]), 6, raw=False)
        ours, result = written(w)
        told = [{name: value for name, value in counters(e).items() if name.startswith("perf")} for e in ours]
        tap.ok(told == [{"perf_cpu_task_clock": 111}, {"perf_cpu_page_faults": 222}], f"reads without a group, form {read_format}", told,
               result.stderr)


def test_two_groups():
    """Two groups have a counter of one name: these are two counters, and a sample has those of its own group."""
    w = Writer()
    form = GROUP | WITH_ID
    group(w, form, ["cycles"], leaders=(5, 8))
    sample(w, 10, 0, read_of(w, form, [(5, 1, 0), (6, 100, 0)]), 5)
    sample(w, 20, 0, read_of(w, form, [(8, 1, 0), (9, 7000, 0)]), 8)
    ours, result = written(w)
    told = [counters(e) for e in ours]
    tap.ok(told == [{"perf_cpu_cycles": 100, "perf_cpu_cycles_2": NOT_READ}, {"perf_cpu_cycles": NOT_READ, "perf_cpu_cycles_2": 7000}],
           "two groups with a counter of one name", told, result.stderr)


def test_reads_nothing():
    """Of two events of one tracepoint only the first reads counters: a sample of the second has none, not those of the one before."""
    w = Writer()
    form = GROUP | WITH_ID | ENABLED | RUNNING | LOST
    w.attr([9], READ & ~perf.READ)
    second = (w.attrs.pop(), "demos:demo")
    group(w, form, ["cycles"])
    w.attrs.append(second[0])
    w.features[12] = w.pack("II", 3, 128) + w.features[12][8:] + second[0][0] + w.pack("I", 1) + w.text(second[1]) + w.pack("Q", 9)
    sample(w, 10, 0, read_of(w, form, [(5, 1, 3), (6, 100, 0)]))
    sample(w, 20, 0, b"", 9)
    ours, result = written(w)
    times = {"time_enabled": 1000, "time_running": 900, "lost_samples": 3}
    told = [counters(e) for e in ours]
    tap.ok(told == [{"perf_cpu_cycles": 100, **times}, {"perf_cpu_cycles": NOT_READ, **dict.fromkeys(times, 0)}],
           "one of two events of a tracepoint reads counters", told, result.stderr)
    tap.ok([e["fields"]["value"] for e in ours] == [7, 7], "both have their own fields", ours)


def test_scope():
    """What the index of ids says of an event's CPU and thread is what its counters belong to."""
    none = 2**64 - 1
    for cpu, tid, prefix in ((0, none, "perf_cpu_"), (none, 11, "perf_thread_"), (0, 11, "perf_thread_on_cpu_")):
        for big in (False, True):
            w = Writer(big)
            form = GROUP | WITH_ID
            group(w, form, ["cycles"])
            w.record(ID_INDEX, w.pack("Q", 2) + w.pack("QQQQ", 5, 0, cpu, tid) + w.pack("QQQQ", 6, 0, cpu, tid))
            sample(w, 10, 0, read_of(w, form, [(5, 1, 0), (6, 100, 0)]))
            ours, result = written(w)
            tap.ok([counters(e) for e in ours] == [{prefix + "cycles": 100}], f"{prefix}: whose counters they are", ours, result.stderr)


def test_many():
    """More counters than are read, and names that are hard to tell apart."""
    w = Writer()
    form = GROUP | WITH_ID
    group(w, form, ["cpu/event=0x3c/", "cpu event 0x3c", "…"] + [f"c{n}" for n in range(40)])
    sample(w, 10, 0, read_of(w, form, [(5 + n, n, 0) for n in range(44)]))
    ours, result = written(w)
    told = counters(ours[0]) if ours else {}
    tap.ok(len(told) == 32 and list(told.values()) == list(range(1, 33)) and "perf_cpu_cpu_event_0x3c_2" in told,
           "the first 32 counters are read", told)
    tap.ok("it has 43 counters; the first 32" in result.stderr, "that there are more is said", result.stderr)


def test_damage():
    """A read that says more than its sample has is damage, wherever it ends; nothing else is read from what is there."""
    form = GROUP | WITH_ID | ENABLED | RUNNING | LOST
    for n in (0, 3, 2**32, 2**61, 2**64 - 1):
        w = Writer()
        group(w, form, ["cycles"], READ & ~perf.RAW)
        read = read_of(w, form, [(5, 1, 0), (6, 100, 0)])
        sample(w, 10, 0, w.pack("Q", n) + read[8:], raw=False)
        sample(w, 20, 0, read, raw=False)
        ours, result = written(w)
        good = [counters(e).get("perf_cpu_cycles") for e in ours]
        expected = [NOT_READ, 100] if n == 0 else [100]
        tap.ok(good == expected and ("damaged" in result.stderr) == (n != 0), f"a group of {n} in a sample of 2", good, result.stderr)
    for size in range(0, 64, 8):
        w = Writer()
        group(w, form, ["cycles"], READ & ~perf.RAW)
        sample(w, 10, 0, read_of(w, form, [(5, 1, 0), (6, 100, 0)])[:size], raw=False)
        ours, result = written(w)
        tap.ok(not ours and "damaged" in result.stderr, f"a read that is cut after {size} bytes", ours, result.stderr)
    w = Writer()
    group(w, form, ["cycles"])
    w.record(ID_INDEX, w.pack("QQQQQ", 2**60, 6, 0, 0, 11))
    ours, result = written(w)
    tap.ok("a record of kind 69 is damaged" in result.stderr, "an index of ids that is longer than its record", result.stderr)


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            tap.run(name, test)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
