"""Several methods on one neighbour graph."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lowfold
from conftest import cloud, same_bits
from lowfold import METHODS, PCA, TSNE, UMAP, Isomap, ParameterError, compare, explorer
from lowfold.backend import resources
from lowfold.comparison import Comparison
from lowfold.judging import Judging
from lowfold.metrics import trustworthiness
from lowfold.neighbors.sharing import MOST_INDICES, shared_neighbors


def test_every_method_is_compared_on_one_search(digits):
    X, y = digits[0][:200], digits[1][:200]
    found = compare(X, list(METHODS), labels=y)
    assert [entry.name for entry in found.entries] == list(METHODS)
    assert found.searches == 1
    for entry in found.entries:
        assert entry.error is None, entry
        assert entry.seconds > 0
        assert 0 <= entry.memory < 2e9
        assert entry.scores["trustworthiness"].value == float(trustworthiness(X, entry.embedding, 15))
        assert set(entry.scores) >= {"recall", "continuity", "R_NX area", "Shepard", "labels", "silhouette"}


@pytest.mark.parametrize("name", list(METHODS))
def test_a_shared_search_changes_no_bit_of_an_embedding(digits, name):
    X = digits[0][:150]
    alone = METHODS[name]().fit(X).embedding_
    with shared_neighbors():
        lowfold.build_index(X).query(None, 100)
        assert same_bits(METHODS[name]().fit(X).embedding_, alone)


def test_other_data_and_other_metrics_are_searched_for_themselves():
    X, other = cloud(80), cloud(80, seed=1)
    with shared_neighbors() as shared:
        Isomap().fit(X)
        Isomap(n_neighbors=5).fit(X)
        assert shared.searches == 1
        there = Isomap().fit(other)
        assert shared.searches == 2
        Isomap(metric="manhattan").fit(X)
        assert shared.searches == 3
    assert same_bits(there.embedding_, Isomap().fit(other).embedding_)
    assert shared.searches == 3, "outside, nothing is shared"


def test_the_memory_of_a_fit_is_counted_where_the_system_tells():
    found = compare(cloud(1500, 5), ["isomap"], judging=Judging(sample=50)).entries[0]
    if resources.resident_memory() is None:
        assert np.isnan(found.memory)
    else:
        assert 1500**2 * 4 < found.memory < 1500**2 * 100, "the shortest paths between all points, a few times"
        assert f"{found.memory / 1e6:.0f}" == str(Comparison([found], 1)).split()[-1]


@pytest.mark.parametrize("k", [15, 50])
def test_a_number_of_neighbors_that_was_asked_for_is_lowered_with_a_word(k):
    X = cloud(12)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compare(X, ["pca"], judging=Judging(k=k))
        explorer.make_scene(X, PCA().fit(X), contents=explorer.Contents(k=k))
    wanted = [] if k == 15 else 2 * ["k=50 neighbours cannot be compared among 12 points; 10 are. A k of at most 10"]
    assert [str(warning.message)[: len(wanted[0]) if wanted else None] for warning in said] == wanted


def test_titles_parameters_and_the_table():
    X = cloud(120)
    found = compare(X, {"ten": TSNE(perplexity=10.0), "twenty": TSNE(perplexity=20.0)}, judging=Judging(k=5))
    assert list(found.maps) == ["ten", "twenty"]
    lines = str(found).splitlines()
    assert lines[0].split()[:2] == ["method", "trustworthiness"]
    assert [line.split()[0] for line in lines[1:]] == ["ten", "twenty"]
    assert found.rows()[0]["method"] == "ten"
    assert compare(X, [PCA(n_components=3)]).maps["pca"].shape == (120, 3)


def test_what_a_method_cannot_do_stands_in_its_row():
    found = compare(cloud(20), ["pca", UMAP(n_neighbors=30)])
    assert found.entries[0].error is None
    assert "n_neighbors=30" in found.entries[1].error
    assert "n_neighbors=30" in str(found)
    assert list(found.maps) == ["pca"]


def test_unknown_and_no_methods_are_refused():
    with pytest.raises(ParameterError, match="no method 'tsnee'"):
        compare(cloud(20), ["tsnee"])
    with pytest.raises(ParameterError, match="names no method"):
        compare(cloud(20), [])


def test_the_models_given_stay_unfitted_and_the_callback_hears_each_title():
    model, heard = PCA(), []
    compare(np.asarray(cloud(40)), [model], callback=heard.append)
    assert not hasattr(model, "embedding_")
    assert heard == ["pca"]


def test_a_shared_search_keeps_few_indices_and_counts_all_searches():
    X = cloud(40, 3)
    with shared_neighbors() as shared:
        for seed in range(2 * MOST_INDICES):
            Isomap(n_neighbors=6, random_state=seed).fit(X)
        assert shared.searches == 2 * MOST_INDICES
        Isomap(n_neighbors=6, random_state=2 * MOST_INDICES - 1).fit(X)
        assert shared.searches == 2 * MOST_INDICES, "the last ones are still known"
        Isomap(n_neighbors=6, random_state=0).fit(X)
        assert shared.searches == 2 * MOST_INDICES + 1, "the first one is not"


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "euclidean"])
def test_the_largest_component_is_mapped_as_alone(metric):
    X = np.vstack([cloud(60, 3) * [1, 5, 0.2], cloud(20, 3, seed=1) + np.array([100, 0, 0])])
    model = Isomap(metric=metric, components="largest", n_neighbors=6)
    alone = model.fit_transform(X)
    assert same_bits(compare(X, {"map": Isomap(**model.get_params())}).maps["map"], alone)
