"""Every estimator gives the same bits on any number of threads, also where there are too many points for all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse

import lowfold
from conftest import ESTIMATORS, cloud, model_of, name_of, quick, same_bits
from lowfold.spectral import factor
from lowfold.stress import pairs

# Points: more than are solved or summed over all pairs at once, and more than pairs are kept of.
MANY, MORE = 2200, 9000
MISSING = lowfold.Cells(recall=0.9)

pytestmark = pytest.mark.filterwarnings("ignore::lowfold.errors.ConvergenceWarning")  # of so few steps

# By what else there is than the defaults: an estimator, changes, and the finding that shows them to be at work.
WAYS = {
    "tree": (lowfold.TSNE, {"repulsion": "tree"}, {"repulsion": "tree"}),
    "tree with charges": (lowfold.SNE, {"repulsion": "tree"}, {"repulsion": "tree"}),
    "all pairs": (lowfold.TSNE, {"repulsion": "exact"}, {"repulsion": "exact"}),
    "space": (lowfold.SymmetricSNE, {"n_components": 3}, {"repulsion": "grid"}),
    "Manhattan distances": (lowfold.ClassicalMDS, {"metric": "manhattan"}, {"solver": "lanczos"}),
    "nearest affinities": (lowfold.DiffusionMap, {"graph": "nearest"}, {"solver": "factorisation"}),
    "order of distances": (lowfold.MDS, {"scaling": "nonmetric"}, {}),
    "distances of directions": (lowfold.UMAP, {"metric": "cosine"}, {}),
}


def check_threads(cls: type, n: int, jobs: tuple[int, ...], **changes: Any) -> Any:
    """Asserts the bits that one thread gives, of the fit and of new rows; returns the last model."""
    X, new = cloud(n, 8, dtype=np.float32), cloud(200, 8, seed=1, dtype=np.float32)
    model = quick(model_of(cls, n_jobs=1, **changes))
    expected = numbers(model.fit_transform(X)), numbers(model.transform(new))
    for n_jobs in jobs:
        model = quick(model_of(cls, n_jobs=n_jobs, **changes))
        assert same_bits(numbers(model.fit_transform(X)), expected[0]), n_jobs
        assert same_bits(numbers(model.transform(new)), expected[1]), n_jobs
    return model


def numbers(Y: Any) -> Any:
    """A result as an array: of a graph what it holds and where, in float64, which has room for both."""
    return np.concatenate([Y.indptr, Y.indices, Y.data]) if issparse(Y) else Y


def findings_of(model: Any) -> Any:
    """What the report of a method says; the neighbour graph has none."""
    report = getattr(model, "report_", None)
    return report.findings if report else {}


def test_any_number_of_threads_gives_many_points_the_same_bits(estimator):
    found = findings_of(check_threads(estimator, MANY, (2, 3, 8)))
    assert found.get("solver") != "dense"
    assert found.get("repulsion", "grid") == "grid"


@pytest.mark.parametrize("way", WAYS)
def test_any_number_of_threads_gives_the_same_bits_by_other_ways(way):
    cls, changes, shown = WAYS[way]
    found = findings_of(check_threads(cls, MANY, (3,), **changes))
    assert found | shown == found


def test_any_number_of_threads_gives_the_same_bits_through_the_polynomial_filter(monkeypatch):
    monkeypatch.setattr(factor, "NARROW_BAND", 100)
    assert findings_of(check_threads(lowfold.LaplacianEigenmaps, MANY, (2, 3, 8)))["solver"] == "filter"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_any_number_of_threads_finds_the_same_neighbors_where_some_are_missed(metric):
    X, new = cloud(MORE, 32, dtype=np.float32), cloud(200, 32, seed=1, dtype=np.float32)
    indices = [lowfold.build_index(X, metric=metric, search=MISSING, n_jobs=n_jobs) for n_jobs in (1, 2, 3, 8)]
    for rows in (None, new):
        expected, *others = [index.query(rows, 10) for index in indices]
        assert expected.recall < 1
        for found in others:
            assert same_bits(found.indices, expected.indices)
            assert same_bits(found.distances, expected.distances)


@pytest.mark.parametrize("limit", ["KEPT_POINTS", "CACHED_POINTS"])
@pytest.mark.parametrize("cls", [lowfold.MDS, lowfold.Sammon], ids=name_of)
def test_any_number_of_threads_gives_the_same_bits_where_some_measure_distances_anew_in_each_pass(
    cls, limit, monkeypatch
):
    monkeypatch.setattr(pairs, limit, MANY // 2)
    measured = [pairs.is_measured(MANY, 8, n_jobs) for n_jobs in (1, 8)]
    assert measured == [limit == "KEPT_POINTS", True]
    check_threads(cls, MANY, (2, 3, 8))


def keeps_no_pairs(cls: type) -> bool:
    """Whether a fit to more points takes far less memory than a number for each two of them."""
    model = model_of(cls)
    return not hasattr(model, "estimate") or model.estimate(MORE, 8) < 4 * MORE**2


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if keeps_no_pairs(cls)], ids=name_of)
def test_any_number_of_threads_gives_more_points_than_pairs_are_kept_of_the_same_bits(cls):
    check_threads(cls, MORE, (3,))
