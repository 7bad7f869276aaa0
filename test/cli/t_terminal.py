#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the tools write to a terminal, and only there.

Nothing is coloured, whatever NO_COLOR, CLICOLOR and TERM say. ptxed shows how far it is on standard
error, if that is a terminal and standard output is not; ptcapture how much it has written, but for
--quiet. What is redirected gets neither.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["PT_BUILD"]
BIN = BUILD + "/bin/"
PTXED, PTDUMP, PTCAPTURE = BIN + "ptxed", BIN + "ptdump", BIN + "ptcapture"
failures = 0


def check(what, good):
    global failures
    print(("ok: " if good else "FAIL: ") + what, flush=True)
    failures += not good


def run(command, stdout, stderr, stalls=0, env=None):
    """Run with each of the two on a terminal ("tty") or a pipe. Returns what both got. The reader of a
    pipe stalls that often for more than a second, each time after more output than a segment has and a
    pipe holds: so one has ended before, and one ends behind it."""
    ends = {}
    for name, kind in (("out", stdout), ("err", stderr)):
        ends[name] = pty.openpty() if kind == "tty" else os.pipe()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=ends["out"][1],
                             stderr=ends["err"][1], env=dict(os.environ, **(env or {})))
    for end in ends.values():
        os.close(end[1])
    got = {"out": [], "err": []}
    left = {end[0]: name for name, end in ends.items()}
    read = 0
    while left:
        for fd in select.select(list(left), [], [])[0]:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:  # a terminal that nobody has open any more
                data = b""
            if not data:
                os.close(fd)
                del left[fd]
                continue
            if left[fd] == "out":
                read += len(data)
                if stalls and read > 3000000:
                    time.sleep(1.2)
                    stalls, read = stalls - 1, 0
            got[left[fd]].append(data)
    child.wait()
    return b"".join(got["out"]), b"".join(got["err"])


ESCAPE = b"\x1b["
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
ASKED = ({}, {"NO_COLOR": "1"}, {"CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"})

with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    # A loop of two conditional jumps, long enough that its text does not fit a pipe.
    with open("code", "wb") as out:
        out.write(bytes.fromhex("7400 75fc"))
    psb = bytes.fromhex("0282" * 8 + "9901" + "7d001000000000" + "0223")
    with open("trace", "wb") as out:
        for _ in range(40):
            out.write(psb + b"\xfe" * 6000)
        out.write(b"\x05")  # an error
    decode = [PTXED, "--no-inst", "--segment-size", "8K", "--raw", "code:0x1000", "--pt", "trace"]
    for env in ASKED:
        text, err = run([PTXED, "--raw", "code:0x1000", "--pt", "trace:0-100"], "tty", "tty", env=env)
        check("ptxed on a terminal, %s" % env, b"jne" in text and ESCAPE not in text + err and b" %" not in err)
        text, err = run([PTDUMP, "trace:0-100"], "tty", "tty", env=env)
        check("ptdump on a terminal, %s" % env, b"psbend" in text and ESCAPE not in text + err)
    text, err = run(decode, "pipe", "tty", stalls=3)
    shown = re.findall(rb"\r *(\d+) % ", err)
    check("ptxed: progress on a terminal (%s)" % shown, len(shown) > 0)
    check("ptxed: it rises to 100 at the most", [int(x) for x in shown] == sorted(min(int(x), 100) for x in shown))
    check("ptxed: the line is blank in the end", b"\r      \r" in err and not COLOUR.search(err))
    check("ptxed: the text is the same", b"%" not in text and text.count(b"\n") > 1000000)
    same, err = run(decode, "pipe", "pipe", stalls=2)
    check("ptxed: no progress without a terminal", b"\r" not in err and b" %" not in err)
    check("ptxed: the text does not depend on it", same == text)
    if os.path.exists(PTCAPTURE):
        for options, wanted in (([], True), (["--quiet"], False)):
            out, err = run([PTCAPTURE, *options, "--backend", "step", "-o", "x.data", "--", "sleep", "1"],
                           "pipe", "tty")
            if not os.path.exists("x.data"):
                print("skipped: nothing can be recorded here")
                break
            check("ptcapture %s on a terminal" % options, (b" MiB\x1b[K\r" in err) == wanted and not COLOUR.search(out + err))
        out, err = run([PTCAPTURE, "--backend", "step", "-o", "x.data", "--", "sleep", "1"], "pipe", "pipe")
        check("ptcapture: no progress without a terminal", b"\r" not in out + err and ESCAPE not in out + err)
print("%d failed" % failures)
sys.exit(failures != 0)
