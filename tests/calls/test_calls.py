#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull calls and lull calllog: against programs that chance made as trees of calls (scene.py), and small scenes that were reckoned
# by hand: waits, system calls, Python, losses, fork and exec, functions of the kernel.
import json
import os
import subprocess
import sys
import tarfile
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


def run(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL)


def user_trace(name, events, folder="", lost=0):
    path = os.path.join(scratch.name, name, folder).rstrip("/")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    jsonl_to_ctf.write_trace(sorted(events, key=lambda one: one["t"]), path, USER, lost=lost)
    return path


def both(name, events, kernel):
    """A trace of programs and one of the kernel."""
    user_trace(name, events, "user")
    jsonl_to_ctf.write_trace(sorted(kernel, key=lambda one: one["t"]), os.path.join(scratch.name, name, "kernel"))
    return os.path.join(scratch.name, name)


def window(verb, *arguments):
    done = run(verb, "--json", "--limit", "0", *arguments)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["windows"][0]


def functions(*arguments):
    found = window("calls", *arguments)["tables"]
    return {row["function"]: row for row in found.get("functions", [])}, {row["task"]["tid"]: row for row in found.get("tasks", [])}


def names_file():
    path = os.path.join(scratch.name, "names.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{scene.ADDRESS + 16 * i:016x} T f{i}\n" for i in range(64))
    return "--symbols", path


NAMES = names_file()


def made(seed):
    """Three threads, each with a life of its own, and the end of the trace."""
    programs = [scene.Program(1000 * seed + tid, tid).run() for tid in (101, 102, 103)]
    end = max(program.time for program in programs)
    return [program.close(end) for program in programs], end


def add_up(programs):
    sums = {}
    for program in programs:
        for name, (calls, total, own, low, high) in program.sums()[0].items():
            mine = sums.setdefault(name, [0, 0, 0, low, high])
            mine[:3] = mine[0] + calls, mine[1] + total, mine[2] + own
            mine[3:] = min(mine[3], low), max(mine[4], high)
    return sums


def check_random():
    wrong, n_calls, n_unwound = [], 0, 0
    for seed in range(40):
        programs, _ = made(seed)
        path = user_trace(f"random{seed}", scene.events(programs))
        found, tasks = functions("--log", *NAMES, path)
        shown = {name: [row["calls"], row["total_ns"], row["self_ns"], row["min_ns"], row["max_ns"]] for name, row in found.items()}
        expected = add_up(programs)
        if shown != expected:
            wrong.append((seed, shown, expected))
        threads = {program.tid: (program.unwound, program.orphans) for program in programs if program.events}
        if {tid: (row["unwound"], row["orphans"]) for tid, row in tasks.items()} != threads:
            wrong.append((seed, tasks, threads))
        log = sorted((row["task"]["tid"], row["time_range"]["begin_ns"], row["time_range"]["end_ns"], row["depth"], row["function"],
                      row["how"] or "") for row in window("calllog", *NAMES, path)["tables"].get("log", []))
        calls = sorted((program.tid, call.start, call.end, len(names) - 1, call.name, call.how)
                       for program in programs for root in program.calls for call, names in root.walk())
        if log != calls:
            wrong.append((seed, sorted(set(log) ^ set(calls))[:6]))
        n_calls += len(calls)
        n_unwound += sum(program.unwound for program in programs)
    tap.ok(not wrong and n_calls > 4000 and n_unwound > 100, "programs of chance: each call, and all sums", n_calls, n_unwound, *wrong[:2])


def check_fast():
    """Where every call returns, the short hooks say the same."""
    programs = []
    for tid in (101, 102):
        program = scene.Program(tid, tid)
        program.chance.random = lambda random=program.chance.random: max(random(), 0.101)  # no longjmp
        program.run()
        program.calls = [call for call in program.calls if not call.is_skipped]
        programs.append(program)
    found = scene.events(programs, is_fast=True)
    whole = run("calls", "--limit", "0", user_trace("fast", found)).stdout
    tap.ok("returns do not say from which function" in whole, "short hooks: a note", whole)
    full, short = user_trace("full", scene.events(programs)), user_trace("short", found)
    rows = [{name: (row["calls"], row["self_ns"]) for name, row in functions(path)[0].items()} for path in (full, short)]
    tap.ok(rows[0] and rows[0] == rows[1], "short hooks: the same sums", *rows)
    null = scene.event(2000, 0, "lttng_ust_cyg_profile:func_exit", 100, addr=0)
    path = user_trace("null", [call(1000, "entry", "f0"), null, call(9000, "exit", "f0")])
    found, tasks = functions(*NAMES, path)
    tap.ok("returns do not say" not in run("calls", path).stdout and found["f0"]["total_ns"] == 8000 and tasks[100]["orphans"] == 1,
           "a return from address 0 ends no other function, and is no short hook", found, tasks)


