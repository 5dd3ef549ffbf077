#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The command line as a user meets it: help, usage errors, bad input, closed pipes, options, JSON; and the events of `lull print`
# and the counts of `lull info` against babeltrace2, where that is installed. LULL is the program, LULL_SAMPLES
# the directory of the unpacked samples, LULL_BUILD (may be absent) the build directory, for man pages.
import collections
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
build = os.environ.get("LULL_BUILD", os.path.dirname(lull))
client, httpd, db = (os.path.join(samples, "django", host) for host in ("client", "httpd", "db"))
chain = os.path.join(samples, "truth", "truth-chain")
tap = Tap()


def run(*arguments, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_STATE_HOME": "/nonexistent",
                   **more.pop("env", {})}
    environment.pop("LD_PRELOAD", None)
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, env=environment,
                          stdin=subprocess.DEVNULL, **more)


def check(name, done, status, out=None, err=None):
    """Exit status, and what stdout and stderr must match ("" for: empty)."""
    good = done.returncode == status
    for expected, got in ((out, done.stdout), (err, done.stderr)):
        if expected is not None:
            good = good and (re.search(expected, got) is not None if expected else got == "")
    return tap.ok(good, name, f"status {done.returncode}", done.stdout[:500], done.stderr[:500])


# --- help and usage ------------------------------------------------------------------------------------------


def verbs():
    return re.findall(r"^  ([a-z]+) ", run("--help").stdout.split("\nRecord:")[1], re.M)


def about(verb):
    return {"snapshot": "\n", "top": "\n", "daemon": "\n", "help": r" \[VERB", "hprof": " FILE", "mark": " begin"}.get(verb, " .*(TRACE|COMMAND|SNAPSHOT)")


def test_help():
    check("--help", run("--help"), 0, r"Usage: lull VERB.*", "")
    check("help", run("help"), 0, r"Usage: lull VERB", "")
    check("without verb: usage on stderr", run(), 2, "", r"Usage: lull VERB")
    check("--version", run("--version"), 0, r"^lull \d+\.\d+\.\d+\n.*json-c \d", "")
    found = verbs()
    tap.ok({"info", "print"} <= set(found), "the verbs are listed", found)
    for verb in found:
        done = run(verb, "--help")
        check(f"{verb} --help", done, 0, rf"^Usage: lull {verb} \[OPTIONS\]" + about(verb), "")
        tap.ok(run("help", verb).stdout == done.stdout, f"help {verb} is {verb} --help")
        tap.ok("Examples:" in done.stdout and re.search(rf"^  (sudo )?lull {verb}", done.stdout, re.M), f"{verb} --help has examples")
        free = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
        tap.ok(all(len(line) <= 80 for line in free), f"{verb} --help fits 80 columns", *free)
    check("--help among other options", run("print", "x", "--help"), 0, r"^Usage: lull print", "")
    check("-h", run("-h"), 0, r"Usage: lull VERB.*", "")
    check("-h of a verb", run("print", "-h"), 0, r"^Usage: lull print", "")
    tap.ok(run("-h").stdout == run("help").stdout == run("--help").stdout, "-h, --help and help say the same")
    for early in ("--version", "--help", "-h"):
        tap.ok(run("--no-pager", early).stdout == run(early).stdout, f"--no-pager before {early}")
    tap.ok(run("--help", "print").stdout == run("print", "--help").stdout, "--help VERB, as git has it")
    check("--no-pager alone", run("--no-pager"), 2, "", r"the verb comes first, before the option --no-pager")
    for words in (["--help"], ["print", "--help"], ["inof"], ["critpath", "--comm", "zzz", chain], ["track", "--list"]):
        plain, rich = ((done.stdout + done.stderr) for done in (run(*words, env={"LC_ALL": "C"}), run(*words)))
        tap.ok(plain.isascii() and not rich.isascii() and plain.count("?") == rich.count("?"),
               f"{' '.join(words[:3])}: ASCII where there is nothing else, and no sign is lost", plain[:1000])
    check("quotes in ASCII", run("inof", env={"LC_ALL": "C"}), 2, "", r'no verb "inof"; did you mean "info"\?')
    check("help help", run("help", "help"), 0, r"^Usage: lull help \[OPTIONS\] \[VERB.*\n(.*\n)*.*lull help critpath", "")
    text = run("--help").stdout
    start = " ".join(" ".join(text.splitlines()[:10]).split())
    tap.ok("sudo lull record COMMAND" in start and "lull critpath" in start, "--help says in ten lines how to start", start)
    for heading in ("Record", "What programs waited for", "CPUs and scheduling", "Files and disks", "Periods and states that you define"):
        tap.ok(f"\n{heading}:\n  " in text, f"--help groups verbs: {heading}")
    for known in ("CTF 1.8", "trace.dat", "perf.data", "recording|lull record", ".tar.zst", "net://HOST"):
        tap.ok(re.search(known, text), f"--help knows the input {known}")
    for verb in ("export --ctf2", "record -o", "snapshot -o"):
        check(f"{verb} -: a directory cannot go to standard output", run(*verb.split(), "-", chain), 2, "", r"standard output, cannot hold")
    check("help of an unknown topic", run("help", "perids"), 2, "", r"no verb or topic “perids”; did you mean “periods”")
    check("help of an unknown verb", run("help", "infos"), 2, "", r"did you mean “info”")


