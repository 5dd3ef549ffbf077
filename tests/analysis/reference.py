# SPDX-License-Identifier: MIT
"""What the plain events of a trace say, worked out a second time and in the simplest way: the source of the expectations of
test_differential.py. Input is one JSON object an event (`lull print --json`, whose reader is compared with Babeltrace elsewhere).
Who does something comes from the contexts tid, pid and procname of the event, which the analyses do not read for it."""
import bisect
import collections
import json

INTERRUPTS = ('irq_handler_', 'irq_softirq_', 'softirq_', 'x86_irq_vectors_', 'timer_hrtimer_expire_')
OPENS = set('open openat openat2 creat socket socketpair pipe pipe2 dup dup2 dup3 accept accept4 epoll_create epoll_create1 '
            'eventfd eventfd2 timerfd_create signalfd signalfd4 inotify_init inotify_init1 memfd_create perf_event_open '
            'pidfd_open io_uring_setup fcntl bpf'.split())
READS = set('read recvmsg recvfrom readv pread pread64 preadv preadv2 recvmmsg'.split())
WRITES = set('write sendmsg sendto writev pwrite pwrite64 pwritev pwritev2 sendmmsg'.split())
SYNCS = set('sync sync_file_range fsync fdatasync syncfs msync'.split())
COPIES = set('splice sendfile sendfile64 copy_file_range tee'.split())
CLOSES = {'close', 'close_range'}
MADE = {'socket': ('socket', 'net'), 'socketpair': ('socket', 'socket'), 'pipe': ('pipe', 'pipe'), 'pipe2': ('pipe', 'pipe'),
        'accept': ('socket', 'net'), 'accept4': ('socket', 'net')}
NAMED_BY_KIND = {'epoll_create': 'eventpoll', 'epoll_create1': 'eventpoll', 'eventfd': 'eventfd', 'eventfd2': 'eventfd',
                 'timerfd_create': 'timerfd', 'signalfd4': 'signalfd', 'inotify_init1': 'inotify', 'bpf': 'bpf',
                 'pidfd_open': 'pidfd'}
EINPROGRESS = -115  # errno of connect() on a descriptor that does not block
# Calls that LTTng tells by number and their arguments (arch/x86/entry/syscalls/syscall_64.tbl of Linux, and manual pages).
NUMBERS = {15: ('rt_sigreturn', ''), 158: ('arch_prctl', ''), 318: ('getrandom', ''), 334: ('rseq', ''),
           326: ('copy_file_range', 'fd_in off_in fd_out off_out len flags'), 434: ('pidfd_open', 'pid flags'),
           436: ('close_range', 'fd max_fd flags'), 439: ('faccessat2', '')}


class File:
    """An open file: all names that it was given, in order, and what it is."""

    def __init__(self, name=None, kind=None):
        self.names, self.kind = [] if name is None else [name], kind

    def name(self):
        return self.names[-1] if self.names else None


class Call:
    """A system call that began and ended."""
    __slots__ = ('tid', 'pid', 'name', 'begin', 'end', 'ret', 'fields', 'comm', 'file', 'other_file', 'fd')

    def duration(self):
        return self.end - self.begin

    def category(self):
        for category, names in (('open', OPENS), ('read', READS), ('write', WRITES), ('sync', SYNCS), ('copy', COPIES),
                                ('close', CLOSES)):
            if self.name in names:
                if self.name == 'fcntl' and self.fields.get('cmd') not in (0, 1030):  # F_DUPFD, F_DUPFD_CLOEXEC
                    return None
                if self.name == 'bpf' and self.file is None:
                    return None
                return 'accept' if self.name.startswith('accept') else category
        return None

    def size(self):
        """Bytes moved, None if the call moves none or failed."""
        return self.ret if self.category() in ('read', 'write', 'copy') and self.ret >= 0 else None


def address_text(fields, port):
    v4, v6 = fields.get('v4addr') or [], fields.get('v6addr') or []
    if len(v6) == 8 and v6[:5] == [0] * 5 and v6[5] == 0xffff:  # an IPv4 address in the form of IPv6
        v4 = [v6[6] >> 8, v6[6] & 255, v6[7] >> 8, v6[7] & 255]
    if len(v4) == 4 and fields.get('family') in (2, 10):
        return '.'.join(map(str, v4)) + f':{fields[port]}'
    return None


