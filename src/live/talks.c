/* SPDX-License-Identifier: MIT */
/* Loads bpf/talks.bpf.c, and reads its map. */
#include "live/talks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "talks_object.h"

/* Are read at a time. */
#define BATCH 4096

static const char *const programs[] = {"sent", "received"};

struct lull_talks {
    struct bpf_object *object;
    struct bpf_link *link[G_N_ELEMENTS(programs)];
    int map;
};

static bool start(struct lull_talks *talks)
{
    const struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "lull_talks"};
    talks->object = bpf_object__open_mem(talks_bpf_o, sizeof talks_bpf_o, &options);
    if (!talks->object || bpf_object__load(talks->object) != 0) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
        talks->link[i] =
            bpf_program__attach(bpf_object__find_program_by_name(talks->object, programs[i]));
        if (!talks->link[i]) {
            return false;
        }
    }
    talks->map = bpf_object__find_map_fd_by_name(talks->object, "talks");
    return true;
}

struct lull_talks *lull_talks_new(GError **error)
{
    struct lull_talks *talks = g_new0(struct lull_talks, 1);
    libbpf_set_print(NULL);
    if (start(talks)) {
        return talks;
    }
    g_set_error(
        error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
        "who talks to whom cannot be watched (that needs Linux 6.3 with BTF, and root or CAP_BPF "
        "and CAP_PERFMON): %s",
        g_strerror(errno));
    lull_talks_free(talks);
    return NULL;
}

void lull_talks_list(const struct lull_talks *talks, GArray *list)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    g_autofree struct lull_talk_key *keys = g_new(struct lull_talk_key, BATCH);
    g_autofree struct lull_talk *values = g_new(struct lull_talk, BATCH);
    uint32_t position;
    bool is_first = true, goes_on = talks != NULL;
    while (goes_on) {
        uint32_t n = BATCH;
        const int why = bpf_map_lookup_batch(talks->map, is_first ? NULL : &position, &position,
                                             keys, values, &n, &options);
        goes_on = why == 0;
        is_first = false;
        /* At the end there is ENOENT, and what came before it. */
        if (why == 0 || errno == ENOENT) {
            g_array_append_vals(list, values, n);
        }
    }
}

void lull_talks_free(struct lull_talks *talks)
{
    if (talks) {
        for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
            bpf_link__destroy(talks->link[i]);
        }
        bpf_object__close(talks->object);
        g_free(talks);
    }
}
