#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TCP of chance: two ends that speak it as Linux does, over a network that loses, and whether Lull says what they waited for.

    random_tcp.py [SCENE FIRST LAST]

A client asks a server, on another host. Both keep TCP's rules: what is not acknowledged is sent again, by a timer that doubles; an
acknowledgement waits 40 ms for something to go with, Nagle's algorithm for it; a window closes, is probed, and opens. Each end writes
down what it did when. So it is known why each wait took as long as it did. Each packet is one line of a script for make_traces, with its
numbers as the end knows them. Without arguments: one seed of each scene. Prints TAP. LULL and MAKE_TRACES are the programs.
"""

import concurrent.futures
import heapq
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

US, MS = 1000, 1000000
EPOCH = 1700000000 * 10**9  # make_traces' zero
MSS, RTO, DELAY, CPUS = 1400, 200 * MS, 40 * MS, 60
WAKE = 5 * US  # from a packet until who waits for it is woken
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
SCENES = {
    "calls": {},
    "nagle": {"parts": True},
    "nodelay": {"parts": True, "nodelay": True},
    "losses": {"loss": 0.06},
    "parts-lost": {"loss": 0.04, "parts": True},
    "open": {"opens": 0.4},
    "window": {"bulk": True, "seed": 28},
    "little-room": {"bulk": True, "nodelay": True, "room": 2, "writes": (300, 700, 1000), "reads": 3},
    "window-lost": {"bulk": True, "loss": 0.03},
    "numbers": {"loss": 0.06, "host": " numbers", "whole": True},
    "window-alone": {"bulk": True, "loss": 0.03, "alone": True},
    "parts-alone": {"parts": True, "loss": 0.04, "alone": True},
    "ipv6": {"loss": 0.06, "flow": " ipv6", "parts": True},
}


class Piece:
    """Bytes that are cut no further: when they were sent, and which delayed acknowledgement had let them go."""
    def __init__(self, start, end):
        self.start, self.end, self.times, self.freed_by = start, end, [], None


class End:  # pylint: disable=R0902
    """A task and its end of the connection. Numbers count from the SYN's, which is 0; on the wire they start at `first`."""
    def __init__(self, world, name, tid, side):
        self.name, self.side, self.tid, self.task, self.peer = name, side, tid, f"{name}{tid}", None
        self.first = world.chance.choice((world.chance.randrange(2**32), 2**32 - world.chance.randrange(1, 40000)))
        self.script, self.call, self.state, self.waits = None, None, "new", []
        self.busy = [-MS] * CPUS
        # Sending; held: since when Nagle's algorithm holds something back. closed: since when the window is.
        self.sent, self.acked, self.written, self.marks, self.pieces, self.is_open = 0, 0, 1, [], [], False
        self.window, self.closed, self.held, self.rto, self.timer, self.probe = 60 * MSS, None, False, RTO, 0, 0
        self.small = 0  # the end of the last that did not fill a segment
        # Receiving; later: what came after a hole. unacked: when the oldest came that is not acknowledged.
        self.got, self.read, self.later, self.unacked, self.told, self.offered = 0, 1, [], None, 0, 0
        self.room = self.advertised = (world.scene.get("room", 6) if world.scene.get("bulk") and side == "server" else 60) * MSS

    def cpu(self, time, until):
        """One of its own for each interrupt."""
        number = next(number for number in range(1, CPUS) if self.busy[number] < time - 40 * US)
        self.busy[number] = until
        return f"{self.name}/{number}"


