/* SPDX-License-Identifier: MIT */
/* Writes the trace of a machine's state: one stream that belongs to no CPU, in packets of some
 * hundred kilobytes. CTF 1.8 rather than 2, because every reader in use knows it. All fields are
 * whole bytes, so an event is the bytes of its fields, one after the other. */
#include "record/state/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#define PACKET_BYTES (256u << 10) /* written when so many have come together */

enum kind { TEXT, S32, U32, U64, OCT32, HEX64, BE32, KINDS };

static const struct {
    const char *tsdl;
    uint32_t bytes; /* 0: as long as the text, with a zero at its end */
} kinds[KINDS] = {
    [TEXT] = {"string", 0},
    [S32] = {"integer { size = 32; align = 8; signed = 1; }", 4},
    [U32] = {"integer { size = 32; align = 8; signed = 0; }", 4},
    [U64] = {"integer { size = 64; align = 8; signed = 0; }", 8},
    [OCT32] = {"integer { size = 32; align = 8; signed = 0; base = 8; }", 4},
    [HEX64] = {"integer { size = 64; align = 8; signed = 0; base = 16; }", 8},
    [BE32] = {"integer { size = 32; align = 8; signed = 0; base = 16; byte_order = be; }", 4},
};

struct field {
    const char *name; /* NULL: no more */
    enum kind kind;
};

/* Names that start with "lttng" are those of LTTng's modules; `prio` is the kernel's own number, as
 * sched_switch of ftrace and perf have it. */
static const struct {
    const char *name;
    struct field fields[17];
} events[LULL_STATE_EVENTS] = {
    [LULL_STATE_START] = {"lttng_statedump_start", {{0}}},
    [LULL_STATE_CONTAINER] = {"lull_statedump_container", {{"id", TEXT}, {"name", TEXT}}},
    [LULL_STATE_PROCESS] = {"lttng_statedump_process_state",
                            {{"tid", S32},
                             {"pid", S32},
                             {"ppid", S32},
                             {"name", TEXT},
                             {"status", S32},
                             {"cpu", U32},
                             {"file_table_address", HEX64},
                             {"prio", S32}}},
    [LULL_STATE_CGROUP] = {"lull_statedump_cgroup", {{"tid", S32}, {"path", TEXT}}},
    [LULL_STATE_PID_NS] = {"lttng_statedump_process_pid_ns",
                           {{"tid", S32}, {"vtid", S32}, {"ns_level", S32}, {"ns_inum", U32}}},
    [LULL_STATE_FILE] =
        {"lttng_statedump_file_descriptor",
         {{"file_table_address", HEX64}, {"fd", S32}, {"flags", OCT32}, {"filename", TEXT}}},
    [LULL_STATE_PEER] = {"lull_statedump_peer",
                         {{"file_table_address", HEX64},
                          {"fd", S32},
                          {"family", S32},
                          {"port", U32},
                          {"own_port", U32},
                          {"address_high", HEX64},
                          {"address_low", HEX64},
                          {"is_datagram", U32},
                          {"path", TEXT}}},
    [LULL_STATE_EPOLL] =
        {"lull_statedump_epoll",
         {{"file_table_address", HEX64}, {"epoll", S32}, {"fd", S32}, {"data", HEX64}}},
    [LULL_STATE_CALL] = {"lull_statedump_call",
                         {{"tid", S32},
                          {"id", S32},
                          {"arg0", HEX64},
                          {"arg1", HEX64},
                          {"arg2", HEX64},
                          {"arg3", HEX64},
                          {"arg4", HEX64},
                          {"arg5", HEX64}}},
    [LULL_STATE_POLL] = {"lull_statedump_poll", {{"tid", S32}, {"fd", S32}}},
    [LULL_STATE_MAPPED_FILE] = {"lull_mapped_file", {{"dev", U32}, {"inode", U64}, {"path", TEXT}}},
    [LULL_STATE_DISK] = {"lttng_statedump_block_device", {{"dev", U32}, {"diskname", TEXT}}},
    [LULL_STATE_NETWORK] = {"lttng_statedump_network_interface",
                            {{"name", TEXT}, {"address_ipv4", BE32}}},
    [LULL_STATE_INTERRUPT] = {"lttng_statedump_interrupt",
                              {{"irq", U32}, {"name", TEXT}, {"action", TEXT}}},
    [LULL_STATE_CPU] =
        {"lttng_statedump_cpu_topology",
         {{"architecture", TEXT}, {"cpu_id", U32}, {"physical_id", S32}, {"core_id", S32}}},
    [LULL_STATE_END] = {"lttng_statedump_end", {{0}}},
    [LULL_STATE_CALL_PATH] = {"lull_call_path",
                              {{"tid", S32}, {"dev", U32}, {"inode", U64}, {"path", TEXT}}},
    [LULL_STATE_CALL_ADDRESS] = {"lull_call_address",
                                 {{"tid", S32},
                                  {"family", S32},
                                  {"port", U32},
                                  {"address_high", HEX64},
                                  {"address_low", HEX64},
                                  {"path", TEXT}}},
    [LULL_STATE_CALL_POLL] = {"lull_call_poll", {{"tid", S32}, {"fd", S32}}},
    [LULL_STATE_CALL_EPOLL] = {"lull_call_epoll", {{"tid", S32}, {"data", HEX64}}},
    [LULL_STATE_CALL_PAIR] = {"lull_call_pair", {{"tid", S32}, {"first", S32}, {"second", S32}}},
    [LULL_STATE_PACKET] = {"lull_packet_headers",
                           {{"skb", HEX64},
                            {"is_sent", U32},
                            {"version", U32},
                            {"protocol", U32},
                            {"source_high", HEX64},
                            {"source_low", HEX64},
                            {"destination_high", HEX64},
                            {"destination_low", HEX64},
                            {"source_port", U32},
                            {"destination_port", U32},
                            {"seq", U32},
                            {"ack", U32},
                            {"flags", U32},
                            {"window", U32},
                            {"ip_id", U32},
                            {"payload", U32}}},
    [LULL_STATE_COMMAND] = {"lull_command_line", {{"pid", S32}, {"arguments", TEXT}}},
};

