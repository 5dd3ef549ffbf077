#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track` of what is no wait of a task, against programs that know when it happened, by their own stamps.
#
# With LULL_LIVE=all more rounds of each. Without the right to bpf() it is skipped, with the reason.
import json
import os
import re
import socket
import subprocess
import sys
import time

from live.tracked import LULL, has_event, inside, lull_track, track_once, why_not
from tap import Tap

MS = 1_000_000
ROUNDS = 10 if os.environ.get("LULL_LIVE") == "all" else 1
tap = Tap()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def begin_of(alarm):
    return alarm["monotonic_ns"] - alarm["delay_ns"]


def judge(kind, alarms, stamps, threshold):
    """Of `stamps`, those it lies within and those within it in turn: each surely longer one is reported once, no shorter one."""
    alarms = [alarm for alarm in alarms if alarm["kind"] == kind]
    outer = [s for s in stamps if s.label == f"{kind}-within"]
    inner = [s for s in stamps if s.label == f"{kind}-around"]
    found = [[alarm for alarm in alarms if inside(alarm, one)] for one in outer]
    longer = [index for index, one in enumerate(inner) if one.after - one.before > threshold]
    tap.ok(all(len(found[index]) == 1 for index in longer), f"{kind}: each longer one is reported exactly once",
           [(inner[index], found[index]) for index in longer if len(found[index]) != 1][:3])
    wrong = [one for one, of in zip(outer, found) if len(of) > 1 or (of and one.after - one.before <= threshold)]
    tap.ok(not wrong, f"{kind}: none twice, and none that its stamps say was not longer", wrong[:3])
    around = [alarm for one, of in zip(inner, found) for alarm in of
              if begin_of(alarm) > one.before or alarm["monotonic_ns"] < one.after]
    tap.ok(not around, f"{kind}: each reaches from before to after what it is about", around[:3])
    tap.ok(sum(map(len, found)) == len(alarms), f"{kind}: no alarm is of anything else", len(alarms), found[:2])
    return longer


def test_exchanges():
    """Requests, answers and connections of one program that is both ends."""
    threshold, port = MS, free_port()
    rules = [f"{kind}({port}) > {limit}" for kind, limit in
             (("serve", "1ms"), ("ask", "1ms"), ("ttfb", "1ms"), ("connect", "0ns"))]
    alarms, summary, stamps = track_once(rules, "exchange", port, 200 * ROUNDS, threshold)
    for kind in "serve", "ask", "ttfb":
        longer = judge(kind, alarms, stamps, threshold)
        tap.ok(95 * ROUNDS <= len(longer), f"{kind}: there are longer ones", len(longer))
    connects = [stamp for stamp in stamps if stamp.label == "connect"]
    found = [[alarm for alarm in alarms if alarm["kind"] == "connect" and inside(alarm, one)] for one in connects]
    tap.ok(len(found) == 200 * ROUNDS and all(len(of) == 1 for of in found), "connect: one for each", found[:3])
    tap.ok(summary["limited"] == summary["lost"] == summary["untracked"] == 0, "nothing was lost", summary)
    tap.ok(summary["events"] == 4 * 200 * ROUNDS, "shorter ones are counted, too", summary)
    for alarm in alarms:
        of, is_server = alarm["object"], alarm["kind"] in ("serve", "ttfb")
        server, client = (of["local_port"], of["remote_port"]) if is_server else (of["remote_port"], of["local_port"])
        words = f"connection from 127.0.0.1:{client} to port {port}" if is_server else f"connection to 127.0.0.1:{port}"
        if (server, of["remote_address"], of["has_failed"], of["detail"]) != (port, "127.0.0.1", False, words) or client == port:
            tap.ok(False, "addresses are those of the program", alarm)
            break


def test_connections():
    """A connection that is asked for twice takes the second that TCP waits, one that is refused fails."""
    port = free_port()
    alarms, _, stamps = track_once([f"connect({port}) > 500ms", f"connect({port}): raddr == \"127.0.0.1\" && lport != {port} > 0ns"],
                                   "refused", port)
    waited = [a for a in alarms if "500ms" in a["rule"]]
    slow, refused = [[a for a in alarms if inside(a, s) and a not in waited] for s in stamps]
    tap.ok(all(a["delay_ns"] > 500 * MS and not a["object"]["has_failed"] for a in waited), "those that waited", waited)
    tap.ok(stamps[0].after - stamps[0].before < 600 * MS or waited, "one of them waited for the repetition", stamps[0], slow)
    tap.ok(len(refused) == 1 and refused[0]["object"]["has_failed"] and "(failed)" in refused[0]["object"]["detail"],
           "one was refused", refused)


def test_datagrams():
    """A question in a datagram, as to a name server, which is answered after 30 ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        with subprocess.Popen([LULL, "track", "--json", "--count", "1", f"ask({port}) > 30ms"], stdout=subprocess.PIPE,
                              text=True) as process:
            for _ in range(600):
                client.send(b"?")
                _, address = server.recvfrom(1)
                time.sleep(0.03)
                server.sendto(b"!", address)
                client.recv(1)
                if process.poll() is not None:
                    break
            process.terminate()
            alarm, _ = map(json.loads, process.stdout)
    tap.ok(alarm["object"]["detail"] == f"connection to 127.0.0.1:{port}" and alarm["delay_ns"] >= 30 * MS and
           alarm["task"]["pid"] == os.getpid(), "who asked, and whom", alarm)


def test_text():
    port = free_port()
    program = os.path.join(os.environ["LULL_PROGRAMS"], "live-waits")
    out = lull_track(f"serve({port}) > 1ms", "--", program, "/dev/null", "exchange", str(port), "1", "4000000")
    tap.ok(re.match(rf"\d\d:\d\d:\d\d\.\d{{9}} serve [\d.]+ ms > 1\.000 ms  connection from 127\.0\.0\.1:\d+ to port {port}, "
                    r"read by live-waits/\d+\n1 alarm of ", out), "text says from where, to where, and who", out)


def main():
    reason = why_not()
    if reason:
        tap.skip("lull track", reason)
        return tap.done()
    if not has_event("sock_send_length"):
        tap.skip("requests and answers", "this kernel does not show what sockets send: it needs Linux 6.3")
        return tap.done()
    for test in (test_exchanges, test_connections, test_datagrams, test_text):
        tap.run(test.__name__, test)
    return tap.done()


sys.exit(main())
