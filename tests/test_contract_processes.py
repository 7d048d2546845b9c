"""Every estimator works in the child of a process that used threads, and gives control back on Ctrl-C.

Each test is a script in a process of its own, so that a deadlock or a crash there is a failure here.
"""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest

from conftest import ESTIMATORS

NAMES = [cls.__name__ for cls in ESTIMATORS]

# Seconds after which a script hangs, and after which Ctrl-C was not obeyed: the search below takes longer than that.
HANG, PATIENCE = 90, 10

FORK = """
import os
from conftest import ESTIMATORS, cloud, embed, model_of, same_bits

X = cloud(600, 8)

def results():
    return [embed(model_of(cls, n_jobs=3), X) for cls in ESTIMATORS]

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0

def agrees():
    return all(map(same_bits, results(), expected))

expected = results()
for _ in range(3):
    assert agrees()
    assert in_child(agrees)
assert in_child(lambda: agrees() and in_child(agrees))
assert agrees()
print("same")
"""

MULTIPROCESSING = """
import multiprocessing
import sys
from conftest import ESTIMATORS, cloud, embed, model_of, same_bits

def work(task):
    number, seed = task
    return embed(model_of(ESTIMATORS[number], n_jobs=2), cloud(300, 6, seed=seed))

if __name__ == "__main__":
    tasks = [(number, seed) for number in range(len(ESTIMATORS)) for seed in range(3)]
    expected = list(map(work, tasks))
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            assert all(map(same_bits, pool.map(work, tasks, chunksize=1), expected)), way
            print(way)
"""

# Says when it is busy, and then works until it is interrupted.
INTERRUPTED = """
import os, signal, time
import numpy as np
from conftest import ESTIMATORS, cloud, embed, model_of, same_bits
from lowfold import LTSA, build_index

def threads():
    time.sleep(1.5)  # idle threads of the pool leave after half a second
    return set(os.listdir("/proc/self/task"))

def until_interrupted(name, work):
    try:
        print("busy with", name, flush=True)
        work()
        print("finished", name, flush=True)
    except KeyboardInterrupt:
        print("interrupted", name, flush=True)

def for_ever(fit, X):
    while True:
        fit(X)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
X = cloud(600, 8)
expected = [embed(model_of(cls), X) for cls in ESTIMATORS]
before = threads()
for cls in ESTIMATORS:
    until_interrupted(cls.__name__, lambda: for_ever(model_of(cls).fit, cloud(3000, 50)))
index = build_index(np.random.default_rng(0).random((400_000, 100), dtype=np.float32), search="exact", n_jobs=2)
until_interrupted("search", lambda: index.query(None, 15))
until_interrupted("factorisation", lambda: for_ever(LTSA(n_neighbors=12).fit, cloud(6000, 30)))
print("left behind:", len(threads() - before))
assert all(same_bits(embed(model_of(cls), X), Y) for cls, Y in zip(ESTIMATORS, expected))
print("works again")
"""

# How long BLAS's own threads, which are there before ours, work during each fit; they would go on spinning after it.
WORKERS = """
import os, time
import numpy as np
import scipy.linalg

A = np.ones((500, 500))
scipy.linalg.lu(A @ A)
workers = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
print(len(workers))

def used():
    fields = [open(f"/proc/self/task/{thread}/stat").read().rsplit(")", 1)[1].split() for thread in workers]
    return sum(int(part[11]) + int(part[12]) for part in fields)

import warnings
from conftest import ESTIMATORS, cloud, model_of
from lowfold import Majorisation

warnings.simplefilter("ignore")
time.sleep(0.5)
X = cloud(5200, 8)  # twice as many coordinates are more than BLAS sums up on one thread
for cls in ESTIMATORS:
    quick = {"solver": Majorisation(max_iter=3)} if cls.__module__.startswith("lowfold.stress") else {}
    model = model_of(cls, **quick)
    before = used()
    model.fit(X)
    print(cls.__name__, used() - before)
"""

# A container that may use one and a half of eight cores.
QUOTA = """
import builtins, io, os
real_open, real_exists, quota = builtins.open, os.path.exists, "/sys/fs/cgroup/cpu.max"
builtins.open = lambda path, *rest: io.StringIO("150000 100000") if path == quota else real_open(path, *rest)
os.path.exists = lambda path: path == quota or real_exists(path)
os.cpu_count, os.sched_getaffinity = (lambda: 8), (lambda process: set(range(8)))
from lowfold.backend.resources import thread_count
print(thread_count(None), thread_count(-1), thread_count(-2))
"""


def test_a_forked_child_of_a_process_with_threads_gives_the_same_bits(run_script):
    assert run_script(FORK).split() == ["same"]


def test_worker_processes_give_the_same_bits_however_they_are_started(run_script):
    assert run_script(MULTIPROCESSING).split() == ["fork", "spawn"]


def test_the_quota_of_a_container_limits_the_threads(run_script):
    assert run_script(QUOTA).split() == ["2", "2", "1"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not list the threads of a process")
def test_no_fit_wakes_the_threads_of_blas(run_script):
    workers, *fits = run_script(WORKERS).splitlines()
    if workers == "0":
        pytest.skip("BLAS has no threads of its own here")
    assert [line.split()[0] for line in fits] == NAMES
    assert {line for line in fits if line.split()[1] != "0"} == set()


def test_ctrl_c_gives_control_back_and_leaves_no_thread_behind(start_script):
    process = start_script(INTERRUPTED)
    for name in [*NAMES, "search", "factorisation"]:
        assert line_of(process) == f"busy with {name}"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert line_of(process, patience=PATIENCE) == f"interrupted {name}"
    assert line_of(process) == "left behind: 0"
    assert line_of(process) == "works again"
    assert process.wait(HANG) == 0


def line_of(process, *, patience=HANG):
    """The next line that a process prints; an empty one if it takes longer than anybody would wait."""
    guard = threading.Timer(patience, process.kill)
    guard.start()
    try:
        return process.stdout.readline().strip()
    finally:
        guard.cancel()
