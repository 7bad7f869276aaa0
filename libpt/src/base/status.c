/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - texts of enum ptl_status, and the version. */
#include <pt/status.h>
#include <pt/version.h>

#define STR_(x) #x
#define STR(x)  STR_(x)

const char *ptl_strstatus(int status)
{
    switch (status < 0 ? status : -status) {
#define XX(name, magnitude, text)                                                                  \
    case PTL_##name:                                                                               \
        return text;
        PTL_STATUS_MAP(XX)
#undef XX
    default:
        return "unknown status";
    }
}

const char *ptl_version(void)
{
    return STR(PTL_VERSION_MAJOR) "." STR(PTL_VERSION_MINOR) "." STR(PTL_VERSION_PATCH);
}