def test_pager():
    with tempfile.TemporaryDirectory() as directory:
        seen = os.path.join(directory, "seen")
        pager = {"LULL_PAGER": f"sed s/^/PAGED:/ | tee {seen}"}
        status, out = run_in_terminal("cputop", "--limit", "1", chain, **pager)
        tap.ok(status == 0 and "PAGED:" in out and "\033[1m" in out, "a terminal: through the pager, with colours", status, out)
        tap.ok(os.path.getsize(seen) > 100, "the pager has got it all before lull ends")
        os.remove(seen)
        status, out = run_in_terminal("cputop", "--cpu", "99", chain, **pager)
        tap.ok(status == 1 and "PAGED:lull cputop: no CPU 99" in out, "errors go there too, and the exit status is ours", status, out)
        status, out = run_in_terminal("cputop", "--no-pager", "--limit", "1", chain, **pager)
        tap.ok(status == 0 and "PAGED" not in out and "Top CPU" in out, "--no-pager", status, out)
        status, out = run_in_terminal("--no-pager", "cputop", "--limit", "1", chain, **pager)
        tap.ok(status == 0 and "PAGED" not in out and "Top CPU" in out, "--no-pager before the verb, as git has it", status, out)
        for name, none in (("empty", ""), ("cat", "cat")):
            status, out = run_in_terminal("cputop", "--limit", "1", chain, LULL_PAGER=none)
            tap.ok(status == 0 and "Top CPU" in out, f"LULL_PAGER={name}: no pager", status, out)
        status, out = run_in_terminal("cputop", "--limit", "1", chain, LULL_PAGER="no-such-pager-here")
        tap.ok(status == 0 and "no-such-pager-here” is not installed" in out and "Top CPU" in out, "a pager that is not there", status, out)
        status, out = run_in_terminal("print", chain, LULL_PAGER="head -n 2")
        tap.ok(status == 0 and out.count("\n") <= 3, "a pager that has seen enough", status, out)
        done = run("cputop", "--limit", "1", chain, env=pager)
        tap.ok("PAGED" not in done.stdout, "no terminal: no pager")


def test_one_of_many():
    """Whose path it is, where several tasks fit: a pattern is no name."""
    for wanted, fits in (("t*", r"t\S+"), ("apache2", "apache2")):
        where = httpd if wanted == "apache2" else chain
        check(f"critpath --comm {wanted}", run("critpath", "--comm", wanted, where), 0, None,
              rf"^lull: \d+ other tasks fit --comm {re.escape(wanted)} as well; this is the one that had that name longest, {fits}, tid \d+ \(")


