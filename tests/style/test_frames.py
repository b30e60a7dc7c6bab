# SPDX-License-Identifier: BSD-2-Clause
# Who takes frames: each function stands in frames.py with the reason why it may.
"""Read from the sources. The style that check-style holds them to makes that easy: functions begin
in column 1. Words of the types in places where this finds no function are breaches, too."""
import functools
import glob
import os
import re
import unittest

import frames

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
FOLDERS = ('config', 'daemon', 'kernels', 'pipeline', 'tools')
TYPES = ('AVFrame', 'halo_raw_frame', 'halo_pending', 'halo_output_frame', 'halo_item',
         'halo_camera_taken')
TYPE = re.compile(r'\b(' + '|'.join(TYPES) + r')\b')
HEAD = re.compile(r'^(?=[A-Za-z_])[^;{}()=#]*?\b(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)'
                  r'[^;{}()]*([;{])', re.M)
POINTER = re.compile(r'\(\s*\*\s*(?:const\s+)?(\w*)\s*\)\s*\(([^()]*)\)')


@functools.cache
def plain(name, text):
    """Without comments, words in quotes and what the preprocessor reads."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match[0])
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text,
                  flags=re.S)
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', blank, text, flags=re.M)
    # A call that waits for its answer has that name in daemon/.
    return re.sub(r'\bhalo_pending\b', 'halo_waiting', text) if name.startswith('daemon/') else text


@functools.cache
def knows(text):
    return TYPE.search(text) is not None


@functools.cache
def heads(text):
    return list(HEAD.finditer(text))


def listed(table):
    return {(name if name.startswith(FOLDERS) else 'pipeline/' + name, function)
            for name, (_, functions) in table.items() for function in functions.split()}


def in_pipeline(names):
    return {'pipeline/' + name for name in names.split()}


@functools.cache
def read_all():
    """{file: text} of the sources."""
    ret = {}
    for folder in (*FOLDERS, 'tests'):
        for path in sorted(glob.glob(f'{ROOT}/{folder}/**/*.[ch]*', recursive=True)):
            if path.endswith(('.c', '.h', '.cu', '.cuh')):
                with open(path, encoding='utf-8') as file:
                    ret[os.path.relpath(path, ROOT)] = file.read()
    return ret


@functools.cache
def of_file(name, text):
    """Breaches that one file's words show, so that nothing slips through what this knows of C."""
    ret, code = [], plain(name, text)
    for pattern, words, what in (
            (r'^[^\n]*\btypedef\b[^;]*', code, 'another name for a frame\'s type'),
            (r'^[ \t]*#[ \t]*define(?:[^\n]*\\\n)*[^\n]*', text, 'a macro with a frame\'s type')):
        if name.startswith(FOLDERS) and knows(words):
            ret += [f'{name}: {what}' for match in re.finditer(pattern, words, re.M)
                    if TYPE.search(match[0])]
    for pattern, words, may, what in (
            (r'#[ \t]*include[^\n]*\braw_frame_private\.h"', text, frames.INCLUDES.split(),
             'raw frames are for the gate alone'),
            (r'\bstruct halo_raw_frame\s*\{', code, ['pipeline/frame/raw_frame_private.h'],
             'a raw frame is defined in pipeline/frame/raw_frame_private.h'),
            (r'\bstruct halo_output_frame\s*\{', code, ['pipeline/gate/gate.c'],
             'only the gate makes output frames')):
        if name not in may and re.search(pattern, words):
            ret.append(f'{name}: {what}')
    return ret


class Tree:
    """What sources say."""

    def __init__(self, texts):
        self.text = texts
        self.plain = {name: plain(name, text) for name, text in texts.items()
                      if name.startswith(FOLDERS)}
        self.knowing = {name: text for name, text in self.plain.items() if knows(text)}

    def takers(self):
        """(file, function) of those that are defined, and of prototypes in headers."""
        defined, declared = set(), set()
        for name, text in self.knowing.items():
            for match in heads(text):
                if TYPE.search(match[2]):
                    (defined if match[3] == '{' else declared).add((name, match[1]))
        return defined, declared

    def pointers(self):
        """(file, name) of pointers to functions that would take frames."""
        return {(name, match[1]) for name, text in self.knowing.items()
                for match in POINTER.finditer(text) if TYPE.search(match[2])}

    def breaches(self):
        known = listed(frames.RAW) | listed(frames.OUTPUT) | listed(frames.EITHER)
        defined, declared = self.takers()
        for name, function in sorted(defined - known):
            yield (f'{name}: {function}() takes frames and is not in tests/style/frames.py: if they '
                   'are raw it must not, unless it is before the gate; else write it down, with why')
        for name, function in sorted(known - defined):
            yield f'tests/style/frames.py: {name} has no {function}() that takes frames any more'
        functions = {function for _, function in defined}
        for name, function in sorted(declared):
            if function not in functions:
                yield f'{name}: {function}() takes frames, and nobody defines it'
        for name, pointer in sorted(self.pointers()):
            yield f'{name}: {pointer} points to functions that take frames: call them by name'
        for name in sorted(self.knowing.keys() - {name for name, _ in known} -
                           in_pipeline(frames.FIELDS)):
            if not (name.startswith('pipeline/') and name.endswith('.h')):
                yield f'{name}: knows of frames and is not in tests/style/frames.py'
        for name, text in self.text.items():
            yield from of_file(name, text)
        yield from self.calls()

    def calls(self):
        for call, files in frames.CALLS.items():
            may = set(files.split())
            has = {name for name, text in self.plain.items()
                   if name.endswith('.c') and call in text and re.search(rf'\b{call}\b', text)}
            for name in sorted(has - may):
                yield f'{name}: {call} may be in {", ".join(sorted(may)) or "no file"} alone'
            for name in sorted(may - has):
                yield f'tests/style/frames.py: {name} has no {call} any more'


