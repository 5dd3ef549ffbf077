# SPDX-License-Identifier: MIT
# Machines, as far as the network is concerned: network namespaces of a test's own, each with a `lull daemon` and programs.
import glob
import json
import os
import shutil
import subprocess
import sys

from live.tracked import LULL, why_no_recorder
from trigger.daemons import wait_for

ADDRESS = {"web": "10.9.0.1", "app": "10.9.0.2", "db": "10.9.0.3", "pool": "10.9.0.4", "dns": "10.9.0.5", "root": "10.9.0.6"}


class Machine:
    """A network namespace, its daemon, and a program."""

    def __init__(self, directory, name):
        self.name, self.directory = name, os.path.join(directory, name)
        os.mkdir(self.directory)
        self.sets, self.hook = os.path.join(self.directory, "sets"), os.path.join(self.directory, "hook")
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self.programs, self.daemon, self.log = [], None, os.path.join(self.directory, "log")
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own)
        self.ip("link", "set", "lo", "up")

    def inside(self, *command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *command]

    def ip(self, *arguments):
        subprocess.run(self.inside("ip", *arguments), check=True)

    def link(self, other):
        here, there = f"lull-{other.name}", f"lull-{self.name}"
        self.ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", str(other.holder.pid))
        for machine, device, peer in (self, here, other), (other, there, self):
            machine.ip("addr", "add", ADDRESS[machine.name], "peer", ADDRESS[peer.name], "dev", device)
            machine.ip("link", "set", device, "up")

    def run(self, program, *arguments):
        process = subprocess.Popen(self.inside(sys.executable, "-c", program, *map(str, arguments)), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.programs.append(process)
        process.stdout.readline()  # it is ready
        return process

    def start(self, key, limits="", recorded="buffer=2M\npurpose=sched"):
        config = os.path.join(self.directory, "lulld.conf")
        with open(config, "w") as file:
            file.write(f"[daemon]\nsnapshots={self.sets}\nhook={self.hook}\n{recorded}\nkey={key}\n"
                       f"listen={ADDRESS[self.name]}:5447\npeers=10.9.0.0/24\n[limits]\nfree=0%\n{limits}\n[rule slow]\nslower=200ms\n")
        with open(self.log, "w") as log:
            self.daemon = subprocess.Popen(self.inside(LULL, "daemon", "--config", config), stderr=log, stdin=subprocess.DEVNULL)

    def said(self):
        with open(self.log) as log:
            return log.read()

    def is_ready(self):
        return "ready" in self.said() or self.daemon.poll() is not None

    def written(self):
        return sorted(os.path.basename(path) for path in glob.glob(self.sets + "/*") if not path.endswith(".part"))

    def trigger(self, name):
        with open(os.path.join(self.sets, name, "recording.json")) as file:
            return json.load(file)["trigger"]

    def machines(self, name):
        try:
            with open(os.path.join(self.sets, name, "machines")) as file:
                return file.read().splitlines()
        except OSError:
            return []

    def stop(self):
        code = self.daemon.wait(30) if self.daemon else None
        for process in self.programs + [self.holder]:
            process.kill()
            process.wait()
        return code


def why_not():
    if why_no_recorder():
        return why_no_recorder()
    if not all(map(shutil.which, ("ip", "nsenter", "unshare"))):
        return "it takes ip, nsenter and unshare"
    made = subprocess.run(["unshare", "--net", "ip", "link", "add", "lull-a", "type", "veth", "peer", "name", "lull-b"],
                          capture_output=True, text=True)
    return made.stderr.strip() if made.returncode else None
