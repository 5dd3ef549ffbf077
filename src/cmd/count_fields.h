/* SPDX-License-Identifier: MIT */
/* lull print --count-fields: decodes everything and prints how much it was. */
#ifndef LULL_CMD_COUNT_FIELDS_H
#define LULL_CMD_COUNT_FIELDS_H

#include "cmd/verb.h"

/* Exit status, as of a verb. The session's limits and selection are applied here. */
int lull_count_fields(const struct lull_args *args, struct lull_session *session, GError **error);

#endif
