# SPDX-License-Identifier: BSD-2-Clause
# A job whose folder is on NFS: two clients, whose caches know nothing of each other, and a server
# that restarts, fills up, and is not reached.
import contextlib
import functools
import json
import os
import shutil
import subprocess
import time

from halotest import HALOD, HaloTest, main, wait_until
from halotest.jobs import sha256

SERVER = '/srv/farm'
# How each mounts the folder.
CLIENTS = {'a': ('nfs4', 'hard,timeo=20', '/'), 'b': ('nfs', 'vers=3,nolock,hard,timeo=20', SERVER)}
SECONDS = 240
ENCODE = ['-preset', 'ultrafast']
CHAIN = 'gblur=sigma=2'


def sh(script):
    done = subprocess.run(['sh', '-euc', script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise AssertionError(f'{script}\n{done.stdout}')
    return done.stdout


def start_server():
    sh('rpc.nfsd 4')


def stop_server():
    sh('rpc.nfsd 0')


def set_up_machine():
    sh(f'''mkdir -p {SERVER} /run/rpc_pipefs /var/lib/nfs/sm
        mount -t tmpfs -o size=24m farm {SERVER}
        chmod 777 {SERVER}
        mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
        modprobe nfsd
        mount -t nfsd nfsd /proc/fs/nfsd
        echo 10 >/proc/fs/nfsd/nfsv4leasetime
        echo 10 >/proc/fs/nfsd/nfsv4gracetime
        echo '{SERVER} *(rw,sync,fsid=0,no_subtree_check,no_root_squash)' >/etc/exports
        exportfs -a
        rpcbind -w
        rpc.mountd''')
    start_server()
    for i, (client, (kind, options, folder)) in enumerate(CLIENTS.items()):
        sh(f'''ip netns add {client}
            ip link add to-{client} type veth peer name eth0 netns {client}
            ip addr add 10.0.{i}.1/24 dev to-{client}
            ip link set to-{client} up
            ip -n {client} addr add 10.0.{i}.2/24 dev eth0
            ip -n {client} link set lo up
            ip -n {client} link set eth0 up
            mkdir -p /mnt/{client}
            unshare --uts sh -c 'hostname node-{client}
                nsenter --net=/run/netns/{client} \\
                    mount -t {kind} -o {options} 10.0.{i}.1:{folder} /mnt/{client}' ''')


class Nfs(HaloTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        set_up_machine()
        print(sh('mount | grep /mnt/'), flush=True)
        shutil.copy('/share/in.mp4', SERVER)
        cls.whole = cls.encode_whole()

    @classmethod
    def encode_whole(cls):
        """SHA-256 of what one process makes, without NFS."""
        subprocess.run([HALOD, 'run', '-segments', '-segment_time', '1', '-i', '/share/in.mp4', '-vf',
                        CHAIN, *ENCODE, '/tmp/whole.mp4'], check=True)
        return sha256('/tmp/whole.mp4')

    def setUp(self):
        super().setUp()
        self.begun = time.monotonic()
        self.split()

    def tearDown(self):
        for name in os.listdir(SERVER):
            path = os.path.join(SERVER, name)
            if name.startswith('out'):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        print(f'{self.id()}: {time.monotonic() - self.begun:.0f} s', flush=True)
        super().tearDown()

    def on(self, client, *arguments, code=0, start=False):
        """halod on a client's machine."""
        process = subprocess.Popen([HALOD, *map(str, arguments)], cwd=f'/mnt/{client}',
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process if start else self.ends(process, code)

    def ends(self, process, code=0):
        out, err = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, code, err)
        return out + err

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()

    def split(self, *options, chain=CHAIN):
        self.on('a', 'job', 'split', *options, '-segment_time', 1, '-i', 'in.mp4', '-vf', chain, *ENCODE,
                'out.mp4')
        self.count = self.status('a')['segments']
        self.assertGreaterEqual(self.count, 6)

    def status(self, client):
        return json.loads(self.on(client, 'job', 'status', '--json', 'out.mp4.parts'))

    def segment(self, client, number, **more):
        return self.on(client, 'job', 'segment', 'out.mp4.parts', number, **more)

    def join(self, client, **more):
        return self.on(client, 'job', 'join', 'out.mp4.parts', **more)

    def assert_done(self):
        for folder in (SERVER, '/mnt/a', '/mnt/b'):
            path = os.path.join(folder, 'out.mp4')  # a client may remember for a minute that it is not there
            self.assertTrue(wait_until(functools.partial(os.path.exists, path), SECONDS), path)
            self.assertEqual(sha256(path), self.whole, folder)
        self.assertEqual(sorted(os.listdir(SERVER)), ['in.mp4', 'out.mp4', 'out.mp4.job.json'])

    def test_two_machines(self):
        for number in range(self.count):
            self.segment('ab'[number % 2], number)
        self.join('b')
        self.assert_done()

    def test_parts_that_were_missing_a_moment_ago(self):
        """One client has just seen that there are no parts, and joins as soon as the other has made
        them: what it remembers must not count."""
        self.join('a', code=75)
        self.assertEqual(self.status('a')['done'], 0)
        for number in range(self.count):
            self.segment('b', number)
        self.assertEqual(self.status('a')['done'], self.count)
        self.join('a')
        self.assert_done()

    def test_the_same_segment_twice_at_once(self):
        for number in range(self.count):
            both = [self.segment(client, number, start=True) for client in CLIENTS]
            for process in both:
                self.ends(process)
        both = [self.join(client, start=True) for client in CLIENTS]
        for process in both:
            self.ends(process)
        self.assert_done()

    def test_merged_by_both(self):
        """What is shown in place of an object is that of one of them, for both."""
        self.split('-y', chain='hide=how=noise:region=rect 10 10 60 40')
        both = [self.on(client, 'job', 'merge', 'out.mp4.parts', start=True) for client in CLIENTS]
        for process in both:
            self.ends(process)
        self.assertEqual(os.stat(f'{SERVER}/out.mp4.parts/all.detections').st_mode & 0o777, 0o600)
        for number in range(self.count):
            self.segment('ab'[number % 2], number)
        self.join('b')
        self.assertEqual(sorted(os.listdir(SERVER)), ['in.mp4', 'out.mp4', 'out.mp4.job.json'])
        means = self.means(f'{SERVER}/out.mp4', 'crop=16:16:20:20')
        self.assertEqual(len(means), 80)
        self.assertLess(max(means) - min(means), 4, means)
        means = self.means('/share/in.mp4', 'crop=16:16:20:20')
        self.assertGreater(max(means) - min(means), 8, means)

    def means(self, path, crop):
        """The mean of this part of each frame."""
        data = subprocess.run(['ffmpeg', '-nostdin', '-v', 'error', '-i', path, '-vf', crop, '-f',
                               'rawvideo', '-pix_fmt', 'gray', '-'], stdout=subprocess.PIPE, check=True).stdout
        return [sum(data[at:at + 256]) / 256 for at in range(0, len(data), 256)]

    def test_server_restarts(self):
        def encode(client, first):
            return [(number, self.segment(client, number, start=True))
                    for number in range(first, self.count, 2)]
        running = encode('a', 0)
        time.sleep(0.5)
        stop_server()
        time.sleep(2)
        start_server()
        running += encode('b', 1)
        for _, process in running:
            self.ends(process)
        joining = self.join('a', start=True)
        time.sleep(0.3)
        stop_server()
        time.sleep(1)
        start_server()
        self.ends(joining)
        self.assert_done()

    def test_full_server(self):
        """The client learns of it when its data is flushed."""
        free = os.statvfs(SERVER)
        ballast = os.path.join(SERVER, 'ballast')
        with open(ballast, 'wb') as file:
            file.write(bytes(free.f_bavail * free.f_frsize - 4096))
        lines = self.segment('a', 0, code=75).splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn('No space left', lines[0])
        self.assertFalse(os.path.exists(f'{SERVER}/out.mp4.parts/000000.part'))
        os.unlink(ballast)
        for number in range(self.count):
            self.segment('ab'[number % 2], number)
        with open(ballast, 'wb') as file:
            free = os.statvfs(SERVER)
            file.write(bytes(free.f_bavail * free.f_frsize - 4096))
        line = self.join('b', code=75)
        self.assertIn('No space left', line)
        self.assertFalse(os.path.exists(f'{SERVER}/out.mp4'))
        os.unlink(ballast)
        self.join('b')
        self.assert_done()

    def test_machine_that_is_away_and_comes_back(self):
        away = self.segment('a', 0, start=True)
        time.sleep(0.4)
        sh('ip link set to-a down')
        try:
            for number in range(self.count):
                self.segment('b', number)
            self.join('b')
            self.assertEqual(sha256('/mnt/b/out.mp4'), self.whole)
        finally:
            sh('ip link set to-a up')
        self.assertIn(away.wait(SECONDS), (0, 75))
        self.assert_done()

    def test_killed_tasks(self):
        for number in range(self.count):
            task = self.segment('a', number, start=True)
            time.sleep(0.2 * number)
            task.kill()
            task.wait(SECONDS)
            self.segment('b', number)
        self.join('a')
        self.assert_done()


if __name__ == '__main__':
    main()
