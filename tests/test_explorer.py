"""The explorer without a browser: packs, columns, panels, scenes, the page's file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re

import numpy as np
import pytest

import lowfold
from lowfold import DataError, FileError, ParameterError, explorer, metrics
from lowfold.cli import main
from lowfold.explorer.columns import make_columns
from lowfold.explorer.pack import unpack
from lowfold.explorer.page import DECLARED, FOLDER, bundle, page_parts
from lowfold.explorer.panels import Source, Truth, exploring, make_panel
from lowfold.explorer.scene import contents_for
from lowfold.plot.colors import OKABE_ITO, PETROFF, SHAPES


def embedded(path):
    """(header, arrays) of the scene in a page."""
    text = path.read_text(encoding="utf-8")
    parts = re.findall('<script type="application/octet-stream">([^<]*)</script>', text)
    return unpack(gzip.decompress(b"".join(base64.b64decode(part) for part in parts)))


@pytest.fixture(scope="module")
def scene(digits):
    X, y = digits
    models = {"PCA": lowfold.PCA(n_components=5).fit(X), "Diffusion": lowfold.DiffusionMap(n_components=4, t=3).fit(X)}
    return explorer.make_scene(X, models, labels=y, images=X, contents=explorer.Contents(title="Digits", k=10))


# Columns


def test_columns_are_categories_numbers_or_texts():
    n = 2000
    values = {
        "word": np.array(["b", "a"] * (n // 2)),
        "digit": np.arange(n) % 10,
        "truth": np.arange(n) % 2 == 0,
        "real": np.linspace(0, 1, n),
        "count": np.arange(n),
        "identity": np.arange(n) + 10**12,
        "name": np.array([f"point {i}" for i in range(n)]),
        "mixed": np.array(["x", None, float("nan"), "y"] * (n // 4), dtype=object),
    }
    columns, arrays = make_columns(values, n)
    kinds = {column["name"]: column["kind"] for column in columns}
    assert kinds == {
        "word": "category", "digit": "category", "truth": "category", "real": "number", "count": "number",
        "identity": "text", "name": "text", "mixed": "category",
    }  # fmt: skip
    found = {column["name"]: column for column in columns}
    assert found["word"]["categories"] == ["a", "b"]
    assert found["digit"]["categories"] == [str(i) for i in range(10)]
    assert found["mixed"]["categories"] == ["", "x", "y"]
    assert found["identity"]["texts"][1] == "1000000000001"
    np.testing.assert_array_equal(arrays[found["word"]["values"]][:2], [1, 0])


def test_a_column_of_another_length_is_refused():
    with pytest.raises(DataError, match="'a' has shape"):
        make_columns({"a": [1, 2]}, 3)


def test_columns_may_be_a_data_frame(digits):
    pandas = pytest.importorskip("pandas")
    X, y = digits
    frame = pandas.DataFrame({"written": y, "sum": X.sum(axis=1)})
    made = explorer.make_scene(None, X[:, :2], columns=frame)
    assert [column["name"] for column in made.header["columns"]] == ["written", "sum"]


def test_the_data_s_own_columns_come_with_their_names():
    X = np.random.default_rng(0).normal(size=(50, 3))
    made = explorer.make_scene(X, X[:, :2], contents=explorer.Contents(features=["a", "b", "c"]))
    assert [column["name"] for column in made.header["columns"]] == ["a", "b", "c"]
    assert explorer.make_scene(X, X[:, :2]).header["columns"][2]["name"] == "x3"
    assert explorer.make_scene(X, X[:, :2], contents=explorer.Contents(features=None)).header["columns"] == []


# Panels and scenes


def test_trust_is_the_share_of_neighbours_kept_whichever_way_it_is_found(digits):
    X, y = digits
    Y = lowfold.PCA().fit_transform(X)
    made = explorer.make_scene(X, Y, labels=y)
    trust = made.arrays[made.header["panels"][0]["trust"]]
    expected = metrics.neighbor_recall(X, Y, 15).per_point
    np.testing.assert_allclose(trust, expected, atol=1e-6)
    sampled = Truth(X, y, made.truth.neighbors, lowfold.Judging(k=15, sample=100))
    panel, arrays = make_panel("a", Source("PCA", Y), sampled)
    assert np.abs(arrays[panel["trust"]] - expected).mean() < 0.005  # equal distances may go either way
    assert made.header["panels"][0]["quality"]["trustworthiness"] == pytest.approx(
        float(metrics.trustworthiness(X, Y, 15)), abs=1e-6
    )


def test_a_diffusion_map_is_stored_for_time_0(scene, digits):
    panel = scene.header["panels"][1]
    model = lowfold.DiffusionMap(n_components=4, t=3).fit(digits[0])
    stored, lam = (scene.arrays[panel[name]].astype(float) for name in ("coordinates", "eigenvalues"))
    assert panel["time"] == 3
    np.testing.assert_allclose(stored * lam**3, model.embedding_, rtol=1e-4, atol=1e-7)
    assert panel["quality"]["recall"] == pytest.approx(
        float(metrics.neighbor_recall(digits[0], model.embedding_[:, :2], 10)), abs=1e-6
    )


def test_true_neighbours_are_those_of_the_search(scene, digits):
    expected = lowfold.build_index(digits[0]).query(None, 10).indices
    np.testing.assert_array_equal(scene.arrays["neighbors"], expected)


def test_more_coordinates_leave_the_first_two_as_they_are(digits):
    X = digits[0]
    for name in lowfold.METHODS:
        more = exploring(name, X)
        if more and name != "kernel_pca":
            own = lowfold.METHODS[name]
            few, many = own(n_components=2).fit(X), own(**more).fit(X)
            assert many.embedding_.shape[1] == 10
            np.testing.assert_allclose(many.embedding_[:, :2], few.embedding_, atol=1e-4 * np.abs(few.embedding_).max())


def test_a_comparison_becomes_its_maps_with_its_scores(digits):
    X, y = digits
    found = lowfold.compare(X, {"pca": "pca", "mine": lowfold.PCA(n_components=3)}, labels=y)
    made = explorer.make_scene(X, found, labels=y)
    first, second = made.header["panels"]
    assert (first["title"], second["title"]) == ("Principal component analysis", "mine")
    assert first["quality"]["labels"] == pytest.approx(found.entries[0].scores["labels"].value, abs=1e-6)
    assert second["quality"]["labels"] == first["quality"]["labels"], "judged by what is drawn: two coordinates"


def test_images_are_bytes_whatever_they_were(digits):
    X = digits[0]
    made = explorer.make_scene(None, X[:, :2], images=X.reshape(-1, 8, 8))
    assert made.header["images"] == {"width": 8, "height": 8, "channels": 1, "pixels": "pixels", "ink": True}
    np.testing.assert_array_equal(made.arrays["pixels"].reshape(len(X), -1), np.round(X * 255 / 16).astype(np.uint8))
    photographs = np.full((len(X), 2, 3, 3), 200, np.uint8)
    made = explorer.make_scene(None, X[:, :2], images=photographs)
    assert made.header["images"]["channels"] == 3


def test_what_cannot_be_shown_is_refused_with_a_remedy(digits):
    X = digits[0]
    for arguments, message in (
        ({"maps": []}, "maps is empty"),
        ({"maps": X[:9, :2]}, "Pass maps of the same rows"),
        ({"maps": lowfold.PCA()}, "has not been fitted"),
        ({"maps": "pca"}, "neither a fitted estimator"),
        ({"maps": X[:, :2], "images": X[:, :7]}, "Reshape them"),
        ({"maps": X[:, :2], "columns": X}, "without names"),
        ({"maps": X[:, :2], "contents": explorer.Contents(k=0)}, "at least 1"),
    ):
        with pytest.raises((DataError, ParameterError), match=message):
            explorer.make_scene(X, **arguments)


def test_maps_of_distances_are_judged_by_them_and_others_not_at_all(digits):
    X = digits[0][:60]
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = lowfold.MDS(metric="precomputed").fit(D)
    assert contents_for(model, D, title="a").metric == "precomputed"
    made = explorer.make_scene(D, model, contents=contents_for(model, D, title="a"))
    np.testing.assert_array_equal(made.arrays["neighbors"], lowfold.build_index(X).query(None, 15).indices)
    D[0, 1] = D[1, 0] = np.nan
    assert not contents_for(lowfold.MDS(metric="precomputed").fit(D), D, title="a").judged


# The page


def test_a_page_is_one_file_whose_policy_allows_its_own_script_and_nothing_else(scene, tmp_path):
    path = tmp_path / "map.html"
    explorer.write_page(path, scene)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(https?:)?//[a-z]+\.", text.split("<script type")[0]), "an address"
    assert not re.findall(r'\bsrc="(?!data:)', text)
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]+)"', text).group(1)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    header, arrays = embedded(path)
    assert (header["kind"], header["n"], len(header["panels"])) == ("scene", scene.n, 2)
    for name, values in scene.arrays.items():
        np.testing.assert_array_equal(arrays[name], values)


def test_the_page_for_a_server_holds_no_scene_and_may_reach_that_server():
    before, _ = page_parts("'self' ws://127.0.0.1:8765")
    assert '<body data-server="1">' in before
    assert "connect-src 'self' ws://127.0.0.1:8765;" in before


def test_modules_are_joined_in_the_order_of_their_imports():
    script = bundle()
    assert not re.search(r"^\s*(import|export) ", script, re.MULTILINE)
    used = [name for _, name in DECLARED.findall(script)]
    assert len(used) == len(set(used))
    assert script.index("class Panel ") < script.index("class App ") < script.index("async function start")


def test_modules_are_short_enough_to_read_and_have_no_spare_parts():
    sources = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}
    assert max(len(source.splitlines()) for source in sources.values()) <= 300
    imported = {name for source in sources.values() for name in re.findall(r'from "\./(\w+)\.js"', source)}
    assert set(sources) - imported == {"main"}


def test_the_page_s_colours_are_those_of_the_pictures():
    text = (FOLDER / "colors.js").read_text(encoding="utf-8")
    lists = {
        name: re.findall("#[0-9a-fA-F]{6}", body) for name, body in re.findall(r"const (\w+) = \[(.*?)\]", text, re.S)
    }
    assert tuple(lists["OKABE_ITO"]) == OKABE_ITO
    assert tuple(lists["PETROFF"]) == PETROFF
    assert f"SHAPE_COUNT = {len(SHAPES)}" in text
    matplotlib = pytest.importorskip("matplotlib")
    steps = np.linspace(0, 1, len(lists["CIVIDIS"]))
    assert [matplotlib.colors.to_hex(color) for color in matplotlib.colormaps["cividis"](steps)] == lists["CIVIDIS"]


# The command


def test_embed_writes_a_page(digits, tmp_path, capsys):
    X, y = digits
    np.savez(tmp_path / "digits.npz", X=X, y=y)
    page = tmp_path / "map.html"
    command = ["embed", str(tmp_path / "digits.npz"), "--labels", "y", "-m", "diffusion_map", "--n-components", "4"]
    assert main([*command, "--html", str(page), "-q"]) == 0
    header, arrays = embedded(page)
    assert header["title"] == "digits.npz"
    assert arrays[header["panels"][0]["coordinates"]].shape == (len(X), 4)
    assert header["columns"][0]["categories"] == [str(i) for i in range(10)]
    assert main([*command, "--html", str(tmp_path / "map.png"), "-q"]) == 1
    assert "must be .html" in capsys.readouterr().err


def test_compare_writes_its_maps_into_one_page(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4)) + 3 * (np.arange(60) % 3)[:, None]
    lines = [f"{','.join(f'{value:.6g}' for value in row)},k{at % 3}" for at, row in enumerate(rows)]
    data, target = tmp_path / "data.csv", tmp_path / "maps.html"
    data.write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n", encoding="utf-8")
    assert main(["compare", str(data), "--labels", "kind", "--methods", "pca,isomap", "--html", str(target), "-q"]) == 0
    header, _ = embedded(target)
    assert [panel["method"] for panel in header["panels"]] == ["pca", "isomap"]
    assert [column["name"] for column in header["columns"]] == ["label", "a", "b", "c", "d"]
    assert header["columns"][0]["categories"] == ["k0", "k1", "k2"]
    assert main(["compare", str(data), "--labels", "kind", "--html", str(tmp_path / "maps.csv"), "-q"]) == 1


def test_a_page_that_cannot_be_written_leaves_nothing(scene, tmp_path):
    with pytest.raises(FileError):
        explorer.write_page(tmp_path / "missing" / "map.html", scene)
    assert list(tmp_path.iterdir()) == []
