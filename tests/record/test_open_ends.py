#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Waits for processes that have not ended when a recording does: for a child, and for the other end of a pipe. The path says for which
# process, and what that waits for itself. Needs root. LULL is the program.
#
# With the argument "hang" it is the program: it leaves processes that wait, says on standard output what for, and ends with its input.
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIFE_S, NAP = 60, 0.2
# Who waits, in which call, who could end that, and what that is of it.
CHILD, END = "child", "other end"


# ---- what is recorded: each leaves a process, and returns the waits of its path ----

def child(work, *args):
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIFE_S)
        with contextlib.suppress(BaseException):
            work(*args)
        os._exit(1)
    return pid


def sleep():
    time.sleep(LIFE_S)


def asleep(tid):
    return [tid, "clock_nanosleep", None, None]


def pipeline():
    """As a shell has it, which waits for any of two children: the second reads what the first, or its own child, may write."""
    reading, writing = os.pipe()
    told, tell = os.pipe()

    def shell():
        def first():
            os.close(reading)
            sleeper = child(sleep)
            os.write(tell, b"sleeper=%d " % sleeper)
            os.waitpid(sleeper, 0)

        def second():
            os.close(writing)
            os.read(reading, 1)

        writer = child(first)
        os.write(tell, b"writer=%d reader=%d " % (writer, child(second)))
        os.close(reading)
        os.close(writing)
        os.wait()

    pid = child(shell)
    os.close(reading)
    os.close(writing)
    time.sleep(NAP)
    pids = {name: int(pid) for name, pid in (word.split("=") for word in os.read(told, 100).decode().split())}
    writer, reader, sleeper = pids["writer"], pids["reader"], pids["sleeper"]
    return [[[pid, "wait4", writer, CHILD], [writer, "wait4", sleeper, CHILD], asleep(sleeper)],
            [[reader, "read", sleeper, END], asleep(sleeper)]]


def several():
    """Any of two may end it: nobody is named."""
    def wait():
        child(sleep)
        child(sleep)
        os.wait()

    return [[[child(wait), "wait4", None, None]]]


def one_of_several():
    """Which child is wanted, the call says."""
    told, tell = os.pipe()

    def wait():
        child(sleep)
        wanted = child(sleep)
        os.write(tell, b"%d" % wanted)
        os.waitpid(wanted, 0)

    pid, wanted = child(wait), int(os.read(told, 20))
    return [[[pid, "wait4", wanted, CHILD], asleep(wanted)]]


def orphan():
    """Whoever it was started for has ended, and left the pipe to a daemon."""
    reading, writing = os.pipe()
    told, tell = os.pipe()

    def start():
        os.close(reading)
        os.write(tell, b"%d" % child(sleep))

    def read():
        os.close(writing)
        os.read(reading, 1)

    reader = child(read)
    os.waitpid(child(start), 0)
    daemon = int(os.read(told, 20))
    os.close(reading)
    os.close(writing)
    return [[[reader, "read", daemon, END], asleep(daemon)]]


def full():
    """A pipe that nobody empties, and its writer."""
    reading, writing = os.pipe()

    def write():
        os.close(reading)
        os.write(writing, bytes(1 << 20))

    def keep():
        os.close(writing)
        sleep()

    writer, reader = child(write), child(keep)
    os.close(reading)
    os.close(writing)
    return [[[writer, "write", reader, END], asleep(reader)]]


def both_full():
    """A program waits for the end of another before it reads what that writes."""
    told, tell = os.pipe()

    def run():
        with subprocess.Popen([sys.executable, "-c", "import os, sys; os.write(1, bytes(1 << 20))"], stdout=subprocess.PIPE) as other:
            os.write(tell, b"%d" % other.pid)
            other.wait()

    pid = child(run)
    other = int(os.read(told, 20))
    return [[[pid, "wait4", other, CHILD], [other, "write", pid, END]]]


def communicates(has_time=False):
    """As subprocess.communicate() does: of two pipes, one is closed, and the other a child of the child has as well."""
    told, tell = os.pipe()

    def run():
        program = "import os, sys, time\nos.close(2)\npid = os.fork()\nif pid: os.write(int(sys.argv[1]), b'%d' % pid); os._exit(0)\ntime.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", program, str(tell)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(tell,)) as other:
            other.communicate(timeout=LIFE_S if has_time else None)

    pid = child(run)
    daemon = int(os.read(told, 20))
    return [[[pid, "poll", None, None]]] if has_time else [[[pid, "poll", daemon, END], asleep(daemon)]]


