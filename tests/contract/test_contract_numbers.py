"""Numbers as parameters: of any type, and whatever they lead to, a map is finite or refused."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

import lowfold
from conftest import ESTIMATORS, cloud, in_short, model_of, name_of, place, same_bits
from lowfold.errors import ConvergenceWarning
from lowfold.force import repulsion
from lowfold.markov import SpectralClustering
from lowfold.options import parameters, plain_numbers

FITTED = [*ESTIMATORS, SpectralClustering]
EVERY = pytest.mark.parametrize("cls", FITTED, ids=name_of)


def whole_numbers(model):
    """Its parameters that are integers as they stand."""
    given = {parameter.name: getattr(model, parameter.name) for parameter in parameters(type(model))}
    return {name: value for name, value in given.items() if type(value) is int and name != "random_state"}


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint64, np.int64])
@EVERY
def test_integers_of_numpy_are_as_good_as_those_of_python(cls, kind):
    plain = in_short(model_of(cls))
    given = {name: kind(value) for name, value in whole_numbers(plain).items()}
    model = clone(plain).set_params(**given)
    if hasattr(model, "estimate"):
        assert model.estimate(10**6, 50) == plain.estimate(10**6, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of an overflow
        model.fit(cloud())
    assert all(model.get_params()[name] is value for name, value in given.items())
    ask = SpectralClustering.predict if cls is SpectralClustering else place
    assert same_bits(ask(model, cloud(5, seed=1)), ask(plain.fit(cloud()), cloud(5, seed=1)))


def test_numbers_in_engines_and_lists_become_pythons_own():
    model = lowfold.TSNE(
        perplexity=(np.int8(10), Fraction(61, 2)), repulsion=lowfold.Grid(spacing=np.float32(0.25)), init="pca"
    )
    assert plain_numbers(model) == {"perplexity": (10, 30.5), "repulsion": lowfold.Grid(spacing=0.25)}
    assert plain_numbers(lowfold.TSNE(perplexity=(10, 30.5))) == {}


@EVERY
def test_a_number_that_float_cannot_hold_is_refused(cls):
    name = next(iter(whole_numbers(model_of(cls))), None)
    if name is None:
        name = "n_clusters"
    with pytest.raises(lowfold.ParameterError, match=f"'{name}' parameter"):
        cls(**{name: 10**400}).fit(cloud())


UNBOUNDED = {
    "a power of 1000": lambda: lowfold.UMAP(min_dist=lowfold.Curve(a=1.0, b=1000.0)),
    "steps of 1e39": lambda: lowfold.UMAP(schedule=lowfold.Epochs(learning_rate=1e39)),
    "a tail without end": lambda: lowfold.TSNE(perplexity=10, dof=1e-100),
    "no density": lambda: lowfold.DiffusionMap(alpha=300),
}


@pytest.mark.parametrize("made", list(UNBOUNDED))
def test_parameters_under_which_numbers_leave_their_range_are_refused_by_name(made):
    model = UNBOUNDED[made]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(lowfold.ParameterError, match=r"1000\.0|1e\+39|dof=1e-100|alpha=300"):
            model.fit(cloud(120))
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize("cls", [lowfold.TSNE, lowfold.UMAP, lowfold.MDS, lowfold.Sammon], ids=name_of)
def test_a_start_in_one_place_is_refused(cls):
    with pytest.raises(lowfold.DataError, match="in one place.*init='random'"):
        in_short(model_of(cls)).set_params(init=np.full((60, 2), 3.0)).fit(cloud())


@EVERY
def test_distances_of_points_to_themselves_are_none(cls):
    if lowfold.inputs.DISTANCES not in cls.accepts:
        pytest.skip("takes no distances")
    D = squareform(pdist(cloud()))
    rounded = D + 1e-7 * np.eye(60)
    model = in_short(model_of(cls)).set_params(metric="precomputed")
    with pytest.raises(lowfold.DataError, match=r"to itself must be 0.*X\.max\(\) - X.*fill_diagonal"):
        model.fit(D + np.eye(60))
    model.fit(rounded)


@EVERY
def test_what_is_said_to_do_about_rows_with_gaps_can_be_done(cls):
    X = cloud()
    X[5, 1] = np.nan
    model = in_short(model_of(cls))
    if "metric" not in model.get_params() or lowfold.inputs.GAPS in cls.accepts:
        pytest.skip("no metric, or takes them as they are")
    with pytest.raises(lowfold.DataError) as refusal:
        model.set_params(metric="nan_euclidean").fit(X)
    from sklearn.metrics.pairwise import nan_euclidean_distances

    offered = "nan_euclidean_distances(X) and metric='precomputed'" in str(refusal.value)
    assert offered == (lowfold.inputs.DISTANCES in cls.accepts)
    assert "NeighborGraph" not in str(refusal.value)
    if offered:
        model.set_params(metric="precomputed").fit(nan_euclidean_distances(X))


def test_missing_distances_are_left_out_by_points_or_given_to_those_who_know_them():
    D = squareform(pdist(cloud()))
    D[2, 5] = D[5, 2] = np.nan
    with pytest.raises(lowfold.DataError, match="both their rows and their columns, or use MDS or Sammon"):
        lowfold.Isomap(metric="precomputed").fit(D)
    lowfold.MDS(metric="precomputed").fit(D)
    kept = np.delete(np.arange(60), 2)
    lowfold.Isomap(metric="precomputed").fit(D[np.ix_(kept, kept)])


def test_a_vector_of_distances_has_a_graph_and_is_no_new_row():
    pairs = pdist(cloud())
    graph = lowfold.NeighborGraph(metric="precomputed", n_neighbors=5)
    assert (graph.fit_transform(pairs) != graph.fit_transform(squareform(pairs))).nnz == 0
    with pytest.raises(lowfold.DataError, match="vector of 1770 distances.*squareform"):
        lowfold.Isomap(metric="precomputed").fit(pairs).transform(pairs)


def test_what_nobody_gave_labels_for_is_refused():
    with pytest.raises(lowfold.ParameterError, match=r"no y, so target_weight=0\.9 has nothing to act on"):
        lowfold.UMAP(graph=lowfold.Fuzzy(target_weight=0.9)).fit(cloud())


LATE = {
    "factors of a cloud": (lambda: lowfold.LLE(memory_limit=45e6), lambda: cloud(3000, 20), "factorisation"),
    "neighbours within a radius": (
        lambda: lowfold.LaplacianEigenmaps(n_neighbors=lowfold.Within(radius=20.0), memory_limit=30e6),
        lambda: cloud(1500, 20),
        "radius of 20",
    ),
}


@pytest.mark.parametrize("what", list(LATE))
def test_a_limit_of_memory_holds_for_what_only_the_graph_tells(what):
    make, data, named = LATE[what]
    X, model = data(), make()
    assert model.estimate(*X.shape) < model.memory_limit
    with pytest.raises(lowfold.MemoryLimitError, match=f"{named}.*allowed by memory_limit"):
        model.fit(X)
    model.set_params(memory_limit=None).fit(X)


def test_a_finer_grid_is_foreseen_and_one_that_is_too_fine_is_told(monkeypatch):
    coarse, fine = (lowfold.TSNE(repulsion=lowfold.Grid(spacing=s)).estimate(1000, 5) for s in (0.5, 0.1))
    assert fine > coarse + 500_000_000
    monkeypatch.setattr(repulsion, "MOST_NODES", 10_000)  # the true number takes seconds
    model = lowfold.TSNE(
        repulsion=lowfold.Grid(spacing=0.001), schedule=lowfold.Annealed(max_iter=2), perplexity=10, init=cloud(100, 2)
    )
    with pytest.warns(ConvergenceWarning, match=r"Grid\(spacing=0.001\) would have needed more"):
        model.fit(cloud(100))
    assert model.report_.findings["grid spacing"] > 0.001
