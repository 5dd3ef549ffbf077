/* SPDX-License-Identifier: MIT */
/* What all tasks of the machines waited for: how long each was blocked, or ready to run without a
 * CPU, by cause, system call, object, and who ended the wait. The offline twin of offcputime and
 * offwaketime. */
#include "analysis/waits.h"
#include "analysis/quotas.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/slots.h"
#include "base/sums.h"
#include "base/vec.h"
#include "kernel/vocabulary.h"
#include "kernel/wait_reason.h"

/* Causes besides those of waits that ended while a task was blocked: it still waits; it has no CPU,
 * as another took it, or since it was woken. */
enum { CAUSE_NOT_ENDED = LULL_CAUSE_UNKNOWN + 1, CAUSE_PREEMPTED, CAUSE_WOKEN, N_CAUSES };

_Static_assert(sizeof(struct lull_wait_key) == 24, "a key has no padding: it is compared as bytes");

struct cause {
    uint64_t count;
    int64_t total_ns, longest_ns;
};

enum { LETTERS = 128 };

struct task_sum {
    uint32_t task;
    int64_t blocked_ns, uninterruptible_ns, runnable_ns, running_ns, longest_ns;
    int64_t moved_ns; /* since when it is ready to run, if it was moved meanwhile; else INT64_MIN */
    uint64_t count;
    uint32_t recent[2]; /* its last waits, blocked and runnable: index in `waits` + 1; 0: none */
};

struct waits {
    struct lull_analysis head;
    LULL_VEC(struct lull_wait_sum) waits;
    GHashTable *by_key;         /* struct lull_wait_key → index in `waits` + 1 */
    GHashTable *by_text;        /* text of an object → index in `objects` + 1 */
    GPtrArray *objects;         /* texts */
    struct lull_map by_path;    /* label, or that of a datagram socket's → index in `objects` */
    struct lull_map by_address; /* the same of futexes */
    LULL_VEC(struct task_sum) tasks;
    struct lull_slots by_task; /* → index in `tasks` + 1 */
    struct lull_map on_cpu; /* host, cpu → task that the last switch put there; idle: LULL_IDLE */
    struct cause causes[N_CAUSES][LETTERS];
    int64_t total_ns;  /* of all waits */
    uint64_t n_asleep; /* tasks that were blocked all the time */
    GString *text;     /* of the cell made last */
};

#define LULL_IDLE (UINT32_MAX - 1)

static guint hash_key(gconstpointer key)
{
    return lull_hash_words(key, sizeof(struct lull_wait_key));
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct lull_wait_key)) == 0;
}

static void waits_open(struct lull_analysis *analysis)
{
    struct waits *waits = (struct waits *)analysis;
    waits->by_key = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
    waits->by_text = g_hash_table_new(g_str_hash, g_str_equal);
    waits->objects = g_ptr_array_new_with_free_func(g_free);
    waits->text = g_string_new(NULL);
}

static void waits_free(struct lull_analysis *analysis)
{
    struct waits *waits = (struct waits *)analysis;
    g_hash_table_unref(waits->by_key);
    g_hash_table_unref(waits->by_text);
    g_ptr_array_unref(waits->objects);
    g_string_free(waits->text, TRUE);
    lull_vec_free(&waits->waits);
    lull_vec_free(&waits->tasks);
    lull_map_free(&waits->by_path);
    lull_map_free(&waits->by_address);
    lull_slots_free(&waits->by_task);
    lull_map_free(&waits->on_cpu);
}

/* ---- which wait ---- */

static uint32_t object_number(struct waits *waits, const char *text)
{
    if (!text || !*text) {
        return LULL_NONE;
    }
    gpointer found = g_hash_table_lookup(waits->by_text, text);
    if (!found) {
        char *copy = g_strdup(text);
        g_ptr_array_add(waits->objects, copy);
        found = GUINT_TO_POINTER(waits->objects->len);
        g_hash_table_insert(waits->by_text, copy, found);
    }
    return GPOINTER_TO_UINT(found) - 1;
}

/* What a call was for, as text: formatted for each call, so that it is done once for each path and
 * futex. LULL_NONE: not known. */
