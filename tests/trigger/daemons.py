# SPDX-License-Identifier: MIT
# A `lull daemon` of a test's own, what it says and counts, and what is left of it.
import glob
import os
import socket
import subprocess
import time
import urllib.request

from live.tracked import LULL, why_no_recorder, why_not


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    return what()


def why_no_daemon():
    """Why this machine cannot run one that watches waits, or None."""
    return why_no_recorder() or why_not()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, directory, rules, limits="", more="", prefix=()):
        self.sets, self.hook = os.path.join(directory, "sets"), os.path.join(directory, "run", "hook")
        self.port, self.config = free_port(), os.path.join(directory, "lulld.conf")
        with open(self.config, "w") as file:
            file.write(f"[daemon]\nsnapshots={self.sets}\nhook={self.hook}\nmetrics=127.0.0.1:{self.port}\nbuffer=2M\n{more}\n"
                       f"[limits]\nfree=0%\n{limits}\n{rules}\n")
        self.log = open(os.path.join(directory, "log"), "w+")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(directory, "notify"))
        self.notify.settimeout(0.1)
        self.ready = None
        self.process = subprocess.Popen([*prefix, LULL, "daemon", "--config", self.config], stderr=self.log, stdin=subprocess.DEVNULL,
                                        env={**os.environ, "NOTIFY_SOCKET": os.path.join(directory, "notify"),
                                             "SUDO_UID": "65534", "SUDO_GID": "65534"})
        wait_for(lambda: self.hears() or self.process.poll() is not None, 60)  # the kernel takes long to load programs if it is busy
        self.notify.settimeout(20)

    def hears(self):
        """Whether it has said that it is ready. Who has ended may have said so before."""
        try:
            self.ready = self.notify.recv(100)
        except TimeoutError:
            return False
        return True

    def said(self):
        with open(self.log.name) as file:
            return file.read()

    def written(self):
        return sorted(path for path in glob.glob(self.sets + "/*") if not path.endswith(".part"))

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def counts(self):
        return dict(line.rsplit(" ", 1) for line in self.metrics()[1].splitlines() if not line.startswith("#"))

    def send(self, line):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.sendto(line.encode(), self.hook)

    def trigger(self, *arguments):
        return subprocess.run([LULL, "trigger", "--socket", self.hook, *arguments], capture_output=True, text=True, timeout=60)

    def family(self):
        """The daemon and its processes, by what they do."""
        of = {child: status(child) for child in children(self.process.pid)}
        commands = next((pid for pid, state in of.items() if state.get("Name") == "lull-commands"), None)
        speaker = next((pid for pid, state in of.items() if state.get("NoNewPrivs") == "1" and pid != commands), None)
        guard = next((pid for pid in of if pid not in (speaker, commands) and children(pid)), None)
        return {"daemon": self.process.pid, "speaker": speaker, "guard": guard, "keeper": (children(guard) or [None])[0] if guard else None,
                "commands": commands, "all": list(of)}

    def stop(self):
        self.process.terminate()
        return self.process.wait(20)


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return list(map(int, found.stdout.split()))


def status(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


def left_of(daemon):
    """Processes, files and tracing instances of a daemon; eBPF programs end with the processes that hold them."""
    left = [name for name in os.listdir("/sys/kernel/tracing/instances") if str(daemon.process.pid) in name.split("-")]
    left += [path for path in (daemon.hook, f"/run/lull/{daemon.process.pid}") if os.path.exists(path)]
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as file:
                left += [path] if daemon.config in file.read().split("\0") else []
        except OSError:
            pass
    return left


def lull(*arguments):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=60)