def check_waits():
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(9000, "exit", "f1"), call(10000, "exit", "f0")]
    kernel = [switch(500, 7, 100), syscall(3000, "entry", "read"), switch(4000, 100, 7), wake(6000, 100), switch(6500, 7, 100, 0),
              syscall(7000, "exit", "read"), switch(9200, 100, 7, 0), switch(9500, 7, 100, 0), switch(11000, 100, 7)]
    found, _ = functions(*NAMES, both("waits", user, kernel))
    shown = {name: (row["kind"], row["calls"], row["total_ns"], row["self_ns"], row["self_cpu_ns"], row["blocked_ns"]) for name, row in found.items()}
    # read lasts from 3000 to 7000: until 4000 it runs, until 6000 it sleeps, until 6500 it has no CPU. f0 has none from 9200 to 9500.
    expected = {"f0": ("native", 1, 9000, 2000, 1700, 2000), "f1": ("native", 1, 7000, 3000, 3000, 2000),
                "[read]": ("syscall", 1, 4000, 4000, 1500, 2000)}
    tap.ok(shown == expected, "waits and system calls: who was blocked, and where", shown)
    found, _ = functions("--begin", "0.000005", "--end", "0.0000092", *NAMES, os.path.join(scratch.name, "waits"))
    shown = {name: (row["total_ns"], row["self_ns"], row["blocked_ns"]) for name, row in found.items()}
    tap.ok(shown == {"f0": (4200, 200, 1000), "f1": (4000, 2000, 1000), "[read]": (2000, 2000, 1000)},
           "part of the time: its part of what started before", shown)


def check_stats():
    """lull stats says in which functions tasks waited longest: 3000 ns of f1 in two threads, 2000 of them for a timer in its system call."""
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(9000, "exit", "f1"), call(10000, "exit", "f0"),
            call(1100, "entry", "f1", 200, 1), call(9100, "exit", "f1", 200, 1)]
    kernel = [switch(500, 7, 100), syscall(3000, "entry", "read"), switch(4000, 100, 7), wake(6000, 100), switch(6500, 7, 100, 0),
              syscall(7000, "exit", "read"), switch(9200, 100, 7), wake(9500, 100), switch(9600, 7, 100, 0), switch(11000, 100, 7),
              switch(600, 8, 200, cpu=1), switch(2000, 200, 8, cpu=1), wake(3000, 200, 1), switch(3100, 8, 200, 0, cpu=1)]
    path = both("stats", user, kernel)
    windows = {one["analysis"]: one for one in json.loads(run("stats", "--json", path).stdout)["windows"]}
    rows = [(row["function"].rpartition("x")[2], row["total_ns"], row["tasks"], row["task"]["tid"]) for row in
            windows["hot-waits"]["tables"]["waits-by-function"]]
    tap.ok(rows == [("401010", 3000, 2, 100), ("401000", 300, 1, 100)], "stats: in which functions tasks waited", rows)
    off = [line.rsplit(" ", 1) for line in run("flame", "--off-cpu", path).stdout.splitlines()]
    tap.ok(sum(int(ns) for _, ns in off) == 3300, "stats: as lull flame --off-cpu", off)
    text = run("stats", path).stdout
    tap.ok("Longest waits by function" in text and "lull flame --off-cpu" in text and "waits by stack" not in text, "stats: as text", text)
    # Thread 100 waits 800 ns in f1 below f0 and 900 below f2; between the two, thread 200 waits 1000 at a time.
    user = [call(1000, "entry", "f0"), call(1100, "entry", "f1"), call(3000, "exit", "f1"), call(3100, "exit", "f0"),
            call(5000, "entry", "f2"), call(5100, "entry", "f1"), call(7000, "exit", "f1"), call(7100, "exit", "f2"),
            call(1000, "entry", "f1", 200, 1), call(9100, "exit", "f1", 200, 1)]
    kernel = [switch(500, 7, 100), switch(1200, 100, 7), wake(2000, 100), switch(2100, 7, 100, 0), switch(5200, 100, 7), wake(6100, 100),
              switch(6200, 7, 100, 0), switch(9500, 100, 7), switch(600, 8, 200, cpu=1), switch(3000, 200, 8, cpu=1), wake(4000, 200, 1),
              switch(4100, 8, 200, 0, cpu=1)]
    report = json.loads(run("stats", "--json", both("ways", user, kernel)).stdout)
    rows = [(row["function"].rpartition("x")[2], row["total_ns"], row["tasks"], row["task"]["tid"]) for one in report["windows"] if
            one["analysis"] == "hot-waits" for row in one["tables"]["waits-by-function"]]
    tap.ok(rows == [("401010", 2700, 2, 100)], "stats: who waited longest there, by all ways together", rows)
    for arguments in (("--refresh", "5us"), ("--min", "1us"), ("--cpu", "0")):
        tap.ok("waits by function" not in run("stats", *arguments, path).stdout, f"stats {' '.join(arguments)}: no sums of the whole")


def check_stats_stacks():
    """And by which stacks, where these were recorded: as lull waits --stacks and lull flame --off-cpu have them."""
    path = os.path.join(os.environ["LULL_SAMPLES"], "perf", "chains.data")
    tables = next(one["tables"] for one in json.loads(run("stats", "--json", "--limit", "0", path).stdout)["windows"] if one["analysis"] == "hot-waits")
    found = {(row["stack"], row["cause"]): row["total_ns"] for row in tables["waits-by-stack"]}
    expected = {}
    for row in window("waits", "--stacks", "--asleep", path)["tables"]["waits"]:
        if row["stack"] and row["state"] not in ("R", None):
            key = (row["stack"], "unknown" if row["cause"] == "not ended" else row["cause"])
            expected[key] = expected.get(key, 0) + row["total_ns"]
    tap.ok(len(found) == 5 and found == expected and list(found.values()) == sorted(found.values(), reverse=True),
           "stats: in which stacks tasks waited", found, expected)
    short = next(one["tables"] for one in json.loads(run("stats", "--json", "--limit", "3", path).stdout)["windows"] if one["analysis"] == "hot-waits")
    tap.ok(short["waits-by-stack"] == tables["waits-by-stack"][:3] and "waits-by-function" not in short, "stats: three of them")


