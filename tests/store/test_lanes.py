#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Calls in the store, in the trace server and in flame graphs of the time view: programs of chance (tests/calls/scene.py) know each of
# their calls; waits were counted by hand. What is asked of ranges is added up here from the calls themselves.
import json
import os
import random
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "calls"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import scene  # noqa: E402
from server.serving import Server, environment  # noqa: E402
from store.store_file import STATES, Store  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
env = environment(scratch.name)
NATIVE, PYTHON, SYSCALL, UNCERTAIN = STATES[1:6], STATES[6:10], STATES[10:11], STATES[13]
PROGRAMS = [scene.Program(seed, tid, budget=300).run() for seed, tid in ((11, 101), (12, 102), (13, 103))]
END = max(program.time for program in PROGRAMS)
for one in PROGRAMS:
    one.close(END)


def written(name, streams):
    path = os.path.join(scratch.name, name)
    for domain, events in streams.items():
        jsonl_to_ctf.write_trace(events, os.path.join(path, domain),
                                 {"hostname": "h", "domain": domain, **({"tracer_name": "lttng-ust"} if domain == "ust" else {})})
    return path


def indexed(path):
    done = subprocess.run([lull, "index", "--json", path], env=env, capture_output=True, text=True, check=True)
    return Store(json.loads(done.stdout)["path"])


def shown(name):
    return f"0x{scene.address(name):x}"


def lanes(store):
    """{tid: [[(start, end, name, state), …] of each level]}"""
    found = {}
    for row in store.of("call"):
        assert row.cpu == len(found.setdefault(row.tid, []))
        found[row.tid].append([(start, end, store.texts[label], state) for start, end, state, label, _ in row.intervals if state != "none"])
    return found


def levels(program):
    """What the program did, by level."""
    found = []
    for root in program.calls:
        for call, path in root.walk():
            found += [[] for _ in range(len(path) - len(found))]
            found[len(path) - 1].append((call.start, call.end, shown(call.name)))
    return [sorted(level) for level in found]


def check_store():
    store = indexed(PATH)
    found = lanes(store)
    for program in PROGRAMS:
        expected, rows = levels(program), found[program.tid]
        tap.ok(len(expected) > 4 and [[call[:3] for call in row] for row in rows] == expected,
               f"each call of {program.tid} is on its level, from its start to its end", [len(row) for row in rows], [len(row) for row in expected])
    tap.ok(sorted(found) == [101, 102, 103] and {call[3] for rows in found.values() for row in rows for call in row} <= set(NATIVE),
           "all of them are native functions")
    slots = {}
    for rows in found.values():
        for _, _, name, state in (call for row in rows for call in row):
            slots.setdefault(name, set()).add(state)
    tap.ok(all(len(states) == 1 for states in slots.values()) and len(set.union(*slots.values())) > 1, "a function has the same colour everywhere", slots)
    tasks = [row for row in store.of("task") if row.tid in found]
    evidence = {store.rows[one[4]].tid for row in store.of("call") for one in row.intervals if one[2] != "none" and row.tid == 102}
    tap.ok(len(tasks) == 3 and evidence == {102}, "calls say which task they are of", evidence)
    names = [row.name for row in store.of("call") if row.tid == 101]
    tap.ok(names == [f"level {i + 1}" for i in range(len(names))], "levels have names", names)


def calls_of(programs, start, end):
    """{path: ns in itself} of a range."""
    found = {}
    for program in programs:
        for root in program.calls:
            for call, path in root.walk():
                def inside(one):
                    return max(0, min(one.end, end) - max(one.start, start))
                own = inside(call) - sum(inside(child) for child in call.children)
                if own > 0:
                    key = (f"prog/{program.tid}", *map(shown, path))
                    found[key] = found.get(key, 0) + own
    return found


def ask(server, what, **parameters):
    status, _, data = server.raw("POST", f"{server.base.removesuffix('tsp/api')}api/{what}", json.dumps({"parameters": parameters}).encode())
    return status, json.loads(data)


def stacks(answer):
    """{path: self} of a flame graph; what is in `total` must be what lies above."""
    paths, found, totals = [], {}, []
    for parent, name, own, total in answer["nodes"]:
        paths.append((*paths[parent], answer["names"][name]) if parent >= 0 else ())
        found[paths[-1]] = own
        totals.append(total)
    sums = [sum(own for path, own in found.items() if path[:len(above)] == above) for above in paths]
    return {path: own for path, own in found.items() if own}, all(a >= b for a, b in zip(totals, sums))


def seen(stacks_, expected):
    """Without what is less than 1/4000 of the whole, which is left out."""
    least = sum(expected.values()) // 4000
    return {path: own for path, own in stacks_.items() if own > least}


