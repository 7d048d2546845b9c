"""A warning names the line of whoever called the library, however deep its reason was found."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowfold
from lowfold import MDS, PCA, TSNE, UMAP, Classical, DiffusionMap, Epochs, Isomap, Majorisation, NeighborGraph

X = np.random.default_rng(0).normal(size=(60, 5))
LINE = np.linspace(0, 1, 40)[:, None] * np.ones(3)
FLAT = 1e7 + np.column_stack([np.linspace(0, 1000, 40), np.zeros(40)]).astype(np.float32)
PLACES = np.full((1, 2), 1e6)
CHAIN = np.diag(np.ones(7), 1) + np.diag(np.ones(7), -1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: MDS(solver=Majorisation(max_iter=3)).fit(X),
        lambda: MDS(solver=Majorisation(max_iter=3)).fit_transform(X),
        lambda: make_pipeline(StandardScaler(), MDS(solver=Majorisation(max_iter=3))).fit(X),
        lambda: MDS(solver=Majorisation(max_iter=3)).set_output(transform="pandas").fit_transform(X),
        lambda: TSNE(perplexity=30.0, schedule=Classical(early_iter=10, max_iter=10)).fit(X),
        lambda: PCA(n_components=2, whiten=True).fit(FLAT),
        lambda: Isomap(n_components=3, n_neighbors=2).fit(LINE),
        lambda: DiffusionMap(metric="affinity", alpha=0.0).fit(CHAIN),
        lambda: NeighborGraph(metric="jaccard").fit(X),
        lambda: lowfold.build_index(X, metric="jaccard"),
        lambda: UMAP(n_neighbors=5, schedule=Epochs(n_epochs=5)).fit(X).inverse_transform(PLACES),
    ],
    ids=[
        "fit", "fit_transform", "pipeline", "set_output", "neighbours", "whitening", "zeros", "bipartite", "graph",
        "index", "inverse_transform",
    ],
)  # fmt: skip
def test_a_warning_names_the_line_that_called_the_library(call: Callable[[], object]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert told
    assert {warning.filename for warning in told} == {__file__}
    assert {warning.lineno for warning in told} == {call.__code__.co_firstlineno}


def test_every_warning_of_the_library_is_made_by_the_one_function() -> None:
    package = Path(lowfold.__file__).parent
    callers = [path.name for path in package.rglob("*.py") if re.search(r"warnings\.warn\b", path.read_text("utf-8"))]
    assert callers == ["errors.py"]
