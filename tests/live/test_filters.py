#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Filters of rules, over eBPF and over ftrace: control groups, hosts, disks, interfaces and the other ends of packets that
# this test makes itself, so that it knows which waits are meant. LULL_TEST_FILTERS=1 also tests histograms, and groups that are made anew.
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from lib.busy import busy_cpus
from lib.running import Running
from live.tracked import INSTANCES, LULL, PROGRAM, own_instances, wait_attached, why_no_ftrace, why_not
from tap import Tap

MS = 1_000_000
NAME = f"lull-test-{os.getpid()}"
GROUP = NAME + "-of-several-hierarchies-the-longest-path-counts" * 2
IS_LONG = bool(os.environ.get("LULL_TEST_FILTERS"))
tap = Tap()


def run(*command, **options):
    return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True, **options).stdout


class Watched:
    """`lull track` of all tasks while a block runs."""

    def __init__(self, backend, *arguments):
        self.out = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would hold it up
        self.process = subprocess.Popen([LULL, "track", "--json", "--backend", backend, "--max-overhead", "100%", *arguments],
                                        stdout=self.out, stderr=subprocess.PIPE, text=True)
        self.backend, self.alarms, self.histograms, self.summary = backend, [], None, None

    def has_begun(self):
        with contextlib.suppress(OSError):
            for name in own_instances(self.process.pid):
                with open(os.path.join(INSTANCES, name, "tracing_on"), encoding="utf-8") as file:
                    return file.read().strip() == "1"
        return False

    def __enter__(self):
        end = time.monotonic() + 30
        if self.backend == "bpf":
            wait_attached(self.process)
        while self.backend == "ftrace" and time.monotonic() < end and not self.has_begun():
            time.sleep(0.02)
        return self

    def __exit__(self, kind, *_):
        time.sleep(0.1)
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=60)
        if kind:
            return
        if self.process.returncode or err:
            raise RuntimeError(f"exit {self.process.returncode}: {err}")
        self.out.seek(0)
        for line in map(json.loads, self.out):
            self.histograms = line.get("histograms", self.histograms)
            self.summary = line.get("summary")
            self.alarms += [line] if "rule" in line else []

    def of(self, rule, tid=None):
        return [alarm for alarm in self.alarms if alarm["rule"] == rule and tid in (None, alarm["task"]["tid"])]


# ---- control groups and hosts ----

def mounts():
    """Where version 2 of control groups is, and version 1 that manages CPU time."""
    found = {}
    with open("/proc/mounts", encoding="utf-8") as file:
        for _, where, kind, options, *_ in map(str.split, file):
            if kind == "cgroup2":
                found.setdefault("version 2", where)
            elif kind == "cgroup" and "cpu" in options.split(","):
                found.setdefault("version 1", where)
    return found


@contextlib.contextmanager
def group(mount):
    folder = os.path.join(mount, GROUP)
    os.mkdir(folder)
    try:
        yield folder
    finally:
        for _ in range(100):
            try:
                os.rmdir(folder)
                break
            except OSError:  # who was in it has not quite ended
                time.sleep(0.02)


def sleep_in(folder, n, ms):
    """A process in that group, or in the test's own, sleeps so often, and ends at once. Its tid."""
    def enter():
        if folder:
            with open(os.path.join(folder, "cgroup.procs"), "w", encoding="utf-8") as file:
                file.write("0")

    with tempfile.NamedTemporaryFile() as stamps:
        run(PROGRAM, stamps.name, "sleeps", str(n), str(ms * MS), preexec_fn=enter)
        return int(stamps.readline().split()[0])


GROUP_RULES = [f'offcpu(S): comm == "live-waits" && cgroup {test} > 9ms' for test in (f'== "/{GROUP}"', f'=~ "/{GROUP[:-1]}*"', f'!= "/{GROUP}"')]


