/* SPDX-License-Identifier: MIT */
/* Why some instances take longer: the critical paths of the slow ones against those of the typical
 * ones. The segments of a path cover its instance exactly, so the mean differences of all things
 * together are the difference of the durations.
 *
 * Ownership: struct lull_why is the caller's, who frees it before the instances that it compares;
 * what is reached from it is borrowed. */
#ifndef LULL_WHY_H
#define LULL_WHY_H

#include <lull/instances.h>

G_BEGIN_DECLS

/** Which instances are slow, which typical, and how much is said. Start with LULL_WHY_DEFAULT. */
struct lull_why_rule {
    size_t size;            /**< sizeof(struct lull_why_rule) */
    double slowest;         /**< slow: so many percent of the instances, at least one; < 0: the
                                 slowest 10 %, but if some of these lie beyond the upper fence
                                 (Tukey 1977), only those */
    int64_t slower_than_ns; /**< slow instead: all that took longer; INT64_MIN: not so */
    double typical[2];      /**< percentiles of the duration between which the typical ones lie */
    uint32_t limit;         /**< findings for each kind, at most */
    uint64_t n_slowest;     /**< slow instead: so many that took longest; 0: not so */
};

/** Value of a struct lull_why_rule. */
#define LULL_WHY_DEFAULT {sizeof(struct lull_why_rule), -1, INT64_MIN, {25, 75}, 5, 0}

/** What came out for the instances of one kind. */
enum lull_why_verdict {
    LULL_WHY_EXPLAINED,  /**< there are findings */
    LULL_WHY_UNCLEAR,    /**< the slow ones are slower, but nothing can be told from chance */
    LULL_WHY_ALIKE,      /**< they are less than 10 % slower: there is nothing to explain */
    LULL_WHY_NONE_SLOW,  /**< none is as slow as was asked */
    LULL_WHY_NO_TYPICAL, /**< all that could be typical are slow */
    LULL_WHY_TOO_FEW,    /**< fewer than 4 instances are not compared */
};

/** "explained", "unclear", "alike", "none-slow", "no-typical", "too-few". */
const char *lull_why_verdict_name(enum lull_why_verdict verdict);

/** The comparison for instances of one kind. */
struct lull_why_kind {
    const char *name;     /**< NULL: there is one kind */
    uint32_t n_instances; /**< with a path */
    enum lull_why_verdict verdict;
    uint32_t n_slow, n_typical, n_findings;
    /* Means; 0 unless the two groups were compared. */
    double slow_ns, typical_ns;         /**< durations */
    double difference_ns;               /**< of these */
    double less_ns;                     /**< what the slow ones do less of other things, in all */
    double unknown_ns;                  /**< waits of unknown cause in a slow one's path */
    uint64_t lost_events, lost_packets; /**< in the slow ones */
};

/** A tid that stands for several. */
#define LULL_SEVERAL_TIDS INT32_MIN

/** One thing that the slow ones do more, and that can be told from chance. */
struct lull_finding {
    uint32_t host;
    const char *comm; /**< of the task, without what tells siblings apart */
    int32_t tid;      /**< or LULL_SEVERAL_TIDS */
    enum lull_state state;
    enum lull_cause cause;
    const char *detail;  /**< as in struct lull_portion_sum */
    int32_t other_tid;   /**< of the waker, of who had the CPU, or of who held the lock; -1: nobody;
                              or LULL_SEVERAL_TIDS */
    const char *lock;    /**< the call ("futex") by which `waiter` waited until another task let go,
                              and all that happened meanwhile is meant; NULL: no lock */
    const char *waiter;  /**< name of who waited for the lock; NULL: no lock */
    const char *holder;  /**< name of who held it; NULL: no lock, or not known */
    const char *through; /**< for people: who waited for the task; NULL: nobody */
    double slow_ns, typical_ns; /**< means over all slow and all typical instances */
    double difference_ns;       /**< of these; > 0 */
    double share;               /**< of the difference of the durations, 0 to 1 */
    double low_ns, high_ns;     /**< 95 % interval of difference_ns */
    uint32_t n_outstanding;     /**< slow instances that have more of it than any typical one */
    const struct lull_instance *most; /**< the slow instance that has most of it */
};

struct lull_why;

/** Compares the instances of the selection (NULL: all), each kind by itself; `rule` may be NULL. The
 * result depends on nothing but the traces. Never NULL. */
struct lull_why *lull_why_compare(struct lull_instances *instances,
                                  const struct lull_selection *selection,
                                  const struct lull_why_rule *rule);
void lull_why_free(struct lull_why *why);

/** Instances without a path: they did not end, or their task is not known. */
uint32_t lull_why_without_path(const struct lull_why *why);
/** Kinds, those first of which most is to be gained. */
uint32_t lull_why_kind_count(const struct lull_why *why);
const struct lull_why_kind *lull_why_kind(const struct lull_why *why, uint32_t kind);
/** The slow and the typical instances of a kind, the slowest first. */
const struct lull_instance *lull_why_slow(const struct lull_why *why, uint32_t kind,
                                          uint32_t index);
const struct lull_instance *lull_why_typical(const struct lull_why *why, uint32_t kind,
                                             uint32_t index);
/** What the slow ones do more, the largest difference first. */
const struct lull_finding *lull_why_finding(const struct lull_why *why, uint32_t kind,
                                            uint32_t index);

G_END_DECLS

#endif
