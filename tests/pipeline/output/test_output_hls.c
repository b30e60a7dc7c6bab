/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to live playlists: segments hold every frame once and begin at keyframes; old ones go;
 * a playlist goes on after its writer has ended or was killed; strange files are left alone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libavutil/time.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "config/base/log.h"
#include "pipeline/output/hls_list.h"
#include "pipeline/output/output.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/output/clip.h"

enum { SECONDS = 12, PATH = 512, PATIENCE_US = 900000000, OLD_S = 3600 };

static struct clip *clip;
static char folder[64], playlist[PATH];
static struct halo_output_settings settings;
static struct halo_hls_list list;

static const char *in_folder(const char *name)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void setup_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/halo-hls-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(playlist, sizeof playlist, "%s/live/door.m3u8", folder);
    settings = (struct halo_output_settings){
        .kind = HALO_OUTPUT_HLS, .target = playlist, .segment_time = 2, .keep = 3};
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static bool has(enum halo_hls_kind kind, int64_t number)
{
    char name[64] = "live/";
    halo_hls_name(name + 5, sizeof name - 5, "door", kind, number);
    return is_there(name);
}

/* Packets with times in [from, to) seconds; moved: later by this many seconds. Returns their number
 * from the first key frame on. */
static int feed(struct halo_output *output, double from, double to, double moved)
{
    int fed = 0;
    AVPacket *pkt = av_packet_alloc();
    for (int i = 0; i < clip->count; i++) {
        const double at = (clip->pkt[i]->dts - clip->pkt[0]->dts) / 1e6 + 1e-4;
        if (at < from || at >= to)
            continue;
        assert_int_equal(av_packet_ref(pkt, clip->pkt[i]), 0);
        pkt->pts += (int64_t)(moved * 1e6);
        pkt->dts += (int64_t)(moved * 1e6);
        fed += fed || (pkt->stream_index == 0 && pkt->flags & AV_PKT_FLAG_KEY);
        halo_output_packet(output, pkt);
        av_packet_unref(pkt);
    }
    av_packet_free(&pkt);
    return fed;
}

static void run_output(double from, double to)
{
    struct halo_output *output = clip_open_output(clip, &settings);
    clip_end_output(output, feed(output, from, to, 0));
}

/* Reads the playlist to `list`. */
static void read_list(void)
{
    static char text[65536];
    FILE *f = fopen(playlist, "r");
    if (!f)
        fail_msg("there is no %s", playlist);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    list = (struct halo_hls_list){.keep = HALO_MAX_KEEP};
    assert_int_equal(halo_hls_list_read(&list, "door", text), 0);
}

static void append(FILE *to, enum halo_hls_kind kind, int64_t number)
{
    static char bytes[4 << 20];
    char name[64] = "live/";
    halo_hls_name(name + 5, sizeof name - 5, "door", kind, number);
    FILE *f = fopen(in_folder(name), "r");
    if (!f)
        fail_msg("there is no %s", name);
    fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, f), to);
    fclose(f);
}

/* What a player sees of segments [from, to) of the list. */
static struct content content_of(int from, int to)
{
    static struct content content;
    memset(&content, 0, sizeof content);
    FILE *f = fopen(in_folder("joined.mp4"), "w");
    assert_non_null(f);
    append(f, HALO_HLS_INIT, list.segment[from].init);
    for (int i = from; i < to; i++)
        append(f, HALO_HLS_SEGMENT, list.segment[i].number);
    fclose(f);
    assert_int_equal(content_add(&content, in_folder("joined.mp4")), 0);
    assert_int_equal(content.damaged, 0);
    return content;
}

static void assert_frames(const struct content *content, int first, int count)
{
    assert_int_equal(content->frames, count);
    assert_memory_equal(content->hash, clip->hash + first, count * sizeof *clip->hash);
}

