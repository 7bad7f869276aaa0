#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of several processes, made by hand: whose code does ptxed show?

Each scenario is a trace of short runs (PSB+, TIP.PGE, some code, TIP.PGD), sideband that says
who ran and what was mapped, and the addresses that must come out. The processes map different
code at the same place, so a wrong choice shows. Where perf is installed it must say the same,
except where it is known to differ.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from handmade import (HERE, A, B, a, b, both, by_perf, c, check, decode, file, finish, hexes, make,
                      maker, mkperf, mmap, pages, perf, pge, psb, ptxed, run, same, tmp, to, want, MODE64,
                      TNT_TAKEN)

# --- scenarios --------------------------------------------------------------------------

three = run(10000, HERE) + run(20000, HERE) + run(30000, HERE)

check('one process', make('one', three, []), 'aaa')

check('switches', make('switches', three, [
    'comm pid=200 tid=200 name=other tsc=5000', mmap(200, b, 5001),
    *to(200, 15000), *to(100, 25000, 200)]), 'aba')

check('fork', make('fork', three, [
    'fork pid=200 ppid=100 tid=200 ptid=100 tsc=12000', *to(200, 15000),
    mmap(100, c, 16000), *to(100, 25000, 200)]), 'aac')

# perf keeps the old mappings over an exec and only overlays the new ones.
check('exec', make('exec', three, [
    'fork pid=200 ppid=100 tid=200 ptid=100 tsc=12000', *to(200, 15000),
    'comm pid=200 tid=200 name=new exec=1 tsc=25000', mmap(200, b, 25001)]), 'aab')

check('remap at another offset', make('remap', three, [
    mmap(100, both, 12000), mmap(100, both, 25000, 0x1000)]), 'aab')

check('later in the file, earlier in time', make('late', three, [
    mmap(100, c, 25000), mmap(100, b, 15000)]), 'abc')

check('a thread', make('thread', three, [
    'fork pid=100 ppid=100 tid=101 ptid=100 tsc=12000',
    'switch_out pid=100 tid=100 tsc=15000', 'switch_in pid=100 tid=101 tsc=15001']), 'aaa')

# An instruction across two mappings; what follows is replaced, and it becomes a longer one.
left = file('left', b'\x90' * 0xffe + b'\x0f\x1f')      # nop dword ptr [...
right = file('right', (b'\x00\x90\x0f\x05').ljust(0x1000, b'\xcc'))      # rax]; nop; syscall
longer = file('longer', (b'\x40\x00\x66\x90\x0f\x05').ljust(0x1000, b'\xcc'))  # rax + 0]


def mmap_at(address, path, t, pid=100, size=4096, pgoff=0):
    return 'mmap2 pid=%d tid=%d addr=%#x size=%d pgoff=%d file=%s tsc=%d' % (
        pid, pid, address, size, pgoff, path, t)


AT = HERE + 0xffe
two_maps = make('across', run(10000, AT) + run(20000, AT) + run(30000, AT), [
    mmap_at(HERE, left, 9995), mmap_at(HERE + 0x1000, right, 9996),
    mmap_at(HERE + 0x1000, longer, 25000)], image=None)
same('an instruction across two mappings', hexes(decode(two_maps)[0]),
     hexes([AT, AT + 3, AT + 4] * 2 + [AT, AT + 4, AT + 6]))
gap = make('gap', run(10000, AT), [mmap_at(HERE, left, 9990)], image=None)
ips, out, err, code = decode(gap)
same('and the second one is not there', (hexes(ips), code), ('', 2))

# Several mappings of one file, at other places and offsets.
HIGH = 0x7f0000400000
several = make('several', run(10000, HERE) + run(20000, HIGH), [
    mmap_at(HERE, both, 9990), mmap_at(HIGH, both, 9991, pgoff=0x1000)], image=None)
same('several mappings of a file', hexes(decode(several)[0]),
     hexes(want('a') + [HIGH, HIGH + 3]))
if perf:
    same('several mappings of a file (perf)', hexes(by_perf(several)), hexes(decode(several)[0]))


# Names.


