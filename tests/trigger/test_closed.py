#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A slow request of a real nginx, all of whose connections are closed when nginx reports it: at app, a process of its own served it, which
# has ended; it asked dns (UDP), and over a unix socket another process, which asked db (TCP) and has ended, too; and dns asked root. All of
# them freeze, and pool, to which app holds a connection, does not.
# Root only.
import os
import shutil
import subprocess
import tempfile
import time

from live.tracked import has_event
from live.tracked import why_not as why_not_live
from tap import Tap
from trigger.daemons import wait_for
from trigger.machines import ADDRESS, Machine, why_not

tap = Tap()
SLOW = 0.3
NGINX = """user root;
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    map $request_time $lull_slow {{ ~^0\\.[0-1] 0; default 1; }}
    {format}
    server {{
        listen 127.0.0.1:8080;
        access_log syslog:server=unix:{hook},nohostname,tag=nginx lull if=$lull_slow;
        location / {{ proxy_pass http://{app}:8000; }}
    }}
}}
"""
# A process for each request, with connections of its own; one to pool that has been used before.
APP = """
import os, socket, sys
own, db, dns, pool, place = sys.argv[1:]
link = socket.create_connection((pool, 8000))
link.sendall(b"x"), link.recv(1)
with socket.create_server((own, 8000)) as listener:
    print("ready", flush=True)
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            client.recv(4096)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as question:
                question.connect((dns, 5300))
                question.send(b"x"), question.recv(1)
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(place), link.sendall(b"x"), link.recv(1)
            client.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nx")
            client.close()
            os._exit(0)
        client.close()
        os.wait()
"""
STORE = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1]), listener.listen()
    print("ready", flush=True)
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            with socket.create_connection((sys.argv[2], 8000)) as link:
                link.sendall(client.recv(1)), client.sendall(link.recv(1))
            os._exit(0)
        client.close()
        os.wait()
"""
DNS = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((sys.argv[1], 5300))
    print("ready", flush=True)
    while True:
        data, who = server.recvfrom(10)
        with socket.create_connection((sys.argv[2], 8000)) as link:
            link.sendall(b"x"), link.recv(1)
        server.sendto(data, who)
"""
SERVER = """
import socket, sys, time
with socket.create_server((sys.argv[1], 8000)) as listener:
    print("ready", flush=True)
    while True:
        client, _ = listener.accept()
        if client.recv(1):
            time.sleep(float(sys.argv[2]))
            client.sendall(b"x")
"""


def documented(name):
    """The lines of the documentation that start so, to the semicolon."""
    with open(os.path.join(os.environ["LULL_SOURCE"], "docs", "DAEMON.md"), encoding="utf-8") as file:
        text = file.read()
    start = text.index(name)
    return text[start:text.index(";\n", start) + 1]


def start_nginx(web):
    config = os.path.join(web.directory, "nginx.conf")
    with open(config, "w") as file:
        file.write(NGINX.format(directory=web.directory, hook=web.hook, app=ADDRESS["app"], format=documented("log_format lull")))
    server = subprocess.Popen(web.inside("nginx", "-p", web.directory, "-c", config, "-g", "daemon off;"), stdin=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(os.path.join(web.directory, "nginx.pid")))
    return server


def check(machines):
    web, app, db, pool, dns, root = machines
    touched = [web, app, db, dns, root]
    fetch = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8080/').read())"
    start = time.time_ns()
    got = subprocess.run(web.inside("python3", "-c", fetch), capture_output=True, text=True, timeout=60)
    asks = {web: 1, app: 2, dns: 1}
    found = wait_for(lambda: all(machine.written() for machine in touched) and
                     all(len(machine.machines(machine.written()[0])) == n for machine, n in asks.items()))
    said = [machine.said() for machine in machines]
    if not tap.ok(got.stdout and found, "all that the request touched wrote a snapshot", got, *said):
        return
    name = web.written()[0]
    tap.ok([machine.written() for machine in touched] == [[name]] * 5 and not pool.written(), "and nobody else", *said)
    asked = {machine.name: sorted(machine.machines(name)) for machine in touched}
    tap.ok(asked == {"web": [f"{ADDRESS['app']} frozen {name}"],
                     "app": [f"{ADDRESS['db']} frozen {name}", f"{ADDRESS['dns']} frozen {name}"],
                     "db": [], "dns": [f"{ADDRESS['root']} frozen {name}"], "root": []}, "each asked those that it had asked", asked)
    trigger = web.trigger(name)
    tap.ok(start < trigger["begin_ns"] + 2_000_000 and trigger["end_ns"] - trigger["begin_ns"] >= SLOW * 1e9 and trigger["pid"] > 0,
           "nginx says when it was", trigger, start)


def main(directory):
    key = os.path.join(directory, "key")
    subprocess.run([os.environ["LULL"], "daemon", "--new-key", key], check=True, timeout=20)
    machines = [Machine(directory, name) for name in ("web", "app", "db", "pool", "dns", "root")]
    web, app, db, pool, dns, root = machines
    server = None
    try:
        for other in web, db, pool, dns:
            app.link(other)
        dns.link(root)
        for machine, late in (db, SLOW), (pool, 0), (root, 0):
            machine.run(SERVER, ADDRESS[machine.name], late)
        dns.run(DNS, ADDRESS["dns"], ADDRESS["root"])
        store = os.path.join(app.directory, "store")
        app.run(STORE, store, ADDRESS["db"])
        app.run(APP, ADDRESS["app"], ADDRESS["db"], ADDRESS["dns"], ADDRESS["pool"], store)
        for machine in machines:
            machine.start(key)
        wait_for(lambda: all(machine.is_ready() for machine in machines), 30)
        if tap.ok(all("ready" in machine.said() for machine in machines), "six daemons run", *[machine.said() for machine in machines]):
            server = start_nginx(web)
            check(machines)
    finally:
        if server:
            server.terminate()
            server.wait(20)
        for machine in machines:
            if machine.daemon:
                machine.daemon.terminate()
        codes = [machine.stop() for machine in machines]
    tap.ok(codes == [0] * 6, "they end", codes, *[machine.said() for machine in machines])


reason = why_not() or why_not_live() or (None if shutil.which("nginx") else "nginx is not installed")
if reason:
    tap.skip("closed connections", reason)
elif not has_event("sock_recv_length"):
    tap.skip("closed connections", "the kernel has no tracepoint sock_recv_length")
else:
    scratch = tempfile.mkdtemp(prefix="lull-closed-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()
