#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What programs report to `lull daemon` over HTTP, and read there: with the token alone, in words that a program of another kind (curl's
# or a browser's) would send; nothing that is damaged becomes an alarm. Root only.
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from lib.running import Running
from live.tracked import LULL
from tap import Tap
from trigger.daemons import Daemon, children, wait_for, why_no_daemon

tap = Tap()
BAD = [({}, "delay_ms"), ({"delay_ms": "731"}, "delay_ms"), ({"delay_ms": -1}, "delay_ms"), ({"delay_ms": 1e300}, "delay_ms"),
       ({"delay_ms": None}, "delay_ms"), ({"delay_ms": 900, "end_ns": 1.5}, "end_ns"), ({"delay_ms": 900, "pid": "7"}, "pid"),
       ({"delay_ms": 900, "pid": 0}, "pid"), ({"delay_ms": 900, "pid": 2 ** 40}, "pid"), ({"delay_ms": 900, "id": "a b"}, "id"),
       ({"delay_ms": 900, "id": "a\nlull1 t=1"}, "id"), ({"delay_ms": 900, "up": "10.9.0.1:80"}, "up"), ({"delay_ms": 900, "up": [7]}, "up"),
       ({"delay_ms": 900, "rule": ""}, "rule"), ({"delay_ms": 900, "rule": "w" * 80}, "rule"), ({"delay_ms": 900, "dealy": 1}, "dealy"),
       ({"delay_ms": 900, "id": "x" * 3000}, "too long")]


