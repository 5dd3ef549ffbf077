/* SPDX-License-Identifier: MIT */
/* Scripted machines from a text file: one line a thing that happens. The grammar is in
 * tests/e2e/README.md. */
#include "lib/scenario.h"

#include <stdlib.h>
#include <string.h>

struct script {
    struct scenario *scenario;
    GHashTable *hosts, *tasks, *flows, *packets; /* by name */
    GPtrArray *omits;                            /* tables of names, kept until the end */
    const char *file;
    unsigned line;
    GError **error;
};

/* One line cut into words. */
struct words {
    char **at;
    unsigned count;
};

static bool fail(struct script *s, const char *what, const char *word)
{
    g_set_error(s->error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s:%u: %s: %s", s->file, s->line,
                what, word);
    return false;
}

/* "2.5ms", "30us", "-3h", "7s", "100ns" */
static bool read_time(struct script *s, const char *word, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"h", 3600e9}};
    char *end = NULL;
    double number = g_ascii_strtod(word, &end);
    for (unsigned i = 0; i < G_N_ELEMENTS(units); i++) {
        if (end != word && !strcmp(end, units[i].unit)) {
            double rounded = number * units[i].ns;
            *ns = (int64_t)(rounded < 0 ? rounded - 0.5 : rounded + 0.5);
            return true;
        }
    }
    return fail(s, "not a time", word);
}

static const char *word_at(const struct words *w, unsigned i)
{
    return i < w->count ? w->at[i] : "";
}

/* The word after the word `key`, or NULL. */
static const char *word_after(const struct words *w, const char *key)
{
    for (unsigned i = 0; i + 1 < w->count; i++) {
        if (!strcmp(w->at[i], key)) {
            return w->at[i + 1];
        }
    }
    return NULL;
}

static bool has_word(const struct words *w, const char *key)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (!strcmp(w->at[i], key)) {
            return true;
        }
    }
    return false;
}

static gpointer find(struct script *s, GHashTable *table, const char *what, const char *name)
{
    gpointer found = g_hash_table_lookup(table, name);
    if (!found) {
        fail(s, what, name);
    }
    return found;
}

/* ---- what there is ---- */

static const char *const *omit_list(struct script *s, const char *names)
{
    char **omit = g_strsplit(names, ",", -1);
    g_ptr_array_add(s->omits, omit);
    return (const char *const *)omit;
}

/* host NAME [offset T] [drift PPM] [be] [large] [natural] [contexts pid,tid,procname] [omit A,B*] [headerless|numbers]
 */
static bool read_host(struct script *s, const struct words *w)
{
    struct ctf_options options = {.big_endian = has_word(w, "be"),
                                  .large_header = has_word(w, "large"),
                                  .natural_align = has_word(w, "natural"),
                                  .no_clock_uuid = has_word(w, "nouuid"),
                                  .packet_bytes = 65536};
    struct sc_clock clock = {0};
    const char *offset = word_after(w, "offset"), *drift = word_after(w, "drift");
    const char *contexts = word_after(w, "contexts"), *omit = word_after(w, "omit");
    if (offset && !read_time(s, offset, &clock.offset_ns)) {
        return false;
    }
    clock.drift_ppm = drift ? g_ascii_strtod(drift, NULL) : 0;
    options.contexts = CTF_PID | CTF_TID | CTF_PROCNAME;
    if (contexts) {
        options.contexts = (strstr(contexts, "pid") ? CTF_PID : 0u) |
                           (strstr(contexts, "tid") ? CTF_TID : 0u) |
                           (strstr(contexts, "procname") ? CTF_PROCNAME : 0u);
    }
    if (omit) {
        options.omit = omit_list(s, omit);
    }
    struct sc_host *host = sc_host(s->scenario, word_at(w, 1), &options, clock);
    if (has_word(w, "headerless")) {
        sc_host_without_headers(host);
    }
    if (has_word(w, "numbers")) {
        sc_host_with_numbers(host);
    }
    g_hash_table_insert(s->hosts, g_strdup(word_at(w, 1)), host);
    return true;
}

