# SPDX-License-Identifier: MIT
"""Arithmetic that must hold in the answers of the analyses, whatever the trace: what(windows) gives what does not hold. Windows are
those of `lull VERB --json --limit=0`."""
import collections


def total(rows, key, **only):
    return sum(row[key] for row in rows if all(row.get(name) == value for name, value in only.items()))


def cpu(window, tables):
    """Each CPU's times are the range; what the tasks had is what the CPUs were busy."""
    parts = ('busy_ns', 'idle_ns', 'other_ns', 'unknown_ns')
    length = window['end_ns'] - window['begin_ns']
    cpus, tasks = tables.get('per-cpu', []), tables.get('per-process', [])
    for row in cpus:
        if sum(row[part] for part in parts) != length or min(row[part] for part in parts) < 0:
            yield 'CPU', row, length
    if total(cpus, 'busy_ns') != total(tasks, 'cpu_ns'):
        yield 'busy', total(cpus, 'busy_ns'), total(tasks, 'cpu_ns')
    for part in parts:
        if tables.get('total') and total(tables['total'], part) != total(cpus, part):
            yield 'total', part


def memory(_window, tables):
    """The total is the sum of the tasks, and of the orders."""
    for which, key in (('allocd', 'allocated_pages'), ('freed', 'freed_pages')):
        if not tables.get('total'):
            continue
        if any(row[key] is None for row in tables['total']):  # pages were not recorded
            if tables.get(which):
                yield which, tables['total'], 'not recorded, but there are rows'
        elif total(tables['total'], key) != total(tables.get(which, []), 'pages'):
            yield which, tables['total'], total(tables.get(which, []), 'pages')


def usage(_window, tables):
    """Bytes by task are those by file, and of the kinds of file."""
    kinds = ('disk', 'net', 'socket', 'pipe', 'other', 'unknown')
    tasks, files = tables.get('per-process-top', []), tables.get('per-file-top', [])
    for way in ('read', 'written'):
        if total(tasks, 'total_bytes', of=way) != total(files, 'bytes', of=way):
            yield way, total(tasks, 'total_bytes', of=way), total(files, 'bytes', of=way)
    for row in tasks:
        if sum(row[f'{kind}_bytes'] for kind in kinds) != row['total_bytes']:
            yield 'kinds', row


def network(tables):
    """An interface has at least what its connections have: of a whole trace, as a packet is queued a moment before it is sent."""
    devices, connections = tables.get('per-interface', []), tables.get('per-connection', [])
    for way in ('sent_packets', 'received_packets'):
        if total(devices, way) < total(connections, way):
            yield way, devices, connections


SINGLE = {'cputop': cpu, 'memtop': memory, 'iousagetop': usage}


def counts_of(rows, key, *names):
    found = collections.Counter()
    for row in rows:
        found[tuple(str(row.get(name)) for name in names)] += row[key]
    return +found


# verb → (table, column, what a row is about): what the slices of a range have together, the range has.
ADDITIVE = {
    'cputop': ('per-process', 'cpu_ns', 'host', 'process'), 'memtop': ('freed', 'pages', 'host'),
    'irqstats': ('soft-stats', 'count', 'host', 'irq'), 'syscallstats': ('per-tid', 'count', 'host', 'syscall'),
    'iousagetop': ('per-process-top', 'total_bytes', 'host', 'of'), 'nettop': ('per-interface', 'sent_bytes', 'host', 'interface'),
    'schedstats': ('per_tid_stats', 'count', 'host'), 'iolatencystats': ('syscall-latency-stats', 'count', 'category'),
}


def additive(verb, windows):
    table, column, *names = ADDITIVE[verb]
    names = [name for name in names if name != 'process'] + (['tid'] if 'process' in names else [])
    rows = [dict(row, tid=row.get('process', {}).get('tid')) for window in windows for row in window['tables'].get(table, [])]
    return counts_of(rows, column, *names)


def histogram(rows):
    return counts_of(rows, 'count', 'host', 'of')
