/* SPDX-License-Identifier: MIT */
/* Joins chains of an interval that read the same to rows, filters them and puts them in order. */
#include "live/rows.h"

#include <string.h>

#include "live/alarm.h"

const char *const lull_live_end_words[LULL_LIVE_ENDS] = {
    "CPU", "disk", "network", "timer", "interrupt", "running", "unknown",
};

/* ---- filters ---- */

enum name { COMM, PID, CALL, STATE, WAKER, END, NAMES };

static const struct lull_given_name names[] = {
    [COMM] = {"comm", LULL_VALUE_TEXT},        [PID] = {"pid", LULL_VALUE_INT},
    [CALL] = {"call", LULL_VALUE_TEXT},        [STATE] = {"state", LULL_VALUE_TEXT},
    [WAKER] = {"waker_comm", LULL_VALUE_TEXT}, [END] = {"end", LULL_VALUE_TEXT},
    [NAMES] = {NULL, LULL_VALUE_NONE},
};

struct lull_live_filter {
    char *text;
    struct lull_arena *arena;
    const struct lull_node *condition;
};

static bool parse_name(struct lull_parser *p, struct lull_operand *operand)
{
    return lull_given_parse(p, names, operand);
}

static bool parse(struct lull_parser *p, struct lull_live_filter *filter)
{
    if (p->lexer.length > LULL_PARSER_MOST_BYTES) {
        return lull_parser_fail(p, LULL_PARSER_MOST_BYTES, "the filter is longer than %d bytes",
                                LULL_PARSER_MOST_BYTES);
    }
    if (!lull_parser_advance(p)) {
        return false;
    }
    filter->condition = lull_parser_condition(p);
    return filter->condition &&
           (p->token.kind == LULL_TOKEN_END ||
            lull_parser_fail(p, p->token.start, "expected the end of the filter"));
}

struct lull_live_filter *lull_live_filter_parse(const char *text, GError **error)
{
    struct lull_live_filter *filter = g_new0(struct lull_live_filter, 1);
    struct lull_terms terms = {0};
    GError *why = NULL;
    filter->arena = terms.arena = lull_arena_new();
    filter->text = g_strdup(text);
    struct lull_parser parser = {.lexer = {.text = filter->text,
                                           .length = strlen(filter->text),
                                           .what = "the filter",
                                           .is_rule = true,
                                           .arena = filter->arena},
                                 .terms = &terms,
                                 .parse_test = lull_parser_test,
                                 .parse_name = parse_name,
                                 .has_strict_not = true,
                                 .error = &why};
    if (parse(&parser, filter)) {
        return filter;
    }
    g_propagate_error(error, why);
    lull_live_filter_free(filter);
    return NULL;
}

const char *lull_live_filter_text(const struct lull_live_filter *filter)
{
    return filter->text;
}

void lull_live_filter_free(struct lull_live_filter *filter)
{
    if (filter) {
        lull_arena_free(filter->arena);
        g_free(filter->text);
        g_free(filter);
    }
}

static struct lull_value text_value(const char *text)
{
    return lull_value_text(text, strlen(text));
}

static bool is_wanted(const struct lull_live_filter *filter, const struct lull_live_row *row)
{
    const struct lull_track_chain *key = row->key;
    const char state[] = {lull_track_state_letter(key->state), '\0'};
    struct lull_value values[NAMES] = {
        [COMM] = text_value(key->comm),
        [PID] = lull_value_int(key->tgid),
        [STATE] = text_value(state),
        [END] = text_value(lull_live_end_words[row->end]),
    };
    if (!filter) {
        return true;
    }
    if (row->call) {
        values[CALL] = text_value(row->call);
    }
    if (key->link[0].kind == LULL_TRACK_HOP_TASK) {
        values[WAKER] = text_value(key->link[0].comm);
    }
    return lull_given_holds(filter->condition, values);
}

/* ---- one chain ---- */

