# SPDX-License-Identifier: MIT
# One of the emulated machines of test_daemon_vm.py: NAME LULL SLOW. What it does and sees lies in /mnt/all, which all of them share; the
# programs say when they sent and received, each by its own machine's clock.
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

NAME, LULL, SLOW = sys.argv[1], sys.argv[2], float(sys.argv[3])
ADDRESS = {"web": "10.9.0.1", "app": "10.9.0.2", "db": "10.9.0.3", "pool": "10.9.0.4"}
ALL, OWN, PORT = "/mnt/all/", "/tmp/memory/own/", 8000
PATIENCE = 600


def wait_for(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    raise TimeoutError(what)


def tell(name, value):
    """All of it at once."""
    with open(f"{ALL}{name}.part", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.rename(f"{ALL}{name}.part", ALL + name)


def connect(other):
    def attempt():
        try:
            return socket.create_connection((ADDRESS[other], PORT), timeout=PATIENCE)
        except OSError:
            return None
    return wait_for(attempt)


def listen():
    return socket.create_server((ADDRESS[NAME], PORT))


def ask(link, stamps):
    stamps.append(time.time_ns())
    link.sendall(b"x")
    link.recv(1)
    stamps.append(time.time_ns())


def serve(listener, work):
    """One client, whose byte is a request."""
    client, _ = listener.accept()
    while client.recv(1):
        stamps = [time.time_ns()]
        work(stamps)
        stamps.append(time.time_ns())
        client.sendall(b"x")
        tell(NAME + ".stamps", stamps)


def program():
    """What this machine is there for. The connection to pool is used before there is a daemon."""
    if NAME == "web":
        app = connect("app")
        tell("web.program", os.getpid())
        wait_for(lambda: os.path.exists(ALL + "go"))
        stamps = []
        ask(app, stamps)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hook:
            hook.sendto(f"lull1 t={stamps[1] // 1000} d={(stamps[1] - stamps[0]) // 1000} pid={os.getpid()}".encode(), OWN + "hook")
        tell("web.stamps", stamps)
        signal.pause()
    elif NAME == "app":
        db, pool = connect("db"), connect("pool")
        ask(pool, [])
        with listen() as listener:
            tell("app.program", os.getpid())
            serve(listener, lambda stamps: ask(db, stamps))
    else:
        with listen() as listener:
            tell(NAME + ".program", os.getpid())
            serve(listener, lambda stamps: time.sleep(SLOW if NAME == "db" else 0))


def start_daemon():
    shutil.copy(ALL + "key", OWN + "key")
    os.chmod(OWN + "key", 0o600)
    with open(OWN + "lulld.conf", "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nsnapshots={OWN}sets\nhook={OWN}hook\nbuffer=1M\nkey={OWN}key\nlisten={ADDRESS[NAME]}:5447\npeers=10.9.0.0/24\n"
                   f"[limits]\nfree=0%\n[rule slow]\nslower={SLOW / 2}s\n")
    log = open(OWN + "log", "w", encoding="utf-8")
    daemon = subprocess.Popen([LULL, "daemon", "--config", OWN + "lulld.conf"], stderr=log, stdin=subprocess.DEVNULL)
    wait_for(lambda: "ready" in said() or daemon.poll() is not None)
    return daemon


def said():
    with open(OWN + "log", encoding="utf-8") as file:
        return file.read()


def sets():
    return {os.path.basename(path): machines(path) for path in glob.glob(OWN + "sets/*") if not path.endswith(".part")}


def machines(path):
    try:
        with open(path + "/machines", encoding="utf-8") as file:
            return sorted(file.read().splitlines())
    except OSError:
        return []


def has_set(name):
    try:
        with open(f"{ALL}{name}.sets", encoding="utf-8") as file:
            return bool(json.load(file))
    except OSError:
        return False


def collect(name, config, output):
    done = subprocess.run([LULL, "collect", name, "--config", config, "-o", output], capture_output=True, text=True, timeout=PATIENCE)
    return {"status": done.returncode, "stderr": done.stderr}


def be_web():
    """The request, and then all snapshots come here; with another key none does."""
    wait_for(lambda: all(os.path.exists(f"{ALL}{other}.ready") for other in ADDRESS))
    time.sleep(2)  # the connection to pool was not used lately
    tell("go", True)
    wait_for(lambda: has_set("app") and has_set("db") and sets())
    wait_for(lambda: all(sets().values()))
    name = next(iter(sets()))
    subprocess.run([LULL, "daemon", "--new-key", OWN + "other"], check=True)
    with open(OWN + "lulld.conf", encoding="utf-8") as file, open(OWN + "other.conf", "w", encoding="utf-8") as other:
        other.write(file.read().replace(f"key={OWN}key", f"key={OWN}other"))
    refused = collect(name, OWN + "other.conf", OWN + "refused")
    tell("collect", {"good": collect(name, OWN + "lulld.conf", OWN + "collected"), "refused": refused})
    subprocess.run(["cp", "-r", OWN + "collected", ALL], check=True)
    tell("end", True)


def main():
    if os.fork() == 0:
        program()
        os._exit(0)
    wait_for(lambda: os.path.exists(f"{ALL}{NAME}.program"))
    daemon = start_daemon()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        tell(NAME + ".ready", {"boot": file.read().strip(), "said": said()})
    try:
        if NAME == "web":
            be_web()
        else:
            while not os.path.exists(ALL + "end"):
                tell(NAME + ".sets", sets())
                time.sleep(0.3)
    finally:
        daemon.terminate()
        code = daemon.wait()
        tell(NAME + ".sets", sets())
        tell(NAME + ".end", {"code": code, "said": said(), "left": os.listdir("/sys/kernel/tracing/instances")})


try:
    main()
finally:
    tell("end", True)
