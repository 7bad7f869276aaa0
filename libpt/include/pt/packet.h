/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt/packet.h - Intel PT packets: wire format, both ways, and nothing else.
 *
 * Source: Intel SDM vol. 3, chapter "Intel Processor Trace", section "Trace
 * Packets and Data Types"; PEBS blocks: section "PEBS output to Intel PT".
 *
 * Pure functions over caller's memory: no allocation, no state, thread-safe.
 */
#ifndef PT_PACKET_H
#define PT_PACKET_H

#include <pt/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ptl_packet_type {
    PTL_PKT_INVALID, /* a packet to skip by size, see PTL_DECODE_SKZ84 */
    PTL_PKT_PAD,
    PTL_PKT_PSB,
    PTL_PKT_PSBEND,
    PTL_PKT_TNT8,
    PTL_PKT_TNT64,
    PTL_PKT_TIP,
    PTL_PKT_TIP_PGE,
    PTL_PKT_TIP_PGD,
    PTL_PKT_FUP,
    PTL_PKT_MODE_EXEC,
    PTL_PKT_MODE_TSX,
    PTL_PKT_PIP,
    PTL_PKT_VMCS,
    PTL_PKT_TSC,
    PTL_PKT_TMA,
    PTL_PKT_MTC,
    PTL_PKT_CYC,
    PTL_PKT_CBR,
    PTL_PKT_OVF,
    PTL_PKT_STOP, /* TraceStop */
    PTL_PKT_MNT,
    PTL_PKT_EXSTOP,
    PTL_PKT_MWAIT,
    PTL_PKT_PWRE,
    PTL_PKT_PWRX,
    PTL_PKT_PTW,
    PTL_PKT_CFE,
    PTL_PKT_EVD,
    PTL_PKT_BBP,
    PTL_PKT_BIP,
    PTL_PKT_BEP,
    PTL_PKT_TRIG,
    PTL_PKT_MAX_VALUE = PTL_PKT_TRIG
};

/* IPBytes of an IP packet: how its payload updates last-IP. */
enum ptl_ip_compression {
    PTL_IPC_SUPPRESSED = 0, /* no payload */
    PTL_IPC_UPDATE_16 = 1,
    PTL_IPC_UPDATE_32 = 2,
    PTL_IPC_SEXT_48 = 3,
    PTL_IPC_UPDATE_48 = 4,
    PTL_IPC_FULL = 6
};

/* CFE types (SDM "Control Flow Event packet"). */
enum ptl_cfe_type {
    PTL_CFE_INTR = 1,
    PTL_CFE_IRET = 2,
    PTL_CFE_SMI = 3,
    PTL_CFE_RSM = 4,
    PTL_CFE_SIPI = 5,
    PTL_CFE_INIT = 6,
    PTL_CFE_VMENTRY = 7,
    PTL_CFE_VMEXIT = 8,
    PTL_CFE_VMEXIT_INTR = 9,
    PTL_CFE_SHUTDOWN = 10,
    PTL_CFE_UINTR = 12,
    PTL_CFE_UIRET = 13,
    PTL_CFE_SWINTR = 14,
    PTL_CFE_SYSCALL = 15
};

/* EVD types (SDM "Event Data packet"). */
enum ptl_evd_type { PTL_EVD_CR2 = 0, PTL_EVD_VMXQ = 1, PTL_EVD_VMXR = 2 };

/* The longest packet in bytes (PSB). */
#define PTL_PACKET_MAX_SIZE 16

/* One packet. Which payload is valid follows from the type. Payload fields hold
 * the bytes as written on the wire, not updated addresses. */
