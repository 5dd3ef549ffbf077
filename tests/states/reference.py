# SPDX-License-Identifier: MIT
"""The language of docs/STATES.md as a plain interpreter, which shares nothing with Lull, and random files and
events for both. A file is a list of groups, made as data here and written as text for Lull."""
import random

UNKNOWN, NONE, ENDED = "?", "none", "ended"
START = 1_000_000_000


# ---- values ----

def compare(left, relation, right):
    """As filters compare: what is missing, or a text with a number, is never so."""
    if left is None or right is None or isinstance(left, str) != isinstance(right, str):
        return False
    return {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
            ">": left > right, ">=": left >= right}[relation]


class Row:
    def __init__(self, group, key, since):
        self.group, self.key, self.since = group, key, since
        self.state = group.get("start", UNKNOWN)
        self.kept, self.stack, self.interval = {}, [], 0
        self.pieces = []  # (state, start, end)
        self.entered = []  # those into which a rule put it

    def get(self, name):
        if name == "state":
            return self.state if self.state in self.group["states"] else None
        if name in self.key:
            return self.key[name]
        return self.kept.get(name)


# ---- interpreter ----

class Interpreter:
    def __init__(self, groups, end):
        self.groups, self.end = groups, end
        self.rows = {group["name"]: {} for group in groups}
        self.timers, self.order, self.intervals = [], 0, 0

    def value(self, operand, event, row):
        kind = operand[0]
        if kind == "value":
            return operand[1]
        if kind == "field":
            return event["p"].get(operand[1]) if event else None
        if kind == "cpu":
            return event["pc"]["cpu_id"]
        if kind == "row":
            return row.get(operand[1])
        other = self.other(operand, event, row)
        return other.get(operand[3]) if other else None

    def other(self, operand, event, row):
        """The row that ("other", group, operands, name) is about, or None."""
        values = tuple(self.value(key, event, row) for key in operand[2])
        found = None if None in values else self.rows[operand[1]].get(values)
        return found if found and found.state != ENDED else None

    def condition(self, node, event, row):
        if node is None:
            return True
        if node[0] == "and":
            return all(self.condition(child, event, row) for child in node[1:])
        if node[0] == "or":
            return any(self.condition(child, event, row) for child in node[1:])
        if node[0] == "not":
            return not self.condition(node[1], event, row)
        if node[0] == "name":
            return event["n"] == node[1]
        if node[0] == "exists":
            return self.value(node[1], event, row) is not None
        return compare(self.value(node[1], event, row), node[2], self.value(node[3], event, row))

    def others_exist(self, operands, event, row):
        """Those that a rule cannot do without, and what they are found by."""
        return all(self.others_exist(operand[2], event, row) and (operand[4] or self.other(operand, event, row))
                   for operand in operands if operand[0] == "other")

    def hits(self, group, rules, event):
        found = []
        for rule in rules:
            rows = self.rows_of(group, rule, event)
            found += [(rule, row) for row in rows]
            if rows and not rule["also"]:
                break
        return found

    def rows_of(self, group, rule, event):
        if not self.condition(rule["on"], event, None):
            return []
        if rule["where"] == "each":
            return [row for row in self.rows[group["name"]].values()
                    if row.state != ENDED and self.condition(rule["if"], event, row)]
        keys = rule["where"] or [operand for _, operand in group["keys"]]
        if not self.others_exist(keys, event, None):
            return []
        values = tuple(self.value(key, event, None) for key in keys)
        if None in values:
            return []
        row = self.rows[group["name"]].get(values)
        if row is None:
            row = Row(group, dict(zip([name for name, _ in group["keys"]], values)), START)
        if not self.others_exist(rule["others"], event, row) or not self.condition(rule["if"], event, row):
            return []
        self.rows[group["name"]][values] = row
        return [row]

    def enter(self, row, state, fresh, time):
        if row.state == state and not fresh:
            return
        self.close(row, time)
        self.intervals += 1
        row.state, row.since, row.interval = state, time, self.intervals
        if state == ENDED:
            row.kept = {}
        after = row.group["after"].get(state)
        if after and time + after[0] < self.end:
            self.timers.append((time + after[0], self.order, row.interval, row))
            self.order += 1

    @staticmethod
    def close(row, time):
        if row.state != ENDED and row.since < time:
            row.pieces.append((row.state, row.since, time))
            if row.interval:
                row.entered.append(row.pieces[-1])

    def act(self, row, action, value, time):
        kind = action[0]
        if kind == "enter":
            if action[1] in (UNKNOWN, NONE, ENDED):
                row.stack = []
            self.enter(row, action[1], action[2], time)
        elif kind == "push":
            row.stack.append(NONE if row.state == ENDED else row.state)
            self.enter(row, action[1], False, time)
        elif kind == "pop":
            if row.stack:
                self.enter(row, row.stack.pop(), False, time)
        elif kind == "=":
            row.kept[action[1]] = value
        elif isinstance(value, int):
            before = row.kept.get(action[1])
            before = before if isinstance(before, int) else 0
            row.kept[action[1]] = before + value if kind == "+=" else before - value

    def advance(self, time):
        while self.timers:
            first = min(self.timers, key=lambda timer: timer[:2])
            if first[0] > time:
                break
            self.timers.remove(first)
            row = first[3]
            if row.interval == first[2]:
                for action in row.group["after"][row.state][1]:
                    self.act(row, action, self.value(action[-1], None, row) if action[0] in "+=-=" else None, first[0])

    def run(self, events):
        for event in events:
            self.advance(event["t"])
            for group, rules in blocks_of(self.groups):
                # What others hold is what they held when the rule was found to apply.
                hits = []
                for rule, row in self.hits(group, rules, event):
                    held = {id(action): self.value(action[2], event, row) for action in rule["actions"]
                            if action[0] in ("=", "+=", "-=") and action[2][0] == "other"}
                    hits.append((rule, row, held))
                for rule, row, held in hits:
                    for action in rule["actions"]:
                        value = None
                        if action[0] in ("=", "+=", "-="):
                            value = held[id(action)] if id(action) in held else self.value(action[2], event, row)
                        self.act(row, action, value, event["t"])
        self.advance(self.end)
        for rows in self.rows.values():
            for row in rows.values():
                self.close(row, self.end)

    def answer(self):
        """{(group, title of the row): [(state, start, end), …]}"""
        return {(name, ", ".join(map(str, key))): [piece for piece in row.pieces if piece[0] != NONE]
                for name, rows in self.rows.items() for key, row in rows.items()
                if any(piece[0] != NONE for piece in row.pieces)}

    def periods(self):
        """(GROUP.STATE, start, end) of what is in a state that was seen to start."""
        return [(f"{name}.{state}", start, end) for name, rows in self.rows.items() for row in rows.values()
                for state, start, end in row.entered if state in row.group["states"]]


