/* SPDX-License-Identifier: MIT */
/* Trace writer: packets, event headers, index files and the frame of the metadata, as
 * lttng-modules 2.13 and lttng-consumerd write them. */
#include "lib/ctf_internal.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

struct packet_mark { /* one entry of an index file */
    uint64_t offset, packet_bits, content_bits, start, end, discarded, seq;
};

struct stream {
    unsigned cpu;
    GByteArray *file;
    GArray *marks; /* of struct packet_mark */
    bool is_open;
    struct ctf_bits bits; /* the open packet */
    uint64_t n_events;    /* in it */
    uint64_t start, last, discarded, seq;
    int pid, tid;
    char comm[17];
};

struct channel {
    bool large_header;
    unsigned contexts;
    GPtrArray *classes; /* of const struct ctf_class; the index is the id */
    GHashTable *ids;    /* name -> id + 1 */
    GPtrArray *streams; /* of struct stream, by CPU; NULL where there is none */
};

struct ctf_writer {
    char *dir, *hostname;
    struct ctf_options options;
    GPtrArray *channels;
    unsigned current;
};

static struct channel *current_channel(const struct ctf_writer *w)
{
    return g_ptr_array_index(w->channels, w->current);
}

static uint64_t to_cycles(const struct ctf_writer *w, int64_t time_ns)
{
    __int128 ns = (__int128)time_ns - (__int128)w->options.offset_s * NS_PER_S;
    __int128 cycles = ns * w->options.frequency / NS_PER_S - w->options.offset_cycles;
    if (cycles < 0) {
        g_error("ctf writer: time %" G_GINT64_FORMAT " is before the clock's origin", time_ns);
    }
    return (uint64_t)cycles;
}

/* ---- packets ---- */

static void put_header(struct ctf_writer *w, unsigned channel, struct stream *s,
                       const struct packet_mark *mark)
{
    struct ctf_bits *bits = &s->bits;
    bool be = bits->big_endian;
    bits->at = 0;
    ctf_bits_put(bits, 0xC1FC1FC1, 32, be);
    for (unsigned i = 0; !w->options.no_trace_uuid && i < 16; i++) {
        ctf_bits_put(bits, (uint8_t)(w->options.seed + i * 13 + 1), 8, be);
    }
    ctf_bits_put(bits, channel, 32, be);
    ctf_bits_align(bits, bits->natural_align ? 64 : 8);
    ctf_bits_put(bits, s->cpu, 64, be);
    const uint64_t context[] = {mark->start,       mark->end, mark->content_bits,
                                mark->packet_bits, mark->seq, mark->discarded};
    for (unsigned i = 0; i < G_N_ELEMENTS(context); i++) {
        ctf_bits_put(bits, context[i], 64, be);
    }
    ctf_bits_put(bits, s->cpu, 32, be);
}

static void open_packet(struct ctf_writer *w, struct stream *s, uint64_t start)
{
    s->bits = (struct ctf_bits){.bytes = g_byte_array_new(),
                                .big_endian = w->options.big_endian,
                                .natural_align = w->options.natural_align};
    s->is_open = true;
    s->n_events = 0;
    s->start = s->last = start;
    put_header(w, 0, s, &(struct packet_mark){0});
}

static void close_packet(struct ctf_writer *w, unsigned channel, struct stream *s, uint64_t end)
{
    if (!s->is_open) {
        return;
    }
    uint64_t content = s->bits.at;
    uint64_t bytes = MAX((content + 7) / 8, w->options.packet_bytes);
    bytes = (bytes + 7) / 8 * 8;
    struct packet_mark mark = {.offset = s->file->len,
                               .packet_bits = bytes * 8,
                               .content_bits = content,
                               .start = s->start,
                               .end = end,
                               .discarded = s->discarded,
                               .seq = s->seq};
    g_array_append_val(s->marks, mark);
    put_header(w, channel, s, &mark);
    guint used = s->bits.bytes->len;
    g_byte_array_set_size(s->bits.bytes, (guint)bytes);
    memset(s->bits.bytes->data + used, 0, bytes - used);
    g_byte_array_append(s->file, s->bits.bytes->data, (guint)bytes);
    g_byte_array_unref(s->bits.bytes);
    s->is_open = false;
    s->seq++;
}

