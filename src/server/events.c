/* SPDX-License-Identifier: MIT */
/* Pages of events. Time is read in slices that grow, so a page near a place costs little wherever it
 * lies, and one that is hard to fill (a filter that little passes) comes in parts. */
#include "server/events_private.h"

#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "base/sums.h"
#include "filter/filter.h"
#include "server/params.h"

enum { COUNT_MOST = 500, TEXT_MOST = 4000, SLICES = 4096, GROWTH = 4, WIDEST = 64 };
/* What closes a context until it is moved; no text has one, since they are escaped. */
#define END_OF_CONTEXT '\001'
#define TIME_MOST_US (G_USEC_PER_SEC / 4)

/* A question. */
struct page {
    const struct served *served;
    struct server_events *events;
    int64_t start_ns, end_ns; /* limits */
    int64_t time_ns, index;   /* the place */
    uint32_t count;
    bool is_backward;
    const char *filter, *find;  /* or NULL */
    struct lull_map cpus;       /* host, CPU → row of what was on it */
    GPtrArray *rows;            /* of char *, as JSON */
    int64_t last_ns, n_at_last; /* time of the event read last; how many had it */
    int64_t reached_ns;
};

struct server_events *server_events_new(const struct served_about *about)
{
    struct server_events *events = g_new0(struct server_events, 1);
    events->about = about;
    events->fields.dialect = lull_dialect_plain;
    events->fields.dialect.brackets[LULL_BRACKET_COMMON].close = "\001";
    events->fields.dialect.brackets[LULL_BRACKET_CONTEXT].close = "\001";
    g_mutex_init(&events->lock);
    return events;
}

void server_events_free(struct server_events *events)
{
    lull_event_fields_clear(&events->fields);
    lull_linebuf_free(&events->line);
    lull_session_free(events->session);
    g_free(events->filter);
    g_free(events->counts);
    g_mutex_clear(&events->lock);
    g_free(events);
}

/* ---- the session ---- */

static bool open_session(struct server_events *events, GError **error)
{
    static const char *const all[] = {"*", NULL};
    if (!events->session) {
        events->session = served_session(events->about, false, error);
        if (events->session) {
            lull_session_subscribe(events->session, all, NULL, 0, 0);
        }
    }
    return events->session != NULL;
}

static bool set_filter(struct server_events *events, const char *text, GError **error)
{
    if (g_strcmp0(events->filter, text) == 0) {
        return true;
    }
    struct lull_filter *filter = text ? lull_filter_parse(text, false, error) : NULL;
    g_autoptr(GString) warnings = g_string_new(NULL);
    if (text && !filter) {
        return false;
    }
    if (filter && !lull_filter_check(filter, events->session, warnings, error)) {
        lull_filter_free(filter);
        return false;
    }
    if (filter) {
        lull_filter_attach(filter, events->session);
    } else if (!lull_session_filter(events->session, NULL, false, error)) {
        return false;
    }
    g_free(events->filter);
    events->filter = g_strdup(text);
    return true;
}

bool server_events_open(struct server_events *events, const char *filter, GError **error)
{
    return open_session(events, error) && set_filter(events, filter, error);
}

/* ---- an event ---- */

void server_event_cpus(const struct served *served, struct lull_map *cpus)
{
    const struct lull_store *store = served->store;
    for (uint32_t row = 0; row < lull_store_row_count(store); row++) {
        const struct lull_store_row about = lull_store_row(store, row);
        if (about.kind == LULL_STORE_CPU_THREAD) {
            lull_map_insert(cpus, (uint64_t)about.host << 32 | (uint32_t)about.cpu, row);
        }
    }
}

int64_t server_event_row(const struct served *served, const struct lull_map *cpus,
                         const struct lull_event *event)
{
    const struct lull_store *store = served->store;
    const uint32_t row = lull_map_find(cpus, (uint64_t)event->host << 32 | (uint32_t)event->cpu);
    struct lull_store_cursor cursor;
    if (row == LULL_MAP_NONE ||
        !lull_store_seek(store, row, MAX(event->time_ns - 1, served->start_ns), &cursor, NULL)) {
        return -1;
    }
    const struct lull_store_interval *at = lull_store_next(&cursor, NULL);
    return at && at->evidence < lull_store_row_count(store) ? (int64_t)at->evidence : -1;
}