static uint32_t call_object(struct waits *waits, const struct lull_wait_reason *reason)
{
    const struct lull_model *model = waits->head.model;
    const struct lull_file *file =
        reason->file == LULL_NONE ? NULL : lull_model_file(model, reason->file);
    const bool has_path = file && file->path != LULL_NONE && !reason->address;
    struct lull_map *map = reason->address ? &waits->by_address : &waits->by_path;
    const uint64_t key = has_path ? (uint64_t)file->path << 1 | file->is_datagram : reason->address;
    uint32_t number = has_path || reason->address ? lull_map_find(map, key) : LULL_NONE;
    if (number == LULL_NONE) {
        g_string_truncate(waits->text, 0);
        lull_wait_reason_append_object(model, reason, waits->text);
        number = object_number(waits, waits->text->str);
        if (number != LULL_NONE && (has_path || reason->address)) {
            lull_map_insert(map, key, number);
        }
    }
    return number;
}

/* What it waited for: what its call was for, else the device, or the interrupt that ended it. */
static uint32_t object_of(struct waits *waits, const struct lull_state_fact *fact)
{
    const struct lull_model *model = waits->head.model;
    const struct lull_wakeup *wakeup = fact->wakeup;
    const struct lull_wait_reason reason = lull_wait_reason_of(fact);
    const uint32_t object = call_object(waits, &reason);
    if (object != LULL_NONE) {
        return object;
    }
    const char *device = wakeup && wakeup->cause == LULL_CAUSE_DISK && wakeup->request != LULL_NONE
                             ? lull_model_device(model, wakeup->request)
                             : NULL;
    const bool is_interrupt = wakeup && wakeup->cause != LULL_CAUSE_TASK;
    return object_number(waits, device         ? device
                                : is_interrupt ? lull_model_label(model, wakeup->label)
                                               : NULL);
}

static uint64_t cpu_key(uint32_t host, int32_t cpu)
{
    return (uint64_t)host << 32 | (uint32_t)cpu;
}

static struct lull_wait_key key_of(struct waits *waits, const struct lull_state_fact *fact)
{
    const uint32_t row = lull_params_row(waits->head.params, waits->head.model, fact->task);
    struct lull_wait_key key = {row, LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE, 0, 'R', 0};
    const struct lull_wakeup *wakeup = fact->wakeup;
    const bool is_open = fact->next == LULL_STATE_NONE;
    if (fact->state == LULL_STATE_PREEMPTED) {
        const uint32_t host = lull_model_task(waits->head.model, fact->task)->host;
        const uint32_t left =
            is_open ? LULL_MAP_NONE : lull_map_find(&waits->on_cpu, cpu_key(host, fact->cpu));
        key.cause = fact->before == LULL_STATE_RUNNING ? CAUSE_PREEMPTED : CAUSE_WOKEN;
        key.by = left == LULL_IDLE || left == fact->task ? LULL_NONE : left;
        return key;
    }
    key.cause = wakeup ? wakeup->cause : is_open ? CAUSE_NOT_ENDED : LULL_CAUSE_UNKNOWN;
    key.by = wakeup && wakeup->cause == LULL_CAUSE_TASK ? wakeup->task : LULL_NONE;
    key.letter = fact->letter ? fact->letter : '?';
    key.call = fact->syscall;
    key.object = object_of(waits, fact);
    key.chain = waits->head.params->by_stack ? fact->chain : LULL_NONE;
    return key;
}

static struct lull_wait_sum *find_wait(struct waits *waits, const struct lull_wait_key *key)
{
    gpointer found = g_hash_table_lookup(waits->by_key, key);
    if (!found) {
        lull_vec_push(&waits->waits, (struct lull_wait_sum){.key = *key});
        found = GUINT_TO_POINTER(waits->waits.count);
        g_hash_table_insert(waits->by_key, g_memdup2(key, sizeof *key), found);
    }
    return &waits->waits.items[GPOINTER_TO_UINT(found) - 1];
}

/* Mostly a task waits for what it waited for before. */
static struct lull_wait_sum *wait_of(struct waits *waits, struct task_sum *task,
                                     const struct lull_wait_key *key)
{
    uint32_t *recent = &task->recent[key->letter == 'R'];
    if (*recent && equal_keys(&waits->waits.items[*recent - 1].key, key)) {
        return &waits->waits.items[*recent - 1];
    }
    struct lull_wait_sum *wait = find_wait(waits, key);
    *recent = (uint32_t)(wait - waits->waits.items) + 1;
    return wait;
}

