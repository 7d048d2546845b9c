"""The small data sets, and which kernels are loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import LEVELS
from lowfold import datasets

LOADED = "import lowfold.backend.native as n; print(n.kernels.simd)"
PROCESSOR = Path("/proc/cpuinfo")

# What the compiler may use at each level beyond the one before, by Linux's names.
NEEDED = {
    "avx2": {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c"},
    "avx512": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"},
}


@pytest.mark.parametrize("unset", [{}, {"LOWFOLD_SIMD": ""}], ids=["unset", "empty"])
def test_the_best_kernels_of_this_processor_are_loaded_if_none_are_asked_for(unset):
    others = {name: value for name, value in os.environ.items() if name != "LOWFOLD_SIMD"}
    run = subprocess.run([sys.executable, "-c", LOADED], env=others | unset, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == LEVELS[-1]


@pytest.mark.skipif(not PROCESSOR.exists(), reason="the system does not say what its processor has")
def test_kernels_can_be_loaded_for_all_that_this_processor_has():
    lines = PROCESSOR.read_text().splitlines()
    has = {flag for line in lines if line.startswith("flags") for flag in line.partition(":")[2].split()}
    expected = ["baseline"]
    for level, needed in NEEDED.items():
        if not needed <= has:
            break
        expected.append(level)
    assert expected == LEVELS


def test_the_kernels_can_be_chosen_and_a_wrong_choice_is_an_error():
    run = subprocess.run(
        [sys.executable, "-c", LOADED], env={"LOWFOLD_SIMD": "baseline"}, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "baseline"
    wrong = subprocess.run(
        [sys.executable, "-c", LOADED], env={"LOWFOLD_SIMD": "quantum"}, capture_output=True, text=True, check=False
    )
    assert "Set LOWFOLD_SIMD to one of these" in wrong.stderr


def test_the_spiral_lies_on_a_spiral_and_is_the_same_for_a_seed():
    X, position = datasets.spiral(200)
    radius = np.linalg.norm(X, axis=1)
    assert (np.diff(position) >= 0).all()
    assert (np.diff(radius) >= 0).all()
    np.testing.assert_array_equal(X, datasets.spiral(200)[0])
    assert (datasets.spiral(200, random_state=1)[0] != X).any()


def test_the_swiss_roll_is_as_long_along_its_sheet_as_in_space():
    X, sheet = datasets.swiss_roll(4000)
    order = np.argsort(sheet[:, 0])
    near = np.abs(np.diff(sheet[order, 1])) < 0.5
    steps = np.linalg.norm(np.diff(X[order][:, [0, 2]], axis=0), axis=1)[near]
    np.testing.assert_allclose(steps, np.diff(sheet[order, 0])[near], rtol=0.02, atol=1e-6)


def test_the_three_points_of_the_disks_are_about_equally_far():
    X, side, (a, b, c) = datasets.two_disks()
    assert list(side[[a, b, c]]) == [0, 1, 1]
    distances = np.linalg.norm(X[a] - X[b]), np.linalg.norm(X[b] - X[c])
    assert 0.9 < distances[0] / distances[1] < 1.1


def test_eurodist_is_a_matrix_of_distances():
    D, names, places = datasets.eurodist()
    assert D.shape == (21, 21)
    assert len(set(names)) == len(places) == 21
    np.testing.assert_array_equal(D, D.T)
    assert D[names.index("Athens"), names.index("Rome")] == 817
