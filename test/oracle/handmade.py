# SPDX-License-Identifier: BSD-3-Clause
"""Recordings made by hand, for the tests beside: packets, code, and what must come out.

A trace consists of short runs (PSB+, TIP.PGE, some code, TIP.PGD). The files a, b and c hold different
code for the same place, so a wrong choice shows.
"""
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

source = os.environ.get('PT_SOURCE', os.path.join(os.path.dirname(__file__), '../..'))
build = os.environ.get('PT_BUILD', os.path.join(source, 'build'))
shared = os.environ.get('PT_SHARED', os.path.join(source, '../shared'))
maker = os.path.join(shared, 'facts/mkperf.py')
ptxed = os.path.join(build, 'bin/ptxed')
if not os.path.exists(maker):
    print('skipped: no facts/mkperf.py beside the repository')
    sys.exit(77)
spec = importlib.util.spec_from_file_location('mkperf', maker)
mkperf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mkperf)
perf = shutil.which('perf')
tmp = tempfile.mkdtemp()
failures = 0

# --- packets ------------------------------------------------------------------------

PSB = b'\x02\x82' * 8
MODE64 = b'\x99\x01'
PSBEND = b'\x02\x23'
CBR = b'\x02\x03\x20\x00'


def tsc(t):
    return b'\x19' + t.to_bytes(7, 'little')


def ip(opcode, address):
    return bytes([opcode | 6 << 5]) + address.to_bytes(8, 'little')


def pge(address):
    return ip(0x11, address)


PGD = b'\x01'
TNT_TAKEN, TNT_NOT = b'\x06', b'\x04'


def psb(t):
    return PSB + tsc(t) + CBR + PSBEND


def run(t, address, packets=b''):
    """Code from `address` to the next branch out of the traced range."""
    return psb(t) + MODE64 + pge(address) + packets + PGD


# --- code ---------------------------------------------------------------------------

HERE = 0x401000
A = bytes.fromhex('90900f05')      # nop; nop; syscall
B = bytes.fromhex('0f1f000f05')    # nop (3 bytes); syscall
C = bytes.fromhex('6690909090') + bytes.fromhex('0f05')
IPS = {'a': [0, 1, 2], 'b': [0, 3], 'c': [0, 2, 3, 4, 5]}


def file(name, content):
    path = os.path.join(tmp, name)
    with open(path, 'wb') as fh:
        fh.write(content)
    return path


pages = {n: c.ljust(0x1000, b'\xcc') for n, c in (('a', A), ('b', B), ('c', C))}
a, b, c = (file(n, pages[n]) for n in 'abc')
both = file('both', pages['a'] + pages['b'])


def want(letters):
    return [HERE + o for x in letters for o in IPS[x]]


# --- comparing ------------------------------------------------------------------------


def decode(path, *options):
    """Addresses, all lines, messages, exit status."""
    r = subprocess.run([ptxed, '--no-inst', *options, path], capture_output=True, text=True)
    ips = [int(m, 16) for m in re.findall(r'^(?:.* )?([0-9a-f]{16})$', r.stdout, re.M)]
    return ips, r.stdout, r.stderr, r.returncode


def by_perf(path):
    r = subprocess.run(['perf', 'script', '-f', '-i', path, '--itrace=i1i', '-F', 'ip'],
                       capture_output=True, text=True)
    return [int(x, 16) for x in r.stdout.split()]


def fail(name, text):
    global failures
    failures += 1
    print('FAIL: %s: %s' % (name, text))


def same(name, got, expected):
    if got == expected:
        print('ok: ' + name)
    else:
        fail(name, '%r instead of %r' % (got, expected))


def hexes(ips):
    return ' '.join('%x' % i for i in ips)


def check(name, path, letters, *options, oracle=True, status=0):
    ips, out, err, code = decode(path, *options)
    same(name, hexes(ips), hexes(want(letters)))
    if code != status:
        fail(name, 'exit status %d: %s' % (code, err))
    if oracle and perf:
        same(name + ' (perf)', hexes(by_perf(path)), hexes(want(letters)))
    return out, err


def make(name, trace, events, *options, pid=100, image=a):
    """A recording of CPU 0; process 100 has `image` from the beginning."""
    path, pt = os.path.join(tmp, name + '.data'), file(name + '.pt', trace)
    command = [sys.executable, maker, '-o', path, '--pid', str(pid), '--shift', '0', '--mult', '1',
               '--zero', '0', '--pt', pt + ',ref=1000']
    if image:
        command += ['--image', '%s@%#x:raw' % (image, HERE)]
    for event in events:
        command += ['--event', event]
    subprocess.run(command + list(options), check=True, stderr=subprocess.DEVNULL)
    return path


def mmap(pid, path, t, pgoff=0):
    return 'mmap2 pid=%d tid=%d addr=%d size=4096 pgoff=%d file=%s tsc=%d' % (
        pid, pid, HERE, pgoff, path, t)


def to(pid, t, old=100):
    return ['switch_out pid=%d tid=%d tsc=%d' % (old, old, t),
            'switch_in pid=%d tid=%d tsc=%d' % (pid, pid, t + 1)]


def finish():
    """Clean up; the exit status."""
    shutil.rmtree(tmp)
    print('%d failed' % failures if failures else 'all passed')
    return 1 if failures else 0