def mmap_named(name, t, address=HERE, misc=2):
    """An MMAP2 with any name; identifier 200 is mkperf's dummy event."""
    body = struct.pack('<IIQQQ', 100, 100, address, 0x1000, 0) + bytes(24) + struct.pack('<II', 5, 2)
    body += mkperf.zstr(name.encode()) + struct.pack('<IIQIIQ', 100, 100, t, 0, 0, 200)
    return 'raw type=10 misc=%d hex=%s' % (misc, body.hex())


for name in ('a blank', '[brackets] (and) more', 'a\nnewline', "it's $HOME; \\*?", 'x' * 200):
    odd = file(name, pages['b'])
    path = make('odd', three, [mmap_named(odd, 15000)])
    check('a file named ' + repr(name), path, 'abb', oracle='\n' not in name)
gone_names = ['//anon', '/memfd:jit (deleted)', '/dev/zero (deleted)', '[heap]', '[anon:malloc]',
              '/SYSV00000000 (deleted)', b + ' (deleted)', '[vvar]']
causes = ['generated code'] * 6 + ['was deleted', 'mapping that the kernel made']
for name, cause in zip(gone_names, causes):
    path = make('nofile', three, [mmap_named(name, 15000)])
    ips, out, err, code = decode(path)
    same('no file: ' + name, (hexes(ips), code), (hexes(want('a')), 1))
    same('no file: why: ' + name, 'in %s: ' % name in err and cause in err, True)
    same('no file: once: ' + name, err.count(name), 1)

# [vdso] by the ABI of the process: that of the first ELF file mapped into it.


def elf(name, bits, machine):
    header = b'\x7fELF' + bytes([1 if bits == 32 else 2, 1, 1]) + bytes(9)
    return file(name, (header + struct.pack('<HHI', 2, machine, 1)).ljust(0x1000, b'\0'))


vdsos = ['--pevent:vdso-x64', a, '--pevent:vdso-x32', b, '--pevent:vdso-ia32', c]
for name, bits, machine, letter in (('x64', 64, 62, 'a'), ('x32', 32, 62, 'b'), ('ia32', 32, 3, 'c')):
    path = make('vdso', run(10000, HERE), [mmap_at(0x700000, elf(name, bits, machine), 9980),
                                           mmap_named('[vdso]', 9990)], image=None)
    check('[vdso] of ' + name, path, letter, *vdsos, oracle=False)

# A file in another mount namespace, or that only the container had: named, with the reason.
inside = make('inside', three, [
    'raw type=16 hex=' + (struct.pack('<IIQ', 100, 100, 7) +
                          b''.join(struct.pack('<QQ', 4, 0xf0000000 + i) for i in range(7)) +
                          struct.pack('<IIQIIQ', 100, 100, 9000, 0, 0, 200)).hex(),
    'raw type=19 hex=' + (struct.pack('<Q', 5) + mkperf.zstr(b'/a/group') +
                          struct.pack('<IIQIIQ', 100, 100, 9001, 0, 0, 200)).hex(),
    mmap_named('/only/in/the/container', 15000)])
ips, out, err, code = decode(inside, '--sb:compact')
same('another mount namespace', (hexes(ips), code), (hexes(want('a')), 1))
same('another mount namespace: why', '/only/in/the/container' in err, True)
lines = [x for x in out.splitlines() if 'NAMESPACES' in x or 'CGROUP' in x]
same('these records are named', [x.split('  {')[0] for x in lines],
     ['PERF_RECORD_NAMESPACES  64/64, ' + ', '.join(
         '%s: 4/f000000%d' % (n, i) for i, n in enumerate('net uts ipc pid user mnt cgroup'.split())),
      'PERF_RECORD_CGROUP  5, /a/group'])
long = subprocess.run([ptxed, '--sb:verbose', inside], capture_output=True, text=True).stdout
same('these records are named, a line a field', 'PERF_RECORD_CGROUP\n  id: 5\n  path: /a/group\n' in long, True)
objects = [json.loads(x) for x in subprocess.run([ptxed, '--json', '--sb:compact', inside],
                                                 capture_output=True, text=True).stdout.splitlines()]
group = next(o for o in objects if o.get('record') == 'PERF_RECORD_CGROUP')
space = next(o for o in objects if o.get('record') == 'PERF_RECORD_NAMESPACES')
same('these records as JSON', (group['id'], group['path'], space['namespaces']['mnt']),
     ('0x5', '/a/group', {'dev': '0x4', 'ino': '0xf0000005'}))
