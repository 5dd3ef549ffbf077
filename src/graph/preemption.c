/* SPDX-License-Identifier: MIT */
/* The evidence for a step in which a task was runnable and not on a CPU: who had the CPU, or which
 * quota kept the task off it. */
#include "base/search.h"
#include "graph/execgraph_private.h"

#include <lull/recording.h>

#include "base/digits.h"
#include "base/sums.h"
#include "base/time.h"

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct cpu_share *left = a, *right = b;
    if (left->ns != right->ns) {
        return left->ns < right->ns ? 1 : -1;
    }
    return left->task != right->task
               ? (left->task < right->task ? -1 : 1)
               : (left->guest_task > right->guest_task) - (left->guest_task < right->guest_task);
}

static gint by_task(gconstpointer a, gconstpointer b)
{
    const struct cpu_share *left = a, *right = b;
    return left->task != right->task
               ? (left->task < right->task ? -1 : 1)
               : (left->guest_task > right->guest_task) - (left->guest_task < right->guest_task);
}

/* One share of each task, longest first. */
static void sum_shares(GArray *shares)
{
    struct cpu_share *items = (struct cpu_share *)(void *)shares->data;
    guint n = 0;
    if (shares->len < 2) {
        return;
    }
    g_array_sort(shares, by_task);
    for (guint i = 0; i < shares->len; i++) {
        if (n > 0 && by_task(&items[n - 1], &items[i]) == 0) {
            lull_add(&items[n - 1].ns, items[i].ns);
        } else {
            items[n++] = items[i];
        }
    }
    g_array_set_size(shares, n);
    g_array_sort(shares, longest_first);
}

size_t lull_switch_after(const struct cpu_notes *notes, int64_t time_ns)
{
    return LULL_LOWER_BOUND(i, notes->switches.count, notes->switches.items[i].time_ns <= time_ns);
}

static const struct cpu_notes *notes_of(const struct lull_execgraph *eg, uint32_t host, int32_t cpu)
{
    return cpu >= 0 && host < eg->hosts.count && (size_t)cpu < eg->hosts.items[host].cpus.count
               ? &eg->hosts.items[host].cpus.items[cpu]
               : NULL;
}

/* What a virtual CPU ran in its guest is who had the CPU. */
static void add_shares(const struct lull_execgraph *eg, uint32_t task, int64_t start_ns,
                       int64_t end_ns, GArray *shares)
{
    const uint32_t vcpu = eg->vcpus ? lull_vcpu_track_find(eg->vcpus, task) : LULL_NONE;
    const struct lull_vcpu_thread *thread =
        vcpu != LULL_NONE ? lull_vcpu_track_thread(eg->vcpus, vcpu) : NULL;
    const struct cpu_notes *notes = thread ? notes_of(eg, thread->guest, thread->guest_cpu) : NULL;
    for (size_t i = notes ? lull_switch_after(notes, start_ns) : 0;
         notes && i > 0 && i <= notes->switches.count && start_ns < end_ns; i++) {
        const struct switch_note *note = &notes->switches.items[i - 1];
        const int64_t until_ns =
            i < notes->switches.count ? MIN(notes->switches.items[i].time_ns, end_ns) : end_ns;
        if (note->task != LULL_NONE && until_ns > start_ns) {
            g_array_append_val(shares, ((struct cpu_share){task, note->task, until_ns - start_ns}));
            start_ns = until_ns;
        } else {
            break;
        }
    }
    if (start_ns < end_ns) {
        g_array_append_val(shares,
                           ((struct cpu_share){task, LULL_VCPU_UNKNOWN, end_ns - start_ns}));
    }
}

uint32_t lull_evidence_preemptor(const struct cpu_share *share)
{
    return share->guest_task != LULL_VCPU_UNKNOWN ? share->guest_task : share->task;
}

