/* SPDX-License-Identifier: MIT */
/* Counters that were read with events (perf's groups, contexts of LTTng): what a counter rose
 * between two reads is charged to who was on the CPU meanwhile, or to the thread whose counter it is.
 * Nothing is charged twice, and what is nobody's for certain is unknown: the sum of all that is
 * reported of a counter is what it rose from its first read to its last. */
#include "kernel/machine.h"
#include "source/session/streams.h"

/* Values that events have besides their own, behind these. */
enum { FIELD_TID, FIELD_ENABLED, FIELD_RUNNING, FIELD_LOST, FIELD_COUNTERS };
#define MOST_COUNTERS 24u
#define MOST_FIELDS (FIELD_COUNTERS + MOST_COUNTERS)
/* perf's: a sample of another group. */
#define NOT_READ UINT64_MAX
/* Of a counter that is read more seldom than a CPU switches so often, it is not known who did it. */
#define MOST_STRETCHES 4096u

enum scope { SCOPE_CPU, SCOPE_THREAD_CPU, SCOPE_THREAD };

static const struct {
    const char *prefix;
    enum scope scope;
} scopes[] = {{"context.perf_cpu_", SCOPE_CPU},
              {"context.perf_thread_on_cpu_", SCOPE_THREAD_CPU},
              {"context.perf_thread_", SCOPE_THREAD}};

struct counter {
    char *path;
    enum scope scope;
    uint32_t name; /* label */
};

/* A counter of a CPU or thread, as it was read last. */
struct meter {
    int64_t time_ns; /* INT64_MIN: never */
    uint64_t value, enabled, running, lost;
    bool in_interrupt; /* since that read */
    int64_t left_ns;   /* when the interrupt was over; INT64_MIN: it is not */
};

/* Who was on a CPU. */
struct stretch {
    int64_t start_ns, end_ns;
    uint32_t task;
    uint8_t by; /* enum lull_counted_by: TASK, IDLE, UNKNOWN */
};

/* All counters of a CPU or thread. */
struct ledger {
    LULL_VEC(struct stretch) stretches; /* of the CPU since the first of these reads */
    struct meter meters[];              /* by counter */
};

struct counters {
    struct counter all[MOST_COUNTERS];
    uint32_t n;
    bool tells_turns; /* some say for how long they counted */
    const char *paths[MOST_COUNTERS][2];
    struct lull_binding fields[MOST_FIELDS];
    LULL_VEC(struct ledger *) ledgers;
    GPtrArray *class_names; /* of classes with counters; NULL-terminated */
    GPtrArray *bindings;    /* that the session borrows */
};

/* ---- which there are ---- */

static const char *const running_paths[] = {"context.time_running", NULL};

struct search {
    struct lull_model *model;
    bool has_counters; /* the class */
    bool has_times;
};