void server_events_format(struct server_events *events, const struct lull_event *event)
{
    struct lull_event_head *head = lull_event_fields_head(&events->fields, event);
    events->line.length = 0;
    if (!head->is_known) {
        lull_event_fields_learn(&events->fields, head, event, false);
    }
    if (!lull_event_fields_add(&events->fields, head, event, &events->line, NULL)) {
        lull_linebuf_literal(&events->line, " [damaged]");
    }
}

static bool is_found(const struct page *page, const struct lull_event *event)
{
    struct lull_linebuf *line = &page->events->line;
    if (!page->find || strcasestr(lull_event_class_name(event->event_class), page->find)) {
        return true;
    }
    lull_linebuf_char(line, '\0'); /* there is none within, as it is escaped */
    line->length--;
    return strcasestr(line->data, page->find);
}

/* What an event has of its own comes first, what it has in common with others after it. */
void server_events_fields(const struct lull_linebuf *line, GString *text)
{
    g_string_truncate(text, 0);
    g_string_append_len(text, line->data, (gssize)line->length);
    const char *end = strrchr(text->str, END_OF_CONTEXT);
    if (end) {
        const size_t length = (size_t)(end + 1 - text->str);
        g_string_append_len(text, text->str, (gssize)length);
        g_string_erase(text, 0, (gssize)length);
        text->str[text->len - 1] = ')';
    }
    g_strdelimit(text->str, (char[]){END_OF_CONTEXT, '\0'}, ')');
    g_string_erase(text, 0, text->str[0] == ' ' ? 1 : 0);
    g_string_truncate(text, TEXT_MOST);
}

static char *make_row(const struct page *page, const struct lull_event *event)
{
    const char *name = lull_event_class_name(event->event_class);
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "[%" PRId64 ",%" PRId64 ",%u,%d,",
                           event->time_ns - page->served->start_ns, page->n_at_last - 1,
                           event->host, event->cpu);
    lull_json_append(out, name, strlen(name));
    g_string_append_c(out, ',');
    g_autoptr(GString) fields = g_string_new(NULL);
    server_events_fields(&page->events->line, fields);
    lull_json_append(out, fields->str, fields->len);
    g_string_append_printf(out, ",%" PRId64 "]",
                           server_event_row(page->served, &page->cpus, event));
    return g_string_free(out, FALSE);
}

/* ---- pages ---- */

/* The next event of the slice, with n_at_last; NULL at its end, or at the place when going there. */
static const struct lull_event *next(struct page *page)
{
    const struct lull_event *event = lull_session_read(page->events->session);
    if (event) {
        page->n_at_last = event->time_ns == page->last_ns ? page->n_at_last + 1 : 1;
        page->last_ns = event->time_ns;
    }
    const bool is_at_place =
        event && event->time_ns == page->time_ns && page->n_at_last > page->index;
    return page->is_backward && is_at_place ? NULL : event;
}

static bool is_before_place(const struct page *page)
{
    return page->last_ns == page->time_ns && page->n_at_last <= page->index;
}

static void read_slice(struct page *page, int64_t start_ns, int64_t end_ns)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    const struct lull_event *event;
    const size_t room = page->count - page->rows->len;
    size_t n = 0;
    lull_session_limit(page->events->session, start_ns, end_ns);
    page->last_ns = INT64_MIN;
    while ((page->is_backward || n < room) && (event = next(page))) {
        if (!page->is_backward && is_before_place(page)) {
            continue;
        }
        server_events_format(page->events, event);
        if (!is_found(page, event)) {
            continue;
        }
        char *row = make_row(page, event);
        if (n >= room) { /* backward: the last ones are wanted */
            g_free(found->pdata[n % room]);
            found->pdata[n % room] = row;
        } else {
            g_ptr_array_add(found, row);
        }
        n++;
    }
    /* Backward, later slices come before those that were read. */
    for (size_t i = 0; i < found->len; i++) {
        const size_t at = n > room ? (n + i) % room : i;
        g_ptr_array_insert(page->rows, page->is_backward ? (gint)i : -1,
                           g_steal_pointer(&found->pdata[at]));
    }
}

