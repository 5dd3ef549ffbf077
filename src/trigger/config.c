/* SPDX-License-Identifier: MIT */
/* Each key is a line of a table; everything that is wrong is reported at once. */
#include "trigger/config.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/file.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/time.h"
#include "record/tracer.h"
#include "trigger/config_private.h"
#include "trigger/peer_socket.h"

enum kind {
    KIND_TEXT,
    KIND_NAME,
    KIND_PATH,
    KIND_SIZE,
    KIND_NUMBER,
    KIND_ADDRESS,
    KIND_DURATION,
    KIND_SHARE,
    KIND_ENDPOINT,
    KIND_NETWORKS,
    KIND_PATHS,
    KIND_PURPOSE,
    KIND_TRACER,
};

/* As that of a rule. */
#define NAME_EXPECTED "a name of letters, digits, and - _ . (at most 63)"

#define AT(member) offsetof(struct lull_trigger_config, member)

static const struct key {
    const char *group, *name;
    enum kind kind;
    size_t offset;
    const char *usual; /* NULL: nothing */
    uint64_t most;     /* of a number */
} keys[] = {
    {"daemon", "name", KIND_NAME, AT(name), NULL, 0},
    {"daemon", "snapshots", KIND_PATH, AT(snapshots), "/var/lib/lull", 0},
    {"daemon", "purpose", KIND_PURPOSE, AT(purpose), "critpath", 0},
    {"daemon", "tracer", KIND_TRACER, AT(tracer), NULL, 0},
    {"daemon", "buffer", KIND_SIZE, AT(buffer_bytes), NULL, 0},
    {"daemon", "hook", KIND_PATH, AT(hook), "/run/lull/hook", 0},
    {"daemon", "hook_group", KIND_TEXT, AT(hook_group), NULL, 0},
    {"daemon", "user", KIND_TEXT, AT(user), "nobody", 0},
    {"daemon", "marks", KIND_PATHS, AT(marks), NULL, 0},
    {"daemon", "metrics", KIND_ADDRESS, AT(metrics_port), NULL, 65535},
    {"daemon", "token", KIND_PATH, AT(token), NULL, 0},
    {"daemon", "listen", KIND_ENDPOINT, AT(listen), NULL, 0},
    {"daemon", "peers", KIND_NETWORKS, AT(peers), NULL, 0},
    {"daemon", "key", KIND_PATH, AT(key), NULL, 0},
    {"daemon", "max_overhead", KIND_SHARE, AT(most_overhead), "1%", 0},
    {"limits", "pause", KIND_DURATION, AT(pause_ns), "60s", 0},
    {"limits", "per_hour", KIND_NUMBER, AT(per_hour), "6", 1000},
    {"limits", "per_day", KIND_NUMBER, AT(per_day), "20", 1000},
    {"limits", "size", KIND_SIZE, AT(most_bytes), "2G", 0},
    {"limits", "free", KIND_SHARE, AT(least_free), "10%", 0},
};

struct problem {
    uint32_t line; /* UINT32_MAX: of none */
    char *text;
};

static void add_problem(const struct lull_config_reader *reader, uint32_t line, const char *group,
                        const char *key, const char *why)
{
    const bool has_name = *group || key;
    g_autofree char *place = line ? g_strdup_printf(":%u", line) : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "%s%s: %s%s%s%s%s%s%s", reader->path, place, *group ? "[" : "", group, *group ? "]" : "",
        *group && key ? " " : "", key ? key : "", has_name ? ": " : "", why);
    const struct problem problem = {line ? line : UINT32_MAX, g_utf8_make_valid(text, -1)};
    g_array_append_val(reader->found, problem);
}

static void add_line_problem(void *user, uint32_t line, const char *group, const char *key,
                             const char *why)
{
    add_problem(user, line, group, key, why);
}

