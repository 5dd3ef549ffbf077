/* SPDX-License-Identifier: MIT */
/* Reads recording.json. It comes from anywhere: each key that is known has the type and range that
 * docs/RECORDING.md gives it, or the recording is not opened. */
#include "source/files/recording.h"

#include <json-c/json.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/pressure.h"
#include "base/time.h"

/* Arguments of a command may have 2 MiB, and each byte may become an escape of six. */
#define MOST_BYTES (16 << 20)
/* Linux allows a second, and of CPU time what that many CPUs have in it. */
#define MOST_PERIOD_US 1000000

#define MOST_QUOTA_US ((int64_t)MOST_PERIOD_US << 20)
/* Each costs time at each event. */
#define MOST_PRESSED 4096

struct lull_recording_file *lull_recording_ref(struct lull_recording_file *file)
{
    return file ? g_rc_box_acquire(file) : NULL;
}

static void clear(void *user)
{
    struct lull_recording_file *file = user;
    lull_location_free(file->location);
    g_ptr_array_unref(file->texts);
    g_free((gpointer)file->info.command);
    g_free((gpointer)file->trigger.kernel_stack);
    g_free((gpointer)file->trigger.waker_stack);
    g_free((gpointer)file->trigger.user_stack);
    g_free(file->events);
    g_free((gpointer)file->info.cpu_quotas);
    g_free(file->pids);
    g_free(file->lock_holders);
    g_free((gpointer)file->info.group_pressures);
    g_free((gpointer)file->info.pressure_samples);
}

void lull_recording_unref(struct lull_recording_file *file)
{
    if (file) {
        g_rc_box_release_full(file, clear);
    }
}

static const char *keep(struct lull_recording_file *file, const char *text)
{
    g_ptr_array_add(file->texts, g_strdup(text));
    return file->texts->pdata[file->texts->len - 1];
}

/* ---- keys ---- */

struct reader {
    struct lull_recording_file *file;
    const char *path; /* of recording.json */
    GError **error;
};

static bool fail(const struct reader *reader, const char *key, const char *why)
{
    g_set_error(reader->error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: “%s” %s", reader->path, key,
                why);
    return false;
}

/* NULL if the value is no text, or has a zero in it. */
static const char *text_of(struct json_object *value)
{
    if (!json_object_is_type(value, json_type_string)) {
        return NULL;
    }
    const char *text = json_object_get_string(value);
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

#define AT(member) offsetof(struct lull_recording_file, member)

static bool read_texts(const struct reader *reader, struct json_object *object)
{
    static const struct {
        const char *key;
        size_t offset;
    } texts[] = {
        {"lull", AT(info.program)},
        {"tracer", AT(info.tracer)},
        {"reason", AT(info.reason)},
        {"purpose", AT(info.purpose)},
        {"kernel", AT(info.kernel)},
        {"machine", AT(info.machine)},
        {"ended_by", AT(info.ended_by)},
        {"hostname", AT(hostname)},
        {"name", AT(host_name)},
        {"names_missing", AT(info.names_missing)},
        {"quota_timer", AT(quota_timer_text)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct json_object *value;
        if (!json_object_object_get_ex(object, texts[i].key, &value)) {
            continue;
        }
        const char *text = text_of(value);
        if (!text) {
            return fail(reader, texts[i].key, "is not a string");
        }
        const char **to = (const char **)(void *)((char *)reader->file + texts[i].offset);
        *to = keep(reader->file, text);
    }
    return true;
}

/* json-c caps what does not fit into 64 bits, which then is out of any range here. */
static bool read_number(const struct reader *reader, struct json_object *object, const char *key,
                        int64_t least, int64_t most, int64_t *to)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, key, &value)) {
        return true;
    }
    if (!json_object_is_type(value, json_type_int)) {
        return fail(reader, key, "is not a whole number");
    }
    int64_t number = json_object_get_int64(value);
    if (number < least || number > most) {
        return fail(reader, key, "is out of range");
    }
    *to = number;
    return true;
}

