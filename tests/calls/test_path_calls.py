#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull critpath --calls: a thread that chance let call and sleep, against what that was at every nanosecond; a path that goes
# through two threads, reckoned by hand; many paths at once; and what there is without calls.
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
READ = "read : $evt.$name == \"syscall_entry_read\" : $evt.$name == \"syscall_exit_read\" && $evt.$tid == $begin.$evt.$tid"
USER = {"domain": "ust", "tracer_name": "lttng-ust"}


def run(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL)


def trace(name, kernel, user=(), lost=0):
    for folder, events, more in (("kernel", kernel, {}), ("user", user, {"environment": USER, "lost": lost})):
        if events:
            os.makedirs(os.path.join(scratch.name, name), exist_ok=True)
            events = sorted(events, key=lambda one: one["t"])
            jsonl_to_ctf.write_trace(events, os.path.join(scratch.name, name, folder), **more)
    return os.path.join(scratch.name, name)


def path_of(*arguments):
    done = run("critpath", "--json", *arguments)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def named(name):
    """f3 for its address, since nothing says which program it is of."""
    return f"f{(int(name, 16) - scene.ADDRESS) // 16}" if name.startswith("0x") else name


def stack_of(calls, node):
    names = []
    while node is not None:
        names.insert(0, named(calls["nodes"][node]["function"]))
        node = calls["nodes"][node]["parent"]
    return tuple(names)


def moments(path):
    """{ns: (tid, state, stack)}; a moment twice is None."""
    found = {}
    for segment in path["segments"]:
        for t in range(segment["begin_ns"], segment["end_ns"]):
            found[t] = (segment["tid"], segment["state"], ())
    for part in path["calls"]["parts"]:
        for t in range(part["begin_ns"], part["end_ns"]):
            tid, state, stack = found[t]
            found[t] = (tid, state, stack_of(path["calls"], part["node"])) if not stack else None
    return found


