/* SPDX-License-Identifier: MIT */
/* From hops to portions: names without what differs from one time to the next, interned, so that a
 * portion is a number and a path a short list of sums. */
#include "graph/portions.h"

#include <string.h>

#include "base/map.h"
#include "base/sums.h"
#include "graph/execgraph_private.h"
#include "graph/lineage.h"

/* What is being added. */
struct adding {
    struct lull_portions *portions;
    GArray *waits; /* struct lull_path_wait */
    int64_t start_ns;
    struct lull_map parts; /* portion and lock to the part */
};

struct lull_portions {
    const struct lull_execgraph *eg;
    const struct lull_session *session;
    enum lull_path_kind kind; /* of the paths */
    GStringChunk *names;
    GHashTable *portion_numbers, *lock_numbers; /* struct to its number + 1 */
    GPtrArray *portions, *locks;                /* owned by the tables */
    LULL_VEC(struct lull_sample) samples;
    LULL_VEC(struct lull_part) parts;
    struct adding adding;
    GString *text;            /* scratch */
    LULL_VEC(int64_t) own_ns; /* scratch: of one sample by portion, 0 between its uses */
};

/* Names are interned: the pointer is the name. */
static guint hash_pointers(const void *a, const void *b, uint32_t c)
{
    return (g_direct_hash(a) * 31 + g_direct_hash(b)) * 31 + c;
}

static guint hash_portion(gconstpointer key)
{
    const struct lull_portion *p = key;
    return hash_pointers(p->comm, p->detail,
                         p->host * 256 + (uint32_t)p->state * 16 + (uint32_t)p->cause);
}

static gboolean equal_portions(gconstpointer a, gconstpointer b)
{
    const struct lull_portion *x = a, *y = b;
    return x->host == y->host && x->comm == y->comm && x->state == y->state &&
           x->cause == y->cause && x->detail == y->detail;
}

static guint hash_lock(gconstpointer key)
{
    const struct lull_lock *l = key;
    return hash_pointers(l->comm, l->holder,
                         g_direct_hash(l->call) + 4 * l->host + 2 * l->is_kernel + l->is_worker);
}

static gboolean equal_locks(gconstpointer a, gconstpointer b)
{
    const struct lull_lock *x = a, *y = b;
    return x->host == y->host && x->comm == y->comm && x->call == y->call &&
           x->holder == y->holder && x->is_worker == y->is_worker && x->is_kernel == y->is_kernel;
}

struct lull_portions *lull_portions_new(const struct lull_execgraph *eg,
                                        const struct lull_session *session,
                                        enum lull_path_kind kind)
{
    struct lull_portions *portions = g_new0(struct lull_portions, 1);
    portions->eg = eg;
    portions->session = session;
    portions->kind = kind;
    portions->names = g_string_chunk_new(4096);
    portions->portion_numbers = g_hash_table_new_full(hash_portion, equal_portions, g_free, NULL);
    portions->lock_numbers = g_hash_table_new_full(hash_lock, equal_locks, g_free, NULL);
    portions->portions = g_ptr_array_new();
    portions->locks = g_ptr_array_new();
    portions->adding.portions = portions;
    portions->adding.waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    portions->text = g_string_new(NULL);
    return portions;
}

void lull_portions_free(struct lull_portions *portions)
{
    if (!portions) {
        return;
    }
    g_string_chunk_free(portions->names);
    g_hash_table_unref(portions->portion_numbers);
    g_hash_table_unref(portions->lock_numbers);
    g_ptr_array_unref(portions->portions);
    g_ptr_array_unref(portions->locks);
    lull_vec_free(&portions->samples);
    lull_vec_free(&portions->parts);
    lull_vec_free(&portions->own_ns);
    lull_map_free(&portions->adding.parts);
    g_array_unref(portions->adding.waits);
    g_string_free(portions->text, TRUE);
    g_free(portions);
}

