/* SPDX-License-Identifier: BSD-2-Clause
 * Images inside data that is copied without being decoded (embedded.h). */
#include "pipeline/input/embedded.h"

#include <ctype.h>
#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/base64.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"

enum {
    LEAST_RUN = 32, /* characters of base64 or hex: shorter ones cannot hold an image */
    LOOKED_AT = 64, /* characters of a run that are checked, from its beginning */
};

/* ---- fonts ---- */

/* Returns the total size in bytes of the tables in the table directory at data + at, or 0 if the
 * directory is not valid. */
static size_t sfnt_bytes(const uint8_t *data, size_t size, size_t at)
{
    static const uint32_t versions[] = {0x00010000, MKBETAG('O', 'T', 'T', 'O'),
                                        MKBETAG('t', 'r', 'u', 'e')};
    enum { HEADER = 12, ENTRY = 16, HEAD_MAGIC = 0x5F0F3CF5 };
    bool known = false, head = false;
    if (at > size || size - at < HEADER)
        return 0;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        known |= AV_RB32(data + at) == versions[i];
    const size_t tables = AV_RB16(data + at + 4);
    if (!known || (size - at - HEADER) / ENTRY < tables)
        return 0;
    size_t bytes = HEADER + tables * ENTRY;
    for (size_t i = 0; i < tables; i++) {
        const uint8_t *entry = data + at + HEADER + i * ENTRY;
        const size_t offset = AV_RB32(entry + 8), length = AV_RB32(entry + 12);
        if (offset > size || length > size - offset)
            return 0;
        head |= AV_RB32(entry) == MKBETAG('h', 'e', 'a', 'd') && length >= 16 &&
                AV_RB32(data + offset + 12) == HEAD_MAGIC;
        bytes += FFALIGN(length, (size_t)4);
    }
    return head ? bytes : 0;
}

static size_t collection_bytes(const uint8_t *data, size_t size)
{
    enum { HEADER = 12, SIGNATURE = 12 };
    const size_t fonts = size >= HEADER ? AV_RB32(data + 8) : 0;
    if (!fonts || (size - HEADER) / 4 < fonts)
        return 0;
    size_t bytes = HEADER + fonts * 4 + SIGNATURE;
    for (size_t i = 0; i < fonts && bytes < size + SIGNATURE; i++) {
        const size_t font = sfnt_bytes(data, size, AV_RB32(data + HEADER + i * 4));
        if (!font)
            return 0;
        bytes += font;
    }
    return bytes;
}

/* WOFF declares its length, and has a private block that may contain anything. */
static bool is_woff(const uint8_t *data, size_t size, size_t header)
{
    return size > header && AV_RB32(data + 8) == size && AV_RB16(data + 12) > 0 &&
           AV_RB32(data + header - 4) == 0;
}

bool halo_embedded_is_font(const uint8_t *data, size_t size)
{
    if (size < 4)
        return false;
    switch (AV_RB32(data)) {
    case MKBETAG('w', 'O', 'F', 'F'):
        return is_woff(data, size, 44);
    case MKBETAG('w', 'O', 'F', '2'):
        return is_woff(data, size, 48);
    case MKBETAG('t', 't', 'c', 'f'):
        return collection_bytes(data, size) >= size;
    default:
        return sfnt_bytes(data, size, 0) >= size;
    }
}

/* ---- images ---- */

/* The first bytes of images, videos and files that contain them. */
static const struct magic {
    size_t offset, length;
    const char *bytes;
    bool weak; /* may occur by chance in the middle of other data */
} magics[] = {
    {0, 3, "\xff\xd8\xff", false},     /* JPEG */
    {0, 4, "\x89PNG", false},          /**/
    {0, 4, "GIF8", false},             /**/
    {8, 4, "WEBP", false},             /**/
    {0, 2, "BM", true},                /* BMP */
    {0, 4, "II*\0", false},            /* TIFF and raw photographs */
    {0, 4, "MM\0*", false},            /**/
    {0, 4, "\0\0\1\0", true},          /* ICO */
    {0, 2, "\xff\x0a", true},          /* JPEG XL */
    {4, 4, "JXL ", false},             /**/
    {4, 4, "jP  ", false},             /* JPEG 2000 */
    {4, 4, "ftyp", false},             /* HEIF, AVIF, MP4 */
    {8, 6, "image/", false},           /* FLAC's frame block, as in METADATA_BLOCK_PICTURE */
    {0, 4, "<svg", false},             /**/
    {0, 5, "<?xml", true},             /**/
    {0, 4, "%PDF", false},             /**/
    {0, 4, "\x1a\x45\xdf\xa3", false}, /* Matroska */
    {0, 4, "RIFF", false},             /**/
    {0, 4, "PK\3\4", false},           /* ZIP */
    {0, 3, "\x1f\x8b\x08", false},     /* gzip */
};

