# SPDX-License-Identifier: MIT
# Recordings in all shapes that LTTng leaves them in, made here: a little CTF trace whose events are
# numbered in the order of their times, and the cutting of stream files at their packets.
import os
import shutil
import struct
import uuid

MAGIC = 0xC1FC1FC1
PACKET_BYTES = 512

METADATA = """/* CTF 1.8 */
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
trace {{
    major = 1; minor = 8; {uuid}byte_order = le;
    packet.header := struct {{ uint32_t magic; {uuid_field}uint32_t stream_id; {instance} }};
}};
env {{ hostname = "shapes"; domain = "{domain}"; }};
clock {{ name = "monotonic"; {clock_uuid} freq = 1000000000; offset = 1000000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := time_t;
stream {{
    id = 0;
    packet.context := struct {{ time_t timestamp_begin; time_t timestamp_end; uint64_t content_size;
        uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; }};
    event.header := struct {{ uint32_t id; time_t timestamp; }};
}};
event {{ name = "{event}"; id = 0; stream_id = 0; fields := struct {{ uint64_t n; }}; }};
"""


class Trace:
    """A trace of `cpus` streams of `packets` packets of `events` events; event n is at time n * 10."""

    def __init__(self, cpus=2, packets=12, events=5, instance=True, with_uuid=True, domain="kernel",
                 event="tick", clock_uuid=None, first=0):
        self.uuid = uuid.uuid4()
        self.cpus, self.instance, self.with_uuid = cpus, instance, with_uuid
        named = f'uuid = "{self.uuid}"; ' if with_uuid else ""
        self.metadata = METADATA.format(
            uuid=named, uuid_field="uint8_t uuid[16]; " if with_uuid else "",
            instance="uint64_t stream_instance_id;" if instance else "", domain=domain, event=event,
            clock_uuid=f'uuid = "{clock_uuid}";' if clock_uuid else "")
        # The CPUs take turns, a packet each, so that packets of two streams lie between each other.
        self.streams = [[] for _ in range(cpus)]
        self.count = cpus * packets * events
        for number in range(packets):
            for cpu in range(cpus):
                numbers = [(number * events + i) * cpus + cpu for i in range(events)]
                self.streams[cpu].append(self.packet(cpu, number, numbers, first))

    def packet(self, cpu, number, numbers, first=0, end=None, discarded=0):
        begin = numbers[0] * 10 + first
        end = numbers[-1] * 10 + first if end is None else end
        head = struct.pack("<I", MAGIC)
        head += self.uuid.bytes if self.with_uuid else b""
        head += struct.pack("<I", 0) + (struct.pack("<Q", cpu) if self.instance else b"")
        body = b"".join(struct.pack("<IQQ", 0, n * 10 + first, n) for n in numbers)
        content = (len(head) + 52 + len(body)) * 8
        head += struct.pack("<QQQQQQI", begin, end, content, PACKET_BYTES * 8, number, discarded, cpu)
        return (head + body).ljust(PACKET_BYTES, b"\0")

    def write(self, directory, files):
        """files: name → packets; each gets its index as LTTng writes it if it has an instance id."""
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "metadata"), "w") as file:
            file.write(self.metadata)
        for name, packets in files.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(b"".join(packets))
        return directory

    def plain(self, directory):
        return self.write(directory, {f"c_{cpu}": packets for cpu, packets in enumerate(self.streams)})

    def ring(self, directory, per_file=3, oldest=2):
        """Ring of files: the oldest is not number 0."""
        files = {}
        for cpu, packets in enumerate(self.streams):
            parts = [packets[i:i + per_file] for i in range(0, len(packets), per_file)]
            for i, part in enumerate(parts):
                files[f"c_{cpu}_{(i + oldest) % len(parts)}"] = part
        return self.write(directory, files)

    def parts(self, directories):
        """Each directory gets its share of all streams, in order."""
        for i, directory in enumerate(directories):
            files = {}
            for cpu, packets in enumerate(self.streams):
                share = len(packets) // len(directories)
                end = None if i == len(directories) - 1 else (i + 1) * share
                files[f"c_{cpu}"] = packets[i * share:end]
            self.write(directory, files)


def index_entries(path):
    """Header, and entries, of an index file of LTTng."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack(">I", data[12:16])[0]
    return data[:16], [data[at:at + size] for at in range(16, len(data), size)]


def cut_stream(directory, name, target_of):
    """Cuts a recorded stream and its index at its packets: target_of(number) is (directory, name)."""
    header, entries = index_entries(os.path.join(directory, "index", name + ".idx"))
    with open(os.path.join(directory, name), "rb") as file:
        data = file.read()
    for number, entry in enumerate(entries):
        offset, bits = struct.unpack(">QQ", entry[:16])
        target, target_name = target_of(number)
        os.makedirs(os.path.join(target, "index"), exist_ok=True)
        if not os.path.exists(os.path.join(target, "metadata")):
            shutil.copy(os.path.join(directory, "metadata"), target)
        stream = os.path.join(target, target_name)
        index = os.path.join(target, "index", target_name + ".idx")
        begin = os.path.getsize(stream) if os.path.exists(stream) else 0
        with open(stream, "ab") as file:
            file.write(data[offset:offset + bits // 8])
        with open(index, "ab") as file:
            file.write((b"" if begin else header) + struct.pack(">Q", begin) + entry[8:])
