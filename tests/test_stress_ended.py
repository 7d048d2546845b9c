"""Stress methods that are ended early: what is kept, and how little is still done for it."""

from __future__ import annotations

import threading
import time
import warnings
from _thread import interrupt_main

import numpy as np
import pytest

from conftest import cloud, same_bits
from lowfold import MDS, Majorisation, Sammon
from lowfold.backend import stopping
from lowfold.backend.stopping import Stopped
from lowfold.neighbors.interface import read_points
from lowfold.stress import mds
from lowfold.stress.ordinal import OrdinalProblem
from lowfold.stress.pairs import pairs_of
from lowfold.stress.place import Placing
from lowfold.stress.problem import StressProblem, unit_weights
from lowfold.stress.starts import Runs

BOTH = pytest.mark.parametrize("method", [MDS, Sammon])


def raising(error):
    """A solver that an exception ends at its third pass."""

    def callback(step):
        if step.iteration >= 3:
            raise error

    return Majorisation(callback=callback)


def counted(monkeypatch, of, name):
    """The calls of a function of a class."""
    calls, function = [], getattr(of, name)
    monkeypatch.setattr(of, name, lambda *given: calls.append(given) or function(*given))
    return calls


@BOTH
def test_ctrl_c_with_landmarks_places_nobody_and_leaves_the_model_as_it_was(method, monkeypatch):
    X = cloud(200)
    model = method(landmarks=20).fit(cloud(50, seed=1))
    before = dict(model.__dict__)
    placed = counted(monkeypatch, Placing, "place")
    model.solver = raising(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not placed
    assert same_bits(model.embedding_, before["embedding_"])
    assert model.report_ is before["report_"]


@BOTH
def test_a_stop_from_another_thread_with_landmarks_has_all_points_placed(method):
    X = cloud(200)
    model = method(landmarks=20, solver=raising(Stopped()))
    with pytest.raises(Stopped):
        model.fit(X)
    assert model.embedding_.shape == (200, 2)
    assert same_bits(model.transform(X), model.embedding_)


@BOTH
def test_ctrl_c_is_followed_by_no_further_pass_over_the_pairs(method, monkeypatch):
    passes = counted(monkeypatch, StressProblem, "evaluate")
    seen = []

    def callback(step):
        if step.iteration == 3:
            seen.append(len(passes))
            raise KeyboardInterrupt

    model = method(solver=Majorisation(callback=callback))
    with pytest.raises(KeyboardInterrupt):
        model.fit(cloud(60))
    assert len(passes) == seen[0]
    assert np.isclose(model.history_[-1, 1], model.raw_stress_)


def interrupted(X):
    """A non-metric fit that Ctrl-C ended at the third step."""

    def callback(step):
        if step.iteration == 3:
            raise KeyboardInterrupt

    model = MDS(scaling="nonmetric", solver=Majorisation(callback=callback))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    return model


def test_ctrl_c_in_a_nonmetric_fit_of_few_points_leaves_the_disparities_of_all_pairs():
    model = interrupted(cloud(60))
    pairs = model.shepard()
    raw = np.square(pairs.distance - pairs.disparity).sum()
    assert np.isclose(raw, model.raw_stress_, rtol=1e-6)
    assert "disparities of new points" not in model.report_.findings


def test_ctrl_c_in_a_nonmetric_fit_of_many_points_is_followed_by_no_pass_over_all_pairs(monkeypatch):
    X, new = cloud(300), cloud(5, seed=1)
    all_pairs = interrupted(X)
    fits = counted(monkeypatch, OrdinalProblem, "_fit")
    passes = counted(monkeypatch, OrdinalProblem, "evaluate")
    monkeypatch.setattr(mds, "HURRIED", 4000)
    model = interrupted(X)
    assert len(fits) == len(passes) + 1
    assert len(fits[-1][1]) == -(-300 * 299 // 2 // 12)
    assert model.report_.findings["disparities of new points"] == "fitted to one pair in 12: Ctrl-C ended the fit"
    np.testing.assert_array_equal(model.embedding_, all_pairs.embedding_)
    assert model.raw_stress_ == all_pairs.raw_stress_  # which is of all pairs
    size = np.abs(all_pairs.embedding_).max()
    np.testing.assert_allclose(model.transform(new), all_pairs.transform(new), atol=0.05 * size)


@pytest.mark.parametrize("most", [0, 5, 40, 200])
def test_max_iter_bounds_all_passes_of_a_nonmetric_fit_with_its_lifts_and_relocations(most, monkeypatch):
    passes = counted(monkeypatch, OrdinalProblem, "evaluate")
    model = MDS(scaling="nonmetric", solver=Majorisation(max_iter=most, tolerance=1e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(cloud(80, 6))
    # Beside them: two starts, the first look, one at each of two lifts and five relocations, one for the disparities.
    assert model.n_iter_ <= most
    assert len(passes) <= most + 2 + 1 + 2 + 5 + 1


def test_ctrl_c_ends_passes_on_other_threads_where_they_are():
    """A pass over millions of pairs takes longer than somebody who presses Ctrl-C should have to wait."""
    ended = []

    class Endless:
        def __init__(self, problem):
            self.__dict__.update(problem.__dict__)

        def with_threads(self, threads):
            return self

        def evaluate(self, Y):
            try:
                while True:
                    stopping.check()
                    time.sleep(0.001)
            except Stopped:
                ended.append(True)
                raise

    pairs = pairs_of(read_points(cloud(20), "euclidean"), "euclidean", None, 1)
    runs = Runs(
        Endless(StressProblem(pairs, unit_weights(pairs, 1), 1)), [lambda: cloud(20, 2)] * 2, Majorisation(), None
    )
    threading.Timer(0.2, interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        runs.drain(2)
    assert len(ended) == 2
