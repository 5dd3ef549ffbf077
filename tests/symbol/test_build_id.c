/* SPDX-License-Identifier: MIT */
/* Build-ids in notes, which are written by hand as elf(5) has them. */
#include <elf.h>
#include <glib.h>
#include <string.h>

#include "symbol/build_id.h"

static void put(GByteArray *to, uint32_t kind, const char *name, uint32_t name_size,
                const char *contents, uint32_t size)
{
    const uint32_t head[] = {name_size, size, kind};
    const guint8 zeros[4] = {0};
    g_byte_array_append(to, (const guint8 *)head, sizeof head);
    g_byte_array_append(to, (const guint8 *)name, name_size);
    g_byte_array_append(to, zeros, -name_size & 3);
    g_byte_array_append(to, (const guint8 *)contents, size);
    g_byte_array_append(to, zeros, -size & 3);
}

static void test_find(void)
{
    g_autoptr(GByteArray) notes = g_byte_array_new();
    g_assert_null(lull_build_id_find(notes->data, 0));
    put(notes, NT_GNU_BUILD_ID, "Xen", 4, "no", 2);
    put(notes, NT_GNU_ABI_TAG, "GNU", 4, "12345", 5);
    put(notes, NT_GNU_BUILD_ID, "GNU", 4, "", 0);
    const guint before = notes->len;
    put(notes, NT_GNU_BUILD_ID, "GNU", 4, "\x01\xab\xff", 3);
    g_autofree char *id = lull_build_id_find(notes->data, notes->len);
    g_assert_cmpstr(id, ==, "01abff");
    for (guint n = 0; n < notes->len; n++) {
        g_autofree uint8_t *cut = g_memdup2(notes->data, n);
        g_assert_null(lull_build_id_find(cut, n));
    }
    notes->data[before] = 0xff; /* of the size of its name */
    notes->data[before + 3] = 0xff;
    g_assert_null(lull_build_id_find(notes->data, notes->len));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbol/build-id/find", test_find);
    return g_test_run();
}
