/* SPDX-License-Identifier: BSD-2-Clause
 * The format of a live stream's frames. */
#include "pipeline/stream/live_format.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/display.h"
#include "pipeline/gate/gate.h"
#include "pipeline/input/first_frame.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/tracks.h"

static int copy_stream(AVFormatContext *like, const AVStream *from)
{
    AVStream *to = avformat_new_stream(like, NULL);
    if (!to || halo_av_parameters_copy(to->codecpar, from->codecpar) < 0)
        return -ENOMEM;
    to->time_base = HALO_LIVE_TIME;
    to->avg_frame_rate = from->avg_frame_rate;
    to->r_frame_rate = from->r_frame_rate;
    to->sample_aspect_ratio = from->sample_aspect_ratio;
    return 0;
}

static struct halo_gate_input gate_input(const struct halo_live *live, const AVStream *video)
{
    struct halo_gate_input ret =
        halo_track_gate_input(video, (enum halo_privacy)live->settings.privacy);
    ret.min_coverage = live->settings.min_coverage;
    ret.hidden = halo_live_hidden(live->counters);
    return ret;
}

/* Assumes a format, without any knowledge of the source. */
static int make_up(struct halo_live_format *format, const struct halo_live *live,
                   struct halo_error *err)
{
    format->like = avformat_alloc_context();
    AVStream *video = format->like ? avformat_new_stream(format->like, NULL) : NULL;
    if (!video)
        return halo_fail(err, -ENOMEM, "out of memory");
    AVCodecParameters *par = video->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->format = AV_PIX_FMT_YUV420P;
    par->width = HALO_DEFAULT_WIDTH;
    par->height = HALO_DEFAULT_HEIGHT;
    par->color_range = AVCOL_RANGE_MPEG;
    par->color_space = AVCOL_SPC_UNSPECIFIED;
    video->time_base = HALO_LIVE_TIME;
    format->input = gate_input(live, video);
    format->framerate = (AVRational){HALO_DEFAULT_RATE, 1}; /* MPEG-4 requires one */
    format->aspect = (AVRational){0, 1};
    format->made_up = true;
    return 0;
}

/* Raw outputs, and most containers for streams, cannot store the rotation. */
static void say_turned(int turn)
{
    if (turn != 0)
        halo_log(HALO_LOG_WARNING,
                 "players display the input %s, but outputs contain its frames as stored; regions "
                 "refer to the input as players display it",
                 halo_display_words(turn));
}

/* A source that does not wait for its reader is read ahead only if there is something to learn. */
static int look_at_first(struct halo_live_format *format, const struct halo_live_input *in,
                         struct halo_error *err)
{
    if (!in->source)
        return 0;
    struct halo_first_frame first = {0};
    int code = 0;
    if (in->again || in->video->codecpar->field_order > AV_FIELD_PROGRESSIVE ||
        halo_hdr_is(in->video))
        code = halo_first_frame(&first, in->source, in->video, err);
    halo_first_frame_fields(&first, in->video);
    halo_hdr_find(&format->hdr, &first, in->video);
    return code;
}

static int describe(struct halo_live_format *format, const struct halo_live *live,
                    const struct halo_live_input *in, struct halo_error *err)
{
    const int code = look_at_first(format, in, err);
    if (code < 0)
        return code;
    format->like = avformat_alloc_context();
    if (!format->like || copy_stream(format->like, in->video) < 0 ||
        (in->sound && copy_stream(format->like, in->sound) < 0))
        return halo_fail(err, -ENOMEM, "out of memory");
    format->framerate = av_guess_frame_rate(in->format, in->video, NULL);
    if (in->timeless)
        format->framerate = (AVRational){0, 1};
    format->aspect = av_guess_sample_aspect_ratio(in->format, in->video, NULL);
    format->input = gate_input(live, in->video);
    format->input.unsure = in->unsure;
    say_turned(format->input.turn);
    return 0;
}

void halo_live_format_destroy(struct halo_live_format *format)
{
    if (!format)
        return;
    avformat_free_context(format->like);
    for (int i = 0; i < 2; i++)
        halo_output_frame_destroy(format->blank[i]);
    av_free(format);
}

int halo_live_card_draw(const struct halo_live *live, const struct halo_output_frame *like,
                        const char *words, int64_t pts, struct halo_output_frame **ret)
{
    const char *name = live->settings.name;
    const struct halo_card card = {.line = {name && !strpbrk(name, "/:@") ? name : NULL, words}};
    return halo_gate_card(like, &card, pts, ret);
}

/* Builds the first graph, of the chains that are wanted by now. */
static int make_graph(struct halo_live *live, struct halo_live_format *format,
                      struct halo_error *err)
{
    live->format = format;
    struct halo_graph *first =
        halo_graphs_make(live->graphs, format->input.width, format->input.height, format->made_up);
    int code = halo_graph_build(first, live->ring, &format->input, live->region_feed, err);
    if (code < 0)
        return code;
    format->format = halo_gate_format(first->gate[0].gate);
    code = halo_gate_blank(first->gate[0].gate, true, &format->blank[1]);
    if (code >= 0)
        code = halo_live_card_draw(live, format->blank[1], "one moment", 0, &format->blank[0]);
    if (code < 0)
        return halo_fail(err, code, "out of memory");
    halo_live_status_restart(live->status);
    halo_graphs_formed(live->graphs);
    live->post(live, HALO_LIVE_FORM, 0);
    return 0;
}

int halo_live_make_graph(struct halo_live *live, const struct halo_live_input *in,
                         struct halo_error *err)
{
    struct halo_live_format *format = av_mallocz(sizeof *format);
    if (!format)
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = in ? describe(format, live, in, err) : make_up(format, live, err);
    if (code < 0) {
        halo_live_format_destroy(format);
        return code;
    }
    return make_graph(live, format, err);
}
