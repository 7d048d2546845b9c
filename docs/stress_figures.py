"""Draws the figures of the stress family: road distances of European cities by three methods, and a Shepard diagram.

    python docs/stress_figures.py FOLDER

Writes eurodist.png and shepard.png into the folder, and prints how far each map is from the compass.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes

from lowfold import MDS, ClassicalMDS, Sammon, datasets, stresses


def main(folder: Path) -> None:
    """Draws everything."""
    folder.mkdir(parents=True, exist_ok=True)
    cities(folder / "eurodist.png")
    shepard(folder / "shepard.png")


def cities(path: Path) -> None:
    """Classical, metric, non-metric and Sammon maps, turned and mirrored to the compass."""
    data = datasets.eurodist()
    models = {
        "ClassicalMDS": ClassicalMDS(metric="precomputed"),
        "MDS": MDS(metric="precomputed"),
        "MDS, nonmetric": MDS(metric="precomputed", scaling="nonmetric"),
        "Sammon": Sammon(metric="precomputed"),
    }
    figure, axes = plt.subplots(2, 2, figsize=(18, 16))
    for axis, (name, model) in zip(axes.ravel(), models.items(), strict=True):
        Y = to_the_compass(model.fit_transform(data.distances), data.kilometres)
        stress = stresses(data.distances, Y).normalized
        off = float(np.sqrt(np.square(Y / road_factor(Y, data.kilometres) - data.kilometres).sum(axis=1).mean()))
        print(f"{name}: stress {stress:.5f}, {off:.0f} km from the map on the root mean square")
        axis.scatter(*Y.T, s=20)
        for place, city in zip(Y, data.cities, strict=True):
            axis.annotate(city, place, xytext=(4, 2), textcoords="offset points", fontsize=11)
        axis.set_title(f"{name}: stress {stress:.4f}")
        axis.set_aspect("equal")
        axis.set_xlabel("east (km by road)")
        axis.set_ylabel("north")
    figure.savefig(path, dpi=55, bbox_inches="tight")


def to_the_compass(Y: Any, places: Any) -> Any:
    """Y turned and mirrored, not scaled, so that it lies on the places as well as it can."""
    Y = Y - Y.mean(axis=0)
    turn, _ = orthogonal_procrustes(Y, places - places.mean(axis=0))
    return Y @ turn


def road_factor(Y: Any, places: Any) -> float:
    """How much longer the map's distances are than those as the crow flies: roads wind."""
    return float((Y**2).sum() / (Y * places).sum())


def shepard(path: Path) -> None:
    """What was wanted beside what came out: 300 digits, metric, Sammon and non-metric."""
    X, _ = datasets.digits()
    models = {"MDS": MDS(), "Sammon": Sammon(), "MDS, nonmetric": MDS(scaling="nonmetric")}
    figure, axes = plt.subplots(1, 3, figsize=(21, 7))
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        pairs = model.fit(X[:300]).shepard(max_pairs=10_000)
        order = np.argsort(pairs.dissimilarity)
        axis.scatter(pairs.dissimilarity, pairs.distance, s=2, alpha=0.4, linewidths=0)
        axis.plot(pairs.dissimilarity[order], pairs.disparity[order], color="black", linewidth=1)
        axis.set_title(f"{name}: stress-1 {model.stress_1_:.3f}")
        axis.set_xlabel("dissimilarity")
        axis.set_ylabel("distance, and disparity (line)")
    figure.savefig(path, dpi=55, bbox_inches="tight")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "figures"))
