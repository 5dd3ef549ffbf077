#include "ctf/metadata.h"
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        GError *e = NULL;
        gint64 best = G_MAXINT64;
        for (int k = 0; k < 5; k++) {
            gint64 t = g_get_monotonic_time();
            struct lull_schema *s = lull_metadata_read(argv[i], &e);
            t = g_get_monotonic_time() - t;
            best = MIN(best, t);
            if (!s) { g_print("%s\n", e->message); g_clear_error(&e); break;}
            if (k == 4) g_print("%s %ld us %u events\n", argv[i], (long)best, s->streams[0].n_events);
            lull_schema_free(s);
        }
    }
}
