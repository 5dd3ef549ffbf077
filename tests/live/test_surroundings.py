#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Live tracking where something is missing: what the kernel does not describe or have, rights, room on the terminal. One line says what is
# missing, and `lull top` goes on as well as it can.
import ctypes
import errno
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from lib.running import Running
from live.tracked import LULL, has_event, wait_attached, why_no_ftrace, why_not
from tap import Tap

BTF = "/sys/kernel/btf/vmlinux"
tap = Tap()


def run(*arguments, prefix=(), **environment):
    return subprocess.run([*prefix, LULL, *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})


def is_one_line(done, said):
    return done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1 and said in done.stderr


def mounted(command):
    """In a mount namespace of its own, after that command; None: not allowed here."""
    prefix = ["unshare", "--mount", "sh", "-c", f'{command} && exec "$@"', "sh"]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=60).returncode == 0 else None


def test_no_types():
    prefix = mounted("mount -t tmpfs none /sys/kernel/btf")
    if not prefix:
        tap.skip("no BTF", "no mounts in a namespace here")
        return
    done = run("track", "--backend", "bpf", "offcpu > 1s", prefix=prefix)
    tap.ok(is_one_line(done, "no /sys/kernel/btf/vmlinux"), "lull track: one line", done)
    done = run("track", "--list", "--backend", "bpf", prefix=prefix)
    tap.ok(is_one_line(done, "no /sys/kernel/btf/vmlinux"), "lull track --list", done)
    done = run("top", "--once", "--interval", "200ms", prefix=prefix)
    tap.ok(done.returncode == 0 and not done.stderr and re.search(r"^by (poll|ftrace), .*\n^no bpf: the kernel does not describe its types", done.stdout, re.M),
           "lull top goes on without", done)


def test_no_tracepoint():
    """A kernel whose types do not name some tracepoints: what needs them is missing, and nothing else."""
    with open(BTF, "rb") as file:
        types = file.read()
    for name in b"contention_begin", b"tcp_probe", b"irq_work_entry":
        types = types.replace(b"btf_trace_" + name + b"\0", b"btf_trace_" + name[:-1] + b"#\0")
    with tempfile.NamedTemporaryFile() as other:
        other.write(types)
        other.flush()
        prefix = mounted(f"mount --bind {other.name} {BTF}")
        if not prefix:
            tap.skip("no tracepoint", "no mounts in a namespace here")
            return
        done = run("track", "lock > 1s", prefix=prefix)
        tap.ok(is_one_line(done, "the kernel has no tracepoint contention_begin"), "a rule that needs one", done)
        done = run("track", "--list", prefix=prefix)
        lines = [line for line in done.stdout.splitlines() if "no: no tracepoint" in line]
        tap.ok(done.returncode == 0 and len(lines) == 1 and lines[0].startswith("lock"), "the list says which", done)
        done = run("track", "offcpu > 1ms", "--duration", "300ms", prefix=prefix)
        tap.ok(done.returncode == 0 and " alarm" in done.stdout.splitlines()[-1], "other rules do without", done)


def test_no_uprobes():
    prefix = mounted("mount -t tmpfs none /sys/bus/event_source/devices")
    if not prefix:
        tap.skip("no uprobes", "no mounts in a namespace here")
        return
    done = run("track", "mark(checkout) > 1s", prefix=prefix)
    tap.ok(is_one_line(done, "no uprobes") and "lull trigger --slower" in done.stderr, "marks: one line, which says what to do instead", done)
    lines = [line for line in run("track", "--list", prefix=prefix).stdout.splitlines() if "no: no uprobe" in line]
    tap.ok(len(lines) == 1 and lines[0].startswith("mark"), "the list says it", lines)


def written(disk):
    with open(f"/sys/block/{disk}/stat", encoding="ascii") as file:
        return int(file.read().split()[4])