static struct stream *stream_of(struct ctf_writer *w, unsigned cpu)
{
    GPtrArray *streams = current_channel(w)->streams;
    if (streams->len <= cpu) {
        g_ptr_array_set_size(streams, (gint)cpu + 1);
    }
    struct stream *s = g_ptr_array_index(streams, cpu);
    if (!s) {
        s = g_new0(struct stream, 1);
        s->cpu = cpu;
        s->file = g_byte_array_new();
        s->marks = g_array_new(FALSE, FALSE, sizeof(struct packet_mark));
        streams->pdata[cpu] = s;
    }
    return s;
}

/* ---- events ---- */

static void put_event_header(struct ctf_bits *bits, const struct channel *ch, uint64_t id,
                             uint64_t time, uint64_t last)
{
    bool be = bits->big_endian, natural = bits->natural_align;
    unsigned id_bits = ch->large_header ? 16 : 5, time_bits = ch->large_header ? 32 : 27;
    uint64_t escape = ch->large_header ? 65535 : 31;
    bool extended = id >= escape || time - last >= UINT64_C(1) << time_bits;
    ctf_bits_align(bits, !natural ? 8 : ch->large_header ? 16 : 32);
    ctf_bits_put(bits, extended ? escape : id, id_bits, be);
    if (extended) {
        ctf_bits_align(bits, natural ? 64 : 8);
        ctf_bits_put(bits, id, 32, be);
        ctf_bits_align(bits, natural ? 64 : 8);
        ctf_bits_put(bits, time, 64, be);
    } else {
        if (ch->large_header) {
            ctf_bits_align(bits, natural ? 32 : 8);
        }
        ctf_bits_put(bits, time, time_bits, be);
    }
}

static const struct ctf_field context_pid = CTF_I(32, "pid");
static const struct ctf_field context_tid = CTF_I(32, "tid");
static const struct ctf_field context_procname = CTF_TEXT("procname", 16);

static unsigned context_table(unsigned contexts, struct ctf_field table[4])
{
    unsigned n = 0;
    if (contexts & CTF_PID) {
        table[n++] = context_pid;
    }
    if (contexts & CTF_TID) {
        table[n++] = context_tid;
    }
    if (contexts & CTF_PROCNAME) {
        table[n++] = context_procname;
    }
    table[n] = (struct ctf_field)CTF_DONE;
    return n;
}

static void put_stream_context(struct ctf_bits *bits, const struct channel *ch,
                               const struct stream *s)
{
    struct ctf_field table[4];
    if (!context_table(ch->contexts, table)) {
        return;
    }
    char pid[16], tid[16];
    g_snprintf(pid, sizeof pid, "%d", s->pid);
    g_snprintf(tid, sizeof tid, "%d", s->tid);
    ctf_bits_align(bits, ctf_members_align(table, bits->natural_align));
    for (const struct ctf_field *f = table; f->kind != CTF_END; f++) {
        struct ctf_value value = {.text = !strcmp(f->name, "pid")   ? pid
                                          : !strcmp(f->name, "tid") ? tid
                                                                    : (char *)s->comm};
        ctf_encode(bits, f, &value);
    }
}

static void put_event(struct ctf_bits *bits, const struct channel *ch, const struct stream *s,
                      uint64_t id, uint64_t time, const struct ctf_value *values)
{
    const struct ctf_class *class = g_ptr_array_index(ch->classes, id);
    put_event_header(bits, ch, id, time, s->last);
    put_stream_context(bits, ch, s);
    if (class->context) {
        ctf_encode_members(bits, class->context, ctf_value_member(values, "context"));
    }
    if (class->fields) {
        ctf_encode_members(bits, class->fields, values);
    }
}

