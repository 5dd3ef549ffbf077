#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Services and languages as people run them, each with a known cause of waiting: services.py FOLDER FILE NAME... as small.py. They
# run as nobody, in the folder, on unix sockets or in a network namespace of their own.
import http.client
import os
import re
import socket
import subprocess
import time

import stage

SLOW = 0.15
BACKEND = 8081


def tool_of_postgresql(name):
    for root in '/usr/lib/postgresql', '/usr/pgsql':
        for folder in sorted(os.listdir(root), reverse=True) if os.path.isdir(root) else []:
            path = os.path.join(root, folder, 'bin', name)
            if os.access(path, os.X_OK):
                return path
    raise stage.Skip('PostgreSQL is not installed')


def pgbench(watch, folder):
    """One client, which waits for each commit to be on the disk. The database measures how long that took."""
    postgres, initdb, bench = map(tool_of_postgresql, ('postgres', 'initdb', 'pgbench'))
    stage.need('psql')
    disk = stage.disk_of(folder)
    stage.give_away(folder)
    data = os.path.join(folder, 'data')
    plain = {'check': True, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, **stage.AS_NOBODY}
    subprocess.run([initdb, '-D', data, '-U', 'nobody', '-A', 'trust', '--no-sync'], cwd=folder, **plain)
    server = [postgres, '-D', data, '-k', folder, '-h', '', '-c', 'shared_buffers=16MB', '-c', 'track_wal_io_timing=on',
              '-c', 'autovacuum=off', '-c', 'jit=off']
    way = ['-h', folder, '-U', 'nobody', 'postgres']
    with stage.daemon(server, lambda: subprocess.run(['psql', *way, '-c', 'select 1'], check=False, capture_output=True).returncode == 0,
                      folder):
        subprocess.run([bench, '-i', '-q', *way], cwd=folder, **plain)
        subprocess.run(['psql', *way, '-c', "select pg_stat_reset_shared('wal')"], **plain)
        client = subprocess.Popen([bench, '-t', '150', '-N', *way], cwd=folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, **stage.AS_NOBODY)
        with watch.asked(client.pid):
            client.wait()
        time.sleep(1)  # until the server has counted
        counted = subprocess.run(['psql', *way, '-Atc', 'select wal_sync, wal_sync_time from pg_stat_wal'], check=True,
                                 capture_output=True, text=True).stdout
    watch.knows(disk=disk, calls_ns=int(float(counted.split('|')[1]) * 1e6))


def redis(watch, folder):
    stage.need('redis-server')
    disk = stage.disk_of(folder)
    stage.give_away(folder)
    path = os.path.join(folder, 's')
    server = ['redis-server', '--port', '0', '--unixsocket', path, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always',
              '--save', '']
    with stage.daemon(server, lambda: stage.can_connect(socket.AF_UNIX, path), folder) as service, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        with watch.asked(counted=service.pid):
            for number in range(100):
                client.sendall(b'SET key%d value\r\n' % number)
                if client.recv(100) != b'+OK\r\n':
                    raise RuntimeError('redis did not say OK')
    watch.knows(disk=disk)


def get(connection, path):
    connection.request('GET', path)
    answer = connection.getresponse()
    if answer.read() != b'hello':
        raise RuntimeError(f'{path}: {answer.status}')


