#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull calls --weight and lull flame --weight: programs of chance (scene.py) whose counters are known at every nanosecond; a clock of
# the CPU, which must count what the switches show; and small scenes that were reckoned by hand.
import json
import os
import random
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import scene  # noqa: E402
from scene import call, switch, syscall, wake  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
USER = {"domain": "ust", "tracer_name": "lttng-ust"}
NAMES = os.path.join(scratch.name, "names.txt")
with open(NAMES, "w", encoding="utf-8") as listing:
    listing.writelines(f"{scene.ADDRESS + 16 * i:016x} T f{i}\n" for i in range(64))


def run(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})


def window(*arguments):
    done = run("calls", "--json", "--limit", "0", "--symbols", NAMES, *arguments)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["windows"][0]


def column(found, key):
    return {row["function"]: row[key] for row in found["tables"]["functions"]}


def sums(found, counter):
    row = next(row for row in found["tables"]["counters"] if row["counter"] == counter)
    return {key: row[key] for key in ("counted", "in_calls", "not_in_calls", "idle", "interrupts", "unknown")}


def folded(*arguments):
    lines = run("flame", "--symbols", NAMES, *arguments).stdout.splitlines()
    return {tuple(line.rsplit(" ", 1)[0].split(";")[1:]): int(line.rsplit(" ", 1)[1]) for line in lines}


def write(name, user, kernel=()):
    path = os.path.join(scratch.name, name)
    os.makedirs(path)
    jsonl_to_ctf.write_trace(sorted(user, key=lambda one: one["t"]), os.path.join(path, "user"), USER)
    if kernel:
        jsonl_to_ctf.write_trace(sorted(kernel, key=lambda one: one["t"]), os.path.join(path, "kernel"))
    return path


# --- by chance: counters of threads, read with every event -----------------------------------------------------------


def rate(path):
    """What a thread counts in a nanosecond, in this call."""
    return (len(path) * 7 + int(path[-1][1:]) * 3) % 5 if path else 2


def stack_at(program, time):
    """The calls that last from `time` on, as the tree of calls has them."""
    path, level = (), program.calls
    while True:
        inner = [one for one in level if one.start <= time < one.end]
        if not inner:
            return path
        path, level = (*path, inner[0].name), inner[0].children


def count(program):
    """{path: what was counted}, and the values at the program's events."""
    times = sorted({time for time, *_ in program.events})
    value, values, truth = random.Random(program.tid).randrange(2**40), {times[0]: 0}, {}
    values[times[0]] = value
    for start, end in zip(times, times[1:]):
        path = stack_at(program, start)
        truth[path] = truth.get(path, 0) + rate(path) * (end - start)
        value += rate(path) * (end - start)
        values[end] = value
    return truth, values


