/* SPDX-License-Identifier: MIT */
/* Field classes as JSON objects of CTF 2 metadata (CTF2-SPEC-2.0, 5.3). */
#ifndef LULL_CTF_WRITER_JSON_H
#define LULL_CTF_WRITER_JSON_H

#include "base/json.h"
#include "ctf/schema/schema.h"

struct lull_json_classes;

/* `schema` is borrowed. */
struct lull_json_classes *lull_json_classes_new(const struct lull_schema *schema);
void lull_json_classes_free(struct lull_json_classes *classes);
/* The declarations that references are resolved with; event may be NULL. */
void lull_json_classes_enter(struct lull_json_classes *classes,
                             const struct lull_stream_decl *stream,
                             const struct lull_event_decl *event);

/* The class without roles. NULL and an error if CTF 2 cannot say it. */
struct json_object *lull_json_class(struct lull_json_classes *classes, const struct lull_fc *fc,
                                    GError **error);

/* An unsigned integer of whole bytes in little-endian order; `role` may be NULL. */
struct json_object *lull_json_unsigned(unsigned bits, const char *role);
/* A structure without members, and adding one. */
struct json_object *lull_json_structure(void);
void lull_json_add_member(struct json_object *structure, const char *name,
                          struct json_object *field_class);

#endif
