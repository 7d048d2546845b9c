"""The maps in a browser: one self-contained page that works from disk, or with a server behind it.

| module | what it holds |
|---|---|
| `pack.py` | one binary format for everything that carries arrays |
| `columns.py` | what points are coloured, searched and told apart by |
| `panels.py` | a map as a panel: coordinates, eigenvalues, quality, trust |
| `scene.py` | a scene: panels, columns, images and neighbours of one data set |
| `page.py` | the page's modules as one script, and a scene with it in one file |
| `page/` | the page itself: HTML, CSS and plain JavaScript modules |
"""

from lowfold.explorer.page import write_page
from lowfold.explorer.scene import Contents, Scene, contents_for, make_scene

__all__ = ["Contents", "Scene", "contents_for", "make_scene", "write_page"]
