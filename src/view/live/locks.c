/* SPDX-License-Identifier: MIT */
/* Waits for locks of files that are not over, as lines and as JSON. */
#include "view/live/locks.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/time.h"
#include "live/lock_waits.h"
#include "view/words.h"

#define MOST_LOCKS 3

static void print_line(FILE *file, const struct lull_view_style *style, const char *text)
{
    g_autofree char *folded = lull_fold_text(text, style->width, 0);
    fprintf(file, "%s\n", style->width ? folded : text);
}

static void append_lock_task(GString *out, const struct lull_lock_task *task, bool is_ascii)
{
    g_autofree char *comm = lull_clean_text(task->comm, is_ascii);
    g_string_append_printf(out, "%s/%" PRId32, *comm ? comm : "?", task->pid);
}

/* ">= 30.00 s  cron/812 waits in flock of /run/lock/backup, which backup/1207 holds". */
static void print_lock(FILE *file, const struct lull_view_style *style,
                       const struct lull_lock_wait *wait)
{
    const bool is_ascii = !style->unicode;
    char took[LULL_TIME_TEXT_SIZE];
    g_autofree char *path = wait->path ? lull_clean_text(wait->path, is_ascii) : NULL;
    g_autoptr(GString) out = g_string_new(is_ascii ? ">= " : "≥ ");
    lull_duration_format(wait->at_least_ns, took);
    g_string_append_printf(out, "%s  ", took);
    append_lock_task(out, &wait->waiter, is_ascii);
    g_string_append_printf(out, " waits in %s%s%s", wait->call, path ? " of " : "",
                           path ? path : "");
    if (wait->holder.pid && !*wait->holder.comm) {
        g_string_append_printf(out, ", which process %" PRId32 " took, which has ended",
                               wait->holder.pid);
    } else if (wait->holder.pid) {
        g_string_append(out, ", which ");
        append_lock_task(out, &wait->holder, is_ascii);
        g_string_append(out, " holds");
    }
    print_line(file, style, out->str);
}

uint32_t lull_locks_text(FILE *file, const struct lull_view_style *style, const GArray *locks)
{
    const guint n = locks ? locks->len : 0, shown = MIN(n, MOST_LOCKS);
    for (guint i = 0; i < shown; i++) {
        print_lock(file, style, &g_array_index(locks, struct lull_lock_wait, i));
    }
    if (n > shown) {
        g_autofree char *more = g_strdup_printf("%u more wait for locks of files", n - shown);
        print_line(file, style, more);
    }
    return shown + (n > shown);
}

static struct json_object *lock_task_json(const struct lull_lock_task *task)
{
    struct json_object *object = task->pid ? json_object_new_object() : NULL;
    if (object) {
        lull_json_add_text(object, "comm", task->comm[0] ? task->comm : NULL);
        lull_json_add_number(object, "pid", task->pid);
    }
    return object;
}

struct json_object *lull_locks_json(const GArray *waiting)
{
    struct json_object *locks = json_object_new_array();
    for (guint i = 0; waiting && i < waiting->len; i++) {
        const struct lull_lock_wait *wait = &g_array_index(waiting, struct lull_lock_wait, i);
        struct json_object *object = json_object_new_object();
        lull_json_add_number(object, "at_least_ns", wait->at_least_ns);
        lull_json_add_text(object, "call", wait->call);
        lull_json_add_text(object, "path", wait->path);
        json_object_object_add(object, "waiter", lock_task_json(&wait->waiter));
        json_object_object_add(object, "holder", lock_task_json(&wait->holder));
        json_object_array_add(locks, object);
    }
    return locks;
}
