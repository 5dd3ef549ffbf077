#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Sessions of one host, recorded one after the other and read together, and one that was stopped and started again. What a task did between them is not known, whatever it did when
# one ended: nothing says that it went on. The arithmetic of a scene is by hand; of sessions of a real machine, what each says alone.
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from lib import jsonl_to_ctf
from server.serving import Server, environment
from tap import Tap

MS, LATER = 10**6, 60 * 10**9
BUSY, READY, ASLEEP, TALKER = (("busy", 10), ("ready", 11), ("asleep", 12), ("talker", 13))
IDLE = ("swapper/0", 0)
TASKS = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus.ThreadStatusDataProvider"
CPU_STATES = os.path.join(os.environ["LULL_SOURCE"], "share", "states", "cpu.states")
tap = Tap()
lull = os.environ["LULL"]


def switch(t, previous, state, after):
    return {"t": t, "n": "sched_switch", "pc": {"cpu_id": 0},
            "p": {"prev_comm": previous[0], "prev_tid": previous[1], "prev_prio": 20, "prev_state": state,
                  "next_comm": after[0], "next_tid": after[1], "next_prio": 20}}


def event(t, name, **fields):
    return {"t": t, "n": name, "pc": {"cpu_id": 0}, "p": fields}


def wake(t, task):
    return event(t, "sched_waking", comm=task[0], tid=task[1], prio=20, target_cpu=0)


def first():
    """Ends while "busy" runs, "ready" waits for the CPU, "asleep" waits for a futex, and "talker" in recvfrom()."""
    return [switch(1 * MS, IDLE, 0, TALKER),
            event(2 * MS, "syscall_entry_recvfrom", fd=3, size=100),
            switch(3 * MS, TALKER, 1, ASLEEP),
            event(4 * MS, "syscall_entry_futex", uaddr=0x1000, op=0, val=0),
            switch(5 * MS, ASLEEP, 1, BUSY),
            wake(7 * MS, READY),
            event(11 * MS, "syscall_entry_getpid"),
            event(12 * MS, "syscall_exit_getpid", ret=10)]


def second():
    return [event(LATER, "syscall_entry_getpid"),
            event(LATER + 1 * MS, "syscall_exit_getpid", ret=10),
            switch(LATER + 2 * MS, BUSY, 0, READY),
            wake(LATER + 4 * MS, ASLEEP),
            switch(LATER + 5 * MS, READY, 1, ASLEEP),
            switch(LATER + 9 * MS, ASLEEP, 1, IDLE)]


def between():
    """Another session on the same host: of disks only, which says nothing of who runs."""
    return [event(30 * 10**9 + i * MS, "block_rq_issue", dev=8388608, sector=i, nr_sector=8, bytes=4096, tid=0, rwbs=1, comm="x")
            for i in range(3)]


