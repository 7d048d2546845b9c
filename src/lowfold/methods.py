"""The registry: every method by its name. Contract tests, command line and docs read it."""

from __future__ import annotations

from lowfold.estimator import Estimator
from lowfold.force.elastic_embedding import ElasticEmbedding
from lowfold.force.sne import SNE
from lowfold.force.symmetric_sne import SymmetricSNE
from lowfold.force.tsne import TSNE
from lowfold.force.umap import UMAP
from lowfold.spectral.classical_mds import ClassicalMDS
from lowfold.spectral.diffusion_map import DiffusionMap
from lowfold.spectral.hessian_lle import HessianLLE
from lowfold.spectral.isomap import Isomap
from lowfold.spectral.kernel_pca import KernelPCA
from lowfold.spectral.laplacian_eigenmaps import LaplacianEigenmaps
from lowfold.spectral.lle import LLE
from lowfold.spectral.ltsa import LTSA
from lowfold.spectral.modified_lle import ModifiedLLE
from lowfold.spectral.pca import PCA
from lowfold.stress.mds import MDS
from lowfold.stress.sammon import Sammon

METHODS: dict[str, type[Estimator]] = {
    "pca": PCA,
    "kernel_pca": KernelPCA,
    "classical_mds": ClassicalMDS,
    "isomap": Isomap,
    "lle": LLE,
    "modified_lle": ModifiedLLE,
    "hessian_lle": HessianLLE,
    "ltsa": LTSA,
    "laplacian_eigenmaps": LaplacianEigenmaps,
    "diffusion_map": DiffusionMap,
    "mds": MDS,
    "sammon": Sammon,
    "sne": SNE,
    "symmetric_sne": SymmetricSNE,
    "tsne": TSNE,
    "elastic_embedding": ElasticEmbedding,
    "umap": UMAP,
}
