#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A state dump that comes later in a trace, as `lttng regenerate statedump` makes one. It says which file a descriptor is: that is
# so where events were lost since the descriptor was opened, as close() and open() may be among them. Where none were lost, another
# path is the same file by another name: through a link, or since it was renamed.
import json
import os
import subprocess
import sys
import tempfile

from lib import jsonl_to_ctf
from tap import Tap

MS, TABLE = 10**6, 0x7f0000001000
tap = Tap()


class Events:
    def __init__(self):
        self.t, self.events = 0, []

    def add(self, event, /, **fields):
        self.t += MS
        self.events.append({"t": self.t, "n": event, "p": fields, "pc": {"cpu_id": 0}})

    def call(self, name, ret, **fields):
        self.add(f"syscall_entry_{name}", **fields)
        self.add(f"syscall_exit_{name}", ret=ret)

    def dump(self, **files):
        self.add("lttng_statedump_process_state", tid=10, pid=10, ppid=1, name="reader", type=0, mode=5, submode=0, status=5, cpu=0,
                 file_table_address=TABLE)
        for number, path in files.items():
            self.add("lttng_statedump_file_descriptor", file_table_address=TABLE, fd=int(number[2:]), flags=0, fmode=0, filename=path)

    def paths(self, lost):
        """Which files were read, in that order."""
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            jsonl_to_ctf.write_trace(self.events, trace, lost=lost)
            done = subprocess.run([os.environ["LULL"], "iolog", "--json", trace], capture_output=True, text=True, check=True)
        return [row["path"] for row in json.loads(done.stdout)["windows"][0]["tables"]["log"] if row["syscall"] == "read"]


def scene():
    events = Events()
    events.add("sched_switch", prev_comm="swapper/0", prev_tid=0, prev_prio=20, prev_state=0, next_comm="reader", next_tid=10, next_prio=20)
    events.call("openat", 3, dfd=-100, filename="/etc/localtime", flags=0, mode=0)
    events.call("openat", 4, dfd=-100, filename="/var/log/app", flags=0, mode=0)
    for fd in (3, 4, 3, 4):
        events.call("read", 1, fd=fd, count=100)
    # Here the middle is, where events are lost.
    for fd in (3, 4, 3, 4):
        events.call("read", 1, fd=fd, count=100)
    events.dump(fd3="/usr/share/zoneinfo/Etc/UTC", fd4="/srv/app")
    events.call("read", 1, fd=3, count=100)
    events.call("read", 1, fd=4, count=100)
    return events


def check():
    opened = ["/etc/localtime", "/var/log/app"]
    found = scene().paths(lost=0)
    tap.ok(found == 5 * opened, "nothing was lost: names that programs used", found)
    found = scene().paths(lost=2)
    tap.ok(found == 4 * opened + ["/usr/share/zoneinfo/Etc/UTC", "/var/log/app"],
           "events were lost: what the state dump says, unless it may be the same file in another directory", found)


tap.run("check", check)
sys.exit(tap.done())
