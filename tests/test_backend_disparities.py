"""Disparities: the kernel does what its reference says, which does what SciPy's isotonic regression does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from conftest import same_bits
from lowfold.backend.packed import Packed
from lowfold.backend.reference import stress as reference

TIES = ["primary", "secondary"]


def problem(n, d, dtype, *, longest, weighted, share=1.0):
    """(Y, order, an empty packed matrix): some of the pairs of n points by lot, in groups of up to `longest`."""
    rng = np.random.default_rng((n, d, longest))
    Y = rng.standard_normal((n, d)).astype(dtype)
    Y[n // 3 :][:2] = Y[0]  # points in one place
    first, second = (part.astype(np.int32) for part in np.triu_indices(n, 1))
    chosen = rng.permutation(len(first))[: max(1, int(share * len(first)))]
    begin = np.cumsum(np.append(0, rng.integers(1, longest + 1, size=len(chosen))))
    weights = 0.1 + rng.random(len(chosen)) if weighted else None
    order = first[chosen], second[chosen], begin[begin < len(chosen)].astype(np.int64), weights
    return Y, order, Packed(lambda i, j: np.full((i.stop - i.start, j.stop - j.start), np.nan), n, dtype, 1)


def run(kernels, Y, order, packed, ties, threads=2):
    fitted, targets = np.empty(len(order[0])), packed.entries.copy()
    return fitted, targets, kernels.disparities_inplace(fitted, targets, Y, order, ties, threads)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("longest", [1, 4, 3000])
def test_disparities_equal_the_reference_and_stand_where_their_pairs_are(kernels, longest, weighted, ties, dtype):
    for n, d in [(2, 1), (3, 2), (65, 2), (200, 5)]:
        Y, order, packed = problem(n, d, dtype, longest=longest, weighted=weighted, share=0.8)
        apart, wanted = reference.disparities(Y, order, ties)
        w = np.ones(len(apart)) if order[3] is None else order[3]
        sums = (w * apart**2).sum(), (w * wanted**2).sum(), (w * (apart - wanted) ** 2).sum()
        if sums[0] == 0:
            continue
        fitted, targets, found = run(kernels, Y, order, packed, ties)
        close = 1e-5 if dtype == np.float32 else 1e-12
        assert np.allclose(found, sums, rtol=0, atol=close * sums[0])
        assert np.allclose(fitted, wanted * sums[0] / sums[1], rtol=0, atol=10 * close)
        packed.entries[:] = targets
        dense = packed.dense()
        assert same_bits(dense[order[0], order[1]], fitted.astype(dtype))
        assert np.isnan(dense).sum() == n * n - 2 * len(order[0])  # what is no pair stays as it was


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("longest", [1, 7, 40_000])
def test_any_number_of_threads_gives_the_same_bits(kernels, longest, ties):
    Y, order, packed = problem(300, 2, np.float32, longest=longest, weighted=True)
    first = run(kernels, Y, order, packed, ties, 1)
    for threads in (2, 3, 8):
        again = run(kernels, Y, order, packed, ties, threads)
        assert same_bits(again[0], first[0])
        assert same_bits(again[1], first[1])
        assert again[2] == first[2]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_reference_is_isotonic_regression(weighted):
    Y, order, _ = problem(60, 2, np.float64, longest=1, weighted=weighted)
    apart, fitted = reference.disparities(Y, order, "primary")
    assert np.allclose(fitted, isotonic_regression(apart, weights=order[3]).x, atol=1e-12)
    tied = order[0], order[1], order[2][::5], order[3]
    apart, fitted = reference.disparities(Y, tied, "primary")
    group = np.repeat(np.arange(len(tied[2])), np.diff(tied[2], append=len(apart)))
    by_distance = np.lexsort((apart, group))
    w = None if order[3] is None else order[3][by_distance]
    assert np.allclose(fitted[by_distance], isotonic_regression(apart[by_distance], weights=w).x, atol=1e-12)
    _, one = reference.disparities(Y, tied, "secondary")
    assert (np.diff(one) >= 0).all()
    assert all(len(set(one[group == g])) == 1 for g in range(group[-1] + 1))


def test_pairs_that_cannot_be_are_refused(kernels):
    Y, (first, second, begin, weights), packed = problem(20, 2, np.float64, longest=3, weighted=True)
    for order, text in [
        ((second, first, begin, weights), "i < j"),
        ((first, second + np.int32(20), begin, weights), "that exist"),
        ((first - np.int32(1), second, begin, weights), "that exist"),
        ((first[1:].copy(), second, begin, weights), "two points"),
        ((first, second, begin, weights[1:].copy()), "a weight"),
        ((first, second, begin[1:].copy(), weights), "begin at pair 0"),
        ((first, second, begin[::-1].copy(), weights), "begin at pair 0"),
        ((first, second, np.append(begin, len(first)), weights), "have a pair each"),
    ]:
        fitted = np.empty(len(first))
        with pytest.raises(ValueError, match=text):
            kernels.disparities_inplace(fitted, packed.entries.copy(), Y, order, "primary", 1)
    with pytest.raises(ValueError, match="strips"):
        kernels.disparities_inplace(
            np.empty(len(first)), packed.entries[1:].copy(), Y, (first, second, begin, None), "primary", 1
        )
    with pytest.raises(ValueError, match="ties"):
        run(kernels, Y, (first, second, begin, None), packed, "none")


def test_points_in_one_place_have_no_disparities(kernels):
    _, order, packed = problem(5, 2, np.float64, longest=2, weighted=False)
    assert run(kernels, np.zeros((5, 2)), order, packed, "primary")[2][:2] == (0.0, 0.0)
