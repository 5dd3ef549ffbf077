#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What calls wait for is among their arguments, as LTTng records them: of poll() and select() arrays of struct pollfd, and sets of bits, at the
# start of a call and at its end; of epoll_wait() numbers that epoll_ctl() was given; of others a path, which has many names. The trace is written here in both byte orders; what each wait is for is what the scene says. Then on a recording of LTTng: babeltrace2
# prints of each poll() that ended which descriptors were ready, and of each connect() with whom they were connected.
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from tap import Tap

LULL, tap = os.environ["LULL"], Tap()
MS = 1000000
POLLER, OTHER = 10, 20
POLLFD = "struct { s32 fd; u16 raw_events; struct { bit POLLIN; bit POLLPRI; integer { size = 6; align = 1; } padding; } events; }"
EPOLL_EVENT = ("struct { struct { u64 _u64; s32 _fd; } data_union; u32 raw_events; struct { bit EPOLLIN; bit EPOLLPRI; bit EPOLLOUT; bit EPOLLERR; "
               "integer { size = 4; align = 1; } padding; } events; }")
SETS = "u8 _readfds_length; u8 readfds[_readfds_length]; u8 _writefds_length; u8 writefds[_writefds_length]; u8 _exceptfds_length; u8 exceptfds[_exceptfds_length];"
CLASSES = {
    "sched_switch": "char prev_comm[16]; s32 prev_tid; s32 prev_prio; s64 prev_state; char next_comm[16]; s32 next_tid; s32 next_prio;",
    "sched_waking": "char comm[16]; s32 tid; s32 prio; s32 target_cpu;",
    "timer_hrtimer_expire_entry": "u64 hrtimer;", "timer_hrtimer_expire_exit": "u64 hrtimer;",
    "syscall_entry_openat": "s32 dfd; string filename; s32 flags; u16 mode;", "syscall_exit_openat": "s64 ret;",
    "syscall_entry_poll": f"s32 timeout_msecs; u32 nfds; u32 fds_length; u8 overflow; {POLLFD} fds[fds_length];",
    "syscall_exit_poll": f"s64 ret; u32 nfds; u32 fds_length; {POLLFD} fds[fds_length];",
    "syscall_entry_close": "s32 fd;", "syscall_exit_close": "s64 ret;",
    "syscall_entry_epoll_create1": "s32 flags;", "syscall_exit_epoll_create1": "s64 ret;",
    "syscall_entry_epoll_ctl": f"s32 epfd; s32 op_enum; s32 fd; {EPOLL_EVENT} _event;", "syscall_exit_epoll_ctl": "s64 ret;",
    "syscall_entry_epoll_wait": "s32 epfd; s32 maxevents; s32 timeout;",
    "syscall_exit_epoll_wait": f"s64 ret; u32 fds_length; u8 overflow; {EPOLL_EVENT} fds[fds_length];",
    "syscall_entry_socket": "s32 family; s32 type; s32 protocol;", "syscall_exit_socket": "s64 ret;",
    "syscall_entry_accept4": "s32 fd; u64 upeer_sockaddr; s32 upeer_addrlen; s32 flags;",
    "syscall_exit_accept4": "s64 ret; u16 family; u16 sport; u32 _v4addr_length; u8 v4addr[_v4addr_length];",
    "syscall_entry_rename": "string oldname; string newname;", "syscall_exit_rename": "s64 ret;",
    "syscall_entry_mount": "string dev_name; string dir_name; string type; u64 flags; u64 data;", "syscall_exit_mount": "s64 ret;",
    "syscall_entry_swapoff": "string specialfile;", "syscall_exit_swapoff": "s64 ret;",
    "syscall_entry_select": f"s32 n; u8 overflow; u64 tvp; {SETS}", "syscall_exit_select": f"s64 ret; u8 overflow; u64 tvp; {SETS}",
}


def metadata(order):
    types = "".join(f"typealias integer {{ size = {size}; align = 8; signed = {sign}; }} := {'us'[sign]}{size};\n"
                    for size in (8, 16, 32, 64) for sign in (0, 1))
    events = "".join(f'event {{ name = "{name}"; id = {number}; stream_id = 0; fields := struct {{ {fields} }}; }};\n'
                     for number, (name, fields) in enumerate(CLASSES.items()))
    return (f"/* CTF 1.8 */\n{types}typealias integer {{ size = 8; align = 8; encoding = UTF8; }} := char;\n"
            f"typealias integer {{ size = 1; align = 1; }} := bit;\n"
            f"trace {{ major = 1; minor = 8; byte_order = {order}; packet.header := struct {{ u32 magic; u32 stream_id; }}; }};\n"
            'env { hostname = "m"; domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; };\n'
            "clock { name = mono; freq = 1000000000; offset = 0; };\n"
            "typealias integer { size = 64; align = 8; map = clock.mono.value; } := time;\n"
            "stream { id = 0; packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size;"
            " u32 cpu_id; }; event.header := struct { u16 id; time timestamp; }; event.context := struct { s32 tid; }; };\n" + events)


