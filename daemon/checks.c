/* SPDX-License-Identifier: BSD-2-Clause
 * Chains, encoders and cameras of the daemon's file. The supervisor asks, too: no device is opened,
 * and of a mask's file only the beginning is read. */
#include "daemon/checks.h"

#include <errno.h>

#include "pipeline/av.h"
#include "pipeline/camera_find.h"
#include "pipeline/encode_check.h"
#include "pipeline/privacy.h"

static int check_encoder(const char *codec, bool audio, struct halo_error *err)
{
    const enum AVMediaType type = audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO;
    const AVCodec *found = halo_av_find_encoder("encoder", codec, type, err);
    return found ? halo_encode_check_codec(found, err) : -EINVAL;
}

const struct halo_daemon_checks halo_checks = {
    .filters = halo_chain_check,
    .feed = halo_chain_check_feed,
    .encoder = check_encoder,
    .video = halo_encode_check,
    .camera = halo_camera_check,
};