struct packet_head {
    uint32_t magic;
    uint8_t uuid[16];
    uint64_t start_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t sequence;
} __attribute__((packed));

struct event_head {
    uint16_t id;
    uint64_t time_ns;
} __attribute__((packed));

struct lull_state_trace {
    char *path; /* of the stream file */
    int fd;
    int64_t stopped_ns;   /* the time of all events; INT64_MIN: that of writing them */
    int why_not;          /* errno of the first write that failed; 0 */
    uint64_t whole_bytes; /* of the packets that were written */
    GByteArray *packet;
    struct packet_head head;
};

/* ---- metadata ---- */

static void add_uuid(GString *text, const uint8_t uuid[static 16])
{
    for (uint32_t i = 0; i < 16; i++) {
        g_string_append_printf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               uuid[i]);
    }
}

static void add_env(GString *text, const char *key, const char *value)
{
    g_autofree char *escaped = g_strescape(value, NULL);
    g_string_append_printf(text, "    %s = \"%s\";\n", key, escaped);
}

void lull_state_trace_add_environment(GString *text, const char *domain)
{
    struct utsname name;
    g_string_append(text, "env {\n");
    add_env(text, "domain", domain);
    add_env(text, "tracer_name", "lull");
    if (uname(&name) == 0) {
        add_env(text, "hostname", name.nodename);
        add_env(text, "sysname", name.sysname);
        add_env(text, "kernel_release", name.release);
        add_env(text, "kernel_version", name.version);
        add_env(text, "machine", name.machine);
    }
    g_string_append(text, "};\n\n");
}

/* The clock's UUID is the boot id, as LTTng has it: it shows which traces share a clock. */
void lull_state_trace_add_clock(GString *text, int64_t epoch_offset_ns)
{
    g_autofree char *boot_id = NULL;
    g_string_append(text, "clock {\n    name = \"monotonic\";\n");
    if (g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot_id, NULL, NULL) &&
        g_uuid_string_is_valid(g_strstrip(boot_id))) {
        g_string_append_printf(text, "    uuid = \"%s\";\n", boot_id);
    }
    g_string_append_printf(text,
                           "    description = \"CLOCK_MONOTONIC\";\n"
                           "    freq = 1000000000;\n"
                           "    offset = %" PRId64 ";\n};\n\n",
                           epoch_offset_ns);
}

