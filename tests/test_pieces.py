"""Work in pieces: as high as their time allows, and with results that do not depend on it."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import cloud, same_bits
from lowfold import build_index
from lowfold.backend import pieces, stopping
from test_neighbors_metrics import NAMES, rows_for

pytestmark = pytest.mark.filterwarnings("ignore:Data was converted to boolean")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by what is added to it."""
    at = [0.0]
    monkeypatch.setattr(pieces.time, "perf_counter", lambda: at[0])
    return at


@pytest.mark.parametrize("cost", [1e-6, 1e-3, 0.03, 5.0])
def test_a_piece_has_as_many_rows_as_take_a_moment_or_one(cost, clock):
    seen = []

    def work(rows):
        seen.append(rows.stop - rows.start)
        clock[0] += cost * seen[-1]

    pieces.in_timed_pieces(work, 3000, threads=1, most=500)
    assert sum(seen) == 3000
    assert seen[0] == 1
    most = max(1, min(500, round(pieces.MOMENT / cost)))
    assert 0.9 * most <= max(seen) <= most


def test_rows_that_grow_dearer_make_pieces_lower_again(clock):
    seen = []

    def work(rows):
        seen.append(rows.stop - rows.start)
        clock[0] += seen[-1] * (1e-3 if rows.start < 1000 else 0.05)

    pieces.in_timed_pieces(work, 1400, threads=1, most=500)
    assert 90 <= max(seen) <= 100
    assert max(seen[-20:]) <= 2


@pytest.mark.parametrize("threads", [1, 3])
def test_timed_pieces_cover_all_rows_once(threads):
    count = np.zeros(5000, int)

    def work(rows):
        count[rows] += 1

    pieces.in_timed_pieces(work, len(count), threads, most=64)
    assert (count == 1).all()


def test_of_several_failures_the_first_rows_own_is_raised():
    behind = threading.Event()

    def work(rows):
        if rows.start:
            behind.set()
        else:
            behind.wait(10)
        raise ValueError(f"row {rows.start}")

    with pytest.raises(ValueError, match="row 0"):
        pieces.in_pieces(work, 8, threads=2, height=1)


def test_a_stop_is_heard_within_a_piece_on_the_fits_own_thread():
    stop = stopping.Stop()

    def work(rows):
        stop.ask()
        pieces.check()

    with stopping.stoppable(stop), pytest.raises(stopping.Stopped):
        pieces.in_pieces(work, 1, threads=1)


def asked_for(index, monkeypatch):
    """How many rows scikit-learn's search is given at once."""
    sizes, search = [], index._search.kneighbors
    monkeypatch.setattr(index._search, "kneighbors", lambda X, k: sizes.append(X.shape[0]) or search(X, k))
    return sizes


@pytest.mark.parametrize("metric", NAMES)
def test_neighbours_have_the_same_bits_whatever_a_metric_costs(metric, monkeypatch):
    index = build_index(rows_for(metric, 120), metric=metric)
    found = index.query(None, 5)
    monkeypatch.setattr(pieces, "MOMENT", 0.0)
    sizes = asked_for(index, monkeypatch) if hasattr(index, "_search") else [1]
    one_by_one = index.query(None, 5)
    assert max(sizes) == 1
    assert same_bits(found.distances, one_by_one.distances)
    assert same_bits(found.indices, one_by_one.indices)


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "cosine"])
def test_neighbours_of_sparse_rows_have_the_same_bits_whatever_they_cost(metric, monkeypatch):
    X = cloud(120, 9)
    index = build_index(csr_array(np.where(X > 0.5, X, 0)), metric=metric)
    found = index.query(None, 5)
    monkeypatch.setattr(pieces, "MOMENT", 0.0)
    one_by_one = index.query(None, 5)
    assert same_bits(found.distances, one_by_one.distances)
    assert same_bits(found.indices, one_by_one.indices)


def test_ctrl_c_that_another_thread_receives_is_heard_by_who_waits_for_work():
    ended = threading.Event()

    def work(rows):
        if rows.start == 0:
            _thread.interrupt_main()  # wakes nobody
        while not ended.wait(0.01):
            pieces.check()

    enough = threading.Timer(30, ended.set)
    enough.start()
    with pytest.raises(KeyboardInterrupt):
        pieces.in_pieces(work, 2, threads=2, height=1)
    assert not ended.is_set()
    enough.cancel()
