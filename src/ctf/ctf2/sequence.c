/* SPDX-License-Identifier: MIT */
/* JSON text sequences (RFC 7464), which CTF 2 metadata is: finds the fragments, has each parsed as
 * JSON (strictly: RFC 8259, UTF-8) and read, and then all of them resolved. */
#include "ctf/ctf2/ctf2.h"

#include "ctf/ctf2/fields.h"

#include <string.h>

#define RECORD_SEPARATOR 0x1e
/* A class in a structure is four levels deeper than the structure; plus the fragment's own. */
#define JSON_DEPTH (4 * DRAFT_MAX_DEPTH + 16)

static bool fail_at(struct draft_source *source, size_t offset, const char *why)
{
    source->failed = true;
    g_set_error(source->error, LULL_ERROR, LULL_ERROR_FORMAT,
                "%s: fragment %u at byte %zu: bad JSON at byte %zu: %s", source->name,
                source->fragment, source->offset, offset, why);
    return false;
}

/* The digits from `text` on, up to `end`, as a number that needs more than 64 bits. */
static bool is_huge(const char *text, const char *end, bool is_negative)
{
    const char *largest = is_negative ? "9223372036854775808" : "18446744073709551615";
    size_t n = (size_t)(end - text), limit = strlen(largest);
    return n > limit || (n == limit && memcmp(text, largest, n) > 0);
}

/* Is there an integer beyond 64 bits in this JSON, which is known to be good? */
static bool has_huge(const char *text, size_t size)
{
    const char *end = text + size;
    bool in_text = false;

    for (const char *c = text; c < end; c++) {
        if (in_text && *c == '\\') {
            c++;
        } else if (*c == '"') {
            in_text = !in_text;
        } else if (!in_text && g_ascii_isdigit(*c)) {
            const char *first = c;
            while (c < end && g_ascii_isdigit(*c)) {
                c++;
            }
            if (is_huge(first, c, first > text && first[-1] == '-')) {
                return true;
            }
        }
    }
    return false;
}

/* One fragment; `room` is its size with the white space after it, which ends a number. */
static bool parse_text(struct draft_tree *tree, struct json_tokener *tokener, const char *text,
                       size_t size, size_t room)
{
    struct draft_source *source = tree->source;

    json_tokener_reset(tokener);
    struct json_object *value = json_tokener_parse_ex(tokener, text, (int)room);
    enum json_tokener_error status = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    bool ok;
    if (status == json_tokener_continue) {
        ok = fail_at(source, source->offset + size, "it ends in the middle");
    } else if (status != json_tokener_success) {
        ok = fail_at(source, source->offset + end, json_tokener_error_desc(status));
    } else if (end < size) {
        ok = fail_at(source, source->offset + end, "there is something after its end");
    } else {
        source->has_huge = has_huge(text, size);
        ctf2_modernise(value);
        ok = ctf2_parse_fragment(tree, &(struct ctf2_at){.source = source, .value = value});
    }
    json_object_put(value);
    return ok;
}

static bool parse_sequence(struct draft_tree *tree, const char *text, size_t size)
{
    struct draft_source *source = tree->source;
    struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
    bool ok = true;

    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
                                        JSON_TOKENER_VALIDATE_UTF8);
    for (size_t start = 0; ok && start < size;) {
        if (text[start] != RECORD_SEPARATOR) { /* only before the first */
            ok = fail_at(source, start, "expected a record separator (0x1e)");
            break;
        }
        start++;
        const char *next = memchr(text + start, RECORD_SEPARATOR, size - start);
        size_t end = next ? (size_t)(next - text) : size;
        size_t first = start, last = end;
        while (first < last && strchr(" \t\r\n", text[first]) && text[first]) {
            first++;
        }
        while (last > first && strchr(" \t\r\n", text[last - 1]) && text[last - 1]) {
            last--;
        }
        if (start < end) { /* several separators in a row separate nothing */
            source->fragment++;
            source->offset = first;
            ok = first == last ? fail_at(source, first, "there is nothing")
                               : parse_text(tree, tokener, text + first, last - first, end - first);
        }
        start = end;
    }
    json_tokener_free(tokener);
    if (ok && source->fragment == 0) {
        ok = fail_at(source, size, "there is nothing");
    }
    return ok;
}

struct lull_schema *ctf2_parse(const char *name, const char *text, size_t size, GError **error)
{
    struct draft_source source = {.name = name, .error = error};
    struct draft_tree tree;

    draft_tree_init(&tree, &source);
    tree.major = 2;
    struct lull_schema *schema = parse_sequence(&tree, text, size) ? ctf2_build(&tree) : NULL;
    draft_tree_clear(&tree, schema);
    return schema;
}
