#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# State providers of Trace Compass (XML): what lull translates against an interpreter of the rules of Trace Compass, which knows
# nothing of .states, over random files and events; what is refused, by element and line. LULL_TEST_XML=1000 sets how many
# random files there are, LULL_TEST_XML_FILES=DIR reads those in a directory, too.
import os
import random
import re
import sys
import xml.etree.ElementTree as ET
from xml.sax.saxutils import quoteattr

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from scene import MS, at, run, scratch, tables, trace, write  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
START = 1_000_000_000


# ---- the rules of Trace Compass ----

class Int(int):
    """A constant of 32 bits; numbers of events are long."""


def text_of(value):
    return "null" if value is None else str(value)


class Provider:
    def __init__(self, root):
        provider = root.find("stateProvider")
        self.defined = {one.get("name"): one.get("value") for one in provider.findall("definedValue")}
        self.locations = {one.get("id"): one for one in provider.findall("location")}
        self.maps = {one.get("id"): one for one in provider.findall("mappingGroup")}
        self.handlers = [(re.compile(one.get("eventName").replace("*", ".*")), one.findall("stateChange"))
                         for one in provider.findall("eventHandler")]
        self.now, self.log = {}, {}

    def constant(self, text):
        return self.defined[text[1:]] if text.startswith("$") else text

    def field(self, name, event):
        fields = event["p"]
        own = {"cpu": event["pc"]["cpu_id"], "timestamp": event["t"]}
        return fields[name] if name in fields else own.get(name.lower())

    def value(self, node, event):
        if node.tag == "field":
            return self.field(node.get("name"), event)
        kind = node.get("type")
        if kind == "query":
            return self.mapped(node, self.query(node.findall("stateAttribute"), event), event)
        if kind in ("null", "delete"):
            return None
        text = self.constant(node.get("value", ""))
        found = {"int": lambda: Int(text), "long": lambda: int(text), "string": lambda: text, "eventName": lambda: event["n"],
                 "eventField": lambda: self.field(text, event)}[kind]()
        return self.mapped(node, found, event)

    def mapped(self, node, found, event):
        if node.get("mappingGroup"):
            entries = [entry for entry in self.maps[node.get("mappingGroup")]
                       if found is not None and text_of(self.value(entry[0], event)) == text_of(found)]
            found = self.value(entries[0][1], event) if entries else None
        force = {"int": Int, "long": int, "string": str}.get(node.get("forcedType"))
        return force(found) if force and found is not None else found

    def query(self, nodes, event):
        """What an attribute has now, after what was changed before in the same event."""
        path = self.path(nodes, event)
        return None if path is None else self.now.get("/".join(path), (None,))[0]

    def path(self, nodes, event):
        path = []
        for node in nodes:
            kind, text = node.get("type"), self.constant(node.get("value", ""))
            if kind == "location":
                inner = self.path(self.locations[text], event)
                if inner is None:
                    return None
                path += inner
                continue
            part = (text if kind == "constant" else event["n"] if kind == "eventName" else
                    self.query(node, event) if kind == "query" else self.field(text, event))
            if part is None:
                return None
            path.append(text_of(part))
        return path

    def holds(self, node, event):
        if node.tag == "not":
            return not self.holds(node[0], event)
        if node.tag in ("and", "or"):
            return (all if node.tag == "and" else any)(self.holds(child, event) for child in node)
        attributes = node.findall("stateAttribute")
        first, second = [self.query(attributes, event)] * bool(attributes) + [
            self.value(child, event) for child in node if child not in attributes]
        if isinstance(first, int) and isinstance(second, int):
            order = (first > second) - (first < second)
        else:
            a, b = text_of(first), text_of(second)
            order = (a > b) - (a < b)
        return {"eq": order == 0, "ne": order != 0, "ge": order >= 0, "gt": order > 0, "le": order <= 0,
                "lt": order < 0}[node.get("operator", "eq")]

    def change(self, node, event):
        branch = node.find("if")
        if branch is not None:
            chosen = node.find("then") if self.holds(branch[0], event) else node.find("else")
            if chosen is not None:
                self.change(chosen, event)
            return
        path = self.path(node.findall("stateAttribute"), event)
        if path is None:
            return
        last = node.find("stateValue")
        value = self.value(last, event)
        path = "/".join(path)
        before, since = self.now.get(path, (None, START))
        if last.get("increment") == "true" and value is not None:
            value += before or 0
        if value != before:
            self.log.setdefault(path, []).append((before, since, event["t"]))
            self.now[path] = value, event["t"]

    def run(self, events):
        for event in events:
            for name, changes in self.handlers:
                if name.fullmatch(event["n"]):
                    for change in changes:
                        self.change(change, event)
        for path, (value, since) in self.now.items():
            self.log[path].append((value, since, events[-1]["t"]))
        return {path: merged(log) for path, log in self.log.items()}


