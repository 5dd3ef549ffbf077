/* SPDX-License-Identifier: MIT */
/* A session: any number of traces of any number of hosts, read as one sequence of events in time
 * order. Open it, subscribe to what is wanted, read. What nobody subscribed to is never decoded.
 * Ownership: everything returned as pointer to const belongs to the session and dies with it. */
#ifndef LULL_SESSION_H
#define LULL_SESSION_H

#include <lull/error.h>
#include <lull/event.h>

G_BEGIN_DECLS

struct lull_session;

/** A machine. Traces with the same clock UUID (boot id) belong to one host; without a clock UUID,
 * those with the same hostname; and the traces of one recording (recording.h). */
struct lull_host {
    const char *name; /**< hostname from the trace's environment, made unique ("db", "db#2"), or the
                           trace's directory name */
};

/** One trace. Times are on the host's own clock, before joining, ns since the Unix epoch;
 *  start_ns > end_ns if the trace holds no packet. */
struct lull_trace {
    const char *path;
    const char *below; /**< the end of `path` after what was given to lull_session_add(), or "" */
    uint32_t host;
    const char *tracer;     /**< "lttng-modules 2.13.9" or "" */
    const char *domain;     /**< "kernel", "ust" or "" */
    const char *kernel;     /**< kernel release or "" */
    const char *name;       /**< session name or "" */
    const char *process;    /**< the one that it is of (LTTng's per-PID buffers), or "" */
    int64_t process_id;     /**< of that process, or -1 */
    const char *format;     /**< "CTF 1.8" */
    const char *clock_name; /**< or "" */
    uint64_t clock_frequency_hz;
    int64_t clock_offset_ns; /**< from the origin of the clock to the Unix epoch */
    int64_t start_ns, end_ns;
    uint32_t directory_count; /**< it lies in: more than 1 after rotations and snapshots; `path` is
                                   the first */
    uint32_t stream_count;
    uint64_t packet_count;
    uint64_t size_bytes; /**< of all stream files */
};

/** Something that was lost: by the tracer (full buffers) or in damaged files. */
struct lull_loss {
    uint32_t host, trace, stream;
    int64_t start_ns, end_ns; /**< it happened between these, joined clock */
    uint64_t events;          /**< events discarded by the tracer */
    uint64_t packets;         /**< whole packets missing, or damaged and left out */
};

/** Creates an empty session. Free with lull_session_free(). */
struct lull_session *lull_session_new(void);
void lull_session_free(struct lull_session *session);

/** Adds a trace directory, or each trace in the directories below `path`, in order of their names;
 * or the same packed in an archive (.zip, or .tar, also compressed with gzip, bzip2, xz or zstd); a
 * trace.dat or perf.data, also compressed so; or /dev/stdin, if one of these comes through a pipe.
 * Directories that hold parts of one trace (rotation chunks, snapshots) are one trace. False and an
 * error if there is no trace there or it cannot be read at all; damage that leaves something to
 * read goes to lull_session_problem() instead. A trace that is there already is not added again.
 * A `path` of the form net://HOST[:PORT]/host/TARGET/SESSION is a live session: a recording that an
 * LTTng relay hands on while it is made. Adding it waits until the recording has a trace, reading
 * follows it until it ends. It can be read once only, and neither counted nor exported; traces,
 * event classes and hosts may be added while it is read. */
bool lull_session_add(struct lull_session *session, const char *path, GError **error);

/** Adds what lies below several paths at once: directories of one trace, such as its rotation
 * chunks, then become one trace, wherever they lie. Each path may also be an archive (.tar, plain
 * or compressed). False and an error if one of the paths holds nothing that can be read; the others
 *  have been added then. */
bool lull_session_add_all(struct lull_session *session, const char *const *paths, uint32_t n_paths,
                          GError **error);

/** Hosts are numbered from 0 in the order in which their first trace was added. */
uint32_t lull_session_host_count(const struct lull_session *session);
const struct lull_host *lull_session_host(const struct lull_session *session, uint32_t index);
/** Traces are numbered from 0 in the order in which they were added. */
uint32_t lull_session_trace_count(const struct lull_session *session);
const struct lull_trace *lull_session_trace(const struct lull_session *session, uint32_t index);

/** What the environment of a trace says under `key` ("hostname", "vpid"), a number in decimal; NULL
 * if there is no such entry. */
const char *lull_session_environment(const struct lull_session *session, uint32_t trace,
                                     const char *key);

/** Every event class that the traces declare: `visit` is called for each, by trace, stream and id.
 */
void lull_session_each_class(const struct lull_session *session,
                             void (*visit)(void *user, uint32_t trace,
                                           const struct lull_event_class *event_class),
                             void *user);

/** True if some trace of the host declares an event class of one of these names (NULL-terminated;
 * whole names, no '*'): the event was to be recorded. Some traces, such as trace.dat, declare all
 * events that the kernel has and do not say which were wanted; of them those count of which there
 * is one, for which the trace is looked through at the first call, unless a recording.json beside
 * it lists those that were switched on. */
