/* SPDX-License-Identifier: MIT */
/* Test only: see mutate.h. */
#include "robust/mutate.h"

#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t random_below(struct random *random, uint64_t n)
{
    return random_next(random) % n;
}

static struct image_file *pick(struct random *random, const struct image *image, const char *prefix)
{
    struct image_file *found = NULL;
    uint64_t seen = 0;
    for (guint i = 0; i < image->files->len; i++) {
        struct image_file *file = g_ptr_array_index(image->files, i);
        if (g_str_has_prefix(file->name, prefix) && random_below(random, ++seen) == 0) {
            found = file;
        }
    }
    return found;
}

/* Numbers that break sums and products. */
static uint64_t nasty(struct random *random)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       7,
                                       8,
                                       31,
                                       0x7f,
                                       0xff,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x100000000,
                                       UINT64_C(0x1fffffffffffffff),
                                       UINT64_C(0x2000000000000000),
                                       UINT64_C(0x7fffffffffffffff),
                                       UINT64_C(0x8000000000000000),
                                       UINT64_C(0xfffffffffffffff8),
                                       UINT64_MAX};
    return numbers[random_below(random, G_N_ELEMENTS(numbers))];
}

static void describe(struct mutation *m, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void describe(struct mutation *m, const char *format, ...)
{
    size_t used = strlen(m->what);
    va_list args;
    va_start(args, format);
    g_vsnprintf(m->what + used, sizeof m->what - used, format, args);
    va_end(args);
}

static void flip(struct random *random, struct image_file *file, struct mutation *m)
{
    unsigned count = 1 + (unsigned)random_below(random, 3);
    for (unsigned i = 0; i < count && file->bytes->len; i++) {
        /* half of them in a packet's header and context */
        uint64_t at = random_below(random, file->bytes->len);
        if (random_below(random, 2)) {
            at = at / 512 * 512 + random_below(random, MIN(100, file->bytes->len - at / 512 * 512));
        }
        uint8_t by = (uint8_t)(1 + random_below(random, 255));
        file->bytes->data[at] ^= by;
        describe(m, "%s byte %" G_GUINT64_FORMAT " ^= 0x%x; ", file->name, at, by);
    }
}

static void cut(struct random *random, struct image_file *file, struct mutation *m)
{
    guint length = (guint)random_below(random, file->bytes->len);
    g_byte_array_set_size(file->bytes, length);
    describe(m, "%s cut to %u bytes; ", file->name, length);
}

/* Whether the cut leaves a trace of itself: in the middle of a packet it must. Sizes of packets are
 * 512 or 4096 in the written traces; an index, where there is one, tells even of whole packets. */
static void cut_stream(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "c");
    g_autofree char *index = g_strdup_printf("index/%s.idx", file->name);
    cut(random, file, m);
    m->must_report = file->bytes->len % 512 != 0 || image_find(image, index);
}

static void flip_stream(struct random *random, struct image *image, struct mutation *m)
{
    flip(random, pick(random, image, "c"), m);
}

/* An empty file is what an idle stream looks like: only its index can tell that it held anything.
 */
static void empty_stream(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "c");
    g_autofree char *index = g_strdup_printf("index/%s.idx", file->name);
    g_byte_array_set_size(file->bytes, 0);
    describe(m, "%s emptied; ", file->name);
    m->must_report = image_find(image, index) != NULL;
}

/* A number of 32 or 64 bits somewhere in a packet's header or context. */
static void poke_stream(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "c");
    uint64_t packet = random_below(random, file->bytes->len / 512) * 512;
    uint64_t at = packet + random_below(random, 21) * 4, value = nasty(random);
    size_t size = random_below(random, 2) ? 8 : 4;
    for (size_t i = 0; i < size; i++) {
        file->bytes->data[at + i] =
            (uint8_t)(value >> 8 * (random_below(random, 2) ? i : size - 1 - i));
    }
    describe(m, "%s bytes %" G_GUINT64_FORMAT "+%zu set to 0x%" G_GINT64_MODIFIER "x; ", file->name,
             at, size, value);
}

