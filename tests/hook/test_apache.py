#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# mod_lull in a real Apache, with threads (event) and processes (prefork), before an application that takes as long as it is told and
# stamps what it does: each request that is slower than LullSlower is reported once, no faster one; and nobody who reads the
# reports, or reads them late, costs the server anything. MOD_LULL is the module, APXS the program that knows the server.
import http.client
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from tap import Tap

tap = Tap()
LINE = re.compile(r"lull1 t=(\d+) d=(\d+) pid=(\d+) tid=(\d+) st=(\d+) peer=(\S+) local=(\S+) id=(\S+)")
SLOWER = 0.1
CONFIG = """
ServerName localhost
ServerRoot {root}
PidFile {root}/pid
ErrorLog {root}/error
Listen 127.0.0.1:{port}
{also}
LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule status_module {modules}/mod_status.so
LoadModule lull_module {module}
User nobody
Group nogroup
StartServers 2
LullSlower 100ms
LullSocket {root}/hook
ProxyPass /status !
ProxyPass / http://127.0.0.1:{application}/
<Location /status>
    SetHandler server-status
</Location>
<Location /never>
    LullSlower off
</Location>
<Location /patient>
    LullSlower 10s
</Location>
"""


class Application(http.server.BaseHTTPRequestHandler):
    """/…?SECONDS answers after that time."""

    def do_GET(self):
        time.sleep(float(self.path.partition("?")[2] or 0))
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def has_v6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def apache():
    """The server's program and its folder of modules; None: there is none."""
    try:
        modules = subprocess.run([os.environ["APXS"], "-q", "LIBEXECDIR"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    program = shutil.which("apache2") or shutil.which("httpd")
    return (program, modules) if program and os.path.exists(f"{modules}/mod_mpm_event.so") else None


class Server:
    def __init__(self, root, mpm, application):
        self.root, self.port = root, free_port()
        program, modules = apache()
        with open(f"{root}/conf", "w", encoding="ascii") as file:
            file.write(CONFIG.format(root=root, port=self.port, mpm=mpm, modules=modules, module=os.environ["MOD_LULL"], application=application,
                                     also=f"Listen [::1]:{self.port}" if has_v6() else ""))
        self.process = subprocess.Popen([program, "-f", f"{root}/conf", "-DFOREGROUND"], stdin=subprocess.DEVNULL,
                                        start_new_session=True)  # it ends its whole process group
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.02)

    def get(self, path):
        """When it was asked, how long it took as the client sees it, and the answer."""
        before, start = time.time(), time.monotonic()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=30) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as refused:
            text = str(refused.code)
        return before, time.monotonic() - start, text

    def get_from(self, host, path):
        """Both ends of the connection, as the client's system has them."""
        client = http.client.HTTPConnection(host, self.port, timeout=30)
        client.request("GET", path)
        ends = client.sock.getsockname(), client.sock.getpeername()
        client.getresponse().read()
        client.close()
        return [f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}" for end in ends]

    def counts(self):
        return dict(re.findall(r"^(Lull\w+): (\d+)$", self.get("status?auto")[2], re.M))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def read_lines(hook):
    """What is sent, until nothing has come for a while: a request is logged after its answer."""
    lines = []
    while True:
        hook.settimeout(0.5)
        try:
            lines.append(hook.recv(4096).decode())
        except TimeoutError:
            break
    return lines


