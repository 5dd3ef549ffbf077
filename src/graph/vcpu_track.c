/* SPDX-License-Identifier: MIT */
/* Follows the threads that are virtual CPUs. Each has a state and the moment since when everything
 * about it is as it is; whatever changes that ends a piece. Pieces are kept until the next entry or
 * exit, as only then it is sure that the thread still is a virtual CPU.
 *
 * If the host is a guest itself, the thread runs on a virtual CPU of an outer host: it really runs
 * where both were entered. Whatever changes about the outer one ends a piece of the inner one, too. */
#include "graph/vcpu_track.h"

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"

enum {
    MOST_LEVELS =
        8, /* guests in guests; more may only be found where clocks of hosts contain each other */
    MOST_WAITING =
        64, /* of those that wait for a CPU at once: of others it is not followed who has it */
};

/* Those that wait for a CPU of a host. */
struct queue {
    uint32_t first, n;
};

/* The virtual CPUs of a host that may be known: what is lost makes them unknown. */
struct known_vcpus {
    LULL_VEC(uint32_t) all;
};

struct vcpu {
    struct lull_vcpu_thread thread;
    bool is_known;  /* it was entered, and nothing was lost since */
    bool is_in_run; /* in the call that runs the guest */
    enum lull_vcpu_state state;
    int64_t since_ns;
    int32_t cpu;
    uint32_t task, by, by_vcpu; /* as in struct lull_vcpu_piece */
    bool is_waiting;            /* in the queue of its CPU */
    uint32_t next_waiting;
    bool is_in_known;
    int64_t guest_end_ns;
    struct lull_vcpu_stolen stolen; /* until since_ns */
    LULL_VEC(struct lull_vcpu_piece) pieces;
};

struct lull_vcpu_track {
    const struct lull_model *model;
    LULL_VEC(struct vcpu) vcpus;
    struct lull_map by_task;      /* thread → vcpus */
    struct lull_map by_guest_cpu; /* → vcpus */
    struct lull_map by_cpu;       /* CPU of a host → queues */
    LULL_VEC(struct queue) queues;
    uint64_t unfollowed;                /* waits of those for which a queue had no room */
    LULL_VEC(struct known_vcpus) known; /* by host */
    LULL_VEC(struct lull_guest_cpu) guest_cpus;
    struct lull_map by_tid; /* host, tid → guest_cpus */
    int64_t *guest_ends;    /* by host, or NULL */
    bool has_nested;        /* a host of guests is a guest */
    lull_vcpu_take *take;
    void *user;
};

static uint64_t key_of(uint32_t host, int32_t number)
{
    return (uint64_t)host << 32 | (uint32_t)number;
}

static bool any_nested(const struct lull_guest_cpu *cpus, uint32_t n)
{
    struct lull_map guests = {0};
    bool is_any = false;
    for (uint32_t i = 0; i < n; i++) {
        lull_map_insert(&guests, cpus[i].guest, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        is_any |= lull_map_find(&guests, cpus[i].host) != LULL_MAP_NONE;
    }
    lull_map_free(&guests);
    return is_any;
}

struct lull_vcpu_track *lull_vcpu_track_new(const struct lull_model *model,
                                            const struct lull_sync *sync, uint32_t n_hosts,
                                            const int64_t *guest_ends, lull_vcpu_take *take,
                                            void *user)
{
    struct lull_vcpu_track *track = g_new0(struct lull_vcpu_track, 1);
    uint32_t n = 0;
    const struct lull_guest_cpu *cpus = sync ? lull_sync_guest_cpus(sync, &n) : NULL;
    track->model = model;
    track->take = take;
    track->user = user;
    track->guest_ends = guest_ends ? g_memdup2(guest_ends, n_hosts * sizeof *guest_ends) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        lull_map_insert(&track->by_tid, key_of(cpus[i].host, cpus[i].tid), i);
        lull_vec_push(&track->guest_cpus, cpus[i]);
    }
    track->has_nested = any_nested(cpus, n);
    return track;
}