void ctf_event(struct ctf_writer *w, unsigned cpu, int64_t time_ns, const char *name,
               const char *format, ...)
{
    struct channel *ch = current_channel(w);
    uint64_t id = GPOINTER_TO_UINT(g_hash_table_lookup(ch->ids, name));
    if (!id--) {
        g_error("ctf writer: no event class %s", name);
    }
    va_list args;
    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    struct ctf_value *values = ctf_value_parse(text);
    struct stream *s = stream_of(w, cpu);
    uint64_t time = to_cycles(w, time_ns);
    if (s->is_open && time < s->last) {
        g_error("ctf writer: %s at %" G_GINT64_FORMAT " is before the last event of CPU %u", name,
                time_ns, cpu);
    }
    if (!s->is_open) {
        open_packet(w, s, time);
    }
    uint64_t before = s->bits.at;
    guint length = s->bits.bytes->len;
    put_event(&s->bits, ch, s, id, time, values);
    if (s->bits.at > (uint64_t)w->options.packet_bytes * 8 && s->n_events > 0) {
        s->bits.at = before;
        g_byte_array_set_size(s->bits.bytes, length);
        close_packet(w, w->current, s, s->last);
        open_packet(w, s, time);
        put_event(&s->bits, ch, s, id, time, values);
    }
    s->last = time;
    s->n_events++;
    ctf_value_free(values);
    g_free(text);
}

void ctf_writer_current(struct ctf_writer *w, unsigned cpu, int pid, int tid, const char *comm)
{
    struct stream *s = stream_of(w, cpu);
    s->pid = pid;
    s->tid = tid;
    g_strlcpy(s->comm, comm, sizeof s->comm);
}

void ctf_writer_end_packet(struct ctf_writer *w, unsigned cpu)
{
    struct stream *s = stream_of(w, cpu);
    close_packet(w, w->current, s, s->last);
}

void ctf_writer_lose(struct ctf_writer *w, unsigned cpu, unsigned events, unsigned packets)
{
    struct stream *s = stream_of(w, cpu);
    if (packets) {
        ctf_writer_end_packet(w, cpu);
    }
    s->discarded += events;
    s->seq += packets;
}

void ctf_writer_discard(struct ctf_writer *w, unsigned cpu, unsigned events, int64_t time_ns)
{
    struct stream *s = stream_of(w, cpu);
    s->discarded += events;
    close_packet(w, w->current, s, to_cycles(w, time_ns));
}

void ctf_writer_empty_packet(struct ctf_writer *w, unsigned cpu, int64_t start_ns, int64_t end_ns)
{
    struct stream *s = stream_of(w, cpu);
    ctf_writer_end_packet(w, cpu);
    open_packet(w, s, to_cycles(w, start_ns));
    close_packet(w, w->current, s, to_cycles(w, end_ns));
    s->last = to_cycles(w, end_ns);
}

/* ---- files ---- */

static void write_file(const char *path, const void *data, size_t size)
{
    GError *error = NULL;
    if (!g_file_set_contents_full(path, data, (gssize)size, G_FILE_SET_CONTENTS_NONE, 0644,
                                  &error)) {
        g_error("ctf writer: %s", error->message);
    }
}

/* Index files are big-endian whatever the trace is (LTTng's ctf-index.h, version 1.1). */
static void write_index(const struct ctf_writer *w, unsigned channel, const struct stream *s)
{
    struct ctf_bits bits = {.bytes = g_byte_array_new()};
    const uint32_t header[] = {0xC1F1DCC1, 1, 1, 72};
    for (unsigned i = 0; i < G_N_ELEMENTS(header); i++) {
        ctf_bits_put(&bits, header[i], 32, true);
    }
    for (guint i = 0; i < s->marks->len; i++) {
        const struct packet_mark *m = &g_array_index(s->marks, struct packet_mark, i);
        const uint64_t entry[] = {m->offset,    m->packet_bits, m->content_bits, m->start, m->end,
                                  m->discarded, channel,        s->cpu,          m->seq};
        for (unsigned k = 0; k < G_N_ELEMENTS(entry); k++) {
            ctf_bits_put(&bits, entry[k], 64, true);
        }
    }
    g_autofree char *dir = g_build_filename(w->dir, "index", NULL);
    g_mkdir_with_parents(dir, 0755);
    g_autofree char *path = g_strdup_printf("%s/c%u_%u.idx", dir, channel, s->cpu);
    write_file(path, bits.bytes->data, bits.bytes->len);
    g_byte_array_unref(bits.bytes);
}

