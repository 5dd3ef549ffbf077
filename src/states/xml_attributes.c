/* SPDX-License-Identifier: MIT */
/* Which attributes are of one group: paths that can name the same attribute. And of which groups a change reads
 * what they have. */
#include <string.h>

#include "states/xml_private.h"

enum { MOST_SHAPES = 1000 };

static bool same_part(const struct xml_value *a, const struct xml_value *b)
{
    return a->kind == b->kind && strcmp(a->text, b->text) == 0;
}

bool xml_same_path(const struct xml_path *a, const struct xml_path *b)
{
    bool is_same = a->n == b->n;
    for (uint32_t i = 0; is_same && i < a->n; i++) {
        is_same = same_part(&a->parts[i], &b->parts[i]);
    }
    return is_same;
}

/* Whether both can be the same attribute. */
static bool meets(const struct xml_path *a, const struct xml_path *b)
{
    bool meets = a->n == b->n;
    for (uint32_t i = 0; meets && i < a->n; i++) {
        meets = a->parts[i].kind != XML_TEXT || b->parts[i].kind != XML_TEXT ||
                strcmp(a->parts[i].text, b->parts[i].text) == 0;
    }
    return meets;
}

/* ---- groups ---- */

static struct xml_path *path_at(const struct xml_translation *t, guint i)
{
    return i < t->changes->len ? &g_array_index(t->changes, struct xml_change, i).path
                               : &g_array_index(t->queries, struct xml_path, i - t->changes->len);
}

static uint32_t shape_of(GPtrArray *shapes, struct xml_path *path)
{
    for (guint i = 0; i < shapes->len; i++) {
        if (xml_same_path(shapes->pdata[i], path)) {
            return i;
        }
    }
    g_ptr_array_add(shapes, path);
    return shapes->len - 1;
}

/* Of each shape, the first shape that it is one group with. */
static uint32_t *join_shapes(const GPtrArray *shapes)
{
    uint32_t *groups = g_new(uint32_t, shapes->len + 1);
    for (uint32_t i = 0; i < shapes->len; i++) {
        groups[i] = i;
        for (uint32_t j = 0; j < i; j++) {
            if (groups[j] != groups[i] && meets(shapes->pdata[i], shapes->pdata[j])) {
                const uint32_t from = MAX(groups[i], groups[j]), to = MIN(groups[i], groups[j]);
                for (uint32_t k = 0; k <= i; k++) {
                    groups[k] = groups[k] == from ? to : groups[k];
                }
            }
        }
    }
    return groups;
}

/* ---- what is read ---- */

int32_t xml_next_query(const char **at)
{
    const char *mark = strchr(*at, '\003');
    if (!mark) {
        return -1;
    }
    char *end;
    const int32_t query = (int32_t)strtol(mark + 1, &end, 10);
    *at = end + 1;
    return query;
}

static xml_groups asked_by_path(const struct xml_path *path, const xml_groups *asked)
{
    xml_groups asks = 0;
    for (uint32_t i = 0; i < path->n; i++) {
        const char *at = path->parts[i].text;
        if (path->parts[i].kind == XML_QUERY) {
            asks |= asked[xml_next_query(&at)];
        }
    }
    return asks;
}

static void find_asked(struct xml_translation *t)
{
    g_autofree xml_groups *asked = g_new0(xml_groups, t->queries->len + 1);
    for (guint i = 0; i < t->queries->len; i++) {
        /* The queries in its path were read, and numbered, before it. */
        const struct xml_path *query = &g_array_index(t->queries, struct xml_path, i);
        asked[i] = asked_by_path(query, asked) | UINT64_C(1) << query->group;
    }
    for (guint i = 0; i < t->changes->len; i++) {
        struct xml_change *change = &g_array_index(t->changes, struct xml_change, i);
        const char *at = change->condition;
        for (int32_t query; (query = xml_next_query(&at)) >= 0;) {
            change->considers |= asked[query];
        }
        at = change->value.kind == XML_QUERY ? change->value.text : "";
        change->asks = change->considers | asked_by_path(&change->path, asked);
        for (int32_t query; (query = xml_next_query(&at)) >= 0;) {
            change->asks |= asked[query];
        }
    }
}

bool xml_find_groups(struct xml_translation *t)
{
    const guint n = t->changes->len + t->queries->len;
    g_autoptr(GPtrArray) shapes = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        path_at(t, i)->group = shape_of(shapes, path_at(t, i));
        if (shapes->len > MOST_SHAPES) {
            return xml_fail(t, t->provider, "it has too many paths of attributes");
        }
    }
    g_autofree uint32_t *groups = join_shapes(shapes);
    g_autofree uint32_t *numbers = g_new0(uint32_t, shapes->len + 1);
    for (guint i = 0; i < n; i++) {
        const uint32_t group = groups[path_at(t, i)->group];
        numbers[group] = numbers[group] ? numbers[group] : ++t->n_groups;
        path_at(t, i)->group = numbers[group] - 1;
    }
    if (t->queries->len && t->n_groups > XML_MOST_GROUPS) {
        return xml_fail(t, t->provider, "its attributes are more than %d groups", XML_MOST_GROUPS);
    }
    if (t->queries->len) {
        find_asked(t);
    }
    return true;
}
