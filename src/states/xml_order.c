/* SPDX-License-Identifier: MIT */
/* In which order changes are made. Trace Compass makes them one after the other, and what one changed, the next
 * reads. Rules of .states see what was before the block that they are in; so what reads an attribute is in a later
 * block than what the same event changed there before, and in none later than what it changes there afterwards. */
#include <string.h>

#include "states/xml_private.h"

struct order {
    const struct xml_translation *t;
    GArray *blocks;   /* struct xml_block */
    uint32_t *places; /* of the changes: the number of the block */
    int32_t last[XML_MOST_GROUPS];
};

/* The changes of a unit that are of one group. */
struct part {
    uint32_t group;
    xml_groups asks, considers;
    bool is_placed;
};

static const struct xml_change *change_at(const struct order *o, uint32_t i)
{
    return &g_array_index(o->t->changes, struct xml_change, i);
}

static bool may_be_one_event(const char *a, const char *b)
{
    return a == b || strchr(a, '*') || strchr(b, '*') || strcmp(a, b) == 0;
}

static uint32_t add_block(struct order *o, uint32_t group)
{
    const struct xml_block block = {.group = group,
                                    .changes = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
    g_array_append_val(o->blocks, block);
    return o->blocks->len - 1;
}

/* The first block in which the part may be, because of what units before it do. */
static uint32_t after_others(const struct order *o, const struct part *part, uint32_t first)
{
    const char *event = change_at(o, first)->event;
    const xml_groups own = UINT64_C(1) << part->group;
    uint32_t from = 0;
    for (uint32_t i = 0; i < first; i++) {
        const struct xml_change *before = change_at(o, i);
        const bool is_read = part->asks >> before->path.group & 1;
        if ((is_read || before->asks & own || before->path.group == part->group) &&
            may_be_one_event(before->event, event)) {
            from = MAX(from, o->places[i] + is_read);
        }
    }
    return from;
}

static void place(struct order *o, const struct part *part, uint32_t first, uint32_t end,
                  uint32_t from)
{
    int32_t *last = &o->last[part->group];
    from = MAX(from, after_others(o, part, first));
    if (*last < 0 || (uint32_t)*last < from) {
        *last = (int32_t)add_block(o, part->group);
    }
    for (uint32_t i = first; i < end; i++) {
        if (change_at(o, i)->path.group == part->group) {
            o->places[i] = (uint32_t)*last;
            g_array_append_val(g_array_index(o->blocks, struct xml_block, *last).changes, i);
        }
    }
}

/* One that changes nothing that a condition of another reads; NULL: there is none. */
static struct part *next_part(GArray *parts)
{
    for (guint i = 0; i < parts->len; i++) {
        struct part *part = &g_array_index(parts, struct part, i);
        bool is_free = !part->is_placed;
        for (guint j = 0; is_free && j < parts->len; j++) {
            const struct part *other = &g_array_index(parts, struct part, j);
            is_free = j == i || other->is_placed || !(other->considers >> part->group & 1);
        }
        if (is_free) {
            return part;
        }
    }
    return NULL;
}

static GArray *parts_of(const struct order *o, uint32_t first, uint32_t end)
{
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));
    for (uint32_t i = first; i < end; i++) {
        const struct xml_change *change = change_at(o, i);
        guint at = 0;
        while (at < parts->len &&
               g_array_index(parts, struct part, at).group != change->path.group) {
            at++;
        }
        if (at == parts->len) {
            g_array_append_val(parts, ((struct part){.group = change->path.group}));
        }
        g_array_index(parts, struct part, at).asks |= change->asks;
        g_array_index(parts, struct part, at).considers |= change->considers;
    }
    return parts;
}

/* Whether some order lets each condition be read before what it reads is changed. */
static bool has_order(GArray *parts)
{
    struct part *part;
    guint n = 0;
    while ((part = next_part(parts))) {
        part->is_placed = true;
        n++;
    }
    for (guint i = 0; i < parts->len; i++) {
        g_array_index(parts, struct part, i).is_placed = false;
    }
    return n == parts->len;
}

static void place_unit(struct order *o, uint32_t first, uint32_t end)
{
    g_autoptr(GArray) parts = parts_of(o, first, end);
    struct part *part;
    uint32_t from = 0;
    if (!has_order(parts)) {
        /* Which change is made is found first, and kept. */
        const uint32_t block = add_block(o, XML_MOST_GROUPS);
        for (uint32_t i = first; i < end; i++) {
            g_array_append_val(g_array_index(o->blocks, struct xml_block, block).changes, i);
        }
        for (guint i = 0; i < parts->len; i++) {
            place(o, &g_array_index(parts, struct part, i), first, end, block + 1);
        }
        return;
    }
    while ((part = next_part(parts))) {
        place(o, part, first, end, from);
        part->is_placed = true;
        /* What it reads is changed after it. */
        from = part->considers ? MAX(from, (uint32_t)o->last[part->group] + 1) : from;
    }
}

/* Without queries, each group has one block. */
static void place_alone(struct order *o)
{
    for (uint32_t group = 0; group < o->t->n_groups; group++) {
        const uint32_t block = add_block(o, group);
        for (uint32_t i = 0; i < o->t->changes->len; i++) {
            if (change_at(o, i)->path.group == group) {
                g_array_append_val(g_array_index(o->blocks, struct xml_block, block).changes, i);
            }
        }
    }
}

/* Attributes that are asked for, and never changed. */
static void place_unchanged(struct order *o)
{
    for (uint32_t group = 0; group < o->t->n_groups; group++) {
        if (o->last[group] < 0) {
            add_block(o, group);
        }
    }
}

GArray *xml_find_order(const struct xml_translation *t)
{
    struct order o = {.t = t,
                      .blocks = g_array_new(FALSE, FALSE, sizeof(struct xml_block)),
                      .places = g_new0(uint32_t, t->changes->len + 1)};
    memset(o.last, 0xff, sizeof o.last);
    if (!t->queries->len) {
        place_alone(&o);
    } else {
        for (uint32_t first = 0, end; first < t->changes->len; first = end) {
            for (end = first + 1;
                 end < t->changes->len && change_at(&o, end)->unit == change_at(&o, first)->unit;
                 end++) {
            }
            place_unit(&o, first, end);
        }
        place_unchanged(&o);
    }
    g_free(o.places);
    return o.blocks;
}

void xml_blocks_free(GArray *blocks)
{
    for (guint i = 0; i < blocks->len; i++) {
        g_array_unref(g_array_index(blocks, struct xml_block, i).changes);
    }
    g_array_unref(blocks);
}
