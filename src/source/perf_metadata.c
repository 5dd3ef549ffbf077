/* Which events a perf.data has, as TSDL, and how the raw data of tracepoints is copied so that it
 * is what the TSDL says: fields without gaps, arrays where their field stands. */
#include "source/perf.h"

#include <string.h>

#define U8 "integer { size = 8; align = 8; signed = false; byte_order = le; }"
#define U32 "integer { size = 32; align = 8; signed = false; byte_order = le; }"
#define S32 "integer { size = 32; align = 8; signed = true; byte_order = le; }"
#define U64 "integer { size = 64; align = 8; signed = false; byte_order = le; }"
#define HEX "integer { size = 64; align = 8; signed = false; byte_order = le; base = 16; }"
#define CHAR "integer { size = 8; align = 8; signed = true; encoding = UTF8; }"

#define SHOWN(bit, field, hex, plain)                                                              \
    {                                                                                              \
        bit, offsetof(struct perf_sample, field), #field, hex, plain                               \
    }
const struct perf_shown perf_shown[] = {
    SHOWN(PERF_HAS_IP, ip, true, true),
    SHOWN(PERF_HAS_ADDR, addr, true, false),
    SHOWN(PERF_HAS_PERIOD, period, false, true),
    SHOWN(PERF_HAS_WEIGHT | PERF_HAS_WEIGHT_STRUCT, weight, false, false),
    SHOWN(PERF_HAS_DATA_SRC, data_src, true, false),
    SHOWN(PERF_HAS_TRANSACTION, transaction, true, false),
    SHOWN(PERF_HAS_PHYS_ADDR, phys_addr, true, false),
    SHOWN(PERF_HAS_CGROUP, cgroup, false, false),
    SHOWN(PERF_HAS_DATA_PAGE_SIZE, data_page_size, false, false),
    SHOWN(PERF_HAS_CODE_PAGE_SIZE, code_page_size, false, false),
    {0, 0, NULL, false, false},
};

/* Events made of perf's own records, by enum perf_class. */
static const struct {
    const char *name, *fields;
} own_classes[] = {
    [PERF_CLASS_TASK] = {"perf:task", S32 " _tid; " S32 " _pid; string _name;"},
    [PERF_CLASS_COMM] = {"perf:comm", S32 " _tid; " U8 " _exec; string _newcomm;"},
    [PERF_CLASS_FORK] = {"perf:fork", S32 " _parent_tid; " S32 " _parent_pid; " S32
                                          " _child_tid; " S32 " _child_pid;"},
    [PERF_CLASS_EXIT] = {"perf:exit", S32 " _tid; " S32 " _pid;"},
    [PERF_CLASS_MMAP] = {"perf:mmap", HEX " _addr; " HEX " _len; " HEX " _pgoff; " U32
                                          " _prot; string _filename;"},
    [PERF_CLASS_SWITCH] = {"perf:switch", U8 " _out; " U8 " _preempted; " S32
                                             " _next_prev_pid; " S32 " _next_prev_tid;"},
};

/* ---- copies ---- */

static void add_copy(GArray *copies, const struct lull_format_field *field)
{
    struct perf_copy copy = {.code = PERF_COPY_RUN,
                             .offset = field->offset,
                             .size = field->size,
                             .element_bytes = MAX(field->element_bytes, 1),
                             .is_relative = field->is_relative};
    if (field->is_dynamic)
        copy.code = field->kind == LULL_INFO_TEXT ? PERF_COPY_STRING : PERF_COPY_ARRAY;
    else if (field->size == 0)
        copy.code = PERF_COPY_REST;
    struct perf_copy *last =
        copies->len > 0 ? &g_array_index(copies, struct perf_copy, copies->len - 1) : NULL;
    if (copy.code == PERF_COPY_RUN && last != NULL && last->code == PERF_COPY_RUN &&
        last->offset + last->size == copy.offset)
        last->size += copy.size;
    else
        g_array_append_val(copies, copy);
}

static void add_copies(GArray *copies, const struct lull_format *format, bool is_context)
{
    /* Contexts and payload are not written in one piece. */
    g_autoptr(GArray) part = g_array_new(FALSE, TRUE, sizeof(struct perf_copy));
    for (uint32_t i = 0; i < format->n_fields; i++)
        if (format->fields[i].is_context == is_context)
            add_copy(part, &format->fields[i]);
    if (part->len > 0)
        g_array_append_vals(copies, part->data, part->len);
}

