# SPDX-License-Identifier: MIT
# For how long the kernel itself says that a task waited: the delay accounting of Linux, over netlink (Documentation/accounting/taskstats).
# It needs root, and the initial network namespace.
import contextlib
import os
import socket
import struct

SWITCH = '/proc/sys/kernel/task_delayacct'
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
TASKSTATS_CMD_GET, CMD_ATTR_PID, TYPE_STATS, TYPE_AGGR_PID = 1, 1, 3, 4
NLMSG_ERROR, NLM_F_REQUEST = 2, 1
# Where struct taskstats has them: nanoseconds, of any version from 7 to 14, and again from 16 on.
FIELDS = {'cpu': 24, 'disk': 40, 'reclaim': 320}


def switch(value):
    with open(SWITCH, 'w', encoding='ascii') as file:
        file.write(value)


def is_counting():
    with contextlib.suppress(OSError), open(SWITCH, encoding='ascii') as file:
        return file.read().strip() == '1'
    return False


@contextlib.contextmanager
def counted():
    """Has the kernel count for tasks that start now; as before afterwards."""
    try:
        with open(SWITCH, encoding='ascii') as file:
            before = file.read()
        switch('1')
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        switch(before)


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('HH', data)
        if length < 4:
            break
        found[kind] = data[4:length]
        data = data[length + 3 & ~3:]
    return found


class Counters:
    """Of one task after the other. OSError if the kernel does not say."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.socket.bind((0, 0))
        self.family = struct.unpack('H', self.ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, FAMILY_NAME, b'TASKSTATS\0')[FAMILY_ID])[0]

    def ask(self, kind, command, attribute, value):
        value += bytes(-len(value) % 4)
        body = struct.pack('BBHHH', command, 1, 0, 4 + len(value), attribute) + value
        self.socket.send(struct.pack('IHHII', 16 + len(body), kind, NLM_F_REQUEST, 0, 0) + body)
        answer = self.socket.recv(16384)
        if struct.unpack_from('H', answer, 4)[0] == NLMSG_ERROR:
            raise OSError(-struct.unpack_from('i', answer, 16)[0], 'taskstats')
        return attributes(answer[20:])

    def of(self, tid):
        """The nanoseconds of each kind since it started."""
        stats = attributes(self.ask(self.family, TASKSTATS_CMD_GET, CMD_ATTR_PID, struct.pack('I', tid))[TYPE_AGGR_PID])[TYPE_STATS]
        return {name: struct.unpack_from('Q', stats, at)[0] for name, at in FIELDS.items()}
