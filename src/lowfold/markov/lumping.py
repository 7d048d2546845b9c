"""Lumpability: whether a walk between classes of points is still a Markov chain.

Kemeny and Snell (1976): it is, for a partition, if and only if all points of a class step into each class with the same
probability. Meila and Shi (2001): if and only if P has as many independent right eigenvectors that are constant on each
class as there are classes. So a partition is looked for in the eigenvectors that come closest to having few levels;
these need not be at the top: for the chain that alternates between even and odd points it is the one of eigenvalue -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from lowfold.errors import ParameterError
from lowfold.markov.chain import MarkovChain, as_chain
from lowfold.spectral.problem import BOTTOM, TOP

LOOK = 32  # eigenvectors looked at from each end of the spectrum
TRIES = 6  # of the most stepwise ones, how many sets of them are tried


@dataclass(frozen=True, slots=True)
class Lumping:
    """labels (n,): the class of each point. defect: the largest difference between the probabilities with which two
    points of a class step into a class, 0 if the partition is lumpable. chain: the walk between the classes, each
    point of a class counted by its stationary probability."""

    labels: NDArray[np.intp]
    defect: float
    chain: MarkovChain


def lumpability(source: Any, labels: Any) -> Lumping:
    """How far classes of points, given by their labels, are from a Markov chain of their own.

    `source` is a chain, a fitted LaplacianEigenmaps or DiffusionMap, or a matrix of affinities.
    """
    chain = as_chain(source)
    names = np.asarray(labels)
    if names.shape != (chain.n,):
        raise ParameterError(
            f"labels must have one entry for each of the {chain.n} points; got shape {names.shape}. Pass a column."
        )
    _, numbers = np.unique(names, return_inverse=True)
    k = int(numbers.max()) + 1
    into = np.asarray(csr_array(chain.P) @ np.eye(k)[numbers])  # probability of each point to step into each class
    high, low = np.full((k, k), -np.inf), np.full((k, k), np.inf)
    np.maximum.at(high, numbers, into)
    np.minimum.at(low, numbers, into)
    mass: NDArray[np.float64] = np.bincount(numbers, chain.stationary, k).astype(np.float64)
    # A class that the walk leaves for good has no mass: its points count alike.
    shares = np.where(mass[numbers] > 0, chain.stationary, 1.0)
    lumped = np.zeros((k, k))
    np.add.at(lumped, numbers, into * shares[:, None])
    lumped /= lumped.sum(axis=1, keepdims=True)
    return Lumping(numbers.astype(np.intp), float((high - low).max()), MarkovChain(lumped, mass, mass))


def find_lumps(source: Any, n_classes: int) -> Lumping:
    """A partition into n_classes with a small defect, from the most stepwise eigenvectors of a reversible chain.

    source: as in `lumpability`.
    """
    chain = as_chain(source)
    if not isinstance(n_classes, int | np.integer) or not 2 <= n_classes <= chain.n:
        raise ParameterError(
            f"n_classes={n_classes!r} must be an int from 2 to {chain.n}, the number of points. Choose one in between."
        )
    vectors = _candidates(chain)
    unexplained = [_spread_within(v[:, None], _cluster(v[:, None], n_classes)) for v in vectors.T]
    stepwise = np.argsort(unexplained, kind="stable")
    wanted = n_classes - 1
    sets = [stepwise[first : first + wanted] for first in range(min(TRIES, vectors.shape[1] - wanted + 1))]
    sets.append(np.arange(wanted))  # the top of the spectrum: nearly uncoupled classes
    found = [lumpability(chain, _cluster(vectors[:, chosen], n_classes)) for chosen in sets]
    return min(found, key=lambda lumping: lumping.defect)


def _candidates(chain: MarkovChain) -> NDArray[np.float64]:
    """Right eigenvectors of variance 1 under the stationary distribution, from both ends of the spectrum."""
    if chain.n <= 2 * LOOK + 1:
        vectors = chain.eigenvectors(chain.n - 1)[1]
    else:
        vectors = np.hstack([chain.eigenvectors(LOOK, TOP)[1], chain.eigenvectors(LOOK, BOTTOM)[1]])
    return vectors / np.sqrt(chain.stationary @ vectors**2)


def _cluster(V: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    from sklearn.cluster import KMeans

    with threadpool_limits(limits=1):
        distinct = len(np.unique(np.round(V, 9), axis=0))
        model = KMeans(min(k, distinct), n_init=8, random_state=0).fit(V)
    return np.asarray(model.labels_, np.intp)


def _spread_within(V: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """The share of the variance that the classes leave."""
    sums = np.zeros((labels.max() + 1, V.shape[1]))
    np.add.at(sums, labels, V)
    means = sums / np.bincount(labels)[:, None]
    return float(((V - means[labels]) ** 2).sum() / max(((V - V.mean(axis=0)) ** 2).sum(), 1e-300))