static void print_uuid(GString *out, uint8_t seed, unsigned step)
{
    for (unsigned i = 0; i < 16; i++) {
        g_string_append_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               (uint8_t)(seed + i * step + 1));
    }
}

static void print_aliases(GString *out, bool natural)
{
    static const struct {
        unsigned size;
        const char *name;
    } aliases[] = {{8, "uint8_t"},        {16, "uint16_t"}, {32, "uint32_t"}, {64, "uint64_t"},
                   {64, "unsigned long"}, {5, "uint5_t"},   {27, "uint27_t"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(aliases); i++) {
        unsigned align = aliases[i].size % 8 ? 1 : natural ? aliases[i].size : 8;
        g_string_append_printf(
            out, "typealias integer { size = %u; align = %u; signed = false; } := %s;\n",
            aliases[i].size, align, aliases[i].name);
    }
}

static void print_trace(GString *out, const struct ctf_writer *w)
{
    const struct ctf_options *o = &w->options;
    g_string_append(out, "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n");
    if (!o->no_trace_uuid) {
        g_string_append(out, "\tuuid = \"");
        print_uuid(out, o->seed, 13);
        g_string_append(out, "\";\n");
    }
    g_string_append_printf(out,
                           "\tbyte_order = %s;\n\tpacket.header := struct {\n"
                           "\t\tuint32_t magic;\n%s\t\tuint32_t stream_id;\n"
                           "\t\tuint64_t stream_instance_id;\n\t};\n};\n\n",
                           o->big_endian ? "be" : "le",
                           o->no_trace_uuid ? "" : "\t\tuint8_t  uuid[16];\n");
    static const unsigned usual[3] = {2, 13, 9};
    const unsigned *tracer = o->tracer[0] > 0 ? o->tracer : usual;
    g_string_append_printf(out,
                           "env {\n\thostname = \"%s\";\n\tdomain = \"kernel\";\n"
                           "\tsysname = \"Linux\";\n\tkernel_release = \"6.1.0-test\";\n"
                           "\ttracer_name = \"lttng-modules\";\n\ttracer_major = %u;\n"
                           "\ttracer_minor = %u;\n\ttracer_patchlevel = %u;\n"
                           "\ttrace_name = \"synthetic\";\n};\n\n",
                           w->hostname, tracer[0], tracer[1], tracer[2]);
    g_string_append(out, "clock {\n\tname = \"monotonic\";\n");
    if (!o->no_clock_uuid) {
        g_string_append(out, "\tuuid = \"");
        print_uuid(out, o->seed, 7);
        g_string_append(out, "\";\n");
    }
    g_string_append_printf(out,
                           "\tdescription = \"Monotonic Clock\";\n"
                           "\tfreq = %" G_GUINT64_FORMAT "; /* Frequency, in Hz */\n",
                           o->frequency);
    if (o->offset_s) {
        g_string_append_printf(out, "\toffset_s = %" G_GINT64_FORMAT ";\n", o->offset_s);
    }
    g_string_append_printf(out, "\toffset = %" G_GUINT64_FORMAT ";\n};\n\n", o->offset_cycles);
}

static void print_headers(GString *out, bool natural)
{
    static const unsigned sizes[] = {27, 32, 64};
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_string_append_printf(out,
                               "typealias integer {\n\tsize = %u; align = %u; signed = false;\n"
                               "\tmap = clock.monotonic.value;\n} := uint%u_clock_monotonic_t;\n\n",
                               sizes[i],
                               sizes[i] == 27 ? 1
                               : natural      ? sizes[i]
                                              : 8,
                               sizes[i]);
    }
    g_string_append(out, "struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n"
                         "\tuint64_clock_monotonic_t timestamp_end;\n\tuint64_t content_size;\n"
                         "\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n"
                         "\tunsigned long events_discarded;\n\tuint32_t cpu_id;\n};\n\n");
    for (unsigned large = 0; large < 2; large++) {
        g_string_append_printf(
            out,
            "struct event_header_%s {\n"
            "\tenum : %s { compact = 0 ... %s, extended = %s } id;\n"
            "\tvariant <id> {\n\t\tstruct {\n\t\t\t%s timestamp;\n\t\t} compact;\n"
            "\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n"
            "\t\t} extended;\n\t} v;\n} align(%u);\n\n",
            large ? "large" : "compact", large ? "uint16_t" : "uint5_t", large ? "65534" : "30",
            large ? "65535" : "31", large ? "uint32_clock_monotonic_t" : "uint27_clock_monotonic_t",
            !natural ? 8
            : large  ? 16
                     : 32);
    }
}

