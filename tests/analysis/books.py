# SPDX-License-Identifier: MIT
"""A machine of chance that keeps its own books: threads that share, copy and leave tables of descriptors, run programs, make system calls
and end. `events` is what LTTng would record of them, `calls` and `runs` are what they did, also at which frequency. What a call does is what its manual page says; the
tables are those of the kernel (files_struct), and know nothing of how Lull follows them."""
import random

O_CLOEXEC = 0o2000000
CLONE_FILES, CLONE_THREAD = 0x400, 0x10000
START_NS = 1418423383000000000
ENOENT, EIO, EBADF, EAGAIN, EBUSY, EINVAL, EMFILE = 2, 5, 9, 11, 16, 22, 24
SIZES = (0, 1, 100, 4096, 65536)


class Table:
    """Of descriptors: {fd: [name, closes on exec]}. No name: the trace does not show what it is."""

    def __init__(self, fds=()):
        self.fds = {fd: list(file) for fd, file in dict(fds).items()}

    def open(self, name, cloexec, least=3):
        fd = next(fd for fd in range(least, 1000) if fd not in self.fds)
        self.fds[fd] = [name, cloexec]
        return fd


class Thread:
    def __init__(self, tid, pid, comm, table, since):
        self.tid, self.pid, self.table, self.names = tid, pid, table, [(since, comm)]
        self.cpu = self.call = None
        self.since, self.is_dead = since, False

    def comm(self, when=1 << 63):
        return [comm for since, comm in self.names if since <= when][-1]


class Call:
    """What a thread does from `start` to `end`, None if it does not return; its thread is `gone` then. `names` are the files of its one
    or two descriptors."""

    def __init__(self, thread, name, category, fd, names):
        self.thread, self.name, self.category, self.fd, self.names = thread, name, category, fd, names
        self.start = self.end = self.gone = self.cpu = self.bytes = None
        self.error, self.before = 0, []

    def moves(self, thread, when):
        """It is another's: exec() has given its thread another number."""
        self.before.append((when, self.thread))
        self.thread = thread

    def thread_at(self, when):
        return next((thread for until, thread in self.before if when < until), self.thread)


