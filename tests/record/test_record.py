#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull record`: what it leaves, and that it leaves nothing else. Where the kernel allows it, real recordings are made with ftrace of
# commands that are started here, and of nothing else (--only). trace-cmd reads them as well.
# LULL is the program. Everything happens in directories of this test; the state directory too.
import concurrent.futures
import glob
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from tap import Tap

lull = os.environ["LULL"]
INSTANCES = "/sys/kernel/tracing/instances"
NOBODY = 65534
tap = Tap()


def environment(state, **more):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_STATE_HOME": state, **more}
    for name in ("LD_PRELOAD", "SUDO_UID", "SUDO_GID"):
        if name not in more:
            env.pop(name, None)
    return env


def run(arguments, folder, env=None, **more):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, cwd=folder,
                          env=env or environment(os.path.join(folder, "state")),
                          **{"stdin": subprocess.DEVNULL, **more})


def record(folder, *arguments, **more):
    return run([lull, "record", "--tracer", "ftrace", *arguments], folder, **more)


def start(folder, *arguments, **more):
    """A recorder that goes on, with a session of its own."""
    return subprocess.Popen([lull, "record", "--tracer", "ftrace", *arguments], cwd=folder, text=True,
                            env=environment(os.path.join(folder, "state")), start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def scratch():
    return tempfile.TemporaryDirectory(prefix="lull-record-")


def instances(pid):
    return glob.glob(f"{INSTANCES}/lull-{pid}-*")


def describe(path):
    with open(os.path.join(path, "recording.json"), encoding="utf-8") as file:
        return json.load(file)


def recordings(folder):
    """What looks like a recording, or is in work."""
    return sorted(name for name in os.listdir(folder) if name not in ("state", "x"))


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


# --- without rights, or without ftrace -----------------------------------------------------------------------------


def test_usage():
    with scratch() as folder:
        for words, what in ((["--only"], "there is none"), (["--buffer", "0", "true"], "--buffer"),
                            (["--buffer", "64X", "true"], "--buffer"), (["--pid", "0"], "--pid"),
                            (["--pid", "1,x"], "--pid"), (["--duration", "soon", "true"], "soon"),
                            (["--for", "fun", "true"], "--for"), (["--tracer", "dtrace", "true"], "--tracer")):
            done = run([lull, "record", *words], folder)
            tap.ok(done.returncode == 2 and what in done.stderr, f"usage: {' '.join(words)}", done)
        tap.ok(recordings(folder) == [], "a wrong command line leaves nothing", os.listdir(folder))


def test_refusals():
    if os.geteuid() != 0:
        tap.skip("refusals", "only root can play other users")
        return
    with scratch() as folder:
        os.chmod(folder, 0o777)
        copy = shutil.copy(lull, os.path.join(folder, "x"))  # the build may be where nobody may go
        done = run([copy, "record", "--tracer", "ftrace", "echo", "ran"], folder,
                   user=NOBODY, group=NOBODY, extra_groups=[])
        tap.ok(done.returncode == 1 and "cannot record with ftrace" in done.stderr and "ran" not in done.stdout,
               "without rights", done)
        tap.ok("sudo" in done.stderr or "mount" in done.stderr or "no tracefs" in done.stderr,
               "it says how to get them", done.stderr)
        tap.ok(recordings(folder) == [], "and leaves nothing", os.listdir(folder))
        done = run([copy, "record", "--buffer", "1000G", "echo", "ran"], folder)
        refusals = [f"\n  {name}: " in done.stderr for name in ("ftrace", "perf")]
        tap.ok(done.returncode == 1 and all(refusals) and "ran" not in done.stdout and recordings(folder) == [],
               "a tracer that cannot be set up makes place for the next, until none is left", done)
        done = run(["unshare", "--mount", "sh", "-c", 'for m in $(grep -E " (tracefs|debugfs) " /proc/mounts | cut -d" " -f2); '
                    'do umount -l "$m"; done; exec "$0" record --tracer ftrace echo ran', lull], folder)
        if "unshare: " in done.stderr:
            tap.skip("without tracefs", "no mount namespaces here")
        else:
            tap.ok(done.returncode == 1 and re.search("tracefs", done.stderr) and "ran" not in done.stdout,
                   "without tracefs", done)
            tap.ok(recordings(folder) == [], "without tracefs nothing is left", os.listdir(folder))


# --- real recordings ----------------------------------------------------------------------------------------------


def why_not():
    """Why nothing can be recorded here, or None."""
    with scratch() as folder:
        done = record(folder, "--only", "true")
        refused = done.returncode == 1 and "cannot record with ftrace" in done.stderr or "without recording with ftrace" in done.stderr
        return done.stderr.strip() if refused else None


def test_command():
    with scratch() as folder:
        done = record(folder, "--only", "-o", "a", "sh", "-c", "cat; echo to-stderr >&2; exit 3", stdin=None, input="abc")
        tap.ok(done.returncode == 3, "the exit status is the command's", done)
        tap.ok(done.stdout == "abc" and "to-stderr\n" in done.stderr, "input and output are the command's", done)
        about = describe(os.path.join(folder, "a"))
        tap.ok(about["exit_status"] == 3 and "signal" not in about and about["ended_by"] == "command", "it is noted", about)
        tap.ok(about["lull_recording"] == 1 and about["tracer"] == "ftrace" and about["purpose"] == "critpath" and
               about["filtered"] is True and about["command"][:2] == ["sh", "-c"], "what was asked for is noted", about)
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            tap.ok(about["boot_id"] == file.read().strip() and about["hostname"] == os.uname().nodename and
                   about["kernel"] == os.uname().release, "the machine is noted", about)
        offset = time.time_ns() - time.monotonic_ns()
        tap.ok(abs(about["clock"]["offset_ns"] - offset) < 10**9, "the clock is noted", about["clock"], offset)
        tap.ok(sorted(os.listdir(os.path.join(folder, "a"))) == ["recording.json", "state", "trace.dat"],
               "these files are there", os.listdir(os.path.join(folder, "a")))
        done = record(folder, "--only", "-o", "b", "sh", "-c", "kill -9 $$")
        tap.ok(done.returncode == 128 + 9 and describe(os.path.join(folder, "b"))["signal"] == 9, "ended by a signal", done)
        open(os.path.join(folder, "x"), "w", encoding="ascii").close()
        for command, status in (("./no-such-command", 127), ("./x", 126)):
            before = recordings(folder)
            done = record(folder, "--only", "-o", "c", "--", command)
            tap.ok(done.returncode == status and command in done.stderr, f"status {status}", done)
            tap.ok(recordings(folder) == before, f"status {status} leaves no recording", recordings(folder))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        done = record(folder, "--only", "-o", "d", "sh", "-c", "ulimit -n; cat /proc/self/status; ls -l /proc/self/fd")
        tap.ok(done.stdout.splitlines()[0] == str(soft), "the command has the limits that it would have", done.stdout)
        plain = run(["sh", "-c", "ulimit -n; cat /proc/self/status; ls -l /proc/self/fd"], folder)
        signals = [line for line in done.stdout.splitlines() if line.startswith(("SigBlk", "SigIgn"))]
        tap.ok(signals == [line for line in plain.stdout.splitlines() if line.startswith(("SigBlk", "SigIgn"))],
               "and their signals", done.stdout)
        tap.ok(len(re.findall("->", done.stdout)) == len(re.findall("->", plain.stdout)), "and no file of ours", done.stdout)


def test_names():
    with scratch() as folder:
        done = record(folder, "--only", "true")
        names = recordings(folder)
        tap.ok(done.returncode == 0 and len(names) == 1 and re.fullmatch(r"lull-true-\d{8}-\d{6}", names[0]),
               "a name is made of command and time", names)
        os.mkdir(os.path.join(folder, "taken"))
        done = record(folder, "--only", "-o", "taken", "echo", "ran")
        tap.ok(done.returncode == 1 and "taken" in done.stderr and "ran" not in done.stdout and
               os.listdir(os.path.join(folder, "taken")) == [], "nothing is overwritten", done)
        os.mkdir(os.path.join(folder, "mine.part"))
        open(os.path.join(folder, "mine.part", "letter"), "w", encoding="ascii").close()
        done = record(folder, "--only", "-o", "mine", "true")
        tap.ok(done.returncode == 1 and os.path.exists(os.path.join(folder, "mine.part", "letter")),
               "what somebody else made stays", done)


def test_pids():
    with scratch() as folder, subprocess.Popen(["sh", "-c", "while read line; do ls / >/dev/null; done"],
                                               stdin=subprocess.PIPE) as child:
        with start(folder, "-o", "a", "--duration", "600ms", "--pid", str(child.pid)) as recorder:
            while recorder.poll() is None:
                child.stdin.write(b"go\n")
                child.stdin.flush()
                time.sleep(0.02)
            error = recorder.stderr.read()
        child.stdin.close()
        about = describe(os.path.join(folder, "a"))
        tap.ok(recorder.returncode == 0 and about["ended_by"] == "duration" and about["pids"] == [child.pid] and
               "command" not in about, "a process for a time", about, error)
        tap.ok(about["end_ns"] - about["begin_ns"] >= 600_000_000, "as long as was asked for", about)
        report = trace_cmd(os.path.join(folder, "a"), "report")
        if report is not None:
            tap.ok(re.search(r"sched_process_exec:.*filename=\S*/ls ", report), "what it starts is recorded", report[-2000:])
        done = record(folder, "-o", "b", "--duration", "1s", "--pid", "999999999")
        tap.ok(done.returncode == 1 and "there is no process 999999999" in done.stderr, "no such process", done)
        tap.ok(recordings(folder) == ["a"], "no such process: nothing is left", recordings(folder))
        done = run([lull, "record", "-o", "b", "--duration", "1s", "--pid", "999999999"], folder)
        tap.ok(done.stderr == "lull record: there is no process 999999999\n", "of whichever tracer: no other reason is given", done)


def test_no_tracer():
    """Who is not root reads first what helps, then a line for each tracer."""
    with tempfile.TemporaryDirectory(prefix="lull-record-") as folder:
        os.chmod(folder, 0o755)
        state = os.path.join(folder, "nobody")
        os.mkdir(state)
        os.chown(state, NOBODY, NOBODY)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            done = run([lull, "record", "true"], state, env=environment(state), **user)
        except PermissionError:
            tap.skip("no tracer", "the user nobody cannot execute lull here")
            return
        lines = done.stderr.split("\n")
        tap.ok(done.returncode == 1 and lines[0].startswith("lull record: no tracer can record this here;") and "sudo" in lines[0],
               "without root: the first line says what helps", done)
        names = [line.split(":")[0] for line in lines[1:-1]]
        tap.ok(names and set(names) <= {"  lttng", "  ftrace", "  perf"} and len(set(names)) == len(names),
               "without root: then a line for each tracer", done)


def trace_cmd(path, verb, *options):
    if shutil.which("trace-cmd") is None:
        return None
    done = subprocess.run(["trace-cmd", verb, *options, os.path.join(path, "trace.dat")], capture_output=True, text=True,
                          timeout=120, check=False, errors="replace")
    return done.stdout


LINE = re.compile(r"^\s*(?P<task>.*)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\][^:]*?(?P<time>\d+)[.:]?(?P<ns>\d*): (?P<event>\w+):")


def test_trace_cmd():
    """The file is what trace-cmd takes it for: the same events at the same times on the same CPUs as Lull reads, and as many
    as were counted."""
    with scratch() as folder:
        path = os.path.join(folder, "a")
        done = record(folder, "--only", "-o", "a", "sh", "-c", "for i in 1 2 3; do ls -R /proc/self >/dev/null 2>&1; done")
        report = trace_cmd(path, "report", "-t")
        if report is None:
            tap.skip("trace-cmd report", "trace-cmd is not installed")
            return
        theirs = [LINE.match(line) for line in report.splitlines() if not line.startswith(("cpus=", "CPU"))]
        tap.ok(all(theirs) and len(theirs) > 1000, "trace-cmd reads every line", [line for line in report.splitlines()[:20]])
        about = describe(path)
        tap.ok(len(theirs) == about["recorded"]["events"], "as many events as were counted", len(theirs), about["recorded"])
        tap.ok(about["recorded"]["bytes"] == os.path.getsize(os.path.join(path, "trace.dat")), "as many bytes", about["recorded"])
        theirs = sorted((int(m["time"] + m["ns"]), int(m["cpu"]), m["event"]) for m in theirs)
        printed = run([lull, "print", "--json", os.path.join(path, "trace.dat")], folder)
        ours = sorted((event["time_ns"], event["cpu"], event["name"]) for event in map(json.loads, printed.stdout.splitlines()))
        tap.ok(ours == theirs, "the same events, times and CPUs", ours[:3], theirs[:3], len(ours), len(theirs))
        inside = all(about["begin_ns"] <= event[0] <= about["end_ns"] + 10**7 for event in theirs)
        tap.ok(inside, "between the begin and the end that are noted", about, theirs[0], theirs[-1])
        events = {event[2] for event in theirs}
        tap.ok(events <= {name.split(":")[1] for name in about["events"]}, "no event that was not asked for", events)
        ended = re.search(rf"sched_process_exit:.*pid={about['pid']} ", trace_cmd(path, "report"))
        tap.ok(ended, "the end of the command is in it", done)
        dump = trace_cmd(path, "dump", "-i")
        tap.ok(dump is not None, "trace-cmd dump")


def test_lost():
    """Buffers of a page or two: what the kernel lost is told, and marked where it was."""
    with scratch() as folder:
        calls = 60000  # dd makes two for each byte, and each is a begin and an end
        done = record(folder, "--only", "-o", "a", "--buffer", "4k", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={calls // 2}")
        about = describe(os.path.join(folder, "a"))
        lost = about["recorded"]["lost_events"]
        tap.ok(about["recorded"]["events"] + lost >= 2 * calls, "every event is recorded, or counted as lost", about["recorded"])
        if lost == 0:
            tap.skip("lost events", "the machine lost none")
            return
        tap.ok(f"{lost} events were lost" in done.stderr, "lost events are told", done.stderr)
        report = trace_cmd(os.path.join(folder, "a"), "report")
        if report is not None:
            marked = sum(map(int, re.findall(r"^CPU:\d+ \[(\d+) EVENTS DROPPED\]", report, re.M)))
            tap.ok(0 < marked <= lost, "trace-cmd sees where", marked, lost)
        told = run([lull, "info", os.path.join(folder, "a", "trace.dat")], folder).stdout
        tap.ok(re.search(r"lost +[1-9]", told), "and so does Lull", told)


def test_critpath():
    """Without a question it is the command's path, from exec to exit, as trace-cmd tells them."""
    with scratch() as folder:
        record(folder, "--only", "-o", "a", "sh", "-c", "sleep 0.2; exec true")
        done = run([lull, "critpath", "--json"], folder)
        if not tap.ok(done.returncode == 0, "lull critpath", done):
            return
        path = json.loads(done.stdout)
        pid = describe(os.path.join(folder, "a"))["pid"]
        tap.ok(path["query"]["tid"] == pid, "the command's path", path["query"], pid)
        slept = [s for s in path["segments"] if s["comm"] == "sleep" and s["state"] == "blocked"]
        tap.ok(sum(s["end_ns"] - s["begin_ns"] for s in slept) > 190_000_000, "sleep slept", path["summary"])
        report = trace_cmd(os.path.join(folder, "a"), "report", "-t")
        if report is None:
            return
        lines = [(int(m["time"] + m["ns"]), line) for line in report.splitlines() if (m := LINE.match(line))]
        began = next(when for when, line in lines if re.search(rf"sched_process_exec:.* pid={pid} ", line))
        ended = next(when for when, line in lines if re.search(rf"sched_process_exit:.* pid={pid} ", line))
        tap.ok((path["query"]["begin_ns"], path["query"]["end_ns"]) == (began, ended), "from exec to exit", path["query"],
               began, ended)
        done = run([lull, "critpath", "a", "--tid", "0x"], folder)
        tap.ok(done.returncode == 2, "but not if the question is wrong", done)
        record(folder, "-o", "b", "--duration", "50ms", "--pid", str(os.getpid()))
        done = run([lull, "critpath"], folder)
        tap.ok(done.returncode == 2 and "say whose path" in done.stderr, "without command one has to ask", done)


def test_last():
    with scratch() as folder:
        done = run([lull, "info"], folder)
        tap.ok(done.returncode == 2 and "no trace given" in done.stderr and "sudo lull record COMMAND" in done.stderr,
               "no recording yet: it says how to get one", done)
        record(folder, "--only", "-o", "a", "true")
        done = run([lull, "info"], folder)
        tap.ok(done.returncode == 0 and os.path.join(folder, "a") in done.stderr, "the last recording is taken, and named", done)
        for verb in ("why", "requests", "info", "stats", "critpath", "waits", "flame"):
            done = run([lull, verb, "a"], folder, env=environment(os.path.join(folder, "state"), LC_ALL="C"))
            tap.ok(done.returncode == 0 and done.stdout.isascii() and done.stderr.isascii(), f"ASCII where there is nothing else: {verb}", done)
        done = run([lull, "flame", "a"], folder)
        tap.ok(done.stderr.startswith("lull: nothing was found: there are neither calls of functions nor samples of stacks;"),
               "no calls and no samples: it says what is missing", done)
        record(folder, "--only", "-o", "b", "true")
        os.rename(os.path.join(folder, "b"), os.path.join(folder, "c"))
        done = run([lull, "info"], folder)
        tap.ok(done.returncode == 2 and "no trace given" in done.stderr, "unless it is gone", done)


# --- as another user ----------------------------------------------------------------------------------------------


def test_sudo():
    """As sudo would call it; the passwd file is one of this test's, in a mount namespace."""
    with scratch() as folder:
        os.chmod(folder, 0o755)
        home, out, passwd = (os.path.join(folder, name) for name in ("home", "out", "passwd"))
        for name in home, out:
            os.mkdir(name)
            os.chown(name, 12345, 12346)
        with open("/etc/passwd", encoding="utf-8") as file, open(passwd, "w", encoding="utf-8") as copy:
            copy.write(file.read() + f"wanda:x:12345:12346::{home}:/bin/sh\n")
        env = environment(os.path.join(folder, "not-theirs"), SUDO_UID="12345", SUDO_GID="12346", SUDO_USER="wanda", HOME="/root")
        done = run(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/passwd && cd "$2" && shift 2 && exec "$@"', "sh",
                    passwd, out, lull, "record", "--tracer", "ftrace", "--only", "-o", "a", "sh", "-c",
                    "id -u; id -g; id -G; echo $HOME; echo $USER; echo $LOGNAME; echo ${SUDO_UID-none}; pwd"], folder, env=env)
        if "unshare: " in done.stderr or "mount:" in done.stderr:
            tap.skip("sudo", "no mount namespaces here")
            return
        tap.ok(done.stdout.split("\n") == ["12345", "12346", "12346", home, "wanda", "wanda", "none", out, ""],
               "the command runs as who called sudo", done)
        owners = {(s.st_uid, s.st_gid) for path, _, names in os.walk(os.path.join(out, "a"))
                  for s in [os.lstat(path), *(os.lstat(os.path.join(path, name)) for name in names)]}
        tap.ok(owners == {(12345, 12346)}, "who owns the recording", owners)
        last = os.path.join(home, ".local/state/lull/last")
        with open(last, encoding="utf-8") as file:
            tap.ok(file.read() == os.path.join(out, "a") + "\n" and os.stat(last).st_uid == 12345, "and remembers it", last)
        tap.ok(not os.path.exists(os.path.join(folder, "not-theirs")), "root's state is not touched")
        env["SUDO_UID"] = "54321"
        done = run([lull, "record", "--tracer", "ftrace", "--only", "-o", "b", "echo", "ran"], folder, env=env)
        tap.ok(done.returncode == 1 and "54321" in done.stderr and "ran" not in done.stdout, "nobody of that number", done)


# --- ends of all kinds ----------------------------------------------------------------------------------------------

WAITS = ("sh", "-c", "echo begun; exec sleep 60")


def test_signals():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
        with scratch() as folder, start(folder, "--only", "-o", "a", *WAITS) as recorder:
            recorder.stdout.readline()
            recorder.send_signal(number)
            recorder.wait(60)
            about = describe(os.path.join(folder, "a"))
            tap.ok(about["ended_by"] == "interrupt" and recorder.returncode == 128 + number,
                   f"{number.name} ends recording and command", recorder.returncode, about, recorder.stderr.read())
            tap.ok(instances(recorder.pid) == [], f"{number.name}: nothing is left on the machine")
    with scratch() as folder:
        stubborn = ("sh", "-c", "trap '' TERM; echo begun; while :; do sleep 1; done")
        with start(folder, "--only", "-o", "a", *stubborn) as recorder:
            recorder.stdout.readline()
            recorder.send_signal(signal.SIGTERM)
            tap.ok(wait_until(lambda: os.path.isdir(os.path.join(folder, "a"))), "a first signal keeps the recording")
            wait_until(lambda: "waiting" in os.read(recorder.stderr.fileno(), 4096).decode())
            recorder.send_signal(signal.SIGTERM)
            recorder.wait(60)
            tap.ok(recorder.returncode == -signal.SIGTERM, "a second ends Lull", recorder.returncode)
            os.killpg(recorder.pid, signal.SIGKILL)
        tap.ok(describe(os.path.join(folder, "a"))["ended_by"] == "interrupt", "and the recording is whole")
    with scratch() as folder, start(folder, "--only", "-o", "a", *WAITS, preexec_fn=ignore_hangup) as recorder:
        recorder.stdout.readline()
        recorder.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        tap.ok(recorder.poll() is None, "who ignores SIGHUP goes on")
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(60)


def test_terminal():
    """A Ctrl-C goes to all that run on the terminal: the command gets it once."""
    with scratch() as folder:
        counts = "n=0; trap 'n=$((n+1))' INT; echo begun; i=0; while [ $i -lt 40 ]; do sleep 0.02; i=$((i+1)); done; echo got $n"
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
            os.execv(lull, [lull, "record", "--tracer", "ftrace", "--only", "-o", "a", "sh", "-c", counts])
        output, asked = "", False
        try:
            while chunk := os.read(terminal, 4096).decode():
                output += chunk
                if "begun" in output and not asked:
                    asked = True
                    os.write(terminal, b"\x03")
        except OSError:
            pass  # that is how a terminal ends
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tap.ok(status == 0 and "got 1" in output, "a Ctrl-C comes once", output)
        tap.ok(describe(os.path.join(folder, "a"))["ended_by"] == "interrupt", "and ends the recording", output)


def ignore_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def kill_once(i, moment):
    """What is left, and whether the recording had ended before."""
    with scratch() as folder:
        command = WAITS if i % 2 else ("sh", "-c", "ls -R /proc/self >/dev/null 2>&1")
        with start(folder, "--only", "-o", "a", *command) as recorder:
            time.sleep(moment)
            recorder.send_signal(signal.SIGINT if i % 5 == 4 else signal.SIGKILL)
            recorder.wait(60)
            wait_until(lambda: instances(recorder.pid) == [] and not os.path.exists(os.path.join(folder, "a.part")))
            left = instances(recorder.pid) + glob.glob(os.path.join(folder, "a.part"))
            kill_group(recorder.pid)
        is_whole = os.path.exists(os.path.join(folder, "a"))
        if is_whole:
            describe(os.path.join(folder, "a"))
        return left, is_whole


def test_killed():
    """At any moment: while it sets up, while it records, while it writes. Some at a time: most of it is waiting."""
    moments = random.Random(7)
    with concurrent.futures.ThreadPoolExecutor(5) as some:
        ends = list(some.map(kill_once, range(25), [moments.uniform(0, 0.25) for _ in range(25)]))
    left = sum((left for left, _ in ends), [])
    tap.ok(left == [], f"killed 25 times: nothing is left; {sum(is_whole for _, is_whole in ends)} had ended before", left)


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_killed_with_guard():
    with scratch() as folder:
        with start(folder, "--only", "-o", "a", *WAITS) as recorder:
            recorder.stdout.readline()
            guards = [pid for pid in children(recorder.pid)
                      if os.path.samefile(f"/proc/{pid}/exe", lull) and os.getsid(pid) == pid]
            tap.ok(len(guards) == 1, "there is a guard", guards)
            tap.ok(len(instances(recorder.pid)) == 1, "there is an instance", instances(recorder.pid))
            for pid in (*guards, recorder.pid):
                os.kill(pid, signal.SIGKILL)
            recorder.wait(60)
            kill_group(recorder.pid)
        tap.ok(recordings(folder) == ["a.part"], "what nobody could clean up does not look whole", recordings(folder))
        done = run([lull, "info", "a.part"], folder)
        tap.ok(done.returncode != 0, "and is not read as whole", done)
        done = record(folder, "--only", "-o", "b", "true")
        tap.ok(done.returncode == 0 and done.stderr.count("a recording that was killed left " + os.path.join(folder, "a.part")) == 1 and
               "remove it" in done.stderr and recordings(folder) == ["a.part", "b"], "another recording beside it names it", done)
        shutil.rmtree(os.path.join(folder, "b"))
        done = record(folder, "--only", "-o", "a", "true")
        tap.ok(done.returncode == 0 and recordings(folder) == ["a"] and " that was killed left " not in done.stderr, "the next recording cleans up", done, recordings(folder))
        tap.ok(instances(recorder.pid) == [], "also the machine")
        tap.ok(os.listdir(os.path.join(folder, "a")) != [] and not glob.glob(os.path.join(folder, "a", ".lull*")),
               "no trace of the mark", os.listdir(os.path.join(folder, "a")))


def test_namespace():
    with scratch() as folder:
        done = run(["unshare", "--pid", "--fork", "--mount-proc", lull, "record", "--tracer", "ftrace", "--only", "echo", "ran"], folder)
        if "unshare: " in done.stderr:
            tap.skip("pid namespace", "none here")
            return
        tap.ok(done.returncode == 1 and "container" in done.stderr and "ran" not in done.stdout, "process ids of a container", done)


def test_two():
    with scratch() as folder:
        with start(folder, "--only", "-o", "a", *WAITS) as first:
            first.stdout.readline()
            done = record(folder, "--only", "-o", "b", "true")
            tap.ok(done.returncode == 0 and len(instances(first.pid)) == 1 and " that was killed left " not in done.stderr, "another one that records is left alone", done)
            again = record(folder, "--only", "-o", "a", "echo", "ran")
            tap.ok(again.returncode == 1 and "a.part" in again.stderr and "ran" not in again.stdout,
                   "and its directory is not taken", again)
            first.send_signal(signal.SIGINT)
            first.wait(60)
        tap.ok(recordings(folder) == ["a", "b"], "two at once", recordings(folder))


OPENS = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
fd = os.open("made while recording", os.O_WRONLY | os.O_CREAT)
for i in range(20):
    os.write(fd, bytes(4096))
print("written", flush=True)
time.sleep(60)
"""


def test_opened():
    """No tracer of this kernel records the path of a file that is opened; what is open at the end still has it."""
    with scratch() as folder:
        with start(folder, "--only", "-o", "a", sys.executable, "-c", OPENS) as recorder:
            recorder.stdout.readline()
            recorder.send_signal(signal.SIGINT)
            wait_until(lambda: os.path.exists(os.path.join(folder, "a")))
            kill_group(recorder.pid)
            recorder.wait(60)
        done = run([lull, "iousagetop", "--no-progress", "--json", "a"], folder)
        rows = re.findall(r'[^{}]*made while recording[^{}]*}[^}]*}', done.stdout)
        tap.ok(any("81920" in row for row in rows), "a file that was opened meanwhile, and is open at the end, has its path", rows, done)


def test_mode():
    """Tracing shows what others do: a recording of root's is for its owner."""
    with scratch() as folder:
        record(folder, "--only", "-o", "a", "true")
        modes = {name: stat.S_IMODE(os.stat(os.path.join(folder, "a", name)).st_mode) for name in (".", "trace.dat")}
        tap.ok(modes["."] & 0o077 == 0, "the directory is for its owner alone", modes)


LIVE = (test_command, test_names, test_pids, test_no_tracer, test_trace_cmd, test_lost, test_critpath, test_last, test_sudo, test_signals, test_terminal, test_killed,
        test_killed_with_guard, test_namespace, test_two, test_opened, test_mode)

tap.run("usage", test_usage)
tap.run("refusals", test_refusals)
reason = why_not()
for test in LIVE:
    if reason:
        tap.skip(test.__name__, reason.replace("\n", "; "))
    else:
        tap.run(test.__name__, test)
sys.exit(tap.done())
