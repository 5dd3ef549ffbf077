/* SPDX-License-Identifier: MIT */
/* The kinds of waits, and the parser of rules on top of the parser of filters. */
#include "live/rule.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/time.h"
#include "live/names.h"

/* So many alarms of one rule in about a second; the others are counted. */
#define MOST_ALARMS 1000

const struct lull_track_kind lull_track_kinds[] = {
    {.name = "offcpu",
     .help = "from going to sleep to running again; offcpu(D) and offcpu(S): only in that state",
     .measure = LULL_TRACK_OFFCPU,
     .argument = LULL_TRACK_STATES},
    {.name = "wakeup",
     .help = "from being woken, or started, to running: the delay of the scheduler",
     .measure = LULL_TRACK_WAKEUP},
    {.name = "preempt",
     .help = "from losing the CPU while it could run to running again",
     .measure = LULL_TRACK_PREEMPT},
    {.name = "fork",
     .help = "from being started, by fork or clone, to running for the first time",
     .measure = LULL_TRACK_FORK},
    {.name = "response",
     .help = "from the start of the interrupt that wakes a task to when that runs",
     .measure = LULL_TRACK_RESPONSE},
    {.name = "futex",
     .help = "offcpu in futex: locks, conditions, joins",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_LISTED_CALLS,
     .called = LULL_TRACK_IN_FUTEX,
     .call = {"futex", "futex_waitv", "futex_wait"}},
    {.name = "poll",
     .help = "offcpu in poll, select or epoll_wait, and calls like them",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_LISTED_CALLS,
     .called = LULL_TRACK_IN_POLL,
     .call = {"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"}},
    {.name = "fault",
     .help = "offcpu outside of system calls: page faults",
     .measure = LULL_TRACK_OFFCPU,
     .calls = LULL_TRACK_OUTSIDE_CALLS,
     .called = LULL_TRACK_IN_FAULT},
    {.name = "syscall",
     .help = "a system call, whether it waits or computes; syscall(read,write): of these; costs "
             "every call of every task",
     .measure = LULL_TRACK_SYSCALL,
     .argument = LULL_TRACK_CALL_LIST},
    {.name = "block",
     .help =
         "a request from when the disk got it to when it was complete; block(vda): of that disk",
     .measure = LULL_TRACK_BLOCK,
     .argument = LULL_TRACK_DISK,
     .object = LULL_TRACK_HOP_DISK,
     .by = "issued by"},
    {.name = "queue",
     .help = "a request from when the scheduler of the disk got it to when the disk gets it; "
             "queue(vda)",
     .measure = LULL_TRACK_QUEUE,
     .argument = LULL_TRACK_DISK,
     .object = LULL_TRACK_HOP_DISK,
     .by = "issued by"},
    {.name = "irq",
     .help = "the handler of an interrupt; irq(24): of that line",
     .measure = LULL_TRACK_IRQ,
     .argument = LULL_TRACK_IRQ_NUMBER,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_IRQ,
     .by = "interrupted"},
    {.name = "softirq",
     .help = "a softirq; softirq(NET_RX): of that vector",
     .measure = LULL_TRACK_SOFTIRQ,
     .argument = LULL_TRACK_VECTOR,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_SOFTIRQ,
     .by = "interrupted"},
    {.name = "raise",
     .help = "a softirq from when it was raised first to when it starts; raise(NET_RX): of that "
             "vector",
     .measure = LULL_TRACK_RAISE,
     .argument = LULL_TRACK_VECTOR,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_SOFTIRQ,
     .by = "interrupted"},
    {.name = "serve",
     .help = "a request, from when the server of that TCP port reads it to when it has sent the "
             "start of the answer; serve(80)",
     .measure = LULL_TRACK_SERVE,
     .argument = LULL_TRACK_PORT,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "read by"},
    {.name = "ask",
     .help =
         "a request, from when it is sent to that port to when the start of the answer is read; "
         "ask(5432)",
     .measure = LULL_TRACK_ASK,
     .argument = LULL_TRACK_PORT,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "sent by"},
    {.name = "ttfb",
     .help =
         "from when a server has a new connection to when it has sent the first byte; ttfb(80): "
         "at that TCP port",
     .measure = LULL_TRACK_TTFB,
     .argument = LULL_TRACK_PORT,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "answered by"},
    {.name = "connect",
     .help = "from when a TCP connection is asked for to when it is there, or has failed; "
             "connect(5432): to that port",
     .measure = LULL_TRACK_CONNECT,
     .argument = LULL_TRACK_PORT,
     .object = LULL_TRACK_HOP_CONNECTION,
     .by = "asked for by"},
    {.name = "netrx",
     .help = "a packet of TCP, from when the interface received it to when a program reads it; "
             "netrx(eth0)",
     .measure = LULL_TRACK_NETRX,
     .argument = LULL_TRACK_INTERFACE,
     .object = LULL_TRACK_HOP_INTERFACE,
     .by = "read by"},
    {.name = "nettx",
     .help = "a packet, from when it is queued to when the interface's driver gets it; nettx(eth0)",
     .measure = LULL_TRACK_NETTX,
     .argument = LULL_TRACK_INTERFACE,
     .object = LULL_TRACK_HOP_INTERFACE,
     .by = "queued by"},
    {.name = "timer",
     .help = "from when a timer (hrtimer) should have expired at the latest to when it does",
     .measure = LULL_TRACK_TIMER,
     .has_no_task = true,
     .object = LULL_TRACK_HOP_EXPIRY,
     .by = "interrupted"},
    {.name = "work",
     .help = "work that the kernel puts off, from when it is queued to when a worker starts it",
     .measure = LULL_TRACK_WORK,
     .object = LULL_TRACK_HOP_WORK,
     .by = "queued by"},
    {.name = "lock",
     .help = "waiting for a lock of the kernel's, spinning or asleep",
     .measure = LULL_TRACK_LOCK},
    {.name = "reclaim",
     .help = "freeing memory before getting some, of the machine or of the control group",
     .measure = LULL_TRACK_RECLAIM},
    {.name = "exec",
     .help = "execve, from when the new program is read to when the old one is gone",
     .measure = LULL_TRACK_EXEC},
    {.name = "mark",
     .help = "what programs with lull/mark.h, or 'lull mark', say: from lull_mark_begin() to "
             "lull_mark_end(); mark(checkout)",
     .measure = LULL_TRACK_MARK,
     .argument = LULL_TRACK_MARK_NAME,
     .needs_argument = true,
     .object = LULL_TRACK_HOP_MARK,
     .by = "begun by"},
    {.name = NULL},
};

