/* SPDX-License-Identifier: BSD-2-Clause
 * Faults on demand (fault.h). */
#include "fault.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_BAD_WISH = 64 }; /* usage, as config/error.h has it */

_Thread_local bool halo_fault_hangs;

/* HALOD_FAULT in parts. */
struct wish {
    const char *kind; /* NULL: no fault is wished for */
    long from;        /* 1 and up */
    bool stays;
};

static const char *kind_of(const char *text, size_t length)
{
    static const char *const kinds[] = {
        "submit", "finish",   "hang",  "memory", "open", "alloc",   "upload",  "poison",
        "launch", "download", "event", "stall",  "kill", "decoder", "encoder", "call"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && !strncmp(text, kinds[i], length))
            return kinds[i];
    return NULL;
}

/* A fault that is misspelt never happens, and a test that waits for none would pass. */
static void refuse(const char *text)
{
    fprintf(stderr, "HALOD_FAULT=%.60s: must be KIND:N or KIND:N+, as kernels/fault.h has them\n",
            text);
    _exit(EXIT_BAD_WISH);
}

static struct wish read_wish(void)
{
    struct wish ret = {.kind = NULL};
    const char *text = getenv("HALOD_FAULT");
    if (!text || !*text)
        return ret;
    const size_t length = strcspn(text, ":");
    const char *digits = text + length + (text[length] == ':');
    const size_t count = strspn(digits, "0123456789");
    ret.kind = kind_of(text, length);
    ret.from = strtol(digits, NULL, 10);
    ret.stays = digits[count] == '+';
    if (!ret.kind || count < 1 || count > 9 || ret.from < 1 || digits[count + ret.stays])
        refuse(text);
    return ret;
}

bool halo_fault_stays(void)
{
    return read_wish().stays;
}

bool halo_fault(const char *who, const char *kind)
{
    static atomic_long calls;
    static _Atomic(const char *) owner;
    const char *none = NULL;
    const struct wish wish = read_wish();
    if (!wish.kind || strcmp(wish.kind, kind) != 0)
        return false;
    if (!atomic_compare_exchange_strong(&owner, &none, who) && strcmp(none, who) != 0)
        return false;
    const long call = atomic_fetch_add(&calls, 1) + 1;
    return call == wish.from || (call > wish.from && wish.stays);
}
