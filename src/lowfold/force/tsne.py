"""t-distributed stochastic neighbour embedding (van der Maaten and Hinton 2008).

Joint probabilities p_ij = (p_j|i + p_i|j) / 2n of picking a pair in the data, by Gaussians of a given perplexity, are
matched by q_ij = w_ij / Z in the embedding, w = (1 + r / dof)^(-(dof + 1) / 2), Z = sum_(i != j) w_ij. The divergence
KL(P | Q) = sum p log p + sum p (-log w) + log Z has the gradient 4 sum_j (p_ij - q_ij) (-w' / w)(r_ij) (y_i - y_j).
The heavy tail of w lets moderate distances grow, so that groups come apart. One charge on a grid gives both Z and the
repulsion: with phi(y) = sum_j w(|y - y_j|^2), the gradient of log Z is 2 / Z grad phi.
"""

from __future__ import annotations

from lowfold.force.law import Law
from lowfold.force.method import DivergenceMethod
from lowfold.options import option


class TSNE(DivergenceMethod):
    """t-SNE: minimises KL(P | Q) between neighbour probabilities in the data and Student's in the embedding.

    embedding_, kl_divergence_ (also loss_), history_ (iteration and divergence), gradient_norm_, n_iter_, report_.
    """

    dof: float = option(1.0, above=0, high=100, help="degrees of freedom of Student's kernel; fewer have heavier tails")

    @property
    def _law(self) -> Law:
        return Law("student", self.dof)