void lull_config_report(const struct lull_config_reader *reader, const char *group, const char *key,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *why = g_strdup_vprintf(format, args);
    va_end(args);
    const uint32_t line = lull_config_lines_find(&reader->lines, group, key);
    add_problem(reader, line ? line : lull_config_lines_find(&reader->lines, group, NULL), group,
                key, why);
}

/* In the order of the file; what is of no line comes last. */
static int by_line(const void *a, const void *b)
{
    const struct problem *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* ---- values ---- */

static bool parse_number(const char *text, uint64_t most, uint64_t *number)
{
    guint64 parsed;
    const bool done = g_ascii_string_to_unsigned(text, 10, 1, most, &parsed, NULL);
    *number = done ? parsed : 0;
    return done;
}

/* Metrics are for this machine only. */
static bool parse_address(const char *text, uint64_t most, uint64_t *port)
{
    static const char prefix[] = "127.0.0.1:";
    return g_str_has_prefix(text, prefix) && parse_number(text + strlen(prefix), most, port);
}

/* "10.9.0.0/24" or one address. */
static bool parse_network(const char *text, struct lull_trigger_network *network)
{
    const uint32_t mapped = strchr(text, ':') ? 0 : 96;
    const char *slash = strchr(text, '/');
    g_autofree char *host = slash ? g_strndup(text, (gsize)(slash - text)) : g_strdup(text);
    guint64 bits = 128 - mapped;
    if (slash && !g_ascii_string_to_unsigned(slash + 1, 10, 0, bits, &bits, NULL)) {
        return false;
    }
    network->bits = (uint32_t)bits + mapped;
    return lull_peer_address_parse(host, &network->address);
}

static bool parse_networks(const char *text, GArray **networks)
{
    g_auto(GStrv) words = g_strsplit_set(text, ", ", -1);
    bool is_sound = true;
    *networks = g_array_new(FALSE, FALSE, sizeof(struct lull_trigger_network));
    for (uint32_t i = 0; words[i]; i++) {
        struct lull_trigger_network network;
        if (*words[i]) {
            is_sound = parse_network(words[i], &network) && is_sound;
            g_array_append_val(*networks, network);
        }
    }
    return is_sound && (*networks)->len > 0;
}

/* Paths with commas between. */
static bool parse_paths(const char *text, char ***paths)
{
    *paths = g_strsplit(text, ",", -1);
    for (uint32_t i = 0; (*paths)[i]; i++) {
        if (!g_path_is_absolute(g_strstrip((*paths)[i]))) {
            return false;
        }
    }
    return **paths != NULL;
}

static bool is_tracer(const char *text)
{
    static const char *const all[] = {"auto", "ftrace", "perf", "lttng", NULL};
    return g_strv_contains(all, text); /* that this one has been built with it is seen later */
}

/* What the value should have been; NULL: it is. */
static const char *set(const struct key *key, const char *text, void *to)
{
    enum lull_purpose purpose;
    switch (key->kind) {
    case KIND_PURPOSE:
        *(char **)to = g_strdup(text);
        return lull_purpose_of(text, &purpose) ? NULL : "critpath, wait, io, sched, vm or all";
    case KIND_TRACER:
        *(char **)to = g_strdup(text);
        return is_tracer(text) ? NULL : "ftrace, perf, lttng or auto";
    case KIND_NAME:
        *(char **)to = g_strdup(text);
        return lull_trigger_is_name(text) ? NULL : NAME_EXPECTED;
    case KIND_PATH:
        *(char **)to = g_strdup(text);
        return g_path_is_absolute(text) ? NULL : "a path that starts with /";
    case KIND_TEXT:
        *(char **)to = g_strdup(text);
        return *text ? NULL : "a text";
    case KIND_SIZE:
        return lull_size_parse(text, to) ? NULL : "a size from 1 to 1024G, such as 64M";
    case KIND_NUMBER:
        return parse_number(text, key->most, to) ? NULL : "a number from 1 to 1000";
    case KIND_ADDRESS:
        return parse_address(text, key->most, to) ? NULL : "127.0.0.1:PORT";
    case KIND_DURATION:
        return lull_duration_parse(text, to, NULL) ? NULL : "a time with its unit, such as 60s";
    case KIND_SHARE:
        return g_str_has_suffix(text, "%") && lull_share_parse(text, to)
                   ? NULL
                   : "a share from 0% to 100%";
    case KIND_ENDPOINT:
        return lull_peer_endpoint_parse(text, to) ? NULL : "ADDRESS:PORT, such as 10.9.0.3:5447";
    case KIND_NETWORKS:
        return parse_networks(text, to) ? NULL : "networks, such as 10.9.0.0/24, fd00::/64";
    case KIND_PATHS:
        return parse_paths(text, to) ? NULL : "paths that start with /, with commas between";
    }
    return NULL;
}

char *lull_config_value(const struct lull_config_reader *reader, const char *group, const char *key)
{
    g_autoptr(GError) error = NULL;
    char *text = g_key_file_get_string(reader->file, group, key, &error);
    if (text) {
        return g_strstrip(text);
    }
    if (error->code != G_KEY_FILE_ERROR_KEY_NOT_FOUND &&
        error->code != G_KEY_FILE_ERROR_GROUP_NOT_FOUND) {
        lull_config_report(reader, group, key, "%s", error->message);
    }
    return NULL;
}

static void read_keys(const struct lull_config_reader *reader)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const struct key *key = &keys[i];
        g_autofree char *given = lull_config_value(reader, key->group, key->name);
        const char *text = given ? given : key->usual;
        const char *expected = text ? set(key, text, (char *)reader->config + key->offset) : NULL;
        const bool has_comment = given && strstr(given, " #");
        if (expected || has_comment) {
            lull_config_report(reader, key->group, key->name, "expected %s, not “%s”%s",
                               expected ? expected : "no # in it", text,
                               has_comment ? "; a comment has a line of its own" : "");
        }
    }
    struct lull_trigger_config *config = reader->config;
    lull_purpose_of(config->purpose, &config->purpose_id);
    const bool is_spread = g_key_file_has_key(reader->file, "daemon", "listen", NULL);
    if (is_spread != g_key_file_has_key(reader->file, "daemon", "peers", NULL) ||
        is_spread != g_key_file_has_key(reader->file, "daemon", "key", NULL)) {
        lull_config_report(reader, "daemon", NULL,
                           "listen, peers and key belong together: give all three or none");
    }
    if (config->token && config->metrics_port == 0) {
        lull_config_report(reader, "daemon", "token",
                           "it belongs to the port of “metrics”: give that as well");
    }
    if (config->tracer && strcmp(config->tracer, "auto") == 0) {
        g_clear_pointer(&config->tracer, g_free);
    }
}