const struct lull_given_name lull_track_names[] = {
    [LULL_TRACK_COMM_NAME] = {"comm", LULL_VALUE_TEXT},
    [LULL_TRACK_PID_NAME] = {"pid", LULL_VALUE_INT},
    [LULL_TRACK_TID_NAME] = {"tid", LULL_VALUE_INT},
    [LULL_TRACK_UID_NAME] = {"uid", LULL_VALUE_INT},
    [LULL_TRACK_CPU_NAME] = {"cpu", LULL_VALUE_INT},
    [LULL_TRACK_CALL_NAME] = {"call", LULL_VALUE_TEXT},
    [LULL_TRACK_WAKER_NAME] = {"waker_comm", LULL_VALUE_TEXT},
    [LULL_TRACK_RW_NAME] = {"rw", LULL_VALUE_TEXT},
    [LULL_TRACK_LPORT_NAME] = {"lport", LULL_VALUE_INT},
    [LULL_TRACK_RPORT_NAME] = {"rport", LULL_VALUE_INT},
    [LULL_TRACK_RADDR_NAME] = {"raddr", LULL_VALUE_TEXT},
    [LULL_TRACK_NAMES] = {NULL, LULL_VALUE_NONE},
};

/* ---- parsing ---- */

static bool parse_name(struct lull_parser *p, struct lull_operand *operand)
{
    return lull_given_parse(p, lull_track_names, operand);
}

static bool parse_kind(struct lull_parser *p, struct lull_track_rule *rule)
{
    const char *names[G_N_ELEMENTS(lull_track_kinds)];
    uint32_t i;
    for (i = 0; lull_track_kinds[i].name; i++) {
        names[i] = lull_track_kinds[i].name;
        if (lull_parser_sees(p, names[i])) {
            rule->kind = &lull_track_kinds[i];
            return true;
        }
    }
    names[i] = NULL;
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    const char *meant = p->token.kind == LULL_TOKEN_NAME
                            ? lull_suggest(lull_parser_text(p, &p->token), names)
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
    return call_name_of_number(LULL_TRACK_CALL_NUMBERS, number);
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

/* As lull_track_hop has it, from "254:0". */
static bool read_disk(struct lull_parser *p, size_t at, const char *text,
                      struct lull_track_rule *rule)
{
    unsigned int major, minor;
    g_autofree char *dev = g_build_filename("/sys/class/block", text, "dev", NULL);
    g_autofree char *part = g_build_filename("/sys/class/block", text, "partition", NULL);
    g_autofree char *numbers = NULL;
    if (*text == '.' || strchr(text, '/') || !g_file_get_contents(dev, &numbers, NULL, NULL) ||
        sscanf(numbers, "%u:%u", &major, &minor) != 2) {
        return lull_parser_fail(p, at, "there is no disk of that name in /sys/class/block");
    }
    if (g_file_test(part, G_FILE_TEST_EXISTS)) {
        return lull_parser_fail(p, at, "that is a partition; requests are of its disk");
    }
    rule->number = major << 20 | minor;
    return true;
}

static bool read_number(struct lull_parser *p, size_t at, const char *text,
                        struct lull_track_rule *rule)
{
    guint64 number;
    if (!g_ascii_string_to_unsigned(text, 10, 0, UINT32_MAX, &number, NULL)) {
        return lull_parser_fail(p, at,
                                "expected the number of an interrupt, as in /proc/interrupts");
    }
    rule->number = (uint32_t)number;
    return true;
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
        [LULL_TRACK_IRQ_NUMBER] = read_number,   [LULL_TRACK_VECTOR] = read_vector,
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
        return lull_parser_fail(p, start, "%s has no time-out: only waits and calls of tasks have",
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
    struct lull_parser parser = {.lexer = {.text = rule->text,
                                           .length = strlen(rule->text),
                                           .what = "the rule",
                                           .is_rule = true,
                                           .arena = rule->arena},
                                 .terms = &terms,
                                 .parse_test = lull_parser_test,
                                 .parse_name = parse_name,
                                 .has_strict_not = true,
                                 .stops_at_gt = true,
                                 .error = &why};
    if (parse_text(&parser, rule, needs_time)) {
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

static bool compile_filter(const struct lull_node *node, struct lull_track_kernel_rule *out)
{
    bool is_all = true;
    if (node->kind == LULL_NODE_AND) {
        for (uint32_t i = 0; i < node->n; i++) {
            is_all = compile_filter(node->children[i], out) && is_all;
        }
        return is_all;
    }
    if (out->n_tests == LULL_TRACK_TESTS || !compile_test(node, &out->test[out->n_tests])) {
        return false;
    }
    out->n_tests++;
    return true;
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
    return kind->measure < LULL_TRACK_BLOCK && compile_filter(rule->filter, out);
}