static bool read_numbers(const struct reader *reader, struct json_object *object,
                         struct json_object *recorded)
{
    static const struct {
        const char *key;
        size_t offset;
        int64_t least, most;
        bool is_recorded; /* a key of the object "recorded" */
    } numbers[] = {
        {"pid", AT(info.pid), 1, INT32_MAX, false},
        {"exit_status", AT(info.exit_status), 0, 255, false},
        {"signal", AT(info.signal), 1, 127, false},
        {"begin_ns", AT(info.start_ns), LULL_TIME_MIN, LULL_TIME_MAX, false},
        {"end_ns", AT(info.end_ns), LULL_TIME_MIN, LULL_TIME_MAX, false},
        {"events", AT(info.events), 0, INT64_MAX - 1, true},
        {"lost_events", AT(info.lost_events), 0, INT64_MAX - 1, true},
        {"lost_names", AT(info.lost_names), 0, INT64_MAX - 1, false},
        {"steal_ns", AT(info.steal_ns), 0, INT64_MAX - 1, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        struct json_object *in = numbers[i].is_recorded ? recorded : object;
        int64_t *to = (int64_t *)(void *)((char *)reader->file + numbers[i].offset);
        if (in && !read_number(reader, in, numbers[i].key, numbers[i].least, numbers[i].most, to)) {
            return false;
        }
    }
    const struct lull_recording_info *info = &reader->file->info;
    if (json_object_object_get_ex(object, "begin_ns", NULL) !=
        json_object_object_get_ex(object, "end_ns", NULL)) {
        return fail(reader, "begin_ns", "and “end_ns” must both be there or both be missing");
    }
    if (json_object_object_get_ex(object, "begin_ns", NULL) && info->start_ns > info->end_ns) {
        return fail(reader, "end_ns", "is before “begin_ns”");
    }
    return true;
}

/* The texts, of which there are at least so many, end with NULL; *to is NULL if the key is not there. */
static bool read_list(const struct reader *reader, struct json_object *object, const char *key,
                      size_t least, const char *const **to)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, key, &value)) {
        return true;
    }
    const bool is_list = json_object_is_type(value, json_type_array);
    const size_t n = is_list ? json_object_array_length(value) : 0;
    if (!is_list || n < least) {
        return fail(reader, key, "is not a list of strings");
    }
    const char **texts = g_new0(const char *, n + 1);
    *to = texts;
    for (size_t i = 0; i < n; i++) {
        const char *text = text_of(json_object_array_get_idx(value, i));
        if (!text) {
            return fail(reader, key, "is not a list of strings");
        }
        texts[i] = keep(reader->file, text);
    }
    return true;
}

/* "sched:sched_switch" is known by "sched_switch" too, as traces call it. */
static bool read_events(const struct reader *reader, struct json_object *object)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, "events", &value)) {
        return true;
    }
    if (!json_object_is_type(value, json_type_array)) {
        return fail(reader, "events", "is not a list of strings");
    }
    size_t n = json_object_array_length(value);
    const char **names = g_new0(const char *, 2 * n + 1);
    reader->file->events = names;
    for (size_t i = 0; i < n; i++) {
        const char *text = text_of(json_object_array_get_idx(value, i));
        if (!text) {
            return fail(reader, "events", "is not a list of strings");
        }
        const char *colon = strchr(text, ':');
        *names++ = keep(reader->file, text);
        *names++ = keep(reader->file, colon ? colon + 1 : text);
    }
    return true;
}