def ask(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=200, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lull {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def window(verb, *arguments):
    return json.loads(ask(verb, "--json", "--limit=0", *arguments))["windows"][0]


def tables(verb, *arguments):
    return window(verb, *arguments)["tables"]


def used(*traces):
    """Time on a CPU, by task."""
    sums = collections.Counter()
    for row in tables("cputop", *traces)["per-process"]:
        sums[row["process"]["comm"], row["process"]["tid"]] += row["cpu_ns"]
    return sums


def check_scene(sessions, what, cuts=()):
    with tempfile.TemporaryDirectory() as folder:
        for number, events in enumerate(sessions):
            jsonl_to_ctf.write_trace(events, os.path.join(folder, f"s{number}"), cuts=cuts)
        ran = {tid: ns for (_, tid), ns in used(folder).items()}
        # What was on the CPU when a recording starts is known from the first switch on.
        early = ran[10] - 7 * MS
        tap.ok(ran.keys() == {10, 11, 12, 13} and early in (0, 2 * MS) and (ran[11], ran[12], ran[13]) == (3 * MS, (2 + 4) * MS, 2 * MS),
               f"time on the CPU, {what}", ran)
        waits = [(row["task"]["tid"], row["state"], row["cause"], row["total_ns"]) for row in tables("waits", folder)["waits"]]
        tap.ok(sorted(waits) == [(10, "R", "preempted", 7 * MS), (11, "R", "woken", 5 * MS), (11, "S", "not ended", 4 * MS), (12, "R", "woken", 1 * MS), (12, "S", "not ended", 7 * MS), (13, "S", "not ended", 9 * MS)],
               f"waits, {what}", waits)
        cpu, = tables("cputop", folder)["per-cpu"]
        tap.ok(cpu["unknown_ns"] == LATER - 12 * MS + 2 * MS - early, f"time of the CPU that is unknown, {what}", cpu)
        notes = [[note for note in window("cputop", folder, *span)["notes"] if "nothing was recorded" in note] for span in ((), ("--end=+8ms",))]
        tap.ok(len(notes[0]) == 1 and "on “synthetic” for 59.99 s:" in notes[0][0] and not notes[1], f"for how long nothing was recorded, {what}", notes)
        hosts = json.loads(ask("info", "--json", folder))["hosts"]
        # That of disks counts here: of disks something was recorded.
        gaps = [(12 * MS, LATER)] if len(sessions) < 3 else [(12 * MS, 30 * 10**9), (30 * 10**9 + 2 * MS, LATER)]
        tap.ok([[(gap["begin_ns"], gap["end_ns"]) for gap in host["gaps"]] for host in hosts] == [gaps], f"info has when, {what}", hosts)
        said = re.findall(r"^  stopped   (\d) times?; nothing was recorded|for (\S+ m?s), from 00:(\S+) to 00:(\S+)$", ask("info", folder), re.MULTILINE)
        wanted = [("1", "", "", ""), ("", "59.99 s", "00:00.012000000", "01:00.000000000")] if len(gaps) == 1 else [
            ("2", "", "", ""), ("", "29.99 s", "00:00.012000000", "00:30.000000000"), ("", "30.00 s", "00:30.002000000", "01:00.000000000")]
        tap.ok(said == wanted, f"info says when, {what}", said)
        text = ask("critpath", "--tid=12", "--begin=+4ms", "--end=+60003ms", folder)
        tap.ok("is unknown: for 59.99 s nothing was recorded" in text and "not woken before its recording stopped; in futex 0x1000" in text,
               f"the path says so, {what}", text)
        rows = {row["state"]: row["ns"] for row in tables("states", "--states", CPU_STATES, folder)["states"]}
        tap.ok(rows.get("busy") == (11 + 7) * MS, f"rows of states are unknown, {what}", rows)
        calls = os.path.join(folder, "..", os.path.basename(folder) + ".states")
        with open(calls, "w", encoding="ascii") as file:
            file.write('group call { row tid = $tid states inside, outside on name =~ "syscall_entry_*" : inside on name =~ "syscall_exit_*" : outside }')
        rows = {(row["row"], row["state"]): row["ns"] for row in tables("states", "--states", calls, folder)["states"]}
        os.remove(calls)
        # Who makes a call before the first switch after that is not known.
        tap.ok(rows.get(("10", "inside")) == 1 * MS and ("10", "outside") not in rows, f"rules do not believe who ran before, {what}", rows)
        path = json.loads(ask("critpath", "--json", "--tid=12", "--begin=+4ms", "--end=+60003ms", folder))
        steps = [(step["begin_ns"], step["end_ns"], step["cause"]) for step in path["segments"]]
        tap.ok(steps == [(5 * MS, 12 * MS, "unknown"), (12 * MS, LATER + 4 * MS, "unknown")], f"the critical path knows nothing of it, {what}", path["segments"])


def restarted():
    """LTTng dumps the state of the machine whenever a session starts."""
    return sorted((*first(), *second(), event(LATER + MS // 2, "lttng_statedump_start")), key=lambda one: one["t"])


def check_other(_):
    """Another session with switches hides that one was stopped, if it was recorded then."""
    for what, end, is_hidden in (("ended before", 10 * MS, False), ("goes on", LATER + 5 * MS, True)):
        other = [switch(t, IDLE, 0, IDLE) for t in (6 * MS, end)]
        with tempfile.TemporaryDirectory() as folder:
            jsonl_to_ctf.write_trace(restarted(), os.path.join(folder, "s"), cuts=(LATER,))
            jsonl_to_ctf.write_trace([{**one, "pc": {"cpu_id": 1}} for one in other], os.path.join(folder, "t"))
            host, = json.loads(ask("info", "--json", folder))["hosts"]
            gaps = [(gap["begin_ns"], gap["end_ns"]) for gap in host["gaps"]]
            tap.ok(gaps == ([] if is_hidden else [(12 * MS, LATER)]), f"another session {what}", gaps)


def check_idle(_):
    """A machine that does nothing for a minute has no packets in that time either, if a timer ends them."""
    scenes = {"no dump": ([*first(), *second()], (LATER,)),
              "another CPU has packets": ([*first(), *({**wake(5 * MS + i * 10**9, READY), "pc": {"cpu_id": 1}} for i in range(60)), {**wake(LATER - MS // 2, READY), "pc": {"cpu_id": 1}}, *restarted()[8:]], (LATER,)),
              "the dump is of later": (sorted((*first(), *second(), event(LATER + 2 * 10**9, "lttng_statedump_start")), key=lambda one: one["t"]), (LATER,)),
              "the packets go on": (restarted(), ())}
    for what, (events, cuts) in scenes.items():
        with tempfile.TemporaryDirectory() as folder:
            jsonl_to_ctf.write_trace(sorted(events, key=lambda one: one["t"]), os.path.join(folder, "s"), cuts=cuts)
            tap.ok(used(folder)["busy", 10] >= LATER - 3 * MS and "stopped" not in ask("info", folder), f"who runs goes on, {what}", used(folder))


def check_lost(_):
    """Who has not been woken at the end may have been, if events were lost since it fell asleep; of another host's nothing is known."""
    with tempfile.TemporaryDirectory() as folder:
        for lost, hosts in ((3, ("one",)), (0, ("one",)), (0, ("one", "two"))):
            place = os.path.join(folder, f"{lost}-{len(hosts)}")
            for host in hosts:
                jsonl_to_ctf.write_trace(first(), os.path.join(place, host), {"hostname": host}, lost=lost if host == "one" else 3)
            said = ask("critpath", "--full", "--tid=13", "--host=one", place)
            end = "not woken as far as is known: events were lost meanwhile" if lost else "not woken before the end of the trace"
            tap.ok(f"{end}; in recvfrom" in said and said.count("not woken") == 2, f"what is said of a wait that has not ended: {lost} events were lost, {len(hosts)} hosts", said)


def check_view(_):
    """What is missing is said where it is missing: of the first session its second half of events, and then all."""
    with tempfile.TemporaryDirectory() as folder:
        jsonl_to_ctf.write_trace(first(), os.path.join(folder, "s0"), lost=3)
        jsonl_to_ctf.write_trace(second(), os.path.join(folder, "s1"))
        try:
            server = Server(lull, environment(os.path.join(folder, "cache")), os.path.join(folder, "s0"), os.path.join(folder, "s1"))
        except RuntimeError as failure:
            if "without" not in str(failure):
                raise
            tap.skip("the view", "built without it")
            return
        of = f"experiments/{server.ask('GET', 'experiments')[1][0]['UUID']}/outputs"
        marks = server.model(f"{of}/{TASKS}/annotations", {"requested_timerange": {"start": 0, "end": 2 * LATER, "nbTimes": 9}})
        found = [(mark["time"], mark["duration"], mark["label"]) for mark in marks["annotations"]["Lost Events"]]
        tap.ok(found[-1] == (12 * MS, LATER - 12 * MS, "nothing was recorded") and [label for *_, label in found[:-1]] == ["3 events"],
               "what is missing in the view", found)
        tap.ok(server.end()[0] == 0, "the server ends")


def check_real(folder):
    """Together they say of tasks what each of them says, and no more."""
    sessions = sorted(os.path.join(folder, name) for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
    alone = collections.Counter()
    of_host = []
    for session in sessions:
        name = re.search(r"^Host (\S+)", ask("info", session), re.MULTILINE).group(1)
        if name == "t1":
            of_host.append(session)
            alone.update(used(session))
    together = used(*of_host)
    tap.ok(len(of_host) > 3 and sum(alone.values()) > 10**9 and together == alone, f"{len(of_host)} sessions: time on CPUs", together - alone, alone - together)
    longest = max(row["longest_ns"] for row in tables("waits", *of_host)["waits"])
    tap.ok(longest < 6 * 10**9, "no wait is longer than the longest session", longest)


tap.run("one after the other", check_scene, (first(), second()), "one after the other")
tap.run("another one in between", check_scene, (first(), between(), second()), "another one in between")
tap.run("stopped and started again", check_scene, (restarted(),), "stopped and started again", (LATER,))
tap.run("another session meanwhile", check_other, None)
tap.run("idle", check_idle, None)
tap.run("lost events", check_lost, None)
tap.run("the view", check_view, None)
tap.run("sessions of a real machine", check_real, os.path.join(os.environ["LULL_SAMPLES"], "truth"))
sys.exit(tap.done())