static struct task_sum *task_of(struct waits *waits, uint32_t task)
{
    task = lull_params_row(waits->head.params, waits->head.model, task);
    uint32_t *slot = lull_slots_at(&waits->by_task, task);
    if (*slot == 0) {
        lull_vec_push(&waits->tasks, (struct task_sum){.task = task, .moved_ns = INT64_MIN});
        *slot = (uint32_t)waits->tasks.count;
    }
    return &waits->tasks.items[*slot - 1];
}

/* ---- facts ---- */

static void count_wait(struct waits *waits, struct task_sum *task, const struct lull_wait_key *key,
                       int64_t start_ns, int64_t length_ns)
{
    struct lull_wait_sum *wait = wait_of(waits, task, key);
    struct cause *cause = &waits->causes[key->cause][(unsigned char)key->letter % LETTERS];
    wait->count++;
    lull_add(&wait->total_ns, length_ns);
    if (length_ns > wait->longest_ns) {
        wait->longest_ns = length_ns;
        wait->longest_at_ns = start_ns;
    }
    cause->count++;
    lull_add(&cause->total_ns, length_ns);
    cause->longest_ns = MAX(cause->longest_ns, length_ns);
    lull_add(&waits->total_ns, length_ns);
}

static void count_task(struct task_sum *task, const struct lull_wait_key *key, int64_t length_ns)
{
    if (key->letter == 'R') {
        lull_add(&task->runnable_ns, length_ns);
    } else {
        lull_add(&task->blocked_ns, length_ns);
        if (key->letter == 'D') {
            lull_add(&task->uninterruptible_ns, length_ns);
        }
    }
    task->longest_ns = MAX(task->longest_ns, length_ns);
    task->count++;
}

/* A task that was blocked before the window opened, or before the recording began, and still is when
 * it closes. */
static bool is_asleep(const struct waits *waits, const struct lull_state_fact *fact)
{
    return fact->state == LULL_STATE_BLOCKED && fact->next == LULL_STATE_NONE &&
           (fact->start_ns < waits->head.start_ns || !fact->letter);
}

/* The part of a state that lies in the window. */
static void waits_state(void *user, const struct lull_state_fact *fact)
{
    struct waits *waits = user;
    const struct lull_question_params *params = waits->head.params;
    const struct lull_model *model = waits->head.model;
    if (fact->state == LULL_STATE_NONE || fact->end_ns <= waits->head.start_ns ||
        !lull_params_want_task(params, model, fact->task, fact->end_ns) ||
        !lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu)) {
        return;
    }
    struct task_sum *task = task_of(waits, fact->task);
    const int64_t first_ns = task->moved_ns != INT64_MIN ? task->moved_ns : fact->start_ns;
    const int64_t start_ns = MAX(first_ns, waits->head.start_ns);
    const int64_t length_ns = fact->end_ns - start_ns;
    task->moved_ns = INT64_MIN;
    if (fact->state == LULL_STATE_PREEMPTED && fact->next == LULL_STATE_PREEMPTED) {
        task->moved_ns = start_ns; /* to another CPU's queue: it waits on */
        return;
    }
    if (fact->state == LULL_STATE_RUNNING) {
        lull_add(&task->running_ns, length_ns);
        return;
    }
    if (length_ns <= 0) {
        return;
    }
    if (!params->with_asleep && is_asleep(waits, fact)) {
        waits->n_asleep++;
        return;
    }
    const struct lull_wait_key key = key_of(waits, fact);
    if (lull_params_want_duration(params, length_ns) &&
        (!params->states || strchr(params->states, key.letter))) {
        count_wait(waits, task, &key, start_ns, length_ns);
        count_task(task, &key, length_ns);
    }
}

static void waits_switched(void *user, const struct lull_switch_fact *fact)
{
    struct waits *waits = user;
    lull_map_insert(&waits->on_cpu, cpu_key(fact->host, fact->cpu),
                    fact->task == LULL_NONE ? LULL_IDLE : fact->task);
}

