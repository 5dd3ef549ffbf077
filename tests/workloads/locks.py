#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Locks and queues of C, Rust, System V and thread pools, each held for a known time: locks.py FOLDER FILE NAME... as small.py.
import ctypes
import multiprocessing
import os
import queue
import select
import socket
import subprocess

import stage
from services import reported

NAP = 0.15
libc = ctypes.CDLL(None, use_errno=True)


def shared():
    """Room for whatever pthread makes of it, also in children."""
    return multiprocessing.RawArray(ctypes.c_uint64, 16)


def checked(result):
    if result:
        raise stage.Skip(os.strerror(result if result > 0 else ctypes.get_errno()))


def held_by_another(watch, hold, release, wait):
    """A child holds it for a time, which is stamped; what is asked about is the wait."""
    held, stamp = stage.Gate(), stage.Stamp()

    def keep():
        hold()
        held.open()
        stamp.nap(NAP)
        release()

    holder = stage.child('wl-holder', keep)
    held.wait()
    with watch.asked():
        wait()
    stage.ended(holder)
    stamp.of(watch)


def rwlock(watch, hold, wait):
    lock, kind = shared(), ctypes.create_string_buffer(64)
    libc.pthread_rwlockattr_init(kind)
    libc.pthread_rwlockattr_setpshared(kind, 1)
    checked(libc.pthread_rwlock_init(lock, kind))
    held_by_another(watch, lambda: hold(lock), lambda: libc.pthread_rwlock_unlock(lock), lambda: wait(lock))


def rwlock_writer(watch, _):
    """A reader waits for who writes."""
    rwlock(watch, libc.pthread_rwlock_wrlock, libc.pthread_rwlock_rdlock)


def rwlock_reader(watch, _):
    """A writer waits for who reads."""
    rwlock(watch, libc.pthread_rwlock_rdlock, libc.pthread_rwlock_wrlock)


def mutex_of(watch, **attributes):
    lock, kind = shared(), ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(kind)
    libc.pthread_mutexattr_setpshared(kind, 1)
    for name, value in attributes.items():
        checked(getattr(libc, f'pthread_mutexattr_set{name}')(kind, value))
    checked(libc.pthread_mutex_init(lock, kind))
    held_by_another(watch, lambda: libc.pthread_mutex_lock(lock), lambda: libc.pthread_mutex_unlock(lock), lambda: libc.pthread_mutex_lock(lock))


def robust_mutex(watch, _):
    mutex_of(watch, robust=1)


def pi_mutex(watch, _):
    """The kernel gives the lock to who waits, and its priority to who holds it."""
    mutex_of(watch, protocol=1)


def sysv_semaphore(watch, _):
    one = libc.semget(0, 1, 0o1600)
    checked(one if one < 0 else 0)
    up, down = (ctypes.c_short * 3)(0, 1, 0), (ctypes.c_short * 3)(0, -1, 0)
    try:
        held_by_another(watch, lambda: None, lambda: libc.semop(one, up, 1), lambda: libc.semop(one, down, 1))
    finally:
        libc.semctl(one, 0, 0)  # IPC_RMID


def sysv_queue(watch, _):
    one = libc.msgget(0, 0o1600)
    checked(one if one < 0 else 0)
    message = ctypes.create_string_buffer(b'\x01' + bytes(15), 16)
    try:
        held_by_another(watch, lambda: None, lambda: libc.msgsnd(one, message, 8, 0), lambda: libc.msgrcv(one, message, 8, 0, 0))
    finally:
        libc.msgctl(one, 0, 0)


def thread_pool(watch, _):
    """A server whose first thread hears of requests by epoll, and gives them to a pool."""
    ours, theirs = socket.socketpair()
    stamp = stage.Stamp()

    def serve():
        requests = queue.SimpleQueue()

        def work():
            while True:
                requests.get()
                stamp.nap(NAP)
                theirs.send(b'answer')

        for _ in range(3):
            stage.thread('wl-worker', work)
        with select.epoll() as epoll:
            epoll.register(theirs, select.EPOLLIN)
            while True:
                epoll.poll()
                requests.put(theirs.recv(100))

    server = stage.child('wl-server', serve)
    ours.send(b'warm up')
    ours.recv(100)
    stamp.restart()
    with watch.asked():
        ours.send(b'question')
        ours.recv(100)
    stage.end(server)
    stamp.of(watch)


RUST = '''
use std::{fs, sync::{Arc, %(lock)s}, thread, time::Duration};
#[repr(C)] struct Time { s: i64, ns: i64 }
extern "C" { fn clock_gettime(clock: i32, time: *mut Time) -> i32; }
fn now() -> i64 { let mut t = Time { s: 0, ns: 0 }; unsafe { clock_gettime(1, &mut t); } t.s * 1000000000 + t.ns }
fn main() {
    let lock = Arc::new(%(lock)s::new(0));
    let theirs = lock.clone();
    let holder = thread::Builder::new().name("wl-holder".into()).spawn(move || {
        let _held = theirs.%(hold)s().unwrap();
        thread::sleep(Duration::from_millis(200));
    }).unwrap();
    thread::sleep(Duration::from_millis(50));
    let asker = thread::Builder::new().name("wl-asker".into()).spawn(move || {
        let own = fs::read_link("/proc/thread-self").unwrap();
        let start = now();
        let _held = lock.%(wait)s().unwrap();
        println!("{} {} {}", own.file_name().unwrap().to_str().unwrap(), start, now());
    }).unwrap();
    holder.join().unwrap();
    asker.join().unwrap();
}
'''


def rust(watch, folder, **words):
    stage.need('rustc')
    with open(os.path.join(folder, 'lock.rs'), 'w', encoding='ascii') as file:
        file.write(RUST % words)
    subprocess.run(['rustc', 'lock.rs'], cwd=folder, check=True)
    reported(watch, subprocess.run([os.path.join(folder, 'lock')], check=True, capture_output=True, text=True).stdout)
    watch.knows(cause_ns=watch.report['end_ns'] - watch.report['start_ns'])


def rust_mutex(watch, folder):
    """A futex of its own, without pthread."""
    rust(watch, folder, lock='Mutex', hold='lock', wait='lock')


def rust_rwlock(watch, folder):
    rust(watch, folder, lock='RwLock', hold='write', wait='read')


PROGRAMS = (rwlock_writer, rwlock_reader, robust_mutex, pi_mutex, sysv_semaphore, sysv_queue, thread_pool, rust_mutex, rust_rwlock)

if __name__ == '__main__':
    stage.main(PROGRAMS)
