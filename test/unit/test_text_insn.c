/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_text_insn.c - instructions as text: what the disassembler knows, what it does not, and
 * where it must not be trusted.
 */
#include "unit.h"

#include "text_insn.h"

#include <string.h>

struct row {
    const char *bytes;
    uint8_t size;
    uint8_t mode;
    const char *intel, *att; /* "": unknown to the disassembler */
};

#define B(s) (s), (uint8_t)(sizeof(s) - 1)

/* At address 0x1000. The words are Intel's (SDM vol. 2); how operands are written is the
 * disassembler's. */
static const struct row rows[] = {
    {B("\x90"), PTL_MODE_64, "nop", "nop"},
    {B("\x0f\xbe\x0d\xcd\x1f\x00\x00"), PTL_MODE_64, "movsx ecx, byte ptr [rip + 0x1fcd]",
     "movsbl 0x1fcd(%rip), %ecx"},
    {B("\xe8\x00\x00\x00\x00"), PTL_MODE_64, "call 0x1005", "callq 0x1005"},
    {B("\xe8\x00\x00\x00\x00"), PTL_MODE_32, "call 0x1005", "calll 0x1005"},
    {B("\x40"), PTL_MODE_32, "inc eax", "incl %eax"},
    {B("\x40"), PTL_MODE_16, "inc ax", "incw %ax"},
    {B("\xf3\x0f\x1e\xfa"), PTL_MODE_64, "endbr64", "endbr64"},
    /* Intel processors ignore 66 here: the displacement has four bytes. */
    {B("\x66\xe8\x00\x00\x00\x00"), PTL_MODE_64, "call 0x1006", "callq 0x1006"},
    {B("\x66\x0f\x84\x00\x01\x00\x00"), PTL_MODE_64, "je 0x1107", "je 0x1107"},
    /* Newer than the disassembler. */
    {B("\xf3\x0f\x01\xca"), PTL_MODE_64, "eretu", "eretu"},
    {B("\xf2\x0f\x01\xca"), PTL_MODE_64, "erets", "erets"},
    {B("\x0f\x01\xca"), PTL_MODE_64, "clac", "clac"},
    {B("\xf3\x0f\x01\xec"), PTL_MODE_64, "uiret", "uiret"},
    {B("\xf3\x0f\xae\xe0"), PTL_MODE_64, "ptwrite eax", "ptwrite %eax"},
    {B("\xf3\x48\x0f\xae\xe1"), PTL_MODE_64, "ptwrite rcx", "ptwrite %rcx"},
    {B("\xf3\x49\x0f\xae\x64\x24\x08"), PTL_MODE_64, "ptwrite qword ptr [r12 + 8]",
     "ptwrite 8(%r12)"},
    {B("\xd5\x00\xa1\x00\x10\x00\x00\x00\x00\x00\x00"), PTL_MODE_64, "jmpabs 0x1000",
     "jmpabs 0x1000"},
    {B("\x0f\xff\xc0"), PTL_MODE_64, "", ""},
};

static void decode(struct ptl_insn *insn, const struct row *row)
{
    assert_int_equal(ptl_insn_decode(insn, (const uint8_t *)row->bytes, row->size,
                                     (enum ptl_exec_mode)row->mode),
                     row->size);
}

static void check_syntax(int att)
{
    struct text_insn *text;

    assert_int_equal(text_insn_new(&text, att), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[TEXT_INSN_MAX + 1];
        struct ptl_insn insn;

        decode(&insn, &rows[i]);
        buf[text_insn(text, buf, &insn, (const uint8_t *)rows[i].bytes, 0x1000)] = 0;
        assert_string_equal(buf, att ? rows[i].att : rows[i].intel);
    }
    text_insn_free(text);
}

static void test_intel(void **state)
{
    (void)state;
    check_syntax(0);
}

static void test_att(void **state)
{
    (void)state;
    check_syntax(1);
}

static void test_raw(void **state)
{
    char buf[TEXT_RAW_MAX + 1];

    (void)state;
    buf[text_insn_raw(buf, (const uint8_t *)"\x0f\x05", 2, 0)] = 0;
    assert_string_equal(buf, " 0f 05");
    buf[text_insn_raw(buf, (const uint8_t *)"\x0f\x05", 2, 1)] = 0;
    assert_string_equal(buf, " 0f 05                                       ");
}

/* The second opinion: the class by the disassembler's own reading. */
static void test_look(void **state)
{
    static const struct {
        const char *bytes;
        uint8_t size, iclass;
    } looks[] = {
        {B("\x90"), PTL_INSN_OTHER},
        {B("\xe8\x00\x00\x00\x00"), PTL_INSN_CALL},
        {B("\xff\xd0"), PTL_INSN_CALL_IND},
        {B("\xff\x15\x00\x00\x00\x00"), PTL_INSN_CALL_IND},
        {B("\xe9\x00\x00\x00\x00"), PTL_INSN_JMP},
        {B("\xff\x20"), PTL_INSN_JMP_IND},
        {B("\xe2\xfe"), PTL_INSN_JCC},
        {B("\xe3\xfe"), PTL_INSN_JCC},
        {B("\x0f\x8f\x00\x00\x00\x00"), PTL_INSN_JCC},
        {B("\xc3"), PTL_INSN_RET},
        {B("\xcb"), PTL_INSN_FAR_RET},
        {B("\x48\xcf"), PTL_INSN_FAR_RET},
        {B("\x0f\x05"), PTL_INSN_FAR_CALL},
        {B("\xcd\x80"), PTL_INSN_FAR_CALL},
        {B("\xff\x18"), PTL_INSN_FAR_CALL},
        {B("\xff\x28"), PTL_INSN_FAR_JMP},
    };

    (void)state;
    for (int att = 0; att < 2; att++) {
        struct text_insn *text;

        assert_int_equal(text_insn_new(&text, att), 0);
        for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
            const uint8_t *bytes = (const uint8_t *)looks[i].bytes;
            struct text_insn_view view;
            struct ptl_insn insn;

            assert_int_equal(ptl_insn_decode(&insn, bytes, looks[i].size, PTL_MODE_64),
                             looks[i].size);
            text_insn_look(text, &view, &insn, bytes, 0x1000);
            assert_true(view.known);
            assert_int_equal(view.size, looks[i].size);
            assert_string_equal(text_insn_class(view.iclass), text_insn_class(looks[i].iclass));
        }
        text_insn_free(text);
    }
}

/* No opinion where the disassembler is known to be wrong. */
static void test_look_away(void **state)
{
    struct text_insn *text;

    (void)state;
    assert_int_equal(text_insn_new(&text, 0), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text_insn_view view;
        struct ptl_insn insn;

        decode(&insn, &rows[i]);
        text_insn_look(text, &view, &insn, (const uint8_t *)rows[i].bytes, 0x1000);
        if (view.known) {
            assert_int_equal(view.size, insn.size);
            assert_int_equal(view.iclass, insn.iclass);
        }
    }
    text_insn_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intel), cmocka_unit_test(test_att),       cmocka_unit_test(test_raw),
        cmocka_unit_test(test_look),  cmocka_unit_test(test_look_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
