"""Low-dimensional maps of high-dimensional data: one fast, reproducible core, one contract for every method."""

import sklearn  # noqa: F401, I001  first: the import was quicker so in every comparison, for a reason not yet found

from importlib.metadata import version

from lowfold import datasets
from lowfold.errors import BackendError, DataError, LowfoldError, MemoryLimitError, ParameterError
from lowfold.methods import METHODS
from lowfold.neighbors.components import connect
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.graph import NeighborGraph
from lowfold.neighbors.index import build_index
from lowfold.neighbors.interface import NeighborIndex
from lowfold.spectral.pca import PCA
from lowfold.types import Components, Neighbors, Report

__version__ = version("lowfold")

__all__ = [
    "METHODS",
    "PCA",
    "BackendError",
    "Cells",
    "Components",
    "DataError",
    "Exact",
    "LowfoldError",
    "MemoryLimitError",
    "NeighborGraph",
    "NeighborIndex",
    "Neighbors",
    "ParameterError",
    "Report",
    "__version__",
    "build_index",
    "connect",
    "datasets",
]
