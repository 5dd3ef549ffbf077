#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the table of rooms in CONTRIBUTING.md against the code.

    tools/layers.py [BUILD]

Every #include of src/ must point to the file's own room or to one that its row allows. If BUILD is a build directory,
the same holds for symbols: what an object uses from another object (nm) must lie in an allowed room. Exit 1 with one
line for each breach."""
import os
import re
import subprocess
import sys

ROW = re.compile(r"^\| (`(?:src|include|python)/[^|]*) \|[^|]*\| ([^|]*) \|$", re.M)
EXCEPTIONS = re.compile(r"^place where a symbol may point that way: (.*)$", re.M)


class Rooms:
    """The table: for each room the rooms it may use, and the private headers it may include besides."""

    def __init__(self, text):
        direct, self.headers = {}, {}
        for names, allowed in ROW.findall(text):
            uses = [] if allowed.strip() == "–" else [part.strip(" `") for part in allowed.split(",")]
            for name in re.findall(r"`([^`]+)/`", names):
                room = name.removeprefix("src/")
                direct[room] = [use for use in uses if not use.endswith(".h")]
                self.headers[room] = {use for use in uses if use.endswith(".h")}
        if not direct:
            sys.exit("layers: CONTRIBUTING.md has no table of rooms")
        for room, uses in direct.items():
            for use in uses:
                if use not in direct:
                    sys.exit(f"layers: the row of {room} names {use}, which has no row")
        self.allowed = {room: self.closure(direct, room) for room in direct}
        self.tables = set(re.findall(r"`([^`]+)`", "".join(EXCEPTIONS.findall(text))))

    @staticmethod
    def closure(direct, room):
        seen, todo = set(), [room]
        while todo:
            next_room = todo.pop()
            if next_room not in seen:
                seen.add(next_room)
                todo += direct[next_room]
        return seen

    def of(self, path):
        """The room of a file below src/: its folder."""
        room = os.path.dirname(path)
        if room not in self.allowed:
            sys.exit(f"layers: src/{path} lies in no room of CONTRIBUTING.md's table")
        return room


def is_private(header):
    return re.search(r"(^|[/_])private\.h$", header) is not None


def check_includes(rooms, files):
    for path in files:
        room = rooms.of(path)
        with open(os.path.join("src", path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                found = re.match(r'\s*#\s*include "([^"]+)"', line)
                if not found or "/" not in found[1]:
                    continue
                header = found[1]
                target = rooms.of(header)
                where = f"src/{path}:{number}: "
                if header in rooms.headers[room]:
                    continue
                if target not in rooms.allowed[room]:
                    yield f"{where}{room} may not include {header}"
                elif is_private(header) and target != room:
                    yield f"{where}{header} is private to {target}"


def symbols(build):
    """(object, symbol, kind) of all objects that the build made of src/; objects as Meson names them."""
    objects = []
    for folder, _, names in os.walk(os.path.join(build, "src")):
        objects += [os.path.join(folder, name) for name in names if name.endswith(".o")]
    if not objects:
        sys.exit(f"layers: there are no objects in {build}/src: build first")
    lines = subprocess.run(["nm", "-A", "-P", *objects], capture_output=True, text=True, check=True).stdout
    for line in lines.splitlines():
        found = re.match(r"(\S+): (\S+) (\w)", line)
        if found:
            yield found.groups()


def check_symbols(rooms, files, build):
    # Meson's name of an object is the path with "_" for "/", below its target's folder.
    by_object = {path.replace("/", "_") + ".o": path for path in files}
    by_object |= {path.removeprefix("cmd/") + ".o": path for path in files if path.startswith("cmd/")}
    defined, used = {}, []
    for name, symbol, kind in symbols(build):
        path = by_object.get(os.path.basename(name))
        if path is None:
            continue
        if kind == "U":
            used.append((path, symbol))
        elif kind.isupper():
            defined[symbol] = path
    if not used or not defined:
        sys.exit(f"layers: no object in {build}/src belongs to a file of src/")
    for path, symbol in sorted(set(used)):
        source = defined.get(symbol)
        if source is None or path in rooms.tables:
            continue
        room = rooms.of(path)
        if rooms.of(source) not in rooms.allowed[room]:
            yield f"src/{path}: {room} may not use {symbol} of src/{source}"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open("CONTRIBUTING.md", encoding="utf-8") as file:
        rooms = Rooms(file.read())
    files = []
    for folder, _, names in os.walk("src"):
        files += [os.path.relpath(os.path.join(folder, name), "src") for name in names if name.endswith((".c", ".h", ".def"))]
    files.sort()
    breaches = list(check_includes(rooms, files))
    if len(sys.argv) > 1:
        breaches += check_symbols(rooms, files, sys.argv[1])
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
