"""Model files whose whole numbers are wrong, checksums right: each is an error, or a model that can be used."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import bsr_array, csc_array, csr_array

import lowfold
from conftest import HANG_SECONDS, cloud, model_of
from lowfold import DataError, FileError, load, save
from lowfold.model_file import container
from lowfold.model_file.compressed import check_compressed, check_matrix
from test_model_file_hostile import MODELS

WRONG = (-1, 0, 10**6)
KINDS = {
    "real": lambda array: np.full(array.shape, 2e9),
    "shorter": lambda array: array[:-1].copy(),
    "wider": lambda array: array[None].copy(),
}
FREE = "uint64"  # fingerprints of rows, which may be any number


def changed_arrays(arrays):
    """(what is wrong, arrays): each array of whole numbers wrong at its first, middle and last place, or as a whole."""
    for at, array in enumerate(arrays):
        for place in sorted({0, array.size // 2, array.size - 1}) if array.dtype.kind in "iu" and array.size else ():
            for value in WRONG:
                wrong = np.array(array)
                wrong.flat[place] = np.asarray(value).astype(array.dtype)
                yield f"{array.dtype}, {value}", [*arrays[:at], wrong, *arrays[at + 1 :]]
        if array.dtype.kind in "iu" and array.size:
            for kind, change in KINDS.items():
                yield f"{array.dtype}, {kind}", [*arrays[:at], change(array), *arrays[at + 1 :]]


def fate(path, header, arrays):
    """What becomes of a file: "refused", or "used" once every kernel that reads its graph has run, or the failure."""
    container.write(path, header, arrays)
    try:
        model = load(path)
    except FileError:
        return "refused"
    try:
        use(model)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "used"


def use(model):
    model.transform(np.concatenate([cloud(3, seed=1), cloud(40)[:2]]))
    if hasattr(model, "resume"):
        model.resume(2)
    if hasattr(model, "index_"):  # scipy's matrices do not look at where their entries are
        assert model.transform(cloud(40)).indices.max() < model.n_samples_fit_
    if hasattr(model, "graph_"):
        assert model.graph_.shape == (40, 40)
    if hasattr(model, "random_walk"):
        with contextlib.suppress(DataError):  # an edge that ends elsewhere is legal; the walk is not reversible then
            lowfold.markov.sweep_cut(model)


SCRIPT = """
import json, pathlib, sys, warnings
import lowfold
from lowfold.model_file import container
from test_model_file_indices import changed_arrays, fate
from test_model_file_hostile import MODELS, saved

warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])
for name in MODELS:
    header, arrays = container.read(saved(name, folder / "m"))
    fates = {}
    for what, changed in changed_arrays(arrays):
        print(json.dumps({"method": name, "changed": what}), flush=True)
        fates.setdefault(what, []).append(fate(folder / "h", header, changed))
    print(json.dumps({"method": name, "fates": fates}), flush=True)
"""


@pytest.fixture(scope="module")
def fates(tmp_path_factory):
    """What became of each method's files; one process for all, which a crash would end early."""
    folder = tmp_path_factory.mktemp("indices")
    (folder / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, str(folder / "script.py"), str(folder)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS / 2,
    )
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    found = {line["method"]: line["fates"] for line in told if "fates" in line}
    assert ended.returncode == 0, f"ended by {ended.returncode} in {told[-1:]}: {ended.stderr}"
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_wrong_whole_number_is_refused_or_harmless_at_every_place(name, fates):
    for what, became in fates[name].items():
        dtype, value = what.split(", ")
        if value in KINDS and not name.startswith("neighbors"):
            continue  # what is told about a map, and not read again, may be anything; a crash would be seen
        legal = value == "0" or (dtype == FREE and value not in KINDS)
        assert set(became) <= ({"refused", "used"} if legal else {"refused"}), what


def test_most_methods_keep_whole_numbers_and_a_legal_one_is_used(fates):
    assert {name for name, became in fates.items() if not became} <= {"pca", "neighbors"}
    assert all("used" in became[f"{FREE}, 0"] for name, became in fates.items() if became and "copies" not in name)


