"""A type becomes the smallest float that holds its values; what is no number is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from scipy.sparse import coo_array, csr_array

from conftest import ESTIMATORS, cloud, embed, model_of, name_of, place, same_bits
from lowfold import DataError, NeighborGraph, inputs


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


WIDE = 2**24 + 1  # the first whole number that float32 does not hold

# Columns of types that NumPy has not, or has by another name; each holds WIDE.
WIDE_COLUMNS = {
    "category": lambda values: pandas.Series(values, dtype="category"),
    "arrow": lambda values: pandas.Series(values, dtype="double[pyarrow]"),
    "arrow decimal": lambda values: pandas.Series(
        [Decimal(int(v)) for v in values], dtype=pandas.ArrowDtype(pyarrow.decimal128(12, 0))
    ),
    "nullable": lambda values: pandas.Series(values, dtype="Int64"),
    "sparse": lambda values: pandas.Series(values, dtype="Sparse[int64]"),
    "objects": lambda values: pandas.Series(list(values), dtype=object),
    "polars decimal": lambda values: polars.Series([Decimal(int(v)) for v in values], dtype=polars.Decimal(12, 0)),
}


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns")
@pytest.mark.parametrize("kind", WIDE_COLUMNS)
def test_a_column_of_an_unusual_type_beside_one_of_float32_loses_no_digit(kind):
    narrow, wide = np.arange(5, dtype=np.float32), np.arange(WIDE, WIDE + 5)
    table = polars.DataFrame if kind.startswith("polars") else pandas.DataFrame
    values = read(table({"a": narrow, "b": WIDE_COLUMNS[kind](wide)})).values
    assert values.dtype == np.float64
    assert np.array_equal(values, np.column_stack([narrow, wide]))


@pytest.mark.parametrize("name", ["Float32", "float[pyarrow]", "UInt8", "uint8[pyarrow]", "boolean", "bool[pyarrow]"])
def test_columns_that_stand_for_a_type_of_numpy_follow_its_rule(name):
    values = (cloud() > 0).astype(np.float32)
    table = pandas.DataFrame(values > 0 if "bool" in name else values).astype(name)
    assert same_bits(read(table).values, values)
    assert same_bits(read(polars.DataFrame(values > 0)).values, values)


DAY = datetime.date(2024, 2, 29)
DATES = {
    "array": np.full((5, 2), "2024-02-29", "datetime64[D]"),
    "durations": np.full((5, 2), 7, "timedelta64[s]"),
    "objects": np.full((5, 2), np.datetime64("2024-02-29"), object),
    "a single object": np.array([[1.0, 2.0], [3.0, np.timedelta64(1, "s")]], object),
    "lists": [[np.datetime64("2024-02-29"), 1.0]] * 5,
    "lists of dates": [[DAY, 1.0]] * 5,
    "polars Date": polars.DataFrame({"a": [DAY] * 5}),
    "polars Time": polars.DataFrame({"a": [datetime.time(1, 2)] * 5}),
    "polars Duration": polars.DataFrame({"a": [datetime.timedelta(1)] * 5}),
    "polars Datetime": polars.DataFrame({"a": [datetime.datetime(2024, 2, 29)] * 5}),
    "pandas": pandas.DataFrame({"a": pandas.to_datetime([DAY] * 5)}),
    "pandas with a zone": pandas.DataFrame({"a": pandas.to_datetime([DAY] * 5).tz_localize("UTC")}),
    "pandas category": pandas.DataFrame({"a": pandas.to_datetime([DAY] * 5)}).astype("category"),
    "arrow duration": pandas.DataFrame({"a": pandas.Series([1] * 5, dtype="duration[ns][pyarrow]")}),
    "arrow date": pandas.DataFrame({"a": pandas.Series([DAY] * 5, dtype="date32[pyarrow]")}),
    "arrow table": pyarrow.table({"a": pyarrow.array([DAY] * 5)}),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_and_times_are_refused_however_they_come(kind):
    with pytest.raises(DataError, match=r"X holds dates or times, .* Convert them to numbers in a unit"):
        read(DATES[kind])


NUMERALS = [["1.5", "2"], ["3", "4"]]
TEXT = {
    "array": np.array(NUMERALS),
    "bytes": np.array(NUMERALS, "S"),
    "objects": np.array(NUMERALS, object),
    "a single object": np.array([[1.0, 2.0], [3.0, "4"]], object),
    "lists": NUMERALS,
    "mixed lists": [[1.0, "2"], [3.0, "4"]],
    "pandas": pandas.DataFrame(NUMERALS),
    "pandas string": pandas.DataFrame(NUMERALS).astype("string"),
    "pandas category": pandas.DataFrame(NUMERALS).astype("category"),
    "polars": polars.DataFrame(NUMERALS),
    "polars categorical": polars.DataFrame(NUMERALS).cast(polars.Categorical),
    "polars binary": polars.DataFrame({"a": [b"1", b"2"]}),
}


@pytest.mark.parametrize("kind", TEXT)
def test_text_is_refused_also_where_it_spells_numbers(kind):
    with pytest.raises(DataError, match=r"X holds text .* Convert it first, as with X\.astype\(float\)"):
        read(TEXT[kind])


def test_numbers_that_come_as_objects_are_numbers():
    X = cloud()
    assert same_bits(read(X.astype(object)).values, X)
    assert same_bits(read([[Decimal("1.5"), 2], [3, 4]]).values, np.array([[1.5, 2], [3, 4]]))


# Tables whose columns are all sparse


def sparse_table(X, fill=0):
    return pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).astype(pandas.SparseDtype(X.dtype, fill))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64], ids=["float32", "float64", "int64"])
def test_a_sparse_table_is_read_as_sparse_rows(dtype):
    X = (100 * half_empty()).astype(dtype)
    data = read(sparse_table(X))
    assert data.kind == inputs.SPARSE_ROWS
    assert same_bits(data.values.toarray(), read(X).values)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=name_of)
def test_a_sparse_table_is_as_good_as_a_sparse_matrix_or_refused_with_a_remedy(cls):
    X = half_empty()
    table, model = sparse_table(X), model_of(cls)
    if inputs.SPARSE_ROWS not in cls.accepts:
        with pytest.raises(DataError, match=r"given sparse rows .*X\.sparse\.to_dense\(\)"):
            model.fit(table)
        return
    assert same_bits(embed(model, table), embed(model_of(cls), csr_array(X)))
    assert list(model.feature_names_in_) == list(table.columns)
    assert same_bits(place(model, table), place(model_of(cls).fit(csr_array(X)), csr_array(X)))


def test_a_sparse_table_that_leaves_out_anything_but_zeros_is_refused_with_a_remedy():
    for fill in (np.nan, 1.0):
        with pytest.raises(DataError, match=rf"column 'x0' leaves out {fill}, .* X\.sparse\.to_dense\(\)"):
            read(sparse_table(half_empty(), fill))
