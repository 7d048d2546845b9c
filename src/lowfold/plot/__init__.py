"""Pictures of embeddings and of what judges them, with Matplotlib: `pip install "lowfold[plot]"`.

Each function draws into the Axes it is given, or into new ones, and returns them.

| function | shows |
|---|---|
| scatter | the points, coloured by labels or numbers; density shading where there are very many |
| images | the data themselves, drawn at their places without overlap |
| names | names beside points, none over another |
| grid | several embeddings side by side |
| trust | the embedding coloured by how far each point can be trusted |
| spectrum | eigenvalues and the largest gap |
| shepard | distances in the embedding over distances in the data |
| quality | R_NX over the size of the neighbourhood |
| diffusion_times, homotopy | one map at several times, or strengths |
| sweep | the conductance along an eigenvector, with Cheeger's bounds |
"""

from lowfold.plot.colors import OKABE_ITO
from lowfold.plot.curves import quality, shepard, spectrum, sweep
from lowfold.plot.images import images
from lowfold.plot.names import names
from lowfold.plot.points import scatter, trust
from lowfold.plot.series import diffusion_times, grid, homotopy

__all__ = [
    "OKABE_ITO",
    "diffusion_times",
    "grid",
    "homotopy",
    "images",
    "names",
    "quality",
    "scatter",
    "shepard",
    "spectrum",
    "sweep",
    "trust",
]
