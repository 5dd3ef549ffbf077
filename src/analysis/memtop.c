/* SPDX-License-Identifier: MIT */
/* Who allocated and freed pages of memory. Blocks count with all their pages (2^order). What was
 * done in an interrupt is not the doing of the task that it interrupted: interrupts, idle CPUs and
 * CPUs of which it is not known who was on them have rows of their own, so that rows sum to the
 * totals. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/slots.h"
#include "kernel/vocabulary.h"

enum { ORDERS = 64 };

/* Whom pages are charged to. */
enum user_kind { USER_TASK, USER_INTERRUPT, USER_IDLE, USER_UNKNOWN, USER_KINDS };

struct pages {
    uint64_t count[2]; /* blocks allocated, freed */
    uint64_t pages[2]; /* of these; saturates */
};

struct page_user {
    uint8_t kind; /* enum user_kind */
    uint32_t host, task;
    int64_t last_ns; /* when it was seen last: names it */
    struct pages pages;
};

struct memtop {
    struct lull_analysis head;
    LULL_VEC(struct page_user) users; /* in order of appearance */
    struct lull_slots by_task;        /* task → index + 1 */
    struct lull_slots by_kind;        /* host, kind → index + 1 */
    LULL_VEC(struct pages) orders;    /* by host, ORDERS each */
    uint64_t without_order;
    int64_t end_ns;
};

/* ---- facts ---- */

static enum user_kind kind_of(const struct memtop *top, const struct lull_page_fact *fact)
{
    uint32_t task;
    int64_t since_ns;
    if (fact->in_interrupt) {
        return USER_INTERRUPT;
    }
    if (fact->task != LULL_NONE) {
        return USER_TASK;
    }
    return lull_model_running(top->head.model, fact->host, fact->cpu, &task, &since_ns)
               ? USER_IDLE
               : USER_UNKNOWN;
}

static struct page_user *user_of(struct memtop *top, enum user_kind kind, uint32_t host,
                                 uint32_t task)
{
    task = lull_params_row(top->head.params, top->head.model, task);
    uint32_t *slot = kind == USER_TASK ? lull_slots_at(&top->by_task, task)
                                       : lull_slots_at(&top->by_kind, host * USER_KINDS + kind);
    if (*slot == 0) {
        lull_vec_push(&top->users, (struct page_user){.kind = kind, .host = host, .task = task});
        *slot = (uint32_t)top->users.count;
    }
    return &top->users.items[*slot - 1];
}

static void add_pages(struct pages *pages, const struct lull_page_fact *fact)
{
    uint64_t *sum = &pages->pages[fact->is_free];
    pages->count[fact->is_free]++;
    if (__builtin_add_overflow(*sum, UINT64_C(1) << fact->order, sum)) {
        *sum = UINT64_MAX;
    }
}

static void memtop_page(void *user, const struct lull_page_fact *fact)
{
    struct memtop *top = user;
    const enum user_kind kind = kind_of(top, fact);
    const uint32_t task = kind == USER_TASK ? fact->task : LULL_NONE;
    if (!lull_params_want_cpu(top->head.params, fact->host, fact->cpu) ||
        !lull_params_want_task(top->head.params, top->head.model, task, fact->time_ns)) {
        return;
    }
    struct page_user *who = user_of(top, kind, fact->host, task);
    who->last_ns = fact->time_ns;
    add_pages(&who->pages, fact);
    while (top->orders.count < ((size_t)fact->host + 1) * ORDERS) {
        lull_vec_push(&top->orders, (struct pages){0});
    }
    add_pages(&top->orders.items[(size_t)fact->host * ORDERS + fact->order], fact);
    top->without_order += !fact->has_order;
}