# The records beside a raw trace have the text that scripts know.
subprocess.run([ptxed.replace('ptxed', 'ptdump'), '--extract-sideband', os.path.join(tmp, 'x'), inside],
               check=True)
pevent = next(os.path.join(tmp, x) for x in sorted(os.listdir(tmp)) if x.startswith('x-sideband'))
trace = file('raw.pt', three)
raw = subprocess.run([ptxed.replace('ptxed', 'ptdump'), '--sb:compact', '--pevent:sample-type', '0x10087',
                      '--pevent:primary', pevent, trace], capture_output=True, text=True).stdout
same('beside a raw trace', ('UNKNOWN (10, 0)  { }' in raw, 'UNKNOWN (13, 0)  { }' in raw), (True, True))

# Filters of files. This processor (SKL014) does not tell where a jump leaves the range to, so the decoder
# has to know the range: without it goes on to the next branch that needs trace.
jumps = file('jumps out', (bytes.fromhex('90e9fa070000').ljust(0x800, b'\xcc') +
                           bytes.fromhex('90900f05')).ljust(0x1000, b'\xcc'))
for text, offsets in (('', [0, 1, 0x800, 0x801, 0x802]),
                      ('filter 0x0/0x10@' + jumps, [0, 1]),
                      ('stop 0x800/0x10@%s,filter 0x5000/0x10@/no/such' % jumps, [0, 1]),
                      ('filter 0x900/0x10@/no/such filter 0x0/0x10@' + jumps, [0, 1]),
                      ('filter 0x0/0x900@' + jumps, [0, 1, 0x800, 0x801, 0x802])):
    path = make('filter', run(10000, HERE), [mmap_named(jumps, 9990)], '--cpuid',
                'GenuineIntel,6,94,3', '--filter', text, image=None)
    same('filter: ' + text, hexes(decode(path)[0]), hexes([HERE + o for o in offsets]))

# Wherever the file is mapped: twice in one process, the parts of its range in two mappings.
there = 0x601000
jumps = shutil.copy(jumps, os.path.join(tmp, 'jumps'))
path = make('filter twice', run(10000, HERE) + run(20000, there),
            [mmap_at(HERE, jumps, 9980), mmap_at(there, jumps, 9990)], '--cpuid',
            'GenuineIntel,6,94,3', '--filter', 'filter 0x0/0x900@' + jumps, image=None)
same('filter: two mappings', hexes(decode(path)[0]),
     hexes([base + o for base in (HERE, there) for o in (0, 1, 0x800, 0x801, 0x802)]))
path = make('filter stop', run(10000, HERE) + run(20000, there),
            [mmap_at(HERE, jumps, 9980), mmap_at(there, jumps, 9990)], '--cpuid',
            'GenuineIntel,6,94,3', '--filter', 'stop 0x800/0x10@' + jumps, image=None)
same('filter: two mappings, stop', hexes(decode(path)[0]), hexes([HERE, HERE + 1, there, there + 1]))

# Selection and fields.
switches = os.path.join(tmp, 'switches.data')
check('select by pid', switches, 'b', '--select:pid', '200', oracle=False)
check('select by name', switches, 'b', '--select:comm', 'other', oracle=False)
check('select by cpu', switches, 'aba', '--select:cpu', '0', oracle=False)
check('nothing selected', switches, '', '--select:cpu', '7', oracle=False, status=2)
check('select by time', switches, 'ba', '--select:time', '0.000018', oracle=False)
check('select by time, both ends', switches, 'b', '--select:time', '0.000018,0.000021',
      oracle=False)
# Where a window begins is searched by PSB: a long trace gives the same as the whole, cut.
long = make('long', b''.join(run(10000 + 100 * i, HERE) for i in range(500)), [])


def lines(*options):
    """Where decoding begins the mode is news, so it is left out."""
    out = decode(long, '--fields', 'time', *options)[1]
    return [x for x in out.splitlines() if 'exec mode' not in x]


everything = lines()


def seconds(line):
    return float(line.split(':')[0])


