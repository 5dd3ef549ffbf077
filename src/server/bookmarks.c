/* SPDX-License-Identifier: MIT */
/* A list in memory: clients keep their own files of what is worth more. */
#include "server/bookmarks.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "server/params.h"

enum { BOOKMARKS_MOST = 1000, NAME_MOST = 1024 };

struct bookmark {
    char *uuid, *name;
    int64_t start_ns, end_ns;
};

struct server_bookmarks {
    GMutex lock;
    GPtrArray *all;
};

static void bookmark_free(void *data)
{
    struct bookmark *bookmark = data;
    g_free(bookmark->uuid);
    g_free(bookmark->name);
    g_free(bookmark);
}

struct server_bookmarks *server_bookmarks_new(void)
{
    struct server_bookmarks *bookmarks = g_new0(struct server_bookmarks, 1);
    g_mutex_init(&bookmarks->lock);
    bookmarks->all = g_ptr_array_new_with_free_func(bookmark_free);
    return bookmarks;
}

void server_bookmarks_free(struct server_bookmarks *bookmarks)
{
    g_ptr_array_unref(bookmarks->all);
    g_mutex_clear(&bookmarks->lock);
    g_free(bookmarks);
}

static void append(const struct bookmark *bookmark, GString *out)
{
    g_string_append_printf(out, "{\"uuid\":\"%s\",\"name\":", bookmark->uuid);
    lull_json_append(out, bookmark->name, strlen(bookmark->name));
    g_string_append_printf(out, ",\"start\":%" PRId64 ",\"end\":%" PRId64 "}", bookmark->start_ns,
                           bookmark->end_ns);
}

/* Takes what the client sent. False, and the request is refused, if that is no bookmark. */
static bool take(struct tsp_call *call, struct bookmark *bookmark)
{
    const char *name = server_param_text(call->request->params, "name");
    int64_t start_ns, end_ns;
    if (!name || !*name || strlen(name) > NAME_MOST) {
        return tsp_bad(call, "name needs a text of at most 1024 bytes");
    }
    if (!server_param_number(call->request->params, "start", &start_ns) ||
        !server_param_number(call->request->params, "end", &end_ns) || end_ns < start_ns) {
        return tsp_bad(call, "start and end need numbers, and it must not end before it starts");
    }
    g_free(bookmark->name);
    bookmark->name = g_strdup(name);
    bookmark->start_ns = start_ns;
    bookmark->end_ns = end_ns;
    return true;
}

/* All of them, or a new one. */
static void route_all(struct tsp_call *call, GPtrArray *all, GString *out)
{
    if (strcmp(call->request->method, "GET") == 0) {
        g_string_append_c(out, '[');
        for (guint i = 0; i < all->len; i++) {
            g_string_append(out, i ? "," : "");
            append(all->pdata[i], out);
        }
        g_string_append_c(out, ']');
    } else if (strcmp(call->request->method, "POST") != 0) {
        server_refuse(call->answer, 405, "Not allowed", "change bookmarks one at a time");
    } else if (all->len == BOOKMARKS_MOST) {
        server_refuse(call->answer, 409, "Too many", "there are 1000 bookmarks; delete some");
    } else {
        struct bookmark *bookmark = g_new0(struct bookmark, 1);
        if (!take(call, bookmark)) {
            bookmark_free(bookmark);
            return;
        }
        bookmark->uuid = g_uuid_string_random();
        g_ptr_array_add(all, bookmark);
        append(bookmark, out);
    }
}

static void route_one(struct tsp_call *call, GPtrArray *all, guint i, GString *out)
{
    struct bookmark *bookmark = all->pdata[i];
    if (strcmp(call->request->method, "PUT") == 0 && !take(call, bookmark)) {
        return;
    }
    append(bookmark, out);
    if (strcmp(call->request->method, "DELETE") == 0) {
        g_ptr_array_remove_index(all, i);
    }
}

void server_bookmarks_route(struct tsp_call *call)
{
    struct server_bookmarks *bookmarks = call->served->about->bookmarks;
    GPtrArray *all = bookmarks->all;
    const char *uuid = call->parts[3];
    guint i = 0;
    g_mutex_lock(&bookmarks->lock);
    while (uuid && i < all->len && strcmp(((struct bookmark *)all->pdata[i])->uuid, uuid) != 0) {
        i++;
    }
    if (!uuid) {
        route_all(call, all, call->answer->body);
    } else if (i == all->len) {
        tsp_not_found(call, "there is no such bookmark");
    } else {
        route_one(call, all, i, call->answer->body);
    }
    g_mutex_unlock(&bookmarks->lock);
}
