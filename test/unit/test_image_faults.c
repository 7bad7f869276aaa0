/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_image_faults.c - every allocation and every system call of the image room fails
 * once: a clean status, nothing changed by halves, nothing leaked (LSan tells).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include "elf_make.h"
#include "fault.h"

#include <cmocka.h>
#include <pt/image.h>

static uint8_t buf[ELF_MAX];
static size_t elf_size;
static char elf_path[64], text_path[64];

static const struct elf_seg segs[] = {
    {PT_LOAD, PF_X, 0x1000, 0x401000, 0x800, 1},
    {PT_LOAD, PF_X, 0x1900, 0x401900, 0x100, 1},
    {PT_LOAD, PF_X, 0x2000, 0x400800, 0x1000, 1},
};
static const struct elf_symbol syms[] = {
    {"one", 0x401000, 0x20, STB_GLOBAL, STT_FUNC, 1},
    {"two", 0x401900, 0, STB_GLOBAL, STT_FUNC, 1},
};

static int make_files(void **state)
{
    struct elf_spec spec = {1, ET_CORE, 0, segs, 3, syms, 2, SHT_SYMTAB};

    (void)state;
    elf_size = elf_make(buf, &spec);
    strcpy(elf_path, elf_write(buf, elf_size));
    strcpy(text_path, elf_write("ffffffff81000000 T a\nffffffff81000010 T b\n", 42));
    return 0;
}

static int drop_files(void **state)
{
    (void)state;
    unlink(elf_path);
    unlink(text_path);
    return 0;
}

static int is_clean(int status)
{
    return status == PTL_NOMEM || status == PTL_BAD_FILE;
}

/* Run the scenario with each call failing in turn; it must succeed only when none fails,
 * unless `optional`: then failing calls may cost something that can be done without. */
static void each_fault(int (*scenario)(void), int optional)
{
    unsigned n = 0;
    int hit, status;

    do {
        fault_arm(FAULT_ALL, ++n);
        status = scenario();
        hit = fault_disarm();
        if (status != 0 && !(hit && is_clean(status)))
            print_error("call %u: status %d\n", n, status);
        assert_true(status == 0 || (hit && is_clean(status)));
        assert_true(status != 0 || !hit || optional);
    } while (hit);
    assert_true(n > 3);
}

static int load(int (*loader)(struct ptl_space *space))
{
    struct ptl_section *old;
    struct ptl_space *space;
    struct ptl_mapping map;
    int status = ptl_space_new(&space);

    if (status < 0)
        return status;
    status = ptl_section_memory(&old, "old code", 8, 1, "old");
    if (status == 0) {
        status = ptl_space_map(space, 0x4017f8, old, 0, 8);
        ptl_section_unref(old);
    }
    if (status == 0) {
        status = loader(space);
        if (status < 0) { /* then the space is as it was */
            assert_int_equal(ptl_space_find(space, 0x4017f8, &map), 0);
            assert_string_equal(ptl_section_name(map.section), "old");
            assert_int_equal(ptl_space_find(space, 0x401000, &map), PTL_NOMAP);
        }
    }
    ptl_space_free(space);
    return status;
}

static int load_elf(struct ptl_space *space)
{
    return ptl_space_load_elf(space, elf_path, 0, NULL, NULL);
}

static unsigned kcore_mapped, kcore_read;

/* A kcore that cannot be mapped is read: the same bytes either way. */
static int load_kcore(struct ptl_space *space)
{
    int status = ptl_space_load_kcore(space, elf_path);
    struct ptl_mapping map;
    uint8_t got[0x100];

    if (status == 0) {
        assert_int_equal(ptl_space_find(space, 0x401900, &map), 0);
        assert_int_equal(ptl_space_read(space, got, 0x100, 0x401900), 0x100);
        assert_memory_equal(got, buf + 0x1900, 0x100);
        kcore_mapped += map.bytes != NULL;
        kcore_read += map.bytes == NULL;
    }
    return status;
}

static int scenario_elf(void)
{
    return load(load_elf);
}

static int scenario_kcore(void)
{
    return load(load_kcore);
}

/* Cuts, holes and clones in a tree of some depth. */
static int scenario_space(void)
{
    struct ptl_space *space = NULL, *copy = NULL;
    struct ptl_section *s;
    int status = ptl_section_reader(&s, (ptl_read_fn)(void (*)(void))scenario_elf, NULL, 4096, "r");

    if (status < 0)
        return status;
    status = ptl_space_new(&space);
    for (uint64_t i = 0; i < 20 && status == 0; i++)
        status = ptl_space_map(space, (i * 7 % 20) * 256, s, 0, 200);
    if (status == 0)
        status = ptl_space_clone(&copy, space);
    for (uint64_t i = 0; i < 10 && status == 0; i++)
        status = ptl_space_unmap(copy, i * 500 + 100, 300);
    if (status == 0)
        status = ptl_space_map(copy, 50, s, 0, 4000);
    ptl_space_free(copy);
    ptl_space_free(space);
    ptl_section_unref(s);
    return status;
}

