#!/usr/bin/env python3
# Seeds and dictionaries for the fuzz targets: seeds.py DIRECTORY makes
# DIRECTORY/<what>/... and DIRECTORY/<what>.dict. Needs nothing but this repository.
import os
import re
import struct
import sys

source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
out = sys.argv[1]


def write(what, name, data):
    os.makedirs(os.path.join(out, what), exist_ok=True)
    with open(os.path.join(out, what, name), "wb") as f:
        f.write(data)


def dictionary(what, tokens):
    with open(os.path.join(out, what + ".dict"), "w", encoding="ascii") as f:
        for token in tokens:
            f.write('"%s"\n' % "".join("\\x%02x" % b for b in token))


def h(text):
    return bytes.fromhex(text)


# --- instructions: the rows of the unit test ---------------------------------------
rows = re.findall(r'^\s*\{"([0-9a-f ]+)"', open(source + "/test/unit/insn_rows.h").read(), re.M)
for i, row in enumerate(rows):
    write("insn", "row%03d" % i, bytes([i % 3]) + h(row) + bytes(16))
dictionary("insn", sorted({h(row)[:4] for row in rows}))

# --- packets: one of each (SDM vol. 3, "Trace Packets and Data Types") ----------------
PSB = h("0282" * 8)
PSBEND = h("0223")
packets = {
    "pad": h("00"), "psb": PSB, "psbend": PSBEND, "tnt": h("a6"), "tnt64": h("02a3010203040506"),
    "tip": h("6d000040000000"), "tip16": h("2d1000"), "tip0": h("0d"), "pge": h("71000040000000"),
    "pgd": h("01"), "fup": h("7d000040000000"), "pip": h("0243000000001000"), "mode": h("9901"),
    "mode32": h("9902"), "tsx": h("9921"), "tracestop": h("0283"), "cbr": h("02030a00"),
    "tsc": h("1901020304050607"), "mtc": h("5942"), "tma": h("0273010000020000"[:14]),
    "cyc": h("0b"), "cycx": h("0f0302"), "vmcs": h("02c80102030405"), "ovf": h("02f3"),
    "mnt": h("02c38800010203040506070809"[:22]), "exstop": h("0262"), "mwait": h("02c2000000000000"[:20]),
    "pwre": h("02220200"), "pwrx": h("02a20100000000"), "ptw4": h("021201020304"),
    "ptw8": h("02320102030405060708"), "bbp": h("026301"), "bip": h("0c0102030405060708"),
    "bep": h("0233"), "cfe": h("02138100"), "evd": h("0253000102030405060708"),
}
write("packet", "all", b"\0" + b"".join(packets.values()))
for name, data in packets.items():
    write("packet", name, b"\0" + PSB + PSBEND + data)
dictionary("packet", packets.values())

# --- flow: code and traces over it -----------------------------------------------
# 400000: nop; jz +2; nop; nop; call 400010; jmp *rax; ...  400010: ret
code = h("90" "7402" "9090" "e806000000" "ffe0" "ebfe" "0f05" "c3" "90" "cc" "f4" "0f0b" "0f22d8")
code += h("f30faee0" "c7f800000000" "0f01d5" "cf" "e2fe" "ff10" "ff18" "75fd" "eb80")
sync = PSB + h("19010203040506" "07"[:2]) + h("9901") + h("7d000040000000") + PSBEND
traces = {
    "branches": sync + h("a6") + h("2d0000") + h("06") + h("2d1000") + h("01"),
    "enable": PSB + PSBEND + h("9901") + h("71000040000000") + h("06") + h("210c00"),
    "overflow": sync + h("02f3") + h("3d0500") + h("a6"),
    "interrupt": sync + h("3d0100") + h("2d1000") + h("06"),
    "events": sync + h("02138100") + h("3d0000") + h("2d1000") + packets["ptw8"] + packets["pip"],
    "power": sync + packets["exstop"] + packets["pwre"] + packets["pwrx"] + h("0d"),
    "tsx": sync + h("9921") + h("3d0000") + h("9922") + h("3d0100") + h("2d0000"),
    "long": sync + h("02a3aaaaaaaaaaaa") * 3,
    "mode32": PSB + h("9902") + h("7d000040000000") + PSBEND + h("aa") + h("2d0000"),
    "everything": sync + b"".join(packets.values()),
    "twice": (sync + h("a6") + h("2d0000")) * 2,
}
for name, trace in traces.items():
    for i, flags in enumerate((0, 0x13, 0x10, 0x8000, 0x8010, 0x2000)):
        control = struct.pack("<HHI", len(code), flags, 0) + bytes((0, i, 0, 4, 3, 20, 2, 100))
        write("flow", "%s%d" % (name, i), control + code + trace)
dictionary("flow", list(packets.values()) + [h("2d0000"), h("3d0000"), h("210000"), h("310000")])