/* The model follows calls, which the reasons of waits need, for those who want to know of their ends. */
static void waits_syscall(void *user, const struct lull_syscall_fact *fact)
{
}

static void waits_close(struct lull_analysis *analysis, int64_t end_ns)
{
    lull_model_each_state(analysis->model, end_ns, waits_state, analysis);
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define SUMS(share_use)                                                                            \
    {"Total time", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},                   \
        {"Share of all waits", "SHARE", "share", LULL_CELL_RATIO, NULL, share_use},                \
        {"Count", "COUNT", "count", LULL_CELL_NUMBER, "waits", LULL_USE_DETAIL},                   \
        {"Mean", "MEAN", "mean_ns", LULL_CELL_DURATION, NULL, LULL_USE_NOT_TEXT},                  \
    {                                                                                              \
        "Longest", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, LULL_USE_DETAIL              \
    }

static const struct lull_result_column cause_columns[] = {
    {"State, as ps shows it", "STATE", "state", LULL_CELL_STRING, NULL, 0},
    {"Cause", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},
    SUMS(0),
    {0},
};
static const struct lull_result_class causes_class = {
    .name = "waits-by-cause", .title = "Waits by cause", .columns = cause_columns, .is_own = true};

#define WAIT_COLUMNS                                                                               \
    HOST, {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, 0},                                    \
        {"State, as ps shows it", "STATE", "state", LULL_CELL_STRING, NULL, LULL_USE_DETAIL},      \
        {"Cause", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},                                    \
        {"System call", "CALL", "call", LULL_CELL_SYSCALL, NULL, 0},                               \
        {"What it waited for", "OBJECT", "object", LULL_CELL_STRING, NULL, 0},                     \
        {"Who ended the wait, or had the CPU before",                                              \
         "BY",                                                                                     \
         "by",                                                                                     \
         LULL_CELL_PROCESS,                                                                        \
         NULL,                                                                                     \
         LULL_USE_DETAIL},                                                                         \
        SUMS(LULL_USE_NOT_TEXT),                                                                   \
        {"Start of the longest", "AT", "longest_at_ns", LULL_CELL_TIMESTAMP, NULL, 0}

#define STACK(use)                                                                                 \
    {"Calls that led into it, innermost first", "STACK", "stack", LULL_CELL_STRING, NULL, use}

static const struct lull_result_column wait_columns[] = {
    WAIT_COLUMNS, STACK(LULL_USE_NOT_TEXT), {0}};
static const struct lull_result_column stack_columns[] = {WAIT_COLUMNS, STACK(0), {0}};
static const struct lull_result_class waits_class = {
    .name = "waits", .title = "Longest waits in all", .columns = wait_columns, .is_own = true};

static const struct lull_result_column task_columns[] = {
    HOST,
    {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, 0},
    {"Time blocked", "BLOCKED", "blocked_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},
    {"of that uninterruptible", "OF THAT D", "uninterruptible_ns", LULL_CELL_DURATION, NULL, 0},
    {"Time ready to run without a CPU", "RUNNABLE", "runnable_ns", LULL_CELL_DURATION, NULL, 0},
    {"Time on a CPU", "RUNNING", "running_ns", LULL_CELL_DURATION, NULL, 0},
    {"Count of waits", "COUNT", "count", LULL_CELL_NUMBER, "waits", 0},
    {"Longest wait", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, 0},
    {0},
};
static const struct lull_result_class tasks_class = {
    .name = "waits-by-task", .title = "Waits by task", .columns = task_columns, .is_own = true};

static struct lull_cell letter_cell(char letter)
{
    static const char letters[] = "R\0S\0D\0I\0T\0t\0P";
    for (size_t i = 0; i < sizeof letters; i += 2) {
        if (letters[i] == letter) {
            return lull_cell_text(LULL_CELL_STRING, &letters[i]);
        }
    }
    return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
}

const char *lull_waits_cause(uint8_t cause)
{
    static const char *const names[N_CAUSES] = {
        [CAUSE_NOT_ENDED] = "not ended", [CAUSE_PREEMPTED] = "preempted", [CAUSE_WOKEN] = "woken"};
    return names[cause] ? names[cause] : lull_cause_name(cause);
}

const struct lull_wait_sum *lull_waits_sums(const struct lull_analysis *analysis, size_t *count)
{
    const struct waits *waits = (const struct waits *)analysis;
    *count = waits->waits.count;
    return waits->waits.items;
}

const char *lull_waits_object(const struct lull_analysis *analysis, uint32_t object)
{
    return object == LULL_NONE ? NULL : ((const struct waits *)analysis)->objects->pdata[object];
}

static struct lull_cell *sum_cells(const struct waits *waits, int64_t total_ns, uint64_t count,
                                   int64_t longest_ns, struct lull_cell *cells)
{
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, total_ns);
    *cells++ = lull_cell_real(LULL_CELL_RATIO, (double)total_ns / (double)MAX(waits->total_ns, 1));
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)count);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, (double)total_ns / (double)MAX(count, 1));
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, longest_ns);
    return cells;
}

