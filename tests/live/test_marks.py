#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `mark(NAME)` of `lull track` and `lull daemon`, against a program that stamps what it marks; and `lull mark`. Root only, and only where
# eBPF may be loaded.
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lib.running import Running
from live.tracked import LULL, wait_attached, why_not
from tap import Tap
from trigger.daemons import Daemon, wait_for

tap = Tap()
PROGRAM = os.path.join(os.environ["LULL_PROGRAMS"], "live-marks")
N, LIMIT_NS = 1000, 1_000_000


def track(rules, *options):
    done = subprocess.run([LULL, "track", "--json", *rules, *options], capture_output=True, text=True, check=True, timeout=100)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    stamps = [line.split() for line in done.stdout.splitlines() if not line.startswith("{")]
    return [line for line in lines if "summary" not in line], lines[-1]["summary"], {cookie: (name, *map(int, times))
                                                                                    for name, cookie, *times in stamps if name == "work"}


def check_program():
    alarms, summary, stamps = track(["mark(work) > 1ms"], "--marks", PROGRAM, "--", PROGRAM, str(N))
    seen = {}
    for alarm in alarms:
        seen.setdefault(alarm["object"]["cookie"], []).append(alarm)
    special = {"a" * 255, "a" * 256, "twice"}
    # Between the stamps lies what the mark itself takes: what could be either way is neither.
    surely = {cookie for cookie, (_, _, after, before, _) in stamps.items() if before - after > LIMIT_NS} - special
    never = {cookie for cookie, (_, before, _, _, after) in stamps.items() if after - before <= LIMIT_NS}
    # A third ends in another process, which takes longer on some machines than the rest of a short mark.
    tap.ok(len(stamps) == N + 5 and len(surely) > 150 and len(never) > 150, "the program marked what it should", len(stamps), len(surely), len(never))
    tap.ok(surely <= set(seen) and not never & set(seen) and all(len(found) == 1 for found in seen.values()),
           "each mark that took longer is reported once, and no other", surely - set(seen), never & set(seen))
    outside = [(cookie, stamps[cookie], alarm["begin_ns"], alarm["end_ns"]) for cookie, (alarm,) in seen.items()
               if not stamps[cookie][1] <= alarm["monotonic_ns"] - alarm["delay_ns"] <= stamps[cookie][2]
               or not stamps[cookie][3] <= alarm["monotonic_ns"] <= stamps[cookie][4]]
    tap.ok(not outside, "its times lie within the program's stamps", outside[:3])
    tap.ok({alarm["object"]["kind"] for alarm in alarms} == {"mark"} and {alarm["object"]["name"] for alarm in alarms} == {"work"} and
           {alarm["task"]["comm"] for alarm in alarms} == {"live-marks"}, "it says who marked what")
    tap.ok("a" * 255 in seen and "a" * 256 not in seen and summary["untracked"] == 2, "a cookie has 255 bytes at most, and what has more is counted",
           summary)
    tap.ok("twice" not in seen and summary["replaced"] == 1, "one that begins again starts anew, and is counted", summary)
    tap.ok({"outer", "inner"} <= set(seen) and "open" not in seen and "never begun" not in seen, "cookies tell marks apart")
    text = subprocess.run([LULL, "track", "mark(work) > 1ms", "--marks", PROGRAM, "--", PROGRAM, "1"], capture_output=True, text=True, check=True,
                          timeout=60).stdout
    tap.ok(f"mark work {'a' * 255}, begun by live-marks/" in text and "1 marks began again" in text, "the text says so, too", text)


def check_verb():
    with Running([LULL, "track", "--json", "mark(backup): comm == \"lull\" > 100ms"], stdout=subprocess.PIPE, text=True) as tracker:
        wait_attached(tracker)
        first = time.monotonic_ns()
        for what, cookie, nap in (("begin", "slow", 0.3), ("begin", "fast", 0), ("end", "fast", 0), ("end", "slow", 0)):
            subprocess.run([LULL, "mark", what, "backup", cookie], check=True, timeout=20)
            time.sleep(nap)
        last = time.monotonic_ns()
        time.sleep(0.3)
        tracker.send_signal(signal.SIGINT)
        alarms = [json.loads(line) for line in tracker.stdout.read().splitlines() if "summary" not in line]
    slow = [alarm for alarm in alarms if alarm["object"]["cookie"] == "slow"]
    tap.ok(len(slow) == 1 and 300_000_000 <= slow[0]["delay_ns"] <= last - first, "lull mark does the same for scripts", alarms)


def check_daemon(directory):
    daemon = Daemon(directory, "[rule work]\nwhen=mark(work) > 2ms\n")
    with open(daemon.config) as file:
        text = file.read()
    tap.ok(daemon.ready, "a daemon that knows no file knows lull mark", daemon.said())
    daemon.stop()
    with open(daemon.config, "w") as file:
        file.write(text.replace("[limits]", f"marks={PROGRAM}\n[limits]"))
    with Running([LULL, "daemon", "--config", daemon.config], stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        subprocess.run([PROGRAM, "1"], check=True, capture_output=True, timeout=20)
        sets = wait_for(lambda: [path for path in glob.glob(daemon.sets + "/*") if not path.endswith(".part")])
        process.terminate()
        said = line + process.stderr.read()
    trigger = json.load(open(os.path.join(sets[0], "recording.json")))["trigger"] if sets else {}
    tap.ok(trigger.get("rule") == "work" and trigger["comm"] == "live-marks" and trigger["end_ns"] - trigger["begin_ns"] > 2_000_000,
           "a rule of the daemon about a mark writes a snapshot of who began it", trigger, said)


def check_refusals():
    for rules, options, status, why in (
            (["mark(work) > 1ms"], ["--marks", sys.executable], 1, "has no marks"), (["mark(work) > 1ms"], ["--marks", "/nonexistent"], 1, "cannot read"),
            (["mark(a b) > 1ms"], [], 2, "the name of a mark"), (["mark > 1ms"], [], 2, "mark needs a name, as in mark(checkout)"),
            ([f"mark({'x' * 32}) > 1ms"], [], 2, "the name of a mark")):
        done = subprocess.run([LULL, "track", *rules, *options, "--duration", "1s"], capture_output=True, text=True, timeout=30)
        tap.ok(done.returncode == status and why in done.stderr, f"{rules} {options} is refused", done.returncode, done.stderr)
    for words in ([], ["start", "a", "b"], ["begin", "a"], ["begin", "a b", "c"], ["begin", "a", ""], ["begin", "a", "x" * 256]):
        done = subprocess.run([LULL, "mark", *words], capture_output=True, text=True, timeout=30)
        tap.ok(done.returncode == 2 and done.stderr, f"lull mark {len(words)} words is refused", done)
    quiet = subprocess.run([LULL, "mark", "begin", "a", "x" * 255], capture_output=True, text=True, timeout=30)
    tap.ok(quiet.returncode == 0 and not quiet.stdout + quiet.stderr, "nobody watches, and nothing happens", quiet)


if why_not():
    tap.skip("marks", why_not())
elif not os.path.exists("/sys/bus/event_source/devices/uprobe"):
    tap.skip("marks", "the kernel has no uprobes")
else:
    check_program()
    check_verb()
    scratch = tempfile.mkdtemp(prefix="lull-marks-")
    try:
        check_daemon(scratch)
    finally:
        shutil.rmtree(scratch)
    check_refusals()
tap.done()
