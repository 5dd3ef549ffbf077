/* Fuzz target: all that a relay answers, from the first byte of the connection to its end. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lull/session.h>

#include "filter/filter.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reading may wait so often: pauses cost time. */
#define WAITS 12

static int listener;
static char url[64];

struct answers {
    const uint8_t *data;
    size_t size;
};

/* Says everything at once, without listening, and hangs up when the viewer does. */
static void *serve(void *user)
{
    const struct answers *answers = user;
    char sink[4096];
    int fd = accept(listener, NULL, NULL);
    size_t done = 0;
    while (done < answers->size) {
        ssize_t n = send(fd, answers->data + done, answers->size - done, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, sink, sizeof sink, 0) > 0)
        ;
    close(fd);
    return NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        g_error("cannot listen on loopback");
    g_snprintf(url, sizeof url, "net://127.0.0.1:%u/host/machine/test",
               (unsigned)ntohs(address.sin_port));
    return 0;
}

static bool wait_a_while(void *user)
{
    return ++*(unsigned *)user < WAITS;
}

static void ignore_begin(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void ignore_end(void *user, enum lull_visit_kind kind)
{
}

static void touch_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    *(uint64_t *)user += value->label != NULL ? strlen(value->label) : 0;
}

static void ignore_real(void *user, const char *name, double value)
{
}

static void touch_text(void *user, const char *name, struct lull_text value)
{
    for (uint32_t i = 0; i < value.length; i++)
        *(uint64_t *)user += (uint8_t)value.data[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lull_visitor visitor = {.begin = ignore_begin,
                                                .end = ignore_end,
                                                .integer = touch_integer,
                                                .real = ignore_real,
                                                .text = touch_text};
    static const char *const all[] = {"*", NULL};
    struct answers answers = {data, size};
    pthread_t thread;
    unsigned waits = 0;
    uint64_t sum = 0;
    pthread_create(&thread, NULL, serve, &answers);
    struct lull_session *session = lull_session_new();
    lull_session_on_wait(session, wait_a_while, &waits);
    if (lull_session_add(session, url, NULL)) {
        lull_filter_attach(lull_filter_parse("number < 8 || name == \"t*\"", false, NULL), session);
        lull_session_subscribe(session, all, NULL, 0, 0);
        const struct lull_event *event;
        while ((event = lull_session_read(session)) != NULL)
            lull_event_visit(event, &visitor, &sum, NULL);
        g_autoptr(GError) error = NULL;
        lull_session_failed(session, &error);
    }
    lull_session_free(session);
    pthread_join(thread, NULL);
    return 0;
}