static void add_layout(GString *text, const uint8_t uuid[static 16])
{
    bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    g_string_append(text, "/* CTF 1.8 */\n\n"
                          "typealias integer { size = 8; align = 8; signed = 0; } := u8;\n"
                          "typealias integer { size = 16; align = 8; signed = 0; } := u16;\n"
                          "typealias integer { size = 32; align = 8; signed = 0; } := u32;\n"
                          "typealias integer { size = 64; align = 8; signed = 0; } := u64;\n\n"
                          "trace {\n    major = 1;\n    minor = 8;\n    uuid = \"");
    add_uuid(text, uuid);
    g_string_append_printf(text,
                           "\";\n    byte_order = %s;\n"
                           "    packet.header := struct { u32 magic; u8 uuid[16]; };\n};\n\n",
                           is_big ? "be" : "le");
}

static void add_stream(GString *text)
{
    g_string_append(
        text, "typealias integer { size = 64; align = 8; signed = 0; map = clock.monotonic.value; }"
              " := stamp;\n\n"
              "stream {\n"
              "    packet.context := struct {\n"
              "        stamp timestamp_begin;\n        stamp timestamp_end;\n"
              "        u64 content_size;\n        u64 packet_size;\n        u64 packet_seq_num;\n"
              "    };\n"
              "    event.header := struct { u16 id; stamp timestamp; };\n"
              "};\n\n");
    for (uint32_t i = 0; i < LULL_STATE_EVENTS; i++) {
        g_string_append_printf(text,
                               "event {\n    name = \"%s\";\n    id = %u;\n"
                               "    fields := struct {\n",
                               events[i].name, i);
        for (const struct field *field = events[i].fields; field->name; field++) {
            g_string_append_printf(text, "        %s _%s;\n", kinds[field->kind].tsdl, field->name);
        }
        g_string_append(text, "    };\n};\n\n");
    }
}

/* ---- files ---- */

static bool fail(const char *path, int why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s”: %s", path, g_strerror(why));
    return false;
}

static bool write_metadata(const struct lull_state_files *files, const uint8_t uuid[static 16],
                           int64_t epoch_offset_ns, GError **error)
{
    g_autofree char *path = g_build_filename(files->dir, "metadata", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    add_layout(text, uuid);
    lull_state_trace_add_environment(text, "kernel");
    lull_state_trace_add_clock(text, epoch_offset_ns);
    add_stream(text);
    int why = lull_file_write(files->metadata, text->str, text->len);
    if (close(files->metadata) != 0 && why == 0) {
        why = errno;
    }
    return why == 0 || fail(path, why, error);
}

/* Random, as RFC 9562 has it: two states of one machine are two traces. */
static void make_uuid(uint8_t uuid[static 16])
{
    g_autofree char *text = g_uuid_string_random();
    uint32_t n = 0;
    for (const char *p = text; *p != '\0' && n < 16; p++) {
        if (*p != '-') {
            uuid[n++] = (uint8_t)(g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]));
            p++;
        }
    }
}

struct lull_state_trace *lull_state_trace_new(const struct lull_state_files *files,
                                              int64_t epoch_offset_ns, GError **error)
{
    struct packet_head head = {.magic = 0xc1fc1fc1};
    make_uuid(head.uuid);
    if (!write_metadata(files, head.uuid, epoch_offset_ns, error)) {
        close(files->events);
        return NULL;
    }
    struct lull_state_trace *trace = g_new0(struct lull_state_trace, 1);
    trace->path = g_build_filename(files->dir, "state", NULL);
    trace->fd = files->events;
    trace->stopped_ns = INT64_MIN;
    trace->head = head;
    trace->packet = g_byte_array_sized_new(PACKET_BYTES + (64 << 10));
    g_byte_array_set_size(trace->packet, sizeof head);
    return trace;
}