def ask(daemon, path, body=None, token=None, **headers):
    """Status and answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{daemon.port}/{path}", None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json", **headers})
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def check_guard(daemon, token):
    other = ("0" if token[0] != "0" else "1") + token[1:]
    for path in ("v1/trigger", "v1/alarms", "v1/top"):
        body = {"delay_ms": 900} if path == "v1/trigger" else None
        refused = [ask(daemon, path, body)[0], ask(daemon, path, body, other)[0], ask(daemon, path, body, token[:-1])[0],
                   ask(daemon, path, body, token + "0")[0], ask(daemon, path, body, Authorization=f"Basic {token}")[0]]
        tap.ok(refused == [401] * 5, f"{path} wants the token", refused)
    tap.ok(ask(daemon, "v1/alarms", None, token, Origin="http://evil.example")[0] == 403, "no page of others may ask")
    tap.ok(ask(daemon, "v1/alarms", None, token, Host="evil.example")[0] == 421, "nor by another name of this machine")
    tap.ok(ask(daemon, "v1/alarms", {}, token)[0] == ask(daemon, "v1/other", None, token)[0] == 404, "there is nothing else")
    tap.ok(ask(daemon, "v1/alarms", None, token) == (200, {"count": 0, "alarms": []}), "nothing of that was an alarm")


def check_bad(daemon, token):
    wrong = [(body, answer) for body, word in BAD for answer in [ask(daemon, "v1/trigger", body, token)]
             if answer[0] != 400 or word not in answer[1]["detail"]]
    tap.ok(not wrong, "what is no report is refused, and the answer says why", *wrong)
    tap.ok(ask(daemon, "v1/trigger", {"delay_ms": 900, "rule": "naps"}, token)[0] == 404, "a rule that there is not")
    tap.ok(ask(daemon, "v1/alarms", None, token)[1]["count"] == 0, "none became an alarm")


def check_reports(daemon, token):
    end = time.time_ns()
    sent = ask(daemon, "v1/trigger", {"delay_ms": 731.25, "end_ns": end, "pid": os.getpid(), "id": "checkout"}, token)
    tap.ok(sent == (202, {"report": "passed on"}), "a slow request is passed on", sent)
    alarms = wait_for(lambda: ask(daemon, "v1/alarms", None, token)[1]["alarms"])
    first = alarms[0] if alarms else {}
    tap.ok(first == {"rule": "web", "pid": os.getpid(), "tid": None, "comm": None, "begin_ns": end - 731_250_000, "end_ns": end,
                     "result": "written", "snapshot": first.get("snapshot")}, "it is an alarm with these times", alarms)
    tap.ok([first.get("snapshot")] == daemon.written(), "whose snapshot is there", daemon.written())
    with open(os.path.join(daemon.written()[0], "recording.json"), encoding="utf-8") as file:
        trigger = json.load(file)["trigger"]
    tap.ok(trigger["rule"] == "web" and trigger["pid"] == os.getpid() and trigger["end_ns"] - trigger["begin_ns"] == 731_250_000,
           "and is about it", trigger)
    tap.ok(ask(daemon, "v1/trigger", {"delay_ms": 199.9}, token) == (200, {"report": "fast"}), "no rule is about a fast one")
    tap.ok(ask(daemon, "v1/trigger", {"delay_ms": 900, "rule": "batch"}, token) == (200, {"report": "fast"}), "nor a rule that allows more")
    for delay in (1500, 1600):
        ask(daemon, "v1/trigger", {"delay_ms": delay, "rule": "batch"}, token)
    alarms = wait_for(lambda: (lambda got: got["alarms"] if got["count"] == 3 else None)(ask(daemon, "v1/alarms", None, token)[1])) or []
    tap.ok([(one["rule"], one["end_ns"] - one["begin_ns"]) for one in alarms] ==
           [("batch", 1_600_000_000), ("batch", 1_500_000_000), ("web", 731_250_000)], "a rule by its name, the latest first", alarms)
    tap.ok(alarms and alarms[0]["result"] in ("coalesced", "limited"), "limits hold", alarms[:1])
    status, top = wait_for(lambda: (lambda got: got if got[0] == 200 and got[1]["waited"] else None)(ask(daemon, "v1/top", None, token))) or (0, {})
    tap.ok(status == 200 and all(row["waited_ns"] > 0 and row["waiter"] for row in top["waited"]), "who waited most", status, top)


# What runs in a pid namespace of its own, and reports itself: what it says, then a line when it has its answer.
REPORTER = """
import http.client, json, os, sys, time
link = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
link.request("POST", "/v1/trigger", json.dumps({"delay_ms": 900, "pid": os.getpid(), "tid": os.getpid(), "id": sys.argv[3]}),
             {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"})
assert link.getresponse().status == 202
print(os.getpid(), flush=True)
time.sleep(60)
"""
# The same, which ends when it has its answer.
HASTY = REPORTER.replace("time.sleep(60)", "")


def alarm_after(daemon, token, count):
    got = wait_for(lambda: (lambda got: got if got["count"] > count else None)(ask(daemon, "v1/alarms", None, token)[1]))
    return got["alarms"][0] if got else {}


def check_contained(directory):
    """The numbers of a server in a container, which shares the machine's network, are those of the container: it is found by its connection. Who is
    not found might be anybody."""
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False, timeout=60).returncode:
        tap.skip("reports from a container", "no pid namespaces here")
        return
    place = os.path.join(directory, "contained")
    os.mkdir(place)
    with open(os.path.join(directory, "token"), encoding="utf-8") as file:
        token = file.read().strip()
    os.chmod(os.path.join(directory, "token"), 0o600)
    daemon = Daemon(place, "[rule web]\nslower=200ms\n", "pause=1ms\nper_hour=100\nper_day=100", more=f"token={directory}/token")
    words = [sys.executable, "-c", REPORTER, str(daemon.port), token, "x"]
    started = []
    try:
        with Running(words, stdout=subprocess.PIPE, text=True) as outside:
            started.append(outside)
            said = int(outside.stdout.readline())
            alarm = alarm_after(daemon, token, 0)
            tap.ok(said == outside.pid and (alarm.get("pid"), alarm.get("tid")) == (said, said), "a process of the machine is itself", alarm, daemon.said())
            time.sleep(5.5)  # what is soon after is not looked for
            with Running(["unshare", "--pid", "--fork", "--kill-child", *words], stdout=subprocess.PIPE, text=True) as holder:
                started.append(holder)
                inside = int(holder.stdout.readline())
                here = children(holder.pid)
                alarm = alarm_after(daemon, token, 1)
                tap.ok(inside == 1 and [alarm.get("pid"), alarm.get("tid")] == here * 2, "process 1 of a container is found", alarm, here, daemon.said())
                time.sleep(5.5)
                daemon.process.send_signal(signal.SIGSTOP)
                subprocess.run([sys.executable, "-c", HASTY, *words[3:]], check=True, stdout=subprocess.DEVNULL, timeout=60)
                daemon.process.send_signal(signal.SIGCONT)
                alarm = alarm_after(daemon, token, 2)
                tap.ok(alarm.get("result") == "written" and alarm.get("pid") is None and "it is not known who served the request" in daemon.said(),
                       "who has gone might have been one of a container: nobody is named, and the log says so", alarm, daemon.said())
                holder.kill()
                outside.kill()
    finally:
        for process in started:
            process.kill()
        daemon.stop()


def check_token(directory):
    """A token that others could read is none; without one nobody may ask."""
    os.chmod(os.path.join(directory, "token"), 0o644)
    with open(os.path.join(directory, "bad.conf"), "w", encoding="utf-8") as file:
        file.write(f"[daemon]\nsnapshots={directory}/bad\nhook={directory}/bad-hook\nmetrics=127.0.0.1:1\ntoken={directory}/token\n"
                   "[rule web]\nslower=200ms\n")
    done = subprocess.run([LULL, "daemon", "--config", os.path.join(directory, "bad.conf")], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 1 and "nobody else may read it" in done.stderr, "a token that others can read", done)
    with open(os.path.join(directory, "bad.conf"), "w", encoding="utf-8") as file:
        file.write(f"[daemon]\ntoken={directory}/token\n[rule web]\nslower=200ms\n")
    done = subprocess.run([LULL, "daemon", "--check", "--config", os.path.join(directory, "bad.conf")], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 1 and "metrics" in done.stderr, "a token without a port", done)
    os.mkdir(os.path.join(directory, "without"))
    daemon = Daemon(os.path.join(directory, "without"), "[rule web]\nslower=200ms\n")
    try:
        refused = ask(daemon, "v1/alarms", None, "0" * 64)
        tap.ok(refused[0] == 403 and "[daemon] token" in refused[1]["detail"], "without a token nobody may ask", refused)
    finally:
        daemon.stop()


def main(directory):
    path = os.path.join(directory, "token")
    subprocess.run([LULL, "daemon", "--new-key", path], check=True, timeout=60)
    with open(path, encoding="utf-8") as file:
        token = file.read().strip()
    daemon = Daemon(directory, "[rule web]\nslower=200ms\n[rule batch]\nslower=1s\n", more=f"token={path}")
    try:
        if tap.ok(daemon.ready == b"READY=1", "it starts", daemon.said()):
            check_guard(daemon, token)
            check_bad(daemon, token)
            check_reports(daemon, token)
    finally:
        daemon.stop()
    check_contained(directory)
    check_token(directory)


if __name__ == "__main__":
    if why_no_daemon():
        tap.skip("the daemon over HTTP", why_no_daemon())
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(scratch)
    sys.exit(tap.done())
