/* Adding traces to a session: finding them below a directory, and telling which host each is of. */
#include "source/session_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A trace lies at most this deep below the directory that was given. */
#define MAX_DEPTH 8

void lull_session_host_free(gpointer data)
{
    struct session_host *host = data;
    g_free((char *)host->info.name);
    g_free((char *)host->hostname);
    g_free(host);
}

void lull_session_trace_free(gpointer data)
{
    struct session_trace *trace = data;
    if (trace->source != NULL)
        trace->source->ops->free(trace->source);
    g_clear_pointer(&trace->class_names, g_hash_table_unref);
    g_free(trace);
}

/* ---- hosts ---- */

/* The clock's UUID is the boot id; whoever copied a machine's clock but gave it another name meant
 * another machine. */
static bool is_host_of(const struct session_host *host, const struct lull_source *source)
{
    if (host->has_clock_uuid != source->has_clock_uuid)
        return false;
    if (host->hostname && source->hostname && strcmp(host->hostname, source->hostname) != 0)
        return false;
    if (host->has_clock_uuid)
        return memcmp(host->clock_uuid, source->clock_uuid, sizeof host->clock_uuid) == 0;
    return host->hostname != NULL && source->hostname != NULL &&
           strcmp(host->hostname, source->hostname) == 0;
}

/* A name for people: of the host, or of the directory; LTTng's "kernel" says nothing. */
static char *base_name(const struct lull_source *source)
{
    if (source->hostname != NULL && *source->hostname != '\0')
        return g_strdup(source->hostname);
    g_autofree char *path = g_canonicalize_filename(source->info.path, NULL);
    g_autofree char *name = g_path_get_basename(path);
    if (strcmp(name, "kernel") != 0)
        return g_steal_pointer(&name);
    g_autofree char *parent = g_path_get_dirname(path);
    return g_path_get_basename(parent);
}

static bool name_is_taken(const struct lull_session *session, const char *name)
{
    for (uint32_t i = 0; i < session->hosts->len; i++)
        if (strcmp(lull_session_host_at(session, i)->info.name, name) == 0)
            return true;
    return false;
}

static uint32_t find_host(struct lull_session *session, const struct lull_source *source)
{
    for (uint32_t i = 0; i < session->hosts->len; i++)
        if (is_host_of(lull_session_host_at(session, i), source))
            return i;
    struct session_host *host = g_new0(struct session_host, 1);
    g_autofree char *base = base_name(source);
    char *name = g_strdup(base);
    for (unsigned n = 2; name_is_taken(session, name); n++) {
        g_free(name);
        name = g_strdup_printf("%s#%u", base, n);
    }
    host->info.name = name;
    host->hostname = g_strdup(source->hostname);
    host->has_clock_uuid = source->has_clock_uuid;
    memcpy(host->clock_uuid, source->clock_uuid, sizeof host->clock_uuid);
    host->clock_offset_ns = source->info.clock_offset_ns;
    g_ptr_array_add(session->hosts, host);
    return session->hosts->len - 1;
}

/* ---- traces ---- */

/* One machine has one clock: LTTng samples its offset anew for each recording, so traces of the
 * same boot would be apart by the error of that sample. The first trace's offset counts for all. */
