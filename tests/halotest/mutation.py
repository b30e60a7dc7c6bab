# SPDX-License-Identifier: BSD-2-Clause
# Mutation runs: does a test see it when one place of the sources is changed? What the two tables
# (tests/kernels/mutants.py, tests/pipeline/mutants.py) share.
"""A mutant is made by a rule, at a site of a function: the rule's name, and which of its sites in
that function it is, from 1, are the mutant's name. The tables say how many mutants each file has;
which ones is drawn for each function, by a seed and by how many sites the function has. So neither
renaming or moving a function, nor a change of another one, draws others."""
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from contextlib import contextmanager
from itertools import islice, zip_longest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))

# Of a text: from start to end stands new. file and what are the table's.
Mutant = namedtuple('Mutant', 'function rule ordinal start end new file what', defaults=('', ''))

# ---- C, as clang-format writes it ----

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|'
                      r'^#(?:\\\n|[^\n])*', re.M | re.S)
HEAD = re.compile(r'^[A-Za-z_][^;{}]*\)[^;{}()]*\n\{\n', re.M)


def blanked(text):
    """Of the same length, with spaces for comments, strings and lines of the preprocessor."""
    return NOT_CODE.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), text)


def after(text, at):
    """The place behind the bracket that closes the one at this place."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if depth == 0:
            return i + 1
    return len(text)


def operand_end(text, at, *ends):
    """Where an expression ends: before these operators, or what closes it."""
    while at < len(text) and text[at] not in ')]},;' and not text.startswith(ends, at):
        at = after(text, at) if text[at] in '([{' else at + 1
    return at


def statement_end(text, at):
    """Where the statement at this place ends, with its body and its else."""
    if text[at] == '{':
        return after(text, at)
    if not re.match(r'(if|for|while|switch)\b', text[at:at + 8]):
        return operand_end(text, at, ';') + 1
    at = after(text, text.index('(', at))
    at = statement_end(text, at + len(text[at:]) - len(text[at:].lstrip()))
    other = re.compile(r'\s+else\s+').match(text, at)
    return statement_end(text, other.end()) if other else at


def functions(text):
    """(name, whether it gives a bool, start and end of its body) of each; '' is the file."""
    yield '', False, 0, len(text)
    for head in HEAD.finditer(text):
        end = text.find('\n}', head.end())
        name = re.search(r'(\w+(?:\(\w+\))?)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*$', head[0])
        if name and end > 0:
            yield (name[1], bool(re.search(r'\bbool\b[^(]*$', head[0][:name.start()])),
                   head.end() - 1, end + 1)


# ---- rules: which places a text has, and what would be wrong there ----
# Each is given the text without comments and strings, and the text.

# How a failed call is passed on is tested by calls that fail, and what is told by who reads it.
LEFT_ALONE = re.compile(
    r'(code|err\w*) [<=!]=? ?0|-E[A-Z]+\b|\w*(free|destroy|finish|close|unref|release|log|fail|'
    r'info|warn|error|debug|assert|unlock|va_end|va_start|trace)\w*\(')
JUMP = re.compile(r'(return|else|case|default|break|continue|goto)\b')
CONTROL = re.compile(JUMP.pattern +
                     r'|(if|for|while|do|switch|const|static|struct|int|bool|char)\b')
CHANGE = re.compile(r'\(|(->|\.|\]).* [|&+*-]?= |(\+\+|--)$|^(\+\+|--)')
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&',
         '+': '-', '-': '+', 'FFMIN': 'FFMAX', 'FFMAX': 'FFMIN', 'fmin': 'fmax', 'fmax': 'fmin',
         'least': 'most', 'most': 'least', 'min': 'max', 'max': 'min'}


def condition(form):
    def rule(code, text):
        for m in re.finditer(r'\bif (?=\()', code):
            start, end = m.end() + 1, after(code, m.end()) - 1
            yield start, end, form.format(text[start:end])
    return rule


def other(pattern):
    return lambda code, _: ((*m.span(1), OTHER[m[1]]) for m in re.finditer(pattern, code))


def compare(code, _):
    """With the limit or without it; a loop ends one early, for one late might not be seen."""
    for m in re.finditer(r'\s(<|<=|>|>=|==|!=) ', code):
        loop = m[1] == '<' and line_of(code, m.start()).lstrip().startswith('for (')
        yield *m.span(1), '+ 1 <' if loop else OTHER[m[1]]


def operand(code, _):
    """One condition of several is left out."""
    for m in re.finditer(r'\s(&&|\|\|)\s', code):
        yield m.start(), operand_end(code, m.end(), ' && ', ' || ', ' ? ', ' : ', '\n'), ''


def number(code, _):
    """One more; ten times as much, of those with an exponent."""
    for m in re.finditer(r'(?<![\w.\[])\d+(e\d+)?(?![\w.\]])', code):
        yield *m.span(), f'10 * {m[0]}' if m[1] else str(int(m[0]) + 1)


def begins(code):
    """Where statements begin, each in its own line."""
    for m in re.finditer(r'^ +(?=[\w+(*-])', code, re.M):
        before = code[:m.start()].rstrip()
        if not before or before[-1] in ';{})' or before.endswith('else'):
            yield m.end()


def drop(code, _):
    for start in begins(code):
        end = operand_end(code, start, ';')
        if not CONTROL.match(code, start) and CHANGE.search(code[start:end]):
            yield start, end, ''


def later(code, text):
    """A statement comes after the next one."""
    for start in begins(code):
        end = statement_end(code, start)
        follows = re.compile(r'\s+(?=\w)').match(code, end)
        if follows and not JUMP.match(code, start):
            last = statement_end(code, follows.end())
            yield (start, last,
                   text[follows.end():last] + text[end:follows.end()] + text[start:end])


def branches(code, text):
    for m in re.finditer(r'\s\? ', code):
        middle = re.compile(r'\s+: ').match(code, operand_end(code, m.end(), ' : ', '\n'))
        if middle:
            end = operand_end(code, middle.end(), ' : ')
            yield m.end(), end, text[middle.end():end] + middle[0] + text[m.end():middle.start()]


def give(code, text):
    """What a bool function gives."""
    for m in re.finditer(r'\breturn (?!true|false)([^;]+);', code):
        yield *m.span(1), f'!({text[m.start(1):m.end(1)]})'


def constant(factor):
    """A named constant."""
    def rule(code, _):
        for m in re.finditer(r'\b([A-Z]\w* = )(\d+(?:\.\d+)?)\b(?! [*/<-])', code):
            yield *m.span(), f'{m[1]}{float(m[2]) * factor:g}'
    return rule


DRAWN = {
    'negate': condition('!({})'), 'operand': operand,
    'compare': compare, 'logic': other(r'\s(&&|\|\|)\s'),
    'number': number, 'sign': other(r'[\w)\]] ([+-]) '), 'drop': drop,
    'extreme': other(r'\b(FFM\w\w|fm\w\w|least|most|min|max)\('), 'branches': branches,
    'give': give}
CONSTANTS = {'ten times': constant(10), 'a tenth': constant(0.1)}
LINES = ('later', 'compare', 'logic', 'number', 'sign', 'extreme', 'branches')
RULES = {**DRAWN, **CONSTANTS, 'later': later, 'never': condition('false && ({})'),
         'always': condition('true || ({})')}


def sites(text, rules=DRAWN, left_alone=LEFT_ALONE):
    """All mutants of a text, by functions."""
    code, found = blanked(text), []
    for name, gives, start, end in functions(code):
        for rule in rules:
            if (rule in CONSTANTS) != (not name) or rule == 'give' and not gives:
                continue
            places = [(start + s, start + e, new)
                      for s, e, new in RULES[rule](code[start:end], text[start:end])
                      if not (name and left_alone and left_alone.search(line_of(code, start + s)))]
            found += [Mutant(name, rule, n, *place) for n, place in enumerate(places, 1)]
    return found


def line_of(text, at):
    end = text.find('\n', at)
    return text[text.rfind('\n', 0, at) + 1:end if end >= 0 else len(text)]


def chosen(text, seed):
    """Mutants of a text in the order in which they are taken: one of each function, of the longest
    first, then another of each."""
    of_functions = {}
    for mutant in sites(text):
        of_functions.setdefault(mutant.function, []).append(mutant)
    drawn = [random.Random(seed).sample(some, len(some)) for some in
             sorted(of_functions.values(), key=len, reverse=True)]
    for turn in zip_longest(*drawn):
        yield from filter(None, turn)


def known(text, function, rule, word):
    """The one mutant of a rule in a function in whose place, or line for LINES, the word stands.
    The rule may also be ('put', TEXT): this follows the statement."""
    put = rule[1] if isinstance(rule, tuple) else None
    rule = 'drop' if put else rule
    found = [m for m in sites(text, {rule: RULES[rule]}, None) if m.function == function and
             re.search(rf'\b{re.escape(word)}(?!\w)', line_of(text, m.start) if rule in LINES else
                       text[m.start:m.end])]
    if len(found) != 1:
        return None
    end = found[0].end + 1
    return found[0]._replace(start=end, end=end, new=' ' + put) if put else found[0]


# ---- a tree with one of them ----


def run(*command, cpu=None, **options):
    """cpu: seconds of a processor after which it is killed."""
    limit = cpu and (lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1)))
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', preexec_fn=limit, **options)


def made(folder, names):
    """Those of the names in a folder that are not sources."""
    return [name for name in names if name == '.git' or name.startswith(('build', 'demo'))
            and os.path.isdir(os.path.join(folder, name))]


def read(name, root=ROOT):
    with open(os.path.join(root, name), encoding='utf-8') as file:
        return file.read()


class Tree:
    """A copy of the sources, and a build folder of it."""
    def __init__(self, work, *options):
        self.source, self.folder = os.path.join(work, 'tree'), os.path.join(work, 'build')
        shutil.copytree(ROOT, self.source, ignore=made)
        done = run('meson', 'setup', self.folder, self.source, *options)
        if done.returncode:
            sys.exit(f'mutants: {done.stdout[-2000:]}')

    def program(self, name):
        return os.path.join(self.folder, name)

    def build(self, *targets):
        """None, or what is wrong."""
        done = run('ninja', '-C', self.folder, *targets)
        return f'does not build:\n{done.stdout[-3000:]}' if done.returncode else None

    def write(self, name, text):
        with open(os.path.join(self.source, name), 'w', encoding='utf-8') as file:
            file.write(text)

    @contextmanager
    def changed(self, mutant):
        """While the tree has the mutant."""
        whole = read(mutant.file, self.source)
        self.write(mutant.file, whole[:mutant.start] + mutant.new + whole[mutant.end:])
        try:
            yield
        finally:
            self.write(mutant.file, whole)


@contextmanager
def tree(*options):
    with tempfile.TemporaryDirectory(prefix='halo-mutants-') as work:
        yield Tree(work, *options)


def described(mutant):
    """Its name, its line and what stands there."""
    text = read(mutant.file)
    line = text.count('\n', 0, mutant.start)
    name = mutant.what or f'{mutant.rule} {mutant.ordinal} of {mutant.function}'
    return f'{mutant.file}:{line + 1}: {name}: {text.splitlines()[line].strip()[:60]}'


def walk(files, action, seed=1, survivors={}, more=()):
    """Applies action to `count` mutants of each file (name, count), and to those in more; reports,
    and returns the exit status. action gives whether all is well (None: this is no program, and the
    next is taken) and words. survivors: those of a file that are drawn, but not tried."""
    counts, wrong = Counter(), []

    def judge(mutant):
        if mutant[:3] in survivors.get(mutant.file, ()):
            counts[None] += 1
            return True
        right, words = action(mutant)
        if right is not None:
            counts[right] += 1
            line = f'{described(mutant)}: {words}'
            print(line, flush=True)
            wrong.extend([] if right else [line])
        return right is not None

    for name, count in files:
        drawn = (mutant._replace(file=name) for mutant in chosen(read(name), seed))
        for _ in islice(filter(judge, drawn), count):
            pass
    for mutant in more:
        if not judge(mutant):
            wrong.append(f'{described(mutant)}: does not build')
            counts[False] += 1
    if wrong:
        print('', 'wrong:', *wrong, sep='\n')
    print(f'{counts[True]} passed, {counts[False]} failed, {counts[None]} known to live')
    return 1 if counts[False] else 0
