/* SPDX-License-Identifier: MIT */
/* Interrupts of virtual CPUs, from who raises them to the handlers that take them. Two things are
 * learnt by counting: which vector a handler of the guest has (the one that was given to the virtual
 * CPU shortly before, each time), and, where KVM's own event is missing, which call of the program
 * comes before each injection of a vector. */
#include "graph/raises.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* What is seen of one interrupt of one virtual CPU. */
enum { N_VECTORS = 256, MOST_SOURCES = 16, MOST_RECENT = 8, MOST_ENTRIES = 16 };

struct vector {
    struct lull_raise open; /* not injected yet; INT64_MIN: none */
    struct lull_raise last; /* of what was given to the guest last; INT64_MIN: not known */
    int64_t given_ns;       /* when; INT64_MIN: never */
    uint32_t n_given;
    uint32_t count;
    uint32_t votes[MOST_SOURCES]; /* how often a source had been used before */
};

/* A descriptor that the program writes to, or -1: its calls to KVM. */
struct call_source {
    int64_t descriptor;
    uint32_t count;
    struct lull_raise last;
};

/* A process that runs a virtual machine. */
struct machine_notes {
    bool has_events; /* of KVM, that say who raises what */
    bool has_injections;
    LULL_VEC(struct call_source) sources;
};

struct handler_notes {
    uint32_t label;
    uint32_t next; /* of the same virtual CPU; LULL_MAP_NONE: none */
    uint32_t count;
    uint32_t n_vectors;
    struct {
        uint8_t vector;
        uint32_t votes;
    } vectors[MOST_RECENT];
};

struct vcpu_notes {
    uint32_t task;
    int32_t pid;
    uint32_t machine, numbered;    /* machines; that under which by_number has it */
    int64_t number;                /* -1: not reported */
    int64_t entries[MOST_ENTRIES]; /* the last ones, in a ring */
    uint32_t n_entries;
    struct lull_vcpu_sleep sleep;
    bool has_slept;
    struct vector *vectors[N_VECTORS];
    uint8_t recent[MOST_RECENT]; /* given last, in a ring */
    uint32_t n_recent;
    uint32_t handlers; /* the last new one; LULL_MAP_NONE: none */
};

struct lull_raises {
    const struct lull_model *model;
    LULL_VEC(struct vcpu_notes) vcpus;
    LULL_VEC(struct machine_notes) machines;
    struct lull_map by_task;    /* thread → vcpus */
    struct lull_map by_number;  /* machine, number → vcpus */
    struct lull_map by_process; /* host, pid → machines */
    LULL_VEC(struct handler_notes) handlers;
    struct lull_map by_label; /* thread, label → handlers */
};

static const struct lull_raise nobody = {INT64_MIN, LULL_NONE};

static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

struct lull_raises *lull_raises_new(const struct lull_model *model)
{
    struct lull_raises *raises = g_new0(struct lull_raises, 1);
    raises->model = model;
    return raises;
}

void lull_raises_free(struct lull_raises *raises)
{
    if (!raises) {
        return;
    }
    for (size_t i = 0; i < raises->vcpus.count; i++) {
        for (int v = 0; v < N_VECTORS; v++) {
            g_free(raises->vcpus.items[i].vectors[v]);
        }
    }
    for (size_t i = 0; i < raises->machines.count; i++) {
        lull_vec_free(&raises->machines.items[i].sources);
    }
    lull_vec_free(&raises->vcpus);
    lull_vec_free(&raises->machines);
    lull_vec_free(&raises->handlers);
    lull_map_free(&raises->by_task);
    lull_map_free(&raises->by_number);
    lull_map_free(&raises->by_process);
    lull_map_free(&raises->by_label);
    g_free(raises);
}

static struct vcpu_notes *vcpu_of(const struct lull_raises *raises, uint32_t task)
{
    const uint32_t i = task == LULL_NONE ? LULL_MAP_NONE : lull_map_find(&raises->by_task, task);
    return i == LULL_MAP_NONE ? NULL : &raises->vcpus.items[i];
}

