"""What the contract says of rows holds for every kind of data that an estimator takes, now and later."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
from scipy.sparse import issparse

import lowfold
from conftest import ESTIMATORS, cloud, embed, model_of, place, same_bits
from given import given_as, told_of
from lowfold import inputs

TAKEN = [(cls, kind) for cls in ESTIMATORS for kind in inputs.KINDS if kind in cls.accepts and kind != inputs.ROWS]
OF_NEIGHBORS = {(lowfold.DiffusionMap, inputs.GRAPH): {"graph": lowfold.Nearest(k=9)}}

every_kind = pytest.mark.parametrize(("cls", "kind"), TAKEN, ids=[f"{cls.__name__}-{kind[:24]}" for cls, kind in TAKEN])


def model_for(cls, kind, **changes):
    make = cls if kind == inputs.AFFINITY else functools.partial(model_of, cls)  # affinities know their neighbours
    return make(**told_of(kind), **OF_NEIGHBORS.get((cls, kind), {}), **changes)


def points(n=60, *, seed=0, dtype=np.float64):
    """None of which is without a positive coordinate, so that none is a sparse row of nothing."""
    X = cloud(n, 5, seed=seed, dtype=dtype)
    X[:, 0] = np.abs(X[:, 0])
    return X


def arrays_of(data):
    return (data.data, data.indices, data.indptr) if issparse(data) else (data,)


def locked(data):
    for array in arrays_of(data):
        array.setflags(write=False)
    return data


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_data_of_every_kind_are_embedded_in_their_own_type_and_left_as_they_were(cls, kind, dtype):
    X, new = points(dtype=dtype), points(7, seed=1, dtype=dtype)
    data, beside = locked(given_as(kind, X, X)), locked(given_as(kind, new, X))
    before = [array.tobytes() for array in arrays_of(data) + arrays_of(beside)]
    model = model_for(cls, kind)
    Y, placed = embed(model, data), place(model, beside)
    assert (Y.dtype, placed.dtype) == (dtype, dtype)
    assert np.isfinite(Y).all()
    assert np.isfinite(placed).all()
    assert len(placed) == 7
    assert [array.tobytes() for array in arrays_of(data) + arrays_of(beside)] == before


@every_kind
def test_new_data_of_every_kind_are_placed_one_by_one_by_a_stored_model_too(cls, kind):
    X, new = points(), points(9, seed=1)
    model = model_for(cls, kind).fit(given_as(kind, X, X))
    beside = given_as(kind, new, X)
    together = place(model, beside)
    assert same_bits(together, np.concatenate([place(model, beside[i : i + 1]) for i in range(9)]))
    assert same_bits(together, place(model, beside[::-1])[::-1].copy())
    assert same_bits(together, place(pickle.loads(pickle.dumps(model)), beside))


@every_kind
def test_data_of_every_kind_have_the_same_bits_for_any_number_of_threads(cls, kind):
    X, new = points(300), points(40, seed=1)
    data, beside = given_as(kind, X, X), given_as(kind, new, X)
    models = [model_for(cls, kind, n_jobs=n_jobs) for n_jobs in (1, 2, 3, 8)]
    embedded = [embed(model, data) for model in models]
    assert all(same_bits(Y, embedded[0]) for Y in embedded)
    placed = [place(model, beside) for model in models]
    assert all(same_bits(Y, placed[0]) for Y in placed)


@every_kind
def test_training_data_of_every_kind_get_their_own_stored_coordinates(cls, kind):
    if cls is lowfold.NeighborGraph:
        pytest.skip("it has no coordinates")
    X = points()
    data = given_as(kind, X, X)
    model = model_for(cls, kind).fit(data)
    assert same_bits(model.transform(data), model.embedding_)
    assert same_bits(model.transform(data[5:8]), model.embedding_[5:8])
