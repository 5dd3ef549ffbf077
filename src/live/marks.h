/* SPDX-License-Identifier: MIT */
/* The marks of programs (lull/mark.h): the programs in the kernel that see them are attached to files. */
#ifndef LULL_LIVE_MARKS_H
#define LULL_LIVE_MARKS_H

#include <bpf/libbpf.h>
#include <lull/error.h>
#include <stdbool.h>

struct lull_marks;

/* Whether the kernel has uprobes, without which nobody sees marks. */
bool lull_marks_are_possible(void);
/* Before the object is loaded: whether a rule is about marks. */
void lull_marks_prepare(const struct bpf_object *object, bool is_needed);
/* Watches the marks of all processes that have these files (NULL at the end; or NULL) mapped, now or later, and those of
 * this program's own file, for `lull mark`. NULL and an error: a file has no marks, or this is not possible here. */
struct lull_marks *lull_marks_attach(const struct bpf_object *object, const char *const *files,
                                     GError **error);
void lull_marks_free(struct lull_marks *marks);

#endif
