# SPDX-License-Identifier: MIT
"""What bench/run.py --heap and --dump read: allocations as LTTng's user-space tracer records them, and a heap dump of a Java virtual
machine. Both are made so that all sums are known beforehand."""
import json
import os
import struct

import vm_load
from vm_load import jsonl_to_ctf

CHUNK = 20000  # events of a packet
SIZE = 48  # bytes of a block
CONTEXT = {"vpid": 100, "vtid": 100, "ip": 0x401005, "procname": "program"}
TIME, POINTER = 0x1122334455667788, 0x5566778811223344  # found in templates


def template(number, name, payload):
    """The bytes of an event, and where in it time and address are."""
    event = {"t": TIME, "n": f"lttng_ust_libc:{name}", "p": {**payload, "ptr": POINTER}, "pc": {"cpu_id": 0}, "sec": CONTEXT}
    record = jsonl_to_ctf.record(number, event)
    return jsonl_to_ctf.event_class(number, event), record, record.index(struct.pack("<Q", TIME)), record.index(struct.pack("<Q", POINTER))


def write_heap(directory, n_events, n_live):
    """Each block is freed when so many others were allocated after it. Returns how many were allocated, how many of them live
    at the end."""
    os.makedirs(directory)
    (one, malloc, t_at, p_at), (other, free, t_of_free, p_of_free) = template(0, "malloc", {"size": SIZE}), template(1, "free", {})
    t, allocated, freed, written = 0, 0, 0, 0
    with open(os.path.join(directory, "channel_0"), "wb") as stream:
        while written < n_events:
            start, records = t, []
            while len(records) < CHUNK:
                event, when, where = bytearray(malloc), t_at, p_at
                block = allocated
                if allocated - freed > n_live:
                    event, when, where, block = bytearray(free), t_of_free, p_of_free, freed
                    freed += 1
                else:
                    allocated += 1
                struct.pack_into("<Q", event, when, t)
                struct.pack_into("<Q", event, where, 0x10000000 + block * 64)
                records.append(bytes(event))
                t += 50
            stream.write(jsonl_to_ctf.packet(0, [(start, records[0]), (t - 50, b"".join(records[1:]))], 0))
            written += len(records)
    with open(os.path.join(directory, "metadata"), "wb") as metadata:
        for fragment in (*jsonl_to_ctf.preamble({"hostname": "host", "domain": "ust", "tracer_name": "lttng-ust"}, 0), one, other):
            metadata.write(jsonl_to_ctf.SEPARATOR + json.dumps(fragment).encode() + b"\n")
    return allocated, allocated - freed


CLASSES = ("java/lang/Class", "java/lang/Object", "Node", "[Ljava/lang/Object;")
OBJECT, NODE, TABLE = 0x1010, 0x1020, 0x1030
FIRST = 0x100000
NODE_BYTES, PAYLOAD_BYTES = 16 + 3 * 8, 64  # a header of 16; 20 and 40 bytes, rounded up to 8


def text_of(number, name):
    return struct.pack(">BIIQ", 1, 0, 8 + len(name), number) + name.encode()


def write_dump(path, n_bytes):
    """An array of nodes in a list, each with an array of bytes: the array retains all. Returns the number of objects, and that of bytes."""
    n = n_bytes // 115
    table = FIRST + n * (NODE_BYTES + PAYLOAD_BYTES)
    with open(path, "wb") as file:
        file.write(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 0))
        for i, name in enumerate(CLASSES):
            file.write(text_of(0x10 + i, name) + struct.pack(">BIIIQIQ", 2, 0, 24, i + 1, 0x1000 + 16 * i, 0, 0x10 + i))
        for i, name in enumerate(("next", "payload", "number")):
            file.write(text_of(0x20 + i, name))
        fields = {NODE: struct.pack(">HQBQBQB", 3, 0x20, 2, 0x21, 2, 0x22, 11)}
        classes = b"".join(struct.pack(">BQIQ", 0x20, at, 0, 0 if at == OBJECT else OBJECT) + bytes(5 * 8 + 4) + bytes(2 + 2) +
                           fields.get(at, bytes(2)) for at in (0x1000, OBJECT, NODE, TABLE))
        body = classes + struct.pack(">BQII", 3, table, 1, 0)
        file.write(struct.pack(">BII", 0x1C, 0, len(body) + n * 107 + 25 + 8 * n) + body)
        both, payload = struct.Struct(">BQIQIQQQBQIIB40s"), bytes(range(40))
        for start in range(0, n, 10000):
            file.write(b"".join(
                both.pack(0x21, at, 0, NODE, 24, at + NODE_BYTES + PAYLOAD_BYTES if at + NODE_BYTES + PAYLOAD_BYTES < table else 0, at + NODE_BYTES, 7,
                          0x23, at + NODE_BYTES, 0, 40, 8, payload)
                for at in range(FIRST + start * (NODE_BYTES + PAYLOAD_BYTES),
                                FIRST + min(start + 10000, n) * (NODE_BYTES + PAYLOAD_BYTES), NODE_BYTES + PAYLOAD_BYTES)))
        file.write(struct.pack(">BQIIQ", 0x22, table, 0, n, TABLE))
        for start in range(0, n, 10000):
            count = min(10000, n - start)
            file.write(struct.pack(f">{count}Q", *range(FIRST + start * 104, FIRST + (start + count) * 104, 104)))
        file.write(struct.pack(">BII", 0x2C, 0, 0))
    return 2 * n + 1, n * (NODE_BYTES + PAYLOAD_BYTES) + (20 + 8 * n + 7) // 8 * 8
