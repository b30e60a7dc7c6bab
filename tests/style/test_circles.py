# SPDX-License-Identifier: BSD-2-Clause
# Files call each other in one direction only. A function that is handed over as a pointer is not a
# call: that is how a lower file tells a higher one.
import collections
import os
import re
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
FOLDERS = ('config', 'kernels', 'pipeline', 'daemon', 'tools')
# Instead of another file that has the same functions.
INSTEAD = ('stub.c', '_none.c')

COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# What a file defines for others: functions, and tables.
DEFINED = re.compile(r'^(?!static|typedef|extern|#)[A-Za-z_][\w \*]*?\b(\w+)(?:\([^;{]*?\)\s*\n\{|(?:\[[^\]]*\])* = )', re.M)
# Not a tag, and not a field.
USED = re.compile(r'(?<!struct )(?<!enum )(?<!->)(?<!\.)\b[a-z]\w+\b')


def sources():
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith(('.c', '.cu')) and not name.endswith(INSTEAD):
                    with open(os.path.join(path, name), encoding='utf-8') as file:
                        yield os.path.relpath(os.path.join(path, name), ROOT), file.read()


def calls(files):
    """FILE: the files whose functions or tables it names."""
    texts = {name: COMMENTS.sub('', text) for name, text in files.items()}
    homes = collections.defaultdict(set)
    for name, text in texts.items():
        for word in DEFINED.findall(text):
            homes[word].add(name)
    homes.pop('main', None)
    return {name: {home for word in set(USED.findall(text)) for home in homes.get(word, ())} - {name}
            for name, text in texts.items()}


def circles(edges):
    """Sets of files each of which leads to each other one (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in edges[name]:
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]
    for name in edges:
        if name not in index:
            visit(name)
    return found


class Circles(unittest.TestCase):
    def test_of_files(self):
        edges = calls(dict(sources()))
        for circle in circles(edges):
            with self.subTest(sorted(circle)[0]):
                self.fail('\n'.join(f'{name} calls {", ".join(sorted(edges[name] & circle))}'
                                    for name in sorted(circle)))

    def test_a_new_one_is_found(self):
        files = {'a.c': 'int above(void)\n{\n    return below();\n}\n',
                 'b.c': 'int below(void)\n{\n    return 1;\n}\n', 'c.c': 'const struct row row = {.above = above};\n'}
        self.assertEqual(circles(calls(files)), [])
        files['b.c'] = 'int below(void)\n{\n    return row.above();\n}\n'
        self.assertEqual(circles(calls(files)), [{'a.c', 'b.c', 'c.c'}])
        files['b.c'] = 'int below(void)\n{\n    return 1; /* unlike row */\n}\n'
        self.assertEqual(circles(calls(files)), [])


if __name__ == '__main__':
    unittest.main()
