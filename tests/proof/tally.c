/* SPDX-License-Identifier: BSD-2-Clause
 * What a proof has counted (tally.h). */
#include "tests/proof/tally.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/clock.h"
#include "tests/proof/judge.h"

enum { MAX_SAVED = 20, MAX_KINDS = 64 };

struct proof_tally *proof_tally_create(const char *folder)
{
    struct proof_tally *t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return NULL;
    t->folder = folder;
    t->begin = halo_now_ns();
    return t;
}

long proof_tally_frames(const struct proof_tally *t)
{
    long ret = -atomic_load(&t->blank);
    for (int k = 0; k < PROOF_KINDS; k++)
        ret += k == PROOF_CARD ? 0 : atomic_load(&t->seen[k]);
    return ret;
}

static void raise_to(atomic_int *what, float strength)
{
    const int value = (int)(strength * 1000 + 0.5f);
    int old = atomic_load(what);
    while (value > old && !atomic_compare_exchange_weak(what, &old, value))
        ;
}

/* As one gray frame: luma, and below it the two planes of chroma side by side. */
static void save(struct proof_tally *t, const AVFrame *f, const struct halo_canary_finding *finding)
{
    char path[600];
    const long number = atomic_fetch_add(&t->saved, 1);
    if (!t->folder || number >= MAX_SAVED)
        return;
    snprintf(path, sizeof path, "%s/leak-%ld.pgm", t->folder, number);
    FILE *to = fopen(path, "wb");
    if (!to)
        return;
    const bool colours = f->format == AV_PIX_FMT_YUV420P && f->width % 2 == 0 && f->height % 2 == 0;
    fprintf(to, "P5 %d %d 255\n", f->width, f->height * (colours ? 3 : 2) / 2);
    for (int y = 0; y < f->height; y++)
        fwrite(f->data[0] + (ptrdiff_t)y * f->linesize[0], 1, (size_t)f->width, to);
    for (int y = 0; colours && y < f->height / 2; y++)
        for (int p = 1; p < 3; p++)
            fwrite(f->data[p] + (ptrdiff_t)y * f->linesize[p], 1, (size_t)f->width / 2, to);
    fclose(to);
    printf("LEAK: %s: picture %d, cell %.2f at %d,%d of plane %d, block %.2f\n", path,
           finding->number, finding->cell, finding->x, finding->y, finding->plane, finding->block);
    fflush(stdout);
}

void proof_tally_see(struct proof_tally *t, enum proof_seen kind, const AVFrame *frame,
                     const struct halo_canary_finding *finding, bool blank)
{
    atomic_fetch_add(&t->seen[kind], 1);
    atomic_fetch_add(&t->blank, blank);
    atomic_fetch_add(&t->plain, finding->plain);
    if (finding->leaks) {
        atomic_fetch_add(&t->leaks, 1);
        save(t, frame, finding);
        return;
    }
    if (!finding->plain)
        raise_to(&t->cell, finding->cell);
    raise_to(&t->block, finding->block);
}

void proof_tally_judge(struct proof_tally *t, enum proof_seen kind, const struct proof_verdict *v)
{
    atomic_fetch_add(&t->seen[kind], 1);
    atomic_fetch_add(&t->judged, !v->blank);
    atomic_fetch_add(&t->by_feed, v->by_feed);
    atomic_fetch_add(&t->blank, v->blank);
    atomic_fetch_add(&t->leaks, v->wrong != 0);
    atomic_fetch_add(&t->hidden, v->hidden);
    atomic_fetch_add(&t->shown, v->shown);
    atomic_fetch_add(&t->soft, v->soft);
}

void proof_tally_forgotten(struct proof_tally *t, long frames)
{
    printf("LEAK: %ld frames are right only if a feed forgot what it was told in one session\n",
           frames);
    fflush(stdout);
    atomic_fetch_add(&t->leaks, frames);
}

void proof_tally_fault(struct proof_tally *t, const char *name)
{
    unsigned long long key = 1469598103934665603u;
    for (const char *c = name; *c; c++)
        key = (key ^ (unsigned char)*c) * 1099511628211u;
    key |= 1;
    for (unsigned i = 0; i < PROOF_POINTS; i++) {
        struct proof_point *p = &t->point[(key + i) % PROOF_POINTS];
        unsigned long long free_one = 0;
        if (atomic_compare_exchange_strong(&p->key, &free_one, key))
            snprintf(p->name, sizeof p->name, "%s", name);
        else if (free_one != key)
            continue;
        atomic_fetch_add(&p->count, 1);
        return;
    }
}