void lull_vcpu_track_free(struct lull_vcpu_track *track)
{
    if (!track) {
        return;
    }
    for (size_t i = 0; i < track->vcpus.count; i++) {
        lull_vec_free(&track->vcpus.items[i].pieces);
    }
    lull_vec_free(&track->vcpus);
    lull_vec_free(&track->guest_cpus);
    lull_map_free(&track->by_task);
    lull_map_free(&track->by_guest_cpu);
    lull_map_free(&track->by_cpu);
    lull_vec_free(&track->queues);
    for (size_t host = 0; host < track->known.count; host++) {
        lull_vec_free(&track->known.items[host].all);
    }
    lull_vec_free(&track->known);
    lull_map_free(&track->by_tid);
    g_free(track->guest_ends);
    g_free(track);
}

/* ---- pieces ---- */

static bool is_on_cpu(const struct vcpu *vcpu)
{
    return vcpu->state == LULL_VCPU_IN_GUEST || vcpu->state == LULL_VCPU_IN_KVM ||
           vcpu->state == LULL_VCPU_IN_QEMU;
}

/* Whose state decides whether it goes on: its own, or that of the virtual CPU of an outer host. */
static const struct vcpu *deciding(const struct lull_vcpu_track *track, const struct vcpu *vcpu)
{
    const struct vcpu *decides = vcpu;
    for (int level = 0; track->has_nested && level < MOST_LEVELS && is_on_cpu(vcpu); level++) {
        const uint32_t outer =
            lull_map_find(&track->by_guest_cpu, key_of(vcpu->thread.host, vcpu->cpu));
        if (outer == LULL_MAP_NONE || !track->vcpus.items[outer].is_known) {
            break;
        }
        vcpu = &track->vcpus.items[outer];
        decides = vcpu->state == LULL_VCPU_IN_GUEST ? decides : vcpu;
    }
    return decides;
}

/* For so long it is without a CPU now that it could use. */
static int64_t stolen_since(const struct lull_vcpu_track *track, const struct vcpu *vcpu,
                            int64_t time_ns)
{
    const enum lull_vcpu_state state = deciding(track, vcpu)->state;
    return state == LULL_VCPU_PREEMPTED || state == LULL_VCPU_WOKEN
               ? MAX(time_ns - vcpu->since_ns, 0)
               : 0;
}

static void add_piece(struct lull_vcpu_track *track, struct vcpu *vcpu, int64_t end_ns,
                      uint32_t task)
{
    if (end_ns > vcpu->since_ns) {
        const struct vcpu *decides = deciding(track, vcpu);
        const uint32_t by_vcpu = decides->is_waiting ? decides->by_vcpu : LULL_NONE;
        lull_add(&vcpu->stolen.ns, stolen_since(track, vcpu, end_ns));
        lull_vec_push(&vcpu->pieces,
                      (struct lull_vcpu_piece){
                          .start_ns = vcpu->since_ns,
                          .end_ns = end_ns,
                          .state = decides->state,
                          .is_entered = vcpu->state == LULL_VCPU_IN_GUEST,
                          .cpu = decides->cpu,
                          .task = task,
                          .by = decides->is_waiting ? decides->by : LULL_VCPU_UNKNOWN,
                          .by_vcpu = by_vcpu,
                          .by_task = by_vcpu == LULL_NONE ? LULL_VCPU_UNKNOWN
                                                          : track->vcpus.items[by_vcpu].task,
                      });
        vcpu->since_ns = end_ns;
    }
}

/* The virtual CPU that runs on it, as the task that is on it in the guest is its thread; or NULL. */
static struct vcpu *inner_of(struct lull_vcpu_track *track, const struct vcpu *vcpu)
{
    const uint32_t inner = track->has_nested ? lull_vcpu_track_find(track, vcpu->task) : LULL_NONE;
    return inner == LULL_NONE ? NULL : &track->vcpus.items[inner];
}

