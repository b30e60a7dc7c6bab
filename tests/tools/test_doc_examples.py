# SPDX-License-Identifier: BSD-2-Clause
# The examples of README, the manual pages and docs/ are extracted and run.
"""Each command is one test: it runs in a folder of its own, with clips under the names that the
examples use, or is skipped with a reason: it needs a camera, root, a GPU, a build. What a skipped
command names in this repository has to exist. Players are played by ffmpeg."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from halotest import HALOD, HaloTest, ffmpeg, main, wait_until
from halotest.detector import STANDIN
from halotest.docs import MANUALS, MARKDOWN, ROOT, read

HALOCTL, HALO_BENCH = os.environ['HALOCTL'], os.environ['HALO_BENCH']
PAGES = [name for name in MARKDOWN if '/' not in name or name.startswith('docs/')]
SECONDS = 60

# Why a command is not run here, by the first pattern that it matches.
SKIPPED = (
    (r'\bsudo\b|\bapt-get\b|\bsystemctl\b|\busermod\b|^d /run', 'changes the machine'),
    (r'^dpkg-buildpackage|^(\w+=\S+ )*(meson|ninja)\b|^tools/(setup|demo|check|prove-privacy|'
     r'bundle|dev/format|bench/\w+)\b|tests/(vm|world|box)/|^tar ',
     'builds, or takes minutes'),
    (r'^halod/', 'needs a bundle'),
    (r'--peers|many-streams', 'needs other libraries'),
    (r'bench-camera|^PYTHONPATH=tests ', 'is a test of its own'),
    (r'^halo-detect', 'needs models'),
    (r'--engine (slurm|kubernetes)|--engine parallel --workers|^halod job watch', 'needs a scheduler'),
    (r'unixfdsrc', 'needs GStreamer 1.24'),
    (r'/run/halod/', 'needs the service'),
    (r'/usr/share/doc/halod/', 'needs the package'),
)
# A player that shows nothing: it decodes what it is given, and a stream for some frames only.
PLAYER = '''#!/bin/sh
for last; do :; done
case $last in
-) exec ffmpeg -v error -i - -f null - ;;
*) exec ffmpeg -v error -i "$last" -frames:v 5 -f null - </dev/null ;;
esac
'''
CTL = '''#!/bin/sh
case " $* " in
*" --socket "*) exec "$HALOCTL" "$@" ;;
*) exec "$HALOCTL" --socket "$DEFAULT_SOCKET" "$@" ;;
esac
'''
# Small and short: what is tried is the command, not the machine.
BENCH = '''#!/bin/sh
case " $* " in
*" --list "*) exec "$HALO_BENCH" "$@" ;;
*" --ring "*) exec "$HALO_BENCH" --size 64x48 --limit 0.01 --alone 2 "$@" ;;
*" --reuse "*) exec "$HALO_BENCH" --size 64x48 --limit 0.01 --rounds 1 --planes 1 --masks gauss:7 "$@" ;;
*" --masks "* | *" --tune "*) exec "$HALO_BENCH" --size 64x48 --limit 0.01 --rounds 1 --planes 1 "$@" ;;
*) exec "$HALO_BENCH" --size 64x48 --limit 0.01 --rounds 1 --planes 1 --masks box:3 "$@" ;;
esac
'''
DOOR = {'input': 'test:size=160x120', 'filters': 'gblur=sigma=12', 'outputs': [{'null': True}]}


def commands(text):
    """(line, command) of a shell script; without comments, and with what a backslash continues."""
    number, begun = 0, ''
    for offset, line in enumerate(text.splitlines()):
        number = number if begun else offset
        begun += re.sub(r'(?:^|\s+)#(?:\s.*|$)', '', line)
        if begun.endswith(('\\', '|')):
            begun = begun.removesuffix('\\') + ' '
        elif begun.strip():
            yield number, ' '.join(begun.split())
            begun = ''


def of_markdown(text):
    """(line, language, text) of each fenced block."""
    for found in re.finditer(r'(?ms)^```(\w*)\n(.*?)^```$', text):
        yield text.count('\n', 0, found.start(2)) + 1, found[1], found[2]


def of_manual(text):
    """The same of scdoc: literal blocks, and paragraphs of one line that are a command."""
    for found in re.finditer(r'(?ms)^\t*```\n(.*?)^\t*```$', text):
        inner = found[1].replace('\\\\', '\\')
        kind = 'yaml' if 'streams:' in inner else 'json' if inner[0] == '{' else \
            'sh' if re.match(r'(halo|printf|gst)', inner) else ''
        yield text.count('\n', 0, found.start(1)) + 1, kind, inner
    for found in re.finditer(r'(?m)(?<=\n\n)\t((?:halod|haloctl|halo-bench) .*)(?=\n\n|\n\Z)',
                             text):
        if '*' not in found[1].split("'")[0]:
            yield text.count('\n', 0, found.start()) + 1, 'sh', found[1].replace('\\', '')


class Examples(HaloTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        clips = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.clips = clips
        sound = ['-f', 'lavfi', '-i', 'sine=sample_rate=48000']

        def clip(name, rate, seconds, *more, size='640x360'):
            ffmpeg('-f', 'lavfi', '-i', f'testsrc2=size={size}:rate={rate}', *sound, '-t', seconds,
                   *(more or ('-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p')),
                   '-c:a', 'aac', os.path.join(clips, name))
        clip('in.mp4', '10', '1')
        clip('long.mp4', '1/2', '110', size='96x64')
        clip('film.mkv', '10', '2')
        clip('in.mkv', '1/2', '80', size='96x64')
        clip('in10.mkv', '10', '0.5', '-c:v', 'ffv1', '-pix_fmt', 'yuv420p10le', size='96x64')
        ffmpeg('-f', 'lavfi', '-i', 'color=white:size=64x36', '-frames:v', '1',
               os.path.join(clips, 'garden.png'))

    def setUp(self):
        super().setUp()
        self.ran, self.skipped = [], []
        self.children = contextlib.ExitStack()
        self.addCleanup(self.children.close)

    def sandbox(self):
        """A folder with clips and programs, and a daemon for haloctl's examples."""
        self.folder = self.children.enter_context(tempfile.TemporaryDirectory())
        for name in os.listdir(self.clips):
            shutil.copy(os.path.join(self.clips, name), self.folder)
        for name in ('IN', 'IN.mp4'):
            shutil.copy(os.path.join(self.clips, 'in.mp4'), os.path.join(self.folder, name))
        bin_folder = os.path.join(self.folder, 'bin')
        os.mkdir(bin_folder)
        os.symlink(HALOD, os.path.join(bin_folder, 'halod'))
        shutil.copy(STANDIN, os.path.join(bin_folder, 'halo-detect'))
        for names, text in ((('ffplay', 'mpv'), PLAYER), (('haloctl',), CTL),
                            (('halo-bench',), BENCH)):
            for name in names:
                with open(os.path.join(bin_folder, name), 'w', encoding='utf-8') as file:
                    file.write(text)
                os.chmod(file.name, 0o755)
        self.environment = {
            'MQTT_PASSWORD': 'x', 'DOOR_PASSWORD': 'x',
            **os.environ, 'PATH': bin_folder + ':' + os.environ['PATH'], 'HALOCTL': HALOCTL,
            'HALO_BENCH': HALO_BENCH, 'XDG_CACHE_HOME': os.path.join(self.folder, 'cache'),
            'DEFAULT_SOCKET': os.path.join(self.folder, 'default.sock'), 'TERM': 'dumb'}
        self.config, self.aliases, self.door = '', '', False

    def start_daemon(self, config):
        log = os.path.join(self.folder, 'daemon.log')
        with open(log, 'wb') as file:
            daemon = subprocess.Popen([HALOD, '-c', config], cwd=self.folder, stdout=file,
                                      stderr=file, stdin=subprocess.DEVNULL, env=self.environment)
        self.children.callback(self.stop, daemon)

        def logged():
            with open(log, encoding='utf-8', errors='replace') as file:
                return file.read()
        self.assertTrue(wait_until(lambda: 'ready' in logged() or daemon.poll() is not None,
                                   SECONDS), logged())
        self.assertIsNone(daemon.poll(), logged())

    def start_default(self):
        """The daemon that haloctl finds where no socket is named."""
        if not self.door:
            config = os.path.join(self.folder, 'default.yaml')
            with open(config, 'w', encoding='utf-8') as file:
                json.dump({'version': 1, 'control': {'path': self.environment['DEFAULT_SOCKET']},
                           'streams': {'door': DOOR}}, file)
            self.start_daemon(config)
            self.door = True

    def stop(self, daemon):
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(SECONDS)

    def here(self, text):
        """With the folders of the machine in the sandbox, and the programs of any build."""
        text = re.sub(r'/tmp/', self.folder + '/', text)
        return re.sub(r'\bbuild\S*/(halod|haloctl|halo-bench)\b', r'\1', text)

    def shell(self, command, seconds=SECONDS):
        if '-ss 1:30' in command:
            command = command.replace('in.mp4', 'long.mp4')
        script = f'shopt -s expand_aliases\n{self.aliases}{self.here(command)}\n'
        done = subprocess.run(['bash', '-c', script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds * 4, check=False)
        return done.returncode, done.stdout.decode(errors='replace')

    def run_camera(self, command):
        """A camera that is not there, under a number that no machine has: the options are read."""
        status, said = self.shell(command.replace('/dev/video0', '/dev/video4094'))
        self.assertEqual(status, 75, said)
        self.assertIn('/dev/video4094', said)
        return 'needs a camera; its options are right'

    def run_command(self, command):
        """None, or why it was skipped."""
        for pattern, reason in SKIPPED:
            if re.search(pattern, command):
                self.check_names(command)
                return reason
        missing = [word for word in ('jq', 'nc') if re.search(rf'\b{word}\b', command)
                   and not shutil.which(word)]
        if missing:
            return f'{missing[0]} is missing'
        if re.match('halod -c .* &$', command):
            if '/dev/video' in self.config:
                return 'needs a camera'
            self.start_daemon(os.path.join(self.folder, 'halod.yaml'))
            return None
        if command.startswith('alias '):
            self.aliases += self.here(command) + '\n'
            return None
        if 'halod run' in command and '-i /dev/video' in command:
            return self.run_camera(command)
        if command.startswith('haloctl ') and '--socket' not in command:
            self.start_default()
        if '--watch' in command:
            command = 'timeout -s INT 3 ' + re.sub(r'^ctl\b', 'haloctl --socket /tmp/halod.sock',
                                                   command)
        status, said = self.shell(command)
        self.assertIn(status, (0, 124, 130) if '--watch' in command else (0,), said)
        return None

    def check_names(self, command):
        for name in re.findall(r'(?<![\w/-])(?:tools|tests)/[\w/.-]+', command):
            if not re.search(r'build|test_NAME', name) and ' -C ' not in command:
                self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)

    def run_block(self, page, line, kind, text):
        if kind == 'yaml':
            self.config = text if 'version:' in text else 'version: 1\n' + text
            with open(os.path.join(self.folder, 'halod.yaml'), 'w', encoding='utf-8') as file:
                file.write(self.here(self.config))
            if 'control:' not in text and 'streams:' not in text:
                return
            with self.subTest(f'{page}:{line}: a file of the daemon'):
                status, said = self.shell('halod --check-config halod.yaml')
                self.assertEqual(status, 0, said)
                self.note(page, line, 'halod --check-config', None)
        elif kind == 'json':
            with self.subTest(f'{page}:{line}: JSON'):
                rest = text.strip()
                while rest:
                    rest = rest[json.JSONDecoder().raw_decode(rest)[1]:].lstrip()
                self.note(page, line, 'JSON', None)
        elif kind == 'sh':
            for offset, command in commands(text):
                with self.subTest(f'{page}:{line + offset}: {command}'):
                    self.note(page, line + offset, command, self.run_command(command))
        else:
            self.note(page, line, text.splitlines()[0], 'is not a command')

    def note(self, page, line, what, reason):
        if reason:
            self.skipped.append((what, reason))
        else:
            self.ran.append(what)
        print(f'{"skipped" if reason else "ok"}: {page}:{line}: {what}'
              + (f' ({reason})' if reason else ''), flush=True)

    def try_page(self, page):
        self.sandbox()
        blocks = of_manual(read(page)) if page in MANUALS else of_markdown(read(page))
        for line, kind, text in blocks:
            self.run_block(page, line, kind, text)

    def try_pages(self, pages, least):
        for page in pages:
            self.try_page(page)
        # Programs that are missing here may take a few away.
        lacking = [what for what, reason in self.skipped if reason.endswith('is missing')]
        self.assertGreaterEqual(len(self.ran) + len(lacking), least)

    def test_readme(self):
        """Few may be skipped here: it is what a user tries first."""
        self.try_pages(['README.md'], 8)
        self.assertLessEqual(len(self.skipped), 10, self.skipped)

    def test_manuals(self):
        self.try_pages(MANUALS, 12)

    def test_docs(self):
        self.try_pages([name for name in PAGES if name != 'README.md'], 20)

    def test_what_is_wrong_is_found(self):
        """In each kind of block."""
        for kind, text in (('sh', 'halod run -i in.mp4 -vf gblurr=sigma=1 out.mp4\n'),
                           ('sh', 'halod run -i /dev/video0 -vf gblur -nosuch x.mp4\n'),
                           ('sh', 'tools/bundle build x && sudo tools/nosuch\n'),
                           ('yaml', 'version: 1\nstreams: {a: {inputt: in.mp4}}\n'),
                           ('json', '{"method": }\n')):
            with self.subTest(text):
                one = Examples('run_block')
                one.clips = self.clips
                one.setUp()
                self.addCleanup(one.children.close)
                one.sandbox()
                with self.assertRaises((AssertionError, ValueError)):
                    one.run_block('page', 1, kind, text)


if __name__ == '__main__':
    main()
