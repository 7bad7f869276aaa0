/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper_ipt.c - what Debian's libipt (a black box) makes of a trace.
 *
 *     helper_ipt packets TRACE
 *     helper_ipt code TRACE MAPS        MAPS: lines "addr len offset file", hexadecimal numbers
 *
 * `packets` reads every packet; `code` prints the address of every instruction. Exit status 1
 * at the first error.
 */
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long size;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    *len = (size_t)size;
    bytes = malloc(*len + 1);
    if (!bytes || fread(bytes, 1, *len, file) != *len)
        exit(2);
    fclose(file);
    return bytes;
}

static int complain(const char *what, uint64_t offset, uint64_t ip, int status)
{
    printf("%s: offset %llx, ip %llx: %s\n", what, (unsigned long long)offset,
           (unsigned long long)ip, pt_errstr(pt_errcode(status)));
    return 1;
}

static int packets(const struct pt_config *config)
{
    struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
    struct pt_packet packet;
    uint64_t offset = 0, count = 0;
    int status = decoder ? pt_pkt_sync_forward(decoder) : -pte_nomem;

    while (status >= 0) {
        pt_pkt_get_offset(decoder, &offset);
        status = pt_pkt_next(decoder, &packet, sizeof(packet));
        count++;
    }
    pt_pkt_free_decoder(decoder);
    if (status != -pte_eos)
        return complain("packet", offset, 0, status);
    printf("%llu packets\n", (unsigned long long)count);
    return 0;
}

static int add_maps(struct pt_image *image, const char *path)
{
    unsigned long long addr, len, offset;
    char name[4096];
    FILE *file = fopen(path, "r");

    if (!file)
        return -1;
    while (fscanf(file, "%llx %llx %llx %4095s", &addr, &len, &offset, name) == 4)
        (void)pt_image_add_file(image, name, offset, len, NULL, addr);
    fclose(file);
    return 0;
}

static int drain_events(struct pt_insn_decoder *decoder, int status)
{
    struct pt_event event;

    while (status >= 0 && (status & pts_event_pending))
        status = pt_insn_event(decoder, &event, sizeof(event));
    return status;
}

static int code(const struct pt_config *config, const char *maps)
{
    struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
    struct pt_insn insn;
    uint64_t offset = 0;
    int status;

    if (!decoder || add_maps(pt_insn_get_image(decoder), maps))
        return 2;
    memset(&insn, 0, sizeof(insn));
    status = pt_insn_sync_forward(decoder);
    for (;;) {
        status = drain_events(decoder, status);
        if (status < 0)
            break;
        insn.iclass = ptic_error; /* nothing has been decoded */
        status = pt_insn_next(decoder, &insn, sizeof(insn));
        if (insn.iclass != ptic_error)
            printf("%llx\n", (unsigned long long)insn.ip);
        if (status < 0)
            break;
    }
    pt_insn_get_offset(decoder, &offset);
    pt_insn_free_decoder(decoder);
    return status == -pte_eos ? 0 : complain("code", offset, insn.ip, status);
}

int main(int argc, char **argv)
{
    struct pt_config config;
    size_t len;

    if (argc < 3)
        return 2;
    pt_config_init(&config);
    config.begin = read_file(argv[2], &len);
    config.end = config.begin + len;
    if (!strcmp(argv[1], "packets"))
        return packets(&config);
    return argc > 3 ? code(&config, argv[3]) : 2;
}
