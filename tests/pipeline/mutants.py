#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# mutants.py [--seed N] [FILE ...]: one privacy check left out, one limit changed: does a test see
# it?
"""Copies the tree, changes one place of the code on which privacy or the threads of a live stream
rest, or that decides how long the supervisor waits, builds the tests of that file, one after the
other, and runs each until one fails. halotest/mutation.py makes the mutants; those of FILES are
drawn, those of KNOWN are faults that were there. A mutant that lives and is not in SURVIVORS is a
hole in the tests. All of these tests are part of `meson test`. What runs on GPUs is tried
here on the CPU: the lanes of CUDA on a runtime of the tests' own."""
import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from halotest.mutation import known, read, run, tree, walk  # noqa: E402

CPU_LIMIT = 30  # seconds of a processor for one test, which takes one or two
WORLD_LIMIT = 200  # the same for a played world, which takes some twenty
TIME_LIMIT = 1200  # seconds

LANES = 'tests/kernels/kernels-lanes'
HERE = os.path.dirname(os.path.abspath(__file__))
EVENTS = os.path.join(HERE, '..', 'world', 'events')
BOX_EVENTS = os.path.join(HERE, '..', 'box', 'events')
COMMANDS = {
    'lanes-host': (LANES + '-host', '--backend', 'cuda', '--frames', '10'),
    'lanes-host-skipped': (LANES + '-host', '--backend', 'cuda', '--skip-steps'),
    'lanes-skipped-cpu': (LANES, '--backend', 'cpu', '--skip-steps'),
    'world': ('tests/world/world', '--seeds', '4', '--hours', '0.3', '--every', '1.5'),
    'world-events': ('tests/world/world', '--events', EVENTS),
    'box': ('tests/box/box', '--seeds', '40', '--seconds', '20', '--every', '0.2'),
    'box-events': ('tests/box/box', '--events', BOX_EVENTS),
}

