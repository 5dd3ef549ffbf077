# SPDX-License-Identifier: MIT
# `lull track` of a program that a test starts: what it reported, and what the program says that happened.
import collections
import contextlib
import ctypes
import errno
import json
import os
import subprocess
import tempfile
import time

LULL = os.environ["LULL"]
PROGRAM = os.path.join(os.environ["LULL_PROGRAMS"], "live-waits")
BACKEND = os.environ.get("LULL_LIVE_BACKEND", "bpf")  # what watches: "ftrace" instead, if the tests are to be run over that
INSTANCES = "/sys/kernel/tracing/instances"
BPF_MAP_CREATE, SYS_BPF = 0, {"x86_64": 321, "aarch64": 280}

Stamp = collections.namedtuple("Stamp", "tid label before after lost")


def why_not():
    """Why this machine cannot track, or None. Asked of the kernel, not of Lull."""
    number = SYS_BPF.get(os.uname().machine)
    if number is None:
        return "the number of bpf() is not known here"
    listed = subprocess.run([LULL, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    if "live tracking (libbpf " not in listed:
        return "this lull was built without live tracking"
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint32 * 32)(2, 4, 8, 1)  # an array of one number
    fd = libc.syscall(number, BPF_MAP_CREATE, ctypes.byref(attributes), 128)
    if fd < 0:
        return f"bpf(): {os.strerror(ctypes.get_errno())} ({errno.errorcode.get(ctypes.get_errno())})"
    os.close(fd)
    if os.geteuid() != 0:
        return "only root may attach to tracepoints"
    return None if os.path.exists("/sys/kernel/btf/vmlinux") else "the kernel has no BTF"


def why_no_ftrace():
    """Why this machine cannot be tracked over ftrace, or None. Asked of the kernel, not of Lull."""
    listed = subprocess.run([LULL, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    if "recording with ftrace (libtracefs " not in listed or "ftrace (libtraceevent " not in listed:
        return "this lull was built without ftrace"
    if os.geteuid() != 0:
        return "only root may use tracefs"
    return None if os.access(INSTANCES, os.W_OK) else "no tracefs, or no right to write there"


def why_no_recorder():
    """Why nothing can record this machine, or None: what the kernel's own tracers record is chosen in tracefs, also for perf."""
    if os.geteuid() != 0:
        return "recording takes root"
    return None if os.path.isdir("/sys/kernel/tracing/events") else \
        "no tracefs is mounted: mount -t tracefs nodev /sys/kernel/tracing"


def own_instances(pid):
    """Of tracefs, that this process has made."""
    return [name for name in os.listdir(INSTANCES) if name.startswith(f"lull-{pid}-")]


def is_recording(pid):
    """Whether an instance that this process has made records switches. It is there before its files are: they come one after the other."""
    for name in own_instances(pid):
        with contextlib.suppress(OSError), open(f"{INSTANCES}/{name}/tracing_on", encoding="ascii") as switch, \
                open(f"{INSTANCES}/{name}/events/sched/sched_switch/enable", encoding="ascii") as event:
            if switch.read() == "1\n" and event.read()[0] == "1":
                return True
    return False


def wait_recording(process, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and not is_recording(process.pid):
        time.sleep(0.01)


def has_event(name):
    """Whether the kernel's own types name that tracepoint."""
    with open("/sys/kernel/btf/vmlinux", "rb") as file:
        return f"btf_trace_{name}\0".encode() in file.read()


def lull_track(*arguments, timeout=60):
    done = subprocess.run([LULL, "track", "--backend", BACKEND, *arguments], capture_output=True, text=True, check=False, timeout=timeout,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"lull track {arguments}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def wait_attached(process, seconds=30):
    """Until a process that tracks has attached all its programs: there are some, and no more come."""
    before, since, end = 0, time.monotonic(), time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        names = []
        with contextlib.suppress(OSError):  # it closes files meanwhile
            for entry in os.scandir(f"/proc/{process.pid}/fd"):
                names.append(os.readlink(entry.path))
        links = sum("bpf_link" in name or "bpf-link" in name or "perf_event" in name for name in names)
        if links != before:
            before, since = links, time.monotonic()
        elif links and time.monotonic() - since > 0.4:
            return True
        time.sleep(0.02)
    return False


class Hidden(Exception):
    """This kernel hides switches and wake-ups of some tasks, so it cannot be said when or by whom a wait ended."""


def track(rules, *what):
    """The alarms of the program, the summary, and the program's stamps."""
    for _ in range(5):
        alarms, summary, stamps = track_once(rules, *what)
        if not summary["unseen"] and not summary["unknown_wakers"]:
            return alarms, summary, stamps
    raise Hidden(f"this kernel hides switches: {summary}")


def track_once(rules, *what, overhead="100%"):
    """The same, whatever the kernel hides."""
    with tempfile.TemporaryDirectory() as folder:
        stamps = os.path.join(folder, "stamps")
        lines = lull_track("--json", "--max-overhead", overhead, *rules, "--", PROGRAM, stamps, *map(str, what)).splitlines()
        with open(stamps, encoding="utf-8") as file:
            fields = [line.split() for line in file]
    *alarms, last = map(json.loads, lines)
    return alarms, last["summary"], [Stamp(int(f[0]), f[1], int(f[2]), int(f[3]), int(f[4])) for f in fields]


def inside(alarm, stamp):
    """That task's wait, between these two stamps."""
    end = alarm["monotonic_ns"]
    return alarm["task"]["tid"] == stamp.tid and stamp.before <= end - alarm["delay_ns"] and end <= stamp.after


def names(alarm):
    """The chain: names of tasks, or kinds of interrupts."""
    return [part["task"]["comm"] if part["task"] else part["kind"] for part in alarm["chain"]]


def counted(path):
    """All softirqs, or all interrupts of lines with numbers, that the kernel has counted."""
    with open(path, encoding="utf-8") as file:
        cpus, *lines = file.read().splitlines()
    rows = [line.split()[1:len(cpus.split()) + 1] for line in lines if path == "/proc/softirqs" or line.split()[0][:-1].isdigit()]
    return sum(int(number) for row in rows for number in row)
