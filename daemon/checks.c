/* SPDX-License-Identifier: BSD-2-Clause
 * What a file of settings is checked against that config/ does not know. */
#include "config/daemon.h"
#include "daemon/commands.h"
#include "pipeline/av.h"
#include "pipeline/filter.h"

static int check_filters(const char *text, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    const int ret = halo_chain_parse(&chain, text, err);
    halo_chain_destroy(chain);
    return ret;
}

static int check_encoder(const char *codec, bool audio, struct halo_error *err)
{
    const enum AVMediaType type = audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO;
    return halo_av_find_encoder("codec", codec, type, err) ? 0 : err->code;
}

const struct halo_daemon_checks halo_daemon_checks = {
    .filters = check_filters,
    .encoder = check_encoder,
};