struct cause_rows {
    const struct waits *waits;
    uint32_t count;
    struct cause_row {
        uint8_t cause;
        char letter;
        struct cause sum;
    } rows[N_CAUSES * 8];
};

static void cause_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct cause_rows *rows = user;
    const struct cause_row *one = &rows->rows[row];
    *cells++ = letter_cell(one->letter);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_waits_cause(one->cause));
    sum_cells(rows->waits, one->sum.total_ns, one->sum.count, one->sum.longest_ns, cells);
}

static int compare_causes(const void *a, const void *b)
{
    const struct cause_row *left = a, *right = b;
    if (left->sum.total_ns != right->sum.total_ns) {
        return left->sum.total_ns > right->sum.total_ns ? -1 : 1;
    }
    return left->cause != right->cause ? left->cause - right->cause : left->letter - right->letter;
}

static void emit_causes(const struct waits *waits, struct lull_sink *sink)
{
    struct cause_rows rows = {.waits = waits};
    for (uint32_t cause = 0; cause < N_CAUSES; cause++) {
        for (uint32_t letter = 0; letter < LETTERS; letter++) {
            const struct cause *sum = &waits->causes[cause][letter];
            if (sum->count && rows.count < G_N_ELEMENTS(rows.rows)) {
                rows.rows[rows.count++] = (struct cause_row){(uint8_t)cause, (char)letter, *sum};
            }
        }
    }
    qsort(rows.rows, rows.count, sizeof *rows.rows, compare_causes);
    sink->table(sink,
                &(struct lull_result_table){
                    .class = &causes_class, .n_rows = rows.count, .row = cause_row, .user = &rows});
}

void lull_waits_append_stack(GString *text, const struct lull_model *model, uint32_t chain)
{
    uint32_t n;
    const struct lull_frame *frames = lull_model_frames(model, chain, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *object = frames[i].symbol ? frames[i].symbol : frames[i].object;
        const char *slash = object && !frames[i].symbol ? strrchr(object, '/') : NULL;
        g_string_append_printf(text, "%s%s%s0x%" G_GINT64_MODIFIER "x", i ? " < " : "",
                               slash && slash[1] ? slash + 1
                               : object          ? object
                                                 : "",
                               object ? "+" : "",
                               frames[i].symbol ? frames[i].symbol_offset : frames[i].offset);
    }
}

static struct lull_cell stack_cell(const struct waits *waits, uint32_t chain)
{
    g_string_truncate(waits->text, 0);
    lull_waits_append_stack(waits->text, waits->head.model, chain);
    return waits->text->len ? lull_cell_text(LULL_CELL_STRING, waits->text->str)
                            : (struct lull_cell){.class = LULL_CELL_EMPTY, .pid = -1, .tid = -1};
}

