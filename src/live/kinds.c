/* SPDX-License-Identifier: MIT */
/* The ways to watch this machine that are built in, best first. */
#include "live/kind.h"

const struct lull_live_kind *const lull_live_kinds[] = {
#ifdef LULL_HAS_LIVE_BPF
    &lull_live_bpf,
#endif
#ifdef LULL_HAS_LIVE_FTRACE
    &lull_live_ftrace,
#endif
    &lull_live_poll,
    NULL,
};
