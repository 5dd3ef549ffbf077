/* SPDX-License-Identifier: MIT */
/* Events in the kernel's own layout as CTF: a schema made of their formats, and for each class the
 * list of pieces that its records are copied by. */
#ifndef LULL_SOURCE_FORMAT_CTF_H
#define LULL_SOURCE_FORMAT_CTF_H

#include "ctf/writer/writer.h"
#include "source/format/format.h"

struct lull_format_ctf;

/* Of the classes whose entry in `counts`, by index, is not 0. `source`, which has `formats`, is
 * borrowed. NULL and an error if there is too much of it. */
struct lull_format_ctf *lull_format_ctf_new(const struct lull_source *source,
                                            const struct lull_formats *formats,
                                            const uint64_t *counts, GError **error);
void lull_format_ctf_free(struct lull_format_ctf *ctf);
const struct lull_ctf_plan *lull_format_ctf_plan(const struct lull_format_ctf *ctf);

/* Writes a record of class `class_index`. What it refers to outside of itself is written as empty,
 * and sets *is_cut. */
bool lull_format_ctf_write(const struct lull_format_ctf *ctf, struct lull_ctf_out_stream *out,
                           uint32_t class_index, int64_t time_ns,
                           const struct lull_format_record *record, bool *is_cut, GError **error);

#endif
