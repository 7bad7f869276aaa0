#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""inputs.py DIRECTORY: kernel memory and jitted code for t_fault.sh.

kcore_dir/kcore      an ELF core file: the instructions of helper_perfdata at 401000, and kernel code
kcore_dir/kallsyms   names
kcore_dir/modules    a module
jit-4711.dump        the same instructions, written down by a JIT compiler
"""
import os
import struct
import sys

CODE = bytes([0x74, 0x02, 0x90, 0x90, 0xff, 0xe0])
USER, KERNEL = 0x401000, 0xffffffff81000000


def kcore():
    """Elf64_Ehdr, two Elf64_Phdr (elf(5)), contents at 0x1000 and 0x2000."""
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    for offset, address in ((0x1000, USER), (0x2000, KERNEL)):
        head += struct.pack('<IIQQQQQQ', 1, 7, offset, address, 0, 0x1000, 0x1000, 0x1000)
    return head.ljust(0x1000, b'\0') + CODE.ljust(0x1000, b'\0') + CODE.ljust(0x1000, b'\xcc')


def jitdump():
    """linux, tools/perf/Documentation/jitdump-specification.txt: header, JIT_CODE_LOAD."""
    body = struct.pack('<IIQQQQ', 4711, 4711, USER, USER, len(CODE), 0) + b'jitted\0' + CODE
    return (struct.pack('<IIIIIIQQ', 0x4a695444, 1, 40, 62, 0, 4711, 0, 1) +
            struct.pack('<IIQ', 0, 16 + len(body), 92000) + body)


os.chdir(sys.argv[1])
os.mkdir('kcore_dir')
for name, content in (('kcore_dir/kcore', kcore()), ('jit-4711.dump', jitdump()),
                      ('kcore_dir/kallsyms', b'ffffffff81000000 T _stext\nffffffff81000002 T work\n'
                                             b'ffffffffc0000000 t other\t[extra]\n'),
                      ('kcore_dir/modules', b'extra 4096 0 - Live 0xffffffffc0000000\n')):
    with open(name, 'wb') as f:
        f.write(content)
