# SPDX-License-Identifier: MIT
"""Recordings of a host for bench/run.py --exits: one of a virtual CPU that enters and leaves its guest five times between two switches, one
of as many events that are switches alone."""
import json
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "lib")]
import jsonl_to_ctf  # noqa: E402

US = 1000
COMMS = {300: "cc1", 101: "CPU 0/KVM"}
ENTRIES = 5  # between two switches
CHUNK = 20000  # events of a packet


def switch(t, left, to):
    return {"t": t, "n": "sched_switch", "p": {"prev_comm": COMMS[left], "prev_tid": left, "prev_prio": 20, "prev_state": 0,
                                               "next_comm": COMMS[to], "next_tid": to, "next_prio": 20}}


def turn(t, entries):
    """The virtual CPU has the CPU once; what happens until the next turn."""
    yield switch(t, 300, 101)
    for number in range(entries):
        t += 3 * US
        yield {"t": t, "n": "kvm_entry", "p": {"vcpu_id": 0}}
        t += 50 * US
        yield {"t": t, "n": "kvm_exit", "p": {"exit_reason": (1, 30, 48)[number % 3], "isa": 1, "info1": 7, "vcpu_id": 0}}
    yield switch(t + 5 * US, 101, 300)


def write(directory, n_events, entries):
    write_turns(directory, {"hostname": "host", "domain": "kernel"}, n_events, 500 * US, lambda t: turn(t, entries))


def write_turns(directory, environment, n_events, period, turn_at):
    """A trace of at least so many events, as `turn_at` yields them for a time, over and over after `period` ns. In packets, so
    that memory does not grow."""
    os.makedirs(directory)
    fragments, numbers, records, t, written = jsonl_to_ctf.preamble(environment, 0), {}, [], 0, 0
    with open(os.path.join(directory, "channel_0"), "wb") as stream:
        while written < n_events:
            while len(records) < CHUNK:
                for event in turn_at(t):
                    shape = jsonl_to_ctf.shape_of(event)
                    if shape not in numbers:
                        numbers[shape] = len(numbers)
                        fragments.append(jsonl_to_ctf.event_class(numbers[shape], event))
                    records.append((event["t"], jsonl_to_ctf.record(numbers[shape], event)))
                t += period
            stream.write(jsonl_to_ctf.packet(0, records, 0))
            written += len(records)
            records = []
    with open(os.path.join(directory, "metadata"), "wb") as metadata:
        for fragment in fragments:
            metadata.write(jsonl_to_ctf.SEPARATOR + json.dumps(fragment).encode() + b"\n")
