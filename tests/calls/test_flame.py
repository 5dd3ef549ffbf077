#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull flame: every form of it holds the stacks that programs of chance (scene.py) were in, and for how long; samples and waits come
# from files that are written here. What other tools read is decoded here by their formats' rules.
import gzip
import itertools
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import painted  # noqa: E402
import perf_writer  # noqa: E402
import scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
NAMES = os.path.join(scratch.name, "names.txt")
with open(NAMES, "w", encoding="utf-8") as listing:
    listing.writelines(f"{scene.ADDRESS + 16 * i:016x} T f{i}\n" for i in range(64))


def run(*arguments, binary=False):
    return subprocess.run([lull, "flame", *arguments], capture_output=True, text=not binary, timeout=100, check=False,
                          stdin=subprocess.DEVNULL)


def trace(name, seed):
    """A trace of two threads, and {stack: ns}."""
    programs = [scene.Program(100 * seed + tid, tid, budget=150).run() for tid in (101, 102)]
    end = max(program.time for program in programs)
    path = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(scene.events(program.close(end) for program in programs), path, {"domain": "ust", "tracer_name": "lttng-ust"})
    stacks = {(f"prog/{program.tid}", *names): ns for program in programs for names, ns in program.sums()[1].items() if ns > 0}
    return path, stacks, programs


PATH, STACKS, PROGRAMS = trace("trace", 1)
GIVEN = ("--symbols", NAMES, PATH)


def lines(text, numbers=1):
    return {tuple(line.rsplit(" ", numbers)[0].split(";")): tuple(map(int, line.rsplit(" ", numbers)[1:])) for line in text.splitlines()}


def check_folded():
    found = lines(run(*GIVEN).stdout)
    tap.ok(len(STACKS) > 50 and found == {stack: (ns,) for stack, ns in STACKS.items()}, "folded: every stack, to the nanosecond", len(found))
    one = lines(run("--tid", "102", *GIVEN).stdout)
    tap.ok(one == {stack: ns for stack, ns in found.items() if stack[0] == "prog/102"}, "--tid")


def check_json():
    found = json.loads(run("--json", *GIVEN).stdout)
    paths, stacks, totals = [], {}, {}
    for number, node in enumerate(found["nodes"]):
        above = () if node["parent"] is None else paths[node["parent"]]
        paths.append((*above, found["frames"][node["frame"]]["name"]) if number else ())
        if node["self"]:
            stacks[paths[-1]] = node["self"]
        totals[paths[-1]] = node["total"]
    tap.ok(stacks == STACKS and found["unit"] == "ns", "JSON: the same stacks")
    wrong = [path for path, total in totals.items() if total != sum(ns for stack, ns in STACKS.items() if stack[:len(path)] == path)]
    tap.ok(not wrong, "JSON: totals are what lies above", wrong[:3])


def check_speedscope():
    found = json.loads(run("--speedscope", "-", *GIVEN).stdout)
    names, shown = [frame["name"] for frame in found["shared"]["frames"]], []
    wrong = [profile["name"] for profile in found["profiles"] if (profile["type"], profile["unit"], profile["startValue"]) != ("evented", "nanoseconds", 0)]
    for profile in found["profiles"]:
        stack, last = [], 0
        for event in profile["events"]:
            if event["at"] < last or (event["type"] == "C" and (not stack or stack[-1][0] != event["frame"])):
                wrong.append((profile["name"], event))
                break
            last = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], last))
            else:
                frame, start = stack.pop()
                shown.append((profile["name"], names[frame], len(stack), start, last - start))
        if stack or last > profile["endValue"]:
            wrong.append((profile["name"], stack))
    calls = [(f"prog/{program.tid}", path, call) for program in PROGRAMS for root in program.calls for call, path in root.walk()]
    first = min(call.start for _, _, call in calls)
    expected = sorted((who, call.name, len(path) - 1, call.start - first, call.end - call.start) for who, path, call in calls)
    tap.ok(not wrong and len(set(names)) == len(names) and sorted(shown) == expected and len(shown) > 200,
           "speedscope: each call over time, nested and in order", wrong[:3], len(shown), len(expected))
    few = json.loads(run("--speedscope", "-", "--tid", "102", *GIVEN).stdout)["profiles"]
    tap.ok([profile["name"] for profile in few] == ["prog/102"], "speedscope: --tid", few)
    found = json.loads(run("--speedscope", "-", "--weight", "cpu", *GIVEN).stdout)
    names, stacks = [frame["name"] for frame in found["shared"]["frames"]], {}
    for profile in found["profiles"]:
        tap.ok(profile["type"] == "sampled" and profile["unit"] == "nanoseconds" and profile["endValue"] == sum(profile["weights"]),
               "speedscope: a profile", profile["name"])
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            stacks[tuple(names[i] for i in sample)] = weight
    tap.ok(stacks == STACKS, "speedscope: the same stacks")


