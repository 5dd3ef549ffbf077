/* SPDX-License-Identifier: MIT */
/* What is to be said of a state of a row: in its tooltip, and to filters. */
#ifndef LULL_SERVER_STATE_FACTS_H
#define LULL_SERVER_STATE_FACTS_H

#include "server/match.h"
#include "server/states.h"

enum { SERVER_FACTS_MOST = 8, SERVER_FACT_TEXT = 80 };

struct server_state_facts {
    struct server_fact all[SERVER_FACTS_MOST];
    uint32_t n, n_shown; /* the first ones are in tooltips */
    char text[SERVER_FACTS_MOST][SERVER_FACT_TEXT];
};

/* Of an interval; of a state alone, if `at` is NULL. Values are the store's, the entry's or lie in
 * `facts`. */
void server_state_facts(const struct served *served, const struct served_entry *entry,
                        enum lull_store_state state, const struct lull_store_interval *at,
                        struct server_state_facts *facts);

#endif
