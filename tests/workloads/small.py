#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that wait for a known cause and need nothing but Python and what every system has: small.py FOLDER FILE NAME... runs them one
# after the other and adds to the file what each of them measured. They use nothing outside the folder, and network namespaces of
# their own.
import asyncio
import contextlib
import ctypes
import fcntl
import mmap
import multiprocessing
import os
import random
import resource
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import time

import stage

NAP = 0.15
LONG_ANSWER = 60000  # bytes


def file_lock(watch, folder, take):
    path, held, stamp = os.path.join(folder, 'stock.lock'), stage.Gate(), stage.Stamp()

    def hold():
        with open(path, 'w', encoding='ascii') as file:
            take(file)
            held.open()
            stamp.nap(NAP)

    holder = stage.child('wl-holder', hold)
    held.wait()
    with open(path, 'r+', encoding='ascii') as file, watch.asked():
        take(file)
    watch.knows(path=path)
    stage.ended(holder)
    stamp.of(watch)


def flock(watch, folder):
    file_lock(watch, folder, lambda file: fcntl.flock(file, fcntl.LOCK_EX))


def fcntl_lock(watch, folder):
    file_lock(watch, folder, lambda file: fcntl.lockf(file, fcntl.LOCK_EX))


def mutex(watch, _):
    """Threads of C would do the same; processes leave Python's own lock out of it."""
    libc = ctypes.CDLL(None)
    shared = multiprocessing.RawArray(ctypes.c_uint64, 16)  # pthread_mutex_t has 40 bytes
    kind = ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(kind)
    libc.pthread_mutexattr_setpshared(kind, 1)
    libc.pthread_mutex_init(shared, kind)
    held, stamp = stage.Gate(), stage.Stamp()

    def hold():
        libc.pthread_mutex_lock(shared)
        held.open()
        stamp.burn(NAP)
        libc.pthread_mutex_unlock(shared)

    holder = stage.child('wl-holder', hold)
    held.wait()
    with watch.asked():
        libc.pthread_mutex_lock(shared)
    stage.ended(holder)
    stamp.of(watch)


def process_lock(watch, _):
    lock, held, stamp = multiprocessing.Lock(), stage.Gate(), stage.Stamp()

    def hold():
        with lock:
            held.open()
            stamp.nap(NAP)

    holder = stage.child('wl-holder', hold)
    held.wait()
    with watch.asked(), lock:
        pass
    stage.ended(holder)
    stamp.of(watch)


def latch(watch, _):
    """As a server of PostgreSQL waits for a lock: without a time-out, but a timer's signal comes now and then, and its handler tells
    somebody. What it waits for is who holds the lock, all the time."""
    held, stamp = stage.Gate(), stage.Stamp()
    theirs, ours = os.pipe()
    heard, told = os.pipe()

    def hold():
        held.open()
        stamp.nap(NAP)
        os.write(ours, b'released')

    def listen():
        while os.read(heard, 1) != b'e':
            pass

    listener = stage.child('wl-listener', listen)
    holder = stage.child('wl-holder', hold)
    held.wait()
    signal.signal(signal.SIGALRM, lambda *_: os.write(told, b'w'))
    signal.setitimer(signal.ITIMER_REAL, 0.4 * NAP, 0.4 * NAP)  # never near the end of the nap
    with select.epoll() as epoll:
        epoll.register(theirs, select.EPOLLIN)
        with watch.asked():
            epoll.poll()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.write(told, b'e')
    stage.ended(holder)
    stage.ended(listener)
    stamp.of(watch)


def poked(watch, wait, number=signal.SIGUSR1):
    """Somebody sends signals all the time. Each ends the wait, which goes on when the handler has done nothing, or without one."""
    asker, over = os.getpid(), stage.Gate()

    def poke():
        for _ in range(3):
            time.sleep(NAP / 5)
            os.kill(asker, number)
        over.wait()

    poker = stage.child('wl-poker', poke)
    with watch.asked():
        wait()
    over.open()
    stage.ended(poker)