def merged(log):
    """[(value as text, start, end), …] of what took time and is not null."""
    out = []
    for value, start, end in log:
        if value is None or start == end:
            continue
        if out and out[-1][0] == text_of(value) and out[-1][2] == start:
            start = out.pop()[1]
        out.append((text_of(value), start, end))
    return out


# ---- what Lull says ----

def check(text, events, name):
    """[] if each attribute has the same values at the same times."""
    root = ET.fromstring(text)
    labels = {one.get("name"): one.get("value") for one in root.iter("definedValue")}
    provider = Provider(root)
    expected = {path: log for path, log in provider.run(events).items() if log}
    shown = tables(write(name + ".xml", text), trace(name, events), "--log")
    log, numbers = {}, {}
    for line in shown.get("log", []):
        if line["state"] is not None:
            piece = line["state"], line["time_range"]["begin_ns"], line["time_range"]["end_ns"]
            log.setdefault(line["row"], []).append(piece)
    for line in shown.get("numbers", []):
        known, low, high, total = numbers.get(line["row"], (0, line["min"], line["max"], 0))
        numbers[line["row"]] = (known + line["known_ns"], min(low, line["min"]), max(high, line["max"]),
                                total + line["avg"] * line["known_ns"])
    wrong = [] if set(log) == set(expected) else [("attributes", set(log) ^ set(expected))]
    for path in set(log) & set(expected):
        want, found = expected[path], log[path]
        whole = [(int(value), end - start) for value, start, end in provider.log[path] if isinstance(value, int) and start < end]
        if path in numbers:
            known, low, high, total = numbers[path]
            sums = sum(value * length for value, length in whole)
            good = (known == sum(length for _, length in whole) and low == min(value for value, _ in whole) and
                    high == max(value for value, _ in whole) and abs(total - sums) <= 1e-6 * max(abs(sums), 1) and
                    spans(found) == spans(want))
        elif any(state == "a value" for state, _, _ in found):
            good = spans(found) == spans(want)
        else:
            good = merged((labels.get(state, state), start, end) for state, start, end in found) == want
        if not good:
            wrong.append((path, want, found, numbers.get(path)))
    return wrong


def spans(log):
    """When there was any value."""
    out = []
    for _, start, end in log:
        if out and out[-1][1] == start:
            start = out.pop()[0]
        out.append((start, end))
    return out


# ---- random files ----

NAMES = ("one", "two", "three", "t:four")
FIELDS = {"a": (0, 1, 2, 3), "b": (-1, 0, 5), "s": ("x", "y", "zz"), "cpu": (7,), "timestamp": (4, START + 100)}


