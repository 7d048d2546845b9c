"""How fast are the metrics, do they agree with scikit-learn's, and what does a million points take?

Run with "million FILE.npy" this script is a process of its own that scores a million points and prints its peak.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from typing import Any

import numpy as np

import data
import fresh
import measure
from measure import Bar, Timed, timed

SIZE = 5000
OURS = "lowfold"
TIMES_FASTER = 10
MOST_MB = 2000
MILLION_BAR = Bar(value=30, ceilings={"MB": MOST_MB, "error": 0.01})


def main() -> None:
    chosen = measure.arguments(__doc__)
    rows = [_against_scikit_learn(name, chosen) for name in ("trustworthiness", "silhouette")]
    rows += [_million(name, chosen) for name in ("trustworthiness", "r_nx_area", "shepard_correlation")]
    measure.save(__file__, rows, smoke=chosen.smoke)


def _against_scikit_learn(name: str, chosen: Any) -> dict[str, Any]:
    import sklearn.manifold
    import sklearn.metrics

    import lowfold
    from lowfold import metrics

    X = data.load("mnist50")[: 1000 if chosen.smoke else SIZE]
    y = data.labels("mnist")[: len(X)]
    Y = lowfold.PCA().fit_transform(X)
    peers = {
        "trustworthiness": lambda: sklearn.manifold.trustworthiness(X, Y, n_neighbors=5),
        "silhouette": lambda: sklearn.metrics.silhouette_score(Y, y),
    }
    ours = {
        "trustworthiness": lambda: float(metrics.trustworthiness(X, Y, 5)),
        "silhouette": lambda: float(metrics.silhouette(Y, y)),
    }
    contestants = {OURS: partial(timed, ours[name]), "scikit-learn": partial(timed, peers[name])}
    entries = measure.alternate(contestants, lambda value: {"value": value}, chosen.repeat)
    bar = Bar(faster=TIMES_FASTER) if name == "trustworthiness" else Bar(faster=1)
    return measure.row(f"{name}, mnist50 ({len(X):,} × {X.shape[1]})", entries.pop(OURS), entries, bar)


def _million(name: str, chosen: Any) -> dict[str, Any]:
    X = data.load("flow_1m", smoke=chosen.smoke)
    with fresh.stored(X) as path:
        found = fresh.in_new_process_json(__file__, "million", path, name)

    def replayed() -> Timed:
        return Timed(found["seconds"], found)

    entries = measure.alternate({OURS: replayed}, _quality, 1)
    return measure.row(f"{name}, sampled, flow_1m ({len(X):,} × {X.shape[1]})", entries.pop(OURS), {}, MILLION_BAR)


def _quality(found: dict[str, float]) -> dict[str, float]:
    return {"value": found["value"], "error": found["error"], "MB": found["peak"] / 1e6}


def _score_a_million(path: str, name: str) -> None:
    from lowfold import PCA, metrics

    X = np.load(path)
    Y = PCA().fit_transform(X)
    start = time.perf_counter()
    score = getattr(metrics, name)(X, Y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "value": score.value, "error": score.error, "peak": peak}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["million"]:
        _score_a_million(*sys.argv[2:])
    else:
        main()