static void print_stream(GString *out, const struct channel *ch, unsigned id, bool natural)
{
    struct ctf_field contexts[4];
    g_string_append_printf(out,
                           "stream {\n\tid = %u;\n\tevent.header := struct event_header_%s;\n"
                           "\tpacket.context := struct packet_context;\n",
                           id, ch->large_header ? "large" : "compact");
    if (context_table(ch->contexts, contexts)) {
        g_string_append(out, "\tevent.context := ");
        ctf_print_struct(out, contexts, 1, natural);
        g_string_append(out, ";\n");
    }
    g_string_append(out, "};\n\n");
}

static void print_class(GString *out, const struct ctf_class *class, unsigned id, unsigned stream,
                        bool natural)
{
    g_string_append_printf(out, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %u;\n",
                           class->name, id, stream);
    if (class->context) {
        g_string_append(out, "\tcontext := ");
        ctf_print_struct(out, class->context, 1, natural);
        g_string_append(out, ";\n");
    }
    if (class->fields) {
        g_string_append(out, "\tfields := ");
        ctf_print_struct(out, class->fields, 1, natural);
        g_string_append(out, ";\n");
    }
    g_string_append(out, "};\n\n");
}

/* CTF 1.8.3, section 7.1: packets with a header of 37 bytes. */
static GByteArray *pack_metadata(const struct ctf_writer *w, const GString *text)
{
    const size_t header = 37, packet = 4096, room = packet - header;
    GByteArray *out = g_byte_array_new();
    for (size_t at = 0; at < text->len; at += room) {
        size_t part = MIN(room, text->len - at);
        struct ctf_bits bits = {.bytes = g_byte_array_new()};
        bool be = w->options.big_endian;
        ctf_bits_put(&bits, 0x75D11D57, 32, be);
        for (unsigned i = 0; i < 16; i++) {
            ctf_bits_put(&bits, (uint8_t)(w->options.seed + i * 13 + 1), 8, be);
        }
        ctf_bits_put(&bits, 0, 32, be); /* checksum */
        ctf_bits_put(&bits, (header + part) * 8, 32, be);
        ctf_bits_put(&bits, packet * 8, 32, be);
        static const uint8_t schemes_and_version[] = {0, 0, 0, 1, 8};
        for (unsigned i = 0; i < sizeof schemes_and_version; i++) {
            ctf_bits_put(&bits, schemes_and_version[i], 8, be);
        }
        g_assert_cmpuint(bits.bytes->len, ==, header);
        g_byte_array_append(bits.bytes, (const guint8 *)text->str + at, (guint)part);
        g_byte_array_append(out, bits.bytes->data, bits.bytes->len);
        g_byte_array_unref(bits.bytes);
        guint old = out->len;
        g_byte_array_set_size(out, (guint)((old + packet - 1) / packet * packet));
        memset(out->data + old, 0, out->len - old);
    }
    return out;
}

static void write_metadata(const struct ctf_writer *w)
{
    bool natural = w->options.natural_align;
    GString *out = g_string_new(w->options.plain_metadata ? "/* CTF 1.8 */\n" : "");
    print_aliases(out, natural);
    print_trace(out, w);
    print_headers(out, natural);
    for (unsigned c = 0; c < w->channels->len; c++) {
        const struct channel *ch = g_ptr_array_index(w->channels, c);
        print_stream(out, ch, c, natural);
        for (unsigned id = 0; id < ch->classes->len; id++) {
            print_class(out, g_ptr_array_index(ch->classes, id), id, c, natural);
        }
    }
    g_autofree char *path = g_build_filename(w->dir, "metadata", NULL);
    if (w->options.plain_metadata) {
        write_file(path, out->str, out->len);
    } else {
        GByteArray *packed = pack_metadata(w, out);
        write_file(path, packed->data, packed->len);
        g_byte_array_unref(packed);
    }
    g_string_free(out, TRUE);
}

