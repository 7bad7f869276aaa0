#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code: vmlinux, modules, BPF programs.

The kernel and its module are made here, with the compiler; the traces go through them, and the
addresses that must come out are where nm says that the labels are, moved to where the recording says
that things ran.
"""
import contextlib
import gzip
import io
import lzma
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

import handmade as hm
from handmade import (file, finish, hexes, mkperf, ptxed, run, same, tmp, TNT_TAKEN)

if not shutil.which('gcc'):
    sys.exit(77)

TEXT = 0xffffffff81000000   # where the kernel is linked
SLIDE = 0x1400000           # and how far above that it ran
MODULE = 0xffffffffc0300000
BPF = 0xffffffffc0500000
RELEASE = '6.1.0-made-up'   # what the recording says of its kernel


def release(where=''):
    return '%s/boot/vmlinux-%s' % (where, RELEASE)


def build(name, source, *options):
    path = os.path.join(tmp, name)
    with open(path + '.S', 'w') as out:
        out.write(source)
    subprocess.run(['gcc', '-nostdlib', '-o', path, path + '.S', *options], check=True)
    return path


def labels(path):
    out = subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout
    return {x.split()[2]: int(x.split()[0], 16) for x in out.splitlines() if len(x.split()) == 3}


KERNEL = '''
    .text
    .globl _text, exported, entry
_text:
    .skip 64, 0xcc
entry:
    nop
    call exported
k_back:
    .byte 0x0f, 0x07
    .skip 32, 0xcc
exported:
    xchg %%ax, %%ax
k_ret:
    ret
    .skip %d, 0xcc
'''


def vmlinux(name, pad=16, build_id='0x' + 'ab' * 20):
    return build(name, KERNEL % pad, '-static', '-Wl,-Ttext=%#x' % TEXT,
                 '-Wl,--build-id=' + build_id, '-Wl,-e,entry')


# Calls into the kernel, into another section of its own, ahead in its own section; ftrace's call
# that the kernel has made a NOP; initialisation that is elsewhere by then.
MODULE_SOURCE = '''
    .section .init.text, "ax"
    .skip 128, 0x90
    .text
    .skip 5, 0xcc
    .globl m_entry, m_near, m_other
m_entry:
    call __fentry__
m_1:
    call exported
m_2:
    call m_other
m_3:
    call m_near
m_4:
    .byte 0x0f, 0x07
    .skip 7, 0xcc
m_near:
    nop
m_near_ret:
    ret
    .section .rodata, "a"
    .quad m_entry
    .section .text.unlikely, "ax"
    .balign 64
m_other:
    xchg %ax, %ax
m_other_ret:
    ret
'''
module = build('made-up.ko', MODULE_SOURCE, '-c')
kernel = vmlinux('vmlinux')
K = {n: v + SLIDE for n, v in labels(kernel).items()}

# As the kernel lays sections out: .text first, then .text.unlikely, aligned to 64.
sizes = dict(re.findall(r'^ *\d+ (\S+) +([0-9a-f]+) ',
                        subprocess.run(['objdump', '-h', module], capture_output=True, text=True,
                                       check=True).stdout, re.M))
UNLIKELY = (MODULE + int(sizes['.text'], 16) + 63) & ~63


def at_module(unlikely=UNLIKELY):
    return {n: v + (unlikely if n.startswith('m_other') else MODULE)
            for n, v in labels(module).items() if n.startswith('m_')}


M = at_module()


def want_module(m):
    return [m['m_entry'], m['m_1'], K['exported'], K['k_ret'], m['m_2'], m['m_other'],
            m['m_other_ret'], m['m_3'], m['m_near'], m['m_near_ret'], m['m_4']]


WANT_KERNEL = [K['entry'], K['entry'] + 1, K['exported'], K['k_ret'], K['k_back']]
three_returns = b'\x1e'  # TNT: taken, taken, taken
TRACE = run(10000, K['entry'], TNT_TAKEN) + run(20000, M['m_entry'], three_returns)


# --- recordings ------------------------------------------------------------------------


def mmap_kernel(address, size, name, pgoff=0):
    return 'kmmap addr=%#x size=%#x pgoff=%#x name=%s' % (address, size, pgoff, name)


def fstr(text):
    area = text.encode() + b'\0'
    area += b'\0' * (-len(area) % 64)
    return struct.pack('<I', len(area)) + area


def build_id(name, hex_id, misc):
    body = struct.pack('<i', -1) + bytes.fromhex(hex_id) + bytes([len(hex_id) // 2, 0, 0, 0])
    body += name.encode() + b'\0' * (8 - len(name) % 8)
    return struct.pack('<IHH', 0, misc | 0x8000, 8 + len(body)) + body


def record(name, trace, events, features=None, *options):
    """mkperf as a program, with features of our own."""
    path = os.path.join(tmp, name)
    features = {4: fstr(RELEASE), **(features or {})}
    recorder = next(x for x in vars(mkperf).values()
                    if isinstance(x, type) and hasattr(x, 'to_file'))
    make_features = recorder.features

    def with_ours(self, *args):
        found = make_features(self, *args)
        found.update(features)
        return found

    recorder.features = with_ours
    argv = sys.argv
    sys.argv = ['mkperf', '-o', path, '--pid', '100', '--shift', '0', '--mult', '1', '--zero', '0',
                '--kernel', '--pt', file(name + '.pt', trace) + ',ref=1000', *options]
    for event in events:
        sys.argv += ['--event', event]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            mkperf.main()
    finally:
        sys.argv = argv
        recorder.features = make_features
    return path


KERNEL_MAP = mmap_kernel(K['_text'], 0x100000, '[kernel.kallsyms]_text', K['_text'])
NAME = '/lib/modules/%s/kernel/net/made-up.ko' % RELEASE
MAPS = [KERNEL_MAP, mmap_kernel(MODULE, 0x4000, NAME)]


def check(name, path, expected, *options, status=0):
    """Returns what ptxed says."""
    env = dict(os.environ, HOME=tmp)
    r = subprocess.run([ptxed, '--no-inst', *options, path], capture_output=True, text=True,
                       env=env)
    got = [int(m, 16) for m in re.findall(r'^([0-9a-f]{16})$', r.stdout, re.M)]
    same(name, hexes(got), hexes(expected))
    if r.returncode != status:
        hm.fail(name, 'exit status %d: %s' % (r.returncode, r.stderr))
    return r.stderr


def place(path, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy(path, to)


# --- vmlinux: named, by release, by build id ------------------------------------------------

both = record('both.data', TRACE, MAPS)
root = os.path.join(tmp, 'root')
os.makedirs(root)
err = check('no kernel image', both, [], '--sysroot', root, status=2)
same('no kernel image: it is said which', 'no vmlinux of Linux ' + RELEASE in err, True)
same('no kernel image: once', err.count('no kernel image'), 1)
err = check('vmlinux by name', both, WANT_KERNEL, '--sysroot', root, '--vmlinux', kernel, status=1)
same('a module without file', 'made-up.ko: a kernel module' in err, True)
for where in ('/boot/vmlinux-%s', '/usr/lib/debug/boot/vmlinux-%s', '/lib/modules/%s/vmlinux',
              '/usr/lib/debug/lib/modules/%s/vmlinux', '/lib/modules/%s/build/vmlinux'):
    found = root + where % RELEASE
    place(kernel, found)
    check('vmlinux in ' + os.path.dirname(where % 'R'), both, WANT_KERNEL, '--sysroot', root, status=1)
    os.remove(found)

# Code that the kernel has patched: the trace has a return where the file has none. It is said what
# may be wrong with the file, once, and not of a kernel that decodes.
def patched(address):
    return [mmap_kernel(K['_text'], 0x100000, '[kernel.kallsyms]_text', K['_text'])], \
        run(10000, address, b'\x04') + run(20000, K['entry'], TNT_TAKEN)


events, trace = patched(K['entry'])  # not taken: no return is
wrong = record('patched.data', trace, events)
err = check('patched kernel', wrong, WANT_KERNEL[:4] + WANT_KERNEL, '--vmlinux', kernel, status=1)
same('patched kernel: what may be wrong', 'vmlinux lacks what the kernel patches' in err, True)
same('patched kernel: once', err.count('patches'), 1)
err = check('vmlinux by name, nothing wrong', record('right.data', run(20000, K['entry'], TNT_TAKEN),
                                                     events), WANT_KERNEL, '--vmlinux', kernel)
same('nothing wrong: nothing is said', 'patches' in err, False)

other = vmlinux('other', 4096, '0x' + 'cd' * 20)
with_id = record('id.data', TRACE, MAPS, {2: build_id('[kernel.kallsyms]', 'ab' * 20, 1)})
place(other, release(root))
err = check('another build is not taken', with_id, [], '--sysroot', root, status=2)
cache = os.path.join(tmp, 'cache')
for end in ('vmlinux', 'elf'):
    place(kernel, cache + '/.build-id/ab/' + 'ab' * 19 + '/' + end)
    check('vmlinux in the cache, ' + end, with_id, WANT_KERNEL, '--sysroot', root,
          '--buildid-dir', cache, status=1)
    shutil.rmtree(cache)
place(kernel, tmp + '/.debug/.build-id/ab/' + 'ab' * 19 + '/vmlinux')
check('vmlinux in ~/.debug', with_id, WANT_KERNEL, '--sysroot', root, status=1)
shutil.rmtree(tmp + '/.debug')
os.remove(release(root))

# --- modules ----------------------------------------------------------------------------------

place(module, root + NAME)
place(kernel, release(root))
expected = WANT_KERNEL + want_module(M)
check('module', both, expected, '--sysroot', root)
compressed = record('xz.data', TRACE, [KERNEL_MAP, mmap_kernel(MODULE, 0x4000, NAME + '.xz')])
check('module that was compressed, unpacked since', compressed, expected, '--sysroot', root)
os.remove(root + NAME)

# Compressed as distributions have them: unpacked by what they begin with, whatever the name.
content = open(module, 'rb').read()
# RFC 8878: magic, no flags, a window of 2 MiB, one raw block that is the last.
zst = b'\x28\xb5\x2f\xfd\0\x58' + struct.pack('<I', 1 | len(content) << 3)[:3] + content
packers = {'.xz': lzma.compress(content, check=lzma.CHECK_CRC32), '.gz': gzip.compress(content), '.zst': zst}
for end, packed in packers.items():
    place(file('packed', packed), root + NAME + end)
    path = record('packed.data', TRACE, [KERNEL_MAP, mmap_kernel(MODULE, 0x4000, NAME + end)])
    check('module in ' + end, path, expected, '--sysroot', root)
    # Damage costs the module's code only; what is not whole is not taken for a module.
    for cut in range(0, len(packed), 1 + len(packed) // 10):
        place(file('packed', packed[:cut]), root + NAME + end)
        check('%s cut at %d' % (end, cut), path, WANT_KERNEL, '--sysroot', root, status=1)
    for at in range(0, len(packed), 1 + len(packed) // 10):
        place(file('packed', packed[:at] + b'\xff\0' + packed[at + 2:]), root + NAME + end)
        r = subprocess.run([ptxed, '--no-inst', '--sysroot', root, path], capture_output=True)
        if r.returncode not in (0, 1):
            hm.fail('damaged ' + end, 'byte %d: exit status %d' % (at, r.returncode))
    os.remove(root + NAME + end)
err = check('no module', compressed, WANT_KERNEL, '--sysroot', root, '--verbose', status=1)
same('no module: why', 'made-up.ko.xz: the file is not there' in err, True)
place(file('packed', b'BZh91AY&SY no unpacker'), root + NAME + '.xz')
err = check('an unknown compression', compressed, WANT_KERNEL, '--sysroot', root, '--verbose', status=1)
same('an unknown compression: why', 'no unpacker' in err, True)
# A small file that unpacks to far more than a module: left at a bound, in bounded memory.
repeat = struct.pack('<I', 1 << 1 | (128 << 10) << 3)[:3] + b'\x90'  # a block of 128 KiB
place(file('packed', zst[:6] + repeat * 3200 + b'\1\0\0'), root + NAME + '.xz')
limit = 700 << 20
r = subprocess.run([ptxed, '--no-inst', '--sysroot', root, compressed], capture_output=True,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
                   if 'ASAN_OPTIONS' not in os.environ else None)
same('a bomb', r.returncode, 1)
os.remove(root + NAME + '.xz')

# By build id.
with_ids = record('ids.data', TRACE, MAPS, {2: build_id(NAME, '12' * 20, 1)})
identified = os.path.join(tmp, 'identified.ko')
note = file('note', struct.pack('<III', 4, 20, 3) + b'GNU\0' + b'\x12' * 20)
subprocess.run(['objcopy', '--add-section', '.note.gnu.build-id=' + note, module, identified],
               check=True)
place(identified, cache + '/.build-id/12/' + '12' * 19 + '/elf')
check('module in the cache', with_ids, expected, '--sysroot', root, '--buildid-dir', cache)

# Where its sections were, if /sys has been copied.
place(module, root + NAME)
moved = 0xffffffffc0400000
for section, address in (('.text', MODULE), ('.text.unlikely', moved)):
    path = root + '/sys/module/made_up/sections/' + section
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as out:
        out.write('0x%x\n' % address)
check('module with sections elsewhere', both, WANT_KERNEL + want_module(at_module(moved)),
      '--sysroot', root)
shutil.rmtree(root + '/sys')

# Packed with the kernel and its modules, and decoded with nothing else.
env = dict(os.environ, PATH=os.path.dirname(ptxed) + ':' + os.environ['PATH'], HOME=tmp)
script = os.path.join(hm.source, 'script/pt-bundle.bash')
bundle = os.path.join(tmp, 'b.tar')
subprocess.run([script, 'pack', '-o', bundle, '-k', kernel, '-r', root, both], env=env,
               capture_output=True)
os.rename(root, root + '.gone')
r = subprocess.run([script, 'decode', bundle, '--no-inst'], env=env, capture_output=True, text=True)
same('bundle with kernel and modules',
     hexes(int(m, 16) for m in re.findall(r'^([0-9a-f]{16})$', r.stdout, re.M)), hexes(expected))
os.rename(root + '.gone', root)

# Damaged files only cost their code.
content = open(module, 'rb').read()
for cut in range(0, len(content), 97):
    with open(root + NAME, 'wb') as out:
        out.write(content[:cut] + b'\xff' * 40 + content[cut + 40:])
    r = subprocess.run([ptxed, '--no-inst', '--sysroot', root, both], capture_output=True)
    if r.returncode not in (0, 1):
        hm.fail('damaged module', 'byte %d: exit status %d' % (cut, r.returncode))

# --- BPF ----------------------------------------------------------------------------------------

first, second = bytes.fromhex('90660f1f000f07'), bytes.fromhex('66900f07')


def program(functions, pad=0):
    """An entry of BPF_PROG_INFO: functions are (address, code)."""
    code = b''.join(c for _, c in functions)
    data = code + b'\0' * (-len(code) % 8)
    ksyms = len(data)
    data += b''.join(struct.pack('<Q', a) for a, _ in functions)
    lens = len(data)
    data += b''.join(struct.pack('<I', len(c)) for _, c in functions)
    data += b'\0' * (-len(data) % 8)
    info = bytearray(224 + pad)
    struct.pack_into('<I', info, 16, len(code))
    struct.pack_into('<Q', info, 24, 0)
    info[64:68] = b'prog'
    struct.pack_into('<IIQQ', info, 104, len(functions), len(functions), ksyms, lens)
    return struct.pack('<IIQ', len(info), len(data), 0) + bytes(info) + data


def ksymbol(t, address, size, gone=0):
    body = struct.pack('<QIHH', address, size, 1, gone) + mkperf.zstr(b'bpf_prog_0123_prog')
    trailer = struct.pack('<IIQIIQ', 0, 0, t, 0, 0, 200)  # pid tid time cpu identifier
    return 'raw type=17 hex=' + (body + trailer).hex()


info = struct.pack('<I', 1) + program([(BPF, first), (BPF + 0x100, second)])
bpf_trace = run(10000, BPF) + run(20000, BPF + 0x100)
bpf_want = [BPF, BPF + 1, BPF + 5, BPF + 0x100, BPF + 0x102]
untold = record('bpf.data', bpf_trace, [KERNEL_MAP], {25: info})
check('BPF', untold, bpf_want, '--sysroot', root)
newer = record('newer.data', bpf_trace, [KERNEL_MAP],
               {25: struct.pack('<I', 1) + program([(BPF, first), (BPF + 0x100, second)], 64)})
check('BPF of a newer kernel', newer, bpf_want, '--sysroot', root)
told = record('told.data', bpf_trace + run(30000, BPF), [
    KERNEL_MAP, ksymbol(5000, BPF, len(first)), ksymbol(5001, BPF + 0x100, len(second)),
    ksymbol(25000, BPF, len(first), 1)], {25: info})
err = check('BPF, gone in the end', told, bpf_want, '--sysroot', root, status=1)
no_code = record('nocode.data', bpf_trace, [KERNEL_MAP, ksymbol(5000, BPF, len(first)),
                                            ksymbol(5001, BPF + 0x100, len(second))])
err = check('BPF without its code', no_code, [], '--sysroot', root, status=2)
same('BPF without its code: why', 'bpf_prog_0123_prog: code that the kernel made' in err, True)
for cut in range(0, len(info), 13):
    path = record('cut.data', bpf_trace, [KERNEL_MAP], {25: info[:cut]})
    r = subprocess.run([ptxed, '--no-inst', '--sysroot', root, path], capture_output=True)
    if r.returncode not in (0, 1, 2):
        hm.fail('cut BPF_PROG_INFO', '%d bytes: exit status %d' % (cut, r.returncode))

sys.exit(finish())
