/* SPDX-License-Identifier: MIT */
/* Instances and the sum of their paths for people. */
#include "view/instances/instances.h"

#include <string.h>

#include <lull/recording.h>

#include "analysis/requests.h"
#include "base/time.h"
#include "base/sums.h"
#include "view/out.h"
#include "view/table.h"
#include "view/words.h"

static const struct lull_instance *instance_at(const struct lull_instance_paths *paths, uint32_t i)
{
    return &g_array_index(paths->instances->list, struct lull_instance, i);
}

static const char *host_name(const struct lull_instance_paths *paths, uint32_t host)
{
    return lull_session_host(paths->session, host)->name;
}

void lull_portion_append_what(GString *out, const struct lull_portion *portion, bool ascii)
{
    const struct lull_segment segment = {
        .state = portion->state, .cause = portion->cause, .detail = portion->detail};
    lull_segment_append(out, &segment, ascii);
}

struct lull_instance_paths lull_instance_paths_of(const struct lull_instances *instances,
                                                  const GPtrArray *chosen)
{
    return (struct lull_instance_paths){
        .session = instances->waits->session,
        .sync = instances->waits->sync,
        .model = instances->waits->model,
        .instances = instances,
        .portions = instances->portions,
        .samples = instances->samples,
        .chosen = chosen,
    };
}

uint32_t *lull_instance_samples(const struct lull_instance_paths *paths, uint32_t *count)
{
    uint32_t *samples = g_new(uint32_t, MAX(paths->chosen->len, 1));
    *count = 0;
    for (uint32_t i = 0; i < paths->chosen->len; i++) {
        if (paths->samples[lull_chosen(paths, i)] != LULL_NONE) {
            samples[(*count)++] = paths->samples[lull_chosen(paths, i)];
        }
    }
    return samples;
}

/* ---- the table of instances ---- */

enum { COL_NUMBER, COL_BEGIN, COL_TOOK, COL_HOST, COL_TASK, COL_CAPTURES, COL_SHARE, COL_MOST };

struct row {
    uint32_t instance;
    int64_t took_ns;
};

static gint slowest_first(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;
    if (x->took_ns != y->took_ns) {
        return x->took_ns < y->took_ns ? 1 : -1;
    }
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static gint first_first(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

/* Those with a path; of too many the slowest. */
static GArray *choose_rows(const struct lull_instance_paths *paths, uint32_t limit)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct row));
    for (uint32_t i = 0; i < paths->chosen->len; i++) {
        const struct lull_instance *instance = instance_at(paths, lull_chosen(paths, i));
        const struct row row = {lull_chosen(paths, i), instance->end_ns - instance->start_ns};
        if (paths->samples[lull_chosen(paths, i)] != LULL_NONE) {
            g_array_append_val(rows, row);
        }
    }
    if (limit > 0 && rows->len > limit) {
        g_array_sort(rows, slowest_first);
        g_array_set_size(rows, limit);
        g_array_sort(rows, first_first);
    }
    return rows;
}

static void add_most(const struct lull_instance_paths *paths, struct lull_table *table,
                     const struct lull_sample *sample, bool ascii)
{
    const struct lull_portion *most = lull_portions_at(paths->portions, sample->most);
    g_autoptr(GString) text = g_string_new(NULL);
    lull_clean_append(text, most->comm, ascii);
    if (lull_session_host_count(paths->session) > 1) {
        g_string_append(text, " on ");
        lull_clean_append(text, host_name(paths, most->host), ascii);
    }
    g_string_append(text, " ");
    lull_portion_append_what(text, most, ascii);
    lull_table_set_real(table, COL_SHARE,
                        lull_share(sample->most_ns, sample->end_ns - sample->start_ns));
    lull_table_set_text(table, COL_MOST, text->str);
    lull_table_set_color(table, COL_MOST, lull_look_of(most->state, most->cause)->ansi);
}

static void add_row(const struct lull_instance_paths *paths, struct lull_table *table,
                    const struct row *row, bool ascii)
{
    const struct lull_instance *instance = instance_at(paths, row->instance);
    const struct lull_task *task = lull_model_task(paths->model, instance->task);
    g_autoptr(GString) name = g_string_new(NULL);
    lull_task_append(name, lull_model_comm(paths->model, instance->task, instance->end_ns),
                     task->tid, ascii);
    lull_table_add_row(table);
    lull_table_set_number(table, COL_NUMBER, instance->number);
    lull_table_set_number(table, COL_BEGIN, instance->start_ns);
    lull_table_set_number(table, COL_TOOK, row->took_ns);
    lull_table_set_text(table, COL_HOST, host_name(paths, task->host));
    lull_table_set_text(table, COL_TASK, name->str);
    lull_table_set_text(table, COL_CAPTURES, instance->captures);
    add_most(paths, table, lull_sample_at(paths->portions, paths->samples[row->instance]), ascii);
}

