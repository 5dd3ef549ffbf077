/* SPDX-License-Identifier: MIT */
/* Trace writer: from values given as text to bits, after CTF 1.8.3, section 4. */
#include "lib/ctf_internal.h"

#include <string.h>

void ctf_bits_align(struct ctf_bits *bits, unsigned alignment)
{
    bits->at = (bits->at + alignment - 1) / alignment * alignment;
}

void ctf_bits_put(struct ctf_bits *bits, uint64_t value, unsigned size, bool big_endian)
{
    uint64_t end_byte = (bits->at + size + 7) / 8;
    if (bits->bytes->len < end_byte) {
        guint old = bits->bytes->len;
        g_byte_array_set_size(bits->bytes, (guint)end_byte);
        memset(bits->bytes->data + old, 0, end_byte - old);
    }
    for (unsigned i = 0; i < size; i++) {
        uint64_t at = bits->at + i;
        unsigned bit = big_endian ? (value >> (size - 1 - i)) & 1 : (value >> i) & 1;
        unsigned shift = big_endian ? 7 - at % 8 : at % 8;
        uint8_t *byte = &bits->bytes->data[at / 8];
        *byte = (uint8_t)((*byte & ~(1u << shift)) | bit << shift);
    }
    bits->at += size;
}

unsigned ctf_members_align(const struct ctf_field *members, bool natural_align)
{
    unsigned align = 1;
    for (const struct ctf_field *f = members; f && f->kind != CTF_END; f++) {
        align = MAX(align, ctf_field_align(f, natural_align));
    }
    return align;
}

unsigned ctf_field_align(const struct ctf_field *field, bool natural_align)
{
    switch (field->kind) {
    case CTF_INT:
    case CTF_FLOAT:
        if (field->align) {
            return field->align;
        }
        if (field->size % 8) {
            return 1;
        }
        return natural_align && !(field->size & (field->size - 1)) ? field->size : 8;
    case CTF_STRING:
        return 8;
    case CTF_ARRAY:
    case CTF_SEQUENCE:
        return ctf_field_align(field->members, natural_align);
    case CTF_STRUCT:
        return MAX(MAX(field->align, 1u), ctf_members_align(field->members, natural_align));
    default: /* a variant is aligned as the option that is selected */
        return 1;
    }
}

static uint64_t label_value(const struct ctf_field *field, const char *label)
{
    for (const struct ctf_label *l = field->labels; l && l->label; l++) {
        if (!strcmp(l->label, label)) {
            return (uint64_t)l->lower;
        }
    }
    g_error("ctf writer: no label %s in %s", label, field->name);
}

static void encode_int(struct ctf_bits *bits, const struct ctf_field *field, const char *text)
{
    uint64_t value = 0;
    char *end = NULL;
    if (text && field->labels && g_ascii_isalpha(text[0])) {
        value = label_value(field, text);
    } else if (text) {
        value = text[0] == '-' ? (uint64_t)g_ascii_strtoll(text, &end, 0)
                               : g_ascii_strtoull(text, &end, 0);
        if (!end || *end || end == text) {
            g_error("ctf writer: %s is not an integer for %s", text, field->name);
        }
    }
    bool big_endian = field->order == CTF_NATIVE ? bits->big_endian : field->order == CTF_BIG;
    ctf_bits_put(bits, value, field->size, big_endian);
}

static void encode_float(struct ctf_bits *bits, const struct ctf_field *field, const char *text)
{
    double number = text ? g_ascii_strtod(text, NULL) : 0;
    float single = (float)number;
    uint64_t value = 0;
    uint32_t value32 = 0;
    memcpy(&value, &number, 8);
    memcpy(&value32, &single, 4);
    bool big_endian = field->order == CTF_NATIVE ? bits->big_endian : field->order == CTF_BIG;
    ctf_bits_put(bits, field->size == 32 ? value32 : value, field->size, big_endian);
}

