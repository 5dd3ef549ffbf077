/* SPDX-License-Identifier: MIT */
/* Adding traces to a session: finds which directories belong to one trace. */
#include <string.h>

#include "base/search.h"
#include "ctf/metadata.h"
#include "source/files/recording.h"
#include "source/session/file_kinds.h"
#include "source/session/search.h"
#include "source/session/private.h"
#include "source/session/streams.h"

void lull_session_trace_free(gpointer data)
{
    struct session_trace *trace = data;
    if (trace->source) {
        trace->source->ops->free(trace->source);
    }
    g_clear_pointer(&trace->class_names, g_hash_table_unref);
    g_clear_pointer(&trace->record, g_free);
    g_clear_pointer(&trace->task_names, g_hash_table_unref);
    g_clear_pointer(&trace->class_filters, g_ptr_array_unref);
    g_clear_pointer(&trace->class_watches, g_ptr_array_unref);
    g_free(trace);
}

/* ---- traces ---- */

/* One machine has one clock: LTTng samples its offset anew for each recording, so traces of the
 * same boot would be apart by the error of that sample. The first trace's offset counts for all. */
static void adopt_clock(struct session_trace *trace, const struct session_host *host)
{
    struct lull_trace *info = &trace->source->info;
    trace->delta_ns = host->has_clock_uuid ? host->clock_offset_ns - info->clock_offset_ns : 0;
    if (trace->delta_ns == 0) {
        return;
    }
    info->clock_offset_ns = host->clock_offset_ns;
    if (info->start_ns <= info->end_ns) {
        info->start_ns = lull_time_add(info->start_ns, trace->delta_ns);
        info->end_ns = lull_time_add(info->end_ns, trace->delta_ns);
    }
}

struct session_trace *lull_session_trace_new(struct lull_session *session)
{
    struct session_trace *trace = g_new0(struct session_trace, 1);
    trace->session = session;
    trace->index = session->traces->len;
    trace->first_stream = session->streams->len;
    lull_session_trace_listen(trace);
    return trace;
}

static void number_classes(struct session_trace *trace)
{
    struct lull_session *session = trace->session;
    const struct lull_source *source = trace->source;
    for (; trace->n_classes < source->n_classes; trace->n_classes++) {
        struct lull_event_class *event_class = source->classes[trace->n_classes];
        event_class->number = session->n_classes++;
        if (!source->ops->find_used) {
            g_hash_table_add(trace->class_names, (char *)event_class->name);
        }
    }
}

static void separate(struct lull_source *source)
{
    if (source->shared) {
        source->ops->separate(source);
    }
}

void lull_session_separate(struct lull_session *session)
{
    if (session->is_separate) {
        return;
    }
    session->is_separate = true;
    session->is_subscribed = false;
    lull_session_halt(session);
    session->n_classes = 0;
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct session_trace *trace = lull_session_trace_at(session, t);
        separate(trace->source);
        trace->n_classes = 0;
        number_classes(trace);
    }
}

void lull_session_trace_grow(struct session_trace *trace)
{
    struct lull_session *session = trace->session;
    struct lull_source *source = trace->source;
    number_classes(trace);
    for (; trace->n_streams < source->n_streams; trace->n_streams++) {
        struct lull_event *event = &source->streams[trace->n_streams]->event;
        event->host = source->info.host;
        event->trace = trace->index;
        event->stream = session->streams->len;
        g_ptr_array_add(session->streams, source->streams[trace->n_streams]);
    }
}

/* The first trace that has its classes in common with the source, or NULL. */
static const struct session_trace *find_like(struct lull_session *session,
                                             const struct lull_source *source)
{
    const void *shared = source->shared;
    guint first = shared ? GPOINTER_TO_UINT(g_hash_table_lookup(session->first_like, shared)) : 0;
    if (shared && first == 0) {
        g_hash_table_insert(session->first_like, (gpointer)shared,
                            GUINT_TO_POINTER(session->traces->len));
    }
    return first > 0 ? lull_session_trace_at(session, first - 1) : NULL;
}