/* What has no path, and why. */
static void report_others(const struct lull_instance_paths *paths, struct lull_out *out,
                          uint32_t n_rows)
{
    enum { NAMED = 5 };
    uint32_t incomplete = 0, without_task = 0, empty = 0, with_path = 0;
    g_autoptr(GString) numbers = g_string_new(NULL);
    for (uint32_t i = 0; i < paths->chosen->len; i++) {
        const struct lull_instance *instance = instance_at(paths, lull_chosen(paths, i));
        with_path += paths->samples[lull_chosen(paths, i)] != LULL_NONE;
        if (!instance->is_complete) {
            if (incomplete++ < NAMED) {
                g_string_append_printf(numbers, "%s%u", incomplete > 1 ? ", " : "",
                                       instance->number);
            }
        } else if (instance->task == LULL_NONE) {
            without_task++;
        } else if (instance->start_ns >= instance->end_ns) {
            empty++;
        }
    }
    if (n_rows < with_path) {
        lull_out_printf(out, "%u faster ones are not listed; --limit 0 lists all.\n",
                        with_path - n_rows);
    }
    if (incomplete) {
        lull_out_printf(out,
                        "%u had not ended when the recording, or the period around, ended (number "
                        "%s%s): no path.\n",
                        incomplete, numbers->str, incomplete > NAMED ? " and more" : "");
    }
    if (without_task) {
        lull_out_printf(out, "Of %u it is not known which task ran: no path.\n", without_task);
    }
    if (empty) {
        lull_out_printf(out, "%u took no time: no path.\n", empty);
    }
}

static bool has_captures(const struct lull_instance_paths *paths)
{
    for (uint32_t i = 0; i < paths->chosen->len; i++) {
        if (instance_at(paths, lull_chosen(paths, i))->captures) {
            return true;
        }
    }
    return false;
}

const char *lull_instances_word(const struct lull_instances *instances)
{
    return g_strcmp0(instances->what, "request") == 0 ? "request" : "instance";
}

const char *lull_instances_ask_instead(const struct lull_session *session)
{
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *info = lull_session_recording(session, i);
        if (info->trigger && (info->trigger->tid > 0 || info->trigger->pid > 0)) {
            return "'lull critpath' shows what the slow task waited for.\n";
        }
        if (info->command && info->pid > 0) {
            return "'lull critpath' shows what the command waited for.\n";
        }
    }
    return "";
}

char *lull_instances_none(const struct lull_instance_paths *paths)
{
    const struct lull_instances *instances = paths->instances;
    const bool is_request = g_strcmp0(instances->what, "request") == 0;
    if (instances->list->len > 0) {
        return g_strdup_printf("None of the %u %s matches.\n", instances->list->len,
                               is_request ? "requests" : "instances");
    }
    uint32_t n = 0;
    if (is_request && instances->waits->requests) {
        lull_requests_unanswered(instances->waits->requests, &n);
    }
    return is_request ? g_strconcat(n ? "No request was answered: 'lull requests' lists those that "
                                        "still waited when the trace ended.\n"
                                      : "No request was found.\n",
                                    lull_instances_ask_instead(paths->session), NULL)
                      : g_strdup("There is no instance in these traces.\n");
}

