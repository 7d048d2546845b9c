"""How fast are the spectral methods, how near are they to their peers' result, and in how much memory do they fit?

Quality is the sine of the largest angle between the plane of an embedding and that of a reference: the first peer's
embedding, or a solution to many digits. On the swiss roll also the share of the sheet that the embedding misses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.datasets import make_swiss_roll

import data
import fresh
import lowfold
import measure
from measure import Bar, timed
from spectral_peers import (
    KERNEL_GAMMA,
    SKLEARN,
    TAPKEE,
    Fit,
    family,
    ours,
    sklearn_classical,
    sklearn_eigenmaps,
    sklearn_isomap,
    sklearn_kernel_pca,
    sklearn_lle,
    tapkee,
)

OURS = "lowfold"
SMOKE_ROWS = 700
GB = 1000  # MB


@dataclass(frozen=True, slots=True)
class Case:
    """Work, data, contestants, bar; peers may be given other data; a limit of memory in MB."""

    work: str
    load: Callable[[], Any]
    fits: Mapping[str, Fit]
    bar: Bar
    peer_rows: int | None = None
    memory: float | None = None
    sheet: Callable[[], Any] | None = field(default=None)


def roll(n: int) -> Any:
    """A swiss roll, float64."""
    return make_swiss_roll(n, random_state=0)[0]


def sheet(n: int) -> Any:
    """The places of its points on the sheet: length along the spiral, and height."""
    X, t = make_swiss_roll(n, random_state=0)
    return np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, X[:, 1]])


def mnist(n: int) -> Any:
    """The first rows of MNIST in 50 dimensions."""
    return np.ascontiguousarray(data.load("mnist50")[:n])


def on_roll(n: int) -> dict[str, Any]:
    """Data and sheet of a case."""
    return {"load": partial(roll, n), "sheet": partial(sheet, n)}


EIGENMAPS = {OURS: ours(lowfold.LaplacianEigenmaps(n_neighbors=15, weights="binary"))}
EVERY_SOLVER = {
    f"{SKLEARN} {name}": partial(sklearn_eigenmaps, solver=name) for name in ("arpack", "lobpcg", "amg")
} | {f"{SKLEARN} amg, eigen_tol=1e-5": partial(sklearn_eigenmaps, solver="amg", tolerance=1e-5)}
CLOSE = {"sine": 1e-2}
WIDTH = 2.0  # of the diffusion kernel on the roll: tapkee's is exp(-d^2 / width), ours exp(-d^2 / (2 sigma^2))

CASES = (
    Case(
        "Isomap k=10, swiss roll",
        **on_roll(10_000),
        fits={OURS: ours(lowfold.Isomap(n_neighbors=10)), SKLEARN: sklearn_isomap},
        bar=Bar(faster=20, ceilings=CLOSE),
    ),
    Case(
        "Isomap with 1,000 landmarks, mnist50 70,000, against all of 10,000",
        load=partial(mnist, 70_000),
        fits={OURS: ours(lowfold.Isomap(n_neighbors=10, landmarks=1000)), SKLEARN: sklearn_isomap},
        bar=Bar(faster=5),
        peer_rows=10_000,
        memory=2 * GB,
    ),
    Case(
        "LLE k=12, mnist50 10,000",
        load=partial(mnist, 10_000),
        fits={OURS: ours(lowfold.LLE(n_neighbors=12)), SKLEARN: partial(sklearn_lle, method="standard")},
        bar=Bar(faster=6, ceilings=CLOSE),
    ),
    Case(
        "LLE k=12, swiss roll 10,000",
        **on_roll(10_000),
        fits={OURS: ours(lowfold.LLE(n_neighbors=12)), SKLEARN: partial(sklearn_lle, method="standard")},
        bar=Bar(faster=3, ceilings=CLOSE),
    ),
    *(
        Case(
            f"{name} k=12, swiss roll 10,000",
            **on_roll(10_000),
            fits=family(name),
            bar=Bar(
                faster_than={SKLEARN: 15} | ({TAPKEE: 6} if TAPKEE in family(name) else {}), ceilings={"missed": 0.01}
            ),
        )
        for name in ("ModifiedLLE", "HessianLLE", "LTSA")
    ),
    Case(
        "LaplacianEigenmaps k=15, mnist50 20,000",
        load=partial(mnist, 20_000),
        fits=EIGENMAPS | {f"{SKLEARN} arpack": partial(sklearn_eigenmaps, solver="arpack")},
        bar=Bar(faster=25, ceilings=CLOSE),
    ),
    *(
        Case(
            f"LaplacianEigenmaps k=15, swiss roll {n:,}",
            **on_roll(n),
            fits=EIGENMAPS | EVERY_SOLVER,
            bar=Bar(faster=1.5, ceilings=CLOSE),
        )
        for n in (20_000, 50_000)
    ),
    Case(
        "DiffusionMap, all pairs, swiss roll 5,000",
        **on_roll(5000),
        fits={
            OURS: ours(lowfold.DiffusionMap(sigma=WIDTH, alpha=1.0, t=1)),
            TAPKEE: partial(tapkee, method="diffusion_map", width=2 * WIDTH**2),
        },
        bar=Bar(faster=20),
    ),
    Case(
        "KernelPCA rbf, mnist50 5,000",
        load=partial(mnist, 5000),
        fits={OURS: ours(lowfold.KernelPCA(gamma=KERNEL_GAMMA)), SKLEARN: sklearn_kernel_pca},
        bar=Bar(faster=1, ceilings=CLOSE),
    ),
    Case(
        "KernelPCA rbf, mnist50 50,000",
        load=partial(mnist, 50_000),
        fits={OURS: ours(lowfold.KernelPCA(gamma=KERNEL_GAMMA))},
        bar=Bar(),
        memory=2 * GB,
    ),
    Case(
        "ClassicalMDS, mnist50 5,000",
        load=partial(mnist, 5000),
        fits={OURS: ours(lowfold.ClassicalMDS()), SKLEARN: sklearn_classical},
        bar=Bar(faster=3, ceilings=CLOSE),
    ),
)


def main() -> None:
    chosen = measure.arguments(__doc__, by_name=True)
    data.require(["mnist50"])
    rows: list[dict[str, Any]] = []
    keep = chosen.only is not None
    for number, case in enumerate(CASES):
        if not measure.wanted(chosen, case.work):
            continue
        rows.append(compared(case, chosen.repeat, smoke=chosen.smoke))
        measure.save(__file__, rows, smoke=chosen.smoke, keep=keep)
        if case.memory is not None and not chosen.smoke:
            peak = measure.entry([fresh.in_new_process(__file__, "--peak", str(number))])
            rows.append(measure.row(f"memory: {case.work}", peak, {}, Bar(value=case.memory), unit="MB"))
            measure.save(__file__, rows, smoke=False, keep=keep)


def compared(case: Case, repeat: int, *, smoke: bool) -> dict[str, Any]:
    """The row of one case; once for all, peers that take minutes run as often as ours."""
    X = case.load()[: SMOKE_ROWS if smoke else None]
    peer_X = X if case.peer_rows is None else np.ascontiguousarray(X[: case.peer_rows])
    contestants = {name: partial(timed, partial(fit, X if name == OURS else peer_X)) for name, fit in case.fits.items()}
    peers = [name for name in case.fits if name != OURS]
    compare = peers and case.peer_rows is None
    reference = case.fits[peers[0]](peer_X) if compare else None
    wanted = case.sheet()[: len(X)] if case.sheet else None
    entries = measure.alternate(contestants, partial(_quality, reference, wanted), repeat)
    own = entries.pop(OURS)
    # A peer whose result is not the one asked for is not fast.
    most = case.bar.ceilings.get("sine", np.inf)
    close = [name for name, entry in entries.items() if entry["quality"].get("sine", 0.0) <= most]
    return measure.row(case.work, own, entries, Bar() if smoke else case.bar, eligible=close)


def _quality(reference: Any, wanted: Any, Y: Any) -> dict[str, float]:
    quality = {}
    Y = np.asarray(Y, np.float64)
    if reference is not None:
        quality["sine"] = _sine(Y - Y.mean(axis=0), reference - reference.mean(axis=0))
    if wanted is not None:
        quality["missed"] = _missed(Y, wanted)
    return quality


def _sine(A: Any, B: Any) -> float:
    return float(np.sin(scipy.linalg.subspace_angles(A, B).max()))


def _missed(Y: Any, wanted: Any) -> float:
    """The share of the variance of the sheet that no affine function of the embedding explains."""
    A = np.column_stack([np.ones(len(Y)), Y / np.abs(Y).max(axis=0)])
    rest = wanted - A @ np.linalg.lstsq(A, wanted, rcond=None)[0]
    return float((rest**2).sum() / ((wanted - wanted.mean(axis=0)) ** 2).sum())


def _print_peak(number: int) -> None:
    case = CASES[number]
    case.fits[OURS](case.load())
    print(fresh.peak() / 1e6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--peak", type=int)
    known, _ = parser.parse_known_args()
    if known.peak is None:
        main()
    else:
        _print_peak(known.peak)
