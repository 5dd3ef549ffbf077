/* SPDX-License-Identifier: MIT */
/* The flame graph of a range of time: what tasks called then, from the rows of calls, and what they waited
 * for meanwhile, from their own rows. */
#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "calls/flame.h"
#include "server/view.h"

enum {
    STEPS_MOST = 20000000, /* intervals that are looked at */
    SHARE_LEAST = 4000     /* of the whole: what is less cannot be seen, and is not sent */
};

/* A row, and the interval in it that is next. */
struct lane {
    struct lull_store_cursor cursor;
    const struct lull_store_interval *now; /* NULL: there are no more */
};

struct walk {
    const struct served *served;
    struct lull_flame *flame;
    LULL_VEC(uint8_t) looks; /* by name */
    struct lane task;
    LULL_VEC(struct lane) lanes; /* by depth */
    uint32_t steps;
    GError *failure;
};

static bool start_lane(struct walk *walk, struct lane *lane, uint32_t row, int64_t start_ns)
{
    const struct lull_store *store = walk->served->store;
    lane->now = lull_store_seek(store, row, start_ns, &lane->cursor, &walk->failure)
                    ? lull_store_next(&lane->cursor, &walk->failure)
                    : NULL;
    return !walk->failure;
}

static void advance(struct walk *walk, struct lane *lane)
{
    if (++walk->steps == STEPS_MOST) {
        g_set_error_literal(&walk->failure, LULL_ERROR, LULL_ERROR_QUESTION,
                            "there are too many calls in this time; select a shorter one");
    }
    lane->now = walk->failure ? NULL : lull_store_next(&lane->cursor, &walk->failure);
}

/* A frame in that state: of a call if it is_call. It says how the page draws all of this name. */
static uint32_t frame(struct walk *walk, uint32_t parent, const char *name,
                      enum lull_store_state state, bool is_call)
{
    const uint32_t node = lull_flame_child(walk->flame, parent, name);
    const uint32_t number = walk->flame->nodes[node].name;
    while (walk->looks.count <= number) {
        lull_vec_push(&walk->looks, 0);
    }
    walk->looks.items[number] = (uint8_t)(state + (is_call ? LULL_STORE_STATES : 0));
    return node;
}

static const char *name_of_wait(enum lull_store_state state)
{
    static const char *const names[LULL_STORE_STATES] = {
        [LULL_STORE_WAIT_CPU] = "[preempted]", [LULL_STORE_WAIT_TASK] = "[task]",
        [LULL_STORE_WAIT_DISK] = "[disk]",     [LULL_STORE_WAIT_NETWORK] = "[network]",
        [LULL_STORE_WAIT_TIMER] = "[timer]",   [LULL_STORE_WAIT_INPUT] = "[user input]",
        [LULL_STORE_WAIT_IRQ] = "[interrupt]", [LULL_STORE_WAIT_UNKNOWN] = "[blocked]"};
    return names[state];
}

/* From start_ns to end_ns the call was the innermost. */
static void add_own(struct walk *walk, uint32_t node, int64_t start_ns, int64_t end_ns)
{
    int64_t own_ns = end_ns - start_ns;
    while (walk->task.now && walk->task.now->start_ns < end_ns) {
        const struct lull_store_interval *at = walk->task.now;
        const int64_t ns = MIN(at->end_ns, end_ns) - MAX(at->start_ns, start_ns);
        const char *wait = name_of_wait(at->state);
        if (wait && ns > 0) {
            own_ns -= ns;
            lull_flame_add(walk->flame, frame(walk, node, wait, at->state, false), ns);
        }
        if (at->end_ns > end_ns) {
            break;
        }
        advance(walk, &walk->task);
    }
    lull_flame_add(walk->flame, node, own_ns);
}

/* What the call of `node`, from start_ns to end_ns, called in turn. Outside all calls no time counts. */
static void add_calls(struct walk *walk, uint32_t depth, uint32_t node, int64_t start_ns,
                      int64_t end_ns)
{
    struct lane *lane = depth < walk->lanes.count ? &walk->lanes.items[depth] : NULL;
    int64_t done_ns = start_ns;
    while (lane && lane->now && lane->now->start_ns < end_ns) {
        const int64_t from_ns = MAX(lane->now->start_ns, start_ns);
        const int64_t to_ns = MIN(lane->now->end_ns, end_ns);
        const char *name = lull_store_text(walk->served->store, lane->now->label);
        const bool goes_on = lane->now->end_ns > end_ns;
        if (lane->now->state != LULL_STORE_NONE && name && to_ns > from_ns) {
            if (depth > 0) {
                add_own(walk, node, done_ns, from_ns);
            }
            add_calls(walk, depth + 1, frame(walk, node, name, lane->now->state, true), from_ns,
                      to_ns);
            done_ns = to_ns;
        }
        if (goes_on) {
            break;
        }
        advance(walk, lane);
    }
    if (depth > 0) {
        add_own(walk, node, done_ns, end_ns);
    }
}

