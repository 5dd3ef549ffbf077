/* SPDX-License-Identifier: MIT */
/* What states look like in other viewers. */
#include "server/states.h"

#include "states/states.h"

/* Trace Compass's names, and ours for causes of waits. */
static const struct {
    const char *name, *parent, *color;
    double opacity, height;
} styles[LULL_STORE_STATES] = {
    [LULL_STORE_USER] = {"Usermode", NULL, "#00c800", 1, 1},
    [LULL_STORE_SYSCALL] = {"System call", NULL, "#0000c8", 1, 1},
    [LULL_STORE_INTERRUPT] = {"Interrupt", NULL, "#c80064", 1, .75},
    [LULL_STORE_SOFTIRQ_RUN] = {"Soft Irq", NULL, "#c89664", 1, 1},
    [LULL_STORE_WAIT_CPU] = {"Wait for CPU", NULL, "#c86400", 1, .5},
    [LULL_STORE_WAIT_TASK] = {"Wait task", "Wait blocked", "#dc143c", 1, .5},
    [LULL_STORE_WAIT_DISK] = {"Wait disk", "Wait blocked", "#6600cc", 1, .5},
    [LULL_STORE_WAIT_NETWORK] = {"Wait network", "Wait blocked", "#ff9bff", 1, .5},
    [LULL_STORE_WAIT_TIMER] = {"Wait timer", "Wait blocked", "#336699", 1, .5},
    [LULL_STORE_WAIT_INPUT] = {"Wait user input", "Wait blocked", "#5a0101", 1, .5},
    [LULL_STORE_WAIT_IRQ] = {"Wait irq", "Wait blocked", "#6666cc", 1, .5},
    [LULL_STORE_WAIT_UNKNOWN] = {"Wait blocked", NULL, "#c8c800", 1, .5},
    [LULL_STORE_IDLE] = {"Idle", NULL, "#c8c8c8", 1, .66},
    [LULL_STORE_LOST] = {"Lost events", NULL, "#ff0032", .3, 1},
};

const char *server_style_of(enum lull_store_state state)
{
    return styles[state].name;
}

static void add_style(GString *out, const char *name, const char *parent, const char *color,
                      double opacity, double height)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, "%s\"%s\":{", out->str[out->len - 1] == '{' ? "" : ",", name);
    if (parent) {
        g_string_append_printf(out, "\"parentKey\":\"%s\",", parent);
    }
    g_string_append_printf(out,
                           "\"values\":{\"style-name\":\"%s\",\"background-color\":\"%s\","
                           "\"color\":\"%s\",\"opacity\":",
                           name, color, color);
    g_string_append(out, g_ascii_formatd(number, sizeof number, "%.9g", opacity));
    g_string_append(out, ",\"height\":");
    g_string_append(out, g_ascii_formatd(number, sizeof number, "%.9g", height));
    g_string_append(out, "}}");
}

/* "mpi.wait": a group may have a state of a name that another has too. */
static void append_declared_style(GString *out, const struct lull_states_group *group,
                                  const struct lull_states_state *state)
{
    g_string_append_printf(out, "%s.%s", group->name, state->name);
}

void server_declared_styles(const struct lull_states *states, GString *out)
{
    g_autoptr(GString) name = g_string_new(NULL);
    g_string_append(out, "{\"styles\":{");
    for (uint32_t g = 0; states && g < states->n_groups; g++) {
        const struct lull_states_group *group = &states->groups[g];
        for (uint32_t i = 0; i < MIN(group->n_states, LULL_STORE_SLOTS); i++) {
            append_declared_style(g_string_truncate(name, 0), group, &group->states[i]);
            add_style(out, name->str, NULL, lull_states_colour(group, i), 1, 1);
        }
    }
    g_string_append(out, "}}");
}

/* Functions, by slot from LULL_STORE_USER on: a hue for each layer, a shade for each slot of it. */
static const struct {
    const char *name, *color;
} call_styles[LULL_STORE_SLOTS] = {{"Function", "#e58a2b"},
                                   {"Function 2", "#c46a1a"},
                                   {"Function 3", "#f0b35c"},
                                   {"Function 4", "#d97a4a"},
                                   {"Function 5", "#c99a55"},
                                   {"Python function", "#4f9a63"},
                                   {"Python function 2", "#8fbf6a"},
                                   {"Python function 3", "#3f9a8a"},
                                   {"Python function 4", "#7a9a5a"},
                                   {"System call", "#0072b2"},
                                   {"Kernel function", "#8a7fd0"},
                                   {"Kernel function 2", "#a06fc0"},
                                   {"Function, events lost", "#ff0032"}};

const char *server_call_style_of(enum lull_store_state slot)
{
    const uint32_t at = (uint32_t)slot - LULL_STORE_USER;
    return at < LULL_STORE_SLOTS ? call_styles[at].name : NULL;
}

static void add_styles(GString *out)
{
    for (unsigned i = 0; i < LULL_STORE_STATES; i++) {
        if (styles[i].name) {
            add_style(out, styles[i].name, styles[i].parent, styles[i].color, styles[i].opacity,
                      styles[i].height);
        }
    }
}

void server_styles(GString *out)
{
    g_string_append(out, "{\"styles\":{");
    add_styles(out);
    add_style(out, "CPU transition", NULL, "#646464", 1, .1);
    g_string_append(out, "}}");
}

void server_call_styles(GString *out)
{
    g_string_append(out, "{\"styles\":{");
    add_styles(out);
    for (unsigned i = 0; i < LULL_STORE_SLOTS; i++) {
        /* The task and its calls are in the same picture. */
        if (i + LULL_CALL_SLOT_NATIVE != LULL_CALL_SLOT_SYSCALL) {
            add_style(out, call_styles[i].name, NULL, call_styles[i].color, 1, 1);
        }
    }
    g_string_append(out, "}}");
}

void server_append_style(GString *out, const struct served *served, uint32_t row,
                         enum lull_store_state state)
{
    const struct lull_states_group *group = served_group(served, row);
    const struct lull_states_state *declared = served_declared(served, row, state);
    const bool is_call = lull_store_row(served->store, row).kind == LULL_STORE_CALL;
    const char *name = group ? NULL : is_call ? server_call_style_of(state) : styles[state].name;
    if (name || declared) {
        g_string_append(out, ",\"style\":{\"parentKey\":\"");
        g_string_append(out, name ? name : "");
        if (declared) {
            append_declared_style(out, group, declared);
        }
        g_string_append(out, "\",\"values\":{}}");
    }
}
