#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What disks and network interfaces moved, and the cycles of CPUs, as the page of lull view asks: against a trace of which all is
# known, against sums of the events of a recording in random ranges, and against lull iousagetop, iolatencystats and nettop.
import bisect
import json
import os
import random
import subprocess
import sys
import tempfile

from server.meters_trace import MS, known_trace
from server.serving import Server, environment
from tap import Tap, scratch

lull = os.environ["LULL"]
tap = Tap()
cache = scratch("lull-meters-")
env = environment(cache)


def ask(server, what, **parameters):
    """(status, object)."""
    status, _, data = server.raw("POST", f"{server.base}api/{what}", json.dumps({"parameters": parameters}).encode())
    return status, json.loads(data)


class Meters:
    def __init__(self, server):
        self.server, self.about = server, ask(server, "trace")[1]
        self.start, self.length = int(self.about["start"]), self.about["length"]
        self.rows = {}
        for number, row in enumerate(self.about["rows"]):
            kind = self.about["kinds"][row[0]]
            if kind.split("-")[0] in ("disk", "net", "frequency", "cycles"):
                self.rows[self.about["hosts"][row[1]], row[2], kind] = number

    def amounts(self, start, width, columns):
        """{row: amounts}"""
        status, answer = ask(self.server, "amounts", rows=list(self.rows.values()), start=start, width=width, columns=columns)
        assert status == 200, answer
        return dict(zip(self.rows, answer))


def check_known():
    with tempfile.TemporaryDirectory(prefix="lull-known-") as folder:
        trace = os.path.join(folder, "trace")
        expected = known_trace(trace)
        server = Server(lull, env, "--no-browser", trace, verb="view")
        meters = Meters(server)
        found = {row[1:]: {i: amount for i, amount in enumerate(amounts) if amount} for row, amounts in meters.amounts(0, MS, 12).items()}
        tap.ok(found == expected, "of a known trace each millisecond is right", found, expected)
        whole = {row[1:]: amounts[0] for row, amounts in meters.amounts(0, meters.length, 1).items()}
        tap.ok(whole == {row: sum(amounts.values()) for row, amounts in expected.items()}, "and so is the whole", whole)
        outside = [amounts for start in (-10**18, 2 * 10**18) for amounts in meters.amounts(start, 10**17, 3).values()]
        tap.ok(all(amount == 0 for amounts in outside for amount in amounts), "outside of the trace there is nothing")
        around = {row[1:]: amounts for row, amounts in meters.amounts(-(1 << 62), 1 << 61, 7).items()}
        tap.ok({row: sum(amounts) for row, amounts in around.items()} == whole, "columns may reach as far as one likes", around)
        check_refusals(server)
        server.end()


def check_refusals(server):
    good = {"rows": [0], "start": 0, "width": 10, "columns": 10}
    bad = [{**good, "rows": [10**6]}, {**good, "width": 0}, {**good, "width": -5}, {**good, "columns": 0}, {**good, "columns": 10**9},
           {**good, "rows": [0] * 4000, "columns": 16384}, {**good, "start": "x"}, {"rows": [0]}, {}]
    statuses = [ask(server, "amounts", **parameters)[0] for parameters in bad]
    tap.ok(set(statuses) == {400}, "bad questions are refused", statuses)


# --- a recording ---------------------------------------------------------------------------------------------

READ, WRITE, DISCARD, AHEAD = 4, 1, 2, 8


def replay(traces):
    """{(host, interface or None, kind): (times, sums up to and with each)}, from the events alone."""
    output = subprocess.run([lull, "print", "--json", "--events", "net_if_receive_skb,net_dev_xmit,block_rq_complete", *traces], env=env,
                            capture_output=True, check=True).stdout
    found = {}
    for line in map(json.loads, output.splitlines()):
        fields, host = line["fields"], line["host"]
        if line["name"] == "block_rq_complete":
            rwbs = fields["rwbs"]
            kind = "disk-written" if rwbs & WRITE and not rwbs & DISCARD else "disk-read" if rwbs & (READ | AHEAD) else None
            key, amount = (host, None, kind), fields["nr_sector"] * 512
        else:
            key, amount = (host, fields["name"], "net-sent" if line["name"] == "net_dev_xmit" else "net-received"), fields["len"]
        if key[2]:
            times, sums = found.setdefault(key, ([], [0]))
            times.append(line["time_ns"])
            sums.append(sums[-1] + amount)
    return found


def by_device(rows):
    """Disks of a host are one: LTTng confuses their numbers on this kernel."""
    found = {}
    for (host, name, kind), amounts in rows.items():
        key = (host, None if kind.startswith("disk") else name, kind)
        found[key] = [a + b for a, b in zip(found.get(key, [0] * len(amounts)), amounts)]
    return found


def check_ranges(meters, events):
    dice, faults = random.Random(13), []
    for i in range(100):
        start = dice.randrange(meters.length)
        end = meters.length if i % 10 == 0 else dice.randrange(start, meters.length) + 1
        columns = dice.randrange(1, 40)
        width = max(1, (end - start) // columns)
        found = by_device(meters.amounts(start, width, columns))
        for key, (times, sums) in events.items():
            def before(time, is_end=start + columns * width >= meters.length):
                # The page's ranges do not include their end, but for that of the trace.
                return sums[-1] if time >= meters.length and is_end else sums[bisect.bisect_left(times, meters.start + time)]
            expected = [before(start + (c + 1) * width) - before(start + c * width) for c in range(columns)]
            if found.get(key) != expected:
                faults.append((key, start, width, found.get(key), expected))
    tap.ok(len(events) == 11 and not faults, "in a hundred random ranges the bytes are those of the events", *faults[:3], *events)


def tables(verb, traces):
    done = subprocess.run([lull, verb, "--json", "--limit", "0", *traces], env=env, capture_output=True, check=True)
    return json.loads(done.stdout)["windows"][0]["tables"]


def check_verbs(meters, traces):
    found = {row: amounts[0] for row, amounts in meters.amounts(0, meters.length, 1).items()}
    expected = {}
    for line in tables("nettop", traces)["per-interface"]:
        for direction in ("received", "sent"):
            expected[line["host"], line["interface"], f"net-{direction}"] = line[f"{direction}_bytes"]
    for line in tables("iousagetop", traces)["per-disk-top-sector"]:
        for direction in ("read", "written"):
            expected[line["host"], line["disk"], f"disk-{direction}"] = 512 * line[direction]
    for line in tables("iolatencystats", traces)["disk-latency-stats"]:
        if line["requests"] == "data":
            expected[line["host"], line["disk"], "disk-requests"] = line["count"]
            expected[line["host"], line["disk"], "disk-flight"] = round(line["count"] * line["avg_ns"])
    tap.ok(len(expected) == 18 and found == expected, "the whole is what nettop, iousagetop and iolatencystats say, to the byte", found, expected)


try:
    Server(lull, env, "--no-browser", os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-preempt"), verb="view").end()
except RuntimeError as failure:
    if "without" not in str(failure):
        raise
    tap.skip("meters", "built without the page")
    sys.exit(tap.done())
tap.run("known", check_known)
recording = [os.path.join(os.environ["LULL_SAMPLES"], "django", host) for host in ("client", "httpd", "db")]
main = Server(lull, env, "--no-browser", *recording, verb="view")
tap.run("ranges", lambda: check_ranges(Meters(main), replay(recording)))
tap.run("verbs", lambda: check_verbs(Meters(main), recording))
main.end()
sys.exit(tap.done())
