"""Where the analyses of system calls and I/O differ from lttng-analyses on purpose: DIFFERENCES says why, check() finds
whether two sets of LAMI documents differ in anything else. Quirks (Q-…) are faults of the peer found by running it."""
import ast
import collections
import math

DIFFERENCES = {
    # id: (quirk or None, why ours is right)
    'return-counts': ('Q-S1', 'the peer counts every return value once too often'),
    'kernel-errors': ('V5', 'errors from 512 on have names in linux/errno.h, not in the analysing host\'s errno'),
    'stdev-of-two': (None, 'two values have a sample deviation; the peer shows it from three on'),
    'unknown-calls': ('Q-V1', 'LTTng tells calls that it does not know by number; they are named by it'),
    'name-at-end': (None, 'a task is named as it was at its last call, not at the first that was counted or at the end of '
                          'the trace: a shell that became another program by exec is not called by the other name'),
    'pid-known': (None, 'the state dump tells the process of threads that the peer shows without'),
    'added-calls': ('Q-IO1', 'calls that make, copy or move descriptors which the peer does not know: accept, pipe, splice, '
                             'fcntl(F_DUPFD_CLOEXEC), epoll_create, …'),
    'out-of-range': ('Q-M4', 'a bool has a value, also without a limit of time'),
    'path-known': ('Q-IO3 Q-IO7 IO10', 'the descriptor is known from the state dump, from before a fork, from a pipe, an '
                                       'accept or a dup, or was replaced and searched wrongly'),
    'path-peer': ('IO9', 'a connected or accepted socket is shown by its peer\'s address'),
    'limit': ('Q-L1', 'as many rows as were asked for, not one more'),
    'net-type': ('IO10', 'unix sockets are no network; pipes, sockets and files known from the state dump have their type'),
    'file-rows': ('IO10', 'bytes are of the file that they went through, which the peer knows less often'),
    'owners': ('IO11', 'the descriptor of each owner is the one that bytes went through, not the first that had the name'),
    'disk-name': (None, 'the tracer gives requests the device number of no disk; the disk is known from merged bios'),
    'submitter': ('B3', 'a request is of the task that put it into the queue, not of the kernel\'s worker that issued it'),
    'netif-event': ('Q-V1', 'packets received are also told by net_if_receive_skb'),
    'rounding': (None, 'bounds and deviations are computed from exact sums; the peer adds floating-point numbers up'),
}

PEER_CALLS = {
    'open': 'open openat socket dup dup2 dup3 fcntl', 'read': 'read recvmsg recvfrom readv pread pread64 preadv',
    'write': 'write sendmsg sendto writev pwrite pwrite64 pwritev', 'sync': 'sync sync_file_range fsync fdatasync'}
CATEGORY = {call: category for category, calls in PEER_CALLS.items() for call in calls.split()}
ADDED_OPENS = ('accept', 'accept4')  # in a category of their own


def cell(value):
    """A cell as a plain value; unknown is '?'."""
    if value is None:
        return None
    kind = value['class']
    if kind == 'unknown':
        return '?'
    if kind == 'process':
        return (value.get('name'), value.get('pid'), value.get('tid'))
    if kind == 'time-range':
        return (value['begin']['value'], value['end']['value'])
    for key in ('value', 'name', 'path', 'fd'):
        if key in value:
            return value[key]
    raise ValueError(value)


def tables(document):
    """(class, subtitle) → rows of plain values."""
    found = collections.defaultdict(list)
    for result in document['results']:
        name = result['class']
        if not isinstance(name, str):
            name = (name['inherit'], name['title'].rsplit('[', 1)[1][:-1])
        found[name] += [[cell(value) for value in row] for row in result['data']]
    return found


def close(a, b):
    return a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and
                      math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6))


class Comparison:
    """What differs: counts by id of DIFFERENCES, and what none of them explains."""

    def __init__(self):
        self.explained = collections.Counter()
        self.unexplained = []

    def explain(self, difference, count=1):
        assert difference in DIFFERENCES
        if count:
            self.explained[difference] += count

    def same(self, what, peer, ours):
        if not close(peer, ours):
            self.unexplained.append((what, peer, ours))

    def number(self, what, peer, ours):
        """Equal but for the last digits of floating-point numbers."""
        self.same(what, peer, ours)
        self.explain('rounding', peer != ours and close(peer, ours))


# ---- system calls ----

def per_tid(found):
    rows = {}
    for name, data in found.items():
        if name[0] == 'per-tid':
            tid = int(name[1].rsplit('TID: ', 1)[1].rstrip(')'))
            for row in data:
                rows[tid, row[0]] = row[1:]
    return rows


def errno_name(key):
    return {'-512': 'ERESTARTSYS', '-513': 'ERESTARTNOINTR', '-514': 'ERESTARTNOHAND',
            '-516': 'ERESTART_RESTARTBLOCK'}.get(key, key)


