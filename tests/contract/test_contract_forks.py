"""Every estimator works in the forked child of a process that used threads, or whose threads are at work.

Each test is a script in a process of its own, so that a deadlock or a crash there is a failure here.
"""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

IN_CHILD = """
import os
from conftest import ESTIMATORS, cloud, embed, in_short, model_of, place, same_bits

X = cloud(600, 8)

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0
"""

FORK = f"""{IN_CHILD}
def results():
    return [embed(in_short(model_of(cls, n_jobs=3)), X) for cls in ESTIMATORS]

def agrees():
    return all(map(same_bits, results(), expected))

expected = results()
for _ in range(2):
    assert agrees()
    assert in_child(agrees)
assert in_child(lambda: agrees() and in_child(agrees))
assert agrees()
print("same")
"""

FITTED_BEFORE_FORK = f"""{IN_CHILD}
import pickle

def agrees():
    return all(same_bits(place(model, new), Y) for model, Y in zip(models, expected))

new = cloud(100, 8, seed=1)
models = [model_of(cls, n_jobs=3).fit(X[:200]) for cls in ESTIMATORS]
expected = [place(pickle.loads(pickle.dumps(model)), new) for model in models]
assert in_child(agrees)
assert agrees()
print("same")
"""

# Children are forked in bursts: OpenBLAS ends its threads at a fork, and whoever sets their number next starts them
# again, under a lock that the next fork could copy. One child in seventy hung when nothing was done about that.
BUSY = f"""{IN_CHILD}
import faulthandler, threading
from lowfold import PCA

X = cloud(200, 8)

def fit():
    return embed(PCA(n_jobs=2), X)

def fit_for_ever():
    while True:
        fit()

def start_child():
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(30, exit=True)
        try:
            os._exit(0 if same_bits(fit(), expected) else 1)
        finally:
            os._exit(2)
    return child

expected = fit()
for _ in range(2):
    threading.Thread(target=fit_for_ever, daemon=True).start()
for _ in range(25):
    children = [start_child() for _ in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
print("same", flush=True)
os._exit(0)  # the threads are still at work
"""

# The number of BLAS's threads as a library that takes its time to set it, and says when it is being set.
LIBRARY = f"""{IN_CHILD}
import faulthandler, threading, time
from lowfold.backend import blas

faulthandler.dump_traceback_later(60, exit=True)

class Library:
    number, busy = 8, False

    def limit(self, **limits):
        self.set(1)
        return self

    def restore_original_limits(self):
        self.set(8)

    def set(self, number):
        self.busy = True
        time.sleep(0.2)
        self.number, self.busy = number, False

library = Library()
blas._controller = lambda: library
begun, ended = threading.Event(), threading.Event()

def stay_inside():
    with blas.single_threaded():
        begun.set()
        ended.wait()

def is_limited():
    return library.number == 1 and not library.busy

def is_free():
    return library.number == 8 and not library.busy

def limits_and_frees():
    with blas.single_threaded():
        limited = is_limited()
    return limited and is_free()

other = threading.Thread(target=stay_inside)
"""

WHILE_IT_IS_SET = f"""{LIBRARY}
other.start()
while not library.busy:
    time.sleep(0.001)
assert in_child(lambda: not library.busy and limits_and_frees())
ended.set()
other.join()
assert is_free()
print("works")
"""

WHILE_ANOTHER_IS_INSIDE = f"""{LIBRARY}
other.start()
begun.wait()
assert in_child(lambda: is_free() and limits_and_frees())
assert is_limited()
ended.set()
other.join()
assert is_free() and limits_and_frees()
print("works")
"""

FROM_INSIDE = f"""{LIBRARY}
def leaves():
    try:
        with blas.single_threaded():
            child = os.fork()
            if child:
                return os.waitpid(child, 0)[1] == 0 and is_limited()
            limited = is_limited()
        os._exit(0 if limited and is_free() and limits_and_frees() else 1)
    except BaseException:
        os._exit(2)

assert leaves()
assert limits_and_frees()
other.start()
begun.wait()
assert leaves()
print("works", flush=True)
os._exit(0)
"""


def test_a_forked_child_of_a_process_with_threads_gives_the_same_bits(run_script):
    assert run_script(FORK).split() == ["same"]


def test_a_model_fitted_before_a_fork_transforms_to_the_same_bits_in_the_child(run_script):
    assert run_script(FITTED_BEFORE_FORK).split() == ["same"]


def test_a_child_forked_while_other_threads_fit_works(run_script):
    assert run_script(BUSY).split() == ["same"]


def test_a_fork_waits_until_the_number_of_blas_threads_is_set(run_script):
    assert run_script(WHILE_IT_IS_SET).split() == ["works"]


def test_a_limit_on_blas_that_other_threads_set_ends_in_the_child(run_script):
    assert run_script(WHILE_ANOTHER_IS_INSIDE).split() == ["works"]


def test_a_limit_on_blas_that_the_forking_thread_set_lasts_in_the_child_until_it_leaves(run_script):
    assert run_script(FROM_INSIDE).split() == ["works"]
