/* SPDX-License-Identifier: BSD-3-Clause */
/* terms.c - see terms.h. */
#include "terms.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terms whose values a capability restricts: a set of allowed values, only with `enable`.
 * (SDM vol. 3, "Intel Processor Trace", section "Enumeration of capabilities".) */
static const struct {
    const char *term, *values, *needs;
} limits[] = {
    {"mtc_period", "mtc_periods", "mtc"},
    {"cyc_thresh", "cycle_thresholds", "psb_cyc"},
    {"psb_period", "psb_periods", "psb_cyc"},
};

/* Terms that need a capability, or another term. */
static const struct {
    const char *term, *cap, *term_too;
} needs[] = {
    {"mtc", "mtc", NULL},
    {"cyc", "psb_cyc", NULL},
    {"ptw", "ptwrite", NULL},
    {"fup_on_ptw", "ptwrite", "ptw"},
    {"pwr_evt", "power_event_trace", NULL},
    {"event", "event_trace", NULL},
    {"notnt", "tnt_disable", NULL},
};

/* perf's default configuration. */
static const struct {
    const char *term;
    uint64_t value;
} defaults[] = {{"tsc", 1}, {"mtc", 1}, {"pt", 1}, {"branch", 1}};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* --- what is allowed -------------------------------------------------------------- */

static uint64_t field_max(const struct pmu_format *format)
{
    return UINT64_MAX >> (63 - (format->high - format->low));
}

/* The allowed values of a term as a bit set, or 0 if nothing restricts it. */
static uint64_t allowed_values(const struct pmu *pmu, const char *term)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        if (!strcmp(limits[i].term, term)) /* 0 is always allowed */
            return pmu_cap(pmu, limits[i].needs) ? pmu_cap(pmu, limits[i].values) | 1 : 1;
    }
    return 0;
}

void terms_list_values(uint64_t mask, char *text, size_t size)
{
    size_t n = 0;

    *text = '\0';
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned first = bit;

        if (!(mask >> bit & 1))
            continue;
        while (bit < 63 && (mask >> (bit + 1) & 1))
            bit++;
        n += (size_t)snprintf(text + n, size - n, first == bit ? "%s%u" : "%s%u-%u", n ? "," : "",
                              first, bit);
        if (n >= size)
            return;
    }
}

void terms_list(const struct pmu *pmu, char *text, size_t size)
{
    size_t n = 0;

    *text = '\0';
    for (size_t i = 0; i < pmu->formats && n < size; i++) {
        const struct pmu_format *format = &pmu->format[i];
        uint64_t values = allowed_values(pmu, format->name);
        char list[128] = "";

        if (values)
            terms_list_values(values, list, sizeof(list));
        else if (format->high > format->low)
            snprintf(list, sizeof(list), "0-%llu", (unsigned long long)field_max(format));
        n += (size_t)snprintf(text + n, size - n, "%s%s%s%s", n ? "," : "", format->name,
                              *list ? "=" : "", list);
    }
}

/* --- setting ------------------------------------------------------------------------ */

static void set_field(struct pt_event *event, const struct pmu_format *format, uint64_t value)
{
    uint64_t mask = field_max(format) << format->low;

    event->config[format->word] = (event->config[format->word] & ~mask) | value << format->low;
}

static void set_default(struct pt_event *event, const struct pmu *pmu, const char *term,
                        uint64_t value)
{
    const struct pmu_format *format = pmu_format(pmu, term);
    uint64_t values = allowed_values(pmu, term);

    if (!format)
        return;
    while (values && value && !(values >> value & 1))
        value--;
    if (!strcmp(term, "mtc") && !pmu_cap(pmu, "mtc"))
        value = 0;
    set_field(event, format, value);
}

static int unknown_term(const struct pmu *pmu, const char *name, char *error, size_t size)
{
    char valid[768];

    terms_list(pmu, valid, sizeof(valid));
    snprintf(error, size,
             "unknown term '%s' for pmu '%s'; valid terms: %s,config,config1,config2,name", name,
             pmu->name, valid);
    return -1;
}

static int bad_value(const struct pmu *pmu, const char *name, uint64_t values, char *error,
                     size_t size)
{
    char valid[128];

    terms_list_values(values, valid, sizeof(valid));
    snprintf(error, size, "Invalid %s for %s. Valid values are: %s", name, pmu->name, valid);
    return -1;
}

static int set_pmu_term(struct pt_event *event, const struct pmu *pmu, const char *name,
                        uint64_t value, char *error, size_t size)
{
    const struct pmu_format *format = pmu_format(pmu, name);
    uint64_t values;

    if (!format)
        return unknown_term(pmu, name, error, size);
    values = allowed_values(pmu, name);
    if (values && (value > 63 || !(values >> value & 1)))
        return bad_value(pmu, name, values, error, size);
    if (value > field_max(format)) {
        snprintf(error, size, "value too big for term '%s', maximum is %llu", name,
                 (unsigned long long)field_max(format));
        return -1;
    }
    set_field(event, format, value);
    return 0;
}

