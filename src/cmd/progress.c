/* SPDX-License-Identifier: MIT */
/* The progress bar. It draws at most ten times a second and reads the clock once in TICKS events.
 */
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "view/view.h"

#define TICKS 32768
#define FIRST_AFTER_US 1000000
#define NEXT_AFTER_US 100000

void lull_progress_start(struct lull_progress *progress, const struct lull_args *args,
                         const struct lull_session *session, const char *what, bool prints_lines)
{
    *progress = (struct lull_progress){.session = session, .what = what, .countdown = TICKS};
    progress->is_wanted = !lull_args_flag(args, "no-progress") &&
                          lull_view_is_terminal(STDERR_FILENO) &&
                          !(prints_lines && lull_view_is_terminal(STDOUT_FILENO));
    /* A pager that has got nothing yet shows nothing: until then the terminal is ours. */
    progress->file =
        !progress->is_wanted || isatty(STDERR_FILENO) ? stderr : fopen("/dev/tty", "we");
    progress->is_wanted = progress->is_wanted && progress->file;
    progress->start_us = g_get_monotonic_time();
    progress->next_us = progress->start_us + FIRST_AFTER_US;
}

static void draw(const struct lull_progress *progress, double share)
{
    struct winsize size;
    int columns = 80;
    if (ioctl(fileno(progress->file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    }
    char label[64];
    int used = snprintf(label, sizeof label, "%s %3.0f %% ", progress->what, share * 100);
    int room = CLAMP(columns - used - 3, 0, 60);
    int full = (int)(share * room);
    fprintf(progress->file, "\r%s[", label);
    for (int i = 0; i < room; i++) {
        fputc(i < full ? '#' : '.', progress->file);
    }
    fputc(']', progress->file);
    fflush(progress->file);
}

static bool is_time(struct lull_progress *progress)
{
    progress->countdown = TICKS;
    if (!progress->is_wanted) {
        return false;
    }
    int64_t now = g_get_monotonic_time();
    if (now < progress->next_us) {
        return false;
    }
    progress->next_us = now + NEXT_AFTER_US;
    progress->is_shown = true;
    return true;
}

void lull_progress_bytes(struct lull_progress *progress, uint64_t done, uint64_t size)
{
    if (is_time(progress) && size > 0) {
        draw(progress, CLAMP((double)done / (double)size, 0.0, 1.0));
    } else if (progress->is_shown && size == 0) {
        fprintf(stderr, "\r%s %" PRIu64 " MiB", progress->what, done >> 20);
        fflush(stderr);
    }
}

void lull_progress_update(struct lull_progress *progress)
{
    if (!is_time(progress)) {
        return;
    }
    draw(progress, CLAMP(lull_session_progress(progress->session), 0.0, 1.0));
}

void lull_progress_end(struct lull_progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", progress->file);
        fflush(progress->file);
    }
    if (progress->file && progress->file != stderr) {
        fclose(progress->file);
    }
    progress->file = NULL;
    progress->is_shown = false;
    progress->is_wanted = false;
}
