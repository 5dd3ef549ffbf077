/* What fields the events of a class have, for those who choose bindings by what there is. */
#ifndef LULL_CTF_FIELDS_H
#define LULL_CTF_FIELDS_H

#include <lull/event.h>

#include "ctf/schema.h"

/* See lull_event_class_each_field(). */
void lull_ctf_each_field(const struct lull_stream_decl *stream, const struct lull_event_decl *event,
                         void (*visit)(void *user, const struct lull_field_info *field),
                         void *user);

#endif
