/* SPDX-License-Identifier: MIT */
#include "record/kept.h"

#include <glib/gstdio.h>

static void must(bool is_good, const GError *error)
{
    if (!is_good) {
        g_error("%s", error->message);
    }
}

void kept_start(struct kept *kept)
{
    GError *error = NULL;
    *kept = (struct kept){.guard.pipe = -1, .keeper.socket = -1};
    must(lull_invoker_init(&kept->invoker, &error), error);
    must(lull_guard_start(&kept->guard, &kept->keeper, &kept->invoker, &error), error);
}

void kept_make(struct kept *kept, const char *dir, const char *name)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(dir, name, NULL);
    must(lull_keeper_make(&kept->keeper, path, NULL, &error), error);
}

void kept_publish(const struct kept *kept)
{
    GError *error = NULL;
    must(lull_keeper_publish(&kept->keeper, &error), error);
}

static bool take_out(const struct kept *kept, const char *file)
{
    g_autofree char *from = g_build_filename(kept->keeper.path, file, NULL);
    g_autofree char *above = g_path_get_dirname(kept->keeper.path);
    g_autofree char *to = g_build_filename(above, file, NULL);
    return g_rename(from, to) == 0;
}

void kept_take_out(const struct kept *kept, const char *file)
{
    g_assert_true(take_out(kept, file));
    take_out(kept, "kallsyms"); /* of recordings with call chains only */
    take_out(kept, "kernel-build-id");
    take_out(kept, "modules");
    take_out(kept, "symbols");
    g_assert_cmpint(g_rmdir(kept->keeper.path), ==, 0);
}

void kept_end(struct kept *kept)
{
    lull_guard_end(&kept->guard, &kept->keeper);
    lull_invoker_clear(&kept->invoker);
    g_free(kept->keeper.path);
    g_free(kept->keeper.part);
}
