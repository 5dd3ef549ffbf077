#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull states: against an interpreter of the language that shares nothing with it (reference.py), over random files and
# events; mistakes; the shipped examples, over traces whose truth is known. LULL_TEST_STATES=10000 sets how many
# random files there are.
import json
import os
import random
import re
import struct
import subprocess
import sys
import tarfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(source, "tests", "lib")]
import reference  # noqa: E402
from scene import MS, at, example, jsonl_to_ctf, lull, run, scratch, tables, trace, write  # noqa: E402
from server.serving import Server  # noqa: E402
from store.store_file import Store  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()


def recording(name):
    """One of those of the tests, or kept beside the tree; None if it is not there."""
    places = os.path.join("tests", "data"), os.path.join("..", "shared", "traces"), os.path.join("..", "..", "shared", "traces")
    for place in places:
        path = os.path.join(source, place, name + ".tar.xz")
        if os.path.exists(path):
            return path
    return None


# ---- random files ----

def log_of(path, where):
    """{(group, row): [(state, start, end), …]}"""
    log = {}
    for line in tables(path, where, "--log").get("log", []):
        log.setdefault((line["of"], line["row"]), []).append(
            (line["state"] or reference.UNKNOWN, line["time_range"]["begin_ns"], line["time_range"]["end_ns"]))
    return log


FILES_OF_TRACE = 20  # which Lull reads as one of at most 64 groups


def compare_periods(path, files, where, wanted):
    """[] if `lull periodlog` of all states says the same as the reference."""
    definitions = [argument for groups in files for group in groups for state in group["states"]
                   for argument in ("--period", f"{path}:{group['name']}.{state}")]
    done = run("--json", *definitions, where, verb="periodlog")
    if not done.stdout:
        return [done.stderr]
    shown = json.loads(done.stdout)["windows"][0]["tables"]
    # The reference leaves out what took no time: two events of the same time.
    found = sorted((line["period"], line["begin_ns"], line["end_ns"]) for table in ("log", "incomplete")
                   for line in shown.get(table, []) if line["end_ns"] > line["begin_ns"])
    return [] if found == sorted(wanted) else [(where, set(found) ^ set(wanted))]