/* The number of an equal struct in the table; one is added if there is none. */
static uint32_t number_of(GHashTable *numbers, GPtrArray *list, const void *key, size_t size)
{
    gpointer found = g_hash_table_lookup(numbers, key);
    if (found) {
        return GPOINTER_TO_UINT(found) - 1;
    }
    void *copy = g_memdup2(key, size);
    g_ptr_array_add(list, copy);
    g_hash_table_insert(numbers, copy, GUINT_TO_POINTER(list->len));
    return list->len - 1;
}

static const char *intern(struct lull_portions *portions, const char *text)
{
    return g_string_chunk_insert_const(portions->names, text);
}

static const char *kind_of(struct lull_portions *portions, uint32_t task, int64_t time_ns)
{
    g_string_truncate(portions->text, 0);
    lull_evidence_append_kind(portions->text, lull_model_comm(portions->eg->model, task, time_ns));
    return intern(portions, portions->text->str);
}

static int32_t tid_of(const struct lull_portions *portions, uint32_t task)
{
    return task == LULL_NONE ? -1 : lull_model_task(portions->eg->model, task)->tid;
}

/* ---- locks ---- */

/* The lock that the wait of `line` with this evidence is for; LULL_NONE if it is for something
 * else. */
static uint32_t lock_of(struct lull_portions *portions, uint32_t line, uint32_t detail,
                        int64_t time_ns, uint32_t *holder)
{
    const struct lull_execgraph *eg = portions->eg;
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, detail);
    if (!reason || (reason->call == LULL_NONE && !(reason->lock && reason->fault))) {
        return LULL_NONE;
    }
    const struct evidence *evidence = &eg->evidence.items[detail];
    const char *call = lull_model_label(eg->model, reason->call);
    const enum lull_wait_kind kind = lull_wait_reason_kind(eg->model, reason);
    const bool is_kernel = kind == LULL_WAIT_KERNEL_LOCK;
    const bool is_lock = kind == LULL_WAIT_LOCK || kind == LULL_WAIT_FUTEX || is_kernel;
    if (!is_lock &&
        (evidence->waker == LULL_NONE || !lull_wait_reason_is_signalled(eg->model, reason) ||
         !lull_lineage_are_workers(eg->model, line, evidence->waker, time_ns))) {
        return LULL_NONE;
    }
    *holder = evidence->waker;
    struct lull_lock lock = {
        .host = lull_model_task(eg->model, line)->host,
        .comm = kind_of(portions, line, time_ns),
        .call = call ? intern(portions, call) : NULL,
        .holder = *holder == LULL_NONE ? NULL : kind_of(portions, *holder, time_ns),
        .is_worker = !is_lock,
        .is_kernel = is_kernel,
    };
    return number_of(portions->lock_numbers, portions->locks, &lock, sizeof lock);
}

/* Whether the piece is itself a wait for something that a task holds. What a timer or a disk ended
 * was not somebody's hold, and who has been waiting since before the work started is idle. */
static bool may_be_lock(const struct adding *adding, const struct path_piece *piece)
{
    const struct lull_hop *hop = piece->hop;
    const int64_t since_ns =
        hop->wait == LULL_NONE
            ? adding->start_ns
            : g_array_index(adding->waits, struct lull_path_wait, hop->wait).start_ns;
    return piece->state == LULL_STATE_BLOCKED && hop->start_ns > since_ns &&
           (hop->cause == LULL_CAUSE_TASK || hop->cause == LULL_CAUSE_UNKNOWN);
}

/* The outermost lock that the piece lies within; *within: the wait around it; *held: its wait.
 * Who waits for another worker is not idle: that wait may have started while its own client still
 * ran on. */
static uint32_t find_lock(struct adding *adding, const struct path_piece *piece, uint32_t *holder,
                          uint32_t *within, uint32_t *held)
{
    uint32_t found = LULL_NONE;
    const struct lull_hop *hop = piece->hop;
    *within = hop->wait;
    *held = LULL_NONE;
    if (may_be_lock(adding, piece)) {
        found = lock_of(adding->portions, hop->line, hop->detail, piece->end_ns, holder);
    }
    for (uint32_t w = hop->wait; w != LULL_NONE;) {
        const struct lull_path_wait *wait = &g_array_index(adding->waits, struct lull_path_wait, w);
        uint32_t task = LULL_NONE, lock = LULL_NONE;
        if (wait->is_whole || wait->is_recent) {
            lock = lock_of(adding->portions, wait->line, wait->detail, piece->end_ns, &task);
        }
        if (lock != LULL_NONE && task != LULL_NONE &&
            (wait->is_whole || lull_portions_lock(adding->portions, lock)->is_worker)) {
            found = lock;
            *holder = task;
            *within = wait->within;
            *held = w;
        }
        w = wait->within;
    }
    return found;
}

