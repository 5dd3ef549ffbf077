#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What mod_lull costs a request of a real Apache: `make bench-apache`, as root.
#
# Clients ask for two paths by turns over connections that stay open: requests for one are reported to the daemon's socket, those for the
# other are not. So both see the same machine, whatever else runs on it. A module that is compiled for this (apache_stamps.c) notes how long
# mod_lull's hooks take in each request: by the CPU time of the thread, in which others that run are not (what stamps cost is), and on the wall.
# That of the report comes after the answer. Nobody listens at
# the socket, or somebody who reads nothing until it is full, or one who reads all. Prints a table and writes BUILD/bench-apache.json.
import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

CLIENTS = 4
MOST_US = 20  # that a request may take longer for it, of 99 in 100
STAMP = struct.Struct("Qqqqq")
CONFIG = """
ServerName localhost
ServerRoot {root}
DocumentRoot {root}/files
PidFile {root}/pid
ErrorLog {root}/error
Listen 127.0.0.1:{port}
LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule lull_module {module}
LoadModule stamps_module {root}/stamps.so
StampFile {root}/stamps
User nobody
Group nogroup
MaxKeepAliveRequests 0
LullSlower off
LullSocket {root}/hook
<Location /on>
    LullSlower 1us
</Location>
"""


def query(apxs, name):
    return subprocess.run([apxs, "-q", name], capture_output=True, text=True, check=True).stdout.strip()


def compile_stamps(apxs, target):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apache_stamps.c")
    flags = [*shlex.split(query(apxs, "CFLAGS")), *shlex.split(query(apxs, "EXTRA_CPPFLAGS")), f"-I{query(apxs, 'INCLUDEDIR')}",
             f"-I{query(apxs, 'APR_INCLUDEDIR')}"]
    subprocess.run([query(apxs, "CC").split()[0], "-shared", "-fPIC", "-O2", *flags, source, "-o", target], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def hook(path, how):
    """Who is at the daemon's socket: nobody, one who reads nothing, one who reads all."""
    if how == "nobody":
        yield
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(path)
        os.chmod(path, 0o666)
        if how == "reads":
            threading.Thread(target=read_all, args=(daemon,), daemon=True).start()
        yield
        daemon.shutdown(socket.SHUT_RDWR)
    os.unlink(path)


def read_all(daemon):
    with contextlib.suppress(OSError):
        while daemon.recv(2048):
            pass


def ask(port, n, took):
    """By turns, over one connection: how long each took as the client sees it, in microseconds."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(n):
            path = ("on", "off")[i % 2]
            start = time.perf_counter_ns()
            connection.sendall(f"GET /{path}/file HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            answer = connection.recv(4096)
            while not answer.endswith(b"ok"):
                answer += connection.recv(4096)
            took[path].append((time.perf_counter_ns() - start) / 1000)


def run(root, program, config, port, n):
    """The stamps of n requests, and what the clients saw."""
    with open(f"{root}/conf", "w", encoding="ascii") as file:
        file.write(config)
    server = subprocess.Popen([program, "-f", f"{root}/conf", "-DFOREGROUND"], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        end = time.monotonic() + 20
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
            time.sleep(0.05)
        took = {"on": [], "off": []}
        clients = [threading.Thread(target=ask, args=(port, n // CLIENTS, took)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
    with open(f"{root}/stamps", "rb") as file:
        count = struct.unpack("Q", file.read(8))[0]
        return list(STAMP.iter_unpack(file.read(count * STAMP.size))), took


def share(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def table(stamps, took):
    """Of the requests that are reported and of the others: both hooks together, and what the client sees, in microseconds."""
    rows = {}
    for is_reported, name in (1, "on"), (0, "off"):
        own = [s for s in stamps if s[0] == is_reported]
        values = {"cpu": [(s[1] + s[3]) / 1000 for s in own], "wall": [(s[2] + s[4]) / 1000 for s in own], "client": took[name]}
        rows[name] = {what: {part: round(share(list_, at), 2) for part, at in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1))}
                      for what, list_ in values.items()}
        rows[name]["n"] = len(own)
    return rows


def main():
    parser = argparse.ArgumentParser(description="what mod_lull costs a request")
    parser.add_argument("--module", required=True)
    parser.add_argument("--json")
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--apxs", default=shutil.which("apxs") or shutil.which("apxs2"))
    args = parser.parse_args()
    program = shutil.which("apache2") or shutil.which("httpd")
    if not program or not args.apxs or os.geteuid() != 0:
        sys.exit("bench-apache: it takes apache2, apache2-dev, and root")
    results = {}
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o711)
        for path in "on", "off":
            os.makedirs(f"{root}/files/{path}")
            with open(f"{root}/files/{path}/file", "w", encoding="ascii") as file:
                file.write("ok")
        compile_stamps(args.apxs, f"{root}/stamps.so")
        print("microseconds           reported: both hooks, CPU time    on the wall   not reported: CPU time   a request: reported     not")
        print(f"{'':22} {'p50':>9} {'p99':>9} {'max':>9} {'p99':>14} {'p50':>14} {'p99':>9} {'p50':>12} {'p99':>9} {'p50':>9} {'p99':>9}")
        for mpm in "event", "prefork":
            for how in "nobody", "hangs", "reads":
                port = free_port()
                config = CONFIG.format(root=root, port=port, mpm=mpm, modules=query(args.apxs, "LIBEXECDIR"), module=os.path.abspath(args.module))
                with hook(f"{root}/hook", how):
                    rows = results[f"{mpm}, {how}"] = table(*run(root, program, config, port, args.requests))
                on, off = rows["on"], rows["off"]
                print(f"{mpm + ', socket: ' + how:22} {on['cpu']['p50']:9} {on['cpu']['p99']:9} {on['cpu']['max']:9} {on['wall']['p99']:14} "
                      f"{off['cpu']['p50']:14} {off['cpu']['p99']:9} {on['client']['p50']:12} {on['client']['p99']:9} "
                      f"{off['client']['p50']:9} {off['client']['p99']:9}", flush=True)
    worst = {name: max(rows[name]["cpu"]["p99"] for rows in results.values()) for name in ("on", "off")}
    for name, which in ("off", "not reported"), ("on", "reported"):
        print(f"Of 99 in 100 requests that are {which}, the hooks take at most {worst[name]} us of CPU time (floor {MOST_US}): "
              f"{'kept' if worst[name] <= MOST_US else 'NOT KEPT'}")
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump({"most_us": MOST_US, "worst_us": worst, "load": os.getloadavg(), "runs": results}, file, indent=1)
    return 0 if max(worst.values()) <= MOST_US else 1


if __name__ == "__main__":
    sys.exit(main())
