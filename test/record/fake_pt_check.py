#!/usr/bin/env python3
"""Judge what fake_pt_guest.sh recorded: fake_pt_check.py pt|none DIRECTORY

Truth: the fake PMU numbers its cells (PTW packets) in each buffer from 0; perf's own dump tells
what is in the file; symbol tables tell where a filter lets trace through."""
import functools
import os
import re
import subprocess
import sys

kind, where = sys.argv[1:3]
failures = 0


def check(name, good, detail=""):
    global failures
    failures += not good
    print(f"ok: {name}" if good else f"FAIL: {name} {detail}")


def text(name):
    try:
        with open(os.path.join(where, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def path(name):
    return os.path.join(where, name + ".data")


def command(*args):
    return subprocess.run(args, capture_output=True, encoding="utf-8", errors="replace")


class Dump:
    """What `perf script -D` says of a recording."""

    def __init__(self, name):
        done = command("perf", "script", "-f", "-D", "-i", path(name))
        self.status, self.warnings = done.returncode, done.stderr.strip()
        self.buffers = {}  # idx -> lists of the numbers in each AUXTRACE
        self.enabled = []  # addresses of TIP.PGE
        self.truncated = self.cut = 0  # gaps told; those behind a piece of trace
        self.tids = set()  # of ITRACE_START
        current = None
        for line in done.stdout.splitlines():
            if line.startswith("."):
                if "PTWRITE" in line and current is not None:
                    current.append(int(re.search(r"PTWRITE (0x[0-9a-f]+)", line)[1], 16))
                elif "TIP.PGE 0x" in line:
                    # Behind a gap perf dumps the rest of a cut packet: "TIP.PGE no ip".
                    self.enabled.append(int(line.split("TIP.PGE")[1].split()[0], 16))
                continue
            if "PERF_RECORD_AUXTRACE size" in line:
                current = []
                self.buffers.setdefault(int(re.search(r"idx: (\d+)", line)[1]), []).append(current)
            elif "PERF_RECORD_AUX " in line:
                told = int(re.search(r"flags: (?:0x)?([0-9a-f]+)", line)[1], 16) & 1
                self.truncated += told
                self.cut += told and not re.search(r" size: 0 ", line)
            elif "PERF_RECORD_ITRACE_START" in line:
                self.tids.add(int(re.search(r"tid: (\d+)", line)[1]))

    def lanes(self):
        return {idx: [n for buffer in buffers for n in buffer]
                for idx, buffers in self.buffers.items()}


@functools.lru_cache(maxsize=None)
def dump_of(name):
    return Dump(name)


def jumps(numbers):
    return [(a, b) for a, b in zip(numbers, numbers[1:]) if b != a + 1]


def our_numbers(name):
    """idx -> numbers, from ptdump."""
    lanes, current = {}, None
    for line in command("ptdump", path(name)).stdout.splitlines():
        found = re.match(r"\[aux (\d+), piece", line)
        if found:
            current = lanes.setdefault(int(found[1]), [])
        found = re.match(r"[0-9a-f]+\s+ptw\s+\w+: ([0-9a-f]+)", line)
        if found:
            current.append(int(found[1], 16))
    return lanes


# What perf says of trace of another kernel than this machine's.
NO_KERNEL = r"No kallsyms or vmlinux with build-id [0-9a-f]+ was found\n"


def read_by_all(name, warnings="", report="", config="0x300"):
    """perf and our tools read the file without a complaint; the event's `config` begins so. Returns
    perf's dump."""
    dump = dump_of(name)
    check(f"{name}: perf script -D", dump.status == 0 and
          re.fullmatch(warnings, dump.warnings, re.S) is not None, dump.warnings[:200])
    for words, allowed in (("evlist -v", ""), ("buildid-list", ""),
                           ("report --stdio", report or warnings)):
        done = command("perf", *words.split(), "-f", "-i", path(name))
        check(f"{name}: perf {words}", done.returncode == 0 and
              re.fullmatch(allowed, done.stderr, re.S) is not None, done.stderr[:200])
        if words == "evlist -v":
            check(f"{name}: the event", re.search(rf"^intel_pt/.*config: {config}", done.stdout))
    done = command("ptxed", "--sysroot", os.path.join(where, "root"), path(name))
    check(f"{name}: ptxed ends", done.returncode in (0, 1, 2), done.stderr[:200])
    return dump


def complete(name, status=0, report=""):
    """A full trace: numbers without a gap, from the first on, and ptdump agrees."""
    check(f"{name}: exit status {status}", text(name + ".rc").strip() == str(status),
          text(name + ".rc"))
    dump = read_by_all(name, report=report)
    lanes = dump.lanes()
    total = sum(map(len, lanes.values()))
    check(f"{name}: no gap in {total} cells of {len(lanes)} buffers", total > 100 and
          all(not lane or (lane[0] == 0 and not jumps(lane)) for lane in lanes.values()),
          {idx: jumps(lane)[:3] for idx, lane in lanes.items()})
    check(f"{name}: ptdump sees the same", our_numbers(name) == lanes)
    if status != 137:
        check(f"{name}: no loss reported", "no loss" in text(name + ".err"), text(name + ".err"))
    return dump


def truncated(name):
    dump = read_by_all(name, warnings=r"\s*Warning:\nAUX data lost \d+ times out of \d+!.*")
    found = re.search(r"(\d+) TRUNCATED", text(name + ".err"))
    check(f"{name}: {dump.truncated} gaps reported", found is not None and dump.truncated > 1 and
          int(found[1]) == dump.truncated, text(name + ".err"))
    # Numbers are missing where the trace was cut, and nowhere else (not where it could not even
    # begin); the last cut of a buffer may be its end.
    holes = sum(len(jumps(lane)) for lane in dump.lanes().values())
    check(f"{name}: as many holes in the numbers ({holes})",
          dump.cut - len(dump.buffers) <= holes <= dump.cut, dump.cut)
    check(f"{name}: none twice", all(b > a for lane in dump.lanes().values()
                                     for a, b in zip(lane, lane[1:])))


def snapshots(name, count, status):
    check(f"{name}: exit status {status}", text(name + ".rc").strip() == str(status))
    check(f"{name}: {count} snapshots", f"{count} snapshot" in text(name + ".err"),
          text(name + ".err"))
    dump = read_by_all(name)
    check(f"{name}: each buffer in order", all(
        not jumps(buffer) for buffers in dump.buffers.values() for buffer in buffers))
    check(f"{name}: overlaps trimmed", all(b > a for lane in dump.lanes().values()
                                           for a, b in zip(lane, lane[1:])))
    check(f"{name}: a buffer went round", any(lane and lane[0] > 0
                                              for lane in dump.lanes().values()))
    for idx, lane in our_numbers(name).items():
        check(f"{name}: ptdump, buffer {idx}, in order and true",
              all(b > a for a, b in zip(lane, lane[1:])) and
              set(lane) <= set(dump.lanes().get(idx, [])))
    return dump


def continued(dump):
    """Snapshots that begin where the one before ended."""
    return sum(bool(a and b and b[0] == a[-1] + 1)
               for buffers in dump.buffers.values() for a, b in zip(buffers, buffers[1:]))


def symbol(name):
    for line in command("nm", "-S", os.path.join(where, "helper_busy")).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[0], 16), int(words[1], 16)
    return 0, 0


def inside(addresses, name):
    """How many lie in the function, going by their place in the page (the program is PIE)."""
    start, size = symbol(name)
    return sum((address - start) & 0xfff < size for address in addresses)


# Recordings that must not begin: exit status, and what the message must name.
REFUSED = {
    "bad_period": (2, r"psb_period.*Valid values are: 0-5"),
    "bad_term": (2, r"unknown term 'foo'.*; valid terms: .*psb_period"),
    "bad_symbol": (1, r'no function "nosuch" in /in/helper_busy'),
    "bad_action": (1, r'unknown action "filtr". Valid are filter'),
    "bad_many": (1, r"the kernel refuses .*fewer ranges"),
    "bad_cpu": (1, r"no CPU 9: this machine has 0-1"),
    "bad_pid": (1, r"no process or thread 99999"),
    "aux_sample": (1, r"--aux-sample: .* cannot attach trace to samples"),
    "busy": (1, r"Intel PT is in use.*end the other recorder"),
    "paranoid3": (5, r"perf_event_paranoid is 3.*sysctl kernel.perf_event_paranoid=2.*CAP_PERFMON"),
    "user_kernel": (1, r"perf_event_paranoid is 2 and must be at most 1.*CAP_PERFMON"),
    "user_all": (1, r"whole CPUs.*perf_event_paranoid is 2 and must be at most 0.*CAP_PERFMON"),
    "user_big": (1, r"65536 KiB of AUX.*mlock_kb = 516 KiB.*RLIMIT_MEMLOCK = \d+ KiB.*CAP_IPC_LOCK"),
    "user_other": (1, r"belongs to another user.*CAP_PERFMON"),
}


def refusals():
    for name, (status, pattern) in REFUSED.items():
        check(f"{name}: exit status {status}", text(name + ".rc").strip() == str(status),
              text(name + ".rc"))
        lines = [line for line in text(name + ".err").splitlines() if "user code only" not in line]
        check(f"{name}: says why", re.search(pattern, text(name + ".err"), re.S) is not None and
              len(lines) <= 2, lines)
        check(f"{name}: leaves no file", not os.path.exists(path(name)))


def build_ids(name):
    listed = command("perf", "buildid-list", "-i", path(name)).stdout
    notes = command("readelf", "-n", os.path.join(where, "helper_busy")).stdout
    own = re.search(r"Build ID: ([0-9a-f]+)", notes)
    check(f"{name}: build id", own is not None and f"{own[1]} /in/helper_busy" in listed, listed)


def samples(name, size):
    """Trace in samples: perf's dump tells what each holds."""
    check(f"{name}: exit status 0", text(name + ".rc") == "0\n", text(name + ".err"))
    read_by_all(name, config="0x[0-9a-f]{4},") # psb_period=0
    held, sizes, decodable, sample = [], set(), set(), None
    for line in command("perf", "script", "-f", "-D", "-i", path(name)).stdout.splitlines():
        found = re.search(r"Intel Processor Trace data: size (\d+) bytes", line)
        if found:
            sample, synchronised = [], False
            held.append(sample)
            sizes.add(int(found[1]))
        elif not line.startswith("."):
            sample = None
        elif sample is not None:
            synchronised |= line.endswith(" PSB")
            found = re.search(r"PTWRITE (0x[0-9a-f]+)", line)
            if found:
                sample.append(int(found[1], 16))
                if synchronised:
                    decodable.add(sample[-1])
    check(f"{name}: {len(held)} samples, each without a gap", len(held) > 20 and
          not any(jumps(sample) for sample in held), [jumps(sample)[:2] for sample in held][:5])
    check(f"{name}: of {size} bytes", sizes == {size}, sizes)
    check(f"{name}: {len(decodable)} cells behind a PSB", len(decodable) > 100)
    ours = our_numbers(name)
    check(f"{name}: ptdump in order, none twice", ours and all(
        b > a for lane in ours.values() for a, b in zip(lane, lane[1:])))
    seen = {number for lane in ours.values() for number in lane}
    check(f"{name}: ptdump sees these, and no others",
          decodable <= seen <= {number for sample in held for number in sample},
          (len(decodable), len(seen)))


def kernel_records():
    read_by_all("records", warnings=f"({NO_KERNEL[:-2]})?", report=f"({NO_KERNEL})*")
    dump = command("perf", "script", "-f", "-D", "-i", path("records")).stdout
    for record in ("NAMESPACES", "KSYMBOL", "BPF_EVENT", "TEXT_POKE", "CGROUP", "SWITCH_CPU_WIDE"):
        check(f"records: PERF_RECORD_{record}", f"PERF_RECORD_{record}" in dump,
              text("records.skip"))


def with_pmu():
    os.makedirs(os.path.join(where, "root/in"), exist_ok=True)
    command("cp", os.path.join(where, "helper_busy"), os.path.join(where, "root/in"))
    full = complete("full", 7)
    check("full: both CPUs", len([lane for lane in full.lanes().values() if lane]) == 2)
    for name in ("compressed", "per_thread", "no_inherit", "delay", "all", "one_cpu", "user",
                 "user_small"):
        complete(name)
    for name in ("full", "compressed", "kcore"):
        build_ids(name if name != "kcore" else "plain")
    check("one_cpu: that one only", set(dump_of("one_cpu").lanes()) == {0})
    check("delay: the beginning is missing", len(dump_of("delay").enabled) > 0)
    complete("kernel", report=NO_KERNEL)
    complete("max_size", 143)
    check("max_size: said", "--max-size reached" in text("max_size.err"))
    truncated("truncated")
    truncated("truncated_all")

    for name in ("attached", "thread"):
        dump = complete(name)
        tids = {int(tid) for tid in text(name + ".tids").split()}
        check(f"{name}: the threads {tids}", tids and
              (dump.tids == tids if name == "thread" else dump.tids >= tids), dump.tids)
    check("attached: left alive", text("attached.alive") == "alive\n")

    snapshots("snap_signal", 4, 143)
    dump = snapshots("snap_fifo", 5, 143)
    check("snap_fifo: some go on where the last ended", continued(dump) > 0)
    check("snap_fifo: each command acknowledged", text("snap_fifo.acks") == "ack\n" * 7,
          text("snap_fifo.acks"))
    check("snap_fifo: a wrong command named", '"bogus" is no command' in text("snap_fifo.err"))
    snapshots("snap_exit", 1, 0)

    check("filter: only hot", inside(dump_of("filter").enabled, "hot") == len(dump_of("filter").enabled)
          > 10)
    check("full: not only hot", inside(full.enabled, "hot") < len(full.enabled))
    read_by_all("filter_kernel", report=NO_KERNEL)
    kernel_records()
    samples("samples", 4096)
    samples("samples_thread", 8192)
    for signal, status in (("INT", 143), ("TERM", 143), ("KILL", 137)):
        complete("sig" + signal, status)
    dump = read_by_all("disk_full")
    check("disk_full: said once", text("disk_full.err").count("No space left on device") == 1 and
          text("disk_full.rc") == "1\n", text("disk_full.err"))
    check("disk_full: what was written is whole", all(
        not jumps(lane) for lane in dump.lanes().values()))
    check("no_command: 127", text("no_command.rc") == "127\n")
    check("crash: as the command", text("crash.rc") == "139\n")
    check("user_small: smaller rings", re.search(r"for each ring \d+ KiB", text("user_small.err")))
    for name in ("plain", "user", "kcore"):
        check(f"{name}: perf decodes without errors", text(name + ".errors") == "",
              text(name + ".errors")[:300])
        check(f"{name}: perf finds branches", text(name + ".branches").count("branches") > 100,
              text(name + ".branches")[:300])
    check("kcore: the kernel's code", os.path.getsize(path("kcore") + "/kcore_dir/kcore") > 1 << 20)
    refusals()
    check("--check: PT can be used", text("check.rc") == "0\n" and "psb_period=0-5" in
          text("check.out"))


def stepped(name, program):
    """A program of the guest that was stepped: perf and ptxed decode what executed."""
    if not os.path.exists(os.path.join(where, program)):
        print(f"skipped: {name}: could not be built")
        return
    for directory in ("in", "out/none"):
        os.makedirs(os.path.join(where, "root", directory), exist_ok=True)
    command("cp", os.path.join(where, program), os.path.join(where, "root/in"))
    copy = name + ".data.vdso32"
    command("cp", os.path.join(where, copy), os.path.join(where, "root/out/none"))
    check(f"{name}: ends well", text(name + ".rc") == "0\n", text(name + ".err"))
    want = [line for line in text(name + ".truth").splitlines() if line[0] != "#"]
    root = os.path.join(where, "root")
    done = command("perf", "script", "-f", "--symfs", root, "-i", path(name), "--itrace=i0nse",
                   "-F", "ip")
    check(f"{name}: perf decodes what executed ({len(want)} instructions)",
          len(want) > 1000 and done.stdout.split() == want, done.stdout[-200:])
    done = command("ptxed", "--sysroot", root, "--fields", "tid", path(name))
    got = [line.split()[1].lstrip("0") for line in done.stdout.splitlines()
           if re.match(r"\s*\d+ [0-9a-f]{16}\s", line)]
    check(f"{name}: ptxed, too", got == want and done.returncode == 0, done.stderr[:300])


def without_pmu():
    for program in ("small32", "int80"):
        stepped(program, program)
        stepped(program + "_cpu", program)
    check("no PMU: status", text("no_pmu.rc").strip() in ("3", "4"), text("no_pmu.rc"))
    check("no PMU: says so", "--backend perf cannot be used" in text("no_pmu.err"))
    check("auto: the software recorder, in one line", text("auto.rc") == "0\n" and
          text("auto.err").count("\n") == 2 and "software recorder" in text("auto.err"),
          text("auto.err"))
    check("--check: status", text("check.rc").strip() in ("3", "4"), text("check.rc"))


with_pmu() if kind == "pt" else without_pmu()
sys.exit(failures > 0)
