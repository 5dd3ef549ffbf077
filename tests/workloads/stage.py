# SPDX-License-Identifier: MIT
# What the programs of known causes share: tasks with names, and the clock that they stamp with.
import contextlib
import ctypes
import json
import os
import signal
import threading
import time
import traceback

PR_SET_PDEATHSIG = 1
LIFE_S = 60


class Skip(Exception):
    """This machine cannot do it; the message says why."""


class Watch:
    """What a program reports: who waited, from when to when by CLOCK_MONOTONIC, and what else it knows of it."""

    def __init__(self):
        self.report = {}

    @contextlib.contextmanager
    def asked(self, tid=None):
        """The time that is asked about, of this thread or another."""
        start, cpu = time.monotonic_ns(), time.thread_time_ns()
        yield
        self.report.update(tid=tid or threading.get_native_id(), start_ns=start, end_ns=time.monotonic_ns(),
                           cpu_ns=time.thread_time_ns() - cpu)

    def knows(self, **facts):
        self.report.update(facts)


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
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


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
        os.nice(-20)
        watch = Watch()
        try:
            program(watch, folder)
        except Skip as reason:
            watch.report = {'skip': str(reason)}
        with open(report, 'a', encoding='utf-8') as file:
            print(json.dumps({'name': program.__name__, **watch.report}), file=file)
    ended(child('wl-asker', work))
