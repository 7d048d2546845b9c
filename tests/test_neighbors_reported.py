"""What the report of a fit says about its neighbour graph: the share of neighbours found, components and bridges."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowfold
from conftest import FORCE_METHODS, SHORT, cloud, declared, model_of, name_of
from lowfold import UMAP, DiffusionMap, Isomap, LaplacianEigenmaps, Nearest, Within, build_index
from lowfold.neighbors import engines

SEARCHING = [cls for cls in lowfold.METHODS.values() if declared(cls) & {"n_neighbors", "perplexity"}] + [DiffusionMap]
JOINING = [cls for cls in SEARCHING if "components" in declared(cls)] + [DiffusionMap]


def searching(cls, **changes):
    """An unfitted method that looks for six neighbours of each point."""
    own = {DiffusionMap: {"graph": Nearest(k=6)}, UMAP: {"n_neighbors": 7}}.get(cls, {})
    return model_of(cls, **own, **({"schedule": SHORT} if cls in FORCE_METHODS else {}), **changes)


def two_groups():
    """Points of two groups far apart, in mixed order, and which of them are in the larger one."""
    larger = np.random.default_rng(0).permutation(np.arange(70) < 40)
    return np.where(larger[:, None], cloud(70, 4), cloud(70, 4, seed=1) + 50), larger


# Recall


@pytest.mark.filterwarnings("ignore:The loss still fell")
@pytest.mark.parametrize("work", [engines.EXACT_WORK, 0], ids=["exact", "approximate"])
@pytest.mark.parametrize("cls", SEARCHING, ids=name_of)
def test_the_report_says_which_share_of_the_neighbours_was_found(cls, work, monkeypatch):
    monkeypatch.setattr(engines, "EXACT_WORK", work)
    X = cloud(600, 30)
    recall = build_index(X).query(None, 6).recall
    assert (recall == 1) == (work > 0)
    report = searching(cls).fit(X).report_
    assert report.findings["neighbour recall"] == recall
    assert f"neighbour recall: {recall}" in str(report)


@pytest.mark.parametrize("cls", [Isomap, LaplacianEigenmaps], ids=name_of)
def test_the_share_of_the_neighbours_within_a_radius_is_said_too(cls):
    X = cloud(1000, 3)
    exact, approximate = (cls(n_neighbors=Within(radius=1.0), search=search).fit(X) for search in ("exact", "cells"))
    assert exact.report_.findings["neighbour recall"] == 1
    assert 0.98 < approximate.report_.findings["neighbour recall"] <= 1


# Components


@pytest.mark.parametrize("cls", JOINING, ids=name_of)
def test_two_far_groups_are_said_and_joined_by_their_shortest_bridge(cls):
    X, larger = two_groups()
    report = searching(cls).fit(X).report_
    between = cdist(X[~larger], X[larger])
    a, b = np.unravel_index(between.argmin(), between.shape)
    assert report.findings["components"] == "2, of sizes 40, 30"
    assert report.findings["component policy"] == "join"
    found = re.fullmatch(r"(\d+)-(\d+) \((.+)\)", report.findings["bridges"])
    assert {int(found[1]), int(found[2])} == {np.flatnonzero(~larger)[a], np.flatnonzero(larger)[b]}
    assert float(found[3]) == pytest.approx(between.min(), rel=5e-3)  # three digits
    assert f"components: 2, of sizes 40, 30\ncomponent policy: join\nbridges: {found[0]}" in str(report)


def test_umap_says_the_sizes_of_two_far_groups_and_builds_no_bridge():
    X, _ = two_groups()
    findings = searching(UMAP).fit(X).report_.findings
    assert findings["components"] == "2, of sizes 40, 30"
    assert findings["component policy"] == "separate"
    assert "bridges" not in findings
