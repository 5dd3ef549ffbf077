/* Fuzz target: the text of a filter, compiled for the classes of a valid trace and run on its first
 * events. */
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "source/event_filter.h"

#define MOST_EVENTS 100

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_session *session;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const all[] = {"*", NULL};
    g_autoptr(GError) error = NULL;
    session = lull_session_new();
    if (!lull_session_add(session, getenv("LULL_FUZZ_TRACE"), &error))
        g_error("%s", error->message);
    lull_session_subscribe(session, all, NULL, 0, 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    struct lull_filter *filter = lull_filter_parse(text, false, &error);
    if (filter == NULL && (error == NULL || strchr(error->message, '^') == NULL))
        __builtin_trap(); /* a refusal that does not say where */
    if (filter == NULL)
        return 0;
    lull_filter_attach(filter, session);
    for (int i = 0; i < MOST_EVENTS && lull_session_read(session) != NULL; i++)
        ;
    lull_session_set_filter(session, NULL);
    return 0;
}
