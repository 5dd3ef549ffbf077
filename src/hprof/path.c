/* SPDX-License-Identifier: MIT */
/* Why an object is there: the shortest way from a root to it. The search is in breadth from the roots, those that
 * say most first, so that of ways of one length the one of the best root is found first. */
#include <inttypes.h>
#include <lull/error.h>
#include <string.h>

#include "base/map.h"
#include "hprof/private.h"

/* Best first. */
static const struct {
    uint8_t tag;
    const char *name;
} kinds[] = {{0x08, "thread"},       {0x03, "frame"},        {0x02, "JNI local"},
             {0x01, "JNI global"},   {0x05, "system class"}, {0x06, "thread block"},
             {0x07, "busy monitor"}, {0x04, "native stack"}, {0xff, "unknown root"}};

/* ---- which object ---- */

uint32_t lull_hprof_find(const struct lull_hprof *dump, const char *what, uint64_t *n,
                         GError **error)
{
    uint32_t found = LULL_HPROF_ROOT;
    g_autofree bool *is_of = g_new0(bool, dump->classes.count + 1); /* a class of that name */
    bool is_any = false;
    *n = 0;
    for (size_t i = 0; i < dump->classes.count; i++) {
        is_of[i] = what[0] != '0' && strcmp(dump->classes.items[i].name, what) == 0;
        is_any |= is_of[i];
    }
    if (g_str_has_prefix(what, "0x")) {
        char *end;
        const uint64_t id = g_ascii_strtoull(what + 2, &end, 16);
        found = *end || end == what + 2 ? UINT32_MAX : hprof_find(dump, id);
        *n = found != UINT32_MAX;
    }
    for (uint32_t i = 0; is_any && i < dump->n_objects; i++) {
        const struct lull_hprof_object object = lull_hprof_object(dump, i);
        if (!lull_hprof_is_class(&object) && is_of[object.class]) {
            found = *n == 0 || dump->retained[i] > dump->retained[found] ? i : found;
            ++*n;
        }
    }
    if (*n == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "the dump has no object “%s”: name a class, as 'lull hprof --limit 0' lists "
                    "them, or an object by its id, as 0x7f001000",
                    what);
    }
    return found;
}

/* ---- the search ---- */

struct search {
    const struct lull_hprof *dump;
    uint32_t *
        from; /* of each object that was found: who refers to it, itself for a root; else UINT32_MAX */
    uint32_t *queue; /* in the order in which they were found */
    uint32_t n, at;
    uint32_t weak_class; /* that declares the weak field, or UINT32_MAX */
    uint64_t weak_field;
};

static void find(struct search *search, uint64_t id, uint32_t from)
{
    const uint32_t object = id ? hprof_find(search->dump, id) : UINT32_MAX;
    if (object != UINT32_MAX && search->from[object] == UINT32_MAX) {
        search->from[object] = from == UINT32_MAX ? object : from;
        search->queue[search->n++] = object;
    }
}

static bool is_weak(const struct search *search, const struct hprof_reference *reference)
{
    return reference->kind == HPROF_BY_FIELD && reference->class == search->weak_class &&
           reference->name == search->weak_field;
}

static void follow(void *user, const struct hprof_reference *reference)
{
    struct search *search = user;
    if (!is_weak(search, reference)) {
        find(search, reference->id, search->queue[search->at]);
    }
}

static unsigned rank_of(uint8_t tag)
{
    unsigned i = 0;
    while (i + 1 < G_N_ELEMENTS(kinds) && kinds[i].tag != tag) {
        i++;
    }
    return i;
}

static int compare_roots(const void *a, const void *b)
{
    const struct lull_hprof_root *x = a, *y = b;
    const unsigned p = rank_of(x->tag), q = rank_of(y->tag);
    return p != q ? (p > q) - (p < q) : (x->id > y->id) - (x->id < y->id);
}

/* The field by which java.lang.ref.Reference refers to what may go all the same. */
static void find_weak_field(struct search *search, GHashTable *names)
{
    const struct lull_hprof *dump = search->dump;
    search->weak_class = UINT32_MAX;
    for (uint32_t i = 0; i < dump->classes.count; i++) {
        const struct lull_hprof_class *class = &dump->classes.items[i];
        for (uint32_t k = 0;
             strcmp(class->name, "java.lang.ref.Reference") == 0 && k < class->n_fields; k++) {
            const uint64_t at = class->fields_at + k * (dump->id_size + 1);
            const uint64_t id = hprof_id(dump, at);
            const char *name = g_hash_table_lookup(names, &id);
            if (name && strcmp(name, "referent") == 0) {
                search->weak_class = i;
                search->weak_field = at;
            }
        }
    }
}

/* ---- names ---- */

struct names {
    const struct lull_hprof *dump;
    GHashTable *texts; /* id of a string → its text, of those that are wanted */
};

static void add_name(void *user, uint64_t id, uint64_t at, uint64_t size)
{
    const struct names *names = user;
    if (g_hash_table_contains(names->texts, &id)) {
        g_hash_table_insert(
            names->texts, g_memdup2(&id, sizeof id),
            g_utf8_make_valid((const char *)names->dump->data + at, (gssize)MIN(size, UINT16_MAX)));
    }
}

static void want(const struct names *names, uint64_t at)
{
    const uint64_t id = hprof_id(names->dump, at);
    g_hash_table_insert(names->texts, g_memdup2(&id, sizeof id), NULL);
}

