"""Embeddings are written whole or not at all: whatever fails in between, the old file is there as it was."""

from __future__ import annotations

import csv
import errno
import io
import os

import numpy as np
import pytest

from conftest import cloud
from lowfold import FileError
from lowfold.files import read, write

Y = cloud(3000, 2)
ENDINGS = ["npy", "csv", "tsv", "parquet", "feather", "h5ad"]


class Broken(Exception):
    """Raised in the middle of writing."""


def half_array(monkeypatch, fail):
    def save(file, values):
        file.write(values.tobytes()[:100])
        fail(file)

    monkeypatch.setattr(np, "save", save)


def half_text(monkeypatch, fail):
    real = csv.writer

    def writer(file, **options):
        rows = real(file, **options)
        return type("Rows", (), {"writerow": rows.writerow, "writerows": lambda self, _: fail(file)})()

    monkeypatch.setattr(csv, "writer", writer)


def half_columns(monkeypatch, fail):
    def written(table, file):
        file.write(b"PAR1 and a column")
        fail(file)

    monkeypatch.setattr(pytest.importorskip("pyarrow.parquet"), "write_table", written)
    monkeypatch.setattr(pytest.importorskip("pyarrow.feather"), "write_feather", written)


def half_cells(monkeypatch, fail):
    h5py = pytest.importorskip("h5py")
    real = h5py.Group.create_dataset

    def create(group, name, *rest, **options):
        made = real(group, name, *rest, **options)
        if name.startswith("X_"):
            fail(group.file)
        return made

    monkeypatch.setattr(h5py.Group, "create_dataset", create)


HALVES = dict(zip(ENDINGS, [half_array, half_text, half_text, half_columns, half_columns, half_cells], strict=True))


@pytest.mark.parametrize("error", [Broken("broken"), KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_writer_that_fails_midway_leaves_the_old_file_and_nothing_else(ending, error, tmp_path, monkeypatch):
    path = tmp_path / f"map.{ending}"
    write(path, Y, method="tsne")
    before = path.read_bytes()
    begun = []

    def fail(file):
        file.flush()
        begun.extend(part for part in tmp_path.iterdir() if part != path and part.stat().st_size)
        raise error

    HALVES[ending](monkeypatch, fail)
    with pytest.raises(FileError if isinstance(error, OSError) else type(error)):
        write(path, Y + 1, method="tsne", source=path)
    assert len(begun) == 1, "the writer had begun, beside the old file"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class FullDisk(io.FileIO):
    """A file that no more than 4,000 bytes fit into."""

    def write(self, data):
        if self.tell() + len(memoryview(data).cast("B")) > 4000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("old", [True, False], ids=["over an old file", "anew"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_told_and_leaves_what_was_there(ending, old, tmp_path, monkeypatch):
    path = tmp_path / f"map.{ending}"
    if old:
        write(path, Y, method="tsne")
    before = {part: part.read_bytes() for part in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", lambda handle, mode: io.BufferedRandom(FullDisk(handle, "r+")))
        with pytest.raises(FileError, match=r"cannot be written: .*[Nn]o space left on device"):
            write(path, Y + 1, method="tsne", source=path if old else None)
    assert {part: part.read_bytes() for part in tmp_path.iterdir()} == before
    write(path, Y + 1, method="tsne")
    np.testing.assert_array_equal(read(path, name="X_tsne" if ending == "h5ad" else None).X, Y + 1)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    for ending in ENDINGS:
        with pytest.raises(FileError, match="cannot be written.*Choose a folder that exists"):
            write(tmp_path / "none" / f"map.{ending}", Y)
    assert not list(tmp_path.iterdir())