static int count_files(void)
{
    int count = 0;
    DIR *dir = opendir(in_folder("live"));
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* ---- segments ---- */

static void test_segments(void **state)
{
    (void)state;
    setup_folder();
    settings.keep = 10;
    run_output(0, SECONDS + 1);
    read_list();
    assert_int_equal(list.count, SECONDS / 2);
    for (int i = 0; i < list.count; i++) {
        assert_in_range(list.segment[i].length, 1990000, 2010000);
        const struct content one = content_of(i, i + 1); /* each alone: it begins at a keyframe */
        assert_frames(&one, i * 2 * CLIP_RATE, 2 * CLIP_RATE);
    }
    const struct content all = content_of(0, list.count);
    assert_frames(&all, 0, clip->frames);
    assert_true(fabs(all.first_sound - all.first) < 0.09);
    int sounds = 0;
    for (int i = 0; i < clip->count; i++)
        sounds += clip->pkt[i]->stream_index;
    assert_in_range(all.sounds, sounds - 1, sounds + 1);
    remove_folder();
}

/* Segments may be longer than the time between keyframes, but not by more than rounding. */
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        double segment_time;
        int count, target, length;
    } cases[] = {{1, 12, 1, 1}, {3, 4, 3, 3}, {1.5, 6, 2, 2}, {2.5, 4, 3, 3}, {5, 3, 5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup_folder();
        settings.segment_time = cases[i].segment_time;
        settings.keep = 20;
        run_output(0, SECONDS + 1);
        read_list();
        assert_int_equal(list.count, cases[i].count);
        assert_int_equal(llround(list.segment[0].length / 1e6), cases[i].length);
        remove_folder();
    }
}

static void test_old_ones_go(void **state)
{
    (void)state;
    setup_folder();
    settings.segment_time = 1;
    run_output(0, SECONDS + 1);
    read_list();
    assert_int_equal(list.count, 3);
    const int64_t first = list.segment[0].number;
    for (int i = 1; i <= 3; i++) /* players may still be reading them */
        assert_true(has(HALO_HLS_SEGMENT, first - i));
    assert_false(has(HALO_HLS_SEGMENT, first - 4));
    assert_int_equal(count_files(), 3 + 3 + 1 + 1);
    remove_folder();
}

/* ---- again ---- */

static void test_goes_on(void **state)
{
    (void)state;
    setup_folder();
    run_output(0, 6);
    read_list();
    const struct halo_hls_list before = list;
    assert_int_equal(before.count, 3);
    assert_false(before.segment[0].discontinuity);
    run_output(6, 8);
    read_list();
    assert_int_equal(list.count, 3);
    assert_int_equal(list.next, before.next + 1);
    assert_int_equal(list.segment[0].number, before.segment[1].number);
    assert_int_equal(list.segment[1].init, before.segment[0].init);
    assert_int_equal(list.segment[2].init, before.next);
    assert_true(list.segment[2].discontinuity);
    const struct content old = content_of(0, 2), new = content_of(2, 3);
    assert_frames(&old, 2 * CLIP_RATE, 4 * CLIP_RATE);
    assert_frames(&new, 6 * CLIP_RATE, 2 * CLIP_RATE);
    /* Times go on, for players that do not know discontinuities. */
    assert_true(new.first >= old.first);
    settings.segment_time = 1;
    run_output(0, SECONDS);
    read_list();
    assert_int_equal(list.discontinuities, 2);
    assert_false(has(HALO_HLS_INIT, before.segment[0].init)); /* nobody needs it any longer */
    assert_false(has(HALO_HLS_INIT, before.next));
    assert_int_equal(count_files(), 3 + 3 + 1 + 1);
    remove_folder();
}

/* An hour without a frame: no segment is so long. */
static void test_a_gap(void **state)
{
    (void)state;
    setup_folder();
    settings.keep = 10;
    struct halo_output *output = clip_open_output(clip, &settings);
    const int fed = feed(output, 0, 3, 0);
    clip_end_output(output, fed + feed(output, 3, 8, 3600));
    read_list();
    static const double lengths[] = {2, 1, 2, 2, 1};
    assert_int_equal(list.count, 5);
    for (int i = 0; i < list.count; i++) {
        assert_true(fabs(list.segment[i].length / 1e6 - lengths[i]) < 0.05);
        assert_int_equal(list.segment[i].discontinuity, i == 2);
    }
    const struct content content = content_of(2, 5);
    assert_frames(&content, 3 * CLIP_RATE, 5 * CLIP_RATE);
    remove_folder();
}