static struct vcpu_notes *add_vcpu(struct lull_raises *raises, const struct lull_vcpu_fact *fact)
{
    lull_map_insert(&raises->by_task, fact->task, (uint32_t)raises->vcpus.count);
    lull_vec_push(&raises->vcpus, (struct vcpu_notes){.task = fact->task,
                                                      .pid = -1,
                                                      .machine = LULL_MAP_NONE,
                                                      .handlers = LULL_MAP_NONE,
                                                      .numbered = LULL_MAP_NONE,
                                                      .number = -1});
    return &raises->vcpus.items[raises->vcpus.count - 1];
}

/* To which process it belongs may become known later. */
static void find_machine(struct lull_raises *raises, struct vcpu_notes *vcpu)
{
    const struct lull_task *task = lull_model_task(raises->model, vcpu->task);
    if (vcpu->machine != LULL_MAP_NONE && vcpu->pid == task->pid) {
        return;
    }
    vcpu->pid = task->pid;
    const uint64_t process = pair(task->host, (uint32_t)task->pid);
    vcpu->machine = lull_map_find(&raises->by_process, process);
    if (vcpu->machine == LULL_MAP_NONE) {
        vcpu->machine = (uint32_t)raises->machines.count;
        lull_map_insert(&raises->by_process, process, vcpu->machine);
        memset(lull_vec_add(&raises->machines), 0, sizeof *raises->machines.items);
    }
}

static void set_number(struct lull_raises *raises, struct vcpu_notes *vcpu, int64_t number)
{
    if (number >= 0 && number <= UINT32_MAX && vcpu->machine != LULL_MAP_NONE &&
        (number != vcpu->number || vcpu->machine != vcpu->numbered)) {
        vcpu->number = number;
        vcpu->numbered = vcpu->machine;
        lull_map_insert(&raises->by_number, pair(vcpu->machine, (uint32_t)number),
                        (uint32_t)(vcpu - raises->vcpus.items));
    }
}

static struct vector *vector_of(struct vcpu_notes *vcpu, int64_t number)
{
    if (number < 0 || number >= N_VECTORS) {
        return NULL;
    }
    if (!vcpu->vectors[number]) {
        vcpu->vectors[number] = g_new0(struct vector, 1);
        *vcpu->vectors[number] =
            (struct vector){.open = nobody, .last = nobody, .given_ns = INT64_MIN};
    }
    return vcpu->vectors[number];
}

/* ---- what the host does ---- */

/* The virtual machine that a task works for: its process's, or the one after which a thread of the
 * kernel is named. */
static uint32_t machine_of(const struct lull_raises *raises, uint32_t task)
{
    const struct lull_task *known = lull_model_task(raises->model, task);
    const char *comm = lull_model_comm(raises->model, task, INT64_MAX);
    int64_t pid = known->pid;
    if (g_str_has_prefix(comm, "vhost-") && g_ascii_isdigit(comm[strlen("vhost-")])) {
        pid = g_ascii_strtoll(comm + strlen("vhost-"), NULL, 10);
    }
    return pid <= 0 || pid > INT32_MAX
               ? LULL_MAP_NONE
               : lull_map_find(&raises->by_process, pair(known->host, (uint32_t)pid));
}

static void give(struct vcpu_notes *vcpu, struct vector *vector, int64_t number, int64_t time_ns)
{
    vector->given_ns = time_ns;
    vector->n_given++;
    vcpu->recent[vcpu->n_recent++ % MOST_RECENT] = (uint8_t)number;
}