def number(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def message(data):
    """[(field, number or bytes)] of a message of protocol buffers."""
    at, fields = 0, []
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        fields.append((key >> 3, value))
    return fields


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = number(data, at)
        found.append(value)
    return found


def read_pprof(written):
    """Types, the one that is shown first, {stack: values}, [(file, build-id)] of mappings; each location lies within its mapping."""
    profile = message(gzip.decompress(written) if written[:2] == b"\x1f\x8b" else written)
    texts = [value.decode() for field, value in profile if field == 6]
    if texts[0] != "":
        raise ValueError("the first text is not empty")
    kinds = [(texts[one[1]], texts[one[2]]) for one in (dict(message(value)) for field, value in profile if field == 1)]
    functions = {one[1]: texts[one[2]] for one in (dict(message(value)) for field, value in profile if field == 5)}
    mappings = {one[1]: one for one in (dict(message(value)) for field, value in profile if field == 3)}
    places = {}
    for one in (dict(message(value)) for field, value in profile if field == 4):
        places[one[1]] = functions[dict(message(one[4]))[1]]
        if 2 in one and not mappings[one[2]][2] <= one[3] < mappings[one[2]][3]:
            raise ValueError(f"{places[one[1]]} is not in its mapping")
    stacks = {}
    for one in (dict(message(value)) for field, value in profile if field == 2):
        stacks[tuple(places[i] for i in reversed(numbers(one[1])))] = numbers(one[2])
    return kinds, texts[dict(profile)[14]], stacks, [(texts[one[5]], texts[one[6]]) for one in mappings.values()]


def check_pprof():
    written = run("--pprof", "-", *GIVEN, binary=True).stdout
    kinds, default, stacks, _ = read_pprof(written)
    tap.ok(kinds == [("calls", "count"), ("wall", "nanoseconds"), ("cpu", "nanoseconds"), ("off-cpu", "nanoseconds")] and default == "wall",
           "pprof: types of samples", kinds, default)
    tap.ok({stack: values[1] for stack, values in stacks.items() if values[1]} == STACKS, "pprof: the same stacks")
    calls = {}
    for program in PROGRAMS:
        for root in program.calls:
            for _, path in root.walk():
                path = (f"prog/{program.tid}", *path)
                calls[path] = calls.get(path, 0) + 1
    tap.ok({stack: values[0] for stack, values in stacks.items() if values[0]} == calls, "pprof: how often each was called")
    tap.ok(all(values[1] == values[2] and not values[3] for values in stacks.values()), "pprof: nothing waited")
    kinds, default, found, _ = read_pprof(run("--weight", "cpu", "--pprof", "-", *GIVEN, binary=True).stdout)
    tap.ok([kind for kind, _ in kinds] == ["calls", "cpu"] and default == "cpu" and {stack: values[1] for stack, values in found.items() if values[1]} == STACKS,
           "pprof: of time on a CPU", kinds, default)


def check_pprof_of_samples():
    """Samples and waits are counted; each file that was sampled is a mapping, with the build-id that perf noted."""
    data = os.path.join(os.environ["LULL_SAMPLES"], "perf", "chains.data")
    kinds, default, stacks, mappings = read_pprof(run("--off-cpu", "--pprof", "-", data, binary=True).stdout)
    folded = dict(line.rsplit(" ", 1) for line in run("--off-cpu", data).stdout.splitlines())
    tap.ok(kinds == [("waits", "count"), ("off-cpu", "nanoseconds")] and default == "off-cpu", "pprof: types of waits", kinds, default)
    tap.ok({";".join(stack): str(values[1]) for stack, values in stacks.items()} == folded and all(values[0] > 0 for values in stacks.values()),
           "pprof: waits are those of the folded stacks", stacks, folded)
    listed = {row["file"]: row["build_id"] for row in json.loads(subprocess.run(
        [os.environ["LULL"], "symbols", "--json", data], capture_output=True, text=True, check=False).stdout)["files"]}
    tap.ok(mappings and all((file == "[kernel.kallsyms]" or file in listed) and (listed.get(file) or "") == build_id for file, build_id in mappings),
           "pprof: mappings have the build-ids that were recorded", mappings, listed)


def check_perfetto():
    events = json.loads(run("--perfetto", "-", *GIVEN).stdout)["traceEvents"]
    threads = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    found = sorted((threads[event["tid"]], event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000)) for event in events if event["ph"] == "X")
    calls = [(f"prog/{program.tid}", call) for program in PROGRAMS for root in program.calls for call, _ in root.walk()]
    first = min(call.start for _, call in calls)
    few = json.loads(run("--perfetto", "-", "--tid", "102", *GIVEN).stdout)["traceEvents"]
    tap.ok(sum(event["ph"] == "X" for event in few) == sum(who == "prog/102" for who, _ in calls), "Perfetto: --tid")
    expected = sorted((who, call.name, call.start - first, call.end - call.start) for who, call in calls)
    tap.ok(len(found) > 200 and found == expected, "Perfetto: each call", len(found), len(expected))


