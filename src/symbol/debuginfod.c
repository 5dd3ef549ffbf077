/* SPDX-License-Identifier: MIT */
/* Asks debuginfod servers through elfutils' client, which keeps what it got, and what there is not, in the user's cache.
 * The client may wait 90 s for each file; here all files together have a limit. */
#include "symbol/debuginfod.h"

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/late.h"
#include "base/tree.h"
#include "symbol/build_id.h"

#define FUNCTIONS(X)                                                                               \
    X(debuginfod_begin)                                                                            \
    X(debuginfod_end)                                                                              \
    X(debuginfod_find_debuginfo)                                                                   \
    X(debuginfod_find_executable)                                                                  \
    X(debuginfod_get_user_data)                                                                    \
    X(debuginfod_set_progressfn)                                                                   \
    X(debuginfod_set_user_data)
static LULL_LATE_STRUCT(functions, FUNCTIONS) libdebuginfod;
static struct lull_late late = LULL_LATE(LULL_SONAME_DEBUGINFOD, libdebuginfod, FUNCTIONS);

struct lull_debuginfod {
    debuginfod_client *client;
    GHashTable *missing; /* "KIND BUILD-ID" of what no server has */
    int64_t left_us;     /* to ask */
    int64_t until_us;    /* while one is asked */
    const char *why;
};

/* Where the client keeps what it gets: libdebuginfod.debuginfod_find_debuginfo(3), "FILES". Free with g_free(). */
static char *cache_directory(void)
{
    const char *home = g_getenv("HOME"), *caches = g_getenv("XDG_CACHE_HOME");
    const char *given = g_getenv(DEBUGINFOD_CACHE_PATH_ENV_VAR);
    g_autofree char *older = g_build_filename(home ? home : "/", ".debuginfod_client_cache", NULL);
    return given && *given                          ? g_strdup(given)
           : g_file_test(older, G_FILE_TEST_EXISTS) ? g_steal_pointer(&older)
           : caches && *caches
               ? g_build_filename(caches, "debuginfod_client", NULL)
               : g_build_filename(home ? home : "/", ".cache", "debuginfod_client", NULL);
}

/* Whether nobody else can have the client write elsewhere than there: the directory, or that in which it will be made,
 * and all above. */
static bool is_own(const char *directory)
{
    g_autofree char *there = g_strdup(directory);
    struct stat st;
    while (*there == '/' && lstat(there, &st) != 0) {
        char *above = g_path_get_dirname(there);
        g_free(there);
        there = above;
    }
    return lull_tree_path_is_beyond_others(there) &&
           (g_str_equal(there, directory) || (st.st_mode & 022) == 0);
}

/* What root writes where a user chooses to could be written over any file. */
static bool check_cache(GError **error)
{
    g_autofree char *directory = cache_directory();
    if (geteuid() != 0 || is_own(directory)) {
        return true;
    }
    g_set_error(
        error, LULL_ERROR, LULL_ERROR_QUESTION,
        "--debuginfod: as root nothing is kept in “%s”, which is another user's, or which "
        "another user could replace: leave root's rights out, or set " DEBUGINFOD_CACHE_PATH_ENV_VAR
        " to a directory of root's",
        directory);
    return false;
}

bool lull_debuginfod_check(GError **error)
{
    const char *urls = g_getenv(DEBUGINFOD_URLS_ENV_VAR);
    if (!urls || urls[strspn(urls, " ")] == '\0') {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "--debuginfod: the environment names no server; as in "
                            "DEBUGINFOD_URLS=https://debuginfod.debian.net lull ...");
        return false;
    }
    if (!lull_late_load(&late, error)) {
        g_prefix_error(error, "--debuginfod: ");
        return false;
    }
    return check_cache(error);
}

/* The client calls it about once a second, and gives up if it says so. */
static int on_progress(debuginfod_client *client, long done, long size)
{
    struct lull_debuginfod *servers = libdebuginfod.debuginfod_get_user_data(client);
    const bool is_large = done > LULL_DEBUGINFOD_MOST_BYTES || size > LULL_DEBUGINFOD_MOST_BYTES;
    if (is_large) {
        servers->why = "what the debuginfod servers have of it is too large";
    }
    return is_large || g_get_monotonic_time() > servers->until_us;
}

struct lull_debuginfod *lull_debuginfod_new(void)
{
    struct lull_debuginfod *servers = g_new0(struct lull_debuginfod, 1);
    servers->missing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *limit = g_getenv(DEBUGINFOD_MAXTIME_ENV_VAR);
    const uint64_t most_s = limit ? g_ascii_strtoull(limit, NULL, 10) : 0;
    servers->left_us =
        (int64_t)(most_s > 0 ? MIN(most_s, LULL_DEBUGINFOD_SECONDS) : LULL_DEBUGINFOD_SECONDS) *
        G_USEC_PER_SEC;
    servers->client = lull_late_load(&late, NULL) ? libdebuginfod.debuginfod_begin() : NULL;
    if (servers->client) {
        libdebuginfod.debuginfod_set_user_data(servers->client, servers);
        libdebuginfod.debuginfod_set_progressfn(servers->client, on_progress);
    }
    return servers;
}

void lull_debuginfod_free(struct lull_debuginfod *servers)
{
    if (servers) {
        if (servers->client) {
            libdebuginfod.debuginfod_end(servers->client);
        }
        g_hash_table_unref(servers->missing);
        g_free(servers);
    }
}

const char *lull_debuginfod_why(const struct lull_debuginfod *servers)
{
    return servers->why;
}

/* Whether it was found; else ->why. */
static bool ask(struct lull_debuginfod *servers, const char *build_id,
                enum lull_debuginfod_kind kind, char **path)
{
    const unsigned char *id = (const unsigned char *)build_id;
    const int64_t start_us = g_get_monotonic_time();
    servers->until_us = start_us + servers->left_us;
    servers->why = NULL;
    const int fd = kind == LULL_DEBUGINFOD_DEBUG
                       ? libdebuginfod.debuginfod_find_debuginfo(servers->client, id, 0, path)
                       : libdebuginfod.debuginfod_find_executable(servers->client, id, 0, path);
    const int64_t end_us = g_get_monotonic_time();
    const bool is_late = end_us > servers->until_us;
    servers->left_us -= MIN(end_us - start_us, servers->left_us);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    if (!servers->why) {
        servers->why = is_late         ? "the debuginfod servers took too long together"
                       : fd == -ENOENT ? "no debuginfod server has a file of this build"
                                       : "the debuginfod servers could not be reached, or failed";
    }
    return false;
}

char *lull_debuginfod_find(struct lull_debuginfod *servers, const char *build_id,
                           enum lull_debuginfod_kind kind)
{
    g_autofree char *key = g_strdup_printf("%d %s", kind, build_id);
    const char *known = g_hash_table_lookup(servers->missing, key);
    char *path = NULL;
    const bool is_id = lull_build_id_is(build_id, strlen(build_id));
    if (known || !servers->client || !is_id || servers->left_us <= 0) {
        servers->why = known              ? known
                       : !servers->client ? "the client of debuginfod cannot be started"
                       : !is_id           ? "what the trace calls its build-id is none"
                                          : "the debuginfod servers took too long together";
        return NULL;
    }
    if (!ask(servers, build_id, kind, &path)) {
        g_hash_table_insert(servers->missing, g_steal_pointer(&key), (void *)servers->why);
        return NULL;
    }
    char *found = g_strdup(path);
    free(path);
    return found;
}
