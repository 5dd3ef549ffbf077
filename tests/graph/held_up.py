# SPDX-License-Identifier: MIT
"""Scripts of machines (tests/e2e/README.md) on which an asker sends requests to a server, and some are held
up: by a lock, a disk, a busy CPU or a slow name server. Everything else varies a little, from a fixed seed. A
script knows what it did, so what `lull why` has to say follows from it.
"""
import random

MS, US = 1_000_000, 1_000
SPACING = 200 * MS


class HeldUp:
    """`count` requests; those in `slow` are held up by `cause` for `held` ns more than the others."""

    def __init__(self, cause, slow, count=30, held=40 * MS, seed=1, noise=1.0):
        self.cause, self.slow, self.count, self.held, self.noise = cause, slow, count, held, noise
        self.random = random.Random(seed)
        self.events = []
        self.durations = []  # of the server's work, by request
        self.extra = []      # of that what the cause took
        for number in range(count):
            self.request(number)

    def vary(self, ns):
        return round(ns * (1 + self.noise * self.random.uniform(-0.2, 0.2)))

    def at(self, t, text):
        self.events.append((t, text))

    def handshake(self):
        self.at(0, "client run asker")
        self.at(1 * MS, "client send s1 web client 0 flags 2")
        self.at(1 * MS + 200 * US, "web receive s1")
        self.at(1 * MS + 250 * US, "web send s2 web server 0 flags 0x12 softirq")
        self.at(1 * MS + 450 * US, "client receive s2")
        self.at(1 * MS + 500 * US, "client send s3 web client 0")
        self.at(1 * MS + 700 * US, "web receive s3")
        self.at(2 * MS, "client block")

    def request(self, number):
        if number == 0:
            self.handshake()
        t = (number + 1) * SPACING
        begin = t
        self.at(t - 100 * US, "client run asker")
        self.at(t, f"client send q{number} web client {300 + number}")
        self.at(t + 50 * US, "client block")
        t += self.vary(300 * US)
        self.at(t, f"web receive q{number} wake server")
        t += 100 * US
        self.at(t, "web run server")
        t += self.vary(4 * MS)
        before = t
        t = getattr(self, self.cause)(number, t, self.held if number in self.slow else 0)
        self.extra.append(t - before)
        t += self.vary(3 * MS)
        self.at(t, f"web send r{number} web server {900 + number}")
        self.at(t + 50 * US, "web block")
        t += self.vary(300 * US)
        self.at(t, f"client receive r{number} wake asker")
        t += 100 * US
        self.at(t, "client run asker")
        self.at(t + 1 * MS, "client block")
        self.durations.append(t - begin)

    # ---- causes: from t on, with `more` ns; they return when the server goes on ----

    def lock(self, number, t, more):
        """A keeper has the lock and, while the server waits for it, runs, waits for the disk and runs."""
        keeper = "web/1"
        self.at(t - 1 * MS, f"{keeper} run keeper")
        if not more:
            self.at(t - 500 * US, f"{keeper} block")
            self.at(t, "web event syscall_entry_futex uaddr=64 op=128 val=2")
            self.at(t + 10 * US, "web event syscall_exit_futex ret=0")
            return t + 10 * US
        self.at(t, "web event syscall_entry_futex uaddr=64 op=128 val=2")
        self.at(t + 5 * US, "web block")
        disk = t + more // 4
        self.at(disk, f"{keeper} disk issue keeper {4096 + 8 * number}")
        self.at(disk + 5 * US, f"{keeper} block 2")
        disk += more // 2
        self.at(disk, f"{keeper} disk complete {4096 + 8 * number} wake keeper")
        self.at(disk + 10 * US, f"{keeper} run keeper")
        t += more
        self.at(t, f"{keeper} wake server")
        self.at(t + 20 * US, f"{keeper} block")
        self.at(t + 10 * US, "web run server")
        self.at(t + 15 * US, "web event syscall_exit_futex ret=0")
        return t + 15 * US

    def worker(self, number, t, more):
        """Another worker of the server has the row, and its own client sleeps before it lets go: not by a call that exists for
        locks, but by a signal to who waits in read."""
        if not more:
            return t
        worker, client = "web/1 ", "web/2 "
        self.at(t - 1 * MS, worker + "run worker")
        self.at(t - 900 * US, worker + "block")
        self.at(t - 800 * US, client + "run worker-client")
        self.at(t - 700 * US, client + "block")
        self.at(t, "web event syscall_entry_read fd=9 count=1")
        self.at(t + 5 * US, "web block")
        t += more
        self.at(t - 200 * US, client + "hrtimer worker-client")
        self.at(t - 190 * US, client + "run worker-client")
        self.at(t - 150 * US, client + "wake worker")
        self.at(t - 140 * US, worker + "run worker")
        self.at(t - 100 * US, client + "block")
        self.at(t - 10 * US, worker + "event syscall_entry_kill pid=200 sig=23")
        self.at(t, worker + "wake server")
        self.at(t + 1 * US, worker + "event syscall_exit_kill ret=0")
        self.at(t + 20 * US, worker + "block")
        self.at(t + 10 * US, "web run server")
        self.at(t + 15 * US, "web event syscall_exit_read ret=1 buf=0")
        return t + 15 * US

    def disk(self, number, t, more):
        self.at(t, "web event syscall_entry_read fd=7 count=4096")
        self.at(t + 5 * US, f"web disk issue server {8 * number}")
        self.at(t + 10 * US, "web block 2")
        t += self.vary(2 * MS) + more
        self.at(t, f"web disk complete {8 * number} wake server")
        self.at(t + 10 * US, "web run server")
        self.at(t + 15 * US, "web event syscall_exit_read ret=4096 buf=0")
        return t + 15 * US

    def cpu(self, _number, t, more):
        """A burner takes the CPU; for a moment it always does."""
        self.at(t, "web run burner")
        t += self.vary(500 * US) + more
        self.at(t, "web run server")
        return t

    def names(self, number, t, more):
        """The server asks a name server that is not traced, and waits."""
        self.at(t, "web event syscall_entry_read fd=9 count=512")
        self.at(t + 10 * US, f"web send n{number} dns client {40 + number}")
        self.at(t + 20 * US, "web block")
        self.at(t + 300 * US, f"ns receive n{number}")
        t += self.vary(1 * MS) + more
        self.at(t - 200 * US, f"ns send a{number} dns server {90 + number} softirq")
        self.at(t, f"web receive a{number} wake server")
        self.at(t + 20 * US, "web run server")
        self.at(t + 25 * US, "web event syscall_exit_read ret=90 buf=0")
        return t + 25 * US

    def none(self, _number, t, _more):
        return t

    # ---- what comes out ----

    def script(self):
        head = [
            "host client offset 2s drift 20", "host web offset -1s", "host ns",
            "task asker client 100", "task server web 200", "task keeper web 300", "task burner web 400",
            "task master web 150 as server", "task worker web 201 as server", "task worker-client web 202 as asker",
            "flow web tcp client:40000 web:80", "flow dns udp web:50000 ns:53",
            # the burner is runnable all the time, the keeper sleeps
            "0ns web/1 run keeper", "1us web/1 fork keeper burner", "2us web run burner", "3us web/2 run master", "4us web/2 fork master server", "5us web/2 fork master worker",
            "6us web/2 block", "10us web block", "10us web/1 block",
        ]
        events = [f"{t}ns {text}" for t, text in sorted(self.events, key=lambda e: e[0])]
        return "\n".join(head + events) + "\n"

    def slowest(self, count):
        return sorted(range(self.count), key=lambda n: self.durations[n])[-count:]

    def typical(self, slow):
        """The middle half by duration, without the slow ones, as the manual page says."""
        order = sorted(range(self.count), key=lambda n: self.durations[n])
        return [n for n in order[self.count // 4:-(-3 * self.count // 4)] if n not in slow]

    def difference(self, values, slow):
        """Mean of the slow ones less mean of the typical ones."""
        typical = self.typical(slow)
        return sum(values[n] for n in slow) / len(slow) - sum(values[n] for n in typical) / len(typical)
