/* SPDX-License-Identifier: MIT */
/* libiberty knows how. A few bytes can stand for a name that would fill the memory, so it is stopped when
 * its output grows too long: it writes in pieces, and keeps what it needs on the stack. */
#include "symbol/demangle.h"

#include <glib.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NAME_MOST 4096u
#define READABLE_MOST 1024u
#define PIECES_MOST 65536u

struct readable {
    jmp_buf end;
    uint32_t length, n_pieces;
    char text[READABLE_MOST + 1];
};

static void add(const char *piece, size_t length, void *user)
{
    struct readable *readable = user;
    if (length > READABLE_MOST - readable->length || ++readable->n_pieces > PIECES_MOST) {
        longjmp(readable->end, 1);
    }
    memcpy(readable->text + readable->length, piece, length);
    readable->length += (uint32_t)length;
}

/* A function of its own: nothing that it changes is looked at after a jump. */
static bool write_to(struct readable *readable, const char *name)
{
    if (setjmp(readable->end)) {
        return false;
    }
    if (rust_demangle_callback(name, DMGL_NO_OPTS, add, readable)) {
        return true;
    }
    readable->length = 0;
    return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, add, readable);
}

char *lull_demangle_compilers(const char *name)
{
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
        strnlen(name, NAME_MOST) == NAME_MOST) {
        return NULL;
    }
    struct readable readable = {.length = 0};
    if (!write_to(&readable, name) || readable.length == 0) {
        return NULL;
    }
    return g_strndup(readable.text, readable.length);
}
