/* SPDX-License-Identifier: BSD-2-Clause
 * ${NAME} in texts of the configuration. */
#ifndef HALO_EXPAND_H
#define HALO_EXPAND_H

#include "config/error.h"

/* Replaces each ${NAME} by the file NAME of $CREDENTIALS_DIRECTORY (its last newline left out) or
 * else the environment's variable; $${ is "${". What is put in is not looked at again. 0: the
 * caller frees *ret; -EINVAL with err in words, which never say a value; -ENOMEM. May block for the
 * disk. */
int halo_expand(char **ret, const char *text, struct halo_error *err);

#endif
