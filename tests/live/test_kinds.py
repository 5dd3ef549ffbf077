#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Each kind of `lull track`, without its argument, with one that holds and with one that does not, over eBPF and over ftrace, against programs
# that stamp what they do and against the kernel's own counters. What a back-end cannot see is one line.
#
# With LULL_LIVE=all more of each. Others test more of single kinds: test_track.py, test_track_events.py, test_marks.py.
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from lib.busy import busy_cpus
from lib.running import Running
from live.tracked import LULL, PROGRAM, Stamp, inside, names, wait_attached, wait_recording, why_no_ftrace, why_not
from tap import Tap

MS = 1_000_000
ROUNDS = 10 if os.environ.get("LULL_LIVE") == "all" else 1
FOLDER = os.environ["LULL_SCRATCH"]
tap = Tap()

# Waits of one kind, each between two stamps: of pages that are not in memory, by the kernel's own count of them, and in poll().
OWN = """
import mmap, os, resource, select, sys, time
what, path, n = sys.argv[2], sys.argv[3], int(sys.argv[4])
out = open(sys.argv[1], "a")
def note(label, before, after):
    out.write(f"{os.getpid()} {label} {before} {after} 0\\n")
if what == "faults":
    with open(path, "wb") as file:
        file.write(os.urandom(n * 65536))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with open(path, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    memory.madvise(mmap.MADV_RANDOM)
    for i in range(n):
        was, before = resource.getrusage(resource.RUSAGE_THREAD), time.monotonic_ns()
        memory[i * 65536]
        after, now = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_THREAD)
        slept = now.ru_nvcsw > was.ru_nvcsw
        note(("fault" if slept else "quick") if now.ru_majflt > was.ru_majflt else "none", before, after)
    os.unlink(path)
else:
    poll = select.poll()
    for i in range(n):
        before = time.monotonic_ns()
        poll.poll(1 + i % 6)
        note("poll", before, time.monotonic_ns())
"""


