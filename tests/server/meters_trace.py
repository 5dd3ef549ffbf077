# SPDX-License-Identifier: MIT
# A machine with one CPU, disk and network interface, of which all is known for 12 ms.
from lib import jsonl_to_ctf

MS = 10**6


def event(at_ms, what, **fields):
    return {"t": 10**18 + int(at_ms * MS), "n": what, "pc": {"cpu_id": 0}, "p": fields}


def switch(at_ms, previous, following):
    return event(at_ms, "sched_switch", prev_comm=f"t{previous}", prev_tid=previous, prev_prio=20, prev_state=1,
                 next_comm=f"t{following}", next_tid=following, next_prio=20)


def request(at_ms, step, sector, count, rwbs):
    return event(at_ms, f"block_rq_{step}", dev=8 << 20, sector=sector, nr_sector=count, rwbs=rwbs)


def known_trace(folder):
    """The first and the last event are of the network, and two packets are alike; of the disk: a write, a read (in two parts) and a
    discard; a frequency is reported late, once while the CPU is idle and once while it is not."""
    events = [event(0, "net_if_receive_skb", len=100, name="eth0"), switch(1, 0, 10), request(1, "issue", 100, 8, 1),
              event(2, "power_cpu_frequency", state=2000000, cpu_id=0), request(2, "issue", 200, 16, 4), switch(4, 10, 0),
              request(4, "complete", 100, 8, 1), event(5, "power_cpu_frequency", state=1000000, cpu_id=0), switch(6, 0, 10),
              request(7, "complete", 200, 8, 4), event(8, "power_cpu_frequency", state=3000000, cpu_id=0), request(8, "complete", 208, 8, 4),
              event(9, "net_dev_xmit", len=1500, rc=0, name="eth0"), request(9, "issue", 5000, 1000, 2),
              request(9.25, "complete", 5000, 1000, 2), event(9.5, "net_dev_xmit", len=1500, rc=0, name="eth0"),
              event(9.5, "net_dev_xmit", len=500, rc=0, name="eth0"), switch(10, 10, 0), event(12, "net_dev_xmit", len=700, rc=0, name="eth0")]
    jsonl_to_ctf.write_trace(events, folder, {"hostname": "one"})
    return {("eth0", "net-received"): {0: 100}, ("eth0", "net-sent"): {9: 3500, 11: 700},
            ("(8,0)", "disk-written"): {4: 4096}, ("(8,0)", "disk-read"): {8: 8192}, ("(8,0)", "disk-requests"): {4: 1, 8: 1, 9: 1},
            ("(8,0)", "disk-flight"): {1: MS, 2: 2 * MS, 3: 2 * MS, 4: MS, 5: MS, 6: MS, 7: MS, 9: MS // 4},
            ("CPU 0", "cycles"): {2: 2 * MS, 3: 2 * MS, 6: MS, 7: MS, 8: 3 * MS, 9: 3 * MS},
            ("CPU 0", "frequency"): {**dict.fromkeys((2, 3, 4), 2 * MS), **dict.fromkeys((5, 6, 7), MS), **dict.fromkeys((8, 9, 10, 11), 3 * MS)}}
