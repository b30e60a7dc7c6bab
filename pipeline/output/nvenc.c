/* SPDX-License-Identifier: BSD-2-Clause
 * NVENC, or the software encoder of the same codec (nvenc.h). */
#include "pipeline/output/nvenc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/output/encode_check.h"
#include "pipeline/frame/hw_device.h"

/* Settings for a codec. */
static const struct codec {
    enum AVCodecID id;
    const char *software;
    const char *quality; /* default if neither -crf nor -b:v is set: FFmpeg's 2 Mbit/s fits few
                            sizes */
} codecs[] = {
    {AV_CODEC_ID_H264, "libx264", "23"},
    {AV_CODEC_ID_HEVC, "libx265", "28"},
    {AV_CODEC_ID_AV1, "libsvtav1", "30"},
};

/* Phrases in FFmpeg's error or log line, and our message. If the limit of sessions is exceeded,
 * drivers report "out of memory" or a wrong key, depending on their version. */
static const struct reason {
    const char *words, *more;
    const char *ours;
} reasons[] = {
    {"no encode device", "", "no NVENC on this GPU"},
    {"unsupported device", "", "no NVENC on this GPU"},
    {"out of memory (10)", "", HALO_NVENC_NO_SESSION},
    {"incompatible client key", "", HALO_NVENC_NO_SESSION},
    {"invalid version", "", "driver too old"},
    {"Operation not permitted", "minimum required Nvidia", "the driver has no NVENC library"},
    {"minimum required Nvidia driver", "", "driver too old"},
    {"required NVENC features", "",
     "this GPU's NVENC does not support this codec, size or pixel format"},
    {"InitializeEncoder failed", "", "this GPU's NVENC does not accept this size or these options"},
};

/* A short reason why NVENC is not available. False: the settings would fail with any encoder. */
static bool find_reason(const struct halo_error *err, char *ret, size_t size)
{
    char version[32];
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (!strstr(err->text, reasons[i].words) || !strstr(err->text, reasons[i].more))
            continue;
        const char *wanted = strstr(err->text, "driver for nvenc is ");
        if (wanted && !*reasons[i].more &&
            sscanf(wanted, "driver for nvenc is %31[0-9.]", version) == 1)
            snprintf(ret, size, "%s: %s or newer is required", reasons[i].ours, version);
        else
            snprintf(ret, size, "%s", reasons[i].ours);
        return true;
    }
    /* The informative part of FFmpeg's line, or the whole text. */
    const char *line = strstr(err->text, "nvenc: ");
    const char *from = line ? line + strlen("nvenc: ") : err->text;
    const char *to = line ? strrchr(from, ')') : NULL;
    snprintf(ret, size, "%.*s", (int)(to ? to - from : (ptrdiff_t)strlen(from)), from);
    return !err->usage;
}

static const struct codec *find_codec(enum AVCodecID id)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].id == id)
            return &codecs[i];
    return NULL;
}

/* The same settings in NVENC's terms. Its quality 0 means unset, and it has no lossless quality. */
static struct halo_encoder_settings settings_for_nvenc(const AVCodec *codec,
                                                       const struct halo_encoder_settings *settings)
{
    const struct codec *known = find_codec(codec->id);
    struct halo_encoder_settings ret = *settings;
    if (!ret.crf && !ret.bitrate && known)
        ret.crf = known->quality;
    if (ret.crf && !strcmp(ret.crf, "0"))
        ret.crf = "1";
    if (ret.preset)
        ret.preset = halo_nvenc_preset(ret.preset);
    return ret;
}

static int open_hardware(struct halo_encoder **ret, const AVCodec *codec, struct halo_gate *gate,
                         const struct halo_encoder_settings *settings,
                         const struct halo_encoder_input *input, struct halo_error *err)
{
    const struct halo_encoder_settings own = settings_for_nvenc(codec, settings);
    struct halo_encoder_input in = *input;
    char old[400];
    in.device = halo_hw_device_get(in.gpu, false, err);
    if (!in.device)
        return err->code;
    if (!gate || halo_gate_set_device(gate, in.device, &in.frames) < 0)
        in.frames = NULL;
    halo_av_reason(0, NULL, old, sizeof old); /* an earlier line would be mistaken for the reason */
    int r = halo_encoder_open(ret, codec, &own, &in, err);
    if (r >= 0) {
        if (settings->crf && strcmp(settings->crf, own.crf) != 0)
            halo_log(HALO_LOG_WARNING, "%s: -crf 0 becomes 1, which is not lossless", codec->name);
        if (settings->preset && strcmp(settings->preset, own.preset) != 0)
            halo_log(HALO_LOG_INFO, "%s: -preset %s becomes %s", codec->name, settings->preset,
                     own.preset);
        halo_log(HALO_LOG_DEBUG, "stream %d: %s reads frames from %s memory", in.stream->index,
                 codec->name, in.frames ? "the GPU's" : "the host's");
    } else if (in.frames && halo_gate_set_device(gate, NULL, NULL) < 0)
        r = -ENOMEM;
    av_buffer_unref(&in.device);
    return r;
}

static int open_software(struct halo_encoder **ret, const AVCodec *codec, const char *why,
                         const struct halo_encoder_settings *settings,
                         const struct halo_encoder_input *input, struct halo_error *err)
{
    const struct codec *known = find_codec(codec->id);
    const AVCodec *software = known ? avcodec_find_encoder_by_name(known->software) : NULL;
    const int stream = input->stream->index;
    if (!software)
        return halo_fail(err, -ENODEV,
                         "stream %d: %s is not available (%s), and this FFmpeg has no %s", stream,
                         codec->name, why, known ? known->software : "encoder to use instead");
    struct halo_encoder_settings own = *settings;
    const char *was = settings->preset;
    if (was)
        own.preset = halo_nvenc_software_preset(was, codec->id);
    const bool changed = was && (!own.preset || strcmp(own.preset, was) != 0);
    halo_log(HALO_LOG_WARNING, "stream %d: %s is not available (%s): %s is used instead%s%s%s%s",
             stream, codec->name, why, software->name,
             !changed     ? ""
             : own.preset ? ", with -preset "
                          : ", without -preset ",
             !changed     ? ""
             : own.preset ? own.preset
                          : was,
             changed && own.preset ? " for " : "", changed && own.preset ? was : "");
    char words[200];
    snprintf(words, sizeof words, "%s is used instead of %s: %.120s", software->name, codec->name,
             why);
    const int code = halo_encoder_open(ret, software, &own, input, err);
    if (code >= 0)
        halo_encoder_set_instead(*ret, words);
    return code;
}

int halo_nvenc_open(struct halo_encoder **ret, const AVCodec *codec, struct halo_gate *gate,
                    const struct halo_encoder_settings *settings,
                    const struct halo_encoder_input *input, struct halo_error *err)
{
    char why[400];
    struct halo_error inner = {0};
    const int code = open_hardware(ret, codec, gate, settings, input, &inner);
    if (code >= 0)
        return code;
    if (!find_reason(&inner, why, sizeof why)) {
        *err = inner;
        return code;
    }
    return open_software(ret, codec, why, settings, input, err);
}
