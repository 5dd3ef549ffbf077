#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Two machines whose clocks are known, traced with LTTng's add-on (inet_sock_local_in, inet_sock_local_out): their clocks are joined by
# TCP's numbers alone, and a path goes from one to the other.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, '..', 'lib')]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ['LULL']
US, MS = 1000, 1000000
START = 1700000000 * 10**9
ROUNDS, ROUND = 20, 10 * MS
TRANSIT, WORK = 200 * US, 3 * MS
AHEAD, DRIFT_PPM = 3 * 10**9 + 12345, 40  # the server's clock
CLIENT, SERVER = 100, 200
ACK, PSH = 8, 16  # in the add-on's order, above the header's length
LENGTH = 8


class Host:
    def __init__(self, name, clock):
        self.name, self.clock, self.events = name, clock, []

    def event(self, t, name, payload, tid=0):
        self.events.append({'t': self.clock(t), 'n': name, 'p': payload, 'pc': {'cpu_id': 0}, 'sec': {'tid': tid}})

    def switch(self, t, prev, following, state=0):
        names = {0: 'swapper/0', CLIENT: 'client', SERVER: 'server'}
        self.event(t, 'sched_switch', {'prev_comm': names[prev], 'prev_tid': prev, 'prev_prio': 20, 'prev_state': state,
                                       'next_comm': names[following], 'next_tid': following, 'next_prio': 20}, prev)

    def packet(self, t, sends, seq, ack, tid):
        self.event(t, 'inet_sock_local_out' if sends else 'inet_sock_local_in',
                   {'sk': 1, 'seq': seq, 'ack_seq': ack, 'check': 0, 'window': 1, 'flags': (ACK | PSH) << 8 | LENGTH}, tid)

    def arrives(self, t, seq, ack, task):
        """In a softirq that wakes the task, which then gets the CPU."""
        name = {CLIENT: 'client', SERVER: 'server'}[task]
        self.event(t, 'irq_softirq_entry', {'vec': 3})
        self.packet(t + 5 * US, False, seq, ack, 0)
        self.event(t + 8 * US, 'sched_waking', {'comm': name, 'tid': task, 'prio': 20, 'target_cpu': 0})
        self.event(t + 10 * US, 'irq_softirq_exit', {'vec': 3})
        self.switch(t + 12 * US, 0, task)


def make(folder):
    client = Host('client', lambda t: t - START)
    server = Host('server', lambda t: t - START + AHEAD + (t - START) * DRIFT_PPM // 10**6)
    for number in range(ROUNDS):
        t = START + number * ROUND
        seq, ack = 4294967000 + number * 100 & 0xffffffff, 77 + number * 50
        if number == 0:
            client.switch(t, 0, CLIENT)
            server.switch(t, SERVER, 0, 1)
        client.packet(t + 100 * US, True, seq, ack, CLIENT)
        client.switch(t + 150 * US, CLIENT, 0, 1)
        server.arrives(t + 100 * US + TRANSIT, seq, ack, SERVER)
        back = t + 100 * US + TRANSIT + WORK
        server.packet(back, True, ack, seq + 100 & 0xffffffff, SERVER)
        server.switch(back + 50 * US, SERVER, 0, 1)
        client.arrives(back + TRANSIT, ack, seq + 100 & 0xffffffff, CLIENT)
    for host in (client, server):
        jsonl_to_ctf.write_trace(host.events, os.path.join(folder, host.name), {'hostname': host.name}, offset_ns=START)


def run(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, encoding='utf-8', check=False)
    if done.returncode:
        tap.note(done.stderr)
    return json.loads(done.stdout)


with tempfile.TemporaryDirectory() as folder:
    make(folder)
    pair = run('sync', '--json', folder)['pairs'][0]
    tap.ok(pair['matched'] == 2 * ROUNDS and pair['matched_ab'] == ROUNDS, 'every packet is matched, each way', str(pair))
    sign = 1 if pair['a'] == 'client' else -1
    wrong = abs(sign * pair['offset_ns'] - AHEAD)
    # The offset drifts by 8 us over the trace; it cannot be known better than the packets took.
    tap.ok(wrong <= TRANSIT + 8 * US + pair['bound_ns'] and pair['bound_ns'] <= 2 * TRANSIT,
           'the offset of the clocks is found, within its bound', str(pair))

    path = run('critpath', '--json', '--host', 'client', '--tid', str(CLIENT), folder)
    segments = path['segments']
    work = sum(s['end_ns'] - s['begin_ns'] for s in segments
               if s['host'] == 'server' and s['state'] == 'running')
    tap.ok(abs(work - ROUNDS * WORK) < ROUNDS * 30 * US, "the client's path goes through the server's work", str(work))
    transit = [s for s in segments if s['state'] == 'blocked' and s['cause'] == 'network']
    tap.ok(len(transit) == 2 * ROUNDS, 'each transit is a wait for the network', str(len(transit)))
    tap.ok(any('TCP packet without addresses' in (s.get('detail') or '') for s in transit), 'what is known of it is said',
           str(transit[:1]))

    questions = {q['id']: q['hosts'][0]['answer'] for q in run('info', '--json', folder)['questions']}
    tap.ok(questions['clock-sync'] == 'yes' and questions['network-waits'] != 'no' and questions['requests'] == 'no',
           'info says what such a trace can answer', str(questions))
tap.done()
