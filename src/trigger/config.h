/* SPDX-License-Identifier: MIT */
/* The file that says what `lull daemon` watches, and within which limits (docs/DAEMON.md). */
#ifndef LULL_TRIGGER_CONFIG_H
#define LULL_TRIGGER_CONFIG_H

#include <netinet/in.h>

#include "live/rule.h"
#include "record/purpose.h"

#define LULL_TRIGGER_CONFIG "/etc/lull/lulld.conf"
#define LULL_TRIGGER_CONFIG_BYTES (1 << 20) /* at most */
/* As many as a tracker takes. */
#define LULL_TRIGGER_RULES LULL_TRACK_RULES
/* Of the name of a rule, with its NUL. */
#define LULL_TRIGGER_NAME 64

/* A rule is about waits that the kernel shows, or about requests that a server reports. */
struct lull_trigger_rule {
    char *name;
    struct lull_track_rule *when; /* waits; NULL: requests, */
    int64_t slower_ns;            /* that took longer than this */
    GPatternSpec *id;             /* and whose id matches; NULL: any */
    bool is_spread;               /* the other machines that it touched are asked */
    uint32_t stacks; /* that snapshots name: bits of LULL_TRACK_KERNEL_STACK …; 0: none */
    char **exec;     /* the command when a snapshot was written; NULL: none */
    char *user;      /* who runs it; NULL: the `user` of all */
};

/* Addresses that start with the same bits; those of IPv4 are mapped (::ffff:10.9.0.0, 96 bits more). */
struct lull_trigger_network {
    struct in6_addr address;
    uint32_t bits;
};

/* Where the daemon listens for others. */
struct lull_trigger_endpoint {
    struct in6_addr address;
    uint16_t port; /* 0: nowhere */
};

struct lull_trigger_config {
    char *name;             /* of this machine, in snapshots; NULL: its host name */
    char *snapshots;        /* the directory for them */
    char *purpose, *tracer; /* of the flight recorder; tracer NULL: the first that can */
    enum lull_purpose purpose_id;
    uint64_t buffer_bytes; /* of each CPU; 0: the tracer chooses */
    char *hook;            /* the socket at which servers report requests; NULL: none */
    char *hook_group;      /* who may report; NULL: root */
    char *user;            /* who the process that listens becomes, and who runs commands */
    char **marks;          /* programs and libraries whose marks rules are about; or NULL */
    uint64_t metrics_port; /* on the loopback interface; 0: none */
    char *
        token; /* the file (key.h) with what programs say that may ask and report there; NULL: none may */
    struct lull_trigger_endpoint listen;
    GArray
        *peers; /* of struct lull_trigger_network: the machines that are asked and heard; or NULL */
    char *key;  /* the file that they share (key.h) */
    double most_overhead; /* of the tracker: share of the time of all CPUs */
    int64_t pause_ns;     /* one snapshot of a rule within it */
    uint64_t per_hour, per_day;
    uint64_t most_bytes; /* of all snapshots together */
    double least_free;   /* share of the disk that stays free */
    GPtrArray *rules;    /* of struct lull_trigger_rule *, at least one */
};

/* Reads the text; `path` is for messages. All that is wrong is added to `problems`, a line each; NULL
 * if there is something. Free with lull_trigger_config_free(). */
struct lull_trigger_config *lull_trigger_config_parse(const char *path, const char *text,
                                                      size_t size, GPtrArray *problems);
/* The same of a file (NULL: LULL_TRIGGER_CONFIG), whose text is appended to `text` (or NULL); the error has
 * all that is wrong. */
struct lull_trigger_config *lull_trigger_config_read(const char *path, GString *text,
                                                     GError **error);
/* The same of a file that the daemon passes on to one of its processes, and which is right; or NULL. */
struct lull_trigger_config *lull_trigger_config_receive(int fd);
/* Whether this machine has the users, files and commands that it names; the error has all that are missing. */
bool lull_trigger_config_fits(const struct lull_trigger_config *config, GError **error);
/* A key of [daemon] that is another in `next`, and that takes effect only when a daemon starts; or NULL. */
const char *lull_trigger_config_needs_start(const struct lull_trigger_config *now,
                                            const struct lull_trigger_config *next);
/* The number of the rule of that name; LULL_TRIGGER_RULES if there is none. */
uint32_t lull_trigger_config_rule(const struct lull_trigger_config *config, const char *name);
/* The rule of `before` with the name that rule `i` of `now` has; LULL_TRIGGER_RULES if there is none. */
uint32_t lull_trigger_config_rule_as(const struct lull_trigger_config *before,
                                     const struct lull_trigger_config *now, uint32_t i);
/* Whether a rule may have that name: letters, digits, and - _ . */
bool lull_trigger_is_name(const char *name);
/* Whether the machine with that address is asked and heard. */
bool lull_trigger_is_peer(const struct lull_trigger_config *config, const struct in6_addr *address);
void lull_trigger_config_free(struct lull_trigger_config *config);

#endif