def poked_for(watch, wait):
    """As poked(), in a wait for a child that writes one byte."""
    reading, writing = os.pipe()
    stamp = stage.Stamp()
    signal.signal(signal.SIGUSR1, lambda *_: None)

    def write():
        stamp.nap(NAP)
        os.write(writing, b'x')

    writer = stage.child('wl-writer', write)
    poked(watch, lambda: wait(reading, writer))
    stamp.of(watch)
    return writer


def poked_read(watch, _):
    stage.ended(poked_for(watch, lambda reading, _: os.read(reading, 1)))


def poked_poll(watch, _):
    def wait(reading, _):
        readable = select.poll()
        readable.register(reading, select.POLLIN)
        readable.poll()

    stage.ended(poked_for(watch, wait))


def poked_child(watch, _):
    poked_for(watch, lambda _, writer: stage.ended(writer))


def poked_sleep(watch, _):
    signal.signal(signal.SIGUSR1, lambda *_: None)
    poked(watch, lambda: time.sleep(NAP))
    watch.knows(cause_ns=NAP * 1e9)


def stopped_sleep(watch, _):
    """The sleep of a program of C, which the kernel restarts when the program goes on; it ends when it would have ended anyway."""
    stopped, seconds = os.getpid(), struct.pack('qq', 0, int(NAP * 1e9))

    def stop():
        time.sleep(NAP / 4)
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(NAP / 4)
        os.kill(stopped, signal.SIGCONT)

    stopper = stage.child('wl-stopper', stop)
    with watch.asked():
        ctypes.CDLL(None).nanosleep(seconds, None)
    stage.ended(stopper)
    watch.knows(cause_ns=NAP * 1e9)


def gil(watch, _):
    """Each call that lets other threads run has to wait until the burning one gives the interpreter back."""
    over = []

    def hold():
        while not over:
            pass

    holder = stage.thread('wl-burner', hold)
    with watch.asked():
        for _ in range(30):
            time.sleep(0.001)
    over.append(True)
    holder.join()
    took = watch.report['end_ns'] - watch.report['start_ns']
    watch.knows(cause_ns=took - 30 * 1000000 - watch.report['cpu_ns'] - watch.report.get('delays', {}).get('cpu', 0))


def late_dns(watch, _):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(('127.0.0.1', 0))
    query = b'\x12\x34\x01\0\0\1\0\0\0\0\0\0\4lull\4test\0\0\1\0\1'

    def answer():
        _, client = server.recvfrom(512)
        time.sleep(2 * NAP)
        server.sendto(query[:2] + b'\x81\x83' + query[4:], client)

    resolver, stamp = stage.child('wl-resolver', answer), stage.Stamp()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(server.getsockname())
        waiting = select.poll()
        waiting.register(client, select.POLLIN)
        with watch.asked():
            client.send(query)
            if waiting.poll(1000 * NAP):
                raise RuntimeError('the answer came too early')
            client.send(query)
            with stamp.during():
                waiting.poll(1000)
            client.recv(512)
    watch.knows(address=f'127.0.0.1:{server.getsockname()[1]}', bytes=len(query))
    stage.ended(resolver)
    stamp.of(watch)


def silent_dns(watch, _):
    """As some resolvers do: one socket, which is not connected, and two servers. The first never answers, the second at once."""
    silent, server, client = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3))
    for one in silent, server:
        one.bind(('127.0.0.1', 0))

    def answer():
        query, address = server.recvfrom(512)
        server.sendto(query, address)

    resolver, stamp = stage.child('wl-resolver', answer), stage.Stamp()
    with watch.asked():
        client.sendto(b'query', silent.getsockname())
        with stamp.during():
            if select.select([client], [], [], NAP)[0]:
                raise RuntimeError('the silent server answered')
        client.sendto(b'query', server.getsockname())
        client.recv(512)
    stage.ended(resolver)
    watch.knows(address=f'127.0.0.1:{silent.getsockname()[1]}')
    stamp.of(watch)


def slow_pipe(watch, _):
    reading, writing = os.pipe()
    stamp = stage.Stamp()

    def produce():
        for _ in range(8):
            stamp.nap(NAP / 8)
            os.write(writing, b'one line\n')

    producer = stage.child('wl-producer', produce)
    os.close(writing)
    with watch.asked():
        while os.read(reading, 100):
            pass
    stage.ended(producer)
    stamp.of(watch)


