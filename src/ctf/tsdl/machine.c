/* SPDX-License-Identifier: MIT */
/* Divides a TSDL text at its braces, without a parser: it takes a fortieth of the time of one. What
 * it takes out is parsed by the parser of all texts. */
#include "ctf/tsdl/machine.h"

#include <string.h>

enum block { BLOCK_OTHER, BLOCK_TRACE, BLOCK_ENV, BLOCK_CLOCK };

struct divider {
    struct tsdl_machine *machine;
    const char *text;
    size_t size, pos;
    uint32_t depth;
    enum block block;
    size_t block_start, inside; /* first byte of the block's keyword, and after its brace */
    size_t statement;           /* first byte of the statement of the block */
    bool is_nested;             /* it has braces */
    struct tsdl_span word;      /* the last one outside of blocks; the first of the statement */
    bool has_word;
};

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

static bool spells(const struct divider *d, const char *name)
{
    size_t length = strlen(name);
    return d->has_word && d->word.end - d->word.start == length &&
           memcmp(d->text + d->word.start, name, length) == 0;
}

/* The end of a comment or string that starts at `pos`, or `pos` if none does. */
static size_t skip_opaque(const struct divider *d, size_t pos)
{
    const char *text = d->text + pos, *end;
    const size_t left = d->size - pos;
    if (left > 1 && text[0] == '/' && text[1] == '*') {
        end = g_strstr_len(text + 2, (gssize)left - 2, "*/");
        return end ? pos + (size_t)(end - text) + 2 : d->size;
    }
    if (left > 1 && text[0] == '/' && text[1] == '/') {
        end = memchr(text, '\n', left);
        return end ? pos + (size_t)(end - text) : d->size;
    }
    if (text[0] == '"' || text[0] == '\'') {
        size_t i = 1;
        while (i < left && text[i] != text[0]) {
            i += text[i] == '\\' ? 2 : 1;
        }
        return MIN(pos + i + 1, d->size);
    }
    return pos;
}

static void add_span(const struct divider *d, size_t start, size_t end)
{
    const struct tsdl_span span = {start, end};
    g_array_append_val(d->machine->spans, span);
}

static void start_statement(struct divider *d)
{
    d->statement = d->pos;
    d->is_nested = d->has_word = false;
}

static void open_brace(struct divider *d)
{
    if (d->depth++ > 0) {
        d->is_nested = true;
        return;
    }
    d->block = spells(d, "trace")   ? BLOCK_TRACE
               : spells(d, "env")   ? BLOCK_ENV
               : spells(d, "clock") ? BLOCK_CLOCK
                                    : BLOCK_OTHER;
    d->block_start = d->word.start;
    d->inside = d->pos;
    if (d->block == BLOCK_TRACE) {
        g_string_append(d->machine->blocks, "trace {");
    }
    start_statement(d);
}

static bool close_brace(struct divider *d)
{
    if (d->depth == 0) {
        return false;
    }
    if (--d->depth > 0) {
        return true;
    }
    if (d->block == BLOCK_ENV) {
        add_span(d, d->inside, d->pos - 1);
    }
    if (d->block != BLOCK_OTHER) {
        d->machine->after = d->pos;
    }
    if (d->block == BLOCK_ENV || d->block == BLOCK_CLOCK) {
        g_string_append_len(d->machine->blocks, d->text + d->block_start,
                            (gssize)(d->pos - d->block_start));
    }
    g_string_append(d->machine->blocks, d->block == BLOCK_TRACE   ? "};\n"
                                        : d->block == BLOCK_OTHER ? ""
                                                                  : ";\n");
    d->block = BLOCK_OTHER;
    d->has_word = false;
    return true;
}

static void end_statement(struct divider *d)
{
    if (d->depth == 1 && d->block == BLOCK_TRACE && !d->is_nested) {
        g_string_append_len(d->machine->blocks, d->text + d->statement,
                            (gssize)(d->pos - d->statement));
    }
    if (d->depth <= 1) {
        start_statement(d);
    }
}

/* A word, number or string from `start` to pos. */
static void take_token(struct divider *d, size_t start)
{
    const bool is_text = d->text[start] == '"';
    if (d->depth == 0) {
        d->word = (struct tsdl_span){start, d->pos};
        d->has_word = true;
    } else if (d->depth > 1 || d->block == BLOCK_OTHER) {
        return;
    } else if (!d->has_word) {
        d->word = (struct tsdl_span){start, d->pos};
        d->has_word = true;
    } else if ((is_text && (d->block == BLOCK_TRACE || d->block == BLOCK_CLOCK) &&
                spells(d, "uuid")) ||
               (g_ascii_isdigit(d->text[start]) && d->block == BLOCK_CLOCK &&
                (spells(d, "offset") || spells(d, "offset_s")))) {
        add_span(d, start, d->pos);
    }
}