/* task NAME HOST TID[/PID] [as COMM] [on CPU] */
static bool read_task(struct script *s, const struct words *w)
{
    struct sc_host *host = find(s, s->hosts, "no such host", word_at(w, 2));
    char *end = NULL;
    long tid = strtol(word_at(w, 3), &end, 10), pid = tid;
    if (*end == '/') {
        pid = strtol(end + 1, NULL, 10);
    }
    if (!host) {
        return false;
    }
    if (tid <= 0) {
        return fail(s, "not a task id", word_at(w, 3));
    }
    const bool is_named = strcmp(word_at(w, 4), "as") == 0;
    const guint rest = is_named ? 6 : 4;
    struct sc_task *task = sc_task(host, (int)tid, (int)pid, word_at(w, is_named ? 5 : 1));
    if (strcmp(word_at(w, rest), "on") == 0) {
        sc_task_stays(task, (unsigned)strtoul(word_at(w, rest + 1), NULL, 10));
    }
    g_hash_table_insert(s->tasks, g_strdup(word_at(w, 1)), task);
    return true;
}

/* flow NAME tcp|udp HOST:PORT HOST:PORT [ipv6] [via|translated DEVICE] */
static bool read_flow(struct script *s, const struct words *w)
{
    struct sc_host *hosts[2];
    unsigned ports[2];
    for (unsigned i = 0; i < 2; i++) {
        g_auto(GStrv) end = g_strsplit(word_at(w, 3 + i), ":", 2);
        if (!end[0] || !end[1]) {
            return fail(s, "not HOST:PORT", word_at(w, 3 + i));
        }
        hosts[i] = find(s, s->hosts, "no such host", end[0]);
        ports[i] = (unsigned)strtoul(end[1], NULL, 10);
        if (!hosts[i]) {
            return false;
        }
    }
    unsigned protocol = !strcmp(word_at(w, 2), "udp") ? 17 : 6;
    struct sc_flow *flow =
        sc_flow(s->scenario, hosts[0], ports[0], hosts[1], ports[1], protocol, has_word(w, "ipv6"));
    const char *via = word_after(w, "via"), *translated = word_after(w, "translated");
    if (via || translated) {
        sc_flow_via(flow, (const char *const[2]){g_intern_string(via ? via : translated), "eth0"},
                    translated);
    }
    g_hash_table_insert(s->flows, g_strdup(word_at(w, 1)), flow);
    return true;
}

/* ---- what happens ---- */

/* Where and when the line happens. */
struct moment {
    int64_t t;
    struct sc_host *host;
    unsigned cpu;
};

static bool optional_task(struct script *s, const struct words *w, const char *key,
                          struct sc_task **task)
{
    const char *name = word_after(w, key);
    *task = name ? find(s, s->tasks, "no such task", name) : NULL;
    return !name || *task;
}

static enum sc_context context_of(const struct words *w, enum sc_context fallback)
{
    return has_word(w, "plain")     ? SC_PLAIN
           : has_word(w, "softirq") ? SC_SOFTIRQ
           : has_word(w, "irq")     ? SC_IRQ
                                    : fallback;
}

/* send PACKET FLOW client|server BYTES [flags N] [softirq] */
static bool play_send(struct script *s, const struct words *w, const struct moment *m)
{
    struct sc_flow *flow = find(s, s->flows, "no such flow", word_at(w, 4));
    if (!flow) {
        return false;
    }
    const char *flags = word_after(w, "flags");
    struct sc_packet *packet =
        sc_send(flow, !strcmp(word_at(w, 5), "client"), m->cpu, m->t,
                (unsigned)strtoul(word_at(w, 6), NULL, 0),
                flags ? (unsigned)strtoul(flags, NULL, 0) : 0, context_of(w, SC_PLAIN));
    g_hash_table_insert(s->packets, g_strdup(word_at(w, 3)), packet);
    return true;
}

static uint64_t number_after(const struct words *w, const char *key)
{
    const char *word = word_after(w, key);
    return word ? strtoull(word, NULL, 0) : 0;
}

/* out|in FLOW client|server [seq N] [ack N] [bytes N] [flags N] [window N] [id N] [extension N] [skb N] [wake TASK]
 * [softirq|plain] */
