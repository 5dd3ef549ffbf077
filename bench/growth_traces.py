# SPDX-License-Identifier: MIT
# Traces that grow in one dimension, for growth.py: each generator writes a trace in which there is N of one thing
# (tasks, renames, descriptors, disks …) and says which commands must cope with it.
import os
import random
import struct
import uuid

MAGIC = 0xC1FC1FC1
PACKET_EVENTS = 4096
STEP_NS = 100

PREAMBLE = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := u8;
typealias integer {{ size = 16; align = 8; signed = false; }} := u16;
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
typealias integer {{ size = 32; align = 8; signed = true; }} := i32;
typealias integer {{ size = 64; align = 8; signed = true; }} := i64;
typealias integer {{ size = 8; align = 8; signed = false; encoding = UTF8; }} := letter;
trace {{
    major = 1; minor = 8; byte_order = le; uuid = "{uuid}";
    packet.header := struct {{ u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; }};
}};
env {{
    hostname = "{host}"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1.0"; architecture = "x86_64";
    tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; tracer_patchlevel = 9;
}};
clock {{ name = "monotonic"; uuid = "{clock}"; freq = 1000000000; offset = 1700000000000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := time_t;
stream {{
    id = 0;
    packet.context := struct {{ time_t timestamp_begin; time_t timestamp_end; u64 content_size; u64 packet_size;
        u64 packet_seq_num; u64 events_discarded; u32 cpu_id; }};
    event.header := struct {{ u32 id; time_t timestamp; }};
}};
"""
HEADER = struct.Struct("<I16sIQ")
CONTEXT = struct.Struct("<QQQQQQI")

# Kinds of fields: what TSDL calls them, what struct calls them.
KINDS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "i64": "q"}


def text(size):
    return f"letter[{size}]"


def declare(name, kind):
    if "[" in kind:
        element, size = kind[:-1].split("[")
        return f"{element} {name}[{size}];"
    return f"{kind} {name};"


def struct_code(kind):
    return f"{kind[:-1].split('[')[1]}s" if "[" in kind else KINDS[kind]


SWITCH = [("prev_comm", text(16)), ("prev_tid", "i32"), ("prev_prio", "i32"), ("prev_state", "i64"),
          ("next_comm", text(16)), ("next_tid", "i32"), ("next_prio", "i32")]
WAKE = [("comm", text(16)), ("tid", "i32"), ("prio", "i32"), ("target_cpu", "i32")]
REQUEST = [("dev", "u32"), ("sector", "u64"), ("nr_sector", "u32"), ("rwbs", "u32"), ("tid", "i32")]

# Event classes by name: fields as (name, kind).
CLASSES = {
    "sched_switch": SWITCH,
    "sched_wakeup": WAKE,
    "sched_waking": WAKE,
    "sched_process_fork": [("parent_comm", text(16)), ("parent_tid", "i32"), ("parent_pid", "i32"), ("child_comm", text(16)),
                           ("child_tid", "i32"), ("child_pid", "i32")],
    "sched_process_exit": [("comm", text(16)), ("tid", "i32"), ("prio", "i32")],
    "sched_process_free": [("comm", text(16)), ("tid", "i32"), ("prio", "i32")],
    "task_rename": [("tid", "i32"), ("oldcomm", text(16)), ("newcomm", text(16))],
    "lttng_statedump_process_state": [("tid", "i32"), ("pid", "i32"), ("ppid", "i32"), ("name", text(16)), ("status", "i32"),
                                      ("file_table_address", "u64"), ("cpu", "u32")],
    "lttng_statedump_file_descriptor": [("file_table_address", "u64"), ("fd", "i32"), ("flags", "u32"), ("fmode", "u32"),
                                        ("filename", text(24))],
    "lttng_statedump_block_device": [("dev", "u32"), ("diskname", text(16))],
    "irq_handler_entry": [("irq", "i32"), ("name", text(16))],
    "irq_handler_exit": [("irq", "i32"), ("ret", "i32")],
    "irq_softirq_entry": [("vec", "u32")],
    "irq_softirq_exit": [("vec", "u32")],
    "block_rq_insert": REQUEST,
    "block_rq_issue": REQUEST,
    "block_rq_complete": REQUEST,
    "block_bio_remap": [("dev", "u32"), ("sector", "u64"), ("nr_sector", "u32"), ("old_dev", "u32"), ("old_sector", "u64")],
    "net_dev_xmit": [("skbaddr", "u64"), ("rc", "i32"), ("len", "u32"), ("name", text(16))],
    "syscall_entry_openat": [("dfd", "i32"), ("filename", text(24)), ("flags", "i32"), ("mode", "u32")],
    "syscall_exit_openat": [("ret", "i64")],
    "syscall_entry_read": [("fd", "u32"), ("count", "u64")],
    "syscall_exit_read": [("ret", "i64"), ("buf", "u64")],
    "syscall_entry_dup2": [("oldfd", "u32"), ("newfd", "u32")],
    "syscall_exit_dup2": [("ret", "i64")],
    "syscall_entry_close": [("fd", "u32")],
    "syscall_exit_close": [("ret", "i64")],
    "syscall_entry_futex": [("uaddr", "u64"), ("op", "i32"), ("val", "u32"), ("utime", "u64"), ("uaddr2", "u64"), ("val3", "u32")],
    "syscall_exit_futex": [("ret", "i64"), ("uaddr", "u64"), ("uaddr2", "u64")],
    "kmem_mm_page_alloc": [("page", "u64"), ("pfn", "u64"), ("order", "u32")],
    "power_cpu_frequency": [("state", "u32"), ("cpu_id", "u32")],
    "perf:mmap": [("pid", "i64"), ("addr", "u64"), ("len", "u64"), ("pgoff", "u64"), ("filename", text(24))],
    "begin": [("key", "u64")],
    "end": [("key", "u64")],
}

# Of traces of hosts of virtual machines alone: what a trace declares is looked for.
KVM = {"kvm_x86_entry": [("vcpu_id", "u32")], "kvm_x86_exit": [("exit_reason", "u32"), ("isa", "u32"), ("info1", "u64")]}

# A TCP packet, whose fields lie in structures of structures.
PACKET_TSDL = """u64 skbaddr; u32 len; letter name[16]; struct { struct { u16 tot_len; u8 ihl; u16 id; u8 protocol; u8 saddr[4];
    u8 daddr[4]; struct { struct { u16 source_port; u16 dest_port; u32 seq; u32 ack_seq; u8 data_offset; u16 flags; u16 window_size; } tcp; }
    transport_header; } ipv4; } network_header;"""
PACKET = struct.Struct("<QI16sHBHB4s4sHHIIBHH")
PACKETS = ("net_dev_queue", "net_if_receive_skb")


class Trace:
    """A trace of one host that is written event by event; times ascend by STEP_NS unless they are given."""

    def __init__(self, directory, host="grown", extra_classes=()):
        self.directory = directory
        self.uuid = uuid.UUID(int=random.Random(host + directory).getrandbits(128))
        self.clock_uuid = uuid.UUID(int=random.Random(host).getrandbits(128))
        self.host = host
        self.ids, self.structs = {}, {}
        self.classes = {**CLASSES, **dict.fromkeys(PACKETS, ()), **(extra_classes if isinstance(extra_classes, dict)
                                                                   else dict.fromkeys(extra_classes, ()))}
        for number, (name, fields) in enumerate(self.classes.items()):
            self.ids[name] = number
            codes = PACKET.format[1:] if name in PACKETS else "".join(struct_code(k) for _, k in fields)
            self.structs[name] = struct.Struct("<IQ" + codes)
        self.now = 0
        self.streams = {}  # cpu: [list of events]
        self.packets = {}  # cpu: list of (first time, last time, number of events, bytes, discarded)
        self.discarded = {}

    def add(self, event_name, *values, cpu=0, at=None):
        self.now = self.now + STEP_NS if at is None else at
        record = self.structs[event_name].pack(self.ids[event_name], self.now, *values)
        stream = self.streams.setdefault(cpu, [])
        stream.append((self.now, record))
        if len(stream) == PACKET_EVENTS:
            self.end_packet(cpu)

    def packet(self, event_name, number, source, destination, ports, seq, *, cpu=0, payload=100, flags=16, ack=1, window=500,
               device=b"eth0"):
        self.add(event_name, number, payload + 40, device, payload + 40, 5, 0, 6, source, destination, *ports, seq, ack, 5, flags, window,
                 cpu=cpu)

    def end_packet(self, cpu, discarded=0, damage=False):
        """What was added to the CPU since becomes a packet; `discarded` events were lost behind it."""
        events = self.streams.get(cpu, [])
        self.discarded[cpu] = self.discarded.get(cpu, 0) + discarded
        records = b"".join(record for _, record in events)
        first, last = (events[0][0], events[-1][0]) if events else (self.now, self.now)
        packets = self.packets.setdefault(cpu, [])
        size = HEADER.size + CONTEXT.size + len(records)
        head = HEADER.pack(MAGIC, self.uuid.bytes, 0, cpu)
        context = CONTEXT.pack(first, last, size * 8, size * 8, len(packets), self.discarded[cpu], cpu)
        if damage:  # an event class that there is not
            records = b"\xff\xff\xff\xff" + records[4:]
        packets.append(head + context + records)
        self.streams[cpu] = []

    def write(self, more_tsdl=""):
        os.makedirs(self.directory)
        for cpu in sorted(set(self.streams) | set(self.packets)):
            if self.streams.get(cpu):
                self.end_packet(cpu)
            with open(os.path.join(self.directory, f"c_{cpu}"), "wb") as file:
                file.writelines(self.packets.get(cpu, []))
        with open(os.path.join(self.directory, "metadata"), "w", encoding="ascii") as file:
            file.write(PREAMBLE.format(uuid=self.uuid, host=self.host, clock=self.clock_uuid))
            for name, number in self.ids.items():
                fields = PACKET_TSDL if name in PACKETS else " ".join(declare(*field) for field in self.classes[name])
                file.write(f'event {{ name = "{name}"; id = {number}; stream_id = 0; fields := struct {{ {fields} }}; }};\n')
            file.write(more_tsdl)
        return self.directory


# ---- dimensions: each writes a trace with n of something to `directory` ----

def comm(number):
    return b"t%d" % number


def switch(trace, out, into, *, state=0, cpu=0, out_comm=None, into_comm=None):
    trace.add("sched_switch", out_comm or (comm(out) if out else b"swapper/%d" % cpu), out, 20, state,
              into_comm or (comm(into) if into else b"swapper/%d" % cpu), into, 20, cpu=cpu)


def tasks(directory, n):
    """Threads of one process that wake each other one after the other."""
    trace = Trace(directory)
    trace.add("sched_process_fork", b"t1", 1, 1, b"t2", 2, 1)
    for tid in range(2, n + 2):
        trace.add("sched_process_fork", b"t1", 1, 1, comm(tid + 1), tid + 1, 1)
        switch(trace, tid - 1, tid, state=1)
        trace.add("sched_wakeup", comm(tid - 1), tid - 1, 20, 0)
    return trace.write()


def processes(directory, n):
    """Processes that are forked, run and die."""
    trace = Trace(directory)
    for tid in range(2, n + 2):
        trace.add("sched_process_fork", b"t1", 1, 1, comm(tid), tid, tid)
        switch(trace, 1, tid)
        trace.add("sched_process_exit", comm(tid), tid, 20)
        switch(trace, tid, 1, state=16)
    return trace.write()


def lineage(directory, n):
    """Each process forks the next."""
    trace = Trace(directory)
    for tid in range(1, n + 1):
        trace.add("sched_process_fork", comm(tid), tid, tid, comm(tid + 1), tid + 1, tid + 1)
        switch(trace, tid, tid + 1, state=1)
    return trace.write()


def renames(directory, n):
    """A task that has another name whenever it leaves a CPU."""
    trace = Trace(directory)
    for i in range(n):
        switch(trace, 0, 7, into_comm=b"n%d" % i)
        switch(trace, 7, 0, state=1, out_comm=b"n%d" % i)
    return trace.write()


def slices(directory, n):
    """Two tasks that take turns and wake each other."""
    trace = Trace(directory)
    for i in range(n):
        a, b = (7, 8) if i % 2 else (8, 7)
        trace.add("sched_wakeup", comm(b), b, 20, 0)
        switch(trace, a, b, state=1)
    return trace.write()


def waking_tree(directory, n):
    """A task wakes all others while they are blocked, and is woken by each."""
    trace = Trace(directory)
    for tid in range(2, n + 2):
        switch(trace, 1, tid, state=1)
        trace.add("sched_wakeup", comm(1), 1, 20, 0)
        switch(trace, tid, 1, state=1)
    for tid in range(2, n + 2):
        trace.add("sched_wakeup", comm(tid), tid, 20, 0)
    return trace.write()


def call(trace, name, arguments, result):
    trace.add("syscall_entry_" + name, *arguments)
    trace.add("syscall_exit_" + name, *result)


def dumped_descriptors(directory, n):
    """Descriptors of one process dumped from the highest down."""
    trace = Trace(directory)
    trace.add("lttng_statedump_process_state", 7, 7, 1, b"t7", 5, 0xABC, 0)
    for fd in range(n, 0, -1):
        trace.add("lttng_statedump_file_descriptor", 0xABC, fd, 0, 0, b"/f%d" % fd)
    switch(trace, 0, 7)
    call(trace, "read", (3, 100), (10, 0))
    return trace.write()


def opened_descriptors(directory, n):
    """Descriptors opened in an order of no order."""
    trace = Trace(directory)
    order = list(range(n))
    random.Random(n).shuffle(order)
    switch(trace, 0, 7)
    for fd in order:
        call(trace, "dup2", (1, fd), (fd,))
        call(trace, "read", (fd, 100), (10, 0))
    return trace.write()


def files(directory, n):
    """Many files, each opened, read and closed."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    for i in range(n):
        call(trace, "openat", (-100, b"/f%d" % i, 0, 0), (3,))
        call(trace, "read", (3, 100), (10, 0))
        call(trace, "close", (3,), (0,))
    return trace.write()


def open_calls(directory, n):
    """System calls of as many tasks that never return."""
    trace = Trace(directory)
    for tid in range(2, n + 2):
        switch(trace, tid - 1, tid, state=1)
        trace.add("syscall_entry_futex", 64 * tid, 0, 0, 0, 0, 0)
    return trace.write()


def futexes(directory, n):
    """Futexes waited for once each."""
    trace = Trace(directory)
    for i in range(n):
        switch(trace, 8, 7)
        trace.add("syscall_entry_futex", 64 * i, 128, 0, 0, 0, 0)
        switch(trace, 7, 8, state=1)
        trace.add("sched_wakeup", comm(7), 7, 20, 0)
        switch(trace, 8, 7)
        trace.add("syscall_exit_futex", 0, 64 * i, 0)
    return trace.write()


def disks(directory, n):
    """Disks, with a request each."""
    trace = Trace(directory)
    for dev in range(1, n + 1):
        trace.add("lttng_statedump_block_device", dev, b"disk%d" % dev)
    switch(trace, 0, 7)
    for dev in range(1, n + 1):
        trace.add("block_rq_insert", dev, 8, 8, 1, 7)
        trace.add("block_rq_issue", dev, 8, 8, 1, 7)
        trace.add("block_rq_complete", dev, 8, 8, 1, 7)
    return trace.write()


def requests_in_flight(directory, n):
    """Requests to one disk that never complete, then some that do."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    for i in range(n):
        trace.add("block_rq_insert", 1, 8 * i, 8, 1, 7)
        trace.add("block_rq_issue", 1, 8 * i, 8, 1, 7)
    for i in range(0, n, 2):
        trace.add("block_rq_complete", 1, 8 * i, 8, 1, 7)
    return trace.write()


def remaps(directory, n):
    """Bios that are remapped and never issued."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    for i in range(n):
        trace.add("block_bio_remap", 1, 8 * i, 8, 2, 16 * i)
    trace.add("block_rq_issue", 1, 8, 8, 1, 7)
    return trace.write()


def interfaces(directory, n):
    """Network interfaces, a packet each."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("net_dev_xmit", i + 1, 0, 100, b"if%d" % i)
        trace.packet("net_if_receive_skb", i + 1, b"\1\2\3\4", b"\5\6\7\10", (80, 1000), 100 * i, device=b"if%d" % i)
    return trace.write()


def address(number):
    return struct.pack(">I", 0x0A000000 + number)


def flows(directory, n):
    """Connections: a request and its answer each, between two hosts."""
    client, server = Trace(os.path.join(directory, "a"), host="a"), Trace(os.path.join(directory, "b"), host="b")
    switch(client, 0, 7)
    switch(server, 0, 9)
    for i in range(n):
        there, back = (address(1), address(2 + i), (1000, 80)), (address(2 + i), address(1), (80, 1000))
        for trace, other, ends in ((client, server, there), (server, client, back)):
            trace.packet("net_dev_queue", 64 + i, *ends, 1000, flags=24)
            other.now = trace.now
            other.packet("net_if_receive_skb", 64 + i, *ends, 1000, flags=24)
            trace.now = other.now
    client.write()
    server.write()
    return directory


def segments(directory, n):
    """One connection with many packets of which nothing is received."""
    trace = Trace(directory)
    for i in range(n):
        trace.packet("net_dev_queue", 64 + i, address(1), address(2), (1000, 80), 100 * i, flags=24)
    return trace.write()


def closed_windows(directory, n):
    """A task waits for room in a connection as often as the other end closes its window and opens it again; the acknowledgement of what
    left then wakes it."""
    trace = Trace(directory)
    ends, back = (address(1), address(2), (1000, 80)), (address(2), address(1), (80, 1000))
    switch(trace, 0, 7)
    trace.packet("net_dev_queue", 64, *ends, 1000, flags=24)
    for i in range(n):
        switch(trace, 7, 0, state=1)
        trace.add("irq_softirq_entry", 3)
        for part, (ack, window) in enumerate(((1, 0), (1, 500), (2, 500))):
            trace.packet("net_if_receive_skb", 65 + 3 * i + part, *back, 1, payload=0, ack=1000 + 100 * (i + ack), window=window)
            if part == 1:
                trace.packet("net_dev_queue", 66 + 3 * i, *ends, 1000 + 100 * (i + 1), flags=24)
        trace.add("sched_waking", comm(7), 7, 20, 0)
        trace.add("irq_softirq_exit", 3)
        switch(trace, 0, 7)
    switch(trace, 7, 0, state=1)
    return trace.write()


def alike(directory, n):
    """One connection, in which one end says the same number again and again; all of it arrives late, after a packet that took as long."""
    client, server = Trace(os.path.join(directory, "a"), host="a"), Trace(os.path.join(directory, "b"), host="b")
    ends, late = (address(1), address(2), (1000, 80)), 10**9
    switch(client, 0, 7)
    switch(server, 0, 9)
    for trace, name in ((client, "net_dev_queue"), (server, "net_if_receive_skb")):
        trace.packet(name, 64, *ends, 1000, flags=24)
        for i in range(n):
            trace.packet(name, 65 + i, *ends, 1100, payload=0)
        server.now = client.now + late
    client.write()
    server.write()
    return directory


def reordered(directory, n):
    """One connection whose packets come in no order, on two hosts."""
    client, server = Trace(os.path.join(directory, "a"), host="a"), Trace(os.path.join(directory, "b"), host="b")
    order = list(range(n))
    random.Random(n).shuffle(order)
    for i in range(n):
        client.packet("net_dev_queue", 64 + i, address(1), address(2), (1000, 80), 100 * order[i], flags=24)
    random.Random(n + 1).shuffle(order)
    server.now = client.now
    for i in range(n):
        server.packet("net_if_receive_skb", 64 + i, address(1), address(2), (1000, 80), 100 * order[i], flags=24)
    client.write()
    server.write()
    return directory


def irqs(directory, n):
    """Interrupts, each of another number and name."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("irq_handler_entry", i, b"dev%d" % i)
        trace.add("irq_handler_exit", i, 1)
    return trace.write()


def nests(directory, n):
    """Interrupts that begin and never end."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("irq_handler_entry", i % 100, b"dev%d" % (i % 100))
        trace.add("irq_softirq_entry", i % 10)
    return trace.write()


def open_periods(directory, n):
    """Events that begin periods, all of which the last ends; keys are all different."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("begin", i)
    for i in range(n):
        trace.add("end", n - 1 - i)
    return trace.write()


def endless_periods(directory, n):
    """Events that begin periods and none that end them, and others that belong to none."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("begin", i)
        trace.add("end", n + i)
    return trace.write()


def packets(directory, n):
    """Packets of one event."""
    trace = Trace(directory)
    for i in range(n):
        switch(trace, 7 + i % 2, 8 - i % 2)
        trace.end_packet(0)
    return trace.write()


def damaged(directory, n):
    """Packets with an event class that was not declared, one after the other."""
    trace = Trace(directory)
    for i in range(n):
        switch(trace, 7 + i % 2, 8 - i % 2)
        trace.end_packet(0, damage=True)
    return trace.write()


def losses(directory, n):
    """Events lost after each packet."""
    trace = Trace(directory)
    for i in range(n):
        switch(trace, 7 + i % 2, 8 - i % 2)
        trace.end_packet(0, discarded=1)
    return trace.write()


def entered(trace):
    """The virtual CPU enters its guest and leaves it."""
    trace.add("kvm_x86_entry", 0)
    trace.add("kvm_x86_exit", 1, 1, 7)


def waiting_vcpus(directory, n):
    """Virtual CPUs that take turns on one CPU; all others wait for it."""
    trace = Trace(directory, extra_classes=KVM)
    for turn in range(3):
        for i in range(n):
            switch(trace, 6 + (i or n) if i or turn else 0, 7 + i)
            entered(trace)
    return trace.write()


def lost_vcpus(directory, n):
    """Virtual CPUs that wait for their CPU, and then as many losses."""
    trace = Trace(directory, extra_classes=KVM)
    for i in range(n):
        switch(trace, 6 + i if i else 0, 7 + i)
        entered(trace)
    switch(trace, 6 + n, 5)
    for i in range(n):
        switch(trace, 5 - i % 2, 4 + i % 2)
        trace.end_packet(0, discarded=1)
    return trace.write()


def cpus(directory, n):
    """CPUs, a stream each."""
    trace = Trace(directory)
    for cpu in range(n):
        switch(trace, 0, 7 + cpu, cpu=cpu)
        switch(trace, 7 + cpu, 0, cpu=cpu)
    return trace.write()


def event_classes(directory, n):
    """Event classes that the metadata declares."""
    trace = Trace(directory, extra_classes=[f"class_{i}" for i in range(n)])
    switch(trace, 0, 7)
    for i in range(n):
        trace.add(f"class_{i}")
    return trace.write()


def labels(directory, n):
    """Labels of one enumeration."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    values = ", ".join(f"L{i} = {i}" for i in range(n))
    return trace.write(f'event {{ name = "labelled"; id = 1000; stream_id = 0; fields := struct {{ enum : u32 {{ {values} }} e; }}; }};\n')


def fields(directory, n):
    """Fields of one event class."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    members = " ".join(f"u32 f{i};" for i in range(n))
    return trace.write(f'event {{ name = "wide"; id = 1000; stream_id = 0; fields := struct {{ {members} }}; }};\n')


def directories(directory, n):
    """Traces of one host, each in its own directory."""
    for i in range(n):
        trace = Trace(os.path.join(directory, f"d{i}"))
        switch(trace, 0, 7)
        trace.write()
    return directory


def outcomes(directory, n):
    """System calls that return as many different numbers."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    for i in range(n):
        call(trace, "read", (3, 100), (-1 - i, 0))
    return trace.write()


def irq_names(directory, n):
    """One interrupt that has another name each time."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("irq_handler_entry", 9, b"dev%d" % i)
        trace.add("irq_handler_exit", 9, 1)
    return trace.write()


def priorities(directory, n):
    """A task that has another priority each time."""
    trace = Trace(directory)
    for i in range(n):
        trace.add("sched_switch", b"swapper/0", 0, 20, 0, b"t7", 7, i % 2000 - 1000)
        trace.add("sched_switch", b"t7", 7, i % 2000 - 1000, 1, b"swapper/0", 0, 20)
    return trace.write()


def frequencies(directory, n):
    """Changes of a CPU's frequency while one task runs."""
    trace = Trace(directory)
    switch(trace, 0, 7)
    for i in range(n):
        trace.add("power_cpu_frequency", 1000 + i, 0)
    switch(trace, 7, 0)
    return trace.write()


def curved(directory, n):
    """Packets between two hosts whose delays follow a curve, so that each one bounds the clocks."""
    client, server = Trace(os.path.join(directory, "a"), host="a"), Trace(os.path.join(directory, "b"), host="b")
    there, back = (address(1), address(2), (1000, 80)), (address(2), address(1), (80, 1000))
    for i in range(n):
        delay = (i - n // 2) ** 2 + 1000
        for trace, other, ends in ((client, server, there), (server, client, back)):
            trace.now = other.now = i * 1000000
            trace.packet("net_dev_queue", 64 + i, *ends, 1000 + 100 * i, flags=24)
            other.now += delay
            other.packet("net_if_receive_skb", 64 + i, *ends, 1000 + 100 * i, flags=24, cpu=1)
    client.write()
    server.write()
    return directory


def mappings(directory, n):
    """Files mapped into one process from the highest address down, as a dump may tell them."""
    trace = Trace(directory)
    for i in range(n, 0, -1):
        trace.add("perf:mmap", 7, 4096 * i, 4096, 0, b"/lib%d" % (i % 100))
    switch(trace, 0, 7)
    switch(trace, 7, 0, state=1)
    return trace.write()


def hosts(directory, n):
    """Machines, each with its own trace."""
    for i in range(n):
        trace = Trace(os.path.join(directory, f"h{i}"), host=f"h{i}")
        switch(trace, 0, 7)
        trace.add("net_dev_xmit", i + 1, 0, 100, b"eth0")
        trace.packet("net_dev_queue", i + 1, address(i), address(i + 1), (1000, 80), 1000)
        switch(trace, 7, 0, state=1)
        trace.write()
    return directory


def exchange(a, b, a_address, b_address):
    """Two hosts send each other two packets, in turn, each 1 us on its way."""
    there, back = (a_address, b_address, (1000, 80)), (b_address, a_address, (80, 1000))
    a.now = b.now = max(a.now, b.now)
    for i in range(2):
        for sender, receiver, ends in ((a, b, there), (b, a, back)):
            sender.packet("net_dev_queue", 64 + i, *ends, 1000 + 100 * i, flags=24)
            receiver.now = sender.now + 1000
            receiver.packet("net_if_receive_skb", 64 + i, *ends, 1000 + 100 * i, flags=24)
            sender.now = receiver.now


def machines(directory, n):
    made = [Trace(os.path.join(directory, f"h{i}"), host=f"h{i}") for i in range(n)]
    for trace in made:
        switch(trace, 0, 7)
    return made


def star(directory, n):
    """Machines that all talk with one."""
    hub, *others = machines(directory, n + 1)
    for i, other in enumerate(others):
        exchange(other, hub, address(2 + i), address(1))
    for trace in (hub, *others):
        trace.write()
    return directory


def pairs_of_hosts(directory, n):
    """Machines that all talk with each other, so many that they make N pairs."""
    made = machines(directory, max(2, round((2 * n) ** 0.5)))
    for i, a in enumerate(made):
        for k, b in enumerate(made[:i]):
            exchange(a, b, address(1 + i), address(1 + k))
    for trace in made:
        trace.write()
    return directory


def couples(directory, n):
    """Machines of which each talks with one other."""
    made = machines(directory, 2 * (n // 2))
    for i in range(0, len(made), 2):
        exchange(made[i], made[i + 1], address(1 + i), address(2 + i))
    for trace in made:
        trace.write()
    return directory
