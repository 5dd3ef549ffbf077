#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull counters: against machines that chance made, whose counters are known at every nanosecond, and small scenes that were reckoned
# by hand: interrupts, losses, counters that start anew, wrap or take turns, threads, windows.
import json
import os
import random
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732


def made(name, events, user=False):
    path = os.path.join(scratch.name, name)
    environment = {"domain": "ust", "tracer_name": "lttng-ust"} if user else None
    jsonl_to_ctf.write_trace(sorted(events, key=lambda one: one["t"]), path, environment)
    return path


def window(*arguments):
    done = subprocess.run([lull, "counters", "--json", "--limit", "0", *arguments], capture_output=True, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["windows"][0]


def tasks_of(found, key):
    return {row["process"]["tid"]: row[key] for row in found["tables"]["per-task"] if row[key] is not None}


def cpu_row(found, counter, cpu=0):
    rows = [row for row in found["tables"]["per-cpu"] if (row["cpu"], row["counter"]) == (cpu, counter)]
    return {key: rows[0][key] for key in ("counted", "tasks", "idle", "interrupts", "unknown", "shared")} if rows else None


def row(counted, tasks=0, idle=0, interrupts=0, unknown=0, shared=0):
    return {"counted": counted, "tasks": tasks, "idle": idle, "interrupts": interrupts, "unknown": unknown, "shared": shared}


def event(t, name, cpu, payload, values=None):
    """`values`: of counters, by the name of their contexts."""
    return {"t": t, "n": name, "p": payload, "pc": {"cpu_id": cpu}, **({"sec": values} if values else {})}


def switch(t, cpu, before, after, values=None, state=0):
    return event(t, "sched_switch", cpu, {"prev_comm": f"t{before}", "prev_tid": before, "prev_prio": 20, "prev_state": state,
                                          "next_comm": f"t{after}", "next_tid": after, "next_prio": 20}, values)


def irq(t, cpu, begins, values=None):
    return event(t, "irq_handler_entry" if begins else "irq_handler_exit", cpu, {"irq": 9, "name": "disk"} if begins else {"irq": 9, "ret": 1},
                 values)


CYCLES, FAULTS = "perf_cpu_cycles", "perf_cpu_page_faults"


# --- by chance --------------------------------------------------------------------------------------------------


def machine(rand, reads_all):
    """Events of two CPUs, and what each task, idleness and interrupts have counted from the first read of a CPU to its last."""
    events, truth, ends = [], {}, {}
    for cpu in (0, 1):
        t, value, running, since = 1000 + cpu, rand.randrange(2**40), rand.choice([0, 11, 12]), None
        last_read, first = None, None
        for _ in range(200):
            duration, rate = rand.randrange(1, 5000), rand.choice([0, 1, 3, 1000])
            steps = [("task", duration)]
            if rand.random() < 0.3:
                steps += [("interrupt", rand.randrange(1, 300)), ("task", rand.randrange(1, 2000))]
            for step, (kind, length) in enumerate(steps):
                owner = "interrupt" if kind == "interrupt" else running
                if first is not None:
                    truth[cpu, owner] = truth.get((cpu, owner), 0) + rate * length
                t += length
                value += rate * length
                if len(steps) == 3 and step < 2:
                    is_read = reads_all or rand.random() < 0.7
                    events.append(irq(t, cpu, kind == "task", {CYCLES: value} if is_read else None))
                    if is_read:
                        first, last_read = value if first is None else first, value
            following = rand.choice([tid for tid in (0, 11 + 2 * cpu, 12 + 2 * cpu, 21) if tid != running and (tid != 21 or cpu == 0)])
            is_read = reads_all or rand.random() < 0.6
            events.append(switch(t, cpu, running, following, {CYCLES: value} if is_read else None))
            if is_read:
                first, last_read = value if first is None else first, value
            running = following
        ends[cpu] = (first, last_read)
    return events, truth, ends


def test_chance():
    rand = random.Random(15)
    for number in range(12):
        events, truth, ends = machine(rand, True)
        found = window(made(f"chance{number}", events))
        tids = {owner for _, owner in truth if isinstance(owner, int) and owner != 0}
        expected = {tid: sum(truth.get((cpu, tid), 0) for cpu in (0, 1)) for tid in tids}
        tap.ok(tasks_of(found, "cycles") == {tid: n for tid, n in expected.items() if n > 0 or tid in tasks_of(found, "cycles")},
               f"chance {number}: each task has what it counted", tasks_of(found, "cycles"), expected)
        for cpu, (first, last) in ends.items():
            expected = row(last - first, sum(n for (c, owner), n in truth.items() if c == cpu and owner not in (0, "interrupt")),
                           truth.get((cpu, 0), 0), truth.get((cpu, "interrupt"), 0))
            tap.ok(cpu_row(found, "cycles", cpu) == expected, f"chance {number}: CPU {cpu}", cpu_row(found, "cycles", cpu), expected)


def test_sums():
    """With reads that are missing here and there, all that is charged is still what the counter rose."""
    rand = random.Random(16)
    for number in range(12):
        events, _, ends = machine(rand, False)
        found = window(made(f"sums{number}", events))
        for cpu, (first, last) in ends.items():
            got = cpu_row(found, "cycles", cpu)
            tap.ok(got["counted"] == last - first == sum(got[by] for by in ("tasks", "idle", "interrupts", "unknown")),
                   f"sum {number} of CPU {cpu} is what it rose", got, first, last)
        total = sum(cpu_row(found, "cycles", cpu)["tasks"] for cpu in (0, 1))
        tap.ok(sum(tasks_of(found, "cycles").values()) == total, f"sum {number}: tasks add up", found["tables"])


# --- by hand ----------------------------------------------------------------------------------------------------


def test_shared():
    """11 for 300 ns and 12 for 700 ns between two reads of which 1001 was counted: 300.3 and the rest."""
    events = [switch(1000, 0, 9, 11, {CYCLES: 5000}), switch(1300, 0, 11, 12), switch(2000, 0, 12, 0, {CYCLES: 6001}),
              switch(2500, 0, 0, 11, {CYCLES: 6003})]
    found = window(made("shared", events))
    tap.ok(tasks_of(found, "cycles") == {11: 300, 12: 701}, "tasks between two reads share by their time", found["tables"])
    tap.ok(cpu_row(found, "cycles") == row(1003, 1001, 2, shared=1001), "what is shared is said", cpu_row(found, "cycles"))
    tap.ok(any("several tasks" in note for note in found["notes"]), "and noted", found["notes"])


def test_interrupts():
    """Interrupts that were read count for themselves, others for whom they interrupt."""
    events = [switch(1000, 0, 9, 11, {CYCLES: 100}), irq(1100, 0, True, {CYCLES: 200}), irq(1150, 0, False, {CYCLES: 270}),
              switch(1300, 0, 11, 12, {CYCLES: 400}), irq(1400, 0, True), irq(1500, 0, False), switch(1600, 0, 12, 11, {CYCLES: 900})]
    found = window(made("interrupts", events))
    tap.ok(tasks_of(found, "cycles") == {11: 230, 12: 500}, "interrupts that were read", found["tables"])
    tap.ok(cpu_row(found, "cycles") == row(800, 730, interrupts=70), "interrupts by CPU", cpu_row(found, "cycles"))
    # the end of one was not read: it lasts 50 of 150 ns, 90 were counted
    events = [irq(1100, 0, True, {CYCLES: 200}), irq(1150, 0, False), switch(1250, 0, 11, 12, {CYCLES: 290}),
              switch(1300, 0, 12, 11, {CYCLES: 300})]
    found = window(made("half", [switch(1000, 0, 9, 11, {CYCLES: 100}), *events]))
    tap.ok(cpu_row(found, "cycles") == row(200, 170, interrupts=30, shared=90), "an interrupt whose end was not read", cpu_row(found, "cycles"))


def test_anew():
    """A counter that is less than before was opened anew; one that was beyond 2^63 has wrapped."""
    values = [500, 700, 100, 150]
    found = window(made("anew", [switch(1000 + 100 * i, 0, 11 + i % 2, 12 - i % 2, {CYCLES: v}) for i, v in enumerate(values)]))
    tap.ok(cpu_row(found, "cycles") == row(250, 250), "what was counted before and after", cpu_row(found, "cycles"))
    tap.ok(any("opened anew" in note for note in found["notes"]), "a counter that starts anew is noted", found["notes"])
    values = [2**63 - 50, 7]  # 64 bits, signed in this trace
    found = window(made("most", [switch(1000 + 100 * i, 0, 11 + i % 2, 12 - i % 2, {CYCLES: v}) for i, v in enumerate(values)]))
    tap.ok(cpu_row(found, "cycles") == row(0), "2^63 - 50 is not beyond 2^63", cpu_row(found, "cycles"))
    values = [-50, 7]  # the same bits as 2^64 - 50
    found = window(made("wrap", [switch(1000 + 100 * i, 0, 11 + i % 2, 12 - i % 2, {CYCLES: v}) for i, v in enumerate(values)]))
    tap.ok(cpu_row(found, "cycles") == row(57, 57), "a counter that wraps", cpu_row(found, "cycles"))


def test_turns():
    """4 of 10 ns counted: 40 are 100. Of a time in which nothing was counted nothing is known."""
    def at(t, before, after, value, enabled, running):
        return switch(t, 0, before, after, {"time_enabled": enabled, "time_running": running, CYCLES: value})
    found = window(made("turns", [at(1000, 9, 11, 0, 0, 0), at(1010, 11, 12, 40, 10, 4), at(1020, 12, 11, 40, 20, 4), at(1030, 11, 12, 90, 30, 14)]))
    tap.ok(tasks_of(found, "cycles") == {11: 150}, "counters that took turns are scaled", found["tables"])
    got = cpu_row(found, "cycles")
    tap.ok((got["counted"], got["tasks"], got["unknown"]) == (90, 150, 0), "what was counted stays", got)
    notes = " ".join(found["notes"])
    tap.ok("took turns" in notes and "1 read is of a time in which the counter did not count" in notes, "turns are noted", notes)
    text = subprocess.run([lull, "counters", os.path.join(scratch.name, "turns")], capture_output=True, text=True, check=True, timeout=100,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    tap.ok("≈CYCLES" in text, "and marked", text)


def test_lost():
    """A tracer drops events when a packet is full: those at the end of the second of three, between 700 and 900."""
    values = [100, 500, 600, 700, 900, 1000]
    write = jsonl_to_ctf.write_stream

    def write_packets(path, cpu, records, *_):
        with open(path, "wb") as stream:
            stream.write(b"".join(jsonl_to_ctf.packet(cpu, records[i:i + 2], lost) for i, lost in ((0, 0), (2, 5), (4, 5))))
    jsonl_to_ctf.write_stream = write_packets
    try:
        path = made("lost", [switch(1000 + 100 * i, 0, 11 + i % 2, 12 - i % 2, {CYCLES: v}) for i, v in enumerate(values)])
    finally:
        jsonl_to_ctf.write_stream = write
    found = window(path)
    tap.ok(cpu_row(found, "cycles") == row(900, 700, unknown=200), "what was counted while events were lost", cpu_row(found, "cycles"))

    def at(t, before, after, value, lost):
        return switch(t, 0, before, after, {"lost_samples": lost, CYCLES: value})
    found = window(made("lost reads", [at(1000, 9, 11, 0, 3), at(1100, 11, 12, 10, 3), at(1200, 12, 11, 30, 4), at(1300, 11, 9, 70, 4)]))
    tap.ok(cpu_row(found, "cycles") == row(70, 50, unknown=20), "reads that were lost", cpu_row(found, "cycles"))


def test_threads():
    """Counters of threads are theirs, on whichever CPU they are read."""
    def at(t, cpu, tid, value):
        return event(t, "app:work", cpu, {"n": 1}, {"vtid": tid, "perf_thread_cpu_clock": value, "perf_thread_instructions": 2 * value})
    found = window(made("threads", [at(1000, 0, 31, 100), at(1010, 1, 32, 5), at(1020, 1, 31, 150), at(1030, 0, 32, 6), at(1040, 1, 31, 151)],
                        user=True))
    tap.ok(tasks_of(found, "thread_cpu_clock_ns") == {31: 51, 32: 1} and tasks_of(found, "thread_instructions") == {31: 102, 32: 2},
           "counters of threads", found["tables"])


def test_ipc():
    both = [{CYCLES: c, "perf_cpu_instructions": i} for c, i in ((0, 0), (100, 250), (100, 250), (300, 260))]
    found = window(made("ipc", [switch(1000 + 100 * n, 0, *pair, values) for n, (pair, values) in
                                enumerate(zip(((9, 11), (11, 12), (12, 13), (13, 9)), both))]))
    tap.ok(tasks_of(found, "ipc") == {11: 2.5, 13: 0.05}, "instructions per cycle", found["tables"])


def test_choices():
    """Windows, CPUs and tasks: what was read in a window counts there, cut where it starts."""
    events = [switch(1000, 0, 9, 11, {FAULTS: 0}), switch(2000, 0, 11, 12, {FAULTS: 100}), switch(3000, 0, 12, 9, {FAULTS: 101}),
              switch(1000, 1, 9, 13, {FAULTS: 0}), switch(4000, 1, 13, 9, {FAULTS: 7})]
    path = made("choices", events)
    tap.ok(tasks_of(window("--tid", "12", path), "page_faults") == {12: 1}, "one task")
    tap.ok(tasks_of(window("--cpu", "1", path), "page_faults") == {13: 7}, "one CPU")
    found = window("--begin", "+500ns", path)
    tap.ok(tasks_of(found, "page_faults") == {11: 50, 12: 1, 13: 5}, "half of what was read at its start", found["tables"])


def critpath(*arguments):
    done = subprocess.run([lull, "critpath", *arguments], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done, json.loads(done.stdout) if "--json" in arguments and done.stdout else {}


def test_path():
    """11 runs, waits for 12, which wakes it after 900 of its 1000 ns, and runs again: 100, 300 x 0.9, 50 cycles."""
    both = "perf_cpu_instructions"
    events = [switch(1000, 0, 9, 11, {CYCLES: 0, both: 0}), switch(2000, 0, 11, 12, {CYCLES: 100, both: 50}, state=1),
              event(2900, "sched_waking", 0, {"comm": "t11", "tid": 11, "prio": 20, "target_cpu": 0}),
              switch(3000, 0, 12, 11, {CYCLES: 400, both: 650}), switch(4000, 0, 11, 9, {CYCLES: 450, both: 750}, state=1)]
    path = made("path", events)
    done, found = critpath("--counters", "--json", "--tid", "11", "--end", "+3us", path)
    segments = [(s["tid"], s["state"], s.get("counters")) for s in found["segments"]]
    first, wait, last = ({"cycles": c, "instructions": i} for c, i in ((100, 50), (270, 540), (50, 100)))
    tap.ok(segments == [(11, "running", first), (12, "running", wait), (11, "preempted", None), (11, "running", last)],
           "counters of each step of a path", segments, done.stderr)
    tap.ok({s["tid"]: s.get("counters") for s in found["summary"]["by_task"]} == {11: {"cycles": 150, "instructions": 150}, 12: wait},
           "and of its tasks", found["summary"]["by_task"])
    tap.ok([s["counters"] for s in found["summary"]["by_state"] if "counters" in s] == [{"cycles": 420, "instructions": 690}],
           "and of what runs", found["summary"]["by_state"])
    tap.ok("a part by time" in done.stderr and "not known" not in done.stderr, "that a part is one by time is said", done.stderr)
    text = critpath("--counters", "--tid", "11", "--end", "+3us", path)[0].stdout
    tap.ok("CYCLES" in text and [line.split()[-3:] for line in text.split("Counted on the path")[-1].splitlines()[2:4]] ==
           [["150", "150", "1.00"], ["270", "540", "2.00"]], "the table of tasks, with instructions per cycle", text)
    plain = critpath("--json", "--tid", "11", "--end", "+3us", path)[1]
    tap.ok(not any("counters" in s for s in plain["segments"]), "without --counters there are none")
    done = critpath("--counters", "--tid", "11", os.path.join(scratch.name, "path"), "--each")[0]
    tap.ok(done.returncode == 2 and "one path" in done.stderr, "--counters is about one path", done.stderr)


def test_path_unknown():
    """What was counted of 11 is known from the second switch on only: of 1000 of its 2000 ns."""
    events = [switch(1000, 0, 9, 11), switch(2000, 0, 11, 9), switch(2500, 0, 9, 11, {CYCLES: 7}), switch(3500, 0, 11, 9, {CYCLES: 9}),
              event(3600, "sched_waking", 0, {"comm": "t11", "tid": 11, "prio": 20, "target_cpu": 0})]
    done, found = critpath("--counters", "--json", "--tid", "11", made("path unknown", events))
    tap.ok("in 1.000 us of the time" in done.stderr.replace("1 us", "1.000 us") and found["summary"]["by_task"][0]["counters"] == {"cycles": 2},
           "what is not known of a path is said", done.stderr, found["summary"]["by_task"])


def test_none():
    found = window(made("none", [switch(1000, 0, 9, 11), switch(2000, 0, 11, 12)]))
    tap.ok("no counter was recorded" in " ".join(found["notes"]), "a trace without counters", found)


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            tap.run(name, test)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
