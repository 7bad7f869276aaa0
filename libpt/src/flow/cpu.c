/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.c - which processors have which trace errata.
 *
 * Source: Intel specification updates; what each erratum does to the trace and what is done
 * about it: doc/internals/errata.md. A part inherits the name of the update in which the
 * defect was first described (BDM: Broadwell, SKD/SKL: Skylake, SKZ: Xeon Scalable,
 * APL: Apollo Lake).
 */
#include <pt/cpu.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define BDM70        PTL_ERR_BDM70
#define BDM64        PTL_ERR_BDM64
#define SKD007       PTL_ERR_SKD007
#define SKD022       PTL_ERR_SKD022
#define SKD010       PTL_ERR_SKD010
#define SKL014       PTL_ERR_SKL014
#define SKL168       PTL_ERR_SKL168
#define SKZ84        PTL_ERR_SKZ84
#define APL11        PTL_ERR_APL11
#define APL12        PTL_ERR_APL12
#define APL_FUP_NLIP PTL_ERR_APL_FUP_NLIP

/* Sets of errata that several parts share. */
#define BROADWELL (BDM70 | BDM64)
#define SKYLAKE   (BDM70 | SKD007 | SKD022 | SKD010 | SKL014 | SKL168)
#define SERVER    (BDM70 | SKL014 | SKD022 | SKZ84)
#define SAPPHIRE  (BDM70 | SKD022 | SKZ84)
#define ICELAKE   (BDM70 | SKL014 | SKD022)
#define HYBRID    (BDM70 | SKD022 | APL11)
#define ATOM      (APL11)

static const struct {
    uint16_t family;
    uint8_t model;
    uint32_t errata;
} rows[] = {
    {6, 0x3d, BROADWELL},                    /* Broadwell */
    {6, 0x47, BROADWELL},                    /* Broadwell H */
    {6, 0x4f, BROADWELL},                    /* Broadwell X */
    {6, 0x56, BROADWELL},                    /* Broadwell D */
    {6, 0x4e, SKYLAKE},                      /* Skylake mobile */
    {6, 0x5e, SKYLAKE},                      /* Skylake desktop */
    {6, 0x8e, SKYLAKE},                      /* Kaby Lake mobile */
    {6, 0x9e, SKYLAKE},                      /* Kaby Lake, Coffee Lake desktop */
    {6, 0xa5, SKYLAKE},                      /* Comet Lake */
    {6, 0xa6, SKYLAKE},                      /* Comet Lake mobile */
    {6, 0x55, SERVER},                       /* Skylake, Cascade, Cooper Lake server */
    {6, 0x6a, SERVER},                       /* Ice Lake X */
    {6, 0x6c, SERVER},                       /* Ice Lake D */
    {6, 0x8f, SAPPHIRE},                     /* Sapphire Rapids */
    {6, 0xcf, SAPPHIRE},                     /* Emerald Rapids */
    {6, 0xad, SAPPHIRE},                     /* Granite Rapids X */
    {6, 0xae, SAPPHIRE},                     /* Granite Rapids D */
    {19, 0x01, SAPPHIRE},                    /* Diamond Rapids */
    {6, 0x66, ICELAKE},                      /* Cannon Lake */
    {6, 0x7d, ICELAKE},                      /* Ice Lake */
    {6, 0x7e, ICELAKE},                      /* Ice Lake mobile */
    {6, 0x8c, ICELAKE},                      /* Tiger Lake mobile */
    {6, 0x8d, ICELAKE},                      /* Tiger Lake */
    {6, 0xa7, ICELAKE},                      /* Rocket Lake */
    {6, 0xa8, ICELAKE},                      /* Rocket Lake */
    {6, 0x97, HYBRID},                       /* Alder Lake */
    {6, 0x9a, HYBRID},                       /* Alder Lake mobile */
    {6, 0xba, HYBRID},                       /* Raptor Lake P */
    {6, 0xb7, HYBRID},                       /* Raptor Lake */
    {6, 0xbf, HYBRID},                       /* Raptor Lake S */
    {6, 0xc5, HYBRID},                       /* Arrow Lake H */
    {6, 0xc6, HYBRID},                       /* Arrow Lake */
    {6, 0xb5, HYBRID},                       /* Arrow Lake U */
    {6, 0xaa, HYBRID},                       /* Meteor Lake mobile */
    {6, 0xac, HYBRID},                       /* Meteor Lake */
    {6, 0xbd, HYBRID},                       /* Lunar Lake */
    {6, 0xcc, HYBRID},                       /* Panther Lake */
    {6, 0xd5, HYBRID},                       /* Wildcat Lake */
    {18, 0x01, HYBRID},                      /* Nova Lake */
    {18, 0x03, HYBRID},                      /* Nova Lake mobile */
    {6, 0x5c, APL12 | APL11 | APL_FUP_NLIP}, /* Apollo Lake */
    {6, 0x5f, APL12 | APL11},                /* Denverton */
    {6, 0x7a, ATOM},                         /* Gemini Lake */
    {6, 0x86, ATOM},                         /* Tremont D */
    {6, 0x96, ATOM},                         /* Elkhart Lake */
    {6, 0x9c, ATOM},                         /* Jasper Lake */
    {6, 0xb6, ATOM},                         /* Grand Ridge */
    {6, 0xaf, ATOM},                         /* Sierra Forest */
    {6, 0xdd, ATOM},                         /* Clearwater Forest */
};

int ptl_cpu_errata(const struct ptl_cpu *cpu, uint32_t *errata)
{
    *errata = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].family == cpu->family && rows[i].model == cpu->model) {
            *errata = rows[i].errata;
            return 0;
        }
    }
    return PTL_BAD_CPU;
}

/* A number up to `max` at *text, which moves behind it. */
static int number(const char **text, unsigned long max, unsigned long *value)
{
    char *end;

    if (**text < '0' || **text > '9')
        return PTL_INVALID;
    errno = 0;
    *value = strtoul(*text, &end, 0);
    *text = end;
    return errno || *value > max ? PTL_INVALID : 0;
}

int ptl_cpu_parse(struct ptl_cpu *cpu, const char *text)
{
    unsigned long family, model, stepping = 0;

    if (number(&text, UINT16_MAX, &family) || *text++ != '/' || number(&text, UINT8_MAX, &model))
        return PTL_INVALID;
    if (*text == '/') {
        text++;
        if (number(&text, UINT8_MAX, &stepping))
            return PTL_INVALID;
    }
    if (*text)
        return PTL_INVALID;
    cpu->family = (uint16_t)family;
    cpu->model = (uint8_t)model;
    cpu->stepping = (uint8_t)stepping;
    return 0;
}
