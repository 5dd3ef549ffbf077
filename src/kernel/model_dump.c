/* SPDX-License-Identifier: MIT */
/* What the state dump at the start of a trace says, for models that read only a later part of it:
 * what hardly changes, which is the processes that tasks belong to and the names of devices. */
#include "kernel/machine.h"
#include "source/session/streams.h"

/* What it was doing, and what was open, may be another since then. */
static void take_process(struct lull_model *model, struct machine *machine, int64_t as_of_ns,
                         const struct lull_ev_statedump_process *event)
{
    struct lull_ev_statedump_process known = *event;
    known.status = -1;
    known.have &= ~(UINT64_C(1) << LULL_FIELD_statedump_process_table |
                    UINT64_C(1) << LULL_FIELD_statedump_process_prio);
    sched_dumped(model, machine, as_of_ns, &known);
    if (known.tid > 0 && known.tid <= INT32_MAX) {
        const uint32_t task = model_task(model, machine, (int32_t)known.tid, 0);
        model->tasks.items[task].is_dumped = true;
    }
}

static void take_container(struct lull_model *model, struct machine *machine, enum lull_event_id id,
                           const void *event)
{
    if (id == LULL_EVENT_statedump_container) {
        containers_named(model, event);
    } else if (id == LULL_EVENT_statedump_cgroup) {
        containers_dumped(model, machine, event);
    } else if (id == LULL_EVENT_statedump_pid_ns) {
        containers_dumped_ns(model, machine, event);
    } else if (id == LULL_EVENT_statedump_process) {
        containers_dumped_process(model, machine, event);
    }
}

/* What is taken of a state dump: all, which task is in which container, what these are called. */
enum dump_part { DUMP_ALL, DUMP_CONTAINERS, DUMP_NAMES };

static void read_dump(struct lull_model *model, int64_t start_ns, int64_t end_ns, int64_t as_of_ns,
                      enum dump_part part)
{
    enum lull_event_id ids[LULL_EVENT_COUNT + 1];
    const struct lull_event *event;
    lull_session_unsubscribe_all(model->session);
    lull_vocabulary_subscribe(model->session, LULL_GROUP_STATE, NULL, ids);
    lull_session_limit(model->session, start_ns, end_ns);
    while ((event = lull_session_read(model->session))) {
        struct machine *machine = model_machine(model, event->host);
        const enum lull_event_id id = ids[event->subscription];
        if (model->is_user[event->trace] ||
            (part == DUMP_NAMES && id != LULL_EVENT_statedump_container)) {
            continue;
        }
        take_container(model, machine, id, event->fields);
        if (id == LULL_EVENT_command_line) {
            names_command(model, machine, event->fields);
        } else if (id == LULL_EVENT_mapped_file) {
            names_file(model, machine, event->fields);
        }
        if (part != DUMP_ALL) {
            continue;
        }
        if (id == LULL_EVENT_statedump_process) {
            take_process(model, machine, as_of_ns, event->fields);
        } else if (id == LULL_EVENT_statedump_block_device) {
            io_dumped(model, machine, event->fields);
        }
    }
    lull_session_unsubscribe_all(model->session);
    model_subscribe(model);
}

void lull_model_read_dump(struct lull_model *model, int64_t start_ns, int64_t end_ns,
                          int64_t as_of_ns)
{
    read_dump(model, start_ns, end_ns, as_of_ns, DUMP_ALL);
}

void lull_model_read_containers(struct lull_model *model, int64_t start_ns)
{
    enum { DUMP_SECONDS = 10 }; /* one that has not ended by then is not waited for */
    const int64_t dump_ns = DUMP_SECONDS * INT64_C(1000000000);
    int64_t first_ns, last_ns;
    /* Those that were made meanwhile have their names at the end; rows are made with them. */
    if (lull_session_range(model->session, &first_ns, &last_ns) && last_ns - start_ns > dump_ns) {
        read_dump(model, MAX(start_ns, last_ns - dump_ns), INT64_MAX, start_ns, DUMP_NAMES);
        lull_session_rewind(model->session);
    }
    read_dump(model, INT64_MIN, start_ns + dump_ns, start_ns, DUMP_CONTAINERS);
    lull_session_limit(model->session, INT64_MIN, INT64_MAX);
    lull_session_rewind(model->session);
}
