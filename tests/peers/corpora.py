# SPDX-License-Identifier: MIT
"""Finds the tests of other projects in a checkout of each: directories of CTF, descriptions from which such directories are made, and
perf.data and trace.dat files."""

import importlib.util
import json
import os
import re

# yactfr: what its tests put before the metadata of CTF 1.8.
ALIASES = "/* CTF 1.8 */\n" + "".join(
    f"typealias integer {{ signed = {str(letter == 'i').lower()}; size = {size}; {order} }} := {letter}{size}{name};\n"
    for letter in "ui" for size in (8, 16, 32, 64)
    for order, name in (("", ""), ("byte_order = le;", "le"), ("byte_order = be;", "be")))


class Case:
    """One trace. `wanted` is what its own project wants of a reader: True that it is read, False that it is refused, None: it does not
    say. `events` is how many there are, if the project says so."""

    def __init__(self, corpus, name, path, kind="ctf", wanted=None, events=None):
        self.corpus, self.name, self.path, self.kind = corpus, name, path, kind
        self.wanted, self.events = wanted, events


def wanted_by_name(path):
    name = os.path.basename(path)
    if re.match(r"(pass|fail)-", name):
        return name.startswith("pass-")
    if name.endswith("_nok"):
        return False
    if "ctf-testsuite" in path or "/regression/" in path or "/stress/" in path:
        return "/pass/" in path
    return None


# --- what is written down as text -----------------------------------------------------------------------------

def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def metadata_text(text):
    if text.lstrip().startswith("["):
        return "".join("\x1e" + json.dumps(fragment, ensure_ascii=False) + "\n" for fragment in json.loads(text))
    return text if text.startswith("\x1e") else ALIASES + text


def write(folder, **files):
    os.makedirs(folder, exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
    return folder


def parts_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return re.split(r"^---(?: .*)?\n", text, flags=re.M)[1:] or [text]


def yactfr(root, scratch):
    """tests/ of eepp/yactfr: metadata, data in the language of its normand.py, and a list of what is in them."""
    normand = load(os.path.join(root, "common", "normand.py"))
    for folder in "tests-iter-data", "tests-metadata-text", "tests-metadata-stream":
        for here, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                path, out = os.path.join(here, name), os.path.join(scratch, os.path.relpath(here, root), name)
                wanted = wanted_by_name(name)
                if wanted is None:
                    continue
                if folder == "tests-metadata-stream":
                    with open(path, "rb") as file:
                        write(out, metadata=file.read())
                    yield Case("yactfr", os.path.relpath(path, root), out, wanted=wanted)
                    continue
                texts = parts_of(path)
                data, events = b"", None
                if folder == "tests-iter-data":
                    data = bytes(normand.parse(texts[1]).data)
                    events = len(re.findall(r"^\s*\d+\s+ER \{$", texts[2], flags=re.M)) if wanted else None
                write(out, metadata=metadata_text(texts[0]), **({"stream": data} if folder == "tests-iter-data" else {}))
                yield Case("yactfr", os.path.relpath(path, root), out, wanted=wanted, events=events)


def barectf(root, scratch):
    """tests/tracing/expect of efficios/barectf: what generated tracers write."""
    for here, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            if not name.endswith(".data.expect"):
                continue
            stem = os.path.join(here, name[:-len(".data.expect")])
            if not os.path.exists(stem + ".metadata.expect"):
                continue
            with open(os.path.join(here, name), "rb") as data, open(stem + ".metadata.expect", "rb") as metadata:
                out = write(os.path.join(scratch, os.path.relpath(stem, root)), metadata=metadata.read(), stream=data.read())
            yield Case("barectf", os.path.relpath(stem, root), out, wanted=True)


# --- the search -----------------------------------------------------------------------------------------------

def kind_of(path):
    try:
        with open(path, "rb") as file:
            start = file.read(10)
    except OSError:
        return None
    if start[:8] in (b"PERFILE2", b"2ELIFREP"):
        return "perf"
    return "trace.dat" if start == b"\x17\x08\x44tracing" else None


def cases_in(folder, scratch):
    """All of them below a folder, in the order of their names."""
    corpus = os.path.basename(os.path.abspath(folder))
    for here, folders, names in os.walk(folder):
        folders.sort()
        if "tests-iter-data" in folders and "common" in folders:
            yield from yactfr(here, os.path.join(scratch, "yactfr"))
            folders.clear()
        elif os.path.basename(here) == "expect" and os.path.basename(os.path.dirname(here)) == "tracing":
            yield from barectf(here, os.path.join(scratch, "barectf"))
            folders.clear()
        elif "metadata" in names:
            yield Case(corpus, os.path.relpath(here, folder), here, wanted=wanted_by_name(here))
            folders.clear()
        else:
            for name in sorted(names):
                kind = kind_of(os.path.join(here, name))
                if kind:
                    yield Case(corpus, os.path.relpath(os.path.join(here, name), folder), os.path.join(here, name), kind)
