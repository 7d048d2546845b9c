"""Point sets whose right embedding is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist


def swiss_roll(n: int, seed: int = 0) -> tuple[Any, Any]:
    """(X, sheet): points of a rolled-up rectangle, and their places in the rectangle."""
    rng = np.random.default_rng(seed)
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    height = 21 * rng.random(n)
    X = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    along = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2  # length of the spiral
    return X, np.column_stack([along, height])


def flat_sheet(n: int, seed: int = 0, dimensions: int = 3) -> tuple[Any, Any]:
    """(X, sheet): points of a rectangle in a plane of a higher space."""
    rng = np.random.default_rng(seed)
    sheet = rng.random((n, 2)) * [2, 1]
    frame = np.linalg.qr(rng.standard_normal((dimensions, 2)))[0]
    return sheet @ frame.T + rng.standard_normal(dimensions), sheet


def subspace_sine(A: Any, B: Any) -> float:
    """The sine of the largest angle between the spans of the columns of A and B."""
    return float(np.sin(scipy.linalg.subspace_angles(np.asarray(A, float), np.asarray(B, float)).max()))


def unexplained(Y: Any, sheet: Any) -> float:
    """The share of the variance of `sheet` that no affine function of Y explains."""
    A = np.column_stack([np.ones(len(Y)), np.asarray(Y, float) / np.abs(Y).max(axis=0)])
    rest = sheet - A @ np.linalg.lstsq(A, sheet, rcond=None)[0]
    return float((rest**2).sum() / ((sheet - sheet.mean(axis=0)) ** 2).sum())


def up_to_signs(A: Any, B: Any) -> float:
    """The largest difference after the columns of A are turned to the signs of those of B, relative to B."""
    signs = np.sign((A * B).sum(axis=0))
    return float(np.abs(A * signs - B).max() / np.abs(B).max())


def conditional_by_definition(X, perplexity):
    """Gaussian affinities of each point to its 3 perplexity nearest, by bisection, written out."""
    D = cdist(X, X, "sqeuclidean")
    n, k = len(X), int(3 * perplexity)
    P = np.zeros((n, n))
    for i in range(n):
        order = np.argsort(D[i], kind="stable")
        near = order[order != i][:k]
        low, high = -60.0, 60.0
        for _ in range(200):
            w = np.exp(-np.exp((low + high) / 2) * (D[i, near] - D[i, near].min()))
            p = w / w.sum()
            wide = -(p * np.log(np.maximum(p, 1e-300))).sum() > np.log(perplexity)
            low, high = ((low + high) / 2, high) if wide else (low, (low + high) / 2)
        P[i, near] = p
    return P


def joint_by_definition(X, perplexity):
    """The joint probabilities of t-SNE, written out."""
    P = conditional_by_definition(X, perplexity)
    return (P + P.T) / (2 * len(X))