static void raised(struct lull_raises *raises, const struct lull_vcpu_fact *fact)
{
    const uint32_t machine = machine_of(raises, fact->task);
    const uint32_t i = machine == LULL_MAP_NONE || fact->apic < 0 || fact->apic > UINT32_MAX
                           ? LULL_MAP_NONE
                           : lull_map_find(&raises->by_number, pair(machine, (uint32_t)fact->apic));
    struct vcpu_notes *vcpu = i == LULL_MAP_NONE ? NULL : &raises->vcpus.items[i];
    struct vector *vector = vcpu ? vector_of(vcpu, fact->number) : NULL;
    if (!vector) {
        return;
    }
    const struct lull_raise raise = {fact->time_ns, fact->task};
    raises->machines.items[machine].has_events = true;
    if (vector->open.time_ns == INT64_MIN) {
        vector->open = raise; /* a second one before the injection adds nothing */
    }
    if (!raises->machines.items[machine].has_injections) { /* the hardware does so by itself */
        vector->open = nobody;
        vector->last = raise;
        give(vcpu, vector, fact->number, fact->time_ns);
    }
}

static void called(struct lull_raises *raises, const struct lull_vcpu_fact *fact)
{
    const uint32_t i = machine_of(raises, fact->task);
    if (i == LULL_MAP_NONE || vcpu_of(raises, fact->task)) {
        return;
    }
    struct machine_notes *machine = &raises->machines.items[i];
    size_t k = 0;
    while (k < machine->sources.count && machine->sources.items[k].descriptor != fact->number) {
        k++;
    }
    if (k == MOST_SOURCES) {
        return;
    }
    if (k == machine->sources.count) {
        lull_vec_push(&machine->sources, (struct call_source){.descriptor = fact->number});
    }
    struct call_source *source = &machine->sources.items[k];
    source->count++;
    source->last = (struct lull_raise){fact->time_ns, fact->task};
}

/* A source that was used before each injection of the vector, and about as often; of several the one
 * that was used last. */
static struct lull_raise guess(const struct machine_notes *machine, struct vector *vector)
{
    enum { FEWEST = 3, PERCENT = 90 };
    struct lull_raise found = nobody;
    uint32_t least = UINT32_MAX;
    vector->count++;
    for (size_t i = 0; i < machine->sources.count; i++) {
        const struct call_source *source = &machine->sources.items[i];
        const bool is_before = source->last.time_ns > vector->given_ns;
        vector->votes[i] += is_before;
        const uint32_t apart = source->count > vector->count ? source->count - vector->count
                                                             : vector->count - source->count;
        if (is_before && vector->count >= FEWEST &&
            (apart < least || (apart == least && source->last.time_ns > found.time_ns)) &&
            (uint64_t)vector->votes[i] * 100 >= (uint64_t)vector->count * PERCENT) {
            least = apart;
            found = source->last;
        }
    }
    return found;
}

/* The last entry, or one of those before it; INT64_MIN: that is not known (any more). */
static int64_t entry_before(const struct vcpu_notes *vcpu, uint32_t back)
{
    return back < MIN(vcpu->n_entries, (uint32_t)MOST_ENTRIES)
               ? vcpu->entries[(vcpu->n_entries - 1 - back) % MOST_ENTRIES]
               : INT64_MIN;
}

static void injected(struct lull_raises *raises, struct vcpu_notes *vcpu,
                     const struct lull_vcpu_fact *fact)
{
    struct machine_notes *machine = &raises->machines.items[vcpu->machine];
    struct vector *vector = vector_of(vcpu, fact->number);
    machine->has_injections = true;
    if (!vector) {
        return;
    }
    /* The same one again before the guest is entered is the same interrupt. */
    if (vector->given_ns <= entry_before(vcpu, 0) || vector->open.time_ns != INT64_MIN) {
        vector->last = machine->has_events ? vector->open : guess(machine, vector);
    }
    vector->open = nobody;
    give(vcpu, vector, fact->number, fact->time_ns);
}

