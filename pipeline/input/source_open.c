/* SPDX-License-Identifier: BSD-2-Clause
 * Opens an input by its name and finds its streams. */
#include "pipeline/input/source_open.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/base/av.h"
#include "pipeline/base/path.h"
#include "pipeline/input/raw_input.h"

enum {
    LONG_PROBE = 128 << 20, /* bytes, and seconds below, in which streams that begin late are
                               searched */
    LONG_ANALYSIS = 600,
};

/* Demuxers that read one file and open no other: for inputs from strangers. Playlists (hls, dash,
 * concat, imf), numbered images (image2) and descriptions (sdp, vobsub) name others, as parts of
 * mlv and frames of svg do. A demuxer that is not here yet is not used for them. */
static const char alone[] =
    "mov,matroska,mpegts,mpeg,avi,flv,live_flv,kux,ogg,asf,nut,mxf,gxf,dv,rm,wtv,nsv,nuv,pva,swf,"
    "ivf,obu,av1,h261,h263,h264,hevc,vvc,evc,m4v,mpegvideo,mjpeg,mjpeg_2000,smjpeg,mpjpeg,vc1,"
    "vc1test,dirac,dnxhd,cavsvideo,avs,avs2,avs3,apv,yuv4mpegpipe,rawvideo,v210,v210x,bitpacked,"
    "gif,apng,webp_anim,jpegxl_anim,image2pipe,bmp_pipe,cri_pipe,dds_pipe,dpx_pipe,exr_pipe,"
    "gem_pipe,gif_pipe,hdr_pipe,j2k_pipe,jpeg_pipe,jpegls_pipe,jpegxl_pipe,jpegxs_pipe,pam_pipe,"
    "pbm_pipe,pcx_pipe,pfm_pipe,pgm_pipe,pgmyuv_pipe,pgx_pipe,phm_pipe,photocd_pipe,pictor_pipe,"
    "png_pipe,ppm_pipe,psd_pipe,qdraw_pipe,qoi_pipe,sgi_pipe,sunrast_pipe,tiff_pipe,vbn_pipe,"
    "webp_pipe,xbm_pipe,xpm_pipe,xwd_pipe,4xm,anm,argo_brp,bethsoftvid,bfi,bink,bmv,c93,cdxl,cine,"
    "dhav,dxa,ea,film_cpk,filmstrip,fits,flic,frm,gdv,hnm,idcin,ifv,ipmovie,iv8,jv,lmlm4,luodat,"
    "lvf,lxf,mgsts,mm,moflex,mtv,mv,mvi,mxg,paf,pmp,psxstr,r3d,rl2,roq,rpl,ser,sga,siff,smk,thp,"
    "tiertexseq,tmv,txd,vivo,vmd,wc3movie,wsvqa,xmv,yop,tty";

/* A local path is passed to FFmpeg as file:PATH, so that a colon in its name has no special
 * meaning. */
static char *input_url(const char *input, bool is_file, struct halo_error *err)
{
    struct stat st;
    const char *path = halo_path_of(input);
    if (!strcmp(input, "-") && !is_file)
        return av_strdup("pipe:0");
    if (stat(path, &st) < 0)
        return is_file ? av_asprintf("file:%s", path) : av_strdup(input);
    if (S_ISDIR(st.st_mode)) {
        halo_fail(err, -EISDIR, "%s: is a directory: specify a file", input);
        return NULL;
    }
    if (S_ISCHR(st.st_mode) && strncmp(path, "/dev/fd/", 8) && strcmp(path, "/dev/stdin")) {
        halo_fail(err, -ENOTSUP, "%s: is a device: halod run reads files, URLs and pipes", input);
        return NULL;
    }
    if (S_ISREG(st.st_mode) && st.st_size == 0) {
        halo_fail(err, -ENODATA, "%s: is empty (0 bytes)", input);
        return NULL;
    }
    return av_asprintf("file:%s", path);
}

/* Demuxers that continue after damage and report it only by an error line. Error lines of other
 * demuxers need not mean damage. */
static bool complains_of_damage(const AVInputFormat *format)
{
    return av_match_name("matroska", format->name) || av_match_name(format->name, "flv,nut,ogg");
}

