#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Keeps the documents true: links lead somewhere, command lines that are shown work, every verb has its manual page, every
# public function its comment and its line in the symbol map.
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

source = os.environ["LULL_SOURCE"]
lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()


def read(path):
    with open(os.path.join(source, path), encoding="utf-8") as file:
        return file.read()


def documents():
    """Markdown files of this repository, without those in build directories."""
    found = []
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders
                            if not name.startswith((".", "build")) and name != "node_modules")
        found += [os.path.relpath(os.path.join(folder, name), source) for name in sorted(names) if name.endswith(".md")]
    return found


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text):
    """The anchors that GitHub makes of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL),
                                      flags=re.MULTILINE)}


def links():
    for document in documents():
        broken = []
        for target in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", without_code(read(document))):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
            if not os.path.exists(os.path.join(source, file)):
                broken.append(f"{target}: no such file")
            elif anchor and file.endswith(".md") and anchor not in anchors(read(file)):
                broken.append(f"{target}: no such heading")
        tap.ok(not broken, f"{document}: links lead somewhere", "\n".join(broken))


def console_commands(text):
    """Lines after `$ ` in blocks marked console."""
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^\$ (.*)$", block.replace("\\\n", " "), flags=re.MULTILINE):
            yield line


def readme_outputs():
    """What README shows of outputs is in them, line by line."""
    shown = re.findall(r"^```text\n(.*?)^```", read("README.md"), flags=re.MULTILINE | re.DOTALL)
    questions = [["critpath", "--request", "32"], ["why", "--port", "80", "--limit", "2"]]
    tap.ok(len(shown) == len(questions), "README.md: outputs are shown", len(shown))
    for text, (verb, *words) in zip(shown, questions):
        result = subprocess.run([lull, verb, os.path.join(samples, "django"), *words], capture_output=True, text=True, timeout=200)
        lines = result.stdout.replace(os.path.join(samples, "django"), "build/demo/django").splitlines()
        missing = [line for line in text.splitlines() if line not in lines]
        tap.ok(result.returncode == 0 and not missing, f"README.md: shows what lull {verb} says", "\n".join(missing), result.stdout)


def run_shown(document, line, scratch):
    """Runs one shown command; the samples are where the demo unpacks them."""
    words = shlex.split(line, comments=True)
    if os.path.basename(words[0]) != "lull":
        return
    words = [lull] + [word.replace("build/demo/django", "django") for word in words[1:]]
    try:
        result = subprocess.run(words, cwd=scratch, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)
        tap.ok(result.returncode == 0, f"{document}: works: {line}", f"exit {result.returncode}", result.stderr[-2000:])
    except subprocess.TimeoutExpired:
        tap.ok(False, f"{document}: works: {line}", "took more than 200 s")


def shown_commands():
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(os.path.join(samples, "django"), os.path.join(scratch, "django"))
        os.makedirs(os.path.join(scratch, "build", "demo"))
        for document in documents():
            for line in console_commands(read(document)):
                if re.search(r"[|><;&]", line):
                    tap.ok(False, f"{document}: is one plain command: {line}", "no pipes in console blocks")
                else:
                    run_shown(document, line, scratch)


def verbs():
    """Names of the verbs, from their table."""
    return [name.replace("_", "-") for name in re.findall(r"&lull_verb_(\w+),", read("src/cmd/verbs.c"))]


def verbs_are_documented():
    names = verbs()
    tap.ok(len(names) >= 5, "src/cmd/verbs.c lists the verbs", names)
    help_text = subprocess.run([lull, "--help"], capture_output=True, text=True, timeout=60, check=False).stdout
    readme = read("README.md")
    for name in names:
        tap.ok(re.search(rf"^\s*{name}\b", help_text, flags=re.MULTILINE), f"lull --help lists {name}", help_text)
        tap.ok(re.search(rf"`lull {name}\b", readme), f"README.md says what `lull {name}` does")
        result = subprocess.run([lull, name, "--help"], capture_output=True, text=True, timeout=60, check=False)
        tap.ok(result.returncode == 0 and "lull " + name in result.stdout, f"lull {name} --help", result.stderr)
        manual_page(f"lull-{name}.1")
    manual_page("lull.1")


def manual_page(name):
    page = os.path.join(os.path.dirname(lull), "man", name)
    if not tap.ok(os.path.exists(page), f"{name}: is there", page):
        return
    if name.endswith(".3"):
        page_has_functions(name, page)
    if not shutil.which("groff"):
        tap.skip(f"{name}: groff has no complaint", "groff is not installed")
        return
    result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", "-K", "utf-8", page], capture_output=True,
                            text=True, timeout=60, check=False)
    # groff-base alone has no preconv, hence no -K.
    if "preconv" in result.stderr:
        tap.skip(f"{name}: groff has no complaint", "preconv is not installed")
        return
    tap.ok(result.returncode == 0 and not result.stderr, f"{name}: groff has no complaint", result.stderr)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def public_headers():
    folder = os.path.join("include", "lull")
    return [os.path.join(folder, name) for name in sorted(os.listdir(os.path.join(source, folder)))
            if name.endswith((".h", ".h.in"))]


def public_functions(text):
    """Those that the library exports; what is inline is made of them."""
    text = re.sub(r"^static inline [^;]*?^{.*?^}", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\b(lull_\w+)\(", re.sub(r"^\s*#.*$", "", without_comments(text), flags=re.MULTILINE))


def headers_are_documented():
    """A comment stands before each function, or before the group of lines without an empty line that it is in."""
    for header in public_headers():
        text = read(header)
        tap.ok(text.startswith("/*"), f"{header}: says what it is for")
        for name in public_functions(text):
            before = text[:re.search(rf"\b{name}\(", re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                                                            flags=re.DOTALL)).start()]
            tap.ok("/*" in before.rsplit("\n\n", 1)[-1], f"{header}: {name} is commented")


def page_has_functions(name, page):
    """The manual page of a header shows each of its functions."""
    header = next(path for path in public_headers()
                  if os.path.basename(path).split(".")[0] == name.removeprefix("lull-").removesuffix(".3"))
    with open(page, encoding="utf-8") as file:
        shown = set(re.findall(r"\blull_\w+(?=\()", file.read()))
    missing = set(public_functions(read(header))) - shown
    tap.ok(not missing, f"{name}: shows each function of its header", sorted(missing))


def library_is_documented():
    """A manual page for each header, and an example or the Python module that uses each function."""
    users = ""
    for folder in ("examples", "python"):
        for name in sorted(os.listdir(os.path.join(source, folder))):
            users += without_comments(read(os.path.join(folder, name))) if name.endswith(".c") else ""
    users = users.replace("LULL_ERROR,", "lull_error_quark")
    for header in public_headers():
        manual_page(f"lull-{os.path.basename(header).split('.')[0]}.3")
        unused = [name for name in public_functions(read(header))
                  if not re.search(rf"\b{name.removesuffix('_sized')}\b", users)]
        tap.ok(not unused, f"{header}: each function is used by an example or by the Python module", unused)


def symbol_map():
    functions = {name for header in public_headers() for name in public_functions(read(header))}
    entries = re.findall(r"^\s*(lull_\w+);", without_comments(read("src/liblull.map")), flags=re.MULTILINE)
    exported = set(entries)
    tap.ok(entries == sorted(exported), "src/liblull.map is in order and names nothing twice",
           f"twice: {sorted(name for name in exported if entries.count(name) > 1)}")
    tap.ok(functions == exported, "src/liblull.map exports what the public headers declare",
           f"not exported: {sorted(functions - exported)}", f"not declared: {sorted(exported - functions)}")


def code_files():
    """Path and text of each C file and header."""
    for top in ("src", "include", "python"):
        for folder, _, names in os.walk(os.path.join(source, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.relpath(os.path.join(folder, name), source)
                    yield path, read(path)


def defines(text, function):
    """Whether the function's body is here: its name in a line without indentation that is not a declaration."""
    return re.search(rf"^[A-Za-z][^;=]*\b{function}\([^;{{]*\)\s*{{", text, flags=re.MULTILINE) is not None


