"""Does the default schedule of t-SNE end at a divergence no higher than the classical one's, whatever the data?

Data of eight kinds and more, three sizes, five starts: principal components and four random ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import data
import lowfold
import measure
from measure import Bar

SIZES = (1000, 4000, 16_000)
STARTS = (None, 1, 2, 3, 4)  # None: principal components; else the seed of a random start
REDUCED = 50


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=1, by_name=True)
    data.require(["mnist50", "glove_60k", "masscyt_thymus", "flow_1m", "usps"])
    rows: list[dict[str, Any]] = []
    for name, X in sets(SIZES[:1] if chosen.smoke else SIZES):
        work = f"{name} ({len(X):,} × {X.shape[1]})"
        if measure.wanted(chosen, work):
            rows.append(compared(work, X))
            measure.save(__file__, rows, smoke=chosen.smoke, keep=chosen.only is not None)


def compared(work: str, X: Any) -> dict[str, Any]:
    """The mean divergence over the starts of both schedules, and the worst difference of one start."""
    divergence: dict[str, list[float]] = {"annealed": [], "classical": []}
    iterations = []
    for start in STARTS:
        options = {} if start is None else {"init": "random", "random_state": start}
        for schedule, found in divergence.items():
            model = lowfold.TSNE(schedule=schedule, **options).fit(X)
            found.append(model.kl_divergence_)
            if schedule == "annealed":
                iterations.append(model.n_iter_)
    ours, theirs = (measure.entry([float(np.mean(found))]) for found in divergence.values())
    differences = np.subtract(divergence["annealed"], divergence["classical"])
    ours["quality"] = {
        "worst start": float(differences.max()),
        "starts above": float((differences > 0).sum()),
        "iterations": float(np.mean(iterations)),
    }
    return measure.row(work, ours, {"classical": theirs}, Bar(more=("classical", 0.0)), unit="KL")


def sets(sizes: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """(kind, rows): real sets cut to the sizes at random, and made ones of the sizes."""
    yield "digits", load_digits().data.astype(np.float32)
    real = {name: data.load(name) for name in ("mnist50", "glove_60k", "masscyt_thymus", "flow_1m", "usps")}
    for n in sizes:
        rng = np.random.default_rng(n)
        for name, X in real.items():
            if len(X) < n:
                continue
            rows = np.ascontiguousarray(X[np.sort(rng.choice(len(X), n, replace=False))])
            yield name, _reduced(rows)
        for name, make in MADE.items():
            yield name, np.ascontiguousarray(make(n, rng), dtype=np.float32)


def _reduced(X: Any) -> Any:
    return lowfold.PCA(n_components=REDUCED).fit_transform(X) if X.shape[1] > REDUCED else X


def gaussian(n: int, rng: np.random.Generator) -> Any:
    """A cloud in 50 dimensions: hubs, no structure."""
    return rng.standard_normal((n, 50))


def near_duplicates(n: int, rng: np.random.Generator) -> Any:
    """Twenty copies of each point, a hair apart."""
    return np.repeat(rng.standard_normal((n // 20, 20)), 20, axis=0) + 1e-4 * rng.standard_normal((n // 20 * 20, 20))


def cube(n: int, rng: np.random.Generator) -> Any:
    """Uniform in ten dimensions."""
    return rng.random((n, 10))


def roll(n: int, rng: np.random.Generator) -> Any:
    """A rolled-up sheet: a continuum."""
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([angle * np.cos(angle), 21 * rng.random(n), angle * np.sin(angle)])


def tree(n: int, rng: np.random.Generator) -> Any:
    """Branches that part five times, with noise."""
    ends, parts = [np.zeros(20)], []
    for generation in range(6):
        following = []
        for end in ends if generation else ends * 2:
            for _ in range(2 if generation else 1):
                way = rng.standard_normal(20)
                parts.append(end + way * np.linspace(0, 1, max(n // 126, 2))[:, None])
                following.append(end + way)
        ends = following
    whole = np.vstack(parts)
    return whole + 0.05 * rng.standard_normal(whole.shape)


MADE = {"gaussian": gaussian, "near-duplicates": near_duplicates, "cube": cube, "roll": roll, "tree": tree}


if __name__ == "__main__":
    main()
