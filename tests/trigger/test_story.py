#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The stories of docs/INVESTIGATING.md: a web application is slow now and then. It reports its slow requests to `lull daemon`; the
# snapshot's `lull why` names what the test did to it in its first sentence, and `lull critpath` agrees. Root only.
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from live.tracked import LULL
from tap import Tap
from trigger.daemons import free_port, wait_for, why_no_daemon

tap = Tap()
USUAL = 8
# A request for /slow does what the story says; all others compute a little. It resolves names as every program does.
APP = r"""
import ctypes, http.server, os, resource, socket, sys, time
hook, port = sys.argv[1], int(sys.argv[2])
os.sched_setaffinity(0, {int(sys.argv[3])})
os.nice(-15)
memory = bytearray(os.urandom(4096)) * (25000 if sys.argv[4] else 1)  # what a core is full of
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        start = time.time()
        if self.path == "/slow/name":
            try:
                socket.getaddrinfo("auth.example.internal", 80)
            except OSError:
                pass
        if self.path.startswith("/part"):
            part = os.fork()
            if part == 0:
                if self.path == "/part/crash":
                    os.chdir(sys.argv[4])
                    ctypes.string_at(0)
                os._exit(0)
            os.waitpid(part, 0)
        until = time.thread_time() + (0.05 if self.path.startswith("/work") else 0.002)
        while time.thread_time() < until:
            pass
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 500)
        end = time.time()
        reports.sendto(f"lull1 t={end:.6f} d={end - start:.6f} pid={os.getpid()} id={self.path}".encode(), hook)
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
CONFIG = """
[daemon]
snapshots={sets}
hook={hook}
buffer=64M
[limits]
free=0%
[rule slow-requests]
slower={slower}
id={id}
"""


def start_first(command):
    """In a session of its own, before the others: what else runs on this machine is no part of the story."""
    process = subprocess.Popen(command, start_new_session=True)
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/autogroup", "w") as file:
        file.write("-15")
    return process


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    connection.getresponse().read()
    connection.close()


def lull(*arguments):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=120).stdout


def why(recording, port):
    """What is said of requests to the application, and the first cause of it."""
    said = lull("why", "--port", str(port), recording)
    return said, (re.findall(r"^ 1\. (.*)$", said, re.M) or [""])[0]


def scene(directory, name, slower, id_of_slow, act, core=""):
    """Some usual requests, then what happens; the snapshot."""
    folder = os.path.join(directory, name)
    os.mkdir(folder)
    sets, hook, port = os.path.join(folder, "sets"), os.path.join(folder, "hook"), free_port()
    config = os.path.join(folder, "lulld.conf")
    with open(config, "w") as file:
        file.write(CONFIG.format(sets=sets, hook=hook, slower=slower, id=id_of_slow))
    cpu = min(os.sched_getaffinity(0))
    daemon = subprocess.Popen([LULL, "daemon", "--config", config], stderr=subprocess.PIPE, text=True)
    app = None
    try:
        daemon.stderr.readline()  # it is ready
        app = start_first([sys.executable, "-c", APP, hook, str(port), str(cpu), core])
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        act(port, cpu)
        found = wait_for(lambda: [path for path in (os.listdir(sets) if os.path.isdir(sets) else []) if not path.endswith(".part")])
    finally:
        for process in (app, daemon):
            if process:
                process.terminate()
                process.wait(20)
        daemon.stderr.close()
    return os.path.join(sets, found[0]) if found else None, port


def late_name(port, cpu):
    """The name server does not answer."""
    for _ in range(USUAL):
        get(port, "/")
    get(port, "/slow/name")


def compression(port, cpu):
    """A job that somebody's script started has the same CPU."""
    for _ in range(USUAL):
        get(port, "/work")
    script = f"nice -n -15 taskset -c {cpu} xz -9 -c /dev/zero > /dev/null; true"
    job = start_first(["sh", "-c", script])
    wait_for(lambda: subprocess.run(["pgrep", "-P", str(job.pid), "xz"], stdout=subprocess.DEVNULL).returncode == 0)
    try:
        get(port, "/work/again")
    finally:
        os.killpg(job.pid, 9)
        job.wait()


def crash(port, cpu):
    """What serves the request dies, and its core is written meanwhile."""
    for _ in range(USUAL):
        get(port, "/part")
    get(port, "/part/crash")


def tell_names(directory):
    """In a mount namespace of its own, with a resolver that knows a silent server alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.53", 53))
        found, port = scene(directory, "names", "500ms", "/slow/*", late_name)
    tap.ok(found, "a late name: there is a snapshot")
    if found:
        said, cause = why(found, port)
        tap.ok(re.search(r"python3?\S* is blocked on a timer: .*timed out in poll: no answer from udp 127\.0\.0\.53:53", cause),
               "a late name: why says in its first sentence who did not answer", said[:1500])
        path = json.loads(lull("critpath", "--json", found))
        waited = sum(s["end_ns"] - s["begin_ns"] for s in path["segments"] if "127.0.0.53:53" in (s["detail"] or ""))
        tap.ok(0.95e9 < waited < 1.5e9, "a late name: the path of the snapshot is that second", waited)


def tell_compression(directory):
    found, port = scene(directory, "xz", "60ms", "/work/again", compression)
    tap.ok(found, "a job on the CPU: there is a snapshot")
    if found:
        said, cause = why(found, port)
        others = re.search(r"preempted: by (?!xz)\S+ \(", cause)
        if others:
            tap.skip("a job on the CPU", f"another program took it for longer: this machine is too busy ({cause})")
            return
        tap.ok(re.search(r"preempted.* xz", cause), "a job on the CPU: why names xz in its first sentence", said[:1500])
        tap.ok(re.search(r"xz/\d+ was started by .*sh/\d+", said), "a job on the CPU: and who started it", said[:1500])
        tap.ok(re.search(r"Its command was: xz -9 -c /dev/zero", said), "a job on the CPU: and what it was", said[:1500])


def tell_crash(directory):
    with open("/proc/sys/kernel/core_pattern") as file:
        if file.read(1) in "|/@":
            tap.skip("a core dump", "this machine does not write cores where a program is")
            return
    # In memory: how long a disk takes to write it is another story.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        found, port = scene(directory, "crash", "30ms", "/part/crash", crash, place)
        tap.ok(found and os.listdir(place), "a core dump: there is a snapshot, and a core", found)
    if found:
        said, cause = why(found, port)
        tap.ok(re.search(r"python3?\S* is running in its core dump", cause), "a core dump: why says so in its first sentence", said[:1500])


def main():
    scratch = tempfile.mkdtemp(prefix="lull-story-")
    try:
        if sys.argv[1:] == ["inside"]:
            tell_names(scratch)
        else:
            resolver = os.path.join(scratch, "resolv.conf")
            with open(resolver, "w") as file:
                file.write("nameserver 127.0.0.53\noptions timeout:1 attempts:1\n")
            script = f"mount --bind {resolver} /etc/resolv.conf && exec {sys.executable} {os.path.abspath(__file__)} inside"
            inside = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=200)
            lines = [line for line in inside.stdout.splitlines() if re.match(r"(not )?ok ", line)]
            if not lines:
                tap.skip("a late name", inside.stderr.strip()[-200:])
            for line in lines:
                tap.ok(line.startswith("ok"), re.sub(r"^(not )?ok \d+ ?", "", line), *inside.stdout.splitlines()[:30])
            tell_compression(scratch)
            tell_crash(scratch)
    finally:
        shutil.rmtree(scratch)
    tap.done()


if why_no_daemon():
    tap.skip("the stories", why_no_daemon())
    tap.done()
else:
    main()
