# SPDX-License-Identifier: BSD-3-Clause
# help.awk - a page of a script. First file: what its --help prints; second: the page, where
#   .\" @help
# stands for SYNOPSIS, DESCRIPTION, OPTIONS and EXIT STATUS.

function section(title) {
    print ".SH " title
}

# "word  explanation", the words at the same indentation.
function is_row(line) {
    return line ~ /^ *[^ ]+( [^ ]+)*  +[^ ]/ && line !~ /^      /
}

function end_paragraph() {
    if (text != "") {
        if (text ~ /^Exit status: /) {
            section("EXIT STATUS")
            sub(/^Exit status: /, "", text)
            flow(text)
        } else {
            if (open_text++)
                print ".PP"
            flow(text)
        }
    }
    text = ""
    in_row = 0
}

function row(line,    left, right, at) {
    sub(/^ +/, "", line)
    at = match(line, /  +/)
    left = at ? substr(line, 1, at - 1) : line
    right = at ? substr(line, at + RLENGTH) : ""
    print ".TP"
    gsub(/, /, ",\001", left)
    print guard(marked(left))
    text = ""
    open_text = 0
    row_text = right
    in_row = 1
}

# The left side: options bold, <names> italic.
function marked(s) {
    s = argument(s)
    gsub(/,\001/, "\\fR, \\fB", s)
    return s
}

function end_row() {
    if (in_row)
        flow(sentence(row_text))
    in_row = 0
}

function print_help(    i, line, usage) {
    section("SYNOPSIS")
    for (i = 1; i <= lines; i++) {
        line = help[i]
        if (line == "")
            break
        sub(/^(usage:)? +/, "", line)
        if (usage++)
            print ".br"
        print guard(marked(line))
    }
    section("DESCRIPTION")
    for (; i <= lines; i++) {
        line = help[i]
        if (line == "") {
            end_row()
            end_paragraph()
        } else if (line == "options:") {
            section("OPTIONS")
            open_text = 0
        } else if (line ~ /^ *-/ || is_row(line) && line !~ /^        /) {
            end_row()
            end_paragraph()
            row(line)
        } else if (in_row && line ~ /^ +[^ ]+ .*\|/) {
            end_row()
            sub(/^ +/, "", line)
            print ".RS\n.PP\n.EX\n" literal(line) "\n.EE\n.RE"
        } else if (in_row) {
            sub(/^ +/, "", line)
            row_text = row_text " " line
        } else {
            if (text ~ /^$/ && line ~ /^ /)
                sub(/^ +/, "", line)
            text = text (text == "" ? "" : " ") line
        }
    }
    end_row()
    end_paragraph()
}

FNR == NR {
    help[++lines] = $0
    next
}

/^\.\\" @help/ {
    print_help()
    next
}

{ print }
