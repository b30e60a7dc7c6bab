/* SPDX-License-Identifier: BSD-2-Clause
 * Counts calls by function, for tools/dev/frame-path: linked into programs that are compiled with
 * -finstrument-functions. The counters lie in the file CALLS.PID, where CALLS is an environment
 * variable, so that they are there however the process ends; children count into the same file
 * until they execute another program. Its first two entries are the addresses at which the program
 * begins, as linked and as loaded. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 1 << 16 };

static struct entry {
    _Atomic uint64_t function, count;
} * table;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
extern char __executable_start;

__attribute__((constructor)) static void open_table(void)
{
    char path[4096];
    const char *calls = getenv("CALLS");
    snprintf(path, sizeof path, "%s.%d", calls ? calls : "", (int)getpid());
    const int fd = calls ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, ENTRIES * sizeof *table) < 0)
        return;
    void *map = mmap(NULL, ENTRIES * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    table = map;
    table[0].function = (uintptr_t)&__executable_start;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    const uint64_t key = (uintptr_t)function;
    (void)caller;
    if (!table)
        return;
    for (unsigned i = (unsigned)(key >> 2) % ENTRIES;; i = (i + 1) % ENTRIES) {
        uint64_t found = i ? table[i].function : 1, none = 0;
        if (!found && !__atomic_compare_exchange_n((uint64_t *)&table[i].function, &none, key, 0,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            found = none;
        if (found == 0 || found == key) {
            table[i].count++;
            return;
        }
    }
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
