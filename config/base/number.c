/* SPDX-License-Identifier: BSD-2-Clause
 * Parses numbers from outside: first with a strict grammar, then with strtod in the C locale. */
#include "config/base/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* Skips a decimal number with at most one point and at least one digit; NULL: not a number. */
static const char *skip_decimal(const char *s)
{
    const char *end = skip_digits(s);
    ptrdiff_t digits = end - s;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits += end - fraction;
    }
    return digits ? end : NULL;
}

/* strtod expects the decimal point of the process's locale; this function always expects '.'. */
static double c_strtod(const char *s)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return NAN;
    const double v = strtod_l(s, NULL, c);
    freelocale(c);
    return v;
}

/* Parses the number at the beginning of text; returns the position after it; NULL: not a number. */
static const char *real_prefix(const char *text, double *ret)
{
    const char *end = skip_decimal(text + (*text == '+' || *text == '-'));
    if (!end)
        return NULL;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1;
        exponent += *exponent == '+' || *exponent == '-';
        end = skip_digits(exponent);
        if (end == exponent)
            return NULL;
    }
    if (*end == 'x' || *end == 'X') /* strtod would continue */
        return NULL;
    const double v = c_strtod(text);
    if (!isfinite(v))
        return NULL;
    *ret = v;
    return end;
}

int halo_parse_real(const char *text, double *ret)
{
    double v;
    const char *end = real_prefix(text, &v);
    if (!end || *end)
        return -EINVAL;
    *ret = v;
    return 0;
}

int halo_parse_ratio(const char *text, double *ret)
{
    double over, under = 1;
    const char *end = real_prefix(text, &over);
    if (end && *end == '/')
        end = real_prefix(end + 1, &under);
    if (!end || *end || under == 0 || !isfinite(over / under))
        return -EINVAL;
    *ret = over / under;
    return 0;
}

int halo_parse_part(const char *text, double *ret)
{
    double v;
    const char *end = real_prefix(text, &v);
    if (!end || (*end && strcmp(end, "%") != 0))
        return -EINVAL;
    *ret = *end ? v / 100 : v;
    return 0;
}

/* [HH:]MM:SS[.m]; only the first field may be 60 or more. */
static int parse_clock(const char *s, double *ret)
{
    double total = 0;
    for (int field = 0; field < 3; field++) {
        const char *end = skip_digits(s);
        const long v = strtol(s, NULL, 10);
        if (end == s || end - s > (field ? 2 : 9) || (field && v >= 60))
            return -EINVAL;
        total = 60 * total + (double)v;
        if (*end == '.' && field && !*skip_digits(end + 1))
            total += end[1] ? c_strtod(end) : 0;
        else if (*end == ':') {
            s = end + 1;
            continue;
        } else if (*end || !field)
            return -EINVAL;
        *ret = total;
        return 0;
    }
    return -EINVAL;
}

int halo_parse_time(const char *text, double *ret)
{
    const bool negative = *text == '-';
    text += negative;
    double v;
    if (strchr(text, ':')) {
        if (parse_clock(text, &v))
            return -EINVAL;
    } else {
        const char *unit = skip_decimal(text);
        if (!unit)
            return -EINVAL;
        const double scale = !*unit || !strcmp(unit, "s") ? 1
                             : !strcmp(unit, "ms")        ? 1e3
                             : !strcmp(unit, "us")        ? 1e6
                                                          : 0;
        if (scale == 0)
            return -EINVAL;
        v = c_strtod(text) / scale;
        if (!isfinite(v))
            return -EINVAL;
    }
    *ret = negative ? -v : v;
    return 0;
}

int halo_parse_integer(const char *text, double *ret)
{
    const char *digits = text + (*text == '+' || *text == '-');
    const char *end = skip_digits(digits);
    if (end == digits || *end)
        return -EINVAL;
    *ret = c_strtod(text); /* huge numbers are exact enough to be out of range */
    return 0;
}

int halo_parse_bytes(const char *text, double *ret)
{
    static const char units[] = "kMGT";
    double v;
    const char *end = skip_decimal(text);
    if (!end)
        return -EINVAL;
    v = c_strtod(text); /* stops at the unit, because no unit begins an exponent */
    const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (unit) {
        const double step = end[1] == 'i' ? 1024 : 1000;
        for (const char *u = units; u <= unit; u++)
            v *= step;
        end += 1 + (end[1] == 'i');
    }
    if (*end || !isfinite(v))
        return -EINVAL;
    *ret = floor(v);
    return 0;
}