def free_port():
    with contextlib.closing(__import__("socket").socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def irq_counts():
    with open("/proc/interrupts", encoding="utf-8") as file:
        cpus = len(file.readline().split())
        lines = [line.split() for line in file]
    return {int(f[0][:-1]): sum(map(int, f[1:cpus + 1])) for f in lines if f[0][:-1].isdigit()}


def quiet_line():
    """An interrupt line that this machine has, and that has not interrupted it; None: there is none."""
    counts = irq_counts()
    lines = sorted(int(name) for name in os.listdir("/proc/irq") if name.isdigit())
    return next((line for line in lines if not counts.get(line)), None)


def softirq_counts():
    with open("/proc/softirqs", encoding="utf-8") as file:
        return {f[0][:-1]: sum(map(int, f[1:])) for f in (line.split() for line in file.readlines()[1:])}


def read_disk(n):
    path = os.path.join(FOLDER, f"kinds-{os.getpid()}")
    subprocess.run([PROGRAM, "/dev/null", "disk", path, str(n)], check=False, timeout=60)


def find_disk():
    """The disk under the directory of this test, and the interrupt that says that it has done something; None: not known."""
    device = os.stat(FOLDER).st_dev
    link = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    if not os.path.exists(link):
        return None, None
    path = os.path.realpath(link)
    name = os.path.basename(os.path.dirname(path) if os.path.exists(f"{path}/partition") else path)
    before = irq_counts()
    read_disk(400)
    grown = collections.Counter({irq: n - before.get(irq, 0) for irq, n in irq_counts().items()})
    irq, n = grown.most_common(1)[0]
    return name, irq if n >= 200 else None


def track(backend, rules, run):
    """The alarms of that program by rule, and its stamps; of a run in which nothing was hidden or lost, if there is one."""
    for _ in range(4):
        with tempfile.NamedTemporaryFile("r") as stamps:
            command = [part if part != "FILE" else stamps.name for part in run]
            done = subprocess.run([LULL, "track", "--json", "--backend", backend, "--max-overhead", "100%", *rules, "--", *command],
                                  capture_output=True, text=True, timeout=60, check=False)
            fields = [line.split() for line in stamps]
        if done.returncode != 0 or done.stderr:
            raise RuntimeError(f"{backend} {rules}: {done}")
        *alarms, last = map(json.loads, done.stdout.splitlines())
        lost = {key: last["summary"][key] for key in ("unseen", "unknown_wakers", "missed", "limited", "lost", "untracked") if last["summary"][key]}
        if not lost:
            break
    of = {rule: [alarm for alarm in alarms if alarm["rule"] == rule] for rule in rules}
    return of, [Stamp(int(f[0]), f[1], int(f[2]), int(f[3]), int(f[4])) for f in fields], lost


# A kind, an argument that holds and one that does not (None: it takes none), and the threshold.
Row = collections.namedtuple("Row", "kind right wrong threshold_ns")
# What is run, which of its stamps count, by which back-ends it can be seen, and the rows that are judged by it: at most eight rules.
Program = collections.namedtuple("Program", "name run labels backends rows")


def programs(disk, irq, others):
    own = [sys.executable, "-S", "-c", OWN, "FILE"]
    path, port = os.path.join(FOLDER, f"kinds-{os.getpid()}"), free_port()
    yield Program("sleeps", [PROGRAM, "FILE", "sleeps", str(30 * ROUNDS), str(2 * MS)], None, "bpf ftrace",
                  [Row("offcpu", "S", "D", 2 * MS), Row("syscall", "clock_nanosleep", "read,write", 2 * MS)])
    yield Program("chain", [PROGRAM, "FILE", "chain", "2", "8", str(3 * ROUNDS)], ["c0"], "bpf ftrace", [Row("wakeup", None, None, 0), Row("fault", None, None, 0)])
    yield Program("mutex", [PROGRAM, "FILE", "mutex", "8", str(3 * ROUNDS)], ["waiter"], "bpf ftrace",
                  [Row("futex", None, None, 2 * MS), Row("poll", None, None, 2 * MS)])
    yield Program("polls", [*own, "polls", path, str(18 * ROUNDS)], None, "bpf ftrace", [Row("poll", None, None, 3 * MS), Row("futex", None, None, 3 * MS)])
    yield Program("faults", [*own, "faults", path, str(20 * ROUNDS)], ["fault"], "bpf ftrace", [Row("fault", None, None, 0), Row("poll", None, None, 0)])
    if disk:
        responses = [Row("response", irq, quiet_line(), 0)] if irq else []
        yield Program("disk", [PROGRAM, "FILE", "disk", path, str(60 * ROUNDS)], None, "bpf ftrace",
                      [Row("offcpu(D)", None, None, 0), Row("block", disk, others[0], 0), *responses])
    yield Program("exchange", [PROGRAM, "FILE", "exchange", str(port), str(20 * ROUNDS), str(MS)], None, "bpf",
                  [Row("ttfb", port, port - 1, 0), Row("connect", port, port - 1, 0)])
    yield Program("late", [PROGRAM, "FILE", "late", str(20 * ROUNDS), str(MS)], ["netrx-within"], "bpf",
                  [Row("netrx", "lo", others[1], 0), Row("nettx", "lo", others[1], 0)])


# What no stamp of the program is a wait of.
NONE_OF = {("chain", "fault"), ("mutex", "poll"), ("polls", "futex"), ("faults", "poll")}
# Of the exchanges, which stamps are about the kind.
LABELS = {"connect": "connect", "ttfb": "ttfb-within"}


def expected(program, row, stamp):
    """How many alarms must lie within a stamp, at least and at most; None: it does not say that."""
    length, least = stamp.after - stamp.before, row.threshold_ns
    if (program.name, row.kind) in NONE_OF or length <= least:
        return 0, 0
    if program.name == "sleeps":  # it may lose the CPU before it sleeps
        return (1 if int(stamp.label) > least + MS and stamp.lost == 0 else 0), 1
    if program.name == "polls":
        return (1 if length > least + MS else 0), 1
    if program.name in ("chain", "mutex"):  # so long only for the other
        return (1, 1) if length > 4 * MS else None
    if stamp.label == "quick" and row.kind != "block":  # the disk was done before the task had gone to sleep
        return None
    if program.name == "exchange":
        return (1, 1) if stamp.label == LABELS[row.kind] else None
    return None if row.kind == "nettx" else (1, 99)


def rule_of(row, argument):
    return f"{row.kind}{'' if argument is None else f'({argument})'} > {row.threshold_ns}ns"


def judge(backend, program, row, of, stamps, lost):
    rules = [rule_of(row, argument) for argument in (None, row.right, row.wrong)]
    what, tids = f"{backend}, {program.name}: {rules[0]}", {stamp.tid for stamp in stamps}
    found = [(stamp, [alarm for alarm in of[rules[0]] if inside(alarm, stamp)], wanted)
             for stamp, wanted in ((stamp, expected(program, row, stamp)) for stamp in stamps) if wanted]
    missing = [one for one in found if len(one[1]) < one[2][0]]
    surplus = [one for one in found if len(one[1]) > one[2][1]]
    if not found and all(stamp.label == "quick" for stamp in stamps):
        tap.skip(what, "the disk was done each time before the task had gone to sleep")
        return
    # Another may have the CPU meanwhile.
    few = len(found) // 10 if program.name in ("disk", "chain", "mutex") else 0
    tap.ok(found or row.kind == "nettx", f"{what}: the program says when", stamps[:3])
    tap.ok(not surplus and (lost or len(missing) <= few), f"{what}: as many as the stamps say", len(missing), len(found), missing[:2], surplus[:2])
    if row.right is None:
        return
    sets = [{(alarm["monotonic_ns"], alarm["delay_ns"]) for alarm in of[rule] if alarm["task"]["tid"] in tids} for rule in rules]
    tap.ok(sets[1] and sets[1] <= sets[0], f"{what}: some of them are {rules[1]}", [len(one) for one in sets])
    least = 0.9 * sum(wanted[0] > 0 for _, _, wanted in found) if row.kind != "nettx" else 1
    tap.ok(lost or len(sets[1]) >= least, f"{what}: {rules[1]} reports as many", len(sets[1]), len(found))
    wrong = [alarm for alarm in of[rules[2]] for stamp in stamps if inside(alarm, stamp) and stamp.label != "none"]
    own = [alarm for alarm in wrong if row.kind != "offcpu" or alarm["call"] == "clock_nanosleep"]
    tap.ok(not own, f"{what}: {rules[2]} reports none", own[:2])
    if row.kind == "response":
        # Within a stamp the program waits for its own request; before the first one its file is written, by others, too.
        within = [alarm for alarm in of[rules[1]] if any(inside(alarm, stamp) for stamp in stamps)]
        check_responses(f"{backend}, {rules[1]}", within, of["block > 0ns"])


def begin_of(alarm):
    return alarm["monotonic_ns"] - alarm["delay_ns"]


def check_responses(what, responses, blocks):
    """The disk got the request before its interrupt, and the request was complete after it, before the task was woken. A task that had not
    gone to sleep yet waits from when it does: then the request was complete just before, and who is woken at once only waits for the CPU."""
    early, wrong, n = 0, [], 0
    for r in responses:
        if names(r)[:1] != ["disk"]:
            continue
        n += 1
        last = max((b for b in blocks if r["task"]["tid"] == b["task"]["tid"] and begin_of(b) < begin_of(r)), key=begin_of, default=None)
        ended, woken = last and last["monotonic_ns"] - begin_of(r), r["delay_ns"] - r["cpu_wait_ns"]
        is_early = last and -MS < ended < 0 and woken < MS / 100
        early += bool(is_early)
        if not is_early and not (last and 0 <= ended <= woken):
            wrong.append((r["delay_ns"], r["cpu_wait_ns"], ended))
    tap.ok(n > early and len(wrong) <= n // 10, f"{what}: from within the request, before its end, which is before the task is woken", n, early, wrong[:3])


def test_programs(backend, disk, irq, others):
    for program in programs(disk, irq, others):
        if backend in program.backends.split():
            rules = dict.fromkeys(rule_of(row, argument) for row in program.rows for argument in (None, row.right, row.wrong))
            of, stamps, lost = track(backend, list(rules), program.run)
            if lost:
                tap.skip(f"{backend}: all of {program.name}", f"this kernel hides, or this machine is too busy for: {lost}")
            for row in program.rows:
                judge(backend, program, row, of, [s for s in stamps if not program.labels or s.label in program.labels], lost)


# ---- what is of no task ----

def test_interrupts(backend, disk, irq):
    """Not fewer than the kernel counts while it surely watched, not more than while it may have: of all, and of one alone."""
    # A softirq starts once for all that raised it since it last did.
    rules = {"irq": "irq", "softirq": "softirq", "softirq(SCHED)": "SCHED", "raise": "softirq", "raise(SCHED)": "SCHED"}
    if irq:
        rules[f"irq({irq})"] = irq
    quiet = quiet_line()
    if quiet is not None:
        rules[f"irq({quiet})"] = quiet

    def counts():
        irqs, softirqs = irq_counts(), softirq_counts()
        return {quiet: 0, **softirqs, **irqs, "irq": sum(irqs.values()), "softirq": sum(softirqs.values())}
    before = counts()
    with Running([LULL, "track", "--hist", "--json", "--backend", backend, "--max-overhead", "100%", *rules], stdout=subprocess.PIPE, text=True) as lull:
        (wait_attached if backend == "bpf" else wait_recording)(lull)
        first = counts()
        if disk:
            read_disk(200)
        time.sleep(0.1)
        last = counts()
        lull.terminate()
        shown, summary = map(json.loads, lull.stdout)
    after = counts()
    if summary["summary"]["missed"]:
        tap.skip(f"{backend}: interrupts", f"this machine is too busy: {summary}")
        return
    for of in shown["histograms"]:
        counter = rules[of["rule"]]
        least, most, n = last[counter] - first[counter], after[counter] - before[counter], sum(of["n"])
        tap.ok(0.9 * least - 2 <= n <= most, f"{backend}: {of['rule']}: as many as the kernel counts", least, n, most)


def test_lines():
    """Over ftrace: each kind that it does not see is a line, which names the rule, and is what --list says."""
    done = subprocess.run([LULL, "track", "--list", "--json", "--backend", "ftrace"], capture_output=True, text=True, timeout=60, check=True)
    lacking = [kind["kind"] for kind in json.loads(done.stdout)["kinds"] if kind["lacks"]]
    arguments = {"serve": ["(80)"], "ask": ["(53)"], "mark": ["(checkout)"], "ttfb": ["", "(80)"], "connect": ["", "(80)"],
                 "netrx": ["", "(lo)"], "nettx": ["", "(lo)"]}
    for kind in lacking:
        for argument in arguments.get(kind, [""]):
            rule = f"{kind}{argument} > 1s"
            done = subprocess.run([LULL, "track", "--backend", "ftrace", rule], capture_output=True, text=True, timeout=60, check=False)
            tap.ok(done.returncode == 1 and not done.stdout and
                   done.stderr == f"lull track: live tracking: ftrace does not see what “{rule}” is about: that needs eBPF\n", f"ftrace: {rule}: one line", done)
    tap.ok(len(lacking) >= 10, "there are such kinds", lacking)


def main():
    backends = [backend for backend, why in (("bpf", why_not()), ("ftrace", why_no_ftrace())) if not why]
    if not backends:
        tap.skip("kinds", f"{why_not()}; {why_no_ftrace()}")
        return tap.done()
    os.nice(-20)  # what else runs on the machine is not what is tested
    with busy_cpus():
        disk, irq = find_disk()
        others = [name for name in sorted(os.listdir("/sys/block")) if name != disk and re.match(r"loop|zram|ram", name)][:1] + \
            [name for name in sorted(os.listdir("/sys/class/net")) if name != "lo"][:1]
        if len(others) < 2:
            tap.skip("arguments that do not hold", "there is one disk, or one network interface")
        for backend in backends if len(others) == 2 else []:
            tap.run(f"{backend}: programs", test_programs, backend, disk, irq, others)
            tap.run(f"{backend}: interrupts", test_interrupts, backend, disk, irq)
    if "ftrace" in backends:
        tap.run("lines", test_lines)
    return tap.done()


sys.exit(main())
