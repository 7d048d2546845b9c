"""The handwritten digits: the notes' diffusion map of 0 to 4, and every method on all ten."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from lowfold import datasets, plot
from lowfold.comparison import Comparison, compare
from lowfold.explorer import Contents, Scene, make_scene
from lowfold.explorer.panels import exploring
from lowfold.methods import METHODS
from lowfold.metrics import quality_curve
from lowfold.plot.canvas import pyplot
from lowfold.spectral.diffusion_map import DiffusionMap

TIMES = (1, 2, 4, 8, 16, 32)
PAIRS = ((0, 1), (1, 2), (0, 2), (2, 3))
OWN: dict[str, dict[str, Any]] = {"kernel_pca": {"gamma": 5e-4}}  # the default suits columns of variance 1
COMPARED = ("pca", "isomap", "laplacian_eigenmaps", "tsne", "umap")


@lru_cache(maxsize=1)
def _few() -> tuple[Any, Any, DiffusionMap]:
    X, label = datasets.digits()
    few = label < 5
    return X[few], label[few], DiffusionMap(n_components=4, alpha=0.0, t=1).fit(X[few])


@lru_cache(maxsize=1)
def _compared() -> Comparison:
    X, label = datasets.digits()
    return compare(X, {name: method(**OWN.get(name, {})) for name, method in METHODS.items()}, labels=label)


def drawn_digits() -> tuple[Any, str, None]:
    """The images at their places in the diffusion map."""
    X, label, model = _few()
    ax = plot.images(model.embedding_, X, label, across=26, title=f"diffusion map, t = 1, σ = {model.sigma_:.1f}")
    sentence = (
        f"{len(X)} images of the digits 0 to 4, drawn where the first two coordinates of the diffusion map put them, "
        f"framed by class."
    )
    return ax.figure, sentence, None


def times() -> tuple[Any, str, None]:
    """The diffusion map as time goes on."""
    _, label, model = _few()
    axes = plot.diffusion_times(model, label, times=TIMES)
    sentence = (
        "The same decomposition at t = 1 to 32, each panel in its own scale: as the walk goes on, coordinates with "
        "small eigenvalues fade first, and the slowest one is left."
    )
    return axes[0].figure, sentence, None


def pairs() -> tuple[Any, str, None]:
    """Other pairs of coordinates."""
    _, label, model = _few()
    maps = {f"coordinates {a + 1} and {b + 1}": model.embedding_[:, [a, b]] for a, b in PAIRS}
    axes = plot.grid(maps, label)
    sentence = (
        "Which digits look alike depends on the pair of coordinates that is drawn: classes that overlap in one pair "
        "separate in another."
    )
    return axes[0].figure, sentence, None


def every_method() -> tuple[Any, str, Comparison]:
    """All methods of the registry on the digits."""
    _, label = datasets.digits()
    found = _compared()
    maps = {
        f"{entry.name}, {entry.seconds:.2f} s": entry.embedding for entry in found.entries if entry.model is not None
    }
    axes = plot.grid(maps, label, columns=5)
    sentence = (
        "1,797 digits of 8 x 8 pixels under every method with its own defaults, on one neighbour search. The table "
        "judges each map by the neighbours that it keeps (k = 15), by distances, and by how well labels can be read."
    )
    return axes[0].figure, sentence, found


def trusted() -> tuple[Any, str, None]:
    """Per-point trust, quality curves and the Shepard diagram."""
    X, _ = datasets.digits()
    maps = _compared().maps
    figure, axes = pyplot().subplots(1, 3, figsize=(17, 4.8), layout="constrained")
    plot.trust(X, maps["tsne"], ax=axes[0])
    axes[0].set_title("t-SNE: " + axes[0].get_title())
    curves = {name: quality_curve(X, maps[name]) for name in COMPARED}
    plot.quality(X, curves, ax=axes[1], title="neighbours kept, chance taken out")
    plot.shepard(X, maps["pca"], ax=axes[2])
    axes[2].set_title("PCA: " + axes[2].get_title())
    best = max(curves, key=lambda name: curves[name].area.value)
    low, high = np.quantile(quality_curve(X, maps["tsne"]).area.per_point, (0.05, 0.95))
    sentence = (
        f"Left: the share of its 15 nearest that t-SNE keeps beside each point. Middle: R_NX over all sizes of "
        f"neighbourhoods (largest area: {best}; of single points under t-SNE from {low:.2f} to "
        f"{high:.2f}). Right: distances "
        f"in PCA's map over those in the data."
    )
    return figure, sentence, None


def scene() -> Scene:
    """All methods of the registry on the digits, with their images; of spectral ones several coordinates."""
    X, label = datasets.digits()
    entries = []
    for entry in _compared().entries:
        more = exploring(entry.name, X)
        if entry.model is not None and more:
            model = METHODS[entry.name](**OWN.get(entry.name, {}), **more).fit(X)
            entry = replace(entry, model=model, scores={})
        entries.append(entry)
    found = Comparison(entries, 0)
    return make_scene(X, found, labels=label, images=X, contents=Contents(title="Handwritten digits"))
