/* SPDX-License-Identifier: MIT */
/* Fuzz target: what the daemon reads. The first byte says which: a line of a server, a configuration, or a report over HTTP. What
 * is accepted lies in its ranges; what is refused has a reason. */
#include <string.h>

#include "base/time.h"
#include "trigger/counts.h"
#include "trigger/hook.h"
#include "trigger/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_hook(const struct lull_hook *hook)
{
    g_assert_cmpint(hook->end_ns, >=, 0);
    g_assert_cmpint(hook->end_ns, <=, LULL_TIME_MAX);
    g_assert_cmpint(hook->delay_ns, >=, 0);
    g_assert_cmpint(hook->delay_ns, <=, LULL_TIME_MAX);
    g_assert_cmpint(hook->pid, >=, 0);
    g_assert_cmpint(hook->tid, >=, 0);
    g_assert_nonnull(memchr(hook->id, '\0', sizeof hook->id));
    g_assert_cmpuint(hook->n_up, <=, LULL_HOOK_UP);
    for (uint32_t i = 0; i < hook->n_up; i++) {
        g_assert_cmpuint(hook->up[i].port, >, 0);
    }
    for (const char *at = hook->id; *at; at++) {
        g_assert_true(g_ascii_isgraph(*at));
    }
}

static void read_hook(const char *text, size_t size)
{
    struct lull_hook hook;
    if (lull_hook_parse(text, size, &hook)) {
        check_hook(&hook);
    }
}

static void read_report(const char *text, size_t size)
{
    struct json_tokener *tokener = json_tokener_new_ex(16);
    struct json_object *body = json_tokener_parse_ex(tokener, text, (int)size);
    char rule[LULL_TRIGGER_NAME];
    g_autofree char *why = NULL;
    struct lull_hook hook;
    if (!body || json_object_is_type(body, json_type_object)) {
        const bool is_sound = lull_trigger_http_read(body, &hook, rule, &why);
        g_assert_true(is_sound == !why);
        g_assert_nonnull(memchr(rule, '\0', sizeof rule));
        if (is_sound) {
            check_hook(&hook);
        } else {
            g_assert_true(g_utf8_validate(why, -1, NULL));
        }
    }
    json_object_put(body);
    json_tokener_free(tokener);
}

static void read_config(const char *text, size_t size)
{
    const struct lull_trigger_counts counts = {0};
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    struct lull_trigger_config *config = lull_trigger_config_parse("x", text, size, problems);
    g_assert_true(!config == (problems->len > 0));
    if (config) {
        g_autoptr(GString) metrics = g_string_new(NULL);
        g_assert_true(g_path_is_absolute(config->snapshots));
        g_assert_cmpuint(config->rules->len, >, 0);
        g_assert_cmpuint(config->metrics_port, <=, 65535);
        g_assert_true(!config->peers == (config->listen.port == 0));
        g_assert_true(!config->peers == !config->key);
        lull_trigger_is_peer(config, &config->listen.address);
        lull_trigger_metrics(metrics, config, &counts);
        g_assert_true(g_str_has_suffix(metrics->str, "\n# EOF\n"));
        g_assert_true(g_utf8_validate(metrics->str, -1, NULL));
    }
    lull_trigger_config_free(config);
    g_ptr_array_unref(problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        (data[0] & 1   ? read_config
         : data[0] & 2 ? read_report
                       : read_hook)((const char *)data + 1, size - 1);
    }
    return 0;
}
