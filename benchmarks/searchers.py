"""The neighbour searches under comparison, each as a function of data, k, metric and its own settings.

A library is imported only by the search that needs it, so that a process of one contestant holds nothing of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Setting: TypeAlias = Mapping[str, Any]
WARM_ROWS = 5000  # enough that a warm-up takes the same way through the code as the real data


@dataclass(frozen=True, slots=True)
class Found:
    """indices (n, k), or (n, k + 1) with each point among its own neighbours; the search's own estimate of its recall.

    The point itself is dropped by the judge, outside the time of the peers.
    """

    indices: Any
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class Searcher:
    """A search, the module it comes from, and whether the first call does work that later calls don't."""

    library: str
    search: Callable[[Any, int, str, Setting], Found]
    warms_up: bool = False

    def warm_up(self, X: Any, k: int, metric: str) -> None:
        """Two small calls of the same type, so that compilation and starting threads are over."""
        if self.warms_up:
            for _ in range(2):
                self.search(X[:WARM_ROWS], k, metric, {})


def lowfold_cells(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """Lowfold's search as it comes: exact where that takes but a moment."""
    import lowfold

    found = lowfold.build_index(X, metric=metric, **setting).query(None, k)
    return Found(found.indices, found.recall)


def lowfold_exact(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """Lowfold's exact search."""
    import lowfold

    found = lowfold.build_index(X, metric=metric, search="exact").query(None, k)
    return Found(found.indices, found.recall)


def nn_descent(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """pynndescent; it counts the point itself among the neighbours."""
    import pynndescent

    setting = {"n_neighbors": k + 1, **setting}
    return Found(pynndescent.NNDescent(X, metric=metric, random_state=0, **setting).neighbor_graph[0][:, : k + 1])


def faiss_ivf(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """An inverted file with exact vectors: nlist cells, of which nprobe are searched."""
    X = unit_rows(X) if metric == "cosine" else X
    index = ivf_index(X, setting)
    index.nprobe = setting["nprobe"]
    return Found(index.search(X, k + 1)[1])


def faiss_hnsw(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """A hierarchical navigable small-world graph."""
    X = unit_rows(X) if metric == "cosine" else X
    index = hnsw_index(X, setting)
    index.hnsw.efSearch = setting["efSearch"]
    return Found(index.search(X, k + 1)[1])


def faiss_flat(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """All distances."""
    import faiss

    X = unit_rows(X) if metric == "cosine" else X
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return Found(index.search(X, k + 1)[1])


def sklearn_brute(X: Any, k: int, metric: str, setting: Setting) -> Found:
    """All distances; scikit-learn drops the point itself."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric, n_jobs=-1).fit(X)
    return Found(search.kneighbors(return_distance=False))


def ivf_index(X: Any, setting: Setting) -> Any:
    """The trained and filled index, before nprobe is set."""
    import faiss

    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], setting["nlist"])
    index.train(X)
    index.add(X)
    return index


def hnsw_index(X: Any, setting: Setting) -> Any:
    """The filled index, before efSearch is set."""
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], setting["M"])
    index.hnsw.efConstruction = setting["efConstruction"]
    index.add(X)
    return index


def unit_rows(X: Any) -> Any:
    """Rows of length 1: among them euclidean distance orders like cosine distance."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


CELLS, EXACT, NN_DESCENT, IVF, HNSW, FLAT, BRUTE = (
    "lowfold cells", "lowfold exact", "pynndescent", "faiss IVF", "faiss HNSW", "faiss flat", "scikit-learn brute"
)  # fmt: skip
SEARCHERS = {
    CELLS: Searcher("lowfold", lowfold_cells, warms_up=True),
    EXACT: Searcher("lowfold", lowfold_exact, warms_up=True),
    NN_DESCENT: Searcher("pynndescent", nn_descent, warms_up=True),
    IVF: Searcher("faiss", faiss_ivf),
    HNSW: Searcher("faiss", faiss_hnsw),
    FLAT: Searcher("faiss", faiss_flat, warms_up=True),
    BRUTE: Searcher("sklearn.neighbors", sklearn_brute, warms_up=True),
}
