"""The small data sets, and which kernels are loaded."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from lowfold import datasets


def test_the_kernels_can_be_chosen_and_a_wrong_choice_is_an_error():
    code = "import lowfold.backend.native as n; print(n.kernels.simd)"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"LOWFOLD_SIMD": "baseline"}, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "baseline"
    wrong = subprocess.run(
        [sys.executable, "-c", code], env={"LOWFOLD_SIMD": "quantum"}, capture_output=True, text=True, check=False
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
