#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The questions of the page's Latency view, on a trace whose every duration is written here: system calls, waits for a CPU, block
# requests, interrupts, waits on a futex and periods.
import json
import math
import os
import sys
import tempfile

from lib import jsonl_to_ctf
from server.serving import Server, environment
from tap import Tap

lull = os.environ["LULL"]
tap = Tap()
START = 10**18
A, B = 100, 200  # tids; A runs on CPU 0, B on CPU 1
US = 1000

# (start, duration), in ns after START.
READS = [(1000 * US + i * 100 * US, (i + 1) * US) for i in range(8)]  # of A: 1 to 8 µs
WRITES = [(1000 * US + i * 100 * US, 50 * US) for i in range(3)]      # of B
FUTEX = (3000 * US, 700 * US)      # of A, which slept meanwhile
WAKING = (3640 * US, 40 * US)      # of A: woken 20 µs before it returned, having been runnable for 40 µs
REQUESTS = [("write", 1, 2000 * US, 300 * US), ("read", 0, 2100 * US, 900 * US)]
IRQS = [(5000 * US, 12 * US), (5100 * US, 34 * US)]
PHASES = [(6000 * US, 250 * US, A), (6100 * US, 80 * US, B)]
VDA = 254 << 20


def events():
    def event(at, what, cpu, **payload):
        found.append({"t": START + at, "n": what, "pc": {"cpu_id": cpu}, "p": payload})
    found = []
    for cpu, tid, comm in ((0, A, "alpha"), (1, B, "beta")):
        event(0, "sched_switch", cpu, prev_comm="swapper", prev_tid=0, prev_prio=20, prev_state=0, next_comm=comm, next_tid=tid, next_prio=20)
    for start, took in READS:
        event(start, "syscall_entry_read", 0, fd=3, count=10)
        event(start + took, "syscall_exit_read", 0, ret=10)
    for start, took in WRITES:
        event(start, "syscall_entry_write", 1, fd=4, count=10)
        event(start + took, "syscall_exit_write", 1, ret=10)
    for i, (_, kind, issue, took) in enumerate(REQUESTS):
        common = {"dev": VDA, "sector": 1000 * (i + 1), "nr_sector": 8, "rwbs": 1 if kind else 4}
        event(issue, "block_rq_issue", 1, **common, bytes=4096, tid=B, comm="beta")
        event(issue + took, "block_rq_complete", 1, **common, error=0)
    start, took = FUTEX
    event(start, "syscall_entry_futex", 0, uaddr=0x7f0000001000, op=128, val=2)
    event(start + 10 * US, "sched_switch", 0, prev_comm="alpha", prev_tid=A, prev_prio=20, prev_state=1,
          next_comm="swapper", next_tid=0, next_prio=20)
    event(WAKING[0], "sched_waking", 1, comm="alpha", tid=A, prio=20, target_cpu=0)
    event(sum(WAKING), "sched_switch", 0, prev_comm="swapper", prev_tid=0, prev_prio=20, prev_state=0,
          next_comm="alpha", next_tid=A, next_prio=20)
    event(start + took, "syscall_exit_futex", 0, ret=0)
    event(4000 * US, "syscall_entry_futex", 0, uaddr=0x7f0000001000, op=128, val=2)  # -EAGAIN: did not wait
    event(4001 * US, "syscall_exit_futex", 0, ret=-11)
    for start, took in IRQS:
        event(start, "irq_handler_entry", 1, irq=28, name="nic")
        event(start + took, "irq_handler_exit", 1, irq=28, ret=1)
    for start, took, tid in PHASES:
        event(start, "phase_start", 0 if tid == A else 1, id=tid)
        event(start + took, "phase_end", 0 if tid == A else 1, id=tid)
    event(7000 * US, "phase_start", 0, id=77)  # never ends
    event(8000 * US, "syscall_entry_read", 0, fd=3, count=10)  # lasts still
    event(9000 * US, "irq_handler_entry", 1, irq=28, name="nic")
    event(9001 * US, "irq_handler_exit", 1, irq=28, ret=1)
    return sorted(found, key=lambda one: one["t"])


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


def write(found, folder, name):
    path = os.path.join(folder, name)
    jsonl_to_ctf.write_trace(found, path, {"hostname": "box"})
    return path


cache = tempfile.mkdtemp(prefix="lull-latency-")
env = environment(cache)
with tempfile.TemporaryDirectory(prefix="lull-latency-") as directory:
    trace = write(events(), directory, "known")
    try:
        view = Server(lull, env, "--no-browser", "--period",
                      "phase : $evt.$name == \"phase_start\" : $evt.$name == \"phase_end\" && $evt.id == $begin.$evt.id", trace, verb="view")
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