def sigstop(watch, _):
    stopped, stamp = os.getpid(), stage.Stamp()

    def stop():
        time.sleep(0.02)
        os.kill(stopped, signal.SIGSTOP)
        stamp.nap(NAP)
        os.kill(stopped, signal.SIGCONT)

    stopper = stage.child('wl-stopper', stop)
    with watch.asked():
        stage.burn(0.04)
    stage.ended(stopper)
    stamp.of(watch)


def core_dump(watch, folder):
    """A child ends with a signal that makes the kernel write its core, of 24 MB and more, into the folder."""
    with open('/proc/sys/kernel/core_pattern', encoding='ascii') as file:
        pattern = file.read().strip()
    if pattern.startswith('|') or '/' in pattern:
        raise stage.Skip(f'cores go to {pattern}')

    def crash():
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        pages = random.randbytes(24 << 20)  # noqa: F841 - kept in memory
        ready.open()
        os.abort()

    ready = stage.Gate()
    crasher = stage.child('wl-crasher', crash)
    ready.wait()
    with watch.asked():
        _, status = os.waitpid(crasher, 0)
    cores = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]
    if status != signal.SIGABRT | 0x80 or sum(cores) < 24 << 20:
        raise stage.Skip(f'no core was written: status {status:#x}, {cores}')
    watch.knows(core_bytes=sum(cores), cause_ns=watch.report['end_ns'] - watch.report['start_ns'] - watch.report['cpu_ns'])


def cold(folder, name, step, count, flags=0):
    """A file that is on the disk, and not in memory."""
    path = os.path.join(folder, name)
    with open(path, 'wb') as file:
        for _ in range(count):
            file.write(random.randbytes(step))
        file.flush()
        os.fsync(file.fileno())
    handle = os.open(path, os.O_RDONLY | flags)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
    return path, handle


def cold_file(watch, folder):
    step, count = 1 << 17, 200
    path, handle = cold(folder, 'cold.data', step, count)
    with watch.asked():
        for number in range(count):
            os.pread(handle, 4096, number * step)
    os.close(handle)
    watch.knows(path=path, disk=stage.disk_of(folder))


def mapped_file(watch, folder):
    path, handle = cold(folder, 'mapped.data', 1 << 17, 100)
    with mmap.mmap(handle, 0, prot=mmap.PROT_READ) as pages:
        pages.madvise(mmap.MADV_RANDOM)
        with watch.asked():
            for number in range(100):
                pages[number << 17]
    os.close(handle)
    watch.knows(path=path, disk=stage.disk_of(folder))


def cold_program(watch, folder):
    """A program that is on the disk, and not in memory. It is lull itself: many a Python is a small program, with a large library that is in memory."""
    path = os.path.join(folder, 'program')
    shutil.copy(os.environ['LULL'], path)
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)
    with watch.asked():
        os.waitpid(os.posix_spawn(path, ['program', '--version'], dict(os.environ)), 0)
    watch.knows(path=path, disk=stage.disk_of(folder))


def unreachable():
    """A network of its own in which nobody has that address, though there is a way to it."""
    stage.own_network()
    stage.exchanges.ip('link', 'add', 'lull-a', 'type', 'veth', 'peer', 'name', 'lull-b')
    for end in 'lull-a', 'lull-b':
        stage.exchanges.ip('link', 'set', end, 'up')
    stage.exchanges.ip('addr', 'add', '10.77.0.1/24', 'dev', 'lull-a')
    stage.exchanges.ip('neigh', 'add', '10.77.0.2', 'lladdr', '02:00:00:00:00:01', 'dev', 'lull-a')
    return '10.77.0.2', 7010


def connects_in_vain(watch, prepare):
    stamp, address = stage.Stamp(), unreachable()
    with socket.socket() as client, watch.asked():
        prepare(client)
        with stamp.during():
            if client.connect_ex(address) == 0:
                raise RuntimeError('somebody answered')
    watch.knows(address=f'{address[0]}:{address[1]}')
    stamp.of(watch)


