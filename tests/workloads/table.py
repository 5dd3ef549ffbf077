# SPDX-License-Identifier: MIT
# The workloads: in which script each is, and what the first screen has to say of it. The scripts say why it is so.
#
# A saying is a regular expression of which {name} stands for what the workload reported under that name. Each must be found in the
# first ten lines of the critical path, in one line of them. `why` and `reason` are arguments of `lull why`, and what its first
# sentence has to say, where there are many requests. What else is looked at:
#
#   amount       the program, state and cause, or the program and a part of the detail or of who waits, whose time in the path has to be
#                what the workload measured as `cause_ns`
#   waits        the cause that the task which is asked about waited for in `lull waits`, for as long as `cause_ns`
#   needs_quiet  the amount is that only if other programs leave it the CPUs: it is looked at if LULL_WORKLOADS asks for it
#   faults       waits of which the detail says so have to be as many as the kernel counted
#   call         of which program which call took as long as the program measured as `calls_ns`
#   kernel       the delays (delays.py) that have to be those that the kernel counted of the task
import re
import string


class Workload:
    def __init__(self, script, *says, why=None, reason=None, amount=None, faults=None, kernel=(), call=None, waits=None, needs_quiet=False):
        self.script = script
        self.says = says
        self.why = why
        self.because = reason
        self.amount = amount
        self.faults = faults
        self.kernel = kernel
        self.call = call
        self.waits = waits
        self.needs_quiet = needs_quiet
        self.name = None

    @staticmethod
    def compile(pattern, report):
        for _, name, _, _ in string.Formatter().parse(pattern):
            if name:
                pattern = pattern.replace('{' + name + '}', re.escape(str(report[name])))
        return re.compile(pattern)

    def patterns(self, report):
        return [self.compile(saying, report) for saying in self.says]

    def reason(self, report):
        return self.compile(self.because, report)


SLEEPS = r'blocked on a timer in clock_nanosleep'
HELD_BACK = (r'wl-asker: blocked on network: TCP from 10\.77\.0\.2:7008 held back in the queue of lull-b, in recvfrom$',)
QUOTA = r'wl-asker: throttled by a CPU quota of /\S*{group}, 20\.00 ms per 100\.0 ms'


def lock(call):
    """wl-asker waits in that call for wl-holder, which sleeps."""
    return Workload('locks.py', f'wl-holder: {SLEEPS}.* waited for by wl-asker in {call}', amount=('wl-holder', 'blocked', 'timer'))


def loop(call):
    """wl-proxy has others' requests under way as well, and waits in that call for whichever is answered."""
    return Workload('loops.py', f'wl-backend: {SLEEPS}.* waited for by wl-proxy in {call}', amount=('wl-backend', 'blocked', 'timer'))


