/* SPDX-License-Identifier: MIT */
/* The parser of rules on top of the parser of filters, and what of a rule the kernel checks. */
#include "live/rule.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/time.h"
#include "live/names.h"

/* So many alarms of one rule in about a second; the others are counted. */
#define MOST_ALARMS 1000

/* ---- parsing ---- */

/* The parser comes first, so that what it calls finds the rule. */
struct rule_parser {
    struct lull_parser parser;
    struct lull_track_rule *rule;
};

/* "offcpu has no iface; netrx and nettx have" */
static bool refuse_name(struct lull_parser *p, size_t at, const struct lull_track_kind *kind,
                        enum lull_track_name name)
{
    g_autoptr(GPtrArray) having = g_ptr_array_new();
    for (const struct lull_track_kind *other = lull_track_kinds; other->name; other++) {
        if (lull_track_kind_has(other, name)) {
            g_ptr_array_add(having, (gpointer)other->name);
        }
    }
    g_ptr_array_add(having, NULL);
    g_autofree char *others = g_strjoinv(", ", (char **)having->pdata);
    return lull_parser_fail(p, at, "%s has no “%s”; these have: %s", kind->name,
                            lull_track_names[name].name, others);
}

static bool parse_name(struct lull_parser *p, struct lull_operand *operand)
{
    struct lull_track_rule *rule = ((struct rule_parser *)p)->rule;
    const size_t at = p->token.start;
    if (!lull_given_parse(p, lull_track_names, operand)) {
        return false;
    }
    rule->names |= 1u << operand->index;
    return lull_track_kind_has(rule->kind, operand->index) ||
           refuse_name(p, at, rule->kind, operand->index);
}

static bool parse_kind(struct lull_parser *p, struct lull_track_rule *rule)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const struct lull_track_kind *kind = lull_track_kinds; kind->name; kind++) {
        if (lull_parser_sees(p, kind->name)) {
            rule->kind = kind;
            return true;
        }
        g_ptr_array_add(names, (gpointer)kind->name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    const char *meant =
        p->token.kind == LULL_TOKEN_NAME
            ? lull_suggest(lull_parser_text(p, &p->token), (const char *const *)names->pdata)
            : NULL;
    return lull_parser_fail(p, p->token.start, "expected a kind of wait%s%s%s (there are %s)",
                            meant ? ", perhaps “" : "", meant ? meant : "", meant ? "”" : "", all);
}

static bool read_states(struct lull_parser *p, size_t at, const char *text,
                        struct lull_track_rule *rule)
{
    for (const char *c = text; *c; c++) {
        if (*c == 'S' || *c == 'D') {
            rule->states |= *c == 'S' ? LULL_TRACK_STATE_S : LULL_TRACK_STATE_D;
        } else if (*c != '|' && *c != ' ') {
            rule->states = 0;
            break;
        }
    }
    return rule->states || lull_parser_fail(p, at,
                                            "expected a state: S (signals reach it), D (they do "
                                            "not), or S|D");
}

/* NULL: this machine has no system call of that number. */
static const char *call_at(int32_t number)
{
    return call_name_of_number(CALL_NUMBERS_HERE, number);
}

static bool add_call(struct lull_parser *p, size_t at, const char *name,
                     struct lull_track_rule *rule)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    if (rule->n_calls == LULL_TRACK_CALLS) {
        return lull_parser_fail(p, at, "at most %d system calls in a rule", LULL_TRACK_CALLS);
    }
    for (int32_t number = 0; number < LULL_TRACK_MOST_CALL; number++) {
        const char *one = call_at(number);
        if (one && strcmp(one, name) == 0) {
            rule->call[rule->n_calls++] = number;
            return true;
        }
        if (one) {
            g_ptr_array_add(names, (gpointer)one);
        }
    }
    g_ptr_array_add(names, NULL);
    const char *meant = lull_suggest(name, (const char *const *)names->pdata);
    return lull_parser_fail(p, at, "this machine has no system call “%s”%s%s%s", name,
                            meant ? ", perhaps “" : "", meant ? meant : "", meant ? "”" : "");
}

static bool read_calls(struct lull_parser *p, size_t at, const char *text,
                       struct lull_track_rule *rule)
{
    g_auto(GStrv) names = g_strsplit(text, ",", -1);
    for (uint32_t i = 0; names[i]; i++) {
        if (!add_call(p, at, g_strstrip(names[i]), rule)) {
            return false;
        }
    }
    return rule->n_calls || lull_parser_fail(p, at, "expected system calls, as in (read,write)");
}

