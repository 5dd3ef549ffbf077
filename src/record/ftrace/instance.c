/* SPDX-License-Identifier: MIT */
/* Instances of tracefs that belong to recorders. An instance is machine-wide and outlives who made
 * it, so each is locked by its owner: flock() on its directory ends with the process. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/ftrace/ftrace.h"

#define PREFIX "lull-"

bool lull_ftrace_is_mounted(void)
{
    /* To look is what mounts it where it is mounted when somebody looks. */
    static const char *const positions[] = {"/sys/kernel/tracing/events",
                                            "/sys/kernel/debug/tracing/events"};
    g_autofree char *mounts = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++) {
        (void)!access(positions[i], F_OK);
    }
    return g_file_get_contents("/proc/mounts", &mounts, NULL, NULL) && strstr(mounts, " tracefs ");
}

static int open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Who makes or removes instances holds this lock meanwhile: else an instance could be taken for
 * left before its owner has locked it. */
static int lock_all(int how)
{
    char *path = tracefs_get_tracing_file("instances");
    const int fd = path ? open_directory(path) : -1;
    tracefs_put_tracing_file(path);
    while (fd >= 0 && flock(fd, how) != 0 && errno == EINTR) {
    }
    return fd;
}

static void unlock(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* Makes and locks it. */
static bool make(struct lull_ftrace_instance *instance)
{
    instance->tracefs = tracefs_instance_create(instance->name);
    if (!instance->tracefs) {
        return false;
    }
    if (!tracefs_instance_is_new(instance->tracefs)) {
        g_clear_pointer(&instance->tracefs, tracefs_instance_free);
        errno = EEXIST;
        return false;
    }
    char *path = tracefs_instance_get_dir(instance->tracefs);
    instance->lock = path ? open_directory(path) : -1;
    tracefs_put_tracing_file(path);
    return instance->lock >= 0 && flock(instance->lock, LOCK_EX | LOCK_NB) == 0;
}

struct lull_ftrace_instance *lull_ftrace_instance_new(GError **error)
{
    struct lull_ftrace_instance *instance = g_new0(struct lull_ftrace_instance, 1);
    /* In another pid namespace somebody may have the same pid. */
    instance->name = g_strdup_printf(PREFIX "%d-%08x", (int)getpid(), g_random_int());
    instance->lock = -1;
    const int all = lock_all(LOCK_SH);
    const bool is_made = make(instance);
    const int why = errno;
    unlock(all);
    if (!is_made) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "the instance “%s” of tracefs cannot be made: %s", instance->name,
                    g_strerror(why));
        g_clear_pointer(&instance, lull_ftrace_instance_free);
    } else if (!lull_ftrace_instance_write(instance, "tracing_on", "0", error)) {
        g_clear_pointer(&instance, lull_ftrace_instance_free);
    }
    return instance;
}

void lull_ftrace_instance_free(struct lull_ftrace_instance *instance)
{
    if (!instance) {
        return;
    }
    if (instance->tracefs) {
        tracefs_instance_destroy(instance->tracefs);
        tracefs_instance_free(instance->tracefs);
    }
    if (instance->lock >= 0) {
        close(instance->lock);
    }
    g_free(instance->name);
    g_free(instance);
}

bool lull_ftrace_instance_write(const struct lull_ftrace_instance *instance, const char *file,
                                const char *text, GError **error)
{
    errno = 0;
    if (tracefs_instance_file_write(instance->tracefs, file, text) >= 0) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s” to %s of tracefs: %s", text,
                file, g_strerror(errno));
    return false;
}

/* ---- what killed recorders left ---- */

/* Whether the name is one that lull_ftrace_instance_new() gives. */
static bool is_ours(const char *name)
{
    unsigned pid, number;
    int length = 0;
    return sscanf(name, PREFIX "%u-%8x%n", &pid, &number, &length) == 2 && length > 0 &&
           name[length] == '\0';
}

/* Removes the instance if nobody owns it. */
static bool remove_left(const char *name)
{
    g_autofree char *file = g_strconcat("instances/", name, NULL);
    char *path = tracefs_get_tracing_file(file);
    const int fd = path ? open_directory(path) : -1;
    const bool is_removed = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && rmdir(path) == 0;
    unlock(fd);
    tracefs_put_tracing_file(path);
    return is_removed;
}

uint32_t lull_ftrace_clean_up(void)
{
    if (!lull_ftrace_is_mounted()) {
        return 0;
    }
    const int all = lock_all(LOCK_EX);
    char *path = tracefs_get_tracing_file("instances");
    g_autoptr(GDir) dir = path ? g_dir_open(path, 0, NULL) : NULL;
    const char *name;
    uint32_t n = 0;
    while (dir && (name = g_dir_read_name(dir))) {
        n += is_ours(name) && remove_left(name);
    }
    tracefs_put_tracing_file(path);
    unlock(all);
    return n;
}

/* The kernel closes the files of a killed process one after the other, and as long as one of the
 * instance is open it is busy. */
void lull_ftrace_remove(const char *name)
{
    for (unsigned i = 0; i < 500 && is_ours(name) && tracefs_instance_exists(name); i++) {
        if (!remove_left(name)) {
            g_usleep(10 * 1000);
        }
    }
}