bool lull_session_declares(const struct lull_session *session, uint32_t host,
                           const char *const *names);

/** Wants events whose name equals one of `names` (NULL-terminated; a name that ends with '*'
 * matches all names with that start). `fields_size` bytes are laid out for each event, see
 * lull_binding; it may be 0 with no bindings. An event class goes to the first subscription that
 * matches it. Returns the number of the subscription. Call before reading; names and bindings are
 * borrowed and must live as long as the session. At most 64 bindings; `binding_size` is that of one
 * as the caller knows it. */
uint32_t lull_session_subscribe_sized(struct lull_session *session, const char *const *names,
                                      const struct lull_binding *bindings, size_t binding_size,
                                      uint32_t n_bindings, uint32_t fields_size);
static inline uint32_t lull_session_subscribe(struct lull_session *session,
                                              const char *const *names,
                                              const struct lull_binding *bindings,
                                              uint32_t n_bindings, uint32_t fields_size)
{
    return lull_session_subscribe_sized(session, names, bindings, sizeof *bindings, n_bindings,
                                        fields_size);
}
/** Forgets all subscriptions, and rewinds. */
void lull_session_unsubscribe_all(struct lull_session *session);

/** Limits reading to start_ns <= time < end_ns on the joined clock; INT64_MIN and INT64_MAX for
 * none. Packets outside are not touched. Rewinds. */
void lull_session_limit(struct lull_session *session, int64_t start_ns, int64_t end_ns);
/** Leaves out streams of other hosts (host < 0: all hosts) and other CPUs (cpu < 0: all CPUs).
 * Rewinds. */
void lull_session_select(struct lull_session *session, int32_t host, int32_t cpu);
/** The same, for streams of one of `n` CPUs; 0: all. The list is copied. */
void lull_session_select_several(struct lull_session *session, int32_t host, const int64_t *cpus,
                                 size_t n);
/** From now on only events for which `expression` is true are handed out and counted; NULL: all.
 * The language is that of --filter (docs/FILTER.md). Times in it that have no zone are UTC, or
 * local ones if `is_local`. What it rejects by name, host, CPU or time is not decoded. False and
 * LULL_ERROR_USAGE if it is wrong: the message gives column and reason; nothing has changed then.
 * Rewinds. */
bool lull_session_filter(struct lull_session *session, const char *expression, bool is_local,
                         GError **error);

/** Leaves out of each trace what lies outside of the time in which all its streams have packets.
 * False and an error if there is no such time for a trace; nothing has changed then. Rewinds. */
bool lull_session_intersect(struct lull_session *session, GError **error);

/** Which of the events of equal time comes first, and what times are. */
enum lull_order {
    LULL_ORDER_ADDED,      /**< by trace and stream, as they were added; one clock for a host */
    LULL_ORDER_BABELTRACE, /**< as Babeltrace 2 does: by the traces' UUIDs, names, the ids of stream
                                class and stream; each trace's clock is what its metadata says, even
                                if traces of one host disagree, and clocks that do not count
                                nanoseconds are rounded as doubles are */
    LULL_ORDER_HOSTS,      /**< all events of the first host by time, then those of the next; live
                         sessions are read by time. Needs little memory with many hosts */
};

/** Sets the order for what is read from now on, and rewinds. */
void lull_session_set_order(struct lull_session *session, enum lull_order order);

/** Begins at the first event again. */
void lull_session_rewind(struct lull_session *session);

/** The next subscribed event in order of (time, trace, stream), or NULL at the end. Borrowed until
 * the next call. Damage inside is skipped and recorded, see lull_session_problem(). */
const struct lull_event *lull_session_read(struct lull_session *session);

/** The same as a copy, of which the pointers are borrowed: 1 with *event filled, 0 at the end.
 * `size` is that of *event as the caller knows it. */
int lull_session_next_sized(struct lull_session *session, struct lull_event *event, size_t size);
static inline int lull_session_next(struct lull_session *session, struct lull_event *event)
{
    return lull_session_next_sized(session, event, sizeof *event);
}

/** Has `wait` called before reading or adding waits for a live session, and ten times a second
 * while it lasts: time to write what was read so far. If it returns false, live sessions end there.
 * NULL for none. */
void lull_session_on_wait(struct lull_session *session, bool (*wait)(void *user), void *user);
/** For live sessions that are added from now on: true to begin with the oldest events that the
 * relay still has, false (the default, as Babeltrace 2 does) with those that come after it was
 * added. */
void lull_session_follow_from_start(struct lull_session *session, bool from_start);
/** True if reading a live session ended before the recording did, because the relay went away or
 * answered nonsense; *error says why. */
bool lull_session_failed(const struct lull_session *session, GError **error);

