"""Stochastic neighbour embedding (Hinton and Roweis 2002).

Each point i has its own probabilities p_j|i of picking j, and q_j|i = exp(-r_ij) / Z_i in the embedding, with
Z_i = sum_(l != i) exp(-r_il). sum_i KL(P_i | Q_i) = sum p log p + sum_ij p_j|i r_ij + sum_i log Z_i, which sees P only
through (P + P^T) / 2. The gradient of the last sum is grad phi(y_i) / Z_i + grad psi(y_i), psi being the field of
charges 1 / Z_j.
"""

from __future__ import annotations

from typing import ClassVar

from lowfold.force.method import DivergenceMethod
from lowfold.force.problem import ROWS


class SNE(DivergenceMethod):
    """SNE: minimises the sum over points of KL(P_i | Q_i) between their neighbour probabilities.

    embedding_, kl_divergence_ (also loss_), history_ (iteration and divergence), gradient_norm_, n_iter_, report_.
    """

    normalisation: ClassVar[str] = ROWS
