"""Notions of distance: roads, two disks with a bottleneck, and the cut that finds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from lowfold import datasets, markov, plot
from lowfold.methods import METHODS
from lowfold.metrics import shepard_correlation
from lowfold.neighbors.geodesic import GeodesicGraph
from lowfold.neighbors.graph import NeighborGraph
from lowfold.plot.canvas import pyplot
from lowfold.spectral.diffusion_map import DiffusionMap
from lowfold.spectral.laplacian_eigenmaps import LaplacianEigenmaps

TIME = 100.0  # steps of the walk between the disks
SCALING = ("classical_mds", "mds", "sammon")


def cities() -> tuple[Any, str, None]:
    """The cities of eurodist by the scaling methods there are."""
    roads = datasets.eurodist()
    D = roads.distances
    methods = [name for name in SCALING if name in METHODS]
    figure, axes = pyplot().subplots(
        1, len(methods), figsize=(4.5 * len(methods), 4.0), layout="constrained", squeeze=False
    )
    agreements = []
    for ax, name in zip(axes[0], methods, strict=True):
        Y = METHODS[name](metric="precomputed").fit(D).embedding_
        Y = Y @ orthogonal_procrustes(Y, roads.kilometres)[0]  # turned and mirrored as on a map, nothing else
        agreements.append(f"{name} {shepard_correlation(D, Y, 'pearson', metric='precomputed').value:.3f}")
        plot.scatter(Y, ax=ax, title=name, size=18)
        ax.margins(0.1)
        plot.names(ax, Y, roads.cities)
    sentence = (
        f"21 cities from the road distances between them alone, turned so that north is up. Correlation of distances "
        f"on the map with those by road: {', '.join(agreements)}."
    )
    return figure, sentence, None


def disks() -> tuple[Any, str, None]:
    """Euclidean, geodesic and diffusion distance from B to A across the bottleneck, and to C beyond it."""
    from matplotlib.patheffects import withStroke

    X, _, (a, b, c) = datasets.two_disks()
    graph = NeighborGraph(n_neighbors=10).fit_transform(X)
    geodesic = GeodesicGraph(graph.maximum(graph.T).tocsr()).from_points(np.array([b]), 1)[0]
    model = DiffusionMap(n_components=30, sigma=0.12, alpha=0.0).fit(X)
    fields = {
        "straight": np.linalg.norm(X - X[b], axis=1),
        "shortest path": geodesic,
        f"diffusion, t = {TIME:g}": model.diffusion_distance(np.full(len(X), b), np.arange(len(X)), t=TIME),
    }
    figure, axes = pyplot().subplots(1, 3, figsize=(16, 4), layout="constrained")
    ratios = []
    for ax, (name, distance) in zip(axes, fields.items(), strict=True):
        ratios.append(f"{name} {distance[a] / distance[c]:.2f}")
        plot.scatter(X, distance, ax=ax, title=f"{name}: d(B,A) / d(B,C) = {distance[a] / distance[c]:.2f}")
        for point, letter in ((a, "A"), (b, "B"), (c, "C")):
            ax.plot(*X[point], "o", mfc="white", mec="black", ms=6)
            name = ax.annotate(letter, X[point], (6, 6), textcoords="offset points", fontsize=13, weight="bold")
            name.set_path_effects([withStroke(linewidth=3, foreground="white")])
    sentence = (
        f"Two disks joined by a narrow bridge, coloured by the distance from B. A lies across the "
        f"bridge, C in B's own disk. "
        f"d(B,A) / d(B,C): {', '.join(ratios)}. Straight and shortest ways hardly see the bottleneck, "
        f"the random walk does."
    )
    return figure, sentence, None


def sweep() -> tuple[Any, str, None]:
    """The cut of least conductance along the second eigenvector of the two disks' graph."""
    X, _, _ = datasets.two_disks()
    cut = markov.sweep_cut(LaplacianEigenmaps(n_neighbors=10).fit(X))
    figure, axes = pyplot().subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    plot.scatter(X, np.where(cut.members, "one side", "the other"), ax=axes[0], title="the best cut of the sweep")
    plot.sweep(cut, ax=axes[1], title="conductance of each prefix")
    low, high = cut.certificate
    sentence = (
        f"Points in the order of the second eigenvector; the best prefix cuts the bridge with "
        f"conductance h = {high:.4f}. By "
        f"Cheeger's inequality no set of points has less than λ/2 = {low:.4f}, and h ≤ √(2λ) = {np.sqrt(4 * low):.4f}."
    )
    return figure, sentence, None