class World:  # pylint: disable=R0904
    """What happens, in order. truth: what TCP did, each (kind, first, last, times, nagle). wanted: (end, when, one of these): a wait that
    ended then was that long for that."""
    def __init__(self, seed, scene):
        self.chance, self.scene, self.due, self.now, self.order = random.Random(seed), scene, [], 0, 0
        self.lines, self.truth, self.wanted, self.last_arrival, self.skb = [], set(), [], {}, 0xffff888000000000
        self.transit = self.chance.randrange(50 * US, 3 * MS)
        self.tso, self.merges = self.chance.choice((1, 1, 4, 16)), self.chance.random() < 0.5
        if scene.get("whole"):
            self.tso, self.merges = 1, False
        self.client, self.server = End(self, "a", 100, "client"), End(self, "b", 200, "server")
        self.client.peer, self.server.peer = self.server, self.client
        for end, script in ((self.client, self.ask()), (self.server, self.answer())):
            end.script, end.state = script, "running"
            self.say(MS, f"{end.name}/0", f"run {end.task}")
            self.at(2 * MS + (0 if end is self.server else MS), self.go_on, end)
        while self.due and self.now < 30 * 10**9:
            self.now, _, function, arguments = heapq.heappop(self.due)
            function(*arguments)

    def at(self, time, function, *arguments):
        self.order += 1
        heapq.heappush(self.due, (time, self.order, function, arguments))

    def say(self, time, where, text):
        self.lines.append((time, f"{time}ns {where} {text}"))

    def script(self):
        ends = self.client, self.server
        found = [f"host {end.name}{self.scene.get('host', '')}" for end in ends]
        found += [f"task {end.task} {end.name} {end.tid}" for end in ends]
        found.append("flow f tcp a:40000 b:80" + self.scene.get("flow", ""))
        return "\n".join(found + [line for _, line in sorted(self.lines, key=lambda one: one[0])]) + "\n"

    # ---- what the programs do: they yield their calls ----

    def ask(self):
        yield "connect", 0
        for _ in range(self.chance.randrange(3, 9)):
            yield "compute", self.chance.randrange(50 * US, 3 * MS)
            if self.scene.get("bulk"):
                if "writes" not in self.scene:
                    yield "write", self.chance.randrange(10, 120) * 1000
                for _ in range(60 if "writes" in self.scene else 0):  # each for itself: no two fill a segment
                    yield "write", self.chance.choice(self.scene["writes"])
                    yield "compute", self.chance.randrange(100 * US, 300 * US)
                continue
            for _ in range(self.chance.randrange(1, 4) if self.scene.get("parts") else 1):
                yield "write", self.chance.choice((80, 300, 1000, 5000, 20000))
            yield "mark", 0
            yield "read", 0

    def answer(self):
        yield "accept", 0
        while True:
            if self.scene.get("bulk"):
                yield "read", self.chance.randrange(1, self.scene.get("reads", 30)) * 1000
                yield "sleep", self.chance.choice((MS, 5 * MS, 150 * MS))
                continue
            yield "read", 0
            yield "compute", self.chance.choice((100 * US, 2 * MS, 2 * MS, 60 * MS))
            for _ in range(self.chance.randrange(1, 4) if self.scene.get("parts") else 1):
                yield "write", self.chance.choice((80, 300, 1000, 5000, 20000))
            yield "mark", 0

    def go_on(self, end):
        """The task runs, from here to what it does next."""
        call, value = end.call = end.call or next(end.script, ("exit", 0))
        if call == "exit":
            self.block(end, "gone")
        elif call == "compute":
            end.call = None
            self.at(self.now + value, self.go_on, end)
        elif call == "sleep":
            end.call = None
            self.block(end, "sleep")
            self.at(self.now + value, self.expire, end)
        else:
            if getattr(self, "call_" + call)(end, value):
                end.call = None
                self.at(self.now + 30 * US, self.go_on, end)
            else:
                self.at(self.now + 30 * US, self.wait, end)

    def wait(self, end):
        """Unless something came meanwhile."""
        if self.can_go_on(end):
            self.go_on(end)
        else:
            self.block(end, end.call[0])

    def can_go_on(self, end):
        return {"read": end.got > end.read, "write": self.free(end) >= 6 * MSS}.get(end.call[0], end.is_open)

    def block(self, end, state):
        self.say(self.now, f"{end.name}/0", "block 1")
        end.state = state
        end.waits.append([self.now, None, state])

    def expire(self, end):
        self.say(self.now, end.cpu(self.now, self.now + 30 * US), f"hrtimer {end.task}")
        self.woken(end, self.now + WAKE)

    def woken(self, end, time):
        end.state, end.waits[-1][1] = "running", time
        self.say(time + 40 * US, f"{end.name}/0", f"run {end.task}")
        self.at(time + 45 * US, self.go_on, end)

    def free(self, end):
        return 16 * MSS - (end.written - end.acked) if self.scene.get("bulk") else 10**6

    def call_connect(self, end, _):
        if end.sent == 0:
            end.pieces, end.rto = [Piece(0, 1)], 1000 * MS
            self.transmit(end, end.pieces, SYN, f"{end.name}/0", 1 * US)
        return end.is_open

    def call_accept(self, end, _):
        return end.is_open

    def call_write(self, end, size):
        """Writes what there is room for; the rest later."""
        part = min(size, max(self.free(end), 0))
        end.written += part
        self.push(end, f"{end.name}/0", 1 * US)
        end.call = "write", size - part
        return part == size

    def call_mark(self, end, _):
        """What the other one waits for ends here."""
        end.marks.append(end.written)
        return True

    def call_read(self, end, size):
        """size 0: up to the mark."""
        until = end.read + size if size else next((mark for mark in end.peer.marks if mark > end.read), None)
        part = min(end.got, until or end.got) - end.read
        end.read += part
        now = end.room - (end.got - end.read)  # a read that makes much room says so
        if part and now >= 2 * MSS and end.got + now - end.offered >= 2 * MSS and end.advertised < 2 * MSS:
            self.acknowledge(end, f"{end.name}/0", 1 * US)
        return part > 0 if size else end.read == until

    # ---- what TCP sends ----

    def emit(self, end, where, after, flags, start, size):
        """A buffer leaves. What it says of the other direction: (acknowledged, window, tag)."""
        end.told, end.unacked = end.got, None
        end.advertised = max(0, end.room - (end.got - end.read))
        end.advertised = end.advertised if end.advertised >= MSS else 0
        end.offered = end.got + end.advertised
        self.skb += 0x100
        flags |= (ACK if end.got else 0) | (PSH if size else 0)
        self.say(self.now + after, where, self.packet(end, "out", start, end.got, size, flags, end.advertised))
        return end.got, end.advertised, None

    def packet(self, end, way, start, ack, size, flags, window):
        number = f"ack {(end.peer.first + ack) % 2**32} " if ack else ""
        window = min(window, 2**16 - 1) if flags & SYN else window // 16  # RFC 7323, 2.2: that of a SYN is not scaled
        return (f"{way} f {end.side} seq {(end.first + start) % 2**32} {number}bytes {size} flags {flags} window {window} "
                f"skb {self.skb}")

    def transmit(self, end, pieces, flags, where, after):
        """In one buffer, which is cut on the wire."""
        start, stop = pieces[0].start, pieces[-1].end
        said = self.emit(end, where, after, flags, start, 0 if flags & SYN else stop - start)
        for piece in pieces:
            piece.times.append(self.now + after)
            if len(piece.times) > 1:
                self.truth.add(self.again(piece, len(piece.times)))
        end.sent = max(end.sent, stop)
        loss = self.scene.get("opens", 0) if flags & SYN else self.scene.get("loss", 0)
        self.carry(end, [(piece, len(piece.times), flags) for piece in pieces if self.chance.random() >= loss], said, after)
        self.arm(end)

    def again(self, piece, count):
        return "syn-again" if piece.start == 0 else "sent-again", piece.times[0], piece.times[count - 1], count - 1, False

    def carry(self, end, items, said, after):
        """Parts that come one after the other may be merged into one buffer."""
        groups, most = [], self.chance.choice((1, 3, 20)) if self.merges else 1
        for item in items:
            if groups and groups[-1][-1][0].end == item[0].start and len(groups[-1]) < most:
                groups[-1].append(item)
            else:
                groups.append([item])
        for group in groups:
            time = max(self.now + after + self.transit, self.last_arrival.get(end.side, 0) + 2 * US)
            self.last_arrival[end.side] = time
            self.at(time, self.arrive, end.peer, group, said)

    def push(self, end, where, after, tag=None):
        """Sends what Nagle's algorithm and the window let it. Linux holds back what does not fill a segment while another such is not
        acknowledged (tcp_nagle_check(), tcp_minshall_check())."""
        count, was_held, end.held = 0, end.held, False
        while end.is_open and end.sent < end.written:
            size = min(end.written - end.sent, end.acked + end.window - end.sent, MSS * self.tso)
            size -= size % MSS if size > MSS else 0
            if size <= 0 or (size < MSS and end.sent + size < end.written):
                break  # what is less than a segment waits for more room
            end.held = size % MSS and end.acked < end.small and not self.scene.get("nodelay")
            if end.held and size < MSS:
                break
            size -= size % MSS if end.held else 0
            pieces = [Piece(start, min(start + MSS, end.sent + size)) for start in range(end.sent, end.sent + size, MSS)]
            end.small = end.sent + size if size % MSS else end.small
            if tag and count == 0 and was_held:
                pieces[0].freed_by = tag
                self.truth = {one for one in self.truth if one[1:3] != tag[1:3]} | {tag}
            end.pieces += pieces
            self.transmit(end, pieces, 0, where, after + count * US)
            count += 1
        if end.is_open and end.acked == end.sent < end.written and not count:
            self.start_probe(end, RTO)
        return count

    def arm(self, end):
        end.timer += 1
        self.at(self.now + end.rto, self.time_out, end, end.timer)

    def timer_runs(self, end):
        where = end.cpu(self.now, self.now + 30 * US)
        self.say(self.now - 5 * US, where, f"softirq 1 {25 * US}ns")
        return where

    def time_out(self, end, turn):
        if turn == end.timer and end.acked < end.sent:
            end.rto *= 2
            piece = end.pieces[0]
            self.transmit(end, [piece], SYN if piece.start == 0 else 0, self.timer_runs(end), 1 * US)

    def start_probe(self, end, after):
        end.probe += 1
        self.at(self.now + after, self.send_probe, end, end.probe, after)

    def send_probe(self, end, turn, after):
        """It has no bytes, and a number that is acknowledged already."""
        if end.probe == turn and end.acked == end.sent < end.written:
            said = self.emit(end, self.timer_runs(end), 1 * US, ACK, end.acked - 1, 0)
            self.truth.add(("zero-window", end.closed, self.now + 1 * US, 0, False))
            self.carry(end, [(Piece(end.acked - 1, end.acked - 1), 0, ACK)], said, 1 * US)
            self.start_probe(end, after * 2)

    def acknowledge(self, end, where, after, since=None):
        ack, window, _ = self.emit(end, where, after, ACK, end.sent, 0)
        tag = since and ("delayed-ack", since, self.now + after, 0)
        if tag:
            self.truth.add((*tag, False))
        if self.chance.random() >= self.scene.get("loss", 0):
            self.carry(end, [(Piece(end.sent, end.sent), 0, ACK)], (ack, window, tag and (*tag, True)), after)

    # ---- what TCP gets ----

    def arrive(self, end, group, said):
        """In an interrupt, in which what it lets go leaves."""
        start, stop, flags = group[0][0].start, group[-1][0].end, group[0][2]
        size, where = 0 if flags & SYN else stop - start, end.cpu(self.now, self.now + 60 * US)
        self.skb += 0x100
        line = self.packet(end.peer, "in", start, said[0], size, flags | (ACK if said[0] else 0) | (PSH if size else 0), said[1])
        if self.take(end, group, said, where):
            line += f" wake {end.task}"
            self.woken(end, self.now + WAKE)
        self.say(self.now, where, line)

    def take(self, end, group, said, where):
        """Whether it wakes the task."""
        ack, window, tag = said
        is_syn, old = group[0][2] & SYN, end.acked
        self.note_window(end, min(window, 2**16 - 1) if is_syn else window)
        if ack > end.acked:
            end.acked, end.rto = ack, RTO
            end.pieces = [piece for piece in end.pieces if piece.end > ack]
            end.timer += 1
            if end.acked < end.sent:
                self.arm(end)
        if is_syn:
            return self.take_syn(end, group[0], where)
        wakes = not end.is_open and end.acked >= 1
        end.is_open |= wakes
        wakes = (wakes and end.state == "accept") | self.take_data(end, group, where)
        sends = self.push(end, where, 3 * US, tag) if end.acked > old or window else 0
        if not sends and end.unacked is not None:
            if end.got - end.told >= 2 * MSS:
                self.acknowledge(end, where, 3 * US)
            else:
                self.at(end.unacked + DELAY, self.delayed, end, end.unacked)
        return wakes or (end.state == "write" and self.free(end) >= 6 * MSS)

    def take_syn(self, end, item, where):
        is_first, end.got = end.got == 0, 1
        if end is self.server:
            end.pieces, end.rto = end.pieces or [Piece(0, 1)], 1004 * MS
            if end.acked < 1:
                self.transmit(end, end.pieces, SYN, where, 2 * US)
            return False
        self.acknowledge(end, where, 2 * US)
        if is_first and end.acked:
            end.is_open = True
            self.reason(end, item)
        return is_first and end.acked and end.state == "connect"

    def note_window(self, end, window):
        if window == 0 and end.closed is None:
            end.closed = self.now
        elif window and end.closed is not None:
            self.truth.add(("zero-window", end.closed, self.now, 0, False))
            self.wanted.append((end, self.now, ("zero-window", end.closed, self.now, 0, False)))
            end.closed = None
            end.probe += 1
        end.window = window

    def take_data(self, end, group, where):
        start, stop, before = group[0][0].start, group[-1][0].end, end.got
        if start == stop:
            if start < end.got and group[0][1] == 0 and group[0][0].start < end.got:
                self.acknowledge(end, where, 2 * US)  # it was a probe
            return False
        if stop <= end.got or stop > end.offered + MSS:
            self.acknowledge(end, where, 2 * US)
            return False
        end.later.append((start, stop))
        for begin, until in sorted(end.later):
            end.got = until if begin <= end.got < until else end.got
        end.later = [one for one in end.later if one[1] > end.got]
        if end.got == before or end.later:
            self.acknowledge(end, where, 2 * US)
        elif end.unacked is None:
            end.unacked = self.now
        if end.got > before:
            self.reason(end, next(item for item in group if item[0].end > before))
        return end.got > before and end.state == "read"

    def delayed(self, end, since):
        if end.unacked == since:
            self.acknowledge(end, self.timer_runs(end), 1 * US, since)

    def reason(self, end, item):
        """The packet brings what the task waits for; which of its sends it was says why it came late."""
        piece, count, _ = item
        if count > 1:
            self.wanted.append((end, self.now, self.again(piece, count)))
        elif piece.freed_by:
            self.wanted.append((end, self.now, piece.freed_by))


