/* SPDX-License-Identifier: BSD-2-Clause
 * HDR's static metadata, from input to output (hdr.h). */
#include "pipeline/input/hdr.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/dovi_meta.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av_version.h"
#include "pipeline/input/first_frame.h"

static void of_container(struct halo_hdr *hdr, const AVStream *st)
{
    size_t size;
    const uint8_t *data =
        halo_av_stream_side_data(st, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, &size);
    hdr->has_display = data && size >= sizeof hdr->display;
    if (hdr->has_display)
        memcpy(&hdr->display, data, sizeof hdr->display);
    data = halo_av_stream_side_data(st, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &size);
    hdr->has_light = data && size >= sizeof hdr->light;
    if (hdr->has_light)
        memcpy(&hdr->light, data, sizeof hdr->light);
}

/* How the output looks without it: with some profiles of Dolby Vision the frames are SDR, or use
 * colours that only its metadata defines. */
static const char *rest_of(const AVStream *st, bool hdr)
{
    size_t size;
    const uint8_t *data = halo_av_stream_side_data(st, AV_PKT_DATA_DOVI_CONF, &size);
    const AVDOVIDecoderConfigurationRecord *conf = (const void *)data;
    if (data && size >= sizeof *conf && conf->dv_bl_signal_compatibility_id == 0)
        return "without this metadata, players show the output in wrong colours";
    return hdr ? "the output is plain HDR" : "the output is SDR";
}

static void say_dropped(const AVStream *st, const struct halo_first_frame *first, bool hdr)
{
    const bool plus = hdr && first->dynamic;
    size_t size;
    const bool vision = halo_av_stream_side_data(st, AV_PKT_DATA_DOVI_CONF, &size);
    if (plus || vision)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: %s metadata is left out, because it describes unfiltered frames: %s",
                 st->index, vision ? "Dolby Vision" : "HDR10+", rest_of(st, hdr));
}

bool halo_hdr_is(const AVStream *stream)
{
    const enum AVColorTransferCharacteristic transfer = stream->codecpar->color_trc;
    return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67;
}

void halo_hdr_find(struct halo_hdr *ret, const struct halo_first_frame *first,
                   const AVStream *stream)
{
    const bool hdr = halo_hdr_is(stream);
    *ret = (struct halo_hdr){0};
    of_container(ret, stream);
    if (hdr) {
        if (first->hdr.has_display && !ret->has_display)
            ret->display = first->hdr.display;
        if (first->hdr.has_light && !ret->has_light)
            ret->light = first->hdr.light;
        ret->has_display |= first->hdr.has_display;
        ret->has_light |= first->hdr.has_light;
    }
    say_dropped(stream, first, hdr);
}

static int put(AVStream *out, enum AVPacketSideDataType type, const void *data, size_t size)
{
    uint8_t *to = halo_av_stream_new_side_data(out, type, size);
    if (!to)
        return -ENOMEM;
    memcpy(to, data, size);
    return 0;
}

int halo_hdr_describe(const struct halo_hdr *hdr, AVStream *out)
{
    int code = 0;
    if (hdr->has_display)
        code = put(out, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, &hdr->display, sizeof hdr->display);
    if (code == 0 && hdr->has_light)
        code = put(out, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &hdr->light, sizeof hdr->light);
    return code;
}

/* ---- for encoders: each has words of its own ---- */

static const struct dialect {
    const char *encoders;
    const char *display, *light;
    bool units; /* integers in units of 0.00002 and 0.0001 cd/m2, as in the bitstream; otherwise
                   real numbers */
} dialects[] = {
    {"libx264,libx264rgb", "mastering-display", "cll", true},
    {"libx265", "master-display", "max-cll", true},
    {"libsvtav1", "mastering-display", "content-light", false},
};

static void append_number(char *text, size_t size, AVRational n, int unit, bool whole)
{
    const double value = n.den ? av_q2d(n) : 0;
    if (whole)
        av_strlcatf(text, size, "%.0f", value * unit);
    else
        av_strlcatf(text, size, "%.6f", value);
}

static void append_pair(char *text, size_t size, const char *name, const AVRational pair[2],
                        int unit, bool whole)
{
    av_strlcatf(text, size, "%s(", name);
    append_number(text, size, pair[0], unit, whole);
    av_strlcat(text, ",", size);
    append_number(text, size, pair[1], unit, whole);
    av_strlcat(text, ")", size);
}

static void append_display(char *text, size_t size, const struct dialect *d,
                           const AVMasteringDisplayMetadata *m)
{
    enum { CHROMATICITY = 50000, LUMINANCE = 10000 };
    const AVRational levels[2] = {m->max_luminance, m->min_luminance};
    av_strlcatf(text, size, "%s%s=", *text ? ":" : "", d->display);
    append_pair(text, size, "G", m->display_primaries[1], CHROMATICITY, d->units);
    append_pair(text, size, "B", m->display_primaries[2], CHROMATICITY, d->units);
    append_pair(text, size, "R", m->display_primaries[0], CHROMATICITY, d->units);
    append_pair(text, size, "WP", m->white_point, CHROMATICITY, d->units);
    append_pair(text, size, "L", levels, LUMINANCE, d->units);
}

static const struct dialect *dialect_of(const AVCodec *codec)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (av_match_name(codec->name, dialects[i].encoders))
            return &dialects[i];
    return NULL;
}

void halo_hdr_append(const struct halo_hdr *hdr, const AVCodec *codec, char *text, size_t size)
{
    const struct dialect *d = dialect_of(codec);
    if (d && hdr->has_display && hdr->display.has_primaries && hdr->display.has_luminance)
        append_display(text, size, d, &hdr->display);
    if (d && hdr->has_light)
        av_strlcatf(text, size, "%s%s=%u,%u", *text ? ":" : "", d->light, hdr->light.MaxCLL,
                    hdr->light.MaxFALL);
}

void halo_hdr_say_lost(const struct halo_hdr *hdr, const AVCodec *codec, const AVStream *out,
                       const AVOutputFormat *container)
{
    if ((hdr->has_display || hdr->has_light) && !dialect_of(codec) &&
        !av_match_name(container->name, "matroska,webm,mov,mp4"))
        halo_log(HALO_LOG_WARNING,
                 "stream %d: HDR10 metadata (mastering display and light levels) is left out, "
                 "because %s in %s cannot store it: use libx264, libx265 or .mkv to keep it",
                 out->index, codec->name, container->name);
}
