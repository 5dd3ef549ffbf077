# SPDX-License-Identifier: MIT
"""The answers of lttng-analyses to streams of events made by hand (vectors/NAME in peer.tar.xz): reads its tables of text, and says
in BY_HAND what is to come out where it is wrong. Those values were worked out from the few events of the stream."""
import re

UNITS = {'B': 1, 'KiB': 1024}
CALL = re.compile(r'\[([\d:.]+), ([\d:.]+)\](.) +(\w+) +([\d.]+)(.) +(N/A|[\d.]+ +(?:B|KiB)) +(.*?) +(\d+) +(\S.*?) *$')

# vector and document → lines "place: what is right | quirk or reason". The place is class, subtitle, row and column; a whole
# row says its cells, one that only the peer has says "none". Times are in ms.
BY_HAND = {
    'cpu cputop': '''
        per-cpu 0 CPU usage: 0.2 | Q-C1: idle until 100 ms, then a and b for 100 ms each
        per-cpu 1 CPU usage: 0.6 | Q-C1: c from 400 ms on; nothing is known of this CPU before its first event
        total CPU usage: 0.4 | Q-C1: of the two CPUs that were seen; CPU 3 is only named by a wakeup
        per-process 13 CPU usage: 0 | Q-C1: since when x ran is not known
        per-process 13 Chronological priorities: [20] | sched_switch says what x had
        per-process 0: none | Q-C2: the idle task''',
    'io iolatencystats': '''
        syscall-latency-stats Open Call count: 7 | Q-IO1: with fcntl(F_DUPFD_CLOEXEC)''',
    'io iolatencytop': '''
        top-syscall open 32-33 File path: /tmp/a | Q-IO7: fd 7 is a copy of fd 4
        top-syscall open 38-39: 38-39 False 1000000 fcntl - app/10 /tmp/a 9 | Q-IO1: F_DUPFD_CLOEXEC
        top-syscall read 26-27 File path: 1.2.3.4:1234 | IO10: accept4 told whom fd 6 is connected to
        top-syscall read 67-68 Process: kid/20 | it was not yet called kidexec
        top-syscall read 67-68 File path: /tmp/a | Q-IO7: inherited at the fork
        top-syscall read 70-71 Process: kid/20 | exec of /bin/kid makes it kid; no kernel gives it another name
        top-syscall read 70-71 File path: ? | unknown is no path: exec closed fd 4
        top-syscall write 40-41 File path: /tmp/a | Q-IO1: fd 9 is a copy by F_DUPFD_CLOEXEC''',
    'io iolog': '''
        log 24-25: 24-25 False 1000000 accept4 - app/10 1.2.3.4:1234 6 | Q-IO1
        log 26-27 File path: 1.2.3.4:1234 | IO10
        log 28-29: 28-29 False 1000000 splice 64 app/10 /tmp/a 4 | Q-IO1
        log 30-31: 30-31 False 1000000 sendfile64 64 app/10 /tmp/a 4 | Q-IO1
        log 32-33 File path: /tmp/a | Q-IO7
        log 38-39: 38-39 False 1000000 fcntl - app/10 /tmp/a 9 | Q-IO1
        log 40-41 File path: /tmp/a | Q-IO1
        log 42-43 File path: /tmp/a | Q-IO1
        log 46-47 File path: ? | unknown is no path
        log 67-68 Process: kid/20 | it was not yet called kidexec
        log 67-68 File path: /tmp/a | Q-IO7
        log 70-71 Process: kid/20 | exec of /bin/kid
        log 70-71 File path: ? | unknown is no path''',
    'io iousagetop': '''
        per-disk-top-sector sda: none | B2: a discard reads nothing
        per-file-top read /tmp/a Operations size: 238 | 100 read, 64 spliced, 64 sent, 10 by kid
        per-file-top read /tmp/a File descriptor owners: fd 4 in app (10) fd 4 in kid (20)  | IO11
        per-file-top read unknown (app): none | IO10: that was the accepted socket
        per-file-top read /etc/passwd File descriptor owners: fd 3 in app (10)  | IO11: kid read nothing of it
        per-file-top read unknown (kidexec): none | see kid
        per-file-top read 1.2.3.4:1234: 1.2.3.4:1234 77 fd 6 in app (10)  | IO10
        per-file-top read unknown (kid): unknown (kid) 10 fd 4 in kid (20)  | exec of /bin/kid
        per-file-top written /tmp/a Operations size: 5010 | Q-IO1: with what went through fd 9
        per-file-top written /tmp/a File descriptor owners: fd 4 in app (10)  | IO11
        per-file-top written 127.0.0.1:80 Operations size: 428 | Q-IO1: 300 sent, 64 spliced and 64 by sendfile
        per-file-top written 127.0.0.1:80 File descriptor owners: fd 5 in app (10)  | IO11
        per-file-top written unknown (app): none | Q-IO1: that was fd 9
        per-process-top read app/10/10 Total operations size: 305 | Q-IO1: 100 + 77 + 64 + 64
        per-process-top read app/10/10 Disk operations size: 228 | Q-IO1: 100 + 64 + 64
        per-process-top read app/10/10 Network operations size: 77 | IO10
        per-process-top read app/10/10 Unknown operations size: 0 | IO10
        per-process-top read kid/20/20 Process: kid/20/20 | exec of /bin/kid
        per-process-top read thr/10/11 Disk operations size: 10 | IO10: /etc/passwd of the state dump
        per-process-top read thr/10/11 Unknown operations size: 0 | IO10
        per-process-top written app/10/10 Total operations size: 5438 | Q-IO1: 5000 + 300 + 10 + 64 + 64
        per-process-top written app/10/10 Disk operations size: 5010 | Q-IO1
        per-process-top written app/10/10 Network operations size: 428 | Q-IO1
        per-process-top written app/10/10 Unknown operations size: 0 | Q-IO1
        per-process-top written kid/20/20 Process: kid/20/20 | exec of /bin/kid
        per-process-top-block written app/10/10: none | kid was on the CPU, whatever the event says
        per-process-top-block written kid/20/20: kid/20/20 4096 | kid was on the CPU''',
    'irq irqlog': '''
        log 9-10 Raised timestamp: ? | Q-IRQ1: raises 4 and 5 were one with raise 3
        log 11-12 Raised timestamp: ? | Q-IRQ1
        log 15-19: 15-19 - 0 irq 41 | IRQ4: the outer handler''',
    'irq irqstats': '''
        hard-stats irq 41 Interrupt count: 3 | IRQ4: 4, 1 and 3 ms
        hard-stats irq 41 Average duration: 2666666.6666666665 | IRQ4
        hard-stats irq 41 Maximum duration: 4000000 | IRQ4
        hard-stats irq 41 Interrupt duration standard deviation: 1527525.2316519467 | IRQ4
        soft-stats soft 1 Interrupt raise count: 2 | Q-IRQ1: raise 1 to entry 2, raise 3 to entry 7
        soft-stats soft 1 Average raise latency: 2500000 | Q-IRQ1
        soft-stats soft 1 Maximum raise latency: 4000000 | Q-IRQ1
        soft-stats soft 1 Interrupt raise latency standard deviation: 2121320.3435596428 | Q-IRQ1''',
    'sysc memtop': '''
        allocd app/10 Allocated pages: 9 | Q-ME1: 2^3 + 1
        freed app/10 Freed pages: 2 | Q-ME2
        total Total allocated pages: 9 | Q-ME1
        total Total freed pages: 2 | Q-ME2''',
    'sysc syscallstats': '''
        per-tid app (?, TID: 10) getpid Return values count: {'success': 3} | Q-S1
        per-tid app (?, TID: 10) open Call duration standard deviation: 0 | of two calls of 2 ms
        per-tid app (?, TID: 10) open Return values count: {'ENOENT': 1, 'success': 1} | Q-S1
        per-tid app (?, TID: 10) nosuch Return values count: {'-9999': 1} | Q-S1
        per-tid app (?, TID: 10) getuid Call count: 2 | Q-V1: once by the compatible entry
        per-tid app (?, TID: 10) getuid Call duration standard deviation: 0 | of two calls of 1 ms
        per-tid app (?, TID: 10) read Return values count: {'success': 1} | Q-S1
        per-tid bb (?, TID: 11) write Return values count: {'success': 1} | Q-S1
        total app/10 Total system call count: 9 | Q-V1''',
    # Calls as text: name, size, task, path, descriptor, whether out of range.
    'io iolog-begin60ms': '''
        61-62: read 10 thr /etc/passwd 3 False | Q-IO3
        67-68: read 10 kid /tmp/a 4 False | Q-IO3
        70-71: read 10 kid ? 4 False | exec closed fd 4''',
    'ctxpid iolog': '''
        8-9: open - thr /x 4 False | Q-IO6: the leader keeps its descriptors
        11-12: read 5 thr2 /x 4 False | Q-IO6: threads share them''',
    'dupsame iolog': '''
        8-9: open - app /zz 9 False | dup2(9, 9) does nothing, and fd 9 is /zz until exec
        10-11: dup2 - app /zz 9 False | dup2(9, 9)
        12-13: read 3 app /zz 9 False | dup2(9, 9)
        14-15: dup2 - app ? 9 False | fd 9 could not be copied; the peer shows no descriptor of failed calls
        16-17: read 3 app /etc/passwd 3 False | the failed dup2 did not close fd 3
        18-18.2: pread64 3 app /etc/passwd 3 False | the failed dup2 did not close fd 3
        18.4-18.5: preadv 3 app /etc/passwd 3 False | the failed dup2 did not close fd 3
        18.6-18.7: preadv2 3 app /etc/passwd 3 False | Q-IO1
        20-21: read 3 x ? 9 False | exec of x
        23-24: none | S3: a read does not end with the exit of a write''',
    'mn iolog': '''
        16-17: open - app /a 7 False | Q-IO8: fd 7 was closed unseen
        18-19: write 1 app /a 7 False | Q-IO8''',
    'ctxpid iousagetop': '''
        Per-process I/O Read thr2 (10): 5 | Q-IO6
        Per-file I/O Read unknown (thr2): none | the owner is process 10, which is called thr
        Per-file I/O Read unknown (thr): 5 | Q-IO6: fd 3
        Per-file I/O Read /x: 5 | Q-IO6: fd 4''',
    'dupsame iousagetop': '''
        Per-process I/O Read app (10): none | exec of x
        Per-process I/O Read x (10): 18 | six reads of 3
        Per-process I/O Write app (10): none | exec of x
        Per-process I/O Write x (10): 3 | the write of which only the end was seen
        Per-file I/O Read unknown (app): none | exec of x
        Per-file I/O Read /etc/passwd: 12 | four reads
        Per-file I/O Read /zz: 3 | one
        Per-file I/O Read unknown (x): 3 | fd 9 after exec''',
    'mn iousagetop': '''
        Per-file I/O Write unknown (app): 28 | Q-IO8
        Per-file I/O Write /a: 1 | Q-IO8''',
    'early iousagetop': '''
        Per-process I/O Read b (10): 5 | a read of which only the end was seen moved bytes
        Per-process I/O Write b (10): 0 | see above''',
}