void perf_attr_compile(struct perf_attr *attr)
{
    g_autoptr(GArray) copies = g_array_new(FALSE, TRUE, sizeof(struct perf_copy));
    if (!(attr->sample_type & PERF_HAS_RAW))
        attr->format = NULL;
    if (attr->format != NULL) {
        add_copies(copies, attr->format, true);
        attr->n_context_copies = copies->len;
        add_copies(copies, attr->format, false);
        attr->least_raw = attr->format->least_size;
    } else if (attr->sample_type & PERF_HAS_RAW) {
        struct perf_copy rest = {.code = PERF_COPY_REST, .element_bytes = 1};
        g_array_append_val(copies, rest);
    }
    for (guint i = 0; i < copies->len; i++) {
        const struct perf_copy *copy = &g_array_index(copies, struct perf_copy, i);
        attr->least_raw = MAX(attr->least_raw, copy->offset + copy->size);
    }
    attr->n_copies = copies->len;
    attr->copies = g_memdup2(copies->data, copies->len * sizeof(struct perf_copy));
}

/* ---- TSDL ---- */

/* Names come from the file: what could end a name or a text of TSDL does not pass. */
static void append_name(GString *text, const char *name, bool is_identifier)
{
    for (const char *p = name; *p != '\0' && p - name < 200; p++) {
        bool passes = g_ascii_isalnum(*p) || *p == '_' ||
                      (!is_identifier && strchr(" .:-+=,/@()*#", *p) != NULL);
        g_string_append_c(text, passes ? *p : '_');
    }
}

/* A member's name, told apart from others of the same name. TSDL takes one underscore away. */
static void append_member(GString *text, GHashTable *seen, const char *name)
{
    g_autoptr(GString) member = g_string_new("_");
    append_name(member, name, true);
    gsize length = member->len;
    for (unsigned n = 2; g_hash_table_contains(seen, member->str); n++) {
        g_string_truncate(member, length);
        g_string_append_printf(member, "_%u", n);
    }
    g_hash_table_add(seen, g_strdup(member->str));
    g_string_append(text, member->str);
}

static void append_integer(GString *text, const struct lull_format_field *field, bool is_big_endian)
{
    g_string_append_printf(
        text, "integer { size = %u; align = 8; signed = %s; byte_order = %s; base = %u; }",
        8 * field->element_bytes, field->is_signed ? "true" : "false", is_big_endian ? "be" : "le",
        field->is_address ? 16u : 10u);
}

static void append_array(GString *text, GHashTable *seen, const struct lull_format_field *field,
                         bool is_big_endian)
{
    bool is_fixed = !field->is_dynamic && field->size > 0;
    g_autoptr(GString) length = g_string_new(NULL);
    if (!is_fixed) {
        g_autofree char *name = g_strdup_printf("_%s_length", field->name);
        append_member(length, seen, name);
        g_string_append_printf(text, U32 " %s; ", length->str);
    }
    if (field->kind == LULL_INFO_TEXT)
        g_string_append(text, CHAR);
    else
        append_integer(text, field, is_big_endian);
    g_string_append_c(text, ' ');
    append_member(text, seen, field->name);
    if (is_fixed)
        g_string_append_printf(text, "[%u]", field->size / field->element_bytes);
    else
        g_string_append_printf(text, "[ %s ]", length->str);
}

static void append_fields(GString *text, GHashTable *seen, const struct lull_format *format,
                          bool is_context)
{
    for (uint32_t i = 0; i < format->n_fields; i++) {
        const struct lull_format_field *field = &format->fields[i];
        if (field->is_context != is_context)
            continue;
        if (field->kind == LULL_INFO_INT) {
            append_integer(text, field, format->is_big_endian);
            g_string_append_c(text, ' ');
            append_member(text, seen, field->name);
        } else if (field->kind == LULL_INFO_TEXT && field->is_dynamic) {
            g_string_append(text, "string ");
            append_member(text, seen, field->name);
        } else {
            append_array(text, seen, field, format->is_big_endian);
        }
        g_string_append(text, ";\n    ");
    }
}

static GHashTable *names_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void append_sample_context(GString *text, const struct perf_file *file,
                                  const struct perf_attr *attr)
{
    g_autoptr(GHashTable) seen = names_new();
    g_string_append(text, "  context := struct {\n    ");
    if (attr->format != NULL)
        append_fields(text, seen, attr->format, true);
    for (const struct perf_shown *field = perf_shown; field->name != NULL; field++)
        if (perf_is_shown(attr, field)) {
            g_string_append(text, field->is_hex ? HEX " " : U64 " ");
            append_member(text, seen, field->name);
            g_string_append(text, ";\n    ");
        }
    if (attr->sample_type & PERF_HAS_CALLCHAIN)
        g_string_append_printf(text,
                               U32 " __callchain_length; integer { size = 64; align = 8; signed = "
                                   "false; byte_order = %s; base = 16; } _callchain[ "
                                   "__callchain_length ];\n    ",
                               file->is_big_endian ? "be" : "le");
    g_string_append(text, "};\n");
}

