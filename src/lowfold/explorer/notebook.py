"""The page in a notebook: a widget that shows it, runs methods in the kernel, and shares the selection."""

from __future__ import annotations

from typing import Any

from lowfold.comparison import Comparison
from lowfold.explorer.opening import FIRST_MAPS, fitted_maps, rows_of
from lowfold.explorer.runs import Workshop
from lowfold.explorer.scene import Contents, make_scene
from lowfold.explorer.server import needed


def widget(
    X: Any,
    maps: Any = FIRST_MAPS,
    *,
    labels: Any = None,
    columns: Any = None,
    images: Any = None,
    contents: Contents | None = None,
) -> Any:
    """A notebook widget with maps of X; labels, columns, images and contents as in `make_scene`.

    `selection` holds the rows that are selected in it, and can be set; `height` its height in pixels.
    """
    needed("anywidget", "notebook")  # before any work is done
    from lowfold.explorer.notebook_widget import ExplorerWidget

    data = None if X is None else rows_of(X)
    shown = maps if isinstance(maps, Comparison) else fitted_maps(data, maps, lambda model, rows: model.fit(rows))
    scene = make_scene(data, shown, labels=labels, columns=columns, images=images, contents=contents)
    return ExplorerWidget(Workshop(data, scene))
