"""Every kernel of the protocols does what its NumPy reference says, on random and adversarial data, on every
instruction set that this machine has. More shapes and options, and what a kernel promises beyond that, are in
`test_backend*.py`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import agreeing_graphs
import agreeing_maps
import agreeing_rows
from agreeing import CASES, KINDS, Data
from lowfold.backend import embedding_protocol, protocol, reference

FILES = (agreeing_rows, agreeing_graphs, agreeing_maps)  # each adds its cases when it is imported

ROUNDING = {np.float32: 2e-5, np.float64: 1e-11}

# It asks the machine.
NO_KERNEL = {"supported_simd"}
# Which points share a cell is the search's own affair; that each is in one is what its case shows.
NO_REFERENCE = {"order"}
NAMED_OTHERWISE = {"run_inplace": "convolved"}

# Axes with equal variances, or fewer different points than a block needs, have no one answer.
BLOCKS = ("tangent_blocks", "hessian_blocks", "modified_blocks")
NO_ONE_ANSWER = {(name, kind) for name in BLOCKS for kind in ("lattice", "duplicates")}
# On a map that is almost a line, new points leave it to one side or the other, or not at all.
NO_ONE_ANSWER.add(("placed", "scales"))


def kernels_of_the_protocols():
    protocols = [cls for module in (protocol, embedding_protocol) for cls in vars(module).values()]
    named = [vars(cls) for cls in protocols if getattr(cls, "_is_protocol", False)]
    functions = {name for names in named for name, value in names.items() if inspect.isfunction(value)}
    return sorted(name for name in functions - NO_KERNEL if not name.startswith("_"))


PAIRS = [(name, kind) for name in kernels_of_the_protocols() for kind in KINDS if (name, kind) not in NO_ONE_ANSWER]


def assert_agree(found, wanted, close, *, each=False):
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for part, wanted_part in zip(found, wanted, strict=True):
            assert_agree(part, wanted_part, close, each=each)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    if close == 0 or wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
    elif each:
        np.testing.assert_allclose(found, wanted, rtol=close, atol=0)
    else:
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=close * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_kernel_agrees_with_its_reference(kernels, name, kind, dtype):
    pair = CASES[name](kernels, Data(kind, dtype))
    assert_agree(pair.found, pair.wanted, ROUNDING[dtype] if pair.close is None else pair.close, each=pair.each)


def test_every_kernel_has_a_reference_and_a_case():
    names = kernels_of_the_protocols()
    assert {"search", "scatter", "geodesics", "layout_epoch", "stress_of_matrix", "coranking", "solve"} <= set(names)
    assert set(CASES) == set(names)
    assert {case.__module__ for case in CASES.values()} == {file.__name__ for file in FILES}
    missing = {n for n in names if not hasattr(reference, NAMED_OTHERWISE.get(n, n.removesuffix("_inplace")))}
    assert missing == NO_REFERENCE


def test_a_kernel_that_is_wrong_in_one_number_is_noticed():
    right = np.arange(6.0)
    wrong = right.copy()
    wrong[3] += 1e-3
    with pytest.raises(AssertionError):
        assert_agree((right, wrong), (right, right), 1e-5)
    with pytest.raises(AssertionError):
        assert_agree(right[:5], right, 1e-5)
    assert_agree((right, right + 1e-6), (right, right), 1e-5)
    with pytest.raises(AssertionError):
        assert_agree(right + 1e-6, right, 1e-5, each=True)
