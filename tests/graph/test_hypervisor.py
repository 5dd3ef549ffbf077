#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Paths that go from a guest into its host: on a real pair against what a script computed from a listing of their events, without Lull; on
# two guests that vm_scene.py makes up, against what it knows. LULL is the program, LULL_SOURCE the project's directory.
import json
import os
import subprocess
import sys
import tarfile
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import vm_scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
source = os.environ["LULL_SOURCE"]
US, MS = 1000, 10**6
TOLERANCE = 0.042  # ms; the clocks are known within some us


def run(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        print("#", done.stderr.replace("\n", "\n# "))
    return done.stdout


def path_of(*arguments):
    return json.loads(run("critpath", "--json", "--full", *arguments))


def hypervisor_waits(path, tid):
    """Those of the task itself, by number."""
    return {number: wait for number, wait in enumerate(path["waits"])
            if wait["reason"] and wait["reason"]["kind"] == "hypervisor" and wait["within"] is None and wait["tid"] == tid}


def is_whole(path):
    steps = path["segments"]
    return all(a["end_ns"] == b["begin_ns"] for a, b in zip(steps, steps[1:]))


def check_real(folder):
    with tarfile.open(os.path.join(source, "tests", "data", "vm.tar.xz")) as archive:
        archive.extractall(folder)
    trace = [os.path.join(folder, "vm", name) for name in ("host", "guest")]
    path = path_of("--host", "guest", "--tid", "402", *trace)
    waits = hypervisor_waits(path, 402)
    length = sum(wait["end_ns"] - wait["begin_ns"] for wait in waits.values()) / MS
    tap.ok(len(waits) == 34 and abs(length - 46.101) <= TOLERANCE, "34 waits for the virtual CPU", f"{len(waits)} {length}")
    steps = [step for step in path["segments"] if step["wait"] in waits]
    preempted = [step for step in steps if step["state"] == "preempted"]
    length = sum(step["end_ns"] - step["begin_ns"] for step in preempted) / MS
    tap.ok({(step["host"], step["tid"]) for step in steps} == {("host", 382)} and abs(length - 42.758) <= TOLERANCE,
           "what its thread did on the host explains them: no CPU, for the most part", str(length))
    longest = max(preempted, key=lambda step: step["end_ns"] - step["begin_ns"])
    tap.ok(abs((longest["end_ns"] - longest["begin_ns"]) / MS - 10.373) <= TOLERANCE and longest["by"]["comm"] == "kworker/u4:1" and
           longest["by"]["tid"] == 25, "the longest, and by whom", str(longest))
    tap.ok(is_whole(path), "the path has no hole")
    tap.ok("whose virtual CPU it is" in run("critpath", "--no-progress", "--host", "guest", "--tid", "402", *trace), "text says so")
    check_real_disk(trace)
    path = path_of("--unbounded", "--host", "guest", "--tid", "402", *trace)
    own = [step for step in path["segments"] if step["tid"] == 402]
    tap.ok(is_whole(path) and hypervisor_waits(path, 402) and own and own[0]["begin_ns"] < next(iter(hypervisor_waits(path, 402).values()))["begin_ns"],
           "an unbounded path comes back from the host")
    path = path_of("--no-sync", "--host", "guest", "--tid", "402", *trace)
    tap.ok(not hypervisor_waits(path, 402) and {step["host"] for step in path["segments"]} == {"guest"}, "not without a common clock")
    path = path_of("--host", "guest", "--tid", "402", trace[1])
    tap.ok(not hypervisor_waits(path, 402), "nor without the host's recording")


def check_real_disk(trace):
    """The main thread of the program that runs the guest, 373, raised all interrupts of the guest's disk: its 65 writes to descriptor 13 are the 65
    interrupts of vector 41. KVM's own events of that are not recorded."""
    path = path_of("--host", "guest", "--tid", "404", *trace)
    waits = [number for number, wait in enumerate(path["waits"]) if wait["host"] == "guest" and wait["detail"] and "for vda write" in wait["detail"]]
    threads = [{(step["host"], step["tid"]) for step in path["segments"] if step["wait"] == number and step["host"] == "host"} for number in waits]
    tap.ok(len(waits) == 3 and threads == 3 * [{("host", 373)}] and is_whole(path), "the guest's disk is the host's program", f"{waits} {threads}")
    disk = sum(step["end_ns"] - step["begin_ns"] for step in path["segments"] if step["host"] == "guest" and step["cause"] == "disk")
    tap.ok(disk < MS / 2, "next to nothing is left to the disk that the guest sees", str(disk))


def check_made():
    scene, gap = vm_scene.gap_scene()
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        path = path_of("--host", "web", "--tid", "42", "--end", "+2s", folder)
        waits = hypervisor_waits(path, 42)
        preempted = [step for step in path["segments"] if step["wait"] in waits and step["state"] == "preempted" and step["by"]]
        longest = max(preempted, key=lambda step: step["end_ns"] - step["begin_ns"])
        took = longest["end_ns"] - longest["begin_ns"]
        tap.ok(longest["by"]["comm"] == "burner" and longest["by"]["tid"] == 43 and "db's burner/43" in longest["detail"] and
               abs(took - gap) <= gap * 0.05, "a gap that a program measured is time of the other guest's task", f"{gap} {longest}")
        mine = sum(ns for (vm, task, by, whose), ns in scene.steals.items() if (vm, task) == ("web", 42))
        found = sum(step["end_ns"] - step["begin_ns"] for step in preempted)
        tap.ok(abs(found - mine) <= mine * 0.02, "all time in which its virtual CPU had no CPU is in its path", f"{found} {mine}")
        # Those that are long, or in which the thread had no CPU.
        known = [end - start for vm, task, start, end, was_out in scene.intervals
                 if (vm, task) == ("web", 42) and (was_out or end - start >= 100 * US)]
        found = [wait["end_ns"] - wait["begin_ns"] for wait in waits.values()]
        tap.ok(abs(len(known) - len(found)) <= 2 and abs(sum(known) - sum(found)) <= sum(known) * 0.02, "and so are its other waits for the host",
               f"{len(known)} {len(found)} {sum(known)} {sum(found)}")
        lap = 'lap : $evt.$name == "lap_begin" : $evt.$name == "lap_end"'
        why = run("why", "--no-progress", "--period", lap, folder)
        tap.ok("db's burner/43" in why, "why says who made one lap so long", why)


def check_nested():
    scene, gap = vm_scene.nested_scene()
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        path = path_of("--host", "inner", "--tid", "61", "--end", "+2s", folder)
        preempted = [step for step in path["segments"] if step["state"] == "preempted" and step["host"] == "host"]
        longest = max(preempted, key=lambda step: step["end_ns"] - step["begin_ns"])
        took = longest["end_ns"] - longest["begin_ns"]
        tap.ok(longest["tid"] == 101 and longest["by"]["tid"] == 300 and abs(took - gap) <= gap * 0.05 and is_whole(path),
               "from a guest in a guest the path goes through both to the outer host", f"{gap} {longest}")
        wait = path["waits"][longest["wait"]]
        tap.ok(wait["tid"] == 51 and path["waits"][wait["within"]]["tid"] == 61, "by way of its virtual CPU, a task of the guest", str(wait))
        found = sum(step["end_ns"] - step["begin_ns"] for step in preempted)
        mine = sum(ns for (vm, task, by, _), ns in scene.steals.items() if (vm, task, by) == ("inner", 61, 300))
        tap.ok(mine > 50 * MS and abs(found - mine) <= mine * 0.02, "all that the outer host took from it is in its path", f"{found} {mine}")


def check_disk(how, unknown):
    """What a guest reads, its host reads for it: of all but as many as it takes to find out which call raises the interrupt."""
    scene = vm_scene.disk_scene(how)
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        path = path_of("--host", "web", "--tid", "42", folder)
    steps = path["segments"]

    def spent(start, end, **keys):
        return sum(min(step["end_ns"], end) - max(step["begin_ns"], start) for step in steps
                   if step["begin_ns"] < end and step["end_ns"] > start and all(step[key] == value for key, value in keys.items()))

    wrong = [(at, disk, spent(start, end, host="host", tid=102, cause="disk")) for at, (start, end, disk, _, _) in enumerate(scene.truth)
             if abs(spent(start, end, host="host", tid=102, cause="disk") - disk) > 20 * US]
    tap.ok(is_whole(path) and len(wrong) <= unknown and all(at < unknown for at, _, _ in wrong), f"{how}: what a guest reads is a wait for the host's disk",
           str(wrong))
    late = [(raised, spent(end - raised, end, host="host", tid=101)) for at, (start, end, _, raised, slept) in enumerate(scene.truth) if slept and at >= unknown]
    tap.ok(len(late) > 10 and all(abs(a - b) < 40 * US for a, b in late), "and then one for its virtual CPU", str(late))
    naps = [(start, late, end, spent(start, late, host="web", cause="timer"), spent(late, end, host="host", tid=101)) for start, late, end in scene.naps]
    tap.ok(all(abs(asleep - (late - start)) < 20 * US and (abs(held - (end - late)) < 20 * US or end - late < 100 * US)
               for start, late, end, asleep, held in naps if end - late > 150 * US) and len(naps) == 5,
           "a sleep ends when its timer expires; then the task waits for its virtual CPU", str(naps))
    others = {step["tid"] for step in steps if step["host"] == "host"}
    tap.ok(scene.raiser in others and others <= {100, 101, 102, scene.raiser}, "and for nobody else", str(others))


def check_disk_unknown():
    """Nothing says who raises the interrupts."""
    scene = vm_scene.disk_scene("nothing")
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        path = path_of("--host", "web", "--tid", "42", folder)
    disk = [step for step in path["segments"] if step["cause"] == "disk"]
    tap.ok(len(disk) == len(scene.truth) and {step["host"] for step in disk} == {"web"}, "else a wait keeps the cause that the guest saw",
           str(len(disk)))


with tempfile.TemporaryDirectory() as place:
    check_real(place)
check_made()
for recorded, to_learn in (("events", 0), ("vhost", 0), ("hardware", 0), ("damaged", 0), ("calls", 3)):
    check_disk(recorded, to_learn)
check_disk_unknown()
check_nested()
tap.done()
