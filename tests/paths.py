# SPDX-License-Identifier: MIT
# Critical paths as `lull critpath --json` tells them: sums, cuts, and what holds for each of them.
import collections

MS = 1_000_000
STATES = {"running", "preempted", "interrupted", "blocked"}
CAUSES = {"task", "timer", "disk", "network", "user-input", "ipi", "irq", "unknown"}


def length(segment):
    return segment["end_ns"] - segment["begin_ns"]


def clip(segments, begin_ns, end_ns):
    """The part of a path between two times."""
    return [dict(s, begin_ns=max(s["begin_ns"], begin_ns), end_ns=min(s["end_ns"], end_ns)) for s in segments
            if s["begin_ns"] < end_ns and s["end_ns"] > begin_ns]


def total(segments, comm, state, cause):
    return sum(length(s) for s in segments
               if comm in (None, s["comm"]) and s["state"] == state and s["cause"] == cause)


def describe(segments):
    """For a failed check: the path, one line a segment above 100 us."""
    sums = collections.Counter()
    for s in segments:
        sums[(s["comm"], s["state"], s["cause"])] += length(s)
    legs = "\n".join(f"{ns / MS:10.3f} ms  {leg}" for leg, ns in sums.most_common(20))
    path = "\n".join(f"{length(s) / MS:10.3f} ms  {s['comm']} {s['state']} {s['cause']}  {s['detail']}"
                     for s in segments if length(s) > 100_000)
    return f"sums:\n{legs}\npath:\n{path}"


def faults_of_form(answer):
    """What is wrong with the cover of the asked time, by the contract of `lull critpath --json`."""
    segments, query = answer["segments"], answer["query"]
    faults = [] if segments else ["no segments"]
    if answer["version"] != 1:
        faults.append(f"version {answer['version']}")
    edge = query["begin_ns"]
    for number, s in enumerate(segments):
        if s["begin_ns"] != edge:
            faults.append(f"segment {number} begins at {s['begin_ns']}, the one before ended at {edge}")
        if s["end_ns"] <= s["begin_ns"]:
            faults.append(f"segment {number} is empty or backwards")
        if s["state"] not in STATES or (s["cause"] is not None and s["cause"] not in CAUSES):
            faults.append(f"segment {number} has state {s['state']}, cause {s['cause']}")
        if s["state"] == "blocked" and s["cause"] is None:
            faults.append(f"segment {number} is blocked without a cause")
        edge = s["end_ns"]
    if edge != query["end_ns"]:
        faults.append(f"the path ends at {edge}, the question at {query['end_ns']}")
    return faults


def faults_of_summary(answer):
    """What is wrong with the sums over the segments."""
    segments, query, summary = answer["segments"], answer["query"], answer["summary"]
    asked = query["end_ns"] - query["begin_ns"]
    faults = [f"{part} sums to {sum(row['duration_ns'] for row in summary[part])} of {asked} ns"
              for part in ("by_state", "by_task", "by_host")
              if sum(row["duration_ns"] for row in summary[part]) != asked]
    for row in summary["by_state"]:
        if row["duration_ns"] != total(segments, None, row["state"], row["cause"]):
            faults.append(f"{row} is not the sum of its segments")
        if abs(row["share"] - row["duration_ns"] / asked) > 0.001:
            faults.append(f"{row} has a wrong share")
    return faults