def use_groups(folders):
    """Processes in a group of each version, and in none: their tids."""
    tids = [sleep_in(folder, 4, 20) for folder in folders]
    for mount in mounts().values() if IS_LONG else ():
        with group(mount) as folder:
            time.sleep(1)  # until its number is known
            tids.append(sleep_in(folder, 4, 20))
    return [*tids, sleep_in(None, 4, 20)]


def counts_of(watched, tids):
    return [[len(watched.of(rule, tid)) for rule in GROUP_RULES] for tid in tids]


def counted_in(tids):
    return [[4, 4, 0]] * (len(tids) - 1) + [[0, 0, 4]]


def check_groups(watched, tids):
    """Waits of a process in a group, by its path, by a pattern, and of all others."""
    counts = counts_of(watched, tids)
    tap.ok(counts == counted_in(tids), f"{watched.backend}: just the waits of tasks in the group", counts, watched.summary)
    named = {alarm["task"]["cgroup"] for tid in tids for rule in GROUP_RULES[:2] for alarm in watched.of(rule, tid)}
    tap.ok(named == {f"/{GROUP}"}, f"{watched.backend}: its path is said", named)


def test_counted(backend):
    """What is counted by length is so in the group alone, and on this host alone."""
    mount = next(iter(mounts().values()))
    tests = [f'cgroup == "/{GROUP}"', f'host == "{socket.gethostname()}"', 'host == "no such host"', f'cgroup == "/{GROUP}" && host != "x"',
             'cgroup == "/no/such/group"']
    with group(mount) as folder, Watched(backend, "--hist", *(f'offcpu(S): comm == "live-waits" && {test}' for test in tests)) as watched:
        sleep_in(folder, 5, 80)
        sleep_in(None, 5, 80)
    counts = [sum(one["n"][16:]) for one in watched.histograms]  # longer than 32 ms
    tap.ok(counts == [5, 10, 0, 5, 0], f"{backend}: histograms have what the filter holds for", counts)


# ---- disks ----

def reads_of(disk):
    with open(f"/sys/block/{disk}/stat", encoding="ascii") as file:
        return int(file.read().split()[0])


@contextlib.contextmanager
def loop_device(file):
    """A disk made of a file; None if this machine makes none."""
    file.truncate(1 << 20)
    try:
        loop = run("losetup", "--find", "--show", file.name).strip()
    except (OSError, subprocess.CalledProcessError) as why:
        tap.skip("a disk of its own", str(why))
        yield None
        return
    try:
        yield os.path.basename(loop)
    finally:
        run("losetup", "--detach", loop)


def disk_rules(disk):
    return [f'block: disk == "{disk}" && rw == "read" > 0ns', f'block: disk != "{disk}" > 0ns',
            'offcpu: comm == "live-waits" && disk != "none" && rw == "read" > 0ns']


def use_disks(disk):
    """Reads of that disk, and of another: how many the kernel counted of the first."""
    before = reads_of(disk)
    run("dd", f"if=/dev/{disk}", "of=/dev/null", "bs=4k", "count=32", "iflag=direct")
    reads = reads_of(disk) - before
    with tempfile.TemporaryDirectory(dir=".") as folder:
        run(PROGRAM, "/dev/null", "disk", f"{folder}/file", "20")
    return reads


def check_disks(watched, disk, reads):
    own, others, waits = map(watched.of, disk_rules(disk))
    tap.ok(reads >= 32 and len(own) == reads and {a["object"]["detail"] for a in own} == {f"disk {disk} (read)"},
           f"{watched.backend}: as many reads of the disk as the kernel counts", reads, len(own), own[:1])
    tap.ok(others and all(disk not in a["object"]["detail"] for a in others), f"{watched.backend}: requests to other disks", others[:1])
    tap.ok(waits and all(a["chain"][0]["kind"] == "disk" for a in waits), f"{watched.backend}: waits that a disk ended", waits[:1])


# ---- packets ----

PACKET_RULES = [f'offcpu: comm == "receiver" && {test} > 5ms' for test in ('raddr == "127.0.0.1" && lport > 0', 'raddr != "127.0.0.1" || rport == 1')]


