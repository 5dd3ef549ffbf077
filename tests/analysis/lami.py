# SPDX-License-Identifier: MIT
# Checks documents of the LTTng analyses machine interface against LAMI 1.0.1 (github.com/lttng/lami-spec): each function
# returns a list of what is wrong, with the place in the document.
import math

TIMES = {"timestamp", "duration", "size", "number", "ratio", "bitrate"}
COLUMN_CLASSES = TIMES | {"bool", "string", "time-range", "syscall", "process", "path", "fd", "irq", "cpu", "disk", "part",
                          "netif", "mixed", "unknown"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


def is_bound(value):
    return is_number(value) or value in ("-inf", "+inf")


# Of classes that are not numbers: the members with their types, and which must be there.
MEMBERS = {
    "unknown": ({}, ()),
    "bool": ({"value": lambda v: isinstance(v, bool)}, ("value",)),
    "string": ({"value": is_text}, ("value",)),
    "syscall": ({"name": is_text}, ("name",)),
    "process": ({"name": is_text, "pid": is_integer, "tid": is_integer}, ()),
    "path": ({"path": is_text}, ("path",)),
    "fd": ({"fd": is_integer}, ("fd",)),
    "irq": ({"hard": lambda v: isinstance(v, bool), "nr": is_integer, "name": is_text}, ("nr",)),
    "cpu": ({"id": is_integer}, ("id",)),
    "disk": ({"name": is_text}, ("name",)),
    "part": ({"name": is_text}, ("name",)),
    "netif": ({"name": is_text}, ("name",)),
}


def check_members(thing, members, required, where):
    wrong = [f"{where}: lacks {name}" for name in required if name not in thing]
    for name, value in thing.items():
        if name == "class":
            continue
        if name not in members:
            wrong.append(f"{where}: has {name}, which its class does not")
        elif not members[name](value):
            wrong.append(f"{where}: {name} is {value!r}")
    return wrong


def check_object(thing, where):
    """A data object, or null."""
    if thing is None:
        return []
    if not isinstance(thing, dict) or thing.get("class") not in COLUMN_CLASSES - {"mixed"}:
        return [f"{where}: {thing!r} is no data object"]
    kind = thing["class"]
    if kind in TIMES:
        wrong = check_members(thing, {"value": is_number, "low": is_bound, "high": is_bound}, (), where)
        if "value" not in thing and not ("low" in thing and "high" in thing):
            wrong.append(f"{where}: neither value nor bounds")
        return wrong
    if kind == "time-range":
        wrong = []
        for end in ("begin", "end"):
            if not isinstance(thing.get(end), dict) or thing[end].get("class") != "timestamp":
                wrong.append(f"{where}: {end} is no timestamp")
            else:
                wrong += check_object(thing[end], f"{where}.{end}")
        return wrong
    return check_members(thing, *MEMBERS[kind], where)


def check_columns(columns, where):
    wrong = []
    if not isinstance(columns, list):
        return [f"{where}: no array of columns"]
    for number, column in enumerate(columns):
        here = f"{where}[{number}]"
        wrong += check_members(column, {"title": is_text, "class": is_text, "unit": is_text}, (), here)
        if column.get("class", "mixed") not in COLUMN_CLASSES:
            wrong.append(f"{here}: there is no class {column['class']!r}")
        if "unit" in column and column.get("class") != "number":
            wrong.append(f"{here}: only numbers have a unit")
    return wrong


def check_metadata(metadata):
    wrong = []
    version = metadata.get("mi-version")
    if not isinstance(version, dict) or (version.get("major"), version.get("minor")) != (1, 0):
        wrong.append(f"mi-version is {version!r}")
    for name in ("title", "description"):
        if name in metadata and not is_text(metadata[name]):
            wrong.append(f"{name} is no text")
    for name in ("tags", "authors"):
        if name in metadata and not all(is_text(text) for text in metadata[name]):
            wrong.append(f"{name} are no texts")
    if not isinstance(metadata.get("table-classes"), dict):
        return wrong + ["no table-classes"]
    for name, table in metadata["table-classes"].items():
        if "inherit" in table and table["inherit"] not in metadata["table-classes"]:
            wrong.append(f"{name}: inherits {table['inherit']!r}, which is not there")
        wrong += check_columns(table.get("column-descriptions", []), name)
    return wrong


def columns_of(kind, metadata, where):
    """The columns of a result's class, a name or an object; and what is wrong with it."""
    classes = metadata["table-classes"]
    if isinstance(kind, str):
        if kind not in classes:
            return [], [f"{where}: there is no table class {kind!r}"]
        return classes[kind].get("column-descriptions", []), []
    if not isinstance(kind, dict):
        return [], [f"{where}: class is {kind!r}"]
    if "column-descriptions" in kind:
        return kind["column-descriptions"], check_columns(kind["column-descriptions"], where)
    return columns_of(kind.get("inherit"), metadata, where)


def check_row(row, columns, where):
    if len(row) != len(columns):
        return [f"{where}: {len(row)} cells for {len(columns)} columns"]
    wrong = []
    for number, (cell, column) in enumerate(zip(row, columns)):
        here = f"{where}[{number}]"
        wrong += check_object(cell, here)
        declared = column.get("class", "mixed")
        if not wrong and cell is not None and declared != "mixed" and cell["class"] not in (declared, "unknown"):
            wrong.append(f"{here}: {cell['class']} in a column of {declared}")
    return wrong


def check_results(document, metadata):
    wrong = []
    if not isinstance(document.get("results"), list):
        return ["no results"]
    for number, table in enumerate(document["results"]):
        where = f"results[{number}]"
        time_range = table.get("time-range")
        if not isinstance(time_range, dict) or time_range.get("class") != "time-range":
            wrong.append(f"{where}: no time-range")
        else:
            wrong += check_object(time_range, f"{where}.time-range")
        columns, bad = columns_of(table.get("class"), metadata, where)
        wrong += bad
        for at, row in enumerate(table.get("data", [])):
            if len(wrong) > 20:
                return wrong
            wrong += check_row(row, columns, f"{where}.data[{at}]")
    return wrong
