/* SPDX-License-Identifier: BSD-2-Clause
 * What a program is given, and how it ends: for test_warm.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *volatile kept;

static void tell(char **argv)
{
    char folder[4096];
    for (char **word = argv; *word; word++)
        puts(*word);
    for (char **word = environ; *word; word++)
        if (strncmp(*word, "TOLD", 4) == 0)
            puts(*word);
    printf("%s %o\n", getcwd(folder, sizeof folder), umask(0));
    for (int c; (c = getchar()) != EOF;)
        putc(c, stderr);
}

int main(int argc, char **argv)
{
    kept = malloc((size_t)argc);
    if (!kept || argc < 2)
        return 1;
    if (!strcmp(argv[1], "leak"))
        kept = NULL;
    else if (!strcmp(argv[1], "overflow"))
        kept[argc] = 1;
    else if (!strcmp(argv[1], "abort"))
        abort();
    else if (!strcmp(argv[1], "wait") && puts("waits") >= 0 && fflush(stdout) == 0)
        pause();
    else
        tell(argv);
    free(kept);
    return 7;
}