static void memtop_close(struct lull_analysis *analysis, int64_t end_ns)
{
    ((struct memtop *)analysis)->end_ns = end_ns;
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define PROCESS {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0}

static const struct lull_result_column allocated_columns[] = {
    HOST,
    PROCESS,
    {"Allocations", "ALLOCATIONS", "allocations", LULL_CELL_NUMBER, "allocations", LULL_USE_OWN},
    {"Allocated pages", "PAGES", "pages", LULL_CELL_NUMBER, "pages", LULL_USE_BAR},
    {0}};
static const struct lull_result_column freed_columns[] = {
    HOST,
    PROCESS,
    {"Frees", "FREES", "frees", LULL_CELL_NUMBER, "frees", LULL_USE_OWN},
    {"Freed pages", "PAGES", "pages", LULL_CELL_NUMBER, "pages", LULL_USE_BAR},
    {0}};
static const struct lull_result_column total_columns[] = {
    HOST,
    {"Total allocated pages", "ALLOCATED", "allocated_pages", LULL_CELL_NUMBER, "pages", 0},
    {"Total freed pages", "FREED", "freed_pages", LULL_CELL_NUMBER, "pages", 0},
    {"Allocated less freed pages", "GROWTH", "growth_pages", LULL_CELL_NUMBER, "pages",
     LULL_USE_OWN},
    {0}};
static const struct lull_result_column order_columns[] = {
    HOST,
    {"Order", "ORDER", "order", LULL_CELL_NUMBER, NULL, 0},
    {"Allocations", "ALLOCATIONS", "allocations", LULL_CELL_NUMBER, "allocations", 0},
    {"Allocated pages", "ALLOCATED", "allocated_pages", LULL_CELL_NUMBER, "pages", LULL_USE_BAR},
    {"Frees", "FREES", "frees", LULL_CELL_NUMBER, "frees", 0},
    {"Freed pages", "FREED", "freed_pages", LULL_CELL_NUMBER, "pages", LULL_USE_BAR},
    {0}};
static const struct lull_result_column summary_columns[] = {
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    {"Total allocated pages", "ALLOCATED", "allocated_pages", LULL_CELL_NUMBER, "pages", 0},
    {"Total freed pages", "FREED", "freed_pages", LULL_CELL_NUMBER, "pages", 0},
    {0}};

static const struct lull_result_class allocated_class = {
    "allocd", "Per-TID top allocated memory", allocated_columns, LULL_TABLE_PLAIN, false, false};
static const struct lull_result_class freed_class = {
    "freed", "Per-TID top freed memory", freed_columns, LULL_TABLE_PLAIN, false, false};
static const struct lull_result_class total_class = {
    "total", "Total allocated/freed memory", total_columns, LULL_TABLE_PLAIN, false, false};
static const struct lull_result_class order_class = {
    "by-order", "Memory by order of the blocks", order_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class summary_class = {
    "summary", "Memory usage - summary", summary_columns, LULL_TABLE_PLAIN, false, true};

static struct lull_cell pages_cell(uint64_t count)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)MIN(count, INT64_MAX));
}

struct ranking {
    const struct memtop *top;
    bool is_free;
    uint32_t *order; /* of users */
};

static void user_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    static const char *const names[USER_KINDS] = {
        [USER_INTERRUPT] = "interrupts", [USER_IDLE] = "idle", [USER_UNKNOWN] = "unknown"};
    const struct ranking *ranking = user;
    const struct memtop *top = ranking->top;
    const struct page_user *who = &top->users.items[ranking->order[row]];
    *cells++ = lull_cell_host_of(&top->head, who->host);
    *cells++ = who->kind == USER_TASK
                   ? lull_cell_task(top->head.model, who->task, who->last_ns, false)
                   : lull_cell_text(LULL_CELL_PROCESS, names[who->kind]);
    *cells++ = pages_cell(who->pages.count[ranking->is_free]);
    *cells = pages_cell(who->pages.pages[ranking->is_free]);
}

/* Most pages first, then in order of appearance. */
static int compare_users(const void *a, const void *b, void *user)
{
    const struct ranking *ranking = user;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t x_pages = ranking->top->users.items[x].pages.pages[ranking->is_free];
    const uint64_t y_pages = ranking->top->users.items[y].pages.pages[ranking->is_free];
    if (x_pages != y_pages) {
        return x_pages > y_pages ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

static void emit_ranking(const struct memtop *top, bool is_free, struct lull_sink *sink)
{
    const uint32_t n = (uint32_t)top->users.count, limit = top->head.params->limit;
    struct ranking ranking = {top, is_free, g_new(uint32_t, MAX(n, 1))};
    for (uint32_t i = 0; i < n; i++) {
        ranking.order[i] = i;
    }
    qsort_r(ranking.order, n, sizeof *ranking.order, compare_users, &ranking);
    sink->table(sink,
                &(struct lull_result_table){.class = is_free ? &freed_class : &allocated_class,
                                            .n_rows = limit ? MIN(n, limit) : n,
                                            .row = user_row,
                                            .user = &ranking});
    g_free(ranking.order);
}

static uint64_t sum_of(const struct memtop *top, size_t first, size_t n, bool is_free)
{
    uint64_t sum = 0;
    for (size_t i = first; i < first + n && i < top->orders.count; i++) {
        if (__builtin_add_overflow(sum, top->orders.items[i].pages[is_free], &sum)) {
            return UINT64_MAX;
        }
    }
    return sum;
}

/* What was not recorded is not 0; lttng-analyses says so nevertheless. */
static bool is_recorded(const struct memtop *top, uint32_t host, enum lull_event_id id)
{
    return !top->head.session || top->head.params->is_lami ||
           lull_session_declares(top->head.session, host, lull_vocabulary_names(id));
}

static void total_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct memtop *top = user;
    const uint64_t allocated = sum_of(top, row * ORDERS, ORDERS, false);
    const uint64_t freed = sum_of(top, row * ORDERS, ORDERS, true);
    const bool has_allocated = is_recorded(top, (uint32_t)row, LULL_EVENT_page_alloc);
    const bool has_freed = is_recorded(top, (uint32_t)row, LULL_EVENT_page_free);
    const struct lull_cell unknown = lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    *cells++ = lull_cell_host_of(&top->head, (uint32_t)row);
    *cells++ = has_allocated ? pages_cell(allocated) : unknown;
    *cells++ = has_freed ? pages_cell(freed) : unknown;
    *cells = has_allocated && has_freed
                 ? lull_cell_integer(LULL_CELL_NUMBER, (int64_t)(allocated - freed))
                 : unknown;
}

static void summary_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct memtop *top = user;
    cells[0] = lull_cell_integer(LULL_CELL_TIME_RANGE, top->head.start_ns);
    cells[0].end = top->end_ns;
    cells[1] = pages_cell(sum_of(top, 0, top->orders.count, false));
    cells[2] = pages_cell(sum_of(top, 0, top->orders.count, true));
}

