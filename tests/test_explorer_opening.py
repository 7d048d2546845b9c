"""What `lowfold explore` and `lowfold.explore` take: data, models, maps, in files and in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowfold
from conftest import cloud
from lowfold.cli import main
from lowfold.errors import DataError, ParameterError
from lowfold.explorer import Serving
from lowfold.explorer.opening import data_of, explore
from lowfold.explorer.pack import unpack
from lowfold.explorer.server import Explorer
from serving import Page, get

pytest.importorskip("uvicorn", reason="needs lowfold[explore]")
pytest.importorskip("websockets", reason="needs lowfold[explore]")
pytestmark = pytest.mark.filterwarnings("ignore")

X = cloud(60, 4)
LABELS = ["a", "b", "c"] * 20
QUIET = Serving(browser=False)


@pytest.fixture
def served(monkeypatch):
    """(scene, methods) of each server that the command starts; it ends at once."""
    found = []

    def look(self):
        found.append((unpack(get(self, "/scene")[2])[0], json.loads(get(self, "/methods")[2])))
        self.close()

    monkeypatch.setattr(Explorer, "wait", look)
    monkeypatch.setattr(Explorer, "open", lambda self: found.append("browser"))
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """data.csv with labels, two maps of it, a model, an npz file."""
    monkeypatch.chdir(tmp_path)
    rows = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), LABELS, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["p,q,r,s,kind", *rows]))
    model = lowfold.Isomap(n_neighbors=6).fit(X)
    lowfold.save(model, "model.lowfold")
    lowfold.save(lowfold.PCA().fit(X), "pca.lowfold")
    np.savetxt("one.csv", X[:, :2], delimiter=",", header="x,y", comments="")
    np.save("two.npy", X[:, 1:])
    np.savez("data.npz", X=X, kind=np.array(LABELS))
    return tmp_path


def titles(scene):
    return [panel["title"] for panel in scene["panels"]]


def test_data_are_shown_by_pca_and_umap(folder, served, capsys):
    assert main(["explore", "data.csv", "--labels", "kind", "--no-browser", "-q"]) == 0
    [(scene, methods)] = served
    assert titles(scene) == ["Principal component analysis", "UMAP"]
    assert [column["name"] for column in scene["columns"]] == ["label", "p", "q", "r", "s"]
    assert scene["columns"][0]["categories"] == ["a", "b", "c"]
    assert scene["title"] == "data.csv"
    assert methods["runs"] is True
    said = capsys.readouterr().out
    assert said.startswith("http://127.0.0.1:")
    assert "/?token=" in said


def test_the_browser_is_opened_unless_it_is_not_wanted(folder, served):
    assert main(["explore", "two.npy", "--methods", "pca", "-q"]) == 0
    assert served[0] == "browser"


def test_arrays_with_names_and_chosen_methods(folder, served):
    assert main(["explore", "data.npz", "--labels", "kind", "--methods", "lle,mds", "--no-browser", "-q"]) == 0
    assert titles(served[0][0]) == ["Locally linear embedding", "Multidimensional scaling"]


def test_a_model_brings_its_data_if_it_keeps_them(folder, served):
    assert main(["explore", "model.lowfold", "--no-browser", "-q"]) == 0
    scene, methods = served[0]
    assert titles(scene) == ["model"]
    assert scene["panels"][0]["method"] == "isomap"
    assert scene["panels"][0]["quality"]["trustworthiness"] > 0
    assert methods["runs"] is True
    assert main(["explore", "model.lowfold", "pca.lowfold", "data.csv", "--labels", "kind", "--no-browser", "-q"]) == 0
    assert titles(served[1][0]) == ["model", "pca"]


def test_several_maps_are_shown_side_by_side_with_and_without_data(folder, served):
    assert main(["explore", "one.csv", "two.npy", "--no-browser", "-q"]) == 0
    scene, methods = served[0]
    assert titles(scene) == ["one", "two"]
    assert scene["panels"][0]["quality"] == {}
    assert methods["runs"] is False
    assert main(["explore", "one.csv", "--data", "data.csv", "--labels", "kind", "--no-browser", "-q"]) == 0
    scene, methods = served[1]
    assert titles(scene) == ["one"]
    assert scene["panels"][0]["quality"]["trustworthiness"] > 0
    assert methods["runs"] is True
    again = ["explore", "one.csv", "--data", "data.csv", "--labels", "kind", "--methods", "pca", "--no-browser", "-q"]
    assert main(again) == 0
    assert titles(served[2][0]) == ["one", "Principal component analysis"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "does not exist"),
        (["one.csv", "two.npy", "--labels", "kind"], "--data"),
        (["data.csv"], "--labels kind"),
        (["data.csv", "--labels", "kind", "--methods", "umpa"], "There is no method 'umpa'"),
        (["one.csv", "--data", "data.npz", "--name", "nothing"], "holds no 'nothing'"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(folder, served, capsys, arguments, message):
    assert main(["explore", *arguments, "--no-browser", "-q"]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]
    assert served == []


def test_a_method_that_cannot_be_fitted_is_said_and_the_others_are_shown(folder, served, capsys):
    np.save("few.npy", X[:8])
    assert main(["explore", "few.npy", "--methods", "pca,tsne", "--no-browser", "-q"]) == 0
    assert titles(served[0][0]) == ["Principal component analysis"]
    assert "lowfold: note: tsne: perplexity" in capsys.readouterr().err


def test_anything_that_is_a_map_can_be_explored():
    compared = lowfold.compare(X, ["pca", "lle"])
    given = [
        (compared, ["Principal component analysis", "Locally linear embedding"]),
        (["pca", lowfold.PCA(n_components=3), lowfold.PCA().fit(X)], ["Principal component analysis"] * 3),
        ({"mine": "pca", "theirs": X[:, :2]}, ["mine", "theirs"]),
        (X[:, :2], ["Map"]),
        ("lle", ["Locally linear embedding"]),
    ]
    for maps, wanted in given:
        with explore(X, maps, labels=LABELS, serving=QUIET) as explorer:
            found = titles(unpack(get(explorer, "/scene")[2])[0])
        assert [title.rstrip(" 23") for title in found] == wanted
        assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "data", [X.astype(np.float32), X.astype(np.int16), np.asfortranarray(X), X.tolist(), csr_array(X)]
)
def test_data_of_any_kind_can_be_run_on(data):
    with explore(data, {"first": X[:, :2]}, serving=QUIET) as explorer, Page(explorer) as page:
        page.start(1, "umap", n_neighbors=6)
        assert page.to_the_end(1)[1]["type"] == "done"
        page.start(2, "pca", rows=[1, 2, 3, 5, 8, 13])
        assert page.to_the_end(2)[1]["type"] == "done"


def test_what_is_no_table_of_numbers_is_refused():
    for wrong in (X[0], np.array([["a", "b"]] * 5), X[None]):
        with pytest.raises(DataError, match="a row of numbers for each point"):
            explore(wrong, ["pca"], serving=QUIET)
    with pytest.raises(ParameterError, match="There is no method"):
        explore(X, ["cpa"], serving=QUIET)


def test_the_data_of_a_model_are_its_rows_and_never_its_distances():
    np.testing.assert_array_equal(data_of(lowfold.Isomap(n_neighbors=6).fit(X)), X)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    assert data_of(lowfold.MDS(metric="precomputed").fit(distances)) is None
    assert data_of(lowfold.PCA().fit(X)) is None, "it needs no rows to place others"