def by_hand(document):
    """{place: what is right} of a document of BY_HAND."""
    found = {}
    for line in BY_HAND.get(document, '').splitlines():
        match = re.fullmatch(r' *(.*?): (.*) \| (.*)', line) if 'TID' not in line else re.fullmatch(
            r' *(.*\).*?): (.*) \| (.*)', line)
        if match:
            found[match[1]] = match[2]
    return found


def milliseconds(clock):
    hours, minutes, seconds = clock.split(':')
    return ((int(hours) * 60 + int(minutes)) * 60 + float(seconds)) * 1000


def size_of(text):
    number, unit = re.fullmatch(r'([\d.]+) *(\w*)', text.strip()).groups()
    return float(number) * UNITS.get(unit, 1)


def calls(text):
    """Rows of iolog: "begin-end" in ms → name, size, task, path, descriptor and whether out of range."""
    found = {}
    for match in filter(None, map(CALL.match, text.splitlines())):
        begin, end, flag, name, _, _, size, comm, _, file = match.groups()
        path, fd = (re.fullmatch(r'(.*) \(fd=(\d+)\)', file) or ('', '-', '-')).groups() if '(fd=' in file else ('-', '-')
        size = '-' if size == 'N/A' else f'{size_of(size):g}'
        found[f'{milliseconds(begin):g}-{milliseconds(end):g}'] = ' '.join(
            [name, size, comm, '?' if path == 'unknown' else path, fd, str(flag == '*')])
    return found


def bars(text):
    """Tables of bars: "title label" → value. Of a process the label is its name and number."""
    found, title = {}, None
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and lines[at + 1].startswith('####'):
            title = re.split(r'  ', line)[0]
        elif not line.strip():
            title = None
        match = title and re.match(r'[█ ]*?([\d.]+)(?: +(B|KiB|sectors|requests|ms))? +(\S.*?)(?: {2,}.*)?$', line)
        if match:
            number, unit, label = match.groups()
            label = re.sub(r' \((?:unknown \(tid=|pid=)?(\d+)\)*$', r' (\1)', label)
            found[f'{title} {label}'] = f'{size_of(number + " " + (unit or "")):g}'
    return found