static bool has_path(const struct counters *counters, const char *path)
{
    for (uint32_t i = 0; i < counters->n; i++) {
        if (strcmp(counters->all[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* "context.perf_cpu_page_faults" is called "page-faults". */
static uint32_t name_counter(struct lull_model *model, enum scope scope, const char *rest)
{
    g_autofree char *name = g_strconcat(scope == SCOPE_CPU ? "" : "thread-", rest, NULL);
    return model_label(model, g_strdelimit(name, "_", '-'));
}

static void visit_field(void *user, const struct lull_field_info *field)
{
    struct search *search = user;
    struct counters *counters = search->model->counters;
    search->has_times |= strcmp(field->path, running_paths[0]) == 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(scopes) && field->kind == LULL_INFO_INT; i++) {
        if (!g_str_has_prefix(field->path, scopes[i].prefix)) {
            continue;
        }
        search->has_counters = true;
        if (!has_path(counters, field->path) && counters->n < MOST_COUNTERS) {
            counters->all[counters->n++] = (struct counter){
                .path = g_strdup(field->path),
                .scope = scopes[i].scope,
                .name = name_counter(search->model, scopes[i].scope,
                                     field->path + strlen(scopes[i].prefix)),
            };
        }
        return;
    }
}

static void visit_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct search search = {user, false, false};
    lull_event_class_each_field(event_class, visit_field, &search);
    if (search.has_counters) {
        g_ptr_array_add(search.model->counters->class_names,
                        (gpointer)lull_event_class_name(event_class));
        search.model->counters->tells_turns |= search.has_times;
    }
}

static void set_field(struct counters *counters, uint32_t field, const char *const *paths)
{
    counters->fields[field] =
        (struct lull_binding){paths, LULL_BIND_INT, field * (uint32_t)sizeof(int64_t)};
}

void counters_find(struct lull_model *model)
{
    static const char *const tid[] = {"context.tid", "context.common_pid", "context.vtid", NULL};
    static const char *const enabled[] = {"context.time_enabled", NULL};
    static const char *const lost[] = {"context.lost_samples", NULL};
    struct counters *counters = g_new0(struct counters, 1);
    model->counters = counters;
    counters->bindings = g_ptr_array_new_with_free_func(g_free);
    counters->class_names = g_ptr_array_new();
    lull_session_each_declared_class(model->session, visit_class, model);
    g_ptr_array_add(counters->class_names, NULL);
    set_field(counters, FIELD_TID, tid);
    set_field(counters, FIELD_ENABLED, enabled);
    set_field(counters, FIELD_RUNNING, running_paths);
    set_field(counters, FIELD_LOST, lost);
    for (uint32_t i = 0; i < counters->n; i++) {
        counters->paths[i][0] = counters->all[i].path;
        set_field(counters, FIELD_COUNTERS + i, counters->paths[i]);
    }
}

bool counters_more(const struct lull_model *model, struct lull_vocabulary_more *more)
{
    const struct counters *counters = model->counters;
    if (!counters || counters->n == 0) {
        return false;
    }
    *more = (struct lull_vocabulary_more){
        .fields = counters->fields,
        .n_fields = FIELD_COUNTERS + counters->n,
        .names = (const char *const *)counters->class_names->pdata,
        .bindings = counters->bindings,
    };
    return true;
}

void counters_free(struct lull_model *model)
{
    struct counters *counters = model->counters;
    if (!counters) {
        return;
    }
    lull_session_unsubscribe_all(model->session); /* it borrows the bindings */
    for (uint32_t i = 0; i < counters->n; i++) {
        g_free(counters->all[i].path);
    }
    for (size_t i = 0; i < counters->ledgers.count; i++) {
        lull_vec_free(&counters->ledgers.items[i]->stretches);
        g_free(counters->ledgers.items[i]);
    }
    lull_vec_free(&counters->ledgers);
    g_ptr_array_unref(counters->bindings);
    g_ptr_array_unref(counters->class_names);
    g_free(counters);
}

uint32_t lull_model_counter_count(const struct lull_model *model)
{
    return model->counters ? model->counters->n : 0;
}

uint32_t lull_model_counter(const struct lull_model *model, uint32_t counter)
{
    return model->counters->all[counter].name;
}

bool lull_model_counters_tell_turns(const struct lull_model *model)
{
    return model->counters && model->counters->tells_turns;
}

/* ---- who was on the CPU ---- */

static uint64_t key_of(enum scope scope, int32_t cpu, int32_t tid)
{
    const uint64_t c = scope == SCOPE_THREAD ? 0 : (uint32_t)cpu & 0xffff;
    const uint64_t t = scope == SCOPE_CPU ? 0 : (uint32_t)tid;
    return (uint64_t)scope << 62 | c << 32 | t;
}

static struct ledger *find_ledger(const struct lull_model *model, const struct machine *machine,
                                  uint64_t key)
{
    const uint32_t number = lull_map_find(&machine->ledgers, key);
    return number == LULL_MAP_NONE ? NULL : model->counters->ledgers.items[number];
}

static struct ledger *ledger_of(struct lull_model *model, struct machine *machine, uint64_t key)
{
    struct ledger *ledger = find_ledger(model, machine, key);
    if (ledger) {
        return ledger;
    }
    const uint32_t n = model->counters->n;
    ledger = g_malloc0(sizeof *ledger + n * sizeof *ledger->meters);
    for (uint32_t i = 0; i < n; i++) {
        ledger->meters[i].time_ns = ledger->meters[i].left_ns = INT64_MIN;
    }
    lull_map_insert(&machine->ledgers, key, (uint32_t)model->counters->ledgers.count);
    lull_vec_push(&model->counters->ledgers, ledger);
    return ledger;
}

/* The first `n`. */
static void forget_stretches(struct ledger *ledger, size_t n)
{
    ledger->stretches.count -= n;
    if (n > 0 && ledger->stretches.count > 0) {
        memmove(ledger->stretches.items, ledger->stretches.items + n,
                ledger->stretches.count * sizeof *ledger->stretches.items);
    }
}

static void add_stretch(struct ledger *ledger, struct stretch stretch)
{
    struct stretch *last =
        ledger->stretches.count ? &ledger->stretches.items[ledger->stretches.count - 1] : NULL;
    if (last) {
        stretch.start_ns = MAX(stretch.start_ns, last->end_ns);
    }
    if (stretch.start_ns >= stretch.end_ns) {
        return;
    }
    if (last && last->by == stretch.by && last->task == stretch.task &&
        last->end_ns == stretch.start_ns) {
        last->end_ns = stretch.end_ns;
        return;
    }
    if (ledger->stretches.count == MOST_STRETCHES) {
        forget_stretches(ledger, MOST_STRETCHES / 2);
    }
    lull_vec_push(&ledger->stretches, stretch);
}

/* `since_ns`: what was before is not known. */
static void add_stretches(struct ledger *ledger, int64_t start_ns, int64_t since_ns, int64_t end_ns,
                          uint32_t task, enum lull_counted_by by)
{
    add_stretch(ledger, (struct stretch){start_ns, since_ns, LULL_NONE, LULL_COUNTED_UNKNOWN});
    add_stretch(ledger, (struct stretch){since_ns, end_ns, task, (uint8_t)by});
}

void counters_switched(struct lull_model *model, const struct machine *machine,
                       const struct lull_switch_fact *fact)
{
    struct ledger *ledger = find_ledger(model, machine, key_of(SCOPE_CPU, fact->cpu, 0));
    if (ledger) {
        add_stretches(ledger, fact->since_ns - fact->unknown_ns, fact->since_ns, fact->time_ns,
                      fact->previous,
                      fact->previous == LULL_NONE ? LULL_COUNTED_IDLE : LULL_COUNTED_TASK);
    }
}

void counters_interrupted(struct lull_model *model, const struct machine *machine, int32_t c,
                          int64_t t)
{
    struct ledger *ledger = find_ledger(model, machine, key_of(SCOPE_CPU, c, 0));
    for (uint32_t i = 0; ledger && i < model->counters->n; i++) {
        struct meter *meter = &ledger->meters[i];
        if (meter->in_interrupt && meter->left_ns == INT64_MIN) {
            meter->left_ns = t;
        }
    }
}

/* Takes in what was on the CPU since the last switch. */
static void add_now(const struct lull_model *model, const struct cpu *cpu, struct ledger *ledger,
                    int64_t t)
{
    const int64_t start_ns =
        ledger->stretches.count
            ? MAX(cpu->reported_ns, ledger->stretches.items[ledger->stretches.count - 1].end_ns)
            : cpu->reported_ns;
    if (cpu->task == LULL_NONE) {
        add_stretches(ledger, start_ns, t, t, LULL_NONE, LULL_COUNTED_UNKNOWN);
        return;
    }
    const bool is_idle = model->tasks.items[cpu->task].is_idle;
    add_stretches(ledger, start_ns, CLAMP(cpu->since_ns, start_ns, MAX(t, start_ns)), t,
                  is_idle ? LULL_NONE : cpu->task, is_idle ? LULL_COUNTED_IDLE : LULL_COUNTED_TASK);
}

/* Forgets what was before the first of the last reads, but for who was last on the CPU. */
static void drop_stretches(const struct lull_model *model, struct ledger *ledger)
{
    int64_t first_ns = INT64_MAX;
    size_t over = 0;
    for (uint32_t i = 0; i < model->counters->n; i++) {
        if (ledger->meters[i].time_ns != INT64_MIN) {
            first_ns = MIN(first_ns, ledger->meters[i].time_ns);
        }
    }
    while (over + 1 < ledger->stretches.count && ledger->stretches.items[over].end_ns <= first_ns) {
        over++;
    }
    forget_stretches(ledger, over);
}

/* ---- charging ---- */

/* What is charged, and how much of it has been. */
struct charge {
    struct lull_model *model;
    struct lull_count_fact fact; /* of the whole */
    uint64_t value, counted;     /* so far */
    int64_t start_ns, end_ns;
};

static uint64_t share_of(uint64_t whole, int64_t part_ns, int64_t whole_ns)
{
    return (uint64_t)((unsigned __int128)whole * (uint64_t)part_ns / (uint64_t)whole_ns);
}

/* Reports the part until `end_ns`, in proportion to its time; parts come in order, the last with all
 * that is left. */
static void report_part(struct charge *charge, int64_t start_ns, int64_t end_ns, uint32_t task,
                        enum lull_counted_by by)
{
    struct lull_count_fact fact = charge->fact;
    const bool is_last = end_ns >= charge->end_ns;
    const int64_t whole_ns = charge->end_ns - charge->start_ns;
    uint64_t value = fact.value, counted = fact.counted;
    if (!is_last) {
        value = share_of(value, end_ns - charge->start_ns, whole_ns);
        counted = share_of(counted, end_ns - charge->start_ns, whole_ns);
    }
    fact.value = value - charge->value;
    fact.counted = counted - charge->counted;
    fact.start_ns = start_ns;
    fact.end_ns = end_ns;
    fact.is_shared = start_ns > charge->start_ns || !is_last;
    fact.task = task;
    fact.by = (uint8_t)by;
    charge->value = value;
    charge->counted = counted;
    REPORT(charge->model, count, &fact);
}

static void report_unknown(struct charge *charge, enum lull_count_why why)
{
    charge->fact.why = (uint8_t)why;
    report_part(charge, charge->start_ns, charge->end_ns, LULL_NONE, LULL_COUNTED_UNKNOWN);
}

/* Whether all of start_ns … end_ns is known. */
static bool is_known(const struct ledger *ledger, int64_t start_ns, int64_t end_ns)
{
    int64_t t = start_ns;
    for (size_t i = 0; i < ledger->stretches.count && t < end_ns; i++) {
        const struct stretch *stretch = &ledger->stretches.items[i];
        if (stretch->end_ns <= t) {
            continue;
        }
        if (stretch->start_ns > t || stretch->by == LULL_COUNTED_UNKNOWN) {
            return false;
        }
        t = stretch->end_ns;
    }
    return t >= end_ns;
}

/* Charges to who was on the CPU. */
static void charge_cpu(struct charge *charge, const struct ledger *ledger,
                       const struct meter *meter, bool is_active)
{
    int64_t t = charge->start_ns;
    if (meter->in_interrupt) {
        if (meter->left_ns == INT64_MIN && !is_active) {
            report_unknown(charge, LULL_COUNT_OWNER); /* its end was not seen */
            return;
        }
        t = meter->left_ns == INT64_MIN ? charge->end_ns : meter->left_ns;
    }
    if (!is_known(ledger, t, charge->end_ns)) {
        report_unknown(charge, LULL_COUNT_OWNER);
        return;
    }
    if (meter->in_interrupt) {
        report_part(charge, charge->start_ns, t, LULL_NONE, LULL_COUNTED_INTERRUPT);
    }
    for (size_t i = 0; i < ledger->stretches.count && t < charge->end_ns; i++) {
        const struct stretch *stretch = &ledger->stretches.items[i];
        const int64_t end_ns = MIN(stretch->end_ns, charge->end_ns);
        if (end_ns > t) {
            report_part(charge, t, end_ns, stretch->task, stretch->by);
            t = end_ns;
        }
    }
}

/* The same of two reads at one time. */
static void charge_moment(struct charge *charge, const struct ledger *ledger)
{
    const struct stretch *last =
        ledger->stretches.count ? &ledger->stretches.items[ledger->stretches.count - 1] : NULL;
    if (last && last->by != LULL_COUNTED_UNKNOWN && last->start_ns <= charge->end_ns &&
        last->end_ns >= charge->end_ns) {
        report_part(charge, charge->start_ns, charge->end_ns, last->task, last->by);
    } else {
        report_unknown(charge, LULL_COUNT_OWNER);
    }
}

/* What it rose since the read before, as it counted and as it would have if it had counted all the
 * time. False: that is not known, for the reason that is set. */
static bool measure(const struct meter *meter, const struct meter *now, bool has_times,
                    struct lull_count_fact *fact)
{
    if (now->value < meter->value && meter->value <= UINT64_MAX / 2) {
        fact->why = LULL_COUNT_RESET;
        return false;
    }
    fact->counted = fact->value = now->value - meter->value;
    if (now->lost != meter->lost) {
        fact->why = LULL_COUNT_LOST;
        return false;
    }
    if (!has_times) {
        return true;
    }
    if (now->enabled < meter->enabled || now->running < meter->running) {
        fact->why = LULL_COUNT_RESET;
        return false;
    }
    const uint64_t enabled = now->enabled - meter->enabled, running = now->running - meter->running;
    if (running == 0 && enabled > 0) {
        fact->why = LULL_COUNT_STOPPED;
        return false;
    }
    if (running < enabled) {
        const unsigned __int128 value = (unsigned __int128)fact->counted * enabled / running;
        fact->value = value > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)value;
        fact->is_estimate = true;
    }
    return true;
}

static uint32_t thread_of(struct lull_model *model, struct machine *machine, int32_t c, int64_t tid)
{
    return tid >= 0 && tid <= INT32_MAX ? model_task(model, machine, (int32_t)tid, MAX(c, 0))
                                        : LULL_NONE;
}

struct reading {
    uint64_t have;
    const uint64_t *values; /* by FIELD_ */
    int32_t cpu;
    int64_t time_ns;
};

static uint64_t value_of(const struct reading *reading, uint32_t field)
{
    return reading->have >> field & 1 ? reading->values[field] : 0;
}

static void read_one(struct lull_model *model, struct machine *machine,
                     const struct reading *reading, uint32_t number)
{
    const struct counter *counter = &model->counters->all[number];
    const int64_t tid = (int64_t)value_of(reading, FIELD_TID);
    const bool is_of_cpu = counter->scope == SCOPE_CPU;
    if ((counter->scope != SCOPE_THREAD && !lull_is_cpu(reading->cpu)) ||
        (!is_of_cpu && (!(reading->have >> FIELD_TID & 1) || tid <= 0 || tid > INT32_MAX))) {
        return;
    }
    struct ledger *ledger =
        ledger_of(model, machine, key_of(counter->scope, reading->cpu, (int32_t)tid));
    struct meter *meter = &ledger->meters[number];
    const struct cpu *cpu = is_of_cpu ? model_cpu_at(machine, reading->cpu) : NULL;
    const struct meter now = {
        .time_ns = reading->time_ns,
        .value = reading->values[FIELD_COUNTERS + number],
        .enabled = value_of(reading, FIELD_ENABLED),
        .running = value_of(reading, FIELD_RUNNING),
        .lost = value_of(reading, FIELD_LOST),
        .in_interrupt = cpu && irq_is_active(cpu),
        .left_ns = INT64_MIN,
    };
    struct charge charge = {.model = model,
                            .start_ns = meter->time_ns,
                            .end_ns = now.time_ns,
                            .fact = {.host = machine->host,
                                     .cpu = is_of_cpu ? reading->cpu : -1,
                                     .counter = number,
                                     .task = LULL_NONE}};
    if (meter->time_ns != INT64_MIN && meter->time_ns <= now.time_ns) {
        const bool has_times =
            (reading->have >> FIELD_ENABLED & 1) != 0 && (reading->have >> FIELD_RUNNING & 1) != 0;
        if (!measure(meter, &now, has_times, &charge.fact)) {
            report_unknown(&charge, charge.fact.why);
        } else if (is_of_cpu && charge.start_ns == charge.end_ns && !meter->in_interrupt) {
            charge_moment(&charge, ledger);
        } else if (is_of_cpu) {
            charge_cpu(&charge, ledger, meter, now.in_interrupt);
        } else {
            report_part(&charge, charge.start_ns, charge.end_ns,
                        thread_of(model, machine, reading->cpu, tid), LULL_COUNTED_TASK);
        }
    }
    *meter = now;
}

void counters_read(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event)
{
    const struct more_values more = more_values(id, event);
    struct counters *counters = model->counters;
    const struct reading reading = {.have = more.have, .values = more.of, .cpu = c, .time_ns = t};
    const uint64_t counted = reading.have >> FIELD_COUNTERS;
    if (counted == 0 || !model->wanted.count) {
        return;
    }
    struct ledger *ledger = NULL;
    if (lull_is_cpu(c)) {
        const struct cpu *cpu = model_cpu(model, machine, c);
        ledger = find_ledger(model, machine, key_of(SCOPE_CPU, c, 0));
        if (ledger) {
            add_now(model, cpu, ledger, t);
        }
    }
    for (uint32_t i = 0; i < counters->n; i++) {
        if ((counted >> i & 1) && reading.values[FIELD_COUNTERS + i] != NOT_READ) {
            read_one(model, machine, &reading, i);
        }
    }
    if (ledger) {
        drop_stretches(model, ledger);
    }
}
