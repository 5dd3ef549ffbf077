# SPDX-License-Identifier: MIT
# Reads OpenMetrics 1.0 text strictly, written from its specification (ABNF and the rules of section "Metric Types"): anything that a
# scraper may refuse is a ValueError with the line.
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([^ ]+)")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\+Inf|-Inf|NaN")
TYPES = {"counter": ("_total", "_created"), "gauge": ("",), "info": ("_info",), "histogram": ("_bucket", "_count", "_sum", "_created")}
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def fail(number, why):
    raise ValueError(f"line {number}: {why}")


def read_labels(number, text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        if not found or found[1] in labels:
            fail(number, f"labels: {text!r}")
        labels[found[1]] = re.sub(r'\\["\\n]', lambda escape: ESCAPES[escape[0]], found[2])
        at = found.end()
        if at < len(text) and text[at] != ",":
            fail(number, f"labels: {text!r}")
        at += 1
    return labels


def read_number(number, text):
    if not NUMBER.fullmatch(text):
        fail(number, f"no number: {text!r}")
    return float(text.replace("Inf", "inf"))


def read_sample(number, line):
    found = SAMPLE.fullmatch(line)
    if not found:
        fail(number, f"no sample: {line!r}")
    return found[1], read_labels(number, found[2] or ""), read_number(number, found[3])


def describe(number, line, families, current):
    found = re.fullmatch(rf"# (TYPE|HELP|UNIT) ({NAME}) (.+)", line)
    if not found:
        fail(number, f"no descriptor: {line!r}")
    kind, name, text = found.groups()
    if name != current and name in families:
        fail(number, f"the family {name} comes twice")
    family = families.setdefault(name, {"samples": []})
    if kind.lower() in family or family["samples"]:
        fail(number, f"{kind} of {name} comes twice, or after samples")
    if kind == "TYPE" and text not in TYPES:
        fail(number, f"no type: {text!r}")
    if kind == "UNIT" and not name.endswith("_" + text):
        fail(number, f"{name} does not end with its unit {text}")
    family[kind.lower()] = text
    return name


def check_histogram(name, samples):
    groups = {}
    for sample, labels, value in samples:
        rest = tuple(sorted((key, text) for key, text in labels.items() if key != "le"))
        groups.setdefault(rest, {"le": []})
        if sample.endswith("_bucket"):
            groups[rest]["le"].append((labels["le"], value))
        else:
            groups[rest][sample.rsplit("_", 1)[1]] = value
    for rest, group in groups.items():
        ends = [math.inf if le == "+Inf" else float(le) for le, _ in group["le"]]
        counts = [count for _, count in group["le"]]
        if not ends or ends != sorted(set(ends)) or ends[-1] != math.inf or counts != sorted(counts) or any(count % 1 for count in counts):
            raise ValueError(f"{name}{rest}: buckets {group['le']}")
        if ("sum" in group) != ("count" in group) or group.get("count", counts[-1]) != counts[-1] or not group.get("sum", 0) >= 0:
            raise ValueError(f"{name}{rest}: {group}")


def check_family(name, family):
    if family.get("type") == "histogram":
        check_histogram(name, family["samples"])
    for sample, labels, value in family["samples"]:
        if family.get("type") == "counter" and not 0 <= value < math.inf:
            raise ValueError(f"{sample}{labels}: a counter of {value}")
        if family.get("type") == "info" and value != 1:
            raise ValueError(f"{sample}{labels}: an info of {value}")
        if (family.get("type") == "histogram" and sample.endswith("_bucket")) != ("le" in labels):
            raise ValueError(f"{sample}{labels}: le")


def parse(text):
    """{family: {"type", "help", "unit", "samples": [(name, labels, value)]}}"""
    lines = text.split("\n")
    if lines[-2:] != ["# EOF", ""] or "# EOF" in lines[:-2]:
        raise ValueError("it does not end with # EOF")
    families, current, seen = {}, None, set()
    for number, line in enumerate(lines[:-2], 1):
        if line.startswith("#"):
            current = describe(number, line, families, current)
            continue
        name, labels, value = read_sample(number, line)
        if current is None or name not in {current + suffix for suffix in TYPES[families[current].get("type", "gauge")]}:
            fail(number, f"{name} is not of the family {current}")
        key = (name, tuple(sorted(labels.items())))
        if key in seen:
            fail(number, f"{key} comes twice")
        seen.add(key)
        families[current]["samples"].append((name, labels, value))
    for name, family in families.items():
        check_family(name, family)
    return families


def refused(text):
    try:
        parse(text)
    except (ValueError, KeyError):
        return True
    return False