def check_svg():
    picture = ElementTree.fromstring(run("--svg", "-", *GIVEN).stdout.encode())
    space = "{http://www.w3.org/2000/svg}"
    boxes, said = [], []
    for group in picture.iter(space + "g"):
        box = group.find(space + "rect")
        name, readable, weight, share = re.match(r"(\S+): (.*) \((\d+) ns\), (\S+) %", group.find(space + "title").text).groups()
        number, unit = readable.split()
        said.append(abs(float(number) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit] - int(weight)) <= 0.0005 * int(weight)
                    and abs(100 * int(weight) / sum(STACKS.values()) - float(share)) <= 0.006)
        boxes.append((name, int(weight), float(box.get("x")), float(box.get("y")), float(box.get("width"))))
    whole = sum(STACKS.values())
    wrong = [box for box in boxes if abs(box[4] - 1180 * box[1] / whole) > 0.06]
    tap.ok(boxes[0][1] == whole and not wrong, "SVG: boxes are as wide as their time", wrong[:3])
    tap.ok(all(said), "SVG: what a box says in readable units is its time and share", said)
    tap.ok("Where the time went" in picture.find(space + "text").text, "SVG: what it is about")
    rows = {}
    for box in boxes:
        rows.setdefault(box[3], []).append((box[2], box[2] + box[4]))
    over = [y for y, row in rows.items() for a, b in zip(sorted(row), sorted(row)[1:]) if a[1] > b[0] + 0.11]
    tap.ok(len(rows) > 5 and not over, "SVG: none lies on another", over)
    colours = {box[0]: group.find(space + "rect").get("fill") for box, group in zip(boxes, picture.iter(space + "g"))}
    apart = [math.dist(painted.parse(one), painted.parse(other)) for one, other in itertools.combinations(colours.values(), 2)]
    tap.ok(len(colours) > 8 and sum(apart) / len(apart) > 0.15, "SVG: names that are alike have other colours", colours)


