/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_event.h - the lines for the events and errors of a flow, e.g.
 * "[0000000000000047  enabled, ip: ffffffffc038103c]".
 */
#ifndef TOOL_TEXT_EVENT_H
#define TOOL_TEXT_EVENT_H

#include <pt/flow.h>

#define TEXT_EVENT_OFFSET  0x1u  /* begin with the trace offset */
#define TEXT_EVENT_TIME    0x2u  /* then the time, if known */
#define TEXT_EVENT_IP      0x4u  /* add the addresses */
#define TEXT_EVENT_CONTEXT 0x8u  /* PTL_EV_CONTEXT has a line */
#define TEXT_EVENT_SYNC    0x10u /* PTL_EV_SYNC, too */

#define TEXT_EVENT_MAX 256 /* bytes of the longest line */

/* Write the line of `event`, without newline and terminator, to `buf` (TEXT_EVENT_MAX
 * bytes). Returns its length; 0 for an event without a line: state read from PSB+,
 * synchronisation. */
size_t text_event(char *buf, const struct ptl_event *event, unsigned flags);

/* Does it have one? */
int text_event_shown(const struct ptl_event *event, unsigned flags);

/* The line of a decode error: "[OFFSET, IP: error: TEXT]". Same buffer. */
size_t text_error(char *buf, const struct ptl_error *error);

#endif