static bool begins_picture(const uint8_t *data, size_t size, bool weak)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        if ((weak || !m->weak) && size >= m->offset + m->length &&
            !memcmp(data + m->offset, m->bytes, m->length))
            return true;
    }
    return false;
}

static bool hex_is_picture(const char *run, size_t length)
{
    uint8_t data[LOOKED_AT / 2];
    size_t size = 0;
    for (size_t i = 0; i + 1 < length; i += 2) {
        if (!isxdigit((unsigned char)run[i]) || !isxdigit((unsigned char)run[i + 1]))
            return false;
        const char pair[] = {run[i], run[i + 1], 0};
        data[size++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return begins_picture(data, size, true);
}

static bool base64_is_picture(const char *run, size_t length)
{
    char text[LOOKED_AT + 1];
    uint8_t data[LOOKED_AT];
    length -= length % 4;
    for (size_t i = 0; i < length; i++) /* also the URL-safe alphabet */
        text[i] = run[i] == '-' ? '+' : run[i] == '_' ? '/' : run[i];
    text[length] = 0;
    const int size = av_base64_decode(data, text, sizeof data);
    return size > 0 && begins_picture(data, (size_t)size, true);
}

/* Whether an image begins anywhere in the text: as a data: URI, or in base64 or hex. */
static bool text_holds_picture(const char *text)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    const uint8_t *raw = (const uint8_t *)text;
    if (av_stristr(text, "data:image") || av_stristr(text, "data:video") ||
        av_stristart(text, "<svg", NULL) ||
        (raw[0] >= 0x80 && begins_picture(raw, strlen(text), false)))
        return true;
    while (*text) {
        const size_t run = strspn(text, digits), looked_at = FFMIN(run, (size_t)LOOKED_AT);
        if (run >= LEAST_RUN &&
            (base64_is_picture(text, looked_at) || hex_is_picture(text, looked_at)))
            return true;
        text += run ? run : 1;
    }
    return false;
}

/* Containers pass the names on, some with a prefix or a language. ID3's private frames may contain
 * any bytes. */
bool halo_embedded_tag_is_picture(const char *key, const char *value)
{
    const char *cover = av_stristr(key, "COVERART");
    return av_stristr(key, "METADATA_BLOCK_PICTURE") ||
           (cover && av_strncasecmp(cover, "COVERARTIST", 11) != 0) ||
           av_stristart(key, "id3v2_priv.", NULL) || text_holds_picture(value);
}

/* ---- codec headers ---- */

/* Finds the second of Vorbis's three headers, which contains the comments. Returns false if they
 * are malformed. */
static bool find_comments(const uint8_t *data, size_t size, size_t *ret_at, size_t *ret_size)
{
    enum { FIRST = 30 };
    size_t at = 1, lengths[2] = {0};
    if (size >= 6 && AV_RB16(data) == FIRST) { /* each header after its length */
        *ret_at = 2 + FIRST + 2;
        if (size < *ret_at)
            return false;
        *ret_size = AV_RB16(data + 2 + FIRST);
        return *ret_size <= size - *ret_at;
    }
    if (size < 3 || data[0] != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        for (; at < size && data[at] == 255; at++)
            lengths[i] += 255;
        lengths[i] += at < size ? data[at++] : 0;
    }
    *ret_at = at + lengths[0];
    *ret_size = lengths[1];
    return lengths[0] == FIRST && *ret_at <= size && lengths[1] <= size - *ret_at;
}

/* Replaces the comments with an empty header: halod keeps comments as tags. *ret_found: they
 * contained an image. */
static int clean_vorbis(AVCodecParameters *par, bool *ret_found)
{
    static const uint8_t bare[16] = {3, 'v', 'o', 'r', 'b', 'i', 's', [15] = 1};
    enum { FIRST = 30, LACING = 3 };
    const uint8_t *data = par->extradata;
    const size_t size = (size_t)par->extradata_size;
    size_t at, comments;
    if (!find_comments(data, size, &at, &comments))
        return 0;
    char *text = av_malloc(comments + 1);
    if (!text)
        return -ENOMEM;
    text[comments] = 0;
    for (size_t i = 0; i < comments; i++) /* lengths are not text */
        text[i] = data[at + i] ? (char)data[at + i] : ' ';
    *ret_found = halo_embedded_tag_is_picture(text, text);
    av_free(text);

    const bool laced = data[0] == 2;
    const size_t setup = at + comments + (laced ? 0 : 2), left = setup < size ? size - setup : 0;
    const size_t total = LACING + FIRST + sizeof bare + left;
    uint8_t *clean = av_mallocz(total + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!clean)
        return -ENOMEM;
    clean[0] = 2;
    clean[1] = FIRST;
    clean[2] = sizeof bare;
    memcpy(clean + LACING, laced ? data + at - FIRST : data + 2, FIRST);
    memcpy(clean + LACING + FIRST, bare, sizeof bare);
    memcpy(clean + LACING + FIRST + sizeof bare, data + setup, left);
    av_free(par->extradata);
    par->extradata = clean;
    par->extradata_size = (int)total;
    return 0;
}

/* Removes sections that contain files, and lines that contain an image. */
static int clean_ass(AVCodecParameters *par, bool *ret_found)
{
    char *text = av_strndup((const char *)par->extradata, (size_t)par->extradata_size);
    size_t kept = 0;
    bool files = false;
    if (!text)
        return -ENOMEM;
    for (char *line = text, *next; *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] != 0);
        const char after = *next;
        *next = 0;
        if (*line == '[') /* a line of a file may begin with it, too */
            files = av_stristart(line, "[graphics]", NULL) || av_stristart(line, "[fonts]", NULL) ||
                    (files && !av_stristart(line, "[script info]", NULL) &&
                     !av_stristart(line, "[v4 styles]", NULL) &&
                     !av_stristart(line, "[v4+ styles]", NULL) &&
                     !av_stristart(line, "[events]", NULL));
        const bool dropped = files || text_holds_picture(line);
        if (!dropped)
            memcpy(par->extradata + kept, line, (size_t)(next - line));
        kept += dropped ? 0 : (size_t)(next - line);
        *ret_found |= dropped;
        *next = after;
    }
    av_free(text);
    memset(par->extradata + kept, 0, (size_t)par->extradata_size - kept);
    par->extradata_size = (int)kept;
    return 0;
}

