/* SPDX-License-Identifier: MIT */
/* The program: finds the verb, parses its options, runs it, prints its error, and decides the exit
 * status: 0 done, 1 the input or the question was bad, 2 the command line was wrong. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lull/error.h>
#include <lull/version.h>

#include "base/pages.h"
#include "cmd/dropin.h"
#include "cmd/help.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/say.h"
#include "record/last.h"

enum { EXIT_DONE = 0, EXIT_BAD_INPUT = 1, EXIT_USAGE = 2 };

/* Whoever read our output has seen enough (`lull print … | head`): that is a good end, not an
 * error. Another pipe that closes, such as the one of our messages, does not decide how we end. */
static void end_on_closed_pipe(int number)
{
    (void)number;
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR)) {
        _exit(EXIT_DONE);
    }
}

/* Files that we open must not be taken for a standard stream that was closed. What is opened in its
 * place fails as before. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

static void set_up_signals(void)
{
    struct sigaction action = {.sa_handler = end_on_closed_pipe};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
}

/* What was printed must have arrived: a full disk is an error. A verb that noticed it has said so.
 */
static int finish_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    if (status == EXIT_DONE) {
        lull_say("lull: cannot write to standard output: %s\n",
                 errno ? g_strerror(errno) : "a write failed");
    }
    return status == EXIT_USAGE ? EXIT_USAGE : EXIT_BAD_INPUT;
}

static void print_version(void)
{
    printf("lull " LULL_VERSION "\n"
           "Built with " LULL_LIBRARIES ".\n"
           "Optional parts: %s.\n",
           LULL_PARTS[0] ? LULL_PARTS : "none built in");
    if (LULL_PARTS_OFF[0]) {
        printf("Not built in, and what building it needs: %s.\n", LULL_PARTS_OFF);
    }
}

static int unknown_verb(const char *word)
{
    g_autofree char *problem = lull_help_no_verb(word);
    lull_say("lull: %s\nTry 'lull --help'.\n", problem);
    return EXIT_USAGE;
}

/* Help about one verb or about the program. */
static void show_help(FILE *file, const struct lull_verb *verb, const char *color)
{
    struct lull_view_style style;
    lull_view_style_init(&style, file, color);
    if (verb) {
        lull_help_verb(file, verb, &style);
    } else {
        lull_help_program(file, &style);
    }
}

static int print_error(const struct lull_verb *verb, const GError *error, int status)
{
    fflush(stdout);
    lull_say("lull %s: %s\n", verb->name, error->message);
    if (g_error_matches(error, LULL_ERROR, LULL_ERROR_USAGE)) {
        lull_say("Try 'lull %s --help'.\n", verb->name);
        return EXIT_USAGE;
    }
    return status == EXIT_DONE ? EXIT_BAD_INPUT : status;
}

/* A stream is a file that stays open while it is read; a cluster's traces have more of them than
 * the usual soft limit. A command that
 * we start keeps the limit that it would have without us. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A verb that is given no trace takes the last recording, if there is one. */
static void add_last_recording(const struct lull_verb *verb, struct lull_args *args)
{
    uint32_t n_traces;
    lull_args_rest(args, &n_traces);
    char *last = n_traces == 0 && !verb->is_dropin ? lull_last_get() : NULL;
    if (last) {
        lull_say("lull: no trace given; this is the last recording, %s\n", last);
        lull_args_add_rest(args, last);
    }
}

/* An error of the library that is about a setting starts with its name. Here it is an option. */
static void name_option(const struct lull_args *args, GError *error)
{
    const char *colon = strchr(error->message, ':');
    if (colon && (g_error_matches(error, LULL_ERROR, LULL_ERROR_USAGE) ||
                  g_error_matches(error, LULL_ERROR, LULL_ERROR_QUESTION))) {
        g_autofree char *name = g_strndup(error->message, (size_t)(colon - error->message));
        if (lull_args_takes(args, name)) {
            g_prefix_error(&error, "--");
        }
    }
}

