#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull daemon` on this machine: waits that a program stamps, requests that it reports, limits, metrics, rights, and what is left of
# it after its end or its death. Root only, and only where eBPF may be loaded.
import contextlib
import glob
import json
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import openmetrics
from lib.busy import busy_cpus
from live.tracked import LULL, why_no_ftrace
from tap import Tap
from trigger.daemons import Daemon, children, left_of, lull, status, wait_for, why_no_daemon

tap = Tap()
NAP = 0.4
SLEEPER = """
import os, sys, time
open("/proc/self/comm", "w").write("napper")
before = time.monotonic_ns()
time.sleep(float(sys.argv[1]))
print(os.getpid(), before, time.monotonic_ns())
"""


def nap(seconds):
    out = subprocess.run([sys.executable, "-c", SLEEPER, str(seconds)], capture_output=True, text=True, check=True).stdout
    return map(int, out.split())


def check_wait(daemon):
    """A wait over the limit is written, one below is not, and critpath answers without a question."""
    pid, before, after = nap(NAP)
    short, *_ = nap(0.1)
    sets = wait_for(daemon.written)
    tap.ok(len(sets) == 1, "one snapshot of one long wait, none of a short one", sets, daemon.said())
    description = json.load(open(os.path.join(sets[0], "recording.json")))
    trigger, zero = description["trigger"], description["clock"]["offset_ns"]
    tap.ok(trigger["rule"] == "naps" and trigger["tid"] == pid and trigger["comm"] == "napper", "it says why", trigger)
    tap.ok(before <= trigger["begin_ns"] - zero <= trigger["end_ns"] - zero <= after and
           trigger["end_ns"] - trigger["begin_ns"] > NAP * 1e9, "its times lie within the program's stamps", trigger, before, after)
    tap.ok(os.stat(sets[0]).st_mode & 0o777 == 0o700 and os.stat(sets[0]).st_uid == 0, "nobody else can read it")
    path = json.loads(lull("critpath", "--json", sets[0]).stdout)
    timer = [s for s in path["segments"] if s["tid"] == pid and s["end_ns"] - s["begin_ns"] > 0.9 * NAP * 1e9]
    tap.ok(path["query"]["end_ns"] - path["query"]["begin_ns"] == trigger["end_ns"] - trigger["begin_ns"] and len(timer) == 1,
           "critpath alone shows the wait, from its start to its end", path["query"], len(timer))
    shown = lull("info", sets[0]).stdout
    tap.ok("napper" in shown and "Host web-1\n" in shown, "info says what triggered it, and calls the machine as the configuration does", shown)
    # The functions of the kernel that sleep have had these names for long; time.sleep() of Python is in libc.
    tap.ok(any("nanosleep" in function for function in trigger["stack"]) and any(".so" in function for function in trigger["user_stack"]) and
           "waker_stack" not in trigger and "nanosleep" in shown, "it names the stacks that the rule asks for, and no other", trigger, shown)
    asked = lull("why", sets[0])
    # Something else on this machine may have some.
    tap.ok(asked.returncode == 0 and ("'lull critpath' shows what the slow task waited for" in asked.stdout or
                                      "instances" in asked.stdout), "without requests, why says who answers", asked)
    return sets[0]


def check_rights(daemon):
    speaker = daemon.family()["speaker"]
    state = status(speaker)
    tap.ok(state["CapEff"] == state["CapPrm"] == "0" * 16 and state["Uid"].split()[0] != "0",
           "the process that listens has no right and is not root", state)
    own = status(daemon.process.pid)
    tap.ok(bin(int(own["CapEff"], 16)).count("1") <= 8, "the daemon has few", own["CapEff"])
    policies = [os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK for pid in (daemon.process.pid, speaker)]
    if "no real-time priority" in daemon.said():
        tap.skip("both run before usual programs", daemon.said())
    else:
        tap.ok(policies == [os.SCHED_RR] * 2 or [os.getpriority(os.PRIO_PROCESS, pid) < 0 for pid in (daemon.process.pid, speaker)] == [True] * 2,
               "both run before usual programs", policies)
    open_files = [os.readlink(f"/proc/{speaker}/fd/{fd}") for fd in os.listdir(f"/proc/{speaker}/fd")]
    tap.ok(not any("bpf" in name or "tracing" in name or name.startswith(daemon.sets) for name in open_files),
           "nothing of the daemon's is open in it", open_files)
    tap.ok(os.stat(daemon.hook).st_mode & 0o777 == 0o600, "without a group only root may report")
    other = subprocess.run([LULL, "trigger", "--socket", daemon.hook, "--slower", "1s"], capture_output=True, text=True, user=65534)
    tap.ok(other.returncode == 1 and "hook_group" in other.stderr, "the refusal says who may report", other.stderr)


