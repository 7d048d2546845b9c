"""Every estimator takes whatever holds numbers, leaves it as it was, and says clearly what it cannot use."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas
import polars
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import ESTIMATORS, cloud, declared, dense, embed, in_short, model_of, place, same_bits
from given import given_as, told_of
from lowfold import LowfoldError, inputs


def columns(X):
    return [f"x{j}" for j in range(X.shape[1])]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def unaligned(X):
    buffer = np.zeros(X.nbytes + 1, np.uint8)
    shifted = np.ndarray(X.shape, X.dtype, buffer.data, offset=1)
    shifted[:] = X
    assert not shifted.flags.aligned
    return shifted


# The same numbers in other clothes.
LAYOUTS = {
    "as it is": np.copy,
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "negative row stride": lambda X: X[::-1].copy()[::-1],
    "negative column stride": lambda X: X[:, ::-1].copy()[:, ::-1],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "unaligned": unaligned,
    "pandas": lambda X: pandas.DataFrame(X, columns=columns(X)),
    "pandas by column": lambda X: pandas.DataFrame({name: X[:, j].copy() for j, name in enumerate(columns(X))}),
    "polars": lambda X: polars.DataFrame(X, schema=columns(X)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_the_numbers_count_not_how_they_lie_in_memory(estimator, layout, dtype):
    X = cloud(dtype=dtype)
    model = model_of(estimator)
    found = embed(model, LAYOUTS[layout](X))
    expected = embed(model_of(estimator), X)
    assert same_bits(found, expected)
    assert same_bits(place(model, LAYOUTS[layout](X)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_a_file_mapped_into_memory_is_as_good_as_an_array(estimator, dtype, tmp_path):
    X = cloud(dtype=dtype)
    np.save(tmp_path / "X.npy", X)
    for mode in ("r", "c"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        assert same_bits(embed(model_of(estimator), mapped), embed(model_of(estimator), X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_new_rows_that_cannot_be_written_to_are_placed_and_left_as_they_were(estimator, dtype, tmp_path):
    X, new = cloud(dtype=dtype), cloud(9, seed=1, dtype=dtype)
    model = model_of(estimator).fit(X)
    expected = place(model, new.copy())
    np.save(tmp_path / "new.npy", new)
    mapped = [np.load(tmp_path / "new.npy", mmap_mode=mode) for mode in ("r", "c")]
    for rows in (read_only(new), *mapped):
        assert same_bits(place(model, rows), expected)
        assert same_bits(np.array(rows), new)


def test_nested_lists_are_as_good_as_a_float64_array(estimator):
    X = cloud()
    assert same_bits(embed(model_of(estimator), X.tolist()), embed(model_of(estimator), X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_the_result_has_the_type_of_the_data(estimator, dtype):
    X = cloud(dtype=dtype)
    model = model_of(estimator)
    assert embed(model, X).dtype == dtype
    assert place(model, X[:3]).dtype == dtype


@pytest.mark.parametrize("name", ["bool", "float16", "int8", "uint8", "int16", "uint16"])
def test_types_whose_values_float32_holds_give_float32(estimator, name):
    X = (10 * cloud(40, 16)).clip(0, None).astype(name)
    assert same_bits(embed(model_of(estimator), X), embed(model_of(estimator), X.astype(np.float32)))


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64", "longdouble"])
def test_types_with_values_beyond_float32_give_float64(estimator, name):
    X = (1e8 * cloud(40, 16)).clip(0, None).astype(name)
    assert same_bits(embed(model_of(estimator), X), embed(model_of(estimator), X.astype(np.float64)))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("pandas", "pandas by column", "polars")])
def test_the_data_are_left_as_they_were(estimator, layout):
    X = LAYOUTS[layout](cloud())
    whole = X if X.base is None else X.base
    before = np.array(whole, copy=True)
    model = model_of(estimator)
    model.fit_transform(X)
    model.transform(X)
    assert same_bits(np.array(whole, copy=True), before)


def test_a_dataframe_is_left_as_it_was(estimator):
    X = pandas.DataFrame(cloud(), columns=list("abcde"))
    before = X.copy(deep=True)
    model = model_of(estimator).fit(X)
    model.transform(X)
    pandas.testing.assert_frame_equal(X, before)


# What each cannot be used for, and a word of the message that says so.
UNUSABLE = {
    "not a number": (lambda X: np.where(X > 1, np.nan, X), "NaN"),
    "infinite": (lambda X: np.where(X > 1, np.inf, X), "infinity"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "one dimension": (lambda X: X[0], "2D"),
    "three dimensions": (lambda X: X[None], "got 3D array"),
    "no array at all": (lambda X: None, "2D"),
    "strings": (lambda X: np.array([["a", "b"], ["c", "d"]], dtype=object), "string"),
    "complex": (lambda X: X + 1j, "[Cc]omplex"),
    "ragged": (lambda X: [[1.0, 2.0], [3.0]], "inhomogeneous"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_unusable_data_are_refused_with_a_word_on_what_they_are(estimator, kind):
    spoil, word = UNUSABLE[kind]
    with pytest.raises((ValueError, TypeError), match=word):
        model_of(estimator).fit(spoil(cloud()))
    fitted = model_of(estimator).fit(cloud())
    with pytest.raises((ValueError, TypeError), match=word if kind != "no columns" else "features?"):
        fitted.transform(spoil(cloud()))


REFUSED = [(cls, kind) for cls in ESTIMATORS for kind in inputs.KINDS if kind not in cls.accepts]


@pytest.mark.parametrize(("cls", "kind"), REFUSED, ids=[f"{cls.__name__}-{kind}" for cls, kind in REFUSED])
def test_a_kind_of_data_that_a_method_does_not_take_is_refused_by_name(cls, kind):
    told, data = told_of(kind), given_as(kind, cloud(), cloud())
    if not told.keys() <= declared(cls):  # a method without the parameter has no such data to speak of
        with pytest.raises(TypeError, match=rf"{cls.__name__}\b.* '{next(iter(told))}'"):
            model_of(cls, **told)
        return
    missing = kind == inputs.GAPS or (kind == inputs.PARTIAL and inputs.DISTANCES in cls.accepts)
    with pytest.raises(ValueError, match="NaN" if missing else f"{cls.__name__} was given {kind.split(' of ')[0]}"):
        model_of(cls, **told).fit(data)
    if not told:
        with pytest.raises(LowfoldError, match=f"{cls.__name__} was given {kind}"):
            model_of(cls).fit(cloud()).transform(data)


SHAPES = {
    "scattered": lambda X: X,
    "all equal": lambda X: np.broadcast_to(X[:1], X.shape).copy(),
    "all zero": np.zeros_like,
    "three distinct rows": lambda X: X[np.arange(len(X)) % min(3, len(X))],
    "one row twice": lambda X: X[np.maximum(np.arange(len(X)) - 1, 0)],
    "constant columns": lambda X: np.where(np.arange(X.shape[1]) % 2, X, 7),
    "on a line": lambda X: X[:, :1] * np.arange(1, X.shape[1] + 1, dtype=X.dtype),
    "on a grid": lambda X: np.round(X),
    "subnormal": lambda X: 1024 * X * np.finfo(X.dtype).smallest_subnormal,
    "very small": lambda X: X * np.sqrt(np.finfo(X.dtype).tiny),
    "huge": lambda X: X / np.abs(X).max() * {"f": 1e17, "d": 1e149}[X.dtype.char],
    "far away": lambda X: X + X.dtype.type(1e6),
    "one outlier": lambda X: np.where(np.arange(len(X))[:, None], X, X.dtype.type(1e6)),
}


def settings_for(cls, n_components, k):
    wanted = {"n_components": n_components, "n_neighbors": k, "perplexity": float(k)}
    return {name: value for name, value in wanted.items() if name in declared(cls)}


def assert_finite_or_clearly_refused(model, X):
    """Whether there is an embedding."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # a division by zero or an overflow that nobody looked at
        try:
            Y = embed(model, X)
        except (LowfoldError, ValueError) as error:
            assert_says_what_was_given_and_what_to_do(error)
            return False
        again = dense(model.transform(X))
    assert Y.shape[0] == len(X)
    assert Y.dtype == X.dtype
    assert np.isfinite(Y).all()
    assert np.isfinite(again).all()
    if len(np.unique(X, axis=0)) == len(X):
        assert same_bits(again, Y)
    return True