def nginx(watch, folder):
    """Of sixteen requests two are slow, because what nginx asks sleeps. The last of them is asked about."""
    stage.need('nginx')
    stage.loopback()
    stage.give_away(folder)
    temporary = ''.join(f'{kind}_temp_path {folder}/{kind};' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    with open(os.path.join(folder, 'conf'), 'w', encoding='ascii') as file:
        file.write(f'daemon off; pid {folder}/pid; error_log {folder}/error; worker_processes 1; events {{}} http {{ access_log off;'
                   f'{temporary} server {{ listen 127.0.0.1:8080; location / {{ proxy_pass http://127.0.0.1:{BACKEND}; }} }} }}')
    stamp = stage.Stamp()
    backend = stage.slow_backend(BACKEND, SLOW, stamp)
    server = ['nginx', '-e', os.path.join(folder, 'error'), '-p', folder, '-c', os.path.join(folder, 'conf')]
    with stage.daemon(server, lambda: stage.can_connect(socket.AF_INET, ('127.0.0.1', 8080)), folder):
        connection = http.client.HTTPConnection('127.0.0.1', 8080)
        for number in range(15):
            get(connection, '/slow' if number == 7 else '/')
        stamp.restart()
        with watch.asked():
            get(connection, '/slow')
        connection.close()
    stage.end(backend)
    stamp.of(watch)


def make(watch, folder):
    """One of three sources has a thousand functions, the others one."""
    stage.need('make', 'gcc')
    for name, count in ('long', 1000), ('short', 1), ('main', 1):
        with open(os.path.join(folder, name + '.c'), 'w', encoding='ascii') as file:
            file.writelines(f'int {name}{i}(int a) {{ for (int i = 0; i < a; i++) a = a * {i + 3} ^ i; return a; }}\n' for i in range(count))
    with open(os.path.join(folder, 'Makefile'), 'w', encoding='ascii') as file:
        file.write('all.a: long.o short.o main.o\n\tar rc $@ $^\n.c.o:\n\tgcc -O1 -time=$@.time -c -o $@ $<\n')
    build = subprocess.Popen(['make', '-s', '-j2'], cwd=folder)
    with watch.asked(build.pid):
        build.wait()
    with open(os.path.join(folder, 'long.o.time'), encoding='ascii') as times:
        user, system = next(line for line in times if ' cc1 ' in line).split()[:2]
    watch.knows(cause_ns=int((float(user) + float(system)) * 1e9))


JAVA = '''
import java.nio.file.*;
public class Locks {
    static final Object lock = new Object();
    public static void main(String[] arguments) throws Exception {
        Thread holder = new Thread(() -> {
            synchronized (lock) { try { Thread.sleep(200); } catch (InterruptedException e) { } }
        }, "wl-holder");
        Thread asker = new Thread(() -> {
            try {
                Path self = Files.readSymbolicLink(Path.of("/proc/thread-self"));
                long start = System.nanoTime(), end;
                synchronized (lock) { end = System.nanoTime(); }
                System.out.println(self.getFileName() + " " + start + " " + end);
            } catch (Exception e) { e.printStackTrace(); }
        }, "wl-asker");
        holder.start();
        Thread.sleep(50);
        asker.start();
        asker.join();
    }
}
'''


def reported(watch, text):
    """A program's own line: its thread, and from when to when it waited by CLOCK_MONOTONIC."""
    tid, start, end = map(int, re.search(r'^(\d+) (\d+) (\d+)$', text, re.M).groups())
    watch.knows(tid=tid, start_ns=start, end_ns=end)


def java(watch, folder):
    stage.need('javac', 'java')
    with open(os.path.join(folder, 'Locks.java'), 'w', encoding='ascii') as file:
        file.write(JAVA)
    subprocess.run(['javac', '-J-Xint', 'Locks.java'], cwd=folder, check=True)
    reported(watch, subprocess.run(['java', '-Xshare:auto', '-cp', folder, 'Locks'], check=True, capture_output=True, text=True).stdout)
    watch.knows(cause_ns=watch.report['end_ns'] - watch.report['start_ns'])


GO = '''
package main

import ("fmt"; "io"; "net/http"; "os"; "runtime"; "syscall"; "unsafe")

func now() int64 {
    var t syscall.Timespec
    syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
    return t.Nano()
}

func main() {
    runtime.LockOSThread()
    start := now()
    answer, err := http.Get(os.Args[1])
    if err != nil { panic(err) }
    io.Copy(io.Discard, answer.Body)
    fmt.Println(syscall.Gettid(), start, now())
}
'''


def go(watch, folder):
    """Its main thread waits for another one of the same program, which waits for the answer of a server."""
    stage.need('go')
    with open(os.path.join(folder, 'get.go'), 'w', encoding='ascii') as file:
        file.write(GO)
    home = {**os.environ, 'HOME': folder, 'GOCACHE': os.environ.get('LULL_GO_CACHE', os.path.join(folder, 'cache')),
            'GOFLAGS': '-mod=mod', 'GO111MODULE': 'off', 'CGO_ENABLED': '0'}
    subprocess.run(['go', 'build', '-o', 'get', 'get.go'], cwd=folder, env=home, check=True)
    stage.loopback()
    stamp = stage.Stamp()
    backend = stage.slow_backend(BACKEND, SLOW, stamp)
    reported(watch, subprocess.run([os.path.join(folder, 'get'), f'http://127.0.0.1:{BACKEND}/slow'], check=True, capture_output=True,
                                   text=True).stdout)
    stage.end(backend)
    stamp.of(watch)


NODE = '''
const start = process.hrtime.bigint();
require("http").get(process.argv[2], answer => answer.resume().on("end", () =>
    console.log(process.pid, String(start), String(process.hrtime.bigint()))));
'''


def node(watch, folder):
    stage.need('node')
    stage.loopback()
    with open(os.path.join(folder, 'get.js'), 'w', encoding='ascii') as file:
        file.write(NODE)
    stamp = stage.Stamp()
    backend = stage.slow_backend(BACKEND, SLOW, stamp)
    reported(watch, subprocess.run(['node', os.path.join(folder, 'get.js'), f'http://127.0.0.1:{BACKEND}/slow'], check=True,
                                   capture_output=True, text=True).stdout)
    stage.end(backend)
    stamp.of(watch)


PROGRAMS = (pgbench, redis, nginx, make, java, go, node)

if __name__ == '__main__':
    stage.main(PROGRAMS)