static bool read_quota(const struct reader *reader, struct json_object *object,
                       struct lull_cpu_quota *quota)
{
    const struct {
        const char *key;
        int64_t least, most;
        int64_t *to;
    } numbers[] = {
        {"hierarchy", -1, INT32_MAX, &quota->hierarchy},
        {"quota_us", 1, MOST_QUOTA_US, &quota->quota_us},
        {"period_us", 1, MOST_PERIOD_US, &quota->period_us},
        {"periods", 0, INT64_MAX - 1, &quota->periods},
        {"throttled_periods", 0, INT64_MAX - 1, &quota->throttled_periods},
        {"throttled_ns", 0, INT64_MAX - 1, &quota->throttled_ns},
    };
    struct json_object *value;
    const char *path = json_object_object_get_ex(object, "cgroup", &value) ? text_of(value) : NULL;
    if (!path) {
        return fail(reader, "cpu_quotas", "has an entry without the string “cgroup”");
    }
    quota->cgroup = keep(reader->file, path);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!json_object_object_get_ex(object, numbers[i].key, NULL)) {
            return fail(reader, numbers[i].key, "is missing in one of “cpu_quotas”");
        }
        if (!read_number(reader, object, numbers[i].key, numbers[i].least, numbers[i].most,
                         numbers[i].to)) {
            return false;
        }
    }
    quota->is_gone =
        json_object_object_get_ex(object, "gone", &value) && json_object_get_boolean(value);
    return true;
}

/* The processes of all quotas are in one array. */
static bool read_pids(const struct reader *reader, struct json_object *object, GArray *pids)
{
    struct json_object *list;
    if (!json_object_object_get_ex(object, "pids", &list)) {
        return true;
    }
    const bool is_list = json_object_is_type(list, json_type_array);
    for (size_t i = 0; i < (is_list ? json_object_array_length(list) : 0); i++) {
        struct json_object *value = json_object_array_get_idx(list, i);
        const int64_t pid =
            json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
        if (pid < 1 || pid > INT32_MAX) {
            return fail(reader, "pids", "has an entry that is not a process id");
        }
        const int32_t known = (int32_t)pid;
        g_array_append_val(pids, known);
    }
    return true;
}

/* Text NULL: 0. */
static bool read_address(const struct reader *reader, const char *key, const char *text,
                         uint64_t *to)
{
    guint64 address = 0;
    if (text && (!g_str_has_prefix(text, "0x") ||
                 !g_ascii_string_to_unsigned(text + 2, 16, 0, G_MAXUINT64, &address, NULL))) {
        return fail(reader, key, "is not an address such as 0xffffffff81000000");
    }
    *to = address;
    return true;
}

/* NULL with *is_bad false: there is none. */
static struct json_object *objects_of(const struct reader *reader, struct json_object *object,
                                      const char *key, bool *is_bad)
{
    struct json_object *list;
    *is_bad = false;
    if (!json_object_object_get_ex(object, key, &list)) {
        return NULL;
    }
    *is_bad = !json_object_is_type(list, json_type_array);
    for (size_t i = 0; !*is_bad && i < json_object_array_length(list); i++) {
        *is_bad = !json_object_is_type(json_object_array_get_idx(list, i), json_type_object);
    }
    return *is_bad ? fail(reader, key, "is not a list of objects"), NULL : list;
}

static bool read_quotas(const struct reader *reader, struct json_object *object)
{
    bool is_bad;
    struct lull_recording_file *file = reader->file;
    struct json_object *list = objects_of(reader, object, "cpu_quotas", &is_bad);
    if (!list) {
        return !is_bad;
    }
    const size_t n = json_object_array_length(list);
    struct lull_cpu_quota *quotas = g_new0(struct lull_cpu_quota, n);
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    file->info.cpu_quotas = quotas;
    file->info.n_cpu_quotas = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const guint first = pids->len;
        if (!read_quota(reader, one, &quotas[i]) || !read_pids(reader, one, pids)) {
            return false;
        }
        quotas[i].n_pids = pids->len - first;
    }
    const int32_t *next = file->pids = g_memdup2(pids->data, pids->len * sizeof(int32_t));
    for (size_t i = 0; next && i < n; i++) {
        quotas[i].pids = next;
        next += quotas[i].n_pids;
    }
    return true;
}