def no_server(watch, _):
    """As most clients do: connect() does not wait, poll() does, for so long."""
    connects_in_vain(watch, lambda client: client.settimeout(NAP))


def no_server_blocking(watch, _):
    connects_in_vain(watch, lambda client: client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, int(NAP * 1e6))))


def full_backlog(watch, _):
    """A server that has not accepted what came before takes no more: the kernel asks again a second later."""
    stage.loopback()
    listener = socket.socket()
    listener.bind(('127.0.0.1', 7011))
    listener.listen(0)
    before = socket.create_connection(listener.getsockname())

    def accept():
        time.sleep(2 * NAP)
        for _ in range(2):
            listener.accept()

    server = stage.child('wl-server', accept)
    stamp = stage.Stamp()
    with socket.socket() as client, watch.asked():
        client.settimeout(10)
        with stamp.during():
            client.connect(listener.getsockname())
    before.close()
    stage.ended(server)
    stamp.of(watch)


def sqlite(watch, folder):
    path = os.path.join(folder, 'shop.db')
    disk = stage.disk_of(folder)
    base = sqlite3.connect(path)
    base.execute('create table sale (number integer, item text)')
    base.commit()
    with watch.asked():
        for number in range(20):
            base.execute('insert into sale values (?, ?)', (number, 'a thing'))
            base.commit()
    base.close()
    watch.knows(path=path, disk=disk)


def tar_xz(watch, folder):
    stage.need('tar', 'xz')
    source = os.path.join(folder, 'source')
    os.mkdir(source)
    words = [random.randbytes(3).hex() for _ in range(400)]
    for number in range(12):
        with open(os.path.join(source, f'{number}.txt'), 'w', encoding='ascii') as file:
            file.write(' '.join(random.choices(words, k=10000)))
    with open(os.path.join(folder, 'source.tar.xz'), 'wb') as archive:
        tar = subprocess.Popen(['tar', '-cf', '-', '-C', folder, 'source'], stdout=subprocess.PIPE)
        xz = subprocess.Popen(['xz', '-c'], stdin=tar.stdout, stdout=archive)
        tar.stdout.close()
        with watch.asked(tar.pid):
            tar.wait()
            with open(f'/proc/{xz.pid}/schedstat', encoding='ascii') as counted:
                watch.knows(cause_ns=int(counted.read().split()[0]))
        xz.wait()


def answer_far(stamp, apart, wired, ready, limit=()):
    """Answers one question, in a network of its own with lull-b in it, and says who asked; with a limit, by which lull-b sends, at length."""
    stage.exchanges.unshare_network()
    apart.open()
    wired.wait()
    stage.exchanges.ip('addr', 'add', '10.77.0.2/24', 'dev', 'lull-b')
    stage.exchanges.ip('link', 'set', 'lull-b', 'up')
    if limit:
        subprocess.run(['tc', 'qdisc', 'add', 'dev', 'lull-b', 'root', *limit], check=True)
    with socket.create_server(('10.77.0.2', 7008)) as listener:
        ready.open()
        connection, address = listener.accept()
        connection.recv(100)
        if limit:
            connection.sendall(bytes(LONG_ANSWER))
            return
        stamp.nap(NAP)
        connection.sendall(address[0].encode())


def ask_far(watch, length=0):
    with socket.create_connection(('10.77.0.2', 7008)) as client, watch.asked():
        client.sendall(b'question')
        answer = client.recv(100)
        while len(answer) < length:
            answer += client.recv(length)
        return answer


def veth(watch, _, limit=()):
    stage.own_network()
    apart, moved, ready, stamp = stage.Gate(), stage.Gate(), stage.Gate(), stage.Stamp()
    server = stage.child('wl-server', answer_far, stamp, apart, moved, ready, limit)
    apart.wait()
    stage.exchanges.ip('link', 'add', 'lull-a', 'type', 'veth', 'peer', 'name', 'lull-b', 'netns', str(server))
    stage.exchanges.ip('addr', 'add', '10.77.0.1/24', 'dev', 'lull-a')
    stage.exchanges.ip('link', 'set', 'lull-a', 'up')
    moved.open()
    ready.wait()
    ask_far(watch, LONG_ANSWER if limit else 0)
    stage.ended(server)
    if limit:
        watch.knows(cause_ns=watch.report['end_ns'] - watch.report['start_ns'] - watch.report['cpu_ns'])
    else:
        stamp.of(watch)


