/* SPDX-License-Identifier: MIT */
/* What a subscription wants of events in the kernel's own layout, as a list of loads for each
 * class; and the fields of such classes as others ask for them. */
#include "source/format/format.h"

#include <string.h>

enum load_code { LOAD_INT, LOAD_ASIDE_INT, LOAD_TEXT, LOAD_RAW };

struct lull_format_load {
    uint8_t code;
    uint8_t bytes; /* of an integer */
    bool is_signed, is_big_endian;
    uint32_t offset; /* in the record */
    uint32_t dst;    /* from lull_event.fields */
    const struct lull_format_field *field;
};

/* ---- values ---- */

bool lull_format_bytes(const struct lull_format *format, const struct lull_format_field *field,
                       const struct lull_format_record *record, struct lull_text *bytes)
{
    uint64_t start = field->offset, size = field->size;
    if (field->is_aside) {
        memcpy(bytes, (const uint8_t *)record->aside + field->offset, sizeof *bytes);
        return true;
    }
    *bytes = (struct lull_text){"", 0};
    if (field->is_dynamic) {
        uint32_t word = lull_load_u32(record->data + field->offset, format->is_big_endian);
        start = word & 0xffff;
        size = word >> 16;
        if (size == 0) {
            return true;
        }
        if (field->is_relative) {
            start += field->offset + field->size;
        }
        if (start > record->size || size > record->size - start) {
            return false;
        }
    } else if (start >= record->size) {
        return true;
    } else if (size == 0 || size > record->size - start) {
        size = record->size - start;
    }
    *bytes = (struct lull_text){(const char *)record->data + start, (uint32_t)size};
    return true;
}

static void set_u64(uint8_t *fields, uint32_t at, uint64_t v)
{
    memcpy(fields + at, &v, sizeof v);
}

static void load_bytes(const struct lull_format *format, const struct lull_format_load *load,
                       const struct lull_format_record *record, uint8_t *fields)
{
    struct lull_text bytes;
    lull_format_bytes(format, load->field, record, &bytes);
    if (load->code == LOAD_TEXT) {
        bytes.length = (uint32_t)strnlen(bytes.data, bytes.length);
    }
    memcpy(fields + load->dst, &bytes, sizeof bytes);
}

void lull_format_load(const struct lull_format *format, const struct lull_format_record *record,
                      uint8_t *fields)
{
    if (format->clear_size > 0) {
        memset(fields, 0, format->clear_size);
    }
    set_u64(fields, 0, format->have);
    if (format->extra_offset != 0) {
        set_u64(fields, format->extra_offset, format->extra_have);
    }
    for (uint32_t i = 0; i < format->n_loads; i++) {
        const struct lull_format_load *load = &format->loads[i];
        if (load->code == LOAD_INT) {
            set_u64(fields, load->dst,
                    lull_format_integer(record->data + load->offset, load->bytes, load->is_signed,
                                        load->is_big_endian));
        } else if (load->code == LOAD_ASIDE_INT) {
            set_u64(fields, load->dst,
                    lull_format_integer((const uint8_t *)record->aside + load->offset, load->bytes,
                                        load->is_signed, load->is_big_endian));
        } else {
            load_bytes(format, load, record, fields);
        }
    }
}

/* ---- subscriptions ---- */

const struct lull_format_field *lull_format_find_field(const struct lull_format *format,
                                                       const char *path)
{
    bool in_context = g_str_has_prefix(path, "context.");
    if (in_context || g_str_has_prefix(path, "payload.")) {
        path += strlen("context.");
    }
    for (uint32_t i = 0; i < format->n_fields + format->n_hidden; i++) {
        if (format->fields[i].is_context == in_context &&
            strcmp(format->fields[i].name, path) == 0) {
            return &format->fields[i];
        }
    }
    return NULL;
}

static bool can_bind(const struct lull_format_field *field, enum lull_bind_kind kind)
{
    switch (kind) {
    case LULL_BIND_INT:
        return field->kind == LULL_INFO_INT;
    case LULL_BIND_TEXT:
        return field->kind == LULL_INFO_TEXT;
    case LULL_BIND_RAW:
        return field->kind == LULL_INFO_TEXT || field->kind == LULL_INFO_BYTES;
    default:
        return false;
    }
}