/* The calls of the line of a task, which its lanes follow in the tree. */
static bool add_task(struct walk *walk, size_t line, int64_t start_ns, int64_t end_ns)
{
    const struct served *served = walk->served;
    const struct served_entry *entries = served->calls.entries.items;
    const struct served_entry *task = &entries[line];
    const bool has_hosts = lull_store_host_count(served->store) > 1;
    g_autofree char *name = g_strdup_printf("%s/%d", task->name, task->tid);
    const uint32_t host =
        has_hosts ? lull_flame_child(walk->flame, 0, entries[task->parent].name) : 0;
    walk->lanes.count = 0;
    for (size_t at = line + 1;
         at < served->calls.entries.count && entries[at].parent == (int32_t)line &&
         walk->lanes.count < LULL_STORE_CALL_DEPTHS;
         at++) {
        if (!start_lane(walk, lull_vec_add(&walk->lanes), entries[at].row, start_ns)) {
            return false;
        }
    }
    /* Only now, for lanes move while there are more of them. */
    for (size_t i = 0; i < walk->lanes.count; i++) {
        struct lane *lane = &walk->lanes.items[i];
        lane->now = lane->now ? &lane->cursor.intervals[lane->cursor.at - 1] : NULL;
    }
    if (start_lane(walk, &walk->task, task->row, start_ns)) {
        add_calls(walk, 0, lull_flame_child(walk->flame, host, name), start_ns, end_ns);
    }
    return !walk->failure;
}

/* ---- writing ---- */

static void append(GString *out, const struct walk *walk)
{
    const struct lull_flame *flame = walk->flame;
    g_autofree uint32_t *numbers = g_new(uint32_t, flame->n_nodes);
    const int64_t least_ns = flame->nodes[0].total / SHARE_LEAST;
    uint32_t n = 0;
    g_string_append_printf(out, "{\"total\":%" PRId64 ",\"names\":[", flame->nodes[0].total);
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        const char *name = lull_flame_name(flame, i);
        g_string_append(out, i ? "," : "");
        lull_json_append(out, name, strlen(name));
    }
    g_string_append(out, "],\"looks\":[");
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        g_string_append_printf(out, "%s%u", i ? "," : "",
                               i < walk->looks.count ? walk->looks.items[i] : 0u);
    }
    g_string_append(out, "],\"nodes\":[");
    for (uint32_t i = 0; i < flame->n_nodes; i++) {
        const struct lull_flame_node *node = &flame->nodes[i];
        if (i > 0 && (node->total == 0 || node->total < least_ns)) {
            numbers[i] = LULL_NONE; /* and so is all that it called */
            continue;
        }
        numbers[i] = n++;
        g_string_append_printf(out, "%s[%" PRId64 ",%u,%" PRId64 ",%" PRId64 "]", i ? "," : "",
                               i ? (int64_t)numbers[node->parent] : -1, node->name, node->self,
                               node->total);
    }
    g_string_append(out, "]}");
}

bool server_flame(const struct served *served, const uint32_t *rows, uint32_t n_rows,
                  int64_t start_ns, int64_t end_ns, GString *out, GError **error)
{
    struct walk walk = {.served = served, .flame = lull_flame_new("ns")};
    const struct served_tree *tree = &served->calls;
    for (size_t line = 0; line < tree->entries.count; line++) {
        const struct served_entry *entry = &tree->entries.items[line];
        bool is_wanted = !rows;
        for (uint32_t i = 0; i < n_rows; i++) {
            is_wanted |= rows[i] == entry->row;
        }
        if (entry->row != LULL_NONE && is_wanted &&
            lull_store_row(served->store, entry->row).kind == LULL_STORE_TASK &&
            !add_task(&walk, line, start_ns, end_ns)) {
            break;
        }
    }
    lull_vec_free(&walk.lanes);
    if (!walk.failure) {
        lull_flame_finish(walk.flame);
        append(out, &walk);
    }
    lull_flame_free(walk.flame);
    lull_vec_free(&walk.looks);
    if (walk.failure) {
        g_propagate_error(error, walk.failure);
        return false;
    }
    return true;
}
