"""How fast is t-SNE, and at what divergence? From data to embedding, against the CPU implementations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import data
import fresh
import lowfold
import measure
from map_judge import MapJudge, judge_of
from measure import Bar, Timed, timed

PERPLEXITY = 30.0
OURS, CLASSICAL = "lowfold", "lowfold classical"
OPEN, OPEN_OURS, INTELEX, SKLEARN = "openTSNE", "openTSNE, our schedule", "intelex", "scikit-learn"
FEWER = "lowfold, a sixteenth of the rows"
WITHIN = 0.005  # by which a quality may lie below the peer's


def ours(X: Any, **options: Any) -> Any:
    """Our embedding."""
    return lowfold.TSNE(perplexity=PERPLEXITY, **options).fit_transform(X)


def open_tsne(X: Any, **options: Any) -> Any:
    """openTSNE's, by FFT."""
    import openTSNE

    return np.asarray(openTSNE.TSNE(perplexity=PERPLEXITY, n_jobs=2, random_state=0, **options).fit(X))


def intelex(X: Any) -> Any:
    """scikit-learn-intelex's, 1,000 iterations."""
    from sklearnex.manifold import TSNE

    return TSNE(perplexity=PERPLEXITY, random_state=0, max_iter=1000, n_jobs=2).fit_transform(X)


def sklearn(X: Any) -> Any:
    """scikit-learn's, by Barnes and Hut's tree."""
    from sklearn.manifold import TSNE

    return TSNE(perplexity=PERPLEXITY, random_state=0, n_jobs=2).fit_transform(X)


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=1, by_name=True)
    data.require(["mnist50", "flow_1m"])
    rows: list[dict[str, Any]] = []
    X = data.load("mnist50", smoke=chosen.smoke)
    size = f"mnist50 {len(X):,}"
    flow = np.ascontiguousarray(data.load("flow_1m", smoke=chosen.smoke)[:: 1 if chosen.smoke else 4])
    quarter = f"t-SNE, every fourth row of flow_1m ({len(flow):,} × {flow.shape[1]})"
    work: dict[str, Callable[[], list[dict[str, Any]]]] = {
        f"t-SNE, {size}, both schedules": lambda: mnist_rows(X, size, chosen.repeat),
        f"t-SNE, {size}, our schedule on both": lambda: [equal_row(X, size, chosen.repeat)],
        "t-SNE, mnist50 10,000": lambda: [
            compared("t-SNE, mnist50 10,000", X[:10_000], {OURS: ours, SKLEARN: sklearn}, chosen.repeat, Bar(faster=30))
        ],
        quarter: lambda: [compared(quarter, flow, {OURS: ours, OPEN: open_tsne}, 1, Bar(faster=12))],
    }
    if not chosen.smoke:
        work["t-SNE, flow_1m (1,000,000 × 13)"] = million_rows
    for name, measured in work.items():
        if measure.wanted(chosen, name):
            for row in measured():
                rows.append(row)
                measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def mnist_rows(X: Any, size: str, repeat: int) -> list[dict[str, Any]]:
    """The default against the peers' own, and the classical schedule against openTSNE's own."""
    fits = {OURS: ours, CLASSICAL: partial(ours, schedule="classical"), OPEN: open_tsne, INTELEX: intelex}
    judge = judge_of(X, PERPLEXITY)
    entries = measure.alternate(_timed(fits, X), partial(quality_of, judge), repeat)
    best, classical = entries.pop(OURS), entries.pop(CLASSICAL)
    opened = entries[OPEN]["quality"]
    floors = {name: opened[name] - WITHIN for name in ("recall", "trustworthiness", "Spearman")}
    bar = Bar(faster_than={OPEN: 15, INTELEX: 5}, floors=floors, ceilings={"KL": opened["KL"]})
    second = Bar(faster_than={OPEN: 8}, ceilings={"KL": opened["KL"] + 0.01})
    return [
        measure.row(f"t-SNE, {size}, our default", best, entries, bar),
        measure.row(f"t-SNE, {size}, classical 250 + 500 on both", classical, {OPEN: entries[OPEN]}, second),
    ]