/* Whose writer ended long ago: nobody follows it. */
static void test_an_old_playlist(void **state)
{
    (void)state;
    setup_folder();
    run_output(0, 6);
    read_list();
    const struct halo_hls_list before = list;
    const time_t then = time(NULL) - OLD_S;
    assert_int_equal(utime(playlist, &(struct utimbuf){then, then}), 0);
    run_output(0, 4);
    read_list();
    assert_int_equal(list.count, 2);
    assert_int_equal(list.segment[0].number, before.next);
    assert_false(list.segment[0].discontinuity && list.discontinuities);
    remove_folder();
}

static void test_leftovers(void **state)
{
    (void)state;
    setup_folder();
    run_output(0, 6);
    read_list();
    char name[64];
    snprintf(name, sizeof name, "live/door-%lld.m4s",
             (long long)list.next); /* not listed any more */
    write_file(name, "torn");
    snprintf(name, sizeof name, "live/door-%lld.m4s.tmp", (long long)list.next);
    write_file(name, "torn");
    write_file("live/door-17.m4s", "old");
    write_file("live/door-init-17.mp4", "old");
    static const char *const others[] = {"live/door-1-2.m4s", "live/index-5.m4s", "live/door-5.mp4",
                                         "live/door-05.m4s", "live/note"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        write_file(others[i], "mine");
    snprintf(name, sizeof name, "live/door-%lld.m4s", (long long)list.segment[1].number);
    assert_int_equal(unlink(in_folder(name)), 0); /* it and those before it cannot be played */
    const int64_t last = list.segment[2].number;
    run_output(6, 8);
    read_list();
    assert_int_equal(list.count, 2);
    assert_int_equal(list.segment[0].number, last);
    const struct content content = content_of(1, 2);
    assert_frames(&content, 6 * CLIP_RATE, 2 * CLIP_RATE);
    assert_false(is_there("live/door-17.m4s"));
    snprintf(name, sizeof name, "live/door-%lld.m4s.tmp", (long long)last + 1);
    assert_false(is_there(name));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(is_there(others[i]));
    run_output(0, SECONDS);
    assert_false(is_there("live/door-init-17.mp4"));
    remove_folder();
}

/* ---- failures ---- */

static struct halo_output_stats wait_state(struct halo_output *output, enum halo_output_state state)
{
    struct halo_output_stats stats;
    const int64_t until = av_gettime_relative() + PATIENCE_US;
    do {
        halo_output_stats(output, &stats);
        if (stats.state != state)
            usleep(5000);
    } while (stats.state != state && av_gettime_relative() < until);
    assert_int_equal(stats.state, state);
    return stats;
}

static void assert_fails(const char *words)
{
    struct halo_output *output = clip_open_output(clip, &settings);
    feed(output, 0, 1, 0);
    const struct halo_output_stats stats = wait_state(output, HALO_OUTPUT_FAILED);
    if (!strstr(stats.why, words) || strncmp(stats.why, playlist, strlen(playlist)) != 0 ||
        strchr(stats.why, '\n'))
        fail_msg("'%s' is not said: %s", words, stats.why);
    halo_output_destroy(output);
}

static void test_strange_files(void **state)
{
    (void)state;
    setup_folder();
    assert_int_equal(mkdir(in_folder("live"), 0777), 0);
    write_file("live/door.m3u8", "#EXTM3U\nsong.mp3\n");
    assert_fails("is not a playlist that halod wrote");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(playlist), 0);
    write_file("secret", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:7\n");
    assert_int_equal(symlink("../secret", playlist), 0);
    assert_fails("is not a playlist that halod wrote");
    assert_int_equal(unlink(playlist), 0);
    assert_int_equal(mkdir(playlist, 0777), 0);
    assert_fails("is not a playlist that halod wrote");
    assert_int_equal(rmdir(playlist), 0);
    write_file("live/door.m3u8", ""); /* as a power failure leaves it */
    run_output(0, 2);
    read_list();
    assert_int_equal(list.count, 1);
    remove_folder();
}

/* A link that waits where a file will be written is replaced, and not followed. */
static void test_links(void **state)
{
    (void)state;
    setup_folder();
    run_output(0, 2);
    read_list();
    char name[64];
    write_file("victim", "whole");
    snprintf(name, sizeof name, "live/door-%lld.m4s.tmp", (long long)list.next);
    assert_int_equal(symlink("../victim", in_folder(name)), 0);
    snprintf(name, sizeof name, "live/door-%lld.m4s", (long long)list.next);
    assert_int_equal(symlink("../victim", in_folder(name)), 0);
    assert_int_equal(symlink("../victim", in_folder("live/door.m3u8.tmp")), 0);
    run_output(2, 4);
    struct stat st;
    assert_int_equal(stat(in_folder("victim"), &st), 0);
    assert_int_equal(st.st_size, 5);
    read_list();
    assert_int_equal(list.count, 2);
    const struct content content = content_of(1, 2);
    assert_frames(&content, 2 * CLIP_RATE, 2 * CLIP_RATE);
    remove_folder();
}

static void test_folder_that_cannot_be(void **state)
{
    (void)state;
    setup_folder();
    write_file("live", "no folder");
    assert_fails("Not a directory");
    assert_int_equal(unlink(in_folder("live")), 0);
    if (geteuid() == 0) /* whom no mode stops */
        snprintf(playlist, sizeof playlist, "/proc/self/fdinfo/door.m3u8");
    else
        assert_int_equal(mkdir(in_folder("live"), 0555), 0);
    assert_fails("cannot be written: ");
    remove_folder();
}

/* On a disk of its own, in a child. */
static void run_small(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=700k") < 0)
        _exit(77);
    settings.segment_time = 1;
    settings.keep = HALO_MAX_KEEP;
    struct halo_output *output = clip_open_output(clip, &settings);
    feed(output, 0, SECONDS, 0);
    struct halo_output_stats stats = wait_state(output, HALO_OUTPUT_FAILED);
    assert_non_null(strstr(stats.why, "No space left"));
    read_list();
    assert_true(list.count > 0);
    const int count = list.count;
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    double moved = 0;
    const int64_t until = av_gettime_relative() + PATIENCE_US;
    do {
        moved += SECONDS;
        feed(output, 0, 1, moved);
        usleep(100000);
        halo_output_stats(output, &stats);
    } while (stats.state != HALO_OUTPUT_WRITING && av_gettime_relative() < until);
    assert_int_equal(stats.state, HALO_OUTPUT_WRITING);
    halo_output_destroy(output);
    read_list();
    assert_true(list.count > count);
    struct content content = content_of(0, count);
    assert_frames(&content, 0, count * CLIP_RATE);
    assert_true(list.segment[count].discontinuity);
    content = content_of(count, count + 1);
    int from = 0;
    while (from < clip->frames && clip->hash[from] != content.hash[0])
        from += CLIP_RATE;
    assert_frames(&content, from, CLIP_RATE);
}

static void test_full_disk(void **state)
{
    (void)state;
    setup_folder();
    const pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure ends it */
        run_small();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        print_message("no small disk can be mounted here\n");
    else
        assert_int_equal(status, 0);
    remove_folder();
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const targets[] = {"/tmp/x.ts", "/tmp/x", "/tmp/.m3u8", "/tmp/"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct halo_output *output = NULL;
        struct halo_error err = {0};
        settings = (struct halo_output_settings){
            .kind = HALO_OUTPUT_HLS, .target = (char *)targets[i], .segment_time = 2, .keep = 3};
        assert_int_equal(halo_output_create(&output, "test", &settings, &err), -EINVAL);
        assert_true(err.usage);
        assert_non_null(strstr(err.text, ".m3u8"));
    }
}

int main(void)
{
    clip = clip_create(SECONDS, 128, 2);
    if (!clip)
        return 77;
    halo_log_set_level(HALO_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),    cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_old_ones_go), cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_a_gap),       cmocka_unit_test(test_an_old_playlist),
        cmocka_unit_test(test_leftovers),   cmocka_unit_test(test_strange_files),
        cmocka_unit_test(test_links),       cmocka_unit_test(test_folder_that_cannot_be),
        cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_refused),
    };
    const int failed = cmocka_run_group_tests_name("live playlists", tests, NULL, NULL);
    clip_destroy(clip);
    return failed;
}
