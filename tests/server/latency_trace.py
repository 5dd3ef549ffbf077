# SPDX-License-Identifier: MIT
# A trace whose every duration is written here: system calls, waits for a CPU, block requests, interrupts, waits on a futex and periods.
import os

from lib import jsonl_to_ctf

START = 10**18
A, B = 100, 200  # tids; A runs on CPU 0, B on CPU 1
US = 1000

# (start, duration), in ns after START.
READS = [(1000 * US + i * 100 * US, (i + 1) * US) for i in range(8)]  # of A: 1 to 8 µs
WRITES = [(1000 * US + i * 100 * US, 50 * US) for i in range(3)]      # of B
FUTEX = (3000 * US, 700 * US)      # of A, which slept meanwhile
WAKING = (3640 * US, 40 * US)      # of A: woken 20 µs before it returned, having been runnable for 40 µs
REQUESTS = [("write", 1, 2000 * US, 300 * US), ("read", 0, 2100 * US, 900 * US)]
IRQS = [(5000 * US, 12 * US), (5100 * US, 34 * US)]
PHASES = [(6000 * US, 250 * US, A), (6100 * US, 80 * US, B)]
VDA = 254 << 20
PERIOD = 'phase : $evt.$name == "phase_start" : $evt.$name == "phase_end" && $evt.id == $begin.$evt.id'


def events():
    def event(at, what, cpu, **payload):
        found.append({"t": START + at, "n": what, "pc": {"cpu_id": cpu}, "p": payload})
    found = []
    for cpu, tid, comm in ((0, A, "alpha"), (1, B, "beta")):
        event(0, "sched_switch", cpu, prev_comm="swapper", prev_tid=0, prev_prio=20, prev_state=0, next_comm=comm, next_tid=tid, next_prio=20)
    for start, took in READS:
        event(start, "syscall_entry_read", 0, fd=3, count=10)
        event(start + took, "syscall_exit_read", 0, ret=10)
    for start, took in WRITES:
        event(start, "syscall_entry_write", 1, fd=4, count=10)
        event(start + took, "syscall_exit_write", 1, ret=10)
    for i, (_, kind, issue, took) in enumerate(REQUESTS):
        common = {"dev": VDA, "sector": 1000 * (i + 1), "nr_sector": 8, "rwbs": 1 if kind else 4}
        event(issue, "block_rq_issue", 1, **common, bytes=4096, tid=B, comm="beta")
        event(issue + took, "block_rq_complete", 1, **common, error=0)
    start, took = FUTEX
    event(start, "syscall_entry_futex", 0, uaddr=0x7f0000001000, op=128, val=2)
    event(start + 10 * US, "sched_switch", 0, prev_comm="alpha", prev_tid=A, prev_prio=20, prev_state=1,
          next_comm="swapper", next_tid=0, next_prio=20)
    event(WAKING[0], "sched_waking", 1, comm="alpha", tid=A, prio=20, target_cpu=0)
    event(sum(WAKING), "sched_switch", 0, prev_comm="swapper", prev_tid=0, prev_prio=20, prev_state=0,
          next_comm="alpha", next_tid=A, next_prio=20)
    event(start + took, "syscall_exit_futex", 0, ret=0)
    event(4000 * US, "syscall_entry_futex", 0, uaddr=0x7f0000001000, op=128, val=2)  # -EAGAIN: did not wait
    event(4001 * US, "syscall_exit_futex", 0, ret=-11)
    for start, took in IRQS:
        event(start, "irq_handler_entry", 1, irq=28, name="nic")
        event(start + took, "irq_handler_exit", 1, irq=28, ret=1)
    for start, took, tid in PHASES:
        event(start, "phase_start", 0 if tid == A else 1, id=tid)
        event(start + took, "phase_end", 0 if tid == A else 1, id=tid)
    event(7000 * US, "phase_start", 0, id=77)  # never ends
    event(8000 * US, "syscall_entry_read", 0, fd=3, count=10)  # lasts still
    event(9000 * US, "irq_handler_entry", 1, irq=28, name="nic")
    event(9001 * US, "irq_handler_exit", 1, irq=28, ret=1)
    return sorted(found, key=lambda one: one["t"])


def write(found, folder, name):
    path = os.path.join(folder, name)
    jsonl_to_ctf.write_trace(found, path, {"hostname": "box"})
    return path