def check_python():
    def python(time, what, **payload):
        return scene.event(time, 0, f"python:{what}", 100, **payload)
    events = [python(1000, "call", co_name="main"), call(2000, "entry", "f1"), python(3000, "call", co_name="inner"),
              python(3500, "c_call", co_name="len"), python(3600, "c_return"), python(4000, "return"), call(6000, "exit", "f1"),
              python(7000, "return"), python(8000, "return")]
    path = user_trace("python", events)
    found, tasks = functions(*NAMES, path)
    shown = {name: (row["kind"], row["total_ns"], row["self_ns"]) for name, row in found.items()}
    tap.ok(shown == {"main": ("python", 6000, 2000), "f1": ("native", 4000, 3000), "inner": ("python", 1000, 900), "len": ("python", 100, 100)}
           and tasks[100]["orphans"] == 1, "Python and its compiled functions are one stack", shown, tasks)


def check_numbered():
    """Of lull record --python: numbers mean what their thread said last; two threads have the same ones."""
    def python(time, tid, what, **payload):
        return {"t": time, "n": f"lull_python:{what}", "p": payload, "pc": {"cpu_id": 0}, "sec": {"vpid": 100, "vtid": tid}}

    def code(time, tid, number, name, file):
        return python(time, tid, "code", code=number, line=7, qualname=name, filename=file)
    events = [code(500, 100, 0, "Shop.sell", "/home/u/shop.py"), python(1000, 100, "call", code=0), code(1500, 100, 1, "loads", "/usr/lib/json/__init__.py"),
              python(2000, 100, "call", code=1), python(2500, 100, "c_call", code=3), python(2600, 100, "c_return"), python(3000, 100, "return"),
              code(3100, 100, 2, "time.sleep", ""), python(3200, 100, "c_call", code=2), python(3400, 100, "c_return"), python(4000, 100, "return"),
              code(5000, 200, 0, "main", "__main__.py"), python(5000, 200, "call", code=0), python(5010, 200, "return"),
              code(6000, 100, 0, "<module>", "/x/"), python(6100, 100, "call", code=0), python(6200, 100, "return")]
    found, tasks = functions(user_trace("numbered", events))
    shown = {name: (row["kind"], row["total_ns"], row["self_ns"]) for name, row in found.items()}
    expected = {"shop.py:Shop.sell": ("python", 3000, 1800), "json/__init__.py:loads": ("python", 1000, 900), "code 3": ("python", 100, 100),
                "time.sleep": ("python", 200, 200), "__main__.py:main": ("python", 10, 10), ":<module>": ("python", 100, 100)}
    tap.ok(shown == expected and not any(row["orphans"] + row["unwound"] for row in tasks.values()), "Python by numbers of code", shown, expected)


def check_recording():
    """What a recorder does in the middle of a function is one thing, whatever system calls that takes, and its waits are its own."""
    def own(time, what, tid=100):
        return scene.event(time, 0, f"lull_recording:{what}", tid)
    user = [call(1000, "entry", "f0"), own(2000, "start"), own(6000, "end"), call(8000, "exit", "f0"), own(8200, "start", 200)]
    kernel = [switch(500, 7, 100), syscall(2500, "entry", "pwrite64"), switch(3000, 100, 7), wake(4000, 100), switch(4200, 7, 100, 0),
              syscall(5000, "exit", "pwrite64"), syscall(5100, "entry", "munmap"), syscall(5200, "exit", "munmap"), syscall(7000, "entry", "read"),
              syscall(7100, "exit", "read"), switch(9000, 100, 7)]
    path = both("recording", user, kernel)
    found, tasks = functions("--tid", "100", *NAMES, path)
    shown = {name: (row["kind"], row["calls"], row["total_ns"], row["self_ns"], row["self_cpu_ns"], row["blocked_ns"]) for name, row in found.items()}
    tap.ok(shown == {"f0": ("native", 1, 7000, 2900, 2900, 1000), "[recording]": ("recording", 1, 4000, 4000, 2800, 1000), "[read]": ("syscall", 1, 100, 100, 100, 0)},
           "what the recording does in a function", shown)
    tasks = functions(*NAMES, path)[1]
    tap.ok([(tid, row["open"], row["orphans"]) for tid, row in sorted(tasks.items())] == [(100, 0, 0), (200, 0, 0)], "the end of a recording is no open call", tasks)


def fork(time, parent, child, cpu=0):
    return {"t": time, "n": "sched_process_fork", "pc": {"cpu_id": cpu},
            "p": {"parent_comm": "c", "parent_tid": parent, "parent_pid": parent, "child_comm": "c", "child_tid": child, "child_pid": child}}


