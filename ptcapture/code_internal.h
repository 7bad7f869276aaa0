/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code_internal.h - between code.c and code_store.c.
 */
#ifndef PTCAPTURE_CODE_INTERNAL_H
#define PTCAPTURE_CODE_INTERNAL_H

#include "code.h"

/* Append; *offset says where. Returns 0 or -1. */
int code_store_add(struct code_store *store, enum code_file file, const uint8_t *bytes, size_t len,
                   uint64_t *offset);

#endif
