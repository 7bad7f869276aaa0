/* SPDX-License-Identifier: BSD-3-Clause */
/* test_symbols.c - names for addresses: rules on made files, and nm(1) on real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include "elf_make.h"

#include <cmocka.h>
#include <inttypes.h>
#include <pt/image.h>

static uint8_t buf[ELF_MAX];

/* Section 1 is [0x401000, 0x402000); the segment goes on to 0x402800. */
static const struct elf_seg code[] = {{PT_LOAD, PF_X, 0x1000, 0x401000, 0x1800, 0x1000}};

static const struct elf_symbol symbols[] = {
    {"sized", 0x401000, 0x20, STB_GLOBAL, STT_FUNC, 1},
    {"label_inside", 0x401010, 0, STB_LOCAL, STT_NOTYPE, 1},
    {"unsized", 0x401040, 0, STB_GLOBAL, STT_FUNC, 1},
    {"__alias", 0x401080, 0x10, STB_GLOBAL, STT_FUNC, 1},
    {"local_alias", 0x401080, 0x10, STB_LOCAL, STT_FUNC, 1},
    {"weak_alias", 0x401080, 0x10, STB_WEAK, STT_FUNC, 1},
    {"alias", 0x401080, 0, STB_GLOBAL, STT_FUNC, 1},
    {"label_alias", 0x401080, 0, STB_GLOBAL, STT_NOTYPE, 1},
    {"resolver", 0x4010a0, 8, STB_GLOBAL, STT_GNU_IFUNC, 1},
    {"data", 0x4010c0, 0x100, STB_GLOBAL, STT_OBJECT, 1},
    {"outer", 0x401200, 0x100, STB_GLOBAL, STT_FUNC, 1},
    {"inner", 0x401240, 0x20, STB_LOCAL, STT_FUNC, 1},
    {"crossing", 0x4012f0, 0x20, STB_GLOBAL, STT_FUNC, 1},
    {"undefined", 0x401400, 0x10, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
    {"absolute", 0x401400, 0x10, STB_GLOBAL, STT_NOTYPE, SHN_ABS},
    {"elsewhere", 0x900000, 0x10, STB_GLOBAL, STT_FUNC, 1},
    {"huge", 0x401500, UINT64_MAX, STB_GLOBAL, STT_FUNC, 2}, /* to the end of the segment */
    {"last", 0x401ff0, 0, STB_GLOBAL, STT_NOTYPE, 1},        /* inside "huge" */
};

static const struct {
    uint64_t addr;
    const char *name; /* NULL: none */
    uint64_t offset;
} expected[] = {
    {0x400fff, NULL, 0},
    {0x401000, "sized", 0},
    {0x401018, "sized", 0x18},
    {0x40101f, "sized", 0x1f},
    {0x401020, NULL, 0},
    {0x401040, "unsized", 0},
    {0x40107f, "unsized", 0x3f},
    {0x401080, "alias", 0},
    {0x40108f, "alias", 0xf},
    {0x401090, NULL, 0},
    {0x4010a0, "resolver", 0},
    {0x4010a7, "resolver", 7},
    {0x4010a8, NULL, 0},
    {0x4010c0, NULL, 0},
    {0x40123f, "outer", 0x3f},
    {0x401240, "inner", 0},
    {0x40125f, "inner", 0x1f},
    {0x401260, "outer", 0x60},
    {0x4012ef, "outer", 0xef},
    {0x4012f0, "crossing", 0},
    {0x40130f, "crossing", 0x1f},
    {0x401310, NULL, 0},
    {0x401400, NULL, 0},
    {0x401500, "huge", 0},
    {0x402000, "huge", 0xb00},
    {0x4027ff, "huge", 0x12ff},
    {0x402800, NULL, 0},
    {0x900000, NULL, 0},
    {0, NULL, 0},
    {UINT64_MAX, NULL, 0},
};

static void check_all(const struct ptl_symbols *s, uint64_t shift)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        uint64_t offset = 12345;
        const char *name = ptl_symbols_find(s, expected[i].addr + shift, &offset);

        if (!expected[i].name) {
            assert_null(name);
            continue;
        }
        assert_non_null(name);
        assert_string_equal(name, expected[i].name);
        assert_int_equal(offset, expected[i].offset);
        assert_string_equal(ptl_symbols_find(s, expected[i].addr + shift, NULL), name);
    }
}

