# SPDX-License-Identifier: MIT
"""Where the analyses differ from lttng-analyses on purpose: RULES, a table. Each rule says where it may apply, which quirk of the
peer it is (Q-… and others of its specification: faults found by running it), why ours is right, and has a check that works
ours out again from the plain events (reference.py). A difference that no check confirms is a fault."""
import collections
import math
import re

from reference import COPIES

RULES = {}  # id → Rule
WHERE = collections.defaultdict(list)  # (command, class, column) → rules
LIMIT = 10  # rows of a top without --limit
# That the peer knows, so that all other calls in our log are only ours.
PEER_CALLS = set('open openat socket fcntl dup dup2 dup3 close sync sync_file_range fsync fdatasync read recvmsg recvfrom readv '
                 'pread pread64 preadv write sendmsg sendto writev pwrite pwrite64 pwritev'.split())
KERNEL_ERRORS = {512: 'ERESTARTSYS', 513: 'ERESTARTNOINTR', 514: 'ERESTARTNOHAND', 516: 'ERESTART_RESTARTBLOCK'}
LOGS = 'iolog log;iolatencytop top-syscall;schedlog log;schedtop top'


class Rule:
    def __init__(self, quirk, why, check):
        self.quirk, self.why, self.check = quirk, why, check


def rule(name, quirk, why, *where):
    """`where`: "command,command class,class column;column"; the columns 'row<' and 'table<' are what only the peer has, 'row>' and
    'table>' what only we have."""
    def add(check):
        RULES[name] = Rule(quirk, why, check)
        for place in where:
            commands, classes, columns = place.split(' ', 2)
            for command in commands.split(','):
                for cls in classes.split(','):
                    for column in columns.split(';'):
                        WHERE[command, cls, column].append(name)
        return check
    return add


def place_of(difference):
    side = '>' if difference.peer is None else '<'
    return difference.command, difference.cls, difference.column or difference.kind() + side


def explain(difference, context):
    """The id of the rule that explains a difference, or None."""
    for name in WHERE[place_of(difference)]:
        if RULES[name].check(difference, context):
            return name
    return None


def plain(cell):
    """A cell as a plain value, None if unknown."""
    if cell is None or cell['class'] == 'unknown':
        return None
    return next((cell[key] for key in ('value', 'path', 'fd') if key in cell), cell.get('name'))


def close(a, b):
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def spread(values):
    """Count, least, mean, most and sample deviation."""
    mean = sum(values) / len(values) if values else 0
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else None
    return [len(values), min(values, default=0), mean, max(values, default=0), deviation]


def all_close(expected, cells):
    return len(expected) == len(cells) and all(close(a, plain(b)) for a, b in zip(expected, cells))


def bins(values, rows, count=20):
    """Whether rows are the histogram of the values: equal bins between the extremes, the last one closed."""
    low, high = min(values), max(values)
    step = (high - low) / count
    counts = [0] * count
    for value in values:
        counts[min(count - 1, math.floor((value - low) * count / (high - low)))] += 1
    return len(rows) == count and all(
        all_close([low + i * step, low + (i + 1) * step, counts[i]], row) for i, row in enumerate(rows))


# ---- names ----

def moment_of(difference, column):
    """The time at which a row of a log names a task."""
    row = difference.our_row
    if difference.command.startswith('sched'):
        return plain(row[0 if column == 'Waker process' else 1])
    return row[0]['end']['value']


@rule('name-at-the-time', None, 'in a log a task has the name that it had then; the peer shows the one it had when the table was '
      'printed, or first counted', 'iolog log Process', 'iolatencytop top-syscall Process', 'schedlog log Wakee process;Waker process',
      'schedtop top Wakee process;Waker process')
def name_at_the_time(d, context):
    if d.peer is None or d.ours is None:
        return False
    tid = d.ours['tid']
    return (d.ours['name'] == context.reference.name_at(tid, moment_of(d, d.column)) and d.peer['tid'] == tid and
            d.ours.get('pid') in (d.peer.get('pid'), context.reference.pids.get(tid)))


