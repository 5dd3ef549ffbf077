/* SPDX-License-Identifier: MIT */
/* Fuzz target: the functions in a recording. What is found is a word of the text, and what is
 * written of it reads the same again. */
#include <glib.h>
#include <string.h>

#include "symbol/object.h"
#include "symbol/saved.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_object *read_again(const struct lull_object *object)
{
    GString *text = g_string_new(NULL);
    lull_saved_append(text, object, "/a", 1);
    const size_t length = text->len;
    struct lull_saved *saved = lull_saved_new(g_string_free(text, FALSE), length);
    struct lull_object *again = lull_saved_read(saved, "/a", 1);
    lull_saved_free(saved);
    return again;
}

/* How functions call each other is the same once it is written and read again. */
static void look_at_frames(const struct lull_saved *saved)
{
    struct lull_object *object = lull_saved_read_frames(saved, "/a", 1);
    if (!object) {
        return;
    }
    GString *text = g_string_new(NULL);
    lull_saved_append(text, object, "/a", 1);
    const size_t length = text->len;
    struct lull_saved *written = lull_saved_new(g_string_free(text, FALSE), length);
    struct lull_object *again = lull_saved_read_frames(written, "/a", 1);
    g_assert_nonnull(again);
    for (uint64_t at = 0; at < 512; at++) {
        g_assert_true(!lull_cfi_find(object->cfi, at) == !lull_cfi_find(again->cfi, at));
    }
    lull_object_free(object);
    lull_object_free(again);
    lull_saved_free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = g_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    struct lull_saved *saved = lull_saved_new(text, size);
    struct lull_object *object = lull_saved_read(saved, "/a", 1);
    struct lull_object *again = object ? read_again(object) : NULL;
    look_at_frames(saved);
    for (uint64_t at = 0; object && at < 512; at++) {
        uint64_t offset = 0, offset_again = 0;
        const char *name = lull_object_find(object, at, &offset);
        g_assert_cmpstr(lull_object_find(again, at, &offset_again), ==, name);
        g_assert_cmpuint(offset, ==, offset_again);
        g_assert_true(!name || memmem(data, size, name, strlen(name)));
    }
    lull_object_free(object);
    lull_object_free(again);
    lull_saved_free(saved);
    return 0;
}
