/* SPDX-License-Identifier: BSD-2-Clause
 * The first frame of a stream, decoded before all others (first_frame.h). */
#include "pipeline/input/first_frame.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/stereo3d.h>
#include <string.h>

#include "pipeline/base/av_version.h"

enum { MAX_AHEAD = 300 }; /* packets of all streams */

static void note(struct halo_first_frame *ret, const AVFrame *frame)
{
    const AVFrameSideData *stereo = av_frame_get_side_data(frame, AV_FRAME_DATA_STEREO3D);
    const AVFrameSideData *display =
        av_frame_get_side_data(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
    const AVFrameSideData *light = av_frame_get_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
    ret->fields = halo_av_frame_fields(frame);
    ret->stereo = stereo ? ((const AVStereo3D *)stereo->data)->type : AV_STEREO3D_2D;
    ret->profile = av_frame_get_side_data(frame, AV_FRAME_DATA_ICC_PROFILE);
    ret->dynamic = av_frame_get_side_data(frame, AV_FRAME_DATA_DYNAMIC_HDR_PLUS);
    if ((ret->hdr.has_display = display))
        memcpy(&ret->hdr.display, display->data, sizeof ret->hdr.display);
    if ((ret->hdr.has_light = light))
        memcpy(&ret->hdr.light, light->data, sizeof ret->hdr.light);
}

int halo_first_frame(struct halo_first_frame *ret, struct halo_source *source,
                     const AVStream *stream, struct halo_error *err)
{
    *ret = (struct halo_first_frame){0};
    AVFrame *frame = av_frame_alloc();
    const AVCodec *codec = avcodec_find_decoder(stream->codecpar->codec_id);
    AVCodecContext *c = avcodec_alloc_context3(codec);
    int code = c && frame ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    bool open = code == 0 && avcodec_parameters_to_context(c, stream->codecpar) >= 0;
    if (open) {
        c->thread_count = 1; /* no delay */
        open = avcodec_open2(c, codec, NULL) >= 0;
    }
    const AVPacket *pkt;
    for (int i = 0; open && i < MAX_AHEAD; i++) {
        code = halo_source_peek(source, i, &pkt, err);
        if (code <= 0)
            break;
        if (pkt->stream_index == stream->index && avcodec_send_packet(c, pkt) >= 0 &&
            avcodec_receive_frame(c, frame) >= 0) {
            note(ret, frame);
            break;
        }
    }
    avcodec_free_context(&c);
    av_frame_free(&frame);
    return code < 0 ? code : 0;
}

void halo_first_frame_fields(const struct halo_first_frame *first, AVStream *stream)
{
    if (first->fields & HALO_AV_INTERLACED)
        stream->codecpar->field_order =
            first->fields & HALO_AV_TOP_FIRST ? AV_FIELD_TT : AV_FIELD_BB;
}
