# SPDX-License-Identifier: BSD-2-Clause
# tools/dev/check-style finds what is planted into a copy of the sources.
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
FOLDERS = ('config', 'daemon', 'kernels', 'pipeline')


class CheckStyle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in FOLDERS:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.folder, name))
        os.makedirs(os.path.join(self.folder, 'tools', 'dev'))
        self.program = os.path.join(self.folder, 'tools', 'dev', 'check-style')
        shutil.copy(os.path.join(ROOT, 'tools', 'dev', 'check-style'), self.program)

    def check(self, *parts, **more):
        return subprocess.run([self.program, *parts], capture_output=True, text=True, check=False,
                              **more)

    def append(self, name, text):
        """Returns the line's place as check-style names it."""
        with open(os.path.join(self.folder, name), 'r+', encoding='utf-8') as file:
            number = len(file.readlines()) + 1
            file.write(text + '\n')
        return f'{name}:{number}: '

    def test_includes(self):
        result = self.check('includes')
        self.assertEqual((result.returncode, result.stdout), (0, ''), result.stderr)
        places = [self.append(name, line) for name, line in (
                ('pipeline/gate/gate.c', '#include "pipeline/stream/live.h"'),
                ('pipeline/base/av.h', '#  include "pipeline/region/shapes.h"'),
                ('pipeline/stream/live.c', '#include "daemon/link/link.h"'),
                ('kernels/conv.c', '#include "config/base/log.h"'),
                ('config/base/log.c', '#include "pipeline/base/path.h"'),
                ('daemon/view/viewers.c', '#include "daemon/supervisor/supervisor.h"'),
                ('daemon/cli/run/run.c', '#include "daemon/cli/commands.h"'),
                ('daemon/supervisor/sup_feed.c', '#include "daemon/supervisor/sup_lost.h"'),
                ('daemon/supervisor/sup_ring.h', '#include "daemon/supervisor/sup_stream.h"'),
                ('kernels/conv.c', '#include "conv.h"'))]
        result = self.check('includes')
        self.assertEqual(result.returncode, 1)
        for place in places:
            self.assertIn(place, result.stdout)

    def test_text(self):
        breaches = (
            ('config/base/log.c', 'int a; \n', 'trailing blanks'),
            ('config/base/log.h', '\n', 'empty lines'),
            ('config/tree.c', 'int a;', 'no newline at the end'),
            ('config/tree.h', '\tint a;\n', 'a tab'),
            ('kernels/conv.c', '/* ' + 'x' * 100 + ' */\n', 'longer than 100 columns'))
        for name, text, _ in breaches:
            with open(os.path.join(self.folder, name), 'a', encoding='utf-8') as file:
                file.write(text)
        result = self.check('text')
        self.assertEqual(result.returncode, 1)
        for name, _, what in breaches:
            self.assertRegex(result.stdout, rf'(?m)^{name}:\d+: [^:]*{what}')

    def test_names(self):
        breaches = [(self.append('config/base/log.c', text), what) for text, what in (
            ('enum { HALO_MOST_SHAPES = 3 };', 'an upper limit is MAX'),
            ('int a = sizeof(*b);', 'sizeof x'), ('int a = sizeof(b->c);', 'sizeof x'))]
        result = self.check('code')
        self.assertEqual(result.returncode, 1)
        for place, what in breaches:
            self.assertRegex(result.stdout, f'(?m)^{place}.*{what}')

    def test_versions_of_ffmpeg(self):
        """Printing a version is allowed, as daemon/cli/main.c does."""
        lines = ('#if LIBAVCODEC_VERSION_MAJOR < 60', '#if LIBSWSCALE_VERSION_INT > 9',
                 '#ifdef FF_API_INIT_PACKET', 'int a = AV_VERSION_INT(59, 1, 0);')
        for line in lines:
            self.append('pipeline/base/av_version.c', line)
            self.append('pipeline/base/av_version.h', line)
        self.append('daemon/cli/main.c', 'unsigned major = AV_VERSION_MAJOR(avformat_version());')
        result = self.check('code')
        self.assertEqual((result.returncode, result.stdout), (0, ''), result.stderr)
        places = [self.append('pipeline/base/av.c', line) for line in lines]
        result = self.check('code')
        self.assertEqual(result.returncode, 1)
        for place in places:
            self.assertIn(place + 'only pipeline/base/av_version.[ch] may', result.stdout)

    def test_clock_and_threads(self):
        """Only kernels/clock.h asks the system for the time, only config/base/thread lets threads
        wait."""
        time = 'the time comes from kernels/clock.h'
        wait = 'threads and waits go through config/base/thread.h'
        breaches = [(name, f'int a(void) {{ return {call}; }}', time) for call in (
            'clock_gettime(0, &t)', 'gettimeofday(&t, NULL)', 'time(NULL)', 'timespec_get(&t, 1)',
            'nanosleep(&t, NULL)', 'clock_nanosleep(0, 0, &t, NULL)', 'usleep(1)', 'sleep(1)',
            'av_gettime()', 'av_gettime_relative()', 'av_usleep(1)', 'uv_hrtime()', 'uv_sleep(1)')
            for name in ('kernels/conv.c', 'config/base/thread.c', 'config/base/log.c')]
        breaches += [(name, line, wait) for line in (
            'int a = pthread_cond_wait(&c, &m);', 'int a = pthread_cond_timedwait(&c, &m, &t);',
            'int a = pthread_mutex_lock(&m);', 'int a = pthread_create(&t, NULL, run, NULL);',
            'int a = pthread_join(t, NULL);', 'pthread_mutex_t a;', '#include <pthread.h>',
            'pthread_once_t once = PTHREAD_ONCE_INIT;', 'int a = sem_wait(&s);',
            'int a = uv_cond_timedwait(&c, &m, 1);', 'int a = uv_mutex_init(&m);',
            '#include <poll.h>', 'int a = poll(&p, 1, -1);', 'int a = ppoll(&p, 1, NULL, NULL);',
            'int a = select(1, &s, NULL, NULL, NULL);', 'int a = epoll_wait(e, &v, 1, -1);')
            for name in ('config/base/log.c', 'pipeline/base/turn.c', 'daemon/view/feed.c')]
        for name, line in (
                ('kernels/clock.h', 'int a = clock_gettime(0, &t);'),
                ('kernels/cpu/pool.c', 'int a = pthread_join(t, NULL);'),
                ('config/base/thread.c', 'int a = pthread_join(t, NULL) + ppoll(&p, 1, &t, 0);'),
                ('pipeline/base/av.c', 'int a = b->ops->time(b) + b->poll(b) + halo_sleep(1);'),
                ('daemon/view/feed.c', 'int a = uv_now(l) + uv_poll_stop(p) + of_time(b);')):
            self.append(name, line)
        result = self.check('code')
        self.assertEqual((result.returncode, result.stdout), (0, ''), result.stderr)
        places = [(self.append(name, line), what) for name, line, what in breaches]
        found = self.check('code').stdout.splitlines()
        for place, what in places:
            self.assertIn(place + what, [line[:len(place + what)] for line in found], place)
        self.assertEqual(len(found), len(places))

    def test_heads(self):
        with open(os.path.join(self.folder, 'config/new.c'), 'w', encoding='utf-8') as file:
            file.write('int a;\n')
        with open(os.path.join(self.folder, 'tools/new'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ntrue\n')
        with open(os.path.join(self.folder, 'config/empty.c'), 'w', encoding='utf-8'):
            pass
        with open(os.path.join(self.folder, 'tools/line'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n')
        result = self.check('heads')
        self.assertEqual(result.returncode, 1)
        for line in ('config/new.c:1: does not begin with its SPDX line',
                     'config/empty.c:1: does not begin with its SPDX line',
                     'tools/new:2: no SPDX line under #!', 'tools/line:2: no SPDX line under #!',
                     'tools/new: a script that cannot be run'):
            self.assertIn(line, result.stdout)

    def test_parameters(self):
        seven = 'int a, int b, int c,\n          int d, int e, int f, int g'
        six = 'int a, int b, int c, void (*done)(int, int, int), int e,\n          int f'
        body = '\n{\n}'
        samples = (  # a file, an innocent and a breach
            ('config/base/log.h', f'int x({six});', f'int x({seven});'),
            ('kernels/conv.c', f'__attribute__((format(printf, 1, 2))) int x({six}){body}',
             f'static int *x({seven}){body}'),
            ('kernels/cpu/rows_fir_tmpl.h', f'static void HALO_NAME(x)({six}){body}',
             f'static void HALO_NAME(x)({seven}){body}'),
            ('kernels/cuda/launch.cuh', f'template <int A>\n__global__ void x({seven}){body}',
             f'template <int A>\nstatic int x({seven}){body}'),
            ('kernels/cuda/direct.cu', f'static __device__ inline int x({seven}){body}',
             f'static int x({seven}){body}'))
        for name, innocent, _ in samples:
            self.append(name, innocent)
        result = self.check('code')
        self.assertEqual((result.returncode, result.stdout), (0, ''), result.stderr)
        for name, _, breach in samples:
            self.append(name, breach)
        result = self.check('code')
        self.assertEqual(result.returncode, 1)
        for name, _, _ in samples:
            self.assertRegex(result.stdout, rf'(?m)^{name}:\d+: x has 7 parameters, more than 6$')

    def test_header_length(self):
        name = 'pipeline/gate/gate.h'
        with open(os.path.join(self.folder, name), encoding='utf-8') as file:
            missing = 300 - len(file.readlines())
        self.append(name, '/* ' + '\n' * (missing - 1) + ' */')
        self.append('pipeline/gate/gate.c', '/*' + '\n' * 300 + ' */')
        result = self.check('code')
        self.assertEqual((result.returncode, result.stdout), (0, ''), result.stderr)
        self.append(name, '/* more */')
        result = self.check('code')
        self.assertEqual((result.returncode, result.stdout),
                         (1, f'{name}:1: a header of 301 lines, more than 300\n'))

    def test_format_that_cannot_be_checked(self):
        """A formatter that fails without a line about a file is no success."""
        programs = os.path.join(self.folder, 'bin')
        os.mkdir(programs)
        with open(os.path.join(programs, 'clang-format-14'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexit 3\n')
        os.chmod(os.path.join(programs, 'clang-format-14'), 0o755)
        environment = {**os.environ, 'PATH': programs + ':' + os.environ['PATH']}
        self.assertEqual(self.check('format', env=environment).returncode, 1)

    def test_unknown_part(self):
        result = self.check('nothing')
        self.assertEqual(result.returncode, 64)
        self.assertIn("no part 'nothing'", result.stderr)


if __name__ == '__main__':
    unittest.main()
