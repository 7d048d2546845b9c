"""Every way to the eigenvectors finds the same ones as all of them at once, and says how far it got."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from conftest import cloud, same_bits
from lowfold import (
    LLE,
    LTSA,
    ClassicalMDS,
    DiffusionMap,
    HessianLLE,
    Isomap,
    KernelPCA,
    LaplacianEigenmaps,
    MemoryLimitError,
    ModifiedLLE,
)
from lowfold.backend import resources
from lowfold.errors import ConvergenceWarning
from lowfold.spectral import eigen, factor
from lowfold.spectral.canonical import canonical
from lowfold.spectral.problem import (
    BOTTOM,
    TOP,
    Centred,
    DenseMatrix,
    EigenProblem,
    SparseMatrix,
    StreamedMatrix,
)
from shapes import subspace_sine, swiss_roll

SAME = 1e-4  # sine of the angle between subspaces: far below what can be seen


def walk_matrix(X, k=10):
    model = LaplacianEigenmaps(n_neighbors=k).fit(X)
    walk = model.random_walk()
    return walk.S, walk.root[:, None]


def oracle(A, end, trivial, m):
    """The wanted eigenvectors by the textbook, with the trivial ones projected out."""
    values, vectors = np.linalg.eigh(A.toarray() if hasattr(A, "toarray") else A)
    order = np.argsort(values if end == BOTTOM else -values, kind="stable")
    skip = 0 if trivial is None else trivial.shape[1]
    chosen = order[skip : skip + m]
    return values[chosen], vectors[:, chosen]


@pytest.fixture
def only_iterations(monkeypatch):
    """Nothing is small enough to be solved all at once."""
    monkeypatch.setattr(eigen, "DENSE_SIZE", 0)
    monkeypatch.setattr(eigen, "DENSE_SHARE", 1)


DATA = {
    "swiss roll": lambda: swiss_roll(1500)[0],
    "cloud of 20 dimensions": lambda: cloud(1500, 20),
    "spiral": lambda: np.column_stack(
        [f(np.linspace(6, 25, 1500)) * np.linspace(6, 25, 1500) for f in (np.cos, np.sin)]
    ),
    "clusters": lambda: np.vstack([cloud(300, 5, seed=s) * 0.3 + 3 * np.eye(5)[s] for s in range(5)]),
}


@functools.cache
def known_walk(name):
    """(walk matrix, trivial vector, its first eleven eigenvalues, their vectors), once for all tests of them."""
    S, trivial = walk_matrix(DATA[name]())
    return S, trivial, *oracle(S, TOP, trivial, 11)


# A chain has no room for a filter: see the test of what did not converge.
CASES = [
    (name, solver) for name in DATA for solver in ("factorisation", "filter") if (name, solver) != ("spiral", "filter")
]


@pytest.mark.parametrize(("name", "solver"), CASES)
@pytest.mark.parametrize("m", [1, 3, 10])
@pytest.mark.usefixtures("only_iterations")
def test_the_top_of_a_walk_agrees_with_the_oracle(name, solver, m, monkeypatch):
    band = np.inf if solver == "factorisation" else 0
    monkeypatch.setattr(factor, "NARROW_BAND", band)
    S, trivial, values, vectors = known_walk(name)
    found = eigen.solve(EigenProblem(SparseMatrix(S, 2), TOP, trivial), m)
    assert found.solver == solver
    assert found.converged
    assert np.allclose(found.values, values[:m], atol=1e-5 * found.gap + 1e-10)
    assert subspace_sine(found.vectors, vectors[:, :m]) < (SAME if band else 1e-2)  # the filter stops at 1e-2
    assert found.gap == pytest.approx(values[m - 1] - values[m], rel=0.05)


@pytest.mark.parametrize("cls", [LLE, ModifiedLLE, HessianLLE, LTSA])
@pytest.mark.parametrize("name", ["swiss roll", "cloud of 20 dimensions"])
def test_the_bottom_of_the_lle_family_agrees_with_the_oracle(cls, name, monkeypatch):
    X = DATA[name]()
    expected = cls(n_neighbors=12)
    monkeypatch.setattr(eigen, "DENSE_SIZE", 10**6)
    expected.fit(X)
    monkeypatch.setattr(eigen, "DENSE_SIZE", 0)
    for band in (np.inf, 0):
        monkeypatch.setattr(factor, "NARROW_BAND", band)
        found = cls(n_neighbors=12).fit(X)
        assert found.report_.findings["solver"] == "factorisation"
        assert subspace_sine(found.embedding_, expected.embedding_) < SAME
        assert np.allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-3, atol=1e-13)


@pytest.mark.parametrize("m", [1, 4, 30])
@pytest.mark.usefixtures("only_iterations")
def test_the_top_of_a_dense_a_centred_and_a_streamed_matrix_agrees_with_the_oracle(m):
    X = cloud(700, 6) * np.arange(1, 7)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 40)
    H = np.eye(700) - 1 / 700
    _, expected = oracle(H @ K @ H, TOP, None, m)
    dense = DenseMatrix(K, 2)
    streamed = StreamedMatrix(lambda part: K[part], 700, np.finfo(float).eps, 2)
    for matrix in (dense, streamed):
        found = eigen.solve(EigenProblem(Centred(matrix)), m)
        assert found.solver == "lanczos"
        assert found.converged
        assert subspace_sine(found.vectors, expected) < SAME
        assert found.residuals.max() < 1e-5 * found.gap
        assert np.allclose(matrix.dense(), K)


@pytest.mark.usefixtures("only_iterations")
def test_the_bottom_of_a_dense_matrix_is_found_too():
    A = cloud(400, 400)
    A = A + A.T
    values, vectors = oracle(A, BOTTOM, None, 3)
    found = eigen.solve(EigenProblem(DenseMatrix(A, 1), BOTTOM), 3)
    assert np.allclose(found.values, values)
    assert subspace_sine(found.vectors, vectors) < SAME


@pytest.mark.usefixtures("only_iterations")
def test_eigenvalues_that_coincide_more_often_than_the_block_is_wide_are_all_found(monkeypatch):
    monkeypatch.setattr(factor, "NARROW_BAND", 0)
    S, _ = walk_matrix(swiss_roll(60)[0], k=6)
    copies = csr_array(block_diag([S] * 12))  # eigenvalue 1 twelve times
    found = eigen.solve(EigenProblem(SparseMatrix(copies, 2)), 12)
    assert np.allclose(found.values, 1, atol=1e-6)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(12), atol=1e-8)


@pytest.mark.usefixtures("only_iterations")
def test_what_did_not_converge_is_said(monkeypatch):
    monkeypatch.setattr(factor, "NARROW_BAND", 0)
    monkeypatch.setattr("lowfold.spectral.chebyshev.MAX_ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match=r"did not converge: after \d+ products .* gap .* Ask for fewer"):
        model = LaplacianEigenmaps(n_neighbors=10).fit(DATA["spiral"]())
    assert not model.report_.findings["converged"]
    assert model.report_.findings["residual"] > 1e-2 * model.report_.findings["spectral gap"]


@pytest.mark.usefixtures("only_iterations")
def test_nearly_disconnected_parts_end_in_bounded_time_and_are_told_apart(monkeypatch):
    X = np.vstack([cloud(400, 12, seed=s) + 60 * np.eye(12)[s] for s in range(4)])  # bridges with the least weight
    for band in (np.inf, 0):
        monkeypatch.setattr(factor, "NARROW_BAND", band)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LaplacianEigenmaps(n_neighbors=10, n_components=3).fit(X)
        assert (model.eigenvalues_ < 1e-6).all()
        assert model.report_.findings["products"] < 10_000
        spread = [model.embedding_[400 * s : 400 * s + 400].std(axis=0).max() for s in range(4)]
        assert max(spread) < 1e-2 * np.abs(model.embedding_).max()


def test_residuals_and_gap_are_in_the_report_of_every_spectral_method():
    X, _ = swiss_roll(300)
    for model in (
        Isomap(),
        KernelPCA(),
        LLE(),
        LTSA(),
        HessianLLE(),
        ModifiedLLE(),
        LaplacianEigenmaps(),
        DiffusionMap(),
    ):
        findings = model.fit(X).report_.findings
        assert {"eigenvalues", "residual", "spectral gap", "converged", "solver"} <= set(findings), model


def test_factors_that_do_not_fit_into_memory_are_refused_before_the_work(monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_SIZE", 0)
    X = cloud(400, 6)
    model = LTSA(n_neighbors=12, memory_limit=10**9)
    monkeypatch.setattr(resources, "available_memory", lambda: 1000)
    with pytest.raises(MemoryLimitError, match=r"factorisation for 400 samples.*needs .* GB.*Fit fewer"):
        model.fit(X)


def test_signs_and_bases_of_eigenspaces_depend_on_the_spaces_alone():
    V = np.linalg.qr(cloud(50, 5))[0]
    values = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    turned = V.copy()
    turned[:, 1:4] = V[:, 1:4] @ np.linalg.qr(cloud(3, 3, seed=1))[0]
    turned[:, [0, 4]] *= -1
    close = np.full(len(values), 1e-8)
    expected = canonical(values, V, close)
    assert np.allclose(canonical(values, turned, close), expected)
    assert np.allclose(expected.T @ expected, np.eye(5))
    assert subspace_sine(expected[:, 1:4], V[:, 1:4]) < 1e-10
    assert (expected[:, [0, 4]].T @ (1 / np.arange(1, 51)) > 0).all()


def test_the_solver_gives_equal_output_whichever_way_it_takes(monkeypatch):
    X, _ = swiss_roll(1200)
    embeddings = []
    for size, band in ((10**6, 0), (0, np.inf), (0, 0)):
        monkeypatch.setattr(eigen, "DENSE_SIZE", size)
        monkeypatch.setattr(factor, "NARROW_BAND", band)
        embeddings.append(LaplacianEigenmaps(n_neighbors=10).fit_transform(X))
    for Y in embeddings[1:]:
        assert np.abs(Y - embeddings[0]).max() < 1e-2 * np.abs(embeddings[0]).max()


@pytest.mark.parametrize("m", [1, 3])
def test_a_part_of_an_eigenspace_is_the_same_whichever_solver_found_it(only_iterations, monkeypatch, m):
    """Beside the constant vector a ring's eigenvalues come in pairs, of which an odd m takes only one half."""
    n = 300
    ring = csr_array((np.full(2 * n, 0.5), (np.r_[:n, :n], np.r_[1 : n + 1, -1 : n - 1] % n)), shape=(n, n))
    trivial = np.full((n, 1), n**-0.5)
    by_lanczos = eigen.solve(EigenProblem(DenseMatrix(ring.toarray(), 2), trivial=trivial), m)
    by_factors = eigen.solve(EigenProblem(SparseMatrix(ring, 2), trivial=trivial), m)
    monkeypatch.setattr(eigen, "DENSE_SIZE", n)
    at_once = eigen.solve(EigenProblem(DenseMatrix(ring.toarray(), 2), trivial=trivial), m)
    assert [found.solver for found in (at_once, by_lanczos, by_factors)] == ["dense", "lanczos", "factorisation"]
    for found in (by_lanczos, by_factors):
        assert found.vectors.shape == (n, m)
        assert not found.divided
        assert np.allclose(found.vectors, at_once.vectors, atol=1e-6)
    angle = 2 * np.pi * np.arange(n) / n
    first = at_once.vectors[:, 0]
    assert np.allclose(first @ np.cos(angle) * np.cos(angle) + first @ np.sin(angle) * np.sin(angle), first * n / 2)


