#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull export --ctf2` of recordings whose records are the kernel's own structures: a reader of CTF 2 that shares nothing with Lull
# (lib/ctf2.py) finds in the export what trace-cmd reports of the recording, or what the file was made of; Lull itself tells the same
# of both. See LULL, LULL_SAMPLES in tests/meson.build.
import json
import os
import subprocess
import sys
import tempfile

from lib import ctf2, tracedat
from lib.trace_cmd import difference, report_of
from tap import Tap

LULL = os.environ["LULL"]
SAMPLES = os.path.join(os.environ["LULL_SAMPLES"], "tracedat")
tap = Tap()


def lull(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, check=False, timeout=250)
    return done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")


def export(name, folder, *arguments):
    out = os.path.join(folder, name.replace(" ", "-").replace("/", "-"))
    status, _, problems = lull("export", "--no-progress", "--ctf2", out, *arguments)
    tap.ok(status == 0 and all("the traces have gaps" in line for line in problems.splitlines()), f"{name}: exported", problems)
    try:
        tap.ok(ctf2.check_rules(out) == 1, f"{name}: follows the rules of CTF 2")
    except (ctf2.Broken, KeyError) as error:
        tap.ok(False, f"{name}: follows the rules of CTF 2", repr(error))
    return out


def without_lengths(event):
    """CTF has to say how long an array is; Lull writes that as a field of its own, as LTTng does."""
    for scope in "context", "fields":
        scoped = event.get(scope, {})
        event[scope] = {name: value for name, value in scoped.items()
                        if not (name.endswith("_length") and isinstance(scoped.get(name[1:-7]), list))}
    return event


def events_of(*arguments):
    _, out, problems = lull("print", "--json", "--no-progress", *arguments)
    return [without_lengths(json.loads(line)) for line in out.splitlines()], problems


def same_events(name, source, out, *options):
    wanted, got = events_of(*options, source), events_of(out)
    tap.ok(len(wanted[0]) > 0 and wanted == got, f"{name}: lull print shows the same", len(wanted[0]), len(got[0]), got[1],
           *[pair for pair in zip(wanted[0], got[0]) if pair[0] != pair[1]][:2])


# ---- a genuine recording ----

def as_json(event):
    time, cpu, name, context, payload = event
    return without_lengths({"time_ns": time, "cpu": cpu, "name": name, "context": context, "fields": payload})


def test_sample(folder, file):
    source = os.path.join(SAMPLES, file)
    out = export(file, folder, source)
    with open(os.path.join(SAMPLES, "report.txt"), encoding="utf-8", errors="surrogateescape") as report:
        told = sorted(report_of(report.read()), key=lambda event: event[:2])
    found = [as_json(event) for event in ctf2.events_in(out)]
    wrong = [why for why in map(difference, told, found) if why is not None]
    tap.ok(len(told) == len(found) > 0 and not wrong, f"{file}: the export holds what trace-cmd reports", len(told), len(found),
           *wrong[:5])
    same_events(file, source, out)
    same_answers(file, source, out)
    tids = [event[3] for event in told if event[3] > 0]
    for verb in ["cputop"], ["critpath", "--tid", str(max(tids, key=tids.count))], ["irqstats"], ["schedstats"], ["syscallstats"]:
        wanted, got = (lull(*verb, "--json", "--no-progress", path) for path in (source, out))
        tap.ok(wanted[0] == got[0] == 0 and plain(wanted[1], source) == plain(got[1], out), f"{file}: {verb[0]} says the same",
               wanted, got)


def same_answers(name, source, out):
    wanted, got = (json.loads(lull("info", "--json", path)[1])["questions"] for path in (source, out))
    tap.ok(wanted == got, f"{name}: the same questions can be answered", *[pair for pair in zip(wanted, got) if pair[0] != pair[1]])


