/* Prints all events of a trace as `babeltrace2 --clock-seconds --no-delta` does, for comparing the
 * two line by line (tests/compare_babeltrace.py). A program for tests only. */
#include <inttypes.h>
#include <stdio.h>

#include <lull/session.h>

/* Whether something stands before the next field inside the same braces. */
struct printer {
    bool first;
};

static void print_name(struct printer *p, const char *name)
{
    fputs(p->first ? " " : ", ", stdout);
    p->first = false;
    if (name != NULL)
        printf("%s = ", name);
}

/* Depth of arrays, for their "[0] = ". */
static uint32_t indices[64];
static enum lull_visit_kind kinds[64];
static unsigned depth;

static void element(struct printer *p, const char *name)
{
    if (depth > 0 && kinds[depth - 1] == LULL_VISIT_ARRAY) {
        print_name(p, NULL);
        printf("[%u] = ", indices[depth - 1]++);
    } else if (depth > 0 && kinds[depth - 1] == LULL_VISIT_VARIANT) {
        print_name(p, NULL);
    } else {
        print_name(p, name);
    }
}

static void begin(void *user, const char *name, enum lull_visit_kind kind)
{
    struct printer *p = user;
    if (kind == LULL_VISIT_SCOPE) {
        fputs(", {", stdout);
    } else {
        element(p, name);
        fputs(kind == LULL_VISIT_ARRAY ? "[" : "{", stdout);
    }
    p->first = true;
    kinds[depth] = kind;
    indices[depth++] = 0;
}

static void end(void *user, enum lull_visit_kind kind)
{
    struct printer *p = user;
    fputs(kind == LULL_VISIT_ARRAY ? " ]" : " }", stdout);
    p->first = false;
    depth--;
}

static void print_number(const struct lull_visit_int *v)
{
    uint64_t masked = v->size_bits < 64 ? v->bits & ((UINT64_C(1) << v->size_bits) - 1) : v->bits;
    if (v->base == 16)
        printf("0x%" PRIX64, masked);
    else if (v->base == 8)
        printf("0%" PRIo64, masked);
    else if (v->is_signed)
        printf("%" PRId64, (int64_t)v->bits);
    else
        printf("%" PRIu64, v->bits);
}

static void integer(void *user, const char *name, const struct lull_visit_int *value)
{
    element(user, name);
    if (value->is_enum) {
        if (value->label != NULL)
            printf("( \"%s\" : container = ", value->label);
        else
            fputs("( <unknown> : container = ", stdout);
    }
    print_number(value);
    if (value->is_enum)
        fputs(" )", stdout);
}

static void real(void *user, const char *name, double value)
{
    element(user, name);
    printf("%g", value);
}

static void text(void *user, const char *name, struct lull_text value)
{
    element(user, name);
    putchar('"');
    for (uint32_t i = 0; i < value.length; i++) {
        char c = value.data[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == '\n')
            fputs("\\n", stdout);
        else if (c == '\t')
            fputs("\\t", stdout);
        else
            putchar(c);
    }
    putchar('"');
}

int main(int argc, char **argv)
{
    static const struct lull_visitor visitor = {begin, end, integer, real, text};
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    int status = 0;
    for (int i = 1; i < argc && status == 0; i++)
        if (!lull_session_add(session, argv[i], &error))
            status = 1;
    lull_session_subscribe(session, (const char *const[]){"*", NULL}, NULL, 0, 0);
    struct lull_event event;
    while (status == 0 && lull_session_next(session, &event)) {
        struct printer printer = {false};
        printf("[%" PRId64 ".%09" PRId64 "] %s %s: { cpu_id = %d }", event.time_ns / 1000000000,
               event.time_ns % 1000000000, lull_session_host(session, event.host)->name,
               lull_event_class_name(event.event_class), event.cpu);
        if (!lull_event_visit(&event, &visitor, &printer, &error))
            status = 1;
        putchar('\n');
    }
    if (error != NULL)
        fprintf(stderr, "%s\n", error->message);
    for (uint32_t i = 0; i < lull_session_problem_count(session); i++)
        fprintf(stderr, "%s\n", lull_session_problem(session, i));
    lull_session_free(session);
    return status;
}