static bool is_same(const struct key *key, const void *a, const void *b)
{
    switch (key->kind) {
    case KIND_NAME:
    case KIND_PATH:
    case KIND_TEXT:
    case KIND_PURPOSE:
    case KIND_TRACER:
        return g_strcmp0(*(char *const *)a, *(char *const *)b) == 0;
    case KIND_SIZE:
    case KIND_NUMBER:
    case KIND_ADDRESS:
    case KIND_DURATION:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case KIND_SHARE:
        return *(const double *)a == *(const double *)b;
    case KIND_ENDPOINT: {
        const struct lull_trigger_endpoint *x = a, *y = b;
        return x->port == y->port && memcmp(&x->address, &y->address, sizeof x->address) == 0;
    }
    case KIND_NETWORKS: {
        const GArray *x = *(GArray *const *)a, *y = *(GArray *const *)b;
        return (!x && !y) ||
               (x && y && x->len == y->len &&
                memcmp(x->data, y->data, x->len * sizeof(struct lull_trigger_network)) == 0);
    }
    case KIND_PATHS: {
        const char *const *x = *(const char *const *const *)a, *const *y =
                                                                   *(const char *const *const *)b;
        return (!x && !y) || (x && y && g_strv_equal(x, y));
    }
    }
    return false;
}

