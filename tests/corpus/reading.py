# SPDX-License-Identifier: MIT
"""What lull prints of a trace, and whether that is what was written."""

import json
import os
import subprocess


def unique(pairs):
    """An object of JSON, whose keys must not repeat."""
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


def read(folder, *options):
    done = subprocess.run([os.environ["LULL"], "print", "--json", *options, folder], capture_output=True, text=True, check=False,
                          timeout=60)
    return done, [json.loads(line, object_pairs_hook=unique) for line in done.stdout.splitlines()]


def check_case(tap, folder, name, events, words="", status=0):
    """Each event has what `events` says of it; nothing but `words` is on stderr."""
    done, found = read(folder)
    tap.ok(done.returncode == status and words in done.stderr and bool(words) == bool(done.stderr), f"{name} is read", done.stderr)
    tap.ok(len(found) == len(events), f"{name} has {len(events)} events", found)
    for i, (one, other) in enumerate(zip(events, found)):
        for key, value in one.items():
            if isinstance(value, dict):
                for field in value.keys() | other[key].keys():
                    tap.ok(value.get(field) == other[key].get(field), f"{name}: event {i}, {key}.{field}",
                           f"wanted {value.get(field)!r}", f"found {other[key].get(field)!r}")
            else:
                tap.ok(other[key] == value, f"{name}: {key} of event {i}", f"wanted {value!r}", f"found {other[key]!r}")
