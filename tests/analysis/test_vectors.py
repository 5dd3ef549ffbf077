#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The streams that were made by hand for lttng-analyses: its answers are ours, except where vectors.py says by hand what is right.
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, '..', 'lib')]
import differences  # noqa: E402
import jsonl_to_ctf  # noqa: E402
import vectors  # noqa: E402
from lami_compare import compare  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull, source = os.environ['LULL'], os.environ['LULL_SOURCE']
VERBS = ('cputop memtop syscallstats iolatencyfreq iolatencystats iolatencytop iolog iousagetop irqfreq irqlog irqstats '
         'schedfreq schedlog schedstats schedtop').split()
# Slices of ours end at their times, those of the peer at events: see by_themselves(). Periods have unit tests.
OTHERS = {'cpu/cputop-r0.out', 'cpu/cputop-r300ms.json', 'sched/schedfreq-series.json', 'nest/memtop.out'}
TITLES = {'Per-process I/O Read': ('per-process-top', 'read'), 'Per-process I/O Write': ('per-process-top', 'written'),
          'Per-file I/O Read': ('per-file-top', 'read'), 'Per-file I/O Write': ('per-file-top', 'written')}


def run(command, trace, *options):
    limits = ['--limit=0'] if command in ('cputop', 'memtop') else []
    done = subprocess.run([lull, command, '--lami', *limits, *options, trace], capture_output=True, text=True,
                          encoding='utf-8', check=True)
    return json.loads(done.stdout)


def text_of(cell):
    """A cell in the words of BY_HAND."""
    if cell is None:
        return '-'
    kind = cell['class']
    if kind == 'process':
        return '/'.join(str(cell[key]) for key in ('name', 'pid', 'tid') if key in cell)
    if kind == 'irq':
        return f"{'irq' if cell['hard'] else 'soft'} {cell['nr']}"
    if kind == 'time-range':
        return f"{cell['begin']['value'] / 1e6:g}-{cell['end']['value'] / 1e6:g}"
    return str(next((cell[key] for key in ('value', 'name', 'path', 'fd', 'id') if key in cell), '?'))


def place_of(difference):
    row = difference.our_row or difference.peer_row
    first = '' if difference.cls == 'total' and not row[0].get('tid') else text_of(row[0])
    if difference.command == 'cputop' and '/' in first:
        first = str(row[0]['tid'])
    return ' '.join(filter(None, [difference.cls, difference.sub, first, difference.column]))


def is_rule(difference):
    """What is told of all traces."""
    if difference.column == 'System call out of range?':  # Q-M4
        return difference.peer['value'] is None and difference.ours['value'] is False
    if difference.command == 'irqfreq' and difference.sub == 'ahci, usb (41)':  # IRQ4: with the outer handler's 4 ms
        return differences.bins([1e6, 3e6, 4e6], tables['irqfreq'])
    return False


tables = {}


def said(value, difference):
    """Whether our side of a difference is the value."""
    if difference.ours is None:
        return value == 'none'
    if difference.kind() == 'row':
        return value == ' '.join(map(text_of, difference.ours))
    try:
        return differences.close(float(value), float(text_of(difference.ours)))
    except ValueError:
        return value == text_of(difference.ours)


def check_document(name, command, peer, ours, columns):
    expected, used = vectors.by_hand(name), set()
    tables.update({'irqfreq': table['data'] for table in ours['results']
                   if isinstance(table['class'], dict) and 'usb (41)' in table['class']['title']})
    for difference in compare(command, peer, ours, columns):
        place = place_of(difference)
        used.add(place)
        if not is_rule(difference):
            tap.ok(place in expected and said(expected[place], difference), f'{name}: {place}', difference, expected.get(place))
    tap.ok(used >= set(expected), f'{name}: all that is said by hand differs', set(expected) - used)


def check_texts(name, peer, ours):
    expected = vectors.by_hand(name)
    right = {**peer, **expected}
    right = {place: value for place, value in right.items() if value != 'none'}
    tap.ok(ours == right, f'{name}: {len(right)} rows', ours, right)
    tap.ok(all(peer.get(place) != value for place, value in expected.items()), f'{name}: all that is said by hand differs')


def our_calls(document):
    found = {}
    for table in document['results']:
        for time, outside, _, call, size, process, path, fd in table['data']:
            found[text_of(time)] = ' '.join([call['name'], text_of(size), process['name'], text_of(path), text_of(fd),
                                             str(outside['value'])])
    return found


def our_usage(document):
    found = {}
    for table in document['results']:
        for title, (cls, way) in TITLES.items():
            if isinstance(table['class'], dict) and table['class']['inherit'] == cls and f'[{way}]' in table['class']['title']:
                for row in table['data']:
                    label = f"{row[0]['name']} ({row[0].get('pid', row[0]['tid'])})" if cls == 'per-process-top' else row[0]['path']
                    found[f'{title} {label}'] = text_of(row[1])
    return found


def columns_of(archive):
    found = {}
    for program in ('cputop', 'memtop', 'syscallstats', 'iolog', 'irqlog', 'schedlog'):
        metadata = json.load(archive.extractfile(f'./metadata/{program}.json'))
        for name, cls in metadata['table-classes'].items():
            found[program[:3], name] = [column.get('title') for column in cls['column-descriptions']]
    return found


def family(command):
    return 'iol' if command.startswith('io') else command[:3]


