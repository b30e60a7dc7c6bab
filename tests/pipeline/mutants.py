#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# mutants.py [NUMBER ...]: one privacy check left out, one old region kept: does a test see it?
"""Copies the tree, changes one place of the code on which privacy rests, builds the tests of that
file, one after the other, and runs each until one fails. A mutant that lives is a hole in the
tests. All of these tests are part of `meson test`. What runs on GPUs is tried here on the CPU: the
lanes of CUDA on a runtime of the tests' own."""
import argparse
import os
import re
import subprocess
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from halotest.mutation import run, tree, walk  # noqa: E402

TIME_LIMIT = 120  # seconds for one test, which takes one or two

LANES = 'tests/kernels/kernels-lanes'
COMMANDS = {
    'lanes-host': (LANES + '-host', '--backend', 'cuda', '--frames', '10'),
    'lanes-host-skipped': (LANES + '-host', '--backend', 'cuda', '--skip-steps'),
    'lanes-skipped-cpu': (LANES, '--backend', 'cpu', '--skip-steps'),
}

# The tests of each file, by their names in `meson test`; the first sees most.
PIPELINE = 'pipeline/'
CUDA = 'kernels/cuda/'
TESTS = {
    PIPELINE + 'gate/gate.c': ('gate', 'gate_regions', 'privacy'),
    PIPELINE + 'gate/gate_plan.c': ('gate_regions', 'privacy', 'plan'),
    PIPELINE + 'gate/gate_ways.c': ('gate_regions', 'privacy'),
    PIPELINE + 'gate/gate_regions.c': ('gate_regions', 'gate_cells'),
    PIPELINE + 'gate/gate_cells.c': ('gate_cells',),
    PIPELINE + 'filter/leaves.c': ('privacy',),
    PIPELINE + 'base/canary.c': ('canary',),
    PIPELINE + 'gate/leak.c': ('leak',),
    PIPELINE + 'live/live_lineup.c': ('lineup', 'privacy'),
    PIPELINE + 'picture/picture_pool.c': ('gate',),
    PIPELINE + 'filter/privacy.c': ('privacy', 'examples'),
    PIPELINE + 'detect/judge.c': ('judge', 'judge_chance'),
    PIPELINE + 'detect/judge_live.c': ('judge', 'judge_chance'),
    PIPELINE + 'detect/judge_file.c': ('judge', 'judge_chance'),
    PIPELINE + 'detect/tracks.c': ('judge', 'judge_chance'),
    PIPELINE + 'detect/tracks_back.c': ('judge', 'judge_chance'),
    PIPELINE + 'region/region_feed.c': ('region_feed',),
    PIPELINE + 'region/region_motion.c': ('region_feed',),
    PIPELINE + 'filter/filter_region.c': ('gate_regions',),
    PIPELINE + 'filter/remains.c': ('privacy', 'examples'),
    PIPELINE + 'filter/coverage.c': ('coverage',),
    PIPELINE + 'region/shapes.c': ('shapes', 'gate_regions'),
    PIPELINE + 'region/shapes_draw.c': ('shapes',),
    PIPELINE + 'region/shapes_feather.c': ('shapes',),
    PIPELINE + 'region/shapes_parse.c': ('shapes',),
    PIPELINE + 'region/shapes_spread.c': ('shapes',),
    PIPELINE + 'picture/orient.c': ('gate_regions',),
    'kernels/frame.c': ('lanes-skipped-cpu',),
    CUDA + 'lane.c': ('lanes-host-skipped', 'lanes-host'),
    CUDA + 'region_masks.c': ('lanes-host',),
}

Mutant = namedtuple('Mutant', 'what file old new')


def group(file, *rows):
    return [Mutant(what, file, old, new) for what, old, new in rows]