static int parse_value(const char *name, const char *text, uint64_t *value, char *error,
                       size_t size)
{
    char *end;

    errno = 0;
    *value = text ? strtoull(text, &end, 0) : 1;
    if (text && (*end || end == text || !isdigit((unsigned char)*text) || errno)) {
        snprintf(error, size, "bad value for term '%s': '%s'", name, text);
        return -1;
    }
    return 0;
}

static int set_term(struct pt_event *event, const struct pmu *pmu, char *term, char *error,
                    size_t size)
{
    static const char *const words[] = {"config", "config1", "config2"};
    char *value_text = strchr(term, '=');
    uint64_t value;

    if (value_text)
        *value_text++ = '\0';
    if (!strcmp(term, "name") && value_text) {
        snprintf(event->name, sizeof(event->name), "%s", value_text);
        return 0;
    }
    if (parse_value(term, value_text, &value, error, size))
        return -1;
    for (size_t i = 0; i < COUNT(words); i++) {
        if (!strcmp(term, words[i])) {
            event->config[i] = value;
            return 0;
        }
    }
    if (!strcmp(term, "aux-sample-size")) {
        event->aux_sample_size = value;
        return 0;
    }
    return set_pmu_term(event, pmu, term, value, error, size);
}

/* --- the whole event ------------------------------------------------------------------ */

static int set_modifiers(struct pt_event *event, const char *text, char *error, size_t size)
{
    if (!*text)
        return 0;
    event->user = event->kernel = 0;
    for (; *text; text++) {
        if (*text == 'u') {
            event->user = 1;
        } else if (*text == 'k') {
            event->kernel = event->kernel_given = 1;
        } else {
            snprintf(error, size, "unknown modifier '%c': valid modifiers are u and k", *text);
            return -1;
        }
    }
    return 0;
}

static int check_needs(const struct pt_event *event, const struct pmu *pmu, char *error,
                       size_t size)
{
    for (size_t i = 0; i < COUNT(needs); i++) {
        if (!pmu_value(pmu, needs[i].term, event->config[0]))
            continue;
        if (!pmu_cap(pmu, needs[i].cap)) {
            snprintf(error, size, "%s cannot trace '%s' on this machine (no %s)", pmu->name,
                     needs[i].term, needs[i].cap);
            return -1;
        }
        if (needs[i].term_too && !pmu_value(pmu, needs[i].term_too, event->config[0])) {
            snprintf(error, size, "term '%s' needs term '%s'", needs[i].term, needs[i].term_too);
            return -1;
        }
    }
    return 0;
}

int terms_is_pt(const struct pmu *pmu, const char *text)
{
    size_t n = strlen(pmu->name);

    return !strncmp(text, pmu->name, n) && (text[n] == '/' || text[n] == '\0' || text[n] == ':');
}

static int parse_terms(struct pt_event *event, const struct pmu *pmu, const char *text, char *error,
                       size_t size)
{
    char copy[512], *terms, *end, *save, *term;

    if (snprintf(copy, sizeof(copy), "%s", text + strlen(pmu->name)) >= (int)sizeof(copy)) {
        snprintf(error, size, "event too long");
        return -1;
    }
    if (!*copy)
        return 0;
    if (*copy == ':')
        return set_modifiers(event, copy + 1, error, size);
    terms = copy + 1;
    end = strchr(terms, '/');
    if (!end) {
        snprintf(error, size, "the terms of '%s' do not end in '/'", text);
        return -1;
    }
    *end = '\0';
    for (term = strtok_r(terms, ",", &save); term; term = strtok_r(NULL, ",", &save)) {
        if (set_term(event, pmu, term, error, size))
            return -1;
    }
    return set_modifiers(event, end + 1, error, size);
}

int terms_parse(struct pt_event *event, const struct pmu *pmu, const char *text, char *error,
                size_t size)
{
    memset(event, 0, sizeof(*event));
    event->user = event->kernel = 1;
    for (size_t i = 0; i < COUNT(defaults); i++)
        set_default(event, pmu, defaults[i].term, defaults[i].value);
    set_default(event, pmu, "mtc_period", pmu->mtc_period);
    set_default(event, pmu, "psb_period", pmu->psb_period);
    snprintf(event->name, sizeof(event->name), "%s", text ? text : "intel_pt//");
    if (text && !terms_is_pt(pmu, text)) {
        snprintf(error, size, "'%s' is not an event of %s", text, pmu->name);
        return -1;
    }
    if (text && parse_terms(event, pmu, text, error, size))
        return -1;
    return check_needs(event, pmu, error, size);
}