void lull_session_trace_join(struct session_trace *trace)
{
    struct lull_session *session = trace->session;
    struct lull_source *source = trace->source;
    source->info.host = lull_session_find_host(session, source);
    adopt_clock(trace, lull_session_host_at(session, source->info.host));
    g_array_append_val(lull_session_host_at(session, source->info.host)->traces,
                       session->traces->len);
    g_ptr_array_add(session->traces, trace);
    session->knows_origin = false;
    if (session->is_separate) {
        separate(source);
    }
    const struct session_trace *like = find_like(session, source);
    if (like) {
        trace->class_names = g_hash_table_ref(like->class_names);
        trace->n_classes = like->n_classes;
    } else {
        trace->class_names = g_hash_table_new(g_str_hash, g_str_equal);
    }
    lull_session_trace_grow(trace);
}

/* The end of a trace's path after the requested part. Nothing if the trace lies in several
 * directories: none of them names it. */
static const char *path_below(const char *path, const GPtrArray *locations, const char *root)
{
    size_t length = locations->len > 1 ? strlen(path) : strlen(root);
    const char *below =
        locations->len > 1 || strncmp(path, root, length) == 0 ? path + length : path;
    while (*below == '/') {
        below++;
    }
    return below;
}

/* The traces of a recording are of one machine, whether or not each says so. */
static void adopt_recording(struct lull_source *source, const struct lull_recording_file *recording)
{
    if (recording->hostname) {
        source->hostname = recording->hostname;
    }
    source->host_name = recording->host_name;
    source->has_clock_uuid = recording->has_boot_id;
    memcpy(source->clock_uuid, recording->boot_id, sizeof source->clock_uuid);
}

/* Which events were wanted, where the trace itself does not say it. */
static void adopt_events(struct session_trace *trace, const struct lull_recording_file *recording)
{
    if (!recording->events || !trace->source->ops->find_used) {
        return;
    }
    for (const char **name = recording->events; *name; name++) {
        g_hash_table_add(trace->class_names, (char *)*name);
    }
    trace->knows_names = true;
}

static void note_recording(struct lull_session *session, struct lull_recording_file *recording,
                           uint32_t host)
{
    uint32_t n;
    const uint32_t first = lull_session_recordings_of(session, host, &n);
    for (uint32_t i = first; i < first + n; i++) {
        if (session->recordings->pdata[i] == recording) {
            return;
        }
    }
    recording->info.host = host;
    g_ptr_array_insert(session->recordings, (int)(first + n), lull_recording_ref(recording));
}

static bool add_trace(struct lull_session *session, GPtrArray *locations, const char *root,
                      GError **error)
{
    struct session_trace *trace = lull_session_trace_new(session);
    struct lull_location *first = locations->pdata[0];
    trace->source =
        first->kind
            ? first->kind->open(first, &trace->report, error)
            : lull_ctf_source_open((struct lull_location *const *)locations->pdata, locations->len,
                                   session->ctf_kinds, &trace->report, error);
    if (!trace->source) {
        lull_session_trace_free(trace);
        return false;
    }
    struct lull_source *source = trace->source;
    source->info.below = path_below(source->info.path, locations, root);
    if (first->recording) {
        adopt_recording(source, first->recording);
    }
    lull_session_trace_join(trace);
    if (first->recording) {
        adopt_events(trace, first->recording);
        lull_session_note_record(trace, first->recording);
        note_recording(session, first->recording, source->info.host);
    }
    session->is_subscribed = false;
    lull_session_halt(session);
    return true;
}

/* ---- directories of one trace ---- */

/* Directories that hold parts of one trace: the metadata of each start those of the newest. */
struct trace_group {
    GPtrArray *locations;
    struct lull_location *longest; /* metadata of all */
    bool is_known, has_uuid;       /* whether the text was parsed, and says which trace it is */
};

static void free_group(gpointer data)
{
    struct trace_group *group = data;
    g_ptr_array_unref(group->locations);
    g_free(group);
}

#define CANNOT_READ_METADATA "the metadata cannot be read: "
/* So many bytes at the start of metadata distinguish most traces. */
#define HEAD_BYTES 4096

/* How many bytes distinguish a text from those of other traces: up to its first UUID, which is the
 * trace's; without one, as many as the shortest texts have. */
static size_t telling_bytes(const char *head, size_t size)
{
    static const char key[] = "uuid = \"";
    const size_t uuid_size = 36, usual = 512;
    const char *uuid = g_strstr_len(head, (gssize)size, key);
    return MIN(size, uuid ? (size_t)(uuid - head) + strlen(key) + uuid_size : usual);
}