def check_fork():
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(4000, "entry", "f2", 200, 1, 200), call(5000, "exit", "f2", 200, 1, 200),
            call(5500, "exit", "f1", 200, 1, 200), call(6000, "exit", "f1"), call(7000, "exit", "f0"), call(9000, "entry", "f3", 200, 1, 200),
            call(9500, "exit", "f3", 200, 1, 200)]
    kernel = [switch(500, 7, 100), fork(3000, 100, 200), switch(3500, 0, 200, 0, 1),
              {"t": 8000, "n": "sched_process_exec", "pc": {"cpu_id": 1}, "p": {"filename": "/bin/other", "tid": 200, "old_tid": 200}},
              switch(10000, 100, 7)]
    path = both("fork", user, kernel)
    log = [(row["task"]["tid"], row["function"], row["depth"], row["time_range"]["begin_ns"], row["time_range"]["end_ns"], row["how"] or "")
           for row in window("calllog", *NAMES, path)["tables"]["log"]]
    expected = [(100, "f0", 0, 1000, 7000, ""), (100, "f1", 1, 2000, 6000, ""), (200, "f0", 0, 3000, 8000, "open inherited"),
                (200, "f1", 1, 3000, 5500, "inherited"), (200, "f2", 2, 4000, 5000, ""), (200, "f3", 0, 9000, 9500, "")]
    tap.ok(log == expected, "fork: a copy of the stack; exec: nothing of it", *log)
    found, _ = functions(*NAMES, path)
    tap.ok({name: row["calls"] for name, row in found.items()} == {"f0": 1, "f1": 1, "f2": 1, "f3": 1},
           "what was inherited is not called twice", found)
    # Without the kernel's events the child's stack is empty: what its parent called it returns from, and that is said.
    notes = {what: "\n".join(window("calls", *NAMES, where)["notes"]) for what, where in
             (("known", path), ("alone", os.path.join(path, "user")), ("one process", user_trace("unforked", [one for one in user if one["sec"]["vpid"] == 100])))}
    tap.ok([what for what, text in notes.items() if "starts with an empty stack" in text] == ["alone"] and "1 return is from a function" in notes["alone"],
           "forks that nothing tells of are noted", notes)


def check_losses():
    # After the last event of CPU 0, at 3000, some were lost; the thread went on elsewhere, where nothing was.
    events = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(3000, "entry", "f2"), call(5000, "entry", "f4", cpu=1),
              call(6000, "exit", "f4", cpu=1), call(9000, "exit", "f0", cpu=1)]
    path = user_trace("lost", events, lost=3)
    found = window("calls", *NAMES, path)
    tasks = found["tables"]["tasks"]
    tap.ok(found["lost_events"] == 6 and tasks[0]["uncertain_ns"] == 3000 and any("not certain" in note for note in found["notes"]),
           "losses: what is not certain", found["lost_events"], tasks, found["notes"])
    log = {row["function"]: row["how"] or "" for row in window("calllog", *NAMES, path)["tables"]["log"]}
    how = {"f0": "uncertain", "f1": "unwound uncertain", "f2": "unwound uncertain", "f4": ""}
    tap.ok(log == how, "losses: the calls that it touches", log)
    # The same, while the kernel says that the thread slept after that and went on elsewhere: this tells nothing of its calls.
    path = os.path.join(scratch.name, "lost_and_kernel")
    user_trace("lost_and_kernel", events, "user", lost=3)
    jsonl_to_ctf.write_trace([switch(500, 7, 100), switch(4000, 100, 7), wake(4500, 100, 1), switch(4600, 8, 100, 0, 1), switch(9500, 100, 8, cpu=1)],
                             os.path.join(path, "kernel"))
    tasks = window("calls", *NAMES, path)["tables"]["tasks"]
    log = {row["function"]: row["how"] or "" for row in window("calllog", *NAMES, path)["tables"]["log"]}
    tap.ok(tasks[0]["uncertain_ns"] == 3000 and log == how, "losses: what the kernel tells of the thread meanwhile", tasks, log)
    # A thread of which nothing more was recorded: what it did until the end is not known.
    path = user_trace("lost_end", [call(1000, "entry", "f0"), call(3000, "entry", "f1"), call(6000, "entry", "f2", 200), call(7000, "exit", "f2", 200)], lost=3)
    tasks = {row["task"]["tid"]: row["uncertain_ns"] for row in window("calls", *NAMES, path)["tables"]["tasks"]}
    log = {row["function"]: row["how"] or "" for row in window("calllog", *NAMES, path)["tables"]["log"]}
    tap.ok(tasks == {100: 4000, 200: 0} and log == {"f0": "open uncertain", "f1": "open uncertain", "f2": ""},
           "losses: a thread of which nothing more was recorded", tasks, log)