static enum lull_live_end end_of(const struct lull_track_chain *key, uint32_t n_links)
{
    static const enum lull_live_end ends[LULL_TRACK_HOP_KINDS] = {
        [LULL_TRACK_HOP_NONE] = LULL_LIVE_END_UNKNOWN,
        [LULL_TRACK_HOP_TASK] = LULL_LIVE_END_TASK,
        [LULL_TRACK_HOP_TIMER] = LULL_LIVE_END_TIMER,
        [LULL_TRACK_HOP_IRQ] = LULL_LIVE_END_INTERRUPT,
        [LULL_TRACK_HOP_SOFTIRQ] = LULL_LIVE_END_INTERRUPT,
        [LULL_TRACK_HOP_INTERRUPT] = LULL_LIVE_END_INTERRUPT,
        [LULL_TRACK_HOP_DISK] = LULL_LIVE_END_DISK,
        [LULL_TRACK_HOP_PACKET] = LULL_LIVE_END_NETWORK,
    };
    if (key->state == 0) {
        return LULL_LIVE_END_CPU;
    }
    return key->flags & LULL_TRACK_IS_CUT || n_links == 0 ? LULL_LIVE_END_UNKNOWN
                                                          : ends[key->link[n_links - 1].kind];
}

/* What functions wait for that nothing else goes through: those of the block layer, of sockets to other
 * machines, and of sleeping. Most functions wait for whatever the caller wants. */
static enum lull_live_end end_of_function(const char *function)
{
    static const struct {
        const char *start; /* of the name */
        enum lull_live_end end;
    } known[] = {
        {"hrtimer_nanosleep", LULL_LIVE_END_TIMER},
        {"do_nanosleep", LULL_LIVE_END_TIMER},
        {"msleep", LULL_LIVE_END_TIMER},
        {"blk_", LULL_LIVE_END_DISK},
        {"blkdev_", LULL_LIVE_END_DISK},
        {"__blkdev_", LULL_LIVE_END_DISK},
        {"submit_bio_wait", LULL_LIVE_END_DISK},
        {"rq_qos_wait", LULL_LIVE_END_DISK},
        {"jbd2_", LULL_LIVE_END_DISK},
        {"iomap_dio_", LULL_LIVE_END_DISK},
        {"__iomap_dio_", LULL_LIVE_END_DISK},
        {"xfs_log_", LULL_LIVE_END_DISK},
        {"inet_csk_accept", LULL_LIVE_END_NETWORK},
        {"inet_csk_wait_for_connect", LULL_LIVE_END_NETWORK},
        {"tcp_", LULL_LIVE_END_NETWORK},
        {"udp_", LULL_LIVE_END_NETWORK},
        {"inet_", LULL_LIVE_END_NETWORK},
        {"sk_wait_data", LULL_LIVE_END_NETWORK},
        {"rpc_", LULL_LIVE_END_NETWORK},
        {"nfs_", LULL_LIVE_END_NETWORK},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(known); i++) {
        if (g_str_has_prefix(function, known[i].start)) {
            return known[i].end;
        }
    }
    return LULL_LIVE_END_UNKNOWN;
}

static struct lull_live_row row_of(const struct lull_live_chain *chain)
{
    const struct lull_track_chain *key = &chain->key;
    struct lull_live_row row = {.key = key,
                                .n_processes = 1,
                                .function = chain->function,
                                .waited_ns = (int64_t)chain->sum.ns,
                                .longest_ns = (int64_t)chain->sum.longest_ns,
                                .waits = chain->sum.waits};
    while (row.n_links < LULL_TRACK_HOPS && key->link[row.n_links].kind != LULL_TRACK_HOP_NONE) {
        row.n_links++;
    }
    if (key->call >= 0 && !(key->flags & LULL_TRACK_IS_COMPAT)) {
        row.call = call_name_of_number(CALL_NUMBERS_HERE, key->call);
    }
    row.end = end_of(key, row.n_links);
    if (chain->function) {
        row.end = end_of_function(chain->function);
    }
    row.is_idle =
        (row.end == LULL_LIVE_END_TIMER && row.n_links <= 1) ||
        (key->flags & LULL_TRACK_IS_KERNEL && key->state && !(key->state & LULL_TRACK_STATE_D));
    return row;
}

/* ---- what reads the same ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Two tasks are the same in a row if they have the same name. */
static int compare_links(const struct lull_track_link *a, const struct lull_track_link *b,
                         bool by_process)
{
    int order = compare_numbers(a->kind, b->kind);
    if (order == 0 && a->kind == LULL_TRACK_HOP_TASK && !by_process) {
        return strcmp(a->comm, b->comm);
    }
    order = order ? order : compare_numbers(a->a, b->a);
    order = order ? order : compare_numbers(a->b, b->b);
    return order ? order : memcmp(a->address, b->address, sizeof a->address);
}

