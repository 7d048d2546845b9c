"""How fast are ten eigenvectors of the walk on a million points found, and how near to a solution of many digits?

Laplacian eigenmaps of flow_1m with 15 neighbours, its time split into neighbours and eigenvectors; the peer is SciPy's
eigsh on the same matrix, at the loosest tolerance that is as accurate as ours.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import eigsh

import data
import fresh
import lowfold
import measure
from measure import Bar, Timed, timed

M, K = 10, 15
TRUSTED = 1e-9
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
PEER = "scipy eigsh"


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=1)
    X = data.load("flow_1m", smoke=chosen.smoke)
    model = lowfold.LaplacianEigenmaps(n_components=M, n_neighbors=K)
    runs = [_fit(model, X) for _ in range(chosen.repeat)]
    walk = model.random_walk()
    S = csr_matrix(walk.S)
    assess = partial(_quality, _eigsh(S, TRUSTED))
    entry = measure.entry([run.seconds for run in runs], [assess(run.result) for run in runs])
    rows = [
        measure.row(
            f"eigenvectors: LaplacianEigenmaps k={K}, {M} coordinates, flow_1m ({len(X):,} × {X.shape[1]})",
            entry,
            {PEER: _peer(S, assess, entry["quality"]["sine"])},
            Bar() if chosen.smoke else Bar(faster=5, ceilings={"sine": 0.05}),
        )
    ]
    measure.save(__file__, rows, smoke=chosen.smoke)
    for name in ("neighbours", "affinity"):
        seconds = measure.entry([model.report_.seconds[name]])
        rows.append(measure.row(f"{name}: the same fit", seconds, {}, Bar()))
        measure.save(__file__, rows, smoke=chosen.smoke)
    peak = measure.entry([fresh.in_new_process(__file__, "--peak")])
    rows.append(measure.row("memory: the same fit", peak, {}, Bar(value=4000), unit="MB"))
    measure.save(__file__, rows, smoke=chosen.smoke)


def _fit(model: Any, X: Any) -> Timed:
    """The seconds of the eigenvectors alone, and the eigenvectors of S."""
    Y = model.fit_transform(X)
    return Timed(model.report_.seconds["eigenvectors"], Y * np.sqrt(model.random_walk().degrees)[:, None])


def _peer(S: Any, assess: Any, accuracy: float) -> measure.Entry:
    """The first tolerance at which eigsh is as accurate as ours, or the tightest."""
    for tolerance in TOLERANCES:
        run = timed(partial(_eigsh, S, tolerance))
        quality = assess(run.result)
        if quality["sine"] <= max(accuracy, 1e-3):
            break
    return {**measure.entry([run.seconds], [quality]), "setting": {"tol": tolerance}}


def _eigsh(S: Any, tolerance: float) -> Any:
    start = np.random.default_rng(0).standard_normal(S.shape[0])
    values, vectors = eigsh(S, k=M + 1, which="LA", tol=tolerance, v0=start)
    return vectors[:, np.argsort(-values)[1:]]


def _quality(reference: Any, V: Any) -> dict[str, float]:
    return {"sine": float(np.sin(scipy.linalg.subspace_angles(np.asarray(V, np.float64), reference).max()))}


def _print_peak() -> None:
    lowfold.LaplacianEigenmaps(n_components=M, n_neighbors=K).fit(data.load("flow_1m"))
    print(fresh.peak() / 1e6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--peak", action="store_true")
    if parser.parse_known_args()[0].peak:
        _print_peak()
    else:
        main()
