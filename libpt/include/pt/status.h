/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/status.h - what a libpt function returns.
 *
 * Every function that can fail returns 0 or a positive count, or a negative
 * `enum ptl_status`. The first 28 values, in this order, and their texts are
 * those that users of processor trace tools know; scripts match on the texts.
 */
#ifndef PT_STATUS_H
#define PT_STATUS_H

#if defined(__GNUC__)
#define PTL_MUST_CHECK __attribute__((warn_unused_result))
#define PTL_API        __attribute__((visibility("default")))
#else
#define PTL_MUST_CHECK
#define PTL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* XX(name, magnitude, text): the value is minus the magnitude. */
#define PTL_STATUS_MAP(XX)                                                                         \
    XX(OK, 0, "OK")                                                                                \
    XX(INTERNAL, 1, "internal error")                                                              \
    XX(INVALID, 2, "invalid argument")                                                             \
    XX(NOSYNC, 3, "decoder out of sync")                                                           \
    XX(BAD_OPC, 4, "unknown opcode")                                                               \
    XX(BAD_PACKET, 5, "unknown packet")                                                            \
    XX(BAD_CONTEXT, 6, "unexpected packet context")                                                \
    XX(EOS, 7, "reached end of trace stream")                                                      \
    XX(BAD_QUERY, 8, "trace stream does not match query")                                          \
    XX(NOMEM, 9, "out of memory")                                                                  \
    XX(BAD_CONFIG, 10, "bad configuration")                                                        \
    XX(NOIP, 11, "no ip")                                                                          \
    XX(IP_SUPPRESSED, 12, "ip has been suppressed")                                                \
    XX(NOMAP, 13, "no memory mapped at this address")                                              \
    XX(BAD_INSN, 14, "unknown instruction")                                                        \
    XX(NO_TIME, 15, "no timing information")                                                       \
    XX(NO_CBR, 16, "no core:bus ratio")                                                            \
    XX(BAD_IMAGE, 17, "bad image")                                                                 \
    XX(BAD_LOCK, 18, "locking error")                                                              \
    XX(NOT_SUPPORTED, 19, "not supported")                                                         \
    XX(RETSTACK_EMPTY, 20, "compressed return without call")                                       \
    XX(BAD_RETCOMP, 21, "bad compressed return")                                                   \
    XX(BAD_STATUS_UPDATE, 22, "bad status update")                                                 \
    XX(NO_ENABLE, 23, "expected tracing enabled event")                                            \
    XX(EVENT_IGNORED, 24, "event ignored")                                                         \
    XX(OVERFLOW, 25, "overflow")                                                                   \
    XX(BAD_FILE, 26, "bad file")                                                                   \
    XX(BAD_CPU, 27, "unknown cpu")                                                                 \
    XX(LOOP, 28, "loop without trace")                                                             \
    XX(TRUNCATED, 29, "truncated")                                                                 \
    XX(IO, 30, "input/output error")                                                               \
    XX(LOST, 31, "trace data lost")

enum ptl_status {
#define XX(name, magnitude, text) PTL_##name = -(magnitude),
    PTL_STATUS_MAP(XX)
#undef XX
};

/* The text for a status (negative, or its magnitude). Never NULL; static. */
PTL_API const char *ptl_strstatus(int status);

#ifdef __cplusplus
}
#endif

#endif