def check_syscall_row(comparison, key, peer, ours):
    for i in (0, 1, 3):
        comparison.same((key, i), peer[i], ours[i])
    comparison.number((key, 'average'), peer[2], ours[2])
    if peer[0] == 2 and peer[4] == '?':
        comparison.explain('stdev-of-two')
    else:
        comparison.number((key, 'stdev'), peer[4], ours[4])
    returned = {errno_name(name): count - 1 for name, count in ast.literal_eval(peer[5]).items()}
    comparison.same((key, 'returned'), list(returned.items()), list(ast.literal_eval(ours[5]).items()))
    comparison.explain('return-counts')
    comparison.explain('kernel-errors', any(name != errno_name(name) for name in ast.literal_eval(peer[5])))


def check_syscallstats(comparison, peer, ours):
    peer_rows, our_rows = per_tid(peer), per_tid(ours)
    named = collections.defaultdict(list)  # rows that only we have, by tid
    for key, row in our_rows.items():
        if key in peer_rows:
            check_syscall_row(comparison, key, peer_rows[key], row)
        else:
            named[key[0]].append(row)
    for key, row in peer_rows.items():
        if key in our_rows:
            continue
        rows = named.pop(key[0], [])
        comparison.same((key, 'calls'), row[0], sum(other[0] for other in rows))
        comparison.same((key, 'time'), row[0] * row[2], sum(other[0] * other[2] for other in rows))
        comparison.same((key, 'name'), key[1], 'unknown')
        comparison.explain('unknown-calls')
    comparison.same('calls of our own', {}, dict(named))
    totals = {row[0][2]: row for row in ours['total']}
    comparison.same('tasks', {row[0][2] for row in peer['total']}, set(totals))
    for (comm, pid, tid), count in peer['total']:
        comparison.same((tid, 'calls'), count, totals[tid][1])
        comparison.explain('name-at-end', comm != totals[tid][0][0])
        comparison.explain('pid-known', pid is None)
        if pid is not None:
            comparison.same((tid, 'pid'), pid, totals[tid][0][1])


# ---- calls that do I/O ----

def log_of(found):
    return {(row[0], row[5][2]): row for row in found['log']}


def check_path(comparison, key, peer, ours):
    if peer == ours:
        return
    if peer in ('?', 'unknown'):  # the latter is the name of descriptors first seen in use
        comparison.explain('path-known')
    elif peer == 'socket' and ours and ':' in ours:
        comparison.explain('path-peer')
    else:
        comparison.unexplained.append((key, peer, ours))


def check_iolog(comparison, peer, ours):
    peer_log, our_log = log_of(peer), log_of(ours)
    for key, row in our_log.items():
        if key not in peer_log:
            if row[3] in CATEGORY and row[3] != 'fcntl':
                comparison.unexplained.append(('only ours', None, row))
            comparison.explain('added-calls')
            continue
        other = peer_log[key]
        for i in (2, 3, 4, 7):
            comparison.same((key, i), other[i], row[i])
        comparison.explain('out-of-range', other[1] is None and row[1] is False)
        comparison.explain('name-at-end', other[5] != row[5])
        check_path(comparison, key, other[6], row[6])
    comparison.same('only the peer', [], [key for key in peer_log if key not in our_log])
    for found in (peer, ours):  # equal begins in any order
        begins = [row[0][0] for row in found['log']]
        comparison.same('order', sorted(begins), begins)


def category(row, is_ours):
    name = row[3]
    if name in CATEGORY:
        return CATEGORY[name]
    if not is_ours or name in ADDED_OPENS or name.startswith(('close', 'splice', 'sendfile', 'copy_', 'tee', 'vmsplice')):
        return None
    return {'preadv2': 'read', 'recvmmsg': 'read', 'pwritev2': 'write', 'sendmmsg': 'write', 'syncfs': 'sync',
            'msync': 'sync'}.get(name, 'open')


def check_of_log(comparison, found, log, is_ours):
    """Statistics, tops and histograms are those of the log, which was compared call by call."""
    calls = collections.defaultdict(list)
    for row in log['log']:
        calls[category(row, is_ours)].append(row)
    for name, count, least, mean, most, deviation in found['iolatencystats']['syscall-latency-stats']:
        times = [row[2] for row in calls[name.lower()]]
        comparison.same((name, 'count'), len(times), count)
        if not times:
            continue
        average = sum(times) / len(times)
        comparison.same((name, 'min'), min(times), least)
        comparison.same((name, 'average'), average, mean)
        comparison.same((name, 'max'), max(times), most)
        if len(times) > 1:
            comparison.same((name, 'stdev'), math.sqrt(sum((t - average) ** 2 for t in times) / (len(times) - 1)), deviation)
    for name in PEER_CALLS:
        longest = sorted(calls[name], key=lambda row: -row[2])[:10 if is_ours else 11]
        comparison.same((name, 'top'), [row[2] for row in longest],
                        [row[2] for row in found['iolatencytop'][('top-syscall', name)]])
        bins = found['iolatencyfreq'].get(('freq', name))
        if bins:
            comparison.same((name, 'histogram'), len(calls[name]), sum(row[2] for row in bins))
            comparison.same((name, 'lower'), min(row[2] for row in calls[name]), bins[0][0])
            comparison.same((name, 'upper'), max(row[2] for row in calls[name]), bins[-1][1])
            comparison.same((name, 'bins'), 20, len(bins))
            if is_ours:
                comparison.explain('limit')