class Chance:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.has_queries = seed % 3 > 0

    def events(self, count):
        time, events = START, []
        for _ in range(count):
            fields = {name: self.random.choice(values) for name, values in FIELDS.items()
                      if self.random.random() < (0.2 if name in ("cpu", "timestamp") else 0.8)}
            events.append({"t": time, "n": self.random.choice(NAMES), "p": fields, "pc": {"cpu_id": self.random.randrange(2)}})
            time += self.random.choice((0, 1, 5, 10, 50))
        return sorted(events, key=lambda event: (event["t"], event["pc"]["cpu_id"]))

    def field(self):
        return self.random.choice(("a", "a", "b", "s", "cpu", "CPU", "timestamp", "nix"))

    def attribute(self, has_locations=True):
        kind = self.random.choice(("constant", "eventField", "eventField", "eventName") + ("location",) * has_locations)
        value = {"constant": lambda: self.random.choice(("x", "A", "B", "$D1", "1")), "eventField": self.field, "eventName": lambda: "",
                 "location": lambda: self.random.choice(("l1", "l2"))}[kind]()
        return f'<stateAttribute type="{kind}" value={quoteattr(value)}/>'

    def path(self, depth=0):
        if self.has_queries and depth < 2 and self.random.random() < 0.2:
            return ('<stateAttribute type="constant" value="P"/>' +
                    f'<stateAttribute type="query">{self.random.choice((self.path, self.number_path))(depth + 1)}</stateAttribute>')
        return '<stateAttribute type="constant" value="P"/>' + "".join(self.attribute() for _ in range(self.random.randrange(3)))

    def number_path(self, depth=0):
        """Of attributes that are numbers, or not set."""
        part = '<stateAttribute type="eventField" value="a"/>', '<stateAttribute type="constant" value="3"/>', '<stateAttribute type="eventField" value="s"/>'
        if depth < 2 and self.random.random() < 0.2:
            part = (f'<stateAttribute type="query">{self.number_path(depth + 1)}</stateAttribute>',)
        return '<stateAttribute type="constant" value="N"/>' + self.random.choice(part)

    def number(self):
        return self.random.choice(('<stateValue type="int" value="2"/>', '<stateValue type="long" value="$D2"/>',
                                   '<stateValue type="int" value="1" increment="true"/>', '<stateValue type="eventField" value="b" increment="true"/>',
                                   '<stateValue type="eventField" value="a"/>', f'<stateValue type="query">{self.number_path()}</stateValue>',
                                   f'<stateValue type="query" increment="true">{self.number_path()}</stateValue>', '<stateValue type="null"/>'))

    def query(self):
        return f'<stateValue type="query">{self.random.choice((self.path, self.number_path))()}</stateValue>'

    def maps(self):
        """Values that are mapped."""
        found = [f'<stateValue type="eventField" value="{self.field()}" mappingGroup="m"/>', '<stateValue type="int" value="$D1" mappingGroup="m"/>',
                 '<stateValue type="string" value="zz" mappingGroup="m"/>', '<stateValue type="eventField" value="a" mappingGroup="t" forcedType="long"/>']
        return found + ([self.query().replace('"query"', '"query" mappingGroup="m"', 1)] if self.has_queries else [])

    def constant(self, is_set=False):
        return self.random.choice(('<stateValue type="int" value="$D1"/>', '<stateValue type="int" value="5"/>',
                                   '<stateValue type="long" value="$D2"/>', '<stateValue type="string" value="zz"/>',
                                   '<stateValue type="string" value="q &lt;&quot;\\"/>',
                                   # A text that reads as a number is another part of a path than the number is.
                                   f'<stateValue type="string" value="{"x" if is_set and self.has_queries else "1"}"/>',
                                   '<stateValue type="string" value="-3" forcedType="int"/>', '<stateValue type="string" value="12" forcedType="long"/>',
                                   f'<stateValue type="int" value="{-6 if is_set and not self.has_queries else 1}" forcedType="{"long" if is_set and self.has_queries else "string"}"/>'))

    def value(self, is_plain):
        chance = self.random.random()
        if self.random.random() < 0.05:
            return self.random.choice(self.maps())
        if self.has_queries and self.random.random() < 0.25:
            query = self.query()
            return query.replace('"query"', '"query" mappingGroup="m"', 1) if self.random.random() < 0.2 else query
        if chance < 0.55 or (is_plain and chance < 0.85):
            return self.constant(True)
        if chance < 0.85:
            return f'<stateValue type="eventField" value="{self.field()}"' + ' mappingGroup="m"' * (self.random.random() < 0.3) + "/>"
        return f'<stateValue type="{self.random.choice(("null", "delete"))}"/>'

    def condition(self, depth=0):
        kind = self.random.choice(("one",) * 4 + ("and", "or", "not") * (depth < 2))
        if kind != "one":
            inner = "".join(self.condition(depth + 1) for _ in range(1 if kind == "not" else self.random.choice((1, 2, 3))))
            return f"<{kind}>{inner}</{kind}>"
        operator = self.random.choice(("", ' operator="eq"', ' operator="ne"', ' operator="ge"', ' operator="gt"', ' operator="le"',
                                       ' operator="lt"'))
        if operator and operator[11:13] not in ("eq", "ne"):
            # A field that can be a text is not compared by order.
            name = self.random.choice(("a", "b", "nix", "timestamp"))
            other = f'<stateValue type="{self.random.choice(("int", "long"))}" value="{self.random.choice((*range(-1, 4), START + 50))}"/>'
            first = f'<field name="{name}"/>'
            if self.has_queries and self.random.random() < 0.7:
                first = self.number_path()
                other = self.random.choice((other, f'<stateValue type="eventField" value="{name}"/>',
                                            f'<stateValue type="query">{self.number_path()}</stateValue>'))
            elif self.random.random() < 0.3:
                other = f'<stateValue type="eventField" value="{self.random.choice(("a", "b", "nix", "timestamp"))}"/>'
            return f'<condition{operator}>{first}{other}</condition>'
        if self.random.random() < 0.2:
            mapped = self.random.choice(self.maps()), self.random.choice((self.constant(), '<stateValue type="null"/>', *self.maps(), '<stateValue type="string" value="first"/>', '<stateValue type="long" value="9"/>'))
            return f"<condition{operator}>{''.join(self.random.sample(mapped, 2))}</condition>"
        if self.has_queries and self.random.random() < 0.6:
            second = self.random.choice((self.constant(), self.constant(), '<stateValue type="null"/>', self.query(),
                                         f'<stateValue type="eventField" value="{self.random.choice(("a", "b", "s"))}"/>'))
            return f"<condition{operator}>{self.random.choice((self.path, self.number_path, self.query))()}{second}</condition>"
        first = self.random.choice((f'<field name="{self.field()}"/>', f'<stateValue type="eventField" value="{self.field()}"/>',
                                    '<stateValue type="eventName"/>'))
        second = self.random.choice((self.constant(), self.constant(), '<stateValue type="null"/>',
                                     f'<stateValue type="eventField" value="{self.random.choice(("a", "b"))}"/>'))
        if "eventField" in second:
            first = f'<stateValue type="eventField" value="{self.random.choice(("a", "b"))}"/>'
        return f"<condition{operator}>{first}{second}</condition>"

    def change(self, depth=0):
        if depth < 3 and self.random.random() < 0.35:
            otherwise = f"<else>{self.change(depth + 1)}</else>" if self.random.random() < 0.6 else ""
            return f"<if>{self.condition()}</if>\n<then>{self.change(depth + 1)}</then>{otherwise}"
        if self.random.random() < 0.15:
            return ('<stateAttribute type="constant" value="counter"/>' + self.attribute(False) +
                    '<stateAttribute type="constant" value="n"/><stateValue type="int" value="2" increment="true"/>')
        if self.has_queries and self.random.random() < 0.3:
            return self.number_path() + self.number()
        return self.path() + self.value(self.random.random() < 0.6)

    def file(self):
        handlers = "\n".join(
            f'<eventHandler eventName="{self.random.choice(NAMES + ("t*", "*"))}">' +
            "".join(f"<stateChange>{self.change()}</stateChange>\n" for _ in range(self.random.choice((1, 2, 3)))) + "</eventHandler>"
            for _ in range(self.random.choice((2, 4, 6))))
        view = ('<timeGraphView id="v"><head><label value="View &amp; more"/></head><definedValue name="three" value="3" color="#ff0000"/>'
                '<definedValue name="one" value="1"/><entry path="P/*"><display type="self"/></entry></timeGraphView>')
        return (f'<?xml version="1.0" encoding="UTF-8"?>\n<tmfxml>\n{view * (self.random.random() < 0.5)}<stateProvider id="x" version="1">\n'
                '<definedValue name="D1" value="1"/><definedValue name="D2" value="-4"/>\n'
                '<location id="l1"><stateAttribute type="constant" value="L"/><stateAttribute type="eventField" value="a"/></location>\n'
                '<location id="l2"><stateAttribute type="location" value="l1"/><stateAttribute type="eventField" value="s"/></location>\n'
                '<mappingGroup id="m"><entry><stateValue type="long" value="1"/><stateValue type="string" value="first"/></entry>'
                '<entry><stateValue type="string" value="x"/><stateValue type="int" value="9"/></entry></mappingGroup>\n'
                '<mappingGroup id="t"><entry><stateValue type="string" value="1"/><stateValue type="string" value="20"/></entry></mappingGroup>\n'
                f"{handlers}\n</stateProvider></tmfxml>\n")


