/* SPDX-License-Identifier: MIT */
/* The summary of a critical path for a person: by state, program, host and cause. */
#include "base/map.h"
#include "view/path/text.h"

#include "view/table.h"
#include "view/words.h"

#define BOLD "\033[1m"

#define BAR_CELLS 20
#define MAX_TASKS 10 /* programs likewise */
#define MAX_CAUSES 8

static void append_host(const struct text_view *view, GString *text, uint32_t host)
{
    if (view->path->n_hosts > 1) {
        g_string_append(text, " on ");
        lull_clean_append(text, lull_path_host_name(view->path, host), !view->style->unicode);
    }
}

static void append_task(const struct text_view *view, GString *text, const char *comm, int32_t tid,
                        uint32_t host)
{
    lull_task_append(text, comm, tid, !view->style->unicode);
    append_host(view, text, host);
}
/* A bar of eighths of a character. */
static void append_bar(GString *bar, double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)(CLAMP(share, 0.0, 1.0) * BAR_CELLS * 8 + 0.5);

    for (int i = 0; i < eighths / 8; i++) {
        g_string_append(bar, "█");
    }
    g_string_append(bar, eighths ? parts[eighths % 8] : "▏");
}

enum { SUM_WHAT, SUM_TIME, SUM_SHARE, SUM_BAR };

void text_add_heading(const struct text_view *view, struct lull_table *table, const char *title)
{
    lull_table_add_row(table);
    lull_table_set_text(table, SUM_WHAT, title);
    if (view->style->color) {
        lull_table_set_color(table, SUM_WHAT, BOLD);
    }
}

void text_add_share(const struct text_view *view, struct lull_table *table, const char *what,
                    int64_t duration_ns, const char *ansi)
{
    double share = lull_share(duration_ns, view->path->end_ns - view->path->start_ns);
    g_autofree char *indented = g_strdup_printf("  %s", what);

    lull_table_add_row(table);
    lull_table_set_text(table, SUM_WHAT, indented);
    lull_table_set_number(table, SUM_TIME, duration_ns);
    lull_table_set_real(table, SUM_SHARE, share);
    if (ansi) {
        lull_table_set_color(table, SUM_WHAT, ansi);
        lull_table_set_color(table, SUM_BAR, ansi);
    }
    GString *bar = g_string_new(NULL);
    append_bar(bar, share);
    lull_table_set_text(table, SUM_BAR, bar->str);
    g_string_free(bar, TRUE);
}

/* What runs, if that is known of some of it. */
static void add_mode_rows(const struct text_view *view, struct lull_table *table, const char *ansi)
{
    static const char *const phrases[LULL_MODE_COUNT] = {
        [LULL_MODE_UNKNOWN] = "  in an unknown mode",
        [LULL_MODE_USER] = "  in user mode",
        [LULL_MODE_CALL] = "  in system calls",
        [LULL_MODE_KERNEL] = "  in kernel threads",
        [LULL_MODE_RECLAIM] = "  in memory reclaim",
        [LULL_MODE_DUMP] = "  in core dumps",
        [LULL_MODE_COMPACTION] = "  in memory compaction",
    };
    const struct lull_path *path = view->path;
    if (path->n_by_mode == 1 && path->by_mode[0].mode == LULL_MODE_UNKNOWN) {
        return;
    }
    for (uint32_t i = 0; i < path->n_by_mode; i++) {
        text_add_share(view, table, phrases[path->by_mode[i].mode], path->by_mode[i].duration_ns,
                       ansi);
    }
}

static void add_state_rows(const struct text_view *view, struct lull_table *table)
{
    text_add_heading(view, table, "By state");
    for (uint32_t i = 0; i < view->path->n_by_state; i++) {
        const struct lull_state_share *share = &view->path->by_state[i];
        const struct lull_look *look = lull_look_of(share->state, share->cause);
        text_add_share(view, table, look->phrase, share->duration_ns, look->ansi);
        if (share->state == LULL_STATE_RUNNING) {
            add_mode_rows(view, table, look->ansi);
        }
    }
}