def check_kernel():
    def graph(time, what, depth, function, **more):
        return {"t": time, "n": f"funcgraph_{what}", "pc": {"cpu_id": 0}, "p": {"func": function, "depth": depth, **more}}
    base = -(1 << 47)
    events = [switch(500, 7, 100), graph(1000, "entry", 0, base), graph(2000, "entry", 1, base + 64), graph(3000, "exit", 1, base + 64),
              graph(3500, "entry", 1, base + 128),  # its return was lost: depth 1 starts again
              graph(4000, "entry", 1, base + 64), graph(4500, "exit", 1, base + 64), graph(6000, "exit", 0, base),
              graph(7000, "exit", 0, base + 256, calltime=6200, rettime=6900),
              {"t": 8000, "n": "function", "pc": {"cpu_id": 0}, "p": {"ip": base + 512, "parent_ip": base}}]
    path = os.path.join(scratch.name, "kernel")
    jsonl_to_ctf.write_trace(events, path)
    found, tasks = functions(path)
    shown = {int(name, 16) - (base + (1 << 64)): (row["kind"], row["calls"], row["total_ns"], row["self_ns"], row["min_ns"]) for name, row in found.items()}
    expected = {0: ("kernel", 1, 5000, 3000, 5000), 64: ("kernel", 2, 1500, 1500, 500), 128: ("kernel", 1, 500, 500, 500),
                256: ("kernel", 1, 0, 0, 700), 512: ("kernel", 1, None, None, None)}
    tap.ok(shown == expected and tasks[100]["unwound"] == 1 and tasks[100]["orphans"] == 1, "functions of the kernel, by their depth", shown, tasks)


def check_left_out():
    """ftrace follows some 50 calls within one another, and counts what it left out of each task. Of 100, which had left out 3 before it was seen
    first, the calls within which 2 more were left out are not certain; those before and after are."""
    def graph(time, what, depth, **more):
        return {"t": time, "n": f"funcgraph_{what}", "pc": {"cpu_id": 0}, "p": {"func": -(1 << 47) + 64 * depth, "depth": depth, **more}}
    events = [switch(500, 7, 100), graph(1000, "entry", 0), graph(1100, "exit", 0, overrun=0), graph(2000, "entry", 0), graph(2100, "entry", 1),
              graph(2200, "exit", 1, overrun=0), graph(2300, "entry", 1), graph(3000, "exit", 1, overrun=2), graph(3100, "entry", 1),
              graph(3200, "exit", 1, overrun=2), graph(4000, "exit", 0, overrun=2), graph(5000, "entry", 0), graph(5100, "exit", 0, overrun=2)]
    path = os.path.join(scratch.name, "left_out")
    jsonl_to_ctf.write_trace(events, path)
    found = window("calllog", path)
    log = [(row["time_range"]["begin_ns"], row["how"] or "") for row in found["tables"]["log"]]
    tap.ok(sorted(log) == [(1000, ""), (2000, "uncertain"), (2100, ""), (2300, "uncertain"), (3100, ""), (5000, "")], "calls that ftrace left out", log)
    found = window("calls", path)
    tap.ok(found["tables"]["tasks"][0]["uncertain_ns"] == 700 and "2 calls were too deep to be followed" in found["notes"], "how many ftrace left out",
           found["tables"]["tasks"], found["notes"])
    for event in events[2:]:
        if "overrun" in event["p"]:
            event["p"]["overrun"] += 3
    jsonl_to_ctf.write_trace(events, os.path.join(scratch.name, "left_out_before"))
    found = window("calls", os.path.join(scratch.name, "left_out_before"))
    tap.ok("2 calls were too deep to be followed" in found["notes"], "what was left out before the trace is not counted", found["notes"])


def handler(time, what, number, cpu=0):
    """Of an interrupt, by its number; of a softirq, by its name."""
    is_soft, softirqs = isinstance(number, str), {"TIMER": 1, "NET_RX": 3}
    payload = {"vec": softirqs[number]} if is_soft else {"irq": number, **({"name": "eth0"} if what == "entry" else {"ret": 1})}
    return {"t": time, "n": f"{'irq_softirq' if is_soft else 'irq_handler'}_{what}", "pc": {"cpu_id": cpu}, "p": payload}


