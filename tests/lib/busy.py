# SPDX-License-Identifier: MIT
"""Kernels on some virtual machines hide switches of idle CPUs: who came after one is not known. So no CPU is idle while a test runs."""
import contextlib
import os
import subprocess
import sys

BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(100000):
        pass
"""


@contextlib.contextmanager
def busy_cpus():
    started = [subprocess.Popen([sys.executable, "-S", "-c", BUSY, str(cpu), str(os.getpid())], stdout=subprocess.PIPE)
               for cpu in os.sched_getaffinity(0)]
    for process in started:
        process.stdout.readline()
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.communicate()