# How many mutants are drawn of each file, and its tests, by their names in `meson test`; the first
# sees most.
PIPELINE = 'pipeline/'
DAEMON = 'daemon/'
WORLD = ('world-events', 'world')
BOX = ('box-events', 'box')
CUDA = 'kernels/cuda/'
FILES = {
    PIPELINE + 'gate/gate.c': (9, ('gate', 'gate_regions', 'privacy')),
    PIPELINE + 'gate/gate_plan.c': (12, ('gate_regions', 'privacy', 'plan')),
    PIPELINE + 'gate/gate_variants.c': (8, ('gate_regions', 'privacy')),
    PIPELINE + 'gate/gate_regions.c': (10, ('gate_regions', 'gate_cells')),
    PIPELINE + 'gate/gate_cells.c': (10, ('gate_cells', 'gate_regions')),
    PIPELINE + 'gate/noise.c': (5, ('noise',)),
    PIPELINE + 'gate/leak.c': (6, ('leak',)),
    PIPELINE + 'gate/queue.c': (3, BOX),
    PIPELINE + 'base/canary.c': (8, ('canary',)),
    PIPELINE + 'frame/format.c': (5, ('gate_regions',)),
    PIPELINE + 'frame/orient.c': (4, ('gate_regions',)),
    PIPELINE + 'frame/frame_pool.c': (2, ('gate',)),
    PIPELINE + 'filter/disclosure.c': (7, ('privacy',)),
    PIPELINE + 'filter/privacy.c': (9, ('privacy', 'examples', 'coverage')),
    PIPELINE + 'filter/filter_region.c': (2, ('gate_regions',)),
    PIPELINE + 'filter/residual.c': (7, ('privacy', 'examples')),
    PIPELINE + 'filter/coverage.c': (5, ('coverage',)),
    PIPELINE + 'region/region_feed.c': (13, ('region_feed',)),
    PIPELINE + 'region/region_motion.c': (9, ('region_feed',)),
    PIPELINE + 'region/shapes.c': (6, ('shapes', 'gate_regions')),
    PIPELINE + 'region/shapes_draw.c': (15, ('shapes',)),
    PIPELINE + 'region/shapes_parse.c': (5, ('shapes',)),
    PIPELINE + 'region/shapes_spread.c': (5, ('shapes',)),
    PIPELINE + 'detect/judge.c': (11, ('judge', 'judge_chance')),
    PIPELINE + 'detect/replay.c': (6, ('replay',)),
    PIPELINE + 'detect/tracks.c': (11, ('judge', 'tracks', 'judge_chance')),
    PIPELINE + 'detect/detect.c': (4, ('detect',) + BOX),
    PIPELINE + 'detect/detect_client.c': (4, ('detect',) + BOX),
    PIPELINE + 'stream/graph.c': (5, ('graph', 'privacy') + BOX),
    PIPELINE + 'stream/live.c': (2, BOX),
    PIPELINE + 'stream/live_worker.c': (2, BOX),
    PIPELINE + 'stream/live_cards.c': (2, BOX),
    PIPELINE + 'stream/live_encodings.c': (4, BOX),
    PIPELINE + 'stream/stages.c': (2, BOX),
    PIPELINE + 'stream/live_source.c': (2, BOX),
    PIPELINE + 'stream/live_status.c': (2, BOX),
    DAEMON + 'mqtt/broker.c': (2, WORLD),
    DAEMON + 'mqtt/broker.h': (0, WORLD),
    DAEMON + 'mqtt/mqtt.c': (4, WORLD),
    DAEMON + 'supervisor/sup_degraded.c': (2, WORLD),
    DAEMON + 'supervisor/sup_engine.c': (2, WORLD),
    DAEMON + 'supervisor/sup_feed.c': (2, WORLD),
    DAEMON + 'supervisor/sup_hides.c': (2, WORLD),
    DAEMON + 'supervisor/sup_message.c': (4, WORLD),
    DAEMON + 'supervisor/sup_place.h': (0, WORLD),
    DAEMON + 'supervisor/sup_process.c': (2, WORLD),
    DAEMON + 'supervisor/sup_regions.c': (2, WORLD),
    DAEMON + 'supervisor/sup_request.c': (2, WORLD),
    DAEMON + 'supervisor/sup_stream.c': (2, WORLD),
    DAEMON + 'supervisor/sup_status_text.c': (2, WORLD),
    DAEMON + 'supervisor/supervisor.c': (2, WORLD),
    DAEMON + 'supervisor/supervisor.h': (0, WORLD),
    DAEMON + 'view/feed.c': (2, WORLD),
    DAEMON + 'view/feed.h': (0, WORLD),
    DAEMON + 'view/listen.c': (2, WORLD),
    DAEMON + 'detector/pool.c': (0, WORLD),
    'kernels/backend.c': (1, ('lanes-skipped-cpu',)),
    CUDA + 'lane.c': (4, ('lanes-host-skipped', 'lanes-host')),
    CUDA + 'region_masks.c': (4, ('lanes-host',)),
}

SEED = 1