/* Directories with the same key may be of one trace: LTTng's metadata packets carry its UUID. */
static char *group_key(const char *head, size_t size)
{
    static const uint8_t magics[2][4] = {{0x57, 0x1d, 0xd1, 0x75}, {0x75, 0xd1, 0x1d, 0x57}};
    const size_t with_uuid = 20;
    bool is_packet =
        size >= with_uuid && (memcmp(head, magics[0], 4) == 0 || memcmp(head, magics[1], 4) == 0);
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)head,
                                       is_packet ? with_uuid : telling_bytes(head, size));
}

/* Reads the metadata of a place, which are kept no longer than it takes to open the trace: there
 * may be thousands of them. */
static bool load_metadata(struct lull_location *location, GError **error)
{
    if (location->kind || location->metadata ||
        lull_location_read(location, "metadata", LULL_METADATA_MOST_BYTES, &location->metadata,
                           &location->metadata_size, error)) {
        return true;
    }
    g_prefix_error_literal(error, CANNOT_READ_METADATA);
    return false;
}

static void forget_metadata(struct lull_location *location)
{
    g_clear_pointer(&location->metadata, g_free);
    location->metadata_size = 0;
}

/* Without a UUID two traces may well have the same metadata. */
static bool has_uuid(struct trace_group *group)
{
    if (!group->is_known) {
        const struct lull_location *location = group->longest;
        struct lull_schema *schema = lull_metadata_parse(
            location->path, (const uint8_t *)location->metadata, location->metadata_size, NULL);
        group->has_uuid = schema && schema->has_uuid;
        if (schema) {
            lull_schema_free(schema);
        }
    }
    group->is_known = true;
    return group->has_uuid;
}

static struct trace_group *group_new(struct lull_location *location)
{
    struct trace_group *group = g_new0(struct trace_group, 1);
    group->locations = g_ptr_array_new();
    group->longest = location;
    g_ptr_array_add(group->locations, location);
    return group;
}

/* Whether one of the texts starts with the other. */
static bool is_one_text(const struct lull_location *a, const struct lull_location *b)
{
    size_t size_a, size_b;
    g_autofree char *text_a =
        lull_metadata_text(a->path, (const uint8_t *)a->metadata, a->metadata_size, &size_a, NULL);
    g_autofree char *text_b =
        lull_metadata_text(b->path, (const uint8_t *)b->metadata, b->metadata_size, &size_b, NULL);
    return text_a && text_b && memcmp(text_a, text_b, MIN(size_a, size_b)) == 0;
}

/* Whether the place holds metadata of the group's trace: those of now, of earlier or of later. */
static bool fits_group(struct trace_group *group, struct lull_location *location)
{
    struct lull_location *longest = group->longest;
    bool fits = load_metadata(longest, NULL) && load_metadata(location, NULL) &&
                is_one_text(longest, location) && has_uuid(group);
    if (fits) {
        g_ptr_array_add(group->locations, location);
        group->longest = location->metadata_size > longest->metadata_size ? location : longest;
    }
    forget_metadata(longest);
    forget_metadata(location);
    return fits;
}

/* Puts a place into its group, perhaps a new one. `head` is the start of its metadata. */
static void group_location(GPtrArray *groups, GHashTable *by_key, struct lull_location *location,
                           const char *head, size_t size)
{
    g_autofree char *key = group_key(head, size);
    struct trace_group *group = g_hash_table_lookup(by_key, key);
    if (location->kind || !group || !fits_group(group, location)) {
        group = group_new(location);
        g_ptr_array_add(groups, group);
        if (!location->kind) {
            g_hash_table_replace(by_key, g_steal_pointer(&key), group);
        }
    }
}

/* ---- adding what was found ---- */

struct adding {
    struct lull_session *session;
    uint32_t n_roots;
    uint32_t *found; /* by root: traces that can be read */
    GError **errors; /* by root: the first */
    GPtrArray *rest; /* char: all errors, by root in rest_roots */
    GArray *rest_roots;
};

