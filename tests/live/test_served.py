#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track --server-waits 'serve(PORT)'`: what a server waited for during a slow request, against what it says itself. Root only, and
# only where eBPF may be loaded.
import json
import signal
import socket
import subprocess
import sys
import time

from lib.running import Running
from live.tracked import LULL, has_event, wait_attached, why_not
from tap import Tap

tap = Tap()
# Three phases of each request, each stamped: another machine's answer (over the loopback), a process that is waited for, and work.
SERVER = """
import json, os, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
back = socket.create_server(("127.0.0.1", 0))
asked, answered = os.pipe(), os.pipe()
if os.fork() == 0:
    open("/proc/self/comm", "w").write("backend")
    link, _ = back.accept()
    while link.recv(1):
        time.sleep(0.06)
        link.send(b"x")
    os._exit(0)
if os.fork() == 0:
    open("/proc/self/comm", "w").write("helper")
    os.close(asked[1])
    while os.read(asked[0], 1):
        end = time.thread_time() + 0.04
        while time.thread_time() < end:
            pass
        os.write(answered[1], b"x")
    os._exit(0)
link = socket.create_connection(back.getsockname())
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
while client.recv(1):
    stamps, used = [time.monotonic_ns()], time.thread_time_ns()
    link.send(b"x"), link.recv(1)
    stamps.append(time.monotonic_ns())
    os.write(asked[1], b"x"), os.read(answered[0], 1)
    stamps.append(time.monotonic_ns())
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        pass
    stamps.append(time.monotonic_ns())
    used = time.thread_time_ns() - used
    client.send(b"x")
    print(json.dumps(stamps + [used]), flush=True)
"""
# Each request is read by one thread and answered by another.
HANDED = """
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
client.recv(1)
thread = threading.Thread(target=lambda: (time.sleep(0.05), client.send(b"x")))
thread.start(), thread.join()
"""


def track(program, n, *options):
    """What is reported of n requests, and what the server prints."""
    with Running([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline())
        with Running([LULL, "track", "--max-overhead", "100%", *options, f"serve({port}) > 30ms"], stdout=subprocess.PIPE, text=True) as tracker:
            wait_attached(tracker)
            stamps = []
            with socket.create_connection(("127.0.0.1", port)) as client:
                for _ in range(n):
                    client.send(b"?")
                    client.recv(1)
                    stamps.append(server.stdout.readline())
            time.sleep(0.5)
            tracker.send_signal(signal.SIGINT)
            said = tracker.stdout.read()
        server.kill()
    return said, stamps


def check():
    said, stamps = track(SERVER, 8, "--json", "--server-waits")
    alarms = [json.loads(line) for line in said.splitlines() if "summary" not in line]
    stamps = [json.loads(line) for line in stamps]
    tap.ok(len(alarms) == 8 and all(alarm["server"] for alarm in alarms), "each slow request has an explanation", alarms)
    if len(alarms) != 8 or not all(alarm["server"] for alarm in alarms):
        return
    wrong = [alarm for alarm in alarms if alarm["delay_ns"] != sum(part["ns"] for part in alarm["server"]["waits"]) + alarm["server"]["other_waits_ns"] +
             alarm["server"]["cpu_wait_ns"] + alarm["server"]["ran_ns"] + alarm["server"]["unknown_ns"]]
    tap.ok(not wrong, "its parts are all of the time", wrong)
    good = 0
    for alarm, (start, asked, helped, _, used) in zip(alarms, stamps):
        server = alarm["server"]
        packet = sum(part["ns"] for part in server["waits"] if part["kind"] == "packet")
        helper = sum(part["ns"] for part in server["waits"] if part["kind"] == "task" and part["detail"] == "helper")
        # Waiting for a CPU is the task's own, and so no part of these.
        good += (0.058e9 < packet <= asked - start and 0.038e9 < helper <= helped - asked and
                 abs(server["ran_ns"] - used) < 0.004e9 and server["unknown_ns"] == 0)
    # A kernel may hide a switch or a wake-up, or an interrupt wake where a packet does.
    tap.ok(good >= 6, "the packet, the helper and its own work took as long as the server's stamps say", good, alarms, stamps)
    text, _ = track(SERVER, 3, "--server-waits")
    good = [line for line in text.splitlines() if line.startswith("   ") and
            all(part in line for part in (" for a packet from 127.0.0.1", " for helper/", " running"))]
    tap.ok(good, "the text says so", text)
    plain, _ = track(SERVER, 1, "--json")
    tap.ok([json.loads(line)["server"] for line in plain.splitlines() if "summary" not in line] == [None], "without the option nothing is said", plain)
    handed, _ = track(HANDED, 1, "--json", "--server-waits")
    tap.ok([json.loads(line)["server"] for line in handed.splitlines() if "summary" not in line] == [None],
           "nor of a request that another thread answered", handed)


if why_not():
    tap.skip("what servers wait for", why_not())
elif not has_event("sock_recv_length") or not has_event("sk_data_ready"):
    tap.skip("what servers wait for", "the kernel has no tracepoint sock_recv_length or sk_data_ready")
else:
    check()
tap.done()
