/* SPDX-License-Identifier: MIT */
/* Fuzz target: a perf.data. What is read of it are the events that are counted, in order of time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lull/session.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libtraceevent's parser forgets some words of a format that it refuses; that is not ours. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

static uint64_t read_all(struct lull_session *session)
{
    static const char *const all[] = {"*", NULL};
    const struct lull_event *event;
    int64_t last = INT64_MIN;
    uint64_t n = 0;
    lull_session_subscribe(session, all, NULL, 0, 0);
    while ((event = lull_session_read(session))) {
        g_assert_cmpint(event->time_ns, >=, last);
        last = event->time_ns;
        n++;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magics[2][9] = {"PERFILE2", "2ELIFREP"};
    GError *error = NULL;
    /* Other files are not perf's. */
    if (size < 8 || (memcmp(data, magics[0], 8) != 0 && memcmp(data, magics[1], 8) != 0)) {
        return 0;
    }
    int fd = memfd_create("perf.data", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        abort();
    }
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    struct lull_session *session = lull_session_new();
    if (lull_session_add(session, path, &error)) {
        struct lull_decoded decoded;
        uint64_t counted = 0;
        uint64_t n_read = read_all(session);
        lull_session_count(session, add_count, &counted);
        lull_session_decode_all(session, &decoded);
        g_assert_cmpuint(n_read, ==, counted);
        g_assert_cmpuint(n_read, ==, decoded.events);
    } else {
        g_assert_nonnull(error);
        g_error_free(error);
    }
    lull_session_free(session);
    close(fd);
    return 0;
}