static void read_page(struct page *page)
{
    const int64_t until_us = g_get_monotonic_time() + TIME_MOST_US;
    const int64_t whole_ns = MAX(page->served->until_ns - page->served->start_ns, SLICES);
    int64_t slice_ns = whole_ns / SLICES;
    int64_t at_ns = page->is_backward && page->index > 0 ? page->time_ns + 1 : page->time_ns;
    const int64_t end_ns = page->is_backward ? page->start_ns : page->end_ns;
    while (page->rows->len < page->count && at_ns != end_ns &&
           (at_ns == page->time_ns || g_get_monotonic_time() < until_us)) {
        const int64_t to_ns = page->is_backward ? MAX(at_ns - slice_ns, end_ns)
                                                : MIN(lull_sum(at_ns, slice_ns), end_ns);
        read_slice(page, MIN(at_ns, to_ns), MAX(at_ns, to_ns));
        at_ns = to_ns;
        slice_ns = MIN(slice_ns * GROWTH, whole_ns / WIDEST);
    }
    page->reached_ns = at_ns;
}

static int64_t number(struct json_object *params, const char *key, int64_t otherwise)
{
    int64_t value;
    return server_param_number(params, key, &value) ? value : otherwise;
}

static bool take(struct page *page, struct json_object *params, GError **error)
{
    const struct served *served = page->served;
    const int64_t last_ns = lull_sum(served->until_ns, 1), count = number(params, "count", 0);
    page->start_ns =
        CLAMP(lull_sum(served->start_ns, number(params, "start", 0)), served->start_ns, last_ns);
    page->end_ns = CLAMP(lull_sum(served->start_ns, number(params, "end", INT64_MAX)),
                         page->start_ns, last_ns);
    page->time_ns =
        CLAMP(lull_sum(served->start_ns, number(params, "time", 0)), page->start_ns, page->end_ns);
    page->index = MAX(number(params, "index", 0), 0);
    page->is_backward = count < 0;
    page->filter = server_param_text(params, "filter");
    page->find = server_param_text(params, "find");
    if (count == 0 || count > COUNT_MOST || count < -COUNT_MOST) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "count needs a number from 1 to 500, or from -500 to -1");
        return false;
    }
    page->count = page->find ? 1 : (uint32_t)ABS(count);
    return true;
}

static void append_page(const struct page *page, GString *out)
{
    g_string_append(out, "{\"rows\":[");
    for (guint i = 0; i < page->rows->len; i++) {
        g_string_append_printf(out, "%s%s", i ? "," : "", (const char *)page->rows->pdata[i]);
    }
    const bool is_full = page->rows->len == page->count;
    g_string_append_printf(
        out, "],\"reached\":%" PRId64 ",\"is_end\":%s}", page->reached_ns - page->served->start_ns,
        !is_full && page->reached_ns == (page->is_backward ? page->start_ns : page->end_ns)
            ? "true"
            : "false");
}

bool server_events_page(const struct served *served, struct json_object *params, GString *out,
                        GError **error)
{
    struct page page = {.served = served, .events = served->about->events};
    if (!take(&page, params, error)) {
        return false;
    }
    g_mutex_lock(&page.events->lock);
    const bool is_done = server_events_open(page.events, page.filter, error);
    if (is_done) {
        page.rows = g_ptr_array_new_with_free_func(g_free);
        server_event_cpus(served, &page.cpus);
        read_page(&page);
        append_page(&page, out);
        g_ptr_array_unref(page.rows);
        lull_map_free(&page.cpus);
    }
    g_mutex_unlock(&page.events->lock);
    return is_done;
}
