#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The flight recorder: what it writes is the end of what happened, whole and without holes; nothing else is left, however
# it ends; and only who may, may ask. Records, of this machine, a program of the test alone.
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tap import Tap, scratch

LULL = os.environ["LULL"]
TRACER = sys.argv[1]
NOBODY = 65534
tap = Tap()
# What the last recording was is nobody's business but the tests'.
os.environ["XDG_STATE_HOME"] = scratch("lull-flight-")
for variable in "SUDO_UID", "SUDO_GID":
    os.environ.pop(variable, None)

FD = 77
# Reads ever more bytes, one more each time, so that a hole in the recording is a hole in the numbers.
COUNT = """
import os, sys
os.dup2(os.open("/dev/zero", os.O_RDONLY), {fd})
for n in range(1, {most}):
    os.read({fd}, n)
print("done", flush=True)
sys.stdin.read()
"""


class Recorder:
    """A flight recorder with a program, in a directory of its own."""

    def __init__(self, folder, command, *options, **how):
        self.folder = folder
        self.process = subprocess.Popen(
            [LULL, "record", "--tracer", TRACER, "--only", *options, "--", *command], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        self.pid = self.process.pid

    def wait_for(self, text):
        while (line := self.process.stdout.readline()) and text not in line:
            pass
        assert line, self.process.stderr.read()

    def finish(self):
        out, told = self.process.communicate(timeout=100)
        return self.process.returncode, out, told

    def recordings(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("lull-"))


def lull(*arguments, **how):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, check=False, timeout=100, **how)
    return done.returncode, done.stdout, done.stderr


def snapshot(recorder, *options, **how):
    return lull("snapshot", "--recorder", str(recorder.pid), *options, **how)


def events_of(path):
    code, out, problems = lull("print", "--json", "--no-progress", path)
    assert code == 0, problems
    return [json.loads(line) for line in out.splitlines()]


def counts_of(events):
    """(time, bytes that were asked for) of each read() of the program, in the order of time."""
    calls = [e for e in events if e["name"].split(":")[-1] == "sys_enter"]
    reads = [(e["time_ns"], e["fields"]["args"]) for e in calls if e["fields"]["id"] == 0]
    return [(time_ns, args[2]) for time_ns, args in reads if args[0] == FD]


def common_begin(events):
    """Since when the buffers of all CPUs tell: they do not reach back equally far."""
    first = {}
    for event in events:
        if event["cpu"] is not None:
            first.setdefault(event["cpu"], event["time_ns"])
    return max(first.values(), default=0)


def info(path):
    code, out, problems = lull("info", "--json", "--no-progress", path)
    assert code == 0, problems
    return json.loads(out)


def left(pid):
    """What a recorder has left on the machine."""
    found = glob.glob(f"/sys/kernel/tracing/instances/lull-{pid}-*")
    return found + [path for path in (f"/run/lull/{pid}", f"/tmp/lull-0/{pid}") if os.path.exists(path)]


def is_run(counts, least):
    return len(counts) >= least and counts == list(range(counts[0], counts[0] + len(counts)))


# ---- what it writes ----

def test_last(folder):
    # perf's buffers hold what all tasks do, until it is read.
    most, buffer = (40000, "256k") if TRACER == "ftrace" else (150000, "4M")
    recorder = Recorder(folder, [sys.executable, "-c", COUNT.format(most=most, fd=FD)], "--snapshot", "--buffer", buffer)
    recorder.wait_for("done")
    code, path, problems = snapshot(recorder, "-o", os.path.join(folder, "first"))
    path = path.strip()
    tap.ok(code == 0 and path == os.path.join(folder, "first") and os.path.isdir(path), "a snapshot is written", problems)
    code, second, problems = snapshot(recorder)
    second = second.strip()
    tap.ok(code == 0 and os.path.dirname(second) == os.path.realpath(folder) and "python" in second,
           "another one, where the recorder was started", second, problems)
    code, _, told = recorder.finish()
    tap.ok(code == 0 and "the last" in told and path in told and second in told, "the recorder tells of both", told)
    tap.ok(not left(recorder.pid), "nothing is left on the machine", left(recorder.pid))
    events = events_of(path)
    counts, since = counts_of(events), common_begin(events)
    run = [n for time_ns, n in counts if time_ns >= since]
    tap.ok(is_run(run, 100) and run[-1] == most - 1, "the buffers hold the last of many calls, each of them", len(counts),
           run[:5], run[-5:])
    tap.ok(len(counts) < most - 1, "and not all", len(counts))
    told = info(path)
    recording = told["recordings"][0]
    tap.ok(recording["snapshot"] is True and recording["ended_by"] == "snapshot" and recording["lost_events"] == 0,
           "it says that it is a snapshot", recording)
    tap.ok(told["lost"]["events"] == 0 and told["lost"]["packets"] == 0, "what was overwritten is not lost", told["lost"])
    pid = recording["pid"]
    names = {e["fields"]["tid"]: e["fields"]["name"] for e in events if e["name"] == "lttng_statedump_process_state"}
    if names:  # not in another pid namespace
        tap.ok(names.get(pid, "").startswith("python"), "the state names the command", names.get(pid))
    if TRACER != "ftrace":
        return  # reading does not empty the buffers
    ranges = [[(t["begin_ns"], t["end_ns"]) for t in info(p)["traces"] if t["begin_ns"] and t["format"] != "CTF 1.8"]
              for p in (path, second)]
    tap.ok(not ranges[1] or ranges[0][0][1] <= ranges[1][0][0], "the second begins behind the first", ranges)


