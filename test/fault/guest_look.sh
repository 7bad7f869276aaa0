#!/bin/sh
# guest_look.sh MODE RECORDING: what is the same in each run of a command that guest_fault.sh lets
# ptcapture record, and 0 if the recording is whole. The fake PMU numbers its cells (PTW packets) in
# each buffer from 0, and AUX records tell how much the kernel has got of it.
#   command    a program from its exec to its end
#   running    what ran already, and goes on
#   snapshot   the last of the trace
mode=$1 file=$2
/in/ptdump --sb:compact "$file" >shown 2>told
status=$?
echo "status $status"
awk -v mode="$mode" '
    function wrong(what) { if (!n++) print what; bad = 1 }
    /^\[aux / {
        split($0, w, "[ ,:-]+"); lane = w[2]; until[lane] = w[8]
        if (mode == "snapshot") delete next_ptw[lane]
    }
    / ptw / {
        number = $4; sub(",", "", number)
        if (number !~ /^[0-9a-f]+$/) wrong("no number")
        if (lane in next_ptw ? number != next_ptw[lane] : mode != "snapshot" && number != "0")
            wrong("a gap in buffer " lane ": " number " for " next_ptw[lane])
        next_ptw[lane] = sprintf("%x", hex(number) + 1)
        cells++
    }
    function hex(text,  i, value) {
        value = 0
        for (i = 1; i <= length(text); i++) value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
        return value
    }
    /^PERF_RECORD_AUX / {
        gsub(",", ""); if (mode != "snapshot" && hex($2) != aux[lane] + 0) wrong("AUX records miss something")
        aux[lane] = hex($2) + hex($3); flags = $4
        if (flags % 4 && mode != "snapshot") print "flags " flags
    }
    /^PERF_RECORD_/ {
        type = substr($1, 13)
        if (type ~ /^MMAP/ && $0 ~ / \{ /) {
            name = $0; sub(/  \{ .*/, "", name); sub(/.*, /, name); sub(/.* /, "", name)
            seen[type " " name] = 1
        } else if (type ~ /^COMM.EXEC/) seen[type " " $3] = 1
        else if (type !~ /SWITCH|AUX|LOST|COMM|FORK/ || type == "LOST") seen[type] = 1
        exits += type == "EXIT"
    }
    END {
        for (lane in until)
            if (mode != "snapshot" && hex(until[lane]) != aux[lane]) wrong("trace is missing: " until[lane] " of " aux[lane])
        if (mode == "command") print exits " EXIT"
        print (cells ? "cells" : "no cells")
        for (name in seen) print name | "sort"
    }' shown
# Features that the header has; but for the name of the processor (CPUDESC), which tells people only.
od -A n -t x1 -j 72 -N 32 "$file" | sed '1s/^\( ..\) 3[ef]/\1 3x/'
/in/ptdump --list-config "$file" 2>&1 | sed 's/^\(time-[a-z]*\|sample-config\).*/\1/' | sort -u
/in/ptdump --list-files "$file" 2>&1
md5sum vdso-x64.so 2>&1
[ $status -eq 0 ] || cat told
exit $status
