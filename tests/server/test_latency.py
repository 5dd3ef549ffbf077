#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The questions of the page's Latency view, on a trace whose every duration is written here: system calls, waits for a CPU, block
# requests, interrupts, waits on a futex and periods.
import json
import math
import os
import sys
import tempfile

from server.latency_trace import A, B, FUTEX, IRQS, PERIOD, PHASES, READS, REQUESTS, START, US, WAKING, WRITES, events, write
from server.serving import Server, environment
from tap import Tap, scratch

lull = os.environ["LULL"]
tap = Tap()
def ask(server, what, **parameters):
    status, _, data = server.raw("POST", f"{server.base}api/{what}", json.dumps({"parameters": parameters}).encode())
    return status, json.loads(data)


def points(server, kind, **more):
    """[(start, took, tid or kind of row, name)] by start."""
    rows = ask(server, "trace")[1]
    def who(row):
        return None if row < 0 else rows["rows"][row][4] if rows["kinds"][rows["rows"][row][0]] == "task" else rows["kinds"][rows["rows"][row][0]]
    status, found = ask(server, "latency", kind=kind, columns=10, lines=10, **more)
    assert status == 200, found
    return [(start, took, who(row), name) for start, took, row, name in found["points"]]


def check_kinds(server):
    status, found = ask(server, "latencies")
    tap.ok(status == 200 and [id for id, _, _ in found["kinds"]] ==
           ["syscalls", "scheduling", "block", "interrupts", "futexes", "period-1"] and found["kinds"][5][1] == "Period phase", "the kinds are listed", found)


def check_points(server):
    expected = {
        "syscalls": sorted([(s, t, A, "read") for s, t in READS] + [(s, t, B, "write") for s, t in WRITES] +
                           [(*FUTEX, A, "futex"), (4000 * US, 1 * US, A, "futex")]),
        "scheduling": [(*WAKING, A, "alpha")],
        "block": [(issue, took, B, f"254:0 {word}") for word, _, issue, took in REQUESTS],
        "interrupts": [(s, t, "cpu", "irq 28 nic") for s, t in [*IRQS, (9000 * US, 1 * US)]],
        "futexes": [(*FUTEX, A, "0x7f0000001000 of alpha")],
        "period-1": [(s, t, tid, "alpha" if tid == A else "beta") for s, t, tid in PHASES],
    }
    for kind, wanted in expected.items():
        found = sorted(points(server, kind))
        tap.ok(found == wanted, f"{kind}: each has its start, duration and task", found, wanted)


def check_ranges(server):
    found = points(server, "syscalls", start=READS[2][0], end=READS[5][0], name="read")
    tap.ok([one[:2] for one in found] == READS[2:5], "a range has those that start in it, a name those of it", found)
    tap.ok(points(server, "syscalls", name="no such call") == [], "there may be none of a name")
    answer = ask(server, "latency", kind="syscalls", columns=4, lines=4, name="read", names=1)[1]
    tap.ok((answer["low"], answer["high"], answer["count"]) == (1 * US, 8 * US, 8), "the scale is from the shortest to the longest", answer)
    lines = [0] * 4
    for _, took in READS:
        lines[min(3, int(4 * (math.log2(took + 1) - math.log2(1 * US + 1)) / (math.log2(8 * US + 1) - math.log2(1 * US + 1))))] += 1
    tap.ok(answer["density"] == lines, "the density counts them by duration, on a logarithmic scale", answer["density"], lines)
    read = next(one for one in answer["names"] if one["name"] == "read")
    mean = sum(took for _, took in READS) / 8
    deviation = math.sqrt(sum((took - mean) ** 2 for _, took in READS) / 7)
    tap.ok((read["count"], read["total"], read["min"], read["max"], read["p50"], read["p99"]) == (8, 36 * US, US, 8 * US, 4 * US, 8 * US) and
           read["mean"] == mean and abs(read["deviation"] - deviation) < 1e-3 and read["longest"][0][:2] == list(READS[7]),
           "statistics of a name are as computed here", read)
    tap.ok([one["name"] for one in answer["names"]] == ["futex", "write", "read"], "names come by the sum of their durations", answer["names"])


def check_longest(server):
    status, found = ask(server, "longest", kind="syscalls", most_points=3)
    tap.ok(status == 200 and found["count"] == 13 and [one[1] for one in found["points"]] == [700 * US, 50 * US, 50 * US],
           "the longest come first", found)
    found = ask(server, "longest", kind="syscalls", least=3 * US, most=5 * US)[1]
    tap.ok(sorted(one[1] for one in found["points"]) == [3 * US, 4 * US, 5 * US], "durations can be limited", found)


