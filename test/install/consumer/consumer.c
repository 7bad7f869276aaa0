/* SPDX-License-Identifier: BSD-3-Clause */
/* consumer.c - a user of the installed library; C and C++ alike. */
#include <pt/image.h>
#include <pt/packet.h>
#include <pt/version.h>
#include <stdio.h>

int main(void)
{
    static const uint8_t code[] = {0x90, 0xc3}, tnt[] = {0x0c};
    struct ptl_section *section;
    struct ptl_packet packet;
    struct ptl_space *space;
    uint8_t byte = 0;

    if (ptl_packet_decode(&packet, tnt, sizeof(tnt), 0) != 1 || packet.type != PTL_PKT_TNT8)
        return 1;
    if (ptl_section_memory(&section, code, sizeof(code), 0, "code") < 0)
        return 1;
    if (ptl_space_new(&space) < 0 || ptl_space_map(space, 0x1000, section, 0, 2) < 0 ||
        ptl_space_read(space, &byte, 1, 0x1001) != 1)
        return 1;
    ptl_space_free(space);
    ptl_section_unref(section);
    printf("%s %02x %u\n", ptl_version(), byte, (unsigned)packet.payload.tnt.count);
    return 0;
}
