#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Packets that are really lost, on loopback in a network namespace of their own, recorded with ftrace, which knows no headers: what TCP
# sent again explains the waits. The truth are the stamps of the program (programs/losses.py) and the kernel's counter.
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..")]
from record import recorders  # noqa: E402
from tap import Tap  # noqa: E402

LULL = os.environ["LULL"]
PROGRAM = os.path.join(here, "..", "programs", "losses.py")
EVENT = "/sys/kernel/tracing/events/tcp/tcp_retransmit_skb"
MS = 1_000_000
CLOCKS = 1 * MS  # the stamps are of another moment than the events
tap = Tap()


def why_not(folder):
    reason = recorders.why_not("ftrace", folder)
    if reason:
        return reason
    if not os.path.isdir(EVENT):
        return "the kernel lacks tcp_retransmit_skb"
    done = subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


def record(folder):
    """The steps that TCP explains, the words, and the stamps in the recording's clock; None: events were lost."""
    out, stamps = os.path.join(folder, "recording"), os.path.join(folder, "stamps")
    script = 'ip link set lo up && exec "$0" record --tracer ftrace --buffer 32M -o "$1" -- "$2" "$3" "$4"'
    subprocess.run(["unshare", "--net", "sh", "-c", script, LULL, out, sys.executable, PROGRAM, stamps], capture_output=True,
                   check=True, timeout=120, stdin=subprocess.DEVNULL)
    with open(os.path.join(out, "recording.json"), encoding="utf-8") as file:
        description = json.load(file)
    if description["recorded"]["lost_events"]:
        return None
    with open(stamps, encoding="ascii") as file:
        stamps = json.load(file)
    found = subprocess.run([LULL, "critpath", "--json", "--no-progress", out], capture_output=True, text=True, check=True, timeout=120)
    words = subprocess.run([LULL, "critpath", "--full", "--no-progress", out], capture_output=True, text=True, check=True, timeout=120)
    offset = description["clock"]["offset_ns"]
    times = {name: time + offset for name, time in stamps.items() if name not in ("sent_again", "delayed", "closed")}
    return json.loads(found.stdout)["segments"], words.stdout, times, stamps


def check():
    for attempt in range(5):  # until the machine has time to record all
        with tempfile.TemporaryDirectory() as folder:
            recorded = record(folder)
        if recorded:
            break
    if not recorded:
        tap.skip("losses", "events were lost in five recordings")
        return
    segments, words, at, stamps = recorded
    steps = [segment["tcp"] for segment in segments if (segment.get("tcp") or {}).get("kind")]
    for kind, start, end in (("syn-again", "connect", "connected"), ("sent-again", "send", "third_answered")):
        found = [tcp for tcp in steps if tcp["kind"] == kind]
        # From the first packet of the call to just before its answer.
        tap.ok(found and all(at[start] - CLOCKS <= tcp["first_ns"] < tcp["last_ns"] <= at[end] + CLOCKS for tcp in found),
               f"{kind}: what was sent again lies between the stamps of who waited", found, at)
    third = [s for s in segments if at["answered"] <= s["begin_ns"] and s["end_ns"] <= at["third_answered"]]
    slept = sum(s["end_ns"] - s["begin_ns"] for s in third if s["cause"] == "timer" and s["tid"] > 0)
    lost = [s for s in third if (s.get("tcp") or {}).get("kind") == "sent-again" and s["end_ns"] - s["begin_ns"] > 100 * MS]
    tap.ok(29 * MS < slept < 60 * MS and lost, "before its answer was lost the server had slept", slept, third)
    times = {}
    for tcp in (tcp for tcp in steps if tcp["times"] and tcp["first_ns"] < at["answered"]):
        times[tcp["first_ns"]] = max(times.get(tcp["first_ns"], 0), tcp["times"])
    total = sum(times.values())
    tap.ok(total == stamps["sent_again"] and total >= 2, "as often as the kernel counted", total, stamps)
    delays = {tcp["first_ns"]: tcp["last_ns"] for tcp in steps
              if tcp["kind"] == "delayed-ack" and tcp["first_ns"] < at["all_answered"]}
    tap.ok(0 < len(delays) <= stamps["delayed"] and
           all(at["answered"] <= first + CLOCKS and first + 10 * MS <= last <= at["all_answered"] + CLOCKS
               for first, last in delays.items()), "acknowledgements that were delayed, no more than the kernel counted", delays, stamps)
    rooms = [float(ms) for ms in re.findall(r"no room for more for ([0-9.]+) ms \(zero window\); in sendto", words)]
    tap.ok(0 < len(rooms) <= stamps["closed"] and 200 < sum(rooms) <= (at["sent"] - at["all_answered"]) / MS,
           "so long the receiver had no room, while the client was in sendto", rooms, stamps, words)
    tap.ok("SYN sent again" in words and re.search(r"bytes, sent again \d", words), "the path says so", words)


with tempfile.TemporaryDirectory() as scratch:
    refused = why_not(scratch)
if refused:
    tap.skip("losses", refused)
else:
    tap.run("losses", check)
raise SystemExit(tap.done())