TABLE = {
    'flock': Workload('small.py', f'wl-holder: {SLEEPS}.* waited for by wl-asker in flock', amount=('wl-holder', 'blocked', 'timer')),
    'fcntl_lock': Workload('small.py', f'wl-holder: {SLEEPS}.* waited for by wl-asker in fcntl', amount=('wl-holder', 'blocked', 'timer')),
    # pthread_mutex_lock() is the futex system call; the holder burns CPU time.
    'mutex': Workload('small.py', r'wl-holder: running.* waited for by wl-asker in futex', amount=('wl-holder', 'running', None)),
    'process_lock': Workload('small.py', f'wl-holder: {SLEEPS}.* waited for by wl-asker in futex', amount=('wl-holder', 'blocked', 'timer')),
    'latch': Workload('small.py', f'wl-holder: {SLEEPS}.* waited for by wl-asker in epoll_wait', amount=('wl-holder', 'blocked', 'timer')),
    # Whose signals interrupt a wait that goes on has nothing to do with how long it lasts.
    'poked_read': Workload('small.py', f'wl-writer: {SLEEPS}.* waited for by wl-asker in read', amount=('wl-writer', 'blocked', 'timer')),
    'poked_poll': Workload('small.py', f'wl-writer: {SLEEPS}.* waited for by wl-asker in poll', amount=('wl-writer', 'blocked', 'timer')),
    'poked_child': Workload('small.py', f'wl-writer: {SLEEPS}.* waited for by wl-asker in wait4', amount=('wl-writer', 'blocked', 'timer')),
    'poked_sleep': Workload('small.py', f'wl-asker: {SLEEPS}', amount=('wl-asker', 'blocked', 'timer')),
    'stopped_sleep': Workload('small.py', f'wl-asker: {SLEEPS}', amount=('wl-asker', 'blocked', 'timer')),
    # Python waits for its lock 5 ms at a time, then asks the thread that has it to let go, which wakes it.
    'gil': Workload('small.py', r'wl-burner: running in user mode, waited for by wl-asker in futex',
                    amount=('wl-burner', 'running', None), needs_quiet=True),
    'late_dns': Workload('small.py', r'wl-asker: .*timed out in poll: no answer from (udp {address}|a UDP socket)', f'wl-resolver: {SLEEPS}.* waited for by wl-asker in poll', amount=('wl-resolver', 'blocked', 'timer')),
    'silent_dns': Workload('small.py', r'wl-asker: .*timed out in p?select6?: no answer from (udp {address}|a UDP socket)$', amount=('wl-asker', 'blocked', 'timer')),
    'slow_pipe': Workload('small.py', f'wl-producer: {SLEEPS}.* waited for by wl-asker in read', amount=('wl-producer', 'blocked', 'timer')),
    'sigstop': Workload('small.py', f'wl-stopper: {SLEEPS}.* waited for by wl-asker, which was stopped', amount=('wl-stopper', 'blocked', 'timer')),
    'core_dump': Workload('small.py', r'wl-crasher: .*core (dump|is dumped), waited for by wl-asker in wait4', amount=('wl-crasher', ''),
                          needs_quiet=True),
    'cold_file': Workload('small.py', r'wl-asker: blocked on disk: {disk} read, in pread64 of \S*cold.data', kernel=('disk',)),
    'mapped_file': Workload('small.py', r'wl-asker: blocked on disk: {disk} read, in a page fault of {path}', kernel=('disk',)),
    'cold_program': Workload('small.py', r'program: blocked on disk: {disk} read.*, in (execve of|a page fault of) {path}, waited for by wl-asker in wait4'),
    'no_server': Workload('small.py', r'wl-asker: blocked on a timer: .*timed out in poll: no answer from {address} to the request to connect$', amount=('wl-asker', 'blocked', 'timer')),
    'no_server_blocking': Workload('small.py', r'wl-asker: blocked on a timer: .*timed out in connect: no answer from {address}$', amount=('wl-asker', 'blocked', 'timer')),
    'full_backlog': Workload('small.py', r'kernel: blocked on a timer: SYN sent again, waited for by wl-asker in poll', amount=('kernel', 'blocked', 'timer')),
    'far_file': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in (newfstatat|statx|stat) on {{path}}', amount=('wl-server', 'blocked', 'timer')),
    'folder_lock': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-holder in mkdir', amount=('wl-server', 'blocked', 'timer'), waits='kernel lock'),
    'pipe_lock': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-holder in write, in a page fault of {{path}}',
                          amount=('wl-server', 'blocked', 'timer'), waits='kernel lock'),
    'compaction': Workload('small.py', r'wl-asker: running in memory compaction$', amount=('wl-asker', 'memory compaction'), needs_quiet=True),
    'sqlite': Workload('small.py', r'blocked on disk: {disk} (write|flush).*, in (fsync|fdatasync)'),
    'tar_xz': Workload('small.py', r'xz: running.* waited for by tar in write', amount=('xz', 'running', None), needs_quiet=True),
    'veth': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in recvfrom', amount=('wl-server', 'blocked', 'timer')),
    'bridge': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in recvfrom', amount=('wl-server', 'blocked', 'timer')),
    'limited_link': Workload('small.py', *HELD_BACK, amount=('wl-asker', 'blocked', 'network')),
    'limited_pieces': Workload('small.py', *HELD_BACK, amount=('wl-asker', 'blocked', 'network')),
    'nat': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in recvfrom', amount=('wl-server', 'blocked', 'timer')),
    'slow_reader': Workload('small.py', f'wl-reader: {SLEEPS}.* waited for by wl-asker in sendto'),
    # A worker of the kernel carries what is typed.
    'message_queue': Workload('small.py', f'wl-sender: {SLEEPS}.* waited for by wl-asker in mq_timedreceive', amount=('wl-sender', 'blocked', 'timer')),
    'inotify': Workload('small.py', f'wl-maker: {SLEEPS}.* waited for by wl-asker in read', amount=('wl-maker', 'blocked', 'timer')),
    'vfork_exec': Workload('small.py', f'sleep: {SLEEPS}.* waited for by wl-asker in wait4'),
    'async_pipe': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in epoll_wait', amount=('wl-server', 'blocked', 'timer')),
    # The kernel does not know that it is about a lock: it shows the tries.
    'two_writers': Workload('small.py', f'wl-asker: {SLEEPS}'),
    'frozen': Workload('small.py', f'wl-freezer: {SLEEPS}.* waited for by wl-asker, which was frozen', amount=('wl-freezer', 'blocked', 'timer')),
    'terminal': Workload('small.py', f'wl-typist: {SLEEPS}.* waited for by kworker', amount=('wl-typist', 'blocked', 'timer')),
    'fuse': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by wl-asker in a page fault', amount=('wl-server', 'blocked', 'timer')),
    'loop_device': Workload('small.py', f'wl-server: {SLEEPS}.* waited for by kworker', amount=('wl-server', 'blocked', 'timer')),
    'select_nothing': Workload('small.py', r'wl-asker: blocked on a timer in p?select6?$', r'wl-asker: blocked on a timer in poll$', amount=('wl-asker', 'blocked', 'timer')),
    'rwlock_writer': lock('futex'),
    'rwlock_reader': lock('futex'),
    'robust_mutex': lock('futex'),
    'pi_mutex': lock('futex'),
    'sysv_semaphore': lock('sem(timed)?op'),
    'sysv_queue': lock('msgrcv'),
    'rust_mutex': lock('futex'),
    'rust_rwlock': lock('futex'),
    'thread_pool': Workload('locks.py', f'wl-worker: {SLEEPS}.* waited for by wl-asker in recvfrom', amount=('wl-worker', 'blocked', 'timer')),
    'epoll_loop': loop('epoll_wait'),
    'epoll_loop_unix': loop('epoll_wait'),
    'poll_loop': loop('poll'),
    'select_loop': loop('p?select6?'),
    'split_loop': Workload('loops.py', f'wl-backend: {SLEEPS}.* waited for by wl-proxy in epoll_wait', f'wl-questions: {SLEEPS}.* waited for by wl-asker in recvfrom',
                           amount=('wl-backend', 'blocked', 'timer')),
    'busy_loop': Workload('loops.py', f'wl-backend: {SLEEPS}.* waited for by wl-proxy in recvfrom', r'wl-proxy: running in user mode, waited for by wl-asker in recvfrom',
                          amount=('wl-backend', 'blocked', 'timer')),
    'pgbench': Workload('services.py', r'postgres: blocked on disk: {disk} (write|flush).*, in fdatasync( of \S+)?, waited for by pgbench in', call=('postgres', 'fdatasync')),
    'redis': Workload('services.py', r'redis-server: blocked on disk: {disk} (write|flush).*, in fdatasync( of \S+)?, waited for by wl-asker in recvfrom',
                      kernel=('disk',)),
    'nginx': Workload('services.py', f'wl-backend: {SLEEPS}.* waited for by nginx in epoll_wait', why=('--port', '8080'),
                      reason=r'wl-backend\S* is blocked on a timer', amount=('wl-backend', 'blocked', 'timer')),
    'make': Workload('services.py', r'cc1: running.* waited for by gcc in ', amount=('cc1', 'running', None)),
    # Thread.sleep() is a futex with a time-out; Java's locks are tried for a while each, for which their holder is the cause.
    'java': Workload('services.py', r'wl-holder: blocked on a timer: timed out in futex, waited for by wl-asker in futex',
                     amount=('wl-holder', 'blocked', 'timer')),
    'go': Workload('services.py', f'wl-backend: {SLEEPS}.* waited for by get in (epoll_p?wait|read)',
                   amount=('wl-backend', 'blocked', 'timer')),
    'node': Workload('services.py', f'wl-backend: {SLEEPS}.* waited for by node in epoll_p?wait', amount=('wl-backend', 'blocked', 'timer')),
    'dpkg': Workload('tools.py', r'dpkg: (blocked on disk: {disk} (write|flush).*, in|running in) (fsync|fdatasync|sync_file_range)'),
    'git_gc': Workload('tools.py', r'git: running', amount=('git', 'running', None), needs_quiet=True),
    'find': Workload('tools.py', r'find: blocked on disk: {disk} read'),
    'rsync': Workload('tools.py', r'rsync: blocked on a timer in pselect6$'),
    'memcached': Workload('tools.py', f'wl-stopper: {SLEEPS}.* waited for by mc-worker, which was stopped', amount=('wl-stopper', 'blocked', 'timer')),
    'socat': Workload('tools.py', f'wl-backend: {SLEEPS}.* waited for by socat in', amount=('wl-backend', 'blocked', 'timer')),
    'node_worker': Workload('tools.py', r'node: running.* waited for by node in epoll_p?wait'),
    # The kernel's own cpu.stat says for how long.
    'cpu_quota': Workload('limits.py', QUOTA, amount=('wl-asker', 'preempted', 'throttled')),
    'busy_quota': Workload('limits.py', QUOTA, amount=('wl-asker', 'preempted', 'throttled')),
    'blkio': Workload('limits.py', r'wl-asker: blocked on disk: {disk} read held back before the device, in preadv',
                      amount=('wl-asker', 'blocked', 'disk'), kernel=('disk',)),
    'dirty_pages': Workload('limits.py', r'wl-asker: blocked on disk: too many dirty pages for {disk}, in write of {device}',
                            amount=('wl-asker', 'blocked', 'disk'), kernel=('disk',)),
    'swap': Workload('limits.py', r'wl-asker: blocked on disk: {disk} read, in a page fault of memory in swap', faults='memory in swap',
                     kernel=('disk', 'reclaim')),
    'io_uring': Workload('limits.py', r'wl-asker: blocked on disk: {disk} read, in io_uring_enter for read', kernel=('disk',)),
    'polled_ring': Workload('limits.py', r'iou-sqp-\d+: running in the kernel, waited for by wl-asker in io_uring_enter for read'),
}
for _name, _workload in TABLE.items():
    _workload.name = _name