def blocks_of(groups):
    """(group, rules) in the order of the file: those within a group, then what `more` adds."""
    return [(group, group["rules"]) for group in groups] + [(group, rules) for group in groups for rules in group["more"]]


# ---- text ----

def text_of_operand(operand):
    kind = operand[0]
    if kind == "value":
        return f'"{operand[1]}"' if isinstance(operand[1], str) else str(operand[1])
    if kind == "field":
        return f"fields.{operand[1]}"
    if kind == "cpu":
        return "cpu"
    if kind == "row":
        return f"row.{operand[1]}"
    return f"{operand[1]}[{', '.join(map(text_of_operand, operand[2]))}]{'?' * operand[4]}.{operand[3]}"


def text_of_condition(node):
    if node[0] in ("and", "or"):
        return "(" + (" && " if node[0] == "and" else " || ").join(map(text_of_condition, node[1:])) + ")"
    if node[0] == "not":
        return f"!({text_of_condition(node[1])})"
    if node[0] == "name":
        return f'name == "{node[1]}"'
    if node[0] == "exists":
        return f"exists({text_of_operand(node[1])})"
    return f"{text_of_operand(node[1])} {node[2]} {text_of_operand(node[3])}"


def text_of_action(action):
    if action[0] == "enter":
        word = {UNKNOWN: "unknown", NONE: "none", ENDED: "end"}.get(action[1], action[1])
        return word + ("!" if action[2] else "")
    if action[0] == "push":
        return f"push {action[1]}"
    return "pop" if action[0] == "pop" else f"{action[1]} {action[0]} {text_of_operand(action[2])}"


def text_of_rule(rule):
    where = rule["where"]
    return ("    " + "also " * rule["also"] + "on " + text_of_condition(rule["on"]) +
            (" each" if where == "each" else f" at ({', '.join(map(text_of_operand, where))})" if where else "") +
            (" if " + text_of_condition(rule["if"]) if rule["if"] else "") +
            " : " + ", ".join(map(text_of_action, rule["actions"])))


def text_of_file(groups):
    return "".join(map(text_of_group, groups)) + text_of_more(groups)


def text_of_more(groups):
    return "".join("\n".join([f"more {group['name']} {{", *map(text_of_rule, rules), "}\n"])
                   for group in groups for rules in group["more"])


def text_of_group(group):
    lines = [f"group {group['name']} {{  # made by chance",
             "    row " + ", ".join(f"{name} = {text_of_operand(operand)}" for name, operand in group["keys"]),
             "    states " + ", ".join(group["states"])]
    lines += [f"    start {group['start']}"] if "start" in group else []
    lines += [f"    keep {group['kept'][0]}", f"    number {group['kept'][1]}"]
    lines += map(text_of_rule, group["rules"])
    lines += [f"    after {time}ns in {state} : " + ", ".join(map(text_of_action, actions))
              for state, (time, actions) in group["after"].items()]
    return "\n".join(lines + ["}"]) + "\n"


# ---- chance ----

FIELDS = {"a": (0, 1, 2, 3), "b": (-1, 0, 5), "s": ("x", "y", "zz")}
NAMES = ("one", "two", "three")


