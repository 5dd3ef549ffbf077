#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Tasks that sleep in a system call since before the recording, as those of a program that hangs: which call, and what it is for, they
# say themselves. Needs root. LULL is the program.
#
# With the argument "sleeper" it is the program: a process for each call, a line for each on standard output, and it ends with its input.
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time


def tell(call, thing):
    os.write(1, (json.dumps({"tid": threading.get_native_id(), "call": call, "object": thing}) + "\n").encode())


def reads(_):
    tell("read", "a pipe")
    os.read(os.pipe()[0], 1)


def accepts(_):
    server = socket.create_server(("127.0.0.1", 0))
    tell("accept4", "{}:{}".format(*server.getsockname()))
    server.accept()


def receives(_):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        one.bind(("127.0.0.1", 0))
        other.connect(one.getsockname())
        tell("recvfrom", "udp {}:{}".format(*one.getsockname()))
        other.recv(1)


def watches(_):
    server = socket.create_server(("127.0.0.1", 0))
    epoll = select.epoll()
    epoll.register(server, select.EPOLLIN)
    tell("epoll_wait", "{}:{}".format(*server.getsockname()))
    epoll.poll()


def sleeps(_):
    tell("clock_nanosleep", None)
    time.sleep(100)


def locks(folder):
    path = os.path.join(folder, "the.lock")
    with open(path, "w", encoding="ascii") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        with open(path, "w", encoding="ascii") as again:
            tell("flock", path)
            fcntl.flock(again, fcntl.LOCK_EX)


def waits_for_a_child(_):
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        signal.pause()
    tell("wait4", None)
    os.waitpid(pid, 0)


def has_a_thread(_):
    """Two threads each of which has the lock that the other wants."""
    locks_of_both = threading.Lock(), threading.Lock()
    have_one = threading.Barrier(2)

    def take(first, second):
        with first:
            have_one.wait()
            tell("futex", None)
            with second:
                pass

    threading.Thread(target=take, args=locks_of_both).start()
    take(*locks_of_both[::-1])


def is_busy(_):
    """Does other things all the time: what it is in when the recording starts must not stick to it."""
    tell("getppid", None)
    while True:
        os.getppid()
        time.sleep(0.0001)


KINDS = (reads, accepts, receives, watches, sleeps, locks, waits_for_a_child, has_a_thread, is_busy)


def sleeper(folder):
    os.setpgid(0, 0)
    signal.alarm(60)
    for kind in KINDS:
        if os.fork() == 0:
            signal.alarm(60)
            kind(folder)
            os._exit(0)
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def is_of_folder(found, told):
    return found == told or (told and told.startswith("/") and found and found.endswith(os.path.basename(told)))


def check(tracer, out, told):
    busy = [one["tid"] for one in told if one["call"] == "getppid"][0]
    tids = ",".join(str(one["tid"]) for one in told)
    waits = recorders.ask_json("waits", "--asleep", "--json", "--limit", "0", "--tid", tids, out)["windows"][0]["tables"]["waits"]
    opened = recorders.ask_json("syscallstats", "--json", "--limit", "0", "--tid", tids, out)["windows"][0]["tables"]
    for one in told:
        own = [row for row in waits if row["task"]["tid"] == one["tid"]]
        if one["tid"] == busy:
            tap.ok({row["call"] for row in own} <= {"clock_nanosleep", None}, f"{tracer}: who does other things is in none", own)
            continue
        tap.ok([row["call"] for row in own] == [one["call"]], f"{tracer}: {one['call']}: is known from before", own)
        if one["object"]:
            tap.ok(own and is_of_folder(own[0]["object"], one["object"]), f"{tracer}: {one['call']}: of {one['object']}", own)
        since = [row["begin_ns"] for row in opened["open"] if row["process"]["tid"] == one["tid"]]
        tap.ok(since == [None], f"{tracer}: {one['call']}: has not returned, and nobody knows since when", opened["open"])
        path = recorders.ask_json("critpath", "--json", "--tid", str(one["tid"]), out)
        reasons = [step["reason"]["call"] for step in path["segments"] if step.get("reason")]
        tap.ok(reasons == [one["call"]], f"{tracer}: {one['call']}: its path says so", path["segments"])
    everybody = recorders.ask_json("syscallstats", "--json", "--limit", "0", out)["windows"][0]["tables"]["open"]
    tap.ok(all(row["begin_ns"] is not None for row in everybody), f"{tracer}: of all tasks, only calls of the recording are listed", everybody)
    futexes = recorders.ask_json("futex", "--json", "--limit", "0", "--tid", tids, out)["windows"][0]["tables"]["waiting"]
    tap.ok(sorted(row["process"]["tid"] for row in futexes) == sorted(one["tid"] for one in told if one["call"] == "futex"),
           f"{tracer}: futex: threads that wait for each other", futexes)


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen([sys.executable, __file__, "sleeper", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            told = [json.loads(program.stdout.readline()) for _ in range(len(KINDS) + 1)]  # of threads, both
            time.sleep(0.2)
            out, _ = recorders.record(tracer, ["sleep", "0.3"], folder)
            program.stdin.close()
        check(tracer, out, told)


if sys.argv[1:2] == ["sleeper"]:
    sleeper(sys.argv[2])
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))
