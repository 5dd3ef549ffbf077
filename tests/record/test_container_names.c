/* SPDX-License-Identifier: MIT */
/* The names of containers, from files as docker, podman and containerd write them, and from files
 * that are none of theirs. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "record/state/containers.h"
#include "record/state/state.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define D "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
#define E "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"

#define DOCKER "/var/lib/docker/containers/"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define PODMAN "/var/lib/containers/storage/overlay-containers"

static void put(const char *root, const char *dir, const char *name, const char *text)
{
    g_autofree char *whole = g_build_filename(root, dir, NULL);
    g_autofree char *path = g_build_filename(whole, name, NULL);
    g_assert_cmpint(g_mkdir_with_parents(whole, 0755), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* The events as they were written: id, NUL, name, NUL. */
static GString *names_below(const char *root)
{
    g_autofree char *dir = g_dir_make_tmp("lull-names-XXXXXX", NULL);
    g_autofree char *metadata = g_build_filename(dir, "metadata", NULL);
    g_autofree char *state = g_build_filename(dir, "state", NULL);
    const struct lull_state_files files = {dir, g_open(metadata, O_CREAT | O_WRONLY, 0600),
                                           g_open(state, O_CREAT | O_WRONLY, 0600)};
    struct lull_state_trace *trace = lull_state_trace_new(&files, 0, NULL);
    g_assert_nonnull(trace);
    lull_state_dump_containers(trace, root);
    g_assert_true(lull_state_trace_close(trace, NULL));
    char *data;
    gsize size;
    g_assert_true(g_file_get_contents(state, &data, &size, NULL));
    GString *written = g_string_new_len(data, (gssize)size);
    g_free(data);
    g_unlink(metadata);
    g_unlink(state);
    g_rmdir(dir);
    return written;
}

static bool has(const GString *written, const char *id, const char *name)
{
    g_autoptr(GString) wanted = g_string_new(id);
    g_string_append_c(wanted, '\0');
    g_string_append(wanted, name);
    g_string_append_c(wanted, '\0');
    return memmem(written->str, written->len, wanted->str, wanted->len) != NULL;
}

static void test_names(void)
{
    g_autofree char *root = g_dir_make_tmp("lull-root-XXXXXX", NULL);
    put(root, DOCKER A, "config.v2.json", "{\"ID\":\"" A "\",\"Name\":\"/web\",\"State\":{}}");
    put(root, TASKS B, "config.json",
        "{\"annotations\":{\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
        "\"io.kubernetes.cri.sandbox-name\":\"cart-0\","
        "\"io.kubernetes.cri.container-name\":\"app\"}}");
    put(root, TASKS C, "config.json",
        "{\"annotations\":{\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
        "\"io.kubernetes.cri.sandbox-name\":\"cart-0\"}}");
    put(root, PODMAN, "containers.json",
        "[{\"id\":\"" D "\",\"names\":[\"db\",\"other\"]},{\"id\":\"" E "\"},7]");
    g_autoptr(GString) written = names_below(root);
    g_string_free(g_steal_pointer(&written), TRUE);
    written = names_below(root);
    g_assert_true(has(written, A, "web"));
    g_assert_true(has(written, B, "shop/cart-0/app"));
    g_assert_true(has(written, C, "shop/cart-0/(pause)"));
    g_assert_true(has(written, D, "db"));
    g_assert_null(memmem(written->str, written->len, E, 64));
    g_autofree char *command = g_strdup_printf("rm -r '%s'", root);
    g_assert_cmpint(system(command), ==, 0);
}

/* Each leaves nothing, and harms nothing. */
static void test_damaged(void)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "7",
        "null",
        "{\"Name\":7}",
        "{\"Name\":\"\"}",
        "{\"annotations\":[]}",
        "{\"annotations\":{\"io.kubernetes.cri.sandbox-namespace\":{}}}",
        "[[],{\"id\":\"short\",\"names\":[\"x\"]},{\"id\":\"" A "\",\"names\":[7]},"
        "{\"id\":\"" A "\",\"names\":[]},{\"id\":\"" A "\",\"names\":\"x\"}]",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *root = g_dir_make_tmp("lull-root-XXXXXX", NULL);
        put(root, DOCKER A, "config.v2.json", texts[i]);
        put(root, DOCKER "short", "config.v2.json", "{\"Name\":\"/web\"}");
        put(root, TASKS B, "config.json", texts[i]);
        put(root, PODMAN, "containers.json", texts[i]);
        g_autoptr(GString) written = names_below(root);
        g_assert_cmpuint(written->len, ==, 0);
        g_autofree char *command = g_strdup_printf("rm -r '%s'", root);
        g_assert_cmpint(system(command), ==, 0);
    }
    g_autoptr(GString) written = names_below("/nonexistent");
    g_assert_cmpuint(written->len, ==, 0);
}

/* /proc/PID/cgroup, and the path that counts. */
static const struct {
    const char *text, *path;
} groups[] = {
    {"0::/user.slice/user-1000.slice/session-3.scope\n",
     "/user.slice/user-1000.slice/session-3.scope"},
    {"0::/\n", "/"},
    /* version 1 alone, and both in use */
    {"4:memory:/docker/" A "\n3:cpuset:/\n2:cpu,cpuacct:/docker/" A "\n1:name=systemd:/docker/" A
     "\n",
     "/docker/" A},
    {"12:cpu:/lxc/web\n1:name=systemd:/lxc/web\n0::/\n", "/lxc/web"},
    {"2:cpu:/\n1:name=systemd:/user.slice\n0::/user.slice/user-0.slice\n",
     "/user.slice/user-0.slice"},
    {"4:memory:/jobs/long/one\n1:cpu:/\n0::/\n", "/jobs/long/one"},
    /* docker as a snap; the id in version 2 is as good */
    {"10:pids:/docker/" B "\n9:memory:/docker/" B "\n1:name=systemd:/docker/" B
     "\n0::/system.slice/snap.docker.dockerd.service\n",
     "/docker/" B},
    {"9:memory:/x/" C "/much/longer/than/that/other/one\n0::/system.slice/docker-" C ".scope\n",
     "/system.slice/docker-" C ".scope"},
    {"0::/a:b\n", "/a:b"},
    /* broken */
    {"", NULL},
    {"0::/cut", NULL},
    {"\n\n", NULL},
    {"0:\n::\n", ""},
};

static void test_groups(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        g_autofree char *text = g_strdup(groups[i].text);
        g_assert_cmpstr(lull_state_group(text), ==, groups[i].path);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/container-names/files", test_names);
    g_test_add_func("/container-names/damaged", test_damaged);
    g_test_add_func("/container-names/groups", test_groups);
    return g_test_run();
}
