#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull record` on a disk that becomes full: what is kept is whole, and ends at one time. The truth are the stamps of a program that
# does one call after the other, each with another size. The disk is a tmpfs that only this test sees. LULL is the program.
import json
import os
import re
import subprocess
import sys
import tempfile

import recorders
from tap import Tap

lull = os.environ["LULL"]
tap = Tap()
FD = 777
STAMPS = f"""
import json, os, sys, time
os.dup2(os.open("/dev/null", os.O_WRONLY), {FD})
data, stamps = memoryview(bytes(1 << 17)), []
for n in range(1, int(sys.argv[2]) + 1):
    os.write({FD}, data[:n])
    stamps.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
with open(sys.argv[1], "w") as out:
    json.dump(stamps, out)
print("done")
"""


def record(folder, tracer, size, count):
    """Status and errors of the recorder, when each call had ended, and what is on the disk; None: no such disk here."""
    small, kept, stamps = (os.path.join(folder, name) for name in ("small", "kept", "stamps"))
    os.makedirs(small)
    script = ('mount -t tmpfs -o size="$2" tmpfs "$1" && cd "$1" && { "$0" record --tracer "$3" --only --buffer 4M -o a '
              '"$8" -c "$4" "$5" "$6"; echo "status $?"; cp -a . "$7"; }')
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, lull, small, size, tracer, STAMPS, stamps, str(count), kept,
                           sys.executable],
                          capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    if "unshare: " in done.stderr or "mount:" in done.stderr:
        return None
    return done, kept, stamps


def sizes(path):
    """Of the calls that the recording has, in their order."""
    found = subprocess.run([lull, "print", path, "--events", "sys_enter", "--json"], capture_output=True, text=True, check=True,
                           timeout=120)
    calls = (json.loads(line)["fields"]["args"] for line in found.stdout.splitlines())
    return [args[2] for args in calls if args[0] == FD]


def describe(path):
    with open(os.path.join(path, "recording.json"), encoding="utf-8") as file:
        return json.load(file)


def test_full(tracer):
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(5):  # until the machine has time to carry all events to the disk
            recorded = record(os.path.join(folder, str(attempt)), tracer, "3m", 30000)
            if not recorded:
                tap.skip(f"{tracer}: a full disk", "no mount namespaces here")
                return
            done, kept, stamps = recorded
            if " events were lost" not in done.stderr:
                break
        tap.ok(done.stdout == "done\nstatus 1\n" and os.listdir(kept) == ["a"] and done.stderr.count(" is full: ") == 1,
               f"{tracer}: a full disk: it is said once, the command goes on, status 1, the recording has its name", done)
        path = os.path.join(kept, "a")
        description = describe(path)
        end_ns = description["end_ns"] - description["clock"]["offset_ns"]
        with open(stamps, encoding="utf-8") as file:
            before_end = sum(after <= end_ns for after in json.load(file))
        calls = sizes(path)
        tap.ok(description["ended_by"] == "disk" and description["recorded"]["lost_events"] == 0 and before_end < 30000,
               f"{tracer}: recording.json says so", description)
        # The page of a CPU in which the end lies has some later ones, too; others of those that another CPU saw are given up.
        gap = next((number for number, size in enumerate(calls[:before_end], 1) if number != size), None)
        tap.ok(gap is None and len(calls) >= before_end > 2000, f"{tracer}: all calls are there that ended before its end, without a gap",
               gap, len(calls), before_end, end_ns)
        done, *_ = record(os.path.join(folder, "at once"), tracer, "1m", 1)  # what is reserved for the end fits, and no more
        tap.ok("done" not in done.stdout and re.search(r"^lull record: /.*/small/a.*: cannot write.*No space left on device$", done.stderr, re.M),
               f"{tracer}: a disk that is full at once: the recording that has no room is named", done)
        info = subprocess.run([lull, "info", path], capture_output=True, text=True, check=False, timeout=60)
        tap.ok(info.returncode == 0 and not info.stderr, f"{tracer}: nothing in it is damaged", info)


def test_narrow(tracer):
    """Room for all events once, but not for the copy of them that ftrace needs."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = record(folder, tracer, "3840k", 20000)
        if recorded:
            done, kept, _ = recorded
            description = describe(os.path.join(kept, "a"))
            tap.ok(done.stdout == "done\nstatus 0\n" and description["ended_by"] == "command" and
                   2 * description["recorded"]["bytes"] > 3840 << 10 and
                   sizes(os.path.join(kept, "a")) == list(range(1, 20001)), f"{tracer}: a disk that is nearly full", done)


def test_tiny(tracer):
    with tempfile.TemporaryDirectory() as folder:
        recorded = record(folder, tracer, "512k", 1)
        if recorded:
            done, kept, _ = recorded
            tap.ok(done.stdout == "status 1\n" and os.listdir(kept) == [] and "No space left" in done.stderr,
                   f"{tracer}: a disk without room: the command does not start, nothing is left", done)


def main():
    for tracer in recorders.TRACERS:
        with tempfile.TemporaryDirectory() as folder:
            reason = recorders.why_not(tracer, folder)
        if reason:
            tap.skip(f"{tracer}: a full disk", reason)
            continue
        test_full(tracer)
        if tracer == "ftrace":
            test_narrow(tracer)
        test_tiny(tracer)
    return tap.done()


raise SystemExit(main())