/* Checks MP4 and MOV whose index is at the end: an input that cannot seek can only go back within
 * its buffer. */
static int check_index(AVFormatContext *f, const char *name, struct halo_error *err)
{
    if (!f->pb || f->pb->seekable & AVIO_SEEKABLE_NORMAL || !av_match_name("mp4", f->iformat->name))
        return 0;
    const int64_t here = avio_tell(f->pb);
    for (unsigned i = 0; i < f->nb_streams; i++) {
        const AVIndexEntry *first = avformat_index_get_entry(f->streams[i], 0);
        if (!first || first->pos >= here || f->streams[i]->discard == AVDISCARD_ALL)
            continue;
        if (avio_seek(f->pb, first->pos, SEEK_SET) < 0 || avio_seek(f->pb, here, SEEK_SET) < 0)
            return halo_fail(err, -EBADMSG,
                             "%s: its index (moov) is at the end, and this input is not seekable: "
                             "specify the file itself, or create it with ffmpeg's "
                             "-movflags +faststart",
                             name);
    }
    return 0;
}

static bool is_local(const char *protocol)
{
    return av_match_list(protocol, "file,pipe,fd,unix,subfile,concat,concatf", ',');
}

/* A stranger's file leads nowhere else, and a playlist of the daemon's settings to files alone. One
 * that comes from the network must not lead to files of this machine: FFmpeg sees to that for http,
 * but not for tcp. Protocols that wrap others, such as cache, count as network. All others are
 * listed, because FFmpeg leaks the option protocol_blacklist. */
static int confine(const char *url, const struct halo_source_settings *set, AVDictionary **options)
{
    if (set->alone) {
        const int code = av_dict_set(options, "format_whitelist", alone, 0);
        return code < 0 ? code : av_dict_set(options, "protocol_whitelist", "file", 0);
    }
    const char *protocol = avio_find_protocol_name(url); /* NULL: a demuxer's own, such as rtsp */
    void *at = NULL;
    int code = 0;
    if (protocol && !strcmp(protocol, "file") && set->url) /* a playlist of the daemon */
        return av_dict_set(options, "protocol_whitelist", "file,crypto,data", 0);
    if (protocol && is_local(protocol))
        return 0;
    for (bool first = true; code >= 0 && (protocol = avio_enum_protocols(&at, 0));) {
        if (is_local(protocol))
            continue;
        code = av_dict_set(options, "protocol_whitelist", first ? "" : ",",
                           first ? 0 : AV_DICT_APPEND);
        if (code >= 0)
            code = av_dict_set(options, "protocol_whitelist", protocol, AV_DICT_APPEND);
        first = false;
    }
    return code;
}

