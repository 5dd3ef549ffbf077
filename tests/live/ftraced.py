# SPDX-License-Identifier: MIT
# What the kernel's own events say, by an instance of ftrace that a test has for itself.
import os
import re

LINE = re.compile(r"^ .*-(\d+) +\[(\d+)\] (\S+) +(\d+)\.(\d+): (\w+): (.*)$", re.M)


class Ftrace:
    """These events in an instance of its own, on CLOCK_MONOTONIC."""

    def __init__(self, events):
        self.folder = f"/sys/kernel/tracing/instances/lull-test-{os.getpid()}"
        os.mkdir(self.folder)
        try:
            for name, value in ("trace_clock", "mono"), ("buffer_size_kb", "16384"), *((f"events/{event}/enable", "1") for event in events):
                self.write(name, value)
        except OSError:
            self.end()
            raise

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(value)

    def lines(self):
        """When, which event, which task, its text, on which CPU, and in what context (Documentation/trace/ftrace.rst: h, an interrupt)."""
        self.write("tracing_on", "0")
        with open(os.path.join(self.folder, "trace"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        return [(int(f[3]) * 10**9 + int(f[4].ljust(9, "0")), f[5], f[0], f[6], f[1], f[2]) for f in LINE.findall(text)]

    def lost(self):
        """Events that were overwritten."""
        folder = os.path.join(self.folder, "per_cpu")
        lost = 0
        for cpu in os.listdir(folder):
            with open(os.path.join(folder, cpu, "stats"), encoding="ascii") as file:
                lost += int(re.search(r"^overrun: (\d+)", file.read(), re.M)[1])
        return lost

    def end(self):
        os.rmdir(self.folder)
