"""Colours and legends: who can tell them apart, and whether the legend shows what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import cloud
from lowfold import LaplacianEigenmaps, plot
from lowfold.plot import points
from lowfold.plot.colors import CONTINUOUS, OKABE_ITO, PETROFF, as_rgb

pyplot = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("closed_figures")


# What readers see, in linear light, who lack one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]


def seen(rgb, eyes):
    """CIELAB coordinates (lightness first) of sRGB colours as these eyes see them; 2.3 apart is just noticeable."""
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(light @ np.transpose(EYES[eyes]), 0, 1) @ np.transpose(TO_XYZ)
    xyz = xyz / np.sum(TO_XYZ, axis=1)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("colors", [OKABE_ITO, PETROFF])
def test_classes_differ_for_colour_blind_readers_too(colors, eyes):
    lab = seen(np.array([as_rgb(color) for color in colors]), eyes)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)[np.triu_indices(len(colors), 1)]
    assert apart.min() > 15, "seven times what is just noticeable"


@pytest.mark.parametrize("eyes", EYES)
def test_numbers_have_colours_that_become_lighter_evenly(eyes):
    drawn = plot.scatter(cloud(50, 2), np.linspace(0, 1, 50)).collections[0]
    assert drawn.get_cmap().name == CONTINUOUS
    lightness = seen(drawn.get_cmap()(np.linspace(0, 1, 256))[:, :3], eyes)[:, 0]
    assert (np.diff(lightness) > 0).all(), "more is lighter, everywhere"
    assert np.ptp(lightness) > 70
    steps = np.diff(lightness[::16])
    assert np.abs(steps / steps.mean() - 1).max() < (0.25 if eyes == "all cones" else 0.45)


def shown_in_legend(ax):
    """{name: (colour, shape)}, as the legend shows them."""
    legend = ax.get_legend()
    looks = [(handle.get_color(), handle.get_marker()) for handle in legend.legend_handles]
    return {text.get_text(): look for text, look in zip(legend.get_texts(), looks, strict=True)}


@pytest.mark.parametrize("count", [3, 8, 10, 24])
def test_the_legend_shows_each_class_as_it_is_drawn(count):
    labels = np.arange(240) % count
    ax = plot.scatter(cloud(240, 2), labels)
    looks = shown_in_legend(ax)
    assert list(looks) == [str(number) for number in range(count)]
    assert len(set(looks.values())) == count
    for drawn, (color, shape) in zip(ax.collections, looks.values(), strict=True):
        np.testing.assert_allclose(drawn.get_facecolor()[0, :3], as_rgb(color))
        marker = pyplot.matplotlib.markers.MarkerStyle(shape)
        wanted = marker.get_path().transformed(marker.get_transform())
        np.testing.assert_array_equal(drawn.get_paths()[0].vertices, wanted.vertices)


@pytest.mark.parametrize("draw", [plot.scatter, lambda Y, labels: plot.grid({"a": Y}, labels)[0]])
@pytest.mark.parametrize("count", [3, 10, 24])
def test_in_shades_the_legend_names_all_classes_of_a_colour_together(count, draw, monkeypatch):
    monkeypatch.setattr(points, "SHADED_FROM", 200)
    labels = np.repeat(np.arange(count), 20)
    Y = np.column_stack([labels, np.tile(np.linspace(0, 1, 20), count)])  # a column of pixels for each class
    ax = draw(np.tile(Y, (5, 1)), np.tile(labels, 5))
    looks = shown_in_legend(ax)
    assert {shape for _, shape in looks.values()} == {"s"}, "pixels have no shape"
    assert len({color for color, _ in looks.values()}) == len(looks) == min(count, 10)
    image = ax.images[0].get_array()
    columns = np.flatnonzero(image[:, :, 3].any(axis=0))
    assert len(columns) == count
    for name, (color, _) in looks.items():
        for number in name.split(", "):
            pixels = image[:, columns[int(number)]]
            np.testing.assert_allclose(pixels[pixels[:, 3] > 0, :3], as_rgb(color)[None].repeat(20, axis=0))
    assert ax.get_legend().get_title().get_text() == ("classes of each colour" if count > 10 else "")


def test_every_legend_stands_beside_the_data():
    X, Y = cloud(120, 5), cloud(120, 2)
    drawn = [
        plot.scatter(Y, np.arange(120) % 12),
        plot.quality(X, {"a": Y, "b": Y}),
        plot.sweep(LaplacianEigenmaps(n_neighbors=8).fit(X)),
        *plot.grid({"a": Y, "b": Y}, np.arange(120) % 3)[1:],
    ]
    for ax in drawn:
        ax.figure.canvas.draw()
        legend, frame = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert legend.x0 >= frame.x1 - 1, "the legend hides no data"
        assert legend.x1 <= ax.figure.bbox.x1 + 1, "and is not cut off"
