"""`lowfold score`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from lowfold import files
from lowfold.cli.pictures import picture
from lowfold.cli.progress import Progress, read_table
from lowfold.comparison import Judging, judge
from lowfold.errors import DataError, FileError
from lowfold.estimator import tell_stage
from lowfold.files.writing import check_ending
from lowfold.metrics import normalized_stress, shepard_correlation
from lowfold.metrics.coranking import coranked


def score(chosen: Namespace) -> int:
    """Prints how far a map can be trusted; writes the scores of each point and a picture."""
    if chosen.output:
        check_ending(chosen.output)
    progress = Progress(quiet=chosen.quiet)
    table = read_table(chosen, progress)
    Y = _coordinates(chosen.map, table.X.shape[0])
    judging = Judging(k=chosen.k, sample="auto" if chosen.sample is None else chosen.sample)
    with progress.running("scoring"):
        scores = judge(table.X, Y, table.labels, judging)
        tell_stage("stress")
        scores["stress"] = normalized_stress(table.X, Y, sample=judging.sample)
        scores["Pearson"] = shepard_correlation(table.X, Y, "pearson", sample=judging.sample)
    looked = len(scores["trustworthiness"].points)
    print(f"{len(Y)} points, {looked} looked at, k = {chosen.k}")
    for name, value in scores.items():
        print(f"{name:<16} {value}")
    if chosen.output:
        with progress.running("scoring each point"):
            _write_points(chosen.output, table.X, Y, judging)
        chosen.written.append(chosen.output)
    if chosen.plot:
        with progress.running("drawing"):
            picture(chosen.plot, lambda plot: _figure(plot, table.X, Y, judging))
        chosen.written.append(chosen.plot)
    return 0


def _coordinates(path: str, n: int) -> Any:
    """The map; a column called label, as embed writes it, is left out."""
    try:
        Y = files.read(path, labels="label").X
    except FileError:
        Y = files.read(path).X
    if len(Y) != n:
        raise DataError(f"{path} has {len(Y)} rows, but the data have {n}. Pass the map of these data.")
    return np.asarray(Y)


def _write_points(path: str, X: Any, Y: Any, judging: Judging) -> None:
    found = coranked(X, Y, [judging.k], judging)
    columns = [found.points, *(getattr(found, name)[:, 0] for name in ("trustworthiness", "continuity", "recall"))]
    files.write(path, np.column_stack(columns), method="score")


def _figure(plot: Any, X: Any, Y: Any, judging: Judging) -> Any:
    figure, axes = plot.canvas.pyplot().subplots(1, 3, figsize=(16, 5), layout="constrained")
    plot.trust(X, Y, judging.k, ax=axes[0])
    plot.quality(X, Y, sample=judging.sample, ax=axes[1], title="neighbours kept, chance taken out")
    plot.shepard(X, Y, ax=axes[2])
    return figure
