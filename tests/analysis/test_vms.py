#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull vms`: on a real pair of host and guest against what a script computed from a listing of their events, without Lull; on two guests
# and a host that vm_scene.py makes up, against what it summed meanwhile. LULL is the program, LULL_SOURCE the project's directory.
import collections
import json
import os
import random
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
STATES = ("guest", "kvm", "qemu", "preempted", "woken", "halted", "blocked")

# Milliseconds in each of the states, and in all. The clocks are known within some us, by which no cell moves by more than the tolerance.
TOLERANCE = 0.042
WHOLE = (2717.155, 259.944, 39.796, 373.779, 95.852, 776.050, 0.213, 4262.789)
TASKS = {  # those that were not renamed
    401: (922.603, 28.537, 0, 42.615, 0, 0, 0, 993.756),
    402: (289.257, 9.182, 0, 42.758, 0, 0, 0, 341.197),
    403: (176.225, 4.166, 0, 3.076, 0, 0, 0, 183.467),
    0: (7.912, 3.947, 0, 0, 39.935, 37.555, 0, 89.349),
    48: (9.429, 4.439, 3.533, 0.137, 0, 0, 0, 17.539),
}
BOTH = (1601.913, 62.694, 5.153, 92.366, 39.935, 37.555, 0, 1839.616)
STOLEN = {373: 192.672, 36: 53.852, 445: 26.891, 25: 25.566, 447: 23.449, 572: 20.425, 446: 17.332, 444: 15.100}
STOLEN_FROM_402 = {25: 19.851, 36: 14.515, 445: 3.120}
# Vectors: how often, and the halts that they ended.
# Whose handlers run in the guest: as many of these as interrupts of that vector, each soon after one.
HANDLERS = {236: "local timer interrupt", 45: "irq 27 virtio0-requests", 41: "irq 25 virtio1-req.0", 40: "irq 15 ata_piix", 34: None, 35: None}
INJECTIONS = {236: (797, 112, 687.115), 45: (235, 94, 73.681), 41: (65, 8, 15.254), 40: (6, 0, 0), 34: (6, 0, 0), 35: (1, 0, 0)}


def run(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        print("#", done.stderr.replace("\n", "\n# "))
    return done.stdout


def vms(*arguments):
    window, = json.loads(run("vms", "--json", "--limit=0", *arguments))["windows"]
    return window["tables"], window["notes"]


def states_of(row):
    return [row[f"{state}_ns"] for state in STATES]


def is_near(row, key, expected):
    cells = [*states_of(row), row[key]]
    return sum(cells[:-1]) == cells[-1] and all(abs(ns / MS - ms) <= TOLERANCE for ns, ms in zip(cells, expected))


def cputop(*arguments):
    """By tid of each host; and whether a note says what REAL and STOLEN are."""
    window, = json.loads(run("cputop", "--json", "--limit=0", *arguments))["windows"]
    rows = {(row.get("host"), row["process"]["tid"]): row for row in window["tables"]["per-process"]}
    return rows, any("STOLEN" in note for note in window["notes"])


def check_real_cputop(trace):
    rows, noted = cputop(trace)
    wrong = [(tid, row) for tid, states in TASKS.items() if tid for row in [rows["guest", tid]]
             if abs(row["real_ns"] / MS - states[0]) > TOLERANCE or abs(row["stolen_ns"] / MS - states[3] - states[4]) > TOLERANCE]
    tap.ok(not wrong and noted, "cputop: how long tasks of a guest really ran, and what was stolen from them", str(wrong))
    plain = subprocess.run([lull, "vms", "--limit=2", trace], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}).stdout
    tap.ok(plain.isascii() and b"CLOCK ERROR" in plain, "where the locale has ASCII alone, so have the tables", plain[:400])
    others = [row for (host, tid), row in rows.items() if row.get("stolen_ns") is not None and (host == "host" or tid == 393)]
    tap.ok(not others, "and nothing of tasks of the host, or of one that ran before the host was recorded", str(others))
    for arguments in (("--no-sync", trace), ("--host", "guest", trace), (os.path.join(trace, "guest"),)):
        rows, noted = cputop(*arguments)
        tap.ok(rows and not noted and not any("stolen_ns" in row for row in rows.values()),
               f"nothing of it where that is not known: {arguments[:-1]}", str(list(rows.values())[:2]))