def check_flames(server, about):
    origin, tasks = int(about["start"]), {row[4]: number for number, row in enumerate(about["rows"]) if about["kinds"][row[0]] == "task"}
    status, answer = ask(server, "flame", start=0, end=about["length"])
    found, is_sum = stacks(answer)
    expected = calls_of(PROGRAMS, 0, END)
    tap.ok(status == 200 and seen(found, expected) == seen(expected, expected) and is_sum and answer["total"] == sum(expected.values()),
           f"the flame graph of all: {len(found)} stacks to the ns", len(expected))
    dice, wrong = random.Random(5), []
    for _ in range(60):
        start, end = sorted(dice.sample(range(about["length"]), 2))
        some = dice.choice((PROGRAMS, PROGRAMS[:1], PROGRAMS[1:]))
        more = {} if some is PROGRAMS else {"rows": [tasks[program.tid] for program in some]}
        found, is_sum = stacks(ask(server, "flame", start=start, end=end, **more)[1])
        expected = calls_of(some, origin + start, origin + end)
        if seen(found, expected) != seen(expected, expected) or not is_sum:
            wrong.append((start, end, len(found), len(expected)))
    tap.ok(not wrong, "and of 60 ranges of some tasks", *wrong[:3])
    for parameters in ({"start": 5, "end": 5}, {"start": 0, "end": 9, "rows": [10**9]}, {"start": 0, "end": 9, "rows": 3}, {}):
        status, answer = ask(server, "flame", **parameters)
        tap.ok(status == 400 and answer["detail"], f"a question that has no answer: {parameters}", status)


def check_moments(server, about):
    """Which calls were open at a moment."""
    rows = {(row[4], row[3]): number for number, row in enumerate(about["rows"]) if about["kinds"][row[0]] == "call"}
    origin, dice, wrong, count = int(about["start"]), random.Random(6), [], 0
    for _ in range(80):
        program, time = dice.choice(PROGRAMS), dice.randrange(about["length"])
        open_ = [(call, path) for root in program.calls for call, path in root.walk() if call.start <= origin + time < call.end]
        path = max((path for _, path in open_), key=len, default=())
        answer = ask(server, "moment", row=rows[program.tid, max(len(path) - 1, 0)], time=time)[1]
        count += len(path) > 1
        if (answer.get("label"), answer.get("callers", [])) != (shown(path[-1]) if path else None, [shown(one) for one in path[:-1]]):
            wrong.append((program.tid, time, path, answer))
    tap.ok(count > 20 and not wrong, f"the stack at {count} moments", *wrong[:2])


def check_protocol(server):
    _, experiments = server.ask("GET", "experiments")
    base = f"experiments/{experiments[0]['UUID']}/outputs"
    outputs = {one["id"]: one for one in server.ask("GET", base)[1]}
    tap.ok(outputs["lull.calls"]["type"] == "TIME_GRAPH", "lull.calls is an output", list(outputs))
    tree = server.model(f"{base}/timeGraph/lull.calls/tree", {})
    parents = {one["id"]: one for one in tree["entries"]}
    above = {one["id"]: parents.get(one["parentId"], {}).get("labels") for one in tree["entries"]}
    lines = {(above[one["id"]][1], one["labels"][0]): one["id"] for one in tree["entries"] if one["labels"][0].startswith("level")}
    expected = {(str(program.tid), f"level {i + 1}") for program in PROGRAMS for i in range(len(levels(program)))}
    tap.ok(set(lines) == expected, "its tree has each level of each task", set(lines) ^ expected)
    calls = levels(PROGRAMS[0])[1]
    span = {"start": calls[0][0], "end": calls[0][0] + 400}
    answer = server.model(f"{base}/timeGraph/lull.calls/states",
                          {"requested_timerange": {**span, "nbTimes": 401}, "requested_items": [lines["101", "level 2"]]})
    states = [(one["start"], one["end"], one.get("label")) for one in answer["rows"][0]["states"] if "style" in one]
    styles = server.model(f"{base}/lull.calls/style", {})["styles"]
    tap.ok(states and states == [call for call in calls if call[0] < span["end"]], "states are calls", states)
    used = {one["style"]["parentKey"] for one in answer["rows"][0]["states"] if "style" in one}
    tap.ok(used and used <= set(styles), "whose styles there are", used - set(styles))
    middle = (calls[0][0] + calls[0][1]) // 2
    tip = server.model(f"{base}/timeGraph/lull.calls/tooltip", {
        "requested_times": [middle], "requested_items": [lines["101", "level 2"]],
        "requested_element": {"elementType": "state", "time": calls[0][0], "duration": calls[0][1] - calls[0][0]}})
    tap.ok(tip["Function"] == calls[0][2] and tip["Process"] == "prog", "a tooltip names the function", tip)


def call(time, what, name, **more):
    return scene.event(time, 0, f"lttng_ust_cyg_profile:func_{what}", 100, addr=scene.address(name), **more)


def kernel(time, name, **payload):
    return {"t": time, "n": name, "pc": {"cpu_id": 0}, "p": payload}


def switch(time, prev, following, state):
    return kernel(time, "sched_switch", prev_comm=f"c{prev}", prev_tid=prev, prev_prio=20, prev_state=state,
                  next_comm=f"c{following}", next_tid=following, next_prio=20)


