#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The question of the page's Events view: pages put together are all events, in both directions and with any limits. The events are
# written here; those of a recorded trace are compared with what Babeltrace 2 reads, where that is installed.
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from lib import jsonl_to_ctf
from server.serving import Server, environment
from tap import Tap, scratch

lull = os.environ["LULL"]
tap = Tap()
START = 10**18
TIDS = (100, 200)


def made_events():
    """300 events of two CPUs, of which many have the same time, and each has its number. One CPU is switched from task to task."""
    numbers = random.Random(5)
    found, at = [], 0
    for cpu, tid in enumerate(TIDS):
        found.append({"t": START, "n": "sched_switch", "pc": {"cpu_id": cpu}, "sec": {"number": -1},
                      "p": {"prev_comm": "swapper", "prev_tid": 0, "prev_prio": 20, "prev_state": 0,
                            "next_comm": f"task{cpu}", "next_tid": tid, "next_prio": 20}})
    for number in range(300):
        at += numbers.choice((0, 0, 0, 1, 1000, 10**6))
        found.append({"t": START + 1000 + at, "n": numbers.choice(("alpha", "beta")), "pc": {"cpu_id": numbers.randrange(2)},
                      "sec": {"number": number}, "p": {"text": f"needle{number}" if number in (40, 222) else "Straw (hay)", "value": number % 7}})
    # Of equal times, those of the stream that was added first come first.
    return sorted(found, key=lambda one: (one["t"], one["pc"]["cpu_id"]))


def ask(server, **parameters):
    status, _, data = server.raw("POST", f"{server.base}api/events", json.dumps({"parameters": parameters}).encode())
    return status, json.loads(data)


def number_of(row):
    return int(re.search(r"number = (-?\d+)", row[5])[1])


def walk(server, count, place, **more):
    """All rows from a place on in pages, in the order in which they come in the trace."""
    rows, is_end = [], False
    while not is_end:
        status, answer = ask(server, count=count, **place, **more)
        assert status == 200, answer
        page, is_end = answer["rows"], answer["is_end"]
        rows = rows + page if count > 0 else page + rows
        if len(page) == abs(count):
            edge = page[-1] if count > 0 else page[0]
            place = {"time": edge[0], "index": edge[1] + (count > 0)}
        else:
            place = {"time": answer["reached"]}
    return rows


def check_pages(server, events):
    expected = [event["sec"]["number"] for event in events]
    end = events[-1]["t"] - START + 1
    for count in (1, 7, 500):
        forward = walk(server, count, {"time": 0})
        tap.ok([number_of(row) for row in forward] == expected, f"pages of {count} together are all events", [number_of(row) for row in forward])
        backward = walk(server, -count, {"time": end})
        tap.ok(backward == forward, f"and so they are backwards in pages of {count}", [number_of(row) for row in backward])
    tap.ok([row[0] for row in forward] == [event["t"] - START for event in events] and [row[3] for row in forward] ==
           [event["pc"]["cpu_id"] for event in events] and [row[4] for row in forward] == [event["n"] for event in events],
           "with their times, CPUs and names")
    trace = json.loads(server.raw("POST", f"{server.base}api/trace", b'{"parameters":{}}')[2])
    tids = [trace["rows"][row[6]][4] if row[6] >= 0 else None for row in forward[2:]]
    tap.ok(tids == [TIDS[event["pc"]["cpu_id"]] for event in events[2:]], "and who was on the CPU", tids[:20])
    fields = forward[5][5]
    payload = events[5]["p"]
    tap.ok(fields == f'text = "{payload["text"]}", value = {payload["value"]} (number = {expected[5]})', "fields come before contexts", fields)
    middle = forward[150]
    around = walk(server, -9, {"time": middle[0], "index": middle[1]})
    tap.ok(around == forward[:150] and walk(server, 9, {"time": middle[0], "index": middle[1]}) == forward[150:],
           "a place between events of one time divides them")


