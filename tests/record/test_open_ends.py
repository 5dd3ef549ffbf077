#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Waits for processes that have not ended when a recording does: for a child, and for the other end of a pipe. The path says for which
# process, and what that waits for itself. Needs root. LULL is the program.
#
# With the argument "hang" it is the program: it leaves processes that wait, says on standard output what for, and ends with its input.
import concurrent.futures
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from programs import exchanges

LIFE_S, NAP = 100, 0.2
# Who waits, in which call, who could end that, and what that is of it.
CHILD, END = "child", "other end"
SELECT = "pselect6"  # as glibc calls select()
POLLS = ("poll", SELECT, "epoll_wait")


# ---- what is recorded: each leaves a process, and returns the waits of its path ----

def child(work, *args):
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIFE_S)
        with contextlib.suppress(BaseException):
            work(*args)
        os._exit(1)
    return pid


def sleep():
    time.sleep(LIFE_S)


def asleep(tid):
    return [tid, "clock_nanosleep", None, None]


def pipeline():
    """As a shell has it, which waits for any of two children: the second reads what the first, or its own child, may write."""
    reading, writing = os.pipe()
    told, tell = os.pipe()

    def shell():
        def first():
            os.close(reading)
            sleeper = child(sleep)
            os.write(tell, b"sleeper=%d " % sleeper)
            os.waitpid(sleeper, 0)

        def second():
            os.close(writing)
            os.read(reading, 1)

        writer = child(first)
        os.write(tell, b"writer=%d reader=%d " % (writer, child(second)))
        os.close(reading)
        os.close(writing)
        os.wait()

    pid = child(shell)
    os.close(reading)
    os.close(writing)
    time.sleep(NAP)
    pids = {name: int(pid) for name, pid in (word.split("=") for word in os.read(told, 100).decode().split())}
    writer, reader, sleeper = pids["writer"], pids["reader"], pids["sleeper"]
    return [[[pid, "wait4", writer, CHILD], [writer, "wait4", sleeper, CHILD], asleep(sleeper)],
            [[reader, "read", sleeper, END], asleep(sleeper)]]


def several():
    """Any of two may end it: nobody is named."""
    def wait():
        child(sleep)
        child(sleep)
        os.wait()

    return [[[child(wait), "wait4", None, None]]]


def one_of_several():
    """Which child is wanted, the call says."""
    told, tell = os.pipe()

    def wait():
        child(sleep)
        wanted = child(sleep)
        os.write(tell, b"%d" % wanted)
        os.waitpid(wanted, 0)

    pid, wanted = child(wait), int(os.read(told, 20))
    return [[[pid, "wait4", wanted, CHILD], asleep(wanted)]]


def orphan():
    """Whoever it was started for has ended, and left the pipe to a daemon."""
    reading, writing = os.pipe()
    told, tell = os.pipe()

    def start():
        os.close(reading)
        os.write(tell, b"%d" % child(sleep))

    def read():
        os.close(writing)
        os.read(reading, 1)

    reader = child(read)
    os.waitpid(child(start), 0)
    daemon = int(os.read(told, 20))
    os.close(reading)
    os.close(writing)
    return [[[reader, "read", daemon, END], asleep(daemon)]]


def full():
    """A pipe that nobody empties, and its writer."""
    reading, writing = os.pipe()

    def write():
        os.close(reading)
        os.write(writing, bytes(1 << 20))

    def keep():
        os.close(writing)
        sleep()

    writer, reader = child(write), child(keep)
    os.close(reading)
    os.close(writing)
    return [[[writer, "write", reader, END], asleep(reader)]]


def both_full():
    """A program waits for the end of another before it reads what that writes."""
    told, tell = os.pipe()

    def run():
        with subprocess.Popen([sys.executable, "-c", "import os, sys; os.write(1, bytes(1 << 20))"], stdout=subprocess.PIPE) as other:
            os.write(tell, b"%d" % other.pid)
            other.wait()

    pid = child(run)
    other = int(os.read(told, 20))
    return [[[pid, "wait4", other, CHILD], [other, "write", pid, END]]]


