/* SPDX-License-Identifier: MIT */
/* Trace writer: field tables as TSDL text, in the spelling of LTTng 2.13. */
#include "lib/ctf_internal.h"

static void indent(GString *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++) {
        g_string_append_c(out, '\t');
    }
}

static void print_order(GString *out, const struct ctf_field *field)
{
    if (field->order != CTF_NATIVE) {
        g_string_append_printf(out, " byte_order = %s;", field->order == CTF_BIG ? "be" : "le");
    }
}

static void print_int(GString *out, const struct ctf_field *field, bool natural_align)
{
    g_string_append_printf(
        out, "integer { size = %u; align = %u; signed = %d; encoding = %s; base = %u;", field->size,
        ctf_field_align(field, natural_align), field->is_signed, field->is_text ? "UTF8" : "none",
        field->base ? field->base : 10);
    print_order(out, field);
    g_string_append(out, " }");
}

static void print_enum(GString *out, const struct ctf_field *field, unsigned depth,
                       bool natural_align)
{
    g_string_append(out, "enum : ");
    print_int(out, field, natural_align);
    g_string_append(out, " {\n");
    for (const struct ctf_label *l = field->labels; l->label; l++) {
        indent(out, depth + 1);
        g_string_append_printf(out, "\"_%s\" = %" G_GINT64_FORMAT, l->label, l->lower);
        if (l->upper != l->lower) {
            g_string_append_printf(out, " ... %" G_GINT64_FORMAT, l->upper);
        }
        g_string_append(out, ",\n");
    }
    indent(out, depth);
    g_string_append_c(out, '}');
}

static void print_members(GString *out, const struct ctf_field *members, unsigned depth,
                          bool natural_align);

static void print_type(GString *out, const struct ctf_field *field, unsigned depth,
                       bool natural_align)
{
    switch (field->kind) {
    case CTF_INT:
        if (field->labels) {
            print_enum(out, field, depth, natural_align);
        } else {
            print_int(out, field, natural_align);
        }
        break;
    case CTF_FLOAT:
        g_string_append_printf(out, "floating_point { exp_dig = %d; mant_dig = %d; align = %u;",
                               field->size == 32 ? 8 : 11, field->size == 32 ? 24 : 53,
                               ctf_field_align(field, natural_align));
        print_order(out, field);
        g_string_append(out, " }");
        break;
    case CTF_STRING:
        g_string_append(out, "string");
        break;
    case CTF_STRUCT:
        ctf_print_struct(out, field->members, depth, natural_align);
        if (field->align) {
            g_string_append_printf(out, " align(%u)", field->align);
        }
        break;
    case CTF_ARRAY:
    case CTF_SEQUENCE:
        print_type(out, field->members, depth, natural_align);
        break;
    case CTF_VARIANT:
        g_string_append_printf(out, "variant <_%s> {\n", field->reference);
        print_members(out, field->members, depth + 1, natural_align);
        indent(out, depth);
        g_string_append_c(out, '}');
        break;
    case CTF_END:
        g_assert_not_reached();
    }
}

static void print_members(GString *out, const struct ctf_field *members, unsigned depth,
                          bool natural_align)
{
    for (const struct ctf_field *f = members; f && f->kind != CTF_END; f++) {
        indent(out, depth);
        print_type(out, f, depth, natural_align);
        g_string_append_printf(out, " _%s", f->name);
        if (f->kind == CTF_ARRAY) {
            g_string_append_printf(out, "[%u]", f->length);
        } else if (f->kind == CTF_SEQUENCE) {
            g_string_append_printf(out, "[ _%s ]", f->reference);
        }
        g_string_append(out, ";\n");
    }
}

void ctf_print_struct(GString *out, const struct ctf_field *members, unsigned depth,
                      bool natural_align)
{
    g_string_append(out, "struct {\n");
    print_members(out, members, depth + 1, natural_align);
    indent(out, depth);
    g_string_append_c(out, '}');
}
