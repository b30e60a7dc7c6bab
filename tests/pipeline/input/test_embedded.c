/* SPDX-License-Identifier: BSD-2-Clause
 * Frames inside what is copied: fonts, tags, headers and side data, known by their bytes. */
#include <libavcodec/avcodec.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>

#include "config/base/log.h"
#include "pipeline/input/embedded.h"
#include "tests/cmocka_all.h"

#define PNG "\x89PNG\r\n\x1a\n and the rest of it"

enum { SFNT = 12 + 16 + 16, COLLECTION = 12 + 4 + SFNT };

/* A font of one table at data + at; offsets count from data. */
static void put_sfnt(uint8_t *data, size_t at, uint32_t version)
{
    AV_WB32(data + at, version);
    AV_WB16(data + at + 4, 1);
    AV_WB32(data + at + 12, MKBETAG('h', 'e', 'a', 'd'));
    AV_WB32(data + at + 20, (uint32_t)at + 28);
    AV_WB32(data + at + 24, 16);
    AV_WB32(data + at + 40, 0x5F0F3CF5);
}

static void test_fonts(void **state)
{
    (void)state;
    uint8_t data[200];
    static const uint32_t versions[] = {0x00010000, MKBETAG('O', 'T', 'T', 'O'),
                                        MKBETAG('t', 'r', 'u', 'e')};
    for (size_t i = 0; i < 3; i++) {
        memset(data, 0, sizeof data);
        put_sfnt(data, 0, versions[i]);
        assert_true(halo_embedded_is_font(data, SFNT));
        assert_false(halo_embedded_is_font(data, SFNT + 1)); /* something behind it */
        for (size_t size = 0; size < SFNT; size++)
            assert_false(halo_embedded_is_font(data, size));
        data[40] = 0; /* no head */
        assert_false(halo_embedded_is_font(data, SFNT));
    }
    memset(data, 0, sizeof data);
    AV_WB32(data, MKBETAG('t', 't', 'c', 'f'));
    AV_WB32(data + 8, 1);
    AV_WB32(data + 12, 16);
    put_sfnt(data, 16, 0x00010000);
    assert_true(halo_embedded_is_font(data, COLLECTION));
    assert_false(halo_embedded_is_font(data, COLLECTION + 100));
    AV_WB32(data + 12, 0xfffffff0);
    assert_false(halo_embedded_is_font(data, COLLECTION));
    static const struct {
        uint32_t magic;
        size_t header;
    } woffs[] = {{MKBETAG('w', 'O', 'F', 'F'), 44}, {MKBETAG('w', 'O', 'F', '2'), 48}};
    for (size_t i = 0; i < 2; i++) {
        memset(data, 0, sizeof data);
        AV_WB32(data, woffs[i].magic);
        AV_WB32(data + 8, 100);
        AV_WB16(data + 12, 1);
        assert_true(halo_embedded_is_font(data, 100));
        assert_false(halo_embedded_is_font(data, 101));
        AV_WB32(data + woffs[i].header - 4, 20); /* a private block */
        assert_false(halo_embedded_is_font(data, 100));
    }
    assert_false(halo_embedded_is_font((const uint8_t *)PNG, sizeof PNG));
}

