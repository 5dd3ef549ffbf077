/* SPDX-License-Identifier: MIT */
/* Fuzz target: a program or library. Each of its bytes lies in a function that starts before it, or
 * in none. */
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/elf.h"
#include "symbol/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("elf", MFD_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, size), ==, (ssize_t)size);
    struct lull_object *elf = lull_elf_read(fd, NULL, NULL);
    close(fd);
    for (uint64_t at = 0; elf && at < size; at++) {
        uint64_t offset;
        const char *name = lull_object_find(elf, at, &offset);
        g_assert_true(!name || *name != '\0');
    }
    lull_object_free(elf);
    return 0;
}