/* As lull_track_hop has it, from "254:0". False: there is no such disk. */
static bool number_of_disk(const char *name, uint32_t *number)
{
    unsigned int major, minor;
    g_autofree char *dev = g_build_filename("/sys/class/block", name, "dev", NULL);
    g_autofree char *numbers = NULL;
    if (*name == '.' || strchr(name, '/') || !g_file_get_contents(dev, &numbers, NULL, NULL) ||
        sscanf(numbers, "%u:%u", &major, &minor) != 2) {
        return false;
    }
    *number = major << 20 | minor;
    return true;
}

static bool read_disk(struct lull_parser *p, size_t at, const char *text,
                      struct lull_track_rule *rule)
{
    g_autofree char *part = g_build_filename("/sys/class/block", text, "partition", NULL);
    if (!number_of_disk(text, &rule->number)) {
        return lull_parser_fail(p, at, "there is no disk of that name in /sys/class/block");
    }
    if (g_file_test(part, G_FILE_TEST_EXISTS)) {
        return lull_parser_fail(p, at, "that is a partition, but requests go to its disk");
    }
    return true;
}

/* Lines without a handler have a directory, too: one may be requested while tracking. Where none has, as without
 * such a /proc, nobody knows. */
static bool has_line(uint32_t number)
{
    g_autofree char *line = g_strdup_printf("/proc/irq/%" PRIu32, number);
    return g_file_test(line, G_FILE_TEST_IS_DIR) || !g_file_test("/proc/irq", G_FILE_TEST_IS_DIR);
}

static bool read_line(struct lull_parser *p, size_t at, const char *text,
                      struct lull_track_rule *rule)
{
    guint64 number;
    if (!g_ascii_string_to_unsigned(text, 10, 0, UINT32_MAX, &number, NULL)) {
        return lull_parser_fail(p, at,
                                "expected the number of an interrupt, as in /proc/interrupts");
    }
    rule->number = (uint32_t)number;
    return has_line(rule->number) ||
           lull_parser_fail(p, at, "there is no interrupt of that number in /proc/irq");
}

static bool read_vector(struct lull_parser *p, size_t at, const char *text,
                        struct lull_track_rule *rule)
{
    for (uint32_t i = 0; lull_softirq_names[i]; i++) {
        if (strcmp(lull_softirq_names[i], text) == 0) {
            rule->number = i;
            return true;
        }
    }
    g_autofree char *all = g_strjoinv(", ", (char **)lull_softirq_names);
    return lull_parser_fail(p, at, "expected a softirq: %s", all);
}

static bool read_port(struct lull_parser *p, size_t at, const char *text,
                      struct lull_track_rule *rule)
{
    guint64 port;
    if (!g_ascii_string_to_unsigned(text, 10, 1, UINT16_MAX, &port, NULL)) {
        return lull_parser_fail(p, at, "expected the number of a port, from 1 to %d", UINT16_MAX);
    }
    rule->number = (uint32_t)port;
    return true;
}

static bool read_interface(struct lull_parser *p, size_t at, const char *text,
                           struct lull_track_rule *rule)
{
    rule->number = if_nametoindex(text);
    return rule->number || lull_parser_fail(p, at, "there is no network interface of that name");
}

bool lull_track_is_mark(const char *name)
{
    size_t n = 0;
    while (g_ascii_isalnum(name[n]) || (name[n] && strchr("-_.", name[n]))) {
        n++;
    }
    return n > 0 && n <= LULL_TRACK_NAME && !name[n];
}

static bool read_mark(struct lull_parser *p, size_t at, const char *text,
                      struct lull_track_rule *rule)
{
    rule->number = LULL_TRACK_NAME_SEED;
    for (const char *c = text; *c; c++) {
        rule->number = LULL_TRACK_NAME_HASH(rule->number, *c);
    }
    return lull_track_is_mark(text) ||
           lull_parser_fail(p, at,
                            "expected the name of a mark: letters, digits, and - _ . (at most %d)",
                            LULL_TRACK_NAME);
}