def check_difference():
    other, before, _ = trace("other", 2)
    found = lines(run("--diff", other, *GIVEN).stdout, 2)
    expected = {}  # tasks have other numbers in another trace
    for side, stacks in enumerate((before, STACKS)):
        for stack, ns in stacks.items():
            expected.setdefault(("prog", *stack[1:]), [0, 0])[side] += ns
    tap.ok({stack: list(both) for stack, both in found.items()} == expected and 0 in {both[1] for both in found.values()},
           "--diff: both weights of each stack")
    whole = json.loads(run("--diff", other, "--json", *GIVEN).stdout)["nodes"][0]
    tap.ok((whole["other_total"], whole["total"]) == (sum(before.values()), sum(STACKS.values())), "--diff: in JSON")
    pictures = {"what changed": run("--diff", other, "--svg", "-", *GIVEN).stdout, "calls": run("--svg", "-", *GIVEN).stdout}
    tap.ok("was" in pictures["what changed"], "--diff: in the picture")
    for name, picture in pictures.items():
        wrong = painted.faults(picture)
        tap.ok(not wrong, f"SVG of {name}: read in light and in the dark", wrong)


def perf_data(name, records):
    """A perf.data with cpu-clock samples of a process that has two files mapped; and one of cycles."""
    kind = perf_writer.IP | perf_writer.TID | perf_writer.TIME | perf_writer.CALLCHAIN | perf_writer.CPU | perf_writer.PERIOD | perf_writer.IDENTIFIER
    writer = perf_writer.Writer()
    writer.attr([1], kind, kind=1, config=0)
    writer.attr([2], kind, kind=0, config=0)
    for address, path in ((0x10000, "/bin/prog"), (0x20000, "/lib/libx.so")):
        writer.record(1, struct.pack("<IIQQQ", 40, 40, address, 0x1000, 0) + (path + "\0").encode().ljust(16, b"\0") +
                      writer.trailer(40, 40, 10, 0, 1, kind))
    writer.record(3, struct.pack("<II", 40, 41) + b"worker\0\0" + writer.trailer(40, 41, 11, 0, 1, kind))
    for time, ident, period, chain in records:
        body = struct.pack("<QQIIQIIQQ", ident, chain[0], 40, 41, time, 0, 0, period, len(chain) + 1) + struct.pack("<q", -512)
        writer.record(9, body + b"".join(struct.pack("<Q", address) for address in chain))
    path = os.path.join(scratch.name, name)
    with open(path, "wb") as file:
        file.write(writer.file())
    return path


def check_samples():
    path = perf_data("samples.data", [(100, 1, 70, (0x20010, 0x10020, 0x10008)), (200, 1, 30, (0x10020, 0x10008)),
                                      (300, 1, 50, (0x20010, 0x10020, 0x10008)), (350, 2, 999, (0x10020,)),
                                      (400, 1, 5, (0x20010, 0x8348ef8948fb8953, 0x10008))])
    done = run(path)
    tap.ok(lines(done.stdout) == {("worker/41", "prog+0x8", "prog+0x20", "libx.so+0x10"): (120,), ("worker/41", "prog+0x8", "prog+0x20"): (30,),
                                  ("worker/41", "prog+0x8", "libx.so+0x10"): (5,)}, "samples: stacks by their weight", done.stdout)
    tap.ok("1 stack lacks calls" in done.stderr and "only samples of cpu-clock" in done.stderr, "samples: what is left out is said", done.stderr)
    listed = subprocess.run([lull, "symbols", "--json", "--places", path], capture_output=True, text=True, timeout=100, check=False)
    places = {(one["file"], one["offset"]) for one in json.loads(listed.stdout)["places"]}
    tap.ok(places == {("/bin/prog", "0x8"), ("/bin/prog", "0x20"), ("/lib/libx.so", "0x10"), (None, "0x8348ef8948fb8953")},
           "samples: their places in lull symbols", listed.stdout)