def communicates(has_time=False):
    """As subprocess.communicate() does: of two pipes, one is closed, and the other a child of the child has as well."""
    told, tell = os.pipe()

    def run():
        program = "import os, sys, time\nos.close(2)\npid = os.fork()\nif pid: os.write(int(sys.argv[1]), b'%d' % pid); os._exit(0)\ntime.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", program, str(tell)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(tell,)) as other:
            other.communicate(timeout=LIFE_S if has_time else None)

    pid = child(run)
    daemon = int(os.read(told, 20))
    return [[[pid, "poll", daemon, END], asleep(daemon)]]


def communicates_for_a_time():
    """Its own time-out ends that as well, but that is what it waits for."""
    return communicates(has_time=True)


def polls_more():
    """Something else may end it, too."""
    reading, writing = os.pipe()

    def wait():
        os.close(writing)
        server, readable = socket.create_server(("127.0.0.1", 0)), select.poll()
        readable.register(reading, select.POLLIN)
        readable.register(server, select.POLLIN)
        readable.poll()

    def keep():
        os.close(reading)
        sleep()

    pid = child(wait)
    child(keep)
    os.close(reading)
    os.close(writing)
    return [[[pid, "poll", None, None]]]


def own_thread():
    """Another thread of its own could write as well: nobody is named, though another process has that end too."""
    reading, writing = os.pipe()

    def read():
        threading.Thread(target=sleep, daemon=True).start()
        child(sleep)
        os.read(reading, 1)

    pid = child(read)
    os.close(reading)
    os.close(writing)
    return [[[pid, "read", None, None]]]


def signalled():
    """As timeout(1), which sleeps until a signal says that the program has ended."""
    pid = child(os.execvp, "timeout", ["timeout", "--foreground", str(LIFE_S), "sleep", str(LIFE_S)])
    time.sleep(NAP)
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        sleeper = int(file.read())
    return [[[pid, "rt_sigsuspend", sleeper, CHILD], asleep(sleeper)]]


def signalled_by_any():
    """Of several children, or of others."""
    def wait():
        child(sleep)
        child(sleep)
        signal.sigwait([signal.SIGCHLD])

    def wait_alone():
        signal.sigwait([signal.SIGUSR1])

    return [[[child(work), "rt_sigtimedwait", None, None]] for work in (wait, wait_alone)]


# ---- sockets ----

def pairs(listener):
    """A server that has accepted, and sleeps; what its client shall do is the argument."""
    def of(work):
        told, tell = os.pipe()
        server_socket = listener()

        def serve():
            with server_socket.accept()[0]:
                os.write(tell, b".")
                sleep()

        def ask():
            with socket.socket(server_socket.family) as client:
                client.connect(server_socket.getsockname()[:2] if server_socket.family != socket.AF_UNIX else server_socket.getsockname())
                server_socket.close()
                work(client)

        server, client = child(serve), child(ask)
        os.read(told, 1)
        server_socket.close()
        return client, server
    return of


def tcp():
    return socket.create_server(("127.0.0.1", 0))


def tcp6():
    return socket.create_server(("::1", 0), family=socket.AF_INET6)


def unix():
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0lull-test-%d-%d" % (os.getpid(), time.monotonic_ns()))
    server.listen()
    return server


def receive(client):
    client.sendall(b"question")
    client.recv(1)


def receive_file(client):
    os.read(client.fileno(), 1)


def send(client):
    client.sendall(bytes(1 << 26))


def polls(client):
    poll = select.poll()
    poll.register(client, select.POLLIN)
    poll.poll()


def polls_for_both(client):
    poll = select.poll()
    poll.register(client, select.POLLIN | select.POLLPRI)
    own = socket.socketpair()
    poll.register(own[0], select.POLLIN)
    poll.poll(LIFE_S * 1000)


def selects(client):
    select.select([client], [], [])