def check_chance():
    wrong, n_stacks = [], 0
    for seed in range(12):
        programs = [scene.Program(100 * seed + tid, tid).run() for tid in (101, 102)]
        end = max(program.time for program in programs)
        events, paths, rose = [], {}, 0
        for program in programs:
            program.close(end)
            truth, values = count(program)
            rose += max(values.values()) - min(values.values())
            for path, n in truth.items():
                paths[path] = paths.get(path, 0) + n
            for one in scene.events([program]):
                one["sec"]["perf_thread_cycles"] = values[one["t"]]
                one["sec"]["perf_thread_faults"] = 3 * values[one["t"]]
                events.append(one)
        path = write(f"chance{seed}", events)
        found = window("--weight", "cycles", path)
        own = {name: sum(n for where, n in paths.items() if where and where[-1] == name) for name in {where[-1] for where in paths if where}}
        total = {name: sum(n for where, n in paths.items() if name in where) for name in own}
        in_calls = sum(n for where, n in paths.items() if where)
        shown = column(found, "self_thread_cycles")
        got = ({name: n for name, n in shown.items() if n}, {name: n for name, n in column(found, "total_thread_cycles").items() if n},
               {name: n for name, n in column(found, "self_thread_faults").items() if n}, sums(found, "thread-cycles"))
        expected = ({name: n for name, n in own.items() if n}, {name: n for name, n in total.items() if n},
                    {name: 3 * n for name, n in own.items() if n},
                    {"counted": rose, "in_calls": in_calls, "not_in_calls": rose - in_calls, "idle": 0, "interrupts": 0, "unknown": 0})
        if got != expected or list(shown.values()) != sorted(shown.values(), reverse=True):
            wrong.append((seed, got, expected))
        stacks = folded("--weight", "thread-cycles", path)
        expected = {}
        for where, n in paths.items():
            if where and n:
                expected[where] = expected.get(where, 0) + n
        tasks = {}
        for line in run("flame", "--symbols", NAMES, "--weight", "cycles", path).stdout.splitlines():
            where, n = line.rsplit(" ", 1)
            tasks[tuple(where.split(";")[1:])] = tasks.get(tuple(where.split(";")[1:]), 0) + int(n)
        if tasks != expected or not set(stacks) <= set(expected):
            wrong.append((seed, "flame", sorted(set(tasks.items()) ^ set(expected.items()))[:4]))
        n_stacks += len(expected)
    tap.ok(not wrong and n_stacks > 200, "counters of threads: each function, each stack, and the rest", n_stacks, *wrong[:1])


# --- by chance: counters of CPUs, read at switches --------------------------------------------------------------------


def machine(seed, reads_all):
    """Two threads that call functions on two CPUs where others run, too: (user, kernel, {cpu: (first, last) read})."""
    chance = random.Random(seed)
    programs = [scene.Program(100 * seed + tid, tid, budget=150).run() for tid in (101, 102)]
    user, kernel, ends = [], [], {}
    for cpu, program in enumerate(programs):
        program.close(program.time)
        moved = {}
        now, before, running, reads = 900, 0, 0, []

        def turn(time, following, state=0, cpu=cpu, reads=reads, kernel=kernel):
            nonlocal running
            one = switch(time, running, following, state, cpu)
            if reads_all or chance.random() < 0.6:
                one["sec"] = {"perf_cpu_task_clock": time}
                reads.append(time)
            kernel.append(one)
            running = following
        turn(now, program.tid)
        for time in sorted({time for time, *_ in program.events}):
            now += time - before
            before = time
            moved[time] = now
            if chance.random() < 0.3:
                is_wait, now = chance.random() < 0.5, now + 3
                turn(now, chance.choice([0, 9]), 1 if is_wait else 0)
                now += chance.randint(5, 500)
                if is_wait:
                    kernel.append(wake(now, program.tid, cpu))
                    now += 2
                turn(now, program.tid)
                now += 4
        turn(now + 10, 0, 1)
        ends[cpu] = (reads[0], reads[-1]) if reads else None
        for one in scene.events([program]):
            one["t"], one["pc"]["cpu_id"] = moved[one["t"]], cpu
            user.append(one)
    return user, kernel, ends


def check_clock():
    """A clock counts the time on a CPU: in each function what the switches say, to the nanosecond."""
    wrong, n = [], 0
    for seed in range(10):
        user, kernel, ends = machine(seed, True)
        found = window("--weight", "task-clock", write(f"clock{seed}", user, kernel))
        own, on_cpu = column(found, "self_task_clock_ns"), column(found, "self_cpu_ns")
        got = sums(found, "task-clock")
        n += len(own)
        rose = sum(last - first for first, last in ends.values())
        # What the last call of a thread, which the end of the trace ends, has after the last switch is nobody's: it sleeps.
        if own != on_cpu or got["counted"] != rose or sum(own.values()) != got["in_calls"]:
            wrong.append((seed, {name: (own[name], on_cpu[name]) for name in own if own[name] != on_cpu[name]}, got, rose))
    tap.ok(not wrong and n > 50, "a clock of the CPU counts in each function what it ran", *wrong[:1])