/* ---- parts ---- */

/* Who waited for this, from the innermost wait outwards, before the wait `until`, but for one task. */
static const char *report_through(struct adding *adding, uint32_t within, uint32_t until,
                                  uint32_t except, int64_t time_ns)
{
    struct lull_portions *portions = adding->portions;
    const struct lull_model *model = portions->eg->model;
    const char *last_comm = NULL;
    uint32_t last_host = LULL_NONE;
    g_autoptr(GString) out = g_string_new(NULL);
    for (uint32_t w = within; w != LULL_NONE && w != until;) {
        const struct lull_path_wait *wait = &g_array_index(adding->waits, struct lull_path_wait, w);
        const uint32_t host = lull_model_task(model, wait->line)->host;
        const char *comm = kind_of(portions, wait->line, time_ns);
        w = wait->within;
        if (wait->line == except || (comm == last_comm && host == last_host)) {
            continue; /* threads of one program that waited for each other */
        }
        last_comm = comm;
        last_host = host;
        g_string_append_printf(out, "%s%s", out->len ? ", waited for by " : "", comm);
        if (lull_session_host_count(portions->session) > 1) {
            g_string_append_printf(out, " on %s", lull_session_host(portions->session, host)->name);
        }
    }
    return out->len ? intern(portions, out->str) : NULL;
}

static const char *report_inside(struct adding *adding, const struct path_piece *piece,
                                 uint32_t held, uint32_t holder)
{
    return held == LULL_NONE
               ? NULL
               : report_through(adding, piece->hop->wait, held, holder, piece->end_ns);
}

static uint32_t portion_of(struct lull_portions *portions, const struct path_piece *piece,
                           const GString *detail)
{
    const struct lull_hop *hop = piece->hop;
    const char *kept = detail->len > 0 ? intern(portions, detail->str) : NULL;
    const struct lull_portion portion = {
        .host = lull_model_task(portions->eg->model, hop->line)->host,
        .comm = kind_of(portions, hop->line, piece->end_ns),
        .state = piece->state,
        .cause = piece->cause,
        .detail = kept,
    };
    return number_of(portions->portion_numbers, portions->portions, &portion, sizeof portion);
}

static int32_t join_tids(int32_t a, int32_t b)
{
    return a == b ? a : LULL_SEVERAL_TIDS;
}

/* More of the part, by that task. Whoever leads by nine tenths has done at least that (Boyer and
 * Moore 1981). */
static void lead_part(struct lull_part *part, int32_t tid, int64_t ns)
{
    if (part->tid == tid) {
        lull_add(&part->lead_ns, ns);
    } else if (part->lead_ns >= ns) {
        part->lead_ns -= ns;
    } else {
        part->lead_ns = ns - part->lead_ns;
        part->tid = tid;
    }
}

/* Adds time of the piece with what it is about. */
static void add_part(struct adding *adding, const struct path_piece *piece, const GString *detail,
                     uint32_t other, int64_t duration_ns)
{
    struct lull_portions *portions = adding->portions;
    uint32_t within, held, holder = LULL_NONE;
    const uint32_t portion = portion_of(portions, piece, detail);
    const uint32_t lock = find_lock(adding, piece, &holder, &within, &held);
    const int32_t tid = tid_of(portions, piece->hop->line);
    const int32_t other_tid = tid_of(portions, lock != LULL_NONE ? holder : other);
    const uint64_t key = (uint64_t)portion << 32 | lock;
    const uint32_t found = lull_map_find(&adding->parts, key);
    if (found == LULL_MAP_NONE) {
        lull_map_insert(&adding->parts, key, (uint32_t)portions->parts.count);
        lull_vec_push(&portions->parts,
                      (struct lull_part){.portion = portion,
                                         .lock = lock,
                                         .duration_ns = duration_ns,
                                         .tid = tid,
                                         .other_tid = other_tid,
                                         .lead_ns = duration_ns,
                                         .through = report_through(adding, within, LULL_NONE,
                                                                   LULL_NONE, piece->end_ns),
                                         .inside = report_inside(adding, piece, held, holder)});
        return;
    }
    struct lull_part *part = &portions->parts.items[found];
    lull_add(&part->duration_ns, duration_ns);
    lead_part(part, tid, duration_ns);
    part->other_tid = join_tids(part->other_tid, other_tid);
}

