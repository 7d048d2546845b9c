"""Products of sparse matrices in steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from lowfold import PCA
from lowfold.backend import sparse_steps
from lowfold.backend.stopping import Stop, Stopped, stoppable


def matrix(n=200, D=90):
    return csr_array(random_array((n, D), density=0.1, rng=np.random.default_rng(0), format="csr"))


@pytest.mark.parametrize("step", [1, 50, 10**9])
def test_products_in_steps_have_the_bits_of_whole_ones(step, monkeypatch):
    monkeypatch.setattr(sparse_steps, "SPARSE_STEP", step)
    monkeypatch.setattr(sparse_steps, "DENSE_STEP", step)
    X, B = matrix(), np.random.default_rng(1).normal(size=(90, 7))
    np.testing.assert_array_equal(sparse_steps.product(X.T, X), (X.T @ X).toarray())
    np.testing.assert_array_equal(sparse_steps.product(X, X.T), (X @ X.T).toarray())
    np.testing.assert_array_equal(sparse_steps.times(X, B), X @ B)
    empty = csr_array((5, 3))
    np.testing.assert_array_equal(sparse_steps.product(empty.T, empty), np.zeros((3, 3)))


@pytest.mark.parametrize("solver", ["covariance", "lanczos"])
def test_a_stop_is_heard_between_steps(solver, monkeypatch):
    monkeypatch.setattr(sparse_steps, "SPARSE_STEP", 100)
    monkeypatch.setattr(sparse_steps, "DENSE_STEP", 100)
    stop, steps = Stop(), []
    check = sparse_steps.stopping.check

    def checked():
        steps.append(None)
        if len(steps) == 5:
            stop.ask()
        check()

    monkeypatch.setattr(sparse_steps.stopping, "check", checked)
    with stoppable(stop), pytest.raises(Stopped):
        PCA(n_components=3, solver=solver).fit(matrix())