def check_waits():
    """read lasts from 3000 to 7000: until 4000 it runs, until 6000 it sleeps, until 6500 it has no CPU. f0 has none from 9200 to 9500."""
    user = [call(1000, "entry", "f0"), call(2000, "entry", "f1"), call(9000, "exit", "f1"), call(10000, "exit", "f0")]
    system = [switch(500, 7, 100, 1), kernel(3000, "syscall_entry_read", fd=1), switch(4000, 100, 7, 1),
              kernel(6000, "sched_waking", comm="c100", tid=100, prio=20, target_cpu=0), switch(6500, 7, 100, 0),
              kernel(7000, "syscall_exit_read", ret=0), switch(9200, 100, 7, 0), switch(9500, 7, 100, 0), switch(11000, 100, 7, 1)]
    path = written("waits", {"ust": user, "kernel": system})
    store = indexed(path)
    found = lanes(store)[100]
    f0, f1 = shown("f0"), shown("f1")
    tap.ok([[one[:3] for one in row] for row in found] == [[(1000, 10000, f0)], [(2000, 9000, f1)], [(3000, 7000, "[read]")]] and
           found[2][0][3] in SYSCALL and found[0][0][3] in NATIVE, "a system call lies on the function that made it", found)
    server = Server(lull, env, path)
    about = ask(server, "trace")[1]
    waits, _ = stacks(ask(server, "flame", start=0, end=about["length"])[1])
    frames = {path[1:]: own for path, own in waits.items()}
    tap.ok(frames == {(f0,): 1700, (f0, "[preempted]"): 300, (f0, f1): 3000, (f0, f1, "[read]"): 1500, (f0, f1, "[read]", "[preempted]"): 500,
                      (f0, f1, "[read]", "[task]"): 2000}, "what they waited for is on top of them", frames)
    server.end()


def check_death():
    """What a task was in when it died ended then."""
    user = [call(1000, "entry", "f0")]
    system = [switch(500, 7, 100, 1), kernel(3000, "syscall_entry_exit", error_code=0), kernel(4000, "sched_process_exit", comm="c100", tid=100, prio=20),
              switch(5000, 100, 7, 16), switch(9500, 7, 8, 1), switch(20000, 8, 7, 1)]
    found = lanes(indexed(written("death", {"ust": user, "kernel": system})))[100]
    tap.ok([[one[:3] for one in row] for row in found] == [[(1000, 5000, shown("f0"))], [(3000, 5000, "[exit]")]], "a task that is dead calls nothing", found)


def check_python():
    def python(time, what, **payload):
        return scene.event(time, 0, f"python:{what}", 100, **payload)
    events = [python(1000, "call", co_name="main"), call(2000, "entry", "f1"), python(3000, "call", co_name="inner"), python(4000, "return"),
              call(6000, "exit", "f1"), python(7000, "return")]
    found = lanes(indexed(written("python", {"ust": events})))[100]
    tap.ok([[one[:3] for one in row] for row in found] == [[(1000, 7000, "main")], [(2000, 6000, shown("f1"))], [(3000, 4000, "inner")]] and
           found[0][0][3] in PYTHON and found[1][0][3] in NATIVE, "Python and its compiled functions are one stack", found)


def check_deep():
    """More levels than are shown: the last one says so."""
    events = [call(1000 + i, "entry", "f1") for i in range(200)] + [call(2000 + i, "exit", "f1") for i in range(200)]
    store = indexed(written("deep", {"ust": events}))
    found = lanes(store)[100]
    expected = [(1000 + i, 2199 - i, shown("f1")) for i in range(128)]
    tap.ok([one[:3] for row in found for one in row] == expected, "128 levels are shown", len(found))
    tap.ok(store.of("call")[-1].name == "level 128; deeper calls are left out", "and the last one says that there are more")


def check_none():
    """Without calls nothing of them is there."""
    path = written("none", {"kernel": [switch(1000, 7, 100, 1), switch(2000, 100, 7, 1), switch(3000, 7, 100, 1)]})
    tap.ok(not indexed(path).of("call"), "a trace without calls has no rows of them")
    server = Server(lull, env, path)
    _, experiments = server.ask("GET", "experiments")
    outputs = [one["id"] for one in server.ask("GET", f"experiments/{experiments[0]['UUID']}/outputs")[1]]
    answer = ask(server, "flame", start=0, end=1000)[1]
    tap.ok("lull.calls" not in outputs and answer["total"] == 0 and len(answer["nodes"]) == 1, "and no output", outputs, answer)
    server.end()


PATH = written("trace", {"ust": sorted((event for program in PROGRAMS for event in scene.events([program])), key=lambda one: one["t"])})
check_store()
SERVER = Server(lull, env, PATH)
ABOUT = ask(SERVER, "trace")[1]
check_flames(SERVER, ABOUT)
check_moments(SERVER, ABOUT)
check_protocol(SERVER)
SERVER.end()
check_waits()
check_death()
check_python()
check_deep()
check_none()
tap.done()