def check_made_cputop(scene, folder):
    rows, _ = cputop(folder)
    fused = scene.fused
    wrong = [(vm, tid, row["real_ns"], row["stolen_ns"]) for (vm, tid), row in rows.items() if vm != "host"
             if abs(row["real_ns"] - fused[vm, tid, "guest"]) > 2 * MS or
             abs(row["stolen_ns"] - fused[vm, tid, "preempted"] - fused[vm, tid, "woken"]) > 2 * MS]
    guests = {key for key in rows if key[0] != "host"}
    tap.ok(guests == {("web", 41), ("web", 42), ("db", 41), ("db", 43)} and not wrong, "cputop: two guests", f"{guests} {wrong} {fused}")


def check_made_rows(scene, folder):
    """--by vm: a row for all tasks of a virtual machine."""
    def rows_of(*where):
        window, = json.loads(run("cputop", "--by", "vm", "--json", "--limit=0", *where))["windows"]
        return {(row.get("host"), row["process"]["comm"]): row for row in window["tables"]["per-process"]}

    rows, ran = rows_of(folder), scene.ran
    truth = {"web": ran[101] + ran[110], "db": ran[201] + ran[250], "host": ran[300]}
    wrong = [(name, rows["host", name]["cpu_ns"], ns) for name, ns in truth.items() if abs(rows["host", name]["cpu_ns"] - ns) > 50 * US]
    tap.ok(rows.keys() == {*(("host", name) for name in truth), ("web", "web"), ("db", "db")} and not wrong,
           "cputop --by vm: on the host, processes of virtual machines and what helps them", f"{rows.keys()} {wrong}")
    for name in ("web", "db"):
        seen = {state: sum(scene.fused[name, task, state] for task in (41, 42, 43)) for state in STATES}
        row = rows[name, name]
        tap.ok(abs(row["real_ns"] - seen["guest"]) <= 2 * MS and abs(row["stolen_ns"] - seen["preempted"] - seen["woken"]) <= 2 * MS and
               row["cpu_ns"] >= row["real_ns"] + row["stolen_ns"], f"and in {name} all of its tasks", f"{row} {seen}")
    alone = rows_of(os.path.join(folder, "host"))
    names = {"web-cpu/100": "web", "db-cpu/200": "db", "host": "host"}
    tap.ok({names.get(name): row["cpu_ns"] for (_, name), row in alone.items()} == {name: rows["host", name]["cpu_ns"] for name in truth},
           "those of the host alone have the names of their processes", str(alone))


def check_made_waits(scene, folder):
    """Of tasks that were woken, for a CPU of the guest."""
    window, = json.loads(run("schedlog", "--stats", "--json", "--limit=0", folder))["windows"]
    found, expected = collections.defaultdict(list), collections.defaultdict(list)
    for row in window["tables"]["log"]:
        found[row["host"], row["wakee"]["tid"]].append((row["latency_ns"], row["stolen_ns"]))
    for vm, tid, start, end, stolen in scene.waits:
        expected[vm, tid].append((end - start, stolen))
    on_host = found.pop(("host", 101))  # that of db is never asleep
    tap.ok(on_host and all(stolen is None for _, stolen in on_host), "schedlog: nothing is stolen from tasks of the host", str(on_host))
    wrong = [(key, *pair) for key, waits in expected.items() for pair in zip(found[key], waits)
             if pair[0][1] is None or any(abs(a - b) > 50 * US for a, b in zip(*pair))]
    lengths = {key: len(waits) for key, waits in expected.items()}
    tap.ok({key: len(waits) for key, waits in found.items()} == lengths and not wrong and
           sum(stolen > MS for waits in expected.values() for _, stolen in waits) > 10,
           "which part of a wait for a CPU of the guest was stolen", f"{wrong[:5]} {lengths}")
    rows = {(row["host"], row["wakee"]["tid"]): row["stolen_ns"] for row in window["tables"]["per_tid_stats"]}
    wrong = [(key, rows[key], waits) for key, waits in expected.items() if abs(rows[key] - sum(stolen for _, stolen in waits)) > MS]
    tap.ok(not wrong and rows["host", 101] is None and any("STOLEN" in note for note in window["notes"]),
           "schedstats: in all, and a note says what it is", str(wrong))


