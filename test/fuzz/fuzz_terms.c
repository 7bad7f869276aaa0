/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_terms.c - event terms of ptcapture: "intel_pt/.../". What is taken sets only bits that the
 * PMU has; what is refused comes with words that fit their buffer, whatever its size.
 */
#include "../../ptcapture/terms.c" /* NOLINT(bugprone-suspicious-include): part of a program */
/* The questions about PMUs that it asks. */
#include "../../ptcapture/pmu.c" /* NOLINT(bugprone-suspicious-include) */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pmu pmu;
    struct pt_event event = {0};
    size_t room;
    char *text, *error;

    if (size < 1)
        return 0;
    if (!pmu.formats)
        pmu_software(&pmu, "/nonexistent");
    room = (size_t)data[0] + 1;
    text = malloc(size + 16);
    error = malloc(room);
    if (!text || !error)
        abort();
    error[0] = '\0';
    memcpy(text, "intel_pt/", 9);
    memcpy(text + 9, data + 1, size - 1);
    text[9 + size - 1] = '\0';
    if (terms_is_pt(&pmu, text)) {
        int status = terms_parse(&event, &pmu, text, error, room);

        if ((status != 0 && status != -1) || !memchr(error, 0, room) ||
            !memchr(event.name, 0, sizeof(event.name)) || (status && room > 1 && !error[0]))
            abort();
    }
    free(error);
    free(text);
    return 0;
}