static void note_error(struct adding *adding, uint32_t root, GError *error)
{
    g_ptr_array_add(adding->rest, g_strdup(error->message));
    g_array_append_val(adding->rest_roots, root);
    if (!adding->errors[root]) {
        adding->errors[root] = error;
    } else {
        g_error_free(error);
    }
}

/* The first bytes of the place's metadata, up to HEAD_BYTES. False if there are none. */
static bool read_head(const struct lull_location *location, char *head, size_t *size,
                      GError **error)
{
    struct lull_bytes *bytes;
    uint64_t file_size;
    if (lull_location_bytes(location, "metadata", &bytes, &file_size, error) != LULL_OPEN_DONE) {
        return false;
    }
    const char *why = bytes->ops->open(bytes);
    *size = 0;
    if (!why) {
        const uint64_t want = MIN(file_size, HEAD_BYTES);
        *size = want ? bytes->ops->read(bytes, 0, (uint8_t *)head, want, &why) : 0;
        bytes->ops->close(bytes);
    }
    bytes->ops->free(bytes);
    if (why) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s/metadata: %s", location->path, why);
    }
    return !why;
}

/* Puts a place that is new, and whose metadata can be read, into its group. */
static void take_location(struct adding *adding, GPtrArray *groups, GHashTable *by_key,
                          struct lull_location *location, const char *key)
{
    char head[HEAD_BYTES];
    size_t size = 0;
    GError *cause = NULL;
    if (g_hash_table_contains(adding->session->directories, key)) {
        adding->found[location->root]++;
    } else if (location->kind || read_head(location, head, &size, &cause)) {
        g_hash_table_add(adding->session->directories, g_strdup(key));
        group_location(groups, by_key, location, head, size);
    } else {
        g_prefix_error_literal(&cause, CANNOT_READ_METADATA);
        note_error(adding, location->root, cause);
    }
}

/* Opens the trace of a group. False with an error of one of its places. */
static bool open_group(struct lull_session *session, const struct trace_group *group,
                       const char *root, GError **error)
{
    bool done = true;
    for (uint32_t i = 0; done && i < group->locations->len; i++) {
        done = load_metadata(group->locations->pdata[i], error);
    }
    done = done && add_trace(session, group->locations, root, error);
    for (uint32_t i = 0; i < group->locations->len; i++) {
        forget_metadata(group->locations->pdata[i]);
    }
    return done;
}

static void add_groups(struct adding *adding, const struct lull_search *search,
                       const char *const *paths)
{
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(free_group);
    g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) keys = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (uint32_t i = 0; i < search->locations->len; i++) {
        g_hash_table_insert(keys, search->locations->pdata[i], search->keys->pdata[i]);
        take_location(adding, groups, by_key, search->locations->pdata[i], search->keys->pdata[i]);
    }
    for (uint32_t i = 0; i < groups->len; i++) {
        GError *error = NULL;
        const struct trace_group *group = groups->pdata[i];
        const struct lull_location *first = group->locations->pdata[0];
        bool done = open_group(adding->session, group, paths[first->root], &error);
        if (!done) {
            note_error(adding, first->root, error);
        }
        for (uint32_t k = 0; k < group->locations->len; k++) {
            struct lull_location *location = group->locations->pdata[k];
            if (done) {
                adding->found[location->root]++;
            } else {
                g_hash_table_remove(adding->session->directories,
                                    g_hash_table_lookup(keys, location));
            }
        }
    }
}

/* False, with the error of the first path below which nothing was found; what was wrong below the
 * others is a problem of the session. */
