/* SPDX-License-Identifier: BSD-2-Clause
 * NVENC, the video encoder inside NVIDIA GPUs; where there is none to be had, the software encoder
 * of the same codec. */
#ifndef HALO_NVENC_H
#define HALO_NVENC_H

#include <stdbool.h>

#include "pipeline/gate/gate.h"
#include "pipeline/output/encode.h"

/* Among the words of halo_encoder_instead() where all sessions are taken. */
#define HALO_NVENC_NO_SESSION "session limit reached"

bool halo_nvenc_is(const AVCodec *codec); /* any thread */
/* A preset of x264's or x265's that one of NVENC's stands for. Any thread. */
bool halo_nvenc_maps_preset(const char *name);

/* halo_encoder_open() for an NVENC encoder. Where the lanes are of the same GPU and the format is
 * one of the encoder's, gate is told to leave its output pictures there (halo_gate_set_device), and
 * no host sees them; otherwise, and where gate is NULL, FFmpeg uploads them. Where NVENC cannot be
 * had, one line says why, and the software encoder of the codec is opened in its place, with
 * options that mean the same. Blocks while the driver starts. */
int halo_nvenc_open(struct halo_encoder **ret, const AVCodec *codec, struct halo_gate *gate,
                    const struct halo_encoder_settings *settings,
                    const struct halo_encoder_input *input, struct halo_error *err);

#endif