static struct elf_spec make_spec(int is64, uint32_t table)
{
    struct elf_spec spec = {.is64 = is64, .segs = code, .nsegs = 1, .symtab = table};

    spec.syms = symbols;
    spec.nsyms = sizeof(symbols) / sizeof(symbols[0]);
    return spec;
}

static void rules(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct elf_spec spec = make_spec(i & 1, i & 2 ? SHT_DYNSYM : SHT_SYMTAB);
        const char *path = elf_write(buf, elf_make(buf, &spec));
        struct ptl_symbols *s;
        struct ptl_space *space;

        assert_int_equal(ptl_space_new(&space), 0);
        assert_int_equal(ptl_space_load_elf(space, path, 0, NULL, NULL), 0);
        unlink(path); /* all that is needed has been read or mapped */
        assert_int_equal(ptl_symbols_new(&s, space), 0);
        check_all(s, 0);
        ptl_space_free(space);
        check_all(s, 0);
        ptl_symbols_free(s);
    }
}

/* Anywhere, also twice, also parts of the file only. */
static void rules_at_other_addresses(void **state)
{
    struct elf_spec spec = make_spec(1, SHT_SYMTAB);
    const char *path = elf_write(buf, elf_make(buf, &spec));
    const uint64_t base = 0x7f0000000000;
    struct ptl_section *part;
    struct ptl_symbols *s;
    struct ptl_space *space;
    uint64_t offset;

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, path, base, NULL, NULL), 0);
    assert_int_equal(ptl_section_file(&part, path, 0x1200, 0x80), 0);
    assert_int_equal(ptl_space_map(space, 0x5000, part, 0, 0x80), 0);
    assert_int_equal(ptl_space_map(space, 0x6000, part, 0x40, 0x10), 0);
    assert_int_equal(ptl_symbols_new(&s, space), 0);
    check_all(s, base - 0x401000);
    assert_string_equal(ptl_symbols_find(s, 0x5010, &offset), "outer");
    assert_int_equal(offset, 0x10);
    assert_string_equal(ptl_symbols_find(s, 0x6001, &offset), "inner");
    assert_int_equal(offset, 1);
    assert_null(ptl_symbols_find(s, 0x6010, &offset));
    ptl_section_unref(part);
    ptl_symbols_free(s);
    ptl_space_free(space);
    unlink(path);
}

static void other_space(void **state)
{
    struct elf_spec spec = make_spec(1, SHT_SYMTAB);
    const char *path = elf_write(buf, elf_make(buf, &spec));
    struct ptl_symbols *s;
    struct ptl_space *space;
    uint64_t offset;

    (void)state;
    assert_int_equal(ptl_symbols_new(&s, NULL), 0);
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, path, 0, NULL, NULL), 0);
    assert_null(ptl_symbols_find_in(s, space, 0x401000, &offset));
    assert_int_equal(ptl_symbols_add_space(s, space), 0);
    assert_int_equal(ptl_symbols_add_space(s, space), 0);
    assert_string_equal(ptl_symbols_find_in(s, space, 0x401001, &offset), "sized");
    assert_int_equal(offset, 1);
    assert_null(ptl_symbols_find(s, 0x401001, &offset));
    ptl_symbols_free(s);
    ptl_space_free(space);
    unlink(path);
}

