/* SPDX-License-Identifier: BSD-2-Clause
 * What a stream does with each stream of its input, in words: for -stats and halod plan. */
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

#include "pipeline/base/av.h"
#include "pipeline/input/decoders.h"
#include "pipeline/stream/stream_private.h"

static const char *name_of(enum AVPixelFormat format)
{
    const char *name = av_get_pix_fmt_name(format);
    return name ? name : "unknown";
}

static double megabytes(enum AVPixelFormat format, const AVCodecParameters *par)
{
    const int bytes = av_image_get_buffer_size(format, par->width, par->height, 1);
    return bytes > 0 ? bytes / 1e6 : 0;
}

static void describe_decoding(const struct halo_track *t, FILE *to)
{
    struct halo_decoders_about about;
    halo_decoders_describe(t->decoders, &about);
    fprintf(to, "    decode: %d decoder%s on the %s%s%s%s, %.2f MB a frame\n", about.number,
            about.number == 1 ? "" : "s", about.on_gpu ? "GPU" : "CPU", about.why_one ? " (" : "",
            about.why_one ? about.why_one : "", about.why_one ? ")" : "",
            megabytes(t->in->codecpar->format, t->in->codecpar));
}

static void describe_filtering(const struct halo_stream *s, const struct halo_track *t, FILE *to)
{
    char where[40];
    const AVCodecParameters *par = t->in->codecpar;
    const enum AVPixelFormat native = halo_gate_format(t->gate);
    halo_ring_where(s->ring, where, sizeof where);
    fprintf(to, "    filter: %s, on %s", s->chain->text, where);
    if (halo_ring_early(s->ring) > 0)
        fprintf(to, " (%lld frames on cpu, until the GPU had started)",
                (long long)halo_ring_early(s->ring));
    if (native != (enum AVPixelFormat)par->format)
        fprintf(to, "; frames are converted from %s to %s before it, %.2f MB a frame",
                name_of(par->format), name_of(native), megabytes(native, par));
    fputc('\n', to);
}

static void describe_encoding(const struct halo_track *t, FILE *to)
{
    const AVCodecParameters *par = t->in->codecpar;
    if (!t->encoder) {
        fputs("    encode: nothing, frames are discarded\n", to);
        return;
    }
    const enum AVPixelFormat format = halo_encoder_format(t->encoder);
    fprintf(to, "    encode: %s, on the %s", halo_encoder_name(t->encoder),
            halo_encoder_in_hardware(t->encoder) ? "GPU" : "CPU");
    if (halo_encoder_converts(t->encoder))
        fprintf(to, "; frames are converted from %s to %s before it, %.2f MB a frame",
                name_of(halo_gate_format(t->gate)), name_of(format), megabytes(format, par));
    fputc('\n', to);
}

static void describe_track(const struct halo_stream *s, const struct halo_track *t, FILE *to)
{
    const AVCodecParameters *par = t->in->codecpar;
    const char *codec = avcodec_get_name(par->codec_id);
    fprintf(to, "  stream %d: %s", t->in->index, codec);
    if (par->codec_type == AVMEDIA_TYPE_VIDEO)
        fprintf(to, ", %dx%d %s, %.5g frames a second", par->width, par->height,
                name_of(par->format), av_q2d(t->in->avg_frame_rate));
    switch (t->role) {
    case HALO_ROLE_DROP:
        fputs(": dropped\n", to);
        break;
    case HALO_ROLE_COPY:
        fprintf(to, ": %s\n",
                !t->out       ? "discarded"
                : t->audio    ? "encoded again"
                : t->subtitle ? "converted"
                              : "copied");
        break;
    case HALO_ROLE_FILTER:
    case HALO_ROLE_JOIN:
        fputs(": filtered\n", to);
        describe_decoding(t, to);
        describe_filtering(s, t, to);
        describe_encoding(t, to);
        break;
    }
}

static void describe_choice(const struct halo_stream *s, FILE *to)
{
    static const char *const chosen[] = {"a GPU is used", "the CPU decodes and a GPU filters",
                                         "the CPU is used"};
    const double filter = s->estimates[HALO_WORKLOAD_FILTER], gpu = s->estimates[HALO_WORKLOAD_GPU];
    if (!(s->estimates[s->place] > 0))
        return;
    fprintf(to, "  the CPU alone takes about %.2g s, a GPU about %.2g s",
            s->estimates[HALO_WORKLOAD_CPU], gpu);
    if (filter != gpu)
        fprintf(to, ", a GPU that only filters about %.2g s", filter);
    fprintf(to, ": %s\n", chosen[s->place]);
}

void halo_stream_describe(const struct halo_stream *s, FILE *to)
{
    char clock[32];
    const double length = s->source ? halo_source_duration(s->source) : -1;
    if (!s->tracks.count || !s->ring)
        return;
    fprintf(to, "%s: %s", s->settings->source.input, halo_source_format(s->source)->iformat->name);
    if (length > 0)
        fprintf(to, ", %s", halo_av_clock(length, clock, sizeof clock));
    fputc('\n', to);
    for (int i = 0; i < s->tracks.count; i++)
        describe_track(s, &s->tracks.track[i], to);
    describe_choice(s, to);
}
