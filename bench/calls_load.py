# SPDX-License-Identifier: MIT
"""A recording of calls and returns for bench/run.py --calls: a program of eight functions, of which the innermost are called most,
as LTTng's user-space tracer records it."""
import vm_load

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
