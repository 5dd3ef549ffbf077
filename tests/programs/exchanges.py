#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A client asks a server over TCP, each time on what it measures itself: one line of JSON for each request, with its times and bytes.
# On the loopback device of a network namespace of its own, or from that to another over a veth pair. Needs root.
import ctypes
import json
import os
import socket
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
PORT = 7007
REQUESTS = 12


def work_of(number):
    """What the server takes, in seconds."""
    return (5 + 3 * (number % 5)) / 1000


def bytes_of(number):
    return 100 + 10 * number, 2000 + 100 * number


def take(connection, length):
    while length:
        length -= len(connection.recv(length))


def serve(listener):
    for half in range(2):  # on two connections
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(half * REQUESTS // 2, (half + 1) * REQUESTS // 2):
            asked, answered = bytes_of(number)
            take(connection, asked)
            time.sleep(work_of(number))
            connection.sendall(b'a' * answered)
        connection.recv(1)
        connection.close()


def ask(family, address):
    for half in range(2):
        connection = socket.socket(family)
        connection.connect((address, PORT))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(half * REQUESTS // 2, (half + 1) * REQUESTS // 2):
            asked, answered = bytes_of(number)
            time.sleep(0.002)
            start = time.clock_gettime_ns(time.CLOCK_REALTIME)
            connection.sendall(b'r' * asked)
            take(connection, answered)
            end = time.clock_gettime_ns(time.CLOCK_REALTIME)
            print(json.dumps({'tid': os.getpid(), 'start_ns': start, 'end_ns': end, 'asked': asked, 'answered': answered}), flush=True)
        connection.close()


def unshare_network():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'unshare')


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


def main():
    way = sys.argv[1]
    family = socket.AF_INET6 if way == 'ipv6' else socket.AF_INET
    address = {'loopback': '127.0.0.1', 'ipv6': '::1', 'veth': '10.77.0.2'}[way]
    apart, moved, ready = os.pipe(), os.pipe(), os.pipe()
    unshare_network()
    if way != 'veth':
        ip('link', 'set', 'lo', 'up')
    child = os.fork()
    if child == 0:
        if way == 'veth':
            unshare_network()
            os.write(apart[1], b'.')
            os.read(moved[0], 1)
            ip('addr', 'add', address + '/24', 'dev', 'lull-b')
            ip('link', 'set', 'lull-b', 'up')
        listener = socket.create_server((address, PORT), family=family)
        os.write(ready[1], b'.')
        serve(listener)
        os._exit(0)
    if way == 'veth':
        os.read(apart[0], 1)
        ip('link', 'add', 'lull-a', 'type', 'veth', 'peer', 'name', 'lull-b', 'netns', str(child))
        ip('addr', 'add', '10.77.0.1/24', 'dev', 'lull-a')
        ip('link', 'set', 'lull-a', 'up')
        os.write(moved[1], b'.')
    os.read(ready[0], 1)
    ask(family, address)
    os.waitpid(child, 0)


if __name__ == '__main__':
    main()
