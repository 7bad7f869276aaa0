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

# Names that come from a recording or a bundle are no escape sequences, nor lines of their own.
plain_lines() {
    LC_ALL=C sed $'s/[\001-\010\013-\037\177]/?/g; s/\302[\200-\237]/?/g'
}
plain() { # NAME
    printf '%s' "${1//$'\n'/?}" | plain_lines
}

# What another user has put into a directory that all may write to may be a trap: not to be written to. It is the
# link that counts, not what it names.
is_foreign() { # NAME
    local parent
    parent=$(dirname -- "$1")
    { [ -e "$1" ] || [ -L "$1" ]; } && [ "$(stat -c %u -- "$1")" -ne "$(id -u)" ] &&
        [ -n "$(find -H "$parent" -maxdepth 0 -perm -o+w)" ] && [ "$(stat -c %u -- "$1")" -ne "$(stat -L -c %u -- "$parent")" ]
}

need_argument() { # OPTION, how many words are left with it
    [ "$2" -gt 1 ] || fail "$1: missing argument"
}

# The option (or command) of usage() that is nearest to a word: at most three letters put in, left out,
# changed, or swapped with the next one, as the tools have it. Prints nothing if none is near.
nearest() { # WORD, what options look like
    usage | grep -oE -e "(^|[^[:alnum:]-])$2" | grep -oE -e "$2" | sort -u | awk -v word="$1" '
        function min(a, b) { return a < b ? a : b }
        function distance(a, b, i, j, same, d) {
            for (i = 0; i <= length(a); i++) d[i, 0] = i
            for (j = 0; j <= length(b); j++) d[0, j] = j
            for (i = 1; i <= length(a); i++)
                for (j = 1; j <= length(b); j++) {
                    same = substr(a, i, 1) == substr(b, j, 1)
                    d[i, j] = min(d[i - 1, j - 1] + !same, min(d[i - 1, j], d[i, j - 1]) + 1)
                    if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1))
                        d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
                }
            return d[length(a), length(b)]
        }
        BEGIN { best = 4 }
        { d = distance(word, $0); if (d && d < best && d < length(word) - 1) { best = d; near = $0 } }
        END { if (near) print near }'
}

unknown_option() { # WORD
    local near
    near=$(nearest "$1" '--[a-z][a-z-]*' || true)
    fail "unknown option: $1 (${near:+did you mean $near? }see $PROG --help)"
}

unknown_command() { # WORD, all commands as a regular expression
    local near
    near=$(nearest "$1" "($2)" || true)
    fail "unknown command: $1 (${near:+did you mean $near? }see $PROG --help)"
}

# A word that is no option: the recording.
take_recording() {
    case $1 in
    -?*) unknown_option "$1" ;;
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