def with_walk(path, change, X):
    """Writes a model of X whose graph and walk have been changed: change(sparse node, arrays)."""
    save(model_of(lowfold.LaplacianEigenmaps).fit(X), path)
    header, arrays = container.read(path)
    nodes = list(_sparse_nodes(header["model"]))
    assert len(nodes) >= 2
    for node in nodes:
        change(node, arrays)
    container.write(path, header, arrays)


def _sparse_nodes(tree):
    if isinstance(tree, dict) and "sparse" in tree:
        yield tree["sparse"]
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _sparse_nodes(part)


INDPTR = {
    "rises and falls back to 0": lambda p: np.array([0, *[10**9] * (len(p) - 2), 0]),
    "falls in the middle": lambda p: np.array([*p[:20], p[20] - 50, *p[21:]]),
    "begins behind 0": lambda p: np.array([3, *p[1:]]),
    "ends too early": lambda p: np.array([*p[:-1], p[-1] - 1]),
    "ends below 0": lambda p: np.array([*p[:-1], -1]),
    "goes round all whole numbers": lambda p: np.array([0, 2**62, 2**63 - 1, -(2**63), -(2**62), *p[5:]]),
    "is too short": lambda p: p[:-1],
    "has two dimensions": lambda p: p[None],
    "is no whole number": lambda p: p.astype(np.float64),
}


@pytest.mark.parametrize("wrong", INDPTR.values(), ids=INDPTR)
def test_a_walk_whose_rows_do_not_follow_each_other_is_refused(wrong, tmp_path):
    def change(node, arrays):
        arrays[node[3]] = wrong(arrays[node[3]])

    with_walk(tmp_path / "m", change, cloud(40))
    with pytest.raises(FileError, match=r"is no sparse matrix of shape \(40, 40\).*Write the file again"):
        load(tmp_path / "m")


def test_a_walk_wider_than_its_points_is_refused(tmp_path):
    def change(node, arrays):
        node[4] = [40, 60]  # as wide as the data
        arrays[node[2]] = np.full_like(arrays[node[2]], 59)

    with_walk(tmp_path / "m", change, cloud(40, 60))
    with pytest.raises(FileError, match="a Walk whose parts do not fit together"):
        load(tmp_path / "m")


def test_an_order_that_leaves_points_out_is_refused(tmp_path):
    model = model_of(lowfold.UMAP).fit(cloud(40))
    model._graph.order = np.zeros(40, np.int64)
    save(model, tmp_path / "m")
    with pytest.raises(FileError, match="a FuzzyGraph whose parts do not fit together"):
        load(tmp_path / "m")


@pytest.mark.parametrize("make", [csr_array, csc_array, bsr_array])
def test_sparse_matrices_of_every_kind_are_looked_at(make):
    matrix = make(np.kron(np.eye(3, 4), np.ones((2, 2))))
    check_matrix(matrix, "It")
    for name in ("indices", "indptr"):
        for place in (0, 1, -1):
            for value in (-1, 10**6):
                wrong = matrix.copy()
                getattr(wrong, name)[place] = value
                with pytest.raises(FileError, match="It is no sparse matrix"):
                    check_matrix(wrong, "It")


def test_the_largest_legal_indices_and_empty_matrices_are_accepted():
    empty = np.array([], np.int32)
    check_compressed((np.ones(2), np.array([4, 4]), np.array([0, 0, 2, 2])), (3, 5), "csr", "It")
    check_compressed((np.ones(2), np.array([4, 4]), np.array([0, 0, 2, 2])), (5, 3), "csc", "It")
    check_compressed((np.ones(0), empty, np.zeros(4, np.uint64)), (3, 0), "csr", "It")
    check_compressed((np.ones(0), empty, np.zeros(1, np.uint8)), (0, 7), "csr", "It")
    with pytest.raises(FileError, match="from 4 to 5, not from 0 to 4"):
        check_compressed((np.ones(2), np.array([4, 5]), np.array([0, 0, 2, 2])), (3, 5), "csr", "It")
    with pytest.raises(FileError, match="types object, int64 and int64"):
        check_compressed((np.array(["a"], object), np.array([0]), np.array([0, 1])), (1, 1), "csr", "It")