MUTANTS = [
    *group(
        PIPELINE + 'gate/gate.c',
        ('user-data SEI is kept', 'AV_FRAME_DATA_CONTENT_LIGHT_LEVEL};',
         'AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_SEI_UNREGISTERED};'),
        ('metadata is kept', 'out->pts = raw->pts;',
         'out->pts = raw->pts; av_dict_copy(&out->metadata, raw->metadata, 0);'),
        ('what hangs on the raw frame is kept', 'out->pts = raw->pts;',
         'out->pts = raw->pts; '
         'out->opaque_ref = raw->opaque_ref ? av_buffer_ref(raw->opaque_ref) : NULL;'),
        ('any chain may pass where null may',
         'halo_gate_plan_is_passthrough(gate->plan)', 'true'),
        ('output memory shows an older picture', 'const bool gray = !pending->lane',
         'const bool gray = false && !pending->lane'),
        ('older settings will do', 'pending->epoch == epoch && input->epoch == epoch && !fault',
         '!fault'),
        ('a frame that failed in the end is shown', 'if (code == -EIO) {',
         'code = code == -EIO ? 0 : code; if (code == -EIO) {'),
        ('a frame that no lane took is shown',
         'if (code == -EIO || code == -ENOMEM)\n        return submit',
         'if (code == -EIO || code == -ENOMEM)\n        return 0 * submit'),
        ('regions in pixels hold for other sizes',
         '&& known == HALO_KNOWN && !gate->ways.cells)', '&& !gate->ways.cells)'),
        ('the regions are told of the size, but not that it is another',
         'raw->verdict, known);',
         'raw->verdict, HALO_KNOWN);'),
        ('a feed\'s regions are not asked for',
         'if (pending->regions)\n        return halo_picture',
         'if (false)\n        return halo_picture'),
        ('interlaced frames are taken for others',
         'raw->frame->interlaced_frame ? HALO_SPILL_Y : 0', '0'),
        ('what frames say of their chroma is not heard', 'spill = raw->spill |', 'spill ='),
        ('blank pictures are old ones',
         'picture ? halo_picture_pool_get(gate->outputs, true) : NULL;',
         'picture ? halo_picture_pool_get(gate->outputs, false) : NULL;'),
        ('cards are drawn into old memory',
         'memset(frame->buf[i]->data, 0x80, frame->buf[i]->size);',
         ';'),
    ),
    *group(
        PIPELINE + 'gate/gate_ways.c',
        ('no plan is judged', 'code = halo_gate_plan_judge(&way->plan, err);', 'code = 0;'),
        ('pictures that are shown turned go the way of others',
         'turn == input->turn && spill', 'spill'),
        ('regions lie somewhere in pictures of which nobody knows how they are shown',
         '*ret_known = HALO_KNOWN_TOLD;', ''),
        ('interlaced pictures go the way of others', 'turn == input->turn && spill == input->spill',
         'turn == input->turn'),
        ('of interlaced pictures no plan is made', 'input.spill = spill;', ''),
        ('a plan for interlaced pictures is one for turned ones', 'turn * HALO_SPILLS + spill;',
         'turn + spill;'),
        ('columns of chroma do not spill', 'info.log2_sub_x ? HALO_SPILL_X : 0', '0'),
        ('a stream\'s word does not count for its pictures',
         '(spill & most_spill(first)) | first->input.spill', 'spill & most_spill(first)'),
        ('a feed\'s regions are the same in interlaced pictures',
         'if (!first->written && !first->supplied)', 'if (!first->written)'),
        ('without a plan a feed\'s regions are those of another',
         '*ret_known = HALO_KNOWN_NOTHING;', '*ret_known = HALO_KNOWN_TOLD;'),
    ),
    *group(
        PIPELINE + 'picture/picture_pool.c',
        ('only luma becomes gray', 'if (gray)', 'if (gray && p == 0)'),
    ),
    *group(
        PIPELINE + 'gate/gate_plan.c',
        ('a filter that is nothing for its small region is taken',
         'if (filter->follows > 0)', 'if (filter->follows < 0)'),
        ('what lies around a region is as small as it',
         'plan->filter[f].written && !filter->common.invert', 'plan->filter[f].written'),
        ('what lies around a feed\'s regions is as small as they',
         'planned->filter->follows > 0 && !halo_filter_inverts(planned->filter);',
         'planned->filter->follows > 0;'),
        ('levels that filter nothing are used', 'return alike;', 'return true;'),
        ('a filter takes a region for its inverse',
         'a->common.invert == b->common.invert && ', ''),
        ('a filter takes a feathered region for one that is not',
         '&& a->common.feather == b->common.feather', ''),
        ('masks of the plan share a number',
         'planned->drawn[p].region.number = halo_region_number();',
         'planned->drawn[p].region.number = 1;'),
        ('4:2:2 takes luma\'s mask for chroma',
         'info.log2_sub_x == mine.log2_sub_x && info.log2_sub_y == mine.log2_sub_y',
         'info.log2_sub_y == mine.log2_sub_y'),
        ('4:4:0 takes luma\'s mask for chroma',
         'info.log2_sub_x == mine.log2_sub_x && info.log2_sub_y == mine.log2_sub_y',
         'info.log2_sub_x == mine.log2_sub_x'),
        ('regions in pixels of an unknown size are believed',
         'return plan->input.unsure && plan->filter[f].pixels;', 'return false && plan && f;'),
        ('the second pass of a filter is left out', 'pass < plane->passes; pass++',
         'pass < (plane->passes > 0); pass++'),
        ('levels that strict forbids are used',
         'if (plan->filter[f].levels > good)',
         'if (good < 0)'),
        ('columns of chroma show what is beside them', 'info.log2_sub_x && plan->input.spill',
         'false && plan->input.spill'),
        ('rows of chroma show the other field', 'info.log2_sub_y && plan->input.spill',
         'false && plan->input.spill'),
        ('a region without a pixel of the picture is taken', 'if (any)\n        return 0;',
         'if (any || true)\n        return 0;'),
    ),
    *group(
        PIPELINE + 'gate/gate_regions.c',
        ('only the first size of a chain is asked whether a blur is strong enough',
         'i < filter->follows; i++', 'i < filter->follows && i < 1; i++'),
        ('heights are measured by the width', '? height <= input->height * part',
         '? width <= input->width * part'),
        ('a stale region number lets a CUDA lane keep the old mask',
         'drawn->region.number = halo_region_number();',
         'static uint64_t one; drawn->region.number = one = one ? one : halo_region_number();'),
        ('every region is as small as can be',
         'is_enough(planned, input, level + 1, width, height)',
         '(is_enough(planned, input, level + 1, width, height) || true)'),
        ('nothing known: as weak as for the last regions',
         'shapes ? find_level(&plan->input, planned, shapes) : 0', 'planned->levels - 1'),
        ('nothing known: the last regions',
         'shapes ? &picture->drawn[planned->leader', 'true ? &picture->drawn[planned->leader'),
        ('a second filter of the same regions has none',
         '[planned->leader * HALO_MAX_PLANES + canvas]',
         '[f * HALO_MAX_PLANES + canvas]'),
        ('inverted filters have the regions of the others',
         '&supply->fed[inverted]', '&supply->fed[false]'),
        ('people that are hidden are all that is shown around them',
         'halo_verdict_get(supply->verdict, find, inverted)',
         'halo_verdict_get(supply->verdict, find, false)'),
        ('faces are people',
         'filter->shapes->from == HALO_SHAPES_FACES ? HALO_FIND_FACES : HALO_FIND_PEOPLE',
         'HALO_FIND_PEOPLE'),

        ('without a plan a feed is asked', 'plan->supplied && worth != HALO_KNOWN_NOTHING;',
         'plan->supplied;'),
        ('a size change shows what is around a written region',
         'everywhere ? NULL : plan->steps[p].own[s].region;', 'plan->steps[p].own[s].region;'),
        ('without a feed nothing is hidden', 'return regions->feed && (hidden',
         'return !regions->feed || (hidden'),
    ),
    *group(
        PIPELINE + 'detect/judge.c',
        ('a detector that was gone is believed at once',
         '    f->unanswered = 0;\n'
         '    halo_judge_lose(judge, find);',
         '    f->unanswered = 0;'),
        ('a cut shows at once what a verdict shows',
         '        halo_judge_restart(&judge->find[f]);\n'
         '        judge->find[f].cut = true;',
         '        judge->find[f].cut = true;'),
        ('what was not seen before agrees',
         'find->judged == 1 || !agrees',
         'find->judged == 1'),
        ('frames pass before enough agree',
         'slot->answered & slot->clear & bit',
         'slot->answered & bit'),
        ('old verdicts are moved forever',
         'at - find->newest_at > BEHIND_US',
         'false'),
        ('what waits for frames after it is shown without them',
         'halo_judge_slot(judge, i)->clear &= ~halo_find_bit(find);\n'
         '}\n\n'
         'void halo_judge_count',
         'halo_judge_slot(judge, i)->clear |= 0;\n'
         '}\n\n'
         'void halo_judge_count'),
    ),
    *group(
        PIPELINE + 'detect/judge_live.c',
        ('late verdicts count',
         'n >= f->since_n && !late',
         'n >= f->since_n'),
        ('verdicts from before a cut count',
         'counts = n >= f->since_n && !late',
         'counts = !late'),
        ('a gap is nothing',
         '    if (is_gap(f, f->at))\n'
         '        halo_judge_lose(judge, find);\n',
         '    (void)is_gap;\n'),
        ('frames do not wait for those after them',
         'is_seen_ahead(judge, halo_judge_slot(judge, 0))',
         '(is_seen_ahead(judge, halo_judge_slot(judge, 0)) || judged)'),
        ('too little is seen ahead',
         'find->newest_at - slot->at < (int64_t)(find->settings->ahead * 1e6)',
         'find->newest_at - slot->at < (int64_t)(find->settings->ahead * 5e5)'),
    ),
    *group(
        PIPELINE + 'detect/judge_file.c',
        ('a scene in a file begins settled',
         '    if (slot->cut)\n'
         '        halo_judge_restart(f);\n',
         ''),
    ),
    *group(
        PIPELINE + 'detect/tracks.c',
        ('a track that is missed is forgotten',
         't->end = at + (int64_t)(tracks->settings.hold * 1e6);',
         't->end = at;'),
        ('a face takes the track of another',
         't->left = true;\n'
         '            begin_with(tracks, m, box);',
         'go_on(tracks, m, t, box);'),
    ),
    *group(
        PIPELINE + 'detect/tracks_back.c',
        ('nothing is hidden before a first box',
         'anchor.at - BACK_US',
         'anchor.at'),
        ('what is hidden before a first box passes a cut',
         'i >= 0 && !halo_tracks_frame(tracks, i + 1)->cut; i--',
         'i >= 0; i--'),
    ),
    *group(
        PIPELINE + 'region/region_feed.c',
        ('silence is believed',
         'if (now - feed->came > feed->limit)\n        return "silent";',
         ''),
        ('old words hold for late pictures', 'picture_us > feed->at + feed->limit / 1000 || ', ''),
        ('pictures from before are shown as of now', ' || picture_us < feed->before)', ')'),
        ('what is not named is not held', 'return t->named || picture_us <= t->end;',
         'return t->named && picture_us;'),
        ('things held over are missing in late frames',
         'if (is_in(&feed->thing[i], picture_us) &&',
         'if (is_in(&feed->thing[i], picture_us) &&\n'
         '            (feed->thing[i].named || picture_us >= feed->at) &&'),
        ('an earlier, longer ttl is forgotten', 't->ttl = later(ttl, t->ttl - (at - t->at));',
         't->ttl = ttl;'),
        ('a longer ttl for the same picture is forgotten', 't->ttl = later(ttl, t->ttl);',
         't->ttl = ttl;'),
        ('a ttl does not hold', 'later(picture_us + feed->hold, t->at + t->ttl);',
         'picture_us + feed->hold;'),
        ('a hold does not', 'later(picture_us + feed->hold, t->at + t->ttl);',
         't->at + t->ttl;'),
        ('what has ended is dropped a picture too early', 'feed->thing[i].end < feed->before',
         'feed->thing[i].end < feed->at'),
        ('words of an older session are taken', 'picture_us < feed->session || ', ''),
        ('words about an older picture are taken', '(!silent && picture_us < feed->at)', 'false'),
        ('words about the future are taken',
         'if (picture_us - SKEW_US > feed->newest)',
         'if (false)'),
        ('between two pictures only the second place is hidden',
         '&t->before, &t->last, margin, most);', '&t->last, NULL, margin, most);'),
        ('what moves is taken to have stopped', '&t->last, &there, margin, most);',
         '&t->last, NULL, margin, most);'),
        ('what finds no place is not hidden',
         '    halo_motion_join(&t->last, motion);\n    t->joined',
         '    t->joined'),
        ('what finds no place ends with what it joined',
         't->ttl = later(t->at + t->ttl, at + ttl) - t->at;', ''),
        ('what finds no place in its unit is dropped', 'forget(feed);\n        return;', 'return;'),
        ('a session begins with the regions of the last', 'forget(feed);\n    feed->session',
         'feed->session'),
        ('of two in one picture the last counts',
         'halo_motion_join(&t->last, motion); /* reported twice',
         't->last = *motion; /* reported twice'),
        ('things without an id are one', '*id && i < feed->things', 'i < feed->things'),
        ('shown is what was joined', 'feed->thing[i].named && !feed->thing[i].joined',
         'feed->thing[i].named'),
        ('shown is what was there later', 'i < feed->things && picture_us >= feed->at',
         'i < feed->things'),
    ),
    *group(
        PIPELINE + 'region/region_motion.c',
        ('a box around two is one side short',
         'fmin(a.y0, b.y0), fmax(a.x1, b.x1),\n', 'fmin(a.y0, b.y0), a.x1,\n'),
        ('the margin is missing on the left', '(struct halo_box){a.x0 - x, a.y0 - y,',
         '(struct halo_box){a.x0, a.y0 - y,'),
        ('what grows does not go on', 'fmax(size - (before[1] - before[0]), 0);',
         '0 * (size - before[0]);'),
        ('what shrinks goes on', 'fmax(size - (before[1] - before[0]), 0);',
         'size - (before[1] - before[0]);'),
        ('gaps between ellipses', 'sqrt(1 + step * step / 4);', '1 + 0 * step;'),
        ('the last ellipse of a way is missing', 'i <= steps; i++', 'i < steps; i++'),
        ('ellipses on their way are as wide as the first',
         'fmax(a.x1 - a.x0, b.x1 - b.x0) / 2, ry', '(a.x1 - a.x0) / 2, ry'),
        ('one too many is dropped', 'list->box[best] = around(list->box[best], box);', ''),
        ('the way of a polygon is where it began', 'count = add_grown(point, count, to, margin);',
         'count += 0;'),
        ('of two units one is hidden', 'halo_motion_put(list, from, NULL, margin, 1) &&', ''),
        ('shown is more than was told', 'grown(motion->box, -margin);',
         'grown(motion->box, margin);'),
    ),
    *group(
        PIPELINE + 'region/shapes.c',
        ('a region\'s width and height in pixels are forgotten after a size change',
         'is_pixels(&s->width) || is_pixels(&s->height);', 'false;'),
        ('a region\'s place in pixels is forgotten after a size change',
         'is_pixels(&s->x) || is_pixels(&s->y) ||', ''),
        ('a polygon in pixels is forgotten after a size change',
         'has |= is_pixels(&s->corner[corner][0])',
         'has |= false && is_pixels(&s->corner[corner][0])'),
        ('of several shapes the last one\'s size counts',
         'fmin(all.x0, box.x0), fmin(all.y0, box.y0),', 'box.x0, box.y0,'),
        ('what is outside has a size',
         'const bool some = all.x0 < all.x1;',
         'const bool some = true;'),
        ('polygons end at their last corner', 'box.x1 = fmax(box.x1, x);', 'box.x1 = x;'),
        ('parts are of the height', 'box.x0 = halo_shape_length(&shape->x, width);',
         'box.x0 = halo_shape_length(&shape->x, height);'),
    ),
    *group(
        PIPELINE + 'region/shapes_draw.c',
        ('a sample that a region meets is shown',
         'inner ? ceil_div(from, of.unit) : floor_div(from, of.unit)',
         'ceil_div(from, of.unit)'),
        ('a sample that is hidden in part is shown by invert',
         'inner ? floor_div(to, of.unit) : ceil_div(to, of.unit)', 'ceil_div(to, of.unit)'),
        ('lines hide nothing', 'if (*ret1 < *ret0)', 'if (*ret1 < *ret0 || from >= to)'),
        ('thin ellipses hide nothing', 'draw_rect(d, box);\n        return;', 'return;'),
        ('rows that meet an ellipse are shown', 'd->inner ? far : near', 'far'),
        ('inverted ellipses show what they meet', 'd->inner ? far : near', 'near'),
        ('edges of polygons are shown', 'mark_edges(d, edges, count, y);', '(void)mark_edges;'),
        ('polygons are hollow', 'fill_middles(d, edges, count, y);', '(void)fill_middles;'),
        ('the last of a mask\'s pixels under a sample counts',
         'most = (row[x] ^ flip) > most ? row[x] ^ flip : most;', 'most = row[x] ^ flip;'),
        ('a mask\'s pixel under the end of a sample is left out',
         '(int)ceil_div(v1 * mask, whole);', '(int)(v1 * mask / whole);'),
        ('shapes that make no sense are drawn', 'fine = is_shape(&shapes[i]);',
         'fine = is_shape(&shapes[i]) || shapes[i].kind == HALO_SHAPE_RECT;'),
        ('invert is forgotten for rectangles', '.rect_count = rects, .invert = c->invert};',
         '.rect_count = rects};'),
        ('inverted rectangles show what others show of them', '&& !(spill && canvas->invert)',
         '&& (spill || true)'),
        ('masks do not spread', 'if (halo_shapes_spread(c, to, d->box, d->boxes) < 0)',
         'if (c->height < 0)'),
        ('what was drawn before shows through',
         'd->to->touched = halo_rect_join(d->to->touched, r);',
         'd->to->touched = r;'),
        ('the ground of an inverted mask is that of the one before',
         'to->mask_height == c->height &&\n                      to->around == around;',
         'to->mask_height == c->height;'),
        ('a mask of another size is taken for this one\'s', 'to->mask_width == c->width && ', ''),
    ),
    *group(
        PIPELINE + 'region/shapes_spread.c',
        ('nothing spreads to the right', 'largest(left, own,', 'largest(own, own,'),
        ('nothing spreads to the left', 'x + 1 < width ? row[x + 1] : 0);', 'own);'),
        ('nothing spreads downwards', 'largest(above[x], own[x], below[x])',
         'largest(own[x], own[x], below[x])'),
        ('nothing spreads upwards', 'largest(above[x], own[x], below[x])',
         'largest(above[x], own[x], own[x])'),
        ('what has spread spreads on', 'memcpy(above, own, count);\n    }',
         'memcpy(above, row, count);\n    }'),
        ('nothing spreads out of what was drawn',
         'region->touched = halo_rect_grow(region->touched, x, y, width, height);', ''),
        ('regions grow in one direction', 'r.y1 < height - by_y ? r.y1 + by_y : height;',
         'r.y1 < height - by_y ? r.y1 : height;'),
    ),
    *group(
        PIPELINE + 'picture/orient.c',
        ('mirrored columns of an odd size stay where they were',
         'to->width & 1 ? HALO_SPILL_X : 0', '0'),
        ('mirrored rows of an odd size stay where they were',
         'to->height & 1 ? HALO_SPILL_Y : 0', '0'),
        ('turned fields are rows', 'o->quarters & 1 ? HALO_SPILL_X : HALO_SPILL_Y',
         'HALO_SPILL_Y'),
        ('turned frames have no fields', 'from->interlaced_frame ? fields : 0', '0 * fields'),
    ),
    *group(
        PIPELINE + 'region/shapes_feather.c',
        ('feathers are rounded down', 'to[x] = (uint8_t)(to[x] + (to[x] < weight));', ''),
        ('a feather is written over what is hidden', 'if (row[x] == 0)\n            continue;', ''),
        ('a feather falls downwards only', 'to[x] = (int16_t)(up <= down ? -up : down);',
         'to[x] = (int16_t)-up;'),
        ('of two equally near weights the upper one counts', 'below ? distance : -distance',
         'below ? -distance : -distance'),
    ),
    *group(
        PIPELINE + 'region/shapes_parse.c',
        ('a size of 0 is taken', 'code == 0 && ret->value <= 0', 'code == 0 && ret->value < 0'),
        ('percents are parts', 'relative ? v / 100 : v', 'v'),
        ('what follows a feed is not read', 'r->to->count > 0 || r->text[r->at]',
         'r->to->count > 0'),
    ),
    *group(
        PIPELINE + 'live/live_lineup.c',
        ('renditions have the pictures of the first chain',
         'strcmp(lineup->chain[same]->text, lineup->chain[i]->text) != 0', 'i < 0'),
        ('only the first chain must filter', 'chains[i], privacy, err)',
         'chains[i], i ? HALO_PRIVACY_OFF : privacy, err)'),
    ),
    *group(
        PIPELINE + 'filter/leaves.c',
        ('a blur may come before hide', 'before >= 0) {', 'before >= chain->count) {'),
        ('hide on luma alone is enough',
         'return (filter->common.planes & ALL_PLANES) == ALL_PLANES;',
         'return filter->common.planes & 1;'),
        ('a region is bounded if another one is',
         'place >= 0 && is_same_place(filter, &chain->filter[place])', 'place >= 0'),
        ('what is found may be shown', 'if (place >= 0 && shows_objects(chain, place)) {',
         'if (place >= chain->count && shows_objects(chain, place)) {'),
        ('only the first region counts', 'judge(chain, f, &ret[count++]);',
         'if (count == 0) judge(chain, f, &ret[count++]);'),
        ('bits of one channel', ' * CHANNELS;', ';'),
        ('cells under solid leave nothing', 'say_bits(ret, &cells);', 'ret->bits = 0;'),
    ),
    *group(
        PIPELINE + 'gate/gate_cells.c',
        ('values are taken again in each frame', 'if (!found) {', 'if (!found || true) {'),
        ('all tracks have the values of the first', '(*ret_found = frozen->track == track)',
         '(*ret_found = frozen->track != 0)'),
        ('what has no number has cells', 'if (!track || shape->kind', 'if (shape->kind'),
        ('small objects have cells',
         'if (box->x1 - box->x0 >= least && box->y1 - box->y0 >= least)',
         'if (least)'),
        ('values are not rounded to levels', '(uint16_t)((2 * q + 1) * all / (2 * wanted))',
         '(uint16_t)((void)q, count ? sum / count : 0)'),
        ('the last box of a frame is that of all',
         'const struct halo_rect *box = &seen[i].box;',
         'const struct halo_rect *box = &seen[0].box;'),
        ('bits of lost tracks are forgotten',
         'atomic_fetch_add(&cells->channels[f], plane->channels)',
         'atomic_store(&cells->channels[f], plane->channels)'),
    ),
    *group(
        PIPELINE + 'filter/privacy.c',
        ('changed lets null through', 'if (privacy == HALO_PRIVACY_OFF)\n        return 0;',
         'if (privacy != HALO_PRIVACY_STRICT)\n        return 0;'),
        ('strict is what changed is',
         'is_strict(privacy) ? judge_strictly(planned, err) : 0;', '0; (void)judge_strictly;'),
        ('anonymous is what strict is', 'code == 0 && privacy == HALO_PRIVACY_ANONYMOUS ?',
         'code < 0 && privacy == HALO_PRIVACY_ANONYMOUS ?'),
        ('anonymous is not strict', 'privacy == HALO_PRIVACY_STRICT || privacy == '
         'HALO_PRIVACY_ANONYMOUS;', 'privacy == HALO_PRIVACY_STRICT;'),
        ('only luma is judged', 'p < planned->planes && code == 0; p++', 'p < 1 && code == 0; p++'),
        ('what is inverted is judged with what is not',
         '&&\n            other->invert == mine->invert)',
         ')'),
        ('filters of other regions count',
         'j->place[f] < 0 || j->place[f] == j->places[i]',
         'i >= 0'),
        ('only the first region is judged',
         'for (int i = 0; i < j->regions || i == 0; i++)\n        if (!does_hide',
         'for (int i = 0; i < 1; i++)\n        if (!does_hide'),
        ('luma may keep what small chroma may', 'is_small = info->chroma && info->log2',
         'is_small = info->log2_sub_x >= 0 || info->log2'),
        ('all detail may be left', 'if (!does_hide(&j->remains[i], most))',
         'if (!does_hide(&j->remains[i], most + 10))'),
        ('null by accident is null',
         'effect == HALO_EFFECT_IDENTITY ? HALO_CHAIN_OPEN_NULL', 'true ? HALO_CHAIN_OPEN_NULL'),
        ('settings are not judged', 'code = judge_unseen(chain, privacy, err);', 'code = 0;'),
    ),
    *group(
        PIPELINE + 'filter/filter_region.c',
        ('the background is people', 'filter->common.invert != background;',
         'filter->common.invert;'),
    ),
    *group(
        PIPELINE + 'filter/coverage.c',
        ('a feather counts as hidden', 'c->weight[x] == 255', 'c->weight[x] > 0'),
        ('a region of a filter that hides nothing counts', 'if (!hides[f])', 'if (f < 0)'),
        ('too little is never refused', 'if (coverage->part[p] >= least)', 'if (p >= 0)'),
        ('only luma is asked whether it is enough', 'p < coverage->planes; p++) {\n        char',
         'p < 1; p++) {\n        char'),
        ('what two regions hide counts twice',
         'memset(c->covered, 0, (size_t)width);', 'c->covered[0] = 0;'),
    ),
    *group(
        PIPELINE + 'base/canary.c',
        ('raw samples may be even', '| (low & ((1u << (depth - 8)) - 1)) | 1;',
         '| (low & ((1u << (depth - 8)) - 1));'),
        ('of deep formats the lowest bits alone are painted', '(value << (depth - 8))', '(value)'),
        ('negatives are no leak', 'fabsf(mark) <= ret->cell', 'mark <= ret->cell'),
        ('the last column is not looked at',
         'for (int column = 0; column < g->columns; column++)',
         'for (int column = 0; column + 1 < g->columns; column++)'),
        ('the last row is not looked at', 'for (int row = 0; row < g->rows; row++)',
         'for (int row = 0; row + 1 < g->rows; row++)'),
        ('only luma is looked at', 'for (int p = 0; p < d->nb_components; p++) {\n        const',
         'for (int p = 0; p < 1; p++) {\n        const'),
        ('what has colours may be a card', 'ret = is_flat(f, p, 0,',
         'ret = p < 0 || is_flat(f, 0, 0,'),
        ('what has something at its lower edge may be a card',
         'is_flat(f, 0, height - EDGE_ROWS, height)', 'height > 0'),
        ('cards may show anything', 'ret->block >= HALO_CANARY_LEAKING_BLOCK ||', ''),
        ('a raw half is no leak', 'ret->cell >= HALO_CANARY_LEAK);',
         'ret->cell >= 2.5f * HALO_CANARY_LEAK);'),
        ('what nobody meant is looked at', 'a->meant[row * a->columns + column]);', 'row >= 0);'),
        ('damaged words are numbers', ' || word_of(word >> CHECK) != word)', ')'),
        ('all pictures are of one number', 'bit_of(word_of(number), column, row)',
         'bit_of(word_of(number * 0), column, row)'),
    ),
    *group(
        PIPELINE + 'gate/leak.c',
        ('a gate leaks without a wish', ' || !halo_fault("gate", "leak"))', ')'),
        ('the ways do not take turns', 'atomic_fetch_add(&turn, 1) % HALO_LEAKS',
         '0 * atomic_fetch_add(&turn, 1)'),
        ('older pictures are the first one', 'av_frame_free(&old);\n    old = av_frame_clone(raw);',
         'old = old ? old : av_frame_clone(raw);'),
        ('no older picture leaks', 'way >= 14 && old ? old : raw', 'raw'),
        ('chroma does not leak', 'if (way < 1 || way > 3 || p == way - 1)',
         'if (p == 0 || p == way - 1)'),
        ('the last row of chroma does not leak', 'AV_CEIL_RSHIFT(out->height, down)',
         'out->height >> down'),
        ('half a picture is nothing', 'return 8;', 'return 0;'),
        ('a tile is nothing', 'x / 16 == 1 && y / 16 == 1 ? 16 : 0', '0'),
        ('a quarter is another one', '{0, 8, 8, 16}', '{8, 8, 16, 16}'),
    ),
    *group(
        PIPELINE + 'filter/remains.c',
        ('outlines are no detail', 'r->edges |= is_edges(conv);\n',
         'r->edges |= is_edges(conv); r->flat |= r->edges;\n'),
        ('one strong filter makes up for none after it',
         'r->response.at[x][y] *= response->at[x][y];',
         'r->response.at[x][y] = response->at[x][y];'),
        ('passes are not counted', 'pow(cabs(all) / fabs(sum), 2.0 * plan->passes);',
         'pow(cabs(all) / fabs(sum), 4.0 * plan->passes);'),
        ('blocks of one pixel hide', 'r->blocks > 1 ? fmin(sum, 1 / r->blocks) : sum',
         'r->blocks >= 1 ? fmin(sum, 0.5 / r->blocks) : sum'),
        ('any mask with an edge of its own is flat',
         'r->least == r->most ||',
         'r->least <= r->most ||'),
    ),
    *group(
        'kernels/frame.c',
        ('scratch of the CPU keeps an older picture', 'poison_scratch(frame, &places, step);',
         '(void)poison_scratch;'),
    ),
    *group(
        CUDA + 'lane.c',
        ('scratch is poisoned for the first steps only', 'if (step < SCRATCH)', 'if (step >= 0)'),
        ('scratch of the first steps is not poisoned',
         'step < SCRATCH; step++',
         'step < 0; step++'),
        ('the last planes are not poisoned',
         'bytes = align(bytes, ALIGNMENT) + plane_bytes(planes[++i]);',
         'i++;'),
        ('a source on the device is read before it is there',
         'wait_for(lane, frame->after, stream), "wait")', '((void)wait_for, cudaSuccess), "wait")'),
        ('kernels get the mask on the host', 'job->region = region;', ''),
        ('dst of the caller\'s is not poisoned',
         'halo_plane_row_bytes(dst), (size_t)dst->height, stream);',
         '0, (size_t)dst->height, stream);'),
    ),
    *group(
        CUDA + 'region_masks.c',
        ('planes of a step share a place', 'return m->size && m->step == masks->step;',
         'return false && m && masks;'),
        ('masks that may have changed are kept', '*ret_found = number && m->number == number',
         '*ret_found = m->size && m->number == number'),
        ('masks are found by their size',
         'number && m->number == number &&',
         'number && m->size &&'),
        ('a place grows under its readers',
         'm->size ? cudaStreamSynchronize(stream) : cudaSuccess;',
         'cudaSuccess;'),
        ('steps do not end', 'masks->step++;', 'masks->step += first;'),
    ),
]


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
    try:
        done = run(copy.program(program), *arguments, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f'{test}: no end in {TIME_LIMIT} s', False
    return (f'{test}: {failed_case(done.stdout)}', False) if done.returncode else (None, False)


def try_mutant(copy, mutant):
    with copy.changed(mutant) as wrong:
        if wrong:
            return False, wrong
        for test in TESTS[mutant.file]:
            failure, wrong = try_test(copy, test)
            if failure:
                return not wrong, failure if wrong else f'caught by {failure}'
    return False, 'LIVES: ' + ', '.join(TESTS[mutant.file]) + ' pass'


def main():
    parser = argparse.ArgumentParser(description='Mutants of the privacy code that tests '
                                                 'must catch.')
    parser.add_argument('numbers', nargs='*', type=int, help='only these, from 1 (default: all)')
    arguments = parser.parse_args()
    with tree('-Dbuildtype=debug', '-Dcuda=disabled', '-Dfaults=true') as copy:
        for test in sorted({test for tests in TESTS.values() for test in tests}):
            failure, _ = try_test(copy, test)
            if failure:
                sys.exit(f'mutants: without any of them: {failure}')
        sys.exit(walk(MUTANTS, arguments.numbers, lambda _, mutant: try_mutant(copy, mutant),
                      lambda mutant: mutant.file))


if __name__ == '__main__':
    main()
