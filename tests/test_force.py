"""The force family: gradients, engines, schedules, and what users ask of the methods."""

from __future__ import annotations

import os
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from conftest import FORCE_METHODS, SHORT, cloud, same_bits
from lowfold import (
    LLE,
    SNE,
    TSNE,
    Annealed,
    Classical,
    ElasticEmbedding,
    Exact,
    Grid,
    Isomap,
    SymmetricSNE,
)
from lowfold.errors import ConvergenceWarning
from lowfold.force.law import CAUCHY, GAUSSIAN, Law
from lowfold.force.problem import GLOBAL, NONE, ROWS, ForceProblem
from lowfold.force.repulsion import ExactEngine, GridEngine
from lowfold.force.schedule import Phase
from shapes import conditional_by_definition, joint_by_definition, swiss_roll


def problem_of(law, normalisation, n=40, d=2, **more):
    rng = np.random.default_rng(0)
    dense = np.triu(np.where(rng.random((n, n)) < 0.3, rng.random((n, n)), 0.0), 1)
    dense = dense + dense.T
    dense /= dense.sum() if normalisation == GLOBAL else dense.sum() / n
    rows = csr_array(dense)
    P = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    problem = ForceProblem(P, law, ExactEngine(law, 2), 2, normalisation, **more)
    return problem, rng.standard_normal((n, d))


# Gradients