def check_packets(watched):
    """Waits that a packet from an address ended."""
    counts = [len(watched.of(rule)) for rule in PACKET_RULES]
    tap.ok(counts[0] >= 4 and counts[1] == 0, f"{watched.backend}: the address and the ports are those of the packet", counts, watched.summary)


def test_all(backend, tries=4):
    with tempfile.NamedTemporaryFile(dir=".") as file, loop_device(file) as disk:
        rules = disk_rules(disk) if disk else []
        with contextlib.ExitStack() as stack:
            folders = [] if IS_LONG else [stack.enter_context(group(mount)) for mount in mounts().values()]
            stack.enter_context(busy_cpus())
            watched = stack.enter_context(Watched(backend, *rules, *GROUP_RULES, *PACKET_RULES))
            tids = use_groups(folders)
            reads = use_disks(disk) if disk else 0
            run(PROGRAM, "/dev/null", "socket", "15", "5")
    if (watched.summary["unseen"] or watched.summary["limited"]) and tries and counts_of(watched, tids) != counted_in(tids):
        test_all(backend, tries - 1)  # the machine is busy, or its kernel hides switches
        return
    check_groups(watched, tids)
    check_packets(watched)
    if disk:
        check_disks(watched, disk, reads)


SERVER = """
import socket
one = socket.create_server(("10.213.7.2", 5432))
print("ready", flush=True)
peer = one.accept()[0]
for _ in range(10):
    peer.sendall(peer.recv(100))
"""
CLIENT = """
import socket
one = socket.create_connection(("10.213.7.2", 5432), 10)
for _ in range(10):
    one.sendall(b"x")
    one.recv(100)
"""


def test_interfaces(backend):
    """Packets between two interfaces, each in a namespace of its own."""
    if backend == "ftrace" or not shutil.which("ip"):
        return
    spaces, ends = [f"{NAME}-{i}" for i in "ab"], [f"lt{os.getpid() % 100000}{i}" for i in "ab"]
    made = []
    try:
        for space in spaces:
            run("ip", "netns", "add", space)
            made.append(space)
        run("ip", "link", "add", ends[0], "netns", spaces[0], "type", "veth", "peer", "name", ends[1], "netns", spaces[1])
        for space, end, address in zip(spaces, ends, ("10.213.7.1/24", "10.213.7.2/24")):
            run("ip", "-n", space, "address", "add", address, "dev", end)
            run("ip", "-n", space, "link", "set", end, "up")
        rules = [f'{kind}: iface == "{end}" > 0ns' for kind in ("netrx", "nettx") for end in (*ends, "none")]
        with Watched(backend, *rules) as watched, \
                Running(["ip", "netns", "exec", spaces[1], sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
            server.stdout.readline()
            run("ip", "netns", "exec", spaces[0], sys.executable, "-c", CLIENT)
            server.wait(20)
    except (OSError, subprocess.CalledProcessError) as why:
        tap.skip("bpf: interfaces", f"no network namespaces: {why}")
        return
    finally:
        for space in made:
            run("ip", "netns", "delete", space)
    found = [watched.of(rule) for rule in rules]
    counts = list(map(len, found))
    tap.ok(counts[0] == counts[1] == 10 and counts[2] == counts[5] == 0 and min(counts[3:5]) >= 10, "bpf: each end reads ten packets, and sends more",
           counts, watched.summary)
    tap.ok(all(a["object"]["detail"] == f"a packet of interface {end}" for of, end in zip(found[:2], ends) for a in of), "bpf: of that interface", found[0][:1])


def main():
    os.nice(-20)  # what else runs on the machine is not what is tested
    for backend, reason in (("bpf", why_not()), ("ftrace", why_no_ftrace())):
        if reason:
            tap.skip(f"filters over {backend}", reason)
            continue
        for test in (test_all, test_interfaces) + ((test_counted,) if IS_LONG else ()):
            tap.run(f"{backend}: {test.__name__}", test, backend)
    return tap.done()


sys.exit(main())