def check_waits():
    def call(time, what, name):
        return scene.event(time, 0, f"lttng_ust_cyg_profile:func_{what}", 100, addr=scene.address(name))

    def switch(time, prev, following, state):
        return {"t": time, "n": "sched_switch", "pc": {"cpu_id": 0},
                "p": {"prev_comm": "prog" if prev == 100 else "o", "prev_tid": prev, "prev_prio": 20, "prev_state": state,
                      "next_comm": "prog" if following == 100 else "o", "next_tid": following, "next_prio": 20}}
    folder = os.path.join(scratch.name, "waits")
    os.mkdir(folder)
    jsonl_to_ctf.write_trace([call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(9000, "exit", "f1"), call(10000, "exit", "f0")],
                             os.path.join(folder, "user"), {"domain": "ust", "tracer_name": "lttng-ust"})
    kernel = [switch(500, 7, 100, 1), {"t": 3000, "n": "syscall_entry_read", "pc": {"cpu_id": 0}, "p": {"fd": 1}}, switch(4000, 100, 7, 1),
              {"t": 6000, "n": "sched_waking", "pc": {"cpu_id": 0}, "p": {"comm": "prog", "tid": 100, "prio": 20, "target_cpu": 0}},
              switch(6500, 7, 100, 0), {"t": 7000, "n": "syscall_exit_read", "pc": {"cpu_id": 0}, "p": {"ret": 1}},
              switch(9200, 100, 7, 0), switch(9500, 7, 100, 0), switch(11000, 100, 7, 1)]
    jsonl_to_ctf.write_trace(kernel, os.path.join(folder, "kernel"))
    base = ("prog/100", "f0")
    # read: on a CPU until 4000 and from 6500; task 7 wakes it at 6000.
    everything = {base: (1700,), (*base, "[preempted]"): (300,), (*base, "f1"): (3000,), (*base, "f1", "[read]"): (1500,),
                  (*base, "f1", "[read]", "[preempted]"): (500,), (*base, "f1", "[read]", "[task]"): (2000,)}
    found = lines(run("--symbols", NAMES, folder).stdout)
    tap.ok(found == everything, "waits are leaves", found)
    found = lines(run("--off-cpu", "--symbols", NAMES, folder).stdout)
    tap.ok(found == {stack: ns for stack, ns in everything.items() if stack[-1] == "[task]"}, "--off-cpu: waits alone", found)
    wrong = painted.faults(run("--off-cpu", "--svg", "-", "--symbols", NAMES, folder).stdout)
    tap.ok(not wrong, "SVG of waits: read in light and in the dark", wrong)


def check_depth():
    """A function that calls itself 100000 times, one ns apart, and never returns."""
    deep = [scene.event(1000 + i, 0, "lttng_ust_cyg_profile:func_entry", 100, addr=scene.ADDRESS) for i in range(100000)]
    path = os.path.join(scratch.name, "deep")
    jsonl_to_ctf.write_trace(deep, path, {"domain": "ust", "tracer_name": "lttng-ust"})
    found = [(len(line.split(";")) - 1, int(line.rsplit(" ", 1)[1])) for line in run("--symbols", NAMES, path).stdout.splitlines()]
    tap.ok(found == [(depth, 1) for depth in range(1, 1024)] + [(1024, 99999 - 1023)], "deep stacks: their time is that of the last frame shown",
           len(found), found[-1:])


def check_usage():
    done = run("--svg", "-", "--json", *GIVEN)
    tap.ok(done.returncode == 2 and "only one of" in done.stderr, "two things to standard output", done.stderr)
    done = run("--diff", "/nowhere", *GIVEN)
    tap.ok(done.returncode == 1 and "/nowhere" in done.stderr and not done.stdout, "--diff: no such trace", done.stderr)


for check in (check_folded, check_json, check_speedscope, check_pprof, check_pprof_of_samples, check_perfetto, check_svg, check_difference, check_samples, check_waits,
              check_depth, check_usage):
    tap.run(check.__name__, check)
sys.exit(tap.done())
