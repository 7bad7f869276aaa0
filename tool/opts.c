/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.c - see opts.h. */
#include "opts.h"

#include "out.h"
#include "plain.h"

#include <ctype.h>
#include <errno.h>
#include <pt/version.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAVE        1 /* exit status 0, plus 1 */
#define CANNOT_WRITE 2 /* exit status 1, plus 1 */
#define USAGE_FAILED 3 /* exit status 2, plus 1 */

void opts_say(const char *format, va_list ap)
{
    char text[8192];

    if (vsnprintf(text, sizeof(text), format, ap) < 0)
        return;
    plain_mask(text);
    fputs(text, stderr);
    fputc('\n', stderr);
}

void opts_error(const char *prog, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "%s: ", prog);
    va_start(ap, format);
    opts_say(format, ap);
    va_end(ap);
}

/* --- finding an option ---------------------------------------------------- */

/* Edit distance, for "did you mean": small strings only. Two letters that changed places are one
 * edit. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][64], la = (unsigned)strlen(a), lb = (unsigned)strlen(b);

    if (la >= 64 || lb >= 64)
        return 64;
    for (unsigned j = 0; j <= lb; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= la; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

        row[0] = i;
        for (unsigned j = 1; j <= lb; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (row[j] > above[j] + 1)
                row[j] = above[j] + 1;
            if (row[j] > row[j - 1] + 1)
                row[j] = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                row[j] > two[j - 2] + 1)
                row[j] = two[j - 2] + 1;
        }
    }
    return rows[la % 3][lb];
}

static const struct opt *nearest(const struct opt *table, const char *word, unsigned *best)
{
    const struct opt *near = NULL, *below;

    for (const struct opt *o = table; o->name; o++) {
        unsigned d = *o->name && !(o->flags & OPT_HIDDEN) ? distance(word, o->name) : 64;
        if (d < *best) {
            *best = d;
            near = o;
        }
        below = o->flags & OPT_SUB ? nearest(o->sub, word, best) : NULL;
        near = below ? below : near;
    }
    return near;
}

static void unknown_option(const struct opts *opts, const char *word)
{
    unsigned best = 4;
    const struct opt *near = nearest(opts->table, word, &best);

    opts_error(opts->prog, "unknown option: %s.", word);
    if (near)
        opts_error(opts->prog, "did you mean %s?", near->name);
}

/* The option that `word` names; *arg points behind '=' or the letter, or is NULL; *context
 * moves into the part that a shared table works on. */
static const struct opt *find(const struct opt *table, const char *word, const char **arg,
                              char **context)
{
    *arg = NULL;
    for (const struct opt *o = table; o->name; o++) {
        size_t n = strlen(o->name);
        if (o->flags & OPT_SUB) {
            char *inner = *context + o->value;
            const struct opt *found = find(o->sub, word, arg, &inner);
            if (found) {
                *context = inner;
                return found;
            }
        }
        if (!n)
            continue;
        if (!strncmp(word, o->name, n) && (!word[n] || (word[n] == '=' && o->arg))) {
            if (word[n])
                *arg = word + n + 1;
            return o;
        }
        if (!o->alias)
            continue;
        n = strlen(o->alias);
        if (!strcmp(word, o->alias))
            return o;
        if (o->arg && n == 2 && !strncmp(word, o->alias, n)) {
            *arg = word + n;
            return o;
        }
    }
    return NULL;
}

static int leave(const struct opts *opts, const struct opt *opt);

int opts_parse(const struct opts *opts, int argc, char **argv, int *rest)
{
    int i, status;

    for (i = 1; i < argc; i++) {
        const char *word = argv[i], *arg;
        char *context = opts->context;
        const struct opt *opt;

        if (!strcmp(word, "--") && opts->stop_at_word) {
            i++;
            break;
        }
        if (word[0] != '-' || !word[1] || word[1] == ':') { /* "-", "-:8-16": standard input */
            if (opts->stop_at_word)
                break;
            status = opts->word(opts->context, word);
            if (status)
                return status;
            continue;
        }
        opt = find(opts->table, word, &arg, &context);
        if (!opt) {
            unknown_option(opts, word);
            return USAGE_FAILED;
        }
        if (opt->arg && opt->arg[0] != '[' && !arg) {
            if (i + 1 >= argc || !strncmp(argv[i + 1], "--", 2)) {
                opts_error(opts->prog, "%s: missing argument.", word);
                return USAGE_FAILED;
            }
            arg = argv[++i];
        }
        if (opt->arg && opt->arg[0] != '[' && !*arg) {
            opts_error(opts->prog, "%s: missing argument.", opt->name);
            return USAGE_FAILED;
        }
        status = opt->apply ? opt->apply(context, opt, arg) : leave(opts, opt);
        if (status)
            return status;
    }
    *rest = i;
    return 0;
}

