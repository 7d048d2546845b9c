"""Whether two embeddings are the same up to rotation, reflection, shift and size; and how much a seed changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lowfold.arguments import telling
from lowfold.backend import blas
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import Estimator
from lowfold.metrics.coranking import neighbor_recall
from lowfold.metrics.score import ARGUMENTS, Sampling, Score, read_embedding
from lowfold.types import Floats


def procrustes_distance(A: Any, B: Any, *, scaled: bool = True) -> Score:
    """sqrt(min |A - s B R|^2 / |A|^2) over rotations R and sizes s, both centred: 0: the same, 1: nothing in common.

    Its square is SciPy's disparity. per_point: how far each point of B lies from its place in A, in units of A's
    root mean square size; the value is the root mean square of it. s = |A| / |B| if not `scaled`.
    """
    first, second = _centred(A, "A"), _centred(B, "B")
    if len(first) != len(second):
        raise DataError(f"A has {len(first)} points and B has {len(second)}. Pass two embeddings of the same points.")
    wide = max(first.shape[1], second.shape[1])
    first, second = (np.pad(Y, ((0, 0), (0, wide - Y.shape[1]))) for Y in (first, second))
    residual = first - aligned(first, second, scaled=scaled)
    lengths = np.linalg.norm(residual, axis=1)
    return Score(float(np.sqrt(np.mean(lengths**2))), 0.0, lengths, np.arange(len(first)))


def aligned(A: NDArray[np.float64], B: NDArray[np.float64], *, scaled: bool = True) -> NDArray[np.float64]:
    """B, turned, and sized, to lie on A; both centred and of size 1, of the same shape."""
    with blas.single_threaded():
        U, sizes, Vt = np.linalg.svd(B.T @ A / len(A))
        factor = float(sizes.sum()) if scaled else 1.0
        return np.asarray(factor * (B @ (U @ Vt)))


@dataclass(frozen=True, slots=True)
class Stability:
    """How much the seed changes an embedding: over pairs of seeds, the Procrustes distance and the recall.

    Each a Score: the mean over pairs, the standard error over seeds, and the mean at each point. maps: the embeddings.
    """

    distance: Score
    recall: Score
    seeds: tuple[int, ...]
    maps: list[Floats] = field(repr=False)

    def __str__(self) -> str:
        return f"over {len(self.seeds)} seeds: Procrustes distance {self.distance}, neighbour recall {self.recall}"


@telling(ARGUMENTS)
def stability(
    model: Estimator, X: Any, seeds: Sequence[int] = (0, 1, 2, 3, 4), *, k: int = 15, sample: Sampling = "auto"
) -> Stability:
    """Fits clones of the model with several seeds to X and compares their embeddings, pair by pair.

    By their Procrustes distance, and by the share of the k nearest that both have.
    """
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise ParameterError(f"model={model!r} must be an estimator. Pass for example UMAP().")
    if "random_state" not in model.get_params():
        raise ParameterError(f"{type(model).__name__} has no random_state: every fit gives the same embedding.")
    seeds = tuple(int(seed) for seed in seeds)
    if len(set(seeds)) < 2:
        raise ParameterError(f"seeds={seeds!r} must be at least two different ones. Use for example seeds=range(5).")
    maps = [clone(model).set_params(random_state=seed).fit(X).embedding_ for seed in seeds]
    pairs = list(combinations(range(len(seeds)), 2))
    distances = [procrustes_distance(maps[a], maps[b]) for a, b in pairs]
    recalls = [neighbor_recall(maps[a], maps[b], k, sample=sample) for a, b in pairs]
    return Stability(_over_pairs(distances, pairs), _over_pairs(recalls, pairs), seeds, maps)


def _over_pairs(scores: list[Score], pairs: list[tuple[int, int]]) -> Score:
    """The mean; its error by leaving out one seed at a time, since pairs share their seeds."""
    values = np.array([score.value for score in scores])
    count = max(b for _, b in pairs) + 1
    without = [values[[seed not in pair for pair in pairs]] for seed in range(count)]
    kept = np.array([part.mean() for part in without if len(part)])
    error = float(np.sqrt((count - 1) / count * np.square(kept - kept.mean()).sum())) if len(kept) > 1 else 0.0
    per_point = np.mean([score.per_point for score in scores], axis=0)
    return Score(float(values.mean()), error, per_point, scores[0].points)


def _centred(Y: Any, name: str) -> NDArray[np.float64]:
    values = np.asarray(read_embedding(Y, name=name), np.float64)
    values = values - values.mean(axis=0)
    size = np.sqrt(np.mean(np.square(values).sum(axis=1)))
    if not size > 0:
        raise DataError(f"All points of {name} lie in one place, so it has no size to compare. Pass another embedding.")
    return values / size
