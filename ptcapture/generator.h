/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generator.h - from "this instruction executed, that one is next" to the packets that a PT
 * core would have written for one thread, user code only.
 *
 * Source: Intel SDM vol. 3, "Intel Processor Trace", sections "Packet Generation Scenarios",
 * "Trace Packets and Data Types", "IP Compression", "Indirect Transfer Compression for
 * Returns (RET)".
 *
 * Pure: writes to the caller's memory, does not allocate, knows no process. The caller keeps
 * GEN_ROOM bytes free before each call and takes the bytes away when it likes: packets are
 * always whole.
 */
#ifndef PTCAPTURE_GENERATOR_H
#define PTCAPTURE_GENERATOR_H

#include <pt/insn.h>
#include <pt/packet.h>

struct gen_config {
    uint32_t tsc_ratio, art_ratio; /* TSC ticks per crystal tick = tsc_ratio / art_ratio */
    uint8_t tsc, mtc, cyc, noretcomp, branch, ptw; /* what is on */
    uint8_t mtc_period;                            /* an MTC every 2^n crystal ticks */
    uint8_t psb_period;                            /* a PSB every 2^(n+11) bytes */
    uint8_t cyc_thresh; /* 0: a CYC with every packet, n: at least 2^(n-1) cycles apart */
    uint8_t cbr;        /* core:bus ratio; a core cycle is a TSC tick */
};

#define GEN_STACK 64   /* calls that a core remembers for RET compression */
#define GEN_ROOM  256u /* one call writes no more bytes */

struct generator {
    struct gen_config config;
    uint8_t *buf;
    size_t len, cap;
    uint64_t bytes; /* written in all */

    struct ptl_last_ip last;
    uint64_t ip;       /* enabled: the next instruction */
    uint64_t tnt_bits; /* not yet written, the youngest in bit 0 */
    uint64_t psb_at;   /* value of `bytes` at which a PSB is due */
    uint64_t mtc;      /* periods of the last MTC or TMA */
    uint64_t cyc_tsc;  /* TSC up to which CYCs have counted */
    uint64_t stack[GEN_STACK];
    uint8_t depth, top; /* used entries; next free one */
    uint8_t tnt_count;
    uint8_t enabled;   /* PacketEn */
    uint8_t started;   /* there has been a PSB */
    uint8_t mode;      /* enum ptl_exec_mode of the next instruction */
    uint8_t told_mode; /* what the last MODE.Exec said; PTL_MODE_UNKNOWN: none since the PSB+ */
};

void gen_init(struct generator *gen, const struct gen_config *config, uint8_t *buf, size_t cap);

/* User code begins, or goes on, at `ip`: TIP.PGE. */
void gen_enable(struct generator *gen, uint64_t ip, enum ptl_exec_mode mode, uint64_t tsc);

/* The instruction at `ip` has executed and user code goes on at `next` in `next_mode`. */
void gen_insn(struct generator *gen, const struct ptl_insn *insn, uint64_t ip, uint64_t next,
              enum ptl_exec_mode next_mode, uint64_t tsc);

/* The last instruction has left user code by itself (SYSCALL, INT n): TIP.PGD. */
void gen_far_leave(struct generator *gen, uint64_t tsc);

/* User code was interrupted before the instruction at `from`, by a fault of it or by
 * something else: FUP, TIP.PGD. */
void gen_interrupt(struct generator *gen, uint64_t from, uint64_t tsc);

/* As gen_insn(), but `next` is outside of what is traced (IP filtering): TIP.PGD. `stop`: inside of
 * a TraceStop range. */
void gen_insn_out(struct generator *gen, const struct ptl_insn *insn, uint64_t ip, uint64_t next,
                  enum ptl_exec_mode next_mode, int stop, uint64_t tsc);

/* A PTWRITE is about to be given to gen_insn(). */
void gen_ptwrite(struct generator *gen, uint64_t value, int eight_bytes, uint64_t tsc);

/* The exact time: TSC (and TMA). */
void gen_time(struct generator *gen, uint64_t tsc);

/* A reader may begin with what comes next: a PSB+ goes first. */
void gen_restart(struct generator *gen);

/* What follows is another thread's: no return is compressed with a call made so far. */
void gen_forget_calls(struct generator *gen);

/* Write the TNT bits kept back, and PADs up to a multiple of 8 bytes. */
void gen_flush(struct generator *gen, uint64_t tsc);

#endif