static bool conclude(struct adding *adding, const struct lull_search *search,
                     const char *const *paths, GError **error)
{
    /* What was left out may be why there is nothing. */
    const char *note = search->notes->len > 0 ? search->notes->pdata[0] : NULL;
    bool done = true;
    for (uint32_t i = 0; i < adding->rest->len; i++) {
        if (adding->found[g_array_index(adding->rest_roots, uint32_t, i)] > 0) {
            lull_session_note_problem(adding->session, adding->rest->pdata[i]);
        }
    }
    for (uint32_t i = 0; i < adding->n_roots; i++) {
        GError *cause = adding->errors[i];
        if (done && adding->found[i] == 0) {
            done = false;
            if (cause) {
                g_propagate_error(error, g_error_copy(cause));
            } else {
                g_set_error(
                    error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: there is no trace in it (no file 'metadata' and no trace.dat here or "
                    "below)%s%s",
                    paths[i], note ? "; " : "", note ? note : "");
            }
        }
        g_clear_error(&adding->errors[i]);
    }
    return done;
}

static void add_live(struct adding *adding, const char *url, uint32_t root)
{
    GError *error = NULL;
    if (lull_session_add_live(adding->session, url, &error)) {
        adding->found[root]++;
    } else {
        note_error(adding, root, error);
    }
}

bool lull_session_add_all(struct lull_session *session, const char *const *paths, uint32_t n_paths,
                          GError **error)
{
    struct lull_search search;
    struct adding adding = {.session = session,
                            .n_roots = n_paths,
                            .found = g_new0(uint32_t, MAX(n_paths, 1)),
                            .errors = g_new0(GError *, MAX(n_paths, 1)),
                            .rest = g_ptr_array_new_with_free_func(g_free),
                            .rest_roots = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
    lull_search_init(&search);
    search.progress = session->unpacking;
    search.progress_user = session->unpacking_user;
    for (uint32_t i = 0; i < n_paths; i++) {
        if (lull_live_url_is(paths[i])) {
            add_live(&adding, paths[i], i);
            continue;
        }
        lull_search_path(&search, paths[i], i);
        for (uint32_t k = 0; k < search.errors->len; k++) {
            note_error(&adding, i, g_error_copy(search.errors->pdata[k]));
        }
        g_ptr_array_set_size(search.errors, 0);
    }
    add_groups(&adding, &search, paths);
    lull_session_note_hosts(session);
    bool done = conclude(&adding, &search, paths, error);
    for (uint32_t i = 0; i < search.notes->len; i++) {
        lull_session_note_problem(session, search.notes->pdata[i]);
    }
    lull_search_clear(&search);
    g_free(adding.found);
    g_free(adding.errors);
    g_ptr_array_unref(adding.rest);
    g_array_unref(adding.rest_roots);
    return done;
}

uint32_t lull_session_recording_count(const struct lull_session *session)
{
    return session->recordings->len;
}

const struct lull_recording_info *lull_session_recording(const struct lull_session *session,
                                                         uint32_t index)
{
    return &lull_session_recording_file(session, index)->info;
}

uint32_t lull_session_recordings_of(const struct lull_session *session, uint32_t host, uint32_t *n)
{
    const uint32_t count = session->recordings->len;
    const uint32_t first =
        LULL_LOWER_BOUND(i, count, lull_session_recording(session, i)->host < host);
    *n = LULL_LOWER_BOUND(i, count, lull_session_recording(session, i)->host <= host) - first;
    return first;
}

const struct lull_recorded_holder *lull_session_holder(const struct lull_session *session,
                                                       uint32_t host, int32_t tid)
{
    uint32_t n;
    const uint32_t first = lull_session_recordings_of(session, host, &n);
    const struct lull_recording_file *last = NULL;
    for (uint32_t i = first; i < first + n; i++) {
        const struct lull_recording_file *file = lull_session_recording_file(session, i);
        last = !last || file->info.end_ns > last->info.end_ns ? file : last;
    }
    const uint32_t n_holders = last ? last->n_lock_holders : 0;
    const uint32_t found = LULL_LOWER_BOUND(i, n_holders, last->lock_holders[i].tid < tid);
    return found < n_holders && last->lock_holders[found].tid == tid ? &last->lock_holders[found]
                                                                     : NULL;
}

struct lull_recording_file *lull_session_recording_file(const struct lull_session *session,
                                                        uint32_t index)
{
    return session->recordings->pdata[index];
}

GHashTable *lull_session_build_ids(const struct lull_session *session, uint32_t trace)
{
    const struct session_trace *it = session->traces->pdata[trace];
    return it->source->build_ids;
}

char *lull_session_kernel_symbols(const struct lull_session *session, uint32_t trace, gsize *length)
{
    const struct lull_source *source =
        ((const struct session_trace *)session->traces->pdata[trace])->source;
    return source->ops->symbols ? source->ops->symbols(source, length) : NULL;
}

bool lull_session_add(struct lull_session *session, const char *path, GError **error)
{
    return lull_session_add_all(session, &path, 1, error);
}
