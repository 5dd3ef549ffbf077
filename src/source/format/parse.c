/* SPDX-License-Identifier: MIT */
/* From the text of a tracepoint's `format` file to a class of events. The parser is
 * libtraceevent's; what it says is checked, since the text comes from a file. */
#include "source/format/format.h"

#include <string.h>
#include <traceevent/event-parse.h>

/* No tracepoint comes near; longer ones are not shown to the parser. */
#define MAX_TEXT (UINT32_C(1) << 20)
/* Records are smaller than this. */
#define MAX_RECORD (UINT32_C(1) << 24)

/* libtraceevent expects texts of a kernel and falls over others, so it is shown nothing but what
 * has this form, with a field a line. How the kernel would print the event is left out:
 * nobody here wants it. Repetitions do not give back, so that matching takes linear time. */
#define LETTER "[A-Za-z0-9_]" /* PCRE's own class of words has letters that are not ASCII */
#define WORD "[A-Za-z_]" LETTER "*+"
#define ATTRIBUTE "__attribute__\\(\\(" LETTER "++(?:\\(\"" LETTER "++\"\\))?+\\)\\)"
static const char head_pattern[] = "\\Aname: [A-Za-z0-9_.:-]++\nID: [0-9]{1,9}+\nformat:\n";
/* Some kernels write lengths as they are in the source: "30+1", "I2C_SMBUS_BLOCK_MAX + 2". */
#define LENGTH "(?:" LETTER "*+|" LETTER "++ ?\\+ ?[0-9]{1,6}+)"
#define TYPE "(?:(?:" ATTRIBUTE "|" WORD "|\\*) ?+)+"
static const char field_pattern[] =
    "\\A\tfield:(?:(?:__data_loc|__rel_loc) " TYPE "(?:\\[" LETTER "*+\\] )?" WORD
    "|(?!__data_loc|__rel_loc)" TYPE WORD "(?:\\[" LENGTH
    "\\])?);\toffset:[0-9]{1,9};\tsize:[0-9]{1,9};(?:\tsigned:[01];)?\n";

