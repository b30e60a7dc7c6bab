/* SPDX-License-Identifier: BSD-2-Clause
 * Runs a fuzz target on files and on the files of directories, for compilers without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static int replay_file(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &info)) {
        perror(path);
        if (file)
            fclose(file);
        return -1;
    }
    const size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size ? size : 1);
    const int ok = data && fread(data, 1, size, file) == size;
    fclose(file);
    if (ok)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return ok ? 1 : -1;
}

/* How many files ran, or -1. */
static int replay(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return replay_file(path);
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(dir));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count = replay_file(name) < 0 ? -1 : count + 1;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const int n = replay(argv[i]);
        if (n < 0)
            return EXIT_FAILURE;
        count += n;
    }
    printf("%d inputs\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
