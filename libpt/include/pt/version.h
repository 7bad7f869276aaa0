/* SPDX-License-Identifier: BSD-3-Clause */
/* pt/version.h - the version this header belongs to, and the library's own. */
#ifndef PT_VERSION_H
#define PT_VERSION_H

#include <pt/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_VERSION_MAJOR 0
#define PTL_VERSION_MINOR 1
#define PTL_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" of the library that is linked. Static. */
PTL_API const char *ptl_version(void);

#ifdef __cplusplus
}
#endif

#endif
