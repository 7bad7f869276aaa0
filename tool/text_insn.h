/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_insn.h - instructions as text: the one place that knows the disassembler.
 *
 * Length and class of an instruction are libpt's (pt/insn.h); the disassembler only
 * gives words for it. Where it knows no word, or reads another length, the bytes are
 * shown with a note.
 */
#ifndef TOOL_TEXT_INSN_H
#define TOOL_TEXT_INSN_H

#include <pt/insn.h>

#define TEXT_INSN_MAX 320 /* bytes of the longest text */
#define TEXT_RAW_MAX  45  /* of 15 bytes as " xx" */

struct text_insn; /* a disassembler; one per thread */

/* `att`: AT&T syntax instead of Intel's. Returns 0 or PTL_NOMEM. */
int text_insn_new(struct text_insn **text, int att);
void text_insn_free(struct text_insn *text);
/* Before threads begin to use theirs: the disassembler sorts tables of its own when it is first
 * used, and threads must not do that at the same time. */
void text_insn_prepare(struct text_insn *text);

/* Write the text of the instruction at `ip`, e.g. "movsx ecx, byte ptr [rip + 0x1fcd]",
 * to `buf` (TEXT_INSN_MAX bytes, not terminated). Returns its length; 0 if the
 * disassembler does not know the instruction. */
size_t text_insn(struct text_insn *text, char *buf, const struct ptl_insn *insn,
                 const uint8_t *bytes, uint64_t ip);

/* " 0f 05": a blank and two digits a byte, padded with blanks to 15 bytes if `pad`.
 * Returns the length written to `buf` (TEXT_RAW_MAX bytes). */
size_t text_insn_raw(char *buf, const uint8_t *bytes, size_t size, int pad);

/* What the disassembler makes of the instruction, to compare with libpt's. */
struct text_insn_view {
    uint8_t known;  /* it decodes the bytes, and is to be trusted here */
    uint8_t size;   /* bytes */
    uint8_t iclass; /* enum ptl_insn_class */
};
void text_insn_look(struct text_insn *text, struct text_insn_view *view,
                    const struct ptl_insn *insn, const uint8_t *bytes, uint64_t ip);

/* "call", "ret.far", ...: a class by name. Static. */
const char *text_insn_class(uint8_t iclass);

#endif
