# SPDX-License-Identifier: MIT
# What is checked inside of the machine of test_lttng_vm.py, which has LTTng's kernel modules, no session daemon, and is
# slow. LULL and TAKE_SNAPSHOTS are the programs. Babeltrace and LTTng's own tools say what is expected.
import grp
import json
import os
import re
import signal
import subprocess
import time

from tap import Tap

LULL, TAKE_SNAPSHOTS = os.environ["LULL"], os.environ["TAKE_SNAPSHOTS"]
tap = Tap()
SECONDS = 60
NOBODY, TRACING = 65534, 64999


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)


def record(*words, **options):
    return run(LULL, "record", *words, **options)


def start_record(*words):
    """A recorder in a process group of its own, which records by now."""
    process = subprocess.Popen([LULL, "record", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    wait_for("session that is active", lambda: f"lull-{process.pid}-" in sessions() and "[active]" in sessions())
    return process


def wait_for(what, condition):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {SECONDS} s")
        time.sleep(0.2)


def daemons():
    names = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                names += re.findall(r"lttng-\S+", file.read())
        except OSError:
            pass  # it has ended
    return names


def modules():
    with open("/proc/modules", encoding="ascii") as file:
        return re.findall(r"^lttng_\w+", file.read(), re.M)


def sessions():
    return run("lttng", "--no-sessiond", "list").stdout


def described(name):
    with open(f"{name}/recording.json", encoding="utf-8") as file:
        return json.load(file)


def babeltrace(name):
    done = run("babeltrace2", f"{name}/kernel")
    return done.stdout.splitlines(), done.stderr


def guard_of(pid):
    """The one child that is called as the recorder and is not the command."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == "lull":
                    return int(child)
    raise RuntimeError("no guard")


def untouched(what):
    tap.ok(not daemons() and not modules(), what + " leaves neither daemon nor kernel modules", daemons(), modules())


# ---- no session daemon runs ----

def test_alone():
    untouched("this machine has not been touched: its start")
    bystander = subprocess.Popen(["sleep", "1000"])
    done = record("-o", "alone", "--", "sh", "-c", "sleep 0.3; sleep 0.2 | cat; exit 7")
    bystander.kill()
    bystander.wait()
    tap.ok(done.returncode == 7, "the status is that of the command", done)
    tap.ok("with lttng" in done.stderr, "LTTng is the first choice", done.stderr)
    untouched("a recording")
    tap.ok(not os.path.exists("alone.part"), "the directory has its name")
    what = described("alone")
    tap.ok(what["tracer"] == "lttng" and what["recorded"]["lost_events"] == 0, "recording.json", what)
    size = sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk("alone/kernel") for f in files)
    tap.ok(what["recorded"]["bytes"] == size, "the bytes are those of the files", what["recorded"], size)
    lines, _ = babeltrace("alone")
    printed = run(LULL, "print", "alone").stdout.count("\n")
    tap.ok(0 < len(lines) == printed, "as many events as Babeltrace reads", len(lines), printed)
    tap.ok(any("lttng_statedump_process_state" in line and f" tid = {bystander.pid}," in line for line in lines),
           "the state of a process that does nothing is told")
    for name in ("sched_switch", "sched_waking", "sched_process_exec", "syscall_entry_clock_nanosleep",
                 "syscall_exit_clock_nanosleep", "irq_softirq_entry", "timer_hrtimer_expire_entry"):
        tap.ok(any(f" {name}: " in line for line in lines), f"there are events {name}")
    tap.ok(all(" procname = " in line and " tid = " in line for line in lines), "each event has procname and tid")
    test_path(what["pid"])


def test_path(pid):
    """Both sleeps are on the path of the shell. It waits for the first at once, but for the second only when it has
    started cat as well, which in a slow machine takes some of the time."""
    done = run(LULL, "critpath", "--tid", str(pid), "--folded", "alone")
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    slept = sum(int(ns) for stack, ns in lines if "sleep" in stack and "timer" in stack)
    tap.ok(done.returncode == 0 and lines, "the path is found", done.stderr)
    tap.ok(0.4e9 < slept < 0.575e9, "the two sleeps of 0.3 s and 0.2 s are on the path", f"{slept / 1e9} s", done.stdout)


def test_killed_alone():
    recorder = start_record("-o", "killed", "-d", "600")
    recorder.kill()
    recorder.wait()
    wait_for("end of the daemon", lambda: not daemons() and not modules())
    untouched("kill -9 of the recorder")
    wait_for("removal", lambda: not os.path.exists("killed.part"))
    tap.ok(not os.path.exists("killed"), "and no directory")


def test_interrupted():
    recorder = start_record("-o", "interrupted", "-d", "600")
    os.killpg(recorder.pid, signal.SIGINT)
    tap.ok(recorder.wait(SECONDS) == 0, "Ctrl-C ends a recording with success", recorder.returncode)
    tap.ok(described("interrupted")["ended_by"] == "interrupt" and babeltrace("interrupted")[0],
           "and what was recorded is kept")
    untouched("Ctrl-C")


def test_daemon_dies():
    recorder = start_record("-o", "orphan", "-d", "600")
    subprocess.run(["pkill", "-KILL", "-f", "^lttng-sessiond"], check=False)  # in this machine all is ours
    tap.ok(recorder.wait(SECONDS) == 1, "a recording whose daemon dies fails", recorder.returncode)
    tap.ok(not os.path.exists("orphan") and not os.path.exists("orphan.part"), "and leaves no directory")
    subprocess.run(["pkill", "-KILL", "-f", "^lttng-"], check=False)
    wait_for("end of the daemons", lambda: not daemons())
    for _ in range(10):
        for name in modules():
            run("rmmod", name)


def test_filtered():
    done = record("--tracer", "lttng", "--only", "-o", "only", "--", "true")
    tap.ok(done.returncode == 1 and "follow" in done.stderr, "--only is refused", done)
    done = record("--only", "-o", "only", "--", "true")
    tap.ok(done.returncode == 0 and described("only")["tracer"] == "ftrace", "auto takes ftrace for it", done)


def test_no_rights():
    done = record("--tracer", "lttng", "--", "true", user=NOBODY, group=NOBODY, extra_groups=[])
    tap.ok(done.returncode == 1 and "sudo" in done.stderr, "without rights it says what to do", done)


# ---- a session daemon runs, with a session of somebody else ----

def begin_daemon():
    with open("/etc/group", "a+", encoding="ascii") as file:
        file.seek(0)
        if "\ntracing:" not in file.read():
            file.write(f"tracing:x:{TRACING}:\n")
    subprocess.run(["lttng-sessiond", "--daemonize"], check=True)
    for words in (["create", "other", "--output", "/tmp/memory/other"], ["enable-event", "-k", "sched_switch"],
                  ["start"]):
        subprocess.run(["lttng", *words], check=True, stdout=subprocess.DEVNULL)


def only_other(what):
    listed = sessions()
    tap.ok("other [active]" in listed and "lull-" not in listed, what + " leaves only the other's session", listed)


def test_beside():
    done = record("-o", "beside", "--", "true")
    tap.ok(done.returncode == 0, "a recording beside another", done)
    only_other("a recording")


def test_group():
    """Who is in the group tracing needs not be root."""
    os.mkdir("home")
    os.chown("home", NOBODY, NOBODY)
    done = record("--tracer", "lttng", "-o", "home/r", "--", "true", user=NOBODY, group=NOBODY,
                  extra_groups=[grp.getgrnam("tracing").gr_gid], env={**os.environ, "HOME": os.path.abspath("home")})
    tap.ok(done.returncode == 0 and babeltrace("home/r")[0], "a member of the group tracing can record", done)
    owners = {os.stat(os.path.join(at, f)).st_uid for at, _, files in os.walk("home/r") for f in files}
    tap.ok(owners == {NOBODY}, "and owns the files", owners)
    only_other("this")


def test_killed():
    recorder = start_record("-o", "killed", "-d", "600")
    recorder.kill()
    recorder.wait()
    wait_for("removal by the guard", lambda: "lull-" not in sessions() and not os.path.exists("killed.part"))
    only_other("kill -9 of the recorder")
    recorder = start_record("-o", "killed", "-d", "600")
    alive = start_record("-o", "alive", "-d", "600")
    guard = guard_of(recorder.pid)
    os.kill(guard, signal.SIGKILL)
    recorder.kill()
    recorder.wait()
    tap.ok(f"lull-{recorder.pid}-" in sessions(), "kill -9 of recorder and guard leaves the session")
    done = record("--tracer", "lttng", "-o", "killed", "--", "true")
    tap.ok(done.returncode == 0 and "removed" in done.stderr, "the next recording removes it", done)
    tap.ok(f"lull-{recorder.pid}-" not in sessions() and f"lull-{alive.pid}-" in sessions(),
           "and not that of a recorder that lives", sessions())
    os.kill(alive.pid, signal.SIGINT)
    tap.ok(alive.wait(SECONDS) == 0, "which ends well")
    only_other("all of this")


def test_lost():
    done = record("--tracer", "lttng", "--buffer", "8k", "--for", "all", "-o", "lost", "--", "dd", "if=/dev/zero",
                  "of=/dev/null", "bs=1", "count=30000")
    lost = described("lost")["recorded"]["lost_events"]
    _, warnings = babeltrace("lost")
    told = sum(int(n) for n in re.findall(r"discarded (\d+) events?", warnings))
    tap.ok(lost > 0 and lost == told, "lost events are counted as Babeltrace does", lost, told, warnings[-500:])
    tap.ok(f"{lost} events were lost" in done.stderr, "and told", done.stderr)


def test_full_disk():
    os.mkdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", "small"], check=True)
    done = record("--tracer", "lttng", "-o", "small/r", "--", "sh", "-c",
                  "dd if=/dev/zero of=/dev/null bs=1 count=100000; sleep 20")
    tap.ok(done.returncode == 1 and "space" in done.stderr, "a full disk is an error", done)
    tap.ok(not os.path.exists("small/r") and not os.path.exists("small/r.part"), "and leaves no directory",
           os.listdir("small"))
    only_other("a full disk")


def test_snapshots():
    """The flight recorder: what was last is in it, what the buffer has no room for is not."""
    os.mkdir("flight")
    busy = "for i in $(seq 150); do (:); done"
    done = run(TAKE_SNAPSHOTS, "lttng", "65536", "flight", "cp --version >/dev/null",
               f"{busy}; uname >/dev/null", f"{busy}; ls >/dev/null")
    tap.ok(done.returncode == 0, "three snapshots", done)
    tap.ok(sorted(os.listdir("flight")) == ["1", "2", "3"], "lie where they shall, and nothing else",
           os.listdir("flight"))
    programs = []
    for number in "123":
        lines, _ = babeltrace(f"flight/{number}")
        programs.append({m.group(1) for line in lines if (m := re.search(r'filename = "[^"]*/(\w+)"', line))})
    tap.ok("cp" in programs[0] and "uname" in programs[1] and "ls" in programs[2], "hold what came last", programs)
    tap.ok("cp" not in programs[1] and "uname" not in programs[2], "and not what is long past", programs)
    only_other("a flight recorder")


def main():
    os.chdir("/tmp/memory")
    for test in (test_alone, test_killed_alone, test_interrupted, test_daemon_dies, test_filtered, test_no_rights):
        tap.run(test.__name__, test)
    tap.run("begin_daemon", begin_daemon)
    for test in (test_beside, test_group, test_killed, test_lost, test_full_disk, test_snapshots):
        tap.run(test.__name__, test)
    return tap.done()


raise SystemExit(main())
