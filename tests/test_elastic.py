"""Elastic embedding: weights w+ and w- of the user's own, the way from the Laplacian's eigenvectors, and its steps."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from conftest import SHORT, cloud, same_bits
from lowfold import Annealed, Classical, DataError, ElasticEmbedding, Homotopy, ParameterError
from lowfold.force import spectral_direction
from lowfold.force.law import GAUSSIAN
from lowfold.force.problem import NONE, ForceProblem
from lowfold.force.repulsion import PairsEngine
from lowfold.force.spectral_direction import SpectralDirection
from shapes import conditional_by_definition, flat_sheet, subspace_sine, swiss_roll


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


def test_the_energy_is_that_of_the_weights_as_they_are_given():
    size = np.linspace(0.05, 1, 80)
    W = np.outer(size, size) * symmetric(80, 0.3, 0)

    def fit(W, strength):
        model = ElasticEmbedding(metric="affinity", strength=strength).fit(W)
        r = cdist(model.embedding_, model.embedding_, "sqeuclidean")
        energy = (W * r).sum() + strength * (np.exp(-r).sum() - len(W))
        assert model.energy_ == pytest.approx(energy, rel=1e-5)
        assert r.max() > 1  # not all in one place, where no weight counts
        return model.energy_

    plain = fit(W, 0.3)
    assert fit(10 * W, 0.3) > 1.1 * plain
    assert fit(10 * W, 3.0) == pytest.approx(10 * plain, rel=0.01)  # every term is ten times as large


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


# The way there


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (Annealed(exaggeration=4.0), r"no early phase, so exaggeration=4.0 has nothing .* at its default, 'auto'\."),
        (Classical(early_iter=9), r"no early phase, so early_iter=9 has nothing to act on.* default, 250\."),
        (Classical(exaggeration=4, early_iter=9), r"exaggeration=4 and early_iter=9 have .* defaults, 12.0 and 250\."),
    ],
)
def test_what_a_schedule_says_about_an_early_phase_is_refused(schedule, message):
    with pytest.raises(ParameterError, match=message):
        ElasticEmbedding(perplexity=5.0, schedule=schedule).fit(cloud(40))


def test_all_else_that_a_schedule_says_is_heeded():
    X = cloud(40)
    default = ElasticEmbedding(perplexity=5.0, schedule=Classical(max_iter=20)).fit_transform(X)
    no_early = ElasticEmbedding(perplexity=5.0, schedule=Classical(max_iter=20, early_iter=0)).fit_transform(X)
    assert same_bits(no_early, default)
    for other in (Classical(max_iter=10), Classical(max_iter=20, late_exaggeration=2.0)):
        assert not same_bits(ElasticEmbedding(perplexity=5.0, schedule=other).fit_transform(X), default)


def lowest_eigenvectors(X, perplexity):
    """(lam, V): those of the Laplacian of w+, behind the constant one."""
    P = conditional_by_definition(X, perplexity)
    W = (P + P.T) / 2
    lam, V = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    return lam[1:], V[:, 1:]


def test_a_point_opens_along_the_lowest_eigenvector_where_the_repulsion_outweighs_its_eigenvalue():
    """Near one point E = 2 tr Y^T (L - lambda n) Y + ..., which is convex up to lambda n = lam_2."""
    X, _ = flat_sheet(150)
    lam, V = lowest_eigenvectors(X, 10.0)
    below, above = (
        ElasticEmbedding(n_components=1, perplexity=10.0, strength=share * lam[0] / 150).fit_transform(X)
        for share in (0.9, 1.1)
    )
    assert below.std() < 0.01
    assert above.std() > 0.05
    assert subspace_sine(above, V[:, :1]) < 0.01


def test_the_homotopy_of_groups_that_hardly_touch_begins_at_the_eigenmap():
    """Inside of a group springs outweigh the first repulsion, 1 / n: the groups are points, as in the eigenmap."""
    X = np.random.default_rng(0).standard_normal((150, 4)) + 8 * np.repeat(np.eye(3, 4), 50, axis=0)
    lam, V = lowest_eigenvectors(X, 30.0)
    assert 100 * lam[1] < 1 / 3 < lam[2]
    path = ElasticEmbedding(perplexity=30.0).fit(X).path_
    assert subspace_sine(path[0][1], V[:, :2]) < 0.01
    assert subspace_sine(path[-1][1], V[:, :2]) > 0.1


def test_a_homotopy_that_was_stopped_says_where_it_is_and_goes_on_to_its_strength():
    W = symmetric(80, 0.3, 0)

    def energy(model):
        r = cdist(model.embedding_, model.embedding_, "sqeuclidean")
        return (W * r).sum() + model.path_[-1][0] * (np.exp(-r).sum() - 80)

    stopped = Annealed(callback=lambda step: step.iteration == 70)
    model = ElasticEmbedding(metric="affinity", strength=2.0, schedule=stopped).fit(W)
    assert model.energy_ == pytest.approx(energy(model), rel=1e-5)
    assert model.path_[-1][0] < 2
    model.set_params(schedule="annealed").resume()
    assert model.path_[-1][0] == 2
    assert model.energy_ == pytest.approx(energy(model), rel=1e-5)


# Steps


def test_without_repulsion_one_step_along_the_spectral_direction_reaches_the_minimum():
    rows = csr_array(symmetric(60, 0.3, 4).astype(np.float32))
    P = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    problem = ForceProblem(P, GAUSSIAN, PairsEngine(GAUSSIAN, csr_array((60, 60), dtype=np.float32), 2), 2, NONE, 1e-9)
    Y = np.random.default_rng(5).standard_normal((60, 2)).astype(np.float32)
    course = SpectralDirection.of(problem)
    there = course.next(problem, Y, course.forces_at(problem, Y), (1.0, 1.0))
    assert np.ptp(there, axis=0).max() < 1e-3 * np.ptp(Y)


def test_the_spectral_direction_never_raises_the_energy_and_knows_the_forces_where_it_leads():
    X, _ = swiss_roll(400)
    problem = ElasticEmbedding(schedule=SHORT).fit(X)._descent.problem
    Y = np.random.default_rng(6).standard_normal((400, 2)).astype(np.float32)
    course, energies = SpectralDirection.of(problem), []
    for _ in range(30):
        forces = course.forces_at(problem, Y)
        assert np.array_equal(forces.gradient(), problem.forces(Y).gradient())
        energies.append(problem.loss(Y))
        Y = course.next(problem, Y, forces, (1.0, 1.0))
    assert (np.diff(energies) <= 0).all()
    assert energies[-1] < 0.5 * energies[0]


def test_a_search_that_ended_in_rounding_errors_does_not_keep_the_next_strength_from_moving():
    X, _ = swiss_roll(300)
    problem = ElasticEmbedding(schedule=SHORT).fit(X)._descent.problem
    course = SpectralDirection.of(problem)
    Y = np.random.default_rng(7).standard_normal((300, 2)).astype(np.float32)
    for _ in range(300):
        Y = course.next(problem, Y, course.forces_at(problem, Y), (1.0, 1.0))
    stronger = problem.with_strength(10 * problem.strength)
    moved = course.next(stronger, Y, course.forces_at(stronger, Y), (1.0, 1.0))
    assert stronger.loss(moved) < stronger.loss(Y) - 0.01 * abs(stronger.loss(Y))


def test_a_sheet_takes_the_spectral_direction_and_a_cloud_steps_by_stiffness(digits):
    sheet, ball = swiss_roll(1500)[0], np.random.default_rng(8).standard_normal((1500, 10))
    assert ElasticEmbedding(schedule=SHORT).fit(sheet).report_.findings["steps"] == "spectral direction"
    assert ElasticEmbedding(schedule=SHORT).fit(ball).report_.findings["steps"] == "stiffness"
    assert ElasticEmbedding(schedule="classical").fit(digits[0][:100]).report_.findings["steps"] == "stiffness"
    results = [ElasticEmbedding(n_jobs=threads).fit_transform(sheet) for threads in (1, 2, 3)]
    assert all(same_bits(results[0], other) for other in results[1:])


@pytest.mark.parametrize("apart", [6.0, 30.0])
def test_groups_that_hang_together_by_little_or_nothing_end_where_plain_steps_lead(apart):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10)) + apart * np.repeat(np.eye(5, 10), 400, axis=0)
    model = ElasticEmbedding().fit(X)
    with mock.patch.object(spectral_direction, "MOST_FILL", 0.0):
        plain = ElasticEmbedding().fit(X)
    assert plain.report_.findings["steps"] == "stiffness"
    assert model.energy_ < 1.01 * plain.energy_
    assert np.ptp(model.embedding_) < 3 * np.ptp(plain.embedding_)


def test_a_strength_may_be_any_whole_number():
    np.testing.assert_array_equal(Homotopy(strength=10**30).strengths(100), Homotopy(strength=1e30).strengths(100))
