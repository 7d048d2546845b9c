"""Low-dimensional maps of high-dimensional data: one fast, reproducible core, one contract for every method."""

import sklearn  # noqa: F401, I001  first: the import was quicker so in every comparison, for a reason not yet found

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from lowfold import datasets, markov
from lowfold.errors import BackendError, DataError, FileError, LowfoldError, MemoryLimitError, ParameterError
from lowfold.force.elastic_embedding import ElasticEmbedding
from lowfold.force.homotopy import Homotopy
from lowfold.force.repulsion import Grid, Tree
from lowfold.force.fuzzy_graph import Fuzzy
from lowfold.force.sampled import Curve, Epochs
from lowfold.force.schedule import Annealed, Classical
from lowfold.force.sne import SNE
from lowfold.force.symmetric_sne import SymmetricSNE
from lowfold.force.tsne import TSNE
from lowfold.force.umap import UMAP
from lowfold.methods import METHODS
from lowfold.neighbors.components import connect
from lowfold.neighbors.engines import Cells, Exact
from lowfold.neighbors.graph import NeighborGraph
from lowfold.neighbors.index import build_index
from lowfold.neighbors.interface import NeighborIndex
from lowfold.neighbors.radius import Within
from lowfold.spectral.classical_mds import ClassicalMDS
from lowfold.spectral.diffusion_map import DiffusionMap, Significant, diffmap
from lowfold.spectral.hessian_lle import HessianLLE
from lowfold.spectral.isomap import Isomap
from lowfold.spectral.kernel_pca import KernelPCA
from lowfold.spectral.laplacian_eigenmaps import Heat, LaplacianEigenmaps
from lowfold.spectral.lle import LLE
from lowfold.spectral.ltsa import LTSA
from lowfold.spectral.modified_lle import ModifiedLLE
from lowfold.spectral.nearest_affinities import Nearest
from lowfold.spectral.pca import PCA
from lowfold.stress.majorise import GradientDescent, Majorisation
from lowfold.stress.mds import MDS
from lowfold.stress.measures import Shepard, Stresses, stresses
from lowfold.stress.ordinal import Nonmetric
from lowfold.stress.sammon import Sammon
from lowfold.stress.start import Starts
from lowfold.types import Components, Neighbors, Report, Step

__version__ = version("lowfold")

# Imported when they are used: what most programs do not need would lengthen the import of those that need none of it.
_LATER_MODULES = ("files", "metrics", "plot")
_LATER = {
    "Comparison": "lowfold.comparison",
    "Judging": "lowfold.comparison",
    "compare": "lowfold.comparison",
    "load": "lowfold.model_file",
    "save": "lowfold.model_file",
}

if TYPE_CHECKING:
    from lowfold import files, metrics, plot
    from lowfold.comparison import Comparison, Judging, compare
    from lowfold.model_file import load, save


def __getattr__(name: str) -> object:
    if name in _LATER_MODULES:
        return import_module(f"lowfold.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'lowfold' has no attribute {name!r}")


__all__ = [
    "LLE",
    "LTSA",
    "MDS",
    "METHODS",
    "PCA",
    "SNE",
    "TSNE",
    "UMAP",
    "Annealed",
    "BackendError",
    "Cells",
    "Classical",
    "ClassicalMDS",
    "Comparison",
    "Components",
    "Curve",
    "DataError",
    "DiffusionMap",
    "ElasticEmbedding",
    "Epochs",
    "Exact",
    "FileError",
    "Fuzzy",
    "GradientDescent",
    "Grid",
    "Heat",
    "HessianLLE",
    "Homotopy",
    "Isomap",
    "Judging",
    "KernelPCA",
    "LaplacianEigenmaps",
    "LowfoldError",
    "Majorisation",
    "MemoryLimitError",
    "ModifiedLLE",
    "Nearest",
    "NeighborGraph",
    "NeighborIndex",
    "Neighbors",
    "Nonmetric",
    "ParameterError",
    "Report",
    "Sammon",
    "Shepard",
    "Significant",
    "Starts",
    "Step",
    "Stresses",
    "SymmetricSNE",
    "Tree",
    "Within",
    "__version__",
    "build_index",
    "compare",
    "connect",
    "datasets",
    "diffmap",
    "files",
    "load",
    "markov",
    "metrics",
    "plot",
    "save",
    "stresses",
]
