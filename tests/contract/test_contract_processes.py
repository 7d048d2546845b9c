"""Every estimator works in other processes, on every instruction set, and gives control back on Ctrl-C.

Each test is a script in a process of its own, so that a deadlock or a crash there is a failure here.
"""

from __future__ import annotations

import functools
import signal
import sys
import threading
import time

import numpy as np
import pytest

import lowfold
from conftest import ESTIMATORS, LEVELS, cloud, in_short, model_of

NAMES = [cls.__name__ for cls in ESTIMATORS]

# Seconds after which a script hangs, and after which Ctrl-C was not obeyed: within one a person has control again, and
# the rest is for machines that are busy otherwise. The search below takes longer than that.
HANG, PATIENCE = 90, 3

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

# Says when it is busy, and then works until it is interrupted: some place so many new rows in one call, others, which
# take a tenth of a second, again and again.
INTERRUPTED = """
import os, signal, time, warnings
import numpy as np
from conftest import ESTIMATORS, cloud, embed, model_of, place, quick, same_bits
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

def for_ever(work, X):
    while True:
        work(X)

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
X = cloud(600, 8)
expected = [embed(model_of(cls), X) for cls in ESTIMATORS]
before = threads()
for cls in ESTIMATORS:
    until_interrupted(cls.__name__, lambda: for_ever(model_of(cls).fit, cloud(3000, 50)))
models, new = [quick(model_of(cls)).fit(cloud(3000, 50)) for cls in ESTIMATORS], cloud(40_000, 50, seed=1)
places = [place(model, new[:9]) for model in models]
for model in models:
    until_interrupted(f"transform by {type(model).__name__}", lambda: for_ever(model.transform, new))
index = build_index(np.random.default_rng(0).random((400_000, 100), dtype=np.float32), search="exact", n_jobs=2)
until_interrupted("search", lambda: index.query(None, 15))
until_interrupted("factorisation", lambda: for_ever(LTSA(n_neighbors=12).fit, cloud(6000, 30)))
print("left behind:", len(threads() - before))
assert all(same_bits(embed(model_of(cls), X), Y) for cls, Y in zip(ESTIMATORS, expected))
assert all(same_bits(place(model, new[:9]), Y) for model, Y in zip(models, places))
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

# Threads of Python are counted as they start; idle ones of the pool stay for half a second, longer than a fit here.
ALONE = """
import os, threading
from conftest import ESTIMATORS, cloud, embed, model_of, place

def beside():
    return len(os.listdir("/proc/self/task")) - before

def counted(thread):
    started.append(thread)
    start(thread)

started, start = [], threading.Thread.start
before, X = 0, cloud(150, 8)
embed(model_of(ESTIMATORS[0], n_jobs=1), X)
before, threading.Thread.start = beside(), counted
for cls in ESTIMATORS:
    model = model_of(cls, n_jobs=1)
    embed(model, X)
    place(model, cloud(50, 8, seed=1))
    print(cls.__name__, beside(), len(started))
    started.clear()
embed(model_of(ESTIMATORS[0], n_jobs=3), cloud(20_000, 8))
print("several", beside())
"""

INSTRUCTIONS = """
import os
import numpy as np
from lowfold.backend import native
from test_contract_processes import small_maps

maps, levels = small_maps()
assert levels == {native.kernels.simd}
np.savez(os.environ["FOUND"], **maps)
print(native.kernels.simd)
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


def test_worker_processes_give_the_same_bits_however_they_are_started(run_script):
    assert run_script(MULTIPROCESSING).split() == ["fork", "spawn"]


def test_the_quota_of_a_container_limits_the_threads(run_script):
    assert run_script(QUOTA).split() == ["2", "2", "1"]


LISTS_THREADS = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the system does not list the threads of a process"
)


@LISTS_THREADS
def test_one_job_starts_no_other_thread(run_script):
    *fits, several = run_script(ALONE).splitlines()
    assert [line.split()[0] for line in fits] == NAMES
    assert {line for line in fits if line.split()[1:] != ["0", "0"]} == set()
    assert several != "several 0", "threads are not counted"


@LISTS_THREADS
def test_no_fit_wakes_the_threads_of_blas(run_script):
    workers, *fits = run_script(WORKERS).splitlines()
    if workers == "0":
        pytest.skip("BLAS has no threads of its own here")
    assert [line.split()[0] for line in fits] == NAMES
    assert {line for line in fits if line.split()[1] != "0"} == set()


@functools.cache
def small_maps():
    """({name: embedding}, instruction sets of the reports) of more points than are solved all at once."""
    X = cloud(800, 6) * np.arange(1, 7)
    models = [in_short(model_of(cls).set_params(n_components=2)).fit(X) for cls in lowfold.METHODS.values()]
    maps = {type(model).__name__: model.embedding_ for model in models}
    return maps, {model.report_.simd for model in models}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of so few steps
@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_can_be_asked_for_and_gives_the_same_maps(level, run_script, tmp_path):
    if level not in LEVELS:
        pytest.skip(f"this machine has no {level}")
    assert run_script(INSTRUCTIONS, LOWFOLD_SIMD=level, FOUND=str(tmp_path / "maps.npz")).split() == [level]
    expected, _ = small_maps()
    found = np.load(tmp_path / "maps.npz")
    assert set(found) == set(expected) == {cls.__name__ for cls in lowfold.METHODS.values()}
    for name, Y in expected.items():
        # Rounding over the smallest gap between eigenvalues, LLE's of about 1e-6. Minima of the stress are as sharp as
        # rounding, and the force family has the same bits, as it takes the same lanes; hundreds of steps more, and one
        # bit would make another map.
        assert np.abs(found[name] - Y).max() <= 1e-8 * np.abs(Y).max(), name


def test_ctrl_c_gives_control_back_and_leaves_no_thread_behind(start_script):
    process = start_script(INTERRUPTED)
    for name in [*NAMES, *(f"transform by {name}" for name in NAMES), "search", "factorisation"]:
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