def check_random():
    wrong, pieces = [], 0
    count = int(os.environ.get("LULL_TEST_XML", "0")) or 60
    for number in range(count):
        chance = Chance(number)
        text, events = chance.file(), chance.events(60)
        pieces += sum(map(len, Provider(ET.fromstring(text)).run(events).values()))
        found = check(text, events, f"random{number}")
        if found:
            wrong.append((number, found[:2], text))
    tap.ok(not wrong, f"{count} random files say what the rules of Trace Compass say", len(wrong), *wrong[:1])
    tap.ok(pieces > count * 10, "and that is something", pieces)


def check_files():
    """Those of others: they are translated, or all that is refused is named."""
    folder = os.environ.get("LULL_TEST_XML_FILES")
    if not folder:
        tap.skip("files of others", "LULL_TEST_XML_FILES names no directory")
        return
    for name in sorted(os.listdir(folder)):
        done = run("--states", os.path.join(folder, name), "--as-states")
        tap.ok(done.returncode == 0 and done.stdout or done.returncode == 2 and re.search(r"\.xml:\d+: <\w+>: ", done.stderr), name,
               done.stderr[:400])


# ---- what is refused ----

def document(changes, rest=""):
    return f'<tmfxml>\n<stateProvider id="x" version="1">\n<eventHandler eventName="e">\n{changes}</eventHandler>\n</stateProvider>\n{rest}</tmfxml>\n'


