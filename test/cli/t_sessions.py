#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The recorded sessions of README.md and the guides are true: each ```console block is run again, and
what it prints must be what stands there.

A line "$ COMMAND" is run by bash, the lines below are what it must print (stdout and stderr). Blocks of
one file share a directory. What differs from run to run may: sizes, numbers of four digits and more (also
with a point), hexadecimal ones of eight and more, the directory, and a line "..." stands for any number
of lines. `cat FILE` as the first mention of a file makes it.
"""
import os, re, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
source = os.environ.get('PT_SOURCE', os.path.dirname(os.path.dirname(here)))
build = os.environ.get('PT_BUILD', source + '/build')
os.environ['PATH'] = '%s/bin:%s/script:%s' % (build, source, os.environ['PATH'])
failures = 0


def fail(what):
    global failures
    failures += 1
    print('FAIL:', what)


def blocks(path):
    """The steps of a file: (command, lines that it must print)."""
    steps, on = [], False
    for line in open(path, encoding='utf-8'):
        line = line.rstrip('\n')
        if line.startswith('```'):
            on = line == '```console'
        elif on and line.startswith('$ '):
            steps.append((line[2:], []))
        elif on:
            steps[-1][1].append(line)
    return steps


def without_hardware(line):
    return 'using the software recorder' not in line  # said only where there is no Intel PT


# A number as it stands there, and what may stand in its place.
variable = re.compile(r'\b[0-9.]+ ([KM]iB|bytes)\b|0x[0-9a-f]{4,}|\b[0-9a-f]{8,}\b|\b\d+\.\d+\b|\b\d{4,}\b'
                      r'|(?<=: 0-)[0-9a-f]+|(?<=tsc        )[0-9a-f]+|(?<=tma        )[0-9a-f, ]+'
                      r'|(?<=piece 1 of )\d+|(?<=cpu )\d+|(?<=, )\d+(?= wake-ups)|(?<=cbr        )[0-9a-f]+'
                      r'|(?<=\()/\S+(?=\))')
free = r'[0-9.]+ ([KM]iB|bytes)|(0x)?[0-9a-f.]+|[0-9a-f]+, [0-9a-f]+|/\S+'


def pattern(line):
    out, at = '', 0
    for m in variable.finditer(line):
        out += re.escape(line[at:m.start()]) + '(?:%s)' % free
        at = m.end()
    out += re.escape(line[at:])
    return re.sub(r'(\\ )+', ' +', re.sub(r'^(\\ )+', ' *', out)) + '$'  # columns may be wider


def same(want, got):
    """None, or the first line that differs."""
    want, got = list(want), list(got)
    while want:
        line = want.pop(0)
        if line == '...':
            if not want:
                return None
            while got and not re.match(pattern(want[0]), got[0]):
                got.pop(0)
        elif not got or not re.match(pattern(line), got.pop(0)):
            return line
    return got[0] if got else None


def run(path):
    steps = blocks(path)
    with tempfile.TemporaryDirectory() as work:
        for command, want in steps:
            made = re.match(r'cat (\S+)$', command)
            if made and not os.path.exists(work + '/' + made.group(1)):
                with open(work + '/' + made.group(1), 'w') as f:
                    f.write('\n'.join(want) + '\n')
            got = subprocess.run(['bash', '-c', command], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, timeout=120).stdout.decode().splitlines()
            want, got = [[l.replace(work, '/home/user') for l in x if without_hardware(l)] for x in (want, got)]
            line = same(want, got)
            name = '%s: %s' % (os.path.relpath(path, source), command)
            if line is None:
                print('ok:', name)
            else:
                fail('%s: differs at %r; printed:\n%s' % (name, line, '\n'.join(got[:20])))
    return len(steps)


def selftest():
    """What must not pass does not."""
    for want, got, good in (('insn: 95149.', 'insn: 100.', True), ('177  fib', '178  fib', False), ('a', 'b', False),
                            ('0000558a04d9b139 <fib+0x0>', '00007fffffffffff <fib+0x0>', True),
                            ('0000558a04d9b139 <fib+0x0>', '00007fffffffffff <fib+0x1>', False)):
        if (same([want], [got]) is None) != good:
            fail('the comparison of %r with %r' % (want, got))
    if same(['a'], ['a', 'b']) is None or same(['a', 'b'], ['a']) is None or same(['a', '...', 'd'], ['a', 'b', 'c', 'd']):
        fail('the comparison of lines')


selftest()
with tempfile.TemporaryDirectory() as d:
    if subprocess.run(['ptcapture', '-q', '-o', d + '/p', '--', '/bin/true'], stderr=subprocess.DEVNULL).returncode:
        print('skipped: nothing can be recorded here')
        sys.exit(77)
total = 0
for name in ['README.md'] + sorted('doc/' + f for f in os.listdir(source + '/doc') if f.endswith('.md')):
    total += run('%s/%s' % (source, name))
print('%d commands' % total)
if total < 6:
    fail('too few commands')
sys.exit(failures != 0)
