/* SPDX-License-Identifier: MIT */
/* What tasks did in each state. Facts come when what they report is over, so intervals of rows and
 * those of their tasks are kept, and laid over one another when all is read. Of what no fact tells,
 * nothing is known: all the time of a state is in its lines. */
#include "analysis/states_kernel.h"

#include "base/map.h"
#include "base/sums.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"

enum { MOST_INTERVALS = 10000000 };

/* What a task did, or a system call that it was in: `call` is of a call, or of what it blocked in. */
struct piece {
    int64_t start_ns, end_ns;
    uint32_t call; /* label, or LULL_NONE */
    uint8_t state, cause;
    bool is_woken; /* PREEMPTED: nobody took the CPU from it */
};

struct track {
    LULL_VEC(struct piece) states, calls;
};

struct sum {
    uint32_t row, cell, call;
    uint8_t state, cause;
    bool is_woken;
    int64_t ns, of_ns; /* of the row's in that state */
};

struct states_kernel {
    struct lull_model *model;
    struct lull_map by_tid; /* host and tid → track */
    LULL_VEC(struct track) tracks;
    LULL_VEC(struct states_interval) intervals;
    uint64_t n_refused;
    LULL_VEC(struct sum) sums; /* of the group that is shown */
};

/* ---- reading ---- */

static uint64_t key_of(uint32_t host, int64_t tid)
{
    return (uint64_t)host << 32 | (uint32_t)tid;
}

static struct track *track_of(struct states_kernel *kernel, uint32_t host, int64_t tid)
{
    const uint32_t at = lull_map_find(&kernel->by_tid, key_of(host, tid));
    return at == LULL_MAP_NONE ? NULL : &kernel->tracks.items[at];
}

static struct track *track_of_task(struct states_kernel *kernel, uint32_t number)
{
    const struct lull_task *task = lull_model_task(kernel->model, number);
    return track_of(kernel, task->host, task->tid);
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct states_kernel *kernel = user;
    struct track *track = track_of_task(kernel, fact->task);
    if (track && fact->start_ns < fact->end_ns && fact->state != LULL_STATE_NONE) {
        const bool is_blocked = fact->state == LULL_STATE_BLOCKED;
        const struct piece piece = {.start_ns = fact->start_ns,
                                    .end_ns = fact->end_ns,
                                    .call = is_blocked ? fact->syscall : LULL_NONE,
                                    .state = (uint8_t)fact->state,
                                    .cause = !is_blocked    ? LULL_CAUSE_NONE
                                             : fact->wakeup ? fact->wakeup->cause
                                                            : LULL_CAUSE_UNKNOWN,
                                    .is_woken = fact->state == LULL_STATE_PREEMPTED &&
                                                fact->before != LULL_STATE_RUNNING};
        lull_vec_push(&track->states, piece);
    }
}

static void add_call(struct states_kernel *kernel, uint32_t task, int64_t start_ns, int64_t end_ns,
                     uint32_t name)
{
    struct track *track = track_of_task(kernel, task);
    if (track && start_ns < end_ns) {
        lull_vec_push(&track->calls,
                      (struct piece){.start_ns = start_ns, .end_ns = end_ns, .call = name});
    }
}

static void on_call(void *user, const struct lull_syscall_fact *fact)
{
    if (fact->is_taken) {
        add_call(user, fact->thread, fact->start_ns, fact->taken_ns, fact->name);
    }
    add_call(user, fact->task, fact->is_taken ? fact->taken_ns : fact->start_ns, fact->end_ns,
             fact->name);
}

struct states_kernel *states_kernel_new(struct lull_session *session)
{
    static const struct lull_facts facts = {.state = on_state, .syscall = on_call};
    struct states_kernel *kernel = g_new0(struct states_kernel, 1);
    kernel->model = lull_model_new(session, LULL_GROUP_GRAPH | LULL_GROUP_SYSCALL);
    lull_model_subscribe(kernel->model, &facts, kernel);
    return kernel;
}

void states_kernel_free(struct states_kernel *kernel)
{
    if (!kernel) {
        return;
    }
    for (size_t i = 0; i < kernel->tracks.count; i++) {
        lull_vec_free(&kernel->tracks.items[i].states);
        lull_vec_free(&kernel->tracks.items[i].calls);
    }
    lull_vec_free(&kernel->tracks);
    lull_vec_free(&kernel->intervals);
    lull_vec_free(&kernel->sums);
    lull_map_free(&kernel->by_tid);
    lull_model_free(kernel->model);
    g_free(kernel);
}

