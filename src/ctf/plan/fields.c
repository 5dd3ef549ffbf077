/* SPDX-License-Identifier: MIT */
/* Lists the fields of an event class: the leaves of its field classes, each with the path that a
 * binding would name it by. Follows the same rules as visit.c (what is text) and plan_bind.c (what
 * can be bound). */
#include "ctf/plan/fields.h"

#include <string.h>

#include "ctf/plan/plan.h"
#include "ctf/schema/text.h"

struct listing {
    void (*visit)(void *user, const struct lull_field_info *field);
    void *user;
    GString *path;
};

static void list_field(const struct listing *listing, const struct lull_fc *fc, bool is_optional,
                       unsigned nesting);

static void list_members(const struct listing *listing, const struct lull_member *members,
                         uint32_t n, bool is_optional, unsigned nesting)
{
    size_t length = listing->path->len;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = members[i].name;
        if (name[0] == '\0' || strchr(name, '.')) {
            continue;
        }
        /* A member of the payload that is named as a scope. */
        if (length == 0 && (strcmp(name, "context") == 0 || strcmp(name, "payload") == 0)) {
            g_string_append(listing->path, "payload");
        }
        if (listing->path->len > 0 && listing->path->str[listing->path->len - 1] != '.') {
            g_string_append_c(listing->path, '.');
        }
        g_string_append(listing->path, name);
        list_field(listing, members[i].fc, is_optional, nesting);
        g_string_truncate(listing->path, length);
    }
}

static void describe_integer(struct lull_field_info *info, const struct lull_fc *fc)
{
    info->size_bits = (uint8_t)fc->integer.size;
    info->is_signed = fc->integer.is_signed;
    info->is_big_endian = fc->integer.is_big_endian;
}

static void describe_elements(struct lull_field_info *info, const struct lull_fc *fc,
                              const struct lull_fc *element)
{
    enum lull_bytes_form form = lull_fc_form(fc);
    if (form == LULL_BYTES_TEXT) {
        info->kind = LULL_INFO_TEXT;
        if (element->integer.encoding >= LULL_ENCODING_UTF16BE) {
            info->length = 0; /* as UTF-8 it may be longer */
        }
    } else if (form == LULL_BYTES_BLOB ||
               (element->kind == LULL_FC_INT && lull_ctf_plan_can_bind(fc, LULL_BIND_RAW) &&
                !element->integer.is_bit_reversed &&
                element->integer.meaning != LULL_INT_BOOLEAN)) {
        info->kind = LULL_INFO_BYTES;
        describe_integer(info, element);
    }
}

void lull_ctf_describe(const struct lull_fc *fc, struct lull_field_info *info)
{
    info->kind = LULL_INFO_ARRAY;
    switch (fc->kind) {
    case LULL_FC_INT:
    case LULL_FC_VARINT:
        info->kind = fc->integer.enumeration && fc->integer.meaning == LULL_INT_NUMBER
                         ? LULL_INFO_ENUM
                         : LULL_INFO_INT;
        describe_integer(info, fc);
        break;
    case LULL_FC_FLOAT:
        info->kind = LULL_INFO_REAL;
        info->size_bits = (uint8_t)fc->floating.size;
        info->is_signed = true;
        info->is_big_endian = fc->floating.is_big_endian;
        break;
    case LULL_FC_STRING:
        info->kind = LULL_INFO_TEXT;
        break;
    case LULL_FC_ARRAY:
        info->length = fc->array.length;
        describe_elements(info, fc, fc->array.element);
        break;
    case LULL_FC_SEQUENCE:
        describe_elements(info, fc, fc->sequence.element);
        break;
    case LULL_FC_STRUCT:
    case LULL_FC_OPTIONAL:
    case LULL_FC_VARIANT:
        break;
    }
}

static void list_field(const struct listing *listing, const struct lull_fc *fc, bool is_optional,
                       unsigned nesting)
{
    struct lull_field_info info = {.path = listing->path->str, .is_optional = is_optional};
    if (nesting >= LULL_FC_DEPTH) {
        return;
    }
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        list_members(listing, fc->structure.members, fc->structure.n_members, is_optional,
                     nesting + 1);
        return;
    case LULL_FC_VARIANT:
        list_members(listing, fc->variant.options, fc->variant.n_options, true, nesting + 1);
        return;
    case LULL_FC_OPTIONAL:
        list_field(listing, fc->optional.content, true, nesting + 1);
        return;
    default:
        lull_ctf_describe(fc, &info);
        listing->visit(listing->user, &info);
    }
}

static void list_scope(struct listing *listing, const char *prefix, const struct lull_fc *fc)
{
    if (!fc) {
        return;
    }
    g_string_assign(listing->path, prefix);
    list_field(listing, fc, false, 0);
}

void lull_ctf_each_field(const struct lull_stream_decl *stream, const struct lull_event_decl *event,
                         void (*visit)(void *user, const struct lull_field_info *field), void *user)
{
    struct listing listing = {.visit = visit, .user = user, .path = g_string_new(NULL)};
    list_scope(&listing, "context.", stream->event_context);
    list_scope(&listing, "context.", event->context);
    list_scope(&listing, "", event->payload);
    g_string_free(listing.path, TRUE);
}
