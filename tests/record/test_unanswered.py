#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Requests of which no answer comes while they are recorded: listed if who asked still waits for one, since when it asked. Needs root. LULL is
# the program. The program that is recorded says what it asked, and when.
import json
import os
import sys
import tempfile

from record import recorders
from tap import Tap

# Clients of one server each: how that answers a question, and what the client does then.
PROGRAM = """import json, os, select, socket, sys, time
now = lambda: time.clock_gettime_ns(time.CLOCK_REALTIME)

def polls(client):
    select.select([client], [], [])

def waits(client):
    client.recv(1)

def sleeps(client):
    time.sleep(3)

def closes(client):
    client.close()
    time.sleep(3)

def waits_for_another(client):
    client.close()
    time.sleep(0.1)  # who listens has closed it, too
    socket.create_server(('127.0.0.1', 0)).accept()

known = []
children = []
for name, answers, then in (('late', 0, waits), ('polls', 0, polls), ('second', 1, waits), ('answered', 1, None), ('pushes', 0, sleeps), ('closes', 0, closes), ('elsewhere', 0, waits_for_another)):
    listener = socket.create_server(('127.0.0.1', 0))
    server = os.fork()
    if server == 0:
        connection = listener.accept()[0]
        for _ in range(answers):
            connection.sendall(connection.recv(100))
        while connection.recv(100):
            pass
        connection.close()
        time.sleep(3)
        os._exit(0)
    told, tell = os.pipe()
    client = os.fork()
    if client == 0:
        connection = socket.create_connection(listener.getsockname())
        for number in range(answers):
            connection.sendall(b'question')
            connection.recv(100)
        asked_ns = now()
        if then:
            connection.sendall(b'the last one')
        os.write(tell, b'%d' % asked_ns)
        if then:
            then(connection)
        time.sleep(3)
        os._exit(0)
    known.append([name, client, listener.getsockname()[1], int(os.read(told, 30))])
    listener.close()
    children += [server, client]
with open(sys.argv[1], 'w') as file:
    json.dump(known, file)
time.sleep(2)
for child in children:
    os.kill(child, 9)
"""
WAITING = "late", "polls", "second"


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "said")
        out, _ = recorders.record(tracer, [sys.executable, "-c", PROGRAM, said], folder, "-d", "1.2")
        with open(said, encoding="ascii") as file:
            known = json.load(file)
        found = recorders.ask_json("requests", "--json", out)
        wanted = sorted([client, port] for name, client, port, _ in known if name in WAITING)
        tap.ok(sorted([row["tid"], row["port"]] for row in found["unanswered"]) == wanted, f"{tracer}: who still waits for an answer", wanted, found)
        asked_ns = {client: ns for _, client, _, ns in known}
        late = [row["begin_ns"] - asked_ns[row["tid"]] for row in found["unanswered"]]
        tap.ok(all(0 <= ns < 20e6 for ns in late), f"{tracer}: since when", late)
        tap.ok(all(row["bytes_sent"] == len("the last one") for row in found["unanswered"]), f"{tracer}: how much it sent", found)
        answered = sorted(client for name, client, _, _ in known if name in ("second", "answered"))
        tap.ok(sorted(row["tid"] for row in found["requests"]) == answered, f"{tracer}: what was answered", answered, found)
        text = recorders.ask("requests", out)
        tap.ok(text.count("Still without an answer") == 1 and all(f" {client} " in text.split("Still")[1] for client, _ in wanted), f"{tracer}: in words", text)
        one = recorders.ask("requests", "--tid", str(wanted[0][0]), out)
        tap.ok("Still without an answer" in one and str(wanted[1][1]) not in one, f"{tracer}: of one task", one)


tap = Tap()
sys.exit(recorders.run_each(tap, run))
