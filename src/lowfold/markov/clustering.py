"""Spectral clustering (Ng, Jordan, Weiss 2001; Shi and Malik 2000).

Points that a walk seldom leaves have nearly equal coordinates in the first eigenvectors of the walk: k groups need k
- 1 of them behind the constant one, and k-means finds the groups. Ng, Jordan and Weiss keep the constant one and
scale each point's coordinates to length 1, so that the degree of a point does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import Tags
from threadpoolctl import threadpool_limits

from lowfold import inputs
from lowfold.errors import ParameterError
from lowfold.estimator import Declaring
from lowfold.fitted import of_fitted
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.interface import SEEDED, metric_option, search_option
from lowfold.neighbors.radius import Within
from lowfold.options import n_jobs_option, option, random_state_option, seed_of, validate
from lowfold.spectral.laplacian_eigenmaps import Heat, LaplacianEigenmaps

LEAST_SHARE = 1e-3  # of steps that leave a cluster: below this all are equally good
FIRST_LOOK = 15  # eigenvalues, when the number is to be found; twice as many while all are those of clusters
STARTS = 10  # of k-means


class SpectralClustering(ClusterMixin, Declaring):
    """Clusters that the random walk on the neighbour graph seldom leaves.

    labels_ (n,), n_clusters_, eigenvalues_ (of the walk, largest first, the constant one's 1 included), map_ (the
    fitted LaplacianEigenmaps). predict(X) labels each new row by itself.
    """

    accepts = frozenset(inputs.NEIGHBOR_KINDS)

    n_clusters: int | None = option(
        None, low=1, help="number of clusters; None: where those of I - P grow most, as a ratio"
    )
    form: str = option(
        "njw", choices=("njw", "walk"), help="coordinates: scaled to length 1 (Ng, Jordan, Weiss) or the walk's own"
    )
    n_neighbors: int | Within = option(15, low=1, help="number of neighbours of each point, or Within(radius)")
    weights: str | Heat = option(
        "heat",
        choices=("heat", "binary"),
        help="weights of the edges: a heat kernel, by name or as Heat(sigma), or 0/1",
    )
    metric: str | Callable[..., float] = metric_option()
    search: str | Exact | Cells = search_option()
    n_jobs: int | None = n_jobs_option()
    random_state: int | np.random.RandomState | np.random.Generator | None = random_state_option(
        f"the starts of k-means and of {SEEDED}"
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns the clusters of X. `y` is ignored, as pipelines expect. One that fails leaves the model as it was."""
        with self._fitting():
            self._learn(X)
        return self

    def _learn(self, X: Any) -> None:
        from sklearn.cluster import KMeans

        validate(self)
        data = self._read(X, fitting=True)
        self._check(data.n)
        seed = seed_of(self.random_state)
        most = min(FIRST_LOOK, data.n - 1) if self.n_clusters is None else max(self.n_clusters - 1, 1)
        self._decompose(data, most, seed)
        while self.n_clusters is None and 1 - self.eigenvalues_[-1] <= LEAST_SHARE and most < data.n - 1:
            most = min(2 * most, data.n - 1)  # all of them belong to clusters of their own: there are more
            self._decompose(data, most, seed)
        self.n_clusters_ = self.n_clusters or clusters_by_gap(self.eigenvalues_)
        with threadpool_limits(limits=1):  # the result of k-means' own threads depends on their number
            means = KMeans(self.n_clusters_, n_init=STARTS, random_state=seed % 2**32)
            means.fit(self._coordinates(self.map_.embedding_))
        self.cluster_centers_ = means.cluster_centers_
        self.labels_ = self._nearest(self.map_.transform(data.values))  # equal rows get one label

    def _decompose(self, data: inputs.Data, m: int, seed: int) -> None:
        self.map_ = LaplacianEigenmaps(
            n_components=m,
            n_neighbors=self.n_neighbors,
            weights=self.weights,
            metric=self.metric,
            search=self.search,
            n_jobs=self.n_jobs,
            random_state=seed,
        ).fit(data.values)
        self.eigenvalues_ = np.append(1.0, self.map_.walk_eigenvalues_)

    @of_fitted
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Returns the cluster of each row of X by itself; a training row gets its own label."""
        data = self._read(X, fitting=False)
        return self._nearest(self.map_.transform(data.values))

    def _check(self, n: int) -> None:
        if n < 2 or (self.n_clusters or 1) >= n:
            raise ParameterError(
                f"n_clusters={self.n_clusters} needs more samples than that, and 2 at least, but X has n_samples = "
                f"{n}. Lower n_clusters, or pass more samples."
            )

    def _coordinates(self, Y: Any) -> NDArray[np.float64]:
        Y = np.asarray(Y, np.float64)[:, : max(self.n_clusters_ - 1, 1)]  # which may come as a table
        if self.form == "walk":
            return Y
        # The constant eigenvector of the walk, of the same length as the others.
        volume = float(self.map_.random_walk().degrees.sum())
        whole = np.hstack([np.full((len(Y), 1), volume**-0.5), Y])
        return whole / np.sqrt((whole**2).sum(axis=1))[:, None]

    def _nearest(self, Y: Any) -> NDArray[np.int32]:
        Z = self._coordinates(Y)
        distances = ((Z[:, None, :] - self.cluster_centers_[None]) ** 2).sum(axis=2)
        return np.argmin(distances, axis=1).astype(np.int32)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = None
        return tags


def clusters_by_gap(eigenvalues: NDArray[np.float64]) -> int:
    """k for which (1 - lam_k) / (1 - lam_{k-1}) is largest, the eigenvalues lam_0 = 1, lam_1, ... of the walk falling.

    1 - lam says how often a walk leaves a cluster at least; a ratio, since the eigenvalues behind the gap lie far apart
    themselves. Values below LEAST_SHARE count as that.
    """
    leaving = np.maximum(1 - eigenvalues, LEAST_SHARE)
    return 1 + int(np.argmax(leaving[1:] / leaving[:-1]))