static int run_parsed(const struct lull_verb *verb, struct lull_args *args, GError **error)
{
    if (lull_args_flag(args, "help")) {
        show_help(stdout, verb, lull_args_text(args, "color"));
        return EXIT_DONE;
    }
    const bool needs_none =
        verb->takes_no_trace || (verb->without_trace && lull_args_flag(args, verb->without_trace));
    if (!verb->rest_is_command && !needs_none) {
        allow_many_files();
        add_last_recording(verb, args);
    }
    uint32_t n_words;
    lull_args_rest(args, &n_words);
    if (verb->no_words && n_words > 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, verb->no_words);
        return EXIT_USAGE;
    }
    const int status = verb->run(args, error);
    if (*error) {
        name_option(args, *error);
    }
    return status;
}

static int run_verb(const struct lull_verb *verb, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct lull_args *args = lull_args_parse(verb, argc, argv, &error);
    if (!args) {
        return print_error(verb, error, EXIT_USAGE);
    }
    const bool is_paged = !verb->has_no_pager && !lull_args_flag(args, "no-pager");
    struct lull_pager pager = {0};
    if (is_paged && !lull_args_live(args)) {
        lull_pager_start(&pager);
    }
    int status = run_parsed(verb, args, &error);
    if (error) {
        status = print_error(verb, error, status);
    }
    lull_args_free(args);
    lull_pager_end(&pager);
    return status;
}

/* Called by a name of lttng-analyses. What its parser of options refuses is reported on stderr with
 * status 2, everything else, for programs, as an object on stdout with status 1. */
static int run_dropin(const struct lull_verb *verb, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct lull_args *args = lull_args_parse(verb, argc, argv, &error);
    if (!args && !g_error_matches(error, LULL_ERROR, LULL_ERROR_QUESTION)) {
        lull_say("%s: %s\nTry '%s --help'.\n", verb->name, error->message, verb->name);
        return EXIT_USAGE;
    }
    int status = EXIT_DONE;
    if (!args) {
        status = EXIT_BAD_INPUT;
    } else if (lull_args_flag(args, "version")) {
        printf("%s (lull " LULL_VERSION ")\n", verb->name);
    } else {
        status = run_parsed(verb, args, &error);
    }
    if (error && verb->is_mi) {
        lull_dropin_print_error(error->message);
    } else if (error) {
        fflush(stdout);
        lull_say("%s: %s\n", verb->name, error->message);
    }
    lull_args_free(args);
    return error && status == EXIT_DONE ? EXIT_BAD_INPUT : status;
}

/* The daemon is also a program of its own, as daemons are. */
static bool is_daemon(const char *program)
{
    g_autofree char *base = g_path_get_basename(program);
    return strcmp(base, "lulld") == 0;
}

/* As git takes it, the option may also stand before the verb: it moves behind it, where it is read. */
static void move_no_pager(int argc, char **argv)
{
    int n = 1;
    while (n < argc && strcmp(argv[n], "--no-pager") == 0) {
        n++;
    }
    if (n < argc) {
        char *option = argv[1];
        argv[1] = argv[n];
        for (int i = 2; i <= n; i++) {
            argv[i] = option;
        }
    }
}

static int run(int argc, char **argv)
{
    struct lull_verb *dropin = argc > 0 ? lull_dropin_verb(argv[0]) : NULL;
    if (dropin) {
        const int status = run_dropin(dropin, argc - 1, argv + 1);
        lull_dropin_free(dropin);
        return status;
    }
    const bool as_daemon = argc > 0 && is_daemon(argv[0]);
    if (!as_daemon) {
        move_no_pager(argc, argv);
    }
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        print_version();
        return EXIT_DONE;
    }
    if (as_daemon) {
        return run_verb(lull_verb_find("daemon"), argc - 1, argv + 1);
    }
    if (argc < 2) {
        show_help(stderr, NULL, NULL);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return run_verb(lull_verb_find("help"), argc - 2, argv + 2);
    }
    if (word[0] == '-') {
        lull_say("lull: the verb comes first, before the option %s\nTry 'lull --help'.\n", word);
        return EXIT_USAGE;
    }
    const struct lull_verb *verb = lull_verb_find(word);
    return verb ? run_verb(verb, argc - 2, argv + 2) : unknown_verb(word);
}

int main(int argc, char **argv)
{
    lull_pages_for_heap();
    setlocale(LC_CTYPE, "");
    keep_standard_streams();
    set_up_signals();
    return finish_output(run(argc, argv));
}
