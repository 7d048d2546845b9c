"""The registry: every method by its name. Contract tests, command line and docs read it."""

from __future__ import annotations

from lowfold.estimator import Estimator
from lowfold.spectral.pca import PCA

METHODS: dict[str, type[Estimator]] = {
    "pca": PCA,
}
