"""The maps in a browser: one self-contained page that works from disk, or with a server behind it.

| module | what it holds |
|---|---|
| `pack.py` | one binary format for everything that carries arrays |
| `columns.py` | what points are coloured, searched and told apart by |
| `panels.py` | a map as a panel: coordinates, eigenvalues, quality, trust |
| `scene.py` | a scene: panels, columns, images and neighbours of one data set |
| `page.py` | the page's modules as one script, and a scene with it in one file |
| `page/` | the page itself: HTML, CSS and plain JavaScript modules |
| `opening.py` | `explore`: data and maps, however they are given, served to a browser |
| `server.py`, `security.py` | the server, and who is let in |
| `connection.py`, `orders.py`, `runs.py` | one open page, what it asks for, and the fits that come of it |
| `forms.py` | what a page can ask for, from the declarations of parameters |
| `notebook.py` | `widget`: the same page in a notebook |
"""

from lowfold.explorer.notebook import widget
from lowfold.explorer.opening import Serving, explore
from lowfold.explorer.page import write_page
from lowfold.explorer.scene import Contents, Scene, contents_for, make_scene

__all__ = ["Contents", "Scene", "Serving", "contents_for", "explore", "make_scene", "widget", "write_page"]
