"""Forms: every parameter that a page can give, described from its declaration and read back into an estimator."""

from __future__ import annotations

import dataclasses
import json

import pytest

from lowfold import METHODS, Grid, ParameterError
from lowfold.explorer.forms import declared_methods, model_from
from lowfold.options import parameters

DESCRIBED = {method["name"]: method for method in declared_methods()}
KINDS = {"integer", "number", "boolean", "none", "choice", "text", "numbers", "engine"}


def test_every_method_is_described_by_what_it_declares(method):
    name = next(name for name, cls in METHODS.items() if cls is method)
    described = DESCRIBED[name]
    assert described["title"]
    assert described["purpose"]
    assert described["family"] in ("spectral", "stress", "force")
    declared = {parameter.name: parameter for parameter in parameters(method)}
    for field in described["parameters"]:
        parameter = declared[field["name"]]
        assert field["help"] == parameter.option.help
        assert field["default"] == parameter.default
        assert (field["low"], field["high"], field["above"]) == (
            parameter.option.low, parameter.option.high, parameter.option.above,
        )  # fmt: skip
        assert {way["kind"] for way in field["ways"]} <= KINDS
    assert json.loads(json.dumps(described, allow_nan=False)) == described


def test_an_empty_form_is_the_method_with_its_defaults(method):
    name = next(name for name, cls in METHODS.items() if cls is method)
    assert repr(model_from(name, {}).get_params(deep=False)) == repr(method().get_params(deep=False))
    defaults = {field["name"]: field["default"] for field in DESCRIBED[name]["parameters"]}
    assert repr(model_from(name, defaults)) == repr(method())


def test_every_choice_and_every_engine_can_be_given(method):
    name = next(name for name, cls in METHODS.items() if cls is method)
    for field in DESCRIBED[name]["parameters"]:
        for way in field["ways"]:
            for choice in way.get("choices", []):
                assert getattr(model_from(name, {field["name"]: choice}), field["name"]) == choice
            if way["kind"] == "engine":
                engine = getattr(model_from(name, {field["name"]: {"engine": way["name"]}}), field["name"])
                assert type(engine).__name__ == way["name"]
                given = {part["name"]: part["default"] for part in way["parameters"]}
                again = model_from(name, {field["name"]: {"engine": way["name"], "parameters": given}})
                assert dataclasses.astuple(getattr(again, field["name"])) == dataclasses.astuple(engine)


def test_what_no_form_can_hold_is_left_out():
    names = {field["name"] for method in DESCRIBED.values() for field in method["parameters"]}
    assert "weights" in {field["name"] for field in DESCRIBED["laplacian_eigenmaps"]["parameters"]}
    assert "weights" not in {field["name"] for field in DESCRIBED["mds"]["parameters"]}, "an array"
    assert "callback" not in names
    schedule = next(field for field in DESCRIBED["tsne"]["parameters"] if field["name"] == "schedule")
    engines = [way for way in schedule["ways"] if way["kind"] == "engine"]
    assert [engine["name"] for engine in engines] == ["Annealed", "Classical"]
    assert all("callback" not in [part["name"] for part in engine["parameters"]] for engine in engines)


def test_values_keep_their_types():
    model = model_from(
        "tsne", {"perplexity": [5, 50.5], "repulsion": {"engine": "Grid", "parameters": {"spacing": 0.4}}}
    )
    assert model.perplexity == (5.0, 50.5)
    assert model.repulsion == Grid(spacing=0.4)
    for wrong in ({"n_components": 2.5}, {"n_components": True}, {"n_components": None}, {"metric": 5}):
        with pytest.raises(ParameterError, match="parameter of TSNE must be"):
            model_from("tsne", wrong)
    with pytest.raises(ParameterError, match="parameter of Annealed must be a function or None"):
        model_from("tsne", {"schedule": {"engine": "Annealed", "parameters": {"callback": "print"}}})
