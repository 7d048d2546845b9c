"""How far an embedding can be trusted, as a whole and at each point; and how many coordinates the data need.

| question | functions | value |
|---|---|---|
| are neighbours in the map neighbours in the data? | trustworthiness | 1 if none intrudes |
| are neighbours in the data neighbours in the map? | continuity | 1 if none is lost |
| how many of the k neighbours are the same? | neighbor_recall (Q_NX) | 1: all, k / (n - 1): chance |
| the same, with chance taken out, at one k and over all | r_nx, r_nx_area, quality_curve | 1: all, 0: chance |
| do distances agree in order, in size? | shepard_correlation, normalized_stress | 1 and 0 |
| do labels stay together? | label_accuracy, silhouette | 1 |
| are two maps the same up to rotation and size? | procrustes_distance, stability | 0 |
| how many coordinates do the data need? | intrinsic_dimension, residual_variance, eigenvalue_gaps | |

Each returns a `Score`: the number, its standard error (0 if every point was looked at), and the number of each point.
Ties are broken by lot, and what is returned is the mean over all ways to break them.
"""

from lowfold.metrics.coranking import (
    QualityCurve,
    continuity,
    neighbor_recall,
    quality_curve,
    r_nx,
    r_nx_area,
    trustworthiness,
)
from lowfold.metrics.dimension import EigenvalueGaps, eigenvalue_gaps, intrinsic_dimension, residual_variance
from lowfold.metrics.labels import label_accuracy, silhouette
from lowfold.metrics.procrustes import Stability, procrustes_distance, stability
from lowfold.metrics.score import Sample, Score
from lowfold.metrics.shepard import normalized_stress, shepard_correlation

__all__ = [
    "EigenvalueGaps",
    "QualityCurve",
    "Sample",
    "Score",
    "Stability",
    "continuity",
    "eigenvalue_gaps",
    "intrinsic_dimension",
    "label_accuracy",
    "neighbor_recall",
    "normalized_stress",
    "procrustes_distance",
    "quality_curve",
    "r_nx",
    "r_nx_area",
    "residual_variance",
    "shepard_correlation",
    "silhouette",
    "stability",
    "trustworthiness",
]