static void noise_stream(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "c");
    uint64_t at = random_below(random, file->bytes->len);
    uint64_t wanted = random_below(random, 300) + 1;
    uint64_t length = MIN(wanted, file->bytes->len - at);
    for (uint64_t i = 0; i < length; i++) {
        file->bytes->data[at + i] = (uint8_t)random_next(random);
    }
    describe(m, "%s noise at %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT "; ", file->name, at,
             length);
}

static void foreign_stream(struct random *random, struct image *image, const struct image *other,
                           struct mutation *m)
{
    struct image_file *file = pick(random, image, "c"), *from = pick(random, other, "c");
    g_byte_array_set_size(file->bytes, 0);
    g_byte_array_append(file->bytes, from->bytes->data, from->bytes->len);
    describe(m, "%s replaced by a stream of another trace; ", file->name);
    m->must_report = true;
}

static void double_stream(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "c");
    guint at = (guint)random_below(random, file->bytes->len), length = file->bytes->len - at;
    g_autofree guint8 *copy = g_memdup2(file->bytes->data + at, length);
    g_byte_array_append(file->bytes, copy, length);
    describe(m, "%s repeated from byte %u; ", file->name, at);
}

/* ---- metadata ---- */

static void replace(GByteArray *bytes, uint64_t at, uint64_t length, const char *with)
{
    guint tail = bytes->len - (guint)(at + length);
    g_autofree guint8 *rest = g_memdup2(bytes->data + at + length, tail);
    g_byte_array_set_size(bytes, (guint)at);
    g_byte_array_append(bytes, (const guint8 *)with, (guint)strlen(with));
    g_byte_array_append(bytes, rest, tail);
}

/* The next run of bytes at or after `from` that are letters, digits or underscores. */
static bool next_word(const GByteArray *bytes, uint64_t from, bool digits, uint64_t *at,
                      uint64_t *length)
{
    for (uint64_t i = from; i < bytes->len; i++) {
        if (!(digits ? g_ascii_isdigit(bytes->data[i]) : g_ascii_isalpha(bytes->data[i]))) {
            continue;
        }
        *at = i;
        while (i < bytes->len && (g_ascii_isalnum(bytes->data[i]) || bytes->data[i] == '_')) {
            i++;
        }
        *length = i - *at;
        return true;
    }
    return false;
}

static void number_metadata(struct random *random, struct image_file *file, struct mutation *m)
{
    uint64_t at, length;
    if (!next_word(file->bytes, random_below(random, file->bytes->len), true, &at, &length)) {
        return;
    }
    g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, nasty(random));
    describe(m, "metadata number at %" G_GUINT64_FORMAT " becomes %s; ", at, text);
    replace(file->bytes, at, length, text);
}

static void word_metadata(struct random *random, struct image_file *file, struct mutation *m)
{
    static const char *const words[] = {"",
                                        "integer",
                                        "struct",
                                        "variant",
                                        "enum",
                                        "string",
                                        "event",
                                        "stream",
                                        "trace",
                                        "clock",
                                        "env",
                                        "typealias",
                                        "id",
                                        "size",
                                        "align",
                                        "_n",
                                        "_m",
                                        "_tag",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ";",
                                        ":=",
                                        "/*",
                                        "\"",
                                        "...",
                                        "-1",
                                        "<_tag>",
                                        "\\",
                                        "typedef",
                                        "const",
                                        "unsigned",
                                        "floating_point",
                                        "event.header.id",
                                        "stream.packet.context.cpu_id"};
    uint64_t at, length;
    if (!next_word(file->bytes, random_below(random, file->bytes->len), false, &at, &length)) {
        return;
    }
    const char *word = words[random_below(random, G_N_ELEMENTS(words))];
    describe(m, "metadata word at %" G_GUINT64_FORMAT " becomes '%s'; ", at, word);
    replace(file->bytes, at, length, word);
}

/* Brackets, structs or comments nested deeper than any stack. */
static void deep_metadata(struct random *random, struct image_file *file, struct mutation *m)
{
    static const char *const openers[] = {"struct { ",
                                          "{ ",
                                          "[ ",
                                          "( ",
                                          "variant <a> { ",
                                          "enum : integer { ",
                                          "typealias struct { ",
                                          "/* ",
                                          "event { fields := struct { ",
                                          "a.",
                                          "- ",
                                          "integer "};
    const char *opener = openers[random_below(random, G_N_ELEMENTS(openers))];
    unsigned depth = 1u << random_below(random, 18);
    GString *text = g_string_new(NULL);
    for (unsigned i = 0; i < depth; i++) {
        g_string_append(text, opener);
    }
    uint64_t at = random_below(random, file->bytes->len);
    describe(m, "metadata at %" G_GUINT64_FORMAT ": %u times '%s'; ", at, depth, opener);
    replace(file->bytes, at, 0, text->str);
    g_string_free(text, TRUE);
}

