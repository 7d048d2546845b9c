"""Pictures: what is drawn is what was asked for; Axes come in and go out."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud
from lowfold import (
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
from lowfold.plot.colors import OKABE_ITO, PETROFF, as_rgb, coloring
from lowfold.plot.images import without_overlap

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _figures_are_closed():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


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


@pytest.mark.parametrize("colors", [OKABE_ITO, PETROFF])
def test_colours_differ_for_colour_blind_readers_too(colors):
    # Deuteranopia and protanopia (Vienot, Brettel and Mollon 1999), in linear light.
    rgb = np.array([as_rgb(colour) for colour in colors]) ** 2.2
    blind = {
        "deuteranopia": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
        "protanopia": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    }
    for kind, matrix in blind.items():
        seen = np.clip(rgb @ matrix.T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(len(colors), 1)]
        assert apart.min() > 0.07, kind


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
    model = DiffusionMap(n_components=6).fit(X)
    plot.spectrum(model, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.eigenvalues_)
    curve = metrics.quality_curve(X, Y)
    drawn = plot.quality(X, {"a": Y, "b": curve})
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), drawn.lines[1].get_ydata())
    assert f"{metrics.shepard_correlation(X, Y)}" in plot.shepard(X, Y).get_title()
    cut = markov.sweep_cut(LaplacianEigenmaps(n_neighbors=8).fit(X))
    drawn = plot.sweep(cut)
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), cut.profile)
    assert drawn.lines[1].get_ydata()[0] == cut.conductance


def test_trust_is_each_points_own(ax):
    X = cloud(120, 5)
    plot.trust(X, Y, 7, ax=ax)
    wanted = metrics.neighbor_recall(X, Y, 7).per_point
    np.testing.assert_allclose(np.sort(ax.collections[0].get_array()), np.sort(wanted))


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