static void memory_sections(void **state)
{
    struct elf_spec spec = make_spec(1, SHT_DYNSYM);
    size_t size = elf_make(buf, &spec);
    struct ptl_section *vdso, *jit, *anonymous;
    struct ptl_symbols *s;
    struct ptl_space *space;
    uint64_t offset;

    (void)state;
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_section_memory(&vdso, buf, size, 1, "[vdso]"), 0);
    assert_int_equal(ptl_section_memory(&jit, "code", 4, 1, "Hello.main()"), 0);
    assert_int_equal(ptl_section_memory(&anonymous, "code", 4, 1, NULL), 0);
    assert_int_equal(ptl_space_map(space, 0x7ff000, vdso, 0, size), 0); /* as the kernel does */
    assert_int_equal(ptl_space_map(space, 0x1000, jit, 0, 4), 0);
    assert_int_equal(ptl_space_map(space, 0x2000, anonymous, 0, 4), 0);
    assert_int_equal(ptl_symbols_new(&s, space), 0);
    assert_string_equal(ptl_symbols_find(s, 0x7ff000 + 0x1008, &offset), "sized");
    assert_int_equal(offset, 8);
    assert_null(ptl_symbols_find(s, 0x7ff000, &offset));
    assert_string_equal(ptl_symbols_find(s, 0x1002, &offset), "Hello.main()");
    assert_int_equal(offset, 2);
    assert_null(ptl_symbols_find(s, 0x2002, &offset));
    ptl_section_unref(vdso);
    ptl_section_unref(jit);
    ptl_section_unref(anonymous);
    ptl_symbols_free(s);
    ptl_space_free(space);
}

static void kallsyms(void **state)
{
    static const char text[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000100 t helper.isra.0\n"
                               "not a line\n"
                               "ffffffff81000180 t  two_blanks\n"
                               "ffffffff81000200 W weak_one\n"
                               "ffffffff81000200 T __strong_one\n"
                               "\n"
                               "ffffffff82000000 D some_data\r\n"
                               "ffffffffc0000000 t init_module\t[ext4]\n"
                               "ffffffffc0000040 t no_newline\t[ext4]";
    static const struct {
        uint64_t addr;
        const char *name;
        uint64_t offset;
    } want[] = {
        {0xffffffff80ffffff, NULL, 0},
        {0xffffffff81000000, "startup_64", 0},
        {0xffffffff810000ff, "startup_64", 0xff},
        {0xffffffff81000104, "helper.isra.0", 4},
        {0xffffffff81000200, "__strong_one", 0},
        {0xffffffff82000001, "some_data", 1},
        {0xffffffffc000003f, "init_module", 0x3f},
        {0xffffffffc0000fff, "no_newline", 0xfbf},
        {0x1000, NULL, 0},
    };
    struct ptl_symbols *s;
    const char *path = elf_write(text, sizeof(text) - 1);
    uint64_t offset;

    (void)state;
    assert_int_equal(ptl_symbols_new(&s, NULL), 0);
    assert_int_equal(ptl_symbols_add_kallsyms(s, path), 0);
    assert_int_equal(ptl_symbols_add_kallsyms(s, path), 0);
    unlink(path);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const char *name = ptl_symbols_find(s, want[i].addr, &offset);
        if (!want[i].name) {
            assert_null(name);
            continue;
        }
        assert_non_null(name);
        assert_string_equal(name, want[i].name);
        assert_int_equal(offset, want[i].offset);
    }
    assert_int_equal(ptl_symbols_add_kallsyms(s, "/tmp"), PTL_BAD_FILE);
    path = elf_write("0000000000000000 T hidden\n", 26);
    assert_int_equal(ptl_symbols_add_kallsyms(s, path), PTL_NOMAP);
    unlink(path);
    assert_non_null(ptl_symbols_find(s, 0xffffffff81000104, NULL)); /* still the old ones */
    ptl_symbols_free(s);
}

