# SPDX-License-Identifier: BSD-3-Clause
# header.awk - section 3 from a public header: every declaration with its comment, in the order
# of the header. Variables: version, date, others (the names of all pages, for SEE ALSO).

# What readers need not see.
function plain(code) {
    if (code ~ /^PTL_API /)
        gsub(/\n        /, "\n", code)
    gsub(/PTL_API |[ \n]*PTL_MUST_CHECK/, "", code)
    gsub(/ +\\\n/, " \\\n", code)
    if (code ~ /^[^\n]* \\\n[^\n]*\n?$/) # a definition on two lines
        sub(/ \\\n +/, " ", code)
    return code
}

function code_block(code,    n, lines, i) {
    n = split(code, lines, "\n")
    print ".EX"
    for (i = 1; i <= n; i++)
        if (lines[i] != "")
            print guard("\\fB" literal(lines[i]) "\\fR")
    print ".EE"
}

# The lines of a comment: paragraphs; lines that are set in, as they are.
function comment_text(text,    n, lines, i, paragraph, open) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n + 1; i++) {
        if (i > n || lines[i] == "" || lines[i] ~ /^   /) {
            if (paragraph != "") {
                if (open++)
                    print ".PP"
                flow(paragraph)
            }
            paragraph = ""
            if (i <= n && lines[i] ~ /^   /) {
                if (open)
                    print ".PP"
                print ".EX"
                for (; i <= n && lines[i] ~ /^  /; i++)
                    print guard(literal(lines[i]))
                print ".EE"
                open = 1
                i--
            }
        } else
            paragraph = paragraph " " lines[i]
    }
}

# Nothing is between a heading and its first paragraph.
function paragraph_break() {
    if (!after_heading)
        print ".PP"
    after_heading = 0
}

function end_item() {
    if (code != "") {
        paragraph_break()
        code_block(plain(code))
        if (comment != "") {
            print ".RS 4"
            comment_text(comment)
            print ".RE"
        }
    } else if (comment != "" && seen_guard) {
        paragraph_break()
        comment_text(comment)
    }
    code = comment = ""
}

# The first comment of the file: "pt/x.h - what it is." and an introduction.
function introduction(text,    head) {
    head = text
    sub(/\n.*/, "", head)
    if (match(head, / - /)) {
        brief = substr(head, RSTART + 3)
        sub(/[.]$/, "", brief)
    }
    if (index(text, "\n\n"))
        intro = substr(text, index(text, "\n\n") + 2)
    else
        intro = index(text, "\n") ? substr(text, index(text, "\n") + 1) : ""
}

function front(    name) {
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/[.]h$/, "", name)
    print ".TH PT_" toupper(name) " 3 \"" date "\" \"libpt " version "\" \"Library Functions Manual\""
    print ".SH NAME"
    print "pt_" name " \\- " escape(brief)
    print ".SH SYNOPSIS"
    print ".B #include <pt/" name ".h>"
    print ".PP\nLink with"
    print ".BR \\-lpt ;"
    print "flags:"
    print ".BR \"pkg\\-config \\-\\-cflags \\-\\-libs libpt\" ."
    print ".SH DESCRIPTION"
    comment_text(intro)
    after_heading = intro == ""
}

FNR == 1 { next } # the licence

/^#(ifndef|define) PT_[A-Z]+_H/ {
    if (!seen_guard++)
        front()
    next
}
/^#(include|ifdef|else|endif|undef|if )/ {
    if (/^#(ifdef __cplusplus|if )/)
        skip = 1
    if (/^#endif/)
        skip = 0
    next
}
skip { next }

# A comment at the margin.
!in_code && /^\/\*/ {
    if (/^\/\* --- /) {
        end_item()
        title = $0
        sub(/^\/\* -+ /, "", title)
        sub(/ -*[ ]*-+ *(\*\/)?$/, "", title)
        print ".SS " toupper(substr(title, 1, 1)) substr(title, 2)
        after_heading = 1
        next
    }
    if (code != "")
        end_item()
    block = ""
    in_comment = 1
}
in_comment {
    line = $0
    last = line ~ /\*\//
    sub(/ ?\*\/.*$/, "", line)
    sub(/^ ?\/?\*+ ?/, "", line)
    sub(/[ ]+$/, "", line)
    block = block (block == "" ? "" : "\n") line
    if (last) {
        in_comment = 0
        sub(/\n+$/, "", block)
        if (!seen_guard)
            introduction(block)
        else {
            if (comment != "")
                end_item()
            comment = block
        }
    }
    next
}

/^$/ && !in_code {
    end_item()
    next
}

# Code: until it is complete.
{
    if (!in_code && /^(struct|enum|union|typedef|extern|static|PTL_API|#define)/)
        in_code = 1
    code = code $0 "\n"
    if (/^#define/ || continued) {
        continued = /\\$/
        in_code = continued
    } else if ((/;$/ || /; *\/\*.*\*\/$/) && (/^[^ ]/ && !/^(struct|enum|union)[^;]*\{$/ || /\)[^;]*;/) && !in_body)
        in_code = 0
    if (/\{$/ && !continued)
        in_body = 1
    if (/^\}/ || /^[a-z].*\};$/) {
        in_body = 0
        in_code = 0
    }
}

END {
    end_item()
    print ".SH SEE ALSO"
    n = split(others, pages, " ")
    print ".BR libpt (7),"
    for (i = 1; i <= n; i++)
        if (FILENAME !~ "/" substr(pages[i], 4) "[.]h$")
            print ".BR " pages[i] " (3)" (++printed < n - 1 ? "," : "")
}
