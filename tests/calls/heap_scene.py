# SPDX-License-Identifier: MIT
"""Threads that allocate and free as chance has it, over an allocator that hands out what was freed last, and the events that
LTTng's wrapper of malloc() records of that: of free() before it is done, of all others after. What is true is kept by block,
not by address."""
import random

ADDRESS = 0x401000  # of f0, f1, …, each 16 bytes long


class Block:
    def __init__(self, path, size):
        self.path, self.size = path, size


class Thread:
    def __init__(self, tid):
        self.tid, self.blocks, self.step, self.recent = tid, [], None, None


class Process:
    """`is_atomic`: no thread does anything between a call and its record. `offsets`: the places in each function that allocate."""

    def __init__(self, seed, pid, n_threads=4, n_functions=6, is_atomic=False, offsets=(5, 9)):
        self.chance, self.pid, self.is_atomic, self.offsets = random.Random(seed), pid, is_atomic, offsets
        self.threads = [Thread(pid + i) for i in range(n_threads)]
        self.n_functions, self.time, self.events, self.free = n_functions, 1000, [], []
        self.next, self.where, self.truth, self.n_failed = 0x10000, {}, {}, 0
        self.live, self.peak, self.at_peak, self.peak_time, self.temporary, self.n_raced = {}, 0, {}, 0, {}, 0

    # ---- the allocator ----

    def take(self):
        if self.free and self.chance.random() < 0.9:
            return self.free.pop()
        self.next += 16
        return self.next

    # ---- records ----

    def record(self, thread, name, ip, **payload):
        self.time += self.chance.randint(1, 5)
        self.events.append({"t": self.time, "n": f"lttng_ust_libc:{name}", "p": payload, "pc": {"cpu_id": thread.tid % 3},
                            "sec": {"vpid": self.pid, "vtid": thread.tid, "ip": ip, "procname": "prog"}})

    def change(self, path, size, count):
        """What the path has changes, once that is recorded."""
        now = self.live.setdefault(path, [0, 0, 0])
        now[0] += size
        now[1] += count
        now[2] = max(now[2], now[0])
        whole = sum(one[0] for one in self.live.values())
        if whole > self.peak:
            self.peak, self.peak_time = whole, self.time
            self.at_peak = {name: one[0] for name, one in self.live.items()}

    def began(self, thread, block):
        sums = self.truth.setdefault(block.path, [0, 0])
        sums[0] += 1
        sums[1] += block.size
        thread.blocks.append(block)
        thread.recent = block
        self.change(block.path, block.size, 1)

    # ---- calls, each a generator of its steps ----

    def new(self, thread):
        path = f"f{self.chance.randrange(self.n_functions)}"
        return Block(path, self.chance.randint(1, 100)), ADDRESS + 16 * int(path[1:]) + self.chance.choice(self.offsets)

    def malloc(self, thread):
        block, ip = self.new(thread)
        address = self.take()
        yield
        kind = self.chance.choice(("malloc", "calloc", "memalign", "posix_memalign"))
        if kind == "calloc":
            self.record(thread, kind, ip, nmemb=block.size, size=1, ptr=address)
        elif kind == "memalign":
            self.record(thread, kind, ip, alignment=16, size=block.size, ptr=address)
        elif kind == "posix_memalign":
            self.record(thread, kind, ip, out_ptr=address, alignment=16, size=block.size, result=0)
        else:
            self.record(thread, kind, ip, size=block.size, ptr=address)
        self.where[block] = address
        self.began(thread, block)

    def release(self, thread):
        owner = self.chance.choice([one for one in self.threads if one.blocks])
        block = owner.blocks.pop(self.chance.choice((-1, self.chance.randrange(len(owner.blocks)))))
        self.record(thread, "free", 0x500000, ptr=self.where[block])
        if thread.recent is block:
            self.temporary[block.path] = self.temporary.get(block.path, 0) + 1
        self.change(block.path, -block.size, -1)
        yield
        self.free.append(self.where.pop(block))

    def realloc(self, thread):
        owner = self.chance.choice([one for one in self.threads if one.blocks])
        old = owner.blocks.pop(self.chance.randrange(len(owner.blocks)))
        block, ip = self.new(thread)
        before = self.where.pop(old)
        is_freed = self.chance.random() < 0.1  # realloc(p, 0)
        address = 0 if is_freed else before if self.chance.random() < 0.2 else self.take()
        if address != before:
            self.free.append(before)
        yield
        self.n_raced += before in self.where.values()
        self.record(thread, "realloc", ip, in_ptr=before, size=0 if is_freed else block.size, ptr=address)
        self.change(old.path, -old.size, -1)
        if is_freed and thread.recent is old:
            self.temporary[old.path] = self.temporary.get(old.path, 0) + 1
        if not is_freed:
            self.where[block] = address
            self.began(thread, block)

    def nothing(self, thread):
        """What changes nothing: free(NULL), and what failed."""
        yield
        kind = self.chance.randrange(3)
        if kind == 0:
            self.record(thread, "free", 0x500000, ptr=0)
        elif kind == 1:
            self.record(thread, "malloc", 0x500000, size=1 << 46, ptr=0)
            self.n_failed += 1
        elif self.where:
            self.record(thread, "realloc", 0x500000, in_ptr=self.chance.choice(sorted(self.where.values())), size=1 << 46, ptr=0)
            self.n_failed += 1

    # ---- the whole ----

    def choose(self):
        n = sum(len(one.blocks) for one in self.threads)
        kinds = [self.malloc] * (4 if n < 60 else 1) + [self.nothing] + ([self.release, self.release, self.realloc] if n else [])
        return self.chance.choice(kinds)

    def run(self, n_steps):
        for _ in range(n_steps):
            thread = self.chance.choice(self.threads)
            thread.step = thread.step or self.choose()(thread)
            if self.is_atomic:
                list(thread.step)
                thread.step = None
            elif next(thread.step, self) is self:
                thread.step = None
        for thread in self.threads:
            list(thread.step or ())
        return self