static void encode_list(struct ctf_bits *bits, const struct ctf_field *field,
                        const struct ctf_value *value)
{
    const struct ctf_field *element = field->members;
    if (value && value->text && element->is_text) {
        size_t length = field->kind == CTF_ARRAY ? field->length : strlen(value->text);
        if (strlen(value->text) > length) {
            g_error("ctf writer: %s is too long for %s", value->text, field->name);
        }
        for (size_t i = 0; i < length; i++) {
            ctf_bits_align(bits, ctf_field_align(element, bits->natural_align));
            ctf_bits_put(bits, i < strlen(value->text) ? (uint8_t)value->text[i] : 0, 8, false);
        }
        return;
    }
    size_t given = value && value->items ? value->items->len : 0;
    size_t length = field->kind == CTF_ARRAY ? field->length : given;
    if (given > length) {
        g_error("ctf writer: too many elements for %s", field->name);
    }
    for (size_t i = 0; i < length; i++) {
        ctf_encode(bits, element, i < given ? g_ptr_array_index(value->items, i) : NULL);
    }
}

void ctf_encode(struct ctf_bits *bits, const struct ctf_field *field, const struct ctf_value *value)
{
    const char *text = value ? value->text : NULL;
    ctf_bits_align(bits, ctf_field_align(field, bits->natural_align));
    switch (field->kind) {
    case CTF_INT:
        encode_int(bits, field, text);
        break;
    case CTF_FLOAT:
        encode_float(bits, field, text);
        break;
    case CTF_STRING:
        for (const char *c = text ? text : ""; *c; c++) {
            ctf_bits_put(bits, (uint8_t)*c, 8, false);
        }
        ctf_bits_put(bits, 0, 8, false);
        break;
    case CTF_STRUCT:
        ctf_encode_members(bits, field->members, value);
        break;
    case CTF_ARRAY:
    case CTF_SEQUENCE:
        encode_list(bits, field, value);
        break;
    case CTF_VARIANT: {
        const struct ctf_field *option = field->members;
        const struct ctf_value *inner = NULL;
        if (value) {
            if (!value->items || value->items->len != 1) {
                g_error("ctf writer: the variant %s wants {option=…}", field->name);
            }
            inner = g_ptr_array_index(value->items, 0);
            while (option->kind != CTF_END && strcmp(option->name, inner->name)) {
                option++;
            }
            if (option->kind == CTF_END) {
                g_error("ctf writer: no option %s in %s", inner->name, field->name);
            }
        }
        ctf_encode(bits, option, inner);
        break;
    }
    case CTF_END:
        g_assert_not_reached();
    }
}

/* What a length or tag must be for the later field that refers to it; NULL if none does. */
static struct ctf_value *implied_value(const struct ctf_field *field,
                                       const struct ctf_value *values)
{
    for (const struct ctf_field *f = field + 1; f->kind != CTF_END; f++) {
        if (!f->reference || strcmp(f->reference, field->name)) {
            continue;
        }
        const struct ctf_value *value = ctf_value_member(values, f->name);
        struct ctf_value *implied = g_new0(struct ctf_value, 1);
        if (f->kind == CTF_SEQUENCE) {
            size_t length = !value ? 0 : value->text ? strlen(value->text) : value->items->len;
            implied->text = g_strdup_printf("%zu", length);
        } else {
            const struct ctf_value *option =
                value && value->items ? g_ptr_array_index(value->items, 0) : NULL;
            implied->text = g_strdup_printf(
                "%" G_GINT64_FORMAT,
                (int64_t)label_value(field, option ? option->name : f->members[0].name));
        }
        return implied;
    }
    return NULL;
}

static bool is_member(const struct ctf_field *members, const char *name)
{
    for (const struct ctf_field *f = members; f->kind != CTF_END; f++) {
        if (!strcmp(f->name, name)) {
            return true;
        }
    }
    return false;
}

void ctf_encode_members(struct ctf_bits *bits, const struct ctf_field *members,
                        const struct ctf_value *value)
{
    for (size_t i = 0; value && value->items && i < value->items->len; i++) {
        const struct ctf_value *item = g_ptr_array_index(value->items, i);
        if (!item->name || (!is_member(members, item->name) && strcmp(item->name, "context"))) {
            g_error("ctf writer: no field %s", item->name);
        }
    }
    ctf_bits_align(bits, ctf_members_align(members, bits->natural_align));
    for (const struct ctf_field *f = members; f->kind != CTF_END; f++) {
        const struct ctf_value *given = ctf_value_member(value, f->name);
        struct ctf_value *implied = given ? NULL : implied_value(f, value);
        ctf_encode(bits, f, given ? given : implied);
        ctf_value_free(implied);
    }
}
