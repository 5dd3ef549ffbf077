/* SPDX-License-Identifier: MIT */
/* Which host a trace is of. Machines are told apart by what their traces say: by boot ids (the UUID of
 * the clock), else by names and releases of kernels. Where several have one name, or nothing says that
 * two traces are not of one machine though they look so, there is a note. */
#include <inttypes.h>
#include <string.h>

#include "source/session/private.h"

void lull_session_host_free(gpointer data)
{
    struct session_host *host = data;
    g_free((char *)host->info.name);
    g_array_unref(host->traces);
    g_free(host);
}

/* A name for people: of the host, or of the directory; LTTng's "kernel" says nothing. */
static char *base_name(const struct lull_source *source)
{
    if (source->host_name && *source->host_name != '\0') {
        return g_strdup(source->host_name);
    }
    if (source->hostname && *source->hostname != '\0') {
        return g_strdup(source->hostname);
    }
    g_autofree char *path = g_canonicalize_filename(source->info.path, NULL);
    g_autofree char *name = g_path_get_basename(path);
    if (strcmp(name, "kernel") != 0) {
        return g_steal_pointer(&name);
    }
    g_autofree char *parent = g_path_get_dirname(path);
    return g_path_get_basename(parent);
}

/* The name, or with a number after it if others have it. */
static char *unique_name(struct lull_session *session, const char *base)
{
    char *name = g_strdup(base);
    while (g_hash_table_contains(session->host_names, name)) {
        unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(session->host_names, base)) + 1;
        g_hash_table_insert(session->host_names, g_strdup(base), GUINT_TO_POINTER(n));
        g_free(name);
        name = g_strdup_printf("%s#%u", base, n);
    }
    g_hash_table_insert(session->host_names, g_strdup(name), GUINT_TO_POINTER(1));
    return name;
}

/* What a host is found by: its clock, and ('h') its name and, if the clock has no UUID, its kernel,
 * ('n') that it has no name, or ('a') no more. */
static char *host_key(const struct lull_source *source, char kind)
{
    GString *key = g_string_new(NULL);
    g_string_append_c(key, kind);
    for (size_t i = 0; i < sizeof source->clock_uuid && source->has_clock_uuid; i++) {
        g_string_append_printf(key, "%02x", source->clock_uuid[i]);
    }
    if (kind == 'h') {
        g_string_append_printf(key, " %s %s", source->hostname,
                               source->has_clock_uuid ? "" : source->info.kernel);
    }
    return g_string_free(key, FALSE);
}

static uint32_t lookup_host(const struct lull_session *session, const struct lull_source *source,
                            char kind)
{
    g_autofree char *key = host_key(source, kind);
    return GPOINTER_TO_UINT(g_hash_table_lookup(session->hosts_by_key, key)) - 1;
}

/* The first host that the source may be of, or UINT32_MAX. The clock's UUID is the boot id; whoever
 * copied a machine's clock but gave it another name meant another machine. */
static uint32_t known_host(const struct lull_session *session, const struct lull_source *source)
{
    if (!source->hostname) {
        return source->has_clock_uuid ? lookup_host(session, source, 'a') : UINT32_MAX;
    }
    uint32_t found = lookup_host(session, source, 'h');
    return source->has_clock_uuid ? MIN(found, lookup_host(session, source, 'n')) : found;
}

static void note_host(struct lull_session *session, const struct lull_source *source, char kind,
                      uint32_t host)
{
    if (lookup_host(session, source, kind) == UINT32_MAX) {
        g_hash_table_insert(session->hosts_by_key, host_key(source, kind),
                            GUINT_TO_POINTER(host + 1));
    }
}

/* ---- traces with a boot id, and those without ---- */

/* The wall clock is slewed, and each trace samples anew when the machine was started by it. */
#define MOST_APART_NS INT64_C(1000000000)

/* Whether the trace says when its machine was started. Between two starts lies at least how long the machine was
 * up in the trace: if that is longer than what is allowed for, the moment identifies the boot. */
static bool tells_start(const struct lull_source *source)
{
    const struct lull_trace *info = &source->info;
    int64_t up_ns;
    return source->hostname && *source->hostname != '\0' &&
           strcmp(info->clock_name, "monotonic") == 0 && info->clock_offset_ns > 0 &&
           info->start_ns <= info->end_ns &&
           !__builtin_sub_overflow(info->end_ns, info->clock_offset_ns, &up_ns) &&
           up_ns > MOST_APART_NS;
}

static char *boot_key(const struct lull_source *source, bool has_uuid, int64_t second)
{
    return g_strdup_printf("b%d %" PRId64 " %s", has_uuid, second, source->hostname);
}

static bool is_same_boot(const struct lull_source *a, const struct lull_source *b)
{
    const bool has_kernels = *a->info.kernel != '\0' && *b->info.kernel != '\0';
    return ABS(a->info.clock_offset_ns - b->info.clock_offset_ns) <= MOST_APART_NS &&
           (!has_kernels || strcmp(a->info.kernel, b->info.kernel) == 0);
}

