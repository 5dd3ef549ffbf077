/* Lists the fields of an event class: the leaves of its field classes, each with the path that a
 * binding would name it by. Follows the same rules as visit.c (what is text) and plan_bind.c (what
 * can be bound). */
#include "ctf/fields.h"

#include "ctf/plan.h"

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
        if (members[i].name[0] == '\0')
            continue;
        if (length > 0 && listing->path->str[length - 1] != '.')
            g_string_append_c(listing->path, '.');
        g_string_append(listing->path, members[i].name);
        list_field(listing, members[i].fc, is_optional, nesting);
        g_string_truncate(listing->path, length);
    }
}

static void describe_elements(struct lull_field_info *info, const struct lull_fc *element)
{
    uint32_t size = element->kind == LULL_FC_INT ? element->integer.size : 0;
    info->kind = LULL_INFO_ARRAY;
    if ((size != 8 && size != 16 && size != 32 && size != 64) || element->alignment < 8 ||
        element->alignment > size)
        return;
    if (size == 8 && element->integer.encoding != LULL_ENCODING_NONE) {
        info->kind = LULL_INFO_TEXT;
        return;
    }
    info->kind = LULL_INFO_BYTES;
    info->size_bits = (uint8_t)size;
    info->is_signed = element->integer.is_signed;
    info->is_big_endian = element->integer.is_big_endian;
}

static void list_field(const struct listing *listing, const struct lull_fc *fc, bool is_optional,
                       unsigned nesting)
{
    struct lull_field_info info = {.is_optional = is_optional};
    if (nesting >= LULL_FC_DEPTH)
        return;
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        list_members(listing, fc->structure.members, fc->structure.n_members, is_optional,
                     nesting + 1);
        return;
    case LULL_FC_VARIANT:
        list_members(listing, fc->variant.options, fc->variant.n_options, true, nesting + 1);
        return;
    case LULL_FC_INT:
        info.kind = fc->integer.enumeration != NULL ? LULL_INFO_ENUM : LULL_INFO_INT;
        info.size_bits = (uint8_t)fc->integer.size;
        info.is_signed = fc->integer.is_signed;
        info.is_big_endian = fc->integer.is_big_endian;
        break;
    case LULL_FC_FLOAT:
        info.kind = LULL_INFO_REAL;
        info.size_bits = (uint8_t)fc->floating.size;
        info.is_signed = true;
        info.is_big_endian = fc->floating.is_big_endian;
        break;
    case LULL_FC_STRING:
        info.kind = LULL_INFO_TEXT;
        break;
    case LULL_FC_ARRAY:
        describe_elements(&info, fc->array.element);
        info.length = fc->array.length;
        break;
    case LULL_FC_SEQUENCE:
        describe_elements(&info, fc->sequence.element);
        break;
    }
    info.path = listing->path->str;
    listing->visit(listing->user, &info);
}

static void list_scope(struct listing *listing, const char *prefix, const struct lull_fc *fc)
{
    if (fc == NULL)
        return;
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