def check_interrupts():
    """Handlers are frames on the stack of whom they interrupted, and their time is not its own."""
    def timer(time, what, kind="local_timer"):
        return {"t": time, "n": f"{kind}_{what}", "pc": {"cpu_id": 0}, "p": {"vector": 236} if kind == "local_timer" else {"hrtimer": 1}}

    def graph(time, what, depth):
        return {"t": time, "n": f"funcgraph_{what}", "pc": {"cpu_id": 0}, "p": {"func": -(1 << 47), "depth": depth}}
    user = [call(1000, "entry", "f0"), call(10000, "exit", "f0"), call(20000, "entry", "f0"), call(30000, "entry", "f1"), call(31000, "exit", "f1"),
            call(40000, "exit", "f0")]
    kernel = [switch(500, 7, 100),
              # In f0: a handler with a softirq after it. In its read: a timer within the interrupt of the timer.
              handler(2000, "entry", 28), handler(2300, "exit", 28), handler(2300, "entry", "NET_RX"), handler(3000, "exit", "NET_RX"),
              syscall(4000, "entry", "read"), timer(5000, "entry"), timer(5100, "expire_entry", "hrtimer"), graph(5150, "entry", 0), graph(5170, "exit", 0),
              timer(5200, "expire_exit", "hrtimer"), timer(5400, "exit"), syscall(6000, "exit", "read"),
              # The ends of these are not there: the task leaves the CPU, calls, or returns to its program.
              handler(21000, "entry", 28), switch(22000, 100, 7), handler(22500, "entry", 28), handler(22700, "exit", 28), wake(23000, 100),
              switch(24000, 7, 100, 0), handler(25000, "entry", 28), syscall(26000, "entry", "read"), handler(27000, "entry", 28),
              syscall(28000, "exit", "read"), handler(29000, "entry", 28), handler(50000, "exit", 28), switch(60000, 100, 7)]
    path = both("interrupts", user, kernel)
    stacks = dict(line.rsplit(" ", 1) for line in run("flame", *NAMES, path).stdout.splitlines())
    stacks = {stack.partition(";")[2].replace("0xffff800000000000", "kernel"): int(ns) for stack, ns in stacks.items()}
    irq = "[irq 28 eth0]"
    expected = {"f0": 6000 + 3000 + 9000, f"f0;{irq}": 300 + 1000 + 1000 + 1000, "f0;[softirq NET_RX]": 700, "f0;[read]": 1600 + 1000,
                "f0;[read];[local timer interrupt]": 300, "f0;[read];[local timer interrupt];[hrtimer]": 80,
                "f0;[read];[local timer interrupt];[hrtimer];kernel": 20, f"f0;[read];{irq}": 1000, "f0;[task]": 1000, "f0;[preempted]": 1000, "f0;f1": 1000}
    tap.ok(stacks == expected, "interrupts: frames on what they interrupted", {stack: (stacks.get(stack), expected.get(stack)) for stack in
           stacks.keys() | expected.keys() if stacks.get(stack) != expected.get(stack)})
    found, tasks = functions(*NAMES, path)
    shown = {name: (row["kind"], row["calls"], row["total_ns"]) for name, row in found.items() if row["kind"] == "irq"}
    tap.ok(shown == {irq: ("irq", 5, 4300), "[softirq NET_RX]": ("irq", 1, 700), "[local timer interrupt]": ("irq", 1, 400), "[hrtimer]": ("irq", 1, 100)},
           "interrupts: how often, how long", shown)
    tap.ok(tasks[100]["unwound"] == 0 and tasks[100]["orphans"] == 0, "interrupts: whose end is not there", tasks)
    at = window("calls", *NAMES, "--at", "0.000005160", "--tid", "100", path)["tables"]
    names = [row["function"] for row in next(iter(at.values()))]
    tap.ok([name for name in names if name[0] != "0"] == ["[hrtimer]", "[local timer interrupt]", "[read]", "f0"], "interrupts: one moment", at)


def check_lost_handler():
    """What a CPU lost may be the end of a handler: it lasts no longer than until then."""
    path = os.path.join(scratch.name, "lost_handler")
    user_trace("lost_handler", [call(1000, "entry", "f0"), call(9000, "exit", "f0")], "user")
    jsonl_to_ctf.write_trace([switch(500, 7, 100), handler(2000, "entry", 28), handler(3000, "entry", "NET_RX"), handler(3500, "exit", "NET_RX")],
                             os.path.join(path, "kernel"), lost=2)
    log = {row["function"]: (row["duration_ns"], row["how"] or "") for row in window("calllog", *NAMES, path)["tables"]["log"]}
    tap.ok(log == {"f0": (8000, "uncertain"), "[irq 28 eth0]": (1500, "cut uncertain"), "[softirq NET_RX]": (500, "")}, "a handler whose end was lost", log)


def check_recorded():
    """A recording of tests/programs/calls.c, which counted its calls; `names` is what nm said of it. On the machine where it was
    recorded Lull knows the names by itself."""
    with tarfile.open(os.path.join(source, "tests", "data", "calls.tar.xz")) as archive:
        archive.extractall(scratch.name)
    folder = os.path.join(scratch.name, "calls")
    with open(os.path.join(folder, "said"), encoding="utf-8") as said, open(os.path.join(folder, "names"), encoding="utf-8") as names:
        counted = [line.split() for line in said]
        places = {f"program+0x{int(line.split()[0], 16):x}": line.split()[2] for line in names}
    for pid in sorted({line[0] for line in counted}):
        found, tasks = functions("--pid", pid, folder)
        shown = {places.get(name, name): row["calls"] for name, row in found.items()}
        expected = {name: int(count) for who, name, count in counted if who == pid and count != "0"}
        unwound = expected.get("dig", 0)
        tap.ok(shown == expected and sum(row["unwound"] for row in tasks.values()) == unwound
               and not any(row["orphans"] + row["open"] for row in tasks.values()), "a recording: what the program counted", shown, expected, tasks)
    calls = [row for row in window("calllog", folder)["tables"]["log"] if places.get(row["function"], row["function"]) == "work"]
    tap.ok(len({row["task"]["tid"] for row in calls}) == 2 and all(row["depth"] == 0 for row in calls), "a recording: threads start empty", calls)


def check_choice():
    programs, _ = made(1)
    path = user_trace("choice", scene.events(programs))
    for program in programs:
        found, tasks = functions("--tid", str(program.tid), *NAMES, path)
        tap.ok({name: row["self_ns"] for name, row in found.items()} == {name: sums[2] for name, sums in program.sums()[0].items()}
               and list(tasks) == [program.tid], f"--tid {program.tid}")
    least = max(call.end - call.start for program in programs for root in program.calls for call, _ in root.walk())
    log = window("calllog", "--min", f"{least}ns", *NAMES, path)["tables"]["log"]
    tap.ok([row["duration_ns"] for row in log] == [least], "--min", log)
    for arguments, status, said in ((("--tid", "4711"), 1, "no task with tid 4711"), (("--symbols", "/nowhere"), 1, "/nowhere"),
                                    (("--symbols", os.path.join(path, "metadata")), 1, "no line names a function")):
        done = run("calls", *arguments, path)
        tap.ok(done.returncode == status and said in done.stderr, " ".join(arguments), done.returncode, done.stderr)


