"""The order of many numbers: NumPy's own, bit for bit, and an end at Ctrl-C between its pieces."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import cloud, same_bits
from lowfold import MDS
from lowfold.backend.stopping import Stop, Stopped, stoppable
from lowfold.stress import order
from lowfold.stress.order import group_begins, group_means, run_ends, stable_order, taken

RNG = np.random.default_rng(0)
N = 5000

VALUES = {
    "smooth": RNG.standard_normal(N) ** 2,
    "ties": RNG.integers(0, 7, N).astype(float),
    "one value": np.ones(N),
    "mostly one value": np.where(RNG.random(N) < 0.9, 0.5, RNG.random(N)),
    "rising": np.arange(N) / 3,
    "falling": -np.arange(N) / 3,
    "infinities": np.where(RNG.random(N) < 0.3, np.inf, np.where(RNG.random(N) < 0.3, -np.inf, RNG.random(N))),
    "missing": np.where(RNG.random(N) < 0.4, np.nan, RNG.integers(0, 50, N)),
    "zeros of both signs": np.where(RNG.random(N) < 0.5, -0.0, RNG.integers(0, 2, N)),
    "tiny": RNG.integers(0, 4, N) * 5e-324,
    "huge": RNG.choice([1.0, np.finfo(np.float32).max], N),
}


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces and buckets so small that a few thousand numbers need many."""
    monkeypatch.setattr(order, "PIECE", 300)
    monkeypatch.setattr(order, "BUCKET", 200)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", VALUES)
def test_the_order_in_pieces_is_numpys_stable_one(name, dtype, small_pieces):
    values = VALUES[name].astype(dtype)
    found = stable_order(values)
    assert same_bits(found, np.argsort(values, kind="stable"))
    assert same_bits(taken(values, found), values[found])


@given(values=st.lists(st.floats(0, 3, width=16), max_size=60))
def test_few_numbers_in_many_buckets_have_the_same_order_too(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "PIECE", 7)
        patch.setattr(order, "BUCKET", 4)
        numbers = np.array(values, np.float32)
        assert same_bits(stable_order(numbers), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("name", ["smooth", "ties", "one value", "mostly one value", "tiny", "huge"])
def test_groups_of_equal_numbers_begin_where_the_numbers_rise(name, small_pieces):
    rising = np.sort(VALUES[name])
    for values in (rising, rising[:301], rising[:1], rising[:0]):
        assert same_bits(group_begins(values), np.unique(values, return_index=True)[1])


def test_more_buckets_than_can_be_counted_are_never_made(monkeypatch):
    monkeypatch.setattr(order, "BUCKET", 2)
    monkeypatch.setattr(order, "MOST_BUCKETS", 10)
    values = VALUES["smooth"]
    assert same_bits(stable_order(values), np.argsort(values, kind="stable"))
    assert 2 * 2**14 + 1 < 2**16


@pytest.mark.parametrize("step", ["_buckets", "_dealt"])
def test_ctrl_c_is_heard_before_the_order_is_complete(step, small_pieces, monkeypatch):
    work, pieces, seen = getattr(order, step), order._pieces, []

    def interrupted(n):
        for number, piece in enumerate(pieces(n)):
            seen.append(number)
            if number == 3:
                signal.raise_signal(signal.SIGINT)
            yield piece

    def within(*given):
        monkeypatch.setattr(order, "_pieces", interrupted)
        return work(*given)

    monkeypatch.setattr(order, step, within)
    with pytest.raises(KeyboardInterrupt):
        stable_order(VALUES["smooth"])
    assert seen == [0, 1, 2, 3]


def test_a_fit_that_is_asked_to_end_does_so_between_two_buckets(small_pieces, monkeypatch):
    stop, sorted_parts, argsort = Stop(), [], np.argsort

    def asked(values, kind):
        sorted_parts.append(len(values))
        if values.dtype != np.uint16:
            stop.ask()
        return argsort(values, kind=kind)

    monkeypatch.setattr(np, "argsort", asked)
    with stoppable(stop), pytest.raises(Stopped):
        stable_order(VALUES["smooth"])
    assert sum(sorted_parts) < 1.2 * N  # all were dealt, and the first bucket was sorted


def test_a_nonmetric_fit_has_the_same_bits_in_small_pieces(monkeypatch):
    X, weights = cloud(60), np.abs(cloud(60, 60))
    weights += weights.T
    maps = []
    for size in (order.BUCKET, 100):
        monkeypatch.setattr(order, "PIECE", size)
        monkeypatch.setattr(order, "BUCKET", size)
        maps.append(MDS(scaling="nonmetric", weights=weights).fit_transform(X))
    assert same_bits(*maps)


@pytest.mark.parametrize("name", ["smooth", "ties", "one value", "mostly one value"])
def test_means_of_groups_in_pieces_are_those_of_all_at_once(name, small_pieces):
    rising = np.sort(VALUES[name])
    begin, numbers = group_begins(rising), VALUES["smooth"]
    expected = np.add.reduceat(numbers, begin) / np.diff(begin, append=N)
    assert same_bits(group_means(numbers, begin), expected)


@pytest.mark.parametrize("name", ["smooth", "ties", "one value", "mostly one value", "rising"])
def test_runs_of_equal_numbers_end_where_a_neighbour_differs(name, small_pieces):
    for values in (np.sort(VALUES[name]), VALUES[name][:301], VALUES[name][:1], VALUES[name][:0]):
        before, after = np.r_[np.nan, values[:-1]], np.r_[values[1:], np.nan]
        expected = np.flatnonzero((values != before[: len(values)]) | (values != after[: len(values)]))
        assert same_bits(run_ends(values), expected)