def check_real(folder):
    with tarfile.open(os.path.join(source, "tests", "data", "vm.tar.xz")) as archive:
        archive.extractall(folder)
    trace = os.path.join(folder, "vm")
    # The host first: its clock is the one that counts.
    tables, notes = vms(os.path.join(trace, "host"), os.path.join(trace, "guest"))
    vm, vcpu = tables["vms"], tables["vcpus"]
    tap.ok(len(vm) == 1 and vm[0]["process"]["tid"] == 373 and vm[0]["guest"] == "guest" and vm[0]["vcpus"] == 1 and 0 < vm[0]["bound_ns"] < MS,
           "one virtual machine", str(vm))
    tap.ok(len(vcpu) == 1 and vcpu[0]["vcpu"] == 0 and vcpu[0]["tid"] == 382,
           "one virtual CPU 0, though entries have half a pointer as its number", str(vcpu))
    tap.ok(len(vcpu) == 1 and is_near(vcpu[0], "time_ns", WHOLE), "what it did, from the first entry to the last exit", str(vcpu))
    rows = {row["task"]["tid"]: row for row in tables["tasks"]}
    wrong = [row for tid, expected in TASKS.items() for row in [rows[tid]] if not is_near(row, "seen_ns", expected)]
    tap.ok(not wrong, "the same for tasks of the guest", str(wrong))
    total = {**{f"{state}_ns": sum(row[f"{state}_ns"] for row in rows.values()) for state in STATES},
             "seen_ns": sum(row["seen_ns"] for row in rows.values())}
    tap.ok(is_near(total, "seen_ns", BOTH), "all of them together: the time in which both were recorded", str(total))
    asleep = [row for tid, row in rows.items() if tid and row["halted_ns"] + row["woken_ns"] + row["blocked_ns"]]
    tap.ok(not asleep, "only while the guest is idle its CPU sleeps", str(asleep))
    by = collections.Counter()
    for row in tables["stolen"]:
        by[row["by"]["tid"]] += row["time_ns"]
    tap.ok(all(abs(by[tid] / MS - ms) <= TOLERANCE for tid, ms in STOLEN.items()), "who had the CPU meanwhile", str(by))
    tap.ok(sum(by.values()) == vcpu[0]["preempted_ns"] + vcpu[0]["woken_ns"], "and all of that time is somebody's", str(by))
    lost = {row["by"]["tid"]: row["time_ns"] for row in tables["stolen_from"] if row["task"]["tid"] == 402}
    tap.ok(all(abs(lost[tid] / MS - ms) <= TOLERANCE for tid, ms in STOLEN_FROM_402.items()), "the same for one task", str(lost))
    longest = max(row["max_ns"] for row in tables["stolen_from"])
    tap.ok(abs(longest / MS - 10.287) <= TOLERANCE, "the longest at once", str(longest))
    exits = tables["exits"]
    tap.ok(len(exits) == 1 and exits[0]["count"] == 3898 and exits[0]["reason"] is None and any("reasons" in note for note in notes),
           "reasons that are all 0 are not recorded, and a note says so", f"{exits} {notes}")
    found = {row["vector"]: (row["count"], row["halts"], row["halted_ns"]) for row in tables["injections"]}
    tap.ok(found.keys() == INJECTIONS.keys() and all(
        found[vector][:2] == (count, halts) and abs(found[vector][2] / MS - ms) <= TOLERANCE for vector, (count, halts, ms) in INJECTIONS.items()),
        "injections, and the halts that they ended", str(found))
    found = {row["vector"]: row["name"] for row in tables["injections"]}
    tap.ok(found == HANDLERS, "what the guest calls them", str(found))

    alone, notes = vms(os.path.join(trace, "host"))
    tap.ok(not [row for row in alone["injections"] if row["name"]], "which is not known without the guest")
    tap.ok(is_near(alone["vcpus"][0], "time_ns", WHOLE) and not alone["tasks"] and alone["vms"][0]["guest"] is None and
           alone["vms"][0]["vm"] == "qemu-system-x86/373", "the host alone", str(alone["vms"]))
    unjoined, _ = vms("--no-sync", trace)
    tap.ok(not unjoined["tasks"], "without a common clock nothing is said of the guest's tasks")
    none, notes = vms(os.path.join(trace, "guest"))
    tap.ok(not none["vms"] and any("kvm_entry" in note for note in notes), "the guest alone: a note says what is missing", str(notes))
    one, _ = vms("--tid", "402", trace)
    tap.ok([row["task"]["tid"] for row in one["tasks"]] == [402] and {row["task"]["tid"] for row in one["stolen_from"]} == {402},
           "one task alone", str(one["tasks"]))
    check_real_cputop(trace)
    wide = max(map(len, run("vms", "--limit=3", trace).split("What virtual CPUs did")[0].splitlines()))
    tap.ok(wide <= 100, "text", str(wide))


