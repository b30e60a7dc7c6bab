/* SPDX-License-Identifier: BSD-2-Clause
 * Checks whether decoded frames are undamaged (decode_judge.h). */
#include "pipeline/input/decode_judge.h"

#include "pipeline/base/av_version.h"
#include "pipeline/input/decode_traits.h"

void halo_decode_judge_init(struct halo_decode_judge *j, const AVCodecParameters *par, bool live)
{
    j->traits = halo_decode_traits(par->codec_id);
    j->live = live;
    j->begins_whole =
        (j->traits & HALO_ONE_FOR_ONE) && par->extradata_size > 0 && par->extradata[0] == 1;
    j->complaints.until = INT64_MAX;
    j->complaints.harmless = halo_decode_harmless(par->codec_id);
}

void halo_decode_judge_begin(struct halo_decode_judge *j)
{
    j->delivered = j->interlaced = j->seeks = false;
    j->packets = j->pictures = 0;
    j->from = INT64_MIN;
    atomic_store(&j->complaints.latest, INT64_MIN);
}

void halo_decode_judge_set_window(struct halo_decode_judge *j, int64_t from, int64_t until)
{
    j->from = from;
    j->seeks = from != INT64_MIN;
    j->complaints.until = until;
}

void halo_decode_judge_forget(struct halo_decode_judge *j)
{
    j->known = atomic_load(&j->complaints.lines);
}

/* Counts the packets of frames that are shown, from the time of the first frame on: packets before
 * it may lack the frames that they refer to. */
void halo_decode_judge_packet(struct halo_decode_judge *j, const AVPacket *pkt, int64_t time)
{
    if (j->begins_whole && j->from == INT64_MIN && time != AV_NOPTS_VALUE)
        j->from = time;
    if (pkt->flags & AV_PKT_FLAG_DISCARD)
        return;
    if (!j->delivered)
        j->early[j->packets % HALO_DECODE_JUDGE_EARLY] = time;
    j->packets += !j->delivered || time == AV_NOPTS_VALUE || time >= j->from;
}

bool halo_decode_judge_tolerates(const struct halo_decode_judge *j)
{
    return j->seeks && !j->delivered && atomic_load(&j->complaints.latest) < j->from;
}

/* Returns whether the decoder has complained, since the last call, about a packet that counts.
 * Frame threads are ahead of the frames delivered, so the complaint may be about a later frame; at
 * the end, all complaints have arrived. */
static bool complains(struct halo_decode_judge *j)
{
    const int known = j->known;
    halo_decode_judge_forget(j);
    return j->known != known && atomic_load(&j->complaints.latest) >= j->from;
}

static void count_early(struct halo_decode_judge *j)
{
    const int64_t early = FFMIN(j->packets, HALO_DECODE_JUDGE_EARLY);
    j->packets = 0;
    for (int i = 0; i < early; i++)
        j->packets += j->early[i] == AV_NOPTS_VALUE || j->early[i] >= j->from;
}

/* If threads decode several frames in parallel, the error flags of frames are unreliable. */
static bool has_flags(const struct halo_decode_judge *j, const AVFrame *frame, const AVCodec *codec)
{
    const bool by_chance =
        (j->traits & HALO_HONEST) && !j->live && (codec->capabilities & AV_CODEC_CAP_FRAME_THREADS);
    return !by_chance && (frame->decode_error_flags || (frame->flags & AV_FRAME_FLAG_CORRUPT));
}

/* In recordings that begin between keyframes, references of frames before the first frame that is
 * shown are missing. */
bool halo_decode_judge_picture(struct halo_decode_judge *j, const AVFrame *frame,
                               const AVCodec *codec)
{
    if (!j->delivered && frame->pts < j->from)
        return false;
    if (!j->delivered) {
        j->from = j->begins_whole ? j->from : frame->pts;
        count_early(j);
    }
    j->delivered = true;
    j->interlaced |= halo_av_frame_fields(frame) & HALO_AV_INTERLACED;
    j->pictures++;
    return has_flags(j, frame, codec) || ((j->traits & HALO_HONEST) && complains(j));
}

/* If headers are damaged, the decoder drops frames as out of order, without an error. Some frames
 * are also dropped at joints between recordings. */
static bool lacks_pictures(const struct halo_decode_judge *j)
{
    const int64_t packets = j->before + j->packets, pictures = j->before + j->pictures;
    const int64_t due = j->interlaced ? packets / 2 : packets;
    return (j->traits & HALO_ONE_FOR_ONE) && j->delivered && (due - pictures) * 10 > due;
}

bool halo_decode_judge_end(struct halo_decode_judge *j)
{
    const bool broken =
        j->delivered && (((j->traits & HALO_HONEST) && complains(j)) || lacks_pictures(j));
    j->pictures = j->packets;
    return broken;
}