def check_metrics(daemon):
    kind, text = daemon.metrics()
    families = openmetrics.parse(text)
    tap.ok(kind.startswith("application/openmetrics-text") and len(families) >= 6, "the metrics are OpenMetrics", kind, list(families))
    reached = families["lull_history_seconds"]["samples"][0][2]
    tap.ok(0 < reached < 60, "they say how far the last snapshot reached back", reached)
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/etc/passwd")
        tap.ok(False, "there is nothing else")
    except urllib.error.HTTPError as refusal:
        tap.ok(refusal.code == 404, "there is nothing else", refusal.code)


def check_requests(daemon):
    """A thousand slow requests within the pause of a rule are one snapshot, and all are counted."""
    before = daemon.counts()
    time.sleep(5.2)  # what was written last explains nothing any more
    start, used = time.time_ns(), time.thread_time_ns()
    while time.time_ns() - start < 500_000_000:
        pass
    end, used = time.time_ns(), time.thread_time_ns() - used
    asked = daemon.trigger("--slower", "500ms", "--pid", str(os.getpid()), "--for", "checkout")
    path = asked.stdout.strip()
    tap.ok(asked.returncode == 0 and path in daemon.written(), "lull trigger prints the snapshot", asked)
    trigger = json.load(open(os.path.join(path, "recording.json")))["trigger"]
    tap.ok(trigger["rule"] == "web" and trigger["pid"] == os.getpid() and trigger["end_ns"] - trigger["begin_ns"] == 500_000_000,
           "it is about the request", trigger)
    shown = json.loads(lull("critpath", "--json", path).stdout)
    ran = sum(s["end_ns"] - s["begin_ns"] for s in shown["segments"] if s["tid"] == os.getpid())
    # Others may have had the CPU meanwhile, and the request is over when lull trigger runs, which is later.
    least = end - max(start, trigger["begin_ns"]) - (end - start - used) - 20_000_000
    tap.ok(ran > least, "critpath shows who reported it, busy", ran, least)
    now = time.time()
    for number in range(1000):
        daemon.send(f"<190>Nov 22 14:02:11 nginx: lull1 t={now:.3f} d=0.3{number % 10} pid={os.getpid()} id=checkout st=200")
    for line in ("", "lull1", "lull1 t=1 d=x", "x" * 3000, "lull1 t=\0 d=1"):
        daemon.send(line)
    daemon.send(f"lull1 t={now + 7200:.3f} d=0.9")  # ends in two hours
    daemon.send(f"lull1 t={now:.3f} d=0.1")  # fast enough

    def seen():
        counts = daemon.counts()
        change = {key: int(float(counts[key])) - int(float(before[key])) for key in before if "seconds" not in key and "overhead" not in key}
        change["slow"] = sum(change[f'lull_snapshots_total{{result="{result}"}}'] for result in ("written", "coalesced", "limited"))
        change["damaged"] = change['lull_lost_total{what="damaged hook"}']
        change["dropped"] = change['lull_lost_total{what="dropped hook"}']
        # A busy machine may drop what makes sense: 1001 slow requests, and the one whose time does not.
        is_all = change["lull_hooks_total"] == 1003 and change["slow"] + change["damaged"] - 5 + change["dropped"] == 1002
        return change if is_all else None
    change = wait_for(seen) or {}
    tap.ok(change and change["damaged"] >= 5 + (not change["dropped"]), "lines that make sense are counted, and those that do not", change)
    tap.ok(change and change["slow"] + change["dropped"] >= 1001 and change['lull_snapshots_total{result="written"}'] == 1,
           "1001 slow requests are one snapshot", change)
    coalesced = daemon.trigger("--slower", "300ms")
    tap.ok(coalesced.returncode == 0 and coalesced.stdout.strip() == path, "what is just over is in that one", coalesced)
    fast = daemon.trigger("--slower", "10ms")
    tap.ok(fast.returncode == 3 and "no rule" in fast.stderr, "a fast one is exit status 3", fast)
    command = daemon.trigger("--if-slower", "10s", "--", "sh", "-c", "exit 7")
    tap.ok(command.returncode == 7, "a command's exit status is passed on", command)