/** Counts all events by class without merging, ignoring subscriptions but not limits and selection:
 *  calls `visit` for each class with at least one event, in the order of lull_session_each_class().
 *  Rewinds. */
void lull_session_count(struct lull_session *session,
                        void (*visit)(void *user, uint32_t trace,
                                      const struct lull_event_class *event_class, uint64_t count),
                        void *user);

/** How many threads may read: counting shares streams out, and answers have one thread read ahead;
 * 1 unless set, 0: as many as there are CPUs, where it helps. Results do not depend on it. */
void lull_session_set_threads(struct lull_session *session, uint32_t n_threads);

/** What decoding everything came to. */
struct lull_decoded {
    uint64_t events;
    uint64_t fields;   /**< values without parts: numbers, texts, … of contexts and payloads; a
                            number for each element of an array */
    uint64_t checksum; /**< sum of all values modulo 2^64: integers, the bits of reals as doubles,
                            of texts the length and the bytes as little-endian words of 64 bits */
};

/** Decodes every field of every event without merging, ignoring subscriptions and filters but not
 * limits and selection. Rewinds. `size` is that of *decoded as the caller knows it. */
void lull_session_decode_all_sized(struct lull_session *session, struct lull_decoded *decoded,
                                   size_t size);
static inline void lull_session_decode_all(struct lull_session *session,
                                           struct lull_decoded *decoded)
{
    lull_session_decode_all_sized(session, decoded, sizeof *decoded);
}

/** What was found damaged so far (opening and reading); each is one line with file, byte and
 * reason. Of an input that is damaged without end the first are kept, some 16 MiB of text: those
 * that were only counted are NULL. */
uint32_t lull_session_problem_count(const struct lull_session *session);
const char *lull_session_problem(const struct lull_session *session, uint32_t index);
/** What was lost, in order of begin; complete after opening (from packet headers or index) except
 *  for damage that only reading finds. */
uint32_t lull_session_loss_count(const struct lull_session *session);
const struct lull_loss *lull_session_loss(const struct lull_session *session, uint32_t index);

/** Begin and end of everything in the session, on the joined clock (before limits). False if empty.
 */
bool lull_session_range(const struct lull_session *session, int64_t *start_ns, int64_t *end_ns);
/** What times like "+1s" count from: the first event of all, whatever is selected; without events
 * the start of the packets; with live sessions the time when the first of them was added. 0 if there
 * is nothing. Packets may start long before their first event, so this may read, and rewind. */
int64_t lull_session_origin(struct lull_session *session);

/** Share read so far, 0..1, for a progress bar. */
double lull_session_progress(const struct lull_session *session);

/** Joined time = t + offset_ns + rate_num * (t - origin_ns) / 2^62, rounded to the nearest ns
 * (computed with 128 bits). The identity is all zero. See lull_session_set_clock(). Three numbers
 * are all that a straight line needs: the struct never changes. */
struct lull_clock_transform {
    int64_t origin_ns;
    int64_t offset_ns;
    int64_t rate_num; /**< drift as a multiple of 2^-62 */
};

/** The time on the joined clock of the host's own time `t`. */
int64_t lull_clock_transform_apply(const struct lull_clock_transform *transform, int64_t t);
/** The inverse, to within 1 ns; the largest t whose transform is <= joined. */
int64_t lull_clock_transform_invert(const struct lull_clock_transform *transform, int64_t joined);

/** Sets the clock of a host for what is read from now on, and rewinds. */
void lull_session_set_clock(struct lull_session *session, uint32_t host,
                            const struct lull_clock_transform *transform);
const struct lull_clock_transform *lull_session_clock(const struct lull_session *session,
                                                      uint32_t host);

/** True if all traces were exported together on one joined clock: their times need no joining. */
bool lull_session_is_joined(const struct lull_session *session);

/** How the clock of a host was joined with that of the reference host. */
struct lull_host_clock {
    uint32_t host;
    bool is_joined;    /**< false: its relation to the reference's is unknown */
    bool is_reference; /**< the joined clock is this host's own */
    int64_t offset_ns; /**< joined time minus own time at the start of the host's traces */
    double drift_ppm;  /**< of the joined clock against the host's own, in parts per million */
    int64_t bound_ns;  /**< largest possible error over the host's traces; -1 if not known */
};

/** Joins the clocks of all hosts by the packets that they exchanged, which are all read for that
 * whatever lull_session_filter() hides, and sets the clocks as lull_session_set_clock() does.
 * Subscriptions, limits and selection are undone, so call it first. Hosts that exchanged nothing
 * keep their own clocks. A session of a single host has nothing to join and is left as it is.
 * `progress` (or NULL) is called every some thousand events. */
void lull_session_join(struct lull_session *session, void (*progress)(void *user), void *user);
/** What lull_session_join() found out about a host; NULL if it was not called, or a clock was set
 * since. */
const struct lull_host_clock *lull_session_host_clock(const struct lull_session *session,
                                                      uint32_t host);

G_END_DECLS

#endif
