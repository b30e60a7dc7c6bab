/* SPDX-License-Identifier: BSD-2-Clause
 * Looks at what halod has written or sends (inspect.h). */
#include "tests/proof/inspect.h"

#include <libavformat/avformat.h>
#include <stdio.h>

#include "config/base/error.h"
#include "tests/proof/eye.h"

static int open_file(AVFormatContext **ret, const char *name)
{
    AVDictionary *options = NULL;
    av_dict_set(&options, "probesize", "65536", 0);
    av_dict_set(&options, "analyzeduration", "0", 0);
    int code = avformat_open_input(ret, name, NULL, &options);
    av_dict_free(&options);
    if (code >= 0)
        code = avformat_find_stream_info(*ret, NULL);
    return code < 0 ? code : av_find_best_stream(*ret, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
}

enum { PROGRESS = 10 }; /* frames */

/* For who waits for so many of them. */
static void say_progress(const struct proof_tally *tally, long *said)
{
    const long judged = atomic_load(&tally->judged);
    if (judged / PROGRESS == *said / PROGRESS)
        return;
    printf("so far: %ld judged\n", judged);
    fflush(stdout);
    *said = judged;
}

static void inspect(struct proof_tally *tally, struct proof_exam *exam, const char *name)
{
    AVFormatContext *format = NULL;
    AVPacket *pkt = av_packet_alloc();
    const long seen = atomic_load(&tally->seen[PROOF_FILE]);
    const long leaks = atomic_load(&tally->leaks), blank = atomic_load(&tally->blank);
    long said = 0;
    const int stream = open_file(&format, name);
    if (stream < 0 || !pkt) {
        printf("%s: cannot be opened\n", name);
        atomic_fetch_add(&tally->broken, 1);
    } else {
        struct proof_eye *eye = proof_eye_open(tally, PROOF_FILE);
        const AVCodecParameters *par = format->streams[stream]->codecpar;
        if (exam)
            proof_eye_examine(eye, exam,
                              par->codec_id == AV_CODEC_ID_RAWVIDEO ||
                                  par->codec_id == AV_CODEC_ID_FFV1);
        proof_eye_begin(eye, par);
        while (av_read_frame(format, pkt) >= 0) {
            if (pkt->stream_index == stream)
                proof_eye_take(eye, pkt, PROOF_FILE);
            av_packet_unref(pkt);
            say_progress(tally, &said);
        }
        proof_eye_close(eye);
        printf("%s: %ld pictures, %ld of them blank, %ld leaks\n", name,
               atomic_load(&tally->seen[PROOF_FILE]) - seen, atomic_load(&tally->blank) - blank,
               atomic_load(&tally->leaks) - leaks);
    }
    fflush(stdout);
    av_packet_free(&pkt);
    avformat_close_input(&format);
}

int proof_inspect(int count, char **names, struct proof_exam *exam, const char *folder)
{
    struct proof_tally *tally = proof_tally_create(folder);
    if (!tally)
        return HALO_EXIT_FAILED;
    for (int i = 0; i < count; i++)
        inspect(tally, exam, names[i]);
    proof_tally_print(tally, false);
    return atomic_load(&tally->leaks) ? HALO_EXIT_FAILED : 0;
}