def report_inside(daemon, directory):
    """Process 1 of a container says that it served a request: what is written, and what that process is called here."""
    server = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", *with_clock(directory), "sh", "-c", '"$@"; read end', "sh", LULL, "trigger",
                               "--socket", daemon.hook, "--slower", "5ms", "--pid", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    path = server.stdout.readline().strip()
    inside = children(server.pid)
    server.communicate("\n")
    return path, inside


def check_inside(daemon, path, inside):
    """It is called otherwise here, where process 1 is the first of all."""
    with open(f"/proc/{daemon.process.pid}/root{path}/recording.json") as file:
        pid = json.load(file)["trigger"]["pid"]
    tap.ok([pid] == inside != [1], "a server in a container is found by its own number", pid, inside)


def check_room(directory):
    """Only the newest sets that fit are kept, besides what is pinned and what is no set."""
    daemon = Daemon(directory, "[rule web]\nslower=1ms\n", "pause=1ms\nper_hour=1000\nper_day=1000\nsize=1k")
    os.makedirs(daemon.sets, exist_ok=True)
    made = ["20200101-000000-00000001", "20200101-000000-00000002", "20200101-000000-0000000x", "notes"]
    for name in made:
        os.makedirs(os.path.join(daemon.sets, name, "state"))
        with open(os.path.join(daemon.sets, name, "state", "file"), "w") as file:
            file.write("x" * 100_000)
    open(os.path.join(daemon.sets, made[0], "pinned"), "w").close()
    path = daemon.trigger("--slower", "5ms", "--pid", str(os.getpid())).stdout.strip()
    wait_for(lambda: made[1] not in os.listdir(daemon.sets))
    left = sorted(os.listdir(daemon.sets))
    tap.ok(left == sorted([made[0], made[2], made[3], os.path.basename(path)]), "the oldest make room, what is pinned or no set stays",
           left, daemon.said())
    second = subprocess.run([LULL, "daemon", "--config", daemon.config], capture_output=True, text=True, timeout=20)
    tap.ok(second.returncode == 1 and "another daemon may run" in second.stderr and os.path.exists(daemon.hook),
           "a second one at the same socket says so, and leaves it alone", second.stderr)
    return daemon


# In a mount namespace with a small disk for snapshots.
SET_CLOCK = os.path.join(os.environ["LULL_PROGRAMS"], "set-clock.so")
SMALL_DISK = 'mount -t tmpfs -o size=100k,mode=700 none "$0" && exec "$@"'


def with_clock(directory):
    """What starts a program whose clock can be set; nothing in a sanitized build, whose libraries have to come first."""
    return ["env", f"LD_PRELOAD={SET_CLOCK}", f"SET_CLOCK={directory}/ahead"] if os.path.exists(SET_CLOCK) else []


def set_clock(directory, ahead):
    with open(os.path.join(directory, "ahead"), "w") as file:
        file.write(f"{ahead}\n")


def check_clock(daemon, path):
    """The clock was set two hours forward while the daemon ran; its snapshot has the new time, and says when the request was."""
    if not with_clock(""):
        tap.skip("a clock that is set", "not in a sanitized build")
        return
    with open(f"/proc/{daemon.process.pid}/root{path}/recording.json") as file:
        recording = json.load(file)
    ahead = recording["clock"]["offset_ns"] - (time.time_ns() - time.monotonic_ns())
    late = time.time_ns() + 7200 * 10**9 - recording["trigger"]["end_ns"]
    tap.ok(abs(ahead - 7200 * 10**9) < 10**8 and 0 < late < 60 * 10**9 and "the clock was set forward by 2 h" in daemon.said(),
           "a clock that is set is followed, and that is said", ahead, late, daemon.said())


