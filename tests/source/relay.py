# SPDX-License-Identifier: MIT
# A relay to test against: serves scripted streams by the LTTng live protocol on loopback. The commands and the
# layout of their messages are those of lttng-viewer-abi.h of lttng-tools. Also a small writer of CTF packets.
import json
import socket
import struct
import threading

CONNECT, LIST, ATTACH, INDEX, PACKET, METADATA, STREAMS, CREATE, DETACH = range(1, 10)
INDEX_OK, INDEX_RETRY, INDEX_HUP, INDEX_ERR, INDEX_INACTIVE, INDEX_EOF = range(1, 7)
NEW_METADATA, NEW_STREAM = 1, 2


class Stream:
    """A stream: `steps` are what GET_NEXT_INDEX answers, one after the other; then it hangs up. A step is a Packet,
    ("inactive", clock), ("retry",), ("hup",), ("err",), ("raw", bytes): that instead of the answer, ("close",), ("silent",),
    or a threading.Event: retry until it is set. `kept` are steps before these, for viewers who ask for the beginning."""

    def __init__(self, id, trace, steps, name="channel_0", class_id=0, kept=()):
        self.id, self.trace, self.steps, self.name, self.class_id = id, trace, list(steps), name, class_id
        self.kept = list(kept)
        self.hung_up = False
        self.data = {}


class Packet:
    def __init__(self, data, begin, end, content=None, discarded=0, needs=0, wrong=None):
        self.data, self.begin, self.end, self.discarded, self.needs = data, begin, end, discarded, needs
        self.content = len(data) * 8 if content is None else content
        self.wrong = wrong  # what GET_PACKET does instead: "close", "silent", "long", "zero", "err", "old", "eof", "raw"
        self.offset = 0


class Trace:
    """Metadata in pieces; piece i > 0 is there once gates[i] (a threading.Event) is set, or at once."""

    def __init__(self, id, pieces, gates=None, error=None):
        self.id, self.pieces, self.gates, self.error = id, list(pieces), gates or {}, error
        self.sent = 0

    def available(self):
        n = self.sent
        while n < len(self.pieces) and (n not in self.gates or self.gates[n].is_set()):
            n += 1
        return n - self.sent


class Session:
    def __init__(self, id, name, traces, streams, later=(), host="machine", open=None, timer=100000):
        self.id, self.name, self.host, self.timer = id, name, host, timer
        self.traces = {trace.id: trace for trace in traces}
        self.streams = list(streams)  # known when a viewer attaches
        self.later = list(later)      # (threading.Event or None, stream): announced when the event is set
        self.open = open              # threading.Event: the session lasts until it is set
        self.announced = set()

    def new(self):
        return [s for gate, s in self.later if s.id not in self.announced and (gate is None or gate.is_set())]


