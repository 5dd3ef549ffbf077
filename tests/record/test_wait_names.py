#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What waits are said to be for: programs that wait for what they made themselves, and report what that is called; waits and critpath must
# call it that, both. Needs root. LULL is the program.
#
# With the argument FILE it is what is recorded.
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAP = 0.2
LIBC = ctypes.CDLL(None, use_errno=True)


# ---- what is recorded: each is a process that reports in which call it waits for what ----

def soon(work, *args):
    """Does it while the caller waits."""
    def later():
        time.sleep(NAP)
        work(*args)
    threading.Thread(target=later).start()


def address(one):
    return "{}:{}".format(*one.getsockname())


def full():
    """A socket that listens and takes no connection any more: the kernel answers nothing."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    others = [socket.socket() for _ in range(3)]
    for one in others:
        one.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            one.connect(server.getsockname())
    time.sleep(NAP)
    return server, others


def connect_in_vain(tell):
    (server, others), client = full(), socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
    tell("connect", address(server))
    with contextlib.suppress(TimeoutError):
        client.connect(server.getsockname())
        os._exit(1)
    del others


def connect_late(tell):
    """Of a unix socket, until who listens takes another."""
    path = os.path.join(tempfile.mkdtemp(), "late")
    server, first, client = (socket.socket(socket.AF_UNIX) for _ in range(3))
    server.bind(path)
    server.listen(0)
    first.connect(path)
    soon(server.accept)
    tell("connect", path)
    client.connect(path)


def asks_two(tell):
    """One socket: each answer is that of another server."""
    servers, client = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for server in servers:
        server.bind(("127.0.0.1", 0))
    client.sendto(b"?", servers[0].getsockname())
    for server in servers:
        client.sendto(b"?", server.getsockname())
        soon(server.sendto, b"!", client.getsockname())
        tell("recvfrom", "udp " + address(server))
        client.recvfrom(16)


def accepts(tell):
    server, client = socket.socket(), socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    soon(client.connect, server.getsockname())
    tell("accept4", address(server))
    server.accept()


def semaphore(tell):
    number = LIBC.semget(0, 1, 0o1600)
    one = struct.pack("hhh", 0, 1, 0)
    soon(LIBC.semtimedop, number, one, 1, None)
    tell("semtimedop", f"semaphore set {number}")
    LIBC.semtimedop(number, struct.pack("hhh", 0, -1, 0), 1, None)
    LIBC.semctl(number, 0, 0)  # IPC_RMID


def queue(tell):
    number = LIBC.msgget(0, 0o1600)
    soon(LIBC.msgsnd, number, struct.pack("q8s", 1, b"hello"), 8, 0)
    tell("msgrcv", f"message queue {number}")
    LIBC.msgrcv(number, ctypes.create_string_buffer(16), 8, ctypes.c_long(0), 0)
    LIBC.msgctl(number, 0, None)


def queue_by_name(tell):
    """The call is given the name without its slash; mq_overview(7), and /proc, have one."""
    name = f"/lull-{os.getpid()}"
    number = LIBC.mq_open(name.encode(), os.O_RDWR | os.O_CREAT, 0o600, struct.pack("8q", 0, 2, 16, *[0] * 5))
    soon(LIBC.mq_timedsend, number, b"hello", ctypes.c_size_t(5), 0, None)
    tell("mq_timedreceive", name)
    LIBC.mq_timedreceive(number, ctypes.create_string_buffer(16), ctypes.c_size_t(16), None, None)
    LIBC.mq_unlink(name.encode())


def types(tell):
    """Into a terminal: openpty() opens its other end by no path."""
    typed, screen = os.openpty()
    soon(os.write, typed, b"hello\n")
    tell("read", "a terminal")
    os.read(screen, 16)


def polls(tell):
    reading, writing = os.pipe()
    poll = select.epoll()
    poll.register(reading, select.EPOLLIN)
    soon(os.write, writing, b"!")
    tell("epoll_wait", "a pipe")
    poll.poll(5)


def polls_two(tell):
    """Is woken over a socket that was connected after epoll had it, and then by nothing."""
    server, client = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    server.bind(("127.0.0.1", 0))
    client.bind(("127.0.0.1", 0))
    poll = select.epoll()
    poll.register(client, select.EPOLLIN)
    poll.register(os.eventfd(0) if hasattr(os, "eventfd") else os.pipe()[0], select.EPOLLIN)
    client.connect(server.getsockname())
    soon(server.sendto, b"!", client.getsockname())
    tell("epoll_wait", f"udp {address(server)}")
    poll.poll(5)
    client.recv(16)
    tell("epoll_wait", f"udp {address(server)} or {'an eventfd' if hasattr(os, 'eventfd') else 'a pipe'}")
    poll.poll(NAP)


def polled():
    """Four sockets that listen, both ends of a pipe, and another pipe that nothing is written to."""
    return [socket.create_server(("127.0.0.1", 0)) for _ in range(4)], os.pipe(), os.pipe()[0]


def a_pipe_and_a_server(tell, call, poll, server, reading, writing):
    """Waits for them, one after the other."""
    soon(os.write, writing, b"!")
    tell(call, "a pipe")
    poll.poll()
    os.read(reading, 1)
    soon(socket.create_connection, server.getsockname())
    tell(call, address(server))
    poll.poll()


def ready_of_many(tell):
    """poll() names what became ready of six."""
    servers, (reading, writing), silent = polled()
    poll = select.poll()
    for one in (silent, *servers, reading):
        poll.register(one, select.POLLIN)
    a_pipe_and_a_server(tell, "poll", poll, servers[2], reading, writing)


def ready_of_set(tell):
    """select() of descriptors beyond the first 64."""
    servers, (reading, _), _ = polled()
    os.dup2(servers[1].fileno(), 700)
    os.dup2(reading, 65)
    soon(socket.create_connection, servers[1].getsockname())
    tell("pselect6", address(servers[1]))
    select.select([700, 65, servers[0]], [], [700])


def polls_in_vain(tell):
    """Two, and nothing comes to either."""
    servers, (reading, _), _ = polled()
    poll = select.poll()
    poll.register(servers[0], select.POLLIN)
    poll.register(reading, select.POLLIN)
    tell("poll", f"{address(servers[0])} or a pipe")
    poll.poll(200)


def selects_in_vain(tell):
    """Nothing is left to be read at the end of the call. The one before it does not wait, and asks for something else."""
    servers, (reading, _), _ = polled()
    tell("pselect6", f"a pipe or {address(servers[1])}")
    select.select([servers[0]], [], [], 0)
    select.select([reading], [], [servers[1]], 0.2)


def watches():
    """Five descriptors, of which one is changed, and one that is watched no more."""
    servers, (reading, writing), silent = polled()
    poll = select.epoll()
    for one in (silent, *(server.fileno() for server in servers), reading):
        poll.register(one, select.EPOLLIN)
    poll.unregister(servers[0])
    for _ in range(2):
        poll.modify(servers[2], select.EPOLLIN | select.EPOLLOUT)
    return poll, servers, reading, writing


def ready_of_watched(tell, watched=None):
    """epoll_wait() says by a number that the program has chosen what became ready."""
    poll, servers, reading, writing = watched or watches()
    a_pipe_and_a_server(tell, "epoll_wait", poll, servers[2], reading, writing)


def requests(tell):
    """io_getevents() of two requests (IOCB_CMD_POLL) for a pipe and a named one, which can be read."""
    setup, getevents, submit = {"x86_64": (206, 208, 209), "aarch64": (0, 4, 2)}[os.uname().machine]
    silent = os.pipe()[0]
    path = os.path.join(tempfile.mkdtemp(), "fifo")
    os.mkfifo(path)
    reading, writing = (os.open(path, how) for how in (os.O_RDONLY | os.O_NONBLOCK, os.O_WRONLY))
    context, events = ctypes.c_ulong(0), ctypes.create_string_buffer(4 * 32)
    blocks = [ctypes.create_string_buffer(struct.pack("=QIIHhIQQqQII", 7, 0, 0, 5, 0, fd, select.POLLIN, 0, 0, 0, 0, 0)) for fd in (silent, reading)]
    pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, blocks))
    if LIBC.syscall(setup, 4, ctypes.byref(context)) or LIBC.syscall(submit, context, ctypes.c_long(2), pointers) != 2:
        os._exit(1)
    soon(os.write, writing, b"!")
    tell("io_getevents", path)
    LIBC.syscall(getevents, context, ctypes.c_long(1), ctypes.c_long(4), events, None)


def while_written(tell, call, act, size=256 << 20):
    """Waits while another writes to the file, into memory."""
    path = os.path.join(tempfile.mkdtemp(dir="/dev/shm"), "large")
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    writer = threading.Thread(target=os.write, args=(file, bytes(size)))
    writer.start()
    while not os.fstat(file).st_size:
        time.sleep(0.001)
    tell(call, path)
    act(path)
    writer.join()
    shutil.rmtree(os.path.dirname(path))


def shrinks(tell):
    """Then gives back so much memory that it is on its CPU for milliseconds."""
    while_written(tell, "truncate", lambda path: os.truncate(path, 0), 512 << 20)


def changes_mode(tell):
    while_written(tell, "chmod" if os.uname().machine == "x86_64" else "fchmodat", lambda path: os.chmod(path, 0o600))


def changes_times(tell):
    while_written(tell, "utimensat", lambda path: os.utime(path, (1, 1)))


def gets_a_name(tell):
    while_written(tell, "linkat", lambda path: LIBC.linkat(-100, path.encode(), -100, path.encode() + b"-too", 0))


def has_no_attribute(tell):
    """By path, and by descriptor."""
    while_written(tell, "lremovexattr", lambda path: LIBC.lremovexattr(path.encode(), b"trusted.none"))


def has_no_attribute_either(tell):
    def act(path):
        file = os.open(path, os.O_RDONLY)
        LIBC.fremovexattr(file, b"trusted.none")
    while_written(tell, "fremovexattr", act)


def submits(tell):
    """io_submit() writes itself (IOCB_CMD_PWRITE) what goes through the page cache: five requests for one file."""
    setup, submit = {"x86_64": (206, 209), "aarch64": (0, 2)}[os.uname().machine]

    def act(path):
        file, context, text = os.open(path, os.O_WRONLY), ctypes.c_ulong(0), ctypes.create_string_buffer(b"!")
        block = ctypes.create_string_buffer(struct.pack("=QIIHhIQQqQII", 7, 0, 0, 1, 0, file, ctypes.addressof(text), 1, 0, 0, 0, 0))
        pointers = (ctypes.c_void_p * 5)(*[ctypes.addressof(block)] * 5)
        if LIBC.syscall(setup, 8, ctypes.byref(context)) or LIBC.syscall(submit, context, ctypes.c_long(5), pointers) != 5:
            os._exit(1)
    while_written(tell, "io_submit", act)


KINDS = (connect_in_vain, connect_late, asks_two, accepts, semaphore, queue, queue_by_name, types, polls, polls_two, ready_of_many, ready_of_set,
         polls_in_vain, selects_in_vain, ready_of_watched, requests, shrinks,
         changes_mode, changes_times, gets_a_name, has_no_attribute, has_no_attribute_either, submits)


def teller(file, kind):
    return lambda call, name: os.write(file.fileno(), (json.dumps(
        {"kind": kind, "tid": os.getpid(), "call": call, "object": name}) + "\n").encode())


def be_there_before(path):
    """Makes its epoll descriptor before the recording starts, and uses it when told to."""
    with open(path, "a", encoding="utf-8") as file:
        watched = watches()
        print("ready", flush=True)
        sys.stdin.readline()
        ready_of_watched(teller(file, "there_before"), watched)


def leave(path):
    with open(path, "a", encoding="utf-8") as file:
        children = []
        for kind in KINDS:
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                kind(teller(file, kind.__name__))
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)


# ---- what is said of it ----

def in_waits(out, tid):
    answer = recorders.ask_json("waits", "--json", "--tid", str(tid), "--limit", "0", out)
    return [(row["call"], row["object"]) for window in answer["windows"] for row in window["tables"]["waits"]]


def in_path(out, tid):
    path = recorders.ask_json("critpath", "--json", "--tid", str(tid), out)
    return [(part["reason"]["call"], part["reason"]["object"]) for part in (*path["segments"], *path["waits"]) if part.get("reason")]


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        with subprocess.Popen([sys.executable, __file__, report, "before"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as early:
            early.stdout.readline()
            out, _ = recorders.record(tracer, ["sh", "-c", f"echo > /proc/{early.pid}/fd/0; exec {sys.executable} {__file__} {report}"], folder)
            early.stdin.close()
        with open(report, encoding="utf-8") as file:
            known = [json.loads(line) for line in file]
        kinds = [kind.__name__ for kind in KINDS] + ["there_before"]
        tap.ok({one["kind"] for one in known} == set(kinds), f"{tracer}: all have waited", known)
        for kind in kinds:
            told = [one for one in known if one["kind"] == kind]
            wanted = [(one["call"], one["object"]) for one in told]
            for where, said in (("waits", in_waits(out, told[0]["tid"])), ("critpath", in_path(out, told[0]["tid"]))):
                found = [pair for pair in said if pair[0] == wanted[0][0]]
                tap.ok(sorted(set(found)) == sorted(set(wanted)), f"{tracer}: {kind}: {where}", "wanted", wanted, "found", said)


if len(sys.argv) == 3:
    be_there_before(sys.argv[1])
elif len(sys.argv) == 2:
    leave(sys.argv[1])
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))
