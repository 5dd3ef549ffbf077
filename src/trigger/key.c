/* SPDX-License-Identifier: MIT */
/* Keys are checked when they are read: whoever else could read the file could freeze all machines. */
#include "trigger/key.h"

#include <errno.h>
#include <fcntl.h>
#include <lull/error.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS (2 * LULL_PEER_KEY_BYTES)

static bool fail(GError **error, const char *path, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "the key “%s”: %s", path, why);
    return false;
}

/* One line into the next key. */
static bool take_line(const char *line, struct lull_peer_keys *keys)
{
    if (keys->n == LULL_PEER_KEYS || strlen(line) != DIGITS) {
        return false;
    }
    struct lull_peer_key *key = &keys->key[keys->n++];
    for (size_t i = 0; i < sizeof key->bytes; i++) {
        const int high = g_ascii_xdigit_value(line[2 * i]);
        const int low = g_ascii_xdigit_value(line[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        key->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool take_text(char *text, struct lull_peer_keys *keys)
{
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", LULL_PEER_KEYS + 1);
    *keys = (struct lull_peer_keys){.n = 0};
    for (uint32_t i = 0; lines[i]; i++) {
        if (!take_line(lines[i], keys)) {
            return false;
        }
    }
    return keys->n > 0;
}

bool lull_peer_keys_read(const char *path, struct lull_peer_keys *keys, GError **error)
{
    char text[LULL_PEER_KEYS * (DIGITS + 1) + 2] = "";
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return fail(error, path, g_strerror(errno));
    }
    const bool is_known = fstat(fd, &st) == 0;
    const ssize_t n = is_known && S_ISREG(st.st_mode) ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    if (n < 0) {
        return fail(error, path, "it is not a file that can be read");
    }
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        return fail(error, path,
                    "it must belong to the user who runs the daemon, and nobody else may read it "
                    "(chmod 600)");
    }
    return take_text(text, keys) ||
           fail(error, path,
                "expected one or two lines of 64 hexadecimal digits, as 'lull daemon --new-key' "
                "writes them");
}

bool lull_peer_keys_have(const struct lull_peer_keys *keys, const char *digits)
{
    struct lull_peer_keys guess = {.n = 0};
    bool is_known = false;
    if (!take_line(digits, &guess)) {
        return false;
    }
    for (uint32_t i = 0; i < keys->n; i++) {
        uint8_t difference = 0;
        for (size_t k = 0; k < LULL_PEER_KEY_BYTES; k++) {
            difference |= keys->key[i].bytes[k] ^ guess.key[0].bytes[k];
        }
        is_known |= difference == 0;
    }
    return is_known;
}

bool lull_peer_keys_make(const char *path, GError **error)
{
    uint8_t bytes[LULL_PEER_KEY_BYTES];
    char text[DIGITS + 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return fail(error, path, "the kernel has no random numbers");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        g_snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    text[DIGITS] = '\n';
    const int fd = strcmp(path, "-") == 0
                       ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                       : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool is_written = fd >= 0 && write(fd, text, DIGITS + 1) == DIGITS + 1;
    const int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    return is_written || fail(error, path, g_strerror(why));
}
