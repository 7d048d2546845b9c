"""`lowfold score`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from lowfold import files
from lowfold.cli.outputs import check_outputs
from lowfold.cli.pictures import picture
from lowfold.cli.planning import plan_for_scores, worth_planning
from lowfold.cli.progress import Progress
from lowfold.cli.watched import read_map, read_table
from lowfold.errors import DataError, ParameterError
from lowfold.estimator import tell_stage
from lowfold.judging import Judging, look_at_stress, looks_at, taken
from lowfold.metrics.coranking import coranked


def score(chosen: Namespace) -> int:
    """Prints how far a map can be trusted; writes the scores of each point and a picture."""
    check_outputs(chosen)
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress)
    Y = _coordinates(chosen.map, table.X.shape[0], progress)
    k = neighbors_to_compare(chosen.k, len(Y))
    judging = Judging(k=k, sample="auto" if chosen.sample is None else chosen.sample)
    looks = looks_at(table.X, Y, table.labels, judging) | {"stress": look_at_stress(table.X, Y, judging)}
    plan = {}
    if progress.shown and worth_planning(table.X):
        with progress.running("scoring a few points, to tell the time"):
            plan = plan_for_scores(looks, len(Y), progress.part)
    with progress.running("scoring", plan=plan):
        scores = taken(looks)
    looked = len(scores["trustworthiness"].points)
    print(f"{len(Y)} points, {looked} looked at, k = {k}")
    for name, value in scores.items():
        print(f"{name:<16} {value}")
    if chosen.output:
        with progress.running("scoring each point"):
            _write_points(chosen.output, table.X, Y, judging)
        chosen.written.append(chosen.output)
    if chosen.plot:
        picture(chosen.plot, lambda plot: _figure(plot, table.X, Y, judging), progress)
        chosen.written.append(chosen.plot)
    return 0


def neighbors_to_compare(k: int | None, n: int) -> int:
    """The number that was asked for, if there are so many; else the usual one, or as many as there are."""
    if k is None:
        return min(Judging().k, max(1, n - 2))
    if not 1 <= k <= n - 2:
        raise ParameterError(f"-k {k} neighbours cannot be compared among {n} points. Use a number from 1 to {n - 2}.")
    return k


def _coordinates(path: str, n: int, progress: Progress) -> Any:
    Y = read_map(path, progress)
    if len(Y) != n:
        raise DataError(f"{path} has {len(Y)} rows, but the data have {n}. Pass the map of these data.")
    return np.asarray(Y)


def _write_points(path: str, X: Any, Y: Any, judging: Judging) -> None:
    found = coranked(X, Y, [judging.k], judging)
    columns = [found.points, *(getattr(found, name)[:, 0] for name in ("trustworthiness", "continuity", "recall"))]
    files.write(path, np.column_stack(columns), method="score")


def _figure(plot: Any, X: Any, Y: Any, judging: Judging) -> Any:
    figure, axes = plot.canvas.pyplot().subplots(1, 3, figsize=(16, 5), layout="constrained")
    tell_stage("trust")
    plot.trust(X, Y, judging.k, ax=axes[0])
    tell_stage("neighbourhoods of all sizes")
    plot.quality(X, Y, sample=judging.sample, ax=axes[1], title="neighbours kept, chance taken out")
    tell_stage("distances")
    plot.shepard(X, Y, ax=axes[2])
    return figure
