"""Model files with random damage, and files made to harm: checksums right, contents wrong."""

from __future__ import annotations

import copy
import json
from functools import partial

import numpy as np
import pytest

import lowfold
from conftest import cloud, model_of
from lowfold import METHODS, FileError, load, save
from lowfold.model_file import container

DAMAGED = 80  # copies of each file
HOSTILE = 60


# Every method, and other indices than theirs: with directions and without, with copies, and neighbours themselves.
MODELS = {name: partial(model_of, cls) for name, cls in METHODS.items()} | {
    "directions": partial(model_of, lowfold.Isomap, metric="cosine"),
    "neighbors": partial(model_of, lowfold.NeighborGraph),
    "neighbors by direction": partial(model_of, lowfold.NeighborGraph, metric="cosine"),
    "neighbors of copies": partial(model_of, lowfold.NeighborGraph, metric="manhattan"),
}


def points(name):
    X = cloud(40)
    if name.endswith("by direction"):
        X[7] = 0
    return np.concatenate([X, np.tile(X[:1], (300, 1))]) if name.endswith("copies") else X


def saved(name, path):
    save(MODELS[name]().fit(points(name)), path)
    return path


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_an_error(name, tmp_path):
    whole = bytearray(saved(name, tmp_path / "m").read_bytes())
    rng = np.random.default_rng(0)
    refused = 0
    for number in range(DAMAGED):
        content = bytearray(whole)
        if number % 5 == 0:
            content = content[: rng.integers(len(content))]
        elif number % 5 == 1:
            content += bytes(rng.integers(0, 256, rng.integers(1, 100), dtype=np.uint8))
        else:
            for place in rng.integers(0, len(content), rng.integers(1, 5)):
                content[place] ^= int(rng.integers(1, 256))
        (tmp_path / "d").write_bytes(content)
        try:
            load(tmp_path / "d")  # damage to the space between arrays, or to a digit of a result, may go unseen
        except FileError:
            refused += 1
    assert refused > 0.8 * DAMAGED


def test_every_flipped_bit_of_an_array_is_noticed(tmp_path):
    path = saved("pca", tmp_path / "m")
    content = bytearray(path.read_bytes())
    header, _ = container.read(path)
    start = len(content) - header["size"]
    for entry in header["arrays"]:
        size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
        for offset in {0, size // 2, size - 1} if size else ():
            content[start + entry["place"] + offset] ^= 4
            path.write_bytes(content)
            with pytest.raises(FileError, match="checksum"):
                load(path)
            content[start + entry["place"] + offset] ^= 4


def mutate(header, arrays, rng):
    """One thing wrong: a number, an array, its shape or type, a class, a field."""
    kind = rng.integers(6)
    if kind < 3 and arrays:
        at = int(rng.integers(len(arrays)))
        arrays[at] = _spoilt(arrays[at], rng)
        return
    nodes = []
    _collect(header["model"], nodes)
    parent, key = nodes[int(rng.integers(len(nodes)))]
    values = [None, -1, 10**9, 1e300, "x", {"array": 0}, {"list": []}, {"same": 0}, {"float": "nan"}]
    parent[key] = values[int(rng.integers(len(values)))]


def _collect(tree, nodes):
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        nodes.append((tree, key))
        _collect(value, nodes)


def _spoilt(array, rng):
    how = rng.integers(6)
    flat = np.array(array)
    if how == 0 or not flat.size:
        return flat.ravel()[:-1] if flat.size else np.zeros(3)
    if how == 1:
        return flat[: max(0, len(flat) // 2)] if flat.ndim else np.zeros(2)
    if how == 2:
        return flat.astype([np.float32, np.int64, np.int32, np.uint8][rng.integers(4)])
    if how == 3 and flat.dtype.kind == "f":
        flat.flat[rng.integers(flat.size)] = [np.nan, np.inf, 1e38][rng.integers(3)]
        return flat
    if flat.dtype.kind in "iu":
        flat.flat[rng.integers(flat.size)] = [np.iinfo(flat.dtype).max, np.iinfo(flat.dtype).min, 10**6][
            rng.integers(3)
        ]
        return flat
    return flat.T.copy() if flat.ndim == 2 else flat[::-1].copy()


SCRIPT = """
import json, warnings
import numpy as np
import lowfold
from conftest import cloud
from lowfold.model_file import container
from test_model_file_hostile import HOSTILE, mutate, saved
import copy, pathlib, tempfile

warnings.simplefilter("ignore")
folder = pathlib.Path(tempfile.mkdtemp())
header, arrays = container.read(saved(METHOD, folder / "m"))
rng = np.random.default_rng(7)
new = np.concatenate([cloud(5, seed=1), cloud(40)[:2]])
counts = {"refused": 0, "used": 0, "failed": 0}
for number in range(HOSTILE):
    changed, parts = copy.deepcopy(header), list(arrays)
    mutate(changed, parts, rng)
    try:
        container.write(folder / "h", changed, parts)
        model = lowfold.load(folder / "h")
    except lowfold.LowfoldError:
        counts["refused"] += 1
        continue
    try:
        model.transform(new)
        if hasattr(model, "resume"):
            model.resume(2)
        counts["used"] += 1
    except Exception:
        counts["failed"] += 1
print(json.dumps(counts))
"""


@pytest.mark.parametrize("name", MODELS)
def test_a_hostile_file_is_an_error_and_never_a_crash(name, run_script):
    counts = json.loads(run_script(f"METHOD = {name!r}\n" + SCRIPT))  # a crash would end the process with a signal
    assert sum(counts.values()) == HOSTILE
    assert counts["refused"] > 0


def test_classes_from_elsewhere_are_never_made(tmp_path):
    path = saved("pca", tmp_path / "m")
    header, arrays = container.read(path)
    for name in ("os.system", "builtins.eval", "pathlib.Path", "lowfold.cli.main", "lowfold.model_file.codec.Decoder"):
        changed = copy.deepcopy(header)
        changed["model"]["object"] = name
        container.write(path, changed, arrays)
        with pytest.raises(FileError, match="does not have"):
            load(path)


def test_indices_outside_of_the_points_are_refused(tmp_path):
    path = saved("isomap", tmp_path / "m")
    header, arrays = container.read(path)
    whole = [at for at, array in enumerate(arrays) if array.dtype in (np.int32, np.int64) and array.size > 1]
    assert len(whole) >= 5
    for at in whole:
        for wrong in (-1, 10**6):
            spoilt = list(arrays)
            spoilt[at] = arrays[at].copy()
            spoilt[at].flat[1] = wrong
            container.write(path, header, spoilt)
            with pytest.raises(FileError):
                load(path)


def test_one_wrong_bit_anywhere_in_a_file_is_damage(tmp_path):
    save(lowfold.Isomap(n_neighbors=4).fit(cloud(12, 3)), tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    length = int.from_bytes(whole[8:16], "little")
    for at in [*range(8, 24), *range(24, 24 + length, 7)]:
        damaged = bytearray(whole)
        damaged[at] ^= 1
        (tmp_path / "d").write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            load(tmp_path / "d")