def check_sums():
    """Reads that are missing here and there: all that is charged is still what the counters rose."""
    wrong = []
    for seed in range(20, 32):
        user, kernel, ends = machine(seed, False)
        found = window("--weight", "task-clock", write(f"sums{seed}", user, kernel))
        got = sums(found, "task-clock")
        rose = sum(last - first for first, last in ends.values())
        own = sum(column(found, "self_task_clock_ns").values())
        if rose != got["counted"] or got["in_calls"] != own or rose != sum(got.values()) - rose or own == 0:
            wrong.append((seed, got, rose, own))
    tap.ok(not wrong, "with reads that are missing, the sum is what it rose", *wrong[:1])


def check_many():
    """So many calls between two reads that they are kept as sums: a clock of one CPU, two functions in turns."""
    user = [call(2000, "entry", "f0")]
    for i in range(12000):
        user += [call(3000 + 10 * i, "entry", f"f{1 + i % 2}"), call(3003 + 10 * i + i % 2, "exit", f"f{1 + i % 2}")]
    user.append(call(123005, "exit", "f0"))
    kernel = [switch(1000, 9, 100), switch(200000, 100, 9)]
    for one in kernel:
        one["sec"] = {"perf_cpu_cycles": one["t"] * 5}
    found = window("--weight", "cycles", write("many", user, kernel))
    expected = {"f0": 5 * (121005 - 6000 * 7), "f1": 5 * 3 * 6000, "f2": 5 * 4 * 6000}
    tap.ok(column(found, "self_cycles") == expected, "12,000 calls between two reads", column(found, "self_cycles"), expected)
    tap.ok(sums(found, "cycles") == {"counted": 995000, "in_calls": 605025, "not_in_calls": 389975, "idle": 0, "interrupts": 0, "unknown": 0},
           "and what was outside of them", sums(found, "cycles"))


# --- by hand ----------------------------------------------------------------------------------------------------------


def counted(events, values):
    for one, value in zip(events, values, strict=True):
        if value is not None:
            one["sec"]["perf_thread_page_faults"] = value
    return events


def check_hand():
    events = counted([call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(3000, "exit", "f1"), call(4000, "entry", "f1"),
                      call(4500, "entry", "f1"), call(5000, "exit", "f1"), call(6000, "exit", "f1"), call(7000, "exit", "f0"),
                      call(9000, "entry", "f2"), call(9500, "exit", "f2")],
                     [10, 13, 20, 21, 25, 65, 66, 66, 68, 168])
    path = write("hand", events)
    found = window("--weight", "thread-page-faults", path)
    tap.ok(column(found, "self_thread_page_faults") == {"f2": 100, "f1": 7 + 4 + 40 + 1, "f0": 3 + 1}
           and column(found, "total_thread_page_faults") == {"f2": 100, "f1": 52, "f0": 56}, "own, and with what it called", found["tables"])
    tap.ok(sums(found, "thread-page-faults") == {"counted": 158, "in_calls": 156, "not_in_calls": 2, "idle": 0, "interrupts": 0, "unknown": 0},
           "the rest", found["tables"]["counters"])
    tap.ok(not any("several calls" in note for note in found["notes"]), "nothing is shared", found["notes"])
    near = window("--weight", "page-faults", "--callers", "f1", path)["tables"]["callers"]
    tap.ok([(row["function"], row["total_thread_page_faults"]) for row in near] == [("f0", 52), ("f1", 0)], "who called it", near)
    near = window("--weight", "page-faults", "--callees", "f0", path)["tables"]["callees"]
    tap.ok([(row["function"], row["total_thread_page_faults"]) for row in near] == [("f1", 52)], "what it called", near)
    # From 1500 on: half of the first 3; until 4700, after which nothing is read.
    found = window("--weight", "page-faults", "--begin", "0.0000015", "--end", "0.0000047", path)
    tap.ok(column(found, "self_thread_page_faults") == {"f1": 7 + 4, "f0": 1 + 2}, "part of the time", found["tables"])
    text = run("calls", "--weight", "page-faults", "--symbols", NAMES, path).stdout
    tap.ok("THREAD-PAGE-FAULTS  OWN" in text and max(map(len, text.splitlines()[1:])) <= 80, "as text", text)
    flame = json.loads(run("flame", "--json", "--weight", "page-faults", "--symbols", NAMES, path).stdout)
    tap.ok(flame["unit"] == "thread-page-faults" and flame["nodes"][0]["total"] == 156, "lull flame", flame["unit"])