struct lull_state_trace *lull_state_trace_beside(const struct lull_state_trace *trace,
                                                 const char *name, int file)
{
    struct lull_state_trace *other = g_new0(struct lull_state_trace, 1);
    g_autofree char *dir = g_path_get_dirname(trace->path);
    other->path = g_build_filename(dir, name, NULL);
    other->fd = file;
    other->stopped_ns = INT64_MIN;
    other->head.magic = trace->head.magic;
    memcpy(other->head.uuid, trace->head.uuid, sizeof other->head.uuid);
    other->packet = g_byte_array_sized_new(PACKET_BYTES + (64 << 10));
    g_byte_array_set_size(other->packet, sizeof other->head);
    return other;
}

static void flush(struct lull_state_trace *trace)
{
    struct packet_head *head = &trace->head;
    if (trace->packet->len == sizeof *head) {
        return;
    }
    head->content_bits = head->packet_bits = 8 * (uint64_t)trace->packet->len;
    memcpy(trace->packet->data, head, sizeof *head);
    if (trace->why_not == 0) {
        trace->why_not = lull_file_write(trace->fd, trace->packet->data, trace->packet->len);
    }
    if (trace->why_not == 0) {
        trace->whole_bytes += trace->packet->len;
    }
    head->sequence++;
    g_byte_array_set_size(trace->packet, sizeof *head);
}

static void put_field(GByteArray *packet, enum kind kind, union lull_state_value value)
{
    uint64_t number = (uint64_t)value.number;
    if (kind == TEXT) {
        g_byte_array_append(packet, (const guint8 *)value.text, (guint)strlen(value.text) + 1);
    } else if (kinds[kind].bytes == 4) {
        uint32_t word = (uint32_t)number; /* of BE32 it is in network order already */
        g_byte_array_append(packet, (const guint8 *)&word, sizeof word);
    } else {
        g_byte_array_append(packet, (const guint8 *)&number, sizeof number);
    }
}

void lull_state_trace_stop_clock(struct lull_state_trace *trace, int64_t time_ns)
{
    trace->stopped_ns = time_ns;
}

static uint64_t stamp(const struct lull_state_trace *trace)
{
    struct timespec now;
    if (trace->stopped_ns != INT64_MIN) {
        return (uint64_t)trace->stopped_ns;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void lull_state_trace_put(struct lull_state_trace *trace, enum lull_state_event event,
                          const union lull_state_value *values)
{
    lull_state_trace_put_at(trace, (int64_t)stamp(trace), event, values);
}

void lull_state_trace_put_at(struct lull_state_trace *trace, int64_t time_ns,
                             enum lull_state_event event, const union lull_state_value *values)
{
    struct event_head head = {(uint16_t)event, MAX((uint64_t)time_ns, trace->head.end_ns)};
    if (trace->packet->len == sizeof trace->head) {
        trace->head.start_ns = head.time_ns;
    }
    trace->head.end_ns = head.time_ns;
    g_byte_array_append(trace->packet, (const guint8 *)&head, sizeof head);
    for (uint32_t i = 0; events[event].fields[i].name; i++) {
        put_field(trace->packet, events[event].fields[i].kind, values[i]);
    }
    if (trace->packet->len >= PACKET_BYTES) {
        flush(trace);
    }
}

bool lull_state_trace_flush(struct lull_state_trace *trace)
{
    flush(trace);
    return trace->why_not == 0;
}

void lull_state_trace_cut(struct lull_state_trace *trace)
{
    flush(trace);
    if (trace->why_not != 0 && ftruncate(trace->fd, (off_t)trace->whole_bytes) == 0) {
        trace->why_not = 0;
    }
}

bool lull_state_trace_close(struct lull_state_trace *trace, GError **error)
{
    flush(trace);
    int why = trace->why_not;
    if (close(trace->fd) != 0 && why == 0) {
        why = errno;
    }
    bool is_ok = why == 0 || fail(trace->path, why, error);
    g_byte_array_unref(trace->packet);
    g_free(trace->path);
    g_free(trace);
    return is_ok;
}