const char *lull_trigger_config_needs_start(const struct lull_trigger_config *now,
                                            const struct lull_trigger_config *next)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (strcmp(keys[i].group, "daemon") == 0 && keys[i].offset != AT(most_overhead) &&
            !is_same(&keys[i], (const char *)now + keys[i].offset,
                     (const char *)next + keys[i].offset)) {
            return keys[i].name;
        }
    }
    return NULL;
}

/* ---- the file ---- */

/* Those of the group, which is none of the rules: NULL at the end. */
static void list_keys(const char *group, const char *names[static G_N_ELEMENTS(keys) + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (strcmp(keys[i].group, group) == 0) {
            names[n++] = keys[i].name;
        }
    }
    names[n] = NULL;
}

/* The group that has the key; NULL: none. */
static const char *group_of(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return keys[i].group;
        }
    }
    return g_strv_contains(lull_rule_keys, name) ? LULL_RULE_PREFIX "NAME" : NULL;
}

static void check_key(const struct lull_config_reader *reader, const char *group, const char *name)
{
    const char *names[G_N_ELEMENTS(keys) + 1];
    list_keys(group, names);
    const bool is_rule = g_str_has_prefix(group, LULL_RULE_PREFIX);
    const char *const *known = is_rule ? lull_rule_keys : names;
    if (g_strv_contains(known, name)) {
        return;
    }
    const char *elsewhere = group_of(name), *alike = lull_suggest(name, known);
    g_autofree char *hint = elsewhere ? g_strdup_printf("; it belongs in [%s]", elsewhere)
                            : alike   ? g_strdup_printf("; perhaps “%s”", alike)
                                      : g_strdup("");
    lull_config_report(reader, group, name, "there is no such key here%s", hint);
}

static void check_keys(const struct lull_config_reader *reader, const char *group)
{
    g_auto(GStrv) names = g_key_file_get_keys(reader->file, group, NULL, NULL);
    for (uint32_t i = 0; names && names[i]; i++) {
        check_key(reader, group, names[i]);
    }
}

static void read_groups(const struct lull_config_reader *reader)
{
    g_auto(GStrv) groups = g_key_file_get_groups(reader->file, NULL);
    for (uint32_t i = 0; groups[i]; i++) {
        const bool is_rule = g_str_has_prefix(groups[i], LULL_RULE_PREFIX);
        if (!is_rule && !g_str_equal(groups[i], "daemon") && !g_str_equal(groups[i], "limits")) {
            lull_config_report(reader, groups[i], NULL,
                               "expected [daemon], [limits] or [rule NAME]");
            continue;
        }
        check_keys(reader, groups[i]);
        if (is_rule) {
            lull_config_read_rule(reader, groups[i]);
        }
    }
    const guint n = reader->config->rules->len;
    if (n == 0 || n > LULL_TRIGGER_RULES) {
        lull_config_report(reader, LULL_RULE_PREFIX "NAME", NULL,
                           n ? "at most %d rules at a time" : "expected from one to %d rules",
                           LULL_TRIGGER_RULES);
    }
}

/* Whether there are any. */
static bool end_problems(GArray *found, GPtrArray *problems)
{
    const bool is_any = found->len > 0;
    g_array_sort(found, by_line);
    for (guint i = 0; i < found->len; i++) {
        g_ptr_array_add(problems, g_array_index(found, struct problem, i).text);
    }
    g_array_unref(found);
    return is_any;
}

