/* SPDX-License-Identifier: MIT */
/* What the traces declare: fields and events by their names, events of system calls also by those
 * that all tracers have in common. */
#include "filter/check.h"

#include <string.h>

#include <lull/error.h>

#include "base/suggest.h"
#include "kernel/call_events.h"
#include "source/session/streams.h"

/* One name to look for among all classes. */
struct search {
    const struct lull_session *session;
    const struct lull_field_path *path; /* NULL: the name of an event */
    const char *name;
    bool is_prefix; /* of names of events */
    bool is_found;
    GHashTable *known; /* names that might be meant */
};

/* The names of a path up to its first index. */
static char *path_text(const struct lull_field_path *path)
{
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < path->n_steps && path->steps[i].name; i++) {
        g_string_append_printf(text, "%s%s", i ? "." : "", path->steps[i].name);
    }
    return g_string_free(text, FALSE);
}

static bool has_field(const struct lull_event_class *class, const char *scope, const char *name)
{
    struct lull_field_type type;
    g_autofree char *text = g_strdup_printf("%s.%s", scope, name);
    return class->source->ops->describe(class->source, class->index, text, &type);
}

static void note_field(void *user, const struct lull_field_info *field)
{
    struct search *search = user;
    const char *name =
        g_str_has_prefix(field->path, "context.") ? field->path + strlen("context.") : field->path;
    if (!g_hash_table_contains(search->known, name)) {
        g_hash_table_add(search->known, g_strdup(name));
    }
}

static void note_name(struct search *search, const char *name)
{
    search->is_found |=
        search->is_prefix ? g_str_has_prefix(name, search->name) : strcmp(name, search->name) == 0;
    if (!g_hash_table_contains(search->known, name)) {
        g_hash_table_add(search->known, g_strdup(name));
    }
}

static void search_names(struct search *search, uint32_t trace,
                         const struct lull_event_class *class)
{
    struct lull_arena *arena = lull_arena_new();
    const struct call_arch *arch =
        lull_call_events_arch(lull_session_trace(search->session, trace),
                              lull_session_environment(search->session, trace, "architecture"));
    const struct lull_call_event *call = lull_call_event_of(class, arch, arena);
    note_name(search, class->name);
    if (call && call->name) {
        note_name(search, call->name);
    }
    for (uint32_t i = 0; call && i < call->n_names; i++) {
        if (call->names[i]) {
            note_name(search, call->names[i]);
        }
    }
    lull_arena_free(arena);
}

static void search_class(void *user, uint32_t trace, const struct lull_event_class *class)
{
    struct search *search = user;
    if (search->is_found) {
        return;
    }
    if (!search->path) {
        search_names(search, trace, class);
        return;
    }
    search->is_found =
        (search->path->scope != LULL_IN_CONTEXT && has_field(class, "payload", search->name)) ||
        (search->path->scope != LULL_IN_PAYLOAD && has_field(class, "context", search->name));
    if (!search->is_found) {
        lull_event_class_each_field(class, note_field, search);
    }
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NULL if some trace declares it; else what is wrong. A name of an event may end with '*' if
 * `is_list`. */
static char *look_for(const struct lull_check *check, const struct lull_field_path *path,
                      const char *event, bool is_list)
{
    g_autofree char *name = path ? path_text(path) : g_strdup(event);
    struct search search = {.session = check->session,
                            .path = path,
                            .name = name,
                            .is_prefix = is_list && g_str_has_suffix(name, "*")};
    const char *what = path ? "field" : "event";
    if (search.is_prefix) {
        name[strlen(name) - 1] = '\0';
    }
    search.known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    /* Names depend on a machine's architecture. */
    for (uint32_t host = 0; host < lull_session_host_count(check->session); host++) {
        lull_session_each_host_class(check->session, host, search_class, &search);
    }
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    GHashTableIter names;
    gpointer one;
    g_hash_table_iter_init(&names, search.known);
    while (g_hash_table_iter_next(&names, &one, NULL)) {
        g_ptr_array_add(known, one);
    }
    g_ptr_array_sort(known, compare_names); /* the answer must not depend on the table's order */
    g_ptr_array_add(known, NULL);
    const char *near =
        search.is_found ? NULL : lull_suggest(name, (const char *const *)known->pdata);
    char *problem =
        search.is_found ? NULL
        : near ? g_strdup_printf("no trace declares the %s “%s” of %s; did you mean “%s”?", what,
                                 event ? event : name, check->of, near)
               : g_strdup_printf("no trace declares the %s “%s” of %s; 'lull info --events' lists "
                                 "the events",
                                 what, event ? event : name, check->of);
    g_hash_table_unref(search.known);
    return problem;
}

/* What is wrong with an operand, or NULL; `other` is what it is compared with. */
static char *check_operand(const struct lull_check *check, const struct lull_operand *operand,
                           const struct lull_operand *other)
{
    const struct lull_operand *of = operand->kind == LULL_OPERAND_GIVEN && check->given
                                        ? check->given(check->user, operand)
                                        : operand;
    if (of->kind == LULL_OPERAND_FIELD) {
        return look_for(check, &check->terms->fields[of->index], NULL, false);
    }
    if (of->kind == LULL_OPERAND_NAME && other && other->kind == LULL_OPERAND_VALUE &&
        other->value.kind == LULL_VALUE_TEXT) {
        g_autofree char *name = g_strndup(other->value.text.data, other->value.text.length);
        return look_for(check, NULL, name, false);
    }
    return NULL;
}

static void warn(const struct lull_check *check, const char *problem)
{
    if (!strstr(check->warnings->str, problem)) {
        g_string_append_printf(check->warnings, "%s\n", problem);
    }
}

/* `is_needed`: the condition cannot be true unless this node is. */
static bool report(const struct lull_check *check, char *problem, bool is_needed, GError **error)
{
    if (problem && is_needed) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, problem);
    } else if (problem) {
        warn(check, problem);
    }
    const bool goes_on = !problem || !is_needed;
    g_free(problem);
    return goes_on;
}

