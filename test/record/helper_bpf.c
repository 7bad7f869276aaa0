/* SPDX-License-Identifier: BSD-3-Clause */
/* helper_bpf.c - load a small BPF program, so that the kernel tells of it. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr;
    long fd;

    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attr.insn_cnt = sizeof(code) / sizeof(*code);
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.license = (uint64_t)(uintptr_t) "BSD";
    memcpy(attr.prog_name, "helper", sizeof("helper"));
    fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    if (fd < 0) {
        perror("bpf");
        return 1;
    }
    return close((int)fd) != 0;
}
