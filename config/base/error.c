/* SPDX-License-Identifier: BSD-2-Clause
 * Keeps the first error, as text that any terminal can show. */
#include "config/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The length in bytes of the UTF-8 character at s, or 0 if it is malformed, overlong or a
 * surrogate. Does not read past the terminating NUL, which is not a continuation byte. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    const size_t length = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                          : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                          : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                         : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

void halo_sanitise(char *text)
{
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        const size_t length = utf8_length(s);
        const int control = *s < 0x20 || *s == 0x7f || (length == 2 && *s == 0xc2 && s[1] < 0xa0);
        if (length == 0 || (control && length == 1)) {
            *s++ = '?';
        } else {
            if (control)
                s[0] = s[1] = '?';
            s += length;
        }
    }
}

/* Records the error if it is the first; returns whether it did. */
static bool record(struct halo_error *err, int code, const char *format, va_list arguments)
{
    if (!err || err->code)
        return false;
    vsnprintf(err->text, sizeof err->text, format, arguments);
    halo_sanitise(err->text);
    err->code = code;
    return true;
}

int halo_fail(struct halo_error *err, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(err, code, format, arguments);
    va_end(arguments);
    return code;
}

int halo_fail_usage(struct halo_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (record(err, -EINVAL, format, arguments))
        err->usage = true;
    va_end(arguments);
    return -EINVAL;
}

int halo_fail_device(struct halo_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (record(err, -EIO, format, arguments))
        err->device = true;
    va_end(arguments);
    return -EIO;
}

int halo_fail_scarce(struct halo_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (record(err, -ENOMEM, format, arguments))
        err->device = err->scarce = true;
    va_end(arguments);
    return -ENOMEM;
}