static void symbol_by_name(void **state)
{
    struct elf_spec spec = make_spec(1, SHT_SYMTAB);
    const char *path = elf_write(buf, elf_make(buf, &spec));
    uint64_t value = 0;

    (void)state;
    assert_int_equal(ptl_elf_symbol(path, "inner", &value), 0);
    assert_int_equal(value, 0x401240);
    assert_int_equal(ptl_elf_symbol(path, "last", &value), 0);
    assert_int_equal(value, 0x401ff0);
    assert_int_equal(ptl_elf_symbol(path, "undefined", &value), PTL_NOMAP);
    assert_int_equal(ptl_elf_symbol(path, "inne", &value), PTL_NOMAP);
    assert_int_equal(ptl_elf_symbol(path, "inner2", &value), PTL_NOMAP);
    unlink(path);
    assert_int_equal(ptl_elf_symbol(path, "inner", &value), PTL_BAD_FILE);
}

/* Every byte of the symbol part takes a few values; every length. ASan looks on. */
static void damaged_tables(void **state)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};

    (void)state;
    for (int is64 = 0; is64 < 2; is64++) {
        struct elf_spec spec = make_spec(is64, SHT_SYMTAB);
        size_t size = elf_make(buf, &spec), rounds = (size - ELF_TAIL) * 6;

        for (size_t round = 0; round < rounds; round++) {
            size_t at = ELF_TAIL + round / 6, n = round % 6 == 5 ? at : size;
            uint8_t *copy = malloc(n);
            struct ptl_section *section;
            struct ptl_symbols *s;
            struct ptl_space *space;

            memcpy(copy, buf, n);
            if (n == size)
                copy[at] = values[round % 6];
            assert_int_equal(ptl_section_memory(&section, copy, n, 0, "damaged"), 0);
            assert_int_equal(ptl_space_new(&space), 0);
            assert_int_equal(ptl_space_load_elf_section(space, section, 0, NULL, NULL), 0);
            assert_int_equal(ptl_symbols_new(&s, space), 0);
            for (uint64_t a = 0x400fff; a < 0x402801; a += 7) {
                const char *name = ptl_symbols_find(s, a, NULL);
                assert_true(!name || strlen(name) < size);
            }
            ptl_symbols_free(s);
            ptl_space_free(space);
            ptl_section_unref(section);
            free(copy);
        }
    }
}

/* --- real files against nm ---------------------------------------------------- */

static const char program[] = "static int twice(int x) { return 2 * x; }\n"
                              "int (*volatile hook)(int) = twice;\n"
                              "int visible(int x) { return hook(x) + 1; }\n"
                              "int main(void) { return visible(3) - 7; }\n";

/* Compile with `flags`; 0 if that cannot be done here. */
static int compile(const char *exe, const char *flags)
{
    const char *source = elf_write(program, sizeof(program) - 1);
    char command[256];
    int status;

    snprintf(command, sizeof(command), "cc -O1 -x c %s -o %s %s >/dev/null 2>&1", flags, exe,
             source);
    status = system(command);
    unlink(source);
    return status == 0;
}

struct nm {
    uint64_t addr;
    char type, name[120];
};

/* What nm says, sorted by address; nothing without nm. */
static struct nm *run_nm(const char *options, const char *exe, size_t *count)
{
    struct nm *list = NULL;
    char command[512], line[1024];
    size_t n = 0;
    FILE *nm;

    snprintf(command, sizeof(command), "nm %s -n --defined-only %s 2>/dev/null", options, exe);
    nm = popen(command, "r");
    assert_non_null(nm);
    while (fgets(line, sizeof(line), nm)) {
        if (n % 1024 == 0)
            list = realloc(list, (n + 1024) * sizeof(*list));
        assert_non_null(list);
        if (sscanf(line, "%" SCNx64 " %c %119[^@\n]", &list[n].addr, &list[n].type, list[n].name) ==
            3)
            n++;
    }
    pclose(nm);
    *count = n;
    return list;
}

/* Every function of nm starts at its address, under its name or another one that nm has
 * there too. Returns the number of functions. */
