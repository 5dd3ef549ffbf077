/* SPDX-License-Identifier: MIT */
/* The words and colours for states and tasks, and the cleaning of text that comes from traces.
 * The colours of pictures were chosen by computing: for all kinds of colour vision any two of them,
 * and each and a white or a dark background, differ at least as tests/view/test_colours.py says. */
#include "view/words.h"

#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "view/out.h"

static const struct lull_look looks[LULL_LOOK_COUNT] = {
    {"running", "running", "run", "#00d390", "\033[32m"},
    {"preempted", "preempted", "pre", "#cd8b03", "\033[38;5;208m"},
    {"throttled by a CPU quota", "throttled", "thr", "#e2614d", "\033[38;5;130m"},
    {"interrupted", "irq", "int", "#f3d100", "\033[33m"},
    {"blocked on a task", "task", "tsk", "#970e00", "\033[31m"},
    {"blocked on a timer", "timer", "tmr", "#637ef4", "\033[94m"},
    {"blocked on disk", "disk", "dsk", "#4f0063", "\033[35m"},
    {"blocked on network", "network", "net", "#a4cbff", "\033[95m"},
    {"blocked on user input", "user", "usr", "#0b6458", "\033[36m"},
    {"blocked on another CPU", "ipi", "ipi", "#3023a4", "\033[34m"},
    {"blocked on an interrupt", "irq", "irq", "#a25eb0", "\033[33m"},
    {"blocked, cause unknown", "unknown", "unk", "#9599a6", "\033[90m"},
};

uint32_t lull_look_index(enum lull_state state, enum lull_cause cause)
{
    switch (state) {
    case LULL_STATE_RUNNING:
        return 0;
    case LULL_STATE_PREEMPTED:
        return cause == LULL_CAUSE_THROTTLED ? 2 : 1;
    case LULL_STATE_INTERRUPTED:
        return 3;
    default:
        break;
    }
    if (state != LULL_STATE_BLOCKED || cause <= LULL_CAUSE_NONE || cause > LULL_CAUSE_UNKNOWN) {
        cause = LULL_CAUSE_UNKNOWN;
    }
    return 4 + (uint32_t)(cause - LULL_CAUSE_TASK);
}

const struct lull_look *lull_look_at(uint32_t index)
{
    return &looks[MIN(index, LULL_LOOK_COUNT - 1)];
}

const struct lull_look *lull_look_of(enum lull_state state, enum lull_cause cause)
{
    return lull_look_at(lull_look_index(state, cause));
}

/* Printable ASCII, which nothing has to be done to. */
static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f;
}

static size_t plain_length(const char *text)
{
    size_t length = 0;
    while (is_plain(text[length])) {
        length++;
    }
    return length;
}

/* Signs of our own texts, in ASCII. */
static const char *in_ascii(gunichar c)
{
    static const struct {
        gunichar c;
        const char *text;
    } signs[] = {
        {0xa0, " "},    {0xb5, "u"},    {0xb7, "."},    {0xd7, "x"},    {0x2013, "-"},
        {0x2018, "'"},  {0x2019, "'"},  {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."},
        {0x2190, "<-"}, {0x2192, "->"}, {0x2248, "~"},  {0x2264, "<="}, {0x2265, ">="},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(signs); i++) {
        if (signs[i].c == c) {
            return signs[i].text;
        }
    }
    return "?";
}

void lull_clean_append(GString *out, const char *text, bool ascii)
{
    const char *replacement = ascii ? "?" : "\xef\xbf\xbd";

    if (!text) {
        g_string_append_c(out, '?');
        return;
    }
    while (*text) {
        const size_t plain = plain_length(text);
        g_string_append_len(out, text, (gssize)plain);
        text += plain;
        if (*text == '\0') {
            return;
        }
        gunichar c = g_utf8_get_char_validated(text, -1);
        if (c == (gunichar)-1 || c == (gunichar)-2) {
            g_string_append(out, replacement);
            text++;
            continue;
        }
        if (!lull_is_harmless(c)) {
            g_string_append(out, replacement);
        } else if (ascii && c > 0x7e) {
            g_string_append(out, in_ascii(c));
        } else {
            g_string_append_unichar(out, c);
        }
        text = g_utf8_next_char(text);
    }
}

static bool is_ascii(const char *text, size_t length)
{
    uint64_t bits = 0, word;
    size_t at = 0;
    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        bits |= word;
    }
    for (; at < length; at++) {
        bits |= (uint8_t)text[at];
    }
    return !(bits & UINT64_C(0x8080808080808080));
}

int lull_text_width(const char *text)
{
    const size_t length = strlen(text);
    int cells = 0;

    if (G_LIKELY(is_ascii(text, length))) {
        return (int)MIN(length, INT_MAX);
    }
    for (; *text; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);
        cells += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return cells;
}