@rule('last-name', None, 'in a table of tasks each has its last name; a shell that became another program by exec is that program, '
      'as it is in top(1) after it', 'cputop per-process Process', 'memtop allocd,freed Process',
      'schedstats per_tid_stats Wakee process', 'syscallstats total Process', 'iousagetop per-process-top Process',
      'iousagetop per-process-top-block Process')
def last_name(d, context):
    tid = d.ours['tid']
    return (d.peer['name'] != d.ours['name'] == context.reference.last_name(tid) and
            d.ours.get('pid') in (None, d.peer.get('pid'), context.reference.pids.get(tid)))


@rule('pid-known', None, 'the state dump tells of which process a thread is, and threads share descriptors; the peer has it from '
      'the first I/O call only', 'syscallstats total Process')
def pid_known(d, context):
    known = d.ours['pid'] == context.reference.pids[d.ours['tid']]
    return d.peer['name'] == d.ours['name'] and d.peer.get('pid') is None and known


@rule('waker-known', None, 'who ran before the first sched_switch of a CPU is told by it: it was the one that it switched from',
      'schedlog log Waker process', 'schedtop top Waker process')
def waker_known(d, context):
    when, tid = plain(d.our_row[0]), d.our_row[5]['tid']
    return (d.peer is None and d.ours['tid'] == context.reference.wakers[when, tid] and
            d.ours['name'] == context.reference.name_at(d.ours['tid'], when))


# ---- cputop ----

@rule('idle-row', 'Q-C2', 'the idle task is not work; its row has the time until it was first switched from, whoever ran until then',
      'cputop per-process row<')
def idle_row(d, context):
    reference = context.reference
    return (d.peer[0]['tid'] == 0 and
            close(plain(d.peer[3]), (reference.idle_left - reference.begin) / (reference.end - reference.begin)))


@rule('idle-first', 'Q-C1', 'until its first switch a CPU was idle if that was from the idle task; the peer counts it as busy',
      'cputop per-cpu CPU usage', 'cputop total CPU usage')
def idle_first(d, context):
    reference = context.reference
    length = reference.end - reference.begin
    if d.cls == 'total':
        length *= len(reference.cpus)
        busy, idle = sum(reference.busy.values()), sum(reference.idle_first.values())
    else:
        cpu = d.our_row[0]['id']
        busy, idle = reference.busy[cpu], reference.idle_first[cpu]
    return close(plain(d.ours), busy / length) and close(plain(d.peer), (busy + idle) / length)


@rule('priorities-known', None, 'sched_switch and sched_waking tell the priority of a task that never changed it, too',
      'cputop per-process Chronological priorities')
def priorities_known(d, context):
    def numbers(cell):
        return {int(number) for number in re.findall(r'(-?\d+)(?: \(\d+ times\))?[],]', cell['value'])}
    return numbers(d.ours) == context.reference.prios[d.our_row[0]['tid']] and numbers(d.peer) <= numbers(d.ours)


# ---- memtop ----

PAGES = {'allocd': 'alloc', 'freed': 'free'}


@rule('pages', 'Q-ME1 Q-ME2 ME3', 'an event tells 2^order pages, and frees of older pages are frees; what an interrupt handler '
      'allocates has nothing to do with the task that it interrupted', 'memtop allocd,freed Allocated pages;Freed pages;row<;row>',
      'memtop total Total allocated pages;Total freed pages')
def pages(d, context):
    reference = context.reference
    if d.cls == 'total':
        which = 'alloc' if 'alloc' in d.column else 'free'
        ours, peer = sum(reference.pages[which].values()), sum(reference.peer_pages[which].values())
        return plain(d.ours) == ours and plain(d.peer) == peer
    which, row = PAGES[d.cls], d.our_row or d.peer_row
    tid = row[0].get('tid')
    if tid is None:
        tid = {'interrupts': None, 'idle': 0}[row[0]['name']]
    ours = plain(d.our_row[1]) if d.our_row else 0
    if not d.our_row and reference.pages['alloc'][tid] + reference.pages['free'][tid]:
        return False
    return (ours == reference.pages[which][tid] and
            (plain(d.peer_row[1]) == reference.peer_pages[which][tid] if d.peer_row else not tid))


