/* SPDX-License-Identifier: MIT */
/* The language of --states for 'lull help states' and lull-states(7); docs/STATES.md says the same
 * at length. */
#include "cmd/verb.h"

#include <stddef.h>

const struct lull_topic lull_topic_states = {
    .name = "states",
    .summary = "the language of --states: states that a file declares",
    .description =
        "A file of states has groups. A group has rows, and each row is in one state at a time. "
        "Rules say which event puts which row into which state:\n"
        "\n"
        " group pool \"Connections\" {\n"
        "     row pool = pool_id, conn    title \"{pool}: {conn}\"\n"
        "     keep owner    number uses \"times used\"\n"
        "     states free #009e73, busy \"in use\", stale \"in use for over 5 s\"\n"
        "     on name == \"db:get\" if !(row.state == \"busy\") : busy, owner = $tid, uses += 1\n"
        "     on name == \"db:put\" : free\n"
        "     on name == \"db:shutdown\" each if row.pool == pool_id : end\n"
        "     after 5s in busy : stale\n"
        " }\n"
        "\n"
        "There is a row for each value of the key that follows 'row', on each host. 'title' says "
        "how rows are called, 'keep' names variables of a row, and 'number' those that the table of "
        "numbers shows. 'count STATE' is how many rows are in a state. 'task' is the thread that a row is about. 'start STATE' is the state before "
        "the first rule; without it, the state is unknown. A comment starts with #.\n"
        "\n"
        "The condition after 'on' is about the event, in the language of filters ('lull help "
        "filter') but without time; $timestamp is when it was in ns, $tid and $comm are the task that runs, "
        "$container, $cgroup and $pod where it is then. 'at (VALUE, …)' chooses "
        "the row by another key, 'each' all rows of the group on the host. The condition after 'if' "
        "can also use row.state, row.NAME, and GROUP[VALUE, …].NAME, which is a row of another "
        "group. Without such a row the rule is not applied; GROUP[VALUE, …]?.NAME is unknown then. "
        "exists(…) says whether it is known.\n"
        "\n"
        "The first rule of a group that holds is applied; 'also on' rules do not stop the search. "
        "Conditions see the rows of their group as they were before the event, and what groups "
        "further up have done. 'more GROUP { RULES }' goes on with a group further down. Comparing what is "
        "unknown is false, also with !=, so write !(row.state == \"busy\").\n"
        "\n"
        "Actions come after the colon: STATE; STATE! starts a new interval even if the row is in "
        "that state; none: in no state; unknown; end: the row is over; push STATE and pop: a state, "
        "and back to the one before; NAME = VALUE, NAME += VALUE, NAME -= VALUE. 'after 5s in "
        "busy : ACTIONS' happens 5 s after the row came into that state, unless it left it.\n"
        "\n"
        "Where events were lost, rows are unknown until their next rule; 'lost keep' leaves them "
        "as they are. A state is also a period: 'lull periodlog --period FILE.states:GROUP.STATE' ('lull help "
        "periods'). All mistakes of a file are shown at once, up to twenty.\n"
        "\n"
        "A state provider of Trace Compass (XML) can be given in place of a file of states; 'lull states "
        "--as-states' prints it in this language. What needs patterns, scripts or stacks "
        "is refused by element and line; --partial leaves it out.",
};
