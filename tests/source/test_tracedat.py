#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# trace.dat: what trace-cmd itself reads in genuine recordings, old and new, Lull reads too; files whose pages were
# made for it are read as they were made. See LULL, LULL_SAMPLES in tests/meson.build.
import contextlib
import datetime
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

from lib import tracedat
from lib.trace_cmd import difference, report_of
from tap import Tap

LULL = os.environ["LULL"]
SAMPLES = os.path.join(os.environ["LULL_SAMPLES"], "tracedat")
TRACEFS = "/sys/kernel/tracing"
tap = Tap()


def lull(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, check=False, timeout=250)
    return done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")


def events_of(*arguments):
    out, problems = lull("print", "--json", "--no-progress", *arguments)
    return [json.loads(line) for line in out.splitlines()], problems


# ---- against trace-cmd ----

def compare(name, report, path):
    told = report_of(report)
    mine, problems = events_of(path)
    told.sort(key=lambda event: event[:2])
    mine.sort(key=lambda event: (event["time_ns"], event["cpu"]))
    tap.ok(len(told) > 0 and len(told) == len(mine), f"{name}: as many events as trace-cmd reports", len(told),
           len(mine), problems)
    wrong = [why for why in map(difference, told, mine) if why is not None]
    tap.ok(not wrong, f"{name}: the same times, CPUs, tasks and fields", *wrong[:10])
    tap.ok(not problems, f"{name}: no problem is told", problems)


def test_samples():
    with open(os.path.join(SAMPLES, "report.txt"), encoding="utf-8", errors="surrogateescape") as file:
        report = file.read()
    for name in "v6.dat", "v7.dat", "v7-zstd.dat":
        compare(name, report, os.path.join(SAMPLES, name))
    counts, _ = lull("info", "--events", "--json", os.path.join(SAMPLES, "v6.dat"))
    told = report_of(report)
    found = {entry["name"]: entry["count"] for entry in json.loads(counts)["events"]}
    tap.ok(found == {name: sum(event[2] == name for event in told) for name in {event[2] for event in told}},
           "events are counted as trace-cmd reports them", found)


# ---- recording ----

@contextlib.contextmanager
def mounted():
    if os.path.isdir(TRACEFS + "/instances"):
        yield
        return
    subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], capture_output=True, check=False)
    try:
        yield
    finally:
        subprocess.run(["umount", TRACEFS], capture_output=True, check=False)


@contextlib.contextmanager
def instance(name):
    """A ring buffer of our own; gone in any case."""
    path = f"{TRACEFS}/instances/{name}"
    os.mkdir(path)
    try:
        yield path
    finally:
        if os.path.isdir(path):
            os.rmdir(path)


