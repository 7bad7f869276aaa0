/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events_table.c - events.def as a table, and the sets of instructions events bind to.
 */
#include "flow/step.h"

#define REPORT 1
#define SKIP   0

const struct ptl__event_row ptl__event_rows[PTL_EV_MAX_VALUE + 1] = {
#define EV(name, fup, alone, set, lost, leaves)                                                    \
    [PTL_EV_##name] = {PLACE_##fup, PLACE_##alone, CLASS_##set, lost, leaves},
#include "flow/events.def"
#undef EV
};

#define C(name) (1u << PTL_INSN_##name)
#define K(name) (1u << PTL_KIND_##name)

#define FAR (C(FAR_CALL) | C(FAR_RET) | C(FAR_JMP))

/* By class, or by the exact instruction. */
static const struct {
    uint32_t classes, kinds;
} sets[] = {
    [CLASS_NONE] = {0, 0},
    [CLASS_DISABLE] = {FAR | C(MOV_CR3) | C(JCC) | C(RET) | C(JMP_IND) | C(CALL_IND), 0},
    [CLASS_CR3] = {FAR | C(MOV_CR3), 0},
    [CLASS_VMCS] = {FAR, K(VMPTRLD)},
    [CLASS_PTWRITE] = {C(PTWRITE), 0},
    [CLASS_IRET] = {0, K(IRET) | K(SYSRET) | K(SYSEXIT) | K(ERET)},
    [CLASS_VMENTRY] = {0, K(VMLAUNCH) | K(VMRESUME)},
    [CLASS_UIRET] = {0, K(UIRET)},
    [CLASS_SYSCALL] = {0, K(SYSCALL) | K(SYSENTER)},
    [CLASS_FAR] = {FAR, 0},
};

int ptl__class_has(enum ptl__class set, uint8_t iclass, uint8_t kind)
{
    return (sets[set].classes >> iclass & 1) || (sets[set].kinds >> kind & 1);
}