static void swap_metadata(struct random *random, struct image_file *file, struct mutation *m)
{
    guint length = file->bytes->len, part = (guint)random_below(random, MIN(length / 4, 2000)) + 1;
    guint a = (guint)random_below(random, length - part),
          b = (guint)random_below(random, length - part);
    g_autofree guint8 *copy = g_memdup2(file->bytes->data + a, part);
    memmove(file->bytes->data + b, copy, part);
    describe(m, "metadata %u+%u copied to %u; ", a, part, b);
}

static void metadata(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = image_find(image, "metadata");
    switch (random_below(random, 7)) {
    case 0:
        flip(random, file, m);
        break;
    case 1:
        cut(random, file, m);
        /* what is cut off last may be padding or the declaration of an event that does not occur */
        m->must_report = file->bytes->len < 4096;
        break;
    case 2:
    case 3:
        number_metadata(random, file, m);
        break;
    case 4:
        word_metadata(random, file, m);
        break;
    case 5:
        deep_metadata(random, file, m);
        break;
    default:
        swap_metadata(random, file, m);
        break;
    }
}

/* ---- index ---- */

static void hostile_index(struct random *random, struct image *image, struct mutation *m)
{
    struct image_file *file = pick(random, image, "index/");
    if (!file) {
        flip_stream(random, image, m);
        return;
    }
    switch (random_below(random, 4)) {
    case 0:
        flip(random, file, m);
        break;
    case 1:
        cut(random, file, m);
        break;
    case 2: {
        uint64_t words = (file->bytes->len - 16) / 8, at = 16 + random_below(random, words) * 8;
        uint64_t value = nasty(random);
        for (unsigned i = 0; i < 8; i++) {
            file->bytes->data[at + i] = (uint8_t)(value >> 8 * (7 - i));
        }
        describe(m, "%s number at %" G_GUINT64_FORMAT " = 0x%" G_GINT64_MODIFIER "x; ", file->name,
                 at, value);
        break;
    }
    default: {
        uint64_t at = random_below(random, 4) * 4, value = nasty(random);
        for (unsigned i = 0; i < 4; i++) {
            file->bytes->data[at + i] = (uint8_t)(value >> 8 * (3 - i));
        }
        describe(m, "%s header at %" G_GUINT64_FORMAT " = 0x%x; ", file->name, at, (guint32)value);
        break;
    }
    }
}

bool metadata_ends_whole(const void *text, size_t length)
{
    const char *at = text;
    int depth = 0; /* the written texts have no brackets in quotes and comments */
    for (size_t i = 0; i < length; i++) {
        depth += at[i] == '{' ? 1 : at[i] == '}' ? -1 : 0;
    }
    while (length && g_ascii_isspace(at[length - 1])) {
        length--;
    }
    return depth == 0 && (length == 0 || at[length - 1] == ';' || at[length - 1] == '/');
}

struct mutation mutate_metadata(struct random *random, struct image *image)
{
    struct mutation m = {.must_report = false};
    metadata(random, image, &m);
    return m;
}

struct mutation mutate(struct random *random, struct image *image, const struct image *other)
{
    struct mutation m = {.must_report = false};
    switch (random_below(random, 12)) {
    case 0:
    case 1:
        flip_stream(random, image, &m);
        break;
    case 2:
    case 3:
        cut_stream(random, image, &m);
        break;
    case 4:
        poke_stream(random, image, &m);
        break;
    case 5:
        noise_stream(random, image, &m);
        break;
    case 6:
        if (random_below(random, 2)) {
            foreign_stream(random, image, other, &m);
        } else if (random_below(random, 2)) {
            double_stream(random, image, &m);
        } else {
            empty_stream(random, image, &m);
        }
        break;
    case 7:
    case 8:
        hostile_index(random, image, &m);
        break;
    default:
        metadata(random, image, &m);
        break;
    }
    return m;
}