GArray *lull_evidence_shares(const struct lull_execgraph *eg, const struct path_piece *piece)
{
    const struct lull_hop *hop = piece->hop;
    const uint32_t host = lull_model_task(eg->model, hop->line)->host;
    GArray *shares = g_array_new(FALSE, FALSE, sizeof(struct cpu_share));
    const struct cpu_notes *notes = notes_of(eg, host, hop->cpu);
    if (!notes) {
        return shares;
    }
    size_t i = lull_switch_after(notes, piece->start_ns);
    for (i = i ? i - 1 : 0; i < notes->switches.count; i++) {
        const struct switch_note *note = &notes->switches.items[i];
        if (note->time_ns >= piece->end_ns) {
            break;
        }
        int64_t until =
            i + 1 < notes->switches.count ? notes->switches.items[i + 1].time_ns : piece->end_ns;
        const int64_t start_ns = MAX(note->time_ns, piece->start_ns);
        const int64_t end_ns = MIN(until, piece->end_ns);
        if (start_ns < end_ns && note->task != hop->line && !note->is_unknown) {
            add_shares(eg, note->task, start_ns, end_ns, shares);
        }
    }
    sum_shares(shares);
    return shares;
}

/* "db's " */
static void append_guest(const struct lull_execgraph *eg, const struct cpu_share *share,
                         GString *out)
{
    const char *name =
        share->guest_task == LULL_VCPU_UNKNOWN
            ? NULL
            : lull_model_host_name(eg->model, lull_model_task(eg->model, share->guest_task)->host);
    if (name) {
        g_string_append(out, name);
        g_string_append(out, "'s ");
    }
}

static void set_preemptor(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                          struct path_texts *texts, struct lull_segment *segment)
{
    if (task != LULL_NONE) {
        segment->other_task = task;
        segment->other_tid = lull_model_task(eg->model, task)->tid;
        segment->other_comm = lull_path_name(texts, eg->model, task, time_ns)->comm;
    }
}

void lull_preemption_prio(struct lull_execgraph *eg, const struct lull_prio_fact *fact)
{
    enum { FIRST_FAIR = 100 }; /* MAX_RT_PRIO of the kernel */
    const enum sched_class class = fact->prio < 0            ? CLASS_DEADLINE
                                   : fact->prio < FIRST_FAIR ? CLASS_REAL_TIME
                                                             : CLASS_FAIR;
    const uint32_t known = lull_map_find(&eg->class_of, fact->task);
    const uint32_t before = known == LULL_MAP_NONE ? LULL_NONE : known;
    if (class != (before == LULL_NONE ? CLASS_FAIR : eg->classes.items[before].class)) {
        lull_map_insert(&eg->class_of, fact->task, (uint32_t)eg->classes.count);
        lull_vec_push(&eg->classes, (struct class_note){fact->time_ns, before, class});
    }
}

bool lull_preemption_is_special(const struct lull_execgraph *eg, uint32_t task)
{
    return lull_map_find(&eg->class_of, task) != LULL_MAP_NONE;
}

static enum sched_class class_at(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns)
{
    uint32_t note = lull_map_find(&eg->class_of, task);
    while (note < eg->classes.count) {
        if (eg->classes.items[note].time_ns <= time_ns) {
            return eg->classes.items[note].class;
        }
        note = eg->classes.items[note].before;
    }
    return CLASS_FAIR;
}

/* Whose limit keeps a task off an idle CPU, if no control group's is known to. Sources: sched(7), sched-deadline of the kernel. */
static void append_limit(const struct lull_execgraph *eg, const struct path_piece *piece,
                         GString *out)
{
    static const char *const limits[] = {
        [CLASS_FAIR] = "",
        [CLASS_REAL_TIME] = "of real-time tasks (sched_rt_runtime_us)",
        [CLASS_DEADLINE] = "of its own (SCHED_DEADLINE)",
    };
    g_string_append(out, limits[class_at(eg, piece->hop->line, piece->start_ns)]);
}

/* A CPU that comes out of idle late may not have been there. */
static void append_steal(const struct lull_execgraph *eg, uint32_t host, GString *out)
{
    char steal[LULL_TIME_TEXT_SIZE];
    if (host < eg->hosts.count && eg->hosts.items[host].steal_ns > 0) {
        lull_duration_format(eg->hosts.items[host].steal_ns, steal);
        g_string_append_printf(
            out, "; its hypervisor may have run others (%s of steal time in the recording)", steal);
    }
}