# Faults that were there, and limits, each made by a rule: what is wrong, the function ('': the
# file), the rule, and a word in the one place that it changes. Numbers are those of the commits
# that mended the fault; most are faults of order among the threads of a live stream.
KNOWN = {
    PIPELINE + 'gate/gate.c': (
        ('metadata and user data are kept', 'describe_output',
         ('put', 'av_frame_copy_props(out, raw);'), 'halo_av_frame_set_duration'),
        ('what hangs on the raw frame is kept', 'describe_output',
         ('put', 'out->opaque_ref = raw->opaque_ref ? av_buffer_ref(raw->opaque_ref) : NULL;'),
         'halo_av_frame_set_duration'),
    ),
    PIPELINE + 'stream/live_worker.c': (
        ('f8e1d627: a change is confirmed after 1.5 s, though older frames are inside',
         'answer_change', 'logic', 'stop'),
        ('6a9a2958: a snapshot that comes at the very end is never answered',
         'halo_live_worker_end', 'drop', 'halo_live_snapshots_close'),
        ('f8e1d627: a change is confirmed though older frames wait for an encoding',
         'oldest_inside', 'extreme', 'oldest'),
        ('f8e1d627: snapshots are answered after the change that follows them',
         'do_one', 'later', 'halo_live_snapshots_answer'),
        ('b923f5f2: what comes while the thread aside looks is not noticed',
         'wait_for_news', 'always', 'news'),
        ('f48f5c5c: no frame follows those that an encoder holds: no answer',
         'run', 'never', 'until'),
        ('b923f5f2: a change that comes at the very end is never answered',
         'halo_live_set', 'operand', 'over'),
    ),
    PIPELINE + 'stream/live_cards.c': (
        ('the last frame is not shown for its time', 'due', 'never', 'HALO_ON_ERROR_LAST'),
    ),
    PIPELINE + 'stream/live_encodings.c': (
        ('9764049e: frames that an encoder holds do not count when filters change',
         'halo_live_encodings_oldest', 'operand', 'holds'),
        ('3013243b: an encoder without a viewer waits for the next one',
         'halo_live_watch', 'drop', 'wake_for_card'),
        ('9764049e: newer frames are encoded behind older ones that the encoder holds',
         'begin_taken', 'drop', 'settle'),
        ('f8e1d627: a frame does not count while it is encoded', 'run', 'later', 'begin_taken'),
        ('an encoder that hangs while it is flushed is not noticed',
         'flush', 'drop', 'halo_live_enter'),
    ),
    PIPELINE + 'stream/stages.c': (
        ('f8e1d627: a frame on which a filter failed stays inside',
         'leave', 'drop', 'count_out'),
    ),
    PIPELINE + 'stream/graph.c': (
        ('dbdd4d60: the format goes while a snapshot or a card uses it',
         'halo_graphs_keep', 'later', 'users'),
    ),
    PIPELINE + 'stream/live_source.c': (
        ('a8a5ee00: frames enter before their encodings are described',
         'hold_session', 'drop', 'halo_live_encodings_wait'),
        ('d672637f: the end is told before the last frames', 'run', 'later', 'end_all'),
        ('57ab6f27: cards wait until the source is closed', 'live_on', 'later', 'ends'),
        ('a source is tried again after 2.5 s', '', 'ten times', 'FIRST_PAUSE'),
        ('a source is tried again after 50 s at last', '', 'ten times', 'LAST_PAUSE'),
    ),
    PIPELINE + 'stream/live_status.c': (
        ('ba68c074: frames from before the source was lost show that it is back',
         'report', 'compare', 'away'),
        ('1bbff79b: the first card waits for the thread that looks by itself',
         'report', 'drop', 'changed'),
    ),
    PIPELINE + 'stream/live.c': (
        ('5946e4bf: a stop waits until the source is tried again',
         'wake_all', 'drop', 'halo_live_status_wake'),
    ),
    PIPELINE + 'detect/detect_client.c': (
        ('56b07513: a detector is wanted before the last answer', 'want', 'always', 'wanted'),
    ),
    PIPELINE + 'detect/detect.c': (
        ('56b07513: a detector that comes does not wake the stream',
         'halo_detect_connect', 'drop', 'halo_detect_wake'),
        ('a stop waits for verdicts', 'is_stopped', 'give', 'stop'),
    ),
    PIPELINE + 'detect/judge.c': (
        ('ahead: ten times as much is waited for', 'is_seen_ahead', 'number', 'ahead'),
        ('wait: 0: verdicts hold ten times as long', '', 'ten times', 'BEHIND_US'),
    ),
    PIPELINE + 'detect/tracks.c': (
        ('hold: ten times as long', 'turn_to', 'number', 'hold'),
    ),
    PIPELINE + 'region/region_feed.c': (
        ('hold: ten times as long', 'halo_region_feed_create', 'number', 'hold'),
    ),
    PIPELINE + 'gate/queue.c': (
        ('966facb8: who waits for room is not told that there is',
         'get', 'drop', 'halo_cond_broadcast'),
    ),
    DAEMON + 'supervisor/supervisor.h': (
        ('engines may be silent for 30 s', '', 'ten times', 'HALO_ENGINE_SILENCE_MS'),
        ('engines may be silent for 0.3 s', '', 'a tenth', 'HALO_ENGINE_SILENCE_MS'),
    ),
    DAEMON + 'supervisor/supervisor.c': (
        ('engines may start for 100 s', '', 'ten times', 'HELLO_MS'),
        ('an engine without a link has 2 s to exit', '', 'ten times', 'LAST_WORDS_MS'),
        ('sleep is not forgiven', '', 'ten times', 'STALL_MS'),
    ),
    DAEMON + 'supervisor/sup_degraded.c': (
        ('a full GPU is waited for, though the CPU may do it', '', 'ten times', 'MEMORY_MS'),
    ),
    DAEMON + 'supervisor/sup_engine.c': (
        ('engines that stalled are good again after five minutes', '', 'ten times', 'MOVED_MS'),
    ),
    DAEMON + 'supervisor/sup_feed.c': (
        ('outputs are tried again after 50 s', '', 'ten times', 'AGAIN_MS'),
    ),
    DAEMON + 'supervisor/sup_hides.c': (
        ('a full disk is tried again after 50 s', '', 'ten times', 'AGAIN_MS'),
    ),
    DAEMON + 'supervisor/sup_place.h': (
        ('pauses begin with 25 ms', '', 'a tenth', 'SV_BACKOFF_MS'),
        ('pauses begin with 2.5 s', '', 'ten times', 'SV_BACKOFF_MS'),
        ('pauses grow to 50 s', '', 'ten times', 'SV_BACKOFF_MAX_MS'),
        ('an engine is good after a second', '', 'a tenth', 'SV_GOOD_MS'),
    ),
    DAEMON + 'supervisor/sup_process.c': (
        ('engines have 0.8 s to finish', '', 'a tenth', 'QUIT_MS'),
        ('engines have 80 s to finish', '', 'ten times', 'QUIT_MS'),
    ),
    DAEMON + 'supervisor/sup_regions.c': (
        ('ten times as many updates wait', '', 'ten times', 'LIMIT'),
    ),
    DAEMON + 'supervisor/sup_request.c': (
        ('answers come after 45 s', '', 'ten times', 'REPLY_MS'),
    ),
    DAEMON + 'supervisor/sup_message.c': (
        ('ten invalid messages are enough', '', 'a tenth', 'STRAYS_MAX'),
    ),
    DAEMON + 'supervisor/sup_status_text.c': (
        ('no stall is one too many', '', 'ten times', 'STANDS'),
    ),
    DAEMON + 'mqtt/broker.h': (
        ('a broker is tried again after 5 minutes', '', 'ten times', 'HALO_MQTT_PAUSE_MAX_S'),
        ('a broker is tried again after 10 s at first', '', 'ten times', 'HALO_MQTT_PAUSE_MIN_S'),
    ),
    DAEMON + 'mqtt/mqtt.c': (
        ('states are published after half a second', '', 'ten times', 'SOON_MS'),
    ),
    DAEMON + 'mqtt/broker.c': (
        ('a broker that is silent is kept for 5 minutes', '', 'ten times', 'KEEPALIVE_S'),
        ('a broker has 150 s for the login', '', 'ten times', 'LOGIN_S'),
    ),
    DAEMON + 'view/feed.h': (
        ('a card comes after 4 s', '', 'ten times', 'HALO_FEED_SILENCE_MS'),
    ),
    DAEMON + 'view/feed.c': (
        ('cards come every 5 s', '', 'ten times', 'CARD_MS'),
    ),
    DAEMON + 'detector/pool.c': (
        ('pauses of detectors begin with 2.5 s', '', 'ten times', 'PAUSE_MS'),
        ('pauses of detectors grow to 50 s', '', 'ten times', 'PAUSE_MAX_MS'),
    ),
}