bool lull_view_instances_text(const struct lull_instance_paths *paths, FILE *file,
                              const struct lull_view_style *style, GError **error)
{
    const bool has_hosts = lull_session_host_count(paths->session) > 1;
    const struct lull_column columns[] = {
        [COL_NUMBER] = {.title = "NUMBER", .type = LULL_COLUMN_NUMBER},
        [COL_BEGIN] = {.title = "BEGIN", .type = LULL_COLUMN_TIME},
        [COL_TOOK] = {.title = "TOOK", .type = LULL_COLUMN_DURATION},
        [COL_HOST] = {.title = "HOST",
                      .type = LULL_COLUMN_TEXT,
                      .flags = has_hosts ? 0 : LULL_COLUMN_JSON_ONLY},
        [COL_TASK] = {.title = "TASK", .type = LULL_COLUMN_TEXT},
        [COL_CAPTURES] = {.title = "CAPTURES",
                          .type = LULL_COLUMN_TEXT,
                          .flags = has_captures(paths) ? 0 : LULL_COLUMN_JSON_ONLY},
        [COL_SHARE] = {.title = "MOST", .type = LULL_COLUMN_SHARE},
        [COL_MOST] = {.title = "OF IT", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
        {0},
    };
    g_autoptr(GArray) rows = choose_rows(paths, style->limit);
    struct lull_table *table = lull_table_new(columns);
    for (guint i = 0; i < rows->len; i++) {
        add_row(paths, table, &g_array_index(rows, struct row, i), !style->unicode);
    }
    bool ok = lull_table_print(table, file, style, error);
    lull_table_free(table);
    struct lull_out out;
    lull_out_start(&out, file);
    lull_out_fold(&out, style->width);
    if (paths->chosen->len == 0) {
        g_autofree char *none = lull_instances_none(paths);
        lull_out_text(&out, none);
    }
    report_others(paths, &out, rows->len);
    return ok && lull_out_end(&out, "the instances", error);
}

/* ---- the sum ---- */

enum { SUM_TOTAL, SUM_SHARE, SUM_IN, SUM_MEAN, SUM_MIN, SUM_MAX, SUM_HOST, SUM_COMM, SUM_WHAT };

static void add_sum_row(const struct lull_instance_paths *paths, struct lull_table *table,
                        const struct lull_portion_sum *sum, int64_t all_ns, uint32_t count,
                        bool ascii)
{
    const struct lull_portion *portion = lull_portions_at(paths->portions, sum->portion);
    g_autoptr(GString) what = g_string_new(NULL);
    lull_portion_append_what(what, portion, ascii);
    lull_table_add_row(table);
    lull_table_set_number(table, SUM_TOTAL, sum->total_ns);
    lull_table_set_real(table, SUM_SHARE, lull_share(sum->total_ns, all_ns));
    lull_table_set_number(table, SUM_IN, sum->n_samples);
    lull_table_set_number(table, SUM_MEAN, sum->total_ns / count);
    lull_table_set_number(table, SUM_MIN, sum->min_ns);
    lull_table_set_number(table, SUM_MAX, sum->max_ns);
    lull_table_set_text(table, SUM_HOST, host_name(paths, portion->host));
    lull_table_set_text(table, SUM_COMM, portion->comm);
    lull_table_set_text(table, SUM_WHAT, what->str);
    lull_table_set_color(table, SUM_WHAT, lull_look_of(portion->state, portion->cause)->ansi);
}

static void add_rest_row(struct lull_table *table, const GArray *sums, guint first, int64_t all_ns,
                         uint32_t count)
{
    int64_t rest_ns = 0;
    for (guint i = first; i < sums->len; i++) {
        lull_add(&rest_ns, g_array_index(sums, struct lull_portion_sum, i).total_ns);
    }
    g_autofree char *text = g_strdup_printf("%u others (--limit 0 shows all)", sums->len - first);
    lull_table_add_row(table);
    lull_table_set_number(table, SUM_TOTAL, rest_ns);
    lull_table_set_real(table, SUM_SHARE, lull_share(rest_ns, all_ns));
    lull_table_set_number(table, SUM_MEAN, rest_ns / count);
    lull_table_set_text(table, SUM_WHAT, text);
}

static bool print_sums(const struct lull_instance_paths *paths, FILE *file, const GArray *sums,
                       int64_t all_ns, uint32_t count, const struct lull_view_style *style,
                       GError **error)
{
    const bool has_hosts = lull_session_host_count(paths->session) > 1;
    const struct lull_column columns[] = {
        [SUM_TOTAL] = {.title = "TOTAL", .type = LULL_COLUMN_DURATION},
        [SUM_SHARE] = {.title = "SHARE", .type = LULL_COLUMN_SHARE},
        [SUM_IN] = {.title = "IN", .type = LULL_COLUMN_COUNT},
        [SUM_MEAN] = {.title = "MEAN", .type = LULL_COLUMN_DURATION},
        [SUM_MIN] = {.title = "MIN", .type = LULL_COLUMN_DURATION},
        [SUM_MAX] = {.title = "MAX", .type = LULL_COLUMN_DURATION},
        [SUM_HOST] = {.title = "HOST",
                      .type = LULL_COLUMN_TEXT,
                      .flags = has_hosts ? 0 : LULL_COLUMN_JSON_ONLY},
        [SUM_COMM] = {.title = "TASK", .type = LULL_COLUMN_TEXT},
        [SUM_WHAT] = {.title = "WHAT", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
        {0},
    };
    struct lull_table *table = lull_table_new(columns);
    const guint shown = style->limit > 0 ? MIN(style->limit, sums->len) : sums->len;
    for (guint i = 0; i < shown; i++) {
        add_sum_row(paths, table, &g_array_index(sums, struct lull_portion_sum, i), all_ns, count,
                    !style->unicode);
    }
    if (shown < sums->len) {
        add_rest_row(table, sums, shown, all_ns, count);
    }
    bool ok = lull_table_print(table, file, style, error);
    lull_table_free(table);
    return ok;
}

bool lull_view_sum_text(const struct lull_instance_paths *paths, FILE *file,
                        const struct lull_view_style *style, GError **error)
{
    uint32_t count;
    uint64_t lost_events = 0, lost_packets = 0;
    int64_t all_ns = 0;
    g_autofree uint32_t *samples = lull_instance_samples(paths, &count);
    if (count == 0) {
        return true;
    }
    g_autoptr(GArray) sums = lull_portions_sum(paths->portions, samples, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_sample *sample = lull_sample_at(paths->portions, samples[i]);
        lull_add(&all_ns, sample->end_ns - sample->start_ns);
        lost_events += sample->lost_events;
        lost_packets += sample->lost_packets;
    }
    struct lull_out out;
    char took[LULL_TIME_TEXT_SIZE];
    lull_out_start(&out, file);
    lull_out_fold(&out, style->width);
    lull_duration_format(all_ns, took);
    lull_out_printf(&out,
                    "The critical paths of %u instance%s together, %s: what each thing took in "
                    "all, in how many instances it is (IN), its mean over all of them, the least "
                    "and the most of those it is in.\n",
                    count, count == 1 ? "" : "s", took);
    if (lost_events || lost_packets) {
        lull_out_printf(&out,
                        "Lost meanwhile: %" G_GUINT64_FORMAT " events and %" G_GUINT64_FORMAT
                        " packets; the paths may be wrong there.\n",
                        lost_events, lost_packets);
    }
    return lull_out_end(&out, "the sum", error) &&
           print_sums(paths, file, sums, all_ns, count, style, error);
}

bool lull_instance_host_is_joined(const struct lull_instance_paths *paths, uint32_t host)
{
    if (lull_session_host_count(paths->session) < 2) {
        return true;
    }
    const struct lull_host_clock *sync = paths->sync ? &lull_sync_hosts(paths->sync)[host] : NULL;
    return sync && (sync->is_joined || sync->is_reference);
}

/* ---- folded ---- */

static void append_frame(GString *stack, const char *text)
{
    const gsize start = stack->len;
    lull_clean_append(stack, text, false);
    for (char *c = stack->str + start; *c; c++) {
        if (*c == ';') {
            *c = ',';
        }
    }
}

bool lull_view_sum_folded(const struct lull_instance_paths *paths, FILE *file, GError **error)
{
    uint32_t count;
    g_autofree uint32_t *samples = lull_instance_samples(paths, &count);
    g_autoptr(GArray) sums = lull_portions_sum(paths->portions, samples, count);
    g_autoptr(GString) stack = g_string_new(NULL);
    struct lull_out out;
    lull_out_start(&out, file);
    for (guint i = 0; i < sums->len; i++) {
        const struct lull_portion_sum *sum = &g_array_index(sums, struct lull_portion_sum, i);
        const struct lull_portion *portion = lull_portions_at(paths->portions, sum->portion);
        const char *cause = lull_cause_name(portion->cause);
        g_string_truncate(stack, 0);
        append_frame(stack, host_name(paths, portion->host));
        g_string_append_c(stack, ';');
        append_frame(stack, portion->comm);
        g_string_append_printf(stack, ";%s%s%s", lull_state_name(portion->state), cause ? " " : "",
                               cause ? cause : "");
        if (portion->detail) {
            g_string_append(stack, ": ");
            append_frame(stack, portion->detail);
        }
        lull_out_printf(&out, "%s %" G_GINT64_FORMAT "\n", stack->str, sum->total_ns);
    }
    return lull_out_end(&out, "folded stacks", error);
}
