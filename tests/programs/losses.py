#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A client whose SYN is lost, and then a request: the sockets of its server drop what comes for a while (a socket filter that passes
# nothing), so that TCP has to send it again; so
# does the client's socket with an answer. Then it sends requests in two parts, of which Nagle's algorithm holds the second back, and
# at last more than its server, which sleeps, has room for. Writes the client's stamps (CLOCK_MONOTONIC), and how often the kernel
# counted that something was sent again, that an acknowledgement was delayed and that a window opened, as JSON to the file that is
# named.
import ctypes
import json
import os
import socket
import struct
import sys
import time

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
ROUNDS, PART = 5, 100


def drop(end):
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # return 0: keep no byte
    end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(instruction)))


def take(end):
    end.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def counter(path, kind, name):
    with open(path, encoding="ascii") as file:
        names, values = (line.split() for line in file if line.startswith(kind))
    return int(values[names.index(name)])


def sent_again():
    return counter("/proc/net/snmp", "Tcp:", "RetransSegs")


def delayed():
    return counter("/proc/net/netstat", "TcpExt:", "DelayedACKs")


def closed():
    return counter("/proc/net/netstat", "TcpExt:", "TCPFromZeroWindowAdv")


def serve(listening, ready, client):
    drop(listening)
    os.write(ready, b"1")
    time.sleep(0.3)
    take(listening)
    end, _ = listening.accept()
    end.recv(100)
    end.sendall(b"answer")
    drop(end)
    os.write(ready, b"2")
    time.sleep(0.05)
    take(end)
    end.recv(100)
    end.sendall(b"answer")
    end.recv(100)
    time.sleep(0.03)
    drop(client)  # its own answer is lost, after it has slept
    end.sendall(b"answer")
    time.sleep(0.02)
    take(client)
    client.close()
    for _ in range(ROUNDS):  # in two parts, the second of which waits for an acknowledgement that a timer sends
        left = 2 * PART
        while left > 0:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            left -= len(end.recv(left))
        end.sendall(b"answer")
    time.sleep(1)  # meanwhile there is no room for what the client sends
    while end.recv(1 << 20):
        pass


def main():
    listening = socket.create_server(("127.0.0.1", 0))
    ready, ready_end = os.pipe()
    end = socket.socket()
    server = os.fork()
    if server == 0:
        serve(listening, ready_end, end)
        os._exit(0)
    before, closed_before = sent_again(), closed()
    os.read(ready, 1)
    stamps = {"connect": now()}
    end.connect(listening.getsockname())
    stamps["connected"] = now()
    end.sendall(b"first")
    end.recv(100)
    os.read(ready, 1)
    stamps["send"] = now()
    end.sendall(b"second")
    end.recv(100)
    stamps["answered"] = now()
    stamps["sent_again"] = sent_again() - before
    end.sendall(b"third")
    end.recv(100)
    stamps["third_answered"] = now()
    delayed_before = delayed()
    for _ in range(ROUNDS):
        end.sendall(bytes(PART))
        end.sendall(bytes(PART))
        end.recv(100)
    stamps["delayed"] = delayed() - delayed_before
    stamps["all_answered"] = now()
    end.sendall(bytes(12 << 20))
    stamps["sent"] = now()
    end.close()
    os.waitpid(server, 0)
    stamps["closed"] = closed() - closed_before
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(stamps, file)


main()
