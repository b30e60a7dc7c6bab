# SPDX-License-Identifier: BSD-2-Clause
# halod job submit and watch: GNU parallel, this machine, a stand-in for Kubernetes, folders.
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time

import halotest
from halotest import halod_command, halod_environment, run_halod, start_halod, wait_until
from halotest.jobs import DetectTest, JobTest, frames, sha256, source, stopping, wait_stopped


class Submit(JobTest):
    """With two segments for each job: processes cost more than what they encode."""

    def setUp(self):
        super().setUp()
        self.input = source(2)

    def write(self, name, script):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + script + '\n')
        os.chmod(file.name, 0o755)
        return file.name

    def standing_in(self, name, script):
        """The environment in which this is a command."""
        os.makedirs(self.path('bin'), exist_ok=True)
        self.write('bin/' + name, script)
        return {'environment': {'PATH': self.path('bin') + ':' + os.environ['PATH']}}

    def submit(self, engine, *options, code=0, parts=None, **more):
        return self.halod('job', 'submit', '--engine', engine, *options, *(parts or [self.parts]),
                          code=code, **more)

    def printed(self, engine, *options, parts=None):
        return self.submit(engine, '--print', *options, parts=parts).out.decode()


class Local(Submit):
    def test_fewer_tasks_and_several_jobs(self):
        other = self.path("other's one.mp4")
        for engine, options in (('local', ('--tasks', 3, '--workers', 3)), ('parallel', ('--workers', 4))):
            if engine == 'parallel' and not shutil.which('parallel'):
                continue
            with self.subTest(engine):
                self.split()
                self.split('-crf', '30', output=other)
                self.submit(engine, *options, parts=[self.parts, other + '.parts'])
                self.assert_done()
                self.assertEqual(sha256(other), self.whole('-crf', '30'))
            for name in (self.output, other):
                os.unlink(name)
                os.unlink(name + '.job.json')

    def test_once(self):
        self.split()
        self.refused('job', 'submit', self.parts, says='--engine')
        self.refused('job', 'submit', '--engine', 'cron', self.parts, says='slurm')
        self.refused('job', 'submit', '--engine', 'local', says='MANIFEST')
        self.refused('job', 'submit', '--engine', 'local', '--tasks', '0', self.parts, says='tasks')
        self.refused('job', 'submit', '--engine', 'slurm', self.parts, code=1, says='sbatch',
                     environment={'PATH': '/nowhere'})
        self.refused('job', 'submit', '--engine', 'kubernetes', '--image', 'x', '--claim', 'y', '--folder',
                     self.folder, self.parts, code=1, says='kubectl', environment={'PATH': '/nowhere'})
        self.submit('parallel', '--program', 'false', code=1)
        with open(os.path.join(self.parts, 'submitted.json'), 'w', encoding='ascii') as file:
            json.dump({'engine': 'slurm', 'at': '2030-01-01T00:00:00Z'}, file)
        self.refused('job', 'submit', '--engine', 'local', self.parts, says=('slurm', '--again'))
        self.submit('local', '--again')
        self.assert_done()

    def test_interrupted(self):
        """While a task is running."""
        self.split()
        begun = self.path('begun')
        program = self.write('halod', f'[ "$2" != segment ] || {{ : >{begun}; exec sleep 3600; }}\n'
                                      f'exec {halotest.HALOD} "$@"')
        local = start_halod('job', 'submit', '--engine', 'local', '--program', program, self.parts)
        self.assertTrue(wait_until(lambda: os.path.exists(begun) or local.poll() is not None))
        local.send_signal(signal.SIGTERM)
        out, err = local.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(local.returncode, -signal.SIGTERM, (out, err))
        self.assert_nothing()
        self.submit('local')
        self.assert_done()

    def test_ignored_signals(self):
        """Where the end of processes was ignored at the start, tasks are seen to end all the same."""
        self.split()
        command = halod_command('job', 'submit', '--engine', 'local', self.parts)
        subprocess.run(['bash', '-c', 'trap "" CHLD INT; exec "$@"', 'bash', *command], check=True,
                       env=halod_environment(), timeout=halotest.RUN_TIMEOUT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assert_done()

    def test_task_that_fails(self):
        self.split()
        os.rename(self.path('out.mp4.parts/manifest.json'), self.path('kept'))
        self.refused('job', 'submit', '--engine', 'local', self.parts, code=75, says='no manifest')
        os.rename(self.path('kept'), self.path('out.mp4.parts/manifest.json'))
        program = self.write('halod', f'n=$(cat {self.folder}/$6 2>/dev/null || echo 0)\n'  # each fails twice
                                      f'echo $((n + 1)) >{self.folder}/$6\n'
                                      f'[ "$2" = join ] || [ $n -ge 2 ] || exit 75\nexec {halotest.HALOD} "$@"')
        self.submit('local', '--program', program)
        self.assert_done()

    def test_exit_status(self):
        """Whether another try may succeed follows from how the task ended."""
        self.split()
        for engine in ('local', 'parallel'):
            for end, code in (('exit 75', 75), ('kill -9 $$', 75), ('exit 78', 1)):
                if engine == 'parallel' and not shutil.which('parallel'):
                    continue
                with self.subTest((engine, end)):
                    program = self.write('halod', end)
                    self.assertIn('ended with', self.submit(engine, '--program', program, code=code).err)

    def test_number_of_the_task(self):
        """Without a number in the command, as users write it."""
        if not shutil.which('parallel'):
            self.skipTest('no GNU parallel')
        self.split()
        command = ' '.join(map(shlex.quote, halod_command('job', 'segment', self.parts)))
        line = f'seq 2 | parallel -j 2 "{command} #{{}}"'
        subprocess.run(['sh', '-c', line], check=True, env=halod_environment(), capture_output=True)
        self.join()
        self.assert_done()


# ---- names of strangers ----

class Names(Submit):
    """A file's name is data to every engine, however it looks."""

    ENCODE = ['-c:v', 'ffv1']
    FINE = [
        '{}', '{#}', '{.}', '{%}', '{1}', '{##}', '{= system("echo >pwned") =}', '{=uq=}',
        'a{= $_=`touch pwned` =}', '$(touch pwned)', '`touch pwned`', '$HOSTNAME', '$(HOSTNAME)', '$$', '$$(A)',
        "'; touch pwned; '", '"; touch pwned; "', '&& touch pwned', '| touch pwned', '> pwned', 'a;b&c', ' a ',
        '-i', '--of', '-', '0', '12', '* ? [a]', '~', '#SBATCH --wrap=id', '%j %% %A', 'a\\', '\\n', '"', "'",
        '!! ^a^b', 'file:a:b', 'pipe:0', '${IFS}', 'EOF', 'segment', '%03d', '\u65e5\u672c \u00e9', 'x' * 200]
    BAD = ['a\nb', 'a\nsegment\ntouch pwned', 'a\n#SBATCH --wrap=id', 'a\rb', 'a\tb', 'a\x1b[31m', 'a\x7f']
    CLUSTER = ['--image', 'registry.example/halod', '--claim', 'media']

    def setUp(self):
        super().setUp()
        self.input = halotest.clip('.mkv', *halotest.video_source('16x16', seconds=0.2), '-c:v', 'ffv1')
        self.new, self.to, self.said = self.path('new'), self.path('to'), self.path('said')
        for folder in (self.new, self.to, self.said, self.path('bin')):
            os.mkdir(folder)
        self.program = self.write('halod', f'printf "%s\\0" "$@" >{self.said}/$$')
        self.write('bin/sbatch', f'n=$(ls {self.path("bin")} | wc -l); cat >{self.path("bin")}/$n.sh; echo $n')
        self.more = {'cwd': self.folder, 'environment': {'PATH': self.path('bin') + ':' + os.environ['PATH']}}

    def take_said(self):
        """The arguments of each process that was started, and forgets them."""
        ret = []
        for name in os.listdir(self.said):
            with open(os.path.join(self.said, name), 'rb') as file:
                ret.append(os.fsdecode(file.read()).split('\0')[:-1])
            os.unlink(file.name)
        return sorted(ret)

    def watch(self):
        return run_halod('job', 'watch', '--engine', 'local', '--program', self.program, '--once', '--settle',
                         '0.1', '--to', self.to, self.new, '-vf', 'null', *self.ENCODE, **self.more)

    def make(self):
        """A job of each name, which watch has split."""
        for name in self.FINE:
            shutil.copy(self.input, os.path.join(self.new, name + '.mkv'))
        self.watch()
        parts = [os.path.join(os.path.realpath(self.to), name + '.mkv.parts') for name in self.FINE]
        want = [['job', 'segment', '--of', '1', path, '0'] for path in parts]
        self.assertEqual(self.take_said(), sorted(want + [['job', 'join', path] for path in parts]))
        return parts

    def check_script(self, text):
        for line in text.splitlines():
            if line.startswith('#SBATCH'):
                self.assertRegex(line, r'^#SBATCH --(array=0-\d+|requeue|cpus-per-task=\d|open-mode=append|'
                                 r'job-name=halod-[0-9a-z-]+|output=("[^"\\]*"|/dev/null))$')

    def run_scripts(self):
        """What sbatch was given."""
        for n in range(1, 3):
            with open(self.path(f'bin/{n}.sh'), encoding='utf-8') as file:
                script = file.read()
            os.unlink(file.name)
            self.check_script(script)
            last = int(re.search('--array=0-([0-9]+)', script).group(1))
            for i in range(last + 1):
                subprocess.run(['sh', '-c', script], check=True, cwd=self.folder,
                               env={**os.environ, 'SLURM_ARRAY_TASK_ID': str(i)})

    def run_pods(self, parts):
        text = self.printed('kubernetes', *self.CLUSTER, '--folder', os.path.realpath(self.to), '--program',
                            self.program, '--tasks', 3, parts=parts)
        for job in json.loads(text)['items']:
            self.assertEqual(Cluster(job).run(), [])

    def test_every_engine(self):
        parts = self.make()
        once = ['job', 'join', *parts]
        tasks = [['job', 'segment', '--of', '3', *parts, str(i)] for i in range(3)]
        for engine, joins in (('local', [once]), ('parallel', [once]), ('slurm', [['job', 'join', p] for p in parts])):
            if engine == 'parallel' and not shutil.which('parallel'):
                continue
            with self.subTest(engine):
                self.submit(engine, '--tasks', 3, '--program', self.program, '--again', parts=parts, **self.more)
                if engine == 'slurm':
                    self.run_scripts()
                self.assertEqual(self.take_said(), sorted(tasks + joins))
                text = self.printed(engine, '--tasks', 3, '--program', self.program, parts=parts)
                subprocess.run(['sh', '-c', text], check=True, cwd=self.folder, stdout=subprocess.DEVNULL,
                               env={**halod_environment(), **self.more['environment']})
                if engine == 'slurm':
                    self.run_scripts()
                self.assertEqual(self.take_said(), sorted(tasks + joins))
        for path in parts:
            self.check_script(self.printed('slurm', parts=[path]))
        with self.subTest('kubernetes'):
            self.run_pods(parts)
            said = self.take_said()
            pods = [['job', 'segment', '--of', '3', *parts] for _ in range(3)]
            self.assertEqual(said, sorted(pods + [[*once, '--wait']]))
        self.assertEqual([name for _, _, names in os.walk(self.folder) for name in names if 'pwned' == name], [])

    def test_refused(self):
        """One line for each, and no job."""
        for name in self.BAD:
            shutil.copy(self.input, os.path.join(self.new, name + '.mkv'))
        shutil.copy(self.input, os.path.join(os.fsencode(self.new), b'latin\xe9.mkv'))
        run = self.watch()
        self.assertEqual((self.take_said(), os.listdir(self.to)), ([], []))
        self.assertEqual(run.err.count('control character'), len(self.BAD), run.err)
        self.assertEqual(run.err.count('must be UTF-8'), 1, run.err)
        self.assertEqual(len(run.err.splitlines()), 2 * len(self.BAD) + 2, run.err)


# ---- Kubernetes ----

# What the reference of the API says of the fields that are used: (type, required).
FIELDS = {
    'job': {'apiVersion': (str, True), 'kind': (str, True), 'metadata': (dict, True), 'spec': (dict, True)},
    'spec': {'template': (dict, True), 'completions': (int, False), 'parallelism': (int, False),
             'completionMode': (str, False), 'backoffLimit': (int, False),
             'backoffLimitPerIndex': (int, False), 'maxFailedIndexes': (int, False),
             'podFailurePolicy': (dict, False), 'activeDeadlineSeconds': (int, True),
             'ttlSecondsAfterFinished': (int, True)},
    'pod': {'restartPolicy': (str, True), 'containers': (list, True), 'volumes': (list, False),
            'securityContext': (dict, False), 'terminationGracePeriodSeconds': (int, False),
            'automountServiceAccountToken': (bool, True)},
    'container': {'name': (str, True), 'image': (str, True), 'command': (list, True),
                  'resources': (dict, False), 'securityContext': (dict, False), 'volumeMounts': (list, False)},
}


class Cluster:
    """Starts the pods of a Job as Kubernetes would: each index until it has succeeded, within its
    limit. kill: called with each pod that runs, and its index and attempt."""

    def __init__(self, job, kill=None, **environment):
        self.job, self.kill = job, kill or (lambda pod, index, attempt: None)
        self.environment = environment
        self.failed = []
        self.attempts = {}

    def action(self, code):
        for rule in self.job['spec']['podFailurePolicy']['rules']:
            if 'onExitCodes' in rule and code in rule['onExitCodes']['values']:
                return rule['action']
        return None

    @staticmethod
    def expand(word, environment):
        """As Kubernetes does."""
        return re.sub(r'\$(?:(\$)|\(([^)]*)\))',
                      lambda m: m.group(1) or environment.get(m.group(2), m.group(0)), word)

    def run_index(self, index):
        spec = self.job['spec']
        limit = spec.get('backoffLimitPerIndex', spec.get('backoffLimit'))
        container = spec['template']['spec']['containers'][0]
        environment = {**halod_environment(), **self.environment}
        if spec.get('completionMode') == 'Indexed':
            environment['JOB_COMPLETION_INDEX'] = str(index)
        for attempt in range(limit + 1):
            self.attempts[index] = attempt + 1
            command = [self.expand(word, environment) for word in container['command']]
            pod = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd='/')
            self.kill(pod, index, attempt)
            code = pod.wait(halotest.RUN_TIMEOUT)
            if code == 0:
                return
            if self.action(code % 256):
                break
        self.failed.append(index)

    def run(self):
        indexes = list(range(self.job['spec'].get('completions', 1)))
        lock = threading.Lock()
        def work():
            while True:
                with lock:
                    if not indexes or self.failed:
                        return
                    index = indexes.pop(0)
                self.run_index(index)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.failed


