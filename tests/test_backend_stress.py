"""Every kernel of the stress family does what its NumPy reference says, on every instruction set, for any threads."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import same_bits
from lowfold.backend.packed import Packed
from lowfold.backend.reference import stress as reference

LAWS = [("unit", 1.0), ("inverse", 0.25), ("inverse", np.inf), ("given", 1.0)]
SIZES = [1, 2, 63, 64, 65, 129, 700]  # around the side of a tile, and above the columns that are summed at once
# float32: a pair is right to some roundings of 6e-8 of the largest distance, and sums have some hundred terms.
CLOSE = {np.float32: 3e-5, np.float64: 1e-11}


def problem(n, d, dtype, *, missing=False, seed=0):
    """Rows of which some are equal, their distances, an embedding in which some points lie together, weights."""
    rng = np.random.default_rng((seed, n))
    X, Y = rng.standard_normal((n, 7)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)
    X[n // 2 :][:3], Y[n // 3 :][:2] = X[0], Y[0]
    D = reference.cross_distances(X, X).astype(dtype)
    W = rng.random((n, n)).astype(dtype)
    W = W + W.T
    if missing:
        gaps = rng.random((n, n)) < 0.3
        D[gaps | gaps.T] = np.nan
        W[W < 0.4] = 0
    return X, D, Y, W


def agrees(found, wanted, dtype):
    scale = max(np.abs(wanted[0]).max(initial=0.0), np.abs(wanted[1]).max(initial=0.0), abs(wanted[2]), 1e-30)
    return all(np.allclose(a / scale, b / scale, rtol=0, atol=CLOSE[dtype]) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_stress_and_gradient_equal_the_reference(kernels, d, missing, law, dtype):
    for n in SIZES:
        _, D, Y, W = problem(n, d, dtype, missing=missing)
        weights = W if law[0] == "given" else None
        wanted = reference.stress_of_matrix(D, weights, Y, law)
        found = kernels.stress_of_matrix(D, weights, Y, law, 2)
        assert agrees(found, wanted, dtype), n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
def test_a_matrix_its_packed_half_and_rows_give_the_same_bits_for_any_number_of_threads(kernels, law, dtype):
    for n in (65, 2300):
        X, _, Y, W = problem(n, 2, dtype)
        weights = W if law[0] == "given" else None
        D = kernels.cross_distances(X, X, 2)
        packed = Packed(lambda i, j, D=D: D[i, j], n, dtype, 1).entries
        first = kernels.stress_of_matrix(D, weights, Y, law, 1)
        for threads in (1, 2, 3, 8):
            for found in (
                kernels.stress_of_matrix(D, weights, Y, law, threads),
                kernels.stress_of_packed(packed, weights, Y, law, threads),
                kernels.stress_of_rows(X, weights, Y, law, threads),
            ):
                assert all(same_bits(np.asarray(a), np.asarray(b)) for a, b in zip(found, first, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
def test_the_gradient_is_that_of_the_stress_by_finite_differences(kernels, law, dtype):
    _, D, Y, W = problem(40, 2, np.float64, missing=True)
    Y[13:] += 0.1  # nobody lies together: there the stress has a kink
    Y[14:] -= 0.03
    weights = W if law[0] == "given" else None

    def stress(Y):
        return kernels.stress_of_matrix(D, weights, Y, law, 1)[1].sum() / 2

    kept = weights.astype(dtype) if weights is not None else None
    gradient = 2 * kernels.stress_of_matrix(D.astype(dtype), kept, Y.astype(dtype), law, 1)[0]
    step = 1e-6
    for i, p in [(0, 0), (5, 1), (39, 0), (20, 1)]:
        moved = np.zeros_like(Y)
        moved[i, p] = step
        slope = (stress(Y + moved) - stress(Y - moved)) / (2 * step)
        assert slope == pytest.approx(gradient[i, p], rel=1e-4 if dtype == np.float32 else 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [1, 3, 50])
def test_distances_equal_the_reference_and_those_of_equal_rows_are_zero(kernels, depth, dtype):
    rng = np.random.default_rng(depth)
    A, B = (1e3 + rng.standard_normal((n, depth)).astype(dtype) for n in (75, 1100))
    A, B = A.astype(dtype), B.astype(dtype)
    B[100] = A[3]
    found = kernels.cross_distances(A, B, 2)
    assert np.allclose(found, reference.cross_distances(A, B), rtol=1e-5)
    assert found[3, 100] == 0
    alone = np.vstack([kernels.cross_distances(A[i : i + 1], B, 1) for i in range(len(A))])
    assert same_bits(alone, found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_new_points_come_to_rest_where_the_reference_would_leave_them_and_each_by_itself(kernels, d, law, dtype):
    rng = np.random.default_rng(d)
    Y, new = rng.standard_normal((70, d)).astype(dtype), rng.standard_normal((9, d))
    deltas = (reference.cross_distances(new, Y) * (1 + 0.1 * rng.random((9, 70)))).astype(dtype)
    deltas[:, ::7] = np.nan
    weights = rng.random((9, 70)).astype(dtype) if law[0] == "given" else None
    start = new + 0.3
    found = kernels.placed_by_stress(start, deltas, weights, Y, law, 2)
    # The stress is flat at its minimum: it is known to more digits than the place.
    wanted = reference.placed_by_stress(found[0], deltas, weights, Y, law, steps=100)
    assert np.allclose(found[1], wanted[1], rtol=1e-4 if dtype == np.float32 else 1e-7)
    assert np.allclose(found[0], wanted[0], atol=2e-3 if dtype == np.float32 else 1e-4)
    if d == 2 and dtype == np.float64:  # on a line the minima are many, and which is found a matter of the steps
        wanted = reference.placed_by_stress(start, deltas, weights, Y, law, steps=1000)
        assert np.allclose(found[0], wanted[0], atol=1e-4)
    for i in range(9):
        own = weights[i : i + 1] if weights is not None else None
        alone = kernels.placed_by_stress(start[i : i + 1], deltas[i : i + 1], own, Y, law, 1)
        assert same_bits(alone[0], found[0][i : i + 1])
        assert alone[1][0] == found[1][i]


def test_kernels_refuse_arrays_that_do_not_go_together(kernels):
    _, D, Y, W = problem(10, 2, np.float64)
    for call in (
        lambda: kernels.stress_of_matrix(D[:5], None, Y, ("unit", 1.0), 1),
        lambda: kernels.stress_of_packed(D[0], None, Y, ("unit", 1.0), 1),
        lambda: kernels.stress_of_matrix(D, W, Y, ("unit", 1.0), 1),
        lambda: kernels.stress_of_matrix(D, None, Y, ("given", 1.0), 1),
        lambda: kernels.stress_of_matrix(D, None, Y, ("none", 1.0), 1),
        lambda: kernels.cross_distances(D, D[:, :3].copy(), 1),
        lambda: kernels.placed_by_stress(Y, D[:, :3].copy(), None, Y, ("unit", 1.0), 1),
    ):
        with pytest.raises(ValueError, match=r"must|needs|belong"):
            call()


def test_rows_of_a_packed_matrix_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    A = rng.random((200, 200))
    A = A + A.T
    packed = Packed(lambda i, j: A[i, j], 200, np.float64, 2)
    for part in (slice(0, 200), slice(0, 1), slice(63, 65), slice(64, 128), slice(150, 200), slice(10, 190)):
        assert same_bits(packed.rows(part), np.ascontiguousarray(A[part]))