def put(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def record(path, clock, out):
    """Records a program that we start, and nothing else."""
    program = "read go; sleep 0.01; ls / | wc -l; dd if=/dev/zero of=/dev/null count=20 2>/dev/null"
    put(path + "/trace_clock", clock)
    put(path + "/buffer_size_kb", "2048")
    put(path + "/options/event-fork", "1")
    with subprocess.Popen(["sh", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        put(path + "/set_event_pid", str(child.pid))
        for events in "sched", "raw_syscalls", "irq", "timer", "kmem/mm_page_alloc", "signal":
            put(f"{path}/events/{events}/enable", "1")
        child.communicate(b"go\n")
    put(path + "/events/enable", "0")
    return subprocess.run(["trace-cmd", "extract", "-B", os.path.basename(path), "-o", out], capture_output=True,
                          cwd=os.path.dirname(out), check=False)


def test_recording(clock):
    name = f"{clock}: a recording made now"
    if shutil.which("trace-cmd") is None:
        tap.skip(name, "trace-cmd is not installed")
        return
    with tempfile.TemporaryDirectory() as folder, mounted():
        out = os.path.join(folder, "trace.dat")
        try:
            with instance(f"lull-test-{os.getpid()}") as path:
                done = record(path, clock, out)
        except OSError as why:
            tap.skip(name, f"the kernel refuses: {why}")
            return
        if done.returncode != 0 or not os.path.exists(out):
            tap.skip(name, f"trace-cmd refuses: {done.stderr.decode(errors='replace').strip()}")
            return
        report = subprocess.run(["trace-cmd", "report", "-R", "-t", "-i", out], capture_output=True, check=True).stdout
        compare(name, report.decode(errors="surrogateescape"), folder)


# ---- files made for it ----

FIELDS = [("int", "number", 4, 1), ("char", "word[6]", 6, 0)]
SPARSE = [("__data_loc char[]", "text", 4, 0), ("u64", "wide", 8, 0)]


def number_event(writer, number, word=b"word"):
    return writer.pack("HBBii6s", 100, 1, 2, 4242, number, word)


def sparse_event(writer, text, wide):
    return writer.pack("HBBiIxxxxQ", 200, 0, 0, 7, 24 | len(text) + 1 << 16, wide) + text + b"\0"


def make_writer(**arguments):
    writer = tracedat.Writer(**arguments)
    writer.formats = [("made", tracedat.format_text("number", 100, FIELDS)),
                      ("ftrace", tracedat.format_text("sparse", 200, SPARSE))]
    writer.options = [(5, b"Linux box 6.1.0 #1 x86_64\0"), (4, b"local [mono] global\0")]
    return writer


def write_file(folder, writer, name="trace.dat"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(writer.write())
    return path


def brief(events):
    """(time, CPU, number or text)"""
    return [(event["time_ns"], event["cpu"], event["fields"].get("number", event["fields"].get("text")))
            for event in events]


def made_pages(w):
    """Pages with all that a ring buffer has between events, and what is in them."""
    second = 1000 * 10**9
    stamp = second + 5 * 10**9
    pages = [
        w.make_page(second, [w.event(0, number_event(w, 1)), w.discarded(10, 16), w.event(5, number_event(w, -2)),
                             w.extend(3 << 27 | 9), w.event(1, number_event(w, 3), long=True)]),
        w.make_page(second + 10**9, [w.event(7, sparse_event(w, b"hello", 2**63)), w.padding()]),
        w.make_page(second + 2 * 10**9, []),
        w.make_page(second + 3 * 10**9, [w.stamp(stamp), w.event(1, number_event(w, 4))], tracedat.MISSED),
        w.make_page(stamp + 10, [w.event(1, number_event(w, 5))], tracedat.MISSED | tracedat.STORED, 77)]
    events = [(second, 1), (second + 15, -2), (second + 15 + (3 << 27 | 9) + 1, 3), (second + 10**9 + 7, "hello"),
              (stamp + 1, 4), (stamp + 11, 5)]
    return pages, events


def test_made(folder, **arguments):
    name = " ".join(f"{key} {value}" for key, value in arguments.items())
    writer = make_writer(**arguments)
    pages, expected = made_pages(writer)
    other = [writer.make_page(1000 * 10**9 + 3, [writer.event(0, number_event(writer, 100))])]
    writer.buffers = [("", "mono", {0: pages, 2: other})]
    path = write_file(folder, writer)
    events, problems = events_of(path)
    wanted = sorted([(time, 0, what) for time, what in expected] + [(1000 * 10**9 + 3, 2, 100)],
                    key=lambda event: event[:2])
    tap.ok(brief(events) == wanted, f"{name}: events are as they were written", brief(events), wanted)
    tap.ok(all(event["context"] == {"common_flags": 1, "common_preempt_count": 2, "common_pid": 4242} and
               event["fields"]["word"] == "word" for event in events if event["name"] == "number") and
           [event["fields"] for event in events if event["name"] == "sparse"] == [{"text": "hello", "wide": 2**63}],
           f"{name}: fields are as they were written", events)
    lost = json.loads(lull("info", "--json", path)[0])["lost"]
    tap.ok((lost["events"], lost["packets"]) == (77, 1) and
           [(loss["begin_ns"], loss["end_ns"]) for loss in lost["intervals"]] ==
           [(1002 * 10**9, 1003 * 10**9), (1005 * 10**9 + 1, 1005 * 10**9 + 10)],
           f"{name}: what a page says was lost before it is told", lost)
    begin = datetime.datetime.fromtimestamp(1001, datetime.timezone.utc).isoformat()
    later, _ = events_of("--begin", begin[:19] + "Z", path)
    tap.ok(brief(later) == [event for event in wanted if event[0] >= 1001 * 10**9],
           f"{name}: a begin leaves out what is before", brief(later))
    named, _ = events_of("--filter", "number == -2 || text == \"hello\"", path)
    tap.ok([event[2] for event in brief(named)] == [-2, "hello"], f"{name}: fields are filtered", brief(named))


def test_options(folder):
    writer = make_writer()
    writer.buffers = [("", "x86-tsc", {0: [writer.make_page(3000, [writer.event(0, number_event(writer, 1))])]})]
    writer.options += [(14, writer.pack("IIQ", 3 << 10, 11, 0))]  # 3 * 1024 / 2048 = 1.5 ns
    events, _ = events_of(write_file(folder, writer))
    tap.ok(brief(events) == [(4500, 0, 1)], "cycles become nanoseconds", brief(events))
    writer.options += [(7, b"-500\0")]
    events, _ = events_of(write_file(folder, writer))
    tap.ok(brief(events) == [(4000, 0, 1)], "an offset is added", brief(events))
    writer.options += [(1, b"0x10\0")]
    events, _ = events_of(write_file(folder, writer))
    tap.ok(brief(events) == [(20000, 0, 1)], "a date, in microseconds, is added", brief(events))


def compare_times(name, path):
    """As compare(), where trace-cmd is installed: times that trace-cmd computes itself."""
    if shutil.which("trace-cmd") is None:
        tap.skip(name, "trace-cmd is not installed")
        return
    done = subprocess.run(["trace-cmd", "report", "-R", "-t", "-i", path], capture_output=True, check=True)
    compare(name, done.stdout.decode(errors="surrogateescape"), path)


def ticks(writer, times):
    return [writer.make_page(time, [writer.event(0, number_event(writer, number))]) for number, time in enumerate(times)]


def test_shift(folder):
    """What trace-cmd measured between the clocks of a guest and its host, by CPU."""
    times = [1000, 1500, 2000, 2600, 3000, 9000]
    one = [(0, -100, 5, 0)]                                         # one measurement: an offset alone
    steps = [(3000, 90, 1, 0), (1000, 10, 1, 0), (2000, 50, 1, 0)]  # not in order
    scaled = [(1000, 7, 3, 1), (2000, 7, 3, 1)]                     # one and a half times as fast
    wanted = {0: [time - 100 for time in times],
              # Before 2000 the first counts, then the second: the last one only ends it.
              (1, False): [1010, 1510, 2050, 2650, 3050, 9050],
              # On lines through the points, 40 ns more each 1000 ns.
              (1, True): [1010, 1530, 2050, 2674, 3090, 9330],
              2: [time * 3 // 2 + 7 for time in times]}
    for interpolates in False, True:
        for version, big_endian in (6, False), (7, True):
            writer = make_writer(version=version, big_endian=big_endian)
            writer.options += [writer.time_shift(99, interpolates, [one, steps, scaled])]
            writer.buffers = [("", "mono", {cpu: ticks(writer, times) for cpu in range(4)})]
            path = write_file(folder, writer)
            name = f"a guest's clock, {interpolates=}, {version=}, {big_endian=}"
            events, problems = events_of(path)
            found = {cpu: [event["time_ns"] for event in events if event["cpu"] == cpu] for cpu in range(4)}
            tap.ok(found == {0: wanted[0], 1: wanted[1, interpolates], 2: wanted[2], 3: times} and not problems, name, found,
                   problems)
            if not big_endian:
                compare_times(name + ": as trace-cmd computes", path)
    writer = make_writer()
    writer.options += [writer.time_shift(99, False, [one], has_fractions=False), (14, writer.pack("IIQ", 3, 1, 12345)),
                       (7, b"1000\0")]
    writer.buffers = [("", "x86-tsc", {0: ticks(writer, times)})]
    path = write_file(folder, writer)
    events, _ = events_of(path)
    tap.ok([event["time_ns"] for event in events] == [(time - 100) * 3 // 2 + 1000 for time in times],
           "shifted, then scaled, then the offset", events)
    compare_times("shifted, then scaled, then the offset: as trace-cmd computes", path)
    writer.options[2] = 12, writer.options[2][1][:-3]
    out, problems = lull("print", write_file(folder, writer))
    tap.ok(out == "" and "option 12" in problems, "a cut option is told", problems)


def test_guest(folder):
    """A host's file and its guest's: one clock, and who is whose."""
    paths = []
    for name, number, options in (("host", 77, lambda w: [w.guest("vm1", 99, [123, 124])]),
                                  ("guest", 99, lambda w: [w.time_shift(77, False, [[(0, 400, 1, 0)]])])):
        writer = tracedat.Writer()
        writer.formats = [("made", tracedat.format_text("number", 100, FIELDS))]
        writer.options = [(5, f"Linux {name} 6.1.0 #1 x86_64\0".encode()), (11, writer.pack("Q", number)), *options(writer)]
        writer.buffers = [("", "mono", {0: ticks(writer, [1000, 1300, 1600])})]
        paths.append(write_file(folder, writer, f"{name}.dat"))
    events, problems = events_of(*paths)
    tap.ok([(event["time_ns"], event["host"]) for event in events] ==
           [(1000, "host"), (1300, "host"), (1400, "guest"), (1600, "host"), (1700, "guest"), (2000, "guest")] and not problems,
           "host and guest are read on one clock", events, problems)
    host, guest = json.loads(lull("info", "--json", *paths)[0])["traces"]
    tap.ok((host["trace_id"], host["guest_of"], host["guests"]) ==
           (f"{77:016x}", None, [{"name": "vm1", "trace_id": f"{99:016x}", "vcpu_tids": [123, 124]}]) and
           (guest["trace_id"], guest["guest_of"], guest["guests"]) == (f"{99:016x}", f"{77:016x}", []), "info tells them", host,
           guest)
    out = os.path.join(folder, "exported")
    _, told = lull("export", "--ctf2", out, *paths)
    clocks = set()
    for trace in "host", "guest":
        with open(os.path.join(out, trace, "metadata"), encoding="utf-8") as file:
            clocks |= {json.loads(text)["environment"]["lull_joined_clock"] for text in file.read().split("\x1e")
                       if '"trace-class"' in text}
    tap.ok(len(clocks) == 1 and [(event["time_ns"], event["host"]) for event in events_of(out)[0]] ==
           [(event["time_ns"], event["host"]) for event in events], "also exported they have one clock", clocks, told)
    text, _ = lull("info", *paths)
    tap.ok("vm1" in text and "123 124" in text and f"trace {77:016x}" in text, "also to people", text)


def test_stats(folder):
    """What the kernel counted, and what the pages say already."""
    def losses(options, flags):
        writer = make_writer()
        writer.options += options
        writer.buffers = [("", "mono", {0: [writer.make_page(1000, [writer.event(0, number_event(writer, 1))]),
                                            writer.make_page(2000, [writer.event(5, number_event(writer, 2))], *flags)]})]
        lost = json.loads(lull("info", "--json", write_file(folder, writer))[0])["lost"]
        return [(x["begin_ns"], x["end_ns"], x["events"], x["packets"]) for x in lost["intervals"]]

    stats, told = tracedat.Writer.stats, (tracedat.MISSED | tracedat.STORED, 77)
    for name, options, flags, wanted in (
            ("nothing", [stats(0)], (), []),
            ("what a page says is not told twice", [stats(0, overrun=77)], told, [(1000, 2000, 77, 0)]),
            ("a page without room for the number", [stats(0, overrun=77)], (tracedat.MISSED,), [(1000, 2000, 77, 0)]),
            ("more than the pages say", [stats(0, overrun=80)], told, [(1000, 1000, 3, 0), (1000, 2000, 77, 0)]),
            ("dropped as the buffer was full", [stats(0, dropped=9, commit=1)], (), [(2005, 2005, 10, 0)]),
            ("of another CPU", [stats(1, overrun=9, dropped=9)], (), []),
            ("of another instance", [(2, b"\nBuffer: other\n\n\0"), stats(0, dropped=9)], (), [])):
        found = losses(options, flags)
        tap.ok(found == wanted, f"counted by the kernel: {name}", found)


SWITCH = [("char", "prev_comm[16]", 16, 0), ("pid_t", "prev_pid", 4, 1), ("int", "prev_prio", 4, 1), ("long", "prev_state", 8, 1),
          ("char", "next_comm[16]", 16, 0), ("pid_t", "next_pid", 4, 1), ("int", "next_prio", 4, 1)]
WAKING = [("char", "comm[16]", 16, 0), ("pid_t", "pid", 4, 1), ("int", "prio", 4, 1), ("int", "target_cpu", 4, 1)]


def test_questions(folder):
    """A file has the formats of all events of the kernel: what is answered is a matter of those that are there."""
    def answers(packing, page_of):
        writer = make_writer(packing=packing)
        writer.formats += [("sched", tracedat.format_text("sched_switch", 300, SWITCH)),
                           ("sched", tracedat.format_text("sched_waking", 301, WAKING)),
                           ("sched", tracedat.format_text("sched_wakeup", 302, WAKING))]
        writer.buffers = [("", "mono", {0: [page_of(writer)]})]
        told = json.loads(lull("info", "--json", write_file(folder, writer))[0])
        return {question["id"]: question["hosts"][0] for question in told["questions"]}

    def switch(writer):
        return writer.event(1, writer.pack("HBBi16siixxxxq16sii", 300, 0, 0, 7, b"a", 7, 120, 1, b"b", 8, 120))

    def waking(writer):
        return writer.event(1, writer.pack("HBBi16siii", 301, 0, 0, 8, b"a", 7, 120, 0))

    for packing in "none", "zlib":
        for events, wanted in (([], "no"), ([switch], "no"), ([switch, waking], "partly")):
            found = answers(packing, lambda w, events=events: w.make_page(10, [event(w) for event in events] +
                                                                         [w.event(1, number_event(w, 1))]))
            tap.ok(found["critical-path"]["answer"] == wanted, f"critical path, {packing}, {len(events)} events: {wanted}",
                   found["critical-path"])
        lacks = [name for names in answers(packing, lambda w: w.make_page(10, [waking(w)]))["critical-path"]["lacks"] for name in names]
        tap.ok("sched_switch" in lacks and "sched_waking" not in lacks, f"what it lacks, {packing}", lacks)


def test_undecoded(folder):
    """A format that cannot be read: nothing is said while its events do not occur; else they keep name, time and contexts."""
    def show(packing, page_of):
        writer = make_writer(packing=packing)
        writer.formats += [("odd", tracedat.format_text("odd", 300, [("int (*call)(void)", "", 8, 0)]))]
        writer.buffers = [("", "mono", {0: [page_of(writer)]})]
        return events_of(write_file(folder, writer))

    def odd(writer):
        return writer.event(5, writer.pack("HBBiQ", 300, 0, 0, 77, 0x1234))

    for packing in "none", "zlib":
        events, problems = show(packing, lambda w: w.make_page(10, [w.event(1, number_event(w, 1))]))
        tap.ok(len(events) == 1 and problems == "", f"undecoded, {packing}: a format that is not needed does no harm", problems)
        events, problems = show(packing, lambda w: w.make_page(10, [odd(w), w.event(1, number_event(w, 4)), odd(w)]))
        tap.ok([(event["name"], event["time_ns"], event["context"]["common_pid"]) for event in events] ==
               [("odd", 15, 77), ("number", 16, 4242), ("odd", 21, 77)] and events[0]["fields"] == {},
               f"undecoded, {packing}: events with name, time and contexts", events)
        tap.ok(problems.count("'odd'") == 1 and "without their fields" in problems, f"undecoded, {packing}: it is reported once", problems)


def test_task_names(folder):
    """Names that the kernel had kept are for tasks that no event names."""
    def names(text, packing="none"):
        writer = make_writer(packing=packing)
        writer.formats = [("sched", tracedat.format_text("sched_switch", 300, SWITCH))]
        switches = [(b"", 7, b"event", 8), (b"event", 8, b"", 9), (b"", 9, b"", 7)]
        writer.buffers = [("", "mono", {0: [writer.make_page(1000, [
            writer.event(500, writer.pack("HBBi16siixxxxq16sii", 300, 0, 0, before, comm, before, 120, 1, other, after, 120))
            for comm, before, other, after in switches])]})]
        writer.cmdlines = text
        told = json.loads(lull("cputop", "--json", write_file(folder, writer))[0])
        rows = [row["process"] for row in told["windows"][0]["tables"]["per-process"]]
        return {row["tid"]: row["comm"] for row in rows}

    found = names("7 saved name\n8 saved\n9 <...>\n")
    tap.ok(found == {7: "saved name", 8: "event", 9: None}, "a saved name is shown if no event has one", found)
    for text in "", "7\n", "x 7\n7 \n", "-7 y\n99999999999 z\n", "7 no end":
        found = names(text)
        tap.ok(found == {7: "no end" if "end" in text else None, 8: "event", 9: None}, f"saved names: {text!r}", found)


def test_instances(folder):
    for version in 6, 7:
        writer = make_writer(version=version)

        def page(number, made_by=writer):
            return [made_by.make_page(number, [made_by.event(0, number_event(made_by, number))])]

        writer.buffers = [("", "mono", {0: page(10), 1: page(20)}), ("second", "mono", {0: page(15), 1: page(25)})]
        events, problems = events_of(write_file(folder, writer))
        tap.ok(brief(events) == [(10, 0, 10), (15, 0, 15), (20, 1, 20), (25, 1, 25)] and not problems,
               f"version {version}: all instances are read", brief(events), problems)
    writer.buffers[1] = ("second", "global", writer.buffers[1][2])
    _, problems = events_of(write_file(folder, writer))
    tap.ok("cannot be compared" in problems, "instances with different clocks: that is said", problems)
    # Nothing is damaged or missing: it is said, and no failure.
    path = os.path.join(folder, "trace.dat")
    for verb, status in (("print", 0), ("info", 0), ("cputop", 0)):
        done = subprocess.run([LULL, verb, "--json", path], capture_output=True, text=True, check=False, timeout=250)
        tap.ok(done.returncode == status and (verb == "info" or "lull: note: " in done.stderr) and "damaged:" not in done.stderr,
               f"instances with different clocks: {verb} ends well", done.returncode, done.stderr)
        if verb == "info":
            told = json.loads(done.stdout)
            tap.ok(len(told["problems"]) == 1 and told["damaged"] is False, "info: a problem, no damage", told["problems"])
    writer = make_writer(version=6)
    writer.buffers = [("", "mono", {0: page(10, writer), 1: page(20, writer)})]
    path = write_file(folder, writer)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 100)
    done = subprocess.run([LULL, "info", "--json", path], capture_output=True, text=True, check=False, timeout=250)
    tap.ok(done.returncode == 1 and json.loads(done.stdout)["damaged"] is True, "info: a file cut short is damaged", done.stdout[-300:])


def test_symbols(folder):
    """Functions of the kernel have the names that the kernel had for their addresses when it was recorded; where it hid these, they have none."""
    first, inside = 0xffffffff81000000, 0xffffffff81000040
    entry = [("unsigned long", "func", 8, 0), ("int", "depth", 4, 1)]
    listed = f"{first:016x} T vfs_read\n{inside:016x} t do_read\t[ext4]\n"
    hidden = listed.replace(f"{first:016x}", "0" * 16).replace(f"{inside:016x}", "0" * 16)
    for arguments, symbols, names in (({"version": 6}, listed, ["vfs_read", "do_read[ext4]"]), ({"version": 7}, listed, ["vfs_read", "do_read[ext4]"]),
                                      ({"version": 7, "packing": "zlib", "big_endian": True}, listed, ["vfs_read", "do_read[ext4]"]),
                                      ({"version": 6}, hidden, [hex(first), hex(inside)]), ({"version": 7}, "", [hex(first), hex(inside)])):
        writer = make_writer(**arguments)
        writer.symbols = symbols
        writer.formats += [("ftrace", tracedat.format_text(f"funcgraph_{what}", number, entry)) for what, number in (("entry", 300), ("exit", 301))]
        calls = [(10, 300, first, 0), (20, 300, inside, 1), (30, 301, inside, 1), (50, 301, first, 0)]
        made = [writer.event(10 if i else 0, writer.pack("HBBiQi", number, 0, 0, 7, function, depth)) for i, (_, number, function, depth) in enumerate(calls)]
        writer.buffers = [("", "mono", {0: [writer.make_page(10, made)]})]
        out, problems = lull("calls", "--json", "--limit", "0", write_file(folder, writer))
        shown = {row["function"]: row["calls"] for row in json.loads(out)["windows"][0]["tables"]["functions"]}
        tap.ok(shown == dict.fromkeys(names, 1), f"functions of the kernel have names: {arguments} {len(symbols)}", shown, problems)
    # What is said to be longer than it is has no end, and the file is read for all that.
    writer.symbols = listed
    whole = writer.write()
    damaged = whole.replace(writer.pack("I", len(listed)) + listed.encode(), writer.pack("I", 1 << 31) + listed.encode())
    with open(os.path.join(folder, "damaged.dat"), "wb") as file:
        file.write(damaged)
    out, problems = lull("calls", "--json", os.path.join(folder, "damaged.dat"))
    tap.ok(damaged != whole and len(json.loads(out)["windows"][0]["tables"]["functions"]) == 2, "a list of symbols that is damaged", problems)


def test_places(folder):
    writer = make_writer()
    writer.buffers = [("", "mono", {0: [writer.make_page(5, [writer.event(0, number_event(writer, 1))])]})]
    os.makedirs(os.path.join(folder, "deep", "er"))
    path = write_file(folder, writer, "deep/er/any.name")
    for place in path, os.path.join(folder, "deep"):
        events, _ = events_of(place)
        tap.ok(brief(events) == [(5, 0, 1)], f"a trace is found by what it is: {os.path.relpath(place, folder)}", events)
    writer.options[0] = 5, b"Linux other 6.1.0 #1 x86_64\0"
    write_file(folder, writer, "deep/another.dat")
    events, problems = events_of(os.path.join(folder, "deep"))
    tap.ok([(event["time_ns"], event["host"]) for event in events] == [(5, "other"), (5, "box")] and not problems,
           "all files in a directory are read", events, problems)
    os.remove(os.path.join(folder, "deep/another.dat"))
    for suffix in "", ".gz", ".xz":
        archive = os.path.join(folder, "all.tar" + suffix)
        with tarfile.open(archive, "w:" + suffix[1:]) as tar:
            tar.add(os.path.join(folder, "deep"), "deep")
            tar.add(path, "other.dat")
        events, problems = events_of(archive)
        os.remove(archive)
        if "libarchive" in problems:
            tap.skip(f"in an archive{suffix}", problems)
            continue
        # Copies of one file look like two machines of one name.
        is_doubted = "both recorded CPU 0 at the same time" in problems and problems.count("lull:") == 1
        tap.ok(brief(events) == [(5, 0, 1)] * 2 and is_doubted, f"in an archive{suffix}: all are read", events, problems)
    twice, _ = events_of(path, os.path.join(folder, "deep"))
    tap.ok(len(twice) == 1, "the same file is not read twice", twice)


def test_damage(folder):
    writer = make_writer()
    pages, _ = made_pages(writer)
    first = writer.buffers = [("", "mono", {0: pages})]
    whole = writer.write()
    out, problems = events_of(write_file(folder, writer))
    path = os.path.join(folder, "cut.dat")
    for size in range(0, len(whole), 397):
        with open(path, "wb") as file:
            file.write(whole[:size])
        done = subprocess.run([LULL, "print", "--no-progress", path], capture_output=True, check=False, timeout=60)
        if done.returncode not in (0, 1) or not done.stderr:
            tap.ok(False, f"a file cut at byte {size} is told", done)
            return
    tap.ok(True, "a cut file is told, wherever the cut is")
    pages[0] = pages[0][:8] + struct.pack("<Q", 4090) + pages[0][16:]
    writer.buffers = first
    events, problems = events_of(write_file(folder, writer))
    tap.ok([event[2] for event in brief(events)] == ["hello", 4, 5] and "more events than fit" in problems,
           "after a damaged page the next one is read", brief(events), problems)
    pages = [writer.make_page(1, [writer.event(cpu, number_event(writer, cpu))]) for cpu in range(3)]
    writer.buffers = [("", "mono", {cpu: [page] for cpu, page in enumerate(pages)})]
    data = writer.write()
    places = [data.index(page) for page in pages]
    with open(path, "wb") as file:
        file.write(data.replace(struct.pack("<IQQ", 1, places[1], 4096), struct.pack("<IQQ", 1, places[0] + 100, 1 << 60)))
    events, problems = events_of(path)
    tap.ok([event[1:] for event in brief(events)] == [(0, 0), (2, 2)] and "pages of CPU 1 overlap those of another" in problems,
           "pages that belong to two CPUs", brief(events), problems)
    with open(path, "wb") as file:
        file.write(data.replace(struct.pack("<IQQ", 2, places[2], 4096), struct.pack("<IQQ", 2, places[2], 1 << 60)))
    events, problems = events_of(path)
    tap.ok([event[2] for event in brief(events)] == [0, 1, 2] and "the file became shorter while it was being read" in problems,
           "more pages than the file has", brief(events), problems)
    pages, _ = made_pages(writer)
    writer.buffers = [("", "mono", {0: pages})]
    pages[0] = writer.make_page(1, [writer.event(0, writer.pack("HBBi", 999, 0, 0, 0)),
                                    writer.event(1, number_event(writer, 8)),
                                    writer.event(1, writer.pack("HBBi", 100, 0, 0, 0)),
                                    writer.event(1, number_event(writer, 9))])
    events, problems = events_of(write_file(folder, writer))
    tap.ok([event[2] for event in brief(events)] == [8, "hello", 4, 5] and "number 999" in problems and
           "shorter than its format" in problems, "unknown and short events are left out, and told", brief(events),
           problems)


def test_sections(folder):
    """A genuine file of version 7 that ends with one of its sections, each in turn, before the last."""
    sample = os.path.join(os.environ["LULL_SAMPLES"], "ftrace", "ring.dat")
    path = os.path.join(folder, "whole.dat")
    convert = ["trace-cmd", "convert", "-i", sample, "-o", path, "--file-version", "7", "--compression", "none"]
    if not shutil.which("trace-cmd") or subprocess.run(convert, capture_output=True, check=False, timeout=60).returncode != 0:
        tap.skip("cut between two sections", "trace-cmd cannot write version 7")
        return
    with open(path, "rb") as file:
        whole = file.read()
    at = whole.index(b"\0", 10) + 1 + 6                         # version; byte order, size of longs, of pages
    for _ in range(2):
        at = whole.index(b"\0", at) + 1                         # compression, and its version
    at += 8
    starts = []
    while at < len(whole):
        starts.append(at)
        at += 16 + struct.unpack_from("<Q", whole, at + 8)[0]
    _, problems = lull("print", "--no-progress", path)
    told = []
    for start in starts[1:]:
        with open(os.path.join(folder, "cut.dat"), "wb") as file:
            file.write(whole[:start])
        _, said = lull("print", "--no-progress", file.name)
        told.append("cut" in said or "a section is not where" in said)
    tap.ok(len(starts) > 8 and all(told) and "cut" not in problems, "cut between two sections: that is reported", starts, problems, told)


def main():
    tap.run("samples", test_samples)
    for clock in "local", "mono":
        tap.run("recording", test_recording, clock)
    with tempfile.TemporaryDirectory() as folder:
        for arguments in ({"version": 6}, {"version": 7}, {"version": 7, "packing": "zlib"},
                          {"version": 6, "big_endian": True}, {"version": 7, "big_endian": True, "packing": "zlib"},
                          {"version": 7, "page": 65536}, {"version": 6, "long_bytes": 4},
                          {"version": 7, "big_endian": True, "long_bytes": 4, "page": 65536}):
            tap.run("made", lambda given: test_made(folder, **given), arguments)
    for function in test_options, test_shift, test_guest, test_stats, test_questions, test_undecoded, test_task_names, test_instances, test_symbols, test_places, test_damage, test_sections:
        with tempfile.TemporaryDirectory() as folder:
            tap.run(function.__name__, function, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