def check_series(text, trace):
    """The peer was asked for two bins."""
    peer, ours = json.loads(text), run('schedfreq', trace, '--freq-resolution=2', '--freq-series')
    found = list(compare('schedfreq', peer, ours, lambda cls: range(4)))
    tap.ok(not found and peer['results'][0]['class'] == ours['results'][0]['class'], 'sched schedfreq --freq-series', *found)


def check_file(vector, file, text, trace, columns, options):
    command = file.split('.')[0].split('-')[0]
    name = f'{vector} {file.rsplit(".", 1)[0]}'
    if file == 'schedfreq-series.json':
        check_series(text, trace)
    if command not in VERBS or f'{vector}/{file}' in OTHERS:
        return
    if file.endswith('.json'):
        check_document(name, command, json.loads(text), run(command, trace, *options),
                       lambda cls: columns[family(command), cls])
        return
    options = shlex.split(text.splitlines()[0])[2:]
    if command == 'iolog' and 'Error' not in text and f'{vector}/{file}' != 'io/iolog.out':  # as iolog.json
        check_texts(name, vectors.calls(text), our_calls(run(command, trace, *options)))
    elif command == 'iousagetop' and 'Error' not in text and vector not in ('io', 'thrfork'):
        peer = {place: value for place, value in vectors.bars(text).items() if place.startswith(tuple(TITLES))}
        check_texts(name, peer, our_usage(run(command, trace, *options)))


def first_rows(document, cls):
    return [row for table in document['results'] for row in table['data']
            if (table['class'] if isinstance(table['class'], str) else table['class'].get('inherit')) == cls]


def windows(trace, *options):
    done = subprocess.run([lull, 'cputop', '--json', '--limit=0', *options, trace], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)['windows']


def by_themselves(folder):
    """Where the peer's answer has little to compare: worked out by hand."""
    def usage(*options):
        document = run('cputop', os.path.join(folder, 'cpu'), *options)
        return {row[0]['tid']: row[3]['value'] for row in first_rows(document, 'per-process') if row[3]['value']}
    tap.ok(usage('--cpu=1') == {12: 0.6}, 'cpu cputop --cpu=1', usage('--cpu=1'))
    tap.ok(usage('--tid=10') == {10: 0.1}, 'cpu cputop --tid=10: Q-C3, no other task', usage('--tid=10'))
    slices = [{row['process']['tid']: row['cpu_ns'] for row in window['tables']['per-process'] if row['cpu_ns']}
              for window in windows(os.path.join(folder, 'cpu'), '--refresh=300ms')]
    tap.ok(slices == [{10: 100000000, 11: 100000000}, {12: 200000000}, {12: 300000000}, {12: 100000000}],
           'cpu cputop in slices: Q-C4, who runs through one counts', slices)
    files = {row[0]['path']: row[1]['value'] for row in first_rows(run('iousagetop', os.path.join(folder, 'thrfork')),
                                                                   'per-file-top')}
    tap.ok(files == {'/x': 5}, 'thrfork iousagetop: a thread reads what another opened', files)
    # The peer dies of these.
    tap.ok(first_rows(run('irqstats', os.path.join(folder, 'irqcrash')), 'soft-stats') == [],
           'irqcrash irqstats: Q-IRQ2, a raise and an exit are no handler')
    counts = {row[0]['name']: row[1]['value'] for row in first_rows(run('syscallstats', os.path.join(folder, 'syscnone')),
                                                                    'per-tid')}
    tap.ok(counts == {'getpid': 3, 'open': 2, 'nosuch': 1, 'getuid': 2, 'read': 1, 'write': 1, 'mmap2': 1},
           'syscnone syscallstats: Q-S2, an exit without ret', counts)
    done = subprocess.run([lull, 'iolog', os.path.join(folder, 'newfd')], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, 'newfd iolog: Q-V2, descriptors by the address of their table', done.stderr)
    disks = run('iousagetop', os.path.join(folder, 'noperm'))
    tap.ok([[text_of(cell) for cell in row] for row in first_rows(disks, 'per-disk-top-sector')] == [['(0,1)', '8']],
           'noperm iousagetop: Q-B1, sectors')


def main():
    with tarfile.open(os.path.join(source, 'tests', 'data', 'peer.tar.xz')) as archive, \
            tempfile.TemporaryDirectory() as folder:
        columns = columns_of(archive)
        files = sorted(name for name in archive.getnames() if re.fullmatch(r'\./vectors/\w+/.*\.(json|out|jsonl)', name))
        options = {}  # of the peer, where its answer does not say them: vector/file → list
        for name in files:
            if name.endswith('/options.json'):
                vector = name.split('/')[2]
                options.update({f'{vector}/{file}': said for file, said in json.load(archive.extractfile(name)).items()})
            if name.endswith('events.jsonl'):
                events = [json.loads(line) for line in archive.extractfile(name)]
                jsonl_to_ctf.write_trace(events, os.path.join(folder, name.split('/')[2]))
        for name in files:
            vector, file = name.split('/')[2:]
            if not file.endswith('jsonl'):
                text = archive.extractfile(name).read().decode()
                tap.run(f'{vector}/{file}', check_file, vector, file, text, os.path.join(folder, vector), columns,
                        options.get(f'{vector}/{file}', ()))
        tap.run('by themselves', by_themselves, folder)
    return tap.done()


sys.exit(main())
