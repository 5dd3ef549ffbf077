# SPDX-License-Identifier: MIT
"""What is true of recordings of tests/vm/cgroups/scene.py in control groups with a limit, each in a folder FOLDER/SCENE, with what it said in
FOLDER/SCENE.json. The truth is what the kernel counted of the group, and arithmetic.
"""
import json
import os
import subprocess

US, MS = 10**3, 10**6
LULL = os.environ["LULL"]
QUOTAS = ("quota10", "quota20", "quota50")
MEMORY = ("memmax", "memhigh")
HIGH = ("memover",)


def run(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        print("#", done.stderr.replace("\n", "\n# "))
    return done.stdout


def is_near(value, truth, share, least=0):
    return abs(value - truth) <= max(share * truth, least)


class Scene:
    def __init__(self, folder, name):
        self.name, self.path = name, os.path.join(folder, name)
        with open(self.path + ".json", encoding="ascii") as file:
            self.said = json.load(file)
        with open(os.path.join(self.path, "recording.json"), encoding="utf-8") as file:
            told = json.load(file)
        self.counted = self.said["counted"]
        self.quota = next((one for one in told["cpu_quotas"] if one["cgroup"] == "/" + name), None)
        self.stalls = next(one for one in told["group_pressure"] if one["cgroup"] == "/" + name)
        tid = str(self.said["pid"])
        self.steps = json.loads(run("critpath", "--json", "--full", "--no-progress", "--tid", tid, self.path))["segments"]

    def parts(self, wanted, is_inside=True):
        """Times of steps of the path; inside: those that ended while it waited, when it read the kernel's counters."""
        return [step["end_ns"] - step["begin_ns"] for step in self.steps
                if wanted(step) and (not is_inside or self.said["start_ns"] < step["end_ns"] < self.said["end_ns"])]

    def pressure(self):
        windows = json.loads(run("stats", "--json", "--no-progress", self.path))["windows"]
        rows = next(one for one in windows if one["analysis"] == "pressure")["tables"]["pressure"]
        return {row["lacked"]: row for row in rows if row["cgroup"] == "/" + self.name}


def check_quota(tap, scene):
    truth = scene.counted["cpu"]["throttled_usec"] * US
    pieces = scene.parts(lambda step: step["cause"] == "throttled")
    tap.ok(is_near(sum(pieces), truth, 0.005), f"{scene.name}: throttled as long as cpu.stat says, to 0.5 %", sum(pieces), truth)
    times = scene.counted["cpu"]["nr_throttled"]  # one that lasts at the end has not been counted by then, or will not end by then
    tap.ok(abs(len(pieces) - times) <= 1, f"{scene.name}: as often as cpu.stat says", pieces, times)
    whole = scene.parts(lambda step: step["cause"] == "throttled", False)
    tap.ok(is_near(sum(whole), scene.quota["throttled_ns"], 0.005), f"{scene.name}: in the whole recording, too", sum(whole), scene.quota)


def check_io(tap, scene):
    """512 KiB at 1 MiB/s take half a second, less what the kernel lets pass at once; all are read in pieces of 64 KiB."""
    waits = scene.parts(lambda step: step["state"] == "blocked" and step["cause"] == "disk")
    held = scene.parts(lambda step: "held back" in (step["detail"] or ""))
    tap.ok(is_near(sum(waits), scene.stalls["io_full_us"] * US, 0.01), f"{scene.name}: waits for the disk as long as io.pressure says", sum(waits),
           scene.stalls)
    tap.ok(sum(held) > 0.98 * sum(waits) and is_near(sum(waits), 500 * MS, 0.05), f"{scene.name}: held back by io.max for half a second", held)


def check_memory(tap, scene):
    waits = scene.parts(lambda step: "memory in swap" in (step["detail"] or ""))
    reclaim = [step["mostly_ns"] for step in scene.steps if step.get("mostly") == "in memory reclaim"]
    stalled = scene.stalls["memory_some_us"] * US
    tap.ok(is_near(sum(waits), scene.stalls["io_some_us"] * US, 0.05, MS), f"{scene.name}: reads of swap are as long as io.pressure says", sum(waits),
           scene.stalls)
    tap.ok(0 < len(waits) <= scene.counted["faults"]["major"], f"{scene.name}: no more of them than major faults", len(waits))
    tap.ok(0.5 * (stalled - sum(waits)) < sum(reclaim) < stalled - sum(waits), f"{scene.name}: the rest of memory.pressure is reclaim, less interrupts",
           sum(reclaim), stalled, sum(waits))
    events = json.loads(run("info", "--json", "--events", "--no-progress", scene.path))["events"]
    begun = sum(event["count"] for event in events if event["name"] == "mm_vmscan_memcg_reclaim_begin")
    tap.ok(begun >= max(scene.counted["events"].get("max", 0), scene.counted["events"].get("high", 0)) > 0,
           f"{scene.name}: as many reclaims as memory.events counts", begun, scene.counted["events"])


def check_high(tap, scene):
    """Nothing can be freed: the kernel has it sleep. The stalls that it counts are these sleeps, and that it tried to free memory before."""
    slept = scene.parts(lambda step: "its control group is above memory.high" in (step["detail"] or ""), False)
    reclaim = [step["mostly_ns"] for step in scene.steps if step.get("mostly") == "in memory reclaim"]
    stalled = scene.stalls["memory_full_us"] * US
    tap.ok(0.9 * stalled < sum(slept) + sum(reclaim) < stalled and sum(slept) > 10 * sum(reclaim),
           f"{scene.name}: sleeps above memory.high, and reclaim before, as long as memory.pressure says", sum(slept), sum(reclaim), stalled)
    tap.ok(0 < len(slept) <= scene.counted["events"]["high"], f"{scene.name}: no more of them than memory.events counts", len(slept), scene.counted["events"])
    timers = scene.parts(lambda step: step["cause"] == "timer" and step["end_ns"] - step["begin_ns"] > MS, False)
    tap.ok(timers == slept, f"{scene.name}: no other wait is for a timer", timers)


def check_pressure(tap, scene, kinds):
    found = scene.pressure()
    for kind in kinds:
        row = found.get(kind, {})
        tap.ok(all(row[key] == scene.stalls[f"{kind}_{which}_us"] * US for which, key in (("some", "some_ns"), ("full", "full_ns"))) and
               all(is_near(row["trace_" + key], row[key], 0.05, 2 * MS) for key in ("some_ns", "full_ns")),
               f"{scene.name}: the trace shows the stalls for {kind} that the kernel counted", row)


def check(tap, folder):
    for name in QUOTAS:
        scene = Scene(folder, name)
        check_quota(tap, scene)
        check_pressure(tap, scene, ["cpu"])
    scene = Scene(folder, "iomax")
    check_io(tap, scene)
    check_pressure(tap, scene, ["io"])
    for name in MEMORY:
        scene = Scene(folder, name)
        check_memory(tap, scene)
        check_pressure(tap, scene, ["io", "cpu"])
    for name in HIGH:
        check_high(tap, Scene(folder, name))
    check_pressure(tap, Scene(folder, "rivals"), ["cpu"])