def check_disk(directory):
    """A disk that is full is said, and ends nothing; who reports has an answer at once, and nothing is taken for a snapshot of it."""
    sets = os.path.join(directory, "sets")
    os.mkdir(sets)
    if subprocess.run(["unshare", "--mount", "sh", "-c", SMALL_DISK, sets, "true"], check=False, capture_output=True).returncode:
        tap.skip("a full disk", "no mounts in a namespace here")
        return
    daemon = Daemon(directory, "[rule web]\nslower=1ms\n", "pause=1ms\nper_hour=1000\nper_day=1000",
                    prefix=["unshare", "--mount", "sh", "-c", SMALL_DISK, sets, *with_clock(directory)])
    full = [daemon.trigger("--slower", "5ms") for _ in range(3)]
    tap.ok(all(one.returncode == 1 and "could not write" in one.stderr for one in full) and "No space left" in daemon.said(), "a full disk is said", full,
           daemon.said())
    start = time.monotonic()
    for _ in range(1000):
        daemon.send(f"lull1 t={time.time():.3f} d=0.3")
    took = time.monotonic() - start
    failed = 'lull_snapshots_total{result="failed"}'
    wait_for(lambda: int(daemon.counts()[failed]) + int(daemon.counts()['lull_lost_total{what="dropped hook"}']) >= 1003)
    tap.ok(took < 5 and daemon.said().count("no snapshot") == 1 and not [path for path in daemon.written() if path.endswith(".part")],
           "a thousand more are counted, and not tried", took, daemon.said(), daemon.counts()[failed])
    subprocess.run(["nsenter", f"--mount=/proc/{daemon.process.pid}/ns/mnt", "mount", "-o", "remount,size=100m", sets], check=True)
    time.sleep(5.1)
    set_clock(directory, 7200)
    path, inside = report_inside(daemon, directory)
    tap.ok(path.startswith(sets), "when there is room, they are written again", path, daemon.said())
    check_clock(daemon, path)
    check_inside(daemon, path, inside)
    tap.ok(daemon.stop() == 0 and not left_of(daemon), "and it ends as ever", daemon.said())


# What a command can see and do as whoever it is; the daemon's processes are its parent and that one's parent.
STRANGER = """#!/bin/sh
{ cat /proc/self/status; env; ls -l /proc/$$/fd
cat "$LULL_SNAPSHOT/recording.json" >/dev/null 2>&1 && echo reads the snapshot
touch "$LULL_SNAPSHOT/pinned" 2>/dev/null && echo writes there
kill -0 $PPID 2>/dev/null && echo may end its parent
[ -r /proc/$PPID/environ ] && echo sees its parent
} >"$1.part"
mv "$1.part" "$1"
"""


def open_script(directory, text):
    """A command, and where everybody may write what it has to say."""
    place = os.path.join(directory, "open")
    os.makedirs(place)
    os.chmod(place, 0o777)
    os.chmod(directory, 0o755)
    script = os.path.join(place, "script")
    with open(script, "w") as file:
        file.write(text)
    os.chmod(script, 0o755)
    return script, os.path.join(place, "out")


