"""Every kernel of the force family does what its NumPy reference says, for any threads; and the grid in use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import FORCE_METHODS, SHORT, cloud, same_bits
from lowfold import SNE, TSNE, Classical, ElasticEmbedding, Homotopy, SymmetricSNE
from lowfold.backend import native
from lowfold.backend.reference import forces as reference
from lowfold.force import repulsion
from lowfold.force.law import Law
from lowfold.force.repulsion import kernel_transform

LAWS = [("student", 1.0), ("student", 0.5), ("student", 3.0), ("gaussian", 1.0)]
# float32: exp and log are right to 2e-7, sums have some hundred terms.
CLOSE = {np.float32: {"rtol": 2e-5, "atol": 2e-5}, np.float64: {"rtol": 1e-11, "atol": 1e-11}}


def points(n, d, dtype=np.float32, spread=2.0, seed=0):
    return (spread * np.random.default_rng(seed).standard_normal((n, d))).astype(dtype)


def sparse_affinity(n, per_row, dtype, seed=0):
    """A symmetric matrix, written out and by rows; row 0 is empty."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, n)) < per_row / n, rng.random((n, n)), 0.0)
    dense = (dense + dense.T).astype(dtype)
    dense[0] = dense[:, 0] = 0
    np.fill_diagonal(dense, 0)
    rows = csr_array(dense)
    return dense, (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


# Affinities


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("perplexities", [[5.0], [2.0, 7.5], [1.0]])
@pytest.mark.parametrize("k", [1, 15, 16, 40])
def test_perplexity_rows_equal_the_reference(kernels, k, perplexities, dtype):
    rng = np.random.default_rng(k)
    distances = np.sort(rng.random((70, k)) * 10.0 ** rng.integers(-3, 4, (70, 1)), axis=1).astype(dtype)
    wanted = reference.perplexity_rows(distances, np.array(perplexities))
    found = kernels.perplexity_rows(distances, np.array(perplexities), 2)
    assert found.dtype == np.float32
    # A relative error of 1e-5 in the entropy, where it depends on the precision at all.
    assert np.allclose(found, wanted, atol=2e-3 if min(perplexities) == 1 else 2e-4)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)


def test_rows_whose_distances_leave_no_choice_are_uniform_over_the_nearest(kernels):
    equal = np.full((2, 12), 3.0)
    assert np.allclose(kernels.perplexity_rows(equal, np.array([4.0]), 1), 1 / 12)
    twins = np.concatenate([np.zeros(6), np.full(6, 1.0)])[None]  # six equal points, and a perplexity below that
    found = kernels.perplexity_rows(twins, np.array([3.0]), 1)
    assert np.allclose(found[0, :6], 1 / 6, atol=1e-6)
    assert np.allclose(found[0, 6:], 0, atol=1e-6)
    assert np.allclose(kernels.perplexity_rows(np.zeros((1, 5)), np.array([3.0]), 1), 1 / 5)


def test_copies_and_points_next_to_each_other_leave_every_perplexity_what_it_is(kernels):
    # Three copies: a perplexity of 2 is out of reach, and the search for 5 begins where that for 2 has ended.
    copies = np.concatenate([np.zeros(3), np.linspace(1, 2, 5)])[None]
    for perplexities in ([2.0, 5.0], [5.0, 2.0], [2.0, 2.5, 7.0]):
        wanted = reference.perplexity_rows(copies, np.array(perplexities))
        assert np.allclose(kernels.perplexity_rows(copies, np.array(perplexities), 1), wanted, atol=2e-4)
    for near in (1e-3, 1e-6, 1e-9, 1e-12):
        distances = np.concatenate([near * np.linspace(0, 1, 6), np.linspace(1, 2, 5)])[None]
        found = kernels.perplexity_rows(distances, np.array([3.0]), 1)
        assert np.allclose(found, reference.perplexity_rows(distances, np.array([3.0])), atol=2e-4)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (9, 8), (700, 11)])
