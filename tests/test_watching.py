"""Fits that are watched, and fits that another thread ends."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import lowfold
from conftest import cloud, declared, model_of
from lowfold.backend.stopping import Stop, Stopped, check, stoppable
from lowfold.options import parameters
from lowfold.watching import most_steps, with_callback

X = cloud(80, 4)
ENDLESS = {
    lowfold.TSNE: {"schedule": lowfold.Classical(max_iter=10**9)},
    lowfold.MDS: {"solver": lowfold.Majorisation(max_iter=10**9, tolerance=0.0, relocations=0)},
    lowfold.UMAP: {"schedule": lowfold.Epochs(n_epochs=10**9)},
    lowfold.ElasticEmbedding: {"schedule": lowfold.Classical(max_iter=10**9)},
}
LOOPS = [
    (method, parameter.name, choice)
    for method in lowfold.METHODS.values()
    for parameter in parameters(method)
    if any("callback" in getattr(kind, "__dataclass_fields__", {}) for kind in parameter.types)
    for choice in parameter.option.choices
]


def in_a_thread(work):
    """What work() returns or raises, on a thread of its own."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "name", "choice"), LOOPS)
def test_watching_changes_nothing_about_a_fit(method, name, choice):
    plain = model_of(method, **{name: choice})
    steps = []
    watched, most = with_callback(plain, steps.append, len(X))
    np.testing.assert_array_equal(watched.fit(X).embedding_, plain.fit(X).embedding_)
    assert 0 < len(steps) <= most
    assert steps[-1].embedding.shape == (80, 2)
    assert getattr(plain, name) == choice, "the model itself has no callback"


def test_a_method_without_steps_is_fitted_as_it_is():
    copy, most = with_callback(lowfold.PCA(n_components=3), print, len(X))
    assert most == 0
    assert copy.fit(X).embedding_.shape == (80, 3)
    assert most_steps(object(), 5) == 0


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_was_asked_to_stop_ends_and_hears_it_once(method):
    stop = Stop()
    stop.ask()

    def work():
        with stoppable(stop):
            with pytest.raises(Stopped):
                model_of(method).fit(X)
            return model_of(method).fit(X).embedding_

    assert in_a_thread(work).shape == (80, 2)
    assert stop.asked


@pytest.mark.parametrize("threads", [1, 3])
def test_a_kernel_hears_the_stop_of_its_own_thread_and_no_other(threads, kernels):
    stop = Stop()
    stop.ask()

    def work():
        with stoppable(stop):
            for _ in range(10_000):  # one alone may end before it looks
                kernels.squared_distances(cloud(2000, 8), np.arange(2000, dtype=np.int32), threads)

    elsewhere = in_a_thread(lambda: kernels.squared_distances(X, np.arange(80, dtype=np.int32), threads))
    assert elsewhere.shape == (80, 80)
    assert isinstance(in_a_thread(work), Stopped)
    check()  # nothing was asked of this thread


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ENDLESS)
def test_an_optimisation_that_another_thread_ends_keeps_what_it_has(method):
    rows = cloud(500, 10)  # enough for no step to be the last by rounding before the stop is heard
    stop = Stop()
    begun = threading.Event()
    model, _ = with_callback(model_of(method, **ENDLESS[method]), lambda _: begun.set(), len(rows))

    def work():
        with stoppable(stop), pytest.raises(Stopped):
            model.fit(rows)
        return model.embedding_

    threading.Thread(target=lambda: begun.wait() and stop.ask(), daemon=True).start()
    Y = in_a_thread(work)
    assert Y.shape == (500, 2)
    assert np.isfinite(Y).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ENDLESS)
def test_a_stop_after_the_last_step_loses_nothing(method):
    stop = Stop()

    def last(_):
        stop.ask()
        return True

    model, _ = with_callback(model_of(method, **ENDLESS[method]), last, len(X))

    def work():
        with stoppable(stop), contextlib.suppress(Stopped):
            model.fit(X)
        return model.embedding_

    assert np.isfinite(in_a_thread(work)).all()


def test_asking_again_is_no_second_stop():
    stop = Stop()
    assert not stop.heard()
    stop.ask()
    assert stop.heard()
    stop.ask()
    assert not stop.heard()


def test_every_loop_was_looked_at():
    assert {method for method, _, _ in LOOPS} == {
        method
        for method in lowfold.METHODS.values()
        if declared(method) & {"schedule", "solver"} and method is not lowfold.PCA
    }