# Mutants that live, by file: function, rule, which one, with the reason why the program does the
# same, or "open": these wait for a test.
SURVIVORS = {
    PIPELINE + 'base/canary.c': {
        ('check_places', 'compare', 2): 'open: a picture as high as a place',
        ('is_flat', 'compare', 3): 'open: a difference of exactly the limit',
        ('sample_of', 'number', 5): 'another pattern, as good',
    },
    PIPELINE + 'detect/judge.c': {
        ('judge_one', 'operand', 1): 'open',
    },
    PIPELINE + 'detect/replay.c': {
        ('run', 'operand', 1): 'who waits has no frame, and 0 is less than any number',
    },
    PIPELINE + 'detect/tracks.c': {
        ('match', 'operand', 2): 'open',
    },
    PIPELINE + 'filter/coverage.c': {
        ('halo_coverage_guess', 'compare', 3): 'open: a leak, which only sanitizers see',
    },
    PIPELINE + 'filter/residual.c': {
        ('limit', 'number', 2): 'open: reads one weight more, which only sanitizers see',
        ('sum_of', 'number', 2): 'open: reads one weight more, which only sanitizers see',
    },
    PIPELINE + 'gate/gate.c': {
        ('allocate_card', 'compare', 2): 'no format has as many buffers',
        ('halo_gate_set_device', 'operand', 1): 'open: frames on a device',
        ('submit_again', 'negate', 3): 'open: a device that is lost',
    },
    PIPELINE + 'gate/gate_plan.c': {
        ('add_steps', 'operand', 1): 'open: a strategy that cannot do all planes',
    },
    PIPELINE + 'gate/gate_regions.c': {
        ('create_frame', 'operand', 2): 'only after a failed allocation',
    },
    PIPELINE + 'gate/gate_variants.c': {
        ('make_way', 'number', 1): 'open',
        ('most_spill', 'number', 2): 'open: planes of chroma',
    },
    PIPELINE + 'gate/noise.c': {
        ('fill_from_kernel', 'compare', 3): 'open: a call that a signal interrupts',
        ('halo_random_finish', 'number', 1): 'nothing is drawn after the end',
    },
    PIPELINE + 'frame/format.c': {
        ('halo_format_reach', 'compare', 3): 'the larger of two equal ones',
    },
    PIPELINE + 'frame/orient.c': {
        ('halve', 'number', 3): 'only after a failed allocation',
    },
    PIPELINE + 'region/region_motion.c': {
        ('find_hull', 'compare', 4): 'points on a line more or less',
        ('halo_motion_go_on', 'number', 2): 'corners of no width lie where they begin',
    },
}