def check_stranger(script, out):
    """The command of a rule that names nobody is run by nobody, in no group but theirs, who can do nothing with the daemon."""
    text = wait_for(lambda: os.path.exists(out) and open(out).read()) or ""
    state = dict(re.findall(r"^(\w+):\t(.*)$", text, re.M))
    them = pwd.getpwnam("nobody")
    groups = {str(group) for group in os.getgrouplist("nobody", them.pw_gid)}
    tap.ok(state.get("Uid", "").split() == [str(them.pw_uid)] * 4 and state["Gid"].split() == [str(them.pw_gid)] * 4 and
           set(state["Groups"].split()) == groups, "a command is of the daemon's user, in their groups alone", text)
    tap.ok(all(int(state.get(name, "1"), 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")) and state["NoNewPrivs"] == "1" and
           state["TracerPid"] == "0", "without a capability, and cannot get one", state)
    files = dict(re.findall(r" (\d+) -> (.*)$", text, re.M))
    kept = {number: name for number, name in files.items() if number not in ("0", "1", "2")}
    tap.ok(files.get("0") == "/dev/null" and files.get("2", "").endswith("/log") and set(kept.values()) <= {out + ".part", script, "/dev/null"} and
           "socket:" not in text and "bpf" not in text and "/sys/" not in text, "nothing of the daemon's is open but the log; the shell keeps some of its own", files)
    names = set(re.findall(r"^(\w+)=", text, re.M))
    tap.ok({"PATH", "LULL_SNAPSHOT", "LULL_ID", "LULL_RULE", "LULL_DELAY", "LULL_COMM", "LULL_PID", "LULL_HOST"} <= names and
           names <= {"PATH", "LULL_SNAPSHOT", "LULL_ID", "LULL_RULE", "LULL_DELAY", "LULL_COMM", "LULL_PID", "LULL_HOST", "PWD", "OLDPWD", "SHLVL", "_"},
           "its environment is what it needs to know, and the shell's", names)
    tap.ok(text and not re.search("^(reads|writes|may|sees) ", text, re.M), "it neither reads the snapshot nor reaches the daemon", text)


COMMAND = """#!/bin/sh
sleep 0.3
{ id -u; env; grep -c . /proc/self/status; grep -E 'CapEff|SigIgn' /proc/self/status; ls /proc/self/fd | wc -l; } > "$1.part"
mv "$1.part" "$1"
"""


def hang_up(daemon, text):
    """Another configuration; what the daemon says of it."""
    with open(daemon.config, "w") as file:
        file.write(text)
    before = len(daemon.said())
    daemon.process.send_signal(signal.SIGHUP)
    # The last line that it says; rules that are not watched are named before.
    return wait_for(lambda: re.search("(read the configuration again|configuration stays as it was).*\n", daemon.said()[before:]) and daemon.said()[before:])


def check_hung(directory):
    """One that hangs, with as many reports as its socket has room for: who reports goes on."""
    daemon = Daemon(directory, "[rule web]\nslower=200ms\n")
    speaker = daemon.family()["speaker"]
    os.kill(speaker, signal.SIGSTOP)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client, contextlib.suppress(BlockingIOError):
            client.setblocking(False)
            for _ in range(100000):
                client.sendto(b"lull1 t=1.0 d=0.001", daemon.hook)
        start = time.monotonic()
        told = daemon.trigger("--slower", "1s")
        ran = daemon.trigger("--no-wait", "--if-slower", "1ms", "--", "sh", "-c", "sleep 0.1; exit 7")
        took = time.monotonic() - start
    finally:
        os.kill(speaker, signal.SIGCONT)
    tap.ok(told.returncode == 1 and "does not answer" in told.stderr and ran.returncode == 7 and took < 10, "a daemon that hangs holds up nobody who reports", told, ran, took)
    start = time.monotonic()
    told = daemon.trigger("--no-wait", "--slower", "1s")
    tap.ok(told.returncode == 0 and not told.stdout and wait_for(daemon.written), "without waiting for the answer", told, time.monotonic() - start, daemon.said())
    daemon.stop()


def rules_of(daemon):
    """Those that the process which listens has."""
    return sorted(set(re.findall(r'lull_alarms_total\{rule="(\w+)"', daemon.metrics()[1])))


def allow_files(pid, most):
    """As the user whose process it is: root may not everywhere."""
    user, group = (status(pid)[name].split()[0] for name in ("Uid", "Gid"))
    subprocess.run(["setpriv", "--reuid", user, "--regid", group, "--clear-groups", "prlimit", "--pid", str(pid), f"--nofile={most}:"], check=True, timeout=20)


def check_unread(daemon, first):
    """One of the processes cannot be given the new configuration, since it may open nothing more: all go on with the old one, and the log says why.
    Then it can."""
    other = first.replace("[rule slow]\nslower=10s", "[rule others]\nslower=1ms")
    family = daemon.family()
    for process, name in ("speaker", "the process that listens"), ("commands", "the process that runs commands"):
        used = set(map(int, os.listdir(f"/proc/{family[process]}/fd")))
        limit = resource.prlimit(family["commands"], resource.RLIMIT_NOFILE)[0]
        allow_files(family[process], min(set(range(len(used) + 1)) - used))
        said = hang_up(daemon, other) or ""
        fast = daemon.trigger("--slower", "5s", "--pid", str(os.getpid()))
        allow_files(family[process], limit)
        tap.ok(f"the configuration stays as it was: {name}: it cannot read the configuration" in said and rules_of(daemon) == ["naps", "slow"] and
               "no rule of the daemon is about this" in fast.stderr,
               f"{name} cannot read other rules: the old ones stay in force, and that is said", said, rules_of(daemon), fast)
    said = hang_up(daemon, other) or ""
    slow = daemon.trigger("--slower", "5s", "--pid", str(os.getpid()))
    tap.ok("read the configuration again: 2 rules" in said and rules_of(daemon) == ["naps", "others"] and slow.returncode == 0,
           "and when all can, the new ones are", said, rules_of(daemon), slow)


def check_reload(directory):
    """SIGHUP: a mistake changes nothing, other rules hold at once, and what was counted stays. A rule's command has no right."""
    daemon = Daemon(directory, "[rule slow]\nslower=10s\n[rule naps]\nwhen=offcpu: comm == \"napper\" > 10s\n", "pause=1ms")
    with open(daemon.config) as file:
        first = file.read()
    refused = [hang_up(daemon, text) for text in (first.replace("offcpu", "offcup"), first.replace("buffer=2M", "buffer=4M"))]
    tap.ok(daemon.ready and all(said and "configuration stays as it was" in said for said in refused) and ":13: [rule naps] when" in refused[0] and
           "“buffer” has changed" in refused[1], "a configuration that cannot hold changes nothing", refused)
    script, out = open_script(directory, COMMAND)
    said = hang_up(daemon, first.replace("[rule slow]\nslower=10s", "").replace("> 10s", "> 50ms") +
                   f"[rule quick]\nslower=1ms\nexec={script} '{out}'\nuser=root\n[rule slow]\nslower=10s\n")
    tap.ok(said and "3 rules" in said, "one that can holds", said)
    path = daemon.trigger("--slower", "5ms", "--pid", str(os.getpid())).stdout.strip()
    found = wait_for(lambda: os.path.exists(out) and open(out).read()) or ""
    lines = found.splitlines()
    environment = {line for line in lines if line.startswith("LULL_")}
    tap.ok(path and environment == {f"LULL_SNAPSHOT={path}", f"LULL_ID={os.path.basename(path)}", "LULL_RULE=quick", "LULL_DELAY=0.005000000",
                                    "LULL_COMM=", f"LULL_PID={os.getpid()}", f"LULL_HOST={socket.gethostname()}"}, "the rule's command knows what was written", path, found)
    ignored = [int(line.split()[1], 16) & 0x7fffffff for line in lines if line.startswith("SigIgn")]  # the next two are the C library's
    tap.ok(lines and lines[0] == "0" and "CapEff:\t" + "0" * 16 in lines and ignored == [0] and lines[-1] == "4" and
           not any(line.startswith(("SUDO_UID", "NOTIFY_SOCKET")) for line in lines), "it is the user that the rule names, without a right, and is given nothing else", found)
    nap(0.1)
    wait_for(lambda: daemon.counts()['lull_alarms_total{rule="naps"}'] != "0")
    wait_for(lambda: daemon.counts()['lull_commands_total{result="done"}'] == "1")
    counts = daemon.counts()
    # On a busy machine it may have been kept from a CPU for as long, too.
    tap.ok(int(counts['lull_alarms_total{rule="naps"}']) >= 1 and counts['lull_alarms_total{rule="quick"}'] == "1" and
           counts['lull_commands_total{result="done"}'] == "1", "waits are judged by the new rule, and all is counted", counts, daemon.said())
    hang_up(daemon, first)
    after = daemon.counts()
    tap.ok(after['lull_alarms_total{rule="naps"}'] == counts['lull_alarms_total{rule="naps"}'] and
           after['lull_alarms_total{rule="slow"}'] == "0" and not any("quick" in name for name in after), "counts stay with their rules",
           counts, after)
    check_unread(daemon, first)
    tap.ok(daemon.stop() == 0 and not left_of(daemon), "and it ends as before", left_of(daemon), daemon.said())


def check_deaths(directory):
    """Whichever of its processes is killed, nothing is left two seconds later; of what all of them leave, the next one."""
    first = Daemon(os.path.join(directory, "all"), "[rule web]\nslower=1s\n")
    family = first.family()
    for pid in (first.process.pid, family["guard"], family["keeper"]):
        os.kill(pid, signal.SIGSTOP)
    for pid in (first.process.pid, family["guard"], family["keeper"]):
        os.kill(pid, signal.SIGKILL)
    first.process.wait()
    instances = [name for name in left_of(first) if name.startswith("lull-")]
    for victim in ("daemon", "speaker", "commands", "guard", "keeper"):
        daemon = Daemon(os.path.join(directory, victim), "[rule naps]\nwhen=offcpu: comm == \"napper\" > 200ms\n")
        tap.ok(daemon.ready == b"READY=1", f"it starts again ({victim})", daemon.said())
        if victim == "daemon":
            tap.ok(len(instances) == 1 and not set(instances) & set(left_of(first)) and "removed what 1 killed recording had left behind" in daemon.said(),
                   "it removes what is left of one whose guard was killed, too, and says so", instances, left_of(first), daemon.said())
        os.kill(daemon.family()[victim], signal.SIGKILL)
        gone = wait_for(lambda daemon=daemon: daemon.process.poll() is not None and not left_of(daemon), 2)
        tap.ok(gone, f"nothing is left when the {victim} is killed", daemon.process.poll(), left_of(daemon))
        if victim != "daemon":
            tap.ok(daemon.process.poll() == 1 and "it has ended" in daemon.said(), f"a daemon without its {victim} ends, and says why", daemon.said())


# In a mount namespace where the kernel does not describe its types.
WITHOUT_BPF = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]


def check_ftrace(directory):
    """Where eBPF is refused ftrace watches; rules that it sees nothing of are named, in the log and in the metrics."""
    if why_no_ftrace() or subprocess.run([*WITHOUT_BPF, "true"], check=False, capture_output=True).returncode:
        tap.skip("the daemon over ftrace", why_no_ftrace() or "no mounts in a namespace here")
        return
    alone = Daemon(directory, "[rule web]\nwhen=serve(80) > 1s\n", prefix=WITHOUT_BPF)
    tap.ok(alone.process.wait(20) == 1 and "no /sys/kernel/btf" in alone.said() and not left_of(alone), "no rule can be watched: it does not start",
           alone.said())
    rules = "[rule web]\nwhen=serve(80) > 1s\n[rule naps]\nwhen=offcpu: comm == \"napper\" > {}\n[rule locks]\nwhen=lock > 1s\n" \
            "[rule slow]\nslower=1s\n"
    os.mkdir(os.path.join(directory, "second"))
    daemon = Daemon(os.path.join(directory, "second"), rules.format("200ms"), "pause=1ms", prefix=WITHOUT_BPF)
    said = daemon.said()
    tap.ok(daemon.ready and re.findall(r"rule (\w+) is not watched: “(.*)” needs eBPF\n", said) == [("web", "serve(80) > 1s"), ("locks", "lock > 1s")] and
           len(re.findall(r"ftrace watches waits, and cannot see .*; eBPF is not available: .*/sys/kernel/btf/vmlinux", said)) == 1, "a line for each rule, and how", said)
    pid, before, after = nap(NAP)
    nap(0.1)
    sets = wait_for(daemon.written)
    wait_for(lambda: 'lull_alarms_total{rule="naps"}' in daemon.counts() and daemon.counts()['lull_alarms_total{rule="naps"}'] == "1")
    trigger = json.load(open(os.path.join(sets[0], "recording.json")))["trigger"] if sets else {}
    zero = json.load(open(os.path.join(sets[0], "recording.json")))["clock"]["offset_ns"] if sets else 0
    tap.ok(len(sets) == 1 and trigger["tid"] == pid and before <= trigger["begin_ns"] - zero <= trigger["end_ns"] - zero <= after,
           "one snapshot of the wait that was too long, which lies within its stamps", sets, trigger, daemon.said())
    wait_for(lambda: any(name.startswith("lull_latency") for name in daemon.counts()))
    openmetrics.parse(daemon.metrics()[1])
    counts = daemon.counts()
    watched = [counts[f'lull_rule_watched{{rule="{name}"}}'] for name in ("web", "naps", "locks", "slow")]
    tap.ok(watched == ["0", "1", "0", "1"] and counts['lull_tracker_info{backend="ftrace"}'] == "1" and
           int(counts['lull_latency_seconds_count{kind="offcpu",arg=""}']) > 0, "the metrics say which rules, and by what", watched)
    hang_up(daemon, open(daemon.config).read().replace("200ms", "50ms"))
    nap(0.1)
    tap.ok(wait_for(lambda: daemon.counts()['lull_alarms_total{rule="naps"}'] == "2"), "another configuration holds, when root's rights are gone",
           daemon.said(), daemon.counts())
    daemon.process.kill()
    daemon.process.wait()
    tap.ok(wait_for(lambda: not left_of(daemon), 2), "it is killed: nothing is left two seconds later", left_of(daemon))


def check_bad(directory):
    bad = os.path.join(directory, "bad.conf")
    with open(bad, "w") as file:
        file.write("[daemon]\ncolour=red\n[rule a]\nwhen=offcup > 1ms\n")
    refused = lull("daemon", "--config", bad, "--check")
    tap.ok(refused.returncode == 1 and "[daemon] colour" in refused.stderr and "perhaps “offcpu”" in refused.stderr,
           "a configuration with two mistakes has both reported", refused.stderr)
    none = lull("daemon", "--config", "/nonexistent")
    tap.ok(none.returncode == 1 and "DAEMON.md" in none.stderr and "/nonexistent: No such file" in none.stderr,
           "no configuration is exit status 1, and says where one is described", none.stderr)
    none = lull("trigger", "--slower", "3s", "--socket", os.path.join(directory, "no-socket"))
    tap.ok(none.returncode == 1 and "'lull daemon' does not run here" in none.stderr, "no daemon: it says what is missing", none.stderr)
    for rules, said in ((1, "1 rule"), (2, "2 rules")):
        with open(bad, "w") as file:
            file.write("".join(f"[rule r{i}]\nslower=1s\n" for i in range(rules)))
        right = lull("daemon", "--config", bad, "--check")
        tap.ok(right.stdout == f"the configuration is correct: {said}\n", f"a configuration with {said}", right)
    with open(bad, "w") as file:
        file.write("[daemon]\nuser=root\nhook_group=nobodys\ntoken=/nonexistent\nmetrics=127.0.0.1:9\n[rule a]\nslower=1s\nexec=/nonexistent/x\nuser=no-such-user\n")
    refused = lull("daemon", "--config", bad, "--check")
    told = [line.partition(":")[0] for line in refused.stderr.removeprefix("lull daemon: ").splitlines()]
    tap.ok(refused.returncode == 1 and told == ["[daemon] user", "[daemon] hook_group", "[daemon] token", "[rule a] user", "[rule a] exec"],
           "and so is what this machine does not have", refused.stderr)
    open_to_all = os.path.join(directory, "open")
    os.mkdir(open_to_all)
    os.chmod(open_to_all, 0o777)
    with open(bad, "w") as file:
        file.write(f"[daemon]\nsnapshots={open_to_all}\nhook={directory}/bad-hook\n[rule a]\nslower=1s\n")
    refused = lull("daemon", "--config", bad)
    tap.ok(refused.returncode == 1 and "nobody else may write there" in refused.stderr and not os.path.exists(directory + "/bad-hook"),
           "a directory that others may write is refused", refused.stderr)
    nobody = lull("trigger", "--socket", os.path.join(directory, "nothing"), "--slower", "1s")
    tap.ok(nobody.returncode == 1 and "no daemon can be reached" in nobody.stderr, "no daemon is exit status 1", nobody.stderr)


def main(directory):
    os.mkdir(os.path.join(directory, "first"))
    script, out = open_script(os.path.join(directory, "first"), STRANGER)
    daemon = Daemon(os.path.join(directory, "first"), "[rule naps]\nwhen=offcpu: comm == \"napper\" > 200ms\nstack=kernel,user\n"
                    f"exec={script} '{out}'\n[rule web]\nslower=200ms\n", more="name=web-1")
    try:
        tap.ok(daemon.ready == b"READY=1", "it tells systemd when it is ready", daemon.said())
        with busy_cpus():
            check_wait(daemon)
        check_stranger(script, out)
        check_rights(daemon)
        check_metrics(daemon)
        check_requests(daemon)
    finally:
        code = daemon.stop()
    tap.ok(code == 0 and not left_of(daemon), "SIGTERM ends it, and nothing is left", code, left_of(daemon),
           daemon.said())
    for name in ("room", "hung", "reload", "all", "daemon", "speaker", "commands", "guard", "keeper", "disk", "ftrace"):
        os.mkdir(os.path.join(directory, name))
    daemon = check_room(os.path.join(directory, "room"))
    daemon.stop()
    check_hung(os.path.join(directory, "hung"))
    check_deaths(directory)
    check_disk(os.path.join(directory, "disk"))
    with busy_cpus():
        check_reload(os.path.join(directory, "reload"))
        check_ftrace(os.path.join(directory, "ftrace"))
    check_bad(directory)


if why_no_daemon():
    tap.skip("the daemon", why_no_daemon())
else:
    scratch = tempfile.mkdtemp(prefix="lull-daemon-")
    os.chmod(scratch, 0o755)
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()
