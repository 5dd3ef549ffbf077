/* SPDX-License-Identifier: MIT */
/* What another machine sends is an archive, whose file "machines" names those to ask next. */
#include "trigger/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"
#include "trigger/bundle.h"
#include "trigger/peer.h"
#include "trigger/peer_socket.h"
#include "trigger/reach.h"
#include "trigger/tls.h"

#define MOST_MACHINES 64u
#define MOST_NOTES (1 << 16)
#define DEPTH (LULL_BUNDLE_DEPTH + 2)

/* A machine, and which of its snapshots is part of the set. */
struct source {
    struct in6_addr address;
    char set[LULL_SET_ID];
};

struct collection {
    const struct lull_collect_question *question;
    int directory;
    GArray *sources; /* struct source, in the order in which they are found */
};

static bool fail(GError **error, const char *path)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "“%s”: %s", path, g_strerror(errno));
    return false;
}

static ssize_t read_tls(void *user, uint8_t *bytes, size_t size)
{
    return lull_tls_read(user, bytes, size);
}

/* ---- one machine ---- */

static bool receive(const struct collection *collection, const struct source *source, int directory,
                    GError **error)
{
    const struct lull_collect_question *question = collection->question;
    const int fd = lull_peer_socket_connect(&source->address, question->config->listen.port, error);
    struct lull_tls *tls = fd >= 0 ? lull_tls_client(fd, question->keys, error) : NULL;
    const struct lull_bundle_source from = {read_tls, tls};
    bool done = tls != NULL;
    if (done && !lull_tls_write(tls, (const uint8_t *)source->set, strlen(source->set))) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO, "it closed the connection");
        done = false;
    }
    done = done && lull_bundle_read(&from, directory, error);
    lull_tls_free(tls);
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static void add_source(const struct collection *collection, const struct source *source)
{
    for (guint i = 0; i < collection->sources->len; i++) {
        const struct source *known = &g_array_index(collection->sources, struct source, i);
        if (IN6_ARE_ADDR_EQUAL(&known->address, &source->address)) {
            return;
        }
    }
    if (collection->sources->len < MOST_MACHINES) {
        g_array_append_val(collection->sources, *source);
    }
}

/* "10.9.0.2 frozen 20261122-140211-7f3a9c01", which another machine wrote. */
static void take_note(const struct collection *collection, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 4);
    struct source source;
    if (g_strv_length(words) < 2 || !lull_peer_address_parse(words[0], &source.address) ||
        !lull_trigger_is_peer(collection->question->config, &source.address)) {
        return;
    }
    if (words[2] && !words[3] && lull_sets_is_name(words[2])) {
        g_strlcpy(source.set, words[2], sizeof source.set);
        add_source(collection, &source);
    } else {
        g_autofree char *address = lull_peer_address_text(&source.address);
        g_autofree char *what = g_strescape(words[1], NULL);
        g_autofree char *why = g_strdup_printf("it answered: %.32s", what);
        collection->question->missing(collection->question->user, address, why);
    }
}

static void take_notes(const struct collection *collection, int directory)
{
    const int fd = openat(directory, LULL_REACH_NOTES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    g_autofree char *text = g_malloc0(MOST_NOTES);
    const ssize_t n = fd >= 0 ? read(fd, text, MOST_NOTES - 1) : 0;
    g_auto(GStrv) lines = g_strsplit(n > 0 ? text : "", "\n", (gint)MOST_MACHINES);
    for (uint32_t i = 0; lines[i]; i++) {
        take_note(collection, lines[i]);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static bool collect_from(const struct collection *collection, const struct source *source,
                         const char *name, GError **error)
{
    if (mkdirat(collection->directory, name, 0700) != 0) {
        return fail(error, name);
    }
    const int fd = lull_tree_open(collection->directory, name);
    const bool done = fd >= 0 ? receive(collection, source, fd, error) : fail(error, name);
    if (done) {
        take_notes(collection, fd);
    } else {
        lull_tree_remove_at(collection->directory, name, DEPTH);
    }
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

/* ---- all of them ---- */

/* The first is this machine itself, and without it there is no set. */
static bool collect_all(const struct collection *collection, GError **error)
{
    for (guint i = 0; i < collection->sources->len; i++) {
        const struct source source = g_array_index(collection->sources, struct source, i);
        g_autofree char *name = lull_peer_address_text(&source.address);
        g_autoptr(GError) why = NULL;
        if (collect_from(collection, &source, name, &why)) {
            continue;
        }
        if (i == 0) {
            g_propagate_prefixed_error(error, g_steal_pointer(&why),
                                       "the snapshot %s of this machine: ", source.set);
            return false;
        }
        collection->question->missing(collection->question->user, name, why->message);
    }
    return true;
}

static struct source own(const struct lull_collect_question *question)
{
    const struct in6_addr *listen = &question->config->listen.address;
    struct source source = {.address = *listen};
    if (IN6_IS_ADDR_UNSPECIFIED(listen)) {
        source.address = in6addr_loopback;
    } else if (IN6_IS_ADDR_V4MAPPED(listen) && listen->s6_addr[12] == 0) {
        lull_peer_address_parse("127.0.0.1", &source.address);
    }
    g_strlcpy(source.set, question->set, sizeof source.set);
    return source;
}

bool lull_collect(const struct lull_collect_question *question, GError **error)
{
    g_autofree char *part = g_strconcat(question->output, ".part", NULL);
    const struct source first = own(question);
    if (g_file_test(question->output, G_FILE_TEST_EXISTS)) {
        errno = EEXIST;
        return fail(error, question->output);
    }
    if (mkdir(part, 0700) != 0) {
        return fail(error, part);
    }
    struct collection collection = {.question = question,
                                    .directory =
                                        open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                                    .sources = g_array_new(FALSE, FALSE, sizeof(struct source))};
    g_array_append_val(collection.sources, first);
    const bool done =
        (collection.directory >= 0 ? collect_all(&collection, error) : fail(error, part)) &&
        lull_tree_publish(part, question->output, error);
    if (!done) {
        lull_tree_remove(part, DEPTH);
    }
    if (collection.directory >= 0) {
        close(collection.directory);
    }
    g_array_unref(collection.sources);
    return done;
}
