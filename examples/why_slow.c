/* SPDX-License-Identifier: MIT */
/* Says what slow instances of something do more than typical ones: of requests, or of a period.
 *
 *   cc why_slow.c $(pkg-config --cflags --libs lull) -o why_slow
 *   ./why_slow TRACE [PERIOD]
 *
 * Shows periods, instances, their sum, and the comparison. */
#include <lull/why.h>

#include <stdio.h>

static void print_sum(const struct lull_session *session, struct lull_instances *instances)
{
    GPtrArray *all = lull_instances_select(instances, NULL, -1);
    GPtrArray *sums = lull_instances_sum(instances, all);
    for (guint i = 0; i < sums->len; i++) {
        const struct lull_portion_sum *sum = sums->pdata[i];
        printf("%12.3f ms in %u of %u  %s on %s, %s %s\n", (double)sum->total_ns / 1e6,
               sum->n_samples, lull_instances_count(instances), sum->comm,
               lull_session_host(session, sum->host)->name, lull_state_name(sum->state),
               sum->detail ? sum->detail : "");
    }
    g_ptr_array_unref(sums);
    g_ptr_array_unref(all);
}

static void print_why(const struct lull_why *why)
{
    for (uint32_t i = 0; i < lull_why_kind_count(why); i++) {
        const struct lull_why_kind *kind = lull_why_kind(why, i);
        printf("%s: %s, %u slow against %u typical\n", kind->name ? kind->name : "all",
               lull_why_verdict_name(kind->verdict), kind->n_slow, kind->n_typical);
        if (kind->n_slow > 0 && kind->n_typical > 0) {
            printf("  slowest: number %u; slowest of the typical: number %u\n",
                   lull_why_slow(why, i, 0)->number, lull_why_typical(why, i, 0)->number);
        }
        for (uint32_t k = 0; k < kind->n_findings; k++) {
            const struct lull_finding *finding = lull_why_finding(why, i, k);
            printf("  %.3f ms more (%.0f %%): %s is %s, %s\n", finding->difference_ns / 1e6,
                   100 * finding->share, finding->comm, lull_state_name(finding->state),
                   finding->detail ? finding->detail : "");
        }
    }
    printf("%u have no path\n", lull_why_without_path(why));
}

/* The instances of the period, or requests without one; NULL and an error. */
static struct lull_instances *read_instances(struct lull_waits *waits,
                                             const struct lull_periods *periods, GError **error)
{
    if (periods) {
        lull_waits_follow(waits, periods, INT64_MIN, INT64_MAX);
    }
    lull_waits_read(waits, NULL, NULL);
    if (lull_waits_refused(waits) > 0) {
        fprintf(stderr, "there are too many instances to follow all\n");
    }
    return lull_waits_instances(waits, NULL, NULL, error);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE [PERIOD]\n", argv[0]);
        return 2;
    }
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    struct lull_periods *periods = NULL;
    struct lull_waits *waits = NULL;
    struct lull_instances *instances = NULL;
    const char *const definitions[] = {argc > 2 ? argv[2] : NULL, NULL};
    if (lull_session_add(session, argv[1], &error) &&
        (argc < 3 || (periods = lull_periods_parse(definitions, NULL, &error)))) {
        lull_session_join(session, NULL, NULL);
        waits = lull_waits_new(session, LULL_WANT_PATHS | LULL_WANT_REQUESTS, &error);
    }
    if (waits) {
        instances = read_instances(waits, periods, &error);
    }
    if (instances) {
        print_sum(session, instances);
        struct lull_why *why = lull_why_compare(instances, NULL, NULL);
        print_why(why);
        lull_why_free(why);
    }
    if (error) {
        fprintf(stderr, "%s: %s\n", argv[0], error->message);
    }
    lull_instances_free(instances);
    lull_waits_free(waits);
    lull_periods_free(periods);
    lull_session_free(session);
    return error != NULL;
}