/* Where nothing but braces counts, goes to the next byte that may be or start something else than
 * words and signs. */
static void skip_plain(struct divider *d)
{
    static const bool counts[256] = {
        ['{'] = true, ['}'] = true, ['"'] = true, ['\''] = true, ['/'] = true};
    const char *text = d->text;
    size_t pos = d->pos;
    while (pos < d->size && !counts[(guchar)text[pos]]) {
        pos++;
    }
    d->pos = pos;
}

static bool divide(struct divider *d)
{
    while (d->pos < d->size) {
        if (d->depth > 1 || (d->depth == 1 && d->block == BLOCK_OTHER)) {
            skip_plain(d);
            if (d->pos == d->size) {
                break;
            }
        }
        const size_t start = d->pos;
        const char c = d->text[start];
        if (is_word(c)) {
            while (d->pos < d->size && is_word(d->text[d->pos])) {
                d->pos++;
            }
            take_token(d, start);
        } else if ((d->pos = skip_opaque(d, start)) > start) {
            if (c != '/') {
                take_token(d, start);
            }
        } else {
            d->pos++;
            if (c == '{') {
                open_brace(d);
            } else if (c == '}') {
                if (!close_brace(d)) {
                    return false;
                }
            } else if (c == ';') {
                end_statement(d);
            }
        }
    }
    return d->depth == 0;
}

/* A length may be an entry of the environment. Few texts have many dots. */
static bool names_environment(const char *text, size_t size)
{
    const char *end = text + size;
    for (const char *dot = text; (dot = memchr(dot, '.', (size_t)(end - dot))); dot++) {
        if (dot - text >= 3 && memcmp(dot - 3, "env", 3) == 0) {
            return true;
        }
    }
    return false;
}

bool tsdl_machine_find(struct tsdl_machine *machine, const char *text, size_t size)
{
    struct divider divider = {.machine = machine, .text = text, .size = size};
    machine->spans = g_array_new(FALSE, FALSE, sizeof(struct tsdl_span));
    machine->blocks = g_string_new(NULL);
    machine->after = 0;
    return !names_environment(text, size) && divide(&divider);
}

/* Right after a block nothing of what was before matters: equal texts from there on are divided
 * equally. */
bool tsdl_machine_find_like(struct tsdl_machine *machine, const char *text, size_t size,
                            const struct tsdl_machine *like, const char *like_text,
                            size_t like_size)
{
    const size_t rest = like_size - like->after;
    if (like->after == 0 || rest >= size ||
        memcmp(text + size - rest, like_text + like->after, rest) != 0) {
        return false;
    }
    if (tsdl_machine_find(machine, text, size - rest) && machine->after == size - rest) {
        return true;
    }
    tsdl_machine_clear(machine);
    return false;
}

void tsdl_machine_clear(struct tsdl_machine *machine)
{
    g_clear_pointer(&machine->spans, g_array_unref);
    if (machine->blocks) {
        g_string_free(machine->blocks, TRUE);
        machine->blocks = NULL;
    }
}

static const struct tsdl_span *span_at(const struct tsdl_machine *machine, guint i)
{
    return &g_array_index(machine->spans, struct tsdl_span, i);
}

bool tsdl_machine_same_rest(const struct tsdl_machine *a, const char *text_a, size_t size_a,
                            const struct tsdl_machine *b, const char *text_b, size_t size_b)
{
    size_t from_a = 0, from_b = 0;
    if (a->spans->len != b->spans->len) {
        return false;
    }
    for (guint i = 0; i <= a->spans->len; i++) {
        const bool is_last = i == a->spans->len;
        const size_t length = (is_last ? size_a : span_at(a, i)->start) - from_a;
        if (length != (is_last ? size_b : span_at(b, i)->start) - from_b ||
            memcmp(text_a + from_a, text_b + from_b, length) != 0) {
            return false;
        }
        from_a = is_last ? size_a : span_at(a, i)->end;
        from_b = is_last ? size_b : span_at(b, i)->end;
    }
    return true;
}

guint tsdl_machine_hash(const struct tsdl_machine *machine, const char *text, size_t size)
{
    const guint n = machine->spans->len;
    size_t after = n ? span_at(machine, n - 1)->end : 0;
    guint hash = (guint)(size - after);
    for (after = MAX(after, size - MIN(size, 256)); after < size; after++) {
        hash = hash * 31 + (guchar)text[after];
    }
    return hash;
}
