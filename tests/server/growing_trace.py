# SPDX-License-Identifier: MIT
# A trace as long as one likes, written fast: one packet again and again, each 2^32 ns after the one before. A task is in a system call
# for half of its time, so that every sum is known.
import os
import struct
import uuid

PERIOD = 1 << 32  # a packet's time: what 32 bits of an event's time hold
PAIRS, TID = 32768, 4321
STEP = PERIOD // PAIRS
METADATA = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := u8;
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
typealias integer {{ size = 32; align = 8; signed = true; }} := i32;
typealias integer {{ size = 64; align = 8; signed = true; }} := i64;
typealias integer {{ size = 8; align = 8; signed = false; encoding = UTF8; }} := letter;
trace {{ major = 1; minor = 8; byte_order = le; uuid = "{uuid}";
    packet.header := struct {{ u32 magic; u8 uuid[16]; u32 stream_id; }}; }};
env {{ hostname = "growing"; domain = "kernel"; sysname = "Linux"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; }};
clock {{ name = "monotonic"; freq = 1000000000; offset = 0; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := long_time;
typealias integer {{ size = 32; align = 8; signed = false; map = clock.monotonic.value; }} := short_time;
stream {{ id = 0;
    packet.context := struct {{ long_time timestamp_begin; long_time timestamp_end; u64 content_size; u64 packet_size; u32 cpu_id; }};
    event.header := struct {{ u8 id; short_time timestamp; }}; }};
event {{ name = "sched_switch"; id = 0; stream_id = 0; fields := struct {{ letter prev_comm[16]; i32 prev_tid; i32 prev_prio;
    i64 prev_state; letter next_comm[16]; i32 next_tid; i32 next_prio; }}; }};
event {{ name = "syscall_entry_getppid"; id = 1; stream_id = 0; fields := struct {{ }}; }};
event {{ name = "syscall_exit_getppid"; id = 2; stream_id = 0; fields := struct {{ i64 ret; }}; }};
"""


def make(directory, packets):
    """(start, end) of the events. A task comes; in each packet there are PAIRS system calls of half a step."""
    name = uuid.uuid5(uuid.NAMESPACE_DNS, directory)
    come = struct.pack("<BI16siiq16sii", 0, 0, b"swapper/0", 0, 20, 0, b"caller", TID, 20)
    calls = b"".join(struct.pack("<BI", 1, i * STEP + STEP // 2) + struct.pack("<BIq", 2, i * STEP + STEP - 1, 0) for i in range(PAIRS))
    head = struct.Struct("<I16sIQQQQI")
    with open(os.path.join(directory, "metadata"), "w", encoding="utf-8") as file:
        file.write(METADATA.format(uuid=name))
    with open(os.path.join(directory, "channel_0"), "wb") as file:
        for i in range(1, packets + 1):
            body = come + calls if i == 1 else calls
            size = (head.size + len(body)) * 8
            file.write(head.pack(0xC1FC1FC1, name.bytes, 0, i * PERIOD, (i + 1) * PERIOD - 1, size, size, 0) + body)
    return PERIOD, (packets + 1) * PERIOD - 1