def near(program):
    """{caller: [calls of f1, time]} and {callee: [calls by f1, time]}, by walking over each nanosecond's stack."""
    callers, callees = {}, {}
    for root in program.calls:
        for one, names in root.walk():
            own = one.end - one.start - sum(child.end - child.start for child in one.children)
            if "f1" in names:
                outermost, innermost = names.index("f1"), len(names) - 1 - names[::-1].index("f1")
                callers.setdefault(names[outermost - 1] if outermost else None, [0, 0])[1] += own
                if innermost < len(names) - 1:
                    callees.setdefault(names[innermost + 1], [0, 0])[1] += own
            if one.name == "f1":
                callers.setdefault(names[-2] if len(names) > 1 else None, [0, 0])[0] += 1
            if len(names) > 1 and names[-2] == "f1":
                callees.setdefault(one.name, [0, 0])[0] += 1
    return callers, callees


def check_near():
    wrong, n = [], 0
    for seed in range(10):
        program = scene.Program(seed, 101, names=4).run()
        program.close(program.time)
        path = user_trace(f"near{seed}", scene.events([program]))
        expected = near(program)
        if not expected[0]:
            continue
        found = window("calls", "--callers", "f1", "--callees", "f1", *NAMES, path)["tables"]
        for key, truth in zip(("callers", "callees"), expected):
            shown = {row["function"]: [row["calls"], row["time_ns"]] for row in found.get(key, [])}
            if shown != truth or any(row["of"] != "f1" for row in found.get(key, [])):
                wrong.append((seed, key, shown, truth))
            n += len(truth)
        total, _ = functions("--limit", "0", *NAMES, path)
        inside = sum(row["time_ns"] for row in found.get("callees", []))
        if sum(row["time_ns"] for row in found["callers"]) != total["f1"]["total_ns"] or total["f1"]["total_ns"] - inside != total["f1"]["self_ns"]:
            wrong.append((seed, total["f1"], inside))
    tap.ok(not wrong and n > 40, "--callers, --callees: each nanosecond of the function once", n, *wrong[:2])
    done = run("calls", "--callers", "nobody", *NAMES, path)
    tap.ok(done.returncode == 1 and "no function “nobody” was called" in done.stderr, "--callers: a function that is none", done.stderr)
    every = window("calls", "--callees", "f?", *NAMES, path)["tables"]["callees"]
    tap.ok(len({row["of"] for row in every}) > 1, "--callees: a pattern", *every)


def check_at():
    programs, end = made(3)
    path, wrong = user_trace("at", scene.events(programs)), []
    chance = scene.random.Random(3)
    for t in [chance.randrange(1000, end) for _ in range(12)]:
        expected = {}
        for program in programs:
            for root in program.calls:
                for one, names in root.walk():
                    if one.start <= t < one.end:
                        expected.setdefault(program.tid, []).insert(0, (len(names) - 1, one.name, one.start, one.end, t - one.start))
        shown = {}
        for row in window("calls", "--at", f"{t / 1e9:.9f}", *NAMES, path)["tables"].get("stacks", []):
            shown.setdefault(row["task"]["tid"], []).append((row["depth"], row["function"], row["time_range"]["begin_ns"],
                                                             row["time_range"]["end_ns"], row["since_ns"]))
        if shown != expected:
            wrong.append((t, shown, expected))
    tap.ok(not wrong, "--at: the stacks of each task at that nanosecond", *wrong[:2])
    one = window("calls", "--at", f"{programs[0].calls[0].start / 1e9:.9f}", "--tid", "101", *NAMES, path)["tables"]["stacks"]
    tap.ok({row["task"]["tid"] for row in one} == {101}, "--at with --tid", one)
    for arguments, status, said in ((("--at", "+0s", "--begin", "+1s"), 2, "leave out --begin"), (("--at", "soon"), 2, "not a time"),
                                    (("--at", ""), 2, "needs a time"), (("--at", "2000000000"), 0, "no call lasted at that time")):
        done = run("calls", *arguments, *NAMES, path)
        tap.ok(done.returncode == status and said in done.stdout + done.stderr, " ".join(arguments), done.returncode, done.stderr)


