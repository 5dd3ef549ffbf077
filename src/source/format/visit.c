/* SPDX-License-Identifier: MIT */
/* All fields of a record in the kernel's own layout, one by one: for printing, for adding up, and
 * as a list of steps for printers that compile it. */
#include "source/format/format.h"

#include <string.h>

#include "base/layout.h"

static uint64_t integer_at(const struct lull_format *format, const struct lull_format_field *field,
                           const uint8_t *p)
{
    bool is_big_endian =
        field->is_aside ? __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ : format->is_big_endian;
    return lull_format_integer(p, field->element_bytes, field->is_signed, is_big_endian);
}

static const uint8_t *location_of(const struct lull_format_field *field,
                                  const struct lull_format_record *record)
{
    const uint8_t *base = field->is_aside ? record->aside : record->data;
    return base + field->offset;
}

/* ---- visiting ---- */

struct visit {
    const struct lull_format *format;
    const struct lull_format_record *record;
    const struct lull_visitor *visitor;
    void *user;
    GError **error;
};

static void visit_integer(const struct visit *v, const struct lull_format_field *field,
                          const char *name, const uint8_t *p)
{
    struct lull_visit_int value = {
        .bits = integer_at(v->format, field, p),
        .is_signed = field->is_signed,
        .base = field->is_address ? 16 : 10,
        .size_bits = (uint8_t)(8 * field->element_bytes),
    };
    v->visitor->integer(v->user, name, &value);
}

static bool visit_field(const struct visit *v, const struct lull_format_field *field)
{
    struct lull_text bytes;
    if (field->kind == LULL_INFO_INT) {
        visit_integer(v, field, field->name, location_of(field, v->record));
        return true;
    }
    if (!lull_format_bytes(v->format, field, v->record, &bytes)) {
        g_set_error(v->error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "event '%s': the bytes of field '%s' are not in the event",
                    v->format->event_class.name, field->name);
        return false;
    }
    if (field->kind == LULL_INFO_TEXT) {
        bytes.length = (uint32_t)strnlen(bytes.data, bytes.length);
        v->visitor->text(v->user, field->name, bytes);
        return true;
    }
    v->visitor->start(v->user, field->name, LULL_VISIT_ARRAY);
    for (uint32_t at = 0; field->element_bytes <= bytes.length - at; at += field->element_bytes) {
        visit_integer(v, field, NULL, (const uint8_t *)bytes.data + at);
    }
    v->visitor->end(v->user, LULL_VISIT_ARRAY);
    return true;
}

static bool visit_scope(const struct visit *v, const char *name, uint32_t first, uint32_t end)
{
    v->visitor->start(v->user, name, LULL_VISIT_SCOPE);
    for (uint32_t i = first; i < end; i++) {
        if (!visit_field(v, &v->format->fields[i])) {
            return false;
        }
    }
    v->visitor->end(v->user, LULL_VISIT_SCOPE);
    return true;
}

static uint32_t n_contexts(const struct lull_format *format)
{
    uint32_t n = 0;
    while (n < format->n_fields && format->fields[n].is_context) {
        n++;
    }
    return n;
}

bool lull_format_visit(const struct lull_format *format, const struct lull_format_record *record,
                       const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct visit v = {format, record, visitor, user, error};
    uint32_t n = n_contexts(format);
    return (n == 0 || visit_scope(&v, "context", 0, n)) &&
           visit_scope(&v, "payload", n, format->n_fields);
}

/* ---- adding up ---- */

/* As lull_session_decode_all() says. */
static uint64_t text_sum(const char *data, uint32_t length)
{
    uint64_t sum = length;
    for (uint32_t at = 0; at < length; at += 8) {
        uint8_t word[8] = {0};
        memcpy(word, data + at, MIN(length - at, 8));
        sum += lull_load_u64(word, false);
    }
    return sum;
}

