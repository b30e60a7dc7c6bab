/* SPDX-License-Identifier: BSD-2-Clause
 * cmocka.h behind the headers that it needs and does not include. */
#ifndef HALO_CMOCKA_ALL_H
#define HALO_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
