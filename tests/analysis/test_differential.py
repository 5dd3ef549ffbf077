#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Every cell that lttng-analyses printed for a trace equals ours, or a rule of differences.py explains why not. LULL is the program,
# LULL_SAMPLES the directory of the unpacked samples; traces of LULL_SHARED are compared as well if they are there.
import collections
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import differences  # noqa: E402
from lami_compare import Difference, class_of, compare, count_cells, subtitle  # noqa: E402
from reference import Reference  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull, samples, source = os.environ['LULL'], os.environ['LULL_SAMPLES'], os.environ['LULL_SOURCE']
shared = os.environ.get('LULL_SHARED', os.path.join(source, '..', 'shared'))
peer_file = os.path.join(source, 'tests', 'data', 'peer.tar.xz')

TRACES = {'django-client': 'django/client', 'django-httpd': 'django/httpd', 'django-db': 'django/db'}
SHARED_TRACES = {'single-mixed': ('single.tar.xz', 'mixed'), 'vm-host': ('vm.tar.xz', 'host'), 'vm-guest': ('vm.tar.xz', 'guest')}
PROGRAMS = {'cputop': 'cputop', 'memtop': 'memtop', 'syscallstats': 'syscallstats'}
PROGRAMS.update(dict.fromkeys('iolatencyfreq iolatencystats iolatencytop iolog iousagetop'.split(), 'iolog'))
PROGRAMS.update(dict.fromkeys('irqfreq irqlog irqstats'.split(), 'irqlog'))
PROGRAMS.update(dict.fromkeys('schedfreq schedlog schedstats schedtop'.split(), 'schedlog'))
# As the peer was run; it prints a row more than the limit of iolatencytop (Q-L1).
LIMITS = {'cputop': ['--limit=0'], 'memtop': ['--limit=0'], 'iolatencytop': [f'--limit={differences.LIMIT + 1}']}


class Context:
    """What the check of a rule may ask: the reference, and the other rows of the tables."""

    def __init__(self, reference):
        self.reference, self.documents, self.kept = reference, {}, {}

    def once(self, function, *key):
        """function(reference), computed once."""
        key = (function.__qualname__, *key)
        if key not in self.kept:
            self.kept[key] = function(self.reference)
        return self.kept[key]

    def rows(self, side, difference):
        """The rows of the table of a difference, of 'peer' or 'ours'."""
        return next(table['data'] for table in self.documents[side]['results']
                    if (class_of(table), subtitle(table)) == (difference.cls, difference.sub))


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, encoding='utf-8', check=True).stdout


# ---- names in titles and of disks: taken out of the documents, so that tables and rows meet, and compared apart ----

def tables_of_tasks(document):
    """Names the tables of syscallstats by tid alone; {tid: (name, pid) of the title}."""
    titles = {}
    for table in document['results']:
        if class_of(table) == 'per-tid':
            name, pid, tid = re.fullmatch(r'(.*) \((\d+|\?), TID: (\d+)\)', subtitle(table)).groups()
            titles[int(tid)] = (name, None if pid == '?' else int(pid))
            table['class']['title'] = f'[TID: {tid}]'
    return titles


def check_titles(name, document):
    """The titles say what the table of all tasks says."""
    titles = tables_of_tasks(document)
    for table in document['results']:
        if class_of(table) == 'total':
            rows = {row[0]['tid']: (row[0]['name'], row[0].get('pid')) for row in table['data']}
            tap.ok(titles == rows, name, titles, rows)


def rename_disks(peer, ours, command, context):
    """Gives the peer's disks our names, as the rule disk-name confirms; yields the differences."""
    for theirs, mine in zip(*([table for table in document['results'] if is_of_disks(table)] for document in (peer, ours))):
        if subtitle(theirs).startswith('disk: '):
            names = [subtitle(table)[len('disk: '):] for table in (theirs, mine)]
            if names[0] != names[1]:
                yield Difference(command, 'freq', subtitle(theirs), ('title',), 'title', *names)
                theirs['class']['title'] = mine['class']['title']
        for a, b in zip(theirs['data'], mine['data']):
            if 'name' in (a[0] or {}) and a[0]['name'] != b[0]['name']:
                column = 'Partition' if class_of(theirs) == 'disk-latency-stats' else 'Disk'
                yield Difference(command, class_of(theirs), '', ('disk',), column, a[0]['name'], b[0]['name'])
                a[0]['name'] = b[0]['name']


def is_of_disks(table):
    return 'disk' in class_of(table) or subtitle(table).startswith('disk: ')


# ---- one trace ----

