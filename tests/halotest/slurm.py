# SPDX-License-Identifier: BSD-2-Clause
# Slurm on one machine: a controller and several nodes, each with a port of its own.
"""Runs as root, in a folder of its own, with a munged of its own. Skipped where Slurm is missing."""
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
import unittest

import halotest
from halotest import free_port

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scontrol')
os.environ['PATH'] += ':/usr/sbin'


def missing():
    """Why it cannot run here, or None."""
    lacking = [name for name in PROGRAMS if not shutil.which(name)]
    if lacking:
        return 'no ' + ', '.join(lacking)
    if not os.path.ismount('/sys/fs/cgroup'):
        return 'no /sys/fs/cgroup, which slurmd needs'
    return None if os.geteuid() == 0 else 'not root'


class Slurm:
    """The folder must be short, for munged's socket lies in it."""

    def __init__(self, folder, nodes):
        if missing():
            raise unittest.SkipTest(missing())
        self.folder = folder
        self.names = [f'n{i + 1}' for i in range(nodes)]
        self.ports = {name: free_port() for name in self.names}
        self.controller_port = free_port()
        self.processes = {}
        os.chmod(folder, 0o755)
        self.write_config()
        self.environment = {'SLURM_CONF': os.path.join(folder, 'slurm.conf')}
        self.start_munge()
        self.start_controller()
        for name in self.names:
            self.start_node(name)

    def write_config(self):
        host = os.uname().nodename
        lines = [
            'ClusterName=halotest', f'SlurmctldHost={host}(127.0.0.1)', 'AuthType=auth/munge',
            'CryptoType=crypto/munge', f'AuthInfo=socket={self.folder}/munge.socket,cred_expire=5',
            'SlurmUser=root', 'SlurmdUser=root', f'SlurmctldPort={self.controller_port}',
            'ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'SelectType=select/cons_tres',
            'SelectTypeParameters=CR_Core', 'MpiDefault=none', 'SwitchType=switch/none',
            'ReturnToService=2', 'SlurmdTimeout=10', 'SlurmctldTimeout=10', 'KillWait=2', 'MinJobAge=60',
            'InactiveLimit=0', 'MessageTimeout=20', 'BatchStartTimeout=5', 'CompleteWait=0', 'MaxArraySize=1001',
            'SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0,bf_interval=1',
            'JobAcctGatherType=jobacct_gather/none', 'AccountingStorageType=accounting_storage/none',
            f'StateSaveLocation={self.folder}/state', f'SlurmdSpoolDir={self.folder}/%n',
            f'SlurmdPidFile={self.folder}/%n.pid', f'SlurmctldPidFile={self.folder}/slurmctld.pid',
            f'SlurmctldLogFile={self.folder}/slurmctld.log', f'SlurmdLogFile={self.folder}/%n.log']
        for name in self.names:
            lines.append(f'NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 '
                         f'Port={self.ports[name]} CPUs=2 State=UNKNOWN')
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        lines.append(f'PartitionName=p Nodes={",".join(self.names)} Default=YES MaxTime=INFINITE State=UP')
        os.makedirs(os.path.join(self.folder, 'state'), exist_ok=True)
        with open(os.path.join(self.folder, 'slurm.conf'), 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')

    def spawn(self, name, *command):
        log = open(os.path.join(self.folder, name + '.out'), 'ab')
        with log:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=end_with_parent,
                env={**os.environ, **getattr(self, 'environment', {})}, start_new_session=True)

    def start_munge(self):
        key = os.path.join(self.folder, 'munge.key')
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), 'wb') as file:
            file.write(os.urandom(128))
        self.spawn('munged', 'munged', '--foreground', '--force', f'--key-file={key}',
                   f'--socket={self.folder}/munge.socket', f'--pid-file={self.folder}/munge.pid',
                   f'--log-file={self.folder}/munge.log', f'--seed-file={self.folder}/munge.seed',
                   '--num-threads=4')
        if not halotest.wait_until(lambda: os.path.exists(f'{self.folder}/munge.socket')):
            raise unittest.SkipTest('munged does not start here')

    def start_controller(self):
        self.spawn('slurmctld', 'slurmctld', '-D')

    def start_node(self, name):
        self.spawn(name, 'slurmd', '-D', '-N', name)

    def kill(self, name):
        """As if the machine had lost its power: a node's tasks go with it."""
        process = self.processes[name]
        if name in self.names:
            self.kill_children(name)
        process.kill()
        process.wait()

    def kill_children(self, name):
        """The step daemons of a node, and what they started."""
        for pid, command in processes():
            if command.startswith('slurmstepd') and self.has_log(pid, name):
                kill_tree(pid)

    def has_log(self, pid, name):
        """Whether the process has the node's log open."""
        with contextlib.suppress(OSError):
            for fd in os.listdir(f'/proc/{pid}/fd'):
                if os.readlink(f'/proc/{pid}/fd/{fd}') == f'{self.folder}/{name}.log':
                    return True
        return False

    def call(self, *command):
        return subprocess.run(command, env={**os.environ, **self.environment}, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60 * halotest.PATIENCE)

    def is_up(self):
        states = self.call('sinfo', '-h', '-N', '-o', '%T').stdout.split()
        return len(states) == len(self.names) and set(states) <= {'idle', 'mixed', 'allocated'}

    def queue(self):
        """States of the tasks that are not over; None: the controller does not answer."""
        done = self.call('squeue', '-h', '-r', '-o', '%i %T %N')
        return None if done.returncode else done.stdout.splitlines()

    def repair(self):
        """As an operator: a controller that was killed may have forgotten that a task runs. It then
        starts the task again, finds it on the node, drains the node and holds the task."""
        held = self.call('squeue', '-h', '-r', '-t', 'PD', '-o', '%i %r').stdout.splitlines()
        for task in [line.split()[0] for line in held if 'held' in line.lower()]:
            self.call('scontrol', 'release', task)
        states = self.call('sinfo', '-h', '-N', '-o', '%N %T').stdout.splitlines()
        for name in [line.split()[0] for line in states if 'drain' in line]:
            self.call('scontrol', 'update', 'NodeName=' + name, 'State=RESUME')

    def stop(self):
        for name in [*self.names, 'slurmctld', 'munged']:
            process = self.processes.get(name)
            if not process:
                continue
            if name in self.names:
                self.kill_children(name)
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def wait_for_end(self, seconds, each=None):
        """Until the queue is empty. each() is called twice a second."""
        end = time.monotonic() + seconds * halotest.PATIENCE
        while time.monotonic() < end:
            if self.queue() == []:
                return True
            if each:
                each()
            self.repair()
            time.sleep(0.5)
        return False


def end_with_parent():
    """The test may be killed, which must not leave daemons behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def processes():
    found = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit():
            continue
        try:
            with open(f'/proc/{entry}/cmdline', 'rb') as file:
                found.append((int(entry), file.read().replace(b'\0', b' ').decode(errors='replace')))
        except OSError:
            pass
    return found


def parent(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            return int(file.read().rsplit(')', 1)[1].split()[1])
    except OSError:
        return 0


def kill_tree(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            children = [int(word) for word in file.read().split()]
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return
    for child in children:
        kill_tree(child)
