/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to files: segments hold every frame, each once; names never collide; a killed process
 * and a full disk leave what can be played; what is old goes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libavutil/time.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/log.h"
#include "pipeline/output/output.h"
#include "pipeline/output/output_hook.h"
#include "pipeline/output/output_names.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/output/clip.h"

enum { SECONDS = 10, MAX_FILES = 64, PATH = 512, PATIENCE_US = 900000000 };

static struct clip *clip;
static char folder[64], pattern[PATH];
static struct halo_output_settings settings;

/* ---- folders ---- */

struct files {
    char name[MAX_FILES][256]; /* the oldest first */
    int count;
};

static const char *in_folder(const char *name)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* As they were made: "x.mkv", "x-1.mkv". */
static int compare_files(const void *a, const void *b)
{
    const char *x = a, *y = b;
    while (*x && *x == *y)
        x++, y++;
    return (*x == '.' ? 1 : *x) - (*y == '.' ? 1 : *y);
}

static struct files list(void)
{
    struct files files = {.count = 0};
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            assert_true(files.count < MAX_FILES);
            snprintf(files.name[files.count++], 256, "%s", e->d_name);
        }
    closedir(dir);
    qsort(files.name, files.count, sizeof *files.name, compare_files);
    return files;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void setup_folder(const char *name)
{
    snprintf(folder, sizeof folder, "/tmp/halo-output-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    settings = (struct halo_output_settings){.kind = HALO_OUTPUT_FILE, .target = pattern};
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* ---- outputs ---- */

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

static struct content read_all(const struct files *files)
{
    static struct content content;
    memset(&content, 0, sizeof content);
    for (int i = 0; i < files->count; i++) {
        if (content_add(&content, in_folder(files->name[i])) < 0)
            fail_msg("%s cannot be opened", files->name[i]);
        assert_true(content.first < 1.6); /* MPEG-TS begins at 1.4 */
    }
    return content;
}

static void assert_frames(const struct content *content, int first, int count)
{
    assert_int_equal(content->damaged, 0);
    assert_int_equal(content->frames, count);
    assert_memory_equal(content->hash, clip->hash + first, count * sizeof *clip->hash);
}

static void check_segments(const char *name, double segment_time, int wanted)
{
    setup_folder(name);
    settings.segment_time = segment_time;
    struct halo_output *output = clip_open_output(clip, &settings);
    clip_end_output(output, feed(output, 0, SECONDS + 1, 0));
    const struct files files = list();
    assert_int_equal(files.count, wanted);
    const struct content content = read_all(&files);
    assert_frames(&content, 0, clip->frames);
    assert_true(fabs(content.first_sound - content.first) < 0.09);
    int sounds = 0;
    for (int i = 0; i < clip->count; i++)
        sounds += clip->pkt[i]->stream_index;
    assert_in_range(content.sounds, sounds - 1, sounds + 1);
    remove_folder();
}

static void test_segments(void **state)
{
    (void)state;
    static const char *const names[] = {"s%Y%m%d-%H%M%S.mkv", "s-%Y%m%d-%H%M%S.mp4", "%s.ts",
                                        "s%Y%m%d-%H%M%S.nut"};
    for (int i = 0; i < 4; i++) {
        check_segments(names[i], 2, 5);
        check_segments(names[i], 3, 4);
    }
}

static void test_single_files(void **state)
{
    (void)state;
    static const char *const names[] = {"one.mkv", "one.mp4", "one.ts", "one.nut", "one.mov"};
    for (int i = 0; i < 5; i++)
        check_segments(names[i], 0, 1);
}

/* dts before pts: times still begin at 0, and nothing is lost at a cut. */
static void test_reordered_frames(void **state)
{
    (void)state;
    struct clip *plain = clip;
    clip = clip_create(SECONDS, 128, 2);
    check_segments("b%s.mkv", 2, 5);
    check_segments("b%s.mp4", 2, 5);
    check_segments("b%s.ts", 2, 5);
    clip_destroy(clip);
    clip = plain;
}

extern char **environ;

static void test_names_that_are_taken(void **state)
{
    (void)state;
    setup_folder("deep/er/x.mkv");
    settings.segment_time = 2;
    assert_int_equal(mkdir(in_folder("deep"), 0700), 0);
    assert_int_equal(mkdir(in_folder("deep/er"), 0700), 0);
    write_file("deep/er/x.mkv", "mine");
    write_file("deep/er/x-2.mkv", "mine too");
    struct halo_output *output = clip_open_output(clip, &settings);
    clip_end_output(output, feed(output, 0, 6, 0));
    struct content content = {0};
    assert_int_equal(content_add(&content, in_folder("deep/er/x-1.mkv")), 0);
    assert_int_equal(content_add(&content, in_folder("deep/er/x-3.mkv")), 0);
    assert_int_equal(content_add(&content, in_folder("deep/er/x-4.mkv")), 0);
    assert_frames(&content, 0, 150);
    char text[16] = "";
    FILE *f = fopen(in_folder("deep/er/x.mkv"), "r");
    assert_non_null(fgets(text, sizeof text, f));
    assert_string_equal(text, "mine");
    fclose(f);
    assert_int_not_equal(access(in_folder("deep/er/x-5.mkv"), F_OK), 0);
    remove_folder();
}

static void test_folders_are_made(void **state)
{
    (void)state;
    setup_folder("%Y/%m/day-%d/x-%H%M%S.mkv");
    struct halo_output *output = clip_open_output(clip, &settings);
    feed(output, 0, 1, 0);
    struct halo_output_stats stats = wait_state(output, HALO_OUTPUT_WRITING);
    assert_int_equal(access(stats.path, F_OK), 0);
    assert_true(halo_names_match(pattern, stats.path));
    halo_output_destroy(output);
    remove_folder();
}

static void test_switch(void **state)
{
    (void)state;
    setup_folder("x.mkv");
    struct halo_output *output = clip_open_output(clip, &settings);
    halo_output_switch(output, false);
    feed(output, 0, 1, 0);
    usleep(100000);
    assert_int_equal(list().count, 0);
    halo_output_switch(output, true);
    int fed = feed(output, 1, 3, 0);
    wait_state(output, HALO_OUTPUT_WRITING);
    clip_wait_written(output, fed);
    halo_output_switch(output, false);
    const struct halo_output_stats stats = wait_state(output, HALO_OUTPUT_IDLE);
    assert_int_equal(stats.segments, 1);
    assert_int_equal(stats.packets, fed);
    halo_output_switch(output, true);
    fed += feed(output, 3.5, 6, 0);
    clip_end_output(output, fed);
    const struct files files = list();
    assert_int_equal(files.count, 2);
    struct content content = {0};
    assert_int_equal(content_add(&content, in_folder("x.mkv")), 0);
    assert_frames(&content, 25, 50);
    memset(&content, 0, sizeof content);
    assert_int_equal(content_add(&content, in_folder("x-1.mkv")), 0);
    assert_frames(&content, 100, 50); /* from the key frame on */
    remove_folder();
}

static void test_new_parameters(void **state)
{
    (void)state;
    setup_folder("x.mp4");
    struct halo_output *output = clip_open_output(clip, &settings);
    int fed = feed(output, 0, 2, 0);
    assert_int_equal(halo_output_begin(output, &clip->begin), 0); /* the same: goes on */
    fed += feed(output, 2, 4, 0);
    struct clip *plain = clip;
    clip = clip_create(2, 256, 0);
    assert_int_equal(halo_output_begin(output, &clip->begin), 0);
    fed += feed(output, 0, 2, 4);
    clip_end_output(output, fed);
    struct content content = {0};
    assert_int_equal(content_add(&content, in_folder("x-1.mp4")), 0);
    assert_frames(&content, 0, 50);
    clip_destroy(clip);
    clip = plain;
    memset(&content, 0, sizeof content);
    assert_int_equal(content_add(&content, in_folder("x.mp4")), 0);
    assert_frames(&content, 0, 100);
    assert_int_equal(list().count, 2);
    remove_folder();
}

/* ---- kill -9 ---- */

static void be_killed(int done)
{
    struct halo_output *output = clip_open_output(clip, &settings);
    feed(output, 0, 7.5, 0);
    struct halo_output_stats stats;
    do {
        usleep(10000);
        halo_output_stats(output, &stats);
    } while (stats.packets < 500);
    if (write(done, "x", 1) == 1)
        pause();
    _exit(1);
}

static void check_killed(const char *name)
{
    setup_folder(name);
    int ends[2];
    char c;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (!child)
        be_killed(ends[1]);
    assert_int_equal(read(ends[0], &c, 1), 1);
    usleep(50000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    const struct files files = list();
    assert_int_equal(files.count, 1);
    const struct content content = read_all(&files);
    print_message("killed after %d pictures of %s: %d are there\n", (int)(7.5 * CLIP_RATE), name,
                  content.frames);
    assert_true(content.frames >= (int)(7.5 * CLIP_RATE) - CLIP_RATE);
    assert_memory_equal(content.hash, clip->hash, (content.frames - 1) * sizeof *clip->hash);
    remove_folder();
}

static void test_killed(void **state)
{
    (void)state;
    check_killed("k.mkv");
    check_killed("k.mp4");
    check_killed("k.ts");
}

/* ---- full disks ---- */

/* Feeds twice as fast as the clock says; true once the output is in the state. */
static bool feed_until(struct halo_output *output, enum halo_output_state state, int *second,
                       int64_t most_us)
{
    struct halo_output_stats stats;
    const int64_t until = av_gettime_relative() + most_us;
    do {
        const int part = *second % (4 * SECONDS), round = *second / (4 * SECONDS);
        feed(output, part / 4.0, part / 4.0 + 0.25, (double)round * SECONDS);
        ++*second;
        usleep(125000); /* the output may stand still for 15 seconds */
        halo_output_stats(output, &stats);
    } while (stats.state != state && av_gettime_relative() < until);
    return stats.state == state;
}

/* In a process of its own: the limit, or the small disk, is its own too. */
static void check_full(void (*make_full)(void), void (*make_fuller)(void), void (*make_room)(void),
                       const char *words)
{
    struct halo_output_stats stats;
    int second = 0;
    make_full();
    struct halo_output *output = clip_open_output(clip, &settings);
    assert_true(feed_until(output, HALO_OUTPUT_FAILED, &second, PATIENCE_US));
    make_fuller();
    halo_output_stats(output, &stats);
    assert_non_null(strstr(stats.why, words));
    assert_non_null(strstr(stats.why, folder));
    const int64_t dropped = stats.dropped;
    int64_t began = av_gettime_relative(), now = began;
    while (now - began < 4500000 || (stats.failures < 2 && now - began < PATIENCE_US)) {
        feed_until(output, HALO_OUTPUT_IDLE, &second, 0);
        halo_output_stats(output, &stats);
        now = av_gettime_relative();
    }
    assert_true(feed_until(output, HALO_OUTPUT_FAILED, &second, PATIENCE_US));
    halo_output_stats(output, &stats);
    assert_true(stats.dropped > dropped && stats.failures > 1);
    int64_t since = 0; /* it writes */
    began = now = av_gettime_relative();
    make_room();
    while (now - began < PATIENCE_US && (!since || now - since < 2000000)) {
        feed_until(output, HALO_OUTPUT_IDLE, &second, 0);
        halo_output_stats(output, &stats);
        now = av_gettime_relative();
        since = stats.state != HALO_OUTPUT_WRITING ? 0 : since ? since : now;
    }
    assert_int_equal(stats.state, HALO_OUTPUT_WRITING);
    halo_output_destroy(output);
}

/* A file system that needs room to cut a file off, under both names that the C library has. */
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
int __real_ftruncate64(int fd, off_t size);

static bool no_cuts;

int __wrap_ftruncate64(int fd, off_t size)
{
    if (!no_cuts)
        return __real_ftruncate64(fd, size);
    errno = ENOSPC;
    return -1;
}

int __wrap_ftruncate(int fd, off_t size)
{
    return __wrap_ftruncate64(fd, size);
}

static void limit_files_to(rlim_t most)
{
    const struct rlimit limit = {most, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void limit_files(void)
{
    limit_files_to(900000);
}

static void limit_files_more(void)
{
    limit_files_to(100);
}

static void limit_no_files(void)
{
    limit_files_to(RLIM_INFINITY);
}

static void mount_small(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=1m") < 0)
        _exit(77);
}

static void stay_small(void)
{
}

static void make_room_there(void)
{
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m"), 0);
}

/* Every file can be played, and its frames are the clip's. */
static void check_files(void)
{
    const struct files files = list();
    assert_true(files.count >= 2);
    for (int i = 0; i < files.count; i++) {
        static struct content content;
        memset(&content, 0, sizeof content);
        if (content_add(&content, in_folder(files.name[i])) < 0)
            fail_msg("%s cannot be opened", files.name[i]);
        assert_int_equal(content.damaged, 0);
        assert_true(content.frames >= CLIP_RATE);
        int from = 0;
        while (from < clip->frames && clip->hash[from] != content.hash[0])
            from += CLIP_RATE;
        assert_true(from < clip->frames);
        for (int k = 0; k < content.frames; k++)
            assert_int_equal(content.hash[k], clip->hash[(from + k) % clip->frames]);
    }
}

static pid_t start_child(void (*what)(void))
{
    const pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure ends it */
        what();
        _exit(0);
    }
    return child;
}

static int end_child(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void run_limited(void)
{
    check_full(limit_files, limit_files_more, limit_no_files, strerror(EFBIG));
    check_files();
}

static void run_small(void)
{
    check_full(mount_small, stay_small, make_room_there, strerror(ENOSPC));
    check_files();
}

static void run_uncut(void)
{
    int second = 0;
    no_cuts = true;
    limit_files();
    struct halo_output *output = clip_open_output(clip, &settings);
    assert_true(feed_until(output, HALO_OUTPUT_FAILED, &second, PATIENCE_US));
    limit_files_more();
    halo_output_destroy(output);
    static struct content content;
    const struct files files = list();
    assert_int_equal(files.count, 1);
    if (content_add(&content, in_folder(files.name[0])) < 0)
        fail_msg("%s cannot be opened", files.name[0]);
    assert_true(content.frames >= 2 * CLIP_RATE);
    for (int k = 0; k < CLIP_RATE; k++)
        assert_int_equal(content.hash[k], clip->hash[k]);
}

/* What has been recorded is kept where its torn end cannot be cut off. */
static void test_full_disk_without_cuts(void **state)
{
    (void)state;
    setup_folder("f.mkv");
    assert_int_equal(end_child(start_child(run_uncut)), 0);
    remove_folder();
}

static void test_full_disk(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"f.mkv", run_limited},
                 {"f.mp4", run_limited},
                 {"f.ts", run_limited},
                 {"f.mkv", run_small}};
    enum { CASES = sizeof cases / sizeof *cases };
    char folders[CASES][sizeof folder];
    pid_t children[CASES]; /* beside each other, for they mostly wait */
    for (int i = 0; i < CASES; i++) {
        setup_folder(cases[i].name);
        memcpy(folders[i], folder, sizeof folder);
        children[i] = start_child(cases[i].run);
    }
    for (int i = 0; i < CASES; i++) {
        const int status = end_child(children[i]);
        if (status == 77 && cases[i].run == run_small)
            print_message("no small disk can be mounted here\n");
        else
            assert_int_equal(status, 0);
        memcpy(folder, folders[i], sizeof folder);
        remove_folder();
    }
}

static void test_folder_that_cannot_be(void **state)
{
    (void)state;
    setup_folder("file/x.mkv");
    write_file("file", "no folder");
    struct halo_output *output = clip_open_output(clip, &settings);
    feed(output, 0, 2, 0);
    const struct halo_output_stats stats = wait_state(output, HALO_OUTPUT_FAILED);
    assert_non_null(strstr(stats.why, strerror(ENOTDIR)));
    assert_int_equal(stats.segments, 0);
    halo_output_destroy(output);
    remove_folder();
}

/* ---- what is old ---- */

static void test_keep_size(void **state)
{
    (void)state;
    setup_folder("%Y/k-%Y%m%d-%H%M%S.mkv");
    const char *const other = "k-20200101-000000.mkv";
    assert_int_equal(mkdir(in_folder("2001"), 0700), 0);
    write_file("2001/k-20010101-000000.mkv", "of the pattern: old");
    write_file("2001/k-20010101-000000-7.mkv", "too");
    write_file(other, "in another folder");
    assert_int_equal(mkdir(in_folder("2002"), 0700), 0);
    write_file("2002/k-20021301-000000.mkv", "no month is 13");
    settings.segment_time = 1;
    settings.keep_size = 700000;
    struct halo_output *output = clip_open_output(clip, &settings);
    clip_end_output(output, feed(output, 0, SECONDS, 0));
    assert_int_not_equal(access(in_folder("2001"), F_OK), 0); /* with its folder */
    assert_int_equal(access(in_folder(other), F_OK), 0);
    assert_int_equal(access(in_folder("2002/k-20021301-000000.mkv"), F_OK), 0);
    char year[PATH_MAX], was[64];
    snprintf(was, sizeof was, "%s", folder);
    assert_int_equal(halo_names_format(in_folder("%Y"), time(NULL), year), 0);
    snprintf(folder, sizeof folder, "%.60s", year);
    const struct files files = list();
    int64_t bytes = 0;
    for (int i = 0; i < files.count; i++) {
        struct stat st;
        assert_int_equal(stat(in_folder(files.name[i]), &st), 0);
        bytes += st.st_size;
    }
    print_message("kept: %d segments of 10, %d bytes\n", files.count, (int)bytes);
    assert_in_range(files.count, 1, 9);
    assert_true(bytes <= settings.keep_size);
    snprintf(folder, sizeof folder, "%s", was);
    remove_folder();
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229.mkv", true},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229-1.mkv", true},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229-9999.mkv", true},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229-01.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229-.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229-12345.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240299.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-2024022.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229.mkv.bak", false},
        {"/a/x-%Y%m%d.mkv", "/a/y-20240229.mkv", false},
        {"/a/x-%Y%m%d.mkv", "/a/x-20240229.mp4", false},
        {"/a/x-%Y%m%d.mkv", "/a/b/x-20240229.mkv", false},
        {"/a/%Y/%H%M%S.ts", "/a/2024/235959.ts", true},
        {"/a/%Y/%H%M%S.ts", "/a/2024/245959.ts", false},
        {"/a/%F_%T.mkv", "/a/2024-02-29_12:00:01.mkv", true},
        {"/a/%s.mkv", "/a/1700000000.mkv", true},
        {"/a/%s.mkv", "/a/x.mkv", false},
        {"/a/%j-%H.mkv", "/a/366-01.mkv", true},
        {"/a/100%%-%H.mkv", "/a/100%-01.mkv", true},
        {"/a/x.mkv", "/a/x.mkv", true},
        {"/a/x.mkv", "/a/x-3.mkv", true},
        {"/a/x.mkv", "/a/y.mkv", false},
        {"x", "x-3", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (halo_names_match(cases[i].pattern, cases[i].path) != cases[i].matches)
            fail_msg("%s, %s", cases[i].pattern, cases[i].path);
    char path[PATH_MAX];
    assert_int_equal(halo_names_format("/a/%D.mkv", 0, path), -EINVAL); /* makes folders */
    assert_int_equal(halo_names_format("/a/", 0, path), -EINVAL);
    assert_int_equal(halo_names_format("", 0, path), -EINVAL);
}

static void test_names_that_may_match(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"/a/v-%Y-%A.mkv", "/a/v-2024-Monday.mkv", true},
        {"/a/v-%Y-%A.mkv", "/a/v-2024-Monday-12.mkv", true},
        {"/a/%-d_%10Y%Ex.mkv", "/a/1_000000202405.mkv", true},
        {"/a/x.mkv", "/a/x.mkv", true},
        {"/a/x.mkv", "/a/x-3.mkv", true},
        {"/a/x", "/a/x-3", true},
        {"/a/x.mkv", "/a/y.mkv", false},
        {"/a/100%%-%H.mkv", "/a/100%-01.mkv", true},
        {"/a/100%%-%H.mkv", "/a/100x-01.mkv", false},
        {"/a/*[b]?-%H.mkv", "/a/*[b]?-01.mkv", true},
        {"/a/*[b]?-%H.mkv", "/a/xxbx-01.mkv", false},
        {"/a/%A/x.mkv", "/a/Monday/x.mkv", true},
        {"/a/%A/x.mkv", "/a/../x.mkv", false},
        {"/a/%A/x.mkv", "/a/b/c/x.mkv", false},
        {"/a/%A.mkv", "/a/.hidden.mkv", false},
        {"/a/%A.mkv", "/a/x\ny.mkv", false},
        {"/a/%A.mkv", "/b/x.mkv", false},
        {"/a/%A.mkv", "/a/x.mkv/", false},
        {"/a/%A.mkv", "", false},
        {"x%", "x", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (halo_names_may_match(cases[i].pattern, cases[i].path) != cases[i].matches)
            fail_msg("%s, %s", cases[i].pattern, cases[i].path);
}

static void start_hook(void *arg, const char *path)
{
    halo_hook_start(arg, path);
}

static void test_hook(void **state)
{
    (void)state;
    enum { SEGMENTS = 10 };
    setup_folder("h.mkv");
    char hook[PATH], log[PATH], script[PATH * 2];
    snprintf(hook, sizeof hook, "%s/.hook", folder);
    snprintf(log, sizeof log, "%s/.log", folder);
    snprintf(script, sizeof script,
             "#!/bin/sh\necho \"begin $1\" >>%s/.log\nsleep 0.3\necho end >>%s/.log\n", folder,
             folder);
    write_file(".hook", script);
    assert_int_equal(chmod(hook, 0700), 0);
    settings.segment_time = 1;
    struct halo_hook *started = halo_hook_create(hook, "test", environ);
    assert_non_null(started);
    struct halo_output *output = clip_open_output(clip, &settings);
    halo_output_listen(output, start_hook, started);
    clip_end_output(output, feed(output, 0, SECONDS, 0));
    halo_hook_destroy(started);
    int ends = 0, most = 0, running = 0, begins = 0;
    for (int64_t waited = 0; waited < PATIENCE_US && ends < SEGMENTS; waited += 100000) {
        usleep(100000);
        FILE *f = fopen(log, "r");
        char line[PATH];
        ends = begins = running = most = 0;
        while (f && fgets(line, sizeof line, f)) {
            const bool begin = !strncmp(line, "begin ", 6);
            line[strcspn(line, "\n")] = 0;
            if (begin)
                assert_int_equal(access(line + 6, F_OK), 0);
            begins += begin;
            ends += !begin;
            running += begin ? 1 : -1;
            most = running > most ? running : most;
        }
        if (f)
            fclose(f);
    }
    assert_int_equal(begins, SEGMENTS);
    assert_int_equal(ends, SEGMENTS);
    assert_in_range(most, 1, 4);
    siginfo_t left; /* WNOWAIT: the last one is for the hooks to reap */
    for (int64_t waited = 0; waited < PATIENCE_US; waited += 10000) {
        if (waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) < 0)
            break;
        usleep(10000);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left to be reaped */
    assert_int_equal(errno, ECHILD);
    remove_folder();
}

/* ---- usage, bounds ---- */

static void assert_refused(const char *target, int kind, const char *words)
{
    struct halo_output *output = NULL;
    struct halo_error err = {0};
    settings = (struct halo_output_settings){.kind = kind, .target = (char *)target};
    assert_int_equal(halo_output_create(&output, "test", &settings, &err), -EINVAL);
    assert_true(err.usage);
    assert_non_null(strstr(err.text, words));
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("/tmp/x.avi", HALO_OUTPUT_FILE, ".mkv");
    assert_refused("/tmp/x", HALO_OUTPUT_FILE, ".mkv");
    assert_refused("/tmp/%D.mkv", HALO_OUTPUT_FILE, "conversions");
    assert_refused("gopher://x", HALO_OUTPUT_URL, "format");
    assert_refused("x", HALO_OUTPUT_NULL, "neither");
    halo_output_destroy(NULL);
}

/* A disk that hangs costs packets, not memory: of those that are not written, no more wait than
 * there is room for. (Here a thread that is busy stands for the disk.) */
static void test_bounded(void **state)
{
    (void)state;
    setup_folder("b.mkv");
    struct halo_output *output = clip_open_output(clip, &settings);
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(av_new_packet(pkt, 8 << 20), 0);
    memset(pkt->data, 0, pkt->size);
    struct halo_output_stats stats;
    for (int i = 0; i < 4000; i++) {
        pkt->pts = pkt->dts = i * INT64_C(1000);
        pkt->flags = i % 10 ? 0 : AV_PKT_FLAG_KEY;
        halo_output_packet(output, pkt);
        halo_output_stats(output, &stats);
        /* 64 MiB, and one that is written */
        assert_true(i + 1 - stats.packets - stats.dropped <= 9);
    }
    av_packet_free(&pkt);
    halo_output_destroy(output);
    remove_folder();
}

int main(void)
{
    clip = clip_create(SECONDS, 128, 0);
    if (!clip)
        return 77;
    halo_log_set_level(HALO_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_single_files),
        cmocka_unit_test(test_reordered_frames),
        cmocka_unit_test(test_names_that_are_taken),
        cmocka_unit_test(test_folders_are_made),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_new_parameters),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_full_disk_without_cuts),
        cmocka_unit_test(test_folder_that_cannot_be),
        cmocka_unit_test(test_keep_size),
        cmocka_unit_test(test_names_that_may_match),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_bounded),
    };
    const int failed = cmocka_run_group_tests_name("outputs to files", tests, NULL, NULL);
    clip_destroy(clip);
    return failed;
}
