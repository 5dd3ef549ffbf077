/* SPDX-License-Identifier: MIT */
/* The table of signatures, so that a file that is no trace is at least called by its name. */
#include "source/files/signature.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"

/* Windows: a buffer header of 0x48 bytes, its size first, then the marker of the log's own header
 * (kind 1 or 2 for 32 and 64 bits, flags 0xC0). */
static bool is_etl(const uint8_t *start, size_t size)
{
    if (size < 0x50) {
        return false;
    }
    uint32_t buffer = lull_load_u32(start, false);
    return buffer >= 1024 && (buffer & (buffer - 1)) == 0 && start[0x4b] == 0xc0 &&
           (start[0x4a] == 1 || start[0x4a] == 2);
}

/* Perfetto: fields of number 1 and known length, one after the other. Each is a message: the first
 * byte of it is a field's number, not 0. */
static bool is_perfetto(const uint8_t *start, size_t size)
{
    size_t at = 0, n = 0;
    while (at + 3 < size && start[at] == 0x0a) {
        uint64_t length = 0;
        uint64_t bytes = lull_load_leb128(start + at + 1, size - at - 1, false, &length);
        if (bytes == 0 || at + 1 + bytes >= size || length == 0 || length > UINT32_MAX ||
            start[at + 1 + bytes] >> 3 == 0) {
            return false;
        }
        at += 1 + (size_t)bytes + (size_t)length;
        n++;
    }
    return n > 1 && (at >= size || start[at] == 0x0a);
}

static bool is_core(const uint8_t *start, size_t size)
{
    return size > 18 && memcmp(start, "\177ELF", 4) == 0 && start[start[5] == 2 ? 17 : 16] == 4;
}

static const struct {
    const char *what;
    const char *magic;
    uint32_t size;
    bool (*is)(const uint8_t *start, size_t size); /* instead of a magic number */
} signatures[] = {
    {.what = "an ELF core dump: gdb reads it", .is = is_core},
    {"an ELF file: a program or a library", "\177ELF", 4, NULL},
    {"a perf.data of before Linux 2.6.33 (version 1): not supported", "PERFFILE", 8, NULL},
    {"a capture of packets (pcap): Wireshark reads it", "\xd4\xc3\xb2\xa1", 4, NULL},
    {"a capture of packets (pcap): Wireshark reads it", "\xa1\xb2\xc3\xd4", 4, NULL},
    {"a capture of packets (pcap): Wireshark reads it", "\x4d\x3c\xb2\xa1", 4, NULL},
    {"a capture of packets (pcap): Wireshark reads it", "\xa1\xb2\x3c\x4d", 4, NULL},
    {"a capture of packets or of system calls (pcapng, scap): Wireshark reads it",
     "\x0a\x0d\x0d\x0a", 4, NULL},
    {.what = "a trace of Windows (etl): not supported", .is = is_etl},
    {.what = "a trace of Perfetto: not supported", .is = is_perfetto},
    {"an index of an LTTng trace: give the directory of the trace", "\xc1\xf1\xdc\xc1", 4, NULL},
    {"a stream file of a CTF trace: give the directory that holds it and its metadata",
     "\xc1\x1f\xfc\xc1", 4, NULL},
    {"a stream file of a CTF trace: give the directory that holds it and its metadata",
     "\xc1\xfc\x1f\xc1", 4, NULL},
    {"the metadata of a CTF trace: give the directory that holds it", "\x57\x1d\xd1\x75", 4, NULL},
    {"the metadata of a CTF trace: give the directory that holds it", "\x75\xd1\x1d\x57", 4, NULL},
    {"the metadata of a CTF trace: give the directory that holds it", "/* CTF ", 7, NULL},
    {"the metadata of a CTF 2 trace: give the directory that holds it", "\x1e{", 2, NULL},
    {"text that ftrace printed: record with trace-cmd or 'lull record', which keep the events "
     "themselves",
     "# tracer: ", 10, NULL},
    {"text that perf printed: give the perf.data", "# ========\n# captured on", 24, NULL},
    {"a journal of systemd", "LPKSHHRH", 8, NULL},
    {"a database of SQLite", "SQLite format 3", 16, NULL},
    {"a core dump of Windows", "MDMP", 4, NULL},
    {"a picture (PNG)", "\x89PNG\r\n\x1a\n", 8, NULL},
    {"a document (PDF)", "%PDF-", 5, NULL},
    {"a web page (HTML)", "<!DOCTYPE html", 14, NULL},
    {"JSON: a trace of Chrome or Perfetto, perhaps, which is not supported", "{\"traceEvents\"", 14,
     NULL},
    {"JSON: a trace of Chrome or Perfetto, perhaps, which is not supported", "[{", 2, NULL},
    {"JSON, not a trace", "{\"", 2, NULL},
};

const char *lull_signature_of(const uint8_t *start, size_t size)
{
    for (size_t i = 0; i < G_N_ELEMENTS(signatures); i++) {
        bool is = signatures[i].is
                      ? signatures[i].is(start, size)
                      : size >= signatures[i].size &&
                            memcmp(start, signatures[i].magic, signatures[i].size) == 0;
        if (is) {
            return signatures[i].what;
        }
    }
    return NULL;
}
