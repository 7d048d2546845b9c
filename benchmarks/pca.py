"""How fast is PCA from 784 to 50 dimensions, and how near to the true subspace?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.decomposition import PCA

import data
import lowfold
import measure
from judge import SubspaceJudge
from measure import Bar, Timed, timed

M = 50
OURS = "lowfold"
SOLVERS = ("covariance_eigh", "randomized", "arpack", "full")
# Quality: no more than float32 costs in the coordinates; the variance of the best subspace to seven digits.
BAR = Bar(faster=1, ceilings={"lost variance": 1e-7, "projection error": 1e-5})


def main() -> None:
    chosen = measure.arguments(__doc__)
    X = data.load("mnist", smoke=chosen.smoke)
    judge = SubspaceJudge(X, M)
    entries = measure.alternate(_contestants(X), partial(_quality, judge), chosen.repeat)
    # A solver may be the best peer only where its subspace is as good as the bar asks of ours.
    eligible = [name for name, entry in entries.items() if name != OURS and _as_good(entry["quality"])]
    title = f"PCA to {M}, mnist ({len(X):,} × {X.shape[1]})"
    row = measure.row(title, entries.pop(OURS), entries, BAR, eligible=eligible)
    measure.save(__file__, [row], smoke=chosen.smoke)


def _contestants(X: Any) -> dict[str, Callable[[], Timed]]:
    models = {OURS: lowfold.PCA(n_components=M)}
    models |= {f"scikit-learn {solver}": PCA(M, svd_solver=solver, random_state=0) for solver in SOLVERS}
    return {name: partial(timed, partial(_fitted, model, X)) for name, model in models.items()}


def _fitted(model: Any, X: Any) -> tuple[Any, Any]:
    """The components and the coordinates of the data."""
    Y = model.fit_transform(X)
    return model.components_, Y


def _quality(judge: SubspaceJudge, result: tuple[Any, Any]) -> dict[str, float]:
    return judge.quality(*result)


def _as_good(quality: dict[str, float]) -> bool:
    return all(quality[name] <= most for name, most in BAR.ceilings.items())


if __name__ == "__main__":
    main()