# Methods on data large enough for a solver that few points never see, in several pieces of work.
LARGE = [
    ("filter", LaplacianEigenmaps(n_neighbors=10), lambda: cloud(9000, 30)),
    ("filter", DiffusionMap(graph="nearest"), lambda: cloud(6000, 30)),
    ("factorisation", LaplacianEigenmaps(n_neighbors=10), lambda: swiss_roll(5000)[0]),
    ("factorisation", LTSA(), lambda: swiss_roll(2000)[0]),
    ("factorisation", LLE(), lambda: swiss_roll(2000)[0]),
    ("lanczos", Isomap(landmarks=700), lambda: swiss_roll(2000)[0]),
    ("lanczos", KernelPCA(landmarks=700), lambda: cloud(2000, 5)),
    ("lanczos", ClassicalMDS(landmarks=700), lambda: cloud(2000, 5)),
]


def assert_same_bits_for_any_threads(model, X, solver):
    found = []
    for n_jobs in (1, 2, 3, 8):
        Y = model.set_params(n_jobs=n_jobs).fit_transform(X)
        assert model.report_.findings["solver"] == solver
        found.append((Y, model.eigenvalues_, model.transform(X[::40] + 1e-3)))
    for results in found[1:]:
        assert all(same_bits(*pair) for pair in zip(results, found[0], strict=True))


@pytest.mark.parametrize(
    ("solver", "model", "data"), LARGE, ids=[f"{type(model).__name__}-{solver}" for solver, model, _ in LARGE]
)
def test_every_solver_gives_the_same_bits_for_any_number_of_threads(solver, model, data):
    assert_same_bits_for_any_threads(model, data(), solver)


def test_the_factors_of_a_square_give_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(factor, "NARROW_BAND", 0)
    monkeypatch.setattr(factor, "inverse", None)  # A itself is not factorised
    assert_same_bits_for_any_threads(LLE(), swiss_roll(2000)[0], "factorisation")