def check_limits(server, events):
    first, last = events[80]["t"] - START, events[200]["t"] - START
    expected = [event["sec"]["number"] for event in events if first <= event["t"] - START < last]
    for count in (13, -13):
        found = walk(server, count, {"time": first if count > 0 else last}, start=first, end=last)
        tap.ok([number_of(row) for row in found] == expected, f"a range has what lies in it ({count})", len(found), len(expected))
    expected = [event["sec"]["number"] for event in events if event["n"] == "beta" and event["p"]["value"] == 3]
    for count in (4, -4):
        found = walk(server, count, {"time": 0 if count > 0 else events[-1]["t"] - START + 1}, filter='name == "beta" && value == 3')
        tap.ok(len(expected) > 9 and [number_of(row) for row in found] == expected, f"a filter leaves the same ({count})", found[:3], expected)
    tap.ok(len(walk(server, 500, {"time": 0})) == len(events), "and without it all are there again")


def find(server, text, place, count):
    while True:
        answer = ask(server, find=text, count=count, **place)[1]
        if answer["rows"] or answer["is_end"]:
            return [number_of(row) for row in answer["rows"]]
        place = {"time": answer["reached"]}


def check_find(server, events):
    end = {"time": events[-1]["t"] - START + 1}
    tap.ok(find(server, "NEEDLE", {"time": 0}, 1) == [40] and find(server, "needle", end, -1) == [222], "a text is found from both sides")
    row = next(row for row in walk(server, 500, {"time": 0}) if number_of(row) == 40)
    tap.ok(find(server, "needle", {"time": row[0], "index": row[1] + 1}, 1) == [222] and
           find(server, "needle", {"time": row[0], "index": row[1]}, -1) == [], "and after a place, or before it")
    tap.ok(find(server, "no such text", {"time": 0}, 1) == [], "or not at all")


def check_refused(server):
    for name, parameters in (("no count", {}), ("too many", {"count": 501}), ("a filter that is wrong", {"count": 5, "filter": "name =="}),
                             ("a filter of a field that nothing has", {"count": 5, "filter": "nonsense == 5"})):
        status, answer = ask(server, **parameters)
        tap.ok(status in (400, 404) and answer["detail"], f"{name} is refused", status, answer)
    extreme = {"time": -2**63, "start": -2**63, "end": 2**63 - 1, "index": 2**63 - 1}
    tap.ok(all(ask(server, count=count, **extreme)[0] == 200 for count in (500, -500)), "extreme places are places")


def check_recorded(trace):
    """Names and times of a page in the middle, against Babeltrace 2."""
    if not shutil.which("babeltrace2"):
        tap.skip("pages of a recorded trace", "there is no babeltrace2")
        return
    lines = subprocess.run(["babeltrace2", "--no-delta", "--clock-seconds", "--names=none", trace], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [(int(found[1].replace(".", "")), found[2]) for found in (re.match(r"\[(\d+\.\d{9})\] \S+ ([\w:]+):", line) for line in lines)]
    server = Server(lull, env, "--no-browser", trace, verb="view")
    start = int(json.loads(server.raw("POST", f"{server.base}api/trace", b'{"parameters":{}}')[2])["start"])
    at = len(expected) // 2
    place = {"time": expected[at][0] - start}
    rows = ask(server, count=200, **place)[1]["rows"]
    before = ask(server, count=-200, **place)[1]["rows"]
    first = next(i for i, one in enumerate(expected) if one[0] == expected[at][0])
    tap.ok([(row[0] + start, row[4]) for row in rows] == expected[first:first + 200] and
           [(row[0] + start, row[4]) for row in before] == expected[first - 200:first], f"pages of {len(expected)} recorded events are what Babeltrace 2 reads",
           rows[:2], expected[first:first + 2])
    server.end()


cache = scratch("lull-events-")
env = environment(cache)
with tempfile.TemporaryDirectory(prefix="lull-events-") as directory:
    written = made_events()
    jsonl_to_ctf.write_trace(written, os.path.join(directory, "made"), {"hostname": "box"})
    try:
        view = Server(lull, env, "--no-browser", os.path.join(directory, "made"), verb="view")
    except RuntimeError as failure:
        if "without" not in str(failure):
            raise
        tap.skip("pages of events", "built without it")
        sys.exit(tap.done())
    for check in (check_pages, check_limits, check_find):
        tap.run(check.__name__, check, view, written)
    tap.run("refused", check_refused, view)
    tap.ok(view.end()[0] == 0, "it ends")
tap.run("recorded", check_recorded, os.path.join(os.environ["LULL_SAMPLES"], "django", "db"))
sys.exit(tap.done())
