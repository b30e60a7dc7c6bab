/* SPDX-License-Identifier: BSD-2-Clause
 * cmocka.h behind the headers that it needs and does not include. */
#ifndef HALO_CMOCKA_ALL_H
#define HALO_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 has a name for each type and deprecates the one of cmocka 1. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

#endif