const char *lull_text_next(const char *text, int *cells)
{
    if (*text == '\033') {
        const char *end = strchr(text, 'm');
        *cells = 0;
        return end ? end + 1 : text + strlen(text);
    }
    const char *next = g_utf8_next_char(text);
    const gunichar c = g_utf8_get_char(text);
    *cells = g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    return next;
}

char *lull_cut_text(const char *text, int width, bool ascii)
{
    const char *mark = ascii ? "..." : "…";
    int left = width - lull_text_width(mark), cells;
    if (lull_text_width(text) <= width) {
        return g_strdup(text);
    }
    GString *cut = g_string_new(NULL);
    for (const char *next; *text; text = next) {
        next = lull_text_next(text, &cells);
        left -= cells;
        if (left < 0) {
            break;
        }
        g_string_append_len(cut, text, next - text);
    }
    while (cut->len && cut->str[cut->len - 1] == ' ') {
        g_string_truncate(cut, cut->len - 1);
    }
    g_string_append(cut, mark);
    return g_string_free(cut, FALSE);
}

char *lull_fold_text(const char *text, int width, int indent)
{
    GString *folded = g_string_new(NULL);
    gsize blank = 0;                 /* where the last blank of the line is; 0: none */
    int used = 0, behind = 0, cells; /* of the line, and of it after that blank */
    for (const char *next; *text; text = next) {
        next = lull_text_next(text, &cells);
        if (used + cells > width && *text == ' ') { /* the blank becomes the line end */
            g_string_append_printf(folded, "\n%*s", indent, "");
            used = indent;
            blank = 0;
            continue;
        }
        if (used + cells > width) {
            g_autofree char *end = g_strdup_printf("\n%*s", indent, "");
            const bool is_word = blank && indent + behind + cells <= width;
            const gsize at = is_word ? blank : folded->len;
            g_string_erase(folded, (gssize)at, is_word ? 1 : 0);
            g_string_insert(folded, (gssize)at, end);
            used = indent + (is_word ? behind : 0);
            blank = 0;
        }
        blank = *text == ' ' && folded->len > 0 ? folded->len : blank;
        behind = *text == ' ' ? 0 : behind + cells;
        used += cells;
        g_string_append_len(folded, text, next - text);
    }
    return g_string_free(folded, FALSE);
}

void lull_bytes_append(GString *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char number[LULL_DECIMAL_SIZE];
    size_t unit = 0;

    /* 1023.95 and more would be rounded to "1024.0". */
    while (fabs(bytes) >= (unit ? 1023.95 : 1024) && unit + 1 < G_N_ELEMENTS(units)) {
        bytes /= 1024;
        unit++;
    }
    g_string_append_printf(out, "%s %s", lull_decimal_format(bytes, unit ? 1 : 0, number),
                           units[unit]);
}

char *lull_clean_text(const char *text, bool ascii)
{
    GString *out = g_string_new(NULL);
    lull_clean_append(out, text, ascii);
    return g_string_free(out, FALSE);
}

/* A word of a command as a shell would need it. */
static void append_word(GString *text, const char *word, bool ascii)
{
    g_autofree char *clean = lull_clean_text(word, ascii);
    g_autofree char *quoted = g_shell_quote(clean);
    const bool is_plain =
        *clean && !clean[strspn(clean, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+=./:,@%")];

    g_string_append(text, is_plain ? clean : quoted);
}

void lull_command_append(GString *out, const char *const *command, bool ascii)
{
    for (uint32_t i = 0; command[i]; i++) {
        g_string_append(out, i ? " " : "");
        append_word(out, command[i], ascii);
    }
}

void lull_command_line_append(GString *out, const char *line, bool ascii)
{
    enum { MOST = 200 };
    g_autofree char *clean = lull_clean_text(line, ascii);
    const bool is_long = g_utf8_strlen(clean, -1) > MOST;
    if (is_long) {
        *g_utf8_offset_to_pointer(clean, MOST) = '\0';
    }
    g_string_append_printf(out, "%s%s", clean, !is_long ? "" : ascii ? " ..." : " …");
}

char *lull_ancestors_text(const char *started_by, bool ascii)
{
    g_auto(GStrv) names = g_strsplit(started_by, " → ", -1);
    g_autofree char *joined = g_strjoinv(ascii ? " -> " : " → ", names);
    return lull_clean_text(joined, ascii);
}

void lull_task_append(GString *out, const char *comm, int32_t tid, bool ascii)
{
    lull_clean_append(out, comm && *comm ? comm : tid < 0 ? "interrupt" : "?", ascii);
    if (tid > 0) {
        g_string_append_c(out, '/');
        lull_append_signed(out, tid);
    } else if (tid < 0) {
        g_string_append_printf(out, "/cpu%d", -(tid + 1));
    }
}

const char *lull_path_host_name(const struct lull_path *path, uint32_t host)
{
    if (host >= path->n_hosts || !path->host_names || !path->host_names[host]) {
        return "?";
    }
    return path->host_names[host];
}

/* A detail that goes on with the sentence ("by make/12") needs no colon. */
static bool continues_sentence(const char *detail)
{
    static const char *const words[] = {"by ", "on ", "in ",  "from ", "of ",
                                        "to ", "at ", "for ", "after "};

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(detail, words[i])) {
            return true;
        }
    }
    return false;
}

