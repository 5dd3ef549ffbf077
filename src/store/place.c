/* SPDX-License-Identifier: MIT */
/* The place of a store: $XDG_CACHE_HOME/lull/view/NAME.lullview. NAME is a hash of where the traces
 * are, so a trace that changed has its store replaced; the key in the file also has what tells one
 * state of a file from another. */
#include "store/place.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "states/definition.h"
#include "store/format.h"

static void add_number(GChecksum *sum, uint64_t number)
{
    g_checksum_update(sum, (const guchar *)&number, sizeof number);
}

static void add_text(GChecksum *sum, const char *text)
{
    g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* All files of a trace, or the one that it is. */
static bool add_files(GChecksum *sum, char *path)
{
    char *roots[] = {path, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    while (walk && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_F) {
            const struct stat *st = entry->fts_statp;
            add_text(sum, entry->fts_path);
            add_number(sum, (uint64_t)st->st_size);
            add_number(sum, (uint64_t)st->st_mtim.tv_sec);
            add_number(sum, (uint64_t)st->st_mtim.tv_nsec);
            add_number(sum, (uint64_t)st->st_ino);
        }
    }
    if (walk) {
        fts_close(walk);
    }
    return walk != NULL;
}

static char *path_of(GChecksum *paths)
{
    g_autofree char *name = g_strdup_printf("%.32s.lullview", g_checksum_get_string(paths));
    return g_build_filename(g_get_user_cache_dir(), "lull", "view", name, NULL);
}

bool lull_store_place_find(const char *const *traces, uint32_t count, bool is_joined,
                           const struct lull_states *states, struct lull_store_place *place,
                           GError **error)
{
    GChecksum *paths = g_checksum_new(G_CHECKSUM_SHA256),
              *files = g_checksum_new(G_CHECKSUM_SHA256);
    bool is_done = true;
    *place = (struct lull_store_place){0};
    add_number(files, STORE_VERSION);
    add_number(files, is_joined);
    add_number(paths, is_joined);
    if (states) {
        g_checksum_update(files, states->digest, sizeof states->digest);
        g_checksum_update(paths, states->digest, sizeof states->digest);
    }
    for (uint32_t i = 0; is_done && i < count; i++) {
        char *real = realpath(traces[i], NULL);
        is_done = real && add_files(files, real);
        if (real) {
            add_text(paths, real);
        }
        if (!is_done) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read “%s”: %s", traces[i],
                        g_strerror(errno));
        }
        free(real);
    }
    if (is_done) {
        gsize size = sizeof place->key;
        place->path = path_of(paths);
        g_checksum_get_digest(files, place->key, &size);
    }
    g_checksum_free(paths);
    g_checksum_free(files);
    return is_done;
}

bool lull_store_place_make(const struct lull_store_place *place, GError **error)
{
    g_autofree char *dir = g_path_get_dirname(place->path);
    if (g_mkdir_with_parents(dir, 0700) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "cannot make the directory “%s”: %s; set XDG_CACHE_HOME to another one", dir,
                    g_strerror(errno));
        return false;
    }
    return true;
}

void lull_store_place_clear(struct lull_store_place *place)
{
    g_free(place->path);
    place->path = NULL;
}
