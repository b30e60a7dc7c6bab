/* SPDX-License-Identifier: BSD-2-Clause
 * What a stream's privacy: lets its chains be. Everything that takes a chain for a stream of the
 * daemon comes here: the file, its check and its reload, haloctl set, and the engine, which trusts
 * none of them. The gate looks once more, when it knows the pictures (gate.h). */
#ifndef HALO_PRIVACY_H
#define HALO_PRIVACY_H

#include "config/daemon.h"
#include "pipeline/filter.h"

/* Whether pictures leave the chain as they enter it, on every plane, whatever they are: null, and
 * filters whose options leave nothing to do. Any thread. */
bool halo_chain_is_open(const struct halo_chain *chain);

/* halo_chain_parse(), where "none" alone is null, too; an open chain is refused in words for the
 * user, -EINVAL, unless privacy is off. */
int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err);

/* The same for who does not need the chain, as struct halo_daemon_checks wants it: a text longer
 * than HALO_MOST_CHAIN is refused, too. */
int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err);

/* halo_chain_refuse_feed() of a text; one that is no chain is not refused here. */
int halo_chain_check_feed(const char *text, struct halo_error *err);

/* The refusal. -EINVAL. */
int halo_privacy_refuse(struct halo_error *err);

#endif