def test_joint_affinities_equal_the_reference_for_any_number_of_threads(kernels, n, k):
    rng = np.random.default_rng(n)
    neighbors = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], np.int32)
    P = rng.random((n, k)).astype(np.float32)
    results = [kernels.joint_affinity(neighbors, P, 0.25, threads) for threads in (1, 2, 7)]
    begin, columns, values = results[0]
    found = csr_array((values, columns, begin), shape=(n, n))
    assert found.has_canonical_format
    assert np.allclose(found.toarray(), reference.joint_affinity(neighbors, P, 0.25), rtol=1e-6)
    for other in results[1:]:
        assert all(same_bits(np.asarray(a), np.asarray(b)) for a, b in zip(results[0], other, strict=True))


# Forces


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_attraction_and_its_cost_equal_the_reference(kernels, d, law, dtype):
    dense, P = sparse_affinity(150, 13, dtype)
    Y = points(150, d, dtype)
    found = kernels.attraction(P, Y, law, 2)
    assert np.allclose(found, reference.attraction(dense, Y.astype(np.float64), law), **CLOSE[dtype])
    assert same_bits(found, kernels.attraction(P, Y, law, 1))
    cost = kernels.attraction_cost(P, Y, law, 2)
    assert cost == pytest.approx(reference.attraction_cost(dense, Y.astype(np.float64), law), rel=1e-5)
    assert cost == kernels.attraction_cost(P, Y, law, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_field_of_given_pairs_equals_the_reference(kernels, d, law, dtype):
    dense, W = sparse_affinity(150, 13, dtype)
    Y = points(150, d, dtype)
    found, wanted = kernels.pair_field(W, Y, law, 2), reference.pair_field(dense, Y.astype(np.float64), law)
    assert all(np.allclose(a, b, **CLOSE[dtype]) for a, b in zip(found, wanted, strict=True))
    assert all(same_bits(a, b) for a, b in zip(found, kernels.pair_field(W, Y, law, 1), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("charged", [False, True])
def test_the_exact_field_equals_the_reference(kernels, charged, d, law, dtype):
    Y, at = points(1100, d, dtype), points(37, d, dtype, seed=1)
    charges = np.random.default_rng(2).random(1100).astype(dtype) if charged else None
    wanted = reference.exact_field(Y.astype(np.float64), charges, law, at.astype(np.float64))
    found = kernels.exact_field(Y, charges, law, at, None, 2)
    scale = np.abs(wanted[1]).max()
    assert np.allclose(found[0], wanted[0], rtol=CLOSE[dtype]["rtol"])
    assert np.allclose(found[1] / scale, wanted[1] / scale, **CLOSE[dtype])
    one = kernels.exact_field(Y, charges, law, np.ascontiguousarray(at[5:6]), None, 1)
    assert same_bits(one[1], np.ascontiguousarray(found[1][5:6]))
    own = np.arange(0, 1100, 37, dtype=np.int32)
    wanted = reference.exact_field(Y.astype(np.float64), charges, law, Y[own].astype(np.float64), own)
    assert np.allclose(kernels.exact_field(Y, charges, law, Y[own], own, 2)[0], wanted[0], rtol=CLOSE[dtype]["rtol"])


# The grid

SHAPES = {1: ([90], [-20.0], 0.5), 2: ([60, 75], [-9.0, -10.5], 0.3), 3: ([20, 24, 30], [-8.0, -9.0, -9.0], 0.8)}


@pytest.mark.parametrize("charged", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spreading_and_gathering_equal_the_reference(kernels, d, charged):
    shape = SHAPES[d]
    Y = points(300, d, spread=1.5)
    charges = np.random.default_rng(3).random(300).astype(np.float32) if charged else None
    values = kernels.spread(Y, charges, shape, 2)
    assert np.allclose(values, reference.spread(Y, charges, shape), atol=1e-4)
    assert values.sum() == pytest.approx(300 if charges is None else charges.sum(), rel=1e-5)
    assert all(same_bits(values, kernels.spread(Y, charges, shape, threads)) for threads in (1, 3, 8))
    field = np.random.default_rng(4).standard_normal(len(values)).astype(np.float32)
    potential, gradient = kernels.gather(field, shape, Y, 2)
    wanted = reference.gather(field, shape, Y)
    assert np.allclose(potential, wanted[0], atol=1e-4)
    assert np.allclose(gradient, wanted[1], atol=1e-3)


@pytest.mark.parametrize(
    "size", [(5,), (90,), (4, 4), (5, 9), (16, 15), (45, 64), (100, 81), (4, 5, 6), (20, 9, 32), (16, 45, 15)]
)
def test_convolution_equals_the_reference_for_any_number_of_threads(kernels, size):
    kernel = kernel_transform(Law("student"), list(size), 0.4)
    values = np.random.default_rng(5).random(np.prod(size)).astype(np.float32)
    results = [values.copy() for _ in range(3)]
    for result, threads in zip(results, (1, 2, 5), strict=True):
        kernels.Convolution(list(size), kernel).run_inplace(result, threads)
    wanted = reference.convolved(values, size, kernel)
    assert np.allclose(results[0], wanted, atol=2e-6 * np.abs(wanted).max())
    assert same_bits(results[0], results[1])
    assert same_bits(results[0], results[2])


def test_convolutions_of_the_wrong_shape_are_refused(kernels):
    kernel = np.zeros((8, 5), np.float32)
    with pytest.raises(ValueError, match="twice the grid"):
        kernels.Convolution([4, 5], kernel)
    with pytest.raises(ValueError, match="prime factor"):
        kernels.Convolution([7, 4], np.zeros((14, 5), np.float32))
    with pytest.raises(ValueError, match="shape of the grid"):
        kernels.Convolution([4, 4], kernel).run_inplace(np.zeros(15, np.float32), 1)
    with pytest.raises(ValueError, match="law must be"):
        kernels.attraction_cost(sparse_affinity(5, 2, np.float32)[1], points(5, 2), ("cubic", 1.0), 1)


# Steps


@pytest.mark.parametrize("with_gains", [False, True])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_step_equals_the_reference(kernels, d, with_gains):
    rng = np.random.default_rng(6)
    Y, velocity, attraction, repulsion = (rng.standard_normal((9000, d)).astype(np.float32) for _ in range(4))
    weights = rng.random(9000).astype(np.float32)
    gains = (0.02 + rng.random((9000, d))).astype(np.float32) if with_gains else None
    forces, how = (attraction, repulsion, weights), (3.0, 0.5, 0.4, 0.9, 1.5)
    wanted = reference.advance(
        *(None if a is None else a.astype(np.float64) for a in (Y, velocity, gains)), forces, how
    )
    found = []
    for threads in (2, 1):
        state = [None if a is None else a.copy() for a in (Y, velocity, gains)]
        kernels.advance_inplace(*state, forces, how, threads)
        found.append(state)
    for a, b, c in zip(found[0], found[1], wanted, strict=True):
        assert (a is None and c is None) or np.allclose(a, c, atol=1e-5)
        assert a is None or same_bits(a, b)
    assert np.linalg.norm(found[0][1], axis=1).max() <= 1.5 * (1 + 1e-6)


# The grid in use

RATES = {TSNE: "auto", SymmetricSNE: 10.0, SNE: 0.05, ElasticEmbedding: 0.05}


def brief(method, early_iter, max_iter, **more):
    """A model with a classical schedule, and without a way to its strength, which has no early phase either."""
    if method is ElasticEmbedding:
        more["strength"], early_iter = Homotopy(steps=1), 0
    schedule = Classical(early_iter=early_iter, max_iter=max_iter, learning_rate=RATES[method])
    return method(schedule=schedule, **more)


class Counted:
    """How often a fit convolves and makes a kernel for that, and how many pairs it sums one by one, at most at once."""

    def __init__(self, monkeypatch):
        self.runs = self.kernels = self.pairs = 0
        convolution, exact_field = native.kernels.Convolution, native.kernels.exact_field

        class Convolution:
            def __init__(inner, *how):
                inner.own = convolution(*how)

            def run_inplace(inner, *how):
                self.runs += 1
                inner.own.run_inplace(*how)

        def made(*how):
            self.kernels += 1
            return kernel_transform(*how)

        def field(Y, charges, law, at, *how):
            self.pairs = max(self.pairs, len(Y) * len(at))
            return exact_field(Y, charges, law, at, *how)

        monkeypatch.setattr(native.kernels, "Convolution", Convolution)
        monkeypatch.setattr(repulsion, "kernel_transform", made)
        monkeypatch.setattr(native.kernels, "exact_field", field)


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_an_iteration_takes_one_convolution_whose_kernel_is_kept_and_no_sum_over_all_pairs(method, digits, monkeypatch):
    counted = Counted(monkeypatch)
    model = method(repulsion="grid").fit(digits[0])
    fields = 2 if method is SNE else 1  # one more of the charges 1 / Z_i
    assert 0 <= counted.runs - fields * model.n_iter_ <= 5 * fields  # the start, the end, and the frozen points
    assert 0 < counted.kernels < model.n_iter_ / 8
    assert counted.pairs < 600**2 / 20
    method(repulsion="exact", schedule=SHORT).fit(digits[0])
    assert counted.pairs == 600**2  # which would have been seen


def test_sne_sums_the_pairs_of_points_far_from_all_others_alone(digits, monkeypatch):
    counted = Counted(monkeypatch)
    start = points(600, 2)
    start[:5] += 50 * np.arange(1, 6)[:, None]
    brief(SNE, 0, 10, repulsion="grid", init=start).fit(digits[0])
    assert 5 * 600 <= counted.pairs < 20 * 600


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("method", FORCE_METHODS)
def test_a_fit_on_a_grid_of_any_dimensions_has_the_loss_and_places_of_exact_sums(method, d, digits):
    X, new = digits[0][:400], digits[0][400:430]
    grid = brief(method, 50, 50, n_components=d, repulsion="grid").fit(X)
    exact = brief(method, 0, 0, n_components=d, repulsion="exact", init=grid.embedding_).fit(X)
    assert grid.loss_ == pytest.approx(exact.loss_, rel=0.02 if method is TSNE else 0.001)
    placed = grid.transform(new)
    assert placed.shape == (30, d)
    assert np.median(np.abs(placed - exact.transform(new))) < 0.02


@pytest.mark.parametrize(("method", "d"), [(TSNE, 1), (SNE, 1), (SymmetricSNE, 3), (ElasticEmbedding, 3)])
def test_grid_and_exact_end_at_the_same_loss_in_one_and_three_dimensions(method, d, digits):
    grid, exact = (method(n_components=d, repulsion=engine).fit(digits[0][:300]) for engine in ("grid", "exact"))
    assert grid.loss_ == pytest.approx(exact.loss_, rel=0.03)


@pytest.mark.parametrize("method", FORCE_METHODS)
def test_many_points_get_the_same_bits_from_any_number_of_threads(method):
    """So many that every kernel has several blocks to share out."""
    X, new = cloud(20_000, 5, dtype=np.float32), cloud(2000, 5, seed=1, dtype=np.float32)
    settings = {"perplexity": 5.0, "repulsion": "grid", "init": 6 * cloud(20_000, 2)}
    models = [brief(method, 0, 4, n_jobs=threads, **settings).fit(X) for threads in (1, 2, 3, 8)]
    placed = [model.transform(new) for model in models]
    assert all(same_bits(models[0].embedding_, other.embedding_) for other in models[1:])
    assert all(same_bits(placed[0], other) for other in placed[1:])
    assert not np.allclose(models[0].embedding_, settings["init"], atol=1e-3)