# --- perf records ------------------------------------------------------------------
SAMPLE_ID = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 16  # TID TIME CPU IDENTIFIER


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


trailer = struct.pack("<IIQIIQ", 1, 1, 12345, 0, 0, 7)
name16 = b"/bin/true".ljust(16, b"\0")
records = [
    record(1, struct.pack("<IIQQQ", 1, 1, 0x400000, 0x1000, 0) + name16 + trailer),
    record(3, struct.pack("<II", 1, 1) + b"true\0\0\0\0" + trailer),
    record(4, struct.pack("<IIIIQ", 1, 1, 1, 1, 5) + trailer),
    record(7, struct.pack("<IIIIQ", 2, 1, 2, 1, 5) + trailer),
    record(10, struct.pack("<IIQQQIIQQII", 1, 1, 0x400000, 0x1000, 0, 1, 2, 3, 0, 5, 2) + name16 + trailer),
    record(11, struct.pack("<QQQ", 0, 64, 0) + trailer),
    record(12, struct.pack("<II", 1, 1) + trailer),
    record(14, trailer), record(15, struct.pack("<II", 1, 1) + trailer),
    record(2, struct.pack("<QQ", 7, 1) + trailer), record(13, struct.pack("<Q", 1) + trailer),
    record(68, b""), record(81, b"\0" * 40),
]
for sample_type in (0, SAMPLE_ID, 0x7FF, 0xFFFFFFF):
    control = struct.pack("<QQQQQ", sample_type, 0, 0, 0, 0)
    write("record", "all%x" % sample_type, control + b"".join(records))
for i, r in enumerate(records):
    write("record", "one%02d" % i, struct.pack("<QQQQQ", SAMPLE_ID, 0, 0, 0, 0) + r)
dictionary("record", [struct.pack("<I", n) for n in range(1, 22)] + [struct.pack("<I", n) for n in range(64, 86)])

# --- perf.data: header, one event, records, AUXTRACE ----------------------------------
trace = sync + h("a6") + bytes(5)
trace += bytes(-len(trace) % 8)
attr = struct.pack("<IIQQQQ", 8, 136, 0x300E601, 1, SAMPLE_ID, 4) + struct.pack("<Q", 1 << 18) + bytes(88)
attr = attr.ljust(136, b"\0")
aux_info = record(70, struct.pack("<II", 1, 0) + struct.pack("<17Q", *([8, 0, 1000, 0, 1 << 10] + [0] * 12)))
aux = record(71, struct.pack("<QQQIIII", len(trace), 0, 0, 0, 1, 0, 0)) + trace
told = record(11, struct.pack("<QQQ", 0, len(trace), 0) + trailer)
body = b"".join(records[:5]) + aux_info + told + aux + record(68, b"")
ids = struct.pack("<Q", 7)
offset = 104
ids_at = offset
attrs_at = ids_at + len(ids)
data_at = attrs_at + len(attr) + 16
header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attr) + 16, attrs_at, len(attr) + 16, data_at, len(body), 0, 0) + bytes(32)
write("perfdata", "file", header + ids + attr + struct.pack("<QQ", ids_at, 8) + body)
pipe = b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr + ids) + body
write("perfdata", "pipe", pipe)
write("perfdata", "empty", header)
dictionary("perfdata", [b"PERFILE2"] + [struct.pack("<I", n) for n in list(range(1, 22)) + list(range(64, 86))])

# --- command lines --------------------------------------------------------------------
for i, text in enumerate(("file", "file:0", "file:0x10-0x20", "a:b:1", "file:1-", "file:-1", "64K", "1G", "0x", "f:2-1")):
    write("opts", "arg%d" % i, text.encode())
dictionary("opts", [b":", b"-", b"0x", b"18446744073709551615", b"K", b"M", b"G"])

# --- symbols of the kernel ------------------------------------------------------------
write("kallsyms", "small", b"ffffffff81000000 T _text\nffffffffc0000000 t f\t[mod]\n0000000000000000 A x\n")

# --- packets from fields: the type, then the bytes of a payload ------------------------
for kind in range(40):
    write("encode", "type%02d" % kind, bytes([kind]) + bytes(range(1, 40)) + bytes([kind]) + bytes(40))

# --- PSBs: e1 to ef stand for so many halves of the pattern ----------------------------------
for i, text in enumerate(("e8", "e9", "ef", "02e8", "e882", "e700e8", "02e882e802", "e8e8", "82e8", "e80282e8")):
    write("psb", "run%d" % i, h(text))

