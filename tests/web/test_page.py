#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The page of lull view in a real browser, headless: it paints, zooms, searches, comes back from its address, and leads from a request
# to the disk of another machine by keyboard alone. What is on the disk is known from lull critpath. LULL_TEST_PICTURES=DIR keeps
# screenshots.
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from lib import jsonl_to_ctf
from server.growing_trace import make
from server.meters_trace import known_trace
from server.serving import Server, environment
from tap import Tap, scratch
from web import browser

lull = os.environ["LULL"]
tap = Tap()
cache = scratch("lull-page-")
env = environment(cache)
traces = [os.path.join(os.environ["LULL_SAMPLES"], "django", host) for host in ("client", "httpd", "db")]
PERIOD = 'sync : $evt.$name == "syscall_entry_fdatasync" : $evt.$name == "syscall_exit_fdatasync" && $evt.$tid == $begin.$evt.$tid'
SENTENCE = "document.querySelector('.sentence').textContent"
# How many colours each panel's picture has, not counting what is empty.
COLORS = """Object.fromEntries([...document.querySelectorAll('.panel canvas')].map(canvas => {
    const words = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width || 1, canvas.height || 1).data.buffer);
    return [canvas.closest('.panel').dataset.panel, new Set(words).size - 1];
}))"""


def check_sources():
    folder = os.path.join(os.environ["LULL_SOURCE"], "web", "src")
    found = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found += [(name, one) for one in re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser", file.read())]
    tap.ok(not found, "nothing on the page is made of markup", found)


def address(page):
    return dict(part.split("=", 1) for part in page.run("location.hash.slice(1)").split("&") if "=" in part)


def seen(page):
    start, end = map(int, address(page)["t"].split(","))
    return start, end


def picture(page, name):
    if os.environ.get("LULL_TEST_PICTURES"):
        time.sleep(0.5)
        page.picture(os.path.join(os.environ["LULL_TEST_PICTURES"], name + ".png"))


def settle(page, script):
    """The script's value once the address has followed."""
    return page.wait(f"new Promise(done => setTimeout(() => done({script}), 300))")


def check_start(page):
    painted = page.wait(f"(found => found.tasks > 5 && found.cpus > 3 && found)({COLORS})")
    tap.ok(painted, "control flow and resources paint", page.run(COLORS))
    names = page.run("[...document.querySelectorAll('[data-panel=tasks] .name .text')].slice(0, 2).map(one => one.textContent)")
    tap.ok(names[0] == "client", "hosts and tasks have names", names)
    picture(page, "start")


def check_zoom(page):
    settle(page, "1")
    start, end = seen(page)
    box = page.run("(({left, top, width}) => [left, top, width])(document.querySelector('[data-panel=tasks] canvas').getBoundingClientRect())")
    x = box[0] + box[2] / 2
    page.mouse("mouseWheel", x, box[1] + 60, deltaX=0, deltaY=-200, modifiers=2)
    settle(page, "1")
    near = seen(page)
    middle = (start + end) / 2
    width = near[1] - near[0]
    tap.ok(width < 0.7 * (end - start) and abs((near[0] + near[1]) / 2 - middle) < width / 100, "the wheel zooms where it points", near)
    page.mouse("mouseMoved", 5, 5)
    for key in "wwda":
        page.key(key)
    settle(page, "1")
    closer = seen(page)
    tap.ok((closer[1] - closer[0]) / width < 0.5, "keys zoom and move", closer)
    page.mouse("mousePressed", box[0] + 100, box[1] + 60, button="left", clickCount=1)
    for step in (150, 200, 300):
        page.mouse("mouseMoved", box[0] + step, box[1] + 60, button="left", buttons=1)
    page.mouse("mouseReleased", box[0] + 300, box[1] + 60, button="left", clickCount=1)
    settle(page, "1")
    selected = [int(part) for part in address(page).get("s", "0,0").split(",")]
    expected = [closer[0] + at / box[2] * (closer[1] - closer[0]) for at in (100, 300)]
    tap.ok(all(abs(a - b) < (closer[1] - closer[0]) / 200 for a, b in zip(selected, expected)), "dragging selects a range", selected, expected)
    sums = page.wait("[...document.querySelectorAll('.totals li')].map(one => one.textContent)")
    tap.ok(sums and any("Idle" in one for one in sums), "whose sums are shown", sums)
    page.mouse("mousePressed", box[0] + 200, box[1] + 60, button="right", clickCount=1)
    for step in (250, 400):
        page.mouse("mouseMoved", box[0] + step, box[1] + 60, button="right", buttons=2)
    page.mouse("mouseReleased", box[0] + 400, box[1] + 60, button="right", clickCount=1)
    settle(page, "1")
    dragged = [closer[0] + at / box[2] * (closer[1] - closer[0]) for at in (200, 400)]
    room = 0.1 * (dragged[1] - dragged[0])
    tap.ok(all(abs(a - b) < (closer[1] - closer[0]) / 200 for a, b in zip(seen(page), (dragged[0] - room, dragged[1] + room))),
           "the right button zooms to it", seen(page), dragged)
    page.key("0")
    page.key("Escape")
    settle(page, "1")
    tap.ok(seen(page) == (start, end) and "s" not in address(page), "0 and Esc bring all of it back", page.run("location.hash"))


def check_history(page):
    """What was seen and selected comes back, and bookmarks are in the address."""
    settle(page, "1")
    whole = page.run("location.hash")
    page.key("w")
    settle(page, "1")
    near = page.run("location.hash")
    page.key("z", 2)
    back = settle(page, "location.hash")
    page.key("y", 2)
    again = settle(page, "location.hash")
    page.key("Backspace")
    tap.ok((back, again, settle(page, "location.hash")) == (whole, near, whole) and near != whole,
           "Ctrl Z and Backspace go back to what was seen, Ctrl Y forward", whole, near, back, again)
    page.run("location.hash += '&s=4000000000,5000000000'")
    settle(page, "1")
    page.key("m")
    page.run("document.querySelector('.markname').focus()")
    for key in "a,b;c":
        page.key(key)
    page.key("Enter")
    marked = settle(page, "location.hash")
    picture(page, "marks")
    page.call("Page.reload")
    page.wait("document.querySelectorAll('.markname').length")
    restored = page.run("document.querySelector('.markname').value"), settle(page, "location.hash")
    tap.ok(restored == ("a,b;c", marked) and "m=" in marked, "a bookmark and its name survive a reload", restored, marked)
    page.key("Escape")
    page.key("0")
    settle(page, "1")
    page.key("M", 8)
    settle(page, "1")
    tap.ok(address(page).get("s") == "4000000000,5000000000", "and Shift M goes to it", page.run("location.hash"))
    page.key("m")
    page.key("Escape")
    page.key("0")
    tap.ok(settle(page, "location.hash") == whole and page.run("document.querySelector('.marks').hidden"), "M takes it away", page.run("location.hash"))


def check_search(page):
    page.key("/")
    for key in "postgres":
        page.key(key)
    page.key("Enter")
    found = page.wait(f"{SENTENCE}.startsWith('postgres (') && {SENTENCE}")
    names = set(page.run("[...document.querySelectorAll('[data-panel=tasks] .name:not(.other) .text')].map(one => one.textContent)"))
    tap.ok(found and names == {"postgres"}, "a search leaves what matches, and selects it", found, names)
    page.key("n")
    after = page.wait(f"{SENTENCE}.startsWith('postgres (') && {SENTENCE}.slice(0, 14) !== {json.dumps(found[:14])} && {SENTENCE}")
    tap.ok(after, "N goes to the next")
    page.key("Escape")


def request_with_disk():
    """A request of the client on whose path is the disk of db, and the disk."""
    requests = json.loads(subprocess.run([lull, "requests", "--json", "--host", "client", "--port", "80", *traces], env=env,
                                         capture_output=True, check=True).stdout)["requests"]
    for request in requests[1:]:
        path = json.loads(subprocess.run([lull, "critpath", "--json", "--request", str(request["id"]), *traces], env=env,
                                         capture_output=True, check=True).stdout)
        disks = [s for s in path["segments"] if s["cause"] == "disk" and s["host"] == "db"]
        if disks:
            return request["id"], disks
    return None, None


def check_walk(page):
    request, disks = request_with_disk()
    for _ in range(30):  # Tab and Enter alone
        page.key("Tab")
        if page.run("document.activeElement.textContent") == "Requests":
            break
    page.key("Enter")
    rows = page.wait("document.querySelectorAll('[data-request]').length")
    for _ in range(rows):
        if page.run("document.activeElement.dataset.request") == str(request):
            break
        page.key("ArrowDown")
    page.key("Enter")
    first = page.wait(f"{SENTENCE}.startsWith('python3 (') && {SENTENCE}")
    tap.ok(first and "on client waited" in first and "the network" in first, "a request leads to the wait of its client", first)
    said, hosts = first, set()
    for _ in range(30):
        page.key("Enter")
        said = page.wait(f"{SENTENCE} !== {json.dumps(said)} && !{SENTENCE}.startsWith('Looking') && {SENTENCE}", 10) or ""
        hosts |= set(re.findall(r"\) on (\w+)", said))
        if "for the disk" in said or not said:
            break
    start = page.run("location.pathname") and disks[0]["begin_ns"]
    tap.ok(said.startswith("postgres (") and "on db waited in fdatasync for the disk vda" in said and "httpd" in hosts,
           "Enter leads from there through httpd to the disk of db", said, hosts, start)
    tids = {str(s["tid"]) for s in disks}
    tap.ok(re.match(r"postgres \((\d+)\)", said) and re.match(r"postgres \((\d+)\)", said)[1] in tids, "which is the one on the critical path", said, tids)
    colors = page.run(COLORS)
    tap.ok(colors.get("flow", 0) > 5, "the critical flow paints", colors)
    picture(page, "disk")
    page.key("Backspace")
    back = page.wait(f"!{SENTENCE}.includes('for the disk') && {SENTENCE}")
    tap.ok(back and "postgres" in back, "Backspace comes back", back)


def check_reload(page):
    settle(page, "1")
    before, said = page.run("location.hash"), page.run(SENTENCE)
    page.call("Page.reload")
    page.wait(f"document.querySelector('.sentence') && {SENTENCE}.length > 20 && "
              "document.querySelectorAll('[data-panel=flow] .name').length > 3")
    after = settle(page, "location.hash")
    tap.ok(after == before and all(f"{key}=" in before for key in ("t", "s", "sel", "v", "path")), "the address holds it all", before, after)
    again = page.wait(f"{SENTENCE} === {json.dumps(said)}", 5) and said
    colors = page.wait(f"(found => found.flow > 5 && found.tasks > 5 && found)({COLORS})")
    tap.ok(again and colors, "and a reload shows it again", said, page.run(SENTENCE), page.run(COLORS))


def names(page, panel):
    return page.run(f"[...document.querySelectorAll('[data-panel={panel}] .name')].map(one => [one.querySelector('.text').textContent, "
                    "one.querySelector('.detail').textContent, one.classList.contains('pinned')])")


def check_pins(page):
    """Rows that are pinned stay at the top, and are in the address, as host and tid."""
    before = page.run("location.hash")
    tid = re.match(r"postgres \((\d+)\)", page.run(SENTENCE))[1]
    tap.ok(address(page)["sel"].startswith(f"db:{tid}@"), "the address names the selected task by host and tid", address(page))
    page.run("location.hash = location.hash.replace(/v=[a-z,]*/, 'v=tasks,cpus')")
    settle(page, "1")
    page.key("p")
    page.key("PageUp")
    page.wait("document.querySelectorAll('[data-panel=tasks] .pinned').length")
    page.run("document.querySelector('[data-panel=tasks] .scroller').scrollTop = 1e6")
    scrolled = page.wait("(found => found && found[0].classList.contains('pinned') && found[1].textContent.length && [...found].map(one => one.offsetTop))"
                         "(document.querySelectorAll('[data-panel=tasks] .name'))")
    lines = names(page, "tasks")
    tap.ok(lines[0] == ["postgres", f"{tid} · db", True] and not any(line[2] for line in lines[1:]) and scrolled[0] == 0 and scrolled[1:] == sorted(scrolled[1:]) and
           scrolled[1] == 22, "P holds the selected row above the others", lines[:3], scrolled)
    picture(page, "pins")
    pinned = settle(page, "location.hash")
    page.call("Page.reload")
    page.wait("document.querySelectorAll('[data-panel=tasks] .pinned').length")
    tap.ok(address(page)["p"] == f"db:{tid}" and names(page, "tasks")[0][2] and settle(page, "location.hash") == pinned, "also after a reload", pinned)
    page.run("document.querySelector('.pinned .fold').click()")
    gone = page.wait("!document.querySelector('.pinned')")
    tap.ok(gone and "p" not in dict(part.split("=", 1) for part in settle(page, "location.hash")[1:].split("&")), "a click lets it go", page.run("location.hash"))
    page.run(f"location.hash = {json.dumps(before)}")
    page.wait("document.querySelectorAll('[data-panel=flow] .name').length > 3")


def check_arrows(page):
    """[ and ] lead over the arrows of the path, which turn where lull critpath has another task."""
    request = int(address(page)["path"])
    path = json.loads(subprocess.run([lull, "critpath", "--json", "--request", str(request), *traces], env=env, capture_output=True, check=True).stdout)
    origin = int(ask(page, "trace")["start"])
    steps = path["segments"]
    turns = [(b["begin_ns"] - origin, a, b) for a, b in zip(steps, steps[1:]) if (a["host"], a["tid"]) != (b["host"], b["tid"])]
    known = [turn for turn in turns if turn[1]["tid"] > 0 and turn[2]["tid"] > 0][2:4]
    page.run(f"location.hash = location.hash.replace(/sel=[^&]*/, 'sel={known[0][1]['host']}:{known[0][1]['tid']}@{known[0][0] - 2}')")
    settle(page, "1")
    found = []
    for key in "]][[":
        page.key(key)
        settle(page, "1")
        found.append(address(page)["sel"])
    # What no row shows, as interrupts, is stepped over.
    after = [f"{b['host']}:{b['tid']}@{time}" for time, _, b in turns if time >= known[0][0] and b["tid"] > 0][:2]
    last = int(after[1].split("@")[1])
    before = [f"{a['host']}:{a['tid']}@{time - 1}" for time, a, _ in reversed(turns) if time <= last and a["tid"] > 0][:2]
    tap.ok(found == after + before, "] and [ go along the path, from task to task and back", found, after, before)


def check_periods(page):
    """An instance of a period is chosen in a list, and its path is that of lull critpath."""
    before = page.run("location.hash")
    page.run("location.hash = 'v=flow,requests'")
    page.wait("document.querySelectorAll('[data-request]').length")
    page.run("(select => { select.value = 'sync'; select.dispatchEvent(new Event('change')); })(document.querySelector('[data-panel=requests] select'))")
    page.wait("document.querySelector('[data-panel=requests] th:nth-child(4)')?.textContent === 'Captured' && document.querySelectorAll('[data-request]').length")
    page.run("document.querySelector('[data-request]').click()")
    note = page.wait("(found => found.includes(' on db: ') && found)(document.querySelector('[data-panel=flow] .note').textContent)")
    slowest = json.loads(subprocess.run([lull, "critpath", "--json", "--period", PERIOD, "--slowest", "1", *traces], env=env, capture_output=True,
                                        check=True).stdout)["paths"][0]
    settle(page, "1")
    names = {s["comm"] for s in slowest["path"]["segments"] if s["tid"] >= 0}
    shown = set(page.run("[...document.querySelectorAll('[data-panel=flow] .name:not(.host) .text')].map(one => one.textContent)"))
    tap.ok(note and address(page).get("path") == f"period:sync,{slowest['number']}" and names <= shown and address(page).get("requests") == "sync",
           "the slowest instance of a period shows its critical path", note, address(page), slowest["number"], names, shown)
    picture(page, "period")
    page.run(f"location.hash = {json.dumps(before)}")
    page.wait("document.querySelectorAll('[data-panel=flow] .name').length > 3")


def luminance(page):
    red, green, blue = map(int, re.findall(r"\d+", page.run("getComputedStyle(document.body).backgroundColor"))[:3])
    return (red + green + blue) / 765


# Of each line of Control flow and Critical flow, whether its detail, the tid, is seen: it has room beside the name, or is below the line.
SEEN_DETAILS = """[...document.querySelectorAll('[data-panel=tasks] .name, [data-panel=flow] .name')].map(line => {
    const [text, detail] = ['.text', '.detail'].map(one => line.querySelector(one)), box = line.getBoundingClientRect(), own = detail.getBoundingClientRect();
    return [text.textContent, detail.textContent, own.width > 0 && detail.scrollWidth <= Math.ceil(own.width) && own.bottom <= box.bottom + 1 && own.right <= box.right + 1,
        own.left >= text.getBoundingClientRect().right - 1 || own.top >= box.bottom - 1];
}).filter(one => one[1])"""


def check_looks(page):
    light = luminance(page)
    page.dark(True)
    dark = page.wait("matchMedia('(prefers-color-scheme: dark)').matches") and luminance(page)
    tap.ok(light > 0.9 and dark < 0.15, "dark where dark is preferred", light, dark)
    picture(page, "dark")
    page.run("[...document.querySelectorAll('button')].find(one => one.textContent === '◐').click()")
    tap.ok(luminance(page) > 0.9, "and light when one says so")
    page.dark(False)
    for width, height in ((400, 800), (3840, 2160)):
        page.size(width, height)
        wide = page.wait(f"innerWidth === {width} && document.documentElement.scrollWidth")
        colors = page.wait(f"(found => found.flow > 3 && found.cpus > 3 && found)({COLORS})")
        edges = settle(page, "[...document.querySelectorAll('.panel canvas, .axis')].map(one => one.getBoundingClientRect()).map(b => "
                         "[Math.round(b.left), Math.round(b.right)].join()).filter(one => one !== '0,0')")
        tap.ok(wide <= width and colors and len(set(edges)) == 1, f"{width} pixels are enough, and times lie below each other", wide, colors, edges)
        lines = page.run(SEEN_DETAILS)
        # Of names of 8 letters there is room for a tid at any width.
        short = [line for line in lines if len(line[0]) <= 8]
        tap.ok(len(short) > 2 and all(line[2] for line in short) and all(line[3] for line in lines),
               f"{width} pixels: the tids of short names are seen, and no name lies on one", *(line for line in lines if not all(line[2:])))
        picture(page, f"width-{width}")
    page.size(1280, 800)


def check_usage(page):
    """The shares of the whole time are those of lull cputop."""
    before = page.run("location.hash")
    page.run("location.hash = 'v=usage'")
    colors = page.wait(f"(found => found.usage > 1 && found)({COLORS})")
    top = json.loads(subprocess.run([lull, "cputop", "--json", *traces], env=env, capture_output=True, check=True).stdout)["windows"][0]
    length = top["end_ns"] - top["begin_ns"]
    expected = {line["host"]: 100 * line["busy_ns"] / length for line in top["tables"]["per-cpu"]}
    script = """Object.fromEntries([...document.querySelectorAll('[data-panel=usage] .name')].map(one =>
        [one.querySelector('.text').textContent, parseFloat(one.querySelector('.detail')?.textContent)]))"""
    found = page.wait(f"(found => !Object.values(found).some(isNaN) && Object.keys(found).length === 3 && found)({script})") or page.run(script)
    tap.ok(colors and found.keys() == expected.keys() and all(abs(found[host] - expected[host]) < 0.7 for host in found),
           "the use of CPUs is that of lull cputop", found, expected)
    picture(page, "usage")
    # What is seen, as a file.
    page.run("location.hash = 'v=tasks,cpus,flow,usage,io,freq'")
    page.wait("document.querySelectorAll('.panel').length === 6")
    page.run("""window.kept = '';
        (make => { URL.createObjectURL = blob => { blob.text().then(text => { window.kept = text; }); return make.call(URL, blob); }; })(URL.createObjectURL);
        HTMLAnchorElement.prototype.click = () => {};
        [...document.querySelectorAll('.tools button')].find(one => one.textContent === 'SVG').click();""")
    saved = xml.etree.ElementTree.fromstring(page.wait("window.kept"))
    words = {"".join(one.itertext()) for one in saved.iter("{http://www.w3.org/2000/svg}text")}
    boxes = len(list(saved.iter("{http://www.w3.org/2000/svg}rect")))
    tap.ok({"Control flow", "Resources", "Critical flow", "CPU usage", "Disk and network use", "client", "5 s", "20 s"} <= words and boxes > 50,
           "what is seen is saved as SVG, with its times", sorted(words)[:40], boxes)
    page.run(f"location.hash = {json.dumps(before)}")
    page.wait("document.querySelectorAll('[data-panel=flow] .name').length > 3")


WORDS = """Object.fromEntries([...document.querySelectorAll('[data-panel=%s] .lane')].map(one =>
    [one.querySelector('.text').textContent, [...one.querySelectorAll('.detail')].map(two => two.textContent)]))"""


def size(count):
    """As the page writes it, of less than a GiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.{2 - (count >= 10 * unit) - (count >= 100 * unit)}f} {name}"
    return f"{count} B"


def check_io(page):
    """The bytes of the whole time are those of lull iousagetop and lull nettop."""
    before = page.run("location.hash")
    page.run("location.hash = 'v=io,freq'")
    expected = {}
    for verb, table, keys in (("iousagetop", "per-disk-top-sector", ("disk", "read", "written")),
                              ("nettop", "per-interface", ("interface", "received_bytes", "sent_bytes"))):
        done = subprocess.run([lull, verb, "--json", *traces], env=env, capture_output=True, check=True).stdout
        for line in json.loads(done)["windows"][0]["tables"][table]:
            factor = 512 if verb == "iousagetop" else 1
            expected[f"{line['host']} · {line[keys[0]]}"] = [f"{key.split('_')[0]} {size(factor * line[key])}" for key in keys[1:]]
    page.wait(f"(found => Object.values(found).some(one => one.length) && Object.keys(found).length)({WORDS % 'io'})")
    found = {name: [one.split(",")[0] for one in words[:2]] for name, words in page.run(WORDS % "io").items()}
    colors = page.wait(f"(found => found.io > 3 && found)({COLORS})")
    tap.ok(colors and found and all(expected.get(name) == words for name, words in found.items()),
           "what disks and interfaces moved is what lull iousagetop and lull nettop say", found, expected, colors)
    said = page.run("(one => one.offsetHeight > 10 && one.textContent)(document.querySelector('[data-panel=freq] p'))")
    tap.ok(said and said.startswith("No event reported the frequency") and page.run(f"Object.keys({WORDS % 'freq'}).length") == 0,
           "a trace without frequencies says so", said)
    box = page.run("(({left, top}) => [left, top])(document.querySelector('[data-panel=io] canvas').getBoundingClientRect())")
    page.mouse("mouseMoved", box[0] + 300, box[1] + 30)
    tip = page.wait("document.querySelector('[data-panel=io] .tip').textContent")
    tap.ok(re.fullmatch(r"read [\d.]+ \w+ in [\d.]+ ms; written [\d.]+ \w+ in [\d.]+ ms(; [\d.]+ requests at a time)?", tip or ""),
           "the pointer says what was moved when", tip)
    page.mouse("mouseMoved", 5, 5)
    picture(page, "io")
    page.run(f"location.hash = {json.dumps(before)}")
    page.wait("document.querySelectorAll('[data-panel=flow] .name').length > 3")


def check_frequency(page, folder):
    """Of a trace of which all is known."""
    trace = os.path.join(folder, "known")
    known_trace(trace)
    server = Server(lull, env, "--no-browser", trace, verb="view")
    page.call("Page.navigate", url=server.said["view"] + "#v=io,freq")
    words = page.wait(f"(found => (found['CPU 0'] || []).length > 1 && found['CPU 0'])({WORDS % 'freq'})")
    colors = page.wait(f"(found => found.freq > 3 && found.io > 3 && found)({COLORS})")
    tap.ok(words == ["2.10 GHz on average", "12.0 million cycles with a task"] and colors, "frequencies and cycles of a known trace", words, colors)
    picture(page, "frequency")
    page.run("location.hash = 't=0,12000000&s=5000000,7000000&v=io,freq'")
    words = page.wait(f"(found => (found['CPU 0'][0] || '').startsWith('1') && found['CPU 0'])({WORDS % 'freq'})")
    # One panel may have its answer before the other.
    disk = page.wait(f"(found => (found['(8,0)'][0] || '').startsWith('read 0 B') && found['(8,0)'])({WORDS % 'io'})")
    tap.ok(words == ["1.00 GHz on average", "1.00 million cycles with a task"] and (disk or [])[:2] == ["read 0 B, 0 B/s", "written 0 B, 0 B/s"],
           "and of a part that is selected", words, disk)
    page.call("Page.navigate", url="about:blank")
    tap.ok(server.process.wait(30) == 0, "leaving the page ends lull view")


def check_declared(page, folder):
    """Two ranks: one computes for 20 of 40 ms, the other for 30. The pixels between are in the colours that the file says."""
    trace, ms = os.path.join(folder, "ranks"), 1_000_000
    events = [{"t": 0, "n": "mpi:init", "p": {"rank": r}, "pc": {"cpu_id": 0}} for r in (0, 1)]
    events += [{"t": t * ms, "n": "mpi:barrier_begin", "p": {"rank": r}, "pc": {"cpu_id": 0}} for r, t in ((0, 20), (1, 30))]
    events += [{"t": 40 * ms, "n": "mpi:finalize", "p": {"rank": r}, "pc": {"cpu_id": 0}} for r in (0, 1)]
    jsonl_to_ctf.write_trace(events, trace)
    path = os.path.join(os.environ["LULL_SOURCE"], "share", "states", "mpi.states")
    with open(path, encoding="utf-8") as file:
        colors = re.findall("#[0-9a-f]{6}", file.read())
    server = Server(lull, env, "--no-browser", "--states", path, trace, verb="view")
    page.call("Page.navigate", url=server.said["view"] + "#v=states")
    # The lines of the ranks are the third and the fourth; each is looked at near the top of its bar, where no word is.
    share = """(canvas => canvas && [2, 3].map(line => {
        const { data, width } = canvas.getContext('2d').getImageData(0, Math.round((22 * line + 4) * devicePixelRatio), canvas.width || 1, 1);
        const colors = Array.from({ length: width }, (_, x) => '#' + [0, 1, 2].map(i => data[4 * x + i].toString(16).padStart(2, '0')).join(''));
        return %s.map(wanted => colors.filter(color => color === wanted).length / width);
    }))(document.querySelector('[data-panel=states] canvas'))""" % json.dumps(colors)
    found = page.wait(f"(found => found && found[1][1] > 0 && found)({share})")
    expected = [[0.5, 0.5], [0.75, 0.25]]
    tap.ok(len(colors) == 2 and found and all(abs(a - b) < 0.01 for row, want in zip(found, expected) for a, b in zip(row, want)),
           "declared states are as wide as they are long, in the colours of their file", found)
    page.run("document.querySelector('[data-panel=states] .scroller').focus()")
    for _ in range(3):
        page.key("ArrowDown")
    said = page.wait(f"{SENTENCE}.includes('rank 0') && {SENTENCE}")
    tap.ok(said and "MPI ranks was in the state “" in said and "for 20 ms" in said.replace("20.00", "20"), "and a sentence names them", said)
    picture(page, "declared")
    page.call("Page.navigate", url="about:blank")
    server.end()


def call(time, what, name, tid):
    return {"t": time, "n": f"lttng_ust_cyg_profile:func_{what}", "p": {"addr": 0x401000 + 16 * name}, "pc": {"cpu_id": 0},
            "sec": {"vpid": 7, "vtid": tid, "procname": "shop"}}


# The share of a flame graph's line that is of each colour, widest first.
FLAMES = """(canvas => {
    const { data, width } = canvas.getContext('2d').getImageData(0, Math.round((18 * %d + 2) * devicePixelRatio), canvas.width || 1, 1), found = new Map();
    for (let x = 0; x < width; x++) {
        const color = data.slice(4 * x, 4 * x + 4).join();
        found.set(color, (found.get(color) || 0) + 1 / width);
    }
    return [...found.values()].sort((a, b) => b - a).filter(share => share > 0.02);
})(document.querySelector('.flames'))"""


def check_calls(page, folder):
    """f0 calls f1 from 10 to 40 ms and f2 from 40 to 80 of 100 ms, in each of two threads; only one of these does it twice."""
    path, ms = os.path.join(folder, "shop"), 1_000_000
    one = [(0, "entry", 0), (10, "entry", 1), (40, "exit", 1), (40, "entry", 2), (80, "exit", 2), (100, "exit", 0)]
    events = [call(t * ms, what, name, tid) for t, what, name in one for tid in (7, 8)]
    events += [call((t + 100) * ms, what, name, 8) for t, what, name in one]
    jsonl_to_ctf.write_trace(events, path, {"domain": "ust", "tracer_name": "lttng-ust", "hostname": "h"})
    server = Server(lull, env, "--no-browser", path, verb="view")
    page.call("Page.navigate", url=server.said["view"])
    lines = page.wait("(found => found.length > 5 && found)([...document.querySelectorAll('[data-panel=calls] .name .text')].map(one => one.textContent))")
    tap.ok(lines == ["h", "shop", "level 1", "level 2", "shop", "level 1", "level 2"], "calls have a line for each level, below their task", lines)
    page.wait(f"(found => found.calls > 2 && found)({COLORS})")
    page.run("document.querySelector('[data-panel=calls] .scroller').focus()")
    page.run("location.hash = location.hash.replace(/&sel=.*|$/, '&sel=h:call:7:1@20000000')")
    said = page.wait(f"{SENTENCE}.includes('was in') && {SENTENCE}")
    tap.ok(said and said.startswith("shop (7) was in 0x401010, called by 0x401000, for 30.00 ms"), "a call says who called it", said)
    page.run("document.querySelector('nav button[title*=Flame]').click()")
    words = page.wait("(found => found.includes('shop (7)') && found)(document.querySelector('[data-panel=flames] .note').textContent)")
    shares = page.wait(f"(found => found.length === 3 && found)({FLAMES % 3})") or page.run(FLAMES % 3)
    # Below f0, which takes 30 of 100 ms by itself, f2 takes 40 and f1 30: a third has nothing in it, or is as wide as f1.
    tap.ok(words and len(shares) == 3 and all(abs(a - b) < 0.02 for a, b in zip(shares, (0.4, 0.3, 0.3))), "its flame graph", words, shares)
    picture(page, "calls")
    page.key("Escape")
    page.wait("(found => found.includes('all tasks') && found)(document.querySelector('[data-panel=flames] .note').textContent)")
    page.run("document.querySelector('[data-panel=flames] .scroller').focus()")
    page.key("ArrowDown")
    said = page.run(SENTENCE)
    tap.ok(said.startswith("shop/8: 200.0 ms, 66.7 % of all"), "and that of all tasks", said)
    for key in ("ArrowDown", "ArrowDown"):
        page.key(key)
    said = page.run(SENTENCE)
    tap.ok(said.startswith("0x401020: 80.00 ms, 26.7 % of all, in itself 80.00 ms; below 0x401000, shop/8"), "keys go to what took longest", said)
    page.key("Enter")
    wide = page.wait(f"(found => found[0] > 0.97 && found)({FLAMES % 3})") or page.run(FLAMES % 3)
    tap.ok(wide[0] > 0.97, "and zoom to it", wide)
    page.size(400, 800)
    tap.ok(page.wait("innerWidth === 400 && document.documentElement.scrollWidth <= 400"), "400 pixels are enough for calls")
    picture(page, "calls-400")
    page.size(1280, 800)
    page.call("Page.navigate", url="about:blank")
    server.end()


def check_why(page):
    """The sentences are those of lull why, and the first leads to a step of that kind in the request that has most of it."""
    kinds = json.loads(subprocess.run([lull, "why", "--json", *traces], env=env, capture_output=True, check=True).stdout)["kinds"]
    expected = [c for kind in kinds for c in kind.get("contributions", [])]
    page.run("location.hash = 'v=why'")
    script = "(found => found.length && found)([...document.querySelectorAll('[data-period=\"%s\"] [data-finding]')].map(one => [one.textContent, one.dataset.finding]))"
    found = page.wait(script % "")
    periods = json.loads(subprocess.run([lull, "why", "--json", "--period", PERIOD, *traces], env=env, capture_output=True, check=True).stdout)["kinds"]
    of_period = [(c["sentence"], str(c["most"])) for kind in periods for c in kind.get("contributions", [])]
    told = page.run(script % "sync")
    tap.ok(of_period and len(told) == len(of_period) and all(sentence in said and number == most for (said, number), (sentence, most) in zip(told, of_period)),
           "so are those of a period", told, of_period)
    tap.ok(expected and len(found) == len(expected) and all(c["sentence"] in said and str(c["most"]) == most for (said, most), c in zip(found, expected)),
           f"its {len(expected)} sentences are those of lull why", found, expected)
    page.wait("document.activeElement.dataset.finding")
    page.key("Enter")
    said = page.wait(f"{SENTENCE}.includes('critical path') && {SENTENCE}") or page.run(SENTENCE)
    tap.ok(said.startswith(expected[0]["comm"]) and f"on {expected[0]['host']} " in said, "Enter on a sentence goes to what it is about", said, expected[0])
    settle(page, "1")
    start, end = map(int, address(page).get("s", "0,0").split(","))
    path = json.loads(subprocess.run([lull, "critpath", "--json", "--request", found[0][1], *traces], env=env, capture_output=True, check=True).stdout)
    alike = [s["end_ns"] - s["begin_ns"] for s in path["segments"]
             if all(s[key] == expected[0][key] for key in ("host", "comm", "state", "cause"))]
    tap.ok(alike and end - start == max(alike), "which is the longest such step of that request", end - start, alike)
    picture(page, "why")


def ask(page, what, **parameters):
    return page.run(f"""fetch('api/{what}', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }},
        body: JSON.stringify({{ parameters: {json.dumps(parameters)} }}) }}).then(answer => answer.json())""")


def click(page, x, y):
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)


def check_latency(page):
    """A click on a point selects its time and its task, whose path is shown; so does Enter in the list."""
    page.run("location.hash = 'v=flow,latency&latency=block'")
    page.wait(f"(found => found.latency > 1 && found)({COLORS})")
    settle(page, "1")
    start, end = seen(page)
    answer = ask(page, "latency", kind="block", start=start, end=end, columns=1, lines=1)
    chosen = max(answer["points"], key=lambda point: point[1])  # nothing lies above it
    box = page.run("(b => [b.left, b.top, b.width, b.height])(document.querySelector('[data-panel=latency] .sticky > canvas').getBoundingClientRect())")
    click(page, box[0] + (chosen[0] - start) / (end - start) * box[2], box[1] + 8)
    shown = page.wait("document.querySelectorAll('[data-panel=flow] .name').length > 1 && document.querySelectorAll('[data-panel=flow] .name').length")
    settle(page, "1")
    tap.ok(shown and address(page).get("s") == f"{chosen[0]},{chosen[0] + chosen[1]}" and
           f":{ask(page, 'trace')['rows'][chosen[2]][4]}@" in address(page).get("sel", ""), "a click on a point selects it, and shows what was waited for", chosen, address(page))
    picture(page, "latency")
    page.key("Escape")
    page.run("[...document.querySelectorAll('[data-panel=latency] button')].find(one => one.textContent === 'Longest').click()")
    longest = page.wait("(found => found && found.dataset.point)(document.querySelector('[data-panel=latency] tbody tr'))")
    page.run("document.querySelector('[data-panel=latency] tbody tr').focus()")
    page.key("Enter")
    settle(page, "1")
    tap.ok(longest == str(chosen[0]) and address(page).get("s") == f"{chosen[0]},{chosen[0] + chosen[1]}", "the longest is first in the list", longest, address(page))
    page.run("location.hash = 'v=latency&latency=syscalls,statistics'")
    rows = page.wait("(found => found.length > 9 && found)([...document.querySelectorAll('[data-panel=latency] tr[data-name]')].map(one => "
                     "[one.dataset.name, one.children[1].textContent]))")
    stats = json.loads(subprocess.run([lull, "syscallstats", "--json", *traces], env=env, capture_output=True, check=True).stdout)
    expected = {}
    for row in stats["windows"][0]["tables"]["per-tid"]:
        expected[row["syscall"]] = expected.get(row["syscall"], 0) + row["count"]
    tap.ok(dict((name, int(count)) for name, count in rows) == expected, f"statistics have the {len(expected)} system calls of lull syscallstats",
           rows, expected)
    picture(page, "latency-statistics")
    page.run("document.querySelector('[data-panel=latency] tr[data-name=fdatasync]').click()")
    only = page.wait(f"(found => found.latency > 1 && found)({COLORS})") and settle(page, "location.hash")
    tap.ok(only and "latency=syscalls%2Cpicture%2Cfdatasync" in only, "a click on a name leaves that one, and the address says so", only)


def event_lines(page):
    """[[cells], …] of the lines of Events that are drawn."""
    return page.run("[...document.querySelectorAll('.lines .line')].map(line => [...line.children].map(cell => cell.textContent))")


def check_events(page):
    """The events are those of lull print, around what is selected; a filter, a text and the keys lead to others."""
    page.run("location.hash = 'v=tasks,events'")
    page.wait("document.querySelectorAll('.lines .line').length > 5")
    lines = event_lines(page)
    origin = int(ask(page, "trace")["start"])
    printed = subprocess.run([lull, "print", "--json", "--limit", "5", *traces], env=env, capture_output=True, check=True).stdout.splitlines()
    expected = [[f"{(event['time_ns'] - origin) / 1e9:.9f} s", event["host"], event["name"]] for event in map(json.loads, printed)]
    tap.ok([[line[0], line[1], line[4]] for line in lines[:5]] == expected, "the first events come first", lines[:5], expected)
    picture(page, "events")
    page.run("(input => { input.value = 'name == \"block_rq_complete\"'; input.dispatchEvent(new Event('change')); })(document.querySelector('.filter'))")
    page.wait("(found => found.length > 5 && found.every(one => one.textContent === 'block_rq_complete'))([...document.querySelectorAll('.lines .is-event')])")
    completed = [json.loads(line) for line in subprocess.run([lull, "print", "--json", "--limit", "0", "--filter", 'name == "block_rq_complete"', *traces],
                                                            env=env, capture_output=True, check=True).stdout.splitlines()]
    lines = event_lines(page)
    times = [f"{(event['time_ns'] - origin) / 1e9:.9f} s" for event in completed]
    tap.ok(len(lines) > 5 and [line[0] for line in lines] == times[:len(lines)], "a filter leaves what passes it", lines[:3], times[:3])
    # What is farther down comes while one scrolls.
    last = page.wait(f"document.querySelector('.events').scrollTop = 1e7, (found => found && found.textContent.includes('{times[-1]}') && found.textContent)([...document.querySelectorAll('.lines .line')].pop())")
    tap.ok(last, "one can scroll to the last", event_lines(page)[-1:], times[-1])
    page.run("document.querySelector('.lines .line:last-child').click()")
    settle(page, "1")
    at = completed[-1]["time_ns"] - origin
    hash_ = address(page)
    tap.ok(hash_.get("events") and (hash_.get("sel", "").endswith(f"@{at}") or "sel" not in hash_), "a click selects its time and who was on the CPU", hash_, at)
    page.run("document.querySelector('.events').focus()")
    page.key("ArrowUp")
    up = page.wait(f"(found => found && found.textContent.includes('{times[-2]}') && found.textContent)(document.querySelector('.lines .selected'))")
    tap.ok(up, "and a key the one before", up)
    page.run("(input => { input.value = ''; input.dispatchEvent(new Event('change')); })(document.querySelector('.filter'))")
    page.key("Escape")
    page.wait("(found => found && found.startsWith('0.000000000'))(document.querySelector('.lines .line')?.textContent)")
    page.run("(input => { input.value = 'sched_process_exec'; input.focus(); })(document.querySelector('[aria-label^=\"Find\"]'))")
    page.key("Enter")
    found = page.wait("(found => found && found.textContent.includes('sched_process_exec') && found.textContent)(document.querySelector('.lines .selected'))")
    tap.ok(found, "a text is found", found)
    start, end = 5 * 10**9, 5 * 10**9 + 2 * 10**6
    page.run("document.activeElement.blur()")
    settle(page, "1")
    page.run(f"location.hash = 'v=events&t=4000000000,6000000000&s={start},{end}'")
    limited = page.wait("(found => /^\\d+ events of the selected range/.test(found) && found)(document.querySelector('[data-panel=events] .note').textContent)")
    count = len(subprocess.run([lull, "print", "--limit", "0", "--begin", str(origin + start), "--end", str(origin + end), *traces],
                               env=env, capture_output=True, check=True).stdout.splitlines())
    tap.ok(limited and int(limited.split()[0]) == count, "a selected range limits them", limited, count)


def check_words(page):
    rows = page.run("[...document.querySelectorAll('[role=treegrid] [role=row]')].every(one => one.getAttribute('aria-level') > 0)")
    names = page.run("[...document.querySelectorAll('button, input, canvas, [role=treegrid]')].filter(one => !one.textContent && "
                     "!one.getAttribute('aria-label') && !one.getAttribute('aria-hidden')).length")
    live = page.run("document.querySelector('.sentence').getAttribute('aria-live')")
    tap.ok(rows and names == 0 and live == "polite", "it can be read aloud", rows, names, live)
    page.key("?")
    tap.ok(page.wait("document.querySelector('dialog').open && document.querySelectorAll('dialog dt').length > 15"), "'?' lists the keys")
    page.key("Escape")


# What the page tells the server at once when it is hidden, and when it is seen again.
HIDDEN_AND_BACK = """(() => {
    const sent = [], fetched = window.fetch;
    window.fetch = (...call) => (sent.push(String(call[1]?.body)), fetched(...call));
    for (const value of [true, false]) {
        Object.defineProperty(document, 'hidden', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }
    window.fetch = fetched;
    return sent.filter(body => body.includes('hidden')).map(body => JSON.parse(body).parameters.hidden);
})()"""


def check_end(page, server):
    # A page is hidden before it is closed: were that its last word, the server would wait for longer.
    tap.ok(page.run(HIDDEN_AND_BACK) == [False], "the page speaks up when it is seen, not when it is hidden")
    tap.ok(page.problems == [], "nothing failed, and nothing was forbidden", *page.problems)
    page.close_page(None)
    # In some seconds; or in 45, if the page was too busy to say goodbye in the half second that Chromium gives it.
    status = server.process.wait(120)
    tap.ok(status == 0, "closing the page ends lull view", status)


# --- names that would be markup, and the page of one path --------------------------------------------------

NAMES = ("</script><b>", "<img src=x>", "<!--<script>")


def hostile_trace(folder):
    """Three tasks take turns, and each wakes the next."""
    events = []
    for i in range(30):
        at, names, tids = 10**18 + i * 10**6, (NAMES[i % 3], NAMES[(i + 1) % 3]), (100 + i % 3, 100 + (i + 1) % 3)
        events.append({"t": at - 1000, "n": "sched_wakeup", "pc": {"cpu_id": 0},
                       "p": {"comm": names[1], "tid": tids[1], "prio": 20, "target_cpu": 0}})
        events.append({"t": at, "n": "sched_switch", "pc": {"cpu_id": 0},
                       "p": {"prev_comm": names[0], "prev_tid": tids[0], "prev_prio": 20, "prev_state": 1,
                             "next_comm": names[1], "next_tid": tids[1], "next_prio": 20}})
    path = os.path.join(folder, "hostile")
    jsonl_to_ctf.write_trace(events, path, {"hostname": "<i>&amp;"})
    return path


def markup(page):
    return page.run("document.querySelectorAll('img, b:not(li b), i, body script:not([id]):not(:last-of-type)').length")


def check_hostile(page, trace):
    server = Server(lull, env, "--no-browser", trace, verb="view")
    page.call("Page.navigate", url=server.said["view"] + "#v=tasks,cpus,flow&sel=%253Ci%253E%2526amp%253B:101@15000000")
    names = page.wait("(found => found.length > 3 && found)([...document.querySelectorAll('.name .text')].map(one => one.textContent))")
    page.wait(f"{SENTENCE}")
    page.key("c")
    page.wait("document.querySelectorAll('[data-panel=flow] .name').length")
    tap.ok(set(NAMES) <= set(names) and "<i>&amp;" in names and markup(page) == 0, "names stay texts", names, markup(page))
    page.call("Page.navigate", url="about:blank")
    server.end()


# How many pixels the arrows add to the picture of a path, and how many they change that steps have painted: what there is without
# arrows against what there is with some of a colour that nothing else has.
BEHIND = """(async () => {
    const draw = arrow => new Promise(done => {
        document.documentElement.style.setProperty('--arrow', arrow);
        window.dispatchEvent(new Event('resize'));
        setTimeout(() => {
            const canvas = document.querySelector('[data-panel=flow] canvas');
            done(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data);
        }, 300);
    });
    const steps = await draw('#00000000'), all = await draw('#ff00ff');
    let added = 0, changed = 0, painted = 0;
    for (let i = 0; i < steps.length; i += 4) {
        const differs = [0, 1, 2, 3].some(k => steps[i + k] !== all[i + k]);
        painted += steps[i + 3] === 255;
        added += differs && steps[i + 3] === 0;
        changed += differs && steps[i + 3] === 255;
    }
    document.documentElement.style.removeProperty('--arrow');
    return [painted, added, changed];
})()"""


def check_path(page, trace, folder):
    """critpath --html: steps are those of --json, and nothing is loaded."""
    for name, arguments in (("hostile", ["--tid", "101", trace]), ("request", ["--request", "165", *traces])):
        file = os.path.join(folder, name + ".html")
        done = subprocess.run([lull, "critpath", "--html", file, "--json", *arguments], env=env, capture_output=True, check=True)
        path = json.loads(done.stdout)
        page.call("Page.navigate", url="file://" + file)
        steps = page.wait("document.querySelector('.note') && parseInt(document.querySelector('.note').textContent)")
        names = set(page.wait("(found => found.length && found)([...document.querySelectorAll('.name .text')].map(one => one.textContent))"))
        tap.ok(steps == len(path["segments"]) and {s["comm"] for s in path["segments"] if s["tid"] >= 0} <= names and markup(page) == 0,
               f"{name}: all {steps} steps are there, and names stay texts", names, markup(page))
    colors = page.wait(f"(found => found.flow > 5 && found)({COLORS})")
    tap.ok(colors, "a path paints", page.run(COLORS))
    painted, added, changed = page.run(BEHIND)
    tap.ok(painted > 500 and added > 100 and changed == 0, "arrows lie behind the steps", painted, added, changed)
    page.run("document.querySelector('.scroller').focus()")
    at = len(path["segments"])
    while at > 0 and path["segments"][at - 1]["cause"] != "network":
        at -= 1
        page.key("ArrowLeft")
    page.key("ArrowLeft")
    said, segment = page.run(SENTENCE), path["segments"][at - 1]
    tap.ok(said.startswith(f"{segment['comm']} ({segment['tid']}) on {segment['host']}: waiting for the network") and
           segment["detail"] in said, "keys go from step to step, and each says what it was", said, segment)
    before = page.run("document.querySelector('.span').textContent")
    page.key("f")
    after = page.wait(f"document.querySelector('.span').textContent !== {json.dumps(before)} && document.querySelector('.span').textContent")
    tap.ok(after, "and it can be zoomed", before, after)
    picture(page, "path")


# Each two texts of the page that lie on one another, and those that reach beyond its right edge; what scrolls on its own may.
CLASHES = """(() => {
    const boxes = [], clashes = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, range = document.createRange(), at = text.parentElement.closest('nav, .scroll, details div, svg, script');
        range.selectNodeContents(text);
        if (text.textContent.trim() && !at) {
            boxes.push(...[...range.getClientRects()].filter(b => b.width > 1).map(b => ({ text, b })));
        }
    }
    boxes.sort((one, two) => one.b.top - two.b.top);
    boxes.forEach((one, i) => {
        for (let j = i + 1; j < boxes.length && boxes[j].b.top < one.b.bottom - 4; j++) {
            const two = boxes[j];
            if (two.text !== one.text && Math.min(one.b.right, two.b.right) - Math.max(one.b.left, two.b.left) > 1) {
                clashes.push(`${one.text.textContent} / ${two.text.textContent}`);
            }
        }
    });
    const wide = boxes.filter(one => one.b.right > innerWidth).map(one => one.text.textContent);
    return [boxes.length, clashes, wide];
})()"""


def check_report(page, folder):
    """stats --html on a telephone: charts of several hosts and histograms, whose words have room."""
    file = os.path.join(folder, "report.html")
    subprocess.run([lull, "stats", "--html", file, *traces], env=env, capture_output=True, check=True)
    page.call("Page.navigate", url="file://" + file)
    page.size(400, 800)
    texts, clashes, wide = page.wait("innerWidth === 400 && document.querySelectorAll('.x').length > 3 && document.readyState === 'complete' && "
                                     f"{CLASHES}") or page.run(CLASHES)
    cut = page.run("[...document.querySelectorAll('.y span')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)")
    tap.ok(texts > 200 and not clashes and not wide, "400 pixels are enough for a report: no two texts touch", texts, clashes, wide)
    tap.ok(not cut, "and the names of CPUs are whole", cut)
    shown = page.run("""[...document.querySelectorAll('#longest svg')].map(svg => [svg, svg.getBoundingClientRect()]).filter(one => one[1].width).map(([svg, box]) => [
        Math.round(box.left), Math.round(box.right), [...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect()).filter(b => b.right > box.right + 1 || b.left < box.left - 1).length,
        svg.closest('div').scrollWidth > svg.closest('div').clientWidth, svg.querySelectorAll('text').length, Number(getComputedStyle(svg.querySelector('text')).fontSize.slice(0, -2)) * box.width / svg.viewBox.baseVal.width])""")
    tap.ok(len(shown) == 1 and shown[0][0] >= 0 and shown[0][1] <= 400 and shown[0][2] == 0 and not shown[0][3] and shown[0][4] > 5 and shown[0][5] > 9,
           "the picture of what took longest fits, with all its words, and they can be read", shown)
    page.run("document.querySelector('#longest').scrollIntoView()")
    picture(page, "longest-400")
    page.run("scrollTo(0, 0)")
    picture(page, "report-400")
    page.size(1280, 800)


# --- a trace that is still being indexed -------------------------------------------------------------------

# How far to the right the task's line is painted, from 0 to 1.
PAINTED = """(canvas => {
    const { data, width } = canvas.getContext('2d').getImageData(0, 33 * devicePixelRatio, canvas.width || 1, 1);
    let right = 0;
    for (let x = 0; x < width; x++) {
        right = data[4 * x + 3] && Math.max(data[4 * x], data[4 * x + 1], data[4 * x + 2]) - Math.min(data[4 * x], data[4 * x + 1], data[4 * x + 2]) > 40 ? x + 1 : right;
    }
    return right / width;
})(document.querySelector('[data-panel=tasks] canvas'))"""


def check_growing(page):
    """A machine may be too fast to be seen at work; then the trace is made longer."""
    for packets in (24, 96, 288, 864):
        with tempfile.TemporaryDirectory(prefix="lull-growing-") as trace:
            make(trace, packets)
            server = Server(lull, env, "--no-browser", trace, verb="view", waits=False)
            page.call("Page.navigate", url=server.said["view"] + "#v=tasks")
            first = page.wait(f"document.querySelectorAll('[data-panel=tasks] .name').length > 1 && (share => share > 0 && [share, document.querySelector('progress').hidden])({PAINTED})")
            is_seen = first and not first[1]
            if is_seen:
                picture(page, "growing")
                last = page.wait(f"(share => document.querySelector('progress').hidden && share > 0.99 && share)({PAINTED})")
                tap.ok(last, "while a trace is indexed, the page shows what is finished, and fills in", first, page.run(PAINTED))
            page.call("Page.navigate", url="about:blank")
            server.end()
            if is_seen:
                return
    tap.ok(False, "the page is there before the end of indexing")


tap.run("sources", check_sources)
if not browser.find():
    tap.skip("the page", "there is no Chromium")
    sys.exit(tap.done())
try:
    view = Server(lull, env, "--no-browser", "--period", PERIOD, *traces, verb="view")
except RuntimeError as failure:
    if "without" not in str(failure):
        raise
    tap.skip("the page", "built without it")
    sys.exit(tap.done())
window = browser.Browser()
try:
    window.open("about:blank")
    window.size(1280, 800)
    with tempfile.TemporaryDirectory(prefix="lull-path-") as directory:
        hostile = hostile_trace(directory)
        tap.run("hostile", check_hostile, window, hostile)
        tap.run("path", check_path, window, hostile, directory)
        tap.run("report", check_report, window, directory)
        tap.run("frequency", check_frequency, window, directory)
        tap.run("declared", check_declared, window, directory)
        tap.run("calls", check_calls, window, directory)
    tap.run("growing", check_growing, window)
    window.call("Page.navigate", url=view.said["view"])
    # What is of the page alone is the same whatever the server was built with.
    page_alone = () if os.environ.get("LULL_SANITIZED") else (check_usage, check_io, check_looks, check_words, check_why, check_latency, check_events)
    for check in (check_start, check_zoom, check_history, check_search, check_walk, check_reload, check_pins, check_arrows, check_periods, *page_alone):
        tap.run(check.__name__, check, window)
    tap.run("end", check_end, window, view)
finally:
    window.end()
sys.exit(tap.done())