/* Who had the CPU meanwhile: the three that had it longest. */
GArray *lull_evidence_preempted(const struct lull_execgraph *eg, const struct path_piece *piece,
                                struct path_texts *texts, struct lull_segment *segment)
{
    enum { NAMED = 3, LATE_NS = 1000000 };
    const struct lull_hop *hop = piece->hop;
    GStringChunk *strings = texts->strings;
    if (piece->cause == LULL_CAUSE_THROTTLED) {
        GString *text = g_string_truncate(texts->text, 0);
        if (piece->label != LULL_NONE) {
            lull_quotas_append(eg, piece->label, text);
            segment->object = lull_quotas_at(eg, piece->label)->cgroup;
            segment->subject = g_string_chunk_insert_const(strings, text->str);
        } else {
            append_limit(eg, piece, text);
            if (text->len) {
                segment->subject = g_string_chunk_insert_const(strings, text->str);
                g_string_append(text, ", ");
            }
            g_string_append_printf(text, "kept off CPU %d, which was idle", hop->cpu);
        }
        segment->detail = g_string_chunk_insert_const(strings, text->str);
        return NULL;
    }
    GArray *shares = lull_evidence_shares(eg, piece);
    if (shares->len == 0) {
        return shares;
    }
    const struct cpu_share *most = &g_array_index(shares, struct cpu_share, 0);
    set_preemptor(eg, lull_evidence_preemptor(most), hop->end_ns, texts, segment);
    segment->subject = 2 * most->ns >= piece->end_ns - piece->start_ns
                           ? lull_evidence_kept_preemptor(eg, most, hop->end_ns, texts)
                           : g_string_chunk_insert_const(strings, "by several tasks");
    GString *out = g_string_truncate(texts->text, 0);
    bool is_idle = most->task == LULL_NONE;
    if (is_idle) {
        g_string_append_printf(out, "on CPU %d, which came out of idle", hop->cpu);
    }
    for (guint k = is_idle, named = 0; k < MIN(shares->len, NAMED); k++) {
        const struct cpu_share *share = &g_array_index(shares, struct cpu_share, k);
        char ns[LULL_TIME_TEXT_SIZE];
        lull_duration_format(share->ns, ns);
        if (share->task == LULL_NONE) {
            continue;
        }
        const uint32_t who = lull_evidence_preemptor(share);
        g_string_append(out, is_idle || named++ ? ", " : "by ");
        append_guest(eg, share, out);
        g_string_append(out, lull_model_comm(eg->model, who, hop->end_ns));
        g_string_append_c(out, '/');
        lull_append_signed(out, lull_model_task(eg->model, who)->tid);
        g_string_append_c(out, ' ');
        g_string_append(out, ns);
    }
    if (!is_idle) {
        g_string_append(out, " on CPU ");
        lull_append_signed(out, hop->cpu);
    } else if (most->ns >= LATE_NS) {
        append_steal(eg, lull_model_task(eg->model, hop->line)->host, out);
    }
    /* Durations differ: to look for the same text would cost more than to have it twice. */
    segment->detail = g_string_chunk_insert_len(strings, out->str, (gssize)out->len);
    return shares;
}

void lull_evidence_append_preemptor(const struct lull_execgraph *eg, const struct cpu_share *share,
                                    int64_t time_ns, GString *out)
{
    if (share->task == LULL_NONE) {
        g_string_append(out, "the CPU came out of idle");
        return;
    }
    g_string_append(out, "by ");
    append_guest(eg, share, out);
    lull_evidence_append_kind(out,
                              lull_model_comm(eg->model, lull_evidence_preemptor(share), time_ns));
}

const char *lull_evidence_kept_preemptor(const struct lull_execgraph *eg,
                                         const struct cpu_share *share, int64_t time_ns,
                                         struct path_texts *texts)
{
    const uint32_t task = lull_evidence_preemptor(share);
    if (share->task != LULL_NONE && share->guest_task == LULL_VCPU_UNKNOWN) {
        return lull_path_name(texts, eg->model, task, time_ns)->preemptor;
    }
    g_string_truncate(texts->text, 0);
    lull_evidence_append_preemptor(eg, share, time_ns, texts->text);
    return g_string_chunk_insert_const(texts->strings, texts->text->str);
}
