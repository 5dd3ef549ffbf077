/* SPDX-License-Identifier: MIT */
/* Loaded by the Apache HTTP server beside mod_lull (bench/apache.py): notes how long mod_lull's two hooks take in each
 * request, by the clock of the thread's CPU time, in which nothing else that runs on the machine is, and by the clock on
 * the wall. StampFile FILE (server) is what the notes go to. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* First: the others need it. */
#include <httpd.h>

#include <http_config.h>
#include <http_protocol.h>

#define MOST_STAMPS 200000

module AP_MODULE_DECLARE_DATA stamps_module;

/* Of one hook of one request. */
struct took {
    int64_t cpu_ns, wall_ns;
};

static struct {
    uint64_t n;
    struct {
        uint64_t is_reported; /* its path starts with /on */
        struct took handler, log;
    } stamp[MOST_STAMPS];
} *stamps;

static __thread struct took start; /* of the hook that this thread is in */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int before(request_rec *request)
{
    start.wall_ns = clock_ns(CLOCK_MONOTONIC);
    start.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return DECLINED;
}

static struct took since_start(void)
{
    const int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return (struct took){cpu_ns - start.cpu_ns, clock_ns(CLOCK_MONOTONIC) - start.wall_ns};
}

static int after_handler(request_rec *request)
{
    struct took *handler = apr_palloc(request->pool, sizeof *handler);
    *handler = since_start();
    ap_set_module_config(request->request_config, &stamps_module, handler);
    return DECLINED;
}

static int after_log(request_rec *request)
{
    const struct took log = since_start();
    const struct took *handler = ap_get_module_config(request->request_config, &stamps_module);
    const uint64_t i =
        stamps && handler ? __atomic_fetch_add(&stamps->n, 1, __ATOMIC_RELAXED) : MOST_STAMPS;
    if (i < MOST_STAMPS) {
        stamps->stamp[i].is_reported = strncmp(request->uri, "/on", 3) == 0;
        stamps->stamp[i].handler = *handler;
        stamps->stamp[i].log = log;
    }
    return DECLINED;
}

static const char *set_file(cmd_parms *command, void *directory, const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *stamps)) {
        return "StampFile cannot be written";
    }
    stamps = mmap(NULL, sizeof *stamps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    return stamps == MAP_FAILED ? "StampFile cannot be mapped" : NULL;
}

static const command_rec commands[] = {
    AP_INIT_TAKE1("StampFile", set_file, NULL, RSRC_CONF, "where to note how long hooks took"),
    {NULL}};

static void register_hooks(apr_pool_t *pool)
{
    static const char *const lull[] = {"mod_lull.c", NULL};
    ap_hook_handler(before, NULL, lull, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(after_handler, lull, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_log_transaction(before, NULL, lull, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(after_log, lull, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(stamps) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, commands, register_hooks, AP_MODULE_FLAG_NONE};
