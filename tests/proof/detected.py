# SPDX-License-Identifier: BSD-2-Clause
# The part of a proof (tools/prove-privacy) with detectors that are late, wrong, silent and killed.
"""A daemon with streams whose filters hide what the stand-in detector finds (spots.h), which
misbehaves in all ways; detectors and engines are killed and stopped, too. Every frame that comes
out must hide its own spot."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

SIZE, STAY = (192, 128), 4
NAMES = ('frames', 'shown', 'hidden', 'unread', 'others', 'leaks')
# What the detector of each stream does wrong, and in how many frames on average.
PLANS = {
    'late': ('slow=0.03@1/10', 'slow=0.2@1/300'),
    'silent': ('slow=0.6@1/200', 'silent@1/900'),
    'wrong': ('early@1/900', 'old@1/900', 'twice@1/900', 'garbage@1/900', 'nan@1/900', 'far@1/900',
              'many@1/900', 'attached@1/900', 'huge@1/900', 'flood@1/900'),
    'dying': ('exit@1/500', 'crash@1/500', 'close@1/500', 'stop@1/900'),
    'well': (),
}


class Looker(threading.Thread):
    """halo-prove at one output, begun again whenever it ends, until close()."""

    def __init__(self, proof, name):
        super().__init__(daemon=True)
        self.proof, self.name, self.closed, self.process = proof, name, False, None
        self.start()

    def run(self):
        while not self.closed:
            self.process = subprocess.Popen(
                [self.proof.programs('halo-prove'), 'spots', '--stay', str(STAY),
                 f'unix:{self.proof.path(self.name)}.nut'],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.proof.take(self.process.communicate()[0], self.name)
            time.sleep(0.05)

    def close(self):
        self.closed = True
        self.join(20 * self.proof.patience)
        if self.is_alive():
            self.process.kill()
            self.join()


class Detected:
    """Rounds with a daemon. programs: finds halod, halo-prove and standin-detector by name."""

    FILTERS = 'solid=black:region=faces'

    def __init__(self, programs, folder, seed=1, backend='cpu', filters=FILTERS):
        self.programs, self.folder, self.backend = programs, folder, backend
        self.filters = filters
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.sums = {plan: dict.fromkeys(NAMES, 0) for plan in PLANS}
        self.faults, self.failures, self.rounds = {}, [], 0
        self.pause = 0.3  # seconds from one disturbance to the next, and up to one more
        self.wait, self.rate, self.patience = 0.05, 200, 1  # seconds that frames wait for their verdicts

    def slow_down(self):
        """For machines on which most verdicts come too late."""
        self.wait, self.rate = min(2 * self.wait, 0.8), max(self.rate // 2, 25)

    def path(self, name):
        return os.path.join(self.place, name)

    def take(self, text, plan):
        for leak in re.findall(r'^LEAK.*', text, re.M):
            print(f'from {plan}: {leak}', flush=True)
        for line in re.findall(r'^spots: (.*)', text, re.M):
            with self.lock:
                for word in line.split():
                    name, value = word.split('=')
                    self.sums[plan][name] += int(value)

    def total(self, name):
        return sum(sums[name] for sums in self.sums.values())

    def stream(self, plan, at):
        faults = [word for fault in PLANS[plan] for word in ('--do', fault)]
        command = ['standin-detector', '--look', 'spot', '--format', 'gray8', '--stay',
                   STAY, '--seed', self.random.randrange(1 << 30), *faults]
        return {'input': f'test:size={SIZE[0]}x{SIZE[1]}:rate={self.rate}:canary={at * 4096}',
                'filters': self.filters, 'backend': self.backend, 'privacy': 'off',
                'own_engine': True, 'on_error': 'solid',
                'detectors': {'faces': {'command': ' '.join(map(str, command)), 'wait': self.wait,
                                        'ahead': self.random.choice((0, 0.03)),
                                        'enter': self.random.choice((1, 2, 5)), 'hold': 0,
                                        'margin': 0}},
                'outputs': [{'unix': self.path(plan + '.nut'), 'video': {'codec': 'raw'}}]}

    def descendants(self, pid):
        """Of a process: [(pid, program)]."""
        ret, children = [], []
        try:
            with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            pass
        for child in children:
            try:
                ret.append((child, os.path.basename(os.readlink(f'/proc/{child}/exe'))))
            except OSError:
                pass
            ret += self.descendants(child)
        return ret

    def disturb(self, daemon):
        """Kills or stops a detector, or an engine now and then."""
        engine = self.random.random() < 0.15
        running = self.descendants(daemon.pid)
        found = [pid for pid, name in running if (name == 'standin-detector') != engine]
        if not found:
            return
        pid, kill = self.random.choice(found), self.random.random() < 0.6
        try:
            os.kill(pid, signal.SIGKILL if kill else signal.SIGSTOP)
            if not kill:
                time.sleep(0.3)
                os.kill(pid, signal.SIGCONT)
        except OSError:
            return
        what = ('killed' if kill else 'stopped') + (' engine' if engine else ' detector')
        self.faults[what] = self.faults.get(what, 0) + 1

    def round(self, seconds):
        """One daemon, for so long."""
        self.place = os.path.join(self.folder, 'detected')
        shutil.rmtree(self.place, ignore_errors=True)
        os.makedirs(self.place)
        self.rounds += 1
        with open(self.path('halod.yaml'), 'w', encoding='utf-8') as file:
            json.dump({'version': 1, 'control': {'path': self.path('control.sock')},
                       'streams': {plan: self.stream(plan, at) for at, plan in enumerate(PLANS)}},
                      file)
        # Found by its name, for its path may have blanks, which separate arguments.
        path = os.path.dirname(os.path.abspath(self.programs('standin-detector')))
        with open(self.path('log'), 'wb') as log:
            daemon = subprocess.Popen([self.programs('halod'), '-c', self.path('halod.yaml')],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env={**os.environ, 'PATH': path + ':' + os.environ['PATH']},
                                      start_new_session=True)
        lookers, begin = [Looker(self, plan) for plan in PLANS], time.monotonic()
        while daemon.poll() is None and time.monotonic() < begin + seconds:
            time.sleep(self.pause + self.random.random())
            self.disturb(daemon)
        if daemon.poll() is not None:
            self.failures.append(f'the daemon ended by itself, {daemon.returncode}:\n{self.log()}')
        self.finish(daemon)
        for looker in lookers:
            looker.close()

    def log(self):
        with open(self.path('log'), errors='replace', encoding='utf-8') as log:
            return log.read()[-3000:]

    def finish(self, daemon):
        if daemon.poll() is None:
            daemon.terminate()
        try:
            daemon.wait(30 * self.patience)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            self.failures.append(f'the daemon does not end:\n{self.log()}')
        breaches = re.findall(r'.*breach: .*', self.log())
        if breaches:
            self.failures.append('halod broke the contract with detectors:\n' + '\n'.join(breaches))

    def judge(self):
        """What is wrong, as lines; the frames that were shown must prove something."""
        ret = list(self.failures)
        for plan, sums in self.sums.items():
            if sums['leaks']:
                ret.append(f'{plan}: {sums["leaks"]} frames show their own spot')
        if not self.total('shown'):
            ret.append('no frame shows anything')
        if self.total('others') < self.total('shown') / 20:
            ret.append('too few frames show anything where they may')
        if self.total('unread') > self.total('shown'):
            ret.append(f'{self.total("unread")} frames show too little to be judged')
        return ret

    def say(self):
        for plan, sums in self.sums.items():
            print(f'    {plan}: ' + ', '.join(f'{value} {name}' for name, value in sums.items()))
        print('    ' + ', '.join(f'{count} times {what}' for what, count in
                                 sorted(self.faults.items())), flush=True)