def epolls(client):
    epoll = select.epoll()
    epoll.register(client, select.EPOLLIN | select.EPOLLRDHUP)
    epoll.poll()


def half_closed(client):
    """As `nc -N` does: it has said all, and waits for the answer."""
    client.shutdown(socket.SHUT_WR)
    client.recv(1)


def connected():
    """Every call, over each kind of connection."""
    for listener in (tcp, tcp6, unix):
        for call, work in (("recvfrom", receive), ("read", receive_file), ("sendto", send), ("poll", polls), ("poll", polls_for_both),
                           (SELECT, selects), ("epoll_wait", epolls), ("recvfrom", half_closed)):
            client, server = pairs(listener)(work)
            yield [[client, call, server, END], asleep(server)]


def of_both_families():
    """Who listens with IPv6 takes IPv4 too."""
    for is_accepted in (True, False):
        server_socket = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        address = "127.0.0.1", server_socket.getsockname()[1]
        told, tell = os.pipe()

        def serve():
            kept = [server_socket.accept()] if is_accepted else []
            os.write(tell, b".")
            sleep()
            del kept

        def ask():
            server_socket.close()
            with socket.create_connection(address) as client:
                client.recv(1)

        server, client = child(serve), child(ask)
        os.read(told, 1)
        server_socket.close()
        yield [[client, "recvfrom", server, END], asleep(server)]


def not_accepted():
    """The kernel has connected it, and the server does something else."""
    for listener in (tcp, unix):
        server_socket = listener()

        def ask():
            with socket.socket(server_socket.family) as client:
                client.connect(server_socket.getsockname()[:2] if server_socket.family != socket.AF_UNIX else server_socket.getsockname())
                server_socket.close()
                receive(client)

        server, client = child(sleep), child(ask)
        server_socket.close()
        yield [[client, "recvfrom", server, END], asleep(server)]


def no_room():
    """More have connected than the server takes."""
    server_socket = socket.socket()
    server_socket.bind(("127.0.0.1", 0))
    server_socket.listen(0)
    address = server_socket.getsockname()

    def ask():
        server_socket.close()
        with socket.create_connection(address) as client:
            client.recv(1)

    server = child(sleep)
    clients = [child(ask) for _ in range(4)]
    server_socket.close()
    time.sleep(NAP)
    calls = ["recvfrom", "connect"]
    for client in clients:
        with open(f"/proc/{client}/syscall", encoding="ascii") as file:
            call = calls[int(file.read().split()[0]) == 42]
        yield [[client, call, server, END], asleep(server)]


def of_pair():
    """Each has an end of its own of what both were given."""
    ends = socket.socketpair()

    def wait(own):
        ends[1 - own].close()
        receive_file(ends[own]) if own else sleep()

    sleeper, reader = child(wait, 0), child(wait, 1)
    for end in ends:
        end.close()
    return [[[reader, "read", sleeper, END], asleep(sleeper)]]


def both_read():
    """Each waits for what the other says. The sockets may have time-outs (SO_RCVTIMEO), which nobody sees: it is not said to be a deadlock."""
    told, tell = os.pipe()
    server_socket = tcp()

    def serve():
        with server_socket.accept()[0] as own:
            os.write(tell, b".")
            own.recv(1)

    def ask():
        with socket.create_connection(server_socket.getsockname()) as own:
            server_socket.close()
            own.recv(1)

    server, client = child(serve), child(ask)
    os.read(told, 1)
    server_socket.close()
    return [[[client, "recvfrom", server, END], [server, "recvfrom", client, END]]]


def both_poll(has_time=False):
    """The same with poll(), which says that it has none; or that it has."""
    ends = socket.socketpair()

    def read(own):
        ends[1 - own].close()
        poll = select.poll()
        poll.register(ends[own], select.POLLIN)
        poll.poll(LIFE_S * 1000 if has_time else None)

    pids = [child(read, own) for own in (0, 1)]
    for end in ends:
        end.close()
    return [[[pids[0], "poll", pids[1], END], [pids[1], "poll", pids[0], END]]]


