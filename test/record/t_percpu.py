#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recorded programs on per-CPU buffers, with context switches.

The programs of t_step.py are recorded by the software recorder with --truth. helper_percpu plays
what each thread executed on one or two processors, in every form that recorders know (SWITCH,
SWITCH_CPU_WIDE, sched:sched_switch; one stream for all, or PSB and AUX record with each switch).
ptxed and perf must then list the truth, thread by thread.
Arguments: names of cases to run (default all).
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import t_step as step  # noqa: E402

HELPER = step.BUILD + "/bin/test/helper_percpu"

# What is recorded once is replayed in these forms; perf: it is asked, too. Returns that go by the
# calls of their thread over times without trace are nothing for perf, which has one stack for
# the processor.
FORMS = [
    ("one CPU", [], 1),
    ("one CPU, per task", ["task"], 1),
    ("CPU-wide", ["wide"], 1),
    ("CPU-wide, two CPUs", ["wide", "cpus=2"], 1),
    ("two CPUs, per task", ["task", "cpus=2"], 1),
    ("sched_switch", ["sched"], 1),
    ("calls of threads", ["calls"], 0),
]

# Threads, processes and code that comes and goes; the first two in all forms, the others in some.
CASES = ["threads", "forktree", "pipeline", "signals", "selfmod", "load", "crash-thread",
         "thread-exec", "compat"]


def forms_of(name):
    i = CASES.index(name)
    return FORMS if i < 2 else [FORMS[(i + k) % len(FORMS)] for k in (0, 2)]


def record(name, command, options, directory):
    """Returns the truth, or None if the program cannot run here."""
    command = [word.replace("@", directory) for word in command]
    if not shutil.which(command[0]):
        print("skipped: %s: no program" % name)
        return None
    if options.get("may_fail"):
        try:
            alone = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
        except OSError:
            alone = None
        if not alone or alone.returncode:
            print("skipped: %s: cannot run here" % name)
            return None
    subprocess.run([step.PTCAPTURE, "-q", "--backend", "step", "--truth", directory + "/truth",
                    "-o", directory + "/perf.data", "--"] + command,
                   capture_output=True, stdin=subprocess.DEVNULL)
    return step.read_truth(directory + "/truth")


def check_extracted(label, path, directory):
    """What the scripts extract decodes to the same text, processor by processor."""
    env = dict(os.environ, PATH=step.BUILD + "/bin:" + os.environ["PATH"])
    run = lambda *words: subprocess.run(words, capture_output=True, text=True, env=env,
                                        cwd=directory).stdout
    script = lambda which: step.SOURCE + "/script/perf-%s.bash" % which
    run(script("read-aux"), path)
    run(script("read-sideband"), path)
    for cpu in range(2):
        sideband = "%s-sideband-cpu%d.pevent" % (path, cpu)
        if not os.path.exists(sideband):
            continue
        options = run(script("get-opts"), "-m", sideband, path).split()
        raw = run("ptxed", *options, "--pt", "%s-aux-idx%d.bin" % (path, cpu)).splitlines()
        whole = run("ptxed", "--select:cpu", str(cpu), path).splitlines()
        # Raw files do not find this machine's [vdso] by themselves.
        raw = [line for line in raw if "sideband error: bad configuration" not in line]
        if raw != whole or len(raw) < 1000:
            step.fail(label, "extracted: cpu %d: %d lines, not the %d" % (cpu, len(raw), len(whole)))
    for cpu in range(2):
        if os.path.exists("%s-sideband-cpu%d.pevent" % (path, cpu)):
            os.unlink("%s-sideband-cpu%d.pevent" % (path, cpu))


def check_form(name, form, options, ask_perf, directory, truth):
    label = "%s, %s" % (name, form)
    path = directory + "/cpu.data"
    before = step.failures
    made = subprocess.run([HELPER, directory + "/perf.data", path] + options, capture_output=True,
                          text=True)
    if made.returncode:
        step.fail(label, made.stderr)
        return
    readers = [("ptxed", step.read_ptxed)]
    if ask_perf and step.PERF:
        readers.append(("perf", step.read_perf))
    for who, read in readers:
        got, other = read(path)
        for line in other[:3]:
            step.fail(label, "%s says: %s" % (who, line))
        step.compare(label, who, truth, got)
    if name == CASES[0]:
        check_extracted(label, path, directory)
    if step.failures == before:
        print("ok: %s: %s, as %s" % (label, made.stdout.strip(),
                                     " and ".join(who for who, _ in readers)))
    sys.stdout.flush()


def main():
    if not os.path.exists(step.PTXED):
        return 77
    with tempfile.TemporaryDirectory() as directory:
        step.build(directory)
        step.write_inputs(directory)
        for name, command, options in step.CASES:
            if name not in CASES or (len(sys.argv) > 1 and name not in sys.argv[1:]):
                continue
            truth = record(name, command, options, directory)
            for form, arguments, ask_perf in forms_of(name) if truth else []:
                check_form(name, form, arguments, ask_perf, directory, truth)
    print("%d failed" % step.failures)
    return 1 if step.failures else 0


if __name__ == "__main__":
    sys.exit(main())