static void test_tags(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool frame;
    } rows[] = {
        {"METADATA_BLOCK_PICTURE", "", true},
        {"CoverArt-eng", "", true},
        {"COVERARTIST", "Anna", false},
        {"id3v2_priv.www.example.org", "\\xff\\xd8", true},
        {"comment", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", true},
        {"comment", "see: /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJ.", true},
        {"comment", "_9j_4AAQSkZJRgABAQAAAQABAAD_2wBDAAgGBgcGBQgHBwcJ", true},
        {"comment", "AAAAAwAAAAlpbWFnZS9wbmcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", true},
        {"comment", "AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUI=", true},
        {"comment", "ffd8ffe000104a46494600010100000100010000ffdb0043", true},
        {"comment", "<img src='DATA:IMAGE/png;base64,AA'>", true},
        {"comment", "<svg viewBox='0 0 1 1'/>", true},
        {"comment", "\xff\xd8\xff\xe0", true},
        {"comment", "iVBORw0KGgo", false}, /* no room for a frame */
        {"title", "BMW M3", false},
        {"title", "RIFF", false},
        {"acoustid", "AQADtEmUaEkSRZEGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},
        {"md5", "5d41402abc4b2a76b9719d911017c592", false},
        {"location", "+52.5200+013.4050/", false},
        {"path", "/srv/videos/2026/garden-party/first_afternoon/clip.mkv", false},
        {"title", "\xd0\x9b\xd0\xb5\xd1\x82\xd0\xbe", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (halo_embedded_tag_is_picture(rows[i].key, rows[i].value) != rows[i].frame)
            fail_msg("%s=%s", rows[i].key, rows[i].value);
}

/* The headers of a stream after it was cleaned; the caller frees the stream's context. */
static AVStream *clean(AVFormatContext *f, enum AVMediaType type, enum AVCodecID id,
                       const void *headers, size_t size)
{
    struct halo_error err = {0};
    AVStream *st = avformat_new_stream(f, NULL);
    assert_non_null(st);
    st->codecpar->codec_type = type;
    st->codecpar->codec_id = id;
    st->codecpar->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    assert_non_null(st->codecpar->extradata);
    memcpy(st->codecpar->extradata, headers, size);
    st->codecpar->extradata_size = (int)size;
    assert_int_equal(halo_embedded_clean_stream("test", st, &err), 0);
    return st;
}

static void assert_headers(const AVStream *st, const void *wanted, size_t size)
{
    assert_int_equal(st->codecpar->extradata_size, size);
    assert_memory_equal(st->codecpar->extradata, wanted, size);
}

#define AUDIO    AVMEDIA_TYPE_AUDIO
#define SUBTITLE AVMEDIA_TYPE_SUBTITLE
#define FIRST    "\1vorbis 23 bytes of numbers."
#define COMMENTS "\3vorbis\0\0\0\0\1\0\0\0\4\0\0\0a=" PNG "\1"
#define BARE     "\3vorbis\0\0\0\0\0\0\0\0\1"
#define SETUP    "\5vorbis and books"

static void test_headers(void **state)
{
    (void)state;
    AVFormatContext *f = avformat_alloc_context();
    assert_non_null(f);
    _Static_assert(sizeof FIRST - 1 == 30 - 2, "two bytes are added");
    static const char wanted[] = "\2\x1e\x10" FIRST ".." BARE SETUP;
    char laced[200] = "\2\x1e", old[200] = "\0\x1e" FIRST "..";
    laced[2] = sizeof COMMENTS - 1;
    memcpy(laced + 3, FIRST "..", 30);
    memcpy(laced + 33, COMMENTS, sizeof COMMENTS - 1);
    memcpy(laced + 33 + sizeof COMMENTS - 1, SETUP, sizeof SETUP - 1);
    assert_headers(
        clean(f, AUDIO, AV_CODEC_ID_VORBIS, laced, 33 + sizeof COMMENTS - 1 + sizeof SETUP - 1),
        wanted, sizeof wanted - 1);
    AV_WB16(old + 32, sizeof COMMENTS - 1);
    memcpy(old + 34, COMMENTS, sizeof COMMENTS - 1);
    AV_WB16(old + 34 + sizeof COMMENTS - 1, sizeof SETUP - 1);
    memcpy(old + 36 + sizeof COMMENTS - 1, SETUP, sizeof SETUP - 1);
    assert_headers(
        clean(f, AUDIO, AV_CODEC_ID_VORBIS, old, 36 + sizeof COMMENTS - 1 + sizeof SETUP - 1),
        wanted, sizeof wanted - 1);
    for (size_t size = 1; size < 60; size++) /* cut short: nothing is read behind the end */
        clean(f, AUDIO, AV_CODEC_ID_VORBIS, laced, size);

    static const char opus[] = "OpusHead\1\2\x38\1\x80\xbb\0\0\0\0\0";
    assert_headers(clean(f, AUDIO, AV_CODEC_ID_OPUS, opus, sizeof opus - 1), opus, sizeof opus - 1);
    assert_headers(clean(f, AUDIO, AV_CODEC_ID_OPUS, "OpusHead" PNG, 8 + sizeof PNG), "OpusHead",
                   8);
    assert_headers(clean(f, SUBTITLE, AV_CODEC_ID_SUBRIP, PNG, sizeof PNG), "", 0);

#define STYLE "[V4+ Styles]\nStyle: A\n"
    static const char script[] = "[Script Info]\n[Fonts]\n[A\n" STYLE "[graphics]\r\nAA\n[Events]";
    assert_headers(clean(f, SUBTITLE, AV_CODEC_ID_ASS, script, sizeof script - 1),
                   "[Script Info]\n" STYLE "[Events]", 14 + sizeof STYLE - 1 + 8);
    assert_headers(clean(f, AVMEDIA_TYPE_ATTACHMENT, AV_CODEC_ID_TTF, PNG, sizeof PNG), PNG,
                   sizeof PNG); /* judged as a whole */
    avformat_free_context(f);
}

static void test_side_data(void **state)
{
    (void)state;
    AVPacket *pkt = av_packet_alloc();
    assert_non_null(pkt);
    static const enum AVPacketSideDataType types[] = {
        AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, AV_PKT_DATA_SKIP_SAMPLES,
        AV_PKT_DATA_STRINGS_METADATA, AV_PKT_DATA_METADATA_UPDATE, AV_PKT_DATA_ICC_PROFILE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_non_null(av_packet_new_side_data(pkt, types[i], 10));
    halo_embedded_clean_packet(pkt);
    assert_int_equal(pkt->side_data_elems, 1);
    assert_int_equal(pkt->side_data[0].type, AV_PKT_DATA_SKIP_SAMPLES);
    av_packet_free(&pkt);
}

int main(void)
{
    halo_log_set_level(HALO_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fonts),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_side_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
