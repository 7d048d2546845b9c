"""A fit that fails leaves the model as it was; one that kept its embedding after Ctrl-C is wholly the new one."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from conftest import cloud, embed, model_of, place, same_bits
from lowfold import inputs
from lowfold.markov import SpectralClustering
from lowfold.watching import schedule_in, with_callback

OLD, OTHER, NEW = cloud(60, 5), cloud(40, 3, seed=1), cloud(7, 5, seed=2)

# Data that no method takes: with other columns than the old ones, and seen to be useless at different moments.
UNUSABLE = {
    "not a number": np.where(OTHER > 1, np.nan, OTHER),
    "infinite": np.where(OTHER > 1, np.inf, OTHER),
    "too large": OTHER * 1e200,
    "too small": OTHER * 1e-200,
    "text": np.full((40, 3), "a"),
    "a named column that is not a number": pandas.DataFrame(OTHER, columns=list("abc")).replace(OTHER[0, 0], np.nan),
}


def assert_nothing_changed(model, before):
    """Whether a model has the very parts that it had."""
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is part for name, part in before.items())


def fitted(estimator):
    """(a model, its parts, where it puts new rows)"""
    model = model_of(estimator).fit(OLD)
    return model, dict(vars(model)), place(model, NEW)


def failing(real, error):
    """A fit that does all of its work, and fails at the end."""

    def fit(self, *given):
        real(self, *given)
        raise error

    return fit


ERRORS = [ValueError("no"), MemoryError(), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_fit_that_fails_leaves_the_model_as_it_was(method, error, monkeypatch):
    model, before, placed = fitted(method)
    with monkeypatch.context() as patched:
        patched.setattr(method, "_fit", failing(method._fit, error))
        for fit in (model.fit, model.fit_transform):
            with pytest.raises(type(error)):
                fit(OTHER)
            assert_nothing_changed(model, before)
    assert same_bits(model.transform(OLD), model.embedding_)
    assert same_bits(place(model, NEW), placed)
    with pytest.raises(ValueError, match="3 features"):
        model.transform(OTHER)


def test_more_components_than_there_can_be_leave_the_model_as_it_was(method):
    model, before, placed = fitted(method)
    model.set_params(n_components=1000)
    with pytest.raises(ValueError, match="n_components=1000"):
        model.fit(cloud(50, 5, seed=1))
    model.set_params(n_components=before["n_components"])
    assert_nothing_changed(model, before)
    assert same_bits(place(model, NEW), placed)


@pytest.mark.parametrize("kind", UNUSABLE)
def test_data_that_are_refused_leave_the_model_as_it_was(estimator, kind):
    model, before, placed = fitted(estimator)
    with pytest.raises((ValueError, TypeError)):
        model.fit(UNUSABLE[kind])
    assert_nothing_changed(model, before)
    assert same_bits(place(model, NEW), placed)


def test_rows_that_are_refused_do_not_disturb_other_threads(estimator, monkeypatch):
    """Putting a model back would, for a moment, take its parts from a thread that places rows with it."""
    model, before, placed = fitted(estimator)
    monkeypatch.setattr(estimator, "_as_before_on_failure", lambda _: pytest.fail("the model was put back"))
    with pytest.raises(ValueError, match="NaN"):
        model.transform(np.full_like(NEW, np.nan))
    assert_nothing_changed(model, before)
    assert same_bits(place(model, NEW), placed)


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_model_that_could_not_be_fitted_is_not_fitted(estimator, kind):
    model = model_of(estimator)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)):
        model.fit(UNUSABLE[kind])
    assert_nothing_changed(model, before)
    with pytest.raises(NotFittedError):
        model.transform(NEW)


def test_clusters_that_could_not_be_found_leave_the_old_ones(monkeypatch):
    model = SpectralClustering(n_clusters=2, n_neighbors=6).fit(OLD)
    before, labels = dict(vars(model)), model.predict(NEW)
    for X in UNUSABLE.values():
        with pytest.raises((ValueError, TypeError)):
            model.fit(X)
        assert_nothing_changed(model, before)
    monkeypatch.setattr(SpectralClustering, "_nearest", failing(SpectralClustering._nearest, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        model.fit(OTHER)
    monkeypatch.undo()
    assert_nothing_changed(model, before)
    assert np.array_equal(model.predict(NEW), labels)


def stopped_at_third(step):
    """Ctrl-C, when an optimisation is well under way."""
    if step.iteration >= 3:
        raise KeyboardInterrupt


def interrupted(method, X):
    """A model fitted to OLD whose fit to X was ended by Ctrl-C; skips methods that have nothing to keep then."""
    model = model_of(method).fit(OLD)
    name, schedule = schedule_in(model)
    if schedule is None:
        pytest.skip("has no optimisation, and keeps nothing")
    watched, _ = with_callback(model_of(method), stopped_at_third, X.shape[0])
    model.set_params(**{name: getattr(watched, name)})
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    return model.set_params(**{name: schedule})


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_fit_that_kept_what_it_reached_is_wholly_the_new_one(method, make):
    if make is csr_array and inputs.SPARSE_ROWS not in method.accepts:
        pytest.skip("takes no sparse rows")
    X = make(OTHER)
    model = interrupted(method, X)
    assert model.n_features_in_ == 3
    assert same_bits(model.transform(X), model.embedding_)
    assert np.isfinite(model.transform(cloud(5, 3, seed=4))).all()
    assert same_bits(embed(model, OLD), model_of(method).fit(OLD).embedding_)
