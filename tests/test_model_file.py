"""Models in files: what is loaded is what was saved; what is damaged or made to harm is an error and no more."""

from __future__ import annotations

import copy
import json
import pickle
import tracemalloc
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowfold
from conftest import ESTIMATORS, cloud, dense, model_of, place, quick, same_bits
from lowfold import FileError, load, save
from lowfold.markov import SpectralClustering
from lowfold.model_file import container

warnings.filterwarnings("ignore", category=UserWarning, module="lowfold")

GOLDEN = Path(__file__).parent / "golden"
MODELS = {cls.__name__: model_of(cls) for cls in ESTIMATORS} | {
    "Isomap, landmarks, cosine": lowfold.Isomap(n_neighbors=6, landmarks=20, metric="cosine"),
    "Isomap, radius, pieces": lowfold.Isomap(n_neighbors=lowfold.Within(radius=1.2), components="separate"),
    "DiffusionMap, nearest": lowfold.DiffusionMap(graph=lowfold.Nearest(k=8), sigma="local"),
    "DiffusionMap, significant": lowfold.DiffusionMap(n_components=lowfold.Significant(delta=0.9)),
    "LaplacianEigenmaps, largest": lowfold.LaplacianEigenmaps(n_neighbors=3, components="largest"),
    "TSNE, grid, another metric": lowfold.TSNE(perplexity=5.0, metric="braycurtis", repulsion="grid"),
    "TSNE, a generator": lowfold.TSNE(perplexity=5.0, init="random", random_state=np.random.RandomState(3)),
    "ElasticEmbedding, masses": lowfold.ElasticEmbedding(
        perplexity=5.0, strength=lowfold.Homotopy(mass=np.linspace(1, 2, 60))
    ),
    "KernelPCA, sigmoid": lowfold.KernelPCA(kernel="sigmoid", gamma=0.01),
    "UMAP, a curve": lowfold.UMAP(n_neighbors=6, min_dist=lowfold.Curve(min_dist=0.3)),
}


@pytest.fixture(params=MODELS)
def model(request):
    fitted = MODELS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted.fit(np.abs(cloud(60)))


def mixed(n=12):
    """New rows, and some that the models were fitted to."""
    return np.concatenate([np.abs(cloud(n, seed=1)), np.abs(cloud(60))[:4]])


def shown(model):
    """The parameters, with the state of a generator instead of its address."""
    parts = {name: getattr(value, "get_state", lambda v=value: v)() for name, value in model.get_params().items()}
    return repr(parts)


def test_a_loaded_model_places_points_with_the_same_bits(model, tmp_path):
    save(model, tmp_path / "model.lowfold")
    loaded = load(tmp_path / "model.lowfold")
    assert type(loaded) is type(model)
    assert same_bits(place(loaded, mixed()), place(model, mixed()))
    if hasattr(model, "embedding_"):
        assert same_bits(loaded.embedding_, model.embedding_)
        assert str(loaded.report_) == str(model.report_)
    assert shown(loaded) == shown(model)


def test_pickle_gives_the_same(model):
    again = pickle.loads(pickle.dumps(model))
    assert same_bits(place(again, mixed()), place(model, mixed()))


def test_a_loaded_model_can_be_saved_again(model, tmp_path):
    save(model, tmp_path / "a")
    save(load(tmp_path / "a"), tmp_path / "b")
    assert same_bits(place(load(tmp_path / "b"), mixed()), place(model, mixed()))


def test_a_model_keeps_the_names_of_the_columns_it_was_fitted_to(estimator, tmp_path):
    table = pd.DataFrame(np.abs(cloud(60)), columns=["a", "b", "ä", "", "e"])
    fitted = quick(model_of(estimator)).fit(table)
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == table.columns.tolist()
    assert same_bits(place(loaded, table + 0.1), place(fitted, table + 0.1))
    with pytest.raises(ValueError, match="feature names"):
        place(loaded, table[table.columns[::-1]])


def test_names_that_do_not_fit_the_model_are_refused(tmp_path):
    model = lowfold.PCA().fit(pd.DataFrame(cloud(20, 3), columns=["a", "b", "c"]))
    spoilt = copy.copy(model)
    spoilt.feature_names_in_ = model.feature_names_in_[:2]
    save(spoilt, tmp_path / "m")
    with pytest.raises(FileError, match=r"PCA\.feature_names_in_ in the model file holds names"):
        load(tmp_path / "m")
    labelled = lowfold.UMAP(n_neighbors=5).fit(cloud(20), np.array(["a", "b"] * 10, dtype=object))
    with pytest.raises(FileError, match="of type object, which a model file cannot hold"):
        save(labelled, tmp_path / "m")


def test_optimisations_go_on_after_loading(tmp_path):
    X = cloud(80)
    for cls in (lowfold.TSNE, lowfold.UMAP):
        fitted = model_of(cls).fit(X)
        save(fitted, tmp_path / "m")
        assert same_bits(load(tmp_path / "m").resume(10).embedding_, fitted.resume(10).embedding_)


def test_other_estimators_can_be_saved_too(tmp_path):
    model = SpectralClustering(n_clusters=3).fit(cloud(60))
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(mixed()), model.predict(mixed()))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.lowfold")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_still_load_and_place_points_where_they_did(path):
    with np.load(path.with_suffix(".npz")) as stored:
        model = load(path)
        np.testing.assert_allclose(dense(model.transform(stored["X"])), stored["Y"], rtol=1e-4, atol=1e-5)