/* Each that had the CPU meanwhile is a part of its own. */
static void take_preemption(struct adding *adding, const struct path_piece *piece)
{
    const struct lull_execgraph *eg = adding->portions->eg;
    g_autoptr(GArray) shares = lull_evidence_shares(eg, piece);
    g_autoptr(GString) detail = g_string_new(NULL);
    const bool is_dump = lull_modes_in_dump(eg, piece->hop->line, piece->start_ns);
    int64_t left_ns = piece->end_ns - piece->start_ns;
    for (guint i = 0; i < shares->len && left_ns > 0; i++) {
        const struct cpu_share *share = &g_array_index(shares, struct cpu_share, i);
        const int64_t ns = MIN(share->ns, left_ns);
        g_string_truncate(detail, 0);
        lull_evidence_append_preemptor(eg, share, piece->end_ns, detail);
        g_string_append(detail, is_dump ? ", while its core is dumped" : "");
        add_part(adding, piece, detail, lull_evidence_preemptor(share), ns);
        left_ns -= ns;
    }
    g_string_truncate(detail, 0);
    if (left_ns > 0) {
        add_part(adding, piece, detail, LULL_NONE, left_ns);
    }
}

/* A process that has crashed does nothing of what it was asked to any more. */
static void take_running(struct adding *adding, const struct path_piece *piece)
{
    int64_t start_ns;
    const int64_t dump_ns = lull_modes_dump_ns(adding->portions->eg, piece, &start_ns);
    const int64_t own_ns = piece->end_ns - piece->start_ns - dump_ns;
    g_autoptr(GString) detail = g_string_new(NULL);
    if (own_ns > 0) {
        add_part(adding, piece, detail, LULL_NONE, own_ns);
    }
    if (dump_ns > 0) {
        g_string_append(detail, "in its core dump");
        add_part(adding, piece, detail, LULL_NONE, dump_ns);
    }
}

static void take_piece(void *user, const struct path_piece *piece)
{
    struct adding *adding = user;
    if (piece->state == LULL_STATE_RUNNING) {
        take_running(adding, piece);
        return;
    }
    if (piece->state == LULL_STATE_PREEMPTED && piece->cause != LULL_CAUSE_THROTTLED) {
        take_preemption(adding, piece);
        return;
    }
    g_autoptr(GString) detail = g_string_new(NULL);
    const uint32_t other = lull_evidence_subject(adding->portions->eg, piece, detail);
    add_part(adding, piece, detail, other, piece->end_ns - piece->start_ns);
}

/* What was lost on the hosts the sample touches while it lasted. */
static void count_losses(const struct lull_portions *portions, struct lull_sample *sample)
{
    const uint32_t count = lull_session_loss_count(portions->session);
    if (count == 0) {
        return;
    }
    g_autofree bool *is_touched = g_new0(bool, lull_session_host_count(portions->session));
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        const struct lull_part *part = &portions->parts.items[sample->first_part + i];
        is_touched[lull_portions_at(portions, part->portion)->host] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_loss *loss = lull_session_loss(portions->session, i);
        if (is_touched[loss->host] && loss->start_ns <= sample->end_ns &&
            loss->end_ns >= sample->start_ns) {
            sample->lost_events += loss->events;
            sample->lost_packets += loss->packets;
        }
    }
}

