"""Parameters that cannot be, or would be ignored, are refused; none is heard in one place and not in another."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud
from lowfold import (
    LLE,
    MDS,
    PCA,
    SNE,
    TSNE,
    UMAP,
    ClassicalMDS,
    Curve,
    ElasticEmbedding,
    Isomap,
    NeighborGraph,
    ParameterError,
    Sammon,
    SymmetricSNE,
    build_index,
    compare,
)
from lowfold.backend import native
from lowfold.cli.flags import parsed
from lowfold.explorer.forms import declared_methods
from lowfold.options import parameters


def test_no_threads_are_refused_by_the_declaration():
    with pytest.raises(ParameterError, match=r"'n_jobs'.*an int at most 1024 and other than 0.*Got 0"):
        PCA(n_jobs=0).fit(cloud(20))
    assert "other than 0" in PCA.__doc__


@pytest.mark.parametrize("perplexity", [("a",), [None], ["x", 3.0], 0.5, (), [[3.0]], (0.2, 30), (2, np.inf)])
@pytest.mark.parametrize("method", [TSNE, SNE, SymmetricSNE, ElasticEmbedding])
def test_a_perplexity_that_is_none_is_refused_before_anything_is_computed(method, perplexity):
    needed = r"'perplexity' .* a number at least 1 or a tuple of numbers at least 1 .* Got .* Use .*perplexity=30\.0"
    with pytest.raises(ParameterError, match=needed):
        method(perplexity=perplexity).fit(cloud(60))
    with pytest.raises(ParameterError, match=needed):
        method(perplexity=perplexity).estimate(60, 3)
    assert method(perplexity=1).estimate(60, 3) > 0


def test_a_perplexity_below_1_is_refused_in_the_same_words_by_documentation_command_and_form():
    needed = "a number at least 1 or a tuple of numbers at least 1 or a list of numbers at least 1"
    assert f"({needed}; default 30.0)" in TSNE.__doc__
    with pytest.raises(ParameterError, match=f"--perplexity 0.5,30 is not allowed: it must be {needed}"):
        parsed(next(known for known in parameters(TSNE) if known.name == "perplexity"), "0.5,30")
    form = next(method for method in declared_methods() if method["name"] == "tsne")
    field = next(field for field in form["parameters"] if field["name"] == "perplexity")
    assert (field["low"], field["above"], field["needs"]) == (1, None, needed)


def test_a_comparison_says_a_wrong_perplexity_in_its_row():
    found = compare(cloud(40), {"wrong": TSNE(perplexity=(0.5,)), "pca": PCA()})
    wrong, right = found.entries
    assert "a tuple of numbers at least 1" in wrong.error
    assert right.error is None


def test_a_curve_given_twice_is_refused():
    with pytest.raises(ParameterError, match=r"a=1\.5 and b=0\.9, and min_dist=0\.7, spread=2.*one pair or the other"):
        UMAP(min_dist=Curve(a=1.5, b=0.9, min_dist=0.7, spread=2.0)).fit(cloud(60))


@pytest.mark.parametrize("method", [ClassicalMDS, MDS, Sammon, Isomap, TSNE])
def test_a_metric_that_does_not_exist_is_a_wrong_parameter_everywhere(method):
    with pytest.raises(ParameterError, match="metric='foo'"):
        method(metric="foo").fit(cloud(120))


@pytest.mark.parametrize("model", [LLE, Isomap, TSNE, UMAP, NeighborGraph], ids=lambda model: model.__name__)
def test_one_job_is_one_while_the_input_is_checked_too(model, monkeypatch):
    asked = []
    largest_entry = native.kernels.largest_entry

    def counted(X, mean, threads):
        asked.append(threads)
        return largest_entry(X, mean, threads)

    monkeypatch.setattr(native.kernels, "largest_entry", counted)
    X, new = cloud(80, 3), cloud(20, 3, seed=1)
    model(n_jobs=1).fit(X).transform(new)
    build_index(X, n_jobs=1).query(new, 3)
    assert len(asked) >= 4
    assert np.unique(asked).tolist() == [1]
