/* SPDX-License-Identifier: BSD-2-Clause
 * Faults on demand (fault.h). */
#include "fault.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool halo_fault_hangs;

bool halo_fault_stays(void)
{
    const char *wish = getenv("HALOD_FAULT");
    return wish && strchr(wish, '+');
}

bool halo_fault(const char *who, const char *kind)
{
    static atomic_int calls;
    static _Atomic(const char *) owner;
    const char *wish = getenv("HALOD_FAULT"), *none = NULL;
    const size_t length = strlen(kind);
    if (!wish || strncmp(wish, kind, length) != 0 || wish[length] != ':')
        return false;
    if (!atomic_compare_exchange_strong(&owner, &none, who) && strcmp(none, who) != 0)
        return false;
    const int call = atomic_fetch_add(&calls, 1) + 1, from = atoi(wish + length + 1);
    return call == from || (call > from && halo_fault_stays());
}
