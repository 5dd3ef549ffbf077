# SPDX-License-Identifier: MIT
# A machine that is made up, of one CPU and a task "worker", as LTTng records it: for tests that say what each wait is for.
MS = 1000000
START = 1700000000 * 10**9
TASK, READ = 100, 4


class Machine:
    """One CPU; time passes as the script says."""
    def __init__(self):
        self.now, self.events, self.others = START, [], {}

    def event(self, name, payload, tid=TASK):
        self.events.append({'t': self.now - START, 'n': name, 'p': payload, 'pc': {'cpu_id': 0}, 'sec': {'tid': tid}})

    def passes(self, ms):
        self.now += int(ms * MS)

    def switch(self, prev, following, state):
        names = {0: 'swapper/0', TASK: 'worker', **self.others}
        self.event('sched_switch', {'prev_comm': names[prev], 'prev_tid': prev, 'prev_prio': 20, 'prev_state': state,
                                    'next_comm': names[following], 'next_tid': following, 'next_prio': 20}, prev)

    def waits(self, ms, before_wake=(), state=2):
        """The task sleeps; an interrupt wakes it at the end."""
        self.switch(TASK, 0, state)
        self.passes(ms)
        entry, exit_, inside = before_wake or (('timer_hrtimer_expire_entry', {'hrtimer': 1}), ('timer_hrtimer_expire_exit', {'hrtimer': 1}), ())
        self.event(*entry, 0)
        for event in inside:
            self.event(*event, 0)
        self.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, 0)
        self.event(*exit_, 0)
        self.switch(0, TASK, 0)

    def hands_over(self, ms, other, wake=None, state=2):
        """The task sleeps; another, which is on the CPU meanwhile, wakes it."""
        self.switch(TASK, other, state)
        self.passes(ms)
        (wake or self.wakes)(other)
        self.switch(other, TASK, 1)

    def wakes(self, by):
        self.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, by)

    def reads(self, ms, sector, rwbs=READ):
        request = {'dev': 253 << 20, 'sector': sector, 'nr_sector': 8, 'rwbs': rwbs}
        self.event('block_rq_issue', request)
        self.waits(ms, (('irq_handler_entry', {'irq': 9, 'name': 'disk'}), ('irq_handler_exit', {'irq': 9}), [('block_rq_complete', request)]))

    def call(self, name, inside=lambda: None):
        self.event(f'syscall_entry_{name}', {'fd': 1} if name == 'write' else {})
        inside()
        self.event(f'syscall_exit_{name}', {'ret': 0})
