#!/usr/bin/env python3
"""The software recorder: what decoders make of a recording is what really executed.

Each program runs alone first: recorded, it must print the same and end in the same way. Then
  * `perf script --itrace=i0ns` lists exactly the instructions of --truth, thread by thread;
  * ptdump and Debian's libipt read every packet without an error;
  * libipt follows the code of single programs to the same instructions.
Arguments: options of ptcapture for all cases, e.g. --per-cpu; names of cases to run (default all).
"""
import collections
import errno
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("PT_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("PT_BUILD") or SOURCE + "/build"
PTCAPTURE = BUILD + "/bin/ptcapture"
PTDUMP = BUILD + "/bin/ptdump"
PTXED = BUILD + "/bin/ptxed"
HELPER_IPT = BUILD + "/bin/test/helper_ipt"
PROGRAMS = os.path.dirname(os.path.abspath(__file__)) + "/programs/"
PERF = shutil.which("perf")

BLOCKS = "blocks" in sys.argv[1:] # all with a branch step that works
EXTRA = [word for word in sys.argv[1:] if word.startswith("-")]

# --- programs -------------------------------------------------------------------------

STATIC = ["-static", "-pthread"]
BUILDS = {
    "threads": STATIC, "forktree": STATIC, "signals": STATIC, "jumps": STATIC, "selfmod": STATIC,
    "strings": STATIC, "crash": STATIC, "thread_exec": STATIC, "compat": STATIC,
    "exceptions": ["-static-pie"], "plugin": ["-shared", "-fPIC"], "load": [],
    "small32s": ["-m32", "-static"], "small32d": ["-m32", "-no-pie"],
}
SOURCES = {"exceptions": "exceptions.cc", "small32s": "small32.c", "small32d": "small32.c"}


# A library that lets the branch step work where the machine has none.
BLOCKSTEP = ["-shared", "-fPIC", "-I", SOURCE + "/libpt/include", "-L", BUILD + "/lib",
             "-Wl,-rpath," + BUILD + "/lib", "-lpt", "-ldl"]
# One that makes perf_event_open() fail.
NOEVENTS = ["-shared", "-fPIC"]


def build(directory):
    subprocess.run(["gcc", "-O1", "-w", "-o", directory + "/noevents.so",
                    PROGRAMS + "noevents.c"] + NOEVENTS, check=False)
    subprocess.run(["gcc", "-O1", "-w", "-o", directory + "/blockstep.so",
                    PROGRAMS + "blockstep.c"] + BLOCKSTEP, check=False)
    for name, flags in BUILDS.items():
        source = SOURCES.get(name, name + ".c")
        compiler = "g++" if source.endswith(".cc") else "gcc"
        done = subprocess.run([compiler, "-O1", "-w", "-o", directory + "/" + name,
                               PROGRAMS + source] + flags, capture_output=True, text=True)
        if done.returncode:
            print("note: %s cannot be built: %s" % (name, done.stderr.splitlines()[-1:]))


# Every instruction is a stop of the program, which takes most of this test's time: no program runs more of them
# than it needs to show what it is here for.
# name, command, how: event: terms; options: of ptcapture; single: one program, one thread;
# blocks: with a branch step that works; no_events: perf_event_open() fails with that errno
CASES = [
    ("pipeline", ["busybox", "sh", "-c", "echo a b | cat"], {}),
    ("true", ["/bin/true"], {"single": 1}),
    ("gzip", ["gzip", "-c", "@/text"], {}),
    ("awk", ["busybox", "awk", "BEGIN { for (i = 0; i < 20; i++) s += i * i; print s }"], {"single": 1}),
    ("script", ["busybox", "sh", "@/script"], {"single": 1}),
    ("threads", ["@/threads"], {}),
    ("forktree", ["@/forktree"], {}),
    ("signals", ["@/signals"], {}),
    ("jumps", ["@/jumps"], {"single": 1}),
    ("jumps-noretcomp", ["@/jumps"], {"single": 1, "event": "intel_pt/noretcomp/u"}),
    ("jumps-cyc", ["@/jumps"], {"single": 1, "event": "intel_pt/cyc,mtc_period=9,psb_period=0/u"}),
    ("jumps-no-mtc", ["@/jumps"], {"single": 1, "event": "intel_pt/mtc=0,psb_period=1/u"}),
    ("exceptions", ["@/exceptions"], {"single": 1}),
    ("selfmod", ["@/selfmod"], {}),
    ("strings", ["@/strings"], {"single": 1}),
    ("load", ["@/load", "@/plugin"], {}),
    ("crash-segv", ["@/crash", "segv"], {"single": 1}),
    ("crash-abort", ["@/crash", "abort"], {"single": 1}),
    ("crash-kill", ["@/crash", "kill"], {"single": 1}),
    ("crash-thread", ["@/crash", "thread"], {}),
    ("thread-exec", ["@/thread_exec"], {}),
    ("cpu-pipeline", ["busybox", "sh", "-c", "echo a b | cat"], {"options": ["--per-cpu"]}),
    ("cpu-wide", ["@/forktree"], {"options": ["--per-cpu=wide"]}),
    ("cpu-threads", ["@/threads"], {"options": ["--per-cpu"]}),
    ("cpu-signals", ["@/signals"], {"options": ["--per-cpu"]}),
    ("cpu-selfmod", ["@/selfmod"], {"options": ["--per-cpu"]}),
    ("cpu-crash", ["@/crash", "thread"], {"options": ["--per-cpu=wide"]}),
    ("cpu-thread-exec", ["@/thread_exec"], {"options": ["--per-cpu"]}),
    ("block-strings", ["@/strings"], {"single": 1, "blocks": 1}),
    ("block-threads", ["@/threads"], {"blocks": 1, "options": ["--per-cpu"]}),
    ("block-signals", ["@/signals"], {"blocks": 1}),
    ("block-jumps", ["@/jumps"], {"single": 1, "blocks": 1}),
    ("block-selfmod", ["@/selfmod"], {"blocks": 1}),
    ("block-exceptions", ["@/exceptions"], {"single": 1, "blocks": 1}),
    ("block-crash", ["@/crash", "segv"], {"single": 1, "blocks": 1}),
    ("no-events-threads", ["@/threads"], {"no_events": errno.ENOSYS}),
    ("no-events-forktree", ["@/forktree"], {"no_events": errno.EPERM}),
    ("no-events-load", ["@/load", "@/plugin"], {"no_events": errno.EACCES}),
    ("no-events-cpu", ["@/thread_exec"], {"no_events": errno.EACCES, "options": ["--per-cpu"]}),
    ("compat", ["@/compat"], {"may_fail": 1}),
    ("small32-static", ["@/small32s"], {"may_fail": 1}),
    ("small32-dynamic", ["@/small32d"], {"may_fail": 1}),
]

# --- reading ---------------------------------------------------------------------------


def read_truth(path):
    threads, current = collections.OrderedDict(), None
    with open(path) as lines:
        for line in lines:
            if line[0] == "#":
                current = threads.setdefault(int(line.split("/")[1]), [])
            else:
                current.append(line.rstrip("\n"))
    return threads


def read_perf(path):
    """Instructions of each thread, as hexadecimal digits, and everything that is not one."""
    done = subprocess.run([PERF, "script", "-f", "-i", path, "--itrace=i0nse", "-F", "tid,ip"],
                          capture_output=True, text=True)
    threads, other = collections.OrderedDict(), done.stderr.splitlines()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isdigit():
            if words[1].strip("0"):  # 0: a sample of sched_switch, which is listed, too
                threads.setdefault(int(words[0]), []).append(words[1])
        else:
            other.append(line)
    return threads, other


def read_ptxed(path):
    """The same of ptxed."""
    done = subprocess.run([PTXED, "--merge", "--fields", "tid", path], capture_output=True, text=True)
    threads = collections.OrderedDict()
    other = [line for line in done.stderr.splitlines() if ": losses: " not in line]
    for line in done.stdout.splitlines():
        words = line.split(None, 2)
        if len(words) > 2 and len(words[1]) == 16 and words[0].isdigit():
            threads.setdefault(int(words[0]), []).append(words[1].lstrip("0"))
        elif "error" in line:
            other.append(line)
    if done.returncode:
        other.append("exit status %d" % done.returncode)
    return threads, other


def save_vdso(path):
    """Our own [vdso], which every process has."""
    with open("/proc/self/maps") as maps:
        line = next((line for line in maps if "[vdso]" in line), None)
    if line:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        with open("/proc/self/mem", "rb") as memory, open(path, "wb") as out:
            memory.seek(start)
            out.write(memory.read(end - start))


def read_streams(path, vdso):
    """The trace of each queue, joined, and the executable maps as "addr len offset file"."""
    data = open(path, "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 40)
    streams, maps, at, end = {}, [], offset, offset + size
    while at + 8 <= end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == 10:
            addr, span, pgoff = struct.unpack_from("<QQQ", data, at + 16)
            name = data[at + 72:at + length].split(b"\0")[0].decode()
            if name == "[vdso]":
                name = vdso
            if name.startswith("/") and not name.startswith("//"):
                maps.append("%x %x %x %s" % (addr, span, pgoff, name))
        if kind == 71:
            span, _, _, idx = struct.unpack_from("<QQQI", data, at + 8)
            streams.setdefault(idx, bytearray()).extend(data[at + length:at + length + span])
            at += span
        at += length
    return streams, maps


# --- checks -------------------------------------------------------------------------------

failures = 0


def fail(name, text):
    global failures
    failures += 1
    print("FAIL: %s: %s" % (name, text))


def compare(name, who, truth, got):
    for tid, expected in truth.items():
        actual = got.get(tid, [])
        if expected == actual:
            continue
        first = next((i for i, (a, b) in enumerate(zip(expected, actual)) if a != b),
                     min(len(expected), len(actual)))
        show = lambda ips: " ".join(ips[max(0, first - 3):first + 4])
        fail(name, "%s: thread %d differs at %d of %d (%d): truth %s; got %s" % (
            who, tid, first, len(expected), len(actual), show(expected), show(actual)))
    for tid in got:
        if tid not in truth:
            fail(name, "%s: thread %d did not run" % (who, tid))


def check_streams(name, directory, recording, truth, single):
    streams, maps = read_streams(recording, directory + "/vdso")
    for idx, stream in streams.items():
        trace = "%s/stream%d" % (directory, idx)
        with open(trace, "wb") as out:
            out.write(stream)
        dump = subprocess.run([PTDUMP, "--quiet", trace], capture_output=True, text=True)
        if dump.returncode or dump.stdout or dump.stderr:
            fail(name, "ptdump: " + (dump.stdout + dump.stderr)[:200])
        if not os.path.exists(HELPER_IPT):
            continue
        ipt = subprocess.run([HELPER_IPT, "packets", trace], capture_output=True, text=True)
        if ipt.returncode:
            fail(name, "libipt packets: " + ipt.stdout)
        if single:
            with open(directory + "/maps", "w") as out:
                out.write("\n".join(maps))
            ipt = subprocess.run([HELPER_IPT, "code", trace, directory + "/maps"],
                                 capture_output=True, text=True)
            lines = ipt.stdout.splitlines()
            if ipt.returncode:
                fail(name, "libipt code: " + " ".join(lines[-1:]))
            else:
                compare(name, "libipt", truth, {next(iter(truth)): lines})


def run_case(name, command, options, directory):
    command = [word.replace("@", directory) for word in command]
    recording, truth_file = directory + "/perf.data", directory + "/truth"
    if not shutil.which(command[0]):
        print("skipped: %s: no program" % name)
        return
    try:
        alone = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        print("skipped: %s: %s" % (name, error))
        return
    if options.get("may_fail") and alone.returncode:
        print("skipped: %s: cannot run here" % name)
        return
    event = ["-e", options["event"]] if "event" in options else []
    env = dict(os.environ)
    if options.get("blocks") or BLOCKS:
        if not os.path.exists(directory + "/blockstep.so"):
            print("skipped: %s: no library" % name)
            return
        env["LD_PRELOAD"] = directory + "/blockstep.so"
    if "no_events" in options:
        if not os.path.exists(directory + "/noevents.so"):
            print("skipped: %s: no library" % name)
            return
        env["LD_PRELOAD"] = directory + "/noevents.so"
        env["NOEVENTS"] = str(options["no_events"])
    done = subprocess.run([PTCAPTURE, "-q", "--backend", "step", "--truth", truth_file, "-o",
                           recording] + event + options.get("options", []) + EXTRA + ["--"] +
                          command, capture_output=True,
                          stdin=subprocess.DEVNULL, env=env)
    if done.stdout != alone.stdout or done.returncode != alone.returncode:
        fail(name, "runs differently: %r %r, status %d %d" % (
            alone.stdout[-200:], (done.stdout + done.stderr)[-200:], alone.returncode,
            done.returncode))
        return
    if done.stderr != alone.stderr:
        fail(name, "says %r" % done.stderr[-200:])
    truth = read_truth(truth_file)
    total = sum(len(ips) for ips in truth.values())
    before = failures
    if PERF:
        got, other = read_perf(recording)
        for line in other[:3]:
            fail(name, "perf says: " + line)
        compare(name, "perf", truth, got)
    if os.path.exists(PTXED):
        got, other = read_ptxed(recording)
        for line in other[:3]:
            fail(name, "ptxed says: " + line)
        compare(name, "ptxed", truth, got)
    check_streams(name, directory, recording, truth, options.get("single"))
    if failures == before:
        print("ok: %s: %d instructions, %d threads, %d bytes" % (
            name, total, len(truth), os.path.getsize(recording)))
    sys.stdout.flush()


def write_inputs(directory):
    """What the programs read."""
    with open(directory + "/text", "w") as out:
        out.write("some words that repeat, some that do not: words\n" * 20)
    with open(directory + "/script", "w") as out:
        out.write("f() { i=0; while [ $i -lt 9 ]; do i=$((i + 1)); case $i in *7) echo $i;;"
                  " esac; done; }\nf\nf\n")


def main():
    names = [word for word in sys.argv[1:] if word not in EXTRA + ["blocks"]]
    with tempfile.TemporaryDirectory() as directory:
        build(directory)
        save_vdso(directory + "/vdso")
        write_inputs(directory)
        for name, command, options in CASES:
            if not names or name in names:
                run_case(name, command, options, directory)
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