def both_poll_for_a_time():
    return both_poll(has_time=True)


def across_namespaces():
    """The server is behind a veth pair. Who listens on the same address and port in a namespace apart has nothing to do with it."""
    if "CapEff:\t0000000000000000" in pathlib.Path("/proc/self/status").read_text(encoding="ascii"):
        return []
    told, tell = os.pipe()
    wired, wire = os.pipe()

    def serve():
        exchanges.unshare_network()
        os.write(tell, b".")
        os.read(wired, 1)
        exchanges.ip("addr", "add", "10.78.0.2/24", "dev", "lull-b")
        exchanges.ip("link", "set", "lull-b", "up")
        with socket.create_server(("10.78.0.2", 7009)) as listener:
            os.write(tell, b".")
            accepted = listener.accept()
            sleep()
            del accepted

    def look_alike():
        exchanges.unshare_network()
        exchanges.ip("link", "set", "lo", "up")
        exchanges.ip("addr", "add", "10.78.0.2/32", "dev", "lo")
        with socket.create_server(("10.78.0.2", 7009)):
            os.write(tell, b".")
            sleep()

    def ask():
        exchanges.unshare_network()
        server = child(serve)
        os.read(told, 1)
        exchanges.ip("link", "add", "lull-a", "type", "veth", "peer", "name", "lull-b", "netns", str(server))
        exchanges.ip("addr", "add", "10.78.0.1/24", "dev", "lull-a")
        exchanges.ip("link", "set", "lull-a", "up")
        os.write(wire, b".")
        os.read(told, 1)
        child(look_alike)
        os.read(told, 1)
        with socket.create_connection(("10.78.0.2", 7009)) as client:
            os.write(tell, b"%d" % server)
            client.recv(1)

    client = child(ask)
    time.sleep(1)
    server = int(os.read(told, 20))
    return [[[client, "recvfrom", server, END], asleep(server)]]


def asks_outside():
    """Datagrams, and who listens: whoever comes may end that."""
    datagrams, listening = socket.socket(type=socket.SOCK_DGRAM), tcp()
    datagrams.bind(("127.0.0.1", 0))
    datagrams.connect(("127.0.0.1", 9))
    return [[[child(datagrams.recv, 1), "recvfrom", None, None]], [[child(listening.accept), "accept4", None, None]]]


KINDS = (signalled, signalled_by_any, pipeline, several, one_of_several, orphan, full, both_full, communicates, communicates_for_a_time, polls_more, own_thread, connected,
         of_both_families, not_accepted, no_room, of_pair, both_read, both_poll, both_poll_for_a_time, across_namespaces, asks_outside)
DEADLOCKS = (both_full.__name__, both_poll.__name__)


def hang():
    os.setpgid(0, 0)
    signal.alarm(LIFE_S)
    for kind in KINDS:
        for chain in kind():
            print(json.dumps([kind.__name__, chain]))
    time.sleep(NAP)
    print(flush=True)
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


# ---- what is said of it ----

def is_first(known, of):
    """Of those of its kind that wait in that call: the others have the same words, and are no other in a snapshot."""
    return next(one for one in known if one[0] == of[0] and one[1][0][1] == of[1][0][1]) is of


def answers(known, out, is_in_words=True):
    """The paths as JSON, and some in words: (kind, chain, path, text). Recordings have what the whole machine did meanwhile: to ask takes a while."""
    def ask(of):
        tid = str(of[1][0][0])
        return (*of, recorders.ask_json("critpath", "--json", "--tid", tid, out),
                is_in_words and is_first(known, of) and recorders.ask("critpath", "--tid", tid, out))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(ask, known))


