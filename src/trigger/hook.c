/* SPDX-License-Identifier: MIT */
/* Reads hook lines. Nothing in them is trusted. */
#include "trigger/hook.h"

#include <glib.h>
#include <string.h>

#include "base/time.h"
#include "trigger/peer_socket.h"

#define MARK "lull1 "
#define NS_PER_US 1000
#define DIGITS_AFTER_POINT 9

/* "[" address "]:" port, with its NUL. */
#define MOST_END 64

struct word {
    const char *value;
    size_t length;
};

/* Digits, of which there must be one at least, into `number`; how many there were. */
static size_t take_digits(const struct word *word, size_t at, int64_t *number, bool *is_too_large)
{
    const size_t first = at;
    for (; at < word->length && g_ascii_isdigit(word->value[at]); at++) {
        *is_too_large |= __builtin_mul_overflow(*number, 10, number) ||
                         __builtin_add_overflow(*number, word->value[at] - '0', number);
    }
    return at - first;
}

/* Microseconds, or seconds with a point. */
static bool read_time(const struct word *word, int64_t *ns)
{
    int64_t whole = 0, fraction = 0;
    bool is_too_large = false;
    const size_t n = take_digits(word, 0, &whole, &is_too_large);
    const bool has_point = n < word->length && word->value[n] == '.';
    const size_t after = has_point ? take_digits(word, n + 1, &fraction, &is_too_large) : 0;
    if (n == 0 || is_too_large || n + has_point + after != word->length ||
        after > DIGITS_AFTER_POINT || (has_point && after == 0)) {
        return false;
    }
    for (size_t i = after; has_point && i < DIGITS_AFTER_POINT; i++) {
        fraction *= 10;
    }
    return !__builtin_mul_overflow(whole, has_point ? LULL_NS_PER_S : NS_PER_US, ns) &&
           !__builtin_add_overflow(*ns, fraction, ns) && *ns <= LULL_TIME_MAX;
}

static bool read_id(const struct word *word, int32_t *id)
{
    int64_t number = 0;
    bool is_too_large = false;
    const size_t n = take_digits(word, 0, &number, &is_too_large);
    *id = (int32_t)number;
    return n > 0 && n == word->length && !is_too_large && number > 0 && number <= INT32_MAX;
}

static void read_text(const struct word *word, char text[static LULL_HOOK_ID])
{
    const size_t n = MIN(word->length, LULL_HOOK_ID - 1);
    for (size_t i = 0; i < n; i++) {
        text[i] = g_ascii_isgraph(word->value[i]) ? word->value[i] : '?';
    }
    text[n] = '\0';
}

/* What is no address, such as “-” and the path of a unix socket, is left out. */
static bool read_end(const struct word *word, struct lull_trigger_endpoint *end)
{
    char text[MOST_END];
    struct lull_trigger_endpoint read;
    if (word->length >= sizeof text) {
        return false;
    }
    memcpy(text, word->value, word->length);
    text[word->length] = '\0';
    if (strlen(text) != word->length || !lull_peer_endpoint_parse(text, &read)) {
        return false;
    }
    *end = read;
    return true;
}

/* Addresses with commas between. */
static void read_ups(const struct word *word, struct lull_hook *hook)
{
    for (size_t at = 0; at < word->length && hook->n_up < LULL_HOOK_UP;) {
        const char *comma = memchr(word->value + at, ',', word->length - at);
        const size_t length = comma ? (size_t)(comma - word->value) - at : word->length - at;
        hook->n_up += read_end(&(struct word){word->value + at, length}, &hook->up[hook->n_up]);
        at += length + 1;
    }
}

/* False if the word spoils the line. */
static bool take_word(const char *text, size_t length, struct lull_hook *hook)
{
    const char *equals = memchr(text, '=', length);
    if (!equals) {
        return true;
    }
    const size_t key = (size_t)(equals - text);
    const struct word value = {equals + 1, length - key - 1};
    if (key == 1 && *text == 't') {
        return hook->end_ns < 0 && read_time(&value, &hook->end_ns);
    }
    if (key == 1 && *text == 'd') {
        return hook->delay_ns < 0 && read_time(&value, &hook->delay_ns);
    }
    if (key == 3 && memcmp(text, "pid", 3) == 0) {
        return read_id(&value, &hook->pid);
    }
    if (key == 3 && memcmp(text, "tid", 3) == 0) {
        return read_id(&value, &hook->tid);
    }
    if (key == 2 && memcmp(text, "id", 2) == 0) {
        read_text(&value, hook->id);
    } else if (key == 2 && memcmp(text, "up", 2) == 0) {
        read_ups(&value, hook);
    } else if (key == 4 && memcmp(text, "peer", 4) == 0) {
        read_end(&value, &hook->peer);
    } else if (key == 5 && memcmp(text, "local", 5) == 0) {
        read_end(&value, &hook->local);
    }
    return true;
}

bool lull_hook_parse(const char *text, size_t size, struct lull_hook *hook)
{
    *hook = (struct lull_hook){.end_ns = -1, .delay_ns = -1};
    const char *at = size <= LULL_HOOK_MOST_BYTES ? memmem(text, size, MARK, strlen(MARK)) : NULL;
    if (!at) {
        return false;
    }
    const char *end = text + size;
    bool is_up = false; /* nginx puts blanks between the addresses of one word */
    for (at += strlen(MARK); at < end;) {
        size_t length = 0;
        while (at + length < end && at[length] != ' ' && at[length] != '\n') {
            length++;
        }
        const bool has_key = memchr(at, '=', length) != NULL;
        is_up = has_key ? length > 3 && memcmp(at, "up=", 3) == 0 : is_up;
        if (is_up && !has_key) {
            read_ups(&(struct word){at, length}, hook);
        }
        if (!take_word(at, length, hook)) {
            return false;
        }
        at += length + 1;
    }
    return hook->end_ns >= 0 && hook->delay_ns >= 0;
}