void lull_raises_vcpu(struct lull_raises *raises, const struct lull_vcpu_fact *fact)
{
    struct vcpu_notes *vcpu = vcpu_of(raises, fact->task);
    switch (fact->step) {
    case LULL_VCPU_ENTER:
        vcpu = vcpu ? vcpu : add_vcpu(raises, fact);
        find_machine(raises, vcpu);
        vcpu->entries[vcpu->n_entries++ % MOST_ENTRIES] = fact->time_ns;
        set_number(raises, vcpu, vcpu->number < 0 ? fact->number : vcpu->number);
        vcpu->sleep.is_last = vcpu->sleep.resumed_ns == INT64_MIN;
        if (vcpu->sleep.is_last) {
            vcpu->sleep.resumed_ns = fact->time_ns;
        }
        break;
    case LULL_VCPU_LEAVE: /* what exits say is right: entries may have half a pointer */
        if (vcpu && fact->number >= 0) {
            set_number(raises, vcpu, fact->number);
        }
        break;
    case LULL_VCPU_INJECT:
        if (vcpu) {
            injected(raises, vcpu, fact);
        }
        break;
    case LULL_VCPU_RAISE:
        raised(raises, fact);
        break;
    case LULL_VCPU_CALL:
        called(raises, fact);
        break;
    case LULL_VCPU_RUN:
    case LULL_VCPU_RETURN:
        break;
    }
}

void lull_raises_state(struct lull_raises *raises, const struct lull_state_fact *fact)
{
    struct vcpu_notes *vcpu =
        fact->state == LULL_STATE_BLOCKED ? vcpu_of(raises, fact->task) : NULL;
    if (vcpu) {
        vcpu->has_slept = true;
        vcpu->sleep = (struct lull_vcpu_sleep){.woken_ns = fact->end_ns,
                                               .resumed_ns = INT64_MIN,
                                               .is_timer = fact->wakeup &&
                                                           fact->wakeup->cause == LULL_CAUSE_TIMER};
    }
}

bool lull_raises_sleep(const struct lull_raises *raises, uint32_t thread,
                       struct lull_vcpu_sleep *sleep)
{
    const struct vcpu_notes *vcpu = vcpu_of(raises, thread);
    if (!vcpu || !vcpu->has_slept) {
        return false;
    }
    *sleep = vcpu->sleep;
    return true;
}

/* ---- what the guest does ---- */

/* The different vectors that a handler which started then may have: they were given to the virtual
 * CPU for its stay in the guest at that time, or for one of the two before: it may leave the guest as
 * soon as it has entered it, and again to acknowledge the interrupt. */
static uint32_t list_recent(const struct vcpu_notes *vcpu, int64_t start_ns,
                            uint8_t recent[MOST_RECENT])
{
    uint32_t n = 0, back = 0;
    while (entry_before(vcpu, back) > start_ns) {
        back++;
    }
    const int64_t since_ns = entry_before(vcpu, back + 3);
    for (uint32_t i = 0; i < MIN(vcpu->n_recent, (uint32_t)MOST_RECENT); i++) {
        const uint8_t number = vcpu->recent[i];
        const int64_t given_ns = vcpu->vectors[number]->given_ns;
        if (given_ns > since_ns && given_ns <= start_ns && !memchr(recent, number, n)) {
            recent[n++] = number;
        }
    }
    return n;
}

static void vote(struct handler_notes *handler, uint8_t vector)
{
    uint32_t i = 0;
    while (i < handler->n_vectors && handler->vectors[i].vector != vector) {
        i++;
    }
    if (i == MOST_RECENT) {
        return;
    }
    if (i == handler->n_vectors) {
        handler->vectors[i].vector = vector;
        handler->vectors[i].votes = 0;
        handler->n_vectors++;
    }
    handler->vectors[i].votes++;
}

