/* SPDX-License-Identifier: MIT */
/* Fuzz target: a program or library. Each of its bytes lies in a function that starts before it, or
 * in none; of some, lines of source code are asked for. */
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/elf.h"
#include "symbol/lines.h"
#include "symbol/object.h"

#define ADDRESSES_BETWEEN 7u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_for_lines(const struct lull_object *elf, size_t size)
{
    struct lull_code code[LULL_MOST_INLINED];
    struct lull_lines *lines = elf ? lull_lines_new(elf) : NULL;
    for (uint64_t at = 0; lines && at < size; at += ADDRESSES_BETWEEN) {
        uint64_t address;
        const uint32_t n =
            lull_object_address(elf, at, &address) ? lull_lines_find(lines, address, code) : 0;
        g_assert_cmpuint(n, <=, LULL_MOST_INLINED);
        for (uint32_t i = 0; i < n; i++) {
            g_assert_true(!code[i].at.file || *code[i].at.file != '\0');
            g_assert_true(!code[i].function || *code[i].function != '\0');
        }
    }
    lull_lines_free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("elf", MFD_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, size), ==, (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    struct lull_object *elf = lull_elf_read(fd, path, NULL);
    ask_for_lines(elf, size);
    close(fd);
    for (uint64_t at = 0; elf && at < size; at++) {
        uint64_t offset;
        const char *name = lull_object_find(elf, at, &offset);
        g_assert_true(!name || *name != '\0');
    }
    lull_object_free(elf);
    return 0;
}
