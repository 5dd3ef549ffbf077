/* SPDX-License-Identifier: MIT */
/* Keys are those that Trace Compass's tooltips have, where it knows such a thing. */
#include "server/state_facts.h"

#include <inttypes.h>

#include <lull/path.h>

static void add(struct server_state_facts *facts, const char *key, const char *value)
{
    facts->all[facts->n++] = (struct server_fact){key, value};
}

static void add_number(struct server_state_facts *facts, const char *key, int64_t number,
                       const char *unit)
{
    char *text = facts->text[facts->n];
    g_snprintf(text, SERVER_FACT_TEXT, "%" PRId64 "%s", number, unit);
    add(facts, key, text);
}

static const char *evidence_key(enum lull_store_state state)
{
    return state == LULL_STORE_WAIT_TASK   ? "Woken by"
           : state == LULL_STORE_WAIT_DISK ? "Disk"
                                           : "Woken in";
}

/* Of a task: where it ran, or what ended its wait. */
static void add_evidence(const struct served *served, const struct lull_store_interval *at,
                         struct server_state_facts *facts)
{
    const bool is_row = at->evidence < lull_store_row_count(served->store);
    if (at->state >= LULL_STORE_USER && at->state <= LULL_STORE_WAIT_CPU) {
        add_number(facts, "CPU", at->evidence, "");
    } else if (at->state == LULL_STORE_WAIT_TASK && is_row) {
        const struct lull_store_row waker = lull_store_row(served->store, at->evidence);
        char *text = facts->text[facts->n];
        g_snprintf(text, SERVER_FACT_TEXT, "%s (%d)", waker.name, waker.tid);
        add(facts, evidence_key(at->state), text);
    } else if (lull_store_text(served->store, at->evidence)) {
        add(facts, evidence_key(at->state), lull_store_text(served->store, at->evidence));
    }
}

static void add_interval(const struct served *served, uint32_t row,
                         const struct lull_store_interval *at, struct server_state_facts *facts)
{
    const enum lull_store_kind kind = lull_store_row(served->store, row).kind;
    if (lull_store_text(served->store, at->label) && kind != LULL_STORE_DECLARED) {
        add(facts,
            kind == LULL_STORE_VCPU   ? "Hypervisor"
            : kind == LULL_STORE_CALL ? "Function"
                                      : "System call",
            lull_store_text(served->store, at->label));
    }
    if (kind == LULL_STORE_TASK) {
        add_evidence(served, at, facts);
    } else if (at->evidence < lull_store_row_count(served->store)) {
        add(facts, "Process", lull_store_row(served->store, at->evidence).name);
    }
}

void server_state_facts(const struct served *served, const struct served_entry *entry,
                        enum lull_store_state state, const struct lull_store_interval *at,
                        struct server_state_facts *facts)
{
    const struct lull_states_state *declared = served_declared(served, entry->row, state);
    const bool is_call = entry->row != LULL_NONE &&
                         lull_store_row(served->store, entry->row).kind == LULL_STORE_CALL;
    const char *label = declared && at ? lull_store_text(served->store, at->label) : NULL;
    const char *name = label                                           ? label
                       : declared                                      ? declared->label
                       : is_call                                       ? server_call_style_of(state)
                       : entry->group >= 0 && state == LULL_STORE_NONE ? "None"
                                                                       : server_style_of(state);
    facts->n = 0;
    add(facts, "State", name ? name : "Unknown");
    if (at) {
        add_interval(served, entry->row, at, facts);
    }
    facts->n_shown = facts->n;
    add(facts, "Name", entry->name);
    if (entry->tid >= 0) {
        add_number(facts, "TID", entry->tid, "");
    }
    if (entry->pid >= 0) {
        add_number(facts, "PID", entry->pid, "");
    }
    if (at) {
        add_number(facts, "Duration", at->end_ns - at->start_ns, "ns");
    }
}