/* A part is of one task if that did nearly all of it. */
static void settle_tids(struct lull_portions *portions, const struct lull_sample *sample)
{
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        struct lull_part *part = &portions->parts.items[sample->first_part + i];
        if (part->lead_ns < part->duration_ns / 10 * 9) {
            part->tid = LULL_SEVERAL_TIDS;
        }
    }
}

/* A portion within different locks is several parts. */
static void find_most(struct lull_portions *portions, struct lull_sample *sample)
{
    const struct lull_part *parts = &portions->parts.items[sample->first_part];
    while (portions->own_ns.count < portions->portions->len) {
        lull_vec_push(&portions->own_ns, 0);
    }
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        portions->own_ns.items[parts[i].portion] += parts[i].duration_ns;
    }
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        int64_t *ns = &portions->own_ns.items[parts[i].portion];
        if (*ns > sample->most_ns) {
            sample->most_ns = *ns;
            sample->most = parts[i].portion;
        }
        *ns = 0;
    }
}

uint32_t lull_portions_add(struct lull_portions *portions, uint32_t task, int64_t start_ns,
                           int64_t end_ns)
{
    struct adding *adding = &portions->adding;
    struct lull_sample sample = {.task = task,
                                 .start_ns = start_ns,
                                 .end_ns = end_ns,
                                 .first_part = (uint32_t)portions->parts.count};
    adding->start_ns = start_ns;
    g_array_set_size(adding->waits, 0);
    lull_map_clear(&adding->parts);
    g_autoptr(GArray) hops = lull_critpath_find_waits(portions->eg->graph, task, start_ns, end_ns,
                                                      portions->kind, adding->waits);
    for (guint i = 0; i < hops->len; i++) {
        lull_path_each_piece(portions->eg, &g_array_index(hops, struct lull_hop, i), take_piece,
                             adding);
    }
    sample.n_parts = (uint32_t)portions->parts.count - sample.first_part;
    settle_tids(portions, &sample);
    find_most(portions, &sample);
    count_losses(portions, &sample);
    lull_vec_push(&portions->samples, sample);
    return (uint32_t)portions->samples.count - 1;
}

static void each_piece(const struct lull_portions *portions, uint32_t sample,
                       void (*take)(void *user, const struct path_piece *piece), void *user)
{
    const struct lull_sample *it = lull_sample_at(portions, sample);
    g_autoptr(GArray) hops =
        lull_critpath_find(portions->eg->graph, it->task, it->start_ns, it->end_ns, portions->kind);
    for (guint i = 0; i < hops->len; i++) {
        lull_path_each_piece(portions->eg, &g_array_index(hops, struct lull_hop, i), take, user);
    }
}

struct passing {
    const struct lull_portions *portions;
    void (*take)(void *user, const struct lull_sample_piece *piece);
    void *user;
};

static void pass_piece(void *user, const struct path_piece *piece)
{
    const struct passing *passing = user;
    const struct lull_task *task = lull_model_task(passing->portions->eg->model, piece->hop->line);
    const struct lull_sample_piece out = {.host = task->host,
                                          .tid = task->tid,
                                          .start_ns = piece->start_ns,
                                          .end_ns = piece->end_ns,
                                          .state = piece->state,
                                          .cause = piece->cause};
    passing->take(passing->user, &out);
}

void lull_sample_each_piece(const struct lull_portions *portions, uint32_t sample,
                            void (*take)(void *user, const struct lull_sample_piece *piece),
                            void *user)
{
    struct passing passing = {portions, take, user};
    each_piece(portions, sample, pass_piece, &passing);
}

struct idle_sum {
    const struct lull_portions *portions;
    const struct lull_portion *portion;
    GString *comm; /* scratch */
    int64_t *waited_ns, *idle_ns;
};