static void cut_one(struct lull_vcpu_track *track, struct vcpu *vcpu, int64_t time_ns)
{
    if (!vcpu->is_known) {
        return;
    }
    if (vcpu->task != LULL_VCPU_UNKNOWN) {
        add_piece(track, vcpu, MIN(time_ns, vcpu->guest_end_ns), vcpu->task);
    }
    if (vcpu->task == LULL_VCPU_UNKNOWN || vcpu->since_ns >= vcpu->guest_end_ns) {
        add_piece(track, vcpu, time_ns, LULL_VCPU_UNKNOWN);
    }
}

/* Something about it changes. */
static void cut(struct lull_vcpu_track *track, struct vcpu *vcpu, int64_t time_ns)
{
    cut_one(track, vcpu, time_ns);
    vcpu = inner_of(track, vcpu);
    for (int level = 0; vcpu && level < MOST_LEVELS; level++) {
        cut_one(track, vcpu, time_ns);
        vcpu = inner_of(track, vcpu);
    }
}

/* An entry or exit ends what it did. */
static void hand_out(struct lull_vcpu_track *track, uint32_t number, int64_t time_ns)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    cut(track, vcpu, time_ns);
    if (vcpu->pieces.count) {
        track->take(track->user, number, vcpu->pieces.items, vcpu->pieces.count);
    }
    vcpu->pieces.count = 0;
    vcpu->since_ns = time_ns;
}

/* ---- who waits for a CPU ---- */

/* NULL: nobody has waited for that CPU yet. */
static struct queue *queue_of(const struct lull_vcpu_track *track, uint32_t host, int32_t cpu)
{
    const uint32_t number = lull_map_find(&track->by_cpu, key_of(host, cpu));
    return number == LULL_MAP_NONE ? NULL : &track->queues.items[number];
}

static uint32_t first_waiting(const struct lull_vcpu_track *track, uint32_t host, int32_t cpu)
{
    const struct queue *queue = queue_of(track, host, cpu);
    return queue ? queue->first : LULL_NONE;
}

static void stop_waiting(struct lull_vcpu_track *track, uint32_t number)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    if (!vcpu->is_waiting) {
        return;
    }
    struct queue *queue = queue_of(track, vcpu->thread.host, vcpu->cpu);
    uint32_t *at = &queue->first;
    while (*at != number) {
        at = &track->vcpus.items[*at].next_waiting;
    }
    *at = vcpu->next_waiting;
    queue->n--;
    vcpu->is_waiting = false;
}

static void set_by(const struct lull_vcpu_track *track, struct vcpu *vcpu, uint32_t task)
{
    vcpu->by = task;
    vcpu->by_vcpu = lull_vcpu_track_find(track, task);
}

static void start_waiting(struct lull_vcpu_track *track, uint32_t number, int32_t cpu)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    uint32_t task;
    int64_t since_ns;
    struct queue *queue = queue_of(track, vcpu->thread.host, cpu);
    if (!queue) {
        lull_map_insert(&track->by_cpu, key_of(vcpu->thread.host, cpu),
                        (uint32_t)track->queues.count);
        lull_vec_push(&track->queues, ((struct queue){LULL_NONE, 0}));
        queue = &track->queues.items[track->queues.count - 1];
    }
    vcpu->cpu = cpu;
    if (queue->n == MOST_WAITING) {
        track->unfollowed++;
        return;
    }
    vcpu->next_waiting = queue->first;
    queue->first = number;
    queue->n++;
    vcpu->is_waiting = true;
    set_by(track, vcpu,
           cpu >= 0 && lull_model_running(track->model, vcpu->thread.host, cpu, &task, &since_ns)
               ? task
               : LULL_VCPU_UNKNOWN);
}

static void forget_one(struct lull_vcpu_track *track, uint32_t number)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    stop_waiting(track, number);
    vcpu->stolen.lost += vcpu->is_known;
    vcpu->is_known = false;
    vcpu->pieces.count = 0;
}

/* With it goes what was known of one that ran on it. */
static void forget(struct lull_vcpu_track *track, uint32_t number)
{
    for (int level = 0; number != LULL_NONE && level < MOST_LEVELS; level++) {
        const struct vcpu *inner = inner_of(track, &track->vcpus.items[number]);
        forget_one(track, number);
        number = inner ? (uint32_t)(inner - track->vcpus.items) : LULL_NONE;
    }
}