def limited_link(watch, folder, burst='16kb'):
    """The answer is longer than what its sender may send in that time."""
    stage.need('tc')
    veth(watch, folder, ('tbf', 'rate', '4mbit', 'burst', burst, 'latency', '1s'))


def limited_pieces(watch, folder):
    """What is longer than may be sent at once is cut into pieces after it was in the queue."""
    limited_link(watch, folder, '4kb')


def across(watch, join, own, way, peer):
    """Who asks and who answers have a network each, and so has what joins these. join: does that; own: address of who asks; way: to
    others; peer: who that is for who answers."""
    stage.own_network()
    apart, wired, joined, ready, over, stamp = stage.Gate(), stage.Gate(), stage.Gate(), stage.Gate(), stage.Gate(), stage.Stamp()

    def between():
        stage.exchanges.unshare_network()
        apart.open()
        wired.wait()
        for end in 'lull-a1', 'lull-b1':
            stage.exchanges.ip('link', 'set', end, 'up')
        join()
        joined.open()
        over.wait()

    middle, server = stage.child('wl-between', between), stage.child('wl-server', answer_far, stamp, apart, joined, ready)
    apart.wait()
    apart.wait()
    for name, owner in ('lull-a', os.getpid()), ('lull-b', server):
        stage.exchanges.ip('link', 'add', name, 'netns', str(owner), 'type', 'veth', 'peer', 'name', name + '1', 'netns', str(middle))
    stage.exchanges.ip('addr', 'add', own + '/24', 'dev', 'lull-a')
    stage.exchanges.ip('link', 'set', 'lull-a', 'up')
    if way:
        stage.exchanges.ip('route', 'add', 'default', 'via', way)
    wired.open()
    ready.wait()
    answer = ask_far(watch)
    over.open()
    stage.ended(server)
    stage.ended(middle)
    stamp.of(watch)
    if answer.decode() != peer:
        raise RuntimeError(f'who answers has spoken with {answer}')


def bridge(watch, _):
    def join():
        stage.exchanges.ip('link', 'add', 'lull-br', 'type', 'bridge')
        for end in 'lull-a1', 'lull-b1':
            stage.exchanges.ip('link', 'set', end, 'master', 'lull-br')
        stage.exchanges.ip('link', 'set', 'lull-br', 'up')
    across(watch, join, '10.77.0.1', None, '10.77.0.1')


def nat(watch, _):
    """A router that puts its own address in place of that of who asks."""
    stage.need('nft')

    def join():
        stage.exchanges.ip('addr', 'add', '10.78.0.1/24', 'dev', 'lull-a1')
        stage.exchanges.ip('addr', 'add', '10.77.0.1/24', 'dev', 'lull-b1')
        with open('/proc/sys/net/ipv4/ip_forward', 'w', encoding='ascii') as file:
            file.write('1')
        rules = ('add table ip nat', 'add chain ip nat out { type nat hook postrouting priority 100; }', 'add rule ip nat out oifname lull-b1 masquerade')
        subprocess.run(['nft', '; '.join(rules)], check=True)
    across(watch, join, '10.78.0.2', '10.78.0.1', '10.77.0.1')


