/* SPDX-License-Identifier: MIT */
/* A build without the page: what makes it was not there. */
#include "server/page.h"

bool server_has_page(void)
{
    return false;
}

void server_page(const char *path, struct server_answer *answer)
{
    server_refuse(answer, 404, "Not found", "there is nothing here");
}