static const struct lull_source *first_source(const struct lull_session *session, uint32_t host)
{
    const GArray *traces = lull_session_host_at(session, host)->traces;
    return lull_session_trace_at(session, g_array_index(traces, uint32_t, 0))->source;
}

/* The host with a boot id if the source has none, or the other way round, which was started at the same moment. */
static uint32_t same_boot(const struct lull_session *session, const struct lull_source *source)
{
    const int64_t at = source->info.clock_offset_ns / MOST_APART_NS;
    for (int64_t second = at - 1; tells_start(source) && second <= at + 1; second++) {
        g_autofree char *key = boot_key(source, !source->has_clock_uuid, second);
        const guint found = GPOINTER_TO_UINT(g_hash_table_lookup(session->hosts_by_key, key));
        if (found > 0 && is_same_boot(source, first_source(session, found - 1))) {
            return found - 1;
        }
    }
    return UINT32_MAX;
}

static void note_boot(struct lull_session *session, const struct lull_source *source, uint32_t host)
{
    g_autofree char *key =
        tells_start(source)
            ? boot_key(source, source->has_clock_uuid, source->info.clock_offset_ns / MOST_APART_NS)
            : NULL;
    if (key && !g_hash_table_contains(session->hosts_by_key, key)) {
        g_hash_table_insert(session->hosts_by_key, g_steal_pointer(&key),
                            GUINT_TO_POINTER(host + 1));
    }
}

static void copy_boot_id(struct lull_source *to, const uint8_t uuid[16])
{
    to->has_clock_uuid = true;
    memcpy(to->clock_uuid, uuid, sizeof to->clock_uuid);
}

/* A host that has only a trace without a boot id gets that of the source; or the source gets the host's. What was
 * found by its name alone is not any more: that may be of another boot. False: the host is in doubt. */
static bool join_boot(struct lull_session *session, struct lull_source *source, uint32_t index)
{
    struct session_host *host = lull_session_host_at(session, index);
    struct lull_source *first =
        lull_session_trace_at(session, g_array_index(host->traces, uint32_t, 0))->source;
    if (!source->has_clock_uuid) {
        copy_boot_id(source, first->clock_uuid);
        return true;
    }
    if (host->traces->len > 1) {
        return false;
    }
    for (const char *kind = "ha"; *kind; kind++) {
        g_autofree char *key = host_key(first, *kind);
        g_hash_table_remove(session->hosts_by_key, key);
    }
    g_autofree char *key = boot_key(first, false, first->info.clock_offset_ns / MOST_APART_NS);
    g_hash_table_remove(session->hosts_by_key, key);
    copy_boot_id(first, source->clock_uuid);
    host->has_clock_uuid = true;
    note_host(session, first, 'h', index);
    note_host(session, first, 'a', index);
    note_boot(session, first, index);
    return true;
}

/* ---- all ---- */

uint32_t lull_session_find_host(struct lull_session *session, struct lull_source *source)
{
    const bool has_uuid = source->has_clock_uuid;
    uint32_t known = has_uuid ? known_host(session, source) : UINT32_MAX;
    const uint32_t by_start = known == UINT32_MAX ? same_boot(session, source) : UINT32_MAX;
    if (by_start != UINT32_MAX && join_boot(session, source, by_start)) {
        known = by_start;
    } else if (!has_uuid) {
        known = known_host(session, source);
    }
    if (known != UINT32_MAX) {
        return known;
    }
    const uint32_t new_host = session->hosts->len;
    struct session_host *host = g_new0(struct session_host, 1);
    g_autofree char *base = base_name(source);
    host->info.name = unique_name(session, base);
    host->has_clock_uuid = source->has_clock_uuid;
    host->clock_offset_ns = source->info.clock_offset_ns;
    host->traces = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_ptr_array_add(session->hosts, host);
    note_host(session, source, source->hostname ? 'h' : 'n', new_host);
    note_host(session, source, 'a', new_host);
    note_boot(session, source, new_host);
    return new_host;
}

/* ---- notes ---- */

/* What would have told whether two traces are of one boot, or NULL: nothing that we know of. */
static const char *what_helps(const struct lull_source *a, const struct lull_source *b)
{
    const struct lull_source *without = a->has_clock_uuid ? b : a;
    return a->has_clock_uuid == b->has_clock_uuid ? NULL
           : !g_str_has_prefix(without->info.tracer, "perf") || tells_start(without)
               ? NULL
               : "; 'perf record -k CLOCK_MONOTONIC' records clocks that tell, and 'lull record' "
                 "makes one recording of both";
}

static const char *why_apart(const struct lull_source *a, const struct lull_source *b)
{
    return a->has_clock_uuid != b->has_clock_uuid
               ? tells_start(a) && tells_start(b)
                     ? "only some of them have a boot id, and by their clocks they were not started at the "
                       "same moment"
                     : "only some of them have a boot id"
           : a->has_clock_uuid ? "their boot ids differ"
           : *a->info.kernel == '\0' || *b->info.kernel == '\0'
               ? "only some of them have the release of its kernel"
               : "the releases of their kernels differ";
}

/* Hosts of one name, in order. */
struct namesakes {
    uint32_t first, second, n, last;
};