long proof_tally_faults(const struct proof_tally *t, int *ret_points)
{
    long ret = 0;
    *ret_points = 0;
    for (int i = 0; i < PROOF_POINTS; i++) {
        ret += atomic_load(&t->point[i].count);
        *ret_points += atomic_load(&t->point[i].key) != 0;
    }
    return ret;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct proof_point *const *)a)->name,
                  (*(const struct proof_point *const *)b)->name);
}

/* One line for each kind, and, where they are asked for, one for each of its points. */
static void print_points(const struct proof_tally *t, bool all)
{
    static const struct proof_point *sorted[PROOF_POINTS];
    size_t count = 0;
    for (int i = 0; i < PROOF_POINTS; i++)
        if (atomic_load(&t->point[i].key))
            sorted[count++] = &t->point[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count;) {
        const size_t length = strcspn(sorted[i]->name, " ");
        size_t end = i;
        long faults = 0;
        while (end < count && strcspn(sorted[end]->name, " ") == length &&
               !strncmp(sorted[end]->name, sorted[i]->name, length))
            faults += atomic_load(&sorted[end++]->count);
        printf("    %-10.*s %8ld at %zu point%s\n", (int)length, sorted[i]->name, faults, end - i,
               end - i == 1 ? "" : "s");
        for (; i < end; i++)
            if (all && sorted[i]->name[length])
                printf("        %8ld %s\n", atomic_load(&sorted[i]->count),
                       sorted[i]->name + length + 1);
    }
}

void proof_tally_print(const struct proof_tally *t, bool points)
{
    static const char *const kinds[PROOF_KINDS] = {
        "as bytes",     "encoded, decoded again",       "in streams of JPEG",
        "in snapshots", "cards, theirs in advance too", "in files and from sockets"};
    int count;
    const long faults = proof_tally_faults(t, &count);
    printf("pictures delivered and examined: %ld\n", proof_tally_frames(t));
    for (int k = 0; k < PROOF_KINDS; k++)
        if (atomic_load(&t->seen[k]))
            printf("    %8ld %s\n", atomic_load(&t->seen[k]), kinds[k]);
    if (atomic_load(&t->judged))
        printf("    %8ld of all were judged sample by sample: %ld samples hidden, %ld shown, %ld "
               "between\n",
               atomic_load(&t->judged), atomic_load(&t->hidden), atomic_load(&t->shown),
               atomic_load(&t->soft));
    if (atomic_load(&t->by_feed))
        printf("    %8ld of those by what a region feed had been told until then\n",
               atomic_load(&t->by_feed));
    printf("    %8ld of all were plain, as cards are; %ld packets could not be decoded\n",
           atomic_load(&t->plain), atomic_load(&t->broken));
    if (atomic_load(&t->blank))
        printf("    %8ld more were blank, where filtered ones belong\n", atomic_load(&t->blank));
    if (faults || atomic_load(&t->rounds))
        printf("faults injected: %ld at %d distinct points (one process passed up to %d in "
               "the source)\n",
               faults, count, atomic_load(&t->most_points));
    print_points(t, points);
    if (atomic_load(&t->rounds))
        printf("engines: %ld, killed %ld, gave up a device %ld, died of themselves %ld; streams: "
               "%ld\n",
               atomic_load(&t->rounds), atomic_load(&t->killed), atomic_load(&t->gave_up),
               atomic_load(&t->failed), atomic_load(&t->streams));
    printf("strongest canary without a leak: cell %.3f, block %.3f; a leak is %.2f, "
           "%.2f; a raw picture 1\n",
           atomic_load(&t->cell) / 1000.0, atomic_load(&t->block) / 1000.0,
           (double)HALO_CANARY_LEAK, (double)HALO_CANARY_LEAKING_BLOCK);
    printf("leaks: %ld\n", atomic_load(&t->leaks));
    printf("time: %.1f s\n", (double)(halo_now_ns() - t->begin) * 1e-9);
    printf("figures: pictures=%ld judged=%ld told=%ld hidden=%ld blank=%ld cards=%ld broken=%ld "
           "faults=%ld "
           "points=%d leaks=%ld cell=%.3f block=%.3f\n",
           proof_tally_frames(t), atomic_load(&t->judged), atomic_load(&t->by_feed),
           atomic_load(&t->hidden), atomic_load(&t->blank), atomic_load(&t->seen[PROOF_CARD]),
           atomic_load(&t->broken), faults, count, atomic_load(&t->leaks),
           atomic_load(&t->cell) / 1000.0, atomic_load(&t->block) / 1000.0);
    fflush(stdout);
}