def test_signal(folder):
    recorder = Recorder(folder, ["sh", "-c", "echo begun; read line; cat /dev/null; exit 7"], "--snapshot")
    recorder.wait_for("begun")
    os.kill(recorder.pid, signal.SIGUSR1)
    deadline = time.monotonic() + 60
    while not any(not name.endswith(".part") for name in recorder.recordings()) and time.monotonic() < deadline:
        time.sleep(0.02)
    made = recorder.recordings()
    code, _, told = recorder.finish()
    tap.ok(len(made) == 1 and code == 7, "SIGUSR1 asks too; the status is that of the command", made, code, told)
    tap.ok(len(recorder.recordings()) == 1, "the end of the command is no reason to write", recorder.recordings())


def test_slower(folder):
    command = ["sh", "-c", "sleep 0.4"]
    code, _, told = Recorder(folder, command, "--if-slower", "1h").finish()
    tap.ok(code == 0 and "not longer than" in told and not os.listdir(folder), "a fast command leaves nothing", told,
           os.listdir(folder))
    recorder = Recorder(folder, command, "--if-slower", "100ms")
    code, _, told = recorder.finish()
    made = recorder.recordings()
    tap.ok(code == 0 and len(made) == 1 and "the last" in told, "a slow one is written", told, made)
    path = os.path.join(folder, made[0])
    recording = info(path)["recordings"][0]
    tap.ok((recording["exit_status"], recording["ended_by"], recording["snapshot"]) == (0, "command", True),
           "with how it ended", recording)
    code, out, problems = lull("critpath", "--json", path, "--tid", str(recording["pid"]))
    segments = json.loads(out)["segments"] if code == 0 else []
    # What ended the wait may be an interrupt on top of another task, which --only leaves out.
    slept = sum(s["end_ns"] - s["begin_ns"] for s in segments if s["state"] == "blocked")
    tap.ok(slept >= 0.2 * 10**9, "its path shows how long it waited", slept, out, problems)
    tap.ok(not left(recorder.pid), "nothing is left on the machine", left(recorder.pid))


def test_nothing(folder):
    code, _, told = Recorder(folder, ["true"], "--snapshot").finish()
    tap.ok(code == 0 and "nothing was written" in told and not os.listdir(folder), "without a request nothing is written",
           told)
    for options in (["--snapshot", "-o", "x"], ["--if-slower", "soon"]):
        code, _, told = Recorder(folder, ["true"], *options).finish()
        tap.ok(code == 2, f"a wrong question: {options}", code, told)
    done = lull("record", "--if-slower", "1s")
    tap.ok(done[0] == 2 and "command" in done[2], "--if-slower needs a command", done)


# ---- who asks ----