class Reference:
    def __init__(self, lines):
        self.begin = self.end = None
        self.names = collections.defaultdict(list)  # tid → [(time, name)] where it changes
        self.pids = {}
        self.prios = collections.defaultdict(set)
        self.idle_left = None  # when the idle task was first switched from
        self.idle_first = collections.Counter()  # cpu → ns until its first switch, if that was away from the idle task
        self.busy = collections.Counter()  # cpu → ns
        self.ran = collections.Counter()  # tid → ns
        self.cpus = set()
        self.pages = {'alloc': collections.Counter(), 'free': collections.Counter()}  # by tid; None: in an interrupt
        # As lttng-analyses counts (Q-ME1, Q-ME2): a page an event, frees only of what it saw allocated, to who was interrupted.
        self.peer_pages = {'alloc': collections.Counter(), 'free': collections.Counter()}
        self.handlers = []  # soft interrupts: (entry, exit, cpu, vector, raise or None)
        self.calls = {}  # (begin, end, name, tid) → Call
        self.wakers = {}  # (time, woken tid) → tid of the context
        self.received = collections.Counter()
        self.queued = []  # block requests: (tid of the task, is write, bytes)
        self._open, self._fds, self._tables = {}, collections.defaultdict(dict), collections.defaultdict(set)
        self._since, self._depth, self._soft, self._raised = {}, collections.Counter(), {}, {}
        self._requests, self._submitters, self._peer_known = {}, {}, 0
        self.disks, self.bio_devices = {}, set()  # device → name in the state dump; devices of bios
        for line in lines:
            self._event(json.loads(line))
        for cpu, (since, tid) in self._since.items():
            self._account(cpu, tid, since, self.end)

    # ---- names and processes ----

    def _named(self, time, tid, name):
        if tid > 0 and name:
            known = self.names[tid]
            if not known or known[-1][1] != name:
                known.append((time, name))

    def name_at(self, tid, time):
        """The last name heard of until then; before that, the first."""
        known = self.names.get(tid)
        if not known:
            return None
        return known[max(0, bisect.bisect_right(known, (time, '\U0010ffff')) - 1)][1]

    def last_name(self, tid):
        return self.names[tid][-1][1] if tid in self.names else None

    # ---- one event ----

    def _event(self, event):
        time, cpu, name, fields = event['time_ns'], event['cpu'], event['name'], event['fields']
        context = event['context']
        tid, pid = context.get('tid'), context.get('pid')
        self.begin = time if self.begin is None else self.begin
        self.end = time
        self.cpus.add(cpu)
        if tid is not None:
            self.pids[tid] = pid
            self._named(time, tid, context.get('procname'))
        if name.startswith('syscall_entry_'):
            self._entry(name[14:], time, tid, pid, fields)
        elif name.startswith('syscall_exit_'):
            self._exit(name[13:], time, tid, fields)
        elif name.startswith(INTERRUPTS):
            self._interrupt(name, time, cpu, fields)
        else:
            rule = RULES.get(name)
            if rule:
                rule(self, time, cpu, tid, fields)

    def _account(self, cpu, tid, since, until):
        if tid:
            self.busy[cpu] += until - since
            self.ran[tid] += until - since

    def _switch(self, time, cpu, _tid, fields):
        since, _ = self._since.get(cpu, (self.begin, None))
        if cpu not in self._since and fields['prev_tid'] == 0:
            self.idle_first[cpu] = time - self.begin
        if fields['prev_tid'] == 0 and self.idle_left is None:
            self.idle_left = time
        self._account(cpu, fields['prev_tid'], since, time)
        self._since[cpu] = (time, fields['next_tid'])
        for side in ('prev', 'next'):
            self.prios[fields[f'{side}_tid']].add(fields[f'{side}_prio'])
            self._named(time, fields[f'{side}_tid'], fields[f'{side}_comm'])

    def _woken(self, time, _cpu, tid, fields):
        self.prios[fields['tid']].add(fields['prio'])
        self._named(time, fields['tid'], fields['comm'])
        self.wakers.setdefault((time, fields['tid']), tid)

    def _migrated(self, time, _cpu, _tid, fields):
        self.prios[fields['tid']].add(fields['prio'])
        self._named(time, fields['tid'], fields['comm'])

    def _forked(self, time, _cpu, _tid, fields):
        child, pid, parent = fields['child_tid'], fields['child_pid'], fields['parent_pid']
        self._named(time, child, fields['child_comm'])
        self.pids[child] = pid
        if pid != parent:
            self._fds[pid] = dict(self._fds[parent])

    def _dumped_process(self, time, _cpu, _tid, fields):
        self._named(time, fields['tid'], fields['name'])
        self.pids.setdefault(fields['tid'], fields['pid'])
        self._tables[fields.get('file_table_address')].add(fields['pid'])

    def _dumped_file(self, _time, _cpu, _tid, fields):
        name = fields['filename']
        kinds = (('/memfd:', 'other'), ('/', 'disk'), ('socket:', 'socket'), ('pipe:', 'pipe'))
        kind = next((kind for prefix, kind in kinds if name.startswith(prefix)), 'other')
        for pid in self._tables[fields['file_table_address']]:
            file = self._fds[pid].setdefault(fields['fd'], File())
            if not file.names:
                file.names.append(name)
                file.kind = file.kind or kind

    def _allocated(self, _time, cpu, tid, fields):
        self.pages['alloc'][None if self._depth[cpu] else tid] += 1 << fields['order']
        self._peer_known += 1
        self._peer_page('alloc', cpu)

    def _freed(self, _time, cpu, tid, fields):
        self.pages['free'][None if self._depth[cpu] else tid] += 1 << fields['order']
        if self._peer_known:
            self._peer_known -= 1
            self._peer_page('free', cpu)

    def _peer_page(self, which, cpu):
        if self._since.get(cpu, (0, 0))[1]:  # it knows who runs from the first switch on
            self.peer_pages[which][self._since[cpu][1]] += 1

    # ---- interrupts ----

    def _interrupt(self, name, time, cpu, fields):
        if name.endswith('_raise'):
            self._raised.setdefault((cpu, fields['vec']), time)
        elif name.endswith('_entry'):
            self._depth[cpu] += 1
            if 'softirq' in name:
                self._soft[cpu, fields['vec']] = (time, self._raised.pop((cpu, fields['vec']), None))
        else:
            self._depth[cpu] = max(0, self._depth[cpu] - 1)
            if 'softirq' in name and (cpu, fields['vec']) in self._soft:
                began, raised = self._soft.pop((cpu, fields['vec']))
                self.handlers.append((began, time, cpu, fields['vec'], raised))

    # ---- system calls and descriptors ----

    def _file_of(self, pid, fd):
        if fd is None or fd < 0:
            return None
        return self._fds[pid].setdefault(fd, File())

    def _entry(self, name, time, tid, pid, fields):
        if name == 'unknown':
            name, arguments = NUMBERS[fields['id']]
            fields = dict(zip(arguments.split(), fields['args']))
        call = Call()
        call.tid, call.pid, call.name, call.begin, call.fields = tid, pid, name, time, fields
        call.file = call.other_file = None
        call.fd = fields.get('fd') if name != 'close_range' else None
        if name in COPIES:
            call.fd = fields.get('fd_in', fields.get('in_fd', fields.get('fdin')))
            call.other_file = self._file_of(pid, fields.get('fd_out', fields.get('out_fd', fields.get('fdout'))))
        if name in READS | WRITES | SYNCS | COPIES | CLOSES and call.fd is not None:
            call.file = self._file_of(pid, call.fd)
        self._open[tid] = call

    def _exit(self, name, time, tid, fields):
        if name == 'unknown':
            name = NUMBERS[fields['id']][0]
            fields = {'ret': fields['ret']}
        call = self._open.pop(tid, None)
        if call is None or call.name != name:
            return
        call.end, call.ret, call.comm = time, fields['ret'], self.name_at(tid, time)
        call.fields = {**fields, **call.fields} if name != 'accept4' else {**call.fields, **fields}
        self._done(call, self._fds[call.pid])
        self.calls[call.begin, time, name, tid] = call

    def _done(self, call, table):
        name, fields, ret = call.name, call.fields, call.ret
        if name == 'connect' and ret in (0, EINPROGRESS):
            self._connected(self._file_of(call.pid, fields['fd']), fields)
        if ret < 0:
            return
        if name in ('open', 'openat', 'openat2', 'creat', 'memfd_create'):
            # No file is opened by the path "": the tracer could not read it.
            self._make(call, table, File(fields.get('filename', fields.get('uname')) or None, 'disk'))
        elif name in ('dup', 'dup2', 'dup3', 'fcntl'):
            if call.category():
                old = fields.get('fildes', fields.get('oldfd', fields.get('fd')))
                self._make(call, table, self._file_of(call.pid, old))
        elif name in ('pipe', 'pipe2', 'socketpair'):
            for fd in fields.get('fildes', fields.get('socket', [])):
                table[fd] = File(*MADE[name])
                call.file, call.fd = call.file or table[fd], fd if call.fd is None else call.fd
        elif name in MADE:
            file = File(*MADE[name])
            if fields.get('family') not in (2, 10):  # AF_INET, AF_INET6: others stay on this machine
                file.kind = 'socket'
            self._connected(file, fields) if name.startswith('accept') else None
            self._make(call, table, file)
        elif name in NAMED_BY_KIND and not (name == 'bpf' and fields.get('cmd') not in (0, 5, 7, 18)):
            self._make(call, table, File(NAMED_BY_KIND[name], 'other'))
        elif name == 'close':
            table.pop(call.fd, None)
        elif name == 'close_range':
            for fd in [fd for fd in table if fields['fd'] <= fd <= fields['max_fd']]:
                del table[fd]

    @staticmethod
    def _connected(file, fields):
        port = 'dport' if 'dport' in fields else 'sport'
        text = address_text(fields, port)
        if text and file is not None:
            file.names.append(text)
            file.kind = 'net'

    @staticmethod
    def _make(call, table, file):
        table[call.ret] = file
        call.file, call.fd = file, call.ret

    # ---- block requests and packets ----

    def _dumped_disk(self, _time, _cpu, _tid, fields):
        self.disks[fields['dev']] = fields['diskname']

    def _merged(self, _time, _cpu, _tid, fields):
        self.bio_devices.add(fields['dev'])

    def _queued(self, _time, _cpu, tid, fields):
        self._submitters[fields['dev'], fields['sector']] = tid

    def _issued(self, _time, _cpu, tid, fields):
        if fields['nr_sector']:
            submitter = self._submitters.pop((fields['dev'], fields['sector']), tid)
            self._requests[fields['dev'], fields['sector']] = (submitter, fields['rwbs'] & 1, fields['nr_sector'] * 512)

    def _completed(self, _time, _cpu, _tid, fields):
        request = self._requests.pop((fields['dev'], fields['sector']), None)
        if request:
            self.queued.append(request)

    def _received(self, _time, _cpu, _tid, fields):
        self.received[fields['name']] += fields['len']


RULES = {
    'sched_switch': Reference._switch, 'sched_wakeup': Reference._woken, 'sched_waking': Reference._woken,
    'sched_wakeup_new': Reference._woken, 'sched_migrate_task': Reference._migrated,
    'sched_process_fork': Reference._forked, 'lttng_statedump_process_state': Reference._dumped_process,
    'lttng_statedump_file_descriptor': Reference._dumped_file, 'kmem_mm_page_alloc': Reference._allocated,
    'kmem_mm_page_free': Reference._freed, 'block_rq_insert': Reference._queued,
    'block_rq_issue': Reference._issued, 'block_rq_complete': Reference._completed,
    'lttng_statedump_block_device': Reference._dumped_disk, 'block_bio_backmerge': Reference._merged,
    'net_if_receive_skb': Reference._received, 'netif_receive_skb': Reference._received,
}