void lull_format_sum(const struct lull_format *format, const struct lull_format_record *record,
                     struct lull_source_tally *tally)
{
    for (uint32_t i = 0; i < format->n_fields; i++) {
        const struct lull_format_field *field = &format->fields[i];
        struct lull_text bytes;
        if (field->kind == LULL_INFO_INT) {
            tally->fields++;
            tally->checksum += integer_at(format, field, location_of(field, record));
            continue;
        }
        lull_format_bytes(format, field, record, &bytes);
        if (field->kind == LULL_INFO_TEXT) {
            tally->fields++;
            tally->checksum += text_sum(bytes.data, (uint32_t)strnlen(bytes.data, bytes.length));
            continue;
        }
        for (uint32_t at = 0; field->element_bytes <= bytes.length - at;
             at += field->element_bytes) {
            tally->fields++;
            tally->checksum += integer_at(format, field, (const uint8_t *)bytes.data + at);
        }
    }
}

/* ---- layouts ---- */

static struct lull_step *add_step(GArray *steps, enum lull_step_kind kind, const char *name)
{
    const struct lull_step step = {.kind = kind, .name = name, .align = 1, .slot = -1};
    g_array_append_val(steps, step);
    return &g_array_index(steps, struct lull_step, steps->len - 1);
}

static void add_integer(const struct lull_format *format, const struct lull_format_field *field,
                        const char *name, GArray *steps)
{
    struct lull_step *step = add_step(steps, LULL_STEP_INT, name);
    step->size = (uint8_t)(8 * field->element_bytes);
    step->base = field->is_address ? 16 : 10;
    step->is_signed = field->is_signed;
    step->is_big_endian = format->is_big_endian;
}

/* False if the field does not follow the previous one. */
static bool add_field(const struct lull_format *format, const struct lull_format_field *field,
                      uint32_t *at, GArray *steps)
{
    if (field->is_dynamic || field->is_aside || field->offset < *at || field->size == 0 ||
        field->offset - *at > 64) {
        return false;
    }
    for (; *at < field->offset; ++*at) { /* padding */
        struct lull_step *step = add_step(steps, LULL_STEP_INT, NULL);
        step->size = 8;
        step->base = 10;
        step->is_hidden = true;
    }
    *at += field->size;
    if (field->kind == LULL_INFO_INT) {
        add_integer(format, field, field->name, steps);
    } else if (field->kind == LULL_INFO_TEXT) {
        add_step(steps, LULL_STEP_TEXT, field->name)->count = field->size;
    } else {
        uint32_t start = steps->len;
        add_step(steps, LULL_STEP_ARRAY, field->name)->count = field->size / field->element_bytes;
        add_integer(format, field, NULL, steps);
        add_step(steps, LULL_STEP_ARRAY_END, NULL)->target = steps->len;
        g_array_index(steps, struct lull_step, start).target = steps->len;
    }
    return true;
}

static bool add_scope(const struct lull_format *format, const char *name, uint32_t first,
                      uint32_t end, uint32_t *at, GArray *steps)
{
    add_step(steps, LULL_STEP_SCOPE, name);
    for (uint32_t i = first; i < end; i++) {
        if (!add_field(format, &format->fields[i], at, steps)) {
            return false;
        }
    }
    add_step(steps, LULL_STEP_SCOPE_END, name);
    return true;
}

struct lull_layout *lull_format_layout(const struct lull_format *format)
{
    GArray *steps = g_array_new(FALSE, TRUE, sizeof(struct lull_step));
    uint32_t n = n_contexts(format), at = 0;
    if ((n > 0 && !add_scope(format, "context", 0, n, &at, steps)) ||
        !add_scope(format, "payload", n, format->n_fields, &at, steps) || at > format->least_size) {
        g_array_unref(steps);
        return NULL;
    }
    add_step(steps, LULL_STEP_DONE, NULL);
    struct lull_layout *layout = g_new0(struct lull_layout, 1);
    layout->owned = g_ptr_array_new();
    layout->n_steps = steps->len;
    layout->steps = (struct lull_step *)(void *)g_array_free(steps, FALSE);
    return layout;
}
