/* SPDX-License-Identifier: BSD-2-Clause
 * What a camera that is played (v4l2.h) is told by the files of its folder. */
#include <limits.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/v4l2_private.h"

static void read_file(const char *path, char *ret, size_t size)
{
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(ret, 1, size - 1, f) : 0;
    ret[n] = 0;
    if (f)
        fclose(f);
}

/* The value of key in text: true where there is one. */
static bool find(const char *text, const char *key, char *ret, size_t size)
{
    const size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        snprintf(ret, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
        return true;
    }
    return false;
}

bool standin_ordered(const struct standin_camera *c, const char *key, char *ret, size_t size)
{
    char path[PATH_MAX], text[TEXT];
    snprintf(path, sizeof path, "%s/control-%s", standin_folder(), c->name);
    read_file(path, text, sizeof text);
    if (find(text, key, ret, size))
        return true;
    snprintf(path, sizeof path, "%s/control", standin_folder());
    read_file(path, text, sizeof text);
    return find(text, key, ret, size);
}

double standin_number(const struct standin_camera *c, const char *key)
{
    char text[64];
    return standin_ordered(c, key, text, sizeof text) ? atof(text) : 0;
}

bool standin_lies(const struct standin_camera *c, const char *word)
{
    char text[64];
    return standin_ordered(c, "lie", text, sizeof text) && !strcmp(text, word);
}

void standin_note(const struct standin_camera *c, const char *what, int value)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/log", standin_folder());
    FILE *f = fopen(path, "ae");
    if (!f)
        return;
    fprintf(f, "%s %s %d\n", c->name, what, value);
    fclose(f);
}

int standin_fault(const struct standin_camera *c, const char *call)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[256];
    static int count;
    char text[256], name[32];
    int error, when;
    if (!standin_ordered(c, "fault", text, sizeof text))
        text[0] = 0;
    pthread_mutex_lock(&lock);
    if (strcmp(text, last) != 0)
        count = 0;
    snprintf(last, sizeof last, "%s", text);
    const bool meant =
        sscanf(text, "%31[^:]:%d:%d", name, &error, &when) == 3 && !strcmp(name, call);
    count += meant;
    const bool now = meant && (when == 0 || count == when);
    pthread_mutex_unlock(&lock);
    return now ? error : 0;
}

static uint32_t fourcc_of(const char *name)
{
    static const struct {
        const char *name;
        uint32_t fourcc;
    } known[] = {{"yuyv", V4L2_PIX_FMT_YUYV},   {"uyvy", V4L2_PIX_FMT_UYVY},
                 {"nv12", V4L2_PIX_FMT_NV12},   {"yu12", V4L2_PIX_FMT_YUV420},
                 {"mjpeg", V4L2_PIX_FMT_MJPEG}, {"grey", V4L2_PIX_FMT_GREY},
                 {"h264", V4L2_PIX_FMT_H264}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return known[i].fourcc;
    return 0;
}

void standin_read_modes(struct standin_camera *c)
{
    char text[TEXT] = "yuyv:640x480@30", *rest, *rest2;
    standin_ordered(c, "formats", text, sizeof text);
    c->modes = 0;
    for (char *f = strtok_r(text, ";", &rest); f; f = strtok_r(NULL, ";", &rest)) {
        char *colon = strchr(f, ':');
        *colon = 0;
        for (char *s = strtok_r(colon + 1, ",", &rest2); s && c->modes < MODES;
             s = strtok_r(NULL, ",", &rest2)) {
            struct mode *m = &c->mode[c->modes++];
            m->fourcc = fourcc_of(f);
            sscanf(s, "%dx%d@%lf", &m->width, &m->height, &m->rate);
        }
    }
    c->planar = (int)standin_number(c, "planar");
}