def how_it_works():
    """docs/HOWITWORKS.md names files and functions that exist, and its event and its line of a path are real."""
    page = read("docs/HOWITWORKS.md")
    code = dict(code_files())
    rows = re.findall(r"^\| `(\w+)\(\)` \| `([\w/.]+)` \|", page, flags=re.MULTILINE)
    tap.ok(len(rows) >= 10, "HOWITWORKS.md walks through the functions of one event", rows)
    for function, path in rows:
        tap.ok(defines(code.get(path, ""), function), f"HOWITWORKS.md: {function}() is in {path}")
    everything = "\n".join(code.values())
    for function in sorted(set(re.findall(r"`(\w+)\(\)`", page)) - {name for name, _ in rows}):
        tap.ok(re.search(rf"\b{function}\(", everything), f"HOWITWORKS.md: {function}() exists")
    paths = set(re.findall(r"`((?:src|include|tests|python)/[\w/.]*)`", page))
    missing = sorted(path for path in paths if not os.path.exists(os.path.join(source, path)))
    tap.ok(len(paths) > 40 and not missing, "HOWITWORKS.md: every file it names exists", missing)
    bases = {os.path.basename(path) for path in code}
    missing = sorted(set(re.findall(r"`(\w+\.[ch])`", page)) - bases)
    tap.ok(not missing, "HOWITWORKS.md: every file it names without a folder exists", missing)
    for block, arguments in zip(re.findall(r"^```text\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL),
                                ("print --host httpd --begin 2026-11-21T01:01:46.883330 --events sched_switch --limit 1",
                                 "critpath --request 32")):
        verb, *words = arguments.split()
        tap.ok(f"lull {verb} build/demo/django " + " ".join(words) in page, f"HOWITWORKS.md shows lull {arguments}")
        result = subprocess.run([lull, verb, os.path.join(samples, "django"), *words], capture_output=True, text=True,
                                timeout=100, check=False)
        shown = block.split() if verb == "print" else block.splitlines()[-1].split()
        tap.ok(" ".join(shown) in " ".join(result.stdout.split()), f"HOWITWORKS.md: lull {arguments} prints what is shown",
               result.stdout[:2000], result.stderr)


def packages():
    """The Debian packages have Lull's version, and the library's package the name that its soname asks for."""
    version = re.search(r"version: '([\d.]+)'", read("meson.build")).group(1)
    tap.ok(read("debian/changelog").startswith(f"lull ({version})"), "debian/changelog has the version of meson.build", version)
    result = subprocess.run(["readelf", "-d", os.path.join(os.environ["LULL_BUILD"], "src", "liblull.so")],
                            capture_output=True, text=True, timeout=60, check=False)
    soname = re.search(r"soname: \[liblull\.so\.(\d+)\]", result.stdout)
    tap.ok(soname and f"\nPackage: liblull{soname.group(1)}\n" in read("debian/control"),
           "debian/control names the library's package after its soname", result.stdout[-500:])


tap.run("how it works", how_it_works)
tap.run("packages", packages)
tap.run("outputs of README", readme_outputs)
tap.run("links", links)
tap.run("shown commands", shown_commands)
tap.run("verbs", verbs_are_documented)
tap.run("headers", headers_are_documented)
tap.run("library", library_is_documented)
tap.run("symbol map", symbol_map)
sys.exit(tap.done())