static void add_task_rows(const struct text_view *view, struct lull_table *table)
{
    const struct lull_path *path = view->path;
    uint32_t shown = path->n_by_task;
    int64_t rest_ns = 0;

    if (!view->style->full && shown > MAX_TASKS + 1) {
        shown = MAX_TASKS;
    }
    text_add_heading(view, table, "By task");
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        const struct lull_task_share *share = &path->by_task[i];
        if (i >= shown) {
            rest_ns += share->duration_ns;
            continue;
        }
        GString *name = g_string_new(NULL);
        append_task(view, name, share->comm, share->tid, share->host);
        text_add_share(view, table, name->str, share->duration_ns, NULL);
        g_string_free(name, TRUE);
    }
    if (shown < path->n_by_task) {
        g_autofree char *text = g_strdup_printf("%u other tasks", path->n_by_task - shown);
        text_add_share(view, table, text, rest_ns, NULL);
    }
}

/* What the tasks of one program on one host have in common in the summary. */
struct program {
    uint32_t host;
    const char *name;
    uint32_t n_tasks;
    const struct lull_task_share *task; /* the first of them, which took longest */
    int64_t duration_ns;
};

static gint longest_program_first(gconstpointer a, gconstpointer b)
{
    const struct program *x = a, *y = b;

    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns < y->duration_ns ? 1 : -1;
    }
    return x->task < y->task ? -1 : x->task > y->task;
}

static uint64_t task_key(uint32_t host, uint32_t task)
{
    return (uint64_t)host << 32 | task;
}

/* The tasks of the path by program, longest first, as a GArray of struct program. */
static GArray *group_programs(const struct lull_path *path)
{
    GArray *programs = g_array_new(FALSE, TRUE, sizeof(struct program));
    g_autoptr(GHashTable) numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct lull_map last = {0}; /* segment of a task */

    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        lull_map_insert(&last, task_key(segment->host, segment->task), i);
    }
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        const struct lull_task_share *share = &path->by_task[i];
        const uint32_t segment = lull_map_find(&last, task_key(share->host, share->task));
        const char *name = segment == LULL_MAP_NONE ? NULL : path->segments[segment].program;
        char *key = g_strdup_printf("%u %s", share->host, name ? name : "?");
        guint found = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, key));
        if (!found) {
            struct program program = {.host = share->host, .name = name, .task = share};
            g_array_append_val(programs, program);
            found = programs->len;
            g_hash_table_insert(numbers, key, GUINT_TO_POINTER(found));
        } else {
            g_free(key);
        }
        struct program *program = &g_array_index(programs, struct program, found - 1);
        program->n_tasks++;
        program->duration_ns += share->duration_ns;
    }
    g_array_sort(programs, longest_program_first);
    lull_map_free(&last);
    return programs;
}

static void add_program_rows(const struct text_view *view, struct lull_table *table)
{
    const struct lull_path *path = view->path;
    g_autoptr(GArray) programs = group_programs(path);
    guint shown = programs->len > MAX_TASKS + 1 ? MAX_TASKS : programs->len;
    int64_t rest_ns = 0;

    text_add_heading(view, table, "By program");
    for (guint i = 0; i < programs->len; i++) {
        const struct program *program = &g_array_index(programs, struct program, i);
        if (i >= shown) {
            rest_ns += program->duration_ns;
            continue;
        }
        g_autoptr(GString) name = g_string_new(NULL);
        if (program->n_tasks == 1) {
            append_task(view, name, program->task->comm, program->task->tid, program->host);
        } else {
            lull_clean_append(name, program->name, !view->style->unicode);
            append_host(view, name, program->host);
            g_string_append_printf(name, " (%u tasks)", program->n_tasks);
        }
        text_add_share(view, table, name->str, program->duration_ns, NULL);
    }
    if (shown < programs->len) {
        g_autofree char *text = g_strdup_printf("%u other programs", programs->len - shown);
        text_add_share(view, table, text, rest_ns, NULL);
    }
}

