/* SPDX-License-Identifier: MIT */
/* The keeper's end: a process without capabilities, which nobody but root may look into. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "record/folder.h"
#include "record/keeper_private.h"
#include "record/last.h"
#include "record/symbols.h"
#include "symbol/jitdump.h"

/* Readers take twice as much. */
#define MOST_SYMBOLS_BYTES (INT64_C(128) << 20)

struct keeper {
    const struct lull_invoker *invoker;
    struct lull_folder folder;
    int symbols; /* the file; -1: there is none */
    uint64_t jitdump_bytes;
    char *left; /* what was answered last */
};

struct request {
    const char *first, *second;
};

/* What is answered. */
struct outcome {
    uint64_t number;
    const char *text; /* NULL: none */
    int fd;           /* -1: none; is closed when it was sent */
};

static void close_symbols(struct keeper *keeper)
{
    if (keeper->symbols >= 0) {
        close(keeper->symbols);
    }
    keeper->symbols = -1;
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static bool make(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                 GError **error)
{
    lull_folder_clear(&keeper->folder);
    close_symbols(keeper);
    if (!lull_folder_make(&keeper->folder, text_or_null(request->first),
                          text_or_null(request->second), error)) {
        return false;
    }
    outcome->text = keeper->folder.path;
    return true;
}

static bool create(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                   GError **error)
{
    outcome->fd = lull_folder_create(&keeper->folder, request->first, LULL_FOLDER_FILE, error);
    return outcome->fd >= 0;
}

static bool create_unnamed(struct keeper *keeper, const struct request *request,
                           struct outcome *outcome, GError **error)
{
    outcome->fd = lull_folder_create(&keeper->folder, request->first, LULL_FOLDER_UNNAMED, error);
    return outcome->fd >= 0;
}

static bool create_directory(struct keeper *keeper, const struct request *request,
                             struct outcome *outcome, GError **error)
{
    return lull_folder_create(&keeper->folder, request->first, LULL_FOLDER_DIRECTORY, error) >= 0;
}

static bool expect(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                   GError **error)
{
    return lull_folder_create(&keeper->folder, request->first, LULL_FOLDER_FOREIGN, error) >= 0;
}

static bool lift(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                 GError **error)
{
    return lull_folder_lift(&keeper->folder, request->first, request->second, error);
}

/* Appends all of it, or nothing. */
static bool write_symbols(int fd, const GString *text)
{
    const off_t before = lseek(fd, 0, SEEK_END);
    if (before < 0) {
        return false;
    }
    return lull_file_write(fd, text->str, text->len) == 0 || (ftruncate(fd, before), false);
}

static bool save_text(struct keeper *keeper, const GString *text, struct outcome *outcome,
                      GError **error)
{
    if (keeper->symbols < 0) {
        keeper->symbols = lull_folder_create(&keeper->folder, "symbols", LULL_FOLDER_FILE, error);
    }
    if (keeper->symbols < 0) {
        return false;
    }
    outcome->number = lseek(keeper->symbols, 0, SEEK_END) > MOST_SYMBOLS_BYTES ||
                      !write_symbols(keeper->symbols, text);
    return true;
}

/* What a request's second text says. */
struct wanted {
    uint64_t number; /* inode or process */
    int64_t time_ns;
    bool frames;
};

static struct wanted parse_wanted(const struct request *request)
{
    struct wanted wanted;
    char *behind;
    wanted.number = g_ascii_strtoull(request->second, &behind, 10);
    wanted.time_ns = g_ascii_strtoll(behind, &behind, 10);
    wanted.frames = g_ascii_strtoll(behind, NULL, 10) != 0;
    return wanted;
}

static bool save_symbols(struct keeper *keeper, const struct request *request,
                         struct outcome *outcome, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const struct wanted wanted = parse_wanted(request);
    return !lull_symbols_take(text, request->first, wanted.number, wanted.time_ns, wanted.frames) ||
           save_text(keeper, text, outcome, error);
}

static bool save_map(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                     GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const struct wanted wanted = parse_wanted(request);
    return wanted.number > INT32_MAX ||
           !lull_symbols_take_map(text, (int)wanted.number, wanted.time_ns) ||
           save_text(keeper, text, outcome, error);
}

/* What cannot be kept is left out: the code has no names then, as without a dump. */
static bool save_jitdump(struct keeper *keeper, const struct request *request,
                         struct outcome *outcome, GError **error)
{
    g_autoptr(GString) bytes = g_string_new(NULL);
    const uint64_t inode = parse_wanted(request).number;
    int pid;
    if (!lull_jitdump_is_name(request->first, &pid) ||
        !lull_symbols_take_jitdump(bytes, request->first, inode) ||
        bytes->len > MOST_SYMBOLS_BYTES - keeper->jitdump_bytes) {
        return true;
    }
    g_autofree char *name = lull_jitdump_saved_name(pid, inode);
    const int fd = lull_folder_create(&keeper->folder, name, LULL_FOLDER_FILE, NULL);
    if (fd >= 0) {
        write_symbols(fd, bytes);
        close(fd);
        keeper->jitdump_bytes += bytes->len;
    }
    return true;
}

static bool measure(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                    GError **error)
{
    outcome->number = lull_folder_measure(&keeper->folder, request->first);
    return true;
}

static bool has_room(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                     GError **error)
{
    if (!lull_folder_has_room(&keeper->folder)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "no space is left on the disk of “%s”",
                    keeper->folder.part);
        return false;
    }
    return true;
}

