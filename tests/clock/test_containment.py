#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Guests and their hosts without packets between them: a real pair, whose offset was computed from a listing of its events by hand, and
# machines whose clocks and virtual CPUs this file makes up. LULL is the program, LULL_SOURCE the project's directory.
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, '..', 'lib')]
import jsonl_to_ctf  # noqa: E402
import many_hosts  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ['LULL']
source = os.environ['LULL_SOURCE']
US, MS, SECOND = 1000, 10**6, 10**9
START = 1700000000 * SECOND
HOUR = 3600 * SECOND

# Of the real pair: with a constant clock, guest + offset = host for offsets between these and no others; and so many of the guest's events
# lie between the first and the last window, all of them inside.
LOWEST, HIGHEST, CONTAINED = 821208456, 821213187, 5719


def run(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, encoding='utf-8', check=False)
    if done.returncode:
        print('#', done.stderr.replace('\n', '\n# '))
    return done.stdout


def sync_of(*paths):
    return json.loads(run('sync', '--json', *paths))


def pairs_of(*paths):
    return sync_of(*paths)['pairs']


def joined(pair, guest):
    """Host - guest in ns, and how far off that may be."""
    return (pair['offset_ns'] if pair['a'] == guest else -pair['offset_ns']), pair['bound_ns']


def is_true(pair, guest, lowest, highest):
    offset, bound = joined(pair, guest)
    return pair['quality'] == 'accurate' and offset - bound <= highest and offset + bound >= lowest


def remake(directory, out, change):
    """A copy of an LTTng trace with other metadata."""
    shutil.copytree(directory, out)
    with open(os.path.join(directory, 'metadata'), 'rb') as file:
        text = many_hosts.metadata_text(file.read())
    os.chmod(out, 0o755)
    os.remove(os.path.join(out, 'metadata'))
    with open(os.path.join(out, 'metadata'), 'w', encoding='utf-8') as file:
        file.write(change(text))


def add_to_clock(ns):
    return lambda text: re.sub(r'offset = (\d+);', lambda m: f'offset = {int(m.group(1)) + ns};', text, count=1)


def check_real(folder):
    with tarfile.open(os.path.join(source, 'tests', 'data', 'vm.tar.xz')) as archive:
        archive.extractall(folder)
    host, guest = (os.path.join(folder, 'vm', name, 'kernel') for name in ('host', 'guest'))
    pairs = pairs_of(host, guest)
    pair = pairs[0] if pairs else {}
    tap.ok(len(pairs) == 1 and pair['guest'] == 'guest' and pair['contained'] == CONTAINED and pair['not_contained'] == 0,
           'a real guest: all of its events are inside', str(pairs))
    tap.ok(pairs and is_true(pair, 'guest', LOWEST, HIGHEST) and pair['bound_ns'] <= 24 * US, 'and its offset is right, to 24 us',
           str(pairs))
    tap.ok(f'{CONTAINED} of its {CONTAINED} events' in run('sync', host, guest), 'text says so')

    for name, ns in (('an hour later', HOUR), ('an hour earlier', -HOUR)):
        other = os.path.join(folder, name)
        remake(guest, other, add_to_clock(ns))
        pairs = pairs_of(host, other)
        tap.ok(len(pairs) == 1 and is_true(pairs[0], 'guest', LOWEST - ns, HIGHEST - ns), f'the guest {name}', str(pairs))
    stretched = os.path.join(folder, 'stretched')
    remake(guest, stretched, lambda text: text.replace('freq = 1000000000;', 'freq = 999980000;'))
    pairs = pairs_of(host, stretched)
    # The drift of the real pair is between -3.65 and 24.7 ppm; the guest's clock now counts 20 ppm more.
    drift = (1 if pairs and pairs[0]['a'] == 'guest' else -1) * pairs[0]['drift_ppm'] if pairs else 0
    tap.ok(len(pairs) == 1 and pairs[0]['contained'] == CONTAINED and -23.7 <= drift <= 4.8, 'the guest stretched by 20 ppm', str(pairs))

    exported = os.path.join(folder, 'exported')
    run('export', '--filter', 'name != "kvm_x86_inj_virq"', '--ctf2', exported, host)
    pairs = pairs_of(exported, guest)
    tap.ok(len(pairs) == 1 and is_true(pairs[0], 'guest', LOWEST, HIGHEST), 'without injected interrupts', str(pairs))

    with tarfile.open(os.path.join(source, 'examples', 'data', 'django.tar.xz')) as archive:
        archive.extractall(folder)
    pairs = pairs_of(host, os.path.join(folder, 'django'))
    tap.ok(pairs and not [p for p in pairs if p['guest'] or 'host' in (p['a'], p['b'])], 'machines that are no guests are not joined',
           str(pairs))
    twin = os.path.join(folder, 'twin')
    remake(guest, twin, lambda text: re.sub(r'uuid = "[^"]{8}', 'uuid = "01234567', add_to_clock(HOUR)(text)).replace(
        'hostname = "guest"', 'hostname = "twin"'))
    answer = sync_of(host, guest, twin)
    unmatched = answer['unmatched']
    tap.ok(not answer['pairs'], 'two that fit one process: neither is joined', str(answer))
    tap.ok([(one['pid'], one['why'], one['contained']) for one in unmatched] == [(373, 'several', CONTAINED)], 'and why', str(unmatched))


