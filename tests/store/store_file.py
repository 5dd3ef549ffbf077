# SPDX-License-Identifier: MIT
# Reads a store as src/store/format.h describes it; shares nothing with Lull.
import bisect
import functools
import struct

STATES = ("unknown user syscall interrupt softirq wait-cpu wait-task wait-disk wait-network wait-timer wait-input wait-irq "
          "wait-unknown idle lost none").split()
KINDS = ("task cpu thread irq softirq frequency disk-read disk-written disk-requests net-received net-sent disk-flight "
         "cycles vcpu declared call").split()
SECTIONS = "blocks pyramids index sums rows texts bytes hosts losses".split()
NONE = 0xFFFFFFFF
HEADER = struct.Struct("=8sII32sqq")
RANGE = struct.Struct("=QQQ")
ROW = struct.Struct("=IIIiiiiBBBBqqQQQQQ")
BLOCK = struct.Struct("=QqII")


def add_up(data):
    value = 0x9E3779B97F4A7C15
    for at in range(0, len(data), 8):
        value = (value ^ int.from_bytes(data[at:at + 8], "little")) * 0xFF51AFD7ED558CCD & (1 << 64) - 1
        value ^= value >> 32
    return value


def numbers(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
    assert shift == 0


class Row:
    """intervals: (start, end, state, label, evidence)."""

    def __init__(self, file, fields):
        (kind, self.host, name, self.cpu, self.tid, self.pid, self.ppid, before, after, self.shift, self.levels,
         self.active, self.passive, self.n_intervals, n_blocks, first, self.first_sum, self.pyramid_at) = fields
        self.file, self.kind, self.name = file, KINDS[kind], file.texts[name]
        self.before, self.after = STATES[before], STATES[after]
        self.blocks = range(first, first + n_blocks)

    @functools.cached_property
    def intervals(self):
        found = [interval for b in self.blocks for interval in self.file.block(b)]
        assert len(found) == self.n_intervals, "the row has as many intervals as it says"
        return found

    def at(self, time):
        """The interval at a time, without reading the others."""
        block = bisect.bisect_right(self.blocks, time, key=lambda b: self.file.blocks[b][1]) - 1
        return next(one for one in self.file.block(self.blocks[block]) if one[0] <= time < one[1])

    def level(self, number):
        """(start, end, shares) of each bin."""
        at = self.file.ranges["pyramids"][0] + self.pyramid_at
        for level in range(self.levels):
            width = 1 << (self.shift + level)
            first, last = self.active // width, (self.passive - 1) // width
            if level == number:
                return [(i * width, (i + 1) * width, self.file.data[at + 16 * (i - first):at + 16 * (i - first + 1)])
                        for i in range(first, last + 1)]
            at += 16 * (last - first + 1)
        raise IndexError(number)


class Store:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, version, order, self.key, self.start, self.end = HEADER.unpack_from(self.data)
        assert (magic, version, order) == (b"LULLVIEW", 5, 0x01020304)
        self.ranges = {name: RANGE.unpack_from(self.data, HEADER.size + i * RANGE.size) for i, name in enumerate(SECTIONS)}
        end = HEADER.size + len(SECTIONS) * RANGE.size
        assert struct.unpack_from("=Q", self.data, end)[0] == add_up(self.data[:end])
        text_bytes = self.section("bytes")
        self.texts = [text_bytes[at:at + n].decode() for at, n in struct.iter_unpack("=II", self.section("texts"))]
        self.hosts = [self.texts[h[0]] for h in struct.iter_unpack("=IIqq", self.section("hosts"))]
        self.blocks = list(BLOCK.iter_unpack(self.section("index")))
        self.rows = [Row(self, fields) for fields in ROW.iter_unpack(self.section("rows"))]

    def section(self, name):
        offset, size, total = self.ranges[name]
        data = self.data[offset:offset + size]
        assert name == "blocks" or add_up(data) == total, name
        return data

    def block(self, number):
        offset, start, size, total = self.blocks[number]
        offset += self.ranges["blocks"][0]
        data = self.data[offset:offset + size]
        assert add_up(data) & NONE == total
        found = list(numbers(data))
        for at in range(0, len(found), 4):
            length, state, label, evidence = found[at:at + 4]
            yield start, start + length, STATES[state], label - 1, evidence - 1
            start += length

    def of(self, kind):
        return [row for row in self.rows if row.kind == kind]
