/* SPDX-License-Identifier: MIT */
/* What traces of one kind share: traces of machines with the same kernel and tracer declare the
 * same events, so their schema, plans and event classes are made once, whatever the number of
 * machines. */
#ifndef LULL_SOURCE_CTF_KIND_H
#define LULL_SOURCE_CTF_KIND_H

#include "ctf/plan/plan.h"
#include "source/source.h"

struct lull_ctf_kind {
    struct lull_source face;      /* the source of its classes: has fields and labels, no streams */
    struct lull_ctf_kind *parent; /* whose schema it has; or NULL: its own */
    struct lull_schema *schema;
    struct lull_ctf_plan *plan;
    struct lull_event_class *classes; /* in the order of the schema */
    uint32_t fields_size;             /* of its subscriptions */
    uint32_t n_refs;
};

/* The kind of a trace with these metadata (a reference), and the trace's own schema: what it says of
 * itself and its clocks, and the kind's streams. Free that with lull_schema_free(). NULL and an
 * error if the metadata cannot be read; `name` is for messages. */
struct lull_ctf_kind *lull_ctf_kind_find(struct lull_ctf_kinds *kinds, const char *name,
                                         const uint8_t *metadata, size_t size,
                                         struct lull_schema **own, GError **error);
/* Whether several sources have it. */
bool lull_ctf_kind_is_shared(const struct lull_ctf_kind *kind);
/* A kind (a reference) with the same schema whose plans and classes nobody else has. */
struct lull_ctf_kind *lull_ctf_kind_copy(struct lull_ctf_kind *kind);
void lull_ctf_kind_unref(struct lull_ctf_kind *kind);

/* A plan for a trace with the schema `own`: the kind's, with the trace's UUID and clocks. Free it
 * with lull_ctf_kind_free_plan(). */
struct lull_ctf_plan *lull_ctf_kind_plan(const struct lull_ctf_kind *kind,
                                         const struct lull_schema *own);
/* Brings it up to date after the kind was subscribed to, or gives it another kind. */
void lull_ctf_kind_update_plan(const struct lull_ctf_kind *kind, struct lull_ctf_plan *plan);
void lull_ctf_kind_free_plan(struct lull_ctf_plan *plan);

#endif
