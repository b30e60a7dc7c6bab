# SPDX-License-Identifier: BSD-2-Clause
"""What attack counts: rates with their intervals, the bound that a chain promises, and the
verdict about both."""
import math
from collections import namedtuple

Rate = namedtuple('Rate', 'right trials rate low high')


def tail(right, trials, p):
    """Probability of at least so many of the trials."""
    if right <= 0 or p >= 1:
        return 1.0
    if p <= 0:
        return 0.0
    whole = math.lgamma(trials + 1)
    return 1 - math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * math.log(p) +
                 (trials - k) * math.log1p(-p)) for k in range(right))


def solve(wanted, function):
    """p, from 0 to 1, at which an increasing function has the value."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return (low + high) / 2


def rate(right, trials, tests=1):
    """The rate with its exact 95 % interval (Clopper and Pearson's). With several tests, of which
    none shall err, each interval is wider (Bonferroni)."""
    miss = 0.025 / tests
    low = 0.0 if right == 0 else solve(miss, lambda p: tail(right, trials, p))
    high = 1.0 if right == trials else solve(1 - miss, lambda p: tail(right + 1, trials, p))
    return Rate(right, trials, right / trials, low, high)


def filters(chain):
    """[(name, {option: value})] of a chain whose values hold no commas. A first value without a key
    has the key ''."""
    ret = []
    for text in chain.split(','):
        name, _, values = text.strip().partition('=')
        options = {}
        for word in values.split(':') if values else []:
            key, equals, value = word.partition('=')
            options[key if equals else ''] = value if equals else key
        ret.append((name, options))
    return ret


def hides(chain):
    """(name, kind, options) of each filter; kind: the first option of hide."""
    for name, options in filters(chain):
        yield name, options.get('') or options.get('how', 'solid'), options


def cells_of(chain):
    """How many cells across a region the chain draws; 0: none."""
    for name, kind, options in hides(chain):
        if name == 'hide' and kind in ('cells', 'noise'):
            return int(options.get('n') or options.get('cells', 6))
    return 0


def promised(chain, identities):
    """The highest rate of right guesses that the chain allows for one channel, if so many
    identities are equally probable; None: the chain promises nothing.

    A right guess has probability 1/N times the sum, over all that can be seen, of the probability
    that the best guess gives it. Of 2^bits different regions each is seen with at most 1; so the
    rate is at most 2^bits / N. With noise of epsilon, no identity gives what is seen with more than
    e^epsilon times the probability of another one: at most e^epsilon / (e^epsilon + N - 1)."""
    best = None
    for name, kind, options in hides(chain):
        if name == 'solid' or (name == 'hide' and kind == 'solid'):
            bound = 1 / identities
        elif name == 'hide' and kind == 'cells':
            bits = cells_of(chain) ** 2 * math.log2(int(options.get('levels', 8)))
            bound = 1.0 if bits > math.log2(identities) else 2 ** bits / identities
        elif name == 'hide' and kind == 'noise':
            bound = 1 / (1 + (identities - 1) * math.exp(-float(options.get('epsilon', 1))))
        else:
            continue
        best = bound if best is None else min(best, bound)
    return best


def verdict(found, bound, chance):
    """'within': the whole interval is at or below the bound; 'above': all of it is above; 'open':
    the bound is inside, and more trials would tell; 'chance': it is inside, and is chance itself,
    below which no rate can be; '': there is no bound."""
    if bound is None:
        return ''
    if found.low > bound:
        return 'above'
    return 'within' if found.high <= bound else 'chance' if bound <= chance else 'open'