def name_of(cell):
    return cell and cell["tid"]


def states_differ(tables, scene):
    return [(row["vm"], state, row[f"{state}_ns"]) for row in tables["vcpus"] for state in STATES
            if abs(row[f"{state}_ns"] - scene.states[row["vm"], state]) > 50 * US]


def check_made():
    scene, gap = vm_scene.gap_scene()
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        tables, notes = vms("--log", folder)
        tap.ok({row["guest"] for row in tables["vms"]} == {"web", "db"} and not notes, "two guests are found", f"{tables['vms']} {notes}")
        wrong = states_differ(tables, scene)
        tap.ok(len(tables["vcpus"]) == 2 and not wrong, "what their virtual CPUs did", f"{wrong} {scene.states}")
        # Where tasks take turns is as exact as the clocks are: 20 us, some 100 times.
        wrong = [(row["vm"], row["task"], state, row[f"{state}_ns"]) for row in tables["tasks"] for state in STATES
                 if abs(row[f"{state}_ns"] - scene.fused[row["vm"], row["task"]["tid"], state]) > 2 * MS]
        tap.ok({(vm, tid) for (vm, tid, _), ns in scene.fused.items() if ns > MS} <= {(row["vm"], row["task"]["tid"]) for row in tables["tasks"]} and
               not wrong,
               "what they did while each task was on them", f"{wrong} {scene.fused}")
        check_made_cputop(scene, folder)
        check_made_waits(scene, folder)
        check_made_rows(scene, folder)
        stolen = {(row["vm"], row["task"]["tid"], row["by"]["tid"], name_of(row["by_task"])): row["time_ns"] for row in tables["stolen_from"]}
        truth = {key: ns for key, ns in scene.steals.items() if key[1]}
        wrong = [(key, ns, truth.get(key)) for key, ns in stolen.items() if abs(ns - truth.get(key, 0)) > max(MS, ns // 100)]
        tap.ok(not wrong and {key for key, ns in truth.items() if ns > MS} <= stolen.keys(), "which task of a guest kept which of the other waiting",
               f"{wrong} {truth}")
        row = max((row for row in tables["stolen_from"] if row["task"]["comm"] == "clock" and row["by_task"]), key=lambda row: row["max_ns"])
        tap.ok(row["by_vm"] == "db" and row["by_task"]["comm"] == "burner" and abs(row["max_ns"] - gap) <= gap * 0.05,
               "a gap that a program measured is explained by a task of the other guest, to 5 %", f"{gap} {row}")
        exits = {(row["vm"], row["reason"]): (row["count"], row["time_ns"]) for row in tables["exits"]}
        names = {1: "external interrupt", 12: "HLT", 30: "I/O instruction", 48: "EPT violation"}
        truth = {(vm, names[reason]): (count, scene.gaps[vm, reason]) for (vm, reason), count in scene.exits.items()}
        tap.ok(exits.keys() == truth.keys() and all(exits[key][0] == truth[key][0] and abs(exits[key][1] - truth[key][1]) < 50 * US for key in truth),
               "exits by reason, and the time until the next entry", f"{exits} {truth}")
        tap.ok({(row["vm"], row["vector"]): row["count"] for row in tables["injections"]} == dict(scene.injections), "injections",
               str(tables["injections"]))
        log = collections.Counter()
        for row in tables["log"]:
            log[row["vm"], row["state"]] += row["duration_ns"]
        sums = {(row["vm"], state): row[f"{state}_ns"] for row in tables["vcpus"] for state in STATES if row[f"{state}_ns"]}
        tap.ok(dict(log) == sums, "the log's intervals add up to that", str(log))
        for name, events in (("exit", "kvm_exit"), ("entry", "kvm_entry")):
            broken = os.path.join(folder, f"without {name}")
            drop = [event for event in scene.host.events if event["n"] == events][100]
            host = vm_scene.Machine("host")
            host.events = [event for event in scene.host.events if event is not drop]
            os.mkdir(broken)
            host.write(broken)
            less, _ = vms(os.path.join(broken, "host"))
            took = [row["time_ns"] for row in less["vcpus"]]
            whole = [row["time_ns"] for row in vms(os.path.join(folder, "host"))[0]["vcpus"]]
            lacks = sum(whole) - sum(took)
            tap.ok(0 < lacks < 40 * MS, f"without one {name} some time is unknown, and no more", f"{took} {whole}")


def check_raw():
    for seed in (2, 3):
        scene, _ = vm_scene.gap_scene(seed, has_raw_calls=True)
        with tempfile.TemporaryDirectory() as folder:
            vm_scene.write(scene, folder)
            tables, notes = vms(folder)
        wrong = states_differ(tables, scene)
        tap.ok(len(tables["vcpus"]) == 2 and not wrong and not notes,
               f"system calls recorded as numbers, byte order {scene.order}", f"{wrong} {scene.states} {notes}")


def check_vectors():
    """Interrupts of a disk, of a card that is used now and then, and of a timer that is often there as well."""
    for how in ("events", "calls", "nothing"):
        scene = vm_scene.disk_scene(how)
        with tempfile.TemporaryDirectory() as folder:
            vm_scene.write(scene, folder)
            tables, _ = vms(folder)
        truth = {vector: label for label, vector in scene.VECTORS.items()} | {236: "local timer interrupt"}
        found = {row["vector"]: row["name"] for row in tables["injections"]}
        tap.ok(found == truth, f"{how}: vectors have the names of their handlers in the guest", str(found))


def check_nested():
    scene, gap = vm_scene.nested_scene()
    with tempfile.TemporaryDirectory() as folder:
        vm_scene.write(scene, folder)
        pairs = {frozenset((pair["a"], pair["b"])): pair["guest"] for pair in json.loads(run("sync", "--json", folder))["pairs"]}
        tap.ok(pairs == {frozenset(("host", "outer")): "outer", frozenset(("outer", "inner")): "inner"},
               "a guest in a guest is joined with its own host alone", str(pairs))
        tables, notes = vms(folder)
        wrong = [(vm, state, ns, scene.states[vm, state]) for row in tables["vcpus"] for vm in [row["vm"]]
                 for state in STATES for ns in [row[f"{state}_ns"]] if abs(ns - scene.states[vm, state]) > 100 * US]
        tap.ok({row["vm"] for row in tables["vcpus"]} == {"outer", "inner"} and not wrong and not notes and scene.states["inner", "preempted"] > 100 * MS,
               "it goes on while both were entered; else its state is that of who keeps it waiting", f"{wrong} {notes} {scene.states}")
        rows = {(row["vm"], row["task"]["tid"]): row for row in tables["tasks"]}
        wrong = [(tid, state, rows["inner", tid][f"{state}_ns"], scene.fused["inner", tid, state]) for tid in (61, 62) for state in STATES
                 if abs(rows["inner", tid][f"{state}_ns"] - scene.fused["inner", tid, state]) > MS]
        tap.ok(not wrong, "the same for its tasks", str(wrong))
        truth = collections.Counter()
        for (vm, _, by, _), ns in scene.steals.items():
            truth[vm, by] += ns
        found = collections.Counter()
        for row in tables["stolen"]:
            found[row["vm"], row["by"]["tid"]] += row["time_ns"]
        tap.ok(found.keys() == truth.keys() == {("outer", 300), ("inner", 300), ("inner", 41)} and
               all(abs(found[key] - ns) < MS for key, ns in truth.items()), "a task of the guest took its CPU, and one of the outer host",
               f"{found} {truth}")
        whole = {row["vm"]: row["time_ns"] for row in tables["vcpus"]}
        exits = {row["vm"]: row["time_ns"] for row in tables["exits"]}
        apart = whole["inner"] - sum(end - start for start, end in scene.inner_windows)
        tap.ok(abs(exits["inner"] - apart) < 100 * US, "from its exits to its entries took as long as its own host saw", f"{exits} {apart}")
        rows, _ = cputop(folder)
        wrong = [(tid, rows["inner", tid]) for tid in (61, 62)
                 if abs(rows["inner", tid]["real_ns"] - scene.fused["inner", tid, "guest"]) > MS or
                 abs(rows["inner", tid]["stolen_ns"] - scene.fused["inner", tid, "preempted"]) > MS]
        tap.ok(not wrong, "cputop: what was stolen from it at both levels", str(wrong))


def check_broken():
    """Events are missing: what is said is less, and still adds up."""
    def without(drop):
        scene, _ = vm_scene.nested_scene(seed=3)
        for machine in scene.machines():
            machine.events = [event for event in machine.events if not drop(event)]
        folder = tempfile.TemporaryDirectory()
        vm_scene.write(scene, folder.name)
        return folder

    with without(lambda event: event["n"] == "kvm_exit") as folder:
        tables, _ = vms(folder)
        tap.ok(not any(row["time_ns"] for row in tables["vcpus"]) and not tables["tasks"] and not tables["stolen"],
               "without any exit nothing is known", str(tables["vcpus"]))
    scene, _ = vm_scene.gap_scene()
    with tempfile.TemporaryDirectory() as folder:
        events = sorted(scene.host.events, key=lambda event: event["t"])
        part = int(len(events) * 0.42)
        hole = events[-part]["t"] - events[part - 1]["t"]
        scene.host.events = [*events[:part], *events[-part:]]
        scene.host.write(folder, lost=1000)
        for vcpu in scene.vcpus.values():
            vcpu.guest.write(folder)
        tables, _ = vms(folder)
        lacks = [sum(scene.states[row["vm"], state] for state in STATES) - row["time_ns"] for row in tables["vcpus"]]
        tap.ok({row["guest"] for row in tables["vms"]} == {"web", "db"} and all(hole - MS < ns < hole + 50 * MS for ns in lacks),
               "where the host lost events, nothing is known, and its guests are found by the others", f"{tables['vms']} {hole} {lacks}")
    dice = random.Random(4)
    with without(lambda event: dice.random() < 0.1) as folder:
        tables, _ = vms(folder)
        wrong = [row for row in tables["vcpus"] if sum(states_of(row)) != row["time_ns"] or min(states_of(row)) < 0]
        stolen = sum(row["time_ns"] for row in tables["stolen"])
        tap.ok(tables["vcpus"] and not wrong and stolen == sum(row["preempted_ns"] + row["woken_ns"] for row in tables["vcpus"]),
               "where one event of ten is missing, all still adds up", f"{wrong} {stolen}")


with tempfile.TemporaryDirectory() as place:
    check_real(place)
check_raw()
check_made()
check_vectors()
check_nested()
check_broken()
tap.done()
