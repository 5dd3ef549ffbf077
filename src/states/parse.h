/* SPDX-License-Identifier: MIT */
/* What the parts of the parser of states share: groups (parse.c), their items (parse_items.c), rules
 * and operands (parse_rule.c). */
#ifndef LULL_STATES_PARSE_H
#define LULL_STATES_PARSE_H

#include "filter/check.h"
#include "filter/parser.h"
#include "states/states.h"

/* Longer files are refused. */
#define LULL_STATES_MOST_BYTES (1 << 20)

/* What an operand may refer to where it is written. */
enum states_allowed { STATES_EVENT = 1, STATES_ROW = 2, STATES_OTHERS = 4 };

struct states_parser {
    struct lull_parser parser; /* its user is this */
    struct lull_states *states;
    struct lull_states_group *group; /* the one that is parsed */
    GArray *rules;                   /* struct lull_states_rule, of the block */
    GArray *blocks;                  /* struct lull_states_rules */
    GPtrArray *group_names;          /* of all groups of the file */
    unsigned allows;                 /* enum states_allowed */
    bool is_each;                    /* the rule is of many rows */
    uint32_t nested;                 /* how many other rows are found by the one that is parsed */
    size_t item;                     /* where the item starts */
    GError *why;                     /* the mistake that was just found */
    GString *errors, *warnings;
    uint32_t n_errors;
};

void states_parser_start(struct states_parser *s, const char *source, size_t length,
                         const char *name);
void states_parser_end(struct states_parser *s);

bool states_word(struct states_parser *s, const char **word, const char *what);
/* A word of the language, which names nothing. */
bool states_is_keyword(const char *word);
/* A text, if one is there; else *out stays. */
bool states_text(struct states_parser *s, const char **out);
/* Whether the word that is read next starts an item. */
bool states_is_item(const struct lull_parser *p);
bool states_item(struct states_parser *s);
/* A state of the group. */
bool states_known(struct states_parser *s, uint16_t *state);
/* The same, which is then used. */
bool states_state(struct states_parser *s, uint16_t *state);
int32_t states_find_state(const struct lull_states_group *group, const char *name);
int32_t states_find_name(const struct lull_states_group *group, const char *name);
bool states_operand(struct states_parser *s, struct lull_operand *operand);
/* Whether it is who runs: $tid, context.tid, context.vtid. */
bool states_is_task(const struct states_parser *s, const struct lull_operand *operand);
bool states_rule(struct states_parser *s);
bool states_after(struct states_parser *s);

#endif
