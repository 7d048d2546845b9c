"""The `lowfold` command."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from lowfold import datasets
from lowfold.backend import native, resources
from lowfold.errors import LowfoldError
from lowfold.methods import METHODS
from lowfold.neighbors.graph import NeighborGraph
from lowfold.options import parameters
from lowfold.spectral.diffusion_map import DiffusionMap
from lowfold.spectral.pca import PCA


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="lowfold", description="Low-dimensional maps of high-dimensional data.")
    parser.add_argument("--version", action="version", version=f"lowfold {version('lowfold')}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="what this installation runs on").set_defaults(run=info)
    commands.add_parser("methods", help="every method with its parameters").set_defaults(run=methods)
    commands.add_parser("demo", help="embed the digits and the spiral, and say what was done").set_defaults(run=demo)
    chosen = parser.parse_args(arguments)
    try:
        chosen.run()
    except LowfoldError as error:
        print(f"lowfold: {error}", file=sys.stderr)
        return 1
    return 0


def info() -> None:
    """Prints version, instruction set and cores."""
    print(f"lowfold {version('lowfold')}")
    print(f"kernels: {native.kernels.simd}")
    print(f"cores: {resources.thread_count(None)}")


def methods() -> None:
    """Prints each method's first line and its parameters, from their declarations."""
    for name, method in METHODS.items():
        print(f"{name}: {(method.__doc__ or '').splitlines()[0]}")
        for parameter in parameters(method):
            print(f"  {parameter.name} = {parameter.default!r}  the {parameter.option.help}")


def demo() -> None:
    """Embeds two small data sets with every method and prints what a person would want to know."""
    for title, (X, _) in {"digits": datasets.digits(), "spiral": datasets.spiral()}.items():
        print(f"{title}: {X.shape[0]} points in {X.shape[1]} dimensions")
        start = time.perf_counter()
        graph = NeighborGraph(n_neighbors=10).fit_transform(X)
        print(f"  neighbours: {graph.nnz} edges in {time.perf_counter() - start:.3f} s")
        for name, method in METHODS.items():
            model = method(n_components=2).fit(X)
            width, height = np.ptp(model.embedding_, axis=0)
            seconds = sum(model.report_.seconds.values())
            print(f"  {name}: in {seconds:.3f} s, {width:.3g} wide and {height:.3g} high")
            if hasattr(model, "explained_variance_ratio_"):
                print(f"    keeps {model.explained_variance_ratio_.sum():.1%} of the variance")
    _walk_along_the_spiral()


def _walk_along_the_spiral() -> None:
    """The first exercise of diffusion maps: one coordinate puts the points of a spiral in their order."""
    X, position = datasets.spiral()
    for method in (PCA, DiffusionMap):
        Y = method(n_components=1).fit_transform(X)[:, 0]
        ranks = np.argsort(np.argsort(Y)), np.argsort(np.argsort(position))
        agreement = float(np.asarray(np.corrcoef(*ranks))[0, 1])
        print(f"spiral: {method.__name__}'s first coordinate and the true order: {agreement:+.4f}")