struct lull_trigger_config *lull_trigger_config_parse(const char *path, const char *text,
                                                      size_t size, GPtrArray *problems)
{
    g_autoptr(GError) error = NULL;
    struct lull_config_reader reader = {.path = path,
                                        .found = g_array_new(FALSE, FALSE, sizeof(struct problem)),
                                        .file = g_key_file_new(),
                                        .config = g_new0(struct lull_trigger_config, 1)};
    reader.config->rules = g_ptr_array_new_with_free_func(lull_config_free_rule);
    lull_config_lines_read(&reader.lines, text, size, add_line_problem, &reader);
    const GString *lines = reader.lines.text;
    if (size == 0) {
        add_problem(&reader, 0, "", NULL, "the file is empty");
    } else if (!g_key_file_load_from_data(reader.file, lines->str, lines->len, G_KEY_FILE_NONE,
                                          &error)) {
        add_problem(&reader, 0, "", NULL, error->message);
    } else {
        read_keys(&reader);
        read_groups(&reader);
    }
    g_key_file_free(reader.file);
    lull_config_lines_clear(&reader.lines);
    if (!end_problems(reader.found, problems)) {
        return reader.config;
    }
    lull_trigger_config_free(reader.config);
    return NULL;
}

struct lull_trigger_config *lull_trigger_config_read(const char *path, GString *read,
                                                     GError **error)
{
    g_autofree char *text = NULL;
    size_t size;
    path = path ? path : LULL_TRIGGER_CONFIG;
    if (!lull_file_read(path, LULL_TRIGGER_CONFIG_BYTES, &text, &size, error)) {
        return NULL;
    }
    if (read) {
        g_string_append_len(read, text, (gssize)size);
    }
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    struct lull_trigger_config *config = lull_trigger_config_parse(path, text, size, problems);
    if (!config) {
        g_ptr_array_add(problems, NULL);
        g_autofree char *lines = g_strjoinv("\n", (char **)problems->pdata);
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, lines);
    }
    g_ptr_array_unref(problems);
    return config;
}

struct lull_trigger_config *lull_trigger_config_receive(int fd)
{
    g_autofree char *text = g_malloc(LULL_TRIGGER_CONFIG_BYTES);
    const ssize_t n = fd >= 0 ? pread(fd, text, LULL_TRIGGER_CONFIG_BYTES, 0) : -1;
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    struct lull_trigger_config *config =
        n > 0 ? lull_trigger_config_parse("", text, (size_t)n, problems) : NULL;
    g_ptr_array_unref(problems);
    return config;
}

uint32_t lull_trigger_config_rule(const struct lull_trigger_config *config, const char *name)
{
    for (uint32_t i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (strcmp(rule->name, name) == 0) {
            return i;
        }
    }
    return LULL_TRIGGER_RULES;
}

uint32_t lull_trigger_config_rule_as(const struct lull_trigger_config *before,
                                     const struct lull_trigger_config *now, uint32_t i)
{
    const struct lull_trigger_rule *wanted = i < now->rules->len ? now->rules->pdata[i] : NULL;
    return wanted ? lull_trigger_config_rule(before, wanted->name) : LULL_TRIGGER_RULES;
}

static bool has_bits(const struct in6_addr *address, const struct lull_trigger_network *network)
{
    const uint32_t whole = network->bits / 8, rest = network->bits % 8;
    const uint8_t mask = (uint8_t)(0xff00 >> rest);
    return memcmp(address->s6_addr, network->address.s6_addr, whole) == 0 &&
           (rest == 0 || ((address->s6_addr[whole] ^ network->address.s6_addr[whole]) & mask) == 0);
}

bool lull_trigger_is_peer(const struct lull_trigger_config *config, const struct in6_addr *address)
{
    for (guint i = 0; config->peers && i < config->peers->len; i++) {
        if (has_bits(address, &g_array_index(config->peers, struct lull_trigger_network, i))) {
            return true;
        }
    }
    return false;
}

void lull_trigger_config_free(struct lull_trigger_config *config)
{
    if (!config) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (keys[i].kind == KIND_TEXT || keys[i].kind == KIND_NAME || keys[i].kind == KIND_PATH ||
            keys[i].kind == KIND_PURPOSE || keys[i].kind == KIND_TRACER) {
            g_free(*(char **)(void *)((char *)config + keys[i].offset));
        }
    }
    g_clear_pointer(&config->peers, g_array_unref);
    g_strfreev(config->marks);
    g_ptr_array_unref(config->rules);
    g_free(config);
}
