"""Reads the answers of lttng-analyses to streams of events made by hand: LAMI documents, and tables of text."""
import re

UNITS = {'B': 1, 'KiB': 1024, 'MiB': 1024 ** 2, 'pages': 1, 'sectors': 1, 'requests': 1, 'ms': 1, '%': 1, '': 1}
CALL = re.compile(r'\[([\d:.]+), ([\d:.]+)\](.) +(\w+) +([\d.]+)(.) +(N/A|[\d.]+ +(?:B|KiB|MiB)) +(.*?) +(\d+) +(\S.*?) *$')


def nanoseconds(clock):
    hours, minutes, seconds = clock.split(':')
    whole, fraction = seconds.split('.')
    return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10 ** 9 + int(fraction)


def size_of(text):
    number, unit = re.fullmatch(r'([\d.]+) *(.*)', text.strip()).groups()
    return float(number) * UNITS[unit]


def calls(text):
    """Rows of iolog: (begin, end, name, tid) → (size or None, comm, path or None, fd or None, out of range)."""
    found = {}
    for line in text.splitlines():
        match = CALL.match(line)
        if match:
            begin, end, flag, name, _, _, size, comm, tid, file = match.groups()
            path = re.fullmatch(r'(.*) \(fd=(\d+)\)', file)
            key = (nanoseconds(begin), nanoseconds(end), name, int(tid))
            found[key] = (None if size == 'N/A' else size_of(size), comm, path and path[1], path and int(path[2]), flag == '*')
    return found


def bars(text):
    """Tables of bars: title → {label: value}. Of a process the label is its name and number."""
    found, title = {}, None
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and lines[at + 1].startswith('####'):
            title = re.split(r'  ', line)[0]
            found[title] = {}
        elif title and line.strip() and not line.startswith('#'):
            match = re.match(r'[█ ]*?([\d.]+)(?: +(B|KiB|MiB|pages|sectors|requests|ms|%))? +(\S.*?)(?: {2,}.*)?$', line)
            if match:
                number, unit, label = match.groups()
                found[title][re.sub(r' \((?:unknown \(tid=|pid=)?(\d+)\)*$', r' (\1)', label)] = size_of(f'{number} {unit or ""}')
        elif not line.strip():
            title = None
    return found