for first, last in ((0.00001, 0.000011), (0.00003, 0.00004), (0.0000599, 0.1), (0.2, 0.3)):
    same('window from %f' % first, lines('--select:time', '%.9f,%.9f' % (first, last)),
         [x for x in everything if first <= seconds(x) <= last])
# Relative and in percent: the beginning is the first record with a time (9000), the end that of the last AUX
# record (1010000): the trace is a twentieth of it.
whole = decode(long)[0]
before = len(whole)
for option in ('+0,', '0%,', '0%,100%', ',100%', '+0,+1'):
    same('window ' + option, decode(long, '--select:time', option)[0], whole)
for option in ('1%,', '2%,', '+0.00003,', '4%,', '+0.000045,'):
    part = decode(long, '--select:time', option)[0]
    same('window %s is less, from the end' % option,
         (0 < len(part) < before, part == whole[len(whole) - len(part):]), (True, True))
    before = len(part)
halves = [decode(long, '--select:time', o)[0] for o in (',2.55%', '2.55%,')]
same('two halves', abs(len(halves[0]) - len(halves[1])) < 30 and
     abs(len(halves[0]) + len(halves[1]) - len(whole)) <= 6, True)
for bad in ('-1,', '50%,40%', '+5,+4', 'x', '1,x', '101%,'):
    r = decode(long, '--select:time', bad)
    same('window %s: refused' % bad, (r[3], r[0]), (2, []))
out = decode(switches, '--fields', 'pid,cpu,time')[1]
same('fields', [x.split()[0] for x in out.splitlines() if x.endswith('401000')],
     ['100', '200', '100'])
out = decode(switches, '--sb:switch')[1]
same('context lines', re.findall(r'\[context: pid-([0-9a-f]+)\]', out), ['64', 'c8', '64'])

# Files that are not there: named once, with the reason and the remedy.
gone = make('gone', three, [mmap(100, '/no/such-file', 15000), mmap(100, '/no/such-file', 25000)])
ips, out, err, code = decode(gone)
same('missing file: what can be decoded', hexes(ips), hexes(want('a')))
same('missing file: named once', err.count('/no/such-file'), 1)
same('missing file: why', 'No such file or directory' in err and '--sysroot' in err, True)
same('missing file: exit status', code, 1)

# The same recording and its files, moved below another root.
root = os.path.join(tmp, 'root')
os.makedirs(root + tmp)
for name in ('a', 'b', 'c', 'both'):
    shutil.move(os.path.join(tmp, name), root + tmp)
check('sysroot', switches, 'aba', '--sysroot', root, oracle=False)
same('without it', hexes(decode(switches)[0]), '')
for name in ('a', 'b', 'c', 'both'):
    shutil.move(root + tmp + '/' + name, os.path.join(tmp, name))

# Trace that was lost: decoding goes on at the next PSB, and it is said.
lost = make('lost', run(10000, HERE) + psb(12000) + MODE64 + pge(HERE), [], '--pt',
            file('lost2.pt', b'\x0d' * 3 + run(30000, HERE)) + ',offset=400,ref=1000')
subprocess.run([sys.executable, maker, '-o', lost, '--pid', '100', '--shift', '0', '--mult', '1',
                '--zero', '0', '--image', '%s@%#x:raw' % (a, HERE), '--pt',
                os.path.join(tmp, 'lost.pt') + ',ref=1000,flags=1', '--pt',
                os.path.join(tmp, 'lost2.pt') + ',offset=400,ref=1000'], check=True,
               stderr=subprocess.DEVNULL)
ips, out, err, code = decode(lost)
same('lost trace', hexes(ips), hexes(want('aa')))
same('lost trace is said', '[trace lost: buffer full]' in out and 'lost:' in err, True)

# No time: by the order of the AUX records.
check('no time', make('timeless', three, [], '--per-thread', '--config', '0x2001'), 'aaa')

