/* SPDX-License-Identifier: BSD-2-Clause
 * Readers of numbers. Each takes all of text, in the C locale whatever the process has set: no
 * blanks, no hexadecimal, no inf or nan. 0, or -EINVAL with *ret untouched. Any thread. */
#ifndef HALO_NUMBER_H
#define HALO_NUMBER_H

int halo_parse_integer(const char *text, double *ret); /* "-3"; a huge one comes out about right */
int halo_parse_real(const char *text, double *ret);    /* "0.5", "-1e3" */
int halo_parse_ratio(const char *text, double *ret);   /* a real, or two as in "1/9" */
int halo_parse_part(const char *text, double *ret);    /* a real, or one in percent: "10%" is 0.1 */
/* Seconds, as FFmpeg writes them: [-][HH:]MM:SS[.m] or [-]S[.m][s|ms|us]. */
int halo_parse_time(const char *text, double *ret);

/* Bytes: a real with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024). Whole below 2^53. */
int halo_parse_bytes(const char *text, double *ret);

#endif
