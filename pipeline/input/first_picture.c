/* SPDX-License-Identifier: BSD-2-Clause
 * The first frame of a stream, decoded before all others (first_picture.h). */
#include "pipeline/input/first_picture.h"

#include <errno.h>
#include <libavcodec/avcodec.h>

#include "pipeline/base/av_version.h"

enum { MAX_AHEAD = 300 }; /* packets of all streams */

int halo_first_picture(AVFrame *ret_frame, struct halo_source *source, const AVStream *stream,
                       struct halo_error *err)
{
    const AVCodec *codec = avcodec_find_decoder(stream->codecpar->codec_id);
    AVCodecContext *c = avcodec_alloc_context3(codec);
    int code = c ? 0 : halo_fail(err, -ENOMEM, "out of memory");
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
            avcodec_receive_frame(c, ret_frame) >= 0)
            break;
    }
    avcodec_free_context(&c);
    return code < 0 ? code : 0;
}

void halo_first_fields(const AVFrame *first, AVStream *stream)
{
    const int fields = halo_av_frame_fields(first);
    if (stream->codecpar->field_order != AV_FIELD_PROGRESSIVE && fields & HALO_AV_INTERLACED)
        stream->codecpar->field_order = fields & HALO_AV_TOP_FIRST ? AV_FIELD_TT : AV_FIELD_BB;
}
