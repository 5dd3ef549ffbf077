#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Trouble between daemons: of the machines that a request touched one is dead, and every datagram has to be sent twice; the others freeze
# even so, soon. LULL_TEST_TRIGGERS=N also triggers N times, of which each takes six seconds, with one datagram in ten lost at random, while
# LULL_TEST_LOAD=N programs use the CPUs, and prints how long it took until the last machine froze; and sends 1000 slow requests within ten
# seconds. Root only.
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tap import Tap
from trigger.daemons import wait_for
from trigger.machines import ADDRESS, Machine, why_not

tap = Tap()
ROUNDS = int(os.environ.get("LULL_TEST_TRIGGERS", "0"))
LOAD = int(os.environ.get("LULL_TEST_LOAD", "0"))
# What is over so long ago explains nothing any more.
FRESH = 5.5
SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], 8000)) as listener:
    print("ready", flush=True)
    client, _ = listener.accept()
    while client.recv(1):
        client.sendall(b"x")
"""
# Each line asks all others once, and is answered by the moment of the report.
CLIENT = """
import os, socket, sys, time
links = [socket.create_connection((other, 8000)) for other in sys.argv[2:]]
print("ready", flush=True)
for line in sys.stdin:
    for link in links:
        link.sendall(b"x"), link.recv(1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hook:
        now = time.time_ns()
        hook.sendto(f"lull1 t={now // 1000} d=300000 pid={os.getpid()}".encode(), sys.argv[1])
    print(now, flush=True)
"""


def frozen_ns(machine, name):
    """When its buffers stopped, on the clock of all."""
    with open(os.path.join(machine.sets, name, "recording.json")) as file:
        return json.load(file)["end_ns"]


def lose(machine, rule):
    """Of the datagrams that its daemon receives."""
    table = f"table inet lull {{\nchain input {{\ntype filter hook input priority 0;\nudp dport 5447 {rule} drop\n}}\n}}\n"
    return subprocess.run(machine.inside("nft", "-f", "-"), input=f"table inet lull\ndelete table inet lull\n{table}", text=True,
                          capture_output=True)


def trigger(web, others):
    """The new set of web, and how many seconds after the report each machine froze; None: not at all."""
    before = set(web.written())
    client = web.programs[0]
    client.stdin.write("\n")
    client.stdin.flush()
    sent_ns = int(client.stdout.readline())
    new = wait_for(lambda: set(web.written()) - before)
    name = sorted(new)[0] if new else ""
    wait_for(lambda: all(name in machine.written() for machine in others), 8)
    return name, {machine.name: (frozen_ns(machine, name) - sent_ns) / 1e9 if name in machine.written() else None
                  for machine in [web, *others]}


def check_dead(web, app, db):
    """The daemon of app hangs, and says nothing."""
    os.kill(app.daemon.pid, signal.SIGSTOP)
    name, frozen = trigger(web, [db])
    tap.ok(name and frozen["web"] < 1 and frozen["db"] is not None and frozen["db"] < 1, "a daemon that hangs holds up nobody", frozen, web.said())
    asked = wait_for(lambda: len(web.machines(name)) == 2 and sorted(web.machines(name)))
    tap.ok(asked == [f"{ADDRESS['app']} unanswered", f"{ADDRESS['db']} frozen {name}"], "it is reported", asked or web.machines(name), web.said())
    os.kill(app.daemon.pid, signal.SIGCONT)


def check_loss(web, app, db):
    """Of two datagrams that come in, the first is lost, at every machine."""
    if not shutil.which("nft") or lose(web, "").returncode:
        tap.skip("lost datagrams", "there is no nft, or no nftables in the kernel")
        return
    lost = [lose(machine, "numgen inc mod 2 == 0") for machine in (web, app, db)]
    if not tap.ok(not any(one.returncode for one in lost), "datagrams can be lost", lost):
        return
    time.sleep(FRESH)
    name, frozen = trigger(web, [app, db])
    tap.ok(name and all(late is not None and late < 1 for late in frozen.values()), "half of the datagrams are enough", frozen, web.said())
    asked = wait_for(lambda: len(web.machines(name)) == 2 and sorted(web.machines(name)))
    tap.ok(asked == [f"{ADDRESS['app']} frozen {name}", f"{ADDRESS['db']} frozen {name}"], "and the answers come", asked)


OTHER_NAME = "10.9.0.77"


def check_translated(web, app):
    """Web knows app by an address that is changed on the way, also to its daemon: app freezes, and says that it does not know the connection."""
    table = (f"table ip lull_names {{\nchain out {{\ntype nat hook output priority -100;\nip daddr {OTHER_NAME} dnat to {ADDRESS['app']}\n}}\n"
             "chain in {\ntype nat hook postrouting priority 100;\n}\n}\n")
    made = subprocess.run(web.inside("nft", "-f", "-"), input=table, text=True, capture_output=True) if shutil.which("nft") else None
    if not made or made.returncode:
        tap.skip("addresses that are changed on the way", made.stderr if made else "there is no nft")
        return
    web.ip("route", "add", OTHER_NAME, "dev", "lull-app")
    app.run(SERVER.replace("8000", "8001"), ADDRESS["app"])
    client = web.run(CLIENT.replace("8000", "8001"), web.hook, OTHER_NAME)
    time.sleep(FRESH)
    before = set(web.written())
    client.stdin.write("\n")
    client.stdin.flush()
    client.stdout.readline()
    name = wait_for(lambda: next(iter(set(web.written()) - before), None))
    asked = wait_for(lambda: name and web.machines(name))
    tap.ok(asked == [f"{OTHER_NAME} frozen {name}"] and wait_for(lambda: name in app.written()), "a machine behind NAT freezes", asked, web.said(), app.said())
    tap.ok(wait_for(lambda: f"{name}: no other machine is asked" in app.said()) and "NAT" in app.said() and not app.machines(name),
           "it says that it does not know the connection, and asks nobody", app.said())


def percentile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def check_long(web, app, db):
    for machine in (web, app, db):
        lose(machine, "numgen random mod 10 == 0")
    latest, load = [], [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(LOAD)]
    for _ in range(ROUNDS):
        time.sleep(FRESH)
        _, frozen = trigger(web, [app, db])
        latest.append(max((late if late is not None else 1e9) for late in frozen.values()))
    for process in load:
        process.kill()
        process.wait()
    tap.ok(max(latest) < 1e9, "with one datagram in ten lost, all freeze each time", latest)
    p50, p99 = percentile(latest, 0.5), percentile(latest, 0.99)
    tap.ok(p50 <= 0.005 and p99 <= 0.05, "soon, and nearly always", latest)
    print(f"# {ROUNDS} triggers beside {LOAD} programs: the last of three machines froze after {p50 * 1e3:.2f} ms (median), {p99 * 1e3:.2f} ms (99 %), "
          f"{max(latest) * 1e3:.2f} ms (longest)")
    time.sleep(FRESH)
    before, start = len(web.written()), time.monotonic()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hook:
        for _ in range(1000):
            hook.sendto(f"lull1 t={time.time():.6f} d=0.5 pid={web.programs[0].pid}".encode(), web.hook)
            time.sleep(0.0099)
    took = time.monotonic() - start
    wait_for(lambda: False, 2)
    new = len(web.written()) - before
    # After five seconds a set explains nothing any more, and the pause of the rule is a second here.
    tap.ok(1 <= new <= took / 5 + 1, "1000 slow requests in ten seconds are one set each five", new, took)


def main(directory):
    key = os.path.join(directory, "key")
    subprocess.run([os.environ["LULL"], "daemon", "--new-key", key], check=True, timeout=20)
    machines = [Machine(directory, name) for name in ("web", "app", "db")]
    web, app, db = machines
    try:
        web.link(app)
        web.link(db)
        for machine in app, db:
            machine.run(SERVER, ADDRESS[machine.name])
        web.run(CLIENT, web.hook, ADDRESS["app"], ADDRESS["db"])
        for machine in machines:
            machine.start(key, "pause=1s\nper_hour=1000\nper_day=1000\nsize=1G")
        wait_for(lambda: all(machine.is_ready() for machine in machines), 30)
        if tap.ok(all("ready" in machine.said() for machine in machines), "three daemons run", *[machine.said() for machine in machines]):
            check_dead(web, app, db)
            check_translated(web, app)
            check_loss(web, app, db)
            if ROUNDS:
                check_long(web, app, db)
    finally:
        for machine in machines:
            if machine.daemon:
                machine.daemon.terminate()
        codes = [machine.stop() for machine in machines]
    tap.ok(codes == [0] * 3, "they end", codes, *[machine.said() for machine in machines])


reason = why_not()
if reason:
    tap.skip("trouble between machines", reason)
else:
    scratch = tempfile.mkdtemp(prefix="lull-trouble-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()
