# SPDX-License-Identifier: MIT
# Reads perf.data as far as the tests need it, independently of Lull: the layout is that of
# tools/perf/Documentation/perf.data-file-format.txt and linux/perf_event.h.
import struct

LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, LOST_SAMPLES, FINISHED_ROUND = 2, 3, 4, 7, 9, 10, 13, 68
CLOCK_DATA = 29


class PerfData:
    """Records of a file of `lull record`: all have identifier, task, time, CPU."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        magic, size, self.entry_size = struct.unpack_from("<8sQQ", self.bytes)
        if magic != b"PERFILE2" or size != 104:
            raise ValueError(f"{path}: no perf.data")
        self.attributes, self.data = struct.unpack_from("<QQ", self.bytes, 24), struct.unpack_from("<QQ", self.bytes, 40)
        bits = struct.unpack_from("<4Q", self.bytes, 72)
        self.features, at = {}, sum(self.data)
        for bit in range(256):
            if bits[bit // 64] >> bit % 64 & 1:
                begin, n = struct.unpack_from("<QQ", self.bytes, at)
                self.features[bit] = self.bytes[begin:begin + n]
                at += 16

    def records(self):
        """(type, bytes) of each, which must fill the data section exactly."""
        at, end = self.data[0], sum(self.data)
        while at < end:
            kind, _, size = struct.unpack_from("<IHH", self.bytes, at)
            if size < 8 or at + size > end:
                raise ValueError(f"record at {at}: size {size}")
            yield kind, self.bytes[at:at + size]
            at += size

    def rounds(self):
        """The samples of each round: (time, cpu, tid)."""
        now = []
        for kind, record in self.records():
            if kind == SAMPLE:
                _, _, tid, time, cpu = struct.unpack_from("<QIIQI", record, 8)
                now.append((time, cpu, tid))
            elif kind == FINISHED_ROUND:
                yield now
                now = []
        yield now

    def lost(self):
        return sum(struct.unpack_from("<Q", record, 16 if kind == LOST else 8)[0]
                   for kind, record in self.records() if kind in (LOST, LOST_SAMPLES))

    def identifiers(self):
        """Of each attribute."""
        begin, size = self.attributes
        for at in range(begin, begin + size, self.entry_size):
            where, n = struct.unpack_from("<QQ", self.bytes, at + self.entry_size - 16)
            yield struct.unpack_from(f"<{n // 8}Q", self.bytes, where)
