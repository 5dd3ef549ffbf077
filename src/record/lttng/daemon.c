/* SPDX-License-Identifier: MIT */
/* What has to be there to record with LTTng: its kernel modules, and its session daemon, which is
 * started for the time of a recording if none runs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/lttng/lttng.h"

#define PROGRAM "lttng-sessiond"
/* How long the daemon may take to load its modules, and to unload them. */
#define BEGIN_SECONDS 60
#define END_SECONDS 30
#define STEP_US (20 * 1000)

bool lull_lttng_fail(const char *what, int code, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "LTTng: %s: %s", what,
                lttng_ctl.lttng_strerror(code));
    return false;
}

/* ---- the session daemon ---- */

struct lull_lttng_functions lttng_ctl;
static struct lull_late late = LULL_LATE(LULL_SONAME_LTTNG_CTL, lttng_ctl, LULL_LTTNG_FUNCTIONS);

bool lull_lttng_load(GError **error)
{
    return lull_late_load(&late, error);
}

bool lull_lttng_is_alive(void)
{
    return lull_lttng_load(NULL) && lttng_ctl.lttng_session_daemon_alive() == 1;
}

/* In the child, before it becomes the daemon: a session of its own, so that Ctrl-C does not reach
 * it, and its end with ours, even if we are killed. */
static void prepare(gpointer parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != GPOINTER_TO_INT(parent)) {
        _exit(1);
    }
}

static bool has_ended(GPid pid)
{
    return waitpid(pid, NULL, WNOHANG) == pid;
}

/* A daemon that ends at once may do so because another one, of somebody else, was faster. */
static bool wait_for(struct lull_lttng_daemon *daemon, GError **error)
{
    for (unsigned i = 0; i < BEGIN_SECONDS * (G_USEC_PER_SEC / STEP_US); i++) {
        if (has_ended(daemon->pid)) {
            daemon->pid = 0;
        }
        if (lull_lttng_is_alive()) {
            return true;
        }
        if (daemon->pid == 0) {
            g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO,
                                "LTTng: its session daemon ends as soon as it starts; run “" PROGRAM
                                "” on a terminal to see "
                                "why");
            return false;
        }
        g_usleep(STEP_US);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "LTTng: its session daemon, started by lull, does not answer within %d s",
                BEGIN_SECONDS);
    return false;
}

bool lull_lttng_daemon_start(struct lull_lttng_daemon *daemon, GError **error)
{
    daemon->pid = 0;
    if (!lull_lttng_load(error)) {
        return false;
    }
    if (lull_lttng_is_alive()) {
        return true;
    }
    char *argv[] = {(char *)PROGRAM, NULL};
    GError *why = NULL;
    if (!g_spawn_async("/", argv, NULL,
                       G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD |
                           G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                       prepare, GINT_TO_POINTER(getpid()), &daemon->pid, &why)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "LTTng: its session daemon cannot be started: %s", why->message);
        g_error_free(why);
        return false;
    }
    if (!wait_for(daemon, error)) {
        lull_lttng_daemon_end(daemon);
        return false;
    }
    return true;
}

void lull_lttng_daemon_end(struct lull_lttng_daemon *daemon)
{
    if (daemon->pid == 0) {
        return;
    }
    kill(daemon->pid, SIGTERM);
    bool ended = false;
    for (unsigned i = 0; !ended && i < END_SECONDS * (G_USEC_PER_SEC / STEP_US); i++) {
        ended = has_ended(daemon->pid);
        if (!ended) {
            g_usleep(STEP_US);
        }
    }
    if (!ended) {
        kill(daemon->pid, SIGKILL);
        waitpid(daemon->pid, NULL, 0);
    }
    g_spawn_close_pid(daemon->pid);
    daemon->pid = 0;
}

GHashTable *lull_lttng_tracepoints(GError **error)
{
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_KERNEL, .buf_type = LTTNG_BUFFER_GLOBAL};
    struct lttng_handle *handle = lttng_ctl.lttng_create_handle(NULL, &domain);
    struct lttng_event *events = NULL;
    const int n = handle ? lttng_ctl.lttng_list_tracepoints(handle, &events) : -LTTNG_ERR_NOMEM;
    GHashTable *names = NULL;
    if (n < 0) {
        lull_lttng_fail("its kernel events cannot be listed", n, error);
    } else {
        names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    }
    for (int i = 0; i < n; i++) {
        g_hash_table_add(names, g_strndup(events[i].name, sizeof events[i].name));
    }
    free(events);
    lttng_ctl.lttng_destroy_handle(handle);
    return names;
}

/* ---- what is missing ---- */

/* Modules that are installed but not loaded are loaded by the daemon. */
static char *no_modules(void)
{
    struct utsname name;
    if (g_file_test("/proc/lttng", G_FILE_TEST_EXISTS) || uname(&name) != 0) {
        return NULL;
    }
    g_autofree char *path = g_build_filename("/lib/modules", name.release, "modules.dep", NULL);
    g_autofree char *modules = NULL;
    if (g_file_get_contents(path, &modules, NULL, NULL) && strstr(modules, "/lttng-tracer.ko")) {
        return NULL;
    }
    return g_strdup_printf("its kernel modules are not installed for this kernel, %s "
                           "(Debian: apt-get install lttng-modules-dkms)",
                           name.release);
}

/* Of a daemon that runs: whether it has the kernel's events. */
static char *no_events(const struct lull_tracer_request *request)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) known = lull_lttng_tracepoints(&error);
    if (!known) {
        char *missing = no_modules();
        return missing
                   ? missing
                   : g_strdup_printf("the session daemon that runs cannot trace the kernel (%s)",
                                     error->message);
    }
    for (uint32_t i = 0; i < lull_purpose_n_events; i++) {
        const struct lull_purpose_event *event = &lull_purpose_events[i];
        if (event->is_needed && event->lttng && (event->purposes & (1u << request->purpose)) &&
            !g_hash_table_contains(known, event->lttng)) {
            return g_strdup_printf("its kernel modules have no event %s", event->lttng);
        }
    }
    return NULL;
}

/* Whether we may start one. */
static char *no_daemon(void)
{
    if (geteuid() != 0) {
        return g_strdup("root's session daemon cannot be reached; run it with sudo, or have root "
                        "start " PROGRAM " and add you to the group tracing");
    }
    g_autofree char *program = g_find_program_in_path(PROGRAM);
    return program ? NULL
                   : g_strdup(PROGRAM " is not installed (Debian: apt-get install lttng-tools)");
}

char *lull_lttng_missing(const struct lull_tracer_request *request)
{
    /* Its trackers compare the process id of each event with a set, and nobody puts a child into
     * the set when it is forked (lttng-modules 2.13, lttng-tracker-id.c): from outside that could
     * only be done too late. */
    if (request->is_filtered) {
        return g_strdup("it cannot follow what a task starts; record the whole machine");
    }
    g_autoptr(GError) error = NULL;
    if (!lull_lttng_load(&error)) {
        return g_strdup(error->message);
    }
    if (!lull_lttng_is_alive()) {
        char *missing = no_modules();
        return missing ? missing : no_daemon();
    }
    return no_events(request);
}