/* Cuts off the headers from the first image in them, for example after the one FLAC block that the
 * decoder needs. */
static bool cut_at_frame(AVCodecParameters *par)
{
    for (int at = 0; at < par->extradata_size; at++) {
        if (!begins_picture(par->extradata + at, (size_t)(par->extradata_size - at), false))
            continue;
        memset(par->extradata + at, 0, (size_t)(par->extradata_size - at));
        par->extradata_size = at;
        return true;
    }
    return false;
}

int halo_embedded_clean_stream(const char *name, AVStream *stream, struct halo_error *err)
{
    AVCodecParameters *par = stream->codecpar;
    bool found = false;
    int code = 0;
    if (par->extradata_size <= 0 ||
        (par->codec_type != AVMEDIA_TYPE_AUDIO && par->codec_type != AVMEDIA_TYPE_SUBTITLE))
        return 0;
    if (par->codec_id == AV_CODEC_ID_VORBIS)
        code = clean_vorbis(par, &found);
    else if (par->codec_id == AV_CODEC_ID_ASS)
        code = clean_ass(par, &found);
    else
        found = cut_at_frame(par);
    if (code < 0)
        return halo_fail(err, code, "out of memory");
    if (found)
        halo_log(HALO_LOG_INFO,
                 "%s: stream %d (%s): an image or file in its headers is removed, because it could "
                 "show what the filters hide",
                 name, stream->index, avcodec_get_name(par->codec_id));
    return 0;
}

/* ---- side data ---- */

bool halo_embedded_side_data_is_plain(enum AVPacketSideDataType type)
{
    switch (type) {
    case AV_PKT_DATA_NEW_EXTRADATA:
    case AV_PKT_DATA_PARAM_CHANGE:
    case AV_PKT_DATA_REPLAYGAIN:
    case AV_PKT_DATA_AUDIO_SERVICE_TYPE:
    case AV_PKT_DATA_FALLBACK_TRACK:
    case AV_PKT_DATA_CPB_PROPERTIES:
    case AV_PKT_DATA_SKIP_SAMPLES:
    case AV_PKT_DATA_JP_DUALMONO:
    case AV_PKT_DATA_SUBTITLE_POSITION:
    case AV_PKT_DATA_WEBVTT_IDENTIFIER:
    case AV_PKT_DATA_WEBVTT_SETTINGS:
    case AV_PKT_DATA_MPEGTS_STREAM_ID:
    case AV_PKT_DATA_PRFT:
        return true;
    default:
        return false;
    }
}

void halo_embedded_clean_packet(AVPacket *pkt)
{
    for (int i = pkt->side_data_elems - 1; i >= 0; i--) {
        AVPacketSideData *side = &pkt->side_data[i];
        if (halo_embedded_side_data_is_plain(side->type))
            continue;
        av_free(side->data);
        *side = pkt->side_data[--pkt->side_data_elems];
    }
}
