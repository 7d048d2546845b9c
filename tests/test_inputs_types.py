"""A type becomes the smallest float that holds its values; what is no number is refused."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from scipy.sparse import coo_array, csr_array

from conftest import cloud, same_bits
from lowfold import NeighborGraph, inputs


def read(X):
    return inputs.read(NeighborGraph(), X, NeighborGraph.accepts, fitting=True)


def half_empty():
    return np.where(cloud(30, 8, seed=1) > 0, cloud(30, 8), 0)


FLOAT32 = ("float16", "float32", "uint8", "int8", "uint16", "int16", "bool")
FLOAT64 = ("float64", "longdouble", "int32", "uint32", "int64", "uint64")


def values_of(dtype):
    """Any value of an integer type; of a float type the whole numbers that each of them holds."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind == "f":
        return st.integers(-2048, 2048).map(float)
    return st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max)


@pytest.mark.parametrize("name", FLOAT32 + FLOAT64)
@given(data=st.data())
def test_a_type_becomes_the_smallest_float_that_holds_its_values(name, data):
    X = data.draw(st_numpy.arrays(name, (4, 3), elements=values_of(np.dtype(name))))
    values = read(X).values
    assert values.dtype == (np.float32 if name in FLOAT32 else np.float64)
    assert np.array_equal(values, X.astype(values.dtype))
    if name not in ("int64", "uint64"):  # beyond 2^53 not even float64 holds every integer
        assert np.array_equal(values.astype(X.dtype), X)


@pytest.mark.parametrize("name", FLOAT32 + FLOAT64[:1] + FLOAT64[2:])
def test_sparse_rows_follow_the_same_rule(name):
    X = (10 * half_empty()).clip(0, None).astype(name)
    S = coo_array(X.astype(np.float32)) if name == "float16" else csr_array(X)  # SciPy has no half precision
    values = read(S).values
    assert values.dtype == (np.float32 if name in FLOAT32 else np.float64)
    assert np.array_equal(values.toarray(), X.astype(values.dtype))


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", ["float32", "uint8", "int16", "int64", "float64"])
def test_a_table_follows_the_same_rule_as_an_array(make, name):
    X = (10 * cloud()).clip(0, None).astype(name)
    assert same_bits(read(make(X)).values, read(X).values)


def test_a_table_of_mixed_types_takes_the_type_that_holds_all_columns():
    small, large = np.arange(5, dtype=np.int16), np.arange(5, dtype=np.int64)
    for make in (pandas.DataFrame, polars.DataFrame):
        assert read(make({"a": small, "b": large})).values.dtype == np.float64
        assert read(make({"a": small, "b": small.astype(np.float32)})).values.dtype == np.float32


def test_rows_in_order_are_not_copied():
    X = cloud()
    assert np.shares_memory(read(X).values, X)