def test_perf(folder, file):
    source = os.path.join(os.environ["LULL_SAMPLES"], "perf", file)
    out = export(file, folder, source)
    same_events(file, source, out)
    same_answers(file, source, out)
    for verb in "cputop", "schedstats":
        wanted, got = (lull(verb, "--json", "--no-progress", path) for path in (source, out))
        tap.ok(wanted[0] == got[0] == 0 and plain(wanted[1], source) == plain(got[1], out), f"{file}: {verb} says the same",
               wanted, got)


def plain(text, path):
    return text.replace(path + "/vm", "TRACE").replace(path, "TRACE")


def test_selection(folder):
    source = os.path.join(SAMPLES, "v6.dat")
    for number, options in enumerate((["--filter", 'name == "sched_switch" && prev_pid > 0'], ["--events", "sched_*,irq_*"],
                                      ["--timerange", "+10ms,+60ms"], ["--cpu", "1"], ["--begin", "+100ms"])):
        if options[0] == "--events":
            out = export(f"selection {number}", folder, *options, source)
            names = {event["name"] for event in events_of(out)[0]}
            wanted = [event for event in events_of(source)[0] if event["name"].startswith(("sched_", "irq_"))]
            tap.ok(events_of(out)[0] == wanted and "sched_switch" in names, "events by name", names)
        else:
            same_events(" ".join(options), source, export(f"selection {number}", folder, *options, source), *options)
    status, _, _ = lull("export", "--ctf2", os.path.join(folder, "none"), "--filter", "name == \"sched_switch\" && prev_pid == -5", source)
    tap.ok(status == 0 and events_of(os.path.join(folder, "none"))[0] == [], "nothing selected is an empty trace")


# ---- files made for it ----

FIELDS = [("int", "number", 4, 1), ("char", "word[6]", 6, 0), ("u16", "pair[2]", 4, 0)]
SPARSE = [("__data_loc char[]", "text", 4, 0), ("__data_loc s16[]", "list", 4, 1), ("u64", "wide", 8, 0)]
STACK = [("int", "size", 4, 1), ("unsigned long", "caller[8]", 64, 0)]


def number_event(w, number, word=b"word"):
    return w.pack("HBBii6sHH", 100, 1, 2, 4242, number, word, 7, 65535)


def sparse_event(w, text, numbers, wide):
    data = text + b"\0" + w.pack(f"{len(numbers)}h", *numbers)
    return w.pack("HBBiIIQ", 200, 0, 0, 7, 24 | len(text) + 1 << 16, 24 + len(text) + 1 | 2 * len(numbers) << 16, wide) + data


def stack_event(w, callers):
    """Longer or shorter than its format says, as the tracer's own records are."""
    return w.pack("HBBii", 300, 0, 0, 9, len(callers)) + w.pack(f"{len(callers)}Q", *callers)


def made_file(folder, offset, **arguments):
    w = tracedat.Writer(**arguments)
    w.formats = [("made", tracedat.format_text("number", 100, FIELDS)), ("made", tracedat.format_text("sparse", 200, SPARSE)),
                 ("ftrace", tracedat.format_text("kernel_stack", 300, STACK)),
                 ("made", tracedat.format_text("never", 400, FIELDS))]
    w.options = [(5, b"Linux box 6.1.0 #1 x86_64\0"), (4, b"local [mono] global\0"), (7, str(offset).encode() + b"\0")]
    second = 1000 * 10**9
    pages = [w.make_page(second, [w.event(5, number_event(w, -1)), w.event(3, sparse_event(w, b"hello", [1, -2, 3], 2**63))]),
             w.make_page(second + 100, [w.event(1, sparse_event(w, b"", [], 1)), w.event(0, number_event(w, 2, b"abcdef"))],
                         tracedat.MISSED),
             w.make_page(second + 200, [w.event(1, stack_event(w, [2**64 - 5]))], tracedat.MISSED | tracedat.STORED, 77),
             w.make_page(second + 300, [w.event(1, stack_event(w, list(range(8))))], tracedat.MISSED | tracedat.STORED, 5)]
    other = [w.make_page(second + 50, [w.event(0, number_event(w, 50))], tracedat.MISSED)]
    w.buffers = [("", "mono", {0: pages, 3: other})]
    path = os.path.join(folder, "trace.dat")
    with open(path, "wb") as file:
        file.write(w.write())
    return path


