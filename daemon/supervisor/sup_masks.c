/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_masks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/link/link.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "pipeline/filter/filter.h"
#include "pipeline/region/mask_image.h"

static void add_file(json_t *files, const char *path)
{
    struct stat is;
    if (stat(path, &is) < 0)
        is = (struct stat){0};
    json_array_append_new(files,
                          json_pack("[s, I, I, I, I, I, I, I]", path, (json_int_t)is.st_dev,
                                    (json_int_t)is.st_ino, (json_int_t)is.st_size,
                                    (json_int_t)is.st_mtim.tv_sec, (json_int_t)is.st_mtim.tv_nsec,
                                    (json_int_t)is.st_ctim.tv_sec, (json_int_t)is.st_ctim.tv_nsec));
}

void sv_masks_add(json_t *files, const char *filters)
{
    struct halo_chain *chain;
    if (halo_chain_parse(&chain, filters, NULL) < 0)
        return; /* the engine reports it */
    for (int f = 0; f < chain->count; f++) {
        const struct halo_shapes *shapes = chain->filter[f].shapes;
        for (int i = 0; shapes && i < shapes->count; i++)
            if (shapes->shape[i].kind == HALO_SHAPE_MASK)
                add_file(files, shapes->shape[i].mask->path);
    }
    halo_chain_destroy(chain);
}

/* Opens only regular files, because opening some devices has effects. */
static int open_mask(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode)
               ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
               : -1;
}

void sv_masks_send(struct sv_engine *engine, const json_t *masks)
{
    const json_t *mask;
    size_t i;
    json_array_foreach (masks, i, mask) {
        const char *path = json_string_value(json_array_get(mask, 0));
        const int fd = path && sv_engine_is_ready(engine) ? open_mask(path) : -1;
        if (fd < 0)
            continue; /* the engine reports it */
        halo_link_send(engine->process->link, json_pack("{s:s, s:s}", "do", "mask", "path", path),
                       &fd, 1);
        close(fd);
    }
}

json_t *sv_masks_of(const struct halo_stream_settings *settings)
{
    json_t *files = json_array();
    sv_masks_add(files, settings->filters);
    for (int i = 0; i < settings->renditions; i++)
        sv_masks_add(files, settings->rendition[i].filters);
    return files;
}
