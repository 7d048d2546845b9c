"""The contestants of the spectral benchmark: each a function from data to an embedding, with equal settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import lowfold

Fit: TypeAlias = Callable[[Any], Any]

SKLEARN, TAPKEE = "scikit-learn", "tapkee"
KERNEL_GAMMA = 1e-6  # grey values up to 255: about one over their variance


def ours(model: Any) -> Fit:
    """A fit of one of our methods."""
    return lambda X: model.fit_transform(X)


def sklearn_isomap(X: Any, k: int = 10) -> Any:
    """All pairs by Dijkstra's algorithm."""
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=k).fit_transform(X)


def sklearn_lle(X: Any, method: str, k: int = 12) -> Any:
    """The LLE family."""
    from sklearn.manifold import LocallyLinearEmbedding

    return LocallyLinearEmbedding(n_neighbors=k, method=method, random_state=0).fit_transform(X)


def sklearn_eigenmaps(X: Any, solver: str, k: int = 15, tolerance: float | str = "auto") -> Any:
    """Spectral embedding of the graph in which one of two points is a neighbour of the other, weights 0 and 1."""
    from sklearn.manifold import SpectralEmbedding
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, k, n_jobs=-1)
    W = graph.maximum(graph.T)
    model = SpectralEmbedding(affinity="precomputed", eigen_solver=solver, eigen_tol=tolerance, random_state=0)
    return model.fit_transform(W)


def sklearn_kernel_pca(X: Any) -> Any:
    """RBF of the same width as ours."""
    from sklearn.decomposition import KernelPCA

    return KernelPCA(2, kernel="rbf", gamma=KERNEL_GAMMA, random_state=0).fit_transform(X)


def sklearn_classical(X: Any) -> Any:
    """From the rows, as ours."""
    from sklearn.manifold import ClassicalMDS

    return ClassicalMDS(2).fit_transform(X)


def tapkee(X: Any, method: str, k: int = 12, width: float = 1.0) -> Any:
    """tapkee wants one column for each point."""
    import tapkee as peer

    columns = np.asfortranarray(X.T, np.float64)
    return peer.embed(columns, method=method, num_neighbors=k, target_dimension=2, gaussian_kernel_width=width)


FAMILY = {
    "ModifiedLLE": (lowfold.ModifiedLLE, "modified", None),
    "HessianLLE": (lowfold.HessianLLE, "hessian", "hessian_locally_linear_embedding"),
    "LTSA": (lowfold.LTSA, "ltsa", "local_tangent_space_alignment"),
}


def family(name: str) -> dict[str, Fit]:
    """One of the LLE family against the peers that have it."""
    cls, sklearn_name, tapkee_name = FAMILY[name]
    fits: dict[str, Fit] = {
        "lowfold": ours(cls(n_neighbors=12)),
        SKLEARN: partial(sklearn_lle, method=sklearn_name),
    }
    return fits | ({TAPKEE: partial(tapkee, method=tapkee_name)} if tapkee_name else {})
