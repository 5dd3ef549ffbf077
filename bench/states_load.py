# SPDX-License-Identifier: MIT
"""A recording of jobs for bench/run.py --states, and the file of states that follows them: ten rules, a row for each job."""
import json
import os
import random
import struct
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "lib")]
import jsonl_to_ctf  # noqa: E402

ROWS = 100000
NAMES = ("submit", "start", "read", "compute", "write", "wait", "resume", "retry", "finish", "check")
FILE = """group jobs {
    row job
    keep tries
    number size
    states queued, running, reading, computing, writing, waiting, done
    on name == "job:submit" : queued, size = fields.size
    on name == "job:start" if row.state == "queued" || !(row.state == "running") : running
    on name == "job:read" : reading, size += fields.size
    on name == "job:compute" && size > 10 : computing
    on name == "job:write" : writing, size -= fields.size
    on name == "job:wait" : waiting
    on name == "job:resume" if row.state == "waiting" : computing
    on name == "job:retry" : queued, tries += 1
    on name == "job:finish" : done
    on name == "job:check" && size in (1, 2, 3) : waiting
}
"""
CHUNK = 100000  # events of a packet


def write(directory, n_events):
    """Any event of any job at any time, in packets, so that memory does not grow."""
    os.makedirs(directory)
    chance = random.Random(7)
    fields = {"job": 0, "size": 0}
    with open(os.path.join(directory, "metadata"), "wb") as metadata:
        for fragment in jsonl_to_ctf.preamble({"hostname": "host", "domain": "ust"}, 0) + [
                jsonl_to_ctf.event_class(number, {"n": "job:" + name, "p": fields}) for number, name in enumerate(NAMES)]:
            metadata.write(jsonl_to_ctf.SEPARATOR + json.dumps(fragment).encode() + b"\n")
    pack, numbers = struct.Struct("<HQqq").pack, range(len(NAMES))
    with open(os.path.join(directory, "channel_0"), "wb") as stream:
        for start in range(0, n_events, CHUNK):
            count = min(CHUNK, n_events - start)
            kinds, jobs = chance.choices(numbers, k=count), chance.choices(range(ROWS), k=count)
            records = [(1000 * at, pack(kind, 1000 * at, job, job % 97))
                       for at, kind, job in zip(range(start, start + count), kinds, jobs)]
            stream.write(jsonl_to_ctf.packet(0, records, 0))