def slow_reader(watch, _):
    """Who sends more than the other end reads waits for its reads, though each wait ends when the kernel acknowledges."""
    stage.loopback()
    listener, stamp = socket.create_server(('127.0.0.1', 7009)), stage.Stamp()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

    def read():
        connection, _ = listener.accept()
        while connection.recv(1 << 20):
            stamp.nap(NAP / 3)

    reader = stage.child('wl-reader', read)
    with socket.create_connection(('127.0.0.1', 7009)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
        client.sendall(bytes(1 << 19))
        with watch.asked():
            client.sendall(bytes(1 << 19))
    stage.ended(reader)


def terminal(watch, _):
    """A worker of the kernel carries what is typed from one end of the terminal to the other."""
    typed, screen = os.openpty()
    stamp = stage.Stamp()

    def type_line():
        stamp.nap(NAP)
        os.write(typed, b'a line\n')
        time.sleep(NAP)  # the terminal is gone with its last user

    typist = stage.child('wl-typist', type_line)
    with watch.asked():
        os.read(screen, 100)
    stage.ended(typist)
    stamp.of(watch)


def select_nothing(watch, _):
    """select() and poll() of no descriptors are how some programs sleep: they wait for no answer, whatever was sent before."""
    ours, theirs = socket.socketpair()
    stamp = stage.Stamp()
    with watch.asked():
        ours.send(b'something')
        with stamp.during():
            select.select([], [], [], NAP)
            select.poll().poll(1000 * NAP)
    theirs.close()
    stamp.of(watch)


class SlowFile:
    """A file system of one file, of which one thing takes time, as a rule to read a page: as little of FUSE as that needs (linux/fuse.h)."""
    LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26
    NODE, SIZE, NOSYS, OK = 2, 1 << 16, -38, b''

    def __init__(self, folder, stamp, asked=None):
        self.stamp, self.slow, self.asked = stamp, None, asked  # with `asked` one thing is slow once
        self.device = os.open('/dev/fuse', os.O_RDWR)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.folder = os.path.join(folder, 'far').encode()
        os.mkdir(self.folder)
        how = f'fd={self.device},rootmode=40000,user_id=0,group_id=0'.encode()
        if self.libc.mount(b'far', self.folder, b'fuse.far', 6, how):
            raise stage.Skip(f'fuse: {os.strerror(ctypes.get_errno())}')

    def end(self):
        os.close(self.device)
        self.libc.umount2(self.folder, 2)

    @classmethod
    def attributes(cls, node):
        mode = 0o100644 if node == cls.NODE else 0o40755
        return struct.pack('6Q10I', node, cls.SIZE, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, operation, node, body):
        if operation == self.slow:
            if self.asked:
                self.asked.open()
                self.slow = None
            self.stamp.nap(NAP)
        if operation == self.INIT:
            return struct.pack('4I2H2I2HI28x', 7, 31, 4096, 0, 12, 9, 4096, 1, 1, 0, 0)
        if operation == self.GETATTR:
            return struct.pack('QII', 60, 0, 0) + self.attributes(node)
        if operation == self.LOOKUP:
            return struct.pack('4Q2I', self.NODE, 0, 60, 60, 0, 0) + self.attributes(self.NODE)
        if operation == self.OPEN:
            return struct.pack('QII', 1, 0, 0)
        if operation == self.READ:
            return b'x' * struct.unpack_from('QQI', body)[2]
        return None

    def serve(self, slow=READ):
        self.slow = slow
        while True:
            request = os.read(self.device, 1 << 17)
            _, operation, unique, node = struct.unpack_from('IIQQ', request)
            answer = self.answer(operation, node, request[40:])
            body = answer or b''
            os.write(self.device, struct.pack('IiQ', 16 + len(body), self.NOSYS if answer is None else 0, unique) + body)


def fuse(watch, folder):
    """A page of a mapped file, which another program provides."""
    if not os.path.exists('/dev/fuse'):
        raise stage.Skip('there is no /dev/fuse')
    stamp = stage.Stamp()
    far = SlowFile(folder, stamp)
    server = stage.child('wl-server', far.serve)
    try:
        handle = os.open(os.path.join(far.folder, b'file'), os.O_RDONLY)
        with mmap.mmap(handle, SlowFile.SIZE, prot=mmap.PROT_READ) as pages:
            pages.madvise(mmap.MADV_RANDOM)
            with watch.asked():
                pages[8192]
        os.close(handle)
    finally:
        stage.end(server)
        far.end()
    stamp.of(watch)


def loop_device(watch, folder):
    """A disk that is a file, of a file system that another program provides."""
    if not os.path.exists('/dev/fuse') or not shutil.which('losetup'):
        raise stage.Skip('there is no /dev/fuse, or no losetup')
    stamp = stage.Stamp()
    far = SlowFile(folder, stamp)
    server = stage.child('wl-server', far.serve)
    disk = None
    try:
        made = subprocess.run(['losetup', '--find', '--show', '--read-only', os.path.join(far.folder, b'file')], capture_output=True, text=True, check=False)
        if made.returncode:
            raise stage.Skip(f'losetup: {made.stderr.strip()}')
        disk = made.stdout.strip()
        handle = os.open(disk, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
        with watch.asked():
            os.pread(handle, 4096, 8192)
        os.close(handle)
    finally:
        if disk:
            subprocess.run(['losetup', '--detach', disk], check=False)
        stage.end(server)
        far.end()
    stamp.of(watch)


def far_file(watch, folder):
    """Which file system is slow, when all that is asked is what a file is."""
    if not os.path.exists('/dev/fuse'):
        raise stage.Skip('there is no /dev/fuse')
    stamp = stage.Stamp()
    far = SlowFile(folder, stamp)
    server = stage.child('wl-server', far.serve, SlowFile.LOOKUP)
    path = os.path.join(far.folder, b'file')
    try:
        with watch.asked():
            os.stat(path)
    finally:
        stage.end(server)
        far.end()
    watch.knows(path=path.decode())
    stamp.of(watch)


def kept_by_another(watch, folder, slow, keep, wait):
    """A child has a lock of the kernel while a file system answers it; another wants that."""
    if not os.path.exists('/dev/fuse'):
        raise stage.Skip('there is no /dev/fuse')
    stamp, asked = stage.Stamp(), stage.Gate()
    far = SlowFile(folder, stamp, asked)
    server = stage.child('wl-server', far.serve, slow)
    holder = stage.child('wl-holder', keep, far)
    try:
        asked.wait()
        with watch.asked():
            wait(far)
    finally:
        stage.end(holder)
        stage.end(server)
        far.end()
    stamp.of(watch)


def folder_lock(watch, folder):
    """Who looks up the name of a folder to make has its parent's folder for itself; so has who makes another one there."""
    def make(far, name):
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.join(far.folder, name))
    kept_by_another(watch, folder, SlowFile.LOOKUP, lambda far: make(far, b'one'), lambda far: make(far, b'other'))


def pipe_lock(watch, folder):
    """Who writes into a pipe what is in a mapped file has the pipe for itself until that is there."""
    theirs, ours = os.pipe()

    def keep(far):
        handle = os.open(os.path.join(far.folder, b'file'), os.O_RDONLY)
        with mmap.mmap(handle, SlowFile.SIZE, prot=mmap.PROT_READ) as pages, memoryview(pages) as view:
            os.write(ours, view[8192:8200])
    kept_by_another(watch, folder, SlowFile.READ, keep, lambda _: os.write(ours, b'something'))
    watch.knows(path=os.path.join(folder, "far", "file"))
    os.close(theirs)
    os.close(ours)


def compaction(watch, _):
    """The kernel moves memory: here for who asks for that, else for who needs a huge page."""
    stamp, switch = stage.Stamp(), '/proc/sys/vm/compact_memory'
    if not os.access(switch, os.W_OK):
        raise stage.Skip(f'nobody can write to {switch}')
    handle = os.open(switch, os.O_WRONLY)
    with watch.asked(), stamp.during():
        os.write(handle, b'1')
    os.close(handle)
    stamp.of(watch)


def message_queue(watch, _):
    """A queue of POSIX, from which a message comes late."""
    libc = ctypes.CDLL(None, use_errno=True)
    name, stamp = f'/lull-{os.getpid()}'.encode(), stage.Stamp()
    sizes = (ctypes.c_long * 8)(0, 4, 64)
    queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, sizes)
    if queue < 0:
        raise stage.Skip(f'mq_open: {os.strerror(ctypes.get_errno())}')
    libc.mq_unlink(name)

    def send():
        stamp.nap(NAP)
        libc.mq_send(queue, b'a message', 9, 0)

    sender = stage.child('wl-sender', send)
    with watch.asked():
        libc.mq_receive(queue, ctypes.create_string_buffer(64), 64, None)
    stage.ended(sender)
    stamp.of(watch)


