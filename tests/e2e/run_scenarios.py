#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the scripted machines of tests/e2e/scenarios through lull and checks what comes out.

    run_scenarios.py --lull build/lull --make-traces build/tests/make_traces [--keep DIR] [SCENARIO.scn …]

Prints TAP. The grammar of scripts and expectations is in README.md here.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT_NS = 1_000_000  # legs below this are neither expected nor looked at
TOLERANCE_NS = 500_000
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "h": 3600 * 10**9}


class Wrong(Exception):
    """What came out is not what the script says."""


def time_ns(word):
    number, unit = re.fullmatch(r"(-?[\d.]+)(ns|us|ms|s|h)", word).groups()
    return round(float(number) * UNITS[unit])


def option(words, key, fallback=None):
    return words[words.index(key) + 1] if key in words else fallback


class Script:
    def __init__(self, path):
        self.path, self.hosts, self.tasks, self.expectations = path, {}, {}, []
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[0] == "host":
                    self.hosts[words[1]] = (time_ns(option(words, "offset", "0ns")),
                                            float(option(words, "drift", "0")))
                elif words[0] == "task":
                    self.tasks[words[1]] = int(words[3].split("/")[0])
                elif words[0] == "expect":
                    self.expectations.append((words[1:], []))
                elif words[0] == "leg":
                    self.expectations[-1][1].append(words[1:])


