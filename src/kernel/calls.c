/* SPDX-License-Identifier: MIT */
/* The tables of system calls: kinds (calls.def), numbers (syscalls.def), architectures. */
#include "kernel/calls.h"

#include <glib.h>
#include <string.h>

#include "kernel/facts.h"

#define LULL_IO_NONE CALL_IO_NONE
#define PATH ""
static const struct call_kind kinds[] = {
#define CALL(name, io, effect, type, cloexec, file_name, arguments)                                \
    {name,      LULL_IO_##io, CALL_##effect, LULL_FILE_##type, CALL_CLOEXEC_##cloexec,             \
     file_name, arguments},
#define CALL_CLOEXEC_1 1
#define CALL_CLOEXEC_8 8
#include "kernel/calls.def"
};

static const struct call_kind other = {"", LULL_IO_OTHER, CALL_USE, LULL_FILE_UNKNOWN, 0, NULL, ""};

size_t call_name_length(const char *name)
{
    if (!g_str_has_suffix(name, "time32") && !g_str_has_suffix(name, "time64")) {
        return strlen(name);
    }
    const size_t length = strlen(name) - strlen("32");
    return length > strlen("_time") && name[length - strlen("_time")] == '_'
               ? length - strlen("_time")
               : length;
}

const struct call_kind *call_kind_find(const char *name)
{
    const size_t length = call_name_length(name);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strncmp(kinds[i].name, name, length) == 0 && kinds[i].name[length] == '\0') {
            return &kinds[i];
        }
    }
    return &other;
}

static const struct {
    const char *name;
    int16_t numbers[CALL_NUMBERS];
} names[] = {
#define NUMBER(name, x86_64, i386, generic, arm) {#name, {x86_64, i386, generic, arm}},
#include "kernel/syscalls.def"
};

/* From CALL_ARMS_OWN on. */
static const char *const arms_own[] = {NULL,    "breakpoint", "cacheflush", "usr26",
                                       "usr32", "set_tls",    "get_tls"};

const char *call_name_of_number(enum call_numbers numbers, int64_t number)
{
    if (numbers >= CALL_NUMBERS || number < 0) {
        return NULL;
    }
    if (numbers == CALL_NUMBERS_ARM && number >= CALL_ARMS_OWN) {
        const uint64_t own = (uint64_t)number - CALL_ARMS_OWN;
        return own < G_N_ELEMENTS(arms_own) ? arms_own[own] : NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].numbers[numbers] == number) {
            return names[i].name;
        }
    }
    return NULL;
}

enum call_numbers call_numbers_of(const struct call_arch *arch, bool is_32bit)
{
    const bool is_of_64bit =
        arch->numbers == CALL_NUMBERS_X86_64 || arch->numbers == CALL_NUMBERS_GENERIC;
    return is_32bit && is_of_64bit ? CALL_NUMBERS : arch->numbers;
}

const struct call_arch *call_arch_find(const char *machine, const char *release)
{
    static const struct call_arch archs[] = {
        {"arm64", CALL_NUMBERS_GENERIC, CALL_NUMBERS_ARM, 02000000, 115},
        {"aarch64", CALL_NUMBERS_GENERIC, CALL_NUMBERS_ARM, 02000000, 115},
        {"riscv64", CALL_NUMBERS_GENERIC, CALL_NUMBERS, 02000000, 115},
        {"loong64", CALL_NUMBERS_GENERIC, CALL_NUMBERS, 02000000, 115},
        {"loongarch64", CALL_NUMBERS_GENERIC, CALL_NUMBERS, 02000000, 115},
        {"i386", CALL_NUMBERS_I386, CALL_NUMBERS_I386, 02000000, 115},
        {"i586", CALL_NUMBERS_I386, CALL_NUMBERS_I386, 02000000, 115},
        {"686", CALL_NUMBERS_I386, CALL_NUMBERS_I386, 02000000, 115},
        {"arm", CALL_NUMBERS_ARM, CALL_NUMBERS_ARM, 02000000, 115},
        {"ppc", CALL_NUMBERS, CALL_NUMBERS, 02000000, 115},
        {"powerpc", CALL_NUMBERS, CALL_NUMBERS, 02000000, 115},
        {"s390", CALL_NUMBERS, CALL_NUMBERS, 02000000, 115},
        {"mips", CALL_NUMBERS, CALL_NUMBERS, 02000000, 150},
        {"loongson", CALL_NUMBERS, CALL_NUMBERS, 02000000, 150},
        {"octeon", CALL_NUMBERS, CALL_NUMBERS, 02000000, 150},
        {"alpha", CALL_NUMBERS, CALL_NUMBERS, 010000000, 36},
        {"parisc", CALL_NUMBERS, CALL_NUMBERS, 010000000, 245},
        {"sparc", CALL_NUMBERS, CALL_NUMBERS, 0x400000, 36},
    };
    static const struct call_arch x86_64 = {"", CALL_NUMBERS_X86_64, CALL_NUMBERS_I386, 02000000,
                                            115};
    static const struct call_arch unknown = {"", CALL_NUMBERS, CALL_NUMBERS, 02000000, 115};
    const char *text = *machine ? machine : release;
    if (strstr(text, "amd64") || strstr(text, "x86_64")) {
        return &x86_64;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(archs); i++) {
        if (strstr(text, archs[i].part)) {
            return &archs[i];
        }
    }
    return *machine ? &unknown : &x86_64;
}
