#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Two machines whose clocks are known, traced without the headers of packets: with LTTng's add-on (inet_sock_local_in and
# inet_sock_local_out, TCP's numbers alone), and as ftrace and perf can (what sockets sent and received). Their clocks are joined, and a
# path goes from one to the other.
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
CLIENT, SERVER, OTHER = 100, 200, 300
ACK, PSH = 8, 16  # in the add-on's order, above the header's length
LENGTH = 8
ASKED, ANSWERED = 300, 900
LOST, AGAIN = 7, 200 * MS  # the request of that round is sent again after that time


class Host:
    def __init__(self, name, clock):
        self.name, self.clock, self.events = name, clock, []

    def event(self, t, name, payload, tid=0):
        self.events.append({'t': self.clock(t), 'n': name, 'p': payload, 'pc': {'cpu_id': 0}, 'sec': {'tid': tid}})

    def switch(self, t, prev, following, state=0):
        names = {0: 'swapper/0', CLIENT: 'client', SERVER: 'server', OTHER: 'other'}
        self.event(t, 'sched_switch', {'prev_comm': names[prev], 'prev_tid': prev, 'prev_prio': 20, 'prev_state': state,
                                       'next_comm': names[following], 'next_tid': following, 'next_prio': 20}, prev)

    def packet(self, t, sends, seq, ack, tid):
        """With the add-on."""
        self.event(t, 'inet_sock_local_out' if sends else 'inet_sock_local_in',
                   {'sk': 1, 'seq': seq, 'ack_seq': ack, 'check': 0, 'window': 1, 'flags': (ACK | PSH) << 8 | LENGTH}, tid)

    def arrives(self, t, seq, ack, task):
        """In a softirq that wakes the task, which then gets the CPU."""
        name = {CLIENT: 'client', SERVER: 'server'}[task]
        self.event(t, 'irq_softirq_entry', {'vec': 3})
        self.packet(t + 5 * US, False, seq, ack, 0)
        self.event(t + 8 * US, 'sched_waking', {'comm': name, 'tid': task, 'prio': 20, 'target_cpu': 0})
        self.event(t + 10 * US, 'irq_softirq_exit', {'vec': 3})
        self.runs(t + 12 * US, task)

    def runs(self, t, task):
        self.switch(t, 0, task)


class SocketHost(Host):
    """As ftrace and perf record it; the numbers of packets are not used."""
    def __init__(self, name, clock):
        super().__init__(name, clock)
        self.is_client = name == 'client'
        self.buffer = 0x1000

    port = 80

    def end(self, is_client):
        address, port = ([10, 0, 0, 1], 40000) if is_client else ([10, 0, 0, 2], self.port)
        return address, port, [2, 0, port >> 8, port & 255] + address + [0] * 20

    def state(self, t, old, new, tid=0):
        (source, source_port, _), (destination, port, _) = self.end(self.is_client), self.end(not self.is_client)
        self.event(t, 'inet_sock_set_state', {
            'skaddr': 7, 'oldstate': old, 'newstate': new, 'sport': source_port, 'dport': port, 'family': 2, 'protocol': 6,
            'saddr': source, 'daddr': destination, 'saddr_v6': [0] * 16, 'daddr_v6': [0] * 16}, tid)

    def packet(self, t, sends, seq, ack, tid):
        self.buffer += 0x100
        self.event(t, 'net_dev_queue' if sends else 'netif_receive_skb', {'skbaddr': self.buffer, 'len': 500, 'name': 'eth0'}, tid)
        length = ASKED if self.is_client == sends else ANSWERED
        if sends:
            self.event(t + 20 * US, 'sock_send_length', {'sk': 7, 'family': 2, 'protocol': 6, 'ret': length, 'flags': 0}, tid)
        else:
            self.event(t + 1 * US, 'tcp_probe', {
                'saddr': self.end(self.is_client)[2], 'daddr': self.end(not self.is_client)[2], 'data_len': length,
                'snd_wnd': 1000, 'skbaddr': self.buffer, 'skaddr': 7}, tid)

    def acknowledged(self, t, window):
        """Without data; `window` is the peer's before that."""
        self.buffer += 0x100
        self.event(t - 1 * US, 'netif_receive_skb', {'skbaddr': self.buffer, 'len': 52, 'name': 'eth0'})
        self.event(t, 'tcp_probe', {
            'saddr': self.end(self.is_client)[2], 'daddr': self.end(not self.is_client)[2], 'data_len': 0, 'snd_wnd': window,
            'skbaddr': self.buffer, 'skaddr': 7})

    def again(self, t):
        """A timer of TCP's sends something again."""
        self.buffer += 0x100
        self.event(t - 2 * US, 'irq_softirq_entry', {'vec': 1})
        self.event(t - 1 * US, 'net_dev_queue', {'skbaddr': self.buffer, 'len': 500, 'name': 'eth0'})
        self.event(t, 'tcp_retransmit_skb', {'skbaddr': self.buffer - 1, 'skaddr': 7, 'state': 1})
        self.event(t + 1 * US, 'irq_softirq_exit', {'vec': 1})