def check_containers():
    """Two threads, of which the state dump says that they are in a container each."""
    programs, end = made(5)
    kernel = [{"t": 500 + i, "n": "lull_statedump_cgroup", "p": {"tid": program.tid, "path": f"/lxc/box{i}"}, "pc": {"cpu_id": 0}, "sec": {}}
              for i, program in enumerate(programs)]
    path, wrong = both("containers", scene.events(programs), kernel), []
    for i, program in enumerate(programs[:2]):
        counts = {}
        for root in program.calls:
            for _, names in root.walk():
                counts[names[-1]] = counts.get(names[-1], 0) + 1
        shown = {row["function"]: row["calls"] for row in window("calls", "--container", f"box{i}", *NAMES, path)["tables"]["functions"]}
        tasks = {row["task"]["tid"] for row in window("calllog", "--container", f"/lxc/box{i}", *NAMES, path)["tables"]["log"]}
        stacks = run("flame", "--container", f"box{i}", *NAMES, path).stdout.splitlines()
        other = run("flame", "--tid", str(program.tid), *NAMES, path).stdout.splitlines()
        if shown != counts or tasks != {program.tid} or not stacks or stacks != other:
            wrong.append((i, shown, counts, tasks, stacks[:2], other[:2]))
    tap.ok(not wrong, "--container: calls, calllog, flame", end, *wrong)
    done = run("calls", "--container", "box7", *NAMES, path)
    tap.ok(done.returncode == 1 and "box7" in done.stderr, "a container that never was", done.returncode, done.stderr)


def check_deep():
    """A recursion without an end, deeper than any stack is followed: LULL_TEST_DEEP=1000000 goes so deep."""
    deepest = int(os.environ.get("LULL_TEST_DEEP", "70000"))
    path = user_trace("deep", [*(call(1000 + i, "entry", "f0") for i in range(deepest)), *(call(2000 + deepest + i, "exit", "f0") for i in range(deepest))])
    found, tasks = functions(*NAMES, path)
    notes = window("calls", *NAMES, path)["notes"]
    tap.ok(found["f0"]["calls"] == 65536 and found["f0"]["total_ns"] == 1000 + 2 * deepest - 1 and tasks[100]["orphans"] == 0 and any(f"{deepest - 65536} calls were too deep" in note for note in notes), "a recursion without an end", found, tasks, notes)
    # What the kernel does there is as deep, and ends there.
    user = [call(1000, "entry", "f1"), *(call(1001 + i, "entry", "f0") for i in range(65540)), *(call(200000 + i, "exit", "f0") for i in range(65540)),
            call(400000, "exit", "f1"), call(410000, "entry", "f2"), call(410010, "exit", "f2")]
    kernel = [switch(500, 7, 100), *(syscall(150000 + 10 * i + k, what, "read") for i in range(5) for k, what in ((0, "entry"), (5, "exit"))), switch(500000, 100, 7)]
    found, tasks = functions(*NAMES, both("deep_calls", user, kernel))
    tap.ok(tasks[100]["unwound"] == 0 and tasks[100]["orphans"] == 0 and found["f1"]["total_ns"] == 399000 and found["f0"]["calls"] == 65535,
           "system calls where the stack is too deep", found, tasks)
    text = run("flame", *NAMES, path)
    tap.ok(text.returncode == 0 and len(text.stdout.splitlines()) <= 65537, "a flame of it", text.stderr, len(text.stdout))


def check_bad():
    """Returns before calls, an address of 0, depths that are negative or jump, no event at all."""
    found, tasks = functions(user_trace("early", [call(1000, "exit", "f1"), call(2000, "entry", "f0"), call(3000, "exit", "f2"), call(4000, "exit", "f0")]), *NAMES)
    tap.ok({name: (row["calls"], row["total_ns"]) for name, row in found.items()} == {"f0": (1, 2000)} and tasks[100]["orphans"] == 2, "returns before calls", found, tasks)
    nothing = {"t": 1000, "n": "lttng_ust_cyg_profile:func_entry", "p": {"addr": 0, "call_site": 0}, "pc": {"cpu_id": 0}, "sec": {"vpid": 100, "vtid": 100}}
    found, _ = functions(user_trace("zero", [nothing, {**nothing, "t": 3000, "n": "lttng_ust_cyg_profile:func_exit"}]))
    tap.ok([(row["calls"], row["total_ns"]) for row in found.values()] == [(1, 2000)], "an address of 0", found)
    base = -(1 << 47)
    events = [switch(500, 7, 100)]
    for i, depth in enumerate((-1, 0, 5, 1 << 30, -(1 << 31), (1 << 31) - 1, 1, 70000, 0)):
        events += [{"t": 1000 + 10 * i + k, "n": f"funcgraph_{what}", "pc": {"cpu_id": 0}, "p": {"func": base + 64 * i, "depth": depth}} for k, what in ((0, "entry"), (5, "exit"))]
    path = os.path.join(scratch.name, "jumps")
    jsonl_to_ctf.write_trace(events, path)
    found, _ = functions(path)
    tap.ok(len(found) == 9 and all((row["calls"], row["total_ns"]) == (1, 5) for row in found.values()), "depths that are negative and that jump", found)
    path = user_trace("empty", [])
    for verb in ("calls", "calllog", "flame", "symbols"):
        done = run(verb, path)
        tap.ok(done.returncode in (0, 1) and (done.stdout or done.stderr) and "Traceback" not in done.stderr, f"lull {verb}: no event", done.stdout, done.stderr)


for check in (check_bad, check_deep, check_near, check_at, check_containers, check_random, check_fast, check_waits, check_stats, check_stats_stacks, check_python, check_numbered, check_recording,
              check_fork, check_losses, check_kernel, check_left_out, check_interrupts, check_lost_handler, check_recorded, check_choice):
    tap.run(check.__name__, check)
sys.exit(tap.done())
