/* SPDX-License-Identifier: BSD-2-Clause
 * What of addresses and paths others may see. Any thread. */
#ifndef HALO_SECRETS_H
#define HALO_SECRETS_H

#include <stddef.h>

/* Returns a malloc'ed copy of an input or an output's target. Of a URL, only the scheme and the
 * host are left, and "***" stands for the rest; other texts are unchanged. Returns NULL if memory
 * is exhausted. */
char *halo_hide_secrets(const char *address);

/* Does the same for all URLs in a text, in place; the text around them is kept. Truncates the
 * result if it does not fit into `size` bytes. Meant for messages from libraries; code that has the
 * URL itself calls halo_hide_secrets() before it composes a message. */
void halo_hide_in_words(char *text, size_t size);

/* Replaces paths in a text by "***", in place, for those who may only view: every word with a
 * slash, except fractions, cameras such as /dev/video0, and what halo_hide_secrets() leaves of
 * URLs. Names with blanks are recognized in quotes, and before the colon of a message. If memory is
 * exhausted, the text becomes empty. */
void halo_hide_paths(char *text);

#endif
