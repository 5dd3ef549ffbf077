# SPDX-License-Identifier: MIT
# Writes trace.dat files (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)) whose contents are known, and cuts genuine ones
# down to what their events need. Pages are those of the kernel's ring buffer (include/linux/ring_buffer.h).
import struct
import zlib

MAGIC = b"\x17\x08\x44tracing"
COMMON = [("unsigned short", "common_type", 2, 0), ("unsigned char", "common_flags", 1, 0),
          ("unsigned char", "common_preempt_count", 1, 0), ("int", "common_pid", 4, 1)]
HEADER_PAGE = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:{0};\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
               "\tfield: char data;\toffset:{1};\tsize:{2};\tsigned:0;\n")
HEADER_EVENT = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
STORED = 1 << 30
MISSED = 1 << 31


def format_text(name, number, fields):
    """The text of a `format` file; `fields` are (type, name, size, signed) one behind the other."""
    lines, at = [f"name: {name}", f"ID: {number}", "format:"], 0
    for i, (kind, field, size, signed) in enumerate(COMMON + fields):
        align = min(size, 8) if size in (1, 2, 4, 8) and "[" not in field else 1
        at = (at + align - 1) // align * align
        lines.append(f"\tfield:{kind} {field};\toffset:{at};\tsize:{size};\tsigned:{signed};")
        if i + 1 == len(COMMON):
            lines.append("")
        at += size
    return "\n".join(lines + ["", 'print fmt: "none"', ""])