# ---- interrupts ----

def by_vector(reference):
    found = collections.defaultdict(list)
    for handler in reference.handlers:
        found[handler[3]].append(handler)
    return found


@rule('soft-interrupts', 'Q-V1', 'newer tracers call them irq_softirq_raise, _entry and _exit; the peer does not know these names',
      'irqlog log row>', 'irqstats soft-stats table>', 'irqfreq freq table>')
def soft_interrupts(d, context):
    handlers = context.once(by_vector)
    if d.command == 'irqlog':
        time, cpu, irq = d.ours[0], d.ours[2]['id'], d.ours[3]
        raised = plain(d.ours[1])
        return not irq['hard'] and (time['begin']['value'], time['end']['value'], cpu, irq['nr'], raised) in context.once(
            lambda reference: set(reference.handlers))
    if d.command == 'irqfreq':
        number = int(d.sub.rsplit('(', 1)[1].rstrip(')'))
        return 'SOFTIRQ' in d.sub and bins([end - begin for begin, end, *_ in handlers[number]], d.ours['data'])
    rows = {row[0]['nr']: row for row in d.ours['data']}
    return rows.keys() == handlers.keys() and all(soft_row(rows[number], found) for number, found in handlers.items())


def soft_row(row, handlers):
    raised = [begin - raise_time for begin, _, _, _, raise_time in handlers if raise_time is not None]
    return all_close(spread([end - begin for begin, end, *_ in handlers]) + spread(raised), row[1:])


# ---- system calls ----

def by_task_and_name(reference):
    found = collections.defaultdict(list)
    for call in sorted(reference.calls.values(), key=lambda call: call.end):
        found[call.tid, call.name].append(call)
    return found


def outcomes(calls):
    """What the calls returned, as the text of a Python dictionary in the order of first occurrence."""
    import errno
    names = {**errno.errorcode, **KERNEL_ERRORS}
    counts = collections.Counter('success' if call.ret >= 0 else names.get(-call.ret, str(call.ret)) for call in calls)
    return '{' + ', '.join(f"'{name}': {count}" for name, count in counts.items()) + '}'


def syscall_row(d, context):
    tid = int(d.sub.split('TID: ')[1])
    calls = context.once(by_task_and_name)[tid, d.our_row[0]['name']]
    return (all_close(spread([call.duration() for call in calls]), d.our_row[1:6]) and
            plain(d.our_row[6]) == outcomes(calls))


@rule('return-counts', 'Q-S1 V5', 'the peer counts each kind of result once too often, and names errors as the analysing host does, '
      'which has no names for those from 512 on', 'syscallstats per-tid Return values count')
def return_counts(d, context):
    def numbers(cell):
        return [int(number) for number in re.findall(r"': (\d+)", cell['value'])]
    return syscall_row(d, context) and numbers(d.peer) == [count + 1 for count in numbers(d.ours)]


@rule('deviation-of-two', None, 'two values have a sample deviation; the peer shows it from three on',
      'syscallstats per-tid Call duration standard deviation')
def deviation_of_two(d, context):
    return plain(d.peer) is None and plain(d.our_row[1]) == 2 and syscall_row(d, context)


@rule('calls-by-number', 'Q-V1', 'calls that LTTng tells as "unknown" carry their number, which names them',
      'syscallstats per-tid row<;row>')
def calls_by_number(d, context):
    if d.ours is not None:
        return syscall_row(d, context)
    names = [row[0]['name'] for row in context.rows('peer', d)]
    added = [row for row in context.rows('ours', d) if row[0]['name'] not in names]
    return (d.peer[0]['name'] == 'unknown' and sum(plain(row[1]) for row in added) == plain(d.peer[1]) and
            min(plain(row[2]) for row in added) == plain(d.peer[2]) and max(plain(row[4]) for row in added) == plain(d.peer[4]))


# ---- calls that do I/O ----

def call_of(row, context):
    time = row[0]
    return context.reference.calls.get((time['begin']['value'], time['end']['value'], row[3]['name'], row[5]['tid']))


