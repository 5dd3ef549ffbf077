/* SPDX-License-Identifier: MIT */
/* What lull info says of recordings: which command, how it ended, how it was recorded. */
#include <inttypes.h>
#include <string.h>

#include <lull/recording.h>

#include "analysis/quotas.h"
#include "base/time.h"
#include "view/info/info.h"
#include "view/words.h"

static void add_field(GString *text, const char *label, const char *value)
{
    g_string_append_printf(text, "  %-10s%s\n", label, value);
}

static void add_command(GString *text, const struct lull_recording_info *recording, bool ascii)
{
    g_autoptr(GString) line = g_string_new(NULL);
    lull_command_append(line, recording->command, ascii);
    add_field(text, "command", line->str);
    g_string_truncate(line, 0);
    if (recording->exit_status >= 0) {
        g_string_append_printf(line, "with exit status %" PRId64, recording->exit_status);
    } else if (recording->signal >= 0) {
        g_string_append_printf(line, "by signal %" PRId64 " (%s)", recording->signal,
                               g_strsignal((int)recording->signal));
    } else {
        g_string_append(line, "not within the recording");
    }
    if (recording->pid >= 0) {
        g_string_append_printf(line, ", pid %" PRId64, recording->pid);
    }
    add_field(text, "ended", line->str);
}

/* The latest call first. */
static void add_stack(GString *text, const char *what, const char *const *functions, bool ascii)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (uint32_t i = 0; functions && functions[i]; i++) {
        g_string_append(line, i > 0 ? " " : "");
        lull_clean_append(line, functions[i], ascii);
    }
    if (functions) {
        add_field(text, what, line->len > 0 ? line->str : "no function is known");
    }
}

static void add_trigger(GString *text, const struct lull_recording_trigger *trigger, bool ascii)
{
    g_autoptr(GString) line = g_string_new(NULL);
    char took[LULL_TIME_TEXT_SIZE], when[LULL_TIME_TEXT_SIZE];
    lull_duration_format(trigger->end_ns - trigger->start_ns, took);
    lull_time_format_iso(trigger->end_ns, false, when);
    lull_clean_append(line, trigger->rule, ascii);
    g_string_append_printf(line, ": %s of ", took);
    lull_clean_append(line, trigger->comm[0] ? trigger->comm : "?", ascii);
    g_string_append_printf(line, "/%" PRId64 " until %s",
                           trigger->tid > 0 ? trigger->tid : trigger->pid, when);
    add_field(text, "trigger", line->str);
    add_stack(text, "in", trigger->kernel_stack, ascii);
    add_stack(text, "called in", trigger->user_stack, ascii);
    add_stack(text, "woken in", trigger->waker_stack, ascii);
}

static void add_how(GString *text, const struct lull_recording_info *recording, bool ascii)
{
    g_autoptr(GString) line = g_string_new(NULL);
    lull_clean_append(line, recording->tracer, ascii);
    if (recording->purpose[0]) {
        g_string_append(line, ", for ");
        lull_clean_append(line, recording->purpose, ascii);
    }
    g_string_append(line, recording->is_filtered ? ", some tasks only" : "");
    g_string_append(line, recording->is_snapshot ? ", a snapshot" : "");
    if (recording->reason[0]) {
        g_string_append(line, ": ");
        lull_clean_append(line, recording->reason, ascii);
    }
    add_field(text, "tracer", line->str);
}

static void add_result(GString *text, const struct lull_recording_info *recording)
{
    g_autoptr(GString) line = g_string_new(NULL);
    int64_t duration_ns;
    char duration[LULL_TIME_TEXT_SIZE];
    if (!recording->is_snapshot && recording->start_ns <= recording->end_ns &&
        !__builtin_sub_overflow(recording->end_ns, recording->start_ns, &duration_ns)) {
        lull_duration_format(duration_ns, duration);
        g_string_append(line, duration);
    }
    if (recording->events >= 0) {
        g_string_append_printf(line, "%s%" PRId64 " events", line->len ? ", " : "",
                               recording->events);
    }
    if (recording->lost_events >= 0) {
        g_string_append_printf(line, "%s%" PRId64 " lost", line->len ? ", " : "",
                               recording->lost_events);
    }
    if (recording->lost_names > 0) {
        g_string_append_printf(line,
                               "%s%" PRId64 " of the paths, addresses and headers of packets lost",
                               line->len ? ", " : "", recording->lost_names);
    }
    if (strcmp(recording->ended_by, "disk") == 0) {
        g_string_append_printf(line, "%sended early because the disk was full",
                               line->len ? ", " : "");
    }
    if (line->len) {
        add_field(text, "result", line->str);
    }
}

static void add_names(GString *text, const struct lull_recording_info *recording, bool ascii)
{
    if (recording->names_missing[0]) {
        g_autoptr(GString) line = g_string_new("only of files that were open at the start or the "
                                               "end: ");
        lull_clean_append(line, recording->names_missing, ascii);
        add_field(text, "paths", line->str);
    }
}

static void add_quotas(GString *text, const struct lull_recording_info *recording, bool ascii)
{
    for (uint32_t i = 0; i < recording->n_cpu_quotas; i++) {
        if (recording->cpu_quotas[i].throttled_periods > 0) {
            g_autoptr(GString) line = g_string_new(NULL);
            lull_quota_append(line, &recording->cpu_quotas[i]);
            g_autofree char *clean = lull_clean_text(line->str, ascii);
            add_field(text, "quota", clean);
        }
    }
}

static void add_steal(GString *text, const struct lull_recording_info *recording)
{
    char steal[LULL_TIME_TEXT_SIZE];
    if (recording->steal_ns > 0) {
        lull_duration_format(recording->steal_ns, steal);
        g_autofree char *line = g_strdup_printf(
            "%s in which its hypervisor ran others on CPUs that had something to do "
            "(the kernel's count, summed over CPUs)",
            steal);
        add_field(text, "stolen", line);
    }
}

/* Of the machine, in the whole recording. */
static void add_pressure(GString *text, const struct lull_recording_info *recording)
{
    static const char *const lacked[LULL_PRESSURES] = {"a CPU", "input and output", "memory"};
    if (recording->n_pressure_samples == 0) {
        return;
    }
    const struct lull_stalls *stalls =
        &recording->pressure_samples[recording->n_pressure_samples - 1].stalls;
    g_autoptr(GString) line = g_string_new(NULL);
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        char some[LULL_TIME_TEXT_SIZE];
        if (stalls->some_us[i] >= 0) {
            lull_duration_format(stalls->some_us[i] * 1000, some);
            g_string_append_printf(line, "%s%s for %s", line->len ? ", " : "some task waited for ",
                                   lacked[i], some);
        }
    }
    if (line->len) {
        add_field(text, "pressure", line->str);
    }
}

char *lull_info_recordings_text(const struct lull_info *info, uint32_t host, bool ascii)
{
    GString *text = g_string_new(NULL);
    uint32_t n;
    const uint32_t first = lull_session_recordings_of(info->session, host, &n);
    for (uint32_t i = first; i < first + n; i++) {
        const struct lull_recording_info *recording = lull_session_recording(info->session, i);
        g_autofree char *path = lull_clean_text(recording->path, ascii);
        add_field(text, "recording", path);
        if (recording->command) {
            add_command(text, recording, ascii);
        }
        if (recording->trigger) {
            add_trigger(text, recording->trigger, ascii);
        }
        add_how(text, recording, ascii);
        add_result(text, recording);
        add_names(text, recording, ascii);
        add_quotas(text, recording, ascii);
        add_steal(text, recording);
        add_pressure(text, recording);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