static bool play_header(struct script *s, const struct words *w, const struct moment *m)
{
    struct sc_flow *flow = find(s, s->flows, "no such flow", word_at(w, 3));
    struct sc_task *task;
    if (!flow || !optional_task(s, w, "wake", &task)) {
        return false;
    }
    const struct sc_header header = {.seq = (uint32_t)number_after(w, "seq"),
                                     .ack = (uint32_t)number_after(w, "ack"),
                                     .bytes = (unsigned)number_after(w, "bytes"),
                                     .flags = (unsigned)number_after(w, "flags"),
                                     .window = (unsigned)number_after(w, "window"),
                                     .ip_id = (unsigned)number_after(w, "id"),
                                     .extension = (unsigned)number_after(w, "extension"),
                                     .skb = number_after(w, "skb")};
    sc_packet(flow, !strcmp(word_at(w, 4), "client"), m->cpu, m->t, !strcmp(word_at(w, 2), "out"),
              &header, task, context_of(w, SC_IRQ));
    return true;
}

static bool play_network(struct script *s, const char *verb, const struct words *w,
                         const struct moment *m)
{
    struct sc_task *task;
    if (!strcmp(verb, "send")) {
        return play_send(s, w, m);
    }
    if (!strcmp(verb, "out") || !strcmp(verb, "in")) {
        return play_header(s, w, m);
    }
    struct sc_packet *packet = find(s, s->packets, "no such packet", word_at(w, 3));
    if (!packet || !optional_task(s, w, "wake", &task)) {
        return false;
    }
    if (!strcmp(verb, "resend")) {
        sc_resend(packet, m->cpu, m->t, has_word(w, "reused"));
    } else if (word_after(w, "copy")) {
        sc_receive_copy(packet, (unsigned)number_after(w, "copy"), m->cpu, m->t, task,
                        context_of(w, SC_IRQ));
    } else {
        sc_receive(packet, m->cpu, m->t, task, context_of(w, SC_IRQ));
    }
    return true;
}

/* irq NUMBER NAME LENGTH | softirq VEC LENGTH | vector KIND LENGTH, all with [wake TASK] in the
 * middle; an interrupt's thread is woken once its handler has returned (kernel/irq/handle.c of Linux) */
static bool play_interrupt(struct script *s, const char *verb, const struct words *w,
                           const struct moment *m)
{
    struct sc_task *task;
    int64_t length;
    bool is_thread = false;
    unsigned at = !strcmp(verb, "irq") ? 5 : 4;
    if (!optional_task(s, w, "wake", &task) || !read_time(s, word_at(w, at), &length)) {
        return false;
    }
    if (!strcmp(verb, "irq")) {
        is_thread = task && g_str_has_prefix(word_at(w, at + 2), "irq/");
        sc_irq(m->host, m->cpu, m->t, length, atoi(word_at(w, 3)), word_at(w, 4), is_thread);
    } else if (!strcmp(verb, "softirq")) {
        sc_softirq(m->host, m->cpu, m->t, length, (unsigned)atoi(word_at(w, 3)));
    } else {
        sc_vector(m->host, m->cpu, m->t, length, word_at(w, 3));
    }
    if (task) {
        sc_wake(m->host, m->cpu, m->t + (is_thread ? length + 1000 : length / 2), task);
    }
    return true;
}

/* disk issue TASK SECTOR | disk complete SECTOR [wake TASK] */
static bool play_disk(struct script *s, const struct words *w, const struct moment *m)
{
    struct sc_task *task;
    if (!strcmp(word_at(w, 3), "issue")) {
        task = find(s, s->tasks, "no such task", word_at(w, 4));
        if (!task) {
            return false;
        }
        sc_disk_issue(m->host, m->cpu, m->t, task, strtoull(word_at(w, 5), NULL, 0));
        return true;
    }
    if (!optional_task(s, w, "wake", &task)) {
        return false;
    }
    sc_disk_complete(m->host, m->cpu, m->t, strtoull(word_at(w, 4), NULL, 0), task);
    return true;
}

/* run TASK | wake TASK | hrtimer TASK | fork PARENT CHILD | exit TASK [then T] */
static bool play_task(struct script *s, const char *verb, const struct words *w,
                      const struct moment *m)
{
    struct sc_task *task = find(s, s->tasks, "no such task", word_at(w, 3)), *then = NULL;
    if (!task || !optional_task(s, w, "then", &then)) {
        return false;
    }
    if (sc_task_host(task) != m->host) {
        return fail(s, "a task of another host", word_at(w, 3));
    }
    if (!strcmp(verb, "run")) {
        sc_run(task, m->cpu, m->t);
    } else if (!strcmp(verb, "wake")) {
        sc_wake(m->host, m->cpu, m->t, task);
    } else if (!strcmp(verb, "hrtimer")) {
        sc_hrtimer(m->host, m->cpu, m->t, task);
    } else if (!strcmp(verb, "exit")) {
        sc_exit(task, m->cpu, m->t, then);
    } else {
        struct sc_task *child = find(s, s->tasks, "no such task", word_at(w, 4));
        if (!child) {
            return false;
        }
        sc_fork(m->host, m->cpu, m->t, task, child);
    }
    return true;
}

