/* SPDX-License-Identifier: MIT */
/* Loaded by the Apache HTTP server: reports each request that took longer than LullSlower to `lull daemon`, in one
 * datagram, without waiting. What cannot be delivered is counted, and mod_status shows the counts.
 *
 *   LoadModule lull_module /usr/lib/x86_64-linux-gnu/lull/mod_lull.so
 *   LullSlower 500ms          (server, virtual host, directory, location; off: none)
 *   LullSocket /run/lull/hook (server) */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* First: the others need it. */
#include <httpd.h>

#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>

#define USUAL_SOCKET "/run/lull/hook"
#define MOST_LINE 1024
#define MOST_ID 63
#define MOST_END 128 /* a word with an address and a port */
#define OFF (-1)
#define NOT_SET (-2)

module AP_MODULE_DECLARE_DATA lull_module;

struct settings {
    apr_interval_time_t slower; /* OFF, or NOT_SET */
};

/* Of all processes of the server. */
struct counts {
    uint64_t reported, undelivered;
};

static struct {
    struct sockaddr_un address;
    int socket; /* of this process; -1: it cannot be opened */
    struct counts *counts;
} shared = {.socket = -1};

/* ---- settings ---- */

static void *make_settings(apr_pool_t *pool, char *where)
{
    struct settings *settings = apr_pcalloc(pool, sizeof *settings);
    settings->slower = NOT_SET;
    return settings;
}

static void *merge_settings(apr_pool_t *pool, void *outer, void *inner)
{
    return ((struct settings *)inner)->slower == NOT_SET ? outer : inner;
}

/* "500ms", "2s", "250us". */
static const char *set_slower(cmd_parms *command, void *directory, const char *text)
{
    static const struct {
        const char *name;
        apr_interval_time_t us;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
    struct settings *settings = directory;
    char *end;
    if (strcasecmp(text, "off") == 0) {
        settings->slower = OFF;
        return NULL;
    }
    errno = 0;
    const apr_int64_t number = apr_strtoi64(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (end != text && number > 0 && errno == 0 && strcmp(end, units[i].name) == 0 &&
            number <= INT64_MAX / units[i].us) {
            settings->slower = number * units[i].us;
            return NULL;
        }
    }
    return "LullSlower takes a time with its unit, such as 500ms or 2s, or off";
}

static const char *set_socket(cmd_parms *command, void *directory, const char *path)
{
    const char *wrong = ap_check_cmd_context(command, GLOBAL_ONLY);
    if (wrong) {
        return wrong;
    }
    if (*path != '/' || strlen(path) >= sizeof shared.address.sun_path) {
        return "LullSocket takes a path that starts with /, of at most 107 bytes";
    }
    apr_cpystrn(shared.address.sun_path, path, sizeof shared.address.sun_path);
    return NULL;
}

static const command_rec commands[] = {
    AP_INIT_TAKE1("LullSlower", set_slower, NULL, RSRC_CONF | ACCESS_CONF,
                  "requests that take longer are reported to lull daemon; off: none"),
    AP_INIT_TAKE1("LullSocket", set_socket, NULL, RSRC_CONF,
                  "the socket at which lull daemon listens (" USUAL_SOCKET ")"),
    {NULL}};

/* ---- processes ---- */

static int before_configuration(apr_pool_t *pool, apr_pool_t *log, apr_pool_t *temporary)
{
    shared.address.sun_family = AF_UNIX;
    apr_cpystrn(shared.address.sun_path, USUAL_SOCKET, sizeof shared.address.sun_path);
    return OK;
}

static apr_status_t forget_counts(void *counts)
{
    munmap(counts, sizeof(struct counts));
    return APR_SUCCESS;
}

/* Before the server forks: one memory for all of its processes. */
static int after_configuration(apr_pool_t *pool, apr_pool_t *log, apr_pool_t *temporary,
                               server_rec *server)
{
    void *counts = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared.counts = counts == MAP_FAILED ? NULL : counts;
    if (shared.counts) {
        apr_pool_cleanup_register(pool, counts, forget_counts, apr_pool_cleanup_null);
    }
    return OK;
}

/* It is connected to nothing: a daemon that starts later is found, too. */
static void start_process(apr_pool_t *pool, server_rec *server)
{
    shared.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (shared.socket < 0) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, server,
                     "mod_lull: no slow request is reported: no socket can be opened");
    }
}