def test_requests(folder):
    code, out, problem = lull("snapshot", "--recorder", "1")
    tap.ok(code == 1 and not out and "no recorder" in problem, "there is no such recorder", problem)
    for arguments in (["trace"], ["--recorder", "0"]):
        tap.ok(lull("snapshot", *arguments)[0] == 2, f"wrong arguments: {arguments}")
    recorder = Recorder(folder, ["cat"], "--snapshot")
    path = f"/run/lull/{recorder.pid}/socket"
    deadline = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.mkdir(os.path.join(folder, "there"))
    code, _, problem = snapshot(recorder, "-o", os.path.join(folder, "there"))
    tap.ok(code == 1 and "already exists" in problem, "a name that is taken is refused", problem)
    code, _, problem = snapshot(recorder, "-o", os.path.join(folder, "not", "here"))
    tap.ok(code == 1 and "No such file" in problem, "so is one below a directory that is not there", problem)
    for message in b"", b"x", b"s", b"srelative", b"s/a\0b", b"s" + b"/x" * 5000, b"\0" * 100:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(path)
            if message != b"s":
                with contextlib.suppress(OSError):
                    client.send(message)
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    silent.connect(path)
    code, out, problem = snapshot(recorder, "-o", os.path.join(folder, "good"))
    silent.close()
    tap.ok(code == 0 and len(info(out.strip())["recordings"]) == 1, "nonsense and silence do no harm", problem)
    code, _, told = recorder.finish()
    tap.ok(code == 0 and told.count("cannot write a snapshot: ") == 2, "the recorder tells of what failed", told)
    expected = {"there", "good"}
    made = set(os.listdir(folder))
    tap.ok(expected <= made and not any(name.endswith(".part") for name in made), "and leaves nothing half", made)


def test_users(folder):
    """A recorder that nobody has started with sudo: nobody may ask, with the rights of nobody."""
    if not can_run_as_nobody():
        tap.skip("who may ask", "the user nobody cannot execute lull here")
        return
    os.chmod(folder, 0o755)
    own, closed = os.path.join(folder, "own"), os.path.join(folder, "closed")
    os.mkdir(own)
    os.mkdir(closed, 0o755)
    os.chown(own, NOBODY, NOBODY)
    for name, sudo in ("another user's", {}), ("its own", {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}):
        recorder = Recorder(own, ["cat"], "--snapshot", env={**os.environ, **sudo, "HOME": folder})
        deadline = time.monotonic() + 60
        while not os.path.exists(f"/run/lull/{recorder.pid}/socket") and time.monotonic() < deadline:
            time.sleep(0.02)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": own}
        code, out, problem = snapshot(recorder, **as_nobody)
        if sudo:
            tap.ok(code == 0 and os.stat(out.strip()).st_uid == NOBODY, "who called sudo may ask, and owns it", problem)
            shutil.rmtree(out.strip())
            code, _, problem = snapshot(recorder, "-o", os.path.join(closed, "x"), **as_nobody)
            tap.ok(code == 1 and "Permission denied" in problem and not os.listdir(closed),
                   "but makes directories only where it may", problem, os.listdir(closed))
        else:
            tap.ok(code == 1 and "belongs to another user" in problem and not out, f"a recorder, {name}: refused", problem)
        recorder.finish()


def can_run_as_nobody():
    try:
        return subprocess.run([LULL, "--version"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                              check=False, timeout=30).returncode == 0
    except OSError:
        return False


# ---- how it ends ----

def test_killed(folder):
    recorder = Recorder(folder, ["cat"], "--snapshot")
    deadline = time.monotonic() + 60
    while not os.path.exists(f"/run/lull/{recorder.pid}/socket") and time.monotonic() < deadline:
        time.sleep(0.02)
    recorder.process.send_signal(signal.SIGKILL)
    recorder.process.wait()
    while left(recorder.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    tap.ok(not left(recorder.pid), "killed: what it had set up is removed", left(recorder.pid))
    tap.ok(snapshot(recorder)[0] == 1, "and nobody answers")
    recorder.process.stdin.close()
    for stream in recorder.process.stdout, recorder.process.stderr:
        stream.close()
    recorder = Recorder(folder, ["cat"], "--snapshot", "--duration", "300ms")
    code, _, told = recorder.finish()
    tap.ok(code == 0 and not left(recorder.pid), "the end of --duration ends it too", told)


def main():
    probe = tempfile.mkdtemp(prefix="lull-flight-")
    code, _, told = Recorder(probe, ["true"], "--snapshot").finish()
    shutil.rmtree(probe)
    if code != 0 and re.search("cannot record|built without", told):
        tap.skip("the flight recorder", told.strip().splitlines()[-1])
        return tap.done()
    for test in test_last, test_signal, test_slower, test_nothing, test_requests, test_users, test_killed:
        folder = os.path.realpath(tempfile.mkdtemp(prefix="lull-flight-"))
        tap.run(test.__name__, test, folder)
        shutil.rmtree(folder)
    return tap.done()


sys.exit(main())