def check_reports(server, hook, mpm):
    asked = {f"r{i}": seconds for i, seconds in enumerate((0, 0.02, 0.15, 0.25, 0.12, 0.05))}
    asked.update({"never": 0.2, "patient": 0.2, "missing%C3%A9": 0.15})
    seen, before = {}, time.time()

    def ask(name, seconds):
        seen[name] = server.get(f"{name}?{seconds}")
    threads = [threading.Thread(target=ask, args=item) for item in asked.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    matches = [LINE.fullmatch(line) for line in read_lines(hook)]
    found = {}
    for match in filter(None, matches):
        found.setdefault(match[8].lstrip("/"), []).append(tuple(map(int, match.groups()[:5])))
    # A request that the client saw end below the limit cannot be slow; those that were told to last longer are.
    must = {name.replace("%C3%A9", "??") for name, seconds in asked.items() if seconds > SLOWER and name not in ("never", "patient")}
    may = must | {name for name, (_, took, _) in seen.items() if took > SLOWER and name not in ("never", "patient")}
    tap.ok(all(matches) and must <= set(found) <= may and all(len(lines) == 1 for lines in found.values()),
           f"{mpm}: each slow request is reported once, no fast one, none where it is off", found, must)
    tasks = {int(tid) for pid in {line[2] for lines in found.values() for line in lines} for tid in os.listdir(f"/proc/{pid}/task")}
    wrong = []
    for name, [(end, took, pid, tid, status)] in found.items():
        source = name.replace("??", "%C3%A9")
        _, of_client, _ = seen[source]
        if not (asked[source] * 1e6 <= took <= of_client * 1e6 + 1000 and before * 1e6 <= end - took and end <= time.time() * 1e6 and
                tid in tasks and status == (404 if "missing" in name else 200) and open(f"/proc/{pid}/comm").read().strip() in ("apache2", "httpd")):
            wrong.append((name, end, took, pid, tid, status, of_client))
    tap.ok(not wrong, f"{mpm}: how long it took, when it ended, whose thread it was, how it ended", wrong)
    tap.ok(mpm == "event" or all(line[2] == line[3] for lines in found.values() for line in lines), f"{mpm}: its threads are its own")
    hosts = ["127.0.0.1"] + ["::1"] * has_v6()
    ends = [server.get_from(host, f"/ends?{SLOWER + 0.02}") for host in hosts]
    said = [match.group(6, 7) if match else None for match in map(LINE.fullmatch, read_lines(hook))]
    tap.ok(said == [tuple(pair) for pair in ends], f"{mpm}: by which connection it came", said, ends)
    return len(found) + len(hosts)


def check_deaf(server, hook, root, mpm, reported):
    """Nobody reads, then nobody is there: requests take what they take, and the server counts what is lost."""
    taken = []

    def ask():
        for _ in range(5):
            taken.append(server.get("slow?0.11")[1])
    threads = [threading.Thread(target=ask) for _ in range(4)]
    hook.close()
    os.unlink(f"{root}/hook")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = server.counts()
    tap.ok(len(taken) == 20 and sorted(taken)[10] < 5 and counts == {"LullReported": str(reported), "LullUndelivered": "20"},
           f"{mpm}: without a daemon no request waits, and all are counted", sorted(taken)[-3:], counts)
    again = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    again.bind(f"{root}/hook")
    os.chmod(f"{root}/hook", 0o666)
    server.get("slow?0.11")
    tap.ok(len(read_lines(again)) == 1, f"{mpm}: a daemon that comes back is found")
    again.close()


def check(mpm, application):
    with tempfile.TemporaryDirectory(prefix="lull-apache-") as root:
        os.chmod(root, 0o755)
        hook = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        hook.bind(f"{root}/hook")
        os.chmod(f"{root}/hook", 0o666)
        server = Server(root, mpm, application)
        try:
            check_deaf(server, hook, root, mpm, check_reports(server, hook, mpm))
        finally:
            server.stop()


def check_mistakes():
    program, modules = apache()
    with tempfile.TemporaryDirectory(prefix="lull-apache-") as root:
        for setting, said in (("LullSlower 5", "with its unit"), ("LullSlower -1s", "with its unit"), ("LullSocket hook", "starts with /"),
                              ("LullSlower 9999999999999999999s", "with its unit")):
            with open(f"{root}/conf", "w", encoding="ascii") as file:
                file.write(CONFIG.format(root=root, port=1, mpm="event", modules=modules, module=os.environ["MOD_LULL"], application=1, also="") + setting + "\n")
            done = subprocess.run([program, "-t", "-f", f"{root}/conf"], capture_output=True, text=True, check=False)
            tap.ok(done.returncode and said in done.stderr, f"{setting}: refused", done.stderr)


if os.geteuid() != 0 or not apache():
    tap.skip("mod_lull", "there is no Apache, or no right to start one")
    sys.exit(tap.done())
source = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
threading.Thread(target=source.serve_forever, daemon=True).start()
for of in ("event", "prefork"):
    tap.run(of, check, of, source.server_address[1])
tap.run("mistakes", check_mistakes)
source.shutdown()
sys.exit(tap.done())
