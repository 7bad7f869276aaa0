/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.c - see opts.h. */
#include "opts.h"

#include "out.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE_FAILED 3 /* exit status 2, plus 1 */

void opts_error(const char *prog, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "%s: ", prog);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* --- finding an option ---------------------------------------------------- */

/* Edit distance, for "did you mean": small strings only. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64], la = (unsigned)strlen(a), lb = (unsigned)strlen(b);

    if (la >= 64 || lb >= 64)
        return 64;
    for (unsigned j = 0; j <= lb; j++)
        row[j] = j;
    for (unsigned i = 1; i <= la; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= lb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
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
        if (word[0] != '-' || !word[1]) {
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
        status = opt->apply(context, opt, arg);
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

/* --- arguments -------------------------------------------------------------- */

int opts_number(const char *prog, const char *opt, const char *arg, uint64_t max, uint64_t *value)
{
    char *end;

    if (!arg || !*arg || !strncmp(arg, "--", 2)) {
        opts_error(prog, "%s: missing argument.", opt);
        return USAGE_FAILED;
    }
    errno = 0;
    *value = strtoull(arg, &end, 0);
    if (*end || end == arg || arg[0] == '-' || isspace((unsigned char)arg[0])) {
        opts_error(prog, "%s: bad argument: %s.", opt, arg);
        return USAGE_FAILED;
    }
    if (errno || *value > max) {
        opts_error(prog, "%s: value too big: %s.", opt, arg);
        return USAGE_FAILED;
    }
    return 0;
}

int opts_file_range(struct file_range *range, const char *arg)
{
    const char *colon = strrchr(arg, ':');
    size_t n = strlen(arg);
    char *end;

    memset(range, 0, sizeof(*range));
    if (colon && isdigit((unsigned char)colon[1])) {
        errno = 0;
        range->from = strtoull(colon + 1, &end, 0);
        if (*end == '-' && isdigit((unsigned char)end[1])) {
            range->to = strtoull(end + 1, &end, 0);
            if (range->to <= range->from)
                return -1;
        }
        if (errno)
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
    static const char units[] = "BKMGT";
    const char *unit;
    char *end;

    errno = 0;
    *bytes = strtoull(arg, &end, 0);
    if (errno || end == arg || !isdigit((unsigned char)arg[0]))
        return -1;
    if (!*end)
        return 0;
    unit = strchr(units, toupper((unsigned char)*end));
    if (!unit || end[1])
        return -1;
    for (const char *u = units; u < unit; u++) {
        if (*bytes > UINT64_MAX >> 10)
            return -1;
        *bytes <<= 10;
    }
    return 0;
}
