# SPDX-License-Identifier: BSD-2-Clause
"""What people counts: open cores of faces, needlessly hidden pixels, and quality of mattes.

A frame is a list of planes (Y, U, V: arrays of bytes); chroma has half the width and height. A
frame's truth is a plane of labels with the size of luma: 0 if no core of a face is there, otherwise
the number of the face whose core is visible at this pixel (1, 2, ...), plus NEAR wherever hiding is
not needless."""
from collections import namedtuple

import numpy

NEAR = 128
ENTIRELY = 0.995  # part of a frame from which on it counts as hidden entirely
TOLERANCE = 1  # levels by which a filled sample may differ from the fill

Frame = namedtuple('Frame', 'number faces cores open fraction needless hidden')


def filled(planes, fill):
    """Which pixels have the fill in all planes."""
    ret = None
    for plane, value in zip(planes, fill):
        same = numpy.abs(plane.astype(numpy.int16) - value) <= TOLERANCE
        if ret is None:
            ret = same
        else:
            wide = same.repeat(2, axis=0).repeat(2, axis=1)
            ret &= wide[:ret.shape[0], :ret.shape[1]]
    return ret


def score_frame(number, planes, labels, fill):
    """open: labels of the faces of whose core any pixel differs from the fill; fraction: the largest
    open part of a core; needless, hidden: parts of the picture."""
    hidden = filled(planes, fill)
    faces = labels & (NEAR - 1)
    found, open_faces, worst = [], [], 0.0
    for face in numpy.unique(faces):
        if face == 0:
            continue
        core = faces == face
        shown = numpy.count_nonzero(core & ~hidden)
        found.append(int(face))
        if shown:
            open_faces.append(int(face))
            worst = max(worst, shown / numpy.count_nonzero(core))
    far = (labels & NEAR) == 0
    return Frame(number, found, len(found), open_faces, worst,
                 numpy.count_nonzero(far & hidden) / hidden.size,
                 numpy.count_nonzero(hidden) / hidden.size)


Summary = namedtuple('Summary', 'frames with_faces open first opens needless hidden entirely')


def summarize(scores):
    """opens: numbers of the frames in which a core is open."""
    opens = [s.number for s in scores if s.open]
    count = max(1, len(scores))
    return Summary(len(scores), sum(1 for s in scores if s.cores), len(opens),
                   opens[0] if opens else None, opens, sum(s.needless for s in scores) / count,
                   sum(s.hidden for s in scores) / count,
                   sum(1 for s in scores if s.hidden > ENTIRELY))


def find_frame(shown, planes, raw, after):
    """Which frame this is: the first one after number `after` whose luma has the same samples
    wherever they are shown; None: no such frame."""
    for number in range(after + 1, len(raw)):
        if numpy.array_equal(raw[number][shown], planes[0][shown]):
            return number
    return None


Played = namedtuple('Played', 'scores entirely unknown')


def judge_played(frames, raw, labels, fill):
    """Of frames that a live stream let out, some of which it dropped: the scores of those that show
    something; how many are hidden entirely; and how many show something that no frame has. raw: the
    luma of all frames."""
    scores, entirely, unknown, last = [], 0, 0, -1
    for planes in frames:
        hidden = filled(planes, fill)
        if numpy.count_nonzero(hidden) > ENTIRELY * hidden.size:
            entirely += 1
            continue
        number = find_frame(~hidden, planes, raw, last)
        if number is None:
            unknown += 1
            continue
        last = number
        scores.append(score_frame(number, planes, labels[number], fill))
    return Played(scores, entirely, unknown)


# ---- boxes: (x, y, width, height) ----

def overlap(a, b):
    """Intersection over union."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def repeated(before, after, least=0.3):
    """The boxes after that a detector also found before, in the unfiltered frame."""
    return [box for box in after if any(overlap(box[:4], other[:4]) >= least for other in before)]


# ---- mattes: planes of 0 (background) to 255 (person) ----

def union_ratio(mask, truth):
    """Intersection over union of what is at least half person; 1 if both are empty."""
    a, b = mask >= 128, truth >= 128
    union = numpy.count_nonzero(a | b)
    return numpy.count_nonzero(a & b) / union if union else 1.0


def boundary_error(mask, truth, reach=None):
    """Mean difference (0 to 1) around the edge of the truth: where a pixel that is less than half
    person is at most `reach` pixels away from one that is more (default: 1.5 % of the height)."""
    reach = reach or max(2, round(truth.shape[0] * 0.015))
    person = truth >= 128
    band = widened(person, reach) & widened(~person, reach)
    if not band.any():
        return 0.0
    return float(numpy.abs(mask.astype(numpy.int16) - truth)[band].mean()) / 255


def widened(area, reach):
    """With all pixels at most `reach` rows and columns away."""
    for axis in (0, 1):
        padding = [(reach, reach) if i == axis else (0, 0) for i in (0, 1)]
        sums = numpy.pad(area.astype(numpy.int32), padding).cumsum(axis=axis)
        sums = numpy.concatenate([numpy.zeros_like(sums.take([0], axis)), sums], axis)
        size = area.shape[axis]
        area = (sums.take(range(2 * reach + 1, 2 * reach + 1 + size), axis) -
                sums.take(range(size), axis)) > 0
    return area


def flicker(masks, truths, still=4):
    """Mean change of the mask from frame to frame (0 to 1), relative to the number of pixels that
    belong to edges of the truth, where the truth changes by at most `still` levels. Without such a
    denominator, a large quiet picture would hide any flicker."""
    change, edge = 0.0, 0
    for (mask, after), (truth, then) in zip(zip(masks, masks[1:]), zip(truths, truths[1:])):
        quiet = numpy.abs(then.astype(numpy.int16) - truth) <= still
        change += numpy.abs(after.astype(numpy.int16) - mask)[quiet].sum() / 255
        person = truth >= 128
        edge += numpy.count_nonzero(widened(person, 1) & widened(~person, 1))
    return float(change / edge) if edge else 0.0


def percentile(values, part):
    """The smallest value that at least this part (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(len(ordered) * part * 1000) // 1000) - 1)] if ordered else None