PATH = '<stateAttribute type="constant" value="P"/>'
GOOD = f'<stateChange>{PATH}<stateValue type="int" value="1"/></stateChange>\n'


def refused_lines():
    value = '<stateValue type="int" value="1"/>'
    for change, element, reason in (
            (f'{PATH}<stateValue type="script" value="1"/>', "stateValue", "script"),
            (f'{PATH}<stateValue type="query"/>', "stateValue", "no stateAttribute"),
            (f'{PATH}<stateValue type="query"><stateAttribute type="self"/></stateValue>', "stateAttribute", "self"),
            (f'{PATH}<stateValue type="int" value="1" stack="push"/>', "stateValue", "stacks"),
            (f'{PATH}<stateValue type="int" value="1" update="true"/>', "stateValue", "update"),
            (f'{PATH}<stateValue type="int" value="many"/>', "stateValue", "no int"),
            (f'{PATH}<stateValue type="int" value="4294967296"/>', "stateValue", "no int"),
            (f'{PATH}<stateValue type="int" value="$nix"/>', "stateValue", "no definedValue"),
            (f'{PATH}<stateValue type="eventField" value="Timestamp"/>', "stateValue", "written “timestamp”"),
            (f'{PATH}<stateValue type="eventField" value="a" forcedType="long"/>', "stateValue", "for constants only"),
            (f'{PATH}<stateValue type="query" forcedType="int">{PATH}</stateValue>', "stateValue", "for constants only"),
            (f'{PATH}<stateValue type="int" value="1" forcedType="double"/>', "stateValue", "forcedType “double”"),
            (f'{PATH}<stateValue type="string" value="many" forcedType="int"/>', "stateValue", "no int"),
            (f'{PATH}<stateValue type="eventField" value="a b"/>', "stateValue", "no name of a field"),
            (f'{PATH}{value}<futureTime type="long" value="5"/>', "futureTime", "not translated"),
            (f'<stateAttribute type="pool"/>{value}', "stateAttribute", "pool"),
            (f'<stateAttribute type="query"/>{value}', "stateAttribute", "no stateAttribute"),
            (f'<stateAttribute type="location" value="nix"/>{value}', "stateAttribute", "no location"),
            (value, "stateChange", "no stateAttribute"), (PATH, "stateChange", "one stateValue"),
            (f'<if><condition operator="about"><field name="a"/>{value}</condition></if><then>{PATH}{value}</then>', "condition", "no operator"),
            (f"<if><condition>{value}{PATH}{value}</condition></if><then>{PATH}{value}</then>", "stateAttribute", "two values"),
            (f'<if><condition operator="lt"><stateValue type="eventName"/>{value}</condition></if><then>{PATH}{value}</then>', "condition", "a name"),
            (f"<if><xor/></if><then>{PATH}{value}</then>", "xor", "no condition"),
            (f"<if><and/></if><then>{PATH}{value}</then>", "and", "no condition"),
            (f'<if><condition><field name="a"/>{value}</condition></if>', "stateChange", "no then")):
        yield f"<stateChange>{change}</stateChange>\n", element, reason


