#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track --snapshot`: what led to an alarm is written, and says what a program knows that happened.
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from lib.running import Running
from live.tracked import LULL, PROGRAM, Stamp, inside, why_no_recorder, why_not
from tap import Tap

MS = 1_000_000
tap = Tap()


def track(folder, *arguments, command=(), **environment):
    """What lull track says and leaves in the folder: alarms, the rest of its last line, and how it ended."""
    command = ["--", *command] if command else []
    done = subprocess.run([LULL, "track", "--snapshot", "--json", "--max-overhead", "100%", *arguments, *command], cwd=folder, capture_output=True,
                          text=True, timeout=90, check=False, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line for line in lines if "rule" in line], lines[-1] if lines else {}, done


def read_stamps(folder):
    with open(os.path.join(folder, "stamps"), encoding="utf-8") as file:
        fields = [line.split() for line in file]
    return [Stamp(int(f[0]), f[1], int(f[2]), int(f[3]), int(f[4])) for f in fields]


def test_chain():
    """c0 waits for c1, who waits for c2, who sleeps: the snapshot of the first alarm shows it; those at its heels write no more."""
    rule = 'offcpu: comm == "c0" > 30ms'
    with tempfile.TemporaryDirectory(dir=os.environ["LULL_SCRATCH"]) as folder:
        alarms, last, done = track(folder, rule, command=[PROGRAM, "stamps", "chain", "3", "60", "6"])
        tap.ok(done.returncode == 0 and "the flight recorder uses " in done.stderr, "it ends well", done)
        tap.ok(len(alarms) >= 5 and last["summary"]["alarms"] == len(alarms), "alarms", alarms, last)
        first, others = alarms[0], alarms[1:]
        tap.ok(first["snapshot"]["result"] == "written" and first["snapshot"]["why"] is None and 0 < first["snapshot"]["late_ns"] < 2000 * MS,
               "the first is written", first["snapshot"])
        path = first["snapshot"]["path"]
        tap.ok(all(a["snapshot"]["result"] == "coalesced" and (a["snapshot"]["path"] is None) == bool(a["snapshot"]["why"]) for a in others),
               "others are not", others)
        frozen_ns = first["end_ns"] + first["snapshot"]["late_ns"]
        tap.ok(all((a["snapshot"]["path"] == path) == (a["end_ns"] <= frozen_ns) for a in others), "but what it shows is said to be there", others)
        tap.ok(glob.glob(os.path.join(folder, "2*")) == [path], "there is one directory, here", os.listdir(folder))
        tap.ok(os.stat(path).st_mode & 0o077 == 0, "that nobody else may read")
        with open(os.path.join(path, "recording.json"), encoding="utf-8") as file:
            trigger = json.load(file)["trigger"]
        wanted = {"rule": rule, "comm": "c0", "pid": first["task"]["pid"], "tid": first["task"]["tid"]}
        tap.ok({key: trigger[key] for key in wanted} == wanted, "it says which alarm", trigger)
        # Two clocks are brought to the epoch, each at its own moment; within a recorder it is the same one.
        tap.ok(trigger["begin_ns"] == first["begin_ns"] and trigger["end_ns"] == first["end_ns"], "and the same times, to the nanosecond", trigger, first)
        stamps = [stamp for stamp in read_stamps(folder) if stamp.label == "c0" and inside(first, stamp)]
        tap.ok(len(stamps) == 1, "it lies between two stamps of the program", first)
        path_json = json.loads(subprocess.run([LULL, "critpath", "--json", path], capture_output=True, text=True, timeout=60, check=True).stdout)
        text = subprocess.run([LULL, "critpath", path], capture_output=True, text=True, timeout=60, check=True).stdout
        tap.ok(path_json and text.startswith("c0/"), "lull critpath without another word is about it", text[:500])
        tap.ok("c2: blocked on a timer" in text, "and ends at who slept", text[:2000])


def test_user():
    """Directories belong to who called sudo, and the command's status is passed on."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        nobody = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
        alarms, _, done = track(folder, "offcpu > 20ms", "--count", "1", command=["sh", "-c", "sleep 0.1; exit 7"], **nobody)
        made = glob.glob(os.path.join(folder, "2*"))
        tap.ok(len(alarms) == 1 and len(made) == 1 and os.stat(made[0]).st_uid == 65534, "it belongs to the user", alarms, done.stderr)
        tap.ok(done.returncode == 7, "the status of the command", done)


def test_failures():
    """Where nothing can be written alarms go on, and say why; histograms have no snapshots."""
    alarms, last, done = track("/proc", 'offcpu: comm == "sleep" > 20ms', command=["sleep", "0.1"])
    tap.ok(done.returncode == 0 and last.get("summary", {}).get("alarms") == len(alarms) >= 1, "tracking goes on", done)
    tap.ok(all(a["snapshot"]["result"] in ("failed", "coalesced") and a["snapshot"]["path"] is None and a["snapshot"]["why"] for a in alarms), "and says why", alarms)
    done = subprocess.run([LULL, "track", "--snapshot", "--hist", "offcpu"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and "--snapshot" in done.stderr, "not with --hist", done.stderr)
    done = subprocess.run([LULL, "track", "--snapshot", "offcpu > 1s", "--", "/no/such/program"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 127 and done.stderr.count("\n") <= 2, "a command that is not there", done)


def test_killed():
    """What was set up goes within two seconds after SIGKILL."""
    with tempfile.TemporaryDirectory(dir=os.environ["LULL_SCRATCH"]) as folder:
        with Running([LULL, "track", "--snapshot", "offcpu > 100s"], cwd=folder, stderr=subprocess.PIPE, text=True) as lull:
            line = lull.stderr.readline()
            of = f"/sys/kernel/tracing/instances/lull-{lull.pid}-*"
            had = glob.glob(of)
            lull.send_signal(signal.SIGKILL)
        end = time.monotonic() + 2
        while glob.glob(of) and time.monotonic() < end:
            time.sleep(.05)
        tap.ok(not glob.glob(of) and (had or "ftrace" not in line), "no instance is left", had, line)
        tap.ok(not os.listdir(folder), "and no file", os.listdir(folder))


def main():
    reason = why_no_recorder() or why_not()
    if reason:
        tap.skip("lull track --snapshot", reason)
        return tap.done()
    for test in test_chain, test_user, test_failures, test_killed:
        tap.run(test.__name__, test)
    return tap.done()


sys.exit(main())
