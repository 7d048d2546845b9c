"""The kernels w(r) of the force family, with r a squared distance between embedded points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Law:
    """w(r): "student", (1 + r / dof)^(-(dof + 1) / 2), or "gaussian", exp(-r).

    Attraction pulls along an edge with -w'(r) / w(r); repulsion is the gradient of sums of w.
    """

    name: str
    dof: float = 1.0

    @property
    def resistance(self) -> float:
        """How stiff repulsion is beside an attraction of the same weight.

        Waves of length 2 pi / k in an even sheet of points meet the stiffness 2 k^2 exp(-k^2 / 4), at most 2.94, under
        Gaussian repulsion, and up to 8 under attraction: 0.37, and some more for uneven sheets. Student's falls off so
        slowly that neighbours hardly count.
        """
        return 0.5 if self.name == "gaussian" else 0.0

    @property
    def code(self) -> tuple[str, float]:
        """The law as kernels take it."""
        return self.name, float(self.dof)

    def weight(self, r: Any) -> Any:
        """w(r), in NumPy."""
        if self.name == "gaussian":
            return np.exp(-r)
        return (1 + r / self.dof) ** (-(self.dof + 1) / 2)


GAUSSIAN = Law("gaussian")
CAUCHY = Law("student")
