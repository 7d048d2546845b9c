"""What the tests share: every estimator, small data, comparison by bits, and scripts in a process of their own."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from scipy.sparse import issparse
from sklearn.datasets import load_digits

import lowfold
from browsing import browser
from lowfold.backend.native import load
from lowfold.options import parameters

LEVELS = load("baseline").supported_simd()
ESTIMATORS = [*lowfold.METHODS.values(), lowfold.NeighborGraph]

FORCE_METHODS = [lowfold.TSNE, lowfold.SymmetricSNE, lowfold.SNE, lowfold.ElasticEmbedding]
SHORT = lowfold.Annealed(max_iter=20)
# The phase before, which Annealed takes at any max_iter, is short here too; elastic embedding has none.
SHORTER = lowfold.Classical(early_iter=20, max_iter=20)
FEW_PASSES = lowfold.Majorisation(max_iter=3)

# scikit-learn's checks fit ten points; a method refuses more neighbours than there are points.
FOR_SMALL_DATA = {"n_neighbors": 6, "perplexity": 2.0}

HANG_SECONDS = 300  # far beyond any test: what takes longer will not come back

settings.register_profile("lowfold", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("lowfold")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for the tests of one file; they skip where there is none."""
    with browser() as found:
        yield found


@pytest.fixture(params=LEVELS)
def kernels(request: pytest.FixtureRequest) -> Any:
    """The compiled kernels, of each instruction set."""
    return load(request.param)


def entries(A: Any) -> Any:
    """A sparse matrix as the kernels take it."""
    return A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data


@pytest.fixture(scope="session")
def digits() -> tuple[Any, Any]:
    """(X, y): 600 digits and their classes."""
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


def declared(cls: type) -> set[str]:
    """The names of the parameters of a class."""
    return {parameter.name for parameter in parameters(cls)}


GRAPH_METHODS = [cls for cls in lowfold.METHODS.values() if "components" in declared(cls)]


def model_of(cls: type, **changes: Any) -> Any:
    """An unfitted estimator that can be fitted to a few points."""
    small = {name: value for name, value in FOR_SMALL_DATA.items() if name in declared(cls)}
    return cls(**(small | changes))


def in_short(model: Any) -> Any:
    """The estimator, made to take far fewer steps than it would."""
    schedules = {lowfold.UMAP: lowfold.Epochs(n_epochs=20), **dict.fromkeys(FORCE_METHODS, SHORTER)}
    schedules[lowfold.ElasticEmbedding] = SHORT
    schedule = schedules.get(type(model))
    return model if schedule is None else model.set_params(schedule=schedule)


def quick(model: Any) -> Any:
    """The same with a stress that is far from its minimum, for what does not hang on the map."""
    stress = type(model).__module__.startswith("lowfold.stress")
    return model.set_params(solver=FEW_PASSES) if stress else in_short(model)


def dense(Y: Any) -> Any:
    """A result as an array: a graph is written out, once its indices have been looked at."""
    if not issparse(Y):
        return Y
    assert ((Y.indices >= 0) & (Y.indices < Y.shape[1])).all(), "neighbours that do not exist"
    return Y.toarray()


def embed(model: Any, X: Any) -> Any:
    """What fit_transform gives, as an array."""
    return dense(model.fit_transform(X))


def place(model: Any, X: Any) -> Any:
    """What transform gives, as an array."""
    return dense(model.transform(X))


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays agree in type, shape and every bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def cloud(n: int = 60, d: int = 5, *, seed: int = 0, dtype: Any = np.float64) -> Any:
    """Normal random points, none of them twice."""
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def name_of(cls: type) -> str:
    """The name of a class, to identify a test."""
    return cls.__name__


@pytest.fixture(scope="session", params=lowfold.METHODS.values(), ids=name_of)
def method(request: pytest.FixtureRequest) -> Any:
    """Every method of the registry."""
    return request.param


@pytest.fixture(scope="session", params=ESTIMATORS, ids=name_of)
def estimator(request: pytest.FixtureRequest) -> Any:
    """Every method, and the neighbour graph."""
    return request.param


@pytest.fixture
def start_script(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python source in a process of its own, which can import the tests' modules; ends it with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, **environment: str) -> subprocess.Popen[str]:
        script = tmp_path / "script.py"
        script.write_text(source)
        tests = Path(__file__).parent
        places = [str(tests), str(tests / "contract"), *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [sys.executable, str(script)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run_script(start_script: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Runs Python source in a process of its own and returns what it prints; it must end, and end well."""

    def run(source: str, **environment: str) -> str:
        process = start_script(source, **environment)
        output, errors = process.communicate(timeout=HANG_SECONDS / 3)
        assert process.returncode == 0, errors
        return output

    return run


_terminal = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the terminal, which the tests' own output does not reach, for the word on a hang, and hears Ctrl-C."""
    config.stash[_terminal] = os.dup(2)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell may have started us so, in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_test_hangs(request: pytest.FixtureRequest) -> Iterator[None]:
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True, file=request.config.stash[_terminal])
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def closed_figures() -> Iterator[None]:
    """Figures are drawn without a window, and gone after the test."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def write_matlab_73(path: Any, chunks: Any = None, **arrays: Any) -> None:
    """A MATLAB file of version 7.3: HDF5 with rows and columns exchanged, behind a header of MATLAB's."""
    with pytest.importorskip("h5py").File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values.T, chunks=chunks)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + bytes([0, 2]) + b"IM")


@contextmanager
def listening(listener: Any) -> Iterator[list[Any]]:
    """What is told to a listener inside."""
    told: list[Any] = []
    token = listener.set(told.append)
    try:
        yield told
    finally:
        listener.reset(token)