static bool read_lock_holder(const struct reader *reader, struct json_object *object,
                             struct lull_recorded_holder *holder)
{
    struct json_object *value;
    const char *call = json_object_object_get_ex(object, "call", &value) ? text_of(value) : NULL;
    const char *address =
        json_object_object_get_ex(object, "address", &value) ? text_of(value) : NULL;
    holder->is_process = json_object_object_get_ex(object, "holder_pid", NULL);
    holder->is_timed =
        json_object_object_get_ex(object, "timed", &value) && json_object_get_boolean(value);
    if (!call) {
        return fail(reader, "lock_holders", "has an entry without the string “call”");
    }
    holder->call = keep(reader->file, call);
    if (!read_address(reader, "lock_holders", address, &holder->address) ||
        !read_number(reader, object, "tid", 1, INT32_MAX, &holder->tid) ||
        !read_number(reader, object, holder->is_process ? "holder_pid" : "holder_tid", 1, INT32_MAX,
                     &holder->holder)) {
        return false;
    }
    return (holder->tid && holder->holder) ||
           fail(reader, "lock_holders", "has an entry without “tid”, or without a holder");
}

static int compare_holders(const void *a, const void *b)
{
    const struct lull_recorded_holder *left = a, *right = b;
    return left->tid < right->tid ? -1 : left->tid > right->tid;
}

static bool read_lock_holders(const struct reader *reader, struct json_object *object)
{
    bool is_bad;
    struct lull_recording_file *file = reader->file;
    struct json_object *list = objects_of(reader, object, "lock_holders", &is_bad);
    const size_t n = list ? json_object_array_length(list) : 0;
    file->lock_holders = g_new0(struct lull_recorded_holder, n);
    file->n_lock_holders = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (!read_lock_holder(reader, json_object_array_get_idx(list, i), &file->lock_holders[i])) {
            return false;
        }
    }
    if (n > 1) {
        qsort(file->lock_holders, n, sizeof *file->lock_holders, compare_holders);
    }
    return !is_bad;
}

static bool read_stalls(const struct reader *reader, struct json_object *object,
                        struct lull_stalls *stalls)
{
    *stalls = lull_stalls_unknown();
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        if (!read_number(reader, object, lull_stall_keys[i], 0, INT64_MAX / 1000,
                         lull_stall_field(stalls, i))) {
            return false;
        }
    }
    return true;
}

static bool read_samples(const struct reader *reader, struct json_object *object)
{
    bool is_bad;
    struct lull_recording_info *info = &reader->file->info;
    struct json_object *list = objects_of(reader, object, "pressure", &is_bad);
    const size_t n = list ? json_object_array_length(list) : 0;
    struct lull_pressure_sample *samples = n ? g_new0(struct lull_pressure_sample, n) : NULL;
    info->pressure_samples = samples;
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        samples[i].time_ns = INT64_MIN;
        if (!read_number(reader, one, "time_ns", LULL_TIME_MIN, LULL_TIME_MAX,
                         &samples[i].time_ns) ||
            !read_stalls(reader, one, &samples[i].stalls)) {
            return false;
        }
        if (samples[i].time_ns == INT64_MIN ||
            (i > 0 && samples[i].time_ns < samples[i - 1].time_ns)) {
            return fail(reader, "pressure",
                        "has an entry without “time_ns”, or with an earlier "
                        "one than the entry before");
        }
    }
    info->n_pressure_samples = (uint32_t)n;
    return !is_bad;
}

static bool read_pressure(const struct reader *reader, struct json_object *object)
{
    bool is_bad;
    struct lull_recording_info *info = &reader->file->info;
    struct json_object *list = objects_of(reader, object, "group_pressure", &is_bad);
    const size_t n = list ? json_object_array_length(list) : 0;
    if (n > MOST_PRESSED) {
        return fail(reader, "group_pressure", "has more groups than a recording keeps");
    }
    struct lull_group_pressure *groups = n ? g_new0(struct lull_group_pressure, n) : NULL;
    info->group_pressures = groups;
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(list, i), *value;
        const char *path = json_object_object_get_ex(one, "cgroup", &value) ? text_of(value) : NULL;
        if (!path) {
            return fail(reader, "group_pressure", "has an entry without the string “cgroup”");
        }
        groups[i].cgroup = keep(reader->file, path);
        if (!read_stalls(reader, one, &groups[i].stalls)) {
            return false;
        }
    }
    info->n_group_pressures = (uint32_t)n;
    return !is_bad && read_samples(reader, object);
}

