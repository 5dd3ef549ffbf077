/* SPDX-License-Identifier: MIT */
/* The whole way from damaged traces of several machines to the paths of all their tasks, and every
 * view of them: no crash, no hang, and each path covers its time exactly. Variables as in
 * test_mutations.c. */
#include "analysis/requests.h"
#include "graph/execgraph.h"
#include "clock/join.h"
#include "kernel/vocabulary.h"
#include "lib/image.h"
#include "lib/scenario.h"
#include "lib/scratch.h"
#include "robust/mutate.h"
#include "robust/watch.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_CASES 200 /* fuzzers with sanitizers go on from there */
#define CASE_SECONDS 20
#define MAX_HOSTS 4
#define MAX_PATHS 12 /* a damaged trace may name any number of tasks */

struct machines {
    char *host[MAX_HOSTS];
    struct image *image[MAX_HOSTS];
    unsigned count;
};

static gint by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void make_machines(struct machines *m, const char *script)
{
    g_autofree char *dir = scratch_dir();
    GError *error = NULL;
    *m = (struct machines){.count = 0};
    if (!scenario_run_script(script, dir, &error)) {
        g_error("%s", error->message);
    }
    g_autoptr(GDir) hosts = g_dir_open(dir, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *name; (name = g_dir_read_name(hosts));) {
        g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, by_text);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *trace = g_build_filename(dir, names->pdata[i], "kernel", NULL);
        g_assert_cmpuint(m->count, <, MAX_HOSTS);
        m->host[m->count] = names->pdata[i];
        m->image[m->count++] = image_read(trace);
    }
    scratch_remove(dir);
}

static void check_path(const struct lull_path *path)
{
    int64_t at = path->start_ns;
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *s = &path->segments[i];
        g_assert_cmpint(s->start_ns, ==, at);
        g_assert_cmpint(s->end_ns, >, s->start_ns);
        g_assert_cmpuint(s->host, <, path->n_hosts);
        g_assert_cmpint(s->state, !=, LULL_STATE_NONE);
        at = s->end_ns;
    }
    g_assert_cmpint(at, ==, path->end_ns);
}

static void show_path(const struct lull_path *path, FILE *nowhere)
{
    static bool (*const views[])(const struct lull_path *, FILE *, const struct lull_view_style *,
                                 GError **) = {lull_view_path_text, lull_view_path_json,
                                               lull_view_path_folded, lull_view_path_svg,
                                               lull_view_path_perfetto};
    struct lull_view_style style;
    lull_view_style_init(&style, nowhere, "never");
    for (unsigned i = 0; i < G_N_ELEMENTS(views); i++) {
        GError *error = NULL;
        g_assert_true(views[i](path, nowhere, &style, &error));
        g_assert_no_error(error);
    }
}

static unsigned follow(struct lull_session *session, FILE *nowhere)
{
    struct lull_sync *sync = lull_join_clocks(session, NULL, NULL);
    struct lull_model *model = lull_model_new(session, LULL_GROUP_GRAPH | LULL_GROUP_QUEUES);
    struct lull_execgraph *eg = lull_execgraph_new(model, sync);
    struct lull_requests *requests = lull_requests_new(model);
    lull_model_run(model, NULL, NULL);
    lull_requests_finish(requests);
    unsigned paths = 0;
    for (uint32_t task = 0; task < lull_model_task_count(model) && paths < MAX_PATHS; task++) {
        const struct lull_task *t = lull_model_task(model, task);
        if (t->first_ns >= t->last_ns) {
            continue;
        }
        struct lull_path *path =
            lull_execgraph_path(eg, session, sync, task, t->first_ns, t->last_ns,
                                task % 2 ? LULL_PATH_UNBOUNDED : LULL_PATH_BOUNDED);
        check_path(path);
        show_path(path, nowhere);
        lull_path_free(path);
        paths++;
    }
    uint32_t count;
    const struct lull_request *list = lull_requests_list(requests, &count);
    for (uint32_t i = 0; i < count; i++) {
        g_assert_cmpuint(list[i].id, ==, i + 1);
        g_assert_cmpint(list[i].start_ns, <=, list[i].end_ns);
    }
    lull_requests_free(requests);
    lull_execgraph_free(eg);
    lull_model_free(model);
    lull_sync_free(sync);
    return paths;
}