struct order_rows {
    const struct memtop *top;
    LULL_VEC(uint32_t) rows; /* indices in orders */
};

static void order_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct order_rows *list = user;
    const uint32_t index = list->rows.items[row];
    const struct pages *pages = &list->top->orders.items[index];
    *cells++ = lull_cell_host_of(&list->top->head, index / ORDERS);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, index % ORDERS);
    *cells++ = pages_cell(pages->count[false]);
    *cells++ = pages_cell(pages->pages[false]);
    *cells++ = pages_cell(pages->count[true]);
    *cells = pages_cell(pages->pages[true]);
}

static void emit_orders(const struct memtop *top, struct lull_sink *sink)
{
    struct order_rows list = {.top = top};
    for (uint32_t i = 0; i < top->orders.count; i++) {
        if (top->orders.items[i].count[0] || top->orders.items[i].count[1]) {
            lull_vec_push(&list.rows, i);
        }
    }
    sink->table(sink, &(struct lull_result_table){.class = &order_class,
                                                  .n_rows = list.rows.count,
                                                  .row = order_row,
                                                  .user = &list});
    lull_vec_free(&list.rows);
}

static void memtop_emit(struct lull_analysis *analysis, const struct lull_window *window,
                        struct lull_sink *sink)
{
    struct memtop *top = (struct memtop *)analysis;
    lull_note_count(sink, top->without_order,
                    "event does not say how many pages it is about: it counts as one",
                    "events do not say how many pages they are about: each counts as one");
    while (top->orders.count < ORDERS) { /* nothing was seen: the totals are 0 */
        lull_vec_push(&top->orders, (struct pages){0});
    }
    emit_ranking(top, false, sink);
    emit_ranking(top, true, sink);
    sink->table(sink, &(struct lull_result_table){.class = &total_class,
                                                  .n_rows = top->orders.count / ORDERS,
                                                  .row = total_row,
                                                  .user = top});
    if (analysis->params->by_order) {
        emit_orders(top, sink);
    }
    if (analysis->params->is_lami && analysis->params->has_windows) {
        sink->table(sink,
                    &(struct lull_result_table){
                        .class = &summary_class, .n_rows = 1, .row = summary_row, .user = top});
    }
}

static void memtop_free(struct lull_analysis *analysis)
{
    struct memtop *top = (struct memtop *)analysis;
    lull_vec_free(&top->users);
    lull_vec_free(&top->orders);
    lull_slots_free(&top->by_task);
    lull_slots_free(&top->by_kind);
}

const struct lull_analysis_class lull_analysis_memtop = {
    .name = "memtop",
    .title = "Top memory usage",
    .description = "Per-TID top allocated/freed memory",
    .tags = (const char *const[]){"memory", "top", NULL},
    .tables =
        (const struct lull_result_class *const[]){&allocated_class, &freed_class, &total_class,
                                                  &summary_class, &order_class, NULL},
    .question = "memory",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_MEMORY,
    .is_by_host = true,
    .size = sizeof(struct memtop),
    .facts = {.page = memtop_page},
    .close = memtop_close,
    .emit = memtop_emit,
    .free = memtop_free,
};