# ---- made up ----

class Machine:
    def __init__(self, name, clock):
        self.name, self.clock, self.events = name, clock, []

    def event(self, t, name, payload, cpu=0, tid=0, pid=0):
        self.events.append({'t': self.clock(t), 'n': name, 'p': payload, 'pc': {'cpu_id': cpu}, 'sec': {'tid': tid, 'pid': pid}})

    def write(self, folder):
        self.events.sort(key=lambda event: event['t'])
        jsonl_to_ctf.write_trace(self.events, os.path.join(folder, self.name), {'hostname': self.name}, offset_ns=START)


def make_vm(host, guest, seed, pid, tids, cpus, has_numbers, seconds=2):
    """Virtual CPUs of a process on CPUs of the host from 0 on; something happens in most windows, from which one on each CPU lasts depends
    on nothing else."""
    dice = random.Random(seed)
    for number, (tid, cpu) in enumerate(zip(tids, cpus)):
        t = START + dice.randrange(MS)
        number = {'vcpu_id': number} if has_numbers else {}
        host.event(t - 10 * US, 'sched_switch', {'prev_comm': 'swapper', 'prev_tid': 0, 'prev_prio': 20, 'prev_state': 0, 'next_comm': 'kvm',
                                                 'next_tid': tid, 'next_prio': 20}, cpu)
        while t < START + seconds * SECOND:
            end = t + dice.randrange(20 * US, 900 * US)
            host.event(t, 'kvm_entry', number, cpu, tid, pid)
            for _ in range(dice.randrange(4)):
                guest.event(dice.randrange(t + US, end), 'x', {'y': 1}, cpu)
            host.event(end, 'kvm_exit', {'exit_reason': 1, **number}, cpu, tid, pid)
            t = end + dice.choice((5 * US, 50 * US, dice.randrange(100 * US, 3 * MS)))