def check_shared():
    """Reads that are missing: 100 between 1000 and 5000, of which f0 was the innermost for 1000 ns, f1 for 2000, and no call for 1000."""
    events = counted([call(500, "entry", "f9"), call(1000, "exit", "f9"), call(2000, "entry", "f0"), call(3000, "entry", "f1"),
                      call(5000, "exit", "f1"), call(6000, "exit", "f0")], [None, 0, None, None, 100, 101])
    found = window("--weight", "page-faults", write("shared", events))
    tap.ok(column(found, "self_thread_page_faults") == {"f1": 50, "f0": 26, "f9": 0}, "calls between two reads share by their time", found["tables"])
    text = run("calls", "--weight", "page-faults", os.path.join(scratch.name, "shared")).stdout
    tap.ok(any("several calls" in note for note in found["notes"]) and "≈THREAD-PAGE-FAULTS  ≈OWN" in text, "and that is noted, and marked", found["notes"], text)


def check_own_system_calls():
    """What a thread counts between two of its calls, while it makes system calls, is its call's: nobody knows how much rose in the
    kernel."""
    user = counted([call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(6000, "exit", "f1"), call(8000, "exit", "f0")],
                   [10, 13, 113, 120])
    kernel = [switch(500, 9, 100)]
    for start in (1100, 3000, 7000):
        kernel += [syscall(start, "entry", "read"), syscall(start + 500, "exit", "read")]
    kernel.append(switch(9000, 100, 9))
    found = window("--weight", "thread-page-faults", write("own-system-calls", user, kernel))
    tap.ok({name: n for name, n in column(found, "self_thread_page_faults").items() if n} == {"f1": 100, "f0": 3 + 7}
           and column(found, "calls").get("[read]") == 3 and not any("several calls" in note for note in found["notes"]),
           "a call and the system calls that it makes share nothing", found["tables"]["functions"], found["notes"])


def check_cpu():
    """f1 waits for 2000 of its 6000 ns, f0 runs for 5000: by time on a CPU f0 comes first."""
    user = [call(1000, "entry", "f1"), call(7000, "exit", "f1"), call(7500, "entry", "f0"), call(12500, "exit", "f0")]
    kernel = [switch(500, 9, 100), switch(2000, 100, 9), wake(4000, 100), switch(4000, 9, 100, 0), switch(13000, 100, 9)]
    path = write("cpu", user, kernel)
    order = [list(column(window(*more, path), "self_ns")) for more in ((), ("--weight", "wall"), ("--weight", "cpu"))]
    tap.ok(order == [["f1", "f0"], ["f1", "f0"], ["f0", "f1"]], "--weight wall and cpu", order)
    tap.ok(folded("--weight", "cpu", path) == {("f1",): 4000, ("f0",): 5000}, "lull flame --weight cpu", folded("--weight", "cpu", path))


def check_refused():
    path = write("refused", counted([call(1000, "entry", "f0"), call(2000, "exit", "f0")], [1, 2]))
    for verb, arguments, status, said in (("calls", ("--weight", "cycles"), 1, "no counter “cycles” was recorded; there are thread-page-faults"),
                                          ("flame", ("--weight", "cycles"), 1, "no counter “cycles” was recorded"),
                                          ("flame", ("--weight", "cpu", "--off-cpu"), 2, "--weight is about calls"),
                                          ("calls", ("--weight", "cpu", "--at", "+1us"), 2, "leave out --weight")):
        done = run(verb, *arguments, path)
        tap.ok(done.returncode == status and said in done.stderr, " ".join((verb, *arguments)), done.returncode, done.stderr)


def main():
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            tap.run(name, check)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