static void set_state(struct lull_vcpu_track *track, uint32_t number, int64_t time_ns,
                      enum lull_vcpu_state state, int32_t cpu)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    cut(track, vcpu, time_ns);
    stop_waiting(track, number);
    vcpu->state = state;
    vcpu->cpu = cpu;
    if (state == LULL_VCPU_PREEMPTED || state == LULL_VCPU_WOKEN) {
        start_waiting(track, number, cpu);
    }
}

/* ---- facts ---- */

static uint32_t add_vcpu(struct lull_vcpu_track *track, const struct lull_vcpu_fact *fact)
{
    const uint32_t number = (uint32_t)track->vcpus.count;
    const int32_t tid = lull_model_task(track->model, fact->task)->tid;
    const uint32_t i = lull_map_find(&track->by_tid, key_of(fact->host, tid));
    struct vcpu vcpu = {.thread = {fact->host, fact->task, -1, LULL_NONE, -1},
                        .guest_end_ns = INT64_MAX};
    if (i != LULL_MAP_NONE) {
        const struct lull_guest_cpu *cpu = &track->guest_cpus.items[i];
        vcpu.thread.guest = cpu->guest;
        vcpu.thread.guest_cpu = cpu->cpu;
        if (track->guest_ends) {
            vcpu.guest_end_ns = track->guest_ends[cpu->guest];
        }
        lull_map_insert(&track->by_guest_cpu, key_of(cpu->guest, cpu->cpu), number);
    }
    lull_vec_push(&track->vcpus, vcpu);
    lull_map_insert(&track->by_task, fact->task, number);
    /* Those that it keeps waiting already wait for a virtual CPU. */
    uint32_t waiting = first_waiting(track, fact->host, fact->cpu);
    for (; waiting != LULL_NONE; waiting = track->vcpus.items[waiting].next_waiting) {
        set_by(track, &track->vcpus.items[waiting], track->vcpus.items[waiting].by);
    }
    return number;
}

/* Guests in the one that goes on now do so too: what they waited for is over. */
static void hand_out_inner(struct lull_vcpu_track *track, const struct vcpu *vcpu, int64_t time_ns)
{
    const struct vcpu *inner = inner_of(track, vcpu);
    for (int level = 0; inner && level < MOST_LEVELS; level++) {
        if (inner->is_known && inner->state == LULL_VCPU_IN_GUEST) {
            hand_out(track, (uint32_t)(inner - track->vcpus.items), time_ns);
        }
        inner = inner_of(track, inner);
    }
}

static struct known_vcpus *known_of(struct lull_vcpu_track *track, uint32_t host)
{
    while (track->known.count <= host) {
        lull_vec_push(&track->known, (struct known_vcpus){0});
    }
    return &track->known.items[host];
}

static void entered(struct lull_vcpu_track *track, uint32_t number, int64_t time_ns, int32_t cpu)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    if (vcpu->is_known && vcpu->state == LULL_VCPU_IN_GUEST) {
        forget(track, number); /* an exit is missing */
    }
    if (vcpu->is_known) {
        hand_out(track, number, time_ns);
        hand_out_inner(track, vcpu, time_ns);
    } else {
        uint32_t task;
        int64_t since_ns;
        vcpu->task = vcpu->thread.guest != LULL_NONE &&
                             lull_model_running(track->model, vcpu->thread.guest,
                                                vcpu->thread.guest_cpu, &task, &since_ns)
                         ? task
                         : LULL_VCPU_UNKNOWN;
        cut(track, vcpu, time_ns); /* one that runs on it, so far as its host alone saw it */
    }
    vcpu->is_known = vcpu->is_in_run = true;
    if (!vcpu->is_in_known) {
        lull_vec_push(&known_of(track, vcpu->thread.host)->all, number);
        vcpu->is_in_known = true;
    }
    vcpu->since_ns = time_ns;
    stop_waiting(track, number);
    vcpu->state = LULL_VCPU_IN_GUEST;
    vcpu->cpu = cpu;
}