def check_made(name, has_numbers, tids, drift_ppm=0):
    ahead = 5 * SECOND + 123456
    with tempfile.TemporaryDirectory() as folder:
        host = Machine('host', lambda t: t - START)
        guest = Machine('guest', lambda t: t - START + ahead + (t - START) * drift_ppm // 10**6)
        alien = Machine('alien', lambda t: t - START)
        nobody = Machine('nobody', lambda t: t - START)
        make_vm(host, guest, 1, 100, tids, range(len(tids)), has_numbers)
        make_vm(host, nobody, 2, 200, (201, 202), (2, 3), has_numbers)  # which was not recorded
        make_vm(nobody, alien, 3, 300, (301, 302), (0, 1), has_numbers)  # whose host was not recorded
        for machine in (host, guest, alien):
            machine.write(folder)
        pairs = pairs_of(folder)
        found = [p for p in pairs if p['guest']]
        tap.ok(len(pairs) == 1 and found and found[0]['guest'] == 'guest' and {found[0]['a'], found[0]['b']} == {'guest', 'host'},
               f'{name}: the guest, and no other, is found', str(pairs))
        if found:
            middle = -ahead - 10**9 * drift_ppm // 10**6
            slack = 20 * MS * drift_ppm // 10**6  # the middle of what was recorded is not exactly that of the two seconds
            tap.ok(is_true(found[0], 'guest', middle - slack, middle + slack) and found[0]['bound_ns'] < 50 * US and found[0]['not_contained'] == 0,
                   f'{name}: and its offset', f'{middle} {found}')


def check_long(has_ticks):
    """The host was recorded for long before its guest was: neither the first pauses nor the first ticks of both are the same."""
    with tempfile.TemporaryDirectory() as folder:
        host, guest = Machine('host', lambda t: t - START), Machine('guest', lambda t: t - START + HOUR)
        make_vm(host, guest, 6, 100, (101,), (0,), True, 14)
        if has_ticks:  # of 4 ms, most of which come while it runs
            for event in [event for event in host.events if event['n'] == 'kvm_entry']:
                if event['t'] % (4 * MS) < 3 * MS:
                    host.event(START + event['t'] - US, 'kvm_inj_virq', {'irq': 236}, event['pc']['cpu_id'], event['sec']['tid'], 100)
                    guest.event(START + event['t'] + US, 'local_timer_entry', {'vector': 236}, event['pc']['cpu_id'])
        guest.events = [event for event in guest.events if event['t'] - HOUR > 12.5 * SECOND]
        host.write(folder)
        guest.write(folder)
        pairs = pairs_of(folder)
        tap.ok(len(pairs) == 1 and is_true(pairs[0], 'guest', -HOUR, -HOUR) and pairs[0]['not_contained'] == 0,
               f'a second of a guest, late in a long recording of its host, {"with" if has_ticks else "without"} ticks', str(pairs))


def cpu_s_of_sync(folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = sync_of(folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_alien():
    """Of six CPUs, which may be in any order: that it is nobody's guest is found about as soon as whose guest it is."""
    with tempfile.TemporaryDirectory() as folder:
        for name, seed in (('own', 7), ('other', 8)):
            host, guest = Machine('host', lambda t: t - START), Machine('guest', lambda t: t - START)
            make_vm(host, guest, seed, 100, range(101, 107), range(6), True)
            for machine in (host, guest):
                machine.write(os.path.join(folder, name))
        os.mkdir(os.path.join(folder, 'alien'))
        for name, machine in (('own', 'host'), ('other', 'guest')):
            shutil.copytree(os.path.join(folder, name, machine), os.path.join(folder, 'alien', machine))
        own, own_s = cpu_s_of_sync(os.path.join(folder, 'own'))
        alien, alien_s = cpu_s_of_sync(os.path.join(folder, 'alien'))
        tap.ok(len(own['pairs']) == 1 and not alien['pairs'], 'the guest of another host with six CPUs is not joined', f'{own} {alien}')
        tap.ok(alien_s < 30 * own_s, 'and that took no longer than it should', f'{alien_s} s; its own: {own_s} s')


def check_forged():
    """The guest's recording has what its host recorded of it as its own: then each would run the other."""
    with tempfile.TemporaryDirectory() as folder:
        host, guest = Machine('host', lambda t: t - START), Machine('guest', lambda t: t - START)
        make_vm(host, guest, 1, 100, (101, 102), (0, 1), True)
        guest.events += [dict(event) for event in host.events if event['n'].startswith('kvm_')]
        host.write(folder)
        guest.write(folder)
        answer = sync_of(folder)
        tap.ok(not answer['pairs'] and len(answer['unmatched']) == 2, 'two machines that run each other: not joined', str(answer))
        tables = json.loads(run('vms', '--json', folder))['windows'][0]['tables']
        tap.ok([vm['guest'] for vm in tables['vms']] == [None, None] and not tables['tasks'], 'and neither is a guest', str(tables['vms']))


def check_moving():
    """The virtual CPU's thread goes from CPU to CPU; numbers of virtual CPUs are anything."""
    with tempfile.TemporaryDirectory() as folder:
        host, guest, dice, t, cpu = Machine('host', lambda t: t - START), Machine('guest', lambda t: t - START + 5 * SECOND), random.Random(3), START, 0
        while t < START + 2 * SECOND:
            before, cpu = cpu, dice.randrange(4)
            if before != cpu:
                switch = {'prev_comm': 'kvm', 'prev_tid': 101, 'prev_prio': 20, 'prev_state': 0, 'next_comm': 'swapper', 'next_tid': 0, 'next_prio': 20}
                host.event(t, 'sched_switch', switch, before)
                host.event(t + 2 * US, 'sched_switch', {**switch, 'prev_tid': 0, 'next_tid': 101, 'next_comm': 'kvm'}, cpu)
            end = t + dice.randrange(20 * US, 900 * US)
            host.event(t + 5 * US, 'kvm_entry', {'vcpu_id': dice.choice((-1, 2**62, 0))}, cpu, 101, 100)
            for _ in range(dice.randrange(4)):
                guest.event(dice.randrange(t + 6 * US, end), 'x', {'y': 1})
            host.event(end, 'kvm_exit', {'exit_reason': 1, 'vcpu_id': 0}, cpu, 101, 100)
            t = end + dice.choice((50 * US, 400 * US, dice.randrange(100 * US, 3 * MS)))
        host.write(folder)
        guest.write(folder)
        pairs = pairs_of(folder)
        tap.ok(len(pairs) == 1 and is_true(pairs[0], 'guest', -5 * SECOND, -5 * SECOND), 'a virtual CPU that goes from CPU to CPU', str(pairs))


def check_unmatched(name, expected, fill):
    """fill(host, guest) makes the events of a host and its guest, on one clock; returns how many of the guest's lie inside and outside."""
    with tempfile.TemporaryDirectory() as folder:
        host, guest = Machine('host', lambda t: t - START), Machine('guest', lambda t: t - START)
        counts = fill(host, guest)
        host.write(folder)
        guest.write(folder)
        answer = sync_of(folder)
        unmatched = answer['unmatched']
        tap.ok(not answer['pairs'] and len(unmatched) == 1 and unmatched[0]['why'] == expected and unmatched[0]['pid'] == 100 and
               (not counts or (unmatched[0]['nearest'], unmatched[0]['contained'], unmatched[0]['not_contained']) == ('guest', *counts)),
               f'{name}: not joined, and why', f'{counts} {unmatched}')
        tap.ok('machine of process 100 on host: ' in run('sync', folder), f'{name}: text says so, too')


def outside(host, guest):
    """One event of twenty lies where the guest did not run, as if another thread were one of its CPUs."""
    make_vm(host, guest, 4, 100, (101,), (0,), True)
    windows = [event['t'] for event in host.events if event['n'].startswith('kvm_')]
    pauses = [(a, b) for a, b in zip(windows[1::2], windows[2::2]) if b - a > 200 * US]
    inside = len(guest.events)
    for start, end in pauses[::len(pauses) // (inside // 20)]:
        guest.event(START + start + (end - start) // 2, 'x', {'y': 1})
    return inside, len(guest.events) - inside


def periodic(host, guest):
    """It always runs 2 ms of 5: 5 ms earlier or later would fit as well."""
    for i in range(400):
        t = START + i * 5 * MS
        host.event(t, 'kvm_entry', {'vcpu_id': 0}, 0, 101, 100)
        for k in range(4):
            guest.event(t + (k * 600 + 50) * US, 'x', {'y': 1})
        host.event(t + 2 * MS, 'kvm_exit', {'exit_reason': 1, 'vcpu_id': 0}, 0, 101, 100)


def apart(host, guest):
    """The guest was recorded for 20 ms of the two seconds."""
    make_vm(host, guest, 5, 100, (101,), (0,), True)
    guest.events = [event for event in guest.events if event['t'] < 20 * MS]


with tempfile.TemporaryDirectory() as place:
    check_real(place)
check_unmatched('events where it did not run', 'outside', outside)
check_unmatched('windows that recur', 'unsure', periodic)
check_unmatched('too short', 'few', apart)
check_forged()
check_moving()
check_made('two CPUs', True, (101, 102))
check_made('two CPUs, not numbered', False, (101, 102))
check_made('two CPUs, in the other order', False, (102, 101))
check_made('six CPUs, in any order', False, (104, 101, 106, 102, 105, 103))
check_long(False)
check_long(True)
check_alien()
check_made('two CPUs, with drift', True, (101, 102), 50)
tap.done()
