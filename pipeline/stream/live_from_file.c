/* SPDX-License-Identifier: BSD-2-Clause
 * Live streams of files and URLs: open, demux, decode. */
#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/parseutils.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/path.h"
#include "pipeline/base/turn.h"
#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_loop.h"
#include "pipeline/stream/live_sound.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/stream/tracks.h"

/* Demuxers that invent timestamps, from an assumed rate. */
#define TIMELESS "mpjpeg,mjpeg,mjpeg_2000,h264,hevc,m4v,image2pipe"

static const int64_t PROBE_WAIT_NS = 2000000000;

/* Restarts the time limit of the source. */
static void set_deadline(struct halo_live *live)
{
    const double limit = live->settings.input_timeout;
    const bool timed = !live->local && limit > 0;
    atomic_store(&live->reader->limits.deadline,
                 timed ? halo_now_ns() + (int64_t)(limit * 1e9) : 0);
}

static bool wants_sound(const struct halo_live *live)
{
    for (int i = 0; i < live->encodings->count; i++)
        if (live->encodings->what[i].audio)
            return true;
    return false;
}

static int choose_streams(const struct halo_live *live, struct halo_live_input *in,
                          struct halo_error *err)
{
    const char *name = live->name;
    AVFormatContext *f = in->format;
    const int video = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    const int sound = av_find_best_stream(f, AVMEDIA_TYPE_AUDIO, -1, video, NULL, 0);
    if (video < 0)
        return halo_fail(err, -ENODATA, "%s: no video stream to filter", name);
    if (f->streams[video]->disposition & AV_DISPOSITION_ATTACHED_PIC)
        return halo_fail(err, -ENODATA, "%s: no video stream to filter, only a cover picture",
                         name);
    const int code = halo_track_check(name, in->source, f->streams[video], err);
    if (code < 0)
        return code;
    in->video = f->streams[video];
    if (sound >= 0 && wants_sound(live))
        in->sound = f->streams[sound];
    for (unsigned i = 0; i < f->nb_streams; i++)
        if (f->streams[i] != in->video && f->streams[i] != in->sound)
            f->streams[i]->discard = AVDISCARD_ALL;
    return 0;
}

/* Opens and probes the source. A file waits for its turn, but not for one that hangs. */
static int probe(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    struct halo_turn turn = {0};
    const int64_t until = halo_now_ns() + PROBE_WAIT_NS;
    if (live->local && !halo_turn_take(&turn, HALO_TURNS_FILE, &live->stop, until))
        return halo_fail(err, -ECANCELED, "the stream was stopped before it started");
    set_deadline(live); /* the wait is not the source's fault */
    const int code = halo_source_open(&in->source, &live->source, NULL, &live->reader->damage,
                                      &live->reader->limits, err);
    halo_turn_end(&turn);
    return code;
}

static int open_file(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    set_deadline(live);
    halo_live_loop_begin(live, in);
    in->again = halo_path_opens_again(live->settings.source.input);
    int code = probe(live, in, err);
    if (code < 0)
        return halo_live_is_late(live) ? halo_live_fail_late(live, err) : code;
    in->format = halo_source_format(in->source);
    in->timeless = live->live && !live->settings.realtime &&
                   av_match_name(in->format->iformat->name, TIMELESS);
    code = choose_streams(live, in, err);
    if (code < 0 && halo_live_is_late(live)) /* FFmpeg returned what it had found until then */
        code = halo_live_fail_late(live, err);
    if (code >= 0)
        code = halo_live_sound_open(live, in, err);
    if (code < 0)
        return code;
    struct halo_decoder_settings decoder =
        halo_track_decoder(&live->source, &live->settings.device, live->ring);
    decoder.declared = halo_source_declares(in->source);
    decoder.live = live->live && !live->local;
    decoder.hw.opening = halo_live_stalls_opening(live->stalls);
    return halo_decoder_open(&in->decoder, live->name, in->video, &decoder, &live->reader->damage,
                             err);
}

/* Reads the next packet, and passes it to the decoder or returns it as audio. 1: there was one; 0:
 * the end. */
static int take_packet(struct halo_live *live, struct halo_live_input *in, AVPacket **ret_sound,
                       struct halo_error *err)
{
    set_deadline(live);
    const int code = halo_source_read(in->source, in->pkt, err);
    if (code == 0 && halo_now_ns() < atomic_load(&live->reader->limits.deadline))
        atomic_store(&live->reader->limits.deadline, 0); /* draining has no time limit */
    if (code <= 0)
        return code;
    halo_live_loop_shift(in, in->pkt);
    if (in->sound && in->pkt->stream_index == in->sound->index) {
        *ret_sound = av_packet_clone(in->pkt);
        return *ret_sound ? 1 : halo_fail(err, -ENOMEM, "out of memory");
    }
    if (in->pkt->stream_index != in->video->index)
        return 1;
    if (!halo_live_loop_pass(live, in))
        return 0;
    const int sent = halo_live_input_send(live, in, in->pkt, err);
    return sent < 0 ? sent : 1;
}

int halo_live_read_file(struct halo_live *live, struct halo_live_input *in,
                        struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                        struct halo_error *err)
{
    int code;
    while ((code = halo_live_input_receive(live, in, ret_raw, err)) == 0) {
        if (in->draining || halo_live_stopped(live))
            return 0;
        code = take_packet(live, in, ret_sound, err);
        if (code < 0 || *ret_sound)
            return code;
        if (code == 0 && halo_live_loop_on(live, in))
            continue;
        if (code == 0) {
            in->draining = true;
            if ((code = halo_live_input_send(live, in, NULL, err)) < 0)
                return code;
        }
    }
    return code;
}

/* Whether FFmpeg has a protocol, or a demuxer with a protocol of its own, for this URL. */
static bool is_known_protocol(const char *url)
{
    static const char *const own[] = {"rtsp", "rtsps", "sap"};
    const size_t length = strcspn(url, ":");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == length && !av_strncasecmp(url, own[i], length))
            return true;
    return avio_find_protocol_name(url) != NULL;
}

/* Whether FFmpeg's tcp would wait for a connection: "?listen", "?listen=1". */
static bool listens(const char *url)
{
    char value[16] = "1";
    const char *query = strchr(url, '?');
    if (!query || !(av_stristart(url, "tcp:", NULL) || av_stristart(url, "tls:", NULL)))
        return false;
    return av_find_info_tag(value, sizeof value, "listen", query) && strcmp(value, "0") != 0;
}

static int check_file(const char *input, struct halo_error *err)
{
    const char *path = halo_path_of(input);
    const int protocol = (int)strcspn(input, ":");
    if (!*path)
        return halo_fail_usage(err, "the name of the file is missing");
    if (!halo_path_is_url(input))
        return 0;
    if (!is_known_protocol(input))
        return halo_fail_usage(err, "this FFmpeg has no protocol '%.*s' (see ffmpeg -protocols)",
                               protocol, input);
    if (listens(input))
        return halo_fail_usage(err,
                               "a stream cannot listen for its sender: let the sender listen, and "
                               "remove 'listen', or let it send to a server such as MediaMTX");
    if (strspn(input + protocol, ":/") == strlen(input + protocol))
        return halo_fail_usage(err, "the URL contains no host or name");
    return 0;
}

const struct halo_source_ops halo_source_file = {.check = check_file, .open = open_file};
