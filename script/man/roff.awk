# SPDX-License-Identifier: BSD-3-Clause
# roff.awk - text as roff: shared by the generators of manual pages. POSIX awk.

# Characters that roff takes for commands.
function escape(s) {
    gsub(/\\/, "\\e", s)
    return s
}

# As it would be typed: every hyphen is a minus.
function literal(s) {
    s = escape(s)
    gsub(/-/, "\\-", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    gsub(/`/, "\\(ga", s)
    gsub(/'/, "\\(aq", s)
    return s
}

# "<file>[:<from>]": names in <> are italic, what is typed is bold, what describes is roman.
function argument(s,    out, part) {
    while (s != "") {
        if (match(s, /^<[^<>]*>/)) {
            out = out "\\fI" literal(substr(s, 2, RLENGTH - 2)) "\\fR"
        } else if (match(s, /^[][|]/) || match(s, /^\.\.\./)) {
            out = out substr(s, 1, RLENGTH)
        } else {
            match(s, /^(\.[^.<]|[^][|<.])+|^./)
            part = substr(s, 1, RLENGTH)
            out = out "\\fB" literal(part) "\\fR"
        }
        s = substr(s, RLENGTH + 1)
    }
    return out
}

# One word of running text: options and file names stand out.
function word(w,    head, tail) {
    if (match(w, /^[("']+/)) {
        head = substr(w, 1, RLENGTH)
        w = substr(w, RLENGTH + 1)
    }
    if (match(w, /[.,;:)"']+$/)) {
        tail = substr(w, RSTART)
        w = substr(w, 1, RSTART - 1)
    }
    if (w ~ /^--?[a-zA-Z0-9]/ || w ~ /<[^<>]+>/)
        w = argument(w)
    else if (w ~ /^[$\/]|_|[a-z]\/[a-z]|\.(bin|data|pevent|bash)$/)
        w = literal(w)
    else {
        w = escape(w)
        gsub(/\^/, "\\(ha", w)
        gsub(/~/, "\\(ti", w)
    }
    gsub(/'/, "\\(aq", tail)
    gsub(/'/, "\\(aq", head)
    return head w tail
}

# Running text in lines of at most 78 characters.
function flow(text,    words, n, i, line, w) {
    n = split(text, words, /[ \t]+/)
    for (i = 1; i <= n; i++) {
        if (words[i] == "")
            continue
        w = word(words[i])
        if (line != "" && length(line) + 1 + length(w) > 78) {
            print guard(line)
            line = w
        } else
            line = line (line == "" ? "" : " ") w
        # A sentence ends its line.
        if (words[i] ~ /[a-z)0-9][.]$/ && words[i + 1] ~ /^[A-Z-]/) {
            print guard(line)
            line = ""
        }
    }
    if (line != "")
        print guard(line)
}

function guard(line) {
    return line ~ /^[.']/ ? "\\&" line : line
}

# A sentence: begins with a capital unless it begins with a name, ends with a full stop.
function sentence(s) {
    sub(/^ +/, "", s)
    if (s ~ /^[a-z]+('t)?([ ,.;]|$)/)
        s = toupper(substr(s, 1, 1)) substr(s, 2)
    return s ~ /[.!?:]$/ ? s : s "."
}