def check_refused():
    cases = list(refused_lines())
    for change, element, reason in cases:
        path = write("refused.xml", document(GOOD + change))
        done = run("--states", path, "--as-states")
        tap.ok(done.returncode == 2 and f"{path}:5: <{element}>: " in done.stderr and reason in done.stderr and not done.stdout,
               f"{element}: {reason}", done)
    path = write("many.xml", document("".join(change for change, _, _ in cases) * 2))
    done = run("--states", path, "--as-states")
    lines = [int(line.split(":")[-3]) for line in done.stderr.splitlines() if ".xml:" in line]
    tap.ok(lines == list(range(4, 24)) and f"{2 * len(cases) - 20} more" in done.stderr, "up to twenty at once", done.stderr)
    text = document(GOOD) .replace("</stateProvider>", f'<eventHandler eventName="f">{cases[0][0]}</eventHandler></stateProvider><pattern/>')
    done = run("--states", write("partial.xml", text), "--as-states")
    tap.ok(done.returncode == 2 and "<pattern>" in done.stderr, "patterns are refused", done)
    done = run("--states", write("partial.xml", text), "--as-states", "--partial")
    tap.ok(done.returncode == 0 and 'name == "e"' in done.stdout and '"f"' not in done.stdout and done.stderr.count("left out") == 2,
           "--partial leaves out what is refused, and says so", done)
    for text, reason in (("<tmfxml>", "no XML"), ("<a>&nix;</a>", "no XML"), ("<a/>", "no analysis"), ("<tmfxml/>", "changes nothing"),
                         ("<a>" * 100, "more than 64 deep"), ('<?xml version="1.0"?>\n<!-- a -->\n', "it has no element"), ("<tmfxml>" + "<a/>" * 100001 + "</tmfxml>", "more than 100000 elements"),
                         ("<tmfxml>\xff</tmfxml>".encode("latin-1").decode("latin-1"), "changes nothing")):
        done = run("--states", write("bad.xml", text), "--as-states")
        tap.ok(done.returncode == 2 and reason in done.stderr and "bad.xml:" in done.stderr, f"{reason}: refused", done.stderr[:300])
    # Locations that name each other: ten to the tenth, if nobody counts.
    inner = [f'<location id="l{i}">' + f'<stateAttribute type="location" value="l{i + 1}"/>' * 10 + "</location>" for i in range(10)]
    text = document(f'<stateChange><stateAttribute type="location" value="l0"/><stateValue type="null"/></stateChange>')
    text = text.replace("<eventHandler", "".join(inner) + '<location id="l10"/><eventHandler', 1)
    done = run("--states", write("locations.xml", text), "--as-states")
    tap.ok(done.returncode == 2 and "locations" in done.stderr, "locations that are too many", done.stderr[:300])
    loop = '<stateAttribute type="query"><stateAttribute type="location" value="l"/></stateAttribute>'
    text = document(f'<stateChange>{loop}<stateValue type="null"/></stateChange>').replace("<eventHandler", f'<location id="l">{loop}</location><eventHandler', 1)
    done = run("--states", write("loop.xml", text), "--as-states")
    tap.ok(done.returncode == 2 and "16 deep" in done.stderr, "a location that asks for itself", done.stderr[:300])
    # More than a query can be asked for, each in another attribute, and each path by another.
    text = document("".join(f'<stateChange>{PATH}<stateValue type="query"><stateAttribute type="constant" value="q{i}"/></stateValue></stateChange>'
                            for i in range(70)))
    done = run("--states", write("queries.xml", text), "--as-states")
    tap.ok(done.returncode == 2 and "more than 64 groups" in done.stderr, "attributes that are too many", done.stderr[:300])
    deep = "<if><condition><field name=\"a\"/><stateValue type=\"int\" value=\"1\"/></condition></if><then>" * 60
    done = run("--states", write("deep.xml", document(f"<stateChange>{deep}{PATH}{'</then>' * 60}</stateChange>")), "--as-states")
    tap.ok(done.returncode == 2 and "deep" in done.stderr, "changes that are too deep", done.stderr[:300])


