/* SPDX-License-Identifier: MIT */
/* lull trigger: tells the daemon of something that was slow. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/say.h"
#include "cmd/status.h"
#include "cmd/verb.h"

#define SOCKET "/run/lull/hook"
#define ANSWER_MS 30000
/* A daemon that hangs has no room for more reports. */
#define ROOM_SECONDS 1

/* The daemon has heard it, and writes nothing. */
enum { STATUS_LIMITED = 3 };

extern char **environ;

struct slow {
    int64_t took_ns;
    int64_t pid, tid;   /* -1: not given */
    const char *id;     /* or NULL */
    bool is_unanswered; /* nobody waits for an answer */
};

/* ---- the daemon ---- */

static bool fail(const char *path, int why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "no daemon can be reached at “%s”: %s", path,
                why == EACCES ? "you may not write there (hook_group in its configuration says who "
                                "may)"
                              : g_strerror(why));
    if (why == ENOENT || why == ECONNREFUSED) {
        g_prefix_error(error, "'lull daemon' does not run here, or listens elsewhere (--socket): ");
    }
    return false;
}

/* Connected, with an address for the answer; -1 and an error. */
static int connect_to(const char *path, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int why = 0;
    if (g_strlcpy(address.sun_path, path, sizeof address.sun_path) >= sizeof address.sun_path) {
        why = ENAMETOOLONG;
    } else if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(sa_family_t)) != 0 ||
               connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        why = errno;
    }
    if (why == 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    fail(path, why, error);
    return -1;
}

static char *line_of(const struct slow *slow)
{
    GString *line = g_string_new(NULL);
    const int64_t now_us = g_get_real_time();
    g_string_append_printf(line, "lull1 t=%" G_GINT64_FORMAT " d=%" G_GINT64_FORMAT, now_us,
                           slow->took_ns / 1000);
    if (slow->pid > 0) {
        g_string_append_printf(line, " pid=%" G_GINT64_FORMAT, slow->pid);
    }
    if (slow->tid > 0) {
        g_string_append_printf(line, " tid=%" G_GINT64_FORMAT, slow->tid);
    }
    if (slow->id) {
        g_string_append_printf(line, " id=%s", slow->id);
    }
    return g_string_free(line, FALSE);
}

/* False, and errno says why, if it has no room for it. The kernel waits for that: whoever floods the daemon may take room that
 * poll() has seen, again and again. */
static bool say(int fd, const char *line)
{
    const struct timeval most = {.tv_sec = ROOM_SECONDS};
    const size_t size = strlen(line);
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
           send(fd, line, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* The daemon's answer, or "" if nobody waits for it; NULL and an error if none comes. */
static char *ask(const char *path, const struct slow *slow, GError **error)
{
    const int fd = connect_to(path, error);
    if (fd < 0) {
        return NULL;
    }
    char text[512];
    g_autofree char *line = line_of(slow);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const bool is_sent = say(fd, line);
    const int why = errno;
    const ssize_t n = is_sent && slow->is_unanswered ? 0
                      : is_sent && poll(&ready, 1, ANSWER_MS) > 0
                          ? recv(fd, text, sizeof text - 1, MSG_DONTWAIT)
                          : -1;
    close(fd);
    if (n >= 0) {
        return g_strndup(text, (gsize)n);
    }
    if (is_sent || why == EAGAIN) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "the daemon at “%s” does not answer", path);
    } else {
        fail(path, why, error);
    }
    return NULL;
}

static const struct answer {
    const char *word, *meaning;
    int status;
} answers[] = {
    {"written", NULL, 0},
    {"coalesced", NULL, 0},
    {"limited", "no snapshot: the limits of the daemon do not allow one now", STATUS_LIMITED},
    {"fast", "no snapshot: no rule of the daemon is about this", STATUS_LIMITED},
    {"failed", "no snapshot: the daemon could not write it, and its log says why", 1},
    {"damaged", "no snapshot: the daemon did not understand the message", 1},
};

/* Prints the directory, or says why there is none. */
static int report(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        const size_t length = strlen(answers[i].word);
        if (!g_str_has_prefix(text, answers[i].word)) {
            continue;
        }
        if (answers[i].meaning) {
            lull_say("lull: %s\n", answers[i].meaning);
        } else if (text[length] == ' ') {
            printf("%s\n", text + length + 1);
        }
        return answers[i].status;
    }
    lull_say("lull: the daemon gave an answer that this lull does not know\n");
    return 1;
}

static int trigger(const char *path, const struct slow *slow, GError **error)
{
    g_autofree char *answer = ask(path, slow, error);
    return !answer ? 1 : slow->is_unanswered ? 0 : report(answer);
}

/* ---- a command ---- */