static void add_idle(void *user, const struct path_piece *piece)
{
    const struct idle_sum *sum = user;
    const struct lull_execgraph *eg = sum->portions->eg;
    const uint32_t line = piece->hop->line, host = lull_model_task(eg->model, line)->host;
    int64_t idle_ns;
    if (piece->state != LULL_STATE_PREEMPTED || piece->cause == LULL_CAUSE_THROTTLED ||
        host != sum->portion->host) {
        return;
    }
    g_string_truncate(sum->comm, 0);
    lull_evidence_append_kind(sum->comm, lull_model_comm(eg->model, line, piece->end_ns));
    if (strcmp(sum->comm->str, sum->portion->comm) == 0 &&
        lull_idle_elsewhere(eg, host, piece->hop->cpu, piece->start_ns, piece->end_ns, &idle_ns)) {
        lull_add(sum->waited_ns, piece->end_ns - piece->start_ns);
        lull_add(sum->idle_ns, idle_ns);
    }
}

void lull_sample_idle(const struct lull_portions *portions, uint32_t sample,
                      const struct lull_portion *portion, int64_t *waited_ns, int64_t *idle_ns)
{
    g_autoptr(GString) comm = g_string_new(NULL);
    struct idle_sum sum = {portions, portion, comm, waited_ns, idle_ns};
    *waited_ns = *idle_ns = 0;
    each_piece(portions, sample, add_idle, &sum);
}

/* ---- what there is ---- */

uint32_t lull_portions_count(const struct lull_portions *portions)
{
    return portions->portions->len;
}

const struct lull_portion *lull_portions_at(const struct lull_portions *portions, uint32_t portion)
{
    return portions->portions->pdata[portion];
}

uint32_t lull_portions_lock_count(const struct lull_portions *portions)
{
    return portions->locks->len;
}

const struct lull_lock *lull_portions_lock(const struct lull_portions *portions, uint32_t lock)
{
    return portions->locks->pdata[lock];
}

uint32_t lull_sample_count(const struct lull_portions *portions)
{
    return (uint32_t)portions->samples.count;
}

const struct lull_sample *lull_sample_at(const struct lull_portions *portions, uint32_t sample)
{
    return &portions->samples.items[sample];
}

const struct lull_part *lull_part_at(const struct lull_portions *portions, uint32_t part)
{
    return &portions->parts.items[part];
}

/* ---- sums ---- */

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_portion_sum *x = a, *y = b;
    if (x->total_ns != y->total_ns) {
        return x->total_ns < y->total_ns ? 1 : -1;
    }
    return x->portion < y->portion ? -1 : x->portion > y->portion;
}

/* A portion within different locks is several parts of a sample: they are put together first. */
static void add_sample(const struct lull_portions *portions, const struct lull_sample *sample,
                       struct lull_portion_sum *sums, int64_t *own_ns)
{
    const struct lull_part *parts = &portions->parts.items[sample->first_part];
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        lull_add(&own_ns[parts[i].portion], parts[i].duration_ns);
    }
    for (uint32_t i = 0; i < sample->n_parts; i++) {
        const int64_t ns = own_ns[parts[i].portion];
        struct lull_portion_sum *sum = &sums[parts[i].portion];
        if (ns == 0) {
            continue; /* taken already */
        }
        own_ns[parts[i].portion] = 0;
        sum->min_ns = sum->n_samples ? MIN(sum->min_ns, ns) : ns;
        sum->max_ns = MAX(sum->max_ns, ns);
        lull_add(&sum->total_ns, ns);
        sum->n_samples++;
    }
}

GArray *lull_portions_sum(const struct lull_portions *portions, const uint32_t *samples,
                          uint32_t count)
{
    const uint32_t n = lull_portions_count(portions);
    g_autofree int64_t *own_ns = g_new0(int64_t, n);
    g_autofree struct lull_portion_sum *sums = g_new0(struct lull_portion_sum, n);
    for (uint32_t i = 0; i < count; i++) {
        add_sample(portions, lull_sample_at(portions, samples[i]), sums, own_ns);
    }
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct lull_portion_sum));
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_portion *portion = portions->portions->pdata[i];
        sums[i].host = portion->host;
        sums[i].comm = portion->comm;
        sums[i].state = portion->state;
        sums[i].cause = portion->cause;
        sums[i].detail = portion->detail;
        sums[i].portion = i;
        if (sums[i].n_samples > 0) {
            g_array_append_val(found, sums[i]);
        }
    }
    g_array_sort(found, longest_first);
    return found;
}
