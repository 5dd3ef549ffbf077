#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Somebody without rights beside `lull daemon`: directories and links of theirs, sockets, connections that say nothing, floods of reports.
# Nothing of theirs is written to or believed, and the daemon answers others meanwhile. Root only.
import contextlib
import grp
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from live.tracked import LULL
from tap import Tap
from trigger.daemons import Daemon, left_of, lull, wait_for, why_no_daemon

tap = Tap()
NOBODY = 65534
CONFIG = "[daemon]\nsnapshots={sets}\nhook={hook}\n[rule web]\nslower=200ms\n"
# Holds as many connections as it may, each with a part of a request, takes another for each that it loses, and reports slow requests as fast as
# it can.
ATTACKER = """
import itertools, os, select, socket, sys, threading, time
os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
port, hook = int(sys.argv[1]), sys.argv[2]
def take():
    link = socket.socket()
    link.settimeout(1)
    try:
        link.connect(("127.0.0.1", port))
        link.sendall(b"POST /v1/trigger HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Length: 1000000000\\r\\n")
    except OSError:
        pass
    return link
links = [take() for _ in range(200)]
def retake():
    while True:
        for lost in select.select(links, [], [])[0]:
            lost.close()
            links.remove(lost)
            links.append(take())
threading.Thread(target=retake, daemon=True).start()
# Datagrams from an address at which nobody listens, whose answers have no place to go.
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reports.bind("")
reports.setblocking(False)
print("ready", flush=True)
for n in itertools.count():
    try:
        reports.sendto(f"lull1 t={time.time():.6f} d=0.3 pid=1 up=127.0.0.1:22,10.9.0.77:1 id=../../etc/passwd".encode(), hook)
    except BlockingIOError:
        time.sleep(0.0005)
"""