class Scene:
    """One CPU: the poller waits until the other, or a timer, wakes it."""

    def __init__(self, order):
        self.order, self.now, self.data, self.known = {"le": "<", "be": ">"}[order], 5 * MS, b"", []

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def event(self, name, fields=b"", tid=POLLER):
        self.now += 1000
        self.data += self.pack("HQi", list(CLASSES).index(name), self.now, tid) + fields

    def switch(self, prev, following, state=0):
        comm = {0: b"swapper/0", POLLER: b"poller", OTHER: b"other"}
        self.event("sched_switch", struct.pack("16s", comm[prev]) + self.pack("iiq", prev, 20, state) + struct.pack("16s", comm[following]) +
                   self.pack("ii", following, 20), prev)

    def opens(self, fd):
        self.event("syscall_entry_openat", self.pack("i", -100) + f"/f{fd}".encode() + b"\0" + self.pack("iH", 0, 0))
        self.event("syscall_exit_openat", self.pack("q", fd))

    def accepts(self, fd, last_byte, port):
        self.event("syscall_entry_accept4", self.pack("iQii", 9, 1, 16, 0))
        self.event("syscall_exit_accept4", self.pack("qHHI", fd, 2, port, 4) + bytes((10, 0, 0, last_byte)))

    def fds(self, fds):
        return b"".join(self.pack("iHB", fd, 1, 1) for fd in fds)

    def sets(self, *sets):
        """LTTng puts the lowest descriptors first, whatever the machine."""
        texts = [sum(1 << fd for fd in one).to_bytes((max(one, default=-1) + 8) // 8, "little") for one in sets]
        return b"".join(bytes([len(text)]) + text for text in texts)

    def epoll_event(self, number):
        return self.pack("QIIB", number, number & 0xffffffff, 1, 1)

    def control(self, epoll, operation, fd, number=0):
        self.event("syscall_entry_epoll_ctl", self.pack("iii", epoll, operation, fd) + self.epoll_event(number))
        self.event("syscall_exit_epoll_ctl", self.pack("q", 0))

    def waits(self, call, given, ready, is_timer=False, ends=True):
        start = self.now
        if call == "poll":
            self.event("syscall_entry_poll", self.pack("iIIB", 100, len(given), len(given), 0) + self.fds(given))
        elif call == "epoll_wait":
            self.event("syscall_entry_epoll_wait", self.pack("iii", given, 8, 100))
        elif call != "select":
            self.event(f"syscall_entry_{call}", given)
        else:
            self.event("syscall_entry_select", self.pack("iBQ", 80, 0, 0) + self.sets(*given))
        by = 0 if is_timer else OTHER
        self.switch(POLLER, by, 1)
        self.now += 3 * MS
        if not ends:
            self.switch(by, 0, 1)
            return
        if is_timer:
            self.event("timer_hrtimer_expire_entry", self.pack("Q", 1), by)
        self.event("sched_waking", struct.pack("16s", b"poller") + self.pack("iii", POLLER, 20, 0), by)
        if is_timer:
            self.event("timer_hrtimer_expire_exit", self.pack("Q", 1), by)
        self.switch(by, POLLER, 0 if is_timer else 1)
        if call == "poll":
            self.event("syscall_exit_poll", self.pack("qII", len(ready), len(given), len(ready)) + self.fds(ready))
        elif call == "epoll_wait":
            self.event("syscall_exit_epoll_wait", self.pack("qIB", len(ready), len(ready), 0) + b"".join(map(self.epoll_event, ready)))
        elif call != "select":
            self.event(f"syscall_exit_{call}", self.pack("q", ready))
        else:
            self.event("syscall_exit_select", self.pack("qBQ", sum(map(len, ready)), 0, 0) + self.sets(*ready))
        self.now += MS
        return start

    def case(self, what, call, given, ready, wanted, **more):
        start = self.now
        self.waits(call, given, ready, **more)
        self.known.append((what, start, self.now, wanted, more.get("is_timer", False)))

    def play(self):
        self.switch(0, POLLER)
        for fd in (3, 4, 5, 6, 66):
            self.opens(fd)
        self.case("one of four is ready", "poll", (3, 4, 5, 6), (4,), "/f4")
        self.case("two of four are ready", "poll", (3, 4, 5, 6), (6, 3), "/f6 or /f3")
        self.case("all of four are ready: too many", "poll", (3, 4, 5, 6), (3, 4, 5, 6), None)
        self.case("two in vain", "poll", (3, 5), (), "/f3 or /f5", is_timer=True)
        self.case("three in vain", "poll", (6, 3, 5), (), "/f6, /f3 or /f5", is_timer=True)
        self.case("four in vain: too many", "poll", (3, 4, 5, 6), (), None, is_timer=True)
        self.case("the same four times", "poll", (5, 5, 5, 5), (), "/f5", is_timer=True)
        self.case("what is to be left out", "poll", (-1, 6, -1), (), "/f6", is_timer=True)
        self.case("what nobody has opened", "poll", (3, 99), (99,), None)
        self.case("a set's last", "select", ((3, 66), (), ()), ((66,), (), ()), "/f66")
        self.case("of three sets", "select", ((3, 4, 5), (6,), (66,)), ((), (6,), (66,)), "/f6 or /f66")
        self.case("sets in vain", "select", ((4,), (), (5,)), ((), (), ()), "/f4 or /f5", is_timer=True)
        self.event("syscall_entry_socket", self.pack("iii", 2, 1, 0))
        self.event("syscall_exit_socket", self.pack("q", 9))
        for fd, last_byte, port in ((21, 7, 40001), (22, 7, 40002), (23, 8, 40003)):
            self.accepts(fd, last_byte, port)
            self.case(f"a client's connection, {fd}", "poll", (fd,), (fd,), f"10.0.0.{last_byte}:{port}")
        self.play_epoll()
        self.case("rename()", "rename", b"/old\0/new\0", 0, "/old")
        self.case("mount()", "mount", b"/dev/sda\0/mnt\0ext4\0" + bytes(16), 0, "/mnt")
        self.case("swapoff(), which fails", "swapoff", b"/swapfile\0", -12, "/swapfile")
        self.case("not over", "poll", (5, 4), (), "/f5 or /f4", ends=False)

    def play_epoll(self):
        """The numbers are addresses of the program's own: they say nothing of descriptors."""
        add, delete, modify = 1, 2, 3
        at = {fd: 0x7f00_0000_1000 + 0x1_0000_0040 * fd for fd in (3, 4, 5, 6, 66)}
        for epoll in (30, 31):
            self.event("syscall_entry_epoll_create1", self.pack("i", 0))
            self.event("syscall_exit_epoll_create1", self.pack("q", epoll))
        for fd in (3, 4, 5, 6):
            self.control(30, add, fd, at[fd])
        self.case("epoll: one of four", "epoll_wait", 30, (at[4],), "/f4")
        self.case("epoll: two of four", "epoll_wait", 30, (at[6], at[3]), "/f6 or /f3")
        self.case("epoll: all of four: too many", "epoll_wait", 30, at.values(), None)
        self.case("epoll: four in vain: too many", "epoll_wait", 30, (), None, is_timer=True)
        self.case("epoll: a number that nobody has", "epoll_wait", 30, (at[4], 4), None)
        self.control(30, modify, 4, at[4])
        self.case("epoll: changed, the number is the same", "epoll_wait", 30, (at[4],), "/f4")
        self.control(30, modify, 4, 0x1234)
        self.case("epoll: another number", "epoll_wait", 30, (0x1234,), "/f4")
        self.case("epoll: the number of before", "epoll_wait", 30, (at[4],), None)
        self.control(30, delete, 5)
        self.case("epoll: what is watched no more", "epoll_wait", 30, (at[5],), None)
        self.control(30, add, 66, at[5])
        self.case("epoll: its number, for another", "epoll_wait", 30, (at[5],), "/f66")
        self.control(30, add, 5, at[6])
        self.case("epoll: two of one number", "epoll_wait", 30, (at[6],), None)
        self.control(30, delete, 6)
        for fd, number in ((3, 1), (4, 2)):
            self.control(31, add, fd, number)
        self.case("epoll: two in vain", "epoll_wait", 31, (), "/f3 or /f4", is_timer=True)
        self.case("epoll: one of two", "epoll_wait", 31, (2,), "/f4")
        self.case("epoll: a number of the other's", "epoll_wait", 31, (0x1234,), "/f3 or /f4")
        self.control(40, add, 3, at[3])
        self.case("epoll: of before, in vain", "epoll_wait", 40, (), "descriptor 40", is_timer=True)
        self.case("epoll: of before, what it has watched since", "epoll_wait", 40, (at[3],), "/f3")
        self.case("epoll: of before, what it watched then", "epoll_wait", 40, (at[4],), "descriptor 40")
        self.event("syscall_entry_close", self.pack("i", 3))
        self.event("syscall_exit_close", self.pack("q", 0))
        self.event("syscall_entry_openat", self.pack("i", -100) + b"/new\0" + self.pack("iH", 0, 0))
        self.event("syscall_exit_openat", self.pack("q", 3))
        self.control(30, add, 3, at[3])
        self.case("epoll: the same number and descriptor, of another file", "epoll_wait", 30, (at[3],), "/new")

    def write(self, folder, order):
        os.makedirs(folder)
        with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
            file.write(metadata(order))
        bits = (8 + 36 + len(self.data)) * 8
        with open(os.path.join(folder, "channel0_0"), "wb") as file:
            file.write(self.pack("II", 0xC1FC1FC1, 0) + self.pack("QQQQI", 1, self.now, bits, bits, 0) + self.data)


def ask(*command):
    done = subprocess.run([LULL, *command], capture_output=True, text=True, encoding="utf-8", check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def reasons_between(path, start, end):
    parts = sorted((*path["segments"], *path["waits"]), key=lambda part: part["begin_ns"])
    return [part["reason"] for part in parts
            if part.get("reason") and start <= part["begin_ns"] < end]


def check_scene(order):
    scene = Scene(order)
    scene.play()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        scene.write(trace, order)
        path = ask("critpath", "--full", "--json", "--tid", str(POLLER), trace)
        for what, start, end, wanted, timed_out in scene.known:
            found = reasons_between(path, start, end)
            tap.ok(len(found) == 1 and found[0]["object"] == wanted and found[0]["timed_out"] == timed_out, f"{order}: {what}", wanted, found)
        # waits does not tell the connections of a client apart.
        rows = ask("waits", "--json", "--tid", str(POLLER), "--limit", "0", trace)["windows"][0]["tables"]["waits"]
        clients = {row["object"]: row["count"] for row in rows if row["object"] and row["object"].startswith("10.")}
        tap.ok(clients == {"10.0.0.7": 2, "10.0.0.8": 1}, f"{order}: one row for a client", clients)


# ---- a recording ----

def connections(text):
    """Of each process and descriptor: with whom it was connected last, and when."""
    found, asked = collections.defaultdict(list), {}
    for time, event, pid, tid, fields in text:
        if event == "syscall_entry_connect":
            address = re.search(r"fd = (\d+),.*v4addr = \[ \[0\] = (\d+), \[1\] = (\d+), \[2\] = (\d+), \[3\] = (\d+) \]", fields)
            port = re.search(r"dport = (\d+)", fields)
            asked[tid] = (int(address[1]), ".".join(address.groups()[1:]) + ":" + port[1]) if address and port else None
        elif event == "syscall_exit_connect" and asked.get(tid):
            fd, peer = asked.pop(tid)
            found[pid, fd].append((time, peer))
        elif event == "syscall_entry_close":
            found[pid, int(re.search(r"fd = (\d+)", fields)[1])].append((time, None))
    return found


def check_recorded():
    """One host of three, and who asks it over the network by poll()."""
    host = os.path.join(os.environ["LULL_SAMPLES"], "django", "httpd")
    printed = subprocess.run(["babeltrace2", "--clock-seconds", "--fields=all", host], capture_output=True, text=True, check=True, timeout=300).stdout
    lines = re.findall(r"^\[(\d+\.\d+)\].* (syscall_(?:entry|exit)_(?:connect|close|poll)): .*?pid = (\d+), tid = (\d+),.*?\}, \{(.*)\}$", printed, re.M)
    tap.ok(len(lines) > 100, "babeltrace2 prints calls", printed[:600])
    calls = [(int(time.replace(".", "")), event, int(pid), int(tid), fields) for time, event, pid, tid, fields in lines]
    peers = connections(calls)
    wanted = collections.defaultdict(set)
    for time, event, pid, tid, fields in calls:
        ready = re.findall(r"\bfd = (\d+)", fields) if event == "syscall_exit_poll" else []
        known = [peer for since, peer in peers[pid, int(ready[0])] if since < time] if len(ready) == 1 else []
        if known and known[-1]:
            wanted[tid].add(known[-1])
    tap.ok(wanted, "some polled a connection", peers)
    for tid, known in sorted(wanted.items()):
        answer = ask("waits", "--json", "--tid", str(tid), "--limit", "0", host)
        rows = [(row["call"], row["object"]) for window in answer["windows"] for row in window["tables"]["waits"]]
        found = {name for call, name in rows if call == "poll" and name and re.match(r"\d+\.\d+\.\d+\.\d+:", name)}
        tap.ok(found == known, f"task {tid} waited for the peers that babeltrace2 shows", known, rows)


for byte_order in ("le", "be"):
    tap.run(byte_order, check_scene, byte_order)
if shutil.which("babeltrace2"):
    tap.run("recorded", check_recorded)
else:
    tap.skip("recorded", "babeltrace2 is not installed")
sys.exit(tap.done())