static size_t check_nm(const char *options, const char *exe, const struct ptl_symbols *s,
                       uint64_t shift)
{
    size_t count = 0, checked = 0;
    struct nm *list = run_nm(options, exe, &count);

    for (size_t i = 0; i < count; i++) {
        uint64_t offset = 1;
        const char *got = ptl_symbols_find(s, list[i].addr + shift, &offset);
        size_t k = i;

        if (!strchr("TwWi", list[i].type)) /* 't' are also labels inside functions */
            continue;
        while (k && list[k - 1].addr == list[i].addr)
            k--;
        assert_non_null(got);
        while (k < count && list[k].addr == list[i].addr && strcmp(list[k].name, got) != 0)
            k++;
        if (k == count || list[k].addr != list[i].addr || offset != 0)
            print_error("%s: %" PRIx64 " %s is %s+%" PRIx64 "\n", exe, list[i].addr, list[i].name,
                        got, offset);
        assert_true(k < count && list[k].addr == list[i].addr);
        assert_int_equal(offset, 0);
        checked++;
    }
    free(list);
    return checked;
}

static void check_address(const struct ptl_symbols *s, const char *exe, const char *name,
                          uint64_t shift)
{
    uint64_t value, offset = 1;
    const char *got;

    assert_int_equal(ptl_elf_symbol(exe, name, &value), 0);
    got = ptl_symbols_find(s, value + shift, &offset);
    assert_non_null(got);
    assert_string_equal(got, name);
    assert_int_equal(offset, 0);
}

static void compiled_program(const char *flags, uint64_t base, uint64_t shift)
{
    char exe[] = "/tmp/pt_test_exe_XXXXXX";
    struct ptl_symbols *s;
    struct ptl_space *space;
    int fd = mkstemp(exe);

    assert_true(fd >= 0);
    close(fd);
    if (!compile(exe, flags)) {
        unlink(exe);
        skip();
    }
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, exe, base, NULL, NULL), 0);
    assert_int_equal(ptl_symbols_new(&s, space), 0);
    check_address(s, exe, "main", shift);
    check_address(s, exe, "visible", shift);
    check_address(s, exe, "twice", shift);
    assert_true(check_nm("", exe, s, shift) >= 3);
    ptl_symbols_free(s);
    ptl_space_free(space);
    unlink(exe);
}

static void compiled_pie(void **state)
{
    (void)state;
    compiled_program("-fpie -pie", 0x555555554000, 0x555555554000);
}

static void compiled_static(void **state)
{
    (void)state;
    compiled_program("-static -no-pie", 0, 0);
}

static void compiled_static_pie(void **state)
{
    (void)state;
    compiled_program("-static-pie", 0x10000, 0x10000);
}

static void compiled_32_bit(void **state)
{
    (void)state;
    compiled_program("-m32 -fpie -pie", 0x56555000, 0x56555000);
}

/* The C library that this test runs with: thousands of functions, IFUNC among them. */
static void c_library(void **state)
{
    const uint64_t base = 0x7ffff7000000;
    char line[512], path[512] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    struct ptl_symbols *s;
    struct ptl_space *space;
    size_t n;

    (void)state;
    while (maps && fgets(line, sizeof(line), maps))
        if (strstr(line, "/libc.so") || strstr(line, "/libc-"))
            (void)sscanf(line, "%*s %*s %*s %*s %*s %511s", path);
    if (maps)
        fclose(maps);
    if (!path[0])
        skip();
    assert_int_equal(ptl_space_new(&space), 0);
    assert_int_equal(ptl_space_load_elf(space, path, base, NULL, NULL), 0);
    assert_int_equal(ptl_symbols_new(&s, space), 0);
    check_address(s, path, "qsort", base);
    n = check_nm("-D", path, s, base);
    if (n == 0) /* no nm */
        skip();
    assert_true(n > 500);
    ptl_symbols_free(s);
    ptl_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(rules_at_other_addresses),
        cmocka_unit_test(other_space),
        cmocka_unit_test(memory_sections),
        cmocka_unit_test(kallsyms),
        cmocka_unit_test(symbol_by_name),
        cmocka_unit_test(damaged_tables),
        cmocka_unit_test(c_library),
        cmocka_unit_test(compiled_pie),
        cmocka_unit_test(compiled_static),
        cmocka_unit_test(compiled_static_pie),
        cmocka_unit_test(compiled_32_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
