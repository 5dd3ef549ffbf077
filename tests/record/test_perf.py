# SPDX-License-Identifier: MIT
# The tracer perf of `lull record`, driven through its contract: what it wrote is read by the perf tool and by a reader
# of its own (perf_data.py), and compared with what the recorded programs were written to do.
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from record import recorders
from record.perf_data import CLOCK_DATA, PerfData
from tap import Tap

DRIVE = sys.argv[1]
LULL = os.environ["LULL"]
GETPPID = {"x86_64": 110, "aarch64": 173, "riscv64": 173}.get(os.uname().machine)
SKIPPED = 77
LINE = re.compile(r"\s*(?P<tid>-?\d+) \[(?P<cpu>\d+)\] +(?P<time>[\d.]+): +(?P<event>[\w:]+):\s?(?P<text>.*)")

tap = Tap()


class Recording:
    """Of a command, in a directory of its own."""

    def __init__(self, directory, *options, command):
        self.path = tempfile.mkdtemp(dir=directory)
        command = [word.replace("DIRECTORY", self.path) for word in command]
        done = subprocess.run([DRIVE, *options, self.path, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        self.status, self.output = done.returncode, done.stdout + done.stderr
        self.file = os.path.join(self.path, "perf.data")
        if self.status == 0:
            self.pid, self.events, self.lost, self.bytes = map(int, done.stdout.split()[-4:])

    def perf(self, *arguments):
        done = subprocess.run(["perf", *arguments, "-i", self.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, check=False)
        return done.stdout, done.stderr

    def script(self, may_lose=False):
        """What perf script tells of each event; the task is that which ran."""
        output, errors = self.perf("script", "--ns", "-F", "trace:tid,cpu,time,event,trace")
        if errors and not (may_lose and "lost" in errors):
            raise ValueError(errors)
        lines = [LINE.match(line) for line in output.splitlines()]
        if None in lines:
            raise ValueError(output.splitlines()[lines.index(None)])
        return [{**line.groupdict(), "tid": int(line["tid"])} for line in lines]


def record_whole(directory, *options, command):
    """A recording that lost nothing: others on this machine may flood it with events of their own."""
    for _ in range(5):
        recording = Recording(directory, "--buffer", str(64 << 20), *options, command=command)
        if recording.status or recording.lost == 0:
            break
    return recording


def field(event, name):
    found = re.search(rf"\b{name}=(\S+)", event["text"])
    return found and found[1]


def python(text):
    return [sys.executable, "-S", "-c", text]


def calls(count, then=""):
    return f"import os\nfor _ in range({count}): os.getppid()\n{then}"


def is_call(event, kind):
    return event["event"] == f"raw_syscalls:{kind}" and event["text"].startswith(f"NR {GETPPID} ")


def test_counts(directory):
    count = 12345
    recording = record_whole(directory, "--filtered", command=python(calls(count)))
    events = recording.script()
    tap.ok(recording.lost == 0 and recording.events == len(events), "perf script has as many events as were counted",
           recording.output, len(events))
    tap.ok(recording.bytes == os.path.getsize(recording.file), "the size of the file is told")
    if GETPPID:
        for kind in ("sys_enter", "sys_exit"):
            found = sum(is_call(event, kind) and event["tid"] == recording.pid for event in events)
            tap.ok(found == count, f"{kind} of getppid: as many as there were", found)
    else:
        tap.skip("as many calls as there were", "number of getppid not known here")


def lull_reads():
    """Whether this lull was built with what reads perf.data."""
    return "ftrace (" in subprocess.run([LULL, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout


def count_with_lull(recording, wanted):
    done = subprocess.run([LULL, "print", "--no-progress", recording.file, "--filter", wanted], stdout=subprocess.PIPE,
                          text=True, check=True)
    return len(done.stdout.splitlines())


def test_lull(directory):
    if not GETPPID or not lull_reads():
        tap.skip("lull reads what was recorded", "number of getppid not known here" if lull_reads() else "not built in")
        return
    count = 4321
    recording = record_whole(directory, "--filtered", command=python(calls(count)))
    for kind in ("sys_enter", "sys_exit"):
        found = count_with_lull(recording, f'name == "{kind}" && id == {GETPPID} && tid == {recording.pid}')
        tap.ok(found == count, f"lull: {kind} of getppid: as many as there were", found)
    found = count_with_lull(recording, 'name !~ "perf:*"')
    tap.ok(found == recording.events, "lull: as many events as were counted", found, recording.output)


def expected_names(purpose):
    """Those of record.def that this kernel has, but those that it does not let perf sample."""
    with open(os.path.join(os.environ["LULL_SOURCE"], "src/record/record.def"), encoding="utf-8") as file:
        lines = re.findall(r'^RECORD\("(\w+)", "(\w+)", (?:NULL|"\w+"), ([\w |]+),', file.read(), re.MULTILINE)
    for system, name, purposes in lines:
        is_there = os.path.exists(f"/sys/kernel/tracing/events/{system}/{name}")
        if is_there and not name.startswith("irq_work_") and (purpose == "ALL" or purpose in purposes.split(" | ")):
            yield f"{system}:{name}"


def test_head(directory):
    before = time.time_ns() - time.monotonic_ns()
    recording = Recording(directory, "--filtered", "--for", "all", command=["true"])
    text, errors = recording.perf("report", "--header-only")
    tap.ok(errors == "", "perf report --header-only: no complaint", errors)
    names = os.uname()
    for key, value in (("hostname", names.nodename), ("os release", names.release), ("arch", names.machine),
                       ("nrcpus online", str(os.cpu_count())), ("clockid", "monotonic (1)")):
        tap.ok(f"# {key} : {value}\n" in text or f"# {key}: {value}\n" in text, f"head: {key}", text)
    tap.ok(DRIVE in text, "head: the command that recorded", text)
    text, errors = recording.perf("evlist")
    expected = ["dummy", *expected_names("ALL")]
    found = [line for line in text.splitlines() if not line.startswith("#")]
    tap.ok(sorted(found) == sorted(expected) and errors == "", "perf evlist: the events of the purpose",
           found, expected, errors)
    data = PerfData(recording.file)
    wall, monotonic = (int.from_bytes(data.features[CLOCK_DATA][at:at + 8], "little") for at in (8, 16))
    tap.ok(abs(wall - monotonic - before) < 10**9, "head: what brings the clock to the epoch", wall, monotonic, before)
    ids = list(data.identifiers())
    tap.ok(len(ids) == len(expected) and all(len(each) == os.cpu_count() for each in ids) and
           len(set(sum(ids, ()))) == len(ids) * os.cpu_count(), "each class has an identifier on each CPU", ids)


def check_order(recording, name):
    rounds = list(PerfData(recording.file).rounds())
    last = {}
    backwards = 0
    for samples in rounds:
        for when, cpu, _ in samples:
            backwards += when < last.get(cpu, 0)
            last[cpu] = when
    tap.ok(backwards == 0, f"{name}: times of a CPU do not go back", backwards)
    mixed = 0
    newest = 0
    for before, samples in zip([[], *rounds], [*rounds[1:], []]):
        newest = max([newest, *(when for when, _, _ in before)])
        mixed += any(when < newest for when, _, _ in samples)
    tap.ok(mixed == 0, f"{name}: nothing in a round is older than what was before the round before it", mixed)
    return len(rounds)


def test_order(directory):
    recording = Recording(directory, "--for", "sched", command=["sleep", "0.1"])
    check_order(recording, "all tasks")
    recording = Recording(directory, "--filtered", "--buffer", "65536", command=python(calls(20000)))
    n_rounds = check_order(recording, "some tasks")
    tap.ok(n_rounds > 3, "there were rounds", n_rounds)


def test_losses(directory):
    count = 200000
    recording = Recording(directory, "--buffer", "4096", command=python(calls(count)))
    lost = PerfData(recording.file).lost()
    tap.ok(lost == recording.lost > 0, "losses are counted, in the file too", recording.output, lost)
    tap.ok(recording.events + recording.lost >= 2 * count, "what is not there was counted as lost", recording.output)
    output, errors = recording.perf("script")
    tap.ok(len(output.splitlines()) == recording.events, "perf script reads what is there", errors)


def test_flood(directory):
    recording = Recording(directory, "--filtered", "--stop-early", command=python("import os\nwhile 1: os.getppid()"))
    found = sum(event["tid"] == recording.pid for event in recording.script(may_lose=True))
    tap.ok(recording.status == 0 and found > 0, "ended while a program went on", recording.output)


# Starts a thread, then forks a child that forks another, and that a third, which calls. Each waits for the next, by a
# pipe and by its end.
FAMILY = """
import os, threading
thread = threading.Thread(target=os.getppid)
thread.start()
thread.join()
def deeper(level):
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        if level == 0:
            for _ in range(777): os.getppid()
        else:
            deeper(level - 1)
        os.write(ends[1], b"x")
        os._exit(0)
    os.read(ends[0], 1)
    os.waitpid(pid, 0)
deeper(2)
"""


def family_of(pid, events):
    family = {pid}
    for event in events:
        if event["event"] == "sched:sched_process_fork" and int(field(event, "pid")) in family:
            family.add(int(field(event, "child_pid")))
    return family


def count_uncaused(family, events):
    """How often one of the family slept and ran again without a wake-up between; and how often it slept."""
    slept, woken, uncaused, n = set(), set(), 0, 0
    for event in events:
        if event["event"] in ("sched:sched_waking", "sched:sched_wakeup_new"):
            woken.add(int(field(event, "pid")))
        elif event["event"] == "sched:sched_switch":
            before, after = int(field(event, "prev_pid")), int(field(event, "next_pid"))
            if after in slept:
                uncaused += after not in woken
                slept.remove(after)
            if before in family and field(event, "prev_state")[0] in "SD":
                slept.add(before)
                woken.discard(before)
                n += 1
    return uncaused, n, len(slept)


def record_family(directory):
    """FAMILY, while another task makes system calls without end: (recording, its events, the tasks of the family)."""
    other = subprocess.Popen(python("import os\nwhile 1: os.getppid()"))  # pylint: disable=consider-using-with
    try:
        recording = record_whole(directory, "--filtered", command=python(FAMILY))
    finally:
        other.kill()
        other.wait()
    events = recording.script()
    return recording, events, family_of(recording.pid, events)


def test_filtered(directory):
    for _ in range(3):
        recording, events, family = record_family(directory)
        uncaused, _n, asleep = count_uncaused(family, events)
        if not uncaused and not asleep:  # this kernel hides what happens while a CPU idles: then once more
            break
    tap.ok(len(family) == 5, "the command and what it started", family)
    strangers = {event["tid"] for event in events if event["event"].startswith("raw_syscalls:")} - family - {0}
    tap.ok(not strangers, "no system call of another task", strangers)
    if GETPPID:
        found = [sum(is_call(event, "sys_enter") and event["tid"] == tid for event in events) for tid in family]
        tap.ok(sorted(found) == [0, 0, 0, 1, 777], "the calls of the thread and of the last that was started", found)
    uncaused, n, asleep = count_uncaused(family, events)
    if uncaused and recorders.blind_cpus():
        tap.skip("each sleep has its wake-up and ends", recorders.blind_reason())
    else:
        tap.ok(n >= 3 and uncaused == 0 and asleep == 0, "each sleep has its wake-up and ends", uncaused, n, asleep)
    ends = sum(event["event"] == "sched:sched_process_exit" and int(field(event, "pid")) in family for event in events)
    gone = {int(field(event, "prev_pid")) for event in events
            if event["event"] == "sched:sched_switch" and field(event, "prev_state")[0] in "XZ"}
    tap.ok(ends == 5 and family <= gone, "each end is there, and the switch away from it", ends, gone)


def chains(recording, tid):
    """Of the task's sleeps: the frames, as perf script resolves them."""
    output, _ = recording.perf("script", "--tid", str(tid))
    for paragraph in output.split("\n\n"):
        event, *frames = re.split(r"\n(?=\t)", paragraph)
        if frames and "prev_state=S" in event:
            yield "\n".join(frames)


def test_call_chains(directory):
    sleeper = python("import time\nwhile 1: time.sleep(0.02)")
    before = subprocess.Popen(sleeper)  # pylint: disable=consider-using-with
    try:
        recording = record_whole(directory, "--call-chains", "--for", "sched", command=python(MAKE_FUNCTIONS))
    finally:
        before.kill()
        before.wait()
    for name, tid in (("a command", recording.pid), ("a program that ran before", before.pid)):
        found = [chain for chain in chains(recording, tid) if "nanosleep" in chain]
        tap.ok(found and all(re.search(r"schedule.*\(\[kernel", chain) and re.search(r"\(/\S*lib\S*\)", chain)
                             for chain in found),
               f"call chains of {name}: in the kernel and in the program", found)
    with open("/proc/kallsyms", encoding="utf-8") as file:
        known = {line for line in file if line.split()[1] in "tTwW" and int(line.split()[0], 16) and "[" not in line}
    with open(os.path.join(recording.path, "kallsyms"), encoding="utf-8") as file:
        kept = {line for line in file if "[" not in line}
    tap.ok(kept == known, "call chains: the kernel's functions are kept", len(kept), len(known), sorted(kept ^ known)[:5])
    check_symbols(recording)


def functions_by_nm(path):
    """(address, size) of the dynamic functions of a library, by nm."""
    done = subprocess.run(["nm", "-D", "-S", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True)
    words = (line.split() for line in done.stdout.splitlines())
    return {(int(word[0], 16), int(word[1], 16)) for word in words if len(word) == 4 and word[2] in "TtWwi" and int(word[1], 16)}


# Has functions of its own, so to say, and lists them as programs do that make some.
MAKE_FUNCTIONS = """
import mmap, os, time
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file: file.write("1000 20 made here\\n")
time.sleep(0.3)
"""


def check_symbols(recording):
    """The functions of what the command mapped are kept, those of the C library as nm has them."""
    version = subprocess.run([os.environ["LULL"], "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "symbols" not in version.partition("Not built in")[0] or not shutil.which("nm"):
        tap.skip("call chains: functions of programs are kept", "Lull is built without symbols, or there is no nm")
        return
    with open(os.path.join(recording.path, "symbols"), encoding="utf-8", errors="replace") as file:
        objects = file.read().split("object ")[1:]
    kept = {text.partition("\n")[0].split(" ", 2)[2]: text for text in objects}
    library = next((name for name in kept if "/libc.so" in name), None)
    functions = {tuple(int(word, 16) for word in line.split()[:2]) for line in kept.get(library, "").splitlines()[1:] if line[:4] != "load"}
    known = functions_by_nm(library) if library else set()
    missing = {start for start, _ in known} - {start for start, _ in functions}
    tap.ok(known and not missing, "call chains: functions of programs are kept", list(kept), len(known), sorted(missing)[:5])
    name = f"perf-{recording.pid}.map"
    tap.ok("1000 20 made here\n" in kept.get(name, ""), "call chains: functions that a program makes are kept", list(kept))
    with contextlib.suppress(OSError):
        os.unlink(os.path.join("/tmp", name))


# Ends when the first snapshot is whole: what begins with this is.
WAIT_FOR_SNAPSHOT = """
import time
def is_whole():
    try:
        with open("DIRECTORY/early/perf.data", "rb") as file: return file.read(8) == b"PERFILE2"
    except OSError:
        return False
while not is_whole(): time.sleep(0.01)
"""


def test_snapshot(directory):
    buffer = 16 << 20
    for _ in range(5):  # others on this machine may fill the buffers between the end and the snapshot
        recording = Recording(directory, "--snapshot", "--filtered", "--buffer", str(buffer),
                              command=python(calls(150000, WAIT_FOR_SNAPSHOT)))
        events = recording.script(may_lose=True)
        ends = [event["event"] == "sched:sched_process_exit" and event["tid"] == recording.pid for event in events]
        if any(ends):
            break
    tap.ok(sum(ends) == 1, "snapshot: the end of the command is there", recording.output)
    size = PerfData(recording.file).data[1]
    tap.ok(0 < size <= os.cpu_count() * (buffer + (1 << 20)) and len(events) == recording.events,
           "snapshot: no more than the buffers hold", size, len(events), recording.events)
    check_order(recording, "snapshot")
    recording.file = os.path.join(recording.path, "early", "perf.data")
    early = recording.script(may_lose=True)
    tap.ok(not any(event["event"] == "sched:sched_process_exit" and event["tid"] == recording.pid for event in early),
           "an earlier snapshot is of the time before", len(early))
    check_order(recording, "earlier snapshot")


def test_refused(directory):
    if os.getuid() != 0:
        tap.skip("without rights", "not root")
        return
    place = tempfile.mkdtemp(dir=directory)
    os.chmod(directory, 0o755)
    copy = shutil.copy(DRIVE, directory)
    done = subprocess.run([copy, place, "--", "true"], user=65534, group=65534, extra_groups=[], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    tap.ok(done.returncode == SKIPPED and "root" in done.stdout and not os.listdir(place),
           "without rights: says what is missing, leaves nothing", done)


def main():
    with tempfile.TemporaryDirectory() as directory:
        tap.run("without rights", test_refused, directory)
        probe = Recording(directory, command=["true"])
        if probe.status == SKIPPED:
            tap.skip("recording", probe.output)
        elif not shutil.which("perf"):
            tap.skip("recording", "perf is not installed")
        else:
            for name, function in list(globals().items()):
                if name.startswith("test_") and function is not test_refused:
                    tap.run(name, function, directory)
    return tap.done()


sys.exit(main())
