"""Numbers about an embedding as curves: spectra, distances, quality, cuts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowfold.arguments import telling
from lowfold.errors import DataError
from lowfold.markov.sweep import SweepCut, sweep_cut
from lowfold.metrics import QualityCurve, eigenvalue_gaps, quality_curve, shepard_correlation
from lowfold.metrics.score import Sample
from lowfold.metrics.shepard import distance_rows
from lowfold.plot.canvas import ARGUMENTS, BESIDE, axes_or_new
from lowfold.plot.colors import OKABE_ITO, PLAIN

SHEPARD_POINTS = 400  # from which distances are drawn
BINS = 120
LINES = ("-", "--", ":", "-.")  # change when the colours begin again


@telling(ARGUMENTS)
def spectrum(model: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Draws the eigenvalues of a fitted spectral model and marks the largest relative gap; returns the Axes."""
    ax, found = axes_or_new(ax), eigenvalue_gaps(model)
    number = np.arange(1, len(found.values) + 1)
    ax.plot(number, found.values, "o-", color=PLAIN, ms=5, lw=1)
    ax.axvline(found.suggested + 0.5, color=OKABE_ITO[5], ls="--", lw=1)
    ax.annotate(
        f"gap behind {found.suggested}", (found.suggested + 0.5, 1.0), (4, -4), xycoords=("data", "axes fraction"),
        textcoords="offset points", va="top", color=OKABE_ITO[5],
    )  # fmt: skip
    ax.set_xlabel("coordinate")
    ax.set_ylabel("eigenvalue")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return _finished(ax, title)


@telling(ARGUMENTS)
def shepard(X: Any, Y: Any, *, metric: Any = "euclidean", ax: Any = None, title: str | None = None) -> Any:
    """Draws distances in the embedding over distances in the data, the more pairs the darker; returns the Axes.

    The line is the median at each distance in the data; the title says Spearman's correlation. Distances are those from
    400 points to all, or to 5,000 others drawn by lot where there are more.
    """
    ax = axes_or_new(ax)
    blocks = distance_rows(X, Y, metric, Sample(points=SHEPARD_POINTS), None).blocks()
    a, b = (np.concatenate(part) for part in zip(*((a.ravel(), b.ravel()) for _, a, b in blocks), strict=True))
    ax.hexbin(a, b, gridsize=70, bins="log", cmap="Blues", mincnt=1, linewidths=0)
    edges = np.quantile(a, np.linspace(0, 1, 41))
    at = np.clip(np.searchsorted(edges, a, side="right") - 1, 0, 39)
    medians = [(a[at == bin].mean(), np.median(b[at == bin])) for bin in range(40) if (at == bin).any()]
    ax.plot(*np.array(medians).T, color=OKABE_ITO[5], lw=1.5)
    ax.set_xlabel("distance in the data")
    ax.set_ylabel("distance in the embedding")
    return _finished(ax, f"rank correlation {shepard_correlation(X, Y, metric=metric)}" if title is None else title)


@telling(ARGUMENTS)
def quality(X: Any, maps: Any, *, sample: Any = "auto", ax: Any = None, title: str | None = None) -> Any:
    """Draws R_NX over the size of the neighbourhood for one or several embeddings of X; returns the Axes.

    maps: an embedding, or a mapping from titles to embeddings or to curves of `metrics.quality_curve`, which takes
    the sample.
    """
    ax = axes_or_new(ax)
    named = maps if isinstance(maps, Mapping) else {"": maps}
    for number, (name, part) in enumerate(named.items()):
        curve = part if isinstance(part, QualityCurve) else quality_curve(X, part, sample=sample)
        color = OKABE_ITO[number % len(OKABE_ITO)]
        line = LINES[number // len(OKABE_ITO) % len(LINES)]
        label = f"{name} ({curve.area.value:.3f})" if name else None
        ax.plot(curve.k, curve.r_nx, color=color, ls=line, lw=1.5, label=label)
        error = curve.errors["r_nx"]
        if error.any():
            ax.fill_between(curve.k, curve.r_nx - error, curve.r_nx + error, color=color, alpha=0.2, lw=0)
    ax.set_xscale("log")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.set_xlabel("neighbours k")
    ax.set_ylabel("R_NX(k)")
    if any(named):
        ax.legend(title="area", **BESIDE)
    return _finished(ax, title)


@telling(ARGUMENTS)
def sweep(source: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Draws the conductance of each prefix along the second eigenvector, and Cheeger's bounds; returns the Axes.

    source: what `markov.sweep_cut` takes or returns. The best cut is marked; no set lies below the lower line.
    """
    ax = axes_or_new(ax)
    cut = source if isinstance(source, SweepCut) else sweep_cut(source)
    if len(cut.profile) < 1:
        raise DataError("The sweep has no prefix to draw. Pass a walk of at least two points.")
    low, high = cut.certificate
    best = int(np.argmin(cut.profile)) + 1
    ax.plot(np.arange(1, len(cut.profile) + 1), cut.profile, color=PLAIN, lw=1.2)
    ax.plot([best], [cut.profile[best - 1]], "o", color=OKABE_ITO[5], label=f"best cut, h = {high:.3g}")
    ax.axhline(low, color=OKABE_ITO[2], ls="--", lw=1, label=f"no set is below λ/2 = {low:.3g}")
    ax.set_yscale("log")
    ax.set_xlabel("points in the prefix")
    ax.set_ylabel("conductance")
    ax.legend(**BESIDE)
    return _finished(ax, title)


def _finished(ax: Any, title: str | None) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    if title:
        ax.set_title(title)
    return ax