struct ptl_packet {
    uint8_t type; /* enum ptl_packet_type */
    uint8_t size; /* bytes, 1..16 */
    union {
        /* TIP, TIP.PGE, TIP.PGD, FUP: the payload bytes, zero-extended
         * (PTL_IPC_SEXT_48: not yet sign-extended). */
        struct {
            uint64_t ip;
            uint8_t ipc; /* enum ptl_ip_compression */
        } ip;
        /* TNT-8, TNT-64: `count` results, 1..47; the oldest is bit count-1,
         * the youngest bit 0; 1 = taken. */
        struct {
            uint64_t bits;
            uint8_t count;
        } tnt;
        struct {
            uint8_t csl, csd, iflag; /* CS.L & LMA, CS.D, RFLAGS.IF (event trace) */
        } mode_exec;
        struct {
            uint8_t intx, abrt;
        } mode_tsx;
        struct {
            uint64_t cr3; /* CR3[51:5] in place */
            uint8_t nr;   /* VMX non-root */
        } pip;
        struct {
            uint64_t base; /* VMCS pointer[51:12] in place */
        } vmcs;
        struct {
            uint64_t tsc; /* TSC[55:0] */
        } tsc;
        struct {
            uint16_t ctc; /* crystal clock */
            uint16_t fc;  /* fast counter, 9 bits */
        } tma;
        struct {
            uint8_t ctc;
        } mtc;
        struct {
            uint64_t value; /* core clock cycles since the last CYC */
        } cyc;
        struct {
            uint8_t ratio; /* core:bus */
        } cbr;
        struct {
            uint64_t payload;
        } mnt;
        struct {
            uint8_t ip; /* a FUP follows */
        } exstop;
        struct {
            uint32_t hints, ext; /* EAX, ECX */
        } mwait;
        struct {
            uint8_t state, sub_state, hw; /* thread C-state, MWAIT encoding */
        } pwre;
        struct {
            uint8_t last, deepest;                /* core C-state, MWAIT encoding */
            uint8_t interrupt, store, autonomous; /* wake reason */
        } pwrx;
        struct {
            uint64_t payload;
            uint8_t plc; /* 0: 4 bytes, 1: 8 bytes */
            uint8_t ip;  /* a FUP follows */
        } ptw;
        struct {
            uint8_t type; /* enum ptl_cfe_type or unknown, 5 bits */
            uint8_t ip;   /* a FUP follows */
            uint8_t vector;
        } cfe;
        struct {
            uint64_t payload;
            uint8_t type; /* enum ptl_evd_type or unknown, 6 bits */
        } evd;
        struct {
            uint8_t type; /* 5 bits */
            uint8_t sz4;  /* items are 4 bytes (else 8) */
        } bbp;
        struct {
            uint64_t value;
            uint8_t id;  /* 5 bits */
            uint8_t sz4; /* the value has 4 bytes (else 8): the open block's SZ */
        } bip;
        struct {
            uint8_t ip; /* a FUP follows */
        } bep;
        struct {
            uint8_t vector; /* trigger bits */
            uint8_t ip;     /* a FUP follows */
            uint8_t mult;
            uint8_t icntv; /* icnt is valid */
            uint16_t icnt; /* instructions since the anchor */
        } trig;
    } payload;
};

/* Decode flags. */
#define PTL_DECODE_BLOCK4 0x1u /* inside a PEBS block of 4-byte items */
#define PTL_DECODE_BLOCK8 0x2u /* inside a PEBS block of 8-byte items */
#define PTL_DECODE_SKZ84                                                                           \
    0x4u /* erratum SKZ84: see facts; TMA with reserved bits is INVALID, 8 bytes */
#define PTL_DECODE_SKD007 0x8u /* erratum SKD007: OVF may cut a CYC; reported as OVF of 3 bytes */

/* Decode the packet at `buf`, reading at most `len` bytes.
 * Returns the packet's size; or
 *   PTL_EOS         len is 0, or the packet is cut by the end
 *   PTL_BAD_OPC     unknown opcode
 *   PTL_BAD_PACKET  reserved or impossible payload
 * and no other error. On error *packet is undefined. */
PTL_API int ptl_packet_decode(struct ptl_packet *packet, const uint8_t *buf, size_t len,
                              uint32_t flags) PTL_MUST_CHECK;

/* The decode flags for the packet after `packet`: enters and leaves PEBS blocks
 * (BBP, BIP, BEP), keeps the errata flags. */
PTL_API uint32_t ptl_packet_next_flags(const struct ptl_packet *packet, uint32_t flags);

/* Write `packet` (type and payload; its size field is ignored) to `buf`.
 * Returns the number of bytes written; PTL_EOS if `len` is too small;
 * PTL_BAD_PACKET if a payload does not fit its field; PTL_BAD_OPC for a type
 * that cannot be written. */
PTL_API int ptl_packet_encode(uint8_t *buf, size_t len,
                              const struct ptl_packet *packet) PTL_MUST_CHECK;

/* "psb", "tip.pge", ...: the name ptdump prints. Static; "<invalid>" for others. */
PTL_API const char *ptl_packet_name(enum ptl_packet_type type);

/* The offset of the first whole PSB that begins at or after `from` in `buf`
 * (in a run of PSB bytes longer than one PSB: the last 16 bytes of the run).
 * Returns `len` if there is none. */
PTL_API size_t ptl_psb_find(const uint8_t *buf, size_t len, size_t from);

/* The offset of the last whole PSB that begins before `before`; SIZE_MAX if none. */
PTL_API size_t ptl_psb_find_last(const uint8_t *buf, size_t len, size_t before);

/* Last-IP: the state that IP compression works on (SDM "IP Compression").
 * All-zero is the state after PSB. */
struct ptl_last_ip {
    uint64_t ip;
    uint8_t have_ip;    /* some IP packet has set it */
    uint8_t suppressed; /* the last IP packet had no IP; `ip` is still the older one */
};

/* Apply an IP packet's payload. Returns 0, or PTL_BAD_PACKET for reserved IPBytes. */
PTL_API int ptl_last_ip_update(struct ptl_last_ip *last, uint8_t ipc, uint64_t payload);

/* The shortest compression that turns `last` into `ip`, and the payload for it.
 * (What hardware does: 16, 32, 48-bit update, sign-extended 48, full; no update behind a PSB.) */
PTL_API enum ptl_ip_compression ptl_last_ip_compress(const struct ptl_last_ip *last, uint64_t ip,
                                                     uint64_t *payload);

#ifdef __cplusplus
}
#endif

#endif
