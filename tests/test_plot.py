"""Pictures: what is drawn is what was asked for; Axes come in and go out."""

from __future__ import annotations

import inspect
import tracemalloc

import numpy as np
import pytest

from conftest import cloud
from lowfold import (
    PCA,
    TSNE,
    DataError,
    DiffusionMap,
    ElasticEmbedding,
    LaplacianEigenmaps,
    LowfoldError,
    ParameterError,
    markov,
    metrics,
    plot,
)
from lowfold.plot.colors import coloring
from lowfold.plot.images import without_overlap

pyplot = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture
def ax():
    return pyplot.subplots()[1]


Y = cloud(120, 2)
LABELS = np.array(["a", "b", "c"] * 40)


def test_classes_are_drawn_one_by_one_and_named_beside_the_picture(ax):
    assert plot.scatter(Y, LABELS, ax=ax, title="three") is ax
    assert [len(part.get_offsets()) for part in ax.collections] == [40, 40, 40]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    ax.figure.canvas.draw()
    legend, frame = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= frame.x1 - 1, "the legend hides no data"
    assert ax.get_title() == "three"


def test_numbers_have_a_scale_and_few_whole_numbers_are_classes(ax):
    plot.scatter(Y, Y[:, 0], ax=ax)
    assert len(ax.collections) == 1
    np.testing.assert_array_equal(ax.collections[0].get_array(), Y[:, 0])
    assert len(ax.figure.axes) == 2, "a colour bar"
    assert coloring(np.arange(120) % 5, 120).names == ["0", "1", "2", "3", "4"]
    assert coloring(np.arange(120), 120).numbers is not None


def test_more_than_a_hundred_thousand_points_are_shaded(ax):
    many = cloud(100_001, 2)
    plot.scatter(many, np.arange(100_001) % 3, ax=ax)
    assert not ax.collections
    image = ax.images[0].get_array()
    assert 0 < (image[:, :, 3] > 0).mean() < 1
    plot.scatter(many, many[:, 0], ax=pyplot.subplots()[1])
    plot.scatter(many, ax=pyplot.subplots()[1])


@pytest.mark.parametrize("n", [1, 2, 20, 5000])
def test_points_grow_as_they_become_fewer(n, ax):
    plot.scatter(cloud(n, 2), ax=ax)
    size = ax.collections[0].get_sizes()[0]
    assert 1 <= size <= 60
    assert size >= plot.scatter(cloud(6000, 2)).collections[0].get_sizes()[0]


def test_one_coordinate_and_tiny_or_huge_ones_can_be_drawn(ax):
    plot.scatter(cloud(50, 1), ax=ax)
    for factor in (1e-30, 1e30):
        drawn = plot.scatter(Y * factor).collections[0].get_offsets()
        assert np.ptp(drawn, axis=0).min() > 0.1


def test_images_do_not_overlap_and_lie_where_their_points_are(ax):
    pictures = np.random.default_rng(0).random((120, 6, 6))
    plot.images(Y, pictures, LABELS, ax=ax, across=10)
    boxes = np.array([image.get_extent() for image in ax.images])
    assert 10 < len(boxes) < 120
    for i, (a, b, c, d) in enumerate(boxes):
        others = np.delete(boxes, i, 0)
        apart = (others[:, 0] >= b) | (others[:, 1] <= a) | (others[:, 2] >= d) | (others[:, 3] <= c)
        assert apart.all()
        centre = np.array([(a + b) / 2, (c + d) / 2])
        assert np.abs(Y - centre).max(axis=1).min() < 1e-9
    assert len(ax.patches) == len(boxes), "a frame for each class"
    with pytest.raises(DataError, match="pictures"):
        plot.images(Y, pictures[:5])


def test_every_image_is_drawn_or_would_overlap_one():
    side = np.array([0.3, 0.3])
    kept = without_overlap(Y, side)
    for i in set(range(len(Y))) - set(kept):
        assert (np.abs(Y[i] - Y[kept]) < side).all(axis=1).any()


def test_a_grid_has_a_panel_for_each_map_and_one_legend():
    axes = plot.grid({"one": Y, "two": Y * 2, "three": Y[:, :1]}, LABELS, columns=2)
    assert [ax.get_title() for ax in axes] == ["one", "two", "three"]
    assert sum(ax.get_legend() is not None for ax in axes) == 1
    given = pyplot.subplots(1, 3)[1]
    assert plot.grid({"one": Y}, axes=given)[0] is given[0]
    with pytest.raises(DataError, match="axes were given"):
        plot.grid({"one": Y, "two": Y}, axes=given[0])