struct lull_formats *lull_formats_new(bool is_big_endian, uint32_t long_bytes)
{
    struct lull_formats *formats = g_new0(struct lull_formats, 1);
    struct tep_handle *parser = tep_alloc();
    formats->is_big_endian = is_big_endian;
    formats->id_offset = UINT32_MAX;
    formats->all = g_ptr_array_new();
    formats->owned = g_ptr_array_new_with_free_func(g_free);
    formats->by_id = g_new0(struct lull_format *, LULL_FORMAT_IDS);
    formats->parser = parser;
    formats->head = g_regex_new(head_pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    formats->field = g_regex_new(field_pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    if (parser) {
        tep_set_loglevel(TEP_LOG_NONE);
        tep_set_file_bigendian(parser, is_big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
        tep_set_local_bigendian(parser, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? TEP_BIG_ENDIAN
                                                                               : TEP_LITTLE_ENDIAN);
        tep_set_long_size(parser, (int)long_bytes);
    }
    return formats;
}

void lull_formats_free(struct lull_formats *formats)
{
    if (!formats) {
        return;
    }
    for (guint i = 0; i < formats->all->len; i++) {
        g_free(((struct lull_format *)formats->all->pdata[i])->loads);
    }
    g_ptr_array_unref(formats->all);
    g_ptr_array_unref(formats->owned);
    if (formats->parser) {
        tep_free(formats->parser);
    }
    g_regex_unref(formats->head);
    g_regex_unref(formats->field);
    g_free(formats->by_id);
    g_free(formats->classes);
    g_free(formats);
}

static const char *keep(struct lull_formats *formats, const char *text)
{
    char *copy = g_strdup(text);
    g_ptr_array_add(formats->owned, copy);
    return copy;
}

/* ---- fields ---- */

static bool is_width(uint32_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* The width of elements that libtraceevent does not know: of arrays without a length, and of those
 * that old kernels describe as one field of size 0. */
static uint8_t width_of_type(const struct lull_formats *formats, const char *type)
{
    static const struct {
        const char *word;
        uint8_t bytes;
    } words[] = {{"64", 8}, {"32", 4}, {"16", 2}, {"u8", 1}, {"long long", 8}, {"short", 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strstr(type, words[i].word)) {
            return words[i].bytes;
        }
    }
    if (strstr(type, "long")) {
        return (uint8_t)tep_get_long_size(formats->parser);
    }
    return strstr(type, "int") ? 4 : 1;
}

/* Arrays of char are texts; unsigned char and u8 are numbers. */
static bool is_text(const char *type)
{
    const char *found = strstr(type, "char");
    return found && !strstr(type, "unsigned") && (found == type || found[-1] == ' ');
}

static bool take_field(struct lull_formats *formats, const struct tep_format_field *in,
                       struct lull_format_field *out)
{
    bool is_array = (in->flags & TEP_FIELD_IS_ARRAY) != 0;
    if (!in->name || !in->type || in->offset < 0 || in->size < 0 ||
        (uint32_t)in->offset > MAX_RECORD || (uint32_t)in->size > MAX_RECORD) {
        return false;
    }
    *out = (struct lull_format_field){
        .name = keep(formats, in->name),
        .offset = (uint32_t)in->offset,
        .size = (uint32_t)in->size,
        .is_signed = (in->flags & TEP_FIELD_IS_SIGNED) != 0,
        .is_address = (in->flags & TEP_FIELD_IS_POINTER) != 0 && !is_array,
        .is_dynamic = (in->flags & TEP_FIELD_IS_DYNAMIC) != 0,
        .is_relative = (in->flags & TEP_FIELD_IS_RELATIVE) != 0,
        .element_bytes = 1,
    };
    if (out->is_dynamic && out->size != 4) {
        return false;
    }
    if (!is_array && !out->is_dynamic && is_width(out->size)) {
        out->kind = LULL_INFO_INT;
        out->element_bytes = (uint8_t)out->size;
        return true;
    }
    out->kind = is_text(in->type) ? LULL_INFO_TEXT : LULL_INFO_BYTES;
    uint8_t width =
        is_width(in->elementsize) ? (uint8_t)in->elementsize : width_of_type(formats, in->type);
    if (out->kind == LULL_INFO_BYTES && (is_array || out->size == 0) &&
        (out->is_dynamic || out->size % width == 0)) {
        out->element_bytes = width;
    }
    /* A structure is the bytes that it has; what has none goes on to the end of the record. */
    return is_array || out->size > 0 || !in->next;
}

/* What a record must have at least. The tracer's own records, such as stacks, end with an array
 * that is cut off or longer than their format says; those of tracepoints are as their format. */
static uint32_t least_size(const char *system, const struct lull_format_field *fields, uint32_t n)
{
    uint32_t size = 0, tail = 0;
    bool may_be_cut = strcmp(system, "ftrace") == 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!fields[i].is_aside) {
            tail = MAX(tail, fields[i].offset);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_format_field *field = &fields[i];
        bool is_cut = may_be_cut && field->kind != LULL_INFO_INT && !field->is_dynamic &&
                      field->offset == tail;
        if (!field->is_aside) {
            size = MAX(size, field->offset + (is_cut ? 0 : field->size));
        }
    }
    return size;
}

/* The number of the class is where it is in all others. */
static bool check_id(struct lull_formats *formats, const struct tep_format_field *field)
{
    for (; field; field = field->next) {
        if (g_strcmp0(field->name, "common_type") != 0) {
            continue;
        }
        if (field->size != 2 || field->offset < 0 || (uint32_t)field->offset > MAX_RECORD) {
            return false;
        }
        if (formats->id_offset == UINT32_MAX) {
            formats->id_offset = (uint32_t)field->offset;
        }
        return formats->id_offset == (uint32_t)field->offset;
    }
    return false;
}

static bool take_fields(struct lull_formats *formats, const struct tep_format_field *in,
                        bool is_context, GArray *fields, const char **bad)
{
    for (; in; in = in->next) {
        struct lull_format_field field;
        if (is_context && g_strcmp0(in->name, "common_type") == 0) {
            continue; /* says which class it is */
        }
        *bad = in->name;
        if (!take_field(formats, in, &field)) {
            return false;
        }
        field.is_context = is_context;
        g_array_append_val(fields, field);
    }
    return true;
}

/* ---- classes ---- */

static struct lull_format *add_class(struct lull_formats *formats, const char *system,
                                     const char *name, const struct lull_format_field *fields,
                                     uint32_t n_fields)
{
    struct lull_format *format = g_new0(struct lull_format, 1);
    struct lull_format_field *copy = g_new0(struct lull_format_field, MAX((size_t)n_fields, 1));
    uint32_t n_shown = 0, n_hidden = 0;
    for (uint32_t i = 0; i < n_fields; i++) {
        copy[fields[i].is_hidden ? n_fields - ++n_hidden : n_shown++] = fields[i];
    }
    g_ptr_array_add(formats->owned, format);
    g_ptr_array_add(formats->owned, copy);
    format->system = keep(formats, system);
    format->event_class.name = keep(formats, name);
    format->event_class.log_level = -1;
    format->event_class.index = formats->all->len;
    format->id = -1;
    format->is_big_endian = formats->is_big_endian;
    format->subscription = -1;
    format->fields = copy;
    format->n_fields = n_shown;
    format->n_hidden = n_hidden;
    format->least_size = least_size(system, copy, n_fields);
    g_ptr_array_add(formats->all, format);
    return format;
}

struct lull_format *lull_formats_declare(struct lull_formats *formats, const char *system,
                                         const char *name, const struct lull_format_field *fields,
                                         uint32_t n_fields)
{
    return add_class(formats, system, name, fields, n_fields);
}

/* The pattern's match at the start of `text`, in bytes; 0: none. */
static size_t match(const GRegex *regex, const char *text)
{
    g_autoptr(GMatchInfo) found = NULL;
    int start, end = 0;
    if (!g_regex_match(regex, text, G_REGEX_MATCH_ANCHORED, &found) ||
        !g_match_info_fetch_pos(found, 0, &start, &end)) {
        return 0;
    }
    return (size_t)end;
}

/* A length that is a sum, in the line at `line`, becomes blanks: libtraceevent takes its last part
 * for the whole, and the size of the field says it all. */
static void forget_sum(char *line)
{
    char *open = line + strcspn(line, "[\n");
    size_t length = strcspn(open, "]\n");
    if (*open == '[' && memchr(open, '+', length)) {
        memset(open + 1, ' ', length - 1);
    }
}

/* The part of the text that describes fields, which is changed; or NULL if it has not the form. */
static char *cut_text(const struct lull_formats *formats, char *copy)
{
    size_t at = match(formats->head, copy), length;
    if (at == 0) {
        return NULL;
    }
    while (copy[at] == '\n' || copy[at] == '\t') {
        const char *end = strchr(copy + at, '\n');
        if (!end) {
            return NULL;
        }
        if (copy[at] == '\n') { /* one line for each match: a long text is not looked at again */
            at++;
            continue;
        }
        g_autofree char *line = g_strndup(copy + at, (size_t)(end + 1 - (copy + at)));
        if ((length = match(formats->field, line)) == 0) {
            return NULL;
        }
        forget_sum(copy + at);
        at += length;
    }
    if (!g_str_has_prefix(copy + at, "print fmt:")) {
        return NULL;
    }
    copy[at] = '\0';
    return g_strconcat(copy, "print fmt: \"\"\n", NULL);
}

/* Whether a class can have the number of `event`. */
static bool check_number(struct lull_formats *formats, const char *system, const char *name, int id,
                         GError **error)
{
    bool is_too_large = id < 0 || (uint32_t)id >= LULL_FORMAT_IDS;
    if (!is_too_large && !formats->by_id[id]) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "event '%s:%s': its number %d %s", system,
                name, id, is_too_large ? "does not fit 16 bits" : "belongs to another event");
    return false;
}

static void give_number(struct lull_formats *formats, struct lull_format *format, int id)
{
    format->id = id;
    format->least_size = MAX(format->least_size, formats->id_offset + 2);
    formats->by_id[id] = format;
}

static bool add_parsed(struct lull_formats *formats, const char *system,
                       const struct tep_event *event, const struct lull_format_field *aside,
                       uint32_t n_aside, GError **error)
{
    g_autoptr(GArray) fields = g_array_new(FALSE, TRUE, sizeof(struct lull_format_field));
    const char *bad = "common_type";
    if (n_aside > 0) {
        g_array_append_vals(fields, aside, n_aside);
    }
    if (!check_id(formats, event->format.common_fields) ||
        !take_fields(formats, event->format.common_fields, true, fields, &bad) ||
        !take_fields(formats, event->format.fields, false, fields, &bad)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "field '%s' does not fit into a record",
                    bad ? bad : "");
        return false;
    }
    struct lull_format *format =
        add_class(formats, system, event->name, (struct lull_format_field *)(void *)fields->data,
                  fields->len);
    give_number(formats, format, event->id);
    return true;
}

/* A class whose own fields are unknown: what is common to all classes is as in those that are
 * known. */
static void add_undecoded(struct lull_formats *formats, const char *system, const char *name,
                          int id, const char *why)
{
    const struct lull_format *like = NULL;
    for (guint i = 0; i < formats->all->len && !like; i++) {
        const struct lull_format *format = formats->all->pdata[i];
        like = format->id >= 0 && !format->undecoded ? format : NULL;
    }
    uint32_t n = 0;
    while (like && n < like->n_fields && like->fields[n].is_context) {
        n++;
    }
    struct lull_format *format = add_class(formats, system, name, like ? like->fields : NULL, n);
    format->undecoded = keep(formats, why);
    give_number(formats, format, id);
}

/* The name and number at the start of a text that has the right form. */
static bool read_head(const struct lull_formats *formats, const char *text, char **name, int *id)
{
    if (match(formats->head, text) == 0) {
        return false;
    }
    text += strlen("name: ");
    size_t length = strcspn(text, "\n");
    *name = g_strndup(text, length);
    *id = (int)g_ascii_strtoll(text + length + strlen("\nID: "), NULL, 10);
    return true;
}

bool lull_formats_add(struct lull_formats *formats, const char *system, const char *text,
                      size_t size, const struct lull_format_field *aside, uint32_t n_aside,
                      GError **error)
{
    if (!formats->parser || size > MAX_TEXT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "an event of '%s': its format is too large (%zu bytes)", system, size);
        return false;
    }
    g_autofree char *copy = g_strndup(text, size), *name = NULL;
    int id;
    if (!read_head(formats, copy, &name, &id)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "an event of '%s': its format does not start with a name and a number", system);
        return false;
    }
    if (!check_number(formats, system, name, id, error)) {
        return false;
    }
    g_autofree char *cut = cut_text(formats, copy);
    g_autoptr(GError) reason = NULL;
    struct tep_event *event = NULL;
    if (cut) {
        tep_parse_format(formats->parser, &event, cut, strlen(cut), system);
    }
    if (!event || !event->name || event->id != id || (event->flags & (int)TEP_EVENT_FL_FAILED)) {
        add_undecoded(formats, system, name, id,
                      "its format is written in a way that Lull does "
                      "not know");
    } else if (!add_parsed(formats, system, event, aside, n_aside, &reason)) {
        add_undecoded(formats, system, name, id, reason->message);
    }
    return true;
}

void lull_formats_finish(struct lull_formats *formats, const struct lull_source *source)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) twice = g_hash_table_new(g_str_hash, g_str_equal);
    guint n = formats->all->len;
    formats->classes = g_new0(struct lull_event_class *, MAX(n, 1));
    for (guint i = 0; i < n; i++) {
        struct lull_format *format = formats->all->pdata[i];
        if (!g_hash_table_add(seen, (char *)format->event_class.name)) {
            g_hash_table_add(twice, (char *)format->event_class.name);
        }
        format->event_class.source = source;
        formats->classes[i] = &format->event_class;
    }
    for (guint i = 0; i < n; i++) {
        struct lull_format *format = formats->all->pdata[i];
        if (!g_hash_table_contains(twice, format->event_class.name)) {
            continue;
        }
        char *full = g_strdup_printf("%s:%s", format->system, format->event_class.name);
        g_ptr_array_add(formats->owned, full);
        format->event_class.name = full;
    }
}