void lull_state_append(GString *out, enum lull_state state, enum lull_cause cause,
                       const char *detail, bool ascii)
{
    g_string_append(out, lull_look_of(state, cause)->phrase);
    if (!detail || !*detail) {
        return;
    }
    g_string_append(out, continues_sentence(detail) ? " " : ": ");
    lull_clean_append(out, detail, ascii);
}

void lull_segment_append(GString *out, const struct lull_segment *segment, bool ascii)
{
    lull_state_append(out, segment->state, segment->cause, segment->detail, ascii);
}

const char *lull_wait_verb(const struct lull_wait *wait)
{
    return g_str_has_prefix(wait->detail, "woken ")     ? "waits until"
           : g_str_has_prefix(wait->detail, "stopped ") ? "is"
                                                        : "waits";
}

void lull_wait_append(GString *out, const struct lull_wait *wait, bool ascii)
{
    lull_task_append(out, wait->comm, wait->tid, ascii);
    g_string_append_printf(out, " %s ", lull_wait_verb(wait));
    lull_clean_append(out, wait->detail, ascii);
}

void lull_cause_append(GString *out, const struct lull_cause_share *share, bool ascii)
{
    lull_clean_append(out, share->program, ascii);
    g_string_append(out, ": ");
    lull_state_append(out, share->state, share->cause, share->detail, ascii);
    if (share->object && share->object_ns >= share->duration_ns / 2) {
        g_string_append(out, share->object_ns < share->duration_ns ? ", mostly of " : " of ");
        lull_clean_append(out, share->object, ascii);
    }
    if (!share->waiter) {
        return;
    }
    g_string_append(out, ", waited for by ");
    lull_clean_append(out, share->waiter, ascii);
    if (g_strcmp0(share->waiter_kind, "stop") == 0) {
        g_string_append(out, ", which was stopped");
        return;
    }
    if (g_strcmp0(share->waiter_kind, "freeze") == 0) {
        g_string_append(out, ", which was frozen");
        return;
    }
    if (g_strcmp0(share->waiter_kind, "hypervisor") == 0) {
        g_string_append(out, ", whose virtual CPU it is");
        return;
    }
    const bool is_fault = g_strcmp0(share->waiter_kind, "fault") == 0;
    if (share->waiter_call) {
        g_string_append_printf(out, " in %s%s", share->waiter_call, is_fault ? "," : "");
    }
    if (is_fault) {
        g_string_append(out, " in a page fault");
    } else if (g_strcmp0(share->waiter_kind, "memory") == 0) {
        g_string_append(out, ", whose control group is above memory.high");
    }
    if (share->waiter_call && share->waiter_object) {
        const bool is_request = g_strcmp0(share->waiter_kind, "request") == 0;
        g_string_append(out, is_request ? " for " : is_fault ? " of " : " on ");
        lull_clean_append(out, share->waiter_object, ascii);
    }
    if (g_strcmp0(share->waiter_kind, "kernel lock") == 0) {
        g_string_append(out, " for a kernel lock");
    }
}

void lull_frame_append(GString *out, const struct lull_frame *frame, bool ascii)
{
    const char *slash = frame->object ? strrchr(frame->object, '/') : NULL;
    const char *object = slash && slash[1] != '\0' ? slash + 1 : frame->object;
    if (frame->symbol) {
        lull_clean_append(out, frame->symbol, ascii);
        g_string_append_printf(out, "+0x%" G_GINT64_MODIFIER "x", frame->symbol_offset);
        if (object) {
            g_string_append(out, " (");
            lull_clean_append(out, object, ascii);
            g_string_append_c(out, ')');
        }
        return;
    }
    if (object) {
        lull_clean_append(out, object, ascii);
        g_string_append_c(out, '+');
    }
    g_string_append_printf(out, "0x%" G_GINT64_MODIFIER "x", frame->offset);
}

void lull_losses_append(GString *out, const struct lull_path *path)
{
    if (path->lost_events) {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " event%s", path->lost_events,
                               path->lost_events == 1 ? "" : "s");
    }
    if (path->lost_packets) {
        g_string_append_printf(out, "%s%" G_GUINT64_FORMAT " packet%s",
                               path->lost_events ? " and " : "", path->lost_packets,
                               path->lost_packets == 1 ? "" : "s");
    }
}

bool lull_segment_same_task(const struct lull_segment *a, const struct lull_segment *b)
{
    return a->host == b->host && a->task == b->task && a->tid == b->tid;
}

double lull_share(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : 0.0;
}
