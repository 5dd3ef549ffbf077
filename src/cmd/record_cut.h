/* SPDX-License-Identifier: MIT */
/* What lull record says of call chains that it recorded. */
#ifndef LULL_CMD_RECORD_CUT_H
#define LULL_CMD_RECORD_CUT_H

#include "record/recorder.h"

/* Whether, after the recording, programs turn out to keep no frame pointers: then their call chains say little. */
void lull_record_report_cut(const struct lull_recorder *recorder,
                            const struct lull_record_question *question);

#endif
