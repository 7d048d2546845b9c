"""One declaration of a parameter gives its default, its range, its help and its error message."""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError, make_constraint

from conftest import ESTIMATORS, cloud, model_of, name_of
from lowfold import Cells, Exact, LowfoldError, NeighborGraph, ParameterError, build_index
from lowfold.estimator import Declaring
from lowfold.options import option, parameters, seed_of, validate


@dataclasses.dataclass(frozen=True, slots=True)
class Lens:
    """An engine."""

    power: float = option(2.0, above=0, high=10, help="power of the lens")


class Ruler(Declaring):
    """Measures."""

    length: float = option(1.5, above=0, high=100, help="length in metres")
    marks: int | None = option(None, low=2, help="number of marks")
    unit: str = option("m", choices=("m", "inch"), help="unit of the marks")
    exact: bool = option(False, help="wish for exactness")
    name: str = option("ruler", help="name on the ruler")
    read: str | Callable[..., float] = option("eye", help="way of reading")
    lens: str | Lens = option("none", choices=("none",), help="lens to read with")
    random_state: int | np.random.RandomState | np.random.Generator | None = option(0, low=0, help="seed")


RULER = {parameter.name: parameter for parameter in parameters(Ruler)}


def error_of(action):
    """The refusal of a parameter that an action ends with, if any; every other error is a failure."""
    try:
        action()
    except ParameterError as error:
        return error
    return None


def message_of(declared):
    return str(error_of(lambda: validate(declared)))


# One declaration


def test_the_declaration_is_the_constructor():
    assert Ruler().get_params() == {name: parameter.default for name, parameter in RULER.items()}
    assert Ruler(length=2.5, unit="inch").get_params()["length"] == 2.5
    with pytest.raises(TypeError):
        Ruler(2.5)
    with pytest.raises(TypeError, match="lenght"):
        Ruler(lenght=2.5)


def test_the_declaration_is_the_documentation():
    assert Ruler.__doc__.startswith("Measures.")
    for name, parameter in RULER.items():
        assert f"{name}: {parameter.option.help} ({parameter.needs()}; default {parameter.default!r})" in Ruler.__doc__


def test_needs_says_the_range_and_the_choices_in_words():
    assert RULER["length"].needs() == "a number above 0 and at most 100"
    assert RULER["marks"].needs() == "an int at least 2 or None"
    assert RULER["unit"].needs() == "one of 'm', 'inch'"
    assert RULER["exact"].needs() == "True or False"
    assert RULER["name"].needs() == "a str"
    assert RULER["read"].needs() == "a str or a function"
    assert RULER["lens"].needs() == "one of 'none' or an instance of Lens"


@given(value=st.one_of(st.floats(allow_infinity=False), st.integers(-(10**30), 10**30), st.text(), st.none()))
@pytest.mark.parametrize("name", RULER)
def test_what_is_allowed_is_what_scikit_learn_is_told(name, value):
    constraints = map(make_constraint, RULER[name].constraints())
    assert RULER[name].allows(value) == any(constraint.is_satisfied_by(value) for constraint in constraints)


@pytest.mark.parametrize("cls", [*ESTIMATORS, Ruler, Cells, Lens], ids=name_of)
def test_every_default_is_allowed(cls):
    assert all(parameter.allows(parameter.default) for parameter in parameters(cls))


# Values


@pytest.mark.parametrize("value", [100, 0.001, np.float32(0.5), np.float64(3), np.int8(7), np.uint64(8)])
def test_a_float_takes_every_real_number_in_range(value):
    validate(Ruler(length=value))


@pytest.mark.parametrize("value", [2, 10**300, np.int8(7), np.uint64(8), None])
def test_an_int_takes_every_integer_in_range(value):
    validate(Ruler(marks=value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("length", 0),
        ("length", 100.1),
        ("length", -math.inf),
        ("length", math.inf),
        ("length", math.nan),
        ("length", np.float32("nan")),
        pytest.param("length", 10**400, id="length-10^400"),
        ("length", True),
        ("length", np.True_),
        ("length", "1.5"),
        ("length", None),
        ("length", 1 + 0j),
        ("length", np.array([1.5])),
        ("marks", 1),
        pytest.param("marks", -(10**400), id="marks--10^400"),
        pytest.param("marks", 10**400, id="marks-10^400"),
        ("marks", 2.0),
        ("marks", math.nan),
        ("marks", True),
        ("marks", np.True_),
        ("marks", "2"),
        ("marks", np.array([2])),
        ("unit", "M"),
        ("unit", b"m"),
        ("unit", ["m"]),
        ("exact", 1),
        ("exact", None),
        ("exact", "yes"),
        ("name", 3),
        ("read", 3),
        ("lens", "glass"),
        ("lens", Lens),
        ("lens", Cells()),
        ("random_state", -1),
        ("random_state", True),
        ("random_state", 0.0),
        ("random_state", np.random),
    ],
)
def test_a_value_out_of_range_or_of_another_type_is_refused_by_name(name, value):
    message = message_of(Ruler(**{name: value}))
    assert message.startswith(f"The '{name}' parameter of Ruler must be {RULER[name].needs()}.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exact", np.True_),
        ("read", len),
        ("read", "finger"),
        ("lens", Lens()),
        ("random_state", np.int64(3)),
        ("random_state", None),
        ("random_state", np.random.RandomState(0)),
        ("random_state", np.random.default_rng(0)),
    ],
)
def test_a_value_of_any_declared_type_is_allowed(name, value):
    validate(Ruler(**{name: value}))


