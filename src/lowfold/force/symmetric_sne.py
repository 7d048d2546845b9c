"""Symmetric stochastic neighbour embedding (Cook, Sutskever, Mnih and Hinton 2007).

As t-SNE, with the Gaussian kernel w = exp(-r) in the embedding: KL(P | Q) = sum p log p + sum p r + log Z, whose
gradient is 4 sum_j (p_ij - q_ij) (y_i - y_j): springs whose stiffness is p - q. Its light tail leaves no room for the
many moderate distances of the data, which crowd in the middle.
"""

from __future__ import annotations

from lowfold.force.method import DivergenceMethod


class SymmetricSNE(DivergenceMethod):
    """Symmetric SNE: minimises KL(P | Q) between joint neighbour probabilities in the data and in the embedding.

    embedding_, kl_divergence_ (also loss_), history_ (iteration and divergence), gradient_norm_, n_iter_, report_.
    """
