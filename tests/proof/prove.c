/* SPDX-License-Identifier: BSD-2-Clause
 * Whether anything of a raw frame ever comes out of halod: the programs of tools/prove-privacy.
 * */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/log.h"
#include "config/run.h"
#include "pipeline/base/av.h"
#include "tests/proof/chains.h"
#include "tests/proof/checker.h"
#include "tests/proof/exact.h"
#include "tests/proof/exam.h"
#include "tests/proof/eye.h"
#include "tests/proof/inspect.h"
#include "tests/proof/rounds.h"
#include "tests/proof/spots.h"

static const char help[] =
    "halo-prove checker [OPTION ...]   is the leak checker itself to be trusted?\n"
    "halo-prove exact [OPTION ...]     the filters alone, in every format, sample by sample\n"
    "halo-prove run [OPTION ...]       streams in this program's processes, under faults\n"
    "halo-prove look FILE ...          pictures that halod has made: files, unix:PATH\n"
    "halo-prove spots FILE ...         the same, from streams with the stand-in detector "
    "(spots.h)\n"
    "halo-prove chains [OPTION ...]    one a line: those that destroy all of a frame, or\n"
    "                                  --exam's, whose masks are in --out\n"
    "\n"
    "  --exam E      look, chains: FIRST:FORMAT:WxH:NUMBER of the source and its chains (exam.h)\n"
    "  --frames N    run: pictures to examine, at least (20000); checker: filtered ones\n"
    "  --stay N      spots: frames for which a spot stays in its place (4)\n"
    "  --faults N    run: faults to inject, at least (200)\n"
    "  --leaks N     checker: made in each way (1000)\n"
    "  --cases N     exact: formats, sizes and chains by chance (1000)\n"
    "  --points N    run: distinct points at which they are, at least (0)\n"
    "  --seconds N   run: ends then in any case (0: not)\n"
    "  --round N     run: seconds that an engine lasts (2)\n"
    "  --workers N   run: engines at a time (as many as there are CPUs)\n"
    "  --streams N   run: of each engine (4)\n"
    "  --seed N      run: of everything that happens by chance (1)\n"
    "  --wish LIST   run: HALOD_FAULT (kernels/fault.h) of every engine, not one by chance; may be "
    "''\n"
    "  --backend B   cpu, cuda or auto (cpu)\n"
    "  --out FOLDER  pictures that leak go there (.)\n"
    "  --leak        run: with pictures that leak on purpose; all must be found\n"
    "  --feed        run: all streams have regions that a feed tells\n"
    "  --verbose     every point by its name\n"
    "  --log         what halod logs, on standard error\n"
    "\n"
    "Painted pictures (pipeline/base/canary.h) go in. Exit status: 0, 1 a leak (or, in run, an "
    "engine\n"
    "that crashed, or too little done), 64 usage.\n";

struct wish {
    struct proof_rounds rounds;
    long leaks, cases, stay;
    struct proof_exam_settings exam; /* width 0: none */
    bool verbose, log;
};

static void fail_usage(const char *what)
{
    fprintf(stderr, "halo-prove: %s: see halo-prove --help\n", what);
    exit(HALO_EXIT_USAGE);
}

static double number(const char *text, double most)
{
    char *end;
    const double ret = strtod(text, &end);
    if (!*text || *end || !(ret >= 0 && ret <= most))
        fail_usage(text);
    return ret;
}

static int backend_of(const char *name)
{
    for (int i = 0; halo_run_backends[i]; i++)
        if (!strcmp(halo_run_backends[i], name))
            return i;
    fail_usage(name);
    return 0;
}

static const struct option rows[] = {
    {"frames", 1, NULL, 'f'},  {"faults", 1, NULL, 'F'},  {"leaks", 1, NULL, 'l'},
    {"cases", 1, NULL, 'c'},   {"exam", 1, NULL, 'e'},    {"points", 1, NULL, 'p'},
    {"seconds", 1, NULL, 't'}, {"round", 1, NULL, 'r'},   {"workers", 1, NULL, 'w'},
    {"streams", 1, NULL, 's'}, {"seed", 1, NULL, 'S'},    {"backend", 1, NULL, 'b'},
    {"out", 1, NULL, 'o'},     {"leak", 0, NULL, 'L'},    {"feed", 0, NULL, 'E'},
    {"wish", 1, NULL, 'W'},    {"verbose", 0, NULL, 'v'}, {"help", 0, NULL, 'h'},
    {"log", 0, NULL, 'g'},     {"stay", 1, NULL, 'y'},    {NULL}};