static void wait_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct waits *waits = user;
    const struct lull_wait_sum *wait = &waits->waits.items[row];
    const struct lull_wait_key *key = &wait->key;
    const struct lull_model *model = waits->head.model;
    const int64_t end_ns = wait->longest_at_ns + wait->longest_ns;
    *cells++ = lull_cell_host_of(&waits->head, lull_model_task(model, key->task)->host);
    *cells++ = lull_cell_task(model, key->task, wait->longest_at_ns, true);
    *cells++ = letter_cell(key->letter);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_waits_cause(key->cause));
    if (key->call != LULL_NONE) {
        *cells = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(model, key->call));
    }
    cells++;
    if (key->object != LULL_NONE) {
        *cells = lull_cell_text(LULL_CELL_STRING, waits->objects->pdata[key->object]);
    }
    cells++;
    if (key->by != LULL_NONE) {
        *cells = lull_cell_task(model, key->by, end_ns, true);
    }
    cells++;
    cells = sum_cells(waits, wait->total_ns, wait->count, wait->longest_ns, cells);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, wait->longest_at_ns);
    if (waits->head.params->by_stack) {
        *cells = stack_cell(waits, key->chain);
    }
}

static int compare_waits(const void *a, const void *b)
{
    const struct lull_wait_sum *left = a, *right = b;
    if (left->total_ns != right->total_ns) {
        return left->total_ns > right->total_ns ? -1 : 1;
    }
    return memcmp(&left->key, &right->key, sizeof left->key);
}

static int compare_tasks(const void *a, const void *b)
{
    const struct task_sum *left = a, *right = b;
    const int64_t left_ns = left->blocked_ns + left->runnable_ns;
    const int64_t right_ns = right->blocked_ns + right->runnable_ns;
    return left_ns != right_ns ? (left_ns > right_ns ? -1 : 1)
                               : (left->task > right->task) - (left->task < right->task);
}

static void task_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct waits *waits = user;
    const struct task_sum *task = &waits->tasks.items[row];
    const struct lull_model *model = waits->head.model;
    *cells++ = lull_cell_host_of(&waits->head, lull_model_task(model, task->task)->host);
    *cells++ = lull_cell_task(model, task->task, INT64_MAX, true);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->blocked_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->uninterruptible_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->runnable_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->running_ns);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)task->count);
    *cells = lull_cell_integer(LULL_CELL_DURATION, task->longest_ns);
}

static uint64_t limited(const struct lull_question_params *params, size_t n)
{
    return params->limit ? MIN(n, params->limit) : n;
}

static void waits_emit(struct lull_analysis *analysis, const struct lull_window *window,
                       struct lull_sink *sink)
{
    struct waits *waits = (struct waits *)analysis;
    const struct lull_question_params *params = analysis->params;
    if (waits->waits.count) {
        qsort(waits->waits.items, waits->waits.count, sizeof *waits->waits.items, compare_waits);
    }
    if (waits->tasks.count) {
        qsort(waits->tasks.items, waits->tasks.count, sizeof *waits->tasks.items, compare_tasks);
    }
    if (waits->n_asleep) {
        g_string_printf(waits->text,
                        "%" G_GUINT64_FORMAT " task%s slept all the time and %s left out; --asleep "
                        "shows them",
                        waits->n_asleep, waits->n_asleep == 1 ? "" : "s",
                        waits->n_asleep == 1 ? "is" : "are");
        sink->note(sink, waits->text->str);
    }
    lull_quotas_note(analysis, sink);
    emit_causes(waits, sink);
    sink->table(sink,
                &(struct lull_result_table){.class = &waits_class,
                                            .columns = params->by_stack ? stack_columns : NULL,
                                            .n_rows = limited(params, waits->waits.count),
                                            .row = wait_row,
                                            .user = waits});
    sink->table(sink, &(struct lull_result_table){
                          .class = &tasks_class,
                          .n_rows = waits->waits.count ? limited(params, waits->tasks.count) : 0,
                          .row = task_row,
                          .user = waits});
}

const struct lull_analysis_class lull_analysis_waits = {
    .name = "waits",
    .title = "Waits of all tasks",
    .description = "How long tasks were blocked, or ready to run without a CPU, and why",
    .tags = (const char *const[]){"sched", "waits", "top", NULL},
    .tables =
        (const struct lull_result_class *const[]){&causes_class, &waits_class, &tasks_class, NULL},
    .question = "critical-path",
    .groups = LULL_GROUP_GRAPH,
    .is_by_host = true,
    .size = sizeof(struct waits),
    .facts = {.state = waits_state, .switched = waits_switched, .syscall = waits_syscall},
    .open = waits_open,
    .close = waits_close,
    .emit = waits_emit,
    .free = waits_free,
};
