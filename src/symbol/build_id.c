/* SPDX-License-Identifier: MIT */
/* Notes as elf(5) has them: sizes of name and contents, kind, both padded to 4 bytes. */
#include "symbol/build_id.h"

#include <elf.h>
#include <glib.h>
#include <string.h>

#define MOST_BYTES 64u

bool lull_build_id_is(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && g_ascii_isxdigit(text[n])) {
        n++;
    }
    return n == length && n > 0 && n % 2 == 0 && n <= 2 * (size_t)MOST_BYTES;
}

static size_t padded(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

char *lull_build_id_find(const void *notes, size_t size)
{
    const uint8_t *bytes = notes;
    Elf64_Nhdr note;
    for (size_t at = 0; size - at >= sizeof note;) {
        memcpy(&note, bytes + at, sizeof note);
        at += sizeof note;
        const size_t name = padded(note.n_namesz), contents = padded(note.n_descsz);
        if (name > size - at || contents > size - at - name) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(bytes + at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= MOST_BYTES) {
            GString *text = g_string_new(NULL);
            for (uint32_t i = 0; i < note.n_descsz; i++) {
                g_string_append_printf(text, "%02x", bytes[at + name + i]);
            }
            return g_string_free(text, FALSE);
        }
        at += name + contents;
    }
    return NULL;
}
