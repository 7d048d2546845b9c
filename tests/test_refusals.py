"""Parameters that cannot be, or would be ignored, are refused; none is heard in one place and not in another."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud, same_bits
from lowfold import (
    LLE,
    MDS,
    PCA,
    SNE,
    TSNE,
    UMAP,
    ClassicalMDS,
    Curve,
    DiffusionMap,
    ElasticEmbedding,
    Isomap,
    NeighborGraph,
    ParameterError,
    Sammon,
    SymmetricSNE,
    build_index,
    compare,
    metrics,
)
from lowfold.backend import native
from lowfold.cli.flags import parsed
from lowfold.explorer.forms import declared_methods
from lowfold.options import parameters


def test_no_threads_are_refused_by_the_declaration():
    with pytest.raises(ParameterError, match=r"'n_jobs'.*an int at most 1024 and other than 0.*Got 0"):
        PCA(n_jobs=0).fit(cloud(20))
    assert "other than 0" in PCA.__doc__


@pytest.mark.parametrize("perplexity", [("a",), [None], ["x", 3.0], 0.5, (), [[3.0]], (0.2, 30), (2, np.inf)])
@pytest.mark.parametrize("method", [TSNE, SNE, SymmetricSNE, ElasticEmbedding])
def test_a_perplexity_that_is_none_is_refused_before_anything_is_computed(method, perplexity):
    needed = r"'perplexity' .* a number at least 1 or a tuple of numbers at least 1 .* Got .* Use .*perplexity=30\.0"
    with pytest.raises(ParameterError, match=needed):
        method(perplexity=perplexity).fit(cloud(60))
    with pytest.raises(ParameterError, match=needed):
        method(perplexity=perplexity).estimate(60, 3)
    assert method(perplexity=1).estimate(60, 3) > 0


def test_a_perplexity_below_1_is_refused_in_the_same_words_by_documentation_command_and_form():
    needed = "a number at least 1 or a tuple of numbers at least 1 or a list of numbers at least 1"
    assert f"({needed}; default 30.0)" in TSNE.__doc__
    with pytest.raises(ParameterError, match=f"--perplexity 0.5,30 is not allowed: it must be {needed}"):
        parsed(next(known for known in parameters(TSNE) if known.name == "perplexity"), "0.5,30")
    form = next(method for method in declared_methods() if method["name"] == "tsne")
    field = next(field for field in form["parameters"] if field["name"] == "perplexity")
    assert (field["low"], field["above"], field["needs"]) == (1, None, needed)


def test_a_comparison_says_a_wrong_perplexity_in_its_row():
    found = compare(cloud(40), {"wrong": TSNE(perplexity=(0.5,)), "pca": PCA()})
    wrong, right = found.entries
    assert "a tuple of numbers at least 1" in wrong.error
    assert right.error is None


def test_a_curve_given_twice_is_refused():
    with pytest.raises(ParameterError, match=r"a=1\.5 and b=0\.9, and min_dist=0\.7, spread=2.*one pair or the other"):
        UMAP(min_dist=Curve(a=1.5, b=0.9, min_dist=0.7, spread=2.0)).fit(cloud(60))


@pytest.mark.parametrize("method", [ClassicalMDS, MDS, Sammon, Isomap, TSNE])
def test_a_metric_that_does_not_exist_is_a_wrong_parameter_everywhere(method):
    with pytest.raises(ParameterError, match="metric='foo'"):
        method(metric="foo").fit(cloud(120))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: TSNE().fit(X).resume(-1), "max_iter=-1 must be an int at least 0"),
        (lambda X: SNE().fit(X).resume(2.5), "max_iter=2.5 must be an int at least 0"),
        (lambda X: UMAP().fit(X).resume(True), "n_epochs=True must be an int at least 0"),
        (lambda X: UMAP().fit(X).resume(None), "n_epochs=None must be an int"),
        (
            lambda X: UMAP().fit(X).resume(2, learning_rate=np.nan),
            "'learning_rate' parameter of resume .* Got nan",
        ),
        (lambda X: UMAP().fit(X).resume(2, learning_rate=-1.0), "'learning_rate' parameter of resume .*Got -1.0"),
        (lambda X: MDS().fit(X).shepard(0), "max_pairs=0 must be an int at least 1"),
        (lambda X: Sammon().fit(X).shepard(10.5), "max_pairs=10.5"),
        (lambda X: DiffusionMap().fit(X).diffusion_distance(60, 0), "60 was given for points; .* from -60 to 59"),
        (lambda X: DiffusionMap().fit(X).diffusion_distance(0, [True]), r"\[True\] was given for points"),
        (lambda X: metrics.intrinsic_dimension(X, "mle", k=5.9), "k=5.9 must be an int at least 2"),
        (lambda X: metrics.stability(UMAP, X), "model=<class 'lowfold.force.umap.UMAP'> must be an estimator"),
        (lambda X: metrics.stability(None, X), "model=None must be an estimator"),
        (lambda X: PCA().estimate(30, 3, "a"), "n_stored='a'; these must be whole numbers"),
        (lambda X: compare(X, judging=1), "judging=1 must be a Judging or None"),
    ],
)
@pytest.mark.filterwarnings("ignore::lowfold.errors.ConvergenceWarning")
def test_an_argument_of_a_function_that_cannot_be_is_refused_with_what_it_must_be(call, message):
    with pytest.raises(ParameterError, match=message):
        call(cloud(60))


def test_steps_that_leave_the_range_of_numbers_leave_the_map_as_it_was():
    model, other = (UMAP(n_neighbors=5).fit(cloud(60)) for _ in range(2))
    before = model.embedding_.copy()
    with pytest.raises(ParameterError, match=r"not finite.* default \(n_neighbors=5, learning_rate=1e\+300\)"):
        model.resume(3, learning_rate=1e300)
    assert same_bits(model.embedding_, before)
    assert same_bits(model.resume(3).embedding_, other.resume(3).embedding_)


@pytest.mark.parametrize("model", [LLE, Isomap, TSNE, UMAP, NeighborGraph], ids=lambda model: model.__name__)
def test_one_job_is_one_while_the_input_is_checked_too(model, monkeypatch):
    asked = []
    largest_entry = native.kernels.largest_entry

    def counted(X, mean, threads):
        asked.append(threads)
        return largest_entry(X, mean, threads)

    monkeypatch.setattr(native.kernels, "largest_entry", counted)
    X, new = cloud(80, 3), cloud(20, 3, seed=1)
    model(n_jobs=1).fit(X).transform(new)
    build_index(X, n_jobs=1).query(new, 3)
    assert len(asked) >= 4
    assert np.unique(asked).tolist() == [1]
