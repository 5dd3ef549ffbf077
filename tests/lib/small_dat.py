# SPDX-License-Identifier: MIT
"""A trace.dat of a few scheduling events and reads whose contents are known, with tracedat.Writer."""
import struct

from lib import tracedat

FORMATS = {
    "sched_switch": ("sched", 310, [
        ("char", "prev_comm[16]", 16, 1), ("pid_t", "prev_pid", 4, 1), ("int", "prev_prio", 4, 1),
        ("long", "prev_state", 8, 1), ("char", "next_comm[16]", 16, 1), ("pid_t", "next_pid", 4, 1),
        ("int", "next_prio", 4, 1)]),
    "sched_waking": ("sched", 311, [
        ("char", "comm[16]", 16, 1), ("pid_t", "pid", 4, 1), ("int", "prio", 4, 1), ("int", "target_cpu", 4, 1)]),
    "sys_enter_read": ("syscalls", 700, [
        ("int", "__syscall_nr", 4, 1), ("unsigned int", "fd", 8, 0), ("char *", "buf", 8, 0),
        ("size_t", "count", 8, 0)]),
    "sys_exit_read": ("syscalls", 701, [("int", "__syscall_nr", 4, 1), ("long", "ret", 8, 1)]),
    "hrtimer_expire_entry": ("timer", 320, [("void *", "hrtimer", 8, 0), ("s64", "now", 8, 1), ("void *", "function", 8, 0)]),
    "hrtimer_expire_exit": ("timer", 321, [("void *", "hrtimer", 8, 0)]),
}
ONLY_IF_USED = ("hrtimer_expire_entry", "hrtimer_expire_exit")


def record(name, tid, values):
    """The bytes of an event; `values` are numbers, or texts for arrays of 16 characters."""
    data = struct.pack("<HBBi", FORMATS[name][1], 0, 0, tid)
    for (_, _, size, _), value in zip(FORMATS[name][2], values, strict=True):
        data += bytes(-len(data) % min(size, 8)) if size != 16 else b""
        data += struct.pack("<16s", value.encode()) if size == 16 else value.to_bytes(size, "little", signed=value < 0)
    return data


def write(path, events, offset_ns=0, uname=None):
    """`events` are (time, CPU, name, tid that was on the CPU, values), in order of time."""
    writer = tracedat.Writer(6)
    writer.formats = [(system, tracedat.format_text(name, number, fields))
                      for name, (system, number, fields) in FORMATS.items()
                      if name not in ONLY_IF_USED or any(event[2] == name for event in events)]
    writer.options = [(4, b"local global [mono]\0"), (7, b"%d\0" % offset_ns)]
    if uname:
        writer.options.append((5, uname.encode() + b"\0"))
    cpus = {}
    for cpu in sorted({event[1] for event in events}):
        mine = [event for event in events if event[1] == cpu]
        last, parts = mine[0][0], []
        for time, _, name, tid, values in mine:
            step = time - last
            parts += [writer.extend(step)] if step >= 1 << 27 else []
            parts.append(writer.event(0 if step >= 1 << 27 else step, record(name, tid, values)))
            last = time
        cpus[cpu] = [writer.make_page(mine[0][0], parts)]
    writer.buffers = [("", "mono", cpus)]
    with open(path, "wb") as file:
        file.write(writer.write())