def communicates_for_a_time():
    """Its own time-out ends that as well."""
    return communicates(has_time=True)


def polls_more():
    """Something else may end it, too."""
    reading, writing = os.pipe()

    def wait():
        os.close(writing)
        server, readable = socket.create_server(("127.0.0.1", 0)), select.poll()
        readable.register(reading, select.POLLIN)
        readable.register(server, select.POLLIN)
        readable.poll()

    def keep():
        os.close(reading)
        sleep()

    pid = child(wait)
    child(keep)
    os.close(reading)
    os.close(writing)
    return [[[pid, "poll", None, None]]]


def own_thread():
    """Another thread of its own could write as well: nobody is named, though another process has that end too."""
    reading, writing = os.pipe()

    def read():
        threading.Thread(target=sleep, daemon=True).start()
        child(sleep)
        os.read(reading, 1)

    pid = child(read)
    os.close(reading)
    os.close(writing)
    return [[[pid, "read", None, None]]]


KINDS = (pipeline, several, one_of_several, orphan, full, both_full, communicates, communicates_for_a_time, polls_more, own_thread)
DEADLOCKS = (both_full.__name__,)


def hang():
    os.setpgid(0, 0)
    signal.alarm(LIFE_S)
    for kind in KINDS:
        for chain in kind():
            print(json.dumps([kind.__name__, chain]))
    time.sleep(NAP)
    print(flush=True)
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


# ---- what is said of it ----

def check(tracer, kind, chain, out):
    tid = str(chain[0][0])
    path = recorders.ask_json("critpath", "--json", "--tid", tid, out)
    found = [[wait[key] for key in ("tid", "call", "holder_tid", "holder_is")] for wait in path["open_waits"]]
    tap.ok(found == chain, f"{tracer}: {kind}: {chain[0][1]}: for whom, and what that waits for", "wanted", chain, "found", found)
    tap.ok(path["deadlock"] == (kind in DEADLOCKS), f"{tracer}: {kind}: {chain[0][1]}: whether it is a deadlock", path["deadlock"])
    text = recorders.ask("critpath", "--tid", tid, out)
    first = next(line for line in text.splitlines() if line.startswith(("Deadlock: ", "Not over ")))
    comm = path["query"]["comm"]
    said = [f" for its child {comm}/{who} " if what == CHILD else f" for {comm}/{who} at the other end," if call == "poll" else
            f", whose other end {comm}/{who} has," for _, call, who, what in chain if who]
    tap.ok(all(part in first for part in said) and ("child" in first) == any(CHILD in one for one in chain), f"{tracer}: {kind}: {chain[0][1]}: in words", said, first)


def question(tracer, folder, of_program=(), of_recorder=()):
    """What the program says that it waits for, and the recording; each with what it is started by."""
    with subprocess.Popen([*of_program, sys.executable, __file__, "hang"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        known = [json.loads(line) for line in iter(program.stdout.readline, "\n")]
        out = os.path.join(folder, "recording")
        subprocess.run([*of_recorder, recorders.LULL, "record", "--tracer", tracer, "-o", out, "--", "sleep", "0.3"], check=True, capture_output=True,
                       timeout=120, stdin=subprocess.DEVNULL)
        program.stdin.close()
    return known, out


def check_blind(tracer):
    """Who may not see the files of all processes does not know who else has the other end; children are the kernel's to say."""
    with tempfile.TemporaryDirectory() as folder:
        known, out = question(tracer, folder, ("setpriv", "--bounding-set", "-all"), ("setpriv", "--bounding-set", "-sys_ptrace"))
        holders = {}
        for kind, chain in known:
            path = recorders.ask_json("critpath", "--json", "--tid", str(chain[0][0]), out)
            holders[kind, chain[0][1]] = [wait["holder_is"] for wait in path["open_waits"]][:1]
        tap.ok(holders["orphan", "read"] == [None] and holders["full", "write"] == [None] and holders["communicates", "poll"] == [None],
               f"{tracer}: who may not see all files names nobody at the other end", holders)
        tap.ok(holders["one_of_several", "wait4"] == [CHILD], f"{tracer}: but a child", holders)


def run(tracer):
    if shutil.which("setpriv"):
        check_blind(tracer)
    with tempfile.TemporaryDirectory() as folder:
        known, out = question(tracer, folder)
        tap.ok({kind for kind, _ in known} == {kind.__name__ for kind in KINDS}, f"{tracer}: all wait", known)
        for kind, chain in known:
            check(tracer, kind, chain, out)


if sys.argv[1:2] == ["hang"]:
    hang()
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))
