/* SPDX-License-Identifier: MIT */
/* The words and colours for states and tasks, the same in every view, and the cleaning of text that
 * comes from traces. */
#ifndef LULL_VIEW_WORDS_H
#define LULL_VIEW_WORDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/path.h"

/* How a state with its cause is called and painted. */
struct lull_look {
    const char *phrase; /* "blocked on disk" */
    const char *label;  /* "disk": where there is little room */
    const char *style;  /* name of the CSS class in pictures */
    const char *fill;   /* "#6600cc" */
    const char *ansi;   /* escape sequence */
};

/* Looks are numbered 0 .. LULL_LOOK_COUNT - 1: running, preempted, throttled, interrupted, then the
 * causes of a wait, unknown last. */
#define LULL_LOOK_COUNT 12

uint32_t lull_look_index(enum lull_state state, enum lull_cause cause);
const struct lull_look *lull_look_at(uint32_t index);
const struct lull_look *lull_look_of(enum lull_state state, enum lull_cause cause);

/* Appends "libc.so.6+0x10a" or, where nothing is known to lie, the address. */
void lull_frame_append(GString *out, const struct lull_frame *frame, bool ascii);

/* Appends `text` so that it is harmless on a terminal, in JSON and in XML: bytes that are not
 * UTF-8, control characters, line and paragraph separators, characters that turn the direction of
 * writing, and non-characters become U+FFFD each. With `ascii` signs as “ … → become " ... ->,
 * and everything else outside ASCII '?'. NULL becomes "?". */
void lull_clean_append(GString *out, const char *text, bool ascii);
/* The same as a new string. */
char *lull_clean_text(const char *text, bool ascii);

/* Columns of a terminal that clean text takes. */
int lull_text_width(const char *text);
/* Where the next place of clean text starts: after a character, or an escape sequence, which takes no columns. *cells: how many
 * this one takes. */
const char *lull_text_next(const char *text, int *cells);

/* Clean text that takes no more than `width`, which is at least 3: what is cut off shows as "…", in ASCII "...".
 * Free with g_free(). */
char *lull_cut_text(const char *text, int width, bool ascii);

/* Puts line ends into clean text so that no line is wider than `width`: between words where that can
 * be. Lines but the first start with so many blanks. Colours take no room. Free with g_free(). */
char *lull_fold_text(const char *text, int width, int indent);

/* Appends "512 B", "4.0 KiB". */
void lull_bytes_append(GString *out, double bytes);

/* What to do about waits of unknown cause where CPUs hide what they do while they are idle. */
#define LULL_HIDDEN_IDLE_CURE                                                                      \
    "this kernel gives perf no events of idle CPUs, and so no interrupts that end waits there: "   \
    "record with --tracer ftrace"
/* Appends "comm/tid" (cleaned); "comm" for the idle task, "comm/cpuN" for the kernel context of a
 * CPU. */
void lull_task_append(GString *out, const char *comm, int32_t tid, bool ascii);
/* Name of a host, "?" if the index is out of range; not cleaned. */
const char *lull_path_host_name(const struct lull_path *path, uint32_t host);
/* Appends what a segment says: the phrase of its state, and its detail: "blocked on disk: …",
 * "preempted by …". */
void lull_segment_append(GString *out, const struct lull_segment *segment, bool ascii);

/* What comes before the detail of a wait: "waits", "waits until", "is". */
const char *lull_wait_verb(const struct lull_wait *wait);
/* Appends "t-waiter/12 waits in flock of /var/lock/x, released by make/13". */
void lull_wait_append(GString *out, const struct lull_wait *wait, bool ascii);
/* Appends "blocked on disk: vda write, in fsync", "running in write"; `detail` may be NULL. */
void lull_state_append(GString *out, enum lull_state state, enum lull_cause cause,
                       const char *detail, bool ascii);
/* Appends a command with its arguments, which ends with NULL, as a shell would need it. */
/* A command line as it was recorded, on one line, and no longer than a few of them. */
void lull_command_line_append(GString *out, const char *line, bool ascii);
void lull_command_append(GString *out, const char *const *command, bool ascii);
/* "cron/1 → sh/2", as a person sees it. Free with g_free(). */
char *lull_ancestors_text(const char *started_by, bool ascii);
/* Appends what a share is about: "postgres: blocked on disk: vda write, in fsync". */
void lull_cause_append(GString *out, const struct lull_cause_share *share, bool ascii);

/* Appends "12 events and 1 packet"; nothing if nothing was lost. */
void lull_losses_append(GString *out, const struct lull_path *path);

/* True if both segments belong to the same task of the same host. */
bool lull_segment_same_task(const struct lull_segment *a, const struct lull_segment *b);
/* a / b, 0 if b is 0. */
double lull_share(int64_t a, int64_t b);

#endif