def failed_case(output):
    """The first that a test names."""
    for pattern in (r'^\[  FAILED  \] (\w+)$', r'^FAIL (.*)$'):
        found = re.search(pattern, output, re.M)
        if found:
            return found.group(1)
    return 'its end'


def command_of(test):
    return COMMANDS.get(test, ('tests/test_' + test,))


def try_test(copy, test):
    """How it failed, or None; and whether that is wrong."""
    program, *arguments = command_of(test)
    wrong = copy.build(program)
    if wrong:
        return wrong, True
    limit = WORLD_LIMIT if test in WORLD + BOX else CPU_LIMIT
    try:
        done = run(copy.program(program), *arguments, cpu=limit, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f'{test}: no end in {TIME_LIMIT} s', False
    return (f'{test}: {failed_case(done.stdout)}', False) if done.returncode else (None, False)


def try_mutant(copy, mutant, tests):
    with copy.changed(mutant):
        for test in tests:
            failure, wrong = try_test(copy, test)
            if failure:
                return (None, failure) if wrong else (True, f'caught by {failure}')
    return False, 'LIVES: ' + ', '.join(tests) + ' pass'


def known_of(name, rows):
    for what, *place in rows:
        mutant = known(read(name), *place)
        yield mutant and mutant._replace(file=name, what=what)


def main():
    parser = argparse.ArgumentParser(description='Mutants of the privacy code, of live streams and '
                                                 'the supervisor that tests must catch.')
    parser.add_argument('files', nargs='*', help='only those whose names contain one of these')
    parser.add_argument('--seed', type=int, default=SEED, help='draw others')
    arguments = parser.parse_args()
    names = [name for name in FILES
             if not arguments.files or any(part in name for part in arguments.files)]
    with tree('-Dbuildtype=debug', '-Dcuda=disabled', '-Dfaults=true') as copy:
        for test in sorted({test for name in names for test in FILES[name][1]}):
            failure, _ = try_test(copy, test)
            if failure:
                sys.exit(f'mutants: without any of them: {failure}')
        sys.exit(walk([(name, FILES[name][0]) for name in names],
                      lambda mutant: try_mutant(copy, mutant, FILES[mutant.file][1]),
                      arguments.seed, SURVIVORS,
                      [mutant for name in names for mutant in known_of(name, KNOWN.get(name, ()))]))


if __name__ == '__main__':
    main()
