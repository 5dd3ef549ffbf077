#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Four machines, as far as the network is concerned, each with a daemon: web asks app, which asks db, and keeps an unused connection to
# pool. A slow request at web freezes web, app and db, and nothing at pool; a thousand of them are one set. Root only.
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from lib.busy import busy_cpus
from tap import Tap
from trigger.daemons import wait_for
from trigger.machines import ADDRESS, Machine, why_not

LULL = os.environ["LULL"]
tap = Tap()
SLOW = 0.25
SERVER = """
import socket, sys, time
with socket.create_server((sys.argv[1], 8000)) as listener:
    print("ready", flush=True)
    client, _ = listener.accept()
    while client.recv(1):
        time.sleep(float(sys.argv[2]))
        client.sendall(b"x")
"""
# One byte is a request, which is passed on to db. The connection to pool has been used before.
APP = """
import socket, sys
own, db, pool = sys.argv[1:]
links = [socket.create_connection((other, 8000)) for other in (db, pool)]
links[1].sendall(b"x"), links[1].recv(1)
with socket.create_server((own, 8000)) as listener:
    print("ready", flush=True)
    client, _ = listener.accept()
    while client.recv(1):
        links[0].sendall(b"x"), links[0].recv(1)
        client.sendall(b"x")
"""
CLIENT = """
import os, socket, sys, time
app = socket.create_connection((sys.argv[1], 8000))
print("ready", flush=True)
sys.stdin.readline()
start = time.time()
app.sendall(b"x"), app.recv(1)
end = time.time()
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hook:
    hook.sendto(f"lull1 t={end:.6f} d={end - start:.6f} pid={os.getpid()}".encode(), sys.argv[2])
sys.stdin.readline()
"""


def request(web, app, db, pool):
    client = web.programs[0]
    client.stdin.write("\n")
    client.stdin.flush()
    found = wait_for(lambda: all(machine.written() for machine in (web, app, db)) and app.machines(app.written()[0]))
    said = "\n".join(machine.said() for machine in (web, app, db, pool))
    if not tap.ok(found, "the machines that the request touched wrote a snapshot", said):
        return
    names = {machine.name: machine.written() for machine in (web, app, db, pool)}
    name = names["web"][0]
    tap.ok(names == {"web": [name], "app": [name], "db": [name], "pool": []}, "it has the same name everywhere, and the other has none", names)
    wait_for(lambda: web.machines(name))
    asked = {machine.name: machine.machines(name) for machine in (web, app, db)}
    tap.ok(asked == {"web": [f"{ADDRESS['app']} frozen {name}"], "app": [f"{ADDRESS['db']} frozen {name}"], "db": []},
           "each asked the next, and noted what it did", asked)
    first = web.trigger(name)
    took = first["end_ns"] - first["begin_ns"]
    others = [machine.trigger(name) for machine in (app, db)]
    tap.ok(first["pid"] > 0 and took > SLOW * 1e9 and
           all(other["rule"] == "slow" and other["end_ns"] - other["begin_ns"] == took and "pid" not in other and
               other["begin_ns"] > first["begin_ns"] - 10_000_000 for other in others),
           "all know why and when", first, others)


# Connections that say nothing, as many as one may have, and another for each that is lost.
HOLDER = """
import os, select, socket, sys, time
os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
def take(address):
    link = socket.socket()
    link.settimeout(1)
    try:
        link.connect((address, 5447))
    except OSError:
        pass
    return link
links = {take(address): address for address in sys.argv[1:] for _ in range(80)}
print("ready", flush=True)
while True:
    for lost in select.select(list(links), [], [])[0]:
        address = links.pop(lost)
        links[take(address)] = address
        lost.close()
    time.sleep(0.02)
"""


def files_of(directory):
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