static int scenario_files(void)
{
    struct ptl_files *files;
    struct ptl_section *section;
    int status = ptl_files_new(&files);

    if (status < 0)
        return status;
    for (int i = 0; i < 40 && status == 0; i++) {
        char name[64];
        snprintf(name, sizeof(name), "/nonexistent/%d", i);
        status = ptl_files_get(files, name, &section);
        if (status == PTL_BAD_FILE)
            status = 0;
    }
    if (status == 0)
        status = ptl_files_get(files, elf_path, &section);
    ptl_files_free(files);
    return status;
}

static int scenario_symbols(void)
{
    struct ptl_symbols *symbols = NULL;
    struct ptl_section *part = NULL;
    struct ptl_space *space = NULL;
    int status = ptl_space_new(&space);

    if (status == 0)
        status = ptl_space_load_elf(space, elf_path, 0, NULL, NULL);
    if (status == 0)
        status = ptl_section_file(&part, elf_path, 0x1000, 0x20);
    if (status == 0)
        status = ptl_space_map(space, 0x900000, part, 0, 0x20);
    if (status == 0)
        status = ptl_symbols_new(&symbols, space);
    if (status == 0)
        status = ptl_symbols_add_kallsyms(symbols, text_path);
    if (status == 0) {
        assert_string_equal(ptl_symbols_find(symbols, 0x401901, NULL), "two");
        assert_string_equal(ptl_symbols_find(symbols, 0xffffffff81000011, NULL), "b");
    }
    ptl_symbols_free(symbols);
    ptl_section_unref(part);
    ptl_space_free(space);
    return status;
}

/* What is asked of a file by name; it has no build id. */
static int scenario_questions(void)
{
    uint8_t id[32];
    size_t len = sizeof(id);
    uint64_t value;
    int status = ptl_elf_symbol(elf_path, "two", &value);

    if (status == 0) {
        assert_int_equal(value, 0x401900);
        status = ptl_elf_build_id(elf_path, id, &len);
    }
    return status == PTL_NOMAP ? 0 : status;
}

/* An ELF file at any address: libelf copies what it cannot use as it lies there. */
static int unaligned_at(size_t skew)
{
    static uint8_t room[ELF_MAX + 16];
    struct ptl_symbols *symbols = NULL;
    struct ptl_section *section;
    struct ptl_space *space;
    int status = ptl_space_new(&space);

    if (status < 0)
        return status;
    memcpy(room + skew, buf, elf_size);
    status = ptl_section_memory(&section, room + skew, elf_size, 0, "skewed");
    if (status == 0) {
        status = ptl_space_load_elf_section(space, section, 0, NULL, NULL);
        ptl_section_unref(section);
    }
    if (status == 0)
        status = ptl_symbols_new(&symbols, space);
    if (status == 0)
        assert_string_equal(ptl_symbols_find(symbols, 0x401901, NULL), "two");
    ptl_symbols_free(symbols);
    ptl_space_free(space);
    return status;
}

static int scenario_unaligned(void)
{
    int status = 0;

    for (size_t skew = 0; skew < 9 && status == 0; skew++)
        status = unaligned_at(skew);
    return status;
}

static void elf(void **state)
{
    (void)state;
    each_fault(scenario_elf, 0);
}

static void kcore(void **state)
{
    (void)state;
    each_fault(scenario_kcore, 1);
    assert_int_equal(kcore_mapped, 1); /* when nothing failed */
    assert_true(kcore_read > 0);
}

static void space(void **state)
{
    (void)state;
    each_fault(scenario_space, 0);
}

static void files(void **state)
{
    (void)state;
    each_fault(scenario_files, 1);
}

static void symbols(void **state)
{
    (void)state;
    each_fault(scenario_symbols, 1);
}

static void questions(void **state)
{
    (void)state;
    each_fault(scenario_questions, 0);
}

static void unaligned(void **state)
{
    (void)state;
    each_fault(scenario_unaligned, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elf),       cmocka_unit_test(kcore),   cmocka_unit_test(space),
        cmocka_unit_test(files),     cmocka_unit_test(symbols), cmocka_unit_test(questions),
        cmocka_unit_test(unaligned),
    };

    return cmocka_run_group_tests(tests, make_files, drop_files);
}