def check_instances(server):
    """Instances of periods have paths: of the task that closed them, which ran all the time."""
    status, found = ask(server, "periods")
    tap.ok((status, found) == (200, {"periods": ["phase"]}), "periods are listed", found)
    status, found = ask(server, "instances", period="phase")
    expected = [[1 + PHASES.index(phase), 0, phase[2], "alpha" if phase[2] == A else "beta", phase[0], sum(phase[:2])]
                for phase in sorted(PHASES, key=lambda phase: -phase[1])]
    tap.ok(status == 200 and found["count"] == 3 and [one[:6] for one in found["instances"]] == expected,
           "the instances that ended come slowest first; one is still open", found, expected)
    rows = ask(server, "trace")[1]["rows"]
    tap.ok([rows[one[6]][4] for one in found["instances"]] == [one[2] for one in expected], "each has the row of its task", found)
    for number, (start, took, tid) in enumerate(PHASES, 1):
        status, flow = ask(server, "flow", period="phase", instance=number)
        tap.ok(status == 200 and (flow["start"], flow["end"], flow["tid"]) == (start, start + took, tid) and
               [one[1:4] for one in flow["segments"]] == [[start, start + took, "running"]], f"the path of instance {number}", flow)
    for name, expected, what, parameters in (
            ("an instance that did not end", 404, "flow", {"period": "phase", "instance": 3}),
            ("an instance that is not there", 404, "flow", {"period": "phase", "instance": 4}),
            ("instance 0", 404, "flow", {"period": "phase", "instance": 0}),
            ("a period that is not there", 404, "instances", {"period": "x"}),
            ("no period", 400, "instances", {})):
        status, answer = ask(server, what, **parameters)
        tap.ok(status == expected and answer["detail"], f"{name}: {expected}", status, answer)


def check_many(folder):
    """1600 calls are shown in cells, whose sums and places are right."""
    calls = [(i * 10 * US, (1 + i % 4) * US) for i in range(1600)]
    found = []
    for start, took in calls:
        found.append({"t": START + start, "n": "syscall_entry_read", "pc": {"cpu_id": 0}, "p": {"fd": 3, "count": 1}, "sec": {"tid": A}})
        found.append({"t": START + start + took, "n": "syscall_exit_read", "pc": {"cpu_id": 0}, "p": {"ret": 1}, "sec": {"tid": A}})
    server = Server(lull, env, "--no-browser", write(found, folder, "many"), verb="view")
    answer = ask(server, "latency", kind="syscalls", start=0, end=16000 * US, columns=8, lines=2)[1]
    expected = {}
    for start, took in calls:
        y = (math.log2(took + 1) - math.log2(US + 1)) / (math.log2(4 * US + 1) - math.log2(US + 1))
        place = (start * 8 // (16000 * US), min(1, int(2 * y)))
        expected[place] = expected.get(place, 0) + 1
    cells = {(column, line): count for column, line, count, _ in answer.get("cells", [])}
    tap.ok(ask(server, "periods")[1] == {"periods": []} and ask(server, "instances", period="phase")[0] == 404, "without --period there are none")
    tap.ok(cells == expected and answer["count"] == 1600, "many points are counted in cells of time and duration", cells, expected)
    tap.ok(server.end()[0] == 0, "and it ends")


def check_refused(server):
    for name, expected, parameters in (("no kind", 404, {}), ("an unknown kind", 404, {"kind": "nonsense"}), ("a number", 404, {"kind": 7}),
                                       ("an empty range", 400, {"kind": "syscalls", "start": 5, "end": 5}),
                                       ("no columns", 400, {"kind": "syscalls", "columns": 0}),
                                       ("too many lines", 400, {"kind": "syscalls", "lines": 257})):
        status, answer = ask(server, "latency", **parameters)
        tap.ok(status == expected and answer["detail"], f"{name} is refused", status, answer)
    extreme = {"kind": "syscalls", "start": -2**63, "end": 2**63 - 1, "row": 2**62, "columns": 2048, "lines": 256}
    tap.ok(ask(server, "latency", **extreme)[1]["count"] == 13, "extreme times are all of the time")


cache = scratch("lull-latency-")
env = environment(cache)
with tempfile.TemporaryDirectory(prefix="lull-latency-") as directory:
    trace = write(events(), directory, "known")
    try:
        view = Server(lull, env, "--no-browser", "--period",
                      PERIOD, trace, verb="view")
    except RuntimeError as failure:
        if "without" not in str(failure):
            raise
        tap.skip("latencies", "built without it")
        sys.exit(tap.done())
    for check in (check_kinds, check_points, check_ranges, check_longest, check_instances, check_refused):
        tap.run(check.__name__, check, view)
    tap.ok(view.end()[0] == 0, "it ends")
    tap.run("many", check_many, directory)
sys.exit(tap.done())
