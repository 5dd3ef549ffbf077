# SPDX-License-Identifier: MIT
"""A recording of calls and returns for bench/run.py --calls: a program of eight functions, of which the innermost are called most,
as LTTng's user-space tracer records it."""
import glob
import os

import vm_load
from vm_load import jsonl_to_ctf

ENVIRONMENT = {"hostname": "host", "domain": "ust", "tracer_name": "lttng-ust"}
# 20 calls: each function and what it calls.
TREE = (0x401000, ((0x401100, ((0x401200, ()),) * 5), (0x401300, ((0x401400, ((0x401500, ()),) * 3),) * 2), (0x401600, ((0x401700, ()),) * 3)))
CONTEXT = {"cpu_id": 0}, {"vpid": 100, "vtid": 100, "procname": "program"}


def walk(function):
    address, children = function
    yield "entry", address
    for child in children:
        yield from walk(child)
    yield "exit", address


def turn(t):
    for number, (what, address) in enumerate(walk(TREE)):
        yield {"t": t + 40 * number, "n": f"lttng_ust_cyg_profile:func_{what}", "p": {"addr": address, "call_site": address - 64},
               "pc": CONTEXT[0], "sec": CONTEXT[1]}


def fast_turn(t):
    """The same in the form whose returns say nothing."""
    for number, (what, address) in enumerate(walk(TREE)):
        yield {"t": t + 40 * number, "n": f"lttng_ust_cyg_profile_fast:func_{what}", "p": {"addr": address} if what == "entry" else {},
               "pc": CONTEXT[0], "sec": CONTEXT[1]}


def write(directory, n_calls, is_fast=False):
    vm_load.write_turns(directory, ENVIRONMENT, 2 * n_calls, 5000, fast_turn if is_fast else turn)


def largest_libraries(n):
    """Of this machine."""
    files = {os.path.realpath(path) for path in glob.glob("/usr/lib/*/*.so.*") + glob.glob("/usr/lib64/*.so.*")}
    files = sorted((path for path in files if os.path.isfile(path)), key=os.path.getsize, reverse=True)
    found = []
    while files and len(found) < n:
        with open(files[0], "rb") as file:
            found += files[:1] if file.read(4) == b"\x7fELF" else []
        del files[0]
    return found


def write_libraries(directory, files):
    """A program that has them all, and calls into each at 20 places."""
    events, t = [], 0
    for number, path in enumerate(files):
        image = {"baddr": 0x7f0000000000 + (number << 30), "memsz": os.path.getsize(path), "path": path, "is_pic": 1, "has_build_id": 0, "has_debug_link": 0}
        events.append({"t": t, "n": "lttng_ust_statedump:bin_info", "p": image})
        t += 10
    for place in range(20):
        for number, path in enumerate(files):
            address = 0x7f0000000000 + (number << 30) + os.path.getsize(path) * (place + 5) // 30
            for what in ("entry", "exit"):
                events.append({"t": t, "n": f"lttng_ust_cyg_profile:func_{what}", "p": {"addr": address, "call_site": 0}})
                t += 10
    for event in events:
        event["pc"], event["sec"] = CONTEXT
    jsonl_to_ctf.write_trace(events, directory, ENVIRONMENT)
