"""Elastic embedding with weights w- of the user's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from conftest import SHORT, same_bits
from lowfold import DataError, ElasticEmbedding, Homotopy, ParameterError
from lowfold.force.law import GAUSSIAN
from lowfold.force.problem import NONE, ForceProblem
from lowfold.force.repulsion import PairsEngine
from shapes import swiss_roll


def symmetric(n, share, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(np.where(rng.random((n, n)) < share, rng.random((n, n)), 0.0), 1)
    return W + W.T


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_gradient_with_given_pairs_is_the_finite_difference_of_the_energy_of_the_notes(d):
    attract, repel = symmetric(40, 0.2, 0), symmetric(40, 0.5, 1)
    rows = csr_array(attract)
    P = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    problem = ForceProblem(P, GAUSSIAN, PairsEngine(GAUSSIAN, csr_array(repel), 2), 2, NONE, 0.3)
    Y = np.random.default_rng(2).standard_normal((40, d))

    def energy(Y):
        r = cdist(Y, Y, "sqeuclidean")
        return (attract * r).sum() + 0.3 * (repel * np.exp(-r)).sum()

    assert problem.loss(Y) == pytest.approx(energy(Y), rel=1e-12)
    gradient = problem.forces(Y).gradient()
    for i, p in [(0, 0), (7, d - 1), (39, d // 2)]:
        step = np.zeros_like(Y)
        step[i, p] = 1e-5
        assert gradient[i, p] == pytest.approx((energy(Y + step) - energy(Y - step)) / 2e-5, rel=1e-6, abs=1e-9)


def test_pairs_that_are_products_of_masses_give_the_embedding_of_the_masses(digits):
    X = digits[0][:300]
    mass = np.where(np.arange(300) < 150, 2.0, 1.0)
    by_mass = ElasticEmbedding(strength=Homotopy(mass=mass), repulsion="exact").fit(X)
    for pairs in (np.outer(mass, mass), csr_array(np.outer(mass, mass))):
        model = ElasticEmbedding(strength=Homotopy(pairs=pairs)).fit(X)
        assert model.energy_ == pytest.approx(by_mass.energy_, rel=1e-3)
        assert model.report_.findings["pairs"] == 300 * 299
    alike = ElasticEmbedding(strength=Homotopy(pairs=np.ones((300, 300)))).fit(X)
    plain = ElasticEmbedding(repulsion="exact").fit(X)
    assert alike.energy_ == pytest.approx(plain.energy_, rel=1e-3)
    new = digits[0][300:310]
    assert np.median(np.abs(alike.transform(new) - plain.transform(new))) < 0.05


def test_repulsion_by_squared_distances_unrolls_the_swiss_roll_as_in_the_paper():
    X, sheet = swiss_roll(500)
    D = cdist(X, X, "sqeuclidean")
    model = ElasticEmbedding(perplexity=10.0, strength=Homotopy(strength=1.0, pairs=D / D.mean())).fit(X)
    order = np.argsort(cdist(model.embedding_, model.embedding_), axis=1)[:, 1:6]
    jump = np.abs(sheet[order, 0] - sheet[:, None, 0]).mean() / np.ptp(sheet[:, 0])
    assert jump < 0.05


def test_few_pairs_are_summed_alone_with_the_same_bits_for_any_threads(digits):
    X = digits[0]
    some = csr_array(symmetric(600, 0.05, 3))
    results = [
        ElasticEmbedding(strength=Homotopy(pairs=some), schedule=SHORT, n_jobs=threads).fit_transform(X)
        for threads in (1, 2, 3)
    ]
    assert all(same_bits(results[0], other) for other in results[1:])


def test_pairs_that_cannot_be_used_are_refused(digits):
    X = digits[0][:60]

    def fit(pairs, **more):
        ElasticEmbedding(perplexity=5.0, strength=Homotopy(pairs=pairs, **more.pop("way", {})), **more).fit(X)

    with pytest.raises(DataError, match=r"pairs has shape \(3, 3\).*each of the 60 samples"):
        fit(np.ones((3, 3)))
    uneven = np.ones((60, 60))
    uneven[0, 1] = 2
    for bad in (uneven, -np.ones((60, 60)), np.full((60, 60), np.nan)):
        with pytest.raises(DataError, match=r"must be symmetric, finite and at least 0\. Pass"):
            fit(bad)
    with pytest.raises(ParameterError, match="so mass has nothing to act on"):
        fit(np.ones((60, 60)), way={"mass": np.ones(60)})
    with pytest.raises(ParameterError, match="so repulsion='grid' has nothing to act on"):
        fit(np.ones((60, 60)), repulsion="grid")
