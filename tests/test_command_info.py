"""`lowfold info`: what a file holds, and what each method would need."""

from __future__ import annotations

import re

import numpy as np

import lowfold
from conftest import cloud
from lowfold import METHODS, files
from lowfold.cli import main


def test_info_says_what_a_file_holds_and_what_methods_need(tmp_path, capsys):
    X = cloud(60, 4)
    data = tmp_path / "data.csv"
    files.write(data, X, labels=np.array(["a", "b", "c"] * 20))
    assert main(["info"]) == 0
    assert "kernels: " in capsys.readouterr().out
    assert main(["info", str(data), "--labels", "label"]) == 0
    printed = capsys.readouterr().out
    assert "60 rows, 4 columns" in printed
    assert "labels: 3 different, the smallest group has 20" in printed
    spread = X.std(axis=0)
    low, high = (f"y{at + 1} {spread[at]:.3g}" for at in (spread.argmin(), spread.argmax()))
    assert f"standard deviations: {low} to {high}\n" in printed
    for method in ("two_nn", "mle"):
        wanted = lowfold.metrics.intrinsic_dimension(X, method)
        assert f"intrinsic dimension ({method}): {float(wanted):.1f}" in printed
    for name in METHODS:
        row = re.search(rf"^{name} +(.*)$", printed, re.MULTILINE)
        assert row, name
        if "not with its defaults" not in row[1]:
            assert all(float(number) >= 0 for number in row[1].split()[:2])
    assert len(re.findall("not with its defaults", printed)) < 4
    np.save(data.with_name("nan.npy"), np.where(X > 2, np.nan, X))
    assert main(["info", str(data.with_name("nan.npy"))]) == 0
    printed = capsys.readouterr().out
    assert "missing or infinite" in printed
    assert "umap" not in printed, "nothing can be tried"
