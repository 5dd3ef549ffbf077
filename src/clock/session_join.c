/* The join of clocks as the public API offers it. */
#include "clock/join.h"

void lull_session_join(struct lull_session *session, struct lull_host_clock *clocks)
{
    uint32_t n_hosts = lull_session_host_count(session);
    for (uint32_t i = 0; clocks != NULL && i < n_hosts; i++) {
        clocks[i] =
            (struct lull_host_clock){.is_joined = n_hosts == 1, .bound_ns = n_hosts == 1 ? 0 : -1};
    }
    if (n_hosts <= 1) {
        return;
    }
    struct lull_sync *sync = lull_join_clocks(session, NULL, NULL);
    const struct lull_host_sync *hosts = lull_sync_hosts(sync);
    for (uint32_t i = 0; clocks != NULL && i < n_hosts; i++) {
        clocks[i] = (struct lull_host_clock){.is_joined = hosts[i].is_synced,
                                             .bound_ns = hosts[i].bound_ns};
    }
    lull_sync_free(sync);
}