static int open_format(AVFormatContext **ret_f, const struct halo_source_settings *set,
                       const AVInputFormat *forced, AVIOInterruptCB interrupt,
                       struct halo_complaints *complaints, struct halo_error *err)
{
    char why[400];
    char *url = input_url(set->url ? set->url : set->input, set->alone, err);
    if (!url)
        return halo_fail(err, -ENOMEM, "out of memory");
    AVDictionary *options = NULL;
    AVFormatContext *f = avformat_alloc_context();
    int code = f ? halo_raw_input_options(set, &options) : -ENOMEM;
    if (code >= 0)
        code = confine(url, set, &options);
    if (code < 0) {
        av_dict_free(&options);
        av_free(url);
        avformat_free_context(f);
        return halo_fail(err, code, "out of memory");
    }
    f->interrupt_callback = interrupt;
    code = avformat_open_input(&f, url, forced, &options); /* frees the context on failure */
    av_free(url);
    if (code >= 0 && complains_of_damage(f->iformat))
        f->opaque = complaints;
    const AVDictionaryEntry *left = av_dict_get(options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (code >= 0 && left)
        code = halo_raw_input_refuse(left->key, f->iformat->name, err);
    else if (code == AVERROR(EINVAL) && halo_raw_input_check_size(set, err) < 0)
        code = -EINVAL;
    else if (code == AVERROR(EINVAL) && set->alone)
        code = halo_fail(err, -EBADMSG,
                         "%s: is a playlist, or of another format that can name other files, which "
                         "are not opened here: use the video itself",
                         set->input);
    else if (code < 0)
        halo_fail(err, halo_av_errno(code), "%s: cannot be read: %s", set->input,
                  halo_av_reason(code, NULL, why, sizeof why));
    av_dict_free(&options);
    if (code >= 0 && !forced && !strcmp(f->iformat->name, "tty"))
        code = halo_fail(err, -EBADMSG,
                         "%s: this is text, not a video (-f tty reads it as ANSI art)", set->input);
    if (code >= 0)
        code = check_index(f, set->input, err);
    if (code < 0)
        avformat_close_input(&f);
    else
        *ret_f = f;
    return code;
}

/* Decodes frames to probe the streams, up to the size that the decoder accepts. */
static int probe_streams(AVFormatContext *f, int max_pixels, struct halo_complaints *complaints)
{
    const unsigned count = f->nb_streams; /* more may appear during the call */
    AVDictionary **options = av_calloc(count ? count : 1, sizeof *options);
    if (!options)
        return AVERROR(ENOMEM);
    for (unsigned i = 0; i < count && max_pixels; i++)
        av_dict_set_int(&options[i], "max_pixels", max_pixels, 0);
    halo_av_probe(complaints);
    const int code = avformat_find_stream_info(f, options);
    halo_av_probe(NULL);
    for (unsigned i = 0; i < count; i++)
        av_dict_free(&options[i]);
    av_free(options);
    return code;
}

static int find_streams(AVFormatContext *f, const struct halo_source_settings *set, bool longer,
                        struct halo_complaints *complaints, struct halo_error *err)
{
    const char *name = set->input;
    char why[400];
    if (longer) {
        f->probesize = LONG_PROBE;
        f->max_analyze_duration = LONG_ANALYSIS * (int64_t)AV_TIME_BASE;
    }
    const int code = probe_streams(f, set->max_pixels, complaints);
    if (code < 0)
        return halo_fail(err, halo_av_errno(code), "%s: its streams cannot be read: %s", name,
                         halo_av_reason(code, NULL, why, sizeof why));
    for (unsigned i = 0; i < f->nb_streams; i++)
        if (f->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
            f->streams[i]->codecpar->width <= 0)
            return halo_av_check_complaints(name, complaints, set->max_pixels, err);
    return 0;
}

/* Whether a stream is announced but has no data yet, in a file that can be searched further. */
static bool waits_for_stream(const AVFormatContext *f, bool no_audio)
{
    if (!f->pb || !(f->pb->seekable & AVIO_SEEKABLE_NORMAL))
        return false;
    for (unsigned i = 0; i < f->nb_streams; i++) {
        const AVCodecParameters *par = f->streams[i]->codecpar;
        const bool wanting =
            (par->codec_type == AVMEDIA_TYPE_VIDEO && par->width <= 0) ||
            (par->codec_type == AVMEDIA_TYPE_AUDIO && par->sample_rate <= 0 && !no_audio);
        if (wanting && avcodec_find_decoder(par->codec_id))
            return true;
    }
    return false;
}

int halo_source_open_format(AVFormatContext **ret, const struct halo_source_settings *set,
                            AVIOInterruptCB interrupt, struct halo_complaints *complaints,
                            const struct halo_source_header *header, struct halo_error *err)
{
    const AVInputFormat *forced = NULL;
    if (set->format && !(forced = av_find_input_format(set->format)))
        return halo_fail_usage(err, "-f %s: FFmpeg has no such demuxer (see ffmpeg -demuxers)",
                               set->format);
    AVFormatContext *f = NULL;
    int code = open_format(&f, set, forced, interrupt, complaints, err);
    if (code >= 0 && header->seen)
        header->seen(header->arg, f);
    if (code >= 0)
        code = find_streams(f, set, false, complaints, err);
    if (code >= 0 && waits_for_stream(f, set->no_audio)) {
        avformat_close_input(&f);
        code = open_format(&f, set, forced, interrupt, complaints, err);
        if (code >= 0)
            code = find_streams(f, set, true, complaints, err);
    }
    if (code < 0)
        avformat_close_input(&f);
    else
        *ret = f;
    return code;
}