def assert_says_what_was_given_and_what_to_do(error):
    sentences = re.split(r"[.:] ", str(error))
    assert re.search(r"\d", str(error)), error
    assert len(sentences) >= 2, error


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8)  # for each shape of each estimator, beside the examples below
@given(
    n=st.integers(1, 50),
    d=st.integers(1, 5),
    n_components=st.integers(1, 3),
    k=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@example(n=1, d=1, n_components=1, k=1, seed=0, dtype=np.float64)
@example(n=2, d=1, n_components=1, k=1, seed=0, dtype=np.float32)
@example(n=3, d=2, n_components=2, k=2, seed=0, dtype=np.float64)
@example(n=50, d=5, n_components=2, k=6, seed=0, dtype=np.float32)
@example(n=50, d=5, n_components=2, k=6, seed=0, dtype=np.float64)
def test_any_few_points_give_a_finite_result_or_a_clear_error(estimator, shape, n, d, n_components, k, seed, dtype):
    X = SHAPES[shape](cloud(n, d, seed=seed, dtype=dtype))
    assert X.dtype == dtype
    assert_finite_or_clearly_refused(estimator(**settings_for(estimator, n_components, k)), X)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of perplexities and coordinates that so few points do not have
@pytest.mark.parametrize("d", range(1, 6))
def test_every_small_number_of_points_and_features_gives_a_finite_result_or_a_clear_error(estimator, d):
    # In short: what few points break, they break at once. The whole way is gone below.
    embedded = []
    for n in range(1, 51):
        model = in_short(estimator(**settings_for(estimator, min(2, d), max(1, min(6, n - 1)))))
        if assert_finite_or_clearly_refused(model, cloud(n, d, seed=n)):
            embedded.append(n)
    assert set(embedded) >= set(range(8, 51))


@pytest.mark.filterwarnings("ignore::UserWarning")  # of neighbours that a perplexity of 30 would rather have
def test_defaults_give_a_finite_result_or_a_clear_error_below_a_hundred_points(estimator):
    sizes = [*range(1, 36), *range(40, 100, 10), 99]
    embedded = [n for n in sizes if assert_finite_or_clearly_refused(estimator(), cloud(n, 5, seed=n))]
    assert set(embedded) >= {n for n in sizes if n >= 32}  # a perplexity of 30 is the most that a default asks for


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e17), (np.float64, 1e25), (np.float64, 1e149)])
def test_a_row_far_from_all_others_gets_a_finite_place_or_a_clear_error(estimator, dtype, far):
    model = model_of(estimator).fit(cloud(dtype=dtype))
    X = cloud(3, seed=1, dtype=dtype)
    try:
        Y = place(model, X / np.abs(X).max() * dtype(far))
    except (LowfoldError, ValueError) as error:
        assert_says_what_was_given_and_what_to_do(error)
    else:
        assert np.isfinite(Y).all()
