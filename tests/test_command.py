"""The `lowfold` command and the small data sets."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from lowfold import METHODS, datasets
from lowfold.cli import main


def test_methods_lists_every_method_with_every_parameter(capsys):
    assert main(["methods"]) == 0
    printed = capsys.readouterr().out
    for name, method in METHODS.items():
        assert f"{name}: " in printed
        for parameter in method().get_params():
            assert f"  {parameter} = " in printed


def test_demo_embeds_both_data_sets_with_every_method(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "digits: 1797 points" in printed
    assert "spiral: 500 points" in printed
    assert all(printed.count(f"  {name}: ") == 2 for name in METHODS)


def test_info_says_which_kernels_run(capsys):
    assert main(["info"]) == 0
    assert "kernels: " in capsys.readouterr().out


def test_no_command_is_an_error_with_usage():
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


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