static bool find_left(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                      GError **error)
{
    g_free(keeper->left);
    outcome->number = lull_folder_find_left(&keeper->folder, &keeper->left);
    outcome->text = keeper->left;
    return true;
}

/* A daemon makes files with its client's rights. Those of other users reach nowhere that
 * these could not reach themselves; those of root must not be led away. */
static bool path_for_daemon(struct keeper *keeper, const struct request *request,
                            struct outcome *outcome, GError **error)
{
    if (geteuid() == 0 && !lull_folder_is_beyond_others(&keeper->folder)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "other users may rename directories above “%s”, and could so redirect a daemon "
                    "that writes there as root to other files; record to a directory that only "
                    "root can change",
                    keeper->folder.part);
        return false;
    }
    return true;
}

static bool publish(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                    GError **error)
{
    return lull_folder_publish(&keeper->folder, error);
}

static bool clear(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                  GError **error)
{
    lull_folder_clear(&keeper->folder);
    return true;
}

static bool remember(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                     GError **error)
{
    lull_last_set(keeper->invoker, request->first);
    return true;
}

static const struct {
    bool (*act)(struct keeper *keeper, const struct request *request, struct outcome *outcome,
                GError **error);
    bool needs_folder;
} actions[LULL_KEEPER_REQUESTS] = {
    [LULL_KEEPER_MAKE] = {make, false},
    [LULL_KEEPER_CREATE] = {create, true},
    [LULL_KEEPER_CREATE_UNNAMED] = {create_unnamed, true},
    [LULL_KEEPER_CREATE_DIRECTORY] = {create_directory, true},
    [LULL_KEEPER_EXPECT] = {expect, true},
    [LULL_KEEPER_LIFT] = {lift, true},
    [LULL_KEEPER_MEASURE] = {measure, true},
    [LULL_KEEPER_HAS_ROOM] = {has_room, true},
    [LULL_KEEPER_FIND_LEFT] = {find_left, true},
    [LULL_KEEPER_PATH_FOR_DAEMON] = {path_for_daemon, true},
    [LULL_KEEPER_PUBLISH] = {publish, true},
    [LULL_KEEPER_CLEAR] = {clear, false},
    [LULL_KEEPER_REMEMBER] = {remember, false},
    [LULL_KEEPER_SAVE_SYMBOLS] = {save_symbols, true},
    [LULL_KEEPER_SAVE_MAP] = {save_map, true},
    [LULL_KEEPER_SAVE_JITDUMP] = {save_jitdump, true},
};

static void answer(int socket, const struct outcome *outcome, const GError *error)
{
    const struct lull_keeper_answer head = {.error = error ? error->code : -1,
                                            .number = outcome->number};
    const char *text = error ? error->message : outcome->text ? outcome->text : "";
    g_autoptr(GByteArray) message = g_byte_array_new();
    g_byte_array_append(message, (const guint8 *)&head, sizeof head);
    g_byte_array_append(message, (const guint8 *)text,
                        (guint)MIN(strlen(text), LULL_KEEPER_MOST_BYTES));
    lull_keeper_send(socket, message->data, message->len, outcome->fd);
}

/* The texts of a message of `size` bytes, which ends with NUL. */
static bool parse(const char *message, size_t size, struct request *request)
{
    if (size < 3 || (uint8_t)message[0] >= LULL_KEEPER_REQUESTS || message[size - 1] != '\0') {
        return false;
    }
    request->first = message + 1;
    request->second = request->first + strlen(request->first) + 1;
    return request->second < message + size;
}

static void act(struct keeper *keeper, int socket, const char *message, size_t size)
{
    struct outcome outcome = {.fd = -1};
    struct request request;
    GError *error = NULL;
    const bool is_whole = parse(message, size, &request);
    const uint8_t kind = (uint8_t)message[0];
    if (!is_whole || (actions[kind].needs_folder && keeper->folder.dir < 0)) {
        g_set_error_literal(&error, LULL_ERROR, LULL_ERROR_IO, "no recording is being made");
    } else {
        actions[kind].act(keeper, &request, &outcome, &error);
    }
    answer(socket, &outcome, error);
    if (outcome.fd >= 0) {
        close(outcome.fd);
    }
    g_clear_error(&error);
}

/* Its end follows that of the guard, its parent, so that nothing is left of both if both are
 * killed; the next recording then finds what they left. */
static bool begin(int socket, const struct lull_invoker *invoker)
{
    const pid_t parent = getppid();
    struct outcome none = {.fd = -1};
    g_autoptr(GError) error = NULL;
    const int why = lull_invoker_become(invoker);
    if (why != 0) {
        g_set_error(&error, LULL_ERROR, LULL_ERROR_IO, "cannot become user %u: %s",
                    (unsigned)invoker->uid, g_strerror(why));
    }
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGCHLD, SIG_IGN); /* nobody waits for those which read symbols */
    const bool is_tied = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
    answer(socket, &none, error);
    return why == 0 && is_tied;
}

void lull_keeper_serve(int socket, const struct lull_invoker *invoker)
{
    struct keeper keeper = {
        .invoker = invoker, .symbols = -1, .folder = {.parent = -1, .dir = -1, .lock = -1}};
    char message[LULL_KEEPER_MOST_BYTES];
    ssize_t n;
    int fd;
    if (!begin(socket, invoker)) {
        return;
    }
    while ((n = lull_keeper_receive(socket, message, sizeof message, &fd)) > 0) {
        if (fd >= 0) {
            close(fd);
        }
        act(&keeper, socket, message, (size_t)n);
    }
    lull_folder_clear(&keeper.folder);
    close_symbols(&keeper);
    g_free(keeper.left);
}