static bool read_trigger_text(const struct reader *reader, struct json_object *object,
                              const char *key, const char **to)
{
    struct json_object *value;
    const char *text = json_object_object_get_ex(object, key, &value) ? text_of(value) : NULL;
    if (!text) {
        return fail(reader, "trigger", "lacks one of the strings “id”, “rule” and “comm”");
    }
    *to = keep(reader->file, text);
    return true;
}

static bool read_trigger(const struct reader *reader, struct json_object *object)
{
    struct json_object *value;
    struct lull_recording_trigger *trigger = &reader->file->trigger;
    if (!json_object_object_get_ex(object, "trigger", &value)) {
        return true;
    }
    if (!json_object_is_type(value, json_type_object)) {
        return fail(reader, "trigger", "is not an object");
    }
    *trigger = (struct lull_recording_trigger){
        .pid = -1, .tid = -1, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    const struct {
        const char *key;
        int64_t least, most, *to;
    } numbers[] = {
        {"pid", 1, INT32_MAX, &trigger->pid},
        {"tid", 1, INT32_MAX, &trigger->tid},
        {"begin_ns", LULL_TIME_MIN, LULL_TIME_MAX, &trigger->start_ns},
        {"end_ns", LULL_TIME_MIN, LULL_TIME_MAX, &trigger->end_ns},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!read_number(reader, value, numbers[i].key, numbers[i].least, numbers[i].most,
                         numbers[i].to)) {
            return false;
        }
    }
    if (trigger->start_ns > trigger->end_ns) {
        return fail(reader, "trigger", "lacks a time, or ends before it starts");
    }
    reader->file->info.trigger = trigger;
    return read_trigger_text(reader, value, "id", &trigger->id) &&
           read_trigger_text(reader, value, "rule", &trigger->rule) &&
           read_trigger_text(reader, value, "comm", &trigger->comm) &&
           read_list(reader, value, "stack", 0, &trigger->kernel_stack) &&
           read_list(reader, value, "waker_stack", 0, &trigger->waker_stack) &&
           read_list(reader, value, "user_stack", 0, &trigger->user_stack);
}

static bool read_boot_id(const struct reader *reader, struct json_object *object)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, "boot_id", &value)) {
        return true;
    }
    const char *text = text_of(value);
    if (!text || !g_uuid_string_is_valid(text)) {
        return fail(reader, "boot_id", "is not a UUID");
    }
    for (uint32_t n = 0; n < 16; text += *text == '-' ? 1 : 0) {
        reader->file->boot_id[n++] =
            (uint8_t)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));
        text += 2;
    }
    reader->file->has_boot_id = true;
    return true;
}

static bool read_flag(const struct reader *reader, struct json_object *object, const char *key,
                      bool *to)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, key, &value)) {
        return true;
    }
    if (!json_object_is_type(value, json_type_boolean)) {
        return fail(reader, key, "is neither true nor false");
    }
    *to = json_object_get_boolean(value);
    return true;
}

static bool read_rest(const struct reader *reader, struct json_object *object)
{
    struct json_object *recorded = NULL;
    if (json_object_object_get_ex(object, "recorded", &recorded) &&
        !json_object_is_type(recorded, json_type_object)) {
        return fail(reader, "recorded", "is not an object");
    }
    struct lull_recording_info *info = &reader->file->info;
    return read_flag(reader, object, "filtered", &info->is_filtered) &&
           read_flag(reader, object, "snapshot", &info->is_snapshot) &&
           read_flag(reader, object, "all_cpu_quotas", &reader->file->has_all_quotas) &&
           read_numbers(reader, object, recorded) &&
           read_list(reader, object, "command", 1, &reader->file->info.command) &&
           read_events(reader, object) && read_quotas(reader, object) &&
           read_address(reader, "quota_timer", reader->file->quota_timer_text,
                        &reader->file->quota_timer) &&
           read_lock_holders(reader, object) && read_pressure(reader, object) &&
           read_trigger(reader, object) && read_boot_id(reader, object);
}