enum { CAUSE_TIME, CAUSE_SHARE, CAUSE_COUNT, CAUSE_MEAN, CAUSE_LONGEST, CAUSE_WHAT };

static void add_cause_row(const struct text_view *view, struct lull_table *table, const char *what,
                          int64_t duration_ns, uint32_t count, int64_t longest_ns)
{
    lull_table_add_row(table);
    lull_table_set_text(table, CAUSE_WHAT, what);
    lull_table_set_number(table, CAUSE_TIME, duration_ns);
    lull_table_set_real(table, CAUSE_SHARE,
                        lull_share(duration_ns, view->path->end_ns - view->path->start_ns));
    lull_table_set_number(table, CAUSE_COUNT, count);
    lull_table_set_number(table, CAUSE_MEAN, duration_ns / MAX(count, 1));
    lull_table_set_number(table, CAUSE_LONGEST, longest_ns);
}

/* By cause: which program in which state for which reason. */
bool lull_text_print_causes(struct text_view *view, GError **error)
{
    static const struct lull_column columns[] = {
        [CAUSE_TIME] = {.title = "TIME", .type = LULL_COLUMN_DURATION},
        [CAUSE_SHARE] = {.title = "SHARE", .type = LULL_COLUMN_SHARE},
        [CAUSE_COUNT] = {.title = "COUNT", .type = LULL_COLUMN_COUNT},
        [CAUSE_MEAN] = {.title = "MEAN", .type = LULL_COLUMN_DURATION},
        [CAUSE_LONGEST] = {.title = "LONGEST", .type = LULL_COLUMN_DURATION},
        [CAUSE_WHAT] = {.title = "BY CAUSE", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
        {0},
    };
    g_autoptr(GStringChunk) texts = g_string_chunk_new(256);
    g_autoptr(GArray) causes = lull_causes_shown(view->path, view->style->full, texts);
    struct lull_table *table = lull_table_new(columns);
    uint32_t shown = causes->len, count = 0;
    int64_t rest_ns = 0, longest_ns = 0;

    if (!view->style->full && shown > MAX_CAUSES + 1) {
        shown = MAX_CAUSES;
    }
    for (uint32_t i = 0; i < causes->len; i++) {
        const struct lull_cause_share *share = &g_array_index(causes, struct lull_cause_share, i);
        if (i >= shown) {
            rest_ns += share->duration_ns;
            count += share->count;
            longest_ns = MAX(longest_ns, share->longest_ns);
            continue;
        }
        g_autoptr(GString) what = g_string_new(NULL);
        lull_cause_append(what, share, !view->style->unicode);
        add_cause_row(view, table, what->str, share->duration_ns, share->count, share->longest_ns);
        lull_table_set_color(table, CAUSE_WHAT, lull_look_of(share->state, share->cause)->ansi);
    }
    if (shown < causes->len) {
        g_autofree char *text = g_strdup_printf("%u other causes", causes->len - shown);
        add_cause_row(view, table, text, rest_ns, count, longest_ns);
    }
    lull_out_text(&view->out, "\n");
    bool ok = causes->len == 0 || lull_table_print(table, view->out.file, view->style, error);
    lull_table_free(table);
    return ok;
}

static bool shows_bars(const struct text_view *view)
{
    return view->style->unicode && view->style->width > 0;
}

/* The ancestors of a task from the last on that it shares with the task in question, or is that. */
static char *own_ancestors(const struct lull_path *path, const char *started_by)
{
    g_autofree char *known = g_strdup_printf("%s%s/%d", path->started_by ? path->started_by : "",
                                             path->started_by ? " → " : "", path->tid);
    g_auto(GStrv) shared = g_strsplit(known, " → ", -1);
    g_auto(GStrv) names = g_strsplit(started_by, " → ", -1);
    guint same = 0;

    /* Names change, tids do not. */
    while (names[same] && shared[same] &&
           g_strcmp0(strrchr(names[same], '/'), strrchr(shared[same], '/')) == 0) {
        same++;
    }
    return g_strjoinv(" → ", &names[same > 0 ? same - 1 : 0]);
}

/* Who started the other programs that take much of the path. */
static void print_origins(struct text_view *view)
{
    enum { MOST = 3, LEAST_PART = 20 };
    const struct lull_path *path = view->path;
    g_autoptr(GArray) programs = group_programs(path);
    const bool ascii = !view->style->unicode;

    for (guint i = 0; i < MIN(programs->len, MOST); i++) {
        const struct program *program = &g_array_index(programs, struct program, i);
        const struct lull_task_share *task = program->task;
        if (!task->started_by || (task->host == path->host && task->task == path->task) ||
            program->duration_ns < (path->end_ns - path->start_ns) / LEAST_PART ||
            g_str_has_suffix(task->started_by, "kthreadd/2")) {
            continue;
        }
        g_autofree char *own = own_ancestors(path, task->started_by);
        g_autofree char *ancestors = lull_ancestors_text(own, ascii);
        g_autoptr(GString) name = g_string_new(NULL);
        append_task(view, name, task->comm, task->tid, task->host);
        if (task->command_line) {
            g_autoptr(GString) command = g_string_new(NULL);
            lull_command_line_append(command, task->command_line, ascii);
            lull_out_printf(&view->out, "%s was started by %s. Its command is: %s\n", name->str,
                            ancestors, command->str);
            continue;
        }
        lull_out_printf(&view->out, "%s was started by %s.\n", name->str, ancestors);
    }
}

/* Nothing to tell where all tasks are in none. */
static void add_container_rows(const struct text_view *view, struct lull_table *table)
{
    const struct lull_path *path = view->path;
    bool is_any = false;
    for (uint32_t i = 0; i < path->n_by_container; i++) {
        const char *name = path->by_container[i].name;
        is_any |= name && strcmp(name, "host") != 0;
    }
    if (!is_any) {
        return;
    }
    text_add_heading(view, table, "By container");
    for (uint32_t i = 0; i < path->n_by_container; i++) {
        const struct lull_container_share *share = &path->by_container[i];
        const char *name = share->name ? share->name : "not known";
        g_autofree char *text =
            view->shows_hosts
                ? g_strdup_printf("%s on %s", name, lull_path_host_name(path, share->host))
                : g_strdup(name);
        text_add_share(view, table, text, share->duration_ns, NULL);
    }
}

bool lull_text_print_summary(struct text_view *view, GError **error)
{
    const struct lull_column columns[] = {
        [SUM_WHAT] = {.title = "WHAT", .type = LULL_COLUMN_TEXT},
        [SUM_TIME] = {.title = "TIME", .type = LULL_COLUMN_DURATION},
        [SUM_SHARE] = {.title = "SHARE", .type = LULL_COLUMN_SHARE},
        [SUM_BAR] = {.title = "BAR",
                     .type = LULL_COLUMN_TEXT,
                     .flags = shows_bars(view) ? LULL_COLUMN_KEEP | LULL_COLUMN_BAR
                                               : LULL_COLUMN_JSON_ONLY},
        {0},
    };
    const struct lull_path *path = view->path;
    struct lull_table *table = lull_table_new(columns);

    lull_table_hide_headings(table);
    add_state_rows(view, table);
    if (view->style->by_tid || view->style->full) {
        add_task_rows(view, table);
    } else {
        add_program_rows(view, table);
    }
    if (view->shows_hosts) {
        text_add_heading(view, table, "By host");
        for (uint32_t i = 0; i < path->n_by_host; i++) {
            text_add_share(view, table, lull_path_host_name(path, path->by_host[i].host),
                           path->by_host[i].duration_ns, NULL);
        }
    }
    add_container_rows(view, table);
    text_add_functions(view, table);
    lull_out_text(&view->out, "\n");
    bool ok = lull_table_print(table, view->out.file, view->style, error);
    lull_table_free(table);
    print_origins(view);
    return ok;
}