def test_curves_show_the_numbers_they_are_about(ax):
    X = cloud(120, 5)
    curve = metrics.quality_curve(X, Y)
    drawn = plot.quality(X, {"a": Y, "b": curve, "c": cloud(120, 2, seed=1)})
    for line in drawn.lines[:2]:
        np.testing.assert_array_equal(line.get_xdata(), curve.k)
        np.testing.assert_array_equal(line.get_ydata(), curve.r_nx)
    k, value = curve.k[20], drawn.lines[2].get_ydata()[20]
    assert value == pytest.approx(float(metrics.r_nx(X, cloud(120, 2, seed=1), int(k))))
    areas = [f"a ({curve.area.value:.3f})", f"b ({curve.area.value:.3f})"]
    assert [text.get_text() for text in drawn.get_legend().get_texts()][:2] == areas
    cut = markov.sweep_cut(LaplacianEigenmaps(n_neighbors=8).fit(X))
    drawn = plot.sweep(cut)
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), cut.profile)
    assert drawn.lines[1].get_ydata()[0] == cut.conductance
    assert drawn.lines[2].get_ydata()[0] == cut.certificate[0]


@pytest.mark.parametrize("model", [PCA(n_components=6), DiffusionMap(n_components=8, sigma=0.6)])
def test_a_spectrum_shows_every_eigenvalue_and_marks_the_largest_gap(model, ax):
    clusters = np.concatenate([cloud(60, 6, seed=s) * 0.1 + 4 * np.eye(4, 3)[s] @ np.eye(3, 6) for s in range(4)])
    plot.spectrum(model.fit(clusters), ax=ax)
    values = getattr(model, "eigenvalues_", getattr(model, "explained_variance_", None))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, len(values) + 1))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), values)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [3.5, 3.5])  # four clusters differ in three directions
    assert [text.get_text() for text in ax.texts] == ["gap behind 3"]


def test_a_shepard_diagram_shows_every_pair_and_the_medians(ax):
    X = cloud(120, 5)
    plot.shepard(X, Y, ax=ax)
    assert f"{metrics.shepard_correlation(X, Y)}" in ax.get_title()
    assert ax.collections[0].get_array().sum() == 120 * 119
    plot.shepard(X, 3 * X, ax=(straight := pyplot.subplots()[1]), title="straight")
    x, y = straight.lines[0].get_data()
    np.testing.assert_allclose(y, 3 * x, rtol=0.05)  # a median over a mean, of a fortieth of the pairs
    assert straight.get_title() == "straight"


def test_a_shepard_diagram_of_many_points_takes_no_more_memory(ax):
    X = cloud(200_000, 3, dtype=np.float32)
    plot.shepard(X[:100], X[:100, :2], title="first, what is imported on the way")
    tracemalloc.start()
    plot.shepard(X, X[:, :2], ax=ax)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e8, "distances from 400 points to all are 6.4e8 bytes in each space"
    assert 400 * 5000 <= ax.collections[0].get_array().sum() <= 400 * 5399


@pytest.mark.parametrize("of", ["recall", "trustworthiness"])
def test_trust_is_each_points_own_and_the_doubtful_are_on_top(of, ax):
    X = cloud(120, 5)
    plot.trust(X, Y, 7, of=of, ax=ax)
    wanted = {"recall": metrics.neighbor_recall, "trustworthiness": metrics.trustworthiness}[of](X, Y, 7).per_point
    shown, values = ax.collections[0].get_offsets(), ax.collections[0].get_array()
    number = [int(np.flatnonzero((point == Y).all(axis=1))[0]) for point in np.asarray(shown)]
    assert sorted(number) == list(range(120))
    np.testing.assert_array_equal(values, wanted[number])
    assert (np.diff(values) <= 0).all()


def test_trust_in_what_there_is_not_is_refused(ax):
    with pytest.raises(ParameterError, match="of='luck' must be one of 'recall', 'trustworthiness'"):
        plot.trust(cloud(120, 5), Y, 7, of="luck", ax=ax)


def test_a_diffusion_map_at_time_t_is_its_eigenvectors_times_eigenvalues_to_the_t():
    model = DiffusionMap(n_components=2).fit(cloud(80, 4))
    first, *later = (np.asarray(ax.collections[0].get_offsets()) for ax in plot.diffusion_times(model, times=(1, 2, 5)))
    np.testing.assert_allclose(first, model.embedding_, rtol=1e-6)
    for shown, t in zip(later, (2, 5), strict=True):
        np.testing.assert_allclose(shown, first * model.eigenvalues_ ** (t - 1), rtol=1e-6)


