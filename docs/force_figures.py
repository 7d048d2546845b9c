"""Draws the figures of the force family: crowding against gaps, the homotopy of elastic embedding, rings of COIL-20.

    python docs/force_figures.py FOLDER [COIL20_NPZ]

Writes digits.png, homotopy.png and, with the data, coil20.png into the folder, and prints the numbers beside them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist

from lowfold import LLE, SNE, TSNE, ElasticEmbedding, Isomap, SymmetricSNE, datasets

POSES = 72  # of each object of COIL-20, five degrees apart


def main(folder: Path, coil: str | None) -> None:
    """Draws everything there are data for."""
    folder.mkdir(parents=True, exist_ok=True)
    digits(folder / "digits.png")
    homotopy(folder / "homotopy.png")
    if coil is not None:
        rings(folder / "coil20.png", coil)


def digits(path: Path) -> None:
    """SNE and symmetric SNE crowd the classes in the middle; t-SNE leaves gaps between them."""
    X, label = datasets.digits()
    figure, axes = plt.subplots(1, 4, figsize=(20, 5))
    for axis, method in zip(axes, (SNE, SymmetricSNE, ElasticEmbedding, TSNE), strict=True):
        Y = method().fit_transform(X)
        _scatter(axis, Y, label, f"{method.__name__}: gap {class_gap(Y, label):.2f}")
        print(f"{method.__name__}: gap between classes {class_gap(Y, label):.2f}")
    figure.savefig(path, dpi=60, bbox_inches="tight")


def class_gap(Y: Any, label: Any) -> float:
    """The median distance to another class, over that to the ten nearest points."""
    D = cdist(Y, Y)
    np.fill_diagonal(D, np.inf)
    other = np.where(label[:, None] == label, np.inf, D).min(axis=1)
    return float(np.median(other / np.sort(D, axis=1)[:, :10].mean(axis=1)))


def homotopy(path: Path) -> None:
    """A swiss roll at six strengths of the repulsion."""
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.random(3000)), 21 * rng.random(3000)
    X = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    model = ElasticEmbedding(perplexity=10.0).fit(X)
    figure, axes = plt.subplots(1, 6, figsize=(24, 4))
    for axis, (strength, Y) in zip(axes, model.path_[1::2], strict=True):
        _scatter(axis, Y, angle, f"strength {strength:.2g}", "viridis")
    figure.savefig(path, dpi=60, bbox_inches="tight")


def rings(path: Path, coil: str) -> None:
    """Each object's poses close into a loop under t-SNE: how many of the twenty?"""
    with np.load(coil) as arrays:
        X, label, pose = arrays["X"].astype(np.float32), arrays["y"], arrays["pose"]
    models = {"TSNE": TSNE(perplexity=10.0), "Isomap": Isomap(n_neighbors=6), "LLE": LLE(n_neighbors=6)}
    figure, axes = plt.subplots(1, 3, figsize=(21, 7))
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        Y = model.fit_transform(X)
        count = sum(is_ring(Y, label == c, pose) for c in np.unique(label))
        _scatter(axis, Y, label, f"{name}: {count} rings of 20", "tab20")
        print(f"{name}: {count} of 20 objects are rings")
    figure.savefig(path, dpi=60, bbox_inches="tight")


def is_ring(Y: Any, member: Any, pose: Any) -> bool:
    """Whether an object's poses, joined in their order, form a closed chain of short steps that keeps to itself.

    Nearly every step from a pose to the next, and the last to the first, is at most a third of the ring's width; it
    encloses a tenth of its width squared, which a line there and back does not; and nine in ten of its points have a
    point of the same object as their nearest neighbour.
    """
    own = Y[member][np.argsort(pose[member])]
    width = float(np.linalg.norm(own - own.mean(axis=0), axis=1).max() * 2)
    steps = np.linalg.norm(own - np.roll(own, -1, axis=0), axis=1)
    D = cdist(Y[member], Y)
    D[np.arange(len(D)), np.flatnonzero(member)] = np.inf
    at_home = float(member[D.argmin(axis=1)].mean())
    following = np.roll(own, -1, axis=0)
    area = abs(float((own[:, 0] * following[:, 1] - own[:, 1] * following[:, 0]).sum())) / 2
    closed = np.quantile(steps, 0.97) <= width / 3 and steps[-1] <= width / 3
    return bool(closed and area >= 0.1 * width**2 and at_home >= 0.9)


def _scatter(axis: Any, Y: Any, colour: Any, title: str, palette: str = "tab10") -> None:
    axis.scatter(Y[:, 0], Y[:, 1], c=colour, s=4, cmap=palette, linewidths=0)
    axis.set_title(title)
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "figures"), sys.argv[2] if len(sys.argv) > 2 else None)