def test_usage():
    check("unknown verb", run("inof"), 2, "", r"no verb “inof”; did you mean “info”\?")
    check("unknown verb, nothing near", run("zzzzzz"), 2, "", r"no verb “zzzzzz”\nTry")
    check("option before the verb", run("--json", "info"), 2, "", r"verb comes first")
    check("no trace", run("info"), 2, "", r"lull info: no trace given.*\nTry 'lull info --help'")
    check("unknown option", run("info", "--evnets", client), 2, "", r"no option --evnets; did you mean --events\?")
    check("unknown letter", run("info", "-x", client), 2, "", r"no option -x")
    check("option of another verb", run("info", "--tid", "1", client), 2, "", r"no option --tid")
    check("value missing", run("print", client, "--cpu"), 2, "", r"--cpu needs a value: --cpu LIST")
    check("value too many", run("print", client, "--json=yes"), 2, "", r"--json takes no value")
    for bad in ("x", "-1", "1.5", "", "99999999999999999999"):
        check(f"not a number: “{bad}”", run("print", "--limit", bad, client), 2, "", r"--limit takes a whole number")
    check("not a choice", run("print", "--time=sun", client), 2, "", r"--time takes one of clock, iso.*not “sun”")
    check("bad time", run("print", "--begin", "yesterday", client), 2, "", r"--begin: .*yesterday")
    check("bad range", run("print", "--timerange", "+1s", client), 2, "", r"comma")
    check("range twice", run("print", "--timerange", "+1s,+2s", "--end=+3s", client), 2, "", r"--timerange sets")
    check("bad list", run("print", "--events", "a,,b", client), 2, "", r"--events takes names")
    check("star in the middle", run("print", "--events", "a*b", client), 2, "", r"--events takes names")


# --- bad input -----------------------------------------------------------------------------------------------


def copy(directory, name, source=chain):
    target = os.path.join(directory, name)
    shutil.copytree(source, target)
    for path, _, files in os.walk(target):
        os.chmod(path, 0o755)
        for file in files:
            os.chmod(os.path.join(path, file), 0o644)
    return target


