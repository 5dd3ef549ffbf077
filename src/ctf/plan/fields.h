/* SPDX-License-Identifier: MIT */
/* What fields the events of a class have, for those who choose bindings by what there is. */
#ifndef LULL_CTF_PLAN_FIELDS_H
#define LULL_CTF_PLAN_FIELDS_H

#include <lull/event.h>

#include "ctf/schema/schema.h"

/* What a field is, but for its path and whether it is optional, which are left alone; anything that
 * cannot be bound, structures too, is LULL_INFO_ARRAY. */
void lull_ctf_describe(const struct lull_fc *fc, struct lull_field_info *info);

/* See lull_event_class_each_field(). */
void lull_ctf_each_field(const struct lull_stream_decl *stream, const struct lull_event_decl *event,
                         void (*visit)(void *user, const struct lull_field_info *field),
                         void *user);

#endif
