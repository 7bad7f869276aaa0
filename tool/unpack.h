/* SPDX-License-Identifier: BSD-3-Clause */
/* unpack.h - what libpt needs for compressed kernel modules: .zst, and .xz and .gz if liblzma and
 * zlib were there when this was built. */
#ifndef TOOL_UNPACK_H
#define TOOL_UNPACK_H

#include <pt/session.h>

extern const struct ptl_unpack file_unpackers[];

#endif
