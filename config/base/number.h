/* SPDX-License-Identifier: BSD-2-Clause
 * Parsers of numbers. The number has to be all of text, in the C locale whatever the process has
 * set: blanks, hexadecimal, inf and nan are refused. They return 0, or -EINVAL with *ret unchanged.
 * Any thread. */
#ifndef HALO_NUMBER_H
#define HALO_NUMBER_H

/* an integer such as "-3"; huge ones are rounded */
int halo_parse_integer(const char *text, double *ret);
int halo_parse_real(const char *text, double *ret); /* "0.5", "-1e3" */
/* a real number, or a fraction such as "1/9" */
int halo_parse_ratio(const char *text, double *ret);
/* a real number, or a percentage: "10%" is 0.1 */
int halo_parse_part(const char *text, double *ret);
/* Parses seconds in FFmpeg's syntax: [-][HH:]MM:SS[.m] or [-]S[.m][s|ms|us]. */
int halo_parse_time(const char *text, double *ret);

/* Parses a number of bytes: a real number, which may be followed by k, M, G, T (powers of 1000) or
 * Ki, Mi, Gi, Ti (powers of 1024). The result is rounded down to an integer, and is exact below
 * 2^53. */
int halo_parse_bytes(const char *text, double *ret);

#endif