static void note_namesakes(struct lull_session *session, const struct namesakes *them)
{
    const struct lull_source *first = first_source(session, them->first);
    const struct lull_source *second = first_source(session, them->second);
    const char *why = why_apart(first, second), *helps = what_helps(first, second);
    g_autofree char *text = g_strdup_printf(
        "the traces of “%s” come from different machines, or from one that rebooted between them: "
        "%s; Lull takes them for %u hosts, “%s”, “%s”%s%s",
        first->hostname, why, them->n, lull_session_host(session, them->first)->name,
        lull_session_host(session, them->second)->name, them->n > 2 ? " …" : "",
        helps ? helps : "");
    lull_session_note_remark(session, text);
}

/* Once for each name of which there are new hosts. */
static void note_names(struct lull_session *session)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (uint32_t host = 0; host < session->hosts->len; host++) {
        const char *name = first_source(session, host)->hostname;
        if (!name || *name == '\0') {
            continue;
        }
        struct namesakes *them = g_hash_table_lookup(by_name, name);
        if (!them) {
            them = g_new0(struct namesakes, 1);
            them->first = host;
            g_hash_table_insert(by_name, (gpointer)name, them);
            g_ptr_array_add(all, them);
        }
        them->second = ++them->n == 2 ? host : them->second;
        them->last = host;
    }
    for (uint32_t i = 0; i < all->len; i++) {
        const struct namesakes *them = all->pdata[i];
        if (them->n > 1 && them->last >= session->n_noted_hosts) {
            note_namesakes(session, them);
        }
    }
}

/* One after the other, those of the same CPU, tracer and clock. */
static gint compare_records(gconstpointer left, gconstpointer right, gpointer data)
{
    const struct lull_source_stream *a = *(struct lull_source_stream *const *)left;
    const struct lull_source_stream *b = *(struct lull_source_stream *const *)right;
    const struct lull_trace *x = lull_session_trace(data, a->event.trace);
    const struct lull_trace *y = lull_session_trace(data, b->event.trace);
    int order = strcmp(x->tracer, y->tracer);
    order = order != 0 ? order : strcmp(x->clock_name, y->clock_name);
    order = order != 0 ? order : (a->cpu > b->cpu) - (a->cpu < b->cpu);
    return order != 0 ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool is_same_record(const struct lull_session *session, const struct lull_source_stream *a,
                           const struct lull_source_stream *b)
{
    const struct lull_trace *x = lull_session_trace(session, a->event.trace);
    const struct lull_trace *y = lull_session_trace(session, b->event.trace);
    return a->cpu == b->cpu && strcmp(x->tracer, y->tracer) == 0 &&
           strcmp(x->clock_name, y->clock_name) == 0;
}

/* One tracer may have recorded a CPU twice at a time, but as a rule it did not. */
static void note_doubt(struct lull_session *session, const struct session_host *host)
{
    g_autoptr(GPtrArray) streams = g_ptr_array_new();
    for (guint t = 0; t < host->traces->len; t++) {
        const struct lull_source *source =
            lull_session_trace_at(session, g_array_index(host->traces, uint32_t, t))->source;
        for (uint32_t i = 0; i < source->n_streams; i++) {
            if (source->streams[i]->cpu >= 0 &&
                source->streams[i]->start_ns <= source->streams[i]->end_ns) {
                g_ptr_array_add(streams, source->streams[i]);
            }
        }
    }
    g_qsort_with_data(streams->pdata, (gint)streams->len, sizeof(gpointer), compare_records,
                      session);
    const struct lull_source_stream *longest = NULL; /* of those so far, the one that ends last */
    for (guint i = 0; i < streams->len; i++) {
        const struct lull_source_stream *stream = streams->pdata[i];
        const bool is_same = longest && is_same_record(session, longest, stream);
        if (is_same && longest->event.trace != stream->event.trace &&
            stream->start_ns <= longest->end_ns) {
            g_autofree char *text = g_strdup_printf(
                "Lull takes %s and %s for traces of one machine, “%s”: nothing in them says "
                "otherwise, but both recorded CPU %" PRId32
                " at the same time; if they come from two machines, read them one at a time",
                lull_session_trace(session, longest->event.trace)->path,
                lull_session_trace(session, stream->event.trace)->path, host->info.name,
                stream->cpu);
            lull_session_note_remark(session, text);
            return;
        }
        longest = !is_same || stream->end_ns > longest->end_ns ? stream : longest;
    }
}

void lull_session_note_hosts(struct lull_session *session)
{
    note_names(session);
    for (uint32_t i = 0; i < session->hosts->len; i++) {
        struct session_host *host = lull_session_host_at(session, i);
        if (!host->has_clock_uuid && !host->is_doubted && host->traces->len > host->n_noted) {
            const guint before = session->notes->problems->len;
            note_doubt(session, host);
            host->is_doubted = session->notes->problems->len > before;
        }
        if (host->has_clock_uuid && host->traces->len > host->n_noted) {
            lull_session_part_records(session, host);
        }
        host->n_noted = host->traces->len;
    }
    session->n_noted_hosts = session->hosts->len;
}
