/* SPDX-License-Identifier: MIT */
/* Fuzz target: a request of the Trace Server Protocol, or behind '@' a question of the page, as a line
 * with method and path, then the body's "parameters". Each is answered with JSON or columns, or
 * refused with a title and a detail. %T, %E, %V, %R, %U, %C, %H, %N and %L in the path are a trace, the
 * experiment, and the outputs. Behind '#' is a question to a table of 1000 lines. */
#include <string.h>

#include <glib/gstdio.h>

#include <lull/path.h>

#include "server/paths.h"
#include "server/served.h"
#include "server/tables.h"
#include "server/tsp.h"
#include "server/view.h"
#include "store/writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct served *served;

/* A host with a CPU, and two tasks that take turns on it. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const uint8_t key[32];
    static const char *const paths[] = {"/nowhere/trace", NULL};
    g_autofree char *dir = g_dir_make_tmp("lull-fuzz-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "store", NULL);
    struct store_writer *writer = store_writer_new(path, NULL);
    store_writer_host(writer, "host", 1000, 90000);
    const uint32_t name = store_writer_text(writer, "task");
    for (uint32_t row = 0; row < 4; row++) {
        const struct store_row about = {
            .kind = row < 2 ? LULL_STORE_TASK : row, .name = name, .tid = (int32_t)row, .pid = -1};
        store_writer_row(writer, &about, 1000);
        for (int64_t now_ns = 1000, i = 0; now_ns < 90000; i++) {
            now_ns += 1 + i * 7919 % 500;
            store_writer_append(writer, row, MIN(now_ns, 90000),
                                row == 3 ? LULL_STORE_USER : (unsigned)(i * 5 % 16), name,
                                (uint32_t)(i % 2));
        }
    }
    store_writer_loss(writer, &(struct store_loss){2000, 3000, 5, 0, 0, -1});
    g_assert_true(store_writer_finish(writer, key, 1000, 90000, NULL));
    store_writer_free(writer);
    struct lull_store *store = lull_store_open(path, key, NULL);
    served = served_new(served_about_new(paths, 1, false, NULL, NULL), store, 90000, true);
    server_paths_set_store(served->about->paths, store);
    g_unlink(path);
    g_rmdir(dir);
    return 0;
}

static char *fill_in(const char *path)
{
    static const char views[] = "org.eclipse.tracecompass.internal.analysis.os.linux.core."
                                "threadstatus.";
    g_autofree char *tasks = g_strconcat(views, "ThreadStatusDataProvider", NULL);
    g_autofree char *resources = g_strconcat(views, "ResourcesStatusDataProvider", NULL);
    const struct {
        const char *mark, *text;
    } marks[] = {
        {"%T", served->about->traces[0].uuid},
        {"%E", served->about->uuid},
        {"%V", tasks},
        {"%R", resources},
        {"%C", SERVER_PATH_ID},
        {"%H", "org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider"},
        {"%N", "org.eclipse.tracecompass.internal.provisional.tmf.core.model.events."
               "TmfEventTableDataProvider"},
        {"%L", "org.eclipse.tracecompass.analysis.timing.core.segmentstore."
               "SegmentStoreTableDataProvider:lull.irq"},
        {"%U", "org.eclipse.tracecompass.analysis.os.linux.core.cpuusage."
               "CpuUsageDataProvider"}};
    GString *text = g_string_new(path);
    for (unsigned i = 0; i < G_N_ELEMENTS(marks); i++) {
        g_string_replace(text, marks[i].mark, marks[i].text, 4);
    }
    return g_string_free(text, FALSE);
}

/* ---- a table: line i is i, and i squared ---- */

enum { LINES = 1000 };

static bool read_lines(void *user, uint64_t first, uint32_t count, uint32_t wanted,
                       GPtrArray *lines, GError **error)
{
    g_assert_true(first <= LINES && count <= LINES - first);
    for (uint64_t i = first; i < first + count; i++) {
        char **line = g_new0(char *, 3);
        line[0] = g_strdup_printf("%" G_GUINT64_FORMAT, i);
        line[1] = g_strdup_printf("%" G_GUINT64_FORMAT, i * i);
        g_ptr_array_add(lines, line);
    }
    return true;
}

static bool find_time(void *user, int64_t time_ns, uint64_t *index, GError **error)
{
    *index = (uint64_t)CLAMP(time_ns, 0, LINES);
    return true;
}

static void ask_table(struct json_object *params, struct server_answer *answer)
{
    static const char *const columns[] = {"number", "square"};
    const struct server_table table = {
        .columns = columns, .n_columns = 2, .size = LINES, .read = read_lines, .find = find_time};
    GError *error = NULL;
    if (!server_table_lines(&table, params, answer->body, &error)) {
        server_refuse(answer, 400, "refused", error->message);
        g_error_free(error);
    }
}

static void check(const struct server_answer *answer)
{
    g_assert_true(answer->status == 200 || (answer->status >= 400 && answer->status <= 501));
    if (strcmp(answer->type, "application/json") != 0) {
        g_assert_true(answer->status == 200 && memcmp(answer->body->str, "LLC1", 4) == 0);
        return;
    }
    struct json_object *object = json_tokener_parse(answer->body->str), *part;
    g_assert_nonnull(object);
    g_assert_true(answer->status == 200 || (json_object_object_get_ex(object, "title", &part) &&
                                            json_object_object_get_ex(object, "detail", &part)));
    json_object_put(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    char *body = strchr(text, '\n'), *path = strchr(text, ' ');
    if (!body || !path || path > body) {
        return 0;
    }
    *body++ = *path++ = '\0';
    served_delete(served->about, false); /* what the input before did */
    g_autofree char *whole = fill_in(path);
    struct json_tokener *tokener = json_tokener_new_ex(16);
    struct json_object *params = json_tokener_parse_ex(tokener, body, (int)strlen(body));
    json_tokener_free(tokener);
    const struct server_request request = {.method = text, .path = whole, .params = params};
    struct server_answer answer = {
        .status = 200, .body = g_string_new(NULL), .type = "application/json"};
    if (*whole == '#') {
        ask_table(params, &answer);
    } else if (*whole == '@') {
        server_view(served, &request, whole + 1, &answer);
    } else {
        server_tsp(served, &request, whole, &answer);
    }
    check(&answer);
    g_string_free(answer.body, TRUE);
    json_object_put(params);
    return 0;
}