def compare_command(command, peer, ours, columns, context, tally, name):
    context.documents = {'peer': peer, 'ours': ours}
    if command == 'syscallstats':
        check_titles(f'{name}: titles of the peer', peer)
        check_titles(f'{name}: titles', ours)
    found = list(rename_disks(peer, ours, command, context)) + list(compare(command, peer, ours, columns))
    tally['cells'] += count_cells(peer)
    for difference in found:
        rule = differences.explain(difference, context)
        if rule is None:
            tap.ok(False, f'{name} {command}: unexplained', difference)
            tally['unexplained'] += 1
        tally['cells that differ'] += difference.kind() == 'cell' or len(difference.peer_row or [])
        tally[rule] += 1
    return len(found)


def columns_of(archive):
    """{(program, class): titles of the columns}, by the peer's metadata."""
    found = {}
    for program in set(PROGRAMS.values()):
        metadata = json.load(archive.extractfile(f'./metadata/{program}.json'))
        for name, cls in metadata['table-classes'].items():
            found[program, name] = [column['title'] for column in cls['column-descriptions']]
    return found


# ---- the protocol ----

def check_program(archive, folder, command, program):
    """A client of lttng-COMMAND-mi finds the classes that it knows, and its options."""
    link = os.path.join(folder, f'lttng-{command}-mi')
    os.symlink(lull, link)

    def ask(*arguments):
        return json.loads(subprocess.run([link, *arguments], capture_output=True, text=True, check=True).stdout)
    peer = json.load(archive.extractfile(f'./metadata/{program}.json'))
    tap.ok(ask('--metadata')['table-classes'] == peer['table-classes'], f'lttng-{command}-mi: --metadata: classes of the peer')
    trace = os.path.join(samples, TRACES['django-client'])
    tables = ask(trace)['results']
    begin, end = (tables[0]['time-range'][side]['value'] for side in ('begin', 'end'))
    third = (end - begin) // 3
    for table in ask(f'--begin={begin + third}', '--end', str(end - third), trace)['results']:
        found = [table['time-range'][side]['value'] for side in ('begin', 'end')]
        # The peer tells of the first and the last event within; ours of the range that was asked for.
        tap.ok(found == [begin + third, end - third], f'lttng-{command}-mi: --begin, --end', found)
    if command in ('cputop', 'memtop', 'iolatencytop', 'iousagetop', 'schedtop'):
        limited = ask('--limit', '2', trace)['results']
        tap.ok(max(len(table['data']) for table in limited) == 2, f'lttng-{command}-mi: --limit')


def compare_trace(archive, columns, name, path, totals):
    context = Context(Reference(run('print', '--json', path).splitlines()))
    tally = collections.Counter()
    for command, program in PROGRAMS.items():
        peer = json.load(archive.extractfile(f'./lami/{name}/{command}.json'))
        ours = json.loads(run(command, '--lami', *LIMITS.get(command, []), path))
        compare_command(command, peer, ours, lambda cls, program=program: columns[program, cls], context, tally, name)
    tap.ok(tally['cells'] > 1000 and not tally['unexplained'], f'{name}: {tally["cells"]} cells, all equal or explained')
    totals[name] = tally


def print_summary(totals):
    print(f'# {"":22}' + ''.join(f'{name:>15}' for name in totals))
    rules = [rule for rule in differences.RULES if any(tally[rule] for tally in totals.values())]
    for row in ['cells', 'cells that differ', *rules]:
        quirk = differences.RULES[row].quirk or '' if row in differences.RULES else ''
        print(f'# {row:22}' + ''.join(f'{tally[row]:15}' for tally in totals.values()) + f'  {quirk}')


def unpacked(archive, trace, folder):
    """A shared trace in `folder`, or None."""
    path = os.path.join(shared, 'traces', archive)
    if not os.path.exists(path):
        return None
    with tarfile.open(path) as tar:
        members = [member for member in tar if trace in member.name.split('/')]
        tar.extractall(folder, members)
    return next((root for root, names, _ in os.walk(folder) if os.path.basename(root) == trace and names), None)


def main():
    totals = {}
    with tarfile.open(peer_file) as archive, tempfile.TemporaryDirectory() as folder:
        columns = columns_of(archive)
        for command, program in PROGRAMS.items():
            tap.run(command, check_program, archive, folder, command, program)
        for name, trace in TRACES.items():
            tap.run(name, compare_trace, archive, columns, name, os.path.join(samples, trace), totals)
        for name, (file, trace) in SHARED_TRACES.items():
            path = unpacked(file, trace, os.path.join(folder, name))
            if path is None:
                tap.skip(name, f'no {file} in LULL_SHARED')
            else:
                tap.run(name, compare_trace, archive, columns, name, path, totals)
    print_summary(totals)
    for rule in differences.RULES:
        if any(tally[rule] for tally in totals.values()):
            tap.ok(True, f'rule {rule} explains something')
        elif len(totals) < len(TRACES) + len(SHARED_TRACES):
            tap.skip(f'rule {rule} explains something', 'not all traces are here')
        else:
            tap.ok(False, f'rule {rule} explains something')
    return tap.done()


sys.exit(main())
