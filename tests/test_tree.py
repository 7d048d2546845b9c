"""Repulsion by a tree: it is what its reference says, tends to the exact sums, and serves any number of dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from conftest import FORCE_METHODS, LEVELS, SHORT, same_bits
from lowfold import TSNE, Classical, Exact, ParameterError, SymmetricSNE, Tree
from lowfold.backend.native import load
from lowfold.backend.reference import tree as reference
from lowfold.force.law import CAUCHY, GAUSSIAN
from lowfold.force.repulsion import ExactEngine, TreeEngine

LAWS = [("student", 1.0), ("student", 0.5), ("student", 3.0), ("gaussian", 1.0)]
CLOSE = {np.float32: 2e-5, np.float64: 1e-11}


def groups(n, d, dtype=np.float32, spread=20.0, seed=0):
    """Points in a dozen groups, some of them in one place."""
    rng = np.random.default_rng(seed)
    Y = rng.uniform(-spread / 2, spread / 2, (12, d))[rng.integers(12, size=n)] + rng.standard_normal((n, d))
    Y[: n // 10] = Y[0]
    return np.ascontiguousarray(Y.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "d"), [(1, 2), (7, 1), (16, 3), (130, 4), (700, 5), (333, 9)])
def test_the_tree_sums_what_its_reference_sums(n, d, law, dtype):
    # Coordinates on a lattice of eighths: where float32 and float64 would differ about a group, the maps differ.
    Y = np.round(8 * groups(n, d, dtype)) / dtype(8)
    for charges in (None, np.random.default_rng(1).integers(0, 3, n).astype(dtype)):
        wanted = reference.tree_field(Y, charges, law, 0.7)
        scale = np.abs(wanted[1]).max() or 1.0
        for level in LEVELS:
            kernels = load(level)
            found = kernels.tree_field(Y, charges, law, 0.7, 2)
            assert np.allclose(found[0], wanted[0], rtol=CLOSE[dtype], atol=CLOSE[dtype]), level
            assert np.allclose(found[1] / scale, wanted[1] / scale, atol=CLOSE[dtype]), level
            for threads in (1, 3, 8):
                again = kernels.tree_field(Y, charges, law, 0.7, threads)
                assert all(same_bits(a, b) for a, b in zip(found, again, strict=True)), level


def force_error(law, Y, theta):
    """Relative error of the normalised repulsive forces."""
    exact, tree = ExactEngine(law, 2).field(Y), TreeEngine(law, theta, 2).field(Y)
    wanted, found = (slope / (phi.sum(dtype=np.float64) - len(Y)) for phi, slope in (exact, tree))
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


# On embeddings of digits the error is 3e-4 at theta = 0.2, 7e-3 at the default 0.45 and 3e-2 at 0.6. In few dimensions,
# where a grid is the better engine, forces from both sides cancel and errors weigh more.
@pytest.mark.parametrize("d", [1, 2, 4, 6, 10])
@pytest.mark.parametrize("law", [CAUCHY, GAUSSIAN], ids=["student", "gaussian"])
@pytest.mark.parametrize("spread", [5.0, 30.0, 100.0])
def test_tree_repulsion_tends_to_exact_as_theta_shrinks(law, d, spread):
    Y = groups(3000, d, spread=spread)
    default, small, zero = (force_error(law, Y, theta) for theta in (Tree().theta, 0.1, 0.0))
    assert default < (0.02 if d > 3 else 0.2)
    assert small < (0.001 if d > 3 else 0.01)
    assert zero < 1e-6
    if default > 1e-5:
        assert default > 3 * small


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_tree_and_exact_end_at_the_same_loss_in_four_dimensions(method):
    X = load_digits().data[:1200]
    exact, tree = (method(n_components=4, repulsion=engine).fit(X) for engine in (Exact(), Tree()))
    assert tree.loss_ == pytest.approx(exact.loss_, rel=0.03 if method is TSNE else 0.01)
    assert tree.report_.findings["repulsion"] == "tree"
    assert np.isfinite(tree.transform(X[:3] + 0.5)).all()


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_the_tree_gives_the_same_bits_for_any_number_of_threads(method):
    X = load_digits().data[:500]
    results = [
        method(n_components=5, repulsion="tree", schedule=SHORT, n_jobs=threads).fit_transform(X)
        for threads in (1, 2, 3)
    ]
    assert all(same_bits(results[0], other) for other in results[1:])


@pytest.mark.parametrize(("n", "d", "engine"), [(1100, 4, "tree"), (600, 4, "exact"), (1100, 3, "grid")])
def test_the_engine_is_chosen_by_cost(n, d, engine):
    model = SymmetricSNE(n_components=d, schedule=SHORT).fit(load_digits().data[:n])
    assert model.report_.findings["repulsion"] == engine


def test_the_engine_chosen_for_t_sne_in_three_dimensions_has_the_loss_of_exact_sums():
    X = load_digits().data[:1100]
    exact = TSNE(n_components=3, repulsion="exact").fit(X)
    at_once = Classical(early_iter=0, max_iter=0)
    chosen = TSNE(n_components=3, init=exact.embedding_, schedule=at_once).fit(X)
    assert chosen.loss_ == pytest.approx(exact.loss_, rel=0.03)


def test_a_theta_beyond_all_measure_is_refused():
    with pytest.raises(ParameterError, match="theta.*at most 1. Got 1.5"):
        TSNE(repulsion=Tree(theta=1.5)).fit(load_digits().data[:200])
