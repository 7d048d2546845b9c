"""`save` and `load` of fitted models."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lowfold.errors import FileError, LowfoldError
from lowfold.estimator import Declaring
from lowfold.markov.clustering import SpectralClustering
from lowfold.methods import METHODS
from lowfold.model_file import container
from lowfold.model_file.checks import check_model
from lowfold.model_file.codec import Decoder, Encoder
from lowfold.neighbors.graph import NeighborGraph

FORMAT = 1
NAMES = {cls: name for name, cls in METHODS.items()} | {
    cls: cls.__name__ for cls in (SpectralClustering, NeighborGraph)
}


def save(model: Declaring, path: Any) -> None:
    """Writes a fitted model to the file at path, whole or not at all.

    Functions (a metric, a callback) cannot be stored.
    """
    check_is_fitted(model)
    encoder = Encoder()
    tree = encoder.tree(model, type(model).__name__)
    header = {
        "format": FORMAT,
        "lowfold": version("lowfold"),
        "method": NAMES.get(type(model), type(model).__name__),
        "model": tree,
    }
    container.write(path, header, encoder.arrays)


def load(path: Any) -> Any:
    """The fitted model in the file at path, by `save`. A file that is damaged or made to harm raises FileError."""
    header, arrays = container.read(path)
    if header.get("format") != FORMAT:
        raise FileError(
            f"{path} has format {header.get('format')!r}, written by lowfold {header.get('lowfold')!r}; this version "
            f"reads format {FORMAT}. Upgrade lowfold."
        )
    try:
        model = Decoder(arrays).value(header.get("model"))
        if not isinstance(model, Declaring):
            raise FileError(f"{path} holds no model.")
        check_model(model)
    except LowfoldError as error:
        raise FileError(f"{path}: {error}") from error
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise FileError(f"{path} holds parts that make no model ({type(error).__name__}: {error}).") from error
    return model