static void parse(struct wish *w, int argc, char **argv)
{
    struct proof_rounds *r = &w->rounds;
    for (int c; (c = getopt_long(argc, argv, "hv", rows, NULL)) != -1;) {
        switch (c) {
        case 'f':
            r->frames = (long)number(optarg, 1e12);
            break;
        case 'F':
            r->faults = (long)number(optarg, 1e12);
            break;
        case 'l':
            w->leaks = (long)number(optarg, 1e9);
            break;
        case 'y':
            w->stay = (long)number(optarg, 1000);
            break;
        case 'e':
            if (!proof_exam_read(&w->exam, optarg))
                fail_usage(optarg);
            break;
        case 'c':
            w->cases = (long)number(optarg, 1e9);
            break;
        case 'p':
            r->points = (long)number(optarg, 4000);
            break;
        case 't':
            r->seconds = number(optarg, 1e9);
            break;
        case 'r':
            r->round = number(optarg, 30);
            break;
        case 'w':
            r->workers = (int)number(optarg, 64);
            break;
        case 's':
            r->streams = (int)number(optarg, 32);
            break;
        case 'S':
            r->seed = (unsigned)number(optarg, 4e9);
            break;
        case 'b':
            r->backend = backend_of(optarg);
            break;
        case 'o':
            r->folder = optarg;
            break;
        case 'W':
            r->wish = optarg;
            break;
        case 'L':
            r->leak = true;
            break;
        case 'E':
            r->feed = true;
            break;
        case 'v':
            w->verbose = true;
            break;
        case 'g':
            w->log = true;
            break;
        case 'h':
            fputs(help, stdout);
            exit(0);
        default:
            exit(HALO_EXIT_USAGE);
        }
    }
    if (r->workers < 1 || r->streams < 1)
        fail_usage("--workers and --streams are 1 or more");
}

/* Whether as much was done as was wanted, and well. */
static bool judge(const struct wish *w, const struct proof_tally *t)
{
    int points;
    const long faults = proof_tally_faults(t, &points), frames = proof_tally_frames(t);
    const long leaks = atomic_load(&t->leaks);
    bool ret = true;
    if (w->rounds.leak) {
        printf("%ld of %ld leaks found\n", leaks, frames);
        return leaks > 0 && leaks == frames;
    }
    if (frames < w->rounds.frames)
        printf("too few: %ld pictures of %ld\n", frames, w->rounds.frames), ret = false;
    if (faults < w->rounds.faults)
        printf("too few: %ld faults of %ld\n", faults, w->rounds.faults), ret = false;
    if (points < w->rounds.points)
        printf("too few: %d points of %ld\n", points, w->rounds.points), ret = false;
    if (atomic_load(&t->only_blank))
        printf("%ld encodings of streams were blank all the time: that shows nothing\n",
               atomic_load(&t->only_blank)),
            ret = false;
    if (atomic_load(&t->failed))
        printf("%ld engines crashed, or did not end\n", atomic_load(&t->failed)), ret = false;
    return ret && leaks == 0;
}

static int run(const struct wish *w)
{
    struct proof_tally *tally = proof_tally_create(w->rounds.folder);
    if (!tally || !proof_rounds_run(&w->rounds, tally))
        return HALO_EXIT_FAILED;
    proof_tally_print(tally, w->verbose);
    return judge(w, tally) ? 0 : HALO_EXIT_FAILED;
}

static int inspect(const struct wish *w, int count, char **names)
{
    struct proof_exam *exam = w->exam.width ? proof_exam_open(&w->exam) : NULL;
    const int code = proof_inspect(count, names, exam, w->rounds.folder);
    proof_exam_close(exam);
    return code;
}

/* They are read later, so that masks stay. */
static int print_chains(const struct wish *w)
{
    struct proof_spec spec;
    int count;
    const char *const *whole = proof_chains(&count);
    for (int i = 0; !w->exam.width && i < count; i++)
        puts(whole[i]);
    for (unsigned i = 0; w->exam.width && i < PROOF_POOL; i++) {
        if (!proof_spec_make(&spec, w->exam.first + i, w->exam.width, w->exam.height, PROOF_TOLD,
                             w->rounds.folder))
            fail_usage("chains: --exam and --out");
        puts(spec.text);
    }
    return 0;
}

static bool check(const struct wish *w)
{
    const bool cells =
        proof_checker_run(halo_run_backends[w->rounds.backend], w->rounds.frames, w->leaks);
    const bool samples = proof_exact_check(w->rounds.seed, w->leaks, w->rounds.folder);
    printf("checker: %s\n", cells && samples ? "sound" : "NOT sound");
    return cells && samples;
}

int main(int argc, char **argv)
{
    struct wish wish = {.leaks = 1000,
                        .cases = 1000,
                        .stay = 4,
                        .rounds = {.frames = 20000,
                                   .faults = 200,
                                   .round = 2,
                                   .workers = (int)sysconf(_SC_NPROCESSORS_ONLN),
                                   .streams = 4,
                                   .seed = 1,
                                   .backend = backend_of("cpu"),
                                   .folder = "."}};
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        fputs(help, stdout);
        return 0;
    }
    if (argc < 2)
        fail_usage("what?");
    parse(&wish, argc - 1, argv + 1);
    argc -= 1 + optind, argv += 1 + optind;
    halo_av_init_log();
    halo_log_set_level(wish.log ? HALO_LOG_INFO : HALO_LOG_QUIET);
    mkdir(wish.rounds.folder, 0777);
    proof_chains_begin();
    if (!strcmp(what, "look"))
        return inspect(&wish, argc, argv);
    if (!strcmp(what, "spots"))
        return proof_spots(argc, argv, (unsigned)wish.stay);
    if (argc)
        fail_usage(argv[0]);
    if (!strcmp(what, "chains"))
        return print_chains(&wish);
    if (!strcmp(what, "checker"))
        return check(&wish) ? 0 : HALO_EXIT_FAILED;
    if (!strcmp(what, "exact"))
        return proof_exact_run(halo_run_backends[wish.rounds.backend], wish.rounds.seed, wish.cases,
                               wish.rounds.folder)
                   ? 0
                   : HALO_EXIT_FAILED;
    if (strcmp(what, "run") != 0)
        fail_usage(what);
    return run(&wish);
}