static bool add_load(const struct lull_format *format, const struct lull_binding *binding,
                     uint32_t base, GArray *loads)
{
    const struct lull_format_field *field = NULL;
    for (const char *const *path = binding->paths; *path && !field; path++) {
        field = lull_format_find_field(format, *path);
        if (field && !can_bind(field, binding->kind)) {
            field = NULL;
        }
    }
    if (!field) {
        return false;
    }
    struct lull_format_load load = {
        .code = LOAD_INT,
        .bytes = field->element_bytes,
        .is_signed = field->is_signed,
        .is_big_endian =
            field->is_aside ? __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ : format->is_big_endian,
        .offset = field->offset,
        .dst = base + binding->offset,
        .field = field,
    };
    if (binding->kind == LULL_BIND_INT) {
        load.code = field->is_aside ? LOAD_ASIDE_INT : LOAD_INT;
    } else {
        load.code = binding->kind == LULL_BIND_TEXT ? LOAD_TEXT : LOAD_RAW;
    }
    g_array_append_val(loads, load);
    return true;
}

static uint64_t add_loads(const struct lull_format *format, const struct lull_binding *bindings,
                          uint32_t n, uint32_t base, GArray *loads)
{
    uint64_t have = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (add_load(format, &bindings[i], base, loads)) {
            have |= UINT64_C(1) << (i & 63);
        }
    }
    return have;
}

static void subscribe(struct lull_format *format, const struct lull_subscription *subscriptions,
                      int32_t number, uint32_t max_fields_size, const struct lull_fields *extra)
{
    g_clear_pointer(&format->loads, g_free);
    format->n_loads = 0;
    format->subscription = number;
    format->clear_size = 0;
    format->extra_offset = 0;
    if (number < 0) {
        return;
    }
    const struct lull_subscription *s = &subscriptions[number];
    GArray *loads = g_array_new(FALSE, TRUE, sizeof(struct lull_format_load));
    format->have = add_loads(format, s->bindings, s->n_bindings, 0, loads);
    if (loads->len < s->n_bindings) {
        format->clear_size = s->fields_size;
    }
    if (extra && extra->n_bindings > 0) {
        uint32_t before = loads->len;
        format->extra_offset = max_fields_size;
        format->extra_have =
            add_loads(format, extra->bindings, extra->n_bindings, max_fields_size, loads);
        if (loads->len - before < extra->n_bindings) {
            format->clear_size = max_fields_size + extra->size;
        }
    }
    format->n_loads = loads->len;
    format->loads = (struct lull_format_load *)(void *)g_array_free(loads, FALSE);
}

void lull_formats_subscribe(struct lull_formats *formats,
                            const struct lull_subscription *subscriptions, const int32_t *of_class,
                            uint32_t max_fields_size, const struct lull_fields *const *extra)
{
    for (guint i = 0; i < formats->all->len; i++) {
        subscribe(formats->all->pdata[i], subscriptions, of_class[i], max_fields_size, extra[i]);
    }
}

/* ---- descriptions ---- */

static void describe(const struct lull_format *format, const struct lull_format_field *field,
                     struct lull_field_info *info)
{
    *info = (struct lull_field_info){
        .kind = field->kind,
        .is_signed = field->is_signed,
        .is_big_endian = field->kind != LULL_INFO_TEXT && !field->is_aside && format->is_big_endian,
        .size_bits = field->kind == LULL_INFO_TEXT ? 0 : (uint8_t)(field->element_bytes * 8),
        .length = field->kind == LULL_INFO_INT || field->is_dynamic || field->is_aside
                      ? 0
                      : field->size / field->element_bytes,
    };
}

void lull_format_each_field(const struct lull_format *format,
                            void (*visit)(void *user, const struct lull_field_info *field),
                            void *user)
{
    for (uint32_t i = 0; i < format->n_fields; i++) {
        const struct lull_format_field *field = &format->fields[i];
        struct lull_field_info info;
        g_autofree char *path = g_strconcat(field->is_context ? "context." : "", field->name, NULL);
        describe(format, field, &info);
        info.path = path;
        visit(user, &info);
    }
}

bool lull_format_describe(const struct lull_format *format, const char *path,
                          struct lull_field_type *type)
{
    const struct lull_format_field *field = lull_format_find_field(format, path);
    if (!field) {
        return false;
    }
    *type = (struct lull_field_type){.labels = NULL};
    describe(format, field, &type->info);
    if (field->kind != LULL_INFO_INT) {
        type->element_bytes = field->element_bytes;
    }
    return true;
}
