# SPDX-License-Identifier: BSD-3-Clause
# options.awk - a page with the options of a tool. First file: what the tool's --list-options
# prints; second: the page, where these comments are instructions:
#   .\" @options       the options stand here
#   .\" @group NAME    until the next instruction: text below the heading of this group
#   .\" @after NAME    until the next instruction: text added to this option
#   .\" @end           the page goes on

function heading(title) {
    return ".SS " toupper(substr(title, 1, 1)) substr(title, 2)
}

function add(text) {
    order[++rows] = text
}

function option(name, alias, arg,    s) {
    s = alias == "" ? "" : "\\fB" literal(alias) "\\fR, "
    s = s "\\fB" literal(name) "\\fR"
    if (arg != "")
        s = s (arg ~ /^\[/ ? "[\\fB=\\fR" argument(substr(arg, 2)) : " " argument(arg))
    return s
}

function print_options(    i, name) {
    for (i = 1; i <= rows; i++) {
        name = names[i]
        if (is_group[i]) {
            print heading(name)
        } else {
            print ".TP"
            print option(name, aliases[i], arguments[i])
            flow(sentence(helps[i]))
        }
        if (name in extra) {
            printf "%s", extra[name]
            used[name] = 1
        }
    }
}

FNR == NR {
    n = split($0, field, "\t")
    names[++rows] = n >= 4 && field[1] == "" ? field[4] : field[1]
    is_group[rows] = field[1] == ""
    aliases[rows] = field[2]
    arguments[rows] = field[3]
    helps[rows] = field[4]
    next
}

/^\.\\" @/ {
    instruction = $2
    target = $3
    for (i = 4; i <= NF; i++)
        target = target " " $i
    if (instruction == "@options")
        place = lines
    else if (instruction == "@after" || instruction == "@group")
        extra[target] = ""
    else if (instruction == "@end")
        target = ""
    else
        problem = problem "unknown instruction " instruction "\n"
    next
}

target != "" {
    extra[target] = extra[target] $0 "\n"
    next
}

{ page[++lines] = $0 }

END {
    if (place == "")
        problem = problem "no place for the options\n"
    for (i = 1; i <= lines; i++) {
        print page[i]
        if (i == place)
            print_options()
    }
    for (name in extra)
        if (!(name in used))
            problem = problem "no such option or group: " name "\n"
    if (problem != "") {
        printf "%s", problem >"/dev/stderr"
        exit 1
    }
}