def made_events(offset):
    """(time, CPU, name, tid, payload) of the file above."""
    def number(value, word="word"):
        return {"number": value, "word": word, "pair": [7, 65535]}
    second = offset + 1000 * 10**9
    return [(second + 5, 0, "number", 4242, number(-1)),
            (second + 8, 0, "sparse", 7, {"text": "hello", "list": [1, -2, 3], "wide": 2**63}),
            (second + 50, 3, "number", 4242, number(50)),
            (second + 101, 0, "sparse", 7, {"text": "", "list": [], "wide": 1}),
            (second + 101, 0, "number", 4242, number(2, "abcdef")),
            (second + 201, 0, "kernel_stack", 9, {"size": 1, "caller": [2**64 - 5]}),
            (second + 301, 0, "kernel_stack", 9, {"size": 8, "caller": list(range(8))})]


def lost_of(path):
    lost = json.loads(lull("info", "--json", path)[1])["lost"]
    return lost["events"], lost["packets"], [(x["begin_ns"], x["end_ns"], x["events"], x["packets"]) for x in lost["intervals"]]


def test_made(arguments):
    name = " ".join(f"{key} {value}" for key, value in arguments.items())
    offset = 1700000000123456789
    with tempfile.TemporaryDirectory() as folder:
        source = made_file(folder, offset, **arguments)
        out = export(name, folder, source)
        found = [event[:3] + (event["context"]["common_pid"], event["fields"]) if isinstance(event, tuple) else
                 (event["time_ns"], event["cpu"], event["name"], event["context"]["common_pid"], event["fields"])
                 for event in map(as_json, ctf2.events_in(out))]
        wanted = sorted(made_events(offset), key=lambda event: event[:2])
        tap.ok(found == wanted, f"{name}: the export holds what was written", found, wanted)
        same_events(name, source, out)
        tap.ok(lost_of(out) == lost_of(source) and lost_of(source)[:2] == (82, 2),
               f"{name}: what was lost is still told, at the same times", lost_of(source), lost_of(out))
        metadata = ctf2.Metadata(os.path.join(out, "box", "metadata"))
        tap.ok({event["name"] for event in metadata.events.values()} == {"number", "sparse", "kernel_stack"},
               f"{name}: only what was recorded is declared", metadata.events)
        environment = metadata.trace["environment"]
        tap.ok((environment["hostname"], environment["kernel_release"], environment["domain"]) == ("box", "6.1.0", "kernel") and
               next(iter(metadata.clocks.values()))["origin"] == "unix-epoch", f"{name}: the environment and the clock",
               environment, metadata.clocks)
        again = export(name + " again", folder, out)
        same_events(name + " again", source, again)
        tap.ok(lost_of(again) == lost_of(source), f"{name}: an export of the export", lost_of(again))
        part = export(name + " part", folder, "--begin", "+90ns", source)
        tap.ok([event[:2] for event in wanted if event[0] >= offset + 1000 * 10**9 + 90] ==
               [event[:2] for event in ctf2.events_in(part)] and lost_of(part)[:2] == (82, 1),
               f"{name}: of a part, what was lost within it", lost_of(part))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for file in "v6.dat", "v7.dat", "v7-zstd.dat":
            tap.run(file, test_sample, folder, file)
        tap.run("selection", test_selection, folder)
        for file in "file.data", "chains.data", "clock.data":
            tap.run(file, test_perf, folder, file)
    for arguments in ({"version": 6}, {"version": 7, "packing": "zlib"}, {"version": 6, "big_endian": True},
                      {"version": 7, "big_endian": True, "page": 65536}):
        tap.run("made", test_made, arguments)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
