"""What the random walk itself says: where it settles, where it is slow to leave, and what it does not tell apart.

| function           | question                                        | answer                                     |
| ------------------ | ----------------------------------------------- | ------------------------------------------ |
| from_affinity, ... | how does the walk move, where does it settle?   | transition matrix, stationary distribution |
| SpectralClustering | which points does it seldom leave?              | labels, also of new points                 |
| sweep_cut          | where is the bottleneck, and how narrow is it?  | a cut, its conductance, its certificate    |
| lumpability        | do classes of points make a chain of their own? | a defect, 0 if so, and that chain          |
| find_lumps         | for which classes is it so?                     | a partition with a small defect            |
"""

from lowfold.markov.chain import MarkovChain, chain_of, from_affinity, from_transition
from lowfold.markov.clustering import SpectralClustering
from lowfold.markov.lumping import Lumping, find_lumps, lumpability
from lowfold.markov.sweep import SweepCut, sweep_cut

__all__ = [
    "Lumping",
    "MarkovChain",
    "SpectralClustering",
    "SweepCut",
    "chain_of",
    "find_lumps",
    "from_affinity",
    "from_transition",
    "lumpability",
    "sweep_cut",
]