def check_order():
    """The scene of a test of Trace Compass (TmfXmlConditionTest, testTrace2.xml): what it expects, of handlers that read what those
    before them set for the same event."""
    def handler(name, condition, attribute):
        return (f'<eventHandler eventName="{name}"><stateChange><if>{condition}</if>' + "".join(
            f'<{branch}><stateAttribute {attribute}/><stateValue type="long" value="{value}"/></{branch}>'
            for branch, value in (("then", 1), ("else", 0))) + "</stateChange></eventHandler>")

    def attribute(name, value):
        return f'<condition><stateAttribute type="constant" value="{name}"/><stateValue type="long" value="{value}"/></condition>'

    def field(value):
        return f'<condition><field name="field"/><stateValue type="long" value="{value}"/></condition>'
    queries = "".join(f'<stateValue type="query"><stateAttribute type="constant" value="{name}"/></stateValue>' for name in ("test", "test1"))
    text = ('<tmfxml><stateProvider id="c" version="1">' + handler("test", field(10), 'type="eventName"') + handler("test1", field(200), 'type="eventName"') +
            handler("*", f"<condition>{queries}</condition>", 'type="constant" value="same"') +
            handler("*", f"<not><and>{attribute('test', 0)}{attribute('test1', 0)}{attribute('same', 1)}</and></not>", 'type="constant" value="three"') +
            handler("*", f"<not>{attribute('three', 1)}</not>", 'type="constant" value="two"') + "</stateProvider></tmfxml>")
    where = trace("order", [at(1, "test", field=10), at(3, "test1", field=100), at(5, "test", field=20), at(7, "test1", field=200), at(9, "end")])
    found = {}
    for line in tables(write("order.xml", text), where, "--log")["log"]:
        if line["state"] is not None:
            found.setdefault(line["row"], []).append((int(line["state"]), line["time_range"]["begin_ns"]))
    tap.ok(found == {"test": [(1, 1), (0, 5)], "test1": [(0, 3), (1, 7)], "same": [(0, 1), (1, 5), (0, 7)],
                     "three": [(1, 1), (0, 5), (1, 7)], "two": [(0, 1), (1, 5), (0, 7)]}, "handlers read what those before them set", found)


def check_names():
    """Values that views name, of an attribute that is called as an event: the name is no number."""
    text = document(f'<stateChange>{PATH}<stateValue type="eventName"/></stateChange>\n',
                    '<timeGraphView id="v"><definedValue name="zero" value="0"/></timeGraphView>\n')
    found = tables(write("names.xml", text), trace("names", [at(0, "e"), at(MS, "f")]))["states"]
    tap.ok([(line["row"], line["state"], line["ns"]) for line in found] == [("P", "a value", MS)], "the name of an event as a value", found)


def check_example():
    # Who waits for a connection; each is in a row of its own, in the colours of the view.
    change = ('<stateChange><stateAttribute type="constant" value="Threads"/><stateAttribute type="eventField" value="id"/>'
              '<stateValue type="int" value="$WAITS"/></stateChange>')
    text = ('<tmfxml><stateProvider id="p" version="1"><definedValue name="WAITS" value="0"/><definedValue name="HAS_ONE" value="1"/>'
            f'<eventHandler eventName="wait">{change}</eventHandler>'
            f'<eventHandler eventName="start">{change.replace("$WAITS", "$HAS_ONE")}</eventHandler></stateProvider>'
            '<timeGraphView id="v"><definedValue name="waits for one" value="0" color="#FFDD00"/>'
            '<entry path="Threads/*"><display type="self"/></entry></timeGraphView></tmfxml>')
    where = trace("example", [at(MS, "wait", id=7), at(4 * MS, "start", id=7), at(9 * MS, "other", id=0)])
    path = write("example.xml", text)
    found = [(line["of"], line["row"], line["state"], line["ns"]) for line in tables(path, where)["states"]]
    tap.ok(found == [("Threads/*", "Threads/7", "waits for one", 3 * MS), ("Threads/*", "Threads/7", "HAS_ONE", 5 * MS)],
           "lull states reads XML", found)
    translated = write("example.states", run("--states", path, "--as-states").stdout)
    tap.ok(tables(translated, where) == tables(path, where), "and what --as-states prints is the same", run("--states", path, "--as-states"))
    done = run("--period", f"{translated}:Threads.waits_for_one", where, verb="periodstats")
    tap.ok(done.returncode == 0 and "3.000 ms" in done.stdout, "whose states are periods", done)


tap.run("random", check_random)
tap.run("files of others", check_files)
tap.run("refused", check_refused)
tap.run("order", check_order)
tap.run("names", check_names)
tap.run("example", check_example)
scratch.cleanup()
sys.exit(tap.done())