/* ---- the file ---- */

static struct lull_recording_file *file_new(const char *path)
{
    struct lull_recording_file *file = g_rc_box_new0(struct lull_recording_file);
    file->texts = g_ptr_array_new_with_free_func(g_free);
    file->info = (struct lull_recording_info){
        .path = keep(file, path),
        .program = "",
        .tracer = "",
        .names_missing = "",
        .reason = "",
        .purpose = "",
        .kernel = "",
        .machine = "",
        .ended_by = "",
        .pid = -1,
        .exit_status = -1,
        .signal = -1,
        .start_ns = INT64_MAX,
        .end_ns = INT64_MIN,
        .events = -1,
        .lost_events = -1,
    };
    return file;
}

/* True with *file NULL: an object of somebody else. */
static bool read_object(const char *dir, const char *path, struct json_object *object,
                        struct lull_recording_file **file, GError **error)
{
    struct reader reader = {NULL, path, error};
    int64_t version = 0;
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, "lull_recording", NULL)) {
        return true;
    }
    if (!read_number(&reader, object, "lull_recording", 1, INT64_MAX - 1, &version)) {
        return false;
    }
    if (version != 1) {
        return fail(&reader, "lull_recording",
                    "is a newer version than this Lull understands; use a newer Lull");
    }
    reader.file = file_new(dir);
    if (read_texts(&reader, object) && read_rest(&reader, object)) {
        *file = reader.file;
        return true;
    }
    lull_recording_unref(reader.file);
    return false;
}

static struct json_object *parse(const char *path, const char *text, size_t size, GError **error)
{
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
                                        JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *object = json_tokener_parse_ex(tokener, text, (int)size);
    enum json_tokener_error status = json_tokener_get_error(tokener);
    size_t at = json_tokener_get_parse_end(tokener);
    const char *why = NULL;
    if (status == json_tokener_continue) {
        why = "the file ends inside it";
    } else if (status != json_tokener_success) {
        why = json_tokener_error_desc(status);
    } else if (strspn(text + at, " \t\r\n") != size - at) {
        why = "something follows it";
    }
    json_tokener_free(tokener);
    if (!why && object) {
        return object;
    }
    json_object_put(object);
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                "%s: byte %zu: not the JSON object that describes a recording: %s", path, at,
                why ? why : "null");
    return NULL;
}

bool lull_recording_read(const struct lull_location *location, struct lull_recording_file **file,
                         GError **error)
{
    uint64_t size;
    g_autofree char *path = g_build_filename(location->path, LULL_RECORDING_FILE, NULL);
    g_autofree char *text = NULL;
    gsize length;
    struct lull_bytes *bytes = NULL;
    *file = NULL;
    g_autoptr(GError) cause = NULL;
    switch (lull_location_bytes(location, LULL_RECORDING_FILE, &bytes, &size, &cause)) {
    case LULL_OPEN_ABSENT:
    case LULL_OPEN_DIRECTORY:
        return true;
    case LULL_OPEN_REFUSED:
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
    case LULL_OPEN_DONE:
        bytes->ops->free(bytes);
    }
    if (!lull_location_read(location, LULL_RECORDING_FILE, MOST_BYTES, &text, &length, error)) {
        return false;
    }
    struct json_object *object = parse(path, text, length, error);
    if (!object) {
        return false;
    }
    bool is_ok = read_object(location->path, path, object, file, error);
    json_object_put(object);
    if (*file) {
        (*file)->location = lull_location_new(location->path, location->archive, location->prefix);
    }
    return is_ok;
}

bool lull_recording_is_unfinished(const char *path)
{
    g_autofree char *full = g_canonicalize_filename(path, NULL);
    g_autofree char *above = g_path_get_dirname(full);
    return g_str_has_suffix(full, LULL_RECORDING_UNFINISHED) ||
           g_str_has_suffix(above, LULL_RECORDING_UNFINISHED);
}
