# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts around recordings have in common; sourced by them. Each defines usage(). Names in capitals
# are shared.
PROG=$(basename "$0")
PTDUMP=${PTDUMP:-ptdump}
RECORDING=''

fail() {
    echo "$PROG: $*" >&2
    exit 2
}

need_argument() { # OPTION, how many words are left with it
    [ "$2" -gt 1 ] || fail "$1: missing argument"
}

# A word that is no option: the recording.
take_recording() {
    case $1 in
    -?*) fail "unknown option: $1 (see $PROG --help)" ;;
    esac
    [ -z "$RECORDING" ] || fail "one recording at a time, please"
    RECORDING=$1
}

need_recording() {
    RECORDING=${RECORDING:-perf.data}
    [ -e "$RECORDING" ] || fail "$RECORDING: no such recording"
}

# Write parts of a recording to files: run ptdump with this option and the prefix of their names.
extract() { # OPTION, OPTION if there is -S, ARGUMENT...
    local dry_run=0 prefix='' what=$1 snapshots=$2
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) usage && exit 0 ;;
        -n | --dry-run) dry_run=1 ;;
        -o)
            need_argument "$1" $#
            prefix=$2
            shift
            ;;
        --)
            shift
            break
            ;;
        -S)
            what=$snapshots
            [ -n "$what" ] || take_recording "$1"
            ;;
        *) take_recording "$1" ;;
        esac
        shift
    done
    [ $# -le 1 ] || fail "one recording at a time, please"
    if [ $# -eq 1 ]; then
        [ -z "$RECORDING" ] || fail "one recording at a time, please"
        RECORDING=$1
    fi
    need_recording
    prefix=${prefix:-${RECORDING%/}}
    case $RECORDING in -*) RECORDING=./$RECORDING ;; esac
    if [ $dry_run -eq 1 ]; then
        printf '%q %s %q %q\n' "$PTDUMP" "$what" "$prefix" "$RECORDING"
        exit 0
    fi
    exec "$PTDUMP" "$what" "$prefix" "$RECORDING"
}
