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
)
from lowfold.backend import native


def test_no_threads_are_refused_by_the_declaration():
    with pytest.raises(ParameterError, match=r"'n_jobs'.*an int at most 1024 and other than 0.*Got 0"):
        PCA(n_jobs=0).fit(cloud(20))
    assert "other than 0" in PCA.__doc__


@pytest.mark.parametrize("perplexity", [("a",), [None], ["x", 3.0], 0.5, (), [[3.0]], (0.2, 30)])
@pytest.mark.parametrize("method", [TSNE, SNE, SymmetricSNE, ElasticEmbedding])
def test_a_perplexity_that_is_none_is_refused_before_anything_is_computed(method, perplexity):
    with pytest.raises(ParameterError, match=r"perplexity=.*at least 1.*perplexity=30\.0"):
        method(perplexity=perplexity).fit(cloud(60))
    with pytest.raises(ParameterError, match=r"perplexity="):
        method(perplexity=perplexity).estimate(60, 3)


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