class Chance:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def events(self, count):
        time, events = START, []
        for _ in range(count):
            fields = {name: self.random.choice(values) for name, values in FIELDS.items() if self.random.random() < 0.8}
            events.append({"t": time, "n": self.random.choice(NAMES), "p": fields,
                           "pc": {"cpu_id": self.random.randrange(2)}})
            time += self.random.choice((0, 1, 5, 10, 50))
        # Of one time, those of the first stream, which is the first CPU's, come first.
        return sorted(events, key=lambda event: (event["t"], event["pc"]["cpu_id"]))

    def operand(self, own, others, depth=0):
        """An operand; of `own` group's rows, and of one of `others`, if they are given."""
        kinds = ["value", "field", "field", "cpu"] + ["row", "row"] * bool(own) + ["other"] * bool(others)
        kind = self.random.choice(kinds)
        if kind == "value":
            return kind, self.random.choice((0, 1, 2, 5, "x", "y"))
        if kind == "field":
            return kind, self.random.choice(list(FIELDS))
        if kind == "row":
            return kind, self.random.choice([*own["kept"], *(name for name, _ in own["keys"])])
        if kind == "other":
            group = self.random.choice(others)
            return (kind, group["name"], tuple(self.operand(None, others if depth < 2 else None, depth + 1) for _ in group["keys"]),
                    self.random.choice([*group["kept"], *(name for name, _ in group["keys"])]), self.random.random() < 0.5)
        return (kind,)

    def comparison(self, own, others):
        relation = self.random.choice(("==", "==", "!=", "<", ">="))
        left, right = self.operand(own, others), self.operand(own, None)
        if left[0] in ("field", "row", "other") and self.random.random() < 0.15:
            return "exists", left
        if own and self.random.random() < 0.3:
            return "compare", ("row", "state"), "==", ("value", self.random.choice(own["states"]))
        if left[0] in ("value", "cpu"):
            left = ("field", "a")
        if right[0] == "cpu":
            right = ("value", 1)
        return "compare", left, relation, right

    def condition(self, own, others):
        first = self.comparison(own, others)
        chance = self.random.random()
        if chance < 0.5:
            return first
        if chance < 0.7:
            return "not", first
        return ("and" if chance < 0.85 else "or"), first, self.comparison(own, others)

    def action(self, group, others, event):
        kind = self.random.choice(("enter",) * 6 + ("push", "pop", "=", "=", "+=", "-="))
        if kind == "enter":
            state = self.random.choice(group["states"] * 3 + [UNKNOWN, NONE, ENDED])
            return kind, state, state in group["states"] and self.random.random() < 0.2
        if kind == "push":
            return kind, self.random.choice(group["states"])
        if kind == "pop":
            return (kind,)
        operand = self.operand(group, others) if event else self.random.choice(
            (("value", self.random.randrange(3)), ("row", self.random.choice(group["kept"]))))
        return kind, self.random.choice(group["kept"]), operand

    def actions(self, group, others, event=True):
        return [self.action(group, others, event) for _ in range(self.random.choice((1, 1, 2, 3)))]

    def rule(self, group, others):
        on = ("name", self.random.choice(NAMES))
        if self.random.random() < 0.4:
            on = ("and", on, self.comparison(None, None))
        rule = {"also": self.random.random() < 0.3, "on": on, "where": None, "if": None, "others": []}
        chance = self.random.random()
        if chance < 0.15:
            rule["where"], others = "each", None
        elif chance < 0.35:
            rule["where"] = [self.operand(None, others) for _ in group["keys"]]
        if self.random.random() < 0.5:
            rule["if"] = self.condition(group, others)
        rule["actions"] = self.actions(group, others)
        rule["others"] = [operand for operand in operands_of(rule) if operand[0] == "other"]
        return rule

    def groups(self, prefix):
        """Those of a file; their names start with `prefix`, so that Lull can read many files as one."""
        groups = []
        for name in [prefix + letter for letter in "ghk"][:self.random.choice((1, 2, 3))]:
            keys = [("p", ("field", "a"))] + [("q", self.random.choice((("cpu",), ("field", "s"))))] * \
                (self.random.random() < 0.4)
            groups.append({"name": name, "keys": keys, "states": ["u", "v", "w"][:self.random.choice((2, 3))],
                           "kept": ["m", "n"]})
        for group in groups:
            if self.random.random() < 0.3:
                group["start"] = group["states"][0]
            group["rules"] = [self.rule(group, groups) for _ in range(self.random.choice((1, 3, 6)))]
            group["more"] = [[self.rule(group, groups) for _ in range(self.random.choice((1, 2)))]
                             for _ in range(self.random.choice((0, 0, 1, 2)))]
            group["after"] = {state: (self.random.choice((1, 7, 30)), self.actions(group, None, False))
                              for state in group["states"] if self.random.random() < 0.3}
        return groups


def operands_of(rule):
    """Those of the condition and the actions."""
    def of_condition(node):
        if node is None or node[0] == "name":
            return []
        if node[0] == "exists":
            return [node[1]]
        if node[0] == "compare":
            return [node[1], node[3]]
        return [operand for child in node[1:] for operand in of_condition(child)]
    return of_condition(rule["if"]) + [action[2] for action in rule["actions"] if action[0] in ("=", "+=", "-=")]