# The kernel: code patched while it ran; and no image of it.
KERNEL = 0xffffffff81000000
nop, jne = bytes.fromhex('0f1f440000'), bytes.fromhex('0f8500000000')[:6]
code = bytes.fromhex('90') + b'\x66\x90' + bytes.fromhex('900f07')  # nop; xchg; nop; sysret
kernel = file('kernel', code.ljust(0x1000, b'\x90'))
poke = 'text_poke addr=%#x old=6690 new=7501 tsc=20000' % (KERNEL + 1)
trace = (run(10000, KERNEL) + run(30000, KERNEL, TNT_TAKEN))
folder = os.path.join(tmp, 'kernel.data.d')
subprocess.run([sys.executable, maker, '-o', folder, '--dir', '--pid', '100', '--shift', '0',
                '--mult', '1', '--zero', '0', '--kcore', '%s@%#x' % (kernel, KERNEL), '--pt',
                file('kernel.pt', trace) + ',ref=1000', '--event', poke], check=True,
               stderr=subprocess.DEVNULL)
ips, out, err, code = decode(folder)
same('text poke', hexes(ips), hexes([KERNEL + o for o in (0, 1, 3, 4, 0, 1, 4)]))
if perf:
    same('text poke (perf)', hexes(by_perf(folder)),
         hexes([KERNEL + o for o in (0, 1, 3, 4, 0, 1, 4)]))
shutil.rmtree(folder + '/kcore_dir')
ips, out, err, code = decode(folder)
same('no kernel image', len(re.findall(r'no kernel image', err)), 1)
same('no kernel image: what to do', '--kcore' in err, True)

# Code that a JIT compiler wrote down: it comes and is replaced, and it has names.


def jitted(t, name, content):
    body = struct.pack('<IIQQQQ', 100, 100, HERE, HERE, len(content), 0) + name + b'\0' + content
    return struct.pack('<IIQ', 0, 16 + len(body), t) + body


dump = file('jit-100.dump', struct.pack('<IIIIIIQQ', 0x4a695444, 1, 40, 62, 0, 100, 0, 1) +
            jitted(9000, b'first', A) + jitted(15000, b'second', B))
jit = make('jit', three, ['mmap2 pid=100 tid=100 addr=0x7000 size=4096 pgoff=0 file=%s tsc=8000'
                          % dump], image=None)
check('jitdump', jit, 'abb', oracle=False)
out = subprocess.run([ptxed, '--no-inst', '--symbols', jit], capture_output=True, text=True).stdout
same('names of jitted code', re.findall(r'^0*401000 <(\w+)\+0x0>$', out, re.M),
     ['first', 'second', 'second'])

# Two CPUs by time.
two = os.path.join(tmp, 'two.data')
subprocess.run([sys.executable, maker, '-o', two, '--pid', '100', '--ncpus', '2', '--shift', '0',
                '--mult', '1', '--zero', '0', '--image', '%s@%#x:raw' % (a, HERE),
                '--pt', file('cpu0.pt', run(10000, HERE) + run(30000, HERE)) + ',cpu=0,idx=0,ref=1',
                '--pt', file('cpu1.pt', run(20000, HERE) + run(40000, HERE)) + ',cpu=1,idx=1,ref=1',
                '--event', 'switch_in pid=200 tid=200 cpu=1 tsc=5000', '--event', mmap(200, b, 4000)],
               check=True, stderr=subprocess.DEVNULL)
check('queue after queue', two, 'aabb', oracle=False)
check('merged', two, 'abab', '--merge', oracle=False)
check('one CPU', two, 'bb', '--select:cpu', '1', oracle=False)

# The containers that recorders write.
exe, raw = mkperf.demo(tmp)
for name, options in [('per CPU', []), ('per thread', ['--per-thread']),
                      ('CPU-wide switches', ['--wide']), ('no dummy event', ['--no-tracking']),
                      ('CPU 3 of 8', ['--cpu', '3', '--ncpus', '8']), ('snapshot', ['--snapshot']),
                      ('compressed', ['--compress', '37']), ('directory', ['--dir']),
                      ('pipe', ['--pipe']),
                      ('no features', ['--skip-feature=%d' % k for k in (3, 4, 7, 9, 11, 12, 18)])]:
    path = os.path.join(tmp, 'container')
    subprocess.run(['rm', '-rf', path], check=True)
    subprocess.run([sys.executable, maker, '-o', path, '--image', exe, '--pt', raw] + options,
                   check=True, stderr=subprocess.DEVNULL)
    ips, out, err, code = decode(path)
    same(name, hexes(ips), hexes(mkperf.DEMO_IPS))
    same(name + ': exit status', code, 0)

sys.exit(finish())