/* What stands in parentheses after the kind is no expression: it is read as it is. */
static bool parse_argument(struct lull_parser *p, struct lull_track_rule *rule)
{
    static bool (*const readers[])(struct lull_parser *, size_t, const char *,
                                   struct lull_track_rule *) = {
        [LULL_TRACK_STATES] = read_states,       [LULL_TRACK_DISK] = read_disk,
        [LULL_TRACK_IRQ_NUMBER] = read_line,     [LULL_TRACK_VECTOR] = read_vector,
        [LULL_TRACK_CALL_LIST] = read_calls,     [LULL_TRACK_PORT] = read_port,
        [LULL_TRACK_INTERFACE] = read_interface, [LULL_TRACK_MARK_NAME] = read_mark,
    };
    struct lull_lexer *lexer = &p->lexer;
    const size_t start = p->token.start, at = p->token.end;
    const char *end = memchr(lexer->text + at, ')', lexer->length - at);
    if (rule->kind->argument == LULL_TRACK_NO_ARGUMENT) {
        return lull_parser_fail(p, start, "%s takes nothing in parentheses", rule->kind->name);
    }
    if (!end) {
        return lull_parser_fail(p, start, "the ( has no )");
    }
    g_autofree char *text = g_strndup(lexer->text + at, (gsize)(end - lexer->text) - at);
    lexer->pos = (size_t)(end - lexer->text) + 1;
    rule->argument = lull_arena_strndup(rule->arena, text, strlen(text));
    rule->has_number =
        rule->kind->argument != LULL_TRACK_STATES && rule->kind->argument != LULL_TRACK_CALL_LIST;
    return readers[rule->kind->argument](p, at, text, rule) && lull_parser_advance(p);
}

/* What comes after `word`. */
static bool parse_time(struct lull_parser *p, const char *word, int64_t *time_ns)
{
    if (!lull_parser_advance(p)) {
        return false;
    }
    const struct lull_token token = p->token;
    g_autoptr(GError) why = NULL;
    if (token.kind != LULL_TOKEN_NUMBER) {
        return lull_parser_fail(p, token.start, "expected a time after %s, such as 5ms", word);
    }
    if (!lull_duration_parse(lull_parser_text(p, &token), time_ns, &why)) {
        return lull_parser_fail(p, token.start, "%s", why->message);
    }
    return lull_parser_advance(p);
}

static bool parse_timeout(struct lull_parser *p, struct lull_track_rule *rule)
{
    const size_t start = p->token.start;
    const enum lull_track_measure measure = rule->kind->measure;
    if (measure > LULL_TRACK_SYSCALL || measure == LULL_TRACK_RESPONSE) {
        return lull_parser_fail(p, start,
                                "%s has no time-out: only waits and calls of tasks have "
                                "one",
                                rule->kind->name);
    }
    if (!parse_time(p, "timeout", &rule->timeout_ns)) {
        return false;
    }
    return rule->timeout_ns > 0 || lull_parser_fail(p, start, "a time-out of 0 is over at once");
}

static bool parse_text(struct lull_parser *p, struct lull_track_rule *rule, bool needs_time)
{
    bool has_threshold = !needs_time;
    if (p->lexer.length > LULL_PARSER_MOST_BYTES) {
        return lull_parser_fail(p, LULL_PARSER_MOST_BYTES, "the rule is longer than %d bytes",
                                LULL_PARSER_MOST_BYTES);
    }
    if (!lull_parser_advance(p) || !parse_kind(p, rule) || !lull_parser_advance(p) ||
        (p->token.kind == LULL_TOKEN_OPEN && !parse_argument(p, rule))) {
        return false;
    }
    if (rule->kind->needs_argument && !rule->has_number) {
        const bool is_mark = rule->kind->argument == LULL_TRACK_MARK_NAME;
        return lull_parser_fail(p, p->token.start, "%s needs a %s, as in %s(%s)", rule->kind->name,
                                is_mark ? "name" : "port", rule->kind->name,
                                is_mark ? "checkout" : "80");
    }
    if (p->token.kind == LULL_TOKEN_COLON) {
        if (!lull_parser_advance(p)) {
            return false;
        }
        rule->filter = lull_parser_condition(p);
        if (!rule->filter) {
            return false;
        }
    }
    if (p->token.kind == LULL_TOKEN_GT) {
        has_threshold = true;
        if (!parse_time(p, ">", &rule->threshold_ns)) {
            return false;
        }
    }
    if (lull_parser_sees(p, "timeout")) {
        if (!parse_timeout(p, rule)) {
            return false;
        }
        rule->threshold_ns = has_threshold ? rule->threshold_ns : rule->timeout_ns;
        has_threshold = true;
    }
    if (lull_parser_sees(p, "worst")) {
        rule->is_worst = true;
        if (!lull_parser_advance(p)) {
            return false;
        }
    }
    if (p->token.kind == LULL_TOKEN_COLON && (has_threshold || rule->is_worst)) {
        return lull_parser_fail(
            p, p->token.start, "a filter comes before the time, as in offcpu: comm == \"x\" > 5ms");
    }
    if (p->token.kind != LULL_TOKEN_END || !(has_threshold || rule->is_worst)) {
        return lull_parser_fail(p, p->token.start,
                                has_threshold || rule->is_worst
                                    ? "expected the end of the rule"
                                    : "expected > and a time, as in > 5ms, or timeout, or worst");
    }
    return true;
}