def check(tracer, kind, chain, path, text):
    found = [[wait[key] for key in ("tid", "call", "holder_tid", "holder_is")] for wait in path["open_waits"]]
    tap.ok(found == chain, f"{tracer}: {kind}: {chain[0][1]}: for whom, and what that waits for", "wanted", chain, "found", found)
    tap.ok(path["deadlock"] == (kind in DEADLOCKS), f"{tracer}: {kind}: {chain[0][1]}: whether it is a deadlock", path["deadlock"])
    is_unnamed = chain[0][1] in POLLS and kind == connected.__name__ and not path["open_waits"][0]["object"]
    tap.ok(not is_unnamed, f"{tracer}: {kind}: {chain[0][1]}: what it polls has a name", path["open_waits"])
    if not text:
        return
    first = next(line for line in text.splitlines() if line.startswith(("Deadlock: ", "Not over ")))
    comm = path["query"]["comm"]
    said = [f"{chain[1][0]}" if kind == signalled.__name__ else f" for its child {comm}/{who} " if what == CHILD else f" for {comm}/{who} at the other end," if call in POLLS else
            f", whose other end {comm}/{who} has," for _, call, who, what in chain if who]
    tap.ok(all(part in first for part in said) and ("child" in first) == any(CHILD in one for one in chain), f"{tracer}: {kind}: {chain[0][1]}: in words", said, first)


