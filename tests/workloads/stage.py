# SPDX-License-Identifier: MIT
# What the programs of known causes share: tasks with names, and the clock that they stamp with.
import contextlib
import ctypes
import json
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'programs')]
import delays  # noqa: E402
import exchanges  # noqa: E402

PR_SET_PDEATHSIG = 1
LIFE_S = 60
NOBODY = 65534
# What control groups that are made here are called.
GROUP = os.environ.get('LULL_WORKLOAD_GROUP', 'lull-workload')


class Skip(Exception):
    """This machine cannot do it; the message says why."""


class Watch:
    """What a program reports: who waited, from when to when by CLOCK_MONOTONIC, and what else it knows of it."""

    counters = None  # the kernel's, if it counts

    def __init__(self):
        self.report = {}

    @classmethod
    def count(cls):
        if delays.is_counting():
            cls.counters = delays.Counters()

    @contextlib.contextmanager
    def asked(self, tid=None, counted=None):
        """The time that is asked about, of this thread or another; `counted` is a third that the kernel counts for."""
        own = threading.get_native_id()
        counted = None if tid else counted or own
        before = self.counters.of(counted) if self.counters and counted else None
        start, cpu = time.monotonic_ns(), time.thread_time_ns()
        yield
        self.report.update(tid=tid or own, start_ns=start, end_ns=time.monotonic_ns(), cpu_ns=time.thread_time_ns() - cpu)
        if before:
            after = self.counters.of(counted)
            self.knows(delays={name: after[name] - before[name] for name in before}, counted=counted)

    def knows(self, **facts):
        self.report.update(facts)


class Stamp:
    """How long something lasted, in whichever process, by CLOCK_MONOTONIC."""

    def __init__(self):
        self.page = mmap.mmap(-1, 16)  # when it started first, how long it lasted in all

    @contextlib.contextmanager
    def during(self):
        start = time.monotonic_ns()
        yield
        first, total = struct.unpack_from('qq', self.page)
        struct.pack_into('qq', self.page, 0, first or start, total + time.monotonic_ns() - start)

    def nap(self, seconds):
        self.spend(time.sleep, seconds)

    def burn(self, seconds):
        self.spend(burn, seconds)

    def spend(self, act, seconds):
        """Without what this thread waited for a CPU meanwhile, which on a busy machine is longer."""
        before = waited_ns()
        with self.during():
            act(seconds)
        first, total = struct.unpack_from('qq', self.page)
        struct.pack_into('qq', self.page, 0, first, total - (waited_ns() - before))

    def restart(self):
        struct.pack_into('qq', self.page, 0, 0, 0)

    def of(self, watch):
        """The part that is in the time that is asked about, where that ends after it."""
        first, total = struct.unpack_from('qq', self.page)
        watch.knows(cause_ns=total - max(0, watch.report['start_ns'] - first))


def rename(name):
    with open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w', encoding='ascii') as file:
        file.write(name)


def child(name, function, *arguments):
    """A process of that name, which dies with its parent."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.alarm(LIFE_S)
        rename(name)
        function(*arguments)
        status = 0
    except BaseException:  # noqa: B036 - reported here, because nothing of the parent's code may run on
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(pid):
    """Waits for a child, which has to succeed."""
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f'a child ended with status {status:#x}')


def thread(name, function, *arguments):
    def run():
        rename(name)
        function(*arguments)
    started = threading.Thread(target=run)
    started.start()
    return started


class Gate:
    """Closed until somebody opens it."""

    def __init__(self):
        self.ends = os.pipe()

    def open(self):
        os.write(self.ends[1], b'.')

    def wait(self):
        os.read(self.ends[0], 1)


def burn(seconds):
    """The clock of CPU time is a system call, which is recorded: it is asked now and then."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(5000):
            pass


def waited_ns():
    """For how long this thread could have run, but had no CPU, as the kernel counts it."""
    with open('/proc/thread-self/schedstat', encoding='ascii') as file:
        return int(file.read().split()[1])


def is_freezable(group):
    """Makes the group, if it can be frozen."""
    try:
        os.mkdir(group)
    except OSError:
        return False
    if any(os.path.exists(os.path.join(group, name)) for name in ('cgroup.freeze', 'freezer.state')):
        return True
    os.rmdir(group)
    return False


def disk_of(folder):
    """The name of the disk that holds a folder."""
    number = os.stat(folder).st_dev
    try:
        return os.path.basename(os.readlink(f'/sys/dev/block/{os.major(number)}:{os.minor(number)}'))
    except OSError:
        raise Skip(f'{folder} is on no disk') from None


def run(program, folder, report):
    """One program in a process of its own, and what it reports as a line of JSON. Other programs get little of its CPU time."""
    def work():
        with contextlib.suppress(OSError):
            os.nice(-20)
        Watch.count()
        watch = Watch()
        try:
            program(watch, folder)
        except Skip as reason:
            watch.report = {'skip': str(reason)}
        except Exception:  # noqa: BLE001 - the test reports it, and the next program runs
            watch.report = {'broken': traceback.format_exc()}
        with open(report, 'a', encoding='utf-8') as file:
            print(json.dumps({'name': program.__name__, **watch.report}), file=file)
    ended(child('wl-asker', work))


def main(programs):
    folder, report = sys.argv[1:3]
    for program in programs:
        if program.__name__ in sys.argv[3:]:
            own = os.path.join(folder, program.__name__)
            os.makedirs(own, exist_ok=True)
            run(program, own, report)


# ---- services ----

def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f'{tool} is not installed')


def give_away(folder):
    """To nobody, who can reach it."""
    os.chown(folder, NOBODY, NOBODY)
    for up in folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder)):
        os.chmod(up, 0o711)
    if subprocess.run(['test', '-w', folder], check=False, **AS_NOBODY).returncode:
        raise Skip(f'nobody cannot reach {folder}')


def before_exec():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


AS_NOBODY = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}


@contextlib.contextmanager
def daemon(command, ready, folder):
    """A service that nobody runs; `ready` says whether it answers."""
    with open(os.path.join(folder, 'log'), 'ab') as log:
        service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                                   preexec_fn=before_exec, **AS_NOBODY)
    try:
        end = time.monotonic() + 20
        while not ready():
            if service.poll() is not None or time.monotonic() > end:
                with open(log.name, encoding='utf-8', errors='replace') as file:
                    raise RuntimeError(f'{command[0]} does not answer: {file.read()[-2000:]}')
            time.sleep(0.05)
        yield service
    finally:
        service.terminate()
        try:
            service.wait(10)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()


def can_connect(family, address):
    with socket.socket(family) as probe:
        return probe.connect_ex(address) == 0


def own_network():
    need('ip')
    try:
        exchanges.unshare_network()
    except OSError as error:
        raise Skip(f'no network namespace can be made: {error.strerror}') from None


def loopback():
    """A network of its own, with nothing but loopback."""
    own_network()
    exchanges.ip('link', 'set', 'lo', 'up')


def slow_backend(port, slow_s, stamp):
    """An HTTP server as child wl-backend: /slow takes long, which is stamped; anything else 5 ms."""
    listener = socket.create_server(('127.0.0.1', port))

    def serve():
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked = connection.recv(4096)
            if asked:
                if asked.startswith(b'GET /slow'):
                    stamp.nap(slow_s)
                else:
                    time.sleep(0.005)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello')
            connection.close()

    backend = child('wl-backend', serve)
    listener.close()
    return backend


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
