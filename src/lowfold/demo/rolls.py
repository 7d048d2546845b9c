"""Curves and sheets: the spiral, the swiss roll under every method, elastic embedding's path."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowfold import datasets, plot
from lowfold.comparison import Comparison, compare
from lowfold.force.elastic_embedding import ElasticEmbedding
from lowfold.force.homotopy import Homotopy
from lowfold.methods import METHODS
from lowfold.plot.canvas import pyplot
from lowfold.spectral.diffusion_map import DiffusionMap
from lowfold.spectral.pca import PCA

NEIGHBORS = 12
SIZE = 1000  # points of the swiss roll
COLUMNS, TITLE = 6, 10  # panels side by side, and the size of what stands above each


def spiral() -> tuple[Any, str, None]:
    """The spiral of the notes, its first principal component, and the first coordinate of a diffusion map."""
    X, position = datasets.spiral(500)
    linear = PCA(n_components=1).fit(X)
    diffusion = DiffusionMap(n_components=1, sigma=1.0).fit(X)
    figure, axes = pyplot().subplots(1, 3, figsize=(13, 4), layout="constrained")
    plot.scatter(X, position, ax=axes[0], title="the data, coloured by θ", legend=False)
    direction = linear.components_[0] * np.sqrt(linear.explained_variance_[0]) * 1.5
    axes[0].annotate(
        "", linear.mean_ + direction, linear.mean_, arrowprops={"arrowstyle": "->", "color": "#009E73", "lw": 2}
    )
    agreements = []
    for ax, model, name in (
        (axes[1], linear, "first principal component"),
        (axes[2], diffusion, "first diffusion coordinate"),
    ):
        Y = model.embedding_[:, 0]
        agreements.append(abs(np.corrcoef(_ranks(Y), _ranks(position))[0, 1]))
        ax.scatter(Y, position, c=position, cmap="cividis", s=8, linewidths=0)
        ax.set_xlabel(name)
        ax.set_ylabel("θ, scaled")
        ax.set_title(f"rank correlation with θ: {agreements[-1]:.4f}")
        ax.spines[["top", "right"]].set_visible(False)
    sentence = (
        f"Projected onto its first principal component (arrow) the spiral is a jumble; the first coordinate of the "
        f"diffusion map puts its points in the order of θ (rank correlation {agreements[1]:.4f})."
    )
    return figure, sentence, None


def every_method() -> tuple[Any, str, Comparison]:
    """All methods of the registry on the swiss roll, side by side."""
    X, sheet = datasets.swiss_roll(SIZE)
    found = compare(X, {name: _for_a_sheet(name) for name in METHODS})
    rows = -(-(len(found.maps) + 1) // COLUMNS)
    figure = pyplot().figure(figsize=(2.45 * COLUMNS, 2.6 * rows), layout="constrained")
    roll = figure.add_subplot(rows, COLUMNS, 1, projection="3d")
    roll.scatter(*X.T, c=sheet[:, 0], cmap="cividis", s=4, linewidths=0)
    roll.set_title("the data", fontsize=TITLE)
    roll.set_axis_off()
    roll.view_init(elev=8, azim=-72)
    roll.set_box_aspect((1, 1, 1), zoom=1.35)
    axes = [figure.add_subplot(rows, COLUMNS, number + 2) for number in range(len(found.maps))]
    for ax, entry in zip(axes, [e for e in found.entries if e.model is not None], strict=True):
        plot.scatter(entry.embedding, sheet[:, 0], ax=ax, legend=False, size=4)
        ax.set_title(f"{entry.name}, {entry.seconds:.2f} s", fontsize=TITLE)
    sentence = (
        f"{SIZE:,} points of a rolled-up sheet, coloured by their place along it. Isomap and the LLE family unroll it "
        f"(modified and Hessian LLE and LTSA as the square that it is), Laplacian eigenmaps and diffusion put it in "
        f"order along its length; PCA and scaling, which keep straight distances, cannot."
    )
    return figure, sentence, found


def _for_a_sheet(name: str) -> Any:
    """The method with so many neighbours that the turns of the roll are not joined."""
    method = METHODS[name]
    names = method.__dataclass_fields__
    if "n_neighbors" in names:
        return method(n_neighbors=NEIGHBORS)
    if name == "diffusion_map":
        return method(sigma=1.5)
    if name == "kernel_pca":
        return method(gamma=0.005)
    return method()


def homotopy() -> tuple[Any, str, None]:
    """Elastic embedding of the swiss roll from a vanishing repulsion on."""
    X, sheet = datasets.swiss_roll(SIZE)
    model = ElasticEmbedding(perplexity=10.0, strength=Homotopy(strength=1.0, steps=14)).fit(X)
    axes = plot.homotopy(model, sheet[:, 0], most=8)
    sentence = (
        "The swiss roll under elastic embedding: the minimum of its energy as the repulsion λ grows. At first "
        "everything lies near the "
        "lowest eigenvectors of the graph, then neighbours are pushed apart until the sheet is spread evenly."
    )
    return axes[0].figure, sentence, None


def _ranks(values: Any) -> Any:
    return np.argsort(np.argsort(values))