def inotify(watch, folder):
    """A file that another process makes late."""
    libc, stamp = ctypes.CDLL(None), stage.Stamp()
    watching = libc.inotify_init1(0)
    libc.inotify_add_watch(watching, folder.encode(), 0x100)  # IN_CREATE

    def make():
        stamp.nap(NAP)
        open(os.path.join(folder, 'made'), 'w', encoding='ascii').close()  # noqa: SIM115

    maker = stage.child('wl-maker', make)
    with watch.asked():
        os.read(watching, 4096)
    os.close(watching)
    stage.ended(maker)
    stamp.of(watch)


def vfork_exec(watch, _):
    """A program that is started as system() and posix_spawn() start one, and is waited for."""
    stamp = stage.Stamp()
    with watch.asked():
        with stamp.during():
            os.waitpid(os.posix_spawn('/bin/sleep', ['sleep', str(NAP)], {}), 0)
    stamp.of(watch)


def async_pipe(watch, _):
    """asyncio waits for whatever is ready: the answer of another process."""
    stamp = stage.Stamp()
    ours, theirs = socket.socketpair()

    def answer():
        theirs.recv(100)
        stamp.nap(NAP)
        theirs.send(b'answer')

    server = stage.child('wl-server', answer)

    async def ask():
        reader, writer = await asyncio.open_connection(sock=ours)
        with watch.asked():
            writer.write(b'question')
            await reader.read(100)
        writer.close()

    asyncio.run(ask())
    stage.ended(server)
    stamp.of(watch)


