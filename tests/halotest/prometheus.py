# SPDX-License-Identifier: BSD-2-Clause
# A page of metrics as Prometheus takes it apart, and what it would complain of.
"""parse() raises ValueError where a scrape would fail; lint() lists what promtool's rules are about:
names, units, and histograms whose counts do not add up."""
import collections
import math
import re

LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(' + LABEL + '(?:,' + LABEL + r')*)\})? (\S+)')
NO_UNITS = {'milliseconds', 'microseconds', 'nanoseconds', 'ms', 'us', 'ns', 'minutes', 'hours',
            'kilobytes', 'megabytes', 'kib', 'mib', 'bits', 'percent', 'counter', 'gauge',
            'histogram', 'summary'}
SUFFIXES = ('_bucket', '_sum', '_count')


class Family:
    """One name, with its samples: {(name, labels as sorted pairs): value}."""

    def __init__(self, name):
        self.name, self.kind, self.help, self.samples = name, None, None, {}


def family_of(families, name):
    for suffix in SUFFIXES:
        base = families.get(name.removesuffix(suffix)) if name.endswith(suffix) else None
        if base and base.kind in ('histogram', 'summary'):
            return base
    return families.get(name)


def take_head(families, line, current):
    _, word, name, text = line.split(' ', 3)
    family = families.setdefault(name, Family(name))
    field = word.lower().replace('type', 'kind')
    if getattr(family, field) is not None:
        raise ValueError(f'{word} twice: {line}')
    if family.samples or (current and current is not family and word == 'TYPE'):
        raise ValueError(f'{word} is not at the head of its family: {line}')
    setattr(family, field, text)
    return family


def parse(page):
    """The families by their names."""
    families, current = {}, None
    if not page.endswith('\n'):
        raise ValueError('the last line does not end')
    for line in page.splitlines():
        if line.startswith('# '):
            current = take_head(families, line, None if line.startswith('# HELP') else current)
            continue
        found = SAMPLE.fullmatch(line)
        if not found:
            raise ValueError(f'no sample: {line}')
        if not current or family_of(families, found[1]) is not current:
            raise ValueError(f'outside of its family: {line}')
        labels = [(name, text) for name, text in re.findall(LABEL, found[2] or '')]
        key = (found[1], tuple(sorted(labels)))
        if len(dict(labels)) != len(labels) or key in current.samples:
            raise ValueError(f'twice: {line}')
        current.samples[key] = float(found[7])
    return families


def series(family):
    """Of a histogram: {labels without le: ([(edge, count)], sum, count)}."""
    ret = collections.defaultdict(lambda: [[], None, None])
    for (name, labels), value in family.samples.items():
        rest = tuple(pair for pair in labels if pair[0] != 'le')
        if name.endswith('_bucket'):
            ret[rest][0].append((float(dict(labels)['le']), value))
        else:
            ret[rest][1 if name.endswith('_sum') else 2] = value
    return ret


def lint_histogram(family):
    for labels, (buckets, total, count) in series(family).items():
        where = f'{family.name}{dict(labels)}'
        if total is None or count is None or not buckets:
            yield f'{where}: has no sum, no count, or no buckets'
            continue
        edges, counts = zip(*buckets)
        if list(edges) != sorted(set(edges)) or edges[-1] != math.inf:
            yield f'{where}: its edges are {edges}'
        if list(counts) != sorted(counts) or counts[-1] != count:
            yield f'{where}: its counts are {counts}, and {count}'
        low = sum(edge * (n - before) for edge, n, before
                  in zip((0, *edges), counts, (0, *counts)))
        if low > total + 1e-6:
            yield f'{where}: a sum of {total} is less than its buckets\' least, {low}'


def lint(families):
    for name, family in families.items():
        if family.kind not in ('counter', 'gauge', 'histogram') or not family.help:
            yield f'{name}: TYPE {family.kind}, HELP {family.help}'
        if not re.fullmatch('halod(_[a-z]+)+', name):
            yield f'{name}: not halod_ and words'
        if name.endswith('_total') != (family.kind == 'counter'):
            yield f'{name}: _total is for counters, and for all of them'
        if NO_UNITS & set(name.split('_')) or name.endswith(SUFFIXES):
            yield f'{name}: no base unit, or a word that says what kind it is'
        for (sample, labels), value in family.samples.items():
            if family.kind != 'gauge' and not value >= 0:
                yield f'{sample}{dict(labels)}: {value}'
            if not all(re.fullmatch('[a-z_]+', label) for label, _ in labels):
                yield f'{sample}: labels {dict(labels)}'
        if family.kind == 'histogram':
            yield from lint_histogram(family)


def value(families, sample, **labels):
    """Of one sample, or None."""
    family = family_of(families, sample)
    return family.samples.get((sample, tuple(sorted(labels.items())))) if family else None