class Frames(unittest.TestCase):
    def test_all_are_listed(self):
        breaches = list(Tree(read_all()).breaches())
        self.assertEqual(breaches, [], '\n' + '\n'.join(breaches))

    def test_each_has_a_reason(self):
        for table in (frames.RAW, frames.OUTPUT, frames.EITHER):
            for name, (why, _) in table.items():
                self.assertTrue(why.strip(), name)

    def test_leaks_on_purpose(self):
        """Only tests build them: Meson knows them by one name, which is empty without faults."""
        with open(os.path.join(ROOT, 'pipeline', 'gate', 'meson.build'), encoding='utf-8') as file:
            lines = [line for line in file if re.search(r'\bleak', line)]
        self.assertRegex(lines[0], r"^leak_sources = get_option\('faults'\) \? files\('leak.c'\) : \[\]$")
        self.assertEqual([line.strip() for line in lines[1:]],
                         ["pipeline_sources += {'gate': leak_sources + files("])

    def test_sides(self):
        """A function is on one side; what reads raw samples by name is not behind the gate."""
        raw, output, either = map(listed, (frames.RAW, frames.OUTPUT, frames.EITHER))
        self.assertEqual((raw & output, raw & either, output & either), (set(), set(), set()))
        before = {name for name, _ in raw}
        self.assertLessEqual({name for name in frames.INCLUDES.split() if 'tests/' not in name},
                             before)
        tree = Tree(read_all())
        for name, text in tree.knowing.items():
            for match in heads(text):
                if re.search(r'\bhalo_raw_picture\b', match[2]) and match[3] == '{':
                    self.assertIn((name, match[1]), raw)


# What somebody might add, and words of the breach.
ADDED = (
    ('pipeline/output/sink_file.c', 'void tap(const struct halo_raw_frame *raw)\n{\n}\n', r'tap\(\) takes'),
    ('pipeline/output/output.c', 'static int\nput(int x,\n    const AVFrame *f)\n{\n    return x;\n}\n',
     r'put\(\) takes'),
    ('pipeline/output/encode.c', 'static void peek(int (*f)(void), AVFrame *p)\n{\n}\n', r'peek\(\) takes'),
    ('pipeline/output/encode.h', 'int halo_encoder_raw(struct halo_raw_frame *raw);\n',
     'nobody defines'),
    ('pipeline/gate/gate.c', 'int halo_gate_raw(struct halo_pending *p)\n{\n    return 0;\n}\n',
     r'halo_gate_raw\(\) takes'),
    ('daemon/engine/engine_stream.c', 'struct look {\n    const AVFrame *frame;\n};\n', 'knows of frames'),
    ('pipeline/stream/live.h', 'struct more {\n    void (*seen)(void *arg, const AVFrame *frame);\n};\n',
     'seen points to'),
    ('pipeline/base/trace.c', '#include "pipeline/frame/raw_frame_private.h"\n', 'raw frames are for the gate'),
    ('pipeline/gate/queue.h', '#define PICTURE AVFrame\n', 'macro'),
    ('pipeline/gate/queue.h', 'typedef struct halo_raw_frame frame;\n', 'another name'),
    ('pipeline/frame/card.c', 'struct halo_output_frame {\n    int x;\n};\n', 'only the gate makes'),
    ('pipeline/input/decode.c', 'static int x(void)\n{\n    return memfd_create("x", 0);\n}\n',
     'memfd_create may be in'),
    ('pipeline/stream/live_codec.c', 'static int x(void *c)\n{\n    return avcodec_receive_frame(c, 0);\n}\n',
     'avcodec_receive_frame may be in'),
)


class Added(unittest.TestCase):
    """The list is worth something: what is added is found, and what goes, too."""

    @classmethod
    def setUpClass(cls):
        cls.before = set(Tree(read_all()).breaches())

    def change(self, name, change):
        """The breaches that this brings."""
        texts = read_all()
        after = Tree({**texts, name: change(texts[name])}).breaches()
        return [line for line in after if line not in self.before]

    def test_what_is_added(self):
        for name, code, words in ADDED:
            with self.subTest(name=name, code=code):
                breaches = self.change(name, lambda text, code=code: text + code)
                found = [line for line in breaches if re.search(words, line)]
                self.assertEqual(len(found), 1, breaches)
                self.assertTrue(all(name in line for line in breaches), breaches)

    def test_what_goes(self):
        breaches = self.change('pipeline/frame/card.c', lambda text: text.replace('AVFrame', 'AVPacket'))
        self.assertTrue(any('has no halo_card_draw()' in line for line in breaches), breaches)


if __name__ == '__main__':
    unittest.main(verbosity=2)
