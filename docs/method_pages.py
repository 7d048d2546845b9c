"""Writes a page for each method of the registry: idea, objective, parameters, cost, when it fails, paper.

Idea, objective and paper are the text that the method's own file opens with; parameters come from their declarations;
what cannot be read off the source (cost, when to use it, when it fails) stands in methods/parts/<name>.md.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import lowfold
from lowfold.methods import METHODS
from lowfold.options import parameters

SMALL = (1_000, 10_000, 100_000)  # rows, for which the memory is said


def write(folder: Path) -> None:
    """All pages and their index."""
    for name in METHODS:
        _update(folder / f"{name}.md", page(name, folder / "parts"))
    names = "\n".join(METHODS)
    index = f"# Methods\n\n{_overview()}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    _update(folder / "index.md", index)


def write_reference(path: Path) -> None:
    """Every function and value of the parts beside the methods, with its docstring as it is."""
    parts = {"Metrics": lowfold.metrics, "Pictures": lowfold.plot, "Files": lowfold.files, "Explorer": lowfold.explorer}
    lines = ["# Reference", ""]
    for title, module in parts.items():
        lines += [f"## {title}", "", f"`lowfold.{module.__name__.split('.')[-1]}`", ""]
        for name in module.__all__:
            lines += _entry(name, getattr(module, name))
    lines += ["## At the top", ""]
    for value in (lowfold.compare, lowfold.Judging, lowfold.Comparison, lowfold.save, lowfold.load):
        lines += _entry(value.__name__, value)
    _update(path, "\n".join(lines))


def _entry(name: str, value: Any) -> list[str]:
    if not callable(value):
        return []
    try:
        signature = str(inspect.signature(value)).replace("numpy.", "np.")
    except (TypeError, ValueError):
        signature = ""
    return [f"### {name}", "", "```text", f"{name}{signature}", "", inspect.getdoc(value) or "", "```", ""]


def page(name: str, parts: Path) -> str:
    """One method's page."""
    method = METHODS[name]
    module = inspect.getdoc(sys.modules[method.__module__]) or ""
    summary = (method.__doc__ or "").split("Parameters, by keyword:")[0].strip()
    own = parts / f"{name}.md"
    family = method.__module__.split(".")[1]
    lines = [
        f"# {method.__name__}",
        "",
        _plain(summary),
        "",
        f"`from lowfold import {method.__name__}` · on the command line `lowfold embed data.csv -m {name}` · "
        f"the {family} family",
        "",
        "## Idea, objective, paper",
        "",
        "```text",
        module,
        "```",
        "",
        own.read_text(encoding="utf-8").strip() if own.is_file() else "",
        "",
        "## Parameters",
        "",
        "| name | default | what it is | allowed |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{p.name}` | `{p.default!r}` | {_cell(p.option.help)} | {_cell(p.needs())} |" for p in parameters(method)
    ]
    lines += ["", "## Memory", "", _memory(name), ""]
    return "\n".join(lines)


def _memory(name: str) -> str:
    model = METHODS[name]()
    sizes = ", ".join(f"{n:,} rows {model.estimate(n, 50) / 1e6:,.0f} MB" for n in SMALL)
    return f"What a fit needs beside the data, by its own estimate, for 50 columns: {sizes}."


def _overview() -> str:
    rows = [f"| [{cls.__name__}]({name}.md) | {_cell(_first_line(cls))} |" for name, cls in METHODS.items()]
    return "\n".join(["| method | what it does |", "|---|---|", *rows])


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Names of attributes end in underscores, which Markdown would take for emphasis."""
    return "\n".join(line.strip() for line in text.replace("_", "\\_").replace("*", "\\*").splitlines())


def _update(path: Path, content: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")
