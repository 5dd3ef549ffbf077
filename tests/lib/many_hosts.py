#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes N machines out of the traces of a few: each copy gets a name, a trace UUID and a boot of its own, so that no two
of them are taken for one. Events, and so every figure of a host, are those of the trace that it was copied from.

    many_hosts.py TRACES N OUT      TRACES: a directory with LTTng kernel traces (CTF 1.8) in it"""
import os
import re
import struct
import sys
import uuid

MAGIC = 0x75D11D57
METADATA_HEADER = 37


def metadata_text(data):
    """The text in the packets of a metadata file (CTF 1.8.3, 7.1)."""
    text, offset = b"", 0
    while offset < len(data):
        magic, = struct.unpack_from("<I", data, offset)
        assert magic == MAGIC, "metadata in little-endian packets expected"
        content, packet = struct.unpack_from("<II", data, offset + 24)
        text += data[offset + METADATA_HEADER:offset + content // 8]
        offset += packet // 8
    return text.decode()


def packet_offsets(index):
    """From an LTTng index file (version 1): where the packets of its stream start."""
    magic, major, _, size = struct.unpack_from(">IIII", index)
    assert magic == 0xC1F1DCC1 and major == 1
    return [struct.unpack_from(">Q", index, at)[0] for at in range(16, len(index), size)]


class Machine:
    def __init__(self, directory):
        def read(*names):
            with open(os.path.join(directory, *names), "rb") as file:
                return file.read()
        self.text = metadata_text(read("metadata"))
        self.uuid = uuid.UUID(re.search(r'trace \{[^}]*?uuid = "([^"]*)"', self.text).group(1))
        self.clock = re.search(r'clock \{[^}]*?uuid = "([^"]*)"', self.text).group(1)
        self.name = re.search(r'hostname = "([^"]*)"', self.text).group(1)
        self.streams = [name for name in sorted(os.listdir(directory)) if name not in ("metadata", "index")]
        self.data = {name: bytearray(read(name)) for name in self.streams}
        self.index = {name: read("index", name + ".idx") for name in self.streams}

    def write(self, directory, number):
        """A copy of the machine; its clock is 1 ms a machine further."""
        own = uuid.uuid5(uuid.NAMESPACE_OID, f"trace {number}")
        boot = uuid.uuid5(uuid.NAMESPACE_OID, f"boot {number}")
        text = self.text.replace(str(self.uuid), str(own)).replace(self.clock, str(boot))
        text = text.replace(f'hostname = "{self.name}"', f'hostname = "{self.name}-{number}"')
        text = re.sub(r"offset = (\d+);", lambda m: f"offset = {int(m.group(1)) + number * 1_000_000};", text, count=1)
        os.makedirs(os.path.join(directory, "index"))
        with open(os.path.join(directory, "metadata"), "w", encoding="utf-8") as file:
            file.write(text)
        for name in self.streams:
            for offset in packet_offsets(self.index[name]):
                self.data[name][offset + 4:offset + 20] = own.bytes
            with open(os.path.join(directory, name), "wb") as file:
                file.write(self.data[name])
            with open(os.path.join(directory, "index", name + ".idx"), "wb") as file:
                file.write(self.index[name])


def make(source, n, out):
    """Writes OUT/host-0000 … and returns the names of the hosts."""
    found = sorted(root for root, _, files in os.walk(source) if "metadata" in files)
    machines = [Machine(directory) for directory in found]
    names = []
    for number in range(n):
        machine = machines[number % len(machines)]
        machine.write(os.path.join(out, f"host-{number:04}"), number)
        names.append(f"{machine.name}-{number}")
    return names


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    make(sys.argv[1], int(sys.argv[2]), sys.argv[3])
