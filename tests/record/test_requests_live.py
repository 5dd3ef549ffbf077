#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A client and a server of our own (programs/exchanges.py), recorded now with ftrace and perf, which know no headers of packets: each
# request is found, between the client's own stamps, and the path of each goes through the server.
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, '..', 'programs')]
import exchanges  # noqa: E402
from record import recorders  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
LULL = os.environ['LULL']
US, MS = 1000, 1000000
CLOCKS = 200 * US  # the stamps are of another clock than the events
PROGRAM = os.path.join(here, '..', 'programs', 'exchanges.py')
SOCKETS = ('sock/sock_send_length', 'tcp/tcp_probe', 'sock/inet_sock_set_state')


def ask(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding='utf-8', check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def kernel_lacks():
    for mounted in ('/sys/kernel/tracing', '/sys/kernel/debug/tracing'):
        if os.path.isdir(os.path.join(mounted, 'events')):
            return [name for name in SOCKETS if not os.path.isdir(os.path.join(mounted, 'events', name))]
    return ['tracefs']


def faults_of(number, stamp, request):
    asked, answered = exchanges.bytes_of(number)
    start, took = request['begin_ns'], request['duration_ns']
    faults = []
    if (request['bytes_sent'], request['bytes_received']) != (asked, answered):
        faults.append(f"bytes of {number}: {request['bytes_sent']}, {request['bytes_received']}, not {asked}, {answered}")
    if start < stamp['start_ns'] - CLOCKS or start + took > stamp['end_ns'] + CLOCKS:
        faults.append(f"{number}: {start} + {took} is not within {stamp}")
    if took < exchanges.work_of(number) * 1e9:
        faults.append(f"{number} took {took / MS:.3f} ms, less than the server")
    return faults


def check_path(name, recording, number, request):
    path = json.loads(ask('critpath', '--json', '--request', str(request['id']), recording))
    slept = sum(s['end_ns'] - s['begin_ns'] for s in path['segments']
                if s['tid'] != request['tid'] and s['cause'] == 'timer')
    work = exchanges.work_of(number) * 1e9
    tap.ok(slept > 0.9 * work, f'{name}: the path of the slowest goes through the sleep of the server',
           f'{slept / MS:.3f} of {work / MS:.3f} ms')
    text = ask('critpath', '--request', str(request['id']), recording)
    tap.ok(f'{exchanges.PORT} → ' in text, f'{name}: it names the packet of the answer', text)


def check_traffic(name, recording, client):
    """What each end sent is what the other received: the sum of what the client asked and was answered."""
    asked, answered = map(sum, zip(*map(exchanges.bytes_of, range(exchanges.REQUESTS))))
    window, = json.loads(ask('nettop', '--json', '--limit', '0', recording))['windows']
    rows = {row['process']['tid']: (row['connections'], row['sent_bytes'], row['received_bytes'])
            for row in window['tables']['per-process'] if row['process']}
    others = [traffic for tid, traffic in rows.items() if tid != client]
    tap.ok(rows.get(client) == (2, asked, answered), f'{name}: nettop has what the client sent and received', str(rows))
    tap.ok((2, answered, asked) in others, f'{name}: and what the server did', str(rows))


def check(tracer, way):
    name = f'{tracer}, {way}'
    with tempfile.TemporaryDirectory() as folder:
        stamps_file = os.path.join(folder, 'stamps')
        recording, _ = recorders.record(tracer, ['sh', '-c', f'{sys.executable} {PROGRAM} {way} > {stamps_file}'], folder)
        with open(stamps_file, encoding='utf-8') as file:
            stamps = [json.loads(line) for line in file]
        requests = json.loads(ask('requests', '--json', '--port', str(exchanges.PORT), '--tid', str(stamps[0]['tid']),
                                  recording))['requests']
        tap.ok(len(requests) == len(stamps) == exchanges.REQUESTS, f'{name}: all requests are found', str(len(requests)))
        faults = [fault for number, (stamp, request) in enumerate(zip(stamps, requests))
                  for fault in faults_of(number, stamp, request)]
        tap.ok(not faults, f'{name}: each has its bytes, and lies between its stamps', *faults)
        beyond = statistics.median(stamp['end_ns'] - stamp['start_ns'] - request['duration_ns']
                                   for stamp, request in zip(stamps, requests))
        tap.ok(beyond < 1 * MS, f'{name}: it covers what the client measured', f'{beyond / US:.0f} us less')
        slowest = max(range(len(requests)), key=lambda i: requests[i]['duration_ns'])
        check_path(name, recording, slowest, requests[slowest])
        check_traffic(name, recording, stamps[0]['tid'])
        why = json.loads(ask('why', '--json', '--port', str(exchanges.PORT), recording))
        tap.ok(why['kinds'], f'{name}: they can be compared', str(why)[:300])


def main():
    lacks = kernel_lacks()
    for tracer in recorders.TRACERS:
        with tempfile.TemporaryDirectory() as folder:
            reason = f"the kernel lacks {', '.join(lacks)}" if lacks else recorders.why_not(tracer, folder)
        for way in ('loopback', 'ipv6', 'veth'):
            if not reason and way == 'veth' and not shutil.which('ip'):
                reason = 'ip is not installed'
            if reason:
                tap.skip(f'{tracer}, {way}', reason)
            else:
                check(tracer, way)
    tap.done()


main()
