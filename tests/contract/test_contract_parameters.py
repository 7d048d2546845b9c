"""A fitted model is what it was fitted as: parameters that are set later are those of the next fit."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import lowfold
from conftest import ESTIMATORS, cloud, dense, in_short, model_of, name_of, place, same_bits
from lowfold.markov import SpectralClustering
from lowfold.options import Parameter, parameters

FITTED = [*ESTIMATORS, SpectralClustering]
# What a fitted model is asked for; of each those that it has.
QUESTIONS = ("transform", "predict", "inverse_transform", "random_walk", "generator_eigenvalues", "shepard")


@pytest.fixture(scope="module", params=FITTED, ids=name_of)
def fitted(request: pytest.FixtureRequest) -> Any:
    """Every estimator, fitted to a few points."""
    return in_short(model_of(request.param)).fit(cloud())


def manhattan(a: Any, b: Any) -> float:
    """A metric as a function, also a kernel of sorts."""
    return float(np.abs(a - b).sum())


def others(parameter: Parameter, now: Any) -> list[Any]:
    """Values that a parameter can have and has not, as its declaration tells; at least one."""
    values = [*parameter.option.choices, None, True, False, 1, 2, 3, 0.5, 0.7, 4.5, 1e9, "cosine", "precomputed"]
    values += [np.ones((60, 2)), np.ones((60, 60)), manhattan]
    values += [kind() for kind in parameter.types if inspect.isclass(kind) and dataclasses.is_dataclass(kind)]
    found = [value for value in values if parameter.allows(value) and type(value) is not type(now)]
    return found + [value for value in values if parameter.allows(value) and type(value) is type(now) and value != now]


def answers(model: Any) -> dict[str, Any]:
    """What a model says of new rows, of its own, and of what it has learnt."""
    X = np.concatenate([cloud()[:5], cloud(9, seed=1)])
    said: dict[str, Any] = {}
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        ask = getattr(model, question)
        if question == "inverse_transform":
            said[question] = ask(model.embedding_[:7])
        elif question in ("transform", "predict"):
            said[question] = dense(ask(X))
        else:
            found = ask()
            said[question] = getattr(found, {"random_walk": "degrees", "shepard": "weight"}.get(question, "T"))
    return said


def test_a_fitted_model_answers_as_it_was_fitted_whatever_is_set_later(fitted):
    before = answers(fitted)
    for parameter in parameters(type(fitted)):
        now = getattr(fitted, parameter.name)
        values = others(parameter, now)
        assert values, f"no other value of {parameter.name} is known to this test"
        for value in values:
            fitted.set_params(**{parameter.name: value})
            after = answers(fitted)
            fitted.set_params(**{parameter.name: now})
            assert before.keys() == after.keys()
            for name, answer in before.items():
                assert same_bits(after[name], answer), f"{name} after {parameter.name}={value!r}"


def test_all_parameters_set_at_once_change_nothing_either_also_in_a_stored_model(fitted):
    before, now = answers(fitted), fitted.get_params(deep=False)
    fitted.set_params(**{each.name: others(each, now[each.name])[0] for each in parameters(type(fitted))})
    copy = pickle.loads(pickle.dumps(fitted.set_params(metric="cosine") if "metric" in now else fitted))
    for model in (fitted, copy):
        assert all(same_bits(answer, before[name]) for name, answer in answers(model).items())
    fitted.set_params(**now)


def test_a_model_file_keeps_both_what_was_fitted_and_what_was_set(estimator, tmp_path):
    if estimator is lowfold.KernelPCA:
        model, change = model_of(estimator), {"kernel": "linear"}
    else:
        model, change = in_short(model_of(estimator)), {"random_state": 1} | {"n_components": 1}
    change = {name: value for name, value in change.items() if name in model.get_params()}
    model.fit(cloud())
    before = place(model, cloud(9, seed=1))
    lowfold.save(model.set_params(**change), tmp_path / "model")
    restored = lowfold.load(tmp_path / "model")
    assert same_bits(place(restored, cloud(9, seed=1)), before)
    assert restored.get_params(deep=False) == model.get_params(deep=False)


def test_the_next_fit_is_by_the_parameters_set_last(method):
    model = in_short(model_of(method, n_components=1)).fit(cloud())
    model.set_params(n_components=2).fit(cloud())
    assert place(model, cloud(9, seed=1)).shape == (9, 2)


def test_a_callback_that_is_taken_away_after_the_fit_does_not_keep_a_model_from_being_stored(tmp_path):
    model = lowfold.UMAP(n_neighbors=6, schedule=lowfold.Epochs(n_epochs=5, callback=lambda step: None)).fit(cloud())
    before = place(model, cloud(9, seed=1))
    lowfold.save(model.set_params(schedule="epochs"), tmp_path / "model")
    assert same_bits(place(lowfold.load(tmp_path / "model"), cloud(9, seed=1)), before)


def test_a_model_file_keeps_a_model_whose_next_fit_would_be_refused(tmp_path):
    model = lowfold.PCA(n_components=2).fit(cloud())
    before = model.transform(cloud(9, seed=1))
    lowfold.save(model.set_params(n_components=0), tmp_path / "model")
    restored = lowfold.load(tmp_path / "model")
    assert same_bits(restored.transform(cloud(9, seed=1)), before)
    with pytest.raises(lowfold.ParameterError, match="n_components"):
        restored.fit(cloud())


@pytest.mark.parametrize("shape", [(5.5, 3), ("a", 3), (0, 3), (5, None)])
def test_an_estimate_is_of_whole_numbers_of_rows_and_columns(shape):
    with pytest.raises(lowfold.ParameterError, match="whole numbers of at least 1"):
        lowfold.PCA().estimate(*shape)