def test_there_is_a_golden_file_of_each_family():
    methods = {load(path).__class__ for path in GOLDEN.glob("*.lowfold")}
    assert {lowfold.PCA, lowfold.Isomap, lowfold.TSNE, lowfold.UMAP, lowfold.MDS} <= methods


def test_functions_are_refused_by_name(tmp_path):
    for model in (
        lowfold.TSNE(perplexity=5.0, schedule=lowfold.Annealed(callback=print)),
        lowfold.Isomap(n_neighbors=5, metric=lambda a, b: float(abs(a - b).sum())),
    ):
        with pytest.raises(FileError, match=r"(callback|metric) is a function.*pickle"):
            save(model.fit(cloud(40)), tmp_path / "m")
        assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_an_unfitted_model_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(lowfold.PCA(), tmp_path / "m")
    with pytest.raises(FileError, match="cannot be written"):
        save(lowfold.PCA().fit(cloud(20)), tmp_path / "none" / "m")
    with pytest.raises(FileError, match="cannot be read"):
        load(tmp_path / "none")


def test_other_files_and_later_versions_are_told_from_damaged_ones(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"PK\x03\x04 something else entirely")
    with pytest.raises(FileError, match="no model file"):
        load(path)
    path.write_bytes(b"LOWFOLD3" + b"\0" * 100)
    with pytest.raises(FileError, match="later version"):
        load(path)
    for begin in (b"LOWFOLD0", b"LOWFOLDx", b"LOWFOLD"):
        path.write_bytes(begin + b"\0" * 100)
        with pytest.raises(FileError, match="no model file"):
            load(path)
    save(lowfold.PCA().fit(cloud(20)), path)
    header, arrays = container.read(path)
    container.write(path, header | {"format": 7}, arrays)
    with pytest.raises(FileError, match="format 7"):
        load(path)


def raw(path, header, content=b""):
    """A file of this header, whatever it says, and these bytes behind it."""
    text = header if isinstance(header, bytes) else json.dumps(header | {"size": len(content)}).encode()
    filled = -(-(24 + len(text)) // 64) * 64
    begin = b"LOWFOLD2" + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(8, "little")
    path.write_bytes((begin + text).ljust(filled, b"\0") + content)
    return path


def entry(place, shape, content, dtype="|u1"):
    return {"dtype": dtype, "shape": shape, "place": place, "crc32": zlib.crc32(content)}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"", "no JSON"),
        (b"{}", "lists no arrays"),
        ({"arrays": [entry(0, [2**40], b"", "<f8")]}, r"shape \(1099511627776,\) does not fit into its 0 bytes"),
        ({"arrays": [entry(0, [2**47] * 8, b"", "<f8")]}, "does not fit"),
        ({"arrays": [entry(2**47, [1], b"")]}, "does not fit"),
        ({"arrays": [entry(-1, [1], b"")]}, "no type, shape or place"),
        ({"arrays": [entry(0, [-1], b"")]}, "no type, shape or place"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sizes_are_compared_with_the_file_before_anything_is_read(header, said, tmp_path):
    with pytest.raises(FileError, match=f"damaged: .*{said}"):
        load(raw(tmp_path / "m", header))


def test_a_header_longer_than_the_file_and_a_tree_without_end_are_refused(tmp_path):
    for begin in (b"LOWFOLD1", b"LOWFOLD2"):
        (tmp_path / "m").write_bytes(begin + (2**60).to_bytes(8, "little") * (1 + (begin == b"LOWFOLD2")))
        with pytest.raises(FileError, match="does not fit"):
            load(tmp_path / "m")
        (tmp_path / "m").write_bytes(begin + b"123")
        with pytest.raises(FileError, match="ends within its first numbers"):
            load(tmp_path / "m")
    deep = b'{"arrays": [], "size": 0, "model": ' + b'{"list": [' * 100_000 + b"]}" * 100_000 + b"}"
    with pytest.raises(FileError):
        load(raw(tmp_path / "m", deep))


def test_arrays_that_share_bytes_are_refused_before_any_is_read(tmp_path):
    content = bytes(1 << 20)
    whole = entry(0, [len(content)], content)
    tail = entry(len(content) - 1, [1], b"\0")
    for arrays in ([whole] * 200, [tail, whole], [whole, entry(0, [1], b"\0")]):
        raw(tmp_path / "m", {"arrays": arrays}, content)
        tracemalloc.start()
        try:
            with pytest.raises(FileError, match="begins inside of another"):
                load(tmp_path / "m")
            assert tracemalloc.get_traced_memory()[1] < len(content)
        finally:
            tracemalloc.stop()


def test_arrays_without_numbers_and_arrays_in_any_order_share_nothing(tmp_path):
    content = bytes(range(128))
    arrays = [entry(64, [64], content[64:]), entry(64, [0, 3], b""), entry(0, [64], content[:64]), entry(128, [0], b"")]
    _, found = container.read(raw(tmp_path / "m", {"arrays": arrays}, content))
    assert [array.tobytes() for array in found] == [content[64:], b"", content[:64], b""]


def test_a_file_takes_its_name_only_when_it_is_complete(tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(lowfold.PCA().fit(cloud(20)), path)
    before = path.read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "ascontiguousarray", fail)
    with pytest.raises(KeyboardInterrupt):
        container.write(path, {}, [np.zeros(3)])
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m"]
