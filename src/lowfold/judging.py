"""How far one map can be trusted: the scores that a table shows, looked at one kind after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from lowfold.errors import warn
from lowfold.estimator import tell_stage
from lowfold.metrics import label_accuracy, normalized_stress, shepard_correlation, silhouette
from lowfold.metrics.coranking import coranked, points_for_area
from lowfold.metrics.score import Sampling, Score, check_labels, mean_score
from lowfold.metrics.shepard import points_for_pairs
from lowfold.options import documented, option

Scores: TypeAlias = dict[str, Score]

RANKED = 500  # points whose pairs are half a million: the error is below 0.01, and ranks of more take their time
VOTERS = 10  # neighbours that a label is told by


@documented
@dataclass(frozen=True, slots=True)
class Judging:
    """How embeddings are judged: `compare(X, methods, judging=Judging(k=10))`."""

    k: int = option(15, low=1, help="number of neighbours that are compared")
    metric: str | Callable[..., float] = option("euclidean", help="metric of X that counts")
    sample: Any = option("auto", help="points looked at: 'auto', None for all, a number or a Sample")
    n_jobs: int | None = option(None, help="number of threads; None uses every core")


@dataclass(frozen=True, slots=True)
class Look:
    """One stage of judging: its scores from a sample of the points, and the sample that it takes."""

    scores: Callable[[Sampling], Scores]
    sample: Sampling


def judge(X: Any, Y: Any, labels: Any = None, judging: Judging | None = None) -> Scores:
    """The scores that a table shows: of neighbours, of distances, and of labels if there are any."""
    return taken(looks_at(X, Y, labels, Judging() if judging is None else judging))


def taken(looks: dict[str, Look]) -> Scores:
    """The scores of all looks; each is told as a stage."""
    scores: Scores = {}
    for stage, look in looks.items():
        tell_stage(stage)
        scores |= look.scores(look.sample)
    return scores


def neighbors_judged(k: int, n: int) -> int:
    """k, or as many neighbours as n points can be judged by; the usual number is lowered without a word."""
    most = max(1, n - 2)
    if k > most and k != Judging().k:
        warn(f"k={k} neighbours cannot be compared among {n} points; {most} are. A k of at most {most} avoids this.")
    return min(k, most)


def looks_at(X: Any, Y: Any, labels: Any, how: Judging) -> dict[str, Look]:
    """What judges a map, by the names of the stages."""
    n = len(Y)
    k = neighbors_judged(how.k, n)

    def neighbors(sample: Sampling) -> Scores:
        found = coranked(X, Y, [k], replace(how, sample=sample), area=True)
        scores = {name: found.score(getattr(found, name)) for name in ("trustworthiness", "continuity", "recall")}
        return scores | {"R_NX area": mean_score(found.areas, found.points, n)}

    def distances(sample: Sampling) -> Scores:
        return {"Shepard": shepard_correlation(X, Y, metric=how.metric, sample=sample, n_jobs=how.n_jobs)}

    looks = {
        "neighbours kept": Look(neighbors, points_for_area(n, how.sample)),
        "distances": Look(distances, RANKED if how.sample == "auto" else how.sample),
    }
    return looks if labels is None else looks | _looks_at_labels(Y, labels, how)


def _looks_at_labels(Y: Any, labels: Any, how: Judging) -> dict[str, Look]:
    n = len(Y)
    classes = check_labels(labels, n)

    def voted(sample: Sampling) -> Scores:
        return {"labels": label_accuracy(Y, classes, min(VOTERS, n - 1), sample=sample, n_jobs=how.n_jobs)}

    def parted(sample: Sampling) -> Scores:
        return {"silhouette": silhouette(Y, classes, sample=sample, n_jobs=how.n_jobs)}

    looks = {"labels": Look(voted, how.sample)}
    return looks | {"silhouette": Look(parted, how.sample)} if 2 <= classes.max() + 1 < n else looks


def look_at_stress(X: Any, Y: Any, how: Judging) -> Look:
    """Distances by themselves, not by their ranks."""

    def stressed(sample: Sampling) -> Scores:
        same: dict[str, Any] = {"metric": how.metric, "sample": sample, "n_jobs": how.n_jobs}
        return {"stress": normalized_stress(X, Y, **same), "Pearson": shepard_correlation(X, Y, "pearson", **same)}

    return Look(stressed, points_for_pairs(len(Y), how.sample))