class IdleHidden(SocketHost):
    """As perf records it on a kernel whose switches out of idle it cannot see: what is heard first is what the task received."""
    def runs(self, t, task):
        if self.is_client:
            self.event(t, 'sock_recv_length', {'sk': 7, 'family': 2, 'protocol': 6, 'ret': ANSWERED, 'flags': 0}, task)
        else:
            super().runs(t, task)


def make(folder, kind, lost=ROUNDS, closed=ROUNDS):
    client = kind('client', lambda t: t - START)
    server = kind('server', lambda t: t - START + AHEAD + (t - START) * DRIFT_PPM // 10**6)
    for number in range(ROUNDS):
        t = START + number * ROUND + (AGAIN if number > lost else 0)
        seq, ack = 4294967000 + number * 100 & 0xffffffff, 77 + number * 50
        if number == 0:
            client.switch(t, 0, CLIENT)
            server.switch(t, SERVER, 0, 1)
            if isinstance(client, SocketHost):
                client.state(t + 10 * US, 7, 2, CLIENT)
                server.state(t + 30 * US, 3, 1)
                client.state(t + 50 * US, 2, 1)
        client.packet(t + 100 * US, True, seq, ack, CLIENT)
        client.switch(t + 150 * US, CLIENT, 0, 1)
        if number == closed:
            client.acknowledged(t + 400 * US, 1000)
            client.acknowledged(t + 2500 * US, 0)
        if number == lost:
            t += AGAIN
            client.again(t + 100 * US)
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
        print('#', done.stderr.replace('\n', '\n# '))
    return json.loads(done.stdout)


def check_requests(name, folder, woken_us):
    """What the client did in each round is a request."""
    requests = run('requests', '--json', '--port', '80', folder)['requests']
    exact = [(START + n * ROUND + 100 * US, ASKED, ANSWERED) for n in range(ROUNDS)]
    # The last softirq wakes the client 8 us after its start; the client runs 4 us later. It is between both if that was not seen.
    took = {r['duration_ns'] for r in requests}
    tap.ok([(r['begin_ns'], r['bytes_sent'], r['bytes_received']) for r in requests] == exact,
           f'{name}: each request starts with its first packet', str(requests[:2]))
    tap.ok(all(2 * TRANSIT + WORK + woken_us * US <= t <= 2 * TRANSIT + WORK + 12 * US for t in took), f'{name}: and ends when the client runs again', str(took))


def check(name, kind):
    with tempfile.TemporaryDirectory() as folder:
        make(folder, kind)
        pair = run('sync', '--json', folder)['pairs'][0]
        tap.ok(pair['matched'] == 2 * ROUNDS and pair['matched_ab'] == ROUNDS, f'{name}: every packet is matched, each way',
               str(pair))
        sign = 1 if pair['a'] == 'client' else -1
        wrong = abs(sign * pair['offset_ns'] - AHEAD)
        # The offset drifts by 8 us over the trace; it cannot be known better than the packets took.
        tap.ok(wrong <= TRANSIT + 8 * US + pair['bound_ns'] and pair['bound_ns'] <= 2 * TRANSIT,
               f'{name}: the offset of the clocks is found, within its bound', str(pair))

        segments = run('critpath', '--json', '--host', 'client', '--tid', str(CLIENT), folder)['segments']
        work = sum(s['end_ns'] - s['begin_ns'] for s in segments
                   if s['host'] == 'server' and s['state'] == 'running')
        tap.ok(abs(work - ROUNDS * WORK) < ROUNDS * 30 * US, f"{name}: the client's path goes through the server's work", str(work))
        transit = [s for s in segments if s['state'] == 'blocked' and s['cause'] == 'network']
        tap.ok(len(transit) == 2 * ROUNDS, f'{name}: each transit is a wait for the network', str(len(transit)))
        known = '10.0.0.2:80 → 10.0.0.1:40000, 900 bytes' if issubclass(kind, SocketHost) else 'TCP packet without addresses'
        tap.ok(any(known in (s.get('detail') or '') for s in transit), f'{name}: what is known of it is said', str(transit[:2]))

        answers = {q['id']: q['hosts'][0]['answer'] for q in run('info', '--json', folder)['questions']}
        tap.ok(answers['clock-sync'] == 'yes' and answers['network-waits'] != 'no' and
               (answers['requests'] == 'no') == (kind is Host), f'{name}: info says what such a trace can answer', str(answers))
        if issubclass(kind, SocketHost):
            check_requests(name, folder, 8 if kind is IdleHidden else 12)
            return
        done = subprocess.run([lull, 'requests', folder], capture_output=True, text=True, encoding='utf-8', check=False)
        tap.ok(done.returncode == 0 and 'cannot show requests' in done.stderr,
               f'{name}: requests says that they were not recorded', done.stderr)


def check_lost():
    """Both who waits for the answer and who waits for the request waited for the time-out of TCP."""
    with tempfile.TemporaryDirectory() as folder:
        make(folder, SocketHost, LOST)
        path = run('critpath', '--json', '--host', 'client', '--tid', str(CLIENT), folder)
        resent = [s['tcp'] for s in path['segments'] if (s.get('tcp') or {}).get('kind')]
        first = START + LOST * ROUND + 100 * US
        tap.ok(resent and all(tcp['kind'] == 'sent-again' and tcp['times'] == 1 and abs(tcp['first_ns'] - first) <= 2 * TRANSIT and
                              tcp['last_ns'] - tcp['first_ns'] == AGAIN for tcp in resent),
               'lost: the packet that was sent again is the evidence, and no other', str(resent))
        text = subprocess.run([lull, 'critpath', '--full', '--host', 'client', '--tid', str(CLIENT), folder], capture_output=True,
                              text=True, encoding='utf-8', check=True).stdout
        first_cause = text.split('BY CAUSE')[1].split('\n')[1]
        tap.ok('sent again 200.0 ms after it was sent first' in text and ', sent again' in first_cause,
               'lost: and the path says so, first among the causes', text)
        waits = [s for s in run('critpath', '--json', '--host', 'server', '--tid', str(SERVER), folder)['segments']
                 if (s.get('tcp') or {}).get('kind') == 'sent-again']
        tap.ok(waits, 'lost: so does that of the server', str(waits))


def check_window():
    """A packet closes the window, another opens it: what the client waited for then says so, and no other wait."""
    with tempfile.TemporaryDirectory() as folder:
        make(folder, SocketHost, closed=LOST)
        text = subprocess.run([lull, 'critpath', '--full', '--host', 'client', '--tid', str(CLIENT), folder], capture_output=True,
                              text=True, encoding='utf-8', check=True).stdout
        said = [line for line in text.splitlines() if 'zero window' in line]
        tap.ok(len(said) == 1 and 'the receiver had no room for more for 2.100 ms (zero window)' in said[0] and
               'client/100' in said[0], 'window: the wait in which it was closed says how long', text)


def check_reuse():
    """Of a server alone: its socket and the buffers of what arrives were another program's before. That is no client."""
    with tempfile.TemporaryDirectory() as folder:
        server = SocketHost('server', lambda t: t - START)
        server.port = 45000  # both ports are as a client's
        server.event(START, 'sched_switch', {'prev_comm': 'swapper/0', 'prev_tid': 0, 'prev_prio': 20, 'prev_state': 0,
                                             'next_comm': 'other', 'next_tid': OTHER, 'next_prio': 20})
        # Bytes of a connection that was there before, and whose addresses never become known.
        server.event(START + 5 * US, 'sock_send_length', {'sk': 7, 'family': 2, 'protocol': 6, 'ret': 77, 'flags': 0}, OTHER)
        server.switch(START + 10 * US, OTHER, SERVER)
        server.switch(START + 15 * US, SERVER, 0, 1)
        server.state(START + 30 * US, 3, 1)
        for number in range(ROUNDS):
            t = START + (1 + number) * ROUND
            server.switch(t, 0, OTHER)
            # A datagram to nobody, in the buffer of the packet that comes next.
            server.event(t + 10 * US, 'net_dev_queue', {'skbaddr': server.buffer + 0x100, 'len': 100, 'name': 'lo'}, OTHER)
            server.switch(t + 20 * US, OTHER, 0, 1)
            server.arrives(t + TRANSIT, 0, 0, SERVER)
            server.packet(t + TRANSIT + WORK, True, 0, 0, SERVER)
            server.switch(t + TRANSIT + WORK + 50 * US, SERVER, 0, 1)
        jsonl_to_ctf.write_trace(server.events, os.path.join(folder, server.name), {'hostname': server.name}, offset_ns=START)
        requests = run('requests', '--json', folder)['requests']
        tap.ok(not requests, 'who had a buffer or a socket before is not the client, nor is who accepted', str(requests[:2]))
        segments = run('critpath', '--json', '--tid', str(SERVER), folder)['segments']
        waits = [s for s in segments if s['state'] == 'blocked' and s['cause'] == 'network']
        tap.ok(waits and not [s for s in waits if s['by'] and s['by']['tid'] == OTHER], 'nor who the server waited for', str(waits[:2]))


def check_old_kernels():
    """Before Linux 6.3 calls do not report what they sent: on the loopback, who sent what arrived is known by its buffer. Two hosts
    use the same addresses for theirs."""
    with tempfile.TemporaryDirectory() as folder:
        ends = {CLIENT: ([127, 0, 0, 1], 40000, 7), SERVER: ([127, 0, 0, 1], 80, 8)}
        socket_address = {task: [2, 0, port >> 8, port & 255] + address + [0] * 20 for task, (address, port, _) in ends.items()}

        def passes(host, t, sender, receiver, length, number):
            """The sender's call runs the softirq in which the receiver's TCP gets the data and wakes it."""
            skb = 0x1000 + number * 0x100
            host.event(t, 'net_dev_queue', {'skbaddr': skb, 'len': length + 52, 'name': 'lo'}, sender)
            host.event(t + 1 * US, 'irq_softirq_entry', {'vec': 3}, sender)
            host.event(t + 2 * US, 'netif_receive_skb', {'skbaddr': skb, 'len': length + 52, 'name': 'lo'}, sender)
            host.event(t + 3 * US, 'tcp_probe', {'saddr': socket_address[receiver], 'daddr': socket_address[sender], 'data_len': length,
                                                 'snd_wnd': 1000, 'skbaddr': skb, 'skaddr': ends[receiver][2]}, sender)
            host.event(t + 4 * US, 'sched_waking', {'comm': 'x', 'tid': receiver, 'prio': 20, 'target_cpu': 0}, sender)
            host.event(t + 5 * US, 'irq_softirq_exit', {'vec': 3}, sender)
            host.switch(t + 10 * US, sender, receiver, 1)

        for name in ('one', 'two'):
            host = Host(name, lambda t: t - START)
            host.switch(START, 0, CLIENT)
            for number in range(ROUNDS):
                t = START + number * ROUND + 100 * US
                passes(host, t, CLIENT, SERVER, ASKED, 2 * number)
                passes(host, t + WORK, SERVER, CLIENT, ANSWERED, 2 * number + 1)
            jsonl_to_ctf.write_trace(host.events, os.path.join(folder, name), {'hostname': name}, offset_ns=START)
        requests = run('requests', '--json', '--port', '80', folder)['requests']
        found = sorted((r['host'], r['begin_ns'], r['duration_ns'], r['tid'], r['bytes_sent'], r['bytes_received'])
                       for r in requests)
        exact = sorted((name, START + n * ROUND + 100 * US, WORK + 10 * US, CLIENT, ASKED, ANSWERED)
                       for name in ('one', 'two') for n in range(ROUNDS))
        tap.ok(found == exact, 'old kernels: who sent what is known by its buffer, on each host', f'{set(found) ^ set(exact)}')


check('add-on', Host)
check('sockets', SocketHost)
check('sockets, idle hidden', IdleHidden)
check_lost()
check_window()
check_reuse()
check_old_kernels()
tap.done()
