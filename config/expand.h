/* SPDX-License-Identifier: BSD-2-Clause
 * ${NAME} in values of the configuration. */
#ifndef HALO_EXPAND_H
#define HALO_EXPAND_H

#include "config/base/error.h"

/* Copies text and replaces each ${NAME} in it with the contents of the file NAME in
 * $CREDENTIALS_DIRECTORY, without its last newline. If there is no file NAME, the value of the
 * environment variable NAME is used instead. $${ becomes "${". Inserted text is not expanded again.
 * Returns 0 (the caller frees *ret), -EINVAL with err filled (messages never contain a value) or
 * -ENOMEM. May block on the disk. */
int halo_expand(char **ret, const char *text, struct halo_error *err);

#endif
