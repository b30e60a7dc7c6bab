/* SPDX-License-Identifier: BSD-2-Clause
 * Chains that destroy the canary (chains.h). */
#include "tests/proof/chains.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/run.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/filter/residual.h"

/* Detail that an example may leave: strict lets more pass, by which a canary is still known. */
static const double most_of_luma = 0.01, most_of_chroma = 0.05;

static const char *const own[] = {"gblur=sigma=3",     "gblur=sigma=12",
                                  "boxblur=lr=4:lp=2", "gblur=sigma=2.5,pixelize=w=8:h=8",
                                  "avgblur=sizeX=5",   "gblur=sigma=4,sobel",
                                  "discblur=radius=6"};
static const char *chains[PROOF_MAX_CHAINS];
static int count;

struct room {
    struct halo_response response;
    struct halo_residual residual;
};

static bool hides_plane(struct room *room, const struct halo_planned_chain *planned, int p)
{
    halo_residual_begin(&room->residual, planned->info[p].target.depth);
    for (int f = 0; f < planned->chain->count; f++) {
        const struct halo_plane_plan *plan = planned->plan(planned->arg, f, p);
        if (!plan || planned->chain->filter[f].shapes)
            return false;
        halo_response_plan(&room->response, plan);
        halo_residual_add(&room->residual, plan, &room->response);
    }
    return halo_residual_detail(&room->residual) <= (p > 0 ? most_of_chroma : most_of_luma);
}

static bool hides(const char *text)
{
    struct halo_planned_chain planned;
    struct halo_chain *chain = NULL;
    struct room *room = calloc(1, sizeof *room);
    bool ret = true;
    if (!room || halo_chain_parse(&chain, text, NULL) < 0 ||
        halo_chain_plan_assumed(&planned, chain, 96, 64, true) < 0)
        _exit(HALO_EXIT_FAILED);
    for (int p = 0; p < planned.planes; p++)
        ret = ret && hides_plane(room, &planned, p);
    free(planned.arg);
    halo_chain_destroy(chain);
    free(room);
    return ret;
}

static bool is_there(const char *text)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(chains[i], text))
            return true;
    return false;
}

/* A child of its own looks: the code that it calls makes its process read HALOD_FAULT, once, and
 * engines have lists of their own (kernels/fault.h). */
void proof_chains_begin(void)
{
    int status;
    bool *good =
        mmap(NULL, PROOF_MAX_CHAINS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t pid = good == MAP_FAILED ? -1 : fork();
    for (int i = 0; pid == 0 && halo_filter_kinds[i] && i < PROOF_MAX_CHAINS; i++)
        good[i] = hides(halo_filter_kinds[i]->example);
    if (pid == 0)
        _exit(0);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        exit(HALO_EXIT_FAILED);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        chains[count++] = own[i];
    for (int i = 0; halo_filter_kinds[i] && count < PROOF_MAX_CHAINS; i++)
        if (good[i] && !is_there(halo_filter_kinds[i]->example))
            chains[count++] = halo_filter_kinds[i]->example;
    munmap(good, PROOF_MAX_CHAINS);
}

const char *const *proof_chains(int *ret_count)
{
    *ret_count = count;
    return chains;
}
