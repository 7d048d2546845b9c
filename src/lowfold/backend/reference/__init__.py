"""Every kernel in NumPy, written to be read: the specification of the C++ one of the same name (less `_inplace`).

Matrices come written out or as SciPy's, and sums are taken in float64; one test ties each kernel to what is said here.
"""

from lowfold.backend.reference.forces import (
    advance,
    attraction,
    attraction_cost,
    column_bounds,
    convolved,
    exact_field,
    gather,
    joint_affinity,
    pair_field,
    perplexity_rows,
    placed,
    spread,
)
from lowfold.backend.reference.graphs import (
    align,
    banded_order,
    barycentric_weights,
    chebyshev,
    components,
    factorise,
    geodesics,
    hessian_blocks,
    modified_blocks,
    permuted,
    scaled_values,
    solve,
    sparse_times,
    symmetric_graph,
    tangent_blocks,
)
from lowfold.backend.reference.layout import firing_edges, fuzzy_rows, fuzzy_union, layout_epoch, placing_epoch
from lowfold.backend.reference.ranks import coranking, squared_distances
from lowfold.backend.reference.rows import (
    calibrate,
    column_means,
    cross,
    directions,
    distances,
    fingerprints,
    largest_entry,
    packed_times,
    project,
    random_bits,
    rank_candidates,
    scatter,
    search,
    symmetric_times,
    times,
)
from lowfold.backend.reference.stress import (
    cross_distances,
    disparities,
    placed_by_stress,
    stress_of_matrix,
    stress_of_packed,
    stress_of_rows,
)
from lowfold.backend.reference.tree import tree_field
