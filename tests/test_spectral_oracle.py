"""Maps of more points than are solved all at once, against all eigenvectors of their matrix by LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse

from conftest import cloud
from lowfold import DiffusionMap, LaplacianEigenmaps, Nearest
from shapes import subspace_sine, swiss_roll


def oracle(walk, m):
    """The m eigenvectors of S behind the trivial one."""
    S = walk.S.toarray() if issparse(walk.S) else walk.S
    return np.linalg.eigh(S)[1][:, ::-1][:, 1 : m + 1]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("graph", ["dense", Nearest(k=20)])
def test_diffusion_maps_have_the_eigenvectors_of_their_walk(graph, alpha):
    X = swiss_roll(900)[0]
    model = DiffusionMap(n_components=5, sigma=3.0, alpha=alpha, graph=graph).fit(X)
    walk = model.random_walk()
    assert model.report_.findings["solver"] != "dense"
    vectors = model.right_eigenvectors_ * np.sqrt(walk.degrees)[:, None]
    assert subspace_sine(vectors, oracle(walk, 5)) < 1e-3


def test_a_hundred_coordinates_span_the_right_space():
    model = LaplacianEigenmaps(n_components=100, n_neighbors=10).fit(cloud(2000, 8))
    walk = model.random_walk()
    assert model.report_.findings["solver"] != "dense"
    assert subspace_sine(model.embedding_ * np.sqrt(walk.degrees)[:, None], oracle(walk, 100)) < 1e-2


def test_a_process_on_one_core_uses_one_thread(run_script):
    done = run_script(
        "import os\n"
        "os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})\n"
        "import lowfold, numpy as np\n"
        "print(lowfold.PCA().fit(np.random.default_rng(0).random((50, 4))).report_.threads)\n"
    )
    assert done.split()[-1] == "1"
