"""Low-dimensional maps of high-dimensional data: one fast, reproducible core, one contract for every method.

Everything is imported when it is first used: a program waits for the parts that it needs, and for no others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lowfold import datasets, explorer, files, markov, metrics, plot
    from lowfold.comparison import Comparison, compare
    from lowfold.errors import BackendError, DataError, FileError, LowfoldError, MemoryLimitError, ParameterError
    from lowfold.explorer.opening import Serving, explore
    from lowfold.force.elastic_embedding import ElasticEmbedding
    from lowfold.force.fuzzy_graph import Fuzzy
    from lowfold.force.homotopy import Homotopy
    from lowfold.force.repulsion import Grid, Tree
    from lowfold.force.sampled import Curve, Epochs
    from lowfold.force.schedule import Annealed, Classical
    from lowfold.force.sne import SNE
    from lowfold.force.symmetric_sne import SymmetricSNE
    from lowfold.force.tsne import TSNE
    from lowfold.force.umap import UMAP
    from lowfold.judging import Judging
    from lowfold.methods import METHODS
    from lowfold.model_file import load, save
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

__version__: str  # asked for seldom, and slow to find

_PACKAGES = ("datasets", "explorer", "files", "markov", "metrics", "plot")
_NAMES = {
    "lowfold.comparison": ("Comparison", "compare"),
    "lowfold.errors": ("BackendError", "DataError", "FileError", "LowfoldError", "MemoryLimitError", "ParameterError"),
    "lowfold.explorer.opening": ("Serving", "explore"),
    "lowfold.force.elastic_embedding": ("ElasticEmbedding",),
    "lowfold.force.fuzzy_graph": ("Fuzzy",),
    "lowfold.force.homotopy": ("Homotopy",),
    "lowfold.force.repulsion": ("Grid", "Tree"),
    "lowfold.force.sampled": ("Curve", "Epochs"),
    "lowfold.force.schedule": ("Annealed", "Classical"),
    "lowfold.force.sne": ("SNE",),
    "lowfold.force.symmetric_sne": ("SymmetricSNE",),
    "lowfold.force.tsne": ("TSNE",),
    "lowfold.force.umap": ("UMAP",),
    "lowfold.judging": ("Judging",),
    "lowfold.methods": ("METHODS",),
    "lowfold.model_file": ("load", "save"),
    "lowfold.neighbors.components": ("connect",),
    "lowfold.neighbors.engines": ("Cells", "Exact"),
    "lowfold.neighbors.graph": ("NeighborGraph",),
    "lowfold.neighbors.index": ("build_index",),
    "lowfold.neighbors.interface": ("NeighborIndex",),
    "lowfold.neighbors.radius": ("Within",),
    "lowfold.spectral.classical_mds": ("ClassicalMDS",),
    "lowfold.spectral.diffusion_map": ("DiffusionMap", "Significant", "diffmap"),
    "lowfold.spectral.hessian_lle": ("HessianLLE",),
    "lowfold.spectral.isomap": ("Isomap",),
    "lowfold.spectral.kernel_pca": ("KernelPCA",),
    "lowfold.spectral.laplacian_eigenmaps": ("Heat", "LaplacianEigenmaps"),
    "lowfold.spectral.lle": ("LLE",),
    "lowfold.spectral.ltsa": ("LTSA",),
    "lowfold.spectral.modified_lle": ("ModifiedLLE",),
    "lowfold.spectral.nearest_affinities": ("Nearest",),
    "lowfold.spectral.pca": ("PCA",),
    "lowfold.stress.majorise": ("GradientDescent", "Majorisation"),
    "lowfold.stress.mds": ("MDS",),
    "lowfold.stress.measures": ("Shepard", "Stresses", "stresses"),
    "lowfold.stress.ordinal": ("Nonmetric",),
    "lowfold.stress.sammon": ("Sammon",),
    "lowfold.stress.start": ("Starts",),
    "lowfold.types": ("Components", "Neighbors", "Report", "Step"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"lowfold.{name}")
    if name == "__version__":
        return globals().setdefault(name, import_module("importlib.metadata").version("lowfold"))
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'lowfold' has no attribute {name!r}")
    # From within our modules this would take a tenth of a second longer: where calls are so deep that a part of its
    # stack ends, Python 3.11 takes new memory and gives it back at each of them.
    import sklearn  # noqa: F401

    found = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


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
    "Serving",
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
    "explore",
    "explorer",
    "files",
    "load",
    "markov",
    "metrics",
    "plot",
    "save",
    "stresses",
]
