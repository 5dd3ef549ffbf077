/* SPDX-License-Identifier: MIT */
/* One field of one event by its path, found by walking the event. */
#include <lull/event.h>

#include <string.h>

#include "base/sized.h"

struct search {
    const char *path;     /* what is left of it below the matched groups */
    uint32_t matched;     /* groups around the current place that lie on the path */
    uint32_t unmatched;   /* groups around it that do not, inside those */
    const char *rest[64]; /* by matched group: the path to go on with after it */
    bool in_context;      /* the scope that is looked for */
    bool is_found;
    struct lull_field_value *value;
};

/* The path after `name` and its dot, "" at its end; NULL if it does not start so. */
static const char *step(const char *path, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || strncmp(path, name, length) != 0) {
        return NULL;
    }
    return path[length] == '.' ? path + length + 1 : path[length] == '\0' ? path + length : NULL;
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    struct search *search = user;
    const char *behind = NULL;
    if (search->unmatched == 0 && search->matched < G_N_ELEMENTS(search->rest)) {
        if (kind == LULL_VISIT_SCOPE) {
            behind = (strcmp(name, "payload") == 0) != search->in_context ? search->path : NULL;
        } else if (kind != LULL_VISIT_ARRAY) {
            behind = step(search->path, name);
        }
    }
    if (!behind) {
        search->unmatched++;
        return;
    }
    search->rest[search->matched++] = search->path;
    search->path = behind;
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    struct search *search = user;
    if (search->unmatched > 0) {
        search->unmatched--;
    } else if (search->matched > 0) {
        search->path = search->rest[--search->matched];
    }
}

/* True if this is the field; the first one counts. */
static bool is_it(struct search *search, const char *name)
{
    if (search->is_found || search->unmatched > 0) {
        return false;
    }
    const char *behind = step(search->path, name);
    search->is_found = behind && *behind == '\0';
    return search->is_found;
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct search *search = user;
    if (!is_it(search, name)) {
        return;
    }
    search->value->kind = value->is_enum ? LULL_INFO_ENUM : LULL_INFO_INT;
    search->value->integer = *value;
    search->value->integer.labels = NULL; /* they are gone after this call */
    search->value->integer.n_labels = 0;
}

static void on_real(void *user, const char *name, double value)
{
    struct search *search = user;
    if (!is_it(search, name)) {
        return;
    }
    search->value->kind = LULL_INFO_REAL;
    search->value->real = value;
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    struct search *search = user;
    if (!is_it(search, name)) {
        return;
    }
    search->value->kind = LULL_INFO_TEXT;
    search->value->text = value;
}

int lull_event_field_sized(const struct lull_event *event, const char *path,
                           struct lull_field_value *value, size_t size, GError **error)
{
    static const struct lull_visitor visitor = {
        .start = on_start, .end = on_end, .integer = on_integer, .real = on_real, .text = on_text};
    g_autoptr(GError) damage = NULL;
    bool in_context = g_str_has_prefix(path, "context.");
    size_t scope = in_context || g_str_has_prefix(path, "payload.") ? strlen("context.") : 0;
    struct lull_field_value known = {0};
    struct search search = {.path = path + scope, .in_context = in_context, .value = &known};
    const bool is_whole = lull_event_visit(event, &visitor, &search, &damage);
    if (search.is_found) {
        lull_sized_fill(value, size, &known, sizeof known);
    }
    if (is_whole || search.is_found) {
        return search.is_found;
    }
    g_propagate_error(error, g_steal_pointer(&damage));
    return -1;
}
