"""Sphinx: hand-written pages in Markdown, and a page for each method from its docstring, its file and the registry."""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
method_pages = import_module("method_pages")  # beside this file

project, author, copyright = "Lowfold", "The Lowfold developers", "The Lowfold developers"
version = release = metadata.version("lowfold")
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "methods/parts"]
html_theme = "furo"
html_title = f"Lowfold {release}"
nitpicky = False

method_pages.write(HERE / "methods")
method_pages.write_reference(HERE / "reference.md")