/* --- help ------------------------------------------------------------------ */

static void wrapped(const char *text, unsigned indent, unsigned width)
{
    unsigned column = indent;

    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + 1 + n > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)n, text);
        column += (unsigned)n;
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void help_rows(const struct opt *table)
{
    for (const struct opt *o = table; o->name; o++) {
        int n;
        if (o->flags & OPT_SUB)
            help_rows(o->sub);
        if (o->flags & (OPT_HIDDEN | OPT_SUB))
            continue;
        if (!*o->name) {
            printf("\n%s:\n", o->help);
            continue;
        }
        n = printf("  %s%s%s", o->alias ? o->alias : "", o->alias ? ", " : "", o->name);
        if (o->arg)
            n += printf("%s%s", o->arg[0] == '[' ? "=" : " ", o->arg);
        printf("%*s", n < 28 ? 30 - n : 2, "");
        if (n >= 28)
            printf("\n%30s", "");
        wrapped(o->help, 30, 100);
    }
}

void opts_help(const struct opts *opts)
{
    printf("usage: %s %s\n", opts->prog, opts->usage);
    if (opts->about) {
        putchar('\n');
        wrapped(opts->about, 0, 80);
    }
    help_rows(opts->table);
}

static void list_rows(const struct opt *table)
{
    for (const struct opt *o = table; o->name; o++) {
        if (o->flags & OPT_SUB)
            list_rows(o->sub);
        else if (!(o->flags & OPT_HIDDEN))
            printf("%s\t%s\t%s\t%s\n", o->name, o->alias ? o->alias : "", o->arg ? o->arg : "",
                   o->help);
    }
}

void opts_list(const struct opts *opts)
{
    list_rows(opts->table);
}

/* --help, --version, --list-options. */
static int leave(const struct opts *opts, const struct opt *opt)
{
    if (opt->value == OPTS_HELP)
        opts_help(opts);
    else if (opt->value == OPTS_LIST)
        opts_list(opts);
    else
        printf("%s %s\n", opts->name, ptl_version());
    if (!fflush(stdout))
        return LEAVE;
    opts_error(opts->prog, "cannot write: %s.", strerror(errno));
    return CANNOT_WRITE;
}

/* --- arguments -------------------------------------------------------------- */

int opts_scan(const char *text, uint64_t *value, const char **end)
{
    static const char units[] = "BKMGT";
    const char *unit;
    char *after;

    *end = text;
    if (!isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    *value = strtoull(text, &after, 0);
    *end = after;
    unit = *after ? strchr(units, toupper((unsigned char)*after)) : NULL;
    if (!unit || isalnum((unsigned char)after[1]))
        return errno ? -1 : 0;
    *end = after + 1;
    for (const char *u = units; u < unit; u++) {
        if (*value > UINT64_MAX >> 10)
            errno = ERANGE;
        *value <<= 10;
    }
    return errno ? -1 : 0;
}

int opts_number(const char *prog, const char *opt, const char *arg, uint64_t max, uint64_t *value)
{
    const char *end;
    int failed;

    if (!arg || !*arg || !strncmp(arg, "--", 2)) {
        opts_error(prog, "%s: missing argument.", opt);
        return USAGE_FAILED;
    }
    failed = opts_scan(arg, value, &end);
    if (*end || end == arg) {
        opts_error(prog, "%s: bad argument: %s.", opt, arg);
        return USAGE_FAILED;
    }
    if (failed || *value > max) {
        opts_error(prog, "%s: value too big: %s.", opt, arg);
        return USAGE_FAILED;
    }
    return 0;
}

int opts_positive(const char *prog, const char *opt, const char *arg, uint64_t max, uint64_t *value)
{
    int status = opts_number(prog, opt, arg, max, value);

    if (status || *value)
        return status;
    opts_error(prog, "%s: bad argument: %s.", opt, arg);
    return USAGE_FAILED;
}

int opts_file_range(struct file_range *range, const char *arg)
{
    const char *colon = strrchr(arg, ':'), *end;
    size_t n = strlen(arg);
    int failed;

    memset(range, 0, sizeof(*range));
    if (colon && isdigit((unsigned char)colon[1])) {
        failed = opts_scan(colon + 1, &range->from, &end);
        if (*end == '-' && isdigit((unsigned char)end[1])) {
            failed |= opts_scan(end + 1, &range->to, &end);
            if (range->to <= range->from)
                return -1;
        }
        if (failed)
            return -1;
        if (*end)
            range->from = range->to = 0; /* the colon belongs to the name */
        else
            n = (size_t)(colon - arg);
    }
    range->name = strndup(arg, n);
    return range->name ? 0 : -1;
}

int opts_size(const char *arg, uint64_t *bytes)
{
    const char *end;

    return opts_scan(arg, bytes, &end) || *end ? -1 : 0;
}