static struct lull_track_rule *parse(const char *text, bool needs_time, GError **error)
{
    struct lull_track_rule *rule = g_new0(struct lull_track_rule, 1);
    struct lull_terms terms = {0};
    GError *why = NULL;
    rule->arena = terms.arena = lull_arena_new();
    rule->text = g_strdup(text);
    rule->argument = "";
    struct rule_parser parser = {.parser = {.lexer = {.text = rule->text,
                                                      .length = strlen(rule->text),
                                                      .what = "the rule",
                                                      .is_rule = true,
                                                      .arena = rule->arena},
                                            .terms = &terms,
                                            .parse_test = lull_parser_test,
                                            .parse_name = parse_name,
                                            .has_strict_not = true,
                                            .stops_at_gt = true,
                                            .error = &why},
                                 .rule = rule};
    if (parse_text(&parser.parser, rule, needs_time)) {
        return rule;
    }
    g_propagate_error(error, why);
    lull_track_rule_free(rule);
    return NULL;
}

struct lull_track_rule *lull_track_rule_parse(const char *text, GError **error)
{
    return parse(text, true, error);
}

struct lull_track_rule *lull_track_rule_parse_any(const char *text, GError **error)
{
    return parse(text, false, error);
}

void lull_track_rule_free(struct lull_track_rule *rule)
{
    if (rule) {
        lull_arena_free(rule->arena);
        g_free(rule->text);
        g_free(rule);
    }
}

/* ---- what the kernel checks ---- */

bool lull_track_rule_names(const struct lull_track_rule *rule, enum lull_track_name name)
{
    return rule->names & 1u << name;
}

/* Whether it is NAME == TEXT. */
static bool is_test_of(const struct lull_node *node, enum lull_track_name name)
{
    return node->kind == LULL_NODE_COMPARE && node->relation == LULL_RELATION_EQ &&
           node->left.kind == LULL_OPERAND_GIVEN && node->left.index == name &&
           node->right.kind == LULL_OPERAND_VALUE && node->right.value.kind == LULL_VALUE_TEXT;
}

static const struct lull_node *find_group_test(const struct lull_node *node)
{
    const struct lull_node *found = is_test_of(node, LULL_TRACK_GROUP_NAME) ? node : NULL;
    for (uint32_t i = 0; node->kind == LULL_NODE_AND && i < node->n && !found; i++) {
        found = find_group_test(node->children[i]);
    }
    return found;
}

char *lull_track_rule_group(const struct lull_track_rule *rule)
{
    const struct lull_node *node = rule->filter ? find_group_test(rule->filter) : NULL;
    return node ? g_strndup(node->right.value.text.data, node->right.value.text.length) : NULL;
}