def expected(world):
    """[(begin, end, what)]: waits of the client whose path must say what TCP waited for."""
    found = []
    for begin, end, call in world.client.waits:
        if end is None:
            continue
        own = [what for who, when, what in world.wanted if who is world.client and begin < when <= end - WAKE and begin < what[2]]
        if call == "write":  # the path goes into who kept the window closed, and what it did before
            found += [(begin, end, what) for what in own if what[0] == "zero-window"][-1:]
        elif call in ("read", "connect") and own and not world.scene.get("alone"):
            found.append((begin, end, own[-1]))
    return found


def is_like(world, what, truth):
    """Of a connection of which one end was recorded the times at the other are estimated."""
    slack = 2 * world.transit if world.scene.get("alone") and what[0] == "delayed-ack" else 0
    return what[0] == truth[0] and what[3:] == truth[3:] and max(abs(what[1] - truth[1]), abs(what[2] - truth[2])) <= slack


def check(seed, scene, folder, programs):
    """What is wrong, and how many waits of TCP's own were looked for."""
    lull, make_traces = programs
    world = World(seed, scene)
    script, traces = os.path.join(folder, f"{seed}.scn"), os.path.join(folder, str(seed))
    with open(script, "w", encoding="utf-8") as file:
        file.write(world.script())
    subprocess.run([make_traces, script, traces], check=True)
    done = subprocess.run([lull, "critpath", os.path.join(traces, "a" if scene.get("alone") else ""), "--host", "a", "--tid", "100", "--json", "--no-sync"], capture_output=True, text=True, check=True)
    said, wrong, answer = [], [], json.loads(done.stdout)
    for wait in answer["waits"]:
        room = re.search(r"no room for more for ([\d.]+) (.?s) \(zero window\)", wait["detail"] or "")
        if room and wait["tid"] == 100:
            took = float(room[1]) * {"s": 10**9, "ms": MS, "µs": US, "us": US, "ns": 1}[room[2]]
            said += [(wait["begin_ns"] - EPOCH, wait["end_ns"] - EPOCH, one) for one in world.truth
                     if one[0] == "zero-window" and abs(one[2] - one[1] - took) < took / 100]
            if not said or said[-1][2][0] != "zero-window":
                wrong.append(f"seed {seed}: {wait['detail']} of the wait from {wait['begin_ns'] - EPOCH}, which was not so")
    for segment in answer["segments"]:
        if segment.get("tcp"):
            tcp = segment["tcp"]
            what = tcp["kind"], tcp["first_ns"] - EPOCH, tcp["last_ns"] - EPOCH, tcp["times"], tcp["nagle"]
            said.append((segment["begin_ns"] - EPOCH, segment["end_ns"] - EPOCH, what))
            if not any(is_like(world, what, one) for one in world.truth):
                wrong.append(f"seed {seed}: {what} from {said[-1][0]} to {said[-1][1]}, which was not so")
    must = expected(world)
    for begin, end, what in must:
        if not any(what == one and start < end and begin < stop for start, stop, one in said):
            wrong.append(f"seed {seed}: {what} is not said of the wait from {begin} to {end}: {[one for one in said if begin <= one[0] < end]}")
    return wrong, len(must)


def main():
    programs = os.environ["LULL"], os.environ["MAKE_TRACES"]
    tap = Tap()
    for name in sys.argv[1:2] or SCENES:
        first = SCENES[name].get("seed", 2)
        first, last = map(int, sys.argv[2:4] or (first, first + 1))
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda seed, scene=SCENES[name], where=folder: check(seed, scene, where, programs), range(first, last)))
        wrong = sum((one[0] for one in found), [])
        tap.ok(not wrong, f"{name}: what TCP waited for is said, and nothing else ({sum(one[1] for one in found)} waits)", *wrong[:5])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
