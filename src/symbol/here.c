/* SPDX-License-Identifier: MIT */
/* Symbols from the files of this machine. */
#include "symbol/here.h"

#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/elf.h"
#include "symbol/kallsyms.h"

#define DEBUG_ROOT "/usr/lib/debug"

bool lull_here_is(const uint8_t boot_id[16])
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL)) {
        return false;
    }
    unsigned n = 0;
    for (const char *at = text; *at && n < 32; at++) {
        const int digit = g_ascii_xdigit_value(*at);
        if (digit < 0) {
            continue;
        }
        if (digit != (boot_id[n / 2] >> (n % 2 ? 0 : 4) & 15)) {
            return false;
        }
        n++;
    }
    return n == 32;
}

struct lull_symbol_table *lull_here_kernel(void)
{
    g_autofree char *text = NULL;
    gsize length;
    return g_file_get_contents("/proc/kallsyms", &text, &length, NULL)
               ? lull_kallsyms_parse(text, length)
               : NULL;
}

static bool is_same(int fd, uint64_t inode, int64_t mapped_ns)
{
    struct stat st;
    return fstat(fd, &st) == 0 && inode != 0 && st.st_ino == inode &&
           st.st_ctim.tv_sec < INT64_MAX / 1000000000 &&
           st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec <= mapped_ns;
}

struct lull_elf *lull_here_file(const char *path, uint64_t inode, int64_t mapped_ns)
{
    const char *why;
    int fd;
    if (*path != '/' || lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct lull_elf *elf =
        is_same(fd, inode, mapped_ns) ? lull_elf_read(fd, path, DEBUG_ROOT) : NULL;
    close(fd);
    return elf;
}