def check_random():
    """The thread sleeps wherever two of its events leave room for that."""
    wrong, n = [], 0
    for seed in range(12):
        chance, program = random.Random(seed), scene.Program(seed, 101)
        program.chance.random = lambda random=program.chance.random: max(random(), 0.101)  # no longjmp
        program.run()
        end = program.time + 10
        program.close(end)
        times = [one[0] for one in program.events]
        kernel, state = [switch(500, 7, 101), switch(end, 101, 7)], dict.fromkeys(range(500, end), "running")
        for before, after in zip(times, times[1:]):
            if after - before > 10 and chance.random() < 0.5:
                off, on = sorted(chance.sample(range(before + 1, after), 2))
                is_asleep = chance.random() < 0.7
                kernel += [switch(off, 101, 7, 1 if is_asleep else 0), switch(on, 7, 101, 0)]
                is_woken = is_asleep and on > off + 1
                kernel += [wake((off + on) // 2, 101)] if is_woken else []
                for t in range(off, on):  # 7 has the CPU, and so it is 7 who wakes it: it waits for what 7 does until then
                    state[t] = "other" if is_woken and t < (off + on) // 2 else "off"
        expected = {t: [state[t], ()] for t in state}
        for root in program.calls:
            for one, names in root.walk():  # callers before those they call
                for t in range(one.start, min(one.end, end)):
                    expected[t][1] = names
        path = path_of("--calls", "--tid", "101", trace(f"random{seed}", kernel, scene.events([program])))
        shown = moments(path)
        if sorted(shown) != sorted(expected):
            wrong.append((seed, "times", min(shown), max(shown), min(expected), max(expected)))
        for t, (at, names) in expected.items():
            seen = shown.get(t)
            who = (7, True, ()) if at == "other" else (101, at == "running", names)
            if not seen or (seen[0], seen[1] == "running", seen[2]) != who:
                wrong.append((seed, t, seen, at, names))
        sums = {}
        for _, where, stack in shown.values():
            key = stack[-1] if stack else None, where
            sums[key] = sums.get(key, 0) + 1
        told = {}
        for row in path["summary"]["by_function"]:
            key = named(row["function"]) if row["function"] else None, row["state"]
            told[key] = told.get(key, 0) + row["duration_ns"]
        if told != sums:
            wrong.append((seed, told, sums))
        folded = [line.rpartition(" ") for line in run("critpath", "--folded", "--calls", "--tid", "101",
                                                       os.path.join(scratch.name, f"random{seed}")).stdout.splitlines()]
        by_stack = {}
        for line, _, ns in folded:
            frames = tuple(named(frame) for frame in line.split(";")[2:-1])
            by_stack[frames] = by_stack.get(frames, 0) + int(ns)
        counted = {}
        for _, _, stack in shown.values():
            counted[stack] = counted.get(stack, 0) + 1
        if by_stack != counted:
            wrong.append((seed, by_stack, counted))
        n += len(path["calls"]["parts"])
    tap.ok(not wrong and n > 500, "a thread of chance: where it was at every nanosecond, in all forms", n, *wrong[:3])


def two_threads(name):
    """100 waits in f1 for 200, which is in f3 and wakes it from there. 300 calls as well, and is on no path."""
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(8000, "exit", "f1"), call(9000, "exit", "f0"),
            call(1500, "entry", "f2", 200, 1, 200), call(4000, "entry", "f3", 200, 1, 200), call(7000, "exit", "f3", 200, 1, 200),
            call(7200, "exit", "f2", 200, 1, 200), call(1500, "entry", "f9", 300, 2, 300), call(9000, "exit", "f9", 300, 2, 300)]
    kernel = [switch(500, 7, 100), switch(600, 0, 200, 0, 1), switch(700, 0, 300, 0, 2), syscall(2500, "entry", "read"),
              switch(3000, 100, 7), wake(6000, 100, 1), switch(6500, 7, 100, 0), syscall(7500, "exit", "read"),
              switch(9300, 200, 0, 1, 1), switch(9400, 300, 0, 1, 2), switch(9500, 100, 7)]
    return trace(name, kernel, user)


def check_two_threads():
    folder = two_threads("two")
    path = path_of("--calls", "--tid", "100", folder)
    told = {(named(row["function"]) if row["function"] else None, row["state"]): row["duration_ns"] for row in path["summary"]["by_function"]}
    # f1 runs from 2000 to 3000 and from 6500 to 8000, partly in read; from 3000 to 6000 the path is in 200: in f2, then in f3.
    expected = {("f1", "running"): 1000 + 1500, ("f2", "running"): 1000, ("f3", "running"): 2000, ("f1", "preempted"): 500,
                ("f0", "running"): 1000 + 1000, (None, "running"): 500 + 500}
    tap.ok(told == expected, "through two threads: the function in each", told, expected)
    read = [(part["begin_ns"], part["end_ns"]) for part in path["calls"]["parts"]
            if stack_of(path["calls"], part["node"]) == ("f0", "f1", "[read]")]
    tap.ok(read == [(2500, 3000), (6000, 6500), (6500, 7500)], "through two threads: the system call is above its function", read)
    text = run("critpath", "--calls", "--tid", "100", folder).stdout
    lines = text.splitlines()
    tap.ok("By function" in lines and any(line.split()[:2] == ["0x401010:", "running"] and "2.500 us" in line for line in lines)
           and any(line.strip().replace("←", "<-").endswith(" in 0x401030 <- 0x401020") for line in lines), "through two threads: as text", text)
    plain = path_of("--tid", "100", folder)
    tap.ok("calls" not in plain and "by_function" not in plain["summary"] and plain["segments"] == path["segments"],
           "without --calls: as ever", plain.get("calls"))


def check_many():
    folder = two_threads("many")
    each = path_of("--period", READ, "--each", "--calls", folder)["paths"]
    one = path_of("--tid", "100", "--begin", "1970-01-01T00:00:00.000002500Z", "--end", "1970-01-01T00:00:00.000007500Z", "--calls", folder)
    tap.ok(len(each) == 1 and each[0]["path"]["calls"] == one["calls"] and one["calls"]["parts"], "paths of instances", each, one["calls"])
    for arguments in ((), ("--aggregate",), ("--slowest", "1", "--folded")):
        done = run("critpath", "--period", READ, *arguments, "--calls", folder)
        tap.ok(done.returncode == 2 and "--calls is about single paths" in done.stderr, f"not with {arguments}", done.stderr)


def check_none():
    done = run("critpath", "--calls", "--tid", "100", trace("none", [switch(500, 7, 100), switch(9500, 100, 7)]))
    tap.ok(done.returncode == 0 and "no call of a function was recorded" in done.stderr and "in no recorded call: running" in done.stdout,
           "no calls: a note", done.returncode, done.stderr, done.stdout)


def check_losses():
    # As in test_calls.py: what came after the last event of CPU 0, at 3000, is not certain until f0 returns at 9000.
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(3000, "entry", "f2"), call(5000, "entry", "f4", cpu=1),
            call(6000, "exit", "f4", cpu=1), call(9000, "exit", "f0", cpu=1)]
    folder = trace("lost", [switch(500, 7, 100), switch(9500, 100, 7)], user, lost=3)
    done = run("critpath", "--calls", "--json", "--tid", "100", folder)
    uncertain = sum(part["end_ns"] - part["begin_ns"] for part in json.loads(done.stdout)["calls"]["parts"] if part["uncertain"])
    tap.ok(uncertain == 3000 and "it is not certain what was called" in done.stderr, "losses: marked, and a note", uncertain, done.stderr)