class Kubernetes(Submit):
    OPTIONS = ['--image', 'registry.example/halod', '--claim', 'media']

    def jobs(self, *options, parts=None):
        text = self.printed('kubernetes', *self.OPTIONS, '--folder', os.path.realpath(self.folder),
                            '--program', halotest.HALOD, *options, parts=parts)
        items = json.loads(text)['items']
        for item in items:
            self.check(item)
        return items

    def check_fields(self, kind, value):
        for name, (of, required) in FIELDS[kind].items():
            if required:
                self.assertIn(name, value)
            if name in value:
                self.assertIsInstance(value[name], of, name)
        self.assertLessEqual(set(value), set(FIELDS[kind]))

    def check(self, job):
        """The rules by which the API server would judge it."""
        self.assertEqual((job['apiVersion'], job['kind']), ('batch/v1', 'Job'))
        self.assertRegex(job['metadata']['name'], '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
        spec, pod = job['spec'], job['spec']['template']['spec']
        container = pod['containers'][0]
        for kind, value in (('job', job), ('spec', spec), ('pod', pod), ('container', container)):
            self.check_fields(kind, value)
        self.assertEqual(pod['restartPolicy'], 'Never')  # as podFailurePolicy requires
        self.assertTrue(pod['securityContext']['runAsNonRoot'] and pod['securityContext']['runAsUser'])
        # What Pod Security's level "restricted" asks for, and a cluster's operator beside it.
        self.assertEqual(pod['securityContext']['seccompProfile'], {'type': 'RuntimeDefault'})
        self.assertEqual(container['securityContext'], {'allowPrivilegeEscalation': False,
                                                        'readOnlyRootFilesystem': True,
                                                        'capabilities': {'drop': ['ALL']}})
        self.assertIs(pod['automountServiceAccountToken'], False)
        self.assertGreater(spec['activeDeadlineSeconds'], 0)
        resources = container['resources']
        self.assertEqual(resources['requests']['memory'], resources['limits']['memory'])
        self.assertTrue(resources['requests']['cpu'])
        if 'backoffLimitPerIndex' in spec or 'maxFailedIndexes' in spec:
            self.assertEqual(spec['completionMode'], 'Indexed')
            self.assertIn('backoffLimitPerIndex', spec)
            self.assertLessEqual(spec['maxFailedIndexes'], spec['completions'])
        self.assertLessEqual(spec.get('completions', 1), 100000)
        self.assertLessEqual(len(spec['podFailurePolicy']['rules']), 20)
        for rule in spec['podFailurePolicy']['rules']:
            self.assertEqual(len({'onExitCodes', 'onPodConditions'} & set(rule)), 1)
            self.assertIn(rule['action'], ('FailIndex', 'Ignore') if 'completions' in spec
                          else ('FailJob', 'Ignore'))
            codes = rule.get('onExitCodes')
            if codes:
                self.assertEqual((codes['operator'], codes['containerName']), ('In', container['name']))
                self.assertEqual(codes['values'], sorted(set(codes['values']) - {0}))
            for condition in rule.get('onPodConditions', []):
                self.assertEqual((condition['type'], condition['status']), ('DisruptionTarget', 'True'))
        volumes = [volume['name'] for volume in pod['volumes']]
        self.assertEqual([mount['name'] for mount in container['volumeMounts']], volumes)

    def test_indexed_pods(self):
        self.split()
        encode, join = self.jobs('--gpu', '--memory', '3Gi', '--cpus', 3, '--deadline', '7200')
        def limits(job):
            return job['spec']['template']['spec']['containers'][0]['resources']['limits']
        self.assertEqual(limits(encode), {'memory': '3Gi', 'nvidia.com/gpu': '1'})
        self.assertEqual(limits(join), {'memory': '3Gi'})
        self.assertEqual(encode['spec']['activeDeadlineSeconds'], 7200)
        self.assertEqual(limits(self.jobs()[1]), {'memory': '4Gi'})
        self.assertEqual(encode['spec']['completions'], self.count())
        self.assertEqual(self.jobs('--tasks', 1)[0]['spec']['completions'], 1)
        joins = []
        thread = threading.Thread(target=lambda: joins.append(Cluster(join).run()))
        thread.start()  # both begin at once
        self.assertEqual(Cluster(encode).run(), [])
        thread.join()
        self.assertEqual(joins, [[]])
        self.assert_done()

    def test_killed_pods(self):
        self.ENCODE = ['-preset', 'slower']
        self.split()
        def kill(pod, index, attempt):
            """When it has begun to encode. The first one cannot have ended before."""
            wait_stopped(pod)
            if index:
                pod.send_signal(signal.SIGCONT)
                time.sleep(0.05 * index)
            if attempt < 2:
                pod.send_signal(signal.SIGKILL if attempt else signal.SIGTERM)
            pod.send_signal(signal.SIGCONT)
        encode, join = self.jobs()
        cluster = Cluster(encode, kill, **stopping(NEW='.halod-'))
        self.assertEqual(cluster.run(), [])
        self.assertEqual(cluster.attempts[0], 3)
        self.assertEqual(Cluster(join).run(), [])
        self.assert_done()

    def test_index_that_cannot_succeed(self):
        self.split()
        encode = self.jobs()[0]
        manifest = self.manifest()
        manifest['terms']['settings']['crf'] = '1'
        self.write_manifest(manifest, seal=False)
        cluster = Cluster(encode)
        self.assertNotEqual(cluster.run(), [])
        self.assertEqual(set(cluster.attempts.values()), {1})

    def test_applied(self):
        """What has failed is not started by applying the same once more."""
        self.split()
        self.refused('job', 'submit', '--engine', 'kubernetes', '--image', 'x', self.parts, says='--claim')
        self.refused('job', 'submit', '--engine', 'kubernetes', *self.OPTIONS, '--folder', '/elsewhere',
                     self.parts, says='/elsewhere')
        more = self.standing_in('kubectl', f'echo "$@" >>{self.folder}/words\ncat >{self.folder}/applied\n'
                                           '[ "$1" = replace ] && echo job.batch/x replaced || '
                                           f'echo job.batch/x $(cat {self.folder}/state)')
        options = [*self.OPTIONS, '--folder', os.path.realpath(self.folder)]
        with open(self.path('state'), 'w', encoding='ascii') as file:
            file.write('created')
        self.submit('kubernetes', *options, **more)
        with open(self.path('applied'), encoding='utf-8') as file:
            self.assertEqual(file.read(), self.printed('kubernetes', *options))
        os.unlink(os.path.join(self.parts, 'submitted.json'))
        with open(self.path('state'), 'w', encoding='ascii') as file:
            file.write('unchanged')
        self.assertIn('--again', self.submit('kubernetes', *options, code=64, **more).err)
        self.submit('kubernetes', '--again', *options, **more)
        with open(self.path('words'), encoding='ascii') as file:
            said = file.read().splitlines()
        self.assertEqual(said[:2], 2 * ['apply -f -'])
        self.assertEqual([line.split()[0] for line in said[2:]], ['replace'])


# ---- with detectors ----

class Detect(DetectTest):
    submit, printed, write, standing_in = Submit.submit, Submit.printed, Submit.write, Submit.standing_in

    def test_local(self):
        other = self.path("other's one.mkv")
        self.split()
        self.assertEqual([line.split()[2] for line in self.printed('local').splitlines()],
                         ['detect', 'detect', 'merge', 'segment', 'segment', 'join'])
        self.split(chain='gblur=sigma=2', output=other)
        self.submit('local', '--tasks', 3, parts=[self.parts, other + '.parts'])
        self.assert_done()
        self.assertTrue(os.path.exists(other))

    def test_again_in_each_state(self):
        """Whatever is done already, what is missing is done."""
        self.split()
        want = self.whole()
        kept = self.path('kept')
        shutil.copytree(self.parts, kept)
        steps = [('detect', self.parts, 1), ('detect', self.parts, 0), ('merge', self.parts),
                 ('segment', self.parts, 1)]
        for done in (1, len(steps)):  # test_local() begins with nothing
            for step in steps[:done]:
                self.halod('job', *step)
            self.submit('local', '--again')
            self.assert_done(want)
            os.unlink(self.output)
            os.unlink(self.output + '.job.json')
            shutil.copytree(kept, self.parts)

    def test_parallel(self):
        if not shutil.which('parallel'):
            self.skipTest('no GNU parallel')
        self.split()
        self.submit('parallel')
        self.assert_done()

    def test_slurm(self):
        """What sbatch is given: four scripts, each of which waits for the one before."""
        self.split()
        run = self.submit('slurm', '--gpu', **self.standing_in(
            'sbatch', f'n=$(ls {self.folder} | grep -c script)\n'
                      f'{{ echo "$@"; cat; }} >{self.folder}/script$n\necho $((n + 70))'))
        self.assertIn('slurm 70', run.err)
        for n, step in enumerate(('detect', 'merge', 'segment', 'join')):
            with open(self.path(f'script{n}'), encoding='utf-8') as file:
                words, script = file.readline(), file.read()
            self.assertIn(f'job {step} ', script)
            self.assertEqual('--gres=gpu:1' in script, step in ('detect', 'segment'))
            self.assertEqual(f'afterok:{69 + n}' in words, n > 0, words)
            self.assertEqual('--kill-on-invalid-dep=yes' in words, n > 0)
        self.assertEqual(self.printed('slurm').count('afterok:NUMBER'), 3)

    def jobs(self):
        text = self.printed('kubernetes', *Kubernetes.OPTIONS, '--folder', os.path.realpath(self.folder),
                            '--program', halotest.HALOD)
        return json.loads(text)['items']

    def test_kubernetes(self):
        """Two submissions, because pods that wait would keep others from starting."""
        self.split()
        for names in (['-detect', '-merge'], ['', '-join']):
            items = self.jobs()
            base = items[0]['metadata']['name'].removesuffix('-detect')
            self.assertEqual([item['metadata']['name'] for item in items], [base + name for name in names])
            second = []
            thread = threading.Thread(target=lambda job=items[1], ends=second: ends.append(Cluster(job).run()))
            thread.start()  # both begin at once
            self.assertEqual(Cluster(items[0]).run(), [])
            thread.join()
            self.assertEqual(second, [[]])
        self.assert_done()

    def test_kubernetes_again(self):
        self.split()
        options = [*Kubernetes.OPTIONS, '--folder', os.path.realpath(self.folder)]
        more = self.standing_in('kubectl', 'cat >/dev/null')
        run = self.submit('kubernetes', '--gpu', *options, **more)
        for words in ('submit again', "must contain the job's detectors", 'must contain halod with CUDA'):
            self.assertIn(words, run.err)
        self.assertIn('--again', self.submit('kubernetes', *options, code=64, **more).err)
        self.detect_all()
        self.merge()
        self.assertNotIn('submit again', self.submit('kubernetes', *options, **more).err)
        self.assertIn('--again', self.submit('kubernetes', *options, code=64, **more).err)

    def test_watch(self):
        new, to = self.path('new'), self.path('done')
        os.mkdir(new)
        os.mkdir(to)
        shutil.copy(self.input, os.path.join(new, 'a.mkv'))
        self.halod('job', 'watch', '--engine', 'local', '--settle', '0.3', '--to', to, '--once', new,
                   '-segment_time', '1', '-vf', self.CHAIN, '-faces', self.detector(), *self.ENCODE)
        self.assertEqual(sorted(os.listdir(to)), ['a.mkv', 'a.mkv.job.json'])
        self.assertEqual(frames(os.path.join(to, 'a.mkv')), self.whole())


# ---- folders ----

class Watch(Submit):
    def setUp(self):
        super().setUp()
        self.new, self.to = self.path('new'), self.path('done')
        os.mkdir(self.new)
        os.mkdir(self.to)

    def command(self, *more):
        return ['job', 'watch', '--engine', 'local', '--settle', '0.3', '--to', self.to, '--suffix', 'mkv',
                *more, self.new, '-segment_time', '1', '-vf', 'gblur=sigma=2', *self.ENCODE]

    def put(self, name, size=None):
        with open(self.input, 'rb') as file:
            data = file.read()
        with open(os.path.join(self.new, name), 'wb') as file:
            file.write(data[:size])

    def done(self):
        return sorted(name for name in os.listdir(self.to) if name.endswith('.mkv'))

    def test_once(self):
        """But for what is not complete: open for writing, cut, or named like a copy that is not whole."""
        self.put('a.mp4')
        self.put('b c.mp4')
        self.put('.hidden.mp4')
        self.put('broken.mp4', 3000)
        for suffix in ('.temp', '.tmp', '.part', '.crdownload', '.filepart'):
            self.put('b.mkv' + suffix)
        with open(os.path.join(self.new, 'a.mp4'), 'ab'):
            run = self.halod(*self.command('--once'), code=1)
        self.assertEqual(self.done(), ['b c.mkv'])
        self.assertIn('broken.mp4: ignored until', run.err)
        self.assertEqual(run.err.count('its suffix is not that of a video file'), 5, run.err)
        os.unlink(os.path.join(self.new, 'broken.mp4'))
        before = os.stat(os.path.join(self.to, 'b c.mkv')).st_mtime_ns
        self.halod(*self.command('--once'))
        self.assertEqual(self.done(), ['a.mkv', 'b c.mkv'])
        self.output = self.path('out.mkv')
        self.assertEqual(sha256(os.path.join(self.to, 'a.mkv')), self.whole())
        self.assertEqual(os.stat(os.path.join(self.to, 'b c.mkv')).st_mtime_ns, before)

    def encode(self):
        """All segments of a file that was put there."""
        self.put('a.mp4')
        self.output = os.path.join(self.to, 'a.mkv')
        self.parts = self.output + '.parts'
        self.halod('job', 'split', '-segment_time', '1', '-i', os.path.join(self.new, 'a.mp4'), '-vf',
                   'gblur=sigma=2', *self.ENCODE, self.output)
        self.encode_all()

    def note_submission(self):
        with open(os.path.join(self.parts, 'submitted.json'), 'w', encoding='ascii') as file:
            json.dump({'engine': 'slurm', 'at': '2030-01-01T00:00:00Z'}, file)

    def test_what_joins_leave(self):
        """Until the manifest is gone, the folder says that the job was submitted. One was killed before it
        named OUT, or before it removed the folder."""
        self.encode()
        kept = self.path('kept')
        shutil.copytree(self.parts, kept)
        self.note_submission()
        join = self.join_that_stops('manifest.json')
        self.assertEqual(self.halod(*self.command('--once')).err, '')
        self.assertIn('manifest.json', os.listdir(self.parts))
        join.send_signal(signal.SIGCONT)
        out, err = join.communicate(timeout=halotest.RUN_TIMEOUT)
        self.assertEqual(join.returncode, 0, (out, err))
        self.assertEqual(sorted(os.listdir(self.to)), ['a.mkv', 'a.mkv.job.json'])
        for named in (True, False):
            shutil.copytree(kept, self.parts)
            if not named:
                os.unlink(self.output)
            self.halod(*self.command('--once'))
            self.assertEqual(sorted(os.listdir(self.to)), ['a.mkv', 'a.mkv.job.json'])

    def test_two_of_a_name(self):
        """Each has its own output, and a third one that would have the same is reported."""
        self.input = source(1)
        for name in ('a.mp4', 'a.mov', 'b.mp4'):
            self.put(name)
        shutil.copy(os.path.join(self.new, 'a.mov'), os.path.join(self.new, 'b.mp4.mov'))
        self.halod(*self.command('--once'))
        names = self.done()
        self.assertEqual(len(names), 4, names)
        self.assertEqual(self.halod(*self.command('--once')).err, '')
        self.assertEqual(self.done(), names)
        with open(os.path.join(self.to, 'c.mkv'), 'wb'):
            pass
        self.put('c.mp4')  # whose c.mkv is not known to be another one's
        self.assertIn('c.mkv exists and was not made by a job', self.halod(*self.command('--once')).err)
        self.assertEqual(self.done(), [*names, 'c.mkv'])

    def test_file_that_changed(self):
        """Half a film was encoded when its copy stalled, and then the other half came."""
        self.input = source(2, suffix='.mkv')
        size = os.path.getsize(self.input)
        self.put('a.mkv', size // 2)
        half = run_halod(*self.command('--once'))
        self.put('a.mkv')
        run = self.halod(*self.command('--once'))
        if os.path.exists(os.path.join(self.to, 'a.mkv')) and half.code == 0:
            self.assertIn('a.mkv: has changed since it was encoded', run.err)
        self.output = self.path('out.mkv')
        self.assertEqual(sha256(os.path.join(self.to, 'a.mkv')), self.whole())
        os.utime(os.path.join(self.new, 'a.mkv'))  # that alone is no change
        self.assertEqual(self.halod(*self.command('--once')).err, '')
        self.put('b.mkv')
        self.halod(*self.command('--once'))
        self.input = source(1, suffix='.mkv')
        self.put('b.mkv')
        self.assertIn('b.mkv: has changed', self.halod(*self.command('--once')).err)
        self.assertEqual(sha256(os.path.join(self.to, 'b.mkv')), self.whole())
        self.assertEqual(sorted(os.listdir(self.to)), ['a.mkv', 'a.mkv.job.json', 'b.mkv', 'b.mkv.job.json'])

    def test_controller_that_is_away(self):
        """For two submissions; and for that of the join, which the segments wait for."""
        more = self.standing_in('sbatch', f'cat >/dev/null\necho "$@" >>{self.folder}/calls\n'
                                          f'n=$(cat {self.folder}/calls | wc -l)\n'
                                          '[ $n = 3 ] || [ $n = 5 ] || exit 1\necho 7$n')
        self.put('a.mp4')
        self.start(*['slurm' if word == 'local' else word for word in self.command()], **more)
        self.assertTrue(wait_until(lambda: os.path.exists(os.path.join(self.to, 'a.mkv.parts/submitted.json'))))
        with open(self.path('calls'), encoding='ascii') as file:
            self.assertEqual(['afterok:73' in line for line in file], [False] * 3 + [True] * 2)

    def test_job_that_failed(self):
        """On a farm, after it was submitted: each look says so."""
        self.encode()
        os.unlink(self.part(1))
        self.note_submission()
        self.assertEqual(self.halod(*self.command('--once')).err, '')
        self.segment('--ended', 1, 1)
        self.assertIn('segment 1 failed', self.halod(*self.command('--once'), code=1).err)
        self.segment('--ended', 75, 1)
        self.assertIn('is submitted again', self.halod(*self.command('--once')).err)
        self.assertEqual(sorted(os.listdir(self.to)), ['a.mkv', 'a.mkv.job.json'])

    def start(self, *command, **more):
        watch = start_halod(*command, **more)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        return watch

    def test_file_that_grows(self):
        watch = self.start(*self.command())
        with open(self.input, 'rb') as source_file, open(os.path.join(self.new, 'a.mp4'), 'wb') as file:
            data = source_file.read()
            for at in range(0, len(data), len(data) // 10 + 1):
                file.write(data[at:at + len(data) // 10 + 1])
                file.flush()
                time.sleep(0.1)
        self.assertTrue(wait_until(lambda: self.done() == ['a.mkv']))
        self.put('broken.mp4', 3000)
        time.sleep(1)
        self.put('broken.mp4')  # it is no longer
        self.assertTrue(wait_until(lambda: 'broken.mkv' in self.done()))
        watch.send_signal(signal.SIGTERM)
        err = watch.communicate(timeout=halotest.RUN_TIMEOUT)[1].decode()
        self.assertEqual(watch.returncode, -signal.SIGTERM)
        self.assertEqual(err.count('a.mkv.parts: 2 segments'), 1, err)

    def test_task_that_fails_for_a_while(self):
        fine = self.path('fine')
        program = self.write('halod', f'[ -e {fine} ] || exit 75\nexec {halotest.HALOD} "$@"')
        self.put('a.mp4')
        watch = self.start(*self.command('--program', program))
        self.assertIn(b'ended with status 75', next(line for line in watch.stderr if b'ended' in line))
        with open(fine, 'wb'):
            pass
        self.assertTrue(wait_until(lambda: self.done() == ['a.mkv']))

    def test_files_that_lead_elsewhere(self):
        """Playlists under any name, descriptions, patterns, links: nothing outside the folder is read."""
        self.put('../secret.mp4')
        secret = self.path('secret.mp4')
        shutil.copy(secret, self.path('secret.ts'))
        hls = f'#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:4,\nfile://{secret}\n#EXT-X-ENDLIST\n'
        text = {'a.m3u8': hls, 'b.mkv': hls, 'c.mp4': hls.replace('.mp4', '.ts'), 'd.ffconcat': '', 'e.mkv': '',
                'f.mpd': '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
                         f'mediaPresentationDuration="PT4S"><Period><AdaptationSet mimeType="video/mp4"><BaseURL>'
                         f'file://{secret}</BaseURL><Representation id="1" bandwidth="1"/></AdaptationSet></Period>'
                         '</MPD>',
                'g.sdp': 'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\n'
                         'a=rtpmap:96 H264/90000\n'}
        for name, content in text.items():
            with open(os.path.join(self.new, name), 'w', encoding='ascii') as file:
                file.write(content or "ffconcat version 1.0\nfile '../secret.mp4'\n")
        halotest.ffmpeg('-i', secret, '-frames:v', '1', os.path.join(self.new, 'i1.png'))
        shutil.copy(os.path.join(self.new, 'i1.png'), os.path.join(self.new, 'i%d.png'))
        os.unlink(os.path.join(self.new, 'i1.png'))
        os.symlink(secret, os.path.join(self.new, 'link.mp4'))
        run = run_halod(*self.command('--once'))
        self.assertEqual(os.listdir(self.to), [], run.err)
        self.assertIn('link.mp4: is a link to a file outside the folder', run.err)

    def test_killed_watcher(self):
        """Each file becomes a job once, whenever the watcher is killed."""
        self.input = source(1)
        for name in ('a.mp4', 'b.mp4', 'c.mp4'):
            self.put(name)
        for delay in (0.1, 0.3, 0.35, 0.4, 0.5, 0.6):
            watch = start_halod(*self.command())
            time.sleep(delay)
            watch.kill()
            watch.communicate()
        for _ in range(2):
            run = run_halod(*self.command('--once'))
            self.assertEqual(run.code, 0, run.err)
        self.assertEqual(self.done(), ['a.mkv', 'b.mkv', 'c.mkv'])
        self.assertEqual(len({sha256(os.path.join(self.to, name)) for name in self.done()}), 1)
        self.assertEqual(sorted(os.listdir(self.to)),
                         sorted(self.done() + [name + '.job.json' for name in self.done()]))

    def test_usage(self):
        self.refused('job', 'watch', '--to', self.to, self.new, '-vf', 'null', says='--engine')
        self.refused('job', 'watch', '--engine', 'local', self.new, '-vf', 'null', says='--to')
        self.refused('job', 'watch', '--engine', 'local', '--to', self.to, '-vf', 'null', self.new,
                     says='folder')
        self.refused('job', 'watch', '--engine', 'local', '--to', self.new, self.new, '-vf', 'null',
                     says='become jobs')
        self.refused('job', 'watch', '--engine', 'local', '--to', self.to, self.path('x'), '-vf', 'null',
                     code=75, says='No such')


if __name__ == '__main__':
    halotest.main()