class Runner:
    def __init__(self, lull, make_traces, directory):
        self.lull, self.make_traces, self.directory = lull, make_traces, directory

    def traces(self, script):
        out = os.path.join(self.directory, os.path.basename(script.path)[:-4])
        if not os.path.isdir(out):
            subprocess.run([self.make_traces, script.path, out], check=True)
        return out

    def json(self, *arguments):
        done = subprocess.run([self.lull, *arguments, "--json"], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise Wrong(f"lull {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def life(self, script, host, task):
        """The path of a task's whole life."""
        return self.path(script, "--host", host, "--tid", str(script.tasks[task]))

    def path(self, script, *question):
        path = self.json("critpath", self.traces(script), *question)
        check_cover(path)
        return path

    def requests(self, script, host, task):
        found = self.json("requests", self.traces(script))["requests"]
        return [r for r in found if r["host"] == host and r["tid"] == script.tasks[task]]


def check_cover(path):
    """The segments cover the question exactly."""
    at = path["query"]["begin_ns"]
    for segment in path["segments"]:
        if segment["begin_ns"] != at or segment["end_ns"] <= at:
            raise Wrong(f"hole, overlap or empty segment at {at}: {segment}")
        at = segment["end_ns"]
    if at != path["query"]["end_ns"]:
        raise Wrong(f"the path ends at {at}, the question at {path['query']['end_ns']}")


def legs_of(path):
    """Segments as [host, comm, state, cause, ns], short ones left out, equal neighbours joined."""
    legs = []
    for s in path["segments"]:
        key, ns = [s["host"], s["comm"], s["state"], s["cause"]], s["end_ns"] - s["begin_ns"]
        if legs and legs[-1][:4] == key:
            legs[-1][4] += ns
        elif ns >= SHORT_NS:
            legs.append(key + [ns])
    return legs


def leg_text(leg):
    return f"{leg[0]} {leg[1]} {leg[2]}{':' + leg[3] if leg[3] else ''} {leg[4] / 1e6:.3f}ms"


def accepts(pattern, word):
    return pattern == "*" or word in pattern.split("|")


def matches(wanted, leg):
    host, comm, what, length = wanted[:4]
    state, _, cause = what.partition(":")
    tolerance = time_ns(option(wanted, "within", f"{TOLERANCE_NS}ns"))
    return (accepts(host, leg[0]) and accepts(comm, leg[1]) and accepts(state, leg[2])
            and (not cause or accepts(cause, leg[3])) and abs(leg[4] - time_ns(length)) <= tolerance)


def check_legs(path, wanted):
    legs = legs_of(path)
    if len(legs) != len(wanted) or not all(map(matches, wanted, legs)):
        raise Wrong("legs wanted:\n    " + "\n    ".join(map(" ".join, wanted)) + "\n  found:\n    "
                    + "\n    ".join(map(leg_text, legs)))


def expect_path(run, script, words, legs):
    check_legs(run.life(script, *words[:2]), legs)


def expect_request(run, script, words, legs):
    found = run.requests(script, *words[:2])
    if not found:
        raise Wrong(f"lull requests lists none of {words[1]} on {words[0]}")
    slowest = max(found, key=lambda r: r["duration_ns"])
    check_legs(run.path(script, "--request", str(slowest["id"])), legs)


def expect_same(run, script, words, _):
    other = Script(os.path.join(os.path.dirname(script.path), words[0] + ".scn"))
    first = [w for w, _ in other.expectations if w[0] == "path"][0]
    ours, theirs = legs_of(run.life(script, *first[1:3])), legs_of(run.life(other, *first[1:3]))
    if ours != theirs:
        raise Wrong("legs differ from " + words[0] + ":\n    " + "\n    ".join(map(leg_text, ours))
                    + "\n  there:\n    " + "\n    ".join(map(leg_text, theirs)))


def any_path(run, script):
    """A path of any task: what it says of clocks and losses is about the session."""
    first = [w for w, _ in script.expectations if w[0] in ("path", "request")][0]
    return run.life(script, *first[1:3])


def sync_of(run, script):
    return {entry["host"]: entry for entry in any_path(run, script)["sync"]}


def expect_synced(run, script, words, _):
    sync = sync_of(run, script)
    for a in words:
        for b in words:
            # joined - own, corrected by what the script says of each clock: the same for all
            error = (sync[a]["offset_ns"] + script.hosts[a][0]) - (sync[b]["offset_ns"] + script.hosts[b][0])
            bounds = [sync[h]["bound_ns"] for h in (a, b)]
            if None in bounds or min(bounds) < 0:
                raise Wrong(f"no bound for {a} or {b}: {sync}")
            if abs(error) > sum(bounds) + 20_000:  # the traces begin some ms apart, at up to 160 ppm
                raise Wrong(f"{a} and {b} are {error} ns apart, bounds {bounds}")


def expect_unsynced(run, script, words, _):
    entry = sync_of(run, script).get(words[0])
    if entry and entry["bound_ns"] not in (None, -1):
        raise Wrong(f"{words[0]} exchanged nothing but claims a bound of {entry['bound_ns']} ns")


def expect_drift(run, script, words, _):
    sync = sync_of(run, script)
    # a host that runs fast is slowed down by its transform
    found = sync[words[0]]["drift_ppm"] - sync[words[1]]["drift_ppm"]
    if abs(found - float(words[2])) > float(option(words, "within", "1")):
        raise Wrong(f"drift of {words[1]} against {words[0]} is {found} ppm, the script says {words[2]}")


def expect_exchange(run, script, words, _):
    host, task, port, sent, received, duration = words[:6]
    found = run.requests(script, host, task)
    for r in found:
        if (r["port"], r["bytes_sent"], r["bytes_received"]) == (int(port), int(sent), int(received)) \
                and abs(r["duration_ns"] - time_ns(duration)) <= TOLERANCE_NS:
            return
    raise Wrong(f"not among the requests: {found}")


def expect_tcp(run, script, words, _):
    """The path of the task's life names this wait of TCP's own, and no other; it took so long."""
    host, task, kind, *rest = words
    segments = run.life(script, host, task)["segments"]
    found = [s["tcp"] for s in segments if "tcp" in s]
    kinds = {tcp["kind"] for tcp in found}
    if kinds != (set() if kind == "none" else {kind}):
        raise Wrong(f"{kind} wanted, found {found}")
    if rest and not any(abs(tcp["last_ns"] - tcp["first_ns"] - time_ns(rest[0])) <= TOLERANCE_NS
                        and tcp["nagle"] == ("nagle" in rest) for tcp in found):
        raise Wrong(f"{' '.join(rest)} wanted, found {found}")


def expect_lost(run, script, _words, _legs):
    lost = any_path(run, script)["lost"]
    if not lost["events"] and not lost["packets"]:
        raise Wrong("nothing is said to be lost")


CHECKS = {"path": expect_path, "request": expect_request, "same": expect_same, "synced": expect_synced,
          "unsynced": expect_unsynced, "drift": expect_drift, "exchange": expect_exchange,
          "lost": expect_lost, "tcp": expect_tcp}


def check(run, script):
    wrong = []
    for words, legs in script.expectations:
        try:
            CHECKS[words[0]](run, script, words[1:], legs)
        except (Wrong, KeyError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            wrong.append(f"expect {' '.join(words)}\n  {type(error).__name__}: {error}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--make-traces", required=True)
    parser.add_argument("--keep", help="leave the traces in this directory")
    parser.add_argument("scripts", nargs="*")
    args = parser.parse_args()
    folder = os.path.join(HERE, "scenarios")
    scripts = args.scripts or [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".scn")]
    failed = 0
    print(f"1..{len(scripts)}")
    with tempfile.TemporaryDirectory() as scratch:
        run = Runner(args.lull, args.make_traces, args.keep or scratch)
        for number, path in enumerate(scripts, 1):
            script = Script(path)
            wrong = check(run, script) if script.expectations else ["the script expects nothing"]
            print(f"{'not ok' if wrong else 'ok'} {number} - {os.path.basename(path)[:-4]}")
            for text in wrong:
                print("# " + text.replace("\n", "\n# "))
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
