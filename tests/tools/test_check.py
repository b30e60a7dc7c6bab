# SPDX-License-Identifier: BSD-2-Clause
# tools/check itself: which parts it runs, and what it says of the others. Scripts stand in for
# everything that it calls.
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
QUICK = ['quick']
SHORT = ['sanitized', 'plain', 'cuda']
LONG = ['debian13', 'vm', 'wide', 'release', 'gpu', 'service', 'proof', 'world', 'damage', 'random', 'aarch64',
        'mutants', 'kernels', 'nfs', 'packages', 'timed', 'threads', 'cameras', 'full']
MESON = '''#!/bin/sh
case $1,$2 in
setup,--reconfigure) folder=$3 ;;
setup,*) folder=$2 ;;
test,*) folder=$3 ;;
esac
mkdir -p $folder/meson-logs $folder/daemon $folder/tests/kernels $folder/tests/world $folder/tests/box
: >$folder/build.ninja
for program in daemon/halod tests/kernels/kernels-check tests/kernels/kernels-accuracy tests/world/world \\
    tests/box/box; do
    cp "$0-program" $folder/$program
done
[ $1 = test ] || exit 0
log=$folder/meson-logs/check.json
echo '{"name": "halod:a / one", "result": "OK"}' >$log
echo '1/3 halod:a / one   OK   0.01s'
[ -z "$LACKS" ] || printf '%s\\n' '{"name": "halod:b / four", "result": "SKIP", "stdout": "skipped: no lamp\\nend"}' >>$log
[ $folder != "$BAD" ] || {
    printf '%s\\n' '{"name": "a+c - halod:two", "result": "FAIL", "stdout": "it was\\nred"}' >>$log
    echo '2/3 a+c - halod:two   FAIL   0.01s'
}
[ $folder = "$SLOW" ] || exit 0
echo '{"name": "three", "result": "INTERRUPT"}' >>$log
exec sleep 30
'''


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ('bin', 'tools/dev', 'tests/kernels', 'tests/gpu', 'tests/vm',
                     'tests/tools', 'tests/pipeline/input'):
            os.makedirs(self.path(name))
        for name in ('tools/check', 'tools/dev/progress.py', 'tools/dev/test_results.py',
                     'tools/dev/test_targets.py'):
            shutil.copy(os.path.join(ROOT, name), self.path(name))
        self.program('bin/meson', MESON)
        self.program('bin/meson-program', '#!/bin/sh\necho 3 passed, 0 failed, 0 skipped\n')
        self.program('bin/cc', '#!/bin/sh\nexec cp /bin/true "$3"\n')
        for name in ('tests/kernels/mutants.py', 'tests/pipeline/mutants.py',
                     'tests/pipeline/input/test_damage_matrix.py'):
            self.program(name, '#!/bin/sh\necho 2 passed\n')
        self.program('tools/packages', '#!/bin/sh\nmkdir -p "$2/again"\n')
        self.program('tests/tools/packages', '#!/bin/sh\necho 2 passed\n')
        for name in ('run', 'service-run', 'jobs-run'):
            self.program('tests/vm/' + name, '#!/bin/sh\necho 2 passed, 0 failed, 0 skipped\n')
        self.program('tools/prove-privacy', '#!/bin/sh\necho proved\n')
        self.program('tests/gpu/run', '#!/bin/sh\necho no GPU\nexit 77\n')
        self.program('tests/tools/release', '#!/bin/sh\necho 2 passed, 0 failed\n')
        for name in ('bin/ninja', 'bin/ffmpeg', 'bin/nvcc', 'bin/aarch64-linux-gnu-gcc',
                     'bin/qemu-aarch64', 'bin/clang', 'tools/setup'):
            self.program(name, '#!/bin/sh\n')

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(self.path(name), stat.S_IRWXU)

    def need(self, part, minutes=None):
        """The row of the table, or a change of it."""
        with open(self.path('tools/check'), encoding='utf-8') as file:
            text = file.read()
        row = re.compile(rf'(?<=\[{part}\]=)\d+')
        if minutes is not None:
            self.program('tools/check', row.sub(str(minutes), text))
        return int(row.search(text)[0])

    def check(self, *words, code=0, begun=None, at=None, **environment):
        """begun: the seconds since when it is said to run; at: the same, and no time passes."""
        environment = {**os.environ, 'PATH': self.path('bin') + ':' + os.environ['PATH'],
                       'SECONDS': str(begun or 0), **environment}
        if at is not None:
            self.program('clock', f'unset SECONDS\nSECONDS={at}\n')
            environment['BASH_ENV'] = self.path('clock')
        done = subprocess.run([self.path('tools/check'), *words], text=True, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout.splitlines()

    @staticmethod
    def parts(lines):
        found = (re.fullmatch(r'(\w+): \d+ s', line) for line in lines)
        return [match[1] for match in found if match]

    def test_parts(self):
        lines = self.check()
        self.assertEqual(self.parts(lines), SHORT)
        self.assertEqual(lines[-1], '3 passed, 0 failed, 0 skipped')
        self.assertEqual(self.parts(self.check('mutants', 'plain')), ['mutants', 'plain'])
        lines = self.check('--long')
        self.assertEqual(self.parts(lines), SHORT + LONG)
        self.assertIn('skipped: tests/gpu/run: no GPU', lines)
        self.assertIn(', 0 failed, 1 skipped', lines[-1])

    def test_quick(self):
        """Alone, with few packages; never without being asked for."""
        self.program('tools/setup', '#!/bin/sh\necho setup $1\n')
        lines = self.check('quick')
        self.assertEqual(self.parts(lines), QUICK)
        self.assertIn('setup quick', lines)
        self.assertEqual(lines[-1], '3 passed, 0 failed, 0 skipped')
        self.assertIn('failed: build-quick: two (fail)', self.check('quick', code=1, BAD='build-quick'))
        lines = self.check('quick', 'plain')
        self.assertEqual(self.parts(lines), ['quick', 'plain'])
        self.assertIn('setup check', lines)
        self.assertIn('setup long', self.check('plain', 'wide'))

    def test_what_is_built(self):
        """Of build-plain what its tests need, for the virtual machine three programs, for a release
        one, of others everything."""
        os.makedirs(self.path('build-plain/meson-info'))
        self.program('build-plain/build.ninja', '')  # otherwise the folder is made again
        ids = {'a': 'tests/kernels/kernels-check', 'b': 'daemon/halod', 'c': 'tests/test_gate'}
        tests = [{'suite': ['halod:kernels'], 'depends': ['a']},
                 {'suite': ['halod:daemon', 'halod:confined'], 'depends': ['b', 'a']},
                 {'suite': ['halod:unit'], 'depends': ['c']}]
        targets = [{'id': key, 'filename': [self.path('build-plain/' + path)]}
                   for key, path in ids.items()]
        for name, what in (('tests', tests), ('targets', targets)):
            with open(self.path(f'build-plain/meson-info/intro-{name}.json'), 'w',
                      encoding='utf-8') as file:
                json.dump(what, file)
        self.program('bin/ninja', '#!/bin/sh\necho "$@" >>ninja-ran\n')
        self.check('sanitized')
        self.check('plain')
        self.check('vm')
        self.check('release')
        self.check('random')
        with open(self.path('ninja-ran'), encoding='utf-8') as file:
            self.assertEqual(file.read().splitlines(), [
                '-k 10 -C build-check',
                '-k 10 -C build-plain tests/kernels/kernels-check daemon/halod',
                '-k 10 -C build-plain daemon/halod tools/haloctl/haloctl tests/vm/uvcsim',
                '-k 10 -C build-release daemon/halod',
                '-k 10 -C build-clang daemon/halod',
                '-k 10 -C build-plain'])

    def test_no_virtual_machine(self):
        self.program('tests/vm/run', '#!/bin/sh\necho boot: there is no network\nexit 77\n')
        lines = self.check('vm')
        self.assertIn('skipped: cameras in a virtual machine: boot: there is no network',
                      lines)
        self.assertEqual(lines[-1], '0 passed, 0 failed, 1 skipped')

    def test_rounds(self):
        """The long form has each fault as often as is promised."""
        self.program('tests/vm/run', '#!/bin/sh\necho $HALOTEST_ROUNDS passed, 0 failed, 0 skipped\n')
        for part, rounds, label in (('vm', 1, ''), ('cameras', 20, ', all tests, rounds: 20')):
            output = '\n'.join(self.check(part))
            self.assertIn(f'virtual machine{label}: {rounds} passed, 0 failed', output)

    def test_failures(self):
        lines = self.check('--long', code=1, BAD='build-check')
        self.assertEqual(self.parts(lines), SHORT + LONG)
        self.check('--long', '--minutes', '1', code=1, BAD='build-check')

    def test_what_is_said_at_the_end(self):
        """What failed and how to repeat it, what was skipped and why, and where all of it stands."""
        lines = self.check('sanitized', code=1, BAD='build-check', LACKS='a lamp')
        self.assertIn('2/3 a+c - halod:two   FAIL   0.01s', lines)
        self.assertIn('| red', lines)
        end = lines[lines.index(next(line for line in lines if line.startswith('== after'))) + 1:]
        self.assertEqual(end[:2], ['skipped: build-check: four: no lamp', 'failed: build-check: two (fail)'])
        self.assertRegex(end[2], r"\Ato repeat the first one: LSAN_OPTIONS=.* meson test -C build-check two\Z")
        self.assertEqual(end[3:], ['all that was printed: build-logs/check.log',
                                   '1 passed, 1 failed, 1 skipped'])
        with open(self.path('build-logs/check.log'), encoding='utf-8') as file:
            self.assertIn('1/3 halod:a / one   OK   0.01s\n', file.read())

    def test_a_full_disk(self):
        self.program('bin/ninja', '#!/bin/sh\necho cc1: write error: No space left on device\nexit 1\n')
        lines = self.check('sanitized', code=1)
        self.assertTrue(any(line.startswith('check: a disk is full: make room in ') for line in lines), lines)
        self.program('bin/ninja', '#!/bin/sh\n')
        self.program('tests/vm/run', '#!/bin/sh\necho that was to be: No space left on device\nexit 1\n')
        lines = self.check('vm', code=1)
        self.assertFalse([line for line in lines if 'a disk is full' in line])

    def test_no_time_for_long_parts(self):
        lines = self.check('--long', '--minutes', '1', at=1)
        self.assertEqual(self.parts(lines), SHORT)
        for part in LONG:
            self.assertIn(f'skipped: {part}: needs about {self.need(part)} minutes, 0 are left',
                          lines)
        self.assertEqual(lines[-1], f'3 passed, 0 failed, {len(LONG)} skipped')

    def test_time_that_is_left_counts(self):
        minutes = max(map(self.need, LONG))
        self.assertEqual(self.parts(self.check('--long', '--minutes', str(minutes), at=0)),
                         SHORT + LONG)
        left = self.need('threads')
        begun = 60 * (100 - left)
        lines = self.check('--long', '--minutes', '100', at=begun)
        wanted = [part for part in LONG if self.need(part) <= left]
        self.assertIn('threads', wanted)
        self.assertNotIn('full', wanted)
        self.assertEqual(self.parts(lines), SHORT + wanted)
        lines = self.check('--long', '--minutes', '100', at=begun + 1)
        self.assertIn(f'skipped: threads: needs about {left} minutes, {left - 1} are left', lines)
        self.assertEqual(self.parts(self.check('--long', '--minutes', '100', begun=9999)), SHORT)

    def test_cut_off(self):
        self.need('threads', 0)
        # While the tests run, and not before: the time is over soon.
        self.program('bin/timeout', '#!/bin/sh\n[ "$4" != ninja ] || { shift 3; exec "$@"; }\n'
                     f'exec {shutil.which("timeout")} "$@"\n')
        lines = self.check('--long', '--minutes', '1', begun=57, SLOW='build-tsan')
        self.assertIn('skipped: build-tsan: the other tests: cut off, the 1 minutes are over', lines)
        self.assertNotIn('threads', self.parts(lines)[:3])
        self.assertIn(' 0 failed, ', lines[-1])
        self.need('mutants', 0)
        self.program('tests/kernels/mutants.py', '#!/bin/sh\nexec sleep 30\n')
        lines = self.check('--long', '--minutes', '1', begun=57)
        self.assertIn('skipped: mutants of the kernels are caught: cut off, the 1 minutes are over',
                      lines)

    def test_usage(self):
        for words in (('--fast',), ('--long', '--minutes'), ('--long', '--minutes', '0'),
                      ('--long', '--minutes', '-5'), ('--long', '--minutes', '1.5'),
                      ('--long', '--minutes', ''), ('--long', '--minutes', '123456'),
                      ('--minutes', '5'), ('--minutes', '5', 'plain'), ('--long', 'plain'),
                      ('nothing',), ('',)):
            lines = self.check(*words, code=64)
            self.assertEqual(len(lines), 1, words)
            self.assertRegex(lines[0], r'\Acheck: .*: see tools/check --help\Z')

    def test_help(self):
        lines = self.check('--help')
        self.assertEqual(lines[0], 'tools/check [quick | --long [--minutes N] | PART ...]')
        found = (re.match(r'  (\w+)  ', line) for line in lines)
        self.assertEqual([match[1] for match in found if match], QUICK + SHORT + LONG)


class Setup(unittest.TestCase):
    def test_by_hand(self):
        """By hand one installs what tools/setup does, and what says where units and rules go."""
        with open(os.path.join(ROOT, 'docs/building.md')) as file:
            output = re.search(r'apt-get install --no-install-recommends ((?:.*\\\n)*.*)\n',
                             file.read())
        with open(os.path.join(ROOT, 'tools/setup')) as file:
            build = re.findall(r'^build +\S+ +(\S+)', file.read(), re.M)
        self.assertEqual(sorted(output[1].replace('\\\n', ' ').split()),
                         sorted([*build, 'systemd', 'udev', 'scdoc']))

    def setup(self, want, **programs):
        """tools/setup as root of a system that has these programs, and little else."""
        programs = {'id': 'echo 0', **programs}
        with tempfile.TemporaryDirectory() as folder:
            for name in ('cat', 'date', 'dirname', 'env', 'find', 'grep', 'ls', 'mktemp', 'readlink', 'rm',
                         'sed', 'sh', 'tail', 'tr'):
                os.symlink(shutil.which(name), os.path.join(folder, name))
            for name, text in programs.items():
                path = os.path.join(folder, name.replace('_', '-'))
                with open(path, 'x', encoding='utf-8') as file:
                    file.write('#!/bin/sh\n' + text)
                os.chmod(path, stat.S_IRWXU)
            done = subprocess.run(['sh', os.path.join(ROOT, 'tools/setup'), want], text=True,
                                  env={'PATH': folder, 'TMPDIR': folder}, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stdout.splitlines()

    def test_in_one_line(self):
        """On other systems, and where nothing may be installed, the packages are named."""
        for programs, begin in (({'dnf': ''}, 'dnf install meson ninja-build pkgconf-pkg-config '),
                                ({'pacman': ''}, 'pacman -S --needed meson ninja pkgconf '),
                                ({}, "Debian's), and run this again: meson ninja-build pkg-config "),
                                ({'apt_get': '', 'id': 'echo 1000'}, 'there is no sudo; as root, run: ')):
            lines = self.setup('build', **programs)
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(begin, lines[0])

    def test_what_a_release_lacks(self):
        """What the build needs ends it; what needs others is skipped, and the rest is installed."""
        apt = {'apt_get': 'case $* in *install*) echo "E: $*"; exit 100 ;; esac',
               'apt_cache': 'for n; do [ $n = $LACKS ] || echo "Package: $n"; done'}
        for lacks, last in (('clang-format-14', ' libcmocka-dev'),
                            ('libuv1-dev', ' has no package libuv1-dev, which the build needs')):
            lines = self.setup('quick', **{**apt, 'apt_cache': apt['apt_cache'].replace('$LACKS', lacks)})
            self.assertTrue(lines[-1].endswith(last), lines)
            self.assertIn(f' has no package {lacks}', lines[1])


class Documents(unittest.TestCase):
    def test_protocol(self):
        """Every method and error that is on the wire is in the page of it and in the manual."""
        with open(os.path.join(ROOT, 'daemon/control/varlink.h')) as file:
            words = re.findall(
                r'^#define HALO_(?:METHOD|ERROR)_\w+ +(?:HALO_VARLINK_\w+ )?"\.?([A-Z]\w+)"',
                file.read(), re.M)
        self.assertGreater(len(words), 20)
        for page in ('docs/control.md', 'docs/halod-protocol.7.scd'):
            with open(os.path.join(ROOT, page)) as file:
                text = file.read()
            self.assertEqual([word for word in words if word not in text], [], page)


if __name__ == '__main__':
    unittest.main(verbosity=2)