@contextlib.contextmanager
def hanging(*of_program):
    """What the program says that it waits for, while it does."""
    with subprocess.Popen([*of_program, sys.executable, __file__, "hang"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield [json.loads(line) for line in iter(program.stdout.readline, "\n")]
        program.stdin.close()


def recorded(tracer, folder, of_recorder=()):
    """A recording of something else, while they hang."""
    out = os.path.join(folder, "recording")
    subprocess.run([*of_recorder, recorders.LULL, "record", "--tracer", tracer, "-o", out, "--", "sleep", "0.3"], check=True, capture_output=True,
                   timeout=120, stdin=subprocess.DEVNULL)
    return out


# Runs now and then, which is in the buffers, before it sleeps: no longer than since what it writes. Then as the recorder keeps it.
LATE = "import time\nfor _ in range(5): time.sleep(0.1)\nprint(time.clock_gettime_ns(time.CLOCK_REALTIME), flush=True)\ntime.sleep(60)"
BUFFERED_S = 1.5


def snapshot(tracer, folder):
    """A flight recorder that starts when all hang, and is asked after a while. Also a process that slept later, and when."""
    out = os.path.join(folder, "snapshot")
    with subprocess.Popen([recorders.LULL, "record", "--snapshot", "--tracer", tracer], cwd=folder, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as recorder:
        for line in recorder.stderr:
            if "keeping the latest" in line:
                break
        with subprocess.Popen([sys.executable, "-c", LATE], stdout=subprocess.PIPE, text=True) as late:
            time.sleep(BUFFERED_S)
            subprocess.run([recorders.LULL, "snapshot", "--recorder", str(recorder.pid), "-o", out], check=True, capture_output=True, timeout=120)
            slept_ns = int(late.stdout.readline())
            late.kill()
        recorder.send_signal(signal.SIGINT)
        recorder.communicate()
    return out, late.pid, slept_ns


def check_snapshot(tracer, known, out, late, slept_ns):
    """The buffers have no event of who hangs."""
    with open(os.path.join(out, "recording.json"), encoding="utf-8") as file:
        start_ns = json.load(file)["begin_ns"]
    for kind, chain, path, text in answers([one for one in known if is_first(known, one)], out, is_in_words=False):
        check(f"{tracer}: snapshot", kind, chain, path, text)
        waits = path["open_waits"]
        length_s = [(wait["end_ns"] - wait["begin_ns"]) / 1e9 for wait in waits]
        tap.ok(all(wait["older"] and wait["begin_ns"] >= start_ns for wait in waits) and min(length_s) > 0.6 * BUFFERED_S,
               f"{tracer}: snapshot: {kind}: {chain[0][1]}: since before the buffers start", start_ns, waits)
    wait = recorders.ask_json("critpath", "--json", "--tid", str(late), out)["open_waits"][0]
    tap.ok(wait["call"] == "clock_nanosleep" and not wait["older"] and 0 <= wait["begin_ns"] - slept_ns < 50e6,
           f"{tracer}: snapshot: who ran meanwhile sleeps since then", slept_ns, wait)


def check_blind(tracer):
    """Who may not see the files of all processes does not know who else has the other end; children are the kernel's to say."""
    with tempfile.TemporaryDirectory() as folder:
        with hanging("setpriv", "--bounding-set", "-all") as known:
            out = recorded(tracer, folder, ("setpriv", "--bounding-set", "-sys_ptrace"))
        holders = {}
        for kind, chain, path, _ in answers(known, out, is_in_words=False):
            holders[kind, chain[0][1]] = [wait["holder_is"] for wait in path["open_waits"]][:1]
        tap.ok(holders["orphan", "read"] == [None] and holders["full", "write"] == [None] and holders["communicates", "poll"] == [None],
               f"{tracer}: who may not see all files names nobody at the other end", holders)
        tap.ok(holders["one_of_several", "wait4"] == [CHILD], f"{tracer}: but a child", holders)


# What it polls the recorder has to see at the end: no event of the call that has not ended says that.
POLL_NOW = """import select, socket
server = socket.create_server(('127.0.0.1', 7413))
client = socket.create_connection(server.getsockname())
poll = select.poll()
poll.register(client, select.POLLIN)
poll.poll(2500)"""


def check_now(tracer):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = recorders.record(tracer, [sys.executable, "-c", POLL_NOW], folder, "-d", "1")
        waits = recorders.ask_json("critpath", "--json", out)["open_waits"]
        found = [(wait["call"], wait["object"], wait["older"]) for wait in waits[:1]]
        tap.ok(found == [("poll", "127.0.0.1:7413", False)], f"{tracer}: what a task polls that started to while it was recorded", waits)


# Two can write, until one has written and ended; of the other the recorder knows, at the end. Before, nobody looked.
TWO_WRITERS = """import os, time
reading, writing = os.pipe()
for nap, text in ((0.7, b'x'), (3, b'y')):
    if os.fork() == 0:
        os.close(reading)
        time.sleep(nap)
        os.write(writing, text)
        os._exit(0)
os.close(writing)
for _ in range(2):
    os.read(reading, 1)"""


def check_range(tracer):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = recorders.record(tracer, [sys.executable, "-c", TWO_WRITERS], folder, "-d", "1.5")
        pid = str(recorders.ask_json("critpath", "--json", out)["query"]["tid"])
        path = recorders.ask_json("critpath", "--json", out)["open_waits"][0]
        tap.ok(path["call"] == "read" and path["holder_tid"], f"{tracer}: who has the other end", path)
        for span, holder in ([], path["holder_tid"]), (["--end", "+0.5s"], None), (["--refresh", "1s"], path["holder_tid"]):
            windows = recorders.ask_json("waits", "--asleep", "--tid", pid, "--json", *span, out)["windows"]
            for window in windows:
                open_reads = [row["by"] and row["by"]["tid"] for row in window["tables"]["waits"] if (row["call"], row["cause"]) == ("read", "not ended")]
                wanted = [holder] if window is windows[-1] else [None]
                tap.ok(open_reads == wanted, f"{tracer}: waits: who has the other end at the end, and is not known before", span, wanted, open_reads)


def run(tracer):
    check_now(tracer)
    with tempfile.TemporaryDirectory() as folder:
        with hanging() as known:
            out, kept = recorded(tracer, folder), snapshot(tracer, folder)
        tap.ok({kind for kind, _ in known} == {kind.__name__ for kind in KINDS}, f"{tracer}: all wait", known)
        for kind, chain, path, text in answers(known, out):
            check(tracer, kind, chain, path, text)
        check_snapshot(tracer, known, *kept)
    if tracer == recorders.TRACERS[0]:  # whichever records, what has nothing to do with that is the same
        check_range(tracer)
        if shutil.which("setpriv"):
            check_blind(tracer)


if sys.argv[1:2] == ["hang"]:
    hang()
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))