class Relay:
    def __init__(self, sessions, minor=13, major=2, attach_status=1, wrong=None):
        self.sessions, self.minor, self.major, self.attach_status = sessions, minor, major, attach_status
        self.wrong = wrong or {}  # command: bytes to answer instead of the right thing; None: close; "silent"
        self.commands = []        # all that were received
        self.detached = threading.Event()
        self.disconnected = threading.Event()
        self.stop = threading.Event()
        self.connection = None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.url = f"net://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def session_url(self, name="test", host="machine"):
        return f"{self.url}/host/{host}/{name}"

    def close(self):
        self.stop.set()
        self.socket.close()
        if self.connection:
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def serve(self):
        while not self.stop.is_set():
            try:
                connection, _ = self.socket.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.connection = connection
            with connection:
                connection.settimeout(30)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    self.talk(connection)
                except (OSError, EOFError):
                    pass
            self.disconnected.set()

    def receive(self, connection, size):
        data = b""
        while len(data) < size:
            piece = connection.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def silent(self):
        self.stop.wait(60)
        raise EOFError

    def talk(self, connection):
        sizes = {CONNECT: 20, ATTACH: 20, INDEX: 8, PACKET: 20, METADATA: 8, STREAMS: 8, DETACH: 8}
        answers = {CONNECT: self.connect, LIST: self.list, ATTACH: self.attach, INDEX: self.index, PACKET: self.packet,
                   METADATA: self.metadata, STREAMS: self.streams, CREATE: self.create, DETACH: self.detach}
        while True:
            size, command, _ = struct.unpack(">QII", self.receive(connection, 16))
            payload = self.receive(connection, size)
            assert size == sizes.get(command, 0), (command, size)
            self.commands.append(command)
            if command in self.wrong:
                answer = self.wrong[command]
                if answer == "silent":
                    self.silent()
            else:
                answer = answers[command](payload)
            if answer is None:
                raise EOFError
            connection.sendall(answer)

    # --- answers ---

    def connect(self, payload):
        number, major, minor, kind = struct.unpack(">QIII", payload)
        assert number in (0, (1 << 64) - 1) and major == 2 and kind == 1, payload
        self.agreed = min(minor, self.minor)
        return struct.pack(">QIII", 77, self.major, self.minor, kind)

    def list(self, _):
        answer = struct.pack(">I", len(self.sessions))
        for s in self.sessions:
            count = len(s.streams) + len(s.traces)
            answer += struct.pack(">QIII", s.id, s.timer, 0, count)
            host, name = s.host.encode(), s.name.encode()
            if self.agreed >= 15:
                answer += struct.pack(">III", len(host), len(name), 0) + host + name
            else:
                answer += struct.pack("64s255s", host, name)
        return answer

    def create(self, _):
        return struct.pack(">I", 1)

    def announce(self, session, streams):
        traces = {s.trace for s in streams} | ({t for t in session.traces} if not session.announced else set())
        answer = []
        for trace in sorted(traces):
            if ("metadata", trace) not in session.announced:
                session.announced.add(("metadata", trace))
                answer.append(struct.pack(">QQI4096s255s", 1000000 + session.id * 1000 + trace, trace, 1, b"dir", b"metadata"))
        for s in streams:
            session.announced.add(s.id)
            answer.append(struct.pack(">QQI4096s255s", s.id, s.trace, 0, b"dir", s.name.encode()))
        return answer

    def attach(self, payload):
        id, offset, seek = struct.unpack(">QQI", payload)
        assert offset == 0 and seek in (1, 2)
        session = next(s for s in self.sessions if s.id == id)
        if self.attach_status != 1:
            return struct.pack(">II", self.attach_status, 0)
        for stream in session.streams if seek == 1 else ():
            stream.steps = stream.kept + stream.steps
        announced = self.announce(session, session.streams)
        return struct.pack(">II", 1, len(announced)) + b"".join(announced)

    def streams(self, payload):
        session = next(s for s in self.sessions if s.id == struct.unpack(">Q", payload)[0])
        new = session.new()
        if new:
            announced = self.announce(session, new)
            return struct.pack(">II", 1, len(announced)) + b"".join(announced)
        known = session.streams + [s for _, s in session.later]
        is_open = session.open is not None and not session.open.is_set()
        closed = not is_open and all(s.hung_up for s in known)
        return struct.pack(">II", 4 if closed else 2, 0)

    def find(self, id):
        for session in self.sessions:
            for stream in session.streams + [s for _, s in session.later]:
                if stream.id == id:
                    return session, stream
        raise AssertionError(f"there is no stream {id}")

    def index(self, payload):
        session, stream = self.find(struct.unpack(">Q", payload)[0])
        flags = NEW_STREAM if any(s.new() for s in self.sessions) else 0
        trace = session.traces[stream.trace]
        if trace.available() or not trace.sent:
            flags |= NEW_METADATA

        def answer(status, packet=None, end=0):
            fields = (packet.offset, len(packet.data) * 8, packet.content, packet.begin, packet.end, packet.discarded) if packet else (
                0, 0, 0, 0, end, 0)
            return struct.pack(">7QII", *fields, stream.class_id, status, flags)

        step = stream.steps[0] if stream.steps else ("hup",)
        if isinstance(step, threading.Event):
            if not step.is_set():
                return answer(INDEX_RETRY)
            stream.steps.pop(0)
            return self.index(payload)
        if isinstance(step, Packet):
            stream.steps.pop(0)
            step.offset = stream.offset = getattr(stream, "offset", 4096)
            stream.offset += len(step.data)
            stream.data[step.offset] = step
            return answer(INDEX_OK, step)
        if step[0] != "hup":
            stream.steps.pop(0)
        if step[0] == "retry":
            return answer(INDEX_RETRY)
        if step[0] == "inactive":
            return answer(INDEX_INACTIVE, end=step[1])
        if step[0] == "err":
            stream.hung_up = True
            return answer(INDEX_ERR)
        if step[0] == "raw":
            return step[1]
        if step[0] == "close":
            return None
        if step[0] == "silent":
            self.silent()
        stream.hung_up = True
        return answer(INDEX_HUP)

    def packet(self, payload):
        id, offset, size = struct.unpack(">QQI", payload)
        session, stream = self.find(id)
        start = max(o for o in stream.data if o <= offset)
        packet = stream.data[start]
        data = packet.data[offset - start:offset - start + size]
        assert len(data) == size and size > 0, "asked for bytes beyond the packet"
        trace = session.traces[stream.trace]
        if packet.wrong == "old" and trace.sent <= packet.needs:
            return struct.pack(">III", 3, 0, NEW_METADATA)
        assert trace.sent > packet.needs, "the metadata was not fetched first"
        if packet.wrong == "close":
            return None
        if packet.wrong == "half":
            self.half = True
            return struct.pack(">III", 1, size, 0) + data[:size // 2]
        if packet.wrong == "silent":
            self.silent()
        if packet.wrong == "long":
            return struct.pack(">III", 1, size + 1, 0) + data + b"x"
        if packet.wrong == "zero":
            return struct.pack(">III", 1, 0, 0)
        if packet.wrong == "err":
            return struct.pack(">III", 3, 0, 0)
        if packet.wrong == "eof":
            return struct.pack(">III", 4, 0, 0)
        if packet.wrong == "status":
            return struct.pack(">III", 99, size, 0) + data
        return struct.pack(">III", 1, size, 0) + data

    def metadata(self, payload):
        id = struct.unpack(">Q", payload)[0] - 1000000
        session = next(s for s in self.sessions if s.id == id // 1000)
        trace = session.traces[id % 1000]
        if trace.error:
            return struct.pack(">QI", 0, 3)
        if not trace.available():
            return struct.pack(">QI", 0, 2)
        piece = trace.pieces[trace.sent]
        trace.sent += 1
        return struct.pack(">QI", len(piece), 1) + piece

    def detach(self, _):
        self.detached.set()
        return struct.pack(">I", 1)


def conversation(session, minor=13):
    """All that a relay answers to a viewer who follows the session's only stream to its end, as bytes."""
    relay = Relay([session], minor)
    relay.close()
    id, stream = session.id, session.streams[0]
    said = relay.connect(struct.pack(">QIII", 0, 2, 15, 1)) + relay.list(b"") + relay.create(b"")
    said += relay.attach(struct.pack(">QQI", id, 0, 2)) + relay.streams(struct.pack(">Q", id))
    said += relay.metadata(struct.pack(">Q", 1000000 + id * 1000 + stream.trace))
    said += relay.metadata(struct.pack(">Q", 1000000 + id * 1000 + stream.trace))
    while stream.steps:
        step = stream.steps[0]
        said += relay.index(struct.pack(">Q", stream.id))
        if isinstance(step, Packet):
            said += relay.packet(struct.pack(">QQI", stream.id, step.offset, step.content // 8))
    return said + relay.index(struct.pack(">Q", stream.id)) + relay.streams(struct.pack(">Q", id)) + relay.detach(b"")


# --- a small CTF trace -----------------------------------------------------------------------------------------

HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
env { hostname = "%s"; domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; };
clock { name = "monotonic"; %s freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream {
    id = 0;
    event.header := struct { u32 id; stamp timestamp; };
    packet.context := struct { stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size;
        u64 events_discarded; u32 cpu_id; };
};
"""


def head(host="machine", uuid=None):
    return (HEAD % (host, f'uuid = "{uuid}";' if uuid else "")).encode()


def declare(id, name, stream=0):
    return f'event {{ name = "{name}"; id = {id}; stream_id = {stream}; fields := struct {{ u32 number; }}; }};\n'.encode()


def fragment(**properties):
    """A fragment of CTF 2 metadata (CTF2-SPEC-2.0, section 5.1): a record separator, JSON, a line feed."""
    return b"\x1e" + json.dumps({key.replace("_", "-"): value for key, value in properties.items()}).encode() + b"\n"


def uint(length, *roles, **more):
    kind = "fixed-length-unsigned-integer"
    return {"type": kind, "length": length, "byte-order": "little-endian", "alignment": 8, **({"roles": roles} if roles else {}), **more}


def struct_of(**members):
    return {"type": "structure", "member-classes": [{"name": name, "field-class": fc} for name, fc in members.items()]}


def head2(host="machine"):
    """What head() says, in CTF 2, fragment by fragment."""
    return [
        fragment(type="preamble", version=2),
        fragment(type="trace-class", environment={"hostname": host, "domain": "ust"}, packet_header_field_class=struct_of(
            magic=uint(32, "packet-magic-number"), stream=uint(32, "data-stream-class-id"))),
        fragment(type="clock-class", id="monotonic", frequency=1000000000, origin="unix-epoch", offset_from_origin={"seconds": 0}),
        fragment(type="data-stream-class", id=0, default_clock_class_id="monotonic",
                 packet_context_field_class=struct_of(
                     begin=uint(64, "default-clock-timestamp"), end=uint(64, "packet-end-default-clock-timestamp"),
                     content=uint(64, "packet-content-length"), total=uint(64, "packet-total-length"),
                     lost=uint(64, "discarded-event-record-counter-snapshot"), cpu_id=uint(32)),
                 event_record_header_field_class=struct_of(
                     id=uint(32, "event-record-class-id"), time=uint(64, "default-clock-timestamp")))]


def declare2(id, name, number=None):
    return fragment(type="event-record-class", id=id, data_stream_class_id=0, name=name,
                    payload_field_class=struct_of(number=number or uint(32)))


def packet(events, begin, end, cpu=0, discarded=0, padding=0, **more):
    """events: (time, id, number), times in nanoseconds."""
    body = b"".join(struct.pack("<IQI", id, time, number) for time, id, number in events)
    content = 8 + 44 + len(body)
    size = content + padding
    data = struct.pack("<II", 0xC1FC1FC1, 0) + struct.pack("<QQQQQI", begin, end, content * 8, size * 8, discarded, cpu) + body
    return Packet(data + b"\xff" * padding, begin, end, content=content * 8, discarded=discarded, **more)
