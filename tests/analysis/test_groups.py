#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Tables by container of tasks that were put there while a trace was made up: who waits for whom is known.
import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

sys.path[:0] = [os.path.join(os.environ["LULL_SOURCE"], "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
MS = 1_000_000
CONTAINERS = {10: "ab", 11: "ab", 20: "cd"}


def event(time, cpu, name, **payload):
    return {"t": time, "n": name, "pc": {"cpu_id": cpu}, "p": payload}


def switch(time, cpu, leaves, state, enters):
    return event(time, cpu, "sched_switch", prev_comm=f"t{leaves}", prev_tid=leaves, prev_prio=20, prev_state=state,
                 next_comm=f"t{enters}", next_tid=enters, next_prio=20)


def wait(start, tid):
    """For 3 ms in a futex, which 20 ends after 2 ms; then it runs for 1 ms."""
    yield switch(start, 0, 0, 0, tid)
    yield event(start + 1000, 0, "syscall_entry_futex", uaddr=4096, op=0, val=0)
    yield switch(start + 2000, 0, tid, 1, 0)
    yield event(start + 2 * MS, 1, "syscall_entry_futex", uaddr=4096, op=1, val=1)
    yield event(start + 2 * MS + 500, 1, "sched_waking", comm=f"t{tid}", tid=tid, prio=20, target_cpu=0)
    yield event(start + 2 * MS + 1000, 1, "syscall_exit_futex", ret=1)
    yield switch(start + 3 * MS, 0, 0, 0, tid)
    yield event(start + 3 * MS + 1000, 0, "syscall_exit_futex", ret=0)
    yield switch(start + 4 * MS, 0, tid, 1, 0)


def made():
    events = [switch(0, 1, 0, 0, 20)]
    events += [event(1 + tid, 0, "cgroup_attach_task", dst_root=0, dst_level=2, dst_id=5, pid=tid, comm=f"t{tid}",
                     dst_path=f"/system.slice/docker-{letters * 32}.scope") for tid, letters in CONTAINERS.items()]
    for number, tid in enumerate((10, 11, 10)):
        events += wait((1 + 5 * number) * MS, tid)
    events.append(switch(20 * MS, 1, 20, 1, 0))
    path = os.path.join(scratch.name, "trace")
    jsonl_to_ctf.write_trace(sorted(events, key=lambda one: (one["t"], one["pc"]["cpu_id"])), path,
                             environment={"domain": "kernel", "hostname": "h"})
    return path


def tables(*arguments):
    done = subprocess.run([lull, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["windows"][0]["tables"]


def check_futex():
    where = made()
    by_task, by_container = tables("futex", where), tables("futex", "--by", "container", where)
    pairs = [[(line["waiter"]["comm"], line["waker"]["comm"], line["waits"], line["wait_ns"]) for line in shown["wakers"]]
             for shown in (by_task, by_container)]
    tap.ok(pairs[0] == [("t10", "t20", 2, 6 * MS), ("t11", "t20", 1, 3 * MS)], "futex by task", pairs[0])
    tap.ok(pairs[1] == [("docker:" + "ab" * 6, "docker:" + "cd" * 6, 3, 9 * MS)], "futex by container: one waits for the other", pairs[1])
    by_cgroup = [(line["waiter"]["comm"], line["waker"]["comm"]) for line in tables("futex", "--by", "cgroup", where)["wakers"]]
    tap.ok(by_cgroup == [tuple(f"/system.slice/docker-{letters * 32}.scope" for letters in ("ab", "cd"))], "paths of groups are whole", by_cgroup)
    counts = [[(line["waiters"], line["wakers"], line["waits"]) for line in shown["futex"]] for shown in (by_task, by_container)]
    tap.ok(counts == [[(2, 1, 3)]] * 2, "tasks that wait and wake are counted all the same", counts)


def in_terminal(columns, *arguments):
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([lull, *arguments], stdout=side, stderr=side, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8", "LULL_PAGER": "cat"}):
        os.close(side)
        output = b""
        with contextlib.suppress(OSError):  # the terminal is gone with the program
            while piece := os.read(main, 65536):
                output += piece
    os.close(main)
    return output.decode().replace("\r\n", "\n")


def check_paths():
    """Groups whose paths are alike but for their ends, on a terminal that has no room for them."""
    names = {10: "web", 11: "db"}
    events = [event(tid, 0, "cgroup_attach_task", dst_root=0, dst_level=2, dst_id=tid, pid=tid, comm=f"t{tid}",
                    dst_path=f"/kubepods.slice/{'burstable-' * 8}{name}.scope") for tid, name in names.items()]
    for number, tid in enumerate((10, 11, 10)):
        events += [switch((1 + number) * MS, 0, 0, 0, tid), switch((1 + number) * MS + MS // 2, 0, tid, 1, 0)]
    path = os.path.join(scratch.name, "paths")
    jsonl_to_ctf.write_trace(sorted(events, key=lambda one: one["t"]), path, environment={"domain": "kernel", "hostname": "h"})
    text = in_terminal(80, "cputop", "--by", "cgroup", path)
    heading, *rows = next(re.split("\n", part) for part in text.split("\n\n") if "Per control group" in part)[1:]
    for name, ns in (("web", MS), ("db", MS // 2)):
        row = [line for line in rows if re.match(rf"/kub\S*…\S*-{name}\.scope ", line)]
        tap.ok(len(row) == 1 and f"{ns / 1000:.1f} us" in row[0] or f"{ns / MS:.3f} ms" in row[0], f"the path that ends with {name} keeps its end", text)
    tap.ok(re.match(r"CONTROL GROUP +MIGRATIONS", heading) and "PID" not in heading, "columns of groups are called so", heading)
    tap.ok("PROCESS" in in_terminal(80, "cputop", path) and "CONTROL GROUP" not in in_terminal(80, "iolatencytop", "--by", "cgroup", path),
           "those of tasks as before")


tap.run("futex", check_futex)
tap.run("paths", check_paths)
scratch.cleanup()
sys.exit(tap.done())