static unsigned follow_directory(const char *dir, FILE *nowhere)
{
    struct lull_session *session = lull_session_new();
    GError *error = NULL;
    unsigned paths = 0;
    if (lull_session_add(session, dir, &error)) {
        paths = follow(session, nowhere);
    } else {
        g_assert_nonnull(error);
    }
    g_clear_error(&error);
    lull_session_free(session);
    return paths;
}

static uint64_t number_from(const char *variable, uint64_t fallback)
{
    const char *text = g_getenv(variable);
    return text ? g_ascii_strtoull(text, NULL, 0) : fallback;
}

static void write_machines(const struct machines *m, const struct image *damaged, unsigned which,
                           const char *dir)
{
    for (unsigned i = 0; i < m->count; i++) {
        g_autofree char *to = g_build_filename(dir, m->host[i], "kernel", NULL);
        image_write(i == which ? damaged : m->image[i], to);
    }
}

static void run_case(const struct machines *m, uint64_t seed, unsigned number, const char *script,
                     unsigned *paths)
{
    struct random random = {seed + number * UINT64_C(0x9E3779B97F4A7C15)};
    unsigned which = (unsigned)random_below(&random, m->count);
    struct image *image = image_copy(m->image[which]);
    struct mutation mutation = mutate(&random, image, m->image[(which + 1) % m->count]);
    g_autofree char *name =
        g_strdup_printf("# seed %" G_GUINT64_FORMAT " case %u of %s on %s: %s\n", seed, number,
                        script, m->host[which], mutation.what);
    const char *keep = g_getenv("LULL_MUTATION_KEEP");
    g_autofree char *dir = keep ? g_strdup(keep) : scratch_dir();
    FILE *nowhere = fopen("/dev/null", "w");
    write_machines(m, image, which, dir);
    watch_start(name, CASE_SECONDS);
    *paths += follow_directory(dir, nowhere);
    watch_end();
    fclose(nowhere);
    if (!keep) {
        scratch_remove(dir);
    }
    image_free(image);
}

static void test_script(gconstpointer data)
{
    const char *script = data;
    g_autofree char *base = g_path_get_basename(script);
    struct machines m;
    make_machines(&m, script);
    uint64_t seed = number_from("LULL_MUTATION_SEED", 20261121);
    unsigned cases = (unsigned)number_from("LULL_MUTATIONS", DEFAULT_CASES), paths = 0;
    g_test_message("seed %" G_GUINT64_FORMAT ", %u cases", seed, cases);
    if (g_getenv("LULL_MUTATION_CASE")) {
        run_case(&m, seed, (unsigned)number_from("LULL_MUTATION_CASE", 0), base, &paths);
    } else {
        for (unsigned i = 0; i < cases; i++) {
            run_case(&m, seed, i, base, &paths);
        }
        g_test_message("%u paths", paths);
        g_assert_cmpuint(paths, >, cases); /* else the damage leaves nothing to follow */
    }
    for (unsigned i = 0; i < m.count; i++) {
        g_free(m.host[i]);
        image_free(m.image[i]);
    }
}

int main(int argc, char **argv)
{
    static const char *const scripts[] = {"chain-three-hosts", "chain-big-endian", "local-waits",
                                          "loopback", "udp-question"};
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(scripts); i++) {
        g_autofree char *file = g_strconcat(scripts[i], ".scn", NULL);
        char *path = g_test_build_filename(G_TEST_DIST, "e2e", "scenarios", file, NULL);
        g_autofree char *name = g_strconcat("/robust/pipeline/", scripts[i], NULL);
        g_test_add_data_func_full(name, path, test_script, g_free);
    }
    return g_test_run();
}
