"""How good is an embedding: exact divergence on one common P, neighbours kept, ranks of distances.

The code belongs to no contestant: neighbours come from scikit-learn's brute force, the affinities from a bisection in
NumPy, sums over all pairs from NumPy in blocks.

"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors

BLOCK = 512
RECALL_K = 15
PAIRS = 200_000  # of which the distances are compared
TRUST_ROWS = 2000  # points whose trustworthiness is taken
ALL_ROWS = 70_000  # points up to which Z is summed over every pair; beyond, over the pairs of so many rows


@dataclass(frozen=True, slots=True)
class MapJudge:
    """What embeddings of one data set are judged by."""

    X: NDArray[np.float32]
    P: csr_array
    nearest: NDArray[np.intp]

    def quality(self, Y: Any) -> dict[str, float]:
        """Divergence, recall of the 15 nearest, trustworthiness and Spearman correlation of distances."""
        Y = np.ascontiguousarray(Y, np.float32)
        return {
            "KL": self.divergence(Y),
            "recall": self.recall(Y),
            "trustworthiness": self.trustworthiness(Y),
            "Spearman": self.rank_correlation(Y),
        }

    def divergence(self, Y: NDArray[np.float32]) -> float:
        """sum p log (p / q) with q = (1 + r)^-1 / Z."""
        P = self.P.tocoo()
        p = P.data
        total = 0.0
        for begin in range(0, len(p), 2**22):
            part = slice(begin, begin + 2**22)
            r = ((Y[P.row[part]] - Y[P.col[part]]).astype(np.float64) ** 2).sum(axis=1)
            total += float((p[part] * (np.log(p[part]) + np.log1p(r))).sum())
        return total + float(np.log(self.normalisation(Y)))

    def normalisation(self, Y: NDArray[np.float32]) -> float:
        """Z = sum over pairs of 1 / (1 + r)."""
        n = len(Y)
        rows = np.arange(n) if n <= ALL_ROWS else np.random.default_rng(0).choice(n, 20_000, replace=False)
        x, y = np.ascontiguousarray(Y[:, 0]), np.ascontiguousarray(Y[:, 1])

        def block(begin: int) -> float:
            part = rows[begin : begin + 32]
            r = x[part, None] - x
            r *= r
            s = y[part, None] - y
            s *= s
            r += s
            r += 1
            np.reciprocal(r, out=r)
            return float(r.sum(dtype=np.float64)) - len(part)

        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(block, range(0, len(rows), 32))) * n / len(rows)

    def recall(self, Y: NDArray[np.float32]) -> float:
        """The share of each point's 15 nearest that are among its 15 nearest in the embedding."""
        found = neighbors(Y, RECALL_K)[0]
        wanted = self.nearest[:, :RECALL_K]
        return float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, wanted, strict=True)]) / RECALL_K)

    def trustworthiness(self, Y: NDArray[np.float32]) -> float:
        """1 - the mean penalty for neighbours in the embedding by their rank in the data, on a sample of points."""
        n, k = len(Y), RECALL_K
        rows = np.random.default_rng(1).choice(n, min(TRUST_ROWS, n), replace=False)
        found = NearestNeighbors(n_neighbors=k + 1).fit(Y).kneighbors(Y[rows], return_distance=False)
        penalty = 0.0
        squares = (self.X.astype(np.float64) ** 2).sum(axis=1)
        for begin in range(0, len(rows), 64):
            part = rows[begin : begin + 64]
            D = squares[None] - 2 * (self.X[part] @ self.X.T).astype(np.float64)
            D[np.arange(len(part)), part] = -np.inf
            for i, row in enumerate(part):
                mine = [j for j in found[begin + i] if j != row][:k]
                ranks = (D[i][None] < D[i][mine][:, None]).sum(axis=1)  # itself is the first
                penalty += float(np.maximum(ranks - k, 0).sum())
        return 1 - penalty * 2 / (len(rows) * k * (2 * n - 3 * k - 1))

    def rank_correlation(self, Y: NDArray[np.float32]) -> float:
        """Spearman's correlation of distances in data and embedding, over random pairs."""
        a, b = np.random.default_rng(2).integers(len(Y), size=(2, PAIRS))
        inside = np.concatenate(
            [
                np.linalg.norm((self.X[a[part]] - self.X[b[part]]).astype(np.float64), axis=1)
                for part in np.array_split(np.arange(PAIRS), 200)  # images have too many pixels for all at once
            ]
        )
        outside = np.linalg.norm((Y[a] - Y[b]).astype(np.float64), axis=1)
        return float(spearmanr(inside, outside).statistic)


def judge_of(X: NDArray[np.float32], perplexity: float) -> MapJudge:
    """The judge of a data set: exact neighbours, and joint probabilities of the perplexity over 3 times as many."""
    k = min(int(3 * perplexity), len(X) - 1)
    indices, distances = neighbors(X, k)
    P = conditional(distances, perplexity)
    rows = np.repeat(np.arange(len(X)), k)
    one_way = csr_array((P.ravel(), (rows, indices.ravel())), shape=(len(X), len(X)))
    joint = csr_array((one_way + one_way.T) / (2 * len(X)))
    joint.eliminate_zeros()
    return MapJudge(X, joint, indices)


def neighbors(X: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(indices, distances) of each point's nearest, itself left out."""
    method = "kd_tree" if X.shape[1] <= 15 else "brute"
    distances, indices = NearestNeighbors(n_neighbors=k + 1, algorithm=method, n_jobs=2).fit(X).kneighbors(X)
    own = indices == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(len(X), k), distances[~own].reshape(len(X), k).astype(np.float64)


def conditional(distances: NDArray[np.float64], perplexity: float) -> NDArray[np.float64]:
    """Rows exp(-b d^2) / sum with entropy log(perplexity), by bisection of b."""
    s = distances**2 - distances[:, :1] ** 2
    low, high = np.full(len(s), 1e-12), np.full(len(s), 1e12)
    for _ in range(100):
        b = np.sqrt(low * high)[:, None]
        w = np.exp(-b * s)
        total = w.sum(axis=1)
        entropy = np.log(total) + (b * s * w).sum(axis=1) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, b[:, 0], low), np.where(wide, high, b[:, 0])
    return w / total[:, None]