def collect(web, app, db, key):
    """The snapshots come together as they are, and are one answer; who has another key gets nothing."""
    name, output = web.written()[0], os.path.join(web.directory, "collected")
    config = os.path.join(web.directory, "lulld.conf")
    holder = web.run(HOLDER, ADDRESS["web"], ADDRESS["app"])
    done = subprocess.run(web.inside(LULL, "collect", name, "--config", config, "-o", output), capture_output=True, text=True, timeout=60)
    was_held = holder.poll() is None
    holder.kill()
    if "built without collecting" in done.stderr:
        tap.skip("collecting", done.stderr.strip())
        return
    tap.ok(done.returncode == 0 and done.stdout.strip() == output and not done.stderr and was_held, "collect prints the directory, though somebody without the key holds connections", done, was_held)
    tap.ok({address: files_of(os.path.join(output, address)) for address in os.listdir(output)} ==
           {ADDRESS[machine.name]: files_of(os.path.join(machine.sets, name)) for machine in (web, app, db)},
           "it has what each machine wrote, and nothing else")
    path = subprocess.run([LULL, "critpath", "--json", output], capture_output=True, text=True, timeout=60)
    trigger = web.trigger(name)
    if "do not reach back" in path.stderr:
        tap.skip("critpath answers for the slow request", f"this machine is too busy: {path.stderr}")
    else:
        query = json.loads(path.stdout)["query"] if path.returncode == 0 else {}
        tap.ok(query.get("tid") == trigger["pid"] and 0 < query["end_ns"] - query["begin_ns"] <= trigger["end_ns"] - trigger["begin_ns"],
               "critpath answers for the slow request without a question", path.stderr, query, trigger)
        slept = sum(step["end_ns"] - step["begin_ns"] for step in json.loads(path.stdout)["segments"]
                    if step["tid"] == db.programs[0].pid and step["cause"] == "timer")
        tap.ok(slept > 0.8 * SLOW * 1e9, "and ends at what db waited for, though three of them recorded one kernel", slept, path.stdout[-3000:])
    asked = subprocess.run([LULL, "why", output], capture_output=True, text=True, timeout=60)
    # There is one request, which it can compare with none, unless something else on this machine has some.
    tap.ok(asked.returncode == 0 and ("'lull critpath' shows what the slow task waited for" in asked.stdout or "because:" in asked.stdout),
           "why takes the set, too, and says what to ask where it can compare nothing", asked)
    other = os.path.join(web.directory, "other")
    with open(config) as file, open(other + ".conf", "w") as changed:
        changed.write(file.read().replace(f"key={key}", f"key={other}"))
    subprocess.run([LULL, "daemon", "--new-key", other], check=True, timeout=20)
    refused = subprocess.run(web.inside(LULL, "collect", name, "--config", other + ".conf", "-o", output + "2"), capture_output=True,
                             text=True, timeout=60)
    tap.ok(refused.returncode == 1 and "same key" in refused.stderr and not os.path.exists(output + "2"), "another key gets nothing",
           refused)


def flood(web, machines):
    """What is slow within seconds after it is the same set, here and elsewhere."""
    before = [machine.written() for machine in machines]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hook:
        for _ in range(1000):
            hook.sendto(f"lull1 t={time.time():.6f} d=0.5 pid={web.programs[0].pid}".encode(), web.hook)
    answer = subprocess.run(web.inside(LULL, "trigger", "--socket", web.hook, "--slower", "1s"), capture_output=True, text=True, timeout=60)
    tap.ok(answer.returncode in (0, 3) and [machine.written() for machine in machines] == before, "a thousand more are the same set",
           answer, [machine.written() for machine in machines])


def strangers(app):
    """Bytes that nobody signed, from a machine that may ask and from itself: nothing happens, and it goes on."""
    script = ("import os, socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
              "[s.sendto(b'LULT' + bytes([1, 1, 8, 0]) + os.urandom(184), (sys.argv[1], 5447)) for _ in range(2000)]")
    subprocess.run(app.inside(sys.executable, "-c", script, ADDRESS["app"]), check=True, timeout=60)
    tap.ok(app.daemon.poll() is None and len(app.written()) == 1, "forged questions change nothing", app.said())


def main(directory):
    key = os.path.join(directory, "key")
    made = subprocess.run([LULL, "daemon", "--new-key", key], capture_output=True, text=True, timeout=20)
    tap.ok(made.returncode == 0 and os.stat(key).st_mode & 0o777 == 0o600, "a new key is for its owner alone", made)
    machines = [Machine(directory, name) for name in ("web", "app", "db", "pool")]
    web, app, db, pool = machines
    try:
        for other in web, db, pool:
            app.link(other)
        web.link(db)  # to collect
        db.run(SERVER, ADDRESS["db"], SLOW)
        pool.run(SERVER, ADDRESS["pool"], 0)
        app.run(APP, ADDRESS["app"], ADDRESS["db"], ADDRESS["pool"])
        used = time.monotonic()
        web.run(CLIENT, ADDRESS["app"], web.hook)
        for machine in machines:
            machine.start(key, recorded="buffer=8M")
        wait_for(lambda: all(machine.is_ready() for machine in machines), 30)
        if tap.ok(all("ready" in machine.said() for machine in machines), "four daemons run", *[machine.said() for machine in machines]):
            time.sleep(max(0.0, used + 0.5 - time.monotonic()))  # the unused connection has not been used for a while
            with busy_cpus():
                request(web, app, db, pool)
            collect(web, app, db, key)
            flood(web, machines)
            strangers(app)
    finally:
        for machine in machines:
            if machine.daemon:
                machine.daemon.terminate()
        codes = [machine.stop() for machine in machines]
    tap.ok(codes == [0] * 4, "they end", codes, *[machine.said() for machine in machines])


reason = why_not()
if reason:
    tap.skip("questions between machines", reason)
else:
    scratch = tempfile.mkdtemp(prefix="lull-spread-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()
