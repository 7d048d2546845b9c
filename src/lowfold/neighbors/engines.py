"""How neighbours are searched for. An engine is a value: `build_index(X, search=Cells(recall=0.999))`."""

from __future__ import annotations

from dataclasses import dataclass

from lowfold.options import documented, option

EXACT_WORK = 2e10  # multiplications up to which the exact search takes no more than a moment


@dataclass(frozen=True, slots=True)
class Exact:
    """Every neighbour is found."""


@documented
@dataclass(frozen=True, slots=True)
class Cells:
    """Visits only the cells of space near a query, as many as a sample of the data says are needed."""

    recall: float = option(0.99, low=0.5, high=1, help="share of the true neighbours to find, on average")


def resolve(search: Exact | Cells | str, n: int, dimensions: int) -> Exact | Cells:
    """The engine that a name stands for; "auto" is the exact one where that is quick."""
    if isinstance(search, Exact | Cells):
        return Exact() if search == Cells(recall=1) else search
    if search == "exact" or (search == "auto" and float(n) * n * dimensions <= EXACT_WORK):
        return Exact()
    return Cells()
