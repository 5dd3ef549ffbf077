/* SPDX-License-Identifier: MIT */
/* [rule NAME]: what is too slow, and what is done then. */
#include <string.h>

#include "base/time.h"
#include "live/stacks.h"
#include "trigger/config_private.h"

const char *const lull_rule_keys[] = {"when",  "slower", "id",   "spread",
                                      "stack", "exec",   "user", NULL};

void lull_config_free_rule(void *data)
{
    struct lull_trigger_rule *rule = data;
    lull_track_rule_free(rule->when);
    g_clear_pointer(&rule->id, g_pattern_spec_free);
    g_strfreev(rule->exec);
    g_free(rule->user);
    g_free(rule->name);
    g_free(rule);
}

/* It becomes part of lines and of metrics. */
bool lull_trigger_is_name(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (!g_ascii_isalnum(*at) && !strchr("-_.", *at)) {
            return false;
        }
    }
    return *name && strlen(name) < LULL_TRIGGER_NAME;
}

static void read_when(const struct lull_config_reader *reader, const char *group, const char *text,
                      struct lull_trigger_rule *rule)
{
    g_autoptr(GError) error = NULL;
    rule->when = lull_track_rule_parse(text, &error);
    if (!rule->when) {
        /* What follows repeats the line of the file. */
        lull_config_report(reader, group, "when", "%.*s", (int)strcspn(error->message, "\n"),
                           error->message);
    }
}

/* As a shell splits words; but there is no shell. */
static void read_exec(const struct lull_config_reader *reader, const char *group, const char *text,
                      struct lull_trigger_rule *rule)
{
    g_autoptr(GError) error = NULL;
    if (!g_shell_parse_argv(text, NULL, &rule->exec, &error)) {
        lull_config_report(reader, group, "exec", "%s", error->message);
    } else if (!g_path_is_absolute(rule->exec[0])) {
        lull_config_report(reader, group, "exec",
                           "expected a program's path that starts with /, not “%s”", rule->exec[0]);
    }
}

static void read_what(const struct lull_config_reader *reader, const char *group,
                      struct lull_trigger_rule *rule)
{
    g_autofree char *when = lull_config_value(reader, group, "when");
    g_autofree char *slower = lull_config_value(reader, group, "slower");
    g_autofree char *id = lull_config_value(reader, group, "id");
    if (!when == !slower) {
        lull_config_report(
            reader, group, NULL,
            "it takes either when (a rule of 'lull track') or slower (a time, for requests that "
            "servers report)");
    } else if (when) {
        read_when(reader, group, when, rule);
    } else if (!lull_duration_parse(slower, &rule->slower_ns, NULL)) {
        lull_config_report(reader, group, "slower",
                           "expected a time with its unit, such as 500ms, not “%s”", slower);
    }
    if (id && when) {
        lull_config_report(reader, group, "id",
                           "is about requests that servers report; this rule is about waits");
    }
    rule->id = id ? g_pattern_spec_new(id) : NULL;
}

/* Who is named has to be asked somehow. */
static void read_spread(const struct lull_config_reader *reader, const char *group,
                        struct lull_trigger_rule *rule)
{
    g_autofree char *spread = lull_config_value(reader, group, "spread");
    rule->is_spread = !spread || strcmp(spread, "no") != 0;
    if (spread && rule->is_spread && strcmp(spread, "yes") != 0) {
        lull_config_report(reader, group, "spread", "expected yes or no, not “%s”", spread);
    } else if (spread && rule->is_spread &&
               !g_key_file_has_key(reader->file, "daemon", "peers", NULL)) {
        lull_config_report(reader, group, "spread",
                           "no other machine can be asked: give [daemon] listen, peers and key");
    }
}

/* What a server reports has no stack. */
static void read_stacks(const struct lull_config_reader *reader, const char *group,
                        struct lull_trigger_rule *rule)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *stack = lull_config_value(reader, group, "stack");
    if (stack && !lull_track_stacks_parse(stack, &rule->stacks, &error)) {
        lull_config_report(reader, group, "stack", "%s", error->message);
    } else if (stack && g_key_file_has_key(reader->file, group, "slower", NULL)) {
        lull_config_report(reader, group, "stack",
                           "is about waits; this rule is about requests that servers report");
    }
}

static void read_command(const struct lull_config_reader *reader, const char *group,
                         struct lull_trigger_rule *rule)
{
    g_autofree char *exec = lull_config_value(reader, group, "exec");
    rule->user = lull_config_value(reader, group, "user");
    if (exec) {
        read_exec(reader, group, exec, rule);
    } else if (rule->user) {
        lull_config_report(reader, group, "user",
                           "names who runs the command of exec: give exec, too");
    }
    if (rule->user && !*rule->user) {
        lull_config_report(reader, group, "user", "expected the name of a user, not “”");
    }
}

void lull_config_read_rule(const struct lull_config_reader *reader, const char *group)
{
    struct lull_trigger_rule *rule = g_new0(struct lull_trigger_rule, 1);
    rule->name = g_strdup(group + strlen(LULL_RULE_PREFIX));
    g_ptr_array_add(reader->config->rules, rule);
    if (!lull_trigger_is_name(rule->name)) {
        lull_config_report(reader, group, NULL,
                           "a rule is named with letters, digits, and - _ . (at most %d)",
                           LULL_TRIGGER_NAME - 1);
    }
    read_what(reader, group, rule);
    read_spread(reader, group, rule);
    read_stacks(reader, group, rule);
    read_command(reader, group, rule);
}