def scene_of_slow(folder):
    """40 calls of f0 by 101, of which four sleep in f3; {(function, state): [in slow ones, in others]} in all."""
    chance, t, user, kernel = random.Random(7), 2000, [], [switch(500, 7, 101)]
    sums, took = {}, []
    for number in range(40):
        is_slow, begin, spent = number % 10 == 3, t, []
        user.append(call(t, "entry", "f0", 101))
        for name, least in (("f1", 5000), ("f2", 8000)):  # f0 itself, then the function, in which f2 calls f3
            ns = [200, least + chance.randrange(500), 0, 0]
            user.append(call(t + ns[0], "entry", name, 101))
            spent += [("f0", "running", ns[0]), (name, "running", ns[1])]
            t += ns[0] + ns[1]
            if name == "f2":
                asleep, after = 40000 if is_slow else 3000, 300 + (2000 if is_slow else 0)
                user.append(call(t, "entry", "f3", 101))
                kernel += [syscall(t + 100, "entry", "read"), switch(t + 200, 101, 7), switch(t + 200 + asleep, 7, 101, 0),
                           syscall(t + 250 + asleep, "exit", "read")]
                spent += [("f3", "running", 200 + after), ("f3", "blocked", asleep)]
                t += 200 + asleep + after
                user.append(call(t, "exit", "f3", 101))
            user.append(call(t, "exit", name, 101))
        user.append(call(t, "exit", "f0", 101))
        took.append((t - begin, spent))
        t += 10000
    kernel.append(switch(t, 101, 7))
    slow = sorted(took, reverse=True)[:4]
    rest = sorted(took)[:36]
    for kind, group in enumerate((slow, rest)):
        for _, spent in group:
            for function, state, ns in spent:
                sums.setdefault((function, state), [0, 0])[kind] += ns
    return trace(folder, kernel, user), sums, slow, rest


def check_why():
    folder, sums, slow, rest = scene_of_slow("slow")
    f0 = f"$evt.addr == {scene.address('f0')}"
    period = (f"work : $evt.$name == \"lttng_ust_cyg_profile:func_entry\" && {f0} : $evt.$name == \"lttng_ust_cyg_profile:func_exit\""
              f" && {f0}")
    # The slowest tenth against all others.
    options = ("--period", period, "--slowest", "10%", "--typical", "0-100", "--calls", folder)
    done = run("why", "--json", *options)
    kind = json.loads(done.stdout)["kinds"][0]
    tap.ok([len(kind["slow"]), len(kind["typical"])] == [len(slow), len(rest)], "why: the slow ones", done.stderr, kind["verdict"])
    shown = {(named(row["function"]), row["state"]): (row["slow_ns"], row["typical_ns"]) for row in kind["functions"]}
    expected = {key: (ns[0] / len(slow), ns[1] / len(rest)) for key, ns in sums.items()}
    tap.ok(set(shown) == set(expected) and all(abs(a - b) <= 1 for key in shown for a, b in zip(shown[key], expected[key])),
           "why: the means by function are those of the scene", shown, expected)
    tap.ok(abs(sum(row["difference_ns"] for row in kind["functions"]) - kind["difference_ns"]) <= len(shown)
           and [named(row["function"]) for row in kind["functions"]][0] == "f3", "why: the differences sum up, and the largest is first", kind["functions"])
    text = run("why", *options).stdout
    tap.ok("By function, the slow ones spend most more:\n    37.00 us (" in text and "in 0x401030: blocked" in text, "why: as text", text)
    plain = json.loads(run("why", "--json", *[option for option in options if option != "--calls"]).stdout)["kinds"][0]
    tap.ok("functions" not in plain and plain == {key: value for key, value in kind.items() if key != "functions"}, "why without --calls: as ever")
    none = run("why", "--period", READ, "--slowest", "10%", "--typical", "0-100", "--calls", os.path.join(folder, "kernel"))
    tap.ok(none.returncode == 0 and "no call of a function was recorded" in none.stderr, "why: no calls: a note", none.stdout, none.stderr)


for check in (check_why, check_random, check_two_threads, check_many, check_none, check_losses):
    tap.run(check.__name__, check)
sys.exit(tap.done())