/* ---- requests ---- */

/* The thread that serves a request is not always the one that logs it. */
static int note_thread(request_rec *request)
{
    ap_set_module_config(request->request_config, &lull_module, (void *)(intptr_t)gettid());
    return DECLINED;
}

static void count(uint64_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

/* The path without its query, as far as it is visible ASCII. */
static void write_id(char id[static MOST_ID + 1], const char *path)
{
    size_t n = 0;
    for (; path && path[n] && n < MOST_ID; n++) {
        id[n] = path[n] > ' ' && path[n] < 127 ? path[n] : '?';
    }
    id[n] = '\0';
}

/* " peer=[fd00::1]:45334", or nothing if that is not known. */
static void write_end(char text[static MOST_END], const char *word, apr_sockaddr_t *end)
{
    char address[MOST_END / 2];
    *text = '\0';
    if (end && apr_sockaddr_ip_getbuf(address, sizeof address, end) == APR_SUCCESS) {
        const bool is_v6 = strchr(address, ':') != NULL;
        apr_snprintf(text, MOST_END, " %s=%s%s%s:%u", word, is_v6 ? "[" : "", address,
                     is_v6 ? "]" : "", (unsigned)end->port);
    }
}

static void report(const request_rec *request, const request_rec *last, apr_time_t end,
                   apr_interval_time_t took)
{
    char line[MOST_LINE], id[MOST_ID + 1], peer[MOST_END], local[MOST_END];
    const intptr_t tid = (intptr_t)ap_get_module_config(last->request_config, &lull_module);
    write_id(id, request->uri);
    write_end(peer, "peer", request->connection->client_addr);
    write_end(local, "local", request->connection->local_addr);
    const int n = apr_snprintf(
        line, sizeof line,
        "lull1 t=%" APR_TIME_T_FMT " d=%" APR_TIME_T_FMT " pid=%d tid=%d st=%d%s%s id=%s", end,
        took, (int)getpid(), (int)(tid > 0 ? tid : gettid()), last->status, peer, local, id);
    const bool is_sent =
        shared.socket >= 0 &&
        sendto(shared.socket, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL,
               (const struct sockaddr *)&shared.address, sizeof shared.address) == n;
    if (shared.counts) {
        count(is_sent ? &shared.counts->reported : &shared.counts->undelivered);
    }
}

/* Of a request that was redirected within the server, the last part says where it ended up. */
static int log_request(request_rec *request)
{
    const request_rec *last = request;
    while (last->next) {
        last = last->next;
    }
    const struct settings *settings = ap_get_module_config(last->per_dir_config, &lull_module);
    const apr_time_t end = apr_time_now();
    if (settings->slower >= 0 && end - request->request_time > settings->slower) {
        report(request, last, end, end - request->request_time);
    }
    return DECLINED;
}

static int show_status(request_rec *request, int flags)
{
    if (!shared.counts) {
        return DECLINED;
    }
    const apr_uint64_t reported = __atomic_load_n(&shared.counts->reported, __ATOMIC_RELAXED);
    const apr_uint64_t undelivered = __atomic_load_n(&shared.counts->undelivered, __ATOMIC_RELAXED);
    if (flags & AP_STATUS_SHORT) {
        ap_rprintf(request,
                   "LullReported: %" APR_UINT64_T_FMT "\nLullUndelivered: %" APR_UINT64_T_FMT "\n",
                   reported, undelivered);
    } else {
        ap_rprintf(request,
                   "<hr />\n<h2>Lull</h2>\n<p>Slow requests: %" APR_UINT64_T_FMT
                   " reported, %" APR_UINT64_T_FMT " that could not be delivered.</p>\n",
                   reported, undelivered);
    }
    return OK;
}

static void register_hooks(apr_pool_t *pool)
{
    ap_hook_pre_config(before_configuration, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(after_configuration, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(start_process, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(note_thread, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_log_transaction(log_request, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, show_status, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(lull) = {
    STANDARD20_MODULE_STUFF, make_settings,      merge_settings, NULL, NULL, commands,
    register_hooks,          AP_MODULE_FLAG_NONE};