/* The names of the fields that classes of that name declare. */
static GHashTable *names_of_references(const struct lull_hprof *dump)
{
    struct names names = {dump, g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free)};
    for (uint32_t i = 0; i < dump->classes.count; i++) {
        const struct lull_hprof_class *class = &dump->classes.items[i];
        for (uint32_t k = 0;
             k < class->n_fields && strcmp(class->name, "java.lang.ref.Reference") == 0; k++) {
            want(&names, class->fields_at + k * (dump->id_size + 1));
        }
    }
    hprof_each_string(dump, add_name, &names);
    return names.texts;
}

/* The first reference from one object to another. */
struct match {
    uint64_t id;
    struct hprof_reference found;
    const struct search *search;
    bool is_found;
};

static void match(void *user, const struct hprof_reference *reference)
{
    struct match *match = user;
    if (!match->is_found && reference->id == match->id && !is_weak(match->search, reference)) {
        match->found = *reference;
        match->is_found = true;
    }
}

static struct hprof_reference reference_to(const struct search *search, uint32_t from, uint32_t to)
{
    const struct lull_hprof *dump = search->dump;
    struct match found = {.id = lull_hprof_object(dump, to).id, .search = search};
    hprof_each_reference(dump, from, match, &found);
    return found.found;
}

static char *name_reference(const struct lull_hprof *dump, const struct hprof_reference *reference,
                            GHashTable *texts)
{
    static const char *const fixed[] = {[HPROF_BY_CLASS] = "(class)",
                                        [HPROF_BY_LOADER] = "(class loader)",
                                        [HPROF_BY_SUPER] = "(super class)"};
    if (reference->kind == HPROF_BY_ELEMENT) {
        return g_strdup_printf("[%" PRIu64 "]", reference->name);
    }
    if (reference->kind > HPROF_BY_ELEMENT) {
        return g_strdup(fixed[reference->kind]);
    }
    const uint64_t id = hprof_id(dump, reference->name);
    const char *name = g_hash_table_lookup(texts, &id);
    return g_strdup(name ? name : "?");
}

/* ---- the path ---- */

static const char *kind_of_root(const struct lull_hprof *dump, const struct lull_hprof_root *roots,
                                uint32_t object)
{
    const uint64_t id = lull_hprof_object(dump, object).id;
    size_t i = 0;
    while (i < dump->roots.count && roots[i].id != id) {
        i++;
    }
    return kinds[rank_of(i < dump->roots.count ? roots[i].tag : 0xff)].name;
}

/* From the object back to its root, then turned round. */
static void collect(const struct search *search, const struct lull_hprof_root *roots,
                    uint32_t object, struct lull_hprof_path *path)
{
    const struct lull_hprof *dump = search->dump;
    struct names names = {dump, g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free)};
    LULL_VEC(struct hprof_reference) by = {0};
    for (;; object = search->from[object]) {
        const bool is_root = search->from[object] == object;
        struct hprof_reference reference = {0};
        if (!is_root) {
            reference = reference_to(search, search->from[object], object);
        }
        if (!is_root && reference.kind < HPROF_BY_ELEMENT) {
            want(&names, reference.name);
        }
        lull_vec_push(&by, reference);
        lull_vec_push(path, (struct lull_hprof_step){.object = object});
        if (is_root) {
            break;
        }
    }
    hprof_each_string(dump, add_name, &names);
    for (size_t i = 0; i < path->count; i++) {
        path->items[i].reference = i + 1 == path->count
                                       ? g_strdup(kind_of_root(dump, roots, path->items[i].object))
                                       : name_reference(dump, &by.items[i], names.texts);
    }
    for (size_t i = 0, k = path->count; i + 1 < k; i++) {
        const struct lull_hprof_step other = path->items[--k];
        path->items[k] = path->items[i];
        path->items[i] = other;
    }
    g_hash_table_unref(names.texts);
    lull_vec_free(&by);
}

bool lull_hprof_find_path(const struct lull_hprof *dump, uint32_t object, bool with_weak,
                          struct lull_hprof_path *path)
{
    const size_t n = dump->n_objects;
    g_autofree uint32_t *from = g_new(uint32_t, n + 1), *queue = g_new(uint32_t, n + 1);
    g_autofree struct lull_hprof_root *roots =
        g_memdup2(dump->roots.items, dump->roots.count * sizeof *roots);
    struct search search = {.dump = dump, .from = from, .queue = queue, .weak_class = UINT32_MAX};
    memset(from, 0xff, n * sizeof *from);
    if (!with_weak) {
        g_autoptr(GHashTable) names = names_of_references(dump);
        find_weak_field(&search, names);
    }
    if (dump->roots.count) {
        qsort(roots, dump->roots.count, sizeof *roots, compare_roots);
    }
    for (size_t i = 0; i < dump->roots.count; i++) {
        find(&search, roots[i].id, UINT32_MAX);
    }
    for (; search.at < search.n && from[object] == UINT32_MAX; search.at++) {
        hprof_each_reference(dump, queue[search.at], follow, &search);
    }
    if (from[object] == UINT32_MAX) {
        return false;
    }
    collect(&search, roots, object, path);
    return true;
}

void lull_hprof_path_clear(struct lull_hprof_path *path)
{
    for (size_t i = 0; i < path->count; i++) {
        g_free(path->items[i].reference);
    }
    lull_vec_free(path);
}