static void left(struct lull_vcpu_track *track, uint32_t number, int64_t time_ns)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    vcpu->is_in_run = true;
    if (vcpu->is_known && vcpu->state != LULL_VCPU_IN_GUEST) {
        forget(track, number); /* an entry is missing */
    }
    if (vcpu->is_known) {
        hand_out(track, number, time_ns);
        vcpu->state = LULL_VCPU_IN_KVM;
    }
}

void lull_vcpu_track_vcpu(struct lull_vcpu_track *track, const struct lull_vcpu_fact *fact)
{
    uint32_t number = lull_vcpu_track_find(track, fact->task);
    if (number == LULL_NONE && fact->step != LULL_VCPU_ENTER && fact->step != LULL_VCPU_LEAVE) {
        return;
    }
    if (number == LULL_NONE) {
        number = add_vcpu(track, fact);
    }
    struct vcpu *vcpu = &track->vcpus.items[number];
    switch (fact->step) {
    case LULL_VCPU_ENTER:
        entered(track, number, fact->time_ns, fact->cpu);
        vcpu->thread.number = vcpu->thread.number < 0 ? fact->number : vcpu->thread.number;
        break;
    case LULL_VCPU_LEAVE: /* what exits say is right: entries may have half a pointer */
        left(track, number, fact->time_ns);
        vcpu->thread.number = fact->number >= 0 ? fact->number : vcpu->thread.number;
        break;
    case LULL_VCPU_RUN:
    case LULL_VCPU_RETURN:
        vcpu->is_in_run = fact->step == LULL_VCPU_RUN;
        if (vcpu->is_known &&
            (vcpu->state == LULL_VCPU_IN_KVM || vcpu->state == LULL_VCPU_IN_QEMU)) {
            set_state(track, number, fact->time_ns,
                      vcpu->is_in_run ? LULL_VCPU_IN_KVM : LULL_VCPU_IN_QEMU, vcpu->cpu);
        }
        break;
    case LULL_VCPU_INJECT:
    case LULL_VCPU_RAISE:
    case LULL_VCPU_CALL:
        break;
    }
}

void lull_vcpu_track_state(struct lull_vcpu_track *track, const struct lull_state_fact *fact)
{
    const uint32_t number = lull_vcpu_track_find(track, fact->task);
    if (number == LULL_NONE || !track->vcpus.items[number].is_known) {
        return;
    }
    const struct vcpu *vcpu = &track->vcpus.items[number];
    const int32_t cpu = fact->next_cpu;
    if (vcpu->state == LULL_VCPU_IN_GUEST) {
        forget(track, number); /* an exit is missing */
        return;
    }
    switch (fact->next) {
    case LULL_STATE_RUNNING:
        set_state(track, number, fact->end_ns,
                  vcpu->is_in_run ? LULL_VCPU_IN_KVM : LULL_VCPU_IN_QEMU, cpu);
        break;
    case LULL_STATE_PREEMPTED:
        set_state(track, number, fact->end_ns,
                  fact->state == LULL_STATE_PREEMPTED ? vcpu->state
                  : fact->state == LULL_STATE_BLOCKED ? LULL_VCPU_WOKEN
                                                      : LULL_VCPU_PREEMPTED,
                  cpu);
        break;
    case LULL_STATE_BLOCKED:
        set_state(track, number, fact->end_ns,
                  vcpu->is_in_run ? LULL_VCPU_HALTED : LULL_VCPU_BLOCKED, cpu);
        break;
    default:
        forget(track, number);
    }
}

/* A CPU of a host has another task. */
static void host_switched(struct lull_vcpu_track *track, const struct lull_switch_fact *fact)
{
    uint32_t number = first_waiting(track, fact->host, fact->cpu);
    for (; number != LULL_NONE; number = track->vcpus.items[number].next_waiting) {
        struct vcpu *vcpu = &track->vcpus.items[number];
        if (vcpu->by == LULL_VCPU_UNKNOWN && fact->since_ns <= vcpu->since_ns) {
            set_by(track, vcpu, fact->previous); /* it was there all the time */
        }
        cut(track, vcpu, fact->time_ns);
        set_by(track, vcpu, fact->is_unknown ? LULL_VCPU_UNKNOWN : fact->task);
    }
}