# --- a recording that is a directory, and a whole decoding -------------------------------------
whole = header + ids + attr + struct.pack("<QQ", ids_at, 8) + body
write("perfdir", "file", struct.pack("<H", len(whole)) + whole + body)
write("perfdir", "pipe", struct.pack("<H", len(pipe)) + pipe)
ran = PSB + h("19010203040506" "07"[:14]) + h("9901") + h("7d000040000000") + PSBEND + h("06") + h("0d") + h("04")
ran += bytes(-len(ran) % 8)
for name, lost in (("ran", 0), ("lost", 1)):
    aux2 = record(71, struct.pack("<QQQIIII", len(ran), 0, 0, 0, 1, 0, 0)) + ran
    told2 = record(11, struct.pack("<QQQ", 0, len(ran), lost) + trailer)
    body2 = b"".join(records[:5]) + aux_info + told2 + aux2 + record(68, b"")
    head2 = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attr) + 16, attrs_at, len(attr) + 16, data_at, len(body2), 0, 0)
    recorded = head2 + bytes(32) + ids + attr + struct.pack("<QQ", ids_at, 8) + body2
    write("session", name, recorded)
    for flag in (0x0010, 0x0800, 0x2000, 0x4000, 0x8000, 0x8810):  # the last bytes: PTL_FLOW_*
        write("session", "%s-%04x" % (name, flag), recorded + struct.pack("<HB", flag, 1))
write("session", "file", whole)
write("session", "pipe", pipe)
for what in ("perfdir", "session"):
    dictionary(what, [b"PERFILE2"] + [struct.pack("<I", n) for n in list(range(1, 22)) + list(range(64, 86))] + list(packets.values()))

# --- sideband -----------------------------------------------------------------------------------
code16, jit16 = b"/code".ljust(16, b"\0"), b"/jit-1.dump".ljust(16, b"\0")


def mapping(name, pid, addr):
    return record(10, struct.pack("<IIQQQIIQQII", pid, pid, addr, 0x1000, 0, 1, 2, 3, 0, 5, 2) + name + trailer)


side = records[:10] + [mapping(code16, 1, 0x1000), mapping(jit16, 1, 0x3000), mapping(code16, 2, 0x1000)]
for i in range(8):
    control = struct.pack("<Q", SAMPLE_ID if i else 0) + bytes((i & 7, i, 10, 1, i * 3 & 7, 0x80, 1, 255))
    write("sideband", "all%d" % i, control + b"".join(side))
for i, r in enumerate(side):
    write("sideband", "one%02d" % i, struct.pack("<Q", SAMPLE_ID) + bytes((1, 2, 10, 1, 0, 0, 1, 255)) + r)
dictionary("sideband", [struct.pack("<I", n) for n in range(1, 22)] + [b"/code\0", b"/jit-1.dump\0", b"[vdso]\0", b"//anon\0", b"../", b" (deleted)\0"])

# --- jitdump ----------------------------------------------------------------------------------------
def jit_record(kind, time, body):
    return struct.pack("<IIQ", kind, 16 + len(body), time) + body


jit_header = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 5, 0)
load = jit_record(0, 6, struct.pack("<IIQQQQ", 1, 1, 0x1000, 0x1000, 16, 1) + b"f\0" + b"\x90" * 15 + b"\xc3")
move = jit_record(1, 7, struct.pack("<IIQQQQQ", 1, 1, 0x2000, 0x1000, 0x2000, 16, 1))
write("jitdump", "load", jit_header + load)
write("jitdump", "move", jit_header + load + move + jit_record(3, 8, b""))
write("jitdump", "ticks", jit_header[:32] + struct.pack("<Q", 1) + load + load + move)
dictionary("jitdump", [struct.pack("<I", n) for n in range(4)] + [struct.pack("<Q", n) for n in (16, 0x1000, 0x2000)] + [b"DTiJ"])

# --- words ------------------------------------------------------------------------------------------
terms = ("cyc", "tsc", "mtc", "mtc_period", "psb_period", "noretcomp", "ptw", "fup_on_ptw", "pwr_evt", "branch", "pt", "config", "config1", "name", "aux-sample-size", "cyc_thresh")
for i, text in enumerate(("/u", "cyc,mtc_period=3,psb_period=5/uk", "cyc=1/", "config=0x2001/k", "name=x/u", "aux-sample-size=8192/", "mtc=0/", "psb_period=99/", "what/u", "/p")):
    write("terms", "terms%d" % i, b"\xff" + text.encode())
dictionary("terms", [t.encode() for t in terms] + [b"=", b",", b"/", b"/u", b"0x"])
for i, words in enumerate(("0-3,5", "1.5,2", "+0.1,", "10%,20%", "bash", "1", "1,2,3", ",", "99999999999999999999")):
    for row in range(6):
        write("select", "word%d-%d" % (i, row), bytes([row]) + words.encode() + b"\0" + words.encode())
dictionary("select", [b",", b"-", b"%", b"+", b".", b"\0", b"18446744073709551615"])