/* NAME == NUMBER or comm == TEXT. */
static bool compile_test(const struct lull_node *node, struct lull_track_test *test)
{
    static const enum lull_track_test_field fields[] = {
        [LULL_TRACK_COMM_NAME] = LULL_TRACK_TEST_COMM, [LULL_TRACK_PID_NAME] = LULL_TRACK_TEST_PID,
        [LULL_TRACK_TID_NAME] = LULL_TRACK_TEST_TID,   [LULL_TRACK_UID_NAME] = LULL_TRACK_TEST_UID,
        [LULL_TRACK_CPU_NAME] = LULL_TRACK_TEST_CPU,
    };
    const struct lull_value *value = &node->right.value;
    if (node->kind != LULL_NODE_COMPARE || node->relation != LULL_RELATION_EQ ||
        node->left.kind != LULL_OPERAND_GIVEN || node->left.index >= G_N_ELEMENTS(fields) ||
        node->right.kind != LULL_OPERAND_VALUE) {
        return false;
    }
    *test = (struct lull_track_test){.field = fields[node->left.index]};
    if (value->kind == LULL_VALUE_INT && value->bits <= UINT32_MAX) {
        test->number = (uint32_t)value->bits;
        return true;
    }
    if (value->kind != LULL_VALUE_TEXT || value->text.length >= sizeof test->comm ||
        memchr(value->text.data, '\0', value->text.length)) {
        return false;
    }
    memcpy(test->comm, value->text.data, value->text.length);
    return true;
}

/* host == TEXT, and its like, are decided here: on other machines the rule is about a CPU that there is not. */
static bool compile_host(const struct lull_node *node, struct lull_track_kernel_rule *out)
{
    if (node->kind != LULL_NODE_COMPARE || node->left.kind != LULL_OPERAND_GIVEN ||
        node->left.index != LULL_TRACK_HOST_NAME || node->right.kind != LULL_OPERAND_VALUE) {
        return false;
    }
    const char *host = g_get_host_name();
    const struct lull_value here = lull_value_text(host, strlen(host));
    if (!lull_value_compare(&here, node->relation, &node->right.value)) {
        out->test[out->n_tests++] =
            (struct lull_track_test){.field = LULL_TRACK_TEST_CPU, .number = UINT32_MAX};
    }
    return true;
}

/* `group`: the test that is checked elsewhere. */
static bool compile_filter(const struct lull_node *node, const struct lull_node *group,
                           struct lull_track_kernel_rule *out)
{
    bool is_all = true;
    if (node->kind == LULL_NODE_AND) {
        for (uint32_t i = 0; i < node->n; i++) {
            is_all = compile_filter(node->children[i], group, out) && is_all;
        }
        return is_all;
    }
    if (node == group) {
        return true;
    }
    if (out->n_tests == LULL_TRACK_TESTS) {
        return false;
    }
    const bool is_test = compile_test(node, &out->test[out->n_tests]);
    out->n_tests += is_test;
    return is_test || compile_host(node, out);
}

/* The number of the disk in (a conjunction with) disk == "vda". False: it is about others too, or there is none
 * of that name yet. */
static bool find_disk(const struct lull_node *node, uint32_t *number)
{
    bool is_found = false;
    if (is_test_of(node, LULL_TRACK_DISK_NAME)) {
        const struct lull_text *text = &node->right.value.text;
        g_autofree char *name = g_strndup(text->data, text->length);
        is_found = number_of_disk(name, number);
    }
    for (uint32_t i = 0; node->kind == LULL_NODE_AND && i < node->n && !is_found; i++) {
        is_found = find_disk(node->children[i], number);
    }
    return is_found;
}

bool lull_track_rule_compile(const struct lull_track_rule *rule, struct lull_track_kernel_rule *out)
{
    const struct lull_track_kind *kind = rule->kind;
    *out = (struct lull_track_kernel_rule){.threshold_ns = (uint64_t)rule->threshold_ns,
                                           .measure = kind->measure,
                                           .states = rule->states,
                                           .has_number = rule->has_number,
                                           .number = rule->number,
                                           .calls = rule->n_calls ? LULL_TRACK_LISTED_CALLS
                                                                  : kind->calls,
                                           .n_calls = rule->n_calls,
                                           .limit = MOST_ALARMS};
    memcpy(out->call, rule->call, sizeof out->call);
    for (int32_t number = 0; number < LULL_TRACK_MOST_CALL && out->n_calls < LULL_TRACK_CALLS;
         number++) {
        const char *name = call_at(number);
        if (name && g_strv_contains(kind->call, name)) {
            out->call[out->n_calls++] = number;
        }
    }
    if (!rule->filter) {
        return true;
    }
    if (kind->object == LULL_TRACK_HOP_DISK && !rule->has_number) {
        out->has_number = find_disk(rule->filter, &out->number);
    }
    return kind->measure < LULL_TRACK_BLOCK &&
           compile_filter(rule->filter, find_group_test(rule->filter), out);
}