def check_random():
    count = int(os.environ.get("LULL_TEST_STATES", "0")) or 400
    wrong, wrong_periods, wanted, pieces = [], [], [], 0
    for number in range(-(-count // FILES_OF_TRACE)):
        chance = reference.Chance(number)
        events = chance.events(60)
        files = [chance.groups(f"file{i}") for i in range(FILES_OF_TRACE)]
        path = write("random.states", "".join(map(reference.text_of_file, files)))
        found = log_of(path, trace(f"random{number}", events))
        for groups in files:
            interpreter = reference.Interpreter(groups, events[-1]["t"])
            interpreter.run(events)
            expected, names = interpreter.answer(), {group["name"] for group in groups}
            pieces += sum(map(len, expected.values()))
            if expected != {key: log for key, log in found.items() if key[0] in names}:
                wrong.append((number, reference.text_of_file(groups), expected))
            if number % 4 == 0:
                wanted += interpreter.periods()
        if number % 4 == 0:
            wrong_periods += compare_periods(path, files, os.path.join(scratch.name, f"random{number}"), wanted)
            wanted = []
    tap.ok(not wrong_periods, "states of random files as periods: the same intervals", *wrong_periods[:1])
    tap.ok(not wrong, f"{count} random files are read as the reference reads them", *wrong[:1])
    tap.ok(pieces > count * 10, "and they say something", pieces)


# ---- the store of the time view ----

def stored(where, path):
    """{(group, row): [(state, start, end), …]}, as answer() has it; and what of it lies in a wrong slot."""
    done = subprocess.run([lull, "index", "--json", "--states", path, where], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": scratch.name})
    found, wrong, slots = {}, [], {}
    store = Store(json.loads(done.stdout)["path"])
    for row in store.of("declared"):
        for start, end, state, label, _ in row.intervals:
            if state == "none":
                continue
            name = reference.UNKNOWN if state == "unknown" else store.texts[label]
            found.setdefault((row.cpu, row.name), []).append((name, start, end))
            if slots.setdefault((row.cpu, name), state) != state:
                wrong.append((row.name, state, name))
    used = {}
    for (group, name), slot in slots.items():
        used.setdefault((group, slot), []).append(name)
    wrong += [names for (_, slot), names in used.items() if len(names) > 1 and slot != "idle"]
    return found, wrong


def check_store():
    wrong, pieces = [], 0
    for number in range(3):
        chance = reference.Chance(1000 + number)
        events = chance.events(80)
        groups = [group for i in range(8) for group in chance.groups(f"file{i}")]
        path = write("stored.states", reference.text_of_file(groups))
        interpreter = reference.Interpreter(groups, events[-1]["t"])
        interpreter.run(events)
        numbers = {group["name"]: i for i, group in enumerate(groups)}
        expected = {(numbers[name], row): log for (name, row), log in interpreter.answer().items()}
        pieces += sum(map(len, expected.values()))
        found, odd = stored(trace(f"stored{number}", events), path)
        if found != expected or odd:
            wrong.append((number, odd, {key: (found.get(key), log) for key, log in expected.items() if found.get(key) != log}))
    tap.ok(not wrong and pieces > 100, "the store of a time view has the intervals that the reference has", pieces, *wrong[:1])


def check_stored_tasks():
    done = subprocess.run([lull, "index", "--json", "--states", write("parts.states", PARTS), trace("stored-parts", parts_trace())],
                          capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": scratch.name})
    store = Store(json.loads(done.stdout)["path"])
    about = {(row.name, row.tid): {store.rows[one[4]].tid for one in row.intervals if one[2] not in ("none", "unknown")}
             for row in store.of("declared")}
    # Both parts came from the task on CPU 0.
    tap.ok(about == {("1", 10): {10}, ("2", 10): {10}}, "rows say which task they are about", about)


def check_served():
    """What a viewer is shown: the ranks below their group, each state in the style of its name and for as long as it was made."""
    events = [at(0, "mpi:init", rank=r) for r in (0, 9, 10)]
    events += [at(r * MS, "mpi:barrier_begin", rank=r) for r in (9, 10)] + [at(20 * MS, "mpi:barrier_end", rank=9)]
    events += [at(30 * MS, "mpi:finalize", rank=0)]
    where = trace("served", sorted(events, key=lambda event: event["t"]))
    try:
        server = Server(lull, {**os.environ, "XDG_CACHE_HOME": scratch.name}, "--states", example("mpi"), where)
    except RuntimeError as failure:
        if "libmicrohttpd" not in str(failure):
            raise
        tap.skip("what viewers are shown", "built without libmicrohttpd")
        return
    experiment = f"experiments/{server.ask('GET', 'experiments')[1][0]['UUID']}/outputs"
    names = [one["name"] for one in server.ask("GET", experiment)[1]]
    output = f"{experiment}/timeGraph/lull.states"
    entries = server.model(f"{output}/tree", {})["entries"]
    parents = {one["id"]: one["labels"][0] for one in entries}
    shown = [(parents.get(one["parentId"]), one["labels"][0], one["hasData"]) for one in entries]
    tap.ok("Declared States" in names and len(parents) == len(entries) and
           shown[1:] == [(shown[0][1], "MPI ranks", False), *(("MPI ranks", f"rank {r}", True) for r in (0, 9, 10))],
           "a viewer is shown groups and rows, in the order of their numbers", names, shown)
    styles = set(server.model(f"{output}/style", {})["styles"])
    start = server.ask("GET", "experiments")[1][0]["start"]
    graph = server.model(f"{output}/states", {"requested_timerange": {"start": start, "end": start + 30 * MS, "nbTimes": 3001},
                                              "requested_items": [one["id"] for one in entries]})["rows"]
    found = {parents[row["entryId"]]: [(one.get("style", {}).get("parentKey"), one["end"] - one["start"]) for one in row["states"]]
             for row in graph if row["states"]}
    tap.ok(styles == {"mpi.compute", "mpi.wait"} and
           found == {"rank 0": [("mpi.compute", 30 * MS)],
                     "rank 9": [("mpi.compute", 9 * MS), ("mpi.wait", 11 * MS), ("mpi.compute", 10 * MS)],
                     "rank 10": [("mpi.compute", 10 * MS), ("mpi.wait", 20 * MS)]},
           "and how long each row was in which state", styles, found)
    tip = server.model(f"{output}/tooltip", {"requested_times": [start + 15 * MS], "requested_items": [entries[3]["id"]]})
    tap.ok(tip.get("State") == "at the barrier", "and what it is called", tip)
    server.process.terminate()
    plain = Server(lull, {**os.environ, "XDG_CACHE_HOME": scratch.name}, where)
    tap.ok(plain.ask("GET", f"{experiment}/lull.states")[0] == 404, "without a file there is no such view")
    plain.process.terminate()


# ---- mistakes ----

TWENTY = [("what is this", 5), ("row", 5), ("row fields.", 5), ("title 5", 11), ("states 5", 12), ("start nowhere", 11), ("task +", 10),
          ("keep a, a", 13), ("number a", 12), ("lost never", 10), ("on name = \"x\" : s", 13),
          ("on name == \"x : s", 16), ("on name == \"x\" : t", 22), ("on a == 1 if row.z == 1 : s", 22),
          ("on row.state == \"s\" : s", 8), ("on a == 1 at (1, 2) : s", 15), ("on a == 1 : p = 2", 17),
          ("after 5s : s", 14), ("after 0s in s : s", 11), ("on time > 5 : s", 8)]


def check_mistakes():
    lines = ["group g {", "    row p = a", "    states s"] + ["    " + line for line, _ in TWENTY] + ["}"]
    path = write("twenty.states", "\n".join(lines) + "\n")
    done = run("--states", path, scratch.name)
    places = [line.split(": ")[1 if line.startswith("lull") else 0] for line in done.stderr.splitlines() if path in line]
    expected = [f"{path}:{number + 4}" for number in range(len(TWENTY))]
    tap.ok(done.returncode == 2, "mistakes end with 2", done)
    tap.ok([place.rsplit(":", 1)[0] for place in places] == expected, "each of twenty mistakes is shown, by its line",
           done.stderr)
    tap.ok(done.stderr.count("^\n") == len(TWENTY), "each with a caret", done.stderr)
    for duration in ("5", "0x10", "5kB", "0ms", "1.5"):
        text = f'group g {{ row n states a, b on name == "e" : a after {duration} in a : b }}'
        done = run("--states", write("duration.states", text), trace("nothing-" + duration, [at(MS, "e", n=1)]))
        tap.ok(done.returncode == 2 and ":1:54: expected a duration with its unit, such as 100ms" in done.stderr, f"after {duration}: refused", done)
    columns = [int(place.rsplit(":", 1)[1]) for place in places]
    tap.ok(columns == [column for _, column in TWENTY], "and its column",
           [(line, column, found) for (line, column), found in zip(TWENTY, columns) if column != found])
    for text, reason in (("", "no group"), ("group g { }", "no row"), ("group g { row p = a\n", "expected }"),
                         ("group g { row p = a }\ngroup g { row p = a }", "already"), ("}", "expected group"),
                         ("`", "means nothing"), ("@@ group g { row p = a }", "means nothing"), ("group g { row", "expected a key"),
                         ("group g {\n row p = a\n keep x\n states s\n on a == 1 : s, x = h[1].z\n}\n"
                          "group h { row p = a }", "has no “z”")):
        done = run("--states", write("wrong.states", text), scratch.name)
        tap.ok(done.returncode == 2 and reason in done.stderr and "^" in done.stderr, f"{reason}: shown", text, done)
    head = "group g {\n row p = a\n states s\n on a == 1 : s\n}\n"
    for text, reason in (("more h {\n on a == 2 : s\n}\n" + head, "no group “h” before"), (head + "more g {\n states t\n}", "has rules only"),
                         (head + "more g {\n on a == 2 : t\n}", "no state “t”"), (head + "more g {\n on a == 2 : s\n", "expected }"),
                         (head + "more {\n}", "expected the name"), (head + "more nix {\n on what == : ever\n also\n}\n", "no group “nix”"),
                         (head + "more g {\n on a == 1 if exists(1) : s\n}", "takes a field, or what a row has"),
                         (head + "more g {\n on a == 1 if g[1]?state == 1 : s\n}", "a point and a name"),
                         (head + "more g {\n on a == 1 if " + "g[" * 9 + "1" + "].p" * 9 + " == 1 : s\n}", "at most 8 deep"),
                         (head + "more g {\n on a == 1 if " + "g[" * 100000 + "\n}", "at most 8 deep"),
                         (head + "more g {\n}\n" * 1000, "at most 1000 groups and more")):
        done = run("--states", write("wrong.states", text), scratch.name)
        tap.ok(done.returncode == 2 and reason in done.stderr and "^" in done.stderr and done.stderr.count("^") == 1, f"{reason}: shown", text[:200], done)
    done = run("--states", os.path.join(scratch.name, "nowhere"), scratch.name)
    tap.ok(done.returncode == 1 and "nowhere" in done.stderr, "a file that is not there", done)
    done = run(scratch.name)
    tap.ok(done.returncode == 2 and "--states" in done.stderr, "no file", done)



def check_help():
    page = os.path.join(os.path.dirname(lull), "man", "lull-states.7")
    with open(page, encoding="utf-8") as file:
        kept = "".join(re.findall(r"^\.nf\n(.*?)^\.fi", file.read(), re.M | re.S))
    text = re.sub(r"\\\(aq", "'", kept).replace(r"\-", "-").replace(r"\(ha", "^")
    path = write("help.states", text)
    pool = trace("help", [at(MS, "db:get", pool_id="main", conn=7), at(3 * MS, "db:put", pool_id="main", conn=7),
                          at(4 * MS, "db:get", pool_id="main", conn=7), at(6000 * MS, "db:shutdown", pool_id="main", conn=0)])
    found, expected = log_of(path, pool), [("in use", MS, 3 * MS), ("free", 3 * MS, 4 * MS), ("in use", 4 * MS, 5004 * MS),
                                           ("in use for over 5 s", 5004 * MS, 6000 * MS)]
    tap.ok(list(found.values()) == [expected], "the example of lull-states(7) does what its text says", found)
    shown = run("states", verb="help").stdout
    tap.ok("lost keep" in shown and "group pool" in shown, "help states describes the language", shown)


def check_helpers():
    """A group that only keeps things for others."""
    path = write("helpers.states", 'group last {\n row k = 0\n keep what\n on name == "a" : what = n\n}\n'
                 'group g {\n row w = n\n states s\n on name == "b" at (last[0].what) : s\n}\n')
    where = trace("helpers", [at(0, "a", n=7), at(MS, "b", n=1), at(3 * MS, "b", n=1)])
    found = [(line["of"], line["row"], line["state"], line["ns"]) for line in tables(path, where)["states"]]
    tap.ok(found == [("g", "7", "s", 2 * MS), ("g", "7", None, MS)], "what only keeps things is not shown", found)
    found = [(line["of"], line["row"], line["state"]) for line in tables(path, where, "--group", "last")["states"]]
    tap.ok(found == [("last", "0", None)], "but if it is asked for", found)


def check_warnings():
    where = trace("warned", [at(1000, "x", a=1), at(2000, "x", a=1)])
    path = write("warned.states", "group g {\n    row a\n    states s, t\n    on name == \"x\" : s\n"
                 "    on name == \"x\" : s\n    on name == \"nix\" if row.state != \"s\" : s\n}\n")
    done = run("--states", path, where)
    for line, column, reason in ((3, 15, "no rule uses"), (5, 5, "earlier rule"), (6, 35, "not unequal")):
        tap.ok(f"{path}:{line}:{column}: warning: " in done.stderr and reason in done.stderr, f"warning: {reason}",
               done.stderr)
    tap.ok("“nix”" in done.stderr and done.returncode == 0, "an event that no trace declares is named", done)


# ---- what is shown ----

def states_of(path, where, *arguments):
    return {(line["of"], line["row"], line["state"]): (line["ns"], line["times"], line["longest_ns"])
            for line in tables(path, where, *arguments)["states"]}


def check_tables():
    events = [at(1000, "other", p=0), at(1100, "go", p=7), at(1300, "stop", p=7), at(1400, "go", p=7),
              at(1900, "other", p=0)]
    where = trace("tables", events)
    path = write("tables.states", "group g \"Things\" {\n    row p\n    title \"no. {p}\"\n    states on_ \"at work\", off\n"
                 "    on name == \"go\" : on_\n    on name == \"stop\" : off\n}\n")
    expected = {("Things", "no. 7", "at work"): (700, 2, 500), ("Things", "no. 7", "off"): (100, 1, 100),
                ("Things", "no. 7", None): (100, 1, 100)}
    tap.ok(states_of(path, where) == expected, "time, times and longest of each state", states_of(path, where))
    found = states_of(path, where, "--begin", "+200ns", "--end", "+450ns")
    tap.ok(found == {("Things", "no. 7", "at work"): (150, 2, 100), ("Things", "no. 7", "off"): (100, 1, 100)},
           "states before --begin are known, and cut there", found)
    done = run("--json", "--states", path, "--refresh", "300ns", where)
    windows = json.loads(done.stdout)["windows"]
    slices = [sum(line["ns"] for line in window["tables"].get("states", [])) for window in windows]
    tap.ok(slices == [300, 300, 300], "--refresh: the life of the row in each slice", slices)
    done = run("--json", "--states", path, "--row", "no. 8", where)
    tap.ok(not json.loads(done.stdout)["windows"][0]["tables"], "--row chooses by title", done)
    done = run("--states", path, "--group", "x", where)
    tap.ok(done.returncode == 1 and "no group" in done.stderr, "--group that the file lacks", done)


def check_numbers():
    events = [at(0, "f", cpu_id=0, state=2_000_000), at(0, "sched_switch", prev_tid=1, next_tid=0),
              at(3 * MS, "sched_switch", prev_tid=0, next_tid=1),
              at(4 * MS, "cpu_frequency", cpu_id=0, state=1_000_000),
              at(6 * MS, "cpu_frequency", cpu_id=0, state=3_000_000), at(10 * MS, "end", x=1)]
    where = trace("numbers", events)
    found = {(line["state"], line["unit"]): (line["known_ns"], line["min"], line["max"], line["avg"], line["cycles"])
             for line in tables(example("cpu"), where)["numbers"]}
    # 2 ms at 1 GHz and 4 ms at 3 GHz.
    expected = {("busy", "kHz"): (6 * MS, 1e6, 3e6, 14e6 / 6, 14 * MS)}
    tap.ok(found == expected, "a frequency while busy: minimum, maximum, average and cycles", found)


def check_times():
    """When an event was is a number."""
    path = write("times.states", "group g {\n row n\n keep last\n number gap\n states s\n on name == \"e\" && $timestamp >= 2000 && $timestamp != 5000 "
                 "&& due <= $timestamp : s, gap = $timestamp, gap -= row.last, last = $timestamp\n}\n")
    times = (1000, 2000, 3000, 5000, 7500, 9000)
    where = trace("times", [at(time, "e", n=1, due=8000 if time == 7500 else 0) for time in times] + [at(10000, "end", n=1)])
    log = [line["time_range"]["begin_ns"] for line in tables(path, where, "--log")["log"] if line["state"] == "s"]
    gaps = [(line["min"], line["max"]) for line in tables(path, where)["numbers"]]
    tap.ok(log == [2000], "times are compared with numbers and fields", log)
    # At 3000, and at 9000; nothing was kept at 2000, and subtracting that does nothing.
    tap.ok(gaps == [(1000, 6000)], "times are kept and subtracted", gaps)
    done = run("--states", write("time.states", "group g { row n states s on time > 5 : s }"), where)
    tap.ok(done.returncode == 2 and "$timestamp is when" in done.stderr, "time is no word of rules", done)


def check_pool():
    events = [at(1, "db:get", pool_id=1, conn=4), at(2_000_000_001, "db:put", pool_id=1, conn=4),
              at(3_000_000_001, "db:get", pool_id=1, conn=4), at(10_000_000_001, "db:put", pool_id=1, conn=4),
              at(11_000_000_001, "db:close", pool_id=1, conn=4), at(12_000_000_001, "end", x=1)]
    found = states_of(example("connections"), trace("pool", events))
    second = 1_000_000_000
    tap.ok(found == {("Connections", "1, 4", "busy"): (7 * second, 2, 5 * second),
                     ("Connections", "1, 4", "busy for over 5 s"): (2 * second, 1, 2 * second),
                     ("Connections", "1, 4", "free"): (2 * second, 2, second)}, "connections: free, busy, stale", found)


def switch(time, cpu, leaves, state, enters):
    return {"t": time, "n": "sched_switch", "pc": {"cpu_id": cpu},
            "p": {"prev_comm": leaves[0], "prev_tid": leaves[1], "prev_prio": 20, "prev_state": state,
                  "next_comm": enters[0], "next_tid": enters[1], "next_prio": 20}}


# A task works from 1 to 10 ms, and is stuck from 6 ms on; it sleeps from 3 to 8 ms until its mate wakes it, and runs
# from 9 ms on. A second part takes 1 ms.
PARTS = """group parts {
    row part
    keep owner
    states busy, stuck, idle
    task $tid
    on name == "work" : busy, owner = $comm
    on name == "rest" : idle
    after 5ms in busy : stuck
}
"""


def parts_trace():
    idle, rank, mate = ("swapper", 0), ("rank", 10), ("mate", 11)
    waking = {"t": 8 * MS, "n": "sched_waking", "pc": {"cpu_id": 1},
              "p": {"comm": "rank", "tid": 10, "prio": 20, "target_cpu": 0}}
    return [switch(0, 0, idle, 0, rank), switch(0, 1, idle, 0, mate), at(MS, "work", part=1),
            switch(3 * MS, 0, rank, 1, idle), waking, switch(9 * MS, 0, idle, 0, rank), at(10 * MS, "rest", part=1),
            at(12 * MS, "work", part=2), at(13 * MS, "rest", part=2), switch(20 * MS, 0, rank, 1, idle),
            switch(20 * MS, 1, mate, 1, idle)]


def check_periods():
    where, path = trace("parts", parts_trace()), write("parts.states", PARTS)
    busy, stuck = f"{path}:parts.busy", f"{path}:parts.stuck"
    done = run("--json", "--period", busy, "--period", stuck, where, verb="periodlog")
    log = [(line["period"], line["begin_ns"] // MS, line["end_ns"] // MS, line["begin_captures"], line["task"]["tid"])
           for line in json.loads(done.stdout)["windows"][0]["tables"]["log"]]
    first, second = "part = 1, owner = rank", "part = 2, owner = rank"
    tap.ok(log == [("parts.busy", 1, 6, first, 10), ("parts.stuck", 6, 10, first, 10), ("parts.busy", 12, 13, second, 10)],
           "states as periods: when, what the row keeps, whose", log)
    done = run("--json", "--period", stuck, where, verb="cputop")
    ran = {line["process"]["tid"]: line["cpu_ns"] // MS
           for window in json.loads(done.stdout)["windows"] for line in window["tables"]["per-process"]}
    tap.ok(ran == {10: 1, 11: 4}, "an analysis in a state that starts without an event", ran, done)
    done = run("--json", "--period", busy, where, verb="critpath")
    path_sum = {(line["comm"], line["state"]): line["duration_ns"] // MS for line in json.loads(done.stdout)["sum"]}
    tap.ok(path_sum == {("rank", "running"): 3, ("mate", "running"): 3}, "the critical paths of a state", path_sum)
    done = run("--period", busy, where, verb="why")
    tap.ok(done.returncode == 0 and "2 instances" in done.stdout, "lull why takes the state", done)
    event = 'x : $evt.$name == "work" : $evt.$name == "rest"'
    for arguments, reason in ((("--period", f"{path}:parts.nix"), "declares no"), (("--period", f"{path}:nix.busy"), "declares no"),
                              (("--period", busy, "--period", event), "the same time"),
                              (("--period", busy, "--period", busy), "twice"),
                              (("--period", busy, "--period", example("mpi") + ":mpi.wait"), "one file"),
                              (("--period", busy, "--period-captures", "x : $evt.a"), "captures of a state"),
                              (("--period", write("bad.states", "group") + ":g.s"), "^")):
        done = run(*arguments, where, verb="cputop")
        tap.ok(done.returncode == 2 and reason in done.stderr, f"{reason}: refused", done)


def check_losses():
    """Events are lost after the 20th of 40, each of which puts one of three rows into the other state: no row is in a state that was
    seen from the 20th event on until its next one. So with rows of integers, and with those of texts, which the engine finds another way."""
    events = [at(1000 * i, "e", id=i % 3, who=f"n{i % 3}", lit=i // 3 % 2) for i in range(40)]
    where = os.path.join(scratch.name, "losses")
    jsonl_to_ctf.write_trace(events, where, lost=5, early=True)
    expected = {}
    for row in range(3):
        starts = [(i, ("dark", "lit")[i // 3 % 2]) for i in range(row, 40, 3)]
        changes = [(0, "?"), *(one for one in starts if one[0] < 20), (19, "?"), *(one for one in starts if one[0] >= 20)]
        expected[row] = [(state, 1000 * start, 1000 * end) for (start, state), (end, _) in zip(changes, changes[1:] + [(39, "")])
                         if start < end]
    for key in ("id", "who"):
        rules = 'states dark, lit on name == "e" && lit == 0 : dark on name == "e" : lit'
        path = write("losses.states", f"group g {{ row {key} {rules} }}")
        found = log_of(path, where)
        wanted = {("g", f"{'n' if key != 'id' else ''}{row}"): pieces for row, pieces in expected.items()}
        tap.ok(found == wanted, f"events lost between those of rows by {key}", (found, wanted))


def check_lost_at_end():
    """Both rows come into a state, and then events of their CPU are missing until the recording ends."""
    def write_packet(path, cpu, records, *_):
        body = b"".join(data for _, data in records)
        size = 8 * (12 + 5 * 8 + 4 + len(body))
        with open(path, "wb") as stream:
            stream.write(struct.pack("<IQQQQQQI", 0xC1FC1FC1, 0, size, size, records[0][0], 9000, 0 if cpu else 5, cpu) + body)
    where, write_stream = os.path.join(scratch.name, "lost_at_end"), jsonl_to_ctf.write_stream
    jsonl_to_ctf.write_stream = write_packet
    try:
        jsonl_to_ctf.write_trace([at(1000, "e", id=0), at(2000, "e", id=1), at(4000, "e", id=0), {**at(9000, "other", id=3), "pc": {"cpu_id": 1}}], where)
    finally:
        jsonl_to_ctf.write_stream = write_stream
    found = log_of(write("end.states", 'group g { row id states lit on name == "e" : lit }'), where)
    wanted = {("g", "0"): [("lit", 1000, 4000), ("?", 4000, 9000)], ("g", "1"): [("?", 1000, 2000), ("lit", 2000, 4000), ("?", 4000, 9000)]}
    tap.ok(found == wanted, "events lost after the last one", found, wanted)


def check_kernel():
    # While it runs after its wake-up, it is in poll for 0.4 ms.
    calls = [at(9_200_000, "syscall_entry_poll", nfds=1, timeout_msecs=0), at(9_600_000, "syscall_exit_poll", ret=0)]
    events = sorted(parts_trace() + calls, key=lambda event: (event["t"], event["pc"]["cpu_id"]))
    where, path = trace("kernel", events), write("parts.states", PARTS)
    shown = tables(path, where, "--kernel")
    found = {(line["row"], line["state"], line["task"], line["cause"], line["call"]): line["ns"] // 1000
             for line in shown["kernel"]}
    expected = {("1", None, None, None, None): 1000, ("1", "busy", "running", None, None): 2000,
                ("1", "busy", "blocked", "task", None): 3000, ("1", "stuck", "blocked", "task", None): 2000,
                ("1", "stuck", "woken", None, None): 1000, ("1", "stuck", "running", None, None): 600,
                ("1", "stuck", "running", None, "poll"): 400, ("1", "idle", "running", None, None): 10000,
                ("2", None, None, None, None): 12000, ("2", "busy", "running", None, None): 1000,
                ("2", "idle", "running", None, None): 7000}
    tap.ok(found == expected, "--kernel: what the task did in each state", found)
    # It is woken at 8 ms; nothing after that says what it did.
    found = {(line["row"], line["state"], line["task"]): line["ns"] // 1000
             for line in tables(path, where, "--kernel", "--row", "1", "--begin", "+2ms", "--end", "+8500us")["kernel"]}
    tap.ok(found == {("1", "busy", "running"): 1000, ("1", "busy", "blocked"): 3000, ("1", "stuck", "blocked"): 2000,
                     ("1", "stuck", None): 500}, "and of a part of the time", found)
    done = run("--states", path, "--kernel", "--refresh", "1ms", where)
    tap.ok(done.returncode == 2 and "--refresh" in done.stderr, "--kernel with --refresh: refused", done)
    # Nothing is known of what tasks did, and why.
    nobody = write("nobody.states", 'group g { row n states a on name == "e" : a }')
    own = [at(MS, "e", n=1), at(4 * MS, "e", n=2)]
    said = [run("--states", file, "--kernel", path).stdout.count("what tasks did in each state is not known" + why)
            for file, path, why in ((nobody, trace("unscheduled", own), ": scheduling"),
                                    (nobody, trace("scheduled", sorted(own + parts_trace(), key=lambda event: event["t"])),
                                     " of the group g: it has no task"), (path, where, ""))]
    tap.ok(said == [1, 1, 0], "where --kernel knows nothing a note says why", said)


def check_kernel_sums():
    # Four CPUs switch among tasks by chance, wake and call as they like: every nanosecond of a state is in one line.
    chance, events = random.Random(11), []
    running = {cpu: 0 for cpu in range(4)}
    for time in range(1, 4000):
        cpu = chance.randrange(4)
        kind = chance.randrange(5)
        if kind < 2:
            free = [tid for tid in [0, *range(10, 18)] if tid == 0 or tid not in running.values()]
            tid = chance.choice(free)
            events.append(switch(time * 1000, cpu, (f"t{running[cpu]}", running[cpu]), chance.choice((0, 1, 2)), (f"t{tid}", tid)))
            running[cpu] = tid
        elif kind == 2:
            event = {"p": {"comm": "t", "tid": chance.randrange(10, 18), "prio": 20, "target_cpu": 0}, "n": "sched_waking"}
            events.append({"t": time * 1000, "pc": {"cpu_id": cpu}, **event})
        elif running[cpu]:
            name = chance.choice(("work", "rest", "syscall_entry_poll", "syscall_exit_poll"))
            events.append({"t": time * 1000, "n": name, "p": {"part": running[cpu], "nfds": 1, "timeout_msecs": 0, "ret": 0},
                           "pc": {"cpu_id": cpu}})
    shown = tables(write("sums.states", PARTS.replace("5ms", "100us")), trace("sums", events), "--kernel")
    sums = {}
    for line in shown["kernel"]:
        sums[line["row"], line["state"]] = sums.get((line["row"], line["state"]), 0) + line["ns"]
    tap.ok(sums == {(line["row"], line["state"]): line["ns"] for line in shown["states"]},
           "--kernel: sums are the times of the states, to the nanosecond", sums)
    tap.ok({"running", "preempted", "woken", "blocked"} <= {line["task"] for line in shown["kernel"]},
           "and tasks did all they can", shown["kernel"])
    # Who is on a CPU, straight from the switches.
    ran, since = {}, {}
    for event in events:
        if event["n"] == "sched_switch":
            cpu, tid = event["pc"]["cpu_id"], event["p"]["prev_tid"]
            if tid and cpu in since:
                ran[tid] = ran.get(tid, 0) + event["t"] - since[cpu]
            since[cpu] = event["t"]
    found = {}
    for line in shown["kernel"]:
        if line["task"] == "running":
            found[int(line["row"])] = found.get(int(line["row"]), 0) + line["ns"]
    tap.ok(found and all(ns <= ran[tid] + 4_000_000 - since_last(events, tid) for tid, ns in found.items()),
           "and no task ran for longer than it had a CPU", found, ran)


def since_last(events, tid):
    """When the task got a CPU that it never gave back; else the end."""
    last = [event for event in events if event["n"] == "sched_switch" and tid in (event["p"]["prev_tid"], event["p"]["next_tid"])]
    return last[-1]["t"] if last and last[-1]["p"]["next_tid"] == tid else 4_000_000


# Truth: the times between the events of each rank, in ms, added up by a script of its own.
MPI = {0: (50.530, 150.440), 1: (100.555, 100.844), 2: (150.507, 50.950), 3: (200.481, 0.486)}


def check_mpi():
    # Four ranks, three barriers: rank r works (r + 1) ms before each, the slowest lets all go.
    events = [at(r, "mpi:init", rank=r) for r in range(4)]
    for barrier in range(3):
        start = barrier * 4 * MS
        events += [at(start + (r + 1) * MS + r, "mpi:barrier_begin", rank=r) for r in range(4)]
        events += [at(start + 4 * MS + 4 + r, "mpi:barrier_end", rank=r) for r in range(4)]
    events.sort(key=lambda event: event["t"])
    events += [at(12 * MS + 10 + r, "mpi:finalize", rank=r) for r in range(4)]
    found = states_of(example("mpi"), trace("mpi", events))
    good = all(abs(found["MPI ranks", f"rank {r}", "compute"][0] - 3 * (r + 1) * MS) < 100 and
               abs(found["MPI ranks", f"rank {r}", "at the barrier"][0] - 3 * (3 - r) * MS) < 100 for r in range(4))
    tap.ok(good, "ranks compute and wait as they were made to", found)
    nobody = run("--states", example("mpi"), "--row", "nobody", os.path.join(scratch.name, "mpi"))
    tap.ok(nobody.returncode == 0 and not nobody.stderr, "without a row there is nothing to count", nobody.stderr)
    real = recording("mpi")
    if not real:
        tap.skip("four ranks at a barrier", "the recording is not here")
        return
    found = states_of(example("mpi"), real)
    good = all(abs(found["MPI ranks", f"rank {rank}", "compute"][0] / MS - compute) < 0.001 and
               abs(found["MPI ranks", f"rank {rank}", "at the barrier"][0] / MS - wait) < 0.001
               for rank, (compute, wait) in MPI.items())
    tap.ok(good, "four ranks at a barrier", found)
    between = 'x : $evt.$name == "mpi:barrier_begin" : $evt.$name == "mpi:barrier_end" && $evt.rank == $begin.$evt.rank'
    logs = [[(line["begin_ns"], line["end_ns"], line["task"]) for line in
             json.loads(run("--json", "--period", period, real, verb="periodlog").stdout)["windows"][0]["tables"]["log"]]
            for period in (example("mpi") + ":mpi.wait", between)]
    tap.ok(logs[0] == logs[1] and len(logs[0]) == 20, "waiting as a period is what lies between its events", logs)


def check_busy_ranks():
    """OpenMPI's barrier as tests/programs/mpi-ranks.c met it, four ranks on two CPUs. Truth: each rank's own clocks, which it read around
    its calls. Between these readings and the events lie some microseconds at each of five barriers: 0.12 ms in all are allowed."""
    with tarfile.open(os.path.join(source, "tests", "data", "openmpi.tar.xz")) as archive:
        archive.extractall(scratch.name)
    where = os.path.join(scratch.name, "openmpi")
    with open(os.path.join(where, "truth.txt"), encoding="utf-8") as file:
        truth = {int(line.split()[1]): [float(word) * 1e3 for word in re.findall(r"\d+\.\d+", line)] for line in file}
    shown = tables(example("mpi"), where, "--kernel")
    sums, tasks = {}, {}
    for line in shown["states"]:
        sums[line["row"], line["state"]] = line["ns"] / MS
    for line in shown["kernel"]:
        for key in (line["task"], line["call"]):
            tasks[line["row"], line["state"], key] = tasks.get((line["row"], line["state"], key), 0) + line["ns"] / MS
    barrier = "at the barrier"
    for rank, (compute, wait, running) in truth.items():
        row = f"rank {rank}"
        found = (sums[row, "compute"], sums[row, barrier], tasks[row, barrier, "running"])
        tap.ok(all(abs(a - b) < 0.12 for a, b in zip(found, (compute, wait, running))),
               f"{row} of OpenMPI computes, waits, and runs while it waits, as its clocks say", (found, truth[rank]))
        tap.ok((row, barrier, "blocked") not in tasks, f"{row} never sleeps at the barrier")
        tap.ok(tasks[row, "compute", "blocked"] > 0.97 * sums[row, "compute"], f"{row} sleeps where it is said to compute", tasks)
    first = tasks["rank 0", barrier, "running"] / sums["rank 0", barrier]
    tap.ok(first > 0.97 and tasks["rank 0", barrier, "sched_yield"] > 0.5 * sums["rank 0", barrier],
           "the first at the barrier runs there all the time, most of it in sched_yield", tasks)


# Truth: a script that knows nothing of Lull, over the plain events of the recording.
CPUS = {("CPU 0", "busy"): 4039598460, ("CPU 0", "idle"): 706773400, ("CPU 0", None): 29888370,
        ("CPU 1", "busy"): 4287915690, ("CPU 1", "idle"): 480049700, ("CPU 1", None): 8294840}


def check_cpus():
    real = recording("vm")
    if not real:
        tap.skip("CPUs of a recording", "it is not here")
        return
    found = states_of(example("cpu"), real, "--host", "host", "--no-sync")
    found = {(row, state): ns for (_, row, state), (ns, _, _) in found.items()}
    tap.ok(found == CPUS, "CPUs of a recording, to the nanosecond", found)


tap.run("random files", check_random)
tap.run("store", check_store)
tap.run("tasks in the store", check_stored_tasks)
tap.run("served", check_served)
tap.run("mistakes", check_mistakes)
tap.run("help", check_help)
tap.run("helpers", check_helpers)
tap.run("warnings", check_warnings)
tap.run("tables", check_tables)
tap.run("numbers", check_numbers)
tap.run("times", check_times)
tap.run("pool", check_pool)
tap.run("periods", check_periods)
tap.run("losses", check_losses)
tap.run("losses at the end", check_lost_at_end)
tap.run("kernel", check_kernel)
tap.run("sums of kernel", check_kernel_sums)
tap.run("mpi", check_mpi)
tap.run("busy ranks", check_busy_ranks)
tap.run("cpus", check_cpus)
sys.exit(tap.done())