void lull_raises_handled(struct lull_raises *raises, uint32_t thread, uint32_t label,
                         int64_t start_ns)
{
    struct vcpu_notes *vcpu = vcpu_of(raises, thread);
    uint8_t recent[MOST_RECENT];
    if (!vcpu || label == LULL_NONE) {
        return;
    }
    const uint64_t key = pair(vcpu->task, label); /* vectors are each CPU's own */
    uint32_t number = lull_map_find(&raises->by_label, key);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)raises->handlers.count;
        lull_map_insert(&raises->by_label, key, number);
        lull_vec_push(&raises->handlers,
                      (struct handler_notes){.label = label, .next = vcpu->handlers});
        vcpu->handlers = number;
    }
    struct handler_notes *handler = &raises->handlers.items[number];
    const uint32_t n = list_recent(vcpu, start_ns, recent);
    handler->count++;
    for (uint32_t i = 0; i < n; i++) {
        vote(handler, recent[i]);
    }
}

/* What raised it is known, and was no virtual CPU. */
static bool has_raiser(const struct lull_raises *raises, const struct vector *vector)
{
    return vector->last.time_ns != INT64_MIN && !vcpu_of(raises, vector->last.task);
}

/* The vector of a handler, of those that have a raiser; NULL: not known. A timer of the virtual CPU
 * may have been there each time, too. */
static const struct vector *vector_of_handler(const struct lull_raises *raises,
                                              const struct vcpu_notes *vcpu, uint32_t label,
                                              int64_t time_ns)
{
    enum { PERCENT = 75 };
    const uint32_t number = lull_map_find(&raises->by_label, pair(vcpu->task, label));
    struct handler_notes first = {.count = 1};
    const struct handler_notes *handler = &first;
    if (number != LULL_MAP_NONE) {
        handler = &raises->handlers.items[number];
    } else {
        uint8_t recent[MOST_RECENT];
        const uint32_t n = list_recent(vcpu, time_ns, recent);
        for (uint32_t i = 0; i < n; i++) {
            vote(&first, recent[i]);
        }
    }
    uint32_t most = 0;
    const struct vector *found = NULL;
    for (uint32_t i = 0; i < handler->n_vectors; i++) {
        const uint32_t votes = handler->vectors[i].votes;
        const struct vector *vector = vcpu->vectors[handler->vectors[i].vector];
        if (votes >= most && (uint64_t)votes * 100 >= (uint64_t)handler->count * PERCENT &&
            has_raiser(raises, vector)) {
            found = votes == most ? NULL : vector;
            most = votes;
        }
    }
    return found;
}

bool lull_raises_find(const struct lull_raises *raises, uint32_t thread, uint32_t label,
                      int64_t time_ns, struct lull_raise *raise)
{
    const struct vcpu_notes *vcpu = vcpu_of(raises, thread);
    const struct vector *vector =
        vcpu && label != LULL_NONE ? vector_of_handler(raises, vcpu, label, time_ns) : NULL;
    if (!vector) {
        return false;
    }
    *raise = vector->last;
    return true;
}

/* The vector that was there about each time; of several the rarest one: a timer that ticks often may
 * have been there as well. -1: none was. */
static int32_t rarest_vector(const struct vcpu_notes *vcpu, const struct handler_notes *handler)
{
    enum { PERCENT = 75 };
    int32_t found = -1;
    for (uint32_t i = 0; i < handler->n_vectors; i++) {
        const uint8_t vector = handler->vectors[i].vector;
        if ((uint64_t)handler->vectors[i].votes * 100 >= (uint64_t)handler->count * PERCENT &&
            (found < 0 || vcpu->vectors[vector]->n_given < vcpu->vectors[found]->n_given)) {
            found = vector;
        }
    }
    return found;
}

uint32_t lull_raises_label(const struct lull_raises *raises, uint32_t thread, int64_t vector)
{
    const struct vcpu_notes *vcpu = vcpu_of(raises, thread);
    const struct handler_notes *found = NULL;
    for (uint32_t i = vcpu ? vcpu->handlers : LULL_MAP_NONE; i != LULL_MAP_NONE;) {
        const struct handler_notes *handler = &raises->handlers.items[i];
        if ((!found || handler->count > found->count) && rarest_vector(vcpu, handler) == vector) {
            found = handler;
        }
        i = handler->next;
    }
    return found ? found->label : LULL_NONE;
}
