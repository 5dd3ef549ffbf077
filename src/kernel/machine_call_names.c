/* SPDX-License-Identifier: MIT */
/* See machine_call_names.h: the architecture of a machine, classes of events, and names of numbers. */
#include "kernel/machine_call_names.h"
#include "source/session/streams.h"

#include <string.h>

const char *calls_architecture(const struct lull_model *model, uint32_t host)
{
    const struct lull_session *session = model->session;
    uint32_t n = 0;
    const uint32_t *traces = session ? lull_session_host_traces(session, host, &n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *reported = lull_session_environment(session, traces[i], "architecture");
        if (reported && *reported != '\0') {
            return reported;
        }
    }
    return NULL;
}

const struct call_arch *calls_arch(const struct lull_model *model, uint32_t host)
{
    const struct lull_session *session = model->session;
    const char *release = "", *machine = calls_architecture(model, host);
    uint32_t n = 0;
    const uint32_t *traces = session ? lull_session_host_traces(session, host, &n) : NULL;
    for (uint32_t i = 0; i < n && *release == '\0'; i++) {
        release = lull_session_trace(session, traces[i])->kernel;
    }
    return call_arch_find(machine ? machine : "", release);
}

struct array_search {
    struct call_class *call_class;
    bool has_error_code;
};

static void look_at_field(void *user, const struct lull_field_info *field)
{
    struct array_search *search = user;
    bool is_args = strcmp(field->path, "args") == 0;
    search->has_error_code |= strcmp(field->path, "error_code") == 0;
    /* Both are longs. */
    search->call_class->is_32bit |=
        field->size_bits == 32 && (is_args || strcmp(field->path, "ret") == 0);
    if (strcmp(field->path, "fds_length") == 0) { /* of structures, which are in the same order */
        search->call_class->is_big_endian = field->is_big_endian;
    }
    if (field->kind != LULL_INFO_BYTES) {
        return;
    }
    if (is_args || strcmp(field->path, "fildes") == 0 || strcmp(field->path, "socket") == 0 ||
        strcmp(field->path, "usockvec") == 0) {
        search->call_class->is_big_endian = field->is_big_endian;
        search->call_class->word_bytes = field->size_bits / 8;
    }
}

static struct call_class look_at_class(struct lull_model *model,
                                       const struct lull_event_class *event_class)
{
    struct call_class result = {LULL_NONE, NULL, .is_known = true, .word_bytes = 8};
    struct array_search search = {&result, false};
    if (!event_class) {
        return result;
    }
    const char *event_name = lull_event_class_name(event_class);
    const char *name = lull_vocabulary_syscall_name(event_name);
    lull_event_class_each_field(event_class, look_at_field, &search);
    result.is_compat = g_str_has_prefix(event_name, "compat_");
    /* LTTng before 2.6 calls the starts of exit and exit_group what ftrace calls ends. */
    if (strcmp(event_name, "sys_exit_group") == 0 ||
        (strcmp(event_name, "sys_exit") == 0 && search.has_error_code)) {
        result.is_entry = true;
        name = event_name + strlen("sys_");
    }
    if (*name) {
        result.name = model_label(model, name);
        result.kind = call_kind_find(name);
    }
    return result;
}

void call_class_learn(struct lull_model *model, uint32_t number,
                      const struct lull_event_class *event_class)
{
    while (model->call_classes.count <= number) {
        lull_vec_push(&model->call_classes, (struct call_class){.is_known = false});
    }
    model->call_classes.items[number] = look_at_class(model, event_class);
}

struct call_name call_numbered(struct lull_model *model, enum call_numbers numbers,
                               int64_t recorded)
{
    const int32_t number = call_plain_number(recorded);
    uint64_t key = (uint64_t)numbers << 32 | (uint32_t)number;
    if (number < 0) {
        return (struct call_name){LULL_NONE, NULL};
    }
    uint32_t known = lull_map_find(&model->call_numbers, key);
    if (known != LULL_MAP_NONE) {
        return model->numbered_calls.items[known];
    }
    char text[32];
    const char *name = call_name_of_number(numbers, number);
    g_snprintf(text, sizeof text, "syscall %d", number);
    struct call_name made = {model_label(model, name ? name : text),
                             call_kind_find(name ? name : text)};
    lull_map_insert(&model->call_numbers, key, model->numbered_calls.count);
    lull_vec_push(&model->numbered_calls, made);
    return made;
}
