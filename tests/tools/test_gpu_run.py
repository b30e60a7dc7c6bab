# SPDX-License-Identifier: BSD-2-Clause
# tests/gpu/run itself: does it see what is wrong. Scripts stand in for the programs.
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

TESTS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
HALOD = '''#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo "cuda         {version}"; exit 0 ;;
    --help) echo "options: {hwaccel}"; exit 0 ;;
    -c)
        echo "engine gpu0 is running (process 1)"
        echo "stream clip: running"
        mkdir "${{2%/*}}/files"
        touch "${{2%/*}}/files/1.mkv" "${{2%/*}}/files/2.mkv"
        exec sleep 60 ;;
    -backend) backend=$2; shift ;;
    -hwaccel) [ "$2" = none ] || backend=nvdec; shift ;;
    -i) clip=$2; shift ;;
    esac
    out=$1
    shift
done
[ "$HALOD_FAULT" ] && [ $backend = cpu ] && exit {cpu_fault}
[ "$HALOD_FAULT" ] && [ $backend = cuda ] && {{ {fault}; }}
cp "$clip" "$out"
case $backend in
cuda) {cuda} ;;
nvdec) {nvdec} ;;
esac
exit 0
'''
WELL = {'version': '1 device', 'hwaccel': '', 'cpu_fault': 75, 'fault': 'exit 75', 'cuda': ':',
        'nvdec': ':'}


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.path('gpu-tests'))
        os.mkdir(self.path('gpu-tests/clips'))
        shutil.copy(os.path.join(TESTS, 'gpu/run'), self.path('gpu-tests'))
        shutil.copy(os.path.join(TESTS, 'kernels/sanitize.sh'), self.path('gpu-tests'))
        for name in ('yuv420p-640x360.mkv', 'nv12-322x180.nut', 'h264-640x360.mp4'):
            with open(self.path('gpu-tests/clips/' + name), 'wb') as file:
                file.write(os.urandom(20000))

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(self.path(name), stat.S_IRWXU)

    def run_with(self, *arguments, check='exit 0', **halod):
        self.program('halod', HALOD.format(**{**WELL, **halod}))
        self.program('kernels-check', '#!/bin/sh\necho 5 passed\n' + check + '\n')
        self.program('kernels-lanes', '#!/bin/sh\necho 3 passed\n')
        self.program('kernels-lost', '#!/bin/sh\necho no device\nexit 77\n')
        done = subprocess.run([self.path('gpu-tests/run'), '--seconds', '0', *arguments], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-1], r'\A\d+ passed, \d+ failed, \d+ skipped\Z')
        return done.returncode, lines

    def failures(self, **halod):
        code, lines = self.run_with(**halod)
        failed = [line for line in lines if line.startswith('FAILED: ')]
        self.assertEqual(code, 1 if failed else 0)
        self.assertIn(f', {len(failed)} failed,', lines[-1])
        return failed

    def test_all_is_well(self):
        code, lines = self.run_with()
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], '50 passed, 0 failed, 3 skipped')
        self.assertIn('ok: nv12-322x180.nut, sobel', lines)

    def test_no_gpu(self):
        self.assertEqual(self.run_with(version='no driver (not usable here)'),
                         (77, ['skipped: all: cuda         no driver (not usable here)',
                               '0 passed, 0 failed, 1 skipped']))

    def test_other_pictures(self):
        failed = self.failures(cuda='printf x >>"$out"')
        self.assertEqual(sum('other pictures' in line for line in failed), 18)
        failed = self.failures(cuda='exit 1')
        self.assertEqual(sum('on the GPU' in line for line in failed), 18)

    def test_kernels_that_differ(self):
        self.assertEqual(len(self.failures(check='exit 1')), 2)

    def test_faults(self):
        self.assertEqual(len(self.failures(fault='cp "$clip" "$out"; exit 75')), 14)
        self.assertEqual(len(self.failures(fault='exit 1')), 14)
        code, lines = self.run_with(cpu_fault=0)
        self.assertEqual(code, 0)
        self.assertIn('skipped: faults: built without -Dfaults=true', lines)

    def test_nvdec(self):
        self.assertEqual(self.failures(hwaccel='-hwaccel'), [])
        failed = self.failures(hwaccel='-hwaccel', nvdec='printf x >>"$out"')
        self.assertEqual([line.split(': ')[:3] for line in failed],
                         [['FAILED', 'nvdec', 'h264-640x360.mp4']])
        code, lines = self.run_with(hwaccel='-hwaccel', nvdec='echo h264 is decoded by the CPU')
        self.assertIn('skipped: nvdec: h264-640x360.mp4: h264 is decoded by the CPU', lines)
        self.assertEqual(code, 0)

    def test_usage(self):
        for words in (('--fast',), ('--seconds',), ('--seconds', 'x'), ('/no/such',), ('a', 'b'),
                      ('--backend', 'foo'), ('--backend', '')):
            done = subprocess.run([os.path.join(TESTS, 'gpu/run'), *words], text=True, timeout=20,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (64, ''), words)
            self.assertRegex(done.stderr, r'\Agpu: [^\n]+\n\Z')


if __name__ == '__main__':
    unittest.main(verbosity=2)