static bool check_node(const struct lull_check *check, const struct lull_node *node, bool is_needed,
                       GError **error)
{
    switch (node->kind) {
    case LULL_NODE_CONSTANT:
    case LULL_NODE_EXISTS: /* asks just that */
        return true;
    case LULL_NODE_COMPARE: {
        const bool names_event = node->relation == LULL_RELATION_EQ;
        return report(check, check_operand(check, &node->left, names_event ? &node->right : NULL),
                      is_needed, error) &&
               report(check, check_operand(check, &node->right, names_event ? &node->left : NULL),
                      is_needed, error);
    }
    case LULL_NODE_MATCH:
    case LULL_NODE_IN:
        for (uint32_t i = 0; node->kind == LULL_NODE_IN && i < node->n; i++) {
            if (!report(check, check_operand(check, &node->left, &node->list[i]),
                        is_needed && node->n == 1, error)) {
                return false;
            }
        }
        return node->left.kind == LULL_OPERAND_NAME ||
               report(check, check_operand(check, &node->left, NULL), is_needed, error);
    case LULL_NODE_AND:
    case LULL_NODE_OR:
    case LULL_NODE_NOT:
        for (uint32_t i = 0; i < node->n; i++) {
            if (!check_node(check, node->children[i],
                            is_needed && (node->kind == LULL_NODE_AND || node->n == 1) &&
                                node->kind != LULL_NODE_NOT,
                            error)) {
                return false;
            }
        }
        return true;
    }
    return true;
}

bool lull_check_condition(const struct lull_check *check, const struct lull_node *node,
                          GError **error)
{
    return check_node(check, node, true, error);
}

void lull_check_value(const struct lull_check *check, const struct lull_operand *operand)
{
    g_autofree char *problem = check_operand(check, operand, NULL);
    if (problem) {
        warn(check, problem);
    }
}

bool lull_filter_check(const struct lull_filter *filter, const struct lull_session *session,
                       GString *warnings, GError **error)
{
    const struct lull_check check = {
        .terms = &filter->terms, .session = session, .of = "the filter", .warnings = warnings};
    return lull_check_condition(&check, filter->root, error);
}

bool lull_filter_check_names(const char *const *names, const struct lull_session *session,
                             GError **error)
{
    const struct lull_check check = {.session = session, .of = "--events"};
    for (uint32_t i = 0; names[i]; i++) {
        char *problem = strcmp(names[i], "*") != 0 ? look_for(&check, NULL, names[i], true) : NULL;
        if (!report(&check, problem, true, error)) {
            return false;
        }
    }
    return true;
}
