# SPDX-License-Identifier: BSD-2-Clause
# tools/bundle from end to end: unpacked elsewhere, with an empty environment, programs run.
"""The build folder is $BUILD; tools/bundle is looked for in the source tree beside this file."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
BUNDLE = os.path.normpath(os.path.join(SOURCE, 'tools/bundle'))
BUILD = os.environ.get('BUILD', '')
# What only the machine can give: the C library, and the driver of a GPU.
SYSTEM = ('libc.so', 'libm.so', 'libpthread.so', 'ld-linux', 'libcuda.so', 'libnvidia')


def run(*command, env=None, cwd=None):
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, env=env, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def bundle(*arguments, **environment):
    return run(BUNDLE, *arguments,
               env=dict(os.environ, ZSTD_CLEVEL='1', XZ_OPT='-0', **environment))


def bare():
    """An empty environment; sanitizers keep their options."""
    return {name: value for name, value in os.environ.items() if name.endswith('SAN_OPTIONS')}


class Bundle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def unpack(self, archive):
        place = self.path('somewhere else')
        os.mkdir(place)
        self.assertEqual(run('tar', '-C', place, '-xf', archive)[0], 0)
        top, = os.listdir(place)
        return os.path.join(place, top)

    def check_runs(self, top):
        code, out, err = run(os.path.join(top, 'halod'), '--version', env=bare(), cwd='/')
        self.assertEqual(code, 0, err)
        self.assertIn('libavcodec', out)
        libraries = os.listdir(os.path.join(top, 'lib'))
        self.assertTrue(any(name.startswith('libavcodec.so.') for name in libraries), libraries)
        self.assertFalse([name for name in libraries if name.startswith(SYSTEM)])
        clip, result = self.path('clip.y4m'), self.path('result.yuv')
        with open(clip, 'wb') as file:
            file.write(b'YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C420jpeg\n')
            file.write((b'FRAME\n' + bytes(range(192))) * 3)
        code, _, err = run(os.path.join(top, 'halod'), 'run', '-v', 'error', '-backend', 'cpu',
                           '-i', clip, '-vf', 'gblur=sigma=2', result, env=bare(), cwd='/')
        self.assertEqual((code, err), (0, ''))
        self.assertEqual(os.path.getsize(result), 3 * 192)

    def check_own_libraries(self, top):
        out = run('ldd', os.path.join(top, 'halod'), env={'PATH': os.environ['PATH']})[1]
        for line in out.splitlines():
            if '=>' in line and not line.strip().startswith((*SYSTEM, 'libdl', 'librt',
                                                             'libresolv', 'libmvec')):
                self.assertIn(os.path.join(top, 'lib') + '/', line)


class Archives(Bundle):
    @unittest.skipUnless(shutil.which('patchelf') and shutil.which('zstd'), 'no patchelf or zstd')
    def test_default_programs(self):
        archive = self.path('halod-x.tar.zst')
        code, out, err = bundle(BUILD, archive)
        self.assertEqual((code, err), (0, ''))
        self.assertRegex(out, r'halod halo-bench and \d+ libraries, [\d.]+ MB; needs glibc 2\.\d+')
        top = self.unpack(archive)
        self.assertEqual(os.path.basename(top), 'halod-x')
        self.assertEqual(sorted(os.listdir(top)), ['halo-bench', 'halod', 'lib'])
        self.check_runs(top)
        self.check_own_libraries(top)
        self.assertEqual(run(os.path.join(top, 'halo-bench'), '--list', env=bare())[0], 0)
        self.assertNotIn('.symtab', run('readelf', '-SW', os.path.join(top, 'halod'))[1])
        with open(archive, 'rb') as file:
            before = file.read()
        code, _, err = bundle(BUILD, archive)
        self.assertEqual(code, 1)
        self.assertRegex(err, r'\Abundle: [^\n]*halod-x.tar.zst exists[^\n]*\n\Z')
        with open(archive, 'rb') as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ['clip.y4m', 'halod-x.tar.zst', 'result.yuv', 'somewhere else'])

    def test_scripts_in_an_xz(self):
        archive = self.path('small.tar.xz')
        code, out, err = bundle('--scripts', BUILD + '/', archive, 'daemon/halod')
        self.assertEqual((code, err), (0, ''))
        self.assertIn(': daemon/halod and ', out)
        top = self.unpack(archive)
        self.check_runs(top)
        link = self.path('another name')
        os.symlink(os.path.join(top, 'halod'), link)
        for path in ('', '/nonexistent'):
            code, out, err = run(link, '--version', env=dict(bare(), PATH=path), cwd='/')
            self.assertEqual((code, err), (0, ''))
            self.assertIn('libavcodec', out)
        shutil.copy(os.path.join(top, 'halod'), self.path('copy'))
        code, out, err = run(self.path('copy'), env=bare())
        self.assertEqual((code, out), (1, ''))
        self.assertRegex(err, r'\Ahalod: [^\n]*cannot find lib/programs/halod[^\n]*\n\Z')

    @unittest.skipUnless(shutil.which('patchelf') and shutil.which('ffmpeg'), 'no patchelf, ffmpeg')
    def test_gpu_tests(self):
        archive = self.path('tests.tar.zst')
        code, _, err = bundle('--gpu-tests', BUILD, archive, 'halod')
        self.assertEqual(code, 0, err)
        top = self.unpack(archive)
        self.assertEqual(sorted(os.listdir(top)),
                         ['gpu-tests', 'halod', 'kernels-check', 'kernels-lanes', 'kernels-lost',
                          'lib'])
        self.assertLess(5, len(os.listdir(os.path.join(top, 'gpu-tests/clips'))))
        for name in os.listdir(os.path.join(top, 'gpu-tests/clips')):
            if name != 'yuv420p-640x360.mkv':
                os.remove(os.path.join(top, 'gpu-tests/clips', name))
        code, out, err = run(os.path.join(top, 'gpu-tests/run'), '--seconds', 0, '--backend', 'cpu')
        self.assertEqual((code, err), (0, ''), out)
        self.assertIn('ok: yuv420p-640x360.mkv, null\n', out)
        code, out, err = run(os.path.join(top, 'gpu-tests/many-streams'), '--streams', 2,
                             '--seconds', 1, '--backend', 'cpu', '--hwaccel', 'none', '--filters',
                             'pixelize=w=16')
        self.assertEqual((code, err), (0, ''), out)
        self.assertIn('running: 2 of 2', out)

    @unittest.skipUnless(shutil.which('patchelf') and shutil.which('zstd'), 'no patchelf or zstd')
    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, 'tests/proof/halo-prove')), 'no faults')
    def test_proof(self):
        archive = self.path('proof.tar.zst')
        code, _, err = bundle('--proof', BUILD, archive, 'halod')
        self.assertEqual(code, 0, err)
        few = ('frames', 'faults', 'points', 'filtered', 'leaks', 'cases')
        code, out, err = run(os.path.join(self.unpack(archive), 'prove-privacy'),
                             *(f'--{name}=1' for name in few), '--served=4', '--detected=4',
                             cwd=self.folder)
        self.assertEqual((code, err), (1, ''), out)  # so few prove nothing
        self.assertRegex(out, r'well: [1-9]\d* frames')
        self.assertIn(', 0 leaks, ', out)


class Refusals(Bundle):
    def test_one_line_each(self):
        out = self.path('x.tar.zst')
        os.mkdir(self.path('empty'))
        for words, status, says in (
                ((), 64, '--help'), ((BUILD,), 64, 'OUT'), ((BUILD, self.path('x.zip')), 64, '.tar.xz'),
                (('--fast', BUILD, out), 64, '--fast'), (('/no/such', out), 1, 'meson setup /no/such'),
                ((BUILD, '/no/such/x.tar.xz'), 1, '/no/such/x.tar.xz'),
                (('--scripts', self.path('empty'), out), 1, 'halod'),
                (('--scripts', BUILD, out, 'halodd'), 1, 'halodd'),
                (('--scripts', BUILD, out, 'daemon/no'), 1, 'daemon/no')):
            with self.subTest(words):
                code, printed, err = bundle(*words)
                self.assertEqual((code, printed), (status, ''))
                self.assertRegex(err, r'\Abundle: [^\n]+\n\Z')
                self.assertIn(says, err)
                self.assertFalse(os.path.exists(out))

    # All tools but patchelf.
    def test_no_patchelf(self):
        tools = self.path('tools')
        os.mkdir(tools)
        for name in ('bash', 'env', 'basename', 'dirname', 'ldd', 'strip', 'zstd'):
            os.symlink(shutil.which(name) or '/bin/true', os.path.join(tools, name))
        code, _, err = bundle(BUILD, self.path('x.tar.zst'), PATH=tools)
        self.assertEqual(code, 1)
        self.assertRegex(err, r'\Abundle: patchelf is missing: apt-get install patchelf[^\n]*\n\Z')

    # What packs it cannot write.
    def test_a_full_disk(self):
        tools = self.path('tools')
        os.mkdir(tools)
        with open(os.path.join(tools, 'xz'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ncat >/dev/null\necho xz: No space left on device >&2\nexit 70\n')
        os.chmod(file.name, 0o755)
        code, out, err = bundle('--scripts', BUILD, self.path('x.tar.xz'), 'daemon/halod',
                                PATH=tools + ':' + os.environ['PATH'])
        self.assertEqual((code, out), (1, ''))
        self.assertRegex(err, r'\Abundle: [^\n]*x.tar.xz: [^\n]*: xz: No space left[^\n]*\n\Z')
        self.assertEqual(os.listdir(self.folder), ['tools'])

    def test_help(self):
        code, out, err = bundle('--help')
        self.assertEqual((code, err), (0, ''))
        for word in ('BUILD', '.tar.xz', 'patchelf', 'ZSTD_CLEVEL', '64 usage'):
            self.assertIn(word, out)


if __name__ == '__main__':
    if not os.path.isdir(BUILD):
        sys.exit('BUILD does not name a build folder')
    unittest.main(verbosity=2)
