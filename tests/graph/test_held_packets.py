#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A packet that its sender's device does not take at once: made-up traces of one CPU, in which `server` puts one into a queue and sleeps, and
# `client` has waited for it since before. LULL is the program.
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
MS = 10**6
START = 1700000000 * 10**9
CLIENT, SERVER, SKB, BUSY = 100, 200, 0xffff888100000000 - (1 << 64), 16
NAMES = {0: 'swapper/0', CLIENT: 'client', SERVER: 'server'}
SENT = 10.0


class Machine:
    def __init__(self):
        self.events, self.on = [], CLIENT

    def event(self, ms, name, payload):
        self.events.append({'t': round(ms * MS), 'n': name, 'p': payload, 'pc': {'cpu_id': 0}, 'sec': {'tid': self.on}})

    def switch(self, ms, tid, state=0):
        self.event(ms, 'sched_switch', {'prev_comm': NAMES[self.on], 'prev_tid': self.on, 'prev_prio': 20, 'prev_state': state,
                                        'next_comm': NAMES[tid], 'next_tid': tid, 'next_prio': 20})
        self.on = tid

    def packet(self, ms, name, skb=SKB, rc=0, device='lo'):
        payload = {'skbaddr': skb, 'len': 100, 'name': device}
        self.event(ms, name, {**payload, 'rc': rc} if name == 'net_dev_xmit' else payload)

    def softirq(self, ms, vec, inside):
        self.event(ms, 'irq_softirq_entry', {'vec': vec})
        inside()
        self.event(ms + 0.02, 'irq_softirq_exit', {'vec': vec})

    def takes(self, ms, **facts):
        self.softirq(ms, 2, lambda: self.packet(ms, 'net_dev_xmit', **facts))

    def receives(self, ms):
        def inside():
            self.packet(ms, 'net_if_receive_skb')
            self.event(ms + 0.01, 'sched_waking', {'comm': 'client', 'tid': CLIENT, 'prio': 20, 'target_cpu': 0})
        self.softirq(ms, 3, inside)


def path_of(steps, came):
    """Of the client: how long it waits for the network, and what is said of that. It is sent at SENT, and comes when it says."""
    machine = Machine()
    machine.event(0, 'sched_waking', {'comm': 'server', 'tid': SERVER, 'prio': 20, 'target_cpu': 0})
    machine.switch(1, SERVER, 1)
    machine.packet(SENT, 'net_dev_queue')
    steps(machine)
    machine.receives(came)
    machine.switch(came + 0.05, CLIENT)
    machine.switch(came + 1, 0, 1)
    machine.events.sort(key=lambda event: event['t'])
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(folder, 'trace')
        jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
        done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(CLIENT), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    path = json.loads(done.stdout)
    waits = [step for step in path['segments'] if step['state'] == 'blocked' and step['cause'] == 'network']
    causes = [row['detail'] for row in path['summary']['by_cause'] if row['cause'] == 'network']
    tap.ok(len(waits) == 1 and abs(waits[0]['end_ns'] - waits[0]['begin_ns'] - (came + 0.01 - SENT) * MS) < 2 and len(causes) == 1,
           'it waits for the packet for as long as that took', done.stdout + done.stderr)
    return waits[0]['detail'], causes[0]


HELD = 'packet without headers in the trace, after {} in the queue of lo (traffic control, or a full device)'
QUICK = 'packet without headers in the trace'


def sleeps(machine):
    machine.switch(SENT + 0.05, 0, 1)


def check(what, steps, came, detail, cause, is_slow=False):
    def all_steps(machine):
        if is_slow:
            steps(machine)
            machine.switch(came - 0.01, 0, 1)
        else:
            sleeps(machine)
            steps(machine)
    found = path_of(all_steps, came)
    tap.ok(found == (detail, cause), what, found)


check('held back until the device takes it', lambda machine: machine.takes(15), 15.1, HELD.format('5.000 ms'), 'packet held back in the queue of lo')


def later(machine):
    machine.takes(11, rc=BUSY)
    machine.takes(14)


check('one that the device had no room for comes again', later, 14.1, HELD.format('4.000 ms'), 'packet held back in the queue of lo')
check('for less than a millisecond, the kernel may have had no time', lambda machine: machine.takes(10.5), 15, QUICK, 'softirq NET_RX')
check('most of the time it was elsewhere', lambda machine: machine.takes(12), 15, HELD.format('2.000 ms'), 'softirq NET_RX')
check('the device is not known to have taken it', lambda machine: machine.takes(15, skb=SKB + 256), 15.1, QUICK, 'softirq NET_RX')
check('the device takes another, in the same buffer', lambda machine: machine.takes(17), 15.1, QUICK, 'softirq NET_RX')
check('the device takes it at once, and is long about it', lambda machine: machine.packet(15, 'net_dev_xmit'), 15.1, QUICK, 'softirq NET_RX', True)
tap.done()
