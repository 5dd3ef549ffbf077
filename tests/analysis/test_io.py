#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull io* and futex on recorded traces: sums that must hold on every trace. LULL is the program, LULL_SAMPLES the directory of the
# unpacked samples. What lttng-analyses prints for them is compared in test_differential.py.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

lull = os.environ['LULL']
samples = os.environ['LULL_SAMPLES']
tap = Tap()

TRACES = ['django/client', 'django/httpd', 'django/db', 'truth/truth-disk-sync', 'truth/truth-disk-direct', 'truth/truth-tcp',
          'truth/truth-chain', 'truth/truth-chain-nosys']


def run(verb, *args):
    done = subprocess.run([lull, verb, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def window(verb, *args):
    return run(verb, '--json', *args)['windows'][0]['tables']


def total(rows, direction, key):
    return sum(row[key] for row in rows if row['of'] == direction)


def check_sums(trace):
    path = os.path.join(samples, trace)
    usage = window('iousagetop', '--limit', '0', path)
    for direction in ('read', 'written'):
        processes = total(usage.get('per-process-top', []), direction, 'total_bytes')
        files = total(usage.get('per-file-top', []), direction, 'bytes')
        tap.ok(processes == files, f'{trace}: bytes {direction} by processes are those of the files and the unknown',
               processes, files)
        parts = sum(total(usage.get('per-process-top', []), direction, f'{kind}_bytes')
                    for kind in ('disk', 'net', 'socket', 'pipe', 'other', 'unknown'))
        tap.ok(parts == processes, f'{trace}: bytes {direction} by kind of file sum up', parts, processes)
    stats = window('iolatencystats', path)
    counts = {row['category'].lower(): row['count'] for row in stats['syscall-latency-stats']}
    for row in stats.get('disk-latency-stats', []):
        counts['disk: ' + row['disk'] + ('' if row['requests'] == 'data' else f' ({row["requests"]})')] = row['count']
    for kind in ([], ['--freq-log'], ['--freq-uniform']):
        bins = window('iolatencyfreq', *kind, path).get('freq', [])
        sums = {name: 0 for name in counts}
        for row in bins:
            sums[row['of']] += row['count']
        tap.ok(sums == counts, f'{trace}: histograms {kind} sum to the counts', sums, counts)
    log = window('iolog', path).get('log', [])
    tap.ok(len([row for row in log if row['category'] != 'close']) ==
           sum(row['count'] for row in stats['syscall-latency-stats']), f'{trace}: the log has the calls of the statistics')


def check_futexes(trace):
    """The waits by waiter and waker are the waits on the futexes."""
    found = window('futex', '--limit', '0', os.path.join(samples, trace))
    for key in ('waits', 'wait_ns'):
        futexes = sum(row[key] for row in found.get('futex', []))
        pairs = sum(row[key] for row in found.get('wakers', []))
        tap.ok(futexes == pairs, f'{trace}: futexes: {key} by waker sum up', futexes, pairs)
    return sum(row['waits'] for row in found.get('futex', []))


def check_kinds():
    """What the kernel itself answers is not on a disk; a disk by its name in /dev is."""
    sizes = {'/home/x': 1, '/dev/sda': 2, '/devel/y': 4, '/prof': 8, '/dev/zero': 16, '/proc/stat': 32, '/dev/pts/0': 64,
             '/sys/kernel/notes': 128}
    events, context = [], {'tid': 7, 'pid': 7, 'procname': 'reader'}
    for i, (path, size) in enumerate(sizes.items()):
        for name, fields in (('entry_openat', {'dfd': -100, 'filename': path, 'flags': 0}), ('exit_openat', {'ret': 3}),
                             ('entry_read', {'fd': 3, 'count': 999}), ('exit_read', {'ret': size}),
                             ('entry_close', {'fd': 3}), ('exit_close', {'ret': 0})):
            events.append({'t': 1000 * i + len(events), 'n': f'syscall_{name}', 'p': fields, 'sec': context, 'pc': {'cpu_id': 0}})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        jsonl_to_ctf.write_trace(events, path)
        usage = window('iousagetop', '--limit', '0', path)
    row = next(row for row in usage['per-process-top'] if row['of'] == 'read')
    tap.ok((row['disk_bytes'], row['other_bytes']) == (15, 240), 'bytes of disks and of the kernel', row)
    kinds = {row['path']: row['kind'] for row in usage['per-file-top'] if row['of'] == 'read'}
    expected = {path: 'disk' if size < 16 else 'other' for path, size in sizes.items()}
    tap.ok(kinds == expected, 'kinds of files', kinds)


def check_descriptors():
    """What a descriptor is when a call starts is what the call is about, whatever other threads do until it ends; and ioctl() sets
    and clears close-on-exec. fds 9 and 20 were open before. By hand, of the manual pages."""
    script = [  # thread, call, arguments; the number alone: the call of that thread returns it
        (7, 'openat', {'filename': '/in', 'flags': 0}), (7, 3), (7, 'openat', {'filename': '/out', 'flags': 0}), (7, 4),
        (7, 'sendfile64', {'out_fd': 4, 'in_fd': 3, 'count': 99}), (8, 'close', {'fd': 4}), (8, 0), (7, 50),
        (7, 'sendfile64', {'out_fd': 9, 'in_fd': 3, 'count': 99}), (8, 'close', {'fd': 9}),
        (9, 'openat', {'filename': '/new', 'flags': 0}), (9, 9), (8, 0), (7, 60),
        (7, 'write', {'fd': 9, 'count': 1}), (7, 1),
        (7, 'dup', {'fildes': 3}), (8, 'close', {'fd': 3}), (7, 3), (8, 0), (7, 'read', {'fd': 3, 'count': 2}), (7, 2),
        (7, 'ioctl', {'fd': 3, 'cmd': 0x5451, 'arg': 0}), (7, 0), (7, 'openat', {'filename': '/kept', 'flags': 0o2000000}), (7, 5),
        (7, 'ioctl', {'fd': 5, 'cmd': 0x5450, 'arg': 0}), (7, 0), (7, 'execve', {'filename': '/bin/x'}), (7, 0),
        (7, 'read', {'fd': 3, 'count': 4}), (7, 4), (7, 'read', {'fd': 5, 'count': 8}), (7, 8)]
    events, calls = [], {}
    for thread, what, *fields in script:
        if fields:
            calls[thread] = what
        name, payload = (f'entry_{what}', fields[0]) if fields else (f'exit_{calls[thread]}', {'ret': what})
        events.append({'t': 1000 * len(events), 'n': f'syscall_{name}', 'p': payload, 'pc': {'cpu_id': 0},
                       'sec': {'tid': thread, 'pid': 7, 'procname': 'threads'}})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        jsonl_to_ctf.write_trace(events, path)
        rows = [row for row in window('iolog', path)['log'] if row['bytes']]
    found = [(row['bytes'], row['path'], row['to_path']) for row in rows]
    tap.ok(found == [(50, '/in', '/out'), (60, '/in', None), (1, '/new', None), (2, '/in', None), (4, None, None), (8, '/kept', None)],
           'descriptors that other threads close, and that exec closes', found)


def of_disk(requests):
    """Sectors read, written and discarded, requests and flushes of a disk that was given these: flags, sectors, how many."""
    events, at = [], 0
    for flags, sectors, count in requests:
        for _ in range(count):
            at += 1000
            # A flush is issued for no place and ends at none.
            common = {'dev': 7 << 20, 'nr_sector': sectors, 'rwbs': flags}
            for step, t in (('issue', at), ('complete', at + 500)):
                place = at if sectors else 0 if step == 'issue' else -1
                events.append({'t': t, 'n': f'block_rq_{step}', 'p': {**common, 'sector': place}, 'pc': {'cpu_id': 0}})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        jsonl_to_ctf.write_trace(events, path)
        usage = window('iousagetop', '--limit', '0', path)
    row, = usage['per-disk-top-sector']
    number, = usage['per-disk-top-request']
    return row['read'], row['written'], row['discarded'], number['requests'], number['flushes']


def check_merges():
    """Task 7 reads 16 sectors of a partition, of which the second half is in the queue when the first is merged in front of it; and of another
    request before it is put there. What is later at the places of those halves is for the disk itself."""
    disk, partition, start = 8 << 20, (8 << 20) + 1, 2048
    script = []
    for place, is_queued in ((100, True), (500, False)):
        behind = {'dev': disk, 'sector': start + place + 8, 'nr_sector': 8, 'rwbs': 4}
        whole = {**behind, 'sector': start + place, 'nr_sector': 16}
        remaps = [('bio_remap', {'dev': disk, 'sector': start + at, 'old_dev': partition, 'old_sector': at}) for at in (place + 8, place)]
        merge = [('bio_frontmerge', {**behind, 'sector': start + place})]
        script += [remaps[0], ('rq_insert', behind), remaps[1], *merge] if is_queued else [*remaps, *merge, ('rq_insert', whole)]
        script += [('rq_issue', whole), ('rq_complete', whole), ('rq_issue', behind), ('rq_complete', behind)]
    # Tasks as contexts say: 7 puts in what is put in, 8 does the rest.
    events = [{'t': 1000 * i, 'n': 'block_' + name, 'p': fields, 'pc': {'cpu_id': 0},
               'sec': {'tid': tid, 'pid': tid, 'procname': 'reader'}}
              for i, (name, fields) in enumerate(script) for tid in [7 if name in ('bio_remap', 'rq_insert') else 8]]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        jsonl_to_ctf.write_trace(events, path)
        usage = window('iousagetop', '--limit', '0', path)
    found = {row['disk']: row['read'] for row in usage['per-disk-top-sector']}
    tap.ok(found == {'(8,0)': 16, '(8,1)': 32}, 'sectors of a partition whose requests grew in front', found)
    found = {row['process']['tid']: row['bytes'] for row in usage['per-process-top-block']}
    tap.ok(found == {7: 32 * 512, 8: 16 * 512}, 'and who read them', found)


def check_directions():
    """A loop device of Linux 6.18 was given 5 reads, 12 writes, 4 discards, 6 times zeroes to write (BLKZEROOUT) and 7 flushes. The
    letters are those of perf script; its line of /proc/diskstats grew by 40 sectors read, 3224 written, 4096 discarded and 7 flushes."""
    letters = (('WS', 16, 7), ('RS', 8, 5), ('WS', 8, 5), ('FF', 0, 7), ('DS', 1024, 4), ('NS', 512, 6))
    found = of_disk(letters)
    tap.ok(found == (40, 3224, 4096, 5 + 12 + 4 + 6, 7), 'sectors and requests of a disk', found)
    # The same as LTTng has it (RWBS_FLAG_* of its block.h), which has no flag for zeroes either.
    bits = {'WS': 1 | 32, 'RS': 4 | 32, 'FF': 256 | 1024, 'DS': 2 | 32, 'NS': 32}
    tap.ok(of_disk([(bits[text], *rest) for text, *rest in letters]) == found, 'the same by bits')
    found = of_disk((('DS', 64, 3),))
    tap.ok(found == (0, 0, 192, 3, 0), 'a disk of which sectors were discarded, and no more', found)
    # What blk_fill_rwbs() of newer kernels writes: zones reset, finished, all reset, appended to twice; zeroes.
    found = of_disk((('ZR', 0, 1), ('ZF', 0, 1), ('ZRA', 0, 1), ('ZA', 8, 2), ('WZ', 8, 1)))
    tap.ok(found == (0, 24, 0, 3, 0), 'zones', found)


for one in TRACES:
    tap.run(one, check_sums, one)
tap.run('kinds', check_kinds)
tap.run('descriptors', check_descriptors)
tap.run('directions', check_directions)
tap.run('merges', check_merges)
tap.ok(sum(map(check_futexes, TRACES)) > 0, 'there were waits on futexes')
sys.exit(tap.done())
