"""Optimisations that go on after a fit: what fails or is ended then."""

from __future__ import annotations

import pytest

from conftest import FORCE_METHODS, same_bits
from lowfold import UMAP, Annealed, Epochs


class Broken(Exception):
    """What a callback raises."""


def watched(cls, callback):
    schedule = Epochs(n_epochs=30, callback=callback) if cls is UMAP else Annealed(max_iter=20, callback=callback)
    return cls(schedule=schedule)


@pytest.mark.parametrize("cls", [*FORCE_METHODS, UMAP])
def test_going_on_that_fails_leaves_the_model_as_it_was_and_ctrl_c_keeps_what_was_reached(cls, digits):
    X, error = digits[0][:200], []

    def fail(step):
        if error and step.iteration >= begun + 7:
            raise error[0]

    model, other = watched(cls, fail).fit(X), watched(cls, None).fit(X)
    before, begun = model.embedding_.copy(), model.n_iter_
    error.append(Broken())
    with pytest.raises(Broken):
        model.resume(20)
    assert same_bits(model.embedding_, before)
    assert model.n_iter_ == begun
    error.clear()
    assert same_bits(model.resume(5).embedding_, other.resume(5).embedding_)
    error.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        model.resume(20)
    assert model.n_iter_ == begun + 7
    assert model.report_.findings["epochs" if cls is UMAP else "iterations"] == begun + 7
    assert not same_bits(model.embedding_, other.embedding_)
    assert same_bits(model.transform(X), model.embedding_)
