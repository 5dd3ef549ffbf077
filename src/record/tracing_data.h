/* SPDX-License-Identifier: MIT */
/* What trace.dat and perf.data both say of the events before they hold any: the formats that tracefs
 * has, behind a header, as trace-cmd.dat.v6(5) describes them. */
#ifndef LULL_RECORD_TRACING_DATA_H
#define LULL_RECORD_TRACING_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <lull/error.h>

/* Numbers have the byte order of the machine, which the header states. */
void lull_tracing_put_4(GByteArray *to, uint32_t number);
void lull_tracing_put_8(GByteArray *to, uint64_t number);

/* Appends the text of a file, which states no size. LULL_ERROR_QUESTION: there is none. */
bool lull_tracing_read(GByteArray *to, const char *directory, const char *name, GError **error);
/* The same with its size before it, in 4 or 8 bytes. */
bool lull_tracing_put_file(GByteArray *to, const char *directory, const char *name,
                           unsigned size_bytes, GError **error);

/* Whose formats they are. */
struct lull_tracing_events {
    const char *version;         /* of the file: "6" */
    const char *tracefs;         /* where all formats are */
    const char *buffer;          /* where those of the pages are: tracefs, or an instance of it */
    const char *const *internal; /* events of ftrace itself: names */
    const char *const *events;   /* "system:name", in any order, each once or more often */
};

/* Appends the header and the formats. */
bool lull_tracing_put_events(GByteArray *to, const struct lull_tracing_events *events,
                             GError **error);

#endif