def io_row(row, context):
    """Whether a row of the log is a call as the events tell it."""
    call = call_of(row, context)
    if call is None or call.category() is None:
        return False
    path = plain(row[6])
    return (plain(row[1]) is False and plain(row[2]) == call.duration() and plain(row[4]) == call.size() and
            row[5]['name'] == call.comm and plain(row[7]) == call.fd and path == (call.file.name() if call.file else None))


@rule('out-of-range', 'Q-M4', 'a bool has a value, also without limits of time', 'iolog log System call out of range?',
      'iolatencytop top-syscall System call out of range?')
def out_of_range(d, _context):
    return d.peer.get('value') is None and d.ours['value'] is False


@rule('path-known', 'Q-IO3 Q-IO7 IO9 IO10', 'the file is known from the state dump, from before a fork, or from a pipe, accept or '
      'connect; or the peer searched it wrongly', 'iolog log File path', 'iolatencytop top-syscall File path')
def path_known(d, context):
    return plain(d.peer) in ('unknown', 'socket', None) and io_row(d.our_row, context)


@rule('path-unread', None, 'no file can be opened by the path "" (path_resolution(7)): the tracer could not read it, so it is unknown',
      'iolog log File path', 'iolatencytop top-syscall File path')
def path_unread(d, context):
    return plain(d.peer) == '' and plain(d.ours) is None and io_row(d.our_row, context)


@rule('calls-added', 'Q-IO1', 'these calls make, copy or move descriptors and are not in the list of the peer: accept4, pipe2, '
      'splice, eventfd2, fcntl(F_DUPFD_CLOEXEC), …', 'iolog log row>')
def calls_added(d, context):
    call = call_of(d.ours, context)
    is_new = call.name not in PEER_CALLS or (call.name == 'fcntl' and call.fields['cmd'] == 1030)
    return is_new and io_row(d.ours, context)


def durations(context, category):
    def of_category(reference):
        return sorted((call.duration() for call in reference.calls.values() if call.category() == category), reverse=True)
    return context.once(of_category, category)


@rule('calls-in-statistics', 'Q-IO1', 'the calls that the peer does not know are in the statistics of their category',
      'iolatencystats syscall-latency-stats Call count;Minimum call latency;Average call latency;Maximum call latency;'
      'System call latency standard deviation', 'iolatencyfreq freq Latency (lower bound);Latency (upper bound);Request count')
def calls_in_statistics(d, context):
    if d.command == 'iolatencyfreq':
        return bins(durations(context, d.sub), context.rows('ours', d))
    return all_close(spread(durations(context, plain(d.our_row[0]).lower())), d.our_row[1:])


@rule('longest-calls', 'Q-IO1', 'one of the calls that the peer does not know is among the longest',
      'iolatencytop top-syscall row<;row>')
def longest_calls(d, context):
    rows = context.rows('ours', d)
    longest = durations(context, d.sub)[:LIMIT + 1]
    if [plain(row[2]) for row in rows] != longest:
        return False
    return plain(d.peer[2]) <= longest[-1] if d.ours is None else io_row(d.ours, context)


# ---- who moved how much ----

WAYS = {'read': 0, 'written': 1}


def moves(call):
    """(file, bytes, way) of a call: one, or two if it copies."""
    size = call.size()
    if not size:
        return []
    if call.name in COPIES:
        return [(call.file, size, 0), (call.other_file, size, 1)]
    return [(call.file, size, 0 if call.category() == 'read' else 1)]


def usage_of_tasks(reference):
    found = collections.defaultdict(lambda: [0, 0, 0, 0])  # (way, tid) → all, disk, net, other
    for call in reference.calls.values():
        for file, size, way in moves(call):
            row = found[way, call.tid]
            row[0] += size
            row[{'disk': 1, 'net': 2}.get(file.kind, 3)] += size
    return found


def file_title(file, owner):
    """Paths and addresses name a file; what is called "pipe" or has no name is told apart by its owner."""
    name = file.name()
    if name and (file.kind == 'disk' or name.startswith('/') or (file.kind == 'net' and re.search(r':\d+$', name))):
        return name
    return f"{'unknown' if name is None else name} ({owner})"


