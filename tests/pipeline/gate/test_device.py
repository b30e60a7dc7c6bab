# SPDX-License-Identifier: BSD-2-Clause
# A device that fails, is lost, or never answers: no picture of that frame, status 75, one line.
"""The faults are those of kernels/fault.h. The CPU backend has the calls of a device too, so most of
this needs no GPU; what does is skipped where there is none."""
import collections
import os
import re
import subprocess
import tempfile
import time

import halotest
from halotest import PATIENCE, HaloTest, X264, clip, each, video_source

WIDTH, HEIGHT, FRAMES = 160, 120, 50
FRAME = WIDTH * HEIGHT * 3 // 2
CHAIN = 'gblur=sigma=5'
CALLS = ('alloc', 'upload', 'poison', 'launch', 'download', 'event')
EXIT_DEVICE = 75


def source(seconds=FRAMES // 25):
    return clip('.mkv', *video_source(f'{WIDTH}x{HEIGHT}', seconds=seconds), *X264)


def run(backend, *options, fault=None, output='-', seconds=FRAMES // 25, hwaccel='none',
        **environment):
    """Pictures are decoded in software: those on the GPU cannot go on on the CPU."""
    if fault:
        environment['HALOD_FAULT'] = fault
    form = ['-f', 'rawvideo'] if output == '-' else []
    return halotest.run_halod('run', '-v', 'warning', '-backend', backend, '-hwaccel', hwaccel,
                              '-i', source(seconds),
                              '-vf', CHAIN, *options, *form, output, environment=environment)


class Device(HaloTest):
    backend = 'cpu'
    wanted = None

    @classmethod
    def setUpClass(cls):
        halotest.need_faults()
        cls.wanted = run('cpu').out
        assert len(cls.wanted) == FRAMES * FRAME

    def assert_closed(self, fault, *options, words='failed|start', most=FRAMES):
        """To a pipe go whole frames, right ones, none from the fault on; a file is not made."""
        ran = run(self.backend, *options, fault=fault)
        self.assertEqual(ran.code, EXIT_DEVICE, self.logged(ran))
        self.assert_one_line(ran)
        self.assertRegex(ran.err, words)
        self.assertEqual(len(ran.out) % FRAME, 0)
        self.assertTrue(self.wanted.startswith(ran.out), 'not what the filters make')
        self.assertLess(len(ran.out) // FRAME, most)
        ran = run(self.backend, *options, fault=fault, output=self.path('out.mkv'))
        self.assertEqual(ran.code, EXIT_DEVICE, self.logged(ran))
        self.assert_one_line(ran)
        self.assertEqual(os.listdir(self.folder), [])

    def assert_same(self, ran, lines):
        self.assertEqual(ran.code, 0, self.logged(ran))
        self.assertEqual(len(ran.err.splitlines()), lines, self.logged(ran))
        self.assertTrue(ran.out == self.wanted, 'other bytes than those of the CPU')

    def unwritten(self):
        """Filters that write nothing and say that all is well: gray, and no older picture."""
        for number in (1, 4, FRAMES):
            ran = run(self.backend, fault=f'skip:{number}')
            self.assertEqual(ran.code, 0, self.logged(ran))
            self.assertEqual(len(ran.out), len(self.wanted))
            for n in range(FRAMES):
                wanted = self.wanted[n * FRAME:(n + 1) * FRAME] if n + 1 != number else b'\x80' * FRAME
                self.assertTrue(ran.out[n * FRAME:(n + 1) * FRAME] == wanted, f'picture {n}')

    def hangs(self, fault, *options, limit=1):
        """Ends, whatever the device does; yields the seconds that it took, with each output."""
        # The process ends with threads in it: ThreadSanitizer need not say so.
        tsan = os.environ.get('TSAN_OPTIONS', '') + ' report_thread_leaks=0'
        for output in ('-', self.path('out.mkv')):
            begun = time.monotonic()
            ran = run(self.backend, '-gpu_timeout', limit, *options, fault=fault, output=output,
                      TSAN_OPTIONS=tsan)
            took = time.monotonic() - begun
            self.assertEqual(ran.code, EXIT_DEVICE, self.logged(ran))
            self.assert_one_line(ran)
            self.assertIn('did not finish a frame within 1 seconds', ran.err)
            self.assertTrue(self.wanted.startswith(ran.out))
            self.assertEqual(os.listdir(self.folder), [])
            self.assertGreater(took, limit)
            yield took

    def hangs_soon(self, start, *options):
        """The time of the deadline, a second, and that of a start, with each output."""
        self.best_of(lambda: self.assertLess(max(self.hangs(*options)), (1 + 1 + start) * PATIENCE), 5)


class WithoutGpu(Device):
    def test_every_call(self):
        for kind, call in each(CALLS + ('submit', 'finish'), (1, 9, 50)):
            with self.subTest(kind=kind, call=call):
                self.assert_closed(f'{kind}:{call}', most=call)

    def test_a_lost_device(self):
        for kind in CALLS + ('submit', 'finish'):
            with self.subTest(kind):
                self.assert_closed(f'{kind}:9+', most=9)

    def test_filters_that_write_nothing(self):
        self.unwritten()

    def test_a_misspelt_fault_is_refused(self):
        for fault in ('foo', 'submit', 'submit:', 'submit:0', 'submit:x', ':1', 'submit:1++',
                      'submit:-1', 'submit: 1', 'submit:1 ', 'sub:1', 'submit:9999999999'):
            with self.subTest(fault):
                ran = run('cpu', fault=fault)
                self.assertEqual((ran.code, ran.out), (64, b''), self.logged(ran))
                self.assertEqual(ran.err, f'HALOD_FAULT={fault}: faults must be KIND:N, KIND:N+, '
                                 'KIND:p=P or KIND:/FILE, separated by commas '
                                 '(see kernels/fault.h)\n')

    def test_no_start(self):
        self.assert_closed('open:1', words='failed to start', most=1)

    def test_no_page_locked_memory(self):
        """The CPU has none, and other memory does."""
        for fault in ('memory:1', 'memory:4', 'memory:2+'):
            with self.subTest(fault):
                self.assert_same(run('cpu', fault=fault), 0)

    def test_no_answer(self):
        for fault in ('hang:1', 'hang:3', 'hang:50'):
            with self.subTest(fault):
                self.assertEqual(len(list(self.hangs(fault))), 2)

    @halotest.alone
    def test_no_answer_is_noticed_soon(self):
        self.hangs_soon(2, 'hang:3')

    def test_no_answer_leaves_reports(self):
        """The deadline ends the process: what was there before stays, and nothing else."""
        for name in ('trace.json', 'stats.json'):
            with open(self.path(name), 'w', encoding='utf-8') as file:
                file.write('old')
        ran = run('cpu', '-gpu_timeout', 1, '-trace', self.path('trace.json'), '-stats_json',
                  self.path('stats.json'), fault='hang:3', output=self.path('out.mkv'))
        self.assertEqual(ran.code, EXIT_DEVICE, self.logged(ran))
        self.assertEqual(sorted(os.listdir(self.folder)), ['stats.json', 'trace.json'])
        for name in ('trace.json', 'stats.json'):
            with open(self.path(name), encoding='utf-8') as file:
                self.assertEqual(file.read(), 'old')

    def ends_soon(self, ran):
        self.addCleanup(ran.stdout.close)
        self.addCleanup(ran.stderr.close)
        self.addCleanup(ran.kill)
        try:
            self.assertEqual(ran.wait(halotest.RUN_TIMEOUT), EXIT_DEVICE)
        except subprocess.TimeoutExpired:
            self.fail('it waits for others after the failure')

    def test_a_source_that_waits(self):
        """A failure is the end, though no more input comes."""
        ran = halotest.start_halod(
            'run', '-v', 'warning', '-backend', 'cpu', '-f', 'rawvideo', '-pixel_format', 'yuv420p',
            '-video_size', f'{WIDTH}x{HEIGHT}', '-i', '-', '-vf', CHAIN, self.path('out.mkv'),
            stdin=subprocess.PIPE, environment={'HALOD_FAULT': 'finish:3'})
        self.addCleanup(ran.stdin.close)
        ran.stdin.write(bytes(6 * FRAME))
        ran.stdin.flush()
        self.ends_soon(ran)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_reader_that_takes_nothing(self):
        ran = halotest.start_halod(
            'run', '-v', 'warning', '-backend', 'cpu', '-i', source(10), '-vf', CHAIN, '-f',
            'rawvideo', '-', environment={'HALOD_FAULT': 'finish:6'})
        self.ends_soon(ran)

    @halotest.alone
    def test_a_slow_reader_is_no_silent_device(self):
        """Frames that wait for the sink are not late. A halod that stands still for two seconds
        notices, and one that does for less has as long as that for a frame."""
        ran = halotest.start_halod('run', '-v', 'warning', '-backend', 'cpu', '-gpu_timeout', '2',
                                   '-i', source(10), '-vf', CHAIN, '-f', 'rawvideo', '-')
        self.assertTrue(halotest.wait_until(lambda: halotest.is_full(ran.stdout)))
        time.sleep(2.7)  # longer than -gpu_timeout, and than the time until one looks
        out, err = ran.communicate(timeout=60 * PATIENCE)
        self.assertEqual((ran.returncode, err), (0, b''))
        self.assertEqual(len(out), 250 * FRAME)


class Usage(HaloTest):
    def test_which_gpu(self):
        for word in ('x', '-1', '1024', ''):
            ran = run('cpu', '-gpu', word)
            self.assertEqual(ran.code, 64, self.logged(ran))
            self.assert_one_line(ran)
        for word in ('auto', '0'):
            self.assertEqual(run('cpu', '-gpu', word).code, 0)

    def test_limits(self):
        for option, word in (('-gpu_timeout', '0'), ('-pinned_memory', '-1')):
            ran = run('cpu', option, word)
            self.assertEqual(ran.code, 64, self.logged(ran))
            self.assert_one_line(ran)


class Gpu(Device):
    backend = 'cuda'

    @classmethod
    def setUpClass(cls):
        version = halotest.run_halod('--version').out.decode()
        if re.search(r'^cuda .*not usable here', version, re.M):
            cls.skipTest(cls, 'no GPU')
        super().setUpClass()

    def test_filters_that_write_nothing(self):
        self.unwritten()

    def test_same_bytes(self):
        self.assert_same(run('cuda'), 0)
        self.assert_same(run('cuda', '-pinned_memory', '0'), 0)

    def test_every_call(self):
        for kind in CALLS + ('submit', 'finish'):
            for stays in '', '+':
                fault = f'{kind}:{1 if kind == "alloc" else 9}{stays}'
                with self.subTest(fault):
                    words = 'failed' if kind in ('submit', 'finish') else r'\(cudaError\w+\)'
                    self.assert_closed(fault, words=words)

    def test_no_start(self):
        for fault in ('open:1', 'open:1+', 'open:2'):
            self.assert_closed(fault, words=r'failed to start: .*\(cudaError\w+\)', most=1)

    def test_going_on_on_the_cpu(self):
        for kind in CALLS + ('finish', 'open'):
            for stays in '', '+':
                fault = f'{kind}:{1 if kind in ("alloc", "open") else 9}{stays}'
                with self.subTest(fault):
                    ran = run('auto', fault=fault)
                    self.assert_same(ran, 1)
                    self.assertIn('on the CPU', ran.err)

    def test_pictures_that_are_on_the_gpu_only(self):
        """Decoded by NVDEC, where there is one: lost with the device, whatever the backend."""
        if 'NVDEC' in run('cuda', hwaccel='cuda').err:
            self.skipTest('no NVDEC')
        for backend in ('cuda', 'auto'):
            for fault in ('launch:9', 'launch:9+', 'event:9', 'event:9+', 'download:9+'):
                with self.subTest(backend=backend, fault=fault):
                    ran = run(backend, fault=fault, hwaccel='cuda')
                    self.assertEqual(ran.code, EXIT_DEVICE, self.logged(ran))
                    self.assert_one_line(ran)
                    self.assertTrue(self.wanted.startswith(ran.out))
                    self.assertLess(len(ran.out), len(self.wanted))

    def test_no_page_locked_memory(self):
        for fault in ('memory:1', 'memory:4'):
            with self.subTest(fault):
                ran = run('cuda', fault=fault)
                self.assert_same(ran, 1)
                self.assertIn('ordinary memory', ran.err)

    @halotest.alone
    def test_no_answer(self):
        for backend in ('cuda', 'auto'):
            self.backend = backend
            self.hangs_soon(3, 'hang:30')  # the driver starts too

    def calls(self, seconds):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'calls')
            ran = run('cuda', seconds=seconds, HALOD_CUDA_CALLS=path)
            self.assertEqual(ran.code, 0, self.logged(ran))
            with open(path, encoding='ascii') as file:
                return collections.Counter({line.split()[0]: int(line.split()[1])
                                            for line in file})

    def test_steady_state(self):
        """A hundred frames more: nothing more is made, freed or waited for but the frames."""
        few, many = self.calls(6), self.calls(10)
        more = {name: many[name] - few[name] for name in many if many[name] != few[name]}
        copies = more.pop('cudaMemcpyAsync', 0) + more.pop('cudaMemcpyBatchAsync', 0)
        self.assertGreaterEqual(copies, 200, f'up and down: {many}')
        for name in ('cudaMemsetAsync', 'cudaEventRecord'):
            self.assertGreaterEqual(more.pop(name, 0), 100, f'{name} in {many}')
        self.assertEqual(more.pop('cudaEventSynchronize', 0), 100)
        # How many pictures are on their way at most is a matter of chance.
        self.assertLess(abs(more.pop('cudaHostAlloc', 0)) + abs(more.pop('cudaFreeHost', 0)), 16)
        allowed = ('cudaLaunchKernel', '__cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaSetDevice',
                   'cudaGraphLaunch', 'cudaStreamWaitEvent', 'cudaMemcpy2DAsync',
                   'cudaMemcpyToSymbolAsync', 'cudaMemset2DAsync', 'cudaHostGetDevicePointer',
                   'cudaFuncSetAttribute')
        self.assertEqual({name: n for name, n in more.items() if name not in allowed}, {})


del Device
if __name__ == '__main__':
    halotest.main()
