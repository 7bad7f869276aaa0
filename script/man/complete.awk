# SPDX-License-Identifier: BSD-3-Clause
# complete.awk - see script/make-completions. Variables: shell, tool.

# What the argument is: none, file, dir, words, other; "optional" only as --name=x.
function kind_of(arg) {
    if (arg == "")
        return "none"
    if (arg ~ /^\[/)
        return "optional"
    if (arg ~ /^[a-z]+(\|[a-z]+)+$/)
        return "words"
    if (arg ~ /^<(file|path)>/)
        return "file"
    return arg == "<dir>" ? "dir" : "other"
}

# The first sentence.
function brief(help) {
    sub(/[.;] .*/, "", help)
    sub(/[.]$/, "", help)
    return help
}

function quoted(s) {
    gsub(/'/, "'\\''", s)
    return "'" s "'"
}

function zsh_text(s) {
    gsub(/[][\\]/, "\\\\&", s)
    gsub(/:/, "\\:", s)
    return s
}

$1 == "" { next }
{
    n++
    name[n] = $1
    alias[n] = $2
    kind[n] = kind_of($3)
    words[n] = $3
    gsub(/\|/, " ", words[n])
    what[n] = $3
    gsub(/[<>]/, "", what[n])
    help[n] = brief($4)
}

function bash_case(wanted, action,    i, list) {
    for (i = 1; i <= n; i++)
        if (kind[i] == wanted)
            list = list (list == "" ? "" : " | ") name[i] (alias[i] == "" ? "" : " | " alias[i])
    if (list != "")
        print "    " list ") " action " ;;"
}

function bash_file(    i, all, f) {
    for (i = 1; i <= n; i++) {
        all = all " " name[i] (alias[i] == "" ? "" : " " alias[i])
    }
    f = "_" tool
    print "# bash completion of " tool "; made by script/make-completions."
    print f "()\n{"
    print "    local line=${COMP_LINE:0:COMP_POINT} cur prev kind=word words='' i"
    print "    # Option names have colons: words are taken from the line, not from COMP_WORDS."
    print "    cur=${line##*[[:space:]]}"
    print "    prev=${line%\"$cur\"}"
    print "    prev=${prev%\"${prev##*[![:space:]]}\"}"
    print "    prev=${prev##*[[:space:]]}"
    print "    case $cur in --*=*) prev=${cur%%=*} cur=${cur#*=} ;; esac"
    print "    case $prev in"
    bash_case("file", "kind='file'")
    bash_case("dir", "kind='dir'")
    for (i = 1; i <= n; i++)
        if (kind[i] == "words")
            print "    " name[i] ") kind=list words='" words[i] "' ;;"
    bash_case("other", "kind=none")
    print "    esac"
    if (tool == "ptcapture") {
        print "    case \" ${line%\"$cur\"}\" in *' -- '*) kind='command' ;; esac"
    }
    print "    COMPREPLY=()"
    print "    case $kind in"
    print "    word)"
    print "        case $cur in"
    print "        -*) words='" substr(all, 2) "' kind=list ;;"
    print "        *) kind='" (tool == "ptcapture" ? "command" : "file") "' ;;"
    print "        esac"
    print "        ;;"
    print "    esac"
    print "    # readline replaces what stands behind the last of these characters only."
    print "    local keep=$cur"
    print "    case $COMP_WORDBREAKS in *:*) keep=${keep##*:} ;; esac"
    print "    keep=${cur%\"$keep\"}"
    print "    case $kind in"
    print "    list) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;"
    print "    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;"
    print "    dir) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;"
    print "    command) mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\") ;;"
    print "    esac"
    print "    for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$keep\"}; done"
    print "}"
    print "complete -F " f " " tool
}

function zsh_spec(i,    action, text, tail) {
    text = "[" zsh_text(help[i]) "]"
    action = ":" zsh_text(what[i]) ":"
    if (kind[i] == "file")
        action = action "_files"
    else if (kind[i] == "dir")
        action = action "_files -/"
    else if (kind[i] == "words")
        action = action "(" words[i] ")"
    else if (kind[i] == "none")
        action = ""
    tail = kind[i] == "none" ? "" : kind[i] == "optional" ? "=-" : "="
    if (kind[i] == "optional")
        action = ":" action
    printf " \\\n    %s", quoted((kind[i] == "none" ? "" : "*") zsh_text(name[i]) tail text action)
    if (alias[i] != "")
        printf " \\\n    %s", quoted((kind[i] == "none" ? "" : "*") alias[i] \
            (kind[i] == "none" ? "" : kind[i] == "optional" ? "-" : "+") text action)
}

function zsh_file(    i) {
    print "#compdef " tool
    print "# Made by script/make-completions."
    printf "_arguments -S"
    for (i = 1; i <= n; i++)
        zsh_spec(i)
    if (tool == "ptcapture")
        print " \\\n    '(-)1:command:_command_names -e' \\\n    '*::arguments:_normal'"
    else
        print " \\\n    '*:file:_files'"
}

function fish_file(    i, line) {
    print "# Made by script/make-completions."
    for (i = 1; i <= n; i++) {
        line = "complete -c " tool " -l " quoted(substr(name[i], 3))
        if (alias[i] != "")
            line = line " -s " substr(alias[i], 2)
        if (kind[i] == "file")
            line = line " -r -F"
        else if (kind[i] == "dir")
            line = line " -x -a '(__fish_complete_directories)'"
        else if (kind[i] == "words")
            line = line " -x -a " quoted(words[i])
        else if (kind[i] == "other")
            line = line " -x"
        print line " -d " quoted(help[i])
    }
    if (tool == "ptcapture")
        print "complete -c ptcapture -a '(__fish_complete_subcommand)'"
}

END {
    if (n == 0) {
        print tool ": no options" >"/dev/stderr"
        exit 1
    }
    if (shell == "bash")
        bash_file()
    else if (shell == "zsh")
        zsh_file()
    else
        fish_file()
}
