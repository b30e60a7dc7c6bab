/* SPDX-License-Identifier: BSD-2-Clause
 * open() and open64() before libc's: two names only if _FILE_OFFSET_BITS is not defined. */
#ifndef HALO_STANDIN_OPEN_CALL_H
#define HALO_STANDIN_OPEN_CALL_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

typedef int standin_open_fn(const char *path, int flags, ...);

/* Defines name(), which returns open_by(path, flags, mode, real): real is the next call of this
 * name, mode is 0 if the flags need none. */
#define STANDIN_OPEN_CALL(name, open_by)                                                           \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        standin_open_fn *real = (standin_open_fn *)dlsym(RTLD_NEXT, #name);                        \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;            \
        va_end(more);                                                                              \
        return open_by(path, flags, mode, real);                                                   \
    }

#endif
