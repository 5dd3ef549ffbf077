/* SPDX-License-Identifier: MIT */
/* Walks over records, as linux/perf_event.h lays them out with the sample_type of perf_classes.c.
 */
#include <string.h>

#include "record/perf/perf.h"

/* Where a sample has its time: after its header, identifier, process and task. */
#define SAMPLE_TIME 24

struct perf_event_header perfrec_head(const struct perfrec_records *records, uint64_t at)
{
    uint64_t word = perfrec_word(records, at);
    struct perf_event_header head;
    memcpy(&head, &word, sizeof head);
    if (head.size < sizeof head || head.size % 8 != 0 || head.size > records->end - at) {
        head.size = 0;
    }
    return head;
}

void perfrec_tally_records(struct perfrec_tally *tally, const struct perfrec_records *records)
{
    struct perf_event_header head;
    for (uint64_t at = records->start; at < records->end; at += head.size) {
        head = perfrec_head(records, at);
        if (head.size == 0) {
            break;
        }
        if (head.type == PERF_RECORD_MMAP2 && tally->objects) {
            perfrec_objects_add_record(tally->objects, records, at);
        } else if (head.type == PERF_RECORD_SAMPLE) {
            uint64_t time = perfrec_word(records, at + SAMPLE_TIME);
            tally->samples++;
            tally->first_ns = MIN(tally->first_ns, time);
            tally->last_ns = MAX(tally->last_ns, time);
        } else if (head.type == PERF_RECORD_LOST) {
            tally->lost += perfrec_word(records, at + 16);
        } else if (head.type == PERF_RECORD_LOST_SAMPLES) {
            tally->lost += perfrec_word(records, at + 8);
        }
    }
}