/* A CPU of a guest has another task; those who wait for the CPU it runs on wait for that task. */
static void guest_switched(struct lull_vcpu_track *track, uint32_t number,
                           const struct lull_switch_fact *fact)
{
    struct vcpu *vcpu = &track->vcpus.items[number];
    uint32_t waiting = first_waiting(track, vcpu->thread.host, vcpu->cpu);
    if (vcpu->task == LULL_VCPU_UNKNOWN && fact->since_ns <= vcpu->since_ns) {
        vcpu->task = fact->previous;
    }
    for (; waiting != LULL_NONE; waiting = track->vcpus.items[waiting].next_waiting) {
        if (track->vcpus.items[waiting].by_vcpu == number) {
            cut(track, &track->vcpus.items[waiting], fact->time_ns);
        }
    }
    cut(track, vcpu, fact->time_ns);
    vcpu->task = fact->is_unknown ? LULL_VCPU_UNKNOWN : fact->task;
}

void lull_vcpu_track_switched(struct lull_vcpu_track *track, const struct lull_switch_fact *fact)
{
    if (track->vcpus.count == 0) {
        return;
    }
    host_switched(track, fact);
    const uint32_t number = lull_map_find(&track->by_guest_cpu, key_of(fact->host, fact->cpu));
    if (number != LULL_MAP_NONE) {
        guest_switched(track, number, fact);
    }
}

void lull_vcpu_track_lost(struct lull_vcpu_track *track, const struct lull_lost_fact *fact)
{
    struct known_vcpus *known = known_of(track, fact->host);
    for (size_t i = 0; i < known->all.count; i++) {
        track->vcpus.items[known->all.items[i]].is_in_known = false;
        forget(track, known->all.items[i]);
    }
    known->all.count = 0;
}

/* ---- queries ---- */

uint32_t lull_vcpu_track_count(const struct lull_vcpu_track *track)
{
    return (uint32_t)track->vcpus.count;
}

const struct lull_vcpu_thread *lull_vcpu_track_thread(const struct lull_vcpu_track *track,
                                                      uint32_t vcpu)
{
    return &track->vcpus.items[vcpu].thread;
}

uint32_t lull_vcpu_track_find(const struct lull_vcpu_track *track, uint32_t task)
{
    return task >= LULL_VCPU_UNKNOWN ? LULL_NONE : lull_map_find(&track->by_task, task);
}

uint64_t lull_vcpu_track_unfollowed(const struct lull_vcpu_track *track)
{
    return track->unfollowed;
}

bool lull_vcpu_track_stolen(const struct lull_vcpu_track *track, uint32_t guest, int32_t cpu,
                            int64_t time_ns, struct lull_vcpu_stolen *stolen)
{
    const uint32_t number = lull_map_find(&track->by_guest_cpu, key_of(guest, cpu));
    const struct vcpu *vcpu = number == LULL_MAP_NONE ? NULL : &track->vcpus.items[number];
    if (!vcpu || !vcpu->is_known) {
        return false;
    }
    *stolen = vcpu->stolen;
    lull_add(&stolen->ns, stolen_since(track, vcpu, time_ns));
    return true;
}

uint32_t lull_vcpu_track_of_guest(const struct lull_vcpu_track *track, uint32_t guest, int32_t cpu)
{
    return lull_map_find(&track->by_guest_cpu, key_of(guest, cpu)); /* LULL_MAP_NONE is LULL_NONE */
}

bool lull_vcpu_track_is_known(const struct lull_vcpu_track *track, uint32_t vcpu)
{
    return track->vcpus.items[vcpu].is_known;
}

const char *lull_vcpu_state_name(enum lull_vcpu_state state)
{
    static const char *const names[LULL_VCPU_STATES] = {
        "guest", "kvm", "qemu", "preempted", "woken", "halted", "blocked",
    };
    return names[state];
}