def queued(path, disk, scheduler):
    """With that scheduler: what is said of a rule about the queue, the requests that it sees, and those that the kernel counts."""
    with open(f"/sys/block/{disk}/queue/scheduler", "w", encoding="ascii") as file:
        file.write(scheduler)
    with Running([LULL, "track", "--hist", "--json", f"queue({disk})", f"block({disk})"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as track:
        wait_attached(track)
        before = written(disk)
        subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=4k", "count=200", "oflag=direct", "status=none"], check=True, timeout=60)
        n = written(disk) - before
        track.send_signal(signal.SIGTERM)
        said, noted = track.communicate(timeout=60)
    counts = [sum(one["n"]) for one in json.loads(said.splitlines()[0])["histograms"]]
    return noted, counts, n


def test_no_scheduler():
    """A disk that queues nothing: that is said, instead of nothing at all."""
    with tempfile.NamedTemporaryFile(dir=os.environ["LULL_SCRATCH"]) as image:
        image.truncate(16 << 20)
        made = subprocess.run(["losetup", "--find", "--show", image.name], capture_output=True, text=True, check=False, timeout=60)
        disk = os.path.basename(made.stdout.strip())
        if not disk:
            tap.skip("a disk without a scheduler", made.stderr.strip())
            return
        try:
            with open(f"/sys/block/{disk}/queue/scheduler", encoding="ascii") as file:
                schedulers = file.read()
            if not re.search("none.*mq-deadline|mq-deadline.*none", schedulers):
                tap.skip("a disk without a scheduler", f"the kernel has no others: {schedulers}")
                return
            noted, counts, n = queued(made.stdout.strip(), disk, "none")
            tap.ok(f"hardly any request of disk {disk}" in noted and counts[0] < n / 10 and counts[1] >= n, "without one: few are seen, and a note says why", noted, counts, n)
            noted, counts, n = queued(made.stdout.strip(), disk, "mq-deadline")
            tap.ok("hardly" not in noted and counts[0] >= n, "with one: all are seen, and there is no note", noted, counts, n)
        finally:
            subprocess.run(["losetup", "--detach", made.stdout.strip()], check=False, timeout=60)


def test_no_rights():
    prefix = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=60).returncode != 0:
        tap.skip("no rights", "no user namespaces here")
        return
    done = run("track", "--backend", "bpf", "offcpu > 1s", prefix=prefix)
    tap.ok(is_one_line(done, "CAP_BPF"), "lull track: one line", done)
    done = run("top", "--once", "--rule", "offcpu > 1s", "--backend", "bpf", prefix=prefix)
    tap.ok(is_one_line(done, "CAP_BPF"), "lull top with rules, which need single waits", done)


def forbid_bpf(errno):
    """To be called in a child: a filter of system calls, as containers have, which refuses bpf(2) with that error (seccomp(2))."""
    LOAD, IF, RETURN, ALLOW, ERRNO, BPF = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000, 321
    code = b"".join(struct.pack("=HBBI", *line) for line in ((LOAD, 0, 0, 0), (IF, 0, 1, BPF), (RETURN, 0, 0, ERRNO | errno), (RETURN, 0, 0, ALLOW)))
    text = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("=H6xQ", 4, ctypes.addressof(text)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def test_filter_of_calls():
    if os.uname().machine != "x86_64":
        tap.skip("a filter of calls", "the number of bpf() is known for x86-64 alone")
        return
    for number, said in (errno.EPERM, "CAP_BPF"), (errno.ENOSYS, "a filter of system calls forbids it"):
        forbidden = {"capture_output": True, "text": True, "timeout": 60, "check": False, "preexec_fn": lambda n=number: forbid_bpf(n)}
        done = subprocess.run([LULL, "track", "--backend", "bpf", "offcpu > 1s"], **forbidden)
        tap.ok(is_one_line(done, said), f"{errno.errorcode[number]}: lull track: one line", done)
        done = subprocess.run([LULL, "track", "--list"], **forbidden)
        if done.returncode == 0:  # by ftrace
            tap.ok(re.search(r"^mark +no: needs eBPF", done.stdout, re.M) and re.search(r"^offcpu +yes", done.stdout, re.M)
                   and said in done.stdout.splitlines()[-1], "the list has what is possible without, and says why", done.stdout)
        else:
            tap.ok(is_one_line(done, said), "lull track --list: one line", done)


def test_containers():
    """With its own process ids: what is asked by such an id is refused, in a line; all else is seen, with the ids of the host."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=60).returncode != 0:
        tap.skip("containers", "no process ids of their own here")
        return
    for arguments in ["offcpu > 1s", "--", "true"], ["offcpu: pid == 1 > 1s"], ["offcpu: comm == \"a\" && (tid == 1 || uid == 1) > 1s"]:
        done = run("track", "--backend", "bpf", *arguments, prefix=prefix)
        tap.ok(is_one_line(done, "in a container with its own process ids"), f"{arguments}: one line", done)
    done = run("track", "--backend", "bpf", "--count", "1", "offcpu > 1us", prefix=prefix)
    tap.ok(done.returncode == 0 and " alarm" in done.stdout, "other rules hold", done)
    # A shell that is 1 in its container waits for its sleeping children.
    inside = subprocess.Popen([*prefix, "sh", "-c", "while sleep 0.05; do :; done"], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        rule = 'offcpu: comm == "sh" && call == "wait4" > 20ms'
        for backend in ["bpf"] + ["ftrace"] * (not why_no_ftrace()):
            done = run("track", "--backend", backend, "--count", "1", "--json", "--duration", "10s", rule)
            found = json.loads(done.stdout.splitlines()[0]).get("task", {}) if done.returncode == 0 else {}
            child = subprocess.run(["pgrep", "-P", str(inside.pid)], capture_output=True, text=True, check=False).stdout.strip()
            tap.ok((str(found.get("tid")), found.get("own_tid"), found.get("own_pid")) == (child, 1, 1), f"{backend}: from outside with both ids", done)
        done = run("track", "--count", "1", "--duration", "10s", rule)
        tap.ok(f"sh/{child} (1 in its container) in wait4" in done.stdout, "in words, too", done)
        done = run("track", "--count", "1", "--json", 'offcpu: comm == "sh" > 20ms', "--", "sh", "-c", "sleep 0.05; sleep 0.05")
        found = json.loads(done.stdout.splitlines()[0])["task"]
        tap.ok(found["own_pid"] is None and found["own_tid"] is None, "who is in no container has one", found)
    finally:
        os.killpg(inside.pid, signal.SIGKILL)
        inside.wait()


class Terminal:
    def __init__(self, height, width, *arguments, **environment):
        self.main, side = pty.openpty()
        termios.tcsetwinsize(side, (height, width))
        self.process = subprocess.Popen([LULL, "top", "--interval", "200ms", *arguments], stdin=side, stdout=side, stderr=side,
                                        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment})
        os.close(side)
        self.seen = ""

    def until(self, pattern, n):
        end = time.monotonic() + 30
        while len(re.findall(pattern, self.seen)) < n and time.monotonic() < end:
            if select.select([self.main], [], [], 1)[0]:
                self.seen += os.read(self.main, 65536).decode(errors="replace")
        return self.seen

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        os.close(self.main)
        return status


def test_stuck():
    """A signal also ends who writes to a pipe that nobody reads, as that of a pager; and leaves nothing."""
    ends = []
    for arguments in (["top", "--interval", "100ms"], ["track", "offcpu > 1us"]):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        ends.append((subprocess.Popen([LULL, *arguments, "--json"], stdout=write), read, arguments))
        os.close(write)
    for process, read, arguments in ends:
        select.select([read], [], [], 30)
    time.sleep(0.5)  # there is no room for more by then
    for process, read, arguments in ends:
        process.terminate()
    for process, read, arguments in ends:
        try:
            tap.ok(process.wait(20) == -signal.SIGTERM, f"{arguments[0]}: ended by the signal", process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            tap.ok(False, f"{arguments[0]}: ended by the signal")
        os.close(read)


def test_small_terminal():
    """All of it fits, and there are rows."""
    for arguments in [], ["--backend", "poll"], ["--hist"], ["--rule", "offcpu > 1ms"]:
        terminal = Terminal(10, 40, *arguments)
        seen = terminal.until(r"\x1b\[10;1H", 5)
        status = terminal.end()
        frames = [frame for frame in seen.split("\x1b[H")[2:] if "\x1b[10;1H" in frame]
        lines = [re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", line).rstrip("\r") for line in re.split(r"\n|\x1b\[10;1H", frames[-1])]
        tap.ok(status == 0 and len(lines) <= 11 and all(len(line) <= 40 for line in lines), f"{arguments}: within 10 lines of 40 characters", lines)
        wanted = r"BELOW" if "--hist" in arguments else r"WAITED +WHO"
        tap.ok(any(re.search(wanted, line) for line in lines[:-3]), "with a table", lines)


def test_dumb_terminal():
    terminal = Terminal(24, 80, TERM="dumb")
    seen = terminal.until(r"lull top on \S+  \d\d:\d\d:\d\d", 2)
    tap.ok(terminal.end() == 0 and "\x1b" not in seen and len(re.findall(r"lull top on \S+  \d\d:", seen)) >= 2, "TERM=dumb: plain tables, no escapes", seen[:300])
    terminal = Terminal(24, 80, "--once", TERM="xterm")
    seen = terminal.until(r"cannot see|waits over|calls as seen", 1)
    terminal.process.wait(30)
    tap.ok("\x1b[H" not in seen, "--once draws no screen", seen[:300])
    os.close(terminal.main)


def main():
    reason = why_not()
    if reason:
        tap.skip("surroundings", reason)
        return tap.done()
    tests = [test_no_types, test_no_uprobes, test_no_scheduler, test_no_rights, test_filter_of_calls, test_containers,
             test_stuck, test_small_terminal, test_dumb_terminal]
    if all(has_event(name) for name in ("contention_begin", "tcp_probe", "irq_work_entry")):
        tests.append(test_no_tracepoint)
    for test in tests:
        tap.run(test.__name__, test)
    return tap.done()


sys.exit(main())