def start_with(directory, sets, hook):
    """What a daemon says that must not start."""
    config = os.path.join(directory, "lulld.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(sets=sets, hook=hook))
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run([LULL, "daemon", "--config", config], capture_output=True, text=True, timeout=20, check=False)
    return None


def check_directories(directory):
    """What lies below something that another user owns is theirs: they could put another directory or link in its place."""
    theirs = os.path.join(directory, "theirs")
    os.mkdir(theirs)
    inside = os.path.join(theirs, "inside")
    os.mkdir(inside, 0o700)
    os.symlink(directory, os.path.join(theirs, "link"))
    os.chown(theirs, NOBODY, NOBODY)
    group = os.path.join(directory, "group")
    os.mkdir(group)
    os.chmod(group, 0o775)
    os.chown(group, 0, NOBODY)
    good_hook, good_sets = os.path.join(directory, "run", "hook"), os.path.join(directory, "sets")
    for name, sets, hook in (("snapshots in a directory of theirs", inside, good_hook), ("snapshots through a link of theirs", theirs + "/link/new", good_hook),
                             ("snapshots where a group may write", group + "/sets", good_hook), ("the socket in a directory of theirs", good_sets, inside + "/hook"),
                             ("the socket through a link of theirs", good_sets, theirs + "/link/hook"), ("the socket where a group may write", good_sets, group + "/hook")):
        done = start_with(directory, sets, hook)
        tap.ok(done and done.returncode == 1 and "another user could" in done.stderr and len(done.stderr.splitlines()) == 1 and
               not os.path.exists(hook), f"{name}: it does not start", done)


def check_socket(directory):
    """What is at the place of the socket is left alone unless it is a socket that nobody listens at."""
    victim, run = os.path.join(directory, "victim"), os.path.join(directory, "run2")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("mine")
    os.chmod(victim, 0o600)
    os.mkdir(run)
    os.symlink(victim, run + "/hook")
    done = start_with(directory, os.path.join(directory, "sets2"), run + "/hook")
    tap.ok(done and done.returncode == 1 and os.readlink(run + "/hook") == victim and os.stat(victim).st_mode & 0o777 == 0o600,
           "a link at the place of the socket is not followed", done)


def check_crowd(directory):
    """More wait for an answer than may, while the daemon decides nothing: those who are too many are refused at once, but for root."""
    place = os.path.join(directory, "crowd")
    os.mkdir(place)
    daemon = Daemon(place, "[rule web]\nslower=200ms\n", "per_hour=2\npause=1ms", more=f"hook_group={grp.getgrgid(NOBODY).gr_name}\n")
    links = []
    try:
        if not tap.ok(daemon.ready == b"READY=1", "it starts", daemon.said()):
            return
        os.chmod(place, 0o755)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        line = f"lull1 t={int(time.time() * 1e6)} d=400000 pid={os.getpid()}".encode()
        for user in [NOBODY] * 70 + [0]:
            os.setresgid(user, user, 0)
            os.setresuid(user, user, 0)
            links.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            links[-1].bind("")
            links[-1].sendto(line, daemon.hook)
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
        time.sleep(1)
        refused = [link.recv(512) for link in select.select(links, [], [], 0)[0]]
        os.kill(daemon.process.pid, signal.SIGCONT)
        tap.ok(len(refused) == 6 and set(refused) == {b"limited"}, "who is one too many to wait for an answer is refused", refused)
        tap.ok(select.select(links[-1:], [], [], 5)[0], "root waits nevertheless, and has an answer")
    finally:
        for link in links:
            link.close()
        daemon.stop()


THIEF = """
import contextlib, socket, sys
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sender.setblocking(False)
sender.connect(sys.argv[1])
print("ready", flush=True)
while True:
    with contextlib.suppress(BlockingIOError):
        sender.send(b"x")
"""


def check_full(directory):
    """A socket whose reader is slower than who fills it: whoever waits for room gets some, though others take it first for a while."""
    path = os.path.join(directory, "full")
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader.bind(path)
    thief = subprocess.Popen([sys.executable, "-c", THIEF, path], stdout=subprocess.PIPE)
    thief.stdout.readline()
    done = []
    try:
        for _ in range(20):
            with subprocess.Popen([LULL, "trigger", "--socket", path, "--slower", "400ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asks:
                while asks.poll() is None:
                    time.sleep(0.0002)
                    said, whose = reader.recvfrom(1000)
                    if said.startswith(b"lull1"):
                        reader.sendto(b"fast", whose)
                done.append((asks.returncode, asks.stderr.read()))
    finally:
        thief.kill()
        thief.wait()
        thief.stdout.close()
        reader.close()
    # One or two may wait in vain for a second on a machine that is busy; who tried only once more had room in a third of all cases.
    tap.ok([status for status, _ in done].count(3) >= 15, "lull trigger waits for room that others take first", done)


def check_flood(directory):
    """They may report, and send all they can; everybody else is served, and what they wrote names nothing."""
    place = os.path.join(directory, "flood")
    os.mkdir(place)
    token = os.path.join(place, "token")
    lull("daemon", "--new-key", token)
    daemon = Daemon(place, "[rule web]\nslower=200ms\n", "per_hour=2\npause=1ms", more=f"hook_group={grp.getgrgid(NOBODY).gr_name}\ntoken={token}")
    attacker = None
    try:
        os.chmod(place, 0o755)
        if not tap.ok(daemon.ready == b"READY=1", "it starts", daemon.said()):
            return
        attacker = subprocess.Popen([sys.executable, "-c", ATTACKER, str(daemon.port), daemon.hook], stdout=subprocess.PIPE, text=True)
        attacker.stdout.readline()
        time.sleep(1)
        took = []
        for _ in range(3):
            start = time.monotonic()
            done = daemon.trigger("--slower", "400ms")
            took.append(time.monotonic() - start)
        tap.ok(done.returncode in (0, 3) and max(took) < 5, "lull trigger has an answer during the flood", done, took)
        asked = [ask(daemon) for _ in range(20)]
        tap.ok(None not in asked and max(asked) < 3, "metrics are answered while they hold all the connections that they can get", asked)
        tap.ok(daemon.process.poll() is None and daemon.family()["speaker"], "both processes live", daemon.said())
        attacker.kill()
        attacker.wait()
        counts = wait_for(lambda: read(daemon), 30) or {}
        tap.ok(counts and float(counts['lull_snapshots_total{result="written"}']) <= 2, "the limit of an hour holds", counts)
        tap.ok(all(os.path.basename(path)[8] == "-" for path in daemon.written()) and len(os.listdir(daemon.sets)) <= 2,
               "nothing is named by a report", os.listdir(daemon.sets))
        tap.ok(not [path for path in os.listdir(daemon.sets) for file in [os.path.join(daemon.sets, path)] if os.stat(file).st_mode & 0o077],
               "nobody else may read what was written")
    finally:
        if attacker:
            attacker.kill()
            attacker.wait()
            attacker.stdout.close()
        code = daemon.stop()
    tap.ok(code == 0 and not left_of(daemon), "it ends, and nothing is left", code, left_of(daemon))


def ask(daemon):
    """How long the metrics take; None: there is no answer."""
    start = time.monotonic()
    with contextlib.suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/metrics", timeout=10).read()
        return time.monotonic() - start
    return None


def read(daemon):
    with contextlib.suppress(OSError):
        return daemon.counts()
    return None


def main(directory):
    os.chmod(directory, 0o755)
    check_directories(directory)
    check_socket(directory)
    check_crowd(directory)
    check_full(directory)
    check_flood(directory)


if why_no_daemon():
    tap.skip("a hostile user", why_no_daemon())
else:
    scratch = tempfile.mkdtemp(prefix="lull-hostile-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()
