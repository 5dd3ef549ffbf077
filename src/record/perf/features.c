/* SPDX-License-Identifier: MIT */
/* The feature sections of perf.data that describe a recording: the machine, the events and
 * their formats, the clock. */
#include <lull/version.h>

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "record/perf/perf.h"

/* Their bits in the head of the file, as perf.data-file-format.txt numbers them. */
enum {
    TRACING_DATA = 1,
    HOSTNAME = 3,
    OSRELEASE = 4,
    VERSION = 5,
    ARCH = 6,
    NRCPUS = 7,
    CMDLINE = 11,
    EVENT_DESC = 12,
    SAMPLE_TIME = 21,
    CLOCKID = 23,
    CLOCK_DATA = 29,
};

/* Strings have a multiple of this many bytes, zeros at the end. */
#define STRING_STEP 64

struct writer {
    GByteArray *to;
    GArray *features;
    const struct perfrec_classes *classes;
    const struct perfrec_tally *tally;
    int64_t epoch_offset_ns;
    struct utsname names;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
    g_byte_array_append(w->to, bytes, (guint)n);
}

static void put_u32(struct writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put_u64(struct writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_string(struct writer *w, const char *text)
{
    static const uint8_t zeros[STRING_STEP];
    size_t n = strlen(text), whole = (n / STRING_STEP + 1) * STRING_STEP;
    put_u32(w, (uint32_t)whole);
    put(w, text, n);
    put(w, zeros, whole - n);
}

static bool put_tracing_data(struct writer *w, GError **error)
{
    return perfrec_tracing_data(w->to, w->classes, error);
}

static bool put_hostname(struct writer *w, GError **error)
{
    put_string(w, w->names.nodename);
    return true;
}

static bool put_release(struct writer *w, GError **error)
{
    put_string(w, w->names.release);
    return true;
}

static bool put_version(struct writer *w, GError **error)
{
    put_string(w, "lull " LULL_VERSION);
    return true;
}

static bool put_arch(struct writer *w, GError **error)
{
    put_string(w, w->names.machine);
    return true;
}

static bool put_cpus(struct writer *w, GError **error)
{
    put_u32(w, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    put_u32(w, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    return true;
}

/* The command that records. */
static bool put_command(struct writer *w, GError **error)
{
    char *text;
    gsize n;
    if (!g_file_get_contents("/proc/self/cmdline", &text, &n, error)) {
        return false;
    }
    guint counted = w->to->len;
    uint32_t words = 0;
    put_u32(w, 0);
    for (gsize at = 0; at < n; at += strlen(text + at) + 1, words++) {
        put_string(w, text + at);
    }
    memcpy(w->to->data + counted, &words, sizeof words);
    g_free(text);
    return true;
}

static bool put_events(struct writer *w, GError **error)
{
    put_u32(w, w->classes->n);
    put_u32(w, sizeof(struct perf_event_attr));
    for (uint32_t i = 0; i < w->classes->n; i++) {
        const struct perfrec_class *class = &w->classes->all[i];
        put(w, &class->attr, sizeof class->attr);
        put_u32(w, class->ids->len);
        put_string(w, class->name);
        put(w, class->ids->data, class->ids->len * sizeof(uint64_t));
    }
    return true;
}

static bool put_sample_time(struct writer *w, GError **error)
{
    put_u64(w, w->tally->samples ? w->tally->first_ns : 0);
    put_u64(w, w->tally->last_ns);
    return true;
}

static bool put_resolution(struct writer *w, GError **error)
{
    struct timespec resolution = {.tv_nsec = 1};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    put_u64(w, (uint64_t)resolution.tv_nsec);
    return true;
}

/* Version, clock, and one moment in wall clock time and on this clock. */
static bool put_clock(struct writer *w, GError **error)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    put_u32(w, 1);
    put_u32(w, CLOCK_MONOTONIC);
    put_u64(w, (uint64_t)(ns + w->epoch_offset_ns));
    put_u64(w, (uint64_t)ns);
    return true;
}

bool perfrec_features_make(GByteArray *to, GArray *features, const struct perfrec_classes *classes,
                           const struct perfrec_tally *tally, int64_t epoch_offset_ns,
                           GError **error)
{
    static const struct {
        uint32_t bit;
        bool (*put)(struct writer *w, GError **error);
    } all[] = {
        {TRACING_DATA, put_tracing_data}, {HOSTNAME, put_hostname}, {OSRELEASE, put_release},
        {VERSION, put_version},           {ARCH, put_arch},         {NRCPUS, put_cpus},
        {CMDLINE, put_command},           {EVENT_DESC, put_events}, {SAMPLE_TIME, put_sample_time},
        {CLOCKID, put_resolution},        {CLOCK_DATA, put_clock},
    };
    struct writer w = {.to = to,
                       .features = features,
                       .classes = classes,
                       .tally = tally,
                       .epoch_offset_ns = epoch_offset_ns};
    if (uname(&w.names) < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot get the name of this machine: %s",
                    g_strerror(errno));
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        struct perfrec_feature feature = {.bit = all[i].bit, .start = to->len};
        if (!all[i].put(&w, error)) {
            return false;
        }
        feature.end = to->len;
        /* Numbers in what follows are aligned. */
        static const uint8_t zeros[8];
        put(&w, zeros, -to->len & 7);
        g_array_append_val(features, feature);
    }
    return true;
}