def equal_row(X: Any, size: str, repeat: int) -> dict[str, Any]:
    """The default against openTSNE with as many iterations and the momenta of ours, which its own arguments can say."""
    iterations = lowfold.TSNE(perplexity=PERPLEXITY).fit(X).n_iter_
    same = {"early_exaggeration_iter": 60, "n_iter": iterations - 60, "initial_momentum": 0.9, "final_momentum": 0.98}
    fits = {OURS: ours, OPEN_OURS: partial(open_tsne, **same)}
    judge = judge_of(X, PERPLEXITY)
    entries = measure.alternate(_timed(fits, X), partial(quality_of, judge), repeat)
    best = entries.pop(OURS)
    best["quality"]["iterations"] = float(iterations)
    return measure.row(f"t-SNE, {size}, our schedule on both", best, entries, Bar(faster_than={OPEN_OURS: 6}))


def compared(work: str, X: Any, fits: Mapping[str, Callable[..., Any]], repeat: int, bar: Bar) -> dict[str, Any]:
    """Ours against peers, the divergence not above the best of theirs."""
    judge = judge_of(X, PERPLEXITY)
    entries = measure.alternate(_timed(fits, X), partial(quality_of, judge), repeat)
    lowest = min(entry["quality"]["KL"] for name, entry in entries.items() if name != OURS)
    return measure.row(work, entries.pop(OURS), entries, Bar(faster=bar.faster, ceilings={"KL": lowest}))


def quality_of(judge: MapJudge, Y: Any) -> dict[str, float]:
    """What the judge says."""
    return judge.quality(Y)


def million_rows() -> list[dict[str, Any]]:
    """A million rows in a process of its own: seconds by stage, peak memory, milliseconds of an iteration beside those
    of a sixteenth of the rows; a quarter of them is told as well."""
    done, quarter, fewer = (fresh.in_new_process_json(__file__, "--every", every) for every in ("1", "4", "16"))
    told = {**done["seconds"], "KL as reported": done["loss"], "iterations": done["iterations"]}
    whole = measure.entry([done["total"]]) | {"quality": told}
    peak = measure.entry([done["peak"] / 1e6])
    work = f"t-SNE, flow_1m ({done['n']:,} × 13)"
    each = measure.entry([_iteration(done)]) | {"quality": {"ms of a quarter of the rows": _iteration(quarter)}}
    bar = Bar(value=done["n"] / fewer["n"] * _iteration(fewer))
    return [
        measure.row(work, whole, {}, Bar()),
        measure.row(f"memory: {work}", peak, {}, Bar(value=6000), unit="MB"),
        measure.row(f"one iteration: {work}", each, {FEWER: measure.entry([_iteration(fewer)])}, bar, unit="ms"),
    ]


def _iteration(run: Mapping[str, Any]) -> float:
    return 1e3 * float(run["seconds"]["optimisation"]) / int(run["iterations"])


def _timed(fits: Mapping[str, Callable[..., Any]], X: Any) -> dict[str, Callable[[], Timed]]:
    return {name: partial(timed, partial(fit, X)) for name, fit in fits.items()}


def _print_stages(every: int) -> None:
    import json

    X = np.ascontiguousarray(data.load("flow_1m")[::every])
    run = timed(partial(lowfold.TSNE(perplexity=PERPLEXITY).fit, X))
    model = run.result
    print(
        json.dumps(
            {
                "n": len(X),
                "total": run.seconds,
                "seconds": dict(model.report_.seconds),
                "iterations": model.n_iter_,
                "loss": model.loss_,
                "peak": fresh.peak(),
            }
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--every", type=int)
    known, _ = parser.parse_known_args()
    if known.every:
        _print_stages(known.every)
    else:
        main()