static void adopt_clock(struct session_trace *trace, const struct session_host *host)
{
    struct lull_trace *info = &trace->source->info;
    if (!host->has_clock_uuid ||
        __builtin_sub_overflow(host->clock_offset_ns, info->clock_offset_ns, &trace->delta_ns))
        trace->delta_ns = 0;
    if (trace->delta_ns == 0)
        return;
    info->clock_offset_ns = host->clock_offset_ns;
    if (info->begin_ns <= info->end_ns) {
        info->begin_ns += trace->delta_ns;
        info->end_ns += trace->delta_ns;
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

void lull_session_trace_grow(struct session_trace *trace)
{
    struct lull_session *session = trace->session;
    struct lull_source *source = trace->source;
    for (; trace->n_classes < source->n_classes; trace->n_classes++) {
        struct lull_event_class *event_class = source->classes[trace->n_classes];
        event_class->number = session->n_classes++;
        g_hash_table_add(trace->class_names, (char *)event_class->name);
    }
    for (; trace->n_streams < source->n_streams; trace->n_streams++) {
        struct lull_event *event = &source->streams[trace->n_streams]->event;
        event->host = source->info.host;
        event->trace = trace->index;
        event->stream = session->streams->len;
        g_ptr_array_add(session->streams, source->streams[trace->n_streams]);
    }
}

void lull_session_trace_join(struct session_trace *trace)
{
    struct lull_session *session = trace->session;
    struct lull_source *source = trace->source;
    source->info.host = find_host(session, source);
    adopt_clock(trace, lull_session_host_at(session, source->info.host));
    g_ptr_array_add(session->traces, trace);
    trace->class_names = g_hash_table_new(g_str_hash, g_str_equal);
    lull_session_trace_grow(trace);
}

static bool add_trace(struct lull_session *session, const char *path, GError **error)
{
    struct session_trace *trace = lull_session_trace_new(session);
    trace->source = lull_ctf_source_open(path, &trace->report, error);
    if (trace->source == NULL) {
        lull_session_trace_free(trace);
        return false;
    }
    lull_session_trace_join(trace);
    session->is_subscribed = false;
    session->is_started = false;
    return true;
}

/* ---- searching ---- */

struct search {
    struct lull_session *session;
    GHashTable *seen; /* "device:inode" of directories */
    uint32_t found;
    GError *error; /* the first */
};

/* Keeps the first error in case nothing can be read; all of them are problems otherwise. */
static void note_error(struct search *search, GError *error)
{
    g_ptr_array_add(search->session->notes->problems, g_strdup(error->message));
    if (search->error == NULL)
        search->error = error;
    else
        g_error_free(error);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in the directory, sorted; NULL with an error noted. */
static GPtrArray *list_directory(struct search *search, const char *path)
{
    GError *cause = NULL;
    g_autoptr(GDir) dir = g_dir_open(path, 0, &cause);
    if (dir == NULL) {
        note_error(search, g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s", cause->message));
        g_error_free(cause);
        return NULL;
    }
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL)
        if (name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void search_directory(struct search *search, const char *path, unsigned depth)
{
    struct stat st;
    GError *error = NULL;
    if (stat(path, &st) != 0) {
        note_error(search,
                   g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, g_strerror(errno)));
        return;
    }
    char *key = g_strdup_printf("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    if (!g_hash_table_add(search->seen, key))
        return;
    g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
    struct stat metadata_st;
    errno = 0;
    if (stat(metadata, &metadata_st) == 0 && S_ISREG(metadata_st.st_mode)) {
        if (g_hash_table_contains(search->session->directories, key)) {
            search->found++;
        } else if (add_trace(search->session, path, &error)) {
            g_hash_table_add(search->session->directories, g_strdup(key));
            search->found++;
        } else {
            note_error(search, error);
        }
        return;
    }
    if (errno == EACCES) { /* it can be listed at best, but nothing in it looked at */
        note_error(search,
                   g_error_new(LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, g_strerror(EACCES)));
        return;
    }
    g_autoptr(GPtrArray) names = list_directory(search, path);
    for (guint i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *child = g_build_filename(path, names->pdata[i], NULL);
        /* A name that cannot even be looked at is no directory that anybody meant. */
        if (depth < MAX_DEPTH && stat(child, &st) == 0 && S_ISDIR(st.st_mode))
            search_directory(search, child, depth + 1);
    }
}

bool lull_session_add(struct lull_session *session, const char *path, GError **error)
{
    struct stat st;
    if (lull_live_url_is(path))
        return lull_session_add_live(session, path, error);
    if (stat(path, &st) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, g_strerror(errno));
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: not a directory (a CTF trace is a directory with a file 'metadata')",
                    path);
        return false;
    }
    struct search search = {.session = session};
    guint n_problems = session->notes->problems->len;
    search.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    search_directory(&search, path, 0);
    g_hash_table_unref(search.seen);
    if (search.found > 0) {
        g_clear_error(&search.error);
        return true;
    }
    /* Errors are told by the caller; they are not problems of something that was read. */
    g_ptr_array_set_size(session->notes->problems, (int)n_problems);
    if (search.error != NULL)
        g_propagate_error(error, search.error);
    else
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: there is no trace in it (no file 'metadata' here or below)", path);
    return false;
}