class Writer:
    def __init__(self, version=7, big_endian=False, page=4096, packing="none", long_bytes=8):
        self.order = ">" if big_endian else "<"
        self.big_endian, self.version, self.page, self.packing = big_endian, version, page, packing
        self.long_bytes = long_bytes
        self.formats = []    # (system, text)
        self.buffers = []    # (name, clock, {cpu: [page, …]})
        self.options = []    # (id, bytes)
        self.cmdlines = ""
        self.symbols = ""    # as /proc/kallsyms has them

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    # ---- pages ----

    def head(self, kind, delta):
        return self.pack("I", kind << 27 | delta if self.big_endian else kind | delta << 5)

    def event(self, delta, record, long=False):
        record += bytes(-len(record) % 4)
        if long or len(record) > 28 * 4:
            return self.head(0, delta) + self.pack("I", len(record) + 4) + record
        return self.head(len(record) // 4, delta) + record

    def extend(self, delta):
        return self.head(30, delta & (1 << 27) - 1) + self.pack("I", delta >> 27)

    def stamp(self, time):
        return self.head(31, time & (1 << 27) - 1) + self.pack("I", time >> 27 & 0xffffffff)

    def discarded(self, delta, size):
        """An event of so many bytes that the kernel took back."""
        return self.head(29, delta) + self.pack("I", size) + bytes(size - 4)

    def padding(self):
        return self.head(29, 0)

    def make_page(self, time, events, flags=0, missed=None):
        data = b"".join(events)
        form = "Q" if self.long_bytes == 8 else "I"
        commit = len(data) | flags
        page = self.pack("Q" + form, time, commit) + data
        if missed is not None:
            page += self.pack(form, missed)
        assert len(page) <= self.page
        return page + b"\xa5" * (self.page - len(page))

    # ---- parts ----

    def header_info(self):
        first = 8 + self.long_bytes
        out = b""
        for name, text in (("header_page", HEADER_PAGE.format(self.long_bytes, first, self.page - first)),
                           ("header_event", HEADER_EVENT)):
            out += name.encode() + b"\0" + self.pack("Q", len(text)) + text.encode()
        return out

    def format_parts(self):
        sized = [(system, self.pack("Q", len(text)) + text.encode()) for system, text in self.formats]
        own = [text for system, text in sized if system == "ftrace"]
        systems = sorted({system for system, _ in sized} - {"ftrace"})
        others = self.pack("I", len(systems))
        for name in systems:
            texts = [text for system, text in sized if system == name]
            others += name.encode() + b"\0" + self.pack("I", len(texts)) + b"".join(texts)
        return self.pack("I", len(own)) + b"".join(own), others

    def symbol_part(self):
        return self.pack("I", len(self.symbols)) + self.symbols.encode()

    def initial(self):
        return (MAGIC + str(self.version).encode() + b"\0" +
                struct.pack("BB", self.big_endian, self.long_bytes) + self.pack("I", self.page))

    def time_shift(self, peer, interpolates, cpus, has_fractions=True):
        """Option TIME_SHIFT; for each CPU samples (time, offset, scaling, fraction)."""
        data = self.pack("QII", peer, int(interpolates), len(cpus))
        for samples in cpus:
            data += self.pack("I", len(samples))
            for part, form in enumerate("Qqq"):
                data += b"".join(self.pack(form, sample[part]) for sample in samples)
        if has_fractions:
            data += b"".join(self.pack("q", sample[3]) for samples in cpus for sample in samples)
        return 12, data

    def guest(self, name, trace, tids):
        """Option GUEST: a virtual machine and the threads that are its CPUs."""
        data = name.encode() + b"\0" + self.pack("QI", trace, len(tids))
        return 13, data + b"".join(self.pack("II", cpu, tid) for cpu, tid in enumerate(tids))

    @staticmethod
    def stats(cpu, overrun=0, dropped=0, commit=0):
        """Option CPUSTAT, as the kernel's per_cpu/cpuN/stats."""
        return 2, (f"CPU: {cpu}\nentries: 0\noverrun: {overrun}\ncommit overrun: {commit}\nbytes: 0\n"
                   f"oldest event ts:     0.000000\nnow ts: 14061.698572\ndropped events: {dropped}\nread events: 5\n\0").encode()

    def option(self, number, data):
        return self.pack("HI", number, len(data)) + data

    def write(self):
        return self.write_6() if self.version == 6 else self.write_7()

    # ---- version 6 ----

    def write_6(self):
        own, others = self.format_parts()
        names = self.cmdlines.encode()
        out = (self.initial() + self.header_info() + own + others + self.symbol_part() + self.pack("I", 0) +
               self.pack("Q", len(names)) + names)
        n_cpus = 1 + max(cpu for _, _, cpus in self.buffers for cpu in cpus)
        out += self.pack("I", n_cpus) + b"options  \0"
        options = b"".join(self.option(number, data) for number, data in self.options)
        table = 10 + 16 * n_cpus
        sizes = [8 + len(name) + 1 + 6 for name, _, _ in self.buffers[1:]]
        tables = len(out) + len(options) + sum(sizes) + 2
        pages = -(-(tables + table * len(self.buffers)) // self.page) * self.page
        body, places = b"", b""
        for i, (name, _, cpus) in enumerate(self.buffers):
            if i > 0:
                options += self.option(3, self.pack("Q", tables + i * table) + name.encode() + b"\0")
            places += b"flyrecord\0"
            for cpu in range(n_cpus):
                data = b"".join(cpus.get(cpu, []))
                places += self.pack("QQ", pages + len(body), len(data))
                body += data
        out += options + self.pack("H", 0) + places
        return out + bytes(pages - len(out)) + body

    # ---- version 7 ----

    def squeeze(self, data):
        if self.packing == "zlib":
            return zlib.compress(data)
        raise ValueError(self.packing)

    def section(self, number, data, packed):
        flags = int(packed and self.packing != "none")
        if flags:
            small = self.squeeze(data)
            data = self.pack("II", len(small), len(data)) + small
        return self.pack("HHIQ", number, flags, 0, len(data)) + data

    def chunked(self, pages):
        out = b""
        chunks = [b"".join(pages[i:i + 3]) for i in range(0, len(pages), 3)]
        for chunk in chunks:
            small = self.squeeze(chunk)
            out += self.pack("II", len(small), len(chunk)) + small
        return self.pack("I", len(chunks)) + out, len(out)

    def buffer_section(self, at, name, clock, cpus):
        packed = self.packing != "none"
        body, places = b"", b""
        first = -(-(at + 16) // self.page) * self.page
        for cpu in sorted(cpus):
            data, size = self.chunked(cpus[cpu]) if packed else (b"".join(cpus[cpu]),) * 2
            size = size if packed else len(data)
            places += self.pack("IQQ", cpu, first + len(body), size)
            body += data
        body = bytes(first - at - 16) + body
        option = (self.pack("Q", at) + name.encode() + b"\0" + clock.encode() + b"\0" +
                  self.pack("II", self.page, len(cpus)) + places)
        return self.pack("HHIQ", 3, packed, 0, len(body)) + body, self.option(3, option)

    def write_7(self):
        own, others = self.format_parts()
        names = self.cmdlines.encode()
        out = self.initial() + self.packing.encode() + b"\0" + b"1\0"
        place = len(out)
        out += bytes(8)
        options = b"".join(self.option(number, data) for number, data in self.options)
        for number, data in ((16, self.header_info()), (17, own), (18, others), (19, self.symbol_part()),
                             (21, self.pack("Q", len(names)) + names)):
            options += self.option(number, self.pack("Q", len(out)))
            out += self.section(number, data, True)
        for name, clock, cpus in self.buffers:
            data, option = self.buffer_section(len(out), name, clock, cpus)
            out += data
            options += option
        # In two sections, the first of which says where the second is.
        second = len(out)
        out += self.section(0, options + self.option(0, self.pack("Q", 0)), True)
        first = len(out)
        out += self.section(0, self.option(9, b"test\0") + self.option(0, self.pack("Q", second)), True)
        return out[:place] + self.pack("Q", first) + out[place + 8:]


# ---- cutting down genuine files ----

class Reader:
    """Just enough of a version 6 file, as `trace-cmd convert --file-version 6` writes it, to write it anew."""

    def __init__(self, data):
        self.data, self.at = data, len(MAGIC)
        assert data.startswith(MAGIC) and self.string() == "6"
        self.order = ">" if self.take(1)[0] else "<"
        self.long_bytes = self.take(1)[0]
        self.page = self.number("I")
        self.string(), self.take(self.number("Q"))
        self.string(), self.take(self.number("Q"))
        self.formats = [("ftrace", self.take(self.number("Q")).decode()) for _ in range(self.number("I"))]
        for _ in range(self.number("I")):
            system = self.string()
            self.formats += [(system, self.take(self.number("Q")).decode()) for _ in range(self.number("I"))]
        self.take(self.number("I")), self.take(self.number("I"))
        self.cmdlines = self.take(self.number("Q")).decode()
        self.n_cpus = self.number("I")
        self.options, instances = [], []
        if self.data[self.at:self.at + 10] == b"options  \0":
            self.at += 10
            while (number := self.number("H")) != 0:
                data = self.take(self.number("I"))
                if number == 3:
                    instances.append((struct.unpack_from(self.order + "Q", data)[0],
                                      data[8:data.index(b"\0", 8)].decode()))
                else:
                    self.options.append((number, data))
        self.buffers = [("", "", self.pages())]
        for self.at, name in instances:
            self.buffers.append((name, "", self.pages()))

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack(self.order + form, self.take(struct.calcsize(form)))[0]

    def string(self):
        return self.take(self.data.index(b"\0", self.at) + 1 - self.at)[:-1].decode()

    def pages(self):
        if self.data[self.at:self.at + 10] == b"options  \0":
            self.at += 10
            while self.number("H") != 0:
                self.take(self.number("I"))
        assert self.take(10) == b"flyrecord\0"
        places = [(self.number("Q"), self.number("Q")) for _ in range(self.n_cpus)]
        return {cpu: [self.data[begin + i:begin + i + self.page] for i in range(0, size, self.page)]
                for cpu, (begin, size) in enumerate(places)}