static void append_event(GString *text, const char *system, const char *name, uint32_t id)
{
    g_string_append(text, "event {\n  name = \"");
    if (system != NULL) {
        append_name(text, system, false);
        g_string_append_c(text, ':');
    }
    append_name(text, name, false);
    g_string_append_printf(text, "\";\n  id = %u;\n  stream_id = 0;\n", id);
}

static void append_attr(GString *text, const struct perf_file *file, const struct perf_attr *attr)
{
    g_autoptr(GHashTable) seen = names_new();
    g_autofree char *number = g_strdup_printf("event_%u", attr->index);
    const char *name = attr->name != NULL && *attr->name != '\0' ? attr->name : number;
    if (attr->format != NULL)
        append_event(text, attr->format->system, attr->format->event_class.name,
                     PERF_CLASS_ATTRS + attr->index);
    else
        append_event(text, NULL, name, PERF_CLASS_ATTRS + attr->index);
    append_sample_context(text, file, attr);
    g_string_append(text, "  fields := struct {\n    ");
    if (attr->format != NULL)
        append_fields(text, seen, attr->format, false);
    else if (attr->sample_type & PERF_HAS_RAW)
        g_string_append(text, U32 " __raw_length; " U8 " _raw[ __raw_length ];\n    ");
    g_string_append(text, "};\n};\n");
}

static void append_env(GString *text, const char *key, const char *value)
{
    if (value == NULL || *value == '\0')
        return;
    g_string_append_printf(text, "  %s = \"", key);
    append_name(text, value, false);
    g_string_append(text, "\";\n");
}

static void append_environment(GString *text, const struct perf_machine *machine)
{
    g_autofree char *tracer =
        g_strconcat("perf ", machine->version != NULL ? machine->version : "", NULL);
    g_string_append(text, "env {\n  domain = \"kernel\";\n");
    append_env(text, "hostname", machine->hostname);
    append_env(text, "kernel_release", machine->release);
    append_env(text, "architecture", machine->architecture);
    append_env(text, "tracer_name", g_strchomp(tracer));
    g_string_append(text, "};\n");
}

static const char *clock_name(int32_t clock)
{
    static const char *const names[] = {
        [0] = "realtime", [1] = "monotonic", [4] = "monotonic_raw", [7] = "boottime", [11] = "tai"};
    const char *name = clock >= 0 && (size_t)clock < G_N_ELEMENTS(names) ? names[clock] : NULL;
    return name != NULL ? name : "perf";
}

/* perf's own clock counts from the boot; where it was told to use another, and what the time of day
 * was at one moment of it, times are those of the day. */
static void append_clock(GString *text, const struct perf_file *file, const char *name)
{
    const struct perf_machine *machine = &file->machine;
    int64_t offset = machine->has_clock ? (int64_t)(machine->wall_ns - machine->clock_ns) : 0;
    int64_t seconds = offset / 1000000000;
    int64_t rest = offset % 1000000000;
    if (rest < 0) {
        seconds--;
        rest += 1000000000;
    }
    g_string_append_printf(text,
                           "clock {\n  name = %s;\n  freq = 1000000000;\n  offset_s = "
                           "%" G_GINT64_FORMAT ";\n  offset = %" G_GINT64_FORMAT ";\n};\n",
                           name, seconds, rest);
}

char *perf_metadata(const struct perf_file *file)
{
    GString *text = g_string_new("/* CTF 1.8 */\ntrace {\n  major = 1;\n  minor = 8;\n  byte_order "
                                 "= le;\n  packet.header := struct { " U32 " magic; };\n};\n");
    const struct perf_attr *first = file->attrs->pdata[0];
    const char *clock = clock_name(file->machine.has_clock ? file->machine.clock : first->clock);
    append_environment(text, &file->machine);
    append_clock(text, file, clock);
    g_string_append(text, "stream {\n  id = 0;\n");
    lull_spool_declare(text, clock);
    g_string_append(text, "  event.context := struct { " S32 " _pid; " S32 " _tid; " CHAR
                          " _procname[16]; };\n};\n");
    for (uint32_t i = 0; i < G_N_ELEMENTS(own_classes); i++) {
        append_event(text, NULL, own_classes[i].name, i);
        g_string_append_printf(text, "  fields := struct { %s };\n};\n", own_classes[i].fields);
    }
    for (guint i = 0; i < file->attrs->len; i++)
        append_attr(text, file, file->attrs->pdata[i]);
    return g_string_free(text, FALSE);
}
