# SPDX-License-Identifier: MIT
# Writes perf.data files from lists of records, for what `perf record` of one machine does not produce: other byte orders, rare
# parts of samples, losses. The layout is that of linux/perf_event.h and of Linux' perf.data-file-format.txt.
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, \
    IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (1 << n for n in range(25))
SAMPLE_ID_ALL = 18

FORMAT = """name: demo
ID: 77
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:1;
\tfield:char name[8];\toffset:16;\tsize:8;\tsigned:1;
\tfield:unsigned long wide;\toffset:24;\tsize:8;\tsigned:0;
\tfield:__data_loc unsigned char[] words;\toffset:32;\tsize:4;\tsigned:0;

print fmt: "%d", REC->value
"""


class Writer:
    def __init__(self, big=False):
        self.order = ">" if big else "<"
        self.big = big
        self.attrs = []
        self.features = {}
        self.records = b""

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def attr(self, ids, sample_type, kind=2, config=77, read_format=0, branch=0, regs_user=0, regs_intr=0, flags=0, period=1):
        flags |= 1 << SAMPLE_ID_ALL
        if self.big:  # C's bit-fields start at the other end; that of two bits, precise_ip, keeps their order
            flags = int(f"{flags & ~(3 << 15) | (flags >> 15 & 1) << 16 | (flags >> 16 & 1) << 15:064b}"[::-1], 2)
        data = self.pack("IIQQQQQIIQQQQIiQIHHIIQ", kind, 128, config, period, sample_type, read_format, flags, 0, 0, 0, 0, branch,
                         regs_user, 0, 0, regs_intr, 0, 0, 0, 0, 0, 0)
        self.attrs.append((data, ids, sample_type))

    def raw(self, value, text, name, wide, words):
        """The raw data of FORMAT's tracepoint, with the padding that the kernel adds."""
        text = text.encode() + b"\0"
        body = self.pack("HBBiiI8sQI", 77, 1, 2, 4711, value, len(text) << 16 | 36, name.encode(), wide,
                         len(words) << 16 | 36 + len(text))
        body += text + b"".join(self.pack("B", w) for w in words)
        return body + bytes(-(len(body) + 4) % 8)

    def record(self, kind, body, misc=0):
        self.records += self.pack("IHH", kind, misc, 8 + len(body)) + body

    def trailer(self, pid, tid, time, cpu, ident=0, sample_type=TID | TIME | CPU):
        parts = [(TID, "II", (pid, tid)), (TIME, "Q", (time,)), (ID, "Q", (ident,)), (STREAM_ID, "Q", (0,)), (CPU, "II", (cpu, 0)),
                 (IDENTIFIER, "Q", (ident,))]
        return b"".join(self.pack(form, *values) for bit, form, values in parts if sample_type & bit)

    def round(self):
        self.record(68, b"")

    def text(self, value):
        data = value.encode() + b"\0"
        return self.pack("I", len(data)) + data

    def tracing(self, formats=(("demos", FORMAT),)):
        data = b"\x17\x08\x44tracing0.6\0" + bytes([1 if self.big else 0, 8]) + self.pack("I", 4096)
        data += b"header_page\0" + self.pack("Q", 0) + b"header_event\0" + self.pack("Q", 0)
        data += self.pack("I", 0) + self.pack("I", len(formats))
        for system, text in formats:
            data += system.encode() + b"\0" + self.pack("IQ", 1, len(text)) + text.encode()
        return data + self.pack("II", 0, 0) + self.pack("Q", 0)

    def file(self):
        """Bytes of a perf.data in file mode."""
        at = 104
        sections = b""
        ids = b""
        entries = []
        for data, numbers, _ in self.attrs:
            entries.append((data, at + len(ids), 8 * len(numbers)))
            ids += b"".join(self.pack("Q", n) for n in numbers)
        attrs = b"".join(data + self.pack("QQ", offset, size) for data, offset, size in entries)
        attrs_at = at + len(ids)
        data_at = attrs_at + len(attrs)
        features = sorted(self.features)
        where = data_at + len(self.records) + 16 * len(features)
        content = b""
        for feature in features:
            sections += self.pack("QQ", where + len(content), len(self.features[feature]))
            content += self.features[feature]
        bits = [sum(1 << (f % 64) for f in features if f // 64 == word) for word in range(4)]
        header = self.pack("QQQQQQQQQ4Q", 0x32454C4946524550, 104, 128 + 16, attrs_at, len(attrs), data_at, len(self.records), 0, 0,
                           *bits)
        return header + ids + attrs + self.records + sections + content

    def pipe(self):
        """The same as `perf record -o -` writes it."""
        out = Writer(self.big)
        for feature, content in sorted(self.features.items()):
            if feature != 1:
                out.record(80, out.pack("Q", feature) + content + bytes(-len(content) % 8))
        for data, numbers, _ in self.attrs:
            out.record(64, data + b"".join(out.pack("Q", n) for n in numbers))
        if 1 in self.features:
            tracing = self.features[1]
            out.record(66, out.pack("I", len(tracing)))
            out.records += tracing + bytes(-len(tracing) % 8)
        return self.pack("QQ", 0x32454C4946524550, 16) + out.records + self.records