/* block [STATE] [then TASK] | statedump | lose EVENTS PACKETS | gap LENGTH [packet] | event NAME VALUES… */
static bool play_other(struct script *s, const char *verb, const struct words *w,
                       const struct moment *m)
{
    struct sc_task *then;
    int64_t length;
    if (!strcmp(verb, "block")) {
        if (!optional_task(s, w, "then", &then)) {
            return false;
        }
        sc_block(m->host, m->cpu, m->t,
                 w->count > 3 && strcmp(w->at[3], "then") ? atoi(w->at[3]) : 1, then);
    } else if (!strcmp(verb, "statedump")) {
        sc_statedump(m->host, m->cpu, m->t);
    } else if (!strcmp(verb, "lose")) {
        sc_lose(m->host, m->cpu, m->t, (unsigned)atoi(word_at(w, 3)),
                (unsigned)atoi(word_at(w, 4)));
    } else if (!strcmp(verb, "gap")) {
        if (!read_time(s, word_at(w, 3), &length)) {
            return false;
        }
        sc_gap(m->host, m->cpu, m->t, length, has_word(w, "packet"));
    } else if (!strcmp(verb, "event") && w->count > 3) {
        g_autofree char *values = g_strjoinv(" ", w->at + 4);
        sc_event(m->host, m->cpu, m->t, w->at[3], values);
    } else {
        return fail(s, "no such verb", verb);
    }
    return true;
}

static bool play_line(struct script *s, const struct words *w)
{
    struct moment m = {0};
    g_auto(GStrv) position = g_strsplit(word_at(w, 1), "/", 2);
    const char *verb = word_at(w, 2);
    if (!read_time(s, w->at[0], &m.t)) {
        return false;
    }
    m.host = find(s, s->hosts, "no such host", position[0] ? position[0] : "");
    if (!m.host) {
        return false;
    }
    m.cpu = position[1] ? (unsigned)atoi(position[1]) : 0;
    static const struct {
        const char *verbs;
        bool (*play)(struct script *, const char *, const struct words *, const struct moment *);
    } table[] = {{" send resend receive out in ", play_network},
                 {" irq softirq vector ", play_interrupt},
                 {" run wake hrtimer fork exit ", play_task}};
    g_autofree char *key = g_strdup_printf(" %s ", verb);
    if (!strcmp(verb, "disk")) {
        return play_disk(s, w, &m);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        if (strstr(table[i].verbs, key)) {
            return table[i].play(s, verb, w, &m);
        }
    }
    return play_other(s, verb, w, &m);
}

static bool read_line(struct script *s, char *line)
{
    char *words[64] = {NULL}, *rest = NULL;
    struct words w = {.at = words};
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (w.count + 1 == G_N_ELEMENTS(words)) {
            return fail(s, "too many words", word);
        }
        words[w.count++] = word;
    }
    if (w.count == 0 || !strcmp(words[0], "expect") || !strcmp(words[0], "leg")) {
        return true;
    }
    if (!strcmp(words[0], "host")) {
        return read_host(s, &w);
    }
    if (!strcmp(words[0], "task")) {
        return read_task(s, &w);
    }
    if (!strcmp(words[0], "flow")) {
        return read_flow(s, &w);
    }
    return play_line(s, &w);
}

bool scenario_run_script(const char *file, const char *dir, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(file, &text, NULL, error)) {
        return false;
    }
    struct script s = {.scenario = scenario_new(dir), .file = file, .error = error};
    GHashTable **tables[] = {&s.hosts, &s.tasks, &s.flows, &s.packets};
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        *tables[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    }
    s.omits = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool ok = true;
    for (unsigned i = 0; ok && lines[i]; i++) {
        s.line = i + 1;
        ok = read_line(&s, lines[i]);
    }
    scenario_close(s.scenario);
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_hash_table_unref(*tables[i]);
    }
    g_ptr_array_unref(s.omits);
    return ok;
}