/* Its status as shells have it; -1 and an error if it cannot be waited for. */
static int run_command(char *const *command, pid_t *pid, GError **error)
{
    int status = 0;
    /* Ctrl-C is for the command. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    posix_spawnattr_t attributes;
    sigset_t usual;
    posix_spawnattr_init(&attributes);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGQUIT);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int why = posix_spawnp(pid, command[0], NULL, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    if (why) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "cannot execute “%s”: %s", command[0],
                    g_strerror(why));
        return lull_status_of_exec(why);
    }
    while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
    }
    return lull_status_of_wait(status);
}

/* A daemon that is not there does not change what the command does. */
static int watch_command(const char *path, struct slow *slow, int64_t limit_ns,
                         char *const *command, GError **error)
{
    g_autoptr(GError) why = NULL;
    pid_t pid = 0;
    const int64_t start_us = g_get_monotonic_time();
    const int status = run_command(command, &pid, error);
    slow->took_ns = (g_get_monotonic_time() - start_us) * 1000;
    slow->pid = pid;
    if (pid > 0 && slow->took_ns > limit_ns) {
        trigger(path, slow, &why);
        if (why) {
            lull_say("lull: %s\n", why->message);
        }
    }
    return status;
}

/* ---- the question ---- */

static bool parse(const struct lull_args *args, struct slow *slow, int64_t *limit_ns,
                  uint32_t n_words, GError **error)
{
    const bool has_command = lull_args_text(args, "if-slower") != NULL;
    slow->pid = lull_args_number(args, "pid");
    slow->tid = lull_args_number(args, "tid");
    slow->id = lull_args_text(args, "for");
    slow->is_unanswered = lull_args_flag(args, "no-wait");
    if (has_command == (lull_args_text(args, "slower") != NULL) || has_command != (n_words > 0)) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "it takes either --slower TIME, of something that is over, or "
                            "--if-slower TIME -- COMMAND");
        return false;
    }
    return lull_args_duration(args, "slower", (double)LULL_NS_PER_S, &slow->took_ns, error) &&
           lull_args_duration(args, "if-slower", (double)LULL_NS_PER_S, limit_ns, error);
}

static int run(const struct lull_args *args, GError **error)
{
    struct slow slow = {0};
    int64_t limit_ns = 0;
    uint32_t n_words;
    const char *const *words = lull_args_rest(args, &n_words);
    const char *path = lull_args_text(args, "socket");
    if (!parse(args, &slow, &limit_ns, n_words, error)) {
        return 2;
    }
    if (n_words == 0) {
        return trigger(path ? path : SOCKET, &slow, error);
    }
    g_autofree char **command = g_new0(char *, n_words + 1);
    for (uint32_t i = 0; i < n_words; i++) {
        command[i] = (char *)words[i];
    }
    return watch_command(path ? path : SOCKET, &slow, limit_ns, command, error);
}

static const struct lull_option options[] = {
    {.name = "slower",
     .kind = LULL_OPTION_TEXT,
     .argument = "TIME",
     .help = "something that ended just now took this time (350ms, 2s, …)"},
    {.name = "if-slower",
     .kind = LULL_OPTION_TEXT,
     .argument = "TIME",
     .help = "run the command, and tell the daemon if it takes longer than this"},
    {.name = "pid",
     .kind = LULL_OPTION_NUMBER,
     .argument = "PID",
     .help = "the process that was slow"},
    {.name = "tid",
     .kind = LULL_OPTION_NUMBER,
     .argument = "TID",
     .help = "the thread that was slow"},
    {.name = "for",
     .kind = LULL_OPTION_TEXT,
     .argument = "NAME",
     .help = "what it was; the key 'id' of a rule can ask for it"},
    {.name = "no-wait",
     .kind = LULL_OPTION_FLAG,
     .help = "do not wait for the daemon's answer: nothing is printed, and the exit status is 0 if "
             "it received the report"},
    {.name = "socket",
     .kind = LULL_OPTION_FILE,
     .argument = "PATH",
     .help = "the socket of the daemon (default: " SOCKET ")"},
    {.name = NULL},
};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"lull trigger --slower 350ms --pid 4711 --for checkout",
     "Process 4711 took 350 ms for a checkout."},
    {"lull trigger --if-slower 2s -- ./backup.sh",
     "A snapshot if the backup takes over two seconds."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_trigger = {
    .name = "trigger",
    .summary = "tell 'lull daemon' that something was slow",
    .usage = "--slower TIME | --if-slower TIME -- COMMAND…",
    .description =
        "Reports to the daemon of this machine that something took a certain time and ended just "
        "now. If a rule with the key 'slower' is about it, and the limits allow it, the daemon "
        "writes a snapshot, and the directory is printed. With --if-slower it runs a command, and "
        "reports it if it takes longer; its exit status is then that of the command.\n"
        "\n"
        "Otherwise the exit status is 0 if there is a snapshot of that moment, 3 if the limits or "
        "rules of the daemon do not ask for one, and 1 if no daemon answers (within 30 s: it answers "
        "when the snapshot is written) or it could not write. "
        "Who may report is up to the daemon: root, and the group 'hook_group' of its "
        "configuration.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .has_no_pager = true,
    .run = run,
};