# ---- usage, disks, networks ----

def check_processes(comparison, direction, peer, ours, moved_more):
    rows = {row[0][2]: row for row in ours[('per-process-top', direction)]}
    for process, total, disk, net, _ in peer[('per-process-top', direction)]:
        ours_row = rows.get(process[2])
        if process[2] in moved_more or ours_row is None:  # the latter: pushed out of the top by one that moved more
            comparison.explain('added-calls')
            if ours_row is None and not moved_more:
                comparison.unexplained.append((direction, process, None))
            continue
        comparison.same((direction, process), total, ours_row[1])
        comparison.same((direction, process, 'sum'), ours_row[1], sum(ours_row[2:]))
        if (disk, net) != (ours_row[2], ours_row[3]):
            comparison.explain('net-type')
            comparison.same((direction, process, 'disk'), True, ours_row[2] >= disk)
        comparison.explain('name-at-end', process[0] != ours_row[0][0])


def check_files(comparison, direction, peer, ours):
    rows = {row[0]: row for row in ours[('per-file-top', direction)]}
    for path, size, owners in peer[('per-file-top', direction)]:
        if path in rows and rows[path][1] == size:
            comparison.explain('owners', rows[path][2] != owners)
        elif not path.startswith('/') or (path in rows and rows[path][1] > size):
            comparison.explain('file-rows')
        elif path not in rows and len(rows) == 10 and size <= min(row[1] for row in rows.values()):
            comparison.explain('file-rows')  # pushed out of the top
        else:
            comparison.unexplained.append((direction, (path, size), rows.get(path)))


def check_disks(comparison, peer, ours):
    for direction in ('read', 'written'):
        mine = {row[0][2]: row[1] for row in ours[('per-process-top-block', direction)]}
        theirs = {row[0][2]: row[1] for row in peer[('per-process-top-block', direction)]}
        if mine != theirs:
            comparison.same((direction, 'blocks'), sum(theirs.values()), sum(mine.values()))
            comparison.explain('submitter')
    for table in ('per-disk-top-sector', 'per-disk-top-request', 'per-disk-top-rps'):
        check_disk_rows(comparison, table, peer[table], ours[table])


def check_disk_rows(comparison, table, peer, ours):
    comparison.same((table, 'rows'), len(peer), len(ours))
    for theirs, mine in zip(peer, ours):
        for a, b in zip(theirs[1:], mine[1:]):
            comparison.number((table, theirs[0]), a, b)
        comparison.explain('disk-name', theirs[0] != mine[0])


def check_netifs(comparison, peer, ours):
    for way in ('received', 'sent'):
        rows = {row[0]: row[1] for row in ours[('per-netif-top', way)]}
        for name, size in peer[('per-netif-top', way)]:
            if size == 0 and way == 'received' and rows.get(name):
                comparison.explain('netif-event')
            else:
                comparison.same((way, name), size, rows.get(name))


COMMANDS = ('syscallstats', 'iolog', 'iousagetop', 'iolatencystats', 'iolatencytop', 'iolatencyfreq')


def check(peer_documents, our_documents):
    """Compares the LAMI documents of all COMMANDS, by command, of one trace."""
    comparison = Comparison()
    peer = {command: tables(document) for command, document in peer_documents.items()}
    ours = {command: tables(document) for command, document in our_documents.items()}
    check_syscallstats(comparison, peer['syscallstats'], ours['syscallstats'])
    check_iolog(comparison, peer['iolog'], ours['iolog'])
    check_of_log(comparison, peer, peer['iolog'], False)
    check_of_log(comparison, ours, ours['iolog'], True)
    copies = {row[5][2] for row in ours['iolog']['log'] if category(row, True) is None and row[4] is not None}
    for direction in ('read', 'written'):
        check_processes(comparison, direction, peer['iousagetop'], ours['iousagetop'], copies)
        check_files(comparison, direction, peer['iousagetop'], ours['iousagetop'])
    check_disks(comparison, peer['iousagetop'], ours['iousagetop'])
    check_disk_rows(comparison, 'disk-latency-stats', peer['iolatencystats']['disk-latency-stats'],
                    ours['iolatencystats']['disk-latency-stats'])
    check_netifs(comparison, peer['iousagetop'], ours['iousagetop'])
    return comparison