CASES = {
    "TSNE": (CAUCHY, GLOBAL, {}),
    "TSNE dof=0.5": (Law("student", 0.5), GLOBAL, {}),
    "TSNE dof=4": (Law("student", 4.0), GLOBAL, {}),
    "SymmetricSNE": (GAUSSIAN, GLOBAL, {}),
    "SNE": (GAUSSIAN, ROWS, {}),
    "ElasticEmbedding": (GAUSSIAN, NONE, {"strength": 0.3}),
    "ElasticEmbedding with masses": (GAUSSIAN, NONE, {"strength": 0.3, "masses": np.linspace(0.1, 2, 40)}),
}


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_of_each_law_is_the_finite_difference_of_its_loss(case, d):
    law, normalisation, more = CASES[case]
    problem, Y = problem_of(law, normalisation, d=d, **more)
    gradient = problem.forces(Y).gradient()
    step = 1e-5
    for i, p in [(0, 0), (7, d - 1), (39, d // 2)]:
        ahead, behind = Y.copy(), Y.copy()
        ahead[i, p] += step
        behind[i, p] -= step
        difference = (problem.loss(ahead) - problem.loss(behind)) / (2 * step)
        assert gradient[i, p] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def written_out(model, P):
    """(loss, gradient) by the definition of a method, from its affinities and every pair of its embedding."""
    Y, dof = model.embedding_, getattr(model, "dof", None)
    r = cdist(Y, Y, "sqeuclidean")
    w = np.exp(-r) if dof is None else (1 + r / dof) ** (-(dof + 1) / 2)
    np.fill_diagonal(w, 0)
    if isinstance(model, ElasticEmbedding):
        loss, K = (P * r).sum() + model.strength * w.sum(), P - model.strength * w
    else:
        q = w / (w.sum(axis=1, keepdims=True) if isinstance(model, SNE) else w.sum())
        there = P > 0
        loss, K = (P[there] * np.log(P[there] / q[there])).sum(), P - q
    K = 2 * (K + K.T) * (1 if dof is None else (dof + 1) / 2 / (dof + r))
    return loss, K.sum(axis=1, keepdims=True) * Y - K @ Y


WRITTEN_OUT = [TSNE(), TSNE(dof=0.5), TSNE(dof=4.0), SymmetricSNE(), SNE(), ElasticEmbedding()]


@pytest.mark.parametrize("model", WRITTEN_OUT, ids=["TSNE", "dof=0.5", "dof=4", "SymmetricSNE", "SNE", "Elastic"])
def test_loss_gradient_norm_and_history_are_those_of_the_definition(model, digits):
    """With every p and q written out."""
    X = digits[0][:120]
    model = model.set_params(perplexity=10.0, schedule=SHORT).fit(X)
    P = conditional_by_definition(X, 10.0)
    if not isinstance(model, SNE):
        P = (P + P.T) / (2 if isinstance(model, ElasticEmbedding) else 240)
    loss, gradient = written_out(model, P)
    assert model.loss_ == pytest.approx(loss, rel=1e-5)
    assert model.gradient_norm_ == pytest.approx(np.linalg.norm(gradient), rel=1e-3)
    assert model.loss_ == (model.energy_ if isinstance(model, ElasticEmbedding) else model.kl_divergence_)
    assert model.history_[-1].tolist() == [model.n_iter_, model.loss_]
    assert (np.diff(model.history_[:, 0]) > 0).all()


# Engines


def clusters(n, span, d=2, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-span / 2, span / 2, (20, d))
    return (centres[rng.integers(20, size=n)] + rng.standard_normal((n, d)) * span / 30).astype(np.float32)


def force_error(law, Y, spacing):
    """Relative error of the normalised repulsive forces."""
    exact, grid = ExactEngine(law, 2).field(Y), GridEngine(law, spacing, 2).field(Y)
    wanted, found = (slope / (phi.sum(dtype=np.float64) - len(Y)) for phi, slope in (exact, grid))
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


# The forces between far clusters are small, the error inside them is not: it grows with the span. At the default
# spacing of 0.5 it is 1e-3 at a span of 10, 8e-3 at 30, 2e-2 at 100 and 7e-2 at 300.
BOUNDS = {10: 0.003, 30: 0.015, 100: 0.04, 300: 0.1}


@pytest.mark.parametrize("law", [CAUCHY, GAUSSIAN], ids=["student", "gaussian"])
@pytest.mark.parametrize("span", BOUNDS)
def test_grid_repulsion_tends_to_exact_as_the_spacing_shrinks(span, law):
    Y = clusters(3000, span)
    errors = [force_error(law, Y, spacing) for spacing in (1.0, 0.5, 0.25)]
    assert errors[1] < BOUNDS[span]
    if span >= 30:  # below, a small embedding has a finer grid than it asks for
        assert errors[0] > 3 * errors[1] > 9 * errors[2]


@pytest.mark.parametrize("d", [1, 3])
def test_the_grid_serves_one_and_three_dimensions(d):
    Y = clusters(1500, 20, d)
    assert force_error(CAUCHY, Y, 0.5) < 0.02


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_grid_and_exact_end_at_the_same_loss(method, digits):
    exact, grid = (method(repulsion=engine).fit(digits[0]) for engine in (Exact(), Grid()))
    # t-SNE has many minima near each other, of which rounding chooses one.
    assert grid.loss_ == pytest.approx(exact.loss_, rel=0.03 if method is TSNE else 0.01)


@pytest.mark.parametrize("method", FORCE_METHODS)
@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_the_same_bits_come_of_any_number_of_threads_and_of_a_repeated_fit(method, repulsion, digits):
    results = [
        method(repulsion=repulsion, schedule=SHORT, n_jobs=threads).fit_transform(digits[0]) for threads in (1, 2, 3, 1)
    ]
    assert all(same_bits(results[0], other) for other in results[1:])


# Schedules


@pytest.mark.parametrize("name", ["digits", "cloud", "near duplicates", "roll"])
def test_the_default_ends_no_higher_than_the_classical_schedule(name, digits):
    rng = np.random.default_rng(0)
    X = {
        "digits": lambda: digits[0],
        "cloud": lambda: cloud(600, 50),
        "near duplicates": lambda: np.repeat(cloud(30, 20), 20, axis=0) + 1e-4 * rng.standard_normal((600, 20)),
        "roll": lambda: swiss_roll(600)[0],
    }[name]()
    annealed, classical = TSNE().fit(X), TSNE(schedule="classical").fit(X)
    # Thirty clumps have many arrangements of nearly the same loss; elsewhere the default is below by more than that.
    assert annealed.kl_divergence_ <= classical.kl_divergence_ + (0.002 if name == "near duplicates" else 0.0)
    assert classical.n_iter_ == 750
    assert annealed.report_.findings["converged"]


def test_the_loss_falls_after_the_exaggeration_and_the_history_says_so(digits):
    model = TSNE().fit(digits[0])
    late = model.history_[model.history_[:, 0] > 200, 1]
    assert late[-1] == model.kl_divergence_ == model.loss_
    assert (np.diff(late) < 0.01).all()
    assert late[-1] < late[0]
    assert model.report_.findings["converged"]
    assert model.gradient_norm_ == model.report_.findings["gradient"] > 0


def test_a_phase_goes_from_one_exaggeration_to_the_other_in_equal_ratios():
    phase = Phase("annealing", 4, 1.0, 0.9, 16.0, 1.0)
    assert [phase.factor(i) for i in range(4)] == pytest.approx([8, 4, 2, 1])


@pytest.mark.parametrize("schedule", [Annealed, Classical])
def test_late_exaggeration_makes_groups_more_compact(schedule, digits):
    X, y = digits

    def within_over_between(Y):
        centres = np.array([Y[y == c].mean(axis=0) for c in range(10)])
        return np.mean([np.linalg.norm(Y[y == c] - centres[c], axis=1).mean() for c in range(10)]) / centres.std()

    plain, late = (TSNE(schedule=schedule(late_exaggeration=f)).fit_transform(X) for f in (1.0, 4.0))
    assert within_over_between(late) < within_over_between(plain)


@pytest.mark.parametrize("method", FORCE_METHODS)
@pytest.mark.parametrize("rate", [100.0, 1000.0, 1e6])
def test_a_learning_rate_that_diverges_is_said_and_gives_no_nan(method, rate, digits):
    calm = method().fit(digits[0])
    with pytest.warns(ConvergenceWarning, match=r"too long and had to be divided by \d+|diverged after .* Lower the"):
        model = method(schedule=Annealed(learning_rate=rate)).fit(digits[0])
    assert np.isfinite(model.embedding_).all()
    assert model.loss_ < 1.1 * calm.loss_  # and steps that hold the map back are shortened until it settles


@pytest.mark.parametrize("rate", [1e4, 1e5, 1e7])
def test_a_classical_learning_rate_that_diverges_is_said_too(rate, digits):
    with pytest.warns(ConvergenceWarning, match=r"(diverged|had not come to rest) after .* Lower the learning rate"):
        model = TSNE(schedule=Classical(learning_rate=rate)).fit(digits[0])
    assert np.isfinite(model.embedding_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        TSNE(schedule="classical").fit(digits[0])


@pytest.mark.parametrize("method", FORCE_METHODS)
@pytest.mark.parametrize("perplexity", [2.0, 30.0])
def test_the_default_steps_are_not_too_long(method, perplexity, digits):
    # Of elastic embedding repulsion is many times stiffer than attraction where points are dense, in SNE where they
    # are far from each other.
    for X in (digits[0], cloud(1500, 50)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = method(perplexity=perplexity, repulsion="grid").fit(X)
        patient = method(perplexity=perplexity, repulsion="grid", schedule=Annealed(learning_rate=0.3)).fit(X)
        assert model.loss_ < 1.02 * patient.loss_


def test_steps_that_prove_too_long_are_shortened(digits):
    calm, hasty = (ElasticEmbedding(schedule=Annealed(learning_rate=rate)).fit(digits[0]) for rate in (1.0, 10.0))
    assert calm.report_.findings["pace"] == 1
    assert hasty.report_.findings["pace"] < 1
    assert hasty.energy_ < 1.05 * calm.energy_
    with pytest.warns(ConvergenceWarning, match=r"had to be divided by \d+ on the way.*Divide the learning rate"):
        ElasticEmbedding(schedule=Annealed(learning_rate=1000.0)).fit(digits[0])


@pytest.mark.parametrize("late", [1.0, 4.0])
def test_learning_rate_and_late_exaggeration_of_the_users_own_are_taken_as_they_are(late, digits):
    X = digits[0][:100]
    start = np.random.default_rng(0).standard_normal((100, 2)).astype(np.float32)
    classical = Classical(early_iter=0, max_iter=1, learning_rate=0.25, late_exaggeration=late)
    model = SymmetricSNE(init=start, perplexity=10.0, schedule=classical).fit(X)
    P = joint_by_definition(X, 10.0)
    w = np.exp(-cdist(start, start, "sqeuclidean"))
    np.fill_diagonal(w, 0)
    slope = 4 * np.einsum("ij,ijd->id", late * P - w / w.sum(), start[:, None] - start)
    gains = 1.2  # a gain grows by 0.2 where slope and velocity do not agree, and the first velocity is zero
    gain = np.where(slope > 0, gains, 0.8)
    moved = start - 0.25 * gain * slope
    assert np.allclose(model.embedding_, moved - moved.mean(axis=0), atol=1e-4)


# Real data


def test_the_poses_of_an_object_close_into_a_ring_under_t_sne():
    """Twenty objects turned around once: t-SNE keeps most as closed curves, Isomap and LLE few (the notes' figure)."""
    folder = Path(os.environ.get("LOWFOLD_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "coil20.npz").is_file():
        pytest.skip("coil20.npz is not there")
    script = Path(__file__).parents[1] / "docs" / "force_figures.py"
    if not script.is_file():
        pytest.skip("the figures' script is not installed")
    pytest.importorskip("matplotlib")
    figures = runpy.run_path(str(script))
    with np.load(folder / "coil20.npz") as arrays:
        X, label, pose = arrays["X"].astype(np.float32), arrays["y"], arrays["pose"]
    models = (TSNE(perplexity=10.0), Isomap(n_neighbors=6), LLE(n_neighbors=6))
    rings = [
        sum(figures["is_ring"](Y, label == c, pose) for c in np.unique(label))
        for Y in (model.fit_transform(X) for model in models)
    ]
    assert rings[0] >= 10
    assert rings[0] > 2 * max(rings[1:])