WALK = LaplacianEigenmaps(n_neighbors=8)
ONE_PICTURE = {
    "images": lambda ax: plot.images(Y, np.zeros((120, 4, 4)), ax=ax),
    "quality": lambda ax: plot.quality(cloud(120, 5), Y, ax=ax),
    "scatter": lambda ax: plot.scatter(Y, ax=ax),
    "shepard": lambda ax: plot.shepard(cloud(120, 5), Y, ax=ax),
    "spectrum": lambda ax: plot.spectrum(PCA(n_components=3).fit(cloud(120, 5)), ax=ax),
    "sweep": lambda ax: plot.sweep(WALK.fit(cloud(120, 5)), ax=ax),
    "trust": lambda ax: plot.trust(cloud(120, 5), Y, ax=ax),
}
SEVERAL_PICTURES = {"diffusion_times", "grid", "homotopy"}  # take `axes` and return the list of those they drew into
PUBLIC = {name for name in plot.__all__ if inspect.isfunction(getattr(plot, name))}


@pytest.mark.parametrize("name", sorted(PUBLIC - SEVERAL_PICTURES - {"names"}))
def test_every_picture_is_drawn_into_the_axes_given_or_new_ones_and_returns_them(name, ax):
    assert "returns the Axes" in getattr(plot, name).__doc__
    assert ONE_PICTURE[name](ax) is ax
    assert ax.has_data()
    new = ONE_PICTURE[name](None)
    assert isinstance(new, type(ax))
    assert new.figure is not ax.figure


def test_those_that_return_something_else_say_so():
    for name in SEVERAL_PICTURES:
        assert "axes" in inspect.signature(getattr(plot, name)).parameters
        assert "returns the list of Axes" in plot.__dict__[name].__doc__
    assert "returns the texts" in plot.names.__doc__
    given = pyplot.subplots(1, 2)[1]
    assert plot.grid({"one": Y, "two": Y}, axes=given) == list(given)
    assert plot.diffusion_times(DiffusionMap().fit(cloud(40, 4)), times=(1, 2), axes=given) == list(given)


def test_times_and_paths_are_series_of_maps():
    X = cloud(60, 4)
    axes = plot.diffusion_times(DiffusionMap().fit(X), LABELS[:60], times=(1, 2, 4))
    assert [ax.get_title() for ax in axes] == ["t = 1", "t = 2", "t = 4"]
    model = ElasticEmbedding(perplexity=5.0).fit(X)
    axes = plot.homotopy(model, most=4)
    assert len(axes) <= 4
    np.testing.assert_allclose(axes[-1].collections[0].get_offsets(), model.embedding_, rtol=1e-6)
    with pytest.raises(ParameterError, match="no time"):
        plot.diffusion_times(model)
    with pytest.raises(ParameterError, match="no path"):
        plot.homotopy(TSNE(perplexity=5.0).fit(X))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="color has shape"):
        plot.scatter(Y, LABELS[:5])
    with pytest.raises(DataError, match="finite"):
        plot.scatter(np.full((5, 2), np.nan))
    with pytest.raises(DataError, match="different labels"):
        plot.scatter(Y, [str(i) for i in range(120)])


def test_a_missing_matplotlib_is_asked_for_by_name(run_script):
    said = run_script(
        "import sys\nsys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "from lowfold import plot, LowfoldError\nimport numpy as np\n"
        "try:\n    plot.scatter(np.eye(3))\nexcept LowfoldError as error:\n    print(error)\n"
    )
    assert "lowfold[plot]" in said
    assert issubclass(DataError, LowfoldError)


def test_names_cover_neither_each_other_nor_points(ax):
    crowded = np.array([[0, 0], [0.02, 0.01], [0.03, -0.02], [0.5, 0.5], [1, 1], [1, 0], [0.97, 0.02]], float)
    plot.scatter(crowded, ax=ax, size=10)
    texts = plot.names(ax, crowded, ["Lyons", "Geneva", "Marseilles", "Paris", "Athens", "Rome", "Milan"])
    assert sorted(text.get_text() for text in texts)[0] == "Athens"
    boxes = [text.get_window_extent() for text in texts]
    frame = ax.get_window_extent()
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*place) for place in ax.transData.transform(crowded))
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
    with pytest.raises(DataError, match="2 names were given for 7 points"):
        plot.names(ax, crowded, ["a", "b"])
