"""How good are UMAP's embeddings beside umap-learn's, over seeds, on six data sets?

Neighbour recall, trustworthiness, label accuracy and rank correlation of distances, by code that belongs to neither.
Where a set has no labels, the clusters of scikit-learn's k-means in the data stand for them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import data
import lowfold
import map_judge
import measure
from map_judge import MapJudge
from measure import Bar, timed

OURS, PEER = "lowfold", "umap-learn"
SETS = {  # name: the file of the data, and of the labels
    "digits": ("", ""),
    "COIL-20": ("coil20", "coil20"),
    "bone marrow": ("bonemarrow_cd34", ""),
    "thymus": ("masscyt_thymus", ""),
    "mnist50": ("mnist50", "mnist"),
    "GloVe": ("glove_60k", ""),
}
COSINE = {"GloVe"}
CLUSTERS = 20
LABEL_NEIGHBORS = 10
LEAST_SLACK, DEVIATIONS = 0.005, 2.0  # ours may lie so far below the peer's mean: the larger of both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"data sets: {', '.join(SETS)}; rows of the others are kept")
    parser.add_argument("--smoke", action="store_true", help="few rows, two seeds: only shows that it runs")
    parser.add_argument("--seeds", type=int, default=5, help="embeddings of each contestant")
    chosen = parser.parse_args()
    names = chosen.names or list(SETS)
    if set(names) - set(SETS):
        parser.error(f"there is no data set {', '.join(set(names) - set(SETS))}; choose from {', '.join(SETS)}")
    data.require(SETS[name][0] for name in names if SETS[name][0])
    kept = {} if chosen.smoke else _kept()
    for name in names:
        kept[name] = row_of(name, smoke=chosen.smoke, seeds=2 if chosen.smoke else chosen.seeds)
        rows = [row for each, row in kept.items() if each != name] + [kept[name]]  # the last one is printed
        measure.save(__file__, rows, smoke=chosen.smoke)


def row_of(name: str, *, smoke: bool, seeds: int) -> dict[str, Any]:
    """Both contestants' seeds on one set: means, and the bar that the peer's mean and deviation set for ours."""
    X, y = load(name, smoke=smoke)
    metric = "cosine" if name in COSINE else "euclidean"
    nearest, _ = map_judge.neighbors(X, map_judge.RECALL_K)
    judge = MapJudge(X, csr_array((len(X), len(X))), nearest)
    entries, spread = {}, {}
    for contestant, fit in ((OURS, _ours), (PEER, _theirs)):
        runs = [timed(lambda fit=fit, seed=seed: fit(X, metric, seed)) for seed in range(seeds)]
        scores = [qualities(judge, run.result, y) for run in runs]
        entries[contestant] = measure.entry([run.seconds for run in runs])
        entries[contestant]["quality"] = {key: float(np.mean([each[key] for each in scores])) for key in scores[0]}
        spread[contestant] = {key: float(np.std([each[key] for each in scores], ddof=1)) for key in scores[0]}
        entries[contestant]["deviation"] = spread[contestant]
    floors = {
        key: round(mean - max(LEAST_SLACK, DEVIATIONS * spread[PEER][key]), 4)
        for key, mean in entries[PEER]["quality"].items()
    }
    ours = entries.pop(OURS)
    return measure.row(f"UMAP's quality over {seeds} seeds, {name} ({len(X):,})", ours, entries, Bar(floors=floors))


def load(name: str, *, smoke: bool) -> tuple[Any, Any]:
    """The rows of a set (of length 1 where the metric is the cosine) and labels."""
    file, labelled = SETS[name]
    if not file:
        X, y = load_digits(return_X_y=True)
        X = X.astype(np.float32)
    else:
        X = data.load(file, smoke=smoke)
        y = data.labels(labelled)[: len(X)] if labelled else None
    if name in COSINE:
        X = np.ascontiguousarray(X / np.linalg.norm(X, axis=1, keepdims=True), np.float32)
    return X, KMeans(CLUSTERS, n_init=1, random_state=0).fit_predict(X) if y is None else y


def qualities(judge: MapJudge, Y: Any, y: Any) -> dict[str, float]:
    """Of one embedding."""
    Y = np.ascontiguousarray(Y, np.float32)
    near = map_judge.neighbors(Y, LABEL_NEIGHBORS)[0]
    votes = np.zeros((len(Y), int(y.max()) + 1), np.int32)
    np.add.at(votes, (np.arange(len(Y))[:, None], y[near]), 1)
    return {
        "recall": judge.recall(Y),
        "trustworthiness": judge.trustworthiness(Y),
        "accuracy": float((votes.argmax(axis=1) == y).mean()),
        "Spearman": judge.rank_correlation(Y),
    }


def _ours(X: Any, metric: str, seed: int) -> Any:
    return lowfold.UMAP(metric=metric, random_state=seed).fit_transform(X)


def _theirs(X: Any, metric: str, seed: int) -> Any:
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed leaves it one thread
        return umap.UMAP(metric=metric, random_state=seed).fit_transform(X)


def _kept() -> dict[str, Any]:
    """The rows of an earlier run, by set."""
    path = measure.RESULTS / "umap_quality.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    return {name: row for row in rows for name in SETS if f", {name} (" in row["work"]}


if __name__ == "__main__":
    main()
