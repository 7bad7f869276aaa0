/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain.h - names from files, for terminals: without control characters, which may be escape
 * sequences or end a line.
 */
#ifndef TOOL_PLAIN_H
#define TOOL_PLAIN_H

/* The bytes of the control character at `p` (C0, DEL, and C1 in UTF-8); 0: it is none. */
static inline int plain_control(const char *p)
{
    unsigned char c = (unsigned char)p[0], next = (unsigned char)(c ? p[1] : 0);

    if ((c && c < ' ') || c == 0x7f)
        return 1;
    return c == 0xc2 && next >= 0x80 && next < 0xa0 ? 2 : 0;
}

/* Question marks in their place. */
static inline void plain_mask(char *text)
{
    for (int n; *text; text++)
        if ((n = plain_control(text)) > 0) {
            text[n - 1] = '?';
            text[0] = '?';
        }
}

#endif
