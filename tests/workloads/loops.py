#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Servers that have many requests under way in one thread: loops.py FOLDER FILE NAME... as small.py. The asker's request is slow, because
# what the server asks for it sleeps; others ask something else all the time, and hear of it meanwhile.
import os
import selectors
import socket
import time

import stage

SLOW, QUICK = 0.2, 0.02


def listening(family, folder, name):
    if family == socket.AF_INET:
        return socket.create_server(('127.0.0.1', 0))
    listener = socket.socket(family)
    listener.bind(os.path.join(folder, name))
    listener.listen()
    return listener


def connected(listener):
    client = socket.socket(listener.family)
    client.connect(listener.getsockname())
    return client


def answer(listener, nap):
    """One question after the other, over the one connection that there is."""
    connection, _ = listener.accept()
    while connection.recv(100):
        nap()
        connection.sendall(b'answer')


def pass_on(make, routes, busy):
    """A loop: what a client asks goes to the backend of its listener, and what that says goes back. Connections stay. For each answer
    of the last backend it is busy for so long."""
    selector = make()
    for listener, backend in routes:
        backend_of_noise = connected(backend)
        selector.register(listener, selectors.EVENT_READ, (None, backend_of_noise))
    while True:
        for key, _ in selector.select():
            to, backend = key.data
            if to is None:
                client, _ = key.fileobj.accept()
                selector.register(client, selectors.EVENT_READ, (backend, None))
                selector.register(backend, selectors.EVENT_READ, (client, None))
            else:
                data = key.fileobj.recv(100)
                if key.fileobj is backend_of_noise:
                    stage.burn(busy)
                to.sendall(data)


def pass_on_by_two(make, routes, _):
    """The same, but one thread passes on the questions, another the answers, as runtimes with many threads do it. The first takes its time
    for the first backend."""
    questions, answers = make(), make()
    slow, quick = (connected(backend) for _, backend in routes)
    for (listener, _), backend in zip(routes, (slow, quick), strict=True):
        questions.register(listener, selectors.EVENT_READ, backend)

    def pass_questions():
        while True:
            for key, _ in questions.select():
                if isinstance(key.data, tuple):
                    time.sleep(SLOW / 4 if key.data[0] is slow else 0)
                    key.data[0].sendall(key.fileobj.recv(100))
                    continue
                client, _ = key.fileobj.accept()
                answers.register(key.data, selectors.EVENT_READ, client)
                questions.register(client, selectors.EVENT_READ, (key.data,))

    stage.thread('wl-questions', pass_questions)
    while True:
        for key, _ in answers.select(0.5):
            key.data.sendall(key.fileobj.recv(100))


def ask(client):
    client.sendall(b'question')
    if client.recv(100) != b'answer':
        raise RuntimeError('no answer')


def ask_all_the_time(listener):
    client = connected(listener)
    while True:
        ask(client)


def loop(watch, folder, make=selectors.EpollSelector, family=socket.AF_INET, quick_s=QUICK, busy=0, proxy=pass_on):
    stamp = stage.Stamp()
    names = 'slow', 'quick', 'slow-way', 'quick-way'
    slow, quick, slow_way, quick_way = (listening(family, folder, name) for name in names)
    children = [stage.child('wl-backend', answer, slow, lambda: stamp.nap(SLOW)),
                stage.child('wl-other', answer, quick, lambda: time.sleep(quick_s)),
                stage.child('wl-proxy', proxy, make, ((slow_way, slow), (quick_way, quick)), busy)]
    children.append(stage.child('wl-noise', ask_all_the_time, quick_way))
    client = connected(slow_way)
    ask(client)
    stamp.restart()
    time.sleep(QUICK)
    with watch.asked():
        ask(client)
    client.close()
    for pid in children:
        stage.end(pid)
    stamp.of(watch)


def epoll_loop(watch, folder):
    loop(watch, folder)


def epoll_loop_unix(watch, folder):
    loop(watch, folder, family=socket.AF_UNIX)


def poll_loop(watch, folder):
    loop(watch, folder, selectors.PollSelector)


def select_loop(watch, folder):
    loop(watch, folder, selectors.SelectSelector)


def busy_loop(watch, folder):
    """The answer comes when the server does things for the others, as nearly always."""
    loop(watch, folder, quick_s=0.002, busy=0.03)


def split_loop(watch, folder):
    """Who gets the answer is not who asked."""
    loop(watch, folder, proxy=pass_on_by_two)


if __name__ == '__main__':
    stage.main((epoll_loop, epoll_loop_unix, poll_loop, select_loop, busy_loop, split_loop))
