#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The state that a recording begins with: what /proc says of processes that were started for it must be in the trace,
# and Babeltrace must read the trace as Lull does. Arguments: the program write_state.
import contextlib
import ctypes
import ipaddress
import json
import mmap
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from tap import Tap

LULL = os.environ["LULL"]
WRITE_STATE = sys.argv[1]
FIRST_PID_NAMESPACE = 0xEFFFFFFC
NAME = "a) S 1 (b"  # as hostile as a name of 15 bytes can be
tap = Tap()


def set_name(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


def be_looked_at(directory):
    """A process that does known things until its input ends; tells what they are as JSON."""
    told = {"pid": os.getpid()}

    def wait():
        set_name("a thread")
        told["tid"] = threading.get_native_id()
        ready.set()
        forever.wait()

    ready, forever = threading.Event(), threading.Event()
    threading.Thread(target=wait, daemon=True).start()
    ready.wait()
    set_name(NAME)
    path = os.path.join(directory, "file\nof two lines")
    told["file"] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    told["kept"] = os.dup2(told["file"], 200)  # without O_CLOEXEC
    told["path"] = path
    os.write(told["file"], b"x")
    told["mapped"] = os.path.join(directory, "mapped")
    with open(told["mapped"], "w+b") as file:
        file.write(bytes(8192))
        file.flush()
        parts = [mmap.mmap(file.fileno(), 4096, offset=at) for at in (0, 4096)]  # noqa: F841 - stay in memory
    told["peers"] = []
    kept = []
    for family, kind, host in ((socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"), (socket.AF_INET6, socket.SOCK_STREAM, "::1"), (socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1")):
        with contextlib.suppress(OSError):  # without IPv6
            server, client = socket.socket(family, kind), socket.socket(family, kind)
            server.bind((host, 0))
            if kind == socket.SOCK_STREAM:
                server.listen()
            client.connect(server.getsockname())
            kept += [server, client]
            told["peers"] += [(server.fileno(), *server.getsockname()[:2], kind), (client.fileno(), *client.getpeername()[:2], kind)]
            if kind == socket.SOCK_STREAM:
                accepted, address = server.accept()
                kept.append(accepted)
                told["peers"].append((accepted.fileno(), *address[:2], kind))
    path = os.path.join(directory, "unix socket")
    server, client, _ = (socket.socket(socket.AF_UNIX) for _ in range(3))
    server.bind(path)
    server.listen()
    client.connect(path)
    accepted, _ = server.accept()
    pair = socket.socketpair()
    kept += [server, client, accepted, *pair]
    told["unix"] = [path, [server.fileno(), client.fileno(), accepted.fileno()]]
    told["pipe"], _ = os.pipe()
    end = socket.socket(socket.AF_UNIX)
    told["socket"] = end.fileno()
    told["zombie"] = os.fork()
    if told["zombie"] == 0:
        os._exit(0)
    os.waitid(os.P_PID, told["zombie"], os.WEXITED | os.WNOWAIT)
    print(json.dumps(told), flush=True)
    sys.stdin.read()


def write_state(path, *, offset=0, **how):
    return subprocess.run([WRITE_STATE, path, str(offset)], capture_output=True, text=True, check=False, timeout=60,
                          **how)


def events_of(path):
    done = subprocess.run([LULL, "print", "--json", path], capture_output=True, check=False, timeout=60)
    return [json.loads(line) for line in done.stdout.decode(errors="surrogateescape").splitlines()]


def named(events, name):
    return [e["fields"] for e in events if e["name"] == "lttng_statedump_" + name]


def check_tasks(events, told):
    tasks = {task["tid"]: task for task in named(events, "process_state")}
    leader, thread, zombie = (tasks.get(told[key], {}) for key in ("pid", "tid", "zombie"))
    tap.ok(leader.get("name") == NAME, "a name with brackets in it is that of its task", leader)
    tap.ok((leader.get("pid"), leader.get("ppid"), leader.get("status")) == (told["pid"], os.getpid(), 5),
           "a process that waits has its parent, and waits", leader)
    tap.ok((thread.get("name"), thread.get("pid"), thread.get("status")) == ("a thread", told["pid"], 5),
           "a thread is one of its process", thread)
    tap.ok(leader.get("file_table_address") == thread.get("file_table_address"),
           "both have the same descriptors", leader, thread)
    tap.ok(zombie.get("status") == 4 and zombie.get("ppid") == told["pid"], "what has ended is a zombie", zombie)
    nice = os.nice(0)  # which a child has too
    tap.ok(leader.get("prio") == 120 + nice, "priorities are the kernel's", leader)
    # ftrace and LTTng write the kernel's name of a worker, which is not longer and has no description behind it.
    workers = [task["name"] for task in tasks.values() if re.match(r"kworker/[0-9u]", task["name"])]
    tap.ok(not any("+" in name or "-" in name for name in workers), "workers have their name alone", workers)
    return leader.get("file_table_address")


def check_files(events, told, table):
    files = {e["fd"]: e for e in named(events, "file_descriptor") if e["file_table_address"] == table}
    file, kept = files.get(told["file"], {}), files.get(told["kept"], {})
    tap.ok(file.get("filename") == told["path"], "a descriptor has the path of its file", file)
    mask = os.O_ACCMODE | os.O_APPEND | os.O_CLOEXEC
    tap.ok(file.get("flags", 0) & mask == os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, "and its flags", file)
    tap.ok(kept.get("flags", 0) & mask == os.O_RDWR | os.O_APPEND and kept.get("filename") == told["path"],
           "a copy of it is kept by exec", kept)
    tap.ok(re.fullmatch(r"pipe:\[\d+\]", files.get(told["pipe"], {}).get("filename", "")),
           "a pipe is called as the kernel calls it", files)
    tap.ok(re.fullmatch(r"socket:\[\d+\]", files.get(told["socket"], {}).get("filename", "")),
           "a socket likewise", files)


def check_peers(events, told, table):
    found, named = {}, {}
    for peer in [e["fields"] for e in events if e["name"] == "lull_statedump_peer" and e["fields"]["file_table_address"] == table]:
        raw = (peer["address_high"].to_bytes(8, "big") + peer["address_low"].to_bytes(8, "big"))[:4 if peer["family"] == socket.AF_INET else 16]
        if peer["family"] == socket.AF_UNIX:
            named[peer["fd"]] = peer["path"]
            continue
        found[peer["fd"]] = (str(ipaddress.ip_address(raw)), peer["port"], bool(peer["is_datagram"]))
    expected = {fd: (host, port, kind == socket.SOCK_DGRAM) for fd, host, port, kind in told["peers"]}
    tap.ok(expected and found == expected, "sockets have their peers, or else their own address", found, expected)
    path, fds = told["unix"]
    tap.ok(named == dict.fromkeys(fds, path), "of unix sockets one end is bound to a path, which is that of both", named, told["unix"])


def check_mapped(events, told):
    found = [e["fields"] for e in events if e["name"] == "lull_mapped_file"]
    numbers = [(file["dev"], file["inode"]) for file in found]
    tap.ok(len(numbers) == len(set(numbers)), "each file in memory is there once", found)
    for path in told["mapped"], os.path.realpath(sys.executable):
        known = os.stat(path)
        same = [file for file in found if file["path"] == path]
        tap.ok([file["inode"] for file in same] == [known.st_ino], "a file in memory has its number", path, known, same)
        # Where a file system has numbers of its own for devices, as btrfs has, stat() says another than the kernel's events.
        with open("/proc/self/mountinfo", encoding="ascii") as mounts:
            is_real = any(line.split()[2] == f"{os.major(known.st_dev)}:{os.minor(known.st_dev)}" and " - btrfs " not in line for line in mounts)
        if is_real:
            tap.ok(same[0]["dev"] == os.major(known.st_dev) << 20 | os.minor(known.st_dev), "and its device, as the kernel numbers it", same, known)


def check_machine(events):
    with open("/proc/partitions", encoding="ascii") as file:
        rows = [line.split() for line in file.read().splitlines()[2:]]
    disks = {row[3]: int(row[0]) << 20 | int(row[1]) for row in rows}
    found = {e["diskname"]: e["dev"] for e in named(events, "block_device")}
    tap.ok(disks.items() <= found.items(), "disks have the kernel's numbers", disks, found)
    names = {name for _, name in socket.if_nameindex()}
    interfaces = {e["name"]: e["address_ipv4"] for e in named(events, "network_interface")}
    tap.ok(names <= set(interfaces), "all network interfaces are there", names, interfaces)
    tap.ok(interfaces.get("lo", 0x7F000001) in (0x7F000001, 0), "loopback has its address", interfaces)
    cpus = {e["cpu_id"] for e in named(events, "cpu_topology")}
    tap.ok(os.sched_getaffinity(0) <= cpus, "the CPUs we may run on are there", cpus)


def check_times(events, before, after):
    times = [e["time_ns"] for e in events]
    tap.ok(times == sorted(times) and times and before <= times[0] and times[-1] <= after,
           "times are those of CLOCK_MONOTONIC, in order", before, after, times[:1], times[-1:])
    tap.ok(events[0]["name"] == "lttng_statedump_start" and events[-1]["name"] == "lttng_statedump_end",
           "start and end are marked")


def check_babeltrace(path, events):
    if shutil.which("babeltrace2") is None:
        tap.skip("Babeltrace reads it", "babeltrace2 is not installed")
        return
    done = subprocess.run(["babeltrace2", "--no-delta", "--clock-seconds", path], capture_output=True, check=False,
                          timeout=60)
    names = re.findall(r"^\[[0-9.]+\] \S+ ((?:lttng_statedump|lull)_\w+): ", done.stdout.decode(errors="replace"), re.MULTILINE)
    tap.ok(done.returncode == 0 and not done.stderr, "Babeltrace reads it without complaint", done.stderr)
    tap.ok(names == [e["name"] for e in events], "and sees the same events", len(names), len(events))


def check_state(directory):
    path = os.path.join(directory, "state")
    offset = 10**18
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), WRITE_STATE, directory],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    told = json.loads(child.stdout.readline())
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset
    done = write_state(path, offset=offset)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset
    child.communicate()
    tap.ok(done.returncode == 0 and not done.stderr, "the state is written", done.stderr)
    events = events_of(path)
    check_times(events, before, after)
    check_babeltrace(path, events)
    check_machine(events)
    if os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        tap.ok(not named(events, "process_state"), "tasks that tracers number otherwise are left out")
        tap.skip("tasks and files", "this is not the first pid namespace, so tasks are left out")
        return
    table = check_tasks(events, told)
    check_files(events, told, table)
    check_peers(events, told, table)
    check_mapped(events, told)


def check_failures(directory):
    path = os.path.join(directory, "there")
    os.mkdir(path)
    done = write_state(path)
    tap.ok(done.returncode == 1 and path in done.stderr and "exists" in done.stderr,
           "a directory that is there is left alone", done.stderr)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    path = os.path.join(directory, "small")
    done = write_state(path, preexec_fn=limit, restore_signals=False)
    tap.ok(done.returncode == 1 and "cannot write" in done.stderr and path in done.stderr,
           "what cannot be written is an error", done.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="lull-state-") as directory:
        tap.run("state", check_state, directory)
        tap.run("failures", check_failures, directory)
    return tap.done()


if len(sys.argv) > 2:
    be_looked_at(sys.argv[2])
else:
    sys.exit(main())