def test_bad_input():
    with tempfile.TemporaryDirectory() as directory:
        for verb in ("info", "print"):
            missing = os.path.join(directory, "nowhere")
            check(f"{verb}: missing", run(verb, missing), 1, "", r"nowhere")
            empty = os.path.join(directory, "empty")
            os.makedirs(empty, exist_ok=True)
            check(f"{verb}: empty directory", run(verb, empty), 1, "", r"empty")
            check(f"{verb}: a file", run(verb, __file__), 1, "", r"test_cli\.py")
        broken = copy(directory, "broken")
        metadata = os.path.join(broken, "kernel", "metadata")
        os.truncate(metadata, 1000)
        check("metadata cut", run("info", broken), 1, "", r"broken/kernel/metadata")
        os.truncate(metadata, 0)
        check("metadata empty", run("info", broken), 1, "", r"broken/kernel/metadata|broken")
        os.remove(metadata)
        check("no metadata", run("info", broken), 1, "", r"broken")
        cut = copy(directory, "cut")
        stream = os.path.join(cut, "kernel", "c0_0")
        size = os.path.getsize(stream)
        os.truncate(stream, size // 2)
        done = run("print", "--json", cut)
        check("stream cut: what can be read is printed", done, 1, r'"sched_switch"', r"cut/kernel/c0_0")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        whole = run("print", "--json", chain).stdout.count("\n")
        tap.ok(0 < len(lines) < whole, "stream cut: fewer events", len(lines), whole)
        check("stream cut: info", run("info", "--events", cut), 1, r"sched_switch", r"cut/kernel/c0_0")
        junk = copy(directory, "junk")
        with open(os.path.join(junk, "kernel", "c0_1"), "r+b") as file:
            file.write(b"\xaa" * 64)
        check("stream with a bad header", run("info", junk), 1, r"Host", r"junk/kernel/c0_1.*byte|junk/kernel/c0_1")
        if os.geteuid() != 0:
            closed = copy(directory, "closed")
            os.chmod(os.path.join(closed, "kernel"), 0)
            check("no permission", run("info", closed), 1, "", r"closed.*[Pp]ermission denied")
            os.chmod(os.path.join(closed, "kernel"), 0o755)
        else:
            tap.skip("no permission", "root may read everything")


def test_bad_questions():
    check("unknown host", run("print", "--host", "mars", client, httpd, db), 1, "",
          r"no host “mars” in these traces, only: client, httpd, db")
    check("unknown event", run("print", "--events", "sched_swich", client), 1, "", r"no trace declares.*sched_swich")
    check("time after the trace", run("print", "--begin", "+9999s", client), 1, "",
          r"nothing was recorded.*the traces go from 2026-11-21T01:01:\S+ to ")
    check("end before begin", run("print", "--timerange", "+2s,+1s", client), 1, "", r"end .*not after its start")


# --- pipes and terminals -------------------------------------------------------------------------------------


def test_pipes():
    command = f"set -o pipefail; '{lull}' print '{client}' | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    check("a closed pipe is not an error", done, 0, r"^\S+ cpu0 [^\n]+\n$", "")
    for verb in (["print"], ["info"], ["info", "--json"], ["print", "--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([lull, *verb, client], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        tap.ok(done.returncode == 1 and "No space left" in done.stderr, f"{' '.join(verb)}: a full disk is an error",
               done.returncode, done.stderr)


def run_in_terminal(*arguments, **more):
    """What the program writes to a terminal that is its stdout and stderr."""
    main, side = pty.openpty()
    process = subprocess.Popen([lull, *arguments], stdout=side, stderr=side, stdin=subprocess.DEVNULL,
                               env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "LULL_PAGER": "cat", **more})
    os.close(side)
    output = b""
    while True:
        if select.select([main], [], [], 60)[0]:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            output += piece
    os.close(main)
    return process.wait(60), output.decode()


def test_terminal():
    status, output = run_in_terminal("info", chain)
    tap.ok(status == 0 and "\x1b[" in output, "colours on a terminal", output[:300])
    status, output = run_in_terminal("info", "--color=never", chain)
    tap.ok(status == 0 and "\x1b" not in output, "--color=never", output[:300])
    for columns in (60, 80, 200):
        _, output = run_in_terminal("waits", "--color=never", "--limit", "3", chain, COLUMNS=str(columns))
        rows = re.search(r"Longest waits in all\r?\n((?:.+\n)+)", output)[1].splitlines()
        rows = rows[:4]
        if columns == 60:
            tap.ok(re.search(r"^\(no room for .*\bAT\)", output, re.M), "60 columns: no room for times, which is said", output[-900:])
            continue
        tap.ok(all(re.search(r"\d\d:\d\d:\d\d\.\d{9}\s*$", row) for row in rows[1:]), f"{columns} columns: times are whole", rows)
        tap.ok(("█" in rows[1]) == (columns == 200), f"{columns} columns: bars only where there is room", rows)
    tap.ok("\x1b" not in run("info", chain).stdout, "plain when piped")
    tap.ok("\x1b[" in run("info", "--color", "always", chain).stdout, "--color always")


# --- options -------------------------------------------------------------------------------------------------


def events(*arguments):
    done = run("print", "--json", *arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.returncode} {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_options():
    everything = events(client)
    times = [event["time_ns"] for event in everything]
    begin = times[0]
    tap.ok(times == sorted(times), "events are in the order of their times")

    def same(name, expected, *arguments):
        got = events(*arguments)
        return tap.ok(got == expected and expected, name, len(got), len(expected))

    def between(first, last):
        return [event for event in everything if first <= event["time_ns"] < last]

    # The trace's first packet starts before its first event, from which times count.
    base, packet = begin, json.loads(run("info", "--json", client).stdout)["traces"][0]["begin_ns"]
    tap.ok(packet < begin, "the first packet starts before its first event", packet, begin)
    same("--begin, --end", between(base + 6 * 10**9, base + 7 * 10**9), "--begin", "+6s", "--end", "+7s", client)
    same("--timerange", between(base + 6 * 10**9, base + 7 * 10**9), "--timerange=+6s,+7s", client)
    same("-b and -e, attached", between(base + 6 * 10**9, base + 7 * 10**9), "-b+6s", client, "-e", "+7s")
    same("ns since 1970", between(base + 6 * 10**9, base + 7 * 10**9), "--begin", str(base + 6 * 10**9),
         "--end", str(base + 7 * 10**9), client)
    same("options before, between and after", everything[:3], "--limit", "3", client)
    same("-n after the trace", everything[:3], client, "-n3")
    same("everything after -- is a trace", everything[:3], "--limit=3", "--", client)
    same("--events", [e for e in everything if e["name"] in ("sched_switch", "irq_handler_entry")],
         "--events", "sched_switch,irq_handler_entry", client)
    same("--events with a star", [e for e in everything if e["name"].startswith("sched_")],
         "--events=sched_*", client)
    same("--tid", [e for e in everything if e["context"]["tid"] == 527], "--tid", "527", client)
    same("--comm", [e for e in everything if e["context"]["procname"] == "python3"], "--comm", "python3", client)
    same("--tid and --events", [e for e in everything if e["context"]["tid"] == 527 and e["name"] == "sched_switch"],
         "--tid=527", "--events=sched_switch", client)
    same("a name longer than the kernel keeps", [e for e in everything if e["context"]["procname"] == "lttng-consumerd"],
         "--comm", "lttng-consumerd-and-more", client)
    same("--cpu 0 of one", everything, "--cpu", "0", client)
    check("--cpu of no stream", run("print", "--json", "--cpu", "1", client), 1, "", "no CPU 1 was seen")
    two = events(chain)
    tap.ok([e for e in two if e["cpu"] == 1] == events("--cpu=1", chain), "--cpu 1 of two")
    some = "--events", "sched_switch,irq_*"
    together = events("--no-progress", *some, client, httpd, db)
    tap.ok(collections.Counter(e["host"] for e in together) ==
           collections.Counter({name: len(events(*some, path)) for name, path in (("client", client), ("httpd", httpd), ("db", db))}),
           "three machines together have the events of each")
    tap.ok([e["name"] for e in together if e["host"] == "db"] == [e["name"] for e in events("--host", "db", *some, client, httpd, db)],
           "--host")


def values(part):
    """All values without parts of what print --json shows: what --count-fields counts."""
    if isinstance(part, dict) and set(part) >= {"value", "label"}:
        yield part["value"]
    elif isinstance(part, dict):
        for inner in part.values():
            yield from values(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from values(inner)
    else:
        yield part


def checksum(value):
    if isinstance(value, str):
        text = value.encode()
        text += bytes(-len(text) % 8)
        return len(value.encode()) + sum(int.from_bytes(text[i:i + 8], "little") for i in range(0, len(text), 8))
    return value


def test_count_fields():
    for trace in (client, chain):
        everything = events(trace)
        found = [value for event in everything for part in ("context", "fields") for value in values(event[part])]
        expected = {"events": len(everything), "fields": len(found), "checksum": sum(map(checksum, found)) % 2**64}
        for threads in ("1", "2", "7"):
            done = run("print", "--count-fields", "--json", "--threads", threads, trace)
            tap.ok(json.loads(done.stdout) == expected, f"--count-fields, {threads} threads", done.stdout, expected)
        check("--count-fields in words", run("print", "--count-fields", trace), 0,
              f"^{expected['events']} events, {expected['fields']} fields, checksum {expected['checksum']:016x}\n$", "")
    begin = json.loads(run("info", "--json", client).stdout)["traces"][0]["begin_ns"]
    limits = ("--begin", str(begin + 6 * 10**9), "--end", str(begin + 7 * 10**9))
    tap.ok(json.loads(run("print", "--count-fields", "--json", *limits, client).stdout)["events"]
           == len(events(*limits, client)), "--count-fields with limits")
    check("--count-fields and --events", run("print", "--count-fields", "--events=*", client), 2, "",
          "give it without --events")
    same = {run("info", "--events", "--threads", threads, client, httpd, db, chain).stdout for threads in "1235"}
    tap.ok(len(same) == 1, "info --events does not depend on --threads")


def test_text():
    first = events("--limit", "1", client)[0]
    seconds, rest = divmod(first["time_ns"], 10**9)
    stamps = {
        "clock": rf"\d\d:\d\d:\d\d\.{rest:09}",
        "iso": rf"2026-11-21T\d\d:\d\d:\d\d\.{rest:09}Z",
        "seconds": rf"{seconds}\.{rest:09}",
        "ns": str(first["time_ns"]),
        "elapsed": r"\+\d+\.\d{9}",
    }
    for style, stamp in stamps.items():
        check(f"--time {style}", run("print", "-n", "1", f"--time={style}", client), 0,
              rf"^{stamp} cpu{first['cpu']} {first['name']} \(pid = ", "")
    check("the host is named if there are several", run("print", "-n1", client, db), 0, r"^\S+ (client|db) cpu0 ", "")
    check("--local", run("print", "-n1", "--time=iso", "--local", client, env={"TZ": "XYZ-3"}), 0,
          rf"^2026-11-21T\d\d:\d\d:\d\d\.{rest:09}\+03:00 ", "")
    test_clocks(first, seconds, rest)
    test_babeltrace(first, rest)


def test_clocks(first, seconds, rest):
    """Babeltrace's options for the clock, in Lull's own form; the peer's form is in compare_text.py."""
    cycles = first["time_ns"] - json.loads(run("info", "--json", client).stdout)["traces"][0]["clock"]["offset_ns"]
    utc = time.strftime("%H:%M:%S", time.gmtime(seconds))
    later = time.strftime("%H:%M:%S", time.gmtime(seconds + 3 * 3600))
    for options, stamp in [
            (["--clock-seconds"], rf"{seconds}\.{rest:09}"),
            (["--clock-date"], rf"2026-11-21 {utc}\.{rest:09}"),
            (["--clock-date", "--local"], rf"2026-11-21 {later}\.{rest:09}"),
            (["--local", "--clock-gmt"], rf"{utc}\.{rest:09}"),
            (["--clock-cycles"], f"{cycles:020}"),
            (["--clock-seconds", "--clock-offset=-1", "--clock-offset-ns=7"], rf"{seconds - 1}\.{rest + 7:09}")]:
        check(" ".join(options), run("print", "-n1", *options, client, env={"TZ": "XYZ-3"}), 0, rf"^{stamp} cpu", "")
    shifted = run("print", "-n1", "--clock-offset=3600", "--begin", str(first["time_ns"] + 3600 * 10**9), client)
    check("--begin is read on the shifted clock", shifted, 0, rf"\.{rest:09} cpu{first['cpu']} {first['name']} ", "")
    check("--clock-offset of nonsense", run("print", "--clock-offset=1.5", client), 2, "", r"--clock-offset takes")
    check("--clock-offset too large", run("print", f"--clock-offset={2**62}", client), 2, "", r"--clock-offset takes")
    check("two ways of saying the time", run("print", "--time=ns", "--clock-date", client), 2, "", r"--time and --clock")


def test_babeltrace(first, rest):
    print_it = ("print", "-n1", "--format=babeltrace")
    check("--format=babeltrace", run(*print_it, client, env={"TZ": "XYZ-3"}), 0,
          rf"^\[\d\d:\d\d:\d\d\.{rest:09}\] \(\+\?\.\?{{9}}\) client {first['name']}: "
          rf"{{ cpu_id = {first['cpu']} }}, {{ pid = \d+, ", "")
    check("--names and --fields", run(*print_it, "--names=scope", "-f", "trace:domain", "--no-delta", client), 0,
          rf"^\[[\d:.]+\] kernel {first['name']}: stream.packet.context = {{ {first['cpu']} }}, ", "")
    check("an unknown name", run(*print_it, "--names=colour", client), 2, "", r"--names does not know “colour”")
    check("an unknown field", run(*print_it, "--fields=scope", client), 2, "", r"--fields does not know “scope”")
    check("all and none", run(*print_it, "--names=all,none", client), 2, "", r"“all” or “none”, not both")
    check("--fields without --format", run("print", "--fields=all", client), 2, "", r"belong to --format=babeltrace")
    check("--json and --format", run("print", "--json", "--format=text", client), 2, "", r"--json and --format")
    check("--time with --format", run(*print_it, "--time=iso", client), 2, "", r"not with --time")


# --- info ----------------------------------------------------------------------------------------------------


def test_info():
    done = run("info", client, httpd, db)
    check("info", done, 0, r"Host client\n(.*\n)*.*Host httpd\n(.*\n)*.*Host db\n", "")
    for expected in ("lttng-modules 2.13.9", "6.1.0-50-amd64", "CTF 1.8", "1000000000 Hz", "lost      nothing"):
        tap.ok(expected in done.stdout, f"info says {expected}", done.stdout)
    check("info of one host", run("info", "--host=db", client, httpd, db), 0, r"Host db\n(?!(.*\n)*.*Host)", "")
    info = json.loads(run("info", "--json", client, httpd, db).stdout)
    tap.ok(list(info) == ["version", "zero_ns", "hosts", "recordings", "containers", "traces", "events", "lost", "questions", "problems",
                          "damaged"], "keys", list(info))
    tap.ok(info["version"] == 1 and info["events"] is None and info["problems"] == [], "without --events", info["version"])
    tap.ok([host["name"] for host in info["hosts"]] == ["client", "httpd", "db"], "hosts", info["hosts"])
    for trace in info["traces"]:
        path = os.path.join(samples, "django", trace["host"], "kernel")
        size = sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path) if name.startswith("c"))
        # The clock's offset as the metadata has it; one stream a CPU.
        with open(os.path.join(path, "metadata"), "rb") as file:
            offset = int(re.search(rb"offset = (\d+);", file.read()).group(1))
        tap.ok(trace["size_bytes"] == size and trace["streams"] == 1 and trace["packets"] > 0
               and trace["clock"] == {"name": "monotonic", "frequency_hz": 10**9, "offset_ns": offset}
               and trace["end_ns"] - trace["begin_ns"] == trace["duration_ns"] > 0,
               f"trace of {trace['host']}", trace)
    answers = {question["id"]: question["hosts"][0]["answer"] for question in info["questions"]}
    tap.ok(answers["critical-path"] == "yes" and answers["requests"] == "yes" and answers["clock-sync"] == "yes",
           "a full trace answers what Lull is for", answers)
    nosys = json.loads(run("info", "--json", chain + "-nosys").stdout)
    answers = {question["id"]: question["hosts"][0] for question in nosys["questions"]}
    tap.ok(answers["syscalls"]["answer"] == "no" and answers["critical-path"]["answer"] != "no"
           and any("syscall_entry_*" in names for names in answers["syscalls"]["lacks"]),
           "a trace without system calls says so", answers["syscalls"])
    check("a trace without system calls says so in words", run("info", chain + "-nosys"), 0,
          r"  no      system calls.*\n +lacks syscall_entry_\*", "")


def test_against_babeltrace():
    if not shutil.which("babeltrace2"):
        tap.skip("events as babeltrace2 prints them", "babeltrace2 is not installed")
        return
    for trace in (client, chain, chain + "-nosys", os.path.join(samples, "truth", "truth-tcp")):
        if os.path.isdir(trace):
            compare_with_babeltrace(trace)


# What babeltrace2 prints: a value after each "= ", in quotes, hexadecimal or decimal; lengths, indices and labels
# stand before the sign or without one.
VALUE = re.compile(r'= (?:\( "((?:[^"\\]|\\.)*)" : container = (-?\w+) \)|"((?:[^"\\]|\\.)*)"|(-?0x[0-9A-F]+|-?\d+)(?= |,))')


def babeltrace_events(trace):
    environment = dict(os.environ, TZ="UTC")
    process = subprocess.Popen(["babeltrace2", "--clock-seconds", "--no-delta", trace], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=environment, errors="surrogateescape")
    head = re.compile(r"^\[(\d+)\.(\d{9})\] (?:\S+ )?(\S+): \{ cpu_id = (\d+) \}(.*)$")
    for line in process.stdout:
        match = head.match(line)
        seconds, rest, name, cpu, tail = match.groups()
        values = []
        for label, number, text, plain in VALUE.findall(tail + " "):
            number = number or plain
            if number:
                octal = re.fullmatch("0[0-7]+", number)
                number = int(number, 8) if octal else int(number, 0)
                values.append((number, label) if label else number)
            else:
                values.append(text)
        yield int(seconds) * 10**9 + int(rest), name, int(cpu), values
    process.wait()


def leaves(value):
    if isinstance(value, dict) and list(value) == ["value", "label"]:
        yield (value["value"], value["label"]) if value["label"] is not None else value["value"]
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def equal(mine, other):
    # Babeltrace 2.0.4 shows the text of an earlier event where a string is empty.
    return mine == other or (len(mine) == len(other) and
                             all(a == b or (a == "" and isinstance(b, str)) for a, b in zip(mine, other)))


def compare_with_babeltrace(trace):
    name = os.path.basename(trace)
    theirs = list(babeltrace_events(trace))
    ours = events(trace)
    counts = collections.Counter(event[1] for event in theirs)
    tap.ok(len(ours) == len(theirs), f"{name}: as many events as babeltrace2 sees", len(ours), len(theirs))
    info = json.loads(run("info", "--json", "--events", trace).stdout)
    tap.ok({row["name"]: row["count"] for row in info["events"]} == dict(counts), f"{name}: the same counts")
    order = [(-row["count"], row["name"]) for row in info["events"]]
    tap.ok(order == sorted(order), f"{name}: counts are in order")
    text = run("info", "--events", trace).stdout
    tap.ok(f"Events: {len(theirs)}\n" in text, f"{name}: the sum in words")
    # Events of one time on several CPUs may stand in another order.
    theirs.sort(key=lambda event: (event[0], event[2]))
    ours.sort(key=lambda event: (event["time_ns"], event["cpu"]))
    for mine, other in zip(ours, theirs):
        values = [*leaves(mine["context"]), *leaves(mine["fields"])]
        if (mine["time_ns"], mine["name"], mine["cpu"]) != other[:3] or not equal(values, other[3]):
            tap.ok(False, f"{name}: every value of every event", mine, other)
            return
    tap.ok(True, f"{name}: every value of every event")


# --- what is generated ---------------------------------------------------------------------------------------


def test_generated():
    pages = os.path.join(build, "man")
    if not os.path.isdir(pages):
        tap.skip("man pages", "not built")
        return
    for name in ["lull", *(f"lull-{verb}" for verb in verbs())]:
        page = os.path.join(pages, name + ".1")
        tap.ok(os.path.isfile(page), f"{name}(1) exists")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, timeout=60)
            tap.ok(done.returncode == 0 and not done.stderr and "NAME" in re.sub(".\b", "", done.stdout), f"{name}(1) has no mistakes",
                   done.stderr)


for test in (test_help, test_pager, test_one_of_many, test_usage, test_bad_input, test_bad_questions, test_pipes, test_terminal, test_options,
             test_count_fields, test_text, test_info, test_against_babeltrace, test_generated):
    tap.run(test.__name__, test)
sys.exit(tap.done())
