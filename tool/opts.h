/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.h - options of the tools, from one table each: the table drives the parser,
 * `--help`, the manual and the completions.
 *
 * Options are applied in the order given: several of them act on what follows
 * (--cpu before --pt, --pevent:sample-type before --pevent:primary).
 */
#ifndef TOOL_OPTS_H
#define TOOL_OPTS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct opt {
    const char *name;  /* "--no-pad"; NULL ends the table; "" starts a group headed by `help` */
    const char *alias; /* "-h", or NULL */
    const char *arg;   /* "<file>[:<from>[-<to>]]"; NULL: no argument; "[<x>]": optional, only as
                          --name=x or -Nx */
    const char *help;  /* one or more sentences, wrapped by --help */
    /* Returns 0, or the exit status + 1 to leave with (the message has been printed). `arg` NULL if
     * none. */
    int (*apply)(void *context, const struct opt *opt, const char *arg);
    intptr_t value; /* for `apply`: e.g. offsetof() of a flag */
    unsigned flags;
    const struct opt *sub; /* OPT_SUB: rows of another table stand here */
};

/* What every tool has: rows without `apply`, which opts_parse() does itself. */
enum { OPTS_HELP, OPTS_VERSION, OPTS_LIST };
#define OPTS_HELP_ROW                                                                              \
    {                                                                                              \
        .name = "--help", .alias = "-h", .help = "print this text and leave.", .value = OPTS_HELP  \
    }
#define OPTS_VERSION_ROW(letter)                                                                   \
    {                                                                                              \
        .name = "--version", .alias = (letter), .help = "print the version and leave.",            \
        .value = OPTS_VERSION                                                                      \
    }
#define OPTS_LIST_ROW                                                                              \
    {                                                                                              \
        .name = "--list-options", .help = "the options, for scripts.", .flags = OPT_HIDDEN,        \
        .value = OPTS_LIST                                                                         \
    }

#define OPT_HIDDEN 0x1u /* accepted, not shown */
#define OPT_SUB    0x2u /* a table that tools share; its rows get context + value (an offsetof()) */

struct opts {
    const char *prog; /* as messages begin: argv[0] */
    const char *name; /* of the tool, for --version */
    const struct opt *table;
    const char *usage; /* after "usage: PROG " */
    const char *about; /* a paragraph, or NULL */
    void *context;
    /* A word that is no option. Returns as `apply` does. */
    int (*word)(void *context, const char *word);
    /* Stop at the first word that is no option, or at "--" (command lines in command lines). */
    int stop_at_word;
};

/* Apply argv[1..]. Accepts "--name arg", "--name=arg", "-N arg", "-Narg".
 * Returns 0 and the index of the first word not consumed in *rest, or exit status + 1. */
int opts_parse(const struct opts *opts, int argc, char **argv, int *rest);

/* Write --help to stdout / the options as "name<TAB>alias<TAB>arg<TAB>help" lines, for the manuals
 * and completions; the title of a group follows three tabs. */
void opts_help(const struct opts *opts);
void opts_list(const struct opts *opts);

/* "prog: " + message + newline to stderr. */
void opts_error(const char *prog, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Message + newline to stderr, control characters masked: names in it may come from a file. */
void opts_say(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

/* The one reader of numbers: decimal, 0x or 0 before it, and a unit behind it (B, K, M, G, T:
 * powers of 1024). *end points behind it. Returns 0, or -1 if it is no number or does not fit. */
int opts_scan(const char *text, uint64_t *value, const char **end);

/* Such a number, up to `max`; on failure prints the reference's message
 * ("prog: OPT: bad argument: X." ...) and returns 3 (exit status 2). */
int opts_number(const char *prog, const char *opt, const char *arg, uint64_t max, uint64_t *value);

/* The same for what must be above 0. */
int opts_positive(const char *prog, const char *opt, const char *arg, uint64_t max,
                  uint64_t *value);

/* Split "file[:from[-to]]" at the last ':' if a number follows. Returns 0, or -1 for a bad range.
 */
struct file_range {
    char *name;        /* allocated */
    uint64_t from, to; /* `to` 0: to the end */
};
int opts_file_range(struct file_range *range, const char *arg);

/* Nothing but such a number. Returns 0 or -1. */
int opts_size(const char *arg, uint64_t *bytes);

#endif
