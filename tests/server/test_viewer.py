#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The view component of VS Code's Trace Viewer, in a headless Chromium, shows what lull serve answers. LULL_TEST_VIEWER=DIR is a
# checkout of eclipse-cdt-cloud/vscode-trace-extension; what it needs is fetched with npm, into DIR/.lull, where it stays.
# LULL_TEST_PICTURES=DIR keeps screenshots.
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from server.serving import Server, environment
from tap import Tap
from web import browser

lull = os.environ["LULL"]
tap = Tap()
LOADERS = [f"--loader:.{kind}=dataurl" for kind in ("ttf", "svg", "woff", "woff2", "eot")]
# What the packages use, but do not name; and a release in place of a repository.
MORE = {"react": "18.3.1", "react-dom": "18.3.1", "@emotion/react": "^11", "@emotion/styled": "^11", "events": "^3", "lodash.debounce": "^4"}


def build(checkout, folder):
    """The component as one script, as esbuild makes it of the sources."""
    libraries = os.path.join(checkout, "local-libs", "traceviewer-libs")
    needs = dict(MORE)
    for name in ("base", "react-components"):
        with open(os.path.join(libraries, name, "package.json"), encoding="utf-8") as file:
            needs.update(json.load(file)["dependencies"])
    needs.pop("traceviewer-base")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        json.dump({"private": True, "dependencies": needs, "overrides": {"json-bigint": "1.0.0"}}, file)
    if not os.path.exists(os.path.join(folder, "node_modules", "react")):
        subprocess.run(["npm", "install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True,
                       capture_output=True, timeout=900)
    for name in ("base", "react-components"):
        target = os.path.join(folder, "node_modules", f"traceviewer-{name}")
        shutil.rmtree(target, ignore_errors=True)
        for source, part in (("src", "lib"), ("style", "style")):
            if os.path.isdir(os.path.join(libraries, name, source)):
                shutil.copytree(os.path.join(libraries, name, source), os.path.join(target, part), ignore=shutil.ignore_patterns("__tests__"))
    shutil.copy(os.path.join(os.path.dirname(__file__), "viewer.tsx"), folder)
    subprocess.run(["esbuild", "viewer.tsx", "--bundle", "--minify", "--outfile=viewer.js", "--define:global=window",
                    '--define:process.env.NODE_ENV="production"', "--main-fields=browser,module,main", *LOADERS], cwd=folder, check=True,
                   capture_output=True)
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write("<!doctype html><meta charset=utf-8><link rel=stylesheet href=viewer.css><div id=root></div><script src=viewer.js></script>")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


# The viewer's own requests, and what it sent; before any script of the page.
WATCH = """window.asked = [];
const before = window.fetch;
window.fetch = (url, options) => {
    window.asked.push([`${url.url || url}`, options && options.body ? `${options.body}` : '']);
    return before(url, options);
};
const open = XMLHttpRequest.prototype.open, send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.open = function (method, url, ...more) { this.asked = `${url}`; return open.call(this, method, url, ...more); };
XMLHttpRequest.prototype.send = function (body) { window.asked.push([this.asked, `${body || ''}`]); return send.call(this, body); };"""


def asked(page, what):
    """Ranges that were asked for, by output."""
    found = {}
    for url, body in page.run("window.asked"):
        match = re.search(r"outputs/(?:timeGraph|XY)/([^/]+)/" + what + "$", url)
        span = re.search(r'"start":\s*(\d+),\s*"end":\s*(\d+)', body)
        if match:
            found.setdefault(urllib.parse.unquote(match[1]), set()).add(span.groups() if span else None)
    return found


def check(folder, cache):
    files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{files.server_port}"
    server = Server(lull, environment(cache), "--allow-origin", origin, os.path.join(os.environ["LULL_SAMPLES"], "django", "db"))
    page = browser.Browser(1280, 3600)
    try:
        page.open("about:blank")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        page.call("Page.navigate", url=f"{origin}/index.html?api={urllib.parse.quote(server.said['tsp'], safe='')}")
        tap.ok(page.wait("document.querySelectorAll('canvas').length >= 4", 60), "the viewer has its canvases",
               page.run("document.body.innerText.slice(0, 500)"))
        page.wait("window.asked.some(one => /arrows$/.test(one[0])) && window.asked.some(one => /xy$/.test(one[0]))", 60)
        page.run("new Promise(done => setTimeout(done, 2000))")
        states, arrows, xy = asked(page, "states"), asked(page, "arrows"), asked(page, "xy")
        tap.ok(len(states) >= 2 and len(xy) >= 1, "it asks for states and for lines", states, xy)
        shared = [output for output in arrows if arrows[output] & states.get(output, set())]
        tap.ok(arrows and len(shared) == len(arrows), "arrows are asked for the range of the states", states, arrows)
        text = page.run("document.body.innerText")
        tap.ok(all(word in text for word in ("Thread Status", "Resources Status", "CPU Usage", "postgres", "Total", "Histogram", "Events Table",
                                             "System calls – over time", "System calls – statistics", "epoll_wait", "Timestamp ns")), "names of outputs and rows are there", text[:1500])
        lines = [url for url, _ in page.run("window.asked") if url.endswith("/lines") or "genericXY" in url and url.endswith("/xy")]
        tap.ok(len(lines) >= 3, "it asks for lines of both tables, and for density", lines)
        tap.ok(page.problems == [], "nothing failed in the page", *page.problems[:5])
        if os.environ.get("LULL_TEST_PICTURES"):
            page.picture(os.path.join(os.environ["LULL_TEST_PICTURES"], "viewer.png"))
    finally:
        page.end()
        server.end()
        files.shutdown()


DIR = os.environ.get("LULL_TEST_VIEWER")
if DIR and shutil.which("npm") and shutil.which("esbuild") and browser.find():
    build(DIR, os.path.join(DIR, ".lull"))
    with tempfile.TemporaryDirectory(prefix="lull-viewer-") as directory:
        tap.run("viewer", check, os.path.join(DIR, ".lull"), directory)
else:
    tap.skip("the viewer of VS Code", "LULL_TEST_VIEWER is not set, or there is no npm, esbuild or Chromium")
sys.exit(tap.done())
