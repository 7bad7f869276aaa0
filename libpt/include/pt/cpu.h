/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/cpu.h - the processor that wrote a trace, and its PT errata.
 *
 * Source: Intel specification updates, see doc/internals/errata.md.
 */
#ifndef PT_CPU_H
#define PT_CPU_H

#include <pt/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_cpu {
    uint16_t family; /* as CPUID displays it, e.g. 6 */
    uint8_t model;   /* e.g. 0x55 */
    uint8_t stepping;
};

/* Erratum bits. Each names the defect in the trace and is handled in one place. */
#define PTL_ERR_BDM70        0x0001u /* PSB+ with FUP although tracing is off */
#define PTL_ERR_BDM64        0x0002u /* wrong branch before a TSX abort */
#define PTL_ERR_SKD007       0x0004u /* OVF cuts a CYC */
#define PTL_ERR_SKD022       0x0008u /* FUP before the TIP.PGD of a VM entry */
#define PTL_ERR_SKD010       0x0010u /* FUP/TIP.PGE after OVF missing */
#define PTL_ERR_SKL014       0x0020u /* TIP.PGD of a direct branch leaving the filter lacks its IP */
#define PTL_ERR_SKL168       0x0040u /* CYC before PSB dropped */
#define PTL_ERR_SKZ84        0x0080u /* corrupt TMA in a guest */
#define PTL_ERR_APL11        0x0100u /* OVF followed by TIP.PGD */
#define PTL_ERR_APL12        0x0200u /* OVF followed by FUP though tracing is off */
#define PTL_ERR_APL_FUP_NLIP 0x0400u /* FUP after an indirect branch: next linear IP */

/* The errata of a processor. Returns 0, or PTL_BAD_CPU with *errata = 0 if it is
 * not one of the known ones (decoding then goes on without workarounds). */
PTL_API int ptl_cpu_errata(const struct ptl_cpu *cpu, uint32_t *errata);

/* Parse "family/model[/stepping]" (decimal, 0x.., 0..). Returns 0 or PTL_INVALID. */
PTL_API int ptl_cpu_parse(struct ptl_cpu *cpu, const char *text);

#ifdef __cplusplus
}
#endif

#endif