void states_kernel_want(struct states_kernel *kernel, uint32_t host, int64_t tid)
{
    if (tid > 0 && tid <= INT32_MAX && !track_of(kernel, host, tid)) {
        lull_map_insert(&kernel->by_tid, key_of(host, tid), (uint32_t)kernel->tracks.count);
        lull_vec_push(&kernel->tracks, (struct track){0});
    }
}

void states_kernel_add(struct states_kernel *kernel, const struct states_interval *interval)
{
    if (kernel->intervals.count == MOST_INTERVALS) {
        kernel->n_refused++;
        return;
    }
    lull_vec_push(&kernel->intervals, *interval);
}

uint64_t states_kernel_refused(const struct states_kernel *kernel)
{
    return kernel->n_refused;
}

static int by_start(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void states_kernel_read(struct states_kernel *kernel, void (*progress)(void *user), void *user)
{
    int64_t first_ns, last_ns;
    lull_model_run(kernel->model, progress, user);
    lull_model_range(kernel->model, &first_ns, &last_ns);
    if (first_ns <= last_ns) {
        lull_model_each_syscall(kernel->model, last_ns, on_call, kernel);
    }
    for (size_t i = 0; i < kernel->tracks.count; i++) {
        struct track *track = &kernel->tracks.items[i];
        if (track->states.count) {
            qsort(track->states.items, track->states.count, sizeof(struct piece), by_start);
        }
        if (track->calls.count) {
            qsort(track->calls.items, track->calls.count, sizeof(struct piece), by_start);
        }
    }
}

/* ---- laying over one another ---- */

static void add_sum(struct states_kernel *kernel, struct sum sum)
{
    if (sum.ns > 0) {
        lull_vec_push(&kernel->sums, sum);
    }
}

/* The first that ends after time_ns; they do not overlap. */
static size_t first_of(const struct piece *pieces, size_t count, int64_t time_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (pieces[middle].end_ns <= time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Running: in which calls, and in none of them. */
static void add_running(struct states_kernel *kernel, const struct track *track, struct sum sum,
                        int64_t start_ns, int64_t end_ns)
{
    const struct piece *calls = track->calls.items;
    for (size_t i = first_of(calls, track->calls.count, start_ns);
         i < track->calls.count && calls[i].start_ns < end_ns; i++) {
        const int64_t from_ns = MAX(calls[i].start_ns, start_ns);
        sum.ns = from_ns - start_ns;
        add_sum(kernel, sum);
        start_ns = MIN(MAX(calls[i].end_ns, from_ns), end_ns);
        struct sum in_call = sum;
        in_call.call = calls[i].call;
        in_call.ns = start_ns - from_ns;
        add_sum(kernel, in_call);
    }
    sum.ns = end_ns - start_ns;
    add_sum(kernel, sum);
}

static void add_interval(struct states_kernel *kernel, const struct states_interval *interval,
                         uint32_t host, uint32_t cell)
{
    const struct sum unknown = {.row = interval->row, .cell = cell, .call = LULL_NONE};
    const struct track *track = track_of(kernel, host, interval->tid);
    const size_t count = track ? track->states.count : 0;
    int64_t at_ns = interval->start_ns;
    for (size_t i = count ? first_of(track->states.items, count, at_ns) : 0;
         i < count && track->states.items[i].start_ns < interval->end_ns; i++) {
        const struct piece *piece = &track->states.items[i];
        const int64_t from_ns = MAX(piece->start_ns, at_ns);
        const int64_t to_ns = MIN(piece->end_ns, interval->end_ns);
        if (from_ns >= to_ns) {
            continue;
        }
        struct sum sum = unknown;
        sum.ns = from_ns - at_ns;
        add_sum(kernel, sum);
        sum = (struct sum){
            interval->row,   cell, piece->call, piece->state, piece->cause, piece->is_woken,
            to_ns - from_ns, 0};
        if (piece->state == LULL_STATE_RUNNING) {
            add_running(kernel, track, sum, from_ns, to_ns);
        } else {
            add_sum(kernel, sum);
        }
        at_ns = to_ns;
    }
    struct sum rest = unknown;
    rest.ns = interval->end_ns - at_ns;
    add_sum(kernel, rest);
}

static int compare_kinds(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    const int64_t left[] = {x->row, x->cell, x->state, x->cause, x->is_woken, x->call};
    const int64_t right[] = {y->row, y->cell, y->state, y->cause, y->is_woken, y->call};
    for (size_t i = 0; i < G_N_ELEMENTS(left); i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Those of one kind become one. */
static void merge(struct states_kernel *kernel)
{
    struct sum *sums = kernel->sums.items;
    size_t n = 0, first = 0;
    if (kernel->sums.count) {
        qsort(sums, kernel->sums.count, sizeof *sums, compare_kinds);
    }
    for (size_t i = 0; i < kernel->sums.count; i++) {
        if (n > 0 && compare_kinds(&sums[n - 1], &sums[i]) == 0) {
            lull_add(&sums[n - 1].ns, sums[i].ns);
        } else {
            sums[n++] = sums[i];
        }
    }
    kernel->sums.count = n;
    for (size_t i = 0; i < n; i++) {
        first = i == 0 || sums[i].row != sums[first].row || sums[i].cell != sums[first].cell
                    ? i
                    : first;
        lull_add(&sums[first].of_ns, sums[i].ns);
    }
    for (size_t i = 1; i < n; i++) {
        if (sums[i].row == sums[i - 1].row && sums[i].cell == sums[i - 1].cell) {
            sums[i].of_ns = sums[i - 1].of_ns;
        }
    }
}

/* ---- the table ---- */

static const struct lull_result_column kernel_columns[] = {
    STATES_ROW,
    {"What its task did; empty: not known", "TASK", "task", LULL_CELL_STRING, NULL, 0},
    {"What ended the wait", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},
    {"System call that it was in", "CALL", "call", LULL_CELL_SYSCALL, NULL, 0},
    {"Time", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Share of the time of the row in the state", "SHARE", "share", LULL_CELL_RATIO, NULL,
     LULL_USE_BAR},
    {0}};
const struct lull_result_class states_kernel_class = {.name = "kernel",
                                                      .title = "What the tasks did in each state",
                                                      .columns = kernel_columns,
                                                      .is_own = true};

struct kernel_table {
    struct states_table *table;
    const struct states_kernel *kernel;
};

static void kernel_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct kernel_table *of = user;
    const struct sum *sum = &of->kernel->sums.items[of->table->lines.items[at].number];
    cells = states_show_row(of->table, sum->row, sum->cell, cells);
    *cells++ = lull_cell_text(LULL_CELL_STRING, sum->state == LULL_STATE_NONE ? NULL
                                                : sum->is_woken               ? "woken"
                                                                : lull_state_name(sum->state));
    if (sum->state == LULL_STATE_BLOCKED) {
        *cells = lull_cell_text(LULL_CELL_STRING, lull_cause_name(sum->cause));
    }
    cells++;
    if (sum->call != LULL_NONE) {
        *cells = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(of->kernel->model, sum->call));
    }
    cells++;
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, sum->ns);
    *cells = lull_cell_real(LULL_CELL_RATIO, (double)sum->ns / (double)MAX(sum->of_ns, 1));
}

/* Rows as elsewhere, states in their order, the longest first. */
static int compare_lines(const void *a, const void *b, void *user)
{
    const struct states_line *x = a, *y = b;
    const struct sum *left = &((struct states_kernel *)user)->sums.items[x->number];
    const struct sum *right = &((struct states_kernel *)user)->sums.items[y->number];
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    if (x->cell != y->cell) {
        return x->cell < y->cell ? -1 : 1;
    }
    if (left->ns != right->ns) {
        return left->ns > right->ns ? -1 : 1;
    }
    return compare_kinds(left, right);
}

void states_kernel_show(struct states_kernel *kernel, struct states_table *table, uint32_t group,
                        struct lull_sink *sink)
{
    const struct states_report *report = table->report;
    const struct kernel_table of = {table, kernel};
    g_autofree uint32_t *places = g_new(uint32_t, MAX(lull_states_row_count(report->engine), 1));
    kernel->sums.count = 0;
    for (uint32_t i = 0; i < report->n_rows; i++) {
        places[report->rows[i]] = i;
    }
    for (size_t i = 0; i < kernel->intervals.count; i++) {
        const struct states_interval *interval = &kernel->intervals.items[i];
        const struct lull_states_row *row = lull_states_row(report->engine, interval->row);
        if (row->group == group && report->is_shown[interval->row]) {
            add_interval(kernel, interval, row->host,
                         states_cell_of(table->group, interval->state));
        }
    }
    merge(kernel);
    for (size_t i = 0; i < kernel->sums.count; i++) {
        const struct sum *sum = &kernel->sums.items[i];
        lull_vec_push(&table->lines,
                      (struct states_line){places[sum->row], sum->cell, (uint32_t)i});
    }
    if (table->lines.count) {
        g_qsort_with_data(table->lines.items, (gint)table->lines.count, sizeof *table->lines.items,
                          compare_lines, kernel);
        sink->table(sink, &(struct lull_result_table){.class = &states_kernel_class,
                                                      .subtitle = table->group->label,
                                                      .n_rows = table->lines.count,
                                                      .row = kernel_row,
                                                      .user = &of});
    }
    table->lines.count = 0;
}
