/* Pairs each received packet with the packet that was sent: the same bytes of the same connection.
 */
#ifndef LULL_GRAPH_MATCH_H
#define LULL_GRAPH_MATCH_H

#include "kernel/packet.h"

struct lull_matcher;

struct lull_match {
    uint32_t send, receive; /* ids given to lull_matcher_feed() */
    uint32_t send_host, receive_host;
    int64_t send_ns, receive_ns;
};

/* `ordered`: packets come in the order of a joined clock, so that a send always comes before its
 * receive (old entries can be dropped); otherwise any order between hosts, time order within a
 * host. */
struct lull_matcher *lull_matcher_new(bool ordered);
void lull_matcher_free(struct lull_matcher *matcher);
/* Feeds a packet under an id of the caller's; ids ascend. True if it completed a match, which is
 * stored in *match. */
bool lull_matcher_feed(struct lull_matcher *matcher, const struct lull_packet *packet, uint32_t id,
                       struct lull_match *match);

#endif