class Machine:
    def __init__(self, seed, steps, cpus=2, has_contexts=True, tells_exec=True):
        self.chance, self.has_contexts, self.tells_exec = random.Random(seed), has_contexts, tells_exec
        self.now, self.events, self.calls, self.runs, self.threads, self.last_tid = START_NS, [], [], [], [], 100
        self.cpus, self.khz = [None] * cpus, [None] * cpus
        self.event(0, 'first')
        for i in range(3):
            fds = {fd: [f'/data/{fd}' if i else None, fd % 2 == 1] for fd in range(3 + 2 * i)}
            thread = self.born(f'app{i}', Table(fds))
            for fd, (path, cloexec) in fds.items() if i else ():
                self.event(0, 'lttng_statedump_file_descriptor', pid=thread.pid, fd=fd, filename=path, flags=O_CLOEXEC * cloexec)
        for cpu in range(cpus):
            self.switch(cpu, self.threads[cpu])
        for _ in range(steps):
            self.step()
        for cpu in range(cpus):
            self.ran(cpu)

    def born(self, comm, table, pid=None):
        self.last_tid += 1
        thread = Thread(self.last_tid, pid or self.last_tid, comm, table, self.now)
        self.threads.append(thread)
        return thread

    def event(self, cpu, name, **fields):
        self.now += self.chance.randrange(1000, 50000)
        event = {'t': self.now, 'n': name, 'p': fields, 'pc': {'cpu_id': cpu}}
        if self.has_contexts:
            thread = self.cpus[cpu]
            event['sec'] = {'procname': thread.comm() if thread else f'swapper/{cpu}', 'pid': thread.pid if thread else 0,
                            'tid': thread.tid if thread else 0}
        self.events.append(event)
        return self.now

    def switch(self, cpu, thread, state=0):
        fields, before = {}, self.cpus[cpu]
        for side, one in (('prev', before), ('next', thread)):
            fields.update({f'{side}_comm': one.comm() if one else f'swapper/{cpu}', f'{side}_tid': one.tid if one else 0,
                           f'{side}_prio': 20})
        self.event(cpu, 'sched_switch', prev_state=state, **fields)
        self.ran(cpu)
        if before:
            before.cpu = None
        self.cpus[cpu] = thread
        if thread:
            thread.cpu, thread.since = cpu, self.now

    def ran(self, cpu):
        thread = self.cpus[cpu]
        if thread:
            self.runs.append((thread, cpu, self.khz[cpu], thread.since, self.now))
            thread.since = self.now

    def step(self):
        cpu = self.chance.randrange(len(self.cpus))
        thread = self.cpus[cpu]
        if self.chance.random() < 0.01:
            khz = self.chance.choice([800000, 3000000])
            self.event(cpu, 'power_cpu_frequency', state=khz, cpu_id=cpu)
            self.ran(cpu)
            self.khz[cpu] = khz
        if thread is None or self.chance.random() < 0.25:
            waiting = [one for one in self.threads if not one.is_dead and one.cpu is None]
            if waiting:
                self.switch(cpu, self.chance.choice(waiting))
        elif thread.call:
            self.leave(cpu, thread)
        else:
            self.act(cpu, thread)

    # ---- calls ----

    def enter(self, cpu, thread, name, finish, category=None, fds=(), **fields):
        """`finish` says what the call returns: a number, or that, and a function that says more of its exit."""
        names = [thread.table.fds.get(fd, [None])[0] for fd in fds]
        call = Call(thread, name, category, fds[0] if fds else None, names)
        call.start = self.event(cpu, 'syscall_entry_' + name, **fields)
        thread.call = call, finish
        self.calls.append(call)

    def leave(self, cpu, thread):
        call, finish = thread.call
        thread.call = None
        result = finish(call)
        fields = {'ret': result} if isinstance(result, int) else result
        if call is not None:
            call.error = max(-fields['ret'], 0)
            if call.category in ('read', 'write', 'copy') and not call.error:
                call.bytes = fields['ret']
            call.cpu = cpu
        end = self.event(cpu, 'syscall_exit_' + (call.name if call else 'clone'), **fields)
        if call is not None:
            call.end = end

    def makes(self, thread, name, cloexec, fails, least=3):
        def finish(call):
            if fails:
                return -EMFILE
            call.fd = thread.table.open(name, cloexec, least)
            call.names = [name]
            return call.fd
        return finish

    def used(self, table, fd):
        return any(one.call and one.call[0] and one.table is table and fd == one.call[0].fd for one in self.threads)

    def act(self, cpu, thread):
        chance, table = self.chance, thread.table
        fd = chance.choice(list(table.fds)) if table.fds else None
        fails, cloexec = chance.random() < 0.12, chance.random() < 0.4
        acts = {'opens': 4, 'special': 1, 'pipes': 1, 'moves': 5, 'copies': 2, 'syncs': 1, 'closes': 2, 'dups': 2, 'dups_to': 1, 'sets': 1,
                'closes_range': 0.4, 'unshares': 0.4, 'clones': 1, 'executes': 1, 'ends': 0.6}
        act = chance.choices(list(acts), acts.values())[0]
        if fd is not None or act in ('opens', 'special', 'pipes', 'clones'):
            getattr(self, act)(cpu, thread, table, fd, fails, cloexec)

    def opens(self, cpu, thread, table, fd, fails, cloexec):
        path = self.chance.choice(['/tmp/f%d', 'f%d', '../x%d']) % self.chance.randrange(5)
        finish = self.makes(thread, path, cloexec, fails)
        self.enter(cpu, thread, 'openat', finish, 'open', dfd=-100, filename=path, flags=O_CLOEXEC * cloexec, mode=0)

    def special(self, cpu, thread, table, fd, fails, cloexec):
        call, name = self.chance.choice([('eventfd2', 'eventfd'), ('timerfd_create', 'timerfd'), ('epoll_create1', 'eventpoll')])
        self.enter(cpu, thread, call, self.makes(thread, name, cloexec, fails), 'open', flags=O_CLOEXEC * cloexec)

    def pipes(self, cpu, thread, table, fd, fails, cloexec):
        def finish(call):
            if fails:
                return {'ret': -EMFILE, 'fildes': [0] * 8}
            ends = [thread.table.open('pipe', cloexec) for _ in range(2)]
            call.fd, call.names = ends[0], ['pipe']
            return {'ret': 0, 'fildes': [byte for end in ends for byte in end.to_bytes(4, 'little')]}
        self.enter(cpu, thread, 'pipe2', finish, 'open', flags=O_CLOEXEC * cloexec)

    def moves(self, cpu, thread, table, fd, fails, cloexec):
        size = -EAGAIN if fails else self.chance.choice(SIZES)
        name = self.chance.choice(['read', 'pread64', 'write', 'pwrite64'])
        self.enter(cpu, thread, name, lambda _: size, 'read' if 'read' in name else 'write', [fd], fd=fd, count=99999)

    def copies(self, cpu, thread, table, fd, fails, cloexec):
        to, size = self.chance.choice(list(table.fds)), -EIO if fails else self.chance.choice(SIZES)
        if self.chance.random() < 0.5:
            self.enter(cpu, thread, 'sendfile64', lambda _: size, 'copy', [fd, to], out_fd=to, in_fd=fd, count=99999)
        else:
            self.enter(cpu, thread, 'splice', lambda _: size, 'copy', [fd, to], fd_in=fd, fd_out=to, len=99999, flags=0)

    def syncs(self, cpu, thread, table, fd, fails, cloexec):
        self.enter(cpu, thread, 'fsync', lambda _: -EIO * fails, 'sync', [fd], fd=fd)

    def closes(self, cpu, thread, table, fd, fails, cloexec):
        self.enter(cpu, thread, 'close', lambda _: -EBADF * fails, 'close', [999 if fails else fd], fd=999 if fails else fd)
        if not fails:
            del table.fds[fd]  # the number is free at once

    def dups(self, cpu, thread, table, fd, fails, cloexec):
        name = table.fds[fd][0]
        if self.chance.random() < 0.5:
            self.enter(cpu, thread, 'dup', self.makes(thread, name, False, fails), 'open', [fd], fildes=fd)
        else:
            command = 1030 if cloexec else 0  # F_DUPFD_CLOEXEC, F_DUPFD
            self.enter(cpu, thread, 'fcntl', self.makes(thread, name, cloexec, fails, 5), 'open', [fd], fd=fd, cmd=command, arg=5)

    def dups_to(self, cpu, thread, table, fd, fails, cloexec):
        name, new = table.fds[fd][0], self.chance.randrange(3, 12)
        if self.used(table, new):
            return

        def finish(call):
            if fails:
                return -EBUSY
            if new != fd:
                thread.table.fds[new] = [name, cloexec]
            elif cloexec:
                return -EINVAL  # of dup3()
            call.fd, call.names = new, [name]
            return new
        if cloexec:
            self.enter(cpu, thread, 'dup3', finish, 'open', [fd], oldfd=fd, newfd=new, flags=O_CLOEXEC)
        else:
            self.enter(cpu, thread, 'dup2', finish, 'open', [fd], oldfd=fd, newfd=new)

    def sets(self, cpu, thread, table, fd, fails, cloexec):
        def finish(_):
            if not fails and fd in thread.table.fds:
                thread.table.fds[fd][1] = cloexec
            return -EINVAL * fails
        if self.chance.random() < 0.5:
            self.enter(cpu, thread, 'fcntl', finish, None, [fd], fd=fd, cmd=2, arg=int(cloexec))
        else:
            self.enter(cpu, thread, 'ioctl', finish, None, [fd], fd=fd, cmd=0x5451 if cloexec else 0x5450, arg=0)

    def closes_range(self, cpu, thread, table, fd, fails, cloexec):
        first = self.chance.randrange(3, 9)
        last = self.chance.choice([first + 1, 0xffffffff])
        if any(self.used(table, one) for one in table.fds if first <= one <= last):
            return

        def finish(_):
            for one in [one for one in thread.table.fds if first <= one <= last and not fails]:
                if cloexec:
                    thread.table.fds[one][1] = True
                else:
                    del thread.table.fds[one]
            return -EINVAL * fails
        self.enter(cpu, thread, 'close_range', finish, 'close', fd=first, max_fd=last, flags=4 * cloexec)

    # ---- threads and processes ----

    def owns(self, thread):
        """Gives the thread a table that no other has."""
        if sum(one.table is thread.table and not one.is_dead for one in self.threads) > 1:
            thread.table = Table(thread.table.fds)

    def unshares(self, cpu, thread, table, fd, fails, cloexec):
        def finish(_):
            if not fails:
                self.owns(thread)
            return -EINVAL * fails
        self.enter(cpu, thread, 'unshare', finish, unshare_flags=CLONE_FILES)

    def clones(self, cpu, thread, table, fd, fails, cloexec):
        flags = self.chance.choice([CLONE_FILES | CLONE_THREAD, CLONE_FILES, 0])
        self.enter(cpu, thread, 'clone', None, clone_flags=flags)
        new = self.born(thread.comm(), thread.table if flags & CLONE_FILES else Table(thread.table.fds),
                        thread.pid if flags & CLONE_THREAD else None)
        self.event(cpu, 'sched_process_fork', parent_comm=thread.comm(), parent_tid=thread.tid, parent_pid=thread.pid,
                   child_comm=new.comm(), child_tid=new.tid, child_pid=new.pid)
        thread.call = thread.call[0], lambda _: new.tid
        new.call = None, lambda _: 0

    def dies(self, thread):
        cpu = thread.cpu
        self.event(cpu, 'sched_process_exit', comm=thread.comm(), tid=thread.tid, prio=20)
        thread.is_dead = True
        self.switch(cpu, None, 64)
        if thread.call and thread.call[0]:
            thread.call[0].gone = self.now
        thread.call = None

    def executes(self, cpu, thread, table, fd, fails, cloexec):
        """The other threads of the process end before. Then it has the number of the first, whichever it was."""
        program = f'prog{self.chance.randrange(5)}'
        self.enter(cpu, thread, 'execve', lambda _: -ENOENT * fails, filename='/bin/' + program)
        if fails:
            return
        for one in [one for one in self.threads if one is not thread and one.pid == thread.pid and not one.is_dead]:
            if one.cpu is None:
                self.switch(cpu, one, 2)
            self.dies(one)
        if thread.cpu is None:
            self.switch(cpu, thread)
        self.owns(thread)
        thread.table.fds = {fd: file for fd, file in thread.table.fds.items() if not file[1]}
        first = next(one for one in self.threads if one.tid == thread.pid)
        call = thread.call[0]
        if thread is not first:
            first.call, thread.call = thread.call, None
        self.cpus[cpu] = first
        first.names.append((self.now, program))
        is_told = False
        for tells in (self.renames, self.says_executed, self.leave):
            if (tells == self.renames and self.chance.random() < 0.5 and (self.has_contexts or self.tells_exec or thread is first) or
                    tells == self.says_executed and not self.tells_exec or tells == self.leave and self.tells_exec):
                continue
            tells(cpu, first) if tells == self.leave else tells(cpu, first, thread, program)
            if not is_told:
                is_told, first.names[-1] = True, (self.now, program)
                self.follows(cpu, thread, first, call)
        if thread is not first and self.chance.random() < 0.5:  # the end of the first, by its number on kernels before 5.8
            self.event(self.chance.randrange(len(self.cpus)), 'sched_process_free', comm='x', prio=20,
                       tid=self.chance.choice([first.tid, thread.tid]))

    def renames(self, cpu, first, thread, program):
        self.event(cpu, 'task_rename', tid=first.tid, newcomm=program, oom_score_adj=0)

    def says_executed(self, cpu, first, thread, program):
        self.event(cpu, 'sched_process_exec', filename='/bin/' + program, tid=first.tid, old_tid=thread.tid)

    def follows(self, cpu, thread, first, call):
        if thread is first:
            return
        self.runs.append((thread, cpu, self.khz[cpu], thread.since, self.now))
        first.table, first.cpu, first.since, first.is_dead = thread.table, cpu, self.now, False
        call.moves(first, self.now)
        thread.cpu, thread.is_dead = None, True

    def ends(self, cpu, thread, table, fd, fails, cloexec):
        if sum(not one.is_dead for one in self.threads) < 5:
            return
        self.enter(cpu, thread, 'exit', None, error_code=0)
        self.dies(thread)