def test_a_message_says_what_is_needed_what_was_given_and_what_to_do():
    message = message_of(Ruler(length=-3.0))
    needed, given_, remedy = re.fullmatch(r"(.* must be .*?)\. (Got .* instead)\. (Use .*\.)", message).groups()
    assert "a number above 0 and at most 100" in needed
    assert "-3.0" in given_
    assert "Ruler(length=1.5)" in remedy
    assert "length in metres" in remedy


def test_a_refusal_is_a_value_error_a_type_error_and_scikit_learns_own():
    for kind in (LowfoldError, ValueError, TypeError, InvalidParameterError):
        with pytest.raises(kind):
            validate(Ruler(marks=0))


# When


def test_a_constructor_only_stores_and_fit_refuses(estimator):
    marker = object()
    for parameter in parameters(estimator):
        model = model_of(estimator, **{parameter.name: marker})
        assert getattr(model, parameter.name) is marker
        with pytest.raises(ParameterError, match=f"The '{parameter.name}' parameter of {estimator.__name__} must be"):
            model.fit(cloud())


@pytest.mark.parametrize("n_jobs", [None, -1, "many"])
def test_validation_changes_nothing_whether_it_refuses_or_not(estimator, n_jobs):
    model = model_of(estimator, n_jobs=n_jobs)
    before = dict(vars(model))
    refused = error_of(lambda: validate(model))
    assert (refused is not None) == (n_jobs == "many")
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())


def test_fit_leaves_the_parameters_as_they_were_given(estimator):
    model = model_of(estimator, n_jobs=-1)
    before = model.get_params()
    assert all(value is before[name] for name, value in model.fit(cloud()).get_params().items())


@pytest.mark.parametrize("n_jobs", [0, 2**31, 2**40, 10**400], ids=["none", "2^31", "2^40", "10^400"])
def test_threads_that_cannot_be_are_refused_by_name(estimator, n_jobs):
    with pytest.raises(ParameterError, match="n_jobs"):
        model_of(estimator, n_jobs=n_jobs).fit(cloud())


def test_negative_threads_leave_cores_free_down_to_one_thread_as_the_help_says(method):
    cores = model_of(method).fit(cloud()).report_.threads
    for n_jobs in (-1, -2, -cores, -cores - 1, -1000):
        assert model_of(method, n_jobs=n_jobs).fit(cloud()).report_.threads == max(1, cores + 1 + n_jobs)
    assert "-2 all but one, and so on down to one" in method.__doc__


# Engines


@pytest.mark.parametrize("recall", [2, 0.1, math.nan, True, "high", None])
def test_a_parameter_of_an_engine_is_refused_with_the_engines_name(recall):
    pattern = f"'recall' parameter of Cells must be a number at least 0.5 and at most 1. Got {recall!r} instead"
    with pytest.raises(ParameterError, match=re.escape(pattern)):
        build_index(cloud(), search=Cells(recall=recall))
    with pytest.raises(ParameterError, match=re.escape(pattern)):
        NeighborGraph(n_neighbors=3, search=Cells(recall=recall)).fit(cloud())


@pytest.mark.parametrize("search", [Cells, Exact, "fast", None, 3])
def test_what_is_no_engine_is_refused_with_the_engines_that_there_are(search):
    with pytest.raises(ParameterError, match=r"'search' parameter .* 'auto', 'exact', 'cells' or .* Exact or .* Cells"):
        build_index(cloud(), search=search)


def test_an_engine_is_a_value():
    assert Cells(recall=0.9) == Cells(recall=0.9) != Cells(recall=0.95)
    assert Exact() == Exact()
    with pytest.raises(dataclasses.FrozenInstanceError):
        Cells().recall = 0.5


# Seeds


@given(seed=st.integers(0, 2**63 - 1))
def test_an_integer_is_its_own_seed(seed):
    assert seed_of(seed) == seed
    assert type(seed_of(np.int64(seed))) is int
    assert seed_of(np.int64(seed)) == seed


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng], ids=["RandomState", "Generator"])
def test_a_generator_gives_a_seed_and_moves_on(make):
    generator = make(5)
    seeds = [seed_of(generator) for _ in range(50)]
    again = make(5)
    assert seeds == [seed_of(again) for _ in range(50)]
    assert len(set(seeds)) == 50
    assert all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)


def test_none_gives_a_fresh_seed_each_time():
    seeds = {seed_of(None) for _ in range(20)}
    assert len(seeds) == 20
    assert all(isinstance(seed, numbers.Integral) and 0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("seed", [2**63 - 1, 2**63, 2**64, 2**200], ids=["2^63-1", "2^63", "2^64", "2^200"])
def test_a_large_seed_is_used_or_refused_by_name(estimator, seed):
    refused = error_of(lambda: model_of(estimator, random_state=seed).fit(cloud()))
    assert refused is None or (seed >= 2**63 and "'random_state'" in str(refused))