def two_writers(watch, folder):
    """SQLite asks again and again, and sleeps in between, until who writes has done so."""
    path, held, stamp = os.path.join(folder, 'shared.db'), stage.Gate(), stage.Stamp()
    with sqlite3.connect(path) as base:
        base.execute('create table sale (number integer)')

    def write():
        other = sqlite3.connect(path, isolation_level=None)
        other.execute('begin immediate')
        held.open()
        stamp.nap(NAP)
        other.execute('commit')

    writer = stage.child('wl-holder', write)
    held.wait()
    base = sqlite3.connect(path, timeout=5, isolation_level=None)
    with watch.asked():
        base.execute('insert into sale values (1)')
    base.close()
    stage.ended(writer)
    stamp.of(watch)


def frozen(watch, _):
    """The group of the task is frozen for a while."""
    group = next((path for path in (f'/sys/fs/cgroup/{kind}{stage.GROUP}-frozen' for kind in ('', 'freezer/', 'unified/'))
                  if stage.is_freezable(path)), None)
    if not group:
        raise stage.Skip('no control group can be frozen here')
    stamp = stage.Stamp()
    file, on, off = ('cgroup.freeze', '1', '0') if os.path.exists(os.path.join(group, 'cgroup.freeze')) else ('freezer.state', 'FROZEN', 'THAWED')
    asker = os.getpid()

    def put(name, text):
        with open(os.path.join(group, name), 'w', encoding='ascii') as opened:
            opened.write(text)

    def freeze():
        time.sleep(0.02)
        put(file, on)
        stamp.nap(NAP)
        put(file, off)

    freezer = stage.child('wl-freezer', freeze)
    put('cgroup.procs', str(asker))
    with watch.asked():
        stage.burn(0.05)
    stage.ended(freezer)
    with open(os.path.join(os.path.dirname(group), 'cgroup.procs'), 'w', encoding='ascii') as opened:
        opened.write(str(asker))
    stamp.of(watch)


PROGRAMS = (cold_program, loop_device, no_server, no_server_blocking, full_backlog, far_file, folder_lock, pipe_lock, compaction, message_queue, inotify, vfork_exec, async_pipe, two_writers, frozen, flock, fcntl_lock, mutex, process_lock, latch, poked_read, poked_poll, poked_child, poked_sleep, stopped_sleep, gil, late_dns, silent_dns, slow_pipe, sigstop, core_dump, cold_file, mapped_file, sqlite, tar_xz, veth, limited_link, limited_pieces, bridge, nat, slow_reader, terminal, fuse, select_nothing)

if __name__ == '__main__':
    stage.main(PROGRAMS)