static int compare_reading(const struct lull_live_row *left, const struct lull_live_row *right,
                           bool by_process)
{
    const struct lull_track_chain *a = left->key, *b = right->key;
    int order = strcmp(a->comm, b->comm);
    if (order == 0 && by_process) {
        order = compare_numbers(a->tgid, b->tgid);
    }
    order = order ? order : compare_numbers((uint32_t)a->call, (uint32_t)b->call);
    order = order ? order : compare_numbers(a->state, b->state);
    order = order ? order : compare_numbers(a->flags, b->flags);
    order = order ? order : g_strcmp0(left->function, right->function);
    for (uint32_t i = 0; i < LULL_TRACK_HOPS && order == 0; i++) {
        order = compare_links(&a->link[i], &b->link[i], by_process);
    }
    return order;
}

/* What reads the same side by side, and of that the same process. */
static int compare_rows(const void *a, const void *b, void *by_process)
{
    const struct lull_live_row *left = a, *right = b;
    const int order = compare_reading(left, right, by_process != NULL);
    return order ? order : compare_numbers(left->key->tgid, right->key->tgid);
}

static void join(struct lull_live_row *row, const struct lull_live_row *more, uint32_t last_pid)
{
    row->n_processes += more->key->tgid != last_pid;
    row->waited_ns += more->waited_ns;
    row->longest_ns = MAX(row->longest_ns, more->longest_ns);
    row->waits += more->waits;
}

/* Rows that are sorted by what they read become one each. */
static void join_rows(GArray *rows, bool by_process)
{
    guint n = 0;
    uint32_t last_pid = 0;
    struct lull_live_row *row = (struct lull_live_row *)rows->data;
    for (guint i = 0; i < rows->len; i++) {
        const struct lull_live_row next = row[i];
        if (n > 0 && compare_reading(&row[n - 1], &next, by_process) == 0) {
            join(&row[n - 1], &next, last_pid);
        } else {
            row[n++] = next;
        }
        last_pid = next.key->tgid;
    }
    g_array_set_size(rows, n);
}

/* ---- order ---- */

/* Largest first; what is equal by who and what it is, so that the order never depends on chance. */
static int compare_shown(const void *a, const void *b, void *order)
{
    const struct lull_live_row *left = a, *right = b;
    int result = 0;
    switch (GPOINTER_TO_INT(order)) {
    case LULL_LIVE_BY_LONGEST:
        result = compare_numbers((uint64_t)right->longest_ns, (uint64_t)left->longest_ns);
        break;
    case LULL_LIVE_BY_WAITS:
        result = compare_numbers(right->waits, left->waits);
        break;
    case LULL_LIVE_BY_NAME:
        result = strcmp(left->key->comm, right->key->comm);
        break;
    }
    result =
        result ? result : compare_numbers((uint64_t)right->waited_ns, (uint64_t)left->waited_ns);
    return result ? result : compare_reading(left, right, true);
}

void lull_live_rows_make(struct lull_live_rows *rows, const struct lull_interval *interval,
                         const struct lull_live_filter *filter, enum lull_live_order order,
                         bool by_process)
{
    *rows =
        (struct lull_live_rows){.rows = g_array_new(FALSE, FALSE, sizeof(struct lull_live_row))};
    for (guint i = 0; i < interval->chains->len; i++) {
        const struct lull_live_row row =
            row_of(&g_array_index(interval->chains, struct lull_live_chain, i));
        rows->waited_ns += row.waited_ns;
        rows->by_end_ns[row.end] += row.waited_ns;
        if (is_wanted(filter, &row)) {
            g_array_append_val(rows->rows, row);
        }
    }
    g_array_sort_with_data(rows->rows, compare_rows, by_process ? rows : NULL);
    join_rows(rows->rows, by_process);
    g_array_sort_with_data(rows->rows, compare_shown, GINT_TO_POINTER(order));
}

void lull_live_rows_clear(struct lull_live_rows *rows)
{
    g_array_unref(rows->rows);
}
