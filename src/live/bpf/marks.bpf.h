/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Marks of programs (lull/mark.h): what has the same name and cookie begins at one probe and ends at the other. */
#ifndef LULL_LIVE_MARKS_BPF_H
#define LULL_LIVE_MARKS_BPF_H

#include "spans.bpf.h"

#include <bpf/usdt.bpf.h>

struct mark {
    char name[LULL_TRACK_NAME_ROOM], cookie[LULL_TRACK_COOKIE_ROOM];
};

/* Of those that begin and never end the oldest make room. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct mark);
    __type(value, struct span);
} marks SEC(".maps");

/* What is too large for the stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mark);
} read_mark SEC(".maps");

/* Whether all of a text, which is not empty, was read. */
static __always_inline bool read_text(char *text, uint32_t most, long from)
{
    const long n = bpf_probe_read_user_str(text, most + 2, (const void *)from);
    return n > 1 && n <= most + 1;
}

/* Its name and cookie; NULL if no rule is about it, or it cannot be read. */
static __always_inline struct mark *mark_at(struct pt_regs *ctx, uint32_t *number)
{
    struct mark *mark = bpf_map_lookup_elem(&read_mark, &zero);
    long name, cookie;
    if (!mark || bpf_usdt_arg(ctx, 0, &name) || bpf_usdt_arg(ctx, 1, &cookie)) {
        return NULL;
    }
    __builtin_memset(mark, 0, sizeof *mark);
    if (!read_text(mark->name, LULL_TRACK_NAME, name)) {
        count_untracked();
        return NULL;
    }
    *number = LULL_TRACK_NAME_SEED;
    for (uint32_t i = 0; i < LULL_TRACK_NAME && mark->name[i]; i++) {
        *number = LULL_TRACK_NAME_HASH(*number, mark->name[i]);
    }
    if (!is_asked_for(LULL_TRACK_MARK, *number)) {
        return NULL;
    }
    if (!read_text(mark->cookie, LULL_TRACK_COOKIE, cookie)) {
        count_untracked();
        return NULL;
    }
    return mark;
}

SEC("usdt")
int mark_begins(struct pt_regs *ctx)
{
    uint32_t number;
    const struct mark *mark = mark_at(ctx, &number);
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    struct span span = {.since = bpf_ktime_get_ns()};
    if (!mark || !count) {
        return 0;
    }
    own_span(&span);
    count->replaced += bpf_map_lookup_elem(&marks, mark) != NULL;
    if (bpf_map_update_elem(&marks, mark, &span, BPF_ANY) != 0) {
        count->untracked++;
    }
    return 0;
}

SEC("usdt")
int mark_ends(struct pt_regs *ctx)
{
    struct happened done = {.measure = LULL_TRACK_MARK, .until = bpf_ktime_get_ns()};
    const struct mark *mark = mark_at(ctx, &done.number);
    const struct span *found = mark ? bpf_map_lookup_elem(&marks, mark) : NULL;
    if (!found) { /* it began before tracking did */
        return 0;
    }
    const struct span span = *found;
    bpf_map_delete_elem(&marks, mark);
    done.hop.kind = LULL_TRACK_HOP_MARK;
    done.cookie = mark->cookie;
    judge_span(ctx, &span, &done);
    return 0;
}

#endif
