#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that people start and wait for, each with a known cause of waiting: tools.py FOLDER FILE NAME... as small.py.
import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import time

import stage
from services import reported

SLOW = 0.15
QUIET = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def children_cpu_ns():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def run_asked(watch, command, **more):
    """What is asked about is the program's life. How much CPU time it and its children used."""
    before = children_cpu_ns()
    program = subprocess.Popen(command, **{**QUIET, **more})
    with watch.asked(program.pid):
        status = program.wait()
    if status:
        raise RuntimeError(f'{command[0]} ends with {status}')
    return children_cpu_ns() - before


def dpkg(watch, folder):
    """Each file of a package is on the disk before it has its name, and so is what dpkg notes of it."""
    stage.need('dpkg', 'dpkg-deb')
    disk = stage.disk_of(folder)
    made, root = os.path.join(folder, 'made'), os.path.join(folder, 'root')
    os.makedirs(os.path.join(made, 'DEBIAN'))
    os.makedirs(os.path.join(made, 'opt/wl'))
    with open(os.path.join(made, 'DEBIAN/control'), 'w', encoding='ascii') as file:
        file.write('Package: wl\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: files\n')
    for number in range(100):
        with open(os.path.join(made, f'opt/wl/{number}'), 'wb') as file:
            file.write(random.randbytes(20000))
    subprocess.run(['dpkg-deb', '-Znone', '-b', made, f'{folder}/wl.deb'], check=True, **QUIET)
    for name in 'info', 'updates':
        os.makedirs(os.path.join(root, 'var/lib/dpkg', name))
    open(os.path.join(root, 'var/lib/dpkg/status'), 'w', encoding='ascii').close()
    run_asked(watch, ['dpkg', '--root', root, '--log=/dev/null', '--refuse-unsafe-io', '-i', f'{folder}/wl.deb'])
    watch.knows(disk=disk)


def git_gc(watch, folder):
    """Git finds for each version of a large file the one that it differs from least: CPU time of pack-objects."""
    stage.need('git')
    git = ['git', '-C', folder, '-c', 'user.name=nobody', '-c', 'user.email=nobody@localhost']
    subprocess.run([*git, 'init', '-q'], check=True, **QUIET)
    lines = [random.randbytes(20).hex() for _ in range(20000)]
    for number in range(12):
        random.shuffle(lines)
        with open(os.path.join(folder, 'words'), 'w', encoding='ascii') as file:
            file.write('\n'.join(lines))
        subprocess.run([*git, 'add', 'words'], check=True, **QUIET)
        subprocess.run([*git, 'commit', '-qm', str(number)], check=True, **QUIET)
    watch.knows(cause_ns=run_asked(watch, [*git, '-c', 'pack.threads=1', '-c', 'gc.auto=0', 'gc', '-q']))


def find(watch, folder):
    """A tree of folders, of a file system that was mounted just now: nothing of it is in memory."""
    stage.need('mkfs.ext4', 'mount', 'umount', 'find')
    image, root = os.path.join(folder, 'image'), os.path.join(folder, 'root')
    os.mkdir(root)
    with open(image, 'wb') as file:
        file.truncate(64 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)

    def mount():
        if subprocess.run(['mount', '-o', 'loop,noatime', image, root], check=False, **QUIET).returncode:
            raise stage.Skip('no image can be mounted here')

    mount()
    try:
        for number in range(300):
            os.makedirs(os.path.join(root, f'{number % 17}/{number}/{"x" * 200}'))
        disk = stage.disk_of(root)
    finally:
        subprocess.run(['umount', root], check=True)
    file = os.open(image, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    mount()
    try:
        run_asked(watch, ['find', root, '-name', 'nothing'])
    finally:
        subprocess.run(['umount', root], check=True)
    watch.knows(disk=disk)


def rsync(watch, folder):
    """It copies as many bytes a second as its option says, and sleeps in between, by select() of nothing."""
    stage.need('rsync')
    with open(os.path.join(folder, 'from'), 'wb') as file:
        file.write(random.randbytes(600000))
    run_asked(watch, ['rsync', '--whole-file', '--bwlimit=1000', os.path.join(folder, 'from'), os.path.join(folder, 'to')])


@contextlib.contextmanager
def memcached_in(folder):
    stage.need('memcached')
    stage.give_away(folder)
    path = os.path.join(folder, 's')
    with stage.daemon(['memcached', '-s', path, '-t', '2', '-m', '256'], lambda: stage.can_connect(socket.AF_UNIX, path), folder) as service, \
            socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        yield service, client


def asked_memcached(client, question, end):
    client.sendall(question)
    answer = b''
    while not answer.endswith(end):
        answer = answer[-100:] + client.recv(1 << 16)


def memcached(watch, folder):
    """The server is stopped for a while; a worker of it has what the client asks for."""
    with memcached_in(folder) as (service, client):
        asked_memcached(client, b'set a 0 0 5\r\nhello\r\n', b'STORED\r\n')
        stamp, ready = stage.Stamp(), stage.Gate()

        def stop():
            os.kill(service.pid, signal.SIGSTOP)
            ready.open()
            stamp.nap(SLOW)
            os.kill(service.pid, signal.SIGCONT)

        stopper = stage.child('wl-stopper', stop)
        ready.wait()
        with watch.asked():
            asked_memcached(client, b'get a\r\n', b'END\r\n')
        stage.ended(stopper)
        stamp.of(watch)


def socat(watch, folder):
    """Two of them between who asks and who answers."""
    stage.need('socat')
    paths = [os.path.join(folder, str(number)) for number in range(3)]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(paths[2])
    listener.listen()
    stamp = stage.Stamp()

    def answer():
        while True:
            connection, _ = listener.accept()
            connection.recv(100)
            stamp.nap(SLOW)
            connection.sendall(b'answer')
            connection.close()

    backend = stage.child('wl-backend', answer)
    chain = [subprocess.Popen(['socat', f'UNIX-LISTEN:{near}', f'UNIX-CONNECT:{far}'], preexec_fn=stage.before_exec, **QUIET)
             for near, far in zip(paths, paths[1:])]
    while not all(map(os.path.exists, paths)):
        time.sleep(0.01)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(paths[0])
        time.sleep(0.1)
        with watch.asked():
            client.sendall(b'question')
            client.recv(100)
    for one in chain:
        one.wait(10)
    stage.end(backend)
    stamp.of(watch)


WORKERS = '''
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (isMainThread) {
    const worker = new Worker(__filename);
    worker.on("message", text => {
        if (text === "ready") {
            start = process.hrtime.bigint();
            worker.postMessage("work");
            return;
        }
        console.log(process.pid, String(start), String(process.hrtime.bigint()));
        console.log(text);
        worker.terminate();
    });
} else {
    parentPort.on("message", () => {
        const end = performance.now() + 200;
        let n = 0;
        while (performance.now() < end) n++;
        parentPort.postMessage("done");
    });
    parentPort.postMessage("ready");
}
let start;
'''


def node_worker(watch, folder):
    """The main thread waits for what a worker computes."""
    stage.need('node')
    path = os.path.join(folder, 'workers.js')
    with open(path, 'w', encoding='ascii') as file:
        file.write(WORKERS)
    reported(watch, subprocess.run(['node', path], check=True, capture_output=True, text=True).stdout)


PROGRAMS = (dpkg, git_gc, find, rsync, memcached, socat, node_worker)

if __name__ == '__main__':
    stage.main(PROGRAMS)