/* ---- the writer ---- */

static void free_stream(struct stream *s)
{
    if (!s) {
        return;
    }
    g_byte_array_unref(s->file);
    g_array_unref(s->marks);
    g_free(s);
}

static void free_channel(struct channel *ch)
{
    g_ptr_array_unref(ch->classes);
    g_hash_table_unref(ch->ids);
    g_ptr_array_unref(ch->streams);
    g_free(ch);
}

unsigned ctf_writer_channel(struct ctf_writer *w, bool large_header, unsigned contexts)
{
    struct channel *ch = g_new0(struct channel, 1);
    ch->large_header = large_header;
    ch->contexts = contexts;
    ch->classes = g_ptr_array_new();
    ch->ids = g_hash_table_new(g_str_hash, g_str_equal);
    ch->streams = g_ptr_array_new_with_free_func((GDestroyNotify)free_stream);
    g_ptr_array_add(w->channels, ch);
    w->current = w->channels->len - 1;
    return w->current;
}

void ctf_writer_use(struct ctf_writer *w, unsigned channel)
{
    g_assert_cmpuint(channel, <, w->channels->len);
    w->current = channel;
}

void ctf_writer_class(struct ctf_writer *w, const struct ctf_class *class)
{
    struct channel *ch = current_channel(w);
    g_ptr_array_add(ch->classes, (void *)class);
    g_hash_table_insert(ch->ids, (void *)class->name, GUINT_TO_POINTER(ch->classes->len));
}

bool ctf_writer_has(const struct ctf_writer *w, const char *name)
{
    return g_hash_table_contains(current_channel(w)->ids, name);
}

static bool is_omitted(const char *const *omit, const char *name)
{
    for (; omit && *omit; omit++) {
        size_t length = strlen(*omit);
        bool is_prefix = length && (*omit)[length - 1] == '*';
        if (is_prefix ? !strncmp(*omit, name, length - 1) : !strcmp(*omit, name)) {
            return true;
        }
    }
    return false;
}

struct ctf_writer *ctf_writer_new(const char *dir, const struct ctf_options *options)
{
    struct ctf_writer *w = g_new0(struct ctf_writer, 1);
    w->options = *options;
    w->options.frequency = options->frequency ? options->frequency : NS_PER_S;
    w->options.packet_bytes = options->packet_bytes ? options->packet_bytes : 4096;
    w->hostname = g_strdup(options->hostname ? options->hostname : "host");
    w->dir = g_strdup(dir);
    w->channels = g_ptr_array_new_with_free_func((GDestroyNotify)free_channel);
    if (g_mkdir_with_parents(dir, 0755)) {
        g_error("ctf writer: cannot make %s: %s", dir, g_strerror(errno));
    }
    ctf_writer_channel(w, options->large_header, options->contexts);
    for (const struct ctf_class *c = ctf_kernel_classes; c->name && !options->no_kernel_classes;
         c++) {
        if (!is_omitted(options->omit, c->name)) {
            ctf_writer_class(w, c);
        }
    }
    return w;
}

void ctf_writer_close(struct ctf_writer *w)
{
    for (unsigned c = 0; c < w->channels->len; c++) {
        const struct channel *ch = g_ptr_array_index(w->channels, c);
        for (unsigned cpu = 0; cpu < ch->streams->len; cpu++) {
            struct stream *s = g_ptr_array_index(ch->streams, cpu);
            if (!s) {
                continue;
            }
            close_packet(w, c, s, s->last);
            g_autofree char *path = g_strdup_printf("%s/c%u_%u", w->dir, c, cpu);
            write_file(path, s->file->data, s->file->len);
            if (!w->options.no_index) {
                write_index(w, c, s);
            }
        }
    }
    write_metadata(w);
    g_ptr_array_unref(w->channels);
    g_free(w->hostname);
    g_free(w->dir);
    g_free(w);
}