def usage_of_files(reference):
    found = collections.Counter()  # (way, title) → bytes
    for call in reference.calls.values():
        owner = reference.last_name(call.pid)
        for file, size, way in moves(call):
            found[way, file_title(file, owner)] += size
    return found


def owners_of_files(reference):
    found = collections.defaultdict(set)  # (way, title) → all "fd N in NAME (PID)" that moved bytes
    for call in reference.calls.values():
        owner = reference.last_name(call.pid)
        for file, size, way in moves(call):
            fd = call.fd if file is call.file else call.fields.get('fd_out', call.fields.get('out_fd'))
            if size:
                found[way, file_title(file, owner)].add(f'fd {fd} in {owner} ({call.pid})')
    return found


def is_top(amounts, rows):
    """Whether rows of the top have the largest amounts."""
    return sorted((amount for amount in amounts if amount), reverse=True)[:LIMIT] == [plain(row[1]) for row in rows if plain(row[1])]


@rule('bytes-of-tasks', 'Q-IO1 Q-IO3 IO10', 'what a pipe, a Unix socket or a file of the state dump is, is known; and splice and '
      'other copies move bytes', 'iousagetop per-process-top Total operations size;Disk operations size;Network operations size;'
      'Unknown operations size;row<;row>')
def bytes_of_tasks(d, context):
    usage, way = context.once(usage_of_tasks), WAYS[d.sub]
    if d.ours is None:  # others moved more
        return is_top([row[0] for (other, _), row in usage.items() if other == way], context.rows('ours', d))
    return usage[way, d.our_row[0]['tid']] == [plain(cell) for cell in d.our_row[1:]]


@rule('bytes-of-files', 'Q-IO7 Q-IO8 IO9 IO10', 'bytes are of the file that they went through, which the peer knows less often',
      'iousagetop per-file-top Operations size;row<;row>')
def bytes_of_files(d, context):
    usage, way = context.once(usage_of_files), WAYS[d.sub]
    if d.ours is None:
        return is_top([size for (other, _), size in usage.items() if other == way], context.rows('ours', d))
    return usage[way, plain(d.our_row[0])] == plain(d.our_row[1])


@rule('owners', 'IO11', 'the descriptor shown of each owner is one that the bytes went through, not the first that had the name',
      'iousagetop per-file-top File descriptor owners')
def owners(d, context):
    known = context.once(owners_of_files)[WAYS[d.sub], plain(d.our_row[0])]
    told = re.findall(r'fd \d+ in .*? \(\d+\)(?= fd |\s*$)', d.ours['value'])
    return (set(told) <= known and len(told) == len(set(told)) and
            {owner.split(' in ', 1)[1] for owner in told} == {owner.split(' in ', 1)[1] for owner in known})


@rule('submitter', 'B3', 'a request is of the task that put it into the queue, not of the kernel worker that issued it',
      'iousagetop per-process-top-block Operations size;row<;row>')
def submitter(d, context):
    def by_task(reference):
        found = collections.Counter()
        for tid, way, size in reference.queued:
            found[way, tid] += size
        return found
    row = d.our_row or d.peer_row
    return context.once(by_task)[WAYS[d.sub], row[0]['tid']] == (plain(d.our_row[1]) if d.our_row else 0)


@rule('received', 'Q-V1', 'newer tracers tell of received packets by net_if_receive_skb, which the peer does not know',
      'iousagetop per-netif-top Operations size')
def received(d, context):
    return d.sub == 'received' and plain(d.peer) == 0 and plain(d.ours) == context.reference.received[d.our_row[0]['name']]


@rule('disk-name', None, 'LTTng 2.13 gives requests on newer kernels the number of no device; merges of the same disk have the '
      'right one, which the state dump names', 'iolatencystats disk-latency-stats Partition', 'iolatencyfreq freq title',
      'iousagetop per-disk-top-sector,per-disk-top-request,per-disk-top-rps Disk')
def disk_name(d, context):
    disks, devices = context.reference.disks, context.reference.bio_devices
    major, minor = map(int, d.peer.strip('()').split(','))
    return (major << 20 | minor) not in disks and [disks.get(device) for device in devices] == [d.ours]
